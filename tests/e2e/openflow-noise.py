# SPDX-License-Identifier: Apache-2.0
"""OpenFlow noise for a bridge.

    openflow-noise.py RUN-DIRECTORY BRIDGE SEED SECONDS

First a choice of ovs-ofctl's commands is run through a relay, which keeps what
they send.  Then these messages come as they are or changed, for SECONDS.
In between, and in the end, the bridge has to answer, and its program has to
have as many flows in each table, groups and buckets, as the bridge says."""

import os
import random
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from unixctl import Control  # noqa: E402

RECORDED = ['OpenFlow10', 'OpenFlow13', 'OpenFlow15']
VERSIONS = {1: 1, 2: 4, 3: 4, 4: 4, 5: 6, 6: 6}     # From which recorded one.
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY = 0, 1, 2, 3
BUNDLE_CONTROL, BUNDLE_ADD = 33, 34
ONF, ONF_BUNDLE_CONTROL, ONF_BUNDLE_ADD = 0x4f4e4600, 2300, 2301
OPEN, CLOSE, COMMIT, DISCARD = 0, 2, 4, 6
LIMIT = 120             # seconds; who takes longer hangs

FLOWS = [
    'actions=drop',
    'table=1,priority=5,ip,nw_src=10.0.0.0/24,actions=output:2',
    'table=1,priority=5,tcp,tp_dst=0x50/0xfff0,actions=resubmit(,2)',
    'table=2,udp6,ipv6_src=fd00::/64,tp_src=53,actions=dec_ttl,output:3',
    'table=2,priority=9,ct_state=+new+trk,ip,actions=ct(commit,zone=7,'
    'exec(set_field:1->ct_mark),nat(dst=10.0.0.9:80),table=3)',
    'table=3,reg0=1/0xff,metadata=5,actions=set_field:7->reg1,output:1',
    'table=4,priority=7,conj_id=3,ip,actions=normal',
    'table=4,priority=7,ip,nw_src=10.0.0.1,actions=conjunction(3,1/2)',
    'table=4,priority=7,ip,nw_dst=10.0.0.2,actions=conjunction(3,2/2)',
    'table=5,dl_vlan=7,actions=strip_vlan,output:1',
    'table=5,in_port=1,actions=push_vlan:0x8100,mod_vlan_vid:9,output:2',
    'table=6,arp,arp_op=1,actions=controller(max_len=99,userdata=01.02)',
    'table=6,actions=learn(table=7,hard_timeout=9,NXM_OF_ETH_DST[]='
    'NXM_OF_ETH_SRC[],load:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15]),output:3',
    'table=8,ip,actions=group:1',
    'table=8,priority=3,tun_id=9,actions=move:NXM_NX_TUN_ID[0..31]->'
    'NXM_NX_REG3[],output:NXM_NX_REG3[0..15]',
    'table=9,ip,actions=meter:1,goto_table:10',
    'table=9,priority=1,actions=write_actions(output:2),write_metadata:0x9,'
    'goto_table:10',
    'table=10,idle_timeout=60,hard_timeout=90,send_flow_rem,icmp,'
    'actions=clone(output:1),ct_clear,enqueue:2:1',
    'table=11,tcp,tcp_flags=+syn,actions=multipath(eth_src,50,modulo_n,1,0,'
    'NXM_NX_REG0[]),bundle(eth_src,0,active_backup,ofport,members:1,2)',
    'table=12,tun_metadata0=7,actions=set_field:5->tun_metadata0,output:1',
    'table=13,nd,actions=set_field:fd00::1->nd_target,in_port',
    'table=14,actions=sample(probability=9,collector_set_id=1),flood',
    'cookie=0x7,importance=4,table=15,check_overlap,sctp,actions=all',
]
COMMANDS = [
    ['show', 'BR'], ['dump-flows', 'BR'], ['dump-flows', 'BR', 'table=1,ip'],
    ['dump-aggregate', 'BR'], ['dump-tables', 'BR'], ['dump-ports', 'BR'],
    ['dump-ports-desc', 'BR'], ['queue-stats', 'BR'],
    ['queue-get-config', 'BR', '1'], ['get-frags', 'BR'],
    ['set-frags', 'BR', 'nx-match'], ['mod-port', 'BR', '2', 'down'],
    ['mod-port', 'BR', '2', 'up'], ['mod-table', 'BR', '3', 'controller'],
    ['mod-table', 'BR', '4', 'evict'], ['dump-table-features', 'BR'],
    ['dump-table-desc', 'BR'], ['add-group', 'BR', 'group_id=1,type=select,'
                                'bucket=bucket_id:1,weight:3,output:1,'
                                'bucket=bucket_id:2,weight:4,resubmit(,1)'],
    ['add-group', 'BR', 'group_id=2,type=all,bucket=output:1,bucket=group:1'],
    ['add-group', 'BR', 'group_id=3,type=ff,bucket=watch_port:1,output:1,'
     'bucket=watch_group:2,output:2'],
    ['mod-group', 'BR', 'group_id=2,type=indirect,bucket=output:3'],
    ['--may-create', 'mod-group', 'BR', 'group_id=4,type=all'],
    ['insert-buckets', 'BR', 'group_id=1,command_bucket_id=last,'
     'bucket=bucket_id:7,weight:1,output:2'],
    ['remove-buckets', 'BR', 'group_id=1,command_bucket_id=7'],
    ['dump-groups', 'BR'], ['dump-group-stats', 'BR'],
    ['dump-group-features', 'BR'], ['del-groups', 'BR', 'group_id=4'],
    ['add-meter', 'BR', 'meter=1,pktps,burst,band=type=drop,rate=9,'
     'burst_size=9'],
    ['mod-meter', 'BR', 'meter=1,kbps,band=type=drop,rate=99'],
    ['dump-meters', 'BR'], ['meter-stats', 'BR'], ['meter-features', 'BR'],
    ['add-tlv-map', 'BR', '{class=0xffff,type=1,len=8}->tun_metadata0'],
    ['dump-tlv-map', 'BR'],
    ['del-tlv-map', 'BR', '{class=0xffff,type=2,len=4}->tun_metadata1'],
    ['packet-out', 'BR', 'in_port=1,packet=0a00000000010a00000000020800,'
     'actions=output:2,resubmit(,1)'],
    ['mod-flows', 'BR', 'table=1,actions=output:3'],
    ['--strict', 'mod-flows', 'BR', 'table=2,priority=9,ct_state=+new+trk,ip,'
     'actions=drop'],
    ['del-flows', 'BR', 'table=5'], ['--strict', 'del-flows', 'BR', 'table=0'],
    ['bundle', 'BR', '-'], ['--bundle', 'replace-flows', 'BR', '-'],
    ['ct-flush', 'BR', 'zone=7'], ['ct-flush-zone', 'BR', '7'],
    ['ct-flush', 'BR', 'ct_ipv6_src=fd00::1,ct_ipv6_dst=fd00::2,'
     'ct_nw_proto=58,icmp_id=1,icmp_type=128'],
    ['ct-flush', 'BR', 'ct_nw_src=10.0.0.1,ct_nw_dst=10.0.0.2,'
     'ct_nw_proto=1,icmp_id=1,icmp_type=3'],
    ['ping', 'BR', '16'], ['set-packet-in-format', 'BR', 'nxt_packet_in2'],
    ['dump-ipfix-bridge', 'BR'], ['dump-ipfix-flow', 'BR'],
    ['monitor', 'BR', '65534', 'invalid_ttl', 'watch:!own,table=1'],
    ['monitor', 'BR', '-P', 'nxt_packet_in2'], ['snoop', 'BR'],
]
BUNDLE = '''flow add table=1,ip,actions=output:1
flow delete table=2
group add group_id=9,type=all,bucket=output:1
packet-out in_port=1,packet=0a00000000010a00000000020800,actions=output:2
'''


def split(data):
    """Whole messages in the data, and the rest."""
    messages = []
    while len(data) >= 8:
        length = max(8, struct.unpack('!H', data[2:4])[0])
        if len(data) < length:
            break
        messages.append(data[:length])
        data = data[length:]
    return messages, data


class Relay:
    """Between ovs-ofctl and the bridge."""

    def __init__(self, path, bridge):
        self.bridge = bridge
        self.messages = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(8)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.pass_on, args=[client],
                             daemon=True).start()

    def pass_on(self, client):
        switch = socket.socket(socket.AF_UNIX)
        switch.connect(self.bridge)
        sent = b''
        while True:
            for s in select.select([client, switch], [], [])[0]:
                try:
                    data = s.recv(65536)
                except OSError:
                    data = b''
                if not data:
                    client.close()
                    switch.close()
                    self.messages += split(sent)[0]
                    return
                if s is client:
                    sent += data
                try:
                    (switch if s is client else client).sendall(data)
                except OSError:
                    pass        # It has gone; the next turn sees it.


def record(folder, bridge):
    """What ovs-ofctl sends, in each version."""
    relay = Relay(folder + '/relay.sock', bridge)
    target = 'unix:' + folder + '/relay.sock'
    for version in RECORDED:
        running = []
        text = '\n'.join(FLOWS)
        for flow in FLOWS:
            running.append(start(version, ['add-flow', target, flow], ''))
        for command in COMMANDS:
            args = [target if arg == 'BR' else arg for arg in command]
            running.append(start(version, args, BUNDLE
                                 if 'bundle' in command else text))
            if len(running) > 4:
                running.pop(0).wait()
        for process in running:
            process.wait()
    return sorted(set(m[:4] + b'\0\0\0\1' + m[8:] for m in relay.messages
                      if m[1] not in (HELLO, ECHO_REQUEST, ECHO_REPLY)))


def start(version, args, text):
    """Runs a command; what monitors doesn't end by itself."""
    seconds = 2 if args[0] in ('monitor', 'snoop') else LIMIT
    process = subprocess.Popen(['timeout', str(seconds), 'ovs-ofctl', '-O',
                                version]
                               + args, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        process.stdin.write(text.encode())
        process.stdin.close()
    except OSError:
        pass
    return process


class Peer:
    """A connection that sends noise."""

    def __init__(self, path, version):
        self.version = version
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT)
        self.socket.connect(path)
        self.received = b''
        self.gone = False
        self.send(struct.pack('!BBHI', version, HELLO, 8, 0))

    def send(self, data):
        """Reads meanwhile, as the bridge may want to be heard first."""
        deadline = time.monotonic() + LIMIT
        while data and not self.gone:
            assert time.monotonic() < deadline, 'the bridge reads no more'
            readable, writable, _ = select.select([self.socket],
                                                  [self.socket], [], 1)
            if readable:
                self.read()
            if writable and not self.gone:
                try:
                    data = data[self.socket.send(data[:4096]):]
                except OSError:
                    self.gone = True

    def read(self):
        """Returns the messages that have come."""
        try:
            data = self.socket.recv(65536)
        except OSError:
            data = b''
        self.gone = self.gone or not data
        messages, self.received = split(self.received + data)
        for message in messages:
            if message[1] == ECHO_REQUEST:
                self.send(message[:1] + bytes([ECHO_REPLY]) + message[2:])
        return messages

    def answers(self, xid):
        """Has the bridge come so far, or closed the connection?"""
        self.send(struct.pack('!BBHI', self.version, ECHO_REQUEST, 8, xid))
        deadline = time.monotonic() + LIMIT
        while not self.gone:
            assert time.monotonic() < deadline, 'the bridge answers no more'
            if select.select([self.socket], [], [], 1)[0]:
                for message in self.read():
                    if (message[1] == ECHO_REPLY
                            and message[4:8] == struct.pack('!I', xid)):
                        return

    def close(self):
        self.socket.close()


class Noise:
    """Messages, changed."""

    def __init__(self, rng, messages):
        self.rng = rng
        self.by_version = {}
        for version, recorded in VERSIONS.items():
            self.by_version[version] = [bytes([version]) + message[1:]
                                        for message in messages
                                        if message[0] == recorded]

    def body(self, version):
        return bytearray(self.rng.choice(self.by_version[version]))

    def change(self, message):
        rng = self.rng
        kind = rng.randrange(9)
        at = rng.randrange(8, max(9, len(message))) & ~1
        if kind == 0:
            at = rng.randrange(len(message))
            message[at] ^= (1 << rng.randrange(8)) if at else 0
        elif kind == 1:
            message[at:at + 2] = struct.pack('!H', rng.choice(
                [0, 1, 2, 4, 7, 8, 16, 0x7fff, 0x8000, 0xfff8, 0xffff]))
        elif kind == 2:
            message[at:at + 4] = struct.pack('!I', rng.choice(
                [0, 1, 0xfffffffd, 0xffffffff, 0x80000000, 0xff000000]))
        elif kind == 3:
            del message[at:]
        elif kind == 4:
            del message[at:at + rng.choice([1, 2, 4, 8])]
        elif kind == 5:
            message[at:at] = rng.randbytes(rng.choice(
                [1, 2, 4, 8, 40]))
        elif kind == 6:
            other = self.body(message[0])
            message[at:] = other[8 + rng.randrange(
                max(1, len(other) - 8)):]
        elif kind == 7:
            message[1] = rng.randrange(40)
        else:
            message[at:] = message[at:] * rng.randrange(1, 30)

    def message(self, version):
        """One message, whose length is right."""
        rng = self.rng
        message = self.body(version)
        while rng.random() < 0.55:
            self.change(message)
        del message[65000:]
        if rng.random() < 0.01:
            message[0] = rng.randrange(8)
        message[2:4] = struct.pack('!H', len(message))
        message[4:8] = struct.pack('!I', rng.randrange(1, 5))
        return bytes(message)

    def in_bundle(self, version):
        """A bundle of some messages, with something wrong now and then."""
        rng = self.rng
        bundle_id = rng.randrange(3)
        flags = rng.randrange(4)
        steps = [self.bundle_control(version, bundle_id, OPEN, flags)]
        for _ in range(rng.randrange(5)):
            inner = self.message(version)[:60000]
            steps.append(self.bundle_add(version, bundle_id, flags, inner))
        steps.append(self.bundle_control(
            version, bundle_id, rng.choice([CLOSE, COMMIT, COMMIT, DISCARD]),
            flags))
        steps.append(self.bundle_control(
            version, bundle_id, rng.choice([OPEN, COMMIT, DISCARD]), flags))
        if rng.random() < 0.2:
            rng.shuffle(steps)
        return b''.join(steps)

    def bundle_control(self, version, bundle_id, what, flags):
        body = struct.pack('!IHH', bundle_id, what, flags)
        return self.bundle_message(version, BUNDLE_CONTROL,
                                   ONF_BUNDLE_CONTROL, body)

    def bundle_add(self, version, bundle_id, flags, inner):
        body = struct.pack('!IHH', bundle_id, 0, flags) + inner
        return self.bundle_message(version, BUNDLE_ADD, ONF_BUNDLE_ADD, body)

    @staticmethod
    def bundle_message(version, kind, onf_kind, body):
        """As an experimenter's message where OpenFlow has none."""
        if version < 5:
            kind = 4
            body = struct.pack('!II', ONF, onf_kind) + body
        return struct.pack('!BBHI', version, kind, 8 + len(body), 1) + body


class Bridge:
    """What the daemon says of it."""

    def __init__(self, folder, name):
        self.name = name
        self.path = '%s/%s.mgmt' % (folder, name)
        self.control = Control(folder + '/ovs-vswitchd.ctl')

    def program(self):
        """Flows by table, groups and buckets of the compiled program."""
        text = self.control('antrea-dp/program-show', self.name)
        counts = {int(table): int(n) for table, n in re.findall(
            r'^table (\d+)(?: .*)?: (\d+) flows?\b', text, re.M)
            if n != '0'}
        groups = re.search(r'^groups: (\d+), (\d+) buckets', text, re.M)
        return counts, [int(n) for n in groups.groups()]

    def ofctl(self, *args):
        return subprocess.run(
            ['ovs-ofctl', '-O', 'OpenFlow15', *args, 'unix:' + self.path],
            stdout=subprocess.PIPE, timeout=LIMIT, check=True,
            universal_newlines=True).stdout

    def tables(self):
        """The same of OpenFlow's tables."""
        counts = {}
        for line in self.ofctl('--no-stats', 'dump-flows').splitlines():
            if 'OFPST_FLOW' not in line and line.strip():
                found = re.search(r'\btable=(\d+)',
                                  line.split(' actions=')[0])
                table = int(found.group(1)) if found else 0
                counts[table] = counts.get(table, 0) + 1
        groups = self.ofctl('dump-groups')
        return counts, [groups.count('group_id='), groups.count(',bucket=')]

    def compare(self):
        """Flows may expire in between."""
        deadline = time.monotonic() + LIMIT
        while True:
            program, tables = self.program(), self.tables()
            if program == tables:
                return sum(tables[0].values())
            assert time.monotonic() < deadline, (
                'the program has %s, the tables have %s' % (program, tables))


def main():
    folder, name, seed, seconds = sys.argv[1:]
    seed = random.randrange(1 << 32) if seed == 'random' else int(seed)
    print('seed %d' % seed, flush=True)
    rng = random.Random(seed)
    bridge = Bridge(folder, name)
    messages = record(folder, bridge.path)
    print('%d messages of ovs-ofctl' % len(messages), flush=True)
    assert len(messages) > 100
    noise = Noise(rng, messages)
    peers, n_sent, n_closed, n_flows = [], 0, 0, []
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for _ in range(rng.randrange(1, 60)):
            while len(peers) < 4:
                peers.append(Peer(bridge.path,
                                  rng.choice(list(VERSIONS))))
            peer = rng.choice(peers)
            peer.send(noise.in_bundle(peer.version) if rng.random() < 0.1
                      else noise.message(peer.version))
            n_sent += 1
            if peer.gone or rng.random() < 0.01:
                peers.remove(peer)
                peer.close()
                n_closed += 1
        for peer in peers:
            peer.answers(rng.randrange(100, 1 << 32))
        if rng.random() < 0.2:
            n_flows.append(bridge.compare())
    n_flows.append(bridge.compare())
    print('%d messages or bundles, %d connections closed, up to %d flows, '
          'compared %d times' % (n_sent, n_closed, max(n_flows),
                                 len(n_flows)))
    assert max(n_flows) > 10


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Pod that floods, beside a neighbour that must not notice.

    hostile.py records
    hostile.py CONTROL-SOCKET FOLDER PATTERN

Prints the records of the Node that all are on; or injects batches of what PATTERN
is, and after each a packet in either direction of the neighbour's open connections
(UDP and TCP), and the first ones of new connections to a Service, which the other
end answers only some batches later.  Every packet of the neighbour's bears a number,
and has to come out once: FOLDER has what each port sent as PORT.pcap.  Says what was
lost, and fails if any was."""

import collections
import ipaddress
import json
import os
import re
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
from mesh import frames                     # noqa: E402
from mesh.frames import ACK, SYN, packed    # noqa: E402
from unixctl import Control                 # noqa: E402

BATCH, ROUNDS, DELAY = 50, 30, 12
# Seconds, for what should come at once; and once something has been lost.
PATIENCE, LESS_PATIENCE = 10, .2
PODS = {'bad': 3, 'good': 4, 'peer': 5, 'sink': 6, 'victim': 7}
GW_MAC = frames.mac('0a:00:00:00:00:01')
SERVICE, RESOLVER = packed('10.96.0.1'), packed('10.20.0.53')
TAG = re.compile(rb'N\d{7}')


def mac(pod):
    return frames.mac('0a:00:00:00:00:%02x' % PODS[pod])


def ip(pod, version=4):
    return packed('%s%d' % ('10.10.0.' if version == 4 else 'fd00:10::',
                            PODS[pod]))


def udp(pod, dl_dst, src, dst, sport, dport, data):
    return frames.ip_frame(dl_dst, mac(pod) if pod else GW_MAC, src, dst, 17,
                           frames.udp(src, dst, sport, dport, data))


def tcp(pod, dl_dst, src, dst, *rest):
    return frames.ip_frame(dl_dst, mac(pod), src, dst, 6,
                           frames.tcp(src, dst, *rest))


class World:
    def __init__(self, path, folder):
        self.control = Control(path)
        self.logs = {port: open(os.path.join(folder, port + '.pcap'), 'rb')
                     for port in ('good', 'peer')}
        self.tails = dict.fromkeys(self.logs, b'')
        self.kind = None        # Of what is sent, a key of the next two.
        self.n_sent, self.n_lost = collections.Counter(), collections.Counter()
        self.missing = set()
        self.lost = []          # The first ones.
        self.odd = []

    def inject(self, port, *batch):
        if batch:
            self.control('netdev-dummy/receive', port,
                         *(frame.hex() for frame in batch))
            self.control('version')

    def tag(self, port):
        """What has to come out of the port."""
        self.n_sent[self.kind] += 1
        tag = b'N%07d' % self.n_sent.total()
        self.missing.add((port, tag))
        return tag

    def look(self):
        """For what came out."""
        for port, log in self.logs.items():
            text = self.tails[port] + log.read()
            end = 0
            for match in TAG.finditer(text):
                end = match.end()
                if (port, match.group()) in self.missing:
                    self.missing.remove((port, match.group()))
                else:
                    self.odd.append('%s: %s again' % (port, match.group()))
            self.tails[port] = text[max(end, len(text) - 7):]

    def arrived(self):
        """Waits for all that has to come, but not for what is lost."""
        slow = float(os.environ.get('ADP_E2E_SLOW', 1))
        patience = LESS_PATIENCE if self.lost else PATIENCE
        end = time.monotonic() + patience * slow
        self.look()
        while self.missing and time.monotonic() < end:
            time.sleep(.001)
            self.look()
        if self.missing:
            self.lost += sorted(self.missing)[:10 - len(self.lost)]
            self.n_lost[self.kind] += len(self.missing)
            self.missing.clear()

    def ends(self):
        """Says what was lost, and fails if any was."""
        print(', '.join('lost %d of %d on %s connections' % (
            self.n_lost[kind], self.n_sent[kind], kind)
            for kind in self.n_sent))
        if self.odd or self.lost:
            sys.exit('\n'.join(self.odd + ['%s: %s never' % lost
                                           for lost in self.lost]))


class Neighbour:
    def __init__(self, world):
        self.world = world
        self.seq = {'good': 1000, 'peer': 5000}
        self.port = 10000
        self.waiting = collections.deque()
        self.world.kind = 'open'
        self.tcp('good', 0, SYN)
        self.tcp('peer', 1001, SYN | ACK)
        self.seq = {'good': 1009, 'peer': 5009}
        self.goes_on()

    def tcp(self, pod, ack, flags):
        other = 'peer' if pod == 'good' else 'good'
        ports = (6000, 6001) if pod == 'good' else (6001, 6000)
        self.world.inject(pod, tcp(pod, mac(other), ip(pod), ip(other),
                                   *ports, self.seq[pod], ack, flags,
                                   self.world.tag(other)))
        self.seq[pod] += 8
        self.world.arrived()

    def goes_on(self):
        """On the open connections."""
        self.world.kind = 'open'
        for pod, other, ports in (('good', 'peer', (5000, 5001)),
                                  ('peer', 'good', (5001, 5000))):
            self.world.inject(pod, udp(pod, mac(other), ip(pod), ip(other),
                                       *ports, self.world.tag(other)))
            self.tcp(pod, self.seq[other], ACK)

    def begins(self):
        self.world.kind = 'new'
        self.port += 1
        tag = self.world.tag
        self.world.inject(
            'good',
            udp('good', GW_MAC, ip('good'), SERVICE, self.port, 80,
                tag('peer')),
            tcp('good', GW_MAC, ip('good'), SERVICE, self.port, 80, 1, 0, SYN,
                tag('peer')))
        self.world.arrived()
        self.waiting.append(self.port)
        if len(self.waiting) > DELAY:
            self.is_answered(self.waiting.popleft())

    def is_answered(self, port):
        tag = self.world.tag
        self.world.inject(
            'peer',
            udp('peer', mac('good'), ip('peer'), ip('good'), 8080, port,
                tag('good')),
            tcp('peer', mac('good'), ip('peer'), ip('good'), 8080, port, 9, 2,
                SYN | ACK, tag('good')))
        self.world.arrived()
        self.world.inject('good', tcp('good', GW_MAC, ip('good'), SERVICE,
                                      port, 80, 2, 18, ACK, tag('peer')))
        self.world.arrived()

    def ends(self):
        self.world.kind = 'new'
        while self.waiting:
            self.is_answered(self.waiting.popleft())
        self.goes_on()


# --- what the hostile Pod sends: batch 'i' as (port, frames) -------------------

def numbers(i):
    return range(i * BATCH, (i + 1) * BATCH)


def address(n, base='10.10.3.0'):
    return (ipaddress.ip_address(base) + n).packed


def to_sink(number, payload):
    return frames.ip_frame(mac('sink'), mac('bad'), ip('bad'), ip('sink'),
                           number, payload)


def one_way(i):
    """UDP, SCTP, ping, and a protocol that has no ports."""
    for n in numbers(i):
        kind = n % 3
        if kind == 0:
            yield 'bad', udp('bad', mac('sink'), ip('bad'), ip('sink'),
                             1024 + n, 9, b'?')
        elif kind == 1:
            yield 'bad', to_sink(1, frames.icmp(ip('bad'), ip('sink'), 8, n,
                                                n))
        else:
            yield 'bad', to_sink(132, frames.sctp(1024 + n, 9, 0, 1, 1 + n))


def to_itself(i):
    """UDP, from each port to the same."""
    for n in numbers(i):
        yield 'bad', udp('bad', mac('bad'), ip('bad'), ip('bad'), 1024 + n,
                         1024 + n, b'?')


def syns(i):
    for n in numbers(i):
        yield 'bad', tcp('bad', mac('sink'), ip('bad'), ip('sink'), 1024 + n,
                         9, n, 0, SYN)


def fragment(n, offset, more):
    data = bytes(8)
    header = struct.pack('!BBHHHBBH', 0x45, 0, 28, n & 0xffff,
                         (0x2000 if more else 0) | offset, 64, 17,
                         0) + ip('bad') + ip('sink')
    header = (header[:10] + struct.pack('!H', frames.checksum(header))
              + header[12:])
    return mac('sink') + mac('bad') + b'\x08\x00' + header + data


def fragments(i):
    """Of eight bytes, that never become whole."""
    for n in numbers(i):
        yield 'bad', fragment(n, 0 if n % 2 else 1 + n % 50, True)


def arps(i):
    """Questions about anybody, also in a neighbour's name."""
    for n in numbers(i):
        sender = ip('bad') if n % 2 else ip('good')
        yield 'bad', (b'\xff' * 6 + mac('bad') + b'\x08\x06'
                      + struct.pack('!HHBBH', 1, 0x800, 6, 4, 1 + n % 3 // 2)
                      + mac('bad') + sender + bytes(6)
                      + address(n % 250, '10.10.0.0'))


def solicitations(i):
    for n in numbers(i):
        target = address(n, 'fd00:10::100')
        src = ip('bad', 6) if n % 2 else ip('good', 6)
        dst = packed('ff02::1:ff00:0')[:13] + target[13:]
        body = (struct.pack('!BBHI', 135, 0, 0, 0) + target + b'\x01\x01'
                + mac('bad'))
        total = frames.checksum(frames.pseudo(src, dst, 58, len(body)) + body)
        body = body[:2] + struct.pack('!H', total) + body[4:]
        header = struct.pack('!IHBB', 6 << 28, len(body), 58, 255) + src + dst
        yield 'bad', (b'\x33\x33' + dst[12:] + mac('bad') + b'\x86\xdd'
                      + header + body)


def reports(i):
    for n in numbers(i):
        group = address(n, '239.1.0.0')
        for dst, message in frames.igmp_report(frames.REPORT_V2, True,
                                               [group]):
            yield 'bad', frames.ip_frame(frames.multicast_mac(dst),
                                         mac('bad'), ip('bad'), dst, 2,
                                         message, frames.ROUTER_ALERT)


def answers(i):
    """To the Pod's own question, each with 80 more addresses."""
    name = b'\x01w\x04evil\x07example\0'
    for n in range(BATCH) if i else [0]:
        head = struct.pack('!HHHHHH', 7, 0x8180 if i else 0x100, 1,
                           80 if i else 0, 0, 0)
        data = head + name + struct.pack('!HH', 1, 1)
        if not i:
            yield 'bad', udp('bad', GW_MAC, ip('bad'), RESOLVER, 4000, 53,
                             data)
            return
        for k in range(80):
            data += (b'\xc0\x0c' + struct.pack('!HHIH', 1, 1, 60, 4)
                     + address((i * BATCH + n) * 80 + k, '11.0.0.0'))
        yield 'gw0', frames.ip_frame(mac('bad'), GW_MAC, RESOLVER, ip('bad'),
                                     17, frames.udp(RESOLVER, ip('bad'), 53,
                                                    4000, data))


def refused(i):
    """What a rule rejects and logs."""
    for n in numbers(i):
        yield 'bad', udp('bad', mac('victim'), ip('bad'), ip('victim'),
                         1024 + n, 9, b'?')


PATTERNS = {pattern.__name__: pattern for pattern in (
    one_way, to_itself, syns, fragments, arps, solicitations, reports,
    answers, refused)}


def policy(name, pod, **rule):
    return {'kind': 'NetworkPolicy', 'name': name, 'priority': 5,
            'type': 'AntreaClusterNetworkPolicy', 'tierPriority': 250,
            'appliedToGroups': [pod], 'rules': [rule]}


def records():
    yield {'kind': 'NodeConfig', 'name': 'n1', 'transportIP': '192.168.77.102',
           'podCIDR': ['10.10.0.0/24', 'fd00:10::/64'],
           'gateway': {'port': 'gw0', 'mac': '0a:00:00:00:00:01',
                       'ip': ['10.10.0.1', 'fd00:10::1']}}
    for pod, number in PODS.items():
        yield {'kind': 'Pod', 'name': 'd/' + pod, 'port': pod,
               'mac': '0a:00:00:00:00:%02x' % number,
               'ips': ['10.10.0.%d' % number, 'fd00:10::%d' % number]}
        yield {'kind': 'AppliedToGroup', 'name': pod, 'pods': ['d/' + pod]}
    yield {'kind': 'Service', 'name': 'd/web', 'clusterIP': '10.96.0.1',
           'ports': [{'port': 80, 'protocol': protocol,
                      'endpoints': [{'ip': '10.10.0.5', 'port': 8080}]}
                     for protocol in ('TCP', 'UDP')]}
    yield policy('reject', 'victim', direction='In', action='Reject',
                 enableLogging=True)
    yield policy('names', 'bad', direction='Out', action='Drop',
                 to={'fqdns': ['w.evil.example']})


def main():
    if sys.argv[1:] == ['records']:
        print(json.dumps(list(records())))
        return
    path, folder, pattern = sys.argv[1:]
    world = World(path, folder)
    neighbour = Neighbour(world)
    for i in range(ROUNDS):
        by_port = collections.defaultdict(list)
        for port, frame in PATTERNS[pattern](i):
            by_port[port].append(frame)
        for port, batch in by_port.items():
            world.inject(port, *batch)
        # A thread makes room once in a millisecond.
        time.sleep(.002)
        neighbour.goes_on()
        neighbour.begins()
    neighbour.ends()
    world.ends()


if __name__ == '__main__':
    main()

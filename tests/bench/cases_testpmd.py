# SPDX-License-Identifier: Apache-2.0
"""dpdk-testpmd as two guests on vhost-user ports, as NFV users measure.

Both guests send back every packet that they get, so the same packets go round
through the switch: as many as it handles, none lost.  testpmd's thread shares
a core with the switch's main thread."""

import os
import subprocess
import time

import meter
import node
from case import HERE, Case, Sample
from pipeline import NUMBERS, goto
from results import Times

PROFILE_RUNNER = os.path.join(HERE, '..', '..', 'dpdk-conf', 'testpmd', 'run')
PROFILE = 'pingpong-vhost'
MACS = '02:00:00:00:01:00', '02:00:00:00:01:01'     # As in the profile.
UDP_PORTS = '9000,80'
BURSTS = 8                      # Of 32 packets, for each guest.
START_TIMEOUT = 60
WINDOWS, SECONDS = 3, 0.6


class Guests:
    """testpmd, from entry into its context until exit."""

    def __init__(self, switch, server_ip):
        self.dir, self.server_ip = switch.dir, server_ip
        self.log = os.path.join(self.dir, 'testpmd.out')

    def __enter__(self):
        command = ['setpriv', '--pdeathsig', 'KILL', PROFILE_RUNNER, PROFILE,
                   'SOCKET=%s/guest' % self.dir, '--',
                   '--tx-ip=%s,%s' % (self.server_ip, self.server_ip),
                   '--tx-udp=' + UDP_PORTS, '--eth-peer=0,' + MACS[1],
                   '--eth-peer=1,' + MACS[0]]
        with open(self.log, 'w') as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                            stdout=log, stderr=log, text=True)
        return self

    def __exit__(self, *args):
        try:
            self.command('quit')
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()

    def command(self, text):
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()

    def socket(self, number):
        return '%s/guest%d' % (self.dir, number)

    def wait_until_ready(self):
        """The prompt comes when the switch has connected to both sockets."""
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            with open(self.log) as f:
                text = f.read()
            if 'testpmd>' in text:
                return
            if self.process.poll() is not None or (time.monotonic()
                                                   > deadline):
                raise RuntimeError('testpmd: ' + text[-1000:])
            time.sleep(0.05)


def extra_flows(client, server):
    """Let the guests' MAC addresses be those of two Pods, and the 256
    addresses of the first guest pass."""
    def flow(table, match, action):
        return 'table=%d,priority=20000,ip,%s,actions=%s' % (
            NUMBERS[table], match, action)

    from_client = 'in_port=%d' % client.port
    return [
        flow('SpoofGuard', from_client, goto('UnSNAT')),
        flow('SpoofGuard', 'in_port=%d,dl_src=%s,nw_src=%s' % (
            server.port, MACS[1], server.ip), goto('UnSNAT')),
        flow('AntreaPolicyEgressRule', from_client, goto('EgressMetric')),
        flow('AntreaPolicyIngressRule', 'reg1=%d' % server.port,
             goto('IngressMetric')),
        flow('L3Forwarding', 'nw_dst=10.10.0.0/16',
             goto('L2ForwardingCalc')),
    ] + [flow('L2ForwardingCalc', 'dl_dst=' + mac,
              'set_field:%d->reg1,set_field:0x200000/0x600000->reg0,%s' % (
                  pod.port, goto('TrafficControl')))
         for mac, pod in zip(MACS, (client, server))]


class Testpmd(Case):
    def run(self, switch):
        if not switch.machine.huge:
            raise RuntimeError('vhost-user needs hugepages')
        n = node.make()
        client, server = n.cluster.clients[0], n.cluster.webs[0]
        with Guests(switch, server.ip) as guests:
            args = switch.br_int_args()
            for number, pod in enumerate((client, server)):
                name = 'guest%d' % number
                args += ['--', 'add-port', 'br-int', name, '--', 'set',
                         'interface', name, 'type=dpdkvhostuserclient',
                         'ofport_request=%d' % pod.port,
                         'options:vhost-server-path='
                         + guests.socket(number)]
            switch.vsctl(*args)
            switch.load(n.flows)
            switch.ofctl('add-flows', '-', stdin='\n'.join(
                extra_flows(client, server)) + '\n')
            guests.wait_until_ready()
            guests.command('start tx_first %d' % BURSTS)
            time.sleep(1.5)
            return [self.sample(switch) for _ in range(WINDOWS)]

    @staticmethod
    def sample(switch):
        for _ in range(meter.MAX_REPEATS):
            window = meter.Window(switch, ())
            window.begin()
            time.sleep(SECONDS)
            window.end()
            if window.away_percent <= meter.MAX_AWAY_PERCENT:
                break
        received = window.pmd['packets received']
        if not received:
            raise RuntimeError('no packet comes back from the guests')
        return Sample(received / window.seconds / 1e6,
                      window.cycles_per_packet, **window.summary())


def cases():
    yield Testpmd('testpmd', Times(2))

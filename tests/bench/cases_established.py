# SPDX-License-Identifier: Apache-2.0
"""Established connections: packets per second, both directions together."""

import re
import time

import cluster
import meter
import node
import pipeline
import traffic
from case import Case, Sample
from results import OwnTimes, Times

WINDOWS, SECONDS = 8, 0.25
# While a switch waits for others to be prepared it forgets what is idle; this is
# for finding it again.
SETTLE_SECONDS = 2
N_SERVICES = 20                 # That the clients talk to.
IPV6_SHARE = 0.85               # Of the rate of IPv4.
METER_RATE = 100000000          # Packets a second: more than anybody sends.
NUMBERS = {'1': 1, '1k': 1000, '10k': 10000, '100k': 100000, '1m': 1000000}


class Established(Case):
    in_turn = True
    geneve = False
    handshakes = traffic.HANDSHAKE_RATE
    at_once = traffic.HANDSHAKES
    # Megaflows would be forgotten, too, each time others are prepared for longer than
    # ten seconds, and those that come anew are slower by some percent.
    other_config = ['max-idle=600000']

    def __init__(self, name, protocol, n, rules=100, goal=None):
        super().__init__(name, goal)
        self.protocol, self.n, self.rules = protocol, n, rules

    is_ipv6 = False

    def make_node(self):
        return node.make(rules=self.rules, is_ipv6=self.is_ipv6)

    def prepare(self, switch):
        """Before flows are there."""

    def targets(self, n):
        return traffic.web_targets(n)

    def share(self, targets):
        return len(targets)

    def talking(self, connections):
        """Those that packets are measured of."""
        return connections

    def sample(self, window, connections):
        return Sample(window.rate('rx') / 1e6, window.cycles_per_packet,
                      connections=len(connections), **window.summary())

    def run(self, switch):
        n = self.make_node()
        pods = n.cluster.clients + n.cluster.webs
        switch.add_bridge(pods, n.cluster.nodes if self.geneve else ())
        self.prepare(switch)
        switch.load(n.flows)
        traffic.serve(switch, n)
        targets = self.targets(n)
        connections = traffic.Connections(switch, n.cluster.clients, targets,
                                          self.protocol, self.n,
                                          self.share(targets))
        connections.establish(self.handshakes, self.at_once)
        connections = self.talking(connections)
        connections.send()
        yield None
        time.sleep(SETTLE_SECONDS)
        yield None
        for _ in range(WINDOWS):
            connections.wait_turn()
            window = meter.quiet_window(switch, traffic.all_ports(pods),
                                        SECONDS)
            yield self.sample(window, connections)
        switch.generator.stop()


class Metered(Established):
    """Each packet meets a meter on its way, which lets all pass."""

    def make_node(self):
        return node.make(rules=self.rules, is_metered=True)

    def prepare(self, switch):
        switch.ofctl('add-meter', 'meter=%d,pktps,stats,band=type=drop,'
                     'rate=%d' % (pipeline.METER, METER_RATE))

    def run(self, switch):
        yield from super().run(switch)
        text = switch.ofctl('meter-stats', 'meter=%d' % pipeline.METER)
        passed, dropped = (int(n) for n in re.findall(
            r'packet(?:_in)?_count:(\d+)', text))
        if passed < self.n or dropped:
            raise RuntimeError('the meter is not on the way: ' + text)


class ToRemote(Established):
    geneve = True

    def targets(self, n):
        return traffic.remote_targets(n)


class ToService(Established):
    def targets(self, n):
        return traffic.service_targets(n, self.protocol, N_SERVICES)

    def share(self, targets):
        return len(cluster.TARGET_PORTS)


class Ipv6(Established):
    is_ipv6 = True


class Ipv6ToService(ToService):
    is_ipv6 = True


class Ipv6ToRemote(ToRemote):
    is_ipv6 = True


class Cost(Established):
    """In cycles, as it is compared over the number of rules."""

    unit = 'cycles'
    more_is_better = False

    def sample(self, window, connections):
        return Sample(window.cycles_per_packet, window.cycles_per_packet,
                      **window.summary())


def cases():
    kinds = (('pp', Established, {'1': 2, '1k': 2.5, '100k': 4}),
             ('svc', ToService, {'1': 2, '1k': 3, '100k': 5}))
    for kind, make, ratios in kinds:
        for protocol in 'udp', 'tcp':
            for n, ratio in ratios.items():
                yield make('est-%s-%s-%s' % (kind, protocol, n), protocol,
                           NUMBERS[n], goal=Times(ratio))
    yield Metered('est-metered-tcp-100k', 'tcp', NUMBERS['100k'])
    for name, protocol, make in (('est-pp-udp', 'udp', Established),
                                 ('est-svc-tcp', 'tcp', ToService)):
        yield make(name + '-10k', protocol, NUMBERS['10k'])
    for name, protocol, make in (('est-pp-udp', 'udp', Established),
                                 ('est-pp-tcp', 'tcp', Established),
                                 ('est-svc-tcp', 'tcp', ToService)):
        yield make(name + '-1m', protocol, NUMBERS['1m'],
                   goal=OwnTimes(name + '-100k', 0.5))
    for name, make in (('est-pp-tcp', Ipv6), ('est-svc-tcp', Ipv6ToService),
                       ('est-remote-tcp', Ipv6ToRemote)):
        yield make('ipv6-%s-100k' % name, 'tcp', NUMBERS['100k'],
                   goal=OwnTimes(name + '-100k', IPV6_SHARE))
    for protocol in 'udp', 'tcp':
        yield ToRemote('est-remote-%s-100k' % protocol, protocol,
                       NUMBERS['100k'], goal=Times(3))
    for name, rules in (('100', 100), ('1k', 1000), ('10k', 10000),
                        ('100k', 100000)):
        yield Cost('rules-est-' + name, 'tcp', 1000, rules)

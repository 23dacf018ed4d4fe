# SPDX-License-Identifier: Apache-2.0
"""New connections: each packet opens one."""

import time

import cluster
import generator
import meter
import node
import traffic
from case import Case, Sample
from cases_established import IPV6_SHARE
from cases_memory import reported
from results import OwnTimes, Times

# A burst is short: there are only so many source ports, and a table that
# fills measures something else.
SECONDS, COLD_SECONDS = 0.2, 0.4
BURSTS = 3                      # A cold switch has only one.
N_SERVICES = 100
WARM_SECONDS, WARM_RATE = 3, 15000
SETTLE_SECONDS = 3              # While threads free what was flushed.


class NewConnections(Case):
    """Pod to Pod."""

    unit = 'M conn/s'
    in_turn = True

    def __init__(self, name, goal=None, warm=True, **node_numbers):
        super().__init__(name, goal)
        self.node_numbers = node_numbers
        self.warm = warm

    def connections(self, switch, n):
        targets = traffic.web_targets(n)
        return traffic.every_connection(switch, n, targets, len(targets))

    def run(self, switch):
        n = node.make(**self.node_numbers)
        pods = n.cluster.clients + n.cluster.webs
        switch.add_bridge(pods)
        switch.load(n.flows)
        traffic.serve(switch, n, generator.SINK)
        connections = self.connections(switch, n)
        yield None
        for _ in range(BURSTS if self.warm else 1):
            if self.warm:
                self.warm_up(switch, connections)
            yield self.burst(switch, connections, traffic.all_ports(pods))
            switch.control('dpctl/flush-conntrack')

    @staticmethod
    def warm_up(switch, connections):
        """Leaves stock its megaflows, but no connection."""
        connections.program('syn', rate=WARM_RATE)
        switch.generator.start(*connections.ports)
        time.sleep(WARM_SECONDS)
        switch.generator.stop()
        switch.control('dpctl/flush-conntrack')
        time.sleep(SETTLE_SECONDS)

    def burst(self, switch, connections, ports):
        connections.program('syn')
        sent = -connections.sent()
        made = -self.n_evicted(switch)
        window = meter.Window(switch, ports)
        switch.generator.start(*connections.ports)
        time.sleep(0.05)
        window.begin()
        time.sleep(SECONDS if self.warm else COLD_SECONDS)
        window.end()
        switch.generator.stop()
        time.sleep(0.05)
        sent += connections.sent()
        made += switch.n_connections() + self.n_evicted(switch)
        rate = sum(window.counters[port]['rx'] for port in connections.ports)
        # Each packet opens a connection, unless source ports were used up.
        rate *= min(1, made / max(1, sent)) / window.seconds
        return self.sample(rate, window, connections=made, packets=sent)

    @staticmethod
    def n_evicted(switch):
        """Connections that made room for others, as none is answered."""
        return reported(switch, 'half_open_evicted') or 0

    def sample(self, rate, window, **details):
        return Sample(rate / 1e6, window.cycles_per_packet, **details,
                      **window.summary())


class ToService(NewConnections):
    n_services = N_SERVICES

    def connections(self, switch, n):
        return traffic.every_connection(
            switch, n, traffic.service_targets(n, 'tcp', self.n_services),
            len(cluster.TARGET_PORTS))


class ToOneService(ToService):
    def connections(self, switch, n):
        return traffic.every_connection(
            switch, n, traffic.service_targets(n, 'tcp', 1), 1)


class Cost(NewConnections):
    """In cycles, as it is compared over the number of rules."""

    unit = 'cycles'
    more_is_better = False

    def sample(self, rate, window, **details):
        return Sample(window.cycles_per_packet, window.cycles_per_packet,
                      connections_per_second=rate, **details,
                      **window.summary())


def cases():
    yield NewConnections('new-pp', Times(2))
    yield NewConnections('ipv6-new-pp', OwnTimes('new-pp', IPV6_SHARE),
                         is_ipv6=True)
    yield ToService('new-svc', Times(5))
    yield ToService('new-svc-cold', Times(10), warm=False)
    base = 'rules-new-100'
    for name, rules in (('100', 100), ('1k', 1000), ('10k', 10000),
                        ('100k', 100000)):
        goal = OwnTimes(base, 1.25) if rules > 100 else None
        yield Cost('rules-new-' + name, goal, rules=rules)
    yield ToOneService('endpoints-10', endpoints=10)
    yield ToOneService('endpoints-1k', OwnTimes('endpoints-10', 1 / 1.1),
                       endpoints=1000)

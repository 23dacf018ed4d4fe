# SPDX-License-Identifier: Apache-2.0
"""What ovs-vswitchd's memory grows by."""

import node
import traffic
from case import Case, Sample

CONNECTIONS = 100000
RULES = 10000


def resident_bytes(switch):
    with open('/proc/%d/status' % switch.vswitchd.pid) as f:
        for line in f:
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) * 1024
    raise RuntimeError('no VmRSS')


def reported(switch, name):
    """A figure of antrea-dp/stats-show, wherever in it; None without one."""
    def find(value):
        if isinstance(value, dict):
            if isinstance(value.get(name), (int, float)):
                return value[name]
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                found = find(item)
                if found is not None:
                    return found
        return None

    if switch.side.datapath_type != 'antrea':
        return None
    return find(switch.datapath_stats())


class MoreThanStock:
    """How much ours may be above stock: so much, or as much as stock."""

    def __init__(self, text, extra=None):
        self.text, self.extra = text, extra

    def reached(self, results, name):
        ours, stock = results.ours(name), results.stock(name)
        if ours is None or stock is None:
            return None
        extra = stock.median if self.extra is None else self.extra
        return ours.median - stock.median <= extra


class PerConnection(Case):
    """Connection table included, which is the same on all sides."""

    unit = 'B/direction'
    more_is_better = False

    def run(self, switch):
        n = node.make()
        switch.add_bridge(n.cluster.clients + n.cluster.webs)
        switch.load(n.flows)
        traffic.serve(switch, n)
        targets = traffic.web_targets(n)
        connections = traffic.Connections(
            switch, n.cluster.clients, targets, 'tcp', CONNECTIONS,
            len(targets))
        before = resident_bytes(switch)
        connections.establish()
        connections.send(rate=50000)
        grown = resident_bytes(switch) - before
        switch.generator.stop()
        return [Sample(grown / len(connections) / 2, None,
                       session_bytes=reported(switch, 'session_bytes'),
                       sessions=reported(switch, 'sessions'))]


class OfRules(Case):
    unit = 'MB'
    more_is_better = False

    def run(self, switch):
        n = node.make(rules=RULES)
        switch.add_bridge(n.cluster.clients[:1])
        before = resident_bytes(switch)
        seconds = switch.load(n.flows)
        grown = resident_bytes(switch) - before
        return [Sample(grown / 1e6, None, load_seconds=seconds,
                       flows=len(n.flows.flows),
                       program_bytes=reported(switch, 'program_bytes'))]


def cases():
    yield PerConnection('memory-connections',
                        MoreThanStock('stock + 160 B', 160))
    yield OfRules('memory-rules', MoreThanStock('2x stock'))

# SPDX-License-Identifier: Apache-2.0
"""How evenly connections spread over the endpoints of a Service."""

import collections
import math
import re

import generator
import node
import traffic
from case import Case, Sample
from results import Limit

ENDPOINTS, CONNECTIONS, RATE = 1000, 100000, 5000


def chi_square_p(observed, n):
    """The probability that even shares look as uneven as this, by Wilson and
    Hilferty's approximation."""
    expected = sum(observed) / n
    observed = list(observed) + [0] * (n - len(observed))
    chi_square = sum((o - expected) ** 2 / expected for o in observed)
    freedom = n - 1
    spread = 2 / (9 * freedom)
    z = ((chi_square / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    return 0.5 * math.erfc(z / math.sqrt(2))


class Spread(Case):
    unit = 'p'

    def run(self, switch):
        n = node.make(endpoints=ENDPOINTS)
        switch.add_bridge(n.cluster.clients + n.cluster.webs)
        switch.load(n.flows)
        traffic.serve(switch, n, generator.SINK)
        service = n.services_of('tcp')[0]
        connections = traffic.Connections(
            switch, n.cluster.clients, traffic.service_targets(n, 'tcp', 1),
            'tcp', CONNECTIONS, 1)
        connections.program('syn', count=connections.per_client, rate=RATE,
                            backlog=traffic.HANDSHAKE_BACKLOG)
        switch.generator.start(*connections.ports)
        switch.generator.wait(connections.ports, 120)
        counts = self.endpoints(switch.control('dpctl/dump-conntrack'),
                                service)
        return [Sample(chi_square_p(counts.values(), ENDPOINTS), None,
                       used=len(counts), connections=sum(counts.values()),
                       least=min(counts.values()),
                       most=max(counts.values()))]

    @staticmethod
    def endpoints(text, service):
        """Endpoint -> connections."""
        return collections.Counter(re.findall(
            r'orig=\(src=[^,]*,dst=%s,[^)]*\),reply=\(src=([0-9.]+),'
            % re.escape(service.ip), text))


def cases():
    yield Spread('spread', Limit(0.01, 'p >= 0.01'))

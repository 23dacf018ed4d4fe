# SPDX-License-Identifier: Apache-2.0
"""All probes of a step, but for those of names.py and groups.py."""

import frames
from burst import Burst, Probe
from cluster import (GATEWAYS, NODE_NAMES, NODE_PORT_IPS, OUTSIDERS, PODS,
                     arrives_at, pairs)
from evaluate import Outcome, Packet

PORTS = [(frames.TCP, 80), (frames.TCP, 81), (frames.TCP, 8080),
         (frames.UDP, 80), (frames.UDP, 81),
         (frames.SCTP, 80), (frames.SCTP, 81)]
ICMP_TYPES = {4: [8, 13], 6: [128]}
SOURCE_PORTS = 20000, 40000     # Two kinds, of 10,000 each: for sourcePort.
ANSWERED = 3                    # One in so many that arrive is answered.
NOBODY = 'nobody'               # A Service without endpoints.


class Round(Burst):
    """What is sent at one step.  'step' makes source ports new ones, but for
    probes of a kind() in 'kept', which have the port that is there."""

    def __init__(self, world, step, kept, only=None):
        super().__init__(world)
        self.step = step
        self.kept = kept
        self.generation = step & 0x7fff
        for source, sender, target in pairs():
            if self.family not in target.addresses:
                continue
            for protocol, port in PORTS + [
                    (frames.ICMP, kind) for kind in ICMP_TYPES[self.family]]:
                self.add(source, sender, target, None,
                         target.addresses[self.family], protocol, port)
        for pod in PODS:
            self.add_services(pod)
        for gateway in GATEWAYS:
            self.add_node_ports(gateway)
        if only is not None:
            kinds = {p.kind() for p in only}
            self.probes = [p for p in self.probes if p.kind() in kinds]

    def add_services(self, pod):
        for name, obj in sorted(self.world.services.items()):
            for address in obj['spec']['clusterIPs']:
                if (6 if ':' in address else 4) != self.family:
                    continue
                for port in obj['spec']['ports']:
                    self.add(pod, pod, None, name, address,
                             port.get('protocol', frames.TCP), port['port'])

    def add_node_ports(self, gateway):
        for name, obj in sorted(self.world.services.items()):
            for port in obj['spec']['ports']:
                if 'nodePort' not in port:
                    continue
                for client in OUTSIDERS:
                    self.add(client, gateway, None, name,
                             NODE_PORT_IPS[self.family],
                             port.get('protocol', frames.TCP),
                             port['nodePort'], port['port'])

    def add(self, source, sender, target, service, dst, protocol, dport,
            port=None):
        index = len(self.probes)
        p = Probe(self.generation << 16 | index, source, sender, target,
                  self.family)
        p.service, p.dst, p.protocol = service, dst, protocol
        p.dport, p.port = dport, port
        # The same client, endpoint and ports, once directly and once by a
        # Service, would be one connection: even ports for the one, odd ones
        # for the other.
        p.sport = (SOURCE_PORTS[(index + self.step) % 2] + bool(service)
                   + 2 * ((self.step * 7 + index) % 5000))
        p.sport = self.kept.get(p.kind(), p.sport)
        self.probes.append(p)

    def answer(self, p, frame):
        """Connections that were let in are let back."""
        return (frames.answer(frame)
                if (p.number + self.step) % ANSWERED == 0 else None)

    # --- what must come of it -----------------------------------------------

    def outcomes(self, p):
        """[(place, Outcome)]: one of these must be."""
        if p.target:
            return [(arrives_at(p.sender, p.target), self.world.connection(
                p.src, p.dst, Packet(p.protocol, p.sport, p.dport, None)))]
        places = {place.addresses[self.family]: place for place in PODS}
        node = NODE_NAMES[p.sender.node]
        behind = (self.world.node_endpoints(p.service, p.protocol, p.port,
                                            node) if p.port else
                  self.world.endpoints(p.service, p.protocol, p.dport))
        if not behind:
            return [(None, Outcome(NOBODY, 'no endpoint'))]
        if p.port:
            return [(places[address], self.world.node_port(
                p.src, node, address,
                Packet(p.protocol, p.sport, port, p.service)))
                for address, port in behind]
        return [(places[address], self.world.connection(
            p.src, address, Packet(p.protocol, p.sport, port, p.service)))
            for address, port in behind]

    def keep(self):
        """What nobody answered, and comes once more from the same port, is a
        new connection still, allowed or not: {kind: port} of a half of it.
        (Behind a Service it would be the endpoint of before, and what is
        marked for an engine stays so.)"""
        return {p.kind(): p.sport for p in self.probes
                if p.number % 2 and not p.service and not p.is_answered
                and not any(outcome.is_marked for outcome, _ in p.expected)}

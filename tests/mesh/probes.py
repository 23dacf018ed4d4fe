# SPDX-License-Identifier: Apache-2.0
"""All probes of a step: what is sent, what must come of it, what came."""

import time

import frames
from cluster import (GATEWAYS, NODE_NAMES, NODE_PORT_IPS, OUTSIDERS, PLACES,
                     PODS, arrives_at, pairs)
from evaluate import ALLOW, DROP, REJECT, Outcome, Packet

PORTS = [(frames.TCP, 80), (frames.TCP, 81), (frames.TCP, 8080),
         (frames.UDP, 80), (frames.UDP, 81),
         (frames.SCTP, 80), (frames.SCTP, 81)]
ICMP_TYPES = {4: [8, 13], 6: [128]}
SOURCE_PORTS = 20000, 40000     # Two kinds, of 10,000 each: for sourcePort.
UNREACHABLE_PORT = {4: 3, 6: 4}
ANSWERED = 3                    # One in so many that arrive is answered.
NOBODY = 'nobody'               # A Service without endpoints.
INIT_LIFETIME = 3               # Seconds that conntrack waits for an answer.


class Probe:
    __slots__ = ('number', 'source', 'sender', 'target', 'service', 'src',
                 'dst', 'protocol', 'sport', 'dport', 'port', 'expected', 'seen',
                 'is_answered')

    def kind(self):
        """What it has in common with those of other steps."""
        return (self.source.name, self.target and self.target.name,
                self.service, self.protocol, self.dport)

    def describe(self):
        name = (self.target.name if self.target
                else 'Service ' + '/'.join(self.service))
        what = ('ICMP type %d, id %d' % (self.dport, self.sport)
                if self.protocol == frames.ICMP else
                '%s %d > %d' % (self.protocol, self.sport, self.dport))
        return '%s (%s) > %s (%s), %s' % (self.source.name, self.src, name,
                                          self.dst, what)


class Round:
    """What is sent at one step.  'step' makes source ports new ones, but for
    probes of a kind() in 'kept', which have the port that is there."""

    def __init__(self, world, step, kept, only=None):
        self.world = world
        self.step = step
        self.kept = kept
        self.generation = step & 0x7fff
        self.probes = []
        self.by_key = {}
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
            kept = {p.kind() for p in only}
            self.probes = [p for p in self.probes if p.kind() in kept]

    @property
    def family(self):
        return self.world.family

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
        """'port': of the Service that has 'dport' as its NodePort."""
        p = Probe()
        p.port = port
        index = len(self.probes)
        p.number = self.generation << 16 | index
        p.source, p.sender, p.target = source, sender, target
        p.service, p.protocol, p.dport = service, protocol, dport
        p.src, p.dst = source.addresses[self.family], dst
        # The same client, endpoint and ports, once directly and once by a
        # Service, would be one connection: even ports for the one, odd ones
        # for the other.
        p.sport = (SOURCE_PORTS[(index + self.step) % 2] + bool(service)
                   + 2 * ((self.step * 7 + index) % 5000))
        p.sport = self.kept.get(p.kind(), p.sport)
        p.seen = []
        p.is_answered = False
        self.probes.append(p)

    def key(self, p):
        return frames.key_of(p.protocol, frames.packed(p.src),
                             frames.packed(p.dst), p.sport, p.dport)

    def frames(self, prober):
        for p in self.probes:
            src, dst = frames.packed(p.src), frames.packed(p.dst)
            yield p.sender, prober.frame(
                p.sender, p.target, src, dst, *frames.payload(
                    p.protocol, src, dst, p.sport, p.dport, p.number))

    # --- what must come of it -------------------------------------------------

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

    def wanted(self, p, place, verdict):
        """What must be seen, and where."""
        if verdict == ALLOW:
            return [('arrived', place.name)]
        if verdict == DROP:
            return []
        if p.protocol == frames.TCP:
            return [('reset', p.sender.name)]
        code = (frames.PROHIBITED if verdict == REJECT
                else UNREACHABLE_PORT)[self.family]
        return [('unreachable, code %d' % code, p.sender.name)]

    # --- what came ------------------------------------------------------------

    def run(self, prober):
        """Sends all, has some answered, and returns the Differences."""
        self.by_number = {p.number: p for p in self.probes}
        self.by_key = {self.key(p): p for p in self.probes}
        strange = []
        to_answer = []
        self.started = time.monotonic()
        for place, frame in prober.burst(list(self.frames(prober))):
            p = self.note(place, frame, strange)
            if (p and frame.kind == frames.PROBE
                    and (p.number + self.step) % ANSWERED == 0):
                to_answer.append((p, place, frame))
        self.answered(prober, to_answer, strange)
        prober.check_losses()
        return self.compare(), strange

    def find(self, frame):
        if frame.kind == frames.ERROR:
            return self.by_key.get(frame.key)
        return self.by_number.get(frame.number)

    def note(self, place, frame, strange):
        p = self.find(frame) if frame.kind else None
        if p is None or not frame.sound:
            strange.append('at %s: %s %s %d > %s %d, %s, number %s%s' % (
                place, frame.protocol, dotted(frame.src), frame.sport,
                dotted(frame.dst), frame.dport, frame.kind or 'unknown',
                frame.number, '' if frame.sound else ', wrong checksum'))
            return None
        what = {frames.PROBE: 'arrived', frames.RESET: 'reset',
                frames.ERROR: 'unreachable, code %s' % frame.code,
                frames.ANSWER: 'answer'}[frame.kind]
        if frame.kind in (frames.RESET, frames.ERROR, frames.ANSWER):
            # It comes from where the probe went to.
            if frame.src != frames.packed(p.dst) or (
                    frame.kind != frames.ERROR
                    and p.protocol != frames.ICMP
                    and (frame.sport, frame.dport) != (p.dport, p.sport)):
                what += ' from %s port %d' % (dotted(frame.src), frame.sport)
        p.seen.append((what, place))
        return p

    def answered(self, prober, to_answer, strange):
        """Answers to connections that were let in are let back."""
        sent, waiting = [], []
        for p, place, frame in to_answer:
            answer = frames.answer(frame)
            if not answer:
                continue
            at = PLACES[place]
            # Its own address behind a Service stands for the gateway's.
            target = (p.source if p.source.kind == 'pod'
                      and p.source is not at else None)
            sent.append((at, prober.frame(at, target, frame.dst, frame.src,
                                          *answer)))
            waiting.append(p)
            p.is_answered = True
        for place, frame in prober.burst(sent):
            self.note(place, frame, strange)
        is_late = time.monotonic() - self.started > INIT_LIFETIME
        for p in waiting:
            try:
                p.seen.remove(('answer', p.sender.name))
            except ValueError:
                # On a machine that is busy an INIT may be forgotten by then.
                if p.protocol != frames.SCTP or not is_late:
                    p.seen.append(('the answer to it was lost',
                                   p.sender.name))

    def keep(self):
        """What nobody answered, and comes once more from the same port, is a
        new connection still, allowed or not: {kind: port} of a half of it.
        (Behind a Service it would be the endpoint of before.)"""
        return {p.kind(): p.sport for p in self.probes
                if p.number % 2 and not p.service and not p.is_answered
                # Nor what is marked for an engine that isn't there.
                and not any('engine' in outcome.why
                            for _, outcome in p.expected)}

    def compare(self):
        """The Probes of which came what must not."""
        differing = []
        for p in self.probes:
            p.expected = self.outcomes(p)
            if not any(sorted(self.wanted(p, place, outcome.verdict))
                       == sorted(p.seen) for place, outcome in p.expected):
                differing.append(p)
        return differing


def dotted(address):
    return frames.ipaddress.ip_address(address).compressed


def explain(p):
    """A difference in words."""
    lines = [p.describe()]
    for place, outcome in p.expected:
        lines.append('    expected: %s%s, %s' % (
            outcome.verdict,
            ' at ' + place.name if place and outcome.verdict == ALLOW else '',
            outcome.why))
    lines.append('    seen: %s' % (', '.join(
        '%s at %s' % event for event in p.seen) or 'nothing'))
    return '\n'.join(lines)


# SPDX-License-Identifier: Apache-2.0
"""Probes that are sent at once, what must come of them, what came."""

import collections
import time

import frames
from cluster import NODE_NAMES, PLACES
from evaluate import ALLOW, DROP, REJECT

UNREACHABLE_PORT = {4: 3, 6: 4}
INIT_LIFETIME = 3               # Seconds: conntrack waits for an answer, or
HELD_LIFETIME = 2               # the datapath may hold one of DNS.
FEW = 16                        # That many are sent again at once,
TRIES = 6                       # so often; see Burst.renew().
NODES = {name: node for node, name in NODE_NAMES.items()}

# An Outcome, and what is seen of it: [(what, place)].
Expected = collections.namedtuple('Expected', 'outcome wanted')


class Probe:
    """'port': of the Service that has 'dport' as its NodePort; 'name' and
    'record': what DNS is asked for, see names.Question.  'expected': one of
    these; 'seen': [(what, place)]"""

    __slots__ = ('number', 'source', 'sender', 'target', 'service', 'src',
                 'dst', 'protocol', 'sport', 'dport', 'port', 'name',
                 'record', 'expected', 'seen', 'is_answered')

    def __init__(self, number, source, sender, target, family):
        self.number = number
        self.source, self.sender, self.target = source, sender, target
        self.src = source.addresses[family]
        self.dst = target.addresses[family] if target else None
        self.service = self.port = self.name = self.record = None
        self.expected, self.seen = [], []
        self.is_answered = False

    def kind(self):
        """What it has in common with those of other steps."""
        return (self.source.name, self.target and self.target.name,
                self.service, self.protocol, self.dport, self.dst)

    def describe(self):
        name = (self.target.name if self.target else
                'Service ' + '/'.join(self.service) if self.service
                else 'group')
        what = ('ICMP type %d, id %d' % (self.dport, self.sport)
                if self.protocol == frames.ICMP else
                '%s %d > %d' % (self.protocol, self.sport, self.dport))
        return '%s (%s) > %s (%s), %s%s' % (
            self.source.name, self.src, name, self.dst, what,
            ' for ' + self.name if self.name else '')


class Burst:
    """The base of those that know what to send and what must come of it:
    outcomes(), and payload() and answer() if it isn't what frames.py has."""

    def __init__(self, world):
        self.world = world
        self.probes = []
        self.by_number = {}
        self.by_key = {}

    @property
    def family(self):
        return self.world.family

    def key(self, p):
        return frames.key_of(p.protocol, frames.packed(p.src),
                             frames.packed(p.dst), p.sport, p.dport)

    def payload(self, p, src, dst):
        return frames.payload(p.protocol, src, dst, p.sport, p.dport,
                              p.number)

    def frames(self, prober, probes):
        for p in probes:
            src, dst = frames.packed(p.src), frames.packed(p.dst)
            yield p.sender, prober.frame(p.sender, p.target, src, dst,
                                         *self.payload(p, src, dst))

    # --- what must come of it -----------------------------------------------

    def wanted(self, p, place, outcome):
        """What must be seen, and where."""
        engines = [(rule, 'engine-' + NODES[node])
                   for node, rule in outcome.engines]
        found = [('seen by rule %s' % rule, engine)
                 for rule, engine in engines]
        if outcome.verdict == ALLOW:
            found.append(('arrived', place.name))
            if p.is_answered:
                found.append(('answer', p.sender.name))
                found += [('answer seen by rule %s' % rule, engine)
                          for rule, engine in engines]
        elif outcome.verdict != DROP and p.protocol == frames.TCP:
            found.append(('reset', p.sender.name))
        elif outcome.verdict != DROP:
            code = (frames.PROHIBITED if outcome.verdict == REJECT
                    else UNREACHABLE_PORT)[self.family]
            found.append(('unreachable, code %d' % code, p.sender.name))
        return sorted(found)

    def compare(self):
        """The Probes of which came what must not."""
        differing = []
        for p in self.probes:
            p.expected = [Expected(outcome, self.wanted(p, place, outcome))
                          for place, outcome in self.outcomes(p)]
            if not any(wanted == sorted(p.seen) for _, wanted in p.expected):
                differing.append(p)
        return differing

    # --- what came ----------------------------------------------------------

    def run(self, prober):
        """Sends all, has some answered, and returns the Probes that differ,
        and what nobody sent.

        Answers that may have come too late on a machine that is busy aren't
        waited for: the same is sent again, as a new connection, with few
        others, until it takes no longer than it may."""
        strange = []
        late = self.exchange(prober, self.probes, strange)
        for _ in range(TRIES):
            late, now = [], late
            for start in range(0, len(now), FEW):
                few = now[start:start + FEW]
                for p in few:
                    p.seen = []
                    self.renew(p)
                late += self.exchange(prober, few, strange)
        prober.check_losses()
        return self.compare(), strange

    def renew(self, p):
        """Another source port: as often as TRIES one that this kind of probe
        has at no other step (see Round.add())."""
        p.sport += 2

    def exchange(self, prober, probes, strange):
        """Returns those of which answers are missing that may have been
        late."""
        began = time.monotonic()
        self.by_number.update((p.number, p) for p in probes)
        self.by_key.update((self.key(p), p) for p in probes)
        arrived = self.send(prober, self.frames(prober, probes), strange)
        answers = []
        for p, place, frame in arrived:
            answer = (self.answer(p, frame)
                      if frame.kind == frames.PROBE else None)
            if answer:
                p.is_answered = True
                answers.append(self.frame_back(prober, p, place, frame,
                                               answer))
        self.send(prober, answers, strange)
        self.await_held(prober, probes, strange)
        took = time.monotonic() - began
        return [p for p in probes if self.is_lost(p)
                and (p.protocol == frames.SCTP and took > INIT_LIFETIME
                     or self.is_dns(p) and took > HELD_LIFETIME)]

    def is_lost(self, p):
        return p.is_answered and ('answer', p.sender.name) not in p.seen

    def is_dns(self, p):
        """Answers look like those that the datapath may hold."""
        return p.protocol == frames.UDP and p.dport == frames.DNS_PORT

    def await_held(self, prober, probes, strange):
        end = time.monotonic() + 2 * HELD_LIFETIME
        held = [p for p in probes if self.is_dns(p)]
        while (any(self.is_lost(p) for p in held)
               and time.monotonic() < end):
            self.note_all(prober, prober.more(), strange)

    def answer(self, p, frame):
        """(protocol number, payload), or None."""
        return frames.answer(frame)

    def frame_back(self, prober, p, place, frame, answer):
        at = PLACES[place]
        # Its own address behind a Service stands for the gateway's.
        target = (p.source if p.source.kind == 'pod'
                  and p.source is not at else None)
        return at, prober.frame(at, target, frame.dst, frame.src, *answer)

    def send(self, prober, sent, strange):
        """[(Probe, place, Frame)] of what came of it."""
        sent = list(sent)
        return (self.note_all(prober, prober.burst(sent), strange)
                if sent else [])

    def note_all(self, prober, arrived, strange):
        found = [(self.note(place, frame, strange), place, frame)
                 for place, frame in arrived]
        for node, rule, frame in prober.engines.take():
            p = self.find(frame) if frame and frame.kind else None
            if p and frame.kind in (frames.PROBE, frames.ANSWER):
                what = 'answer seen' if frame.kind == frames.ANSWER else 'seen'
                p.seen.append(('%s by rule %s' % (what, rule),
                               'engine-' + node))
        return [entry for entry in found if entry[0]]

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


def dotted(address):
    return frames.ipaddress.ip_address(address).compressed


def events(found):
    return ', '.join('%s at %s' % event for event in found) or 'nothing'


def explain(p):
    """A difference in words."""
    lines = [p.describe()]
    for outcome, wanted in p.expected:
        lines.append('    expected: %s, %s: %s' % (
            outcome.verdict, outcome.why, events(wanted)))
    lines.append('    seen: %s' % events(sorted(p.seen)))
    return '\n'.join(lines)

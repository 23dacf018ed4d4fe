# SPDX-License-Identifier: Apache-2.0
"""Conversations in random order, with changes in between."""

import packets
import tunnels
from talk import Talk, vary


# Ports of clients are further apart than NAT has to look for a free one.
APART = 1000

# Of packets that rules.RuleSet.make_punts() leaves to stock.
OTHER_TOS = 0xb8


ECHO = {packets.ICMP: (8, 0), packets.ICMP6: (128, 129)}


def crowd(packet):
    """Equal for packets that may belong to one connection, also by the port that
    NAT gave it, be about it, or want the same port from NAT."""
    if packet.sport in ECHO.get(packet.proto, ()):
        return packet.proto, packet.rest >> 16
    if packet.proto not in ECHO:
        return packet.proto, max(packet.sport, packet.dport) // APART
    # An error is about the connection of what it quotes.
    quoted = packet.data
    if packet.proto == packets.ICMP:
        proto, start = quoted[9:10], 4 * (quoted[0] & 15) if quoted else 0
    else:
        proto, start = quoted[6:7], 40
    ports = [int.from_bytes(quoted[at:at + 2], 'big')
             for at in (start, start + 2)]
    return int.from_bytes(proto, 'big'), max(ports) // APART


def crowds(packet, world):
    """All of these, for what may be on its way to a service or back: what a
    service says wants another port from NAT to a port, like all that it says."""
    found = {crowd(packet)}
    if world.to_port and packet.sport < packet.dport:
        found.add((packet.proto, packet.src, packet.sport))
    return found


class Traffic:
    """Drives a steps.Pair.

    changes     makes the changes in between, see changes.Changes; or None
    batches     several packets may come as one batch
    varied      share of packets that come with variations of themselves
    compared    what has to agree now and then: connections, counters
    """

    LIVE = 8

    def __init__(self, rnd, pair, world, changes=None, kinds=None,
                 batches=True, varied=.3, change_share=.012, warps=True,
                 expire=False, compared='connections counters'):
        self.rnd, self.pair, self.world = rnd, pair, world
        self.changes, self.kinds = changes, kinds
        self.batches, self.varied = batches, varied
        self.change_share, self.warps = change_share, warps
        self.expires, self.compared = expire, compared
        self.talks = []
        self.tag = 0

    def run(self, n_packets):
        end = self.pair.n_packets + n_packets
        next_check = self.pair.n_packets + 250
        while self.pair.n_packets < end:
            self.refill()
            self.one_step()
            if self.pair.n_packets >= next_check:
                next_check = self.pair.n_packets + 250
                self.pair.do(['check', self.compared])
        if self.changes:
            self.changes.undo_all()
        if 'counters' in self.compared:
            self.pair.do(['check', self.compared + ' all'])
        else:
            self.pair.do(['check', self.compared])

    def refill(self):
        while len(self.talks) < self.LIVE:
            talk = Talk(self.rnd, self.world, self.kinds)
            if talk.next:
                self.talks.append(talk)

    def one_step(self):
        rnd = self.rnd
        if self.changes and rnd.random() < self.change_share:
            self.changes.one(self.talks)
        elif self.warps and rnd.random() < .01:
            self.pair.do(['warp', rnd.choice([100, 1000, 5000, 31000,
                                              70000])])
            if self.expires:
                self.pair.do(['expire'])
        elif self.may_batch() and rnd.random() < .35:
            self.batch()
        else:
            # A while, so that there is something to remember.
            talk = rnd.choice(self.talks)
            for _ in range(rnd.choice([1, 2, 4, 8])):
                if talk in self.talks:
                    self.single(talk)

    def may_batch(self):
        """Who gets the last connection that a zone has, is open in a batch."""
        return self.batches and not (self.changes and self.changes.limited)

    # Packets.

    def ports(self):
        return self.pair.ours.ports

    def tagged(self, packet):
        if packet.frag:
            return packet               # Its parts go by the same tag.
        self.tag = self.tag % 0xffff + 1
        label = packet.label
        if label is None and self.rnd.random() < .9:
            # Both directions of a connection have one of their own.
            label = packets.LABELS[(packet.sport * 3 + packet.dport)
                                   % len(packets.LABELS)]
        return packet.but(tag=self.tag, label=label)

    def is_certain(self, packet):
        """Stock tracks SCTP, unless the daemon is ours, without ports, tags and
        states.

        Timeout policies are for TCP, UDP and ICMP.  Stock's megaflows don't
        tell protocols apart for them: whether another protocol's packet goes
        by a policy, and whether theirs do, depends on whose packet came
        first."""
        proto = packet.shown_proto()
        if self.changes and self.changes.timed:
            return proto in (packets.TCP, packets.UDP, packets.ICMP,
                             packets.ICMP6)
        return proto != packets.SCTP or self.pair.both_track_sctp

    def frames_of(self, port, batch):
        """What enters for 'batch': one frame for each packet that fares the
        same in both."""
        frames = [p.frame() for p in batch if self.is_certain(p)]
        if port == tunnels.PORT:
            frames = [tunnels.wrap(self.rnd, self.pair.tunnel_kind, frame)
                      for frame in frames]
        return frames

    @staticmethod
    def entry(port):
        """The port that they enter by."""
        return tunnels.UNDERLAY if port == tunnels.PORT else port

    def send(self, port, batch):
        """Sends packets with tags and says where each came out."""
        arrived = {p.tag: [] for p in batch}
        frames = self.frames_of(port, batch)
        if frames:
            self.note(self.pair.do(['packets', self.entry(port), frames]),
                      arrived)
        return arrived

    @staticmethod
    def note(sent, arrived):
        """Adds what was 'sent' to the packets that 'arrived', by tag."""
        for to, frame in sent:
            if to == tunnels.UNDERLAY:
                to, frame = tunnels.PORT, tunnels.unwrap(frame)
            p = packets.parse(frame)
            if p and p.tag in arrived:
                arrived[p.tag].append((to, p))

    def single(self, talk):
        rnd = self.rnd
        port, packet = talk.next
        if port not in self.ports():
            self.advance(talk, [])
            return
        if packet.frag:
            self.fragments(talk)
            return
        if rnd.random() < self.varied:
            other, varied = vary(rnd, self.world, port, packet)
            if other in self.ports():
                self.send(other, [self.tagged(varied)])
        packet = self.tagged(packet)
        arrived = self.send(port, [packet])
        for _ in range(rnd.choice([0, 0, 0, 1, 2])):
            self.send(port, [self.tagged(packet)])  # Came again.
        self.advance(talk, arrived[packet.tag])

    def fragments(self, talk):
        """All fragments of a datagram in one batch."""
        port, first = talk.next
        batch = []
        while talk.next and talk.next[1].tag == first.tag:
            batch.append(talk.next[1])
            talk.go_on([])
        self.send(port, batch)
        if not talk.next:
            self.talks.remove(talk)

    def advance(self, talk, arrived):
        talk.go_on(arrived)
        if not talk.next:
            self.talks.remove(talk)

    def batch(self):
        """One batch of what waits at a port: one packet of each connection,
        and more of some."""
        rnd = self.rnd
        port = rnd.choice(self.talks).next[0]
        if port not in self.ports():
            return
        waiting, seen = [], set()
        # More connections than live talks: they end after the first packet.
        extra = [Talk(rnd, self.world, self.kinds)
                 for _ in range(rnd.choice([0, 0, 8, 30]))]
        for talk in self.talks + extra:
            if not talk.next or talk.next[0] != port:
                continue
            keys = crowds(talk.next[1], self.world)
            if not keys & seen and len(waiting) < 32:
                seen |= keys
                waiting.append((talk, self.tagged(talk.next[1])))
        groups = [[packet] for _, packet in waiting]
        for group in rnd.sample(groups, min(len(groups),
                                            rnd.choice([0, 0, 1, 2]))):
            group += self.repeated(port, group[0])
        # Packets of a connection come one behind the other, or mixed.
        rnd.shuffle(groups)
        batch = [packet for group in groups for packet in group][:32]
        if rnd.random() < .5:
            rnd.shuffle(batch)
        if not batch:
            return
        arrived = self.send(port, batch)
        for talk, packet in waiting:
            if talk in self.talks and packet.tag in arrived:
                self.advance(talk, arrived[packet.tag])

    def repeated(self, port, packet):
        """More of 'packet' for the same batch.  In a batch, stock does a step
        of the way for all packets and then the next, so it shows whether
        one changes what becomes of the next: they mustn't any more."""
        kinds = [packet, packet.but(tos=OTHER_TOS)]
        states = []
        for kind in [packet] + kinds:
            self.send(port, [self.tagged(kind)])
            states.append(self.pair.stock.connections())
        if states[0] != states[1]:
            return []
        if states[0] != states[2]:
            kinds.pop()
        return [self.tagged(self.rnd.choice(kinds))
                for _ in range(self.rnd.choice([1, 3, 10]))]

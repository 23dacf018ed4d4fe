# SPDX-License-Identifier: Apache-2.0
"""Conversations in rounds: one packet of each of many, all handed over at once.

What the switches are asked for after each packet in traffic.Traffic, they are
asked for after each round, and to where a packet went that differs each output
still says which batch it was for.  So thousands of packets take a second."""

import traffic
from talk import Talk, vary


class Bulk(traffic.Traffic):
    """As traffic.Traffic, with

    live            conversations at a time
    change_share    of rounds that come behind a change
    warp_share      of those that come behind some time
    check_every     so many packets connections and counters are compared"""

    def __init__(self, *args, live=64, change_share=.2, warp_share=.06,
                 check_every=1500, **kwargs):
        super().__init__(*args, change_share=change_share, **kwargs)
        self.LIVE = live
        self.warp_share, self.check_every = warp_share, check_every

    def run(self, n_packets):
        end = self.pair.n_packets + n_packets
        next_check = self.pair.n_packets + self.check_every
        while self.pair.n_packets < end:
            self.refill()
            self.between()
            self.round()
            if self.pair.n_packets >= next_check:
                next_check = self.pair.n_packets + self.check_every
                self.pair.do(['check', self.compared])
        if self.changes:
            self.changes.undo_all()
        whole = ' all' if 'counters' in self.compared else ''
        self.pair.do(['check', self.compared + whole])

    def between(self):
        rnd = self.rnd
        if self.changes and rnd.random() < self.change_share:
            self.changes.one(self.talks)
        if self.warps and rnd.random() < self.warp_share:
            self.pair.do(['warp', rnd.choice([100, 1000, 5000, 31000,
                                              70000])])
            if self.expires:
                self.pair.do(['expire'])

    def round(self):
        """What waits, as batches in random order."""
        rnd = self.rnd
        batches = []                    # (port, packets)
        together = {}                   # Port: packets that share a batch.
        waiting = []                    # (talk, packet)
        ports = self.ports()
        in_batches = self.may_batch() and rnd.random() < .5
        for talk in list(self.talks):
            port, packet = talk.next
            if port not in ports:
                self.advance(talk, [])
                continue
            if packet.frag:
                batches.append((port, self.datagram(talk)))
                continue
            if rnd.random() < self.varied:
                other, varied = vary(rnd, self.world, port, packet)
                if other in ports:
                    batches.append((other, [self.tagged(varied)]))
            packet = self.tagged(packet)
            waiting.append((talk, packet))
            if in_batches and rnd.random() < .7:
                together.setdefault(port, []).append(packet)
            else:
                batches.append((port, [packet]))
                for _ in range(rnd.choice([0, 0, 0, 1, 2])):
                    batches.append((port, [self.tagged(packet)]))
        for port, all_of_port in together.items():
            batches += self.mixed(port, all_of_port)
        # Whole batches: what comes again comes behind what it is like, for
        # which it does not matter what is in between.
        rnd.shuffle(batches)
        arrived = self.send_batches(batches)
        for talk, packet in waiting:
            if talk in self.talks and packet.tag in arrived:
                self.advance(talk, arrived[packet.tag])

    def datagram(self, talk):
        """All its fragments."""
        port, first = talk.next
        parts = []
        while talk.next and talk.next[1].tag == first.tag:
            parts.append(talk.next[1])
            talk.go_on([])
        if not talk.next:
            self.talks.remove(talk)
        return parts

    def mixed(self, port, packets):
        """Batches of packets of which no two are of one connection, nor want
        the same port from NAT; who gets which would be open."""
        rnd = self.rnd
        extra = [Talk(rnd, self.world, self.kinds)
                 for _ in range(rnd.choice([0, 0, 8, 30]))]
        packets += [self.tagged(talk.next[1]) for talk in extra
                    if talk.next and talk.next[0] == port
                    and not talk.next[1].frag]
        batches = []
        for packet in packets:
            keys = traffic.crowds(packet, self.world)
            for seen, batch in batches:
                if not keys & seen and len(batch) < 32:
                    break
            else:
                seen, batch = set(), []
                batches.append((seen, batch))
            seen |= keys
            batch.append(packet)
        return [(port, batch) for _, batch in batches]

    def send_batches(self, batches):
        """Sends them and says where each packet came out: tag -> list of
        (port, Packet)."""
        arrived, step = {}, []
        for port, batch in batches:
            for p in batch:
                arrived[p.tag] = []
            frames = self.frames_of(port, batch)
            if frames:
                step.append([self.entry(port), frames])
        if step:
            self.note(self.pair.do(['burst', step]), arrived)
        return arrived

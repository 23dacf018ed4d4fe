# SPDX-License-Identifier: Apache-2.0
"""A switch with two packet threads, which serve its ports by turns.

What comes in at different ports is handled at the same time, so only what is
of one connection keeps its order; a round has packets of each connection at
one port alone (see Threads)."""

import re
import struct
import time

import bulk
import order
import switch
import traffic

# As many packets wait at a port of type dummy-pmd.
QUEUE = 90


class ThreadedSwitch(switch.Switch):
    threads = True
    GLOBAL = ['other_config:pmd-cpu-mask=0x3',
              'other_config:pmd-maxsleep=100']

    def add_port_args(self, port, number):
        return ['add-port', 'br0', port, '--', 'set', 'interface', port,
                'ofport_request=%d' % number, 'type=dummy-pmd',
                'options:tx_pcap=' + self.pcap(port)]

    def pcap(self, port):
        return '%s/%s.pcap' % (self.dir, port)

    def ports_up(self):
        """They are when they are there."""

    def begin(self, batches, encoded, gap=0):
        self.n_received, _ = self.progress()
        queues = {}
        for port, frames in batches:
            queues.setdefault(port, []).extend(frames)
        self.queues = queues

    def finish(self):
        """Each port gets what it has room for, then the next."""
        while self.queues:
            for port, frames in list(self.queues.items()):
                now, self.queues[port] = frames[:QUEUE], frames[QUEUE:]
                if not self.queues[port]:
                    del self.queues[port]
                self.n_received += len(now)
                self.control('netdev-dummy/receive', port,
                             *(frame.hex() for frame in now))
            self.wait_for_threads()

    def wait_for_threads(self):
        """Until they have taken all, and then gone around twice."""
        deadline = time.monotonic() + 60
        rounds = None
        while True:
            received, iterations = self.progress()
            if received > self.n_received:
                raise RuntimeError('more packets than were sent')
            if received == self.n_received:
                if rounds and all(now >= then + 2 for now, then
                                  in zip(iterations, rounds)):
                    return
                rounds = rounds or iterations
            if time.monotonic() > deadline:
                raise RuntimeError('%s: never done' % self.name)

    def progress(self):
        """Packets that the threads have received, and each one's rounds."""
        text = self.control('dpif-netdev/pmd-perf-show')
        return (sum(map(int, re.findall(r'Rx packets: +(\d+)', text))),
                list(map(int, re.findall(r'Iterations: +(\d+)', text))))

    def take(self):
        sent = []
        for port in self.ports:
            try:
                with open(self.pcap(port), 'rb') as f:
                    f.seek(self.read_up_to.get(port, 24))
                    data = f.read()
            except FileNotFoundError:
                continue
            self.read_up_to[port] = self.read_up_to.get(port, 24) + len(data)
            at = 0
            while at < len(data):
                size, = struct.unpack_from('=I', data, at + 8)
                sent.append((0, port, data[at + 16:at + 16 + size]))
                at += 16 + size
        return sent

    @staticmethod
    def decode(sent):
        return sent


class Threads(bulk.Bulk):
    """Rounds in which no two packets of different ports are of one connection,
    nor want the same port from NAT."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.changes:
            # Which of two threads gets the last connection, nobody says.
            del self.changes.kinds[self.changes.limit]

    def round(self):
        rnd = self.rnd
        batches, waiting, seen = [], [], set()
        for talk in list(self.talks):
            port, packet = talk.next
            if port not in self.ports():
                self.advance(talk, [])
                continue
            keys = traffic.crowds(packet, self.world)
            if keys & seen:
                continue
            seen |= keys
            packet = self.tagged(packet)
            waiting.append((talk, packet))
            batches.append((port, [packet]))
            for _ in range(rnd.choice([0, 0, 1, 2, 6])):
                batches.append((port, [self.tagged(packet)]))
        arrived = self.send_batches(batches)
        for talk, packet in waiting:
            if talk in self.talks and packet.tag in arrived:
                self.advance(talk, arrived[packet.tag])


def disorder(batches, ours, stock):
    """Of what two switches sent for the same batches: a port and a connection
    whose packets left in another order than they came and stock sent them,
    and both orders; or None."""
    places, came = {}, {}
    for port, frames in batches:
        more, outer = order.arrival(frames)
        places.update((tag, len(places)) for tag in more)
        # What comes from two ports is handled by two threads, perhaps.
        came.update((tag, (port, headers)) for tag, headers in outer.items())
    expected = order.sequences(stock, came)
    for key, got in order.sequences(ours, came).items():
        tags = [places.get(tag, -1) for tag, _ in got]
        if got != expected.get(key) and tags != sorted(tags):
            return key[0], tags, [places.get(tag, -1)
                                  for tag, _ in expected.get(key, [])]
    return None

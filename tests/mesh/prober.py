# SPDX-License-Identifier: Apache-2.0
"""One process with a socket in each Pod's and Node's network namespace.

Nothing waits for time to pass.  Before there is any policy a TCP connection is
opened between each two of them; policies leave established connections alone,
so a segment of one arrives whatever policies there are, and behind what was
sent before it from the same place: that is a barrier (see Prober.barrier()).
Engines for L7 rules are such places, too: they send segments of the Pods'."""

import ctypes
import os
import select
import socket
import struct
import time

import cluster
import frames

CLONE_NEWNET = 0x40000000
SOL_PACKET, PACKET_STATISTICS, SO_RCVBUFFORCE = 263, 6, 33
ETHERTYPES = {4: 0x0800, 6: 0x86dd}
CONNECTION_PORTS = 7001, 7002   # Of the connections for barriers.
CHUNK = 160                     # Frames that may be under way at once.
ROUNDS = 4                      # See Prober.barrier().
PATIENCE = 60 * float(os.environ.get('ADP_E2E_SLOW', '1'))

libc = ctypes.CDLL(None, use_errno=True)


class Lost(Exception):
    """A frame that no policy concerns didn't arrive."""


def enter(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        if libc.setns(fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), 'setns ' + path)
    finally:
        os.close(fd)


def open_socket(netns, interface, ethertype):
    own = '/proc/self/ns/net'
    home = os.open(own, os.O_RDONLY)
    try:
        enter('/run/netns/' + netns)
        # With this protocol the socket doesn't see what itself sends.
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                             socket.htons(ethertype))
        sock.bind((interface, ethertype))
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
        sock.setblocking(False)
        return sock
    finally:
        if libc.setns(home, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), 'setns')
        os.close(home)


class Prober:
    def __init__(self, prefix, family, engines):
        """'prefix': what the names of the network namespaces begin with."""
        self.family = family
        self.engines = engines
        self.stations = cluster.PODS + cluster.GATEWAYS
        self.sockets = {}
        self.places = {}
        self.poll = select.poll()
        self.bytes = {place.name: (frames.packed(place.addresses[family]),
                                   frames.mac(place.mac))
                      for place in self.stations}
        self.by_address = {address: name for name, (address, _)
                           in self.bytes.items()}
        for place in self.stations:
            sock = open_socket(prefix + place.netns, place.interface,
                               ETHERTYPES[family])
            self.sockets[place.name] = sock
            self.places[sock.fileno()] = place.name, sock
            self.poll.register(sock, select.POLLIN)
        for fd in engines.nodes:
            self.poll.register(fd, select.POLLIN)
        self.pairs = [(a, b) for a in self.stations for b in self.stations
                      if a is not b
                      and 'pod' in (a.kind, b.kind)]
        self.few = list(self.some_pairs())
        # What engines send: a Pod's segments, as if these came from it.
        self.by_engines = [
            (a.node, a, b) for a, b in self.few
            if a is next(pod for pod in cluster.PODS if pod.node == a.node)]
        self.arrived = []       # (place, Frame)
        self.waiting = set()    # (source, destination) of segments.
        self.round = 0
        self.connect()

    def some_pairs(self):
        """For each station two others, on its own Node and on the other."""
        for a in self.stations:
            for same in (True, False):
                yield next((a, b) for b in cluster.PODS
                           if b is not a and (b.node == a.node) is same)

    def close(self):
        for sock in self.sockets.values():
            sock.close()

    # --- sending and receiving ----------------------------------------------

    def send(self, place, frame):
        sock = self.sockets[place.name]
        while True:
            try:
                sock.send(frame)
                return
            except (BlockingIOError, OSError) as error:
                if error.errno not in (11, 105):
                    raise
                self.receive(10)

    def frame(self, sender, target, src, dst, number, payload):
        """To 'target', a place, or None for a Service."""
        return frames.ip_frame(
            frames.mac(cluster.next_hop(sender, target)),
            self.bytes[sender.name][1], src, dst, number, payload)

    def receive(self, timeout_ms):
        """Takes what is there; waits for the first for some time."""
        for fd, _ in self.poll.poll(timeout_ms):
            if fd in self.engines.nodes:
                self.engines.forward(fd)
                continue
            place, sock = self.places[fd]
            for _ in range(256):
                try:
                    raw = sock.recv(2048)
                except BlockingIOError:
                    break
                self.take(place, raw)

    def take(self, place, raw):
        frame = frames.parse(raw)
        if frame is None:
            return
        if (frame.protocol == frames.TCP
                and frame.sport in CONNECTION_PORTS
                and frame.dport in CONNECTION_PORTS):
            if frame.kind != frames.DATA:
                self.waiting.discard((self.by_address[frame.src], place,
                                      frame.kind))
            elif (len(frame.data) == 4
                  and struct.unpack('!I', frame.data)[0] == self.round):
                self.waiting.discard((self.by_address[frame.src], place))
            elif (len(frame.data) == 8
                  and struct.unpack('!II', frame.data)[0] == self.round):
                node = cluster.NODES[struct.unpack('!II', frame.data)[1]]
                self.waiting.discard(('engine-' + node, place))
            return
        self.arrived.append((place, frame))

    def wait(self):
        """Until all that is waited for has arrived."""
        end = time.monotonic() + PATIENCE
        while self.waiting:
            self.receive(1000)
            if time.monotonic() > end:
                raise Lost('never arrived, though no policy concerns '
                           'established connections: '
                           + ', '.join('%s > %s' % pair[:2] for pair in
                                       sorted(self.waiting)[:10]))

    # --- barriers -----------------------------------------------------------

    def segment(self, a, b, flags, seq, ack, data=b''):
        src, dst = self.bytes[a.name][0], self.bytes[b.name][0]
        ports = CONNECTION_PORTS if a.name < b.name \
            else CONNECTION_PORTS[::-1]
        return self.frame(a, b, src, dst, 6, frames.tcp(
            src, dst, *ports, seq, ack, flags, data))

    def connect(self):
        """Opens the connections."""
        begun = [(a, b) for a, b in self.pairs if a.name < b.name]
        for a, b in begun:
            self.waiting.add((a.name, b.name, frames.PROBE))
            self.send(a, self.segment(a, b, frames.SYN, 1000, 0))
        self.wait()
        for a, b in begun:
            self.waiting.add((b.name, a.name, frames.ANSWER))
            self.send(b, self.segment(b, a, frames.SYN | frames.ACK, 1000,
                                      1001))
        self.wait()
        for a, b in begun:
            self.send(a, self.segment(a, b, frames.ACK, 1001, 1001))
        self.barrier()

    def barrier(self, rounds=ROUNDS, pairs=None):
        """All that was sent before has arrived, or never will, and so have
        answers to it.

        A port's packets are handled one batch after the other by one thread,
        so that the first round tells that what was sent before it was in the
        same batch or an earlier one, at each hop; the second, sent when the
        first had arrived, that those batches are done.  What the datapath
        answered on the way travels back in the same manner: two more."""
        for _ in range(rounds):
            self.round += 1
            data = struct.pack('!I', self.round)
            pairs = pairs or self.pairs
            self.waiting = {(a.name, b.name) for a, b in pairs}
            for a, b in pairs:
                # The same numbers each time: as if sent again.
                self.send(a, self.segment(a, b, frames.ACK, 1001, 1001, data))
            self.mark_engines()
            self.wait()

    def mark_engines(self):
        """The same of what engines sent."""
        for node, a, b in self.by_engines:
            self.waiting.add(('engine-' + node, b.name))
            self.engines.back(node, 1, self.segment(
                a, b, frames.ACK, 1001, 1001,
                struct.pack('!II', self.round, cluster.NODES.index(node))))

    def settle(self):
        """Nothing is on its way any more, by engines either."""
        n_before = None
        while n_before != self.engines.n_forwarded:
            n_before = self.engines.n_forwarded
            self.barrier()
            self.engines.forward_all()

    def burst(self, sent):
        """Sends (place, frame)s, no more at once than queues hold, and
        returns what arrived of it."""
        self.arrived = []
        for start in range(0, len(sent), CHUNK):
            for place, frame in sent[start:start + CHUNK]:
                self.send(place, frame)
            if start + CHUNK < len(sent):
                self.barrier(1, self.few)
        self.settle()
        return self.arrived

    def more(self):
        """What has arrived since, or arrives soon: what the datapath holds
        for a while comes behind barriers."""
        self.arrived = []
        self.receive(100)
        return self.arrived

    def check_losses(self):
        for name, sock in self.sockets.items():
            _, drops = struct.unpack('II', sock.getsockopt(
                SOL_PACKET, PACKET_STATISTICS, 8))
            if drops:
                raise Lost('%d frames at %s came faster than they were read'
                           % (drops, name))

# SPDX-License-Identifier: Apache-2.0
"""Conversations: who sends what when, given what has arrived.

A conversation is a generator of (port, Packet).  What comes back into it is
where that packet came out: a list of (port, Packet).  Whoever gets a packet
answers from the port that it came out of and with the addresses that
it shows there, so conversations go on through whatever NAT the flows do."""

from packets import ACK, FIN, ICMP, ICMP6, PSH, RST, SCTP, SYN, TCP, UDP, URG
from packets import ARP, LABELS, Packet, arp_body, chunk, init_chunk
from packets import ip_bytes, mac_bytes
import struct


# Chunks of SCTP.
DATA, INIT, INIT_ACK, HEARTBEAT, HEARTBEAT_ACK = 0, 1, 2, 4, 5
ABORT, SHUTDOWN, SHUTDOWN_ACK = 6, 7, 8
COOKIE_ECHO, COOKIE_ACK, SHUTDOWN_COMPLETE = 10, 11, 14


class World:
    """Who is where.

    hosts           {port: (MAC, [IP address, ...])}
    destinations    function of a port: [(MAC, IP address), ...] to talk to
    unparsable      whether there are packets of IP without a sound IP header
    labelless       whether MPLS may lack a label, or what pop_mpls leaves of it
    to_port         whether NAT sends packets to one port, whatever they went to
    """

    unparsable = labelless = True
    to_port = False

    # Far apart: NAT looks for a free one from there on.
    sports = [1025, 20000, 40000, 50000] + list(range(22000, 38000, 2000))
    dports = [80, 80, 80, 3306, 443]

    def __init__(self, hosts, destinations):
        self.hosts, self.destinations = hosts, destinations


class Talk:
    KINDS = {'tcp': 8, 'udp': 5, 'sctp': 3, 'ping': 2, 'odd': 2,
             'strange_tcp': 4, 'errors': 1, 'neighbours': 1, 'ports': 2}

    def __init__(self, rnd, world, kinds=None):
        self.rnd, self.world = rnd, world
        kinds = kinds or self.KINDS
        kind = rnd.choices(list(kinds), list(kinds.values()))[0]
        self.client = rnd.choice(list(world.hosts))
        mac, ips = world.hosts[self.client]
        src = rnd.choice(ips)
        to_mac, dst = rnd.choice([(m, ip)
                                  for m, ip in world.destinations(self.client)
                                  if (':' in ip) == (':' in src)])
        self.near = Packet(eth_src=mac, eth_dst=to_mac, src=src, dst=dst,
                           sport=rnd.choice(world.sports),
                           dport=rnd.choice(world.dports),
                           vlans=rnd.choice([[]] * 9 + [[10], [0x600a]]))
        self.far = None                 # Where the client last arrived.
        self.steps = getattr(self, kind)()
        self.next = next(self.steps, None)

    def go_on(self, arrived):
        """Takes notice of where self.next came out, and makes the one that
        follows."""
        try:
            self.next = self.steps.send(arrived)
        except StopIteration:
            self.next = None

    def request(self, **fields):
        """The client says something; remembers who heard it."""
        arrived = yield self.client, self.near.but(**fields)
        heard = [(port, p) for port, p in arrived
                 if p.proto == self.near.proto]
        if heard:
            self.far = self.rnd.choice(heard)
        return bool(heard)

    def reply(self, **fields):
        """The one who heard the client answers, if anybody did."""
        if self.far:
            port, heard = self.far
            yield port, heard.mirror(**fields)

    def some(self, limit):
        return bytes(self.rnd.randrange(256)
                     for _ in range(self.rnd.randrange(limit)))

    def tcp(self):
        rnd = self.rnd
        self.near.proto = TCP
        a, b = rnd.randrange(1 << 32), rnd.randrange(1 << 32)

        heard = yield from self.request(flags=SYN, seq=a,
                                        options=rnd.choice(
                                            [b'', b'\2\4\5\xb4']))
        if rnd.random() < .2 or not heard:
            heard = yield from self.request(flags=SYN, seq=a)   # Again.
        if not heard and rnd.random() < .7:
            return
        a += 1
        yield from self.reply(flags=SYN | ACK, seq=b, ack=a)
        b += 1
        yield from self.request(flags=ACK, seq=a, ack=b)
        for _ in range(rnd.choice([1, 4, 12, 30])):
            data = self.some(40)
            if rnd.random() < .6:
                yield from self.request(flags=ACK | PSH, seq=a, ack=b,
                                        data=data)
                a += len(data)
            else:
                yield from self.reply(flags=ACK | PSH, seq=b, ack=a,
                                      data=data)
                b += len(data)
        kind = rnd.random()
        if kind < .2:
            yield from self.request(flags=ACK, seq=a + 10000000, ack=b,
                                    data=b'out of window')
        if kind < .4:
            if rnd.random() < .5:
                yield from self.request(flags=RST | ACK, seq=a, ack=b)
            else:
                yield from self.reply(flags=RST | ACK, seq=b, ack=a)
        elif kind < .8:
            yield from self.request(flags=FIN | ACK, seq=a, ack=b)
            yield from self.reply(flags=FIN | ACK, seq=b, ack=a + 1)
            yield from self.request(flags=ACK, seq=a + 1, ack=b + 1)
        if rnd.random() < .2:
            yield from self.reply(flags=ACK, seq=b, ack=a + 1)
        if rnd.random() < .3:                   # The port is used again.
            a = rnd.randrange(1 << 32)
            yield from self.request(flags=SYN, seq=a)
            yield from self.reply(flags=SYN | ACK, seq=b, ack=a + 1)
            yield from self.request(flags=ACK, seq=a + 1, ack=b + 1)

    def strange_tcp(self):
        """Both ends say what they like, in and around the windows."""
        rnd = self.rnd
        self.near.proto = TCP
        near = rnd.choice([rnd.randrange(1 << 32), (1 << 32) - 20])
        far = rnd.choice([rnd.randrange(1 << 32), (1 << 32) - 20])
        scale = rnd.choice([0, 0, 1, 7, 14, 15])
        options = rnd.choice([b'', b'\3\3' + bytes([scale]),
                              b'\1\3\3' + bytes([scale]), b'\3\2\7'])
        orderly = rnd.random() < .6

        heard = yield from self.request(flags=SYN, seq=near, options=options,
                                        window=rnd.choice([0, 100, 65535]))
        if orderly and heard:
            near += 1
            yield from self.reply(flags=SYN | ACK, seq=far, ack=near,
                                  window=rnd.choice([0, 100, 65535]),
                                  options=rnd.choice([b'', options]))
            far += 1
            yield from self.request(flags=ACK, seq=near, ack=far)
        for _ in range(rnd.choice([3, 10, 25])):
            data = self.some(30) if rnd.random() < .6 else b''
            flags = rnd.choices(
                [ACK, ACK | PSH, SYN, SYN | ACK, FIN | ACK, FIN, RST,
                 RST | ACK, 0, ACK | URG, ACK | 0xc0, SYN | FIN, FIN | RST,
                 SYN | PSH], [12, 8, 2, 2, 2, 1, 1, 1, 1, 1, 1, .3, .3, .3])[0]
            from_near = rnd.random() < .55
            ours, theirs = (near, far) if from_near else (far, near)
            off, ack_off = (rnd.choice(
                [0, 0, 0, 0, 1, -1, -30, 100, 65535, 66000, -66000, 1 << 20,
                 1 << 31, rnd.randrange(1 << 32)]) for _ in range(2))
            say = self.request if from_near else self.reply
            yield from say(
                flags=flags, seq=ours + off, data=data,
                ack=theirs + (ack_off if flags & ACK else 0),
                window=rnd.choice([0, 1, 100, 8192, 65535]),
                options=rnd.choice([b'', b'', options]))
            if off == 0:
                step = len(data) + bool(flags & (SYN | FIN))
                if from_near:
                    near += step
                else:
                    far += step

    def udp(self):
        rnd = self.rnd
        self.near.proto = UDP
        for i in range(rnd.choice([1, 2, 6, 20])):
            yield from self.request(data=self.some(30))
            if rnd.random() < .6:
                yield from self.reply(data=self.some(30))
            elif rnd.random() < .1:
                yield from self.unreachable()

    def ports(self):
        """The client asks the same from several ports, and gets answers to
        each."""
        rnd = self.rnd
        self.near.proto = rnd.choice([TCP, UDP])
        tcp = self.near.proto == TCP
        a, b = rnd.randrange(1 << 32), rnd.randrange(1 << 32)
        for sport in rnd.sample(self.world.sports, rnd.choice([3, 6, 10])):
            self.near = self.near.but(sport=sport)
            self.far = None
            yield from self.request(flags=SYN if tcp else 0, seq=a)
            yield from self.reply(flags=SYN | ACK if tcp else 0, seq=b,
                                  ack=a + 1)
            if tcp and rnd.random() < .5:
                yield from self.request(flags=ACK, seq=a + 1, ack=b + 1)

    def sctp(self):
        rnd = self.rnd
        self.near.proto = SCTP
        there, back = rnd.randrange(1, 1 << 32), rnd.randrange(1, 1 << 32)
        data = chunk(DATA, bytes(12) + self.some(40) + b'.')

        if rnd.random() < .1:                   # One more path.
            yield from self.request(vtag=there, data=chunk(HEARTBEAT))
            yield from self.reply(vtag=back, data=chunk(HEARTBEAT_ACK))
        else:
            heard = yield from self.request(data=init_chunk(INIT, back))
            if not heard and rnd.random() < .7:
                return
            yield from self.reply(vtag=back,
                                  data=init_chunk(INIT_ACK, there))
            yield from self.request(vtag=there,
                                    data=chunk(COOKIE_ECHO, b'cake') + data)
            yield from self.reply(vtag=back, data=chunk(COOKIE_ACK))
        for _ in range(rnd.choice([1, 4, 12])):
            wrong = rnd.random() < .1
            if rnd.random() < .6:
                yield from self.request(vtag=there ^ wrong, data=data)
            else:
                yield from self.reply(vtag=back ^ wrong, data=data)
        kind = rnd.random()
        if kind < .1 and self.far:
            yield from self.unreachable()
        elif kind < .2:
            yield from self.reply(data=init_chunk(INIT, 1))     # Forged.
        elif kind < .4:
            yield from self.request(vtag=there, data=chunk(ABORT))
        elif kind < .5:
            yield from self.reply(vtag=there, data=chunk(ABORT, flags=1))
        elif kind < .8:
            yield from self.request(vtag=there, data=chunk(SHUTDOWN, bytes(4)))
            yield from self.reply(vtag=back, data=chunk(SHUTDOWN_ACK))
            yield from self.request(vtag=there,
                                    data=chunk(SHUTDOWN_COMPLETE))
        if rnd.random() < .3:                   # The port is used again.
            yield from self.request(data=init_chunk(INIT, back ^ 1))
            yield from self.reply(vtag=back ^ 1,
                                  data=init_chunk(INIT_ACK, there))
            yield from self.request(vtag=there,
                                    data=chunk(COOKIE_ECHO, b'cake'))
            yield from self.reply(vtag=back ^ 1, data=chunk(COOKIE_ACK))

    def unreachable(self):
        """An ICMP error about the request, from who heard it."""
        if not self.far:
            return
        port, heard = self.far
        answer = heard.mirror(data=heard.but(trailer=b'').ip()[:48])
        if heard.v6:
            answer = answer.but(proto=ICMP6, sport=1, dport=4)
        else:
            answer = answer.but(proto=ICMP, sport=3, dport=3)
        yield port, answer

    def errors(self):
        """ICMP errors of all kinds, about packets of connections and others,
        from those who got them and those who didn't."""
        rnd = self.rnd
        self.near.proto = rnd.choice([TCP, UDP, SCTP])
        heard = yield from self.request(flags=SYN,
                                        data=init_chunk(INIT, 7)
                                        if self.near.proto == SCTP else b'')
        if heard and rnd.random() < .5:
            yield from self.reply(flags=SYN | ACK, ack=1)
        for _ in range(rnd.choice([1, 3])):
            if self.far and rnd.random() < .7:
                port, about = self.far
            else:
                port, about = self.client, self.near.mirror()
            about = about.but(trailer=b'')
            kind = rnd.randrange(6)
            if kind == 0:
                about = about.but(sport=about.sport ^ 1)
            elif kind == 1:
                about = about.but(src=about.dst, dst=about.src)
            elif kind == 2:
                about = about.but(proto=rnd.choice([TCP, UDP, 47]))
            elif kind == 3:
                about = about.but(frag=rnd.choice([0x2000, 3]))
            inner = about.ip()[:rnd.choice([0, 8, 20, 24, 28, 40, 48, 60,
                                            200])]
            answer = about.mirror(data=inner, rest=rnd.choice([0, 1400]))
            if about.v6:
                answer = answer.but(proto=ICMP6, sport=rnd.choice(
                    [1, 2, 3, 4, 5, 127]), dport=rnd.randrange(4))
            else:
                answer = answer.but(proto=ICMP, sport=rnd.choice(
                    [3, 3, 4, 5, 11, 12]), dport=rnd.randrange(5))
            if rnd.random() < .2:
                answer = answer.but(bad_sum=True)
            yield port, answer

    def neighbours(self):
        """ARP and neighbour discovery, true and forged."""
        rnd = self.rnd
        macs = [mac for mac, _ in self.world.hosts.values()]
        for _ in range(rnd.choice([1, 3])):
            dst = rnd.choice(macs + ['ff:ff:ff:ff:ff:ff'])
            if self.near.v6:
                kind = rnd.choice([133, 134, 135, 136, 137])
                target = rnd.choice([self.near.src, self.near.dst])
                yield self.client, self.near.but(
                    proto=ICMP6, sport=kind, dport=rnd.choice([0, 0, 1]),
                    ttl=rnd.choice([255, 255, 64]), eth_dst=dst,
                    rest=rnd.choice([0, 0x60000000]),
                    data=(ip_bytes(target)
                          + rnd.choice([b'', b'\1\1', b'\2\1', b'\1\0'])
                          + mac_bytes(rnd.choice(macs)))[
                              :rnd.choice([4, 16, 24, 24])])
            else:
                body = arp_body(rnd.choice([1, 1, 2, 2, 3, 256]),
                                rnd.choice(macs), rnd.choice(
                                    [self.near.src, self.near.dst]),
                                rnd.choice(macs), self.near.dst)
                yield self.client, self.near.but(
                    eth_dst=dst, other=rnd.choice(
                        [(ARP, body), (ARP, body), (ARP, body[:20]),
                         (0x8035, body), (0x88cc, body), (0x600, body),
                         (46, body), (0x8847, body)]))

    def ping(self):
        v6 = self.near.v6
        self.near.proto = ICMP6 if v6 else ICMP
        self.near.sport, self.near.dport = (128 if v6 else 8), 0
        ident = self.rnd.randrange(4) << 16
        for i in range(self.rnd.choice([1, 3, 6])):
            yield from self.request(rest=ident | i, data=b'ping')
            if self.far:
                port, heard = self.far
                yield port, heard.mirror(rest=ident | i, data=b'ping').but(
                    sport=129 if v6 else 0, dport=0)

    def fragments(self):
        """Two of one datagram."""
        whole = self.near.but(data=bytes(40)).segment()
        tag = self.rnd.randrange(1 << 16)
        part = self.near.but(tag=tag)
        first, last = part.but(raw=whole[:24], frag=0x2000), part.but(
            raw=whole[24:], frag=3)
        if part.v6:
            first.extensions = [fragment(0, True, tag)]
            last.extensions = [fragment(3, False, tag)]
        yield self.client, first
        yield self.client, last

    def layers(self):
        """MPLS and NSH, with and without IP in them."""
        rnd = self.rnd
        for _ in range(rnd.choice([1, 2, 4])):
            inner = rnd.choice([self.near.ip(), self.near.ip(), b'',
                                self.some(60)])
            if rnd.random() < .6:
                labels = rnd.choice([[16], [17], [16, 17], [1, 16, 17], []])
                stack = b''.join(struct.pack(
                    '!I', label << 12 | rnd.randrange(8) << 9
                    | (i == len(labels) - 1) << 8 | rnd.choice([64, 1, 2, 0]))
                    for i, label in enumerate(labels))
                body = stack + inner
                if not self.world.labelless:
                    body += b'\0\0\1\1' * max(0, 4 - len(body) // 4)
                other = rnd.choice([0x8847, 0x8847, 0x8848]), body
            else:
                kind = rnd.choice([1, 1, 2])
                context = bytes(15) + b'\1' if kind == 1 else rnd.choice(
                    [b'', struct.pack('!HBBI', 0x1000, 10, 4, 7)])
                length = (8 + len(context)) // 4
                ip = 2 if self.near.v6 else 1
                other = 0x894f, struct.pack(
                    '!HBBI', rnd.choice([63, 1, 0]) << 6 | length, kind,
                    rnd.choice([ip, ip, 3]),
                    rnd.choice([5, 6]) << 8 | rnd.choice([255, 1, 0])) \
                    + context + inner
            yield self.client, self.near.but(other=other)

    def odd(self):
        rnd = self.rnd
        kind = rnd.randrange(5)
        if kind == 0:                   # Nobody's address.
            self.near.src = 'fd00::99' if self.near.v6 else '10.10.0.99'
            yield from self.request()
        elif kind == 1:                 # Acknowledges what was never said.
            self.near.proto = TCP
            yield from self.request(flags=ACK, seq=5, ack=5)
        elif kind == 2:
            self.near.proto = TCP
            yield from self.request(flags=SYN, bad_sum=True)
        elif kind == 3:
            yield from self.request(ttl=rnd.choice([0, 1]))
        else:                           # Neither TCP nor UDP nor ICMP, nor
                                        # what SCTP has to be.
            self.near.proto = rnd.choice([SCTP, 47, 2])
            yield from self.request(data=self.some(30))


def fragment(offset, more, tag):
    """IPv6's header of a fragment at 'offset', in 8 bytes."""
    return 44, struct.pack('!BHI', 0, offset << 3 | more, tag)


# IPv6's: hop by hop, destination options, routing, fragment (whole, first, last),
# authentication, no next header, one that isn't known.  The contents lack the
# first byte.
TOO_LONG = 0, bytes([200, 1, 4, 0, 0, 0, 0])
EXTENSIONS = [(0, bytes([0, 1, 4, 0, 0, 0, 0])),
              (60, bytes([1, 1, 12]) + bytes(12)),
              (43, bytes([0, 0, 0, 0, 0, 0, 0])),
              (44, bytes([0, 0, 0, 0, 0, 0, 7])),
              (51, bytes([4]) + bytes(22)),
              TOO_LONG,
              (59, bytes(7)), (253, bytes(7)), (135, bytes([0]) + bytes(6))]

TCP_FLAGS = [0, SYN, SYN | FIN, ACK, ACK | URG | PSH, RST, FIN,
             ACK | 0x40, SYN | ACK, 0xff]
TCP_OPTIONS = [b'', b'\1\1\1\1', b'\2\4\5\xb4\3\3\7\0',
               b'\1\1\x08\x0a' + bytes(8)]


def vary(rnd, world, port, packet):
    """A packet that a careless cache would take for one of the same kind as
    'packet'."""
    what = rnd.choice([0, 1, 2, 3, 3, 3, 4, 4, 5, 5, 6, 6, 6, 7, 7, 8, 9, 10,
                       11, 12, 13, 14, 15, 16, 16, 17, 18, 19, 20, 21, 22])
    p = packet
    if what == 0:
        port = rnd.choice(list(world.hosts))
    elif what == 1:
        p = p.but(eth_src=rnd.choice(list(world.hosts.values()))[0])
    elif what == 2:
        p = p.but(eth_dst=rnd.choice(list(world.hosts.values()))[0])
    elif what == 3:
        p = p.but(tos=rnd.choice([0, 4, 0x20, 0x48, 0xb8]))
    elif what == 4:
        p = p.but(tos=p.tos & ~3 | rnd.randrange(4))
    elif what == 5:
        p = p.but(ttl=rnd.choice([1, 2, 3, 63, 64, 128, 255]))
    elif what == 6 and p.proto == TCP:
        p = p.but(flags=rnd.choice(TCP_FLAGS))
    elif what == 7:
        p = p.but(vlans=rnd.choice([[], [10], [20], [0x600a], [10, 20], [0]]))
    elif what == 8:
        p = p.but(data=p.data + bytes(rnd.choice([1, 3, 100, 700])))
    elif what == 9:
        p = p.but(bad_sum=True)
    elif what == 10 and not p.v6:
        p = p.but(bad_ip_sum=True)
    elif what == 11 and p.proto == TCP:
        p = p.but(options=rnd.choice(TCP_OPTIONS))
    elif what == 12:
        p = p.but(trailer=bytes(rnd.randrange(1, 20)))
    elif what == 13 and not p.v6:
        p = p.but(ip_options=rnd.choice([b'\1\1\1\1', b'\1' * 40]))
    elif what == 14 and p.proto == UDP:
        p = p.but(no_sum=True)
    elif what == 15 and p.proto in (TCP, UDP):
        # Less than it says.
        p = p.but(raw=p.segment()[:rnd.choice([0, 4, 7, 12])])
    elif what == 16 and p.v6:
        extensions = rnd.choices(EXTENSIONS, k=rnd.choice([1, 1, 2]))
        if world.unparsable or TOO_LONG not in extensions:
            p = p.but(extensions=extensions)
    elif what == 17 and world.unparsable:
        p = p.but(more_len=rnd.choice([-1, -8, -20, -60, 1, 4, 100]))
    elif what == 18 and world.unparsable:
        p = p.but(first_byte=rnd.choice([0x40, 0x44, 0x46, 0x4f, 0x55, 0x65,
                                         0x75]))
    elif what == 19 and p.proto in (TCP, UDP, SCTP):
        # TCP: the header's length.  UDP: the packet's.  SCTP: a chunk's.
        place = {TCP: 12, UDP: 5, SCTP: 15}[p.proto]
        p = p.but(l4_changes={place: rnd.choice([0, 0x40, 0x50, 0x60, 0xf0,
                                                 7, 8, 9, 255])})
    elif what == 20:
        p = p.but(vlans=[10], tpid=rnd.choice([0x88a8, 0x9100]))
    elif what == 21 and p.proto in (TCP, UDP):
        p = p.but(**{rnd.choice(['sport', 'dport']): 0})
    elif what == 22:
        p = p.but(label=rnd.choice(LABELS))
    return port, p

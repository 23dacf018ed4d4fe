# SPDX-License-Identifier: Apache-2.0
"""Random packet sequences between the Pods of a node.

Yields (port, frame), or a number: so many milliseconds pass."""

import random

import packets as p

GATEWAY_MAC = 'ba:5e:d1:55:aa:c0'
HOSTS = {                       # port: MAC, IP
    'antrea-gw0': (GATEWAY_MAC, '10.10.0.1'),
    'client': ('5e:b5:e3:a6:90:b7', '10.10.0.26'),
    'web': ('fa:b7:53:74:21:a6', '10.10.0.24'),
    'db': ('36:48:21:a2:9d:b4', '10.10.0.25'),
}
OUTSIDE = ['192.168.77.1', '8.8.8.8']
SERVICES = ['10.105.31.235', '192.168.77.150', '10.101.255.29']
# What answers for a Service: its only endpoint.
ENDPOINT = 'web'


def port_of(ip):
    for port, (_, address) in HOSTS.items():
        if address == ip:
            return port
    return 'antrea-gw0'


class Conversation:
    def __init__(self, rnd):
        self.rnd = rnd
        self.client = rnd.choice(list(HOSTS))
        self.mac, self.ip = HOSTS[self.client]
        if self.client == 'antrea-gw0' and rnd.random() < .5:
            self.ip = rnd.choice(OUTSIDE)
        if rnd.random() < .5:
            self.to = rnd.choice(SERVICES)
            self.server = ENDPOINT
        else:
            self.server = rnd.choice([h for h in HOSTS if h != self.client])
            self.to = HOSTS[self.server][1]
        self.sport = rnd.choice([1025, 40000, 40001, 50000])
        self.dport = rnd.choice([80, 80, 80, 3306, 443])

    def request(self, payload, proto, **kw):
        dst = HOSTS[port_of(self.to)][0] if self.to not in SERVICES \
            else GATEWAY_MAC
        if self.client == 'antrea-gw0' and self.to in SERVICES:
            dst = 'aa:bb:cc:dd:ee:ff'
        return self.client, p.ethernet(
            self.mac, dst, 0x800, p.ipv4(self.ip, self.to, proto, payload,
                                         **kw))

    def reply(self, build, proto, **kw):
        """The server's answer as it sees the client."""
        server_mac, server_ip = HOSTS[self.server]
        seen = self.ip
        if self.client == self.server:
            seen = '10.10.0.1'          # Hairpin.
        dst = HOSTS[port_of(seen)][0]
        return self.server, p.ethernet(
            server_mac, dst, 0x800,
            p.ipv4(server_ip, seen, proto, build(server_ip, seen), **kw))

    def tcp(self):
        rnd, sp, dp = self.rnd, self.sport, self.dport
        a, b = rnd.randrange(1 << 32), rnd.randrange(1 << 32)

        def c(flags, seq, ack=0, data=b'', **kw):
            return self.request(p.tcp(self.ip, self.to, sp, dp, flags, seq,
                                      ack, data=data), 6, **kw)

        def s(flags, seq, ack, data=b''):
            return self.reply(lambda src, dst: p.tcp(src, dst, dp, sp, flags,
                                                     seq, ack, data=data), 6)

        yield c(p.SYN, a)
        if rnd.random() < .2:
            yield c(p.SYN, a)           # Again.
        yield s(p.SYN | p.ACK, b, a + 1)
        yield c(p.ACK, a + 1, b + 1)
        n = rnd.randrange(3)
        for i in range(n):
            data = bytes(rnd.randrange(1, 40))
            yield c(p.ACK | p.PSH, a + 1, b + 1, data, ttl=rnd.choice([64, 2]),
                    tos=rnd.choice([0, 0x48]))
            a += len(data)
            yield s(p.ACK, b + 1, a + 1)
        kind = rnd.random()
        if kind < .2:
            yield c(p.ACK, a + 10000000, b + 1, b'x')   # Out of window.
        if kind < .4:
            yield c(p.RST | p.ACK, a + 1, b + 1)
        elif kind < .8:
            yield c(p.FIN | p.ACK, a + 1, b + 1)
            yield s(p.FIN | p.ACK, b + 1, a + 2)
            yield c(p.ACK, a + 2, b + 2)
        if rnd.random() < .1:
            yield s(p.ACK, b + 1, a + 2)

    def udp(self):
        sp, dp = self.sport, self.dport
        for _ in range(self.rnd.randrange(1, 4)):
            yield self.request(p.udp(self.ip, self.to, sp, dp, b'q'), 17)
            if self.rnd.random() < .7:
                yield self.reply(lambda src, dst: p.udp(src, dst, dp, sp,
                                                        b'answer'), 17)
            else:
                yield from self.unreachable(17)

    def unreachable(self, proto):
        """An ICMP error from the server about a request."""
        def build(src, dst):
            inner = p.ipv4(dst, src, proto, p.udp(dst, src, self.sport,
                                                  self.dport, b'q'))
            return p.icmp(3, 3, 0, inner[:28])
        yield self.reply(build, 1)

    def ping(self):
        ident = self.rnd.randrange(4) << 16
        for i in range(self.rnd.randrange(1, 3)):
            yield self.request(p.icmp(8, 0, ident | i, b'ping'), 1)
            yield self.reply(lambda src, dst: p.icmp(0, 0, ident | i,
                                                     b'ping'), 1)

    def fragments(self):
        segment = p.udp(self.ip, self.to, self.sport, self.dport, bytes(40))
        ident = self.rnd.randrange(1 << 16)
        yield self.request(segment[:24], 17, ident=ident, frag=0x2000)
        yield self.request(segment[24:], 17, ident=ident, frag=3)

    def lost_fragment(self):
        """The rest never comes; long after, somebody else talks."""
        segment = p.udp(self.ip, self.to, self.sport, self.dport, bytes(40))
        yield self.request(segment[:24], 17, frag=0x2000,
                           ident=self.rnd.randrange(1 << 16))
        yield 61000

    def odd(self):
        kind = self.rnd.randrange(6)
        if kind == 0:                   # Spoofed source.
            self.ip = '10.10.0.99'
            yield self.request(p.udp(self.ip, self.to, 1, 2), 17)
        elif kind == 1:                 # Acknowledgement out of nowhere.
            yield self.request(p.tcp(self.ip, self.to, 7, self.dport, p.ACK,
                                     5, 5), 6)
        elif kind == 2:                 # Bad checksum.
            segment = bytearray(p.tcp(self.ip, self.to, 8, self.dport, p.SYN))
            segment[16] ^= 0xff
            yield self.request(bytes(segment), 6)
        elif kind == 3:                 # TTL runs out.
            yield self.request(p.udp(self.ip, self.to, 9, self.dport), 17,
                               ttl=1)
        elif kind == 4:
            mac, ip = HOSTS[self.client]
            yield self.client, p.arp(1, mac, ip, '00:00:00:00:00:00',
                                     self.rnd.choice(['10.10.0.1',
                                                      '10.10.1.1',
                                                      '10.10.0.24']))
        else:
            yield self.client, p.ethernet(self.mac, GATEWAY_MAC, 0x86dd,
                                          bytes(40))


def sequence(seed, fragments):
    rnd = random.Random(seed)
    # Everybody is known to the L2 tables first.
    for port, (mac, ip) in HOSTS.items():
        yield port, p.arp(1, mac, ip, '00:00:00:00:00:00', ip)
    while True:
        live = [talk(rnd, fragments) for _ in range(rnd.randrange(1, 4))]
        while live:
            one = rnd.choice(live)
            step = next(one, None)
            if step is None:
                live.remove(one)
            else:
                yield step
        if rnd.random() < .1:
            yield rnd.choice([100, 1000, 5000, 31000, 70000])


def talk(rnd, fragments):
    c = Conversation(rnd)
    return rnd.choices([c.tcp, c.udp, c.ping, c.odd, c.fragments,
                        c.lost_fragment],
                       [8, 4, 2, 3, fragments, fragments])[0]()

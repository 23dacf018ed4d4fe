# SPDX-License-Identifier: Apache-2.0
"""Select groups of many buckets.

Which bucket gets a connection may differ from stock.  So here each switch is
asked for itself whether a connection goes to one of the live buckets, whether
all its packets go there, while other packets don't disturb, and whether
answers come back."""

from packets import ACK, SYN, TCP, UDP, Packet, parse
from rules import HOSTS, PORTS, ROUTER
from steps import Mismatch

CLIENT, SERVERS = 'p1', ['p2', 'p3', 'p4', 'p5']
VIP = '10.9.0.1'
FLOWS = '''
table=0,priority=10,ip actions=ct(zone=1,nat,table=1)
table=1,priority=20,ip,ct_state=-new+trk actions=goto_table:3
table=1,priority=10,ip,ct_state=+new+trk,nw_dst=%s actions=group:1
table=3,priority=5 actions=drop
''' % VIP


def endpoint(i):
    """Address of endpoint 'i' and the port that it is behind."""
    return '10.1.%d.%d' % (i >> 8, i & 255), SERVERS[i % len(SERVERS)]


def group(weights):
    return 'group_id=1,type=select,' + ','.join(
        'bucket=bucket_id:%d,weight:%d,actions=ct(commit,zone=1,table=3,'
        'nat(dst=%s:80),exec(set_field:%d->ct_mark))'
        % (i, weight, endpoint(i)[0], i) for i, weight in enumerate(weights))


class Connection:
    def __init__(self, rnd):
        self.proto = rnd.choice([TCP, UDP])
        self.seq = rnd.randrange(1 << 32)
        self.packet = Packet(
            eth_src=HOSTS[CLIENT][0], eth_dst=ROUTER,
            src='10.0.0.%d' % rnd.randrange(10, 250), dst=VIP,
            proto=self.proto, sport=rnd.randrange(1024, 65536), dport=80,
            flags=SYN, seq=self.seq)
        self.chosen = {}                # Switch: endpoint.


class Spread:
    def __init__(self, pair, rnd):
        self.pair, self.rnd = pair, rnd
        self.tag = 0

    def pass_one(self, sw, port, packet):
        """Where 'packet' comes out, a list of (port, Packet)."""
        self.tag = self.tag % 0xffff + 1
        self.pair.n_packets += 1
        self.pair.cached = True
        sw.send(port, [packet.but(tag=self.tag).frame()])
        arrived = [(to, parse(frame)) for to, frame in sw.sent()]
        self.pair.n_sent += len(arrived)
        return arrived

    def expect(self, ok, sw, why, packet, arrived):
        if not ok:
            raise Mismatch('%s: %s: %s\n%s' % (
                sw.name, why, packet.frame().hex(),
                [(to, p.frame().hex()) for to, p in arrived]))

    def to_service(self, sw, c, packet, weights):
        arrived = self.pass_one(sw, CLIENT, packet)
        self.expect(len(arrived) == 1, sw, 'not one packet', packet, arrived)
        to, p = arrived[0]
        matching = [i for i in range(len(weights)) if endpoint(i) == (p.dst,
                                                                      to)]
        self.expect(matching and p.dport == 80, sw, 'nobody\'s', packet,
                    arrived)
        if sw in c.chosen:
            self.expect(matching == [c.chosen[sw]], sw, 'not where it was',
                        packet, arrived)
        else:
            self.expect(weights[matching[0]], sw, 'dead bucket', packet,
                        arrived)
            c.chosen[sw] = matching[0]
        return p

    def answer(self, sw, c, heard):
        answer = heard.mirror(flags=SYN | ACK, seq=7, ack=c.seq + 1)
        port = endpoint(c.chosen[sw])[1]
        arrived = self.pass_one(sw, port, answer)
        self.expect(len(arrived) == 1 and arrived[0][0] == CLIENT
                    and arrived[0][1].src == VIP
                    and arrived[0][1].dport == c.packet.sport,
                    sw, 'answer gone astray', answer, arrived)

    def open(self, weights):
        c = Connection(self.rnd)
        for sw in self.pair.both:
            heard = self.to_service(sw, c, c.packet, weights)
            self.answer(sw, c, heard)
        return c

    def go_on(self, c, weights):
        for sw in self.pair.both * 3:
            self.to_service(sw, c, c.packet.but(
                flags=ACK, seq=c.seq + 1, ack=8, ttl=self.rnd.choice([64, 9]),
                tos=self.rnd.choice([0, 32])), weights)

    def check_all_used(self, connections, weights):
        for sw in self.pair.both:
            used = {c.chosen[sw] for c in connections}
            unused = [i for i, weight in enumerate(weights)
                      if weight and i not in used]
            if unused:
                raise Mismatch('%s: never chosen: %s' % (sw.name, unused))

    def run(self, n_buckets):
        weights = [self.rnd.choice([50, 100]) for _ in range(n_buckets)]
        old = []
        load(self.pair, weights)
        for _ in range(2):
            # So many that a bucket without any is next to impossible.
            new = [self.open(weights) for _ in range(30 * n_buckets)]
            self.check_all_used(new, weights)
            for c in self.rnd.sample(old + new, min(100, len(old + new))):
                self.go_on(c, weights)
            old = new
            # Another bucket dies, or an old one lives again.
            i = self.rnd.randrange(n_buckets)
            weights[i] = 0 if weights[i] else 100
            self.pair.do(['ofctl', ['mod-group', group(weights)]])


def load(pair, weights):
    """A Service's flows, and its group."""
    flows = FLOWS
    for i in range(len(weights)):
        ip, port = endpoint(i)
        flows += 'table=3,priority=20,ip,nw_dst=%s actions=output:%d\n' % (
            ip, PORTS[port])
    flows += 'table=3,priority=10,ip,ct_state=+rpl+trk actions=output:%d\n' \
        % PORTS[CLIENT]
    pair.do(['ofctl', ['bundle', '-'], 'flow delete\ngroup delete\n'])
    pair.do(['appctl', ['dpctl/flush-conntrack']])
    pair.do(['ofctl', ['add-group', group(weights)]])
    pair.do(['ofctl', ['add-flows', '-'], flows])


def run(pair, rnd):
    for n_buckets in 2, 6:
        Spread(pair, rnd).run(n_buckets)

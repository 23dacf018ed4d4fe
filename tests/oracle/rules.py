# SPDX-License-Identifier: Apache-2.0
"""Random rule sets.

Tables are passed in ascending order.  Some have a purpose, so that packets get
somewhere: conntrack, Services, routing, output; all of them, and some others,
have random flows above those.  No two flows of a table have one priority, but
the clauses of conjunctions, as nobody says which of two gets a packet."""

import ipaddress
import random
import re

import grammar
import traffic
import tunnels
from talk import Talk, World

PORTS = {'p1': 1, 'p2': 2, 'p3': 7, 'p4': 40, 'p5': 300}
PORTS_WITH_TUNNEL = dict(PORTS, **{tunnels.PORT: 9})
ROUTER = '02:00:00:00:00:fe'
HOSTS = {port: ('02:00:00:00:00:0' + port[1],
                ['10.0.0.' + port[1], 'fd00::' + port[1]])
         for port in PORTS}
HOSTS['p5'][1].extend(['192.168.7.1', 'fd07::1'])
REMOTE = {tunnels.PORT: ('02:00:00:00:00:09', ['10.0.9.1', 'fd00:9::1'])}
VIPS = ['10.9.0.1', '10.9.0.2', 'fd09::1', 'fd09::2']
OUTSIDE = ['192.168.7.1', 'fd07::1']
SNAT = {4: '10.8.0.', 6: 'fd08::'}
L4_PORTS = [80, 443, 8080, 53, 3306]
# None drops: stock meters a batch flow by flow, so who exceeds one is open.
METERS = ['meter=1,pktps,burst,stats,band=type=drop,rate=1000000,'
          'burst_size=1000000',
          'meter=2,kbps,burst,stats,bands=type=drop,rate=4000000,'
          'burst_size=4000000,type=drop,rate=3000000,burst_size=4000000']

# States that only packets of a connection have.
CONNECTION = re.compile(r'ct_state=[^,]*(\+(new|est|rel|rpl|snat|dnat)|-inv)')


def destinations(hosts):
    def of(client):
        found = [(mac, ip) for port, (mac, ips) in hosts.items()
                 if port != client for ip in ips]
        if client != tunnels.PORT and tunnels.PORT in hosts:
            found *= 2
            found += [(ROUTER, ip) for ip in REMOTE[tunnels.PORT][1] * 4]
        return found + [(ROUTER, ip) for ip in VIPS + VIPS + OUTSIDE]
    return of


class Sets(World):
    dports = [80, 80, 80, 443, 53, 8080]


class RuleSet:
    """flows, groups, tables, zones     for changes.Changes
    learns, times_out                   has flows that do
    tunnel                              some hosts are behind tunnels
    interface                           columns of the tunnel's Interface
    ranges                              NAT chooses among some
    wild                                flows that may be refused
    counts_bytes                        as stock does"""

    def __init__(self, rnd, tunnel=False, n_wild=0, certain=False):
        self.rnd, self.tunnel = rnd, tunnel
        self.interface = tunnels.interface(rnd) if tunnel else None
        self.ranges = not certain and rnd.random() < .25
        self.flows, self.groups = [], []
        self.used = {}                  # Table: priorities.
        self.n_conj = 0
        self.tables = [0] + sorted(rnd.sample(range(1, 60),
                                              rnd.randrange(5, 10)))
        # The first is used most, so that what is committed is found again.
        self.zones = rnd.sample([0, 1, 65510, 65520, 65521],
                                rnd.choice([1, 1, 1, 2, 3]))
        self.learns = not certain and rnd.random() < .15
        # Matches on source ports are rare in pipelines, and keep some of what
        # is remembered from being of use.
        self.source_ports = rnd.random() < .4
        self.times_out = self.learns or rnd.random() < .15
        self.make_groups()
        purposes = self.purposes()
        for n, table in enumerate(self.tables):
            purposes[n](n)
            for _ in range(rnd.choice([0, 0, 1, 2, 4, 10])):
                self.add(n, self.match(n), self.actions)
        if self.learns:
            self.make_learn()
        if rnd.random() < .3:
            self.make_punts()
        rnd = random.Random('\n'.join(self.flows))
        self.make_meters(rnd)
        if rnd.random() < .4:
            self.leave_ports_alone([table for n, table in
                                    enumerate(self.tables)
                                    if purposes[n] not in (self.service,
                                                           self.policy)])
        # Each set is drawn as it would be without them.
        self.rnd = rnd
        # Behind a change of length stock counts the new one after a ct(), and
        # ours the old one.
        self.counts_bytes = not n_wild or rnd.random() < .5
        wild = grammar.Grammar(rnd, self)
        self.wild = [wild.flow() for _ in range(n_wild)]

    def world(self):
        hosts = dict(HOSTS, **REMOTE) if self.tunnel else HOSTS
        return Sets(hosts, destinations(hosts))

    def kinds(self):
        return dict(Talk.KINDS, **({'layers': 1} if self.wild else {}))

    # Flows.

    def priority(self, n, low, high):
        used = self.used.setdefault(n, set())
        while True:
            priority = self.rnd.randrange(low, high)
            if priority not in used:
                used.add(priority)
                return priority

    def add(self, n, match, actions, low=10, high=900, extra=''):
        """'match' is a list, the protocol first or ''."""
        if callable(actions):
            actions = actions(n, match[0])
        if (self.times_out and not extra and self.rnd.random() < .1):
            extra = ',%s_timeout=%d' % (self.rnd.choice(['idle', 'hard']),
                                        self.rnd.choice([2, 10, 40]))
        text = ','.join(field for field in match if field)
        self.flows.append('table=%d,priority=%d%s%s actions=%s' % (
            self.tables[n], self.priority(n, low, high), extra,
            ',' + text if text else '', actions))

    def other_actions(self, flow):
        """Those of another flow of the same table and protocol, down to the type
        that neighbour discovery's fields want, and to the connection that
        those of its first packet do."""
        def kind(flow):
            fields = [field for field in flow.split(' actions=')[0].split(',')
                      if '_timeout=' not in field]
            return (fields[0], fields[2:3],
                    [field for field in fields if field.startswith('icmp_')],
                    bool(CONNECTION.search(','.join(fields))))

        others = [f.split(' actions=')[1] for f in self.flows
                  if kind(f) == kind(flow) and 'conj' not in f]
        if 'conj' in flow or not others:
            return 'drop'
        return self.rnd.choice(others)

    def make_punts(self):
        """Packets with some ToS are left to stock: those of a connection that
        have another mustn't overtake them."""
        for proto in 'ip', 'ipv6':
            self.add(0, [proto, 'nw_tos=%d' % traffic.OTHER_TOS],
                     'check_pkt_larger(700)->NXM_NX_REG15[0],resubmit(,%d)'
                     % self.tables[1], low=900, high=910)

    def make_meters(self, rnd):
        """Meters and controllers in some flows of some sets; each set is drawn as
        it would be without them."""
        self.meters = METERS if rnd.random() < .4 else []
        if not self.meters:
            return
        for i, flow in enumerate(self.flows):
            match, actions = flow.split('actions=', 1)
            if 'conjunction(' in actions:
                continue
            first = []
            if rnd.random() < .1:
                first.append('meter:%d' % rnd.choice([1, 2]))
            if rnd.random() < .08:
                first.append(rnd.choice([
                    'controller', 'controller(max_len=40,id=2)',
                    'controller(reason=no_match,userdata=01.02,meter_id=1)',
                    'controller(meter_id=2)']))
            if first:
                if actions != 'drop':
                    first.append(actions)
                self.flows[i] = match + 'actions=' + ','.join(first)

    def leave_ports_alone(self, tables):
        """No flow of these tables, nor any group, reads what packets of
        several connections with one server differ in, as in most pipelines:
        then what becomes of answers isn't told by their ports."""
        starts = tuple('table=%d,' % table for table in tables)
        read = re.compile(r',(tp_src|tp_dst|tcp_flags'
                          r'|ct_(nw|ipv6|tp)_(src|dst))=[^, ]*')
        for i, flow in enumerate(self.flows):
            if flow.startswith(starts):
                match, actions = flow.split(' actions=', 1)
                self.flows[i] = (read.sub('', match) + ' actions=' + actions)
        for i, group in enumerate(self.groups):
            group = re.sub(r'(?<=[(,])(tcp_|udp_|ct_)[^,)]*,?', '', group)
            self.groups[i] = re.sub(r',?\),bucket', '),bucket',
                                    group).replace(',fields()', '')

    # Purposes.

    def purposes(self):
        """A function for each table."""
        rnd = self.rnd
        n = len(self.tables)
        purposes = [self.plain] * n
        purposes[0] = self.classify
        purposes[-1] = self.output
        purposes[-2] = self.route
        middle = list(range(1, n - 2))
        if rnd.random() < .92:
            order = [self.track, self.state, self.service, self.policy,
                     self.commit]
            if rnd.random() < .3:
                order.insert(3, self.track)
            while len(order) > len(middle):
                order.pop(rnd.randrange(1, len(order) - 1))
            for place, purpose in zip(sorted(rnd.sample(middle, len(order))),
                                      order):
                purposes[place] = purpose
        return purposes

    def go(self, n, skip=.1):
        """To the next table, or to one after it."""
        rnd = self.rnd
        later = self.tables[n + 1:]
        table = rnd.choice(later) if rnd.random() < skip else later[0]
        return rnd.choice(['goto_table:%d', 'resubmit(,%d)']) % table

    def miss(self, n):
        if self.rnd.random() < .95:
            self.flows.append('table=%d,priority=0 actions=%s'
                              % (self.tables[n], self.go(n, .05)))

    def plain(self, n):
        self.miss(n)

    def classify(self, n):
        rnd = self.rnd
        self.miss(n)
        for port in rnd.sample(list(PORTS), rnd.randrange(6)):
            match = ['', 'in_port=%d' % PORTS[port]]
            self.add(n, match, 'set_field:%d->reg0,set_field:%d->reg5,%s' % (
                rnd.randrange(4), rnd.choice(self.zones), self.go(n)))
        for _ in range(rnd.choice([0, 1, 2])):
            # In what packets of one connection differ.
            proto = rnd.choice(['ip', 'ipv6', 'tcp', 'udp'])
            self.add(n, [proto, self.odd(proto)], rnd.choice(
                ['drop', 'output:%d' % rnd.choice(list(PORTS.values())),
                 'set_field:%d->reg3,%s' % (rnd.randrange(4), self.go(n))]))
        if rnd.random() < .3:
            port = rnd.choice(list(PORTS))
            self.add(n, ['ip', 'in_port=%d' % PORTS[port],
                         'nw_src=' + HOSTS[port][1][0]], self.go(n))

    def zone(self):
        rnd = self.rnd
        if rnd.random() < .04:
            return 'zone=NXM_NX_REG5[0..15]'
        return 'zone=%d' % (self.zones[0] if rnd.random() < .8
                            else rnd.choice(self.zones))

    def track(self, n):
        rnd = self.rnd
        self.miss(n)
        zone, nat = self.zone(), '' if rnd.random() < .06 else ',nat'
        for proto in rnd.choice([['ip', 'ipv6'], ['ip', 'ipv6'], ['ip'],
                                 ['tcp', 'udp', 'tcp6', 'udp6']]):
            self.add(n, [proto], 'ct(%s%s,table=%d)' % (
                zone, nat, self.tables[n + 1]), 900, 1000)

    def state(self, n):
        rnd = self.rnd
        self.miss(n)
        short = rnd.random() < .6
        for proto in 'ip', 'ipv6':
            if rnd.random() < .6:
                self.add(n, [proto, 'ct_state=+inv+trk'], 'drop', 950, 1000)
            if short:
                # As most pipelines do.
                self.add(n, [proto, 'ct_state=-new+trk'],
                         'resubmit(,%d)' % self.tables[-2], 900, 950)
            for _ in range(rnd.randrange(4)):
                self.add(n, [proto, rnd.choice([
                    'ct_state=+est+trk', 'ct_state=+new+trk',
                    'ct_state=+rpl+trk', 'ct_state=-new+trk',
                    'ct_state=+est-rpl+trk', 'ct_state=+trk,ct_mark=0x1/0x1',
                    'ct_state=+rel+trk', 'ct_state=+trk+dnat',
                    'ct_state=+trk-snat'])], self.actions)
            if rnd.random() < .2:
                # An established connection's mark changes.
                self.add(n, [proto, 'ct_state=+est+trk', 'nw_tos=32'],
                         'ct(commit,%s,%s,table=%d)' % (
                             self.zone(), self.exec_(), self.tables[n + 1]))

    def exec_(self):
        rnd = self.rnd
        actions = []
        if rnd.random() < .8:
            actions.append(rnd.choice([
                'set_field:0x%x/0x%x->ct_mark' % (rnd.randrange(16), 0xf),
                'set_field:0x%x->ct_mark' % rnd.randrange(64),
                'load:0x%x->NXM_NX_CT_MARK[4..7]' % rnd.randrange(16),
                'move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]']))
        if rnd.random() < .5 or not actions:
            actions.append(rnd.choice([
                'set_field:0x%x/0xff->ct_label' % rnd.randrange(4),
                'set_field:0x%x00000000/0xff00000000->ct_label'
                % rnd.randrange(4),
                'move:NXM_NX_REG1[]->NXM_NX_CT_LABEL[64..95]']))
        return 'exec(%s)' % ','.join(actions)

    def service(self, n):
        rnd = self.rnd
        self.miss(n)
        for vip in VIPS:
            v6 = ':' in vip
            for proto in rnd.sample(['tcp', 'udp', 'sctp'],
                                    rnd.randrange(1, 4)):
                match = [proto + '6' if v6 else proto,
                         ('ipv6_dst=' if v6 else 'nw_dst=') + vip]
                if rnd.random() < .7:
                    match.append('tp_dst=%d' % rnd.choice([80, 80, 443, 53]))
                if rnd.random() < .5:
                    match.append('ct_state=+new+trk')
                self.add(n, match, self.commit_nat(n, 'dst', v6), 900, 1000)

    def commit_nat(self, n, direction, v6):
        return 'ct(commit,%s,%s%s,table=%d)' % (
            self.zone(), self.nat(direction, v6),
            ',' + self.exec_() if self.rnd.random() < .6 else '',
            self.rnd.choice(self.tables[n + 1:-1]))

    def nat(self, direction, v6):
        rnd = self.rnd
        ip, port = self.nat_address(direction, v6), ''
        if rnd.random() < (.6 if direction == 'dst' else .3 * self.ranges):
            if v6:
                ip = '-'.join('[%s]' % end for end in ip.split('-'))
            port = ':%d' % rnd.choice([80, 8080, 53])
            if self.ranges and rnd.random() < .6:
                port += '-%d' % (int(port[1:]) + rnd.randrange(1, 5))
        flags = rnd.choice(['', '', '', ',persistent', ',random', ',hash'])
        return 'nat(%s=%s%s%s)' % (direction, ip, port, flags if port else '')

    def nat_address(self, direction, v6):
        """One address, or some."""
        rnd = self.rnd
        if direction == 'src':
            prefix, first = SNAT[6 if v6 else 4], rnd.randrange(1, 4)
        else:
            prefix, first = 'fd00::' if v6 else '10.0.0.', rnd.randrange(1, 5)
        if self.ranges and rnd.random() < .6:
            return '%s%d-%s%d' % (prefix, first, prefix,
                                  first + rnd.randrange(1, 6 - first))
        return '%s%d' % (prefix, first)

    def policy(self, n):
        self.miss(n)
        for _ in range(self.rnd.randrange(1, 5)):
            self.conjunction(n)

    def commit(self, n):
        rnd = self.rnd
        self.miss(n)
        for proto in 'ip', 'ipv6':
            v6 = proto == 'ipv6'
            if rnd.random() < .3:
                match = [proto, 'ct_state=+new+trk']
                match.append(rnd.choice(['reg0=%d' % rnd.randrange(4),
                                         'in_port=%d' % rnd.choice(
                                             list(PORTS.values()))]))
                self.add(n, match, self.commit_nat(n, 'src', v6), 950, 1000)
            if rnd.random() < .9:
                self.add(n, [proto, 'ct_state=+new+trk'],
                         'ct(commit,%s%s,table=%d)' % (
                             self.zone(),
                             ',' + self.exec_() if rnd.random() < .6 else '',
                             self.tables[n + 1]), 900, 950)

    def route(self, n):
        rnd = self.rnd
        self.miss(n)
        for port, (mac, ips) in HOSTS.items():
            for ip in ips:
                v6 = ':' in ip
                self.add(n, ['ipv6' if v6 else 'ip',
                             ('ipv6_dst=' if v6 else 'nw_dst=') + ip],
                         'set_field:%s->eth_dst,%sset_field:%d->reg1,%s' % (
                             mac, rnd.choice(['', 'dec_ttl,',
                                              'set_field:%s->eth_src,'
                                              % ROUTER]),
                             PORTS[port], self.go(n, 0)), 900, 1000)

        if self.tunnel:
            mac, ips = REMOTE[tunnels.PORT]
            for ip in ips:
                peer = rnd.choice(tunnels.PEERS)
                self.add(n, ['ipv6', 'ipv6_dst=' + ip] if ':' in ip else
                         ['ip', 'nw_dst=' + ip],
                         'set_field:%s->eth_dst,%sset_field:%s->%s,'
                         'set_field:%d->tun_id,%s' % (
                             mac, rnd.choice(['', 'dec_ttl,']), peer,
                             tunnels.field('dst', peer),
                             rnd.choice(tunnels.VNIS), self.go(n, 0)),
                         900, 1000)

    def discovery(self, n):
        """Answers to neighbour solicitations, made of them."""
        rnd = self.rnd
        mac = rnd.choice([ROUTER] + [mac for mac, _ in HOSTS.values()])
        target = rnd.choice(HOSTS[rnd.choice(list(HOSTS))][1][1::2])
        actions = ['move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
                   'set_field:%s->eth_src' % mac,
                   'move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[]',
                   rnd.choice(['move:NXM_NX_ND_TARGET[]->NXM_NX_IPV6_SRC[]',
                               'set_field:%s->ipv6_src' % target]),
                   'set_field:136->icmpv6_type', 'set_field:0->icmpv6_code',
                   rnd.choice(['set_field:2->nd_options_type', 'note:00']),
                   'set_field:0xe0000000->nd_reserved',
                   rnd.choice(['set_field:%s->nd_sll' % mac,
                               'set_field:%s->nd_target' % target,
                               'set_field:255->nw_ttl', 'dec_ttl']),
                   'in_port']
        self.add(n, ['icmp6', 'icmp_type=135', 'icmp_code=0']
                 + ['nd_target=' + target][:rnd.randrange(2)],
                 ','.join(actions), 950, 1000)

    def output(self, n):
        rnd = self.rnd
        if rnd.random() < .4:
            self.discovery(n)
        if self.tunnel:
            self.add(n, ['', 'dl_dst=' + REMOTE[tunnels.PORT][0]],
                     'output:%d' % PORTS_WITH_TUNNEL[tunnels.PORT], 1000, 1010)
        if rnd.random() < .5:
            self.flows.append('table=%d,priority=0 actions=output:%d'
                              % (self.tables[n], rnd.choice(
                                  list(PORTS.values()))))
        if rnd.random() < .5:
            self.add(n, ['', 'reg1=0x0/0xffff0000'],
                     'output:NXM_NX_REG1[0..15]', 20, 50)
        for port, (mac, _) in HOSTS.items():
            self.add(n, ['', 'dl_dst=' + mac],
                     'in_port' if rnd.random() < .05
                     else 'output:%d' % PORTS[port], 900, 1000)

        # Only on the way out: after ct(), stock counts the other length.
        out = rnd.choice(list(PORTS.values()))
        if rnd.random() < .2:
            self.add(n, ['', 'dl_vlan=10'],
                     'clone(strip_vlan,output:%d)' % out)
        if rnd.random() < .2:
            mac = rnd.choice(list(HOSTS.values()))[0]
            self.add(n, ['', 'vlan_tci=0x0000/0x1fff', 'dl_src=' + mac],
                     'clone(push_vlan:0x8100,set_field:4106->vlan_vid,'
                     'output:%d)' % out)

    # Matches.

    def match(self, n):
        rnd = self.rnd
        proto = rnd.choices(['', 'ip', 'ipv6', 'tcp', 'udp', 'tcp6', 'udp6',
                             'sctp', 'sctp6', 'icmp', 'icmp6', 'arp'],
                            [3, 6, 3, 4, 4, 2, 2, 2, 1, 1, 1, .3])[0]
        fields = [proto]
        for _ in range(rnd.choice([0, 1, 1, 2, 2, 3])):
            field = self.field(n, proto)
            name = field.split('=')[0]
            if field and not any(f.split('=')[0] == name for f in fields):
                fields.append(field)
        return fields

    def field(self, n, proto):
        rnd = self.rnd
        kinds = [self.meta, self.l2]
        if proto not in ('', 'arp'):
            kinds += [self.l3, self.l3, self.tracked]
            if proto.rstrip('6') in ('tcp', 'udp', 'sctp'):
                kinds += [self.l4, self.l4]
        return rnd.choice(kinds)(proto)

    def meta(self, proto):
        rnd = self.rnd
        if self.tunnel and rnd.random() < .3:
            peer = rnd.choice(tunnels.PEERS)
            return rnd.choice(['tun_id=%d' % rnd.choice(tunnels.VNIS),
                               '%s=%s' % (tunnels.field('src', peer), peer),
                               'tun_dst=' + tunnels.OUR_IP,
                               'tun_ipv6_dst=' + tunnels.OUR_IP6,
                               'in_port=9', 'tun_id=0x1/0x1'])
        return rnd.choice([
            'in_port=%d' % rnd.choice(list(PORTS.values())),
            'xxreg3=0x%x' % int(ipaddress.ip_address(
                rnd.choice(['fd00::1', 'fd00::2', 'fd00::4']))),
            'xxreg0=0x%x00000000/0x300000000' % rnd.randrange(4),
            'reg%d=0x%x/0x%x' % (rnd.randrange(4), rnd.randrange(4),
                                 rnd.choice([3, 0xff, 0xffffffff])),
            'reg%d=0x%x' % (rnd.randrange(4), rnd.randrange(4)),
            'metadata=0x%x/0xf' % rnd.randrange(3),
        ])

    def l2(self, proto):
        rnd = self.rnd
        return rnd.choice([
            'dl_src=%s' % rnd.choice(list(HOSTS.values()))[0],
            'dl_dst=%s' % rnd.choice([ROUTER] + [mac for mac, _
                                                 in HOSTS.values()]),
            'dl_src=02:00:00:00:00:02/ff:ff:ff:ff:ff:02',
            'dl_dst=01:00:00:00:00:00/01:00:00:00:00:00',
            'vlan_tci=0x0000/0x1fff', 'dl_vlan=10', 'vlan_tci=0x1000/0x1000',
        ])

    def l3(self, proto):
        rnd = self.rnd
        way = rnd.choice(['src', 'dst'])
        if proto in ('ipv6', 'tcp6', 'udp6', 'sctp6', 'icmp6'):
            address = 'ipv6_%s=%s' % (way, rnd.choice(
                ['fd00::1', 'fd00::2', 'fd00::4/126', 'fd00::/16', 'fd09::/32',
                 'fd07::1', 'fd08::/64', '::1/::1', 'fd00::/ff00::5']))
            if rnd.random() < .2:
                address = self.odd6(proto)
        else:
            address = 'nw_%s=%s' % (way, rnd.choice(
                ['10.0.0.1', '10.0.0.2', '10.0.0.4/31', '10.0.0.0/24',
                 '10.9.0.0/16', '192.168.7.1', '10.8.0.0/24',
                 '0.0.0.1/0.0.0.1']))
        return address if rnd.random() < .6 else self.odd(proto)

    def odd6(self, proto):
        rnd = self.rnd
        fields = ['ipv6_label=%s' % rnd.choice(['0', '0x80001',
                                                '0x80000/0x80000']),
                  'ip_frag=no']
        if proto == 'icmp6':
            fields = ['icmp_type=%d' % rnd.choice([128, 129, 1, 135, 136]),
                      'icmp_type=135,icmp_code=0,nd_target=%s' % rnd.choice(
                          ['fd00::1', 'fd00::2', 'fd00::/64']),
                      'icmp_type=136,nd_target=fd00::3',
                      'icmp_type=135,nd_sll=02:00:00:00:00:01',
                      'icmp_type=136,nd_tll=02:00:00:00:00:02']
        return rnd.choice(fields)

    def odd(self, proto):
        rnd = self.rnd
        return rnd.choice([
            'nw_tos=%d' % rnd.choice([4, 32, 72]),
            'nw_ecn=%d' % rnd.randrange(1, 4),
            'nw_ttl=%d' % rnd.choice([63, 2, 128]),
            'tcp_flags=%s' % rnd.choice(['+psh', '+urg', '+syn', '-ack'])
            if proto == 'tcp' else 'nw_tos=32',
            'dl_vlan=10', 'dl_src=%s' % rnd.choice(list(HOSTS.values()))[0],
        ])

    def l4(self, proto):
        rnd = self.rnd
        return rnd.choice([
            'tp_dst=%d' % rnd.choice(L4_PORTS),
            'tp_src=%d' % rnd.choice(L4_PORTS + Sets.sports)
            if self.source_ports else 'tp_dst=53',
            'tp_dst=0x50/0xfff0', 'tp_dst=0x0/0xff00',
            'tp_src=0x9c40/0xff00' if self.source_ports else 'tp_dst=80',
            'tcp_flags=%s' % rnd.choice(['+syn-ack', '+ack', '+rst', '-syn',
                                         '+fin', '0x010/0x017'])
            if proto[:3] == 'tcp' else 'tp_dst=0x1f90/0xfffe',
        ])

    def tracked(self, proto):
        rnd = self.rnd
        v6 = proto.endswith('6')
        return rnd.choice([
            'ct_state=' + rnd.choice(['+trk', '-trk', '+new+trk', '+est+trk',
                                      '+rpl+trk', '-rpl+trk', '+est-rpl+trk',
                                      '+dnat+trk', '+snat+trk', '-inv+trk',
                                      '+rel+trk', '-new-est+trk']),
            'ct_state=+trk,ct_mark=0x%x/0x%x' % (rnd.randrange(8),
                                                 rnd.choice([7, 15, 0xff])),
            'ct_state=+trk,ct_label=0x%x/0xff' % rnd.randrange(4),
            'ct_state=+trk,ct_zone=%d' % rnd.choice(self.zones),
            'ct_state=+trk-inv,ct_ipv6_dst=fd09::1' if v6
            else 'ct_state=+trk-inv,ct_nw_src=10.0.0.%d' % rnd.randrange(1, 4),
            'ct_state=+trk-inv,ct_ipv6_src=fd00::/126' if v6
            else 'ct_state=+trk-inv,ct_nw_dst=10.9.0.0/16',
            'ct_state=+trk-inv,ct_nw_proto=6,ct_tp_dst=80'
            if proto in ('ip', 'ipv6', 'tcp', 'tcp6')
            else 'ct_state=+trk-inv,ct_nw_proto=17',
        ])

    # Actions.

    def actions(self, n, proto):
        """For a flow that matches on 'proto'."""
        rnd = self.rnd
        actions = [self.effect(n, proto)
                   for _ in range(rnd.choice([0, 0, 1, 1, 2, 3]))]
        end = self.end(n, proto)
        actions = [action for action in actions + [end]
                   if action and action != 'drop']
        return ','.join(actions) or 'drop'

    def end(self, n, proto):
        rnd = self.rnd
        v6 = proto.endswith('6')
        ip = proto not in ('', 'arp')
        if n == len(self.tables) - 1:
            return rnd.choice(['output:%d' % rnd.choice(list(PORTS.values()))]
                              * 4 + ['in_port', 'drop'][:rnd.randrange(3)])
        r = rnd.random()
        if r < .06:
            return 'drop'
        if r < .09:
            return 'output:%d' % rnd.choice(list(PORTS.values()))
        if n == len(self.tables) - 2:
            return self.go(n)
        if r < .15 and ip:
            return 'ct(%s%s,table=%d)' % (self.zone(),
                                          rnd.choice(['', ',nat']),
                                          rnd.choice(self.tables[n + 1:]))
        if r < .20 and ip:
            return 'ct(commit,%s,%s,table=%d)' % (
                self.zone(), self.exec_(), rnd.choice(self.tables[n + 1:]))
        if r < .23 and ip and n < len(self.tables) - 2:
            return self.commit_nat(n, rnd.choice(['src', 'dst']), v6)
        if r < .32 and self.groups:
            groups = [g for g, least in self.group_tables.items()
                      if least > n]
            if groups:
                return 'group:%d' % rnd.choice(groups)
        return self.go(n)

    def effect(self, n, proto):
        rnd = self.rnd
        ip = proto not in ('', 'arp')
        kinds = [self.write] * 6 + [self.rewrite_l2, self.twice]
        if ip:
            kinds += [self.rewrite_l3] * 2
        return rnd.choice(kinds)(n, proto)

    def write(self, n, proto):
        rnd = self.rnd
        reg = rnd.randrange(4)
        moves = ['move:NXM_NX_REG0[0..7]->NXM_NX_REG1[8..15]',
                 'move:NXM_OF_IN_PORT[]->NXM_NX_REG2[0..15]',
                 'move:NXM_NX_REG3[]->NXM_NX_REG2[]']
        if proto in ('ip', 'tcp', 'udp', 'sctp'):
            moves += ['move:NXM_OF_IP_SRC[0..7]->NXM_NX_REG3[0..7]',
                      'move:NXM_NX_CT_MARK[0..7]->NXM_NX_REG2[0..7]']
        if proto in ('ipv6', 'tcp6', 'udp6', 'sctp6', 'icmp6'):
            moves = ['move:NXM_NX_IPV6_SRC[0..7]->NXM_NX_REG3[0..7]',
                     'move:NXM_NX_IPV6_DST[]->NXM_NX_XXREG3[]',
                     'move:NXM_NX_IPV6_SRC[]->NXM_NX_XXREG3[]',
                     'move:NXM_NX_XXREG3[0..15]->NXM_NX_REG1[16..31]',
                     'move:NXM_NX_XXREG3[96..127]->NXM_NX_REG2[]',
                     'move:NXM_NX_CT_LABEL[32..39]->NXM_NX_REG2[0..7]']
        return rnd.choice([
            'set_field:0x%x->reg%d' % (rnd.randrange(4), reg),
            'set_field:0x%x/0x3->reg%d' % (rnd.randrange(4), reg),
            'load:0x%x->NXM_NX_REG%d[4..7]' % (rnd.randrange(4), reg),
            'set_field:0x%x/0xf->metadata' % rnd.randrange(3),
            'set_field:0x%x00000001->xreg1' % rnd.randrange(3),
            'set_field:0x%x->xxreg3' % int(ipaddress.ip_address(
                rnd.choice(['fd00::1', 'fd00::2', 'fd00::4']))),
            'load:0x%x->NXM_NX_XXREG0[30..65]' % rnd.randrange(1 << 36),
            rnd.choice(moves),
        ])

    def rewrite_l2(self, n, proto):
        rnd = self.rnd
        mac = rnd.choice([ROUTER] + [mac for mac, _ in HOSTS.values()])
        return rnd.choice([
            'set_field:%s->eth_src' % mac, 'set_field:%s->eth_dst' % mac,
            'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
        ])

    def rewrite_l3(self, n, proto):
        rnd = self.rnd
        v6 = proto.endswith('6')
        choices = ['dec_ttl', 'dec_ttl', 'mod_nw_tos:%d' % rnd.choice([0, 32]),
                   'set_field:%d->ip_ecn' % rnd.randrange(4), 'ct_clear']
        # Where no ct() follows any more.
        late = n >= len(self.tables) - 2
        if rnd.random() < .5 and late:
            choices.append('set_field:%s->%s' % (
                rnd.choice(list(HOSTS.values()))[1][v6],
                rnd.choice(['ipv6_dst', 'ipv6_src'] if v6
                           else ['ip_dst', 'ip_src'])))
        if rnd.random() < .3 and late and v6:
            choices += ['move:NXM_NX_XXREG3[]->NXM_NX_IPV6_DST[]',
                        'load:0x%x->NXM_NX_IPV6_SRC[0..15]'
                        % rnd.randrange(6),
                        'set_field:0x80001->ipv6_label']
        name = proto.rstrip('6')
        if name in ('tcp', 'udp', 'sctp') and rnd.random() < .5 and late:
            choices.append('set_field:%d->%s_%s' % (
                rnd.choice(L4_PORTS), name, rnd.choice(['src', 'dst'])))
        return rnd.choice(choices)

    def twice(self, n, proto):
        """Something that the packet comes back from."""
        rnd = self.rnd
        later = self.tables[n + 1:]
        out = 'output:%d' % rnd.choice(list(PORTS.values()))
        if not later:
            return out
        actions = rnd.choice([
            out, 'clone(set_field:%s->eth_dst,%s)' % (ROUTER, out),
            'resubmit(,%d)' % later[-1], 'resubmit(,%d)' % rnd.choice(later),
            'clone(resubmit(,%d))' % later[-1],
            'note:01.02', '', '', '',
        ])
        # What it learns there it would meet itself behind the next ct().
        return '' if self.learns and 'resubmit' in actions else actions

    # Conjunctions.

    def conjunction(self, n):
        rnd = self.rnd
        v6 = rnd.random() < .5
        ip, nw = ('ipv6', 'ipv6') if v6 else ('ip', 'nw')
        addresses = (['fd00::1', 'fd00::2', 'fd00::4/126', 'fd09::/32',
                      'fd00::2/127', 'fd00::/113', 'fd07::/64'] if v6
                     else ['10.0.0.1', '10.0.0.2', '10.0.0.4/31',
                           '10.0.0.3', '192.168.7.0/24'])
        clauses = [
            ['%s,%s_src=%s' % (ip, nw, a)
             for a in rnd.sample(addresses, rnd.randrange(1, 4))],
            rnd.choice([
                ['%s,%s_dst=%s' % (ip, nw, a)
                 for a in rnd.sample(addresses, rnd.randrange(1, 4))],
                ['in_port=%d' % p
                 for p in rnd.sample(list(PORTS.values()), 3)],
                ['reg0=%d' % r for r in rnd.sample(range(4), 2)],
                ['xxreg3=0x%x' % int(ipaddress.ip_address(a))
                 for a in rnd.sample(['fd00::1', 'fd00::2', 'fd00::4'], 2)],
            ]),
        ]
        # Two that share clauses differ in the service.
        services = [['tcp', 'tp_dst=%d' % rnd.choice(L4_PORTS)],
                    ['udp', rnd.choice(['tp_dst=0x30/0xfff0', 'tp_dst=53'])]]
        ids = [self.n_conj + 1 + i for i in range(rnd.choice([1, 1, 2]))]
        self.n_conj += len(ids)
        priority = self.priority(n, 100, 800)
        start = 'table=%d,priority=%d,' % (self.tables[n], priority)
        for i, clause in enumerate(clauses):
            for flow in clause:
                self.flows.append('%s%s actions=%s' % (start, flow, ','.join(
                    'conjunction(%d,%d/3)' % (c, i + 1) for c in ids)))
        for c, (proto, port) in zip(ids, services):
            self.flows.append('%s%s%s,%s actions=conjunction(%d,3/3)' % (
                start, proto, '6' if v6 else '', port, c))
            self.add(n, [ip, 'conj_id=%d' % c], self.actions, 100, 800)

    # Groups.

    def make_groups(self):
        """Of select groups without a method only one bucket lives: which of
        several gets a connection may differ."""
        rnd = self.rnd
        self.group_tables = {}          # Group: least table that it leads to.
        for group in range(1, rnd.randrange(1, 5)):
            least = rnd.randrange(1, len(self.tables))
            self.group_tables[group] = least
            kind = rnd.choice(['select', 'select', 'all', 'indirect', 'ff'])
            text = 'group_id=%d,type=%s' % (group, kind)
            n = {'select': rnd.randrange(1, 4), 'all': rnd.randrange(1, 4),
                 'indirect': 1, 'ff': 2}[kind]
            lives = [rnd.randrange(n)]
            if kind == 'select' and rnd.random() < .6:
                text += ',' + self.method()
                lives = range(n)
            for i in range(n):
                text += ',bucket=bucket_id:%d' % i
                if kind == 'select':
                    text += ',weight:%d' % (rnd.choice([1, 50, 100])
                                            if i in lives else 0)
                elif kind == 'ff':
                    text += ',watch_port:%d' % rnd.choice(
                        list(PORTS.values()))
                sets = rnd.choice(['set_field:%d->reg%d' % (
                    rnd.randrange(4), rnd.randrange(4)),
                    'set_field:0x%x->xxreg3' % int(ipaddress.ip_address(
                        'fd00::%d' % rnd.randrange(1, 5)))])
                goes = ('resubmit(,%d)' % rnd.choice(self.tables[least:])
                        if rnd.random() < .85 else
                        'output:%d' % rnd.choice(list(PORTS.values())))
                # Stock translates all buckets before it carries out the first
                # one's ct(): what is learned behind that comes last.
                if kind == 'all' and i and self.learns and 'res' in goes:
                    goes = 'output:%d' % PORTS['p1']
                text += ',actions=%s,%s' % (sets, goes)
            self.groups.append(text)

    def method(self):
        rnd = self.rnd
        fields = ['ip_src', rnd.choice(['ip_dst', 'ip_dst=255.255.255.254']),
                  'ipv6_src', 'ipv6_dst=ffff::ff', 'ipv6_label', 'tcp_dst', 'udp_dst', 'nw_proto',
                  'eth_src', 'in_port', 'reg0', 'metadata', 'ct_mark',
                  'ct_nw_dst', 'ct_ipv6_src', 'xxreg3', 'ct_state']
        if self.source_ports:
            fields += ['tcp_src', 'udp_src']
        fields = rnd.sample(fields, rnd.randrange(0, 5))
        return 'selection_method=hash' + rnd.choice(
            ['', ',selection_method_param=%d' % rnd.randrange(1 << 40)]) + (
                ',fields(%s)' % ','.join(fields) if fields else '')

    # learn.

    def make_learn(self):
        """Flows in an early table that others learn, in a later one: stock
        shows them to the same packet behind the next ct(), too."""
        rnd = self.rnd
        n = rnd.randrange(len(self.tables) - 3)
        for proto, number in ('tcp', 6), ('udp', 17), ('tcp6', 6), ('udp6', 17):
            at = rnd.randrange(n + 1, len(self.tables) - 1)
            v6 = proto.endswith('6')
            field = 'NXM_NX_IPV6_%s[]' if v6 else 'NXM_OF_IP_%s[]'
            learn = ('learn(table=%d,priority=%d,%s=%d%s%s%s,eth_type=%s,'
                     'ip_proto=%d,%s,%s,%s%s)' % (
                         self.tables[n], self.priority(n, 900, 1000),
                         rnd.choice(['idle_timeout', 'hard_timeout']),
                         rnd.choice([3, 10, 60]),
                         rnd.choice(['', ',fin_idle_timeout=2',
                                     ',fin_hard_timeout=20',
                                     ',fin_idle_timeout=1,fin_hard_timeout=5'])
                         if number == 6 else '',
                         rnd.choice(['', ',delete_learned', ',cookie=0x7']),
                         rnd.choice(['', '', '', ',limit=2',
                                     ',limit=3,result_dst=reg3[8]']),
                         '0x86dd' if v6 else '0x800', number, field % 'SRC',
                         rnd.choice([field % 'DST', 'NXM_OF_ETH_SRC[]',
                                     'NXM_OF_%s_DST[]'
                                     % proto.rstrip('6').upper()]),
                         'load:NXM_NX_XXREG3[]->NXM_NX_XXREG3[]'
                         if v6 and rnd.random() < .6 else
                         'load:0x%x->NXM_NX_REG%d[0..3]' % (
                             rnd.randrange(1, 16), rnd.randrange(4)),
                         rnd.choice(['', '', '', ',output:NXM_OF_IN_PORT[]',
                                     ',load:NXM_OF_ETH_SRC[]'
                                     '->NXM_OF_ETH_DST[]'])))
            self.add(at, [proto] + ([self.l3(proto)] if rnd.random() < .5
                                    else []),
                     learn + ',' + self.go(at, 0))

# SPDX-License-Identifier: Apache-2.0
"""Flows of all that OpenFlow knows: every field in matches, with masks where it
may have some, and as what actions set, move, load and push; and every action.

rules.py draws what pipelines consist of, and little else, since packets have to
get somewhere.  A few flows from here lie between those.  grammar.test compares
FIELDS and ACTIONS with what upstream's headers list."""

import ipaddress

# What a field needs the match to say, and a match that says so.
PROTOCOLS = {
    'any': ['', 'ip', 'ipv6', 'tcp', 'udp', 'tcp6', 'udp6', 'sctp', 'icmp',
            'icmp6', 'arp', 'mpls', 'dl_type=0x894f'],
    'vlan': ['', 'ip', 'ipv6', 'tcp', 'udp', 'arp'],
    'arp': ['arp'],
    'ip4': ['ip', 'tcp', 'udp', 'sctp', 'icmp'],
    'ip6': ['ipv6', 'tcp6', 'udp6', 'sctp6', 'icmp6'],
    'ip': ['ip', 'tcp', 'udp', 'sctp', 'icmp', 'ipv6', 'tcp6', 'udp6',
           'sctp6', 'icmp6'],
    'tcp': ['tcp', 'tcp6'], 'udp': ['udp', 'udp6'], 'sctp': ['sctp', 'sctp6'],
    'icmp': ['icmp'], 'icmp6': ['icmp6'],
    'nd': ['icmp6,icmp_type=135,icmp_code=0', 'icmp6,icmp_type=136,icmp_code=0'],
    'solicit': ['icmp6,icmp_type=135,icmp_code=0'],
    'advert': ['icmp6,icmp_type=136,icmp_code=0'],
    'mpls': ['mpls', 'dl_type=0x8848'],
    'nsh': ['dl_type=0x894f'],
    'tracked': ['ip,ct_state=+trk', 'tcp,ct_state=+trk', 'udp,ct_state=+trk'],
    'tracked4': ['ip,ct_state=+trk-inv', 'tcp,ct_state=+trk-inv'],
    'tracked6': ['ipv6,ct_state=+trk-inv', 'udp6,ct_state=+trk-inv'],
    'tracked_l4': ['ip,ct_state=+trk-inv,ct_nw_proto=6',
                   'ipv6,ct_state=+trk-inv,ct_nw_proto=17'],
}

MACS = ['02:00:00:00:00:0%d' % i for i in range(1, 6)] + ['02:00:00:00:00:fe',
                                                         'ff:ff:ff:ff:ff:ff']
IP4S = ['10.0.0.%d' % i for i in range(1, 6)] + ['192.168.7.1', '10.9.0.1',
                                                 '10.8.0.2', '10.0.9.1']
IP6S = ['fd00::%d' % i for i in range(1, 6)] + ['fd07::1', 'fd09::1',
                                                'fd08::2', 'fd00:9::1']
PORTS = [1, 2, 7, 40, 300]
L4 = [80, 443, 8080, 53, 3306, 1025, 20000, 40000]


def small(rnd):
    return rnd.choice([0, 0, 1, 1, 2, 3])


class Field:
    """'needs' is a key of PROTOCOLS.  Without 'values', which draws one, they
    are numbers below 4."""

    def __init__(self, name, bits, needs='any', mask=True, write=True,
                 values=small):
        self.name, self.bits, self.needs = name, bits, needs
        self.mask, self.write, self.values = mask, write, values

    def value(self, rnd):
        """One, as ovs-ofctl reads it."""
        return self.text(self.values(rnd))

    def text(self, value):
        return value if isinstance(value, str) else '0x%x' % (
            value & ((1 << self.bits) - 1))

    def masked(self, rnd):
        """A value, with a mask if there may be one."""
        value = self.values(rnd)
        if not self.mask or rnd.random() < .5:
            return self.text(value)
        number = as_number(value)
        kind = rnd.randrange(4)
        full = (1 << self.bits) - 1
        if kind == 0:
            mask = 1 << rnd.randrange(self.bits)
        elif kind == 1:
            mask = full & ~((1 << rnd.randrange(1, self.bits + 1)) - 1)
        elif kind == 2:
            mask = rnd.randrange(1 << self.bits)
        else:
            mask = full & 3
        mask = self.shaped(value, mask or full)
        return '%s/%s' % (self.shaped(value, number & as_number(
            mask if isinstance(value, str) else int(mask, 16))), mask)

    def shaped(self, value, number):
        """'number' written as 'value' is."""
        if not isinstance(value, str):
            return '0x%x' % number
        if value.count(':') == 5 and '::' not in value:
            data = number.to_bytes(6, 'big')
            return ':'.join('%02x' % byte for byte in data)
        if ':' not in value:
            return str(ipaddress.IPv4Address(number))
        # A mask that begins with a digit would be taken for a length.
        text = str(ipaddress.IPv6Address(number))
        return str(ipaddress.IPv6Address(number | 0xf << 124)) \
            if text[0].isdigit() else text


def as_number(value):
    if not isinstance(value, str):
        return value
    if value.count(':') == 5 and '::' not in value:
        return int(value.replace(':', ''), 16)
    return int(ipaddress.ip_address(value))


def one_of(*values):
    return lambda rnd: rnd.choice(values)


def registers(name, n, bits, first=0):
    return [Field('%s%d' % (name, i), bits) for i in range(first, n)]


READ = dict(write=False)
EXACT = dict(mask=False)

FIELDS = [
    # Beside the packet.
    Field('conj_id', 32, **EXACT, **READ),
    Field('packet_type', 32, **EXACT, **READ, values=one_of('(0,0)')),
    Field('tun_id', 64, values=one_of(0, 1, 77)),
    Field('tun_src', 32, values=one_of('192.168.50.2', '192.168.50.3')),
    Field('tun_dst', 32, values=one_of('192.168.50.1')),
    Field('tun_ipv6_src', 128, values=one_of('fd50::2', 'fd50::3')),
    Field('tun_ipv6_dst', 128, values=one_of('fd50::1')),
    Field('tun_flags', 1, values=one_of(0, 1)),
    Field('tun_gbp_id', 16), Field('tun_gbp_flags', 8),
    Field('tun_erspan_idx', 20), Field('tun_erspan_ver', 4),
    Field('tun_erspan_dir', 1, values=one_of(0, 1)),
    Field('tun_erspan_hwid', 6),
    Field('tun_gtpu_flags', 8, **READ), Field('tun_gtpu_msgtype', 8, **READ),
    Field('metadata', 64),
    Field('in_port', 16, **EXACT, values=one_of(*map(str, PORTS))),
    Field('actset_output', 32, **EXACT, **READ, values=one_of('1', '2',
                                                              'unset')),
    Field('pkt_mark', 32),
    *registers('reg', 16, 32), *registers('xreg', 8, 64),
    *registers('xxreg', 4, 128),
    # Conntrack's.
    Field('ct_state', 32, **READ, values=one_of(0, 0x20, 0x21, 0x22, 0x2a,
                                                0x30)),
    Field('ct_zone', 16, **EXACT, **READ, values=one_of(0, 1, 65520)),
    Field('ct_mark', 32, needs='tracked', write=False),
    Field('ct_label', 128, needs='tracked', write=False),
    Field('ct_nw_proto', 8, needs='tracked4', **EXACT, **READ,
          values=one_of(6, 17, 1)),
    Field('ct_nw_src', 32, needs='tracked4', **READ, values=one_of(*IP4S)),
    Field('ct_nw_dst', 32, needs='tracked4', **READ, values=one_of(*IP4S)),
    Field('ct_ipv6_src', 128, needs='tracked6', **READ, values=one_of(*IP6S)),
    Field('ct_ipv6_dst', 128, needs='tracked6', **READ, values=one_of(*IP6S)),
    Field('ct_tp_src', 16, needs='tracked_l4', **READ, values=one_of(*L4)),
    Field('ct_tp_dst', 16, needs='tracked_l4', **READ, values=one_of(*L4)),
    # The packet's.
    Field('eth_src', 48, values=one_of(*MACS)),
    Field('eth_dst', 48, values=one_of(*MACS)),
    Field('eth_type', 16, needs='vlan', **EXACT, **READ,
          values=one_of(0x800, 0x806, 0x86dd, 0x88cc, 0x8847, 0x5ff)),
    Field('vlan_tci', 16, needs='vlan', values=one_of(0, 0x100a, 0x700a, 0x1000)),
    Field('vlan_vid', 13, needs='vlan', write=False,
          values=one_of(0x100a, 0x1014, 0x1000)),
    Field('vlan_pcp', 3, needs='vlan', mask=False, write=False),
    Field('dl_vlan', 12, needs='vlan', **EXACT, **READ, values=one_of(10, 20)),
    Field('dl_vlan_pcp', 3, needs='vlan', **EXACT, **READ),
    Field('mpls_label', 20, needs='mpls', **EXACT, values=one_of(1, 16, 17)),
    Field('mpls_tc', 3, needs='mpls', **EXACT),
    Field('mpls_bos', 1, needs='mpls', **EXACT, **READ, values=one_of(0, 1)),
    Field('mpls_ttl', 8, needs='mpls', **EXACT, values=one_of(1, 2, 64)),
    Field('ip_src', 32, needs='ip4', values=one_of(*IP4S)),
    Field('ip_dst', 32, needs='ip4', values=one_of(*IP4S)),
    Field('ipv6_src', 128, needs='ip6', values=one_of(*IP6S)),
    Field('ipv6_dst', 128, needs='ip6', values=one_of(*IP6S)),
    Field('ipv6_label', 20, needs='ip6', values=one_of(0, 1, 0x80001, 0xfffff)),
    Field('nw_proto', 8, needs='ip', **EXACT, **READ, values=one_of(6, 17, 47, 2, 58)),
    Field('ip_dscp', 6, needs='ip', **EXACT, values=one_of(0, 1, 8, 18, 46)),
    Field('nw_tos', 8, needs='ip', **EXACT, **READ,
          values=one_of(0, 4, 0x20, 0x48, 0xb8)),
    Field('nw_ecn', 2, needs='ip', **EXACT),
    Field('nw_ttl', 8, needs='ip', **EXACT, values=one_of(1, 2, 63, 64, 255)),
    Field('ip_frag', 2, needs='ip', **EXACT, **READ,
          values=one_of('no', 'not_later', 'yes', 'first', 'later')),
    Field('arp_op', 16, needs='arp', **EXACT, values=one_of(1, 2, 3)),
    Field('arp_spa', 32, needs='arp', values=one_of(*IP4S)),
    Field('arp_tpa', 32, needs='arp', values=one_of(*IP4S)),
    Field('arp_sha', 48, needs='arp', values=one_of(*MACS)),
    Field('arp_tha', 48, needs='arp', values=one_of(*MACS)),
    Field('tcp_src', 16, needs='tcp', values=one_of(*L4)),
    Field('tcp_dst', 16, needs='tcp', values=one_of(*L4)),
    Field('tcp_flags', 12, needs='tcp', **READ,
          values=one_of(2, 16, 18, 24, 17, 4)),
    Field('udp_src', 16, needs='udp', values=one_of(*L4)),
    Field('udp_dst', 16, needs='udp', values=one_of(*L4)),
    Field('sctp_src', 16, needs='sctp', values=one_of(*L4)),
    Field('sctp_dst', 16, needs='sctp', values=one_of(*L4)),
    Field('icmp_type', 8, needs='icmp', **EXACT, values=one_of(0, 3, 8, 11)),
    Field('icmp_code', 8, needs='icmp', **EXACT),
    Field('icmpv6_type', 8, needs='icmp6', **EXACT,
          values=one_of(128, 129, 135, 136, 1)),
    Field('icmpv6_code', 8, needs='icmp6', **EXACT),
    Field('nd_target', 128, needs='nd', values=one_of(*IP6S)),
    Field('nd_sll', 48, needs='solicit', values=one_of(*MACS)),
    Field('nd_tll', 48, needs='advert', values=one_of(*MACS)),
    Field('nd_reserved', 32, needs='nd', mask=False,
          values=one_of(0, 0x60000000)),
    Field('nd_options_type', 8, needs='nd', mask=False),
    Field('nsh_flags', 2, needs='nsh'),
    Field('nsh_mdtype', 8, needs='nsh', **EXACT, **READ, values=one_of(1, 2)),
    Field('nsh_np', 8, needs='nsh', **EXACT, **READ, values=one_of(1, 2, 3)),
    Field('nsh_spi', 24, needs='nsh', mask=False, values=one_of(5, 6)),
    Field('nsh_si', 8, needs='nsh', mask=False, values=one_of(255, 1, 0)),
    *[Field('nsh_c%d' % i, 32, needs='nsh') for i in range(1, 5)],
    Field('nsh_ttl', 8, needs='nsh', mask=False, values=one_of(63, 2, 1)),
]
BY_NAME = {field.name: field for field in FIELDS}

# Of what upstream's headers list, what isn't drawn, and why.
NOT_DRAWN = {
    'dp_hash': "the datapath's own hash, which is another one here",
    'recirc_id': 'of a packet between two passes, which there are none of here',
    'skb_priority': 'has no name in OpenFlow; set_queue writes it',
    'tun_ttl': 'has no name in OpenFlow', 'tun_tos': 'has no name in OpenFlow',
    'tun_metadata<N>': 'newer.py has it, with a map of options',
    'enqueue': 'of OpenFlow 1.0; goes to a bridge as set_queue and output',
    'set_vlan_vid': 'of OpenFlow 1.0: set_field in later versions',
    'set_vlan_pcp': 'of OpenFlow 1.0: set_field in later versions',
    'unroll_xlate': 'internal: nobody can send it',
    'nat': 'inside ct(), where rules.py draws it',
    'delete_field': 'for tunnel options alone, see tun_metadata',
    'debug_recirc': 'for tests of upstream: recirculates in between',
    'debug_slow': 'for tests of upstream: another way through stock',
    'conjunction': 'rules.py draws it',
}


def fits(field, proto):
    """True if flows that match on 'proto' may name the field."""
    known = PROTOCOLS[field.needs]
    return proto in known or proto.split(',')[0] in known


class Grammar:
    """Draws flows for the tables of a rules.RuleSet."""

    def __init__(self, rnd, rule_set):
        self.rnd, self.rule_set = rnd, rule_set

    # Matches.

    def match(self):
        """Returns what the match says, and the protocol that it begins with."""
        rnd = self.rnd
        field = rnd.choice(FIELDS)
        proto = rnd.choice(PROTOCOLS[field.needs])
        parts = [proto] if proto else []
        names = set()
        for each in [field] + [f for f in rnd.sample(FIELDS, 6)
                               if fits(f, proto)][
                                   :rnd.choice([0, 0, 1, 2])]:
            if each.name in names or self.said(each.name, parts):
                continue
            names.add(each.name)
            parts.append('%s=%s' % (each.name, each.masked(rnd)))
        # Only then may a tag be taken off.
        self.tagged = field.needs == 'vlan' and not names & {
            'vlan_tci', 'vlan_vid', 'vlan_pcp', 'dl_vlan', 'dl_vlan_pcp'}
        if self.tagged:
            parts.append('vlan_tci=0x1000/0x1000')
        return ','.join(parts), proto

    @staticmethod
    def said(name, parts):
        """True if a match says something of this field, or of one that is
        the same under another name."""
        aliases = [{'dl_vlan', 'dl_vlan_pcp', 'vlan_tci', 'vlan_vid',
                    'vlan_pcp'}, {'nw_tos', 'ip_dscp'},
                   {'icmp_type', 'icmpv6_type'}, {'icmp_code', 'icmpv6_code'}]
        said = {part.split('=')[0] for text in parts
                for part in text.split(',')}
        if 'eth_type' == name or 'nw_proto' == name:
            return bool(parts) and parts[0] not in ('ip', 'ipv6') \
                or name == 'eth_type' and bool(parts)
        return any(name in group and said & group for group in aliases) \
            or name in said

    # Actions.

    def writable(self, proto):
        return [f for f in FIELDS if f.write and fits(f, proto)
                and not (f.name.startswith('vlan') and self.same_length())]

    def same_length(self):
        """True if no tag may come or go here."""
        return self.rule_set.counts_bytes \
            and self.n < len(self.rule_set.tables) - 1

    def readable(self, proto):
        return [f for f in FIELDS if fits(f, proto)
                and f.name not in ('packet_type', 'conj_id', 'dl_vlan',
                                   'dl_vlan_pcp', 'vlan_vid', 'vlan_pcp',
                                   'actset_output', 'nw_tos', 'ip_dscp',
                                   'eth_type', 'ip_frag', 'nw_proto')]

    def part(self, field, bits=None):
        """Some bits of it: the text and how many."""
        n = bits or self.rnd.choice([field.bits, self.rnd.randint(
            1, field.bits)])
        start = self.rnd.randint(0, field.bits - n)
        if n == field.bits:
            return field.name + '[]', n
        return '%s[%d..%d]' % (field.name, start, start + n - 1), n

    def set_field(self, proto):
        field = self.rnd.choice(self.writable(proto))
        return 'set_field:%s->%s' % (field.masked(self.rnd), field.name)

    def load(self, proto):
        field = self.rnd.choice(self.writable(proto))
        text, n = self.part(field, self.rnd.randint(1, min(64, field.bits)))
        return 'load:0x%x->%s' % (self.rnd.randrange(1 << n), text)

    def move(self, proto):
        source = self.rnd.choice(self.readable(proto))
        target = self.rnd.choice(self.writable(proto))
        n = self.rnd.randint(1, min(source.bits, target.bits))
        return 'move:%s->%s' % (self.part(source, n)[0],
                                self.part(target, n)[0])

    def stack(self, proto):
        source = self.rnd.choice(self.readable(proto))
        target = self.rnd.choice(self.writable(proto))
        return 'push:%s,%spop:%s' % (
            self.part(source)[0], self.rnd.choice(['', 'push:reg0[],pop:reg1[],']),
            self.part(target)[0])

    def output(self, proto):
        rnd = self.rnd
        port = rnd.choice(PORTS)
        return rnd.choice([
            'output:%d' % port, 'output:reg1[0..15]', 'in_port',
            'output(port=%d,max_len=%d)' % (port, rnd.choice([14, 40, 64, 100])),
            'set_queue:%d,output:%d,pop_queue' % (rnd.randrange(3), port),
            'bundle(eth_src,0,active_backup,ofport,members:%d,%d)' % tuple(
                rnd.sample(PORTS, 2)),
            'bundle(symmetric_l4,50,hrw,ofport,members:%d,%d)' % tuple(
                rnd.sample(PORTS, 2)),
            'bundle_load(symmetric_l4,60,hrw,ofport,reg1[0..15],members:%d,%d)'
            % tuple(rnd.sample(PORTS, 2)),
        ])

    def controller(self, proto):
        return self.rnd.choice([
            'controller', 'controller:40', 'controller(max_len=100,id=3)',
            'controller(reason=invalid_ttl)', 'controller(reason=action_set)',
            'controller(userdata=0a.0b.0c)', 'controller(pause)'][:6])

    def multipath(self, proto):
        rnd = self.rnd
        return 'multipath(%s,%d,%s,%d,0,reg%d[0..7])' % (
            rnd.choice(['eth_src', 'symmetric_l4', 'symmetric_l3l4',
                        'symmetric_l3l4+udp', 'nw_src', 'nw_dst',
                        'symmetric_l3']), rnd.randrange(100),
            rnd.choice(['modulo_n', 'hash_threshold', 'hrw', 'iter_hash']),
            rnd.randint(1, 8), rnd.randrange(4))

    def vlan(self, proto):
        if proto.startswith('mpls') or self.same_length():
            return 'note:02'
        if self.tagged and self.rnd.random() < .6:
            return self.rnd.choice(['strip_vlan', 'pop_vlan',
                                    'set_field:2->vlan_pcp',
                                    'set_field:4126->vlan_vid'])
        return self.rnd.choice([
            'push_vlan:0x8100,set_field:4106->vlan_vid', 'push_vlan:0x88a8',
            'mod_vlan_vid:20', 'mod_vlan_pcp:3',
            'push_vlan:0x8100,push_vlan:0x8100,set_field:4116->vlan_vid'])

    def mpls(self, proto):
        if proto == 'mpls' or proto == 'dl_type=0x8848':
            return self.rnd.choice([
                'dec_mpls_ttl', 'set_mpls_label:17', 'set_mpls_tc:3',
                'set_mpls_ttl:9', 'pop_mpls:0x0800', 'pop_mpls:0x86dd',
                'pop_mpls:0x8847', 'push_mpls:0x8847', 'push_mpls:0x8848'])
        return self.rnd.choice(['push_mpls:0x8847', 'push_mpls:0x8847,'
                                'set_field:16->mpls_label', 'push_mpls:0x8848'])

    def nsh(self, proto):
        if proto == 'dl_type=0x894f':
            return self.rnd.choice([
                'dec_nsh_ttl', 'decap()', 'set_field:6->nsh_spi',
                'decap(),decap()'])
        # What is pushed is sent at once: see antrea-dp/provider/adp-headers.c.
        return self.rnd.choice([
            'encap(nsh(md_type=1)),set_field:0x5->nsh_spi,encap(ethernet),'
            'set_field:02:00:00:00:00:02->eth_dst,in_port',
            'encap(nsh(md_type=1)),decap()', 'encap(ethernet),decap()',
            'encap(nsh(md_type=2,tlv(0x1000,10,0x12345678))),encap(ethernet),'
            'in_port'])

    def old_names(self, proto):
        """The forms that OpenFlow had before set_field."""
        rnd = self.rnd
        found = ['mod_dl_src:' + rnd.choice(MACS), 'mod_dl_dst:'
                 + rnd.choice(MACS), 'set_tunnel:0x4d', 'set_tunnel64:0x1']
        if proto.split(',')[0] in PROTOCOLS['ip4']:
            found += ['mod_nw_src:' + rnd.choice(IP4S),
                      'mod_nw_dst:' + rnd.choice(IP4S)]
        if proto.split(',')[0] in PROTOCOLS['ip']:
            found += ['mod_nw_tos:%d' % rnd.choice([0, 4, 32]),
                      'mod_nw_ecn:%d' % rnd.randrange(4),
                      'mod_nw_ttl:%d' % rnd.choice([1, 2, 60])]
        if proto.rstrip('6') in ('tcp', 'udp', 'sctp'):
            found += ['mod_tp_src:%d' % rnd.choice(L4),
                      'mod_tp_dst:%d' % rnd.choice(L4)]
        return rnd.choice(found)

    def ttl(self, proto):
        if proto.split(',')[0] not in PROTOCOLS['ip']:
            return 'note:03'
        return self.rnd.choice(['dec_ttl', 'dec_ttl(1,2)', 'dec_ttl,dec_ttl'])

    def fin_timeout(self, proto):
        if proto.rstrip('6') != 'tcp':
            return 'note:04'
        # No flow is that old: it would expire at once, in the midst of a burst.
        return 'fin_timeout(%s)' % self.rnd.choice([
            'idle_timeout=2', 'hard_timeout=30000',
            'idle_timeout=1,hard_timeout=60000'])

    def sample(self, proto):
        return 'sample(probability=%d,collector_set_id=%d,obs_domain_id=1,' \
            'obs_point_id=2)' % (self.rnd.choice([65535, 30000, 1]),
                                 self.rnd.randrange(3))

    def other(self, proto):
        return self.rnd.choice(['note:01.02.03', 'ct_clear'])

    def check_pkt_larger(self, proto):
        return 'check_pkt_larger(%d)->reg%d[%d]' % (
            self.rnd.choice([60, 64, 100, 700]), self.rnd.randrange(4),
            self.rnd.randrange(32))

    def resubmit(self, proto):
        """From table 'n' of the set to a later one."""
        rnd = self.rnd
        tables = self.rule_set.tables[self.n + 1:]
        if not tables:
            return self.output(proto)
        table = rnd.choice(tables)
        return rnd.choice([
            'resubmit(,%d)' % table, 'resubmit(%d,%d)' % (rnd.choice(PORTS),
                                                          table),
            'resubmit(in_port,%d)' % table]
            + ['resubmit(,%d,ct)' % table] * (2 * self.tracked))

    def ct(self, proto):
        """A pass through conntrack, with what happens behind it."""
        rnd = self.rnd
        if proto.split(',')[0] not in PROTOCOLS['ip']:
            return 'note:05'
        v6 = proto.split(',')[0] in PROTOCOLS['ip6']
        zone = rnd.choice(self.rule_set.zones)
        later = self.rule_set.tables[self.n + 1:]
        parts = ['zone=%d' % zone]
        if rnd.random() < .5:
            parts.append('commit')
            if rnd.random() < .3:
                parts.append('force')
            if rnd.random() < .4:
                parts.append(self.rule_set.nat(rnd.choice(['src', 'dst']), v6))
            if rnd.random() < .5:
                parts.append('exec(%s)' % rnd.choice([
                    'set_field:0x%x/0x%x->ct_mark' % (small(rnd), 3),
                    'load:%d->ct_mark[4..9]' % rnd.randrange(64),
                    'move:reg0[0..15]->ct_label[16..31]',
                    'set_field:0x10000000000/0xff0000000000->ct_label',
                    'move:nw_src[]->ct_mark[]' if not v6 else
                    'move:ipv6_src[]->ct_label[]',
                    'move:eth_src[]->ct_label[0..47]']))
        elif rnd.random() < .5:
            parts.append('nat')
        if later and rnd.random() < .7:
            parts.append('table=%d' % rnd.choice(later))
        return 'ct(%s)' % ','.join(parts)

    def clone(self, proto):
        way = self.rnd.choice([self.output, self.output, self.resubmit,
                               self.ct])
        return 'clone(%s,%s)' % (self.plain(proto), way(proto))

    def group(self, proto):
        groups = [g for g, least in self.rule_set.group_tables.items()
                  if least > self.n]
        return 'group:%d' % self.rnd.choice(groups) if groups else 'note:06'

    PLAIN = ['set_field', 'set_field', 'load', 'move', 'move', 'stack',
             'old_names', 'vlan', 'ttl', 'multipath', 'other', 'fin_timeout',
             'check_pkt_larger']

    def plain(self, proto):
        return getattr(self, self.rnd.choice(self.PLAIN))(proto)

    ALL = PLAIN + ['output', 'output', 'controller', 'mpls', 'nsh', 'sample',
                   'resubmit', 'resubmit', 'ct', 'ct', 'clone', 'group']

    def instructions(self, proto):
        """What follows the actions: an action set, metadata, the next table."""
        rnd = self.rnd
        found = []
        if rnd.random() < .08:
            found.append('clear_actions')
        if rnd.random() < .15:
            found.append('write_actions(%s)' % rnd.choice([
                'output:%d' % rnd.choice(PORTS),
                'set_field:%s->eth_dst,output:%d' % (rnd.choice(MACS),
                                                     rnd.choice(PORTS)),
                'set_field:02:00:00:00:00:09->eth_src,output:%d'
                % rnd.choice(PORTS), 'drop',
                *(['push_vlan:0x8100,output:%d' % rnd.choice(PORTS)]
                  if not self.same_length() else []),
                *(['group:%d' % g for g in self.rule_set.group_tables]),
                *(['dec_ttl,output:2', 'set_field:7->ip_dscp,output:1']
                  if proto.split(',')[0] in PROTOCOLS['ip'] else [])]))
        if rnd.random() < .15:
            found.append('write_metadata:0x%x/0x%x' % (small(rnd), rnd.choice(
                [3, 0xff, 0xffffffffffffffff])))
        later = self.rule_set.tables[self.n + 1:]
        if later and rnd.random() < .75:
            found.append('goto_table:%d' % (later[0] if rnd.random() < .7
                                            else rnd.choice(later)))
        return found

    def actions(self, proto):
        rnd = self.rnd
        actions = [getattr(self, rnd.choice(self.ALL))(proto)
                   for _ in range(rnd.choice([0, 1, 1, 2, 2, 3, 4]))]
        if rnd.random() < .04:
            actions.insert(rnd.randrange(len(actions) + 1), 'exit')
        if rnd.random() < .06 and self.rule_set.meters:
            actions.insert(0, 'meter:%d' % rnd.choice([1, 2]))
        return ','.join(actions + self.instructions(proto)) or 'drop'

    def flow(self):
        self.n = self.rnd.randrange(len(self.rule_set.tables))
        match, proto = self.match()
        self.tracked = 'ct_state' in proto
        proto = proto if proto.startswith('icmp6,') else proto.split(',')[0]
        return 'table=%d,priority=%d%s actions=%s' % (
            self.rule_set.tables[self.n],
            self.rule_set.priority(self.n, 2000, 3000),
            ',' + match if match else '', self.actions(proto))

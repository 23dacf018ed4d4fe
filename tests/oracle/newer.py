# SPDX-License-Identifier: Apache-2.0
"""Tables that newer versions of Antrea have beyond those of v1.15, as flows by a
controller.

For each feature there are flows that have what its tables match on and do, and
packets of each kind that they are for.  Stock is asked for the same; beyond that it
is said here where each kind comes out, and whether it is compiled or goes stock's
way, and why; docs/newer-tables.md says the same.  A kind is sent three times: for
the first packet tables are walked, others may find what was remembered."""

import os
import re

import tunnels
from packets import ACK, FIN, IPV4, SYN, TCP, UDP, ICMP6, Packet, arp
from packets import checksum, ip_bytes, parse

TABLES = '''PipelineRootClassifier ARPSpoofGuard ARPResponder Classifier SpoofGuard
IPv6 PipelineIPClassifier UnSNAT ConntrackZone ConntrackState PreRoutingClassifier
NodePortMark SessionAffinity ServiceLB DSRServiceMark EndpointDNAT DNAT
EgressSecurityClassifier AntreaPolicyEgressRule EgressRule EgressDefaultRule
EgressMetric L3Forwarding EgressMark EgressQoS L3DecTTL SNATMark SNAT
L2ForwardingCalc TrafficControl IngressSecurityClassifier AntreaPolicyIngressRule
IngressRule IngressDefaultRule IngressMetric ConntrackCommit VLAN Output NonIP
MulticastEgressRule MulticastEgressMetric MulticastEgressPodMetric MulticastRouting
MulticastIngressRule MulticastIngressMetric MulticastIngressPodMetric
MulticastOutput'''.split()
DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                        os.pardir, 'docs', 'newer-tables.md')
NUMBER = {name: i for i, name in enumerate(TABLES)}
NEW = {'IPv6', 'PipelineIPClassifier', 'DSRServiceMark', 'DNAT',
       'EgressSecurityClassifier', 'EgressQoS', 'VLAN', 'NonIP'} | {
           name for name in TABLES if name.startswith('Multicast')}

TUN, GW, UPLINK, HOST, POD1, POD2 = 32768, 32769, 32770, 32771, 40, 41
PORTS = {tunnels.PORT: TUN, 'gw': GW, 'uplink': UPLINK, 'host': HOST,
         'pod1': POD1, 'pod2': POD2}
GW_MAC, VIRTUAL = '02:00:00:00:01:01', 'aa:bb:cc:dd:ee:ff'
MULTICLUSTER = 'aa:bb:cc:dd:ee:f0'
HOST_MAC, ROUTER_MAC = '02:00:00:00:01:02', '02:00:00:00:01:fe'
MACS = {'pod1': '02:00:00:00:01:28', 'pod2': '02:00:00:00:01:29', 'gw': GW_MAC,
        'host': HOST_MAC, 'uplink': ROUTER_MAC}
IPS = {'pod1': '10.10.0.40', 'pod2': '10.10.0.41', 'gw': '10.10.0.1'}
IP6S = {'pod1': 'fd10::40', 'pod2': 'fd10::41'}
PEER = tunnels.PEERS[0]
UNDERLAY = tunnels.UNDERLAY
AGENT = 32776

METERS = ['meter=%d,%s,burst,stats,band=type=drop,rate=1000000,burst_size=2000000'
          % (number, unit) for number, unit in (
              (7, 'kbps'), (256, 'pktps'), (257, 'pktps'))]
OUTPUT = 'set_field:0x200000/0x600000->reg0'
COMPILED, NORMAL = 'compiled', 'normal'


def misses(*names):
    """Each table leads to the next one."""
    return ['table=%s,priority=0,actions=goto_table:%s' % pair
            for pair in zip(names, names[1:])]


def to_agent(kind, max_len=128, meter=None):
    return '%scontroller(reason=no_match,id=%d,userdata=%s,max_len=%d)' % (
        'meter:%d,' % meter if meter else '', AGENT, kind, max_len)


def to_tunnel(ip=PEER, dl_dst=VIRTUAL):
    return ('set_field:%s->eth_src,set_field:%s->eth_dst,set_field:%s->tun_dst,'
            'set_field:0x10/0xf0->reg0' % (GW_MAC, dl_dst, ip))


# What most features share.
COMMON = misses('ConntrackZone', 'ConntrackState', 'PreRoutingClassifier') + misses(
    'PipelineIPClassifier', 'UnSNAT', 'ConntrackZone') + misses(
    'PreRoutingClassifier', 'SessionAffinity', 'ServiceLB', 'EndpointDNAT', 'AntreaPolicyEgressRule', 'EgressRule',
    'EgressDefaultRule', 'EgressMetric', 'L3Forwarding', 'EgressMark') + misses(
    'L3DecTTL', 'SNATMark', 'SNAT', 'L2ForwardingCalc', 'TrafficControl',
    'IngressSecurityClassifier', 'AntreaPolicyIngressRule', 'IngressRule',
    'IngressDefaultRule', 'IngressMetric', 'ConntrackCommit') + '''
table=PipelineRootClassifier,priority=200,arp,actions=goto_table:ARPSpoofGuard
table=PipelineRootClassifier,priority=200,ip,actions=goto_table:Classifier
table=PipelineRootClassifier,priority=200,ipv6,actions=goto_table:Classifier
table=Classifier,priority=190,in_port=pod1,actions=set_field:0x3/0xf->reg0,goto_table:SpoofGuard
table=Classifier,priority=190,in_port=pod2,actions=set_field:0x3/0xf->reg0,goto_table:SpoofGuard
table=Classifier,priority=200,in_port=gw,actions=set_field:0x2/0xf->reg0,goto_table:SpoofGuard
table=Classifier,priority=200,in_port=gnv0,actions=set_field:0x1/0xf->reg0,set_field:0x200/0x200->reg0,goto_table:UnSNAT
table=ConntrackZone,priority=200,ip,actions=ct(table=ConntrackState,zone=65520,nat)
table=ConntrackState,priority=210,ct_state=+inv+trk,ip,actions=drop
table=ConntrackState,priority=190,ct_state=-new+trk,ip,actions=goto_table:AntreaPolicyEgressRule
table=L3Forwarding,priority=200,ip,reg0=0/0x200,nw_dst=10.10.0.0/24,actions=goto_table:L2ForwardingCalc
table=L3DecTTL,priority=210,ip,reg0=0x2/0xf,actions=goto_table:SNATMark
table=L3DecTTL,priority=200,ip,actions=dec_ttl,goto_table:SNATMark
table=L2ForwardingCalc,priority=200,dl_dst=GWMAC,actions=set_field:0x8001->reg1,OUTPUT,goto_table:TrafficControl
table=L2ForwardingCalc,priority=200,dl_dst=aa:bb:cc:dd:ee:ff,actions=set_field:0x8000->reg1,OUTPUT,goto_table:TrafficControl
table=ConntrackCommit,priority=200,ct_state=+new+trk-snat,ct_mark=0/0x10,ip,actions=ct(commit,table=Output,zone=65520,exec(move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]))
table=ConntrackCommit,priority=0,actions=goto_table:Output
table=Output,priority=200,reg0=0x200000/0x600000,actions=output:NXM_NX_REG1[]
'''.replace('GWMAC', GW_MAC).split('\n') + [
    line for port in ('pod1', 'pod2') for line in (
        'table=SpoofGuard,priority=200,ip,in_port=%s,dl_src=%s,nw_src=%s,'
        'actions=goto_table:PipelineIPClassifier' % (port, MACS[port], IPS[port]),
        'table=L3Forwarding,priority=200,ip,reg0=0x200/0x200,nw_dst=%s,actions='
        'set_field:%s->eth_src,set_field:%s->eth_dst,goto_table:L3DecTTL' % (
            IPS[port], GW_MAC, MACS[port]),
        'table=L2ForwardingCalc,priority=200,dl_dst=%s,actions='
        'set_field:%d->reg1,OUTPUT,goto_table:TrafficControl' % (
            MACS[port], PORTS[port]))] + [
    'table=SpoofGuard,priority=200,ip,in_port=gw,'
    'actions=goto_table:PipelineIPClassifier']
COMMON = [line for line in COMMON if line]


# Packets.

def packet(port, dst=None, to=None, **fields):
    fields.setdefault('sport', 1000)
    fields.setdefault('dport', 80)
    return Packet(eth_src=fields.pop('eth_src', MACS.get(port, VIRTUAL)),
                  eth_dst=to or GW_MAC, src=fields.pop('src', IPS.get(port)),
                  dst=dst, **fields)


def igmp(kind, group):
    """A message of version 1 or 2; its ports are its first bytes."""
    body = bytes([kind, 0, 0, 0]) + ip_bytes(group)
    total = checksum(body)
    return {'proto': 2, 'ttl': 1,
            'raw': body[:2] + total.to_bytes(2, 'big') + body[4:]}


def from_tunnel(inner, vni=0):
    """What another Node sends."""
    return Packet(eth_src=tunnels.PEER_MAC, eth_dst=tunnels.OUR_MAC, src=PEER,
                  dst=tunnels.OUR_IP, sport=50000, dport=6081,
                  data=bytes([0, 0, 0x65, 0x58, 0, 0, vni, 0]) + inner.frame())


class Kind:
    """What is sent, where it is to come out, and how it is to get there.
    'changes' are steps in front of it."""

    def __init__(self, title, tables, port, what, *out, way=COMPILED, told=0,
                 times=3, changes=()):
        self.title, self.tables = title, tables.split()
        self.port, self.way, self.times = port, way, times
        self.out, self.told, self.changes = sorted(out), told, changes
        self.frame = what if isinstance(what, bytes) else what.frame()


class Feature:
    def __init__(self, name, flows, kinds, groups=(), common=COMMON):
        self.name, self.groups, self.kinds = name, groups, kinds
        self.flows = list(common) + [line for line in flows.split('\n') if line]


def load(pair, feature):
    pair.do(['ofctl', ['del-groups']])
    pair.do(['ofctl', ['del-flows']])
    pair.do(['appctl', ['dpctl/flush-conntrack']])
    pair.do(['ofctl', ['add-groups', '-'], '\n'.join(feature.groups)])
    pair.do(['ofctl', ['add-flows', '-'], '\n'.join(
        line.replace('OUTPUT', OUTPUT) for line in feature.flows)])


def ways(before, after):
    return ' '.join(sorted(
        name for name, n in after.items()
        if name not in ('ip', 'total') and n != before[name])) or COMPILED


def sends(pair, feature, kind):
    """Yields what isn't as said here."""
    for change in kind.changes:
        pair.do(change)
    for _ in range(kind.times):
        before = pair.ours.stats()['punts']
        sent = pair.do(['packets', kind.port, [kind.frame.hex()]])
        out = sorted(port for port, _ in sent)
        way = ways(before, pair.ours.stats()['punts'])
        if out != kind.out or way != kind.way:
            yield '%s, %s: out of %s, %s; should be %s, %s' % (
                feature.name, kind.title, out, way, kind.out, kind.way)
            break
    told = pair.n_told
    pair.do(['check', 'connections counters all'])
    if pair.n_told - told != kind.told * kind.times:
        yield '%s, %s: %d messages to the controller' % (
            feature.name, kind.title, pair.n_told - told)


def used_tables(pair):
    """Table 0 isn't named."""
    used = set()
    for line in pair.control('bridge/dump-flows', 'br0')[0][0].splitlines():
        found = re.match(r'(?:table_id=(\d+),)?.*n_packets=[1-9]', line)
        if found and found[1] != '254':
            used.add(TABLES[int(found[1] or 0)])
    return used


def run(pair):
    with open(DOCUMENT, encoding='utf-8') as document:
        text = document.read()
    wrong = ['%s has no row: %s' % (DOCUMENT, row) for row in documented()
             if row + '\n' not in text]
    args = []
    for name, number in NUMBER.items():
        args += ['--', '--id=@t%d' % number, 'create', 'Flow_Table',
                 'name=' + name, '--', 'set', 'bridge', 'br0',
                 'flow_tables:%d=@t%d' % (number, number)]
    pair.do(['vsctl', args[1:]])
    for meter in METERS:
        pair.do(['ofctl', ['add-meter', meter]])
    for sw in pair.both:
        sw.names = True
        sw.listen_as(AGENT)
    pair.do(['learns', True])
    used = set()
    for feature in FEATURES:
        load(pair, feature)
        for kind in feature.kinds:
            wrong += sends(pair, feature, kind)
        used |= used_tables(pair)
    wrong += ['no packet met ' + name for name in sorted(NEW - used)]
    if wrong:
        raise RuntimeError('\n'.join(wrong))


def documented():
    """The rows of DOCUMENT."""
    for feature in FEATURES:
        for kind in feature.kinds:
            yield '| %s | %s | %s | %s |' % (
                feature.name, kind.title, ', '.join(kind.tables),
                'compiled' if kind.way == COMPILED
                else 'stock\'s way: `%s`' % kind.way)


# Features.

V6 = Feature('IPv6', '''
table=SpoofGuard,priority=200,ipv6,in_port=pod1,dl_src=%(pod1)s,ipv6_src=fd10::40,actions=goto_table:IPv6
table=SpoofGuard,priority=200,ipv6,ipv6_src=fe80::/10,actions=goto_table:IPv6
table=IPv6,priority=200,icmp6,icmp_type=135,icmp_code=0,actions=NORMAL
table=IPv6,priority=200,icmp6,icmp_type=136,icmp_code=0,actions=NORMAL
table=IPv6,priority=200,ipv6,ipv6_dst=ff00::/8,actions=NORMAL
table=IPv6,priority=0,actions=goto_table:UnSNAT
table=UnSNAT,priority=0,actions=goto_table:ConntrackZone
table=ConntrackZone,priority=200,ipv6,actions=ct(table=ConntrackState,zone=65510,nat)
table=L3Forwarding,priority=200,ipv6,reg0=0/0x200,ipv6_dst=fd10::/64,actions=goto_table:L2ForwardingCalc
table=ConntrackCommit,priority=200,ct_state=+new+trk-snat,ct_mark=0/0x10,ipv6,actions=ct(commit,table=Output,zone=65510,exec(move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]))
''' % MACS, [
    Kind('from Pod to Pod', 'IPv6', 'pod1', packet(
        'pod1', IP6S['pod2'], MACS['pod2'], src=IP6S['pod1'], proto=TCP,
        flags=SYN), 'pod2'),
    Kind('who has an address', 'IPv6', 'pod1', packet(
        'pod1', 'ff02::1:ff00:41', '33:33:ff:00:00:41', src=IP6S['pod1'],
        proto=ICMP6, sport=135, dport=0, ttl=255, data=ip_bytes(IP6S['pod2'])),
         'gw', 'host', 'pod2', 'uplink', way=NORMAL),
    Kind('other multicast', 'IPv6', 'pod1', packet(
        'pod1', 'ff02::fb', '33:33:00:00:00:fb', src=IP6S['pod1']),
         'gw', 'host', 'pod2', 'uplink', way=NORMAL)])

GROUP, UNKNOWN, GROUP_MAC = '239.1.1.1', '239.9.9.9', '01:00:5e:01:01:01'
MULTICAST = Feature('multicast', '\n'.join(misses(
    'MulticastEgressRule', 'MulticastEgressMetric', 'MulticastEgressPodMetric',
    'MulticastRouting', 'MulticastIngressRule', 'MulticastIngressMetric',
    'MulticastIngressPodMetric', 'MulticastOutput')) + '''
table=PipelineIPClassifier,priority=210,ip,nw_dst=224.0.0.0/4,actions=resubmit(,MulticastEgressRule)
table=Classifier,priority=210,ip,in_port=gnv0,nw_dst=224.0.0.0/4,actions=set_field:0x1/0xf->reg0,goto_table:MulticastEgressRule
table=Classifier,priority=200,in_port=CONTROLLER,actions=goto_table:PipelineIPClassifier
table=MulticastEgressRule,priority=64990,ip,nw_proto=2,reg0=0x3/0xf,actions=goto_table:MulticastRouting
table=MulticastEgressRule,priority=14500,ip,nw_src=10.10.0.41,actions=conjunction(5,1/2)
table=MulticastEgressRule,priority=14500,ip,nw_dst=239.1.1.1,actions=conjunction(5,2/2)
table=MulticastEgressRule,priority=14500,conj_id=5,ip,actions=set_field:5->reg3,set_field:0x400/0x400->reg0,group:5
table=MulticastEgressMetric,priority=200,reg0=0x400/0x400,reg3=5,actions=drop
table=Output,priority=200,reg0=0x400000/0x600000,actions=%s
table=MulticastEgressPodMetric,priority=210,ip,nw_proto=2,actions=goto_table:MulticastRouting
table=MulticastEgressPodMetric,priority=200,ip,nw_src=10.10.0.40,actions=goto_table:MulticastRouting
table=MulticastRouting,priority=220,ip,nw_proto=2,in_port=CONTROLLER,actions=group:102
table=MulticastRouting,priority=210,ip,nw_proto=2,reg0=0x3/0xf,actions=%s
table=MulticastRouting,priority=210,ip,nw_proto=2,reg0=0x1/0xf,actions=%s
table=MulticastRouting,priority=200,ip,nw_dst=239.1.1.1,actions=group:101
table=MulticastRouting,priority=190,ip,actions=OUTPUT,set_field:0x8001->reg1,goto_table:MulticastOutput
table=MulticastIngressRule,priority=14500,ip,reg1=40,nw_src=192.0.2.9,actions=set_field:6->reg3,set_field:0x400/0x400->reg0,group:6
table=MulticastIngressMetric,priority=200,reg0=0x400/0x400,reg3=6,actions=drop
table=MulticastIngressPodMetric,priority=210,ip,nw_proto=2,actions=goto_table:MulticastOutput
table=MulticastIngressPodMetric,priority=200,ip,reg1=40,actions=goto_table:MulticastOutput
table=MulticastIngressPodMetric,priority=200,ip,reg1=41,actions=goto_table:MulticastOutput
table=MulticastOutput,priority=210,reg0=0x200001/0x60000f,reg1=0x8001,actions=drop
table=MulticastOutput,priority=210,reg0=0x200002/0x60000f,reg1=0x8000,actions=drop
table=MulticastOutput,priority=210,reg0=0x200001/0x60000f,reg1=0x8000,actions=drop
table=MulticastOutput,priority=200,reg0=0x200000/0x600000,actions=output:NXM_NX_REG1[]
''' % (to_agent('01.01', meter=256), to_agent('03'), to_agent('03')), [
    Kind('to Pods that joined and to other Nodes',
         'PipelineIPClassifier MulticastRouting MulticastIngressPodMetric '
         'MulticastOutput', 'pod1', packet('pod1', GROUP, GROUP_MAC),
         'pod2', UNDERLAY),
    Kind('to a group that nobody here joined', 'MulticastRouting', 'pod1',
         packet('pod1', UNKNOWN, GROUP_MAC), 'gw'),
    Kind('from outside', 'MulticastIngressRule MulticastOutput', 'gw',
         packet('gw', GROUP, GROUP_MAC, src='198.51.100.7'), 'pod1', 'pod2'),
    Kind('from another Node', 'MulticastEgressRule MulticastOutput', UNDERLAY,
         from_tunnel(packet('gnv0', GROUP, GROUP_MAC, src='10.10.1.5')),
         'pod1', 'pod2'),
    Kind('a rule that drops where it leaves, and tells',
         'MulticastEgressRule MulticastEgressMetric', 'pod2',
         packet('pod2', GROUP, GROUP_MAC), told=1),
    Kind('a rule that drops where it arrives, and tells',
         'MulticastIngressRule MulticastIngressMetric', 'gw',
         packet('gw', GROUP, GROUP_MAC, src='192.0.2.9'), 'pod2', told=1),
    Kind('a report of IGMP', 'MulticastRouting', 'pod1', packet(
        'pod1', GROUP, GROUP_MAC, **igmp(0x16, GROUP)), told=1),
    Kind('a report of another Node\'s', 'MulticastRouting', UNDERLAY,
         from_tunnel(packet('gnv0', GROUP, GROUP_MAC, src=PEER,
                            **igmp(0x16, GROUP))), told=1),
], groups=[
    'group_id=5,type=all,bucket=bucket_id:0,actions=resubmit(,'
    'MulticastEgressMetric),bucket=bucket_id:1,actions='
    'set_field:0x400000/0x600000->reg0,resubmit(,Output)',
    'group_id=6,type=all,bucket=bucket_id:0,actions=resubmit(,'
    'MulticastIngressMetric),bucket=bucket_id:1,actions='
    'set_field:0x400000/0x600000->reg0,resubmit(,Output)',
    'group_id=101,type=all,' + ','.join(
        'bucket=bucket_id:%d,actions=set_field:0x200000/0x600000->reg0,'
        'set_field:%d->reg1,resubmit(,MulticastIngressRule)' % pair
        for pair in ((0, POD1), (1, POD2))) +
    ',bucket=bucket_id:2,actions=set_field:0x200000/0x600000->reg0,'
    'set_field:0x8000->reg1,set_field:%s->tun_dst,resubmit(,MulticastOutput)'
    % PEER,
    'group_id=102,type=all,bucket=bucket_id:0,actions='
    'set_field:0x200000/0x600000->reg0,set_field:0x8000->reg1,'
    'set_field:%s->tun_dst,resubmit(,MulticastOutput)' % PEER])

EGRESS_IP = tunnels.OUR_IP
QOS = Feature('Egress with a bandwidth', '''
table=UnSNAT,priority=0,actions=goto_table:ConntrackZone
table=L3Forwarding,priority=190,ct_state=-rpl+trk,ip,reg0=0x3/0xf,reg4=0/0x100000,actions=goto_table:EgressMark
table=L3Forwarding,priority=190,ct_state=-rpl+trk,ip,reg0=0x1/0xf,actions=set_field:%s->eth_dst,goto_table:EgressMark
table=EgressMark,priority=200,ct_state=+trk,ip,in_port=pod1,actions=set_field:0x7/0xff->pkt_mark,set_field:0x20/0xf0->reg0,goto_table:EgressQoS
table=EgressMark,priority=200,ct_state=+trk,ip,tun_dst=%s,actions=set_field:0x7/0xff->pkt_mark,set_field:0x20/0xf0->reg0,goto_table:EgressQoS
table=EgressMark,priority=200,ip,in_port=pod2,actions=%s,set_field:0x80000/0x80000->reg0,goto_table:L2ForwardingCalc
table=EgressMark,priority=190,ct_state=+new+trk,ip,reg0=0x1/0xf,actions=drop
table=EgressQoS,priority=200,pkt_mark=0x7/0xff,actions=meter:7,goto_table:L2ForwardingCalc
table=EgressQoS,priority=190,actions=goto_table:L2ForwardingCalc
''' % (GW_MAC, EGRESS_IP, to_tunnel()), [
    Kind('by this Node', 'EgressMark EgressQoS', 'pod1',
         packet('pod1', '198.51.100.1'), 'gw'),
    Kind('by another Node', 'EgressMark', 'pod2',
         packet('pod2', '198.51.100.1'), UNDERLAY),
    Kind('for another Node', 'EgressMark EgressQoS', UNDERLAY, from_tunnel(
        packet('gnv0', '198.51.100.2', VIRTUAL, src='10.10.1.5')), 'gw')])

VIP = '203.0.113.5'
LEARN = ('learn(table=SessionAffinity,idle_timeout=160,fin_idle_timeout=5,'
         'priority=210,delete_learned,cookie=0x1030000000009,eth_type=0x800,'
         'nw_proto=6,NXM_OF_TCP_SRC[],NXM_OF_TCP_DST[],NXM_OF_IP_SRC[],'
         'NXM_OF_IP_DST[],load:NXM_NX_REG4[0..15]->NXM_NX_REG4[0..15],'
         'load:2->NXM_NX_REG4[16..18],load:1->NXM_NX_REG4[25],'
         'load:NXM_NX_REG3[]->NXM_NX_REG3[])')
UNTRACKED = '203.0.113.6'


def client(dst, flags, seq=0):
    return packet('gw', dst, src='198.51.100.9', proto=TCP, flags=flags, seq=seq)


DSR = Feature('direct server return', '''
table=UnSNAT,priority=0,actions=goto_table:ConntrackZone
table=ConntrackState,priority=215,ct_state=+inv+trk,reg4=0x8000000/0x8000000,actions=goto_table:PreRoutingClassifier
table=Classifier,priority=205,in_port=gw,actions=set_field:0x2/0xf->reg0,set_field:0x8000000/0x8000000->reg4,goto_table:SpoofGuard
table=PreRoutingClassifier,priority=200,ip,actions=resubmit(,NodePortMark),resubmit(,SessionAffinity),resubmit(,ServiceLB)
table=SessionAffinity,priority=0,actions=set_field:0x10000/0x70000->reg4
table=ServiceLB,priority=210,tcp,reg4=0x10000/0x70000,reg0=0x1/0xf,nw_dst=203.0.113.5,tp_dst=80,actions=set_field:0x200/0x200->reg0,set_field:0x20000/0x70000->reg4,group:10
table=ServiceLB,priority=200,tcp,reg4=0x10000/0x70000,nw_dst=203.0.113.5,tp_dst=80,actions=set_field:0x200/0x200->reg0,set_field:0x20000/0x70000->reg4,group:9
table=ServiceLB,priority=205,tcp,reg4=0x10000/0x70000,nw_dst=203.0.113.6,tp_dst=80,actions=set_field:0x200/0x200->reg0,set_field:0x20000/0x70000->reg4,group:9
table=ServiceLB,priority=10,actions=goto_table:DSRServiceMark
table=DSRServiceMark,priority=210,tcp,reg4=0xc000000/0xe000000,nw_dst=203.0.113.6,tp_dst=80,actions=%s,set_field:0x2000000/0x2000000->reg4,goto_table:EndpointDNAT
table=EndpointDNAT,priority=220,ip,reg4=0x2000000/0x2000000,nw_dst=203.0.113.6,actions=goto_table:AntreaPolicyEgressRule
table=ConntrackCommit,priority=210,ip,reg4=0x2000000/0x2000000,nw_dst=203.0.113.6,actions=goto_table:Output
table=DSRServiceMark,priority=200,tcp,reg4=0xc000000/0xe000000,nw_dst=203.0.113.5,tp_dst=80,actions=%s,set_field:0x2000000/0x2000000->reg4,goto_table:EndpointDNAT
table=DSRServiceMark,priority=190,ct_state=+inv+trk,reg4=0/0x2000000,actions=drop
table=DSRServiceMark,priority=0,actions=goto_table:EndpointDNAT
table=EndpointDNAT,priority=210,ip,reg4=0x2000000/0x2000000,actions=ct(commit,table=AntreaPolicyEgressRule,zone=65520,exec(move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]))
table=EndpointDNAT,priority=200,tcp,reg3=0x0a0a0028,reg4=0x20050/0x7ffff,actions=ct(commit,table=AntreaPolicyEgressRule,zone=65520,nat(dst=10.10.0.40:80),exec(set_field:0x10/0x10->ct_mark,move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]))
table=L3Forwarding,priority=200,ip,reg3=0x0a0a0100/0xffffff00,reg4=0x2000000/0x2000000,actions=%s,goto_table:L3DecTTL
table=L3Forwarding,priority=190,ct_mark=0x10/0x10,ip,reg0=0x3/0xf,actions=set_field:%s->eth_dst,set_field:0x20/0xf0->reg0,goto_table:L3DecTTL
''' % (LEARN, LEARN, to_tunnel(), GW_MAC), [
    Kind('a connection begins', 'DSRServiceMark', 'gw', client(VIP, SYN),
         UNDERLAY),
    Kind('conntrack has it established then, and it is lost, as in stock',
         'ConntrackState', 'gw', client(VIP, ACK, 1)),
    Kind('one that isn\'t committed begins', 'DSRServiceMark', 'gw',
         client(UNTRACKED, SYN), UNDERLAY),
    Kind('goes on, by the flow that was learned', 'SessionAffinity', 'gw',
         client(UNTRACKED, ACK, 1), UNDERLAY),
    Kind('ends, which shortens that flow\'s timeout', 'SessionAffinity', 'gw',
         client(UNTRACKED, FIN | ACK, 1), UNDERLAY),
    Kind('and after that learns another', 'DSRServiceMark', 'gw',
         client(UNTRACKED, ACK, 2), UNDERLAY,
         changes=[['warp', 3000], ['check', 'counters'], ['warp', 3000],
                  ['expire'], ['check', 'counters']]),
    Kind('at the endpoint\'s Node', 'ServiceLB', UNDERLAY, from_tunnel(packet(
        'gnv0', VIP, VIRTUAL, src='198.51.100.8', proto=TCP, flags=SYN)),
         'pod1', changes=[['appctl', ['dpctl/flush-conntrack']]]),
    Kind('which answers the client', 'UnSNAT', 'pod1', packet(
        'pod1', '198.51.100.8', proto=TCP, flags=SYN | ACK, ack=1, sport=80,
        dport=1000), 'gw'),
], groups=[
    'group_id=9,type=select,bucket=bucket_id:0,weight:100,actions='
    'set_field:0x4000000/0x4000000->reg4,set_field:0x0a0a0105->reg3,'
    'set_field:0x50/0xffff->reg4,resubmit(,DSRServiceMark)',
    'group_id=10,type=select,bucket=bucket_id:0,weight:100,actions='
    'set_field:0x0a0a0028->reg3,set_field:0x50/0xffff->reg4,'
    'resubmit(,DSRServiceMark)'])

IPAM = Feature('FlexibleIPAM', '''
table=ARPSpoofGuard,priority=210,arp,in_port=uplink,actions=NORMAL
table=ARPSpoofGuard,priority=210,arp,in_port=host,actions=NORMAL
table=ARPSpoofGuard,priority=200,arp,in_port=pod1,arp_spa=192.168.77.40,arp_sha=%(pod1)s,actions=goto_table:ARPResponder
table=ARPResponder,priority=200,arp,arp_tpa=10.10.1.1,arp_op=1,actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:aa:bb:cc:dd:ee:ff->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],set_field:aa:bb:cc:dd:ee:ff->arp_sha,move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:10.10.1.1->arp_spa,IN_PORT
table=Classifier,priority=210,ip,in_port=uplink,vlan_tci=0/0x1000,dl_dst=%(pod1)s,actions=set_field:0x1000/0xf000->reg8,set_field:0x4/0xf->reg0,set_field:0/0xfff->reg8,goto_table:UnSNAT
table=Classifier,priority=210,ip,in_port=uplink,dl_vlan=7,dl_dst=%(pod2)s,actions=set_field:0x1000/0xf000->reg8,set_field:0x4/0xf->reg0,set_field:0x7/0xfff->reg8,goto_table:UnSNAT
table=Classifier,priority=210,ip,in_port=host,vlan_tci=0/0x1000,dl_dst=%(pod1)s,actions=set_field:0x1000/0xf000->reg8,set_field:0x5/0xf->reg0,goto_table:UnSNAT
table=Classifier,priority=200,in_port=uplink,actions=output:host
table=Classifier,priority=200,in_port=host,actions=output:uplink
table=Classifier,priority=195,in_port=pod1,actions=set_field:0x3/0xf->reg0,set_field:0x100000/0x100000->reg4,set_field:0x200/0x200->reg0,goto_table:SpoofGuard
table=Classifier,priority=195,in_port=pod2,actions=set_field:0x3/0xf->reg0,set_field:0x100000/0x100000->reg4,set_field:0x200/0x200->reg0,goto_table:SpoofGuard
table=SpoofGuard,priority=210,ip,in_port=pod1,dl_src=%(pod1)s,nw_src=192.168.77.40,actions=set_field:0x1000/0xf000->reg8,set_field:0/0xfff->reg8,goto_table:UnSNAT
table=SpoofGuard,priority=210,ip,in_port=pod2,dl_src=%(pod2)s,nw_src=192.168.79.41,actions=set_field:0x1000/0xf000->reg8,set_field:0x7/0xfff->reg8,goto_table:UnSNAT
table=UnSNAT,priority=0,actions=goto_table:ConntrackZone
table=ConntrackZone,priority=210,ip,actions=ct(table=ConntrackState,zone=NXM_NX_REG8[0..15],nat)
table=L3Forwarding,priority=210,ip,reg4=0x100000/0x100000,reg8=0/0xfff,nw_dst=192.168.77.100,actions=set_field:%(host)s->eth_dst,goto_table:L2ForwardingCalc
table=L3Forwarding,priority=200,ip,reg8=0/0xfff,nw_dst=192.168.77.40,actions=set_field:%(pod1)s->eth_dst,goto_table:L3DecTTL
table=L3Forwarding,priority=200,ip,reg8=0x7/0xfff,nw_dst=192.168.79.41,actions=set_field:%(pod2)s->eth_dst,goto_table:L3DecTTL
table=L3Forwarding,priority=0,actions=goto_table:L2ForwardingCalc
table=L2ForwardingCalc,priority=200,dl_dst=%(host)s,actions=set_field:0x8003->reg1,OUTPUT,goto_table:ConntrackCommit
table=L2ForwardingCalc,priority=190,reg4=0x100000/0x100000,actions=set_field:0x8002->reg1,OUTPUT,goto_table:ConntrackCommit
table=ConntrackCommit,priority=210,ct_state=+new+trk-snat,ct_mark=0/0x10,ip,actions=ct(commit,table=VLAN,zone=NXM_NX_REG8[0..15],exec(move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]))
table=ConntrackCommit,priority=0,actions=goto_table:VLAN
table=VLAN,priority=190,in_port=uplink,vlan_tci=0x1000/0x1000,actions=pop_vlan,goto_table:Output
table=VLAN,priority=190,in_port=pod2,reg1=0x8002,actions=push_vlan:0x8100,set_field:4103->vlan_vid,goto_table:Output
table=VLAN,priority=0,actions=goto_table:Output
''' % MACS, [
    Kind('a Pod without a VLAN, out', 'L2ForwardingCalc VLAN', 'pod1', packet(
        'pod1', '198.51.100.1', ROUTER_MAC, src='192.168.77.40'), 'uplink'),
    Kind('back', 'Classifier', 'uplink', packet(
        'uplink', '192.168.77.40', MACS['pod1'], src='198.51.100.1', sport=80,
        dport=1000), 'pod1'),
    Kind('a Pod with a VLAN, out', 'VLAN', 'pod2', packet(
        'pod2', '198.51.100.1', ROUTER_MAC, src='192.168.79.41'), 'uplink'),
    Kind('back, tagged', 'Classifier VLAN', 'uplink', packet(
        'uplink', '192.168.79.41', MACS['pod2'], src='198.51.100.1', sport=80,
        dport=1000, vlans=[7]), 'pod2'),
    Kind('a Pod to its Node', 'L3Forwarding', 'pod1', packet(
        'pod1', '192.168.77.100', ROUTER_MAC, src='192.168.77.40'), 'host'),
    Kind('the Node to a Pod', 'Classifier', 'host', packet(
        'host', '192.168.77.40', MACS['pod1'], src='192.168.77.100'), 'pod1'),
    Kind('the Node, out', 'Classifier', 'host', packet(
        'host', '198.51.100.1', ROUTER_MAC, src='192.168.77.100'), 'uplink'),
    Kind('to the Node', 'Classifier', 'uplink', packet(
        'uplink', '192.168.77.100', HOST_MAC, src='198.51.100.1'), 'host'),
    Kind('ARP of the Node', 'ARPSpoofGuard', 'host', arp(
        1, HOST_MAC, '192.168.77.100', '00:00:00:00:00:00', '192.168.77.1'),
         'gw', 'pod1', 'pod2', 'uplink', way=NORMAL),
    Kind('ARP for another Node\'s gateway', 'ARPResponder', 'pod1', arp(
        1, MACS['pod1'], '192.168.77.40', '00:00:00:00:00:00', '10.10.1.1'),
         'pod1')])

# All of the tables that an ExternalNode has.
EXTERNAL = Feature('ExternalNode', '''
table=PipelineRootClassifier,priority=200,ip,actions=goto_table:ConntrackZone
table=PipelineRootClassifier,priority=190,actions=goto_table:NonIP
table=NonIP,priority=200,in_port=host,actions=output:uplink
table=NonIP,priority=200,in_port=uplink,actions=output:host
table=ConntrackZone,priority=200,ip,actions=ct(table=ConntrackState,zone=65520)
table=ConntrackState,priority=210,ct_state=+inv+trk,ip,actions=drop
table=EgressSecurityClassifier,priority=200,ct_state=+new+trk,tcp,nw_dst=10.10.10.0/30,tp_dst=30000,actions=goto_table:EgressMetric
table=AntreaPolicyEgressRule,priority=64990,ct_state=-new+est,ip,actions=goto_table:EgressMetric
table=AntreaPolicyEgressRule,priority=14500,ip,in_port=host,actions=conjunction(8,1/2)
table=AntreaPolicyEgressRule,priority=14500,ip,nw_dst=10.10.10.0/24,actions=conjunction(8,2/2)
table=AntreaPolicyEgressRule,priority=14500,conj_id=8,ip,actions=set_field:8->reg3,set_field:0x400/0x400->reg0,goto_table:EgressMetric
table=EgressMetric,priority=200,reg0=0x400/0x400,reg3=8,actions=drop
table=L2ForwardingCalc,priority=200,ip,in_port=host,actions=OUTPUT,set_field:0x8002->reg1,goto_table:IngressSecurityClassifier
table=L2ForwardingCalc,priority=200,ip,in_port=uplink,actions=OUTPUT,set_field:0x8003->reg1,goto_table:IngressSecurityClassifier
table=IngressSecurityClassifier,priority=200,ct_state=+new+trk,tcp,nw_src=10.10.10.0/30,tp_dst=30000,actions=goto_table:IngressMetric
table=ConntrackCommit,priority=200,ct_state=+new+trk,ip,actions=ct(commit,table=Output,zone=65520)
table=Output,priority=200,reg0=0x200000/0x600000,actions=output:NXM_NX_REG1[]
''', [
    Kind('what isn\'t IP', 'NonIP', 'host', arp(
        1, HOST_MAC, '192.168.77.100', '00:00:00:00:00:00', '192.168.77.1'),
         'uplink'),
    Kind('what a rule denies', 'AntreaPolicyEgressRule', 'host', packet(
        'host', '10.10.10.1', ROUTER_MAC, src='192.168.77.100', proto=TCP,
        flags=SYN)),
    Kind('unless it passes policies by', 'EgressSecurityClassifier', 'host',
         packet('host', '10.10.10.1', ROUTER_MAC, src='192.168.77.100',
                proto=TCP, flags=SYN, dport=30000), 'uplink'),
    Kind('other connections', 'L2ForwardingCalc', 'uplink', packet(
        'uplink', '192.168.77.100', HOST_MAC, src='198.51.100.1'), 'host'),
], common=misses('ConntrackZone', 'ConntrackState', 'EgressSecurityClassifier',
                 'AntreaPolicyEgressRule', 'EgressRule', 'EgressDefaultRule',
                 'EgressMetric', 'L3Forwarding', 'EgressMark',
                 'L2ForwardingCalc', 'IngressSecurityClassifier',
                 'AntreaPolicyIngressRule', 'IngressRule', 'IngressDefaultRule',
                 'IngressMetric', 'ConntrackCommit', 'Output'))

CLUSTER = Feature('Multicluster', '''
table=Classifier,priority=210,in_port=gnv0,dl_dst=%(mac)s,actions=set_field:0x1/0xf->reg0,set_field:0x200/0x200->reg0,goto_table:UnSNAT
table=UnSNAT,priority=200,ip,nw_dst=192.168.77.100,actions=ct(table=ConntrackZone,zone=65521,nat)
table=UnSNAT,priority=0,actions=goto_table:ConntrackZone
table=AntreaPolicyIngressRule,priority=14500,reg1=40,actions=conjunction(9,1/2)
table=AntreaPolicyIngressRule,priority=14500,tun_id=77,actions=conjunction(9,2/2)
table=AntreaPolicyIngressRule,priority=14500,conj_id=9,ip,actions=set_field:9->reg3,set_field:0x400/0x400->reg0,goto_table:IngressMetric
table=IngressMetric,priority=200,reg0=0x400/0x400,reg3=9,actions=drop
table=L3Forwarding,priority=205,ip,in_port=pod2,nw_dst=10.97.0.0/16,actions=set_field:5->tun_id,%(to)s,goto_table:L3DecTTL
table=L3Forwarding,priority=200,ip,nw_dst=10.97.0.0/16,actions=%(to)s,goto_table:L3DecTTL
table=SNATMark,priority=210,ct_state=+new+trk,ip,nw_dst=10.97.0.0/16,actions=ct(commit,table=SNAT,zone=65520,exec(set_field:0x20/0x20->ct_mark))
table=SNAT,priority=200,ct_state=+new+trk,ip,nw_dst=10.97.0.0/16,actions=ct(commit,table=L2ForwardingCalc,zone=65521,nat(src=192.168.77.100))
table=L2ForwardingCalc,priority=200,dl_dst=%(mac)s,actions=set_field:0x8000->reg1,OUTPUT,goto_table:IngressSecurityClassifier
table=ConntrackCommit,priority=220,ct_state=+snat,ip,actions=goto_table:Output
table=Output,priority=210,reg1=0x8000,in_port=gnv0,actions=IN_PORT
''' % {'mac': MULTICLUSTER, 'to': to_tunnel(PEER, MULTICLUSTER)}, [
    Kind('a Pod to a Service of another cluster', 'L3Forwarding SNAT', 'pod1',
         packet('pod1', '10.97.0.5'), UNDERLAY),
    Kind('with the identity of its labels', 'L3Forwarding', 'pod2',
         packet('pod2', '10.97.0.5'), UNDERLAY),
    Kind('from another cluster to a Pod', 'Classifier', UNDERLAY, from_tunnel(
        packet('gnv0', IPS['pod2'], MULTICLUSTER, src='192.168.78.101')),
         'pod2'),
    Kind('which a rule about labels denies', 'AntreaPolicyIngressRule', UNDERLAY,
         from_tunnel(packet('gnv0', IPS['pod1'], MULTICLUSTER,
                            src='192.168.78.101'), vni=77)),
    Kind('through the gateway of the cluster, back into the tunnel', 'Output',
         UNDERLAY, from_tunnel(packet(
             'gnv0', '10.97.0.6', MULTICLUSTER, src='10.10.1.5')),
         UNDERLAY, way='tunnel')])

TRACE = Feature('Traceflow', '''
table=UnSNAT,priority=0,actions=goto_table:ConntrackZone
table=ConntrackState,priority=192,ct_state=+rpl+trk,ip,nw_tos=28,actions=drop
table=ConntrackState,priority=191,ip,nw_tos=28,actions=goto_table:PreRoutingClassifier
table=ConntrackState,priority=193,ct_state=+new+trk,tcp,in_port=pod2,nw_dst=10.10.0.40,tp_dst=81,hard_timeout=300,actions=set_field:36->nw_tos,goto_table:PreRoutingClassifier
table=EgressMetric,priority=202,ip,nw_tos=28,nw_dst=10.10.0.99,actions=%(tell)s
table=L3Forwarding,priority=200,ip,nw_dst=10.10.1.0/24,actions=%(to)s,goto_table:L3DecTTL
table=Output,priority=203,ip,reg0=0x200000/0x600000,reg1=0x8000,nw_tos=28,actions=%(tell)s,output:NXM_NX_REG1[]
table=Output,priority=202,ip,reg0=0x200000/0x600000,nw_tos=28,actions=%(tell)s
table=Output,priority=202,ip,reg0=0x200000/0x600000,nw_tos=36,actions=%(tell)s,set_field:0->ip_dscp,output:NXM_NX_REG1[]
''' % {'tell': to_agent('00', meter=257, max_len=65535), 'to': to_tunnel()}, [
    Kind('to a Pod: told, and not sent', 'Output', 'pod1', packet(
        'pod1', IPS['pod2'], MACS['pod2'], tos=28), told=1),
    Kind('to another Node: sent, and told', 'Output', 'pod1', packet(
        'pod1', '10.10.1.5', tos=28), UNDERLAY, told=1),
    Kind('denied: told', 'EgressMetric', 'pod1', packet(
        'pod1', '10.10.0.99', tos=28), told=1),
    Kind('live traffic: marked, told, and sent unmarked', 'ConntrackState Output',
         'pod2', packet('pod2', IPS['pod1'], MACS['pod1'], proto=TCP, flags=SYN,
                        dport=81), 'pod1', told=1)])

NO_PROXY = Feature('without AntreaProxy', '''
table=UnSNAT,priority=0,actions=goto_table:ConntrackZone
table=ConntrackState,priority=180,actions=goto_table:DNAT
table=DNAT,priority=200,ip,nw_dst=10.96.0.0/16,actions=set_field:0x8001->reg1,OUTPUT,goto_table:ConntrackCommit
table=DNAT,priority=0,actions=goto_table:AntreaPolicyEgressRule
''', [
    Kind('a Pod to a Service', 'DNAT', 'pod1', packet('pod1', '10.96.0.10'),
         'gw')])

FEATURES = [V6, MULTICAST, QOS, DSR, IPAM, EXTERNAL, CLUSTER, TRACE, NO_PROXY]

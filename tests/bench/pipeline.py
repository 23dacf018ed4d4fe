# SPDX-License-Identifier: Apache-2.0
"""The v1.15 pipeline of a made-up node, as OpenFlow 1.5 flows and groups.

Encapsulating mode, with proxyAll, TrafficControl and L7NetworkPolicy.  Here
are the tables that don't depend on Services and policies."""

import ipv6
from cluster import (GATEWAY_IP, GATEWAY_MAC, GATEWAY_PORT, L7_IN_PORT,
                     L7_OUT_PORT, NODE_IP, SERVICE_NET,
                     TRAFFIC_CONTROL_PORTS, TRAFFIC_CONTROL_RETURN_PORT,
                     TUNNEL_PORT, VIRTUAL_MAC)

TABLES = [
    'PipelineRootClassifier', 'ARPSpoofGuard', 'ARPResponder', 'Classifier',
    'SpoofGuard', 'UnSNAT', 'ConntrackZone', 'ConntrackState',
    'PreRoutingClassifier', 'NodePortMark', 'SessionAffinity', 'ServiceLB',
    'EndpointDNAT', 'AntreaPolicyEgressRule', 'EgressRule',
    'EgressDefaultRule', 'EgressMetric', 'L3Forwarding', 'EgressMark',
    'L3DecTTL', 'SNATMark', 'SNAT', 'L2ForwardingCalc', 'TrafficControl',
    'IngressSecurityClassifier', 'AntreaPolicyIngressRule', 'IngressRule',
    'IngressDefaultRule', 'IngressMetric', 'ConntrackCommit', 'Output',
]
NUMBERS = {name: number for number, name in enumerate(TABLES)}

ZONE, SNAT_ZONE = 65520, 65521
VIRTUAL_NODEPORT_IP = '169.254.0.252'
VIRTUAL_SNAT_IP = '169.254.0.253'
EGRESS_IP = '192.168.77.112'
CONTROLLER_ID = 62373
METER = 1                       # Of what is_metered.
MAX_BUCKETS = 400               # More don't fit into an OpenFlow message.


def goto(name):
    return 'goto_table:%d' % NUMBERS[name]


def resubmit(*names):
    return ','.join('resubmit(,%d)' % NUMBERS[name] for name in names)


def load(value, field):
    return 'set_field:%s->%s' % (value, field)


def ct(name, *args, zone=ZONE):
    """ct() that goes on in another table."""
    return 'ct(%s)' % ','.join(
        [a for a in args if a == 'commit']
        + ['table=%d' % NUMBERS[name], 'zone=%d' % zone]
        + [a for a in args if a != 'commit'])


class Flows:
    """Flows and groups as text, as ovs-ofctl reads them; added for IPv4,
    and made IPv6's if there is that in its place."""

    def __init__(self, is_ipv6=False):
        self.is_ipv6 = is_ipv6
        self.flows, self.groups = [], []
        self.more_buckets = []          # As for "ovs-ofctl insert-buckets".

    def add(self, table, priority, match, *actions):
        if self.is_ipv6 and not match.startswith('arp'):
            endpoint = table == 'EndpointDNAT'
            match = ipv6.match(match, endpoint)
            actions = [ipv6.actions(action) for action in actions]
        self.flows.append('table=%d,priority=%d%s,actions=%s' % (
            NUMBERS[table], priority, match and ',' + match,
            ','.join(actions)))

    def miss(self, table, *actions):
        self.add(table, 0, '', *actions)

    def add_group(self, buckets):
        """Returns the new group's number."""
        group = 10 + len(self.groups)
        if self.is_ipv6:
            buckets = [ipv6.actions(bucket, True) for bucket in buckets]
        texts = ['bucket=bucket_id:%d,weight:100,actions=%s' % bucket
                 for bucket in enumerate(buckets)]
        self.groups.append('group_id=%d,type=select,%s' % (
            group, ','.join(texts[:MAX_BUCKETS])))
        for i in range(MAX_BUCKETS, len(texts), MAX_BUCKETS):
            self.more_buckets.append(
                'group_id=%d,command_bucket_id=last,%s' % (
                    group, ','.join(texts[i:i + MAX_BUCKETS])))
        return group

    def tables(self):
        return {int(flow.split(',', 1)[0].partition('=')[2])
                for flow in self.flows}


def add_classification(flows, cluster):
    flows.add('PipelineRootClassifier', 200, 'arp', goto('ARPSpoofGuard'))
    flows.add('PipelineRootClassifier', 200, 'ip', goto('Classifier'))
    flows.miss('PipelineRootClassifier', 'drop')

    gateway = 'in_port=%d' % GATEWAY_PORT
    local = load('0x10000000/0x10000000', 'reg4')
    flows.add('Classifier', 210, 'ip,%s,nw_src=%s' % (gateway, GATEWAY_IP),
              load('0x2/0xf', 'reg0'), local, goto('SpoofGuard'))
    flows.add('Classifier', 200, gateway, load('0x2/0xf', 'reg0'),
              load('0x8000000/0x8000000', 'reg4'), goto('SpoofGuard'))
    flows.add('Classifier', 200, 'in_port=%d' % TUNNEL_PORT,
              load('0x1/0xf', 'reg0'), load('0x200/0x200', 'reg0'),
              goto('UnSNAT'))
    flows.add('Classifier', 200, 'in_port=%d' % TRAFFIC_CONTROL_RETURN_PORT,
              load('0x6/0xf', 'reg0'), goto('L3Forwarding'))
    flows.add('Classifier', 200,
              'in_port=%d,vlan_tci=0x1000/0x1000' % L7_IN_PORT,
              'pop_vlan', load('0x6/0xf', 'reg0'), goto('L3Forwarding'))
    for pod in cluster.pods:
        flows.add('Classifier', 190, 'in_port=%d' % pod.port,
                  load('0x3/0xf', 'reg0'), local, goto('SpoofGuard'))
    flows.miss('Classifier', 'drop')

    flows.add('SpoofGuard', 200, 'ip,' + gateway, goto('UnSNAT'))
    for pod in cluster.pods:
        flows.add('SpoofGuard', 200, 'ip,in_port=%d,dl_src=%s,nw_src=%s' % (
            pod.port, pod.mac, pod.ip), goto('UnSNAT'))
    flows.miss('SpoofGuard', 'drop')


def add_arp(flows, cluster):
    senders = [(GATEWAY_PORT, GATEWAY_IP, GATEWAY_MAC)]
    senders += [(pod.port, pod.ip, pod.mac) for pod in cluster.pods]
    for sender in senders:
        flows.add('ARPSpoofGuard', 200,
                  'arp,in_port=%d,arp_spa=%s,arp_sha=%s' % sender,
                  goto('ARPResponder'))
    flows.miss('ARPSpoofGuard', 'drop')

    for node in cluster.nodes:
        flows.add('ARPResponder', 200,
                  'arp,arp_tpa=%s,arp_op=1' % node.gateway,
                  'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
                  load(VIRTUAL_MAC, 'eth_src'), load(2, 'arp_op'),
                  'move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]',
                  load(VIRTUAL_MAC, 'arp_sha'),
                  'move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[]',
                  load(node.gateway, 'arp_spa'), 'IN_PORT')
    flows.add('ARPResponder', 190, 'arp', 'NORMAL')
    flows.miss('ARPResponder', 'drop')


def add_conntrack(flows):
    for ip in VIRTUAL_SNAT_IP, GATEWAY_IP:
        flows.add('UnSNAT', 200, 'ip,nw_dst=' + ip,
                  ct('ConntrackZone', 'nat', zone=SNAT_ZONE))
    flows.miss('UnSNAT', goto('ConntrackZone'))

    flows.add('ConntrackZone', 200, 'ip', ct('ConntrackState', 'nat'))
    flows.miss('ConntrackZone', goto('ConntrackState'))

    known = 'ct_state=-new+trk,ct_mark=%s/0x10,ip'
    flows.add('ConntrackState', 200, 'ct_state=+inv+trk,ip', 'drop')
    flows.add('ConntrackState', 190, known % '0',
              goto('AntreaPolicyEgressRule'))
    flows.add('ConntrackState', 190, known % '0x10',
              load('0x200/0x200', 'reg0'), goto('AntreaPolicyEgressRule'))
    flows.miss('ConntrackState', goto('PreRoutingClassifier'))

    flows.add('ConntrackCommit', 200,
              'ct_state=+new+trk-snat,ct_mark=0/0x10,ip',
              ct('Output', 'commit',
                 'exec(move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3])'))
    flows.miss('ConntrackCommit', goto('Output'))


def add_routing(flows, cluster):
    to_gateway = load('0x20/0xf0', 'reg0')
    to_tunnel = load('0x10/0xf0', 'reg0')
    gateway_mac = load(GATEWAY_MAC, 'eth_dst')

    flows.add('L3Forwarding', 210, 'ip,nw_dst=' + GATEWAY_IP, gateway_mac,
              to_gateway, goto('L3DecTTL'))
    flows.add('L3Forwarding', 210, 'ct_state=+rpl+trk,ct_mark=0x2/0xf,ip',
              gateway_mac, to_gateway, goto('L3DecTTL'))
    flows.add('L3Forwarding', 200,
              'ip,reg0=0/0x200,nw_dst=' + cluster.pod_net,
              goto('L2ForwardingCalc'))
    for node in cluster.nodes:
        flows.add('L3Forwarding', 200, 'ip,nw_dst=' + node.net,
                  load(GATEWAY_MAC, 'eth_src'), load(VIRTUAL_MAC, 'eth_dst'),
                  load(node.transport_ip, 'tun_dst'), to_tunnel,
                  goto('L3DecTTL'))
    for pod in cluster.pods:
        flows.add('L3Forwarding', 200,
                  'ip,reg0=0x200/0x200,nw_dst=' + pod.ip,
                  load(GATEWAY_MAC, 'eth_src'), load(pod.mac, 'eth_dst'),
                  goto('L3DecTTL'))
    flows.add('L3Forwarding', 190,
              'ct_state=-rpl+trk,ip,reg0=0x3/0xf,reg4=0/0x100000',
              goto('EgressMark'))
    flows.add('L3Forwarding', 190, 'ct_state=-rpl+trk,ip,reg0=0x1/0xf',
              gateway_mac, goto('EgressMark'))
    flows.add('L3Forwarding', 190, 'ct_mark=0x10/0x10,reg0=0x202/0x20f,ip',
              gateway_mac, to_gateway, goto('L3DecTTL'))
    flows.miss('L3Forwarding', to_gateway, goto('L2ForwardingCalc'))

    flows.add('L3DecTTL', 210, 'ip,reg0=0x2/0xf', goto('SNATMark'))
    flows.add('L3DecTTL', 200, 'ip', 'dec_ttl', goto('SNATMark'))
    flows.miss('L3DecTTL', goto('SNATMark'))


def add_egress(flows, cluster):
    """Of every three Pods one leaves with this node's address, one through
    another node."""
    to_gateway = load('0x20/0xf0', 'reg0')
    for ip in [NODE_IP] + [node.transport_ip for node in cluster.nodes] + [
            SERVICE_NET]:
        flows.add('EgressMark', 210, 'ip,nw_dst=' + ip, to_gateway,
                  goto('L2ForwardingCalc'))
    for pod in cluster.pods[1::3]:
        flows.add('EgressMark', 200, 'ip,in_port=%d' % pod.port,
                  load(GATEWAY_MAC, 'eth_src'), load(VIRTUAL_MAC, 'eth_dst'),
                  load(cluster.nodes[0].transport_ip, 'tun_dst'),
                  load('0x10/0xf0', 'reg0'), load('0x80000/0x80000', 'reg0'),
                  goto('L2ForwardingCalc'))
    mark = load('0x1/0xff', 'pkt_mark')
    flows.add('EgressMark', 200,
              'ct_state=+new+trk,ip,tun_dst=' + EGRESS_IP, mark, to_gateway,
              goto('L2ForwardingCalc'))
    for pod in cluster.pods[2::3]:
        flows.add('EgressMark', 200,
                  'ct_state=+new+trk,ip,in_port=%d' % pod.port, mark,
                  to_gateway, goto('L2ForwardingCalc'))
    flows.add('EgressMark', 190, 'ct_state=+new+trk,ip,reg0=0x1/0xf', 'drop')
    flows.miss('EgressMark', to_gateway, goto('L2ForwardingCalc'))


def add_snat(flows, cluster):
    service = 'set_field:0x20/0x20->ct_mark'
    hairpin = 'set_field:0x40/0x40->ct_mark'

    def mark(*marks):
        return ct('SNAT', 'commit', 'exec(%s)' % ','.join(marks))

    flows.add('SNATMark', 200, 'ct_state=+new+trk,ip,reg0=0x22/0xff',
              mark(service, hairpin))
    flows.add('SNATMark', 200,
              'ct_state=+new+trk,ip,reg0=0x12/0xff,reg4=0x200000/0x2200000',
              mark(service))
    for web in cluster.webs:
        flows.add('SNATMark', 190,
                  'ct_state=+new+trk,ip,nw_src=%s,nw_dst=%s' % (web.ip,
                                                               web.ip),
                  mark(service, hairpin))
    flows.miss('SNATMark', goto('SNAT'))

    def translate(ip, *marks):
        marks = ('set_field:0x10/0x10->ct_mark',) + marks
        return ct('L2ForwardingCalc', 'commit', 'nat(src=%s)' % ip,
                  'exec(%s)' % ','.join(marks), zone=SNAT_ZONE)

    is_hairpin = 'ct_state=+new+trk,ct_mark=0x40/0x40,ip,reg0=%s/0xf'
    flows.add('SNAT', 200, is_hairpin % '0x2',
              translate(VIRTUAL_SNAT_IP, hairpin))
    flows.add('SNAT', 200, is_hairpin % '0x3', translate(GATEWAY_IP, hairpin))
    flows.add('SNAT', 200, 'ct_state=-new-rpl+trk,ct_mark=0x20/0x20,ip',
              ct('L2ForwardingCalc', 'nat', zone=SNAT_ZONE))
    flows.add('SNAT', 190,
              'ct_state=+new+trk,ct_mark=0x20/0x20,ip,reg0=0x2/0xf',
              translate(GATEWAY_IP))
    flows.miss('SNAT', goto('L2ForwardingCalc'))


def add_switching(flows, cluster):
    stations = [(GATEWAY_MAC, GATEWAY_PORT), (VIRTUAL_MAC, TUNNEL_PORT)]
    stations += [(pod.mac, pod.port) for pod in cluster.pods]
    for mac, port in stations:
        flows.add('L2ForwardingCalc', 200, 'dl_dst=' + mac,
                  load('0x%x' % port, 'reg1'),
                  load('0x200000/0x600000', 'reg0'), goto('TrafficControl'))
    flows.miss('L2ForwardingCalc', goto('TrafficControl'))

    flows.add('TrafficControl', 210, 'reg0=0x200006/0x60000f', goto('Output'))
    kinds = '0x800000/0xc00000', '0x400000/0xc00000'    # Redirect, mirror.
    for pod, target, kind in zip(cluster.others[::-1], TRAFFIC_CONTROL_PORTS,
                                 kinds):
        for match in 'reg1=0x%x' % pod.port, 'in_port=%d' % pod.port:
            flows.add('TrafficControl', 200, match,
                      load('0x%x' % target, 'reg9'), load(kind, 'reg4'),
                      goto('IngressSecurityClassifier'))
    flows.miss('TrafficControl', goto('IngressSecurityClassifier'))


def add_output(flows, is_metered):
    meter = ['meter:%d' % METER] * is_metered
    found = 'reg0=0x200000/0x600000'
    flows.add('Output', 212, 'ct_mark=0x80/0x80,' + found,
              'push_vlan:0x8100',
              'move:NXM_NX_CT_LABEL[64..75]->OXM_OF_VLAN_VID[]',
              'output:%d' % L7_OUT_PORT)
    flows.add('Output', 211, found + ',reg4=0x400000/0xc00000',
              'output:NXM_NX_REG1[]', 'output:NXM_NX_REG9[]')
    flows.add('Output', 211, found + ',reg4=0x800000/0xc00000',
              'output:NXM_NX_REG9[]')
    flows.add('Output', 210, 'ct_mark=0x40/0x40', 'IN_PORT')
    flows.add('Output', 200, found, *meter, 'output:NXM_NX_REG1[]')
    for reason, userdata in (2, '01.01'), (4, '01.02'):
        flows.add('Output', 200, 'reg0=0x%x/0xfe600000' % (
            reason << 24 | 0x400000), 'meter:256',
            'controller(reason=no_match,id=%d,userdata=%s)' % (
                CONTROLLER_ID, userdata))
    flows.miss('Output', 'drop')


def add_static(flows, cluster, is_metered=False):
    """'is_metered': packets pass METER, which others configure, to ports."""
    add_classification(flows, cluster)
    add_arp(flows, cluster)
    add_conntrack(flows)
    add_routing(flows, cluster)
    add_egress(flows, cluster)
    add_snat(flows, cluster)
    add_switching(flows, cluster)
    add_output(flows, is_metered)

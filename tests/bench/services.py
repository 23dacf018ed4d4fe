# SPDX-License-Identifier: Apache-2.0
"""Services: the tables from PreRoutingClassifier to EndpointDNAT."""

import ipaddress

from cluster import NODE_IP, TARGET_PORTS, address
from pipeline import (NUMBERS, VIRTUAL_NODEPORT_IP, ct, goto, load, resubmit)

ENDPOINTS = 10
AFFINITY_IP, EMPTY_IP = '10.111.76.15', '10.101.255.29'


class Service:
    def __init__(self, protocol, ip, port, endpoints, target_port):
        self.protocol, self.ip, self.port = protocol, ip, port
        self.endpoints = endpoints      # (address, whether remote)
        self.target_port = target_port


def number(ip):
    return '0x%x' % int(ipaddress.IPv4Address(ip))


class ServiceTables:
    def __init__(self, flows, cluster, rng):
        self.flows, self.cluster, self.rng = flows, cluster, rng
        self.endpoints = set()
        self.cluster_ips = []           # The Services to measure.

    def choose_endpoints(self, n):
        """Two in five are on this node, as far as it has web servers."""
        webs = self.cluster.webs
        n_local = min(len(webs), max(1, round(n * 0.4)))
        local = self.rng.sample(webs, n_local)
        remote = self.rng.sample(self.cluster.remote_webs, n - n_local)
        return [(pod.ip, False) for pod in local] + [
            (ip, True) for ip in remote]

    def add_group(self, service, endpoints=None, then='EndpointDNAT'):
        if endpoints is None:
            endpoints = service.endpoints
        if not endpoints:
            return self.flows.add_group([
                load('0x4000/0x4000', 'reg0') + ',' + resubmit(then)])
        return self.flows.add_group([
            ','.join([load('0x4000000/0x4000000', 'reg4')] * remote
                     + [load(number(ip), 'reg3'),
                        load('0x%x/0xffff' % service.target_port, 'reg4'),
                        resubmit(then)])
            for ip, remote in endpoints])

    def remember(self, service):
        self.endpoints.update((ip, service.target_port, service.protocol)
                              for ip, _ in service.endpoints)

    def balance(self, priority, match, group, *marks):
        self.flows.add('ServiceLB', priority, match,
                       load('0x200/0x200', 'reg0'),
                       load('0x20000/0x70000', 'reg4'), *marks,
                       load('0x%x' % group, 'reg7'), 'group:%d' % group)

    def add_plain(self, service):
        """A ClusterIP, or the external address of a load balancer."""
        self.remember(service)
        self.balance(200, '%s,reg4=0x10000/0x70000,nw_dst=%s,tp_dst=%d' % (
            service.protocol, service.ip, service.port),
            self.add_group(service))

    def add_node_port(self, service):
        self.remember(service)
        self.balance(200, '%s,reg4=0x90000/0xf0000,tp_dst=%d' % (
            service.protocol, service.port), self.add_group(service),
            load('0x200000/0x200000', 'reg4'))

    def add_local_policy(self, service):
        """externalTrafficPolicy: Local."""
        self.remember(service)
        match = '%s,reg4=%%s,nw_dst=%s,tp_dst=%d' % (
            service.protocol, service.ip, service.port)
        self.balance(210, match % '0x10010000/0x10070000',
                     self.add_group(service))
        local = [e for e in service.endpoints if not e[1]]
        self.balance(200, match % '0x10000/0x70000',
                     self.add_group(service, local))

    def add_affinity(self, service):
        self.remember(service)
        group = self.add_group(service, then='ServiceLB')
        match = '%s,reg4=%%s,nw_dst=%s,tp_dst=%d' % (
            service.protocol, service.ip, service.port)
        self.flows.add('ServiceLB', 200, match % '0x10000/0x70000',
                       load('0x200/0x200', 'reg0'),
                       load('0x30000/0x70000', 'reg4'),
                       load('0x%x' % group, 'reg7'), 'group:%d' % group)
        learn = [
            'table=%d' % NUMBERS['SessionAffinity'], 'hard_timeout=300',
            'priority=200', 'delete_learned', 'cookie=0x203000000000a',
            'eth_type=0x800',
            'nw_proto=%d' % (6 if service.protocol == 'tcp' else 17),
            'NXM_OF_%s_DST[]' % service.protocol.upper(),
            'NXM_OF_IP_DST[]', 'NXM_OF_IP_SRC[]',
            'load:NXM_NX_REG4[0..15]->NXM_NX_REG4[0..15]',
            'load:NXM_NX_REG4[26]->NXM_NX_REG4[26]',
            'load:NXM_NX_REG3[]->NXM_NX_REG3[]',
            'load:0x2->NXM_NX_REG4[16..18]', 'load:0x1->NXM_NX_REG0[9]']
        self.flows.add('ServiceLB', 190, match % '0x30000/0x70000',
                       'learn(%s)' % ','.join(learn),
                       load('0x20000/0x70000', 'reg4'), goto('EndpointDNAT'))

    def add_endpoints(self):
        self.flows.add('EndpointDNAT', 200, 'reg0=0x4000/0x4000',
                       'controller(reason=no_match,id=62373,userdata=04)')
        for ip, port, protocol in sorted(self.endpoints):
            self.flows.add(
                'EndpointDNAT', 200, '%s,reg3=%s,reg4=0x%x/0x7ffff' % (
                    protocol, number(ip), 0x20000 | port),
                ct('AntreaPolicyEgressRule', 'commit',
                   'nat(dst=%s:%d)' % (ip, port),
                   'exec(set_field:0x10/0x10->ct_mark,'
                   'move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3])'))
        self.flows.add('EndpointDNAT', 190, 'reg4=0x20000/0x70000',
                       load('0x10000/0x70000', 'reg4'), resubmit('ServiceLB'))
        self.flows.miss('EndpointDNAT', goto('AntreaPolicyEgressRule'))

    def add_fixed(self):
        flows = self.flows
        flows.add('PreRoutingClassifier', 200, 'ip',
                  resubmit('NodePortMark', 'SessionAffinity', 'ServiceLB'))
        flows.miss('PreRoutingClassifier', goto('NodePortMark'))
        for ip in NODE_IP, VIRTUAL_NODEPORT_IP:
            flows.add('NodePortMark', 200, 'ip,nw_dst=' + ip,
                      load('0x80000/0x80000', 'reg4'))
        flows.miss('NodePortMark', goto('SessionAffinity'))
        flows.miss('SessionAffinity', load('0x10000/0x70000', 'reg4'))
        flows.miss('ServiceLB', goto('EndpointDNAT'))

    def add_all(self, n_services, n_endpoints):
        """ClusterIPs in TCP and UDP, the first one with 'n_endpoints', a
        tenth as many NodePorts and load balancers, and one of each special
        kind."""
        self.add_fixed()

        def new(protocol, ip, port, target_port=80, n=ENDPOINTS):
            return Service(protocol, ip, port, self.choose_endpoints(n),
                           target_port)

        for i in range(n_services):
            tcp = new('tcp', address('10.96.1.0', i * 7), 80,
                      TARGET_PORTS[i % len(TARGET_PORTS)],
                      n_endpoints if i == 0 else ENDPOINTS)
            udp = Service('udp', tcp.ip, tcp.port, tcp.endpoints,
                          tcp.target_port)
            for service in tcp, udp:
                self.add_plain(service)
                self.cluster_ips.append(service)
        for i in range(max(1, n_services // 10)):
            self.add_node_port(new('tcp', NODE_IP, 30000 + i))
            self.add_plain(new('tcp', '192.168.77.%d' % (150 + i % 90),
                               80 + i // 90))
        self.add_plain(new('tcp', '192.168.77.240', 80))
        self.add_local_policy(new('tcp', '192.168.77.241', 80))
        for protocol in 'tcp', 'udp':
            self.add_affinity(new(protocol, AFFINITY_IP, 80))
        self.add_plain(Service('tcp', EMPTY_IP, 80, [], 80))
        self.add_endpoints()

# SPDX-License-Identifier: Apache-2.0
"""The mesh: nine Pods in three Namespaces on two Nodes, the Nodes' gateways,
and addresses outside; what of it is objects, and who sends to whom.

    x/a x/c y/b z/a z/c  on n1      x/b y/a y/c z/b  on n2
"""

import collections
import copy
import ipaddress

NODES = ('n1', 'n2')
NODE_NAMES = {'n1': 'k8s-node-control-plane', 'n2': 'k8s-node-worker-1'}
NODE_IPS = {'n1': '192.168.77.102', 'n2': '192.168.77.103'}
GATEWAY_MACS = {'n1': 'ba:5e:d1:55:aa:c0', 'n2': 'ba:5e:d1:55:aa:c1'}
GLOBAL_MAC = 'aa:bb:cc:dd:ee:ff'
NETS = {4: '10.10.%d.%d', 6: 'fd00:10:10:%d::%x'}
CIDRS = {4: '10.10.%d.0/24', 6: 'fd00:10:10:%d::/64'}
# What a Node's own NAT makes of its addresses for what goes to NodePorts.
NODE_PORT_IPS = {4: '169.254.0.252', 6: 'fc01::aabb:ccdd:eefe'}
OUTSIDE = {4: ('198.51.100.7', '203.0.113.9'),
           6: ('2001:db8:51::7', '2001:db8:113::9')}

RESOLVER = {4: '198.51.100.53', 6: '2001:db8:51::53'}

# 'kind': pod, gateway, node (by its own address), outside, or resolver, which
# is outside, too, and only asked for names; 'node': where frames leave from
# and arrive.
Place = collections.namedtuple(
    'Place', 'name kind node netns interface mac addresses poll')


def address(family, node, host):
    """In the spelling that records have."""
    return str(ipaddress.ip_address(NETS[family] % (NODES.index(node), host)))


def make_places():
    places = {}
    names = [ns + '/' + pod for ns in 'xyz' for pod in 'abc']
    for index, name in enumerate(names):
        node = NODES[index % 2]
        places[name] = Place(
            name, 'pod', node, name.replace('/', ''), 'eth0',
            '0a:58:0a:0a:%02x:%02x' % (NODES.index(node), 10 + index),
            {family: address(family, node, 10 + index) for family in NETS},
            # Some are polled by the main thread.
            'system' if name in ('x/c', 'y/c') else 'dpdk')
    for node in NODES:
        places['gateway-' + node] = Place(
            'gateway-' + node, 'gateway', node, node, 'antrea-gw0',
            GATEWAY_MACS[node],
            {family: address(family, node, 1) for family in NETS}, None)
        places[node] = Place(node, 'node', None, None, None, None,
                             {4: NODE_IPS[node]}, None)
    for index in range(2):
        name = 'outside%d' % (index + 1)
        places[name] = Place(
            name, 'outside', None, None, None, None,
            {family: OUTSIDE[family][index] for family in NETS}, None)
    places['resolver'] = Place('resolver', 'resolver', None, None, None, None,
                               RESOLVER, None)
    return places


PLACES = make_places()
PODS = [place for place in PLACES.values() if place.kind == 'pod']
GATEWAYS = [place for place in PLACES.values() if place.kind == 'gateway']
OUTSIDERS = [place for place in PLACES.values() if place.kind == 'outside']
# Whom Pods ask for names: outside, and on each Node.
DNS_SERVERS = [PLACES[name] for name in ('resolver', 'x/a', 'y/a')]


def port_name(place):
    return 'p-' + place.netns


def gateway(place):
    return PLACES['gateway-' + place.node]


def next_hop(sender, target):
    """The MAC address that frames go to: of a Pod on the same Node its own,
    of others the gateway's; from a gateway to another Node's Pods the one
    that stands for all of those."""
    if target is not None and target.kind == 'pod' \
            and target.node == sender.node:
        return target.mac
    if sender.kind == 'gateway':
        return GLOBAL_MAC
    return gateway(sender).mac


def pairs():
    """(source, sender, destination): who is probed.  What comes from outside
    comes by the gateway of the destination's Node."""
    for a in PODS:
        for b in PODS:
            if a is not b:
                yield a, a, b
    for pod in PODS:
        for place in PLACES.values():
            if place.kind not in ('pod', 'resolver'):
                yield pod, pod, place
        for place in GATEWAYS:
            yield place, place, pod
        for place in OUTSIDERS:
            yield place, gateway(pod), pod


def arrives_at(sender, target):
    """The place whose socket sees what is sent to 'target'."""
    if target.kind in ('pod', 'gateway'):
        return target
    return gateway(sender)


# --- objects -----------------------------------------------------------------

def node_object(node, families):
    return {
        'apiVersion': 'v1', 'kind': 'Node',
        'metadata': {'name': NODE_NAMES[node],
                     'labels': {'zone': 'z' + node[1]}},
        'spec': {'podCIDR': CIDRS[families[0]] % NODES.index(node),
                 'podCIDRs': [CIDRS[family] % NODES.index(node)
                              for family in families]},
        'status': {'addresses': [{'type': 'InternalIP',
                                  'address': NODE_IPS[node]}]}}


def namespace_object(name):
    teams = {'x': {'team': 'red'}, 'y': {'team': 'red'}, 'z': {}}
    return {'apiVersion': 'v1', 'kind': 'Namespace',
            'metadata': {'name': name, 'labels': {
                'kubernetes.io/metadata.name': name, 'ns': name,
                **teams[name]}}}


def port_objects(pod):
    """Names mean other numbers in some Pods."""
    odd = pod == 'c'
    ports = [('web', 'TCP', 81 if odd else 80), ('alt', 'TCP', 8080),
             ('dns', 'UDP', 80 if odd else 81),
             ('sig', 'SCTP', 81 if odd else 80)]
    if pod == 'b':
        ports.append(('web', 'UDP', 80))
    return [{'name': name, 'protocol': protocol, 'containerPort': number}
            for name, protocol, number in ports]


def pod_object(place, families):
    namespace, name = place.name.split('/')
    ips = [{'ip': place.addresses[family]} for family in families]
    return {
        'apiVersion': 'v1', 'kind': 'Pod',
        'metadata': {'name': name, 'namespace': namespace,
                     'labels': {'pod': name}},
        'spec': {'nodeName': NODE_NAMES[place.node],
                 'serviceAccountName': 'robot' if name == 'b' else 'default',
                 'containers': [{'name': 'main', 'ports': port_objects(name)}]},
        'status': {'phase': 'Running', 'podIP': ips[0]['ip'], 'podIPs': ips}}


def set_type(service, service_type):
    """With a NodePort for each port, or without."""
    spec = service['spec']
    spec['type'] = service_type
    for index, port in enumerate(spec['ports']):
        port.pop('nodePort', None)
        if service_type == 'NodePort':
            port['nodePort'] = (30000 + index + 10 * int(
                spec['clusterIP'].replace(':', '.').split('.')[-1], 16))
    if service_type != 'NodePort':
        spec.pop('externalTrafficPolicy', None)


def service_object(namespace, name, number, families, selector, ports,
                   service_type='ClusterIP'):
    ips = [{4: '10.96.0.%d', 6: 'fd00:10:96::%x'}[family] % number
           for family in families]
    obj = {'apiVersion': 'v1', 'kind': 'Service',
           'metadata': {'name': name, 'namespace': namespace},
           'spec': {'clusterIP': ips[0], 'clusterIPs': ips,
                    'selector': selector, 'ports': ports,
                    'ipFamilies': ['IPv%d' % family for family in families]}}
    set_type(obj, service_type)
    return obj


def services(families):
    """One endpoint; all Pods of a Namespace; names of ports, which differ."""
    return [
        service_object('x', 'one', 11, families, {'pod': 'a'}, [
            {'name': 't', 'port': 80, 'targetPort': 8080},
            {'name': 'u', 'protocol': 'UDP', 'port': 53, 'targetPort': 81},
            {'name': 's', 'protocol': 'SCTP', 'port': 90, 'targetPort': 80}]),
        service_object('y', 'all', 12, families, {'app': 'shop'}, [
            {'name': 't', 'port': 80},
            {'name': 'u', 'protocol': 'UDP', 'port': 80}], 'NodePort'),
        service_object('z', 'named', 13, families, {'app': 'shop'}, [
            {'name': 't', 'port': 80, 'targetPort': 'web'},
            {'name': 'u', 'protocol': 'UDP', 'port': 53,
             'targetPort': 'dns'}], 'NodePort'),
    ]


def base_objects(families):
    """Without any policy."""
    objects = [node_object(node, families) for node in NODES]
    objects += [namespace_object(name) for name in 'xyz']
    objects += [pod_object(place, families) for place in PODS]
    for obj in objects:
        if obj['kind'] == 'Pod' and obj['metadata']['namespace'] != 'x':
            obj['metadata']['labels']['app'] = 'shop'
    return objects + services(families)


class Objects:
    """The objects that there are, by their names."""

    def __init__(self, objects=()):
        self.by_key = {}
        for obj in objects:
            self.put(obj)

    @staticmethod
    def key(obj):
        return (obj['apiVersion'].split('/')[0], obj['kind'],
                obj['metadata'].get('namespace'), obj['metadata']['name'])

    @staticmethod
    def title(obj):
        """namespace/name, or the name."""
        return '/'.join(filter(None, Objects.key(obj)[2:]))

    def put(self, obj):
        self.by_key[self.key(obj)] = obj

    def remove(self, obj):
        del self.by_key[self.key(obj)]

    def all(self):
        return list(self.by_key.values())

    def of_kind(self, *kinds):
        return [obj for obj in self.by_key.values() if obj['kind'] in kinds]

    def find(self, kind, name, namespace=None):
        return next(obj for obj in self.of_kind(kind)
                    if obj['metadata']['name'] == name
                    and obj['metadata'].get('namespace') == namespace)

    def policies(self):
        return [obj for obj in self.by_key.values()
                if obj['kind'].endswith('Policy')]

    def copy(self):
        return Objects(copy.deepcopy(self.all()))

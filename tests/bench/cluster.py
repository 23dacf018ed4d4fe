# SPDX-License-Identifier: Apache-2.0
"""A made-up cluster, seen from one of its nodes.

The first Pods of this node are clients, the next ones web servers; what is
measured runs between these, between clients and Services, and between clients
and web servers on other nodes.  The remaining Pods only fill the tables."""

import ipaddress

TUNNEL_PORT, GATEWAY_PORT = 1, 2
TRAFFIC_CONTROL_PORTS = (3, 7)
L7_OUT_PORT, L7_IN_PORT = 5, 6
TRAFFIC_CONTROL_RETURN_PORT = 4
FIRST_POD_PORT = 32

GATEWAY_IP = '10.10.0.1'
GATEWAY_MAC = 'ba:5e:d1:55:aa:c0'
VIRTUAL_MAC = 'aa:bb:cc:dd:ee:ff'       # Of everything behind the tunnel.
NODE_IP = '192.168.77.102'
TRANSPORT_NET = '192.168.77.102/16'
SERVICE_NET = '10.96.0.0/12'

# Services listen on these in turn.  Connections that come from one source
# port through Services of different ports never meet in one reverse tuple.
TARGET_PORTS = (80, 8080, 8443, 9443)


def address(base, offset):
    return str(ipaddress.IPv4Address(base) + offset)


class Pod:
    def __init__(self, index):
        self.index = index
        self.port = FIRST_POD_PORT + index
        self.ip = address('10.10.0.10', index)
        self.mac = '0a:58:0a:0a:%02x:%02x' % divmod(10 + index, 256)


class Node:
    """Another node."""

    def __init__(self, number):
        second, third = divmod(number - 1, 256)
        prefix = '10.%d.%d' % (11 + second, third)
        self.net = prefix + '.0/24'
        self.gateway = prefix + '.1'
        high, low = divmod(number + 102, 250)
        self.transport_ip = '192.168.%d.%d' % (78 + high, 1 + low)
        self.transport_mac = '02:00:00:00:%02x:%02x' % divmod(number, 256)

    def pod_ip(self, index):
        return address(self.gateway, 9 + index)


class Cluster:
    def __init__(self, pods=20, nodes=50, clients=4, webs=4, remote_webs=60):
        self.pods = [Pod(i) for i in range(pods)]
        self.clients = self.pods[:clients]
        self.webs = self.pods[clients:clients + webs]
        self.others = self.pods[clients + webs:]
        self.pod_net = '10.10.0.0/24' if pods <= 240 else '10.10.0.0/22'
        self.nodes = [Node(n) for n in range(1, nodes + 1)]
        per_node = -(-remote_webs // nodes)
        self.remote_webs = [node.pod_ip(i) for i in range(per_node)
                            for node in self.nodes][:remote_webs]

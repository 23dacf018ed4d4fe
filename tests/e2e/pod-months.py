#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Days of a Node, whose Pods stay for a day.

    pod-months.py records
    pod-months.py ports DAY
    pod-months.py arrive FOLDER DAY
    pod-months.py talk FOLDER DAY
    pod-months.py leave FOLDER DAY

Prints the records of the Node, or the ports that Pods of a day have beside those
that are always there: NAME TYPE OFPORT.  FOLDER is the daemon's run directory:
Pods of the day arrive there, with other Nodes, a Service and a policy of their own;
they talk to each other, to Services and to Pods of these Nodes; and leave.  No
address, MAC or name is there on two days."""

import collections
import json
import os
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
from mesh import frames                     # noqa: E402
from mesh.frames import ACK, SYN, packed    # noqa: E402
from rpc import Client                      # noqa: E402
from unixctl import Control                 # noqa: E402

AT_ONCE = 30                    # A port has room for so many, and some more.
PATIENCE = 20                   # Seconds.
GW_MAC, TUNNEL_MAC = '0a:00:00:00:00:01', 'aa:bb:cc:dd:ee:ff'
NODE_IP, NODE_MAC = '172.18.0.1', '0a:00:00:00:01:01'
SERVICE, AFFINE = '10.96.0.1', '10.96.0.2'
SERVERS, CLIENTS, DENIED, SILENT = (0, 1), (2, 3, 4, 5), 6, 7
# Each day another Pod's.
LASTING_PORTS = {1: 'server', 5: 'client', 7: 'silent'}
OF_A_THREAD = 4                 # Not of the main thread's.
PEERS = range(1, 4)
HANDSHAKE = (1, 0, SYN), (1, 2, SYN | ACK), (2, 2, ACK)


class Pod:
    def __init__(self, day, number):
        self.name = 'd/pod-%d-%d' % (day, number)
        self.port = LASTING_PORTS.get(number, 'pod-%d-%d' % (day, number))
        self.number = number
        self.ip = '10.10.%d.%d' % (day, 10 + number)
        self.mac = '0a:00:00:02:%02x:%02x' % (day, number)

    def record(self):
        return {'kind': 'Pod', 'name': self.name, 'port': self.port,
                'mac': self.mac, 'ips': [self.ip]}

    def sends(self, traffic, frame):
        traffic.add(self.port, frame)


class Remote:
    """A Pod of another Node."""

    def __init__(self, day, number):
        net = '10.%d.%d.' % (20 + number, day)
        self.node = 'day-%d-%d' % (day, number)
        self.node_ip = '172.18.%d.%d' % (day, number)
        self.node_mac = '0a:00:00:03:%02x:%02x' % (day, number)
        self.cidr, self.gateway, self.ip = net + '0/24', net + '1', net + '5'
        self.mac = GW_MAC       # What goes there goes by the gateway.

    def record(self):
        return {'kind': 'PeerNode', 'name': self.node, 'podCIDR': self.cidr,
                'gatewayIP': self.gateway, 'transportIP': self.node_ip}

    def sends(self, traffic, frame):
        src, dst = packed(self.node_ip), packed(NODE_IP)
        geneve = struct.pack('!HHI', 0, 0x6558, 0) + frame
        traffic.add('up0', frames.ip_frame(
            frames.mac(NODE_MAC), frames.mac(self.node_mac), src, dst, 17,
            frames.udp(src, dst, 5000, 6081, geneve)))


class Day:
    def __init__(self, day):
        self.number = day
        self.pods = [Pod(day, n) for n in range(SILENT + 1)]
        self.servers = [self.pods[n] for n in SERVERS]
        self.clients = [self.pods[n] for n in CLIENTS]
        self.denied, self.silent = self.pods[DENIED], self.pods[SILENT]
        self.remotes = [Remote(day, n) for n in PEERS]
        self.service = '10.97.%d.1' % day


# --- records ---------------------------------------------------------------------

def service(address, endpoints, **more):
    return dict({'kind': 'Service', 'name': 'd/' + address,
                 'clusterIP': address,
                 'ports': [{'port': 80, 'protocol': protocol,
                            'endpoints': [{'ip': pod.ip, 'port': 8080,
                                           'local': True}
                                          for pod in endpoints]}
                           for protocol in ('TCP', 'UDP')]}, **more)


def applied_to(name, pods):
    return {'kind': 'AppliedToGroup', 'name': name,
            'pods': [pod.name for pod in pods]}


def addresses(name, these):
    return {'kind': 'AddressGroup', 'name': name, 'addresses': these}


def lasting(servers, clients):
    """What is there each day, with who is in it."""
    return [service(SERVICE, servers[:1]),
            service(AFFINE, servers[:1],
                    sessionAffinity={'timeoutSeconds': 10800}),
            applied_to('servers', servers), addresses('clients', clients)]


def records():
    return [{'kind': 'NodeConfig', 'name': 'n1', 'transportIP': NODE_IP,
             'podCIDR': '10.10.0.0/16', 'tunnel': {'port': 'tun0'},
             'gateway': {'port': 'gw0', 'mac': GW_MAC, 'ip': '10.10.0.1'}},
            {'kind': 'NetworkPolicy', 'name': 'lasting',
             'type': 'K8sNetworkPolicy', 'appliedToGroups': ['servers'],
             'rules': [{'direction': 'In',
                        'from': {'addressGroups': ['clients']}}]},
            *lasting([], [])]


def of_day(day):
    """What comes and goes."""
    name = 'day-%d' % day.number
    return [*(pod.record() for pod in day.pods),
            *(remote.record() for remote in day.remotes),
            service(day.service, day.servers[1:]),
            applied_to(name, [day.denied]),
            addresses(name, [pod.ip for pod in day.servers]),
            {'kind': 'NetworkPolicy', 'name': name, 'priority': 5,
             'type': 'AntreaClusterNetworkPolicy', 'tierPriority': 250,
             'appliedToGroups': [name],
             'rules': [{'direction': 'Out', 'action': 'Drop',
                        'to': {'addressGroups': [name]}}]}]


def change(folder, **what):
    _, error = Client(os.path.join(folder, 'antrea-dp.sock')).call(
        'transact', bridge='br-int', **what)
    if error:
        sys.exit(error['message'])


# --- packets ---------------------------------------------------------------------

class Traffic:
    """What ports are to receive at once."""

    def __init__(self, folder):
        self.control = Control(os.path.join(folder, 'ovs-vswitchd.ctl'))
        self.waiting = collections.defaultdict(list)

    def add(self, port, frame):
        self.waiting[port].append(frame.hex())

    def n_handled(self):
        return json.loads(self.control('antrea-dp/stats-show', 'br-int'))[
            'packets']['handled']

    def received(self):
        """All of it has been handled."""
        expected = self.n_handled()
        for port, batch in self.waiting.items():
            expected += len(batch)
            for i in range(0, len(batch), AT_ONCE):
                self.control('netdev-dummy/receive', port,
                             *batch[i:i + AT_ONCE])
        self.waiting.clear()
        end = time.monotonic() + PATIENCE * float(
            os.environ.get('ADP_E2E_SLOW', 1))
        while self.n_handled() < expected:
            if time.monotonic() > end:
                sys.exit('%d of %d packets were handled' % (
                    self.n_handled(), expected))
            time.sleep(.002)


class Connection:
    """To the server's port 7000, or to a Service's."""

    def __init__(self, number, client, server, address=None, tcp=False):
        self.client, self.server, self.tcp = client, server, tcp
        self.address = address or server.ip
        self.ports = (number, 80 if address else 7000)
        self.server_port = 8080 if address else 7000

    def send(self, traffic, n):
        """The first packet, its answer, or what follows."""
        sender, other = self.client, self.server
        src, dst, ports = sender.ip, self.address, self.ports
        if n == 1:
            sender, other = other, sender
            src, dst, ports = sender.ip, other.ip, (self.server_port,
                                                    self.ports[0])
        # The gateway is who Services are asked through.
        dl_dst = other.mac if dst == other.ip else GW_MAC
        dl_src = sender.mac
        if isinstance(sender, Remote):
            dl_dst = TUNNEL_MAC
        src, dst = packed(src), packed(dst)
        if self.tcp:
            number, data = 6, frames.tcp(src, dst, *ports, *HANDSHAKE[n])
        else:
            number, data = 17, frames.udp(src, dst, *ports, b'?')
        sender.sends(traffic, frames.ip_frame(
            frames.mac(dl_dst), frames.mac(dl_src), src, dst, number, data))


def connections(day):
    """Those that are answered, and others."""
    first, second = day.servers
    answered = [(remote, first, None) for remote in day.remotes]
    for client in day.clients:
        answered += [(client, first, SERVICE), (client, first, AFFINE),
                     (client, second, day.service), (client, first, None),
                     (client, second, None),
                     *((client, remote, None) for remote in day.remotes)]
    answered = [(*way, tcp) for way in answered for tcp in (False, True)]
    others = [(client, server, address, False)
              for client in (day.silent, day.denied)
              for server, address in ((first, None), (second, None),
                                      (first, SERVICE),
                                      (day.remotes[0], None))]
    return [[Connection(number, *way) for number, way in enumerate(ways, 5000)]
            for ways in (answered, others)]


def talk(folder, day):
    traffic = Traffic(folder)
    answered, others = connections(day)
    for n in 0, 1, 2, 1, 2, 2:
        for connection in answered:
            connection.send(traffic, n)
        if n != 1:
            for connection in others:
                connection.send(traffic, n)
        traffic.received()


def main():
    command, *rest = sys.argv[1:]
    if command == 'records':
        print(json.dumps(records()))
        return
    day = Day(int(rest.pop()))
    clients = [pod.ip for pod in (*day.clients, day.silent)]
    clients += [remote.cidr for remote in day.remotes]
    if command == 'ports':
        for pod in day.pods:
            if pod.number not in LASTING_PORTS:
                print(pod.port, 'dummy-pmd' if pod.number == OF_A_THREAD
                      else 'dummy', 10 + pod.number)
    elif command == 'arrive':
        traffic = Traffic(rest[0])
        for remote in day.remotes:
            traffic.control('tnl/neigh/set', 'br-phy', remote.node_ip,
                            remote.node_mac)
        change(rest[0], apply=of_day(day) + lasting(day.servers, clients))
    elif command == 'leave':
        change(rest[0], apply=lasting([], []),
               delete=[{'kind': record['kind'], 'name': record['name']}
                       for record in of_day(day)])
    else:
        talk(rest[0], day)


if __name__ == '__main__':
    main()

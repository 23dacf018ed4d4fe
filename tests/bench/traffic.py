# SPDX-License-Identifier: Apache-2.0
"""What runs between the Pods: connections, old and new."""

import copy
import time

import cluster
import frames
import generator
import ipv6
import switch

WEB_PORT = 80
FIRST_SPORT = 2000
MAX_SPORTS = 63000
# Handshakes come slowly enough, and in small enough bursts, that no answer
# is lost on a switch of any speed.
HANDSHAKE_RATE = 240000         # Of all clients together.
HANDSHAKE_BACKLOG = 8
# So many at a time: half open connections don't live long.
HANDSHAKES = 50000
SLOWEST = 100000                # Packets a second, when all is new.


class Target:
    """Where clients send: an address and the MAC of the next hop."""

    def __init__(self, ip, mac, port):
        self.ip, self.mac, self.port = ip, mac, port


def web_targets(node):
    return [Target(node.address(web.ip), web.mac, WEB_PORT)
            for web in node.cluster.webs]


def remote_targets(node, n=4):
    return [Target(node.address(ip), cluster.GATEWAY_MAC, WEB_PORT)
            for ip in node.cluster.remote_webs[:n]]


def service_targets(node, protocol, n):
    return [Target(node.address(s.ip), cluster.GATEWAY_MAC, s.port)
            for s in node.services_of(protocol)[:n]]


def packet(protocol, client, target, phase='data', sport=FIRST_SPORT,
           size=frames.MIN_LEN):
    ip = ipv6.address(client.ip) if ':' in target.ip else client.ip
    args = client.mac, target.mac, ip, target.ip, sport, target.port
    if protocol == 'udp':
        return frames.udp(*args, size)
    return frames.tcp(*args, phase, size)


class Connections:
    """A number of connections from clients to targets.

    'share' targets next to each other are reached from one source port."""

    def __init__(self, sw, clients, targets, protocol, n, share):
        if n == 1:
            clients, targets, share = clients[:1], targets[:1], 1
        self.switch, self.generator = sw, sw.generator
        self.clients, self.targets, self.protocol = clients, targets, protocol
        self.share = share
        # Each client sends a whole number of times to each target.
        step = len(targets) // share
        per_client = n / len(clients)
        self.n_sports = max(1, round(per_client / share / step)) * step
        if self.n_sports > MAX_SPORTS:
            raise ValueError('%d connections need too many source ports' % n)
        self.ports = [client.port for client in clients]

    @property
    def per_client(self):
        return self.n_sports * self.share

    def __len__(self):
        return self.per_client * len(self.clients)

    def program(self, phase, first=0, n_sports=None, **limits):
        """All connections, or those of some of the source ports."""
        sports = FIRST_SPORT + first, n_sports or self.n_sports
        for client in self.clients:
            packets = [packet(self.protocol, client, target, phase)
                       for target in self.targets]
            self.generator.program(client.port, packets, sports, self.share,
                                   **limits)

    def some(self, n):
        """About 'n' of them."""
        part = copy.copy(self)
        part.n_sports = max(1, round(self.n_sports * n / len(self)))
        return part

    def establish(self, rate=HANDSHAKE_RATE, at_once=HANDSHAKES):
        """Returns when every connection has seen packets both ways."""
        step = max(1, len(self.targets) // self.share)
        per_sport = self.share * len(self.clients)
        answers = -sum(self.generator[port].tx for port in self.ports)
        part = max(1, at_once // per_sport // step) * step
        for first in range(0, self.n_sports, part):
            self.shake_hands(first, min(part, self.n_sports - first), rate)
        self.generator.stop()
        answers += sum(self.generator[port].tx for port in self.ports)
        n = self.switch.n_connections()
        if min(n, answers) < 0.99 * len(self):
            raise RuntimeError('of %d connections %d are there, %d answered'
                               % (len(self), n, answers))

    def shake_hands(self, first, n_sports, rate):
        for phase in ('syn', 'ack') if self.protocol == 'tcp' else ('data',):
            self.program(phase, first, n_sports,
                         count=n_sports * self.share,
                         rate=rate // len(self.clients),
                         backlog=HANDSHAKE_BACKLOG)
            self.generator.start(*self.ports)
            self.generator.wait(self.ports, 120)
            time.sleep(0.1)             # For the answers.

    def send(self, **limits):
        """Starts to send, and returns when each connection had its turn."""
        self.program('data', **limits)
        self.generator.start(*self.ports)
        started = time.monotonic()
        self.wait_turn()
        time.sleep(max(0, started + 1 - time.monotonic()))

    def wait_turn(self):
        """Returns when each connection had its turn."""
        before = self.sent()
        started = time.monotonic()
        timeout = 20 + len(self) / SLOWEST
        while (self.sent() - before < len(self)
               and time.monotonic() - started < timeout):
            time.sleep(0.02)

    def sent(self):
        return sum(self.generator[port].rx for port in self.ports)


def every_connection(sw, node, targets, share):
    """As many TCP connections as there are source ports for."""
    clients = node.cluster.clients
    return Connections(sw, clients, targets, 'tcp',
                       MAX_SPORTS * share * len(clients), share)


def all_ports(pods):
    return [cluster.GATEWAY_PORT, switch.PHYSICAL_SLOT] + [
        pod.port for pod in pods]


def serve(sw, node, mode=generator.ECHO):
    """Has the web servers, here and elsewhere, answer (or only listen)."""
    sw.generator.set_mode(mode, switch.PHYSICAL_SLOT,
                          *(web.port for web in node.cluster.webs))

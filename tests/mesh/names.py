# SPDX-License-Identifier: Apache-2.0
"""Names that Pods ask DNS servers for, what these answer, and what Nodes know
of it.  A zone is {name: {'addresses': [...]} or {'cname': another name}}."""

import collections
import socket
import struct

import frames
from burst import Burst, Probe
from cluster import NODE_NAMES, PODS, arrives_at
from evaluate import Packet

TYPES = {4: 1, 6: 28}           # Of records with addresses, by family.
CNAME = 5
TTL = 86400                     # In no run anything is over.
ANSWER, NXDOMAIN = 0x8180, 3
SOURCE_PORTS = 20000, 40000     # As those of other probes: for sourcePort.


def encode(name):
    return b''.join(bytes([len(label)]) + label.encode()
                    for label in name.split('.')) + b'\0'


def query(ident, name, family):
    return (struct.pack('!HHHHHH', ident, 0x0100, 1, 0, 0, 0) + encode(name)
            + struct.pack('!HH', TYPES[family], 1))


def record(name, kind, data):
    return encode(name) + struct.pack('!HHIH', kind, 1, TTL, len(data)) + data


def records(zone, name, family):
    """What is told of a name: [record], [address]."""
    entry = zone.get(name)
    if entry is None:
        return [], []
    if 'cname' in entry:
        found, addresses = records(zone, entry['cname'], family)
        return [record(name, CNAME, encode(entry['cname']))] + found, addresses
    addresses = [address for address in entry['addresses']
                 if (':' in address) == (family == 6)]
    return [record(name, TYPES[family], frames.packed(address))
            for address in addresses], addresses


def answer(message, found, is_known):
    return (message[:2] + struct.pack('!HHHHH', ANSWER | (
        0 if is_known else NXDOMAIN), 1, len(found), 0, 0)
        + message[12:] + b''.join(found))


# 'record': the family of the addresses that are asked for; 'family': by which
# it is asked.
Question = collections.namedtuple('Question',
                                  'place server name record family')


class Names:
    """'known': {Node: {name: addresses}}"""

    def __init__(self):
        self.known = {node: {} for node in NODE_NAMES.values()}
        self.zone = {}
        self.asked = []         # Questions of this set.
        self.n_asked = 0        # Of all: makes source ports new.
        self.n_told = 0         # Answers that rules are about.

    def settle(self, world):
        """With each change of objects Nodes forget what no policy of theirs
        is about any more."""
        for node, names in self.known.items():
            for name in [name for name in names
                         if not world.keeps_name(node, name)]:
                del names[name]

    def told(self, world, place, name, addresses):
        """An answer has got to the Pod."""
        pod = next(pod for pod in world.pods
                   if '%s/%s' % (pod.namespace, pod.name) == place.name)
        if (addresses and world.heeds_names(pod)
                and world.keeps_name(pod.node, name)):
            self.known[pod.node].setdefault(name, set()).update(addresses)
            self.n_told += 1

    def source_port(self):
        self.n_asked += 1
        return (SOURCE_PORTS[self.n_asked % 2]
                + self.n_asked // 2 % 10000)


class Asking(Burst):
    """Pods ask Questions, those of the world's family."""

    def __init__(self, world, names, asked):
        super().__init__(world)
        self.names = names
        for question in asked:
            if question.family == self.family:
                self.add(question)
                if question not in names.asked:
                    names.asked.append(question)

    def add(self, question):
        p = Probe(frames.DNS_NUMBER | len(self.probes), question.place,
                  question.place, question.server, self.family)
        p.protocol, p.dport = frames.UDP, frames.DNS_PORT
        p.name, p.record = question.name, question.record
        p.sport = self.names.source_port()
        self.probes.append(p)

    def renew(self, p):
        p.sport = self.names.source_port()

    def payload(self, p, src, dst):
        return socket.IPPROTO_UDP, frames.udp(
            src, dst, p.sport, p.dport,
            query(p.number & 0xffff, p.name, p.record))

    def answer(self, p, frame):
        found, addresses = records(self.names.zone, p.name.lower(),
                                   p.record)
        self.names.told(self.world, p.source, p.name.lower(), addresses)
        return socket.IPPROTO_UDP, frames.udp(
            frame.dst, frame.src, frame.dport, frame.sport,
            answer(frame.data, found, p.name.lower() in self.names.zone))

    def outcomes(self, p):
        return [(arrives_at(p.sender, p.target), self.world.connection(
            p.src, p.dst, Packet(p.protocol, p.sport, p.dport, None)))]

# SPDX-License-Identifier: Apache-2.0
"""Multicast groups of IPv4: what Pods report by IGMP, who gets what is sent to
groups, and who is asked by queries."""

import time

import frames
from burst import Burst, Probe
from cluster import (GATEWAYS, NODE_IPS, NODE_NAMES, NODES, OUTSIDERS, PLACES,
                     PODS, gateway, port_name)
from evaluate import ALLOW, DROP, EGRESS, INGRESS, QUERY, Outcome, Packet
from prober import PATIENCE, Lost

GROUPS = '239.1.1.1', '239.1.2.3', '232.7.7.7', '224.0.0.251'
PORTS = 80, 81
NUMBER = 0xe0000000             # And an index: a probe's number.
# What is sent and reported, [(Pod, type, does it join, groups)], is in order
# for each Pod; these are the types.
KINDS = {'v1': (frames.REPORT_V1, True), 'v2': (frames.REPORT_V2, True),
         'leave': (frames.LEAVE, False), 'join3': (frames.REPORT_V3, True),
         'leave3': (frames.REPORT_V3, False)}


class Groups:
    """Who is a member of what; 'call' calls a method of a Node's control
    socket."""

    def __init__(self, call):
        self.call = call
        self.n_reports = 0
        self.members = {group: set() for group in GROUPS}

    def forget(self, name):
        """A Pod has gone."""
        for pods in self.members.values():
            pods.discard(name)

    def report(self, prober, world, reports):
        """Pods report; returns what arrived of it, though nothing must."""
        pods = {'%s/%s' % (pod.namespace, pod.name): pod for pod in world.pods}
        burst, sent, strange = Burst(world), [], []
        for name, kind, groups in reports:
            number, joins = KINDS[kind]
            sent += list(self.report_frames(prober, PLACES[name], number,
                                            joins, groups))
            self.n_reports += len(groups)
            for group in groups:
                allowed = world.allows_igmp(pods[name], EGRESS, number, group)
                if joins and allowed:
                    self.members[group].add(name)
                elif joins or allowed:
                    self.members[group].discard(name)
        burst.send(prober, sent, strange)
        self.settle()
        return strange

    def report_frames(self, prober, place, kind, joins, groups):
        for dst, message in frames.igmp_report(
                kind, joins, [frames.packed(group) for group in groups]):
            yield place, multicast_frame(prober, place,
                                         frames.packed(place.addresses[4]),
                                         dst, frames.IGMP, message)

    def expected(self, node):
        """The records of the groups."""
        found = {}
        for group, names in self.members.items():
            places = [PLACES[name] for name in names]
            if places:
                found[group] = (
                    {port_name(place) for place in places
                     if place.node == node},
                    {NODE_IPS[place.node] for place in places
                     if place.node != node})
        return found

    def seen(self, node):
        records = self.call(node, 'get', kind='MulticastGroup')['records']
        return {record['name']: (set(record.get('ports', [])),
                                 set(record.get('nodes', [])))
                for record in records}

    def all_read(self, node):
        counters = self.call(node, 'stats')['multicast']
        return counters['messages'] == counters['read']

    def settle(self):
        """Waits until what Pods reported is in force on both Nodes."""
        end = time.monotonic() + PATIENCE
        while not all(self.all_read(node)
                      and self.seen(node) == self.expected(node)
                      for node in NODES):
            if time.monotonic() > end:
                raise Lost('members of groups: ' + '; '.join(
                    '%s has %s, not %s' % (node, self.seen(node),
                                           self.expected(node))
                    for node in NODES))
            time.sleep(0.01)


def multicast_frame(prober, sender, src, dst, number, payload):
    return frames.ip_frame(
        frames.multicast_mac(dst), frames.mac(sender.mac), src, dst, number,
        payload, frames.ROUTER_ALERT if number == frames.IGMP else b'')


class Sending(Burst):
    """All send to all groups, and Nodes and Pods ask who is in them.  'step'
    makes source ports new."""

    def __init__(self, world, groups, step, only=None):
        super().__init__(world)
        self.groups = groups
        self.pods = {'%s/%s' % (pod.namespace, pod.name): pod
                     for pod in world.pods}
        for group in GROUPS + (frames.ALL_HOSTS,):
            for sender in PODS + GATEWAYS:
                for port in PORTS:
                    self.add(sender, sender, group, frames.UDP, port, step)
            for place in GATEWAYS:
                self.add(OUTSIDERS[0], place, group, frames.UDP, 80, step)
                self.add(OUTSIDERS[0], place, group, 'IGMP', QUERY, step)
                self.add(place, place, group, 'IGMP', QUERY, step)
            self.add(PODS[step % len(PODS)], PODS[step % len(PODS)], group,
                     'IGMP', QUERY, step)
        if only is not None:
            kinds = {p.kind() for p in only}
            self.probes = [p for p in self.probes if p.kind() in kinds]

    def add(self, source, sender, group, protocol, dport, step):
        index = len(self.probes)
        p = Probe(NUMBER | index, source, sender, None, 4)
        p.dst, p.protocol, p.dport = group, protocol, dport
        p.sport = 0 if protocol == 'IGMP' else (
            20000 + 20000 * ((index + step) % 2) + (step * 7 + index) % 10000)
        self.probes.append(p)

    def frames(self, prober, probes):
        for p in probes:
            src, dst = frames.packed(p.src), frames.packed(p.dst)
            if p.protocol == 'IGMP':
                number, payload = frames.IGMP, frames.igmp_query(dst, p.number)
            else:
                number, payload = self.payload(p, src, dst)
            yield p.sender, multicast_frame(prober, p.sender, src, dst,
                                            number, payload)

    def answer(self, p, frame):
        return None

    # --- what must come of it -----------------------------------------------

    def outcomes(self, p):
        return [(None, Outcome(ALLOW if self.receivers(p) else DROP,
                               'members: ' + ' '.join(sorted(
                                   self.groups.members.get(p.dst, ())))))]

    def wanted(self, p, place, outcome):
        return sorted(('arrived', name) for name in self.receivers(p))

    def receivers(self, p):
        """Members on the sender's Node but itself, those of others if it is
        a Pod, and then whoever is outside."""
        node = p.sender.node
        members = self.groups.members.get(p.dst, set())
        here = {name for name in members if PLACES[name].node == node}
        if p.protocol == 'IGMP':
            if p.sender.kind == 'pod':
                return set()
            if p.dst == frames.ALL_HOSTS:
                here = {place.name for place in PODS if place.node == node}
            return {name for name in here if self.world.allows_igmp(
                self.pods[name], INGRESS, QUERY, p.dst, p.src)}
        if p.sender.kind == 'gateway':
            return here
        if not self.world.allows_multicast(
                self.pods[p.sender.name], p.dst,
                Packet(p.protocol, p.sport, p.dport, None)):
            return set()
        return (members - {p.sender.name}) | {gateway(p.sender).name}

# SPDX-License-Identifier: Apache-2.0
"""The built-in pipeline as records make it: they change while connections live.

Our switch is told records, and the stock one gets the flows, groups and meters
that ours then has: only those that differ, so that all others count on."""

import json
import os
import re

import pipeline
from talk import World

# Reject and logs go to a controller, as in stock: else the datapath answers
# and writes them itself.
OPTIONS = 'packet-in'
IPS = {port: ips[0] for port, (_, ips) in pipeline.HOSTS.items()}
PODS = ['client', 'web', 'db']
GROUPS = ['client', 'web', 'db', 'odd']
APPLIED = ['web', 'db-pod', 'some']


class Sync:
    """Keeps the stock switch's flows, groups and meters as ours are."""

    def __init__(self, pair):
        self.pair = pair
        self.known = {'flows': {}, 'groups': {}, 'meters': {}}

    def run(self):
        """Returns meters to add, and lines for "ovs-ofctl bundle"."""
        ours = self.pair.ours
        now = {'flows': dict(map(split_flow, ours.ofctl(
                   'dump-flows', '--no-stats', '--no-names').splitlines())),
               'groups': dict(map(split_group, ours.ofctl(
                   'dump-groups', '--no-names').splitlines()[1:])),
               'meters': split_meters(ours.ofctl('dump-meters'))}
        lines = []
        old, new = self.known['groups'], now['groups']
        gone = [group for group in old if group not in new]
        lines += ['group %s %s,%s' % ('modify' if group in old else 'add',
                                      group, new[group])
                  for group in new if old.get(group) != new[group]]
        old, new = self.known['flows'], now['flows']
        lines += ['flow delete_strict ' + match for match in old
                  if match not in new]
        for match, (cookie, actions) in new.items():
            if match not in old or old[match][0] != cookie:
                lines.append('flow add %s,%s,actions=%s' % (cookie, match,
                                                            actions))
            elif old[match][1] != actions:
                lines.append('flow modify_strict %s,actions=%s' % (match,
                                                                   actions))
        lines += ['group delete ' + group for group in gone]
        meters = ['%s,%s' % meter for meter in now['meters'].items()
                  if meter[0] not in self.known['meters']]
        self.known = now
        return meters, lines


def split_flow(line):
    """What identifies a flow; its cookie and actions."""
    head, actions = line.strip().split(' actions=', 1)
    cookie, match = head.split(', ', 1)
    return match.replace(' ', ''), (cookie.strip(), actions)


def split_group(line):
    number, rest = line.strip().split(',', 1)
    return number, rest


def split_meters(text):
    """Meter -> what it is, as "ovs-ofctl add-meter" reads both."""
    found = {}
    for each in re.split(r'^(?=meter=)', text, flags=re.M)[1:]:
        words = each.split()
        found[words[0]] = ','.join(words[1:]).replace('bands=,', 'bands=')
    return found


class RecordChanges:
    """As changes.Changes: one() at a time, until undo_all()."""
    limited = timed = 0

    def __init__(self, rnd, pair, state):
        self.rnd, self.pair, self.state = rnd, pair, state
        self.n = 0
        self.policies = []
        self.away = []                  # Pods that have been deleted.

    def one(self, talks):
        kind = self.rnd.choices(
            [self.add_policy, self.delete_policy, self.group, self.applied,
             self.service, self.pod, self.again, self.several],
            [5, 3, 4, 3, 3, 2, 1, 2])[0]
        self.do(*kind())

    def do(self, apply=(), delete=()):
        if apply or delete:
            self.pair.do(['records', list(apply), list(delete)])

    def undo_all(self):
        """All that there was at first, and nothing else."""
        self.do(self.state, [{'kind': 'NetworkPolicy', 'name': name}
                             for name in self.policies])
        self.policies.clear()
        self.away.clear()

    # Each returns what to apply, and what to delete.

    def add_policy(self):
        rnd = self.rnd
        self.n += 1
        kind = rnd.choice(['AntreaClusterNetworkPolicy', 'K8sNetworkPolicy',
                           'AntreaNetworkPolicy', 'AntreaNetworkPolicy',
                           'AdminNetworkPolicy',
                           'BaselineAdminNetworkPolicy'])
        record = {'kind': 'NetworkPolicy', 'name': '%s:x/%d' % (kind, self.n),
                  'type': kind, 'appliedToGroups': rnd.sample(
                      APPLIED, rnd.choice([1, 1, 2])),
                  'rules': [self.rule(kind)
                            for _ in range(rnd.choice([1, 1, 2, 4]))]}
        if kind != 'K8sNetworkPolicy':
            # A priority of its own, since nobody says which of two comes first.
            record['priority'] = 10 + self.n
            record['tierPriority'] = {
                'AdminNetworkPolicy': 251, 'BaselineAdminNetworkPolicy': 253,
            }.get(kind, rnd.choice([50, 150, 250, 253]))
        self.policies.append(record['name'])
        return [record], []

    def rule(self, kind):
        rnd = self.rnd
        direction = rnd.choice(['In', 'Out'])
        rule = {'direction': direction}
        if kind != 'K8sNetworkPolicy':
            rule['action'] = rnd.choice(['Allow', 'Drop', 'Drop', 'Reject'])
            rule['name'] = 'r%d' % rnd.randrange(1000)
        peer = {}
        if rnd.random() < .6:
            peer['addressGroups'] = rnd.sample(GROUPS, rnd.choice([1, 2]))
        if rnd.random() < .4:
            peer['ipBlocks'] = [rnd.choice([
                {'cidr': '0.0.0.0/0'}, {'cidr': '10.10.0.0/24'},
                {'cidr': '10.0.0.0/8', 'except': ['10.10.0.24/31']},
                {'cidr': '192.168.77.0/24'}])]
        if peer or kind == 'K8sNetworkPolicy':
            rule['from' if direction == 'In' else 'to'] = peer
        if rnd.random() < .7:
            rule['services'] = [rnd.choice([
                {'protocol': 'TCP', 'port': 80}, {'protocol': 'TCP'},
                {'protocol': 'TCP', 'port': 3306, 'endPort': 3400},
                {'protocol': 'UDP', 'port': 80, 'endPort': 443},
                {'protocol': 'UDP'}, {'protocol': 'ICMP'},
                {'protocol': 'ICMP', 'icmpType': 8, 'icmpCode': 0},
                {'protocol': 'SCTP', 'port': 3868}])
                for _ in range(rnd.choice([1, 1, 2]))]
        return rule

    def delete_policy(self):
        if not self.policies:
            return self.add_policy()
        name = self.policies.pop(self.rnd.randrange(len(self.policies)))
        return [], [{'kind': 'NetworkPolicy', 'name': name}]

    def group(self):
        rnd = self.rnd
        addresses = rnd.sample(list(IPS.values()) + ['10.10.0.0/30',
                                                     '192.168.77.1'],
                               rnd.randrange(4))
        return [{'kind': 'AddressGroup', 'name': rnd.choice(GROUPS),
                 'addresses': addresses}], []

    def applied(self):
        rnd = self.rnd
        return [{'kind': 'AppliedToGroup', 'name': rnd.choice(APPLIED),
                 'pods': ['default/' + pod for pod in rnd.sample(
                     PODS, rnd.randrange(4))]}], []

    def service(self):
        """Each port has one endpoint at the most: which of several is chosen
        differs from stock."""
        rnd = self.rnd
        ports = []
        for protocol, port in ('TCP', 80), ('UDP', 443), ('SCTP', 80):
            if rnd.random() < .8:
                endpoints = [{'ip': IPS[rnd.choice(PODS)], 'local': True,
                              'port': rnd.choice([80, 443, 8080, 3868])}]
                ports.append({'port': port, 'protocol': protocol,
                              'endpoints': endpoints[:rnd.choice([0, 1, 1, 1])]})
        record = {'kind': 'Service', 'name': 'default/' + rnd.choice(
            ['clusterip', 'lb', 'third']), 'ports': ports}
        address = {'default/clusterip': '10.105.31.235',
                   'default/third': '10.101.255.29'}.get(record['name'])
        if address:
            record['clusterIP'] = address
        else:
            record['loadBalancerIPs'] = ['192.168.77.150']
            record['externalTrafficPolicy'] = rnd.choice(['Cluster', 'Local'])
        return ([record] if ports else []), []

    def pod(self):
        """One goes, or comes back."""
        if self.away:
            return [self.away.pop()], []
        pod = self.rnd.choice([record for record in self.state
                               if record['kind'] == 'Pod'])
        self.away.append(pod)
        return [], [{'kind': 'Pod', 'name': pod['name']}]

    def again(self):
        """What is there already, or was there first."""
        away = {record['name'] for record in self.away}
        return [record for record in self.state
                if record['name'] not in away], []

    def several(self):
        """One transaction of some, each of another kind."""
        apply, delete = self.add_policy()
        for kind in self.rnd.sample([self.group, self.applied, self.service],
                                    2):
            more, _ = kind()
            apply += more
        return apply, delete


def initial():
    with open(os.path.join(pipeline.here, 'state.json')) as f:
        state = json.load(f)
    return state + [
        {'kind': 'AddressGroup', 'name': 'db',
         'addresses': [IPS['db']]},
        {'kind': 'AddressGroup', 'name': 'odd', 'addresses': ['10.10.0.0/30']},
        {'kind': 'AppliedToGroup', 'name': 'some',
         'pods': ['default/client']}]


def run(pair, rnd, n_packets, traffic):
    pair.do(['pipeline', 'v1.15', OPTIONS])
    state = initial()
    names = set()
    state = [record for record in reversed(state)
             if (record['kind'], record['name']) not in names
             and not names.add((record['kind'], record['name']))][::-1]
    pair.do(['records', state, []])
    # Flows of one priority may fit the same packet, as rules of Kubernetes'
    # policies do, and which of them counts it, or gives the connection its
    # number as label, is nowhere said.
    traffic(rnd, pair, World(pipeline.HOSTS, pipeline.destinations),
            RecordChanges(rnd, pair, state),
            compared='connections unlabelled').run(n_packets)
    pair.do(['pipeline', 'none', OPTIONS])

# SPDX-License-Identifier: Apache-2.0
"""Antrea policies through the control socket: many at once, one more among
them, none again.  Stock has no such thing and is left out."""

import json
import random
import threading
import time

import cluster
import priority
import standstill
import unixctl
from case import Case, Sample
from results import OURS, Limit

SIZES = (1000, 2), (400, 10), (3000, 10)    # Policies, rules of each.
APPLICATION_TIER = 250
PODS, ADDRESS_GROUPS = 20, 50
COMMON_PORTS = 80, 443, 8080, 5432
SETTLE_SECONDS = 1              # Until removed flows are gone for good.


class State(unixctl.Control):
    """The typed state of a bridge with the pipeline v1.15."""

    def __init__(self, switch):
        switch.add_bridge(cluster.Cluster(pods=PODS).pods)
        switch.vsctl('set', 'bridge', 'br-int',
                     'other_config:antrea-dp-pipeline=v1.15')
        super().__init__(switch.dir + '/antrea-dp.sock')
        self.switch = switch

    def call(self, method, records):
        """Seconds until it is in force, and what the main thread did."""
        request = {'method': method, 'id': 0,
                   'params': [{'bridge': 'br-int', 'records': records}]}
        text = json.dumps(request).encode()
        self.method = method
        with Turns(self.switch) as turns:
            started, cpu = time.monotonic(), -self.cpu_seconds()
            self.socket.sendall(text)
            error = self.receive()[1]
            seconds = time.monotonic() - started
            cpu += self.cpu_seconds()
            time.sleep(SETTLE_SECONDS)
        if error is not None:
            raise RuntimeError('%s: %s' % (method, error))
        return seconds, {'cpu_ms': cpu * 1000,
                         **turns.details()}

    def cpu_seconds(self):
        """Of the main thread, which others may keep from its core."""
        pid = self.switch.vswitchd.pid
        with open('/proc/%d/task/%d/schedstat' % (pid, pid)) as f:
            return int(f.read().split()[0]) / 1e9


class Turns(threading.Thread):
    """Asks ovs-vswitchd's main thread for its version all the time: the
    longest that it takes to answer is its longest turn.  What counts as 'here'
    is without what the thread, one that works in its place, and this one waited
    for their core while something else ran there, and while it stood still."""

    def __init__(self, switch):
        super().__init__(daemon=True)
        self.control = unixctl.Control(switch.dir + '/vswitchd.ctl')
        self.longest, self.ends = 0, False
        self.turns = []                 # Begun, ended, seconds of it here.
        self.switch, self.waiters = switch, []

    def __enter__(self):
        self.witness = standstill.Witness(self.switch.machine,
                                          self.switch.machine.main_core)
        self.start()
        return self

    def __exit__(self, *args):
        self.ends = True
        self.join()
        self.silences = self.witness.silences()
        self.control.close()
        for waiter in self.waiters:
            waiter.close()

    def run(self):
        priority.yield_to_daemons()
        pid = self.switch.vswitchd.pid
        self.waiters = [
            open('/proc/self/task/%d/schedstat' % threading.get_native_id())
        ] + [open('/proc/%d/task/%d/schedstat' % (pid, task))
             for task in [pid, *self.switch.threads('adp_job')]]
        waited = self.waited()
        while not self.ends:
            asked = time.monotonic()
            self.control('version')
            took = time.monotonic() - asked
            before, waited = waited, self.waited()
            self.longest = max(self.longest, took)
            self.turns.append((asked, asked + took, took - (waited - before)))
            time.sleep(0.0005)

    def details(self):
        """Of a Sample, after exit from the context."""
        here = 0
        for begun, ended, seconds in self.turns:
            if seconds > here:
                here = max(here, seconds - standstill.overlap(
                    begun, ended, self.silences))
        return {'turn_ms': self.longest * 1000, 'turn_here_ms': here * 1000}

    def waited(self):
        """Seconds."""
        total = 0
        for waiter in self.waiters:
            waiter.seek(0)
            total += int(waiter.read().split()[1])
        return total / 1e9


def world():
    """The Node, its Pods, and groups of both kinds."""
    yield {'kind': 'NodeConfig', 'name': 'node', 'podCIDR': '10.10.0.0/24',
           'gateway': {'port': 'antrea-gw0', 'mac': cluster.GATEWAY_MAC,
                       'ip': cluster.GATEWAY_IP},
           'transportIP': cluster.NODE_IP}
    for pod in cluster.Cluster(pods=PODS).pods:
        name = 'default/pod%d' % pod.index
        yield {'kind': 'Pod', 'name': name, 'port': 'pod%d' % pod.index,
               'mac': pod.mac, 'ips': [pod.ip]}
        yield {'kind': 'AppliedToGroup', 'name': 'pod%d' % pod.index,
               'pods': [name]}
    for i in range(ADDRESS_GROUPS):
        yield {'kind': 'AddressGroup', 'name': 'group%d' % i,
               'addresses': ['10.20.%d.%d' % (i, j) for j in range(3)]}


class Policies:
    """Policies of priorities 2, 3, ..., random but always the same."""

    def __init__(self, n, n_rules):
        self.n, self.n_rules, self.rng = n, n_rules, random.Random(1)
        self.all = [self.policy('policy%d' % i, i + 2) for i in range(n)]

    def policy(self, name, priority):
        return {'kind': 'NetworkPolicy', 'name': name,
                'type': 'AntreaClusterNetworkPolicy',
                'tierPriority': APPLICATION_TIER, 'priority': priority,
                'appliedToGroups': ['pod%d' % self.rng.randrange(PODS)],
                'rules': [self.rule() for _ in range(self.n_rules)]}

    def rule(self):
        rng, kind = self.rng, self.rng.random()
        rule = {'direction': 'In', 'action': rng.choice(('Allow', 'Drop')),
                'services': [{'protocol': 'TCP', 'port':
                              rng.choice(COMMON_PORTS) if rng.random() < 0.7
                              else rng.randrange(1, 60000)}]}
        if kind < 0.5:
            rule['from'] = {'addressGroups': [
                'group%d' % rng.randrange(ADDRESS_GROUPS)]}
        elif kind < 0.8:
            rule['from'] = {'ipBlocks': [{'cidr': '10.%d.%d.0/24' % (
                rng.randrange(30, 200), rng.randrange(256))}]}
        return rule

    def places(self):
        """Priorities before, between and behind all others."""
        return {'highest': 1, 'middle': self.n // 2 + 0.5,
                'lowest': self.n + 2}


def key(record):
    return {'kind': record['kind'], 'name': record['name']}


class Change(Case):
    more_is_better = False

    def __init__(self, name, size, goal):
        super().__init__(name, goal)
        self.size = size

    def run(self, switch):
        if switch.side.name != OURS:
            return []
        state, policies = State(switch), Policies(*self.size)
        state.call('apply', list(world()))
        try:
            return self.measure(state, policies)
        finally:
            state.close()


class Load(Change):
    unit = 's'

    def measure(self, state, policies):
        seconds, details = state.call('apply', policies.all)
        return [Sample(seconds, **details)]


class Remove(Change):
    unit = 's'

    def measure(self, state, policies):
        state.call('apply', policies.all)
        seconds, details = state.call('delete', [key(p) for p in policies.all])
        return [Sample(seconds, **details)]


class Add(Change):
    """One policy, at each place, and away again."""

    unit = 'ms'

    def measure(self, state, policies):
        state.call('apply', policies.all)
        return [self.add(state, policies.policy('more', priority), place)
                for place, priority in policies.places().items()]

    @staticmethod
    def add(state, policy, place):
        seconds, details = state.call('apply', [policy])
        gone, _ = state.call('delete', [key(policy)])
        return Sample(seconds * 1000, place=place, gone_ms=gone * 1000,
                      **details)


def cases():
    for size in SIZES:
        name = '%dx%d' % size
        yield Load('policy-load-' + name, size, Limit(5, '5 s'))
        yield Add('policy-add-' + name, size, Limit(200, '200 ms'))
        yield Remove('policy-gone-' + name, size, Limit(5, '5 s'))

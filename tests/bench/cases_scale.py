# SPDX-License-Identifier: Apache-2.0
"""What grows with the cluster: changes of a large state under load, tunnels
to many nodes, verdicts that come and go, two packet threads."""

import json
import random
import re
import select
import socket
import statistics
import time

import cluster
import meter
import node
import traffic
from case import Case, Sample
from cases_established import SECONDS, WINDOWS, Established, ToRemote
from cases_memory import resident_bytes
from cases_policies import PODS, State, Turns
from cases_stress import Background
from results import OURS, Limit, NothingLost, OwnTimes

SIZES = {'1k': 1000, '10k': 10000, '100k': 100000}  # Policy rules.
RULES_OF_POLICY = 10
RULES_PER_GROUP, ADDRESSES = 20, 8      # Of a group.
COMMON_PORTS = 80, 443, 8080, 5432
STAGED = 500                    # Records in one message.
CHANGES = 20                    # That are measured one by one.
CHANGE_RATE, CHANGE_SECONDS = 1000, 60
SLOWLY = 40000                  # Handshakes, where each makes a tunnel way.
CALM_SECONDS = 20
SPARED_PODS = 8                 # Clients and servers of the load beside it.
CONNECTIONS = 1000              # Of that.


def address(number):
    return '10.%d.%d.%d' % (40 + number // 62500, number // 250 % 250,
                            1 + number % 250)


class Cluster:
    """Records of a Node with so many policy rules: random, but the same for
    each size.  Half of the rules are about a group of addresses, the others
    about four networks of their own."""

    def __init__(self, n_rules):
        self.rng = random.Random(n_rules)
        self.n_groups = n_rules // RULES_PER_GROUP
        self.n_policies = n_rules // RULES_OF_POLICY

    def node(self):
        yield {'kind': 'NodeConfig', 'name': 'node',
               'podCIDR': '10.10.0.0/24', 'serviceCIDR': cluster.SERVICE_NET,
               'gateway': {'port': 'antrea-gw0', 'mac': cluster.GATEWAY_MAC,
                           'ip': cluster.GATEWAY_IP},
               'transportIP': cluster.NODE_IP}
        for pod in cluster.Cluster(pods=PODS).pods:
            yield self.pod(pod.index)
            yield {'kind': 'AppliedToGroup', 'name': 'pod%d' % pod.index,
                   'pods': ['default/pod%d' % pod.index]}

    @staticmethod
    def pod(index, generation=0):
        """The same port with another address each time."""
        pod = cluster.Pod(index)
        return {'kind': 'Pod', 'name': 'default/pod%d' % index,
                'port': 'pod%d' % index, 'mac': pod.mac,
                'ips': [cluster.address(pod.ip, generation % 5 * 40)]}

    def group(self, index, n=ADDRESSES):
        return {'kind': 'AddressGroup', 'name': 'group%d' % index,
                'addresses': [address(index * 100 + i) for i in range(n)]}

    @staticmethod
    def service(index, first, n=10):
        return {'kind': 'Service', 'name': 'default/service%d' % index,
                'clusterIP': cluster.address('10.96.10.0', index),
                'ports': [{'port': 80, 'endpoints': [
                    {'ip': cluster.address('10.11.0.10', (first + i) % 200),
                     'port': 80} for i in range(n)]}]}

    def policies(self):
        for i in range(self.n_policies):
            yield {'kind': 'NetworkPolicy',
                   'name': 'K8sNetworkPolicy:default/policy%d' % i,
                   'type': 'K8sNetworkPolicy',
                   'appliedToGroups': ['pod%d' % self.rng.randrange(PODS)],
                   'rules': [self.rule() for _ in range(RULES_OF_POLICY)]}

    def rule(self):
        rng = self.rng
        ports = rng.sample(COMMON_PORTS, 2) + [rng.randrange(1, 60000)]
        peer = ({'addressGroups': ['group%d' % rng.randrange(self.n_groups)]}
                if rng.random() < 0.5 else
                {'ipBlocks': [{'cidr': '%d.%d.%d.0/24' % (
                    rng.randrange(11, 190), rng.randrange(256),
                    rng.randrange(256))} for _ in range(4)]})
        return {'direction': 'In', 'from': peer, 'services': [
            {'protocol': 'TCP', 'port': port} for port in ports]}

    def records(self):
        yield from (self.group(i) for i in range(self.n_groups))
        yield from self.policies()


class LoadedState(State):
    """The state of a bridge through which a client and a server talk."""

    def __init__(self, switch, n_rules):
        super().__init__(switch)
        self.cluster = Cluster(n_rules)
        self.call('apply', list(self.cluster.node()))

    def load(self):
        """All policies in one transaction, which comes in pieces."""
        records = list(self.cluster.records())
        for first in range(0, len(records), STAGED):
            self.send_params('stage', apply=records[first:first + STAGED])
            self.reply()
        request = self.text('transact', staged=True)
        with Turns(self.switch) as turns:
            started = time.monotonic()
            self.socket.sendall(request)
            self.reply()
            seconds = time.monotonic() - started
        return seconds, turns

    def change(self, record):
        """Milliseconds until it is in force."""
        request = self.text('apply', records=[record])
        started = time.monotonic()
        self.socket.sendall(request)
        self.reply()
        return (time.monotonic() - started) * 1000

    def text(self, method, **params):
        self.method = method
        return json.dumps({'method': method, 'id': 0, 'params': [
            dict(params, bridge='br-int')]}).encode()

    def send_params(self, method, **params):
        self.socket.sendall(self.text(method, **params))

    def reply(self):
        result, error = self.receive()
        if error is not None:
            raise RuntimeError('%s: %s' % (self.method, error))
        return result


class Load(Background):
    """The background traffic of a bridge whose flows come from a state."""

    def __init__(self, switch):
        self.switch = switch
        self.cluster = cluster.Cluster(pods=PODS)
        self.client, self.web = self.cluster.clients[0], self.cluster.webs[0]
        self.pods = self.cluster.clients + self.cluster.webs
        traffic.serve(switch, self)
        self.connections = traffic.Connections(
            switch, [self.client],
            [traffic.Target(self.web.ip, self.web.mac, traffic.WEB_PORT)],
            'udp', CONNECTIONS, 1)
        self.connections.establish()
        self.unanswered = -self.sent_minus_arrived()
        self.connections.send(rate=1000000)
        self.running = [self.client.port]

    def calm(self):
        """What the machine takes without a change, as details of a Sample."""
        self.begin()
        time.sleep(CALM_SECONDS)
        self.finish()
        self.resume()
        return {'calm_' + name: n for name, n in self.losses().items()} | {
            'calm_away_percent': self.window.away_percent}


class StateCase(Case):
    unit = 'ms'
    more_is_better = False

    def __init__(self, name, n_rules, goal=None):
        super().__init__(name, goal)
        self.n_rules = n_rules

    def run(self, switch):
        if switch.side.name != OURS:
            return []
        state = LoadedState(switch, self.n_rules)
        try:
            return self.measure(switch, state)
        finally:
            state.close()


class StateLoad(StateCase):
    """The longest turn of the main thread while all rules are loaded."""

    def measure(self, switch, state):
        load, before = Load(switch), resident_bytes(switch)
        calm = load.calm()
        self.parts(switch)
        load.begin()
        seconds, turns = state.load()
        load.finish()
        return [Sample(turns.longest * 1000, None, seconds=seconds,
                       **turns.details(),
                       grown_mb=(resident_bytes(switch) - before) / 1e6,
                       parts=self.parts(switch),
                       flows=switch.ofctl('dump-flows').count('\n'),
                       **calm, **load.losses(), **load.window.summary())]

    @staticmethod
    def parts(switch):
        """What took the longest turn since the last call; nothing with a
        daemon that doesn't tell."""
        return switch.datapath_stats().get('turns', {}).get('recent')


class StateAddress(StateCase):
    """One address more in one group."""

    def measure(self, switch, state):
        load = Load(switch)
        state.load()
        time.sleep(2)
        return [self.change(switch, state, load, i) for i in range(CHANGES)]

    @staticmethod
    def change(switch, state, load, index):
        group = state.cluster.group(index % state.cluster.n_groups,
                                    ADDRESSES + 1 + index
                                    // state.cluster.n_groups)
        StateLoad.parts(switch)
        load.begin()
        with Turns(switch) as turns:
            time.sleep(0.1)
            took = state.change(group)
            time.sleep(0.2)
        load.finish()
        parts = StateLoad.parts(switch)
        load.resume()
        return Sample(took, None, **turns.details(),
                      parts=parts, **load.losses(),
                      **load.window.summary())


class Pipeline:
    """Changes of a state that are sent when they're due, whether those before
    them are answered or not: how long each took from then, in 'latencies'."""

    def __init__(self, state, rate):
        self.state, self.rate = state, rate
        self.started, self.n_sent = time.monotonic(), 0
        self.latencies, self.unsent, self.unread = [], b'', b''

    def due(self, i):
        return self.started + i / self.rate

    def send_due(self, record, n):
        """Those of 'n' that are due; what the daemon doesn't take yet waits."""
        now = time.monotonic()
        while self.n_sent < n and self.due(self.n_sent) <= now:
            self.unsent += self.state.text('apply',
                                           records=[record(self.n_sent)])
            self.n_sent += 1
        if self.unsent:
            try:
                sent = self.state.socket.send(self.unsent,
                                              socket.MSG_DONTWAIT)
                self.unsent = self.unsent[sent:]
            except BlockingIOError:
                pass

    def receive(self):
        data = self.state.socket.recv(1 << 20)
        now = time.monotonic()
        if not data:
            raise RuntimeError('ovs-vswitchd is gone')
        *lines, self.unread = (self.unread + data).split(b'\n')
        for line in lines:
            error = json.loads(line)['error']
            if error is not None:
                raise RuntimeError('apply: %s' % error)
            self.latencies.append((now - self.due(len(self.latencies)))
                                  * 1000)

    def run(self, record, n, seconds):
        """'record(i)' is the i-th change.  Ends after 'n', or 'seconds'."""
        fd, deadline = self.state.socket, self.started + seconds
        while len(self.latencies) < n and time.monotonic() < deadline:
            self.send_due(record, n)
            wait = (0.001 if self.unsent else
                    self.due(self.n_sent) - time.monotonic()
                    if self.n_sent < n else 1)
            if select.select([fd], [], [], max(0, wait))[0]:
                self.receive()


class StateChanges(StateCase):
    """Records change all the time: Pods, addresses of groups, endpoints."""

    def measure(self, switch, state):
        load = Load(switch)
        state.load()
        time.sleep(2)
        calm = load.calm()
        StateLoad.parts(switch)
        load.begin()
        with Turns(switch) as turns:
            pipeline = Pipeline(state, CHANGE_RATE)
            # If it doesn't keep up, that shows.
            pipeline.run(lambda i: self.record(state.cluster, i),
                         CHANGE_RATE * CHANGE_SECONDS, 2 * CHANGE_SECONDS)
            latencies = pipeline.latencies
        load.finish()
        latencies.sort()
        return [Sample(latencies[len(latencies) * 99 // 100], None,
                       median_ms=statistics.median(latencies),
                       most_ms=latencies[-1], changes=len(latencies),
                       **turns.details(),
                       parts=StateLoad.parts(switch), **calm,
                       **load.losses(), **load.window.summary())]

    @staticmethod
    def record(made, i):
        round_, kind = divmod(i, 3)
        if kind == 0:
            return made.pod(SPARED_PODS + round_ % (PODS - SPARED_PODS),
                            round_ // (PODS - SPARED_PODS))
        if kind == 1:
            return made.group(round_ % made.n_groups,
                              ADDRESSES - 5 + round_ // made.n_groups % 10)
        return made.service(round_ % 50, round_ // 50)


class Ways(ToRemote):
    """100,000 connections of 25 Pods with Pods on so many Nodes: for each of
    the pairs there is a verdict, for each of the Nodes a tunnel way."""

    clients = 25                # DPDK has room for 32 ports.
    # That the generator makes a Pod's packets from, for any number of Nodes: it would
    # be compared with itself otherwise.
    templates = 800
    handshakes = SLOWLY

    def __init__(self, name, n_nodes, goal=None):
        super().__init__(name, 'tcp', 100000, goal=goal)
        self.n_nodes = n_nodes

    def make_node(self):
        return node.make(rules=self.rules, pods=self.clients + 4,
                         clients=self.clients, nodes=self.n_nodes)

    def targets(self, n):
        nodes = traffic.remote_targets(n, self.n_nodes)
        return nodes * (self.templates // self.n_nodes)

    def share(self, targets):
        return self.n_nodes


class Churned(Case):
    """Packets of new connections a minute after many Pods came, talked, each
    with verdicts of its own, and went: the rate in percent of that before.
    'at_once' is that of others before the minute."""

    unit = '% of rate'
    comers, nodes = 18, 4000
    at_a_time = 1000            # Nodes that as many Pods talk to, ...
    patience = 75               # What no packet uses leaves within a minute.

    def run(self, switch):
        if switch.side.name != OURS:
            return []
        storms = range(0, self.nodes, self.at_a_time)
        clients = 4 + self.comers * len(storms)
        n = node.make(pods=clients + 6, clients=clients, webs=6,
                      nodes=self.nodes)
        self.node, self.switch = n, switch
        self.stayers = n.cluster.clients[:4] + n.cluster.webs
        comers = n.cluster.clients[4:]
        switch.add_bridge(self.stayers, n.cluster.nodes)
        switch.load(n.flows)
        self.set_flows([])
        traffic.serve(switch, n)
        webs = traffic.web_targets(n)
        before = self.rate(webs[:2])
        remote = traffic.remote_targets(n, self.nodes)
        for i, first in enumerate(storms):
            self.storm(comers[self.comers * i:self.comers * (i + 1)],
                       remote[first:first + self.at_a_time])
        switch.control('dpctl/flush-conntrack')
        at_once = self.rate(webs[2:4])
        time.sleep(self.patience)
        after = self.rate(webs[4:])

        def percent(window):
            return 100 * window.rate('rx') / statistics.median(
                b.rate('rx') for b in before)
        return [Sample(percent(a), a.cycles_per_packet, at_once=percent(o),
                       **a.summary()) for a, o in zip(after, at_once)]

    def set_flows(self, there):
        """All flows but those of Pods that aren't there."""
        away = [pod for pod in self.node.cluster.clients
                if pod not in there and pod not in self.stayers]
        names = re.compile('|'.join(
            r'\b%s\b' % re.escape(name) for pod in away for name in
            (pod.ip, pod.mac, 'in_port=%d' % pod.port)))
        self.switch.ofctl('replace-flows', '-', stdin='\n'.join(
            flow for flow in self.node.flows.flows
            if not names.search(flow)) + '\n')

    def storm(self, pods, targets):
        """Pods come, each talks to each target, and they go."""
        switch = self.switch
        switch.vsctl(*switch.pod_args(pods))
        switch.check_ports()
        self.set_flows(pods)
        connections = traffic.Connections(switch, pods, targets, 'tcp',
                                          len(targets) * len(pods),
                                          len(targets))
        connections.establish(SLOWLY)
        connections.send(rate=2000)
        switch.generator.stop()
        args = []
        for pod in pods:
            args += ['--', 'del-port', 'br-int', 'pod%d' % pod.index]
        switch.vsctl(*args)
        self.set_flows([])

    def rate(self, targets):
        connections = traffic.Connections(
            self.switch, self.node.cluster.clients[:4], targets, 'tcp', 1000,
            len(targets))
        connections.establish()
        connections.send()
        windows = [meter.quiet_window(self.switch,
                                      traffic.all_ports(self.stayers),
                                      SECONDS) for _ in range(WINDOWS)]
        self.switch.generator.stop()
        return windows


class Many(Established):
    """Between 20 Pods and 8 others: there are source ports for 10 million.  'n_talking'
    of them, or all, send packets, and the others are there."""

    clients, webs = 20, 8
    room = 1.3                  # Of what is limited, for what is expiring.
    # As many as there is time for.  The servers' answers don't get lost, as each looks
    # for more packets at a time than the clients' backlogs have for it.
    handshakes, at_once = 4000000, 500000

    def __init__(self, name, n, n_talking=None, goal=None):
        super().__init__(name, 'tcp', n, goal=goal)
        self.n_talking = n_talking

    def make_node(self):
        return node.make(rules=self.rules, pods=self.clients + self.webs,
                         clients=self.clients, webs=self.webs)

    def talking(self, connections):
        return (connections.some(self.n_talking) if self.n_talking
                else connections)

    def run(self, switch):
        switch.max_connections = int(self.room * self.n)
        switch.max_sessions = 2 * switch.max_connections
        switch.vsctl('set', 'Open_vSwitch', '.',
                     'other_config:antrea-dp-max-half-open=unlimited',
                     'other_config:antrea-dp-max-unanswered=unlimited')
        return super().run(switch)


class Expired(Case):
    """A million connections end by their timeout while packets of others run: how
    many of these were decided on anew."""

    unit = 'decided anew'
    more_is_better = False
    clients, webs = 20, 8
    n_expiring, n_living = 1000000, 10000
    rate = 10000                # Packets a second from each client.
    few = 0.01                  # Expiring ones that are left at the end.
    patience = 150              # UDP's timeout, and time to see to it.

    def run(self, switch):
        if switch.side.name != OURS:
            return []
        n = node.make(pods=self.clients + self.webs, clients=self.clients,
                      webs=self.webs)
        switch.max_connections = 2 * self.n_expiring
        switch.max_sessions = 4 * self.n_expiring
        switch.add_bridge(n.cluster.clients + n.cluster.webs)
        switch.load(n.flows)
        traffic.serve(switch, n)
        expiring, living = (
            traffic.Connections(switch, n.cluster.clients,
                                traffic.web_targets(n), protocol, number,
                                self.webs)
            for protocol, number in (('udp', self.n_expiring),
                                     ('tcp', self.n_living)))
        expiring.establish(Many.handshakes, Many.at_once)
        living.establish()
        living.send(rate=self.rate)
        return [self.wait(switch, len(expiring), len(living))]

    def wait(self, switch, n_expiring, n_living):
        present = switch.n_connections()
        if present < n_expiring:
            raise RuntimeError('%d of %d connections expired too early'
                               % (n_expiring + n_living - present, n_expiring))
        before = switch.datapath_stats()['packets']
        started = time.monotonic()
        while switch.n_connections() > n_living + self.few * n_expiring:
            if time.monotonic() - started > self.patience:
                raise RuntimeError('%d connections have not expired'
                                   % (switch.n_connections() - n_living))
            time.sleep(1)
        after = switch.datapath_stats()['packets']
        switch.generator.stop()
        return Sample(after['decides'] - before['decides'],
                      hits=after['hits'] - before['hits'],
                      expired=present - switch.n_connections(),
                      seconds=time.monotonic() - started)


class TwoThreads(Established):
    """A PMD thread on each core: many connections have one direction on one
    and the other on the other.  The main thread has no core of its own
    then, so figures vary more."""

    in_turn = False

    def run(self, switch):
        mask = (1 << switch.machine.main_core) | (1 << switch.machine.pmd_core)
        switch.vsctl('set', 'Open_vSwitch', '.',
                     'other_config:pmd-cpu-mask=0x%x' % mask,
                     'other_config:pmd-maxsleep=100')
        return [sample for sample in super().run(switch) if sample]


def cases():
    for name, n in SIZES.items():
        yield StateLoad('state-load-' + name, n,
                        NothingLost(50, '50 ms, none lost'))
        yield StateAddress('state-address-' + name, n,
                           NothingLost(5, '5 ms, none lost',
                                       turn_here_ms=5))
    yield StateChanges('state-changes', SIZES['10k'],
                       NothingLost(10, '10 ms, none lost'))
    yield Ways('ways-100', 4)
    yield Ways('ways-20k', 800, goal=OwnTimes('ways-100', 0.9))
    yield Many('many-1m', 1000000)
    yield Many('many-1m-of-10m', 10000000, 1000000,
               goal=OwnTimes('many-1m', 0.9))
    yield Many('many-10m', 10000000, goal=OwnTimes('many-1m', 0.9))
    yield Churned('churned', Limit(90, '90 %'))
    yield Expired('expired', Limit(0, 'none'))
    yield TwoThreads('two-threads', 'tcp', 100000)

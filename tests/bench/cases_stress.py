# SPDX-License-Identifier: Apache-2.0
"""Established connections while something else happens: a flood that policy
denies, a flow that is added, a pipeline that is replaced."""

import re
import statistics
import time

import cluster
import generator
import meter
import node
import openflow
import pipeline
import services
import standstill
import traffic
from case import Case, Sample
from cases_memory import reported, resident_bytes
from results import Limit, NothingLost

RULES = 10000
CONNECTIONS = 1000
OFFERED = 1000000               # Packets per second; each is answered.
FLOOD = 100000                  # Packets per second, of new connections.
FLOOD_DESTINATIONS = 400
FLOOD_SECONDS, WINDOW_SECONDS = 4, 2


class Background:
    """A client and a web server with 1,000 UDP connections, 1 Mpps one way
    and the answers the other."""

    def __init__(self, switch, offered=OFFERED):
        self.switch, self.node = switch, node.make(rules=RULES)
        n = self.node.cluster
        self.client, self.web, self.flooder = (n.clients[0], n.webs[0],
                                               n.clients[1])
        self.pods = n.clients + n.webs
        switch.add_bridge(self.pods)
        switch.load(self.node.flows)
        traffic.serve(switch, self.node)
        targets = traffic.web_targets(self.node)[:1]
        self.connections = traffic.Connections(
            switch, [self.client], targets, 'udp', CONNECTIONS, 1)
        self.connections.establish()
        self.unanswered = -self.sent_minus_arrived()
        self.connections.send(rate=offered)
        self.running = [self.client.port]       # Ports that send.

    def sent_minus_arrived(self):
        g = self.switch.generator
        return g[self.client.port].rx - g[self.web.port].tx

    def begin(self):
        """From now on losses count."""
        # Its probe stalls the PMD thread: before anything is counted.
        self.window = meter.Window(self.switch,
                                   traffic.all_ports(self.pods))
        time.sleep(0.2)
        machine = self.switch.machine
        self.witness = standstill.Witness(machine, machine.pmd_core)
        counters = self.switch.generator[self.client.port]
        self.missed, self.sent = -counters.missed, -counters.rx
        self.missed_away = -counters.missed_away
        self.n_gaps = counters.n_gaps
        self.switch.generator.record(self.web.port, True)
        self.window.begin()

    def finish(self):
        """Stops.  'lost' is then how many packets did not reach the server,
        because the port's ring overflowed or the switch dropped them,
        'offered' how many there were, 'answers' how many answers there had
        been every 10 ms."""
        self.window.end()
        self.answers = self.switch.generator.history(self.web.port)
        counters = self.switch.generator[self.client.port]
        self.missed += counters.missed
        self.missed_away += counters.missed_away
        self.sent += counters.rx
        self.missed_standstill = standstill.explained(
            self.switch.generator.gaps(self.client.port, self.n_gaps),
            self.witness.silences(), counters.rate)
        self.switch.generator.stop()
        time.sleep(0.1)                 # For those on their way.
        self.unanswered += self.sent_minus_arrived()
        self.lost = self.missed + self.unanswered
        self.offered = self.sent + self.missed

    def losses(self):
        """As details of a Sample: all, and without those that came while the
        core was away or stood still."""
        return {'lost': self.lost,
                'lost_here': (self.lost - self.missed_away
                              - self.missed_standstill),
                'missed_standstill': self.missed_standstill}

    def resume(self):
        """After finish()."""
        self.unanswered = -self.sent_minus_arrived()
        self.switch.generator.start(*self.running)
        time.sleep(0.5)

    def start_flood(self):
        """UDP from random ports to random ports of many remote Pods, which
        the client's egress policy denies."""
        n, c = self.node.cluster, self.flooder
        packets = [
            traffic.packet('udp', c, traffic.Target(
                n.nodes[i % len(n.nodes)].pod_ip(110 + i * 7 % 100),
                cluster.GATEWAY_MAC, 1))
            for i in range(FLOOD_DESTINATIONS)]
        self.switch.generator.program(
            c.port, packets, (1024, 60000), n_dports=65534, rate=FLOOD,
            random=generator.RANDOM_SPORT | generator.RANDOM_DPORT)
        self.switch.generator.start(c.port)
        self.running.append(c.port)


class Flood(Case):
    unit = '% lost'
    more_is_better = False
    windows = 5

    def run(self, switch):
        background = Background(switch)
        self.disturb(background)
        time.sleep(FLOOD_SECONDS)
        return [self.window(switch, background) for _ in range(self.windows)]

    def disturb(self, background):
        background.start_flood()

    def window(self, switch, background):
        background.begin()
        time.sleep(WINDOW_SECONDS)
        background.finish()
        window = background.window
        flood = window.counters[background.flooder.port]
        background.resume()
        losses = background.losses()
        return Sample(100 * losses['lost_here'] / background.offered,
                      window.cycles_per_packet,
                      flood_pps=flood['rx'] / window.seconds,
                      megaflows=switch.n_megaflows(), **losses,
                      **window.summary())


class Calm(Flood):
    """What is lost without a flood: what the machine itself does to packets
    that come at a rate."""

    def disturb(self, background):
        pass


class ToController(Flood):
    """The flood is for a controller, as packets that policy logs or rejects
    are, behind the meter of those."""

    priority = 60000

    def run(self, switch):
        background = Background(switch)
        flows = pipeline.Flows()
        flows.add('AntreaPolicyEgressRule', self.priority,
                  'udp,in_port=%d' % background.flooder.port,
                  pipeline.load('0x2400000/0xfe600000', 'reg0'),
                  pipeline.goto('Output'))
        switch.ofctl('add-flows', '-', stdin='\n'.join(flows.flows) + '\n')
        self.bridge = openflow.Connection(switch.dir + '/br-int.mgmt')
        self.bridge.take_packets(pipeline.CONTROLLER_ID)
        background.start_flood()
        time.sleep(FLOOD_SECONDS)
        samples = [self.window(switch, background)
                   for _ in range(self.windows)]
        self.bridge.close()
        return samples

    def window(self, switch, background):
        self.bridge.barrier()           # Reads what came before.
        got = -self.bridge.n_packet_ins
        sample = super().window(switch, background)
        self.bridge.barrier()
        got += self.bridge.n_packet_ins
        if not got:
            raise RuntimeError('the controller gets no packets')
        sample.details['packet_ins'] = got
        return sample


class DropFlow(Case):
    """From the moment at which the flow is sent to the last packet that it
    should have dropped."""

    unit = 'ms'
    more_is_better = False
    trials = 5
    min_rate = 2000             # Of packets that arrive, per second.
    priority = 300

    def run(self, switch):
        background = Background(switch)
        background.start_flood()
        time.sleep(FLOOD_SECONDS)
        bridge = openflow.Connection(switch.dir + '/br-int.mgmt')
        bridge.barrier()
        samples = [self.trial(switch, background, bridge)
                   for _ in range(self.trials)]
        bridge.close()
        switch.generator.stop()
        return samples

    def trial(self, switch, background, bridge):
        port = background.client.port
        web = switch.generator[background.web.port]
        flow = pipeline.NUMBERS['SpoofGuard'], self.priority, port
        arrived = -web.tx
        time.sleep(0.1)
        arrived += web.tx
        if arrived < self.min_rate / 10:
            raise RuntimeError('too few packets arrive to see when a flow '
                               'bites: %d per second' % (arrived * 10))
        switch.generator.record(background.web.port, True)
        started = time.monotonic_ns()
        bridge.drop(openflow.ADD, *flow)
        bridge.barrier()
        answered = time.monotonic_ns()
        # It has bitten when nothing arrived for 100 ms.
        self.wait(lambda: time.monotonic_ns() - max(
            web.last_tx_ns, started) > 100000000,
            'the flow does not drop anything')
        last = max(web.last_tx_ns, started)
        switch.generator.record(background.web.port, False)
        bridge.drop(openflow.DELETE_STRICT, *flow)
        bridge.barrier()
        time.sleep(0.5)
        return Sample((last - started) / 1e6, None,
                      answered_ms=(answered - started) / 1e6)

    @staticmethod
    def wait(condition, complaint):
        deadline = time.monotonic() + 20
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(complaint)
            time.sleep(0.005)


class Replace(Case):
    """All flows are deleted and others, with the same measured rules and new
    random ones, added in one bundle."""

    unit = '% of rate'
    window = 100 // generator.HISTORY_MS

    def run(self, switch):
        background = Background(switch)
        other = node.make(rules=RULES, policy_seed=2)
        background.begin()
        time.sleep(1)
        started = time.monotonic()
        switch.ofctl('add-flows', '-', '--bundle', stdin='\n'.join(
            ['delete cookie=0/0'] + other.flows.flows) + '\n')
        seconds = time.monotonic() - started
        time.sleep(1)
        background.finish()
        window = background.window
        return [Sample(self.lowest_rate(background.answers),
                       window.cycles_per_packet, seconds=seconds,
                       **background.losses(), **window.summary())]

    def lowest_rate(self, total):
        """Of the answers, in any 100 ms, in percent of the median in the
        first second.  'total': how many there were, every 10 ms."""
        sums = [b - a for a, b in zip(total, total[self.window:])]
        usual = statistics.median(sums[:100 - self.window])
        return 100 * min(sums) / usual


class AffinityFlood(Case):
    """SYNs from random sources to a Service with session affinity: each is a
    client that the switch has to remember."""

    unit = 'ms'
    more_is_better = False
    seconds = 10
    rate = 200000               # Of SYNs, per second.
    offered = 100000            # Of the established traffic beside it.
    networks = 256              # Sources: so many times 65,536.
    interval = 0.01             # Between replies of OpenFlow.
    service = services.AFFINITY_IP

    def run(self, switch):
        background = Background(switch, self.offered)
        self.aim(switch)
        bridge = openflow.Connection(switch.dir + '/br-int.mgmt')
        bridge.barrier()
        background.begin()              # Its probe takes memory, too.
        before = resident_bytes(switch)
        switch.generator.start(cluster.GATEWAY_PORT)
        slowest, grown = self.watch(switch, bridge, before)
        background.finish()
        bridge.close()
        window = background.window
        flood = window.counters[cluster.GATEWAY_PORT]
        return [Sample(slowest * 1000, window.cycles_per_packet,
                       grown_mb=grown / 1e6, **background.losses(),
                       flood_pps=flood['rx'] / window.seconds,
                       connections=switch.n_connections(),
                       evicted=reported(switch, 'half_open_evicted'),
                       learned=self.n_learned(switch), **window.summary())]

    def aim(self, switch):
        target = traffic.Target(self.service, cluster.GATEWAY_MAC, 80)
        packets = [traffic.packet('tcp', Source('20.%d.0.0' % i), target,
                                  'syn') for i in range(self.networks)]
        switch.generator.program(cluster.GATEWAY_PORT, packets,
                                 rate=self.rate,
                                 random=generator.RANDOM_SADDR)

    def watch(self, switch, bridge, before):
        """The slowest reply, and by how much memory grew at most."""
        slowest = grown = 0
        started = time.monotonic()
        while time.monotonic() - started < self.seconds:
            asked = time.monotonic()
            bridge.barrier()
            slowest = max(slowest, time.monotonic() - asked)
            grown = max(grown, resident_bytes(switch) - before)
            time.sleep(self.interval)
        return slowest, grown

    @staticmethod
    def n_learned(switch):
        text = switch.ofctl('dump-aggregate', 'table=%d'
                            % pipeline.NUMBERS['SessionAffinity'])
        return int(re.search(r'flow_count=(\d+)', text)[1])


class Source:
    """A client somewhere behind the gateway."""

    mac = cluster.GATEWAY_MAC

    def __init__(self, ip):
        self.ip = ip


class PlainFlood(AffinityFlood):
    """The same to a Service without affinity: what connections take."""

    service = '10.96.1.0'


def cases():
    yield Flood('flood', Limit(0, 'none lost'))
    yield Calm('calm')
    yield ToController('to-controller', Limit(0, 'none lost'))
    yield DropFlow('drop-flow', Limit(5, '5 ms'))
    yield AffinityFlood('affinity-flood',
                        NothingLost(300, '0.3 s, 100 MB, none lost',
                                    grown_mb=100))
    yield PlainFlood('plain-flood',
                     NothingLost(300, '0.3 s, 100 MB, none lost',
                                 grown_mb=100))
    yield Replace('replace', NothingLost(95, '95 %, none lost'))

# SPDX-License-Identifier: Apache-2.0
"""NetworkPolicies: the tables of egress and ingress rules.

What is measured passes three rules: a Kubernetes egress rule, and a
Kubernetes and an Antrea ingress rule.  All further rules are random, a quarter
of each kind, and match addresses of this cluster."""

import ipaddress

from cluster import TARGET_PORTS
from pipeline import ct, goto, load

COMMON_PORTS = (443, 3306, 5432, 6379, 9090, 9100, 53, 2379, 5672, 27017,
                11211, 9092, 25)


class Direction:
    """Which tables and fields a direction uses."""

    def __init__(self, name, peer, label_shift, register, then):
        self.name, self.peer, self.register, self.then = (
            name, peer, register, then)
        self.label_shift = label_shift
        self.label_mask = 0xffffffff << label_shift
        self.rules, self.antrea_rules = name + 'Rule', (
            'AntreaPolicy%sRule' % name)
        self.default, self.metric = name + 'DefaultRule', name + 'Metric'

    def applied_to(self, pod):
        """A match on the Pod whose traffic in this direction is meant."""
        return ('ip,nw_src=' + pod.ip if self.name == 'Egress'
                else 'reg1=0x%x' % pod.port)

    def label(self, rule):
        return '0x%x/0x%x' % (rule << self.label_shift, self.label_mask)


EGRESS = Direction('Egress', 'nw_dst', 32, 'reg5', 'L3Forwarding')
INGRESS = Direction('Ingress', 'nw_src', 0, 'reg6', 'ConntrackCommit')


class PolicyTables:
    def __init__(self, flows, cluster, rng):
        self.flows, self.cluster, self.rng = flows, cluster, rng
        self.n_rules = 0
        # (table, priority, match) -> conjunctions: rules share clause flows.
        self.clauses = {}
        self.isolated = {EGRESS: set(), INGRESS: set()}

    def add_clause(self, table, priority, match, rule, clause, n_clauses):
        self.clauses.setdefault((table, priority, match), []).append(
            'conjunction(%d,%d/%d)' % (rule, clause, n_clauses))

    def add_rule(self, direction, pods, peers, ports, priority=None,
                 drop=False, extra=()):
        """A Kubernetes rule, or with a 'priority' one of Antrea's.  No
        'peers' or 'ports' means any.  'extra' is set in ct_mark and ct_label
        beside the rule's number."""
        self.n_rules += 1
        rule = self.n_rules
        antrea = priority is not None
        table = direction.antrea_rules if antrea else direction.rules
        if not antrea:
            priority = 200
            self.isolated[direction].update(pods)

        peers = ['ip,%s=%s' % (direction.peer, peer) for peer in peers]
        n_clauses = 3 if ports else 2
        applied = [direction.applied_to(pod) for pod in pods]
        first, second = ((applied, peers or ['ip'])
                         if direction is EGRESS else (peers or ['ip'],
                                                      applied))
        for clause, matches in (1, first), (2, second), (3, ports):
            for match in matches:
                self.add_clause(table, priority, match, rule, clause,
                                n_clauses)
        self.add_verdict(direction, table, priority if antrea else 190, rule,
                         drop, extra)

    def add_verdict(self, direction, table, priority, rule, drop, extra):
        flows, metric = self.flows, direction.metric
        if drop:
            flows.add(table, priority, 'conj_id=%d' % rule,
                      load('0x%x' % rule, 'reg3'),
                      load('0x400/0x400', 'reg0'), goto(metric))
            flows.add(metric, 210, 'reg0=0x400/0x400,reg3=0x%x' % rule,
                      'drop')
            return
        label = direction.label(rule)
        marks = (load(label, 'ct_label'),) + tuple(extra)
        flows.add(table, priority, 'conj_id=%d,ip' % rule,
                  load('0x%x' % rule, direction.register),
                  ct(metric, 'commit', 'exec(%s)' % ','.join(marks)))
        for state in '+new', '-new':
            flows.add(metric, 200,
                      'ct_state=%s,ct_label=%s,ip' % (state, label),
                      goto(direction.then))

    def random_ports(self, unused):
        """Ports of a rule; 'unused': none that a server listens on."""
        rng, ports = self.rng, set()
        for _ in range(rng.choice((1, 1, 2, 3))):
            protocol = rng.choice(('tcp', 'tcp', 'tcp', 'udp'))
            if rng.random() < 0.1:              # A range of ports.
                bits = rng.choice((4, 6, 8))
                first = rng.randrange(20000 >> bits, 60000 >> bits) << bits
                ports.add('%s,tp_dst=0x%x/0x%x' % (
                    protocol, first, 0xffff >> bits << bits))
            elif unused or rng.random() < 0.4:
                ports.add('%s,tp_dst=%d' % (protocol,
                                            rng.randrange(20000, 60000)))
            else:
                ports.add('%s,tp_dst=%d' % (protocol,
                                            rng.choice(COMMON_PORTS)))
        return sorted(ports)

    def random_peers(self):
        rng, peers = self.rng, set()
        for _ in range(rng.randrange(2, 9)):
            kind = rng.random()
            if kind < 0.15:                     # An ipBlock.
                length = rng.choice((12, 16, 20, 24, 26, 28))
                net = ipaddress.ip_network((rng.getrandbits(32), length),
                                           strict=False)
                peers.add(str(net))
            elif kind < 0.4:
                peers.add(rng.choice(self.cluster.pods).ip)
            else:
                peers.add(rng.choice(self.cluster.nodes).pod_ip(
                    rng.randrange(100)))
        return sorted(peers)

    def add_measured(self):
        cluster = self.cluster
        client_ips = [pod.ip for pod in cluster.clients]
        web_ips = [pod.ip for pod in cluster.webs] + cluster.remote_webs
        ports = ['%s,tp_dst=%d' % (protocol, port)
                 for protocol in ('tcp', 'udp') for port in TARGET_PORTS]
        self.add_rule(EGRESS, cluster.clients, web_ips, ports)
        self.add_rule(INGRESS, cluster.webs, client_ips, ports)
        self.add_rule(INGRESS, cluster.webs, client_ips, ports,
                      priority=14600)
        self.add_rule(INGRESS, cluster.webs, [], [], priority=9000, drop=True)

    def add_l7(self):
        """A layer 7 rule, on a Pod that carries nothing of what is
        measured."""
        if self.cluster.others:
            self.add_rule(
                INGRESS, self.cluster.others[-1:],
                [self.cluster.clients[0].ip], ['tcp,tp_dst=8080'],
                priority=14700,
                extra=(load('0x80/0x80', 'ct_mark'),
                       load('0x20000000000000000/0xfff0000000000000000',
                            'ct_label')))

    def add_random(self, n):
        rng = self.rng
        for i in range(n):
            direction = INGRESS if i % 2 == 0 else EGRESS
            antrea = i % 4 >= 2
            drop = antrea and rng.random() < 0.2
            n_pods = min(len(self.cluster.pods), rng.randrange(1, 4))
            self.add_rule(direction, rng.sample(self.cluster.pods, n_pods),
                          self.random_peers(), self.random_ports(drop),
                          priority=14599 - i // 2 % 5590 if antrea else None,
                          drop=drop)

    def add_fixed(self):
        flows = self.flows
        for direction in EGRESS, INGRESS:
            for state in '-new+est', '-new+rel':
                flows.add(direction.antrea_rules, 64990,
                          'ct_state=%s,ip' % state, goto(direction.metric))
            flows.miss(direction.antrea_rules, goto(direction.rules))
            flows.miss(direction.rules, goto(direction.default))
            for pod in self.cluster.pods:
                if pod in self.isolated[direction]:
                    flows.add(direction.default, 200,
                              direction.applied_to(pod), 'drop')
            flows.miss(direction.default, goto(direction.metric))
            flows.miss(direction.metric, goto(direction.then))

        skip = 'IngressSecurityClassifier'
        flows.add(skip, 210,
                  'pkt_mark=0x80000000/0x80000000,ct_state=-rpl+trk,ip',
                  goto('ConntrackCommit'))
        flows.add(skip, 201, 'reg4=0x80000/0x80000',
                  goto(INGRESS.antrea_rules))
        for kind in 0x20, 0x10, 0x40:
            flows.add(skip, 200, 'reg0=0x%x/0xf0' % kind,
                      goto(INGRESS.metric))
        flows.add(skip, 200, 'ct_mark=0x40/0x40', goto('ConntrackCommit'))
        flows.miss(skip, goto(INGRESS.antrea_rules))

    def add_all(self, n):
        self.add_measured()
        self.add_l7()
        self.add_random(max(0, n - self.n_rules))
        for (table, priority, match), conjunctions in self.clauses.items():
            self.flows.add(table, priority, match, *conjunctions)
        self.add_fixed()

# SPDX-License-Identifier: Apache-2.0
"""Random sets of policies, groups and Tiers, and random changes of them, one
object at a time.  What they may say is what the resolver accepts; what isn't
determined by the documents isn't made: two policies of one priority in a
Tier, or names of ports at addresses that may be no Pod's."""

import copy

from cluster import (CIDRS, DNS_SERVERS, PLACES, Objects, base_objects,
                     port_objects, set_type)
from groups import GROUPS
from names import Question

NAMESPACES = ('x', 'y', 'z')
PODS = ('a', 'b', 'c')
TIERS = ('emergency', 'securityops', 'networkops', 'platform', 'application',
         'application', 'baseline')
CUSTOM_TIERS = (20, 75, 120, 175, 230)
CRD = 'crd.antrea.io/v1beta1'
ADMIN = 'policy.networking.k8s.io/v1alpha1'
# How often each kind of policy is made.
KINDS = (['K8s'] * 4 + ['ClusterNetworkPolicy'] * 5 + ['Antrea'] * 3
         + ['AdminNetworkPolicy'] * 2 + ['BaselineAdminNetworkPolicy'])
# What a step does.
CHANGES = (['add'] * 4 + ['change'] * 4 + ['remove'] * 3 + ['pod'] * 3
           + ['recreate'] * 2 + ['namespace'] * 3 + ['group'] * 2
           + ['service', 'port', 'node', 'tier', 'node_port', 'log'])
MOST_POLICIES = 12
# What rules say, what Pods ask for, and what is another name for one of these.
# For nobody.example.com nobody asks, and lost.example.com isn't there.
FQDNS = ('a.example.com', '*.example.com', '*.b.example.com', 'A.example.*',
         '*', 'nobody.example.com', 'alias.example.net')
NAMES = ('a.example.com', 'b.example.com', 'deep.b.example.com', 'example.com',
         'a.example.net', 'A.Example.COM', 'alias.example.net',
         'lost.example.com')
ALIAS = 'alias.example.net'
# Where names may lead to: not to those that are asked, as whether that is
# allowed would hang on what they have answered.
NAMED = [place for place in PLACES.values()
         if place not in DNS_SERVERS and place.kind != 'resolver']


class Generator:
    def __init__(self, random, families):
        self.random = random
        self.families = families
        self.objects = Objects(base_objects(families))
        self.serial = 0
        self.zone = {}

    # --- small things -------------------------------------------------------

    def one_in(self, n):
        return self.random.randrange(n) == 0

    def choice(self, things):
        return self.random.choice(things)

    def some(self, make, most, least=0):
        return [make() for _ in range(self.random.randint(least, most))]

    def name(self, what):
        self.serial += 1
        return '%s%d' % (what, self.serial)

    def term(self, key, values):
        operator = self.choice(('In', 'NotIn', 'Exists', 'DoesNotExist'))
        term = {'key': key, 'operator': operator}
        if operator in ('In', 'NotIn'):
            term['values'] = self.random.sample(
                values, self.random.randint(1, len(values) - 1))
        return term

    def selector(self, choices):
        """'choices': {label: values}"""
        if self.one_in(5):
            return {}
        key = self.choice(sorted(choices))
        if self.one_in(2):
            return {'matchExpressions': [self.term(key, choices[key])]}
        return {'matchLabels': {key: self.choice(choices[key])}}

    def pods(self):
        return self.selector({'pod': PODS, 'app': ('shop', 'till')})

    def namespaces(self):
        return self.selector({'ns': NAMESPACES, 'team': ('red', 'blue'),
                              'kubernetes.io/metadata.name': NAMESPACES})

    def nodes(self):
        return self.selector({'zone': ('z1', 'z2')})

    def block(self, with_except=True):
        """Of Pods, of the Nodes, of outside; of both families."""
        family = self.choice(self.families)
        cidrs = ([(CIDRS[4] % 0, ['10.10.0.8/29', '10.10.0.11/32']),
                  (CIDRS[4] % 1, ['10.10.1.12/30']),
                  ('10.10.0.0/16', [CIDRS[4] % 1, '10.10.0.10/31']),
                  ('198.51.100.0/24', ['198.51.100.4/30']),
                  ('203.0.113.0/28', ['203.0.113.8/31']),
                  ('192.168.77.0/24', ['192.168.77.103/32']),
                  ('0.0.0.0/0', ['10.10.0.0/16', '198.51.100.0/25'])]
                 if family == 4 else
                 [(CIDRS[6] % 0, ['fd00:10:10:0::8/125']),
                  (CIDRS[6] % 1, ['fd00:10:10:1::c/126']),
                  ('2001:db8:51::/48', ['2001:db8:51::4/126']),
                  ('::/0', ['fd00:10:10::/48'])])
        cidr, excepts = self.choice(cidrs)
        block = {'cidr': cidr}
        if with_except and self.one_in(2):
            block['except'] = self.random.sample(
                excepts, self.random.randint(1, len(excepts)))
        return block

    # --- peers --------------------------------------------------------------

    def selection(self):
        """Selectors of Pods, of Namespaces, or of both."""
        peer = {}
        if not self.one_in(3):
            peer['podSelector'] = self.pods()
        if not peer or self.one_in(2):
            peer['namespaceSelector'] = self.namespaces()
        return peer

    def k8s_peer(self, only_pods):
        if not only_pods and self.one_in(4):
            return {'ipBlock': self.block()}
        return self.selection()

    def account(self):
        return {'serviceAccount': {'name': self.choice(('default', 'robot')),
                                   'namespace': self.choice(NAMESPACES)}}

    def related(self):
        peer = {'namespaces': self.choice((
            {'match': 'Self'}, {'sameLabels': ['team']},
            {'sameLabels': ['team', 'ns']}))}
        if self.one_in(2):
            peer['podSelector'] = self.pods()
        return peer

    def antrea_peer(self, namespace, only_pods, egress):
        peer = self.any_peer(namespace, only_pods, egress)
        if ('podSelector' in peer or 'namespaceSelector' in peer) \
                and self.one_in(4):
            peer['scope'] = 'Cluster'
        return peer

    def any_peer(self, namespace, only_pods, egress):
        forms = ['selection'] * 4
        if egress and not only_pods and self.one_in(3):
            return {'fqdn': self.choice(FQDNS)}
        if not only_pods:
            forms += ['block', 'nodes', 'group']
        if not namespace:
            forms += ['account', 'related', 'related']
        form = self.choice(forms)
        if form == 'block':
            return {'ipBlock': self.block()}
        if form == 'nodes':
            return {'nodeSelector': self.nodes()}
        if form == 'group':
            groups = self.groups(namespace)
            return ({'group': self.choice(groups)} if groups
                    else self.selection())
        if form == 'account':
            return self.account()
        if form == 'related':
            return self.related()
        return self.selection()

    def applied_to(self, namespace):
        """Groups that a policy is applied to are of Pods alone."""
        if namespace:
            groups = [name for name in self.groups(namespace)
                      if 'podSelector' in self.group(namespace, name)['spec']
                      and 'namespaceSelector'
                      not in self.group(namespace, name)['spec']]
            if groups and self.one_in(3):
                return {'group': self.choice(groups)}
            return {'podSelector': self.pods()}
        groups = [name for name in self.groups(None)
                  if {'podSelector', 'namespaceSelector', 'serviceReference'}
                  & set(self.group(None, name)['spec'])]
        if groups and self.one_in(4):
            return {'group': self.choice(groups)}
        if self.one_in(6):
            return self.account()
        return self.selection()

    # --- ports --------------------------------------------------------------

    def port(self, with_source, names=True):
        port = {'protocol': self.choice(('TCP', 'TCP', 'UDP', 'SCTP'))}
        if port['protocol'] == 'TCP' and self.one_in(3):
            del port['protocol']
        form = self.random.randrange(4)
        if form == 0 and names:
            port['port'] = self.choice(('web', 'web', 'dns', 'sig', 'alt'))
        elif form <= 2:
            port['port'] = self.choice((80, 81, 8080))
            if self.one_in(3):
                port['endPort'] = self.choice((81, 8079, 8080, 9000))
                port['port'] = min(port['port'], 81)
        if with_source and self.one_in(4):
            start = self.choice((20000, 40000))
            port['sourcePort'] = start
            port['sourceEndPort'] = start + 9999
        return port

    def icmp(self):
        return {'icmp': self.choice((
            {}, {'icmpType': 8}, {'icmpType': 8, 'icmpCode': 0},
            {'icmpType': 13}, {'icmpType': 128}, {'icmpType': 8,
                                                  'icmpCode': 1}))}

    # --- multicast ----------------------------------------------------------

    def igmp(self, egress):
        """About messages of Pods, or queries."""
        igmp = {}
        if not self.one_in(3):
            igmp['igmpType'] = (self.choice((0x12, 0x16, 0x17, 0x22, 0x22))
                                if egress else 0x11)
        if self.one_in(2):
            igmp['groupAddress'] = self.choice(
                GROUPS if egress else GROUPS + ('224.0.0.1',))
        return {'igmp': igmp}

    def multicast_block(self):
        block = self.choice((
            {'cidr': '224.0.0.0/4'}, {'cidr': '239.0.0.0/8'},
            {'cidr': '239.1.0.0/16', 'except': ['239.1.2.0/24']},
            {'cidr': '239.1.1.1/32'}, {'cidr': '224.0.0.0/24'},
            {'cidr': '224.0.0.0/5', 'except': ['224.0.0.0/24']}))
        return {'ipBlock': copy.deepcopy(block)}

    def multicast_rule(self, egress):
        """Such rules only allow and drop, and don't log."""
        rule = {'action': self.choice(('Allow', 'Drop', 'Drop'))}
        if egress and self.one_in(2):
            rule['to'] = self.some(self.multicast_block, 2, 1)
            if self.one_in(2):
                rule['ports'] = self.some(
                    lambda: self.port(True, False), 2, 1)
            return rule
        rule['protocols'] = self.some(lambda: self.igmp(egress), 2, 1)
        if not egress and self.one_in(3):
            rule['from'] = [{'ipBlock': self.choice((
                {'cidr': '10.10.0.0/16'}, {'cidr': '198.51.100.0/24'},
                {'cidr': '0.0.0.0/0', 'except': ['10.10.0.0/24']}))}]
        return rule

    def is_multicast(self, rule):
        return (any('igmp' in protocol
                    for protocol in rule.get('protocols') or [])
                or any(peer.get('ipBlock', {}).get('cidr', '').startswith(
                    ('224.', '239.')) for peer in rule.get('to') or []))

    # --- policies -----------------------------------------------------------

    def has_names(self, ports):
        return any(isinstance(port.get('port'), str) or 'namedPort' in port
                   for port in ports)

    def k8s_rule(self, egress):
        rule = {}
        if not self.one_in(3):
            rule['ports'] = self.some(lambda: self.port(False), 2, 1)
        if not self.one_in(4):
            rule['to' if egress else 'from'] = self.some(
                lambda: self.k8s_peer(egress and self.has_names(
                    rule.get('ports', []))), 2, 1)
        return rule

    def k8s(self):
        spec = {'podSelector': self.pods()}
        types = self.choice((None, ['Ingress'], ['Egress'],
                             ['Ingress', 'Egress']))
        if types:
            spec['policyTypes'] = types
        if not types or 'Ingress' in types:
            spec['ingress'] = self.some(lambda: self.k8s_rule(False), 2)
        if types and 'Egress' in types or not types and self.one_in(3):
            spec['egress'] = self.some(lambda: self.k8s_rule(True), 2)
        return self.policy('networking.k8s.io/v1', 'NetworkPolicy', spec,
                           self.choice(NAMESPACES))

    def policy(self, version, kind, spec, namespace=None, name=None):
        meta = {'name': name or self.name('p')}
        if namespace:
            meta['namespace'] = namespace
        return {'apiVersion': version, 'kind': kind, 'metadata': meta,
                'spec': spec}

    def antrea_rule(self, egress, namespace, tier):
        actions = ['Allow', 'Allow', 'Drop', 'Drop', 'Reject', 'Reject']
        if tier != 'baseline':
            actions.append('Pass')
        if 4 in self.families and self.one_in(6):
            return self.multicast_rule(egress)
        rule = {'action': self.choice(actions)}
        if self.one_in(3):
            rule['name'] = self.name('rule')
        self.add_logging(rule)
        if egress and self.one_in(6):
            rule['toServices'] = self.some(self.to_service, 2, 1)
            return rule
        if not self.one_in(3):
            rule['ports'] = self.some(lambda: self.port(True), 2, 1)
        if self.one_in(4):
            rule['protocols'] = self.some(self.icmp, 2, 1)
        if not self.one_in(6):
            rule['to' if egress else 'from'] = self.some(
                lambda: self.antrea_peer(namespace, egress and self.has_names(
                    rule.get('ports', [])), egress), 2, 1)
        if rule['action'] == 'Allow' and self.one_in(3):
            self.add_engine(rule)
        return rule

    def add_engine(self, rule):
        """By its name the rule is told from others where it is seen."""
        rule['name'] = self.name('l7-')
        rule['l7Protocols'] = [{'tls': {}}]
        if 'protocols' not in rule and all(
                port.get('protocol', 'TCP') == 'TCP'
                for port in rule.get('ports', ())) and 'ports' in rule:
            rule['l7Protocols'] = [{'http': {'path': '/'}}]

    def dns_rule(self):
        return {'action': 'Allow', 'name': self.name('dns-'),
                'ports': [{'protocol': 'UDP', 'port': 53}]}

    def is_named(self, rules):
        return any('fqdn' in peer for rule in rules
                   for peer in rule.get('to', ()))

    def add_logging(self, rule):
        if self.one_in(4):
            rule['enableLogging'] = True
            if self.one_in(2):
                rule['logLabel'] = self.name('label-')

    def to_service(self):
        service = dict(self.service_name())
        if self.one_in(4):
            service['scope'] = 'Cluster'
        return service

    def service_name(self):
        service = self.choice(self.objects.of_kind('Service'))['metadata']
        return {'name': service['name'], 'namespace': service['namespace']}

    def guard_rule(self, tier):
        """Of those that are applied to Services."""
        rule = {'action': self.choice(
            ['Allow', 'Drop', 'Reject'] + (['Pass'] if tier != 'baseline'
                                           else []))}
        self.add_logging(rule)
        if self.one_in(3):
            rule['ports'] = self.some(lambda: self.port(True, False), 2, 1)
        if not self.one_in(4):
            rule['from'] = self.some(lambda: {'ipBlock': self.block()}, 2, 1)
        return rule

    def guard(self, spec, tier, per_rule):
        """A policy that is applied to Services."""
        spec['ingress'] = self.some(lambda: self.guard_rule(tier), 3, 1)
        for part in spec['ingress'] if per_rule else [spec]:
            part['appliedTo'] = self.some(
                lambda: {'service': self.service_name()}, 2, 1)
        return self.policy(CRD, 'ClusterNetworkPolicy', spec)

    def antrea(self, namespace):
        tier = self.choice(list(TIERS) + [
            tier['metadata']['name'] for tier in self.objects.of_kind('Tier')])
        spec = {'tier': tier, 'priority': self.free_priority(tier)}
        if tier == 'application' and self.one_in(2):
            del spec['tier']
        per_rule = self.one_in(4)
        if not namespace and self.one_in(4):
            return self.guard(spec, tier, per_rule)
        if not per_rule:
            spec['appliedTo'] = self.some(
                lambda: self.applied_to(namespace), 2, 1)
        for direction in self.choice((['ingress'], ['egress'],
                                      ['ingress', 'egress'])):
            spec[direction] = self.some(
                lambda: self.antrea_rule(direction == 'egress', namespace,
                                         tier), 3, 1)
            if self.is_named(spec[direction]) and not self.one_in(3):
                spec[direction].insert(0, self.dns_rule())
            for rule in spec[direction] if per_rule else []:
                rule['appliedTo'] = self.some(
                    lambda: self.applied_to(namespace), 2, 1)
        return self.policy(CRD, 'NetworkPolicy' if namespace
                           else 'ClusterNetworkPolicy', spec, namespace)

    def free_priority(self, tier):
        taken = {policy['spec']['priority'] for policy in
                 self.objects.policies()
                 if policy['apiVersion'] == CRD
                 and policy['spec'].get('tier', 'application') == tier}
        return self.choice([p for p in [1, 2, 2.5, 3, 4, 5, 5.5, 7, 8, 9, 10]
                            + list(range(11, 40)) if p not in taken][:12])

    def admin_peer(self, egress, only_pods):
        forms = ['namespaces', 'pods', 'pods']
        if egress and not only_pods:
            forms += ['networks', 'nodes']
        form = self.choice(forms)
        if form == 'namespaces':
            return {'namespaces': self.namespaces()}
        if form == 'networks':
            return {'networks': [self.block(False)['cidr']]}
        if form == 'nodes':
            return {'nodes': self.nodes()}
        return {'pods': {'namespaceSelector': self.namespaces(),
                         'podSelector': self.pods()}}

    def admin_port(self):
        form = self.random.randrange(3)
        if form == 0:
            return {'portNumber': {
                'protocol': self.choice(('TCP', 'UDP', 'SCTP')),
                'port': self.choice((80, 81))}}
        if form == 1:
            return {'portRange': {'protocol': self.choice(('TCP', 'UDP')),
                                  'start': self.choice((79, 80, 81)),
                                  'end': self.choice((81, 9000))}}
        return {'namedPort': self.choice(('web', 'dns', 'sig'))}

    def admin_rule(self, egress, actions):
        rule = {'action': self.choice(actions)}
        if self.one_in(2):
            rule['ports'] = self.some(self.admin_port, 2, 1)
        rule['to' if egress else 'from'] = self.some(
            lambda: self.admin_peer(egress, self.has_names(
                rule.get('ports', []))), 2, 1)
        return rule

    def admin(self, baseline):
        subject = (({'namespaces': self.namespaces()}) if self.one_in(2) else
                   {'pods': {'namespaceSelector': self.namespaces(),
                             'podSelector': self.pods()}})
        spec = {'subject': subject}
        if not baseline:
            taken = {policy['spec']['priority'] for policy in
                     self.objects.of_kind('AdminNetworkPolicy')}
            spec['priority'] = self.choice(
                [p for p in range(0, 1000, 37) if p not in taken][:8])
        actions = ['Allow', 'Deny'] + ([] if baseline else ['Pass'])
        for direction in ('ingress', 'egress'):
            spec[direction] = self.some(
                lambda: self.admin_rule(direction == 'egress', actions), 2)
        return self.policy(ADMIN, ('Baseline' if baseline else '')
                           + 'AdminNetworkPolicy', spec,
                           name='default' if baseline else None)

    def any_policy(self):
        kind = self.choice(KINDS)
        if kind == 'K8s':
            return self.k8s()
        if kind == 'ClusterNetworkPolicy':
            return self.antrea(None)
        if kind == 'Antrea':
            return self.antrea(self.choice(NAMESPACES))
        return self.admin(kind == 'BaselineAdminNetworkPolicy')

    # --- groups and Tiers ---------------------------------------------------

    def groups(self, namespace):
        return [group['metadata']['name'] for group in self.objects.of_kind(
            'Group' if namespace else 'ClusterGroup')
            if group['metadata'].get('namespace') == namespace]

    def group(self, namespace, name):
        return self.objects.find('Group' if namespace else 'ClusterGroup',
                                 name, namespace)

    def group_spec(self, namespace, form):
        if form == 'pods':
            if namespace:
                return {'podSelector': self.pods()}
            return self.selection()
        if form == 'wide':
            return {'podSelector': self.pods(),
                    'namespaceSelector': self.namespaces()}
        if form == 'blocks':
            return {'ipBlocks': self.some(self.block, 2, 1)}
        services = [service['metadata'] for service in
                    self.objects.of_kind('Service')
                    if namespace in (None, service['metadata']['namespace'])]
        if form == 'service' and services:
            service = self.choice(services)
            return {'serviceReference': {
                'name': service['name'], 'namespace': service['namespace']}}
        return {'podSelector': self.pods()}

    def make_groups(self, namespace):
        kind = 'Group' if namespace else 'ClusterGroup'
        simple = []
        for form in ('pods', 'wide', 'blocks', 'service'):
            if self.one_in(3):
                continue
            obj = self.policy(CRD, kind, self.group_spec(namespace, form),
                              namespace, self.name('g-%s-' % form))
            simple.append(obj['metadata']['name'])
            self.objects.put(obj)
        if len(simple) > 1 and self.one_in(2):
            self.objects.put(self.policy(
                CRD, kind, {'childGroups': self.random.sample(
                    simple, self.random.randint(1, len(simple)))},
                namespace, self.name('g-all-')))

    # --- sets and steps -----------------------------------------------------

    def start(self):
        """A whole set."""
        for priority in self.random.sample(CUSTOM_TIERS,
                                           self.random.randint(0, 2)):
            self.objects.put(self.policy(CRD, 'Tier', {'priority': priority},
                                         name=self.name('tier')))
        for namespace in (None, self.choice(NAMESPACES)):
            self.make_groups(namespace)
        for _ in range(self.random.randint(2, 9)):
            self.objects.put(self.any_policy())
        for name in NAMES[:5]:
            self.move_name(name)
        self.zone[ALIAS] = {'cname': self.choice(NAMES[:4])}
        return self.objects

    def move_name(self, name):
        """It has other addresses from now on."""
        addresses = [place.addresses[family]
                     for place in self.random.sample(
                         NAMED, self.random.randint(1, 3))
                     for family in self.families
                     if family in place.addresses]
        self.zone[name] = {'addresses': addresses}

    def questions(self):
        """What Pods ask for at a step."""
        if self.one_in(2):
            self.move_name(self.choice(NAMES[:5]))
        return self.some(self.question, 24, 8)

    def question(self):
        server = self.choice(DNS_SERVERS)
        return Question(
            self.choice([place for place in PLACES.values()
                         if place.kind == 'pod' and place is not server]),
            server, self.choice(NAMES), self.choice(self.families),
            self.choice(self.families))

    def reports(self):
        """What Pods tell of groups at a step: see groups.py."""
        return self.some(lambda: (
            self.choice(NAMESPACES) + '/' + self.choice(PODS),
            self.choice(('v1', 'v2', 'join3', 'join3', 'leave', 'leave3')),
            self.random.sample(GROUPS, self.random.randint(1, 3))), 12, 4)

    def step(self):
        """Changes one object: [('apply' or 'delete', object)], and what in
        words."""
        while True:
            found = getattr(self, 'step_' + self.choice(CHANGES))()
            if found:
                for verb, obj in found:
                    (self.objects.put if verb == 'apply'
                     else self.objects.remove)(obj)
                return found, ', '.join(
                    '%s %s %s' % (verb, obj['kind'], self.objects.title(obj))
                    for verb, obj in found)

    def step_add(self):
        if len(self.objects.policies()) < MOST_POLICIES:
            return [('apply', self.any_policy())]

    def step_remove(self):
        policies = self.objects.policies()
        if len(policies) > 1:
            return [('delete', self.choice(policies))]

    def step_change(self):
        """Another policy of the same name, or one rule of it."""
        policies = self.objects.policies()
        if not policies:
            return None
        old = self.choice(policies)
        for _ in range(20):
            new = self.any_policy()
            if (new['apiVersion'], new['kind']) == (old['apiVersion'],
                                                    old['kind']):
                break
        else:
            return None
        changed = copy.deepcopy(old)
        spec, other = changed['spec'], new['spec']
        namespace = old['metadata'].get('namespace')
        if (self.one_in(2) or namespace != new['metadata'].get('namespace')):
            for direction in ('ingress', 'egress'):
                rules = spec.get(direction)
                if rules and self.one_in(2):
                    self.change_rules(rules, old['apiVersion'] == ADMIN)
                    return [('apply', changed)]
            return None
        if 'priority' in spec and self.one_in(2):
            if 'tier' in other:
                spec['tier'] = other['tier']
            elif old['apiVersion'] == CRD:
                spec.pop('tier', None)
            spec['priority'] = other['priority']
            if self.passes_in_baseline(spec):
                return None
            return [('apply', changed)]
        changed['spec'] = other
        return [('apply', changed)]

    def passes_in_baseline(self, spec):
        return spec.get('tier') == 'baseline' and any(
            rule['action'] == 'Pass' for direction in ('ingress', 'egress')
            for rule in spec.get(direction) or [])

    def change_rules(self, rules, is_admin):
        form = self.random.randrange(3)
        if form == 0 and len(rules) > 1:
            self.random.shuffle(rules)
        elif form == 1 and len(rules) > 1:
            rules.pop(self.random.randrange(len(rules)))
        else:
            rule = self.choice(rules)
            if self.is_multicast(rule):
                rule['action'] = ('Drop' if rule['action'] == 'Allow'
                                  else 'Allow')
                return
            other = {'Deny': 'Allow', 'Drop': 'Reject', 'Reject': 'Allow',
                     'Allow': 'Deny' if is_admin else 'Drop'}
            if rule.get('action') in other:
                rule['action'] = other[rule['action']]
                rule.pop('l7Protocols', None)
            else:
                rule.pop('ports', None)

    def relabelled(self, kind, choices):
        obj = copy.deepcopy(self.choice(self.objects.of_kind(kind)))
        labels = obj['metadata'].setdefault('labels', {})
        key = self.choice(sorted(choices))
        value = self.choice(choices[key])
        if labels.get(key) == value:
            del labels[key]
        else:
            labels[key] = value
        return [('apply', obj)]

    def step_pod(self):
        return self.relabelled('Pod', {'pod': PODS, 'app': ('shop', 'till')})

    def step_recreate(self):
        """A Pod that is another one from now on, at the same address."""
        old = self.choice(self.objects.of_kind('Pod'))
        new = copy.deepcopy(old)
        new['metadata']['labels'] = {'pod': self.choice(PODS),
                                     'app': self.choice(('shop', 'till'))}
        new['spec']['serviceAccountName'] = self.choice(('default', 'robot'))
        new['spec']['containers'][0]['ports'] = port_objects(
            self.choice(PODS))
        return [('delete', old), ('apply', new)]

    def step_namespace(self):
        return self.relabelled('Namespace', {'ns': NAMESPACES,
                                             'team': ('red', 'blue')})

    def step_node(self):
        return self.relabelled('Node', {'zone': ('z1', 'z2')})

    def step_group(self):
        groups = [obj for obj in self.objects.of_kind('Group', 'ClusterGroup')
                  if 'childGroups' not in obj['spec']]
        if not groups:
            return None
        obj = copy.deepcopy(self.choice(groups))
        form = obj['metadata']['name'].split('-')[1]
        obj['spec'] = self.group_spec(obj['metadata'].get('namespace'), form)
        return [('apply', obj)]

    def step_service(self):
        obj = copy.deepcopy(self.choice(self.objects.of_kind('Service')))
        obj['spec']['selector'] = self.choice((
            {'pod': 'a'}, {'pod': 'b'}, {'app': 'shop'}, {'app': 'till'}))
        return [('apply', obj)]

    def step_port(self):
        """Another target of a Service's port."""
        obj = copy.deepcopy(self.choice(self.objects.of_kind('Service')))
        port = self.choice(obj['spec']['ports'])
        port['targetPort'] = self.choice(
            {'TCP': (80, 81, 8080, 'web', 'alt'), 'UDP': (80, 81, 'dns'),
             'SCTP': (80, 81, 'sig')}[port.get('protocol', 'TCP')])
        return [('apply', obj)]

    def step_node_port(self):
        """A Service with NodePorts or without, and for whom they are."""
        obj = copy.deepcopy(self.choice(self.objects.of_kind('Service')))
        if obj['spec']['type'] == 'NodePort' and self.one_in(2):
            local = 'externalTrafficPolicy' in obj['spec']
            obj['spec'].pop('externalTrafficPolicy', None)
            if not local:
                obj['spec']['externalTrafficPolicy'] = 'Local'
        else:
            set_type(obj, 'ClusterIP' if obj['spec']['type'] == 'NodePort'
                     else 'NodePort')
        return [('apply', obj)]

    def step_log(self):
        """Kubernetes' policies of a Namespace, with logging or without."""
        obj = copy.deepcopy(self.choice(self.objects.of_kind('Namespace')))
        name = 'networkpolicy.antrea.io/enable-logging'
        notes = obj['metadata'].setdefault('annotations', {})
        notes[name] = 'false' if notes.get(name) == 'true' else 'true'
        return [('apply', obj)]

    def step_tier(self):
        tiers = self.objects.of_kind('Tier')
        taken = {tier['spec']['priority'] for tier in tiers}
        free = [p for p in CUSTOM_TIERS if p not in taken]
        if tiers and free:
            obj = copy.deepcopy(self.choice(tiers))
            obj['spec']['priority'] = self.choice(free)
            return [('apply', obj)]

# SPDX-License-Identifier: Apache-2.0
"""What policies mean, read straight from the documents of Kubernetes, of
Antrea and of the policy API of SIG Network, from the objects as a user writes
them.  It knows neither records nor flows, nor anything of ours.

    world = World(objects, family)
    world.connection(source address, destination address, Packet(...))

gives the outcome of a new connection: allow, drop or reject, what decided, and
which L7 engines look at it.  What was asked of DNS isn't in the objects: World
is told which names the Nodes know, and tells which they would keep."""

import collections
import functools
import ipaddress
import re

ALLOW, DROP, REJECT, PASS = 'allow', 'drop', 'reject', 'pass'
ENGINE = 'engine'               # Allowed as far as an L7 engine finds it good.
INGRESS, EGRESS = 'ingress', 'egress'

TIERS = {'emergency': 50, 'securityops': 100, 'networkops': 150,
         'platform': 200, 'application': 250, 'baseline': 253}
ADMIN_TIER = 251                # AdminNetworkPolicies: behind the last Tier.
BASELINE_TIER = 253             # From here on: after Kubernetes' policies.
BASELINE_ADMIN_TIER = 254

# 'protocol': TCP, UDP, SCTP or ICMP; of ICMP 'dport' is the type, and the code
# is 0.  'service': (namespace, name) of the Service that it was sent to.
Packet = collections.namedtuple('Packet', 'protocol sport dport service')
# 'engines': [(Node, name of the L7 rule)], in order; 'is_marked': conntrack
# knows the connection as an engine's, even if a later rule denies it.
Outcome = collections.namedtuple('Outcome', 'verdict why engines is_marked',
                                 defaults=[(), False])
QUERY = 0x11                    # The type of IGMP.


ip_address = functools.lru_cache(maxsize=None)(ipaddress.ip_address)
ip_network = functools.lru_cache(maxsize=None)(ipaddress.ip_network)


def of(thing, path, default=None):
    """What is at 'a.b.c' of an object."""
    for member in path.split('.'):
        if not isinstance(thing, dict) or thing.get(member) is None:
            return default
        thing = thing[member]
    return thing


def selects(selector, labels):
    """A LabelSelector; an empty one selects all."""
    for key, value in (selector.get('matchLabels') or {}).items():
        if labels.get(key) != value:
            return False
    for term in selector.get('matchExpressions') or []:
        key, operator = term['key'], term['operator']
        if operator == 'In':
            good = key in labels and labels[key] in term['values']
        elif operator == 'NotIn':
            good = key not in labels or labels[key] not in term['values']
        elif operator == 'Exists':
            good = key in labels
        else:
            good = key not in labels
        if not good:
            return False
    return True


@functools.lru_cache(maxsize=None)
def fits(pattern, name):
    """A domain name, and the fqdn of a rule, in which "*" is any text."""
    return re.fullmatch(re.escape(pattern).replace(r'\*', '.*'), name,
                        re.IGNORECASE) is not None


def is_multicast(block):
    return ip_network(block['cidr']).network_address.is_multicast


class Pod:
    def __init__(self, obj):
        self.namespace = obj['metadata']['namespace']
        self.name = obj['metadata']['name']
        self.labels = obj['metadata'].get('labels') or {}
        self.node = obj['spec']['nodeName']
        self.account = obj['spec'].get('serviceAccountName', 'default')
        self.addresses = [ip_address(ip['ip'])
                          for ip in obj['status']['podIPs']]
        self.ports = [(port.get('name'), port.get('protocol', 'TCP'),
                       port['containerPort'])
                      for container in obj['spec']['containers']
                      for port in container.get('ports') or []]

    def named_port(self, name, protocol):
        """The numbers that it has by that name."""
        return {number for port, proto, number in self.ports
                if port == name and proto == protocol}


class End:
    """Source or destination of a packet, as policies see it."""

    def __init__(self, address, pod):
        self.address = address
        self.pod = pod


class Rule:
    """A rule as a policy has it, and all that says where it stands."""

    def __init__(self, policy, spec, direction, index):
        self.policy = policy
        self.spec = spec
        self.direction = direction
        self.index = index
        self.title = '%s, %s rule %d' % (policy.title, direction, index + 1)

    def services(self):
        """(namespace, name) of those that it is applied to; None where it
        is applied to Pods."""
        applied = (self.policy.spec.get('appliedTo')
                   or self.spec.get('appliedTo'))
        if self.policy.is_admin or not applied or 'service' not in applied[0]:
            return None
        return {(entry['service']['namespace'], entry['service']['name'])
                for entry in applied}

    def fqdns(self):
        return [peer['fqdn'] for peer in self.peers if 'fqdn' in peer]

    def igmp(self):
        """What it says about IGMP; None: nothing."""
        protocols = self.spec.get('protocols') or []
        return ([protocol['igmp'] or {} for protocol in protocols
                 if 'igmp' in protocol] or None)

    def sends_multicast(self):
        """Is it about what is sent to multicast groups?"""
        return (self.direction == EGRESS
                and any('ipBlock' in peer and is_multicast(peer['ipBlock'])
                        for peer in self.peers))

    @property
    def peers(self):
        return self.spec.get('from' if self.direction == INGRESS
                             else 'to') or []


class Policy:
    def __init__(self, obj):
        meta = obj['metadata']
        group = obj['apiVersion'].split('/')[0]
        self.obj = obj
        self.spec = obj['spec']
        self.kind = obj['kind']
        self.namespace = meta.get('namespace')
        self.is_k8s = group == 'networking.k8s.io'
        self.is_admin = group == 'policy.networking.k8s.io'
        self.title = '%s%s %s' % (
            'Antrea ' if group == 'crd.antrea.io' else '', self.kind,
            '/'.join(filter(None, (self.namespace, meta['name']))))
        self.rules = {direction: [Rule(self, spec, direction, index)
                                  for index, spec in enumerate(
                                      self.spec.get(direction) or [])]
                      for direction in (INGRESS, EGRESS)}

    def directions(self):
        """Those in which a NetworkPolicy of Kubernetes isolates."""
        types = self.spec.get('policyTypes')
        if types:
            return {name.lower() for name in types}
        return {INGRESS, EGRESS} if self.spec.get('egress') else {INGRESS}


class World:
    """The objects of a cluster; 'names': {Node: {name: addresses}} of those
    that Pods were told."""

    def __init__(self, objects, family=4, names=None):
        by_kind = collections.defaultdict(list)
        for obj in objects:
            by_kind[(obj['apiVersion'].split('/')[0], obj['kind'])].append(obj)
        self.family = family
        self.names = names or {}
        self.namespaces = {obj['metadata']['name']:
                           obj['metadata'].get('labels') or {}
                           for obj in by_kind['v1', 'Namespace']}
        self.nodes = {obj['metadata']['name']: obj
                      for obj in by_kind['v1', 'Node']}
        self.pods = [Pod(obj) for obj in by_kind['v1', 'Pod']]
        self.services = {(obj['metadata']['namespace'],
                          obj['metadata']['name']): obj
                         for obj in by_kind['v1', 'Service']}
        self.groups = {(obj['metadata'].get('namespace'),
                        obj['metadata']['name']): obj
                       for kind in ('Group', 'ClusterGroup')
                       for obj in by_kind['crd.antrea.io', kind]}
        self.tiers = dict(TIERS)
        for obj in by_kind['crd.antrea.io', 'Tier']:
            self.tiers[obj['metadata']['name']] = obj['spec']['priority']
        self.k8s = [Policy(obj) for obj in
                    by_kind['networking.k8s.io', 'NetworkPolicy']]
        ranked = [Policy(obj) for key, found in by_kind.items()
                  if key[0] == 'policy.networking.k8s.io'
                  or key[0] == 'crd.antrea.io' and key[1].endswith('Policy')
                  for obj in found]
        ranked.sort(key=self.rank)
        self.ahead = [policy for policy in ranked
                      if self.rank(policy)[0] < BASELINE_TIER]
        self.behind = [policy for policy in ranked
                       if self.rank(policy)[0] >= BASELINE_TIER]
        self.by_address = {address: pod for pod in self.pods
                           for address in pod.addresses}
        self.ends = {}
        self.member = functools.lru_cache(maxsize=None)(self.is_member)
        self.memo = {}

    # --- who is who ---------------------------------------------------------

    def rank(self, policy):
        """What comes first decides first."""
        if policy.kind == 'AdminNetworkPolicy':
            return ADMIN_TIER, policy.spec['priority']
        if policy.kind == 'BaselineAdminNetworkPolicy':
            return BASELINE_ADMIN_TIER, 0
        return (self.tiers[policy.spec.get('tier') or 'application'],
                policy.spec['priority'])

    def end(self, text):
        found = self.ends.get(text)
        if found is None:
            address = ip_address(text)
            found = self.ends[text] = End(address,
                                          self.by_address.get(address))
        return found

    def gateways(self, node):
        """The addresses of a Node's gateway: the first of each Pod CIDR."""
        return [ip_network(cidr)[1]
                for cidr in node['spec']['podCIDRs']]

    def node_addresses(self, node):
        return self.gateways(node) + [
            ip_address(entry['address'])
            for entry in node['status']['addresses']
            if entry['type'] == 'InternalIP']

    def namespace_selected(self, selector, namespace):
        return selects(selector, self.namespaces.get(namespace) or {})

    def pod_selected(self, pod, pods, namespaces, own):
        """Selectors of Pods and Namespaces, either of them None where it
        isn't given; without one of Namespaces only those of 'own' count, or
        of all if that is None."""
        if namespaces is None:
            if own is not None and pod.namespace != own:
                return False
        elif not self.namespace_selected(namespaces, pod.namespace):
            return False
        return selects(pods or {}, pod.labels)

    def block_has(self, block, address):
        cidr = ip_network(block['cidr'])
        return address in cidr and not any(
            address in ip_network(cidr)
            for cidr in block.get('except') or [])

    def group_has(self, namespace, name, end):
        spec = self.groups[namespace, name]['spec']
        if 'podSelector' in spec or 'namespaceSelector' in spec:
            return end.pod is not None and self.pod_selected(
                end.pod, spec.get('podSelector'),
                spec.get('namespaceSelector'), namespace)
        blocks = list(spec.get('ipBlocks') or [])
        if 'ipBlock' in spec:
            blocks.append(spec['ipBlock'])
        if any(self.block_has(block, end.address) for block in blocks):
            return True
        reference = spec.get('serviceReference')
        if reference:
            return end.pod is not None and self.serves(
                end.pod, (reference.get('namespace', namespace),
                          reference['name']))
        return any(self.group_has(namespace, child, end)
                   for child in spec.get('childGroups') or [])

    def serves(self, pod, service):
        """Does the Service's selector select the Pod?"""
        labels = of(self.services.get(service), 'spec.selector')
        return bool(labels and pod.namespace == service[0]
                    and selects({'matchLabels': labels}, pod.labels))

    # --- peers --------------------------------------------------------------

    def is_member(self, key, own, address):
        """Is 'address' what the peer at memo[key] selects, for a rule that
        is applied to Pods of the Namespace 'own'?"""
        policy, peer = self.memo[key]
        return self.peer_has(policy, peer, own, self.end(address))

    def peer_has(self, policy, peer, own, end):
        pod = end.pod
        if 'ipBlock' in peer:
            return self.block_has(peer['ipBlock'], end.address)
        if 'group' in peer:
            return self.group_has(policy.namespace, peer['group'], end)
        if 'nodeSelector' in peer:
            return self.nodes_have(peer['nodeSelector'], end)
        if 'serviceAccount' in peer:
            account = peer['serviceAccount']
            return (pod is not None and pod.account == account['name']
                    and pod.namespace == account.get('namespace',
                                                     policy.namespace))
        if pod is None:
            return False
        if 'namespaces' in peer:
            return (self.related(peer['namespaces'], own, pod.namespace)
                    and selects(peer.get('podSelector') or {}, pod.labels))
        return self.pod_selected(pod, peer.get('podSelector'),
                                 peer.get('namespaceSelector'),
                                 policy.namespace)

    def nodes_have(self, selector, end):
        return any(selects(selector, of(node, 'metadata.labels', {}))
                   and end.address in self.node_addresses(node)
                   for node in self.nodes.values())

    def related(self, namespaces, own, other):
        """'namespaces' of a peer: Self, or the same values of labels, which
        both must have."""
        if namespaces.get('match') == 'Self':
            return own == other
        a, b = self.namespaces.get(own) or {}, self.namespaces.get(other) or {}
        return all(label in a and label in b and a[label] == b[label]
                   for label in namespaces['sameLabels'])

    def admin_peer_has(self, peer, end):
        """A peer, or the subject, of an AdminNetworkPolicy."""
        if 'networks' in peer:
            return any(end.address in ip_network(cidr)
                       for cidr in peer['networks'])
        if 'nodes' in peer:
            return self.nodes_have(peer['nodes'], end)
        if end.pod is None:
            return False
        if 'namespaces' in peer:
            return self.namespace_selected(peer['namespaces'],
                                           end.pod.namespace)
        pods = peer['pods']
        return (self.namespace_selected(pods.get('namespaceSelector') or {},
                                        end.pod.namespace)
                and selects(pods.get('podSelector') or {}, end.pod.labels))

    def peer_matches(self, rule, subject, end, packet):
        services = rule.spec.get('toServices') or []
        if any(packet.service == (entry.get('namespace',
                                            rule.policy.namespace),
                                  entry['name']) for entry in services):
            return True
        if not rule.peers:
            return not services
        if rule.policy.is_admin:
            return any(self.admin_peer_has(peer, end) for peer in rule.peers)
        for index, peer in enumerate(rule.peers):
            if 'fqdn' in peer:
                if self.is_named(peer['fqdn'], subject.node, end.address):
                    return True
                continue
            key = (id(rule), index)
            self.memo[key] = rule.policy, peer
            if self.member(key, subject.namespace, str(end.address)):
                return True
        return False

    # --- ports --------------------------------------------------------------

    def port_matches(self, port, packet, server):
        """'server': the Pod that names of ports are those of, or None."""
        if port.get('protocol', 'TCP') != packet.protocol:
            return False
        source = port.get('sourcePort')
        if source and not (source <= packet.sport
                           <= port.get('sourceEndPort', source)):
            return False
        number = port.get('port')
        if number is None:
            return True
        if isinstance(number, str):
            return (server is not None and packet.dport
                    in server.named_port(number, packet.protocol))
        return number <= packet.dport <= port.get('endPort', number)

    def admin_port_matches(self, port, packet, server):
        if 'namedPort' in port:
            return (server is not None and packet.dport
                    in server.named_port(port['namedPort'], packet.protocol))
        known = port.get('portNumber') or port['portRange']
        first = known.get('port', known.get('start'))
        return (known.get('protocol', 'TCP') == packet.protocol
                and first <= packet.dport <= known.get('end', first))

    def protocol_matches(self, protocol, packet):
        """Antrea's ICMP is that of the packet's family; for IGMP see
        allows_igmp()."""
        icmp = protocol.get('icmp') or {}
        return (packet.protocol == 'ICMP' and 'icmp' in protocol
                and icmp.get('icmpType', packet.dport) == packet.dport
                and icmp.get('icmpCode', 0) == 0)

    def ports_match(self, rule, packet, server):
        ports = rule.spec.get('ports') or []
        protocols = rule.spec.get('protocols') or []
        if not ports and not protocols:
            return True
        matches = (self.admin_port_matches if rule.policy.is_admin
                   else self.port_matches)
        return (any(matches(port, packet, server) for port in ports)
                or any(self.protocol_matches(protocol, packet)
                       for protocol in protocols))

    # --- policies -----------------------------------------------------------

    def applied(self, policy, peers, subject):
        end = self.end(str(subject.addresses[0]))
        return any(self.peer_has(policy, peer, None, end) for peer in peers)

    def subjects(self, rule, subject):
        """Is an Antrea or an administrator's rule applied to the Pod?"""
        policy = rule.policy
        key = id(policy), id(rule), subject
        known = self.memo.get(key)
        if known is None:
            if policy.is_admin:
                known = self.admin_peer_has(
                    policy.spec['subject'],
                    self.end(str(subject.addresses[0])))
            else:
                known = self.applied(policy, policy.spec.get('appliedTo')
                                     or rule.spec.get('appliedTo') or [],
                                     subject)
            self.memo[key] = known
        return known

    def guards(self, rule, services, client, packet):
        """Does the rule, which is applied to Services, speak of it?  Only
        those with NodePorts count, and 'client' only where they are asked."""
        return (client is not None and packet.service in services
                and of(self.services.get(packet.service),
                       'spec.type') == 'NodePort'
                and self.ports_match(rule, packet, None)
                and (not rule.peers
                     or any(self.block_has(peer['ipBlock'], client.address)
                            for peer in rule.peers)))

    def first_match(self, policies, direction, subject, peer, packet, client):
        """What the first rule that speaks of the packet says."""
        server = subject if direction == INGRESS else peer.pod
        for policy in policies:
            for rule in policy.rules[direction]:
                services = rule.services()
                if services is not None:
                    matches = self.guards(rule, services, client, packet)
                else:
                    matches = (
                        subject is not None and self.subjects(rule, subject)
                        and self.ports_match(rule, packet, server)
                        and self.peer_matches(rule, subject, peer, packet))
                if matches:
                    action = rule.spec['action'].lower()
                    if rule.spec.get('l7Protocols'):
                        action = ENGINE
                    return Outcome({'deny': DROP}.get(action, action),
                                   '%s (%s)' % (rule.title,
                                                rule.spec['action']),
                                   [rule.spec.get('name')])
        return None

    def kubernetes(self, direction, subject, peer, packet):
        """Kubernetes' own: None where no policy isolates the Pod."""
        server = subject if direction == INGRESS else peer.pod
        isolated = []
        for policy in self.k8s:
            if (direction not in policy.directions()
                    or policy.namespace != subject.namespace
                    or not selects(policy.spec.get('podSelector') or {},
                                   subject.labels)):
                continue
            isolated.append(policy.title)
            for rule in policy.rules[direction]:
                if (self.ports_match(rule, packet, server)
                        and self.peer_matches(rule, subject, peer, packet)):
                    return Outcome(ALLOW, rule.title)
        return (Outcome(DROP, 'isolated by ' + ', '.join(isolated))
                if isolated else None)

    def decide(self, direction, subject, peer, packet, client=None):
        """Antrea's Tiers and administrators' policies; Kubernetes'; the
        baseline.  Without a 'subject' only rules that are applied to Services
        count, and these only with the 'client' of one."""
        found = self.first_match(self.ahead, direction, subject, peer, packet,
                                 client)
        if found and found.verdict != PASS:
            return found
        outcome = (self.kubernetes(direction, subject, peer, packet)
                   if subject else None)
        if outcome:
            return outcome
        found = self.first_match(self.behind, direction, subject, peer, packet,
                                 client)
        return found or Outcome(ALLOW, 'no policy')

    def is_own_node(self, end, pod):
        """A Node reaches its Pods whatever policies say."""
        return end.address in self.gateways(self.nodes[pod.node])

    def connection(self, src, dst, packet):
        """A new connection to 'dst', which is where it arrives: behind a
        Service the endpoint."""
        source, target = self.end(src), self.end(dst)
        here = (source.pod and target.pod
                and source.pod.node == target.pod.node)
        egress = ingress = None
        if source.pod:
            egress = self.decide(EGRESS, source.pod, target, packet)
            if egress.verdict not in (ALLOW, ENGINE):
                return Outcome(egress.verdict, 'egress: ' + egress.why)
        if (target.pod and target.pod is not source.pod
                and not self.is_own_node(source, target.pod)):
            # That of a Pod's Service that chose an endpoint here.
            client = source if packet.service and here else None
            ingress = self.decide(INGRESS, target.pod, source, packet, client)
        verdict = (ingress.verdict if ingress and ingress.verdict != ENGINE
                   else ALLOW)
        return Outcome(verdict, '; '.join(
            '%s: %s' % (name, outcome.why) for name, outcome in
            (('egress', egress), ('ingress', ingress)) if outcome),
            self.engines(source, egress, target, ingress),
            any(outcome and outcome.verdict == ENGINE
                for outcome in (egress, ingress)))

    def engines(self, source, egress, target, ingress):
        """A Node's engine looks once, and not at what a Pod says to itself,
        nor at what is denied there."""
        found = []
        if (egress and egress.verdict == ENGINE
                and source.pod is not target.pod):
            found.append((source.pod.node, egress.engines[0]))
        if ingress and target.pod.node in [node for node, _ in found] and (
                ingress.verdict != ALLOW):
            found = []
        if ingress and ingress.verdict == ENGINE:
            found.append((target.pod.node, ingress.engines[0]))
        return found

    def node_port(self, src, node, dst, packet):
        """A new connection from outside to a NodePort of 'node', behind which
        'dst' was chosen.  An endpoint on another Node sees the gateway."""
        source, target = self.end(src), self.end(dst)
        if target.pod.node == node:
            outcome = self.decide(INGRESS, target.pod, source, packet, source)
        else:
            outcome = self.decide(INGRESS, None, source, packet, source)
            if outcome.verdict == ALLOW:
                gateway = next(address for address
                               in self.gateways(self.nodes[node])
                               if address.version == self.family)
                outcome = self.decide(INGRESS, target.pod,
                                      self.end(str(gateway)), packet)
        engines = self.engines(source, None, target, outcome)
        return Outcome(ALLOW if engines else outcome.verdict, outcome.why,
                       engines, bool(engines))

    def node_endpoints(self, service, protocol, port, node):
        """The same for clients outside that come to 'node'."""
        found = self.endpoints(service, protocol, port)
        if of(self.services[service], 'spec.externalTrafficPolicy') == 'Local':
            found = [(address, number) for address, number in found
                     if self.end(address).pod.node == node]
        return found

    def endpoints(self, service, protocol, port):
        """[(address, port)] behind a Service's port."""
        spec = self.services[service]['spec']
        found = []
        for entry in spec['ports']:
            if (entry['port'] != port
                    or entry.get('protocol', 'TCP') != protocol):
                continue
            target = entry.get('targetPort', port)
            for pod in self.pods:
                if not self.serves(pod, service):
                    continue
                numbers = ({target} if isinstance(target, int)
                           else pod.named_port(target, protocol))
                found += [(str(address), number) for number in numbers
                          for address in pod.addresses
                          if address.version == self.family]
        return found

    # --- names --------------------------------------------------------------

    def is_named(self, pattern, node, address):
        """Does a name that fits have the address, as far as 'node' knows?"""
        return any(str(address) in addresses and fits(pattern, name)
                   for name, addresses in self.names.get(node, {}).items())

    def heeds_names(self, pod):
        """Has the Pod a rule about names, so that what DNS tells it counts?"""
        return any(rule.fqdns() and self.subjects(rule, pod)
                   for policy in self.ahead + self.behind
                   for rule in policy.rules[EGRESS])

    def keeps_name(self, node, name):
        """Has 'node' a Pod with a policy that is about the name?"""
        return any(fits(pattern, name)
                   for policy in self.ahead + self.behind
                   for rule in policy.rules[EGRESS]
                   for pattern in rule.fqdns()
                   if self.is_on(policy, node))

    def is_on(self, policy, node):
        """Is any of the policy applied to a Pod of the Node?"""
        return any(pod.node == node and self.subjects(rule, pod)
                   for rules in policy.rules.values() for rule in rules
                   for pod in self.pods)

    # --- multicast ----------------------------------------------------------

    def multicast_rules(self, pod, direction):
        """Those of Antrea's that are applied to the Pod, in order."""
        for policy in self.ahead + self.behind:
            for rule in policy.rules[direction]:
                if (not policy.is_admin and rule.services() is None
                        and self.subjects(rule, pod)):
                    yield rule

    def allows_igmp(self, pod, direction, kind, group, source=None):
        """A message of the Pod about a group, or a query for the Pod that
        comes from 'source': may it?"""
        for rule in self.multicast_rules(pod, direction):
            for igmp in rule.igmp() or []:
                if (igmp.get('igmpType', kind) == kind
                        and igmp.get('groupAddress', group) == group
                        and (not rule.peers or source is not None
                             and any(self.block_has(peer['ipBlock'],
                                                    self.end(source).address)
                                     for peer in rule.peers))):
                    return rule.spec['action'] == 'Allow'
        return True

    def allows_multicast(self, pod, group, packet):
        """May the Pod send it?"""
        for rule in self.multicast_rules(pod, EGRESS):
            if (rule.sends_multicast() and self.ports_match(rule, packet, None)
                    and any(self.block_has(peer['ipBlock'],
                                           ip_address(group))
                            for peer in rule.peers)):
                return rule.spec['action'] == 'Allow'
        return True

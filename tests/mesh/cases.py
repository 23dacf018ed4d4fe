# SPDX-License-Identifier: Apache-2.0
"""The well-known cases of Kubernetes' own tests of NetworkPolicies, by their
meaning, some about Antrea's policies and administrators', and for each step
what a reader of the policy expects: that is compared with the evaluator, too.

A Case has steps; a step has objects to apply, objects to delete, and 'expect',
which says of (source, destination, protocol, port) of two Pods whether
the first reaches the second: True, False, or 'reject'."""

import collections
import copy

from cluster import CIDRS, PLACES

Case = collections.namedtuple('Case', 'name steps')
Step = collections.namedtuple('Step', 'apply delete expect')
ALL = {}
ADMIN = 'policy.networking.k8s.io/v1alpha1'


def labels(**kwargs):
    return {'matchLabels': kwargs}


def where(key, operator, *values):
    term = {'key': key, 'operator': operator}
    if values:
        term['values'] = list(values)
    return {'matchExpressions': [term]}


def pods(selector):
    return {'podSelector': selector}


def namespaces(selector):
    return {'namespaceSelector': selector}


def port(number=None, protocol='TCP', end=None):
    entry = {'protocol': protocol}
    if number is not None:
        entry['port'] = number
    if end:
        entry['endPort'] = end
    return entry


def rule(peers=None, ports=None, side='from', **more):
    found = dict(more)
    if peers is not None:
        found[side] = peers
    if ports is not None:
        found['ports'] = ports
    return found


def to(peers=None, ports=None, **more):
    return rule(peers, ports, 'to', **more)


def policy(name, namespace, selector, ingress=None, egress=None, types=None):
    spec = {'podSelector': selector}
    if ingress is not None:
        spec['ingress'] = ingress
    if egress is not None:
        spec['egress'] = egress
    spec['policyTypes'] = types or (
        (['Ingress'] if ingress is not None else [])
        + (['Egress'] if egress is not None else []))
    return {'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy',
            'metadata': {'name': name, 'namespace': namespace}, 'spec': spec}


def antrea(name, priority, applied_to, tier=None, namespace=None, **rules):
    spec = {'priority': priority, 'appliedTo': applied_to, **rules}
    if tier:
        spec['tier'] = tier
    meta = {'name': name}
    if namespace:
        meta['namespace'] = namespace
    return {'apiVersion': 'crd.antrea.io/v1beta1',
            'kind': 'NetworkPolicy' if namespace else 'ClusterNetworkPolicy',
            'metadata': meta, 'spec': spec}


def admin(name, subject, priority=None, **rules):
    spec = {'subject': subject, **rules}
    if priority is not None:
        spec['priority'] = priority
    return {'apiVersion': ADMIN, 'kind': ('AdminNetworkPolicy'
                                          if priority is not None else
                                          'BaselineAdminNetworkPolicy'),
            'metadata': {'name': name}, 'spec': spec}


def relabel(objects, kind, name, namespace=None, **new):
    """A Pod or Namespace as it is, with labels that are new, or gone (None)."""
    obj = copy.deepcopy(objects.find(kind, name, namespace))
    found = obj['metadata'].setdefault('labels', {})
    for key, value in new.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = value
    return obj


def step(expect, *apply, delete=()):
    return Step(list(apply), list(delete), expect)


def ns(name):
    return name.split('/')[0]


def pod(name):
    return name.split('/')[1]


def into(target, good):
    """Only what is 'good' gets to 'target', a Pod or a whole Namespace."""
    return lambda s, d, proto, number: (
        good(s, proto, number) if target in (d, ns(d)) else True)


def out_of(source, good):
    return lambda s, d, proto, number: (
        good(d, proto, number) if source in (s, ns(s)) else True)


def both(*expects):
    return lambda *probe: all(expect(*probe) for expect in expects)


def everything(*_):
    return True


def nothing(*_):
    return False


def case(text):
    def add(make):
        ALL[text] = make
        return make
    return add


def simple(text, expect, *objects):
    ALL[text] = lambda _: [step(expect, *objects)]


A, B, C = labels(pod='a'), labels(pod='b'), labels(pod='c')

# --- who ----------------------------------------------------------------------

simple('deny all ingress of a Namespace', into('x', nothing),
       policy('deny', 'x', {}, ingress=[]))
simple('deny all egress of a Namespace', out_of('x', nothing),
       policy('deny', 'x', {}, egress=[]))
simple('deny all of both directions', both(into('x', nothing),
                                           out_of('x', nothing)),
       policy('deny', 'x', {}, ingress=[], egress=[]))
simple('deny ingress of one Pod', into('x/a', nothing),
       policy('deny', 'x', A, ingress=[]))
simple('deny egress of one Pod by its label', out_of('x/a', nothing),
       policy('deny', 'x', A, egress=[]))
simple('types by default: ingress alone', into('x', nothing),
       {**policy('deny', 'x', {}), 'spec': {'podSelector': {}}})
simple('types by default: egress where there are such rules',
       both(into('x/a', nothing), out_of('x/a', lambda d, *_: d == 'x/b')),
       {**policy('both', 'x', A), 'spec': {
           'podSelector': A, 'egress': [to([pods(B)])]}})
simple('allow from a Pod by label in the same Namespace',
       into('x/a', lambda s, *_: s == 'x/b'),
       policy('allow', 'x', A, ingress=[rule([pods(B)])]))
simple('allow by expressions about Pods',
       into('x/a', lambda s, *_: s == 'x/b'),
       policy('allow', 'x', A, ingress=[rule([pods(where('pod', 'In',
                                                         'b'))])]))
simple('allow from any of two kinds of Pods',
       into('x/a', lambda s, *_: s in ('x/b', 'x/c')),
       policy('allow', 'x', A, ingress=[rule([pods(B), pods(C)])]))
simple('allow one target where all are denied',
       into('x', lambda *_: False),
       policy('deny', 'x', {}, ingress=[]),
       policy('none', 'x', A, ingress=[rule([pods(labels(pod='none'))])]))
simple('allow all to one target where all are denied',
       lambda s, d, *_: ns(d) != 'x' or d == 'x/a',
       policy('deny', 'x', {}, ingress=[]),
       policy('allow', 'x', A, ingress=[rule([{
           'podSelector': {}, 'namespaceSelector': {}}])]))
simple('allow from all Namespaces', everything,
       policy('allow', 'x', A, ingress=[rule([namespaces({})])]))
simple('allow from another Namespace by label',
       into('x/a', lambda s, *_: ns(s) == 'y'),
       policy('allow', 'x', A, ingress=[rule([namespaces(labels(ns='y'))])]))
simple('allow from another Namespace by expressions',
       into('x/a', lambda s, *_: ns(s) == 'y'),
       policy('allow', 'x', A, ingress=[rule([namespaces(where(
           'ns', 'In', 'y'))])]))
simple('allow from a Namespace by its name',
       into('x/a', lambda s, *_: ns(s) == 'y'),
       policy('allow', 'x', A, ingress=[rule([namespaces({'matchLabels': {
           'kubernetes.io/metadata.name': 'y'}})])]))
simple('allow all Namespaces but one, by its name',
       into('x/a', lambda s, *_: ns(s) != 'y'),
       policy('allow', 'x', A, ingress=[rule([namespaces(where(
           'kubernetes.io/metadata.name', 'NotIn', 'y'))])]))
simple('allow from Pods of the own Namespace alone',
       into('x', lambda s, *_: ns(s) == 'x'),
       policy('allow', 'x', {}, ingress=[rule([pods({})])]))
simple('allow by Pod or by Namespace',
       into('x/a', lambda s, *_: ns(s) != 'x' or s == 'x/b'),
       policy('allow', 'x', A, ingress=[rule([
           namespaces(where('ns', 'NotIn', 'x')), pods(B)])]))
simple('allow by Pod and Namespace',
       into('x/a', lambda s, *_: s in ('y/b', 'z/b')),
       policy('allow', 'x', A, ingress=[rule([{
           'namespaceSelector': where('ns', 'NotIn', 'x'),
           'podSelector': B}])]))
simple('allow several Pods of several Namespaces',
       into('x/a', lambda s, *_: ns(s) != 'x' and pod(s) in 'bc'),
       policy('allow', 'x', A, ingress=[rule([{
           'namespaceSelector': where('ns', 'NotIn', 'x'),
           'podSelector': where('pod', 'In', 'b', 'c')}])]))
simple('allow one Pod of another Namespace',
       into('x/a', lambda s, *_: s == 'y/a'),
       policy('allow', 'x', A, ingress=[rule([{
           'namespaceSelector': labels(ns='y'), 'podSelector': A}])]))
simple('allow egress to Pods of another Namespace',
       out_of('x/a', lambda d, *_: d == 'y/a'),
       policy('allow', 'x', A, egress=[to([{
           'namespaceSelector': labels(ns='y'), 'podSelector': A}])]))
simple('ingress and egress are judged by themselves',
       both(into('x/a', lambda s, *_: s == 'x/b'),
            out_of('x/a', nothing)),
       policy('in', 'x', A, ingress=[rule([pods(B)])]),
       policy('out', 'x', A, egress=[]))
simple('what one end allows the other may deny',
       both(out_of('x/a', lambda d, *_: ns(d) == 'y'),
            into('y/b', nothing)),
       policy('out', 'x', A, egress=[to([namespaces(labels(ns='y'))])]),
       policy('in', 'y', B, ingress=[]))
simple('policies add up: one that allows all wins', everything,
       policy('some', 'x', A, ingress=[rule([pods(B)])]),
       policy('all', 'x', A, ingress=[{}]))
simple('policies add up: of egress, too', everything,
       policy('none', 'x', {}, egress=[]),
       policy('all', 'x', {}, egress=[{}]))

# --- ports ----------------------------------------------------------------------

simple('allow a port', into('x/a', lambda s, proto, number: (
    ns(s) == 'y' and (proto, number) == ('TCP', 81))),
       policy('port', 'x', A, ingress=[rule([namespaces(labels(ns='y'))],
                                            [port(81)])]))
simple('policies that overlap, each with a port',
       into('x/a', lambda s, proto, number: ns(s) == 'y' and proto == 'TCP'
            and number in (80, 81)),
       policy('80', 'x', A, ingress=[rule([namespaces(labels(ns='y'))],
                                          [port(80)])]),
       policy('81', 'x', {'matchExpressions': [
           {'key': 'pod', 'operator': 'In', 'values': ['a']}]},
              ingress=[rule([namespaces(labels(ns='y'))], [port(81)])]))
simple('allow a port of ingress and another of egress',
       both(into('x', lambda s, proto, number: (proto, number)
                 == ('TCP', 80)),
            out_of('x', lambda d, proto, number: (proto, number)
                   in (('TCP', 80), ('UDP', 80)))),
       policy('in', 'x', {}, ingress=[rule(None, [port(80)])]),
       policy('out', 'x', {}, egress=[to(None, [port(80),
                                                port(80, 'UDP')])]))
simple('allow all', everything,
       policy('all', 'x', {}, ingress=[{}], egress=[{}]))
simple('allow all ports of a protocol',
       into('x', lambda s, proto, number: proto == 'UDP'),
       policy('udp', 'x', {}, ingress=[rule(None, [port(None, 'UDP')])]))
simple('a protocol is none other: SCTP',
       into('x', lambda s, proto, number: (proto, number) == ('SCTP', 80)),
       policy('sctp', 'x', {}, ingress=[rule(None, [port(80, 'SCTP')])]))
simple('a protocol is none other: UDP',
       out_of('x', lambda s, proto, number: (proto, number) == ('UDP', 80)),
       policy('udp', 'x', {}, egress=[to(None, [port(80, 'UDP')])]))
simple('isolated for SCTP means isolated for all',
       into('x/a', lambda s, proto, number: proto == 'SCTP' and s == 'x/b'),
       policy('sctp', 'x', A, ingress=[rule([pods(B)], [port(
           None, 'SCTP')])]))
simple('a range of ports', into('x', lambda s, proto, number: (
    proto == 'TCP' and 81 <= number <= 8080)),
       policy('range', 'x', {}, ingress=[rule(None, [port(81, end=8080)])]))
simple('several ranges', out_of('x', lambda s, proto, number: (
    proto == 'TCP' and (number == 80 or 8000 <= number <= 9000)
    or proto == 'UDP')),
       policy('ranges', 'x', {}, egress=[to(None, [
           port(79, end=80), port(8000, end=9000),
           port(1, 'UDP', end=65535)])]))


def web(name):
    return 81 if pod(name) == 'c' else 80


simple('a port by its name', lambda s, d, proto, number: (
    ns(d) != 'x' or proto == 'TCP' and number == web(d)),
       policy('name', 'x', {}, ingress=[rule(None, [port('web')])]))
simple('a port by its name, from a Namespace', lambda s, d, proto, number: (
    ns(d) != 'x' or proto == 'TCP' and number == web(d) and ns(s) == 'y'),
       policy('name', 'x', {}, ingress=[rule([namespaces(labels(ns='y'))],
                                             [port('web')])]))
simple('a port by its name, of egress', lambda s, d, proto, number: (
    ns(s) != 'x' or proto == 'TCP' and number == web(d) and ns(d) != 'z'),
       policy('name', 'x', {}, egress=[to([namespaces(where(
           'ns', 'In', 'x', 'y'))], [port('web')])]))
simple('a port by its name, of egress to anybody',
       lambda s, d, proto, number: (
           ns(s) != 'x' or proto == 'TCP' and number == web(d)),
       policy('name', 'x', {}, egress=[to(None, [port('web')])]))
simple('a name is that of one protocol', lambda s, d, proto, number: (
    ns(d) != 'x' or d == 'x/b' and (proto, number) == ('UDP', 80)),
       policy('name', 'x', {}, ingress=[rule(None, [port('web', 'UDP')])]))

# --- addresses --------------------------------------------------------------------


def blocks(family):
    """The Pods' network on the second Node, and Pod y/a's address."""
    return (CIDRS[family] % 1,
            PLACES['y/a'].addresses[family] + ('/32' if family == 4
                                               else '/128'))


def on_second(name):
    return PLACES[name].node == 'n2'


@case('allow egress to a CIDR')
def egress_cidr(world):
    cidr, _ = blocks(world.family)
    return [step(out_of('x/a', lambda d, *_: on_second(d)), policy(
        'cidr', 'x', A, egress=[to([{'ipBlock': {'cidr': cidr}}])]))]


@case('allow egress to a CIDR but for a part, then that by another policy')
def egress_except(world):
    cidr, one = blocks(world.family)
    block = {'ipBlock': {'cidr': cidr, 'except': [one]}}
    return [
        step(out_of('x/a', lambda d, *_: on_second(d) and d != 'y/a'),
             policy('except', 'x', A, egress=[to([block])])),
        step(out_of('x/a', lambda d, *_: on_second(d)),
             policy('one', 'x', A, egress=[to([{'ipBlock': {
                 'cidr': one}}])]))]


@case('allow ingress from a CIDR but for a part')
def ingress_except(world):
    cidr, one = blocks(world.family)
    return [step(into('x/a', lambda s, *_: on_second(s) and s != 'y/a'),
                 policy('except', 'x', A, ingress=[rule([{'ipBlock': {
                     'cidr': cidr, 'except': [one]}}])]))]


# --- changes ---------------------------------------------------------------------


@case('a policy is changed, and deleted')
def changed(_):
    name = 'change'
    last = policy(name, 'x', {}, ingress=[rule([pods(A)])])
    return [
        step(into('x', nothing), policy(name, 'x', {}, ingress=[])),
        step(everything, policy(name, 'x', {}, ingress=[{}])),
        step(into('x', lambda s, proto, number: proto == 'UDP'),
             policy(name, 'x', {}, ingress=[rule(None, [
                 port(None, 'UDP')])])),
        step(into('x', lambda s, *_: s == 'x/a'), last),
        step(everything, delete=[last])]


@case('one of two policies is deleted')
def one_deleted(_):
    gone = policy('b', 'x', A, ingress=[rule([pods(B)])])
    return [
        step(into('x/a', lambda s, *_: s in ('x/b', 'x/c')), gone,
             policy('c', 'x', A, ingress=[rule([pods(C)])])),
        step(into('x/a', lambda s, *_: s == 'x/c'), delete=[gone])]


@case("a Namespace's labels change")
def namespace_labels(world):
    return [
        step(into('x/a', nothing), policy('new', 'x', A, ingress=[rule([
            namespaces(labels(ns2='updated'))])])),
        step(into('x/a', lambda s, *_: ns(s) == 'y'),
             relabel(world.objects, 'Namespace', 'y', ns2='updated')),
        step(into('x/a', lambda s, *_: ns(s) in 'yz'),
             relabel(world.objects, 'Namespace', 'z', ns2='updated')),
        step(into('x/a', lambda s, *_: ns(s) == 'z'),
             relabel(world.objects, 'Namespace', 'y', ns2='old'))]


@case("a Pod's labels change: who may come")
def pod_labels(world):
    return [
        step(into('x/a', nothing), policy('new', 'x', A, ingress=[rule([
            pods(labels(pod2='updated'))])])),
        step(into('x/a', lambda s, *_: s == 'x/b'),
             relabel(world.objects, 'Pod', 'b', 'x', pod2='updated')),
        step(into('x/a', nothing),
             relabel(world.objects, 'Pod', 'b', 'x', pod2=None))]


@case("a Pod's labels change: who is isolated")
def target_labels(world):
    return [
        step(everything, policy('new', 'x', labels(target='yes'),
                                ingress=[], egress=[])),
        step(both(into('x/c', nothing), out_of('x/c', nothing)),
             relabel(world.objects, 'Pod', 'c', 'x', target='yes')),
        step(everything,
             relabel(world.objects, 'Pod', 'c', 'x', target='no'))]


@case('the same in three Namespaces, one after the other')
def spreading(_):
    made = [policy('self', name, {}, ingress=[rule([pods({})])])
            for name in 'xyz']
    return [step(lambda s, d, *_, first=made[:count + 1]: ns(d) not in [
        p['metadata']['namespace'] for p in first] or ns(s) == ns(d),
                 made[count]) for count in range(3)]


# --- Antrea's and administrators' ---------------------------------------------------

simple('Antrea: no isolation but what a rule drops',
       into('x/a', lambda s, *_: s != 'y/b'),
       antrea('drop', 1, [{'podSelector': A,
                           'namespaceSelector': labels(ns='x')}],
              ingress=[rule([{'podSelector': B, 'namespaceSelector':
                              labels(ns='y')}], action='Drop')]))
simple('Antrea: whom a rule rejects is told, in both directions',
       lambda s, d, *_: ('reject' if ns(d) == 'x' or s == 'y/a' else True),
       antrea('in', 1, [namespaces(labels(ns='x'))],
              ingress=[rule(action='Reject')]),
       antrea('out', 2, [{'podSelector': A}], namespace='y',
              egress=[to(action='Reject')]))
simple('Antrea: the order of Tiers, priorities, rules',
       lambda s, d, proto, number: (
           True if ns(d) != 'x' or ns(s) == 'y' else
           'reject' if proto == 'UDP' else
           (proto, number) == ('TCP', 80)),
       antrea('last', 1, [namespaces(labels(ns='x'))], 'platform',
              ingress=[rule(action='Drop')]),
       antrea('second', 7, [namespaces(labels(ns='x'))], 'securityops',
              ingress=[rule(None, [port(80)], action='Allow'),
                       rule(None, [port(80)], action='Drop')]),
       antrea('first', 3, [namespaces(labels(ns='x'))], 'securityops',
              ingress=[rule(None, [port(None, 'UDP')], action='Reject')]),
       antrea('zeroth', 9, [namespaces(labels(ns='x'))], 'emergency',
              ingress=[rule([namespaces(labels(ns='y'))],
                            action='Allow')]))
simple('Antrea: what is passed on Kubernetes decides, then the baseline',
       lambda s, d, *_: (
           s == 'x/b' if d == 'x/a' else
           False if ns(d) in 'xz' and s == 'y/b' else
           'reject' if ns(d) == 'z' and s == 'z/a' else True),
       antrea('pass', 1, [namespaces(labels(ns='x'))], 'emergency',
              ingress=[rule([pods(B)], action='Pass')]),
       antrea('drop', 2, [namespaces(where('ns', 'In', 'x'))], 'platform',
              ingress=[rule([pods(B)], action='Reject')]),
       policy('k8s', 'x', A, ingress=[rule([pods(B)])]),
       antrea('base', 1, [namespaces(where('ns', 'In', 'x', 'z'))],
              'baseline', ingress=[
                  rule([{'podSelector': B, 'namespaceSelector':
                         labels(ns='y')}], action='Drop')]),
       antrea('base2', 2, [namespaces(labels(ns='z'))], 'baseline',
              ingress=[rule([{'podSelector': A, 'namespaceSelector':
                              labels(ns='z')}], action='Reject'),
                       rule(action='Allow')]))


@case('Antrea: what was allowed and not answered is denied by a rule that comes')
def denied_later(_):
    to_y = [namespaces(labels(ns='y'))]
    of_x = {'podSelector': A, 'namespaceSelector': labels(ns='x')}
    return [
        step(everything,
             antrea('allow', 5, [namespaces(labels(ns='x'))],
                    egress=[to(to_y, action='Allow')]),
             antrea('let-in', 6, [namespaces(labels(ns='z'))],
                    ingress=[rule([pods(C)], action='Allow')])),
        step(lambda s, d, *_: (
            False if s == 'x/a' and ns(d) == 'y' or d == 'z/b' and pod(s)
            == 'c' else True),
             antrea('drop', 1, [of_x], egress=[to(to_y, action='Drop')]),
             antrea('drop-in', 2, [{'podSelector': B, 'namespaceSelector':
                                    labels(ns='z')}],
                    ingress=[rule([pods(C)], action='Drop')])),
        step(lambda s, d, *_: (
            'reject' if s == 'x/a' and ns(d) == 'y' or d == 'z/b' and pod(s)
            == 'c' else True),
             antrea('drop', 1, [of_x], egress=[to(to_y, action='Reject')]),
             antrea('drop-in', 2, [{'podSelector': B, 'namespaceSelector':
                                    labels(ns='z')}],
                    ingress=[rule([pods(C)], action='Reject')]))]


simple('Antrea: each Namespace to itself',
       lambda s, d, *_: ns(s) == ns(d),
       antrea('self', 1, [namespaces({})],
              ingress=[rule([{'namespaces': {'match': 'Self'}}],
                            action='Allow'), rule(action='Drop')]))
simple('Antrea: Namespaces of one team to each other',
       lambda s, d, *_: not (ns(d) in 'xy' and ns(s) == 'z'),
       antrea('team', 1, [namespaces(where('ns', 'In', 'x', 'y'))],
              ingress=[rule([{'namespaces': {'sameLabels': ['team']}}],
                            action='Allow'), rule(action='Drop')]))
simple("administrators' policies stand behind Antrea's Tiers",
       lambda s, d, proto, number: (
           s == 'x/b' or ns(s) == 'y' and (proto, number) == ('TCP', 80)
           or ns(s) == 'z' and d == 'x/c' if ns(d) == 'x' else True),
       antrea('tier', 1, [namespaces(labels(ns='x'))],
              ingress=[rule([{'podSelector': B, 'namespaceSelector':
                              labels(ns='x')}], action='Allow')]),
       admin('anp', {'namespaces': labels(ns='x')}, 5, ingress=[
           rule([{'namespaces': labels(ns='y')}],
                [{'portNumber': {'protocol': 'TCP', 'port': 80}}],
                action='Allow'),
           rule([{'namespaces': labels(ns='z')}], action='Pass'),
           rule([{'namespaces': {}}], action='Deny')]),
       policy('k8s', 'x', C, ingress=[rule([namespaces({})])]),
       admin('default', {'namespaces': labels(ns='x')}, ingress=[rule([{
           'pods': {'namespaceSelector': labels(ns='z'),
                    'podSelector': {}}}], action='Deny')]))


def all_cases(world):
    """'world': what is there before each of them, with 'objects' and
    'family'."""
    return [Case(text, make(world)) for text, make in ALL.items()]

# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes objects of a made-up cluster, for antrea-dpctl: Nodes,
Namespaces, Pods, of which the first few are ours, policies and Services.

Run as a program, it prints them as JSON: objects.py PODS POLICIES [LOCAL]."""

import json
import random
import sys

import cluster

NAMESPACES, APPS, PODS_OF_NODE = 50, 20, 100
OUR_NODE = 'node0'


def head(api_version, kind, name, namespace=None, **metadata):
    if namespace:
        metadata['namespace'] = namespace
    return {'apiVersion': api_version, 'kind': kind,
            'metadata': dict(metadata, name=name)}


class Objects:
    """Random, but always the same."""

    def __init__(self, pods, policies, local=20):
        self.n_pods, self.n_policies, self.n_local = pods, policies, local

    def all(self):
        n_nodes = 1 + -(-self.n_pods // PODS_OF_NODE)
        yield from (self.node(i) for i in range(n_nodes))
        yield from (dict(head('v1', 'Namespace', 'ns%d' % i,
                              labels={'team': 'team%d' % (i % 5)}))
                    for i in range(NAMESPACES))
        yield from (self.pod(i) for i in range(self.n_pods))
        yield from (self.policy(i) for i in range(self.n_policies))
        yield from (self.service(i) for i in range(NAMESPACES))

    @staticmethod
    def node(index):
        node = head('v1', 'Node', 'node%d' % index, annotations={
            'node.antrea.io/mac-address': cluster.GATEWAY_MAC})
        other = cluster.Node(index) if index else None
        node['spec'] = {'podCIDR': other.net if other else '10.10.0.0/22'}
        node['status'] = {'addresses': [{
            'type': 'InternalIP',
            'address': other.transport_ip if other else cluster.NODE_IP}]}
        return node

    def pod(self, index, **labels):
        """The labels are added to its own."""
        labels = {'app': 'app%d' % (index // NAMESPACES % APPS),
                  'tier': 'tier%d' % (index % 3), **labels}
        pod = head('v1', 'Pod', 'pod%d' % index, 'ns%d' % (index % NAMESPACES),
                   labels=labels)
        node, ip = 0, cluster.Pod(index).ip
        if index < self.n_local:
            pod['metadata']['annotations'] = {
                'antrea-dp.io/port': 'pod%d' % index,
                'antrea-dp.io/mac': cluster.Pod(index).mac}
        else:
            node, place = divmod(index - self.n_local, PODS_OF_NODE)
            node += 1
            ip = cluster.Node(node).pod_ip(place)
        pod['spec'] = {'nodeName': 'node%d' % node, 'containers': [
            {'name': 'main', 'ports': [{'name': 'http',
                                        'containerPort': 8080}]}]}
        pod['status'] = {'phase': 'Running', 'podIP': ip,
                         'podIPs': [{'ip': ip}],
                         'conditions': [{'type': 'Ready', 'status': 'True'}]}
        return pod

    @staticmethod
    def policy(index):
        rng = random.Random(index)
        peers = [{'podSelector': {'matchLabels': {
            'app': 'app%d' % rng.randrange(APPS)}}}, {
                'namespaceSelector': {'matchLabels': {
                    'team': 'team%d' % rng.randrange(5)}},
                'podSelector': {'matchLabels': {
                    'app': 'app%d' % rng.randrange(APPS)}}}]
        policy = head('networking.k8s.io/v1', 'NetworkPolicy',
                      'policy%d' % index, 'ns%d' % (index % NAMESPACES))
        policy['spec'] = {
            'podSelector': {'matchLabels': {
                'app': 'app%d' % rng.randrange(APPS)}},
            'ingress': [{'from': [peer], 'ports': [
                {'port': rng.randrange(1, 60000)}]} for peer in peers]}
        return policy

    @staticmethod
    def service(index):
        service = head('v1', 'Service', 'service', 'ns%d' % index)
        service['spec'] = {'clusterIP': cluster.address('10.96.0.10', index),
                           'selector': {'app': 'app0'},
                           'ports': [{'port': 80, 'targetPort': 8080}]}
        return service


def text(objects):
    return json.dumps({'apiVersion': 'v1', 'kind': 'List',
                       'items': list(objects)})


if __name__ == '__main__':
    print(text(Objects(*map(int, sys.argv[1:])).all()))

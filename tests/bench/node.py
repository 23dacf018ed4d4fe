# SPDX-License-Identifier: Apache-2.0
"""All flows of a node, from a few numbers."""

import functools
import random

import cluster
import ipv6
import pipeline
import policies
import services


class Node:
    """The cluster as this node sees it, its Services and its flows; IPv6's
    instead of IPv4's if 'is_ipv6'."""

    def __init__(self, rules=100, n_services=100, endpoints=10, seed=1,
                 policy_seed=1, pods=20, clients=4, webs=4, nodes=50,
                 is_ipv6=False, is_metered=False):
        rng = random.Random(seed)
        self.rules, self.is_ipv6 = rules, is_ipv6
        self.cluster = cluster.Cluster(
            pods, nodes, clients, webs, remote_webs=max(60, endpoints, nodes))
        self.flows = pipeline.Flows(is_ipv6)
        pipeline.add_static(self.flows, self.cluster, is_metered)
        tables = services.ServiceTables(self.flows, self.cluster, rng)
        tables.add_all(n_services, endpoints)
        self.services = tables.cluster_ips
        policies.PolicyTables(self.flows, self.cluster,
                              random.Random(policy_seed)).add_all(rules)

    def address(self, ip):
        """What packets have for the IPv4 address of somebody of the cluster."""
        return ipv6.address(ip) if self.is_ipv6 else ip

    def services_of(self, protocol):
        return [s for s in self.services if s.protocol == protocol]


@functools.lru_cache(maxsize=4)
def make(**numbers):
    return Node(**numbers)

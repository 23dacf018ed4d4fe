# SPDX-License-Identifier: Apache-2.0
"""Random rule sets, one after the other, on one pair of switches."""

import re

import rules
import tunnels
from changes import Changes
from traffic import Traffic


def clear(pair):
    """As after the start."""
    pair.do(['ofctl', ['bundle', '-'], 'flow delete\ngroup delete\n'])
    pair.do(['ofctl', ['del-meters']])
    pair.do(['appctl', ['dpctl/flush-conntrack']])
    if tunnels.PORT in pair.ours.ports:
        # How long they live depends on when they were last looked up.
        for peer in tunnels.PEERS:
            pair.do(['appctl', ['tnl/neigh/set', tunnels.BRIDGE, peer,
                                tunnels.PEER_MAC]])


def load(pair, rule_set):
    if rule_set.tunnel:
        pair.do(['tunnel', rule_set.interface])
    for meter in rule_set.meters:
        pair.do(['ofctl', ['add-meter', meter]])
    if rule_set.groups:
        pair.do(['ofctl', ['add-groups', '-'], '\n'.join(rule_set.groups)])
    pair.do(['ofctl', ['add-flows', '-', '--bundle'],
             '\n'.join(rule_set.flows)])
    for flow in rule_set.wild:
        if pair.do(['try', ['add-flow', flow]]):
            rule_set.flows.append(flow)


def run(pair, rnd, n_packets, fragments=False, traffic=Traffic, n_wild=0,
        certain=False):
    """With IP fragments flows stay as they are, as in pipeline.Pipeline.  In
    sets that are 'certain', nothing depends on which of two connections is
    first."""
    rule_set = rules.RuleSet(rnd, tunnels.PORT in pair.ours.ports, n_wild,
                             certain)
    clear(pair)
    pair.do(['bytes', rule_set.counts_bytes])
    load(pair, rule_set)
    pair.do(['learns', rule_set.learns])
    pair.with_fragments = not fragments
    changes = Changes(rnd, pair, rule_set.flows, rule_set.groups,
                      rule_set.tables, rule_set.zones, rule_set.other_actions,
                      rule_set.source_ports)
    world = rule_set.world()
    # Stock hashes the addresses, which such packets lack, and takes the result,
    # 0, for none: they recirculate for a hash until they are dropped.
    # And its megaflows don't say that only an IP header is rewritten: what was
    # punted for one packet would be done to the next, which has none.
    world.unparsable = not rule_set.wild and not any(
        'type=select' in group and 'selection_method=hash' not in group
        for group in rule_set.groups)
    # Upstream can't read the key of their megaflow that it wrote itself ("bad
    # key length 0"), so what such a flow counted is lost when it leaves.  The
    # stock switch of the oracle caches none.
    world.labelless = fragments
    world.to_port = any(re.search(r'nat\(dst=[^,)]*:\d+[,)]', flow)
                        for flow in rule_set.flows)
    # What a packet learns, stock lets the next batch know.  And who gets the
    # last port of a range, is open in a batch.
    kinds = rule_set.kinds()
    if fragments:
        changes, kinds = None, dict(kinds, fragments=8)
    traffic(rnd, pair, world, changes, kinds,
            batches=not (fragments or rule_set.learns or rule_set.ranges),
            expire=rule_set.times_out or rule_set.wild,
            compared='connections' if fragments else 'connections counters'
            ).run(n_packets)

/* SPDX-License-Identifier: Apache-2.0 */

/* What packet threads leave for the main thread: counters.
 *
 * They are folded into OpenFlow's at every turn of the main loop before flows
 * expire and before OpenFlow requests are answered, so that what dump-flows
 * prints includes every packet handled before the request. */

#include <config.h>
#include "adp-bridge-private.h"

#include "adp-cached.h"
#include "adp-tunnel.h"
#include "adp-turn.h"
#include "dp-hooks.h"
#include "netdev-vport.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"

#define FOLD_INTERVAL_MS 1000

static bool
is_inserted(const struct rule *rule)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    /* Who changes tables is the thread that asks. */
    return rule->state == RULE_INSERTED;
}

/* The OpenFlow flow that 'rule' was made from, or that stands in its place: one
 * made from 'rule', if a packet thread learned it, or one that took the
 * place of an equal one, which changes nothing for packets.  NULL if there is none
 * any more. */
static struct rule *
openflow_twin(const struct adp_bridge *b, const struct adp_rule *rule)
{
    if (rule->owner && is_inserted(rule->owner)) {
        return rule->owner;
    }
    return adp_bridge_find_rule(b, rule->table_id, &rule->match,
                                rule->priority);
}

static void
credit_flow(struct rule *rule, const struct adp_stats_delta *delta)
{
    struct dpif_flow_stats stats = {
        .n_packets = delta->n_packets,
        .n_bytes = delta->n_bytes,
        .used = delta->used,
        .tcp_flags = delta->tcp_flags,
    };

    rule_dpif_credit_stats(CONTAINER_OF(rule, struct rule_dpif, up), &stats,
                           false);
}

static void
fold_rule(struct adp_rule *rule, const struct adp_stats_delta *delta,
          void *b_)
{
    struct adp_bridge *b = b_;
    struct rule *twin = openflow_twin(b, rule);

    if (twin) {
        credit_flow(twin, delta);
    } else {
        adp_learn_table_credit(b->learn, rule, delta);
    }
}

void
adp_fold_early(struct adp_bridge *b, const struct adp_learn_entry *entry)
{
    const struct ofputil_flow_mod *fm = &entry->fm;

    if (entry->early.n_packets) {
        struct rule *rule = adp_bridge_find_rule(b, fm->table_id, &fm->match,
                                                 fm->priority);

        if (rule) {
            credit_flow(rule, &entry->early);
        }
    }
}

/* Bucket number 'index' of 'group', which must be equal to that of 'old'. */
static struct ofputil_bucket *
find_bucket(const struct ofgroup *group, const struct adp_group *old,
            uint32_t index)
{
    struct ofputil_bucket *bucket;
    uint32_t i = 0;

    LIST_FOR_EACH (bucket, list_node, &group->buckets) {
        if (i++ == index) {
            return (bucket->bucket_id == old->buckets[index].bucket_id
                    ? bucket : NULL);
        }
    }
    return NULL;
}

/* As for rules, the group that stands in the place of 'group' gets it. */
static void
fold_bucket(struct adp_group *group, uint32_t index,
            const struct adp_stats_delta *delta, void *b_)
{
    struct adp_bridge *b = b_;
    struct group_dpif *twin = group_dpif_lookup(&b->dpif, group->group_id,
                                                OVS_VERSION_MAX, false);
    struct dpif_flow_stats stats = {
        .n_packets = delta->n_packets,
        .n_bytes = delta->n_bytes,
        .used = delta->used,
    };
    struct ofputil_bucket *bucket = NULL;

    if (twin && index != ADP_BUCKET_ALL) {
        bucket = find_bucket(&twin->up, group, index);
    }
    if (twin && (bucket || index == ADP_BUCKET_ALL)) {
        group_dpif_credit_stats(twin, bucket, &stats);
    }
}

static void
fold_tables(struct adp_bridge *b)
{
    for (int i = 0; i < ADP_N_TABLES; i++) {
        uint64_t matched = adp_counted(&b->counters.tables[i].matched);
        uint64_t missed = adp_counted(&b->counters.tables[i].missed);
        uint64_t *folded = b->table_credit[i];

        if (matched != folded[0] || missed != folded[1]) {
            ofproto_credit_table(&b->dpif.up, i, matched - folded[0],
                                 missed - folded[1]);
            folded[0] = matched;
            folded[1] = missed;
        }
    }
}

/* Counts as dropped what stock would have counted so. */
static void
fold_drops(struct adp_bridge *b)
{
    uint64_t n = adp_counted(&b->counters.idle_passes);

    if (n != b->folded_idle_passes) {
        if (ovs_explicit_drop_action_supported(&b->dpif)) {
            dp_count_drops(n - b->folded_idle_passes);
        }
        b->folded_idle_passes = n;
    }
}

void
adp_bridge_credit_hit(struct adp_bridge *b, const struct adp_hit *hit,
                      uint64_t n_packets, uint64_t n_bytes,
                      long long int used, uint16_t tcp_flags)
{
    switch (hit->kind) {
    case ADP_HIT_RULE:
        adp_stats_credit_rule(b->sink, hit->rule, n_packets, n_bytes, used,
                              tcp_flags);
        adp_count(&b->counters.tables[hit->table_id].matched, n_packets);
        break;
    case ADP_HIT_MISS:
        adp_count(&b->counters.tables[hit->table_id].missed, n_packets);
        break;
    case ADP_HIT_BUCKET:
        adp_stats_credit_group(b->sink, hit->group, hit->bucket, n_packets,
                               n_bytes, used);
        break;
    case ADP_HIT_GROUP:
        break;
    }
}

void
adp_bridge_credit_tunnel_port(const struct adp_bridge *b, ofp_port_t ofp_port,
                              uint64_t n_packets, uint64_t n_bytes)
{
    const struct adp_port *port = adp_ports_find(
        ovsrcu_get(struct adp_ports *, &b->ports), ofp_port);

    if (port && port->netdev) {
        struct dpif_flow_stats stats = {
            .n_packets = n_packets,
            .n_bytes = n_bytes,
        };
        netdev_vport_inc_rx(port->netdev, &stats);
    }
}

void
adp_fold_run(struct adp_bridge *b)
{
    static const struct adp_stats_drain_cbs cbs = {
        .rule = fold_rule,
        .bucket = fold_bucket,
    };

    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COUNTERS);
    adp_cached_fold(b);
    adp_install_run(b);                 /* They may have counters already. */
    adp_stats_drain(b->sink, &cbs, b);
    fold_tables(b);
    fold_drops(b);
    adp_turn_enter(ADP_TURN_TUNNELS);
    adp_tunnels_run(b->tunnels);
    adp_turn_leave(outer);
    b->next_fold = time_msec() + FOLD_INTERVAL_MS;
}

void
adp_fold_wait(struct adp_bridge *b)
{
    adp_install_wait(b);
    poll_timer_wait_until(b->next_fold);
}

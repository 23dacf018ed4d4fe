/* SPDX-License-Identifier: Apache-2.0 */

/* Counters on their way to OpenFlow's: flows, groups, tables, ports and
 * drops. */

#include <config.h>
#include "adp-credit.h"

#include "adp-bridge-private.h"
#include "adp-succession.h"
#include "adp-turn.h"
#include "dp-hooks.h"
#include "netdev-vport.h"
#include "ofproto/dp-hooks-ofproto.h"

/* For the functions that get what was credited. */
struct credit {
    struct adp_bridge *b;
    struct adp_turn_slice slice;
};

static bool
is_inserted(const struct rule *rule)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    /* Who changes tables is the thread that asks. */
    return rule->state == RULE_INSERTED;
}

static bool
have_same_actions(const struct rule *a, const struct rule *b)
{
    const struct rule_actions *x = rule_get_actions(a);
    const struct rule_actions *y = rule_get_actions(b);

    return ofpacts_equal(x->ofpacts, x->ofpacts_len,
                         y->ofpacts, y->ofpacts_len);
}

/* The OpenFlow flow that 'rule' was made from, or that stands in its place:
 * one made from 'rule', if a packet thread learned it, or one that took the
 * place of an equal one, which changes nothing for packets.  If there is none
 * any more, or another that does something else, the one that was deleted or
 * modified, where somebody waits to be told what it counted or upstream has
 * this counted for another; or NULL. */
static struct rule *
openflow_twin(const struct adp_bridge *b, const struct adp_rule *rule)
{
    struct rule *owner = rule->owner;

    if (owner && is_inserted(owner)) {
        return owner;
    }
    if (owner) {
        adp_succession_shorten(CONTAINER_OF(owner, struct rule_dpif, up));
    }

    struct rule *twin = adp_bridge_find_rule(b, rule->table_id, rule->match,
                                             rule->priority);
    if (twin && owner && !have_same_actions(twin, owner)) {
        return owner;
    }
    return twin || !adp_rule_is_awaited(rule) ? twin : owner;
}

/* Does what fin_timeout() asks for once TCP connections end: it is no part of
 * verdicts, which hold for all packets of a connection. */
static void
reduce_timeouts(struct rule *rule)
    OVS_EXCLUDED(ofproto_mutex)
{
    const struct rule_actions *actions = rule_get_actions(rule);
    const struct ofpact_fin_timeout *fin = NULL;

    while ((fin = adp_op_next_fin_timeout(actions->ofpacts,
                                          actions->ofpacts_len, fin))) {
        ofproto_rule_reduce_timeouts(rule, fin->fin_idle_timeout,
                                     fin->fin_hard_timeout);
    }
}

static void
credit_flow(struct rule *rule, const struct adp_stats_delta *delta)
    OVS_EXCLUDED(ofproto_mutex)
{
    struct dpif_flow_stats stats = {
        .n_packets = delta->n_packets,
        .n_bytes = delta->n_bytes,
        .used = delta->used,
        .tcp_flags = delta->tcp_flags,
    };

    rule_dpif_credit_stats(CONTAINER_OF(rule, struct rule_dpif, up), &stats,
                           false);
    if (delta->tcp_flags & (TCP_FIN | TCP_RST)) {
        reduce_timeouts(rule);
    }
}

static void
credit_rule(struct adp_rule *rule, const struct adp_stats_delta *delta,
          void *credit_)
{
    const struct credit *credit = credit_;
    struct adp_bridge *b = credit->b;
    struct rule *twin = openflow_twin(b, rule);

    if (twin) {
        credit_flow(twin, delta);
    } else {
        adp_learn_table_credit(b->learn, rule, delta);
    }
}

void
adp_credit_early(struct adp_bridge *b, const struct adp_learn_entry *entry)
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

/* The bucket of 'group' that does what bucket number 'index' of 'old' does: an
 * endpoint may have another number since others came or went. */
static struct ofputil_bucket *
find_bucket(const struct adp_bridge *b, const struct ofgroup *group,
            const struct adp_group *old, uint32_t index)
{
    const struct adp_group *now = old;

    if (now->owner != group) {
        now = adp_program_get_group(ovsrcu_get(struct adp_program *,
                                               &b->program), old->group_id);
    }

    const struct adp_bucket *bucket
        = (now && now->owner == group
           ? adp_group_find_bucket(now, old, index) : NULL);
    return bucket ? bucket->source : NULL;
}

/* As for rules, the group that stands in the place of 'group' gets it. */
static void
credit_bucket(struct adp_group *group, uint32_t index,
            const struct adp_stats_delta *delta, void *credit_)
{
    const struct credit *credit = credit_;
    struct adp_bridge *b = credit->b;
    struct group_dpif *twin = group_dpif_lookup(&b->dpif, group->group_id,
                                                OVS_VERSION_MAX, false);
    struct dpif_flow_stats stats = {
        .n_packets = delta->n_packets,
        .n_bytes = delta->n_bytes,
        .used = delta->used,
    };
    struct ofputil_bucket *bucket = NULL;

    if (twin && index != ADP_BUCKET_ALL) {
        bucket = find_bucket(b, &twin->up, group, index);
    }
    if (twin && (bucket || index == ADP_BUCKET_ALL)) {
        group_dpif_credit_stats(twin, bucket, &stats);
    }
}

static void
credit_tables(struct adp_bridge *b)
{
    for (int i = 0; i < ADP_N_TABLES; i++) {
        uint64_t matched = adp_counted(&b->counters.tables[i].matched);
        uint64_t missed = adp_counted(&b->counters.tables[i].missed);
        uint64_t *credited = b->own->table_credit[i];

        if (matched != credited[0] || missed != credited[1]) {
            ofproto_credit_table(&b->dpif.up, i, matched - credited[0],
                                 missed - credited[1]);
            credited[0] = matched;
            credited[1] = missed;
        }
    }
}

/* Counts as dropped what stock would have counted so. */
static void
credit_drops(struct adp_bridge *b)
{
    uint64_t n = adp_counted(&b->counters.idle_passes);

    if (n != b->own->credited_idle_passes) {
        if (ovs_explicit_drop_action_supported(&b->dpif)) {
            dp_count_drops(n - b->own->credited_idle_passes);
        }
        b->own->credited_idle_passes = n;
    }
}

void
adp_credit_hit(struct adp_bridge *b, const struct adp_hit *hit,
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
adp_credit_tunnel_port(const struct adp_bridge *b, ofp_port_t ofp_port,
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

static bool
goes_on(void *credit_)
{
    struct credit *credit = credit_;

    return adp_turn_slice_goes_on(&credit->slice);
}

void
adp_credit_run(struct adp_bridge *b, struct adp_collected collected)
{
    static const struct adp_stats_drain_cbs cbs = {
        .rule = credit_rule,
        .bucket = credit_bucket,
        .goes_on = goes_on,
    };
    struct adp_bridge_own *own = b->own;
    struct credit credit = { .b = b };

    adp_turn_slice_init(&credit.slice);
    if (!own->credit_amid) {
        own->credit_begins_with = collected;
    }
    own->credit_amid = !adp_stats_drain(b->sink, &cbs, &credit);
    if (!own->credit_amid) {
        own->credit_known = own->credit_begins_with;
    }
    credit_tables(b);
    credit_drops(b);
}

bool
adp_credit_is_amid(const struct adp_bridge *b)
{
    return b->own->credit_amid;
}

struct adp_collected
adp_credit_known(const struct adp_bridge *b)
{
    return b->own->credit_known;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Expiry of flows by their timeouts.
 *
 * Upstream expires flows in one turn of the main loop, one table version each.
 * Clients that a Service learned in a short time expire in as short a time,
 * and every version is a program to compile.  So here a sweep over all flows
 * that may expire, begun whenever upstream would, goes on over as many turns
 * as it takes, and what a turn finds leaves in one version.
 *
 * The flows that are still to be looked at are in 'unswept', taken from
 * upstream's list 'expirable', to which each returns when it was found alive.
 * While the base class runs, which would expire what it finds there, that list
 * is empty, too. */

#include <config.h>
#include "adp-expire.h"

#include "adp-bridge-private.h"
#include "adp-turn.h"
#include "coverage.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "ofproto/ofproto-dpif-upcall.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"

COVERAGE_DEFINE(adp_expired);
COVERAGE_DEFINE(adp_expire_version);

/* What one turn removes at most: of what removing costs the slice of time, in
 * which flows are looked at, knows nothing. */
#define SLICE_EXPIRED 128

static bool
is_due(long long int since, uint16_t timeout, long long int now)
{
    return timeout && now > since + timeout * 1000;
}

static bool
has_passed_hard_timeout(const struct rule *rule, long long int now)
    OVS_REQUIRES(ofproto_mutex)
{
    ovs_mutex_lock(&rule->mutex);
    bool due = is_due(rule->modified, rule->hard_timeout, now);
    ovs_mutex_unlock(&rule->mutex);

    return due;
}

static bool
has_passed_idle_timeout(const struct rule *rule_, long long int now)
    OVS_REQUIRES(ofproto_mutex)
{
    struct rule_dpif *rule = CONTAINER_OF(rule_, struct rule_dpif, up);

    ovs_mutex_lock(&rule->up.mutex);
    uint16_t timeout = rule->up.idle_timeout;
    ovs_mutex_unlock(&rule->up.mutex);

    ovs_mutex_lock(&rule->stats_mutex);
    bool due = is_due(rule->stats.used, timeout, now);
    ovs_mutex_unlock(&rule->stats_mutex);

    return due;
}

static void
sweep(struct adp_bridge *b, long long int known_until,
      struct rule_collection *hard, struct rule_collection *idle)
    OVS_REQUIRES(ofproto_mutex)
{
    long long int now = time_msec();
    struct adp_turn_slice slice;
    size_t due = 0;

    adp_turn_slice_init(&slice);
    while (due < SLICE_EXPIRED && !ovs_list_is_empty(&b->own->unswept)
           && adp_turn_slice_goes_on(&slice)) {
        struct rule *rule = CONTAINER_OF(ovs_list_pop_front(&b->own->unswept),
                                         struct rule, expirable);

        ovs_list_push_back(&b->dpif.up.expirable, &rule->expirable);
        if (has_passed_hard_timeout(rule, now)) {
            rule_collection_add(hard, rule);
            due++;
        } else if (has_passed_idle_timeout(rule, known_until)) {
            rule_collection_add(idle, rule);
            due++;
        }
    }
}

void
adp_expire_run(struct adp_bridge *b, long long int known_until)
{
    uint64_t seqno = seq_read(udpif_dump_seq(b->dpif.backer->udpif));
    struct rule_collection hard, idle;

    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_EXPIRY);
    rule_collection_init(&hard);
    rule_collection_init(&idle);
    adp_bridge_lock_tables();
    if (ovs_list_is_empty(&b->own->unswept) && b->own->expire_seqno != seqno) {
        /* What upstream knows of the flows' use is fresh. */
        b->own->expire_seqno = seqno;
        ovs_list_push_back_all(&b->own->unswept, &b->dpif.up.expirable);
    }
    sweep(b, known_until, &hard, &idle);
    size_t n = rule_collection_n(&hard) + rule_collection_n(&idle);
    if (n) {
        COVERAGE_ADD(adp_expired, n);
        COVERAGE_INC(adp_expire_version);
        ofproto_expire_rules(&b->dpif.up, &hard, &idle);
    }
    b->own->expire_more = !ovs_list_is_empty(&b->own->unswept);
    ovs_mutex_unlock(&ofproto_mutex);
    rule_collection_destroy(&hard);
    rule_collection_destroy(&idle);
    adp_turn_leave(outer);
}

void
adp_expire_wait(const struct adp_bridge *b)
{
    if (b->own->expire_more) {
        poll_immediate_wake();
    }
}

void
adp_expire_hide(struct adp_bridge *b, struct ovs_list *hidden)
{
    ovs_list_init(hidden);
    adp_bridge_lock_tables();
    ovs_list_push_back_all(hidden, &b->dpif.up.expirable);
    ovs_mutex_unlock(&ofproto_mutex);
}

void
adp_expire_unhide(struct adp_bridge *b, struct ovs_list *hidden)
{
    adp_bridge_lock_tables();
    ovs_list_push_back_all(&b->dpif.up.expirable, hidden);
    ovs_mutex_unlock(&ofproto_mutex);
}

void
adp_expire_stop(struct adp_bridge *b)
{
    adp_expire_unhide(b, &b->own->unswept);
}

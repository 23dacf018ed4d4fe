/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-removal.h"

#include "adp-bridge-private.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"

/* Portions that were given, and those that RCU's thread has removed: the main
 * thread counts the former. */
static uint64_t n_given;
static atomic_uint64_t n_removed = ATOMIC_VAR_INIT(0);

/* Called behind the removal of a portion. */
static void
note_removed(void *number)
{
    atomic_store_relaxed(&n_removed, (uintptr_t) number);
}

size_t
adp_removal_count(const struct adp_bridge *b)
{
    return b->own->leaving.n - b->own->leaving.first;
}

/* Takes what upstream has collected. */
static void
take(struct adp_bridge *b)
    OVS_REQUIRES(ofproto_mutex)
{
    struct adp_bridge_leaving *l = &b->own->leaving;
    struct rule_collection *rules = b->dpif.up.to_remove;
    size_t n = rule_collection_n(rules);

    if (l->n + n > l->allocated) {
        l->allocated = MAX(l->n + n, 2 * l->allocated);
        l->rules = xrealloc(l->rules, l->allocated * sizeof *l->rules);
    }
    if (n) {
        memcpy(&l->rules[l->n], rule_collection_rules(rules),
               n * sizeof *l->rules);
        l->n += n;
    }
    rule_collection_destroy(rules);
    rule_collection_init(rules);
}

/* Gives upstream up to 'max' rules, those that wait longest first. */
static void
give(struct adp_bridge *b, size_t max)
    OVS_REQUIRES(ofproto_mutex)
{
    struct adp_bridge_leaving *l = &b->own->leaving;

    for (size_t i = 0; i < max && l->first < l->n; i++) {
        rule_collection_add(b->dpif.up.to_remove, l->rules[l->first++]);
    }
    if (l->first == l->n) {
        free(l->rules);
        l->rules = NULL;
        l->first = l->n = l->allocated = 0;
    }
}

void
adp_removal_run(struct adp_bridge *b)
{
    struct adp_bridge_leaving *l = &b->own->leaving;
    long long int now = time_msec();

    adp_bridge_lock_tables();
    if (adp_removal_count(b)
        || rule_collection_n(b->dpif.up.to_remove) > ADP_REMOVAL_SLICE) {
        uint64_t removed;

        take(b);
        atomic_read_relaxed(&n_removed, &removed);
        if (now >= l->next && removed >= l->given) {
            give(b, ADP_REMOVAL_SLICE);
            ofproto_postpone_removals(&b->dpif.up);
            l->given = ++n_given;
            ovsrcu_postpone(note_removed, (void *) (uintptr_t) l->given);
            l->next = now + ADP_REMOVAL_INTERVAL_MS;
        }
    }
    ovs_mutex_unlock(&ofproto_mutex);
}

void
adp_removal_wait(const struct adp_bridge *b)
{
    if (adp_removal_count(b)) {
        poll_timer_wait_until(MAX(b->own->leaving.next,
                                  time_msec() + 1));
    }
}

void
adp_removal_stop(struct adp_bridge *b)
{
    adp_bridge_lock_tables();
    give(b, SIZE_MAX);
    ofproto_postpone_removals(&b->dpif.up);
    ovs_mutex_unlock(&ofproto_mutex);
}

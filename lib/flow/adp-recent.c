/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-recent.h"

#include <string.h>

#include "adp-cow.h"
#include "flow.h"
#include "openvswitch/match.h"
#include "util.h"

/* A copy, in one piece, of what overlap() looks at. */
static struct minimatch *
copy_match(struct adp_cow *cow, const struct minimatch *match)
{
    size_t size = (sizeof(struct miniflow)
                   + MINIFLOW_VALUES_SIZE(miniflow_n_values(match->flow)));
    struct minimatch *copy = adp_cow_alloc(cow, sizeof *copy + 2 * size);

    for (size_t i = 0; i < ARRAY_SIZE(copy->flows); i++) {
        copy->flows[i] = (struct miniflow *) ((uint8_t *) (copy + 1)
                                              + i * size);
        memcpy(copy->flows[i], match->flows[i], size);
    }
    return copy;
}

static struct adp_recent_change *
place_of(struct adp_recent *recent, size_t i)
{
    return &recent->changes[i % ADP_RECENT_MAX];
}

void
adp_recent_add(struct adp_recent *recent, struct adp_cow *cow, int priority,
               const struct minimatch *match, uint64_t generation)
{
    struct adp_recent_change *change = place_of(recent, recent->n);

    if (recent->n >= ADP_RECENT_MAX) {
        recent->forgotten = change->generation;
        adp_cow_discard(cow, change->match);
    }
    *change = (struct adp_recent_change) {
        .generation = generation,
        .priority = priority,
        .match = copy_match(cow, match),
    };
    recent->n++;
}

void
adp_recent_forget(struct adp_recent *recent, struct adp_cow *cow,
                  uint64_t generation)
{
    adp_recent_clear(recent, cow);
    recent->forgotten = generation;
}

void
adp_recent_clear(struct adp_recent *recent, struct adp_cow *cow)
{
    for (size_t i = 0; i < MIN(recent->n, ADP_RECENT_MAX); i++) {
        adp_cow_release(cow, recent->changes[i].match);
    }
    recent->n = 0;
}

/* The bits that both of two masks have in a word of a flow and that can tell
 * packets apart.  A packet has no conj_id of its own, and what a bit of the
 * tunnel's options stands for changes from bridge to bridge and with time. */
static uint64_t
common_mask(const struct minimatch *a, const struct minimatch *b, size_t word)
{
    const size_t tunnel_end = (offsetof(struct flow, tunnel)
                               + sizeof(struct flow_tnl)) / sizeof(uint64_t);
    const size_t conj_id = offsetof(struct flow, conj_id);
    union {
        uint64_t word;
        uint32_t halves[2];
    } mask = { .word = (miniflow_get(&a->mask->masks, word)
                        & miniflow_get(&b->mask->masks, word)) };

    if (word < tunnel_end) {
        return 0;
    }
    if (word == conj_id / sizeof(uint64_t)) {
        mask.halves[conj_id % sizeof(uint64_t) / sizeof(uint32_t)] = 0;
    }
    return mask.word;
}

/* May there be a packet that both match? */
static bool
overlap(const struct minimatch *a, const struct minimatch *b)
{
    size_t word;

    FLOWMAP_FOR_EACH_INDEX (word, a->mask->masks.map) {
        if (common_mask(a, b, word)
            & (miniflow_get(a->flow, word) ^ miniflow_get(b->flow, word))) {
            return false;
        }
    }
    return true;
}

bool
adp_recent_touches(const struct adp_recent *recent, int priority,
                   const struct minimatch *match, uint64_t since)
{
    if (recent->forgotten > since) {
        return true;
    }
    for (size_t i = recent->n; i-- && recent->n - i <= ADP_RECENT_MAX; ) {
        const struct adp_recent_change *change
            = &recent->changes[i % ADP_RECENT_MAX];

        if (change->generation <= since) {
            break;
        }
        if (change->priority >= priority && overlap(change->match, match)) {
            return true;
        }
    }
    return false;
}

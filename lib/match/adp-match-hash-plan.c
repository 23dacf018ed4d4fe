/* SPDX-License-Identifier: Apache-2.0 */

/* The order in which look-ups go through the subtables of clauses: first those
 * with sets that few subtables have, for that may end the search. */

#include <config.h>
#include "adp-match-hash.h"
#include "adp-cow.h"
#include "util.h"

static bool
has_set(const struct adp_hash_ref *ref, size_t set)
{
    const uint32_t *n_sets = ref->subtable->n_sets;

    return (n_sets && set < adp_cow_size(n_sets) / sizeof *n_sets
            && n_sets[set] > 0);
}

/* A set, and how many subtables have it. */
struct spread {
    size_t set;
    size_t n;
};

static int
compare_spreads(const void *a_, const void *b_)
{
    const struct spread *a = a_;
    const struct spread *b = b_;

    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    return a->set < b->set ? -1 : a->set > b->set;
}

/* Which sets belong to spaces that have something for each clause. */
static uint64_t
find_live_sets(const struct adp_hash *hash, const struct spread spreads[])
{
    uint64_t live = 0;

    for (size_t i = 0; i < hash->n_spaces; i++) {
        const struct adp_hash_space *space = &hash->spaces[i];
        bool alive = true;

        for (size_t k = 0; k < space->space->n_clauses; k++) {
            alive &= spreads[space->first_set + k].n > 0;
        }
        live |= alive ? space->sets : 0;
    }
    return live;
}

void
adp_hash_plan(struct adp_cow *cow, struct adp_hash *hash)
{
    struct adp_hash_subtables *subtables;
    struct spread spreads[64];
    size_t done = 0;

    hash->plan_is_old = false;
    subtables = &hash->subtables[ADP_HASH_CLAUSE];
    if (!subtables->n) {
        return;
    }
    subtables->refs = adp_cow_own(cow, subtables->refs);
    for (size_t i = 0; i < subtables->n; i++) {
        subtables->refs[i].sets = 0;
        subtables->refs[i].last_of = 0;
    }
    if (hash->n_sets > ARRAY_SIZE(spreads)) {
        /* Too many to tell them apart: no end comes early. */
        for (size_t i = 0; i < subtables->n; i++) {
            subtables->refs[i].sets = UINT64_MAX;
        }
        for (size_t i = 0; i < hash->n_spaces; i++) {
            hash->spaces[i].sets = UINT64_MAX;
        }
        hash->live_sets = UINT64_MAX;
        return;
    }

    for (size_t set = 0; set < hash->n_sets; set++) {
        spreads[set] = (struct spread) { .set = set };
        for (size_t i = 0; i < subtables->n; i++) {
            if (has_set(&subtables->refs[i], set)) {
                subtables->refs[i].sets |= adp_hash_set_bit(set);
                spreads[set].n++;
            }
        }
    }
    hash->live_sets = find_live_sets(hash, spreads);

    qsort(spreads, hash->n_sets, sizeof spreads[0], compare_spreads);
    for (size_t j = 0; j < hash->n_sets; j++) {
        uint64_t bit = adp_hash_set_bit(spreads[j].set);

        for (size_t i = done; i < subtables->n; i++) {
            if (subtables->refs[i].sets & bit) {
                struct adp_hash_ref ref = subtables->refs[i];

                subtables->refs[i] = subtables->refs[done];
                subtables->refs[done++] = ref;
            }
        }
        for (size_t i = done; i-- > 0; ) {
            if (subtables->refs[i].sets & bit) {
                subtables->refs[i].last_of |= bit;
                break;
            }
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-rule-set.h"

#include <stdlib.h>

#include "adp-rules.h"
#include "hash.h"
#include "util.h"

#define MIN_PLACES 16

/* Stirs the hash anew, so that flows of one set are anywhere in it. */
static size_t
home_of(const struct adp_rule_set *set, const void *owner)
{
    uint64_t hash = hash_pointer(owner, 1);

    return hash * set->n_places >> 32;
}

size_t
adp_rule_set_choose(const void *owner, unsigned int bits)
{
    return hash_pointer(owner, 0) >> (32 - bits);
}

static size_t
next_place(const struct adp_rule_set *set, size_t i)
{
    return i + 1 < set->n_places ? i + 1 : 0;
}

/* The place of the flow with 'owner', or the free one where it would be. */
static size_t
seek(const struct adp_rule_set *set, const void *owner)
{
    size_t i = home_of(set, owner);

    while (set->places[i] && set->places[i]->owner != owner) {
        i = next_place(set, i);
    }
    return i;
}

static void
resize(struct adp_rule_set *set, size_t n_places)
{
    struct adp_rule_set old = *set;
    struct adp_rule *rule;

    set->places = xcalloc(n_places, sizeof *set->places);
    set->n_places = n_places;
    ADP_RULE_SET_FOR_EACH (rule, i, &old) {
        set->places[seek(set, rule->owner)] = rule;
    }
    free(old.places);
}

void
adp_rule_set_uninit(struct adp_rule_set *set)
{
    free(set->places);
    *set = (struct adp_rule_set) { .places = NULL };
}

struct adp_rule *
adp_rule_set_find(const struct adp_rule_set *set, const void *owner)
{
    return set->n ? set->places[seek(set, owner)] : NULL;
}

void
adp_rule_set_add(struct adp_rule_set *set, struct adp_rule *rule)
{
    if (4 * (set->n + 1) > 3 * set->n_places) {
        resize(set, MAX(MIN_PLACES, set->n_places * 3 / 2));
    }

    size_t i = seek(set, rule->owner);

    ovs_assert(!set->places[i]);
    set->places[i] = rule;
    set->n++;
}

/* How far 'i' is behind 'home', around the end of the table. */
static size_t
distance(const struct adp_rule_set *set, size_t home, size_t i)
{
    return i >= home ? i - home : i + set->n_places - home;
}

/* Has those that follow move up, as far as each may. */
static void
close_gap(struct adp_rule_set *set, size_t gap)
{
    for (size_t i = next_place(set, gap); set->places[i];
         i = next_place(set, i)) {
        size_t home = home_of(set, set->places[i]->owner);

        if (distance(set, home, gap) < distance(set, home, i)) {
            set->places[gap] = set->places[i];
            gap = i;
        }
    }
    set->places[gap] = NULL;
}

void
adp_rule_set_remove(struct adp_rule_set *set, const struct adp_rule *rule)
{
    size_t i = seek(set, rule->owner);

    ovs_assert(set->places[i] == rule);
    close_gap(set, i);
    set->n--;
    if (set->n_places > MIN_PLACES && 4 * set->n < set->n_places) {
        resize(set, MAX(MIN_PLACES, 2 * set->n));
    }
}

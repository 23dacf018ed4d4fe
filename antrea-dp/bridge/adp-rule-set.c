/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-rule-set.h"

#include <stdlib.h>

#include "adp-rules.h"
#include "hash.h"
#include "util.h"

#define MIN_PLACES 16
#define AHEAD 8                 /* Places, that are fetched. */

/* A place: the flow, and in the upper 16 bits, which addresses of user space
 * leave free, how far it is from the flow's first place, or FAR. */
#define FREE UINT64_C(0)
#define FAR UINT8_MAX           /* That far, or farther. */

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

/* How far 'i' is behind 'home', around the end of the table. */
static size_t
distance(const struct adp_rule_set *set, size_t home, size_t i)
{
    return i >= home ? i - home : i + set->n_places - home;
}

static uint64_t
make_place(const struct adp_rule *rule, size_t away)
{
    uint64_t address = (uintptr_t) rule;

    ovs_assert(address && !(address >> 48));
    return address | (uint64_t) MIN(away, FAR) << 48;
}

static bool
is_away(uint64_t place, size_t away)
{
    return place >> 48 == MIN(away, FAR);
}

/* How far the flow at 'i' is from its first place. */
static size_t
away_at(const struct adp_rule_set *set, size_t i)
{
    uint64_t place = set->places[i];

    return (OVS_LIKELY(place >> 48 < FAR)
            ? place >> 48
            : distance(set, home_of(set, adp_rule_set_at(set, i)->owner), i));
}

static void
insert(struct adp_rule_set *set, struct adp_rule *rule)
{
    size_t i = home_of(set, rule->owner);
    size_t away = 0;

    for (; set->places[i] != FREE; away++) {
        i = next_place(set, i);
    }
    set->places[i] = make_place(rule, away);
}

static void
resize(struct adp_rule_set *set, size_t n_places)
{
    struct adp_rule_set old = *set;
    struct adp_rule *rule;

    set->places = xcalloc(n_places, sizeof *set->places);
    set->n_places = n_places;
    ADP_RULE_SET_FOR_EACH (rule, i, &old) {
        if (i + AHEAD < old.n_places) {
            OVS_PREFETCH(adp_rule_set_at(&old, i + AHEAD));
        }
        insert(set, rule);
    }
    free(old.places);
}

void
adp_rule_set_uninit(struct adp_rule_set *set)
{
    free(set->places);
    *set = (struct adp_rule_set) { .places = NULL };
}

/* The place of the flow with 'owner', or a free one if there is none.  Looks
 * at no flow that is elsewhere on the way. */
static size_t
seek(const struct adp_rule_set *set, const void *owner)
{
    size_t i = home_of(set, owner);

    for (size_t away = 0; set->places[i] != FREE; away++) {
        if (is_away(set->places[i], away)
            && adp_rule_set_at(set, i)->owner == owner) {
            break;
        }
        i = next_place(set, i);
    }
    return i;
}

struct adp_rule *
adp_rule_set_find(const struct adp_rule_set *set, const void *owner)
{
    return set->n ? adp_rule_set_at(set, seek(set, owner)) : NULL;
}

void
adp_rule_set_add(struct adp_rule_set *set, struct adp_rule *rule)
{
    if (4 * (set->n + 1) > 3 * set->n_places) {
        resize(set, MAX(MIN_PLACES, set->n_places * 3 / 2));
    }
    insert(set, rule);
    set->n++;
}

/* Has those that follow move up, as far as each may. */
static void
close_gap(struct adp_rule_set *set, size_t gap)
{
    for (size_t i = next_place(set, gap); set->places[i] != FREE;
         i = next_place(set, i)) {
        size_t step = distance(set, gap, i);
        size_t away = away_at(set, i);

        if (away >= step) {
            set->places[gap] = make_place(adp_rule_set_at(set, i),
                                          away - step);
            gap = i;
        }
    }
    set->places[gap] = FREE;
}

void
adp_rule_set_remove(struct adp_rule_set *set, const struct adp_rule *rule)
{
    size_t i = seek(set, rule->owner);

    ovs_assert(adp_rule_set_at(set, i) == rule);
    close_gap(set, i);
    set->n--;
    if (set->n_places > MIN_PLACES && 4 * set->n < set->n_places) {
        resize(set, MAX(MIN_PLACES, 2 * set->n));
    }
}

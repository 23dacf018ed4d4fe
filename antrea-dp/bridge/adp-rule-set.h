/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_RULE_SET_H
#define ADP_RULE_SET_H 1

/* Compiled flows, each found by the OpenFlow flow that owns it.
 *
 * There are very many of them, and hardly one is in a processor's cache when
 * others are looked for, so this is a table of pointers, with how far each is
 * from where it belongs: a flow is in the first place that was free from the
 * one of its owner's hash on, and only those that belong to one place are
 * looked at.  At least a quarter of the places is free.
 *
 * Thread-safety: none of its own.
 * Memory: 11 to 16 bytes a flow, of a large set; it shrinks, too.  Holds no
 * references.
 * Cost: a few steps; now and then, when one comes or goes, a step for each
 * flow in the set.
 */

#include <stddef.h>
#include <stdint.h>

struct adp_rule;

/* All zeros is an empty set. */
struct adp_rule_set {
    uint64_t *places;                   /* For adp_rule_set_at(). */
    size_t n;                           /* Flows. */
    size_t n_places;
};

void adp_rule_set_uninit(struct adp_rule_set *);

/* The flow in a place; NULL if it's free. */
static inline struct adp_rule *
adp_rule_set_at(const struct adp_rule_set *set, size_t place)
{
    return (struct adp_rule *) (uintptr_t) (set->places[place]
                                            & UINT64_C(0xffffffffffff));
}

struct adp_rule *adp_rule_set_find(const struct adp_rule_set *,
                                   const void *owner);
/* There must not be one with this owner, which nobody looks for. */
void adp_rule_set_add(struct adp_rule_set *, struct adp_rule *);
/* It must be there. */
void adp_rule_set_remove(struct adp_rule_set *, const struct adp_rule *);

/* Which of 2**'bits' sets a flow with 'owner' belongs to. */
size_t adp_rule_set_choose(const void *owner, unsigned int bits);

#define ADP_RULE_SET_FOR_EACH(RULE, PLACE, SET)                             \
    for (size_t PLACE = 0; PLACE < (SET)->n_places; PLACE++)                \
        if (((RULE) = adp_rule_set_at(SET, PLACE)) != NULL)

#endif /* adp-rule-set.h */

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-match.h"
#include "adp-cow.h"
#include "adp-match-direct.h"
#include "adp-match-hash.h"
#include "adp-rules.h"
#include "util.h"

/* Building anew, for tables of a few rules. */

struct collect_aux {
    struct adp_rule **rules;
    size_t n, allocated;
};

static void
collect_rule(struct adp_rule *rule, void *aux_)
{
    struct collect_aux *aux = aux_;

    if (aux->n >= aux->allocated) {
        aux->rules = x2nrealloc(aux->rules, &aux->allocated,
                                sizeof *aux->rules);
    }
    aux->rules[aux->n++] = rule;
}

static void
destroy_match(void *match)
{
    adp_match_destroy(match);
}

static bool
suits_direct(struct adp_rule *const *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rules[i]->n_conjs) {
            return false;
        }
    }
    return n <= ADP_MATCH_DIRECT_MAX;
}

/* Takes rules that go out of 'rules' and adds those that come. */
static void
apply_changes(struct collect_aux *rules,
              const struct adp_match_change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (changes[i].old) {
            size_t j = 0;

            while (rules->rules[j] != changes[i].old) {
                j++;
                ovs_assert(j < rules->n);
            }
            rules->rules[j] = rules->rules[--rules->n];
        }
        if (changes[i].new) {
            collect_rule(changes[i].new, rules);
        }
    }
}

/* Returns the matcher that suits 'rules', which are in any order. */
static struct adp_match *
build(struct adp_cow *cow, struct adp_rule **rules, size_t n)
{
    if (!n) {
        return NULL;
    }
    adp_rules_sort(rules, n);
    return (suits_direct(rules, n)
            ? adp_match_direct_class.create(rules, n)
            : adp_hash_create(cow, rules, n));
}

/* Updating. */

/* A hash matcher is left only well below the number of rules at which it
 * comes, so that a table doesn't go to and fro. */
static bool
outgrows_direct(const struct adp_match *match)
{
    const struct adp_hash *hash = adp_hash_cast(match);

    return (hash->n_rules[ADP_HASH_CLAUSE]
            || (hash->n_rules[ADP_HASH_PLAIN] + hash->n_rules[ADP_HASH_BY_ID]
                > ADP_MATCH_DIRECT_MAX / 2));
}

/* Do 'changes' take every rule of 'match', which is no direct one, away? */
static bool
empties(const struct adp_match *match, const struct adp_match_change *changes,
        size_t n)
{
    const struct adp_hash *hash = adp_hash_cast(match);
    size_t n_rules = 0, n_old = 0;

    for (size_t i = 0; i < ARRAY_SIZE(hash->n_rules); i++) {
        n_rules += hash->n_rules[i];
    }
    for (size_t i = 0; n >= n_rules && i < n; i++) {
        n_old += changes[i].old != NULL;
    }
    return n_old == n_rules;
}

/* What is left of nothing. */
static void
collect_new(struct collect_aux *rules, const struct adp_match_change *changes,
            size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (changes[i].new) {
            collect_rule(changes[i].new, rules);
        }
    }
}

struct adp_match *
adp_match_update(struct adp_cow *cow, struct adp_match *old,
                 const struct adp_match_change *changes, size_t n)
{
    struct collect_aux rules = { .rules = NULL };
    struct adp_match *match;

    if (old && old->class != &adp_match_direct_class
        && empties(old, changes, n)) {
        /* As when a pipeline goes: to begin anew costs less than to take one
         * rule after the other. */
        adp_cow_postpone(cow, destroy_match, old);
        collect_new(&rules, changes, n);
    } else if (old && old->class != &adp_match_direct_class) {
        match = adp_hash_update(cow, old, changes, n);
        if (outgrows_direct(match)) {
            return match;
        }
        adp_match_for_each(match, collect_rule, &rules);
        adp_hash_discard(cow, match);
    } else {
        if (old) {
            adp_match_for_each(old, collect_rule, &rules);
            adp_cow_postpone(cow, destroy_match, old);
        }
        apply_changes(&rules, changes, n);
    }
    match = build(cow, rules.rules, rules.n);
    free(rules.rules);
    return match;
}

struct adp_match *
adp_match_create(struct adp_rule *const *rules, size_t n)
{
    return (suits_direct(rules, n)
            ? adp_match_direct_class.create(rules, n)
            : adp_match_hash_class.create(rules, n));
}

void
adp_match_destroy(struct adp_match *match)
{
    if (match) {
        match->class->destroy(match);
    }
}

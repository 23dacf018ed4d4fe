/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-match.h"
#include "adp-cow.h"
#include "adp-rules.h"
#include "util.h"

void
adp_match_scratch_uninit(struct adp_match_scratch *scratch)
{
    free(scratch->words);
    *scratch = (struct adp_match_scratch) { .words = NULL };
}

uint64_t *
adp_match_scratch_get(struct adp_match_scratch *scratch, size_t n)
{
    if (OVS_UNLIKELY(n > scratch->n_words)) {
        free(scratch->words);
        scratch->n_words = MAX(n, 2 * scratch->n_words);
        scratch->words = xmalloc(scratch->n_words * sizeof *scratch->words);
    }
    return scratch->words;
}

/* Makes the matcher that suits 'rules', which are sorted. */
struct adp_match *
adp_match_create(struct adp_rule *const *rules, size_t n)
{
    return adp_match_linear_class.create(rules, n);
}

void
adp_match_destroy(struct adp_match *match)
{
    if (match) {
        match->class->destroy(match);
    }
}

/* Building anew. */

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

struct adp_match *
adp_match_update(struct adp_cow *cow, struct adp_match *old,
                 const struct adp_match_change *changes, size_t n)
{
    struct collect_aux rules = { .rules = NULL };
    struct adp_match *match;

    if (old) {
        adp_match_for_each(old, collect_rule, &rules);
        adp_cow_postpone(cow, destroy_match, old);
    }
    for (size_t i = 0; i < n; i++) {
        if (changes[i].old) {
            size_t j = 0;

            while (rules.rules[j] != changes[i].old) {
                j++;
            }
            rules.rules[j] = rules.rules[--rules.n];
        }
        if (changes[i].new) {
            collect_rule(changes[i].new, &rules);
        }
    }
    adp_rules_sort(rules.rules, rules.n);
    match = rules.n ? adp_match_create(rules.rules, rules.n) : NULL;
    free(rules.rules);
    return match;
}

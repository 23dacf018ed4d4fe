/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-match-direct.h"
#include "adp-match-key.h"
#include "adp-rules.h"
#include "util.h"

/* A word of a match. */
struct test {
    uint64_t mask;
    uint64_t value;
    uint64_t index;
};

struct direct_entry {
    struct adp_rule *rule;
    const struct test *end;     /* Of its tests, which are in 'tests'. */
};

struct direct {
    struct adp_match match;
    size_t n;
    struct direct_entry *entries;      /* By descending priority. */
    struct test *tests;         /* Those of all rules, in the same order. */
    size_t n_tests;
};

static struct direct *
direct_cast(const struct adp_match *match)
{
    return CONTAINER_OF(match, struct direct, match);
}

static struct adp_match *
direct_create(struct adp_rule *const *rules, size_t n)
{
    struct direct *direct = xmalloc(sizeof *direct);
    struct test *test;

    direct->match.class = &adp_match_direct_class;
    direct->n = n;
    direct->n_tests = 0;
    for (size_t i = 0; i < n; i++) {
        ovs_assert(!rules[i]->n_conjs);
        direct->n_tests += miniflow_n_values(rules[i]->match->flow);
    }

    direct->entries = xmalloc(n * sizeof *direct->entries);
    direct->tests = test = xmalloc(direct->n_tests * sizeof *direct->tests);
    for (size_t i = 0; i < n; i++) {
        struct adp_match_key key;

        adp_match_key_init(&key, rules[i]->match);
        for (size_t j = 0; j < key.n; j++) {
            *test++ = (struct test) {
                .mask = key.words[j].mask,
                .value = key.values[j],
                .index = key.words[j].index,
            };
        }
        direct->entries[i] = (struct direct_entry) {
            .rule = rules[i],
            .end = test,
        };
    }
    return &direct->match;
}

static void
direct_destroy(struct adp_match *match)
{
    struct direct *direct = direct_cast(match);

    free(direct->entries);
    free(direct->tests);
    free(direct);
}

static void
direct_for_each(const struct adp_match *match,
                void (*cb)(struct adp_rule *, void *aux), void *aux)
{
    const struct direct *direct = direct_cast(match);

    for (size_t i = 0; i < direct->n; i++) {
        cb(direct->entries[i].rule, aux);
    }
}

static bool
direct_reads(const struct adp_match *match, const struct flow *mask,
             int priority)
{
    const struct direct *direct = direct_cast(match);
    const adp_flow_word *words = (const adp_flow_word *) mask;
    const struct test *test = direct->tests;

    for (size_t i = 0; i < direct->n; i++) {
        const struct direct_entry *entry = &direct->entries[i];

        if (entry->rule->priority < priority) {
            break;
        }
        for (; test < entry->end; test++) {
            if (words[test->index] & test->mask) {
                return true;
            }
        }
    }
    return false;
}

static size_t
direct_size(const struct adp_match *match)
{
    const struct direct *direct = direct_cast(match);

    return (sizeof *direct + direct->n * sizeof *direct->entries
            + direct->n_tests * sizeof *direct->tests);
}

static struct adp_rule *
direct_lookup(const struct adp_match *match, struct flow *flow,
              struct adp_match_scratch *scratch)
{
    const struct direct *direct = direct_cast(match);
    const adp_flow_word *words = (const adp_flow_word *) flow;
    const struct test *test = direct->tests;

    for (size_t i = 0; i < direct->n; i++) {
        const struct direct_entry *entry = &direct->entries[i];

        while (test < entry->end
               && (words[test->index] & test->mask) == test->value) {
            test++;
        }
        if (test == entry->end) {
            scratch->priority = entry->rule->priority;
            return entry->rule;
        }
        test = entry->end;
    }
    scratch->priority = ADP_PRIORITY_NONE;
    return NULL;
}

const struct adp_match_class adp_match_direct_class = {
    .name = "direct",
    .create = direct_create,
    .destroy = direct_destroy,
    .for_each = direct_for_each,
    .lookup = direct_lookup,
    .reads = direct_reads,
    .size = direct_size,
};

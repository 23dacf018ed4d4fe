/* SPDX-License-Identifier: Apache-2.0 */

/* The linear matcher: tries one rule after the other.
 *
 * Rules are kept in levels, one per priority.  A level has the rules that act
 * by themselves first, then those that are clauses of conjunctions.  The
 * conjunctions that a level speaks of are numbered densely, so that a look-up
 * counts the clauses met in an array.
 *
 * Cost: each rule of the priorities down to that of the answer is compared
 * once, plus once more for those down to the conj_id rule. */

#include <config.h>
#include "adp-match.h"
#include "adp-match-key.h"
#include "adp-rules.h"
#include "flow.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "util.h"

struct linear_entry {
    struct adp_rule *rule;
    /* Clause of conjunction number 'conjs[i]' of the level, for each of
     * rule->conjs[].  NULL if the rule acts by itself. */
    uint32_t *conjs;
    bool hidden;                /* Out of sight in look-ups by conj_id. */
};

struct level {
    struct linear_entry *entries; /* First those that act by themselves. */
    size_t n_plain;
    size_t n_entries;
    size_t n_conjs;             /* Different conjunctions. */
    unsigned int min_clauses;   /* Fewest clauses of a conjunction. */
};

struct linear {
    struct adp_match match;
    struct level *levels;       /* By descending priority. */
    size_t n_levels;
    struct linear_entry *entries;      /* All, level by level. */
    size_t n_entries;
    size_t n_clauses;           /* In all rules together. */
};

static struct linear *
linear_cast(const struct adp_match *match)
{
    return CONTAINER_OF(match, struct linear, match);
}

/* Building. */

struct conj_node {
    struct hmap_node hmap_node;
    uint32_t id;
    uint8_t n_clauses;
    uint32_t index;
};

static uint32_t
number_conj(struct hmap *conjs, uint32_t id, uint8_t n_clauses)
{
    uint32_t hash = hash_2words(id, n_clauses);
    struct conj_node *node;

    HMAP_FOR_EACH_WITH_HASH (node, hmap_node, hash, conjs) {
        if (node->id == id && node->n_clauses == n_clauses) {
            return node->index;
        }
    }
    node = xmalloc(sizeof *node);
    node->id = id;
    node->n_clauses = n_clauses;
    node->index = hmap_count(conjs);
    hmap_insert(conjs, &node->hmap_node, hash);
    return node->index;
}

/* Numbers the conjunctions of 'level'. */
static void
level_number_conjs(struct level *level)
{
    struct hmap conjs = HMAP_INITIALIZER(&conjs);
    struct conj_node *node;

    level->min_clauses = UINT_MAX;
    for (size_t i = level->n_plain; i < level->n_entries; i++) {
        struct linear_entry *entry = &level->entries[i];
        const struct adp_rule *rule = entry->rule;

        entry->conjs = xmalloc(rule->n_conjs * sizeof *entry->conjs);
        for (size_t j = 0; j < rule->n_conjs; j++) {
            entry->conjs[j] = number_conj(&conjs, adp_rule_conjs(rule)[j].id,
                                          adp_rule_conjs(rule)[j].n_clauses);
            level->min_clauses = MIN(level->min_clauses,
                                     adp_rule_conjs(rule)[j].n_clauses);
        }
    }
    level->n_conjs = hmap_count(&conjs);

    HMAP_FOR_EACH_POP (node, hmap_node, &conjs) {
        free(node);
    }
    hmap_destroy(&conjs);
}

/* Fills 'level' with 'rules', all of one priority. */
static void
level_init(struct level *level, struct linear_entry *entries,
           struct adp_rule *const *rules, size_t n)
{
    *level = (struct level) { .entries = entries };
    for (size_t i = 0; i < n; i++) {
        if (!rules[i]->n_conjs) {
            entries[level->n_entries++].rule = rules[i];
        }
    }
    level->n_plain = level->n_entries;
    for (size_t i = 0; i < n; i++) {
        if (rules[i]->n_conjs) {
            entries[level->n_entries++].rule = rules[i];
        }
    }
    level_number_conjs(level);
}

struct seen_match {
    struct hmap_node hmap_node;
    const struct minimatch *match;
    bool conj;                  /* Has its first rule clauses? */
};

/* Marks the rules behind a conjunction rule with the same match. */
static void
linear_mark_hidden(struct linear *linear)
{
    struct hmap seen = HMAP_INITIALIZER(&seen);
    struct seen_match *node;

    for (size_t i = 0; i < linear->n_entries; i++) {
        struct linear_entry *entry = &linear->entries[i];
        const struct minimatch *match = entry->rule->match;
        uint32_t hash = minimatch_hash(match, 0);
        bool found = false;

        HMAP_FOR_EACH_WITH_HASH (node, hmap_node, hash, &seen) {
            if (minimatch_equal(node->match, match)) {
                entry->hidden = node->conj;
                found = true;
                break;
            }
        }
        if (!found) {
            node = xmalloc(sizeof *node);
            node->match = match;
            node->conj = entry->rule->n_conjs > 0;
            hmap_insert(&seen, &node->hmap_node, hash);
        }
    }

    HMAP_FOR_EACH_POP (node, hmap_node, &seen) {
        free(node);
    }
    hmap_destroy(&seen);
}

static struct adp_match *
linear_create(struct adp_rule *const *rules, size_t n)
{
    struct linear *linear = xzalloc(sizeof *linear);

    linear->match.class = &adp_match_linear_class;
    linear->entries = xcalloc(n, sizeof *linear->entries);
    linear->n_entries = n;

    for (size_t i = 0; i < n; ) {
        size_t start = i;

        while (i < n && rules[i]->priority == rules[start]->priority) {
            linear->n_clauses += rules[i++]->n_conjs;
        }
        linear->levels = xrealloc(linear->levels, (linear->n_levels + 1)
                                  * sizeof *linear->levels);
        level_init(&linear->levels[linear->n_levels++],
                   &linear->entries[start], &rules[start], i - start);
    }
    if (linear->n_clauses) {
        linear_mark_hidden(linear);
    }
    return &linear->match;
}

static void
linear_destroy(struct adp_match *match)
{
    struct linear *linear = linear_cast(match);

    for (size_t i = 0; i < linear->n_entries; i++) {
        free(linear->entries[i].conjs);
    }
    free(linear->entries);
    free(linear->levels);
    free(linear);
}

static void
linear_for_each(const struct adp_match *match,
                void (*cb)(struct adp_rule *, void *aux), void *aux)
{
    const struct linear *linear = linear_cast(match);

    for (size_t i = 0; i < linear->n_entries; i++) {
        cb(linear->entries[i].rule, aux);
    }
}

static size_t
linear_size(const struct adp_match *match)
{
    const struct linear *linear = linear_cast(match);

    return (sizeof *linear
            + linear->n_levels * sizeof *linear->levels
            + linear->n_entries * sizeof *linear->entries
            + linear->n_clauses * sizeof *linear->entries->conjs);
}

/* Look-up. */

/* The best rule that acts by itself, with flow->conj_id as it is. */
static struct adp_rule *
lookup_by_conj_id(const struct linear *linear, struct flow *flow)
{
    const struct level *level = linear->levels;

    for (; level < &linear->levels[linear->n_levels]; level++) {
        for (size_t i = 0; i < level->n_plain; i++) {
            const struct linear_entry *entry = &level->entries[i];

            if (!entry->hidden
                && minimatch_matches_flow(entry->rule->match, flow)) {
                return entry->rule;
            }
        }
    }
    return NULL;
}

/* Notes in 'clauses', by number of conjunction, the clauses that 'entry'
 * stands for. */
static void
note_clauses(const struct linear_entry *entry, unsigned int n_matched,
             uint64_t *clauses)
{
    const struct adp_rule *rule = entry->rule;

    for (size_t i = 0; i < rule->n_conjs; i++) {
        const struct adp_conj_clause *c = &adp_rule_conjs(rule)[i];
        uint64_t *met = &clauses[entry->conjs[i]];

        if (c->n_clauses > n_matched) {
            continue;
        }
        if (!*met) {
            *met = UINT64_MAX << (c->n_clauses & 63);
        }
        *met |= UINT64_C(1) << c->clause;
    }
}

/* Looks up with the conj_id of the conjunctions of 'entry' that are met.  Sets
 * '*led_nowhere' if there is one, but no rule for it. */
static struct adp_rule *
lookup_met(const struct linear *linear, const struct linear_entry *entry,
           const uint64_t *clauses, struct flow *flow, bool *led_nowhere)
{
    uint32_t saved_conj_id = flow->conj_id;
    struct adp_rule *rule = NULL;

    for (size_t i = 0; !rule && i < entry->rule->n_conjs; i++) {
        if (clauses[entry->conjs[i]] == UINT64_MAX) {
            flow->conj_id = adp_rule_conjs(entry->rule)[i].id;
            rule = lookup_by_conj_id(linear, flow);
            *led_nowhere |= !rule;
        }
    }
    flow->conj_id = saved_conj_id;
    return rule;
}

/* Looks for a conjunction of 'level' that is met and leads to a rule. */
static struct adp_rule *
lookup_conjs(const struct linear *linear, const struct level *level,
             struct flow *flow, struct adp_match_scratch *scratch,
             bool *led_nowhere)
{
    size_t n_soft = level->n_entries - level->n_plain;
    uint64_t *clauses = adp_match_scratch_get(scratch,
                                              level->n_conjs + n_soft);
    uint64_t *matched = clauses + level->n_conjs;
    struct adp_rule *rule = NULL;
    size_t n_matched = 0;

    for (size_t i = level->n_plain; i < level->n_entries; i++) {
        if (minimatch_matches_flow(level->entries[i].rule->match, flow)) {
            matched[n_matched++] = i;
        }
    }
    if (n_matched < level->min_clauses) {
        return NULL;
    }

    memset(clauses, 0, level->n_conjs * sizeof *clauses);
    for (size_t i = 0; i < n_matched; i++) {
        note_clauses(&level->entries[matched[i]], n_matched, clauses);
    }
    for (size_t i = 0; !rule && i < n_matched; i++) {
        rule = lookup_met(linear, &level->entries[matched[i]], clauses, flow,
                          led_nowhere);
    }
    if (rule) {
        scratch->priority = MIN(rule->priority,
                                level->entries[level->n_plain].rule->priority);
    }
    return rule;
}

static struct adp_rule *
linear_lookup(const struct adp_match *match, struct flow *flow,
              struct adp_match_scratch *scratch)
{
    const struct linear *linear = linear_cast(match);
    const struct level *level = linear->levels;
    bool led_nowhere = false;

    for (; level < &linear->levels[linear->n_levels]; level++) {
        for (size_t i = 0; i < level->n_plain; i++) {
            struct adp_rule *rule = level->entries[i].rule;

            if (minimatch_matches_flow(rule->match, flow)) {
                scratch->priority = (led_nowhere ? ADP_PRIORITY_NONE
                                     : rule->priority);
                return rule;
            }
        }
        if (level->n_entries > level->n_plain) {
            struct adp_rule *rule = lookup_conjs(linear, level, flow, scratch,
                                                 &led_nowhere);

            if (rule) {
                return rule;
            }
        }
    }
    scratch->priority = ADP_PRIORITY_NONE;
    return NULL;
}

static bool
linear_reads(const struct adp_match *match, const struct flow *mask,
             int priority)
{
    const struct linear *linear = linear_cast(match);

    for (size_t i = 0; i < linear->n_entries; i++) {
        const struct adp_rule *rule = linear->entries[i].rule;
        struct adp_match_key key;

        adp_match_key_init(&key, rule->match);
        if (rule->priority >= priority
            && adp_key_words_overlap(key.words, key.n, mask)) {
            return true;
        }
    }
    return false;
}

const struct adp_match_class adp_match_linear_class = {
    .name = "linear",
    .create = linear_create,
    .destroy = linear_destroy,
    .for_each = linear_for_each,
    .lookup = linear_lookup,
    .reads = linear_reads,
    .size = linear_size,
};

/* SPDX-License-Identifier: Apache-2.0 */

/* Changing hash matchers. */

#include <config.h>
#include "adp-match-hash.h"
#include "adp-cow.h"
#include "adp-rules.h"
#include "coverage.h"
#include "util.h"

/* Looks at clauses of rules for those that others have, too. */
COVERAGE_DEFINE(adp_clause_look);

/* A conjunction that some rule speaks of. */
struct adp_hash_conj {
    uint64_t hash;              /* First, for adp-trie.h. */
    int priority;
    uint32_t id;
    uint32_t space;             /* Number of the space. */
    uint32_t index;             /* In the space. */
};

/* Subtables. */

static size_t
subtable_size(size_t n_words)
{
    return (offsetof(struct adp_hash_subtable, words)
            + n_words * sizeof(struct adp_mask_word));
}

static size_t
refs_size(size_t n)
{
    return n * sizeof(struct adp_hash_ref);
}

static uint64_t
hash_mask(const struct adp_match_key *key)
{
    return adp_key_hash_words(
        adp_key_secrets.seed, (const uint64_t *) key->words,
        key->n * sizeof key->words[0] / sizeof(uint64_t));
}

static bool
subtable_has_mask(const struct adp_hash_subtable *subtable,
                  const struct adp_match_key *key, uint64_t mask_hash)
{
    return (subtable->mask_hash == mask_hash && subtable->n_words == key->n
            && !memcmp(subtable->words, key->words,
                       key->n * sizeof key->words[0]));
}

/* Returns the position of the subtable for the mask of 'key', or -1. */
static ssize_t
find_subtable(const struct adp_hash_subtables *subtables,
              const struct adp_match_key *key)
{
    uint64_t mask_hash = hash_mask(key);

    for (size_t i = 0; i < subtables->n; i++) {
        if (subtable_has_mask(subtables->refs[i].subtable, key, mask_hash)) {
            return i;
        }
    }
    return -1;
}

static size_t
add_subtable(struct adp_cow *cow, struct adp_hash_subtables *subtables,
             const struct adp_match_key *key)
{
    struct adp_hash_subtable *subtable;
    size_t n = subtables->n;

    subtable = adp_cow_alloc(cow, subtable_size(key->n));
    subtable->n_words = key->n;
    subtable->common = key->common;
    subtable->mask_hash = hash_mask(key);
    memcpy(subtable->words, key->words, key->n * sizeof key->words[0]);

    subtables->refs = (n ? adp_cow_resize(cow, subtables->refs,
                                          refs_size(n + 1))
                       : adp_cow_alloc(cow, refs_size(1)));
    subtables->refs[n].subtable = subtable;
    subtables->refs[n].max_priority = INT_MIN;
    subtables->n++;
    return n;
}

/* Makes sure that the subtable at 'i' may be changed. */
static struct adp_hash_subtable *
own_subtable(struct adp_cow *cow, struct adp_hash_subtables *subtables,
             size_t i)
{
    subtables->refs = adp_cow_own(cow, subtables->refs);
    subtables->refs[i].subtable = adp_cow_own(cow,
                                              subtables->refs[i].subtable);
    return subtables->refs[i].subtable;
}

/* Moves the subtable at 'i' to where its priority belongs. */
static void
place_subtable(struct adp_hash_subtables *subtables, size_t i)
{
    struct adp_hash_ref *refs = subtables->refs;
    struct adp_hash_ref ref = refs[i];

    refs[i].max_priority = ref.max_priority
        = ref.subtable->levels[0].priority;
    if (ref.subtable->n_sets) {
        return;                 /* These are in an order of their own. */
    }
    for (; i > 0 && refs[i - 1].max_priority < ref.max_priority; i--) {
        refs[i] = refs[i - 1];
    }
    for (; i + 1 < subtables->n
         && refs[i + 1].max_priority > ref.max_priority; i++) {
        refs[i] = refs[i + 1];
    }
    refs[i] = ref;
}

static void
remove_subtable(struct adp_cow *cow, struct adp_hash_subtables *subtables,
                size_t i)
{
    struct adp_hash_subtable *subtable = subtables->refs[i].subtable;

    ovs_assert(!subtable->entries);
    adp_cow_discard(cow, subtable->levels);
    adp_cow_discard(cow, subtable->n_sets);
    adp_cow_discard(cow, subtable);
    memmove(&subtables->refs[i], &subtables->refs[i + 1],
            refs_size(--subtables->n - i));
    if (!subtables->n) {
        adp_cow_discard(cow, subtables->refs);
        subtables->refs = NULL;
    }
}

/* Returns the first level of 'priority' or below. */
static size_t
find_level(const struct adp_hash_subtable *subtable, int priority)
{
    size_t low = 0, high = subtable->n_levels;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (subtable->levels[mid].priority > priority) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* Returns an array in 'node', or a new one if that is NULL, with room for one
 * more than 'n' elements, to change. */
static void *
grow(struct adp_cow *cow, void *node, size_t n, size_t element_size)
{
    if (!node) {
        return adp_cow_alloc(cow, 2 * element_size);
    } else if ((n + 1) * element_size > adp_cow_size(node)) {
        return adp_cow_resize(cow, node, (n + n / 2 + 1) * element_size);
    }
    return adp_cow_own(cow, node);
}

static void
add_to_level(struct adp_cow *cow, struct adp_hash_subtable *subtable,
             int priority)
{
    size_t i = find_level(subtable, priority);
    struct adp_hash_level *level;

    if (i < subtable->n_levels && subtable->levels[i].priority == priority) {
        subtable->levels = adp_cow_own(cow, subtable->levels);
        subtable->levels[i].n++;
        return;
    }
    subtable->levels = grow(cow, subtable->levels, subtable->n_levels,
                            sizeof *level);
    level = &subtable->levels[i];
    memmove(level + 1, level, (subtable->n_levels - i) * sizeof *level);
    *level = (struct adp_hash_level) { .priority = priority, .n = 1 };
    subtable->n_levels++;
}

static void
remove_from_level(struct adp_cow *cow, struct adp_hash_subtable *subtable,
                  int priority)
{
    size_t i = find_level(subtable, priority);
    struct adp_hash_level *level;

    subtable->levels = adp_cow_own(cow, subtable->levels);
    level = &subtable->levels[i];
    if (!--level->n) {
        subtable->n_levels--;
        memmove(level, level + 1, (subtable->n_levels - i) * sizeof *level);
    }
}

/* Entries. */

static size_t
entry_size(size_t n_words, size_t n_sets)
{
    return (offsetof(struct adp_hash_entry, values)
            + n_words * sizeof(uint64_t)
            + n_sets * sizeof(struct adp_conj_set));
}

/* The position of the first rule of 'priority' or below. */
static size_t
entry_find_rule(const struct adp_hash_entry *entry, int priority)
{
    struct adp_rule *const *rules = adp_hash_entry_rules(entry);
    size_t low = 0, high = entry->n_rules;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (rules[mid]->priority > priority) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static size_t
entry_position(const struct adp_hash_entry *entry,
               const struct adp_rule *rule)
{
    struct adp_rule *const *rules = adp_hash_entry_rules(entry);
    size_t i = entry_find_rule(entry, rule->priority);

    while (rules[i] != rule) {
        i++;
        ovs_assert(i < entry->n_rules);
    }
    return i;
}

static void
entry_set_first(struct adp_hash_entry *entry)
{
    if (entry->n_rules > 1) {
        entry->rule = entry->rules[0];
    }
    entry->priority = entry->rule->priority;
}

static void
entry_add_rule(struct adp_cow *cow, struct adp_hash_entry *entry,
               struct adp_rule *rule)
{
    size_t n = entry->n_rules;

    if (!n) {
        entry->rule = rule;
    } else {
        size_t i = entry_find_rule(entry, rule->priority - 1);

        if (n == 1) {
            entry->rules = adp_cow_alloc(cow, 2 * sizeof *entry->rules);
            entry->rules[0] = entry->rule;
        } else {
            entry->rules = grow(cow, entry->rules, n, sizeof *entry->rules);
        }
        memmove(&entry->rules[i + 1], &entry->rules[i],
                (n - i) * sizeof *entry->rules);
        entry->rules[i] = rule;
    }
    entry->n_rules++;
    entry_set_first(entry);
}

static void
entry_remove_rule(struct adp_cow *cow, struct adp_hash_entry *entry,
                  struct adp_rule *rule)
{
    size_t i = entry_position(entry, rule);
    size_t n = --entry->n_rules;

    if (!n) {
        return;
    }
    entry->rules = adp_cow_own(cow, entry->rules);
    memmove(&entry->rules[i], &entry->rules[i + 1],
            (n - i) * sizeof *entry->rules);
    if (n == 1) {
        entry->rule = entry->rules[0];
        adp_cow_discard(cow, entry->rules);
        entry->rules = NULL;
    }
    entry_set_first(entry);
}

static void
entry_replace_rule(struct adp_cow *cow, struct adp_hash_entry *entry,
                   struct adp_rule *old, struct adp_rule *new)
{
    size_t i = entry_position(entry, old);

    if (entry->n_rules == 1) {
        entry->rule = new;
    } else {
        entry->rules = adp_cow_own(cow, entry->rules);
        entry->rules[i] = new;
        entry_set_first(entry);
    }
}

/* Conjunctions. */

static uint64_t
hash_conj(int priority, uint32_t id, uint32_t space)
{
    const uint64_t words[] = {
        ((uint64_t) (uint32_t) priority << 32) | id, space
    };

    return adp_key_hash_words(adp_key_secrets.seed, words, ARRAY_SIZE(words));
}

static struct adp_hash_conj *
find_conj(const struct adp_hash *hash, int priority, uint32_t id,
          uint32_t space)
{
    uint64_t h = hash_conj(priority, id, space);
    struct adp_hash_conj *conj;
    uint64_t slot;

    ADP_TRIE_FOR_EACH_CANDIDATE (conj, slot, hash->conjs, h) {
        if (conj->priority == priority && conj->id == id
            && conj->space == space) {
            return conj;
        }
    }
    return NULL;
}

static struct adp_hash_conj *
add_conj(struct adp_cow *cow, struct adp_hash *hash, int priority,
         uint32_t id, uint32_t space)
{
    struct adp_hash_conj *conj = adp_cow_alloc(cow, sizeof *conj);

    conj->hash = hash_conj(priority, id, space);
    conj->priority = priority;
    conj->id = id;
    conj->space = space;
    conj->index = adp_conj_space_alloc(cow, &hash->spaces[space].space,
                                       priority, id);
    adp_trie_insert(cow, &hash->conjs, conj);
    return conj;
}

/* Returns the number of the space for conjunctions of 'n_clauses'. */
static size_t
get_space(struct adp_cow *cow, struct adp_hash *hash, uint32_t n_clauses)
{
    size_t n = hash->n_spaces;

    for (size_t i = 0; i < n; i++) {
        if (hash->spaces[i].space->n_clauses == n_clauses) {
            return i;
        }
    }
    hash->spaces = (n ? adp_cow_resize(cow, hash->spaces,
                                       (n + 1) * sizeof *hash->spaces)
                    : adp_cow_alloc(cow, sizeof *hash->spaces));
    hash->spaces[n] = (struct adp_hash_space) {
        .space = adp_conj_space_create(cow, n_clauses),
        .first_set = hash->n_sets,
    };
    for (size_t i = 0; i < n_clauses; i++) {
        hash->spaces[n].sets |= adp_hash_set_bit(hash->n_sets + i);
    }
    hash->n_spaces++;
    hash->n_sets += n_clauses;
    hash->plan_is_old = true;
    return n;
}

/* Collects what 'rule' says, from clause '*i' onward, about the conjunction
 * there. */
static uint64_t
next_clauses(const struct adp_rule *rule, size_t *i,
             const struct adp_conj_clause *first)
{
    uint64_t clauses = 0;

    for (; rule && *i < rule->n_conjs; ++*i) {
        const struct adp_conj_clause *c = &adp_rule_conjs(rule)[*i];

        if (c->id != first->id || c->n_clauses != first->n_clauses) {
            break;
        }
        clauses |= UINT64_C(1) << (c->clause & 63);
    }
    return clauses;
}

/* What a rule has to say about a conjunction: the clauses, as a bitmap. */
static uint64_t
rule_clauses(const struct adp_rule *rule, uint32_t id, uint8_t n_clauses)
{
    const struct adp_conj_clause first = { .id = id, .n_clauses = n_clauses };
    size_t low = 0, high = rule->n_conjs;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (adp_conj_clause_compare(&adp_rule_conjs(rule)[mid], &first) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
        COVERAGE_INC(adp_clause_look);
    }
    return next_clauses(rule, &low, &first);
}

/* The same of all rules in 'entry' of a priority. */
static uint64_t
entry_clauses(const struct adp_hash_entry *entry, int priority, uint32_t id,
              uint8_t n_clauses)
{
    struct adp_rule *const *rules = adp_hash_entry_rules(entry);
    uint64_t clauses = 0;

    for (size_t i = entry_find_rule(entry, priority);
         i < entry->n_rules && rules[i]->priority == priority; i++) {
        clauses |= rule_clauses(rules[i], id, n_clauses);
    }
    return clauses;
}

/* Where to change what rules say about conjunctions. */
struct conj_change {
    struct adp_cow *cow;
    struct adp_hash *hash;
    struct adp_hash_subtable *subtable;
    struct adp_hash_entry **entry;  /* After its rules have changed. */
    int priority;
};

/* Counts the sets number 'i' in the subtable. */
static void
count_set(const struct conj_change *cc, size_t i, int delta)
{
    struct adp_hash_subtable *subtable = cc->subtable;
    size_t size = cc->hash->n_sets * sizeof *subtable->n_sets;
    uint32_t *n;

    if (!subtable->n_sets) {
        subtable->n_sets = adp_cow_alloc(cc->cow, size);
    } else if (size > adp_cow_size(subtable->n_sets)) {
        subtable->n_sets = adp_cow_resize(cc->cow, subtable->n_sets, size);
    } else {
        subtable->n_sets = adp_cow_own(cc->cow, subtable->n_sets);
    }
    n = &subtable->n_sets[i];
    cc->hash->plan_is_old |= !*n || !(*n + delta);
    *n += delta;
}

/* Returns the entry's set for a clause, which is added if need be: then the
 * entry may move. */
static struct adp_conj_set *
get_set(const struct conj_change *cc, size_t number)
{
    struct adp_hash_entry **entry = cc->entry;
    size_t n_words = cc->subtable->n_words;
    struct adp_conj_set *sets = adp_hash_entry_sets(*entry, n_words);
    size_t n = (*entry)->n_sets;
    size_t size = entry_size(n_words, n + 1);

    for (size_t i = 0; i < n; i++) {
        if (sets[i].number == number) {
            return &sets[i];
        }
    }
    if (size > adp_cow_size(*entry)) {
        *entry = adp_cow_resize(cc->cow, *entry, size);
        sets = adp_hash_entry_sets(*entry, n_words);
    }
    sets[n] = (struct adp_conj_set) { .number = number };
    (*entry)->n_sets++;
    count_set(cc, number, 1);
    return &sets[n];
}

static void
drop_set_if_empty(const struct conj_change *cc, struct adp_conj_set *set)
{
    struct adp_hash_entry *entry = *cc->entry;

    if (!set->n) {
        count_set(cc, set->number, -1);
        *set = adp_hash_entry_sets(entry, cc->subtable->n_words)[
            --entry->n_sets];
    }
}

static void
change_sets(const struct conj_change *cc, uint32_t space, uint32_t index,
            uint64_t clauses, bool add)
{
    size_t first_set = cc->hash->spaces[space].first_set;

    for (; clauses; clauses = zero_rightmost_1bit(clauses)) {
        struct adp_conj_set *set = get_set(cc, first_set + raw_ctz(clauses));

        if (add) {
            adp_conj_set_add(cc->cow, set, index);
        } else {
            adp_conj_set_remove(cc->cow, set, index);
            drop_set_if_empty(cc, set);
        }
    }
}

/* In place of clauses 'old' of a conjunction a rule has clauses 'new'. */
static void
change_conj(const struct conj_change *cc, uint32_t id, uint8_t n_clauses,
            uint64_t old, uint64_t new)
{
    uint32_t space = get_space(cc->cow, cc->hash, n_clauses);
    struct adp_conj_space **cs = &cc->hash->spaces[space].space;
    struct adp_hash_conj *hc = find_conj(cc->hash, cc->priority, id, space);
    uint64_t gone = old & ~new;
    int n_multi = (count_1bits(new) > 1) - (count_1bits(old) > 1);
    uint32_t *n_refs;
    uint32_t index;

    if (!hc) {
        hc = add_conj(cc->cow, cc->hash, cc->priority, id, space);
    }
    index = hc->index;
    if (n_multi) {
        adp_conj_space_own(cc->cow, cs, index)->n_multi += n_multi;
    }
    n_refs = adp_conj_space_refs(*cs, index);
    *n_refs += count_1bits(new) - count_1bits(old);

    if (gone) {
        /* Two rules may have the same match and priority. */
        gone &= ~entry_clauses(*cc->entry, cc->priority, id, n_clauses);
        change_sets(cc, space, index, gone, false);
    }
    change_sets(cc, space, index, new & ~old, true);
    if (!*n_refs) {
        adp_conj_space_release(cc->cow, cs, index);
        adp_trie_remove(cc->cow, &cc->hash->conjs, hc);
        adp_cow_discard(cc->cow, hc);
    }
}

/* What 'old' said about conjunctions gives way to what 'new' says.  Either may
 * be NULL. */
static void
change_conjs(const struct conj_change *cc, const struct adp_rule *old,
             const struct adp_rule *new)
{
    size_t n_old = old ? old->n_conjs : 0;
    size_t n_new = new ? new->n_conjs : 0;
    size_t i = 0, j = 0;

    while (i < n_old || j < n_new) {
        const struct adp_conj_clause *a
            = i < n_old ? &adp_rule_conjs(old)[i] : NULL;
        const struct adp_conj_clause *b
            = j < n_new ? &adp_rule_conjs(new)[j] : NULL;
        const struct adp_conj_clause *first;
        uint64_t before, after;

        first = (!a || (b && adp_conj_clause_compare(b, a) < 0)) ? b : a;
        before = next_clauses(old, &i, first);
        after = next_clauses(new, &j, first);
        if (before != after) {
            change_conj(cc, first->id, first->n_clauses, before, after);
        }
    }
}

/* Rules. */

static enum adp_hash_kind
kind_of(const struct adp_rule *rule)
{
    return (rule->n_conjs ? ADP_HASH_CLAUSE
            : MINIFLOW_GET_U32(rule->match->flow, conj_id) ? ADP_HASH_BY_ID
            : ADP_HASH_PLAIN);
}

static bool
matches_no_id(const struct adp_rule *rule)
{
    return (kind_of(rule) == ADP_HASH_PLAIN
            && MINIFLOW_GET_U32(&rule->match->mask->masks, conj_id));
}

static struct adp_hash_entry *
find_entry(const struct adp_hash_subtables *subtables,
           const struct adp_match_key *key, ssize_t *i)
{
    *i = find_subtable(subtables, key);
    return (*i < 0 ? NULL
            : CONST_CAST(struct adp_hash_entry *,
                         adp_hash_find(subtables->refs[*i].subtable,
                                       key->values, key->hash)));
}

/* Finds out whether the rule that acts by itself in the place of 'key', if
 * any, is hidden. */
static void
update_hidden(struct adp_cow *cow, struct adp_hash *hash,
              const struct adp_match_key *key)
{
    const struct adp_hash_entry *clause;
    struct adp_hash_entry *entry;
    ssize_t i;

    if (!hash->n_rules[ADP_HASH_CLAUSE] && !hash->n_hidden) {
        return;
    }
    clause = find_entry(&hash->subtables[ADP_HASH_CLAUSE], key, &i);
    for (enum adp_hash_kind kind = ADP_HASH_PLAIN; kind <= ADP_HASH_BY_ID;
         kind++) {
        bool hidden;

        entry = find_entry(&hash->subtables[kind], key, &i);
        if (!entry) {
            continue;
        }
        hidden = clause && clause->priority > entry->priority;
        if (hidden != entry->hidden) {
            struct adp_hash_subtable *subtable;
            struct adp_hash_entry *new = adp_cow_own(cow, entry);

            subtable = own_subtable(cow, &hash->subtables[kind], i);
            new->hidden = hidden;
            adp_trie_replace(cow, &subtable->entries, entry, new);
            hash->n_hidden += hidden ? 1 : -1;
        }
    }
}

/* Returns the entry for 'key' to change.  '*in_trie' is what the subtable has
 * in its place as yet, or NULL. */
static struct adp_hash_entry *
own_entry(struct adp_cow *cow, struct adp_hash_subtable *subtable,
          const struct adp_match_key *key, struct adp_hash_entry **in_trie)
{
    struct adp_hash_entry *entry;

    *in_trie = CONST_CAST(struct adp_hash_entry *,
                          adp_hash_find(subtable, key->values, key->hash));
    if (*in_trie) {
        return adp_cow_own(cow, *in_trie);
    }
    entry = adp_cow_alloc(cow, entry_size(key->n, 0));
    entry->hash = key->hash;
    memcpy(entry->values, key->values, key->n * sizeof key->values[0]);
    return entry;
}

static void
store_entry(struct adp_cow *cow, struct adp_hash *hash,
            struct adp_hash_subtable *subtable, struct adp_hash_entry *in_trie,
            struct adp_hash_entry *entry)
{
    if (!in_trie) {
        adp_trie_insert(cow, &subtable->entries, entry);
    } else {
        adp_trie_replace(cow, &subtable->entries, in_trie, entry);
    }
    if (!entry->n_rules) {
        hash->n_hidden -= entry->hidden;
        adp_trie_remove(cow, &subtable->entries, entry);
        adp_cow_discard(cow, entry);
    }
}

/* Carries out a change for rules of one kind.  'old' or 'new' may be NULL. */
static void
change_rule(struct adp_cow *cow, struct adp_hash *hash,
            enum adp_hash_kind kind, struct adp_rule *old,
            struct adp_rule *new)
{
    struct adp_hash_subtables *subtables = &hash->subtables[kind];
    const struct adp_rule *rule = old ? old : new;
    struct adp_hash_entry *entry, *in_trie;
    struct adp_hash_subtable *subtable;
    struct adp_match_key key;
    ssize_t i;

    adp_match_key_init(&key, rule->match);
    i = find_subtable(subtables, &key);
    subtable = own_subtable(cow, subtables,
                            i >= 0 ? i : (i = add_subtable(cow, subtables,
                                                           &key)));
    entry = own_entry(cow, subtable, &key, &in_trie);
    if (!old) {
        entry_add_rule(cow, entry, new);
    } else if (!new) {
        entry_remove_rule(cow, entry, old);
    } else {
        entry_replace_rule(cow, entry, old, new);
    }
    if (kind == ADP_HASH_CLAUSE) {
        change_conjs(&(struct conj_change) {
            .cow = cow,
            .hash = hash,
            .subtable = subtable,
            .entry = &entry,
            .priority = rule->priority,
        }, old, new);
    }
    store_entry(cow, hash, subtable, in_trie, entry);

    if (old && new) {
        return;
    }
    if (new) {
        add_to_level(cow, subtable, new->priority);
        subtable->n_rules++;
        hash->n_rules[kind]++;
        hash->n_no_id += matches_no_id(new);
    } else {
        remove_from_level(cow, subtable, old->priority);
        subtable->n_rules--;
        hash->n_rules[kind]--;
        hash->n_no_id -= matches_no_id(old);
    }
    if (subtable->n_rules) {
        place_subtable(subtables, i);
    } else {
        hash->plan_is_old |= kind == ADP_HASH_CLAUSE;
        remove_subtable(cow, subtables, i);
    }
    update_hidden(cow, hash, &key);
}

static void
apply_change(struct adp_cow *cow, struct adp_hash *hash,
             const struct adp_match_change *change)
{
    if (change->old && change->new
        && kind_of(change->old) == kind_of(change->new)) {
        change_rule(cow, hash, kind_of(change->old), change->old,
                    change->new);
        return;
    }
    if (change->old) {
        change_rule(cow, hash, kind_of(change->old), change->old, NULL);
    }
    if (change->new) {
        change_rule(cow, hash, kind_of(change->new), NULL, change->new);
    }
}

/* Matchers. */

struct adp_match *
adp_hash_update(struct adp_cow *cow, struct adp_match *old,
                const struct adp_match_change *changes, size_t n)
{
    int64_t n_bytes = cow->n_bytes;
    struct adp_hash *hash;

    if (old) {
        hash = adp_cow_own(cow, adp_hash_cast(old));
        if (hash->spaces) {
            hash->spaces = adp_cow_own(cow, hash->spaces);
        }
    } else {
        hash = adp_cow_alloc(cow, sizeof *hash);
    }
    for (size_t i = 0; i < n; i++) {
        apply_change(cow, hash, &changes[i]);
    }
    if (hash->plan_is_old) {
        adp_hash_plan(cow, hash);
    }
    hash->max_conj = INT_MIN;
    for (size_t i = 0; i < hash->n_spaces; i++) {
        hash->max_conj = MAX(hash->max_conj, hash->spaces[i].space->max);
    }
    hash->match.class = (!hash->n_rules[ADP_HASH_CLAUSE]
                         ? &adp_match_hash_class
                         : adp_match_conj_has_avx2()
                         ? &adp_match_conj_avx2_class
                         : &adp_match_conj_class);
    hash->n_bytes += cow->n_bytes - n_bytes;
    return &hash->match;
}

struct destroy_aux {
    struct adp_cow *cow;
    size_t n_words;
};

static void
destroy_entry(void *entry_, void *aux_)
{
    struct adp_hash_entry *entry = entry_;
    const struct destroy_aux *aux = aux_;

    for (size_t i = 0; i < entry->n_sets; i++) {
        adp_conj_set_destroy(&adp_hash_entry_sets(entry, aux->n_words)[i],
                             aux->cow);
    }
    if (entry->n_rules > 1) {
        adp_cow_release(aux->cow, entry->rules);
    }
    adp_cow_release(aux->cow, entry);
}

static void
destroy_subtables(struct adp_hash_subtables *subtables, struct adp_cow *cow)
{
    for (size_t i = 0; i < subtables->n; i++) {
        struct adp_hash_subtable *subtable = subtables->refs[i].subtable;
        struct destroy_aux aux = { .cow = cow, .n_words = subtable->n_words };

        adp_trie_for_each(subtable->entries, destroy_entry, &aux);
        adp_trie_destroy(subtable->entries, cow);
        adp_cow_release(cow, subtable->levels);
        adp_cow_release(cow, subtable->n_sets);
        adp_cow_release(cow, subtable);
    }
    adp_cow_release(cow, subtables->refs);
}

static void
destroy_conj(void *conj, void *cow)
{
    adp_cow_release(cow, conj);
}

static void
hash_destroy__(struct adp_match *match, struct adp_cow *cow)
{
    struct adp_hash *hash = adp_hash_cast(match);

    for (size_t i = 0; i < ADP_HASH_N_KINDS; i++) {
        destroy_subtables(&hash->subtables[i], cow);
    }
    adp_trie_for_each(hash->conjs, destroy_conj, cow);
    adp_trie_destroy(hash->conjs, cow);
    for (size_t i = 0; i < hash->n_spaces; i++) {
        adp_conj_space_destroy(hash->spaces[i].space, cow);
    }
    adp_cow_release(cow, hash->spaces);
    adp_cow_release(cow, hash);
}

void
adp_hash_discard(struct adp_cow *cow, struct adp_match *match)
{
    hash_destroy__(match, cow);
}

static void
hash_destroy(struct adp_match *match)
{
    hash_destroy__(match, NULL);
}

struct adp_match *
adp_hash_create(struct adp_cow *cow, struct adp_rule *const *rules, size_t n)
{
    struct adp_match_change *changes = xmalloc(n * sizeof *changes);
    struct adp_match *match;

    for (size_t i = 0; i < n; i++) {
        changes[i] = (struct adp_match_change) { NULL, rules[i] };
    }
    match = adp_hash_update(cow, NULL, changes, n);
    free(changes);
    return match;
}

static struct adp_match *
hash_create(struct adp_rule *const *rules, size_t n)
{
    struct adp_garbage garbage;
    struct adp_match *match;
    struct adp_cow cow;

    adp_cow_begin(&cow);
    match = adp_hash_create(&cow, rules, n);
    garbage = adp_cow_end(&cow);
    adp_garbage_free(&garbage);
    return match;
}

struct for_each_aux {
    void (*cb)(struct adp_rule *, void *aux);
    void *aux;
};

static void
for_each_in_entry(void *entry_, void *aux_)
{
    const struct adp_hash_entry *entry = entry_;
    const struct for_each_aux *aux = aux_;

    for (size_t i = 0; i < entry->n_rules; i++) {
        aux->cb(adp_hash_entry_rules(entry)[i], aux->aux);
    }
}

static void
hash_for_each(const struct adp_match *match,
              void (*cb)(struct adp_rule *, void *aux), void *aux)
{
    const struct adp_hash *hash = adp_hash_cast(match);
    struct for_each_aux fea = { .cb = cb, .aux = aux };

    for (size_t i = 0; i < ADP_HASH_N_KINDS; i++) {
        const struct adp_hash_subtables *subtables = &hash->subtables[i];

        for (size_t j = 0; j < subtables->n; j++) {
            adp_trie_for_each(subtables->refs[j].subtable->entries,
                              for_each_in_entry, &fea);
        }
    }
}

static bool
hash_reads(const struct adp_match *match, const struct flow *mask,
           int priority)
{
    const struct adp_hash *hash = adp_hash_cast(match);

    for (size_t kind = 0; kind < ADP_HASH_N_KINDS; kind++) {
        const struct adp_hash_subtables *subtables = &hash->subtables[kind];

        for (size_t i = 0; i < subtables->n; i++) {
            const struct adp_hash_subtable *subtable
                = subtables->refs[i].subtable;

            if (subtable->levels[0].priority >= priority
                && adp_key_words_overlap(subtable->words, subtable->n_words,
                                         mask)) {
                return true;
            }
        }
    }
    return false;
}

static size_t
hash_size(const struct adp_match *match)
{
    return adp_hash_cast(match)->n_bytes;
}

bool
adp_match_conj_has_avx2(void)
{
#if defined __x86_64__ && defined __GNUC__
    return (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")
            && __builtin_cpu_supports("popcnt"));
#else
    return false;
#endif
}

#define HASH_CLASS(NAME, LOOKUP) {              \
        .name = NAME,                           \
        .create = hash_create,                  \
        .destroy = hash_destroy,                \
        .for_each = hash_for_each,              \
        .lookup = LOOKUP,                       \
        .reads = hash_reads,                    \
        .size = hash_size,                      \
    }

const struct adp_match_class adp_match_hash_class =
    HASH_CLASS("hash", adp_hash_lookup);
const struct adp_match_class adp_match_conj_class =
    HASH_CLASS("conjunction", adp_hash_lookup_conj);
const struct adp_match_class adp_match_conj_avx2_class =
    HASH_CLASS("conjunction", adp_hash_lookup_conj_avx2);

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MATCH_HASH_H
#define ADP_MATCH_HASH_H 1

/* The hash matcher: for any content, of any size.
 *
 * Rules that act by themselves are in *subtables*, one per mask, each a hash
 * table (tuple space search; Srinivasan et al., "Packet Classification using
 * Tuple Space Search", SIGCOMM 1999).  Subtables are tried by descending top
 * priority until none can have a better rule.  Those that match on conj_id
 * stay aside until a conjunction is met.
 *
 * The clauses of conjunctions are in subtables too.  What a packet finds there
 * gives for each clause number a set of conjunctions (adp-conj.h), and those
 * in all of them are met.  So a clause's mask costs one hash look-up, however
 * many conjunctions share the table or the match.  The search ends as soon as
 * a set is known to be empty, and begins with those that few masks are about:
 * a packet for a Pod without policies usually takes one look-up.
 *
 * "hash" is the name of this matcher without conjunctions, "conjunction" that
 * of the same with them.  The look-up with conjunctions exists twice, for
 * plain machines and for those with AVX2, where a block of a set is one
 * register.  Wider registers wouldn't pay: blocks would have to be twice as
 * large, and most would be half empty.
 *
 * A change copies the nodes on the way to what changes, see adp-cow.h.
 *
 * Thread-safety: immutable.
 */

#include "adp-conj.h"
#include "adp-match.h"
#include "adp-match-key.h"
#include "adp-trie.h"

/* Rules with one match, and what they are clauses of. */
struct adp_hash_entry {
    uint64_t hash;              /* Of the key.  First, for adp-trie.h. */
    struct adp_rule *rule;      /* Of the highest priority. */
    struct adp_rule **rules;    /* All, by descending priority, if several. */
    uint32_t n_rules;
    int priority;               /* Of 'rule'. */
    uint16_t n_sets;
    bool hidden;                /* Out of sight in look-ups by conj_id. */
    uint64_t values[];          /* The key.  Then the sets. */
};

/* How many rules of a subtable have a priority. */
struct adp_hash_level {
    int priority;
    uint32_t n;
};

struct adp_hash_subtable {
    adp_trie entries;
    uint32_t n_words;           /* Common ones included. */
    bool common;                /* Are there common words? */
    uint32_t n_rules;
    uint64_t mask_hash;
    struct adp_hash_level *levels; /* By descending priority. */
    size_t n_levels;
    uint32_t *n_sets;           /* By number of set: entries that have it. */
    struct adp_mask_word words[];
};

struct adp_hash_ref {
    struct adp_hash_subtable *subtable;
    int max_priority;           /* Of the first of its levels. */

    /* Of clauses: the sets in it, and those in no later subtable. */
    uint64_t sets, last_of;
};

struct adp_hash_subtables {
    size_t n;
    struct adp_hash_ref *refs;  /* By descending 'max_priority', but those of
                                 * clauses see adp_hash_plan(). */
};

enum adp_hash_kind {
    ADP_HASH_PLAIN,             /* Rules that act by themselves. */
    ADP_HASH_BY_ID,             /* The same, if they match on a conj_id. */
    ADP_HASH_CLAUSE,            /* Those that stand for clauses. */
    ADP_HASH_N_KINDS
};

struct adp_hash_space {
    struct adp_conj_space *space;
    size_t first_set;           /* Number of the set for the first clause. */
    uint64_t sets;              /* Those of all clauses. */
};

struct adp_hash {
    struct adp_match match;
    size_t n_bytes;
    struct adp_hash_subtables subtables[ADP_HASH_N_KINDS];
    size_t n_rules[ADP_HASH_N_KINDS];

    /* Of PLAIN rules. */
    size_t n_no_id;             /* Those that match on having no conj_id. */
    size_t n_hidden;            /* Entries, BY_ID included. */

    /* The sets of a packet have numbers: one for each clause of each space.
     * Bitmaps of them have all ones if there are more than 64. */
    struct adp_hash_space *spaces;
    size_t n_spaces;
    size_t n_sets;
    uint64_t live_sets;         /* Of spaces with conjunctions. */
    bool plan_is_old;           /* Only while it changes. */
    int max_conj;               /* Top priority of a conjunction. */
    adp_trie conjs;             /* Of "struct adp_hash_conj"s. */
};

static inline struct adp_hash *
adp_hash_cast(const struct adp_match *match)
{
    return CONTAINER_OF(match, struct adp_hash, match);
}

static inline struct adp_conj_set *
adp_hash_entry_sets(const struct adp_hash_entry *entry, size_t n_words)
{
    return (struct adp_conj_set *) CONST_CAST(uint64_t *,
                                              &entry->values[n_words]);
}

static inline struct adp_rule *const *
adp_hash_entry_rules(const struct adp_hash_entry *entry)
{
    return entry->n_rules > 1 ? entry->rules : &entry->rule;
}

/* The bit for a set in bitmaps of them. */
static inline uint64_t
adp_hash_set_bit(size_t set)
{
    return set < 64 ? UINT64_C(1) << set : 0;
}

static inline const struct adp_hash_entry *
adp_hash_find(const struct adp_hash_subtable *subtable,
              const uint64_t values[], uint64_t hash)
{
    const struct adp_hash_entry *entry;
    uint64_t slot;

    ADP_TRIE_FOR_EACH_CANDIDATE (entry, slot, subtable->entries, hash) {
        if (adp_key_equal(entry->values, values, subtable->n_words)) {
            return entry;
        }
    }
    return NULL;
}

/* Decides in which order look-ups go through the subtables of clauses. */
void adp_hash_plan(struct adp_cow *, struct adp_hash *);

/* Returns the matcher for 'rules' and 'changes' thereto, which must leave at
 * least one rule.  'old', which may be NULL, becomes garbage. */
struct adp_match *adp_hash_update(struct adp_cow *, struct adp_match *old,
                                  const struct adp_match_change *, size_t n);
/* The same from nothing. */
struct adp_match *adp_hash_create(struct adp_cow *,
                                  struct adp_rule *const *rules, size_t n);
/* Makes all of the matcher garbage. */
void adp_hash_discard(struct adp_cow *, struct adp_match *);

/* "hash"; "conjunction" without and with AVX2. */
extern const struct adp_match_class adp_match_hash_class;
extern const struct adp_match_class adp_match_conj_class;
extern const struct adp_match_class adp_match_conj_avx2_class;

bool adp_match_conj_has_avx2(void);

/* Look-ups of the classes. */
struct adp_rule *adp_hash_lookup(const struct adp_match *, struct flow *,
                                 struct adp_match_scratch *);
struct adp_rule *adp_hash_lookup_conj(const struct adp_match *, struct flow *,
                                      struct adp_match_scratch *);
struct adp_rule *adp_hash_lookup_conj_avx2(const struct adp_match *,
                                           struct flow *,
                                           struct adp_match_scratch *);

#endif /* adp-match-hash.h */

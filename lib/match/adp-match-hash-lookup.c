/* SPDX-License-Identifier: Apache-2.0 */

/* Look-ups in hash matchers.
 *
 * What is INLINE here is compiled into each variant of the look-up, for the
 * instructions that this may use. */

#include <config.h>
#include "adp-match-hash.h"
#include "adp-rules.h"
#include "util.h"

#define INLINE static inline __attribute__((__always_inline__))
#define NOINLINE __attribute__((__noinline__))

/* A block of bits.  The compiler makes of it what the machine has: one
 * register with AVX2, two with SSE2, or four words. */
typedef uint64_t block __attribute__((vector_size(ADP_CONJ_BLOCK_BITS / 8)));
BUILD_ASSERT_DECL(sizeof(block) == ADP_CONJ_BLOCK_WORDS * sizeof(uint64_t));

/* A packet, and of it what is the same for many subtables. */
struct packet {
    struct flow *flow;
    uint64_t common[ADP_KEY_N_COMMON];
    uint64_t common_hash;
};

INLINE void
packet_init(struct packet *packet, struct flow *flow)
{
    packet->flow = flow;
    adp_key_common_from_flow(packet->common, flow);
    packet->common_hash = adp_key_hash_common(packet->common);
}

/* A key without its common words, up to 3. */
struct short_key {
    uint64_t a, b, c;
};

/* The same as adp_key_hash_words(). */
INLINE uint64_t
short_key_hash(uint64_t hash, struct short_key key, size_t n)
{
    uint64_t odd = adp_key_secrets.odd;

    if (n == 1) {
        hash = hash_product(key.a ^ hash, odd);
    } else if (n > 1) {
        hash = hash_product(key.a ^ hash, key.b ^ odd);
    }
    return n > 2 ? hash_product(key.c ^ hash, odd) : hash;
}

INLINE bool
entry_matches(const struct adp_hash_entry *entry,
              const struct packet *packet, bool common, struct short_key key,
              size_t n)
{
    const uint64_t *v = entry->values;
    uint64_t differ = ((n > 0 ? v[0] ^ key.a : 0)
                       | (n > 1 ? v[1] ^ key.b : 0)
                       | (n > 2 ? v[2] ^ key.c : 0));

    if (common) {
        differ |= v[n] ^ packet->common[0];
        differ |= v[n + 1] ^ packet->common[1];
    }
    return OVS_LIKELY(!differ);
}

INLINE const struct adp_hash_entry *
find_short_key(const struct adp_hash_subtable *subtable,
               const struct packet *packet, struct short_key key, size_t n)
{
    bool common = subtable->common;
    uint64_t hash = short_key_hash(common ? packet->common_hash
                                   : adp_key_secrets.seed, key, n);
    uint64_t slot = adp_trie_descend(subtable->entries, hash);
    const struct adp_hash_entry *entry;

    if (OVS_LIKELY((slot & ADP_TRIE_KIND) == ADP_TRIE_ITEM)) {
        entry = adp_trie_ptr(slot);
        if ((slot ^ hash) >> 48 == 0
            && entry_matches(entry, packet, common, key, n)) {
            return entry;
        }
    } else if (slot) {
        const uint64_t *items = adp_trie_ptr(slot);
        size_t n_items = adp_trie_bucket_size(slot);

        for (size_t i = 0; i < n_items; i++) {
            entry = adp_trie_ptr(items[i]);
            if ((items[i] ^ hash) >> 48 == 0
                && entry_matches(entry, packet, common, key, n)) {
                return entry;
            }
        }
    }
    return NULL;
}

/* Any key. */
static NOINLINE const struct adp_hash_entry *
find_long_key(const struct adp_hash_subtable *subtable,
              const struct packet *packet)
{
    size_t n = subtable->n_words - (subtable->common ? ADP_KEY_N_COMMON : 0);
    uint64_t values[FLOW_U64S];

    adp_key_from_flow(values, subtable->words, subtable->n_words,
                      packet->flow);
    return adp_hash_find(subtable, values,
                         adp_key_hash_words((subtable->common
                                             ? packet->common_hash
                                             : adp_key_secrets.seed),
                                            values, n));
}

/* Masks of up to 3 words beside the common ones, nearly all there are, each
 * get code of their own, which keeps the key in registers. */
INLINE const struct adp_hash_entry *
find_in_subtable(const struct adp_hash_subtable *subtable,
                 const struct packet *packet)
{
    const adp_flow_word *flow_words = (const adp_flow_word *) packet->flow;
    const struct adp_mask_word *words = subtable->words;
    size_t n = subtable->n_words - (subtable->common ? ADP_KEY_N_COMMON : 0);
    struct short_key key = { 0, 0, 0 };

#define VALUE(I) (flow_words[words[I].index] & words[I].mask)
    switch (n) {
    case 0:
        return find_short_key(subtable, packet, key, 0);
    case 1:
        key.a = VALUE(0);
        return find_short_key(subtable, packet, key, 1);
    case 2:
        key.a = VALUE(0);
        key.b = VALUE(1);
        return find_short_key(subtable, packet, key, 2);
    case 3:
        key.a = VALUE(0);
        key.b = VALUE(1);
        key.c = VALUE(2);
        return find_short_key(subtable, packet, key, 3);
    default:
        return find_long_key(subtable, packet);
    }
#undef VALUE
}

/* Rules that act by themselves. */

/* Returns the entry with the best rule in 'subtables' above 'priority', or
 * else 'best'. */
INLINE const struct adp_hash_entry *
find_best(const struct adp_hash_subtables *subtables,
          const struct packet *packet, int priority, bool also_hidden,
          const struct adp_hash_entry *best)
{
    for (size_t i = 0; i < subtables->n; i++) {
        const struct adp_hash_entry *entry;

        if (subtables->refs[i].max_priority <= priority) {
            break;
        }
        entry = find_in_subtable(subtables->refs[i].subtable, packet);
        if (entry && entry->priority > priority
            && (also_hidden || !entry->hidden)) {
            best = entry;
            priority = entry->priority;
        }
    }
    return best;
}

INLINE const struct adp_hash_entry *
find_plain(const struct adp_hash *hash, const struct packet *packet,
           bool also_hidden)
{
    const struct adp_hash_entry *best;

    best = find_best(&hash->subtables[ADP_HASH_PLAIN], packet,
                     ADP_PRIORITY_NONE, also_hidden, NULL);
    if (OVS_UNLIKELY(packet->flow->conj_id)) {
        best = find_best(&hash->subtables[ADP_HASH_BY_ID], packet,
                         best ? best->priority : ADP_PRIORITY_NONE,
                         also_hidden, best);
    }
    return best;
}

/* The entry with the best rule for a packet that meets conjunction 'id'.
 * 'plain' is what find_plain() found without. */
INLINE const struct adp_hash_entry *
find_by_id(const struct adp_hash *hash, const struct packet *packet,
           uint32_t id, const struct adp_hash_entry *plain)
{
    uint32_t saved_conj_id = packet->flow->conj_id;
    const struct adp_hash_entry *entry;

    packet->flow->conj_id = id;
    if (OVS_LIKELY(!saved_conj_id && !hash->n_no_id && !hash->n_hidden)) {
        /* Among the others 'plain' is still the best. */
        entry = find_best(&hash->subtables[ADP_HASH_BY_ID], packet,
                          plain ? plain->priority : ADP_PRIORITY_NONE,
                          false, plain);
    } else {
        entry = find_plain(hash, packet, false);
    }
    packet->flow->conj_id = saved_conj_id;
    return entry;
}

/* Conjunctions. */

/* The sets that a packet finds for a clause, which are its set together: first
 * those that are dense; lists from the end backward. */
struct clause_sets {
    const struct adp_conj_set **sets;
    const struct adp_conj_set **end;
    uint32_t n_dense;
    uint32_t n_lists;
};

/* What a packet finds among the clauses.  Most of it is in a struct
 * adp_match_scratch. */
struct findings {
    const struct adp_hash *hash;
    const struct packet *packet;
    struct clause_sets *clauses; /* By number of set. */
    uint64_t live_sets;         /* Of spaces where a conjunction may be met. */
};

INLINE void
findings_init(struct findings *f, const struct adp_hash *hash,
              const struct packet *packet, struct adp_match_scratch *scratch)
{
    enum { CLAUSE_WORDS = sizeof *f->clauses / sizeof(uint64_t) };
    size_t n_subtables = hash->subtables[ADP_HASH_CLAUSE].n;
    size_t n_sets = hash->n_sets;
    uint64_t *words = adp_match_scratch_get(scratch,
                                            n_sets * (CLAUSE_WORDS
                                                      + n_subtables));

    f->hash = hash;
    f->packet = packet;
    f->live_sets = hash->live_sets;
    f->clauses = (struct clause_sets *) words;
    words += CLAUSE_WORDS * n_sets;
    for (size_t i = 0; i < n_sets; i++) {
        struct clause_sets *cs = &f->clauses[i];

        cs->sets = (const struct adp_conj_set **) words;
        words += n_subtables;
        cs->end = (const struct adp_conj_set **) words;
        cs->n_dense = cs->n_lists = 0;
    }
}

/* Adds the sets of 'entry'.  Returns the bitmap of their numbers. */
INLINE uint64_t
add_sets(struct findings *f, const struct adp_hash_entry *entry,
         size_t n_words)
{
    const struct adp_conj_set *set = adp_hash_entry_sets(entry, n_words);
    const struct adp_conj_set *end = set + entry->n_sets;
    uint64_t found = 0;

    for (; set < end; set++) {
        struct clause_sets *cs = &f->clauses[set->number];

        if (set->dense) {
            cs->sets[cs->n_dense++] = set;
        } else {
            cs->end[-(ptrdiff_t) ++cs->n_lists] = set;
        }
        found |= adp_hash_set_bit(set->number);
    }
    return found;
}

/* Of all spaces with one of the sets in 'missing' nothing can be met. */
INLINE void
give_up_spaces(struct findings *f, uint64_t missing)
{
    for (size_t i = 0; i < f->hash->n_spaces; i++) {
        if (f->hash->spaces[i].sets & missing) {
            f->live_sets &= ~f->hash->spaces[i].sets;
        }
    }
}

/* Returns false if no conjunction can be met. */
INLINE bool
find_clauses(struct findings *f)
{
    const struct adp_hash_subtables *subtables;
    uint64_t found = 0;

    subtables = &f->hash->subtables[ADP_HASH_CLAUSE];
    for (size_t i = 0; i < subtables->n; i++) {
        const struct adp_hash_ref *ref = &subtables->refs[i];
        const struct adp_hash_entry *entry;

        if (!(ref->sets & f->live_sets)) {
            continue;
        }
        entry = find_in_subtable(ref->subtable, f->packet);
        if (entry) {
            found |= add_sets(f, entry, ref->subtable->n_words);
        }
        if (ref->last_of & f->live_sets & ~found) {
            give_up_spaces(f, ref->last_of & ~found);
            if (!f->live_sets) {
                return false;
            }
        }
    }
    return f->live_sets != 0;
}

/* A conjunction of n clauses takes n different rules.  That matters only if a
 * rule stands for several of them. */
static NOINLINE bool
has_enough_rules(const struct findings *f, const struct adp_conj *conj,
                 uint32_t n_clauses)
{
    const struct adp_hash_subtables *subtables;
    uint32_t n = 0;

    subtables = &f->hash->subtables[ADP_HASH_CLAUSE];
    for (size_t i = 0; i < subtables->n && n < n_clauses; i++) {
        const struct adp_hash_entry *entry;
        struct adp_rule *const *rules;

        entry = find_in_subtable(subtables->refs[i].subtable, f->packet);
        if (!entry) {
            continue;
        }
        rules = adp_hash_entry_rules(entry);
        for (size_t j = 0; (j < entry->n_rules
                            && rules[j]->priority >= conj->priority); j++) {
            n += rules[j]->priority == conj->priority;
        }
    }
    return n >= n_clauses;
}

/* Who wants to know which conjunctions are met: returns the priority that
 * further ones must be above. */
typedef int met_func(const struct adp_conj *, void *aux);

INLINE int
report(const struct findings *f, const struct adp_conj_space *space,
       uint32_t index, int floor, met_func *met, void *aux)
{
    const struct adp_conj *conj = adp_conj_space_get(space, index);

    if (conj->priority > floor
        && (OVS_LIKELY(!conj->n_multi)
            || has_enough_rules(f, conj, space->n_clauses))) {
        floor = met(conj, aux);
    }
    return floor;
}

INLINE bool
clause_has(const struct clause_sets *cs, uint32_t index)
{
    for (size_t i = 0; i < cs->n_dense; i++) {
        if (adp_conj_bits_contain(cs->sets[i]->bits, index)) {
            return true;
        }
    }
    for (size_t i = 1; i <= cs->n_lists; i++) {
        if (adp_conj_list_contains(cs->end[-(ptrdiff_t) i], index)) {
            return true;
        }
    }
    return false;
}

/* Tries each conjunction in the lists of clause 'k'. */
INLINE int
scan_lists(const struct findings *f, const struct adp_conj_space *space,
           const struct clause_sets *clauses, size_t k, int floor,
           met_func *met, void *aux)
{
    for (size_t i = 1; i <= clauses[k].n_lists; i++) {
        const struct adp_conj_set *set = clauses[k].end[-(ptrdiff_t) i];
        const uint32_t *list = adp_conj_set_list(set);

        for (size_t j = 0; j < set->n; j++) {
            bool all = adp_conj_space_block_max(space, list[j]) > floor;

            for (size_t l = 0; all && l < space->n_clauses; l++) {
                all = l == k || clause_has(&clauses[l], list[j]);
            }
            if (all) {
                floor = report(f, space, list[j], floor, met, aux);
                if (space->max <= floor) {
                    return floor;
                }
            }
        }
    }
    return floor;
}

/* Which blocks of page 'p' have bits for all clauses, lists aside. */
INLINE uint64_t
clauses_present(const struct clause_sets *clauses, size_t n, size_t p)
{
    uint64_t all = UINT64_MAX;

    for (size_t k = 0; k < n; k++) {
        uint64_t any = 0;

        for (size_t i = 0; i < clauses[k].n_dense; i++) {
            const struct adp_conj_bits *bits = clauses[k].sets[i]->bits;

            any |= p < bits->n_pages ? bits->pages[p].present : 0;
        }
        all &= any;
    }
    return all;
}

/* Stores the bits that all clauses have in block 'b' of page 'p', lists
 * aside.  If 'simple', each clause has one set that is no list. */
INLINE void
intersect_block(const struct clause_sets *clauses, size_t n, size_t p,
                size_t b, bool simple, uint64_t words[ADP_CONJ_BLOCK_WORDS])
{
    block all = ~(block) { 0 };

    for (size_t k = 0; k < n; k++) {
        block any = { 0 };
        block more;

        for (size_t i = 0; i < (simple ? 1 : clauses[k].n_dense); i++) {
            const struct adp_conj_bits *bits = clauses[k].sets[i]->bits;

            if (simple || (p < bits->n_pages
                           && bits->pages[p].present >> b & 1)) {
                memcpy(&more, adp_conj_bits_block(bits, p, b), sizeof more);
                any |= more;
            }
        }
        all &= any;
    }
    memcpy(words, &all, sizeof all);
}

/* Reports those in a block, given as bits, whose first has index 'first'. */
INLINE int
report_block(const struct findings *f, const struct adp_conj_space *space,
             const uint64_t words[ADP_CONJ_BLOCK_WORDS], uint32_t first,
             int floor, met_func *met, void *aux)
{
    for (size_t i = 0; i < ADP_CONJ_BLOCK_WORDS; i++, first += 64) {
        for (uint64_t w = words[i]; w; w = zero_rightmost_1bit(w)) {
            floor = report(f, space, first + __builtin_ctzll(w), floor, met,
                           aux);
        }
    }
    return floor;
}

/* Intersects page 'p', lists aside, block by block. */
INLINE int
scan_page(const struct findings *f, const struct adp_conj_space *space,
          const struct clause_sets *clauses, size_t p, bool simple, int floor,
          met_func *met, void *aux)
{
    const struct adp_conj_page *page = space->pages[p].page;
    uint64_t todo = clauses_present(clauses, space->n_clauses, p);

    for (; todo; todo = zero_rightmost_1bit(todo)) {
        size_t b = __builtin_ctzll(todo);
        uint64_t words[ADP_CONJ_BLOCK_WORDS];

        if (page->max[b] > floor) {
            intersect_block(clauses, space->n_clauses, p, b, simple, words);
            if (words[0] | words[1] | words[2] | words[3]) {
                floor = report_block(f, space, words,
                                     (p * ADP_CONJ_PAGE_BLOCKS + b)
                                     * ADP_CONJ_BLOCK_BITS, floor, met, aux);
            }
        }
        if (page->later_max[b] <= floor) {
            break;
        }
    }
    return floor;
}

INLINE int
scan_blocks(const struct findings *f, const struct adp_conj_space *space,
            const struct clause_sets *clauses, int floor, met_func *met,
            void *aux)
{
    bool simple = true;

    for (size_t k = 0; k < space->n_clauses; k++) {
        simple &= clauses[k].n_dense == 1;
    }
    for (size_t p = 0; p < space->n_pages && space->max > floor; p++) {
        if (space->pages[p].max > floor) {
            floor = (simple
                     ? scan_page(f, space, clauses, p, true, floor, met, aux)
                     : scan_page(f, space, clauses, p, false, floor, met,
                                 aux));
        }
    }
    return floor;
}

/* Tells 'met' of the conjunctions of a space that are met.
 *
 * If a clause has nothing but lists, those in them are all that there can be.
 * Otherwise what is met is in the list of some clause or in the dense sets of
 * all. */
INLINE int
scan_space(const struct findings *f, const struct adp_conj_space *space,
           const struct clause_sets *clauses, int floor, met_func *met,
           void *aux)
{
    size_t few = 0, few_n = SIZE_MAX;

    for (size_t k = 0; k < space->n_clauses; k++) {
        if (!clauses[k].n_dense) {
            size_t n = 0;

            for (size_t i = 1; i <= clauses[k].n_lists; i++) {
                n += clauses[k].end[-(ptrdiff_t) i]->n;
            }
            if (n < few_n) {
                few = k;
                few_n = n;
            }
        }
    }
    if (few_n != SIZE_MAX) {
        return scan_lists(f, space, clauses, few, floor, met, aux);
    }
    for (size_t k = 0; k < space->n_clauses; k++) {
        floor = scan_lists(f, space, clauses, k, floor, met, aux);
    }
    return scan_blocks(f, space, clauses, floor, met, aux);
}

/* Tells 'met' of conjunctions above 'floor' that are met, in no particular
 * order. */
INLINE void
find_met(const struct findings *f, int floor, met_func *met, void *aux)
{
    for (size_t s = 0; s < f->hash->n_spaces; s++) {
        const struct adp_conj_space *space = f->hash->spaces[s].space;

        if (space->max <= floor
            || !(f->hash->spaces[s].sets & f->live_sets)) {
            continue;
        }
        floor = scan_space(f, space,
                           &f->clauses[f->hash->spaces[s].first_set], floor,
                           met, aux);
    }
}

/* The best conjunction that is met. */

INLINE int
met_best(const struct adp_conj *conj, void *best_)
{
    const struct adp_conj **best = best_;

    *best = conj;
    return conj->priority;
}

/* All of them, by descending priority. */

struct met_all_aux {
    const struct adp_conj **conjs; /* NULL: only counts. */
    size_t n;
    int floor;
};

static int
met_all(const struct adp_conj *conj, void *aux_)
{
    struct met_all_aux *aux = aux_;

    if (aux->conjs) {
        aux->conjs[aux->n] = conj;
    }
    aux->n++;
    return aux->floor;
}

static int
compare_conjs(const void *a_, const void *b_)
{
    const struct adp_conj *a = *(const struct adp_conj *const *) a_;
    const struct adp_conj *b = *(const struct adp_conj *const *) b_;

    return a->priority > b->priority ? -1 : a->priority < b->priority;
}

/* The first of the conjunctions that are met led nowhere: tries all in turn.
 * This is rare: it takes a conjunction without a rule for its conj_id in a
 * table that has no rule for other packets. */
static NOINLINE struct adp_rule *
try_all(const struct findings *f, const struct adp_hash_entry *plain,
        struct adp_match_scratch *scratch)
{
    struct met_all_aux aux = {
        .floor = plain ? plain->priority : ADP_PRIORITY_NONE,
    };
    const struct adp_hash_entry *entry = NULL;

    find_met(f, aux.floor, met_all, &aux);
    aux.conjs = xmalloc(aux.n * sizeof *aux.conjs);
    aux.n = 0;
    find_met(f, aux.floor, met_all, &aux);
    qsort(aux.conjs, aux.n, sizeof *aux.conjs, compare_conjs);
    for (size_t i = 0; !entry && i < aux.n; i++) {
        entry = find_by_id(f->hash, f->packet, aux.conjs[i]->id, plain);
        if (entry) {
            scratch->priority = MIN(entry->priority, aux.conjs[i]->priority);
        }
    }
    free(aux.conjs);
    return entry ? entry->rule : NULL;
}

/* The whole. */

INLINE struct adp_rule *
lookup(const struct adp_match *match, struct flow *flow,
       struct adp_match_scratch *scratch, bool conjs)
{
    const struct adp_hash *hash = adp_hash_cast(match);
    const struct adp_hash_entry *plain;
    struct packet packet;
    int floor;

    packet_init(&packet, flow);
    plain = find_plain(hash, &packet, true);
    floor = plain ? plain->priority : ADP_PRIORITY_NONE;

    if (conjs && hash->max_conj > floor) {
        const struct adp_conj *best = NULL;
        struct findings f;

        findings_init(&f, hash, &packet, scratch);
        if (find_clauses(&f)) {
            find_met(&f, floor, met_best, &best);
        }
        if (best) {
            const struct adp_hash_entry *entry;
            struct adp_rule *rule;

            entry = find_by_id(hash, &packet, best->id, plain);
            if (OVS_LIKELY(entry)) {
                scratch->priority = MIN(entry->priority, best->priority);
                return entry->rule;
            }
            rule = try_all(&f, plain, scratch);
            if (rule) {
                return rule;
            }
            /* With 'plain' out of sight any rule would have been seen. */
            floor = ADP_PRIORITY_NONE;
        }
    }
    scratch->priority = floor;
    return plain ? plain->rule : NULL;
}

struct adp_rule *
adp_hash_lookup(const struct adp_match *match, struct flow *flow,
                struct adp_match_scratch *scratch)
{
    return lookup(match, flow, scratch, false);
}

struct adp_rule *
adp_hash_lookup_conj(const struct adp_match *match, struct flow *flow,
                     struct adp_match_scratch *scratch)
{
    return lookup(match, flow, scratch, true);
}

#if defined __x86_64__ && defined __GNUC__
__attribute__((__target__("avx2,bmi,popcnt")))
#endif
struct adp_rule *
adp_hash_lookup_conj_avx2(const struct adp_match *match, struct flow *flow,
                          struct adp_match_scratch *scratch)
{
    return lookup(match, flow, scratch, true);
}

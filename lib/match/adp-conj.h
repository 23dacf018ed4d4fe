/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONJ_H
#define ADP_CONJ_H 1

/* Conjunctions by number, and sets of them.
 *
 * The conjunctions of a table that have the same number of clauses make up a
 * *space*.  In it each has an index, and a set of conjunctions is a bit vector
 * over indexes: for each match of a rule and each clause that it stands for
 * there is one.  This is the aggregated bit vector scheme (Baboescu and
 * Varghese, "Scalable Packet Classification", SIGCOMM 2001): 256 bits are a
 * block, 64 blocks a page; a summary tells for each page which blocks there
 * are.  Blocks without bits aren't stored, and sets of a few conjunctions are
 * just lists.
 *
 * Indexes aren't in the order of priority, or a new one in the middle would
 * move all that follow.  But all in a block are of one *class*, a range of
 * ADP_CONJ_CLASS_SIZE priorities, and space, page and block each know the
 * highest priority in them, so that who has an answer passes over all that
 * can't be better.  Rules that come all at once fill blocks in the order of
 * priority, and then the first answer is nearly always the last to look for.
 *
 * All of this is changed by copying, see adp-cow.h.
 *
 * Thread-safety: readers need no locks as long as nobody frees what they read;
 * one thread changes.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util.h"

struct adp_cow;

#define ADP_CONJ_BLOCK_BITS 256
#define ADP_CONJ_BLOCK_WORDS (ADP_CONJ_BLOCK_BITS / 64)
#define ADP_CONJ_PAGE_BLOCKS 64

#define ADP_CONJ_CLASS_SIZE 256

/* Parts of an index. */

static inline size_t
adp_conj_page_of(uint32_t index)
{
    return index / (ADP_CONJ_BLOCK_BITS * ADP_CONJ_PAGE_BLOCKS);
}

static inline size_t
adp_conj_block_of(uint32_t index)
{
    return index / ADP_CONJ_BLOCK_BITS % ADP_CONJ_PAGE_BLOCKS;
}

/* Spaces. */

struct adp_conj {
    int priority;
    uint32_t id;                /* conj_id. */
    uint32_t n_refs;            /* Clauses of rules, in the last version: for
                                 * who changes.  0: index not in use. */
    uint32_t n_multi;           /* Rules that stand for several clauses. */
};

struct adp_conj_block {
    size_t n;                   /* In use, or were. */
    struct adp_conj conjs[];
};

struct adp_conj_page {
    int max[ADP_CONJ_PAGE_BLOCKS]; /* Top priorities.  INT_MIN: empty. */
    int later_max[ADP_CONJ_PAGE_BLOCKS]; /* The same of all blocks after. */
    uint16_t class[ADP_CONJ_PAGE_BLOCKS];
    uint16_t n_used[ADP_CONJ_PAGE_BLOCKS];
    struct adp_conj_block *blocks[ADP_CONJ_PAGE_BLOCKS];
};

struct adp_conj_space {
    uint32_t n_clauses;
    uint32_t hint;              /* Block that may have room. */
    int max;                    /* Top priority.  INT_MIN: empty. */
    uint32_t n_pages;
    struct {
        int max;
        struct adp_conj_page *page;
    } pages[];
};

/* The top priority in the block of 'index'. */
static inline int
adp_conj_space_block_max(const struct adp_conj_space *space, uint32_t index)
{
    return space->pages[adp_conj_page_of(index)].page
        ->max[adp_conj_block_of(index)];
}

static inline const struct adp_conj *
adp_conj_space_get(const struct adp_conj_space *space, uint32_t index)
{
    const struct adp_conj_page *page;

    page = space->pages[adp_conj_page_of(index)].page;
    return &page->blocks[adp_conj_block_of(index)]
        ->conjs[index % ADP_CONJ_BLOCK_BITS];
}

struct adp_conj_space *adp_conj_space_create(struct adp_cow *,
                                             uint32_t n_clauses);
/* Frees it.  If 'cow' is not NULL, then as part of a change. */
void adp_conj_space_destroy(struct adp_conj_space *, struct adp_cow *);
/* Returns a free index, which is then to get references. */
uint32_t adp_conj_space_alloc(struct adp_cow *, struct adp_conj_space **,
                              int priority, uint32_t id);
/* The number of references, to be changed where it is, which spares a copy:
 * readers don't look at it.  At 0 the index is to be released. */
uint32_t *adp_conj_space_refs(const struct adp_conj_space *, uint32_t index);
/* To change what readers look at. */
struct adp_conj *adp_conj_space_own(struct adp_cow *,
                                    struct adp_conj_space **, uint32_t index);
void adp_conj_space_release(struct adp_cow *, struct adp_conj_space **,
                            uint32_t index);

/* Sets. */

/* The bits of the blocks that there are, by number of block. */
struct adp_conj_bits {
    size_t n_pages;
    struct {
        uint64_t present;       /* Which blocks. */
        uint64_t *words;        /* ADP_CONJ_BLOCK_WORDS for each. */
    } pages[];
};

/* More than this number becomes a bit vector; at half of it, a list again. */
#define ADP_CONJ_LIST_MAX 16

struct adp_conj_set {
    uint16_t number;            /* The owner's. */
    bool dense;                 /* 'bits' or, otherwise, a list? */
    uint32_t n;                 /* Size. */
    union {
        uint32_t few[2];        /* For a list of up to 2. */
        uint32_t *list;
        struct adp_conj_bits *bits;
    };
};
BUILD_ASSERT_DECL(sizeof(struct adp_conj_set) == 16);

static inline const uint32_t *
adp_conj_set_list(const struct adp_conj_set *set)
{
    return set->n <= ARRAY_SIZE(set->few) ? set->few : set->list;
}

/* The words of a block that is present. */
static inline const uint64_t *
adp_conj_bits_block(const struct adp_conj_bits *bits, size_t page,
                    size_t block)
{
    uint64_t below = (UINT64_C(1) << block) - 1;

    return &bits->pages[page].words[__builtin_popcountll(
               bits->pages[page].present & below) * ADP_CONJ_BLOCK_WORDS];
}

static inline bool
adp_conj_bits_contain(const struct adp_conj_bits *bits, uint32_t index)
{
    size_t page = adp_conj_page_of(index);
    size_t block = adp_conj_block_of(index);
    const uint64_t *words;

    if (page >= bits->n_pages || !(bits->pages[page].present >> block & 1)) {
        return false;
    }
    words = adp_conj_bits_block(bits, page, block);
    return words[index / 64 % ADP_CONJ_BLOCK_WORDS] >> index % 64 & 1;
}

static inline bool
adp_conj_list_contains(const struct adp_conj_set *set, uint32_t index)
{
    const uint32_t *list = adp_conj_set_list(set);
    bool found = false;

    for (size_t i = 0; i < set->n; i++) {
        found |= list[i] == index;
    }
    return found;
}

static inline bool
adp_conj_set_contains(const struct adp_conj_set *set, uint32_t index)
{
    return (set->dense ? adp_conj_bits_contain(set->bits, index)
            : adp_conj_list_contains(set, index));
}

/* These do nothing if it is so already.  The struct itself must be new. */
void adp_conj_set_add(struct adp_cow *, struct adp_conj_set *, uint32_t index);
void adp_conj_set_remove(struct adp_cow *, struct adp_conj_set *,
                         uint32_t index);
void adp_conj_set_destroy(struct adp_conj_set *, struct adp_cow *);

#endif /* adp-conj.h */

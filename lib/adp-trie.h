/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TRIE_H
#define ADP_TRIE_H 1

/* Hash tables that are changed by copying (see adp-cow.h).
 *
 * A table is a trie over the bits of the hash, from the highest down, whose
 * leaves are *buckets* of up to 6 items.  What is above the leaves is one
 * array, the directory, with a bucket for each value of as many bits as the
 * deepest leaf is deep: extendible hashing (Fagin et al., "Extendible
 * Hashing", ACM TODS 1979).  So a look-up takes the same few steps whatever
 * the number of items, and none of them is a branch that depends on the hash.
 *
 * A bucket is one cache line: tags of 8 bits that are all compared at once,
 * and the addresses of the items, with 16 further bits of the hash in the part
 * that addresses of user space leave free.  So other items are rarely touched,
 * and if there is no item for a hash, that usually shows in one line.
 *
 * A bucket that gets full is split in two, one that gets empty is merged with
 * its other half.  The directory is in pages, of which a change copies those
 * that it touches; it is made anew when the number of items has doubled or
 * halved.  Where too many items have a similar hash, buckets are chained.
 *
 * An item is a node of adp-cow.h that starts with its hash, a uint64_t.
 *
 * Thread-safety: readers need no locks as long as nobody frees what they read;
 * one thread changes.
 */

#include <stdint.h>
#include "util.h"

struct adp_cow;

#define ADP_TRIE_BUCKET_ITEMS 6

struct adp_trie_bucket {
    /* From the lowest byte: a tag for each item, 0 if there is none; the depth
     * of the bucket; ADP_TRIE_MORE. */
    uint64_t meta;

    /* With more, the last one is the next bucket of a chain. */
    uint64_t items[ADP_TRIE_BUCKET_ITEMS];
};

#define ADP_TRIE_TAGS UINT64_C(0xffffffffffff)
#define ADP_TRIE_MORE (UINT64_C(1) << 56)

#define ADP_TRIE_PAGE_BITS 7
#define ADP_TRIE_PAGE_SIZE (1 << ADP_TRIE_PAGE_BITS)

struct adp_trie_root {
    size_t n;                   /* Items. */
    uint32_t n_deepest;         /* Buckets of depth 'depth'. */
    uint32_t depth;             /* Bits of a hash to know the bucket. */
    struct adp_trie_bucket **pages[]; /* ADP_TRIE_PAGE_SIZE each, or all. */
};

/* A table.  NULL is an empty one. */
typedef struct adp_trie_root *adp_trie;

static inline void *
adp_trie_ptr(uint64_t item)
{
    return (void *) (uintptr_t) (item & UINT64_C(0xffffffffffff));
}

/* Where the items with 'hash' are.  The table must not be empty. */
static inline const struct adp_trie_bucket *
adp_trie_find_bucket(const struct adp_trie_root *root, uint64_t hash)
{
    size_t i = hash >> 1 >> (63 - root->depth);

    return root->pages[i >> ADP_TRIE_PAGE_BITS][i % ADP_TRIE_PAGE_SIZE];
}

/* Of items with 'hash'. */
static inline uint64_t
adp_trie_tag(uint64_t hash)
{
    return (hash & 0xff) + !(hash & 0xff);
}

/* Returns a bit, the highest in its byte, for each tag that is that of
 * 'hash'. */
static inline uint64_t
adp_trie_match_tags(uint64_t meta, uint64_t hash)
{
    uint64_t ones = UINT64_C(0x010101010101);
    uint64_t x = meta ^ adp_trie_tag(hash) * ones;

    return ~(((x & 0x7f * ones) + 0x7f * ones) | x) & 0x80 * ones;
}

/* Returns the item for the lowest bit in '*matches', and turns that off;
 * NULL if it has another hash. */
static inline void *
adp_trie_take_match(const struct adp_trie_bucket *bucket, uint64_t *matches,
                    uint64_t hash)
{
    uint64_t item = bucket->items[__builtin_ctzll(*matches) / 8];

    *matches = zero_rightmost_1bit(*matches);
    return ((item >> 48) == (hash >> 8 & 0xffff) ? adp_trie_ptr(item) : NULL);
}

static inline const struct adp_trie_bucket *
adp_trie_next_bucket(const struct adp_trie_bucket *bucket)
{
    return (OVS_UNLIKELY(bucket->meta & ADP_TRIE_MORE)
            ? adp_trie_ptr(bucket->items[ADP_TRIE_BUCKET_ITEMS - 1]) : NULL);
}

struct adp_trie_cursor {
    const struct adp_trie_bucket *bucket;
    uint64_t matches;
    uint64_t hash;
};

static inline void
adp_trie_cursor_init(struct adp_trie_cursor *cursor, adp_trie trie,
                     uint64_t hash)
{
    cursor->hash = hash;
    cursor->bucket = trie ? adp_trie_find_bucket(trie, hash) : NULL;
    cursor->matches = (cursor->bucket
                       ? adp_trie_match_tags(cursor->bucket->meta, hash) : 0);
}

static inline void *
adp_trie_cursor_next(struct adp_trie_cursor *cursor)
{
    while (cursor->bucket) {
        while (cursor->matches) {
            void *item = adp_trie_take_match(cursor->bucket, &cursor->matches,
                                             cursor->hash);

            if (item) {
                return item;
            }
        }
        cursor->bucket = adp_trie_next_bucket(cursor->bucket);
        if (cursor->bucket) {
            cursor->matches = adp_trie_match_tags(cursor->bucket->meta,
                                                  cursor->hash);
        }
    }
    return NULL;
}

/* Sets ITEM to each item that may have the hash, in turn.  CURSOR is a struct
 * adp_trie_cursor. */
#define ADP_TRIE_FOR_EACH_CANDIDATE(ITEM, CURSOR, TRIE, HASH)   \
    for (adp_trie_cursor_init(CURSOR, TRIE, HASH);              \
         ((ITEM) = adp_trie_cursor_next(CURSOR)); )

void adp_trie_insert(struct adp_cow *, adp_trie *, void *item);
void adp_trie_remove(struct adp_cow *, adp_trie *, void *item);
/* Puts 'new' in the place of 'old', which has the same hash. */
void adp_trie_replace(struct adp_cow *, adp_trie *, void *old, void *new);

/* Calls 'cb' for each item. */
void adp_trie_for_each(adp_trie, void (*cb)(void *item, void *aux), void *aux);
/* Frees all but the items.  If 'cow' is not NULL, then as part of a change. */
void adp_trie_destroy(adp_trie, struct adp_cow *);

#endif /* adp-trie.h */

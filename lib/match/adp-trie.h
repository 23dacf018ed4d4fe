/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TRIE_H
#define ADP_TRIE_H 1

/* Hash tables that are changed by copying (see adp-cow.h).
 *
 * A table is a trie over the bits of the hash, 6 bits a level.  A *slot* is
 * one word: empty, an item, a bucket of a few items, or a node of 64 slots.
 * It grows and shrinks in place, so there is no moment at which everything is
 * hashed anew: a change copies one node per level, half a kilobyte each, and
 * readers take as many steps as the table has powers of 64.
 *
 * An item is a node of adp-cow.h that starts with its hash, a uint64_t.  The
 * slot has 16 bits of that hash in it, so that other items are rarely touched.
 *
 * This is a hash array mapped trie (Bagwell, "Ideal Hash Trees", 2001) with
 * full nodes: the compressed ones cost readers more than they save.
 *
 * Thread-safety: readers need no locks as long as nobody frees what they read;
 * one thread changes.
 */

#include <stdint.h>
#include "util.h"

struct adp_cow;

/* A table, that is, the slot at its top.  Zero is an empty one. */
typedef uint64_t adp_trie;

#define ADP_TRIE_BITS 6
#define ADP_TRIE_SLOTS (1 << ADP_TRIE_BITS)

/* Slots: what kind, where, and of an item bits of the hash, of a bucket the
 * number of items, or ADP_TRIE_MANY.  Addresses of user space leave the upper
 * 16 bits free. */
#define ADP_TRIE_KIND 3
#define ADP_TRIE_NODE 0
#define ADP_TRIE_ITEM 1
#define ADP_TRIE_BUCKET 2

/* That many items or more are in a bucket, and zeros behind them up to the end
 * of the node.  It takes as many equal hashes, or nearly equal ones. */
#define ADP_TRIE_MANY UINT16_MAX

static inline void *
adp_trie_ptr(uint64_t slot)
{
    return (void *) (uintptr_t) (slot & UINT64_C(0xfffffffffffc));
}

size_t adp_trie_count(const uint64_t *items);

static inline size_t
adp_trie_bucket_size(uint64_t slot)
{
    size_t n = slot >> 48;

    return OVS_LIKELY(n < ADP_TRIE_MANY) ? n
           : adp_trie_count(adp_trie_ptr(slot));
}

/* Goes down to the slot for 'hash' that isn't a node. */
static inline uint64_t
adp_trie_descend(uint64_t slot, uint64_t hash)
{
    while (slot && (slot & ADP_TRIE_KIND) == ADP_TRIE_NODE) {
        const uint64_t *slots = adp_trie_ptr(slot);

        slot = slots[hash % ADP_TRIE_SLOTS];
        hash >>= ADP_TRIE_BITS;
    }
    return slot;
}

/* Sets ITEM to each item that may have the hash, in turn.  SLOT is a variable
 * for the result of adp_trie_descend(). */
#define ADP_TRIE_FOR_EACH_CANDIDATE(ITEM, SLOT, TRIE, HASH)                 \
    SLOT = adp_trie_descend(TRIE, HASH);                                    \
    for (const uint64_t *i__ = ((SLOT & ADP_TRIE_KIND) == ADP_TRIE_BUCKET   \
                                ? adp_trie_ptr(SLOT) : &SLOT),              \
         *end__ = i__ + (i__ != &SLOT ? adp_trie_bucket_size(SLOT)          \
                         : !!SLOT);                                         \
         i__ < end__; i__++)                                                \
        if ((*i__ ^ (HASH)) >> 48 == 0 && ((ITEM) = adp_trie_ptr(*i__)))

void adp_trie_insert(struct adp_cow *, adp_trie *, void *item);
void adp_trie_remove(struct adp_cow *, adp_trie *, void *item);
/* Puts 'new' in the place of 'old', which has the same hash. */
void adp_trie_replace(struct adp_cow *, adp_trie *, void *old, void *new);

/* Calls 'cb' for each item. */
void adp_trie_for_each(adp_trie, void (*cb)(void *item, void *aux), void *aux);
/* Frees all but the items.  If 'cow' is not NULL, then as part of a change. */
void adp_trie_destroy(adp_trie, struct adp_cow *);

#endif /* adp-trie.h */

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-trie.h"
#include "adp-cow.h"

/* Larger buckets become nodes. */
#define MAX_BUCKET 4

/* With no bits left beside those in the slots, buckets grow. */
#define MAX_LEVELS 8

static uint64_t
hash_of(const void *item)
{
    return *(const uint64_t *) item;
}

static uint64_t
make_slot(const void *p, int kind, uint64_t upper)
{
    uint64_t address = (uintptr_t) p;

    ovs_assert(!(address >> 48) && !(address & ADP_TRIE_KIND));
    return address | kind | upper << 48;
}

static uint64_t
item_slot(const void *item)
{
    return make_slot(item, ADP_TRIE_ITEM, hash_of(item) >> 48);
}

static int
slot_kind(uint64_t slot)
{
    return slot & ADP_TRIE_KIND;
}

static uint64_t
bucket_slot(const uint64_t *items, size_t n)
{
    return make_slot(items, ADP_TRIE_BUCKET, MIN(n, ADP_TRIE_MANY));
}

/* The number of items in a bucket that has ADP_TRIE_MANY or more. */
size_t
adp_trie_count(const uint64_t *items)
{
    size_t low = ADP_TRIE_MANY, high = adp_cow_size(items) / sizeof *items;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (items[mid]) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* Makes sure that what '*slot' points to may be changed. */
static uint64_t *
own(struct adp_cow *cow, uint64_t *slot)
{
    uint64_t *p = adp_cow_own(cow, adp_trie_ptr(*slot));

    *slot = make_slot(p, slot_kind(*slot), *slot >> 48);
    return p;
}

static void insert_at(struct adp_cow *, uint64_t *slot, void *item,
                      int level);

/* Turns the items of 'old' into those of a new node at '*slot'. */
static void
split_bucket(struct adp_cow *cow, uint64_t *slot, int level)
{
    uint64_t *items = adp_trie_ptr(*slot);
    size_t n = adp_trie_bucket_size(*slot);

    *slot = make_slot(adp_cow_alloc(cow, ADP_TRIE_SLOTS * sizeof *items),
                      ADP_TRIE_NODE, 0);
    for (size_t i = 0; i < n; i++) {
        insert_at(cow, slot, adp_trie_ptr(items[i]), level);
    }
    adp_cow_discard(cow, items);
}

/* Buckets that no node takes the place of grow by halves, or each item would
 * have all before it copied. */
static void
insert_into_bucket(struct adp_cow *cow, uint64_t *slot, void *item)
{
    size_t n = adp_trie_bucket_size(*slot);
    uint64_t *items = adp_trie_ptr(*slot);

    if ((n + 1) * sizeof *items > adp_cow_size(items)) {
        size_t room = n < MAX_BUCKET ? n + 1 : n + n / 2;

        items = adp_cow_resize(cow, items, room * sizeof *items);
    } else {
        items = adp_cow_own(cow, items);
    }
    items[n] = item_slot(item);
    *slot = bucket_slot(items, n + 1);
}

/* 'level' is that of the node which '*slot' is or might become. */
static void
insert_at(struct adp_cow *cow, uint64_t *slot, void *item, int level)
{
    for (;; level++) {
        if (!*slot) {
            *slot = item_slot(item);
            return;
        } else if (slot_kind(*slot) == ADP_TRIE_ITEM) {
            uint64_t *items = adp_cow_alloc(cow, 2 * sizeof *items);

            items[0] = *slot;
            items[1] = item_slot(item);
            *slot = bucket_slot(items, 2);
            return;
        } else if (slot_kind(*slot) == ADP_TRIE_BUCKET) {
            if (adp_trie_bucket_size(*slot) < MAX_BUCKET
                || level >= MAX_LEVELS) {
                insert_into_bucket(cow, slot, item);
                return;
            }
            split_bucket(cow, slot, level);
        }
        slot = &own(cow, slot)[(hash_of(item) >> level * ADP_TRIE_BITS)
                               % ADP_TRIE_SLOTS];
    }
}

void
adp_trie_insert(struct adp_cow *cow, adp_trie *trie, void *item)
{
    insert_at(cow, trie, item, 0);
}

static void
remove_from_bucket(struct adp_cow *cow, uint64_t *slot, const void *item)
{
    uint64_t *items = own(cow, slot);
    size_t n = adp_trie_bucket_size(*slot);
    size_t i = 0;

    while (adp_trie_ptr(items[i]) != item) {
        i++;
        ovs_assert(i < n);
    }
    items[i] = items[n - 1];
    items[n - 1] = 0;
    if (n > 2) {
        *slot = bucket_slot(items, n - 1);
    } else {
        *slot = items[0];
        adp_cow_discard(cow, items);
    }
}

static bool
node_is_empty(const uint64_t *slots)
{
    for (size_t i = 0; i < ADP_TRIE_SLOTS; i++) {
        if (slots[i]) {
            return false;
        }
    }
    return true;
}

static void
remove_at(struct adp_cow *cow, uint64_t *slot, const void *item, int level)
{
    if (slot_kind(*slot) == ADP_TRIE_ITEM) {
        ovs_assert(adp_trie_ptr(*slot) == item);
        *slot = 0;
    } else if (slot_kind(*slot) == ADP_TRIE_BUCKET) {
        remove_from_bucket(cow, slot, item);
    } else {
        uint64_t *slots = own(cow, slot);
        uint64_t *child = &slots[(hash_of(item) >> level * ADP_TRIE_BITS)
                                 % ADP_TRIE_SLOTS];

        ovs_assert(*child);
        remove_at(cow, child, item, level + 1);
        if (!*child && node_is_empty(slots)) {
            adp_cow_discard(cow, slots);
            *slot = 0;
        }
    }
}

void
adp_trie_remove(struct adp_cow *cow, adp_trie *trie, void *item)
{
    remove_at(cow, trie, item, 0);
}

void
adp_trie_replace(struct adp_cow *cow, adp_trie *trie, void *old, void *new)
{
    uint64_t hash = hash_of(new);
    uint64_t *slot = trie;

    if (old == new) {
        return;
    }
    while (*slot && slot_kind(*slot) == ADP_TRIE_NODE) {
        slot = &own(cow, slot)[hash % ADP_TRIE_SLOTS];
        hash >>= ADP_TRIE_BITS;
    }
    if (slot_kind(*slot) == ADP_TRIE_BUCKET) {
        size_t n = adp_trie_bucket_size(*slot);
        uint64_t *items = own(cow, slot);
        size_t i = 0;

        while (adp_trie_ptr(items[i]) != old) {
            i++;
            ovs_assert(i < n);
        }
        items[i] = item_slot(new);
    } else {
        ovs_assert(adp_trie_ptr(*slot) == old);
        *slot = item_slot(new);
    }
}

void
adp_trie_for_each(adp_trie slot, void (*cb)(void *item, void *aux), void *aux)
{
    const uint64_t *slots = adp_trie_ptr(slot);
    size_t n;

    if (!slot) {
        return;
    }
    if (slot_kind(slot) == ADP_TRIE_ITEM) {
        cb(adp_trie_ptr(slot), aux);
        return;
    }
    n = (slot_kind(slot) == ADP_TRIE_BUCKET ? adp_trie_bucket_size(slot)
         : ADP_TRIE_SLOTS);
    for (size_t i = 0; i < n; i++) {
        adp_trie_for_each(slots[i], cb, aux);
    }
}

void
adp_trie_destroy(adp_trie slot, struct adp_cow *cow)
{
    uint64_t *slots = adp_trie_ptr(slot);

    if (!slot || slot_kind(slot) == ADP_TRIE_ITEM) {
        return;
    }
    if (slot_kind(slot) == ADP_TRIE_NODE) {
        for (size_t i = 0; i < ADP_TRIE_SLOTS; i++) {
            adp_trie_destroy(slots[i], cow);
        }
    }
    adp_cow_release(cow, slots);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of cmap.c, see cmap-ahead.h. */

#include "cmap-ahead.h"

#include <sys/mman.h>

/* As cmap_impl_create(), in large pages where that goes. */
static struct cmap_impl *
cmap_impl_create_large(uint32_t mask)
{
    size_t size = sizeof(struct cmap_impl)
                  + mask * sizeof(struct cmap_bucket);
    struct cmap_impl *impl = xmalloc_cacheline(size);
    uintptr_t begin = ROUND_UP((uintptr_t) impl, get_page_size());
    uintptr_t end = ROUND_DOWN((uintptr_t) impl + size, get_page_size());

    if (begin < end) {
        madvise((void *) begin, end - begin, MADV_HUGEPAGE);
    }
    memset(impl, 0, size);
    impl->max_n = calc_max_n(mask);
    impl->min_n = 0;
    impl->mask = mask;
    impl->basis = random_uint32();
    return impl;
}

struct cmap_impl *
cmap_room_create(const struct cmap *cmap, size_t n)
{
    const struct cmap_impl *impl = cmap_get_impl(cmap);
    uint32_t mask = impl->mask;

    while (calc_max_n(mask) <= n && mask < UINT32_MAX >> 1) {
        mask = mask << 1 | 1;
    }
    if (mask == impl->mask) {
        return NULL;
    }

    /* Nobody is to wait for this thread while it clears so much memory. */
    ovsrcu_quiesce_start();
    struct cmap_impl *room = cmap_impl_create_large(mask);
    ovsrcu_quiesce_end();
    return room;
}

void
cmap_room_destroy(struct cmap_impl *room)
{
    free_cacheline(room);
}

void
cmap_room_clear(struct cmap_impl *room)
{
    ovsrcu_quiesce_start();
    memset(room->buckets, 0, (room->mask + 1) * sizeof *room->buckets);
    ovsrcu_quiesce_end();
    room->basis = random_uint32();
}

/* The slot of 'room' with the nodes of 'hash', or NULL. */
static struct cmap_node *
cmap_room_find(struct cmap_impl *room, uint32_t hash, uint32_t h)
{
    struct cmap_bucket *b = &room->buckets[h & room->mask];
    int slot = cmap_find_slot_protected(b, hash);

    return slot < 0 ? NULL : &b->nodes[slot];
}

/* All nodes with one hash hang together, in the same chain whichever table one
 * comes from: what differs is who points to the first. */
bool
cmap_room_follow(const struct cmap *cmap, struct cmap_impl *room,
                 uint32_t hash)
{
    struct cmap_node *first = cmap_find_protected(cmap, hash);
    uint32_t h = rehash(room, hash);
    struct cmap_node *slot = cmap_room_find(room, hash, h);

    if (!slot) {
        slot = cmap_room_find(room, hash, other_hash(h));
    }
    if (slot) {
        ovsrcu_set(&slot->next, first);
        return true;
    }
    return !first || cmap_try_insert(room, first, hash);
}

void
cmap_room_take(struct cmap *cmap, struct cmap_impl *room)
{
    struct cmap_impl *old = cmap_get_impl(cmap);

    if (room->mask <= old->mask) {
        cmap_room_destroy(room);        /* It has grown by itself. */
        return;
    }
    room->n = old->n;
    ovsrcu_set(&cmap->impl, room);
    if (old != &empty_cmap) {
        ovsrcu_postpone(free_cacheline, old);
    }
}

bool
cmap_has_room(const struct cmap *cmap, size_t n)
{
    return calc_max_n(cmap_get_impl(cmap)->mask) > n;
}

/* In each caller itself: GCC leaves a call out that does nothing but prefetch,
 * as it takes it for one without an effect (tests/static/prefetch.test). */
static inline __attribute__((always_inline)) void
prefetch_buckets(const struct cmap_impl *impl, uint32_t hash)
{
    uint32_t h1 = rehash(impl, hash);

    OVS_PREFETCH(&impl->buckets[h1 & impl->mask]);
    OVS_PREFETCH(&impl->buckets[other_hash(h1) & impl->mask]);
}

void
cmap_room_prefetch(const struct cmap_impl *impl, uint32_t hash)
{
    prefetch_buckets(impl, hash);
}

void
cmap_prefetch(const struct cmap *cmap, uint32_t hash)
{
    prefetch_buckets(cmap_get_impl(cmap), hash);
}

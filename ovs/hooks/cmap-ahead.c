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
    return mask != impl->mask ? cmap_impl_create_large(mask) : NULL;
}

/* As cmap_rehash(). */
void
cmap_move(struct cmap *cmap, struct cmap_impl *new)
{
    struct cmap_impl *old = cmap_get_impl(cmap);

    if (!new) {
        return;
    }
    if (new->mask <= old->mask) {
        free_cacheline(new);            /* It has grown by itself. */
        return;
    }
    while (!cmap_try_rehash(old, new)) {
        memset(new->buckets, 0, (new->mask + 1) * sizeof *new->buckets);
        new->basis = random_uint32();
    }
    new->n = old->n;
    ovsrcu_set(&cmap->impl, new);
    if (old != &empty_cmap) {
        ovsrcu_postpone(free_cacheline, old);
    }
}

bool
cmap_has_room(const struct cmap *cmap, size_t n)
{
    return calc_max_n(cmap_get_impl(cmap)->mask) > n;
}

void
cmap_prefetch(const struct cmap *cmap, uint32_t hash)
{
    const struct cmap_impl *impl = cmap_get_impl(cmap);
    uint32_t h1 = rehash(impl, hash);

    OVS_PREFETCH(&impl->buckets[h1 & impl->mask]);
    OVS_PREFETCH(&impl->buckets[other_hash(h1) & impl->mask]);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of cmap.c, see cmap-ahead.h. */

#include "cmap-ahead.h"

#include <sys/mman.h>

/* Has the memory of 'impl' backed by pages, large ones where that goes. */
static void
cmap_impl_touch(struct cmap_impl *impl)
{
    char *begin = (char *) impl;
    char *end = (char *) &impl->buckets[impl->mask + 1];
    size_t page_size = get_page_size();

    begin += page_size - ((uintptr_t) begin & (page_size - 1));
    if (begin >= end) {
        return;
    }
    madvise(begin, end - begin, MADV_HUGEPAGE);
    for (; begin < end; begin += page_size) {
        volatile char *p = begin;

        *p = *p;
    }
}

void
cmap_reserve(struct cmap *cmap, size_t n)
{
    struct cmap_impl *impl = cmap_get_impl(cmap);
    uint32_t mask = impl->mask;

    while (calc_max_n(mask) <= n && mask < UINT32_MAX >> 1) {
        mask = mask << 1 | 1;
    }
    if (mask != impl->mask) {
        impl = cmap_rehash(cmap, mask);
        cmap_impl_touch(impl);
    }
    if (impl != &empty_cmap && calc_min_n(impl->mask) <= n) {
        impl->min_n = 0;
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

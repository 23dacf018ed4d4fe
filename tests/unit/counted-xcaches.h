/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_COUNTED_XCACHES_H
#define TESTS_COUNTED_XCACHES_H 1

/* Upstream's translation caches, counted, and what they hold: instead of
 * ofproto-dpif-xlate-cache.c. */

#include "ofproto/ofproto-dpif-xlate-cache.h"
#include "util.h"

static int n_xcaches;           /* That there are, */
static int n_xc_entries;        /* and in all of them. */

struct xlate_cache *
xlate_cache_new(void)
{
    struct xlate_cache *xcache = xmalloc(sizeof *xcache);

    ofpbuf_init(&xcache->entries, 0);
    n_xcaches++;
    return xcache;
}

struct xc_entry *
xlate_cache_add_entry(struct xlate_cache *xcache, enum xc_type type)
{
    struct xc_entry *entry = ofpbuf_put_zeros(&xcache->entries,
                                              sizeof *entry);

    entry->type = type;
    n_xc_entries++;
    return entry;
}

void
xlate_cache_delete(struct xlate_cache *xcache)
{
    if (xcache) {
        n_xc_entries -= xcache->entries.size / sizeof(struct xc_entry);
        ofpbuf_uninit(&xcache->entries);
        free(xcache);
        n_xcaches--;
    }
}

#endif /* counted-xcaches.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CMAP_AHEAD_H
#define CMAP_AHEAD_H 1

/* Getting a cmap ready for what is to come.
 *
 * A cmap that grows moves all of its nodes, in the thread that inserts: with a
 * million of them this takes a tenth of a second. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmap;

/* Makes room for 'n' nodes.  As cmap_insert(), for one writer at a time;
 * readers don't notice. */
void cmap_reserve(struct cmap *, size_t n);

/* True if there is room for 'n' nodes in all.  The room of cmap_reserve()
 * stays when nodes are removed, unless the cmap has grown beyond it. */
bool cmap_has_room(const struct cmap *, size_t n);

/* Fetches what cmap_find() and cmap_insert() will look at.  Any thread. */
void cmap_prefetch(const struct cmap *, uint32_t hash);

#endif /* cmap-ahead.h */

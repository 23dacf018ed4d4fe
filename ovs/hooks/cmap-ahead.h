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
struct cmap_impl;

/* Room for 'n' nodes in all, which cmap_move() moves the nodes of 'cmap' into,
 * so that it needn't grow until then.  NULL if 'cmap' has it.  Takes the
 * memory, and so its time; other threads may change 'cmap' meanwhile. */
struct cmap_impl *cmap_room_create(const struct cmap *cmap, size_t n);

/* Moves all nodes of 'cmap' into 'room', which may be NULL, and takes that over.  As
 * cmap_insert(), for one writer at a time; readers don't notice.  Costs some 50 ns
 * for each node that there is. */
void cmap_move(struct cmap *cmap, struct cmap_impl *room);

/* True if there is room for 'n' nodes in all.  Room that nodes were moved into
 * stays when nodes are removed, unless the cmap has grown beyond it. */
bool cmap_has_room(const struct cmap *, size_t n);

/* Fetches what cmap_find() and cmap_insert() will look at.  Any thread. */
void cmap_prefetch(const struct cmap *, uint32_t hash);

#endif /* cmap-ahead.h */

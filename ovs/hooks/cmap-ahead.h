/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CMAP_AHEAD_H
#define CMAP_AHEAD_H 1

/* Getting a cmap ready for what is to come.
 *
 * A cmap that grows moves all of its nodes, in the thread that inserts: with a
 * million of them this takes a tenth of a second.  Here it grows in steps:
 * there is room beside it, which is told of one hash after the other, in any
 * order, what nodes have it, and of each hash whose nodes change meanwhile.
 * When it knows all of them it takes the place of what there was, at once.
 * Readers notice nothing. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmap;
struct cmap_impl;

/* Empty room for 'n' nodes in all, so that 'cmap' needn't grow until then.
 * NULL if it has it.  Takes the memory, and so its time; other threads may
 * change 'cmap' meanwhile, and the calling one is quiescent.  For
 * cmap_room_take() or cmap_room_destroy(). */
struct cmap_impl *cmap_room_create(const struct cmap *cmap, size_t n);
void cmap_room_destroy(struct cmap_impl *room);

/* Has 'room' know the nodes of 'cmap' with 'hash', or that there are none (any
 * more).  Returns false if it finds no place for them, and is of no use then
 * until it is cleared, which has it find others, and takes as long as to
 * create it.  As cmap_insert(), for one writer at a time. */
bool cmap_room_follow(const struct cmap *cmap, struct cmap_impl *room,
                      uint32_t hash);
void cmap_room_clear(struct cmap_impl *room);

/* Has 'cmap' live in 'room' from now on, which knows all of its nodes, and
 * takes it over.  As cmap_insert(), for one writer at a time.  Costs the same
 * however many nodes there are. */
void cmap_room_take(struct cmap *cmap, struct cmap_impl *room);

/* True if there is room for 'n' nodes in all.  Room that was taken stays when
 * nodes are removed, unless the cmap has grown beyond it. */
bool cmap_has_room(const struct cmap *, size_t n);

/* Fetches what cmap_find() and cmap_insert() will look at.  Any thread. */
void cmap_prefetch(const struct cmap *, uint32_t hash);

/* The same for cmap_room_follow(). */
void cmap_room_prefetch(const struct cmap_impl *room, uint32_t hash);

#endif /* cmap-ahead.h */

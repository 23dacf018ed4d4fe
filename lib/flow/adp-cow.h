/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_COW_H
#define ADP_COW_H 1

/* Memory of structures that are changed by copying what changes.
 *
 * A version of such a structure is a tree of nodes that readers never see
 * change.  The next version is made in one *change*, a struct adp_cow: a node
 * on the way to something new is copied, all others are shared.  Each node has
 * the stamp of the change that made it, so a node is copied at most once per
 * change, however often the change comes back to it.
 *
 * What the new version doesn't share is collected in the change's garbage, to
 * be freed when nobody reads the version before it or any older one.  So
 * nodes need no reference counts, but versions form a line: each is changed
 * into one next version at most.
 *
 * The alternative is two full copies that take turns, with each change made to
 * both.  It needs twice the memory and a way to wait for readers of the idle
 * copy before the next change; here nobody waits, and a reader may keep an
 * old version for as long as it likes.
 *
 * Thread-safety: a change belongs to one thread.  adp_cow_free() and
 * adp_garbage_free() may be called from any.
 */

#include <stddef.h>
#include <stdint.h>

/* Of nodes of up to so many times 8 bytes that were freed, so many of each
 * size are kept for those who allocate next, which all changes share. */
#define ADP_COW_SPARE_UNITS 128
#define ADP_COW_MAX_SPARES 64

/* What to free later, in this order. */
struct adp_garbage {
    struct adp_garbage_item *items;
    size_t n, allocated;
};

/* In RCU's thread with quiescent states (adp-rcu.h). */
void adp_garbage_free(struct adp_garbage *);

struct adp_cow {
    uint64_t stamp;             /* Of all nodes that are new. */
    int64_t n_bytes;            /* By which the new version is larger. */
    struct adp_garbage garbage;
};

void adp_cow_begin(struct adp_cow *);
/* Ends the change.  The garbage is the caller's. */
struct adp_garbage adp_cow_end(struct adp_cow *);

/* A new node, all zeros. */
void *adp_cow_alloc(struct adp_cow *, size_t size);

/* Returns 'node', if it is new, or a copy of it, while 'node' itself becomes
 * garbage. */
void *adp_cow_own(struct adp_cow *, void *node);

/* The same for a node of another size.  Bytes beyond the old size are
 * zero. */
void *adp_cow_resize(struct adp_cow *, void *node, size_t size);

/* The new version doesn't have 'node' any more.  NULL is fine. */
void adp_cow_discard(struct adp_cow *, void *node);

/* Calls free_cb(p) when the garbage is freed. */
void adp_cow_postpone(struct adp_cow *, void (*free_cb)(void *p), void *p);

/* Bytes of a node as it was asked for. */
size_t adp_cow_size(const void *node);

/* Frees a node of a version that nobody reads, and that has no next one. */
void adp_cow_free(void *node);

/* For structures that go in either way: adp_cow_discard() in a change,
 * adp_cow_free() without (NULL). */
void adp_cow_release(struct adp_cow *, void *node);

#endif /* adp-cow.h */

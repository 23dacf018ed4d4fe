/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_POOL_H
#define CONNTRACK_POOL_H 1

/* Memory for connections.
 *
 * malloc() in a thread other than the first grows its heap page by page, with
 * a system call and a page fault each, which costs more than the rest of a new
 * connection.  Here connections start at cache lines in memory that has been
 * touched before a packet needs it, in large pages where the kernel has them.
 * When the prepared memory has run out, more is taken in smaller pages.  What
 * the pool has taken from the system it keeps: as much as all connections ever
 * took at once.
 *
 * The memory keeps its type.  At each moment a slot of the pool holds a
 * connection or waits for one; it is never unmapped, and its version (see
 * conntrack-track.h) only moves on.  So whoever kept a pointer to a connection
 * may ask, without holding anything, whether it is still the one he meant.
 *
 * malloc() takes over when the system has no more memory, or no address
 * space (64 GiB are reserved), and before the pool runs; the coverage counter
 * conntrack_pool_short tells for how many connections.
 *
 * Thread-safety: any thread may get and put, also what another thread got.
 * Threads keep a few free connections to themselves.  Destructors of
 * ovsthread_key_t must neither get nor put; those of pthread_key_t may. */

#include <stdbool.h>
#include <stddef.h>
#include "util.h"

struct conntrack;

/* Room for a connection of any protocol. */
#define CONNTRACK_POOL_SLOT (5 * CACHE_LINE_SIZE)

/* As xmalloc() and xzalloc().  What they return is for conntrack_pool_put(),
 * then free(). */
void *conntrack_pool_alloc(size_t);
void *conntrack_pool_zalloc(size_t);

/* Takes back 'p', which may be NULL.  Returns false if 'p' is none of the
 * pool's: free() it. */
bool conntrack_pool_put(void *p);

/* Frees 'p', the pool's or not. */
void conntrack_pool_free(void *p);

/* True if 'p' is the pool's, whatever has become of the connection. */
bool conntrack_pool_owns(const void *p);

/* Bytes that belong to 'p', which the above or malloc() returned. */
size_t conntrack_pool_size(const void *p);

/* Bytes that the pool has taken from the system, for all connections. */
size_t conntrack_pool_bytes(void);

/* Has a thread of 'ct' prepare its table (conntrack-table.h), starts its limit
 * of half-open connections, and sees to it that another thread keeps memory
 * ready for connections, 8 MiB more than they take.  For the main loop of one
 * thread.  Without it there is no pool. */
void conntrack_pool_run(struct conntrack *ct);

#endif /* conntrack-pool.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_SHARED_H
#define CONNTRACK_SHARED_H 1

/* The type of a member of a connection that is read, and maybe changed,
 * without the connection's lock, and that upstream assigns to as to a plain
 * one.
 *
 * To an atomic one such an assignment is a locked exchange, which waits until
 * all that was written to the new connection before has arrived in the cache:
 * ten of these made a new connection a third dearer.  So the types are plain,
 * aligned ones, which our atomic reads and writes take as well, and which are
 * written as a whole anyway; but for ThreadSanitizer, which would see
 * upstream's writes as races. */

#include "ovs-atomic.h"

#ifdef __SANITIZE_THREAD__
#define CONNTRACK_SHARED(TYPE) ATOMIC(TYPE)
#else
#define CONNTRACK_SHARED(TYPE) TYPE
#endif

#endif /* conntrack-shared.h */

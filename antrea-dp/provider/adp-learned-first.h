/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LEARNED_FIRST_H
#define ADP_LEARNED_FIRST_H 1

/* Requests of OpenFlow's wait for the flows that were learned before them.
 *
 * What packets teach is in force at once, but comes into OpenFlow's tables in
 * slices (adp-install.h).  A request that adds, changes, deletes or tells
 * flows is about what was learned before it came, too: flows of a table that
 * is emptied must not come back, nor take the place of one that is added.  So
 * while such flows wait it is put aside, and the connection's further
 * messages, a barrier request among them, stay in its socket.  What is learned
 * meanwhile it doesn't wait for.  Others are served.  Requests about a table
 * for which none waits go on at once.
 *
 * Memory: one message for each OpenFlow connection.
 *
 * Thread-safety: the main thread. */

#include <stdbool.h>

struct adp_bridge;
struct ofpbuf;
struct rconn;

/* Whose requests are handled next; NULL: none of a bridge of ours. */
void adp_learned_first_serve(const struct adp_bridge *);

/* True if the connection waits. */
bool adp_learned_first_holds(const struct rconn *);
/* The next message of a connection that doesn't, or NULL: what was put aside,
 * or what 'receive' tells, unless that has to wait. */
struct ofpbuf *adp_learned_first_recv(
    struct rconn *, struct ofpbuf *(*receive)(struct rconn *));
/* Has poll_block() wake up for what was put aside and may go on. */
void adp_learned_first_wait(const struct rconn *);

#endif /* adp-learned-first.h */

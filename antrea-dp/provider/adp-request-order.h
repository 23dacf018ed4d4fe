/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_REQUEST_ORDER_H
#define ADP_REQUEST_ORDER_H 1

/* Requests of OpenFlow's wait for what packets did before them.
 *
 * What packets teach is in force at once, but comes into OpenFlow's tables in
 * slices (adp-install.h).  A request that adds, changes, deletes or tells
 * flows is about what was learned before it came, too: flows of a table that
 * is emptied must not come back, nor take the place of one that is added.
 * What packets are counted by comes into OpenFlow's counters in slices, too
 * (adp-push-stats.h), and a request that tells counters is about every packet
 * before it.
 *
 * So it is put aside while that is under way, and the connection's further
 * messages, a barrier request among them, stay in its socket: whoever reads
 * them would meet the connection's end, with which upstream forgets what is
 * left.  What is learned and counted meanwhile it doesn't wait for.  Others
 * are served.  Requests about a table for which no flow waits go on at once.
 *
 * Memory: one message for each OpenFlow connection.
 *
 * Thread-safety: the main thread. */

#include <stdbool.h>

struct adp_bridge;
struct ofpbuf;
struct rconn;

/* Whose requests are handled next; NULL: none of a bridge of ours. */
void adp_request_order_serve(const struct adp_bridge *);

/* True if the connection waits. */
bool adp_request_order_holds(const struct rconn *);
/* The next message of a connection that doesn't, or NULL: what was put aside,
 * or what 'receive' tells, unless that has to wait. */
struct ofpbuf *adp_request_order_recv(
    struct rconn *, struct ofpbuf *(*receive)(struct rconn *));
/* Has poll_block() wake up for what was put aside and may go on. */
void adp_request_order_wait(const struct rconn *);

#endif /* adp-request-order.h */

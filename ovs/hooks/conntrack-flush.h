/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_FLUSH_H
#define CONNTRACK_FLUSH_H 1

/* Flushing connections while others work.
 *
 * Upstream's conntrack_flush() takes all connections out of the table before
 * it returns, some 0.6 us each, and who calls it is the main thread, for a
 * command or a request of OpenFlow's: at 3 million connections two seconds in
 * which nobody else is served.  Here a thread ("ct_flush") does it, in small
 * batches under the table's lock, and says when it is done: then all
 * connections that were there when the flush began, and that it is about, have
 * left.  Those that come meanwhile may stay.
 *
 * The thread walks the lists by which connections expire.  Between two steps
 * it lets grace periods end, and keeps its place by a connection that it has
 * claimed but not yet taken out.  Only connections that the flush is about can
 * be claimed, so a grace period may have to wait for as long as a look at a
 * hundredth of all connections takes.
 *
 * Flushes of one connection tracker are done one after the other, in the order
 * in which they began.  Its thread comes with the first one and goes with the
 * tracker, and then all flushes are done.
 *
 * Memory: some 200 bytes for each flush that isn't done.
 *
 * Thread-safety: any thread, but nobody may begin a flush while the tracker is
 * destroyed. */

#include <stdbool.h>
#include <stdint.h>

struct conntrack;
struct conntrack_flush;
struct ct_dpif_tuple;
struct ofp_ct_match;
struct seq;

/* Begins to flush connections of 'ct': those of '*zone' only, and only those
 * that fit 'match', where these aren't NULL.  A connection fits if
 * ct_dpif_flush() would say so of a match that isn't a whole tuple.  The
 * caller owns what it gets. */
struct conntrack_flush *conntrack_flush_begin(struct conntrack *ct,
                                              const uint16_t *zone,
                                              const struct ofp_ct_match *);
bool conntrack_flush_is_done(const struct conntrack_flush *);

/* Lets go of it, done or not. */
void conntrack_flush_unref(struct conntrack_flush *);

/* Changes when a flush is done. */
struct seq *conntrack_flush_seq(void);

/* Upstream calls it when it looks for the connection of a whole tuple, of ICMP
 * or ICMPv6.  Returns the type in reply direction.  Of one that has none,
 * where upstream would abort, that is the same type, which no connection has
 * in both directions. */
uint8_t conntrack_flush_reply_type(const struct ct_dpif_tuple *);

#endif /* conntrack-flush.h */

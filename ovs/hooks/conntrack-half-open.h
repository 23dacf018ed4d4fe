/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_HALF_OPEN_H
#define CONNTRACK_HALF_OPEN_H 1

/* Limits of their own for connections that nobody has answered.
 *
 * Anybody who may send a packet makes a connection, some 750 bytes with its
 * NAT twin, that conntrack keeps for 30 seconds or a minute.  At 200,000 of
 * them a second that is 4.5 GB, or, at conntrack's limit, a table that takes
 * no connection of anybody any more.  So there may be only so many of them;
 * when there are more, the oldest leave, as if they had expired.
 *
 * There are two lists, with a limit each.  One is of half-open TCP
 * connections: a TCP connection is half-open until the end that began it has
 * answered the other: with a third packet that fits what the other end sent.
 * A SYN with a forged source gets as far as the SYN-ACK of a server that
 * listens, or the RST of one that doesn't, so these are no sign of life.
 * Connections that are picked up in the middle begin half-open, too.
 *
 * The other is of all other protocols' connections that saw no packet in
 * reply direction, or, of SCTP, no handshake to its end.  UDP that nobody
 * answers is what many honest senders send, and one whose connection has left
 * begins anew with its next packet; so this one has no limit but its share
 * unless one is set.
 *
 * Who is answered never leaves for others.  What answered connections leave
 * below conntrack's limit (dpctl/ct-set-maxconns) is the room of all others:
 * half-open ones have a quarter of it at the most, unanswered ones half, so
 * that there is always a place for a new one.  (A table for fewer than
 * CONNTRACK_SHARE_MIN is not shared out.)
 *
 * Neither does one sender's flood push out others' connections before they can
 * be answered: a source address that has no more than a quarter of what those
 * that have any have on average is spared.  Addresses are told apart by two
 * hashes (conntrack-sources.h).  As the port guards see to it that a Pod has
 * its own addresses only, a Pod can't be many.
 *
 * Who creates a connection enters it into a list, in the order of age, under
 * ct_lock, and does no more.  A thread ("ct_evict") does the rest, every
 * millisecond while there are too many, in small batches under the lock.  So
 * for a moment there may be more than the limit, by what came in meanwhile.
 * Each side counts for itself, who came and who left, so that a new connection
 * needs no cache line of the other.  A connection that is answered leaves its
 * list by one exchange in its memory, which makes its entry in the list void;
 * the thread sweeps such entries out.
 *
 * Who finds no tuple that NAT could give him, of the hundreds that were looked
 * at, displaces one that nobody has answered, of a sender that has no fewer of
 * these than himself: a flood leaves ports for others.
 *
 * The thread also prepares the table for as many connections as there may be
 * (conntrack-table.h).
 *
 * Memory: 24 bytes for each entry, at most four times as many as the limit.
 * When the thread lags so far behind that the list is full, new connections
 * stay out of it and are counted: conntrack's limit is what bounds them.
 *
 * Thread-safety: any thread. */

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct conn_key;
struct conntrack;

#define CONNTRACK_MAX_HALF_OPEN 65536   /* Default limit. */
#define CONNTRACK_HALF_OPEN_UNLIMITED 0
#define CONNTRACK_MAX_UNANSWERED UINT32_MAX     /* The same. */
#define CONNTRACK_SHARE_MIN 1024

/* From now on connections of 'ct' that begin are watched, unless they were
 * already. */
void conntrack_half_open_start(struct conntrack *ct);

/* Has the thread look for work soon if there are more than the limit permits:
 * who lowers that doesn't wait for the next connection.  Often, in the main
 * loop. */
void conntrack_half_open_run(struct conntrack *ct);

/* Has the thread look for work soon. */
void conntrack_half_open_wake(struct conntrack *ct);

/* A connection that nobody has answered, to be displaced by another one that
 * is to have its tuple.  'tag' is 0: there is none. */
struct conntrack_displaced {
    struct conn *conn;
    uint32_t tag;
    uint32_t hash, un_nat_hash; /* Of its key and its un-NAT twin's. */
};

/* Initializes '*d' as the connection that has 'key' by NAT, if nobody has
 * answered it.  Returns how many such ones its source has, or 0: none is
 * displaced. */
uint32_t conntrack_find_displaced(struct conntrack *ct,
                                  const struct conn_key *key,
                                  long long int now,
                                  struct conntrack_displaced *d);
/* How many connections that nobody has answered those have whose source is
 * that of 'conn', which needn't be in the table. */
uint32_t conntrack_unanswered_of_source(const struct conntrack *ct,
                                        const struct conn *conn);
/* Has it leave, as if there were too many.  Returns false if it had been
 * answered, or has left already.  Within the grace period in which it was
 * found, and without the table's lock. */
bool conntrack_displace(struct conntrack *ct,
                        const struct conntrack_displaced *d,
                        long long int now);

/* Upstream calls it when it destroys 'ct': when its own thread, which takes
 * out what has expired, has ended, and before all others leave. */
void conntrack_half_open_stop(struct conntrack *ct);

/* Set the limits of all connection trackers, present and future. */
void conntrack_half_open_set_limit(uint32_t limit);
void conntrack_unanswered_set_limit(uint32_t limit);

struct conntrack_half_open_stats {
    uint32_t limit;             /* As it is now. */
    uint32_t n;                 /* Now. */
    uint64_t evicted;           /* Left because there were too many. */
    uint64_t unwatched;         /* Began while the list was full. */
};
void conntrack_half_open_get_stats(const struct conntrack *ct,
                                   struct conntrack_half_open_stats *);
void conntrack_unanswered_get_stats(const struct conntrack *ct,
                                    struct conntrack_half_open_stats *);

/* Upstream calls it, with the lock of 'conn' held, when it has tracked a
 * packet of 'conn'. */
void conntrack_note_tracked(struct conntrack *ct, struct conn *conn);

#endif /* conntrack-half-open.h */

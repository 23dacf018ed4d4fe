/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_TRACK_H
#define CONNTRACK_TRACK_H 1

/* Tracking packets of connections that the caller has met before.
 *
 * A caller that found a connection may keep a struct conntrack_ref to it, for
 * as long as it likes, and later pass a packet through the connection without
 * a look-up.  The reference holds nothing: conntrack_ref_is_valid() says
 * whether the connection is still in conntrack's table, with the label that it
 * had.  It does so by the connection's version, which lies in the line that
 * tracking reads anyway.  It moves on when the connection leaves the table,
 * before it is handed to RCU, when it is made to expire at once, when mark or
 * label changes, and when another connection hides it, and stays where it is,
 * in memory of the pool (conntrack-pool.h), while the slot waits for its next
 * connection.  (After 4 billion changes of one slot an old reference would be
 * believed again.)  Connections outside of the pool can't be referred to.
 *
 * The pool has the versions once more, close together.  A UDP connection that
 * both sides have sent on stays what it is, but for its expiration, until its
 * version moves on.  So who has tracked a packet of it need not look at the
 * connection for others that come within CONNTRACK_SETTLED_MS, if its timeout
 * is CONNTRACK_SETTLED_TIMEOUT_MS or more (conntrack_track_commit() tells):
 * that the version is still the same (conntrack_ref_is_unmoved()) is enough,
 * and costs no line of memory for each connection.  The connection then
 * expires earlier by as much at most, and a change of the timeouts, too,
 * holds for it that much later.
 *
 * Tracking is in two steps, so that a packet of several connections (one in
 * each zone) is tracked in all of them or in none: conntrack_track_check()
 * says whether conntrack_execute() would find the connection alive and the
 * packet an ordinary one of it, and changes nothing;
 * conntrack_track_commit() then does what conntrack_execute() does to the
 * connection.  Ordinary is a UDP packet that does not change the connection's
 * state, or a TCP segment inside the windows of an established connection
 * with ACK and without SYN, FIN and RST.
 *
 * Neither takes the connection's lock.  That is sound for what they write: of
 * a TCP connection only "highest number seen" fields, each in one direction of
 * the connection alone, and packets of one direction are processed one
 * after the other; and the expiration, unless it changed since the check:
 * then somebody else has moved the connection on, maybe closed it, and what
 * he wrote stands.
 *
 * Thread-safety: any thread, but one that must not quiesce between
 * conntrack_ref_is_valid() and the last use of the connection.
 */

#include <stdbool.h>
#include <stdint.h>
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"

struct dp_packet;

struct conntrack_ref {
    struct conn *conn;
    uint32_t version;
};

/* Upstream calls it, with the lock of 'ct' held, when 'conn' leaves the table
 * for good, before RCU gets it. */
void conntrack_note_removed(struct conntrack *ct, struct conn *conn);
/* The same in two steps, of which the first, for who has set 'reclaimed' or
 * makes it expire at once, needs no lock: each is an atomic operation, which
 * waits until all that was written before has reached the cache. */
void conntrack_note_leaves(struct conn *conn);
void conntrack_note_left(struct conntrack *ct, struct conn *conn);

/* Upstream calls it, with the lock of 'ct' held, when 'conn' has come into the
 * table.  References to connections that it hides become invalid: where two
 * have a tuple in common, as happens with NAT, look-ups find the later one. */
void conntrack_note_created(struct conntrack *ct, struct conn *conn);

/* Upstream calls it when a packet's connection finds no room in its zone.
 * (Where the whole table has none, upstream counts by itself.) */
void conntrack_note_zone_full(void);

/* Upstream calls it, with the lock of 'conn' held, before the connection's
 * label becomes 'label', or its mark 'mark'.  If that is another one,
 * references to it become invalid. */
void conntrack_note_label(struct conn *, ovs_u128 label);
void conntrack_note_mark(struct conn *, uint32_t mark);

/* Makes a reference to 'conn', which was found in the present RCU period.
 * Returns false if 'conn' is on its way out, or none of the pool's. */
bool conntrack_ref_init(struct conntrack_ref *, struct conn *);

static inline bool
conntrack_ref_is_valid(struct conn *conn, uint32_t version)
{
    uint32_t now;

    atomic_read_explicit(&conn->version, &now, memory_order_acquire);
    return now == version;
}

/* The pool's versions once more.  There when there is a connection of its. */
struct conntrack_versions {
    const char *begin;          /* The first slot. */
    atomic_uint32_t *versions;  /* Of one slot after the other. */
};
extern struct conntrack_versions conntrack_versions;

static inline atomic_uint32_t *
conntrack_version_copy(const struct conn *conn)
{
    size_t ofs = (const char *) conn - conntrack_versions.begin;

    return &conntrack_versions.versions[ofs / CONNTRACK_POOL_SLOT];
}

/* As conntrack_ref_is_valid(), without looking at the connection. */
static inline bool
conntrack_ref_is_unmoved(const struct conn *conn, uint32_t version)
{
    uint32_t now;

    atomic_read_explicit(conntrack_version_copy(conn), &now,
                         memory_order_acquire);
    return now == version;
}

/* Fetches what that looks at. */
static inline void
conntrack_ref_prefetch(const struct conn *conn)
{
    OVS_PREFETCH(conntrack_version_copy(conn));
}

/* Fetches what conntrack_ref_is_valid() and conntrack_track_check() look at.
 * Any address will do. */
void conntrack_track_prefetch(const struct conn *);

/* Which address of packets of one direction a connection's NAT changes. */
enum conntrack_nat {
    CONNTRACK_NAT_NONE,
    CONNTRACK_NAT_SRC,
    CONNTRACK_NAT_DST
};

/* The fixed part of what a connection must look like. */
struct conntrack_expect {
    ovs_u128 label;
    uint32_t mark;
    bool reply;                 /* Direction of the packet. */
    bool is_new;                /* ct_state +new, otherwise +est. */
    uint8_t nat;                /* enum conntrack_nat, as it is applied. */
};

/* What the two steps share for one packet and connection. */
struct conntrack_step {
    struct conn *conn;
    long long int expiration;   /* When the connection was looked at. */
    void *src, *dst;            /* struct tcp_peer, by direction. */
    uint32_t end, ack, win, sws;
    int timeout;                /* enum ct_timeout. */
    bool is_final;              /* Packets don't change its state. */
};

/* Expirations that were computed for a moment. */
struct conntrack_clock {
    long long int now;
    struct {
        uint32_t tp_id;
        int timeout;
        long long int expiration;
    } known[4];
    unsigned int n_known;
};
void conntrack_clock_init(struct conntrack_clock *, long long int now);

/* 'nw_proto' is IPPROTO_TCP or IPPROTO_UDP.  The expected label isn't
 * compared: the reference vouches for it. */
bool conntrack_track_check(struct conntrack *, struct conn *,
                           const struct conntrack_expect *,
                           struct dp_packet *, uint8_t nw_proto,
                           long long int now, struct conntrack_step *);

/* Returns true if the connection is settled: for CONNTRACK_SETTLED_MS all that
 * could change for its packets moves its version on. */
#define CONNTRACK_SETTLED_MS 256
#define CONNTRACK_SETTLED_TIMEOUT_MS 10000
bool conntrack_track_commit(struct conntrack *, const struct conntrack_step *,
                            struct conntrack_clock *);

/* The same two steps for a packet that is not an ordinary one, such as a FIN:
 * whether conntrack_execute() would find it valid and give the expected
 * answer, and tracking it.  They take the connection's lock. */
bool conntrack_track_predict(struct conntrack *, struct conn *,
                             const struct conntrack_expect *,
                             struct dp_packet *, long long int now);
void conntrack_track_update(struct conntrack *, struct conn *, bool reply,
                            struct dp_packet *, long long int now);

enum conntrack_nat conntrack_track_nat(const struct conn *, bool reply);

/* Where packets of this direction get addresses and ports from, if the
 * connection has NAT: what answers to them look like. */
static inline const struct conn_key *
conntrack_track_nat_key(const struct conn *conn, bool reply)
{
    return reply ? &conn->key : &conn->rev_key;
}

/* Fetches what that reads.  Any address will do. */
static inline void
conntrack_track_prefetch_nat(const struct conn *conn)
{
    OVS_PREFETCH(&conn->key);
    OVS_PREFETCH(&conn->rev_key.dst);
}

/* The part of the checks on a packet's headers that conntrack_execute() makes
 * before it looks a connection up, for a TCP or UDP packet with layer offsets
 * whose lengths are right: the checksums, where no device vouched for them. */
bool conntrack_checksums_are_valid(struct dp_packet *, bool ipv6,
                                   uint8_t nw_proto);

#endif /* conntrack-track.h */

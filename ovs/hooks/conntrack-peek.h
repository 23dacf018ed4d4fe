/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_PEEK_H
#define CONNTRACK_PEEK_H 1

/* What would conntrack_execute() do to a packet?
 *
 * A struct conntrack_peek follows one packet through a sequence of ct()
 * actions without touching the connection table or the packet: it keeps the
 * packet's present tuple and what pkt->md would hold, runs protocol tracking
 * on private copies of the connections, and remembers the connections
 * that the packet would have created.  Executing the same ct() actions on the
 * packet afterwards gives the same answers, as long as nobody else changes the
 * connections in between, but where NAT found a port by chance.
 *
 * Not followed: fragments, ICMP errors, connections with an
 * application-layer gateway, invalid packets whose ports were rewritten (of
 * ICMP: addresses), and some corners of NAT (ct(force) after NAT, or for a
 * connection whose NAT leaves it as it is; NAT in the place of a connection
 * between the same addresses that the packet has ended; a packet rewritten
 * between two ct()s of one zone after NAT; a SYN from the other end of a
 * closed connection); conntrack_peek_ct() says so and the packet must go
 * another way.
 *
 * Thread-safety: a peek belongs to one thread, which must not quiesce while it
 * uses it.  It takes the mutexes of connections that it copies, one at a
 * time.
 */

#include "conntrack.h"
#include "conntrack-private.h"
#include "conntrack-flush.h"
#include "conntrack-half-open.h"
#include "conntrack-hash.h"
#include "conntrack-sctp.h"
#include "conntrack-track.h"

struct dp_packet;

enum conntrack_peek_result {
    CT_PEEK_OK,
    CT_PEEK_ALG,
    CT_PEEK_ICMP_ERROR,
    CT_PEEK_UNFORESEEN,         /* Upstream's ways are too winding. */
    CT_PEEK_TOO_MANY,           /* More connections than can be followed. */
};

/* A connection as it will be.  Large enough for any protocol's state. */
#define CT_PEEK_CONN_SIZE 512
#define CT_PEEK_MAX_CONNS 4

struct conntrack_peek_conn {
    struct conn *up;            /* As it will be: 'bytes', or a new one. */
    struct conn *real;          /* NULL: this packet creates it. */
    unsigned int n_updates;     /* How often the packet was tracked in it. */
    bool changes_mark, changes_label;
    struct conntrack_ref ref;   /* To 'real'. */
    bool tracked;               /* The packet was tracked in it, ... */
    bool reply, is_new;         /* ... this way, with ct_state +new. */
    bool natted;                /* Its NAT was applied to the packet. */
    bool expired;               /* The packet ends it. */
    struct conn_key un_nat_key; /* Of its un-NAT twin. */
    bool has_un_nat;
    struct conntrack_displaced displaced; /* Has that tuple, and leaves. */
    bool by_chance;             /* Who executes may find no such tuple. */
    union {
        uint8_t bytes[CT_PEEK_CONN_SIZE];
        struct conn align;
    };
};

/* Changes to the packet since the last ct(): its present addresses and ports
 * (which are of 'dl_type'). */
struct conntrack_peek_tuple {
    ovs_be16 dl_type;
    union ct_addr src, dst;
    ovs_be16 tp_src, tp_dst;    /* TCP, UDP, SCTP; otherwise left alone. */
};

#define CT_PEEK_MAX_STEPS 6

struct conntrack_peek_hash {
    struct conn_key key;
    uint32_t hash;
    bool missed;                /* There was no connection. */
    bool alone;                 /* Nothing had this key. */
};
#define CT_PEEK_MAX_HASHES 4

struct conntrack_peek {
    struct conntrack *ct;
    struct dp_packet *packet;
    long long int now;
    uint64_t n_created;         /* See conntrack_n_created(). */

    /* The key of the packet as received (zone 0), or invalid. */
    bool extracted, valid, icmp_related;
    struct conn_key pkt_key;
    bool rewritten;             /* Actions may have changed its tuple. */

    /* The packet's metadata as it would be. */
    uint8_t ct_state;           /* CS_*. */
    uint16_t ct_zone;
    uint32_t ct_mark;
    ovs_u128 ct_label;
    bool has_orig_tuple;
    struct conn_key orig_tuple;
    struct conntrack_peek_conn *md_conn;
    bool md_reply;

    struct conntrack_peek_conn conns[CT_PEEK_MAX_CONNS];
    size_t n_conns;

    /* Whether the packet was an ordinary one, in each ct() so far, of a
     * connection that lives on, and is open if it is TCP's; and what it looked
     * like after each. */
    bool ordinary;
    bool applicable;            /* By conntrack_peek_apply(). */
    struct conntrack_peek_conn *last_natted;
    size_t n_steps;
    struct conntrack_peek_tuple steps[CT_PEEK_MAX_STEPS];

    /* What was found out already. */
    size_t n_hashes;            /* The latest are kept. */
    struct conntrack_peek_hash hashes[CT_PEEK_MAX_HASHES];
    bool knows_expectations, has_expectations;
};

struct conntrack_peek_request {
    uint16_t zone;
    bool commit, force;
    const struct nat_action_info_t *nat;    /* NULL without nat argument. */
    const char *helper;
    uint32_t tp_id;
    uint32_t mark, mark_mask;
    ovs_u128 label, label_mask;
};

/* 'packet' has its layer offsets set and stays as it is.  The peek may be one
 * that was used before, or all zeros. */
void conntrack_peek_init(struct conntrack_peek *, struct conntrack *,
                         struct dp_packet *packet, long long int now);

/* Fetches what a ct() in 'zone' will look at for a TCP or UDP packet with
 * 'tuple'. */
void conntrack_peek_prefetch(const struct conntrack *, uint16_t zone,
                             const struct conntrack_peek_tuple *tuple,
                             uint8_t nw_proto);

/* Predicts ct() with 'req' for a packet with 'tuple', which takes the
 * translated addresses and ports. */
enum conntrack_peek_result
conntrack_peek_ct(struct conntrack_peek *,
                  const struct conntrack_peek_request *,
                  struct conntrack_peek_tuple *tuple);

/* Execution of a verdict is no place for fragments: conntrack may hold one
 * back and let it go later in the batch of some other packet, whose actions it
 * would then follow.  While the calling thread bypasses them, ct() neither
 * takes fragments in nor lets them go.  Returns the previous setting. */
bool conntrack_bypass_fragments(bool);
bool conntrack_bypasses_fragments(void);

/* Upstream calls it when it has made an expectation, 'newest', with the lock
 * held that guards those.  Of one control connection there are
 * CONNTRACK_MAX_EXPECTATIONS at most: one of the oldest makes room. */
enum { CONNTRACK_MAX_EXPECTATIONS = 16 };
void conntrack_note_expectation(struct conntrack *,
                                const struct alg_exp_node *newest);

/* What an ICMPv6 error quotes has headers that end within so many bytes, or it
 * is invalid: upstream keeps in 16 bits where they end in the packet.  No
 * error has to be longer than the least MTU of IPv6. */
enum { CONNTRACK_MAX_QUOTED_HEADERS = 1280 };

/* Upstream calls it when 'found' is what it has found for 'key', with 'hash',
 * in place of a connection's un-NAT twin.  Where NAT leaves addresses and
 * ports as they are, both have the same tuples and one hash, and that may be
 * the twin again; upstream aborts then.  Returns the connection, and sets
 * '*reply', or NULL if it has expired. */
struct conn *conntrack_parent(struct conntrack *, struct conn *found,
                              const struct conn_key *key, uint32_t hash,
                              long long int now, bool *reply);

/* The same when it has looked for the connection of the original tuple that
 * the packet's metadata have, which is 'key'. */
struct conn *conntrack_original(struct conntrack *, struct conn *found,
                                const struct conn_key *key, long long int now);

/* ct_clear. */
void conntrack_peek_clear(struct conntrack_peek *);

/* Setting addresses or ports of the packet: the ct() that follows looks its
 * connection up anew, whatever its metadata say otherwise. */
void conntrack_peek_forget(struct conntrack_peek *);

/* True if the packet creates a connection with NAT. */
bool conntrack_peek_creates_nat(const struct conntrack_peek *);

/* True if it creates one whose port executing the ct() actions may not find,
 * and would then leave the packet without NAT: another connection's, which is
 * displaced for it, or one that was found at random. */
bool conntrack_peek_nat_by_chance(const struct conntrack_peek *);

/* Does to the connection table what executing the ct() actions would do, in
 * one go, and leaves the packet alone: connections are created, tracked,
 * marked and labelled.  Returns false, and has done nothing but displace
 * connections, if only executing the actions is right: for what upstream logs
 * or counts, or if somebody changed the table in between. */
bool conntrack_peek_apply(struct conntrack_peek *);

/* Frees what the peek has not put into the table. */
void conntrack_peek_uninit(struct conntrack_peek *);

#endif /* conntrack-peek.h */

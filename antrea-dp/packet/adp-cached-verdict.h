/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CACHED_VERDICT_H
#define ADP_CACHED_VERDICT_H 1

/* Cached verdicts.
 *
 * A walk's verdict on an ordinary packet of connections that live on (or of
 * none) can be kept for the packets that come after it.  What differs from
 * connection to connection, the addresses and ports after NAT and the
 * connections themselves, is in the session (adp-session.h); all else is here,
 * once for all sessions with the same content:
 *
 *   - what is expected of the connections,
 *   - the packet's rewriting and where it goes,
 *   - the flows and buckets to be credited, and the counters of packets.
 *
 * A cached verdict says of itself up to which generation of the program it
 * has been overtaken by a change: of a flow in a table that the walk looked
 * into, at a priority that could have won; of a group that it took; of a port
 * that it asked for.  Other changes leave it and its sessions in force.
 *
 * They live in the thread's store (adp-store.h), which says when they leave.
 *
 * Thread-safety: belongs to the thread that made it, but for its counters,
 * which the main thread collects.
 */

#include "adp-ports.h"
#include "adp-store.h"
#include "adp-walk.h"
#include "conntrack-track.h"

struct adp_bridge;
struct adp_summary;
struct adp_tunnel;

#define ADP_CACHED_VERDICT_MAX_CONNS 3

/* What packets must agree on to share a verdict.  All bytes count: made by
 * memset() and assignments.  What packets with a session need comes first. */
struct adp_cached_verdict_content {
    odp_port_t odp_port;                /* Or ODPP_NONE: see 'actions'. */
    uint8_t n_conns;
    bool nat;                           /* Addresses or ports change. */
    bool set_eth, set_tos, set_ttl;
    uint8_t tos, ttl;
    bool missed;                        /* May become a packet-in. */
    bool metered;                       /* By 'meter_id', behind all ct()s. */
    uint8_t answer;                     /* enum adp_answer. */
    struct eth_addr dl_dst, dl_src;
    struct adp_tunnel *tunnel;          /* Of 'actions'; referenced. */
    struct conntrack_expect conns[ADP_CACHED_VERDICT_MAX_CONNS];
    uint32_t actions_len;
    uint32_t meter_id;                  /* The datapath's. */
    ofp_port_t ingress_tunnel;          /* Tunnel port that it came from. */
    uint16_t n_hits;
    bool decided;                       /* For packets without a session. */
    bool to_ip_port;                    /* Sent to where a tunnel may end. */
    bool dropped;
    bool ends_in_miss;
    uint8_t n_logs;
    uint8_t n_idle_passes;              /* As in struct adp_verdict. */
    struct adp_log_item logs[ADP_MAX_LOG_ITEMS];
};

/* The first line and, of packets of one connection, the second are all that a
 * packet with a session needs; one that is the first of its connection needs
 * ADP_CACHED_VERDICT_LINES.  The tunnel stands in the first line, too: from
 * there it is fetched ahead. */
#define ADP_CACHED_VERDICT_LINES 5
struct adp_cached_verdict {
    struct adp_stored up;               /* Its owner is the bridge; 'aux' is
                                         * the content's tunnel. */
    struct adp_cached_verdict_content content OVS_ALIGNED_VAR(CACHE_LINE_SIZE);

    atomic_uint64_t n_cycles;           /* Of deciding, if 'decided'. */
    uint64_t credited_cycles;           /* Main thread. */

    const struct nlattr *actions;       /* After the rewriting. */
    const struct adp_hit *hits;         /* References to rules and groups. */
    uint64_t hits_hash;

    struct adp_walk_port ports[ADP_WALK_MAX_PORTS];
    size_t n_ports;

    /* Those of the hits whose tables look at nothing but what all packets of
     * the verdict have in common. */
    const struct adp_metadata_lookup *lookups;
    size_t n_lookups;
    uint64_t lookups_hold;              /* When all were last found to: a
                                         * generation of the program. */
};
BUILD_ASSERT_DECL(offsetof(struct adp_cached_verdict, content)
                  == CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(offsetof(struct adp_cached_verdict, content.answer)
                  < 2 * CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(offsetof(struct adp_cached_verdict, content.conns[1])
                  <= 2 * CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(offsetof(struct adp_cached_verdict, hits)
                  < ADP_CACHED_VERDICT_LINES * CACHE_LINE_SIZE);

/* Before there are packet threads. */
void adp_cached_verdict_init(void);

/* Of all threads. */
struct adp_collector *adp_cached_verdict_collector(void);

static inline struct adp_cached_verdict *
adp_cached_verdict_cast(struct adp_stored *v)
{
    return (struct adp_cached_verdict *) (void *) v;
}

/* The tunnel that its packets go into, or NULL. */
static inline struct adp_tunnel *
adp_cached_verdict_tunnel(const struct adp_stored *v)
{
    return v->aux;
}

/* What a cached verdict is made from. */
struct adp_cached_verdict_source {
    struct adp_bridge *bridge;
    const struct adp_program *program;
    const struct adp_ports *ports;
    uint64_t ports_serial;              /* When ports were asked for. */
    const struct adp_hit *hits;
    uint64_t hits_hash;
    const struct adp_metadata_lookup *lookups;
    size_t n_lookups;
    const struct nlattr *actions;
    const struct adp_walk_port *consulted;
    size_t n_consulted;
};

/* Returns a cached verdict with the content, or NULL if there is no room for
 * it. */
struct adp_cached_verdict *adp_cached_verdict_take(
    struct adp_store *, const struct adp_cached_verdict_source *,
    const struct adp_cached_verdict_content *, long long int now_ms);
/* The source that 'v' was made from, with what was present when walk 'w', for
 * which it was found right, began. */
void adp_cached_verdict_source_init(struct adp_cached_verdict_source *,
                                    const struct adp_cached_verdict *v,
                                    const struct adp_walk *w);
/* Returns the one that counts packets without a session that have these
 * hits, or NULL. */
struct adp_cached_verdict *adp_cached_verdict_for_decided(
    struct adp_store *, const struct adp_cached_verdict_source *,
    const struct adp_cached_verdict_content *, long long int now_ms);

/* Starts to fetch what a packet with a session needs. */
static inline void
adp_cached_verdict_prefetch(const struct adp_store *store,
                            const struct adp_token *token)
{
    const struct adp_cached_verdict *v
        = adp_cached_verdict_cast(adp_store_at(store, token->slot));

    OVS_PREFETCH_WRITE(v);
    OVS_PREFETCH(&v->content);
}

/* A token of 'v', which was decided on, or found right, just now. */
void adp_cached_verdict_token_init(struct adp_token *,
                                   const struct adp_store *,
                                   const struct adp_cached_verdict *v,
                                   const struct adp_program *,
                                   uint32_t learn_serial);

/* Brings the validity of 'v' up to 'program' and 'ports', which are present
 * ones of its bridge. */
void adp_cached_verdict_revalidate(struct adp_cached_verdict *,
                                   const struct adp_program *,
                                   const struct adp_ports *);

/* The verdict of 'token' if it is what a walk would find out now, or NULL.
 * Then brings the token up to date. */
static inline struct adp_cached_verdict *
adp_cached_verdict_get_current(const struct adp_store *store,
                               struct adp_token *token,
                               const struct adp_bridge *b,
                               const struct adp_program *program,
                               const struct adp_ports *ports,
                               uint32_t learn_serial)
{
    struct adp_stored *v = adp_store_get(store, token);
    uint32_t now = program->generation;
    uint32_t ports_now = adp_ports_serial(ports);
    void *owner;

    if (OVS_UNLIKELY(!v)) {
        return NULL;
    }
    atomic_read_relaxed(&v->owner, &owner);
    if (OVS_UNLIKELY(owner != b)) {
        return NULL;
    }
    if (OVS_UNLIKELY(v->generation != now
                     || v->ports_serial != ports_now)) {
        adp_cached_verdict_revalidate(adp_cached_verdict_cast(v), program,
                                      ports);
    }
    if (OVS_UNLIKELY(v->overtaken)) {
        return NULL;
    }
    if (OVS_UNLIKELY(token->generation != now)) {
        if (!adp_stored_is_unchanged(v, token)) {
            return NULL;
        }
        token->generation = now;
    }
    return (!v->on_learn || token->learn_seq == learn_serial
            ? adp_cached_verdict_cast(v) : NULL);
}

/* For who knows what packets of the verdict look like in the tables that
 * learn()s fill: all look-ups there of one of the packets, and what the
 * program read of it beyond the usual (enum adp_reads): in nothing else may
 * they differ. */
struct adp_cached_verdict_at {
    uint32_t reads;
    size_t n;
    struct adp_learn_lookup lookups[];
};

/* When adp_cached_verdict_get_current() has returned NULL: the verdict all the
 * same, and brings the token up to date, if only these tables have changed,
 * and the packet hits the same flows there as before.  Flows are learned, and
 * expire, often, and nearly all of them are those of other clients. */
struct adp_cached_verdict *adp_cached_verdict_renew(
    const struct adp_store *, struct adp_token *, const struct adp_bridge *,
    const struct adp_program *, uint32_t learn_serial,
    struct adp_cached_verdict_at *, struct adp_match_scratch *);

/* The bridge goes; packet threads have left it. */
void adp_cached_verdict_forget(struct adp_bridge *);

#endif /* adp-cached-verdict.h */

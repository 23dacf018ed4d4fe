/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CACHED_H
#define ADP_CACHED_H 1

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
 * Thread-safety: belongs to the thread that made it, but for its counters,
 * which the main thread folds.  The owner writes them, never resets them.
 * When the owner drops the last session it marks the verdict as dead; the
 * main thread folds it a last time and frees it after a grace period.
 */

#include "adp-ports.h"
#include "adp-walk.h"
#include "conntrack-track.h"
#include "mpsc-queue.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"

struct adp_bridge;
struct adp_draft;
struct adp_tunnel;

#define ADP_CACHED_MAX_CONNS 3

/* What packets must agree on to share a verdict.  All bytes count: made by
 * memset() and assignments.  What packets with a session need comes first. */
struct adp_cached_content {
    odp_port_t odp_port;                /* Or ODPP_NONE: see 'actions'. */
    uint8_t n_conns;
    bool nat;                           /* Addresses or ports change. */
    bool set_eth, set_tos, set_ttl;
    uint8_t tos, ttl;
    bool missed;                        /* May become a packet-in. */
    struct eth_addr dl_dst, dl_src;
    struct adp_tunnel *tunnel;          /* Of 'actions'; referenced. */
    struct conntrack_expect conns[ADP_CACHED_MAX_CONNS];
    uint32_t actions_len;
    ofp_port_t ingress_tunnel;          /* Tunnel port that it came from. */
    uint16_t n_hits;
    bool decided;                       /* For packets without a session. */
    bool to_ip_port;                    /* Sent to where a tunnel may end. */
    bool dropped;
    bool ends_in_miss;
    uint8_t n_idle_passes;              /* As in struct adp_verdict. */
};

/* Aligned: the first line and, of packets of one connection, the second are all
 * that a packet with a session needs. */
struct adp_cached {
    struct adp_bridge *bridge;          /* NULL once that is gone. */

    /* Validity: in generation 'generation' of the program the newest change
     * that matters was in generation 'changed'. */
    uint64_t generation, changed;
    uint64_t ports_serial;
    bool overtaken;                     /* Good for nothing any more. */
    bool on_learn;                      /* A learned flow may matter. */

    /* Counters.  Written by the owner. */
    atomic_uint16_t tcp_flags;
    atomic_uint64_t n_packets, n_bytes;
    atomic_llong used;

    struct adp_cached_content content;

    struct hmap_node hmap_node;         /* In the owner's, by 'hash'. */
    struct ovs_list decided_node;       /* In the owner's, if 'decided'. */
    atomic_uint64_t n_cycles;           /* Of deciding, if 'decided'. */
    uint32_t n_sessions;
    atomic_bool dead;

    /* Main thread. */
    struct mpsc_queue_node queue_node;  /* On its way there. */
    struct ovs_list list_node;
    uint64_t folded_packets, folded_bytes, folded_cycles;

    struct adp_walk_port ports[ADP_WALK_MAX_PORTS];
    size_t n_ports;
    const struct adp_hit *hits;         /* References to rules and groups. */
    uint64_t hits_hash;
    const struct nlattr *actions;       /* After the rewriting. */
};
BUILD_ASSERT_DECL(offsetof(struct adp_cached, content) == CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(offsetof(struct adp_cached, content.conns[1])
                  <= 2 * CACHE_LINE_SIZE);

/* The cached verdicts of one thread. */
struct adp_cached_set;

struct adp_cached_set *adp_cached_set_create(void);
/* The caller has released all that it took. */
void adp_cached_set_destroy(struct adp_cached_set *);
size_t adp_cached_set_count(const struct adp_cached_set *);

/* What a cached verdict is made from. */
struct adp_cached_source {
    struct adp_bridge *bridge;
    const struct adp_program *program;
    const struct adp_ports *ports;
    const struct adp_hit *hits;
    uint64_t hits_hash;
    const struct nlattr *actions;
    const struct adp_walk_port *consulted;
    size_t n_consulted;
};

/* Returns a cached verdict with the content, with a reference for one session,
 * or NULL if there is no room for it. */
struct adp_cached *adp_cached_take(struct adp_cached_set *,
                                   const struct adp_cached_source *,
                                   const struct adp_cached_content *);
/* The source that 'v' was made from, with what is present now. */
void adp_cached_source_init(struct adp_cached_source *,
                            const struct adp_cached *v,
                            const struct adp_program *,
                            const struct adp_ports *);
/* Returns the one that counts packets without a session that have these
 * hits, or NULL.  It needs no release: it stays for some seconds after its
 * last packet. */
struct adp_cached *adp_cached_for_decided(struct adp_cached_set *,
                                          const struct adp_cached_source *,
                                          const struct adp_cached_content *,
                                          long long int now_ms);
void adp_cached_release(struct adp_cached_set *, struct adp_cached *);

/* Starts to fetch what a packet with a session needs. */
static inline void
adp_cached_prefetch(const struct adp_cached *v)
{
    OVS_PREFETCH_WRITE(v);
    OVS_PREFETCH(&v->content);
}

/* Counts a packet. */
static inline void
adp_cached_count(struct adp_cached *v, uint64_t n_bytes, uint16_t tcp_flags,
                 long long int now_ms)
{
    uint64_t packets, bytes;
    uint16_t flags;

    atomic_read_relaxed(&v->n_packets, &packets);
    atomic_store_relaxed(&v->n_packets, packets + 1);
    atomic_read_relaxed(&v->n_bytes, &bytes);
    atomic_store_relaxed(&v->n_bytes, bytes + n_bytes);
    atomic_store_relaxed(&v->used, now_ms);
    atomic_read_relaxed(&v->tcp_flags, &flags);
    if (tcp_flags & ~flags) {
        atomic_store_relaxed(&v->tcp_flags, flags | tcp_flags);
    }
}

/* Brings the validity of 'v' up to 'program' and 'ports', which are present
 * ones of its bridge. */
void adp_cached_revalidate(struct adp_cached *, const struct adp_program *,
                           const struct adp_ports *);

/* True if what was decided with verdict 'v' when the program's generation had
 * the low bits '*generation' and learned flows the serial 'learn_seq' holds
 * now.  Then brings '*generation' up to date. */
static inline bool
adp_cached_is_current(struct adp_cached *v, const struct adp_bridge *b,
                      const struct adp_program *program,
                      const struct adp_ports *ports, uint32_t *generation,
                      uint32_t learn_seq, uint32_t learn_serial)
{
    uint32_t now = program->generation;

    if (OVS_UNLIKELY(v->bridge != b)) {
        return false;
    }
    if (OVS_UNLIKELY(v->generation != program->generation
                     || v->ports_serial != ports->serial)) {
        adp_cached_revalidate(v, program, ports);
    }
    if (OVS_UNLIKELY(v->overtaken)) {
        return false;
    }
    if (OVS_UNLIKELY(*generation != now)) {
        if ((int32_t) (*generation - (uint32_t) v->changed) < 0) {
            return false;
        }
        *generation = now;
    }
    return !v->on_learn || learn_seq == learn_serial;
}

/* Main thread: credits flows, groups, tables and ports with all that bridge's
 * cached verdicts counted since the last time. */
void adp_cached_fold(struct adp_bridge *);
/* Frees the dead. */
void adp_cached_reap(void);
/* The bridge goes; packet threads have left it. */
void adp_cached_forget(struct adp_bridge *);

#endif /* adp-cached.h */

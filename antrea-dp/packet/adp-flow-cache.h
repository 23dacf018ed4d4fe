/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_FLOW_CACHE_H
#define ADP_FLOW_CACHE_H 1

/* What a packet thread keeps from one packet to the next: its sessions and
 * cached verdicts, and the numbers by which a session's key names the place
 * where a packet came in.
 *
 * Thread-safety: an adp_flow_cache belongs to the thread that
 * adp_flow_cache_begin_batch() returned it to, and goes when that ends.
 * adp_flow_cache_stats_get(), adp_flow_cache_threads_get() and
 * adp_flow_cache_set_capacity() are for the main thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "adp-ingress.h"
#include "adp-refusal.h"
#include "adp-store.h"
#include "openvswitch/types.h"

struct adp_bridge;
struct adp_cached_verdict_content;
struct adp_cached_verdict_source;
struct adp_log_ring;
struct adp_sampler;
struct adp_walk_cache;
struct adp_session;
struct adp_session_packet;
struct adp_sessions;
struct adp_walk;
struct conntrack_peek_tuple;
struct dp_packet_batch;
struct flow_tnl;

struct adp_flow_cache {
    struct adp_sessions *sessions;
    struct adp_store *verdicts;
    struct adp_walk_cache *walk_cache;
    struct adp_rate_limit refusals;
    struct adp_log_ring *log;
    struct adp_sampler *sampler;        /* NULL until a packet is sampled. */
};

/* Before there is any other thread. */
void adp_flow_cache_init(void);

/* For a batch of packets.  Batches nest: executing a verdict may decapsulate
 * a packet. */
struct adp_flow_cache *adp_flow_cache_begin_batch(void);
void adp_flow_cache_end_batch(struct adp_flow_cache *);

/* A walk for the next packet, or NULL if walks are nested too deep. */
struct adp_walk *adp_flow_cache_begin_walk(struct adp_flow_cache *);
void adp_flow_cache_end_walk(struct adp_flow_cache *);

/* The ingress of packets from port 'ofp_port' of 'b'. */
uint32_t adp_flow_cache_ingress(const struct adp_bridge *b,
                                ofp_port_t ofp_port);

/* The same for a kind of packets out of a tunnel. */
uint32_t adp_flow_cache_ingress_of_kind(const struct adp_ingress *);

/* The same for those of 'ingress' that have the VLAN tag 'tci'. */
uint32_t adp_flow_cache_ingress_of_vlan(struct adp_flow_cache *,
                                        uint32_t ingress, ovs_be16 tci,
                                        long long int now_ms);

/* Starts to fetch the kinds of a batch of packets out of tunnels, and sets the
 * hash of each. */
void adp_flow_cache_fetch_kinds(const struct adp_flow_cache *,
                                const struct dp_packet_batch *,
                                uint32_t hashes[]);

/* The kind of packets with tunnel metadata 'tnl' and its hash, if
 * adp_flow_cache_add_kind() has told which bridge and port they are for and
 * that is still so.  Otherwise NULL. */
const struct adp_ingress *adp_flow_cache_find_kind(struct adp_flow_cache *,
                                                   const struct flow_tnl *tnl,
                                                   uint32_t hash,
                                                   long long int now_ms);
/* 'map_serial' is adp_ports_map_serial() from before bridge and port were
 * looked up: if the map is another one by now, so may they be.  There are no
 * kinds of packets with options, which are counted. */
void adp_flow_cache_add_kind(struct adp_flow_cache *,
                             const struct flow_tnl *tnl,
                             struct adp_bridge *, ofp_port_t ofp_port,
                             uint64_t map_serial, long long int now_ms);

/* When there is nothing else to do, and in between: looks for what nobody
 * uses, a little at a time.  What a call leaves over is for the next one. */
void adp_flow_cache_age(long long int now_ms);
/* The main thread's: the same in a slice of its turn. */
void adp_flow_cache_age_slice(long long int now_ms);
/* Who has nothing to do should call that again after so many milliseconds. */
int adp_flow_cache_age_interval(void);

struct adp_session *adp_flow_cache_find(const struct adp_flow_cache *,
                                        const struct adp_session_packet *);

/* Makes a session of what was decided on the packet: a verdict with 'content'
 * from 'source', for the packets after it, unless their verdict might be
 * another.  'w' has the packet's way through conntrack, 'tuple' is the
 * packet's after NAT. */
void adp_flow_cache_remember(struct adp_flow_cache *,
                             const struct adp_session_packet *,
                             const struct adp_walk *w,
                             const struct conntrack_peek_tuple *tuple,
                             const struct adp_cached_verdict_source *,
                             const struct adp_cached_verdict_content *,
                             long long int now_ms);

/* Counts a packet for which a cached walk was replayed. */
void adp_flow_cache_count_replay(struct adp_flow_cache *);

/* Counts one that can't be kept: there is more to it, or flows ask for more
 * than a session's key has. */
void adp_flow_cache_count_uncacheable(struct adp_flow_cache *);

/* Sums over all threads.  What counts events has those of threads that have
 * ended, too. */
struct adp_flow_cache_stats {
    uint64_t n_sessions, capacity;
    uint64_t n_bytes;
    uint64_t n_inserted, n_evicted, n_idle;
    uint64_t n_walks, n_walks_evicted;
    uint64_t n_replayed;                /* Packets, by cached walks. */
    uint64_t n_uncacheable;             /* Packets that can't be kept. */
    struct adp_store_counts verdicts;
    struct adp_ingress_counts kinds;    /* Of packets out of tunnels. */
    struct adp_ingress_counts vlans;    /* VLAN tags and where they come in. */
};
void adp_flow_cache_stats_get(struct adp_flow_cache_stats *);

/* The same thread by thread, of those that there are.  Returns the number of
 * threads; the caller frees the array. */
struct adp_flow_cache_thread {
    char name[32];                      /* "pmd-c01/id:8"; "" for the main
                                         * thread. */
    struct adp_flow_cache_stats stats;
};
size_t adp_flow_cache_threads_get(struct adp_flow_cache_thread **);

/* Sessions that each thread may have.  Threads take it up with their next
 * packet. */
#define ADP_FLOW_CACHE_MIN_CAPACITY (UINT64_C(1) << 12)
#define ADP_FLOW_CACHE_DEFAULT_CAPACITY (UINT64_C(1) << 21)
#define ADP_FLOW_CACHE_MAX_CAPACITY (UINT64_C(1) << 28)
void adp_flow_cache_set_capacity(uint64_t);

#endif /* adp-flow-cache.h */

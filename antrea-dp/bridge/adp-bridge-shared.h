/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_BRIDGE_SHARED_H
#define ADP_BRIDGE_SHARED_H 1

/* A bridge of type "antrea": what the rooms that deal with packets share of
 * it.
 *
 * A struct adp_bridge is an ofproto-dpif bridge with a compiled program beside
 * its OpenFlow tables.  Who may touch what:
 *
 *   - 'program', 'ports': published with OVSRCU by this room, read by any
 *     thread; 'catch' likewise, by antrea-dp/packet.
 *
 *   - 'learn', 'sink', 'tunnels', 'held', 'counters': written by packet
 *     threads, emptied by the main thread.
 *
 *   - 'mode', 'miss_to_controller': written by this room, read by any thread;
 *     'controller_meter': by the provider, which hears of meters.
 *
 *   - the rest belongs to the main thread, and what a pointer to an unknown
 *     struct leads to belongs to the room that the comment names.
 *
 * Life cycle: adp_bridge_alloc(), adp_bridge_init(), adp_bridge_start(),
 * adp_bridge_stop(), adp_bridge_uninit(), all called by the provider.  From
 * adp_bridge_stop() on no packet thread is in the bridge; what it might still
 * look at goes after a grace period.  Upstream frees the structure itself.
 */

#include "adp-bridge.h"
#include "adp-count.h"
#include "adp-learn.h"
#include "adp-ports.h"
#include "adp-program.h"
#include "adp-punt.h"
#include "adp-stats.h"
#include "ofproto/ofproto-dpif.h"
#include "ofproto/ofproto-provider.h"
#include "openvswitch/list.h"
#include "ovs-rcu.h"

struct adp_bridge_own;
struct adp_bridge_pipeline;
struct adp_catch;
struct adp_held_queue;
struct adp_igmp_queue;
struct adp_settings;
struct adp_shadow;
struct adp_tunnels;

/* Reasons why the compiled pipeline sends a packet nowhere. */
#define ADP_DROP_REASONS                                                \
    X(FLOW, "flow", "a flow without an output")                         \
    X(REJECT, "reject", "rejected, by a rule or for want of endpoints") \
    X(MISS, "miss", "no flow in the table")                             \
    X(TUNNEL, "tunnel", "no neighbour or route for a tunnel")           \
    X(NAT, "nat", "no room or port was left for its connection's NAT")  \
    X(RESTORE, "restore", "the bridge's flows are still to be restored")

enum adp_drop {
#define X(SYMBOL, NAME, TEXT) ADP_DROP_##SYMBOL,
    ADP_DROP_REASONS
#undef X
    ADP_N_DROPS
};

/* What a bridge does with packets that come in. */
enum adp_mode {
    ADP_MODE_CLOSED,            /* Drops them: the bridge isn't configured,
                                 * other_config:flow-restore-wait is set, or
                                 * its pipeline was flushed and isn't back. */
    ADP_MODE_STOCK,             /* Punts them. */
    ADP_MODE_WATCHED,           /* The same, but for what is to be held: a
                                 * feature that only looks on may miss it.
                                 * What is refused or logged is told beside. */
    ADP_MODE_COMPILED,
};

/* Counters of packets, written by packet threads. */
struct adp_bridge_counters {
    atomic_uint64_t handled;            /* By the compiled pipeline. */
    atomic_uint64_t handled_bytes;
    atomic_uint64_t hits;               /* Of these, by a cached verdict. */
    atomic_uint64_t decides;
    atomic_uint64_t decide_cycles;
    atomic_uint64_t punts[ADP_N_PUNTS];
    atomic_uint64_t ip_punts;           /* Of these, IPv4 and IPv6. */
    atomic_uint64_t drops[ADP_N_DROPS];
    /* Of ADP_DROP_REJECT: */
    atomic_uint64_t rejected;           /* Answered; */
    atomic_uint64_t reject_limited;     /* not, for there were too many; */
    atomic_uint64_t reject_silent;      /* not, for nobody answers such. */
    /* Of packets that policies log: */
    atomic_uint64_t logged;             /* Told the main thread; */
    atomic_uint64_t log_limited;        /* not, for their rule had too many; */
    atomic_uint64_t log_lost;           /* not, for all had too many. */
    atomic_uint64_t idle_passes;        /* See struct adp_verdict. */
    atomic_uint64_t learned;
    atomic_uint64_t unlearned;          /* There were too many already. */
    atomic_uint64_t learned_late;       /* The flow with learn() was gone. */
    atomic_uint64_t held;               /* Until the main thread read them: */
    atomic_uint64_t dns_truncated;      /* in place of fragments of one; */
    atomic_uint64_t held_lost;          /* others that found no room, */
    atomic_uint64_t held_stale;         /* and whose port may have gone. */
    atomic_uint64_t igmp;               /* Messages for the main thread: */
    atomic_uint64_t igmp_lost;          /* others that found no room. */
    atomic_uint64_t sampled;            /* To be compared with upstream; */
    atomic_uint64_t samples_lost;       /* others that found no room. */
    struct {
        atomic_uint64_t matched;
        atomic_uint64_t missed;
    } tables[ADP_N_TABLES];
};

/* Of learned flows, unless other_config says otherwise.  One takes about 2 kB
 * in all. */
#define ADP_MAX_LEARNED_PER_FLOW 16384
#define ADP_MAX_LEARNED 32768

struct adp_bridge {
    struct ofproto_dpif dpif;           /* First: upstream frees it. */
    uint32_t serial;                    /* Of no other bridge. */
    struct ovs_list list_node;          /* In 'adp_bridges'. */

    /* Packet threads. */
    OVSRCU_TYPE(struct adp_program *) program;
    OVSRCU_TYPE(struct adp_ports *) ports;
    struct adp_learn_table *learn;
    struct adp_stats_sink *sink;
    struct adp_tunnels *tunnels;        /* antrea-dp/packet's. */
    OVSRCU_TYPE(struct adp_catch *) catch; /* The same; mostly NULL. */
    struct adp_held_queue *held;        /* adp-held.h. */
    struct adp_igmp_queue *igmp;        /* adp-igmp-queue.h. */
    struct adp_bridge_counters counters;
    ATOMIC(enum adp_mode) mode;
    atomic_bool miss_to_controller;     /* A table miss is a packet-in. */
    atomic_uint32_t controller_meter;   /* The datapath's, of packets to
                                         * controllers, or UINT32_MAX. */

    /* Main thread. */
    struct adp_bridge_pipeline *pipeline; /* antrea-dp/state's. */
    struct adp_shadow *shadow;          /* antrea-dp/shadow's. */
    struct adp_settings *settings;      /* antrea-dp/provider's; NULL before
                                         * it is configured. */
    uint64_t tunnel_ends;               /* antrea-dp/provider's: what was when
                                         * these were last seen to. */
    long long int next_push;            /* Of counters. */

    struct adp_bridge_own *own;         /* antrea-dp/bridge's. */
};

/* The class, which the provider fills in, and its bridges (main thread). */
extern struct ofproto_class adp_ofproto_class;
extern struct ovs_list adp_bridges;
/* The one that a packet thread has noted, or NULL if it has gone. */
struct adp_bridge *adp_bridge_of_serial(uint32_t);

static inline struct adp_bridge *
adp_bridge_cast(const struct ofproto *ofproto)
{
    return (ofproto->ofproto_class == &adp_ofproto_class
            ? CONTAINER_OF(ofproto, struct adp_bridge, dpif.up) : NULL);
}

/* For the provider. */
struct adp_bridge *adp_bridge_alloc(void);
void adp_bridge_init(struct adp_bridge *);      /* Before construction. */
void adp_bridge_start(struct adp_bridge *);     /* After construction. */
void adp_bridge_stop(struct adp_bridge *);      /* Before destruction. */
void adp_bridge_uninit(struct adp_bridge *);    /* Behind adp_bridge_stop(). */
/* Is there a journal?  With ofproto_mutex, or in the main thread. */
bool adp_bridge_is_constructed(const struct adp_bridge *);
/* Brings the ports up to date. */
void adp_bridge_run(struct adp_bridge *);
/* Lets packets in, unless flows have to be waited for or the bridge is to be
 * 'closed' for another reason. */
void adp_bridge_set_mode(struct adp_bridge *, bool closed);
/* What the bridge does that only upstream's translation knows of, so that it
 * is punted as a whole; NULL: nothing.  Main thread. */
const char *adp_bridge_punted_for(const struct adp_bridge *);
void adp_bridge_set_round(struct adp_bridge *, uint16_t);
void adp_bridge_ports_changed(struct adp_bridge *);
/* Locks ofproto_mutex; waiting for it counts as that among a turn's work. */
void adp_bridge_lock_tables(void) OVS_ACQUIRES(ofproto_mutex);

/* Why a port makes its bridge go the stock way. */
enum adp_special {
    ADP_SPECIAL_CFM = 1 << 0,
    ADP_SPECIAL_BFD = 1 << 1,
    ADP_SPECIAL_LLDP = 1 << 2,
    ADP_SPECIAL_BUNDLE = 1 << 3,        /* Bond or protected port. */
    ADP_SPECIAL_QUEUES = 1 << 4,        /* DSCP from a queue. */
};
void adp_bridge_set_special(struct adp_bridge *, const struct netdev *port,
                            enum adp_special, bool on);
/* The port goes. */
void adp_bridge_clear_special(struct adp_bridge *, const struct netdev *port);

/* OpenFlow's flow with just this table, match and priority, or NULL.  Any
 * thread; without ofproto_mutex good until the caller quiesces. */
struct rule *adp_bridge_find_rule(const struct adp_bridge *, uint8_t table_id,
                                  const struct minimatch *, int priority);

/* Any thread. */
static inline enum adp_mode
adp_bridge_mode(const struct adp_bridge *b)
{
    enum adp_mode mode;

    atomic_read_relaxed(&CONST_CAST(struct adp_bridge *, b)->mode, &mode);
    return mode;
}

static inline bool
adp_bridge_sends_misses(const struct adp_bridge *b)
{
    bool sends;

    atomic_read_relaxed(
        &CONST_CAST(struct adp_bridge *, b)->miss_to_controller, &sends);
    return sends;
}

static inline uint32_t
adp_bridge_controller_meter(const struct adp_bridge *b)
{
    uint32_t meter_id;

    atomic_read_relaxed(&CONST_CAST(struct adp_bridge *, b)->controller_meter,
                        &meter_id);
    return meter_id;
}

#endif /* adp-bridge-shared.h */

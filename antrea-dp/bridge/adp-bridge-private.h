/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_BRIDGE_PRIVATE_H
#define ADP_BRIDGE_PRIVATE_H 1

/* A bridge of type "antrea", from the inside.
 *
 * A struct adp_bridge is an ofproto-dpif bridge with a compiled program beside
 * its OpenFlow tables.  Who may touch what:
 *
 *   - 'program', 'ports': published with OVSRCU, read by any thread.
 *
 *   - 'rules', 'journal', 'dirty_groups': what happened to the tables since
 *     the last version was closed.  Guarded by ofproto_mutex.
 *
 *   - 'learn', 'sink', 'tunnels', 'counters': written by packet threads, emptied
 *     by the main thread.
 *
 *   - the rest belongs to the main thread.
 *
 * Life cycle: construct() makes everything, destruct() takes the bridge off
 * the list and frees after a grace period what packet threads use; upstream
 * frees the structure itself later still.
 */

#include "adp-bridge.h"
#include "adp-decide.h"
#include "adp-learn.h"
#include "adp-ports.h"
#include "adp-program.h"
#include "adp-punt.h"
#include "adp-stats.h"
#include "ofproto/ofproto-dpif.h"
#include "ofproto/ofproto-provider.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "ovs-rcu.h"
#include "seq.h"
#include "simap.h"

struct adp_tunnels;
struct dp_netdev_pmd_thread;
struct dp_packet_batch;

/* Reasons why the compiled pipeline sends a packet nowhere. */
#define ADP_DROP_REASONS                                                \
    X(FLOW, "flow", "a flow without an output")                         \
    X(MISS, "miss", "no flow in the table")                             \
    X(TUNNEL, "tunnel", "no neighbour or route for a tunnel")           \
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
    atomic_uint64_t idle_passes;        /* See struct adp_verdict. */
    atomic_uint64_t learned;
    atomic_uint64_t unlearned;        /* There were too many already. */
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

    /* Compiled program. */
    OVSRCU_TYPE(struct adp_program *) program;
    struct hmap rules OVS_GUARDED_BY(ofproto_mutex);
    struct adp_delta *journal OVS_GUARDED_BY(ofproto_mutex);
    struct hmap dirty_groups OVS_GUARDED_BY(ofproto_mutex);
    bool empty OVS_GUARDED_BY(ofproto_mutex);   /* The latest version has no
                                                 * flow. */
    bool emptied OVS_GUARDED_BY(ofproto_mutex); /* One had none, and the main
                                                 * thread doesn't know yet. */
    struct adp_learn_entry *installing OVS_GUARDED_BY(ofproto_mutex);
                                        /* What the next rule is made from. */
    struct {
        struct adp_learner *learner;    /* NULL: nothing is learned so. */
        uint32_t hash;                  /* Of the flow. */
    } stock_learning OVS_GUARDED_BY(ofproto_mutex); /* By translation. */

    /* Flows with learn() that leave with the version that is open: not more
     * than flows that it removes.  Emptied when it is closed. */
    struct adp_rule **old_learners OVS_GUARDED_BY(ofproto_mutex);
    size_t n_old_learners OVS_GUARDED_BY(ofproto_mutex);
    size_t allocated_old_learners OVS_GUARDED_BY(ofproto_mutex);

    /* Packet threads. */
    OVSRCU_TYPE(struct adp_ports *) ports;
    struct adp_learn_table *learn;
    struct seq *learn_seq;              /* Changes when 'learn' was empty. */
    struct adp_stats_sink *sink;
    struct adp_tunnels *tunnels;
    struct adp_bridge_counters counters;
    ATOMIC(enum adp_mode) mode;
    atomic_bool stopped;                /* Packets must not enter any more. */
    atomic_bool miss_to_controller;     /* A table miss is a packet-in. */

    /* Main thread. */
    bool constructed;                   /* There is a journal.  Becomes false
                                         * under ofproto_mutex. */
    bool waits_for_flows;               /* Said in the log. */
    bool bereft;                        /* The pipeline was flushed, and isn't
                                         * back yet. */
    long long int next_reinstall;       /* Of the pipeline, while 'bereft'. */
    const struct adp_pipeline *pipeline; /* NULL: none. */
    uint64_t pipeline_options;
    char *pipeline_error;               /* NULL, or why it is not the one that
                                         * is configured. */
    struct adp_state *state;            /* Once there was a pipeline; not in
                                         * the tables while there is none. */
    uint16_t round;
    uint64_t max_sessions;              /* Asked for; 0: not. */
    struct simap special_ports;         /* Port name -> enum adp_special. */
    bool ports_dirty;
    uint64_t ports_seq;
    uint32_t ports_digest;              /* Of names and numbers. */
    uint64_t connectivity_seqno;
    uint64_t tnl_conf_seqno;
    uint64_t learn_seqno;
    bool learn_more;                    /* Flows wait for the next slice. */
    struct ovs_list unswept OVS_GUARDED_BY(ofproto_mutex); /* struct rule. */
    uint64_t expire_seqno;
    bool expire_more;                   /* The sweep goes on. */
    struct ofputil_port_map port_map;
    struct ofputil_table_map table_map;
    uint64_t table_credit[ADP_N_TABLES][2]; /* Folded: matched, missed. */
    uint64_t folded_idle_passes;
    long long int next_fold;
};

/* Why a port makes its bridge go the stock way. */
enum adp_special {
    ADP_SPECIAL_CFM = 1 << 0,
    ADP_SPECIAL_BFD = 1 << 1,
    ADP_SPECIAL_LLDP = 1 << 2,
    ADP_SPECIAL_BUNDLE = 1 << 3,        /* Bond or protected port. */
    ADP_SPECIAL_QUEUES = 1 << 4,        /* DSCP from a queue. */
};

extern struct ofproto_class adp_ofproto_class;
extern struct ovs_list adp_bridges;     /* Main thread. */

static inline struct adp_bridge *
adp_bridge_cast(const struct ofproto *ofproto)
{
    return (ofproto->ofproto_class == &adp_ofproto_class
            ? CONTAINER_OF(ofproto, struct adp_bridge, dpif.up) : NULL);
}

/* adp-bridge.c */
void adp_bridge_init(struct adp_bridge *);
void adp_bridge_start(struct adp_bridge *);     /* After construction. */
void adp_bridge_stop(struct adp_bridge *);      /* Before destruction. */
void adp_bridge_run(struct adp_bridge *);
/* Locks ofproto_mutex; waiting for it counts as that among a turn's work. */
void adp_bridge_lock_tables(void) OVS_ACQUIRES(ofproto_mutex);
void adp_bridge_configure(struct adp_bridge *, const struct smap *other_config,
                          const struct smap *external_ids);
/* Returns true if flows that name ports may be out of date. */
bool adp_bridge_rebuild_ports(struct adp_bridge *);
/* OpenFlow's flow with just this table, match and priority, or NULL.  Any
 * thread; without ofproto_mutex good until the caller quiesces. */
struct rule *adp_bridge_find_rule(const struct adp_bridge *, uint8_t table_id,
                                  const struct minimatch *, int priority);

/* adp-bridge-pipeline.c */
void adp_bridge_configure_pipeline(struct adp_bridge *,
                                   const struct smap *other_config);
/* Puts everything back that was flushed. */
void adp_bridge_reinstall_pipeline(struct adp_bridge *);

/* adp-show.c: the pipeline's name for table 'id', or NULL. */
const char *adp_bridge_table_name(uint8_t id, void *bridge);

/* Packet threads. */
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

    atomic_read_relaxed(&CONST_CAST(struct adp_bridge *, b)->miss_to_controller,
                        &sends);
    return sends;
}

/* adp-journal.c */
void adp_journal_init(struct adp_bridge *);
void adp_journal_uninit(struct adp_bridge *) OVS_REQUIRES(ofproto_mutex);
void adp_journal_rule_inserted(struct adp_bridge *, struct rule *)
    OVS_REQUIRES(ofproto_mutex);
void adp_journal_rule_removed(struct adp_bridge *, struct rule *)
    OVS_REQUIRES(ofproto_mutex);
/* Counts a flow that upstream learns in the translation of a packet, about to
 * be inserted.  Returns false if there may be no more. */
bool adp_journal_may_learn(struct adp_bridge *, const struct rule *)
    OVS_REQUIRES(ofproto_mutex);
/* Main thread: uncounts one that OpenFlow refused. */
void adp_journal_run(struct adp_bridge *);
void adp_journal_group_changed(struct adp_bridge *, uint32_t group_id)
    OVS_REQUIRES(ofproto_mutex);
void adp_journal_close_version(struct adp_bridge *, ovs_version_t)
    OVS_REQUIRES(ofproto_mutex);
/* Main thread: takes over what table-mods said of misses, if anything is
 * new. */
void adp_journal_read_misses(struct adp_bridge *);

/* adp-fold.c: counters on their way to OpenFlow. */
void adp_fold_run(struct adp_bridge *);
void adp_fold_wait(struct adp_bridge *);
/* Credits the flow that was made of 'entry' with the packets that met that. */
void adp_fold_early(struct adp_bridge *, const struct adp_learn_entry *);
/* Credits a hit, and its table, with packets. */
void adp_bridge_credit_hit(struct adp_bridge *, const struct adp_hit *,
                           uint64_t n_packets, uint64_t n_bytes,
                           long long int used, uint16_t tcp_flags);
/* Credits the tunnel port that packets came from. */
void adp_bridge_credit_tunnel_port(const struct adp_bridge *, ofp_port_t,
                                   uint64_t n_packets, uint64_t n_bytes);

/* adp-install.c */
/* Packet threads: takes what a walk in the program of 'generation' learned. */
void adp_install_learned(struct adp_bridge *, const struct adp_learned *,
                         uint64_t generation);
/* Main thread: one slice of what waits. */
void adp_install_run(struct adp_bridge *);
void adp_install_wait(struct adp_bridge *);

/* adp-expire.c: main thread. */
void adp_expire_run(struct adp_bridge *);       /* One slice of a sweep. */
void adp_expire_wait(const struct adp_bridge *);
void adp_expire_stop(struct adp_bridge *);
/* Between the two the base class finds no flow to expire. */
void adp_expire_hide(struct adp_bridge *, struct ovs_list *hidden);
void adp_expire_unhide(struct adp_bridge *, struct ovs_list *hidden);

/* adp-input.c */
void adp_input_received(struct dp_netdev_pmd_thread *,
                        struct dp_packet_batch *, odp_port_t);
void adp_input_decapsulated(struct dp_netdev_pmd_thread *,
                            struct dp_packet_batch *);

static inline void
adp_count(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t orig;

    atomic_add_relaxed(counter, n, &orig);
}

/* For a counter that no other thread writes. */
static inline void
adp_count_mine(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t value;

    atomic_read_relaxed(counter, &value);
    atomic_store_relaxed(counter, value + n);
}

static inline uint64_t
adp_counted(const atomic_uint64_t *counter)
{
    uint64_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, counter), &value);
    return value;
}

#endif /* adp-bridge-private.h */

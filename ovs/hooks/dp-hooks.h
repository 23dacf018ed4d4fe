/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DP_HOOKS_H
#define DP_HOOKS_H 1

/* Where another datapath provider meets dpif-netdev and ofproto.
 *
 * Upstream calls dp_hook_*() at a handful of places; they do nothing until
 * somebody registers callbacks.  The accessors below give that somebody what
 * is static in upstream's files.
 *
 * Thread-safety: register before the first thread is started.  The packet
 * callbacks run in PMD threads and in the main thread; the OpenFlow ones hold
 * ofproto_mutex; *_configured run in the main thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/types.h"

struct conntrack;
struct dp_netdev_pmd_thread;
struct dp_packet;
struct dp_packet_batch;
struct dpif;
struct flow;
struct miniflow;
struct nlattr;
struct ofgroup;
struct ofproto;
struct ofproto_flow_mod;
struct ofproto_group_mod;
struct ovsrec_bridge;
struct rule;
struct smap;
struct uuid;

struct dp_hooks {
    /* A batch that was just received on 'port', without metadata.  Takes what
     * it handles out of the batch. */
    void (*received)(struct dp_netdev_pmd_thread *, struct dp_packet_batch *,
                     odp_port_t port);

    /* A batch that came out of a tunnel, with metadata. */
    void (*decapsulated)(struct dp_netdev_pmd_thread *,
                         struct dp_packet_batch *);

    /* A PMD thread, with no batch at hand, every few milliseconds, or once in
     * an iteration that takes longer; for what has to be done now and then. */
    void (*idle)(long long int now_ms);

    /* After how many milliseconds a PMD thread that has no ports should call
     * it. */
    int (*idle_interval)(void);

    /* A PMD thread that has nothing to send, at the end of an iteration of its
     * loop.  Returns true if it should wait in poll_block(), at most so many
     * milliseconds, for what the callback has arranged for. */
    bool (*rest)(long long int now_us, int *ms);

    /* Changes of OpenFlow tables before they are published with the next
     * table version; a failed transaction gives the inverse calls. */
    void (*rule_inserted)(struct ofproto *, struct rule *);
    void (*rule_removed)(struct ofproto *, struct rule *);
    void (*group_removed)(struct ofproto *, uint32_t group_id);

    /* May upstream, which met learn() in the translation of a packet, make an
     * OpenFlow flow like the rule, which is none yet? */
    bool (*may_learn)(struct ofproto *, const struct rule *);

    /* The database's settings of the daemon, at each turn of the main loop,
     * before bridges are made. */
    void (*daemon_configured)(const struct smap *other_config);

    /* The database's settings of a bridge, at every reconfiguration. */
    void (*bridge_configured)(struct ofproto *, const struct uuid *row,
                              const struct smap *other_config,
                              const struct smap *external_ids);
};

extern const struct dp_hooks *dp_hooks;

/* True if nothing is left of the batch. */
bool dp_hook_received(struct dp_netdev_pmd_thread *, struct dp_packet_batch *,
                      odp_port_t port);
/* Recirculates what is left of the batch; returns true. */
bool dp_hook_decapsulated(struct dp_netdev_pmd_thread *,
                          struct dp_packet_batch *);
/* At each iteration of a PMD thread's loop.  Returns how many iterations
 * of a thread that doesn't rest this one stands for besides. */
unsigned int dp_hook_idle(struct dp_netdev_pmd_thread *);
/* Before a PMD thread without ports waits for some. */
void dp_hook_unused(struct dp_netdev_pmd_thread *);
/* A megaflow of a thread was removed from its table, or got other actions. */
void dp_hook_flow_changed(const ovs_u128 *ufid);
void dp_hook_rule_inserted(struct ofproto *, struct rule *);
void dp_hook_rule_removed(struct ofproto *, struct rule *);
void dp_hook_group_removed(struct ofproto *, uint32_t group_id);
bool dp_hook_may_learn(struct ofproto_flow_mod *);
void dp_hook_buckets_copied(struct ofproto_group_mod *);
void dp_hook_group_mod_reverts(struct ofproto *, struct ofproto_group_mod *);
bool dp_hook_group_has_newest(struct ofgroup *, const struct rule *);
void dp_hook_daemon_configured(const struct smap *other_config);
void dp_hook_bridge_configured(struct ofproto *,
                               const struct ovsrec_bridge *row);

/* Accessors of a packet thread, for the callbacks above. */
struct conntrack *dp_pmd_conntrack(const struct dp_netdev_pmd_thread *);
struct conntrack *dp_dpif_conntrack(const struct dpif *);
long long int dp_pmd_now_ms(const struct dp_netdev_pmd_thread *);
/* What each packet thread has done, as dpif-netdev/pmd-stats-show has it.  For
 * the main thread, which has no cycles of its own here, 'core_id' is
 * NON_PMD_CORE_ID.  Returns the number of threads; the caller frees the
 * array. */
struct dp_pmd_work {
    unsigned int core_id;
    int numa_id;
    uint64_t n_packets;                 /* Received. */
    uint64_t busy_cycles, idle_cycles;
};
size_t dp_dpif_work(const struct dpif *, struct dp_pmd_work **);
/* Goes on with a batch that was received on 'port', as upstream does, but that
 * its packets keep their 'md.pkt_mark'; takes it. */
void dp_pmd_input_with_marks(struct dp_netdev_pmd_thread *,
                             struct dp_packet_batch *, odp_port_t port);
/* Counts packets that the callback handled.  'received': they came from an
 * interface; otherwise out of a tunnel, and count as recirculated. */
void dp_pmd_count_compiled(struct dp_netdev_pmd_thread *, bool received,
                           uint64_t n);
/* Counts packets that the callback dropped as upstream drops what it may not
 * translate. */
void dp_pmd_count_lost(struct dp_netdev_pmd_thread *, bool received,
                       uint64_t n);
/* Ports that a thread sent packets to.  Good for one batch. */
struct dp_pmd_tx_cache {
    struct {
        odp_port_t port;
        struct tx_port *tx;             /* NULL: none yet. */
    } ports[16];
};
/* Sends 'packet', and takes it.  It goes out with others for 'port', at the
 * latest at the end of the batch that was received. */
void dp_pmd_send(struct dp_netdev_pmd_thread *, struct dp_pmd_tx_cache *,
                 struct dp_packet *packet, odp_port_t port);
/* The same, with the header of 'push' (OVS_ACTION_ATTR_TUNNEL_PUSH) put before
 * the packet. */
void dp_pmd_send_into_tunnel(struct dp_netdev_pmd_thread *,
                             struct dp_pmd_tx_cache *,
                             struct dp_packet *packet,
                             const struct nlattr *push, odp_port_t port);
/* As dp_pmd_send(), for 'n' packets. */
void dp_pmd_send_train(struct dp_netdev_pmd_thread *, struct dp_pmd_tx_cache *,
                       struct dp_packet *const packets[], size_t n,
                       odp_port_t port);
/* As upstream's, and takes the packets. */
void dp_pmd_execute(struct dp_netdev_pmd_thread *, struct dp_packet_batch *,
                    const struct flow *, const struct nlattr *actions,
                    size_t actions_len);

/* The same, but leaves the packets in the batch, except those that a meter
 * drops. */
void dp_pmd_execute_and_keep(struct dp_netdev_pmd_thread *,
                             struct dp_packet_batch *, const struct flow *,
                             const struct nlattr *actions,
                             size_t actions_len);
/* Runs 'packet' through the datapath's meter 'meter_id'.  Returns false if
 * that has dropped it.  The meter's lock is taken; one that there isn't lets
 * pass. */
bool dp_pmd_meter(struct dp_netdev_pmd_thread *, struct dp_packet *packet,
                  uint32_t meter_id);
/* The same for a copy of 'packet' that need not be made: returns true if it
 * would have passed. */
bool dp_pmd_meter_copy(struct dp_netdev_pmd_thread *,
                       const struct dp_packet *packet, uint32_t meter_id);
/* Counts a packet that ended with a controller, as upstream does. */
void dp_count_sent_to_controller(void);

/* Counts packets that OpenFlow tables dropped, in the event counter that
 * upstream's drop action counts them in. */
void dp_count_drops(unsigned int n);

#endif /* dp-hooks.h */

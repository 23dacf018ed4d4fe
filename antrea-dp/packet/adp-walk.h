/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_WALK_H
#define ADP_WALK_H 1

/* One packet's walk: decide() with the bridge and conntrack as environment.
 *
 * Packet threads and trace share it.  adp_walk() changes nothing in bridge or
 * conntrack, except that output into a tunnel may be translated and kept.
 *
 * Thread-safety: a struct adp_walk belongs to one thread; its verdict is valid
 * until the thread quiesces.
 */

#include "adp-ct.h"
#include "adp-decide.h"

struct adp_bridge;
struct adp_ports;
struct adp_tunnel;

#define ADP_WALK_MAX_TUNNELS 4
#define ADP_WALK_MAX_PORTS 4

/* A port as the walk saw it.  Made by adp_walk_port_init(), so that two that
 * look alike are equal byte for byte. */
struct adp_walk_port {
    ofp_port_t ofp_port;
    odp_port_t odp_port;
    enum adp_port_kind kind : 8;
    enum adp_punt punt : 8;
    bool live;
    bool has_ip;
    bool no_packet_in;
    bool remote_by_flow;
    bool tos_inherit;
    bool ttl_inherit;
};
/* Compared byte by byte. */
BUILD_ASSERT_DECL(sizeof(struct adp_walk_port) == 16);

void adp_walk_port_init(struct adp_walk_port *, const struct adp_ports *,
                        ofp_port_t);

struct adp_walk {
    struct adp_verdict verdict;

    /* Of the packet at hand. */
    struct adp_bridge *bridge;
    const struct adp_program *program;
    uint32_t learn_serial;      /* Of the bridge's learned flows. */
    uint32_t epoch;             /* When it began: adp_walk_epoch(). */
    const struct adp_ports *ports;
    uint64_t ports_serial;      /* Read before any port was asked for. */
    struct adp_walk_port consulted[ADP_WALK_MAX_PORTS];
    size_t n_ports;             /* More than there is room for: some lost. */
    struct adp_ct ct;
    struct adp_tunnel *tunnels[ADP_WALK_MAX_TUNNELS];
    size_t n_tunnels;
    bool tunnel_lost;           /* A tunnel led nowhere: */
    struct adp_tunnel *lost[ADP_WALK_MAX_TUNNELS];  /* these. */
    size_t n_lost;
    bool from_tunnel;
    bool to_ip_port;            /* Output to a port that may end a tunnel, */
    bool concerns_tunnel;       /* and one is upstream's to end, or to note the
                                 * neighbour of. */
    bool has_ct_timeout;        /* A ct() with a timeout policy. */
    uint32_t dp_hash;           /* By which upstream chooses buckets, or 0. */

    void (*trace)(const struct adp_trace_event *, void *aux);
    void *trace_aux;
};

/* Any thread.  What was decided in an epoch before is no longer to be
 * repeated: something has changed that walks depend on and nobody looks at
 * again. */
uint32_t adp_walk_epoch(void);
void adp_walk_begin_epoch(void);

void adp_walk_init(struct adp_walk *);
void adp_walk_uninit(struct adp_walk *);

/* What adp_walk() does before it decides. */
void adp_walk_prepare(struct adp_walk *, struct adp_bridge *,
                      struct conntrack *, struct dp_packet *, bool from_tunnel,
                      long long int now_ms);

/* 'flow' as adp_decide() wants it, and is changed. */
void adp_walk(struct adp_walk *, struct adp_bridge *, struct conntrack *,
              struct dp_packet *, struct flow *, long long int now_ms);

/* True if what the walk found out about connections can be done without
 * executing ct(). */
static inline bool
adp_walk_may_apply(const struct adp_walk *w)
{
    return !w->has_ct_timeout && w->ct.peek.applicable;
}

#endif /* adp-walk.h */

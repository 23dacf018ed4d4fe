/* SPDX-License-Identifier: Apache-2.0 */

/* Packets on their way into the compiled pipeline.
 *
 * Runs in PMD threads and, for ports without a PMD, in the main thread.  A packet
 * of a bridge of type "antrea" is parsed, decided on and, unless it is
 * punted, sent where the verdict says; a punted one stays in the batch, and
 * upstream goes on with it as if nothing had happened. */

#include <config.h>
#include "adp-bridge-private.h"

#include "adp-tunnel.h"
#include "adp-walk.h"
#include "dp-hooks.h"
#include "dp-packet.h"
#include "dpif-netdev-private.h"
#include "netdev-vport.h"
#include "ofproto/tunnel.h"
#include "ovs-thread.h"
#include "packets.h"
#include "tnl-ports.h"

/* What a thread keeps from one packet to the next.  Executing a verdict may
 * decapsulate the packet and so start a walk inside a walk. */
#define MAX_NESTING 8

struct thread_walks {
    int depth;
    struct adp_walk walks[MAX_NESTING];
};

static void
thread_walks_destroy(void *tw_)
{
    struct thread_walks *tw = tw_;

    for (int i = 0; i < MAX_NESTING; i++) {
        adp_walk_uninit(&tw->walks[i]);
    }
    free(tw);
}

static struct thread_walks *
thread_walks_get(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;
    static ovsthread_key_t key;

    if (ovsthread_once_start(&once)) {
        ovsthread_key_create(&key, thread_walks_destroy);
        ovsthread_once_done(&once);
    }
    struct thread_walks *tw = ovsthread_getspecific(key);
    if (!tw) {
        tw = xmalloc(sizeof *tw);
        tw->depth = 0;
        for (int i = 0; i < MAX_NESTING; i++) {
            adp_walk_init(&tw->walks[i]);
        }
        ovsthread_setspecific(key, tw);
    }
    return tw;
}

/* Accounting. */

static void
count_punt(struct adp_bridge *b, enum adp_punt punt, const struct flow *flow)
{
    adp_count(&b->counters.punts[punt], 1);
    if (flow->dl_type == htons(ETH_TYPE_IP)
        || flow->dl_type == htons(ETH_TYPE_IPV6)) {
        adp_count(&b->counters.ip_punts, 1);
    }
}

static void
count_drop(struct adp_bridge *b, const struct adp_walk *w)
{
    enum adp_drop why = (w->tunnel_lost ? ADP_DROP_TUNNEL
                         : w->verdict.drop_rule ? ADP_DROP_FLOW
                         : ADP_DROP_MISS);

    adp_count(&b->counters.drops[why], 1);
}

static void
credit(struct adp_bridge *b, const struct adp_walk *w, uint64_t n_bytes,
       uint16_t tcp_flags, long long int now)
{
    const struct adp_verdict *v = &w->verdict;

    for (size_t i = 0; i < v->n_hits; i++) {
        const struct adp_hit *hit = &v->hits[i];

        switch (hit->kind) {
        case ADP_HIT_RULE:
            adp_stats_credit_rule(b->sink, hit->rule, 1, n_bytes, now,
                                  tcp_flags);
            adp_count(&b->counters.tables[hit->table_id].matched, 1);
            break;
        case ADP_HIT_MISS:
            adp_count(&b->counters.tables[hit->table_id].missed, 1);
            break;
        case ADP_HIT_BUCKET:
            adp_stats_credit_group(b->sink, hit->group, hit->bucket, 1,
                                   n_bytes, now);
            break;
        }
    }
    for (size_t i = 0; i < w->n_tunnels; i++) {
        adp_tunnel_credit(w->tunnels[i], 1, n_bytes);
    }
    adp_count(&b->counters.handled, 1);
    adp_count(&b->counters.handled_bytes, n_bytes);
    if (v->dropped || (w->tunnel_lost && !w->n_tunnels)) {
        count_drop(b, w);
    }
}

static void
learn(struct adp_bridge *b, const struct adp_verdict *v)
{
    for (size_t i = 0; i < v->n_learned; i++) {
        const struct ofputil_flow_mod *fm = &v->learned[i].fm;

        if (adp_learn_table_insert(b->learn, fm)) {
            adp_count(&b->counters.learned, 1);
            adp_learn_enqueue(b, fm);
        }
    }
}

/* Deciding. */

static bool
is_miss(const struct adp_verdict *v)
{
    return v->n_hits && v->hits[v->n_hits - 1].kind == ADP_HIT_MISS;
}

/* Why the packet can't be decided on at all. */
static enum adp_punt
punt_early(struct adp_bridge *b, const struct flow *flow)
{
    bool uncompiled;

    atomic_read_relaxed(&b->uncompiled, &uncompiled);
    return (uncompiled ? ADP_PUNT_BRIDGE
            : flow->nw_frag & FLOW_NW_FRAG_ANY ? ADP_PUNT_FRAGMENT
            : ADP_PUNT_NONE);
}

/* True if the packet, now with the headers of 'flow', goes to a port with an
 * address of ours and is a tunnel's: upstream ends the tunnel there. */
static bool
ends_tunnel(const struct adp_walk *w, struct flow *flow)
{
    struct flow_wildcards wc;

    if (!w->to_ip_port || w->verdict.dropped) {
        return false;
    }
    memset(&wc, 0, sizeof wc);
    return tnl_port_map_lookup(flow, &wc) != ODPP_NONE;
}

static enum adp_punt
punt_late(struct adp_bridge *b, const struct adp_walk *w, struct flow *flow)
{
    const struct adp_verdict *v = &w->verdict;
    bool miss_to_controller;

    if (v->punt) {
        return v->punt;
    }
    if (ends_tunnel(w, flow)) {
        return ADP_PUNT_TUNNEL;
    }
    atomic_read_relaxed(&b->miss_to_controller, &miss_to_controller);
    return (miss_to_controller && is_miss(v) ? ADP_PUNT_CONTROLLER
            : ADP_PUNT_NONE);
}

static void
execute(struct dp_netdev_pmd_thread *pmd, struct dp_packet *packet,
        const struct flow *flow, const struct adp_verdict *v)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, packet);
    if (v->actions.size) {
        dp_pmd_execute(pmd, &batch, flow, v->actions.data, v->actions.size);
    } else {
        dp_packet_delete_batch(&batch, true);
    }
}

/* Decides and, unless the packet is punted, does what the verdict says. */
static enum adp_punt
walk_and_execute(struct dp_netdev_pmd_thread *pmd, struct adp_bridge *b,
                 struct dp_packet *packet, const struct flow *original,
                 struct adp_walk *w)
{
    long long int now = dp_pmd_now_ms(pmd);
    struct flow flow = *original;
    enum adp_punt punt;

    uint64_t start = cycles_counter_update(&pmd->perf_stats);
    adp_walk(w, b, dp_pmd_conntrack(pmd), packet, &flow, now);
    adp_count(&b->counters.decides, 1);
    adp_count(&b->counters.decide_cycles,
              cycles_counter_update(&pmd->perf_stats) - start);

    punt = punt_late(b, w, &flow);
    if (!punt) {
        learn(b, &w->verdict);
        credit(b, w, dp_packet_size(packet), ntohs(original->tcp_flags), now);
        execute(pmd, packet, original, &w->verdict);
    }
    return punt;
}

/* Returns true if the packet was handled, and is gone. */
static bool
handle(struct dp_netdev_pmd_thread *pmd, struct adp_bridge *b,
       struct dp_packet *packet, const struct flow *flow)
{
    struct thread_walks *tw = thread_walks_get();
    enum adp_punt punt = punt_early(b, flow);

    if (!punt && tw->depth >= MAX_NESTING) {
        punt = ADP_PUNT_DEPTH;
    }
    if (!punt) {
        struct adp_walk *w = &tw->walks[tw->depth++];

        punt = walk_and_execute(pmd, b, packet, flow, w);
        tw->depth--;
    }
    if (punt) {
        count_punt(b, punt, flow);
    }
    return !punt;
}

/* Parsing. */

static void
parse(struct dp_packet *packet, struct flow *flow)
{
    struct {
        struct miniflow mf;
        uint64_t buf[FLOW_U64S];
    } m;

    miniflow_extract(packet, &m.mf);
    /* Tunnels take the outer source port from it. */
    dpif_netdev_packet_get_rss_hash_orig_pkt(packet, &m.mf);
    miniflow_expand(&m.mf, flow);
}

static const struct tun_table *
tunnel_options(const struct adp_bridge *b)
{
    return ofproto_get_tun_tab(&b->dpif.up);
}

void
adp_input_received(struct dp_netdev_pmd_thread *pmd,
                   struct dp_packet_batch *batch, odp_port_t odp_port)
{
    const size_t n = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    ofp_port_t ofp_port;
    size_t n_handled = 0, i;

    struct adp_bridge *b = adp_ports_input(odp_port, &ofp_port);
    if (!b) {
        return;
    }

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, batch) {
        struct flow flow;

        if (dp_packet_size(packet) >= ETH_HEADER_LEN) {
            pkt_metadata_init(&packet->md, odp_port);
            parse(packet, &flow);
            flow.in_port.ofp_port = ofp_port;
            flow.tunnel.metadata.tab = tunnel_options(b);
            if (handle(pmd, b, packet, &flow)) {
                n_handled++;
                continue;
            }
        }
        dp_packet_batch_refill(batch, packet, i);
    }
    dp_pmd_count_compiled(pmd, true, n_handled);
}

/* Completes the flow of a packet that came out of a tunnel.  Returns its bridge,
 * or NULL if it is none of ours or upstream has to see it. */
static struct adp_bridge *
find_tunnel_bridge(struct flow *flow)
{
    struct flow_tnl tunnel = flow->tunnel;
    uint8_t nw_tos = flow->nw_tos;
    ofp_port_t ofp_port;

    struct adp_bridge *b = adp_ports_input_tunnel(flow, &ofp_port);
    if (!b) {
        return NULL;
    }
    flow->in_port.ofp_port = ofp_port;
    if (tunnel.flags & FLOW_TNL_F_UDPIF) {
        if (tun_metadata_from_geneve_udpif(tunnel_options(b), &tunnel,
                                           &tunnel, &flow->tunnel)) {
            return NULL;
        }
    } else {
        flow->tunnel.metadata.tab = tunnel_options(b);
    }

    /* Congestion marks move from the outer to the inner header. */
    if (!tnl_process_ecn(flow) || flow->nw_tos != nw_tos) {
        count_punt(b, ADP_PUNT_TUNNEL, flow);
        return NULL;
    }
    return b;
}

static void
credit_tunnel_port(const struct adp_bridge *b, ofp_port_t ofp_port,
                   uint64_t n_bytes)
{
    const struct adp_port *port = adp_ports_find(
        ovsrcu_get(struct adp_ports *, &b->ports), ofp_port);

    if (port && port->netdev) {
        struct dpif_flow_stats stats = {
            .n_packets = 1,
            .n_bytes = n_bytes,
        };
        netdev_vport_inc_rx(port->netdev, &stats);
    }
}

void
adp_input_decapsulated(struct dp_netdev_pmd_thread *pmd,
                       struct dp_packet_batch *batch)
{
    const size_t n = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    size_t n_handled = 0, i;

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, batch) {
        uint64_t n_bytes = dp_packet_size(packet);
        struct adp_bridge *b;
        struct flow flow;

        if (n_bytes >= ETH_HEADER_LEN) {
            parse(packet, &flow);
            b = find_tunnel_bridge(&flow);
            if (b && handle(pmd, b, packet, &flow)) {
                credit_tunnel_port(b, flow.in_port.ofp_port, n_bytes);
                n_handled++;
                continue;
            }
        }
        dp_packet_batch_refill(batch, packet, i);
    }
    if (n_handled) {
        dp_pmd_count_compiled(pmd, false, n_handled);
    }
}

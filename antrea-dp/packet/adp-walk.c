/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-walk.h"

#include "adp-bridge-shared.h"
#include "adp-tunnel.h"
#include "packets.h"
#include "tnl-ports.h"
#include "util.h"

static struct adp_walk *
walk_of(const struct adp_env *env)
{
    return env->aux;
}

static enum adp_punt
walk_ct(const struct adp_env *env, const struct adp_ct_request *req,
        struct flow *flow)
{
    return adp_ct_ask(&walk_of(env)->ct, req, flow);
}

/* Room for the name of a timeout policy, per thread: the caller copies it. */
DEFINE_STATIC_PER_THREAD_DATA(struct { char s[32]; }, timeout_name, { "" });

static const char *
walk_ct_timeout(const struct adp_env *env, uint16_t zone,
                const struct flow *flow)
{
    const struct dpif_backer *backer = walk_of(env)->bridge->dpif.backer;
    bool unwildcard;
    char *name;

    if (!backer->rt_support.ct_timeout
        || !ofproto_dpif_ct_zone_timeout_policy_get_name(
            backer, zone, ntohs(flow->dl_type), flow->nw_proto, &name,
            &unwildcard)) {
        return NULL;
    }

    walk_of(env)->has_ct_timeout = true;
    char *s = timeout_name_get()->s;
    ovs_strlcpy(s, name, sizeof timeout_name_get()->s);
    free(name);
    return s;
}

static atomic_uint32_t epoch = 0;

uint32_t
adp_walk_epoch(void)
{
    uint32_t value;

    atomic_read_explicit(&epoch, &value, memory_order_acquire);
    return value;
}

void
adp_walk_begin_epoch(void)
{
    uint32_t orig;

    atomic_add_explicit(&epoch, 1, &orig, memory_order_release);
}

void
adp_walk_port_init(struct adp_walk_port *wp, const struct adp_ports *ports,
                   ofp_port_t ofp_port)
{
    const struct adp_port *port = adp_ports_find(ports, ofp_port);

    memset(wp, 0, sizeof *wp);
    wp->ofp_port = ofp_port;
    wp->kind = ADP_PORT_ABSENT;
    wp->no_packet_in = true;
    if (port) {
        wp->kind = port->info.kind;
        wp->odp_port = port->info.odp_port;
        wp->punt = port->info.punt;
        wp->live = port->live;
        wp->has_ip = port->has_ip;
        wp->no_packet_in = port->no_packet_in;
        wp->remote_by_flow = port->info.remote_by_flow;
        wp->tos_inherit = port->tos_inherit;
        wp->ttl_inherit = port->ttl_inherit;
    } else if (ofp_port == OFPP_CONTROLLER) {
        wp->live = ports && ports->controlled;
    }
}

/* What is known of 'ofp_port', which the walk depends on from now on. */
static void
consult_port(struct adp_walk *w, ofp_port_t ofp_port,
             struct adp_walk_port *wp)
{
    adp_walk_port_init(wp, w->ports, ofp_port);
    if (w->n_ports < ADP_WALK_MAX_PORTS) {
        w->consulted[w->n_ports] = *wp;
    }
    w->n_ports++;
}

/* True if upstream may learn from the packet where a tunnel's neighbour is. */
static bool
tells_neighbour(const struct flow *flow)
{
    return (flow->dl_type == htons(ETH_TYPE_ARP)
            || (flow->dl_type == htons(ETH_TYPE_IPV6)
                && flow->nw_proto == IPPROTO_ICMPV6
                && flow->tp_src == htons(ND_NEIGHBOR_ADVERT)));
}

/* True if upstream ends a tunnel with the packet at a port with an address of
 * ours, or notes a tunnel's neighbour. */
static bool
concerns_tunnel(const struct flow *flow)
{
    struct flow_wildcards wc;

    if (tells_neighbour(flow)) {
        return true;
    }
    memset(&wc, 0, sizeof wc);
    return (tnl_port_map_lookup(CONST_CAST(struct flow *, flow), &wc)
            != ODPP_NONE);
}

static void
walk_port(const struct adp_env *env, ofp_port_t ofp_port,
          const struct flow *flow, struct adp_port_info *info)
{
    struct adp_walk *w = walk_of(env);
    struct adp_walk_port wp;

    consult_port(w, ofp_port, &wp);
    info->kind = wp.kind;
    info->odp_port = wp.odp_port;
    info->punt = wp.punt;
    info->remote_by_flow = wp.remote_by_flow;
    if (wp.has_ip) {
        w->to_ip_port = true;
        w->concerns_tunnel |= concerns_tunnel(flow);
    }
}

static uint32_t
walk_controller_meter(const struct adp_env *env)
{
    return adp_bridge_controller_meter(walk_of(env)->bridge);
}

static bool
walk_tells_miss(const struct adp_env *env, ofp_port_t ofp_port,
                bool by_default)
{
    struct adp_walk_port wp;

    if (by_default) {
        return adp_bridge_sends_misses(walk_of(env)->bridge);
    }
    consult_port(walk_of(env), ofp_port, &wp);
    return !wp.no_packet_in;
}

static bool
walk_port_is_live(const struct adp_env *env, ofp_port_t ofp_port)
{
    struct adp_walk_port wp;

    consult_port(walk_of(env), ofp_port, &wp);
    return wp.live;
}

/* The bucket that upstream chooses by the hash of the packet, or UINT32_MAX:
 * it may be one that isn't known here yet. */
static uint32_t
find_bucket(const struct adp_group *group, const struct group_dpif *upstreams,
            uint32_t hash)
{
    uint32_t id = upstreams->hash_map[hash & upstreams->hash_mask]->bucket_id;

    for (size_t i = 0; i < group->n_buckets; i++) {
        if (group->buckets[i].bucket_id == id) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* Of a packet that upstream takes it is upstream's choice that counts: by
 * parts of the packet, hashed once for all groups. */
static enum adp_punt
walk_choose(const struct adp_env *env, const struct adp_group *group,
            const struct flow *flow, uint32_t *bucket)
{
    struct adp_walk *w = walk_of(env);
    struct ofproto_dpif *o = &w->bridge->dpif;

    if (OVS_LIKELY(adp_bridge_mode(w->bridge) != ADP_MODE_WATCHED)) {
        return ADP_PUNT_NONE;
    }

    const struct group_dpif *upstreams = group_dpif_lookup(
        o, group->group_id, ofproto_dpif_get_tables_version(o), false);

    if (upstreams && !group->watches
        && upstreams->selection_method == SEL_METHOD_DP_HASH
        && upstreams->hash_alg == OVS_HASH_ALG_SYM_L4) {
        if (!w->dp_hash) {
            w->dp_hash = flow_hash_symmetric_l3l4(flow, upstreams->hash_basis,
                                                  false);
        }
        *bucket = find_bucket(group, upstreams, w->dp_hash);
    }
    return *bucket == UINT32_MAX ? ADP_PUNT_BRIDGE : ADP_PUNT_NONE;
}

static enum adp_punt
walk_output_tunnel(const struct adp_env *env, ofp_port_t port,
                   const struct flow *flow, struct ofpbuf *actions)
{
    struct adp_walk *w = walk_of(env);

    /* Stock refuses to send a packet back to where its tunnel ended, which
     * takes the tunnel metadata that it came with. */
    if (w->from_tunnel || w->n_tunnels >= ARRAY_SIZE(w->tunnels)
        || w->n_lost >= ARRAY_SIZE(w->lost)) {
        return ADP_PUNT_TUNNEL;
    }

    struct adp_tunnel *t = adp_tunnel_find(w->bridge, port, flow);
    if (!t) {
        return ADP_PUNT_TUNNEL;
    }
    const struct adp_tunnel_actions *tnl_actions
        = adp_tunnel_actions(t, w->ct.peek.now);
    if (!tnl_actions) {
        return ADP_PUNT_TUNNEL;         /* Out of date already. */
    }
    if (tnl_actions->size) {
        ofpbuf_put(actions, tnl_actions->data, tnl_actions->size);
        w->tunnels[w->n_tunnels++] = t;
    } else {
        /* The tunnel's port counts it as sent all the same. */
        w->tunnel_lost = true;
        w->lost[w->n_lost++] = t;
    }
    return ADP_PUNT_NONE;
}

static void
walk_trace(const struct adp_env *env, const struct adp_trace_event *event)
{
    struct adp_walk *w = walk_of(env);

    w->trace(event, w->trace_aux);
}

static const struct adp_env_class walk_class = {
    .ct = walk_ct,
    .ct_timeout = walk_ct_timeout,
    .port = walk_port,
    .output_tunnel = walk_output_tunnel,
    .controller_meter = walk_controller_meter,
    .tells_miss = walk_tells_miss,
    .port_is_live = walk_port_is_live,
    .choose = walk_choose,
};

static const struct adp_env_class traced_walk_class = {
    .ct = walk_ct,
    .ct_timeout = walk_ct_timeout,
    .port = walk_port,
    .output_tunnel = walk_output_tunnel,
    .controller_meter = walk_controller_meter,
    .tells_miss = walk_tells_miss,
    .port_is_live = walk_port_is_live,
    .choose = walk_choose,
    .trace = walk_trace,
};

void
adp_walk_init(struct adp_walk *w)
{
    memset(w, 0, sizeof *w);
    adp_verdict_init(&w->verdict);
}

void
adp_walk_uninit(struct adp_walk *w)
{
    adp_verdict_uninit(&w->verdict);
    conntrack_peek_uninit(&w->ct.peek);
}

void
adp_walk_prepare(struct adp_walk *w, struct adp_bridge *b,
                 struct conntrack *tracker, struct dp_packet *packet,
                 bool from_tunnel, long long int now_ms)
{
    w->epoch = adp_walk_epoch();
    w->bridge = b;
    w->program = ovsrcu_get(struct adp_program *, &b->program);
    w->learn_serial = adp_learn_table_serial(b->learn);
    w->n_ports = 0;
    w->ports = ovsrcu_get(struct adp_ports *, &b->ports);
    w->ports_serial = adp_ports_serial(w->ports);
    w->n_tunnels = 0;
    w->tunnel_lost = false;
    w->n_lost = 0;
    w->to_ip_port = w->concerns_tunnel = false;
    w->has_ct_timeout = false;
    w->dp_hash = 0;
    w->from_tunnel = from_tunnel;
    adp_ct_init(&w->ct, tracker, packet, now_ms);
}

void
adp_walk(struct adp_walk *w, struct adp_bridge *b, struct conntrack *tracker,
         struct dp_packet *packet, struct flow *flow, long long int now_ms)
{
    struct adp_env env = {
        .class = w->trace ? &traced_walk_class : &walk_class,
        .aux = w,
    };

    adp_walk_prepare(w, b, tracker, packet,
                     flow_tnl_dst_is_set(&flow->tunnel), now_ms);
    adp_decide(w->program, b->learn, &env, flow, &w->verdict);
}

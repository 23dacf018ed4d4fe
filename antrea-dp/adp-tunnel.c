/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-tunnel.h"

#include "adp-bridge-private.h"
#include "cmap.h"
#include "connectivity.h"
#include "hash.h"
#include "netdev.h"
#include "ofproto/ofproto-dpif-xlate.h"
#include "ofproto/ofproto-dpif-xlate-cache.h"
#include "openvswitch/meta-flow.h"
#include "ovs-thread.h"
#include "timeval.h"

#define LIFETIME_MS 500
#define N_MAX 10000             /* More are translated anew each time. */

struct adp_tunnels {
    struct cmap map;                    /* struct adp_tunnel. */
    struct ovs_mutex mutex;             /* Guards changes of 'map'. */
};

/* What upstream's translation of the output depends on.  No padding. */
struct tunnel_key {
    struct in6_addr ipv6_src, ipv6_dst;
    ovs_be64 tun_id;
    ovs_be32 ip_src, ip_dst;
    uint32_t ofp_port, in_port;
    uint32_t pkt_mark, skb_priority;
    uint16_t flags;
    ovs_be16 dl_type;
    uint8_t ip_tos, ip_ttl;             /* Of the tunnel. */
    uint8_t nw_tos, nw_ttl;             /* Of the packet. */
};
BUILD_ASSERT_DECL(sizeof(struct tunnel_key) == 72);

struct adp_tunnel {
    struct cmap_node node;
    struct tunnel_key key;

    /* When it was translated, and under which conditions. */
    long long int expires;
    uint64_t tnl_seqno, connectivity_seqno;

    struct ofpbuf actions;
    struct xlate_cache *xcache;
    atomic_uint64_t n_packets, n_bytes; /* Since the last fold. */
    atomic_llong used;
};

struct adp_tunnels *
adp_tunnels_create(void)
{
    struct adp_tunnels *tunnels = xmalloc(sizeof *tunnels);

    cmap_init(&tunnels->map);
    ovs_mutex_init(&tunnels->mutex);
    return tunnels;
}

/* Upstream's counters for what went this way: the underlay's flows, the
 * interfaces, the life of the neighbour entry. */
static void
tunnel_fold(struct adp_tunnel *t)
{
    struct dpif_flow_stats stats = { .n_packets = 0 };
    long long int used;

    stats.n_packets = atomic_exchange(&t->n_packets, 0);
    stats.n_bytes = atomic_exchange(&t->n_bytes, 0);
    if (stats.n_packets) {
        atomic_read_relaxed(&t->used, &used);
        stats.used = used;
        xlate_push_stats(t->xcache, &stats, false);
    }
}

static void
tunnel_free(struct adp_tunnel *t)
{
    tunnel_fold(t);
    xlate_cache_delete(t->xcache);
    ofpbuf_uninit(&t->actions);
    free(t);
}

static uint32_t
key_hash(const struct tunnel_key *key)
{
    return hash_bytes(key, sizeof *key, 0);
}

static void
tunnel_remove(struct adp_tunnels *tunnels, struct adp_tunnel *t)
    OVS_REQUIRES(tunnels->mutex)
{
    cmap_remove(&tunnels->map, &t->node, key_hash(&t->key));
    ovsrcu_postpone(tunnel_free, t);
}

void
adp_tunnels_destroy(struct adp_tunnels *tunnels)
{
    struct adp_tunnel *t;

    ovs_mutex_lock(&tunnels->mutex);
    CMAP_FOR_EACH (t, node, &tunnels->map) {
        tunnel_remove(tunnels, t);
    }
    ovs_mutex_unlock(&tunnels->mutex);
    cmap_destroy(&tunnels->map);
    ovs_mutex_destroy(&tunnels->mutex);
    free(tunnels);
}

static bool
tunnel_is_current(const struct adp_tunnel *t, long long int now)
{
    return (now < t->expires
            && t->tnl_seqno == seq_read(tnl_conf_seq)
            && t->connectivity_seqno == seq_read(connectivity_seq_get()));
}

void
adp_tunnels_run(struct adp_tunnels *tunnels)
{
    long long int now = time_msec();
    struct adp_tunnel *t;

    CMAP_FOR_EACH (t, node, &tunnels->map) {
        tunnel_fold(t);
        if (!tunnel_is_current(t, now)) {
            ovs_mutex_lock(&tunnels->mutex);
            tunnel_remove(tunnels, t);
            ovs_mutex_unlock(&tunnels->mutex);
        }
    }
}

/* Tunnel metadata that only stock translation knows how to set. */
static bool
has_more_metadata(const struct flow_tnl *tnl)
{
    return (tnl->metadata.present.map || tnl->gbp_id || tnl->gbp_flags
            || tnl->erspan_ver || tnl->gtpu_flags || tnl->gtpu_msgtype);
}

static void
put_tunnel_field(struct ofpbuf *ofpacts, enum mf_field_id id,
                 const struct flow *flow)
{
    const struct mf_field *mf = mf_from_id(id);
    union mf_value value;

    mf_get_value(mf, flow, &value);
    if (!is_all_zeros(&value, mf->n_bytes)) {
        ofpact_put_set_field(ofpacts, mf, &value, NULL);
    }
}

/* The flow's tunnel metadata as actions, and the output. */
static void
put_output(struct ofpbuf *ofpacts, ofp_port_t port, const struct flow *flow)
{
    static const enum mf_field_id fields[] = {
        MFF_TUN_ID, MFF_TUN_SRC, MFF_TUN_DST, MFF_TUN_IPV6_SRC,
        MFF_TUN_IPV6_DST, MFF_TUN_FLAGS, MFF_TUN_TTL, MFF_TUN_TOS,
    };

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        put_tunnel_field(ofpacts, fields[i], flow);
    }
    ofpact_put_OUTPUT(ofpacts)->port = port;
}

/* Returns NULL if stock translation wants to see each packet. */
static struct adp_tunnel *
tunnel_translate(struct adp_bridge *b, ofp_port_t port,
                 const struct flow *flow, const struct tunnel_key *key)
{
    uint64_t stub[256 / 8];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    struct adp_tunnel *t = xzalloc(sizeof *t);
    struct xlate_out xout;
    struct xlate_in xin;
    struct flow plain = *flow;

    t->key = *key;
    t->expires = time_msec() + LIFETIME_MS;
    t->tnl_seqno = seq_read(tnl_conf_seq);
    t->connectivity_seqno = seq_read(connectivity_seq_get());
    t->xcache = xlate_cache_new();
    ofpbuf_init(&t->actions, 256);

    put_output(&ofpacts, port, flow);
    memset(&plain.tunnel, 0, sizeof plain.tunnel);
    xlate_in_init(&xin, &b->dpif, ofproto_dpif_get_tables_version(&b->dpif),
                  &plain, flow->in_port.ofp_port, NULL, 0, NULL, NULL,
                  &t->actions);
    xin.ofpacts = ofpacts.data;
    xin.ofpacts_len = ofpacts.size;
    xin.xcache = t->xcache;

    enum xlate_error error = xlate_actions(&xin, &xout);
    bool usable = !error && !xout.slow && !xout.avoid_caching;
    xlate_out_uninit(&xout);
    ofpbuf_uninit(&ofpacts);
    if (!usable) {
        tunnel_free(t);
        return NULL;
    }
    return t;
}

static struct adp_tunnel *
tunnel_lookup(const struct adp_tunnels *tunnels, const struct tunnel_key *key)
{
    long long int now = time_msec();
    struct adp_tunnel *t;

    CMAP_FOR_EACH_WITH_HASH (t, node, key_hash(key), &tunnels->map) {
        if (!memcmp(&t->key, key, sizeof *key) && tunnel_is_current(t, now)) {
            return t;
        }
    }
    return NULL;
}

struct adp_tunnel *
adp_tunnel_find(struct adp_bridge *b, ofp_port_t port,
                const struct flow *flow)
{
    const struct flow_tnl *tnl = &flow->tunnel;
    struct adp_tunnels *tunnels = b->tunnels;

    if (has_more_metadata(tnl)) {
        return NULL;
    }

    struct tunnel_key key = {
        .ipv6_src = tnl->ipv6_src,
        .ipv6_dst = tnl->ipv6_dst,
        .tun_id = tnl->tun_id,
        .ip_src = tnl->ip_src,
        .ip_dst = tnl->ip_dst,
        .ofp_port = ofp_to_u16(port),
        .in_port = ofp_to_u16(flow->in_port.ofp_port),
        .pkt_mark = flow->pkt_mark,
        .skb_priority = flow->skb_priority,
        .flags = tnl->flags,
        .dl_type = flow->dl_type,
        .ip_tos = tnl->ip_tos,
        .ip_ttl = tnl->ip_ttl,
        .nw_tos = flow->nw_tos,
        .nw_ttl = flow->nw_ttl,
    };
    struct adp_tunnel *t = tunnel_lookup(tunnels, &key);

    if (!t) {
        t = tunnel_translate(b, port, flow, &key);
        if (t) {
            ovs_mutex_lock(&tunnels->mutex);
            cmap_insert(&tunnels->map, &t->node, key_hash(&key));
            if (cmap_count(&tunnels->map) > N_MAX) {
                tunnel_remove(tunnels, t);
            }
            ovs_mutex_unlock(&tunnels->mutex);
        }
    }
    return t;
}

void
adp_tunnel_put_actions(const struct adp_tunnel *t, struct ofpbuf *actions)
{
    ofpbuf_put(actions, t->actions.data, t->actions.size);
}

bool
adp_tunnel_is_usable(const struct adp_tunnel *t)
{
    return t->actions.size > 0;
}

void
adp_tunnel_credit(struct adp_tunnel *t, uint64_t n_packets, uint64_t n_bytes)
{
    adp_count(&t->n_packets, n_packets);
    adp_count(&t->n_bytes, n_bytes);
    atomic_store_relaxed(&t->used, time_msec());
}

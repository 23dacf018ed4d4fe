/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-tunnel.h"

#include "adp-bridge-shared.h"
#include "cmap.h"
#include "connectivity.h"
#include "hash.h"
#include "netdev.h"
#include "ofproto/ofproto-dpif-xlate.h"
#include "ofproto/ofproto-dpif-xlate-cache.h"
#include "openvswitch/meta-flow.h"
#include "ovs-thread.h"
#include "seq.h"
#include "timeval.h"

#define LIFETIME_MS 500         /* Of a way. */
#define IDLE_MS 5000            /* Of a tunnel that nobody takes. */
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

/* A translation, and under which conditions it was made.  Immutable but for
 * 'outdated'. */
struct tunnel_way {
    long long int expires;
    uint64_t tnl_seqno, connectivity_seqno;
    atomic_bool outdated;               /* The main thread says so. */
    struct ofpbuf actions;
    struct xlate_cache *xcache;
};

struct adp_tunnel {
    struct cmap_node node;
    struct ovs_refcount ref_cnt;        /* The map holds one. */
    struct tunnel_key key;
    OVSRCU_TYPE(struct tunnel_way *) way;   /* Set with the map's mutex. */
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

static struct tunnel_way *
present_way(const struct adp_tunnel *t)
{
    return ovsrcu_get(struct tunnel_way *, &t->way);
}

static void
way_free(struct tunnel_way *way)
{
    xlate_cache_delete(way->xcache);
    ofpbuf_uninit(&way->actions);
    free(way);
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
        xlate_push_stats(present_way(t)->xcache, &stats, false);
    }
}

static void
tunnel_free(struct adp_tunnel *t)
{
    tunnel_fold(t);
    way_free(ovsrcu_get_protected(struct tunnel_way *, &t->way));
    free(t);
}

bool
adp_tunnel_try_ref(struct adp_tunnel *t)
{
    return ovs_refcount_try_ref_rcu(&t->ref_cnt);
}

void
adp_tunnel_unref(struct adp_tunnel *t)
{
    if (t && ovs_refcount_unref_relaxed(&t->ref_cnt) == 1) {
        ovsrcu_postpone(tunnel_free, t);
    }
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
    adp_tunnel_unref(t);
}

static void
tunnels_destroy__(struct adp_tunnels *tunnels)
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

void
adp_tunnels_destroy(struct adp_tunnels *tunnels)
{
    ovsrcu_postpone(tunnels_destroy__, tunnels);
}

static bool
way_is_current(const struct tunnel_way *way, long long int now)
{
    return (now < way->expires
            && way->tnl_seqno == seq_read(tnl_conf_seq)
            && way->connectivity_seqno == seq_read(connectivity_seq_get()));
}

void
adp_tunnels_run(struct adp_tunnels *tunnels)
{
    long long int now = time_msec();
    struct adp_tunnel *t;

    CMAP_FOR_EACH (t, node, &tunnels->map) {
        struct tunnel_way *way = present_way(t);
        long long int used;

        tunnel_fold(t);
        if (!way_is_current(way, now)) {
            atomic_store_relaxed(&way->outdated, true);
        }
        atomic_read_relaxed(&t->used, &used);
        if (now >= used + IDLE_MS) {
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
static struct tunnel_way *
translate(struct adp_bridge *b, ofp_port_t port, const struct flow *flow)
{
    uint64_t stub[256 / 8];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    struct tunnel_way *way = xzalloc(sizeof *way);
    struct xlate_out xout;
    struct xlate_in xin;
    struct flow plain = *flow;

    way->expires = time_msec() + LIFETIME_MS;
    way->tnl_seqno = seq_read(tnl_conf_seq);
    way->connectivity_seqno = seq_read(connectivity_seq_get());
    way->xcache = xlate_cache_new();
    ofpbuf_init(&way->actions, 256);

    put_output(&ofpacts, port, flow);
    memset(&plain.tunnel, 0, sizeof plain.tunnel);
    xlate_in_init(&xin, &b->dpif, ofproto_dpif_get_tables_version(&b->dpif),
                  &plain, flow->in_port.ofp_port, NULL, 0, NULL, NULL,
                  &way->actions);
    xin.ofpacts = ofpacts.data;
    xin.ofpacts_len = ofpacts.size;
    xin.xcache = way->xcache;

    enum xlate_error error = xlate_actions(&xin, &xout);
    bool usable = !error && !xout.slow && !xout.avoid_caching;
    xlate_out_uninit(&xout);
    ofpbuf_uninit(&ofpacts);
    if (!usable) {
        way_free(way);
        return NULL;
    }
    /* Upstream makes it an action of the packet that there is no way. */
    if (way->actions.size
        && nl_attr_type(way->actions.data) == OVS_ACTION_ATTR_DROP) {
        ofpbuf_clear(&way->actions);
    }
    return way;
}

static struct adp_tunnel *
tunnel_lookup(const struct adp_tunnels *tunnels, const struct tunnel_key *key)
{
    struct adp_tunnel *t;

    CMAP_FOR_EACH_WITH_HASH (t, node, key_hash(key), &tunnels->map) {
        if (!memcmp(&t->key, key, sizeof *key)) {
            return t;
        }
    }
    return NULL;
}

/* Gives the tunnel with 'key' a new way, and makes it if need be. */
static struct adp_tunnel *
tunnel_set_way(struct adp_tunnels *tunnels, const struct tunnel_key *key,
               struct tunnel_way *way)
{
    struct tunnel_way *old = NULL;

    ovs_mutex_lock(&tunnels->mutex);
    struct adp_tunnel *t = tunnel_lookup(tunnels, key);
    if (t) {
        old = ovsrcu_get_protected(struct tunnel_way *, &t->way);
        ovsrcu_set(&t->way, way);
    } else {
        t = xzalloc(sizeof *t);
        ovs_refcount_init(&t->ref_cnt);
        t->key = *key;
        ovsrcu_init(&t->way, way);
        atomic_init(&t->used, time_msec());
        cmap_insert(&tunnels->map, &t->node, key_hash(key));
        if (cmap_count(&tunnels->map) > N_MAX) {
            tunnel_remove(tunnels, t);
        }
    }
    ovs_mutex_unlock(&tunnels->mutex);
    if (old) {
        ovsrcu_postpone(way_free, old);
    }
    return t;
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

    if (!t || !way_is_current(present_way(t), time_msec())) {
        struct tunnel_way *way = translate(b, port, flow);

        t = way ? tunnel_set_way(tunnels, &key, way) : NULL;
    }
    return t;
}

const struct ofpbuf *
adp_tunnel_actions(const struct adp_tunnel *t, long long int now)
{
    struct tunnel_way *way = present_way(t);
    bool outdated;

    atomic_read_relaxed(&way->outdated, &outdated);
    return outdated || now >= way->expires ? NULL : &way->actions;
}

void
adp_tunnel_credit(struct adp_tunnel *t, uint64_t n_packets, uint64_t n_bytes)
{
    adp_count(&t->n_packets, n_packets);
    adp_count(&t->n_bytes, n_bytes);
    atomic_store_relaxed(&t->used, time_msec());
}

void
adp_tunnel_prefetch_way(const struct adp_tunnel *t)
{
    OVS_PREFETCH(present_way(t));
}

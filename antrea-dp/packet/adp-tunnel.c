/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-tunnel.h"

#include "adp-bridge-shared.h"
#include "adp-match-key.h"
#include "adp-pace.h"
#include "adp-turn.h"
#include "cmap.h"
#include "connectivity.h"
#include "mpsc-queue.h"
#include "netdev.h"
#include "netlink.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "ofproto/ofproto-dpif-rid.h"
#include "ofproto/ofproto-dpif-xlate.h"
#include "ofproto/ofproto-dpif-xlate-cache.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "ovs-thread.h"
#include "packets.h"
#include "seq.h"
#include "timeval.h"

#define GRACE_MS 500            /* Of a translation when something changed. */
#define ASK_MS 500              /* Between questions for a neighbour. */
#define IDLE_MS 20000           /* Of a tunnel that nobody takes. */
#define N_MAX 65536
#define EVICT_SAMPLE 8          /* Looked at to find the one that leaves. */

struct adp_tunnels {
    struct cmap map;                    /* struct adp_tunnel. */
    struct ovs_mutex mutex;             /* Guards changes of 'map'. */
    struct cmap_position evict_hand OVS_GUARDED;

    /* Translations made at this serial are up to date, those of earlier ones
     * good for GRACE_MS after 'changed'.  Written by the main thread. */
    atomic_uint64_t serial;
    atomic_llong changed;

    atomic_bool reads_own;              /* Some leads through the tables
                                         * of the bridge itself. */
    struct mpsc_queue credited;         /* struct adp_tunnel, referenced. */
    atomic_uint64_t n_translated, n_idle, n_evicted;

    /* Main thread. */
    uint64_t tnl_seqno, connectivity_seqno, versions; /* At 'serial'. */
    bool renewing;                      /* A pass over all is under way. */
    bool renew_again;                   /* Another one has to follow. */
    bool aging;                         /* There is more to look at. */
    struct cmap_position renew_hand, age_hand;
    struct adp_pace pace;               /* Of 'age_hand'. */
};

/* What upstream's translation of the output depends on.  No padding. */
struct tunnel_key {
    struct in6_addr ipv6_src, ipv6_dst;
    ovs_be64 tun_id;
    ovs_be32 ip_src, ip_dst;
    uint32_t ofp_port;
    uint32_t pkt_mark, skb_priority;
    uint16_t flags;
    ovs_be16 dl_type;                   /* 0: not IP. */
    uint8_t ip_tos, ip_ttl;             /* Of the tunnel. */
    uint8_t nw_tos, nw_ttl;             /* Of the packet, as far as it
                                         * matters. */
    uint32_t zero;
};
BUILD_ASSERT_DECL(sizeof(struct tunnel_key) == 72);

/* A translation.  Immutable but for 'serial', and for 'xcache' and 'recircs',
 * which are the main thread's once the translation is published. */
struct tunnel_xlate {
    struct xlate_cache *xcache;         /* NULL: given up. */
    struct recirc_refs recircs;         /* Of IDs in the actions. */
    /* Of one that leads nowhere: */
    long long int expires;
    uint64_t tnl_seqno;

    /* From here on two lines are all that a packet needs, up to Geneve's
     * header over IPv4; three, over IPv6.  'serial' is of adp_tunnels; 0:
     * nobody renews it, since the tunnel has left the map or soon will. */
    atomic_uint64_t serial OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
    struct adp_tunnel_actions actions;  /* In 'data'. */
    uint64_t data[];
};
BUILD_ASSERT_DECL(offsetof(struct tunnel_xlate, data) + 2 * NLA_HDRLEN
                  + offsetof(struct ovs_action_push_tnl, header)
                  + ETH_HEADER_LEN + IP_HEADER_LEN + UDP_HEADER_LEN
                  + sizeof(struct genevehdr)
                  <= offsetof(struct tunnel_xlate, serial)
                     + 2 * CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(offsetof(struct tunnel_xlate, data) + 2 * NLA_HDRLEN
                  + offsetof(struct ovs_action_push_tnl, header)
                  + ETH_HEADER_LEN + IPV6_HEADER_LEN + UDP_HEADER_LEN
                  + sizeof(struct genevehdr)
                  <= offsetof(struct tunnel_xlate, serial)
                     + 3 * CACHE_LINE_SIZE);

struct adp_tunnel {
    OVSRCU_TYPE(struct tunnel_xlate *) xlate;   /* Set with the map's mutex. */
    bool is_ipv6;                       /* As far as the key tells. */
    struct adp_tunnels *tunnels;
    struct cmap_node node;
    struct ovs_refcount ref_cnt;        /* The map holds one. */
    struct tunnel_key key;
    struct mpsc_queue_node queue_node;  /* In 'credited' while 'queued'. */
    atomic_bool queued;
    atomic_uint64_t n_packets, n_bytes; /* Not pushed yet. */
    atomic_llong used;
};

struct adp_tunnels *
adp_tunnels_create(void)
{
    struct adp_tunnels *tunnels = xzalloc(sizeof *tunnels);

    cmap_init(&tunnels->map);
    ovs_mutex_init(&tunnels->mutex);
    atomic_init(&tunnels->serial, 1);
    mpsc_queue_init(&tunnels->credited);
    return tunnels;
}

static struct tunnel_xlate *
present_xlate(const struct adp_tunnel *t)
{
    return ovsrcu_get(struct tunnel_xlate *, &t->xlate);
}

static void
tunnel_xlate_free(struct tunnel_xlate *xlate)
{
    xlate_cache_delete(xlate->xcache);
    recirc_refs_unref(&xlate->recircs);
    free_cacheline(xlate);
}

/* Upstream's counters for what went this way: the underlay's flows, the
 * interfaces, the life of the neighbour entry. */
static void
tunnel_push_stats(struct adp_tunnel *t)
{
    struct dpif_flow_stats stats = { .n_packets = 0 };
    struct xlate_cache *xcache = present_xlate(t)->xcache;
    long long int used;

    if (!xcache) {
        return;                 /* They are the next translation's. */
    }
    stats.n_packets = atomic_exchange(&t->n_packets, 0);
    if (stats.n_packets) {
        stats.n_bytes = atomic_exchange(&t->n_bytes, 0);
        atomic_read_relaxed(&t->used, &used);
        stats.used = used;
        xlate_push_stats(xcache, &stats, false);
    }
}

static void
tunnel_free(struct adp_tunnel *t)
{
    tunnel_push_stats(t);
    tunnel_xlate_free(ovsrcu_get_protected(struct tunnel_xlate *, &t->xlate));
    free_cacheline(t);
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

/* Strangers choose addresses and IDs, of packets that answers go back to. */
static uint32_t
key_hash(const struct tunnel_key *key)
{
    uint64_t words[sizeof *key / sizeof(uint64_t)];

    BUILD_ASSERT(sizeof words == sizeof *key);
    memcpy(words, key, sizeof words);
    uint64_t hash = adp_key_hash_words(adp_key_secrets.seed, words,
                                       ARRAY_SIZE(words));
    return hash ^ hash >> 32;
}

/* Whoever comes has the tunnel translated anew, or asks stock translation. */
static void
give_up(struct tunnel_xlate *xlate)
{
    atomic_store_relaxed(&xlate->serial, 0);
}

static void
tunnel_remove(struct adp_tunnels *tunnels, struct adp_tunnel *t)
    OVS_REQUIRES(tunnels->mutex)
{
    struct tunnel_xlate *xlate = ovsrcu_get_protected(struct tunnel_xlate *,
                                                      &t->xlate);

    /* Verdicts may still refer to it, for longer than changes leave it
     * right. */
    give_up(xlate);
    cmap_remove(&tunnels->map, &t->node, key_hash(&t->key));
    adp_tunnel_unref(t);
}

/* Main thread: gives a translation of the tunnel's up.  What it leads through,
 * the underlay's devices, bridges and flows, may be about to go, and mustn't
 * have to wait until no packet refers to the tunnel any more. */
static void
let_go(struct adp_tunnel *t, struct tunnel_xlate *xlate)
{
    give_up(xlate);
    tunnel_push_stats(t);
    if (xlate->xcache) {
        ovsrcu_postpone(xlate_cache_delete, xlate->xcache);
        xlate->xcache = NULL;
    }
}

/* Takes those out of the queue that were credited, while the slice goes on, if
 * there is one, and pushes their counters. */
static void
push_credited(struct adp_tunnels *tunnels, struct adp_turn_slice *slice)
{
    struct mpsc_queue_node *node;

    mpsc_queue_acquire(&tunnels->credited);
    while ((!slice || adp_turn_slice_goes_on(slice))
           && (node = mpsc_queue_pop(&tunnels->credited)) != NULL) {
        struct adp_tunnel *t = CONTAINER_OF(node, struct adp_tunnel,
                                            queue_node);

        /* Who credits from now on puts it on the queue again. */
        atomic_store(&t->queued, false);
        if (slice) {
            tunnel_push_stats(t);
        }
        adp_tunnel_unref(t);
    }
    mpsc_queue_release(&tunnels->credited);
}

static void
tunnels_destroy__(struct adp_tunnels *tunnels)
{
    struct adp_tunnel *t;

    push_credited(tunnels, NULL);
    ovs_mutex_lock(&tunnels->mutex);
    CMAP_FOR_EACH (t, node, &tunnels->map) {
        tunnel_remove(tunnels, t);
    }
    ovs_mutex_unlock(&tunnels->mutex);
    cmap_destroy(&tunnels->map);
    ovs_mutex_destroy(&tunnels->mutex);
    mpsc_queue_destroy(&tunnels->credited);
    free(tunnels);
}

void
adp_tunnels_destroy(struct adp_tunnels *tunnels)
{
    ovsrcu_postpone(tunnels_destroy__, tunnels);
}

/* Tunnel metadata that only stock translation knows how to set. */
static bool
has_more_metadata(const struct flow_tnl *tnl)
{
    return (tnl->metadata.present.map || tnl->gbp_id || tnl->gbp_flags
            || tnl->erspan_ver || tnl->gtpu_flags || tnl->gtpu_msgtype);
}

/* True if the outer header depends on more than a key has. */
static bool
is_for_stock(const struct adp_port *port, const struct flow *flow)
{
    return (has_more_metadata(&flow->tunnel)
            || (port->layer3 && !is_ip_any(flow)));
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

/* A flow that is to upstream as all that have the key. */
static void
flow_from_key(struct flow *flow, const struct tunnel_key *key)
{
    struct flow_tnl *tnl = &flow->tunnel;

    memset(flow, 0, sizeof *flow);
    flow->in_port.ofp_port = OFPP_NONE;
    flow->packet_type = htonl(PT_ETH);
    flow->dl_type = key->dl_type;
    flow->nw_tos = key->nw_tos;
    flow->nw_ttl = key->nw_ttl;
    flow->pkt_mark = key->pkt_mark;
    flow->skb_priority = key->skb_priority;
    tnl->ipv6_src = key->ipv6_src;
    tnl->ipv6_dst = key->ipv6_dst;
    tnl->ip_src = key->ip_src;
    tnl->ip_dst = key->ip_dst;
    tnl->tun_id = key->tun_id;
    tnl->flags = key->flags;
    tnl->ip_tos = key->ip_tos;
    tnl->ip_ttl = key->ip_ttl;
}

/* True if the translation looked into tables of 'b' itself. */
static bool
reads_tables_of(const struct xlate_cache *xcache, const struct adp_bridge *b)
{
    const struct xc_entry *entries = xcache->entries.data;

    for (size_t i = 0; i < xcache->entries.size / sizeof *entries; i++) {
        if (entries[i].type == XC_TABLE
            && entries[i].table.ofproto == &b->dpif) {
            return true;
        }
    }
    return false;
}

/* Looks whether all that 'data' does is to push a header and to send the
 * packet out. */
static void
find_push(struct adp_tunnel_actions *actions, const struct nlattr *data,
          size_t size)
{
    const struct nlattr *next;

    actions->odp_port = ODPP_NONE;
    actions->push = NULL;
    if (!nl_attr_is_valid(data, size)) {
        return;
    }
    size -= nl_attr_len_pad(data, size);
    if (nl_attr_type(data) == OVS_ACTION_ATTR_CLONE && !size) {
        find_push(actions, nl_attr_get(data), nl_attr_get_size(data));
        return;
    }
    next = nl_attr_next(data);
    if (nl_attr_type(data) == OVS_ACTION_ATTR_TUNNEL_PUSH
        && nl_attr_is_valid(next, size)
        && nl_attr_len_pad(next, size) == size
        && nl_attr_type(next) == OVS_ACTION_ATTR_OUTPUT) {
        actions->odp_port = nl_attr_get_odp_port(next);
        actions->push = data;
    }
}

/* Takes over 'xcache' and the recirculation IDs of 'xout'. */
static struct tunnel_xlate *
tunnel_xlate_create(const struct ofpbuf *actions, struct xlate_cache *xcache,
                    struct xlate_out *xout, uint64_t serial)
{
    struct tunnel_xlate *xlate
        = xzalloc_cacheline(sizeof *xlate + actions->size);

    xlate->expires = time_msec() + ASK_MS;
    xlate->tnl_seqno = seq_read(tnl_conf_seq);
    atomic_init(&xlate->serial, serial);
    xlate->xcache = xcache;
    recirc_refs_swap(&xlate->recircs, &xout->recircs);
    memcpy(xlate->data, actions->data, actions->size);
    xlate->actions.data = ALIGNED_CAST(const struct nlattr *, xlate->data);
    xlate->actions.size = actions->size;
    find_push(&xlate->actions, xlate->actions.data, xlate->actions.size);
    return xlate;
}

/* Returns NULL if stock translation wants to see each packet. */
static struct tunnel_xlate *
translate(struct adp_bridge *b, const struct tunnel_key *key)
{
    struct adp_tunnels *tunnels = b->tunnels;
    uint64_t stub[256 / 8], actions_stub[512 / 8];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    struct ofpbuf actions = OFPBUF_STUB_INITIALIZER(actions_stub);
    struct xlate_cache *xcache = xlate_cache_new();
    struct tunnel_xlate *xlate = NULL;
    struct xlate_out xout;
    struct xlate_in xin;
    struct flow flow, plain;
    uint64_t serial;

    /* What changes from here on comes with a later serial. */
    atomic_read_explicit(&tunnels->serial, &serial, memory_order_acquire);
    adp_count(&tunnels->n_translated, 1);
    flow_from_key(&flow, key);
    put_output(&ofpacts, u16_to_ofp(key->ofp_port), &flow);
    plain = flow;
    memset(&plain.tunnel, 0, sizeof plain.tunnel);
    xlate_in_init(&xin, &b->dpif, ofproto_dpif_get_tables_version(&b->dpif),
                  &plain, plain.in_port.ofp_port, NULL, 0, NULL, NULL,
                  &actions);
    xin.ofpacts = ofpacts.data;
    xin.ofpacts_len = ofpacts.size;
    xin.xcache = xcache;

    enum xlate_error error = xlate_actions(&xin, &xout);
    if (!error && !xout.slow && !xout.avoid_caching) {
        if (reads_tables_of(xcache, b)) {
            atomic_store_relaxed(&tunnels->reads_own, true);
        }
        /* Upstream makes it an action of the packet that there is no way. */
        if (actions.size
            && nl_attr_type(actions.data) == OVS_ACTION_ATTR_DROP) {
            ofpbuf_clear(&actions);
        }
        xlate = tunnel_xlate_create(&actions, xcache, &xout, serial);
    } else {
        xlate_cache_delete(xcache);
    }
    xlate_out_uninit(&xout);
    ofpbuf_uninit(&ofpacts);
    ofpbuf_uninit(&actions);
    return xlate;
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

static long long int
last_use(const struct adp_tunnel *t)
{
    long long int used;

    atomic_read_relaxed(&CONST_CAST(struct adp_tunnel *, t)->used, &used);
    return used;
}

/* The next in turn, or NULL at the end of a round. */
static struct adp_tunnel *
next_in_turn(const struct adp_tunnels *tunnels, struct cmap_position *hand)
{
    struct cmap_node *node = cmap_next_position(&tunnels->map, hand);

    return node ? CONTAINER_OF(node, struct adp_tunnel, node) : NULL;
}

static void
evict(struct adp_tunnels *tunnels)
    OVS_REQUIRES(tunnels->mutex)
{
    struct adp_tunnel *oldest = NULL;

    for (int i = 0; i < EVICT_SAMPLE + 1; i++) {
        struct adp_tunnel *t = next_in_turn(tunnels, &tunnels->evict_hand);

        if (t && (!oldest || last_use(t) < last_use(oldest))) {
            oldest = t;
        }
    }
    if (oldest) {
        tunnel_remove(tunnels, oldest);
        adp_count(&tunnels->n_evicted, 1);
    }
}

/* Gives the tunnel with 'key' a new translation, and makes it if need be. */
static struct adp_tunnel *
tunnel_set_xlate(struct adp_tunnels *tunnels, const struct tunnel_key *key,
                 struct tunnel_xlate *xlate)
{
    struct tunnel_xlate *old = NULL;

    ovs_mutex_lock(&tunnels->mutex);
    struct adp_tunnel *t = tunnel_lookup(tunnels, key);
    if (t) {
        old = ovsrcu_get_protected(struct tunnel_xlate *, &t->xlate);
        ovsrcu_set(&t->xlate, xlate);
    } else {
        if (cmap_count(&tunnels->map) >= N_MAX) {
            evict(tunnels);
        }
        t = xzalloc_cacheline(sizeof *t);
        ovs_refcount_init(&t->ref_cnt);
        t->tunnels = tunnels;
        t->key = *key;
        t->is_ipv6 = ipv6_addr_is_set(&key->ipv6_dst);
        ovsrcu_init(&t->xlate, xlate);
        atomic_init(&t->used, time_msec());
        cmap_insert(&tunnels->map, &t->node, key_hash(key));
    }
    ovs_mutex_unlock(&tunnels->mutex);
    if (old) {
        ovsrcu_postpone(tunnel_xlate_free, old);
    }
    return t;
}

static void
key_init(struct tunnel_key *key, const struct adp_port *port,
         const struct flow *flow)
{
    const struct flow_tnl *tnl = &flow->tunnel;
    bool is_ip = is_ip_any(flow);

    *key = (struct tunnel_key) {
        .ipv6_src = tnl->ipv6_src,
        .ipv6_dst = tnl->ipv6_dst,
        .tun_id = tnl->tun_id,
        .ip_src = tnl->ip_src,
        .ip_dst = tnl->ip_dst,
        .ofp_port = ofp_to_u16(port->ofp_port),
        .pkt_mark = flow->pkt_mark,
        .skb_priority = flow->skb_priority,
        .flags = tnl->flags,
        .dl_type = is_ip ? flow->dl_type : 0,
        .ip_tos = tnl->ip_tos,
        .ip_ttl = tnl->ip_ttl,
        .nw_tos = !is_ip ? 0 : port->tos_inherit ? flow->nw_tos
                  : flow->nw_tos & IP_ECN_MASK,
        .nw_ttl = is_ip && port->ttl_inherit ? flow->nw_ttl : 0,
    };
}

/* True if packets may go by it. */
static bool
tunnel_xlate_is_good(const struct adp_tunnels *tunnels_,
                     const struct tunnel_xlate *xlate_, long long int now)
{
    struct adp_tunnels *tunnels = CONST_CAST(struct adp_tunnels *, tunnels_);
    struct tunnel_xlate *xlate = CONST_CAST(struct tunnel_xlate *, xlate_);
    uint64_t serial, its_serial;
    long long int changed;

    atomic_read_relaxed(&tunnels->serial, &serial);
    atomic_read_relaxed(&xlate->serial, &its_serial);
    if (OVS_LIKELY(serial == its_serial)) {
        return true;
    }
    if (!its_serial) {
        return false;
    }
    atomic_read_relaxed(&tunnels->changed, &changed);
    return now < changed + GRACE_MS;
}

/* True if it is no use to translate again. */
static bool
tunnel_xlate_is_current(const struct adp_tunnels *tunnels,
                        const struct tunnel_xlate *xlate, long long int now)
{
    return (tunnel_xlate_is_good(tunnels, xlate, now)
            && (xlate->actions.size
                || (now < xlate->expires
                    && xlate->tnl_seqno == seq_read(tnl_conf_seq))));
}

struct adp_tunnel *
adp_tunnel_find(struct adp_bridge *b, ofp_port_t ofp_port,
                const struct flow *flow)
{
    const struct adp_port *port = adp_ports_find(
        ovsrcu_get(struct adp_ports *, &b->ports), ofp_port);
    struct adp_tunnels *tunnels = b->tunnels;
    struct tunnel_key key;

    if (!port || is_for_stock(port, flow)) {
        return NULL;
    }
    key_init(&key, port, flow);

    struct adp_tunnel *t = tunnel_lookup(tunnels, &key);
    if (!t || !tunnel_xlate_is_current(tunnels, present_xlate(t),
                                       time_msec())) {
        struct tunnel_xlate *xlate = translate(b, &key);

        t = xlate ? tunnel_set_xlate(tunnels, &key, xlate) : NULL;
    }
    return t;
}

const struct adp_tunnel_actions *
adp_tunnel_actions(const struct adp_tunnel *t, long long int now)
{
    const struct tunnel_xlate *xlate = present_xlate(t);

    return (tunnel_xlate_is_good(t->tunnels, xlate, now)
            ? &xlate->actions : NULL);
}

uint64_t
adp_tunnel_serial(const struct adp_tunnel *t)
{
    struct tunnel_xlate *xlate = present_xlate(t);
    uint64_t serial;

    atomic_read_relaxed(&xlate->serial, &serial);
    return serial;
}

uint64_t
adp_tunnels_serial(const struct adp_tunnels *tunnels)
{
    uint64_t serial;

    atomic_read_relaxed(&CONST_CAST(struct adp_tunnels *, tunnels)->serial,
                        &serial);
    return serial;
}

void
adp_tunnel_prefetch_actions(const struct adp_tunnel *t)
{
    const char *line = (const char *) &present_xlate(t)->serial;

    OVS_PREFETCH(line);
    OVS_PREFETCH(line + CACHE_LINE_SIZE);
    if (t->is_ipv6) {
        OVS_PREFETCH(line + 2 * CACHE_LINE_SIZE);
    }
}

void
adp_tunnel_credit(struct adp_tunnel *t, uint64_t n_packets, uint64_t n_bytes)
{
    bool queued;

    /* Who takes the packets has their bytes, too. */
    adp_count(&t->n_bytes, n_bytes);
    atomic_thread_fence(memory_order_release);
    adp_count(&t->n_packets, n_packets);
    atomic_store_relaxed(&t->used, time_msec());
    atomic_thread_fence(memory_order_seq_cst);
    atomic_read_relaxed(&t->queued, &queued);
    if (!queued && !atomic_exchange(&t->queued, true)) {
        if (adp_tunnel_try_ref(t)) {
            mpsc_queue_insert(&t->tunnels->credited, &t->queue_node);
        }
        /* Else it is about to be freed, and pushes them then. */
    }
}

/* Main thread. */

static void
add_version(const struct ofproto *ofproto, void *sum_)
{
    uint64_t *sum = sum_;

    if (ofproto->ofproto_class == &ofproto_dpif_class
        || adp_bridge_cast(ofproto)) {
        *sum += ofproto_dpif_get_tables_version(
            CONST_CAST(struct ofproto_dpif *,
                       CONTAINER_OF(ofproto, struct ofproto_dpif, up)));
    }
}

/* A sum over the tables that they lead through: all but those of 'b' itself,
 * which change often and, as a rule, say nothing about the underlay. */
static uint64_t
tables_versions(const struct adp_bridge *b)
{
    uint64_t sum = 0, own = 0;
    bool reads_own;

    ofproto_for_each(add_version, &sum);
    atomic_read_relaxed(&b->tunnels->reads_own, &reads_own);
    if (!reads_own) {
        add_version(&b->dpif.up, &own);
    }
    return sum - own;
}

static void
set_outdated(struct adp_tunnels *tunnels)
{
    uint64_t serial;

    atomic_store_relaxed(&tunnels->changed, time_msec());
    atomic_read_relaxed(&tunnels->serial, &serial);
    atomic_store_explicit(&tunnels->serial, serial + 1, memory_order_release);
    /* A pass that is under way goes on, or changes without an end would keep
     * it from ever getting to the last ones. */
    if (tunnels->renewing) {
        tunnels->renew_again = true;
    } else {
        tunnels->renewing = true;
        memset(&tunnels->renew_hand, 0, sizeof tunnels->renew_hand);
    }
}

/* Upstream says no more than that something needs to be looked at again, and
 * why.  Of flow tables, which take no other reason's place, we know
 * ourselves. */
bool
adp_tunnels_expect_change(const struct adp_bridge *b, const char *type)
{
    const struct dpif_backer *backer = b->dpif.backer;
    enum revalidate_reason reason;

    atomic_read_relaxed(&CONST_CAST(struct dpif_backer *,
                                    backer)->need_revalidate, &reason);
    return reason && reason != REV_FLOW_TABLE && !strcmp(type, backer->type);
}

void
adp_tunnels_note_change(struct adp_bridge *b)
{
    set_outdated(b->tunnels);
}

/* For packets under way upstream remembers the IDs a while longer. */
void
adp_tunnels_release_recircs(struct adp_bridge *b)
{
    struct adp_tunnels *tunnels = b->tunnels;
    struct adp_tunnel *t;

    ovs_mutex_lock(&tunnels->mutex);
    CMAP_FOR_EACH (t, node, &tunnels->map) {
        struct tunnel_xlate *xlate
            = ovsrcu_get_protected(struct tunnel_xlate *, &t->xlate);

        if (xlate->recircs.n_recircs) {
            give_up(xlate);
            recirc_refs_unref(&xlate->recircs);
        }
    }
    ovs_mutex_unlock(&tunnels->mutex);
}

static void
check_changes(struct adp_bridge *b)
{
    struct adp_tunnels *tunnels = b->tunnels;
    uint64_t tnl_seqno = seq_read(tnl_conf_seq);
    uint64_t connectivity_seqno = seq_read(connectivity_seq_get());
    uint64_t versions = tables_versions(b);

    if (tunnels->tnl_seqno != tnl_seqno
        || tunnels->connectivity_seqno != connectivity_seqno
        || tunnels->versions != versions) {
        tunnels->tnl_seqno = tnl_seqno;
        tunnels->connectivity_seqno = connectivity_seqno;
        tunnels->versions = versions;
        set_outdated(tunnels);  /* Even if there is none: a packet thread may
                                 * be about to add the first. */
    }
}

static void
renew_xlate(struct adp_bridge *b, struct adp_tunnel *t)
{
    struct tunnel_xlate *old = present_xlate(t);
    struct tunnel_xlate *xlate = translate(b, &t->key);

    if (xlate && old->actions.size == xlate->actions.size
        && !memcmp(old->actions.data, xlate->actions.data,
                   xlate->actions.size)) {
        /* The same actions, which count elsewhere perhaps. */
        uint64_t serial, its_serial;

        struct xlate_cache *xcache = old->xcache;
        old->xcache = xlate->xcache;
        xlate->xcache = xcache;
        atomic_read_relaxed(&xlate->serial, &serial);
        atomic_read_relaxed(&old->serial, &its_serial);
        if (its_serial) {       /* Unless a packet thread has removed it. */
            atomic_compare_exchange_strong(&old->serial, &its_serial, serial);
        }
        tunnel_xlate_free(xlate);
    } else if (xlate) {
        tunnel_set_xlate(b->tunnels, &t->key, xlate);
    } else {
        let_go(t, old);
    }
}

/* Translates anew what is in use, and out of date. */
static void
renew(struct adp_bridge *b, struct adp_turn_slice *slice)
{
    struct adp_tunnels *tunnels = b->tunnels;
    long long int now = time_msec();

    while (tunnels->renewing && adp_turn_slice_goes_on(slice)) {
        struct adp_tunnel *t = next_in_turn(tunnels, &tunnels->renew_hand);
        uint64_t serial, its_serial;

        if (!t) {
            memset(&tunnels->renew_hand, 0, sizeof tunnels->renew_hand);
            tunnels->renewing = tunnels->renew_again;
            tunnels->renew_again = false;
            continue;
        }
        struct tunnel_xlate *xlate = present_xlate(t);
        atomic_read_relaxed(&tunnels->serial, &serial);
        atomic_read_relaxed(&xlate->serial, &its_serial);
        if (serial == its_serial) {
            continue;
        }
        if (xlate->actions.size && now < last_use(t) + IDLE_MS) {
            renew_xlate(b, t);
        } else {
            let_go(t, xlate);   /* Before it leaves the map. */
        }
    }
}

static void
look_at_next(struct adp_tunnels *tunnels, long long int now)
{
    struct adp_tunnel *t = next_in_turn(tunnels, &tunnels->age_hand);

    if (!t) {                   /* The end of a round counts for nothing. */
        t = next_in_turn(tunnels, &tunnels->age_hand);
    }
    if (t && now >= last_use(t) + IDLE_MS) {
        ovs_mutex_lock(&tunnels->mutex);
        if (tunnel_lookup(tunnels, &t->key) == t) {
            tunnel_remove(tunnels, t);
            adp_count(&tunnels->n_idle, 1);
        }
        ovs_mutex_unlock(&tunnels->mutex);
        /* Packet threads give it no other any more. */
        let_go(t, present_xlate(t));
    }
}

static void
age(struct adp_tunnels *tunnels, struct adp_turn_slice *slice)
{
    long long int now = time_msec();

    tunnels->aging = true;
    while (tunnels->aging && adp_turn_slice_goes_on(slice)) {
        size_t left = 1;

        if (adp_pace(&tunnels->pace, now, cmap_count(&tunnels->map), &left)) {
            look_at_next(tunnels, now);
        } else {
            tunnels->aging = false;
        }
    }
}

void
adp_tunnels_run(struct adp_bridge *b)
{
    struct adp_turn_slice slice;

    check_changes(b);
    adp_turn_slice_init(&slice);
    renew(b, &slice);
    adp_turn_slice_init(&slice);
    push_credited(b->tunnels, &slice);
    adp_turn_slice_init(&slice);
    age(b->tunnels, &slice);
}

void
adp_tunnels_wait(struct adp_bridge *b)
{
    struct adp_tunnels *tunnels = b->tunnels;

    if (tunnels->renewing || tunnels->aging) {
        poll_immediate_wake();
    } else if (cmap_count(&tunnels->map)) {
        seq_wait(tnl_conf_seq, tunnels->tnl_seqno);
        seq_wait(connectivity_seq_get(), tunnels->connectivity_seqno);
    }
}

void
adp_tunnels_get_counts(const struct adp_tunnels *tunnels,
                       struct adp_tunnels_counts *counts)
{
    counts->n = cmap_count(&tunnels->map);
    counts->n_translated = adp_counted(&tunnels->n_translated);
    counts->n_idle = adp_counted(&tunnels->n_idle);
    counts->n_evicted = adp_counted(&tunnels->n_evicted);
}

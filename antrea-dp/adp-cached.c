/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-cached.h"

#include "adp-bridge-private.h"
#include "adp-tunnel.h"
#include "bitmap.h"
#include "hash.h"
#include "netdev-vport.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "ovs-thread.h"

/* More verdicts than this are not kept, so that nobody can fill the memory
 * with them. */
#define MAX_CACHED 65536

struct adp_cached_set {
    struct hmap all;                    /* struct adp_cached. */
};

/* New verdicts on their way to the main thread, and those that it knows. */
static struct mpsc_queue newborn = MPSC_QUEUE_INITIALIZER(&newborn);
static struct ovs_list known = OVS_LIST_INITIALIZER(&known);

struct adp_cached_set *
adp_cached_set_create(void)
{
    struct adp_cached_set *set = xmalloc(sizeof *set);

    hmap_init(&set->all);
    return set;
}

void
adp_cached_set_destroy(struct adp_cached_set *set)
{
    ovs_assert(hmap_is_empty(&set->all));
    hmap_destroy(&set->all);
    free(set);
}

size_t
adp_cached_set_count(const struct adp_cached_set *set)
{
    return hmap_count(&set->all);
}

/* From a walk to a content. */

/* A content in the making: the packet's headers as they are after the actions
 * so far. */
struct draft {
    const struct adp_walk *w;
    const struct flow *flow;
    struct conntrack_peek_tuple tuple;
    size_t n_steps;                     /* Of conntrack. */
    struct eth_addr dl_dst, dl_src;
    uint8_t tos, ttl;
    struct adp_cached_content *content;
    const struct nlattr *actions;
};

static void
tuple_from_flow(struct conntrack_peek_tuple *tuple, const struct flow *flow)
{
    memset(tuple, 0, sizeof *tuple);
    tuple->dl_type = flow->dl_type;
    if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
        tuple->src.ipv6 = flow->ipv6_src;
        tuple->dst.ipv6 = flow->ipv6_dst;
    } else {
        tuple->src.ipv4 = flow->nw_src;
        tuple->dst.ipv4 = flow->nw_dst;
    }
    tuple->tp_src = flow->tp_src;
    tuple->tp_dst = flow->tp_dst;
}

static bool
draft_ethernet(struct draft *d, const struct ovs_key_ethernet *key)
{
    d->dl_dst = key->eth_dst;
    d->dl_src = key->eth_src;
    return true;
}

static bool
draft_ipv4(struct draft *d, const struct ovs_key_ipv4 *key)
{
    d->tos = key->ipv4_tos;
    d->ttl = key->ipv4_ttl;
    return (d->flow->dl_type == htons(ETH_TYPE_IP)
            && key->ipv4_src == d->tuple.src.ipv4
            && key->ipv4_dst == d->tuple.dst.ipv4);
}

static bool
draft_ipv6(struct draft *d, const struct ovs_key_ipv6 *key)
{
    d->tos = key->ipv6_tclass;
    d->ttl = key->ipv6_hlimit;
    return (d->flow->dl_type == htons(ETH_TYPE_IPV6)
            && key->ipv6_label == d->flow->ipv6_label
            && !memcmp(&key->ipv6_src, &d->tuple.src.ipv6,
                       sizeof key->ipv6_src)
            && !memcmp(&key->ipv6_dst, &d->tuple.dst.ipv6,
                       sizeof key->ipv6_dst));
}

/* With a mask only the whole or nothing of what differs between packets. */
static bool
draft_ipv4_masked(struct draft *d, const struct ovs_key_ipv4 *key,
                  const struct ovs_key_ipv4 *mask)
{
    d->tos = (d->tos & ~mask->ipv4_tos) | key->ipv4_tos;
    d->ttl = (d->ttl & ~mask->ipv4_ttl) | key->ipv4_ttl;
    return (d->flow->dl_type == htons(ETH_TYPE_IP)
            && !mask->ipv4_src && !mask->ipv4_dst);
}

static bool
draft_ipv6_masked(struct draft *d, const struct ovs_key_ipv6 *key,
                  const struct ovs_key_ipv6 *mask)
{
    d->tos = (d->tos & ~mask->ipv6_tclass) | key->ipv6_tclass;
    d->ttl = (d->ttl & ~mask->ipv6_hlimit) | key->ipv6_hlimit;
    return (d->flow->dl_type == htons(ETH_TYPE_IPV6)
            && !mask->ipv6_label
            && is_all_zeros(&mask->ipv6_src, sizeof mask->ipv6_src)
            && is_all_zeros(&mask->ipv6_dst, sizeof mask->ipv6_dst));
}

static bool
draft_set(struct draft *d, const struct nlattr *key)
{
    switch (nl_attr_type(key)) {
    case OVS_KEY_ATTR_ETHERNET:
        return draft_ethernet(d, nl_attr_get(key));
    case OVS_KEY_ATTR_IPV4:
        return draft_ipv4(d, nl_attr_get(key));
    case OVS_KEY_ATTR_IPV6:
        return draft_ipv6(d, nl_attr_get(key));
    default:
        return false;
    }
}

static bool
draft_set_masked(struct draft *d, const struct nlattr *attr)
{
    const struct ovs_key_ipv4 *ipv4;
    const struct ovs_key_ipv6 *ipv6;

    switch (nl_attr_type(attr)) {
    case OVS_KEY_ATTR_IPV4:
        ipv4 = nl_attr_get(attr);
        return draft_ipv4_masked(d, ipv4, ipv4 + 1);
    case OVS_KEY_ATTR_IPV6:
        ipv6 = nl_attr_get(attr);
        return draft_ipv6_masked(d, ipv6, ipv6 + 1);
    default:
        return false;
    }
}

/* The next ct(): what it does to the headers the walk has noted. */
static bool
draft_ct(struct draft *d)
{
    const struct conntrack_peek *p = &d->w->ct.peek;

    if (d->n_steps >= p->n_steps) {
        return false;
    }
    d->tuple = p->steps[d->n_steps++];
    return true;
}

/* True if executing 'actions' leaves conntrack and upcalls alone. */
static bool
is_free_of_ct(const struct nlattr *actions, size_t len)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions, len) {
        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_CT:
        case OVS_ACTION_ATTR_CT_CLEAR:
        case OVS_ACTION_ATTR_RECIRC:
        case OVS_ACTION_ATTR_SAMPLE:
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
        case OVS_ACTION_ATTR_USERSPACE:
            return false;
        case OVS_ACTION_ATTR_CLONE:
            if (!is_free_of_ct(nl_attr_get(a), nl_attr_get_size(a))) {
                return false;
            }
            break;
        }
    }
    return true;
}

static bool
draft_actions(struct draft *d, const struct ofpbuf *actions)
{
    struct adp_cached_content *c = d->content;
    const struct nlattr *a;
    size_t left;

    c->odp_port = ODPP_NONE;
    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions->data, actions->size) {
        bool ok;

        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_CT:
            ok = draft_ct(d);
            break;
        case OVS_ACTION_ATTR_CT_CLEAR:
            ok = true;
            break;
        case OVS_ACTION_ATTR_SET:
            ok = draft_set(d, nl_attr_get(a));
            break;
        case OVS_ACTION_ATTR_SET_MASKED:
            ok = draft_set_masked(d, nl_attr_get(a));
            break;
        default:
            if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT
                && left == NLA_ALIGN(a->nla_len)) {
                c->odp_port = nl_attr_get_odp_port(a);
            } else {
                d->actions = a;
                c->actions_len = left;
            }
            return is_free_of_ct(a, left);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* The connections: each alive and as the packet leaves it. */
static bool
draft_conns(struct draft *d, struct adp_cached_session *session)
{
    const struct conntrack_peek *p = &d->w->ct.peek;
    struct adp_cached_content *c = d->content;

    if (p->n_conns > ADP_CACHED_MAX_CONNS
        || (p->n_steps && (!p->ordinary || !p->n_conns))) {
        return false;
    }
    for (size_t i = 0; i < p->n_conns; i++) {
        const struct conntrack_peek_conn *pc = &p->conns[i];

        if (!pc->real || !pc->tracked || pc->up.mark != pc->real->mark
            || !ovs_u128_equals(pc->up.label, pc->real->label)) {
            return false;
        }
        c->conns[i].mark = pc->up.mark;
        c->conns[i].label = pc->up.label;
        c->conns[i].reply = pc->reply;
        c->conns[i].is_new = pc->is_new;
        c->conns[i].nat = pc->natted;
        session->refs[i] = pc->ref;
    }
    c->n_conns = p->n_conns;
    return true;
}

static bool
tuple_differs(const struct conntrack_peek_tuple *a, const struct flow *flow)
{
    struct conntrack_peek_tuple b;

    tuple_from_flow(&b, flow);
    return (memcmp(&a->src, &b.src, sizeof a->src)
            || memcmp(&a->dst, &b.dst, sizeof a->dst)
            || a->tp_src != b.tp_src || a->tp_dst != b.tp_dst);
}

/* What goes into a tunnel is the tunnel's to say. */
static bool
draft_tunnel(struct draft *d)
{
    struct adp_cached_content *c = d->content;
    const struct adp_walk *w = d->w;

    if (w->n_tunnels) {
        const struct ofpbuf *way = adp_tunnel_actions(w->tunnels[0],
                                                      w->ct.peek.now);

        if (!way || !d->actions || way->size != c->actions_len
            || memcmp(way->data, d->actions, way->size)) {
            return false;
        }
        c->tunnel = w->tunnels[0];
        c->actions_len = 0;
    }
    return true;
}

static bool
draft_content(struct draft *d, struct adp_cached_session *session)
{
    struct adp_cached_content *c = d->content;
    const struct adp_walk *w = d->w;
    const struct adp_verdict *v = &w->verdict;
    const struct flow *flow = d->flow;

    memset(c, 0, sizeof *c);
    d->actions = NULL;
    d->n_steps = 0;
    d->dl_dst = flow->dl_dst;
    d->dl_src = flow->dl_src;
    d->tos = flow->nw_tos;
    d->ttl = flow->nw_ttl;
    tuple_from_flow(&d->tuple, flow);
    if (v->punt || v->n_learned || v->n_hits > UINT16_MAX || w->n_tunnels > 1
        || w->tunnel_lost || w->n_ports > ADP_WALK_MAX_PORTS
        || !draft_conns(d, session)
        || !draft_actions(d, &v->actions)
        || !draft_tunnel(d)) {
        return false;
    }

    if (!eth_addr_equals(d->dl_dst, flow->dl_dst)
        || !eth_addr_equals(d->dl_src, flow->dl_src)) {
        c->set_eth = true;
        c->dl_dst = d->dl_dst;
        c->dl_src = d->dl_src;
    }
    if (d->tos != flow->nw_tos) {
        c->set_tos = true;
        c->tos = d->tos;
    }
    if (d->ttl != flow->nw_ttl) {
        c->set_ttl = true;
        c->ttl = d->ttl;
    }
    c->nat = tuple_differs(&d->tuple, flow);
    session->tuple = d->tuple;
    c->dropped = v->dropped;
    c->ends_in_miss = (v->n_hits
                       && v->hits[v->n_hits - 1].kind == ADP_HIT_MISS);
    c->to_ip_port = w->to_ip_port;
    if (w->from_tunnel) {
        c->ingress_tunnel = flow->in_port.ofp_port;
    }
    c->n_hits = v->n_hits;
    return true;
}

/* Hits hold references. */

static bool
hit_try_ref(const struct adp_hit *hit)
{
    return (hit->kind == ADP_HIT_RULE ? adp_rule_try_ref(hit->rule)
            : hit->kind == ADP_HIT_BUCKET ? adp_group_try_ref(hit->group)
            : true);
}

static void
hits_unref(const struct adp_hit *hits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (hits[i].kind == ADP_HIT_RULE) {
            adp_rule_unref(hits[i].rule);
        } else if (hits[i].kind == ADP_HIT_BUCKET) {
            adp_group_unref(hits[i].group);
        }
    }
}

static struct adp_hit *
hits_clone(const struct adp_hit *hits, size_t n)
{
    struct adp_hit *copy = xmemdup(hits, n * sizeof *hits);

    for (size_t i = 0; i < n; i++) {
        if (!hit_try_ref(&copy[i])) {
            hits_unref(copy, i);
            free(copy);
            return NULL;
        }
    }
    return copy;
}

static bool
hits_equal(const struct adp_hit *a, const struct adp_hit *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i].kind != b[i].kind || a[i].table_id != b[i].table_id
            || a[i].priority != b[i].priority
            || a[i].bucket != b[i].bucket || a[i].rule != b[i].rule) {
            return false;
        }
    }
    return true;
}

static uint32_t
hits_hash(const struct adp_hit *hits, size_t n, uint32_t basis)
{
    uint32_t hash = basis;

    for (size_t i = 0; i < n; i++) {
        hash = hash_pointer(hits[i].rule, hash);
        hash = hash_2words(hash, hits[i].table_id | hits[i].bucket << 8);
    }
    return hash;
}

/* Life and death. */

/* Gives back what belongs to the bridge. */
static void
cached_strip(struct adp_cached *v)
{
    hits_unref(v->hits, v->content.n_hits);
    v->content.n_hits = 0;
    adp_tunnel_unref(v->content.tunnel);
    v->content.tunnel = NULL;
}

static void
cached_free(struct adp_cached *v)
{
    cached_strip(v);
    free(CONST_CAST(struct adp_hit *, v->hits));
    free(CONST_CAST(struct nlattr *, v->actions));
    free(v);
}

static struct adp_cached *
cached_find(const struct adp_cached_set *set, const struct draft *d,
            uint32_t hash)
{
    const struct adp_cached_content *c = d->content;
    struct adp_cached *v;

    HMAP_FOR_EACH_WITH_HASH (v, hmap_node, hash, &set->all) {
        if (!v->overtaken && v->bridge == d->w->bridge
            && !memcmp(&v->content, c, sizeof *c)
            && hits_equal(v->hits, d->w->verdict.hits, c->n_hits)
            && !memcmp(v->actions, d->actions, c->actions_len)) {
            return v;
        }
    }
    return NULL;
}

static struct adp_cached *
cached_create(struct adp_cached_set *set, const struct draft *d,
              uint32_t hash)
{
    const struct adp_cached_content *c = d->content;
    const struct adp_walk *w = d->w;

    struct adp_hit *hits = hits_clone(w->verdict.hits, c->n_hits);
    if (!hits) {
        return NULL;
    }
    if (c->tunnel && !adp_tunnel_try_ref(c->tunnel)) {
        hits_unref(hits, c->n_hits);
        free(hits);
        return NULL;
    }

    struct adp_cached *v = xzalloc(sizeof *v);
    v->bridge = w->bridge;
    v->content = *c;
    v->hits = hits;
    v->actions = xmemdup(d->actions, c->actions_len);
    memcpy(v->ports, w->consulted, w->n_ports * sizeof *v->ports);
    v->n_ports = w->n_ports;
    v->ports_serial = w->ports->serial;
    hmap_insert(&set->all, &v->hmap_node, hash);
    mpsc_queue_insert(&newborn, &v->queue_node);
    return v;
}

struct adp_cached *
adp_cached_from_walk(struct adp_cached_set *set, struct adp_walk *w,
                     const struct flow *flow,
                     struct adp_cached_session *session)
{
    struct adp_cached_content content;
    struct draft d = { .w = w, .flow = flow, .content = &content };
    struct adp_cached *v;

    if (!draft_content(&d, session)) {
        return NULL;
    }

    uint32_t hash = hash_bytes(&content, sizeof content, 0);
    hash = hits_hash(w->verdict.hits, content.n_hits, hash);
    hash = hash_bytes(d.actions, content.actions_len, hash);
    v = cached_find(set, &d, hash);
    if (!v && hmap_count(&set->all) < MAX_CACHED) {
        v = cached_create(set, &d, hash);
    }
    if (v) {
        adp_cached_revalidate(v, w->program, w->ports);
        v->n_sessions++;
    }
    return v;
}

void
adp_cached_release(struct adp_cached_set *set, struct adp_cached *v)
{
    if (!--v->n_sessions) {
        hmap_remove(&set->all, &v->hmap_node);
        atomic_store_explicit(&v->dead, true, memory_order_release);
    }
}

/* Validity. */

static uint64_t
hit_changed(const struct adp_hit *hit, const struct adp_program *program)
{
    switch (hit->kind) {
    case ADP_HIT_RULE:
    case ADP_HIT_MISS:
        return adp_program_changed(program, hit->table_id, hit->priority);
    case ADP_HIT_BUCKET:
        return adp_program_group_changed(program, hit->group->group_id);
    }
    OVS_NOT_REACHED();
}

static bool
ports_changed(const struct adp_cached *v, const struct adp_ports *ports)
{
    for (size_t i = 0; i < v->n_ports; i++) {
        struct adp_walk_port now;

        adp_walk_port_init(&now, ports, v->ports[i].ofp_port);
        if (memcmp(&now, &v->ports[i], sizeof now)) {
            return true;
        }
    }
    /* Which packets end a tunnel may have changed. */
    return v->content.to_ip_port;
}

void
adp_cached_revalidate(struct adp_cached *v, const struct adp_program *program,
                      const struct adp_ports *ports)
{
    if (v->generation != program->generation) {
        for (size_t i = 0; i < v->content.n_hits; i++) {
            const struct adp_hit *hit = &v->hits[i];

            v->changed = MAX(v->changed, hit_changed(hit, program));
            if (hit->kind != ADP_HIT_BUCKET
                && bitmap_is_set(program->learn_tables, hit->table_id)) {
                v->on_learn = true;
            }
        }
        v->generation = program->generation;
    }
    if (v->ports_serial != ports->serial) {
        v->overtaken |= ports_changed(v, ports);
        v->ports_serial = ports->serial;
    }
}

/* Folding, in the main thread. */

static void
credit(struct adp_bridge *b, const struct adp_cached *v, uint64_t n_packets,
       uint64_t n_bytes)
{
    long long int used;
    uint16_t tcp_flags;

    atomic_read_relaxed(&CONST_CAST(struct adp_cached *, v)->used, &used);
    atomic_read_relaxed(&CONST_CAST(struct adp_cached *, v)->tcp_flags,
                        &tcp_flags);
    for (size_t i = 0; i < v->content.n_hits; i++) {
        adp_bridge_credit_hit(b, &v->hits[i], n_packets, n_bytes, used,
                              tcp_flags);
    }
    if (v->content.tunnel) {
        adp_tunnel_credit(v->content.tunnel, n_packets, n_bytes);
    }
    if (v->content.ingress_tunnel) {
        adp_bridge_credit_tunnel_port(b, v->content.ingress_tunnel, n_packets,
                                      n_bytes);
    }
    adp_count(&b->counters.handled, n_packets);
    adp_count(&b->counters.handled_bytes, n_bytes);
    adp_count(&b->counters.hits, n_packets);
    if (v->content.dropped) {
        adp_count(&b->counters.drops[v->content.ends_in_miss ? ADP_DROP_MISS
                                     : ADP_DROP_FLOW], n_packets);
    }
}

static void
cached_fold(struct adp_cached *v)
{
    uint64_t n_packets = adp_counted(&v->n_packets);
    uint64_t n_bytes = adp_counted(&v->n_bytes);

    if (n_packets != v->folded_packets) {
        credit(v->bridge, v, n_packets - v->folded_packets,
               n_bytes - v->folded_bytes);
        v->folded_packets = n_packets;
        v->folded_bytes = n_bytes;
    }
}

static void
take_newborn(void)
{
    struct mpsc_queue_node *node;

    mpsc_queue_acquire(&newborn);
    MPSC_QUEUE_FOR_EACH_POP (node, &newborn) {
        struct adp_cached *v = CONTAINER_OF(node, struct adp_cached,
                                            queue_node);
        ovs_list_push_back(&known, &v->list_node);
    }
    mpsc_queue_release(&newborn);
}

void
adp_cached_fold(struct adp_bridge *b)
{
    struct adp_cached *v;

    take_newborn();
    LIST_FOR_EACH_SAFE (v, list_node, &known) {
        bool dead;

        if (v->bridge && v->bridge != b) {
            continue;
        }
        atomic_read_explicit(&v->dead, &dead, memory_order_acquire);
        if (v->bridge) {
            cached_fold(v);
        }
        if (dead) {
            ovs_list_remove(&v->list_node);
            ovsrcu_postpone(cached_free, v);
        }
    }
}

void
adp_cached_forget(struct adp_bridge *b)
{
    struct adp_cached *v;

    adp_cached_fold(b);
    LIST_FOR_EACH (v, list_node, &known) {
        if (v->bridge == b) {
            v->bridge = NULL;
            cached_strip(v);
        }
    }
}

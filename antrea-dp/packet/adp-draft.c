/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-draft.h"

#include "adp-tunnel.h"
#include "adp-tuple.h"
#include "odp-netlink.h"
#include "odp-util.h"

static bool
draft_ethernet(struct adp_draft *d, const struct ovs_key_ethernet *key)
{
    d->dl_dst = key->eth_dst;
    d->dl_src = key->eth_src;
    return true;
}

static bool
draft_ipv4(struct adp_draft *d, const struct ovs_key_ipv4 *key)
{
    d->tos = key->ipv4_tos;
    d->ttl = key->ipv4_ttl;
    return (d->flow->dl_type == htons(ETH_TYPE_IP)
            && key->ipv4_src == d->tuple.src.ipv4
            && key->ipv4_dst == d->tuple.dst.ipv4);
}

static bool
draft_ipv6(struct adp_draft *d, const struct ovs_key_ipv6 *key)
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
draft_ipv4_masked(struct adp_draft *d, const struct ovs_key_ipv4 *key,
                  const struct ovs_key_ipv4 *mask)
{
    d->tos = (d->tos & ~mask->ipv4_tos) | key->ipv4_tos;
    d->ttl = (d->ttl & ~mask->ipv4_ttl) | key->ipv4_ttl;
    return (d->flow->dl_type == htons(ETH_TYPE_IP)
            && !mask->ipv4_src && !mask->ipv4_dst);
}

static bool
draft_ipv6_masked(struct adp_draft *d, const struct ovs_key_ipv6 *key,
                  const struct ovs_key_ipv6 *mask)
{
    d->tos = (d->tos & ~mask->ipv6_tclass) | key->ipv6_tclass;
    d->ttl = (d->ttl & ~mask->ipv6_hlimit) | key->ipv6_hlimit;
    return (d->flow->dl_type == htons(ETH_TYPE_IPV6)
            && !mask->ipv6_label
            && is_all_zeros(&mask->ipv6_src, sizeof mask->ipv6_src)
            && is_all_zeros(&mask->ipv6_dst, sizeof mask->ipv6_dst));
}

static void
draft_address_masked(struct eth_addr *addr, const struct eth_addr *key,
                     const struct eth_addr *mask)
{
    for (size_t i = 0; i < ARRAY_SIZE(addr->be16); i++) {
        addr->be16[i] = (addr->be16[i] & ~mask->be16[i]) | key->be16[i];
    }
}

static bool
draft_set(struct adp_draft *d, const struct nlattr *key)
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
draft_set_masked(struct adp_draft *d, const struct nlattr *attr)
{
    const struct ovs_key_ethernet *eth;
    const struct ovs_key_ipv4 *ipv4;
    const struct ovs_key_ipv6 *ipv6;

    switch (nl_attr_type(attr)) {
    case OVS_KEY_ATTR_ETHERNET:
        eth = nl_attr_get(attr);
        draft_address_masked(&d->dl_dst, &eth[0].eth_dst, &eth[1].eth_dst);
        draft_address_masked(&d->dl_src, &eth[0].eth_src, &eth[1].eth_src);
        return true;
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
draft_ct(struct adp_draft *d)
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
draft_actions(struct adp_draft *d, const struct ofpbuf *actions)
{
    struct adp_cached_verdict_content *c = &d->content;
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

static bool
tuple_differs(const struct conntrack_peek_tuple *a, const struct flow *flow)
{
    struct conntrack_peek_tuple b;

    adp_tuple_from_flow(&b, flow);
    return (memcmp(&a->src, &b.src, sizeof a->src)
            || memcmp(&a->dst, &b.dst, sizeof a->dst)
            || a->tp_src != b.tp_src || a->tp_dst != b.tp_dst);
}

/* What goes into a tunnel is the tunnel's to say. */
static bool
draft_tunnel(struct adp_draft *d)
{
    struct adp_cached_verdict_content *c = &d->content;
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

bool
adp_draft_init(struct adp_draft *d, const struct adp_walk *w,
               const struct flow *flow)
{
    struct adp_cached_verdict_content *c = &d->content;
    const struct adp_verdict *v = &w->verdict;

    memset(c, 0, sizeof *c);
    d->w = w;
    d->flow = flow;
    d->actions = NULL;
    d->n_steps = 0;
    d->dl_dst = flow->dl_dst;
    d->dl_src = flow->dl_src;
    d->tos = flow->nw_tos;
    d->ttl = flow->nw_ttl;
    adp_tuple_from_flow(&d->tuple, flow);
    if (v->punt || v->n_hits > UINT16_MAX || v->n_idle_passes > UINT8_MAX
        || w->n_tunnels > 1
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
    c->dropped = v->dropped;
    c->missed = v->missed;
    c->n_idle_passes = v->n_idle_passes;
    c->ends_in_miss = (v->n_hits
                       && v->hits[v->n_hits - 1].kind == ADP_HIT_MISS);
    c->to_ip_port = w->to_ip_port;
    if (w->from_tunnel) {
        c->ingress_tunnel = flow->in_port.ofp_port;
    }
    c->n_hits = v->n_hits;
    return true;
}

bool
adp_draft_may_be_kept(const struct adp_draft *d)
{
    const struct adp_walk *w = d->w;

    return (!w->verdict.n_learned && !w->verdict.hit_learned
            && !w->tunnel_lost && w->n_ports <= ADP_WALK_MAX_PORTS);
}

/* True if mark and label of the connection were as they are in the peek, and
 * still are. */
static bool
has_same_metadata(const struct conntrack_peek_conn *pc)
{
    bool same;

    ovs_mutex_lock(&pc->real->lock);
    same = (pc->up->mark == pc->real->mark
            && ovs_u128_equals(pc->up->label, pc->real->label));
    ovs_mutex_unlock(&pc->real->lock);
    return same;
}

bool
adp_draft_conns(struct adp_cached_verdict_content *c,
                const struct conntrack_peek *p,
                struct conntrack_ref refs[ADP_CACHED_VERDICT_MAX_CONNS])
{
    if (p->n_conns > ADP_CACHED_VERDICT_MAX_CONNS
        || (p->n_steps && (!p->ordinary || !p->n_conns))) {
        return false;
    }
    for (size_t i = 0; i < p->n_conns; i++) {
        const struct conntrack_peek_conn *pc = &p->conns[i];

        if (!pc->real || !pc->tracked || !has_same_metadata(pc)) {
            return false;
        }
        c->conns[i].mark = pc->up->mark;
        c->conns[i].label = pc->up->label;
        c->conns[i].reply = pc->reply;
        c->conns[i].is_new = pc->is_new;
        c->conns[i].nat = pc->natted;
        refs[i] = pc->ref;
    }
    c->n_conns = p->n_conns;
    return true;
}

void
adp_draft_source(const struct adp_draft *d,
                 struct adp_cached_verdict_source *source)
{
    const struct adp_walk *w = d->w;

    *source = (struct adp_cached_verdict_source) {
        .bridge = w->bridge,
        .program = w->program,
        .ports = w->ports,
        .hits = w->verdict.hits,
        .hits_hash = w->verdict.hits_hash,
        .actions = d->actions,
        .consulted = w->consulted,
        .n_consulted = w->n_ports,
    };
}

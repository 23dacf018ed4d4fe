/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-summary.h"

#include "adp-tunnel.h"
#include "adp-tuple.h"
#include "odp-netlink.h"
#include "odp-util.h"

static bool
sum_up_ethernet(struct adp_summary *sum, const struct ovs_key_ethernet *key)
{
    sum->dl_dst = key->eth_dst;
    sum->dl_src = key->eth_src;
    return true;
}

static bool
sum_up_ipv4(struct adp_summary *sum, const struct ovs_key_ipv4 *key)
{
    sum->tos = key->ipv4_tos;
    sum->ttl = key->ipv4_ttl;
    return (sum->flow->dl_type == htons(ETH_TYPE_IP)
            && key->ipv4_src == sum->tuple.src.ipv4
            && key->ipv4_dst == sum->tuple.dst.ipv4);
}

static bool
sum_up_ipv6(struct adp_summary *sum, const struct ovs_key_ipv6 *key)
{
    sum->tos = key->ipv6_tclass;
    sum->ttl = key->ipv6_hlimit;
    return (sum->flow->dl_type == htons(ETH_TYPE_IPV6)
            && key->ipv6_label == sum->flow->ipv6_label
            && !memcmp(&key->ipv6_src, &sum->tuple.src.ipv6,
                       sizeof key->ipv6_src)
            && !memcmp(&key->ipv6_dst, &sum->tuple.dst.ipv6,
                       sizeof key->ipv6_dst));
}

/* With a mask only the whole or nothing of what differs between packets. */
static bool
sum_up_ipv4_masked(struct adp_summary *sum, const struct ovs_key_ipv4 *key,
                   const struct ovs_key_ipv4 *mask)
{
    sum->tos = (sum->tos & ~mask->ipv4_tos) | key->ipv4_tos;
    sum->ttl = (sum->ttl & ~mask->ipv4_ttl) | key->ipv4_ttl;
    return (sum->flow->dl_type == htons(ETH_TYPE_IP)
            && !mask->ipv4_src && !mask->ipv4_dst);
}

static bool
sum_up_ipv6_masked(struct adp_summary *sum, const struct ovs_key_ipv6 *key,
                   const struct ovs_key_ipv6 *mask)
{
    sum->tos = (sum->tos & ~mask->ipv6_tclass) | key->ipv6_tclass;
    sum->ttl = (sum->ttl & ~mask->ipv6_hlimit) | key->ipv6_hlimit;
    return (sum->flow->dl_type == htons(ETH_TYPE_IPV6)
            && !mask->ipv6_label
            && is_all_zeros(&mask->ipv6_src, sizeof mask->ipv6_src)
            && is_all_zeros(&mask->ipv6_dst, sizeof mask->ipv6_dst));
}

static void
sum_up_address_masked(struct eth_addr *addr, const struct eth_addr *key,
                      const struct eth_addr *mask)
{
    for (size_t i = 0; i < ARRAY_SIZE(addr->be16); i++) {
        addr->be16[i] = (addr->be16[i] & ~mask->be16[i]) | key->be16[i];
    }
}

/* Adds actions to those that are executed in the end.  Returns false if there
 * is no room. */
static bool
put_with_metadata(struct adp_summary *sum, const struct nlattr *actions,
                  size_t len)
{
    if (len > sizeof sum->with_metadata - sum->metadata_len) {
        return false;
    }
    memcpy((char *) sum->with_metadata + sum->metadata_len, actions, len);
    sum->metadata_len += len;
    return true;
}

static bool
is_metadata(const struct nlattr *key)
{
    return (nl_attr_type(key) == OVS_KEY_ATTR_SKB_MARK
            || nl_attr_type(key) == OVS_KEY_ATTR_PRIORITY);
}

static bool
sum_up_set(struct adp_summary *sum, const struct nlattr *key)
{
    switch (nl_attr_type(key)) {
    case OVS_KEY_ATTR_ETHERNET:
        return sum_up_ethernet(sum, nl_attr_get(key));
    case OVS_KEY_ATTR_IPV4:
        return sum_up_ipv4(sum, nl_attr_get(key));
    case OVS_KEY_ATTR_IPV6:
        return sum_up_ipv6(sum, nl_attr_get(key));
    default:
        return false;
    }
}

static bool
sum_up_set_masked(struct adp_summary *sum, const struct nlattr *attr)
{
    const struct ovs_key_ethernet *eth;
    const struct ovs_key_ipv4 *ipv4;
    const struct ovs_key_ipv6 *ipv6;

    switch (nl_attr_type(attr)) {
    case OVS_KEY_ATTR_ETHERNET:
        eth = nl_attr_get(attr);
        sum_up_address_masked(&sum->dl_dst, &eth[0].eth_dst, &eth[1].eth_dst);
        sum_up_address_masked(&sum->dl_src, &eth[0].eth_src, &eth[1].eth_src);
        return true;
    case OVS_KEY_ATTR_IPV4:
        ipv4 = nl_attr_get(attr);
        return sum_up_ipv4_masked(sum, ipv4, ipv4 + 1);
    case OVS_KEY_ATTR_IPV6:
        ipv6 = nl_attr_get(attr);
        return sum_up_ipv6_masked(sum, ipv6, ipv6 + 1);
    default:
        return false;
    }
}

/* The next ct(): what it does to the headers the walk has noted.  Behind a
 * meter not all packets get there. */
static bool
sum_up_ct(struct adp_summary *sum)
{
    const struct conntrack_peek *p = &sum->w->ct.peek;

    if (sum->n_steps >= p->n_steps || sum->content.metered) {
        return false;
    }
    sum->tuple = p->steps[sum->n_steps++];
    return true;
}

static void
sum_up_meter(struct adp_summary *sum, const struct nlattr *a)
{
    sum->content.metered = true;
    sum->content.meter_id = nl_attr_get_u32(a);
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

/* What is left to do, with 'a' the first of it. */
static bool
sum_up_rest(struct adp_summary *sum, const struct nlattr *a, size_t left)
{
    struct adp_cached_verdict_content *c = &sum->content;

    if (sum->metadata_len) {
        if (!put_with_metadata(sum, a, left)) {
            return false;
        }
        sum->actions = (const struct nlattr *) sum->with_metadata;
        c->actions_len = sum->metadata_len;
    } else if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT
               && left == NLA_ALIGN(a->nla_len)) {
        c->odp_port = nl_attr_get_odp_port(a);
    } else {
        sum->actions = a;
        c->actions_len = left;
    }
    return is_free_of_ct(a, left);
}

static bool
sum_up_actions(struct adp_summary *sum, const struct ofpbuf *actions)
{
    struct adp_cached_verdict_content *c = &sum->content;
    const struct nlattr *a;
    size_t left;

    c->odp_port = ODPP_NONE;
    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions->data, actions->size) {
        bool ok;

        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_CT:
            ok = sum_up_ct(sum);
            break;
        case OVS_ACTION_ATTR_CT_CLEAR:
            ok = true;
            break;
        case OVS_ACTION_ATTR_SET:
        case OVS_ACTION_ATTR_SET_MASKED:
            ok = (is_metadata(nl_attr_get(a))
                  ? put_with_metadata(sum, a, NLA_ALIGN(a->nla_len))
                  : nl_attr_type(a) == OVS_ACTION_ATTR_SET
                  ? sum_up_set(sum, nl_attr_get(a))
                  : sum_up_set_masked(sum, nl_attr_get(a)));
            break;
        case OVS_ACTION_ATTR_METER:
            if (!c->metered) {
                sum_up_meter(sum, a);
                ok = true;
                break;
            }
            /* Fall through. */
        default:
            return sum_up_rest(sum, a, left);
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
sum_up_tunnel(struct adp_summary *sum)
{
    struct adp_cached_verdict_content *c = &sum->content;
    const struct adp_walk *w = sum->w;

    if (w->n_tunnels) {
        const struct adp_tunnel_actions *tnl_actions
            = adp_tunnel_actions(w->tunnels[0], w->ct.peek.now);

        if (!tnl_actions || !sum->actions
            || tnl_actions->size != c->actions_len
            || memcmp(tnl_actions->data, sum->actions, tnl_actions->size)) {
            return false;
        }
        c->tunnel = w->tunnels[0];
        c->actions_len = 0;
    }
    return true;
}

bool
adp_summary_init(struct adp_summary *sum, const struct adp_walk *w,
                 const struct flow *flow)
{
    struct adp_cached_verdict_content *c = &sum->content;
    const struct adp_verdict *v = &w->verdict;

    memset(c, 0, sizeof *c);
    sum->w = w;
    sum->flow = flow;
    sum->actions = NULL;
    sum->n_steps = 0;
    sum->metadata_len = 0;
    sum->dl_dst = flow->dl_dst;
    sum->dl_src = flow->dl_src;
    sum->tos = flow->nw_tos;
    sum->ttl = flow->nw_ttl;
    adp_tuple_from_flow(&sum->tuple, flow);
    if (v->punt || v->held || v->read || v->n_breaks
        || v->n_hits > UINT16_MAX || v->n_idle_passes > UINT8_MAX
        || w->n_tunnels > 1
        || !sum_up_actions(sum, &v->actions)
        || !sum_up_tunnel(sum)) {
        return false;
    }

    if (!eth_addr_equals(sum->dl_dst, flow->dl_dst)
        || !eth_addr_equals(sum->dl_src, flow->dl_src)) {
        c->set_eth = true;
        c->dl_dst = sum->dl_dst;
        c->dl_src = sum->dl_src;
    }
    if (sum->tos != flow->nw_tos) {
        c->set_tos = true;
        c->tos = sum->tos;
    }
    if (sum->ttl != flow->nw_ttl) {
        c->set_ttl = true;
        c->ttl = sum->ttl;
    }
    c->nat = tuple_differs(&sum->tuple, flow);
    c->dropped = v->dropped;
    c->missed = v->missed;
    c->answer = v->answer;
    c->n_logs = v->n_logs;
    memcpy(c->logs, v->logs, v->n_logs * sizeof *v->logs);
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
adp_summary_may_be_kept(const struct adp_summary *sum)
{
    const struct adp_walk *w = sum->w;

    return (!w->verdict.n_learned && !w->verdict.hit_learned
            && !w->tunnel_lost && w->n_ports <= ADP_WALK_MAX_PORTS);
}

bool
adp_summary_exceeds_cache(const struct adp_walk *w)
{
    const struct adp_verdict *v = &w->verdict;

    return (w->n_ports > ADP_WALK_MAX_PORTS
            || w->n_tunnels + w->n_lost > 1
            || w->ct.peek.n_conns > ADP_CACHED_VERDICT_MAX_CONNS
            || v->n_learn_lookups > ADP_MAX_LEARN_LOOKUPS
            || v->n_metadata_lookups > ADP_MAX_METADATA_LOOKUPS);
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
adp_summary_conns(struct adp_cached_verdict_content *c,
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
        c->conns[i].nat = (pc->natted
                           ? conntrack_track_nat(pc->up, pc->reply)
                           : CONNTRACK_NAT_NONE);
        refs[i] = pc->ref;
    }
    c->n_conns = p->n_conns;
    return true;
}

void
adp_summary_source(const struct adp_summary *sum,
                   struct adp_cached_verdict_source *source)
{
    const struct adp_walk *w = sum->w;

    *source = (struct adp_cached_verdict_source) {
        .bridge = w->bridge,
        .program = w->program,
        .ports = w->ports,
        .ports_serial = w->ports_serial,
        .hits = w->verdict.hits,
        .hits_hash = w->verdict.hits_hash,
        .lookups = w->verdict.metadata_lookups,
        .n_lookups = MIN(w->verdict.n_metadata_lookups,
                         ADP_MAX_METADATA_LOOKUPS),
        .actions = sum->actions,
        .consulted = w->consulted,
        .n_consulted = w->n_ports,
    };
}

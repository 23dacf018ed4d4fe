/* SPDX-License-Identifier: Apache-2.0 */

/* Conntrack in the walk.
 *
 * In stock, ct(table=N) recirculates: a copy of the packet, as it is now,
 * comes back with what conntrack wrote into its metadata and headers and goes
 * on in table N with the registers that it had; the packet itself carries on
 * with the actions that follow, knowing nothing of conntrack's answer.  Here
 * the environment foretells the answer and the walk goes on in N at once.  If
 * nothing follows, as in nearly all pipelines, the packet itself goes;
 * otherwise a datapath clone does. */

#include <config.h>
#include <netinet/in.h>
#include "adp-decide-private.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"

/* Stock drops a packet that recirculates more often, and one that came through
 * a tunnel has done so once. */
#define MAX_PASSES 5

static void
md_from_flow(struct adp_ct_md *md, const struct flow *flow)
{
    md->ct_state = flow->ct_state;
    md->ct_zone = flow->ct_zone;
    md->ct_mark = flow->ct_mark;
    md->ct_label = flow->ct_label;
    md->ct_nw_proto = flow->ct_nw_proto;
    md->ct_tp_src = flow->ct_tp_src;
    md->ct_tp_dst = flow->ct_tp_dst;
    md->ct_nw_src = flow->ct_nw_src;
    md->ct_nw_dst = flow->ct_nw_dst;
    md->ct_ipv6_src = flow->ct_ipv6_src;
    md->ct_ipv6_dst = flow->ct_ipv6_dst;
}

static void
md_to_flow(const struct adp_ct_md *md, struct flow *flow)
{
    flow->ct_state = md->ct_state;
    flow->ct_zone = md->ct_zone;
    flow->ct_mark = md->ct_mark;
    flow->ct_label = md->ct_label;
    flow->ct_nw_proto = md->ct_nw_proto;
    flow->ct_tp_src = md->ct_tp_src;
    flow->ct_tp_dst = md->ct_tp_dst;
    flow->ct_nw_src = md->ct_nw_src;
    flow->ct_nw_dst = md->ct_nw_dst;
    flow->ct_ipv6_src = md->ct_ipv6_src;
    flow->ct_ipv6_dst = md->ct_ipv6_dst;
}

void
adp_decide_ct_init(struct adp_decide_walk *w)
{
    md_from_flow(&w->md, w->flow);
    w->conntracked = (w->flow->ct_state & CS_TRACKED) != 0;
    w->nat_unseen = false;
    w->rewritten = false;
    w->retyped = false;
    w->clone_tracked = false;
}

/* Emitting the datapath action. */

static void
put_nat_range(struct ofpbuf *actions, const struct ofpact_nat *nat)
{
    if (nat->range_af == AF_INET) {
        ovs_be32 min = nat->range.addr.ipv4.min;
        ovs_be32 max = nat->range.addr.ipv4.max;

        nl_msg_put_be32(actions, OVS_NAT_ATTR_IP_MIN, min);
        if (ntohl(max) > ntohl(min)) {
            nl_msg_put_be32(actions, OVS_NAT_ATTR_IP_MAX, max);
        }
    } else if (nat->range_af == AF_INET6) {
        const struct in6_addr *min = &nat->range.addr.ipv6.min;
        const struct in6_addr *max = &nat->range.addr.ipv6.max;

        nl_msg_put_unspec(actions, OVS_NAT_ATTR_IP_MIN, min, sizeof *min);
        if (memcmp(max, min, sizeof *max) > 0) {
            nl_msg_put_unspec(actions, OVS_NAT_ATTR_IP_MAX, max, sizeof *max);
        }
    }

    if (nat->range_af != AF_UNSPEC && nat->range.proto.min) {
        uint16_t min = nat->range.proto.min;
        uint16_t max = nat->range.proto.max;

        nl_msg_put_u16(actions, OVS_NAT_ATTR_PROTO_MIN, min);
        if (max > min) {
            nl_msg_put_u16(actions, OVS_NAT_ATTR_PROTO_MAX, max);
        }
    }
}

static void
put_nat(struct ofpbuf *actions, const struct ofpact_nat *nat)
{
    size_t offset = nl_msg_start_nested(actions, OVS_CT_ATTR_NAT);

    if (nat->flags & (NX_NAT_F_SRC | NX_NAT_F_DST)) {
        nl_msg_put_flag(actions, nat->flags & NX_NAT_F_SRC
                        ? OVS_NAT_ATTR_SRC : OVS_NAT_ATTR_DST);
        if (nat->flags & NX_NAT_F_PERSISTENT) {
            nl_msg_put_flag(actions, OVS_NAT_ATTR_PERSISTENT);
        }
        if (nat->flags & NX_NAT_F_PROTO_HASH) {
            nl_msg_put_flag(actions, OVS_NAT_ATTR_PROTO_HASH);
        } else if (nat->flags & NX_NAT_F_PROTO_RANDOM) {
            nl_msg_put_flag(actions, OVS_NAT_ATTR_PROTO_RANDOM);
        }
        put_nat_range(actions, nat);
    }
    nl_msg_end_nested(actions, offset);
}

static void
put_mark(struct ofpbuf *actions, uint32_t mark, uint32_t mask)
{
    if (mask) {
        uint32_t value[2] = { mark, mask };

        nl_msg_put_unspec(actions, OVS_CT_ATTR_MARK, value, sizeof value);
    }
}

static void
put_label(struct ofpbuf *actions, ovs_u128 label, ovs_u128 mask)
{
    if (!ovs_u128_is_zero(mask)) {
        ovs_u128 value[2] = { label, mask };

        nl_msg_put_unspec(actions, OVS_CT_ATTR_LABELS, value, sizeof value);
    }
}

static void
put_helper(struct ofpbuf *actions, uint16_t alg)
{
    if (alg == IPPORT_FTP) {
        nl_msg_put_string(actions, OVS_CT_ATTR_HELPER, "ftp");
    } else if (alg == IPPORT_TFTP) {
        nl_msg_put_string(actions, OVS_CT_ATTR_HELPER, "tftp");
    }
}

static void
put_ct(struct adp_decide_walk *w, const struct adp_ct_request *req)
{
    struct ofpbuf *actions = &w->verdict->actions;
    size_t offset = nl_msg_start_nested(actions, OVS_ACTION_ATTR_CT);

    if (req->commit) {
        const char *timeout = w->env->class->ct_timeout(w->env, req->zone,
                                                        w->flow);

        nl_msg_put_flag(actions, req->force ? OVS_CT_ATTR_FORCE_COMMIT
                        : OVS_CT_ATTR_COMMIT);
        if (timeout) {
            nl_msg_put_string(actions, OVS_CT_ATTR_TIMEOUT, timeout);
        }
    }
    nl_msg_put_u16(actions, OVS_CT_ATTR_ZONE, req->zone);
    put_mark(actions, req->mark, req->mark_mask);
    put_label(actions, req->label, req->label_mask);
    put_helper(actions, req->alg);
    if (req->nat) {
        put_nat(actions, req->nat_spec);
    }
    nl_msg_end_nested(actions, offset);
}

/* The request. */

/* Carries out what stands in exec() and nat().  The actions work on the flow's
 * mark and label, and which bits they meant is what they mark in 'wc'. */
static void
execute_nested(struct adp_decide_walk *w, const struct ofpact_conntrack *ct,
               struct adp_ct_request *req)
{
    struct flow *masks = &w->wc.masks;
    const struct ofpact *a;

    masks->ct_mark = 0;
    masks->ct_label = OVS_U128_ZERO;
    OFPACT_FOR_EACH (a, ct->actions, ofpact_ct_get_action_len(ct)) {
        if (a->type == OFPACT_NAT) {
            req->nat = true;
            req->nat_spec = ofpact_get_NAT(a);
            req->nat_action = req->nat_spec->flags;
        } else {
            adp_op_modify(a, w->flow, &w->wc);
        }
    }
    req->mark_mask = masks->ct_mark;
    req->mark = w->flow->ct_mark & req->mark_mask;
    req->label_mask = masks->ct_label;
    req->label = ovs_u128_and(w->flow->ct_label, req->label_mask);
    masks->ct_mark = UINT32_MAX;
    masks->ct_label = OVS_U128_MAX;
}

static void
request_init(struct adp_ct_request *req, struct adp_decide_walk *w,
             const struct ofpact_conntrack *ct)
{
    *req = (struct adp_ct_request) {
        .zone = (ct->zone_src.field
                 ? mf_get_subfield(&ct->zone_src, w->flow) : ct->zone_imm),
        .commit = (ct->flags & NX_CT_F_COMMIT) != 0,
        .force = (ct->flags & NX_CT_F_FORCE) != 0,
        .rewritten = w->rewritten,
        .alg = ct->alg,
    };
    execute_nested(w, ct, req);
}

/* The answer. */

/* Gives 'flow' what it would be after recirculation, but for conntrack's part:
 * the packet parsed anew, OpenFlow's metadata kept. */
static void
thaw(const struct adp_decide_walk *w, struct flow *flow)
{
    struct flow_tnl tunnel = w->flow->tunnel;
    ovs_be64 metadata = w->flow->metadata;
    ofp_port_t actset_output = w->flow->actset_output;
    ofp_port_t in_port = w->flow->in_port.ofp_port;
    uint32_t regs[FLOW_N_REGS];

    memcpy(regs, w->flow->regs, sizeof regs);
    *flow = w->base;
    flow->tunnel = tunnel;
    flow->metadata = metadata;
    flow->actset_output = actset_output;
    flow->in_port.ofp_port = in_port;
    memcpy(flow->regs, regs, sizeof regs);
    md_to_flow(&w->md, flow);
}

static atomic_int vlan_limit = FLOW_MAX_VLAN_HEADERS;

void
adp_decide_set_vlan_limit(int limit)
{
    atomic_store_relaxed(&vlan_limit, limit);
}

bool
adp_decide_has_hidden_headers(const struct adp_decide_walk *w)
{
    int limit;

    atomic_read_relaxed(&vlan_limit, &limit);
    return flow_count_vlan_headers(w->flow) > limit;
}

static bool
same_tuple(const struct flow *a, const struct flow *b)
{
    return (a->tp_src == b->tp_src && a->tp_dst == b->tp_dst
            && (a->dl_type == htons(ETH_TYPE_IPV6)
                ? (ipv6_addr_equals(&a->ipv6_src, &b->ipv6_src)
                   && ipv6_addr_equals(&a->ipv6_dst, &b->ipv6_dst))
                : a->nw_src == b->nw_src && a->nw_dst == b->nw_dst));
}

static void
trace_answer(const struct adp_decide_walk *w, const struct flow *flow,
             bool nat, enum adp_punt punt)
{
    struct adp_trace_event event = {
        .type = ADP_TRACE_CT_ANSWER,
        .answer = {
            .ct_state = flow->ct_state,
            .ct_zone = flow->ct_zone,
            .ct_mark = flow->ct_mark,
            .ct_label = flow->ct_label,
            .dl_type = flow->dl_type,
            .tp_src = flow->tp_src,
            .tp_dst = flow->tp_dst,
            .nat = nat,
        },
        .punt = punt,
    };

    if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
        event.answer.src = flow->ipv6_src;
        event.answer.dst = flow->ipv6_dst;
    } else {
        in6_addr_set_mapped_ipv4(&event.answer.src, flow->nw_src);
        in6_addr_set_mapped_ipv4(&event.answer.dst, flow->nw_dst);
    }
    adp_decide_trace(w, &event);
}

/* Has the environment do to 'flow', a thawed one, what 'req' would.  Returns
 * false after a punt.  Sets '*nat' if headers changed. */
static bool
ask(struct adp_decide_walk *w, const struct adp_ct_request *req,
    const struct ofpact *a, struct flow *flow, bool *nat)
{
    enum adp_punt punt;

    if (adp_decide_traces(w)) {
        adp_decide_trace(w, &(struct adp_trace_event) {
            .type = ADP_TRACE_CT,
            .ct = *req,
        });
    }
    punt = w->env->class->ct(w->env, req, flow);
    w->verdict->n_cts++;
    w->rewritten = false;
    *nat = !same_tuple(flow, &w->base);
    md_from_flow(&w->md, flow);
    if (adp_decide_traces(w)) {
        trace_answer(w, flow, *nat, punt);
    }
    if (punt) {
        adp_decide_punt(w, punt, a);
    }
    return !punt;
}

/* Lets the packet go on with what conntrack said. */
static void
resume(struct adp_decide_walk *w)
{
    w->base = *w->flow;
    memset(&w->base.tunnel, 0, sizeof w->base.tunnel);
    w->conntracked = true;
    w->resubmits = 0;
    w->place.depth = 0;
    w->n_passes++;
    adp_decide_begin_pass(w);
}

/* The packet knows no longer what conntrack said, but its metadata do. */
static void
forget(struct adp_decide_walk *w)
{
    flow_clear_conntrack(w->flow);
    w->conntracked = false;
}

static void
trace_resume(const struct adp_decide_walk *w, enum adp_trace_type type,
             uint8_t table_id)
{
    if (adp_decide_traces(w)) {
        struct adp_trace_event event = { .type = type };

        event.level = w->level;
        event.table_id = table_id;
        w->env->class->trace(w->env, &event);
    }
}

/* ct() without a table: conntrack's answer shows in the packet alone. */
static void ADP_OUT_OF_LINE
ct_aside(struct adp_decide_walk *w, const struct adp_ct_request *req,
         const struct ofpact *a)
{
    struct flow flow;
    bool nat;

    thaw(w, &flow);
    if (ask(w, req, a, &flow, &nat)) {
        w->nat_unseen = nat;
    }
    forget(w);
}

/* ct(table) that is followed by other actions. */
static void ADP_OUT_OF_LINE
ct_fork(struct adp_decide_walk *w, const struct adp_ct_request *req,
        const struct ofpact *a, uint8_t table_id)
{
    struct adp_decide_place place = w->place;
    struct flow saved_flow = *w->flow;
    struct flow saved_base = w->base;
    int resubmits = w->resubmits;
    size_t pass_start = w->pass_start;
    bool hashed = w->hashed;
    int n_passes = w->n_passes;
    bool retyped = w->retyped;
    bool metered = w->metered;
    bool was_metered = w->was_metered;
    struct adp_ct_md saved_md;
    bool nat;

    thaw(w, w->flow);
    if (ask(w, req, a, w->flow, &nat)) {
        size_t n_cts = w->verdict->n_cts;
        const struct adp_op_list *ops;
        size_t offset;

        saved_md = w->md;
        trace_resume(w, ADP_TRACE_CT_FORK, table_id);
        resume(w);
        offset = adp_decide_begin_clone(w);
        adp_decide_begin_pass(w);
        w->level++;
        ops = adp_decide_enter(w, table_id);
        if (ops) {
            adp_decide_ops(w, ops, true);
        }
        w->level--;
        adp_decide_end_pass(w);
        adp_decide_end_clone(w, offset);

        w->stop = w->verdict->punt != ADP_PUNT_NONE;
        w->md = saved_md;
        w->nat_unseen = nat;
        w->rewritten = false;
        w->retyped = retyped;
        w->clone_tracked |= w->verdict->n_cts > n_cts;
        w->n_passes = n_passes;
        w->pass_start = pass_start;
        w->hashed = hashed;
        w->metered = metered;
        w->was_metered = was_metered;
        w->resubmits = resubmits;
        w->place = place;
        w->base = saved_base;
    }
    *w->flow = saved_flow;
    w->dirty = true;
    forget(w);
}

bool
adp_decide_ct(struct adp_decide_walk *w, const struct adp_op *op, bool last)
{
    const struct ofpact_conntrack *ct = ofpact_get_CT(op->ofpact);
    bool has_table = ct->recirc_table != NX_CT_RECIRC_NONE;
    struct adp_ct_request req;
    bool nat;

    if (w->nat_unseen || w->clone_tracked) {
        /* What headers the packet has after further changes depends on which
         * of them NAT made.  And the environment goes on from its latest
         * answer, not from that to the ct() before the clone. */
        adp_decide_punt(w, ADP_PUNT_ACTION, op->ofpact);
        return false;
    }
    if (has_table && w->n_passes >= MAX_PASSES) {
        adp_decide_punt(w, ADP_PUNT_DEPTH, op->ofpact);
        return false;
    }

    adp_decide_commit(w);
    if (w->retyped || (has_table && adp_decide_has_hidden_headers(w))) {
        adp_decide_punt(w, ADP_PUNT_ACTION, op->ofpact);
        return false;
    }
    if (has_table && !adp_decide_break_pass(w, !last, op->ofpact)) {
        return false;
    }
    request_init(&req, w, ct);
    put_ct(w, &req);

    if (!has_table) {
        ct_aside(w, &req, op->ofpact);
        return false;
    } else if (!last) {
        ct_fork(w, &req, op->ofpact, ct->recirc_table);
        return false;
    }

    thaw(w, w->flow);
    if (!ask(w, &req, op->ofpact, w->flow, &nat)) {
        return false;
    }
    trace_resume(w, ADP_TRACE_CT_RESUME, ct->recirc_table);
    resume(w);
    return true;
}

void
adp_decide_ct_clear(struct adp_decide_walk *w)
{
    if (w->conntracked) {
        forget(w);
        nl_msg_put_flag(&w->verdict->actions, OVS_ACTION_ATTR_CT_CLEAR);
        memset(&w->md, 0, sizeof w->md);
    }
}

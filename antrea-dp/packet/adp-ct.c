/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-ct.h"

#include "adp-tuple.h"
#include "openvswitch/ofp-actions.h"
#include "packets.h"

void
adp_ct_init(struct adp_ct *ct, struct conntrack *tracker,
            struct dp_packet *packet, long long int now_ms)
{
    conntrack_peek_init(&ct->peek, tracker, packet, now_ms);
    ct->n_steps = 0;
}

/* The original direction tuple, as miniflow_extract() takes it from packet
 * metadata. */
static void
orig_tuple_to_flow(const struct conntrack_peek *p, struct flow *flow)
{
    const struct conn_key *key = &p->orig_tuple;
    bool v6 = key->dl_type == htons(ETH_TYPE_IPV6);

    flow->ct_nw_proto = 0;
    flow->ct_tp_src = flow->ct_tp_dst = 0;
    flow->ct_nw_src = flow->ct_nw_dst = 0;
    memset(&flow->ct_ipv6_src, 0, sizeof flow->ct_ipv6_src);
    memset(&flow->ct_ipv6_dst, 0, sizeof flow->ct_ipv6_dst);
    /* To upstream protocol 0 is none. */
    if (!p->has_orig_tuple || !key->nw_proto
        || key->dl_type != flow->dl_type) {
        return;
    }

    flow->ct_nw_proto = key->nw_proto;
    if (v6) {
        flow->ct_ipv6_src = key->src.addr.ipv6;
        flow->ct_ipv6_dst = key->dst.addr.ipv6;
    } else {
        flow->ct_nw_src = key->src.addr.ipv4;
        flow->ct_nw_dst = key->dst.addr.ipv4;
    }
    if (key->nw_proto == (v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)) {
        flow->ct_tp_src = htons(key->src.icmp_type);
        flow->ct_tp_dst = htons(key->src.icmp_code);
    } else {
        flow->ct_tp_src = key->src.port;
        flow->ct_tp_dst = key->dst.port;
    }
}

static void
nat_from_request(struct nat_action_info_t *nat,
                 const struct adp_ct_request *req)
{
    const struct ofpact_nat *spec = req->nat_spec;

    memset(nat, 0, sizeof *nat);
    if (!(req->nat_action & (NX_NAT_F_SRC | NX_NAT_F_DST))) {
        return;
    }

    bool src = req->nat_action & NX_NAT_F_SRC;
    nat->nat_action = src ? NAT_ACTION_SRC : NAT_ACTION_DST;
    if (spec->range_af == AF_INET) {
        ovs_be32 max = spec->range.addr.ipv4.max;

        nat->min_addr.ipv4 = spec->range.addr.ipv4.min;
        nat->max_addr.ipv4 = max ? max : nat->min_addr.ipv4;
    } else if (spec->range_af == AF_INET6) {
        const struct in6_addr *max = &spec->range.addr.ipv6.max;

        nat->min_addr.ipv6 = spec->range.addr.ipv6.min;
        nat->max_addr.ipv6 = (ipv6_addr_is_set(max) ? *max
                              : nat->min_addr.ipv6);
    }
    if (spec->range_af != AF_UNSPEC && spec->range.proto.min) {
        nat->nat_action |= src ? NAT_ACTION_SRC_PORT : NAT_ACTION_DST_PORT;
        nat->min_port = spec->range.proto.min;
        nat->max_port = (spec->range.proto.max ? spec->range.proto.max
                         : nat->min_port);
    }
}

static void
note_step(struct adp_ct *ct, const struct conntrack_peek_request *req,
          const struct conntrack_peek_tuple *tuple, bool clear, bool forget)
{
    const struct conntrack_peek *p = &ct->peek;
    size_t i = ct->n_steps++;

    if (i < ADP_CT_MAX_STEPS) {
        struct adp_ct_step *step = &ct->steps[i];

        step->req = *req;
        if (req->nat) {
            step->nat = *req->nat;
        }
        step->clear = clear;
        step->forget = forget;
        step->ct_state = p->ct_state;
        step->ct_mark = p->ct_mark;
        step->ct_label = p->ct_label;
        step->tuple = *tuple;
    }
}

bool
adp_ct_repeat(struct adp_ct *ct, const struct adp_ct_step *step,
              struct conntrack_peek_tuple *tuple)
{
    struct conntrack_peek *p = &ct->peek;
    struct conntrack_peek_request req = step->req;

    if (req.nat) {
        req.nat = &step->nat;
    }
    if (step->clear) {
        conntrack_peek_clear(p);
    }
    if (step->forget) {
        conntrack_peek_forget(p);
    }
    return (conntrack_peek_ct(p, &req, tuple) == CT_PEEK_OK
            && p->ct_state == step->ct_state
            && p->ct_mark == step->ct_mark
            && ovs_u128_equals(p->ct_label, step->ct_label)
            && !memcmp(&tuple->src, &step->tuple.src, sizeof tuple->src)
            && !memcmp(&tuple->dst, &step->tuple.dst, sizeof tuple->dst));
}

enum adp_punt
adp_ct_ask(struct adp_ct *ct, const struct adp_ct_request *req,
           struct flow *flow)
{
    struct conntrack_peek *p = &ct->peek;
    struct conntrack_peek_tuple tuple;
    struct nat_action_info_t nat;
    struct conntrack_peek_request preq = {
        .zone = req->zone,
        .commit = req->commit,
        .force = req->force,
        .nat = req->nat ? &nat : NULL,
        .helper = req->alg == IPPORT_FTP ? "ftp"
                  : req->alg == IPPORT_TFTP ? "tftp" : NULL,
        .mark = req->mark,
        .mark_mask = req->mark_mask,
        .label = req->label,
        .label_mask = req->label_mask,
    };

    bool clear = !flow->ct_state && p->ct_state;
    if (clear) {
        conntrack_peek_clear(p);        /* ct_clear came between. */
    }
    if (req->rewritten) {
        conntrack_peek_forget(p);
    }
    if (req->nat) {
        nat_from_request(&nat, req);
    }
    adp_tuple_from_flow(&tuple, flow);
    switch (conntrack_peek_ct(p, &preq, &tuple)) {
    case CT_PEEK_OK:
        break;
    case CT_PEEK_ALG:
        return ADP_PUNT_ALG;
    case CT_PEEK_ICMP_ERROR:
        return ADP_PUNT_ICMP_ERROR;
    case CT_PEEK_UNFORESEEN:
        return ADP_PUNT_ACTION;
    case CT_PEEK_TOO_MANY:
        return ADP_PUNT_DEPTH;
    }

    note_step(ct, &preq, &tuple, clear, req->rewritten);
    adp_tuple_to_flow(&tuple, flow);
    flow->ct_state = p->ct_state;
    flow->ct_zone = p->ct_zone;
    flow->ct_mark = p->ct_mark;
    flow->ct_label = p->ct_label;
    orig_tuple_to_flow(p, flow);
    return ADP_PUNT_NONE;
}

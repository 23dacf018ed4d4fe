/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TUPLE_H
#define ADP_TUPLE_H 1

/* From a packet's addresses and ports, wherever they stand, to conntrack's
 * tuple, and back.
 *
 * Ports are those of TCP, UDP and SCTP; other protocols' are zeros in a tuple,
 * and left alone in a flow.  So are addresses of what is neither IPv4 nor
 * IPv6.
 */

#include <netinet/in.h>
#include <string.h>
#include "adp-session-parse.h"
#include "conntrack-peek.h"
#include "flow.h"

static inline bool
adp_tuple_has_ports(const struct flow *flow)
{
    return (flow->nw_proto == IPPROTO_TCP || flow->nw_proto == IPPROTO_UDP
            || flow->nw_proto == IPPROTO_SCTP);
}

static inline void
adp_tuple_from_flow(struct conntrack_peek_tuple *tuple,
                    const struct flow *flow)
{
    memset(tuple, 0, sizeof *tuple);
    tuple->dl_type = flow->dl_type;
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        tuple->src.ipv4 = flow->nw_src;
        tuple->dst.ipv4 = flow->nw_dst;
    } else if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
        tuple->src.ipv6 = flow->ipv6_src;
        tuple->dst.ipv6 = flow->ipv6_dst;
    } else {
        return;
    }
    if (adp_tuple_has_ports(flow)) {
        tuple->tp_src = flow->tp_src;
        tuple->tp_dst = flow->tp_dst;
    }
}

/* 'flow' has type and protocol already. */
static inline void
adp_tuple_to_flow(const struct conntrack_peek_tuple *tuple, struct flow *flow)
{
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        flow->nw_src = tuple->src.ipv4;
        flow->nw_dst = tuple->dst.ipv4;
    } else if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
        flow->ipv6_src = tuple->src.ipv6;
        flow->ipv6_dst = tuple->dst.ipv6;
    } else {
        return;
    }
    if (adp_tuple_has_ports(flow)) {
        flow->tp_src = tuple->tp_src;
        flow->tp_dst = tuple->tp_dst;
    }
}

static inline void
adp_tuple_from_packet(struct conntrack_peek_tuple *tuple,
                      const struct adp_session_packet *p)
{
    const struct adp_session_l4 *l4 = p->is_ipv6 ? &p->key6.l4 : &p->key4.l4;

    memset(tuple, 0, sizeof *tuple);
    if (p->is_ipv6) {
        tuple->dl_type = htons(ETH_TYPE_IPV6);
        tuple->src.ipv6 = p->key6.ipv6_src;
        tuple->dst.ipv6 = p->key6.ipv6_dst;
    } else {
        tuple->dl_type = htons(ETH_TYPE_IP);
        tuple->src.ipv4 = p->key4.nw_src;
        tuple->dst.ipv4 = p->key4.nw_dst;
    }
    tuple->tp_src = l4->tp_src;
    tuple->tp_dst = l4->tp_dst;
}

/* True if 'tuple', which was the packet's, still is. */
static inline bool
adp_tuple_is_packets(const struct conntrack_peek_tuple *tuple,
                     const struct adp_session_packet *p)
{
    const struct adp_session_l4 *l4 = p->is_ipv6 ? &p->key6.l4 : &p->key4.l4;

    return (tuple->tp_src == l4->tp_src && tuple->tp_dst == l4->tp_dst
            && (p->is_ipv6
                ? (ipv6_addr_equals(&tuple->src.ipv6, &p->key6.ipv6_src)
                   && ipv6_addr_equals(&tuple->dst.ipv6, &p->key6.ipv6_dst))
                : (tuple->src.ipv4 == p->key4.nw_src
                   && tuple->dst.ipv4 == p->key4.nw_dst)));
}

#endif /* adp-tuple.h */

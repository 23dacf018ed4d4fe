/* SPDX-License-Identifier: Apache-2.0 */

#ifndef XLATE_SNOOP_H
#define XLATE_SNOOP_H 1

/* Included by ofproto-dpif-xlate.c: which packets tell tunnels a neighbour's
 * address.
 *
 * Upstream asks that for each output to a port with an address, and of any
 * packet of ARP or ICMPv6 whether it is for an address of the bridge or of any
 * port: of a packet that is flooded, as many times as there are ports.  Here
 * only packets are asked about that can tell something, and each once in a
 * translation: what they tell is the same, whichever port they go to.
 *
 * Thread-safety: as the translation's.
 */

/* What of a packet has been looked at last; nothing if 'xbridge' is NULL. */
struct xlate_snooped {
    const struct xbridge *xbridge;
    ovs_be16 dl_type;
    uint8_t nw_proto;                           /* ARP: the opcode. */
    struct eth_addr arp_sha, arp_tha;           /* ND: 'arp_tha'. */
    ovs_be32 nw_src, nw_dst;                    /* ARP. */
    struct in6_addr ipv6_dst, nd_target;        /* ND. */
};

/* An ARP reply, gratuitous ARP or a neighbour advertisement.  What is told of
 * these is for no other packets. */
static bool
xlate_tells_neighbour(const struct flow *flow, struct flow_wildcards *wc)
{
    if (is_arp(flow)) {
        memset(&wc->masks.nw_proto, 0xff, sizeof wc->masks.nw_proto);
        return is_garp(flow, wc) || flow->nw_proto == ARP_OP_REPLY;
    }
    return (flow->nw_proto == IPPROTO_ICMPV6 && is_nd(flow, wc)
            && flow->tp_src == htons(ND_NEIGHBOR_ADVERT));
}

/* Can 'flow' tell anything that it hasn't? */
static bool
xlate_snoop_is_due(struct xlate_snooped *last, const struct xbridge *xbridge,
                   const struct flow *flow, struct flow_wildcards *wc)
{
    if (!xlate_tells_neighbour(flow, wc)) {
        return false;
    }
    if (last->xbridge == xbridge
        && last->dl_type == flow->dl_type
        && last->nw_proto == flow->nw_proto
        && eth_addr_equals(last->arp_sha, flow->arp_sha)
        && eth_addr_equals(last->arp_tha, flow->arp_tha)
        && last->nw_src == flow->nw_src
        && last->nw_dst == flow->nw_dst
        && ipv6_addr_equals(&last->ipv6_dst, &flow->ipv6_dst)
        && ipv6_addr_equals(&last->nd_target, &flow->nd_target)) {
        return false;
    }
    *last = (struct xlate_snooped) {
        .xbridge = xbridge,
        .dl_type = flow->dl_type,
        .nw_proto = flow->nw_proto,
        .arp_sha = flow->arp_sha,
        .arp_tha = flow->arp_tha,
        .nw_src = flow->nw_src,
        .nw_dst = flow->nw_dst,
        .ipv6_dst = flow->ipv6_dst,
        .nd_target = flow->nd_target,
    };
    return true;
}

#endif /* xlate-snoop.h */

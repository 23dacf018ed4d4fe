/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_IP_FRAGMENT_H
#define TESTS_IP_FRAGMENT_H 1

/* Fragments of datagrams, each byte of whose data follows from where it is and
 * from the datagram. */

#include <netinet/in.h>
#include <netinet/ip6.h>
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "packets.h"

struct ip_fragment {
    bool v6;
    uint8_t proto;              /* 0: UDP. */
    uint8_t host;               /* Who sends it; to 250. */
    uint32_t id;                /* IPv4: of 16 bits. */
    size_t offset, size;        /* Of data, in bytes. */
    bool more;
    uint32_t in_port;
    size_t padding;             /* Behind it in the frame. */
};

static inline uint8_t
ip_datum(uint32_t id, size_t at)
{
    return (at ^ at >> 8) + id;
}

static inline void
ip_fragment_put_v4(struct dp_packet *p, const struct ip_fragment *f)
{
    struct ip_header *ip = dp_packet_put_zeros(p, sizeof *ip);

    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tot_len = htons(sizeof *ip + f->size);
    ip->ip_ttl = 64;
    ip->ip_proto = f->proto ? f->proto : IPPROTO_UDP;
    ip->ip_id = htons(f->id);
    ip->ip_frag_off = htons(f->offset / 8
                            | (f->more ? IP_MORE_FRAGMENTS : 0));
    put_16aligned_be32(&ip->ip_src, htonl(0x0a000000 | f->host));
    put_16aligned_be32(&ip->ip_dst, htonl(0x0a000000 | 250));
    ip->ip_csum = csum(ip, sizeof *ip);
}

static inline void
ip_fragment_put_v6(struct dp_packet *p, const struct ip_fragment *f)
{
    struct ovs_16aligned_ip6_hdr *ip = dp_packet_put_zeros(p, sizeof *ip);
    struct ovs_16aligned_ip6_frag *frag;

    put_16aligned_be32(&ip->ip6_flow, htonl(6 << 28));
    ip->ip6_plen = htons(sizeof *frag + f->size);
    ip->ip6_nxt = IPPROTO_FRAGMENT;
    ip->ip6_hlim = 64;
    put_16aligned_be32(&ip->ip6_src.be32[3], htonl(f->host));
    put_16aligned_be32(&ip->ip6_dst.be32[3], htonl(250));
    frag = dp_packet_put_zeros(p, sizeof *frag);
    frag->ip6f_nxt = f->proto ? f->proto : IPPROTO_UDP;
    frag->ip6f_offlg = htons(f->offset | f->more);
    put_16aligned_be32(&frag->ip6f_ident, htonl(f->id));
}

/* With offsets as the datapath finds them.  It ends with its memory. */
static inline struct dp_packet *
ip_fragment_compose(const struct ip_fragment *f)
{
    struct dp_packet *p = dp_packet_new(
        sizeof(struct eth_header)
        + (f->v6 ? sizeof(struct ovs_16aligned_ip6_hdr)
           + sizeof(struct ovs_16aligned_ip6_frag)
           : sizeof(struct ip_header)) + f->size + f->padding);
    struct eth_header *eth = dp_packet_put_zeros(p, sizeof *eth);
    struct flow flow;

    eth->eth_type = htons(f->v6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    (f->v6 ? ip_fragment_put_v6 : ip_fragment_put_v4)(p, f);
    uint8_t *data = dp_packet_put_uninit(p, f->size);
    for (size_t i = 0; i < f->size; i++) {
        data[i] = ip_datum(f->id, f->offset + i);
    }
    dp_packet_put_zeros(p, f->padding);
    pkt_metadata_init(&p->md, u32_to_odp(f->in_port));
    flow_extract(p, &flow);
    return p;
}

/* False of one that became whole. */
static inline bool
ip_fragment_is(const struct dp_packet *p)
{
    const struct eth_header *eth = dp_packet_eth(p);

    if (eth->eth_type == htons(ETH_TYPE_IPV6)) {
        const struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(p);

        return ip6->ip6_nxt == IPPROTO_FRAGMENT;
    } else {
        const struct ip_header *ip = dp_packet_l3(p);

        return IP_IS_FRAGMENT(ip->ip_frag_off);
    }
}

#endif /* ip-fragment.h */

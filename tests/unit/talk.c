/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "talk.h"

#include "csum.h"
#include "packets.h"
#include "unaligned.h"
#include "util.h"

/* Packets. */

static void
put_ip(struct dp_packet *p, const struct tuple *t, size_t l4_size)
{
    struct eth_header *eth = dp_packet_put_zeros(p, ETH_HEADER_LEN);

    dp_packet_set_l3(p, dp_packet_tail(p));
    if (t->ipv6) {
        struct ovs_16aligned_ip6_hdr *ip6;

        eth->eth_type = htons(ETH_TYPE_IPV6);
        ip6 = dp_packet_put_zeros(p, IPV6_HEADER_LEN);
        put_16aligned_be32(&ip6->ip6_flow, htonl(6u << 28));
        ip6->ip6_plen = htons(l4_size);
        ip6->ip6_nxt = t->nw_proto;
        ip6->ip6_hlim = 64;
        memcpy(&ip6->ip6_src, &t->src, sizeof t->src);
        memcpy(&ip6->ip6_dst, &t->dst, sizeof t->dst);
    } else {
        struct ip_header *ip;

        eth->eth_type = htons(ETH_TYPE_IP);
        ip = dp_packet_put_zeros(p, IP_HEADER_LEN);
        ip->ip_ihl_ver = IP_IHL_VER(5, 4);
        ip->ip_tot_len = htons(IP_HEADER_LEN + l4_size);
        ip->ip_id = htons(random_uint16());
        ip->ip_ttl = 64;
        ip->ip_proto = t->nw_proto;
        put_16aligned_be32(&ip->ip_src, in6_addr_get_mapped_ipv4(&t->src));
        put_16aligned_be32(&ip->ip_dst, in6_addr_get_mapped_ipv4(&t->dst));
        ip->ip_csum = csum(ip, sizeof *ip);
    }
    dp_packet_set_l4(p, dp_packet_tail(p));
}

static void
put_tcp(struct dp_packet *p, const struct tuple *t, const struct segment *s)
{
    size_t len = TCP_HEADER_LEN + (s->wscale >= 0 ? 4 : 0);
    struct tcp_header *tcp = dp_packet_put_zeros(p, len);

    tcp->tcp_src = htons(t->tp_src);
    tcp->tcp_dst = htons(t->tp_dst);
    put_16aligned_be32(&tcp->tcp_seq, htonl(s->seq));
    put_16aligned_be32(&tcp->tcp_ack, htonl(s->ack));
    tcp->tcp_ctl = TCP_CTL(s->flags, len / 4);
    tcp->tcp_winsz = htons(s->win);
    if (s->wscale >= 0) {
        uint8_t *option = (uint8_t *) (tcp + 1);

        option[0] = 1;          /* No operation. */
        option[1] = 3;          /* Window scale, 3 bytes. */
        option[2] = 3;
        option[3] = s->wscale;
    }
}

static void
put_udp(struct dp_packet *p, const struct tuple *t, size_t payload_len)
{
    struct udp_header *udp = dp_packet_put_zeros(p, UDP_HEADER_LEN);

    udp->udp_src = htons(t->tp_src);
    udp->udp_dst = htons(t->tp_dst);
    udp->udp_len = htons(UDP_HEADER_LEN + payload_len);
}

ovs_be16 *
talk_csum_field(const struct dp_packet *p, const struct tuple *t)
{
    struct tcp_header *tcp = dp_packet_l4(p);
    struct udp_header *udp = dp_packet_l4(p);

    return t->nw_proto == IPPROTO_TCP ? &tcp->tcp_csum : &udp->udp_csum;
}

ovs_be16
talk_compute_csum(const struct dp_packet *p, const struct tuple *t)
{
    const void *l4 = dp_packet_l4(p);
    size_t l4_size = dp_packet_l4_size(p);
    ovs_be16 *field = talk_csum_field(p, t), saved = *field, result;

    *field = 0;
    if (t->ipv6) {
        result = packet_csum_upperlayer6(dp_packet_l3(p), l4, t->nw_proto,
                                         l4_size);
    } else {
        result = csum_finish(csum_continue(
            packet_csum_pseudoheader(dp_packet_l3(p)), l4, l4_size));
    }
    *field = saved;
    return result;
}

static struct dp_packet *
finish(struct dp_packet *p)
{
    if (one_in(4)) {
        /* As Ethernet pads short frames. */
        dp_packet_put_zeros(p, 6);
        dp_packet_set_l2_pad_size(p, 6);
    }
    pkt_metadata_init(&p->md, u32_to_odp(1));
    return p;
}

struct dp_packet *
talk_compose(const struct tuple *t, const struct segment *s,
             size_t payload_len)
{
    bool tcp = t->nw_proto == IPPROTO_TCP;
    struct dp_packet *p = dp_packet_new_with_headroom(0, 2);
    size_t l4_size = payload_len + (!tcp ? UDP_HEADER_LEN
                                    : s->wscale >= 0 ? TCP_HEADER_LEN + 4
                                    : TCP_HEADER_LEN);

    dp_packet_prealloc_tailroom(p, 128 + payload_len);
    put_ip(p, t, l4_size);
    if (tcp) {
        put_tcp(p, t, s);
    } else {
        put_udp(p, t, payload_len);
    }
    random_bytes(dp_packet_put_uninit(p, payload_len), payload_len);
    *talk_csum_field(p, t) = talk_compute_csum(p, t);
    if (!tcp && !*talk_csum_field(p, t)) {
        *talk_csum_field(p, t) = htons(0xffff);
    }
    return finish(p);
}

struct dp_packet *
talk_compose_raw(const struct tuple *t, const void *l4, size_t size)
{
    struct dp_packet *p = dp_packet_new_with_headroom(0, 2);

    dp_packet_prealloc_tailroom(p, 128 + size);
    put_ip(p, t, size);
    dp_packet_put(p, l4, size);
    return finish(p);
}

/* Talks. */

static struct in6_addr
make_addr(bool ipv6, uint32_t host)
{
    struct in6_addr addr = in6addr_any;

    if (!ipv6) {
        in6_addr_set_mapped_ipv4(&addr, htonl(0x0a000000 | host));
    } else {
        addr.s6_addr[0] = 0xfd;
        addr.s6_addr[14] = host >> 8;
        addr.s6_addr[15] = host;
    }
    return addr;
}

void
talk_init(struct talk *k, int i, uint16_t zone)
{
    struct tuple *there = &k->tuples[0], *back = &k->tuples[1];

    memset(k, 0, sizeof *k);
    k->tcp = i & 1;
    k->nat = i & 2;
    k->zone = zone;
    there->ipv6 = i & 4;
    there->nw_proto = k->tcp ? IPPROTO_TCP : IPPROTO_UDP;
    there->src = make_addr(there->ipv6, 1 + i % 2);
    there->dst = make_addr(there->ipv6, 256);
    there->tp_src = 30000 + i;
    there->tp_dst = 80;

    k->translated = *there;
    if (k->nat) {
        k->translated.dst = make_addr(there->ipv6, 512 + i);
        k->translated.tp_dst = 8080;
    }
    *back = k->translated;
    back->src = k->translated.dst;
    back->dst = k->translated.src;
    back->tp_src = k->translated.tp_dst;
    back->tp_dst = k->translated.tp_src;
}

void
talk_restart(struct talk *k)
{
    k->phase = 0;
    k->scaling = one_in(2);
    for (int i = 0; i < 2; i++) {
        k->ends[i].seq = one_in(4) ? UINT32_MAX - random_range(5000)
                         : random_uint32();
        k->ends[i].win = 2000 + random_range(60000);
        k->ends[i].wscale = k->scaling ? random_range(15) : 0;
    }
}

struct dp_packet *
talk_next(struct talk *k, int *dir, struct segment *s)
{
    size_t payload_len = 0;

    *dir = k->tcp && k->phase < 3 ? k->phase & 1 : random_range(2);

    struct end *src = &k->ends[*dir], *dst = &k->ends[!*dir];
    *s = (struct segment) {
        .flags = TCP_ACK,
        .seq = src->seq,
        .ack = dst->seq,
        .win = src->win,
        .wscale = -1,
    };
    if (k->tcp && k->phase < 2) {
        s->flags = k->phase ? TCP_SYN | TCP_ACK : TCP_SYN;
        s->ack = k->phase ? dst->seq : 0;
        s->wscale = k->scaling ? src->wscale : -1;
        src->seq++;
    } else if (!k->tcp || k->phase > 2) {
        payload_len = one_in(3) ? 0 : random_range(TALK_MAX_PAYLOAD);
        s->flags |= one_in(2) ? TCP_PSH : one_in(10) ? TCP_ECE | TCP_CWR : 0;
        if (one_in(50)) {
            s->flags |= TCP_FIN;
            src->seq++;
        } else if (one_in(20)) {
            src->win = 2000 + random_range(60000);
        }
        src->seq += payload_len;
    }
    k->phase++;
    return talk_compose(&k->tuples[*dir], s, payload_len);
}

struct dp_packet *
talk_odd(struct talk *k, int *dir, struct segment *s)
{
    static const uint16_t flags[] = {
        TCP_SYN, TCP_SYN | TCP_ACK, TCP_RST, TCP_RST | TCP_ACK, TCP_FIN,
        TCP_FIN | TCP_ACK, TCP_URG | TCP_ACK, 0, TCP_ACK | 0x100, TCP_PSH,
    };

    *dir = random_range(2);
    *s = (struct segment) {
        .flags = one_in(3) ? flags[random_range(ARRAY_SIZE(flags))] : TCP_ACK,
        .seq = k->ends[*dir].seq,
        .ack = k->ends[!*dir].seq,
        .win = one_in(4) ? random_uint16() : k->ends[*dir].win,
        .wscale = one_in(10) ? random_range(20) : -1,
    };
    switch (random_range(8)) {
    case 0: case 1: case 2:
        s->seq -= random_range(4000);
        break;
    case 3:
        s->seq += random_range(200000) - 100000;
        break;
    case 4:
        s->ack += random_range(200000) - 100000;
        break;
    case 5:
        s->ack -= random_range(4000);
        break;
    }

    size_t payload_len = one_in(3) ? random_range(TALK_MAX_PAYLOAD) : 0;
    struct dp_packet *p = talk_compose(&k->tuples[*dir], s, payload_len);
    if (one_in(8)) {
        *talk_csum_field(p, &k->tuples[*dir]) ^= htons(1 << random_range(16));
    }
    return p;
}

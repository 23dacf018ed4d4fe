/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG
#include "ct-packet.h"

#include <netinet/in.h>
#include <netinet/ip6.h>
#include "crc32c.h"
#include "csum.h"
#include "dp-packet.h"
#include "packets.h"
#include "unaligned.h"

static uint16_t frag_id;

void
ct_packet_next_input(void)
{
    frag_id++;
}

const uint16_t ct_packet_ports[8] = { 30000, 80, 21, 69, 20, 2000, 8080, 0 };

struct in6_addr
ct_packet_host(bool ipv6, unsigned int host)
{
    struct in6_addr a = in6addr_any;

    if (ipv6) {
        a.s6_addr[0] = 0xfd;
        a.s6_addr[15] = 1 + host;
    } else {
        in6_addr_set_mapped_ipv4(&a, htonl(0x0a000001 + host));
    }
    return a;
}

static void
put_ip(struct dp_packet *p, const struct ends *e, uint8_t proto, size_t len,
       uint16_t frag_off)
{
    struct in6_addr src = ct_packet_host(e->ipv6, e->src);
    struct in6_addr dst = ct_packet_host(e->ipv6, e->dst);

    if (e->ipv6) {
        struct ovs_16aligned_ip6_hdr *ip6
            = dp_packet_put_zeros(p, IPV6_HEADER_LEN);

        put_16aligned_be32(&ip6->ip6_flow, htonl(6u << 28));
        ip6->ip6_nxt = proto;
        ip6->ip6_plen = htons(len);
        ip6->ip6_hlim = 64;
        memcpy(&ip6->ip6_src, &src, sizeof src);
        memcpy(&ip6->ip6_dst, &dst, sizeof dst);
    } else {
        struct ip_header *ip = dp_packet_put_zeros(p, IP_HEADER_LEN);

        ip->ip_ihl_ver = IP_IHL_VER(5, 4);
        ip->ip_tot_len = htons(IP_HEADER_LEN + len);
        ip->ip_id = htons(frag_id);
        ip->ip_frag_off = htons(frag_off);
        ip->ip_ttl = 64;
        ip->ip_proto = proto;
        put_16aligned_be32(&ip->ip_src, in6_addr_get_mapped_ipv4(&src));
        put_16aligned_be32(&ip->ip_dst, in6_addr_get_mapped_ipv4(&dst));
        ip->ip_csum = csum(ip, sizeof *ip);
    }
}

static const char *const payloads[] = {
    "PORT 10,0,0,1,7,208\r\n",
    "227 Entering Passive Mode (10,0,0,2,7,208)\r\n",
    "EPRT |2|fd00::1|2000|\r\n",
    "229 Entering Extended Passive Mode (|||2000|)\r\n",
    "EPRT |1|10.0.0.1|2000|\r\n",
    "PORT 10,0,0,",
};

/* Appends what the packet carries. */
static void
put_payload(struct ofpbuf *l4, struct fuzz_input *in)
{
    unsigned int kind = fuzz_u8(in);

    if (kind < 64) {
        const char *s = payloads[kind % ARRAY_SIZE(payloads)];

        ofpbuf_put(l4, s, strlen(s));
    } else if (kind < 80) {
        ofpbuf_put(l4, "\0\1file\0octet", 13);
    } else if (kind < 128) {
        size_t n = kind - 80;
        const uint8_t *p = fuzz_bytes(in, &n);

        ofpbuf_put(l4, p, n);
    } else if (kind < 160) {
        ofpbuf_put_zeros(l4, kind);
    }
}

/* Numbers are near to each other, so that many fit. */
static uint32_t
near_number(struct fuzz_input *in, unsigned int base)
{
    uint8_t b = fuzz_u8(in);

    return b & 0x80 ? base + (b & 0x7f) : base - (b << 4);
}

static void
put_tcp(struct ofpbuf *l4, const struct ends *e, struct fuzz_input *in)
{
    static const uint16_t flags[] = {
        TCP_SYN, TCP_SYN | TCP_ACK, TCP_ACK, TCP_ACK | TCP_PSH,
        TCP_FIN | TCP_ACK, TCP_RST, TCP_RST | TCP_ACK, TCP_ACK,
        TCP_FIN, 0, TCP_SYN | TCP_FIN, TCP_URG | TCP_ACK,
    };
    uint8_t choice = fuzz_u8(in);
    bool scale = choice & 0x80;
    struct tcp_header *tcp
        = ofpbuf_put_zeros(l4, TCP_HEADER_LEN + (scale ? 4 : 0));

    tcp->tcp_src = htons(e->tp_src);
    tcp->tcp_dst = htons(e->tp_dst);
    put_16aligned_be32(&tcp->tcp_seq, htonl(near_number(in, 1000)));
    put_16aligned_be32(&tcp->tcp_ack, htonl(near_number(in, 1000)));
    tcp->tcp_ctl = TCP_CTL(flags[(choice & 0x7f) % ARRAY_SIZE(flags)],
                           scale ? 6 : 5);
    tcp->tcp_winsz = htons(fuzz_u8(in) << 8 | 0xff);
    if (scale) {
        memcpy(tcp + 1, "\1\3\3\7", 4);
    }
    put_payload(l4, in);
}

static void
put_sctp(struct ofpbuf *l4, const struct ends *e, struct fuzz_input *in)
{
    static const struct {
        uint8_t type, len;
    } chunks[] = {
        { 1, 20 }, { 2, 20 }, { 10, 8 }, { 11, 4 }, { 0, 16 }, { 3, 16 },
        { 4, 8 }, { 5, 8 }, { 7, 8 }, { 8, 4 }, { 14, 4 }, { 6, 4 },
        { 9, 8 }, { 200, 4 }, { 0, 3 }, { 4, 0 },
    };
    struct sctp_header *sctp = ofpbuf_put_zeros(l4, SCTP_HEADER_LEN);
    size_t n = 1 + fuzz_range(in, 3);

    sctp->sctp_src = htons(e->tp_src);
    sctp->sctp_dst = htons(e->tp_dst);
    put_16aligned_be32(&sctp->sctp_vtag, htonl(fuzz_range(in, 4)));
    for (size_t i = 0; i < n; i++) {
        uint8_t choice = fuzz_u8(in), len = chunks[choice & 15].len;
        uint8_t *chunk = ofpbuf_put_zeros(l4, ROUND_UP(MAX(len, 4), 4));

        chunk[0] = chunks[choice & 15].type;
        chunk[1] = choice >> 4 & 1;
        chunk[3] = len;
        if (len >= 8) {
            chunk[7] = choice >> 5 & 3;
        }
    }
    sctp = l4->data;
    put_16aligned_be32(&sctp->sctp_csum, crc32c(l4->data, l4->size));
}

static void put_l4(struct ofpbuf *, const struct ends *, struct fuzz_input *,
                   bool quoted);

/* About a packet the other way, or any. */
static void
put_icmp_error(struct ofpbuf *l4, const struct ends *e, struct fuzz_input *in)
{
    static const uint8_t types4[] = { 3, 11, 12, 5, 4 };
    static const uint8_t types6[] = { 1, 2, 3, 4, 100 };
    uint8_t choice = fuzz_u8(in);
    uint8_t *icmp = ofpbuf_put_zeros(l4, 8);
    struct ends about = *e;
    struct dp_packet inner;
    struct ofpbuf inner_l4;
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP,
                                      IPPROTO_ICMP };

    icmp[0] = e->ipv6 ? types6[choice % 5] : types4[choice % 5];
    icmp[1] = choice >> 4 & 3;
    about.proto = protos[choice >> 6];
    if (e->ipv6 && about.proto == IPPROTO_ICMP) {
        about.proto = IPPROTO_ICMPV6;
    }
    about.src = choice & 0x08 ? fuzz_range(in, N_HOSTS) : e->dst;
    about.dst = e->src;
    about.tp_src = ct_packet_ports[fuzz_range(in, 8)];
    about.tp_dst = ct_packet_ports[fuzz_range(in, 8)];
    ofpbuf_init(&inner_l4, 128);
    put_l4(&inner_l4, &about, in, true);
    dp_packet_init(&inner, 128);
    put_ip(&inner, &about, about.proto, inner_l4.size, 0);
    ofpbuf_put(l4, dp_packet_data(&inner), dp_packet_size(&inner));
    ofpbuf_put(l4, inner_l4.data, choice & 0x20 ? inner_l4.size
               : MIN(inner_l4.size, 8));
    dp_packet_uninit(&inner);
    ofpbuf_uninit(&inner_l4);
}

static void
put_l4(struct ofpbuf *l4, const struct ends *e, struct fuzz_input *in,
       bool quoted)
{
    switch (e->proto) {
    case IPPROTO_TCP:
        put_tcp(l4, e, in);
        break;
    case IPPROTO_UDP: {
        struct udp_header *udp = ofpbuf_put_zeros(l4, UDP_HEADER_LEN);

        udp->udp_src = htons(e->tp_src);
        udp->udp_dst = htons(e->tp_dst);
        put_payload(l4, in);
        udp = l4->data;
        udp->udp_len = htons(l4->size);
        break;
    }
    case IPPROTO_SCTP:
        put_sctp(l4, e, in);
        break;
    case IPPROTO_ICMP: case IPPROTO_ICMPV6: {
        uint8_t choice = fuzz_u8(in);

        if (choice & 1 && !quoted) {
            put_icmp_error(l4, e, in);
        } else {
            uint8_t *icmp = ofpbuf_put_zeros(l4, 8);

            icmp[0] = (e->ipv6 ? choice & 2 ? 129 : 128
                       : choice & 4 ? 13 : choice & 2 ? 0 : 8);
            icmp[5] = choice >> 6;
        }
        break;
    }
    default:
        put_payload(l4, in);
        break;
    }
}

static void
set_checksum(struct dp_packet *p, const struct ends *e, bool wrong)
{
    size_t len = (char *) dp_packet_tail(p) - (char *) dp_packet_l4(p);
    char *l4 = dp_packet_l4(p);
    size_t ofs = (e->proto == IPPROTO_TCP ? 16 : e->proto == IPPROTO_UDP ? 6
                  : e->proto == IPPROTO_ICMP || e->proto == IPPROTO_ICMPV6 ? 2
                  : 0);
    ovs_be16 sum;

    if (!ofs || len < ofs + 2) {
        return;
    }
    if (e->proto == IPPROTO_ICMP && !e->ipv6) {
        sum = csum(l4, len);
    } else if (e->ipv6) {
        sum = packet_csum_upperlayer6(dp_packet_l3(p), l4, e->proto, len);
    } else {
        sum = csum_finish(csum_continue(
            packet_csum_pseudoheader(dp_packet_l3(p)), l4, len));
    }
    sum ^= wrong ? htons(0x10) : 0;
    memcpy(l4 + ofs, &sum, sizeof sum);
}

static void
put_ethernet(struct dp_packet *p, bool ipv6)
{
    struct eth_header *eth = dp_packet_put_zeros(p, ETH_HEADER_LEN);

    eth->eth_type = htons(ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    dp_packet_set_l3(p, dp_packet_tail(p));
}

struct dp_packet *
ct_packet_compose(struct ends *e, struct fuzz_input *in)
{
    static const uint8_t protos[] = {
        IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP, IPPROTO_ICMP,
        IPPROTO_TCP, IPPROTO_UDP, IPPROTO_GRE, IPPROTO_TCP,
    };
    enum { FRAG_LEN = 1304 };   /* Shorter ones are refused. */
    struct dp_packet *p = dp_packet_new_with_headroom(256, 2);
    uint8_t a = fuzz_u8(in), b = fuzz_u8(in), how = fuzz_u8(in);
    unsigned int frag = how < 32 ? how & 3 : 0;
    struct ofpbuf l4;

    memset(e, 0, sizeof *e);
    e->ipv6 = a & 0x80;
    e->proto = protos[a >> 4 & 7];
    if (e->ipv6 && e->proto == IPPROTO_ICMP) {
        e->proto = IPPROTO_ICMPV6;
    }
    e->src = a & 3;
    e->dst = a >> 2 & 3;
    e->dst = e->dst == e->src ? e->dst ^ 1 : e->dst;
    if (how >> 3 == 7) {
        e->dst = e->src;
    }
    e->tp_src = ct_packet_ports[b & 7];
    e->tp_dst = ct_packet_ports[b >> 3 & 7];
    ofpbuf_init(&l4, 256);
    put_l4(&l4, e, in, false);
    if (frag) {
        ofpbuf_put_zeros(&l4, 2 * FRAG_LEN + 8);
        if (e->proto == IPPROTO_UDP) {
            struct udp_header *udp = l4.data;

            udp->udp_len = htons(l4.size);
        }
    }

    put_ethernet(p, e->ipv6);
    put_ip(p, e, e->proto, l4.size, 0);
    dp_packet_set_l4(p, dp_packet_tail(p));
    dp_packet_put(p, l4.data, l4.size);
    set_checksum(p, e, how >= 240);
    if (frag) {
        /* The first, one in the middle, or the last, of what has at least
         * three such parts. */
        size_t ofs = (frag - 1) * FRAG_LEN, len;
        size_t size = l4.size;
        uint8_t *whole = xmemdup(dp_packet_l4(p), size ? size : 1);

        ofs = MIN(ofs, size / 8 * 8);
        len = frag == 3 ? size - ofs : MIN(FRAG_LEN, size - ofs);
        dp_packet_clear(p);
        put_ethernet(p, e->ipv6);
        if (e->ipv6) {
            uint8_t *header;

            put_ip(p, e, IPPROTO_FRAGMENT, 8 + len, 0);
            header = dp_packet_put_zeros(p, 8);
            header[0] = e->proto;
            header[2] = ofs >> 8;
            header[3] = ofs | (frag != 3);
            header[6] = frag_id >> 8;
            header[7] = frag_id;
        } else {
            put_ip(p, e, e->proto, len,
                   ofs / 8 | (frag != 3 ? IP_MORE_FRAGMENTS : 0));
        }
        dp_packet_put(p, whole + ofs, len);
        free(whole);
    }
    if (how & 0x40) {
        dp_packet_put_zeros(p, 6);
    }
    ofpbuf_uninit(&l4);
    pkt_metadata_init(&p->md, u32_to_odp(1));
    return p;
}

struct dp_packet *
ct_packet_copy(const struct dp_packet *p, const struct ends *e, bool ftp)
{
    struct dp_packet *copy = dp_packet_clone(p);

    fuzz_require(!dp_packet_tailroom(copy));
    if (e->proto == IPPROTO_TCP
        && (ftp || e->tp_src == IPPORT_FTP || e->tp_dst == IPPORT_FTP)) {
        dp_packet_prealloc_tailroom(copy, 128);
    }
    return copy;
}

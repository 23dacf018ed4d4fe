/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-refusal.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <string.h>
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "hash.h"
#include "ovs-atomic.h"
#include "packets.h"
#include "unaligned.h"
#include "util.h"

/* As Antrea's agent has it. */
#define REFUSAL_TTL 128
/* What an error quotes of the packet beyond its IP header. */
#define QUOTED_LEN 8
/* The most that it quotes: IPv6 can have many headers, and the error must fit
 * into the least MTU. */
#define QUOTED_MAX 1024
/* For a tunnel's header. */
#define HEADROOM 128

/* The packet that is refused. */
struct refused {
    const struct dp_packet *packet;
    bool ipv6;
    uint8_t nw_proto;
    size_t l3_len, l4_len;      /* From there to the end of the IP packet. */
    const char *l3, *l4;
};

/* Parsing. */

/* Can 'ip' be the address of one other host? */
static bool
is_host(ovs_be32 ip)
{
    return (ip & htonl(0xff000000) && !ip_is_multicast(ip)
            && ip != OVS_BE32_MAX && (ntohl(ip) >> 24) != 127);
}

static bool
parse_ipv4(struct refused *r)
{
    const struct ip_header *ip = ALIGNED_CAST(const struct ip_header *, r->l3);

    if (r->l3_len < sizeof *ip || IP_VER(ip->ip_ihl_ver) != 4) {
        return false;
    }

    size_t tot_len = ntohs(ip->ip_tot_len);
    size_t header_len = IP_IHL(ip->ip_ihl_ver) * 4;
    if (tot_len > r->l3_len || header_len < sizeof *ip || header_len > tot_len
        || ip->ip_frag_off & htons(IP_FRAG_OFF_MASK)
        || !is_host(get_16aligned_be32(&ip->ip_src))
        || !is_host(get_16aligned_be32(&ip->ip_dst))) {
        return false;
    }
    r->l3_len = tot_len;
    r->l4 = r->l3 + header_len;
    r->l4_len = tot_len - header_len;
    r->nw_proto = ip->ip_proto;
    return true;
}

static bool
parse_ipv6(struct refused *r)
{
    const struct ovs_16aligned_ip6_hdr *ip6
        = ALIGNED_CAST(const struct ovs_16aligned_ip6_hdr *, r->l3);
    const struct ovs_16aligned_ip6_frag *frag_hdr = NULL;
    uint8_t nw_frag = 0;

    if (r->l3_len < sizeof *ip6) {
        return false;
    }

    struct in6_addr src, dst;
    memcpy(&src, &ip6->ip6_src, sizeof src);
    memcpy(&dst, &ip6->ip6_dst, sizeof dst);
    size_t len = sizeof *ip6 + ntohs(ip6->ip6_plen);
    if (len > r->l3_len || IN6_IS_ADDR_UNSPECIFIED(&src)
        || IN6_IS_ADDR_LOOPBACK(&src) || ipv6_addr_is_multicast(&src)
        || IN6_IS_ADDR_UNSPECIFIED(&dst) || IN6_IS_ADDR_LOOPBACK(&dst)
        || ipv6_addr_is_multicast(&dst)) {
        return false;
    }
    r->l3_len = len;

    const void *data = ip6 + 1;
    size_t size = len - sizeof *ip6;
    r->nw_proto = ip6->ip6_nxt;
    if (!parse_ipv6_ext_hdrs(&data, &size, &r->nw_proto, &nw_frag, &frag_hdr)
        || nw_frag & FLOW_NW_FRAG_LATER) {
        return false;
    }
    r->l4 = data;
    r->l4_len = size;
    return true;
}

static bool
is_from_host_to_host(const struct dp_packet *packet)
{
    const struct eth_header *eth = dp_packet_eth(packet);

    return (eth && !eth_addr_is_multicast(eth->eth_src)
            && !eth_addr_is_zero(eth->eth_src)
            && !eth_addr_is_multicast(eth->eth_dst));
}

/* True for what only tells of something, or isn't for others to refuse. */
static bool
is_never_answered(const struct refused *r)
{
    if (r->nw_proto == IPPROTO_TCP) {
        const struct tcp_header *tcp
            = ALIGNED_CAST(const struct tcp_header *, r->l4);

        return (r->l4_len < TCP_HEADER_LEN
                || TCP_FLAGS(tcp->tcp_ctl) & TCP_RST
                || TCP_OFFSET(tcp->tcp_ctl) * 4 < TCP_HEADER_LEN
                || TCP_OFFSET(tcp->tcp_ctl) * 4 > r->l4_len);
    } else if (r->l4_len < QUOTED_LEN) {
        /* Nobody would know what is meant. */
        return true;
    } else if (r->ipv6) {
        return (r->nw_proto == IPPROTO_ICMPV6
                && (!((uint8_t) r->l4[0] & ICMP6_INFOMSG_MASK)
                    || ((uint8_t) r->l4[0] >= ND_ROUTER_SOLICIT
                        && (uint8_t) r->l4[0] <= ND_REDIRECT)));
    }
    return (r->nw_proto == IPPROTO_ICMP
            && (r->l4[0] == ICMP4_DST_UNREACH
                || r->l4[0] == ICMP4_SOURCEQUENCH
                || r->l4[0] == ICMP4_REDIRECT
                || r->l4[0] == ICMP4_TIME_EXCEEDED
                || r->l4[0] == ICMP4_PARAM_PROB));
}

/* The type of what is at 'l3', or 0 if there are labels of MPLS before it. */
static ovs_be16
type_of_l3(const struct dp_packet *packet, const char *l3)
{
    return (packet->l2_5_ofs != UINT16_MAX ? 0
            : get_unaligned_be16(ALIGNED_CAST(const ovs_be16 *, l3) - 1));
}

static bool
refused_init(struct refused *r, const struct dp_packet *packet)
{
    const char *end = dp_packet_tail(packet);

    *r = (struct refused) { .packet = packet, .l3 = dp_packet_l3(packet) };
    if (!r->l3 || !is_from_host_to_host(packet)) {
        return false;
    }
    r->l3_len = end - r->l3;
    if (!r->l3_len) {
        return false;
    }

    ovs_be16 type = type_of_l3(packet, r->l3);
    r->ipv6 = (uint8_t) r->l3[0] >> 4 == 6;
    return (type == htons(r->ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP)
            && (r->ipv6 ? parse_ipv6(r) : parse_ipv4(r))
            && !is_never_answered(r));
}

/* Composing. */

/* Appends the link's header the contrary way, tags included, and a place for
 * an IP header in front of 'l4_len' bytes. */
static void
put_headers(struct dp_packet *answer, const struct refused *r,
            uint8_t nw_proto, size_t l4_len)
{
    size_t l2_len = r->l3 - (const char *) dp_packet_data(r->packet);

    struct eth_header *eth = dp_packet_put(answer, dp_packet_data(r->packet),
                                           l2_len);
    struct eth_addr dst = eth->eth_dst;
    eth->eth_dst = eth->eth_src;
    eth->eth_src = dst;
    dp_packet_reset_offsets(answer);
    dp_packet_set_l3(answer, dp_packet_tail(answer));

    if (r->ipv6) {
        const struct ovs_16aligned_ip6_hdr *old
            = ALIGNED_CAST(const struct ovs_16aligned_ip6_hdr *, r->l3);
        struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_put_zeros(answer,
                                                                sizeof *ip6);

        put_16aligned_be32(&ip6->ip6_flow, htonl(6u << 28));
        ip6->ip6_plen = htons(l4_len);
        ip6->ip6_nxt = nw_proto;
        ip6->ip6_hlim = REFUSAL_TTL;
        ip6->ip6_src = old->ip6_dst;
        ip6->ip6_dst = old->ip6_src;
    } else {
        const struct ip_header *old = ALIGNED_CAST(const struct ip_header *,
                                                   r->l3);
        struct ip_header *ip = dp_packet_put_zeros(answer, sizeof *ip);

        ip->ip_ihl_ver = IP_IHL_VER(5, 4);
        ip->ip_tot_len = htons(sizeof *ip + l4_len);
        ip->ip_frag_off = htons(IP_DF);         /* So it needs no ID. */
        ip->ip_ttl = REFUSAL_TTL;
        ip->ip_proto = nw_proto;
        ip->ip_src = old->ip_dst;
        ip->ip_dst = old->ip_src;
        ip->ip_csum = csum(ip, sizeof *ip);
    }
    dp_packet_set_l4(answer, dp_packet_tail(answer));
}

/* The checksum of the last 'l4_len' bytes, with a pseudo header before
 * them. */
static ovs_be16
l4_csum(const struct dp_packet *answer, bool ipv6, size_t l4_len)
{
    uint32_t sum = (ipv6 ? packet_csum_pseudoheader6(dp_packet_l3(answer))
                    : packet_csum_pseudoheader(dp_packet_l3(answer)));

    return csum_finish(csum_continue(sum, dp_packet_l4(answer), l4_len));
}

static void
put_tcp_reset(struct dp_packet *answer, const struct refused *r)
{
    const struct tcp_header *old = ALIGNED_CAST(const struct tcp_header *,
                                                r->l4);
    uint16_t flags = TCP_FLAGS(old->tcp_ctl);
    uint32_t len = (r->l4_len - TCP_OFFSET(old->tcp_ctl) * 4
                    + !!(flags & TCP_SYN) + !!(flags & TCP_FIN));
    uint32_t seq = ntohl(get_16aligned_be32(&old->tcp_seq));

    put_headers(answer, r, IPPROTO_TCP, TCP_HEADER_LEN);

    struct tcp_header *tcp = dp_packet_put_zeros(answer, TCP_HEADER_LEN);
    tcp->tcp_src = old->tcp_dst;
    tcp->tcp_dst = old->tcp_src;
    if (flags & TCP_ACK) {
        /* Where the other end takes it. */
        tcp->tcp_seq = old->tcp_ack;
    }
    put_16aligned_be32(&tcp->tcp_ack, htonl(seq + len));
    tcp->tcp_ctl = TCP_CTL(TCP_RST | TCP_ACK, TCP_HEADER_LEN / 4);
    tcp->tcp_csum = l4_csum(answer, r->ipv6, TCP_HEADER_LEN);
}

static void
put_icmp_error(struct dp_packet *answer, const struct refused *r,
               enum adp_answer kind)
{
    size_t quoted_len = MIN(r->l4 - r->l3 + QUOTED_LEN, QUOTED_MAX);
    size_t l4_len = ICMP_ERROR_DATA_L4_LEN + quoted_len;

    put_headers(answer, r, r->ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, l4_len);

    struct icmp_header *icmp = dp_packet_put_zeros(answer,
                                                   ICMP_ERROR_DATA_L4_LEN);
    dp_packet_put(answer, r->l3, quoted_len);
    icmp = dp_packet_l4(answer);
    adp_answer_icmp(kind, r->ipv6, &icmp->icmp_type, &icmp->icmp_code);
    icmp->icmp_csum = (r->ipv6 ? l4_csum(answer, true, l4_len)
                       : csum(icmp, l4_len));
}

static struct dp_packet *
compose(const struct refused *r, enum adp_answer kind)
{
    size_t len = (r->l4 - (const char *) dp_packet_data(r->packet)
                  + sizeof(struct ovs_16aligned_ip6_hdr) + TCP_HEADER_LEN
                  + QUOTED_LEN);
    struct dp_packet *answer = dp_packet_new_with_headroom(len, HEADROOM);

    if (r->nw_proto == IPPROTO_TCP) {
        put_tcp_reset(answer, r);
    } else {
        put_icmp_error(answer, r, kind);
    }
    /* Tunnels take the outer source port from it. */
    dp_packet_set_rss_hash(answer,
                           r->ipv6 ? hash_bytes(r->l3 + 8, 32, 0)
                           : hash_bytes(r->l3 + 12, 8, 0));
    return answer;
}

/* The limit. */

static atomic_uint32_t rate = ADP_REFUSAL_DEFAULT_RATE;

void
adp_refusal_set_rate(uint32_t new_rate)
{
    atomic_store_relaxed(&rate, MIN(new_rate, ADP_REFUSAL_MAX_RATE));
}

static bool
may_send(struct adp_rate_limit *limit, long long int now)
{
    uint32_t per_second;

    atomic_read_relaxed(&rate, &per_second);
    return adp_rate_limit_take(limit, per_second, now);
}

struct dp_packet *
adp_refusal_make(const struct dp_packet *packet, enum adp_answer kind,
                 struct adp_rate_limit *limit, long long int now,
                 bool *limited)
{
    struct refused r;

    *limited = false;
    if (!refused_init(&r, packet)) {
        return NULL;
    }
    *limited = !may_send(limit, now);
    return *limited ? NULL : compose(&r, kind);
}

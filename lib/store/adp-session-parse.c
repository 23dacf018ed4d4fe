/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-session-parse.h"

#include <netinet/in.h>
#include <netinet/ip6.h>

#include "flow.h"

/* The key is put together in whole words: what is stored in pieces could not
 * be loaded as words right away. */

static inline uint32_t
load32(const void *p)
{
    uint32_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint64_t
load64(const void *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* The word that has 'first' at the lower address. */
static inline uint64_t
word_from_halves(uint32_t first, uint32_t second)
{
#ifdef WORDS_BIGENDIAN
    return (uint64_t) first << 32 | second;
#else
    return (uint64_t) second << 32 | first;
#endif
}

static inline uint32_t
half_from_bytes(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
    return (OVS_FORCE uint32_t) bytes_to_be32(a, b, c, d);
}

/* The words of struct adp_session_l4. */
static inline void
l4_words(uint64_t words[3], const struct eth_header *eth, const void *l4,
         uint32_t ingress, uint8_t nw_proto, uint8_t nw_tos, uint8_t nw_ttl,
         bool tagged)
{
    BUILD_ASSERT_DECL(offsetof(struct adp_session_l4, ingress) == 4);
    BUILD_ASSERT_DECL(offsetof(struct adp_session_l4, dl_dst) == 8);
    BUILD_ASSERT_DECL(offsetof(struct adp_session_l4, nw_proto) == 20);

    words[0] = word_from_halves(load32(l4), ingress);
    words[1] = load64(eth);
    words[2] = word_from_halves(load32((const char *) eth + 8),
                                half_from_bytes(nw_proto, nw_tos, nw_ttl,
                                                tagged));
}

/* Checks the header at 'l4', where 'size' bytes belong to the packet. */
static inline bool
check_l4(const void *l4, size_t size, uint8_t nw_proto, uint16_t *tcp_flags)
{
    if (nw_proto == IPPROTO_TCP) {
        const struct tcp_header *tcp = l4;

        if (size < TCP_HEADER_LEN) {
            return false;
        }
        size_t header_len = TCP_OFFSET(tcp->tcp_ctl) * 4;
        *tcp_flags = TCP_FLAGS(tcp->tcp_ctl);
        return header_len >= TCP_HEADER_LEN && header_len <= size;
    } else if (nw_proto == IPPROTO_UDP) {
        const struct udp_header *udp = l4;

        if (size < UDP_HEADER_LEN) {
            return false;
        }
        size_t udp_len = ntohs(udp->udp_len);
        *tcp_flags = 0;
        return udp_len >= UDP_HEADER_LEN && udp_len <= size;
    }
    return false;
}

static inline bool
parse_ipv4(struct dp_packet *packet, const struct eth_header *eth,
           const struct ip_header *ip, size_t size, uint32_t ingress,
           const struct adp_session_seeds *seeds,
           struct adp_session_packet *p)
{
    if (size < IP_HEADER_LEN || ip->ip_ihl_ver != IP_IHL_VER(5, 4)
        || IP_IS_FRAGMENT(ip->ip_frag_off)) {
        return false;
    }
    size_t tot_len = ntohs(ip->ip_tot_len);
    if (tot_len < IP_HEADER_LEN || tot_len > size
        || !check_l4(ip + 1, tot_len - IP_HEADER_LEN, ip->ip_proto,
                     &p->tcp_flags)) {
        return false;
    }

    p->key4.words[0] = load64(&ip->ip_src);
    l4_words(&p->key4.words[1], eth, ip + 1, ingress, ip->ip_proto,
             ip->ip_tos, ip->ip_ttl, (const void *) ip != eth + 1);
    p->hash = adp_session_hash4(seeds, &p->key4);
    p->nw_proto = ip->ip_proto;
    p->is_ipv6 = false;

    dp_packet_set_l2_pad_size(packet, size - tot_len);
    packet->l4_ofs = packet->l3_ofs + IP_HEADER_LEN;
    return true;
}

static inline bool
parse_ipv6(struct dp_packet *packet, const struct eth_header *eth,
           const struct ovs_16aligned_ip6_hdr *ip6, size_t size,
           uint32_t ingress, bool labels,
           const struct adp_session_seeds *seeds,
           struct adp_session_packet *p)
{
    if (size < IPV6_HEADER_LEN) {
        return false;
    }
    uint32_t flow = ntohl(get_16aligned_be32(&ip6->ip6_flow));
    size_t plen = ntohs(ip6->ip6_plen);
    if (flow >> 28 != 6 || plen > size - IPV6_HEADER_LEN
        || !check_l4(ip6 + 1, plen, ip6->ip6_nxt, &p->tcp_flags)) {
        return false;
    }

    memcpy(p->key6.words, &ip6->ip6_src, 2 * sizeof(struct in6_addr));
    l4_words(&p->key6.words[4], eth, ip6 + 1, ingress, ip6->ip6_nxt,
             flow >> 20, ip6->ip6_hlim, (const void *) ip6 != eth + 1);
    p->key6.words[7] = word_from_halves(
        labels ? (OVS_FORCE uint32_t) htonl(flow & IPV6_LABEL_MASK) : 0, 0);
    p->has_label = labels;
    p->hash = adp_session_hash6(seeds, &p->key6);
    p->nw_proto = ip6->ip6_nxt;
    p->is_ipv6 = true;

    dp_packet_set_l2_pad_size(packet, size - IPV6_HEADER_LEN - plen);
    packet->l4_ofs = packet->l3_ofs + IPV6_HEADER_LEN;
    return true;
}

bool
adp_session_parse(struct dp_packet *packet, bool tagged, uint32_t ingress,
                  bool labels, const struct adp_session_seeds *seeds,
                  struct adp_session_packet *p)
{
    const struct eth_header *eth = dp_packet_data(packet);
    size_t size = dp_packet_size(packet);

    if (size < ETH_HEADER_LEN || packet->packet_type != htonl(PT_ETH)) {
        return false;
    }

    size_t l2_len = ETH_HEADER_LEN;
    ovs_be16 eth_type = eth->eth_type;
    if (OVS_UNLIKELY(tagged)) {
        if (!flow_vlan_limit) {
            return false;       /* Nobody looks behind the tag. */
        }
        l2_len += VLAN_HEADER_LEN;
        eth_type = get_unaligned_be16((const ovs_be16 *) (eth + 1) + 1);
    }
    size -= l2_len;
    if (size > UINT16_MAX) {
        return false;
    }

    const void *l3 = (const char *) eth + l2_len;
    dp_packet_reset_offsets(packet);
    packet->l3_ofs = l2_len;
    return (eth_type == htons(ETH_TYPE_IP)
            ? parse_ipv4(packet, eth, l3, size, ingress, seeds, p)
            : eth_type == htons(ETH_TYPE_IPV6)
            ? parse_ipv6(packet, eth, l3, size, ingress, labels, seeds, p)
            : false);
}

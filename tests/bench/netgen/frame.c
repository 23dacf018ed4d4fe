/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "frame.h"

#define GENEVE_PORT 6081
#define ECHO_TTL 64
#define ECHO_SEQ 0x20000000

struct geneve_header {
    uint8_t ver_opt_len;        /* The low 6 bits count words of options. */
    uint8_t flags;
    uint16_t protocol;
    uint32_t vni;
};

static inline uint16_t
be16_of_bytes(uint8_t high, uint8_t low)
{
    return rte_cpu_to_be_16(high << 8 | low);
}

/* RFC 1624: a checksum after one 16-bit word of what it covers changed. */
static inline uint16_t
checksum_update(uint16_t checksum, uint16_t old, uint16_t new)
{
    uint32_t sum = (uint16_t) ~checksum + (uint16_t) ~old + new;

    sum = (sum & 0xffff) + (sum >> 16);
    sum += sum >> 16;
    return ~sum;
}

static inline uint16_t
checksum_update32(uint16_t checksum, uint32_t old, uint32_t new)
{
    checksum = checksum_update(checksum, old, new);
    return checksum_update(checksum, old >> 16, new >> 16);
}

/* Marsaglia's xorshift. */
static inline uint64_t
random_u64(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static inline uint32_t
random_below(uint64_t *state, uint32_t n)
{
    return (random_u64(state) >> 32) * n >> 32;
}

static inline void
cursor_advance(const struct net_gen_control *c, struct net_gen_cursor *cursor)
{
    cursor->n++;
    if (++cursor->template >= c->n_templates) {
        cursor->template = 0;
    }
    if (++cursor->shared >= c->share) {
        cursor->shared = 0;
        if (++cursor->sport >= c->n_sports) {
            cursor->sport = 0;
        }
    }
}

static inline const struct net_gen_template *
template_at(const struct net_gen_control *c, uint32_t i)
{
    return (const void *) ((const uint8_t *) c->templates
                           + (size_t) i * c->stride);
}

void
net_gen_frame_fetch(const struct net_gen_control *c,
                    const struct net_gen_cursor *cursor, uint32_t ahead)
{
    uint32_t i = cursor->template + ahead;

    if (i < c->n_templates || (i -= c->n_templates) < c->n_templates) {
        const uint8_t *t = (const uint8_t *) template_at(c, i);

        rte_prefetch0(t);
        if (c->stride > NET_GEN_LINE) {
            rte_prefetch0(t + NET_GEN_LINE);
        }
    }
}

uint16_t
net_gen_frame_make(const struct net_gen_control *c,
                   struct net_gen_cursor *cursor, uint8_t *frame)
{
    const struct net_gen_template *t = template_at(c, cursor->template);
    struct rte_ipv4_hdr *ip = (void *) (frame + RTE_ETHER_HDR_LEN);
    struct rte_ipv6_hdr *ip6 = (void *) ip;
    bool ipv6 = t->l4_ofs == RTE_ETHER_HDR_LEN + sizeof *ip6;
    uint16_t *ports = (void *) (frame + t->l4_ofs);
    uint16_t *l4_checksum, old, new;
    uint16_t len = t->len;

    rte_memcpy(frame, t->bytes, RTE_MIN(len, NET_GEN_TEMPLATE_LEN));
    if (len > NET_GEN_TEMPLATE_LEN) {
        memset(frame + NET_GEN_TEMPLATE_LEN, 0, len - NET_GEN_TEMPLATE_LEN);
    }
    l4_checksum = (void *) (frame + t->l4_ofs
                            + ((ipv6 ? ip6->proto : ip->next_proto_id)
                               == IPPROTO_TCP ? 16 : 6));

    if (c->random & NET_GEN_RANDOM_SADDR && !ipv6) {
        uint32_t address = rte_be_to_cpu_32(ip->src_addr);
        uint32_t low = random_u64(&cursor->random) & 0xffff;

        old = rte_cpu_to_be_16(address);
        new = rte_cpu_to_be_16(low);
        ip->src_addr = rte_cpu_to_be_32((address & 0xffff0000) | low);
        ip->hdr_checksum = checksum_update(ip->hdr_checksum, old, new);
        *l4_checksum = checksum_update(*l4_checksum, old, new);
    }
    if (c->n_sports) {
        uint32_t i = (c->random & NET_GEN_RANDOM_SPORT
                      ? random_below(&cursor->random, c->n_sports)
                      : cursor->sport);

        old = ports[0];
        new = rte_cpu_to_be_16(c->sport_base + i);
        ports[0] = new;
        *l4_checksum = checksum_update(*l4_checksum, old, new);
    }
    if (c->random & NET_GEN_RANDOM_DPORT) {
        uint32_t i = random_below(&cursor->random, c->n_dports);

        old = ports[1];
        new = rte_cpu_to_be_16(rte_be_to_cpu_16(old) + i);
        ports[1] = new;
        *l4_checksum = checksum_update(*l4_checksum, old, new);
    }
    cursor_advance(c, cursor);
    return len;
}

/* 'len': of header and data. */
static bool
turn_tcp(struct rte_tcp_hdr *tcp, size_t len)
{
    uint32_t seq = tcp->sent_seq;
    uint32_t ack = tcp->recv_ack;

    if (tcp->tcp_flags & RTE_TCP_SYN_FLAG) {
        uint16_t old = be16_of_bytes(tcp->data_off, tcp->tcp_flags);

        if (tcp->tcp_flags & RTE_TCP_ACK_FLAG) {
            return false;
        }
        tcp->tcp_flags = RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG;
        tcp->sent_seq = rte_cpu_to_be_32(ECHO_SEQ);
        tcp->recv_ack = rte_cpu_to_be_32(rte_be_to_cpu_32(seq) + 1);
        tcp->cksum = checksum_update(
            tcp->cksum, old, be16_of_bytes(tcp->data_off, tcp->tcp_flags));
        tcp->cksum = checksum_update32(tcp->cksum, seq, tcp->sent_seq);
        tcp->cksum = checksum_update32(tcp->cksum, ack, tcp->recv_ack);
        return true;
    }

    tcp->sent_seq = ack;
    tcp->recv_ack = seq;
    return len > (tcp->data_off >> 4) * 4u;
}

/* Swaps the ports of TCP or UDP, whose header and data have 'len' bytes. */
static bool
turn_l4(struct rte_udp_hdr *udp, uint8_t proto, size_t len)
{
    uint16_t port = udp->src_port;      /* At the same place in TCP. */

    udp->src_port = udp->dst_port;
    udp->dst_port = port;
    return proto != IPPROTO_TCP || turn_tcp((void *) udp, len);
}

static bool
turn_ipv6(struct rte_ipv6_hdr *ip)
{
    uint8_t address[sizeof ip->src_addr];

    memcpy(address, ip->src_addr, sizeof address);
    memcpy(ip->src_addr, ip->dst_addr, sizeof address);
    memcpy(ip->dst_addr, address, sizeof address);
    ip->hop_limits = ECHO_TTL;
    return turn_l4((void *) (ip + 1), ip->proto,
                   rte_be_to_cpu_16(ip->payload_len));
}

bool
net_gen_frame_turn(uint8_t *frame)
{
    struct rte_ether_hdr *eth = (void *) frame;
    struct rte_ipv4_hdr *ip = (void *) (eth + 1);
    struct rte_ether_addr mac = eth->src_addr;
    struct rte_udp_hdr *udp;
    uint32_t address;

    eth->src_addr = eth->dst_addr;
    eth->dst_addr = mac;
    if (eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6)) {
        return turn_ipv6((void *) ip);
    }
    if (eth->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)) {
        return false;
    }

    address = ip->src_addr;
    ip->src_addr = ip->dst_addr;
    ip->dst_addr = address;
    if (ip->time_to_live != ECHO_TTL) {
        uint16_t old = be16_of_bytes(ip->time_to_live, ip->next_proto_id);

        ip->time_to_live = ECHO_TTL;
        ip->hdr_checksum = checksum_update(
            ip->hdr_checksum, old,
            be16_of_bytes(ip->time_to_live, ip->next_proto_id));
    }

    udp = (void *) ((uint8_t *) ip + rte_ipv4_hdr_len(ip));
    if (ip->next_proto_id == IPPROTO_UDP
        && udp->dst_port == rte_cpu_to_be_16(GENEVE_PORT)) {
        struct geneve_header *geneve = (void *) (udp + 1);

        return net_gen_frame_turn((uint8_t *) (geneve + 1)
                                  + (geneve->ver_opt_len & 0x3f) * 4);
    }

    return turn_l4(udp, ip->next_proto_id,
                   rte_be_to_cpu_16(ip->total_length) - rte_ipv4_hdr_len(ip));
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-rewrite.h"

#include <netinet/in.h>
#include "adp-cached-verdict.h"
#include "adp-csum.h"
#include "adp-session.h"
#include "conntrack-sctp.h"
#include "csum.h"
#include "dp-packet.h"
#include "packets.h"
#include "unaligned.h"

/* Sets ports and checksum, to which 'delta' is what all of NAT does. */
static inline void
nat_l4(void *l4, uint8_t nw_proto, ovs_be16 tp_src, ovs_be16 tp_dst,
       uint16_t delta)
{
    if (nw_proto == IPPROTO_TCP) {
        struct tcp_header *tcp = l4;

        tcp->tcp_src = tp_src;
        tcp->tcp_dst = tp_dst;
        tcp->tcp_csum = adp_csum_apply(tcp->tcp_csum, delta);
    } else {
        struct udp_header *udp = l4;

        udp->udp_src = tp_src;
        udp->udp_dst = tp_dst;
        if (udp->udp_csum) {
            udp->udp_csum = adp_csum_apply(udp->udp_csum, delta);
            if (!udp->udp_csum) {
                udp->udp_csum = htons(0xffff);
            }
        }
    }
}

/* NAT together with the rest of the rewriting. */
static void
nat_ipv4(struct dp_packet *packet, const struct adp_session *s,
         const struct adp_cached_verdict_content *c)
{
    struct ip_header *ip = dp_packet_l3(packet);

    put_16aligned_be32(&ip->ip_src, s->v4.nat_src);
    put_16aligned_be32(&ip->ip_dst, s->v4.nat_dst);
    if (c->set_tos) {
        ip->ip_tos = c->tos;
    }
    if (c->set_ttl) {
        ip->ip_ttl = c->ttl;
    }
    ip->ip_csum = adp_csum_apply(ip->ip_csum, s->v4.l3_delta);
    nat_l4(dp_packet_l4(packet), ip->ip_proto, s->v4.nat_tp_src,
           s->v4.nat_tp_dst, s->v4.l4_delta);
}

/* The address that NAT of kind 'nat' sets. */
static inline ovs_16aligned_be32 *
nat_address6(struct ovs_16aligned_ip6_hdr *ip6, uint8_t nat)
{
    return (nat == CONNTRACK_NAT_SRC ? ip6->ip6_src.be32
            : ip6->ip6_dst.be32);
}

/* NAT of several connections, as they have it. */
static void
nat_ipv6_conns(struct dp_packet *packet, const struct adp_session *s,
               const struct adp_cached_verdict_content *c)
{
    const struct adp_session_body *body = &s->v6.body;
    const struct conn *const conns[] = {
        body->conn0, body->conn1, body->conn2
    };
    struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(packet);
    const struct conn_key *key = NULL;  /* Of the last one. */

    for (int i = 0; i < body->n_conns; i++) {
        const struct conntrack_expect *expect = &c->conns[i];

        if (expect->nat) {
            key = conntrack_track_nat_key(conns[i], expect->reply);
            memcpy(nat_address6(ip6, expect->nat),
                   expect->nat == CONNTRACK_NAT_SRC ? &key->dst.addr
                   : &key->src.addr, sizeof key->src.addr);
        }
    }
    if (key) {
        nat_l4(dp_packet_l4(packet), ip6->ip6_nxt, key->dst.port,
               key->src.port, s->v6_l4_delta);
    }
}

static void
nat_ipv6(struct dp_packet *packet, const struct adp_session *s,
         const struct adp_cached_verdict_content *c)
{
    const struct adp_session_body *body = &s->v6.body;
    struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(packet);

    if (OVS_UNLIKELY(body->n_conns != 1)) {
        nat_ipv6_conns(packet, s, c);
        return;
    }
    memcpy(nat_address6(ip6, c->conns[0].nat), &body->nat_addr,
           sizeof body->nat_addr);
    nat_l4(dp_packet_l4(packet), ip6->ip6_nxt, body->nat_tp_src,
           body->nat_tp_dst, s->v6_l4_delta);
}

static void
rewrite_ipv4(struct dp_packet *packet,
             const struct adp_cached_verdict_content *c)
{
    struct ip_header *ip = dp_packet_l3(packet);

    if (c->set_tos) {
        uint8_t *tos = &ip->ip_tos;

        ip->ip_csum = recalc_csum16(ip->ip_csum, htons(*tos), htons(c->tos));
        *tos = c->tos;
    }
    if (c->set_ttl) {
        uint8_t *ttl = &ip->ip_ttl;

        ip->ip_csum = recalc_csum16(ip->ip_csum, htons(*ttl << 8),
                                    htons(c->ttl << 8));
        *ttl = c->ttl;
    }
}

static void
rewrite_ipv6(struct dp_packet *packet,
             const struct adp_cached_verdict_content *c)
{
    struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(packet);

    if (c->set_tos) {
        ovs_be32 flow = get_16aligned_be32(&ip6->ip6_flow);

        put_16aligned_be32(&ip6->ip6_flow,
                           (flow & htonl(0xf00fffff)) | htonl(c->tos << 20));
    }
    if (c->set_ttl) {
        ip6->ip6_hlim = c->ttl;
    }
}

static inline void
rewrite_ethernet(struct dp_packet *packet,
                 const struct adp_cached_verdict_content *c)
{
    if (c->set_eth) {
        struct eth_header *eth = dp_packet_data(packet);

        eth->eth_dst = c->dl_dst;
        eth->eth_src = c->dl_src;
    }
}

/* 'delta' and the replacing of one address by another. */
static uint32_t
add_address(uint32_t delta, const struct in6_addr *old_,
            const struct in6_addr *new_)
{
    ovs_be32 old[4], new[4];

    memcpy(old, old_, sizeof old);
    memcpy(new, new_, sizeof new);
    for (int i = 0; i < ARRAY_SIZE(old); i++) {
        delta = adp_csum_add32(delta, old[i], new[i]);
    }
    return delta;
}

static void
init_ipv6(struct adp_session *s, const struct conntrack_peek_tuple *tuple,
          const struct adp_cached_verdict_content *c)
{
    const struct adp_session_key6 *key = &s->v6.key;
    struct adp_session_body *body = &s->v6.body;
    uint32_t delta = add_address(0, &key->ipv6_src, &tuple->src.ipv6);

    delta = add_address(delta, &key->ipv6_dst, &tuple->dst.ipv6);
    s->v6_l4_delta = adp_csum_fold(adp_csum_add16(
        adp_csum_add16(delta, key->l4.tp_src, tuple->tp_src),
        key->l4.tp_dst, tuple->tp_dst));
    if (c->nat && body->n_conns == 1) {
        body->nat_addr = (c->conns[0].nat == CONNTRACK_NAT_SRC
                          ? tuple->src.ipv6 : tuple->dst.ipv6);
        body->nat_tp_src = tuple->tp_src;
        body->nat_tp_dst = tuple->tp_dst;
    }
}

void
adp_rewrite_session_init(struct adp_session *s,
                         const struct conntrack_peek_tuple *tuple,
                         const struct adp_cached_verdict_content *c)
{
    const struct adp_session_key4 *key = &s->v4.key;
    uint32_t delta = 0;

    if (s->is_ipv6) {
        init_ipv6(s, tuple, c);
        return;
    }
    s->v4.nat_src = tuple->src.ipv4;
    s->v4.nat_dst = tuple->dst.ipv4;
    s->v4.nat_tp_src = tuple->tp_src;
    s->v4.nat_tp_dst = tuple->tp_dst;

    delta = adp_csum_add32(delta, key->nw_src, tuple->src.ipv4);
    delta = adp_csum_add32(delta, key->nw_dst, tuple->dst.ipv4);
    s->v4.l4_delta = adp_csum_fold(adp_csum_add16(
        adp_csum_add16(delta, key->l4.tp_src, tuple->tp_src),
        key->l4.tp_dst, tuple->tp_dst));
    if (c->set_tos) {
        delta = adp_csum_add16(delta, htons(key->l4.nw_tos), htons(c->tos));
    }
    if (c->set_ttl) {
        delta = adp_csum_add16(delta, htons(key->l4.nw_ttl << 8),
                             htons(c->ttl << 8));
    }
    s->v4.l3_delta = adp_csum_fold(delta);
}

void
adp_rewrite_by_session(struct dp_packet *packet, const struct adp_session *s,
                       const struct adp_cached_verdict_content *c)
{
    rewrite_ethernet(packet, c);
    if (s->is_ipv6) {
        if (c->nat) {
            nat_ipv6(packet, s, c);
        }
        rewrite_ipv6(packet, c);
    } else if (c->nat) {
        nat_ipv4(packet, s, c);
    } else {
        rewrite_ipv4(packet, c);
    }
}

static void
set_addresses4(struct dp_packet *packet,
               const struct conntrack_peek_tuple *tuple)
{
    struct ip_header *ip = dp_packet_l3(packet);

    if (get_16aligned_be32(&ip->ip_src) != tuple->src.ipv4) {
        packet_set_ipv4_addr(packet, &ip->ip_src, tuple->src.ipv4);
    }
    if (get_16aligned_be32(&ip->ip_dst) != tuple->dst.ipv4) {
        packet_set_ipv4_addr(packet, &ip->ip_dst, tuple->dst.ipv4);
    }
}

static void
set_address6(struct dp_packet *packet, uint8_t nw_proto,
             ovs_16aligned_be32 address[4], const struct in6_addr *new)
{
    if (memcmp(address, new, sizeof *new)) {
        packet_set_ipv6_addr(packet, nw_proto, address, new, true);
    }
}

void
adp_rewrite_to(struct dp_packet *packet,
               const struct adp_cached_verdict_content *c,
               const struct conntrack_peek_tuple *tuple, uint8_t nw_proto)
{
    bool ipv6 = tuple->dl_type == htons(ETH_TYPE_IPV6);

    rewrite_ethernet(packet, c);
    if (c->nat) {
        if (ipv6) {
            struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(packet);

            set_address6(packet, nw_proto, ip6->ip6_src.be32,
                         &tuple->src.ipv6);
            set_address6(packet, nw_proto, ip6->ip6_dst.be32,
                         &tuple->dst.ipv6);
        } else {
            set_addresses4(packet, tuple);
        }
        if (nw_proto == IPPROTO_TCP) {
            packet_set_tcp_port(packet, tuple->tp_src, tuple->tp_dst);
        } else if (nw_proto == IPPROTO_UDP) {
            packet_set_udp_port(packet, tuple->tp_src, tuple->tp_dst);
        } else if (nw_proto == IPPROTO_SCTP) {
            conntrack_sctp_set_ports(packet, tuple->tp_src, tuple->tp_dst);
        }
    }
    if (c->set_tos || c->set_ttl) {
        if (ipv6) {
            rewrite_ipv6(packet, c);
        } else {
            rewrite_ipv4(packet, c);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The parser of sessions against miniflow_extract(), on random packets. */

#include <config.h>
#include "adp-session-parse.h"
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include "dp-packet.h"
#include "flow.h"
#include "packets.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "unaligned.h"
#include "util.h"

#define INGRESS 0x8badf00d

static const struct adp_session_seeds seeds = {
    { UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210),
      UINT64_C(0x5a5a5a5a12345678), UINT64_C(0xc0ffee0ddba11ad5) }
};

/* Random packets. */

static bool
one_in(int n)
{
    return !random_range(n);
}

/* A packet in the making.  The headers are put in front of each other. */
struct packet {
    struct dp_packet *p;
    bool ordinary;              /* One that must be accepted. */
};

static void *
push(struct packet *pkt, size_t n)
{
    void *header = dp_packet_push_uninit(pkt->p, n);

    memset(header, 0, n);
    return header;
}

static void
push_tcp(struct packet *pkt)
{
    size_t len = one_in(2) ? TCP_HEADER_LEN
                 : TCP_HEADER_LEN + 4 * random_range(11);
    struct tcp_header *tcp = push(pkt, len);
    size_t offset = len / 4;

    random_bytes(tcp, len);
    if (one_in(20)) {
        offset = random_range(16);
        pkt->ordinary = false;
    }
    tcp->tcp_ctl = TCP_CTL(random_uint16() & 0xfff, offset);
}

static void
push_udp(struct packet *pkt)
{
    struct udp_header *udp = push(pkt, UDP_HEADER_LEN);
    size_t len = dp_packet_size(pkt->p);

    random_bytes(udp, UDP_HEADER_LEN);
    if (one_in(20)) {
        len = one_in(2) ? random_range(12) : len + random_range(3) - 1;
        pkt->ordinary = false;
    }
    udp->udp_len = htons(len);
}

/* Returns the protocol. */
static uint8_t
push_l4(struct packet *pkt)
{
    switch (random_range(12)) {
    case 0:
        pkt->ordinary = false;
        random_bytes(push(pkt, 12), 12);
        return random_uint8();
    case 1: case 2: case 3: case 4: case 5:
        push_udp(pkt);
        return IPPROTO_UDP;
    default:
        push_tcp(pkt);
        return IPPROTO_TCP;
    }
}

/* A length that is wrong by little, or by much. */
static void
spoil_length(struct packet *pkt, ovs_be16 *len)
{
    if (one_in(15)) {
        *len = (one_in(3) ? htons(random_uint16())
                : htons(ntohs(*len) + random_range(41) - 20));
        pkt->ordinary = false;
    }
}

static void
push_ipv4(struct packet *pkt)
{
    uint8_t proto = push_l4(pkt);
    size_t options_len = one_in(10) ? 4 * random_range(11) : 0;
    struct ip_header *ip;

    random_bytes(push(pkt, options_len), options_len);
    ip = push(pkt, IP_HEADER_LEN);
    random_bytes(ip, IP_HEADER_LEN);
    ip->ip_ihl_ver = IP_IHL_VER(5 + options_len / 4, 4);
    ip->ip_proto = proto;
    ip->ip_tot_len = htons(dp_packet_size(pkt->p));
    ip->ip_frag_off = one_in(10) ? htons(random_uint16())
                      : one_in(2) ? htons(IP_DF) : 0;
    if (one_in(30)) {
        ip->ip_ihl_ver = random_uint8();
        pkt->ordinary = false;
    }
    pkt->ordinary &= !options_len && !IP_IS_FRAGMENT(ip->ip_frag_off);
    spoil_length(pkt, &ip->ip_tot_len);
}

static uint8_t
push_extension(struct packet *pkt, uint8_t next)
{
    static const uint8_t protos[] = {
        IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS, IPPROTO_FRAGMENT,
        IPPROTO_AH, IPPROTO_NONE,
    };
    uint8_t *header = push(pkt, 8);

    header[0] = next;
    random_bytes(header + 2, 6);
    pkt->ordinary = false;
    return protos[random_range(ARRAY_SIZE(protos))];
}

static void
push_ipv6(struct packet *pkt)
{
    uint8_t proto = push_l4(pkt);
    struct ovs_16aligned_ip6_hdr *ip6;

    while (one_in(10)) {
        proto = push_extension(pkt, proto);
    }
    size_t plen = dp_packet_size(pkt->p);
    ip6 = push(pkt, IPV6_HEADER_LEN);
    random_bytes(ip6, IPV6_HEADER_LEN);
    put_16aligned_be32(&ip6->ip6_flow,
                       htonl(6u << 28 | (random_uint32() & 0x0fffffff)));
    ip6->ip6_nxt = proto;
    ip6->ip6_plen = htons(plen);
    if (one_in(30)) {
        put_16aligned_be32(&ip6->ip6_flow, htonl(random_uint32()));
        pkt->ordinary = false;
    }
    spoil_length(pkt, &ip6->ip6_plen);
}

static void
push_vlan(struct packet *pkt, ovs_be16 eth_type)
{
    ovs_be16 *vlan = push(pkt, 4);

    vlan[0] = htons(random_uint16());
    vlan[1] = eth_type;
}

static void
push_ethernet(struct packet *pkt, ovs_be16 eth_type)
{
    struct eth_header *eth;

    for (int n = 0; one_in(n ? 15 : 5); n++) {
        push_vlan(pkt, eth_type);
        eth_type = htons(one_in(4) ? ETH_TYPE_VLAN_8021AD
                         : ETH_TYPE_VLAN_8021Q);
        pkt->ordinary &= !n && eth_type == htons(ETH_TYPE_VLAN_8021Q);
    }
    if (one_in(30)) {
        eth_type = htons(one_in(2) ? random_range(0x600) : random_uint16());
        pkt->ordinary = false;
    }
    eth = push(pkt, ETH_HEADER_LEN);
    random_bytes(eth, ETH_HEADER_LEN);
    eth->eth_type = eth_type;
}

/* No packet is longer than 64 kB: with DPDK its length has 16 bits. */
static void
pad(struct packet *pkt)
{
    size_t n = one_in(50) ? random_range(31000) : random_range(60);

    random_bytes(dp_packet_put_uninit(pkt->p, n), n);
}

/* Truncates it, or changes a few bytes. */
static void
corrupt(struct packet *pkt)
{
    size_t size = dp_packet_size(pkt->p);

    pkt->ordinary = false;
    if (one_in(2)) {
        dp_packet_set_size(pkt->p, random_range(MIN(size, 120) + 1));
    } else {
        do {
            uint8_t *data = dp_packet_data(pkt->p);

            data[random_range(MIN(size, 80))] = random_uint8();
        } while (one_in(2));
    }
}

static void
packet_init(struct packet *pkt)
{
    size_t payload_len = one_in(50) ? random_range(31000) : random_range(100);

    /* Room for headers, so that the layers after Ethernet are aligned. */
    pkt->p = dp_packet_new_with_headroom(0, 256 + 2);
    pkt->ordinary = true;
    random_bytes(dp_packet_put_uninit(pkt->p, payload_len), payload_len);
    if (one_in(2)) {
        push_ipv4(pkt);
        push_ethernet(pkt, htons(ETH_TYPE_IP));
    } else {
        push_ipv6(pkt);
        push_ethernet(pkt, htons(ETH_TYPE_IPV6));
    }
    if (one_in(3)) {
        pad(pkt);
    }
    if (one_in(8)) {
        corrupt(pkt);
    }
}

/* Comparing. */

static void
extract(struct dp_packet *p, struct flow *flow)
{
    pkt_metadata_init(&p->md, u32_to_odp(7));
    flow_extract(p, flow);
}

static void
check_l4_key(const struct adp_session_l4 *l4, const struct flow *flow)
{
    ck_assert(l4->tp_src == flow->tp_src);
    ck_assert(l4->tp_dst == flow->tp_dst);
    ck_assert(l4->ingress == INGRESS + ntohs(flow->vlans[0].tci));
    ck_assert(l4->tagged == (flow->vlans[0].tci != 0));
    ck_assert(eth_addr_equals(l4->dl_dst, flow->dl_dst));
    ck_assert(eth_addr_equals(l4->dl_src, flow->dl_src));
    ck_assert(l4->nw_proto == flow->nw_proto);
    ck_assert(l4->nw_tos == flow->nw_tos);
    ck_assert(l4->nw_ttl == flow->nw_ttl);
}

static void
check_parsed(const struct adp_session_packet *p, const struct flow *flow)
{
    ck_assert(flow->packet_type == htonl(PT_ETH));
    ck_assert(flow->vlans[0].tpid == (flow->vlans[0].tci
                                      ? htons(ETH_TYPE_VLAN_8021Q) : 0));
    ck_assert(!flow->vlans[1].tci);
    ck_assert(!flow->nw_frag);
    ck_assert(p->nw_proto == flow->nw_proto);
    ck_assert(p->tcp_flags == ntohs(flow->tcp_flags));
    if (p->is_ipv6) {
        ck_assert(flow->dl_type == htons(ETH_TYPE_IPV6));
        ck_assert(ipv6_addr_equals(&p->key6.ipv6_src, &flow->ipv6_src));
        ck_assert(ipv6_addr_equals(&p->key6.ipv6_dst, &flow->ipv6_dst));
        ck_assert(p->key6.ipv6_label == flow->ipv6_label);
        ck_assert(!p->key6.zero);
        check_l4_key(&p->key6.l4, flow);
        ck_assert(p->hash == adp_session_hash6(&seeds, &p->key6));
    } else {
        ck_assert(flow->dl_type == htons(ETH_TYPE_IP));
        ck_assert(p->key4.nw_src == flow->nw_src);
        ck_assert(p->key4.nw_dst == flow->nw_dst);
        check_l4_key(&p->key4.l4, flow);
        ck_assert(p->hash == adp_session_hash4(&seeds, &p->key4));
    }
}

static void
check_offsets(const struct dp_packet *a, const struct dp_packet *b)
{
    ck_assert(a->l2_5_ofs == b->l2_5_ofs);
    ck_assert(a->l3_ofs == b->l3_ofs);
    ck_assert(a->l4_ofs == b->l4_ofs);
    ck_assert(dp_packet_l2_pad_size(a) == dp_packet_l2_pad_size(b));
}

/* Garbage where the parser has to leave its mark. */
static void
forget_offsets(struct dp_packet *p)
{
    p->l2_pad_size = random_uint16();
    p->l2_5_ofs = random_uint16();
    p->l3_ofs = random_uint16();
    p->l4_ofs = random_uint16();
}

static bool
parse_labels(struct dp_packet *p, bool labels, struct adp_session_packet *sp)
{
    ovs_be16 tci;
    bool tagged = adp_session_tag(p, &tci);

    forget_offsets(p);
    memset(sp, 0xcc, sizeof *sp);
    return adp_session_parse(p, tagged,
                             tagged ? INGRESS + ntohs(tci) : INGRESS, labels,
                             &seeds, sp);
}

static bool
parse(struct dp_packet *p, struct adp_session_packet *sp)
{
    return parse_labels(p, true, sp);
}

static void
setup(void)
{
    test_seed_random();
}

/* What is accepted is what miniflow_extract() sees, and what is ordinary is
 * accepted. */
START_TEST(test_against_miniflow)
{
    enum { N = 200000 };
    int n_ordinary = 0, n_accepted = 0, n_refused = 0;

    for (int i = 0; i < N; i++) {
        struct adp_session_packet sp;
        struct packet pkt;

        packet_init(&pkt);
        if (parse(pkt.p, &sp)) {
            struct dp_packet *copy = dp_packet_clone(pkt.p);
            struct flow flow;

            extract(copy, &flow);
            check_parsed(&sp, &flow);
            check_offsets(pkt.p, copy);
            dp_packet_delete(copy);
            n_accepted++;
        } else {
            ck_assert(!pkt.ordinary);
            n_refused++;
        }
        n_ordinary += pkt.ordinary;
        dp_packet_delete(pkt.p);
    }
    ck_assert_int_gt(n_ordinary, N / 4);
    ck_assert_int_gt(n_accepted, n_ordinary);
    ck_assert_int_gt(n_refused, N / 4);
}
END_TEST

/* Without labels the key is that of a packet that has none. */
START_TEST(test_no_labels)
{
    enum { N = 100000 };
    int n_labels = 0;

    for (int i = 0; i < N; i++) {
        struct adp_session_packet with, without;
        struct packet pkt;

        packet_init(&pkt);
        bool is_accepted = parse(pkt.p, &with);
        ck_assert(parse_labels(pkt.p, false, &without) == is_accepted);
        if (is_accepted && with.is_ipv6) {
            ck_assert(with.has_label && !without.has_label);
            n_labels += with.key6.ipv6_label != 0;
            with.key6.ipv6_label = 0;
            ck_assert_mem_eq(&with.key6, &without.key6, sizeof with.key6);
            ck_assert_uint_eq(without.hash,
                              adp_session_hash6(&seeds, &with.key6));
        } else if (is_accepted) {
            ck_assert_mem_eq(&with.key4, &without.key4, sizeof with.key4);
        }
        dp_packet_delete(pkt.p);
    }
    ck_assert_int_gt(n_labels, N / 20);
}
END_TEST

static bool
same_key(const struct adp_session_packet *a,
         const struct adp_session_packet *b)
{
    return (a->is_ipv6 == b->is_ipv6
            && (a->is_ipv6 ? !memcmp(&a->key6, &b->key6, sizeof a->key6)
                : !memcmp(&a->key4, &b->key4, sizeof a->key4)));
}

/* Changes one bit of the packet, mostly of the headers. */
static void
flip_bit(struct dp_packet *p)
{
    size_t size = dp_packet_size(p);
    uint8_t *data = dp_packet_data(p);

    data[random_range(one_in(4) ? size : MIN(size, 80))]
        ^= 1 << random_range(8);
}

/* Two packets have one key exactly if they have one flow, but for what the key
 * leaves out: of that a flow has TCP's flags alone. */
START_TEST(test_same_key)
{
    enum { N = 200000 };
    int n_same = 0, n_different = 0, n_flags = 0;

    for (int i = 0; i < N; i++) {
        struct adp_session_packet a, b;
        struct packet pkt;

        packet_init(&pkt);
        if (parse(pkt.p, &a)) {
            struct dp_packet *other = dp_packet_clone(pkt.p);

            flip_bit(other);
            if (parse(other, &b)) {
                struct flow flow, other_flow;

                extract(pkt.p, &flow);
                extract(other, &other_flow);
                n_flags += flow.tcp_flags != other_flow.tcp_flags;
                flow.tcp_flags = other_flow.tcp_flags = 0;

                bool same = same_key(&a, &b);
                ck_assert(same == flow_equal(&flow, &other_flow));
                ck_assert(!same || a.hash == b.hash);
                ck_assert(adp_session_packets_alike(&a, &b) == same);
                n_same += same;
                n_different += !same;
            }
            dp_packet_delete(other);
        }
        dp_packet_delete(pkt.p);
    }
    ck_assert_int_gt(n_same, N / 10);
    ck_assert_int_gt(n_different, N / 10);
    ck_assert_int_gt(n_flags, N / 500);
}
END_TEST

/* A device may have handed over something else than Ethernet. */
START_TEST(test_packet_type)
{
    struct adp_session_packet sp;
    struct packet pkt;

    do {
        packet_init(&pkt);
        if (!pkt.ordinary) {
            dp_packet_delete(pkt.p);
        }
    } while (!pkt.ordinary);
    ck_assert(parse(pkt.p, &sp));
    pkt.p->packet_type = PACKET_TYPE_BE(OFPHTN_ETHERTYPE, ETH_TYPE_IP);
    ck_assert(!parse(pkt.p, &sp));
    dp_packet_delete(pkt.p);
}
END_TEST

/* The hash for tunnels' source ports is the one that upstream takes. */
START_TEST(test_rss_hash)
{
    enum { N = 10000 };
    int n = 0;

    for (int i = 0; i < N; i++) {
        struct adp_session_packet sp;
        struct packet pkt;

        packet_init(&pkt);
        if (parse(pkt.p, &sp)) {
            struct dp_packet *copy = dp_packet_clone(pkt.p);
            struct flow flow;

            if (sp.is_ipv6) {
                dp_packet_update_rss_hash_ipv6_tcp_udp(pkt.p);
            } else {
                dp_packet_update_rss_hash_ipv4_tcp_udp(pkt.p);
            }
            extract(copy, &flow);
            ck_assert(dp_packet_get_rss_hash(pkt.p)
                      == flow_hash_5tuple(&flow, 0));
            dp_packet_delete(copy);
            n++;
        }
        dp_packet_delete(pkt.p);
    }
    ck_assert_int_gt(n, N / 4);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("session-parse");
    TCase *tc = tcase_create("session-parse");

    suite_add_tcase(s, tc);
    tcase_add_unchecked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, test_no_labels);
    tcase_add_test(tc, test_against_miniflow);
    tcase_add_test(tc, test_same_key);
    tcase_add_test(tc, test_packet_type);
    tcase_add_test(tc, test_rss_hash);
    return test_run_nofork(s);
}

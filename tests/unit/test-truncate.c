/* SPDX-License-Identifier: Apache-2.0 */

/* Truncated answers in place of first fragments. */

#include <config.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>

#include "adp-truncate.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "packets.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

static const uint8_t head[] = {
    0x12, 0x34, 0x81, 0x80, 0, 1, 0, 9, 0, 2, 0, 3,
    1, 'a', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0, 0, 1, 0, 1,
};
static uint8_t msg[600];
static size_t msg_len;
static bool ipv6;
static uint16_t frag;           /* Of IPv4; of IPv6 in its own form. */
static uint8_t proto;
static uint16_t port;

static void
setup(void)
{
    test_seed_random();
    random_bytes(msg, sizeof msg);
    memcpy(msg, head, sizeof head);
    msg_len = sizeof msg;
    frag = IP_MORE_FRAGMENTS;
    proto = IPPROTO_UDP;
    port = 53;
}

/* A fragment of a datagram with more than 'msg'; with a VLAN tag. */
static struct dp_packet *
make_fragment(struct flow *flow)
{
    struct dp_packet *p = dp_packet_new(1000);
    size_t l4_len = UDP_HEADER_LEN + msg_len;
    struct eth_header *eth = dp_packet_put_zeros(p, ETH_HEADER_LEN);

    eth->eth_src.ea[5] = 1;
    eth->eth_dst.ea[5] = 2;
    eth->eth_type = htons(ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    if (ipv6) {
        struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_put_zeros(p,
                                                                sizeof *ip6);
        struct ovs_16aligned_ip6_frag *ext;

        put_16aligned_be32(&ip6->ip6_flow, htonl(6u << 28));
        ip6->ip6_plen = htons(sizeof *ext + l4_len);
        ip6->ip6_nxt = IPPROTO_FRAGMENT;
        ip6->ip6_hlim = 64;
        ip6->ip6_src.be32[3].lo = htons(1);
        ip6->ip6_dst.be32[3].lo = htons(2);
        ext = dp_packet_put_zeros(p, sizeof *ext);
        ext->ip6f_nxt = proto;
        ext->ip6f_offlg = htons(frag == IP_MORE_FRAGMENTS ? 1 : frag << 3);
    } else {
        struct ip_header *ip = dp_packet_put_zeros(p, sizeof *ip);

        ip->ip_ihl_ver = IP_IHL_VER(5, 4);
        ip->ip_tot_len = htons(sizeof *ip + l4_len);
        ip->ip_id = htons(77);
        ip->ip_frag_off = htons(frag);
        ip->ip_ttl = 64;
        ip->ip_proto = proto;
        put_16aligned_be32(&ip->ip_src, htonl(1));
        put_16aligned_be32(&ip->ip_dst, htonl(2));
        ip->ip_csum = csum(ip, sizeof *ip);
    }
    struct udp_header *udp = dp_packet_put_zeros(p, sizeof *udp);
    udp->udp_src = htons(port);
    udp->udp_dst = htons(4000);
    udp->udp_len = htons(4000);
    udp->udp_csum = htons(1);
    dp_packet_put(p, msg, msg_len);
    eth_push_vlan(p, htons(ETH_TYPE_VLAN_8021Q), htons(5));
    pkt_metadata_init(&p->md, u32_to_odp(3));
    flow_extract(p, flow);
    return p;
}

START_TEST(truncated)
{
    struct flow flow, before;

    ipv6 = _i;
    struct dp_packet *p = make_fragment(&before);
    struct dp_packet *answer = adp_truncated_answer(p, &before);

    ck_assert_ptr_nonnull(answer);
    flow_extract(answer, &flow);
    ck_assert_uint_eq(flow.nw_frag, 0);
    before.nw_frag = 0;
    ck_assert(flow_equal(&flow, &before));

    /* Header and question, with TC, without records. */
    const struct udp_header *udp = dp_packet_l4(answer);
    uint8_t expected[sizeof head];
    memcpy(expected, head, sizeof head);
    expected[2] |= 2;
    memset(&expected[6], 0, 6);
    ck_assert_uint_eq(ntohs(udp->udp_len), UDP_HEADER_LEN + sizeof head);
    ck_assert_uint_eq(dp_packet_l4_size(answer),
                      UDP_HEADER_LEN + sizeof head);
    ck_assert(!memcmp(udp + 1, expected, sizeof head));

    uint32_t sum = (ipv6 ? packet_csum_pseudoheader6(dp_packet_l3(answer))
                    : packet_csum_pseudoheader(dp_packet_l3(answer)));
    ck_assert_uint_eq(csum_finish(csum_continue(sum, udp,
                                                ntohs(udp->udp_len))), 0);
    if (!ipv6) {
        ck_assert_uint_eq(csum(dp_packet_l3(answer), IP_HEADER_LEN), 0);
    }
    dp_packet_delete(answer);
    dp_packet_delete(p);
}
END_TEST

/* A question whose name is one label of 'len' bytes. */
static size_t
put_label(uint8_t len)
{
    memset(&msg[12], 0, len + 6);
    msg[12] = len;
    memset(&msg[13], 'a', len);
    return 12 + 1 + len + 5;
}

START_TEST(longest_label)
{
    size_t question_end = put_label(63);
    struct flow flow;

    ipv6 = _i;
    struct dp_packet *p = make_fragment(&flow);
    struct dp_packet *answer = adp_truncated_answer(p, &flow);

    ck_assert_ptr_nonnull(answer);
    ck_assert_uint_eq(dp_packet_l4_size(answer),
                      UDP_HEADER_LEN + question_end);
    dp_packet_delete(answer);
    dp_packet_delete(p);
}
END_TEST

static void
expect_none(const char *why)
{
    for (int i = 0; i < 2; i++) {
        struct flow flow;

        ipv6 = i;
        struct dp_packet *p = make_fragment(&flow);
        struct dp_packet *answer = adp_truncated_answer(p, &flow);

        ck_assert_msg(!answer, "an answer to %s", why);
        dp_packet_delete(p);
    }
}

START_TEST(none)
{
    frag = 0;
    expect_none("a whole packet");
    frag = 100;
    expect_none("a later fragment");
    setup();
    port = 54;
    expect_none("another port");
    setup();
    proto = IPPROTO_SCTP;
    expect_none("another protocol");
    setup();
    msg[2] &= ~0x80;
    expect_none("a query");
    setup();
    msg[5] = 2;
    expect_none("two questions");
    setup();
    msg[12] = 0xc0;
    expect_none("a pointer in a question");
    setup();
    put_label(64);
    expect_none("a label that is too long");
    for (size_t len = 0; len < sizeof head; len++) {
        setup();
        msg_len = len;
        expect_none("less than a question");
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("truncate");
    TCase *tc = tcase_create("truncate");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, truncated, 0, 2);
    tcase_add_loop_test(tc, longest_label, 0, 2);
    tcase_add_test(tc, none);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

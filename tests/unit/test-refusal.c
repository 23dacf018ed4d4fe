/* SPDX-License-Identifier: Apache-2.0 */

/* What refused packets are answered with, and which are not. */

#include <config.h>
#undef NDEBUG

#include <check.h>
#include <string.h>

#include "adp-refusal.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "packets.h"
#include "talk.h"
#include "test-run.h"
#include "unaligned.h"
#include "util.h"

enum { NOW = 1000000 };

static struct tuple tuple;
static struct segment segment;
static struct adp_rate_limit limit;
static struct dp_packet *packet, *answer;
static enum adp_answer kind;
static bool limited;

static void
setup(void)
{
    tuple = (struct tuple) { .nw_proto = IPPROTO_TCP, .tp_src = 1234,
                             .tp_dst = 80 };
    in6_addr_set_mapped_ipv4(&tuple.src, htonl(0x0a000001));
    in6_addr_set_mapped_ipv4(&tuple.dst, htonl(0x0a000002));
    segment = (struct segment) { .flags = TCP_SYN, .seq = 0xffffffff,
                                 .wscale = -1 };
    kind = ADP_ANSWER_PROHIBITED;
    memset(&limit, 0, sizeof limit);
    adp_refusal_set_rate(ADP_REFUSAL_DEFAULT_RATE);
    packet = answer = NULL;
}

static void
use_ipv6(void)
{
    tuple.ipv6 = true;
    ck_assert(ipv6_parse("fd00::1", &tuple.src));
    ck_assert(ipv6_parse("fd00::2", &tuple.dst));
}

static void
teardown(void)
{
    dp_packet_delete(packet);
    dp_packet_delete(answer);
}

static void
compose(size_t payload_len)
{
    dp_packet_delete(packet);
    packet = talk_compose(&tuple, &segment, payload_len);

    struct eth_header *eth = dp_packet_eth(packet);
    eth->eth_src = (struct eth_addr) ETH_ADDR_C(0a,00,00,00,00,01);
    eth->eth_dst = (struct eth_addr) ETH_ADDR_C(0a,00,00,00,00,02);
}

static void
refuse(void)
{
    dp_packet_delete(answer);
    answer = adp_refusal_make(packet, kind, &limit, NOW, &limited);
}

static void
expect_none(void)
{
    refuse();
    ck_assert(!answer && !limited);
}

/* What any answer must be; leaves its headers in 'flow'. */
static void
expect_answer(struct flow *flow)
{
    struct flow old;

    refuse();
    ck_assert(answer && !limited);
    flow_extract(packet, &old);
    flow_extract(answer, flow);
    ck_assert(eth_addr_equals(flow->dl_src, old.dl_dst));
    ck_assert(eth_addr_equals(flow->dl_dst, old.dl_src));
    ck_assert_uint_eq(flow->vlans[0].tci, old.vlans[0].tci);
    ck_assert_uint_eq(flow->dl_type, old.dl_type);
    ck_assert_uint_eq(flow->nw_src, old.nw_dst);
    ck_assert_uint_eq(flow->nw_dst, old.nw_src);
    ck_assert(ipv6_addr_equals(&flow->ipv6_src, &old.ipv6_dst));
    ck_assert(ipv6_addr_equals(&flow->ipv6_dst, &old.ipv6_src));
    ck_assert_uint_eq(flow->nw_ttl, 128);
    ck_assert_uint_eq(flow->nw_frag, 0);
    ck_assert(dp_packet_rss_valid(answer));

    size_t l4_size = dp_packet_l4_size(answer);
    uint32_t sum = 0;
    if (tuple.ipv6) {
        const struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(answer);

        ck_assert_uint_eq(ntohs(ip6->ip6_plen), l4_size);
        sum = packet_csum_pseudoheader6(ip6);
    } else {
        const struct ip_header *ip = dp_packet_l3(answer);

        ck_assert_uint_eq(csum(ip, sizeof *ip), 0);
        ck_assert_uint_eq(ntohs(ip->ip_tot_len), sizeof *ip + l4_size);
        if (flow->nw_proto == IPPROTO_TCP) {
            sum = packet_csum_pseudoheader(ip);
        }
    }
    sum = csum_continue(sum, dp_packet_l4(answer), l4_size);
    ck_assert_uint_eq(csum_finish(sum), 0);
}

static void
expect_reset(uint32_t seq, uint32_t ack)
{
    struct flow flow;

    expect_answer(&flow);
    ck_assert_uint_eq(flow.nw_proto, IPPROTO_TCP);
    ck_assert_uint_eq(ntohs(flow.tp_src), tuple.tp_dst);
    ck_assert_uint_eq(ntohs(flow.tp_dst), tuple.tp_src);
    ck_assert_uint_eq(ntohs(flow.tcp_flags), TCP_RST | TCP_ACK);
    ck_assert_uint_eq(dp_packet_l4_size(answer), TCP_HEADER_LEN);

    const struct tcp_header *tcp = dp_packet_l4(answer);
    ck_assert_uint_eq(ntohl(get_16aligned_be32(&tcp->tcp_seq)), seq);
    ck_assert_uint_eq(ntohl(get_16aligned_be32(&tcp->tcp_ack)), ack);
}

/* 'header_len' is that of the packet's IP headers. */
static void
expect_error(uint8_t type, uint8_t code, size_t header_len)
{
    struct flow flow;

    expect_answer(&flow);
    ck_assert_uint_eq(flow.nw_proto,
                      tuple.ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    ck_assert_uint_eq(ntohs(flow.tp_src), type);
    ck_assert_uint_eq(ntohs(flow.tp_dst), code);

    const char *icmp = dp_packet_l4(answer);
    ck_assert_uint_eq(dp_packet_l4_size(answer), 8 + header_len + 8);
    ck_assert(is_all_zeros(icmp + 4, 4));
    ck_assert(!memcmp(icmp + 8, dp_packet_l3(packet), header_len + 8));
}

/* Resets. */

START_TEST(tcp)
{
    if (_i) {
        use_ipv6();
    }
    compose(0);
    expect_reset(0, 0);         /* One more than the last number. */
    compose(10);
    expect_reset(0, 10);
    segment.flags = TCP_ACK | TCP_PSH;
    segment.seq = 100;
    segment.ack = 7000;
    compose(10);
    expect_reset(7000, 110);
    segment.flags = TCP_FIN;
    compose(3);
    expect_reset(0, 104);
    segment.wscale = 3;         /* Options are no payload. */
    segment.flags = TCP_SYN;
    compose(0);
    expect_reset(0, 101);
    kind = ADP_ANSWER_UNREACHABLE;
    expect_reset(0, 101);
}
END_TEST

/* Errors. */

START_TEST(udp)
{
    tuple.nw_proto = IPPROTO_UDP;
    compose(100);
    expect_error(3, 10, 20);
    kind = ADP_ANSWER_UNREACHABLE;
    expect_error(3, 3, 20);
    compose(0);
    expect_error(3, 3, 20);
}
END_TEST

START_TEST(udp6)
{
    use_ipv6();
    tuple.nw_proto = IPPROTO_UDP;
    compose(100);
    expect_error(1, 1, 40);
    kind = ADP_ANSWER_UNREACHABLE;
    expect_error(1, 4, 40);
}
END_TEST

/* Is 'l4' behind an IP header with protocol 'nw_proto' answered? */
static bool
answers(uint8_t nw_proto, const void *l4, size_t size)
{
    tuple.nw_proto = nw_proto;
    dp_packet_delete(packet);
    packet = talk_compose_raw(&tuple, l4, size);

    struct eth_header *eth = dp_packet_eth(packet);
    eth->eth_src = (struct eth_addr) ETH_ADDR_C(0a,00,00,00,00,01);
    eth->eth_dst = (struct eth_addr) ETH_ADDR_C(0a,00,00,00,00,02);
    refuse();
    return answer != NULL;
}

START_TEST(icmp)
{
    static const uint8_t errors[] = { 3, 4, 5, 11, 12 };
    uint8_t l4[8] = { 8 };

    ck_assert(answers(IPPROTO_ICMP, l4, sizeof l4));
    expect_error(3, 10, 20);
    l4[0] = 13;
    ck_assert(answers(IPPROTO_ICMP, l4, sizeof l4));
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        l4[0] = errors[i];
        ck_assert(!answers(IPPROTO_ICMP, l4, sizeof l4));
    }
}
END_TEST

START_TEST(icmp6)
{
    uint8_t l4[8] = { 128 };

    use_ipv6();
    ck_assert(answers(IPPROTO_ICMPV6, l4, sizeof l4));
    expect_error(1, 1, 40);
    for (int type = 0; type < 128; type++) {
        l4[0] = type;
        ck_assert(!answers(IPPROTO_ICMPV6, l4, sizeof l4));
    }
    for (l4[0] = 133; l4[0] <= 137; l4[0]++) {
        ck_assert(!answers(IPPROTO_ICMPV6, l4, sizeof l4));
    }
}
END_TEST

START_TEST(other_protocols)
{
    const uint8_t l4[8] = { 1 };

    ck_assert(answers(253, l4, sizeof l4));
    expect_error(3, 10, 20);
    ck_assert(!answers(253, l4, sizeof l4 - 1));
    ck_assert(answers(IPPROTO_SCTP, l4, sizeof l4));
}
END_TEST

/* A packet with a header between IPv6 and UDP is quoted with it. */
START_TEST(extension_header)
{
    const uint8_t l4[16] = { IPPROTO_UDP, 0, [9] = 1 };

    use_ipv6();
    ck_assert(answers(IPPROTO_DSTOPTS, l4, sizeof l4));
    expect_error(1, 1, 48);
}
END_TEST

START_TEST(vlan)
{
    compose(0);
    eth_push_vlan(packet, htons(ETH_TYPE_VLAN), htons(7));
    expect_reset(0, 0);
}
END_TEST

/* What nobody may answer. */

/* What only looks like IP. */
START_TEST(not_ip)
{
    struct eth_header *eth;
    struct flow flow;

    compose(0);
    push_mpls(packet, htons(ETH_TYPE_MPLS), htonl(0x1ff));
    flow_extract(packet, &flow);
    ck_assert_ptr_nonnull(dp_packet_l3(packet));
    expect_none();

    compose(0);
    eth = dp_packet_eth(packet);
    eth->eth_type = htons(ETH_TYPE_IPV6);
    expect_none();
    use_ipv6();
    compose(0);
    eth = dp_packet_eth(packet);
    eth->eth_type = htons(ETH_TYPE_IP);
    expect_none();
}
END_TEST

START_TEST(reset)
{
    segment.flags = _i ? TCP_RST | TCP_ACK : TCP_RST;
    compose(0);
    expect_none();
}
END_TEST

START_TEST(not_from_host_to_host)
{
    static const uint32_t odd[] = {
        0, 0xffffffff, 0xe0000001, 0x7f000001, 0xef010203,
    };

    in6_addr_set_mapped_ipv4(_i & 1 ? &tuple.src : &tuple.dst,
                             htonl(odd[_i / 2]));
    compose(0);
    expect_none();
}
END_TEST

START_TEST(not_from_host_to_host6)
{
    static const char *const odd[] = { "::", "::1", "ff02::1" };

    use_ipv6();
    ck_assert(ipv6_parse(odd[_i / 2], _i & 1 ? &tuple.src : &tuple.dst));
    compose(0);
    expect_none();
}
END_TEST

START_TEST(on_the_link)
{
    compose(0);

    struct eth_header *eth = dp_packet_eth(packet);
    switch (_i) {
    case 0:
        eth->eth_dst = eth_addr_broadcast;
        break;
    case 1:
        eth->eth_src.ea[0] |= 1;
        break;
    case 2:
        eth->eth_src = eth_addr_zero;
        break;
    }
    expect_none();
}
END_TEST

START_TEST(fragment)
{
    tuple.nw_proto = IPPROTO_UDP;
    compose(64);

    struct ip_header *ip = dp_packet_l3(packet);
    ip->ip_frag_off = htons(IP_MORE_FRAGMENTS);
    expect_error(3, 10, 20);    /* The first. */
    ip->ip_frag_off = htons(8);
    expect_none();
}
END_TEST

/* Lengths that lie. */
START_TEST(cut_short)
{
    compose(0);

    struct ip_header *ip = dp_packet_l3(packet);
    struct tcp_header *tcp = dp_packet_l4(packet);
    switch (_i) {
    case 0:
        ip->ip_tot_len = htons(1000);
        break;
    case 1:
        ip->ip_tot_len = htons(20 + 19);
        break;
    case 2:
        ip->ip_ihl_ver = IP_IHL_VER(4, 4);
        break;
    case 3:
        ip->ip_tot_len = htons(19);
        break;
    case 4:
        tcp->tcp_ctl = TCP_CTL(TCP_SYN, 15);
        break;
    case 5:
        tcp->tcp_ctl = TCP_CTL(TCP_SYN, 4);
        break;
    case 6:
        dp_packet_set_size(packet, (char *) ip - (char *) dp_packet_data(packet)
                           + 10);
        break;
    case 7:
        dp_packet_set_size(packet, (char *) ip
                           - (char *) dp_packet_data(packet));
        break;
    case 8:
        ip->ip_ihl_ver = IP_IHL_VER(5, 5);
        break;
    }
    expect_none();
}
END_TEST

START_TEST(cut_short6)
{
    use_ipv6();
    compose(0);

    struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(packet);
    if (_i) {
        ip6->ip6_plen = htons(1000);
    } else {
        dp_packet_set_size(packet, (char *) ip6
                           - (char *) dp_packet_data(packet) + 39);
    }
    expect_none();
}
END_TEST

/* Padding is no payload. */
START_TEST(padded)
{
    compose(0);
    dp_packet_put_zeros(packet, 6);
    expect_reset(0, 0);
}
END_TEST

/* The limit. */

static int
count_sent(long long int now)
{
    int n = 0;

    for (; ; n++) {
        dp_packet_delete(answer);
        answer = adp_refusal_make(packet, kind, &limit, now, &limited);
        if (!answer) {
            ck_assert(limited);
            return n;
        }
    }
}

START_TEST(rate)
{
    compose(0);
    ck_assert_int_eq(count_sent(NOW), 200);
    ck_assert_int_eq(count_sent(NOW + 9), 0);
    ck_assert_int_eq(count_sent(NOW + 10), 1);
    ck_assert_int_eq(count_sent(NOW + 1010), 100);
    ck_assert_int_eq(count_sent(NOW + 1009), 0);    /* The clock went back. */
    ck_assert_int_eq(count_sent(NOW + 100000), 200);

    adp_refusal_set_rate(10);
    ck_assert_int_eq(count_sent(NOW + 100500), 5);
    adp_refusal_set_rate(0);
    ck_assert_int_eq(count_sent(NOW + 200000), 0);
    adp_refusal_set_rate(UINT32_MAX);
    ck_assert_int_eq(count_sent(NOW + 200001),
                     ADP_REFUSAL_MAX_RATE / 1000);
}
END_TEST

/* What gets no answer doesn't count. */
START_TEST(silence_is_free)
{
    segment.flags = TCP_RST;
    compose(0);
    for (int i = 0; i < 1000; i++) {
        expect_none();
    }
    segment.flags = TCP_SYN;
    compose(0);
    ck_assert_int_eq(count_sent(NOW), 200);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("refusal");
    TCase *tc = tcase_create("refusal");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, tcp, 0, 2);
    tcase_add_test(tc, udp);
    tcase_add_test(tc, udp6);
    tcase_add_test(tc, icmp);
    tcase_add_test(tc, icmp6);
    tcase_add_test(tc, other_protocols);
    tcase_add_test(tc, extension_header);
    tcase_add_test(tc, vlan);
    tcase_add_test(tc, not_ip);
    tcase_add_loop_test(tc, reset, 0, 2);
    tcase_add_loop_test(tc, not_from_host_to_host, 0, 10);
    tcase_add_loop_test(tc, not_from_host_to_host6, 0, 6);
    tcase_add_loop_test(tc, on_the_link, 0, 3);
    tcase_add_test(tc, fragment);
    tcase_add_loop_test(tc, cut_short, 0, 9);
    tcase_add_loop_test(tc, cut_short6, 0, 2);
    tcase_add_test(tc, padded);
    tcase_add_test(tc, rate);
    tcase_add_test(tc, silence_is_free);
    suite_add_tcase(s, tc);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* What a verdict is summed up as: headers, NAT, a meter, and where the packet
 * goes; and which verdicts need the executor instead. */

#include <config.h>
#undef NDEBUG

#include <check.h>

#include "netlink.h"
#include "summary-world.h"
#include "test-run.h"

/* Summaries as text. */

static void
describe_ethernet(struct ds *s)
{
    const struct adp_cached_verdict_content *c = &sum.content;

    if (c->set_eth) {
        ds_put_format(s, "eth "ETH_ADDR_FMT">"ETH_ADDR_FMT" ",
                      ETH_ADDR_ARGS(c->dl_src), ETH_ADDR_ARGS(c->dl_dst));
        ck_assert(eth_addr_equals(sum.dl_src, c->dl_src));
        ck_assert(eth_addr_equals(sum.dl_dst, c->dl_dst));
    } else {
        ck_assert(eth_addr_is_zero(c->dl_src) && eth_addr_is_zero(c->dl_dst));
        ck_assert(eth_addr_equals(sum.dl_src, flow.dl_src));
        ck_assert(eth_addr_equals(sum.dl_dst, flow.dl_dst));
    }
}

static void
describe_byte(struct ds *s, const char *name, bool set, uint8_t value,
              uint8_t now, uint8_t original)
{
    if (set) {
        ds_put_format(s, "%s %"PRIu8" ", name, value);
        ck_assert_uint_eq(now, value);
    } else {
        ck_assert_uint_eq(value, 0);
        ck_assert_uint_eq(now, original);
    }
}

/* The letters of what differs from the packet as it came. */
static void
describe_nat(struct ds *s)
{
    const struct conntrack_peek_tuple original = own_tuple();
    const struct conntrack_peek_tuple *t = &sum.tuple;

    if (!sum.content.nat) {
        ck_assert_mem_eq(t, &original, sizeof original);
        return;
    }
    ds_put_format(s, "nat %s%s%s%s ",
                  memcmp(&t->src, &original.src, sizeof t->src) ? "s" : "",
                  memcmp(&t->dst, &original.dst, sizeof t->dst) ? "d" : "",
                  t->tp_src != original.tp_src ? "S" : "",
                  t->tp_dst != original.tp_dst ? "D" : "");
}

static void
describe_output(struct ds *s)
{
    const struct adp_cached_verdict_content *c = &sum.content;

    if (c->odp_port != ODPP_NONE) {
        ds_put_format(s, "port %"PRIu32" ", odp_to_u32(c->odp_port));
        ck_assert(!sum.actions && !c->actions_len && !c->tunnel);
    } else if (c->tunnel) {
        ds_put_cstr(s, "tunnel ");
        ck_assert_ptr_eq(c->tunnel, tunnel);
        ck_assert_uint_eq(c->actions_len, 0);
    } else if (c->actions_len) {
        ds_put_cstr(s, "actions ");
        format_odp_actions(s, sum.actions, c->actions_len, NULL);
        ds_put_char(s, ' ');
    } else {
        ck_assert(!sum.actions);
    }
}

/* The summary in words. */
static char *
describe(void)
{
    const struct adp_cached_verdict_content *c = &sum.content;
    struct ds s = DS_EMPTY_INITIALIZER;

    describe_ethernet(&s);
    describe_byte(&s, "tos", c->set_tos, c->tos, sum.tos, flow.nw_tos);
    describe_byte(&s, "ttl", c->set_ttl, c->ttl, sum.ttl, flow.nw_ttl);
    describe_nat(&s);
    if (c->metered) {
        ds_put_format(&s, "meter %"PRIu32" ", c->meter_id);
    } else {
        ck_assert_uint_eq(c->meter_id, 0);
    }
    describe_output(&s);
    ds_chomp(&s, ' ');
    return ds_steal_cstr(&s);
}

/* 'expected' is NULL for what needs the executor. */
static void
expect_summary(const char *actions, const char *expected)
{
    bool ok = sum_up();
    char *got = ok ? describe() : NULL;

    ck_assert_msg(nullable_string_is_equal(got, expected),
                  "\"%s\": \"%s\", expected \"%s\"", actions,
                  got ? got : "executor", expected ? expected : "executor");
    free(got);
}

struct verdict_case {
    const char *actions;
    const char *summary;
};

static void
check_verdicts(const struct verdict_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        begin();
        put(cases[i].actions);
        expect_summary(cases[i].actions, cases[i].summary);
    }
}

#define CHECK_VERDICTS(CASES) check_verdicts(CASES, ARRAY_SIZE(CASES))

/* Headers. */

/* Of packets of all kinds. */
START_TEST(ethernet)
{
    static const struct verdict_case cases[] = {
        { "", "" },
        { "7", "port 7" },
        { "set(eth(src=02:00:00:00:00:03,dst=02:00:00:00:00:04)),7",
          "eth 02:00:00:00:00:03>02:00:00:00:00:04 port 7" },
        { "set(eth(src=02:00:00:00:00:03,dst=02:00:00:00:00:04))",
          "eth 02:00:00:00:00:03>02:00:00:00:00:04" },

        /* One of both, or what they are already. */
        { "set(eth(src=02:11:12:13:14:15,dst=02:00:00:00:00:04)),7",
          "eth 02:11:12:13:14:15>02:00:00:00:00:04 port 7" },
        { "set(eth(src=02:00:00:00:00:03,dst=02:21:22:23:24:25)),7",
          "eth 02:00:00:00:00:03>02:21:22:23:24:25 port 7" },
        { "set(eth(src=02:11:12:13:14:15,dst=02:21:22:23:24:25)),7",
          "port 7" },

        /* In part. */
        { "set(eth(src=02:00:00:00:00:03)),7",
          "eth 02:00:00:00:00:03>02:21:22:23:24:25 port 7" },
        { "set(eth(dst=02:00:00:00:00:04)),7",
          "eth 02:11:12:13:14:15>02:00:00:00:00:04 port 7" },
        { "set(eth(dst=02:21:22:23:24:25)),7", "port 7" },
        { "set(eth(src=0a:00:0c:00:0e:00/ff:00:ff:00:ff:00)),7",
          "eth 0a:11:0c:13:0e:15>02:21:22:23:24:25 port 7" },
        { "set(eth(dst=00:0a:00:0c:00:0e/00:ff:00:ff:00:ff)),7",
          "eth 02:11:12:13:14:15>02:0a:22:0c:24:0e port 7" },
        { "set(eth(src=00:00:00:00:00:0a/00:00:00:00:00:0f,"
          "dst=00:00:00:00:00:0c/00:00:00:00:00:0f)),7",
          "eth 02:11:12:13:14:1a>02:21:22:23:24:2c port 7" },

        /* One after the other. */
        { "set(eth(src=02:00:00:00:00:03,dst=02:00:00:00:00:04)),"
          "set(eth(src=02:00:00:00:00:05,dst=02:21:22:23:24:25)),7",
          "eth 02:00:00:00:00:05>02:21:22:23:24:25 port 7" },
        { "set(eth(src=02:00:00:00:00:03)),set(eth(dst=02:00:00:00:00:04)),"
          "set(eth(src=00:00:00:00:07:00/00:00:00:00:ff:00)),7",
          "eth 02:00:00:00:07:03>02:00:00:00:00:04 port 7" },
        { "set(eth(src=02:00:00:00:00:03)),"
          "set(eth(src=02:11:12:13:14:15)),7", "port 7" },
    };

    CHECK_VERDICTS(cases);
    use_ipv6();
    CHECK_VERDICTS(cases);
    use_arp();
    CHECK_VERDICTS(cases);
}
END_TEST

START_TEST(ipv4)
{
    static const struct verdict_case cases[] = {
        { "set(ipv4(ttl=63)),7", "ttl 63 port 7" },
        { "set(ipv4(ttl=64)),7", "port 7" },
        { "set(ipv4(ttl=63)),set(ipv4(ttl=62)),7", "ttl 62 port 7" },
        { "set(ipv4(ttl=63)),set(ipv4(ttl=64)),7", "port 7" },
        { "set(ipv4(ttl=0x5/0xf)),7", "ttl 69 port 7" },
        { "set(ipv4(ttl=0)),7", "ttl 0 port 7" },
        { "set(ipv4(tos=0x10)),7", "tos 16 port 7" },
        { "set(ipv4(tos=0x20)),7", "port 7" },
        { "set(ipv4(tos=0)),7", "tos 0 port 7" },
        { "set(ipv4(tos=0x3/0x3)),7", "tos 35 port 7" },
        { "set(ipv4(tos=0/0xfc)),set(ipv4(tos=0x1/0x3)),7", "tos 1 port 7" },
        { "set(ipv4(tos=0x10,ttl=63)),7", "tos 16 ttl 63 port 7" },
        { "set(eth(dst=02:00:00:00:00:04)),set(ipv4(tos=0x10)),"
          "set(ipv4(ttl=63)),7",
          "eth 02:11:12:13:14:15>02:00:00:00:00:04 tos 16 ttl 63 port 7" },

        /* Addresses are NAT's to change, also those that they are already. */
        { "set(ipv4(src=10.0.0.9)),7", NULL },
        { "set(ipv4(dst=10.0.0.9)),7", NULL },
        { "set(ipv4(src=10.0.0.1)),7", NULL },
        { "set(ipv4(dst=10.0.0.2)),7", NULL },
        { "set(ipv4(src=0.0.0.0/0.0.0.1)),7", NULL },
        { "set(ipv4(dst=0.0.0.0/0.0.0.1)),7", NULL },
        { "set(ipv4(src=10.0.0.9,ttl=63)),7", NULL },

        /* Not this packet's. */
        { "set(ipv6(hlimit=63)),7", NULL },
        { "set(ipv6(tclass=0x10)),7", NULL },
    };

    CHECK_VERDICTS(cases);
}
END_TEST

START_TEST(ipv6)
{
    static const struct verdict_case cases[] = {
        { "set(ipv6(hlimit=63)),7", "ttl 63 port 7" },
        { "set(ipv6(hlimit=64)),7", "port 7" },
        { "set(ipv6(hlimit=63)),set(ipv6(hlimit=62)),7", "ttl 62 port 7" },
        { "set(ipv6(hlimit=5/15)),7", "ttl 69 port 7" },
        { "set(ipv6(tclass=0x10)),7", "tos 16 port 7" },
        { "set(ipv6(tclass=0x20)),7", "port 7" },
        { "set(ipv6(tclass=0x3/0x3)),7", "tos 35 port 7" },
        { "set(ipv6(tclass=0/0xfc)),set(ipv6(tclass=0x1/0x3)),7",
          "tos 1 port 7" },
        { "set(ipv6(tclass=0x10,hlimit=63)),7", "tos 16 ttl 63 port 7" },

        { "set(ipv6(src=fd00::9)),7", NULL },
        { "set(ipv6(dst=fd00::9)),7", NULL },
        { "set(ipv6(src=fd00::1)),7", NULL },
        { "set(ipv6(dst=fd00::2)),7", NULL },
        { "set(ipv6(src=::/::1)),7", NULL },
        { "set(ipv6(src=::/8000::)),7", NULL },
        { "set(ipv6(dst=::/::1)),7", NULL },
        { "set(ipv6(dst=::/8000::)),7", NULL },
        { "set(ipv6(label=0x12345)),7", NULL },
        { "set(ipv6(label=0/0x1)),7", NULL },

        { "set(ipv4(ttl=63)),7", NULL },
        { "set(ipv4(tos=0x10)),7", NULL },
    };

    use_ipv6();
    CHECK_VERDICTS(cases);
}
END_TEST

/* What summaries have no room for, as a whole and in part. */
START_TEST(other_headers)
{
    static const struct verdict_case cases[] = {
        { "set(tcp(src=1,dst=2)),7", NULL },
        { "set(tcp(src=1)),7", NULL },
        { "set(udp(src=1,dst=2)),7", NULL },
        { "set(udp(dst=2)),7", NULL },
        { "set(sctp(src=1,dst=2)),7", NULL },
        { "set(sctp(src=1)),7", NULL },
        { "set(icmp(type=8,code=0)),7", NULL },
        { "set(icmpv6(type=128,code=0)),7", NULL },
        { "set(arp(sip=10.0.0.9)),7", NULL },
        { "set(arp(sip=10.0.0.9,tip=10.0.0.8,op=2,sha=02:00:00:00:00:03,"
          "tha=02:00:00:00:00:04)),7", NULL },
        { "set(nd(target=fd00::9)),7", NULL },
        { "set(nd(target=fd00::9,sll=02:00:00:00:00:03,"
          "tll=02:00:00:00:00:04)),7", NULL },
        { "set(mpls(label=5,tc=0,ttl=64,bos=1)),7", NULL },
        { "set(tunnel(tun_id=0x5,src=10.0.0.1,dst=10.0.0.2,ttl=64,"
          "flags(key))),7", NULL },
        { "set(ct_mark(0x1)),7", NULL },

        /* Of an executor that leaves conntrack alone. */
        { "7,set(tcp(src=1,dst=2)),8",
          "actions 7,set(tcp(src=1,dst=2)),8" },
        { "set(ipv4(ttl=63)),7,set(tcp(src=1,dst=2)),8",
          "ttl 63 actions 7,set(tcp(src=1,dst=2)),8" },
        { "7,set(eth(src=02:00:00:00:00:03,dst=02:00:00:00:00:04)),8",
          "actions 7,set(eth(src=02:00:00:00:00:03,dst=02:00:00:00:00:04)),8"
        },
    };

    CHECK_VERDICTS(cases);
    use_ipv6();
    for (size_t i = 0; i < ARRAY_SIZE(cases) && !cases[i].summary; i++) {
        check_verdicts(&cases[i], 1);
    }
    use_arp();
    for (size_t i = 0; i < ARRAY_SIZE(cases) && !cases[i].summary; i++) {
        check_verdicts(&cases[i], 1);
    }
}
END_TEST

/* Whole headers of IP: addresses must be those that the packet has there. */

static void
put_whole(uint16_t type, const void *key, size_t size)
{
    size_t ofs = nl_msg_start_nested(&walk.verdict.actions,
                                     OVS_ACTION_ATTR_SET);

    nl_msg_put_unspec(&walk.verdict.actions, type, key, size);
    nl_msg_end_nested(&walk.verdict.actions, ofs);
}

/* Behind 'first'.  With the byte at 'ofs' changed, unless that is SIZE_MAX. */
static void
expect_whole(const char *first, uint16_t type, const void *key_, size_t size,
             size_t ofs, const char *expected)
{
    uint8_t *key = xmemdup(key_, size);

    if (ofs != SIZE_MAX) {
        key[ofs] ^= 0x10;
    }
    begin();
    put(first);
    put_whole(type, key, size);
    put("7");
    expect_summary("a whole header", expected);
    free(key);
}

static struct ovs_key_ipv4
whole_ipv4(void)
{
    return (struct ovs_key_ipv4) {
        .ipv4_src = flow.nw_src, .ipv4_dst = flow.nw_dst,
        .ipv4_proto = IPPROTO_TCP, .ipv4_tos = 0x10, .ipv4_ttl = 63,
    };
}

static void
expect_ipv4(const char *first, const struct ovs_key_ipv4 *key, size_t ofs,
            const char *expected)
{
    expect_whole(first, OVS_KEY_ATTR_IPV4, key, sizeof *key, ofs, expected);
}

static void
expect_ipv6(const char *first, const struct ovs_key_ipv6 *key, size_t ofs,
            const char *expected)
{
    expect_whole(first, OVS_KEY_ATTR_IPV6, key, sizeof *key, ofs, expected);
}

START_TEST(whole_header_of_ipv4)
{
    const size_t src = offsetof(struct ovs_key_ipv4, ipv4_src);
    const size_t dst = offsetof(struct ovs_key_ipv4, ipv4_dst);
    struct ovs_key_ipv4 key = whole_ipv4();

    expect_ipv4("", &key, SIZE_MAX, "tos 16 ttl 63 port 7");
    for (size_t i = 0; i < 4; i++) {
        expect_ipv4("", &key, src + i, NULL);
        expect_ipv4("", &key, dst + i, NULL);
    }
    key.ipv4_tos = flow.nw_tos;
    expect_ipv4("", &key, SIZE_MAX, "ttl 63 port 7");
    key.ipv4_ttl = flow.nw_ttl;
    expect_ipv4("", &key, SIZE_MAX, "port 7");

    /* After NAT. */
    expect_ipv4("ct[s]", &key, SIZE_MAX, NULL);
    expect_ipv4("ct[s]", &key, src + 3, "nat s port 7");
    expect_ipv4("ct[d]", &key, SIZE_MAX, NULL);
    expect_ipv4("ct[d]", &key, dst + 3, "nat d port 7");
}
END_TEST

START_TEST(whole_header_of_ipv6)
{
    const size_t src = offsetof(struct ovs_key_ipv6, ipv6_src);
    const size_t dst = offsetof(struct ovs_key_ipv6, ipv6_dst);
    const size_t label = offsetof(struct ovs_key_ipv6, ipv6_label);
    struct ovs_key_ipv6 key = {
        .ipv6_proto = IPPROTO_TCP, .ipv6_tclass = 0x10, .ipv6_hlimit = 63,
    };

    use_ipv6();
    memcpy(&key.ipv6_src, &flow.ipv6_src, sizeof flow.ipv6_src);
    memcpy(&key.ipv6_dst, &flow.ipv6_dst, sizeof flow.ipv6_dst);
    key.ipv6_label = flow.ipv6_label;

    expect_ipv6("", &key, SIZE_MAX, "tos 16 ttl 63 port 7");
    for (size_t i = 0; i < 16; i++) {
        expect_ipv6("", &key, src + i, NULL);
        expect_ipv6("", &key, dst + i, NULL);
    }
    for (size_t i = 0; i < 4; i++) {
        expect_ipv6("", &key, label + i, NULL);
    }
    key.ipv6_tclass = flow.nw_tos;
    expect_ipv6("", &key, SIZE_MAX, "ttl 63 port 7");
    key.ipv6_hlimit = flow.nw_ttl;
    expect_ipv6("", &key, SIZE_MAX, "port 7");

    expect_ipv6("ct[s]", &key, SIZE_MAX, NULL);
    expect_ipv6("ct[s]", &key, src + 15, "nat s port 7");
    expect_ipv6("ct[d]", &key, SIZE_MAX, NULL);
    expect_ipv6("ct[d]", &key, dst + 15, "nat d port 7");
}
END_TEST

/* A packet without such a header has no address to differ in. */
START_TEST(whole_header_of_others)
{
    struct ovs_key_ipv4 ipv4 = whole_ipv4();
    struct ovs_key_ipv6 ipv6;

    use_ipv6();
    memcpy(&ipv4.ipv4_src, &flow.ipv6_src, sizeof ipv4.ipv4_src);
    memcpy(&ipv4.ipv4_dst, &flow.ipv6_dst, sizeof ipv4.ipv4_dst);
    expect_ipv4("", &ipv4, SIZE_MAX, NULL);

    use_ipv4();
    memset(&ipv6, 0, sizeof ipv6);
    memcpy(&ipv6.ipv6_src, &flow.nw_src, sizeof flow.nw_src);
    memcpy(&ipv6.ipv6_dst, &flow.nw_dst, sizeof flow.nw_dst);
    expect_ipv6("", &ipv6, SIZE_MAX, NULL);

    use_arp();
    memset(&ipv4, 0, sizeof ipv4);
    memset(&ipv6, 0, sizeof ipv6);
    expect_ipv4("", &ipv4, SIZE_MAX, NULL);
    expect_ipv6("", &ipv6, SIZE_MAX, NULL);
}
END_TEST

/* ct() and NAT. */

static const struct verdict_case ct_cases[] = {
    { "ct[],7", "port 7" },
    { "ct(commit,zone=5)[],7", "port 7" },
    { "ct[]", "" },
    { "ct_clear,7", "port 7" },
    { "ct_clear,ct[],ct_clear,ct[],7", "port 7" },
    { "ct[s],7", "nat s port 7" },
    { "ct[d],7", "nat d port 7" },
    { "ct[d],ct[s],7", "nat sd port 7" },
    { "ct[s],ct[s],7", "port 7" },
    { "ct[sd],ct[s],7", "nat d port 7" },
    { "ct[],ct[s],ct[],ct[d],ct[],ct[],7", "nat sd port 7" },
    { "ct[d],set(eth(dst=02:00:00:00:00:04)),ct_clear,ct[],7",
      "eth 02:11:12:13:14:15>02:00:00:00:00:04 nat d port 7" },
    { "ct[s],7,8", "nat s actions 7,8" },

    /* Those that the actions don't have don't matter. */
    { "[s]7", "port 7" },
    { "ct[][s],7", "port 7" },

    /* Not noted. */
    { "ct,7", NULL },
    { "ct[s],ct,7", NULL },
    { "ct[],ct_clear,ct[],ct,7", NULL },

    /* Behind an output. */
    { "7,ct[],8", NULL },
    { "ct[],7,ct[],8", NULL },
    { "7,ct_clear,8", NULL },
};

START_TEST(ct)
{
    CHECK_VERDICTS(ct_cases);
    use_ipv6();
    CHECK_VERDICTS(ct_cases);
    use_icmp();
    CHECK_VERDICTS(ct_cases);
}
END_TEST

START_TEST(ports)
{
    static const struct verdict_case cases[] = {
        { "ct[S],7", "nat S port 7" },
        { "ct[D],7", "nat D port 7" },
        { "ct[sdSD],7", "nat sdSD port 7" },
        { "ct[dD],ct[DS],7", "nat dS port 7" },
        { "ct[SD],ct[DS],7", "port 7" },
    };

    CHECK_VERDICTS(cases);
    use_ipv6();
    CHECK_VERDICTS(cases);
}
END_TEST

/* Meters, marks and queues. */

START_TEST(meter)
{
    static const struct verdict_case cases[] = {
        { "meter(5),7", "meter 5 port 7" },
        { "meter(5)", "meter 5" },
        { "ct[d],meter(5),set(ipv4(ttl=63)),7",
          "ttl 63 nat d meter 5 port 7" },
        { "meter(5),ct_clear,7,8", "meter 5 actions 7,8" },

        /* A second one, or one behind an output, is the executor's. */
        { "meter(5),meter(6),7", "meter 5 actions meter(6),7" },
        { "meter(5),set(ipv4(ttl=63)),meter(6),7",
          "ttl 63 meter 5 actions meter(6),7" },
        { "7,meter(5),8", "actions 7,meter(5),8" },
        { "meter(5),meter(5)", "meter 5 actions meter(5)" },

        /* Not all packets get to what is behind it. */
        { "meter(5),ct[],7", NULL },
        { "ct[],meter(5),ct[],7", NULL },
        { "meter(5),meter(6),ct[],7", NULL },
    };

    CHECK_VERDICTS(cases);
}
END_TEST

/* They are set when all else is done. */
START_TEST(metadata)
{
    static const struct verdict_case cases[] = {
        { "set(skb_mark(0x1)),7", "actions set(skb_mark(0x1)),7" },
        { "set(skb_mark(0x1/0xf)),7", "actions set(skb_mark(0x1/0xf)),7" },
        { "set(skb_priority(0x1)),7", "actions set(skb_priority(0x1)),7" },
        { "set(skb_priority(0x1/0xf)),7,8",
          "actions set(skb_priority(0x1/0xf)),7,8" },
        { "set(skb_mark(0x1)),ct[d],set(ipv4(ttl=63)),set(skb_priority(0x2)),"
          "meter(5),set(skb_mark(0x3)),7",
          "ttl 63 nat d meter 5 actions set(skb_mark(0x1)),"
          "set(skb_priority(0x2)),set(skb_mark(0x3)),7" },
        { "set(skb_mark(0x1)),meter(5),meter(6),7",
          "meter 5 actions set(skb_mark(0x1)),meter(6),7" },

        /* Behind an output they stay there. */
        { "7,set(skb_mark(0x1)),8", "actions 7,set(skb_mark(0x1)),8" },
        { "set(skb_mark(0x1)),7,set(skb_mark(0x2)),8",
          "actions set(skb_mark(0x1)),7,set(skb_mark(0x2)),8" },

        /* Of a packet that goes nowhere nobody gets to know. */
        { "set(skb_mark(0x1))", "" },
        { "set(skb_mark(0x1)),ct[s]", "nat s" },

        { "set(skb_mark(0x1)),7,ct[],8", NULL },
        { "set(skb_mark(0x1)),set(tcp(src=1)),7", NULL },
        { "set(skb_mark(0x1)),ct,7", NULL },
    };

    CHECK_VERDICTS(cases);
}
END_TEST

/* There is room for so much, and for no more. */
START_TEST(much_metadata)
{
    static const struct {
        size_t n_marks, n_masked, n_outputs; /* 12, 16 and 8 bytes each. */
        bool fits;
    } cases[] = {
        { 20, 0, 2, true },
        { 20, 0, 3, false },
        { 21, 0, 0, true },
        { 21, 0, 1, false },
        { 22, 0, 0, false },
        { 0, 16, 0, true },
        { 0, 16, 1, false },
        { 0, 17, 0, false },
        { 1, 15, 0, true },
        { 1, 15, 1, false },
        { 0, 1, 30, true },
        { 0, 1, 31, false },

        /* Without these all the same. */
        { 0, 0, 40, true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ofpbuf *actions = &walk.verdict.actions;

        begin();
        for (size_t j = 0; j < cases[i].n_marks; j++) {
            put("set(skb_mark(0x1))");
        }
        for (size_t j = 0; j < cases[i].n_masked; j++) {
            put("set(skb_mark(0x2/0x3))");
        }
        for (size_t j = 0; j < cases[i].n_outputs; j++) {
            put("7");
        }
        ck_assert_uint_eq(actions->size, cases[i].n_marks * 12
                          + cases[i].n_masked * 16 + cases[i].n_outputs * 8);
        ck_assert_int_eq(sum_up(), cases[i].fits);
        if (!cases[i].fits) {
            continue;
        }
        if (cases[i].n_outputs) {
            ck_assert_uint_eq(sum.content.actions_len, actions->size);
            ck_assert_mem_eq(sum.actions, actions->data, actions->size);
        } else {
            ck_assert_uint_eq(sum.content.actions_len, 0);
        }
    }
}
END_TEST

/* Where the packet goes. */

START_TEST(outputs)
{
    static const struct verdict_case cases[] = {
        { "7,8", "actions 7,8" },
        { "7,7", "actions 7,7" },
        { "trunc(100),7", "actions trunc(100),7" },
        { "trunc(100)", "actions trunc(100)" },
        { "push_vlan(vid=5,pcp=3),7", "actions push_vlan(vid=5,pcp=3),7" },
        { "pop_vlan,7", "actions pop_vlan,7" },
        { "set(ipv4(ttl=63)),push_vlan(vid=5,pcp=3),7,pop_vlan,8",
          "ttl 63 actions push_vlan(vid=5,pcp=3),7,pop_vlan,8" },
        { "push_vlan(vid=5,pcp=3),set(ipv4(ttl=63)),7",
          "actions push_vlan(vid=5,pcp=3),set(ipv4(ttl=63)),7" },
        { "clone(7),8", "actions clone(7),8" },
        { "clone(7)", "actions clone(7)" },
        { "clone(set(ipv4(ttl=63)),clone(7),8),9",
          "actions clone(set(ipv4(ttl=63)),clone(7),8),9" },
        { "drop", "actions drop" },
    };

    CHECK_VERDICTS(cases);
}
END_TEST

/* What has to do with conntrack or upcalls, at the beginning of what is left,
 * at its end and in between, and in clones. */
START_TEST(what_is_not_left)
{
    static const char *const actions[] = {
        "ct",
        "ct(commit)",
        "ct_clear",
        "recirc(1)",
        "sample(sample=50.0%,actions(7))",
        "check_pkt_len(size=100,gt(7),le(8))",
        "userspace(pid=1)",
    };
    static const char *const formats[] = {
        "7,%s",
        "7,%s,8",
        "7,8,%s",
        "push_vlan(vid=5,pcp=3),%s,7",
        "clone(%s),7",
        "clone(7,%s),7",
        "7,clone(7,%s,8)",
        "clone(7),clone(8),clone(clone(%s),7),8",
        "set(skb_mark(0x1)),7,%s,8",
        "set(skb_mark(0x1)),clone(%s),8",
        "meter(5),7,%s",
    };

    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(formats); j++) {
            char *text = xasprintf(formats[j], actions[i]);

            begin();
            put("[][]");
            put(text);
            expect_summary(text, NULL);
            free(text);
        }
    }

    /* Alone. */
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        bool is_ct = !strncmp(actions[i], "ct", 2);

        begin();
        put("[][]");
        put(actions[i]);
        expect_summary(actions[i], is_ct ? "" : NULL);
    }
}
END_TEST

/* Whoever is sent into a tunnel goes by the tunnel's translation, if that is
 * all that is done to it. */
START_TEST(tunnels)
{
    static int other_tunnel;
    static const struct {
        size_t n;
        const char *translation;        /* NULL: to be found again. */
        const char *actions, *summary;
    } cases[] = {
        { 1, "trunc(100),7", "trunc(100),7", "tunnel" },
        { 1, "trunc(100),7", "set(ipv4(ttl=63)),meter(5),trunc(100),7",
          "ttl 63 meter 5 tunnel" },
        { 1, "clone(7),8", "clone(7),8", "tunnel" },

        /* There are other actions, or it has been renewed. */
        { 1, "trunc(100),7", "trunc(100),7,8", NULL },
        { 1, "trunc(100),7", "8,trunc(100),7", NULL },
        { 1, "trunc(100),7", "clone(trunc(100),7),8", NULL },
        { 1, "trunc(100),7", "trunc(100)", NULL },
        { 1, "trunc(100),7", "trunc(100),8", NULL },
        { 1, "trunc(100),7", "trunc(101),7", NULL },
        { 1, "trunc(100)", "trunc(100),7", NULL },
        { 1, "trunc(100),7", "set(skb_mark(0x1)),trunc(100),7", NULL },
        { 1, "set(skb_mark(0x1)),7", "set(skb_mark(0x1)),7", "tunnel" },
        { 1, "", "trunc(100),7", NULL },
        { 1, NULL, "trunc(100),7", NULL },

        /* No actions that could be compared. */
        { 1, "trunc(100),7", "7", NULL },
        { 1, "7", "7", NULL },
        { 1, "7", "", NULL },
        { 1, "", "", NULL },
        { 1, NULL, "", NULL },

        { 0, "trunc(100),7", "trunc(100),7", "actions trunc(100),7" },
        { 0, NULL, "trunc(100),7", "actions trunc(100),7" },
        { 2, "trunc(100),7", "trunc(100),7", NULL },
        { 2, NULL, "7", NULL },
        { ADP_WALK_MAX_TUNNELS, "trunc(100),7", "trunc(100),7", NULL },
    };

    walk.tunnels[0] = tunnel;
    walk.tunnels[1] = (struct adp_tunnel *) &other_tunnel;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct adp_tunnel_actions tnl_actions;
        struct ofpbuf buf;

        ofpbuf_init(&buf, 64);
        if (cases[i].translation) {
            parse_actions(&buf, cases[i].translation);
        }
        tnl_actions = (struct adp_tunnel_actions) {
            .data = buf.data, .size = buf.size, .odp_port = ODPP_NONE,
        };
        translation = cases[i].translation ? &tnl_actions : NULL;
        walk.n_tunnels = cases[i].n;
        begin();
        put(cases[i].actions);
        expect_summary(cases[i].actions, cases[i].summary);
        ofpbuf_uninit(&buf);
    }
    translation = NULL;
}
END_TEST

/* What is taken over from the walk. */

/* The content of "7" with what the test changes in it. */
static struct adp_cached_verdict_content plain;

static void
setup_plain(void)
{
    setup();
    put("7");
    memset(&plain, 0, sizeof plain);
    plain.odp_port = u32_to_odp(7);
    flow.in_port.ofp_port = u16_to_ofp(9);
}

static void
expect_plain(void)
{
    ck_assert(sum_up());
    ck_assert_mem_eq(&sum.content, &plain, sizeof plain);
}

START_TEST(flags)
{
    struct adp_verdict *v = &walk.verdict;

    expect_plain();

    v->dropped = plain.dropped = true;
    expect_plain();
    v->dropped = plain.dropped = false;

    v->missed = plain.missed = true;
    expect_plain();
    v->missed = plain.missed = false;

    walk.to_ip_port = plain.to_ip_port = true;
    expect_plain();
    walk.to_ip_port = plain.to_ip_port = false;

    walk.from_tunnel = true;
    plain.ingress_tunnel = u16_to_ofp(9);
    expect_plain();
    walk.from_tunnel = false;
    plain.ingress_tunnel = 0;

    v->answer = plain.answer = ADP_ANSWER_PROHIBITED;
    expect_plain();

    /* Nothing of that makes a difference. */
    v->answer = plain.answer = ADP_ANSWER_NONE;
    v->swapped = v->answers_late = true;
    walk.has_ct_timeout = walk.concerns_tunnel = walk.tunnel_lost = true;
    v->hit_learned = true;
    v->n_learned = walk.n_lost = 1;
    walk.n_ports = ADP_WALK_MAX_PORTS + 1;
    walk.ct.peek.n_conns = ADP_CACHED_VERDICT_MAX_CONNS + 1;
    expect_plain();
}
END_TEST

START_TEST(log_items)
{
    for (size_t i = 0; i < ADP_MAX_LOG_ITEMS; i++) {
        walk.verdict.logs[i] = (struct adp_log_item) {
            .rule = 10 + i, .priority = 20 + i, .table_id = 30 + i,
            .disposition = ADP_LOG_DROP, .ingress = i & 1, .n_cts = i,
        };
    }
    for (size_t n = 0; n <= ADP_MAX_LOG_ITEMS; n++) {
        walk.verdict.n_logs = n;
        plain.n_logs = n;
        if (n) {
            plain.logs[n - 1] = walk.verdict.logs[n - 1];
        }
        expect_plain();
    }
}
END_TEST

/* Of a walk that ended in a table without a flow for the packet. */
START_TEST(hits)
{
    enum adp_hit_kind kinds[] = {
        ADP_HIT_RULE, ADP_HIT_MISS, ADP_HIT_BUCKET, ADP_HIT_GROUP,
    };
    const size_t max = UINT16_MAX;

    walk.verdict.hits = xcalloc(max + 1, sizeof *walk.verdict.hits);
    walk.verdict.hits[0].kind = ADP_HIT_MISS;
    expect_plain();
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        walk.verdict.hits[2].kind = kinds[i];
        walk.verdict.n_hits = plain.n_hits = 3;
        plain.ends_in_miss = kinds[i] == ADP_HIT_MISS;
        expect_plain();
    }

    walk.verdict.n_hits = plain.n_hits = max;
    plain.ends_in_miss = false;
    expect_plain();
    walk.verdict.hits[max - 1].kind = ADP_HIT_MISS;
    plain.ends_in_miss = true;
    expect_plain();
    walk.verdict.n_hits++;
    ck_assert(!sum_up());
    free(walk.verdict.hits);
}
END_TEST

START_TEST(idle_passes)
{
    for (size_t n = 0; n <= UINT8_MAX; n += UINT8_MAX / 5) {
        walk.verdict.n_idle_passes = n;
        plain.n_idle_passes = n;
        expect_plain();
    }
    ck_assert_uint_eq(walk.verdict.n_idle_passes, UINT8_MAX);
    walk.verdict.n_idle_passes++;
    ck_assert(!sum_up());
}
END_TEST

START_TEST(not_summed_up)
{
    struct adp_verdict *v = &walk.verdict;

    for (int punt = ADP_PUNT_NONE + 1; punt < ADP_N_PUNTS; punt++) {
        v->punt = punt;
        ck_assert(!sum_up());
    }
    v->punt = ADP_PUNT_NONE;
    v->held = true;
    ck_assert(!sum_up());
    v->held = false;
    v->read = true;
    ck_assert(!sum_up());
    v->read = false;
    for (v->n_breaks = 1; v->n_breaks <= ADP_MAX_BREAKS; v->n_breaks++) {
        ck_assert(!sum_up());
    }
    v->n_breaks = 0;
    expect_plain();
}
END_TEST

static void
add_verdicts(Suite *s)
{
    TCase *tc = tcase_create("verdicts");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, ethernet);
    tcase_add_test(tc, ipv4);
    tcase_add_test(tc, ipv6);
    tcase_add_test(tc, other_headers);
    tcase_add_test(tc, whole_header_of_ipv4);
    tcase_add_test(tc, whole_header_of_ipv6);
    tcase_add_test(tc, whole_header_of_others);
    tcase_add_test(tc, ct);
    tcase_add_test(tc, ports);
    tcase_add_test(tc, meter);
    tcase_add_test(tc, metadata);
    tcase_add_test(tc, much_metadata);
    tcase_add_test(tc, outputs);
    tcase_add_test(tc, what_is_not_left);
    tcase_add_test(tc, tunnels);
    suite_add_tcase(s, tc);
}

static void
add_walks(Suite *s)
{
    TCase *tc = tcase_create("walks");

    tcase_add_checked_fixture(tc, setup_plain, teardown);
    tcase_add_test(tc, flags);
    tcase_add_test(tc, log_items);
    tcase_add_test(tc, hits);
    tcase_add_test(tc, idle_passes);
    tcase_add_test(tc, not_summed_up);
    suite_add_tcase(s, tc);
}

int
main(void)
{
    Suite *s = suite_create("summary");

    add_verdicts(s);
    add_walks(s);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The shadow's comparison: what two ways to handle a packet have in common,
 * however they say it, and each difference alone.  What upstream translates
 * is the test's. */

#include <config.h>
#include <check.h>
#include <netinet/in.h>

#include "adp-sample.h"
#include "adp-shadow-compare.h"
#include "adp-shadow-execute.h"
#include "adp-shadow-translate.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "odp-execute.h"
#include "odp-util.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "talk.h"
#include "test-run.h"
#include "util.h"

static struct adp_sample sample;
static struct adp_shadow_translation upstream;

/* Appends what 'text' says, in the syntax of ovs-dpctl. */
static void
parse_actions(const char *text, struct ofpbuf *actions)
{
    ofpbuf_init(actions, 0);
    ck_assert_msg(!odp_actions_from_string(text, NULL, actions), "%s", text);
}

static void
set_actions(struct adp_sample_actions *dst, const char *text)
{
    struct ofpbuf actions;

    parse_actions(text, &actions);
    ck_assert_uint_le(actions.size, sizeof dst->data);
    dst->size = actions.size;
    memcpy(dst->data, actions.data, actions.size);
    ofpbuf_uninit(&actions);
}

static void
set_packet(struct dp_packet *p)
{
    flow_extract(p, &sample.flow);
    sample.length = dp_packet_size(p);
    sample.packet.size = MIN(sample.length, sizeof sample.packet.data);
    memcpy(sample.packet.data, dp_packet_data(p), sample.packet.size);
    sample.l2_5_ofs = p->l2_5_ofs;
    sample.l3_ofs = p->l3_ofs;
    sample.l4_ofs = p->l4_ofs;
    dp_packet_delete(p);
}

static struct dp_packet *
compose(const char *src, const char *dst, uint8_t nw_proto, size_t payload)
{
    struct tuple tuple = { .nw_proto = nw_proto, .tp_src = 40000,
                           .tp_dst = 80, .ipv6 = strchr(src, ':') };
    struct segment segment = { .flags = TCP_SYN, .wscale = -1 };

    if (tuple.ipv6) {
        ck_assert(ipv6_parse(src, &tuple.src) && ipv6_parse(dst, &tuple.dst));
    } else {
        ovs_be32 a, b;

        ck_assert(ip_parse(src, &a) && ip_parse(dst, &b));
        in6_addr_set_mapped_ipv4(&tuple.src, a);
        in6_addr_set_mapped_ipv4(&tuple.dst, b);
    }
    return talk_compose(&tuple, &segment, payload);
}

/* What conntrack says next: the packet goes to 'dst'. */
static void
add_answer(const char *dst, uint16_t tp_dst, uint8_t ct_state)
{
    struct adp_sample_answer *a = &sample.answers[sample.n_answers++];
    ovs_be32 ip;

    memset(a, 0, sizeof *a);
    a->ct_state = ct_state;
    a->ct_zone = 5;
    if (sample.flow.dl_type == htons(ETH_TYPE_IPV6)) {
        a->src = sample.flow.ipv6_src;
        ck_assert(ipv6_parse(dst, &a->dst));
    } else {
        in6_addr_set_mapped_ipv4(&a->src, sample.flow.nw_src);
        ck_assert(ip_parse(dst, &ip));
        in6_addr_set_mapped_ipv4(&a->dst, ip);
    }
    a->tp_src = sample.flow.tp_src;
    a->tp_dst = htons(tp_dst);
}

/* The effects of actions on the sampled packet. */
static enum adp_shadow_unfit
execute(const char *text, struct svec *effects)
{
    struct adp_shadow_run run = { .sample = &sample, .effects = effects };
    struct dp_packet *packet = adp_shadow_packet(&sample, &sample.packet);
    struct ofpbuf actions;

    parse_actions(text, &actions);
    adp_shadow_execute(&run, packet, actions.data, actions.size);
    dp_packet_delete(packet);
    ofpbuf_uninit(&actions);
    return run.unfit;
}

static void
translate(const char *text)
{
    svec_clear(&upstream.effects);
    ck_assert_int_eq(execute(text, &upstream.effects), ADP_SHADOW_FIT);
}

static void
add_hit(struct adp_sample_hits *hits, uint8_t table_id, uint32_t id)
{
    hits->hits[hits->n++] = (struct adp_sample_hit) {
        .table_id = table_id, .id = id, .priority = 100,
        .cookie = htonll(hits->n),
    };
}

static void
set_hits(struct adp_sample_hits *hits, uint8_t first)
{
    hits->n = 0;
    for (int i = 0; i < 3; i++) {
        add_hit(hits, first + i, 17 * i);
    }
}

#define TO_ENDPOINT "ct(zone=5,nat),set(ipv4(ttl=63)),"                     \
    "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8080)),3"

/* A packet to a Service, decided on and done as upstream would. */
static void
setup(void)
{
    memset(&sample, 0, sizeof sample);
    memset(&upstream, 0, sizeof upstream);
    set_packet(compose("10.0.0.1", "10.0.0.2", IPPROTO_TCP, 10));
    add_answer("10.0.0.2", 80, CS_TRACKED | CS_NEW);
    add_answer("10.0.0.9", 8080, CS_TRACKED | CS_NEW);
    sample.way = ADP_SAMPLE_WALK;
    set_actions(&sample.actions, TO_ENDPOINT);
    set_actions(&sample.done.actions, TO_ENDPOINT);
    set_hits(&sample.hits, 0);
    set_hits(&sample.done.hits, 0);
    set_hits(&upstream.hits, 0);
    translate(TO_ENDPOINT);
}

static void
teardown(void)
{
    adp_shadow_translation_uninit(&upstream);
}

void
adp_shadow_translation_uninit(struct adp_shadow_translation *t)
{
    svec_destroy(&t->effects);
    svec_destroy(&t->passes);
}

/* Which parts differ, as bits. */
static unsigned int
differing(void)
{
    struct adp_shadow_comparison cmp;
    unsigned int parts = 0;

    ck_assert_int_eq(adp_shadow_sample_unfit(&sample), ADP_SHADOW_FIT);
    ck_assert_int_eq(adp_shadow_compare(&sample, &upstream, &cmp),
                     ADP_SHADOW_FIT);
    for (int i = 0; i < ADP_SHADOW_N_PARTS; i++) {
        parts |= cmp.differs[i] << i;
    }
    ck_assert_int_eq(cmp.any_differs, parts != 0);
    adp_shadow_comparison_uninit(&cmp);
    return parts;
}

#define PART(NAME) (1u << ADP_SHADOW_PART_##NAME)

START_TEST(equal)
{
    ck_assert_uint_eq(differing(), 0);
    /* The order of actions and hits, and cookies, which an equal flow that
     * takes another's place may change, don't matter. */
    translate("set(ipv4(ttl=63)),ct(zone=5,nat),"
              "ct(commit,zone=5,nat(dst=10.0.0.9:8080),mark=0x1/0xff),3");
    upstream.hits.n = 0;
    add_hit(&upstream.hits, 2, 34);
    add_hit(&upstream.hits, 1, 17);
    add_hit(&upstream.hits, 0, 0);
    ck_assert_uint_eq(differing(), 0);
}
END_TEST

/* Upstream would have done these instead. */
static const char *const others[] = {
    "ct(zone=5,nat),set(ipv4(ttl=62)),"
        "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8080)),3",
    "ct(zone=5,nat),set(ipv4(ttl=63)),"
        "ct(commit,zone=5,mark=0x2/0xff,nat(dst=10.0.0.9:8080)),3",
    "ct(zone=5,nat),set(ipv4(ttl=63)),"
        "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8081)),3",
    "ct(zone=6,nat),set(ipv4(ttl=63)),"
        "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8080)),3",
    "ct(zone=5,nat),set(ipv4(ttl=63)),3",
    "ct(zone=5,nat),set(ipv4(ttl=63)),"
        "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8080)),4",
    "ct(zone=5,nat),set(ipv4(ttl=63)),"
        "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8080)),3,4",
    "ct(zone=5,nat),set(ipv4(ttl=63)),"
        "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8080))",
    "ct(zone=5,nat),set(ipv4(ttl=63)),meter(1),"
        "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8080)),3",
    "set(eth(dst=0a:00:00:00:00:09)),ct(zone=5,nat),set(ipv4(ttl=63)),"
        "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8080)),3",
    "ct(zone=5,nat),set(ipv4(ttl=63)),"
        "ct(commit,zone=5,mark=0x1/0xff,nat(dst=10.0.0.9:8080)),"
        "push_vlan(vid=7,pcp=0),3",
    "drop",
};

START_TEST(different_effects)
{
    translate(others[_i]);
    ck_assert_uint_eq(differing(), PART(DECIDED) | PART(DONE));
}
END_TEST

/* As a session or a replay would, without the ct()s. */
static void
do_shortly(const char *actions)
{
    struct svec effects;
    struct adp_shadow_run run = { .sample = &sample, .effects = &effects };
    struct dp_packet *packet = adp_shadow_packet(&sample, &sample.packet);
    struct ofpbuf changes;

    svec_init(&effects);
    parse_actions(sample.n_answers > 1
                  ? "ct(zone=5,nat),ct(commit,zone=5),set(ipv4(ttl=63))"
                  : "ct,set(ipv4(ttl=63))", &changes);
    adp_shadow_execute(&run, packet, changes.data, changes.size);
    sample.way = ADP_SAMPLE_SESSION;
    sample.done.rewritten = true;
    sample.done.packet.size = dp_packet_size(packet);
    memcpy(sample.done.packet.data, dp_packet_data(packet),
           dp_packet_size(packet));
    set_actions(&sample.done.actions, actions);
    svec_destroy(&effects);
    ofpbuf_uninit(&changes);
    dp_packet_delete(packet);
}

START_TEST(short_way)
{
    do_shortly("3");
    ck_assert_uint_eq(differing(), 0);
    do_shortly("4");
    ck_assert_uint_eq(differing(), PART(DONE));
}
END_TEST

/* A ct() without arguments is written without parentheses. */
START_TEST(short_way_plain_ct)
{
    sample.n_answers = 1;
    do_shortly("3");
    translate("ct,set(ipv4(ttl=63)),3");
    set_actions(&sample.actions, "ct,set(ipv4(ttl=63)),3");
    ck_assert_uint_eq(differing(), 0);
}
END_TEST

/* Each byte counts. */
START_TEST(short_way_bytes)
{
    do_shortly("3");
    for (size_t i = 0; i < sample.done.packet.size; i++) {
        sample.done.packet.data[i] ^= 1;
        ck_assert_uint_eq(differing(), PART(DONE));
        sample.done.packet.data[i] ^= 1;
    }
    ck_assert_uint_eq(differing(), 0);
}
END_TEST

START_TEST(short_way_metered)
{
    do_shortly("3");
    sample.done.metered = true;
    sample.done.meter_id = 7;
    ck_assert_uint_eq(differing(), PART(DONE));
    translate("ct(zone=5,nat),ct(commit,zone=5,mark=0x1/0xff,"
              "nat(dst=10.0.0.9:8080)),set(ipv4(ttl=63)),meter(7),3");
    ck_assert_uint_eq(differing(), PART(DECIDED));
}
END_TEST

START_TEST(connections)
{
    do_shortly("3");
    sample.done.ct_differs = true;
    ck_assert_uint_eq(differing(), 0);          /* Nobody knows. */
    sample.done.ct_known = true;
    ck_assert_uint_eq(differing(), PART(CONNECTIONS));
}
END_TEST

START_TEST(flows)
{
    const unsigned int both = PART(DECIDED_FLOWS) | PART(DONE_FLOWS);
    struct adp_sample_hit *hit = &upstream.hits.hits[1];

    hit->id++;
    hit->priority++;
    ck_assert_uint_eq(differing(), both);
    hit->id--;
    ck_assert_uint_eq(differing(), both);
    hit->priority--;
    hit->table_id++;
    ck_assert_uint_eq(differing(), both);
    hit->table_id--;
    ck_assert_uint_eq(differing(), 0);
    add_hit(&upstream.hits, 9, 1);
    ck_assert_uint_eq(differing(), both);
    add_hit(&sample.hits, 9, 1);
    ck_assert_uint_eq(differing(), PART(DONE_FLOWS));
    add_hit(&sample.done.hits, 9, 1);
    ck_assert_uint_eq(differing(), 0);
    sample.done.hits.hits[3].is_bucket = true;
    ck_assert_uint_eq(differing(), PART(DONE_FLOWS));
}
END_TEST

/* Either of two flows of one priority may be hit.  What was done must be what
 * was decided even then. */
START_TEST(ambiguous)
{
    struct adp_shadow_comparison cmp;

    do_shortly("3");
    upstream.hits.hits[1].id++;
    translate("4");
    ck_assert_int_eq(adp_shadow_compare(&sample, &upstream, &cmp),
                     ADP_SHADOW_AMBIGUOUS);
    adp_shadow_comparison_uninit(&cmp);

    /* Not if they were of one way before. */
    upstream.hits.hits[0].id++;
    upstream.hits.hits[0].priority++;
    ck_assert_uint_eq(differing(), PART(DECIDED) | PART(DECIDED_FLOWS)
                      | PART(DONE) | PART(DONE_FLOWS));
    set_hits(&upstream.hits, 0);
    upstream.hits.hits[1].id++;

    sample.done.packet.data[0] ^= 1;
    ck_assert_uint_eq(differing(), PART(DONE));
    sample.done.packet.data[0] ^= 1;
    sample.done.hits.hits[2].id++;
    ck_assert_uint_eq(differing(), PART(DONE_FLOWS));
}
END_TEST

START_TEST(learned)
{
    upstream.n_learned = 1;
    ck_assert_uint_eq(differing(), PART(LEARNED));
    sample.n_learned = 1;
    ck_assert_uint_eq(differing(), 0);
}
END_TEST

#define CONTROLLER                                                          \
    "userspace(pid=0,controller(reason=1,dont_send=0,continuation=0,"       \
    "recirc_id=%d,rule_cookie=0x5,controller_id=0,max_len=65535))"

static void
set_controllers(const char *before, int recirc_id, const char *behind,
                void (*set)(const char *))
{
    char *controller = xasprintf(CONTROLLER, recirc_id);
    char *text = xasprintf("%s%s%s", before, controller, behind);

    set(text);
    free(text);
    free(controller);
}

static void
decide_and_do(const char *text)
{
    set_actions(&sample.actions, text);
    set_actions(&sample.done.actions, text);
}

/* A controller hears the same, whatever number it is given to go on with; what
 * is done in its place it doesn't. */
START_TEST(controllers)
{
    const unsigned int both = PART(DECIDED) | PART(DONE);

    set_controllers("", 0, ",3", decide_and_do);
    set_controllers("", 99, ",3", translate);
    ck_assert_uint_eq(differing(), 0);
    set_controllers("set(ipv4(ttl=63)),", 99, ",3", translate);
    ck_assert_uint_eq(differing(), both);

    decide_and_do("3");
    set_controllers("", 99, ",3", translate);
    ck_assert_uint_eq(differing(), both);
    sample.answers_itself = true;
    ck_assert_uint_eq(differing(), 0);
    /* A meter right before it, or one that isn't only for it. */
    set_controllers("meter(4),", 99, ",3", translate);
    ck_assert_uint_eq(differing(), 0);
    decide_and_do("meter(4),3");
    ck_assert_uint_eq(differing(), 0);
    decide_and_do("meter(5),3");
    ck_assert_uint_eq(differing(), both);
    decide_and_do("meter(4),4");
    ck_assert_uint_eq(differing(), both);
}
END_TEST

/* What isn't compared, and why. */
START_TEST(unfit)
{
    struct adp_sample fit = sample;

#define UNFIT(FIELD, VALUE, WHY) do {                                       \
        sample.FIELD = VALUE;                                               \
        ck_assert_int_eq(adp_shadow_sample_unfit(&sample),                  \
                         ADP_SHADOW_##WHY);                                 \
        sample = fit;                                                       \
    } while (0)

    UNFIT(punt, ADP_PUNT_NORMAL, STOCK);
    UNFIT(way, ADP_SAMPLE_STOCK, STOCK);
    UNFIT(held, true, HELD);
    UNFIT(hit_learned, true, LEARNED);
    UNFIT(tunnel_lost, true, TUNNEL);
    UNFIT(tunnel_is_old, true, TUNNEL);
    UNFIT(hits.n, ADP_SAMPLE_MAX_HITS + 1, LONG);
    UNFIT(done.hits.n, ADP_SAMPLE_MAX_HITS + 1, LONG);
    UNFIT(actions.size, ADP_SAMPLE_MAX_ACTIONS + 4, LONG);
    UNFIT(done.actions.size, ADP_SAMPLE_MAX_ACTIONS + 4, LONG);
    UNFIT(n_answers, ADP_SAMPLE_MAX_ANSWERS + 1, LONG);
    ck_assert_int_eq(adp_shadow_sample_unfit(&sample), ADP_SHADOW_FIT);
}
END_TEST

/* What conntrack says is what the packet is from then on. */
START_TEST(answered)
{
    const char *src = _i ? "fd00::1" : "10.0.0.1";
    const char *dst = _i ? "fd00::9" : "10.0.0.9";
    struct tuple tuple = { .nw_proto = IPPROTO_TCP, .tp_src = 40000,
                           .tp_dst = 8080, .ipv6 = _i };
    struct svec effects;
    struct adp_shadow_run run = { .sample = &sample, .effects = &effects };
    struct ofpbuf actions;
    struct flow flow;

    sample.n_answers = 0;
    set_packet(compose(src, _i ? "fd00::2" : "10.0.0.2", IPPROTO_TCP, 10));
    add_answer(dst, 8080, CS_TRACKED | CS_NEW);
    sample.answers[0].ct_mark = 77;
    tuple.src = sample.answers[0].src;
    tuple.dst = sample.answers[0].dst;

    svec_init(&effects);
    parse_actions("ct(zone=5,nat)", &actions);
    struct dp_packet *p = adp_shadow_packet(&sample, &sample.packet);
    adp_shadow_execute(&run, p, actions.data, actions.size);
    flow_extract(p, &flow);
    ck_assert_uint_eq(flow.ct_state, CS_TRACKED | CS_NEW);
    ck_assert_uint_eq(flow.ct_zone, 5);
    ck_assert_uint_eq(flow.ct_mark, 77);
    ck_assert_uint_eq(ntohs(flow.tp_dst), 8080);
    if (_i) {
        ck_assert(ipv6_addr_equals(&flow.ipv6_dst, &tuple.dst));
    } else {
        ck_assert_uint_eq(flow.nw_dst, in6_addr_get_mapped_ipv4(&tuple.dst));
    }
    ck_assert_uint_eq(*talk_csum_field(p, &tuple),
                      talk_compute_csum(p, &tuple));

    /* A ct() more than there are answers ends it. */
    adp_shadow_execute(&run, p, actions.data, actions.size);
    ck_assert(run.is_astray && !run.unfit);
    dp_packet_delete(p);
    ofpbuf_uninit(&actions);
    svec_destroy(&effects);
}
END_TEST

/* Actions that can't be followed. */
START_TEST(unfollowed)
{
    static const char *const texts[] = {
        "trunc(100),3", "tnl_pop(4)", "recirc(1)",
        "sample(sample=50%,actions(3))",
    };
    struct svec effects;

    svec_init(&effects);
    ck_assert_int_eq(execute(texts[_i], &effects), ADP_SHADOW_ACTION);
    svec_destroy(&effects);
}
END_TEST

/* A clone's changes are its own, as are what it is sent as. */
START_TEST(clones)
{
    struct svec a, b;

    svec_init(&a);
    svec_init(&b);
    ck_assert_int_eq(execute("clone(set(ipv4(ttl=9)),3),4", &a),
                     ADP_SHADOW_FIT);
    ck_assert_int_eq(execute("sample(sample=100%,actions(set(ipv4(ttl=9)),3)"
                             "),4", &b), ADP_SHADOW_FIT);
    ck_assert_uint_eq(a.n, 2);
    ck_assert(svec_equal(&a, &b));
    ck_assert_str_ne(strchr(a.names[0], ' '), strchr(a.names[1], ' '));
    svec_clear(&b);
    ck_assert_int_eq(execute("4", &b), ADP_SHADOW_FIT);
    ck_assert_str_eq(a.names[1], b.names[0]);
    svec_destroy(&a);
    svec_destroy(&b);
}
END_TEST

/* More than fits is noticed. */
START_TEST(many_effects)
{
    struct svec effects;
    char text[3 * (ADP_SHADOW_MAX_EFFECTS + 1)] = "";

    for (int i = 0; i < ADP_SHADOW_MAX_EFFECTS; i++) {
        strcat(text, i ? ",3" : "3");
    }
    svec_init(&effects);
    ck_assert_int_eq(execute(text, &effects), ADP_SHADOW_FIT);
    svec_clear(&effects);
    strcat(text, ",3");
    ck_assert_int_eq(execute(text, &effects), ADP_SHADOW_LONG);
    svec_destroy(&effects);
}
END_TEST

/* Of a long packet there is a shorter one, to which upstream sees no
 * difference; NAT of it is right. */
START_TEST(long_packet)
{
    static const char *const addresses[][3] = {
        { "10.0.0.1", "10.0.0.2", "10.0.0.9" },
        { "fd00::1", "fd00::2", "fd00::9" },
    };
    const char *const *address = addresses[_i % 2];
    struct flow flow;

    sample.n_answers = 0;
    set_packet(compose(address[0], address[1],
                       _i < 2 ? IPPROTO_TCP : IPPROTO_UDP, 1200));
    add_answer(address[2], 8080, CS_TRACKED);
    ck_assert_uint_gt(sample.length, sample.packet.size);

    struct dp_packet *p = adp_shadow_packet(&sample, &sample.packet);
    flow_extract(p, &flow);
    flow.in_port = sample.flow.in_port;
    ck_assert(flow_equal(&flow, &sample.flow));
    if (!(_i % 2)) {
        ck_assert_uint_eq(csum(dp_packet_l3(p), IP_HEADER_LEN), 0);
    }
    dp_packet_delete(p);

    translate("ct(zone=5,nat),3");
    decide_and_do("ct(zone=5,nat),3");
    ck_assert_uint_eq(differing(), 0);
    ck_assert_uint_eq(upstream.effects.n, 2);
    decide_and_do("3,ct(zone=5,nat)");
    ck_assert_uint_eq(differing(), PART(DECIDED) | PART(DONE));
}
END_TEST

int
main(void)
{
    odp_execute_init();
    Suite *s = suite_create("shadow");
    TCase *tc = tcase_create("shadow");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, equal);
    tcase_add_loop_test(tc, different_effects, 0, ARRAY_SIZE(others));
    tcase_add_test(tc, short_way);
    tcase_add_test(tc, short_way_plain_ct);
    tcase_add_test(tc, short_way_bytes);
    tcase_add_test(tc, short_way_metered);
    tcase_add_test(tc, connections);
    tcase_add_test(tc, flows);
    tcase_add_test(tc, ambiguous);
    tcase_add_test(tc, learned);
    tcase_add_test(tc, controllers);
    tcase_add_test(tc, unfit);
    tcase_add_loop_test(tc, answered, 0, 2);
    tcase_add_loop_test(tc, unfollowed, 0, 4);
    tcase_add_test(tc, clones);
    tcase_add_test(tc, many_effects);
    tcase_add_loop_test(tc, long_packet, 0, 4);
    suite_add_tcase(s, tc);
    return test_run(s);
}

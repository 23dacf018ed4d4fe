/* SPDX-License-Identifier: Apache-2.0 */

/* A port leaves the bridge while a packet thread decides on a packet to it: what
 * is kept of that isn't believed.  What stands in a verdict's first line is the
 * verdict's. */

#include <config.h>
#include <check.h>

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-credit.h"
#include "adp-ports.h"
#include "adp-summary.h"
#include "adp-tunnel.h"
#include "collect-all.h"
#include "conntrack.h"
#include "credit-nobody.h"
#include "dp-packet.h"
#include "engine.h"
#include "flow.h"
#include "no-tunnels.h"
#include "ofproto/ofproto-dpif-xlate.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "talk.h"
#include "test-run.h"
#include "util.h"

enum { A_PORT = 4, OTHER_PORT = 5, NOW = 1000000 };

struct ofproto_class adp_ofproto_class;
struct ovs_list adp_bridges = OVS_LIST_INITIALIZER(&adp_bridges);

static struct adp_bridge *bridge;
static struct adp_program *program;
static struct adp_ports ports;
static struct adp_port a_port, other_port;
static struct adp_store *store;
static struct adp_walk walk;
static struct conntrack *ct;
static struct dp_packet *packet;
static struct flow flow;

/* What isn't asked for here. */

int
xlate_lookup(const struct dpif_backer *b OVS_UNUSED,
             const struct flow *f OVS_UNUSED,
             struct ofproto_dpif **ofprotop OVS_UNUSED,
             struct dpif_ipfix **ipfix OVS_UNUSED,
             struct dpif_sflow **sflow OVS_UNUSED,
             struct netflow **netflow OVS_UNUSED,
             ofp_port_t *ofp_in_port OVS_UNUSED,
             char **errorp OVS_UNUSED)
{
    return ENODEV;
}

struct ofport_dpif *
odp_port_to_ofport(const struct dpif_backer *b OVS_UNUSED,
                   odp_port_t odp_port OVS_UNUSED)
{
    return NULL;
}

struct ofport_dpif *
ofp_port_to_ofport(const struct ofproto_dpif *ofproto OVS_UNUSED,
                   ofp_port_t ofp_port OVS_UNUSED)
{
    return NULL;
}

static void
add_port(struct adp_port *port, uint16_t number)
{
    *port = (struct adp_port) {
        .ofp_port = u16_to_ofp(number),
        .info = { .kind = ADP_PORT_PLAIN, .odp_port = u32_to_odp(number) },
        .live = true,
    };
    hmap_insert(&ports.ports, &port->node, hash_ofp_port(port->ofp_port));
}

static void
setup(void)
{
    static const struct segment segment = { .flags = TCP_ACK, .wscale = -1 };
    struct tuple tuple = { .nw_proto = IPPROTO_TCP, .tp_src = 40000,
                           .tp_dst = 80 };

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    in6_addr_set_mapped_ipv4(&tuple.src, htonl(0x0a000001));
    in6_addr_set_mapped_ipv4(&tuple.dst, htonl(0x0a000002));
    packet = talk_compose(&tuple, &segment, 10);
    flow_extract(packet, &flow);

    hmap_init(&ports.ports);
    atomic_init(&ports.serial, 0);       /* The first lost port makes it 1. */
    add_port(&a_port, A_PORT);
    add_port(&other_port, OTHER_PORT);
    struct adp_delta *delta = adp_delta_create();
    struct adp_rule *rule = engine_parse_flow("table=0,actions=output:4");
    struct adp_program *empty = adp_program_create();
    adp_delta_add_rule(delta, rule);
    adp_rule_unref(rule);
    program = adp_compile(empty, delta);
    adp_delta_destroy(delta);
    adp_program_unref(empty);
    bridge = xzalloc(sizeof *bridge);
    bridge->learn = adp_learn_table_create();
    ovsrcu_set(&bridge->ports, &ports);
    ovsrcu_set(&bridge->program, program);

    ct = conntrack_init();
    adp_walk_init(&walk);
    adp_cached_verdict_init();
    store = adp_store_create(adp_cached_verdict_collector(), 1024);
    adp_store_begin(store);
}

static void
teardown(void)
{
    adp_walk_uninit(&walk);
    adp_store_destroy(store);
    adp_program_unref(program);
    ovsrcu_quiesce();
    ovsrcu_barrier();
    adp_collector_destroy(adp_cached_verdict_collector());
    adp_learn_table_destroy(bridge->learn);
    free(bridge);
    hmap_destroy(&ports.ports);
    conntrack_destroy(ct);
    dp_packet_delete(packet);
}

/* Walks to port A_PORT. */
static void
decide(struct adp_summary *sum)
{
    struct flow changed = flow;

    adp_walk(&walk, bridge, ct, packet, &changed, NOW);
    ck_assert_uint_eq(walk.n_ports, 1);
    ck_assert(adp_summary_init(sum, &walk, &flow));
    ck_assert_uint_eq(odp_to_u32(sum->content.odp_port), A_PORT);
}

/* What is kept is believed, or not. */
static void
keep(const struct adp_cached_verdict_source *source,
     const struct adp_cached_verdict_content *content, bool believed)
{
    struct adp_cached_verdict *v, *expected;
    struct adp_token token;

    v = adp_cached_verdict_take(store, source, content, NOW);
    ck_assert_ptr_nonnull(v);
    adp_cached_verdict_token_init(&token, store, v, program, 0);
    expected = believed ? v : NULL;
    ck_assert_ptr_eq(adp_cached_verdict_get_current(store, &token, bridge,
                                                    program, &ports, 0),
                     expected);
}

/* The port of the walk leaves after it was asked for, or another one. */
START_TEST(decided)
{
    struct adp_cached_verdict_source source;
    struct adp_summary sum;

    decide(&sum);
    if (_i) {
        adp_ports_remove(bridge, u16_to_ofp(_i));
    }
    adp_summary_source(&sum, &source);
    keep(&source, &sum.content, _i != A_PORT);
}
END_TEST

/* The same where an earlier walk is replayed, when that has been found right. */
START_TEST(replayed)
{
    struct adp_cached_verdict_source source;
    struct adp_cached_verdict_content content;
    struct adp_cached_verdict *v;
    struct adp_summary sum;

    decide(&sum);
    adp_summary_source(&sum, &source);
    memcpy(&content, &sum.content, sizeof content);
    content.decided = true;
    v = adp_cached_verdict_take(store, &source, &content, NOW);
    ck_assert_ptr_nonnull(v);

    adp_walk_prepare(&walk, bridge, ct, packet, false, NOW);
    if (_i) {
        adp_ports_remove(bridge, u16_to_ofp(_i));
    }
    adp_cached_verdict_source_init(&source, v, &walk);
    keep(&source, &sum.content, _i != A_PORT);
}
END_TEST

/* All verdicts leave, and their slots are free again. */
static void
grow_old(void)
{
    const long long int end = NOW + 10 * ADP_STORE_IDLE_MS;
    struct adp_store_counts counts = { .n_verdicts = 0 };

    for (long long int now = NOW; now < end; now += 100) {
        size_t left = SIZE_MAX;

        adp_store_age(store, now, &left);
    }
    ovsrcu_quiesce();
    ovsrcu_barrier();
    collect_all(adp_cached_verdict_collector());
    adp_store_add_counts(store, &counts);
    ck_assert(!counts.n_verdicts && !counts.n_leaving);
}

/* Who fetches ahead finds the tunnel of the verdict, not that of one before it
 * in the slot. */
START_TEST(tunnel_of_slot)
{
    static int a_tunnel;
    struct adp_tunnel *const tunnels[] = {
        NULL, (struct adp_tunnel *) &a_tunnel, NULL,
    };
    struct adp_cached_verdict_source source;
    struct adp_cached_verdict *first = NULL;
    struct adp_summary sum;

    decide(&sum);
    adp_summary_source(&sum, &source);
    for (size_t i = 0; i < ARRAY_SIZE(tunnels); i++) {
        struct adp_cached_verdict *v;

        sum.content.tunnel = tunnels[i];
        v = adp_cached_verdict_take(store, &source, &sum.content, NOW);
        ck_assert_ptr_nonnull(v);
        ck_assert_ptr_eq(adp_cached_verdict_tunnel(&v->up), tunnels[i]);
        first = first ? first : v;
        ck_assert_ptr_eq(v, first);
        grow_old();
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("cached-verdict");
    TCase *tc = tcase_create("cached-verdict");
    const int cases[] = { 0, A_PORT, OTHER_PORT };

    tcase_add_checked_fixture(tc, setup, teardown);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        tcase_add_loop_test(tc, decided, cases[i], cases[i] + 1);
        tcase_add_loop_test(tc, replayed, cases[i], cases[i] + 1);
    }
    tcase_add_test(tc, tunnel_of_slot);
    suite_add_tcase(s, tc);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Which packets a walk finds to end a tunnel at a port with an address of ours:
 * those that are a tunnel's with the headers that they are sent there with,
 * whatever becomes of them afterwards; and who chooses a group's bucket. */

#include <config.h>
#include <check.h>

#include "adp-bridge-shared.h"
#include "adp-ports.h"
#include "adp-walk.h"
#include "conntrack.h"
#include "dp-packet.h"
#include "engine.h"
#include "flow.h"
#include "no-tunnels.h"
#include "openvswitch/ofp-actions.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "talk.h"
#include "test-run.h"
#include "tnl-ports.h"
#include "util.h"

/* What the linker calls instead of upstream's library. */
__typeof__(tnl_port_map_lookup) __wrap_tnl_port_map_lookup;

enum { PLAIN_PORT = 4, IP_PORT = 5, TUNNEL_PORT = 6, NOW = 1000000 };

/* Of packets that are a tunnel's. */
static const struct eth_addr local_mac = ETH_ADDR_C(02,00,00,00,aa,01);
#define TO_LOCAL "set_field:02:00:00:00:aa:01->eth_dst"
#define TO_OTHER "set_field:02:00:00:00:aa:99->eth_dst"

static struct adp_bridge *bridge;
static struct adp_ports ports;
static struct adp_port plain_port, ip_port;
static struct engine *engine;
static struct adp_walk walk;
static struct conntrack *ct;
static struct dp_packet *packet;

odp_port_t
__wrap_tnl_port_map_lookup(struct flow *flow,
                           struct flow_wildcards *wc OVS_UNUSED)
{
    return (eth_addr_equals(flow->dl_dst, local_mac)
            ? u32_to_odp(TUNNEL_PORT) : ODPP_NONE);
}

const struct adp_port *
adp_ports_find(const struct adp_ports *all, ofp_port_t ofp_port)
{
    ck_assert_ptr_eq(all, &ports);
    return (ofp_port == plain_port.ofp_port ? &plain_port
            : ofp_port == ip_port.ofp_port ? &ip_port : NULL);
}

static void
port_init(struct adp_port *port, uint16_t number, bool has_ip)
{
    *port = (struct adp_port) {
        .ofp_port = u16_to_ofp(number),
        .info = { .kind = ADP_PORT_PLAIN, .odp_port = u32_to_odp(number) },
        .live = true,
        .has_ip = has_ip,
    };
}

static void
setup(void)
{
    static const struct segment segment = { .wscale = -1 };
    struct tuple tuple = { .nw_proto = IPPROTO_UDP, .tp_src = 40000,
                           .tp_dst = 6081 };

    in6_addr_set_mapped_ipv4(&tuple.src, htonl(0x0a000001));
    in6_addr_set_mapped_ipv4(&tuple.dst, htonl(0x0a000002));
    packet = talk_compose(&tuple, &segment, 10);
    port_init(&plain_port, PLAIN_PORT, false);
    port_init(&ip_port, IP_PORT, true);
    atomic_init(&ports.serial, 0);
    engine = engine_create();
    bridge = xzalloc(sizeof *bridge);
    bridge->learn = engine->learn;
    ovsrcu_set(&bridge->ports, &ports);
    ct = conntrack_init();
    adp_walk_init(&walk);
}

static void
teardown(void)
{
    adp_walk_uninit(&walk);
    conntrack_destroy(ct);
    free(bridge);
    engine_destroy(engine);
    dp_packet_delete(packet);
}

/* What a packet does, one of a tunnel's as it comes or not. */
static void
walk_by(const char *flow_text, bool local)
{
    struct eth_header *eth = dp_packet_eth(packet);
    struct flow flow;

    engine_destroy(engine);
    engine = engine_create();
    bridge->learn = engine->learn;
    engine_add_group(engine, "group_id=1,type=all,"
                     "bucket=" TO_LOCAL ",output:5,bucket=output:4");
    engine_add_flows(engine, flow_text);
    ovsrcu_set(&bridge->program, engine->program);
    eth->eth_dst = local_mac;
    eth->eth_dst.ea[5] ^= !local;
    flow_extract(packet, &flow);
    adp_walk(&walk, bridge, ct, packet, &flow, NOW);
    ck_assert(!walk.verdict.punt && !walk.verdict.dropped);
}

static void
expect_concerned(const char *flow_text, bool local)
{
    walk_by(flow_text, local);
    ck_assert(walk.to_ip_port && walk.concerns_tunnel);
}

static void
expect_unconcerned(const char *flow_text, bool local)
{
    walk_by(flow_text, local);
    ck_assert(!walk.concerns_tunnel);
}

START_TEST(sent_as_it_came)
{
    expect_concerned("actions=output:5", true);
    expect_concerned("actions=output:4,output:5", true);
    expect_unconcerned("actions=output:5", false);
    ck_assert(walk.to_ip_port);
    expect_unconcerned("actions=output:4", true);
    ck_assert(!walk.to_ip_port);
}
END_TEST

START_TEST(rewritten_before)
{
    expect_concerned("actions=" TO_LOCAL ",output:5", false);
    expect_unconcerned("actions=" TO_OTHER ",output:5", true);
}
END_TEST

START_TEST(rewritten_afterwards)
{
    expect_concerned("actions=output:5," TO_OTHER ",output:4", true);
    expect_unconcerned("actions=output:5," TO_LOCAL ",output:4", false);
}
END_TEST

/* The packet is restored there. */
START_TEST(rewritten_aside)
{
    expect_concerned("actions=clone(" TO_LOCAL ",output:5),output:4", false);
    expect_concerned("actions=group:1", false);
    expect_unconcerned("actions=clone(" TO_OTHER ",output:5),output:4", true);
}
END_TEST

/* A bridge whose packets upstream takes chooses as upstream does: by one hash of
 * the packet, whatever group it comes to. */
START_TEST(chosen_by_upstream)
{
    struct ofputil_bucket buckets[] = { { .bucket_id = 7 },
                                        { .bucket_id = 8 } };
    struct ofputil_bucket *hash_map[2];
    struct group_dpif upstreams = {
        .selection_method = SEL_METHOD_DP_HASH,
        .hash_alg = OVS_HASH_ALG_SYM_L4,
        .hash_mask = 1,
        .hash_map = hash_map,
    };
    struct flow flow;

    engine_add_group(engine, "group_id=1,type=select,"
                     "bucket=bucket_id:7,output:4,bucket=bucket_id:8,output:5");
    engine_add_flows(engine, "ip,actions=group:1");
    ovsrcu_set(&bridge->program, engine->program);
    atomic_store_relaxed(&bridge->mode, ADP_MODE_WATCHED);
    upstreams_group = &upstreams;

    flow_extract(packet, &flow);
    size_t hash = flow_hash_symmetric_l3l4(&flow, 0, false) & 1;
    for (size_t i = 0; i < 2; i++) {
        hash_map[hash] = &buckets[i];
        hash_map[!hash] = &buckets[!i];
        flow_extract(packet, &flow);
        adp_walk(&walk, bridge, ct, packet, &flow, NOW);
        ck_assert(!walk.verdict.punt);
        ck_assert_uint_eq(walk.verdict.select.bucket, i);
    }

    /* Nobody knows: by a port's hash, without a map, or not here yet. */
    for (int i = 0; i < 3; i++) {
        upstreams.hash_alg = i ? OVS_HASH_ALG_SYM_L4 : OVS_HASH_ALG_L4;
        upstreams.selection_method = (i == 1 ? SEL_METHOD_DEFAULT
                                      : SEL_METHOD_DP_HASH);
        buckets[0].bucket_id = buckets[1].bucket_id = i == 2 ? 9 : 7;
        flow_extract(packet, &flow);
        adp_walk(&walk, bridge, ct, packet, &flow, NOW);
        ck_assert_int_eq(walk.verdict.punt, ADP_PUNT_BRIDGE);
    }

    atomic_store_relaxed(&bridge->mode, ADP_MODE_COMPILED);
    flow_extract(packet, &flow);
    adp_walk(&walk, bridge, ct, packet, &flow, NOW);
    ck_assert(!walk.verdict.punt);
    upstreams_group = NULL;
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("walk");
    TCase *tc = tcase_create("walk");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, sent_as_it_came);
    tcase_add_test(tc, rewritten_before);
    tcase_add_test(tc, rewritten_afterwards);
    tcase_add_test(tc, rewritten_aside);
    tcase_add_test(tc, chosen_by_upstream);
    suite_add_tcase(s, tc);
    return test_run(s);
}

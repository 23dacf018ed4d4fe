/* SPDX-License-Identifier: Apache-2.0 */

/* The datapath actions of verdicts, executed on packets by upstream: what goes
 * out must be byte for byte the packet that has the expected headers. */

#include <config.h>
#include <check.h>
#include "dp-packet.h"
#include "engine.h"
#include "flow.h"
#include "netlink.h"
#include "odp-execute.h"
#include "odp-netlink.h"
#include "packets.h"
#include "test-run.h"
#include "util.h"

#define ETH "dl_src=00:00:00:00:00:01,dl_dst=00:00:00:00:00:02"
#define TCP "in_port=1,tcp," ETH ",nw_src=10.0.0.1,nw_dst=10.0.0.2," \
    "nw_ttl=64,tcp_src=1000,tcp_dst=80"
#define TCP6 "in_port=1,tcp6," ETH ",ipv6_src=fd00::1,ipv6_dst=fd00::2," \
    "nw_ttl=64,tcp_src=1000,tcp_dst=80"
#define UDP "in_port=1,udp," ETH ",nw_src=10.0.0.1,nw_dst=10.0.0.2," \
    "nw_ttl=64,udp_src=53,udp_dst=53"
#define ARP "in_port=1,arp," ETH ",arp_op=1,arp_spa=10.0.0.1," \
    "arp_tpa=10.0.0.2,arp_sha=00:00:00:00:00:01,arp_tha=00:00:00:00:00:00"

enum { MAX_SENT = 8 };

static struct engine *e;

/* What the actions sent. */
static struct {
    odp_port_t port;
    struct dp_packet *packet;
} sent[MAX_SENT];
static size_t n_sent;

static void
setup(void)
{
    odp_execute_init();
    e = engine_create();
}

static void
clear_sent(void)
{
    while (n_sent) {
        dp_packet_delete(sent[--n_sent].packet);
    }
}

static void
teardown(void)
{
    clear_sent();
    engine_destroy(e);
}

/* Called for the actions that odp_execute_actions() leaves to a datapath. */
static void
execute_cb(void *dp OVS_UNUSED, struct dp_packet_batch *batch,
           const struct nlattr *a, bool should_steal)
{
    struct dp_packet *packet;

    ck_assert_int_eq(nl_attr_type(a), OVS_ACTION_ATTR_OUTPUT);
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        ck_assert_uint_lt(n_sent, MAX_SENT);
        sent[n_sent].port = nl_attr_get_odp_port(a);
        sent[n_sent++].packet = dp_packet_clone(packet);
    }
    dp_packet_delete_batch(batch, should_steal);
}

static struct dp_packet *
compose(const char *text)
{
    struct dp_packet *packet = dp_packet_new(0);
    struct flow flow;

    engine_parse_packet(text, &flow);
    flow_compose(packet, &flow, NULL, 64);
    return packet;
}

/* Sends 'packet' through 'flows'.  The last that goes out must be
 * 'expected'. */
static void
expect(const char *flows, const char *packet, const char *expected_)
{
    struct dp_packet *expected = compose(expected_);
    struct dp_packet_batch batch;
    struct pkt_metadata md;
    struct dp_packet *p = compose(packet);
    struct flow flow;

    engine_destroy(e);
    e = engine_create();
    engine_add_flows(e, flows);
    pkt_metadata_init(&p->md, u32_to_odp(1));
    flow_extract(p, &flow);
    md = p->md;
    flow.in_port.ofp_port = u16_to_ofp(1);
    engine_run_flow(e, &flow);
    ck_assert_int_eq(e->verdict.punt, ADP_PUNT_NONE);

    clear_sent();
    p->md = md;
    dp_packet_batch_init_packet(&batch, p);
    odp_execute_actions(NULL, &batch, true, e->verdict.actions.data,
                        e->verdict.actions.size, execute_cb);
    ck_assert_uint_ge(n_sent, 1);
    p = sent[n_sent - 1].packet;
    ck_assert_uint_eq(dp_packet_size(p), dp_packet_size(expected));
    ck_assert_mem_eq(dp_packet_data(p), dp_packet_data(expected),
                     dp_packet_size(p));
    dp_packet_delete(expected);
}

START_TEST(test_ipv4)
{
    expect("actions=output:2", TCP, TCP);
    expect("actions=mod_dl_src:00:00:00:00:00:08,mod_dl_dst:00:00:00:00:00:09,"
           "dec_ttl,output:2", TCP,
           "in_port=1,tcp,dl_src=00:00:00:00:00:08,dl_dst=00:00:00:00:00:09,"
           "nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=63,"
           "tcp_src=1000,tcp_dst=80");
    expect("tcp actions=mod_nw_src:1.1.1.1,mod_nw_dst:1.1.1.2,mod_tp_src:5,"
           "mod_tp_dst:6,mod_nw_tos:0x40,mod_nw_ecn:2,output:2", TCP,
           "in_port=1,tcp," ETH ",nw_src=1.1.1.1,nw_dst=1.1.1.2,nw_ttl=64,"
           "nw_tos=0x40,nw_ecn=2,tcp_src=5,tcp_dst=6");
    expect("udp actions=mod_nw_src:1.1.1.1,mod_tp_dst:6,output:2", UDP,
           "in_port=1,udp," ETH ",nw_src=1.1.1.1,nw_dst=10.0.0.2,nw_ttl=64,"
           "udp_src=53,udp_dst=6");
}
END_TEST

START_TEST(test_ipv6)
{
    expect("ipv6 actions=set_field:fd00::9->ipv6_src,dec_ttl,output:2", TCP6,
           "in_port=1,tcp6," ETH ",ipv6_src=fd00::9,ipv6_dst=fd00::2,"
           "nw_ttl=63,tcp_src=1000,tcp_dst=80");
}
END_TEST

START_TEST(test_arp)
{
    expect("arp actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"
           "set_field:aa:bb:cc:dd:ee:ff->eth_src,set_field:2->arp_op,"
           "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],"
           "set_field:aa:bb:cc:dd:ee:ff->arp_sha,"
           "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],"
           "set_field:10.0.0.2->arp_spa,IN_PORT", ARP,
           "in_port=1,arp,dl_src=aa:bb:cc:dd:ee:ff,dl_dst=00:00:00:00:00:01,"
           "arp_op=2,arp_spa=10.0.0.2,arp_tpa=10.0.0.1,"
           "arp_sha=aa:bb:cc:dd:ee:ff,arp_tha=00:00:00:00:00:01");
}
END_TEST

START_TEST(test_vlan)
{
    expect("actions=push_vlan:0x8100,set_field:4103->vlan_vid,output:2", TCP,
           TCP ",dl_vlan=7,dl_vlan_pcp=0");
    expect("actions=pop_vlan,output:2", TCP ",dl_vlan=7,dl_vlan_pcp=0", TCP);
    expect("actions=mod_vlan_vid:9,output:2", TCP ",dl_vlan=7,dl_vlan_pcp=3",
           TCP ",dl_vlan=9,dl_vlan_pcp=3");
}
END_TEST

/* What a bucket or clone does isn't seen by who comes after. */
START_TEST(test_undone)
{
    expect("ip actions=clone(dec_ttl,mod_dl_dst:00:00:00:00:00:09,"
           "push_vlan:0x8100,load:1->NXM_NX_REG0[],output:3),output:2", TCP,
           TCP);
    ck_assert_uint_eq(n_sent, 2);
    expect("ip actions=clone(dec_ttl,mod_dl_dst:00:00:00:00:00:09,"
           "output:9000),output:2", TCP, TCP);
    ck_assert_uint_eq(n_sent, 1);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("execute");
    TCase *tc = tcase_create("execute");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_ipv4);
    tcase_add_test(tc, test_ipv6);
    tcase_add_test(tc, test_arp);
    tcase_add_test(tc, test_vlan);
    tcase_add_test(tc, test_undone);
    return test_run_nofork(s);
}

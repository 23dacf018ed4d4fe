/* SPDX-License-Identifier: Apache-2.0 */

/* Queries and reports: what packets they are, and where they go. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "adp-bridge.h"
#include "adp-igmp.h"
#include "adp-multicast-send.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "model-records.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "test-run.h"
#include "util.h"

enum { GATEWAY = 2, TUNNEL = 1, TABLES_VERSION = 7, HEADER_LEN = 24 };

static const struct eth_addr gateway_mac
    = ETH_ADDR_C(00,00,00,00,01,00);

static struct adp_bridge *b;
static struct adp_node_config node;
static bool no_tunnel_port;

/* What was executed. */
static size_t n_executed;
static struct ds actions;
static struct flow seen;
static uint8_t bytes[512];
static size_t len;

bool
adp_bridge_port_number(const struct adp_bridge *bridge OVS_UNUSED,
                       const char *name, ofp_port_t *port)
{
    bool tunnel = !strcmp(name, "tun0");

    *port = u16_to_ofp(tunnel ? TUNNEL : GATEWAY);
    return tunnel ? !no_tunnel_port : !strcmp(name, "gw0");
}

ovs_version_t
ofproto_dpif_get_tables_version(struct ofproto_dpif *ofproto)
{
    ck_assert_ptr_eq(ofproto, &b->dpif);
    return TABLES_VERSION;
}

int
ofproto_dpif_execute_actions(struct ofproto_dpif *ofproto,
                             ovs_version_t version, const struct flow *flow,
                             struct rule_dpif *rule,
                             const struct ofpact *ofpacts, size_t ofpacts_len,
                             struct dp_packet *packet)
{
    struct ofpact_format_params fp = { .s = &actions };

    ck_assert_ptr_eq(ofproto, &b->dpif);
    ck_assert_uint_eq(version, TABLES_VERSION);
    ck_assert_ptr_null(rule);
    ds_clear(&actions);
    ofpacts_format(ofpacts, ofpacts_len, &fp);
    seen = *flow;
    len = dp_packet_size(packet);
    ck_assert_uint_le(len, sizeof bytes);
    memcpy(bytes, dp_packet_data(packet), len);
    n_executed++;
    return 0;
}

static void
setup(void)
{
    struct in6_addr ip = in6_addr_mapped_ipv4(htonl(0x0a000001));

    b = xzalloc(sizeof *b);
    memset(&node, 0, sizeof node);
    node.gateway_port = xstrdup("gw0");
    node.gateway_mac = gateway_mac;
    node.net[ADP_IPV4].gateway_ip = ip;
    node.tunnel_port = xstrdup("tun0");
    no_tunnel_port = false;
    n_executed = 0;
    ds_init(&actions);
}

static void
teardown(void)
{
    free(b);
    free(node.gateway_port);
    free(node.tunnel_port);
    ds_destroy(&actions);
}

/* A packet of IGMP from the gateway, with a router alert, that no router takes
 * on, around the message of 'msg_len' bytes at 'msg'. */
static void
expect_packet(struct eth_addr dst_mac, uint32_t dst, const void *msg,
              size_t msg_len)
{
    static const uint8_t alert[] = { 0x94, 0x04, 0, 0 };
    const struct eth_header *eth = (const struct eth_header *) bytes;
    const struct ip_header *ip = (const struct ip_header *) (eth + 1);

    ck_assert_uint_eq(n_executed, 1);
    ck_assert_uint_eq(len, ETH_HEADER_LEN + HEADER_LEN + msg_len);
    ck_assert(eth_addr_equals(eth->eth_dst, dst_mac));
    ck_assert(eth_addr_equals(eth->eth_src, gateway_mac));
    ck_assert_uint_eq(ntohs(eth->eth_type), ETH_TYPE_IP);
    ck_assert_uint_eq(ip->ip_ihl_ver, IP_IHL_VER(HEADER_LEN / 4, 4));
    ck_assert_uint_eq(ip->ip_tos, 0xc0);
    ck_assert_uint_eq(ntohs(ip->ip_tot_len), HEADER_LEN + msg_len);
    ck_assert_uint_eq(ntohs(ip->ip_frag_off), IP_DF);
    ck_assert_uint_eq(ip->ip_ttl, 1);
    ck_assert_uint_eq(ip->ip_proto, IPPROTO_IGMP);
    ck_assert_uint_eq(csum(ip, HEADER_LEN), 0);
    ck_assert_uint_eq(ntohl(get_16aligned_be32(&ip->ip_src)), 0x0a000001);
    ck_assert_uint_eq(ntohl(get_16aligned_be32(&ip->ip_dst)), dst);
    ck_assert_mem_eq(ip + 1, alert, sizeof alert);
    ck_assert_mem_eq((const char *) ip + HEADER_LEN, msg, msg_len);

    ck_assert_uint_eq(ofp_to_u16(seen.in_port.ofp_port), GATEWAY);
    ck_assert_uint_eq(ntohs(seen.dl_type), ETH_TYPE_IP);
    ck_assert_uint_eq(seen.nw_proto, IPPROTO_IGMP);
    ck_assert_uint_eq(ntohl(seen.nw_dst), dst);
}

/* As if the gateway had sent it. */
START_TEST(query)
{
    struct eth_addr mac = ETH_ADDR_C(01,00,5e,00,00,01);
    uint8_t msg[ADP_IGMP_QUERY_LEN];

    ck_assert(adp_multicast_send_query(b, &node, 33, 44));
    adp_igmp_put_query(msg, 33, 44);
    expect_packet(mac, 0xe0000001, msg, sizeof msg);
    ck_assert_str_eq(ds_cstr(&actions), "resubmit(,0)");
}
END_TEST

/* To the other Node alone. */
START_TEST(report)
{
    struct eth_addr mac = ETH_ADDR_C(01,00,5e,00,00,16);
    const char msg[100] = "whatever";

    ck_assert(adp_multicast_send_report(b, &node, msg, sizeof msg,
                                        htonl(0xc0a80002)));
    expect_packet(mac, 0xe0000016, msg, sizeof msg);
    ck_assert_str_eq(ds_cstr(&actions),
                     "set_field:192.168.0.2->tun_dst,output:1");
}
END_TEST

static void
expect_no(bool query, bool report)
{
    n_executed = 0;
    ck_assert_int_eq(adp_multicast_send_query(b, &node, 1, 1), query);
    ck_assert_int_eq(adp_multicast_send_report(b, &node, "x", 1, htonl(1)),
                     report);
    ck_assert_uint_eq(n_executed, query + report);
}

/* Where there is no way there. */
START_TEST(not_sent)
{
    expect_no(true, true);
    no_tunnel_port = true;
    expect_no(true, false);
    no_tunnel_port = false;
    free(node.tunnel_port);
    node.tunnel_port = NULL;
    expect_no(true, false);

    node.tunnel_port = xstrdup("tun0");
    node.gateway_port[0] = 'x';
    expect_no(false, false);
    node.gateway_port[0] = 'g';
    memset(&node.net[ADP_IPV4], 0, sizeof node.net[ADP_IPV4]);
    expect_no(false, false);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("multicast-send");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, query);
    tcase_add_test(tc, report);
    tcase_add_test(tc, not_sent);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

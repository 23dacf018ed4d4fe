/* SPDX-License-Identifier: Apache-2.0 */

/* What decide() makes of each form of match and action, seen as datapath
 * actions. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "adp-op.h"
#include "engine-fixture.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-match.h"
#include "packets.h"
#include "test-run.h"
#include "tun-metadata.h"
#include "util.h"

#define ETH "dl_src=00:00:00:00:00:01,dl_dst=00:00:00:00:00:02"
#define TCP "in_port=1,tcp," ETH \
    ",nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,tp_src=1000,tp_dst=80"
#define UDP "in_port=1,udp," ETH \
    ",nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,udp_src=53,udp_dst=53"
#define SCTP "in_port=1,sctp," ETH \
    ",nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,sctp_src=7,sctp_dst=8"
#define TCP6 "in_port=1,tcp6," ETH \
    ",ipv6_src=fd00::1,ipv6_dst=fd00::2,nw_ttl=64,tp_src=1000,tp_dst=80"
#define ICMP "in_port=1,icmp," ETH \
    ",nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,icmp_type=8,icmp_code=0"
#define ARP "in_port=1,arp," ETH ",arp_op=1,arp_spa=10.0.0.1," \
    "arp_tpa=10.0.0.2,arp_sha=00:00:00:00:00:01,arp_tha=00:00:00:00:00:00"

/* With a new bridge of 'flows', 'packet' gets datapath actions 'expected'. */
static void
expect(const char *flows, const char *packet, const char *expected)
{
    engine_destroy(e);
    e = engine_create();
    engine_add_flows(e, flows);
    ck_assert_str_eq(engine_run(e, packet), expected);
}

/* A packet that 'match' accepts, and one that it doesn't. */
static void
expect_match(const char *match, const char *yes, const char *no)
{
    char *flow = xasprintf("table=0,priority=10,%s actions=output:2", match);

    expect(flow, yes, "102");
    if (no) {
        expect(flow, no, "drop");
    }
    free(flow);
}

START_TEST(test_matches)
{
    expect_match("in_port=1", TCP, "in_port=2,tcp");
    expect_match("dl_src=00:00:00:00:00:01/00:00:00:00:00:03", TCP,
                 "in_port=1,tcp,dl_src=00:00:00:00:00:02");
    expect_match("dl_dst=00:00:00:00:00:02", TCP, "in_port=1,tcp");
    expect_match("dl_vlan=5", "in_port=1,dl_vlan=5,dl_vlan_pcp=0,ip", TCP);
    expect_match("vlan_tci=0x1000/0x1000",
                 "in_port=1,dl_vlan=5,dl_vlan_pcp=0,ip", TCP);
    expect_match("ip", TCP, ARP);
    expect_match("ipv6", TCP6, TCP);
    expect_match("ip,nw_src=10.0.0.0/24", TCP, "in_port=1,ip,nw_src=10.0.1.1");
    expect_match("ip,nw_dst=10.0.0.2", TCP, "in_port=1,ip,nw_dst=10.0.1.1");
    expect_match("ipv6,ipv6_src=fd00::/64", TCP6,
                 "in_port=1,ipv6,ipv6_src=fd01::1");
    expect_match("ip,nw_ttl=64", TCP, "in_port=1,ip,nw_ttl=63");
    expect_match("ip,nw_tos=0x20", "in_port=1,ip,nw_tos=0x20", TCP);
    expect_match("tcp,tp_dst=80", TCP, UDP);
    expect_match("tcp,tp_dst=0x50/0xfff0", TCP, "in_port=1,tcp,tp_dst=96");
    expect_match("udp,tp_src=53", UDP, TCP);
    expect_match("sctp,tp_dst=8", SCTP, UDP);
    expect_match("tcp6,tp_dst=80", TCP6, TCP);
    expect_match("icmp,icmp_type=8,icmp_code=0", ICMP,
                 "in_port=1,icmp,icmp_type=0");
    expect_match("tcp,tcp_flags=+syn-ack", "in_port=1,tcp,tcp_flags=2",
                 "in_port=1,tcp,tcp_flags=0x12");
    expect_match("arp,arp_op=1,arp_tpa=10.0.0.2", ARP,
                 "in_port=1,arp,arp_op=2,arp_tpa=10.0.0.2");
    expect_match("arp,arp_spa=10.0.0.1,arp_sha=00:00:00:00:00:01", ARP, TCP);
    expect_match("reg0=0/0xffff", TCP, "in_port=1,tcp,reg0=1");
    expect_match("reg3=0x5/0xf", "in_port=1,tcp,reg3=0x15", TCP);
    expect_match("xreg1=0x100000002", "in_port=1,tcp,reg2=1,reg3=2", TCP);
    expect_match("xxreg3=0x3", "in_port=1,tcp,reg15=3", TCP);
    expect_match("metadata=7", "in_port=1,tcp,metadata=7", TCP);
    expect_match("tun_id=9", "in_port=1,tcp,tun_id=9", TCP);
    expect_match("tun_src=1.2.3.4,tun_dst=1.2.3.5",
                 "in_port=1,tcp,tun_src=1.2.3.4,tun_dst=1.2.3.5", TCP);
    expect_match("pkt_mark=0x1/0xff", "in_port=1,tcp,pkt_mark=0x101", TCP);
    expect_match("ct_state=-trk", TCP, "in_port=1,tcp,ct_state=trk|new");
    expect_match("ct_state=+new+trk", "in_port=1,tcp,ct_state=trk|new", TCP);
    expect_match("ct_mark=0x10/0x10",
                 "in_port=1,tcp,ct_state=trk|est,ct_mark=0x31", TCP);
    expect_match("ct_label=0x1/0xffffffff",
                 "in_port=1,tcp,ct_state=trk|est,ct_label=0x200000001", TCP);
    expect_match("ct_state=+trk,ip,ct_nw_dst=10.9.9.9",
                 "in_port=1,tcp,ct_state=trk|est,ct_nw_proto=6,"
                 "ct_nw_dst=10.9.9.9", TCP);
}
END_TEST

START_TEST(test_output)
{
    expect("actions=output:2", TCP, "102");
    expect("actions=output:2,output:3", TCP, "102,103");
    expect("actions=local", TCP, "99");
    /* Never back to where it came from, but when that is what is asked. */
    expect("actions=output:1", TCP, "drop");
    expect("actions=in_port", TCP, "101");
    expect("actions=output:2,in_port", TCP, "102,101");
    expect("actions=load:2->NXM_OF_IN_PORT[],output:1,output:2", TCP, "101");
    /* A port that doesn't exist. */
    expect("actions=output:9000,output:2", TCP, "102");
    expect("actions=drop", TCP, "drop");
    ck_assert(e->verdict.dropped);
}
END_TEST

START_TEST(test_output_reg)
{
    expect("actions=load:3->NXM_NX_REG1[],output:NXM_NX_REG1[]", TCP, "103");
    expect("actions=load:1->NXM_NX_REG1[],output:NXM_NX_REG1[]", TCP, "drop");
    expect("actions=load:0xfff8->NXM_NX_REG1[],output:NXM_NX_REG1[]", TCP,
           "101");
    expect("actions=load:0x10002->NXM_NX_REG1[],output:NXM_NX_REG1[]", TCP,
           "drop");
    expect("actions=load:0x10002->NXM_NX_REG1[],output:NXM_NX_REG1[0..15]",
           TCP, "102");
    expect("actions=load:0xfffa->NXM_NX_REG1[],output:NXM_NX_REG1[]", TCP,
           "punt(normal)");
    expect("actions=load:0xffff->NXM_NX_REG1[],output:NXM_NX_REG1[]", TCP,
           "drop");
}
END_TEST

START_TEST(test_tunnel_output)
{
    const char *flows = "actions=set_field:1.1.1.1->tun_dst,output:10";

    expect(flows, TCP, "500");
    expect("actions=output:10", TCP, "punt(tunnel)");
    /* What follows must not see the encapsulated packet. */
    expect("actions=set_field:1.1.1.1->tun_dst,output:10,output:2", TCP,
           "clone(500),102");
    expect("actions=output:11", TCP, "punt(patch)");

    /* Without a remote end nothing comes of it, the packet's rewriting
     * included. */
    expect("actions=set_field:1.1.1.1->tun_dst,output:12", TCP, "500");
    expect("actions=dec_ttl,output:12", TCP, "drop");
    expect("actions=dec_ttl,output:12,output:2", TCP,
           "set(ipv4(ttl=63)),102");
}
END_TEST

START_TEST(test_set_field)
{
    expect("actions=set_field:00:00:00:00:00:09->eth_dst,output:2", TCP,
           "set(eth(dst=00:00:00:00:00:09)),102");
    expect("actions=mod_dl_src:00:00:00:00:00:08,"
           "mod_dl_dst:00:00:00:00:00:09,output:2", TCP,
           "set(eth(src=00:00:00:00:00:08,dst=00:00:00:00:00:09)),102");
    expect("ip actions=mod_nw_src:1.1.1.1,mod_nw_dst:1.1.1.2,output:2", TCP,
           "set(ipv4(src=1.1.1.1,dst=1.1.1.2)),102");
    expect("ip actions=set_field:10.9.0.0/255.255.0.0->ip_dst,output:2", TCP,
           "set(ipv4(dst=10.9.0.2)),102");
    expect("tcp actions=mod_tp_src:5,mod_tp_dst:6,output:2", TCP,
           "set(tcp(src=5,dst=6)),102");
    expect("udp actions=set_field:5->udp_src,output:2", UDP,
           "set(udp(src=5)),102");
    expect("sctp actions=set_field:5->sctp_dst,output:2", SCTP,
           "set(sctp(dst=5)),102");
    expect("ipv6 actions=set_field:fd00::9->ipv6_dst,output:2", TCP6,
           "set(ipv6(dst=fd00::9)),102");
    expect("icmp actions=set_field:0->icmp_type,output:2", ICMP,
           "set(icmp(type=0,code=0)),102");
    expect("ip actions=mod_nw_tos:32,mod_nw_ecn:1,output:2", TCP,
           "set(ipv4(tos=0x21)),102");
    expect("ip actions=mod_nw_ttl:7,output:2", TCP, "set(ipv4(ttl=7)),102");
    expect("actions=set_field:0x5/0xff->pkt_mark,output:2",
           "in_port=1,tcp,pkt_mark=0x100", "set(skb_mark(0x105)),102");
    /* A field that the packet already has. */
    expect("actions=mod_dl_dst:00:00:00:00:00:02,output:2", TCP, "102");
    /* Change and back. */
    expect("ip actions=mod_nw_ttl:7,mod_nw_ttl:64,output:2", TCP, "102");
    /* Different for each output. */
    expect("ip actions=mod_nw_ttl:7,output:2,mod_nw_ttl:8,output:3", TCP,
           "set(ipv4(ttl=7)),102,set(ipv4(ttl=8)),103");
    /* A header that the packet doesn't have. */
    expect("actions=mod_nw_src:1.1.1.1,output:2", ARP, "102");
}
END_TEST

START_TEST(test_registers)
{
    /* Bits of registers, moved and loaded, decide in the next table. */
    expect("table=0 actions=load:0x12->NXM_NX_REG0[8..15],"
           "set_field:0x30000/0xf0000->reg0,goto_table:1\n"
           "table=1,reg0=0x31200 actions=output:2", TCP, "102");
    expect("table=0,ip actions=move:NXM_OF_IP_SRC[]->NXM_NX_REG3[],"
           "move:NXM_NX_REG3[0..7]->NXM_NX_XXREG1[32..39],goto_table:1\n"
           "table=1,reg3=0x0a000001,reg6=0x1 actions=output:2",
           "in_port=1,ip,nw_src=10.0.0.1", "102");
    expect("table=0 actions=set_field:0x1234->xreg2,goto_table:1\n"
           "table=1,reg5=0x1234 actions=output:2", TCP, "102");
    expect("table=0 actions=write_metadata:0xf0/0xff,goto_table:1\n"
           "table=1,metadata=0x1f0 actions=output:2",
           "in_port=1,tcp,metadata=0x1ff", "102");
    expect("table=0 actions=set_tunnel:0x77,goto_table:1\n"
           "table=1,tun_id=0x77 actions=output:2", TCP, "102");
}
END_TEST

/* Tunnel options have their place in a packet by the bridge's table. */
START_TEST(test_tunnel_metadata)
{
    struct ofputil_tlv_table_mod ttm = { .command = NXTTMC_ADD };
    struct ofputil_tlv_map map = {
        .option_class = 0x104, .option_type = 0, .option_len = 4, .index = 0,
    };
    const struct mf_field *mf = mf_from_id(MFF_TUN_METADATA0);
    static const uint8_t option[] = { 0x12, 0x34, 0x56, 0x78 };
    union mf_value value = { .u8 = 0 };
    struct tun_table *old = tun_metadata_alloc(NULL), *tab;
    struct flow flow;

    ovs_list_init(&ttm.mappings);
    ovs_list_push_back(&ttm.mappings, &map.list_node);
    ck_assert_int_eq(tun_metadata_table_mod(&ttm, old, &tab), 0);

    engine_add_flows(e, "table=0 actions="
                     "move:NXM_NX_TUN_METADATA0[0..15]->NXM_NX_REG3[16..31],"
                     "set_field:0xab->tun_metadata0,"
                     "move:NXM_NX_TUN_METADATA0[0..15]->NXM_NX_REG3[0..15],"
                     "goto_table:1\n"
                     "table=1,reg3=0x567800ab actions=output:2");
    engine_parse_packet(TCP, &flow);
    flow.tunnel.metadata.tab = tab;
    memcpy(&value.tun_metadata[mf->n_bytes - sizeof option], option,
           sizeof option);
    tun_metadata_write(&flow.tunnel, mf, &value);
    ck_assert_str_eq(engine_run_flow(e, &flow), "102");

    /* A bridge without options. */
    ck_assert_str_eq(engine_run(e, TCP), "drop");
    tun_metadata_free(tab);
    tun_metadata_free(old);
}
END_TEST

START_TEST(test_arp_reply)
{
    expect("arp,arp_op=1 actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"
           "set_field:aa:bb:cc:dd:ee:ff->eth_src,set_field:2->arp_op,"
           "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],"
           "set_field:aa:bb:cc:dd:ee:ff->arp_sha,"
           "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],"
           "set_field:10.0.0.2->arp_spa,IN_PORT", ARP,
           "set(eth(src=aa:bb:cc:dd:ee:ff,dst=00:00:00:00:00:01)),"
           "set(arp(sip=10.0.0.2,tip=10.0.0.1,op=2,"
           "sha=aa:bb:cc:dd:ee:ff,tha=00:00:00:00:00:01)),101");
}
END_TEST

START_TEST(test_vlan)
{
    expect("actions=push_vlan:0x8100,set_field:4097->vlan_vid,output:2", TCP,
           "push_vlan(vid=1,pcp=0),102");
    expect("actions=pop_vlan,output:2",
           "in_port=1,dl_vlan=5,dl_vlan_pcp=0,ip", "pop_vlan,102");
    expect("actions=pop_vlan,output:2", TCP, "102");
    expect("actions=mod_vlan_vid:7,output:2", TCP,
           "push_vlan(vid=7,pcp=0),102");
    expect("actions=mod_vlan_pcp:3,output:2",
           "in_port=1,dl_vlan=5,dl_vlan_pcp=0,ip",
           "pop_vlan,push_vlan(vid=5,pcp=3),102");
    /* A VLAN named by bits of the connection's label. */
    expect("table=0,ip actions=ct(table=1,zone=1)\n"
           "table=1 actions=push_vlan:0x8100,"
           "move:NXM_NX_CT_LABEL[64..75]->OXM_OF_VLAN_VID[],output:2",
           TCP, "ct(zone=1),push_vlan(vid=0,pcp=0),102");
}
END_TEST

START_TEST(test_dec_ttl)
{
    expect("actions=dec_ttl,output:2", TCP, "set(ipv4(ttl=63)),102");
    expect("actions=dec_ttl,output:2", TCP6, "set(ipv6(hlimit=63)),102");
    expect("actions=dec_ttl,output:2", ARP, "102");
}
END_TEST

/* What a packet does where packet-ins with userdata 04 and 05 are answered. */
static const char *
run_answering(const char *flows)
{
    engine_destroy(e);
    e = engine_create();
    engine_add_flows(e, flows);
    engine_set_answer(e, 4, ADP_ANSWER_UNREACHABLE);
    engine_set_answer(e, 5, ADP_ANSWER_PROHIBITED);
    return engine_run(e, TCP);
}

static void
expect_answer(const char *flows, const char *expected, enum adp_answer answer)
{
    ck_assert_str_eq(run_answering(flows), expected);
    ck_assert_int_eq(e->verdict.answer, answer);
    ck_assert_uint_eq(e->verdict.n_packet_ins, 0);
    ck_assert_uint_eq(e->verdict.n_breaks, 0);
}

/* 'before' is what the datapath does until a controller is told. */
static void
expect_packet_in(const char *flows, const char *before)
{
    const char *actions = run_answering(flows);

    ck_assert_int_eq(strncmp(actions, before, strlen(before)), 0);
    ck_assert_int_eq(strncmp(&actions[strlen(before)], "userspace(", 10), 0);
    ck_assert_int_eq(e->verdict.answer, ADP_ANSWER_NONE);
    ck_assert_uint_eq(e->verdict.n_packet_ins, 1);
}

/* The answer waits for the meter, behind 'n' breaks. */
static void
expect_late_answer(size_t n)
{
    const struct adp_verdict *v = &e->verdict;

    ck_assert_int_eq(v->answer, ADP_ANSWER_PROHIBITED);
    ck_assert(v->answers_late);
    ck_assert_uint_eq(v->n_packet_ins, 0);
    ck_assert_uint_eq(v->n_breaks, n + 1);
    for (size_t i = 0; i <= n; i++) {
        ck_assert_uint_eq(v->breaks[i].packet_in, SIZE_MAX);
        ck_assert(v->breaks[i].answers == (i == n));
        ck_assert_uint_gt(v->breaks[i].start, 0);
    }
    ck_assert(!v->n_idle_passes);
}

/* Packet-ins that are for the log. */

static const struct adp_log_layout log_layout = {
    .table = { 2, 0, 8 },
    .disposition = { 0, 11, 2 },
    .denied = { 0, 10, 1 },
    .denied_rule = 3,
    .rule = { 5, 6 },
    .first_ingress_table = 2,
};

/* Flows whose table 9 sends packets with reg1=1 to the log. */
static void
expect_logged(const char *flows, const char *expected, size_t n_logs)
{
    engine_destroy(e);
    e = engine_create();
    engine_set_ct(e, 1, CS_NEW);
    engine_add_flows(e, "table=9,reg1=1 actions=meter:1,controller(userdata=06)");
    engine_add_flows(e, "table=9,priority=1 actions=output:3");
    engine_add_flows(e, "table=9,reg1=2 actions=controller(userdata=07)");
    engine_add_flows(e, "table=3 actions=output:2");
    engine_add_flows(e, flows);
    engine_set_log(e, 6, ADP_ANSWER_NONE, &log_layout);
    engine_set_log(e, 7, ADP_ANSWER_PROHIBITED, &log_layout);
    ck_assert_str_eq(engine_run(e, TCP), expected);
    ck_assert_uint_eq(e->verdict.n_logs, n_logs);
    ck_assert_uint_eq(e->verdict.n_packet_ins, 0);
}

static void
expect_item(size_t i, uint32_t rule, int priority, uint8_t table_id,
            enum adp_log_disposition disposition, size_t n_cts)
{
    const struct adp_log_item *item = &e->verdict.logs[i];

    ck_assert_uint_eq(item->rule, rule);
    ck_assert_int_eq(item->priority, priority);
    ck_assert_int_eq(item->table_id, table_id);
    ck_assert_int_eq(item->disposition, disposition);
    ck_assert_uint_eq(item->n_cts, n_cts);
}

START_TEST(test_logs)
{
    /* Dropped: to stock a packet-in is an action, so the pass isn't idle. */
    expect_logged("priority=77 actions=set_field:0xc00->reg0,set_field:7->reg3,"
                  "set_field:1->reg1,goto_table:9", "drop", 1);
    expect_item(0, 7, 77, 0, ADP_LOG_DROP, 0);
    ck_assert_uint_eq(e->verdict.n_idle_passes, 0);
    ck_assert_int_eq(e->verdict.answer, ADP_ANSWER_NONE);
    expect_logged("actions=set_field:0x1400->reg0,set_field:7->reg3,"
                  "set_field:2->reg1,goto_table:9", "drop", 1);
    ck_assert_int_eq(e->verdict.answer, ADP_ANSWER_PROHIBITED);

    /* Passed on by a packet-in of its own. */
    expect_logged("actions=set_field:0x1800->reg0,set_field:5->reg5,"
                  "controller(userdata=06),output:2", "102", 1);
    expect_item(0, 5, 32768, 0, ADP_LOG_PASS, 0);

    /* Allowed: what goes on behind ct() is no clone.  What was set for the log
     * isn't set there. */
    expect_logged("tcp actions=set_field:5->reg5,ct(commit,table=3,zone=1),"
                  "set_field:1->reg1,set_field:3->reg2,goto_table:9",
                  "ct(commit,zone=1),102", 1);
    expect_item(0, 0, 0, 3, ADP_LOG_ALLOW, 0);
    expect_logged("tcp actions=set_field:5->reg5,ct(commit,table=9,zone=1),"
                  "set_field:1->reg1,goto_table:9", "ct(commit,zone=1),103", 1);
    expect_item(0, 5, 32768, 0, ADP_LOG_ALLOW, 0);
    ck_assert_uint_eq(e->verdict.n_hits, 3);

    /* But it is one if the rest does anything else. */
    expect_logged("tcp actions=ct(commit,table=3,zone=1),goto_table:9",
                  "ct(commit,zone=1),clone(102),103", 0);
    expect_logged("tcp actions=ct(commit,table=3,zone=1),set_field:1->reg1,"
                  "resubmit(,9),output:4",
                  "ct(commit,zone=1),clone(102),104", 1);

    /* Once, if ct() doesn't end there. */
    expect_logged("tcp actions=set_field:5->reg5,ct(commit,zone=1),"
                  "set_field:1->reg1,goto_table:9", "ct(commit,zone=1)", 1);
    ck_assert_uint_eq(e->verdict.n_hits, 2);
    expect_logged("table=0,tcp actions=resubmit(,1),output:4\n"
                  "table=1,tcp actions=ct(commit,table=3,zone=1),"
                  "set_field:1->reg1,goto_table:9",
                  "ct(commit,zone=1),clone(102),104", 1);
    ck_assert_uint_eq(e->verdict.n_hits, 4);

    /* What stands behind ct() doesn't know what conntrack said before. */
    expect_logged("table=9,priority=40000,ct_state=-trk,reg1=1 "
                  "actions=output:4\n"
                  "table=0,tcp actions=ct(zone=1,table=1)\n"
                  "table=1,tcp actions=ct(commit,table=3,zone=1),"
                  "set_field:1->reg1,goto_table:9",
                  "ct(zone=1),ct(commit,zone=1),clone(102),104", 0);
    expect_logged("table=9,priority=40000,ct_state=+trk,reg1=1 "
                  "actions=output:4\n"
                  "table=0,tcp actions=ct(zone=1,table=1)\n"
                  "table=1,tcp actions=ct(commit,table=3,zone=1),"
                  "set_field:1->reg1,goto_table:9",
                  "ct(zone=1),ct(commit,zone=1),102", 1);

    /* No more than there is room for. */
    expect_logged("actions=controller(userdata=06),controller(userdata=06),"
                  "controller(userdata=06),controller(userdata=06),"
                  "controller(userdata=06)", "drop", ADP_MAX_LOG_ITEMS);
}
END_TEST

/* Packet-ins that we answer ourselves, and those that we don't. */
START_TEST(test_answers)
{
    const enum adp_answer none = ADP_ANSWER_NONE;

    expect_answer("actions=controller(reason=no_match,id=1,userdata=04)",
                  "drop", ADP_ANSWER_UNREACHABLE);
    ck_assert(e->verdict.dropped && !e->verdict.n_idle_passes);
    ck_assert_str_eq(engine_run(e, "in_port=1,tcp"), "drop");

    /* The meter protects the controller only, unless something is between. */
    expect_answer("actions=meter:1,controller(userdata=05)", "drop",
                  ADP_ANSWER_PROHIBITED);
    ck_assert_str_eq(run_answering("actions=meter:1,set_field:1->reg0,"
                                   "controller(userdata=05)"), "meter(201)");
    expect_late_answer(0);
    ck_assert_str_eq(run_answering("table=0,ip,actions=meter:1,"
                                   "ct(table=1,zone=1)\n"
                                   "table=1,actions=meter:2,"
                                   "controller(userdata=05),output:2"),
                     "meter(201),ct(zone=1),102");
    expect_late_answer(1);
    /* One that stands behind is none of the answer's. */
    expect_answer("table=0,actions=controller(userdata=05),goto_table:1\n"
                  "table=1,actions=meter:1,output:2",
                  "meter(201),102", ADP_ANSWER_PROHIBITED);
    /* Nor is one in a clone of the datapath's, which drops that alone. */
    expect_answer("table=0,ip,actions=clone(ct(commit,zone=1),resubmit(,1)),"
                  "controller(userdata=05)\ntable=1,actions=meter:1,output:2",
                  "clone(ct(commit,zone=1),meter(201),102)",
                  ADP_ANSWER_PROHIBITED);
    ck_assert_str_eq(run_answering("table=0,actions=clone(resubmit(,1)),"
                                   "controller(userdata=05)\n"
                                   "table=1,actions=meter:1,output:2"),
                     "meter(201),102");
    expect_late_answer(0);
    expect_packet_in("actions=meter:1,controller(userdata=06)", "meter(201),");

    /* The packet may go on. */
    expect_answer("actions=controller(userdata=05),output:2", "102",
                  ADP_ANSWER_PROHIBITED);
    ck_assert(!e->verdict.dropped);
    expect_answer("actions=output:2", "102", none);
    expect_answer("actions=controller(userdata=05),NORMAL", "punt(normal)",
                  none);

    /* An answer and a packet-in. */
    ck_assert_int_eq(strncmp(run_answering("actions=controller(userdata=05),"
                                           "controller(userdata=06)"),
                             "userspace(", 10), 0);
    ck_assert_int_eq(e->verdict.answer, ADP_ANSWER_PROHIBITED);
    ck_assert_uint_eq(e->verdict.n_packet_ins, 1);

    expect_packet_in("actions=controller(userdata=04.05)", "");
    expect_packet_in("actions=controller", "");
    /* Who pauses a packet wants to go on with it. */
    expect_answer("actions=controller(userdata=04,pause)", "punt(controller)",
                  none);
    expect_answer("actions=meter:1,controller(userdata=04,pause)",
                  "punt(controller)", none);
}
END_TEST

START_TEST(test_punts)
{
    expect("actions=NORMAL", TCP, "punt(normal)");
    expect("actions=FLOOD", TCP, "punt(normal)");
    expect("actions=ALL", TCP, "punt(normal)");
    expect("actions=controller(pause)", TCP, "punt(controller)");
    expect("actions=enqueue:2:1", TCP, "punt(action)");
    expect("actions=set_queue:1,output:2", TCP, "punt(action)");
    expect("actions=output(port=2,max_len=100)", TCP, "punt(action)");
    expect("actions=write_actions(output:2)", TCP, "punt(action)");
    expect("actions=push:NXM_NX_REG0[],output:2", TCP, "punt(action)");
    expect("actions=encap(nsh(md_type=1)),output:2", TCP, "punt(action)");
    expect("actions=sample(probability=1,collector_set_id=1),output:2", TCP,
           "punt(action)");
    expect("actions=output:2", "in_port=1,ip,ip_frag=first",
           "punt(fragment)");
    expect("actions=note:01.02,output:2", TCP, "102");
}
END_TEST

START_TEST(test_punt_undoes_all)
{
    expect("table=0,ip actions=learn(table=3,eth_type=0x800),"
           "ct(commit,zone=1,table=1)\n"
           "table=1,priority=7 actions=output:2,goto_table:2\n"
           "table=2,priority=9,tcp actions=output:3,controller(pause)", TCP,
           "punt(controller)");
    ck_assert_uint_eq(e->verdict.actions.size, 0);
    ck_assert_uint_eq(e->verdict.n_hits, 0);
    ck_assert_uint_eq(e->verdict.n_learned, 0);
    ck_assert(!e->verdict.dropped);
    ck_assert_ptr_nonnull(e->verdict.punt_rule);
    ck_assert_int_eq(e->verdict.punt_rule->priority, 9);
    /* The next packet starts afresh. */
    ck_assert_str_eq(engine_run(e, "in_port=1,udp"),
                     "ct(commit,zone=1),102");
}
END_TEST

START_TEST(test_tables)
{
    const char *flows =
        "table=0,priority=10,tcp actions=resubmit(,2),resubmit(,1),output:2\n"
        "table=1,priority=11 actions=output:4,goto_table:3\n"
        "table=2,priority=12,udp actions=output:5\n"
        "table=3,priority=13 actions=load:1->NXM_NX_REG0[]\n"
        "table=3,priority=1 actions=output:6\n";

    expect(flows, TCP, "104,102");
    ck_assert_str_eq(engine_hits(e), "0:10 2:miss 1:11 3:13");
    expect(flows, UDP, "drop");
    ck_assert_str_eq(engine_hits(e), "0:miss");
    ck_assert(e->verdict.dropped);
    ck_assert_int_eq(e->verdict.drop_table, 0);
    ck_assert_ptr_null(e->verdict.drop_rule);
}
END_TEST

/* The same with flows that are added to the bridge. */
static void
expect_then(const char *flows, const char *packet, const char *expected)
{
    engine_add_flows(e, flows);
    ck_assert_str_eq(engine_run(e, packet), expected);
}

/* Only who goes to a table first, by goto_table or by ct() heeds it. */
START_TEST(test_miss_continues)
{
    engine_set_miss(e, 0, OFPUTIL_TABLE_MISS_CONTINUE);
    engine_set_miss(e, 3, OFPUTIL_TABLE_MISS_CONTINUE);
    engine_set_miss(e, 4, OFPUTIL_TABLE_MISS_CONTINUE);
    expect_then("table=1,tcp actions=goto_table:3\n"
                "table=5,priority=5,reg0=0 actions=output:2", TCP, "102");
    ck_assert_str_eq(engine_hits(e), "0:miss 1:32768 3:miss 4:miss 5:5");
    expect_then("table=0,ip actions=ct(table=3,zone=1)", TCP, "ct(zone=1),102");
    ck_assert_str_eq(engine_hits(e), "0:32768 3:miss 4:miss 5:5");
    expect_then("table=0,priority=40000,tcp actions=resubmit(,3),output:4",
                TCP, "104");
    ck_assert_str_eq(engine_hits(e), "0:40000 3:miss");
    ck_assert(!e->verdict.missed);
    /* The table is the one where the rule is. */
    expect_then("table=0,priority=40001,tcp actions=goto_table:3\n"
                "table=5,priority=6,reg0=0 actions=load:1->NXM_NX_REG0[],"
                "resubmit(1)\n"
                "table=5,priority=7,reg0=1 actions=output:7", TCP, "107");
    ck_assert_str_eq(engine_hits(e), "0:40001 3:miss 4:miss 5:6 5:7");
}
END_TEST

/* A controller gets a packet that no flow in table 253 matches. */
static void
expect_told_of_miss(void)
{
    const struct adp_packet_in *pin;

    ck_assert_str_eq(engine_run(e, UDP), "103");
    ck_assert_str_eq(engine_run(e, TCP),
                     "userspace(pid=0,controller(reason=7,dont_send=0,"
                     "continuation=0,recirc_id=0,rule_cookie=0,"
                     "controller_id=0,max_len=65535))");
    ck_assert(!e->verdict.dropped);
    ck_assert_uint_eq(e->verdict.n_packet_ins, 1);
    pin = &e->verdict.packet_ins[0];
    ck_assert_uint_eq(pin->reason, OFPR_IMPLICIT_MISS);
    ck_assert_uint_eq(pin->table_id, 253);
    ck_assert_uint_eq(pin->cookie, 0);
}

START_TEST(test_miss)
{
    expect_then("table=0,tcp actions=goto_table:253\n"
                "table=0,udp actions=resubmit(,253),output:3", TCP, "drop");
    ck_assert(e->verdict.missed);
    engine_set_miss(e, 253, OFPUTIL_TABLE_MISS_DROP);
    ck_assert_str_eq(engine_run(e, TCP), "drop");
    ck_assert(!e->verdict.missed);
    e->sends_misses = true;
    ck_assert_str_eq(engine_run(e, TCP), "drop");
    ck_assert_uint_eq(e->verdict.n_packet_ins, 0);
    e->sends_misses = false;
    engine_set_miss(e, 253, OFPUTIL_TABLE_MISS_CONTROLLER);
    expect_told_of_miss();
    ck_assert(!e->verdict.missed);
    /* There is nothing to continue with. */
    engine_set_miss(e, 253, OFPUTIL_TABLE_MISS_CONTINUE);
    expect_told_of_miss();
    e->no_packet_in_ports = 1 << 1;
    ck_assert_str_eq(engine_run(e, TCP), "drop");
    ck_assert_uint_eq(e->verdict.n_packet_ins, 0);
    /* As old versions of OpenFlow have it. */
    engine_set_miss(e, 253, OFPUTIL_TABLE_MISS_DEFAULT);
    ck_assert_str_eq(engine_run(e, TCP), "drop");
    ck_assert_uint_eq(e->verdict.n_packet_ins, 0);
    e->sends_misses = true;
    expect_told_of_miss();
    ck_assert(e->verdict.missed);
    e->sends_misses = false;
    /* Amid the walk. */
    engine_set_miss(e, 253, OFPUTIL_TABLE_MISS_DEFAULT);
    expect_then("table=0,priority=40000,tcp actions=resubmit(,1),resubmit(,2)\n"
                "table=1 actions=goto_table:253\n"
                "table=2 actions=output:2", TCP, "102");
    ck_assert(e->verdict.missed);
}
END_TEST

START_TEST(test_drop_is_located)
{
    expect("table=0,priority=5 actions=resubmit(,1),resubmit(,2)\n"
           "table=1,priority=6 actions=load:1->NXM_NX_REG0[]\n"
           "table=2,priority=7 actions=drop", TCP, "drop");
    ck_assert(e->verdict.dropped);
    ck_assert_int_eq(e->verdict.drop_table, 2);
    ck_assert_int_eq(e->verdict.drop_rule->priority, 7);
    /* Not dropped: its effect is the commit, yet nothing goes out. */
    expect("ip actions=ct(commit,zone=1)", TCP, "ct(commit,zone=1)");
    ck_assert(e->verdict.dropped);
    expect("actions=output:2", TCP, "102");
    ck_assert(!e->verdict.dropped);
}
END_TEST

START_TEST(test_resubmit_in_port)
{
    /* The port counts for the look-up alone. */
    expect("table=0,in_port=1 actions=resubmit(7,1)\n"
           "table=1,in_port=7 actions=output:7,output:1,goto_table:2\n"
           "table=2,in_port=1 actions=output:3", TCP, "107,103");
    /* The table that the packet is in. */
    expect("table=0 actions=goto_table:4\n"
           "table=4,in_port=1 actions=resubmit:7\n"
           "table=4,in_port=7 actions=output:3", TCP, "103");
}
END_TEST

START_TEST(test_resubmit_ct)
{
    engine_set_ct(e, 1, CS_ESTABLISHED)->nat_dst = inet_addr("10.9.9.9");
    engine_add_flows(e, "table=0,ip actions=ct(table=1,zone=1,nat)\n"
                     "table=1,ip,ct_state=+trk-new-inv "
                     "actions=resubmit(,2,ct),goto_table:3\n"
                     "table=2,ip,nw_dst=10.0.0.2 actions=output:2\n"
                     "table=3,ip,nw_dst=10.9.9.9 actions=output:3");
    ck_assert_str_eq(engine_run(e, TCP), "ct(zone=1,nat),102,103");
    expect("table=0,ip,ct_state=+trk-new-inv "
           "actions=resubmit(,2,ct),output:3\n"
           "table=2 actions=output:2", "in_port=1,tcp,ct_state=trk|est",
           "103");
}
END_TEST

START_TEST(test_changes_live_on_after_resubmit)
{
    expect("table=0 actions=resubmit(,1),output:2\n"
           "table=1,ip actions=mod_nw_ttl:9,load:5->NXM_NX_REG0[]", TCP,
           "set(ipv4(ttl=9)),102");
}
END_TEST

START_TEST(test_exit)
{
    expect("table=0 actions=output:2,resubmit(,1),output:4\n"
           "table=1 actions=output:3,exit,output:5", TCP, "102,103");
}
END_TEST

START_TEST(test_depth)
{
    struct ds flows = DS_EMPTY_INITIALIZER;

    expect("table=0 actions=resubmit(,0)", TCP, "punt(depth)");
    expect("table=0 actions=resubmit(,1),output:2\n"
           "table=1 actions=resubmit(,0),output:3", TCP, "punt(depth)");
    /* Many, but each over once. */
    for (int i = 0; i < 250; i++) {
        ds_put_format(&flows, "table=%d actions=goto_table:%d\n", i, i + 1);
    }
    ds_put_cstr(&flows, "table=250 actions=output:2");
    expect(ds_cstr(&flows), TCP, "102");
    /* 64 steps that don't go forward are fine, 65 are not. */
    for (int n = 64; n <= 65; n++) {
        ds_clear(&flows);
        ds_put_cstr(&flows,
                    "table=0,priority=1 actions=load:1->NXM_NX_REG0[],"
                    "resubmit(,1)\n");
        for (int i = 1; i <= n; i++) {
            ds_put_format(&flows, "table=1,reg0=%d actions=load:%d"
                          "->NXM_NX_REG0[],resubmit(,1)\n", i, i + 1);
        }
        ds_put_format(&flows, "table=1,reg0=%d actions=output:2", n + 1);
        expect(ds_cstr(&flows), TCP, n == 64 ? "102" : "punt(depth)");
    }
    ds_destroy(&flows);
}
END_TEST

START_TEST(test_resubmit_storm)
{
    struct ds flows = DS_EMPTY_INITIALIZER;

    /* 2 to the power of 20 look-ups. */
    for (int i = 0; i < 20; i++) {
        ds_put_format(&flows, "table=%d actions=resubmit(,%d),"
                      "resubmit(,%d)\n", i, i + 1, i + 1);
    }
    ds_put_cstr(&flows, "table=20 actions=load:1->NXM_NX_REG0[]");
    expect(ds_cstr(&flows), TCP, "punt(depth)");
    ds_destroy(&flows);
}
END_TEST

/* Timeouts are the business of who credits the flow, as long as all packets get
 * to the action. */
START_TEST(test_fin_timeout)
{
    expect("tcp actions=fin_timeout(idle_timeout=5),output:2", TCP, "102");
    expect("tcp actions=load:1->NXM_NX_REG0[],mod_dl_dst:00:00:00:00:00:09,"
           "fin_timeout(idle_timeout=5),output:2", TCP,
           "set(eth(dst=00:00:00:00:00:09)),102");
    expect("tcp actions=dec_ttl,fin_timeout(idle_timeout=5),output:2", TCP,
           "punt(action)");
    expect("tcp actions=resubmit(,1),fin_timeout(idle_timeout=5),output:2", TCP,
           "punt(action)");
    expect("tcp actions=clone(fin_timeout(idle_timeout=5),output:2)", TCP,
           "punt(action)");
    expect("tcp actions=exit,fin_timeout(idle_timeout=5)", TCP, "drop");
}
END_TEST

/* The idle timeouts that are the business of who credits a flow with such
 * actions. */
static void
expect_fin_timeouts(const char *actions, const char *expected)
{
    struct ds got = DS_EMPTY_INITIALIZER;
    struct ofpbuf *ofpacts = ofpbuf_new(64);
    struct ofpact_parse_params params = {
        .port_map = NULL, .ofpacts = ofpacts,
    };
    enum ofputil_protocol usable;
    char *copy = xstrdup(actions);

    params.usable_protocols = &usable;
    char *error = ofpacts_parse_actions(copy, &params);
    ck_assert_msg(!error, "%s: %s", actions, error);
    for (const struct ofpact_fin_timeout *fin = NULL;
         (fin = adp_op_next_fin_timeout(ofpacts->data, ofpacts->size, fin))
         != NULL; ) {
        ds_put_format(&got, "%d ", fin->fin_idle_timeout);
    }
    ck_assert_str_eq(ds_cstr(&got), expected);
    ds_destroy(&got);
    ofpbuf_delete(ofpacts);
    free(copy);
}

START_TEST(test_fin_timeouts)
{
    expect_fin_timeouts("", "");
    expect_fin_timeouts("output:1", "");
    expect_fin_timeouts("fin_timeout(idle_timeout=1)", "1 ");
    expect_fin_timeouts("load:1->NXM_NX_REG0[],note:01,"
                        "fin_timeout(idle_timeout=1),mod_dl_dst:"
                        "00:00:00:00:00:09,fin_timeout(idle_timeout=2)",
                        "1 2 ");
    /* Some packets don't get there. */
    expect_fin_timeouts("fin_timeout(idle_timeout=1),exit,"
                        "fin_timeout(idle_timeout=2)", "1 ");
    expect_fin_timeouts("dec_ttl,fin_timeout(idle_timeout=1)", "");
    expect_fin_timeouts("clone(output:1),fin_timeout(idle_timeout=1)", "");
}
END_TEST

START_TEST(test_clone)
{
    /* What happens in there stays there. */
    expect("actions=clone(mod_dl_dst:00:00:00:00:00:09,output:2),output:3",
           TCP, "set(eth(dst=00:00:00:00:00:09)),102,"
           "set(eth(dst=00:00:00:00:00:02)),103");
    expect("table=0 actions=clone(load:1->NXM_NX_REG0[],resubmit(,1)),"
           "resubmit(,1)\n"
           "table=1,reg0=1 actions=output:2\n"
           "table=1,reg0=0 actions=output:3", TCP, "102,103");
    expect("table=0,ip actions=clone(ct(commit,zone=1),output:2),output:3",
           TCP, "clone(ct(commit,zone=1),102),103");
    expect("table=0,ip actions=clone(ct(table=1,zone=1)),output:3\n"
           "table=1 actions=output:2", TCP, "clone(ct(zone=1),102),103");
    expect("table=0 actions=clone(controller(pause)),output:3", TCP,
           "punt(controller)");
}
END_TEST

START_TEST(test_learn)
{
    const char *flows =
        "table=0,tcp actions=load:0xabcd->NXM_NX_REG4[0..15],"
        "learn(table=5,hard_timeout=300,priority=200,delete_learned,"
        "cookie=0x7,eth_type=0x800,nw_proto=6,NXM_OF_TCP_DST[],"
        "NXM_OF_IP_SRC[],load:NXM_NX_REG4[0..15]->NXM_NX_REG4[0..15],"
        "load:1->NXM_NX_REG0[9]),resubmit(,5)\n"
        "table=5,priority=0 actions=output:2";
    const struct ofputil_flow_mod *fm;
    char *match;

    expect(flows, TCP, "102");
    ck_assert_uint_eq(e->verdict.n_learned, 1);
    fm = &e->verdict.learned[0].fm;
    match = minimatch_to_string(&fm->match, NULL, OFP_DEFAULT_PRIORITY);
    ck_assert_str_eq(match, "tcp,nw_src=10.0.0.1,tp_dst=80");
    free(match);
    ck_assert_int_eq(fm->table_id, 5);
    ck_assert_int_eq(fm->priority, 200);
    ck_assert_int_eq(fm->hard_timeout, 300);
    ck_assert_uint_eq(ntohll(fm->new_cookie), 7);
    ck_assert_ptr_eq(e->verdict.learned[0].rule, e->verdict.hits[0].rule);

    /* In force at once. */
    ck_assert_int_eq(adp_learn_table_insert(e->learn,
                                            &e->verdict.learned[0], 1),
                     ADP_LEARN_ADDED_FIRST);
    ck_assert_str_eq(engine_run(e, TCP), "drop");
    ck_assert_str_eq(engine_hits(e), "0:32768 5:200");
    ck_assert_uint_eq(e->flow.regs[0], 1 << 9);
    ck_assert_str_eq(engine_run(e, "in_port=1,tcp,nw_src=10.0.0.3,tp_dst=80"),
                     "102");

    /* The number that flows may reach is known to OpenFlow alone. */
    expect("actions=learn(table=5,limit=2,eth_type=0x800),output:2", TCP,
           "punt(action)");
}
END_TEST

START_TEST(test_trace)
{
    engine_add_group(e, "group_id=3,type=select,bucket=bucket_id:7,"
                     "actions=load:1->NXM_NX_REG0[],resubmit(,9)");
    engine_add_flows(e,
        "table=0,priority=10,ip,cookie=0x55 actions=ct(table=4,zone=1)\n"
        "table=4,priority=20,ct_state=+new actions=dec_ttl,group:3\n"
        "table=9,priority=30 actions=output:1,output:2,output:9000,"
        "goto_table:10");
    e->tracing = true;
    ck_assert_str_eq(engine_run(e, TCP), "ct(zone=1),set(ipv4(ttl=63)),102");
    ck_assert_str_eq(engine_trace(e),
        " 0. priority=10,ip, cookie 0x55\n"
        "    ct(table=4,zone=1)\n"
        "     -> conntrack is asked: zone 1\n"
        "     -> conntrack answers: ct_state=new|trk\n"
        "     -> the packet goes on in table 4\n"
        " 4. priority=20,ct_state=+new\n"
        "    dec_ttl\n"
        "    group:3\n"
        "     -> bucket 7\n"
        "        load:0x1->NXM_NX_REG0[]\n"
        "         -> reg0 is now 0x1\n"
        "        resubmit(,9)\n"
        "     9. priority=30\n"
        "        output:1\n"
        "         -> no output to port 1: it is the input port\n"
        "        output:2\n"
        "         -> output to port 2\n"
        "        output:9000\n"
        "         -> no output to port 9000: it doesn't exist or is down\n"
        "        goto_table:10\n"
        "    10. no match\n");

    ck_assert_str_eq(engine_run(e, ARP), "drop");
    ck_assert_str_eq(engine_trace(e), " 0. no match\nDropped: no output.\n");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("decide");
    TCase *tc = tcase_create("actions");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_matches);
    tcase_add_test(tc, test_output);
    tcase_add_test(tc, test_output_reg);
    tcase_add_test(tc, test_tunnel_output);
    tcase_add_test(tc, test_set_field);
    tcase_add_test(tc, test_registers);
    tcase_add_test(tc, test_tunnel_metadata);
    tcase_add_test(tc, test_arp_reply);
    tcase_add_test(tc, test_vlan);
    tcase_add_test(tc, test_dec_ttl);
    tcase_add_test(tc, test_answers);
    tcase_add_test(tc, test_logs);
    tcase_add_test(tc, test_punts);
    tcase_add_test(tc, test_punt_undoes_all);
    tcase_add_test(tc, test_tables);
    tcase_add_test(tc, test_miss_continues);
    tcase_add_test(tc, test_miss);
    tcase_add_test(tc, test_drop_is_located);
    tcase_add_test(tc, test_resubmit_in_port);
    tcase_add_test(tc, test_resubmit_ct);
    tcase_add_test(tc, test_changes_live_on_after_resubmit);
    tcase_add_test(tc, test_exit);
    tcase_add_test(tc, test_depth);
    tcase_add_test(tc, test_resubmit_storm);
    tcase_add_test(tc, test_fin_timeout);
    tcase_add_test(tc, test_fin_timeouts);
    tcase_add_test(tc, test_clone);
    tcase_add_test(tc, test_learn);
    tcase_add_test(tc, test_trace);
    return test_run_nofork(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* ct() in decide(): what is asked of conntrack, what the packet does with the
 * answer, and the datapath actions that follow. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include "engine-fixture.h"
#include "packets.h"
#include "test-run.h"
#include "util.h"

#define TCP "in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64," \
    "tp_src=1000,tp_dst=80"

static void
expect(const char *flows, const char *expected)
{
    engine_add_flows(e, flows);
    ck_assert_str_eq(engine_run(e, TCP), expected);
}

START_TEST(test_commit)
{
    expect("table=0,ip actions=ct(commit,force,zone=1,exec("
           "set_field:0x5/0xf->ct_mark,"
           "set_field:0x300000000/0xf00000000->ct_label)),output:2",
           "ct(force_commit,zone=1,mark=0x5/0xf,"
           "label=0x300000000/0xf00000000),102");
    ck_assert_uint_eq(e->n_requests, 1);
    ck_assert(e->requests[0].commit);
    ck_assert(e->requests[0].force);
    ck_assert(!e->requests[0].nat);
    ck_assert_uint_eq(e->requests[0].zone, 1);
    ck_assert_uint_eq(e->requests[0].mark, 5);
    ck_assert_uint_eq(e->requests[0].mark_mask, 0xf);
    ck_assert_uint_eq(e->requests[0].label.u64.lo, 0x300000000);
    ck_assert_uint_eq(e->requests[0].label_mask.u64.lo, 0xf00000000);
}
END_TEST

START_TEST(test_mark_from_register)
{
    expect("table=0,ip actions=load:0x3a->NXM_NX_REG0[],"
           "ct(commit,zone=1,exec("
           "move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[4..7],"
           "load:1->NXM_NX_CT_MARK[9],move:NXM_NX_REG0[]->"
           "NXM_NX_CT_LABEL[32..63])),output:2",
           "ct(commit,zone=1,mark=0x2a0/0x2f0,"
           "label=0x3a00000000/0xffffffff00000000),102");
}
END_TEST

START_TEST(test_nat)
{
    expect("table=0,ip actions=ct(commit,zone=1,nat(src=1.1.1.1)),output:2",
           "ct(commit,zone=1,nat(src=1.1.1.1)),102");
    expect("table=0,ip,priority=40000 actions=ct(commit,zone=1,"
           "nat(src=1.1.1.1-1.1.1.9:10-20,random)),output:2",
           "ct(commit,zone=1,nat(src=1.1.1.1-1.1.1.9:10-20,random)),102");
    expect("table=0,ip,priority=40001 actions=ct(commit,zone=1,"
           "nat(dst=2.2.2.2:80,persistent,hash)),output:2",
           "ct(commit,zone=1,nat(dst=2.2.2.2:80,persistent,hash)),102");
    expect("table=0,ip,priority=40002 actions=ct(zone=1,nat),output:2",
           "ct(zone=1,nat),102");
    ck_assert(e->requests[0].nat);
    ck_assert_ptr_nonnull(e->requests[0].nat_spec);
    expect("table=0,ipv6,priority=40003 actions=ct(commit,zone=1,"
           "nat(src=fd00::1-fd00::9)),output:2", "ct(zone=1,nat),102");
    ck_assert_str_eq(engine_run(e, "in_port=1,ipv6"),
                     "ct(commit,zone=1,nat(src=fd00::1-fd00::9)),102");
}
END_TEST

START_TEST(test_zone_from_register)
{
    expect("table=0,ip actions=load:0xfff0->NXM_NX_REG8[0..15],"
           "ct(table=1,zone=NXM_NX_REG8[0..15])\n"
           "table=1,ct_zone=65520,ct_state=+trk actions=output:2",
           "ct(zone=65520),102");
}
END_TEST

START_TEST(test_timeout_and_helper)
{
    expect("table=0,tcp actions=ct(commit,zone=77,alg=ftp),output:2",
           "ct(commit,zone=77,helper=ftp,timeout=tp77),102");
    ck_assert_uint_eq(e->requests[0].alg, 21);
    expect("table=0,tcp,priority=40000 actions=ct(zone=77),output:2",
           "ct(zone=77),102");
}
END_TEST

START_TEST(test_tail)
{
    struct engine_ct *ct = engine_set_ct(e, 1, CS_ESTABLISHED);

    ct->ct_mark = 0x10;
    ct->ct_label.u64.lo = 7;
    expect("table=0,ip actions=load:3->NXM_NX_REG0[],set_field:9->metadata,"
           "set_field:1.1.1.1->tun_dst,resubmit(,1)\n"
           "table=1,ip actions=ct(table=5,zone=1)\n"
           "table=5,ct_state=+est+trk,ct_mark=0x10,ct_label=7,ct_zone=1,"
           "reg0=3,metadata=9,tun_dst=1.1.1.1,in_port=1 actions=output:2",
           "ct(zone=1),102");
    ck_assert_str_eq(engine_hits(e), "0:32768 1:32768 5:32768");
}
END_TEST

START_TEST(test_rewrites_come_before_ct)
{
    expect("table=0,ip actions=mod_dl_dst:00:00:00:00:00:09,dec_ttl,"
           "ct(table=1,zone=1)\n"
           "table=1,dl_dst=00:00:00:00:00:09,ip,nw_ttl=63 "
           "actions=dec_ttl,output:2",
           "set(eth(dst=00:00:00:00:00:09)),set(ipv4(ttl=63)),ct(zone=1),"
           "set(ipv4(ttl=62)),102");
}
END_TEST

/* The change that NAT makes is conntrack's, later ones start from it. */
START_TEST(test_nat_then_rewrite)
{
    struct engine_ct *ct = engine_set_ct(e, 1, CS_NEW | CS_DST_NAT);

    ct->nat_dst = inet_addr("10.9.9.9");
    ct->nat_tp_dst = htons(8080);
    expect("table=0,ip actions=ct(commit,table=1,zone=1,nat(dst=10.9.9.9))\n"
           "table=1,tcp,nw_dst=10.9.9.9,tp_dst=8080,ct_nw_dst=10.0.0.2,"
           "ct_tp_dst=80,ct_state=+dnat+trk+new actions=mod_nw_src:1.2.3.4,"
           "output:2",
           "ct(commit,zone=1,nat(dst=10.9.9.9)),set(ipv4(src=1.2.3.4)),102");
    ck_assert_uint_eq(e->flow.nw_dst, inet_addr("10.9.9.9"));
}
END_TEST

START_TEST(test_chain)
{
    engine_set_ct(e, 1, CS_NEW);
    engine_set_ct(e, 2, CS_ESTABLISHED);
    expect("table=0,ip actions=ct(table=1,zone=1)\n"
           "table=1,ct_state=+new,ip actions=ct(table=2,zone=2)\n"
           "table=2,ct_state=+est-new,ip actions="
           "ct(commit,table=3,zone=2,exec(load:1->NXM_NX_CT_MARK[0]))\n"
           "table=3,ct_mark=1 actions=output:2",
           "ct(zone=1),ct(zone=2),ct(commit,zone=2,mark=0x1/0x1),102");
    /* Each saw what the one before left. */
    ck_assert_uint_eq(e->states_seen[0], 0);
    ck_assert_uint_eq(e->states_seen[1], CS_NEW | CS_TRACKED);
    ck_assert_uint_eq(e->states_seen[2], CS_ESTABLISHED | CS_TRACKED);
}
END_TEST

/* Runs 'packet' through 'actions' between two ct()s.  True if the second can't
 * rely on the connection of the first. */
static bool
forgets(const char *packet, const char *actions)
{
    char *flows = xasprintf("table=0,ip actions=ct(table=1,zone=1)\n"
                            "table=1,ip actions=%s,ct(table=2,zone=1)\n"
                            "table=2 actions=output:4", actions);

    teardown();
    setup();
    engine_add_flows(e, flows);
    free(flows);
    engine_run(e, packet);
    ck_assert_int_eq(e->verdict.punt, ADP_PUNT_NONE);
    ck_assert_uint_eq(e->n_requests, 2);
    ck_assert(!e->requests[0].rewritten);
    return e->requests[1].rewritten;
}

/* As upstream forgets the connection in a packet's metadata. */
START_TEST(test_rewrite_forgets_connection)
{
    ck_assert(forgets(TCP, "mod_nw_src:10.0.0.8"));
    ck_assert(forgets(TCP, "mod_nw_dst:10.0.0.9"));
    ck_assert(forgets(TCP, "mod_tp_src:1001"));
    ck_assert(forgets(TCP, "mod_tp_dst:81"));
    ck_assert(forgets("in_port=1,sctp,nw_src=10.0.0.1,sctp_dst=7",
                      "mod_tp_dst:8"));
    /* There and back. */
    ck_assert(forgets(TCP, "mod_nw_dst:10.0.0.9,output:3,"
                      "mod_nw_dst:10.0.0.2"));
    ck_assert(forgets(TCP, "clone(mod_nw_dst:10.0.0.9,output:3)"));
    ck_assert(forgets(TCP, "output:3,clone(mod_nw_dst:10.0.0.9,output:3)"));

    ck_assert(!forgets(TCP, "mod_nw_dst:10.0.0.2"));
    ck_assert(!forgets(TCP, "mod_nw_dst:10.0.0.9,mod_nw_dst:10.0.0.2"));
    ck_assert(!forgets(TCP, "mod_dl_dst:00:00:00:00:00:09,dec_ttl,"
                       "mod_nw_tos:8,output:3"));
    ck_assert(!forgets("in_port=1,ip,nw_proto=47,nw_dst=10.0.0.2",
                       "mod_tp_dst:7"));
}
END_TEST

START_TEST(test_rewrite_in_fork)
{
    /* The fork's own. */
    expect("table=0,ip actions=ct(table=1,zone=1),ct(table=2,zone=1)\n"
           "table=1,ip actions=mod_nw_dst:10.0.0.9,output:1,output:2\n"
           "table=2 actions=output:3",
           "ct(zone=1),clone(set(ipv4(dst=10.0.0.9)),102),ct(zone=1),103");
    ck_assert(!e->requests[1].rewritten);
    expect("table=0,ip,priority=40000 actions=ct(table=4,zone=1),output:3\n"
           "table=4,ip actions=mod_nw_dst:10.0.0.9,ct(table=5,zone=1)\n"
           "table=5 actions=output:2",
           "ct(zone=1),clone(set(ipv4(dst=10.0.0.9)),ct(zone=1),102),103");
    ck_assert(e->requests[1].rewritten);
}
END_TEST

/* Conntrack would be asked about the type that the packet came with. */
START_TEST(test_rewritten_icmp_type)
{
    engine_add_flows(e, "table=0,icmp actions=set_field:13->icmp_type,"
                     "ct(table=1,zone=1)\n"
                     "table=1 actions=output:2");
    ck_assert_str_eq(engine_run(e, "in_port=1,icmp,icmp_type=8"),
                     "punt(action)");
    ck_assert_str_eq(engine_run(e, "in_port=1,icmp,icmp_type=13"),
                     "ct(zone=1),102");
}
END_TEST

/* Stock parses the packet behind ct(table) anew, and as many tags as it is told
 * to. */
START_TEST(test_vlan_limit)
{
    int limit = flow_vlan_limit;
    const char *tagged = TCP ",dl_vlan=5";

    engine_add_flows(e, "table=0,ip actions=push_vlan:0x8100,"
                     "ct(table=1,zone=1)\n"
                     "table=0,priority=40000,udp actions=push_vlan:0x8100,"
                     "ct(zone=1),output:2\n"
                     "table=1,ip actions=output:2");
    flow_limit_vlans(1);
    adp_decide_set_vlan_limit(1);
    ck_assert_str_eq(engine_run(e, TCP),
                     "push_vlan(vid=0,pcp=0),ct(zone=1),102");
    ck_assert_str_eq(engine_run(e, tagged), "punt(action)");
    ck_assert_str_eq(engine_run(e, "in_port=1,udp,dl_vlan=5"),
                     "push_vlan(vid=0,pcp=0),ct(zone=1),102");
    flow_limit_vlans(2);
    adp_decide_set_vlan_limit(2);
    ck_assert_str_eq(engine_run(e, tagged),
                     "push_vlan(vid=0,pcp=0),ct(zone=1),102");
    flow_limit_vlans(limit);
    adp_decide_set_vlan_limit(limit);
}
END_TEST

/* Each of stock's passes begins by marking a packet whose tunnel met
 * congestion, so one that says otherwise by then is stock's. */
START_TEST(test_congestion)
{
    const char *from_tunnel = TCP ",tun_src=192.0.2.1,tun_dst=192.0.2.2";
    struct {
        const char *tunnel, *packet, *verdict;
    } cases[] = {
        { ",tun_tos=3", ",nw_ecn=3", "ct(zone=1),102" },
        { ",tun_tos=3", ",nw_ecn=2", "punt(action)" },
        { ",tun_tos=3", ",nw_ecn=1", "punt(action)" },
        { ",tun_tos=7", ",nw_ecn=0", "punt(action)" },
        { ",tun_tos=2", ",nw_ecn=1", "ct(zone=1),102" },
        { ",tun_tos=0", ",nw_ecn=0", "ct(zone=1),102" },
    };

    engine_add_flows(e, "table=0,ip actions=ct(table=1,zone=1)\n"
                     "table=0,priority=40000,ip,reg0=1 "
                     "actions=set_field:1->nw_ecn,ct(zone=1,table=1)\n"
                     "table=0,priority=40000,ip,reg0=2 actions=ct(zone=1),"
                     "output:2\n"
                     "table=1,ip actions=output:2");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *flow = xasprintf("%s%s%s", from_tunnel, cases[i].tunnel,
                               cases[i].packet);
        char *kept = xasprintf("%s,reg0=2", flow);

        ck_assert_str_eq(engine_run(e, flow), cases[i].verdict);
        ck_assert_str_eq(engine_run(e, kept), "ct(zone=1),102");
        free(kept);
        free(flow);
    }
    /* Not of a tunnel. */
    ck_assert_str_eq(engine_run(e, TCP ",nw_ecn=2,tun_tos=3"),
                     "ct(zone=1),102");
    /* What was marked already, and isn't any more. */
    ck_assert_str_eq(engine_run(e, TCP ",nw_ecn=3,tun_tos=3,reg0=1,"
                                "tun_dst=192.0.2.2"), "punt(action)");
}
END_TEST

/* Actions that follow go on with the packet as it was, in a fork. */
START_TEST(test_fork)
{
    engine_set_ct(e, 1, CS_NEW)->ct_mark = 5;
    expect("table=0,ip actions=load:1->NXM_NX_REG0[],ct(table=1,zone=1),"
           "mod_nw_ttl:9,output:3,resubmit(,2)\n"
           "table=1,ct_state=+new,ct_mark=5,reg0=1 "
           "actions=load:2->NXM_NX_REG0[],mod_dl_dst:00:00:00:00:00:09,"
           "output:2\n"
           "table=2,ct_state=-trk,ct_mark=0,reg0=1 actions=output:4",
           "ct(zone=1),clone(set(eth(dst=00:00:00:00:00:09)),102),"
           "set(ipv4(ttl=9)),103,104");
    ck_assert_str_eq(engine_hits(e), "0:32768 1:32768 2:32768");
}
END_TEST

/* Nothing may follow in the lists that called either. */
START_TEST(test_fork_by_caller)
{
    expect("table=0 actions=resubmit(,1),output:3\n"
           "table=1,ip actions=ct(table=2,zone=1)\n"
           "table=2 actions=output:2",
           "ct(zone=1),clone(102),103");
    engine_add_group(e, "group_id=1,type=all,bucket=ct(table=2,zone=1),"
                     "bucket=ct(table=2,zone=2)");
    expect("table=0,priority=40000,ip actions=group:1",
           "ct(zone=1),clone(102),ct(zone=2),102");
    expect("table=0,priority=40001,ip actions=group:1,output:4",
           "ct(zone=1),clone(102),ct(zone=2),clone(102),104");
    /* Nothing comes of the fork. */
    expect("table=0,priority=40002,ip actions=ct(table=7,zone=1),output:4",
           "ct(zone=1),104");
}
END_TEST

/* Conntrack would be asked about the packet as the clone has left it. */
START_TEST(test_ct_after_fork_with_ct)
{
    expect("table=0,ip actions=ct(table=1,zone=1),ct(table=2,zone=1)\n"
           "table=1,ip actions=ct(commit,zone=1),output:1\n"
           "table=2 actions=output:2",
           "punt(action)");
    expect("table=0,priority=40000,ip actions="
           "clone(ct(table=2,zone=1)),ct(table=2,zone=1)",
           "punt(action)");
}
END_TEST

START_TEST(test_fork_exit)
{
    expect("table=0,ip actions=ct(table=1,zone=1),output:3\n"
           "table=1 actions=output:2,exit", "ct(zone=1),clone(102),103");
}
END_TEST

/* Behind ct() it ends what that began, in the clone's own pass all. */
START_TEST(test_clone_exit)
{
    expect("table=0,ip actions=clone(ct(table=1,zone=1)),output:3\n"
           "table=1 actions=output:2,exit", "clone(ct(zone=1),102),103");
    expect("table=0,priority=40000,ip actions="
           "clone(ct(commit,zone=1),output:2,exit),output:3",
           "clone(ct(commit,zone=1),102)");
    expect("table=0,priority=40001,ip actions="
           "clone(ct(commit,zone=1),resubmit(,1)),output:3",
           "clone(ct(commit,zone=1),102)");
}
END_TEST

/* The look-ups before a clone's ct() count on behind the clone. */
START_TEST(test_clone_resubmits)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    /* Twice 2,550 look-ups are more than stock's 4,096. */
    ds_put_cstr(&s, "table=0,ip actions=resubmit(,1),"
                "clone(ct(table=4,zone=1)),resubmit(,1),output:3\n"
                "table=1 actions=");
    for (int i = 0; i < 50; i++) {
        ds_put_format(&s, "%sresubmit(,2)", i ? "," : "");
    }
    ds_put_cstr(&s, "\ntable=2 actions=");
    for (int i = 0; i < 50; i++) {
        ds_put_format(&s, "%sresubmit(,3)", i ? "," : "");
    }
    ds_put_cstr(&s, "\ntable=3 actions=drop\ntable=4 actions=drop");
    expect(ds_cstr(&s), "punt(depth)");
    ds_destroy(&s);
}
END_TEST

START_TEST(test_without_table)
{
    engine_set_ct(e, 1, CS_NEW);
    expect("table=0,ip actions=ct(zone=1),resubmit(,1)\n"
           "table=1,ct_state=-trk actions=output:2", "ct(zone=1),102");
    /* OpenFlow forgets, the packet's metadata don't. */
    expect("table=0,ip,priority=40000 actions=ct(zone=1),ct(table=1,zone=2)\n"
           "table=1,priority=40000,ct_state=+trk actions=output:3",
           "ct(zone=1),ct(zone=2),103");
    ck_assert_uint_eq(e->states_seen[1], CS_NEW | CS_TRACKED);
}
END_TEST

START_TEST(test_nat_without_table)
{
    engine_set_ct(e, 1, CS_NEW)->nat_src = inet_addr("9.9.9.9");
    expect("table=0,ip actions=ct(commit,zone=1,nat(src=9.9.9.9)),output:2",
           "ct(commit,zone=1,nat(src=9.9.9.9)),102");
    /* Here nobody can tell what the second one will see. */
    expect("table=0,ip,priority=40000 actions="
           "ct(commit,zone=1,nat(src=9.9.9.9)),ct(table=1,zone=2)",
           "punt(action)");
}
END_TEST

START_TEST(test_ct_clear)
{
    expect("table=0,ip actions=ct(table=1,zone=1)\n"
           "table=1,ct_state=+trk actions=ct_clear,resubmit(,2)\n"
           "table=2,ct_state=-trk,ip actions=output:2,ct(table=3,zone=2)\n"
           "table=3 actions=output:3",
           "ct(zone=1),ct_clear,102,ct(zone=2),103");
    ck_assert_uint_eq(e->states_seen[1], 0);
    /* There is nothing to clear. */
    expect("table=0,priority=40000 actions=ct_clear,output:2", "102");
}
END_TEST

START_TEST(test_punt_of_conntrack)
{
    engine_set_ct(e, 1, CS_NEW)->punt = ADP_PUNT_ALG;
    expect("table=0,ip actions=output:2,ct(table=1,zone=1)", "punt(alg)");
    expect("table=0,ip,priority=40000 actions=ct(zone=1),output:2",
           "punt(alg)");
    expect("table=0,ip,priority=40001 actions=ct(table=1,zone=1),output:2",
           "punt(alg)");
    ck_assert_uint_eq(e->verdict.n_hits, 0);
}
END_TEST

/* Stock gives up after some recirculations: it knows best how many. */
START_TEST(test_endless)
{
    expect("table=0,ip actions=ct(table=0,zone=1)", "punt(depth)");
    expect("table=0,ip,priority=40000 actions=ct(table=0,zone=1),output:2",
           "punt(depth)");
}
END_TEST

/* How often stock would count the packet as dropped. */
static void
expect_idle_passes(const char *flows, size_t n)
{
    engine_destroy(e);
    e = engine_create();
    engine_add_group(e, "group_id=1,type=all,bucket=ct(table=7,zone=1),"
                     "bucket=ct(table=7,zone=2)");
    engine_add_group(e, "group_id=2,type=select,bucket=resubmit(,7)");
    engine_add_group(e, "group_id=3,type=select,bucket=weight=1,resubmit(,7),"
                     "bucket=weight=256,resubmit(,7)");
    engine_add_group(e, "group_id=4,type=select,selection_method=hash,"
                     "bucket=resubmit(,7)");
    engine_add_flows(e, flows);
    engine_run(e, TCP);
    ck_assert_int_eq(e->verdict.punt, ADP_PUNT_NONE);
    ck_assert_uint_eq(e->verdict.n_idle_passes, n);
}

START_TEST(test_idle_passes)
{
    expect_idle_passes("actions=output:2", 0);
    expect_idle_passes("actions=drop", 1);
    expect_idle_passes("actions=output:1", 1);
    expect_idle_passes("actions=group:9", 1);
    expect_idle_passes("ip actions=mod_nw_ttl:9,resubmit(,1)", 1);
    /* What is done to conntrack is an action; a pass has its own. */
    expect_idle_passes("ip actions=ct(commit,zone=1)", 0);
    expect_idle_passes("ip actions=ct(table=1,zone=1)", 1);
    expect_idle_passes("ip actions=ct(table=1,zone=1)\n"
                       "table=1 actions=ct_clear", 0);
    expect_idle_passes("table=0,ip actions=ct(table=1,zone=1)\n"
                       "table=1,ip actions=ct(table=2,zone=2)\n"
                       "table=2,ip actions=mod_nw_ttl:9", 1);
    /* So has that of a fork. */
    expect_idle_passes("table=0,ip actions=ct(table=1,zone=1),output:2\n"
                       "table=1 actions=drop", 1);
    expect_idle_passes("table=0,ip actions=ct(table=1,zone=1),output:2\n"
                       "table=1 actions=output:3", 0);
    expect_idle_passes("table=0,ip actions=ct(table=1,zone=1),resubmit(,2)\n"
                       "table=1 actions=output:3", 0);
    expect_idle_passes("ip actions=group:1", 2);
    expect_idle_passes("ip actions=group:1,output:2", 2);
    /* And the one in which the packet has a hash, made for a group. */
    expect_idle_passes("actions=output:2,group:2", 1);
    expect_idle_passes("actions=output:2,group:2,output:3,group:2", 0);
    expect_idle_passes("actions=output:2,group:3", 0);
    expect_idle_passes("actions=output:2,group:4", 0);
    expect_idle_passes("ip actions=clone(ct(table=7,zone=1))", 1);
    expect_idle_passes("ip actions=clone(ct(table=7,zone=1)),output:2", 1);
    expect_idle_passes("ip actions=clone(ct(commit,zone=1))", 0);
    expect_idle_passes("ip actions=clone(output:2),resubmit(,7)", 0);
    expect_idle_passes("ip actions=clone(resubmit(,7)),resubmit(,7)", 1);
}
END_TEST

/* Depth counts anew after each conntrack pass. */
START_TEST(test_depth_after_ct)
{
    struct ds flows = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&flows, "table=0,ip actions=load:1->NXM_NX_REG0[],"
                "goto_table:1\n");
    for (int i = 1; i <= 60; i++) {
        ds_put_format(&flows, "table=1,reg0=%d actions=load:%d"
                      "->NXM_NX_REG0[],resubmit(,1)\n", i, i + 1);
    }
    ds_put_cstr(&flows, "table=1,reg0=61,ct_state=-trk,ip actions="
                "load:1->NXM_NX_REG0[],ct(table=1,zone=1)\n"
                "table=1,reg0=61,ct_state=+trk actions=output:2");
    expect(ds_cstr(&flows), "ct(zone=1),102");
    ds_destroy(&flows);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("decide-ct");
    TCase *tc = tcase_create("ct");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_commit);
    tcase_add_test(tc, test_mark_from_register);
    tcase_add_test(tc, test_nat);
    tcase_add_test(tc, test_zone_from_register);
    tcase_add_test(tc, test_timeout_and_helper);
    tcase_add_test(tc, test_tail);
    tcase_add_test(tc, test_rewrites_come_before_ct);
    tcase_add_test(tc, test_nat_then_rewrite);
    tcase_add_test(tc, test_chain);
    tcase_add_test(tc, test_rewrite_forgets_connection);
    tcase_add_test(tc, test_rewrite_in_fork);
    tcase_add_test(tc, test_rewritten_icmp_type);
    tcase_add_test(tc, test_vlan_limit);
    tcase_add_test(tc, test_congestion);
    tcase_add_test(tc, test_fork);
    tcase_add_test(tc, test_fork_by_caller);
    tcase_add_test(tc, test_ct_after_fork_with_ct);
    tcase_add_test(tc, test_fork_exit);
    tcase_add_test(tc, test_clone_exit);
    tcase_add_test(tc, test_clone_resubmits);
    tcase_add_test(tc, test_without_table);
    tcase_add_test(tc, test_nat_without_table);
    tcase_add_test(tc, test_ct_clear);
    tcase_add_test(tc, test_punt_of_conntrack);
    tcase_add_test(tc, test_endless);
    tcase_add_test(tc, test_depth_after_ct);
    tcase_add_test(tc, test_idle_passes);
    return test_run_nofork(s);
}

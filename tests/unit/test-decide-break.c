/* SPDX-License-Identifier: Apache-2.0 */

/* Meters and controllers in verdicts: what decide() emits for them, and where it
 * has execution pause. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include "engine-fixture.h"
#include "openflow/openflow-common.h"
#include "openvswitch/ofp-actions.h"
#include "test-run.h"
#include "util.h"

#define TCP "in_port=1,tcp,dl_src=00:00:00:00:00:01,dl_dst=00:00:00:00:00:02" \
    ",nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,tp_src=1000,tp_dst=80"
#define TTL_1 "in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=1"

/* The userspace action for a controller. */
#define PACKET_IN(REASON, COOKIE, ID, MAX_LEN)                              \
    "userspace(pid=0,controller(reason=" #REASON ",dont_send=0,"            \
    "continuation=0,recirc_id=0,rule_cookie=" COOKIE ",controller_id=" #ID  \
    ",max_len=" #MAX_LEN "))"
#define METERED(ID, ACTION) \
    "sample(sample=100.0%,actions(meter(" #ID ")," ACTION "))"

static void
expect(const char *flows, const char *packet, const char *expected)
{
    engine_destroy(e);
    e = engine_create();
    engine_set_ct(e, 1, CS_NEW);
    engine_add_flows(e, flows);
    ck_assert_str_eq(engine_run(e, packet), expected);
}

/* Meters. */

START_TEST(meters)
{
    expect("actions=meter:1,output:2", TCP, "meter(201),102");
    expect("table=0 actions=output:2,resubmit(,1),output:4\n"
           "table=1 actions=meter:1,output:3", TCP, "102,meter(201),103,104");
    /* It sees the packet as it came: what was set so far is set behind it. */
    expect("table=0 actions=set_field:00:00:00:00:00:09->eth_dst,goto_table:1\n"
           "table=1 actions=meter:1,output:2", TCP, "meter(201),set(eth(dst=00:00:00:00:00:09)),102");
    /* Nothing goes out, but stock doesn't call that a drop of the pipeline. */
    expect("actions=meter:1", TCP, "meter(201)");
    ck_assert(e->verdict.dropped);
    ck_assert_uint_eq(e->verdict.n_idle_passes, 0);
    ck_assert_uint_eq(e->verdict.n_breaks, 0);
    /* OpenFlow knows none: all pass. */
    expect("actions=meter:9000,output:2", TCP, "102");
    expect("table=0 actions=meter:1,resubmit(,1),output:2\n"
           "table=1 actions=meter:2", TCP, "meter(201),meter(202),102");
}
END_TEST

/* What is logged and waits does both, and to wait is no idle pass. */
static void
expect_held_and_logged(void)
{
    static const struct adp_log_layout layout = { .table = { 2, 0, 8 } };

    engine_set_log(e, 1, ADP_ANSWER_NONE, &layout);
    engine_add_flows(e, "priority=39999,tcp actions=controller(userdata=01),"
                     "controller(userdata=02,pause)");
    engine_run(e, TCP);
    ck_assert(e->verdict.held && e->verdict.dropped);
    ck_assert_uint_eq(e->verdict.n_logs, 1);
    ck_assert_uint_eq(e->verdict.n_idle_passes, 0);
}

/* A packet that waits for the daemon, not for a controller, goes on where it would
 * when resumed; what else is paused does not. */
START_TEST(held)
{
    static const char flows[] =
        "actions=meter:1,controller(userdata=02,pause),output:2";

    expect(flows, TCP, "punt(controller)");
    ck_assert_int_eq(e->verdict.punt, ADP_PUNT_CONTROLLER);
    engine_set_answer(e, 2, ADP_ANSWER_HOLD);
    ck_assert_str_eq(engine_run(e, TCP), "102");
    ck_assert(e->verdict.held && !e->verdict.punt && !e->verdict.answer);
    expect_held_and_logged();

    engine_add_flows(e, "priority=40000,tcp actions=controller(userdata=02),"
                     "output:2");
    engine_run(e, TCP);
    ck_assert(!e->verdict.held);
    ck_assert_uint_eq(e->verdict.n_packet_ins, 1);
    engine_add_flows(e, "priority=40001,tcp actions="
                     "controller(userdata=03,pause),output:2");
    engine_run(e, TCP);
    ck_assert_int_eq(e->verdict.punt, ADP_PUNT_CONTROLLER);
}
END_TEST

/* What the daemon reads goes on, and counts as the packet-in that it was; a paused
 * one is none of these. */
START_TEST(read_by_the_daemon)
{
    engine_set_answer(e, 3, ADP_ANSWER_READ);
    engine_add_flows(e, "actions=controller(userdata=03),output:2");
    ck_assert_str_eq(engine_run(e, TCP), "102");
    ck_assert(e->verdict.read && !e->verdict.held && !e->verdict.answer);
    ck_assert_uint_eq(e->verdict.n_packet_ins, 0);
    engine_add_flows(e, "priority=40000,tcp actions=controller(userdata=03)");
    ck_assert_str_eq(engine_run(e, TCP), "drop");
    ck_assert(e->verdict.read);

    engine_add_flows(e, "priority=40001,tcp actions="
                     "controller(userdata=03,pause),output:2");
    engine_run(e, TCP);
    ck_assert(!e->verdict.read);
    ck_assert_int_eq(e->verdict.punt, ADP_PUNT_CONTROLLER);
}
END_TEST

/* A clone is one to the datapath where conntrack is in it. */
START_TEST(meter_in_clone)
{
    expect("table=0 actions=clone(resubmit(,1)),output:3\n"
           "table=1 actions=meter:1,output:2", TCP, "meter(201),102,103");
    expect("table=0,tcp actions=clone(ct(zone=1),resubmit(,1)),output:3\n"
           "table=1 actions=meter:1,output:2", TCP,
           "clone(ct(zone=1),meter(201),102),103");
    ck_assert_uint_eq(e->verdict.n_breaks, 0);
    /* What it drops is not the packet. */
    expect("table=0,udp actions=clone(ct(zone=1),resubmit(,1)),"
           "group:1\n"
           "table=1 actions=meter:1,output:2", TCP, "drop");
    engine_add_group(e, "group_id=1,type=select,selection_method=dp_hash,"
                     "bucket=output:3");
    ck_assert_str_eq(engine_run(e, "in_port=1,udp"),
                     "clone(ct(zone=1),meter(201),102),103");
    ck_assert_uint_eq(e->verdict.n_breaks, 0);
}
END_TEST

START_TEST(meter_and_ct)
{
    const struct adp_break *b = &e->verdict.breaks[0];

    /* Behind: it drops what conntrack has seen. */
    expect("table=0,tcp actions=ct(zone=1,table=1)\n"
           "table=1 actions=meter:1,output:2", TCP,
           "ct(zone=1),meter(201),102");
    ck_assert_uint_eq(e->verdict.n_breaks, 0);
    /* Without a table there is no other pass. */
    expect("table=0,tcp actions=meter:1,ct(commit,zone=1),output:2", TCP,
           "meter(201),ct(commit,zone=1),102");
    ck_assert_uint_eq(e->verdict.n_breaks, 0);

    /* Before: table 1 counts what the meter has let pass. */
    expect("table=0,tcp actions=meter:1,learn(table=9,eth_type=0x800),"
           "resubmit(,1)\n"
           "table=1,tcp actions=ct(commit,zone=1,table=2)\n"
           "table=2,tcp actions=learn(table=9,eth_type=0x86dd),output:2", TCP,
           "meter(201),ct(commit,zone=1),102");
    b = &e->verdict.breaks[0];
    ck_assert_uint_eq(e->verdict.n_breaks, 1);
    ck_assert_uint_eq(b->packet_in, SIZE_MAX);
    ck_assert_uint_eq(b->start, 8);
    ck_assert_uint_eq(b->end, 8);
    ck_assert_uint_eq(b->n_hits, 2);
    ck_assert_uint_eq(e->verdict.n_hits, 3);
    ck_assert_uint_eq(b->n_learned, 1);
    ck_assert_uint_eq(e->verdict.n_learned, 2);
    ck_assert_uint_eq(b->n_idle_passes, 0);

    /* Once for each. */
    expect("table=0,tcp actions=meter:1,ct(zone=1,table=1)\n"
           "table=1,tcp actions=meter:2,ct(zone=1,table=2)\n"
           "table=2,ip actions=ct(zone=1,table=3)\n"
           "table=3 actions=drop", TCP,
           "meter(201),ct(zone=1),meter(202),ct(zone=1),ct(zone=1)");
    ck_assert_uint_eq(e->verdict.n_breaks, 2);
    ck_assert_uint_eq(e->verdict.breaks[1].n_hits, 2);
    ck_assert_uint_eq(e->verdict.n_hits, 4);
    ck_assert_uint_eq(e->verdict.n_idle_passes, 1);
}
END_TEST

/* Where execution couldn't tell what counts. */
START_TEST(meter_punts)
{
    expect("table=0,tcp actions=meter:1,ct(zone=1,table=1),output:2\n"
           "table=1 actions=output:3", TCP, "punt(meter)");
    expect("table=0,tcp actions=clone(ct(zone=1),resubmit(,2)),output:2\n"
           "table=2,tcp actions=meter:1,group:1\n"
           "table=1 actions=output:3", TCP,
           "clone(ct(zone=1),meter(201)),102");
    engine_add_group(e, "group_id=1,type=select,selection_method=dp_hash,"
                     "bucket=output:3");
    ck_assert_str_eq(engine_run(e, TCP), "punt(meter)");
    expect("table=0,tcp actions=meter:1,clone(ct(zone=1,table=1)),output:2\n"
           "table=1 actions=output:3", TCP, "punt(meter)");
    expect("table=0,tcp actions=set_field:1.1.1.1->tun_dst,output:10,"
           "resubmit(,2)\ntable=2,tcp actions=meter:1,ct(zone=1,table=1)\n"
           "table=1 actions=output:3", TCP,
           "punt(meter)");
    /* The meter of a fork is the fork's. */
    expect("table=0,tcp actions=ct(zone=1,table=1),ct(zone=1,table=2)\n"
           "table=1 actions=meter:1,output:3\n"
           "table=2 actions=output:2", TCP,
           "ct(zone=1),clone(meter(201),103),ct(zone=1),102");
    ck_assert_uint_eq(e->verdict.n_breaks, 0);
    expect("table=0,tcp actions=ct(zone=1,table=1),output:2\n"
           "table=1 actions=meter:1,output:3", TCP,
           "ct(zone=1),clone(meter(201),103),102");
}
END_TEST

START_TEST(meter_before_a_hashed_group)
{
    engine_add_group(e, "group_id=1,type=select,selection_method=dp_hash,"
                     "bucket=output:2");
    engine_add_flows(e, "actions=meter:1,group:1");
    ck_assert_str_eq(engine_run(e, TCP), "meter(201),102");
    ck_assert_uint_eq(e->verdict.n_breaks, 1);
    ck_assert_uint_eq(e->verdict.breaks[0].n_hits, 1);
    ck_assert_uint_eq(e->verdict.n_hits, 2);
}
END_TEST

/* Controllers. */

static const struct adp_packet_in *
packet_in(size_t i)
{
    ck_assert_uint_lt(i, e->verdict.n_breaks);
    ck_assert_uint_lt(e->verdict.breaks[i].packet_in,
                      e->verdict.n_packet_ins);
    return &e->verdict.packet_ins[e->verdict.breaks[i].packet_in];
}

START_TEST(controllers)
{
    const struct adp_packet_in *pin;

    expect("priority=5,cookie=0x77 actions=controller(max_len=100,id=3,"
           "reason=no_match,userdata=01.02.03),output:2", TCP,
           PACKET_IN(0, "0x77", 3, 100) ",102");
    pin = packet_in(0);
    ck_assert_uint_eq(pin->controller_id, 3);
    ck_assert_uint_eq(pin->max_len, 100);
    ck_assert_uint_eq(pin->reason, OFPR_NO_MATCH);
    ck_assert_uint_eq(ntohll(pin->cookie), 0x77);
    ck_assert_uint_eq(pin->table_id, 0);
    ck_assert_uint_eq(pin->meter_id, UINT32_MAX);
    ck_assert_uint_eq(pin->userdata_len, 3);
    ck_assert_mem_eq(pin->userdata, "\1\2\3", 3);
    ck_assert_uint_eq(e->verdict.breaks[0].start, 0);
    ck_assert_uint_eq(e->verdict.actions.size - e->verdict.breaks[0].end, 8);
    ck_assert(!e->verdict.dropped);

    /* It alone is no drop. */
    expect("priority=5 actions=controller", TCP,
           PACKET_IN(1, "0", 0, 65535));
    ck_assert(!e->verdict.dropped);
    ck_assert_uint_eq(e->verdict.n_idle_passes, 0);
    ck_assert_uint_eq(packet_in(0)->userdata_len, 0);
    /* Nor is it that of a flow for all that no other flow matches. */
    expect("priority=0 actions=controller", TCP,
           PACKET_IN(6, "0", 0, 65535));
    ck_assert_uint_eq(packet_in(0)->reason, OFPR_EXPLICIT_MISS);
    expect("priority=0,tcp actions=controller", TCP,
           PACKET_IN(1, "0", 0, 65535));
    expect("priority=0 actions=controller(reason=no_match)", TCP,
           PACKET_IN(0, "0", 0, 65535));
    expect("priority=5 actions=load:0xfffd->NXM_NX_REG1[],"
           "output:NXM_NX_REG1[]", TCP, PACKET_IN(1, "0", 0, 65535));
}
END_TEST

/* It gets the packet, and its metadata, as they are at that point. */
START_TEST(metadata)
{
    const struct adp_packet_in *pin;

    engine_set_ct(e, 1, CS_NEW)->ct_mark = 9;
    engine_add_flows(e,
        "table=0,priority=5,tcp actions=load:4->NXM_NX_REG3[],"
        "ct(zone=1,table=7)\n"
        "table=7,priority=5,cookie=5 actions=dec_ttl,controller(userdata=01),"
        "load:5->NXM_NX_REG3[],dec_ttl,ct_clear,controller,output:2");
    ck_assert_str_eq(engine_run(e, TCP),
        "ct(zone=1),set(ipv4(ttl=63))," PACKET_IN(1, "0x5", 0, 65535)
        ",ct_clear,set(ipv4(ttl=62))," PACKET_IN(1, "0x5", 0, 65535) ",102");
    pin = packet_in(0);
    ck_assert_uint_eq(pin->table_id, 7);
    ck_assert_uint_eq(pin->flow.regs[3], 4);
    ck_assert_uint_eq(pin->flow.ct_mark, 9);
    ck_assert_uint_eq(pin->flow.ct_state, CS_NEW | CS_TRACKED);
    ck_assert_uint_eq(pin->flow.in_port.ofp_port, u16_to_ofp(1));
    pin = packet_in(1);
    ck_assert_uint_eq(pin->flow.regs[3], 5);
    ck_assert_uint_eq(pin->flow.ct_state, 0);
    ck_assert_uint_eq(pin->flow.ct_mark, 0);
    ck_assert_uint_eq(e->verdict.breaks[1].end + 8, e->verdict.actions.size);
}
END_TEST

START_TEST(metered_controllers)
{
    expect("priority=5 actions=controller(meter_id=6)", TCP,
           METERED(206, PACKET_IN(1, "0", 0, 65535)));
    ck_assert_uint_eq(packet_in(0)->meter_id, 206);
    /* The meter of all that have none. */
    e->controller_meter = 300;
    ck_assert_uint_eq(packet_in(0)->meter_id, 206);
    engine_add_flows(e, "priority=6 actions=controller");
    engine_run(e, TCP);
    ck_assert_str_eq(engine_run(e, TCP),
                     METERED(300, PACKET_IN(1, "0", 0, 65535)));
    ck_assert_uint_eq(packet_in(0)->meter_id, 300);
    /* A meter before drops the packet itself. */
    expect("priority=5 actions=meter:1,controller,output:2", TCP,
           "meter(201)," PACKET_IN(1, "0", 0, 65535) ",102");
    ck_assert_uint_eq(packet_in(0)->meter_id, UINT32_MAX);
}
END_TEST

START_TEST(time_is_up)
{
    expect("priority=5 actions=dec_ttl,output:2", TTL_1,
           PACKET_IN(2, "0", 0, 65535));
    expect("table=0,priority=5,cookie=3 actions=resubmit(,1),output:2\n"
           "table=1,priority=5,cookie=4 actions=dec_ttl(5,6),output:3", TTL_1,
           PACKET_IN(2, "0x4", 5, 65535) "," PACKET_IN(2, "0x4", 6, 65535)
           ",102");
    ck_assert_uint_eq(e->verdict.n_packet_ins, 2);
}
END_TEST

/* What it is told about a group's bucket. */
START_TEST(bucket)
{
    engine_add_group(e, "group_id=1,type=all,bucket=controller,"
                     "bucket=resubmit(,1)");
    engine_add_flows(e, "table=0,priority=5,cookie=9 actions=group:1\n"
                     "table=1,priority=5 actions=controller");
    ck_assert_str_eq(engine_run(e, TCP), PACKET_IN(4, "0x9", 0, 65535) ","
                     PACKET_IN(1, "0", 0, 65535));
}
END_TEST

/* In a clone of the datapath's execution can't pause; nor without end. */
START_TEST(controller_punts)
{
    expect("actions=clone(controller,output:2),output:3", TCP,
           PACKET_IN(1, "0", 0, 65535) ",102,103");
    expect("table=0,tcp actions=clone(controller,ct(zone=1)),output:3", TCP,
           "punt(controller)");
    expect("table=0,tcp actions=ct(zone=1,table=1),output:3\n"
           "table=1 actions=controller", TCP, "punt(controller)");
    expect("table=0,tcp actions=clone(ct(zone=1)),controller,output:3", TCP,
           "clone(ct(zone=1))," PACKET_IN(1, "0", 0, 65535) ",103");
    expect("priority=5 actions=controller,controller,controller,controller",
           TCP, PACKET_IN(1, "0", 0, 65535) "," PACKET_IN(1, "0", 0, 65535)
           "," PACKET_IN(1, "0", 0, 65535) "," PACKET_IN(1, "0", 0, 65535));
    expect("priority=5 actions=controller,controller,controller,controller,"
           "controller", TCP, "punt(controller)");
    /* The next one starts afresh. */
    ck_assert_uint_eq(e->verdict.n_breaks, 0);
    ck_assert_uint_eq(e->verdict.n_packet_ins, 0);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("decide-break");
    TCase *tc = tcase_create("break");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, meters);
    tcase_add_test(tc, held);
    tcase_add_test(tc, read_by_the_daemon);
    tcase_add_test(tc, meter_in_clone);
    tcase_add_test(tc, meter_and_ct);
    tcase_add_test(tc, meter_punts);
    tcase_add_test(tc, meter_before_a_hashed_group);
    tcase_add_test(tc, controllers);
    tcase_add_test(tc, metadata);
    tcase_add_test(tc, metered_controllers);
    tcase_add_test(tc, time_is_up);
    tcase_add_test(tc, bucket);
    tcase_add_test(tc, controller_punts);
    return test_run_nofork(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Transactions on the typed state of a bridge. */

#include <config.h>

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge.h"
#include "adp-state.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "state-world.h"
#include "test-run.h"
#include "util.h"

/* Tests. */

START_TEST(test_static_flows_are_there_at_once)
{
    ck_assert_uint_eq(shash_count(&bridge.flows), 1);
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW0), "0x1 drop");
    ck_assert_uint_eq(adp_state_generation(state), 0);
}
END_TEST

START_TEST(test_transaction_changes_only_what_differs)
{
    transact("[" POD1 "," POD2 "]", NULL);
    expect_mods("add " FLOW1 "\nadd " FLOW2);
    ck_assert_uint_eq(bridge.n_commits, 1);
    ck_assert_uint_eq(adp_state_generation(state), 1);

    /* The same again touches nothing. */
    transact("[" POD1 "]", NULL);
    expect_mods("");
    ck_assert_uint_eq(bridge.n_commits, 1);

    /* Another action keeps the flow's counters. */
    transact("[" POD1_MAC "]", NULL);
    expect_mods("modify " FLOW1);
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW1),
                     "0x1 set_field:00:00:00:00:00:ff->eth_dst,goto_table:2");

    transact(NULL, "[" KEY("Pod", "a/2") "]");
    expect_mods("delete " FLOW2);
    ck_assert_uint_eq(shash_count(&bridge.flows), 2);
}
END_TEST

START_TEST(test_one_call_applies_and_deletes)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);
    transact("[" POD2 "]", "[" KEY("Pod", "a/1") "]");
    expect_mods("add " FLOW2 "\ndelete " FLOW1);
    ck_assert_uint_eq(bridge.n_commits, 2);
    ck_assert_uint_eq(adp_state_generation(state), 2);
}
END_TEST

START_TEST(test_groups_follow)
{
    transact("[" GROUP("9", "\"10.0.0.1\"") "]", NULL);
    expect_mods("put group 9\nadd table=2,priority=9");
    ck_assert_str_eq(shash_find_data(&bridge.groups, "9"), "1");

    transact("[" GROUP("9", "\"10.0.0.1\",\"10.0.0.2\"") "]", NULL);
    expect_mods("put group 9");
    ck_assert_str_eq(shash_find_data(&bridge.groups, "9"), "2");

    transact(NULL, "[" KEY("AddressGroup", "9") "]");
    expect_mods("delete group 9\ndelete table=2,priority=9");
    ck_assert(shash_is_empty(&bridge.groups));
}
END_TEST

START_TEST(test_replace)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);
    ck_assert_ptr_null(transact__(true, "[" POD2 "]", NULL, NULL, NULL));
    expect_mods("add " FLOW2 "\ndelete " FLOW1);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 1);

    ck_assert_ptr_null(transact__(true, "[]", NULL, NULL, NULL));
    expect_mods("delete " FLOW2);
    ck_assert_uint_eq(adp_state_generation(state), 3);
}
END_TEST

START_TEST(test_generation_guards)
{
    uint64_t generation = 0;

    ck_assert_ptr_null(transact__(false, "[" POD1 "]", NULL, &generation,
                                  NULL));
    expect_mods("add " FLOW1);
    ck_assert_str_eq(transact__(false, "[" POD2 "]", NULL, &generation,
                                "generation 1, not 0"), "conflict");
    expect_mods("");
    ck_assert_uint_eq(adp_state_generation(state), 1);
    generation = 1;
    ck_assert_ptr_null(transact__(false, "[" POD2 "]", NULL, &generation,
                                  NULL));
}
END_TEST

START_TEST(test_empty_call_is_no_change)
{
    transact("[]", "[]");
    transact(NULL, NULL);
    ck_assert_uint_eq(adp_state_generation(state), 0);
    ck_assert_uint_eq(bridge.n_commits, 0);
}
END_TEST

START_TEST(test_bad_record_changes_nothing)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);
    expect_failure("[" POD2 ",{\"kind\":\"Frob\",\"name\":\"x\"}]",
                   "[" KEY("Pod", "a/1") "]", "invalid", "Frob");
    expect_failure("[" POD2 "]", "[" KEY("Pod", "no/no") "]", "missing",
                   "no/no");
    set_port("p2", 0);
    expect_failure("[" POD2 "]", NULL, "missing", "p2");
    expect_mods("");
}
END_TEST

START_TEST(test_refusal_of_the_bridge_changes_nothing)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);

    bridge.refusal = "table is full";
    expect_failure("[" POD2 "]", NULL, "internal",
                   "bridge br-test refused the flows: table is full");
    expect_mods("");

    /* What is in the bridge was in doubt: now everything is installed. */
    bridge.refusal = NULL;
    transact("[" POD2 "]", NULL);
    expect_mods("add " FLOW0 "\nadd " FLOW1 "\nadd " FLOW2);
    transact("[" POD1_MAC "]", NULL);
    expect_mods("modify " FLOW1);
}
END_TEST

START_TEST(test_broken_flow_is_reported)
{
    expect_failure("[" GROUP("9!", "") "]", NULL, "internal", "frobnicate");
    expect_failure("[" GROUP("9*", "") "]", NULL, "invalid",
                   "with the same match");
    expect_failure("[" GROUP("9", "") "," GROUP("9 ", "\"10.0.0.1\"") "]",
                   NULL, "internal", "same ID");
    expect_mods("");
    transact("[" GROUP("9", "") "]", NULL);
    expect_mods("put group 9\nadd table=2,priority=9");
}
END_TEST

START_TEST(test_flows_follow_the_ports)
{
    transact("[" POD1 "," POD2 "]", NULL);
    expect_mods("add " FLOW1 "\nadd " FLOW2);

    /* Gone. */
    set_port("p1", 0);
    adp_state_sync(state, false);
    expect_mods("delete " FLOW1);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 2);
    ck_assert_uint_eq(adp_state_generation(state), 1);

    /* Other records can change meanwhile. */
    transact(NULL, "[" KEY("Pod", "a/2") "]");
    expect_mods("delete " FLOW2);

    /* Back, with another number. */
    set_port("p1", 7);
    adp_state_sync(state, false);
    expect_mods("add table=1,priority=200,ip,in_port=7,nw_src=10.0.0.1");

    /* Nothing to do. */
    set_port("p3", 3);
    adp_state_sync(state, false);
    adp_state_sync(state, false);
    expect_mods("");
}
END_TEST

START_TEST(test_flows_follow_the_round)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);
    bridge.round = 2;
    adp_state_sync(state, false);
    expect_mods("modify " FLOW0 "\nmodify " FLOW1);
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW0), "0x2 drop");
}
END_TEST

START_TEST(test_reinstall_restores_everything)
{
    transact("[" POD1 "," GROUP("9", "") "]", NULL);
    svec_clear(&bridge.log);
    shash_clear_free_data(&bridge.flows);
    shash_clear_free_data(&bridge.groups);

    /* Without being asked we don't meddle with what others did. */
    adp_state_sync(state, false);
    expect_mods("");
    adp_state_sync(state, true);
    expect_mods("put group 9\nadd " FLOW0 "\nadd " FLOW1
                "\nadd table=2,priority=9");

    /* A port that went in the meantime takes its flow along. */
    set_port("p1", 0);
    adp_state_sync(state, true);
    expect_mods("put group 9\nadd " FLOW0 "\nadd table=2,priority=9"
                "\ndelete " FLOW1);
}
END_TEST

START_TEST(test_flow_of_another_controller_stays)
{
    transact("[" POD1 "]", NULL);
    free(shash_replace(&bridge.flows, FLOW1, xstrdup("0xbeef drop")));
    transact(NULL, "[" KEY("Pod", "a/1") "]");
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW1), "0xbeef drop");
}
END_TEST

START_TEST(test_failed_sync_is_repeated_with_the_next_change)
{
    transact("[" POD1 "]", NULL);
    svec_clear(&bridge.log);
    bridge.refusal = "no";
    set_port("p1", 0);
    adp_state_sync(state, false);
    size_t n_commits = bridge.n_commits;
    adp_state_sync(state, false);
    ck_assert_uint_eq(bridge.n_commits, n_commits);

    bridge.refusal = NULL;
    set_port("p3", 3);
    adp_state_sync(state, false);
    expect_mods("add " FLOW0 "\ndelete " FLOW1);
}
END_TEST

/* Changes of the pipeline. */

START_TEST(test_options_change_only_what_differs)
{
    transact("[" POD1 "]", NULL);
    svec_clear(&bridge.log);
    use_pipeline(&test_pipeline, 1, false);
    expect_mods("add table=2,priority=1\n");
    use_pipeline(&test_pipeline, 1, false);
    expect_mods("");
    transact("[" POD2 "]", NULL);
    expect_mods("add " FLOW2 "\n");
    use_pipeline(&test_pipeline, 0, false);
    expect_mods("delete table=2,priority=1\n");
}
END_TEST

START_TEST(test_another_pipeline_takes_the_bridge)
{
    transact("[" POD1 "," POD2 "," GROUP("9", "\"10.0.0.1\"") "]", NULL);
    uint64_t generation = adp_state_generation(state);
    shash_add(&bridge.flows, "table=9,priority=9", xstrdup("0x99 drop"));
    svec_clear(&bridge.log);

    /* One commit, after which nothing of before is left, whoever made it. */
    bridge.n_commits = 0;
    use_pipeline(&other_pipeline, 0, true);
    expect_mods("clear\nadd table=2,priority=0\nadd table=1,priority=1\n");
    ck_assert_uint_eq(bridge.n_commits, 1);
    ck_assert_uint_eq(shash_count(&bridge.flows), 2);
    ck_assert_uint_eq(shash_count(&bridge.groups), 0);

    /* The records are still there. */
    ck_assert_uint_eq(adp_state_generation(state), generation);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 2);
    ck_assert_str_eq(shash_find_data(&bridge.flows, "table=1,priority=1"),
                     "0x1 output:3");

    /* And the next change knows what is in the bridge. */
    transact(NULL, "[" KEY("Pod", "a/2") "]");
    expect_mods("modify table=1,priority=1\n");

    use_pipeline(&test_pipeline, 0, true);
    expect_mods("clear\nput group 9\nadd " FLOW0 "\nadd " FLOW1 "\n"
                "add table=2,priority=9\n");
    transact(NULL, "[" KEY("AddressGroup", "9") "]");
    expect_mods("delete group 9\ndelete table=2,priority=9\n");
}
END_TEST

START_TEST(test_pipeline_that_cannot_is_refused)
{
    transact("[" POD1 ",{\"kind\":\"AppliedToGroup\",\"name\":\"g\","
             "\"pods\":[]},{\"kind\":\"NetworkPolicy\",\"name\":\"p\","
             "\"type\":\"K8sNetworkPolicy\",\"appliedToGroups\":[\"g\"],"
             "\"rules\":[{\"direction\":\"In\"}]}]", NULL);
    svec_clear(&bridge.log);

    static const char reason[] = "NetworkPolicy p: type: pipeline other has "
        "no tables for policies of type K8sNetworkPolicy";
    struct adp_error *error = adp_state_check_pipeline(state, &other_pipeline,
                                                       0);
    ck_assert(error);
    ck_assert_str_eq(error->message, reason);
    adp_error_destroy(error);
    ck_assert(!adp_state_check_pipeline(state, &test_pipeline, 0));

    bridge.pipeline = &other_pipeline;
    error = adp_state_install(state, true);
    ck_assert(error);
    ck_assert_str_eq(error->message, reason);
    adp_error_destroy(error);
    expect_mods("");

    /* Nor can the bridge, perhaps. */
    transact(NULL, "[" KEY("NetworkPolicy", "p") "]");
    bridge.refusal = "no";
    error = adp_state_install(state, true);
    ck_assert(error);
    ck_assert_str_eq(error->code, "internal");
    adp_error_destroy(error);
    bridge.refusal = NULL;

    /* Back with the old one, all is as it was. */
    bridge.pipeline = &test_pipeline;
    transact("[" POD2 "]", NULL);
    ck_assert_uint_eq(shash_count(&bridge.flows), 3);
    ck_assert(shash_find(&bridge.flows, FLOW2));
}
END_TEST

/* A bridge that was without a pipeline for a while gets everything. */
START_TEST(test_pipeline_after_none)
{
    transact("[" POD1 "]", NULL);
    shash_clear_free_data(&bridge.flows);
    adp_state_forget_flows(state);
    svec_clear(&bridge.log);

    use_pipeline(&test_pipeline, 0, true);
    expect_mods("clear\nadd " FLOW0 "\nadd " FLOW1 "\n");
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 1);
}
END_TEST

#define EGRESS(NAME, RATE, BURST) "{\"kind\":\"Egress\",\"name\":\"" NAME \
    "\",\"appliedToGroups\":[],\"egressIP\":\"192.0.2." NAME "\"," \
    "\"bandwidth\":{\"rateKbps\":" #RATE ",\"burstKbits\":" #BURST "}}"

/* The same, in this order. */
static void
expect_log(const char *expected)
{
    char *log = svec_join(&bridge.log, "\n", "");

    ck_assert_str_eq(log, expected);
    free(log);
    svec_clear(&bridge.log);
}

START_TEST(test_meters_come_before_flows_and_go_after)
{
    transact("[" EGRESS("7", 100, 200) "]", NULL);
    expect_log("meter 7 100/200\nadd table=1,priority=7");

    /* Another rate changes no flow, and what is the same is left alone. */
    transact("[" EGRESS("7", 100, 300) "," EGRESS("8", 1, 12) "]", NULL);
    expect_log("meter 7 100/300\nmeter 8 1/12\nadd table=1,priority=8");
    transact("[" POD1 "]", NULL);
    expect_log("add " FLOW1);
    transact(NULL, "[" KEY("Egress", "7") "]");
    expect_log("delete table=1,priority=7\ndelete meter 7");

    /* They are lost with the flows. */
    adp_state_sync(state, true);
    ck_assert_str_eq(bridge.log.names[0], "meter 8 1/12");
    svec_clear(&bridge.log);

    use_pipeline(&other_pipeline, 0, true);
    ck_assert_str_eq(svec_back(&bridge.log), "delete meter 8");
}
END_TEST

/* A bridge that has no pipeline any more has none of its meters. */
START_TEST(test_meters_go_with_the_pipeline)
{
    transact("[" EGRESS("7", 100, 200) "," EGRESS("8", 1, 12) "]", NULL);
    svec_clear(&bridge.log);
    adp_state_forget_flows(state);
    expect_log("delete meter 7\ndelete meter 8");
    adp_state_forget_flows(state);
    expect_log("");

    use_pipeline(&test_pipeline, 0, true);
    ck_assert_str_eq(bridge.log.names[0], "meter 7 100/200");
    ck_assert_str_eq(bridge.log.names[1], "meter 8 1/12");
}
END_TEST

START_TEST(test_refused_meters_and_flows_change_none)
{
    transact("[" EGRESS("7", 100, 200) "]", NULL);
    svec_clear(&bridge.log);

    bridge.refused_meter = 9;
    expect_failure("[" EGRESS("7", 1, 12) "," EGRESS("8", 2, 12) ","
                   EGRESS("9", 3, 12) "]", NULL, "internal",
                   "bridge br-test refused meter 9: OFPMMFC_OUT_OF_METERS");
    expect_log("meter 7 1/12\nmeter 8 2/12\nmeter 7 100/200\n"
               "delete meter 8");
    bridge.refused_meter = 0;

    bridge.refusal = "table is full";
    expect_failure("[" EGRESS("7", 1, 12) "," EGRESS("8", 2, 12) "]", NULL,
                   "internal", "bridge br-test refused the flows: "
                   "table is full");
    expect_log("meter 7 1/12\nmeter 8 2/12\nmeter 7 100/200\n"
               "delete meter 8");
    bridge.refusal = NULL;

    /* What the bridge has is in doubt then. */
    transact("[" EGRESS("8", 2, 12) "]", NULL);
    ck_assert_str_eq(bridge.log.names[0], "meter 7 100/200");
    ck_assert_str_eq(bridge.log.names[1], "meter 8 2/12");
}
END_TEST

START_TEST(test_what_flows_need_comes_before_them)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);

    bridge.has_needs = false;
    transact("[" POD2 "]", NULL);
    expect_mods("add " FLOW2);

    bridge.missing = "no meter 256: OFPMMFC_OUT_OF_METERS";
    expect_failure(NULL, "[" KEY("Pod", "a/1") "]", "internal",
                   "bridge br-test: no meter 256: OFPMMFC_OUT_OF_METERS");
    expect_mods("");
}
END_TEST

START_TEST(test_many_records)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_char(&s, '[');
    for (int i = 1; i <= 1000; i++) {
        ds_put_format(&s, "%s" GROUP("%d", "\"10.0.0.1\",\"10.0.0.2\""),
                      i > 1 ? "," : "", i);
    }
    ds_put_char(&s, ']');
    transact(ds_cstr(&s), NULL);
    ds_destroy(&s);
    ck_assert_uint_eq(shash_count(&bridge.flows), 1001);
    ck_assert_uint_eq(shash_count(&bridge.groups), 1000);

    svec_clear(&bridge.log);
    transact(NULL, "[" KEY("AddressGroup", "500") "]");
    expect_mods("delete group 500\ndelete table=2,priority=500");
    ck_assert_ptr_null(transact__(true, NULL, NULL, NULL, NULL));
    ck_assert_uint_eq(shash_count(&bridge.flows), 1);
    ck_assert_uint_eq(shash_count(&bridge.groups), 0);
}
END_TEST

/* Flows of one match and thousands of priorities come, change and go with a
 * few steps each. */
START_TEST(test_equal_matches_take_few_steps)
{
    enum { N = 3000 };
    size_t *n_steps = &bridge.classifier.n_steps;
    char *all = many_groups(1, N);
    char *one = many_groups(N / 2, N / 2);

    transact(all, NULL);
    ck_assert_uint_eq(shash_count(&bridge.flows), N + 1);
    printf("%"PRIuSIZE" steps to add %d flows\n", *n_steps, N);
    ck_assert_uint_le(*n_steps, 4 * N);

    *n_steps = 0;
    transact(NULL, "[" KEY("AddressGroup", "1500") "]");
    printf("%"PRIuSIZE" steps to delete one of them\n", *n_steps);
    ck_assert_uint_le(*n_steps, 2 * N);
    transact(one, NULL);

    *n_steps = 0;
    ck_assert_ptr_null(transact__(true, NULL, NULL, NULL, NULL));
    ck_assert_uint_eq(shash_count(&bridge.flows), 1);
    printf("%"PRIuSIZE" steps to delete all\n", *n_steps);
    ck_assert_uint_le(*n_steps, 4 * N);
    free(one);
    free(all);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("state");
    TCase *tc = tcase_create("state");

    tcase_add_checked_fixture(tc, state_world_setup,
                              state_world_teardown);
    tcase_add_test(tc, test_static_flows_are_there_at_once);
    tcase_add_test(tc, test_transaction_changes_only_what_differs);
    tcase_add_test(tc, test_one_call_applies_and_deletes);
    tcase_add_test(tc, test_groups_follow);
    tcase_add_test(tc, test_replace);
    tcase_add_test(tc, test_generation_guards);
    tcase_add_test(tc, test_empty_call_is_no_change);
    tcase_add_test(tc, test_bad_record_changes_nothing);
    tcase_add_test(tc, test_refusal_of_the_bridge_changes_nothing);
    tcase_add_test(tc, test_broken_flow_is_reported);
    tcase_add_test(tc, test_flows_follow_the_ports);
    tcase_add_test(tc, test_flows_follow_the_round);
    tcase_add_test(tc, test_reinstall_restores_everything);
    tcase_add_test(tc, test_flow_of_another_controller_stays);
    tcase_add_test(tc, test_failed_sync_is_repeated_with_the_next_change);
    tcase_add_test(tc, test_options_change_only_what_differs);
    tcase_add_test(tc, test_another_pipeline_takes_the_bridge);
    tcase_add_test(tc, test_pipeline_that_cannot_is_refused);
    tcase_add_test(tc, test_pipeline_after_none);
    tcase_add_test(tc, test_meters_come_before_flows_and_go_after);
    tcase_add_test(tc, test_meters_go_with_the_pipeline);
    tcase_add_test(tc, test_refused_meters_and_flows_change_none);
    tcase_add_test(tc, test_what_flows_need_comes_before_them);
    tcase_add_test(tc, test_many_records);
    tcase_add_test(tc, test_equal_matches_take_few_steps);
    suite_add_tcase(s, tc);
    return s;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    return test_run(suite());
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The worked example of docs/pipelines.md: a pipeline that neither the engine
 * nor the list of built-in pipelines knows makes flows, and the engine decides
 * packets with them. */

#include <config.h>
#include <check.h>
#include "engine.h"
#include "example-pipeline.h"
#include "openvswitch/ofp-table.h"
#include "packets.h"
#include "pipeline-world.h"
#include "test-run.h"
#include "util.h"

/* The engine's ports 2 and 3 are datapath ports 102 and 103. */
#define A_TO_B "tcp,in_port=3,dl_src=00:00:00:00:00:0a," \
    "dl_dst=00:00:00:00:00:01,nw_src=10.0.0.10,nw_dst=10.0.0.11,nw_ttl=64," \
    "tp_src=1000,tp_dst=80"
#define A_SPOOFS "tcp,in_port=3,dl_src=00:00:00:00:00:0a," \
    "dl_dst=00:00:00:00:00:01,nw_src=10.0.0.99,nw_dst=10.0.0.11,nw_ttl=64," \
    "tp_src=1000,tp_dst=80"
#define GATEWAY_TO_B "tcp,in_port=2,dl_src=00:00:00:00:00:01," \
    "dl_dst=00:00:00:00:00:0b,nw_src=10.0.0.1,nw_dst=10.0.0.11,nw_ttl=64," \
    "tp_src=1000,tp_dst=80"

static struct engine *e;

static void
setup(void)
{
    pw_init(&example_pipeline);
    pw.ports[PW_A].number = 3;
    pw.ports[PW_B].number = 4;
    e = NULL;
}

static void
teardown(void)
{
    if (e) {
        engine_destroy(e);
    }
    pw_uninit();
}

/* Loads the flows of two Pods into a new engine. */
static void
load(const char *options, uint32_t ct_state)
{
    struct ofputil_table_map tables;

    if (e) {
        engine_destroy(e);
    }
    e = engine_create();
    pw_set_options(options);
    generate(BASE);
    check_set();

    put_table_names(&tables);
    engine_add_flow_set(e, &pw.set, &tables);
    ofputil_table_map_destroy(&tables);
    engine_set_ct(e, 100, ct_state);
}

START_TEST(static_flows_need_no_record)
{
    check_static();
}
END_TEST

START_TEST(pod_to_pod)
{
    load("", CS_TRACKED | CS_NEW);
    ck_assert_str_eq(engine_run(e, A_TO_B),
                     "ct(zone=100),ct(commit,zone=100),"
                     "set(eth(dst=00:00:00:00:00:0b)),104");
    ck_assert_str_eq(engine_hits(e), "0:100 1:100 2:100 5:100");
    ck_assert_str_eq(engine_run(e, A_SPOOFS), "drop");
    ck_assert_str_eq(engine_hits(e), "0:0");

    load("", CS_TRACKED | CS_INVALID);
    ck_assert_str_eq(engine_run(e, A_TO_B), "ct(zone=100)");
    ck_assert_str_eq(engine_hits(e), "0:100 1:100 2:200");
}
END_TEST

START_TEST(gateway_needs_the_option)
{
    load("", CS_TRACKED | CS_NEW);
    engine_run(e, GATEWAY_TO_B);
    ck_assert_str_eq(engine_hits(e), "0:100 1:100 2:0");

    load("probes", CS_TRACKED | CS_NEW);
    engine_run(e, GATEWAY_TO_B);
    ck_assert_str_eq(engine_hits(e), "0:100 1:100 2:100 5:100");

    /* Replies need none. */
    load("", CS_TRACKED | CS_ESTABLISHED | CS_REPLY_DIR);
    engine_run(e, GATEWAY_TO_B);
    ck_assert_str_eq(engine_hits(e), "0:100 1:100 2:100 5:100");
}
END_TEST

START_TEST(policies_are_refused)
{
    struct adp_error *error = try_generate(
        BASE ",{'kind':'NetworkPolicy','name':'p','type':'K8sNetworkPolicy',"
        "'appliedToGroups':['a'],'rules':[{'direction':'In'}]}");

    ck_assert(error);
    ck_assert_str_eq(error->message, "NetworkPolicy p: type: pipeline example "
                     "has no tables for policies of type K8sNetworkPolicy");
    adp_error_destroy(error);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pipeline-example");
    TCase *tc = tcase_create("example");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, static_flows_need_no_record);
    tcase_add_test(tc, pod_to_pod);
    tcase_add_test(tc, gateway_needs_the_option);
    tcase_add_test(tc, policies_are_refused);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

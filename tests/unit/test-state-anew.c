/* SPDX-License-Identifier: Apache-2.0 */

/* Changes of a large state that look small, but after which all of its flows
 * are made anew, or many, which takes many turns, and those that aren't such.
 *
 * The clock goes on by a second with each look, so that each slice is a
 * step. */

#include <config.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "adp-state-private.h"
#include "adp-state.h"
#include "adp-turn.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "quoted-json.h"
#include "state-world.h"
#include "test-run.h"
#include "util.h"

enum { N_LARGE = 2500 };        /* Groups. */

#define NODE(NET) "[{'kind':'NodeConfig','name':'n'," \
    "'gateway':{'port':'gw0','mac':'00:00:00:00:00:01'," \
    "'ip':'10.0." NET ".1'},'tunnel':{'port':'tun0'}," \
    "'podCIDR':'10.0." NET ".0/24','transportIP':'192.168.0.1'}]"
#define POD(N) "[{'kind':'Pod','name':'d/" N "','port':'p" N "'," \
    "'mac':'00:00:00:00:01:0" N "','ips':['10.0.0.1" N "']}]"
/* For which the pipeline has no tables. */
#define REFUSED "[{'kind':'AppliedToGroup','name':'a','pods':[]}," \
    "{'kind':'NetworkPolicy','name':'p'," \
    "'type':'AntreaNetworkPolicy','tierPriority':250,'priority':5," \
    "'appliedToGroups':['a'],'rules':[{'direction':'In'," \
    "'action':'Drop'}]}]"

static long long int slow_clock;

static long long int
look_at_slow_clock(void)
{
    return slow_clock += 1000 * 1000;
}

static void
run_all(void)
{
    while (adp_state_is_busy(state)) {
        adp_state_run(state);
    }
}

static void
setup(void)
{
    char *groups = many_groups(1, N_LARGE);
    struct json *node = json_from_quoted(NODE("0"));
    char *text = json_to_string(node, 0);

    state_world_setup();
    set_port("gw0", 11);
    set_port("tun0", 12);
    use_pipeline(adp_pipeline_find("early"), 0, true);
    transact(text, NULL);
    transact(groups, NULL);
    adp_turn_set_clock(look_at_slow_clock);
    json_destroy(node);
    free(text);
    free(groups);
}

/* Returns how many turns the call takes, from 1 on. */
static int
count_turns(const char *apply, const char *delete, const char *code)
{
    struct json *a = apply ? json_from_quoted(apply) : NULL;
    struct json *d = delete ? json_from_quoted(delete) : NULL;
    struct adp_state_change change = { .apply = a, .delete = d };
    struct adp_state_call *call = adp_state_transact(state, &change);
    int n = 1;

    while (!call->done) {
        adp_state_run(state);
        n++;
    }
    const char *got = call->error ? call->error->code : NULL;
    ck_assert_pstr_eq(got, code);
    adp_state_call_unref(call);
    run_all();
    json_destroy(a);
    json_destroy(d);
    return n;
}

/* Turns as long as the clock says are too many to be at once, and far fewer
 * than flows. */
static void
expect_few(int n_turns)
{
    ck_assert_int_gt(n_turns, 1);
    ck_assert_int_lt(n_turns, N_LARGE / 50);
}

/* Nobody can tell from a record what it changes, so there are slices; but only
 * what changes is looked at. */
START_TEST(test_what_can_be_followed_takes_few_steps)
{
    int n_turns = 1;

    expect_few(count_turns(POD("1"), NULL, NULL));
    expect_few(count_turns(POD("2"), NULL, NULL));
    set_port("p1", 7);
    adp_state_sync(state, false);
    while (adp_state_is_busy(state)) {
        adp_state_run(state);
        n_turns++;
    }
    expect_few(n_turns);
}
END_TEST

/* Ports that come and go all the time don't keep calls out. */
START_TEST(test_ports_that_flap)
{
    struct json *pod2 = json_from_quoted(POD("2"));
    struct adp_state_change change = { .apply = pod2 };
    struct adp_state_call *call;
    int n_turns = 0;

    count_turns(POD("1"), NULL, NULL);
    set_port("p1", 7);
    adp_state_run(state);
    ck_assert(adp_state_is_busy(state));
    call = adp_state_submit(state, &change);
    while (!call->done) {
        set_port("p1", n_turns++ % 2 ? 7 : 0);
        adp_state_run(state);
        adp_state_serve(state);
        ck_assert_int_lt(n_turns, N_LARGE);
    }
    adp_state_call_unref(call);
    json_destroy(pod2);

    /* And are taken into account after them. */
    set_port("p1", 9);
    svec_clear(&bridge.log);
    adp_state_run(state);
    run_all();
    adp_state_run(state);
    run_all();
    ck_assert(bridge.log.n > 0);
}
END_TEST

/* Whose transaction it is, if that is news. */
static void
note_turn(struct ds *turns)
{
    char letter = "cpnm"[state->last];

    if (!turns->length || letter != ds_last(turns)) {
        ds_put_char(turns, letter);
    }
}

/* If all want something all the time, one after the other has it. */
START_TEST(test_all_have_their_turn)
{
    struct json *pod2 = json_from_quoted(POD("2"));
    struct json *fqdn = json_from_quoted("[{'kind':'FQDN','name':'*.a',"
                                         "'addresses':['10.9.9.9']}]");
    struct json *none = json_array_create_empty();
    struct adp_state_call *call = NULL, *own[ADP_STATE_MEMBERS + 1] = { NULL };
    struct ds turns = DS_EMPTY_INITIALIZER;
    int n_turns = 0;

    count_turns(POD("1"), NULL, NULL);
    while (turns.length < 12) {
        ck_assert_int_lt(n_turns++, N_LARGE);
        if (!adp_state_has_calls(state)) {
            adp_state_call_unref(call);
            call = adp_state_submit(state, &(struct adp_state_change) {
                .apply = pod2 });
        }
        adp_state_serve(state);
        note_turn(&turns);
        set_port("p1", n_turns % 2 ? 7 : 0);
        adp_state_run(state);
        note_turn(&turns);
        for (int i = ADP_STATE_NAMES; i <= ADP_STATE_MEMBERS; i++) {
            if (own[i] && own[i]->done) {
                ck_assert_ptr_null(own[i]->error);
                adp_state_call_unref(own[i]);
                own[i] = NULL;
            }
            if (!own[i] && adp_state_has_turn(state, i)) {
                own[i] = adp_state_transact(state, &(struct adp_state_change) {
                    .source = i, .apply = fqdn, .delete = none });
                note_turn(&turns);
            }
        }
    }
    ck_assert_str_eq(ds_cstr(&turns), "cpnmcpnmcpnm");

    run_all();
    for (int i = 0; i <= ADP_STATE_MEMBERS; i++) {
        adp_state_call_unref(own[i]);
    }
    adp_state_call_unref(call);
    json_destroy(pod2);
    json_destroy(fqdn);
    json_destroy(none);
    ds_destroy(&turns);
}
END_TEST

static long long int
stopped_clock(void)
{
    return slow_clock;
}

/* What takes no time is done in the same turn. */
START_TEST(test_what_is_short_is_done_at_once)
{
    adp_turn_set_clock(stopped_clock);
    ck_assert_int_eq(count_turns(POD("1"), NULL, NULL), 1);
    svec_clear(&bridge.log);
    set_port("p1", 7);
    adp_state_sync(state, false);
    ck_assert(!adp_state_is_busy(state));
    ck_assert(bridge.log.n > 0);
}
END_TEST

/* Few records that list much are much. */
START_TEST(test_few_records)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    adp_turn_set_clock(stopped_clock);
    transact__(true, NULL, NULL, NULL, NULL);
    ck_assert(!adp_state_is_large(state));
    for (int n = 99; n <= 101; n += 2) {
        ds_put_cstr(&s, "[{\"kind\":\"AddressGroup\",\"name\":\"1\","
                    "\"addresses\":[");
        for (int i = 0; i < n; i++) {
            ds_put_format(&s, "%s\"10.1.0.%d\"", i ? "," : "", i);
        }
        ds_put_cstr(&s, "]}]");
        transact(ds_cstr(&s), NULL);
        ds_clear(&s);
        ck_assert_int_eq(adp_state_is_large(state), n > 99);
        adp_turn_set_clock(look_at_slow_clock);
        int n_turns = count_turns(POD("1"), NULL, NULL);
        adp_turn_set_clock(stopped_clock);
        ck_assert_int_eq(n_turns > 1, n > 99);
        count_turns(NULL, "[{'kind':'Pod','name':'d/1'}]", NULL);
    }
    transact(NULL, "[{\"kind\":\"AddressGroup\",\"name\":\"1\"}]");
    ck_assert(!adp_state_is_large(state));
    ds_destroy(&s);
}
END_TEST

START_TEST(test_call_after_one_that_was_refused)
{
    count_turns(REFUSED, NULL, "invalid");
    ck_assert_int_gt(count_turns(POD("1"), NULL, NULL), N_LARGE / 16);
    expect_few(count_turns(POD("2"), NULL, NULL));
}
END_TEST

START_TEST(test_other_node_config)
{
    ck_assert_int_gt(count_turns(NODE("1"), NULL, NULL), N_LARGE / 16);
    ck_assert_int_gt(count_turns(NULL, "[{'kind':'NodeConfig','name':'n'}]",
                                 NULL), 1);
    ck_assert_int_gt(count_turns(NODE("0"), NULL, NULL), N_LARGE / 16);
}
END_TEST

START_TEST(test_port_of_the_node)
{
    set_port("tun0", 13);
    adp_state_sync(state, false);
    ck_assert(adp_state_is_busy(state));
    run_all();
    ck_assert(adp_state_is_synced(state));

    set_port("gw0", 0);
    adp_state_sync(state, false);
    ck_assert(adp_state_is_busy(state));
    run_all();
}
END_TEST

/* What a Service lists weighs, not the Service. */
START_TEST(test_long_service)
{
    static const char key[] = "[{'kind':'Service','name':'d/s'}]";
    struct ds s = DS_EMPTY_INITIALIZER;

    transact__(true, NULL, NULL, NULL, NULL);
    for (int n = 40; n <= 400; n += 360) {
        ds_put_cstr(&s, "[{'kind':'Service','name':'d/s','clusterIP':"
                    "'10.96.0.1','ports':[{'port':80,'endpoints':[");
        for (int i = 0; i < n; i++) {
            ds_put_format(&s, "%s{'ip':'10.1.%d.%d','port':8080}",
                          i ? "," : "", i / 256, i % 256);
        }
        ds_put_cstr(&s, "]}]}]");
        int n_turns = count_turns(ds_cstr(&s), NULL, NULL);
        int n_to_delete = count_turns(NULL, key, NULL);
        ck_assert_int_eq(n_turns > 1, n > 40);
        ck_assert_int_eq(n_to_delete > 1, n > 40);
        ds_clear(&s);
    }
    ds_destroy(&s);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("state-anew");
    TCase *tc = tcase_create("state-anew");

    tcase_add_checked_fixture(tc, setup, state_world_teardown);
    tcase_add_test(tc, test_what_can_be_followed_takes_few_steps);
    tcase_add_test(tc, test_ports_that_flap);
    tcase_add_test(tc, test_all_have_their_turn);
    tcase_add_test(tc, test_what_is_short_is_done_at_once);
    tcase_add_test(tc, test_few_records);
    tcase_add_test(tc, test_call_after_one_that_was_refused);
    tcase_add_test(tc, test_other_node_config);
    tcase_add_test(tc, test_port_of_the_node);
    tcase_add_test(tc, test_long_service);
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

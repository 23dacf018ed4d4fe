/* SPDX-License-Identifier: Apache-2.0 */

/* Large transactions on the typed state of a bridge, which take many turns: what
 * happens meanwhile.
 *
 * The clock goes on by a second with each look, so that each slice is one
 * version. */

#include <config.h>

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge.h"
#include "adp-state-private.h"
#include "adp-state.h"
#include "adp-turn.h"
#include "model-pause.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "state-world.h"
#include "test-run.h"
#include "util.h"

static long long int slow_clock;

static long long int
look_at_slow_clock(void)
{
    return slow_clock += 1000 * 1000;
}

enum { N_LARGE = 2500 };        /* Groups, each with a flow. */

/* As the first slice of such a call leaves it. */
static struct adp_state_call *
begin_text(const char *text)
{
    struct json *apply = json_from_string(text);
    struct adp_state_change change = { .apply = apply };
    struct adp_state_call *call;

    adp_turn_set_clock(look_at_slow_clock);
    call = adp_state_transact(state, &change);
    json_destroy(apply);
    return call;
}

static struct adp_state_call *
begin_large(int first, int last)
{
    char *text = many_groups(first, last);
    struct adp_state_call *call = begin_text(text);

    free(text);
    return call;
}

/* Has some slices of 'call' go into the bridge, but not all. */
static void
run_some(const struct adp_state_call *call)
{
    size_t n_commits = bridge.n_commits;

    while (bridge.n_commits == n_commits) {
        ck_assert(!call->done);
        adp_state_run(state);
    }
    for (int i = 0; i < 5; i++) {
        ck_assert(!call->done);
        ck_assert(adp_state_is_busy(state));
        adp_state_run(state);
    }
    ck_assert(!call->done);
}

static void
run_all(void)
{
    while (adp_state_is_busy(state)) {
        adp_state_run(state);
    }
}

/* Returns the error's code, or NULL. */
static const char *
end_call(struct adp_state_call *call)
{
    ck_assert(call->done);
    const char *code = call->error ? call->error->code : NULL;
    adp_state_call_unref(call);
    return code;
}

static void
expect_content(size_t n_flows, size_t n_groups)
{
    ck_assert_uint_eq(shash_count(&bridge.flows), n_flows);
    ck_assert_uint_eq(shash_count(&bridge.groups), n_groups);
}

START_TEST(test_large_transaction_comes_in_slices)
{
    struct adp_state_call *call = begin_large(1, N_LARGE);

    run_some(call);
    ck_assert_uint_ge(bridge.n_commits, 5);
    ck_assert(shash_count(&bridge.groups) > 0);
    ck_assert(shash_count(&bridge.flows) < N_LARGE);

    /* The state is as it was. */
    ck_assert_uint_eq(adp_state_generation(state), 0);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 0);
    run_all();
    ck_assert_uint_eq(call->generation, 1);
    ck_assert_uint_eq(call->n_applied, N_LARGE);
    ck_assert_ptr_null(end_call(call));
    ck_assert_uint_eq(adp_state_generation(state), 1);
    ck_assert(adp_state_is_synced(state));
    expect_content(N_LARGE + 1, N_LARGE);

    /* What comes next differs from that. */
    svec_clear(&bridge.log);
    transact(NULL, "[" KEY("AddressGroup", "7") "]");
    expect_mods("delete group 7\ndelete table=2,priority=7");
}
END_TEST

/* Reading in slices. */

enum { N_STEPS = 6 };           /* Two in each slice. */

struct reading {
    int n_steps, n_ends;
    size_t n_records;           /* As of the last step. */
};

static void
read_slowly(void *reading_)
{
    struct reading *reading = reading_;

    for (int i = 0; i < N_STEPS; i++) {
        reading->n_steps++;
        reading->n_records = adp_model_count(adp_state_model(state), NULL);
        adp_pause();
    }
}

static void
end_reading(void *reading_)
{
    struct reading *reading = reading_;

    ck_assert_int_eq(reading->n_steps, N_STEPS);
    reading->n_ends++;
}

START_TEST(test_reads_in_slices)
{
    struct reading reading = { .n_steps = 0 }, other = { .n_steps = 0 };

    adp_turn_set_clock(look_at_slow_clock);
    transact("[" POD1 "]", NULL);
    ck_assert(adp_state_read(state, read_slowly, end_reading, &reading));
    for (int i = 2; i <= N_STEPS; i += 2) {
        /* One at a time, and nobody changes the state. */
        ck_assert(adp_state_is_busy(state));
        ck_assert(!adp_state_read(state, read_slowly, end_reading, &other));
        adp_state_sync(state, i == 2);
        adp_state_run(state);
        ck_assert_int_eq(reading.n_steps, i);
        ck_assert_int_eq(reading.n_ends, 0);
    }
    svec_clear(&bridge.log);
    adp_state_run(state);
    ck_assert_int_eq(reading.n_ends, 1);
    /* What was to be installed meanwhile is. */
    ck_assert(bridge.log.n > 0);

    /* Who has waited comes first. */
    ck_assert(!adp_state_is_busy(state));
    ck_assert(!adp_state_read(state, read_slowly, end_reading, &other));
    adp_state_run(state);
    ck_assert(adp_state_read(state, read_slowly, end_reading, &other));
    adp_state_abort(state, "it was deleted");
    ck_assert_int_eq(other.n_ends, 1);
    ck_assert(!adp_state_is_busy(state));
}
END_TEST

START_TEST(test_reads_while_flows_go_into_the_bridge)
{
    struct reading reading = { .n_steps = 0 };
    struct adp_state_call *call = begin_large(1, N_LARGE);

    /* Not while they are made. */
    ck_assert(!adp_state_read(state, read_slowly, end_reading, &reading));
    run_some(call);
    ck_assert(adp_state_read(state, read_slowly, end_reading, &reading));

    size_t n_commits = bridge.n_commits;
    adp_state_run(state);
    ck_assert_int_eq(reading.n_steps, 2);
    ck_assert_uint_eq(bridge.n_commits, n_commits + 1);
    run_all();
    ck_assert_int_eq(reading.n_ends, 1);
    ck_assert_uint_eq(reading.n_records, 0);
    ck_assert_ptr_null(end_call(call));

    /* The end of a transaction waits for who reads. */
    call = begin_large(N_LARGE + 1, 2 * N_LARGE);
    size_t n_flows = shash_count(&bridge.flows) + N_LARGE;
    while (shash_count(&bridge.flows) < n_flows - 300) {
        adp_state_run(state);
    }
    reading = (struct reading) { .n_steps = 0 };
    ck_assert(adp_state_read(state, read_slowly, end_reading, &reading));
    while (!reading.n_ends) {
        ck_assert_uint_le(reading.n_records, N_LARGE);
        adp_state_run(state);
    }
    run_all();
    ck_assert_ptr_null(end_call(call));
    expect_content(2 * N_LARGE + 1, 2 * N_LARGE);
}
END_TEST

START_TEST(test_options_change_in_slices)
{
    struct adp_state_call *call = begin_large(2, N_LARGE + 1);
    int n_slices = 0, n_before = 0;

    run_all();
    ck_assert_ptr_null(end_call(call));
    svec_clear(&bridge.log);
    adp_state_change_options(state, 1);
    while (adp_state_is_busy(state)) {
        ck_assert(adp_state_changes_options(state));
        /* No flow of the new ones comes before them.  A slice may end between
         * both. */
        ck_assert(bridge.options || !bridge.log.n);
        n_before += !bridge.options;
        adp_state_run(state);
        n_slices++;
    }
    ck_assert_int_ge(n_before, 2);
    ck_assert_int_ge(n_slices, 5);
    ck_assert_ptr_null(adp_state_take_options_error(state));
    ck_assert_uint_eq(bridge.options, 1);
    ck_assert(!adp_state_changes_options(state));
    ck_assert_ptr_null(adp_state_take_options_error(state));
    ck_assert_uint_eq(adp_state_generation(state), 1);
    expect_content(N_LARGE + 2, N_LARGE);

    /* Refused, all is as it was. */
    bridge.refusal = "no room";
    adp_state_change_options(state, 0);
    run_all();
    bridge.refusal = NULL;
    ck_assert_uint_eq(bridge.options, 1);
    char *error = adp_state_take_options_error(state);
    ck_assert_ptr_nonnull(strstr(error, "no room"));
    free(error);
    expect_content(N_LARGE + 2, N_LARGE);

    /* One that is under way ends before another pipeline comes. */
    adp_state_change_options(state, 0);
    adp_state_run(state);
    adp_state_finish(state);
    ck_assert_uint_eq(bridge.options, 0);
    expect_content(N_LARGE + 1, N_LARGE);
}
END_TEST

START_TEST(test_large_transaction_that_is_refused)
{
    transact("[" POD1 "]", NULL);
    struct adp_state_call *call = begin_large(1, N_LARGE);

    run_some(call);
    bridge.refusal = "no room";
    adp_state_run(state);
    bridge.refusal = NULL;
    run_all();
    ck_assert_str_eq(end_call(call), "internal");
    expect_content(2, 0);
    ck_assert(shash_find(&bridge.flows, FLOW1));
    ck_assert_uint_eq(adp_state_generation(state), 1);

    call = begin_large(1, N_LARGE);
    run_all();
    ck_assert_ptr_null(end_call(call));
    expect_content(N_LARGE + 2, N_LARGE);
}
END_TEST

START_TEST(test_ports_that_change_meanwhile)
{
    transact("[" POD1 "]", NULL);
    struct adp_state_call *call = begin_large(1, N_LARGE);

    run_some(call);
    set_port("p1", 7);
    adp_state_sync(state, false);
    bridge.round = 2;
    run_all();
    ck_assert_ptr_null(end_call(call));
    adp_state_run(state);
    run_all();
    ck_assert(shash_find(&bridge.flows, "table=1,priority=200,ip,in_port=7,"
                         "nw_src=10.0.0.1"));
    ck_assert(!shash_find(&bridge.flows, FLOW1));
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW0), "0x2 drop");
    expect_content(N_LARGE + 2, N_LARGE);
}
END_TEST

/* Groups that came before are gone, and flows that are still to come refer to
 * them. */
START_TEST(test_flush_meanwhile)
{
    transact("[" POD1 "]", NULL);
    struct adp_state_call *call = begin_large(1, N_LARGE);

    run_some(call);
    while (shash_count(&bridge.groups) < N_LARGE) {
        adp_state_run(state);
    }
    ck_assert(shash_count(&bridge.flows) < N_LARGE);
    shash_clear_free_data(&bridge.flows);
    shash_clear_free_data(&bridge.groups);
    adp_state_sync(state, true);
    ck_assert(!adp_state_is_synced(state));
    while (!call->done) {
        ck_assert(!adp_state_is_synced(state));
        adp_state_run(state);
    }
    ck_assert_ptr_null(end_call(call));
    run_all();
    ck_assert(adp_state_is_synced(state));
    ck_assert(shash_find(&bridge.flows, FLOW1));
    expect_content(N_LARGE + 2, N_LARGE);
}
END_TEST

/* A large state comes back in slices; until then it isn't synced. */
START_TEST(test_flush_of_a_large_state)
{
    struct adp_state_call *call = begin_large(1, N_LARGE);

    run_all();
    ck_assert_ptr_null(end_call(call));
    shash_clear_free_data(&bridge.flows);
    shash_clear_free_data(&bridge.groups);
    bridge.n_commits = 0;
    adp_state_sync(state, true);
    ck_assert_uint_eq(bridge.n_commits, 0);
    ck_assert(adp_state_is_busy(state));
    adp_state_run(state);
    ck_assert(!adp_state_is_synced(state));
    run_all();
    ck_assert(adp_state_is_synced(state));
    expect_content(N_LARGE + 1, N_LARGE);
}
END_TEST

START_TEST(test_pipeline_that_changes_meanwhile)
{
    struct adp_state_call *call = begin_large(1, N_LARGE);

    run_some(call);
    use_pipeline(&other_pipeline, 0, true);
    ck_assert_ptr_null(end_call(call));
    expect_content(2, 0);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), N_LARGE);
    use_pipeline(&test_pipeline, 0, true);
    expect_content(N_LARGE + 1, N_LARGE);

    /* Or goes away. */
    call = begin_large(N_LARGE + 1, 2 * N_LARGE);
    run_some(call);
    shash_clear_free_data(&bridge.flows);
    shash_clear_free_data(&bridge.groups);
    adp_state_forget_flows(state);
    ck_assert(!adp_state_is_busy(state));
    ck_assert_str_eq(call->error->message, "bridge br-test: its pipeline was "
                     "taken away while the flows were on their way into it");
    ck_assert_str_eq(end_call(call), "bridge");
    use_pipeline(&test_pipeline, 0, true);
    expect_content(N_LARGE + 1, N_LARGE);
}
END_TEST

START_TEST(test_bridge_that_is_deleted_meanwhile)
{
    struct adp_state_call *call = begin_large(1, N_LARGE);

    run_some(call);
    adp_state_destroy(state);
    ck_assert_str_eq(end_call(call), "bridge");
    state = adp_state_create(&bridge);
}
END_TEST

/* Until the first flow goes into the bridge nobody sees anything of it. */
START_TEST(test_state_while_a_transaction_is_prepared)
{
    transact("[" POD1 "]", NULL);
    bridge.n_commits = 0;

    struct adp_state_call *call = begin_large(1, N_LARGE);
    int n_turns = 0;

    while (!bridge.n_commits) {
        const struct adp_model *model = adp_state_model(state);

        ck_assert(!call->done);
        ck_assert_uint_eq(adp_model_count(model, NULL), 1);
        ck_assert_uint_eq(adp_model_count(model, "Pod"), 1);
        ck_assert_uint_eq(adp_state_generation(state), 1);
        ck_assert(adp_state_is_synced(state));
        expect_content(2, 0);
        adp_state_run(state);
        n_turns++;
    }
    ck_assert_int_gt(n_turns, N_LARGE); /* A record each, and more. */
    run_all();
    ck_assert_ptr_null(end_call(call));
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL),
                      N_LARGE + 1);
}
END_TEST

/* Runs 'call' to its end: until then there are 'n' records, which is known
 * without a copy of the model, and what is asked afterwards is of it. */
static const char *
count_meanwhile(struct adp_state_call *call, size_t n)
{
    int n_turns = 0;

    while (!call->done) {
        ck_assert_uint_eq(adp_state_n_records(state), n);
        ck_assert_ptr_null(state->before);
        adp_state_run(state);
        n_turns++;
    }
    ck_assert_int_gt(n_turns, N_LARGE);
    while (adp_state_is_busy(state)) {
        ck_assert_uint_eq(adp_state_n_records(state),
                          adp_model_count(adp_state_model(state), NULL));
        adp_state_run(state);
    }
    return end_call(call);
}

START_TEST(test_records_are_counted_without_a_copy)
{
    transact("[" POD1 "]", NULL);
    ck_assert_uint_eq(adp_state_n_records(state), 1);
    ck_assert_ptr_null(count_meanwhile(begin_large(1, N_LARGE), 1));
    ck_assert_uint_eq(adp_state_n_records(state), N_LARGE + 1);

    struct adp_state_call *call = begin_large(N_LARGE + 1, 2 * N_LARGE);
    bridge.refusal = "no room";
    ck_assert_str_eq(count_meanwhile(call, N_LARGE + 1), "internal");
    bridge.refusal = NULL;
    ck_assert_uint_eq(adp_state_n_records(state), N_LARGE + 1);
}
END_TEST

START_TEST(test_error_in_a_large_transaction)
{
    transact("[" POD1 "]", NULL);

    char *text = many_groups(1, N_LARGE);
    char *bad = xasprintf("%.*s,{\"kind\":\"Nonsense\"}]",
                          (int) strlen(text) - 1, text);
    struct adp_state_call *call = begin_text(bad);

    while (adp_state_is_busy(state)) {
        ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 1);
        adp_state_run(state);
    }
    ck_assert_str_eq(end_call(call), "invalid");
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 1);
    ck_assert_uint_eq(adp_state_generation(state), 1);
    ck_assert(adp_state_is_synced(state));
    expect_content(2, 0);
    free(bad);
    free(text);

    call = begin_large(1, N_LARGE);
    run_all();
    ck_assert_ptr_null(end_call(call));
    expect_content(N_LARGE + 2, N_LARGE);
}
END_TEST

START_TEST(test_abort_while_a_transaction_is_prepared)
{
    transact("[" POD1 "]", NULL);

    struct adp_state_call *call = begin_large(1, N_LARGE);
    for (int i = 0; i < 10; i++) {
        adp_state_run(state);
        ck_assert(!call->done);
    }
    adp_state_abort(state, "it was tried");
    ck_assert(!adp_state_is_busy(state));
    ck_assert(!adp_state_is_synced(state));
    ck_assert_str_eq(end_call(call), "bridge");
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 1);
    expect_content(2, 0);

    /* Deleted while it is prepared. */
    call = begin_large(1, N_LARGE);
    adp_state_run(state);
    adp_state_destroy(state);
    ck_assert_str_eq(end_call(call), "bridge");
    state = adp_state_create(&bridge);
}
END_TEST

/* Has 'call' begin, but nothing of it go into the bridge. */
static void
prepare_some(const struct adp_state_call *call)
{
    bridge.n_commits = 0;
    for (int i = 0; i < 10; i++) {
        adp_state_run(state);
        ck_assert(!call->done);
    }
    ck_assert_uint_eq(bridge.n_commits, 0);
}

/* What is under way is made for the pipeline that it began with. */
START_TEST(test_pipeline_while_a_transaction_is_prepared)
{
    transact("[" POD1 "]", NULL);

    struct adp_state_call *call = begin_large(1, N_LARGE);
    prepare_some(call);
    use_pipeline(&other_pipeline, 0, true);
    ck_assert_ptr_null(end_call(call));
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL),
                      N_LARGE + 1);
    expect_content(2, 0);
    use_pipeline(&test_pipeline, 0, true);
    expect_content(N_LARGE + 2, N_LARGE);

    /* There is none any more. */
    call = begin_large(N_LARGE + 1, 2 * N_LARGE);
    prepare_some(call);
    bridge.pipeline = NULL;
    shash_clear_free_data(&bridge.flows);
    shash_clear_free_data(&bridge.groups);
    adp_state_forget_flows(state);
    ck_assert(!adp_state_is_busy(state));
    ck_assert_str_eq(end_call(call), "bridge");
    expect_content(0, 0);
    use_pipeline(&test_pipeline, 0, true);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL),
                      N_LARGE + 1);
    expect_content(N_LARGE + 2, N_LARGE);
}
END_TEST

static void
flush(void)
{
    shash_clear_free_data(&bridge.flows);
    shash_clear_free_data(&bridge.groups);
    adp_state_sync(state, true);
    ck_assert(!adp_state_is_synced(state));
}

/* What is flushed before the first slice comes back with the transaction, not
 * after it. */
START_TEST(test_flush_while_a_transaction_is_prepared)
{
    transact("[" POD1 "]", NULL);

    struct adp_state_call *call = begin_large(1, N_LARGE);
    prepare_some(call);
    flush();
    while (!call->done) {
        ck_assert(!adp_state_is_synced(state));
        adp_state_run(state);
    }
    ck_assert(adp_state_is_synced(state));
    expect_content(N_LARGE + 2, N_LARGE);
    ck_assert_ptr_null(end_call(call));
    run_all();

    /* And also if that is refused. */
    call = begin_large(N_LARGE + 1, 2 * N_LARGE);
    prepare_some(call);
    flush();
    bridge.refusal = "no room";
    while (!bridge.n_commits) {
        adp_state_run(state);
    }
    bridge.refusal = NULL;
    run_all();
    ck_assert_str_eq(end_call(call), "internal");
    ck_assert(adp_state_is_synced(state));
    ck_assert(shash_find(&bridge.flows, FLOW1));
    expect_content(N_LARGE + 2, N_LARGE);
}
END_TEST

/* If the bridge refuses what follows from a round, it's tried again with what
 * has changed meanwhile. */
START_TEST(test_ports_that_change_while_all_is_refused)
{
    transact("[" POD1 "]", NULL);

    struct adp_state_call *call = begin_large(1, N_LARGE);
    run_all();
    ck_assert_ptr_null(end_call(call));

    bridge.round = 2;
    bridge.n_commits = 0;
    adp_state_sync(state, false);
    while (bridge.n_commits < 3) {
        adp_state_run(state);
    }
    bridge.refusal = "no room";
    set_port("p1", 7);
    adp_state_run(state);
    bridge.refusal = NULL;
    run_all();
    adp_state_run(state);
    run_all();
    ck_assert(adp_state_is_synced(state));
    ck_assert(shash_find(&bridge.flows, "table=1,priority=200,ip,in_port=7,"
                         "nw_src=10.0.0.1"));
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW0), "0x2 drop");
}
END_TEST

/* What was before is freed in slices, when the answer has gone out. */
START_TEST(test_cleaning_comes_after_the_answer)
{
    struct adp_state_call *call = begin_large(1, N_LARGE);

    while (!call->done) {
        adp_state_run(state);
    }
    ck_assert(adp_state_is_busy(state));
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), N_LARGE);
    ck_assert_uint_eq(adp_state_generation(state), 1);
    expect_content(N_LARGE + 1, N_LARGE);

    /* A change of the ports meanwhile is seen at the end. */
    bridge.round = 3;
    adp_state_sync(state, false);
    run_all();
    adp_state_run(state);
    run_all();
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW0), "0x3 drop");
    ck_assert_ptr_null(end_call(call));
}
END_TEST

/* Who asked doesn't wait for the end. */
START_TEST(test_client_that_goes_meanwhile)
{
    struct adp_state_call *call = begin_large(1, N_LARGE);

    run_some(call);
    adp_state_call_unref(call);
    run_all();
    ck_assert_uint_eq(adp_state_generation(state), 1);
    expect_content(N_LARGE + 1, N_LARGE);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("state-slices");
    TCase *tc = tcase_create("state-slices");

    tcase_add_checked_fixture(tc, state_world_setup, state_world_teardown);
    tcase_add_test(tc, test_large_transaction_comes_in_slices);
    tcase_add_test(tc, test_reads_in_slices);
    tcase_add_test(tc, test_reads_while_flows_go_into_the_bridge);
    tcase_add_test(tc, test_options_change_in_slices);
    tcase_add_test(tc, test_large_transaction_that_is_refused);
    tcase_add_test(tc, test_ports_that_change_meanwhile);
    tcase_add_test(tc, test_flush_meanwhile);
    tcase_add_test(tc, test_flush_of_a_large_state);
    tcase_add_test(tc, test_pipeline_that_changes_meanwhile);
    tcase_add_test(tc, test_bridge_that_is_deleted_meanwhile);
    tcase_add_test(tc, test_state_while_a_transaction_is_prepared);
    tcase_add_test(tc, test_records_are_counted_without_a_copy);
    tcase_add_test(tc, test_error_in_a_large_transaction);
    tcase_add_test(tc, test_abort_while_a_transaction_is_prepared);
    tcase_add_test(tc, test_pipeline_while_a_transaction_is_prepared);
    tcase_add_test(tc, test_flush_while_a_transaction_is_prepared);
    tcase_add_test(tc, test_ports_that_change_while_all_is_refused);
    tcase_add_test(tc, test_cleaning_comes_after_the_answer);
    tcase_add_test(tc, test_client_that_goes_meanwhile);
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

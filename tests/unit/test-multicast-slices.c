/* SPDX-License-Identifier: Apache-2.0 */

/* Many multicast groups: messages about them, records of what has changed, and
 * members that are over, in slices of turns. */

#include <config.h>
#include <check.h>
#include <limits.h>

#include "multicast-world.h"
#include "test-run.h"
#include "util.h"

/* Changes of records are no closer to each other. */
enum { PACE_MS = 100 };

enum { N_GROUPS = 10 };

static size_t
n_of(const struct json *list)
{
    return json_array(list)->n;
}

/* Joins another group, which is in force, and then all, which can't be yet. */
static void
join_all(void)
{
    join(1, G1 - 1);
    run();
    for (int i = 0; i < N_GROUPS; i++) {
        join(1, G1 + i);
    }
    run();
    ck_assert_uint_eq(calls.n, 1);
}

/* The records of four groups are made. */
static void
begin(void)
{
    join_all();
    now += PACE_MS;
    slice_items = 4;
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_uint_eq(n_reports, 1);
    ck_assert_int_eq(next_wake(), now);
}

/* Records take several turns, in which no message is read and nobody is told
 * of them, and come into force at once. */
START_TEST(said_in_slices)
{
    begin();
    join(2, G1);
    join(2, G1 + N_GROUPS - 1);
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_int_eq(next_wake(), now);
    run();
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_uint_eq(n_of(calls.apply), N_GROUPS);
    ck_assert_uint_eq(n_of(calls.delete), 0);
    ck_assert_int_eq(stat_of("read"), N_GROUPS + 1);
    ck_assert_uint_eq(n_reports, 2);

    run();
    ck_assert_int_eq(stat_of("read"), N_GROUPS + 3);
    now += PACE_MS;
    run();
    ck_assert_uint_eq(calls.n, 3);
    ck_assert_uint_eq(n_of(calls.apply), 2);
}
END_TEST

/* Somebody else was quicker: they are kept until he has finished. */
START_TEST(said_later)
{
    begin();
    calls.busy = true;
    ck_assert_int_eq(next_wake(), now);
    run();
    ck_assert_int_eq(next_wake(), now);
    run();
    ck_assert_int_gt(next_wake(), now);
    calls.busy = false;
    calls.others_are_next = true;
    ck_assert_int_eq(next_wake(), now);
    slice_items = 1;
    join(2, G1);
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_int_eq(next_wake(), now);
    calls.others_are_next = false;
    run();
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_uint_eq(n_of(calls.apply), N_GROUPS);
    now += PACE_MS;
    run();
    ck_assert_uint_eq(calls.n, 3);
    ck_assert_uint_eq(n_of(calls.apply), 1);
}
END_TEST

/* Multicast ends meanwhile: there is something else to be said. */
START_TEST(said_of_nobody)
{
    begin();
    for (int left = 5; left > 0; left -= 4) {
        ck_assert_uint_eq(calls.n, 1);
        adp_multicast_run(m, a_state, false);
    }
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_uint_eq(n_of(calls.apply), 0);
    ck_assert_uint_eq(n_of(calls.delete), 5);
}
END_TEST

/* The same when those that it ends for have left by then. */
START_TEST(said_of_those_that_left)
{
    join_all();
    now += PACE_MS;
    run();
    ck_assert_uint_eq(calls.n, 2);
    now += 3 * INTERVAL_MS;
    slice_items = 4;
    for (int left = N_GROUPS + 1; left > 0; left -= 4) {
        run();
    }
    ck_assert_int_eq(stat_of("expired"), N_GROUPS + 1);
    ck_assert_uint_eq(calls.n, 2);
    for (int left = N_GROUPS + 1; left > 0; left -= 4) {
        ck_assert_uint_eq(calls.n, 2);
        adp_multicast_run(m, a_state, false);
    }
    ck_assert_uint_eq(calls.n, 3);
    ck_assert_uint_eq(n_of(calls.apply), 0);
    ck_assert_uint_eq(n_of(calls.delete), N_GROUPS + 1);
}
END_TEST

/* So does the pipeline: there is nobody to be told. */
START_TEST(said_to_nobody)
{
    begin();
    adp_multicast_run(m, NULL, true);
    run_with = NULL;
    ck_assert_int_eq(next_wake(), LLONG_MAX);
    run();
    run();
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_uint_eq(n_of(calls.apply), 0);
}
END_TEST

/* The port 'p2' reports all groups in one message. */
static void
report_all(void)
{
    struct adp_igmp_report report;

    adp_igmp_report_init(&report);
    for (int i = 0; i < N_GROUPS; i++) {
        adp_igmp_report_add(&report, htonl(G1 + i), true);
    }
    message(2, 0, report.msg, adp_igmp_report_finish(&report));
    slice_items = 4;
    run();
    ck_assert_int_eq(stat_of("joined"), 4);
    ck_assert_int_eq(next_wake(), now);
}

/* Each record of a message asks the rules. */
START_TEST(read_in_slices)
{
    report_all();

    /* Not while the state is busy. */
    calls.busy = true;
    ck_assert_int_eq(next_wake(), now);
    run();
    ck_assert_int_eq(stat_of("joined"), 4);
    ck_assert_int_gt(next_wake(), now);
    calls.busy = false;
    ck_assert_int_eq(next_wake(), now);

    run();
    ck_assert_int_eq(stat_of("joined"), 8);
    ck_assert_int_eq(next_wake(), now);
    join(1, G1);
    run();
    ck_assert_int_eq(stat_of("joined"), N_GROUPS + 1);
    ck_assert_int_eq(stat_of("read"), 2);
    ck_assert_int_gt(next_wake(), now);
}
END_TEST

/* Meanwhile the port goes, and its number is another's. */
START_TEST(half_read)
{
    report_all();
    ports_lost++;
    apply("{'kind':'Pod','name':'d/ruled','port':'q2',"
          "'mac':'00:00:00:00:00:02','ips':['10.0.0.12']}");
    run();
    ck_assert_int_eq(stat_of("joined"), 4);
    ck_assert_int_eq(stat_of("strange"), 1);
    ck_assert_int_eq(stat_of("members"), 0);
    now += PACE_MS;
    run();
    ck_assert_int_gt(next_wake(), now);
}
END_TEST

/* Without multicast what is left of it is lost, as all messages are. */
START_TEST(half_read_inactive)
{
    report_all();
    adp_multicast_run(m, a_state, false);
    now += PACE_MS;
    adp_multicast_run(m, a_state, false);
    ck_assert_int_gt(next_wake(), now);
    run();
    ck_assert_int_eq(stat_of("joined"), 4);
    ck_assert_int_eq(stat_of("read"), 1);
    ck_assert_int_eq(stat_of("members"), 0);
}
END_TEST

/* Many members that are over go in several turns, and that is said when all
 * have. */
START_TEST(aged_in_slices)
{
    enum { ALL = N_GROUPS + 1 };

    join_all();
    now += PACE_MS;
    run();
    ck_assert_uint_eq(calls.n, 2);
    now += 3 * INTERVAL_MS;
    slice_items = 4;
    for (int left = ALL - 4; left > 0; left -= 4) {
        run();
        ck_assert_int_eq(stat_of("groups"), left);
        ck_assert_int_eq(stat_of("expired"), ALL - left);
        ck_assert_uint_eq(calls.n, 2);
        ck_assert_int_le(next_wake(), now);
    }
    slice_items = INT_MAX;
    run();
    ck_assert_int_eq(stat_of("groups"), 0);
    ck_assert_uint_eq(calls.n, 3);
    ck_assert_uint_eq(n_of(calls.apply), 0);
    ck_assert_uint_eq(n_of(calls.delete), ALL);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("multicast-slices");
    TCase *tc = tcase_create("multicast-slices");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, said_in_slices);
    tcase_add_test(tc, said_later);
    tcase_add_test(tc, said_of_nobody);
    tcase_add_test(tc, said_of_those_that_left);
    tcase_add_test(tc, said_to_nobody);
    tcase_add_test(tc, read_in_slices);
    tcase_add_test(tc, half_read);
    tcase_add_test(tc, half_read_inactive);
    tcase_add_test(tc, aged_in_slices);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

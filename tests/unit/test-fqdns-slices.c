/* SPDX-License-Identifier: Apache-2.0 */

/* DNS answers about many names: what they tell, and what is over, in slices of
 * the main thread. */

#include <config.h>
#include <check.h>
#include <limits.h>

#include "fqdns-world.h"
#include "openvswitch/dynamic-string.h"
#include "test-run.h"

/* The answers about 'n' names come and are read, each about an FQDN of its own
 * beside the one for all. */
static void
read_many(int n, uint8_t ttl)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, "*.example.com");
    for (int i = 0; i < n; i++) {
        ds_put_format(&s, " %c.example.com", 'a' + i);
        come(i, 'a' + i, "com", i, ttl);
    }
    fqdn = ds_cstr(&s);
    fqdns_seq++;
    calls.busy = true;
    run();
    fqdn = NULL;
    ds_destroy(&s);
    calls.busy = false;
}

/* What is to be said takes several turns, and is said at once. */
START_TEST(said_in_slices)
{
    read_many(9, 60);
    slice_items = 4;
    for (int i = 0; i < 2; i++) {
        run();
        come(20 + i, 'a', "com", 0, 60);
        ck_assert_uint_eq(calls.n, 0);
        ck_assert_int_eq(next_wake(), now);
    }
    ck_assert_int_eq(stat_of("read"), 9);
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_uint_eq(n_of(calls.apply), 10);
    ck_assert_uint_eq(n_of(calls.delete), 0);
    end_call();
    slice_items = INT_MAX;
    run();
    ck_assert_uint_eq(n_passed, 11);
    ck_assert_uint_eq(calls.n, 1);
}
END_TEST

/* Somebody else was quicker: it is said when he has finished, and what comes
 * meanwhile is said next. */
START_TEST(said_later)
{
    read_many(9, 60);
    slice_items = 6;
    run();
    calls.busy = true;
    run();
    ck_assert_int_eq(next_wake(), now + ADP_FQDNS_PATIENCE_MS);
    come(20, 'a', "com", 0, 60);
    come(21, 'b', "com", 99, 60);
    run();
    ck_assert_uint_eq(calls.n, 0);
    ck_assert_int_eq(stat_of("read"), 11);

    calls.busy = false;
    ck_assert_int_eq(next_wake(), now);
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_uint_eq(n_of(calls.apply), 10);
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 10);
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_uint_eq(n_of(calls.apply), 2);
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 11);
}
END_TEST

/* Who is told goes meanwhile: the next one is told all of it. */
START_TEST(said_to_nobody)
{
    for (int n_turns = 1; n_turns <= 2; n_turns++) {
        read_many(9, 60);
        slice_items = 6;
        run();
        if (n_turns == 2) {
            calls.busy = true;
            run();
        }
        run_without_state();
        slice_items = INT_MAX;
        calls.busy = false;
        ck_assert_uint_eq(calls.n, 0);
        ck_assert_int_eq(next_wake(), now + 60000);
        read_many(9, 60);
        calls.later = false;
        run();
        ck_assert_uint_eq(calls.n, 1);
        ck_assert_uint_eq(n_of(calls.apply), 10);
        calls.n = 0;
        calls.later = true;
        now += 60000;
    }
}
END_TEST

/* Many addresses whose TTL is over go in several turns, and that is said when
 * all have. */
START_TEST(aged_in_slices)
{
    calls.later = false;
    read_many(9, 10);
    run();
    ck_assert_uint_eq(calls.n, 1);
    now += 10000;
    slice_items = 4;
    for (int left = 5; left > 0; left -= 4) {
        run();
        ck_assert_int_eq(stat_of("addresses"), left);
        ck_assert_uint_eq(calls.n, 1);
        ck_assert_int_le(next_wake(), now);
    }
    run();
    ck_assert_int_eq(stat_of("addresses"), 0);
    slice_items = INT_MAX;
    run();
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_uint_eq(n_of(calls.delete), 10);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("fqdns-slices");
    TCase *tc = tcase_create("fqdns-slices");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, said_in_slices);
    tcase_add_test(tc, said_later);
    tcase_add_test(tc, said_to_nobody);
    tcase_add_test(tc, aged_in_slices);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* JSON that is freed in slices: all of it, a few pieces at a time however it
 * is nested, and nothing that somebody else has. */

#include <config.h>

#include <check.h>
#include <malloc.h>

#include "adp-turn.h"
#include "adp-waste.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "test-run.h"
#include "util.h"

enum { STEPS_OF_SLICE = 10 };

/* Each look at the clock is a tenth of a slice later. */
static long long int now;

static long long int
tick(void)
{
    return now += ADP_TURN_SLICE_MIN_US / STEPS_OF_SLICE;
}

static void
setup(void)
{
    now = 1000000;
    adp_turn_set_clock(tick);
    /* Jobs have but their least slices in a turn that is long already. */
    adp_turn_begin();
    now += 2 * ADP_TURN_BUDGET_US;
}

/* How many slices it takes to free all there is. */
static int
run(void)
{
    int n;

    for (n = 0; !adp_waste_is_empty(); n++) {
        adp_waste_run(0);
    }
    return n;
}

/* A list of 'n' records with 'n' addresses each. */
static struct json *
records(int n)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_char(&s, '[');
    for (int i = 0; i < n; i++) {
        ds_put_format(&s, "%s{\"name\":\"r%d\",\"more\":{\"a\":1},\"list\":[",
                      i ? "," : "", i);
        for (int j = 0; j < n; j++) {
            ds_put_format(&s, "%s\"10.0.%d.%d\"", j ? "," : "", i, j);
        }
        ds_put_cstr(&s, "]}");
    }
    ds_put_char(&s, ']');

    struct json *json = json_from_string(ds_cstr(&s));
    ds_destroy(&s);
    ck_assert_int_eq(json->type, JSON_ARRAY);
    return json;
}

START_TEST(test_slices)
{
    enum { N = 100 };
    size_t before = mallinfo2().uordblks;

    ck_assert(adp_waste_is_empty());
    adp_waste_run(0);
    adp_waste_put(records(N), 0, NULL);
    adp_waste_put(records(1), 0, NULL);
    ck_assert(!adp_waste_is_empty());

    /* Some pieces between two looks at the clock. */
    int n_slices = run();
    ck_assert_int_ge(n_slices, N * N / STEPS_OF_SLICE / 100);
    ck_assert_int_le(n_slices, N * N / STEPS_OF_SLICE);
#ifndef __SANITIZE_ADDRESS__
    ck_assert_uint_le(mallinfo2().uordblks, before + 65536);
#endif
    (void) before;
}
END_TEST

/* The time that is given at the least is taken. */
START_TEST(test_least)
{
    adp_waste_put(records(100), 0, NULL);
    adp_waste_run(0);
    ck_assert(!adp_waste_is_empty());

    long long int before = now;
    adp_waste_run(5 * ADP_TURN_SLICE_MIN_US);
    ck_assert(!adp_waste_is_empty());
    ck_assert_int_ge(now - before, 5 * ADP_TURN_SLICE_MIN_US);
    ck_assert_int_le(now - before, 6 * ADP_TURN_SLICE_MIN_US);
    run();
}
END_TEST

/* The oldest goes first, and its cost with it. */
START_TEST(test_costs)
{
    uint64_t a = 30, b = 7;

    adp_waste_put(records(100), 20, &a);
    adp_waste_put(NULL, 10, &a);
    adp_waste_put(records(100), 7, &b);
    adp_waste_run(0);
    ck_assert_uint_eq(a, 30);
    while (a) {
        ck_assert_uint_eq(b, 7);
        adp_waste_run(0);
    }
    ck_assert(!adp_waste_is_empty());
    run();
    ck_assert_uint_eq(b, 0);
}
END_TEST

/* What others have stays as it is. */
START_TEST(test_shared)
{
    struct json *list = records(5);
    struct json *mine = json_clone(list->array.elems[3]);
    struct json *all = json_clone(list);
    char *text = json_to_string(all, JSSF_SORT);

    adp_waste_put(list, 0, NULL);
    run();
    char *after = json_to_string(all, JSSF_SORT);
    ck_assert_str_eq(after, text);
    free(after);
    free(text);

    adp_waste_put(all, 0, NULL);
    run();
    text = json_to_string(mine, JSSF_SORT);
    ck_assert_str_eq(text, "{\"list\":[\"10.0.3.0\",\"10.0.3.1\",\"10.0.3.2\","
                     "\"10.0.3.3\",\"10.0.3.4\"],\"more\":{\"a\":1},"
                     "\"name\":\"r3\"}");
    free(text);
    json_destroy(mine);
}
END_TEST

/* Nothing is looked through again and again. */
START_TEST(test_large_object)
{
    struct json *object = json_object_create();

    for (int i = 0; i < 1000; i++) {
        char *name = xasprintf("n%d", i);

        json_object_put(object, name, json_integer_create(i));
        free(name);
    }
    adp_waste_put(object, 0, NULL);
    ck_assert_int_eq(run(), 1);
}
END_TEST

/* The loop doesn't sleep while there is some. */
START_TEST(test_wait)
{
    adp_waste_put(records(100), 0, NULL);
    adp_waste_run(0);
    ck_assert(!adp_waste_is_empty());
    adp_waste_wait();
    poll_block();
    run();
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("waste");
    TCase *tcase = tcase_create("waste");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, test_slices);
    tcase_add_test(tcase, test_least);
    tcase_add_test(tcase, test_costs);
    tcase_add_test(tcase, test_shared);
    tcase_add_test(tcase, test_large_object);
    tcase_add_test(tcase, test_wait);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}

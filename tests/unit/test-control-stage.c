/* SPDX-License-Identifier: Apache-2.0 */

/* What clients of the control socket send ahead of a call: it comes out as it
 * went in, and all of it together is bounded. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "adp-control-stage.h"
#include "openvswitch/json.h"
#include "test-run.h"
#include "util.h"

static void
expect_json(struct json *json, const char *expected)
{
    char *text = json ? json_to_string(json, JSSF_SORT) : xstrdup("none");

    ck_assert_str_eq(text, expected);
    free(text);
    json_destroy(json);
}

static bool
add(struct adp_control_stage *stage, const char *apply, const char *delete,
    uint64_t cost)
{
    struct json *a = apply ? json_from_string(apply) : NULL;
    struct json *d = delete ? json_from_string(delete) : NULL;
    bool added = adp_control_stage_add(stage, a, d, cost);

    json_destroy(a);
    json_destroy(d);
    return added;
}

START_TEST(stage_keeps_the_order)
{
    struct adp_control_stage_pool pool = { .max_cost = 100 };
    struct adp_control_stage stage;
    struct json *apply, *delete;

    adp_control_stage_init(&stage, &pool);
    ck_assert(add(&stage, "[1,2]", NULL, 10));
    ck_assert(add(&stage, NULL, "[\"a\"]", 20));
    ck_assert(add(&stage, "[3]", "[\"b\"]", 30));
    ck_assert_uint_eq(adp_control_stage_n(&stage), 5);
    ck_assert_uint_eq(stage.cost, 60);

    struct json *given = json_from_string("[4]");
    adp_control_stage_take(&stage, given, NULL, &apply, &delete);
    json_destroy(given);
    expect_json(apply, "[1,2,3,4]");
    expect_json(delete, "[\"a\",\"b\"]");

    /* Nothing is left. */
    ck_assert_uint_eq(stage.cost, 0);
    ck_assert_uint_eq(pool.cost, 0);
    adp_control_stage_take(&stage, NULL, NULL, &apply, &delete);
    expect_json(apply, "none");
    expect_json(delete, "none");
}
END_TEST

START_TEST(stages_are_bounded_together)
{
    struct adp_control_stage_pool pool = { .max_cost = 100 };
    struct adp_control_stage a, b;

    adp_control_stage_init(&a, &pool);
    adp_control_stage_init(&b, &pool);
    ck_assert(add(&a, "[1]", NULL, 60));
    ck_assert(!add(&b, "[1]", NULL, 41));
    ck_assert(!add(&b, "[1]", NULL, UINT64_MAX));
    ck_assert_uint_eq(adp_control_stage_n(&b), 0);
    ck_assert(add(&b, "[1]", NULL, 40));
    ck_assert(!add(&a, "[1]", NULL, 1));

    /* What one gives back is the other's. */
    adp_control_stage_clear(&a);
    ck_assert_uint_eq(adp_control_stage_n(&a), 0);
    ck_assert_uint_eq(pool.cost, 40);
    ck_assert(add(&b, "[1]", NULL, 60));
    adp_control_stage_clear(&b);
    ck_assert_uint_eq(pool.cost, 0);
}
END_TEST

static struct json *discarded[2];
static size_t n_discarded;
static uint64_t discarded_cost, *discarded_from;

static void
discard(struct json *json, uint64_t cost, uint64_t *account)
{
    ck_assert_uint_lt(n_discarded, ARRAY_SIZE(discarded));
    discarded[n_discarded++] = json;
    discarded_cost += cost;
    discarded_from = account;
}

/* What nobody takes is somebody else's to free, and counts until then. */
START_TEST(stage_discards)
{
    struct adp_control_stage_pool pool = {
        .max_cost = 100, .discard = discard,
    };
    struct adp_control_stage stage;

    adp_control_stage_init(&stage, &pool);
    adp_control_stage_clear(&stage);
    ck_assert_uint_eq(n_discarded, 0);
    ck_assert(add(&stage, "[1]", "[2]", 60));
    adp_control_stage_clear(&stage);
    ck_assert_uint_eq(adp_control_stage_n(&stage), 0);
    ck_assert_uint_eq(n_discarded, 2);
    expect_json(discarded[0], "[2]");
    expect_json(discarded[1], "[1]");
    ck_assert_uint_eq(discarded_cost, 60);
    ck_assert_ptr_eq(discarded_from, &pool.cost);
    ck_assert_uint_eq(pool.cost, 60);
    ck_assert(!add(&stage, "[3]", NULL, 60));
    ck_assert(add(&stage, "[3]", NULL, 40));

    *discarded_from -= discarded_cost;
    ck_assert(add(&stage, "[4]", NULL, 60));

    /* What is taken isn't discarded. */
    struct json *apply, *delete;
    adp_control_stage_take(&stage, NULL, NULL, &apply, &delete);
    expect_json(apply, "[3,4]");
    ck_assert_ptr_null(delete);
    ck_assert_uint_eq(n_discarded, 2);
    ck_assert_uint_eq(pool.cost, 0);
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    Suite *s = suite_create("control-stage");
    TCase *tc = tcase_create("control-stage");
    tcase_add_test(tc, stage_keeps_the_order);
    tcase_add_test(tc, stage_discards);
    tcase_add_test(tc, stages_are_bounded_together);
    suite_add_tcase(s, tc);

    return test_run(s);
}

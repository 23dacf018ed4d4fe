/* SPDX-License-Identifier: Apache-2.0 */

/* Replies that become text in portions. */

#include <config.h>

#include <check.h>
#include <stdlib.h>

#include "adp-control-text.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

/* A value of up to 'depth' levels. */
static struct json *
random_json(int depth)
{
    static const char *const texts[] = { "", "a", "\"\\\n", "default/web" };
    struct json *json;
    int n = random_range(6);

    switch (random_range(depth ? 8 : 4)) {
    case 0:
        return json_null_create();
    case 1:
        return json_boolean_create(random_range(2));
    case 2:
        return json_integer_create((int) random_uint32());
    case 3:
        return json_string_create(texts[random_range(ARRAY_SIZE(texts))]);
    case 4:
    case 5:
        json = json_array_create_empty();
        for (int i = 0; i < n; i++) {
            json_array_add(json, random_json(depth - 1));
        }
        return json;
    default:
        json = json_object_create();
        for (int i = 0; i < n; i++) {
            json_object_put_nocopy(json, xasprintf("%d\"\n", i),
                                   random_json(depth - 1));
        }
        return json;
    }
}

/* Any portions give the text that json_to_ds() gives, and what others hold is
 * left alone. */
START_TEST(portions_make_the_whole)
{
    test_seed_random();
    for (int i = 0; i < 20000; i++) {
        struct json *json = random_json(random_range(6));
        struct json *held = random_range(2) ? json_deep_clone(json) : NULL;
        struct json *also = NULL;
        struct ds text = DS_EMPTY_INITIALIZER;
        char *whole = json_to_string(json, 0);

        if (json->type == JSON_ARRAY && json->array.n) {
            also = json_clone(json->array.elems[0]);
        }
        struct adp_control_text *t
            = adp_control_text_create(held ? json_clone(json) : json);
        while (!adp_control_text_put(t, &text, 1 + random_range(100))) {
            ck_assert_uint_gt(adp_control_text_left(t), 0);
        }
        ck_assert_uint_eq(adp_control_text_left(t), 0);
        adp_control_text_destroy(t);

        ck_assert_str_eq(ds_cstr(&text), whole);
        if (held) {
            ck_assert(json_equal(json, held));
            json_destroy(json);
            json_destroy(held);
        }
        json_destroy(also);
        ds_destroy(&text);
        free(whole);
    }
}
END_TEST

/* A portion is as long as was asked for, and one piece at the most; what is
 * left may be thrown away. */
START_TEST(portion_has_a_length)
{
    struct json *records = json_array_create_empty();
    struct json *reply = json_object_create();
    struct json *result = json_object_create();
    struct ds text = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < 10000; i++) {
        json_array_add(records, json_string_create("0123456789"));
    }
    json_object_put(result, "records", records);
    json_object_put(reply, "result", result);
    struct json *kept = json_clone(records->array.elems[0]);

    struct adp_control_text *t = adp_control_text_create(reply);
    ck_assert(!adp_control_text_put(t, &text, 1000));
    ck_assert_uint_ge(text.length, 1000);
    ck_assert_uint_lt(text.length, 1000 + 20);
    ck_assert_uint_ge(adp_control_text_left(t), 9900 * 13);
    ck_assert_uint_le(adp_control_text_left(t), 10000 * 13);
    ck_assert_uint_eq(kept->count, 1);  /* Written, and let go of. */

    ds_clear(&text);
    ck_assert(!adp_control_text_put(t, &text, 50000));
    ck_assert_uint_lt(text.length, 50000 + 20);
    adp_control_text_destroy(t);
    json_destroy(kept);
    ds_destroy(&text);
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    Suite *s = suite_create("control-text");
    TCase *tc = tcase_create("control-text");
    tcase_add_test(tc, portions_make_the_whole);
    tcase_add_test(tc, portion_has_a_length);
    suite_add_tcase(s, tc);

    return test_run(s);
}

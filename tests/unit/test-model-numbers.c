/* SPDX-License-Identifier: Apache-2.0 */

/* Records are written as text and read again, in which numbers have 15 digits:
 * one that is rounded beyond the largest or the smallest one is refused. */

#include <config.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "model-records.h"
#include "model.h"
#include "openvswitch/json.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"

#define MANIFEST(OBJECT) "{'kind':'Manifest','name':'m','object':" OBJECT "}"
#define ADMIN_POLICY(PRIORITY) \
    "{'kind':'NetworkPolicy','name':'np','type':'AdminNetworkPolicy'," \
    "'appliedToGroups':[],'tierPriority':1,'priority':" PRIORITY "," \
    "'rules':[]}"

/* Returns the error of the record, which may be kept in its compact form, or
 * NULL. */
static struct adp_error *
parse(const char *text, bool compact)
{
    struct json *array = json_array_from_quoted(text);
    struct json *records = (compact ? adp_model_compact(array)
                            : json_clone(array));
    struct adp_record *record;
    struct adp_error *error = adp_record_parse(records->array.elems[0], 0,
                                               &record);

    if (!error) {
        /* What is taken can be read again. */
        char *s = json_to_string(records, 0);
        struct json *again = json_from_string(s);
        ck_assert_msg(again->type == JSON_ARRAY, "%s", s);
        json_destroy(again);
        free(s);
        adp_record_unref(record);
    }
    json_destroy(records);
    json_destroy(array);
    return error;
}

static void
expect_error(const char *text, bool compact, const char *object,
             const char *field)
{
    struct adp_error *error = parse(text, compact);

    ck_assert_msg(error, "%s is taken", text);
    ck_assert_str_eq(error->code, "invalid");
    ck_assert_str_eq(error->object, object);
    ck_assert_str_eq(error->field, field);
    ck_assert(strstr(error->message, "numbers"));
    adp_error_destroy(error);
}

START_TEST(refuses_what_cant_be_read_again)
{
    static const struct {
        const char *text;
        const char *field;
    } cases[] = {
        { MANIFEST("{'a':1.7976931348623157e308}"), "object.a" },
        { MANIFEST("{'a':{'b':[0,-1.7976931348623155e308]}}"),
          "object.a.b[1]" },
        { MANIFEST("{'a':[[2.2250738585072014e-308]]}"), "object.a[0][0]" },
        { MANIFEST("{'b':true,'a':{'a':-2.2250738585072014e-308}}"),
          "object.a.a" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        expect_error(cases[i].text, false, "Manifest m", cases[i].field);
        expect_error(cases[i].text, true, "Manifest m", "object");
    }
    expect_error(ADMIN_POLICY("2.2250738585072014e-308"), false,
                 "NetworkPolicy np", "priority");
}
END_TEST

START_TEST(takes_others)
{
    static const char *const texts[] = {
        MANIFEST("{'a':[1.7976931348623e308,-1.5e308,2.2250738585073e-308]}"),
        MANIFEST("{'a':[0,0.0,-1,3.5,0.30000000000000004,1e300,1e-300]}"),
        MANIFEST("{'a':'1.79769313486232e+308 and e-308','e-321':null}"),
        ADMIN_POLICY("2.5"), ADMIN_POLICY("0"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        for (int compact = 0; compact < 2; compact++) {
            struct adp_error *error = parse(texts[i], compact);

            ck_assert_msg(!error, "%s: %s", texts[i], error->message);
        }
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("model-numbers");
    TCase *tc = tcase_create("numbers");

    tcase_add_test(tc, refuses_what_cant_be_read_again);
    tcase_add_test(tc, takes_others);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

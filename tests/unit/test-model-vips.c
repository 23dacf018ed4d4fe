/* SPDX-License-Identifier: Apache-2.0 */

/* Who is to blame when Services want the same address.  JSON is written with
 * single quotes here. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "flow.h"
#include "model.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"

static struct adp_model *model;

static bool
port_number(const char *name OVS_UNUSED, ofp_port_t *port,
            void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(1);
    return true;
}

static const struct adp_model_env env = { .port_number = port_number };

static void
setup(void)
{
    model = adp_model_create();
}

static void
teardown(void)
{
    adp_model_destroy(model);
}

/* Applies them; NULL, or the error. */
static struct adp_error *
apply(const char *records)
{
    struct json *json = json_array_from_quoted(records);
    struct adp_error *error;

    adp_model_begin(model);
    error = adp_model_apply(model, json, NULL);
    if (!error) {
        error = adp_model_check_changes(model, &env);
    }
    if (error) {
        adp_model_rollback(model);
    } else {
        adp_model_commit(model);
    }
    json_destroy(json);
    return error;
}

static void
expect_blame(const char *records, const char *object, const char *field)
{
    struct adp_error *error = apply(records);

    ck_assert_ptr_nonnull(error);
    ck_assert_str_eq(error->code, "invalid");
    ck_assert_str_eq(error->object, object);
    ck_assert_str_eq(error->field, field);
    adp_error_destroy(error);
}

/* Names that come before and behind the other's. */
#define DNS "{'kind':'Service','name':'kube-system/dns'," \
    "'clusterIP':['10.96.0.10','fd96::a'],'ports':[{'port':53}]}"
#define EVIL(NAMESPACE, LIST, IP) \
    "{'kind':'Service','name':'" NAMESPACE "/evil'," \
    "'clusterIP':'10.96.0.11','" LIST "':['192.0.2.1','" IP "']," \
    "'ports':[{'port':80},{'port':53}]}"

START_TEST(together)
{
    expect_blame(EVIL("a", "externalIPs", "10.96.0.10") "," DNS,
                 "Service a/evil", "externalIPs[1]");
    expect_blame(EVIL("z", "externalIPs", "fd96::a") "," DNS,
                 "Service z/evil", "externalIPs[1]");
    expect_blame(EVIL("a", "loadBalancerIPs", "fd96::a") "," DNS,
                 "Service a/evil", "loadBalancerIPs[1]");
    expect_blame(EVIL("a", "externalIPs", "10.96.0.10") ","
                 EVIL("b", "externalIPs", "10.96.0.12"),
                 "Service b/evil", "clusterIP");
}
END_TEST

START_TEST(one_after_the_other)
{
    ck_assert_ptr_null(apply(DNS));
    expect_blame(EVIL("a", "externalIPs", "10.96.0.10"),
                 "Service a/evil", "externalIPs[1]");
    ck_assert_ptr_null(apply(EVIL("a", "externalIPs", "10.96.0.12")));
    expect_blame("{'kind':'Service','name':'b/c','clusterIP':'10.96.0.12',"
                 "'ports':[{'port':53}]}", "Service b/c", "clusterIP");
    expect_blame("{'kind':'Service','name':'b/c','externalIPs':["
                 "'192.0.2.1'],'ports':[{'port':80}]}", "Service b/c",
                 "externalIPs[0]");
    /* Other ports of it are free. */
    ck_assert_ptr_null(apply("{'kind':'Service','name':'b/c','clusterIP':"
                             "'10.96.0.12','ports':[{'port':54}]}"));
    ck_assert_ptr_null(apply(DNS));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("model-vips");
    TCase *tc = tcase_create("model-vips");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, together);
    tcase_add_test(tc, one_after_the_other);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

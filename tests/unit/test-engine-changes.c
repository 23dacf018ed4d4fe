/* SPDX-License-Identifier: Apache-2.0 */

/* Single changes of an engine's records: in how many steps and pauses they
 * come. */

#include <config.h>
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model-pause.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline-desired.h"
#include "pipeline-engine.h"
#include "pipeline-world.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"

static struct adp_model *model;
static struct adp_engine *engine;

static void
setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
    model = adp_model_create();
    engine = adp_engine_create();
}

static void
teardown(void)
{
    adp_engine_destroy(engine);
    adp_model_destroy(model);
    pw_uninit();
}

/* Transactions. */

/* Returns the error of a run, which is then to be reverted. */
static struct adp_error *
begin(const char *records_s, const char *keys_s)
{
    struct json *records = json_array_from_quoted(records_s);
    struct json *keys = json_array_from_quoted(keys_s);

    adp_model_begin(model);
    struct adp_error *error = adp_model_delete(model, keys, false, NULL);
    ck_assert(!error);
    error = adp_model_apply(model, records, NULL);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    error = adp_model_check_changes(model, &pw.env);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    json_destroy(records);
    json_destroy(keys);
    return adp_engine_run(engine, pw.pipeline, model, &pw.env, false);
}

static void
end(bool accept)
{
    if (accept) {
        adp_engine_accept(engine);
        adp_model_commit(model);
    } else {
        adp_engine_revert(engine);
        adp_model_rollback(model);
    }
}

static void
apply(const char *records)
{
    struct adp_error *error = begin(records, "");

    ck_assert_msg(!error, "%s", error ? error->message : "");
    end(true);
}

static struct adp_desired_usage
usage(void)
{
    struct adp_desired_usage now;

    adp_desired_get_usage(adp_engine_desired(engine), &now);
    return now;
}

/* Addresses. */

enum { N_RULES = 5 };

static void
put_group(struct ds *s, int net, int n)
{
    ds_put_cstr(s, "{'kind':'AddressGroup','name':'many','addresses':[");
    for (int i = 0; i < n; i++) {
        ds_put_format(s, "%s'%d.%d.%d.1'", i ? "," : "", net, i / 256,
                      i % 256);
    }
    ds_put_cstr(s, "]}");
}

static void
apply_group(int net, int n)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    put_group(&s, net, n);
    apply(ds_cstr(&s));
    ds_destroy(&s);
}

/* Rules that all have the group as their peer. */
static void
apply_rules(int n)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, BASE ",");
    put_group(&s, 20, n);
    ds_put_cstr(&s, ",{'kind':'NetworkPolicy','name':'p',"
                "'type':'K8sNetworkPolicy','appliedToGroups':['a'],"
                "'rules':[");
    for (int i = 0; i < N_RULES; i++) {
        ds_put_format(&s, "%s{'direction':'In',"
                      "'from':{'addressGroups':['many']},"
                      "'services':[{'protocol':'TCP','port':%d}]}",
                      i ? "," : "", i + 1);
    }
    ds_put_cstr(&s, "]}");
    apply(ds_cstr(&s));
    ds_destroy(&s);
}

struct watched {
    size_t n_pauses;
    uint64_t last;              /* Steps until the latest pause, */
    uint64_t longest;           /* and the most between two. */
};

static void
note_pause(void *w_)
{
    struct watched *w = w_;
    uint64_t now = usage().n_steps;

    w->n_pauses++;
    w->longest = MAX(w->longest, now - w->last);
    w->last = now;
}

/* Changes all addresses of a group of 'n'.  Returns how many steps that
 * takes. */
static uint64_t
change_all_addresses(int n)
{
    struct watched w = { .n_pauses = 0 };

    apply_rules(n);
    size_t n_flows = usage().n_flows;
    uint64_t before = w.last = usage().n_steps;

    adp_pause_set(note_pause, &w);
    apply_group(30, n);
    adp_pause_set(NULL, NULL);
    ck_assert_uint_eq(usage().n_flows, n_flows);
    ck_assert_uint_ge(w.n_pauses, 2 * N_RULES * n);
    ck_assert_uint_gt(w.longest, 0);
    ck_assert_uint_le(w.longest, 16 * 16);
    return usage().n_steps - before;
}

/* The cost is of the addresses, not of their square, and there are pauses
 * amid it. */
START_TEST(all_addresses_change)
{
    uint64_t few = change_all_addresses(1000);
    uint64_t many = change_all_addresses(4000);

    ck_assert_uint_gt(few, 0);
    ck_assert_uint_lt(many, 6 * few);
}
END_TEST

/* One address costs a look at each. */
START_TEST(one_address_goes)
{
    apply_rules(1000);
    uint64_t before = usage().n_steps;
    apply_group(20, 999);
    ck_assert_uint_gt(usage().n_steps, before);
    ck_assert_uint_le(usage().n_steps - before, N_RULES * 1010);
}
END_TEST

int
main(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    Suite *suite = suite_create("engine-changes");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, all_addresses_change);
    tcase_add_test(tc, one_address_goes);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* A month of records that come and go under names, addresses and ports of
 * their own, as those of a busy cluster do: what the control plane remembers
 * doesn't grow with what there once was. */

#include <config.h>
#include <check.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/ofp-table.h"
#include "ovs-rcu.h"
#include "pipeline-builtin.h"
#include "pipeline-desired.h"
#include "pipeline-engine.h"
#include "pipeline.h"
#include "test-run.h"
#include "util.h"

enum { N_DAYS = 60, WARM_UP = 30, PER_DAY = 40 };

static const struct adp_pipeline *pipeline;
static struct ofputil_table_map tables;
static struct adp_model *model;
static struct adp_engine *engine;

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(name[0] == 'p' ? 10 + atoi(name + 1)
                       : name[0] == 'g' ? 1 : 2);
    return true;
}

static const struct adp_model_env env = {
    .port_number = port_number, .round = 1
};

static const char node[]
    = "[{\"kind\":\"NodeConfig\",\"name\":\"n\",\"gateway\":"
      "{\"port\":\"gw0\",\"mac\":\"00:00:00:00:01:01\",\"ip\":\"10.10.0.1\"},"
      "\"tunnel\":{\"port\":\"tun0\"},\"podCIDR\":\"10.10.0.0/16\","
      "\"serviceCIDR\":\"10.96.0.0/12\",\"transportIP\":\"192.168.0.1\"}]";

/* In 'body' "@" stands for what the record is called, "#" for two bytes of an
 * address that no other has had, "%" for its number on its day. */
struct kind {
    const char *name;
    const char *body;
};

static const struct kind kinds[] = {
    { "Pod", "\"port\":\"p%\",\"mac\":\"00:00:00:00:02:%\","
      "\"ips\":[\"10.10.#\"]" },
    { "AddressGroup", "\"addresses\":[\"10.40.#\",\"10.41.#\"]" },
    { "AppliedToGroup", "\"pods\":[\"d/@\"]" },
    { "PeerNode", "\"podCIDR\":\"172.16.#/32\",\"gatewayIP\":\"172.16.#\","
      "\"transportIP\":\"192.168.#\"" },
    { "Service", "\"clusterIP\":\"10.100.#\",\"sessionAffinity\":"
      "{\"timeoutSeconds\":20},\"ports\":[{\"port\":80,\"nodePort\":3%00,"
      "\"endpoints\":[{\"ip\":\"10.10.#\",\"port\":80,\"local\":true},"
      "{\"ip\":\"10.42.#\",\"port\":80}]}]" },
    { "NetworkPolicy", "\"type\":\"AntreaNetworkPolicy\",\"tierPriority\":250,"
      "\"priority\":1.%,\"appliedToGroups\":[\"d/@\"],\"rules\":["
      "{\"direction\":\"In\",\"name\":\"in-@\",\"action\":\"Drop\","
      "\"enableLogging\":true,\"logLabel\":\"l-@\","
      "\"from\":{\"addressGroups\":[\"d/@\"]},"
      "\"services\":[{\"protocol\":\"TCP\",\"port\":80}]},"
      "{\"direction\":\"Out\",\"name\":\"out-@\",\"action\":\"Reject\","
      "\"to\":{\"fqdns\":[\"n-@.example.com\"]}}]" },
};

static void
put_record(struct ds *s, const struct kind *k, int day, int i)
{
    int number = day * PER_DAY + i;

    ds_put_format(s, "{\"kind\":\"%s\",\"name\":\"d/%d-%d\",", k->name, day,
                  i);
    for (const char *c = k->body; *c; c++) {
        if (*c == '@') {
            ds_put_format(s, "%d-%d", day, i);
        } else if (*c == '#') {
            ds_put_format(s, "%d.%d", 1 + number / 250, 1 + number % 250);
        } else if (*c == '%') {
            ds_put_format(s, "%02d", i);
        } else {
            ds_put_char(s, *c);
        }
    }
    ds_put_char(s, '}');
}

static void
must(struct adp_error *error)
{
    ck_assert_msg(!error, "%s", error ? error->message : "");
}

/* As a bridge takes it over. */
static void
transact(struct json *records, bool delete)
{
    struct adp_changes changes;

    adp_model_begin(model);
    must(delete ? adp_model_delete(model, records, false, NULL)
         : adp_model_apply(model, records, NULL));
    must(adp_model_check_changes(model, &env));
    must(adp_engine_run(engine, pipeline, model, &env, false));
    must(adp_desired_get_changes(adp_engine_desired(engine), ADP_CHANGES_ONLY,
                                 &tables, &changes));
    adp_changes_uninit(&changes);
    adp_engine_accept(engine);
    adp_model_commit(model);
    json_destroy(records);
}

/* All records of a day, in the order in which they are or aren't needed. */
static struct json *
records_of(int day, bool delete)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < PER_DAY * ARRAY_SIZE(kinds); i++) {
        size_t k = i / PER_DAY;

        ds_put_char(&s, i ? ',' : '[');
        if (delete) {
            ds_put_format(&s, "{\"kind\":\"%s\",\"name\":\"d/%d-%"PRIuSIZE
                          "\"}", kinds[ARRAY_SIZE(kinds) - 1 - k].name, day,
                          i % PER_DAY);
        } else {
            put_record(&s, &kinds[k], day, i % PER_DAY);
        }
    }
    ds_put_char(&s, ']');

    struct json *records = json_from_string(ds_cstr(&s));
    ck_assert_msg(records->type == JSON_ARRAY, "%s", ds_cstr(&s));
    ds_destroy(&s);
    return records;
}

static size_t
count_flows(void)
{
    struct adp_desired_usage usage;

    adp_desired_get_usage(adp_engine_desired(engine), &usage);
    return usage.n_flows;
}

static size_t
used_bytes(void)
{
    ovsrcu_barrier();
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

START_TEST(test_month)
{
    size_t n_flows = 0, bytes = 0;

    pipeline = adp_pipeline_find("v1.15");
    ofputil_table_map_init(&tables);
    for (size_t i = 0; i < pipeline->n_tables; i++) {
        ofputil_table_map_put(&tables, pipeline->tables[i].id,
                              pipeline->tables[i].name);
    }
    model = adp_model_create();
    engine = adp_engine_create();
    transact(json_from_string(node), false);
    n_flows = count_flows();

    for (int day = 0; day < N_DAYS; day++) {
        transact(records_of(day, false), false);
        ck_assert_uint_gt(count_flows(), n_flows + 10 * PER_DAY);
        transact(records_of(day, true), true);
        ck_assert_uint_eq(count_flows(), n_flows);
        if (day == WARM_UP) {
            bytes = used_bytes();
        }
    }
    ck_assert_uint_le(used_bytes(), bytes + 4096); /* Longer names. */

    adp_engine_destroy(engine);
    adp_model_destroy(model);
    ofputil_table_map_destroy(&tables);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("month");
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_month);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

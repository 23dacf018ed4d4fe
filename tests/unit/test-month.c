/* SPDX-License-Identifier: Apache-2.0 */

/* A month of records that come and go under names, addresses and ports of
 * their own, as those of a busy cluster do: what the control plane remembers
 * doesn't grow with what there once was. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "ovs-rcu.h"
#include "record-flows.h"
#include "test-run.h"
#include "util.h"

enum { N_DAYS = 60, WARM_UP = 30, PER_DAY = 40 };

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
transact(struct json *records, bool delete)
{
    change_records(records, delete);
    change_nodes();
    change_flows();
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

START_TEST(test_month)
{
    size_t n_flows = 0, bytes = 0;

    record_flows_init();
    transact(json_from_string("[" NODE_RECORD "]"), false);
    n_flows = get_usage().n_flows;

    for (int day = 0; day < N_DAYS; day++) {
        transact(records_of(day, false), false);
        ck_assert_uint_gt(get_usage().n_flows, n_flows + 10 * PER_DAY);
        transact(records_of(day, true), true);
        ck_assert_uint_eq(get_usage().n_flows, n_flows);
        if (day == WARM_UP) {
            ovsrcu_barrier();
            bytes = used_bytes();
        }
    }
    ovsrcu_barrier();
    ck_assert_uint_le(used_bytes(), bytes + 4096); /* Longer names. */

    record_flows_uninit();
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

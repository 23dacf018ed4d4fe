/* SPDX-License-Identifier: Apache-2.0 */

/* What a change of one record costs in a state of many policy rules, without a
 * bridge: the processor's time from the text of the record to the flows that
 * change. */

#include <config.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "many-rules.h"
#include "model-pause.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "record-flows.h"
#include "timeval.h"
#include "util.h"

#define N_CHANGES 51

static double
now_ms(void)
{
    struct timespec ts;

    xclock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

/* Beside many-rules.h. */
static void
put_service(struct ds *s, int i, int first)
{
    ds_put_format(s, "{\"kind\":\"Service\",\"name\":\"d/s%d\","
                  "\"clusterIP\":\"10.96.10.%d\",\"ports\":[{\"port\":80,"
                  "\"endpoints\":[", i, 1 + i);
    for (int j = 0; j < 10; j++) {
        ds_put_format(s, "%s{\"ip\":\"10.11.0.%d\",\"port\":80}",
                      j ? "," : "", 10 + (first + j) % 200);
    }
    ds_put_cstr(s, "]}]}");
}

/* Transactions. */

/* The longest step of a transaction: from one pause to the next. */
static struct {
    double began, longest, at;
    double start;               /* Of the transaction. */
} steps;

static void
end_step(void *aux OVS_UNUSED)
{
    double now = now_ms();

    if (now - steps.began > steps.longest) {
        steps.longest = now - steps.began;
        steps.at = steps.began - steps.start;
    }
    steps.began = now;
}

/* Where the time goes, in ms. */
struct cost {
    double model, engine, changes, all;
    double step, step_at;       /* The longest, and when it began. */
    size_t n_flows;
};

/* Applies the records in 'text', or deletes those that it names. */
static struct cost
transact(const char *text, bool delete)
{
    struct cost cost;
    double start = now_ms();

    struct json *records = json_from_string(text);
    steps.start = steps.began = now_ms();
    steps.longest = 0;
    adp_pause_set(end_step, NULL);
    change_records(records, delete);
    cost.model = now_ms() - start;

    change_nodes();
    cost.engine = now_ms() - start - cost.model;

    cost.n_flows = change_flows();
    end_step(NULL);
    adp_pause_set(NULL, NULL);
    cost.step = steps.longest;
    cost.step_at = steps.at + steps.start - start;
    json_destroy(records);
    cost.all = now_ms() - start;
    cost.changes = cost.all - cost.engine - cost.model;
    return cost;
}

static int
compare_costs(const void *a_, const void *b_)
{
    const struct cost *a = a_;
    const struct cost *b = b_;

    return a->all < b->all ? -1 : a->all > b->all;
}

typedef void put_change_cb(struct ds *, int i, int n_groups);

static void
measure(const char *what, put_change_cb *put, int n_groups, bool delete)
{
    struct cost costs[N_CHANGES];

    for (int i = 0; i < N_CHANGES; i++) {
        struct ds s = DS_EMPTY_INITIALIZER;

        ds_put_char(&s, '[');
        put(&s, i, n_groups);
        ds_put_char(&s, ']');
        costs[i] = transact(ds_cstr(&s), delete);
        ds_destroy(&s);
    }
    qsort(costs, N_CHANGES, sizeof *costs, compare_costs);

    const struct cost *median = &costs[N_CHANGES / 2];
    printf("  %-28s %8.3f ms (model %.3f, nodes %.3f, flows %.3f), "
           "longest %.3f ms, %"PRIuSIZE" flows\n", what, median->all,
           median->model, median->engine, median->changes,
           costs[N_CHANGES - 1].all, median->n_flows);
}

static void
change_group(struct ds *s, int i, int n_groups)
{
    put_group(s, i / 2 % n_groups, N_ADDRESSES + !(i % 2));
}

static void
change_pod(struct ds *s, int i, int n_groups OVS_UNUSED)
{
    put_pod(s, i % N_PODS, 1 + i / N_PODS);
}

static void
change_service(struct ds *s, int i, int n_groups OVS_UNUSED)
{
    put_service(s, 0, i);
}

static void
add_policy(struct ds *s, int i, int n_groups)
{
    put_policy(s, 1000000 + i, n_groups);
}

static void
delete_policy(struct ds *s, int i, int n_groups OVS_UNUSED)
{
    ds_put_format(s, "{\"kind\":\"NetworkPolicy\",\"name\":\"p%d\"}",
                  1000000 + i);
}

static void
bench(int n_rules)
{
    int n_groups = n_rules / RULES_OF_GROUP;
    struct ds s = DS_EMPTY_INITIALIZER;
    size_t before = used_bytes();

    random_set_seed(n_rules);
    record_flows_init();
    put_state(&s, n_rules);
    struct cost load = transact(ds_cstr(&s), false);
    ds_destroy(&s);

    struct adp_desired_usage usage = get_usage();
    printf("%d rules: %"PRIuSIZE" flows in %.0f ms (model %.0f, nodes %.0f, "
           "flows %.0f), longest step %.1f ms, after %.0f; %.0f bytes a flow, "
           "%.0f of them for the flow\n",
           n_rules, usage.n_flows, load.all, load.model, load.engine,
           load.changes, load.step, load.step_at, (double) (used_bytes() - before) / usage.n_flows,
           (double) usage.n_bytes / usage.n_flows);
    measure("an address of a group", change_group, n_groups, false);
    measure("a Pod's address", change_pod, n_groups, false);
    measure("an endpoint of ten", change_service, n_groups, false);
    measure("a policy more", add_policy, n_groups, false);
    measure("a policy less", delete_policy, n_groups, true);

    record_flows_uninit();
}

int
main(int argc, char *argv[])
{
    set_program_name(argv[0]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    if (argc > 1) {
        for (int i = 1; i < argc; i++) {
            bench(MAX(RULES_OF_GROUP, atoi(argv[i])));
        }
    } else {
        bench(1000);
        bench(10000);
        bench(100000);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* What one rule of a policy becomes takes one OpenFlow priority, however many
 * Namespaces and port numbers there are. */

#include <config.h>
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-given.h"
#include "dpctl-plan.h"
#include "flow.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "pipeline-builtin.h"
#include "pipeline-engine.h"
#include "pipeline.h"
#include "test-run.h"
#include "util.h"

/* The baseline tier has 171 priorities. */
enum { N_NAMESPACES = 200, N_PRIORITIES = 171, MAX_PRIORITY = 200 };

static const struct adp_pipeline *pipeline;
static struct adp_pipeline_state *state;

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(name[0] == 'p' ? 100 + atoi(name + 1)
                       : name[0] == 'a' ? 1 : 2);
    return true;
}

static const struct adp_model_env env = {
    .port_number = port_number, .round = 1
};

static void
setup(void)
{
    pipeline = adp_pipeline_find("v1.15");
    state = adp_pipeline_state_create();
}

static void
teardown(void)
{
    adp_pipeline_state_destroy(state);
}

static void
put_namespace(struct ds *s, const char *prefix, int i)
{
    ds_put_format(s, "---\napiVersion: v1\nkind: Namespace\n"
                  "metadata: {name: %s%03d, labels: {team: t%d}}\n"
                  "---\napiVersion: v1\nkind: Pod\n"
                  "metadata: {name: a, namespace: %s%03d, annotations: "
                  "{antrea-dp.io/port: p%d, "
                  "antrea-dp.io/mac: '0a:00:00:00:01:%02x'}}\n"
                  "spec: {nodeName: node1, containers: [{name: c, ports: "
                  "[{name: http, containerPort: %d}]}]}\n"
                  "status: {phase: Running, podIP: 10.1.0.%d}\n",
                  prefix, i, i / 2, prefix, i, i, i, 8000 + i, i);
}

/* A model of 'n' Namespaces with a Pod each, those that come 'first' included,
 * and a policy with these rules. */
static struct adp_model *
make_model(int n, int first, const char *rules)
{
    static const char node[]
        = "apiVersion: v1\nkind: Node\nmetadata: {name: node1, annotations: "
          "{node.antrea.io/mac-address: '0a:00:00:00:00:01'}}\n"
          "spec: {podCIDR: 10.1.0.0/24}\n"
          "status: {addresses: [{type: InternalIP, address: 192.0.2.1}]}\n";
    struct adp_model *model = adp_model_create();
    struct json *nothing = json_array_create_empty();
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < n; i++) {
        put_namespace(&s, i < first ? "a" : "b", n - i + 1);
    }
    ds_put_format(&s, "---\napiVersion: crd.antrea.io/v1beta1\n"
                  "kind: ClusterNetworkPolicy\nmetadata: {name: p}\n"
                  "spec: {priority: 1, tier: baseline, appliedTo: "
                  "[{namespaceSelector: {}}], ingress: [%s]}\n", rules);

    struct dpctl_given_plan p = dpctl_given_plan(DPCTL_APPLY, nothing, node,
                                                 ds_cstr(&s));
    ck_assert_msg(!p.error, "%s", p.error);
    struct adp_error *error = adp_model_apply(model, p.plan.apply, NULL);
    ck_assert_msg(!error, "%s", error ? error->message : NULL);

    dpctl_plan_destroy(&p.plan);
    json_destroy(nothing);
    ds_destroy(&s);
    return model;
}

/* How many flows that act there are at each priority of the baseline tier. */
static void
count_flows(const struct adp_model *model, int counts[MAX_PRIORITY])
{
    static const char table[] = "table=IngressDefaultRule, priority=";
    const struct shash_node *node;
    struct adp_flow_set set;

    adp_flow_set_init(&set);
    struct adp_error *error = adp_pipeline_generate(pipeline, model, state,
                                                    &env, &set);
    ck_assert_msg(!error, "%s", error ? error->message : NULL);
    memset(counts, 0, MAX_PRIORITY * sizeof *counts);
    SHASH_FOR_EACH (node, &set.flows) {
        const char *found = strstr(node->name, table);

        if (found && strstr(found, "conj_id=")) {
            int priority = atoi(found + strlen(table));

            ck_assert_int_lt(priority, MAX_PRIORITY);
            counts[priority]++;
        }
    }
    adp_flow_set_uninit(&set);
}

static void
check_engine_accepts(const struct adp_model *model)
{
    struct adp_engine *engine = adp_engine_create();
    struct adp_error *error = adp_engine_run(engine, pipeline, model, &env,
                                             true);

    ck_assert_msg(!error, "%s", error ? error->message : NULL);
    adp_engine_accept(engine);
    adp_engine_destroy(engine);
}

/* One more Namespace, which is the first by its name, moves no rule. */
START_TEST(namespaces)
{
    static const char rules[]
        = "{action: Allow, from: [{namespaces: {match: Self}}]}, "
          "{action: Allow, from: [{namespaces: {sameLabels: [team]}}]}, "
          "{action: Drop}";
    int counts[MAX_PRIORITY], later[MAX_PRIORITY];
    int n_rules[3], n = 0;

    struct adp_model *model = make_model(N_NAMESPACES, 0, rules);
    count_flows(model, counts);
    check_engine_accepts(model);
    adp_model_destroy(model);
    for (int i = MAX_PRIORITY; i-- > 0; ) {
        if (counts[i]) {
            ck_assert_int_lt(n, 3);
            n_rules[n++] = counts[i];
        }
    }
    ck_assert_int_eq(n, 3);
    ck_assert_int_eq(n_rules[0], N_NAMESPACES);
    ck_assert_int_eq(n_rules[1], N_NAMESPACES);
    ck_assert_int_eq(n_rules[2], 1);

    model = make_model(N_NAMESPACES + 1, 1, rules);
    count_flows(model, later);
    adp_model_destroy(model);
    for (int i = 0; i < MAX_PRIORITY; i++) {
        ck_assert_int_eq(later[i],
                         counts[i] + (counts[i] == N_NAMESPACES));
    }
}
END_TEST

/* The same for Pods that have different numbers for a port's name. */
START_TEST(port_names)
{
    int counts[MAX_PRIORITY], n = 0;
    struct adp_model *model
        = make_model(N_NAMESPACES, 0, "{action: Allow, ports: [{port: http}, "
                     "{port: 80}]}, {action: Drop}");

    count_flows(model, counts);
    check_engine_accepts(model);
    adp_model_destroy(model);
    for (int i = 0; i < MAX_PRIORITY; i++) {
        n += counts[i] > 0;
    }
    ck_assert_int_gt(N_NAMESPACES, N_PRIORITIES);
    ck_assert_int_eq(n, 2);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("policy-places");
    TCase *tc = tcase_create("places");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, namespaces);
    tcase_add_test(tc, port_names);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

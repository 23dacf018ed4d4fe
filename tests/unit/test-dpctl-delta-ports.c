/* SPDX-License-Identifier: Apache-2.0 */

/* Ports that come and go while nobody gives their Pods, and OVSDB that can't
 * be read: Pods stay what their records say, to policies as well. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-delta-world.h"
#include "dpctl-given.h"
#include "dpctl-json.h"
#include "dpctl-random-families.h"
#include "dpctl-random-objects.h"
#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "rounds.h"
#include "svec.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

enum {
    N_STEPS = MIN(1000, 2 * ROUNDS(1000)),
    N_EPOCH = 200,              /* Steps from an empty state. */
    N_NEWS = 6,                 /* Pods that get a port, in each step. */
};

/* Pods of which only their ports tell an address, or that they are here. */
#define TOLD_POD(LABEL) \
    "apiVersion: v1\nkind: Pod\n" \
    "metadata: {name: told, namespace: ns0, labels: {l: " LABEL "}}\n" \
    "spec: {nodeName: node1}\n"

#define HOMELESS_POD \
    "apiVersion: v1\nkind: Pod\n" \
    "metadata: {name: homeless, namespace: ns0, labels: {l: told}}\n" \
    "status: {podIP: 10.1.0.7}\n"

#define OTHER_NODE \
    "apiVersion: v1\nkind: Node\n" \
    "metadata: {name: other}\nspec: {podCIDR: 10.1.9.0/24}\n" \
    "status: {addresses: [{type: InternalIP, address: 192.0.2.99}]}\n"

/* A policy of Pods with that label, whom those that are told may reach. */
#define POLICY(LABEL) \
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: p, namespace: ns0}\n" \
    "spec: {podSelector: {matchLabels: {l: " LABEL "}}, " \
    "ingress: [{from: [{podSelector: {matchLabels: {l: told}}}]}]}\n"

#define SERVICE_OF_TOLD(PORT) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: ns0}\n" \
    "spec: {clusterIP: 10.96.0.9, selector: {l: told}, " \
    "ports: [{port: " PORT "}]}\n"

static void
add_port(const char *pod, const char *name, const char *mac, const char *ips)
{
    const struct dpctl_port port = {
        .name = CONST_CAST(char *, name), .mac = CONST_CAST(char *, mac),
        .ips = CONST_CAST(char *, ips),
    };

    dpctl_ports_add(&dw.ports, pod, &port);
}

static void
forget_ports(bool available)
{
    dpctl_ports_destroy(&dw.ports);
    dpctl_ports_init(&dw.ports);
    dw.ports.available = available;
    dw.ports.annotated = true;
    dw.ports.why = available ? NULL : xstrdup("it is away");
}

/* Goes on with what is planned from some, and returns the warnings. */
static char *
take_some(enum dpctl_verb verb, const char *text)
{
    struct dpctl_env env = { .ports = &dw.ports };
    struct dpctl_input input;
    struct dpctl_plan plan;
    struct adp_error *refused;
    char *error;

    dpctl_input_init(&input);
    input.for_delete = verb == DPCTL_DELETE;
    ck_assert_ptr_null(dpctl_given_text(&input, text));
    ck_assert_int_eq(dpctl_delta_create(verb, &input, &dw_source, &env, false,
                                        &plan, &error), DPCTL_DELTA_DONE);
    ck_assert_msg(!error, "%s", error);
    dw_take(dw_after(&plan, &refused));
    ck_assert_ptr_null(refused);
    char *warnings = dw_join(plan.warnings);
    dpctl_plan_destroy(&plan);
    dpctl_input_destroy(&input);
    return warnings;
}

/* 'expected' is a list of a record: "a, b"; NULL: there is no such record. */
static void
expect_list(const char *kind, const char *name, const char *list,
            const char *expected)
{
    struct json *records = adp_model_get(dw.model, kind, name);
    struct svec names = SVEC_EMPTY_INITIALIZER;

    ck_assert_msg(!json_array(records)->n == !expected, "%s %s", kind, name);
    if (expected) {
        const struct json_array *array
            = dpctl_json_array(json_array(records)->elems[0], list);

        for (size_t i = 0; i < array->n; i++) {
            svec_add(&names, json_string(array->elems[i]));
        }
        char *text = svec_join(&names, ", ", "");
        ck_assert_str_eq(text, expected);
        free(text);
    }
    svec_destroy(&names);
    json_destroy(records);
}

static void
apply_pods(void)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, SPACE("a"), true);
    add_port("ns0/told", "port8", "0a:00:00:00:02:08", "10.1.0.8");
    add_port("ns0/homeless", "port7", "0a:00:00:00:02:07", NULL);
    dw_expect_step(DPCTL_APPLY, TOLD_POD("told"), true);
    dw_expect_step(DPCTL_APPLY, HOMELESS_POD, true);
}

static void
expect_both_pods(void)
{
    expect_list("Pod", "ns0/told", "ips", "10.1.0.8");
    expect_list("Pod", "ns0/homeless", "ips", "10.1.0.7");
    expect_list("AppliedToGroup", "ns0/l=told", "pods",
                "ns0/homeless, ns0/told");
    expect_list("AddressGroup", "ns0/l=told", "addresses",
                "10.1.0.7, 10.1.0.8");
}

/* A policy comes, and comes again, while OVSDB has no ports of the Pods that
 * it is about (0), or can't be read (1). */
START_TEST(test_policy)
{
    const char *expected = (!_i ? "\n" : "OVSDB can't be read: it is away; "
                            "2 Pods keep their ports and addresses\n");

    apply_pods();
    for (int i = 0; i < 2; i++) {
        forget_ports(!_i);
        char *warnings = take_some(DPCTL_APPLY, POLICY("told"));

        ck_assert_str_eq(warnings, expected);
        free(warnings);
        expect_both_pods();
    }
}
END_TEST

/* A Pod comes again, with other labels, while OVSDB can't be read.  A Service
 * of it goes along. */
START_TEST(test_pod)
{
    apply_pods();
    dw_expect_step(DPCTL_APPLY, POLICY("told"), true);
    dw_expect_step(DPCTL_APPLY, SERVICE_OF_TOLD("80"), true);
    forget_ports(false);
    dw_expect_step(DPCTL_APPLY, SERVICE_OF_TOLD("81"), true);
    dw_expect_step(DPCTL_APPLY, TOLD_POD("told"), true);
    expect_both_pods();
    dw_expect_step(DPCTL_APPLY, TOLD_POD("other"), true);
    expect_list("Pod", "ns0/told", "ips", "10.1.0.8");
    expect_list("AppliedToGroup", "ns0/l=told", "pods", "ns0/homeless");
    expect_list("AddressGroup", "ns0/l=told", "addresses", "10.1.0.7");
}
END_TEST

/* All is resolved anew while OVSDB can't be read (0), and when it can, and the
 * ports have gone (1). */
START_TEST(test_full_run)
{
    apply_pods();
    dw_expect_step(DPCTL_APPLY, POLICY("told"), true);
    forget_ports(_i);
    dw_expect_step(DPCTL_APPLY, OTHER_NODE, false);
    if (!_i) {
        expect_both_pods();
    } else {
        expect_list("Pod", "ns0/told", "ips", NULL);
        expect_list("Pod", "ns0/homeless", "ips", NULL);
        expect_list("NetworkPolicy", "K8sNetworkPolicy:ns0/p", "", NULL);
    }
}
END_TEST

static char *
full_run_warnings(enum dpctl_verb verb, const char *text)
{
    struct dpctl_env env = { .ports = &dw.ports };
    struct json *state = dw_state();
    struct dpctl_input input;
    struct dpctl_plan plan;

    dpctl_input_init(&input);
    ck_assert_ptr_null(dpctl_given_text(&input, text));
    char *error = dpctl_plan_create(verb, &input, state, &env, false, &plan);
    ck_assert_msg(!error, "%s", error);
    char *warnings = dw_join(plan.warnings);
    dpctl_plan_destroy(&plan);
    dpctl_input_destroy(&input);
    json_destroy(state);
    return warnings;
}

/* Only where a Pod keeps what its record tells is there something to tell. */
START_TEST(test_warnings)
{
    static const struct {
        bool available;
        const char *one, *two;
    } cases[] = {
        { true, "\n", "\n" },
        { false, "OVSDB can't be read: it is away; 1 Pod keeps its port and "
          "addresses\n", "OVSDB can't be read: it is away; 2 Pods keep "
          "their ports and addresses\n" },
    };

    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, SPACE("a"), true);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        forget_ports(cases[i].available);
        char *warnings = full_run_warnings(DPCTL_APPLY, OTHER_NODE);
        ck_assert_str_eq(warnings, cases[i].one);
        free(warnings);
    }
    add_port("ns0/told", "port8", "0a:00:00:00:02:08", "10.1.0.8");
    dw.ports.available = true;
    dw_expect_step(DPCTL_APPLY, TOLD_POD("told"), true);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        forget_ports(cases[i].available);
        char *warnings = full_run_warnings(DPCTL_APPLY, OTHER_NODE);
        ck_assert_str_eq(warnings, cases[i].two);
        free(warnings);
    }
}
END_TEST

/* A Pod has its port before its object says so, and goes before it does:
 * nothing of it stays. */
START_TEST(test_pod_without_record)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, SPACE("a"), true);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    dw_expect_step(DPCTL_APPLY, TOLD_POD("told"), true);
    add_port("ns0/told", "port8", "0a:00:00:00:02:08", "10.1.0.8");
    free(take_some(DPCTL_APPLY, POLICY("mine")));
    forget_ports(true);
    free(take_some(DPCTL_DELETE, TOLD_POD("told")));
    expect_list("AddressGroup", "ns0/l=told", "addresses", "");
}
END_TEST

/* Annotations, which whoever makes a Pod writes, against what OVSDB says. */

#define WEB \
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: ns0}\n" \
    "spec: {nodeName: node1}\nstatus: {podIP: 10.1.0.2}\n"

#define CLAIMING_POD(CLAIM) \
    "apiVersion: v1\nkind: Pod\n" \
    "metadata: {name: acme, namespace: ns0, annotations: {" CLAIM "}}\n" \
    "spec: {nodeName: node1}\nstatus: {podIP: 10.1.0.3}\n"
#define CLAIM(PORT, MAC) \
    "antrea-dp.io/port: " PORT ", antrea-dp.io/mac: '" MAC "'"

static void
expect_pod(const char *name, const char *port, const char *mac)
{
    struct json *records = adp_model_get(dw.model, "Pod", name);
    const struct json *pod = (json_array(records)->n
                              ? json_array(records)->elems[0] : NULL);

    ck_assert_str_eq(dpctl_json_str(pod, "port"), port);
    ck_assert_str_eq(dpctl_json_str(pod, "mac"), mac);
    json_destroy(records);
}

/* From some and from all. */
static void
expect_refused(const char *text, const char *expected)
{
    struct dpctl_env env = { .ports = &dw.ports };
    struct json *state = dw_state();
    struct dpctl_input input;
    struct dpctl_plan plan;
    char *error;

    dpctl_input_init(&input);
    ck_assert_ptr_null(dpctl_given_text(&input, text));
    ck_assert_int_eq(dpctl_delta_create(DPCTL_APPLY, &input, &dw_source, &env,
                                        false, &plan, &error),
                     DPCTL_DELTA_DONE);
    ck_assert_msg(error && strstr(error, expected), "%s", error);
    free(error);
    error = dpctl_plan_create(DPCTL_APPLY, &input, state, &env, false, &plan);
    ck_assert_msg(error && strstr(error, expected), "%s", error);
    free(error);
    dpctl_input_destroy(&input);
    json_destroy(state);
}

/* With the Bridge's consent to annotations (1), or without (0). */
START_TEST(test_annotations)
{
    dw.ports.annotated = _i;
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, SPACE("a"), true);
    add_port("ns0/web", "port2", "0a:00:00:00:02:02", NULL);
    add_port("ns0/acme", "port3", "0a:00:00:00:02:03", NULL);
    /* Who would steal comes first. */
    dw_expect_step(DPCTL_APPLY, CLAIMING_POD(CLAIM("port2",
                                                   "0a:00:00:00:02:02")),
                   true);
    expect_pod("ns0/acme", "port3", "0a:00:00:00:02:03");
    dw_expect_step(DPCTL_APPLY, WEB, true);
    expect_pod("ns0/web", "port2", "0a:00:00:00:02:02");

    /* Nor while OVSDB can't be read, for whom has a record. */
    forget_ports(false);
    dw.ports.annotated = _i;
    dw_expect_step(DPCTL_APPLY, CLAIMING_POD(CLAIM("port9",
                                                   "0a:00:00:00:02:09")),
                   true);
    expect_pod("ns0/acme", "port3", "0a:00:00:00:02:03");
}
END_TEST

/* A Pod whom OVSDB doesn't know. */
START_TEST(test_annotations_alone)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, SPACE("a"), true);
    add_port("ns0/web", "port2", "0a:00:00:00:02:02", NULL);
    dw.ports.annotated = false;
    expect_refused(CLAIMING_POD(CLAIM("uplink", "0a:00:00:00:02:09")),
                   "other_config:antrea-dp-annotated-ports=true");
    dw.ports.annotated = true;
    expect_refused(CLAIMING_POD(CLAIM("port2", "0a:00:00:00:02:09")),
                   "Pod ns0/acme: metadata.annotations: antrea-dp.io/port: "
                   "port2 is that of Pod ns0/web");
    expect_refused(CLAIMING_POD(CLAIM("port9", "0A:00:00:00:02:02")),
                   "Pod ns0/acme: metadata.annotations: antrea-dp.io/mac: "
                   "0A:00:00:00:02:02 is that of Pod ns0/web");
    dw_expect_step(DPCTL_APPLY, CLAIMING_POD(CLAIM("port9",
                                                   "0a:00:00:00:02:09")),
                   true);
    expect_pod("ns0/acme", "port9", "0a:00:00:00:02:09");

    /* What the CNI left open. */
    add_port("ns0/acme", "port3", NULL, NULL);
    expect_refused(CLAIMING_POD(CLAIM("port9", "0a:00:00:00:02:02")),
                   "is that of Pod ns0/web");
}
END_TEST

/* At random. */

static bool
is_given(const struct dpctl_input *input, const char *pod)
{
    char *manifest = xasprintf("Pod.v1/%s", pod);
    bool given = shash_find(&input->manifests, manifest) != NULL;

    free(manifest);
    return given;
}

/* OVSDB's news. */
static void
random_news(struct dpctl_ports *ports)
{
    dpctl_ports_init(ports);
    ports->available = random_range(3);
    ports->annotated = true;
    for (int i = 0; i < N_NEWS && ports->available; i++) {
        char *pod = xasprintf("ns%d/p%d", random_range(2), random_range(14));

        if (!shash_find(&ports->by_pod, pod)) {
            shash_add(&ports->by_pod, pod, dw_random_port());
        }
        free(pod);
    }
}

/* Of Pods that are given the news, of others what is in force. */
static void
known_ports(const struct dpctl_input *input, const struct json *state,
            const struct dpctl_ports *news, struct dpctl_ports *known)
{
    const struct shash_node *node;

    dpctl_ports_init(known);
    known->available = news->available;
    known->annotated = news->annotated;
    SHASH_FOR_EACH (node, &news->by_pod) {
        if (is_given(input, node->name)) {
            dpctl_ports_add(known, node->name, node->data);
        }
    }
    for (size_t i = 0; i < json_array(state)->n; i++) {
        const struct json *record = json_array(state)->elems[i];

        if (!strcmp(dpctl_json_str(record, "kind"), "Pod")
            && !is_given(input, dpctl_json_str(record, "name"))) {
            dpctl_ports_add_record(known, record);
        }
    }
}

/* Goes on with the plan from all, and compares whom policies are applied to
 * after that from some, unless it is NULL.  Returns whether it could. */
static bool
take_all(const struct dpctl_plan *some, const struct dpctl_plan *all)
{
    static const char *const kinds[] = {
        "Pod", "AppliedToGroup", "NetworkPolicy", "Egress",
        "TrafficControl",
    };
    struct adp_error *all_error, *some_error = NULL;
    struct adp_model *b = dw_after(all, &all_error);
    bool compared = false;

    if (some) {
        struct adp_model *a = dw_after(some, &some_error);

        compared = !some_error && !all_error;
        for (size_t i = 0; i < ARRAY_SIZE(kinds) && compared; i++) {
            dw_check_same_state(a, b, kinds[i]);
        }
        adp_model_destroy(a);
        adp_error_destroy(some_error);
    }
    if (all_error) {
        adp_model_destroy(b);
        adp_error_destroy(all_error);
    } else {
        dw_take(b);
    }
    return compared;
}

/* One change, with whatever ports there are by now.  Returns whether it was
 * compared. */
static bool
random_step(enum dpctl_verb verb, const char *text)
{
    struct dpctl_ports news, known;
    struct dpctl_env env = { .ports = &news };
    struct json *state = dw_state();
    struct dpctl_plan some, all;
    struct dpctl_input input;
    char *some_error;
    bool compared = false;

    dw.change = text;
    dw.change_verb = verb;
    dpctl_input_init(&input);
    input.for_delete = verb == DPCTL_DELETE;
    free(dpctl_given_text(&input, text));
    random_news(&news);
    known_ports(&input, state, &news, &known);

    bool planned = (dpctl_delta_create(verb, &input, &dw_source, &env, true,
                                       &some, &some_error)
                    == DPCTL_DELTA_DONE && !some_error);
    env.ports = &known;
    char *all_error = dpctl_plan_create(verb, &input, state, &env, true,
                                        &all);
    if (!all_error) {
        compared = take_all(planned ? &some : NULL, &all);
        dpctl_plan_destroy(&all);
    }
    if (planned) {
        dpctl_plan_destroy(&some);
    }
    free(some_error);
    free(all_error);
    json_destroy(state);
    dpctl_ports_destroy(&news);
    dpctl_ports_destroy(&known);
    dpctl_input_destroy(&input);
    return compared;
}

START_TEST(test_random_news)
{
    int n_compared = 0;

    test_seed_random();
    for (int i = 0; i < N_STEPS; i++) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        if (i % N_EPOCH == 0) {
            dw_teardown();
            dw_setup();
            dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
        }
        dpctl_random_object(&ds);
        dpctl_random_families(&ds);
        n_compared += random_step(random_range(4) ? DPCTL_APPLY : DPCTL_DELETE,
                                  ds_cstr(&ds));
        ds_destroy(&ds);
    }
    printf("%d compared\n", n_compared);
    ck_assert_int_gt(n_compared, N_STEPS / 4);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-delta-ports");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, dw_setup, dw_teardown);
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, test_policy, 0, 2);
    tcase_add_test(tc, test_pod);
    tcase_add_loop_test(tc, test_full_run, 0, 2);
    tcase_add_test(tc, test_warnings);
    tcase_add_test(tc, test_pod_without_record);
    tcase_add_loop_test(tc, test_annotations, 0, 2);
    tcase_add_test(tc, test_annotations_alone);
    tcase_add_test(tc, test_random_news);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

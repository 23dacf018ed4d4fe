/* SPDX-License-Identifier: Apache-2.0 */

/* Which records change when objects do. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-given.h"
#include "dpctl-json.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "svec.h"
#include "test-run.h"
#include "util.h"

static bool
has_message(const struct svec *svec, const char *s)
{
    for (size_t i = 0; i < svec->n; i++) {
        if (!strcmp(svec->names[i], s)) {
            return true;
        }
    }
    return false;
}

#define NP(SPEC) \
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: p}\nspec: " SPEC "\n"

/* "+KEY -KEY": what the plan applies and deletes. */
static char *
plan_text(const struct dpctl_plan *plan)
{
    struct svec words = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < json_array(plan->apply)->n; i++) {
        char *key = dpctl_record_key_of(json_array(plan->apply)->elems[i]);
        svec_add_nocopy(&words, xasprintf("+%s", key));
        free(key);
    }
    for (size_t i = 0; i < json_array(plan->delete)->n; i++) {
        char *key = dpctl_record_key_of(json_array(plan->delete)->elems[i]);
        svec_add_nocopy(&words, xasprintf("-%s", key));
        free(key);
    }
    char *text = svec_join(&words, " ", "");
    svec_destroy(&words);
    return text;
}

/* Does what the daemon would do to 'state'. */
static struct json *
carry_out(const struct json *state, const struct dpctl_plan *plan)
{
    struct shash records = SHASH_INITIALIZER(&records);
    struct json *result = json_array_create_empty();

    for (size_t i = 0; i < json_array(state)->n; i++) {
        struct json *record = json_array(state)->elems[i];
        shash_add_nocopy(&records, dpctl_record_key_of(record), record);
    }
    for (size_t i = 0; i < json_array(plan->delete)->n; i++) {
        char *key = dpctl_record_key_of(json_array(plan->delete)->elems[i]);
        ck_assert_msg(shash_find(&records, key), "no %s to delete", key);
        shash_find_and_delete(&records, key);
        free(key);
    }
    for (size_t i = 0; i < json_array(plan->apply)->n; i++) {
        struct json *record = json_array(plan->apply)->elems[i];
        shash_replace_nocopy(&records, dpctl_record_key_of(record), record);
    }
    const struct shash_node **nodes = shash_sort(&records);
    for (size_t i = 0; i < shash_count(&records); i++) {
        json_array_add(result, json_clone(nodes[i]->data));
    }
    free(nodes);
    shash_destroy(&records);
    return result;
}

/* Plans, compares with 'expected', and carries it out. */
static void
step(struct json **state, enum dpctl_verb verb, const char *text,
     const char *expected)
{
    struct dpctl_given_plan p = dpctl_given_plan(verb, *state, text, NULL);
    ck_assert_msg(!p.error, "%s", p.error);

    char *got = plan_text(&p.plan);
    if (expected) {
        ck_assert_str_eq(got, expected);
    }
    free(got);

    struct json *next = carry_out(*state, &p.plan);
    json_destroy(*state);
    *state = next;
    dpctl_plan_destroy(&p.plan);
}

#define WEB_POLICY NP("{podSelector: {matchLabels: {app: web}}, ingress: " \
                      "[{from: [{podSelector: {matchLabels: " \
                      "{app: client}}}]}]}")

START_TEST(plan_changes)
{
    struct json *state = json_array_create_empty();

    step(&state, DPCTL_APPLY, dpctl_given_cluster, NULL);
    step(&state, DPCTL_APPLY, WEB_POLICY,
         "+Manifest NetworkPolicy.networking.k8s.io/default/p "
         "+AddressGroup default/app=client "
         "+AppliedToGroup default/app=web "
         "+NetworkPolicy K8sNetworkPolicy:default/p");
    /* The same again changes nothing. */
    step(&state, DPCTL_APPLY, WEB_POLICY, "");
    /* A new client changes the group alone. */
    step(&state, DPCTL_APPLY,
         "apiVersion: v1\nkind: Pod\nmetadata: {name: c2, labels: "
         "{app: client}}\nspec: {nodeName: node2}\n"
         "status: {podIP: 10.1.1.9}\n",
         "+Manifest Pod.v1/default/c2 +AddressGroup default/app=client");
    /* Records given as such stay when objects go. */
    step(&state, DPCTL_APPLY, "{\"kind\": \"AddressGroup\", "
         "\"name\": \"mine\", \"addresses\": []}", "+AddressGroup mine");
    step(&state, DPCTL_DELETE, WEB_POLICY,
         "-Manifest NetworkPolicy.networking.k8s.io/default/p "
         "-AddressGroup default/app=client "
         "-AppliedToGroup default/app=web "
         "-NetworkPolicy K8sNetworkPolicy:default/p");
    step(&state, DPCTL_DELETE, "{\"kind\": \"AddressGroup\", "
         "\"name\": \"mine\"}", "-AddressGroup mine");
    json_destroy(state);
}
END_TEST

/* What follows from an object goes with it, or not at all. */
START_TEST(plan_derived)
{
    static const char *record = "{\"kind\": \"Pod\", \"name\": \"default/client\"}";
    struct json *state = json_array_create_empty();
    struct dpctl_given_plan p;

    step(&state, DPCTL_APPLY, dpctl_given_cluster, NULL);
    p = dpctl_given_plan(DPCTL_DELETE, state, record, NULL);
    ck_assert_str_eq(p.error, "Pod default/client: it follows from the "
                     "Kubernetes objects; delete or change those (get manifests)");
    free(p.error);
    /* Both at once. */
    char *both = xasprintf("apiVersion: v1\nkind: Pod\nmetadata: "
                           "{name: client}\n---\n%s\n", record);
    step(&state, DPCTL_DELETE, both,
         "-Manifest Pod.v1/default/client -Pod default/client");
    free(both);
    json_destroy(state);
}
END_TEST

START_TEST(plan_moved_pod)
{
    struct json *state = json_array_create_empty();

    step(&state, DPCTL_APPLY, dpctl_given_cluster, NULL);
    step(&state, DPCTL_APPLY, WEB_POLICY, NULL);
    /* The only local Pod of the policy ends: the policy goes with it. */
    step(&state, DPCTL_APPLY,
         "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: "
         "{app: web}}\nspec: {nodeName: node1}\n"
         "status: {phase: Failed, podIP: 10.1.0.2}\n",
         "+Manifest Pod.v1/default/web "
         "-AddressGroup default/app=client "
         "-AppliedToGroup default/app=web "
         "-NetworkPolicy K8sNetworkPolicy:default/p "
         "-Pod default/web");
    json_destroy(state);
}
END_TEST

START_TEST(plan_missing)
{
    struct json *state = json_array_create_empty();
    struct dpctl_given_plan p = dpctl_given_plan(DPCTL_DELETE, state,
                                                 WEB_POLICY, NULL);

    ck_assert_str_eq(p.error, "NetworkPolicy.networking.k8s.io/default/p: "
                     "there is none");
    free(p.error);
    json_destroy(state);
}
END_TEST

START_TEST(plan_replace)
{
    struct json *state = json_array_create_empty();

    step(&state, DPCTL_APPLY, dpctl_given_cluster, NULL);
    struct dpctl_given_plan p = dpctl_given_plan(DPCTL_REPLACE, state,
                                                 WEB_POLICY, NULL);
    ck_assert_msg(!p.error, "%s", p.error);
    char *text = plan_text(&p.plan);
    /* No Pods any more, so the policy isn't in force anywhere. */
    char *end = strchr(text, '-');
    ck_assert(!strncmp(text, "+Manifest NetworkPolicy.networking.k8s.io/"
                       "default/p -", strcspn(text, "-") + 1));
    /* All that there was goes, and that is said. */
    ck_assert_ptr_nonnull(strstr(end, "-Pod default/web"));
    ck_assert_ptr_nonnull(strstr(end, "-Manifest Pod.v1/default/web"));
    ck_assert_uint_eq(json_array(p.plan.delete)->n, json_array(state)->n);
    ck_assert(has_message(p.plan.messages, "pod/web deleted"));
    ck_assert(!has_message(p.plan.messages, "Pod default/web deleted"));
    free(text);
    dpctl_plan_destroy(&p.plan);
    json_destroy(state);
}
END_TEST

/* What "get records" and "get manifests" print can be applied again. */
START_TEST(plan_backup)
{
    struct json *state = json_array_create_empty();

    step(&state, DPCTL_APPLY, dpctl_given_cluster, NULL);
    step(&state, DPCTL_APPLY, WEB_POLICY, NULL);
    char *backup = json_to_string(state, 0);
    struct json *empty = json_array_create_empty();
    step(&empty, DPCTL_APPLY, backup, NULL);
    ck_assert(json_equal(state, empty));
    free(backup);
    json_destroy(empty);
    json_destroy(state);
}
END_TEST

#define GIVEN_POLICY \
    "- kind: NetworkPolicy\n  name: K8sNetworkPolicy:default/given\n" \
    "  type: K8sNetworkPolicy\n  appliedToGroups: [given]\n" \
    "- {kind: AppliedToGroup, name: given, pods: [default/web]}\n"

static void
expect_given(const struct json *state, const char *expected)
{
    struct dpctl_plan plan = {
        .apply = dpctl_plan_given(state, &(struct dpctl_env) { .node = NULL }),
        .delete = json_array_create_empty(),
    };
    char *text = plan_text(&plan);

    ck_assert_str_eq(text, expected);
    free(text);
    json_destroy(plan.apply);
    json_destroy(plan.delete);
}

/* What follows from no object was given as a record; that it goes is said. */
START_TEST(plan_given)
{
    struct json *state = json_array_create_empty();

    expect_given(state, "");
    step(&state, DPCTL_APPLY, GIVEN_POLICY, NULL);
    expect_given(state, "+AppliedToGroup given "
                 "+NetworkPolicy K8sNetworkPolicy:default/given");
    json_destroy(state);

    state = json_array_create_empty();
    step(&state, DPCTL_APPLY, dpctl_given_cluster, NULL);
    step(&state, DPCTL_APPLY, WEB_POLICY, NULL);
    expect_given(state, "");
    step(&state, DPCTL_APPLY, GIVEN_POLICY, NULL);
    expect_given(state, "+AppliedToGroup given "
                 "+NetworkPolicy K8sNetworkPolicy:default/given");

    struct dpctl_given_plan p
        = dpctl_given_plan(DPCTL_REPLACE, state, dpctl_given_cluster,
                           WEB_POLICY);
    ck_assert_msg(!p.error, "%s", p.error);
    ck_assert_uint_eq(json_array(p.plan.delete)->n, 2);
    ck_assert(has_message(p.plan.messages, "NetworkPolicy "
                          "K8sNetworkPolicy:default/given deleted"));
    dpctl_plan_destroy(&p.plan);
    json_destroy(state);
}
END_TEST

#define NODE(NAME, MAC, NUMBER) \
    "apiVersion: v1\nkind: Node\nmetadata: {name: " NAME ", annotations: " \
    "{node.antrea.io/mac-address: '" MAC "'}}\n" \
    "spec: {podCIDR: 10.1." NUMBER ".0/24}\n" \
    "status: {addresses: [{type: InternalIP, address: 192.0.2." NUMBER "}]}\n"

/* While OVSDB can't be read, which it can't here, what was learned from it
 * stays in force. */
START_TEST(plan_without_ovsdb)
{
    struct json *state = json_array_create_empty();

    step(&state, DPCTL_APPLY, NODE("node1", "0a:00:00:00:00:01", "0"), NULL);
    for (size_t i = 0; i < json_array(state)->n; i++) {
        struct json *record = json_array(state)->elems[i];

        if (!strcmp(dpctl_json_str(record, "kind"), "NodeConfig")) {
            struct json *gateway = shash_find_data(json_object(record),
                                                   "gateway");

            ck_assert_ptr_null(dpctl_json_member(record, "tunnel"));
            json_object_put_string(gateway, "mac", "0a:00:00:00:00:99");
        }
    }
    /* Another Node makes it no one with a tunnel. */
    step(&state, DPCTL_APPLY, NODE("node2", "0a:00:00:00:00:02", "2"),
         "+Manifest Node.v1/node2 +PeerNode node2");
    /* An annotation that changes is for now. */
    step(&state, DPCTL_APPLY, NODE("node1", "0a:00:00:00:00:07", "0"),
         "+Manifest Node.v1/node1 +NodeConfig node1");
    json_destroy(state);
}
END_TEST

/* One change that a watch tells, on the Node of that name. */
static void
watch_step(struct json **state, const char *node, const char *text,
           const char *expected)
{
    struct dpctl_ports ports;
    struct dpctl_env env = { .node = node, .ports = &ports };
    struct dpctl_input input;
    struct dpctl_plan plan;

    dpctl_ports_init(&ports);
    ports.annotated = true;
    dpctl_input_init(&input);
    input.watched = true;
    char *error = dpctl_given_text(&input, text);
    ck_assert_msg(!error, "%s", error);
    error = dpctl_plan_create(DPCTL_APPLY, &input, *state, &env, true, &plan);
    ck_assert_str_eq(error ? error : "", expected[0] == '+' ? "" : expected);
    if (!error) {
        char *got = plan_text(&plan);
        struct json *next = carry_out(*state, &plan);

        ck_assert_str_eq(got, expected);
        free(got);
        json_destroy(*state);
        *state = next;
        dpctl_plan_destroy(&plan);
    }
    free(error);
    dpctl_input_destroy(&input);
    dpctl_ports_destroy(&ports);
}

/* Others come before the own one, and as long as nothing is in force a wrong
 * name does no harm that lasts. */
START_TEST(plan_nodes_by_and_by)
{
    static const char one[] = NODE("node1", "0a:00:00:00:00:01", "1");
    static const char two[] = NODE("node2", "0a:00:00:00:00:02", "2");
    struct json *state = json_array_create_empty();

    watch_step(&state, "node2", one, "+Manifest Node.v1/node1 "
               "+PeerNode node1");
    watch_step(&state, "node1", two,
               "+Manifest Node.v1/node2 +NodeConfig node1 +PeerNode node2 "
               "-PeerNode node1");
    watch_step(&state, "node3", two, "--node node3: there is no Node node3; "
               "known are node1, node2; this is node1");
    watch_step(&state, "node1",
               NODE("node3", "0a:00:00:00:00:03", "3"),
               "+Manifest Node.v1/node3 +PeerNode node3");
    json_destroy(state);
}
END_TEST

START_TEST(plan_contradiction)
{
    struct json *state = json_array_create_empty();
    char *text = xasprintf("%s{kind: Pod, name: default/web, port: other, "
                           "mac: '0a:00:00:00:00:09', ips: []}\n",
                           dpctl_given_cluster);
    struct dpctl_given_plan p = dpctl_given_plan(DPCTL_APPLY, state, text,
                                                 NULL);

    ck_assert_str_eq(p.error, "f, document 9 (line 47): Pod default/web: "
                     "another one follows from the Kubernetes objects");
    free(p.error);
    free(text);
    json_destroy(state);
}
END_TEST

#define CP(NAME) \
    "apiVersion: controlplane.antrea.io/v1beta2\nkind: NetworkPolicy\n" \
    "metadata: {name: " NAME "}\nsourceRef: {type: K8sNetworkPolicy, " \
    "namespace: default, name: p}\n"
#define CP_IS "NetworkPolicy.controlplane.antrea.io/"
#define K8S_IS "NetworkPolicy.networking.k8s.io/default/"
#define MAKES " makes the record NetworkPolicy K8sNetworkPolicy:default/p, too"

static void
expect_plan_error(const struct json *state, enum dpctl_verb verb,
                  const char *text, const char *expected)
{
    struct dpctl_given_plan p = dpctl_given_plan(verb, state, text, NULL);

    ck_assert_str_eq(p.error ? p.error : "none", expected);
    free(p.error);
}

/* What one object says must not take the place of what another one says. */
START_TEST(plan_two_for_one_policy)
{
    struct json *state = json_array_create_empty();

    expect_plan_error(state, DPCTL_APPLY, CP("u1") "---\n" CP("u2"),
                      "NetworkPolicy u2: sourceRef: " CP_IS "u1" MAKES);
    step(&state, DPCTL_APPLY, dpctl_given_cluster, NULL);
    step(&state, DPCTL_APPLY, CP("u2"), "+Manifest " CP_IS "u2 "
         "+NetworkPolicy K8sNetworkPolicy:default/p");
    step(&state, DPCTL_APPLY, CP("u2"), "");
    expect_plan_error(state, DPCTL_APPLY, CP("u1"),
                      "NetworkPolicy u1: sourceRef: " CP_IS "u2" MAKES);
    expect_plan_error(state, DPCTL_APPLY, WEB_POLICY,
                      "NetworkPolicy default/p: metadata.name: " CP_IS "u2"
                      MAKES);
    step(&state, DPCTL_DELETE, CP("u2"), "-Manifest " CP_IS "u2 "
         "-NetworkPolicy K8sNetworkPolicy:default/p");

    /* The same of one that isn't in force here. */
    step(&state, DPCTL_APPLY, NP("{podSelector: {matchLabels: {a: b}}}"),
         "+Manifest " K8S_IS "p");
    expect_plan_error(state, DPCTL_APPLY, CP("u1"),
                      "NetworkPolicy u1: sourceRef: " K8S_IS "p" MAKES);
    json_destroy(state);
}
END_TEST

/* How often Pods are looked at. */

enum { N_SPACES = 200, N_PODS = 5 };

/* Pods of other Nodes in many Namespaces, each with a policy, a ServiceAccount
 * that one of Antrea's policies names, and a Service. */
static void
put_spaces(struct ds *ds)
{
    ds_put_cstr(ds, dpctl_given_cluster);
    for (int i = 0; i < N_SPACES; i++) {
        ds_put_format(ds, "apiVersion: networking.k8s.io/v1\n"
                      "kind: NetworkPolicy\n"
                      "metadata: {name: p, namespace: s%d}\n"
                      "spec: {podSelector: {}}\n---\n"
                      "apiVersion: crd.antrea.io/v1beta1\n"
                      "kind: NetworkPolicy\n"
                      "metadata: {name: a, namespace: s%d}\n"
                      "spec: {priority: 1, appliedTo: [{serviceAccount: "
                      "{name: own, namespace: s%d}}], "
                      "ingress: [{action: Drop}]}\n---\n"
                      "apiVersion: v1\nkind: Service\n"
                      "metadata: {name: s, namespace: s%d}\n"
                      "spec: {clusterIP: 10.96.0.9, selector: {l: v}, "
                      "ports: [{port: 80}]}\n---\n", i, i, i, i);
        for (int j = 0; j < N_PODS; j++) {
            ds_put_format(ds, "apiVersion: v1\nkind: Pod\n"
                          "metadata: {name: p%d, namespace: s%d, "
                          "labels: {l: v}}\nspec: {nodeName: node2}\n"
                          "status: {podIP: 10.2.%d.%d}\n---\n", j, i, i,
                          j + 1);
        }
    }
}

static size_t
count_looks(const char *text)
{
    struct json *state = json_array_create_empty();
    size_t n_looks = 0;
    struct dpctl_ports ports;
    struct dpctl_env env = {
        .node = "node1", .ports = &ports, .n_looks = &n_looks,
    };
    struct dpctl_input input;
    struct dpctl_plan plan;

    dpctl_ports_init(&ports);
    ports.annotated = true;
    dpctl_input_init(&input);
    char *error = dpctl_given_text(&input, text);
    ck_assert_msg(!error, "%s", error);
    error = dpctl_plan_create(DPCTL_APPLY, &input, state, &env, false, &plan);
    ck_assert_msg(!error, "%s", error);
    dpctl_plan_destroy(&plan);
    dpctl_input_destroy(&input);
    dpctl_ports_destroy(&ports);
    json_destroy(state);
    return n_looks;
}

/* What concerns one Namespace looks at its Pods alone. */
START_TEST(looks_of_namespaces)
{
    enum { N_WALKS = 3 };       /* By both policies, and the Service. */
    struct ds ds = DS_EMPTY_INITIALIZER;

    put_spaces(&ds);
    size_t n = count_looks(ds_cstr(&ds));
    ck_assert_uint_ge(n, N_SPACES * N_PODS);
    ck_assert_uint_le(n, N_SPACES * N_PODS * N_WALKS);
    ds_destroy(&ds);
}
END_TEST

/* Whether an address is that of a Pod here is one look. */
START_TEST(looks_of_endpoints)
{
    enum { N_ENDPOINTS = 200, N_PORTS = 3 };
    struct ds ds = DS_EMPTY_INITIALIZER;

    put_spaces(&ds);
    size_t before = count_looks(ds_cstr(&ds));
    ds_put_cstr(&ds, "apiVersion: v1\nkind: Service\n"
                "metadata: {name: big}\nspec: {clusterIP: 10.96.0.8, "
                "ports: [{name: a, port: 1}, {name: b, port: 2}, "
                "{name: c, port: 3}]}\n---\n"
                "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                "metadata: {name: big-1, labels: "
                "{kubernetes.io/service-name: big}}\naddressType: IPv4\n"
                "ports: [{name: a, port: 1}, {name: b, port: 2}, "
                "{name: c, port: 3}]\nendpoints:\n");
    for (int i = 0; i < N_ENDPOINTS; i++) {
        ds_put_format(&ds, "- {addresses: [10.2.%d.1]}\n", i);
    }
    size_t n = count_looks(ds_cstr(&ds)) - before;
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_le(n, N_ENDPOINTS * N_PORTS);
    ds_destroy(&ds);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-plan");
    TCase *tc = tcase_create("plan");

    tcase_add_test(tc, plan_changes);
    tcase_add_test(tc, plan_derived);
    tcase_add_test(tc, plan_moved_pod);
    tcase_add_test(tc, plan_missing);
    tcase_add_test(tc, plan_replace);
    tcase_add_test(tc, plan_given);
    tcase_add_test(tc, plan_backup);
    tcase_add_test(tc, plan_without_ovsdb);
    tcase_add_test(tc, plan_nodes_by_and_by);
    tcase_add_test(tc, plan_contradiction);
    tcase_add_test(tc, plan_two_for_one_policy);
    tcase_add_test(tc, looks_of_namespaces);
    tcase_add_test(tc, looks_of_endpoints);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

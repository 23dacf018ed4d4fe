/* SPDX-License-Identifier: Apache-2.0 */

/* Random changes of a small cluster, each planned twice: from the objects that
 * it concerns, and from all there are.  Both must come to the same state. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-delta-world.h"
#include "dpctl-json.h"
#include "dpctl-random-families.h"
#include "dpctl-random-objects.h"
#include "model-records.h"
#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "rounds.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

enum {
    N_STEPS = MIN(1500, 2 * ROUNDS(1500)),
    N_EPOCH = 250,              /* Steps from an empty state. */
    MAX_STEPS = 6000,           /* Until ENOUGH of them patch a group. */
    ENOUGH = 10,
};

static bool
one_in(int n)
{
    return !random_range(n);
}

static void
port_destroy(struct dpctl_port *port)
{
    if (port) {
        free(port->name);
        free(port->mac);
        free(port->ips);
        free(port);
    }
}

/* A Pod changes together with its port. */
static void
step_pod(struct dw_tally *t)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    dpctl_random_pod(&ds, one_in(2) ? "ns0" : "ns1");
    dpctl_random_families(&ds);
    struct json *pod = json_from_string(ds_cstr(&ds));
    char *name = xasprintf("%s/%s", dpctl_json_str(pod, "metadata.namespace"),
                           dpctl_json_str(pod, "metadata.name"));
    struct dpctl_port *old = shash_find_and_delete(&dw.ports.by_pod, name);
    if (!one_in(3)) {
        shash_add(&dw.ports.by_pod, name, dw_random_port());
    }
    if (dw_step(one_in(4) ? DPCTL_DELETE : DPCTL_APPLY, ds_cstr(&ds), t)) {
        port_destroy(old);
    } else {
        port_destroy(shash_find_and_delete(&dw.ports.by_pod, name));
        if (old) {
            shash_add(&dw.ports.by_pod, name, old);
        }
    }
    free(name);
    json_destroy(pod);
    ds_destroy(&ds);
}

START_TEST(test_random_changes)
{
    struct dw_tally t = { 0 };

    test_seed_random();
    for (int i = 0; i < N_STEPS || (t.patches <= ENOUGH && i < MAX_STEPS);
         i++) {
        if (i % N_EPOCH == 0) {
            /* One policy of some states makes every change a full run. */
            dw_teardown();
            dw_setup();
            ck_assert(dw_step(DPCTL_APPLY, dpctl_random_node, &t));
        }
        if (one_in(3)) {
            step_pod(&t);
            continue;
        }
        struct ds ds = DS_EMPTY_INITIALIZER;
        for (int j = 0, n = one_in(3) ? 1 + random_range(4) : 1; j < n; j++) {
            dpctl_random_object(&ds);
        }
        dpctl_random_families(&ds);
        dw_step(one_in(3) ? DPCTL_DELETE : DPCTL_APPLY, ds_cstr(&ds), &t);
        if (one_in(4)) {
            /* A watch tells it again, or what had gone anew. */
            dw.watched = true;
            dw_step(DPCTL_APPLY, ds_cstr(&ds), &t);
            dw.watched = false;
        }
        ds_destroy(&ds);
    }
    printf("%d planned from some, %d from all; %d errors, %d refused, "
           "%d patches, %d deleted\n", t.some, t.full, t.errors, t.refused,
           t.patches, t.deleted);
    ck_assert_int_gt(t.some, N_STEPS / 4);
    ck_assert_int_gt(t.patches, ENOUGH);
    ck_assert_int_gt(t.deleted, N_STEPS / 20);
}
END_TEST

/* An object with more keys than a record may have. */
START_TEST(test_very_many_keys)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    ds_put_cstr(&ds, "apiVersion: networking.k8s.io/v1\n"
                "kind: NetworkPolicy\nmetadata: {name: p, namespace: ns0}\n"
                "spec:\n  podSelector: {matchLabels: {l: mine}}\n"
                "  ingress:\n  - from:\n    - podSelector:\n"
                "        matchExpressions:\n"
                "        - {key: l, operator: In, values: [");
    for (int i = 0; i < 1100; i++) {
        ds_put_format(&ds, "%sv%d", i ? ", " : "", i);
    }
    ds_put_cstr(&ds, "]}\n");
    dw_expect_step(DPCTL_APPLY, ds_cstr(&ds), true);
    ds_destroy(&ds);

    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    ck_assert_ptr_nonnull(adp_model_find(dw.model, ADP_KIND_NETWORK_POLICY,
                                         "K8sNetworkPolicy:ns0/p"));
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "v1099"), true);
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "w"), true);
    dw_expect_step(DPCTL_APPLY, SPACE_POD("b", "v0"), true);
    dw_expect_step(DPCTL_DELETE, SPACE_POD("b", "v0"), true);
    dw_expect_step(DPCTL_DELETE, LOCAL_POD, true);
}
END_TEST

/* A Pod of another node with a port. */
#define PORT_POD(NAME, NUMBER) \
    "apiVersion: v1\nkind: Pod\n" \
    "metadata: {name: " NAME ", namespace: ns0, labels: {l: v}}\n" \
    "spec: {nodeName: other, containers: [{name: c, ports: [{name: http, " \
    "containerPort: " NUMBER "}]}]}\n" \
    "status: {podIP: 10.1.9." NUMBER "}\n"

#define NAMED_PORT(POD_LABEL, LIST, PEERS) \
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: p, namespace: ns0}\n" \
    "spec:\n  podSelector: {matchLabels: {l: " POD_LABEL "}}\n" \
    "  policyTypes: [Ingress, Egress]\n" \
    "  " LIST ":\n  - ports: [{port: http}]\n" \
    "    " PEERS ": [{namespaceSelector: {}}]\n"

/* Whom a rule lets reach a named port says nothing about its numbers. */
START_TEST(test_named_port_of_own_pods)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    dw_expect_step(DPCTL_APPLY, NAMED_PORT("mine", "ingress", "from"), false);
    dw.watched = true;
    dw_expect_step(DPCTL_APPLY, NAMED_PORT("mine", "ingress", "from"), true);
    dw.watched = false;
    dw_expect_step(DPCTL_APPLY, NAMED_PORT("mine", "ingress", "from"), false);
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "w"), true);
    dw_expect_step(DPCTL_APPLY, PORT_POD("b", "80"), true);
    dw_expect_step(DPCTL_APPLY, SPACE_POD("b", "w"), true);
    dw_expect_step(DPCTL_DELETE, SPACE_POD("b", "w"), true);
}
END_TEST

/* A policy may apply to Pods though nothing came of its rules. */
START_TEST(test_named_port_of_nobody)
{
    const char *name = "AntreaClusterNetworkPolicy:p";

    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    dw_expect_step(DPCTL_APPLY, "apiVersion: crd.antrea.io/v1beta1\n"
                "kind: ClusterNetworkPolicy\nmetadata: {name: p}\n"
                "spec: {priority: 1, ingress: [{action: Drop, appliedTo: "
                "[{podSelector: {matchLabels: {l: mine}}}], "
                "ports: [{port: http}]}]}\n", true);
    ck_assert_ptr_nonnull(adp_model_find(dw.model, ADP_KIND_NETWORK_POLICY,
                                         name));
    dw_expect_step(DPCTL_DELETE, LOCAL_POD, true);
    ck_assert_ptr_null(adp_model_find(dw.model, ADP_KIND_NETWORK_POLICY,
                                      name));
}
END_TEST

/* Where the port is the peers', the first Pod with a number makes a rule, and
 * the last one ends it. */
START_TEST(test_named_port_of_peers)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    dw_expect_step(DPCTL_APPLY, NAMED_PORT("mine", "egress", "to"), false);
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "w"), true);
    dw_expect_step(DPCTL_APPLY, PORT_POD("b", "80"), false);
    dw_expect_step(DPCTL_APPLY, "apiVersion: v1\nkind: Pod\n"
                "metadata: {name: c, namespace: ns1}\n"
                "spec: {nodeName: other, containers: [{name: c, ports: "
                "[{name: http, containerPort: 80}]}]}\n"
                "status: {podIP: 10.1.9.8}\n", true);
    dw_expect_step(DPCTL_DELETE, PORT_POD("b", "80"), true);
    dw_expect_step(DPCTL_APPLY, PORT_POD("b", "81"), false);
    dw_expect_step(DPCTL_DELETE, PORT_POD("b", "81"), false);
}
END_TEST

/* No rule, unless the policy applies to a Pod of this node. */
START_TEST(test_named_port_of_others)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    dw_expect_step(DPCTL_APPLY, NAMED_PORT("other", "egress", "to"), false);
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "w"), true);
    dw_expect_step(DPCTL_APPLY, PORT_POD("b", "80"), true);
    dw_expect_step(DPCTL_DELETE, PORT_POD("b", "80"), true);
}
END_TEST

#define CLUSTER_GROUP \
    "apiVersion: crd.antrea.io/v1beta1\nkind: ClusterGroup\n" \
    "metadata: {name: cg}\nspec: {podSelector: {matchLabels: {l: v}}}\n"

/* How many groups of addresses the policy's one rule lets pass. */
static size_t
n_groups_allowed(void)
{
    const struct adp_record *record
        = adp_model_find(dw.model, ADP_KIND_NETWORK_POLICY,
                         "AntreaClusterNetworkPolicy:p");

    ck_assert_ptr_nonnull(record);
    const struct adp_network_policy *policy
        = CONTAINER_OF(record, struct adp_network_policy, up);
    ck_assert_uint_eq(policy->n_rules, 1);
    return policy->rules[0].peer.address_groups.n;
}

/* Whom a group selects is let pass while it is there. */
START_TEST(test_group_comes_and_goes)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "v"), true);
    dw_expect_step(DPCTL_APPLY, "apiVersion: crd.antrea.io/v1beta1\n"
                "kind: ClusterNetworkPolicy\nmetadata: {name: p}\n"
                "spec: {priority: 1, appliedTo: [{podSelector: {matchLabels: "
                "{l: mine}}}], ingress: [{action: Allow, from: [{group: cg}"
                "]}]}\n", true);
    ck_assert_uint_eq(n_groups_allowed(), 0);
    dw_expect_step(DPCTL_APPLY, CLUSTER_GROUP, true);
    ck_assert_uint_eq(n_groups_allowed(), 1);
    dw_expect_step(DPCTL_DELETE, CLUSTER_GROUP, true);
    ck_assert_uint_eq(n_groups_allowed(), 0);
}
END_TEST

/* Who has more labels than a record may have keys is told once for a change,
 * however much is asked, and not at all if nothing changes. */
START_TEST(test_many_keys_told_once)
{
    static const char beat[] = "apiVersion: v1\nkind: Node\n"
        "metadata: {name: other}\nspec: {podCIDR: 10.1.9.0/24}\n";
    struct ds ds = DS_EMPTY_INITIALIZER;

    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, beat, false);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    ds_put_cstr(&ds, "apiVersion: v1\nkind: Pod\n"
                "metadata: {name: many, namespace: ns0, labels: {l: v");
    for (int i = 0; i < 1100; i++) {
        ds_put_format(&ds, ", l%d: v", i);
    }
    ds_put_cstr(&ds, "}}\nspec: {nodeName: other}\n"
                "status: {podIP: 10.1.9.8}\n");
    dw_expect_step(DPCTL_APPLY, ds_cstr(&ds), true);
    dw_expect_step(DPCTL_APPLY, CLUSTER_GROUP, true);
    dw.n_told_of_any_key = 0;
    dw_expect_step(DPCTL_APPLY, "apiVersion: crd.antrea.io/v1beta1\n"
                "kind: ClusterNetworkPolicy\nmetadata: {name: p}\n"
                "spec: {priority: 1, appliedTo: [{podSelector: {matchLabels: "
                "{l: mine}}}], ingress: [{action: Allow, from: [{group: cg}"
                "]}]}\n", true);
    ck_assert_int_eq(dw.n_told_of_any_key, 1);
    dw.n_told_of_any_key = 0;
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "v"), true);
    ck_assert_int_eq(dw.n_told_of_any_key, 1);

    dw.n_told_of_any_key = 0;
    dw.watched = true;
    dw_expect_step(DPCTL_APPLY, beat, true);
    dw.watched = false;
    ck_assert_int_eq(dw.n_told_of_any_key, 0);
    ds_destroy(&ds);
}
END_TEST

enum { N_OTHERS = 50 };

#define ALL_PEERS(NAMESPACE, NAME, PODS) \
    "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: " NAME ", namespace: " NAMESPACE "}\n" \
    "spec: {podSelector: " PODS ", " \
    "ingress: [{from: [{namespaceSelector: {}}]}]}\n"

/* Whom policies let in that apply to nobody here is of no interest. */
START_TEST(test_peers_of_others)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    for (int i = 0; i < N_OTHERS; i++) {
        ds_put_format(&ds, ALL_PEERS("elsewhere", "p%d", "{}"), i);
    }
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    dw_expect_step(DPCTL_APPLY, ds_cstr(&ds), false);
    dw_expect_step(DPCTL_APPLY, ALL_PEERS("ns0", "mine", "{matchLabels: "
                                          "{l: mine}}"), false);
    dw.n_told_policies = 0;
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "v"), true);
    ck_assert_int_eq(dw.n_told_policies, 1);
    dw.n_told_policies = 0;
    dw_expect_step(DPCTL_DELETE, SPACE_POD("a", "v"), true);
    ck_assert_int_eq(dw.n_told_policies, 1);
    ds_destroy(&ds);
}
END_TEST

/* Gives a Manifest of the daemon's other keys. */
static void
store_with_keys(const char *name, const char *keys)
{
    struct json *state = dw_state();
    struct dpctl_plan plan;

    dpctl_plan_init(&plan);
    for (size_t i = 0; i < json_array(state)->n; i++) {
        struct json *record = json_array(state)->elems[i];

        if (!strcmp(dpctl_json_str(record, "name"), name)) {
            json_object_put(record, "keys", json_from_string(keys));
            json_array_add(plan.apply, json_clone(record));
        }
    }
    ck_assert_uint_eq(json_array(plan.apply)->n, 1);

    struct adp_error *error;
    struct adp_model *next = dw_after(&plan, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    dw_take(next);
    dpctl_plan_destroy(&plan);
    json_destroy(state);
}

/* On the disk there may be policies that were stored when keys didn't tell
 * peers from whom a policy applies to. */
START_TEST(test_peers_stored_before)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    dw_expect_step(DPCTL_APPLY, ALL_PEERS("ns0", "mine", "{matchLabels: "
                                          "{l: mine}}"), false);
    store_with_keys("NetworkPolicy.networking.k8s.io/ns0/mine",
                    "[\"s::*\", \"s:ns0:l=mine\"]");
    /* Which is compared with what all objects come to. */
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "v"), true);
    dw_expect_step(DPCTL_DELETE, SPACE_POD("a", "v"), true);
}
END_TEST

/* What a watch tells of Nodes. */
#define SERVICE \
    "apiVersion: v1\nkind: Service\n" \
    "metadata: {name: s, namespace: ns0}\n" \
    "spec: {clusterIP: 10.96.0.9, selector: {l: v}, ports: [{port: 80}]}\n"

#define SLICE(READY) \
    "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n" \
    "metadata: {name: s-1, namespace: ns0, " \
    "labels: {kubernetes.io/service-name: s}}\naddressType: IPv4\n" \
    "endpoints: [{addresses: [10.1.9.9], nodeName: other, " \
    "conditions: {ready: " READY "}}]\nports: [{port: 80}]\n"

/* All Pods that a Service selects are of interest only where no object tells
 * its endpoints. */
START_TEST(test_selected_pods)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, SPACE_POD("a", "v"), true);
    dw.n_asked_by_label = 0;
    dw_expect_step(DPCTL_APPLY, SERVICE, true);
    ck_assert_int_gt(dw.n_asked_by_label, 0);
    dw_expect_step(DPCTL_APPLY, SLICE("true"), true);
    dw.n_asked_by_label = 0;
    dw_expect_step(DPCTL_APPLY, SLICE("false"), true);
    dw_expect_step(DPCTL_APPLY, SPACE_POD("b", "v"), true);
    ck_assert_int_eq(dw.n_asked_by_label, 0);
    dw_expect_step(DPCTL_DELETE, SLICE("false"), true);
    ck_assert_int_gt(dw.n_asked_by_label, 0);
}
END_TEST

#define FROM(PEER) \
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: p, namespace: ns0}\n" \
    "spec: {podSelector: {}, ingress: [{from: [" PEER "]}]}\n"

/* There may be thousands of Namespaces: they are asked for where it depends on
 * their labels whom a policy means. */
START_TEST(test_namespaces)
{
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, LOCAL_POD, true);
    dw_expect_step(DPCTL_APPLY, SPACE("a"), true);
    dw.n_asked_namespaces = 0;
    dw_expect_step(DPCTL_APPLY, FROM("{podSelector: {matchLabels: {l: v}}}"),
                true);
    ck_assert_int_eq(dw.n_asked_namespaces, 0);
    dw_expect_step(DPCTL_APPLY, FROM("{namespaceSelector: {matchLabels: "
                                  "{env: a}}}"), true);
    ck_assert_int_gt(dw.n_asked_namespaces, 0);
    dw.n_asked_namespaces = 0;
    dw_expect_step(DPCTL_APPLY, CLUSTER_GROUP, true);
    dw_expect_step(DPCTL_APPLY, "apiVersion: crd.antrea.io/v1beta1\n"
                "kind: ClusterNetworkPolicy\nmetadata: {name: p}\n"
                "spec: {priority: 1, appliedTo: [{podSelector: {matchLabels: "
                "{l: mine}}}], ingress: [{action: Allow, from: [{group: cg}"
                "]}]}\n", true);
    ck_assert_int_eq(dw.n_asked_namespaces, 0);
    dw_expect_step(DPCTL_APPLY, "apiVersion: crd.antrea.io/v1beta1\n"
                "kind: ClusterGroup\nmetadata: {name: cg}\n"
                "spec: {namespaceSelector: {matchLabels: {env: a}}}\n", true);
    ck_assert_int_gt(dw.n_asked_namespaces, 0);
}
END_TEST

START_TEST(test_heartbeats)
{
    static const char changed[] = "apiVersion: v1\nkind: Node\n"
        "metadata: {name: other}\nspec: {podCIDR: 10.1.9.0/24}\n"
        "status: {addresses: [{type: InternalIP, address: 192.0.2.99}]}\n";
    static const char beat[] = "apiVersion: v1\nkind: Node\n"
        "metadata: {name: other}\nspec: {podCIDR: 10.1.9.0/24}\n"
        "status: {addresses: [{type: InternalIP, address: 192.0.2.99}],\n"
        "  conditions: [{type: Ready, lastHeartbeatTime: now}]}\n";

    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw.watched = true;
    dw_expect_step(DPCTL_APPLY, changed, false);
    dw_expect_step(DPCTL_APPLY, beat, true);
    /* Who applies it has us look whether all else is as it was. */
    dw.watched = false;
    dw_expect_step(DPCTL_APPLY, beat, false);
    dw.watched = true;
    dw_expect_step(DPCTL_DELETE, beat, false);
    dw_expect_step(DPCTL_APPLY, beat, false);
    dw.watched = false;
}
END_TEST

enum { N_RELABELLED = 20 };

/* Pods have their Namespace, and many of their labels, in common: see
 * check_lists_differ(). */
START_TEST(test_relabelled_namespace)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < N_RELABELLED; i++) {
        ds_put_format(&ds, "---\napiVersion: v1\nkind: Pod\n"
                      "metadata: {name: p%d, namespace: ns0, labels: {l: v, "
                      "own: v%d}}\nspec: {nodeName: other}\n"
                      "status: {podIP: 10.1.9.%d}\n", i, i, i + 1);
    }
    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    dw_expect_step(DPCTL_APPLY, SPACE("a"), true);
    dw_expect_step(DPCTL_APPLY, ds_cstr(&ds), true);
    dw_expect_step(DPCTL_APPLY, SPACE("b"), true);
    ds_destroy(&ds);
}
END_TEST

enum { N_TOLD = 600 };

static void
put_services(struct ds *ds, int n, int address)
{
    for (int i = 1; i <= n; i++) {
        ds_put_format(ds, "---\napiVersion: v1\nkind: Service\n"
                      "metadata: {name: s%d, namespace: ns0}\n"
                      "spec: {clusterIP: 10.97.%d.%d, ports: [{port: 80}]}\n",
                      i, i == 1 ? address : i / 250, 1 + i % 250);
    }
}

/* A watch that begins anew tells of all there is, of which little is news. */
START_TEST(test_told_again)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    dw_expect_step(DPCTL_APPLY, dpctl_random_node, false);
    put_services(&ds, N_TOLD, 0);
    dw.watched = true;
    dw_expect_step(DPCTL_APPLY, ds_cstr(&ds), false);
    dw_expect_step(DPCTL_APPLY, ds_cstr(&ds), true);
    ds_clear(&ds);
    put_services(&ds, N_TOLD, 9);
    ds_put_cstr(&ds, "---\n" LOCAL_POD);
    dw_expect_step(DPCTL_APPLY, ds_cstr(&ds), true);
    ck_assert_ptr_nonnull(adp_model_find(dw.model, ADP_KIND_SERVICE,
                                         "ns0/s1"));
    dw_expect_step(DPCTL_APPLY, ds_cstr(&ds), true);

    /* A user is told of each. */
    dw.watched = false;
    dw_expect_step(DPCTL_APPLY, ds_cstr(&ds), false);
    dw.watched = true;
    dw_expect_step(DPCTL_DELETE, ds_cstr(&ds), false);
    dw.watched = false;
    ds_destroy(&ds);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-delta");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, dw_setup, dw_teardown);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, test_random_changes);
    tcase_add_test(tc, test_very_many_keys);
    tcase_add_test(tc, test_named_port_of_own_pods);
    tcase_add_test(tc, test_named_port_of_nobody);
    tcase_add_test(tc, test_named_port_of_peers);
    tcase_add_test(tc, test_named_port_of_others);
    tcase_add_test(tc, test_group_comes_and_goes);
    tcase_add_test(tc, test_many_keys_told_once);
    tcase_add_test(tc, test_peers_of_others);
    tcase_add_test(tc, test_peers_stored_before);
    tcase_add_test(tc, test_selected_pods);
    tcase_add_test(tc, test_namespaces);
    tcase_add_test(tc, test_heartbeats);
    tcase_add_test(tc, test_relabelled_namespace);
    tcase_add_test(tc, test_told_again);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

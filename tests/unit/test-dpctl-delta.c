/* SPDX-License-Identifier: Apache-2.0 */

/* Random changes of a small cluster, each planned twice: from the objects that
 * it concerns, and from all there are.  Both must come to the same state. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-delta.h"
#include "dpctl-given.h"
#include "dpctl-json.h"
#include "dpctl-random-families.h"
#include "dpctl-random-objects.h"
#include "flow.h"
#include "model-index.h"
#include "model-patch.h"
#include "model-records.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "rounds.h"
#include "sset.h"
#include "svec.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

enum {
    N_STEPS = MIN(1500, 2 * ROUNDS(1500)),
    N_EPOCH = 250,              /* Steps from an empty state. */
    MAX_STEPS = 6000,           /* Until ENOUGH of them patch a group. */
    ENOUGH = 10,
};

/* The daemon. */

static struct adp_model *model;
static struct adp_index *adp_index;
static long long int generation;
static struct dpctl_ports ports;
static const char *change;      /* The one under way. */
static enum dpctl_verb change_verb;
static bool watched;            /* Did a watch tell it? */
static int n_asked_by_label;    /* Requests for what has a label. */
static int n_asked_namespaces;  /* Requests for all Namespaces. */

/* What goes through a socket is text. */
static struct json *
through_socket(struct json *json)
{
    char *text = json_to_string(json, 0);
    struct json *copy = json_from_string(text);

    free(text);
    json_destroy(json);
    return copy;
}

/* Each list has the daemon look at all who bear its keys. */
static void
check_lists_differ(const struct json *lists)
{
    struct sset seen = SSET_INITIALIZER(&seen);

    for (size_t i = 0; lists && i < json_array(lists)->n; i++) {
        char *list = json_to_string(json_array(lists)->elems[i], 0);

        ck_assert_msg(sset_add(&seen, list), "%s: twice in one question",
                      list);
        free(list);
    }
    sset_destroy(&seen);
}

static struct json *
daemon_get(void *aux OVS_UNUSED, struct json *param)
{
    struct adp_query query = {
        .names = dpctl_json_member(param, "names"),
        .keys = dpctl_json_member(param, "keys"),
        .brief = dpctl_json_bool(param, "brief", false),
    };
    struct json *reply = json_object_create();
    struct json *records;
    char *asked = json_to_string(param, 0);

    check_lists_differ(query.keys);
    n_asked_by_label += strstr(asked, "\"l:") != NULL;
    n_asked_namespaces += strstr(asked, "\"kind:Namespace\"") != NULL;
    free(asked);

    struct adp_error *error = adp_index_query(adp_index, model, &query,
                                              &records);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    json_object_put(reply, "generation", json_integer_create(generation));
    json_object_put(reply, "records", records);
    json_object_put(reply, "total",
                    json_integer_create(adp_model_count(model, NULL)));
    json_object_put(reply, "unkeyed",
                    json_integer_create(adp_index_n_unkeyed(adp_index)));
    json_destroy(param);
    return through_socket(reply);
}

static bool
port_number(const char *name OVS_UNUSED, ofp_port_t *port,
            void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(1);
    return true;
}

/* The state after the plan; '*error' becomes why it is refused, or NULL. */
static struct adp_model *
after(const struct dpctl_plan *plan, struct adp_error **error)
{
    const struct adp_model_env env = { .port_number = port_number };
    struct adp_model *next = adp_model_clone(model);
    struct json *patched;

    adp_model_begin(next);
    *error = adp_model_patch(model, plan->patch, &patched);
    if (!*error) {
        *error = adp_model_delete(next, plan->delete, false, NULL);
    }
    if (!*error) {
        *error = adp_model_apply(next, plan->apply, NULL);
    }
    if (!*error) {
        *error = adp_model_apply(next, patched, NULL);
    }
    if (!*error) {
        *error = adp_model_check_changes(next, &env);
    }
    adp_model_commit(next);
    json_destroy(patched);
    return next;
}

static void
take(struct adp_model *next)
{
    adp_model_destroy(model);
    model = next;
    adp_index_rebuild(adp_index, model);
    generation++;
}

static bool
one_in(int n)
{
    return !random_range(n);
}

/* One change, planned twice. */

struct tally {
    int some, full, errors, refused, patches, deleted;
};

static char *
join(const struct svec *lines)
{
    return svec_join(lines, "\n", "\n");
}

static void
check_same_lines(const char *what, const struct svec *a, const struct svec *b)
{
    char *x = join(a);
    char *y = join(b);

    ck_assert_msg(!strcmp(x, y), "%s:\n%s\nand from all:\n%s", what, x, y);
    free(x);
    free(y);
}

/* Puts what 'a' has and 'b' hasn't into 'ds'. */
static void
put_difference(struct ds *ds, const char *title, const struct json *a,
               const struct json *b)
{
    for (size_t i = 0; i < json_array(a)->n; i++) {
        const struct json *record = json_array(a)->elems[i];
        bool found = false;

        for (size_t j = 0; j < json_array(b)->n && !found; j++) {
            found = json_equal(record, json_array(b)->elems[j]);
        }
        if (!found) {
            ds_put_format(ds, "%s: ", title);
            json_to_ds(record, JSSF_SORT, ds);
            ds_put_char(ds, '\n');
        }
    }
}

static void
check_same_state(const struct adp_model *some, const struct adp_model *all)
{
    struct json *a = through_socket(adp_model_get(some, NULL, NULL));
    struct json *b = through_socket(adp_model_get(all, NULL, NULL));
    struct ds ds = DS_EMPTY_INITIALIZER;

    put_difference(&ds, "from some", a, b);
    put_difference(&ds, "from all", b, a);
    ck_assert_msg(!ds.length, "%s %s\n%s",
                  change_verb == DPCTL_DELETE ? "delete" : "apply", change,
                  ds_cstr(&ds));
    ds_destroy(&ds);
    json_destroy(a);
    json_destroy(b);
}

/* Compares the plans' states and goes on with them. */
static void
take_both(struct dpctl_plan *some, struct dpctl_plan *all, struct tally *t)
{
    struct adp_error *some_error, *all_error;
    struct adp_model *a = after(some, &some_error);
    struct adp_model *b = after(all, &all_error);

    ck_assert_msg(!some_error == !all_error, "refused: %s; from all: %s",
                  some_error ? some_error->message : "no",
                  all_error ? all_error->message : "no");
    if (some_error) {
        t->refused++;
        adp_model_destroy(a);
    } else {
        check_same_state(a, b);
        check_same_lines("messages", some->messages, all->messages);
        if (!watched) {
            /* Of what is as it was one was warned before. */
            check_same_lines("warnings", some->warnings, all->warnings);
        }
        ck_assert_int_eq(!some->n_records, !all->n_records);
        t->patches += json_array(some->patch)->n;
        t->deleted += json_array(some->delete)->n;
        take(a);
    }
    adp_error_destroy(some_error);
    adp_error_destroy(all_error);
    adp_model_destroy(b);
}

static bool
step(enum dpctl_verb verb, const char *text, struct tally *t)
{
    const struct dpctl_source source = { daemon_get, NULL };
    struct dpctl_env env = { .ports = &ports };
    struct dpctl_plan some, all;
    struct dpctl_input input;
    char *some_error;
    bool taken = false;

    change = text;
    change_verb = verb;
    dpctl_input_init(&input);
    input.for_delete = verb == DPCTL_DELETE;
    input.watched = watched;
    char *error = dpctl_given_text(&input, text);
    if (error) {
        /* The same object twice: not of interest here. */
        ck_assert_msg(strstr(error, "given twice"), "%s: %s", error, text);
        free(error);
        dpctl_input_destroy(&input);
        return false;
    }

    struct json *state = through_socket(adp_model_get(model, NULL, NULL));
    long long int before = generation;
    enum dpctl_delta_result result
        = dpctl_delta_create(verb, &input, &source, &env, true, &some,
                             &some_error);
    char *all_error = dpctl_plan_create(verb, &input, state, &env, true,
                                        &all);
    ck_assert_int_ne(result, DPCTL_DELTA_STALE);
    if (result == DPCTL_DELTA_FULL) {
        t->full++;
        if (!all_error) {
            struct adp_error *refused;
            struct adp_model *next = after(&all, &refused);
            if (refused) {
                adp_model_destroy(next);
            } else {
                take(next);
            }
            adp_error_destroy(refused);
        }
    } else if (some_error || all_error) {
        ck_assert_msg(some_error && all_error, "error: %s; from all: %s",
                      some_error ? some_error : "none",
                      all_error ? all_error : "none");
        t->errors++;
    } else {
        t->some++;
        take_both(&some, &all, t);
    }
    taken = generation != before;
    if (result == DPCTL_DELTA_DONE && !some_error) {
        dpctl_plan_destroy(&some);
    }
    if (!all_error) {
        dpctl_plan_destroy(&all);
    }
    free(some_error);
    free(all_error);
    json_destroy(state);
    dpctl_input_destroy(&input);
    return taken;
}

/* What OVSDB says of a Pod's port, at random. */
static struct dpctl_port *
random_port(void)
{
    struct dpctl_port *port = xmalloc(sizeof *port);

    *port = (struct dpctl_port) {
        .name = xasprintf("port%d", random_range(90)),
        .mac = xasprintf("0a:00:00:00:01:%02x", random_range(99)),
        .ips = one_in(2) ? dpctl_random_ips() : NULL,
    };
    return port;
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
step_pod(struct tally *t)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    dpctl_random_pod(&ds, one_in(2) ? "ns0" : "ns1");
    dpctl_random_families(&ds);
    struct json *pod = json_from_string(ds_cstr(&ds));
    char *name = xasprintf("%s/%s", dpctl_json_str(pod, "metadata.namespace"),
                           dpctl_json_str(pod, "metadata.name"));
    struct dpctl_port *old = shash_find_and_delete(&ports.by_pod, name);
    if (!one_in(3)) {
        shash_add(&ports.by_pod, name, random_port());
    }
    if (step(one_in(4) ? DPCTL_DELETE : DPCTL_APPLY, ds_cstr(&ds), t)) {
        port_destroy(old);
    } else {
        port_destroy(shash_find_and_delete(&ports.by_pod, name));
        if (old) {
            shash_add(&ports.by_pod, name, old);
        }
    }
    free(name);
    json_destroy(pod);
    ds_destroy(&ds);
}

static void
setup(void)
{
    model = adp_model_create();
    adp_index = adp_index_create();
    dpctl_ports_init(&ports);
    ports.available = true;
}

static void
teardown(void)
{
    adp_index_destroy(adp_index);
    adp_model_destroy(model);
    dpctl_ports_destroy(&ports);
}

START_TEST(test_random_changes)
{
    struct tally t = { 0 };

    test_seed_random();
    for (int i = 0; i < N_STEPS || (t.patches <= ENOUGH && i < MAX_STEPS);
         i++) {
        if (i % N_EPOCH == 0) {
            /* One policy of some states makes every change a full run. */
            teardown();
            setup();
            ck_assert(step(DPCTL_APPLY, dpctl_random_node, &t));
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
        step(one_in(3) ? DPCTL_DELETE : DPCTL_APPLY, ds_cstr(&ds), &t);
        if (one_in(4)) {
            /* A watch tells it again, or what had gone anew. */
            watched = true;
            step(DPCTL_APPLY, ds_cstr(&ds), &t);
            watched = false;
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

/* What a change that is told as 'text' takes. */
static void
expect_step(enum dpctl_verb verb, const char *text, bool some)
{
    struct tally t = { 0 };

    step(verb, text, &t);
    ck_assert_msg(t.some == some && t.full == !some, "%s", text);
}

#define SPACE(LABEL) \
    "apiVersion: v1\nkind: Namespace\n" \
    "metadata: {name: ns0, labels: {env: " LABEL "}}\n"

#define SPACE_POD(NAME, LABEL) \
    "apiVersion: v1\nkind: Pod\n" \
    "metadata: {name: " NAME ", namespace: ns0, labels: {l: " LABEL "}}\n" \
    "spec: {nodeName: other}\nstatus: {podIP: 10.1.9.9}\n"

#define LOCAL_POD \
    "apiVersion: v1\nkind: Pod\n" \
    "metadata: {name: mine, namespace: ns0, labels: {l: mine}, " \
    "annotations: {antrea-dp.io/port: port1, " \
    "antrea-dp.io/mac: '0a:00:00:00:01:01'}}\n" \
    "spec: {nodeName: node1}\nstatus: {podIP: 10.1.0.9}\n"

/* An object with more keys than a record may have. */
START_TEST(test_very_many_keys)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    expect_step(DPCTL_APPLY, dpctl_random_node, false);
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
    expect_step(DPCTL_APPLY, ds_cstr(&ds), true);
    ds_destroy(&ds);

    expect_step(DPCTL_APPLY, LOCAL_POD, true);
    ck_assert_ptr_nonnull(adp_model_find(model, ADP_KIND_NETWORK_POLICY,
                                         "K8sNetworkPolicy:ns0/p"));
    expect_step(DPCTL_APPLY, SPACE_POD("a", "v1099"), true);
    expect_step(DPCTL_APPLY, SPACE_POD("a", "w"), true);
    expect_step(DPCTL_APPLY, SPACE_POD("b", "v0"), true);
    expect_step(DPCTL_DELETE, SPACE_POD("b", "v0"), true);
    expect_step(DPCTL_DELETE, LOCAL_POD, true);
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
    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    expect_step(DPCTL_APPLY, LOCAL_POD, true);
    expect_step(DPCTL_APPLY, NAMED_PORT("mine", "ingress", "from"), false);
    watched = true;
    expect_step(DPCTL_APPLY, NAMED_PORT("mine", "ingress", "from"), true);
    watched = false;
    expect_step(DPCTL_APPLY, NAMED_PORT("mine", "ingress", "from"), false);
    expect_step(DPCTL_APPLY, SPACE_POD("a", "w"), true);
    expect_step(DPCTL_APPLY, PORT_POD("b", "80"), true);
    expect_step(DPCTL_APPLY, SPACE_POD("b", "w"), true);
    expect_step(DPCTL_DELETE, SPACE_POD("b", "w"), true);
}
END_TEST

/* A policy may apply to Pods though nothing came of its rules. */
START_TEST(test_named_port_of_nobody)
{
    const char *name = "AntreaClusterNetworkPolicy:p";

    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    expect_step(DPCTL_APPLY, LOCAL_POD, true);
    expect_step(DPCTL_APPLY, "apiVersion: crd.antrea.io/v1beta1\n"
                "kind: ClusterNetworkPolicy\nmetadata: {name: p}\n"
                "spec: {priority: 1, ingress: [{action: Drop, appliedTo: "
                "[{podSelector: {matchLabels: {l: mine}}}], "
                "ports: [{port: http}]}]}\n", true);
    ck_assert_ptr_nonnull(adp_model_find(model, ADP_KIND_NETWORK_POLICY,
                                         name));
    expect_step(DPCTL_DELETE, LOCAL_POD, true);
    ck_assert_ptr_null(adp_model_find(model, ADP_KIND_NETWORK_POLICY, name));
}
END_TEST

/* Where the port is the peers', the first Pod with a number makes a rule, and
 * the last one ends it. */
START_TEST(test_named_port_of_peers)
{
    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    expect_step(DPCTL_APPLY, LOCAL_POD, true);
    expect_step(DPCTL_APPLY, NAMED_PORT("mine", "egress", "to"), false);
    expect_step(DPCTL_APPLY, SPACE_POD("a", "w"), true);
    expect_step(DPCTL_APPLY, PORT_POD("b", "80"), false);
    expect_step(DPCTL_APPLY, "apiVersion: v1\nkind: Pod\n"
                "metadata: {name: c, namespace: ns1}\n"
                "spec: {nodeName: other, containers: [{name: c, ports: "
                "[{name: http, containerPort: 80}]}]}\n"
                "status: {podIP: 10.1.9.8}\n", true);
    expect_step(DPCTL_DELETE, PORT_POD("b", "80"), true);
    expect_step(DPCTL_APPLY, PORT_POD("b", "81"), false);
    expect_step(DPCTL_DELETE, PORT_POD("b", "81"), false);
}
END_TEST

/* No rule, unless the policy applies to a Pod of this node. */
START_TEST(test_named_port_of_others)
{
    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    expect_step(DPCTL_APPLY, LOCAL_POD, true);
    expect_step(DPCTL_APPLY, NAMED_PORT("other", "egress", "to"), false);
    expect_step(DPCTL_APPLY, SPACE_POD("a", "w"), true);
    expect_step(DPCTL_APPLY, PORT_POD("b", "80"), true);
    expect_step(DPCTL_DELETE, PORT_POD("b", "80"), true);
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
        = adp_model_find(model, ADP_KIND_NETWORK_POLICY,
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
    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    expect_step(DPCTL_APPLY, LOCAL_POD, true);
    expect_step(DPCTL_APPLY, SPACE_POD("a", "v"), true);
    expect_step(DPCTL_APPLY, "apiVersion: crd.antrea.io/v1beta1\n"
                "kind: ClusterNetworkPolicy\nmetadata: {name: p}\n"
                "spec: {priority: 1, appliedTo: [{podSelector: {matchLabels: "
                "{l: mine}}}], ingress: [{action: Allow, from: [{group: cg}"
                "]}]}\n", true);
    ck_assert_uint_eq(n_groups_allowed(), 0);
    expect_step(DPCTL_APPLY, CLUSTER_GROUP, true);
    ck_assert_uint_eq(n_groups_allowed(), 1);
    expect_step(DPCTL_DELETE, CLUSTER_GROUP, true);
    ck_assert_uint_eq(n_groups_allowed(), 0);
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
    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    expect_step(DPCTL_APPLY, SPACE_POD("a", "v"), true);
    n_asked_by_label = 0;
    expect_step(DPCTL_APPLY, SERVICE, true);
    ck_assert_int_gt(n_asked_by_label, 0);
    expect_step(DPCTL_APPLY, SLICE("true"), true);
    n_asked_by_label = 0;
    expect_step(DPCTL_APPLY, SLICE("false"), true);
    expect_step(DPCTL_APPLY, SPACE_POD("b", "v"), true);
    ck_assert_int_eq(n_asked_by_label, 0);
    expect_step(DPCTL_DELETE, SLICE("false"), true);
    ck_assert_int_gt(n_asked_by_label, 0);
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
    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    expect_step(DPCTL_APPLY, LOCAL_POD, true);
    expect_step(DPCTL_APPLY, SPACE("a"), true);
    n_asked_namespaces = 0;
    expect_step(DPCTL_APPLY, FROM("{podSelector: {matchLabels: {l: v}}}"),
                true);
    ck_assert_int_eq(n_asked_namespaces, 0);
    expect_step(DPCTL_APPLY, FROM("{namespaceSelector: {matchLabels: "
                                  "{env: a}}}"), true);
    ck_assert_int_gt(n_asked_namespaces, 0);
    n_asked_namespaces = 0;
    expect_step(DPCTL_APPLY, CLUSTER_GROUP, true);
    expect_step(DPCTL_APPLY, "apiVersion: crd.antrea.io/v1beta1\n"
                "kind: ClusterNetworkPolicy\nmetadata: {name: p}\n"
                "spec: {priority: 1, appliedTo: [{podSelector: {matchLabels: "
                "{l: mine}}}], ingress: [{action: Allow, from: [{group: cg}"
                "]}]}\n", true);
    ck_assert_int_eq(n_asked_namespaces, 0);
    expect_step(DPCTL_APPLY, "apiVersion: crd.antrea.io/v1beta1\n"
                "kind: ClusterGroup\nmetadata: {name: cg}\n"
                "spec: {namespaceSelector: {matchLabels: {env: a}}}\n", true);
    ck_assert_int_gt(n_asked_namespaces, 0);
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

    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    watched = true;
    expect_step(DPCTL_APPLY, changed, false);
    expect_step(DPCTL_APPLY, beat, true);
    /* Who applies it has us look whether all else is as it was. */
    watched = false;
    expect_step(DPCTL_APPLY, beat, false);
    watched = true;
    expect_step(DPCTL_DELETE, beat, false);
    expect_step(DPCTL_APPLY, beat, false);
    watched = false;
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
    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    expect_step(DPCTL_APPLY, SPACE("a"), true);
    expect_step(DPCTL_APPLY, ds_cstr(&ds), true);
    expect_step(DPCTL_APPLY, SPACE("b"), true);
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

    expect_step(DPCTL_APPLY, dpctl_random_node, false);
    put_services(&ds, N_TOLD, 0);
    watched = true;
    expect_step(DPCTL_APPLY, ds_cstr(&ds), false);
    expect_step(DPCTL_APPLY, ds_cstr(&ds), true);
    ds_clear(&ds);
    put_services(&ds, N_TOLD, 9);
    ds_put_cstr(&ds, "---\n" LOCAL_POD);
    expect_step(DPCTL_APPLY, ds_cstr(&ds), true);
    ck_assert_ptr_nonnull(adp_model_find(model, ADP_KIND_SERVICE, "ns0/s1"));
    expect_step(DPCTL_APPLY, ds_cstr(&ds), true);

    /* A user is told of each. */
    watched = false;
    expect_step(DPCTL_APPLY, ds_cstr(&ds), false);
    watched = true;
    expect_step(DPCTL_DELETE, ds_cstr(&ds), false);
    watched = false;
    ds_destroy(&ds);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-delta");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, test_random_changes);
    tcase_add_test(tc, test_very_many_keys);
    tcase_add_test(tc, test_named_port_of_own_pods);
    tcase_add_test(tc, test_named_port_of_nobody);
    tcase_add_test(tc, test_named_port_of_peers);
    tcase_add_test(tc, test_named_port_of_others);
    tcase_add_test(tc, test_group_comes_and_goes);
    tcase_add_test(tc, test_selected_pods);
    tcase_add_test(tc, test_namespaces);
    tcase_add_test(tc, test_heartbeats);
    tcase_add_test(tc, test_relabelled_namespace);
    tcase_add_test(tc, test_told_again);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-delta-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-admin.h"
#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-surprise.h"
#include "svec.h"
#include "util.h"

/* Beyond that the full run is as good. */
enum { MAX_GIVEN = 100, MAX_PODS = 2000 };

/* Objects before and after. */

const struct json *
delta_old(const struct delta *d, const char *manifest)
{
    return dpctl_world_object(&d->world, manifest);
}

bool
delta_is_given(const struct delta *d, const char *manifest)
{
    return shash_find(&d->given, manifest) != NULL;
}

const struct json *
delta_new(const struct delta *d, const char *manifest)
{
    return (!delta_is_given(d, manifest) ? delta_old(d, manifest)
            : d->verb == DPCTL_DELETE ? NULL
            : shash_find_data(&d->given, manifest));
}

bool
delta_ended(const struct delta *d)
{
    return d->full || d->world.stale;
}

bool
delta_is_policy(const struct dpctl_kind *kind)
{
    return (kind->id == DPCTL_K8S_NP || kind->id == DPCTL_ACNP
            || kind->id == DPCTL_ANNP || dpctl_is_admin_policy(kind)
            || kind->id == DPCTL_EGRESS
            || kind->id == DPCTL_TRAFFIC_CONTROL);
}

static bool
is_group(const struct dpctl_kind *kind)
{
    return kind->id == DPCTL_CLUSTER_GROUP || kind->id == DPCTL_GROUP;
}

static void
collect_one(const struct delta *d, bool new, const char *manifest,
            struct shash *manifests)
{
    const struct json *object = (new ? delta_new(d, manifest)
                                 : delta_old(d, manifest));
    if (object) {
        shash_add_once(manifests, manifest, object);
    }
}

void
delta_collect(const struct delta *d, bool new, unsigned int kinds,
              struct shash *manifests)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &d->world.records) {
        const char *name = dpctl_manifest_of_key(node->name);
        const struct dpctl_kind *kind = name ? dpctl_manifest_kind(name)
                                        : NULL;
        if (kind && kinds & 1u << kind->id) {
            collect_one(d, new, name, manifests);
        }
    }
}

void
delta_collect_named(const struct delta *d, bool new, const struct sset *names,
                    struct shash *manifests)
{
    const char *name;

    SSET_FOR_EACH (name, names) {
        collect_one(d, new, name, manifests);
    }
}

static void
each_name(const struct json_array *names, const char *kind,
          void (*cb)(const char *kind, const char *group, void *aux),
          void *aux)
{
    for (size_t i = 0; i < names->n; i++) {
        cb(kind, json_string(names->elems[i]), aux);
    }
}

void
delta_each_group(const struct json *policy,
                 void (*cb)(const char *kind, const char *group, void *aux),
                 void *aux)
{
    const struct json_array *rules = dpctl_json_array(policy, "rules");

    each_name(dpctl_json_array(policy, "appliedToGroups"), "AppliedToGroup",
              cb, aux);
    for (size_t i = 0; i < rules->n; i++) {
        const struct json *rule = rules->elems[i];
        each_name(dpctl_json_array(rule, "appliedToGroups"), "AppliedToGroup",
                  cb, aux);
        each_name(dpctl_json_array(rule, "from.addressGroups"),
                  "AddressGroup", cb, aux);
        each_name(dpctl_json_array(rule, "to.addressGroups"), "AddressGroup",
                  cb, aux);
    }
}

/* What was given. */

static bool
is_handled_kind(const struct dpctl_kind *kind)
{
    static const unsigned int kinds
        = (1u << DPCTL_NAMESPACE | 1u << DPCTL_POD | 1u << DPCTL_SERVICE
           | 1u << DPCTL_ENDPOINTS | 1u << DPCTL_ENDPOINT_SLICE
           | 1u << DPCTL_K8S_NP | 1u << DPCTL_ACNP | 1u << DPCTL_ANNP
           | 1u << DPCTL_ADMIN_NP | 1u << DPCTL_BASELINE_ADMIN_NP
           | 1u << DPCTL_CLUSTER_GROUP | 1u << DPCTL_GROUP
           | 1u << DPCTL_EGRESS | 1u << DPCTL_TRAFFIC_CONTROL);

    return kinds & 1u << kind->id;
}

static bool
is_handled(const struct delta *d)
{
    size_t n = shash_count(&d->input->manifests);
    const struct shash_node *node;

    if (d->verb == DPCTL_REPLACE || !shash_is_empty(&d->input->records)
        || !sset_is_empty(&d->input->gone)
        || !n
        || (n > MAX_GIVEN && !(d->input->watched && d->verb == DPCTL_APPLY))
        || d->env->change_node) {
        return false;
    }
    SHASH_FOR_EACH (node, &d->input->manifests) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);
        /* Of others it may turn out that they are as they were. */
        if (!kind || !(is_handled_kind(kind) || d->input->watched)) {
            return false;
        }
    }
    return true;
}

/* Is there news of an object of a kind that isn't handled?  A Node's heartbeat
 * is none. */
static bool
changes_unhandled(const struct delta *d)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &d->given) {
        const struct json *old = delta_old(d, node->name);
        const struct json *new = delta_new(d, node->name);

        if (!is_handled_kind(dpctl_manifest_kind(node->name))
            && !(old && new && json_equal(old, new))) {
            return true;
        }
    }
    return false;
}

void
delta_want_namespace(struct delta *d, const char *namespace_)
{
    char *manifest = dpctl_manifest_name(&dpctl_kinds[DPCTL_NAMESPACE], NULL,
                                         namespace_);

    dpctl_world_want(&d->world, "Manifest", manifest);
    free(manifest);
}

static void
want_pod(struct delta *d, const char *manifest)
{
    char *namespace_ = xmemdup0(delta_name_part(manifest),
                                strcspn(delta_name_part(manifest), "/"));

    dpctl_world_want(&d->world, "Manifest", manifest);
    dpctl_world_want(&d->world, "Pod", delta_name_part(manifest));
    delta_want_namespace(d, namespace_);
    free(namespace_);
}

/* What the warnings about a Pod need to know. */
static void
want_node_of(struct delta *d, const struct json *pod)
{
    const char *node = dpctl_json_str(pod, "spec.nodeName");

    if (node && node[0]) {
        char *manifest = dpctl_manifest_name(&dpctl_kinds[DPCTL_NODE], NULL,
                                             node);
        dpctl_world_want(&d->world, "Manifest", manifest);
        dpctl_world_want(&d->world, "PeerNode", node);
        free(manifest);
    }
}

static void
want_rank_of(struct delta *d, const struct dpctl_kind *kind,
             const struct json *object)
{
    char *rank = dpctl_policy_rank(kind, object);

    if (rank) {
        char *key = xasprintf("q:%s", rank);
        dpctl_keys_add(dpctl_world_want_keys(&d->world), key);
        free(key);
        free(rank);
    }
}

/* A setting that wasn't given, or is in force. */
static bool
is_kept(const char *given, const char *in_force)
{
    return !given || (in_force && !strcmp(given, in_force));
}

static bool
same_service_cidr(const char *given, const struct json *in_force)
{
    struct json *json = given ? dpctl_service_cidr(given) : NULL;
    bool same = !json || (in_force && json_equal(json, in_force));

    json_destroy(json);
    return same;
}

static bool
settings_are_kept(const struct delta *d)
{
    const struct json *config = d->node_config;
    const char *tunnel = dpctl_json_str(config, "tunnel.port");

    return (is_kept(d->env->node, dpctl_json_str(config, "name"))
            && is_kept(d->env->gateway_port,
                       dpctl_json_str(config, "gateway.port"))
            && is_kept(d->env->gateway_mac,
                       dpctl_json_str(config, "gateway.mac"))
            && is_kept(d->env->tunnel_port, tunnel ? tunnel : "none")
            && same_service_cidr(d->env->service_cidr,
                                 dpctl_json_member(config, "serviceCIDR")));
}

static void
fetch_given(struct delta *d)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &d->given) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);

        dpctl_world_want(&d->world, "Manifest", node->name);
        if (kind->id == DPCTL_POD) {
            want_pod(d, node->name);
            want_node_of(d, node->data);
        } else if (delta_is_policy(kind) && d->verb != DPCTL_DELETE) {
            want_rank_of(d, kind, node->data);
        }
    }
    delta_fetch_with_node_config(d);
    if (d->input->watched && d->verb == DPCTL_APPLY) {
        delta_drop_unchanged(d);
    }
    SHASH_FOR_EACH (node, &d->given) {
        if (delta_is_policy(dpctl_manifest_kind(node->name))) {
            sset_add(&d->dirty, node->name);
        }
    }
    if (!d->world.stale
        && (!d->node_config || !d->world.complete || !settings_are_kept(d)
            || changes_unhandled(d))) {
        d->full = true;
    }
}

/* The Manifest records and what to tell the user. */
static char *
plan_given(struct delta *d, bool ignore_missing)
{
    const struct shash_node **nodes = shash_sort(&d->input->manifests);
    size_t n = shash_count(&d->input->manifests);
    char *error = NULL;

    for (size_t i = 0; i < n && !error; i++) {
        error = dpctl_plan_manifest(d->plan, d->verb, nodes[i]->name,
                                    delta_old(d, nodes[i]->name),
                                    nodes[i]->data, ignore_missing);
    }
    free(nodes);
    return error;
}

/* Pods. */

static bool
same_member(const struct json *a, const struct json *b, const char *path)
{
    const struct json *x = dpctl_json_get(a, path);
    const struct json *y = dpctl_json_get(b, path);

    return x && y ? json_equal(x, y) : x == y;
}

/* Adds the Pods among 'records' to those that matter, and asks for what tells
 * how they were. */
static void
add_pods(struct delta *d, const struct json *records)
{
    const struct json_array *array = records ? json_array(records) : NULL;

    for (size_t i = 0; array && i < array->n; i++) {
        char *key = dpctl_record_key_of(array->elems[i]);
        const char *name = dpctl_manifest_of_key(key);
        const struct dpctl_kind *kind = name ? dpctl_manifest_kind(name)
                                        : NULL;
        if (kind && kind->id == DPCTL_POD) {
            sset_add(&d->pods, name);
            want_pod(d, name);
        }
        free(key);
    }
}

/* Does a Namespace begin, or cease, to have its policies logged?  All of them
 * then change. */
static bool
changes_logging(struct delta *d)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &d->given) {
        if (dpctl_manifest_kind(node->name)->id == DPCTL_NAMESPACE
            && (dpctl_namespace_logs(delta_old(d, node->name))
                != dpctl_namespace_logs(delta_new(d, node->name)))) {
            return true;
        }
    }
    return false;
}

static void
fetch_pods(struct delta *d)
{
    const struct shash_node *node;
    bool any = false;

    SHASH_FOR_EACH (node, &d->given) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);

        if (kind->id == DPCTL_POD) {
            sset_add(&d->pods, node->name);
        } else if (kind->id == DPCTL_NAMESPACE
                   && !same_member(delta_old(d, node->name),
                                   delta_new(d, node->name),
                                   "metadata.labels")) {
            char *key = xasprintf("ns:%s", delta_name_part(node->name));
            dpctl_keys_add(dpctl_world_want_keys(&d->world), key);
            free(key);
            any = true;
        }
    }
    if (any) {
        add_pods(d, dpctl_world_fetch(&d->world));
        if (!d->world.stale) {
            dpctl_world_fetch(&d->world);
        }
    }
    d->relabels = any;
    d->full |= changes_logging(d);
    d->full |= sset_count(&d->pods) > MAX_PODS;
}

/* Who may be concerned by a Pod. */

static void
want_words(struct delta *d, const char *words, bool given, struct sset *ips)
{
    struct json *query = dpctl_world_want_keys(&d->world);
    struct svec own = SVEC_EMPTY_INITIALIZER;
    const char *ip;
    size_t i;

    dpctl_address_words(words, &own);
    SVEC_FOR_EACH (i, ip, &own) {
        char *key = xasprintf("ip:%s", ip);
        if (sset_add(ips, ip)) {
            dpctl_keys_add(query, key);
        }
        free(key);
        if (given) {
            key = xasprintf("e:%s", ip);
            dpctl_keys_add(query, key);
            free(key);
        }
    }
    svec_destroy(&own);
}

static void
want_ips(struct delta *d, const struct json *pod, const struct json *record,
         bool given, struct sset *ips)
{
    const struct json_array *array = dpctl_json_array(pod, "status.podIPs");

    want_words(d, dpctl_json_str(pod, "status.podIP"), given, ips);
    for (size_t i = 0; i < array->n; i++) {
        want_words(d, dpctl_json_str(array->elems[i], "ip"), given, ips);
    }
    array = dpctl_json_array(record, "ips");
    for (size_t i = 0; i < array->n; i++) {
        want_words(d, json_string(array->elems[i]), given, ips);
    }
}

/* The addresses that the CNI gave the Pod. */
static void
want_port_ips(struct delta *d, const char *manifest, struct sset *ips)
{
    const struct dpctl_port *port
        = shash_find_data(&d->env->ports->by_pod, delta_name_part(manifest));

    want_words(d, port ? port->ips : NULL, true, ips);
}

/* 'pod' is the Pod as it was, or as it will be; 'space' its Namespace.  Adds
 * to 'peers' what finds policies by their peers. */
static void
want_concerned(struct delta *d, const struct json *pod,
               const struct json *space, bool given, struct json *peers)
{
    struct json *query = dpctl_world_want_keys(&d->world);

    if (pod) {
        const struct shash *labels = dpctl_json_object(space,
                                                       "metadata.labels");
        dpctl_keys_selecting(query, pod, labels, false);
        dpctl_keys_selecting(peers, pod, labels, true);
        if (given) {
            dpctl_keys_services(query,
                                dpctl_json_str(pod, "metadata.namespace"),
                                dpctl_json_object(pod, "metadata.labels"));
        }
    }
}

/* The CNI may have given a Pod an address that its object doesn't tell: such
 * Pods are known by their ports. */
static void
want_port_owners(struct delta *d, const struct sset *ips)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &d->env->ports->by_pod) {
        const struct dpctl_port *port = node->data;
        struct svec own = SVEC_EMPTY_INITIALIZER;
        const char *ip;
        size_t i;

        dpctl_address_words(port->ips, &own);
        SVEC_FOR_EACH (i, ip, &own) {
            if (sset_contains(ips, ip)) {
                char *manifest = xasprintf("Pod.v1/%s", node->name);
                want_pod(d, manifest);
                sset_add(&d->pods, manifest);
                free(manifest);
            }
        }
        svec_destroy(&own);
    }
}

static void
add_service_of(struct delta *d, const struct dpctl_kind *kind,
               const struct json *object)
{
    const char *namespace_ = dpctl_json_str(object, "metadata.namespace");
    const char *name = dpctl_json_str(object, "metadata.name");

    if (object && kind->id == DPCTL_ENDPOINT_SLICE) {
        const struct json *label
            = dpctl_json_member(dpctl_json_get(object, "metadata.labels"),
                                "kubernetes.io/service-name");
        name = label ? json_string(label) : NULL;
    }
    if (object && name) {
        sset_add_and_free(&d->services,
                          dpctl_manifest_name(&dpctl_kinds[DPCTL_SERVICE],
                                              namespace_, name));
    }
}

static bool
is_about_service(const struct dpctl_kind *kind)
{
    return (kind->id == DPCTL_SERVICE || kind->id == DPCTL_ENDPOINTS
            || kind->id == DPCTL_ENDPOINT_SLICE);
}

/* Sorts what was found into what is to be done; 'groups' gets those through
 * which more policies may be concerned. */
static void
classify(struct delta *d, const struct json *records, struct sset *policies,
         struct sset *groups)
{
    const struct json_array *array = records ? json_array(records) : NULL;

    for (size_t i = 0; array && i < array->n; i++) {
        char *key = dpctl_record_key_of(array->elems[i]);
        const char *name = dpctl_manifest_of_key(key);
        const struct dpctl_kind *kind = name ? dpctl_manifest_kind(name)
                                        : NULL;

        if (kind && delta_is_policy(kind)) {
            sset_add(policies, name);
        } else if (kind && is_group(kind)) {
            sset_add(groups, name);
        } else if (kind && is_about_service(kind)) {
            add_service_of(d, kind,
                           dpctl_json_member(array->elems[i], "object"));
            if (kind->id == DPCTL_SERVICE) {
                /* A group may be what it selects. */
                sset_add(groups, name);
            }
        }
        free(key);
    }
}

/* Adds the policies that refer to 'groups', directly or by other groups. */
static void
follow_groups(struct delta *d, const struct sset *groups,
              struct sset *policies)
{
    struct sset seen = SSET_INITIALIZER(&seen);
    struct sset next;

    sset_clone(&next, groups);
    while (!sset_is_empty(&next) && !delta_ended(d)) {
        const char *name;
        SSET_FOR_EACH (name, &next) {
            char *key = dpctl_ref_key(name);
            dpctl_keys_add(dpctl_world_want_keys(&d->world), key);
            free(key);
            sset_add(&seen, name);
        }
        sset_clear(&next);
        classify(d, dpctl_world_fetch(&d->world), policies, &next);
        SSET_FOR_EACH (name, &seen) {
            sset_find_and_delete(&next, name);
        }
    }
    sset_destroy(&next);
    sset_destroy(&seen);
}

/* A Pod of no Node may have its address from one of ours: then the endpoint
 * that it is counts as local. */
static void
want_services_of_homeless(struct delta *d)
{
    const char *manifest;

    SSET_FOR_EACH (manifest, &d->pods) {
        const struct json *pod = delta_old(d, manifest);
        if (pod && !dpctl_json_str(pod, "spec.nodeName")) {
            dpctl_keys_services(dpctl_world_want_keys(&d->world),
                                dpctl_json_str(pod, "metadata.namespace"),
                                dpctl_json_object(pod, "metadata.labels"));
        }
    }
}

static void
fetch_concerned(struct delta *d)
{
    struct sset groups = SSET_INITIALIZER(&groups);
    struct sset ips = SSET_INITIALIZER(&ips);
    struct json *peers = json_array_create_empty();
    const struct shash_node *node;
    const char *manifest;

    /* By groups that change. */
    SHASH_FOR_EACH (node, &d->given) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);
        if (is_group(kind)) {
            sset_add(&groups, node->name);
        } else if (is_about_service(kind)) {
            add_service_of(d, kind, delta_old(d, node->name));
            add_service_of(d, kind, delta_new(d, node->name));
            if (kind->id == DPCTL_SERVICE
                && !same_member(delta_old(d, node->name),
                                delta_new(d, node->name), "spec.selector")) {
                sset_add(&groups, node->name);
            }
        }
    }
    follow_groups(d, &groups, &d->dirty);
    sset_clear(&groups);

    /* By Pods. */
    SSET_FOR_EACH (manifest, &d->pods) {
        const struct json *old = delta_old(d, manifest);
        const struct json *new = delta_new(d, manifest);
        char *space = xasprintf("Namespace.v1/%.*s",
                                (int) strcspn(delta_name_part(manifest), "/"),
                                delta_name_part(manifest));
        bool given = delta_is_given(d, manifest);

        want_concerned(d, old, delta_old(d, space), given, peers);
        want_concerned(d, new, delta_new(d, space), given, peers);
        want_ips(d, old, dpctl_world_record(&d->world, "Pod",
                                            delta_name_part(manifest)),
                 given, &ips);
        want_ips(d, new, NULL, given, &ips);
        if (given) {
            want_port_ips(d, manifest, &ips);
        }
        free(space);
    }
    want_port_owners(d, &ips);
    const struct json *records = dpctl_world_fetch(&d->world);
    classify(d, records, &d->candidates, &groups);
    add_pods(d, records);
    follow_groups(d, &groups, &d->candidates);
    delta_want_policies_by_peers(d, peers);
    if (!d->world.stale) {
        /* Those that were found are known only now. */
        dpctl_world_fetch(&d->world);
        want_services_of_homeless(d);
        classify(d, dpctl_world_fetch(&d->world), &d->candidates, &groups);
    }
    sset_destroy(&groups);
    sset_destroy(&ips);
}

void
delta_fetch_groups(struct delta *d, const struct sset *policies)
{
    struct sset todo, seen = SSET_INITIALIZER(&seen);

    sset_clone(&todo, policies);
    while (!sset_is_empty(&todo) && !delta_ended(d)) {
        struct svec refs = SVEC_EMPTY_INITIALIZER;
        const char *name;
        size_t i;

        SSET_FOR_EACH (name, &todo) {
            const struct dpctl_kind *kind = dpctl_manifest_kind(name);
            dpctl_group_refs(kind, delta_old(d, name), &refs);
            dpctl_group_refs(kind, delta_new(d, name), &refs);
        }
        sset_clear(&todo);
        SVEC_FOR_EACH (i, name, &refs) {
            dpctl_world_want(&d->world, "Manifest", name);
            if (sset_add(&seen, name)) {
                sset_add(&todo, name);
            }
        }
        svec_destroy(&refs);
        dpctl_world_fetch(&d->world);
    }
    sset_destroy(&todo);
    sset_destroy(&seen);
}

/* The end. */

static void
plan_records(struct delta *d)
{
    const struct shash_node **nodes = shash_sort(&d->outcome);

    for (size_t i = 0; i < shash_count(&d->outcome); i++) {
        const struct json *old = shash_find_data(&d->world.records,
                                                 nodes[i]->name);
        if (!old || !json_equal(old, nodes[i]->data)) {
            json_array_add(d->plan->apply, json_clone(nodes[i]->data));
        }
    }
    free(nodes);
}

static void
plan_gone(struct delta *d)
{
    const char **keys = sset_sort(&d->gone);

    for (size_t i = 0; i < sset_count(&d->gone); i++) {
        if (!shash_find(&d->outcome, keys[i])
            && shash_find_data(&d->world.records, keys[i])) {
            const char *space = strchr(keys[i], ' ');
            char *kind = xmemdup0(keys[i], space - keys[i]);
            dpctl_plan_delete(d->plan, kind, space + 1);
            free(kind);
        }
    }
    free(keys);
}

static void
put_names(struct json *patch, const char *member, const struct sset *names)
{
    if (!sset_is_empty(names)) {
        const char **sorted = sset_sort(names);
        struct json *array = json_array_create_empty();

        for (size_t i = 0; i < sset_count(names); i++) {
            json_array_add(array, json_string_create(sorted[i]));
        }
        json_object_put(patch, member, array);
        free(sorted);
    }
}

/* Groups that are there, and are neither made anew nor go. */
static void
plan_patches(struct delta *d)
{
    struct sset wanted = SSET_INITIALIZER(&wanted);
    struct sset there = SSET_INITIALIZER(&there);
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &d->patches) {
        if (!shash_find(&d->outcome, node->name)
            && !sset_contains(&d->gone, node->name)) {
            sset_add(&wanted, node->name);
        }
    }
    dpctl_world_which(&d->world, &wanted, &there);

    const char **keys = sset_sort(&there);
    for (size_t i = 0; i < sset_count(&there); i++) {
        const struct delta_patch *p = shash_find_data(&d->patches, keys[i]);
        const char *space = strchr(keys[i], ' ');
        struct json *patch = json_object_create();
        char *kind = xmemdup0(keys[i], space - keys[i]);

        json_object_put_string(patch, "kind", kind);
        json_object_put_string(patch, "name", space + 1);
        put_names(patch, "add", &p->add);
        put_names(patch, "remove", &p->remove);
        json_array_add(d->plan->patch, patch);
        free(kind);
    }
    free(keys);
    sset_destroy(&wanted);
    sset_destroy(&there);
}

static void
plan_warnings(struct delta *d)
{
    struct shash manifests = SHASH_INITIALIZER(&manifests);
    struct shash stored = SHASH_INITIALIZER(&stored);
    const struct shash_node *node;

    delta_collect(d, true, UINT_MAX, &manifests);
    SHASH_FOR_EACH (node, &d->world.records) {
        if (node->data) {
            shash_add(&stored, node->name, node->data);
        }
    }
    struct dpctl_surprise surprise = {
        .given = &d->given,
        .manifests = &manifests,
        .records = { &stored, &d->outcome },
        .node = dpctl_json_str(d->node_config, "name"),
    };
    dpctl_surprises(&surprise, d->plan->warnings);
    shash_destroy(&manifests);
    shash_destroy(&stored);
}

static char *
make_plan(struct delta *d, bool ignore_missing)
{
    static char *(*const parts[])(struct delta *) = {
        delta_memberships, delta_policies, delta_services,
    };

    if (shash_count(&d->given) > MAX_GIVEN) {
        delta_fetch_told(d);
        delta_drop_unchanged(d);
        d->full = d->full || shash_count(&d->given) > MAX_GIVEN;
    }
    if (!delta_ended(d)) {
        fetch_given(d);
    }
    char *error = delta_ended(d) ? NULL : plan_given(d, ignore_missing);
    if (!error && !delta_ended(d)) {
        fetch_pods(d);
    }
    if (!error && !delta_ended(d)) {
        fetch_concerned(d);
    }
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (!error && !delta_ended(d)) {
            error = parts[i](d);
        }
    }
    if (!error && !delta_ended(d)) {
        plan_records(d);
        plan_gone(d);
        plan_patches(d);
        if (d->verb != DPCTL_DELETE) {
            plan_warnings(d);
        }
        delta_tell_kept_ports(d);
        d->plan->n_records = (d->world.total + json_array(d->plan->apply)->n
                              - json_array(d->plan->delete)->n);
        d->plan->generation = json_nullable_clone(d->world.generation);
    }
    return error;
}

static void
patches_destroy(struct shash *patches)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, patches) {
        struct delta_patch *patch = node->data;
        sset_destroy(&patch->add);
        sset_destroy(&patch->remove);
    }
    shash_destroy_free_data(patches);
}

enum dpctl_delta_result
dpctl_delta_create(enum dpctl_verb verb, const struct dpctl_input *input,
                   const struct dpctl_source *source,
                   const struct dpctl_env *env, bool ignore_missing,
                   struct dpctl_plan *plan, char **errorp)
{
    struct delta d = {
        .verb = verb, .input = input, .env = env, .plan = plan,
        .given = SHASH_INITIALIZER(&d.given),
        .pods = SSET_INITIALIZER(&d.pods),
        .candidates = SSET_INITIALIZER(&d.candidates),
        .dirty = SSET_INITIALIZER(&d.dirty),
        .services = SSET_INITIALIZER(&d.services),
        .patches = SHASH_INITIALIZER(&d.patches),
        .outcome = SHASH_INITIALIZER(&d.outcome),
        .gone = SSET_INITIALIZER(&d.gone),
    };
    const struct shash_node *node;

    *errorp = NULL;
    if (!is_handled(&d)) {
        return DPCTL_DELTA_FULL;
    }
    SHASH_FOR_EACH (node, &input->manifests) {
        shash_add(&d.given, node->name, node->data);
    }
    dpctl_plan_init(plan);
    dpctl_world_init(&d.world, source);
    char *error = make_plan(&d, ignore_missing);
    enum dpctl_delta_result result = (d.world.stale ? DPCTL_DELTA_STALE
                                      : d.full ? DPCTL_DELTA_FULL
                                      : DPCTL_DELTA_DONE);

    /* An error in what doesn't fit together is none. */
    if (result != DPCTL_DELTA_DONE) {
        free(error);
        error = NULL;
    }
    if (error || result != DPCTL_DELTA_DONE) {
        dpctl_plan_destroy(plan);
    }
    *errorp = error;

    dpctl_world_destroy(&d.world);
    shash_destroy(&d.given);
    sset_destroy(&d.pods);
    sset_destroy(&d.candidates);
    sset_destroy(&d.dirty);
    sset_destroy(&d.services);
    patches_destroy(&d.patches);
    dpctl_records_destroy(&d.outcome);
    sset_destroy(&d.gone);
    return result;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-keys.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-admin.h"
#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-outside.h"
#include "dpctl-resolve.h"
#include "dpctl-selector.h"
#include "dpctl-surprise.h"
#include "svec.h"
#include "util.h"

enum { MAX_KEYS = 1024 };       /* Of one record: the daemon's limit. */

/* Of a Service by its addresses, which only lead to warnings. */
enum { MAX_ADDRESS_KEYS = 100 };

#define NAME_LABEL "kubernetes.io/metadata.name"

static void OVS_PRINTF_FORMAT(2, 3)
add_key(struct svec *keys, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    svec_add_nocopy(keys, xvasprintf(format, args));
    va_end(args);
}

/* What a selector demands of labels. */

/* Adds the labels "KEY=VALUE" of which whatever matches has at least one;
 * returns false if there are none. */
static bool
needed_labels(const struct json *selector, struct svec *labels)
{
    const struct shash *match = dpctl_json_object(selector, "matchLabels");
    if (!shash_is_empty(match)) {
        const struct shash_node **nodes = shash_sort(match);
        add_key(labels, "%s=%s", nodes[0]->name, json_string(nodes[0]->data));
        free(nodes);
        return true;
    }

    const struct json_array *expressions
        = dpctl_json_array(selector, "matchExpressions");
    for (size_t i = 0; i < expressions->n; i++) {
        const struct json *e = expressions->elems[i];
        if (!strcmp(dpctl_json_str(e, "operator"), "In")) {
            const struct json_array *values = dpctl_json_array(e, "values");
            for (size_t j = 0; j < values->n; j++) {
                add_key(labels, "%s=%s", dpctl_json_str(e, "key"),
                        json_string(values->elems[j]));
            }
            return true;
        }
    }
    return false;
}

/* The namespace to which a selection is bound; "" for none. */
static const char *
bound_to(const struct dpctl_selection *s)
{
    return s->namespaces || !s->own_namespace ? "" : s->own_namespace;
}

static const char *
peers_prefix(bool peers)
{
    return peers ? "p" : "";
}

static void
add_selection_keys(const struct dpctl_selection *s, void *keys_)
{
    struct svec labels = SVEC_EMPTY_INITIALIZER;
    const char *prefix = peers_prefix(s->peers);
    struct svec *keys = keys_;
    size_t i;
    const char *label;

    if (s->account) {
        add_key(keys, "%sa:%s/%s", prefix, s->own_namespace, s->account);
    } else if (needed_labels(s->pods, &labels)) {
        SVEC_FOR_EACH (i, label, &labels) {
            add_key(keys, "%ss:%s:%s", prefix, bound_to(s), label);
        }
    } else if (s->namespaces && needed_labels(s->namespaces, &labels)) {
        SVEC_FOR_EACH (i, label, &labels) {
            add_key(keys, "%st:%s", prefix, label);
        }
    } else {
        add_key(keys, "%ss:%s:*", prefix, bound_to(s));
    }
    svec_destroy(&labels);
}

/* Policies and groups. */

typedef void selection_cb(const struct dpctl_selection *, void *aux);

static void
visit_peer(const struct json *peer, const char *namespace_, bool peers,
           selection_cb *cb, void *aux)
{
    const struct json *account = dpctl_json_member(peer, "serviceAccount");
    struct dpctl_selection s = {
        .own_namespace = namespace_,
        .pods = dpctl_json_member(peer, "podSelector"),
        .namespaces = dpctl_json_member(peer, "namespaceSelector"),
        .peers = peers,
    };

    if (account) {
        const char *given = dpctl_json_str(account, "namespace");

        s.own_namespace = given ? given : namespace_;
        s.account = dpctl_json_str(account, "name");
        cb(&s, aux);
    } else if (!dpctl_json_member(peer, "ipBlock")
               && !dpctl_json_member(peer, "group")
               && !dpctl_json_member(peer, "service")
               && !dpctl_json_member(peer, "fqdn")
               && !dpctl_json_member(peer, "nodeSelector")) {
        cb(&s, aux);
    }
}

/* 'peers': or to whom it applies? */
static void
visit_list(const struct json_array *list, const char *namespace_, bool peers,
           selection_cb *cb, void *aux)
{
    for (size_t i = 0; i < list->n; i++) {
        visit_peer(list->elems[i], namespace_, peers, cb, aux);
    }
}

static bool
has_named_port(const struct json *rule)
{
    const struct json_array *ports = dpctl_json_array(rule, "ports");

    for (size_t i = 0; i < ports->n; i++) {
        if (dpctl_json_str(ports->elems[i], "port")) {
            return true;
        }
    }
    return false;
}

/* The lists of a policy's rules. */
static const char egress_list[] = "spec.egress";
static const char *const rule_lists[] = { "spec.ingress", egress_list };
static const char applied_to_list[] = "appliedTo";
static const char *const peer_lists[] = { "from", "to", applied_to_list };

/* Is there a rule of which 'test' is true? */
static bool
any_rule(const struct json *policy, bool (*test)(const struct json *rule))
{
    for (size_t i = 0; i < ARRAY_SIZE(rule_lists); i++) {
        const struct json_array *rules = dpctl_json_array(policy,
                                                          rule_lists[i]);
        for (size_t j = 0; j < rules->n; j++) {
            if (test(rules->elems[j])) {
                return true;
            }
        }
    }
    return false;
}

static bool
any_rule_of(const struct dpctl_kind *kind, const struct json *policy,
            bool (*test)(const struct json *rule))
{
    if (dpctl_is_admin_policy(kind)) {
        struct json *antreas = dpctl_admin_to_antrea(kind, policy);
        bool any = any_rule(antreas, test);

        json_destroy(antreas);
        return any;
    }
    return any_rule(policy, test);
}

static bool
any_peer(const struct json *rule, const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(peer_lists); i++) {
        const struct json_array *peers = dpctl_json_array(rule,
                                                          peer_lists[i]);
        for (size_t j = 0; j < peers->n; j++) {
            if (dpctl_json_get(peers->elems[j], path)) {
                return true;
            }
        }
    }
    return false;
}

static bool
has_same_labels(const struct json *rule)
{
    return any_peer(rule, "namespaces.sameLabels");
}

static bool
has_nodes(const struct json *rule)
{
    return any_peer(rule, "nodeSelector");
}

bool
dpctl_has_same_labels(const struct json *policy)
{
    return any_rule(policy, has_same_labels);
}

bool
dpctl_has_nodes(const struct dpctl_kind *kind, const struct json *policy)
{
    return any_rule_of(kind, policy, has_nodes);
}

bool
dpctl_is_applied_to_services(const struct json *object)
{
    const struct json_array *list = dpctl_json_array(object, "appliedTo");

    return list->n && dpctl_json_member(list->elems[0], "service");
}

static void
visit_rules(const struct json *policy, const char *namespace_,
            selection_cb *cb, void *aux)
{
    for (size_t i = 0; i < ARRAY_SIZE(rule_lists); i++) {
        const struct json_array *rules = dpctl_json_array(policy,
                                                          rule_lists[i]);
        for (size_t j = 0; j < rules->n; j++) {
            const struct json *rule = rules->elems[j];
            for (size_t k = 0; k < ARRAY_SIZE(peer_lists); k++) {
                visit_list(dpctl_json_array(rule, peer_lists[k]), namespace_,
                           peer_lists[k] != applied_to_list, cb, aux);
            }
            if (rule_lists[i] == egress_list && has_named_port(rule)
                && !dpctl_json_array(rule, "to")->n) {
                /* Everybody's ports may have such a name. */
                struct json *all = json_object_create();
                struct dpctl_selection s = {
                    .namespaces = all, .peers = true,
                };
                cb(&s, aux);
                json_destroy(all);
            }
        }
    }
}

void
dpctl_each_selection(const struct dpctl_kind *kind,
                     const struct json *object, selection_cb *cb, void *aux)
{
    const struct json *spec = dpctl_json_member(object, "spec");
    const char *namespace_ = dpctl_json_str(object, "metadata.namespace");

    if (kind->id == DPCTL_K8S_NP) {
        struct dpctl_selection s = {
            .own_namespace = namespace_,
            .pods = dpctl_json_member(spec, "podSelector"),
        };
        cb(&s, aux);
        visit_rules(object, namespace_, cb, aux);
    } else if (kind->id == DPCTL_ACNP || kind->id == DPCTL_ANNP) {
        visit_list(dpctl_json_array(spec, "appliedTo"), namespace_, false,
                   cb, aux);
        visit_rules(object, namespace_, cb, aux);
    } else if (dpctl_is_admin_policy(kind)) {
        struct json *antreas = dpctl_admin_to_antrea(kind, object);

        dpctl_each_selection(&dpctl_kinds[DPCTL_ACNP], antreas, cb, aux);
        json_destroy(antreas);
    } else if (kind->id == DPCTL_SERVICE) {
        const struct json *selector = dpctl_json_member(spec, "selector");

        if (selector && !shash_is_empty(json_object(selector))) {
            struct json *pods = json_object_create();
            struct dpctl_selection s = {
                .own_namespace = namespace_, .pods = pods
            };
            json_object_put(pods, "matchLabels", json_clone(selector));
            cb(&s, aux);
            json_destroy(pods);
        }
    } else if (kind->id == DPCTL_CLUSTER_GROUP || kind->id == DPCTL_GROUP) {
        struct dpctl_selection s = {
            .own_namespace = namespace_,
            .pods = dpctl_json_member(spec, "podSelector"),
            .namespaces = dpctl_json_member(spec, "namespaceSelector"),
        };
        if (s.pods || s.namespaces) {
            cb(&s, aux);
        }
    } else if (kind->id == DPCTL_EGRESS
               || kind->id == DPCTL_TRAFFIC_CONTROL) {
        const struct json *applied_to = dpctl_json_member(spec, "appliedTo");
        struct dpctl_selection s = {
            .pods = dpctl_json_member(applied_to, "podSelector"),
            .namespaces = dpctl_json_member(applied_to, "namespaceSelector"),
        };
        if (s.pods || s.namespaces) {
            cb(&s, aux);
        }
    }
}

static void
add_ref(const char *namespace_, const char *name, struct svec *refs)
{
    const struct dpctl_kind *kind
        = &dpctl_kinds[namespace_ ? DPCTL_GROUP : DPCTL_CLUSTER_GROUP];

    svec_add_nocopy(refs, dpctl_manifest_name(kind, namespace_, name));
}

static void
add_peer_refs(const struct json_array *peers, const char *namespace_,
              struct svec *refs)
{
    for (size_t i = 0; i < peers->n; i++) {
        const char *group = dpctl_json_str(peers->elems[i], "group");
        if (group) {
            add_ref(namespace_, group, refs);
        }
    }
}

void
dpctl_group_refs(const struct dpctl_kind *kind, const struct json *object,
                 struct svec *refs)
{
    const char *namespace_ = dpctl_json_str(object, "metadata.namespace");

    if (kind->id == DPCTL_CLUSTER_GROUP || kind->id == DPCTL_GROUP) {
        const struct json_array *children
            = dpctl_json_array(object, "spec.childGroups");
        for (size_t i = 0; i < children->n; i++) {
            add_ref(namespace_, json_string(children->elems[i]), refs);
        }
        const struct json *service = dpctl_json_get(object,
                                                    "spec.serviceReference");
        if (service) {
            const char *given = dpctl_json_str(service, "namespace");

            svec_add_nocopy(refs, dpctl_manifest_name(
                                &dpctl_kinds[DPCTL_SERVICE],
                                given ? given : namespace_,
                                dpctl_json_str(service, "name")));
        }
    } else if (kind->id == DPCTL_EGRESS
               || kind->id == DPCTL_TRAFFIC_CONTROL) {
        const struct json_array *groups
            = dpctl_json_array(object, "spec.appliedTo.groups");
        for (size_t i = 0; i < groups->n; i++) {
            add_ref(NULL, json_string(groups->elems[i]), refs);
        }
    } else if (kind->id == DPCTL_ACNP || kind->id == DPCTL_ANNP) {
        add_peer_refs(dpctl_json_array(object, "spec.appliedTo"), namespace_,
                      refs);
        for (size_t i = 0; i < ARRAY_SIZE(rule_lists); i++) {
            const struct json_array *rules = dpctl_json_array(object,
                                                              rule_lists[i]);
            for (size_t j = 0; j < rules->n; j++) {
                for (size_t k = 0; k < ARRAY_SIZE(peer_lists); k++) {
                    add_peer_refs(dpctl_json_array(rules->elems[j],
                                                   peer_lists[k]),
                                  namespace_, refs);
                }
            }
        }
    }
}

char *
dpctl_ref_key(const char *manifest_name)
{
    const struct dpctl_kind *kind = dpctl_manifest_kind(manifest_name);

    return xasprintf("r:%s%s", kind->kind, strchr(manifest_name, '/'));
}

static void
add_policy_keys(const struct dpctl_kind *kind, const struct json *object,
                struct svec *keys)
{
    struct svec refs = SVEC_EMPTY_INITIALIZER;
    char *rank = dpctl_policy_rank(kind, object);
    const char *ref;
    size_t i;

    dpctl_each_selection(kind, object, add_selection_keys, keys);
    dpctl_group_refs(kind, object, &refs);
    SVEC_FOR_EACH (i, ref, &refs) {
        svec_add_nocopy(keys, dpctl_ref_key(ref));
    }
    if (rank) {
        add_key(keys, "q:%s", rank);
    }
    svec_destroy(&refs);
    free(rank);
}

/* Other kinds. */

static void
add_address_key(struct svec *keys, const char *prefix, const char *given)
{
    char *ip = dpctl_address_text(given);

    if (ip) {
        add_key(keys, "%s:%s", prefix, ip);
        free(ip);
    }
}

static void
add_pod_keys(const struct json *pod, struct svec *keys)
{
    const struct json_array *ips = dpctl_json_array(pod, "status.podIPs");
    const char *ip = dpctl_json_str(pod, "status.podIP");
    const struct shash_node *node;

    add_key(keys, "ns:%s", dpctl_json_str(pod, "metadata.namespace"));
    add_key(keys, "sa:%s/%s", dpctl_json_str(pod, "metadata.namespace"),
            dpctl_service_account(pod));
    SHASH_FOR_EACH (node, dpctl_json_object(pod, "metadata.labels")) {
        add_key(keys, "l:%s=%s", node->name, json_string(node->data));
    }
    add_address_key(keys, "ip", ip);
    for (size_t i = 0; i < ips->n; i++) {
        add_address_key(keys, "ip", dpctl_json_str(ips->elems[i], "ip"));
    }
}

static void
add_service_keys(const struct json *service, struct svec *keys)
{
    const struct shash *selector = dpctl_json_object(service,
                                                     "spec.selector");
    if (!shash_is_empty(selector)) {
        const struct shash_node **nodes = shash_sort(selector);
        add_key(keys, "v:%s:%s=%s",
                dpctl_json_str(service, "metadata.namespace"),
                nodes[0]->name, json_string(nodes[0]->data));
        free(nodes);
    }

    struct svec ips = SVEC_EMPTY_INITIALIZER;
    const char *ip;
    size_t i;

    dpctl_outside_addresses(service, &ips);
    SVEC_FOR_EACH (i, ip, &ips) {
        if (i < MAX_ADDRESS_KEYS) {
            add_key(keys, "at:%s", ip);
        }
    }
    svec_destroy(&ips);
}

char *
dpctl_slice_service(const struct json *slice)
{
    const struct json *service
        = dpctl_json_member(dpctl_json_get(slice, "metadata.labels"),
                            "kubernetes.io/service-name");

    return service ? xasprintf("%s/%s",
                               dpctl_json_str(slice, "metadata.namespace"),
                               json_string(service)) : NULL;
}

static void
add_slice_keys(const struct json *slice, struct svec *keys)
{
    const struct json_array *endpoints = dpctl_json_array(slice, "endpoints");
    char *service = dpctl_slice_service(slice);

    if (service) {
        add_key(keys, "svc:%s", service);
        free(service);
    }
    for (size_t i = 0; i < endpoints->n; i++) {
        const struct json *e = endpoints->elems[i];
        const struct json_array *addresses = dpctl_json_array(e, "addresses");
        if (!dpctl_json_str(e, "nodeName") && addresses->n) {
            add_address_key(keys, "e", json_string(addresses->elems[0]));
        }
    }
}

static void
add_endpoints_keys(const struct json *object, struct svec *keys)
{
    const struct json_array *subsets = dpctl_json_array(object, "subsets");

    for (size_t i = 0; i < subsets->n; i++) {
        const struct json_array *addresses
            = dpctl_json_array(subsets->elems[i], "addresses");
        for (size_t j = 0; j < addresses->n; j++) {
            if (!dpctl_json_str(addresses->elems[j], "nodeName")) {
                add_address_key(keys, "e",
                                dpctl_json_str(addresses->elems[j], "ip"));
            }
        }
    }
}

void
dpctl_keys_collect(const struct dpctl_kind *kind, const struct json *object,
                   struct svec *keys)
{
    switch (kind->id) {
    case DPCTL_NAMESPACE:
        add_key(keys, "kind:Namespace");
        break;
    case DPCTL_NODE:
        add_key(keys, "kind:Node");
        break;
    case DPCTL_POD:
        add_pod_keys(object, keys);
        break;
    case DPCTL_SERVICE:
        add_service_keys(object, keys);
        break;
    case DPCTL_ENDPOINT_SLICE:
        add_slice_keys(object, keys);
        break;
    case DPCTL_ENDPOINTS:
        add_endpoints_keys(object, keys);
        break;
    case DPCTL_K8S_NP:
    case DPCTL_ACNP:
    case DPCTL_ANNP:
    case DPCTL_ADMIN_NP:
    case DPCTL_BASELINE_ADMIN_NP:
    case DPCTL_CLUSTER_GROUP:
    case DPCTL_GROUP:
    case DPCTL_EGRESS:
    case DPCTL_TRAFFIC_CONTROL:
        add_policy_keys(kind, object, keys);
        break;
    case DPCTL_CP_NP: {
        char *rank = dpctl_policy_rank(kind, object);
        char *name = dpctl_policy_record_name(kind, object);
        add_key(keys, "cp:%s", name);
        if (rank) {
            add_key(keys, "q:%s", rank);
        }
        free(name);
        free(rank);
        break;
    }
    case DPCTL_TIER:
    case DPCTL_CP_ADDRESS_GROUP:
    case DPCTL_CP_APPLIED_TO_GROUP:
    case DPCTL_N_KINDS:
        break;
    }
    svec_sort_unique(keys);
}

struct json *
dpctl_keys_of(const struct dpctl_kind *kind, const struct json *object)
{
    struct svec keys = SVEC_EMPTY_INITIALIZER;

    dpctl_keys_collect(kind, object, &keys);
    if (keys.n > MAX_KEYS) {
        svec_clear(&keys);
        svec_add(&keys, DPCTL_KEY_ANY);
    }

    struct json *json = json_array_create_empty();
    for (size_t i = 0; i < keys.n; i++) {
        json_array_add(json, json_string_create(keys.names[i]));
    }
    svec_destroy(&keys);
    return json;
}

/* Queries. */

void
dpctl_keys_add(struct json *query, const char *key)
{
    json_array_add(query, json_array_create_1(json_string_create(key)));
}

static void OVS_PRINTF_FORMAT(2, 3)
query_format(struct json *query, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *key = xvasprintf(format, args);
    va_end(args);
    dpctl_keys_add(query, key);
    free(key);
}

void
dpctl_keys_selecting(struct json *query, const struct json *pod,
                     const struct shash *namespace_labels, bool peers)
{
    const char *prefix = peers_prefix(peers);
    const char *namespace_ = dpctl_json_str(pod, "metadata.namespace");
    const struct shash *labels = dpctl_json_object(pod, "metadata.labels");
    const struct shash_node *node;

    SHASH_FOR_EACH (node, labels) {
        const char *value = json_string(node->data);
        query_format(query, "%ss:%s:%s=%s", prefix, namespace_, node->name,
                     value);
        query_format(query, "%ss::%s=%s", prefix, node->name, value);
    }
    query_format(query, "%sa:%s/%s", prefix, namespace_,
                 dpctl_service_account(pod));
    query_format(query, "%ss:%s:*", prefix, namespace_);
    query_format(query, "%ss::*", prefix);
    SHASH_FOR_EACH (node, namespace_labels) {
        query_format(query, "%st:%s=%s", prefix, node->name,
                     json_string(node->data));
    }
    if (!shash_find(namespace_labels, NAME_LABEL)) {
        query_format(query, "%st:%s=%s", prefix, NAME_LABEL, namespace_);
    }
}

void
dpctl_keys_services(struct json *query, const char *namespace_,
                    const struct shash *labels)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, labels) {
        query_format(query, "v:%s:%s=%s", namespace_, node->name,
                     json_string(node->data));
    }
}

/* Those in Namespaces that match. */
static bool
query_namespaces(struct json *query, const struct json *selector,
                 const struct shash *namespaces)
{
    /* One that nobody has told of has its name as a label, and no other. */
    struct json *unknown = json_object_create();
    json_object_put_string(unknown, NAME_LABEL, "?");
    bool any = dpctl_selector_matches(selector, json_object(unknown));
    json_destroy(unknown);
    if (any) {
        return false;
    }

    /* It may be selected by that label, without being known. */
    struct svec labels = SVEC_EMPTY_INITIALIZER;
    if (needed_labels(selector, &labels)) {
        for (size_t i = 0; i < labels.n; i++) {
            if (!strncmp(labels.names[i], NAME_LABEL "=",
                         strlen(NAME_LABEL "="))) {
                query_format(query, "ns:%s",
                             labels.names[i] + strlen(NAME_LABEL "="));
            }
        }
    }
    svec_destroy(&labels);

    const struct shash_node *node;
    SHASH_FOR_EACH (node, namespaces) {
        const struct json *object = node->data;
        const char *name = dpctl_json_str(object, "metadata.name");
        const struct shash *own = dpctl_json_object(object,
                                                    "metadata.labels");
        struct json *all = json_object_create();
        const struct shash_node *label;

        json_object_put_string(all, NAME_LABEL, name);
        SHASH_FOR_EACH (label, own) {
            json_object_put(all, label->name, json_clone(label->data));
        }
        if (dpctl_selector_matches(selector, json_object(all))) {
            query_format(query, "ns:%s", name);
        }
        json_destroy(all);
    }
    return true;
}

bool
dpctl_keys_selected(struct json *query, const struct dpctl_selection *s,
                    const struct shash *namespaces)
{
    struct svec labels = SVEC_EMPTY_INITIALIZER;
    const char *bound = bound_to(s);
    bool ok = true;

    if (s->account) {
        query_format(query, "sa:%s/%s", s->own_namespace, s->account);
    } else if (needed_labels(s->pods, &labels)) {
        for (size_t i = 0; i < labels.n; i++) {
            struct json *list = json_array_create_empty();
            json_array_add(list, json_string_create_nocopy(
                               xasprintf("l:%s", labels.names[i])));
            if (bound[0]) {
                json_array_add(list, json_string_create_nocopy(
                                   xasprintf("ns:%s", bound)));
            }
            json_array_add(query, list);
        }
    } else if (bound[0]) {
        query_format(query, "ns:%s", bound);
    } else {
        ok = s->namespaces && query_namespaces(query, s->namespaces,
                                               namespaces);
    }
    svec_destroy(&labels);
    return ok;
}

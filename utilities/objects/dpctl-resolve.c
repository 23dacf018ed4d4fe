/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-resolve-private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "dpctl-selector.h"
#include "sha1.h"
#include "util.h"

/* Ports. */

void
dpctl_ports_init(struct dpctl_ports *ports)
{
    ports->available = false;
    ports->why = NULL;
    ports->annotated = false;
    ports->all = NULL;
    shash_init(&ports->by_pod);
    shash_init(&ports->interface_macs);
}

void
dpctl_ports_destroy(struct dpctl_ports *ports)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &ports->by_pod) {
        struct dpctl_port *port = node->data;
        free(port->name);
        free(port->mac);
        free(port->ips);
    }
    shash_destroy_free_data(&ports->by_pod);
    shash_destroy_free_data(&ports->interface_macs);
    free(ports->why);
}

void
dpctl_ports_add(struct dpctl_ports *ports, const char *pod,
                const struct dpctl_port *port)
{
    struct dpctl_port *copy = xmalloc(sizeof *copy);

    *copy = (struct dpctl_port) {
        xstrdup(port->name), nullable_xstrdup(port->mac),
        nullable_xstrdup(port->ips),
    };
    shash_add(&ports->by_pod, pod, copy);
}

void
dpctl_ports_add_record(struct dpctl_ports *ports, const struct json *pod)
{
    const struct json_array *array = dpctl_json_array(pod, "ips");
    struct dpctl_port *port = xmalloc(sizeof *port);
    struct svec ips = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < array->n; i++) {
        if (array->elems[i]->type == JSON_STRING) {
            svec_add(&ips, json_string(array->elems[i]));
        }
    }
    *port = (struct dpctl_port) {
        nullable_xstrdup(dpctl_json_str(pod, "port")),
        nullable_xstrdup(dpctl_json_str(pod, "mac")),
        svec_join(&ips, ",", ""),
    };
    shash_add(&ports->by_pod, dpctl_json_str(pod, "name"), port);
    svec_destroy(&ips);
}

/* Helpers. */

struct json *
resolver_record(const char *kind, const char *name)
{
    struct json *record = json_object_create();

    json_object_put_string(record, "kind", kind);
    json_object_put_string(record, "name", name);
    return record;
}

void
resolver_put(struct resolver *r, struct json *record)
{
    json_destroy(shash_replace_nocopy(r->records,
                                      dpctl_record_key_of(record), record));
}

char *
resolver_refuse(struct resolver *r, const char *manifest, char *error)
{
    if (!error || !r->env->refused) {
        return error;
    }
    if (!shash_add_once(r->env->refused, manifest, error)) {
        free(error);
    }
    return NULL;
}

const struct shash_node **
resolver_sorted(const struct resolver *r, enum dpctl_kind_id id, size_t *n)
{
    *n = shash_count(&r->objects[id]);
    return shash_sort(&r->objects[id]);
}

struct json *
resolver_strings(const struct svec *svec)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < svec->n; i++) {
        json_array_add(array, json_string_create(svec->names[i]));
    }
    return array;
}

static int
compare_addresses(const void *a_, const void *b_)
{
    const char *a = *(const char *const *) a_;
    const char *b = *(const char *const *) b_;
    enum dpctl_family x_family = dpctl_family_of(a);
    enum dpctl_family y_family = dpctl_family_of(b);
    struct in6_addr x, y;

    if (x_family != y_family) {
        return x_family == DPCTL_IPV4 ? -1 : 1;
    } else if (dpctl_address_parse(a, &x) && dpctl_address_parse(b, &y)) {
        return memcmp(&x, &y, sizeof x);
    }
    return strcmp(a, b);
}

void
resolver_sort_addresses(struct svec *addresses)
{
    svec_sort_unique(addresses);
    if (addresses->n) {
        qsort(addresses->names, addresses->n, sizeof *addresses->names,
              compare_addresses);
    }
}

int
resolver_named_port(const struct resolved_pod *pod, const char *name,
                    const char *protocol)
{
    const struct json_array *containers
        = dpctl_json_array(pod->object, "spec.containers");

    for (size_t i = 0; i < containers->n; i++) {
        const struct json_array *ports
            = dpctl_json_array(containers->elems[i], "ports");
        for (size_t j = 0; j < ports->n; j++) {
            const struct json *port = ports->elems[j];
            const char *port_name = dpctl_json_str(port, "name");
            const char *port_protocol = dpctl_json_str(port, "protocol");

            if (port_name && !strcmp(port_name, name)
                && !strcmp(port_protocol ? port_protocol : "TCP", protocol)) {
                return dpctl_json_int(port, "containerPort", 0);
            }
        }
    }
    return 0;
}

void
resolver_note_looks(const struct resolver *r, size_t n)
{
    if (r->env->n_looks) {
        *r->env->n_looks += n;
    }
}

const struct pod_space *
resolver_space(const struct resolver *r, const char *namespace_)
{
    static const struct pod_space none = { .n = 0 };
    const struct pod_space *space = shash_find_data(&r->space_index,
                                                    namespace_);

    return space ? space : &none;
}

/* Groups of Pods. */

/* A name that isn't too long to read: the text itself, or its beginning and
 * the hash of all of it. */
static char *
group_name(char *text)
{
    enum { MAX_LEN = 200 };
    uint8_t digest[SHA1_DIGEST_SIZE];
    char hex[SHA1_HEX_DIGEST_LEN + 1];

    if (strlen(text) <= MAX_LEN) {
        return text;
    }
    sha1_bytes(text, strlen(text), digest);
    sha1_to_hex(digest, hex);
    char *name = xasprintf("%.*s~%.16s", MAX_LEN - 17, text, hex);
    free(text);
    return name;
}

static const struct shash *
namespace_labels(struct resolver *r, const char *namespace_)
{
    char *name = dpctl_manifest_name(&dpctl_kinds[DPCTL_NAMESPACE], NULL,
                                     namespace_);
    const struct json *object
        = shash_find_data(&r->objects[DPCTL_NAMESPACE], name);

    free(name);
    return dpctl_json_object(object, "metadata.labels");
}

#define LOGGING_ANNOTATION "networkpolicy.antrea.io/enable-logging"

bool
dpctl_namespace_logs(const struct json *namespace_)
{
    const struct json *value
        = shash_find_data(dpctl_json_object(namespace_,
                                            "metadata.annotations"),
                          LOGGING_ANNOTATION);

    return value && !strcasecmp(json_string(value), "true");
}

bool
resolver_namespace_logs(const struct resolver *r, const struct json *object)
{
    char *name = dpctl_manifest_name(
        &dpctl_kinds[DPCTL_NAMESPACE], NULL,
        dpctl_json_str(object, "metadata.namespace"));
    const struct json *namespace_
        = shash_find_data(&r->objects[DPCTL_NAMESPACE], name);

    free(name);
    return dpctl_namespace_logs(namespace_);
}

#define NAME_LABEL "kubernetes.io/metadata.name"

struct json *
resolver_namespace_labels(struct resolver *r, const char *namespace_)
{
    struct json *labels = json_object_create();
    const struct shash_node *node;

    json_object_put_string(labels, NAME_LABEL, namespace_);
    SHASH_FOR_EACH (node, namespace_labels(r, namespace_)) {
        json_object_put(labels, node->name, json_clone(node->data));
    }
    return labels;
}

/* Every Namespace bears its own name as a label. */
static bool
namespace_matches(struct resolver *r, const struct json *selector,
                  const char *namespace_)
{
    const struct shash *given = namespace_labels(r, namespace_);
    if (shash_find(given, NAME_LABEL)) {
        return dpctl_selector_matches(selector, given);
    }

    struct json *labels = resolver_namespace_labels(r, namespace_);
    bool matches = dpctl_selector_matches(selector, json_object(labels));
    json_destroy(labels);
    return matches;
}

/* Takes 'name'. */
static struct pod_group *
group_create(struct resolver *r, char *name)
{
    struct pod_group *group = xzalloc(sizeof *group);

    group->name = name;
    svec_init(&group->addresses);
    shash_add_assert(&r->groups, name, group);
    return group;
}

static void
group_add_pod(struct pod_group *group, const struct resolved_pod *pod)
{
    if (group->n_pods >= group->allocated_pods) {
        group->pods = x2nrealloc(group->pods, &group->allocated_pods,
                                 sizeof *group->pods);
    }
    group->pods[group->n_pods++] = pod;
    group->n_local += pod->local;
}

/* Is the Pod one that has addresses of its own now? */
static bool
may_be_in_group(const struct resolved_pod *pod)
{
    return !pod->host_network && !pod->ended && pod->ips.n;
}

static void
group_add_selected(const struct resolver *r, struct pod_group *group,
                   const struct pod_space *space,
                   const struct json *pod_selector)
{
    resolver_note_looks(r, space->n);
    for (size_t i = 0; i < space->n; i++) {
        const struct resolved_pod *pod = &space->pods[i];

        if (may_be_in_group(pod)
            && dpctl_selector_matches(pod_selector, pod->labels)) {
            group_add_pod(group, pod);
        }
    }
}

struct pod_group *
resolver_group(struct resolver *r, const char *own_namespace,
               const struct json *pod_selector,
               const struct json *namespace_selector)
{
    char *pods_text = dpctl_selector_text(pod_selector);
    char *ns_text = NULL;
    if (namespace_selector) {
        char *text = dpctl_selector_text(namespace_selector);
        ns_text = strcmp(text, "*") ? xasprintf("{%s}", text) : xstrdup("*");
        free(text);
    }
    char *name = group_name(xasprintf("%s/%s",
                                      (ns_text ? ns_text
                                       : own_namespace ? own_namespace : "*"),
                                      pods_text));
    free(ns_text);
    free(pods_text);

    struct pod_group *group = shash_find_data(&r->groups, name);
    if (group) {
        free(name);
        return group;
    }

    group = group_create(r, name);
    if (own_namespace && !namespace_selector) {
        group_add_selected(r, group, resolver_space(r, own_namespace),
                           pod_selector);
        return group;
    }
    for (size_t i = 0; i < r->n_spaces; i++) {
        const struct pod_space *space = &r->spaces[i];

        if (!namespace_selector
            || namespace_matches(r, namespace_selector, space->name)) {
            group_add_selected(r, group, space, pod_selector);
        }
    }
    return group;
}

struct pod_group *
resolver_subgroup(struct resolver *r, const char *base, const char *what,
                  const struct resolved_pod **pods, size_t n)
{
    char *name = group_name(xasprintf("%s (%s)", base, what));
    struct pod_group *group = shash_find_data(&r->groups, name);

    if (group) {
        free(name);
        return group;
    }
    group = group_create(r, name);
    for (size_t i = 0; i < n; i++) {
        group_add_pod(group, pods[i]);
    }
    return group;
}

struct pod_group *
resolver_account_group(struct resolver *r, const char *namespace_,
                       const char *account)
{
    char *name = group_name(xasprintf("%s/(serviceAccount %s)", namespace_,
                                      account));
    struct pod_group *group = shash_find_data(&r->groups, name);

    if (group) {
        free(name);
        return group;
    }
    group = group_create(r, name);
    const struct pod_space *space = resolver_space(r, namespace_);
    resolver_note_looks(r, space->n);
    for (size_t i = 0; i < space->n; i++) {
        const struct resolved_pod *pod = &space->pods[i];

        if (may_be_in_group(pod)
            && !strcmp(dpctl_service_account(pod->object), account)) {
            group_add_pod(group, pod);
        }
    }
    return group;
}

struct pod_group *
resolver_node_group(struct resolver *r, const struct json *node_selector)
{
    char *text = dpctl_selector_text(node_selector);
    char *name = group_name(xasprintf("nodes/{%s}", text));
    struct pod_group *group = shash_find_data(&r->groups, name);

    free(text);
    if (group) {
        free(name);
        return group;
    }

    const struct shash_node *node;
    group = group_create(r, name);
    SHASH_FOR_EACH (node, &r->objects[DPCTL_NODE]) {
        if (dpctl_selector_matches(node_selector,
                                   dpctl_json_object(node->data,
                                                     "metadata.labels"))) {
            resolver_node_addresses(node->data, &group->addresses);
        }
    }
    return group;
}

static void
groups_destroy(struct resolver *r)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &r->groups) {
        struct pod_group *group = node->data;
        svec_destroy(&group->addresses);
        free(group->name);
        free(group->pods);
    }
    shash_destroy_free_data(&r->groups);
}

static bool
has_record(const struct resolver *r, const char *kind, const char *name)
{
    char *key = dpctl_record_key(kind, name);
    bool found = shash_find(r->records, key) != NULL;

    free(key);
    return found;
}

const char *
resolver_address_group(struct resolver *r, const struct pod_group *group)
{
    if (!has_record(r, "AddressGroup", group->name)) {
        struct svec addresses = SVEC_EMPTY_INITIALIZER;
        for (size_t i = 0; i < group->n_pods; i++) {
            svec_append(&addresses, &group->pods[i]->ips);
        }
        svec_append(&addresses, &group->addresses);
        resolver_sort_addresses(&addresses);

        struct json *record = resolver_record("AddressGroup", group->name);
        json_object_put(record, "addresses", resolver_strings(&addresses));
        resolver_put(r, record);
        svec_destroy(&addresses);
    }
    return group->name;
}

const char *
resolver_applied_to_group(struct resolver *r, const struct pod_group *group)
{
    if (!has_record(r, "AppliedToGroup", group->name)) {
        struct svec pods = SVEC_EMPTY_INITIALIZER;
        for (size_t i = 0; i < group->n_pods; i++) {
            if (group->pods[i]->local) {
                svec_add(&pods, group->pods[i]->name);
            }
        }
        struct json *record = resolver_record("AppliedToGroup", group->name);
        json_object_put(record, "pods", resolver_strings(&pods));
        resolver_put(r, record);
        svec_destroy(&pods);
    }
    return group->name;
}

/* The whole. */

static void
sort_by_kind(struct resolver *r, const struct shash *manifests)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, manifests) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);
        if (kind) {
            shash_add(&r->objects[kind->id], node->name, node->data);
        }
    }
}

static void
resolver_uninit(struct resolver *r)
{
    for (size_t i = 0; i < r->n_pods; i++) {
        free(r->pods[i].name);
        svec_destroy(&r->pods[i].ips);
    }
    free(r->pods);
    shash_destroy(&r->pod_index);
    shash_destroy(&r->space_index);
    free(r->spaces);
    sset_destroy(&r->local_ips);
    groups_destroy(r);
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        shash_destroy(&r->objects[i]);
    }
}

char *
dpctl_resolve(const struct shash *manifests, const struct dpctl_env *env,
              struct shash *records)
{
    static const struct {
        char *(*resolve)(struct resolver *);
        unsigned int part;      /* 0: all need it. */
    } parts[] = {
        { resolve_node_name, 0 },
        { resolve_pods, 0 },
        { resolve_nodes, DPCTL_PARTS_NODES },
        { resolve_pod_records, DPCTL_PARTS_PODS },
        { resolve_services, DPCTL_PARTS_SERVICES },
        { resolve_policies, DPCTL_PARTS_POLICIES },
        { resolve_applied, DPCTL_PARTS_POLICIES },
        { resolve_controlplane, DPCTL_PARTS_CONTROLPLANE },
    };
    unsigned int wanted = env->parts ? env->parts : UINT_MAX;
    struct resolver r = { .env = env, .records = records };
    char *error = NULL;

    shash_init(&r.pod_index);
    shash_init(&r.space_index);
    sset_init(&r.local_ips);
    shash_init(&r.groups);
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        shash_init(&r.objects[i]);
    }
    sort_by_kind(&r, manifests);
    for (size_t i = 0; i < ARRAY_SIZE(parts) && !error; i++) {
        if (!parts[i].part || parts[i].part & wanted) {
            error = parts[i].resolve(&r);
        }
        if (error && env->keys_only) {
            free(error);
            error = NULL;
        }
    }
    resolver_uninit(&r);
    return error;
}

void
dpctl_records_destroy(struct shash *records)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, records) {
        json_destroy(node->data);
    }
    shash_destroy(records);
}

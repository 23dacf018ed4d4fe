/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-resolve-peers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-selector.h"
#include "openvswitch/dynamic-string.h"
#include "sset.h"
#include "util.h"

enum { MAX_GROUP_DEPTH = 8 };

void
dpctl_groups_add(struct dpctl_groups *list, struct pod_group *group)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->groups[i] == group) {
            return;
        }
    }
    if (list->n >= list->allocated) {
        list->groups = x2nrealloc(list->groups, &list->allocated,
                                  sizeof *list->groups);
    }
    list->groups[list->n++] = group;
}

size_t
dpctl_groups_n_local(const struct dpctl_groups *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        n += list->groups[i]->n_local;
    }
    return n;
}

struct json *
dpctl_groups_names(struct resolver *r, const struct dpctl_groups *list,
                 const char *(*make)(struct resolver *,
                                     const struct pod_group *))
{
    struct json *names = json_array_create_empty();

    for (size_t i = 0; i < list->n; i++) {
        json_array_add(names, json_string_create(make(r, list->groups[i])));
    }
    return names;
}

/* Peers and applied-to. */

static struct json *
network_to_json(const char *cidr)
{
    return json_string_create_nocopy(dpctl_network_text(cidr));
}

static void
add_block(struct dpctl_peers *peers, const struct json *block)
{
    const struct json_array *excepts = dpctl_json_array(block, "except");
    struct json *json = json_object_create();

    json_object_put(json, "cidr",
                    network_to_json(dpctl_json_str(block, "cidr")));
    if (excepts->n) {
        struct json *array = json_array_create_empty();

        for (size_t i = 0; i < excepts->n; i++) {
            json_array_add(array,
                           network_to_json(json_string(excepts->elems[i])));
        }
        json_object_put(json, "except", array);
    }
    json_array_add(peers->blocks, json);
}

/* The namespace that 'named', which has a name, is in. */
static const char *
namespace_of(const struct dpctl_policy *p, const struct json *named)
{
    const char *namespace_ = dpctl_json_str(named, "namespace");

    return namespace_ ? namespace_ : p->namespace_;
}

/* Adds the Pods that the Service selects, if there is such a Service. */
static void
add_service_pods(struct resolver *r, const struct dpctl_policy *p,
                 const struct json *reference, struct dpctl_peers *peers)
{
    const char *namespace_ = namespace_of(p, reference);
    char *manifest = dpctl_manifest_name(&dpctl_kinds[DPCTL_SERVICE],
                                         namespace_,
                                         dpctl_json_str(reference, "name"));
    const struct json *service = shash_find_data(&r->objects[DPCTL_SERVICE],
                                                 manifest);
    const struct json *selector = dpctl_json_get(service, "spec.selector");

    if (selector && !shash_is_empty(json_object(selector))) {
        struct json *pods = json_object_create();

        json_object_put(pods, "matchLabels", json_clone(selector));
        dpctl_groups_add(&peers->groups, resolver_group(r, namespace_, pods,
                                                      NULL));
        json_destroy(pods);
    }
    free(manifest);
}

/* Adds what the (Cluster)Group 'name' stands for, unless it was 'seen'.  As
 * with Antrea that is nobody while there is no such group. */
static char *
add_named_group(struct resolver *r, const struct dpctl_policy *p,
                const char *field, const char *name,
                struct dpctl_peers *peers, struct sset *seen, int depth)
{
    const struct dpctl_kind *kind
        = &dpctl_kinds[p->namespace_ ? DPCTL_GROUP : DPCTL_CLUSTER_GROUP];
    char *manifest = dpctl_manifest_name(kind, p->namespace_, name);
    const struct json *object = shash_find_data(&r->objects[kind->id],
                                                manifest);
    free(manifest);
    if (!object || !sset_add(seen, name)) {
        return NULL;
    } else if (depth > MAX_GROUP_DEPTH) {
        return xasprintf("%s: %s: %s %s is nested too deep", p->title, field,
                         kind->kind, name);
    }

    const struct json *spec = dpctl_json_member(object, "spec");
    const struct json *pods = dpctl_json_member(spec, "podSelector");
    const struct json *namespaces = dpctl_json_member(spec,
                                                      "namespaceSelector");
    if (namespaces && peers->of_own_namespace) {
        return xasprintf("%s: %s: %s %s has a namespaceSelector: a "
                         "NetworkPolicy applies to its own Namespace",
                         p->title, field, kind->kind, name);
    }
    if (pods || namespaces) {
        dpctl_groups_add(&peers->groups, resolver_group(r, p->namespace_, pods,
                                                      namespaces));
    }
    if (dpctl_json_member(spec, "ipBlock")) {
        add_block(peers, dpctl_json_member(spec, "ipBlock"));
    }
    const struct json_array *blocks = dpctl_json_array(spec, "ipBlocks");
    for (size_t i = 0; i < blocks->n; i++) {
        add_block(peers, blocks->elems[i]);
    }
    if (dpctl_json_member(spec, "serviceReference")) {
        add_service_pods(r, p, dpctl_json_member(spec, "serviceReference"),
                         peers);
    }
    const struct json_array *children = dpctl_json_array(spec, "childGroups");
    for (size_t i = 0; i < children->n; i++) {
        char *error = add_named_group(r, p, field, children->elems[i]->string,
                                      peers, seen, depth + 1);
        if (error) {
            return error;
        }
    }
    return NULL;
}

void
dpctl_add_fqdn(struct json **names, const char *fqdn)
{
    /* A final dot says that it is one; names in answers have none. */
    size_t len = strlen(fqdn);
    char *name = xmemdup0(fqdn, len > 1 && fqdn[len - 1] == '.' ? len - 1
                          : len);

    for (char *c = name; *c; c++) {
        *c = tolower((unsigned char) *c);
    }
    if (!*names) {
        *names = json_array_create_empty();
    }
    for (size_t i = 0; i < (*names)->array.n; i++) {
        if (!strcmp(json_string((*names)->array.elems[i]), name)) {
            free(name);
            return;
        }
    }
    json_array_add(*names, json_string_create_nocopy(name));
}

static char *
add_peer(struct resolver *r, const struct dpctl_policy *p, const char *field,
         const struct json *peer, struct dpctl_peers *peers,
         struct sset *seen)
{
    const struct json *block = dpctl_json_member(peer, "ipBlock");
    const char *group = dpctl_json_str(peer, "group");
    const struct json *account = dpctl_json_member(peer, "serviceAccount");
    const struct json *nodes = dpctl_json_member(peer, "nodeSelector");

    const char *fqdn = dpctl_json_str(peer, "fqdn");

    if (dpctl_json_member(peer, "service")) {
        /* No Pods: see dpctl_applied_to_services(). */
    } else if (fqdn) {
        dpctl_add_fqdn(&peers->fqdns, fqdn);
    } else if (account) {
        dpctl_groups_add(&peers->groups,
                       resolver_account_group(r, namespace_of(p, account),
                                              dpctl_json_str(account,
                                                             "name")));
    } else if (nodes) {
        dpctl_groups_add(&peers->groups, resolver_node_group(r, nodes));
    } else if (group) {
        return add_named_group(r, p, field, group, peers, seen, 0);
    } else if (block) {
        add_block(peers, block);
    } else {
        dpctl_groups_add(&peers->groups,
                       resolver_group(r, p->namespace_,
                                      dpctl_json_member(peer, "podSelector"),
                                      dpctl_json_member(peer,
                                                        "namespaceSelector")));
    }
    return NULL;
}

/* Does the peer mean something else for each Namespace of the Pods that the
 * policy is applied to? */
bool
dpctl_peer_is_per_namespace(const struct json *peer)
{
    return dpctl_json_member(peer, "namespaces") != NULL;
}

/* Adds what such a peer means to Pods of 'own'. */
static void
add_peer_for_namespace(struct resolver *r, const struct json *peer,
                       const char *own, struct dpctl_peers *peers)
{
    const struct json *pods = dpctl_json_member(peer, "podSelector");
    const struct json_array *same
        = dpctl_json_array(peer, "namespaces.sameLabels");
    struct pod_group *group = NULL;

    if (!same->n) {
        group = resolver_group(r, own, pods, NULL);
    } else {
        struct json *labels = resolver_namespace_labels(r, own);
        struct json *selector = json_object_create();
        struct json *match = json_object_create();
        bool has_all = true;

        for (size_t i = 0; i < same->n; i++) {
            const char *name = json_string(same->elems[i]);
            const struct json *value = dpctl_json_member(labels, name);

            has_all &= value != NULL;
            if (value) {
                json_object_put(match, name, json_clone(value));
            }
        }
        json_object_put(selector, "matchLabels", match);
        if (has_all) {
            group = resolver_group(r, NULL, pods, selector);
        }
        json_destroy(selector);
        json_destroy(labels);
    }
    if (group) {
        dpctl_groups_add(&peers->groups, group);
    }
}

/* The peers of 'list' that are the same for all that the policy is applied to;
 * or, with 'own', the others for Pods of that Namespace. */
char *
dpctl_peers_resolve(struct resolver *r, const struct dpctl_policy *p,
                    const char *field, const struct json_array *list,
                    const char *own, struct dpctl_peers *peers)
{
    struct sset seen = SSET_INITIALIZER(&seen); /* Names of groups. */
    char *error = NULL;

    peers->any = !list->n;
    peers->blocks = json_array_create_empty();
    for (size_t i = 0; i < list->n && !error; i++) {
        const struct json *peer = list->elems[i];

        if (dpctl_peer_is_per_namespace(peer) && own) {
            add_peer_for_namespace(r, peer, own, peers);
        } else if (!dpctl_peer_is_per_namespace(peer) && !own) {
            error = add_peer(r, p, field, peer, peers, &seen);
        }
    }
    sset_destroy(&seen);
    return error;
}

/* The names of the Services in 'list', each once: of its elements, or of their
 * 'member' if it isn't NULL. */
static struct json *
service_names(const struct dpctl_policy *p, const struct json_array *list,
              const char *member)
{
    struct json *services = json_array_create_empty();
    struct sset names = SSET_INITIALIZER(&names);

    for (size_t i = 0; i < list->n; i++) {
        const struct json *service
            = (member ? dpctl_json_member(list->elems[i], member)
               : list->elems[i]);
        char *name = xasprintf("%s/%s", namespace_of(p, service),
                               dpctl_json_str(service, "name"));

        if (sset_add(&names, name)) {
            json_array_add(services, json_string_create(name));
        }
        free(name);
    }
    sset_destroy(&names);
    return services;
}

void
dpctl_peers_resolve_services(const struct dpctl_policy *p,
                             const struct json_array *list,
                             struct dpctl_peers *peers)
{
    if (list->n) {
        peers->any = false;
        peers->services = service_names(p, list, NULL);
    }
}

struct json *
dpctl_applied_to_services(const struct dpctl_policy *p,
                          const struct json *object)
{
    return (dpctl_is_applied_to_services(object)
            ? service_names(p, dpctl_json_array(object, "appliedTo"),
                            "service")
            : NULL);
}

void
dpctl_peers_uninit(struct dpctl_peers *peers)
{
    free(peers->groups.groups);
    json_destroy(peers->blocks);
    json_destroy(peers->services);
    json_destroy(peers->fqdns);
}

char *
dpctl_peers_resolve_applied_to(struct resolver *r,
                               const struct dpctl_policy *p,
                               const char *field,
                               const struct json_array *list,
                               struct dpctl_groups *groups)
{
    struct dpctl_peers peers = { .of_own_namespace = p->namespace_ != NULL };
    char *error = dpctl_peers_resolve(r, p, field, list, NULL, &peers);

    /* Blocks, which groups may have, are no Pods: as with Antrea, these groups
     * are nobody. */
    if (!error) {
        *groups = peers.groups;
        peers.groups = (struct dpctl_groups) { .groups = NULL };
    }
    dpctl_peers_uninit(&peers);
    return error;
}

char *
resolver_applied_to(struct resolver *r, const char *title, const char *field,
                    const struct json_array *peers, struct json **groups)
{
    const struct dpctl_policy p = { .title = title };
    struct dpctl_groups list = { .groups = NULL };
    char *error = dpctl_peers_resolve_applied_to(r, &p, field, peers, &list);

    if (!error) {
        *groups = dpctl_groups_names(r, &list, resolver_applied_to_group);
    }
    free(list.groups);
    return error;
}

static struct json *
block_to_json(const char *cidr)
{
    struct json *block = json_object_create();

    json_object_put_string(block, "cidr", cidr);
    return block;
}

struct json *
dpctl_peers_to_json(struct resolver *r, const struct dpctl_policy *p,
                    const struct dpctl_peers *peers,
                    const struct dpctl_groups *groups)
{
    struct json *json = json_object_create();

    if (peers->any && !groups) {
        /* Antrea's policies say "anybody" by saying nothing; Kubernetes'
         * records would mean "nobody". */
        ovs_assert(p->is_k8s);
        struct json *blocks = json_array_create_empty();
        json_array_add(blocks, block_to_json("0.0.0.0/0"));
        if (resolver_has_ipv6(r)) {
            json_array_add(blocks, block_to_json("::/0"));
        }
        json_object_put(json, "ipBlocks", blocks);
        return json;
    }
    const struct dpctl_groups *list = groups ? groups : &peers->groups;
    json_object_put(json, "addressGroups",
                    dpctl_groups_names(r, list, resolver_address_group));
    if (!groups && json_array(peers->blocks)->n) {
        json_object_put(json, "ipBlocks", json_clone(peers->blocks));
    }
    if (!groups && peers->services) {
        json_object_put(json, "toServices", json_clone(peers->services));
    }
    if (!groups && peers->fqdns) {
        json_object_put(json, "fqdns", json_clone(peers->fqdns));
    }
    return json;
}

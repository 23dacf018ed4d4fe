/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-outside.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-resolve.h"
#include "svec.h"
#include "util.h"

/* In the order in which they go before each other. */
enum role { CLUSTER, BALANCED, EXTERNAL, N_ROLES };

/* One Service that has an address. */
struct sharer {
    const struct json *service;
    enum role role;
    bool given;
};

/* An address with port and protocol. */
struct thing {
    char *ip;
    struct sharer *sharers;
    size_t n, allocated;
};

static const char *const members[N_ROLES] = {
    "clusterIP", "loadBalancerIPs", "externalIPs"
};

/* Adds what the record has as 'member': one address, or a list. */
static void
add_member(const struct json *record, const char *member, struct svec *ips)
{
    const struct json_array *array = dpctl_json_array(record, member);
    const char *ip = dpctl_json_str(record, member);

    if (ip) {
        svec_add(ips, ip);
    }
    for (size_t i = 0; i < array->n; i++) {
        svec_add(ips, json_string(array->elems[i]));
    }
}

void
dpctl_outside_addresses(const struct json *service, struct svec *ips)
{
    struct json *record = dpctl_service_addresses(service);

    for (enum role role = 0; role < N_ROLES; role++) {
        add_member(record, members[role], ips);
    }
    json_destroy(record);
}

static struct thing *
find_thing(struct shash *things, const char *ip, const struct json *port,
           bool create)
{
    const char *protocol = dpctl_json_str(port, "protocol");
    bool brackets = dpctl_family_of(ip) == DPCTL_IPV6;
    char *name = xasprintf("%s%s%s:%lld/%s", brackets ? "[" : "", ip,
                           brackets ? "]" : "",
                           dpctl_json_int(port, "port", 0),
                           protocol ? protocol : "TCP");
    struct thing *thing = shash_find_data(things, name);

    if (!thing && create) {
        thing = xzalloc(sizeof *thing);
        thing->ip = xstrdup(ip);
        shash_add(things, name, thing);
    }
    free(name);
    return thing;
}

/* Adds the Service to what it has as 'role': ClusterIPs only where they are
 * addresses for outsiders, too. */
static void
add_sharers(struct shash *things, const struct json *service, enum role role,
            bool given)
{
    const struct json_array *ports = dpctl_json_array(service, "spec.ports");
    struct json *record = dpctl_service_addresses(service);
    struct svec ips = SVEC_EMPTY_INITIALIZER;
    struct svec balanced = SVEC_EMPTY_INITIALIZER;

    add_member(record, members[role], &ips);
    if (role == EXTERNAL) {
        /* What is in both lists counts as what it is first. */
        add_member(record, members[BALANCED], &balanced);
    }
    json_destroy(record);
    for (size_t i = 0; i < ips.n * ports->n; i++) {
        const char *ip = ips.names[i / ports->n];
        struct thing *thing = find_thing(things, ip,
                                         ports->elems[i % ports->n],
                                         role != CLUSTER);

        if (thing && !svec_contains_unsorted(&balanced, ip)) {
            if (thing->n >= thing->allocated) {
                thing->sharers = x2nrealloc(thing->sharers, &thing->allocated,
                                           sizeof *thing->sharers);
            }
            thing->sharers[thing->n++] = (struct sharer) {
                service, role, given
            };
        }
    }
    svec_destroy(&ips);
    svec_destroy(&balanced);
}

/* Does 'a' serve it before 'b'? */
static bool
precedes(const struct sharer *a, const struct sharer *b)
{
    static const char created[] = "metadata.creationTimestamp";
    const char *a_created = dpctl_json_str(a->service, created);
    const char *b_created = dpctl_json_str(b->service, created);

    if (a->role != b->role) {
        return a->role < b->role;
    } else if (!a_created != !b_created) {
        return a_created != NULL;
    }

    int order = a_created ? strcmp(a_created, b_created) : 0;
    if (!order) {
        char *a_name = dpctl_kind_title(&dpctl_kinds[DPCTL_SERVICE],
                                        a->service, "");
        char *b_name = dpctl_kind_title(&dpctl_kinds[DPCTL_SERVICE],
                                        b->service, "");
        order = strcmp(a_name, b_name);
        free(a_name);
        free(b_name);
    }
    return order < 0;
}

/* Where the Service has the address; the caller frees it. */
static char *
path_of(const struct sharer *sharer, const char *ip)
{
    const struct json_array *array
        = dpctl_json_array(sharer->service, "spec.externalIPs");

    for (size_t i = 0; sharer->role == EXTERNAL && i < array->n; i++) {
        char *text = dpctl_address_text(json_string(array->elems[i]));
        bool found = nullable_string_is_equal(text, ip);

        free(text);
        if (found) {
            return xasprintf("spec.externalIPs[%"PRIuSIZE"]", i);
        }
    }
    return xstrdup("status.loadBalancer.ingress");
}

static void
tell(const char *name, const struct thing *thing, struct svec *sentences)
{
    const struct dpctl_kind *kind = &dpctl_kinds[DPCTL_SERVICE];
    const struct sharer *first = &thing->sharers[0];

    for (size_t i = 1; i < thing->n; i++) {
        if (precedes(&thing->sharers[i], first)) {
            first = &thing->sharers[i];
        }
    }
    for (size_t i = 0; i < thing->n; i++) {
        const struct sharer *sharer = &thing->sharers[i];

        if (sharer != first && sharer->role != CLUSTER
            && (sharer->given || first->given)) {
            char *title = dpctl_kind_title(kind, sharer->service, "");
            char *other = dpctl_kind_title(kind, first->service, "");
            char *path = path_of(sharer, thing->ip);

            svec_add_nocopy(sentences,
                            xasprintf("%s: %s: %s is left out: it is %s%s",
                                      title, path, name,
                                      (first->role == CLUSTER
                                       ? "the clusterIP of " : "that of "),
                                      other));
            free(title);
            free(other);
            free(path);
        }
    }
}

void
dpctl_outside_shared(const struct shash *manifests, const struct shash *given,
                     struct svec *sentences)
{
    const struct shash_node **nodes = shash_sort(manifests);
    static const enum role order[] = { BALANCED, EXTERNAL, CLUSTER };
    struct shash things = SHASH_INITIALIZER(&things);
    struct shash_node *node;

    for (size_t i = 0; i < ARRAY_SIZE(order) * shash_count(manifests); i++) {
        const char *name = nodes[i % shash_count(manifests)]->name;
        const struct dpctl_kind *kind = dpctl_manifest_kind(name);

        if (kind && kind->id == DPCTL_SERVICE) {
            add_sharers(&things, shash_find_data(manifests, name),
                       order[i / shash_count(manifests)],
                       shash_find(given, name) != NULL);
        }
    }
    free(nodes);

    nodes = shash_sort(&things);
    for (size_t i = 0; i < shash_count(&things); i++) {
        tell(nodes[i]->name, nodes[i]->data, sentences);
    }
    free(nodes);
    SHASH_FOR_EACH (node, &things) {
        struct thing *thing = node->data;

        free(thing->ip);
        free(thing->sharers);
    }
    shash_destroy_free_data(&things);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Services that are resolved anew. */

#include <config.h>
#include "dpctl-delta-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-outside.h"
#include "svec.h"
#include "util.h"

static const char *
service_name(const char *manifest)
{
    return strchr(manifest, '/') + 1;
}

/* Asks for the Services that have an address of one that is given: they may
 * be told that another one serves it. */
static void
want_sharers(struct delta *d)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &d->given) {
        if (d->verb != DPCTL_DELETE
            && dpctl_manifest_kind(node->name)->id == DPCTL_SERVICE) {
            struct svec ips = SVEC_EMPTY_INITIALIZER;
            const char *ip;
            size_t i;

            dpctl_outside_addresses(node->data, &ips);
            SVEC_FOR_EACH (i, ip, &ips) {
                char *key = xasprintf("at:%s", ip);

                dpctl_keys_add(dpctl_world_want_keys(&d->world), key);
                free(key);
            }
            svec_destroy(&ips);
        }
    }
}

static void
fetch_services(struct delta *d)
{
    const char *manifest;
    char *node = dpctl_manifest_name(&dpctl_kinds[DPCTL_NODE], NULL,
                                     dpctl_json_str(d->node_config, "name"));

    /* It says in which zone we are. */
    dpctl_world_want(&d->world, "Manifest", node);
    free(node);
    SSET_FOR_EACH (manifest, &d->services) {
        char *endpoints = xasprintf("Endpoints.v1/%s",
                                    service_name(manifest));
        char *key = xasprintf("svc:%s", service_name(manifest));

        dpctl_world_want(&d->world, "Manifest", manifest);
        dpctl_world_want(&d->world, "Manifest", endpoints);
        dpctl_world_want(&d->world, "Service", service_name(manifest));
        dpctl_keys_add(dpctl_world_want_keys(&d->world), key);
        free(endpoints);
        free(key);
    }
    want_sharers(d);
    dpctl_world_fetch(&d->world);
}

/* Asks for the Pods that a Service selects: its endpoints, where no object
 * tells any. */
static void
want_selected(struct delta *d, const struct json *service)
{
    const struct shash *selector = dpctl_json_object(service,
                                                     "spec.selector");
    if (shash_is_empty(selector)) {
        return;
    }

    struct json *list = json_array_create_empty();
    const struct shash_node *node;
    json_array_add(list, json_string_create_nocopy(
                       xasprintf("ns:%s",
                                 dpctl_json_str(service,
                                                "metadata.namespace"))));
    SHASH_FOR_EACH (node, selector) {
        json_array_add(list, json_string_create_nocopy(
                           xasprintf("l:%s=%s", node->name,
                                     json_string(node->data))));
    }
    json_array_add(dpctl_world_want_keys(&d->world), list);
}

static void
want_address(struct delta *d, const char *ip)
{
    char *key = xasprintf("ip:%s", ip);
    const struct shash_node *node;

    dpctl_keys_add(dpctl_world_want_keys(&d->world), key);
    SHASH_FOR_EACH (node, &d->env->ports->by_pod) {
        const struct dpctl_port *port = node->data;
        struct svec own = SVEC_EMPTY_INITIALIZER;

        dpctl_address_words(port->ips, &own);
        if (svec_contains_unsorted(&own, ip)) {
            char *pod = xasprintf("Pod.v1/%s", node->name);
            dpctl_world_want(&d->world, "Manifest", pod);
            free(pod);
        }
        svec_destroy(&own);
    }
    free(key);
}

/* Asks for the Pods that have an address of the object's, which is one of its
 * keys: behind endpoints that don't say on which Node they are, or another
 * Pod's too. */
static void
want_same_address(struct delta *d, const char *manifest,
                  const struct json *object)
{
    struct svec keys = SVEC_EMPTY_INITIALIZER;
    const char *key;
    size_t i;

    dpctl_keys_collect(dpctl_manifest_kind(manifest), object, &keys);
    SVEC_FOR_EACH (i, key, &keys) {
        if (!strncmp(key, "e:", 2) || !strncmp(key, "ip:", 3)) {
            want_address(d, strchr(key, ':') + 1);
        }
    }
    svec_destroy(&keys);
}

/* Adds the Service, "NAMESPACE/NAME", whose endpoints the object tells. */
static void
add_told(struct sset *told, const char *manifest, const struct json *object)
{
    if (dpctl_manifest_kind(manifest)->id == DPCTL_ENDPOINTS) {
        sset_add(told, service_name(manifest));
    } else {
        char *service = dpctl_slice_service(object);

        if (service) {
            sset_add_and_free(told, service);
        }
    }
}

static void
fetch_endpoint_pods(struct delta *d)
{
    struct shash manifests = SHASH_INITIALIZER(&manifests);
    struct sset told = SSET_INITIALIZER(&told);
    const struct shash_node *node;
    const char *manifest;

    delta_collect(d, true, (1u << DPCTL_ENDPOINT_SLICE
                            | 1u << DPCTL_ENDPOINTS), &manifests);
    SHASH_FOR_EACH (node, &manifests) {
        want_same_address(d, node->name, node->data);
        add_told(&told, node->name, node->data);
    }
    SSET_FOR_EACH (manifest, &d->services) {
        const struct json *service = delta_new(d, manifest);
        if (service && !sset_contains(&told, service_name(manifest))) {
            want_selected(d, service);
        }
    }
    sset_destroy(&told);
    dpctl_world_fetch(&d->world);
    shash_clear(&manifests);

    /* Endpoints that are Pods of no Node. */
    delta_collect(d, true, 1u << DPCTL_POD, &manifests);
    SHASH_FOR_EACH (node, &manifests) {
        if (!dpctl_json_str(node->data, "spec.nodeName")) {
            want_same_address(d, node->name, node->data);
        }
    }
    dpctl_world_fetch(&d->world);
    shash_destroy(&manifests);
    if (!d->env->ports->available) {
        delta_fetch_ports(d);
    }
}

static char *
resolve(const struct delta *d, bool new, struct shash *records)
{
    struct shash manifests = SHASH_INITIALIZER(&manifests);
    struct dpctl_env env = *d->env;
    struct dpctl_ports ports;

    delta_collect_named(d, new, &d->services, &manifests);
    if (new) {
        delta_collect(d, true, (1u << DPCTL_ENDPOINT_SLICE
                                | 1u << DPCTL_ENDPOINTS | 1u << DPCTL_POD
                                | 1u << DPCTL_NODE), &manifests);
    }
    env.node = dpctl_json_str(d->node_config, "name");
    env.parts = DPCTL_PARTS_SERVICES;
    delta_ports_init(d, new, &manifests, &ports);
    if (!ports.available) {
        env.ports = &ports;
    }
    char *error = dpctl_resolve(&manifests, &env, records);
    dpctl_ports_destroy(&ports);
    shash_destroy(&manifests);
    return error;
}

char *
delta_services(struct delta *d)
{
    struct shash before = SHASH_INITIALIZER(&before);
    const struct shash_node *node;
    char *error = NULL;

    if (sset_is_empty(&d->services)) {
        return NULL;
    }
    fetch_services(d);
    if (!d->world.stale) {
        fetch_endpoint_pods(d);
    }
    if (!d->world.stale) {
        error = resolve(d, true, &d->outcome);
    }
    if (!d->world.stale && !error) {
        free(resolve(d, false, &before));
        SHASH_FOR_EACH (node, &before) {
            if (!shash_find(&d->outcome, node->name)) {
                sset_add(&d->gone, node->name);
            }
        }
    }
    dpctl_records_destroy(&before);
    return error;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Nodes and Pods: which node are we, and who is where? */

#include <config.h>
#include "dpctl-resolve-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "packets.h"
#include "util.h"

#define GATEWAY_PORT "antrea-gw0"
#define TUNNEL_PORT "antrea-tun0"

char *
resolve_node_name(struct resolver *r)
{
    const struct shash *nodes = &r->objects[DPCTL_NODE];

    r->node = r->env->node;
    if (!r->node) {
        r->node = dpctl_json_str(r->env->node_config, "name");
    }
    if (!r->node && shash_count(nodes) == 1) {
        r->node = dpctl_json_str(shash_first(nodes)->data, "metadata.name");
    }

    bool needs_node = (!shash_is_empty(nodes)
                       || !shash_is_empty(&r->objects[DPCTL_POD])
                       || !shash_is_empty(&r->objects[DPCTL_SERVICE]));
    return (!r->node && needs_node
            ? xstrdup("which Node is this one?  Name it with --node")
            : NULL);
}

static const char *
annotation(const struct json *object, const char *name)
{
    const struct json *value
        = dpctl_json_member(dpctl_json_get(object, "metadata.annotations"),
                            name);
    return value && value->type == JSON_STRING ? value->string : NULL;
}

/* Nodes. */

static const char *
node_pod_cidr(const struct json *node)
{
    const struct json_array *cidrs = dpctl_json_array(node, "spec.podCIDRs");
    const char *cidr = dpctl_json_str(node, "spec.podCIDR");

    if (cidr && !strchr(cidr, ':')) {
        return cidr;
    }
    for (size_t i = 0; i < cidrs->n; i++) {
        if (!strchr(cidrs->elems[i]->string, ':')) {
            return cidrs->elems[i]->string;
        }
    }
    return NULL;
}

/* The address that peers send tunnelled packets to; the caller frees it. */
static char *
node_transport_ip(const struct json *node)
{
    const char *given = annotation(node, "node.antrea.io/transport-addresses");
    char *ip = NULL;

    if (given) {
        char *copy = xstrdup(given);
        char *save = NULL;
        for (char *word = strtok_r(copy, ", ", &save); word && !ip;
             word = strtok_r(NULL, ", ", &save)) {
            ip = resolver_is_ipv4(word) ? xstrdup(word) : NULL;
        }
        free(copy);
    }

    const struct json_array *addresses
        = dpctl_json_array(node, "status.addresses");
    for (size_t i = 0; i < addresses->n && !ip; i++) {
        const struct json *a = addresses->elems[i];
        const char *address = dpctl_json_str(a, "address");
        if (!strcmp(dpctl_json_str(a, "type"), "InternalIP")
            && resolver_is_ipv4(address)) {
            ip = xstrdup(address);
        }
    }
    return ip;
}

void
resolver_node_addresses(const struct json *node, struct svec *ips)
{
    const struct json_array *addresses
        = dpctl_json_array(node, "status.addresses");
    const char *cidr = node_pod_cidr(node);

    for (size_t i = 0; i < addresses->n; i++) {
        const char *address = dpctl_json_str(addresses->elems[i], "address");
        if (resolver_is_ipv4(address)) {
            svec_add(ips, address);
        }
    }
    char *ip = node_transport_ip(node);
    if (ip) {
        svec_add_nocopy(ips, ip);
    }
    ip = cidr ? resolver_first_address(cidr) : NULL;
    if (ip) {
        svec_add_nocopy(ips, ip);
    }
}

static const char *
first_given(const char *a, const char *b, const char *c, const char *d)
{
    return a ? a : b ? b : c ? c : d;
}

static char *
gateway_mac(struct resolver *r, const struct json *node, const char *name,
            const char *port, const char **mac)
{
    const struct dpctl_ports *ports = r->env->ports;

    *mac = first_given(r->env->gateway_mac,
                       shash_find_data(&ports->interface_macs, port),
                       annotation(node, "node.antrea.io/mac-address"),
                       dpctl_json_str(r->env->node_config, "gateway.mac"));
    if (*mac || r->env->keys_only) {
        return NULL;
    }
    return xasprintf("Node %s: the MAC address of the gateway port %s is not "
                     "known: %s%s; give --gateway-mac or the annotation "
                     "node.antrea.io/mac-address", name, port,
                     (ports->available ? "OVSDB has no such interface"
                      : "OVSDB can't be read: "),
                     ports->available ? ""
                     : ports->why ? ports->why : "not asked");
}

static const char *
tunnel_port(const struct resolver *r, const struct json *node)
{
    const struct dpctl_ports *ports = r->env->ports;
    const char *port
        = first_given(r->env->tunnel_port,
                      annotation(node, "antrea-dp.io/tunnel-port"),
                      dpctl_json_str(r->env->node_config, "tunnel.port"),
                      NULL);

    if (!port) {
        /* Without OVSDB, only a cluster of several Nodes needs one. */
        bool present = (ports->available
                        ? shash_find(&ports->interface_macs,
                                     TUNNEL_PORT) != NULL
                        : shash_count(&r->objects[DPCTL_NODE]) > 1);
        port = present ? TUNNEL_PORT : "none";
    }
    return strcmp(port, "none") ? port : NULL;
}

static char *
resolve_own_node(struct resolver *r, const struct json *node,
                 const char *name)
{
    const struct json *old = r->env->node_config;
    const char *cidr = node_pod_cidr(node);
    if (!cidr) {
        return xasprintf("Node %s: spec.podCIDR: no IPv4 Pod CIDR", name);
    }
    char *transport_ip = node_transport_ip(node);
    if (!transport_ip) {
        return xasprintf("Node %s: status.addresses: no IPv4 address of type "
                         "InternalIP", name);
    }

    struct json *record = resolver_record("NodeConfig", name);
    const char *port = first_given(r->env->gateway_port,
                                   annotation(node,
                                              "antrea-dp.io/gateway-port"),
                                   dpctl_json_str(old, "gateway.port"),
                                   GATEWAY_PORT);
    const char *mac;
    char *error = gateway_mac(r, node, name, port, &mac);
    char *gateway_ip = resolver_first_address(cidr);
    const char *tunnel = tunnel_port(r, node);
    const char *service_cidr
        = first_given(r->env->service_cidr,
                      annotation(node, "antrea-dp.io/service-cidr"),
                      dpctl_json_str(old, "serviceCIDR"), NULL);

    struct json *gateway = json_object_create();
    json_object_put_string(gateway, "port", port);
    json_object_put_string(gateway, "mac", mac ? mac : "");
    json_object_put_string(gateway, "ip", gateway_ip ? gateway_ip : "");
    json_object_put(record, "gateway", gateway);
    if (tunnel) {
        struct json *t = json_object_create();
        json_object_put_string(t, "port", tunnel);
        json_object_put(record, "tunnel", t);
    }
    json_object_put_string(record, "podCIDR", cidr);
    if (service_cidr) {
        json_object_put_string(record, "serviceCIDR", service_cidr);
    }
    json_object_put_string(record, "transportIP", transport_ip);

    /* What no Node object says is kept. */
    static const char *const kept[] = {
        "nodePortAddresses", "proxyAll", "l7"
    };
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        const struct json *value = dpctl_json_member(old, kept[i]);
        if (value) {
            json_object_put(record, kept[i], json_clone(value));
        }
    }
    resolver_put(r, record);
    free(gateway_ip);
    free(transport_ip);
    return error;
}

const char *
resolver_zone(const struct resolver *r)
{
    char *name = (r->node
                  ? dpctl_manifest_name(&dpctl_kinds[DPCTL_NODE], NULL,
                                        r->node)
                  : NULL);
    const struct json *node
        = name ? shash_find_data(&r->objects[DPCTL_NODE], name) : NULL;
    const struct json *zone
        = shash_find_data(dpctl_json_object(node, "metadata.labels"),
                          "topology.kubernetes.io/zone");

    free(name);
    return zone && json_string(zone)[0] ? json_string(zone) : NULL;
}

/* A Node that has no Pod CIDR or no address yet is not a peer yet. */
static void
resolve_peer(struct resolver *r, const struct json *node, const char *name)
{
    const char *cidr = node_pod_cidr(node);
    char *transport_ip = node_transport_ip(node);
    char *gateway_ip = cidr ? resolver_first_address(cidr) : NULL;

    if (gateway_ip && transport_ip) {
        struct json *record = resolver_record("PeerNode", name);
        json_object_put_string(record, "podCIDR", cidr);
        json_object_put_string(record, "gatewayIP", gateway_ip);
        json_object_put_string(record, "transportIP", transport_ip);
        resolver_put(r, record);
    }
    free(gateway_ip);
    free(transport_ip);
}

char *
resolve_nodes(struct resolver *r)
{
    size_t n;
    const struct shash_node **nodes = resolver_sorted(r, DPCTL_NODE, &n);
    char *error = NULL;

    for (size_t i = 0; i < n && !error; i++) {
        const struct json *node = nodes[i]->data;
        const char *name = dpctl_json_str(node, "metadata.name");

        if (r->node && !strcmp(name, r->node)) {
            error = resolve_own_node(r, node, name);
            if (error && r->env->keys_only) {
                free(error);
                error = NULL;
            }
        } else {
            resolve_peer(r, node, name);
        }
    }
    free(nodes);
    return error;
}

/* Pods. */

static void
pod_ips(const struct resolver *r, struct resolved_pod *pod)
{
    const struct json_array *ips = dpctl_json_array(pod->object,
                                                    "status.podIPs");
    const char *ip = dpctl_json_str(pod->object, "status.podIP");

    if (resolver_is_ipv4(ip)) {
        svec_add(&pod->ips, ip);
    }
    for (size_t i = 0; i < ips->n; i++) {
        ip = dpctl_json_str(ips->elems[i], "ip");
        if (resolver_is_ipv4(ip) && !svec_contains_unsorted(&pod->ips, ip)) {
            svec_add(&pod->ips, ip);
        }
    }

    /* The CNI knows a Pod's address before the API server does. */
    const struct dpctl_port *port
        = shash_find_data(&r->env->ports->by_pod, pod->name);
    if (pod->ips.n || !pod->local || pod->host_network || !port
        || !port->ips) {
        return;
    }
    char *copy = xstrdup(port->ips);
    char *save = NULL;
    for (char *word = strtok_r(copy, ", ", &save); word;
         word = strtok_r(NULL, ", ", &save)) {
        if (resolver_is_ipv4(word)) {
            svec_add(&pod->ips, word);
        }
    }
    free(copy);
}

static bool
pod_is_ready(const struct json *object)
{
    const struct json_array *conditions
        = dpctl_json_array(object, "status.conditions");

    for (size_t i = 0; i < conditions->n; i++) {
        const char *status = dpctl_json_str(conditions->elems[i], "status");
        if (!strcmp(dpctl_json_str(conditions->elems[i], "type"), "Ready")) {
            return !status || !strcmp(status, "True");
        }
    }
    return true;
}

static void
pod_init(const struct resolver *r, struct resolved_pod *pod,
         const struct json *object)
{
    const char *phase = dpctl_json_str(object, "status.phase");

    pod->object = object;
    pod->namespace_ = dpctl_json_str(object, "metadata.namespace");
    pod->name = xasprintf("%s/%s", pod->namespace_,
                          dpctl_json_str(object, "metadata.name"));
    pod->labels = dpctl_json_object(object, "metadata.labels");
    pod->host_network = dpctl_json_bool(object, "spec.hostNetwork", false);
    pod->ended = phase && (!strcmp(phase, "Succeeded")
                           || !strcmp(phase, "Failed"));
    pod->ready = pod_is_ready(object);
    pod->terminating = dpctl_json_str(object, "metadata.deletionTimestamp");
    pod->node = dpctl_json_str(object, "spec.nodeName");
    /* A Pod of no Node is here if it has a port here. */
    pod->local = (pod->node
                  ? r->node && !strcmp(pod->node, r->node)
                  : annotation(object, "antrea-dp.io/port")
                    || shash_find(&r->env->ports->by_pod, pod->name));
    svec_init(&pod->ips);
    pod_ips(r, pod);
}

char *
resolve_pods(struct resolver *r)
{
    const struct shash_node **nodes = resolver_sorted(r, DPCTL_POD,
                                                      &r->n_pods);

    r->pods = xcalloc(r->n_pods, sizeof *r->pods);
    for (size_t i = 0; i < r->n_pods; i++) {
        pod_init(r, &r->pods[i], nodes[i]->data);
        shash_add(&r->pod_index, r->pods[i].name, &r->pods[i]);
    }
    free(nodes);
    return NULL;
}

static char *
resolve_pod_record(struct resolver *r, const struct resolved_pod *pod)
{
    const struct dpctl_ports *ports = r->env->ports;
    const struct dpctl_port *port = shash_find_data(&ports->by_pod,
                                                    pod->name);
    const char *name = annotation(pod->object, "antrea-dp.io/port");
    const char *mac = annotation(pod->object, "antrea-dp.io/mac");

    name = name ? name : port ? port->name : NULL;
    mac = mac ? mac : port ? port->mac : NULL;
    if (!r->env->keys_only && !name) {
        return xasprintf("Pod %s: no port: %s%s; annotate it with "
                         "antrea-dp.io/port and antrea-dp.io/mac, or apply "
                         "it when it has one", pod->name,
                         (ports->available
                          ? "OVSDB has no Port with its external_ids:pod-name "
                            "and pod-namespace"
                          : "OVSDB can't be read: "),
                         ports->available ? ""
                         : ports->why ? ports->why : "not asked");
    }
    if (!r->env->keys_only && !mac) {
        return xasprintf("Pod %s: no MAC address: port %s has no "
                         "external_ids:attached-mac; annotate the Pod with "
                         "antrea-dp.io/mac", pod->name, name);
    }

    struct json *record = resolver_record("Pod", pod->name);
    json_object_put_string(record, "port", name ? name : "");
    json_object_put_string(record, "mac", mac ? mac : "");
    json_object_put(record, "ips", resolver_strings(&pod->ips));
    resolver_put(r, record);
    return NULL;
}

char *
resolve_pod_records(struct resolver *r)
{
    for (size_t i = 0; i < r->n_pods; i++) {
        const struct resolved_pod *pod = &r->pods[i];
        if (pod->local && !pod->host_network && !pod->ended && pod->ips.n) {
            char *error = resolve_pod_record(r, pod);
            if (error) {
                return error;
            }
        }
    }
    return NULL;
}

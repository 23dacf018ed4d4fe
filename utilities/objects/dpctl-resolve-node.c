/* SPDX-License-Identifier: Apache-2.0 */

/* Nodes and Pods: which node are we, and who is where? */

#include <config.h>
#include "dpctl-resolve-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "packets.h"
#include "util.h"

#define GATEWAY_PORT "antrea-gw0"
#define TUNNEL_PORT "antrea-tun0"

#define PORT_ANNOTATION "antrea-dp.io/port"
#define MAC_ANNOTATION "antrea-dp.io/mac"

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

/* The object of this Node, or NULL. */
static const struct json *
own_node(const struct resolver *r)
{
    if (!r->node) {
        return NULL;
    }

    char *name = dpctl_manifest_name(&dpctl_kinds[DPCTL_NODE], NULL, r->node);
    const struct json *node = shash_find_data(&r->objects[DPCTL_NODE], name);

    free(name);
    return node;
}

/* The first Pod CIDR of each family, or NULL; the caller frees them. */
static void
node_pod_cidrs(const struct json *node, char *cidrs[DPCTL_N_FAMILIES])
{
    const struct json_array *array = dpctl_json_array(node, "spec.podCIDRs");
    const char *cidr = dpctl_json_str(node, "spec.podCIDR");

    if (cidr) {
        cidrs[dpctl_family_of(cidr)] = xstrdup(cidr);
    }
    for (size_t i = 0; i < array->n; i++) {
        cidr = array->elems[i]->string;
        if (!cidrs[dpctl_family_of(cidr)]) {
            cidrs[dpctl_family_of(cidr)] = xstrdup(cidr);
        }
    }
}

/* The first address of each Pod CIDR: the gateway's. */
static void
gateway_ips(char *const cidrs[DPCTL_N_FAMILIES],
            char *ips[DPCTL_N_FAMILIES])
{
    for (size_t i = 0; i < DPCTL_N_FAMILIES; i++) {
        ips[i] = cidrs[i] ? dpctl_network_first(cidrs[i]) : NULL;
    }
}

static void
first_of_families(const struct svec *from, char *ips[DPCTL_N_FAMILIES])
{
    for (size_t i = 0; i < from->n; i++) {
        enum dpctl_family family = dpctl_family_of(from->names[i]);

        if (!ips[family]) {
            ips[family] = xstrdup(from->names[i]);
        }
    }
}

/* Adds the addresses of that type. */
static void
addresses_of_type(const struct json *node, const char *type, struct svec *ips)
{
    const struct json_array *addresses
        = dpctl_json_array(node, "status.addresses");

    for (size_t i = 0; i < addresses->n; i++) {
        const struct json *a = addresses->elems[i];
        char *ip = dpctl_address_text(dpctl_json_str(a, "address"));

        if (ip && !strcmp(dpctl_json_str(a, "type"), type)) {
            svec_add(ips, ip);
        }
        free(ip);
    }
}

/* The first InternalIP of each family, or NULL; of a Node that has none the
 * first ExternalIP, as Antrea takes it.  The caller frees them. */
static void
node_main_ips(const struct json *node, char *ips[DPCTL_N_FAMILIES])
{
    struct svec found = SVEC_EMPTY_INITIALIZER;

    addresses_of_type(node, "InternalIP", &found);
    if (!found.n) {
        addresses_of_type(node, "ExternalIP", &found);
    }
    first_of_families(&found, ips);
    svec_destroy(&found);
}

/* Takes the values of 'ips': the IPv4 address, if there is one. */
static char *
one_of_families(char *ips[DPCTL_N_FAMILIES])
{
    char *ip = nullable_xstrdup(ips[DPCTL_IPV4] ? ips[DPCTL_IPV4]
                                : ips[DPCTL_IPV6]);

    dpctl_families_uninit(ips);
    return ip;
}

/* The address that peers send tunnelled packets to; the caller frees it. */
static char *
node_transport_ip(const struct json *node)
{
    const char *given = annotation(node, "node.antrea.io/transport-addresses");
    char *ips[DPCTL_N_FAMILIES] = { NULL };
    struct svec words = SVEC_EMPTY_INITIALIZER;

    dpctl_address_words(given, &words);
    first_of_families(&words, ips);
    svec_destroy(&words);

    char *ip = one_of_families(ips);
    if (!ip) {
        node_main_ips(node, ips);
        ip = one_of_families(ips);
    }
    return ip;
}

/* The addresses at which a Node with Pods of IPv6 is reached, and has
 * NodePorts, or NULL if there is nothing to say: then it is the transport
 * IP. */
static struct json *
node_ips(const struct json *node)
{
    char *cidrs[DPCTL_N_FAMILIES] = { NULL };
    char *main_ips[DPCTL_N_FAMILIES] = { NULL };
    char *transport_ip = node_transport_ip(node);
    struct json *list = json_array_create_empty();
    bool any = false;

    node_pod_cidrs(node, cidrs);
    node_main_ips(node, main_ips);
    for (enum dpctl_family i = 0; cidrs[DPCTL_IPV6] && transport_ip
         && i < DPCTL_N_FAMILIES; i++) {
        const char *ip = (dpctl_family_of(transport_ip) == i ? transport_ip
                          : main_ips[i]);
        if (cidrs[i] && ip) {
            json_array_add(list, json_string_create(ip));
            any |= ip != transport_ip;
        }
    }
    dpctl_families_uninit(cidrs);
    dpctl_families_uninit(main_ips);
    free(transport_ip);
    if (!any) {
        json_destroy(list);
        return NULL;
    }
    return list;
}

bool
resolver_has_ipv6(const struct resolver *r)
{
    const struct json *own = own_node(r);
    const struct json_array *configured
        = dpctl_json_array(r->env->node_config, "podCIDR");
    const char *only = dpctl_json_str(r->env->node_config, "podCIDR");
    char *cidrs[DPCTL_N_FAMILIES] = { NULL };

    if (own) {
        node_pod_cidrs(own, cidrs);
        bool has = cidrs[DPCTL_IPV6] != NULL;
        dpctl_families_uninit(cidrs);
        return has;
    }
    for (size_t i = 0; i < configured->n; i++) {
        if (dpctl_family_of(json_string(configured->elems[i]))
            == DPCTL_IPV6) {
            return true;
        }
    }
    return only && dpctl_family_of(only) == DPCTL_IPV6;
}

void
resolver_node_addresses(const struct json *node, struct svec *ips)
{
    const struct json_array *addresses
        = dpctl_json_array(node, "status.addresses");
    char *cidrs[DPCTL_N_FAMILIES] = { NULL };
    char *gateways[DPCTL_N_FAMILIES];

    for (size_t i = 0; i < addresses->n; i++) {
        char *ip = dpctl_address_text(dpctl_json_str(addresses->elems[i],
                                                     "address"));
        if (ip) {
            svec_add_nocopy(ips, ip);
        }
    }
    char *ip = node_transport_ip(node);
    if (ip) {
        svec_add_nocopy(ips, ip);
    }
    node_pod_cidrs(node, cidrs);
    gateway_ips(cidrs, gateways);
    for (size_t i = 0; i < DPCTL_N_FAMILIES; i++) {
        if (gateways[i]) {
            svec_add(ips, gateways[i]);
        }
    }
    dpctl_families_uninit(cidrs);
    dpctl_families_uninit(gateways);
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
    static const char key[] = "node.antrea.io/mac-address";
    const struct dpctl_ports *ports = r->env->ports;
    const char *in_force = dpctl_json_str(r->env->node_config, "gateway.mac");
    const char *annotated = annotation(node, key);
    const char *before = annotation(r->env->old_node, key);

    /* What OVSDB told once is better than an annotation that was there then,
     * too. */
    bool keep = in_force && annotated && before && !strcmp(annotated, before);
    *mac = first_given(r->env->gateway_mac,
                       shash_find_data(&ports->interface_macs, port),
                       keep ? in_force : annotated, in_force);
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
        /* Without OVSDB a Node that has none goes on without; else only a
         * cluster of several Nodes needs one. */
        bool present = (ports->available
                        ? shash_find(&ports->interface_macs,
                                     TUNNEL_PORT) != NULL
                        : r->env->node_config ? false
                        : shash_count(&r->objects[DPCTL_NODE]) > 1);
        port = present ? TUNNEL_PORT : "none";
    }
    return strcmp(port, "none") ? port : NULL;
}

/* The Service CIDR as the record has it, or NULL; the caller frees it. */
static struct json *
service_cidr(const struct resolver *r, const struct json *node)
{
    const char *given = r->env->service_cidr;
    const struct json *old = dpctl_json_member(r->env->node_config,
                                               "serviceCIDR");

    if (!given) {
        given = annotation(node, "antrea-dp.io/service-cidr");
    }
    return given ? dpctl_service_cidr(given) : json_nullable_clone(old);
}

/* What no Node object says is kept. */
static void
put_kept(const struct resolver *r, const struct json *node,
         struct json *record)
{
    static const char node_ports[] = "nodePortAddresses";
    static const char *const kept[] = { node_ports, "proxyAll", "l7" };
    const struct json *old = r->env->node_config;
    struct json *derived = node_ips(node);
    struct json *before = (r->env->old_node ? node_ips(r->env->old_node)
                           : NULL);

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        const struct json *value = dpctl_json_member(old, kept[i]);

        if (kept[i] == node_ports
            && (!value || (before && json_equal(before, value)))) {
            value = derived;
        }
        if (value) {
            json_object_put(record, kept[i], json_clone(value));
        }
    }
    json_destroy(derived);
    json_destroy(before);
}

static void
put_gateway(const char *port, const char *mac,
            char *const ips[DPCTL_N_FAMILIES], struct json *record)
{
    struct json *gateway = json_object_create();
    struct json *ip = dpctl_families_to_json(ips);

    json_object_put_string(gateway, "port", port);
    json_object_put_string(gateway, "mac", mac ? mac : "");
    json_object_put(gateway, "ip", ip ? ip : json_string_create(""));
    json_object_put(record, "gateway", gateway);
}

static char *
resolve_own_node(struct resolver *r, const struct json *node,
                 const char *name)
{
    const struct json *old = r->env->node_config;
    char *cidrs[DPCTL_N_FAMILIES] = { NULL };
    char *gateways[DPCTL_N_FAMILIES];

    node_pod_cidrs(node, cidrs);
    struct json *pod_cidr = dpctl_families_to_json(cidrs);
    if (!pod_cidr) {
        return xasprintf("Node %s: spec.podCIDR: no Pod CIDR", name);
    }
    gateway_ips(cidrs, gateways);
    dpctl_families_uninit(cidrs);

    char *transport_ip = node_transport_ip(node);
    if (!transport_ip) {
        json_destroy(pod_cidr);
        dpctl_families_uninit(gateways);
        return xasprintf("Node %s: status.addresses: no address of type "
                         "InternalIP or ExternalIP", name);
    }

    struct json *record = resolver_record("NodeConfig", name);
    const char *port = first_given(r->env->gateway_port,
                                   annotation(node,
                                              "antrea-dp.io/gateway-port"),
                                   dpctl_json_str(old, "gateway.port"),
                                   GATEWAY_PORT);
    const char *mac;
    char *error = gateway_mac(r, node, name, port, &mac);
    const char *tunnel = tunnel_port(r, node);
    struct json *service = service_cidr(r, node);

    put_gateway(port, mac, gateways, record);
    if (tunnel) {
        struct json *t = json_object_create();
        json_object_put_string(t, "port", tunnel);
        json_object_put(record, "tunnel", t);
    }
    json_object_put(record, "podCIDR", pod_cidr);
    if (service) {
        json_object_put(record, "serviceCIDR", service);
    }
    json_object_put_string(record, "transportIP", transport_ip);
    put_kept(r, node, record);
    resolver_put(r, record);
    dpctl_families_uninit(gateways);
    free(transport_ip);
    return error;
}

const char *
resolver_zone(const struct resolver *r)
{
    const struct json *zone
        = shash_find_data(dpctl_json_object(own_node(r), "metadata.labels"),
                          "topology.kubernetes.io/zone");

    return zone && json_string(zone)[0] ? json_string(zone) : NULL;
}

bool
dpctl_node_is_peer(const struct json *node)
{
    char *cidrs[DPCTL_N_FAMILIES] = { NULL };
    char *transport_ip = node_transport_ip(node);

    node_pod_cidrs(node, cidrs);
    bool is_peer = (cidrs[DPCTL_IPV4] || cidrs[DPCTL_IPV6]) && transport_ip;
    dpctl_families_uninit(cidrs);
    free(transport_ip);
    return is_peer;
}

/* A Node that has no Pod CIDR or no address yet is not a peer yet. */
static void
resolve_peer(struct resolver *r, const struct json *node, const char *name)
{
    char *cidrs[DPCTL_N_FAMILIES] = { NULL };
    char *gateways[DPCTL_N_FAMILIES];
    char *transport_ip = node_transport_ip(node);

    node_pod_cidrs(node, cidrs);
    gateway_ips(cidrs, gateways);
    struct json *pod_cidr = dpctl_families_to_json(cidrs);
    struct json *gateway_ip = dpctl_families_to_json(gateways);
    if (gateway_ip && transport_ip) {
        struct json *record = resolver_record("PeerNode", name);
        json_object_put(record, "podCIDR", json_clone(pod_cidr));
        json_object_put(record, "gatewayIP", json_clone(gateway_ip));
        json_object_put_string(record, "transportIP", transport_ip);

        struct json *ips = node_ips(node);
        if (ips) {
            json_object_put(record, "nodeIPs", ips);
        }
        resolver_put(r, record);
    }
    json_destroy(pod_cidr);
    json_destroy(gateway_ip);
    dpctl_families_uninit(cidrs);
    dpctl_families_uninit(gateways);
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
            error = resolver_refuse(r, nodes[i]->name,
                                    resolve_own_node(r, node, name));
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

/* What an annotation says of the Pod's port, if that counts. */
static const char *
port_annotation(const struct resolver *r, const struct json *pod,
                const char *name)
{
    return r->env->ports->annotated ? annotation(pod, name) : NULL;
}

/* Those that its object tells. */
static void
object_ips(const struct json *pod, struct svec *ips)
{
    const struct json_array *array = dpctl_json_array(pod, "status.podIPs");

    dpctl_address_words(dpctl_json_str(pod, "status.podIP"), ips);
    for (size_t i = 0; i < array->n; i++) {
        dpctl_address_words(dpctl_json_str(array->elems[i], "ip"), ips);
    }
}

static void
pod_ips(const struct resolver *r, struct resolved_pod *pod)
{
    object_ips(pod->object, &pod->ips);

    /* The CNI knows a Pod's address before the API server does. */
    const struct dpctl_port *port
        = shash_find_data(&r->env->ports->by_pod, pod->name);
    if (!pod->ips.n && pod->local && !pod->host_network && port) {
        dpctl_address_words(port->ips, &pod->ips);
    }
}

bool
dpctl_pod_needs_port(const struct json *pod)
{
    struct svec ips = SVEC_EMPTY_INITIALIZER;

    object_ips(pod, &ips);
    bool has_address = ips.n > 0;
    svec_destroy(&ips);
    return !has_address || !dpctl_json_str(pod, "spec.nodeName");
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
                  : port_annotation(r, object, PORT_ANNOTATION)
                    || shash_find(&r->env->ports->by_pod, pod->name));
    svec_init(&pod->ips);
    pod_ips(r, pod);
}

/* As Pods are in the order of "NAMESPACE/NAME", those of a Namespace are next
 * to each other. */
static void
index_spaces(struct resolver *r)
{
    for (size_t i = 0; i < r->n_pods; i++) {
        const struct resolved_pod *pod = &r->pods[i];

        if (!i || strcmp(pod->namespace_, pod[-1].namespace_)) {
            if (r->n_spaces >= r->allocated_spaces) {
                r->spaces = x2nrealloc(r->spaces, &r->allocated_spaces,
                                       sizeof *r->spaces);
            }
            r->spaces[r->n_spaces++] = (struct pod_space) {
                .name = pod->namespace_, .pods = pod,
            };
        }
        r->spaces[r->n_spaces - 1].n++;
    }
    for (size_t i = 0; i < r->n_spaces; i++) {
        shash_add(&r->space_index, r->spaces[i].name, &r->spaces[i]);
    }
}

static void
index_local_ips(struct resolver *r)
{
    for (size_t i = 0; i < r->n_pods; i++) {
        const struct resolved_pod *pod = &r->pods[i];

        if (pod->local && !pod->ended && !pod->host_network) {
            for (size_t j = 0; j < pod->ips.n; j++) {
                sset_add(&r->local_ips, pod->ips.names[j]);
            }
        }
    }
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
    index_spaces(r);
    index_local_ips(r);
    return NULL;
}

static bool
same_mac(const char *a_, const char *b_)
{
    struct eth_addr a, b;

    return (a_ && b_ && eth_addr_from_string(a_, &a)
            && eth_addr_from_string(b_, &b) && eth_addr_equals(a, b));
}

/* What a Pod is annotated with can't be what OVSDB gives another one: returns
 * an error if 'port' or 'mac' is, each of which may be NULL. */
static char *
refuse_others(const struct resolver *r, const struct resolved_pod *pod,
              const char *port, const char *mac)
{
    const struct dpctl_ports *ports = (r->env->ports->all ? r->env->ports->all
                                       : r->env->ports);
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &ports->by_pod) {
        const struct dpctl_port *other = node->data;
        bool same_port = nullable_string_is_equal(port, other->name) && port;

        if (strcmp(node->name, pod->name)
            && (same_port || same_mac(mac, other->mac))) {
            return xasprintf("Pod %s: metadata.annotations: %s: %s is that "
                             "of Pod %s", pod->name,
                             same_port ? PORT_ANNOTATION : MAC_ANNOTATION,
                             same_port ? port : mac, node->name);
        }
    }
    return NULL;
}

static char *
complain_of_no_port(const struct resolver *r, const struct resolved_pod *pod)
{
    const struct dpctl_ports *ports = r->env->ports;

    return xasprintf("Pod %s: no port: %s%s%s; apply it when it has one",
                     pod->name,
                     (ports->available
                      ? "OVSDB has no Port with its external_ids:pod-name "
                        "and pod-namespace"
                      : "OVSDB can't be read: "),
                     ports->available ? "" : ports->why ? ports->why
                     : "not asked",
                     (ports->available
                      && annotation(pod->object, PORT_ANNOTATION)
                      ? ", and without the bridge's other_config:"
                        "antrea-dp-annotated-ports=true the annotation "
                        PORT_ANNOTATION " doesn't count" : ""));
}

/* What OVSDB says, or the record that is kept, goes before annotations. */
static char *
resolve_pod_record(struct resolver *r, const struct resolved_pod *pod)
{
    const struct dpctl_port *port
        = shash_find_data(&r->env->ports->by_pod, pod->name);
    const char *own_name = port ? port->name : NULL;
    const char *own_mac = port ? port->mac : NULL;
    const char *named = (own_name ? NULL
                         : port_annotation(r, pod->object, PORT_ANNOTATION));
    const char *addressed = (own_mac ? NULL
                             : port_annotation(r, pod->object,
                                               MAC_ANNOTATION));
    const char *name = own_name ? own_name : named;
    const char *mac = own_mac ? own_mac : addressed;

    if (!r->env->keys_only) {
        char *error = (!name ? complain_of_no_port(r, pod)
                       : !mac ? xasprintf("Pod %s: no MAC address: port %s "
                                          "has no external_ids:attached-mac",
                                          pod->name, name)
                       : named || addressed ? refuse_others(r, pod, named,
                                                            addressed)
                       : NULL);
        if (error) {
            return error;
        }
    }

    struct json *record = resolver_record("Pod", pod->name);
    json_object_put_string(record, "port", name ? name : "");
    json_object_put_string(record, "mac", mac ? mac : "");
    json_object_put(record, "ips", resolver_strings(&pod->ips));
    resolver_put(r, record);
    return NULL;
}

static bool
is_kept(const struct resolver *r, const struct resolved_pod *pod)
{
    char *key = dpctl_record_key("Pod", pod->name);
    bool kept = r->env->kept && shash_find(r->env->kept, key);

    free(key);
    return kept;
}

char *
resolve_pod_records(struct resolver *r)
{
    for (size_t i = 0; i < r->n_pods; i++) {
        const struct resolved_pod *pod = &r->pods[i];
        if (pod->local && !pod->host_network && !pod->ended && pod->ips.n
            && !is_kept(r, pod)) {
            char *manifest = xasprintf("Pod.v1/%s", pod->name);
            char *error = resolver_refuse(r, manifest,
                                          resolve_pod_record(r, pod));
            free(manifest);
            if (error) {
                return error;
            }
        }
    }
    return NULL;
}

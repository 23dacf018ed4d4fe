/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-parse.h"

#include <inttypes.h>
#include <stdlib.h>

#include "hash.h"
#include "model-pause.h"
#include "model-sort.h"
#include "packets.h"
#include "util.h"

static const uint8_t l4_protocols[] = {
    IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP
};

/* NodeConfig. */

static void
parse_gateway(struct adp_reader *r, const struct json *json,
              struct adp_node_config *node,
              struct in6_addr ips[ADP_N_FAMILIES])
{
    struct adp_object o;
    size_t mark = adp_reader_enter(r, "gateway");

    adp_object_open(&o, r, json);
    node->gateway_port = nullable_xstrdup(
        adp_object_string(&o, "port", ADP_REQUIRED));
    adp_object_mac(&o, "mac", ADP_REQUIRED, &node->gateway_mac);
    adp_object_family_ips(&o, "ip", ADP_REQUIRED, ips);
    adp_object_close(&o);
    adp_reader_leave(r, mark);
}

/* A family that a Node has is one of gateway and Pods. */
static void
parse_nets(struct adp_object *o, const struct in6_addr ips[ADP_N_FAMILIES],
           struct adp_node_net nets[ADP_N_FAMILIES])
{
    struct adp_cidr cidrs[ADP_N_FAMILIES];
    bool has[ADP_N_FAMILIES];

    adp_object_family_cidrs(o, "podCIDR", ADP_REQUIRED, cidrs, has);
    ADP_FOR_EACH_FAMILY (family) {
        if (!o->reader->error
            && ipv6_addr_is_set(&ips[family]) != has[family]) {
            adp_reader_error_at(o->reader, "podCIDR",
                                "and the gateway's address must be of the "
                                "same families");
        }
        if (has[family]) {
            nets[family] = (struct adp_node_net) { ips[family],
                                                   cidrs[family] };
        }
    }
}

static void
parse_tunnel(struct adp_reader *r, const struct json *json,
             struct adp_node_config *node)
{
    struct adp_object o;
    size_t mark = adp_reader_enter(r, "tunnel");

    adp_object_open(&o, r, json);
    node->tunnel_port = nullable_xstrdup(
        adp_object_string(&o, "port", ADP_REQUIRED));
    adp_object_close(&o);
    if (node->tunnel_port && node->gateway_port
        && !strcmp(node->tunnel_port, node->gateway_port)) {
        adp_reader_error_at(r, "port", "\"%s\" is the gateway's port",
                            node->tunnel_port);
    }
    adp_reader_leave(r, mark);
}

struct adp_record *
adp_parse_node_config(struct adp_object *o)
{
    struct adp_node_config *node = xzalloc(sizeof *node);
    struct in6_addr ips[ADP_N_FAMILIES] = { IN6ADDR_ANY_INIT };
    const struct json *json;

    json = adp_object_member(o, "gateway", ADP_REQUIRED);
    if (json) {
        parse_gateway(o->reader, json, node, ips);
    }
    json = adp_object_member(o, "tunnel", ADP_OPTIONAL);
    if (json) {
        parse_tunnel(o->reader, json, node);
    }
    adp_parse_l7_ports(o, node);
    parse_nets(o, ips, node->net);
    adp_object_family_cidrs(o, "serviceCIDR", ADP_OPTIONAL, node->service_cidr,
                            node->has_service_cidr);
    adp_object_host_ip(o, "transportIP", ADP_REQUIRED, &node->transport_ip);
    node->proxy_all = adp_object_bool(o, "proxyAll", true);

    adp_object_host_ips(o, "nodePortAddresses", ADP_OPTIONAL,
                        &node->node_port_addresses);
    if (o->members && !shash_find(o->members, "nodePortAddresses")) {
        node->node_port_addresses.ips = xmemdup(&node->transport_ip,
                                                sizeof node->transport_ip);
        node->node_port_addresses.n = 1;
    }
    return &node->up;
}

void
adp_free_node_config(struct adp_record *record)
{
    struct adp_node_config *node = CONTAINER_OF(record, struct adp_node_config,
                                                up);
    free(node->gateway_port);
    free(node->tunnel_port);
    free(node->l7_target_port);
    free(node->l7_return_port);
    adp_ips_uninit(&node->node_port_addresses);
    free(node);
}

/* Pod. */

/* Names of Pods and Services have a namespace. */
static void
check_namespaced(struct adp_object *o)
{
    const char *name = o->members ? adp_object_string(o, "name", ADP_REQUIRED)
                                  : NULL;
    if (name) {
        const char *slash = strchr(name, '/');

        if (!slash || slash == name || !slash[1] || strchr(slash + 1, '/')) {
            adp_reader_error_at(o->reader, "name",
                                "\"%s\" is not NAMESPACE/NAME", name);
        }
    }
}

struct adp_record *
adp_parse_pod(struct adp_object *o)
{
    struct adp_pod *pod = xzalloc(sizeof *pod);

    check_namespaced(o);
    pod->port = nullable_xstrdup(adp_object_string(o, "port", ADP_REQUIRED));
    adp_object_mac(o, "mac", ADP_REQUIRED, &pod->mac);
    adp_object_host_ips(o, "ips", ADP_REQUIRED, &pod->ips);
    if (!pod->ips.n) {
        adp_reader_error_at(o->reader, "ips", "must not be empty");
    }
    return &pod->up;
}

void
adp_free_pod(struct adp_record *record)
{
    struct adp_pod *pod = CONTAINER_OF(record, struct adp_pod, up);

    free(pod->port);
    adp_ips_uninit(&pod->ips);
    free(pod);
}

/* PeerNode. */

struct adp_record *
adp_parse_peer_node(struct adp_object *o)
{
    struct adp_peer_node *peer = xzalloc(sizeof *peer);

    struct in6_addr ips[ADP_N_FAMILIES] = { IN6ADDR_ANY_INIT };

    adp_object_family_ips(o, "gatewayIP", ADP_REQUIRED, ips);
    parse_nets(o, ips, peer->net);
    adp_object_host_ip(o, "transportIP", ADP_REQUIRED, &peer->transport_ip);
    adp_object_host_ips(o, "nodeIPs", ADP_OPTIONAL, &peer->node_ips);
    return &peer->up;
}

void
adp_free_peer_node(struct adp_record *record)
{
    struct adp_peer_node *peer = CONTAINER_OF(record, struct adp_peer_node,
                                              up);
    adp_ips_uninit(&peer->node_ips);
    free(peer);
}

/* Service. */

static void
parse_endpoint(struct adp_reader *r, const struct json *json,
               struct adp_endpoint *ep)
{
    struct adp_object o;

    adp_object_open(&o, r, json);
    adp_object_host_ip(&o, "ip", ADP_REQUIRED, &ep->ip);
    ep->port = adp_object_integer(&o, "port", 1, 65535, ADP_REQUIRED, 0);
    ep->local = adp_object_bool(&o, "local", false);
    ep->weight = adp_object_integer(&o, "weight", 1, 65535, ADP_OPTIONAL, 100);
    ep->terminating = adp_object_bool(&o, "terminating", false);
    ep->local_only = adp_object_bool(&o, "localOnly", false);
    adp_object_close(&o);
    if (ep->local_only && !ep->local) {
        adp_reader_error_at(r, "localOnly", "the endpoint isn't local");
    }
}

static bool
is_candidate(const struct adp_endpoint *ep, bool local)
{
    return local ? ep->local : !ep->local_only;
}

bool
adp_service_has_node_port(const struct adp_service *svc)
{
    for (size_t i = 0; i < svc->n_ports; i++) {
        if (svc->ports[i].node_port) {
            return true;
        }
    }
    return false;
}

bool
adp_service_has_family(const struct adp_service *svc, enum adp_family family)
{
    if (ipv6_addr_is_set(&svc->cluster_ip[ADP_IPV4])
        || ipv6_addr_is_set(&svc->cluster_ip[ADP_IPV6])) {
        return ipv6_addr_is_set(&svc->cluster_ip[family]);
    }

    bool has = family == ADP_IPV4;
    for (size_t i = 0; i < svc->n_ports && !has; i++) {
        const struct adp_service_port *port = &svc->ports[i];

        for (size_t j = 0; j < port->n_endpoints && !has; j++) {
            has = adp_ip_family(&port->endpoints[j].ip) == family;
        }
    }
    return has;
}

bool
adp_service_port_selects(const struct adp_service_port *port,
                         const struct adp_endpoint *ep, bool local)
{
    enum adp_family family = adp_ip_family(&ep->ip);

    return (is_candidate(ep, local)
            && ep->terminating == !port->has_ready[family][local]);
}

static void
parse_endpoints(struct adp_object *parent, struct adp_service_port *port)
{
    const struct json *json;
    struct adp_list l;

    adp_list_open(&l, parent, "endpoints", ADP_OPTIONAL);
    port->endpoints = l.n ? xcalloc(l.n, sizeof *port->endpoints) : NULL;
    while ((json = adp_list_next(&l)) != NULL) {
        struct adp_endpoint *ep = &port->endpoints[port->n_endpoints++];

        parse_endpoint(l.reader, json, ep);
        for (int local = 0; local < 2; local++) {
            port->has_ready[adp_ip_family(&ep->ip)][local]
                |= !ep->terminating && is_candidate(ep, local);
        }

        char *key = xasprintf("%s:%"PRIu16, adp_ip_host_text(&ep->ip).s,
                              ep->port);
        if (!l.reader->error) {
            adp_list_is_new(&l, key);
        }
        free(key);
        adp_pause();
    }
    adp_list_close(&l);
}

static void
parse_service_port(struct adp_reader *r, const struct json *json,
                   struct adp_service_port *port)
{
    static const char *const protocols[] = { ADP_L4_PROTOCOLS, NULL };
    struct adp_object o;

    adp_object_open(&o, r, json);
    adp_object_string(&o, "name", ADP_OPTIONAL);
    port->protocol = l4_protocols[adp_object_choice(&o, "protocol", protocols,
                                                    0)];
    port->port = adp_object_integer(&o, "port", 1, 65535, ADP_REQUIRED, 0);
    port->node_port = adp_object_integer(&o, "nodePort", 1, 65535,
                                         ADP_OPTIONAL, 0);
    parse_endpoints(&o, port);
    adp_object_close(&o);
}

static void
check_service_port_is_new(struct adp_list *l,
                          const struct adp_service_port *port)
{
    const struct {
        const char *field;
        uint16_t number;
    } numbers[] = {
        { "port", port->port },
        { "nodePort", port->node_port },
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers) && !l->reader->error; i++) {
        char *key = xasprintf("%s %"PRIu8" %"PRIu16, numbers[i].field,
                              port->protocol, numbers[i].number);
        if (numbers[i].number && !sset_add(&l->seen, key)) {
            adp_reader_error_at(l->reader, numbers[i].field,
                                "%"PRIu16" is listed twice for one protocol",
                                numbers[i].number);
        }
        free(key);
    }
}

static void
parse_service_ports(struct adp_object *parent, struct adp_service *svc)
{
    const struct json *json;
    struct adp_list l;

    adp_list_open(&l, parent, "ports", ADP_REQUIRED);
    svc->ports = l.n ? xcalloc(l.n, sizeof *svc->ports) : NULL;
    while ((json = adp_list_next(&l)) != NULL) {
        struct adp_service_port *port = &svc->ports[svc->n_ports++];

        parse_service_port(l.reader, json, port);
        check_service_port_is_new(&l, port);
    }
    adp_list_close(&l);
}

static void
parse_source_ranges(struct adp_object *parent, struct adp_service *svc)
{
    const struct json *json;
    struct adp_list l;

    adp_list_open(&l, parent, "loadBalancerSourceRanges", ADP_OPTIONAL);
    svc->source_ranges = l.n ? xcalloc(l.n, sizeof *svc->source_ranges) : NULL;
    while ((json = adp_list_next(&l)) != NULL) {
        struct adp_cidr *range = &svc->source_ranges[svc->n_source_ranges++];

        if (adp_value_cidr(l.reader, json, range)) {
            adp_list_is_new(&l, adp_cidr_text(range).s);
        }
    }
    adp_list_close(&l);
}

static uint16_t
parse_session_affinity(struct adp_object *parent)
{
    const struct json *json = adp_object_member(parent, "sessionAffinity",
                                                ADP_OPTIONAL);
    if (!json) {
        return 0;
    }

    struct adp_object o;
    size_t mark = adp_reader_enter(parent->reader, "sessionAffinity");
    adp_object_open(&o, parent->reader, json);
    uint16_t timeout = adp_object_integer(&o, "timeoutSeconds", 1, 65535,
                                          ADP_REQUIRED, 0);
    adp_object_close(&o);
    adp_reader_leave(parent->reader, mark);
    return timeout;
}

struct adp_record *
adp_parse_service(struct adp_object *o)
{
    static const char *const traffic_policies[] = { "Cluster", "Local", NULL };
    static const char *const modes[] = { "NAT", "DSR", NULL };
    struct adp_service *svc = xzalloc(sizeof *svc);

    check_namespaced(o);
    adp_object_family_ips(o, "clusterIP", ADP_OPTIONAL, svc->cluster_ip);
    adp_object_host_ips(o, "loadBalancerIPs", ADP_OPTIONAL,
                        &svc->load_balancer_ips);
    parse_source_ranges(o, svc);
    adp_object_host_ips(o, "externalIPs", ADP_OPTIONAL, &svc->external_ips);
    svc->created = nullable_xstrdup(adp_object_string(o, "created",
                                                      ADP_OPTIONAL));
    parse_service_ports(o, svc);
    svc->affinity_timeout = parse_session_affinity(o);
    svc->external_local = adp_object_choice(o, "externalTrafficPolicy",
                                            traffic_policies, 0);
    svc->internal_local = adp_object_choice(o, "internalTrafficPolicy",
                                            traffic_policies, 0);
    svc->dsr = adp_object_choice(o, "loadBalancerMode", modes, 0);
    return &svc->up;
}

void
adp_free_service(struct adp_record *record)
{
    struct adp_service *svc = CONTAINER_OF(record, struct adp_service, up);

    adp_ips_uninit(&svc->load_balancer_ips);
    adp_ips_uninit(&svc->external_ips);
    free(svc->source_ranges);
    free(svc->created);
    for (size_t i = 0; i < svc->n_ports; i++) {
        free(svc->ports[i].endpoints);
    }
    free(svc->ports);
    free(svc);
}

/* AddressGroup. */

static void
check_duplicate_addresses(struct adp_reader *r, struct adp_address_group *ag)
{
    struct adp_cidr *sorted = adp_sorted_cidrs(ag->addresses,
                                               ag->n_addresses);

    for (size_t i = 1; i < ag->n_addresses; i++) {
        if (!adp_cidr_compare(&sorted[i - 1], &sorted[i])) {
            size_t last = ag->n_addresses - 1;

            while (adp_cidr_compare(&ag->addresses[last], &sorted[i])) {
                last--;
            }
            size_t mark = adp_reader_enter_index(r, last);
            adp_reader_error(r, "%s is listed twice",
                             adp_cidr_text(&sorted[i]).s);
            adp_reader_leave(r, mark);
            break;
        }
    }
    free(sorted);
}

struct adp_record *
adp_parse_address_group(struct adp_object *o)
{
    struct adp_address_group *ag = xzalloc(sizeof *ag);
    struct adp_reader *r = o->reader;
    size_t n;
    struct json **elems = adp_object_array(o, "addresses", ADP_REQUIRED, &n);

    ag->addresses = n ? xcalloc(n, sizeof *ag->addresses) : NULL;

    size_t outer = adp_reader_enter(r, "addresses");
    for (size_t i = 0; i < n && !r->error; i++) {
        size_t mark = adp_reader_enter_index(r, i);
        adp_value_ip_or_cidr(r, elems[i], &ag->addresses[ag->n_addresses++]);
        adp_reader_leave(r, mark);
        adp_pause();
    }
    if (!r->error && n) {
        check_duplicate_addresses(r, ag);
    }
    adp_reader_leave(r, outer);
    return &ag->up;
}

void
adp_free_address_group(struct adp_record *record)
{
    struct adp_address_group *ag = CONTAINER_OF(record,
                                                struct adp_address_group, up);
    free(ag->addresses);
    free(ag);
}

/* FQDN. */

struct adp_record *
adp_parse_fqdn(struct adp_object *o)
{
    return adp_parse_address_group(o);
}

void
adp_free_fqdn(struct adp_record *record)
{
    adp_free_address_group(record);
}

/* MulticastGroup. */

struct adp_record *
adp_parse_multicast_group(struct adp_object *o)
{
    struct adp_multicast_group *group = xzalloc(sizeof *group);
    const char *name = adp_object_string(o, "name", ADP_REQUIRED);

    if (name && (!ip_parse(name, &group->ip)
                 || !ip_is_multicast(group->ip))) {
        adp_reader_error_at(o->reader, "name", "must be an IPv4 multicast "
                            "address");
    }
    adp_object_names(o, "ports", ADP_REQUIRED, &group->ports);
    adp_object_host_ips(o, "nodes", ADP_OPTIONAL, &group->nodes);
    return &group->up;
}

void
adp_free_multicast_group(struct adp_record *record)
{
    struct adp_multicast_group *group
        = CONTAINER_OF(record, struct adp_multicast_group, up);

    adp_names_uninit(&group->ports);
    adp_ips_uninit(&group->nodes);
    free(group);
}

/* AppliedToGroup. */

struct adp_record *
adp_parse_applied_to_group(struct adp_object *o)
{
    struct adp_applied_to_group *atg = xzalloc(sizeof *atg);

    adp_object_names(o, "pods", ADP_REQUIRED, &atg->pods);
    return &atg->up;
}

void
adp_free_applied_to_group(struct adp_record *record)
{
    struct adp_applied_to_group *atg
        = CONTAINER_OF(record, struct adp_applied_to_group, up);

    adp_names_uninit(&atg->pods);
    free(atg);
}

/* Manifest. */

/* Words by which the record can be found (model-index.h). */
static void
check_keys(struct adp_object *o)
{
    struct adp_reader *r = o->reader;
    size_t n;
    struct json **elems = adp_object_array(o, "keys", ADP_OPTIONAL, &n);

    size_t outer = adp_reader_enter(r, "keys");
    if (n > ADP_MANIFEST_MAX_KEYS) {
        adp_reader_error(r, "holds %"PRIuSIZE" keys, and may hold %d", n,
                         ADP_MANIFEST_MAX_KEYS);
    }
    for (size_t i = 0; i < n && !r->error; i++) {
        size_t mark = adp_reader_enter_index(r, i);
        adp_value_string(r, elems[i]);
        adp_reader_leave(r, mark);
    }
    adp_reader_leave(r, outer);
}

struct adp_record *
adp_parse_manifest(struct adp_object *o)
{
    struct adp_manifest *manifest = xzalloc(sizeof *manifest);
    const struct json *json = adp_object_member(o, "object", ADP_REQUIRED);

    if (json && json->type != JSON_OBJECT
        && json->type != JSON_SERIALIZED_OBJECT) {
        adp_reader_error_at(o->reader, "object", "must be object, not %s",
                            json_type_to_string(json->type));
    } else if (json) {
        size_t mark = adp_reader_enter(o->reader, "object");
        adp_value_any(o->reader, json);
        adp_reader_leave(o->reader, mark);
    }
    check_keys(o);
    return &manifest->up;
}

void
adp_free_manifest(struct adp_record *record)
{
    free(CONTAINER_OF(record, struct adp_manifest, up));
}

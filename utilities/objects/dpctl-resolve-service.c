/* SPDX-License-Identifier: Apache-2.0 */

/* Services and where their endpoints are.
 *
 * Which of them a Node uses is what kube-proxy would say: those that are
 * ready, of these the ones hinted for the Node if all have such hints and one
 * is for it, else the same of the Node's zone, and those that terminate but
 * serve where no other is left. */

#include <config.h>
#include "dpctl-resolve-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-selector.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

struct service {
    const struct json *object;
    const char *namespace_;
    const char *name;
    bool families[DPCTL_N_FAMILIES];    /* Which it has. */
    const struct json_array *slices;    /* Of this Service. */
    const struct json *endpoints;       /* The Endpoints object, or NULL. */
};

/* What endpoints may be hinted for: what is first goes first. */
enum hint { HINT_NODE, HINT_ZONE, N_HINTS };

struct endpoint {
    char *ip;
    long long int port;
    bool local;
    bool terminating;                   /* And serving. */
    bool hinted[N_HINTS];               /* It has such hints, */
    bool here[N_HINTS];                 /* and one is for this Node. */
};

/* One Service port, while its endpoints are gathered. */
struct port_endpoints {
    const char *name;                   /* "" if it has none. */
    const char *protocol;
    const bool *families;
    struct shash endpoints;             /* "IP:PORT" to struct endpoint. */
};

static bool
is_same_name(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

/* Where is the endpoint?  An object that doesn't say so has the Pod's node. */
static bool
endpoint_is_local(const struct resolver *r, const char *node, const char *ip)
{
    if (node) {
        return r->node && !strcmp(node, r->node);
    }
    resolver_note_looks(r, 1);
    return sset_contains(&r->local_ips, ip);
}

static void
add_endpoint(const struct resolver *r, struct port_endpoints *pe,
             const char *given, long long int port, const char *node,
             const struct endpoint *is)
{
    char *ip = dpctl_address_text(given);

    if (!ip || !port || !pe->families[dpctl_family_of(ip)]) {
        free(ip);
        return;
    }

    char *key = xasprintf(strchr(ip, ':') ? "[%s]:%lld" : "%s:%lld", ip,
                          port);
    struct endpoint *known = shash_find_data(&pe->endpoints, key);
    if (!known) {
        struct endpoint *endpoint = xmemdup(is, sizeof *is);

        endpoint->ip = xstrdup(ip);
        endpoint->port = port;
        endpoint->local = endpoint_is_local(r, node, ip);
        shash_add(&pe->endpoints, key, endpoint);
    } else if (known->terminating && !is->terminating) {
        known->terminating = false;
        memcpy(known->hinted, is->hinted, sizeof known->hinted);
        memcpy(known->here, is->here, sizeof known->here);
    }
    free(key);
    free(ip);
}

static void
endpoints_destroy(struct port_endpoints *pe)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &pe->endpoints) {
        struct endpoint *endpoint = node->data;

        free(endpoint->ip);
    }
    shash_destroy_free_data(&pe->endpoints);
}

/* Are such hints of the endpoints of that family to be followed? */
static bool
uses_hints(const struct port_endpoints *pe, enum dpctl_family family,
           enum hint hint)
{
    const struct shash_node *node;
    bool any = false;

    SHASH_FOR_EACH (node, &pe->endpoints) {
        const struct endpoint *endpoint = node->data;

        if (!endpoint->terminating
            && dpctl_family_of(endpoint->ip) == family) {
            if (!endpoint->hinted[hint]) {
                return false;
            }
            any |= endpoint->here[hint];
        }
    }
    return any;
}

/* Which hints are, or N_HINTS. */
static enum hint
hint_of_family(const struct port_endpoints *pe, enum dpctl_family family)
{
    enum hint hint = 0;

    while (hint < N_HINTS && !uses_hints(pe, family, hint)) {
        hint++;
    }
    return hint;
}

/* NULL if nobody asks for the endpoint here. */
static struct json *
endpoint_to_json(const struct endpoint *endpoint, enum hint hint,
                 bool any_local)
{
    bool elsewhere = (hint < N_HINTS && !endpoint->terminating
                      && !endpoint->here[hint]);

    if (elsewhere && !(any_local && endpoint->local)) {
        return NULL;
    }

    struct json *json = json_object_create();
    json_object_put_string(json, "ip", endpoint->ip);
    json_object_put(json, "port", json_integer_create(endpoint->port));
    if (endpoint->local) {
        json_object_put(json, "local", json_boolean_create(true));
    }
    if (endpoint->terminating) {
        json_object_put(json, "terminating", json_boolean_create(true));
    }
    if (elsewhere) {
        json_object_put(json, "localOnly", json_boolean_create(true));
    }
    return json;
}

/* The number of the port in 'ports' that belongs to the Service's port. */
static long long int
matching_port(const struct json_array *ports, const struct port_endpoints *pe)
{
    for (size_t i = 0; i < ports->n; i++) {
        const struct json *port = ports->elems[i];
        const char *protocol = dpctl_json_str(port, "protocol");

        if (is_same_name(dpctl_json_str(port, "name"), pe->name)
            && !strcmp(protocol ? protocol : "TCP", pe->protocol)) {
            return dpctl_json_int(port, "port", 0);
        }
    }
    return 0;
}

static void
get_hints(const struct resolver *r, const struct json *e,
          struct endpoint *endpoint)
{
    static const char *const lists[N_HINTS] = {
        "hints.forNodes", "hints.forZones"
    };
    const char *const own[N_HINTS] = { r->node, resolver_zone(r) };

    for (enum hint hint = 0; hint < N_HINTS; hint++) {
        const struct json_array *names = dpctl_json_array(e, lists[hint]);

        endpoint->hinted[hint] = names->n > 0;
        for (size_t i = 0; i < names->n; i++) {
            const char *name = dpctl_json_str(names->elems[i], "name");

            endpoint->here[hint] |= own[hint] && !strcmp(name, own[hint]);
        }
    }
}

/* Conditions that aren't given are the default.  Returns false if the endpoint
 * is of no use. */
static bool
get_conditions(const struct json *e, struct endpoint *endpoint)
{
    bool ready = dpctl_json_bool(e, "conditions.ready", true);
    bool serving = dpctl_json_bool(e, "conditions.serving", true);
    bool terminating = dpctl_json_bool(e, "conditions.terminating", false);

    endpoint->terminating = !ready;
    return ready || (serving && terminating);
}

static void
endpoints_from_slice(const struct resolver *r, const struct json *slice,
                     struct port_endpoints *pe)
{
    const struct json_array *endpoints = dpctl_json_array(slice, "endpoints");
    long long int port = matching_port(dpctl_json_array(slice, "ports"), pe);

    const char *type = dpctl_json_str(slice, "addressType");
    if (!strcmp(type, "FQDN")) {
        return;
    }
    enum dpctl_family family = strcmp(type, "IPv4") ? DPCTL_IPV6 : DPCTL_IPV4;
    for (size_t i = 0; i < endpoints->n; i++) {
        const struct json *e = endpoints->elems[i];
        const struct json_array *addresses = dpctl_json_array(e, "addresses");

        /* Several addresses of one endpoint are the same thing: the first
         * will do. */
        struct endpoint is = { .ip = NULL };
        if (get_conditions(e, &is) && addresses->n
            && dpctl_family_of(addresses->elems[0]->string) == family) {
            get_hints(r, e, &is);
            add_endpoint(r, pe, addresses->elems[0]->string, port,
                         dpctl_json_str(e, "nodeName"), &is);
        }
    }
}

static void
endpoints_from_object(const struct resolver *r, const struct json *object,
                      struct port_endpoints *pe)
{
    const struct json_array *subsets = dpctl_json_array(object, "subsets");
    const struct endpoint ready = { .ip = NULL };

    for (size_t i = 0; i < subsets->n; i++) {
        const struct json *subset = subsets->elems[i];
        const struct json_array *addresses = dpctl_json_array(subset,
                                                              "addresses");
        long long int port = matching_port(dpctl_json_array(subset, "ports"),
                                           pe);
        for (size_t j = 0; j < addresses->n; j++) {
            add_endpoint(r, pe, dpctl_json_str(addresses->elems[j], "ip"),
                         port, dpctl_json_str(addresses->elems[j],
                                              "nodeName"), &ready);
        }
    }
}

/* The Pod's first address of each family. */
static void
add_pod_endpoints(const struct resolver *r, struct port_endpoints *pe,
                  const struct resolved_pod *pod, long long int port,
                  const struct endpoint *is)
{
    const char *node = (pod->node ? pod->node
                        : pod->local ? r->node : NULL);
    bool seen[DPCTL_N_FAMILIES] = { false };

    for (size_t i = 0; i < pod->ips.n; i++) {
        enum dpctl_family family = dpctl_family_of(pod->ips.names[i]);

        if (!seen[family]) {
            seen[family] = true;
            add_endpoint(r, pe, pod->ips.names[i], port, node, is);
        }
    }
}

static void
endpoints_from_pods(const struct resolver *r, const struct service *s,
                    const struct json *service_port,
                    struct port_endpoints *pe)
{
    const struct json *selector = dpctl_json_get(s->object, "spec.selector");
    const struct json *target = dpctl_json_get(service_port, "targetPort");
    bool not_ready = dpctl_json_bool(s->object,
                                     "spec.publishNotReadyAddresses", false);

    if (!selector || shash_is_empty(json_object(selector))) {
        return;
    }
    struct json *match = json_object_create();
    json_object_put(match, "matchLabels", json_clone(selector));
    const struct pod_space *space = resolver_space(r, s->namespace_);
    resolver_note_looks(r, space->n);
    for (size_t i = 0; i < space->n; i++) {
        const struct resolved_pod *pod = &space->pods[i];
        if (pod->ended || !pod->ips.n || (!pod->ready && !not_ready)
            || !dpctl_selector_matches(match, pod->labels)) {
            continue;
        }
        long long int port
            = (!target ? dpctl_json_int(service_port, "port", 0)
               : target->type == JSON_INTEGER ? target->integer
               : resolver_named_port(pod, json_string(target),
                                     pe->protocol));
        const struct endpoint is = {
            .terminating = pod->terminating && !not_ready,
        };
        add_pod_endpoints(r, pe, pod, port, &is);
    }
    json_destroy(match);
}

static struct json *
resolve_port(const struct resolver *r, const struct service *s,
             const struct json *service_port, bool has_node_port,
             bool any_local)
{
    const char *name = dpctl_json_str(service_port, "name");
    const char *protocol = dpctl_json_str(service_port, "protocol");
    long long int node_port = dpctl_json_int(service_port, "nodePort", 0);
    struct port_endpoints pe = {
        .name = name ? name : "",
        .protocol = protocol ? protocol : "TCP",
        .families = s->families,
        .endpoints = SHASH_INITIALIZER(&pe.endpoints),
    };

    if (s->slices) {
        for (size_t i = 0; i < s->slices->n; i++) {
            endpoints_from_slice(r, s->slices->elems[i], &pe);
        }
    } else if (s->endpoints) {
        endpoints_from_object(r, s->endpoints, &pe);
    } else {
        endpoints_from_pods(r, s, service_port, &pe);
    }

    struct json *port = json_object_create();
    if (name && name[0]) {
        json_object_put_string(port, "name", name);
    }
    json_object_put_string(port, "protocol", pe.protocol);
    json_object_put(port, "port",
                    json_integer_create(dpctl_json_int(service_port, "port",
                                                       0)));
    if (has_node_port && node_port) {
        json_object_put(port, "nodePort", json_integer_create(node_port));
    }

    /* In the order of addresses: a record must not depend on a hash. */
    struct svec keys = SVEC_EMPTY_INITIALIZER;
    const struct shash_node *node;
    SHASH_FOR_EACH (node, &pe.endpoints) {
        svec_add(&keys, node->name);
    }
    svec_sort(&keys);
    struct json *endpoints = json_array_create_empty();
    enum hint hints[DPCTL_N_FAMILIES];
    for (enum dpctl_family i = 0; i < DPCTL_N_FAMILIES; i++) {
        hints[i] = hint_of_family(&pe, i);
    }
    for (size_t i = 0; i < keys.n; i++) {
        const struct endpoint *e = shash_find_data(&pe.endpoints,
                                                   keys.names[i]);
        struct json *endpoint
            = endpoint_to_json(e, hints[dpctl_family_of(e->ip)], any_local);
        if (endpoint) {
            json_array_add(endpoints, endpoint);
        }
    }
    json_object_put(port, "endpoints", endpoints);
    svec_destroy(&keys);
    endpoints_destroy(&pe);
    return port;
}

/* Adds the address, if the Service has its family. */
static void
add_frontend(const struct service *s, const char *given, struct svec *ips)
{
    char *ip = dpctl_address_text(given);

    if (ip && s->families[dpctl_family_of(ip)]) {
        svec_add(ips, ip);
    }
    free(ip);
}

/* Puts the addresses of a list under 'member', if there are any. */
static bool
put_addresses(struct json *record, const char *member, struct svec *ips)
{
    bool any = ips->n > 0;

    if (any) {
        resolver_sort_addresses(ips);
        json_object_put(record, member, resolver_strings(ips));
    }
    svec_destroy(ips);
    return any;
}

/* Of both families: an address without a range of its family isn't open to
 * all, if there are others. */
static void
put_source_ranges(const struct service *s, struct json *record)
{
    const struct json_array *ranges
        = dpctl_json_array(s->object, "spec.loadBalancerSourceRanges");
    struct svec cidrs = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < ranges->n; i++) {
        char *cidr = dpctl_network_text(ranges->elems[i]->string);

        if (cidr) {
            svec_add_nocopy(&cidrs, cidr);
        }
    }
    if (cidrs.n) {
        svec_sort_unique(&cidrs);
        json_object_put(record, "loadBalancerSourceRanges",
                        resolver_strings(&cidrs));
    }
    svec_destroy(&cidrs);
}

/* The first ClusterIP of each family, or NULL; the caller frees them. */
static void
get_cluster_ips(const struct json *object, char *ips[DPCTL_N_FAMILIES])
{
    const struct json_array *array = dpctl_json_array(object,
                                                      "spec.clusterIPs");
    char *ip = dpctl_address_text(dpctl_json_str(object, "spec.clusterIP"));

    if (ip) {
        ips[dpctl_family_of(ip)] = ip;
    }
    for (size_t i = 0; i < array->n; i++) {
        ip = dpctl_address_text(array->elems[i]->string);
        if (ip && !ips[dpctl_family_of(ip)]) {
            ips[dpctl_family_of(ip)] = ip;
        } else {
            free(ip);
        }
    }
}

void
dpctl_service_families(const struct json *object,
                       bool families[DPCTL_N_FAMILIES])
{
    const struct json_array *named = dpctl_json_array(object,
                                                      "spec.ipFamilies");
    char *ips[DPCTL_N_FAMILIES] = { NULL };

    get_cluster_ips(object, ips);
    for (size_t i = 0; i < DPCTL_N_FAMILIES; i++) {
        families[i] = ips[i] != NULL;
    }
    dpctl_families_uninit(ips);
    for (size_t i = 0; i < named->n; i++) {
        families[DPCTL_IPV4] |= !strcmp(named->elems[i]->string, "IPv4");
        families[DPCTL_IPV6] |= !strcmp(named->elems[i]->string, "IPv6");
    }
    if (!families[DPCTL_IPV4] && !families[DPCTL_IPV6]) {
        families[DPCTL_IPV4] = families[DPCTL_IPV6] = true;
    }
}

static bool
put_frontends(const struct service *s, struct json *record)
{
    const char *type = dpctl_json_str(s->object, "spec.type");
    char *cluster_ips[DPCTL_N_FAMILIES] = { NULL };

    get_cluster_ips(s->object, cluster_ips);
    struct json *cluster_ip = dpctl_families_to_json(cluster_ips);
    dpctl_families_uninit(cluster_ips);
    bool any = cluster_ip != NULL;
    if (any) {
        json_object_put(record, "clusterIP", cluster_ip);
    }

    struct svec lb = SVEC_EMPTY_INITIALIZER;
    if (type && !strcmp(type, "LoadBalancer")) {
        const struct json_array *ingress
            = dpctl_json_array(s->object, "status.loadBalancer.ingress");
        for (size_t i = 0; i < ingress->n; i++) {
            const char *ip = dpctl_json_str(ingress->elems[i], "ip");
            const char *mode = dpctl_json_str(ingress->elems[i], "ipMode");
            if (!mode || strcmp(mode, "Proxy")) {
                add_frontend(s, ip, &lb);
            }
        }
    }
    if (lb.n) {
        put_source_ranges(s, record);
    }
    any |= put_addresses(record, "loadBalancerIPs", &lb);

    struct svec external = SVEC_EMPTY_INITIALIZER;
    const struct json_array *ips = dpctl_json_array(s->object,
                                                    "spec.externalIPs");
    for (size_t i = 0; i < ips->n; i++) {
        add_frontend(s, ips->elems[i]->string, &external);
    }
    return put_addresses(record, "externalIPs", &external) || any;
}

static const char *const policies[] = {
    "externalTrafficPolicy", "internalTrafficPolicy"
};

/* Direct server return. */
static bool
is_dsr(const struct service *s)
{
    const struct json *mode
        = shash_find_data(dpctl_json_object(s->object, "metadata.annotations"),
                          "service.antrea.io/load-balancer-mode");

    return mode && !strcasecmp(json_string(mode), "dsr");
}

static bool
is_local(const struct service *s, const char *policy)
{
    const char *value = dpctl_json_str(dpctl_json_get(s->object, "spec"),
                                       policy);
    return value && !strcmp(value, "Local");
}

static void
put_options(const struct service *s, struct json *record)
{
    const struct json *spec = dpctl_json_get(s->object, "spec");
    const char *affinity = dpctl_json_str(spec, "sessionAffinity");

    if (affinity && !strcmp(affinity, "ClientIP")) {
        enum { DEFAULT_TIMEOUT = 10800 };
        long long int timeout
            = dpctl_json_int(spec,
                             "sessionAffinityConfig.clientIP.timeoutSeconds",
                             DEFAULT_TIMEOUT);
        struct json *json = json_object_create();
        json_object_put(json, "timeoutSeconds",
                        json_integer_create(MIN(timeout,
                                                DPCTL_MAX_AFFINITY_S)));
        json_object_put(record, "sessionAffinity", json);
    }
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
        if (is_local(s, policies[i])) {
            json_object_put_string(record, policies[i], "Local");
        }
    }
    if (is_dsr(s)) {
        json_object_put_string(record, "loadBalancerMode", "DSR");
    }
}

/* Is another proxy than the Node's own to serve it? */
static bool
has_other_proxy(const struct service *s)
{
    return shash_find(dpctl_json_object(s->object, "metadata.labels"),
                      "service.kubernetes.io/service-proxy-name") != NULL;
}

static bool
is_served(const struct service *s)
{
    const char *type = dpctl_json_str(s->object, "spec.type");
    const char *cluster_ip = dpctl_json_str(s->object, "spec.clusterIP");

    return !((type && !strcmp(type, "ExternalName"))
             || (cluster_ip && !strcmp(cluster_ip, "None"))
             || has_other_proxy(s));
}

struct json *
dpctl_service_addresses(const struct json *object)
{
    struct service s = { .object = object };
    struct json *record = json_object_create();

    dpctl_service_families(object, s.families);
    if (is_served(&s)) {
        put_frontends(&s, record);
    }
    return record;
}

/* Longer than any time. */
#define MAX_TIME_LEN 64

/* When it was created decides who serves an address for outsiders that others
 * have, too. */
static void
put_created(const struct service *s, struct json *record)
{
    const char *created = dpctl_json_str(s->object,
                                         "metadata.creationTimestamp");

    if (created && created[0] && strlen(created) <= MAX_TIME_LEN
        && (dpctl_json_member(record, "loadBalancerIPs")
            || dpctl_json_member(record, "externalIPs"))) {
        json_object_put_string(record, "created", created);
    }
}

static void
resolve_service(struct resolver *r, const struct service *s)
{
    const char *type = dpctl_json_str(s->object, "spec.type");
    bool has_node_port = type && (!strcmp(type, "NodePort")
                                  || !strcmp(type, "LoadBalancer"));

    if (!is_served(s)) {
        return;
    }

    char *name = xasprintf("%s/%s", s->namespace_, s->name);
    struct json *record = resolver_record("Service", name);
    bool reachable = put_frontends(s, record);
    const struct json_array *ports = dpctl_json_array(s->object,
                                                      "spec.ports");
    struct json *array = json_array_create_empty();
    bool any_local = (is_local(s, policies[0]) || is_local(s, policies[1])
                      || is_dsr(s));
    for (size_t i = 0; i < ports->n; i++) {
        struct json *port = resolve_port(r, s, ports->elems[i],
                                         has_node_port, any_local);
        reachable |= dpctl_json_member(port, "nodePort") != NULL;
        json_array_add(array, port);
    }
    json_object_put(record, "ports", array);
    put_options(s, record);
    put_created(s, record);
    if (reachable && ports->n) {
        resolver_put(r, record);
    } else {
        /* No address and no node port (yet): nobody can get there. */
        json_destroy(record);
    }
    free(name);
}

/* EndpointSlices by "NAMESPACE/SERVICE", as JSON arrays. */
static void
index_slices(const struct resolver *r, struct shash *index)
{
    size_t n;
    const struct shash_node **nodes
        = resolver_sorted(r, DPCTL_ENDPOINT_SLICE, &n);

    for (size_t i = 0; i < n; i++) {
        const struct json *slice = nodes[i]->data;
        char *key = dpctl_slice_service(slice);

        if (!key) {
            continue;
        }
        struct json *array = shash_find_data(index, key);
        if (!array) {
            array = json_array_create_empty();
            shash_add(index, key, array);
        }
        json_array_add(array, json_clone(slice));
        free(key);
    }
    free(nodes);
}

char *
resolve_services(struct resolver *r)
{
    struct shash slices = SHASH_INITIALIZER(&slices);
    size_t n;
    const struct shash_node **nodes = resolver_sorted(r, DPCTL_SERVICE, &n);

    index_slices(r, &slices);
    for (size_t i = 0; i < n; i++) {
        struct service s = {
            .object = nodes[i]->data,
            .namespace_ = dpctl_json_str(nodes[i]->data,
                                         "metadata.namespace"),
            .name = dpctl_json_str(nodes[i]->data, "metadata.name"),
        };
        char *key = xasprintf("%s/%s", s.namespace_, s.name);
        const struct json *array = shash_find_data(&slices, key);
        char *endpoints = dpctl_manifest_name(&dpctl_kinds[DPCTL_ENDPOINTS],
                                              s.namespace_, s.name);

        dpctl_service_families(s.object, s.families);
        s.slices = array ? json_array(array) : NULL;
        s.endpoints = shash_find_data(&r->objects[DPCTL_ENDPOINTS],
                                      endpoints);
        resolve_service(r, &s);
        free(endpoints);
        free(key);
    }
    free(nodes);
    dpctl_records_destroy(&slices);
    return NULL;
}

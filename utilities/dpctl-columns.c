/* SPDX-License-Identifier: Apache-2.0 */

/* The tables that "get" prints: which columns records and objects of a kind
 * have, and what stands in them. */

#include <config.h>
#include "dpctl-columns.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-print.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "svec.h"
#include "util.h"

/* What dpctl_layout_widen() adds to records. */
#define WITH_OBJECT "(object)"
#define WITH_NODE "(node)"

/* A column of the table of one kind: the string at 'path', or what 'cell'
 * makes of the record. */
struct column {
    const char *heading;
    const char *path;
    char *(*cell)(const struct json *record);
    bool wide;                  /* With -o wide alone. */
};

struct dpctl_layout {
    const char *kind;
    struct column columns[DPCTL_MAX_COLUMNS];
};

static char *list_text(const struct json_array *);

/* The string at 'path', or the strings: what a Node has of both families is a
 * list. */
static char *
text_at(const struct json *record, const char *path)
{
    const struct json *value = dpctl_json_get(record, path);

    return (value && value->type == JSON_ARRAY ? list_text(&value->array)
            : nullable_xstrdup(dpctl_json_str(record, path)));
}

static char *
cell_namespace(const struct json *record)
{
    const char *name = dpctl_json_str(record, "name");
    const char *slash = strchr(name, '/');

    return slash ? xmemdup0(name, slash - name) : NULL;
}

static char *
cell_short_name(const struct json *record)
{
    const char *name = dpctl_json_str(record, "name");
    const char *slash = strchr(name, '/');

    return xstrdup(slash ? slash + 1 : name);
}

/* The strings of an array, of which no more than a few are shown. */
static char *
list_text(const struct json_array *array)
{
    enum { MAX_SHOWN = 4 };
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < array->n; i++) {
        if (i == MAX_SHOWN) {
            ds_put_format(&ds, " + %"PRIuSIZE" more", array->n - i);
            break;
        }
        ds_put_format(&ds, "%s%s", i ? "," : "",
                      (array->elems[i]->type == JSON_STRING
                       ? array->elems[i]->string : "?"));
    }
    return ds.length ? ds_steal_cstr(&ds) : NULL;
}

static char *
cell_ips(const struct json *record)
{
    return list_text(dpctl_json_array(record, "ips"));
}

static char *
cell_addresses(const struct json *record)
{
    return list_text(dpctl_json_array(record, "addresses"));
}

/* Of a name: "10.0.0.1 (60s)"... */
static char *
cell_resolved(const struct json *record)
{
    const struct json_array *addresses = dpctl_json_array(record,
                                                          "addresses");
    struct json *texts = json_array_create_empty();

    for (size_t i = 0; i < addresses->n; i++) {
        const struct json *a = addresses->elems[i];

        json_array_add(texts, json_string_create_nocopy(
                           xasprintf("%s (%llds)", dpctl_json_str(a, "ip"),
                                     dpctl_json_int(a, "ttl", 0))));
    }
    char *text = list_text(json_array(texts));
    json_destroy(texts);
    return text;
}

static char *
cell_nodes(const struct json *record)
{
    return list_text(dpctl_json_array(record, "nodes"));
}

static char *
cell_fqdns(const struct json *record)
{
    return list_text(dpctl_json_array(record, "fqdns"));
}

static char *
cell_pods(const struct json *record)
{
    return list_text(dpctl_json_array(record, "pods"));
}

static char *
cell_external_ips(const struct json *record)
{
    const struct json_array *lb = dpctl_json_array(record, "loadBalancerIPs");

    return list_text(lb->n ? lb : dpctl_json_array(record, "externalIPs"));
}

static char *
cell_service_ports(const struct json *record)
{
    const struct json_array *ports = dpctl_json_array(record, "ports");
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < ports->n; i++) {
        const struct json *port = ports->elems[i];
        const char *protocol = dpctl_json_str(port, "protocol");
        long long int node_port = dpctl_json_int(port, "nodePort", 0);

        ds_put_format(&ds, "%s%lld", i ? "," : "",
                      dpctl_json_int(port, "port", 0));
        if (node_port) {
            ds_put_format(&ds, ":%lld", node_port);
        }
        ds_put_format(&ds, "/%s", protocol ? protocol : "TCP");
    }
    return ds.length ? ds_steal_cstr(&ds) : NULL;
}

static char *
cell_endpoints(const struct json *record)
{
    const struct json_array *ports = dpctl_json_array(record, "ports");
    struct svec texts = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < ports->n; i++) {
        const struct json_array *endpoints
            = dpctl_json_array(ports->elems[i], "endpoints");
        for (size_t j = 0; j < endpoints->n; j++) {
            const char *ip = dpctl_json_str(endpoints->elems[j], "ip");
            svec_add_nocopy(&texts,
                            xasprintf("%s:%lld", ip ? ip : "?",
                                      dpctl_json_int(endpoints->elems[j],
                                                     "port", 0)));
        }
    }
    size_t n = texts.n;
    while (texts.n > 3) {
        svec_pop_back(&texts);
    }
    char *text = n ? svec_join(&texts, ",", "") : NULL;
    if (n > 3) {
        char *longer = xasprintf("%s + %"PRIuSIZE" more", text, n - 3);
        free(text);
        text = longer;
    }
    svec_destroy(&texts);
    return text;
}

static char *
number_text(const struct json *json)
{
    return json ? json_to_string(json, 0) : NULL;
}

static char *
cell_tier(const struct json *record)
{
    return number_text(dpctl_json_member(record, "tierPriority"));
}

static char *
cell_priority(const struct json *record)
{
    return number_text(dpctl_json_member(record, "priority"));
}

static char *
cell_rules(const struct json *record)
{
    return xasprintf("%"PRIuSIZE, dpctl_json_array(record, "rules")->n);
}

static char *
cell_applied_to(const struct json *record)
{
    const struct json_array *services = dpctl_json_array(record,
                                                         "appliedToServices");
    char *text = list_text(services->n ? services
                           : dpctl_json_array(record, "appliedToGroups"));

    if (services->n) {
        char *said = xasprintf("Service %s", text);

        free(text);
        return said;
    }
    return text;
}

static char *
cell_policy_name(const struct json *record)
{
    const char *name = dpctl_json_str(record, "name");
    const char *type = dpctl_json_str(record, "type");
    size_t len = type ? strlen(type) : 0;

    return xstrdup(len && !strncmp(name, type, len) && name[len] == ':'
                   ? name + len + 1 : name);
}

/* "app=web,tier=front". */
static char *
labels_text(const struct shash *labels)
{
    const struct shash_node **nodes = shash_sort(labels);
    struct json *texts = json_array_create_empty();

    for (size_t i = 0; i < shash_count(labels); i++) {
        const struct json *value = nodes[i]->data;

        json_array_add(texts, json_string_create_nocopy(
                           xasprintf("%s=%s", nodes[i]->name,
                                     value->type == JSON_STRING
                                     ? value->string : "?")));
    }
    char *text = list_text(json_array(texts));
    json_destroy(texts);
    free(nodes);
    return text;
}

/* Of an object, or of the one that a record follows from. */
static char *
cell_labels(const struct json *record)
{
    const struct json *object = dpctl_json_member(record, WITH_OBJECT);

    return labels_text(dpctl_json_object(object ? object : record,
                                         "metadata.labels"));
}

static char *
cell_selector(const struct json *record)
{
    return labels_text(dpctl_json_object(
                           dpctl_json_member(record, WITH_OBJECT),
                           "spec.selector"));
}

/* Traffic policies, of clients outside and inside. */
static char *
cell_traffic(const struct json *record)
{
    const char *external = dpctl_json_str(record, "externalTrafficPolicy");
    const char *internal = dpctl_json_str(record, "internalTrafficPolicy");

    return xasprintf("%s/%s", external ? external : "Cluster",
                     internal ? internal : "Cluster");
}

static char *
cell_affinity(const struct json *record)
{
    long long int s = dpctl_json_int(record, "sessionAffinity.timeoutSeconds",
                                     0);

    return s ? xasprintf("%llds", s) : NULL;
}

/* The different strings that rules have as 'member', in their order. */
static char *
text_of_rules(const struct json *record, const char *member,
              const char *default_)
{
    const struct json_array *rules = dpctl_json_array(record, "rules");
    struct svec words = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < rules->n; i++) {
        const char *word = dpctl_json_str(rules->elems[i], member);

        word = word ? word : default_;
        size_t j = 0;
        while (j < words.n && strcmp(words.names[j], word)) {
            j++;
        }
        if (j == words.n) {
            svec_add(&words, word);
        }
    }
    char *text = words.n ? svec_join(&words, ",", "") : NULL;
    svec_destroy(&words);
    return text;
}

static char *
cell_directions(const struct json *record)
{
    return text_of_rules(record, "direction", "?");
}

static char *
cell_actions(const struct json *record)
{
    return text_of_rules(record, "action", "Allow");
}

static char *
cell_n_addresses(const struct json *record)
{
    return xasprintf("%"PRIuSIZE, dpctl_json_array(record, "addresses")->n);
}

static char *
cell_n_pods(const struct json *record)
{
    return xasprintf("%"PRIuSIZE, dpctl_json_array(record, "pods")->n);
}

static char *
cell_bandwidth(const struct json *record)
{
    long long int rate = dpctl_json_int(record, "bandwidth.rateKbps", 0);

    return rate ? xasprintf("%lldkbit/s", rate) : NULL;
}

/* Of objects. */

static char *
cell_node_addresses(const struct json *object)
{
    const struct json_array *addresses
        = dpctl_json_array(object, "status.addresses");
    struct json *texts = json_array_create_empty();

    for (size_t i = 0; i < addresses->n; i++) {
        const char *type = dpctl_json_str(addresses->elems[i], "type");
        const char *address = dpctl_json_str(addresses->elems[i], "address");

        if (type && address && !strcmp(type, "InternalIP")) {
            json_array_add(texts, json_string_create(address));
        }
    }
    char *text = list_text(json_array(texts));
    json_destroy(texts);
    return text;
}

static char *
cell_object_priority(const struct json *object)
{
    return number_text(dpctl_json_get(object, "spec.priority"));
}

/* Columns: the string at a path, or what a function makes of the record. */
#define TEXT(HEADING, PATH) { HEADING, PATH, NULL, false }
#define CELL(HEADING, FUNCTION) { HEADING, NULL, FUNCTION, false }
#define WIDE(HEADING, PATH) { HEADING, PATH, NULL, true }
#define WIDE_CELL(HEADING, FUNCTION) { HEADING, NULL, FUNCTION, true }

static const struct dpctl_layout layouts[] = {
    { "NodeConfig",
      { TEXT("NAME", "name"), TEXT("POD-CIDR", "podCIDR"),
        TEXT("GATEWAY", "gateway.port"),
        TEXT("GATEWAY-IP", "gateway.ip"),
        TEXT("GATEWAY-MAC", "gateway.mac"),
        TEXT("TUNNEL", "tunnel.port"),
        TEXT("TRANSPORT-IP", "transportIP"),
        WIDE("SERVICE-CIDR", "serviceCIDR"),
        WIDE("NODEPORT-ADDRESSES", "nodePortAddresses") } },
    { "PeerNode",
      { TEXT("NAME", "name"), TEXT("POD-CIDR", "podCIDR"),
        TEXT("GATEWAY-IP", "gatewayIP"),
        TEXT("TRANSPORT-IP", "transportIP") } },
    { "Pod",
      { CELL("NAMESPACE", cell_namespace),
        CELL("NAME", cell_short_name), CELL("IP", cell_ips),
        TEXT("PORT", "port"), TEXT("MAC", "mac"),
        WIDE("NODE", WITH_NODE),
        WIDE_CELL("LABELS", cell_labels) } },
    { "Service",
      { CELL("NAMESPACE", cell_namespace),
        CELL("NAME", cell_short_name),
        TEXT("CLUSTER-IP", "clusterIP"),
        CELL("EXTERNAL-IP", cell_external_ips),
        CELL("PORTS", cell_service_ports),
        CELL("ENDPOINTS", cell_endpoints),
        WIDE_CELL("SELECTOR", cell_selector),
        WIDE_CELL("TRAFFIC", cell_traffic),
        WIDE_CELL("AFFINITY", cell_affinity),
        WIDE("MODE", "loadBalancerMode") } },
    { "NetworkPolicy",
      { CELL("NAME", cell_policy_name), TEXT("TYPE", "type"),
        CELL("TIER", cell_tier), CELL("PRIORITY", cell_priority),
        CELL("RULES", cell_rules),
        CELL("APPLIED-TO", cell_applied_to),
        WIDE_CELL("DIRECTIONS", cell_directions),
        WIDE_CELL("ACTIONS", cell_actions) } },
    { "AddressGroup",
      { TEXT("NAME", "name"), CELL("ADDRESSES", cell_addresses),
        WIDE_CELL("COUNT", cell_n_addresses) } },
    { "AppliedToGroup",
      { TEXT("NAME", "name"), CELL("PODS", cell_pods),
        WIDE_CELL("COUNT", cell_n_pods) } },
    { "Egress",
      { TEXT("NAME", "name"), TEXT("EGRESS-IP", "egressIP"),
        TEXT("NODE", "egressNode"),
        CELL("APPLIED-TO", cell_applied_to),
        WIDE_CELL("BANDWIDTH", cell_bandwidth) } },
    { "TrafficControl",
      { TEXT("NAME", "name"), TEXT("DIRECTION", "direction"),
        TEXT("ACTION", "action"), TEXT("TARGET-PORT", "targetPort"),
        TEXT("RETURN-PORT", "returnPort"),
        CELL("APPLIED-TO", cell_applied_to) } },
    { "FQDN",
      { TEXT("NAME", "name"), CELL("FQDNS", cell_fqdns),
        CELL("ADDRESSES", cell_resolved) } },
    { "MulticastGroup",
      { TEXT("NAME", "name"), CELL("PODS", cell_pods),
        CELL("NODES", cell_nodes) } },
    { "Manifest", { TEXT("NAME", "name") } },
};

static const struct dpctl_layout records_layout = {
    NULL, { TEXT("KIND", "kind"), TEXT("NAME", "name") }
};

#define OBJECT_COLUMNS                                      \
    TEXT("KIND", "kind"),                                   \
    TEXT("API-VERSION", "apiVersion"),                      \
    TEXT("NAMESPACE", "metadata.namespace"),                \
    TEXT("NAME", "metadata.name")
#define LABELS_COLUMN WIDE_CELL("LABELS", cell_labels)
#define POLICY_COLUMNS                                      \
    OBJECT_COLUMNS, WIDE("TIER", "spec.tier"),              \
    WIDE_CELL("PRIORITY", cell_object_priority), LABELS_COLUMN

static const struct dpctl_layout objects_layout = {
    NULL, { OBJECT_COLUMNS, LABELS_COLUMN }
};

static const struct {
    enum dpctl_kind_id id;
    struct dpctl_layout layout;
} object_layouts[] = {
    { DPCTL_NODE,
      { NULL, { OBJECT_COLUMNS,
                WIDE_CELL("INTERNAL-IP", cell_node_addresses),
                WIDE("POD-CIDR", "spec.podCIDR"),
                LABELS_COLUMN } } },
    { DPCTL_ACNP, { NULL, { POLICY_COLUMNS } } },
    { DPCTL_ANNP, { NULL, { POLICY_COLUMNS } } },
    { DPCTL_ADMIN_NP, { NULL, { POLICY_COLUMNS } } },
    { DPCTL_TIER,
      { NULL, { OBJECT_COLUMNS,
                WIDE_CELL("PRIORITY", cell_object_priority),
                LABELS_COLUMN } } },
};

const struct dpctl_layout *
dpctl_layout_of_records(const char *kind)
{
    for (size_t i = 0; kind && i < ARRAY_SIZE(layouts); i++) {
        if (!strcmp(layouts[i].kind, kind)) {
            return &layouts[i];
        }
    }
    return &records_layout;
}

const struct dpctl_layout *
dpctl_layout_of_objects(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(object_layouts); i++) {
        if (dpctl_kind_is_called(&dpctl_kinds[object_layouts[i].id], word)) {
            return &object_layouts[i].layout;
        }
    }
    return &objects_layout;
}

const char *
dpctl_layout_kind(size_t i)
{
    return i < ARRAY_SIZE(layouts) ? layouts[i].kind : NULL;
}

void
dpctl_layout_start(const struct dpctl_layout *layout, bool wide,
                   const char *first, struct dpctl_table *table)
{
    const char *headings[DPCTL_MAX_COLUMNS + 1];
    size_t n = 0;

    if (first) {
        headings[n++] = first;
    }
    for (size_t i = 0;
         i < DPCTL_MAX_COLUMNS && layout->columns[i].heading; i++) {
        if (wide || !layout->columns[i].wide) {
            headings[n++] = layout->columns[i].heading;
        }
    }
    dpctl_table_init(table, headings, n);
}

void
dpctl_layout_add(const struct dpctl_layout *layout, bool wide,
                 const struct json *record, struct dpctl_table *table)
{
    for (size_t i = 0;
         i < DPCTL_MAX_COLUMNS && layout->columns[i].heading; i++) {
        const struct column *c = &layout->columns[i];

        if (wide || !c->wide) {
            dpctl_table_add(table, (c->cell ? c->cell(record)
                                    : text_at(record, c->path)));
        }
    }
}

struct json *
dpctl_layout_widen(const struct json *found, const struct json_array *state)
{
    struct json *widened = json_array_create_empty();
    struct shash objects = SHASH_INITIALIZER(&objects);
    const char *node = NULL;

    for (size_t i = 0; i < state->n; i++) {
        const struct json *record = state->elems[i];
        const char *kind = dpctl_json_str(record, "kind");
        const char *name = dpctl_json_str(record, "name");

        if (kind && name && !strcmp(kind, "Manifest")) {
            shash_add(&objects, name, dpctl_json_member(record, "object"));
        } else if (kind && name && !strcmp(kind, "NodeConfig")) {
            node = name;
        }
    }
    for (size_t i = 0; i < json_array(found)->n; i++) {
        const struct json *record = json_array(found)->elems[i];
        const char *name = dpctl_json_str(record, "name");
        const char *kind = dpctl_json_str(record, "kind");
        struct json *wide = json_deep_clone(record);

        if (name && kind) {
            /* Only Pods and Services have records and objects of one name. */
            char *manifest = xasprintf("%s.v1/%s", kind, name);
            const struct json *object = shash_find_data(&objects, manifest);

            if (object) {
                json_object_put(wide, WITH_OBJECT, json_clone(object));
            }
            if (node) {
                json_object_put_string(wide, WITH_NODE, node);
            }
            free(manifest);
        }
        json_array_add(widened, wide);
    }
    shash_destroy(&objects);
    return widened;
}

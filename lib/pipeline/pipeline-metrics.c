/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-metrics.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "model-pause.h"
#include "model-records.h"
#include "openvswitch/hmap.h"
#include "packets.h"
#include "pipeline-state.h"
#include "util.h"

/* The multicast of one port. */
struct metrics_port {
    struct hmap_node by_port;
    struct adp_metrics_multicast count;
};

/* What was counted for one ID. */
struct metrics_entry {
    struct hmap_node by_id;
    uint32_t id;
    const struct adp_id_part *part;
    uint64_t n_sessions, n_packets, n_bytes;
    uint64_t n_affine;          /* Sessions by session affinity. */
    uint64_t n_refused;         /* Packets of clients that may not. */
    uint64_t *n_chosen;         /* Of a group: by endpoint of the port. */
    bool has_meter;             /* Of an egress IP. */
    struct adp_bandwidth limit;
    struct adp_meter_count metered;
};

struct adp_metrics {
    struct hmap rules;          /* struct metrics_entry, by conjunction ID. */
    struct hmap groups;         /* struct metrics_entry, by group ID. */
    struct hmap applied;        /* struct metrics_entry, by ID of what applies
                                 * to Pods. */
    struct hmap marks;          /* struct metrics_entry, by mark of an egress
                                 * IP: its meter. */
    uint64_t n_l7_redirected, n_l7_returned, n_l7_dropped; /* Packets. */
    struct hmap ports;          /* struct metrics_port. */
};

static struct metrics_entry *
entry_find(const struct hmap *entries, uint32_t id)
{
    struct metrics_entry *e;

    HMAP_FOR_EACH_WITH_HASH (e, by_id, hash_int(id, 0), entries) {
        if (e->id == id) {
            return e;
        }
    }
    return NULL;
}

static void
entry_add(uint32_t id, const struct adp_id_part *part, void *entries)
{
    struct metrics_entry *e = xzalloc(sizeof *e);

    e->id = id;
    e->part = part;
    hmap_insert(entries, &e->by_id, hash_int(id, 0));
    adp_pause();
}

/* Group IDs that are Services'. */
static void
service_add(uint32_t id, const struct adp_id_part *part, void *entries)
{
    if (part->record->kind == ADP_KIND_SERVICE) {
        entry_add(id, part, entries);
    }
}

static void
entries_destroy(struct hmap *entries)
{
    struct metrics_entry *e;

    HMAP_FOR_EACH_POP (e, by_id, entries) {
        free(e->n_chosen);
        free(e);
        adp_pause();
    }
    hmap_destroy(entries);
}

struct adp_metrics *
adp_metrics_create(const struct adp_pipeline_state *state)
{
    struct adp_metrics *m = xzalloc(sizeof *m);

    hmap_init(&m->rules);
    hmap_init(&m->groups);
    hmap_init(&m->applied);
    hmap_init(&m->marks);
    hmap_init(&m->ports);
    adp_ids_for_each(&state->conjs, entry_add, &m->rules);
    adp_ids_for_each(&state->groups, service_add, &m->groups);
    adp_ids_for_each(&state->applied, entry_add, &m->applied);
    adp_ids_for_each(&state->marks, entry_add, &m->marks);
    return m;
}

void
adp_metrics_destroy(struct adp_metrics *m)
{
    struct metrics_port *port;

    if (m) {
        HMAP_FOR_EACH_POP (port, by_port, &m->ports) {
            free(port);
        }
        hmap_destroy(&m->ports);
        entries_destroy(&m->rules);
        entries_destroy(&m->groups);
        entries_destroy(&m->applied);
        entries_destroy(&m->marks);
        free(m);
    }
}

/* Counting. */

static const struct hmap *
entries_of(const struct adp_metrics *m, enum adp_flow_metric metric)
{
    switch (metric) {
    case ADP_METRIC_RULE_FIRST:
    case ADP_METRIC_RULE_LATER:
    case ADP_METRIC_RULE_PASS:
        return &m->rules;
    case ADP_METRIC_APPLIED_FIRST:
    case ADP_METRIC_APPLIED:
        return &m->applied;
    case ADP_METRIC_NONE:
    case ADP_METRIC_SERVICE:
    case ADP_METRIC_AFFINITY:
    default:
        return &m->groups;
    }
}

static const struct adp_network_policy_rule *
entry_rule(const struct metrics_entry *e)
{
    return &CONTAINER_OF(e->part->record, struct adp_network_policy,
                         up)->rules[e->part->index];
}

static void
add_multicast(struct adp_metrics *m, uint32_t port, bool in,
              uint64_t n_packets, uint64_t n_bytes)
{
    struct metrics_port *p;

    HMAP_FOR_EACH_WITH_HASH (p, by_port, hash_int(port, 0), &m->ports) {
        if (p->count.port == port) {
            break;
        }
    }
    if (!p) {
        p = xzalloc(sizeof *p);
        p->count.port = port;
        hmap_insert(&m->ports, &p->by_port, hash_int(port, 0));
    }
    p->count.n_packets[in] += n_packets;
    p->count.n_bytes[in] += n_bytes;
}

const struct adp_metrics_multicast *
adp_metrics_multicast(const struct adp_metrics *m, uint32_t port)
{
    const struct metrics_port *p;

    HMAP_FOR_EACH_WITH_HASH (p, by_port, hash_int(port, 0), &m->ports) {
        if (p->count.port == port) {
            return &p->count;
        }
    }
    return NULL;
}

bool
adp_metrics_has_passes(const struct adp_metrics *m)
{
    const struct metrics_entry *e;

    HMAP_FOR_EACH (e, by_id, &m->rules) {
        if (entry_rule(e)->action == ADP_ACTION_PASS) {
            return true;
        }
        adp_pause();
    }
    return false;
}

void
adp_metrics_add_flow(struct adp_metrics *m, enum adp_flow_metric metric,
                     uint32_t id, uint64_t n_packets, uint64_t n_bytes)
{
    uint64_t *n_l7 = (metric == ADP_METRIC_L7_REDIRECTED ? &m->n_l7_redirected
                      : metric == ADP_METRIC_L7_RETURNED ? &m->n_l7_returned
                      : metric == ADP_METRIC_L7_DROPPED ? &m->n_l7_dropped
                      : NULL);

    if (n_l7) {
        *n_l7 += n_packets;
        return;
    }

    if (metric == ADP_METRIC_MULTICAST_OUT
        || metric == ADP_METRIC_MULTICAST_IN) {
        add_multicast(m, id, metric == ADP_METRIC_MULTICAST_IN, n_packets,
                      n_bytes);
        return;
    }

    struct metrics_entry *e = entry_find(entries_of(m, metric), id);
    if (!e || (metric == ADP_METRIC_RULE_PASS
               && entry_rule(e)->action != ADP_ACTION_PASS)) {
        return;
    }
    switch (metric) {
    case ADP_METRIC_RULE_FIRST:
    case ADP_METRIC_RULE_PASS:
    case ADP_METRIC_SERVICE:
    case ADP_METRIC_APPLIED_FIRST:
        e->n_sessions += n_packets;
        break;
    case ADP_METRIC_AFFINITY:
        e->n_affine += n_packets;
        break;
    case ADP_METRIC_REFUSED:
        e->n_refused += n_packets;
        break;
    case ADP_METRIC_NONE:
    case ADP_METRIC_RULE_LATER:
    case ADP_METRIC_APPLIED:
    case ADP_METRIC_L7_REDIRECTED:
    case ADP_METRIC_L7_RETURNED:
    case ADP_METRIC_L7_DROPPED:
    case ADP_METRIC_MULTICAST_OUT:
    case ADP_METRIC_MULTICAST_IN:
        break;
    }
    e->n_packets += n_packets;
    e->n_bytes += n_bytes;
}

void
adp_metrics_for_each_group(const struct adp_metrics *m,
                           void (*cb)(uint32_t group_id, void *aux),
                           void *aux)
{
    const struct metrics_entry *e;

    HMAP_FOR_EACH (e, by_id, &m->groups) {
        cb(e->id, aux);
        adp_pause();
    }
}

static const struct adp_service_port *
entry_port(const struct metrics_entry *e)
{
    return &CONTAINER_OF(e->part->record, struct adp_service,
                         up)->ports[e->part->index];
}

void
adp_metrics_add_group(struct adp_metrics *m, uint32_t group_id,
                      const uint64_t *n_packets, size_t n)
{
    struct metrics_entry *e = entry_find(&m->groups, group_id);

    if (!e) {
        return;
    }

    /* The buckets are, in order, the endpoints that the group is for. */
    const struct adp_service_port *port = entry_port(e);
    size_t bucket = 0;

    if (!e->n_chosen) {
        e->n_chosen = xcalloc(port->n_endpoints + 1, sizeof *e->n_chosen);
    }
    for (size_t i = 0; i < port->n_endpoints && bucket < n; i++) {
        const struct adp_endpoint *ep = &port->endpoints[i];

        if (adp_ip_family(&ep->ip) == e->part->family
            && adp_service_port_selects(port, ep, e->part->local)) {
            e->n_chosen[i] += n_packets[bucket++];
        }
    }
}

void
adp_metrics_add_meter(struct adp_metrics *m, uint32_t meter_id,
                      const struct adp_bandwidth *limit,
                      const struct adp_meter_count *count)
{
    struct metrics_entry *e = entry_find(&m->marks, meter_id);

    if (e) {
        e->has_meter = true;
        e->limit = *limit;
        e->metered = *count;
    }
}

/* Results. */

static int
compare_entries(const void *a_, const void *b_)
{
    const struct metrics_entry *const *ap = a_;
    const struct metrics_entry *const *bp = b_;
    const struct adp_id_part *a = (*ap)->part;
    const struct adp_id_part *b = (*bp)->part;

    adp_pause();
    int cmp = strcmp(a->record->name, b->record->name);

    if (!cmp) {
        cmp = a->index < b->index ? -1 : a->index > b->index;
    }
    if (!cmp) {
        cmp = (int) a->family - (int) b->family;
    }
    return cmp ? cmp : (int) a->local - (int) b->local;
}

/* Returns the entries in order.  Caller frees the array. */
static const struct metrics_entry **
entries_sorted(const struct hmap *entries)
{
    const struct metrics_entry **sorted = xmalloc((hmap_count(entries) + 1)
                                          * sizeof *sorted);
    const struct metrics_entry *e;
    size_t n = 0;

    HMAP_FOR_EACH (e, by_id, entries) {
        sorted[n++] = e;
        adp_pause();
    }
    qsort(sorted, n, sizeof *sorted, compare_entries);
    return sorted;
}

/* Takes 'o'. */
static void
add_compact(struct json *array, struct json *o)
{
    json_array_add(array, json_serialized_object_create(o));
    json_destroy(o);
    adp_pause();
}

static void
put_count(struct json *object, const char *name, uint64_t n)
{
    json_object_put(object, name, json_integer_create(n));
}

static struct json *
rule_to_json(const struct metrics_entry *e)
{
    const struct adp_network_policy *policy
        = CONTAINER_OF(e->part->record, struct adp_network_policy, up);
    const struct adp_network_policy_rule *rule = entry_rule(e);
    struct json *o = json_object_create();

    put_count(o, "id", e->id);
    json_object_put_string(o, "policy", policy->up.name);
    json_object_put_string(o, "direction", rule->ingress ? "In" : "Out");
    put_count(o, "number", rule->priority + 1);
    put_count(o, "index", e->part->index);
    if (rule->name) {
        json_object_put_string(o, "rule", rule->name);
    }
    json_object_put_string(o, "action", adp_actions[rule->action]);
    put_count(o, "sessions", e->n_sessions);
    put_count(o, "packets", e->n_packets);
    put_count(o, "bytes", e->n_bytes);
    return o;
}

struct json *
adp_metrics_rules(const struct adp_metrics *m)
{
    const struct metrics_entry **sorted = entries_sorted(&m->rules);
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < hmap_count(&m->rules); i++) {
        add_compact(array, rule_to_json(sorted[i]));
    }
    free(sorted);
    return array;
}

/* How often each endpoint of the port was chosen, by the port's groups, which
 * are the 'n' entries from '*e' on. */
static struct json *
endpoints_to_json(const struct metrics_entry *const *e, size_t n)
{
    const struct adp_service_port *port = entry_port(e[0]);
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < port->n_endpoints; i++) {
        const struct adp_endpoint *ep = &port->endpoints[i];
        struct json *o = json_object_create();
        uint64_t n_chosen = 0;

        for (size_t j = 0; j < n; j++) {
            n_chosen += e[j]->n_chosen ? e[j]->n_chosen[i] : 0;
        }
        json_object_put_string(o, "ip",
                               adp_ip_text(&ep->ip).s);
        put_count(o, "port", ep->port);
        put_count(o, "sessions", n_chosen);
        json_array_add(array, o);
    }
    return array;
}

/* One port of a Service, whose groups are the 'n' entries from '*e' on. */
static struct json *
port_to_json(const struct metrics_entry *const *e, size_t n, bool endpoints)
{
    const struct adp_service_port *port = entry_port(e[0]);
    struct json *o = json_object_create();
    const struct adp_service *svc
        = CONTAINER_OF(e[0]->part->record, struct adp_service, up);
    uint64_t n_sessions = 0, n_affine = 0, n_refused = 0;

    for (size_t i = 0; i < n; i++) {
        n_sessions += e[i]->n_sessions;
        n_affine += e[i]->n_affine;
        n_refused += e[i]->n_refused;
    }
    json_object_put_string(o, "service", e[0]->part->record->name);
    put_count(o, "port", port->port);
    json_object_put_string(o, "protocol",
                           adp_protocol_to_string(port->protocol));
    put_count(o, "sessions", n_sessions);
    put_count(o, "affinity_sessions", n_affine);
    if (svc->n_source_ranges) {
        put_count(o, "refused", n_refused);
    }
    if (endpoints) {
        json_object_put(o, "endpoints", endpoints_to_json(e, n));
    }
    return o;
}

static bool
same_port(const struct metrics_entry *a, const struct metrics_entry *b)
{
    return (a->part->record == b->part->record
            && a->part->index == b->part->index);
}

struct json *
adp_metrics_services(const struct adp_metrics *m, bool endpoints)
{
    const struct metrics_entry **sorted = entries_sorted(&m->groups);
    struct json *array = json_array_create_empty();
    size_t n = hmap_count(&m->groups);

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_port(sorted[i], sorted[end]); ) {
            end++;
        }
        add_compact(array, port_to_json(&sorted[i], end - i, endpoints));
    }
    free(sorted);
    return array;
}

/* An object for each entry of a record of 'kind'. */
static struct json *
applied_to_json(const struct adp_metrics *m, enum adp_kind kind,
                struct json *(*to_json)(const struct adp_metrics *,
                                        const struct metrics_entry *))
{
    const struct metrics_entry **sorted = entries_sorted(&m->applied);
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < hmap_count(&m->applied); i++) {
        if (sorted[i]->part->record->kind == kind) {
            json_array_add(array, to_json(m, sorted[i]));
        }
    }
    free(sorted);
    return array;
}

static const struct adp_egress *
entry_egress(const struct metrics_entry *e)
{
    return CONTAINER_OF(e->part->record, struct adp_egress, up);
}

/* The meter of an egress IP, of which a Node has few; NULL: it has none. */
static const struct metrics_entry *
find_meter(const struct adp_metrics *m, const struct adp_egress *egress)
{
    const struct metrics_entry *e;

    HMAP_FOR_EACH (e, by_id, &m->marks) {
        if (e->has_meter
            && ipv6_addr_equals(&entry_egress(e)->ip, &egress->ip)) {
            return e;
        }
    }
    return NULL;
}

static struct json *
meter_to_json(const struct metrics_entry *e)
{
    const struct adp_meter_count *n = &e->metered;
    struct json *o = json_object_create();

    put_count(o, "meter", e->id);
    put_count(o, "rate_kbps", e->limit.rate);
    put_count(o, "burst_kbits", e->limit.burst);
    put_count(o, "passed_packets", n->n_packets - n->n_dropped_packets);
    put_count(o, "passed_bytes", n->n_bytes - n->n_dropped_bytes);
    put_count(o, "dropped_packets", n->n_dropped_packets);
    put_count(o, "dropped_bytes", n->n_dropped_bytes);
    return o;
}

static struct json *
egress_to_json(const struct adp_metrics *m, const struct metrics_entry *e)
{
    const struct adp_egress *egress = entry_egress(e);
    const struct metrics_entry *meter = find_meter(m, egress);
    struct json *o = json_object_create();

    json_object_put_string(o, "egress_ip",
                               adp_ip_text(&egress->ip).s);
    if (egress->node) {
        json_object_put_string(o, "node", egress->node);
    }
    put_count(o, "sessions", e->n_sessions);
    put_count(o, "packets", e->n_packets);
    put_count(o, "bytes", e->n_bytes);
    if (meter) {
        json_object_put(o, "bandwidth", meter_to_json(meter));
    }
    return o;
}

struct json *
adp_metrics_egresses(const struct adp_metrics *m)
{
    return applied_to_json(m, ADP_KIND_EGRESS, egress_to_json);
}

static struct json *
traffic_control_to_json(const struct adp_metrics *m OVS_UNUSED,
                        const struct metrics_entry *e)
{
    const struct adp_traffic_control *tc
        = CONTAINER_OF(e->part->record, struct adp_traffic_control, up);
    struct json *o = json_object_create();

    json_object_put_string(o, "traffic_control", tc->up.name);
    json_object_put_string(o, "action", tc->redirect ? "Redirect" : "Mirror");
    json_object_put_string(o, "port", tc->target_port);
    put_count(o, "packets", e->n_packets);
    put_count(o, "bytes", e->n_bytes);
    return o;
}

struct json *
adp_metrics_traffic_controls(const struct adp_metrics *m)
{
    return applied_to_json(m, ADP_KIND_TRAFFIC_CONTROL,
                           traffic_control_to_json);
}

struct json *
adp_metrics_l7(const struct adp_metrics *m)
{
    struct json *o = json_object_create();

    put_count(o, "redirected", m->n_l7_redirected);
    put_count(o, "returned", m->n_l7_returned);
    put_count(o, "dropped", m->n_l7_dropped);
    return o;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* What must hold between records. */

#include <config.h>
#include "model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "hmapx.h"
#include "model-change.h"
#include "model-claims.h"
#include "model-pause.h"
#include "model-records.h"
#include "model-sort.h"
#include "packets.h"
#include "util.h"

/* One run of the checks. */
struct check {
    const struct adp_model *model;
    const struct adp_model_env *env;
    const struct hmapx *scope;  /* The records to look at; NULL: all. */
    struct shash owners;        /* Contains "struct owner"s by what only one
                                 * record may have. */
    struct adp_error *error;    /* The first one. */
};

/* Who has a thing, in which field. */
struct owner {
    const struct adp_record *record;
    char *field;
};

static void OVS_PRINTF_FORMAT(5, 6)
complain(struct check *c, const char *code, const struct adp_record *record,
         char *field, const char *format, ...)
{
    va_list args;

    if (c->error) {
        free(field);
        return;
    }

    va_start(args, format);
    char *text = xvasprintf(format, args);
    va_end(args);
    c->error = adp_error_create(code, adp_record_describe(record), field,
                                "%s", text);
    free(text);
}

/* Is 'record' the same as before the step under way? */
static bool
is_unchanged(const struct check *c, const struct adp_record *record)
{
    const struct adp_record *before;

    return (adp_model_get_claims(c->model) && !adp_model_step_cleared(c->model)
            && !adp_model_step_changed(c->model, record->kind, record->name,
                                       &before));
}

/* The record as it was then, if the step has changed it. */
static const struct adp_record *
find_before(const struct check *c, enum adp_kind kind, const char *name)
{
    const struct adp_record *before;

    return (adp_model_step_changed(c->model, kind, name, &before)
            ? before : NULL);
}

/* Takes 'thing' and 'field'. */
static void
add_owner(struct check *c, char *thing, const struct adp_record *record,
          char *field)
{
    struct owner *owner = xmalloc(sizeof *owner);

    *owner = (struct owner) { record, field };
    shash_add_nocopy(&c->owners, thing, owner);
}

static void
destroy_owners(struct check *c)
{
    struct shash_node *node, *next;

    SHASH_FOR_EACH_SAFE (node, next, &c->owners) {
        struct owner *owner = node->data;

        free(owner->field);
        free(owner);
        shash_delete(&c->owners, node);
        adp_pause();
    }
    shash_destroy(&c->owners);
}

/* Two records want 'thing', the one of 'owner' and 'record', which comes
 * later: the blame is that of whom the step has changed.  Takes 'field'. */
static void
complain_of_two(struct check *c, const struct owner *owner,
                const struct adp_record *record, char *field,
                const char *thing)
{
    const struct adp_record *other = owner->record;

    if (is_unchanged(c, record) && !is_unchanged(c, other)) {
        free(field);
        field = xstrdup(owner->field);
        other = record;
        record = owner->record;
    }
    complain(c, "invalid", record, field, "%s is already that of %s %s",
             thing, adp_kind_to_string(other->kind), other->name);
}

/* Takes 'thing', a text such as "IP 10.0.0.1", for 'record', and 'field'.
 * Complains if another record has it. */
static void
claim(struct check *c, const struct adp_record *record, char *field,
      char *thing)
{
    const struct owner *owner = shash_find_data(&c->owners, thing);

    if (!owner) {
        add_owner(c, thing, record, field);
        return;
    }
    if (owner->record != record) {
        complain_of_two(c, owner, record, field, thing);
    } else {
        free(field);
    }
    free(thing);
}

/* The same for a thing that records of one kind may have in common. */
static void
claim_shared(struct check *c, const struct adp_record *record, char *field,
             char *thing)
{
    const struct owner *owner = shash_find_data(&c->owners, thing);

    if (owner && owner->record->kind == record->kind) {
        free(field);
        free(thing);
    } else {
        claim(c, record, field, thing);
    }
}

static void
check_port(struct check *c, const struct adp_record *record,
           const char *field, const char *port)
{
    ofp_port_t number;

    if (!is_unchanged(c, record)
        && !c->env->port_number(port, &number, c->env->aux)) {
        complain(c, "missing", record, xstrdup(field),
                 "the bridge has no port \"%s\"", port);
    }
}

static bool
is_looked_at(const struct check *c, const struct adp_record *record)
{
    return !c->scope || hmapx_contains(c->scope, record);
}

static int
compare_names(const void *a_, const void *b_)
{
    const struct adp_record *const *a = a_;
    const struct adp_record *const *b = b_;

    return strcmp((*a)->name, (*b)->name);
}

/* The records of 'kind' to look at, ordered by name. */
static const struct adp_record **
records_in_scope(const struct check *c, enum adp_kind kind, size_t *n)
{
    if (!c->scope) {
        return adp_model_sorted(c->model, kind, n);
    }

    const struct adp_record **records = NULL;
    size_t allocated = 0;
    const struct hmapx_node *node;
    *n = 0;
    HMAPX_FOR_EACH (node, c->scope) {
        const struct adp_record *record = node->data;

        if (record->kind == kind) {
            if (*n >= allocated) {
                records = x2nrealloc(records, &allocated, sizeof *records);
            }
            records[(*n)++] = record;
        }
        adp_pause();
    }
    adp_sort_pointers(records, *n, compare_names);
    return records;
}

/* Calls 'cb' for each record of 'kind': first those that the step left
 * alone, so that claim() blames the others. */
static void
for_each_record(struct check *c, enum adp_kind kind,
                void (*cb)(struct check *, const struct adp_record *))
{
    size_t n;
    const struct adp_record **records = records_in_scope(c, kind, &n);

    for (int unchanged = 1; unchanged >= 0; unchanged--) {
        for (size_t i = 0; i < n && !c->error; i++) {
            if (is_unchanged(c, records[i]) == unchanged) {
                cb(c, records[i]);
            }
            adp_pause();
        }
    }
    free(records);
}

/* Nodes and Pods. */

static char *
ip_thing(const struct in6_addr *ip)
{
    return xasprintf("IP %s", adp_ip_text(ip).s);
}

static char *
transport_ip_thing(const struct in6_addr *ip)
{
    return xasprintf("transport IP %s", adp_ip_text(ip).s);
}

static char *
mac_thing(struct eth_addr mac)
{
    return xasprintf("MAC "ETH_ADDR_FMT, ETH_ADDR_ARGS(mac));
}

static void
claim_nets(struct check *c, const struct adp_record *record, const char *field,
           const struct adp_node_net nets[ADP_N_FAMILIES])
{
    ADP_FOR_EACH_FAMILY (family) {
        if (adp_node_net_is_set(&nets[family])) {
            claim(c, record, xstrdup(field),
                  ip_thing(&nets[family].gateway_ip));
        }
    }
}

static void
check_node_config(struct check *c, const struct adp_record *record)
{
    const struct adp_node_config *node
        = CONTAINER_OF(record, struct adp_node_config, up);

    if (!is_unchanged(c, record)
        && adp_model_count(c->model, "NodeConfig") > 1) {
        complain(c, "invalid", record, NULL,
                 "there can be only one NodeConfig");
        return;
    }

    check_port(c, record, "gateway.port", node->gateway_port);
    claim(c, record, xstrdup("gateway.port"),
          xasprintf("port \"%s\"", node->gateway_port));
    claim(c, record, xstrdup("gateway.mac"), mac_thing(node->gateway_mac));
    claim_nets(c, record, "gateway.ip", node->net);
    if (node->tunnel_port) {
        check_port(c, record, "tunnel.port", node->tunnel_port);
        claim(c, record, xstrdup("tunnel.port"),
              xasprintf("port \"%s\"", node->tunnel_port));
    }
    /* These may come later: until then L7 rules let nothing pass. */
    claim(c, record, xstrdup("l7.targetPort"),
          xasprintf("port \"%s\"", node->l7_target_port));
    claim(c, record, xstrdup("l7.returnPort"),
          xasprintf("port \"%s\"", node->l7_return_port));
}

static void
check_pod(struct check *c, const struct adp_record *record)
{
    const struct adp_pod *pod = CONTAINER_OF(record, struct adp_pod, up);

    check_port(c, record, "port", pod->port);
    claim(c, record, xstrdup("port"), xasprintf("port \"%s\"", pod->port));
    claim(c, record, xstrdup("mac"), mac_thing(pod->mac));
    for (size_t i = 0; i < pod->ips.n; i++) {
        claim(c, record, xasprintf("ips[%"PRIuSIZE"]", i),
              ip_thing(&pod->ips.ips[i]));
    }
}

/* The MAC that stands for all tunnels. */
static void
check_virtual_macs(struct check *c)
{
#define ADP_CONST(NAME, TEXT) static const char NAME[] OVS_UNUSED = TEXT;
#include "pipeline-common.def"
#undef ADP_CONST
    if (shash_is_empty(&c->owners)) {
        return;
    }

    char *thing = xasprintf("MAC %s", GlobalVirtualMAC);
    const struct owner *owner = shash_find_data(&c->owners, thing);
    if (owner) {
        complain(c, "invalid", owner->record, xstrdup(owner->field),
                 "%s is reserved for tunnels", thing);
    }
    free(thing);
}

/* Peers. */

struct owned_cidr {
    struct adp_cidr cidr;
    const struct adp_record *record;
};

static void
check_peer_node(struct check *c, const struct adp_record *record)
{
    const struct adp_peer_node *peer = CONTAINER_OF(record,
                                                    struct adp_peer_node, up);

    claim_nets(c, record, "gatewayIP", peer->net);
    /* A Node that takes another one's place comes before that one goes. */
    claim_shared(c, record, xstrdup("transportIP"),
                 transport_ip_thing(&peer->transport_ip));
}

static void
put_pod_cidrs(struct owned_cidr *cidrs, size_t *n,
              const struct adp_record *record,
              const struct adp_node_net nets[ADP_N_FAMILIES])
{
    ADP_FOR_EACH_FAMILY (family) {
        if (adp_node_net_is_set(&nets[family])) {
            cidrs[(*n)++] = (struct owned_cidr) { nets[family].pod_cidr,
                                                  record };
        }
    }
}

/* Where any two prefixes overlap, two that are neighbours in order do. */
static void
check_pod_cidrs(struct check *c)
{
    const struct adp_node_config *node = adp_model_node_config(c->model);
    size_t n_peers;
    const struct adp_record **peers = adp_model_sorted(
        c->model, ADP_KIND_PEER_NODE, &n_peers);
    struct owned_cidr *cidrs = xmalloc((n_peers + 1) * ADP_N_FAMILIES
                                       * sizeof *cidrs);
    size_t n = 0;

    for (size_t i = 0; i < n_peers; i++) {
        put_pod_cidrs(cidrs, &n, peers[i],
                      CONTAINER_OF(peers[i], struct adp_peer_node, up)->net);
    }
    if (node) {
        put_pod_cidrs(cidrs, &n, &node->up, node->net);
    }
    qsort(cidrs, n, sizeof *cidrs, adp_cidr_compare);
    for (size_t i = 1; i < n; i++) {
        if (adp_cidr_overlaps(&cidrs[i - 1].cidr, &cidrs[i].cidr)) {
            bool blame_first = is_unchanged(c, cidrs[i].record);
            const struct adp_record *blamed = cidrs[i - blame_first].record;
            const struct adp_record *other = cidrs[i - !blame_first].record;

            complain(c, "invalid", blamed, xstrdup("podCIDR"),
                     "overlaps with that of %s %s",
                     adp_kind_to_string(other->kind), other->name);
        }
    }
    free(cidrs);
    free(peers);
}

/* Services.  Addresses for outsiders, which who makes the Service chooses,
 * are no claims: who serves them follows from all there are
 * (pipeline-vips.h). */

static char *
vip_thing(const struct in6_addr *ip, const struct adp_service_port *port)
{
    return xasprintf("%s:%"PRIu16"/%s", adp_ip_host_text(ip).s, port->port,
                     adp_protocol_to_string(port->protocol));
}

static void
check_service_port(struct check *c, const struct adp_service *svc,
                   const struct adp_service_port *port)
{
    const struct adp_record *record = &svc->up;

    ADP_FOR_EACH_FAMILY (family) {
        const struct in6_addr *ip = &svc->cluster_ip[family];

        if (ipv6_addr_is_set(ip)) {
            claim(c, record, xstrdup("clusterIP"), vip_thing(ip, port));
        }
    }
    if (port->node_port) {
        claim(c, record,
              xasprintf("ports[%"PRIuSIZE"].nodePort", port - svc->ports),
              xasprintf("%"PRIu16"/%s", port->node_port,
                        adp_protocol_to_string(port->protocol)));
    }
}

static void
check_service(struct check *c, const struct adp_record *record)
{
    const struct adp_service *svc = CONTAINER_OF(record, struct adp_service,
                                                 up);

    for (size_t i = 0; i < svc->n_ports; i++) {
        check_service_port(c, svc, &svc->ports[i]);
    }
}

/* Policies. */

static void
check_groups(struct check *c, const struct adp_record *record,
             const char *field, enum adp_kind kind,
             const struct adp_names *groups)
{
    for (size_t i = 0; i < groups->n && !c->error; i++) {
        const char *name = groups->names[i];

        if (adp_model_find(c->model, kind, name)) {
            continue;
        }

        const struct adp_record *deleted
            = is_unchanged(c, record) ? find_before(c, kind, name) : NULL;
        if (deleted) {
            complain(c, "invalid", deleted, NULL,
                     "can't be deleted: %s %s uses it",
                     adp_kind_to_string(record->kind), record->name);
        } else {
            complain(c, "missing", record,
                     xasprintf("%s[%"PRIuSIZE"]", field, i),
                     "there is no %s \"%s\"", adp_kind_to_string(kind), name);
        }
    }
}

static void
check_network_policy(struct check *c, const struct adp_record *record)
{
    const struct adp_network_policy *policy
        = CONTAINER_OF(record, struct adp_network_policy, up);

    check_groups(c, record, "appliedToGroups", ADP_KIND_APPLIED_TO_GROUP,
                 &policy->applied_to);
    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct adp_network_policy_rule *rule = &policy->rules[i];
        char *applied_to = xasprintf("rules[%"PRIuSIZE"].appliedToGroups", i);
        char *peer = xasprintf("rules[%"PRIuSIZE"].%s.addressGroups", i,
                               rule->ingress ? "from" : "to");

        check_groups(c, record, applied_to, ADP_KIND_APPLIED_TO_GROUP,
                     &rule->applied_to);
        check_groups(c, record, peer, ADP_KIND_ADDRESS_GROUP,
                     &rule->peer.address_groups);
        free(applied_to);
        free(peer);
    }
}

/* What applies to Pods and is no policy. */

static void
check_applied(struct check *c, const struct adp_record *record)
{
    check_groups(c, record, "appliedToGroups", ADP_KIND_APPLIED_TO_GROUP,
                 adp_record_applied_to(record));
}

/* Whatever a Node sends to another one goes to its transport IP: it would be
 * taken for what the Egress's Pods send. */
static void
check_egress(struct check *c, const struct adp_record *record)
{
    const struct adp_egress *egress = CONTAINER_OF(record, struct adp_egress,
                                                   up);

    check_applied(c, record);
    claim_shared(c, record, xstrdup("egressIP"), ip_thing(&egress->ip));
    claim_shared(c, record, xstrdup("egressIP"),
                 transport_ip_thing(&egress->ip));
}

/* A Pod's port or the gateway's would get what isn't meant for it, or have
 * what it sends taken for what comes back. */
static void
check_traffic_control(struct check *c, const struct adp_record *record)
{
    static const char *const fields[] = { "targetPort", "returnPort" };
    const char *ports[ADP_RECORD_MAX_PORTS];
    size_t n = adp_record_ports(record, ports);

    check_applied(c, record);
    for (size_t i = 0; i < n; i++) {
        check_port(c, record, fields[i], ports[i]);
        claim_shared(c, record, xstrdup(fields[i]),
                     xasprintf("port \"%s\"", ports[i]));
    }
}

static void
check_all(struct check *c, bool pod_cidrs)
{
    const struct adp_node_config *node = adp_model_node_config(c->model);

    shash_init(&c->owners);
    if (node && is_looked_at(c, &node->up)) {
        add_owner(c, transport_ip_thing(&node->transport_ip), &node->up,
                  xstrdup("transportIP"));
    }
    for_each_record(c, ADP_KIND_NODE_CONFIG, check_node_config);
    for_each_record(c, ADP_KIND_POD, check_pod);
    check_virtual_macs(c);
    for_each_record(c, ADP_KIND_PEER_NODE, check_peer_node);
    if (pod_cidrs) {
        check_pod_cidrs(c);
    }
    for_each_record(c, ADP_KIND_SERVICE, check_service);
    for_each_record(c, ADP_KIND_NETWORK_POLICY, check_network_policy);
    for_each_record(c, ADP_KIND_EGRESS, check_egress);
    for_each_record(c, ADP_KIND_TRAFFIC_CONTROL, check_traffic_control);
    destroy_owners(c);
}

struct adp_error *
adp_model_check(const struct adp_model *model,
                const struct adp_model_env *env)
{
    struct check c = { .model = model, .env = env };

    check_all(&c, true);
    return c.error;
}

/* Changes. */

static void
add_to_scope(const struct adp_record *record, void *scope)
{
    hmapx_add(scope, CONST_CAST(struct adp_record *, record));
}

/* Adds to 'scope' the records that may be wrong, or be named as those that
 * have what others want, because of 'change'. */
static void
add_touched(const struct adp_model *model,
            const struct adp_model_change *change, struct hmapx *scope)
{
    const struct adp_model_claims *claims = adp_model_get_claims(model);

    if (change->new) {
        add_to_scope(change->new, scope);
        adp_model_claims_rivals(claims, change->new, add_to_scope, scope);
    } else {
        adp_model_claims_users(claims, change->kind, change->name,
                               add_to_scope, scope);
    }
}

struct adp_error *
adp_model_check_changes(const struct adp_model *model,
                        const struct adp_model_env *env)
{
    struct hmapx scope = HMAPX_INITIALIZER(&scope);
    struct check c = { .model = model, .env = env, .scope = &scope };
    bool pod_cidrs = false;
    size_t n;
    const struct adp_model_change *const *changes
        = adp_model_step_changes(model, &n);

    ovs_assert(adp_model_get_claims(model));
    if (adp_model_was_cleared(model)) {
        return adp_model_check(model, env);
    }

    for (size_t i = 0; i < n; i++) {
        add_touched(model, changes[i], &scope);
        pod_cidrs |= (changes[i]->kind == ADP_KIND_PEER_NODE
                      || changes[i]->kind == ADP_KIND_NODE_CONFIG);
        adp_pause();
    }
    check_all(&c, pod_cidrs);
    hmapx_destroy(&scope);
    return c.error;
}

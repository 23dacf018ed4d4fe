/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-policy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "packets.h"
#include "pipeline-clause.h"
#include "util.h"

/* A flow whose actions are conjunctions. */
struct clause_flow {
    struct ds actions;
    uint32_t last_conj_id;      /* Most recently added. */
};

void
adp_policies_init(struct adp_policies *ps, struct adp_generator *g,
                  const struct adp_policy_style *style)
{
    *ps = (struct adp_policies) { .g = g, .style = style };
    shash_init(&ps->clauses);
}

/* Which rules are in force. */

typedef void pod_cb(const struct adp_pod *, void *aux);

static void
for_each_pod(const struct adp_generator *g, const struct adp_names *groups,
             pod_cb *cb, void *aux)
{
    for (size_t i = 0; i < groups->n; i++) {
        const struct adp_record *record = adp_model_find(
            g->model, ADP_KIND_APPLIED_TO_GROUP, groups->names[i]);
        if (!record) {
            continue;
        }

        const struct adp_names *pods
            = &CONTAINER_OF(record, struct adp_applied_to_group, up)->pods;
        for (size_t j = 0; j < pods->n; j++) {
            record = adp_model_find(g->model, ADP_KIND_POD, pods->names[j]);
            if (record) {
                cb(CONTAINER_OF(record, struct adp_pod, up), aux);
            }
        }
    }
}

static void
note_pod(const struct adp_pod *pod OVS_UNUSED, void *any_)
{
    bool *any = any_;

    *any = true;
}

const struct adp_names *
adp_policy_rule_services(const struct adp_policy_rule *r)
{
    return adp_network_policy_applied_to_services(r->policy, r->rule);
}

bool
adp_policy_applies_to_service(const struct adp_node_config *node,
                              const struct adp_service *svc)
{
    return node && node->proxy_all && adp_service_has_node_port(svc);
}

/* The Service of that name if rules apply to it. */
static const struct adp_service *
find_service(const struct adp_generator *g, const char *name)
{
    const struct adp_record *record = adp_model_find(g->model,
                                                     ADP_KIND_SERVICE, name);
    const struct adp_service *svc
        = record ? CONTAINER_OF(record, struct adp_service, up) : NULL;

    return svc && adp_policy_applies_to_service(g->node, svc) ? svc : NULL;
}

/* Does the rule concern a Pod of this Node, or a Service? */
static bool
applies_here(const struct adp_generator *g, const struct adp_policy_rule *r)
{
    const struct adp_names *services = adp_policy_rule_services(r);
    bool any = false;

    for_each_pod(g, adp_network_policy_applied_to(r->policy, r->rule),
                 note_pod, &any);
    for (size_t i = 0; i < services->n && !any; i++) {
        any = find_service(g, services->names[i]) != NULL;
    }
    return any;
}

void
adp_policies_for_each_rule(struct adp_policies *ps, adp_policy_rule_cb *cb)
{
    size_t n;
    const struct adp_record **records
        = adp_model_sorted(ps->g->model, ADP_KIND_NETWORK_POLICY, &n);

    for (size_t i = 0; i < n; i++) {
        const struct adp_network_policy *policy
            = CONTAINER_OF(records[i], struct adp_network_policy, up);

        for (size_t j = 0; j < policy->n_rules; j++) {
            cb(ps, policy, &policy->rules[j]);
        }
    }
    free(records);
}

void
adp_policy_rule_init(struct adp_policy_rule *r,
                     const struct adp_network_policy *policy,
                     const struct adp_network_policy_rule *rule, size_t table)
{
    *r = (struct adp_policy_rule) {
        .policy = policy,
        .rule = rule,
        .table = table,
        /* There are at least two dimensions: "any peer" counts where it would
         * be the second. */
        .has_peer = rule->peer.present || !rule->n_services,
        .has_no_flows = (!rule->ingress
                         && adp_network_policy_rule_is_igmp(rule)),
        .ingress = rule->ingress,
        .has_services = rule->n_services > 0,
        .for_services = adp_network_policy_applied_to_services(policy,
                                                               rule)->n > 0,
    };
}

void
adp_policies_collect(struct adp_policies *ps, const struct adp_policy_rule *r)
{
    if (applies_here(ps->g, r)) {
        if (ps->n_rules >= ps->allocated_rules) {
            ps->rules = x2nrealloc(ps->rules, &ps->allocated_rules,
                                   sizeof *ps->rules);
        }
        ps->rules[ps->n_rules++] = *r;
    }
}

/* Conjunction IDs. */

/* "ClusterNetworkPolicy web, rule 2 (Drop)". */
static char *
describe_rule(const struct adp_policy_rule *r)
{
    static const struct {
        const char *kind;       /* As people know it. */
        const char *prefix;     /* Of the record's name, by custom. */
    } types[] = {
        [ADP_POLICY_K8S] = { "K8s NetworkPolicy", "K8sNetworkPolicy:" },
        [ADP_POLICY_ACNP] = { "ClusterNetworkPolicy",
                              "AntreaClusterNetworkPolicy:" },
        [ADP_POLICY_ANP] = { "Antrea NetworkPolicy", "AntreaNetworkPolicy:" },
        [ADP_POLICY_ADMIN] = { "AdminNetworkPolicy", "AdminNetworkPolicy:" },
        [ADP_POLICY_BASELINE_ADMIN] = { "BaselineAdminNetworkPolicy",
                                        "BaselineAdminNetworkPolicy:" },
    };
    const char *prefix = types[r->policy->type].prefix;
    const char *name = r->policy->up.name;

    if (!strncmp(name, prefix, strlen(prefix)) && name[strlen(prefix)]) {
        name += strlen(prefix);
    }
    return xasprintf("%s %s, rule %u%s%s (%s)", types[r->policy->type].kind,
                     name, r->rule->priority + 1,
                     r->rule->name ? " " : "",
                     r->rule->name ? r->rule->name : "",
                     adp_actions[r->rule->action]);
}

static void
assign_vlan(struct adp_generator *g, struct adp_policy_rule *r,
            const char *key, const struct adp_id_part *part)
{
    r->vlan = 0;
    if (!r->rule->l7_protocols) {
        return;
    }
    r->vlan = adp_ids_get(&g->state->vlans, key, part, describe_rule(r));
    if (!r->vlan && !g->error) {
        g->error = adp_error_create(
            "limit", adp_record_describe(&r->policy->up),
            xasprintf("rules[%"PRIuSIZE"].l7Protocols", part->index),
            "more than %d L7 rules are in force on this Node, one for each "
            "VLAN", ADP_MAX_L7_VLANS);
    }
}

/* A rule keeps its ID as long as it reads the same, wherever in its policy it
 * stands.  The caller frees the key. */
static char *
rule_key(const struct adp_policy_rule *r, unsigned int occurrence)
{
    return xasprintf("%u %s %s", occurrence, r->policy->up.name,
                     r->rule->identity);
}

bool
adp_policy_rule_has_vlan(const struct adp_generator *g,
                         const struct adp_policy_rule *r,
                         unsigned int occurrence)
{
    if (!r->rule->l7_protocols) {
        return false;
    }

    char *key = rule_key(r, occurrence);
    bool has = adp_ids_has(&g->state->vlans, key);
    free(key);
    return has;
}

void
adp_policy_rule_assign_id(struct adp_generator *g, struct adp_policy_rule *r,
                          unsigned int occurrence)
{
    char *key = rule_key(r, occurrence);
    const struct adp_id_part part = {
        .record = &r->policy->up,
        .index = r->rule - r->policy->rules,
    };

    r->conj_id = adp_ids_get(&g->state->conjs, key, &part, describe_rule(r));
    if (!r->conj_id && !g->error) {
        g->error = adp_error_create("limit",
                                    adp_record_describe(&r->policy->up), NULL,
                                    "no conjunction ID is left");
    }
    assign_vlan(g, r, key, &part);
    free(key);
}

void
adp_policies_assign_ids(struct adp_policies *ps)
{
    struct shash seen = SHASH_INITIALIZER(&seen);

    for (size_t i = 0; i < ps->n_rules; i++) {
        struct adp_policy_rule *r = &ps->rules[i];
        char *key = xasprintf("%s %s", r->policy->up.name, r->rule->identity);
        struct shash_node *node = shash_find(&seen, key);

        /* Equal rules of one policy are told apart by their order. */
        if (!node) {
            node = shash_add(&seen, key, NULL);
        }
        uintptr_t occurrence = (uintptr_t) node->data;
        node->data = (void *) (occurrence + 1);
        adp_policy_rule_assign_id(ps->g, r, occurrence);
        free(key);
    }
    shash_destroy(&seen);
}

/* Clauses. */

/* One dimension of a rule. */
struct clause {
    struct adp_policies *ps;
    const struct adp_policy_rule *r;
    unsigned int number;        /* From 1, */
    unsigned int n;             /* of so many. */
};

static void OVS_PRINTF_FORMAT(7, 8)
add_clause_of(struct adp_policies *ps, size_t table, int priority,
              uint32_t conj_id, unsigned int number, unsigned int n,
              const char *format, ...)
{
    char key[256];
    int len = snprintf(key, sizeof key, "table=%s, priority=%d,",
                       adp_gen_table(ps->g, table), priority);
    va_list args;

    va_start(args, format);
    len += vsnprintf(key + len, sizeof key - len, format, args);
    va_end(args);
    ovs_assert(len < sizeof key);

    struct clause_flow *flow = shash_find_data(&ps->clauses, key);
    if (!flow) {
        flow = xzalloc(sizeof *flow);
        ds_init(&flow->actions);
        shash_add(&ps->clauses, key, flow);
    } else if (flow->last_conj_id == conj_id) {
        return;                 /* Listed twice, in two groups. */
    } else {
        ds_put_char(&flow->actions, ',');
    }
    flow->last_conj_id = conj_id;
    ds_put_format(&flow->actions, "conjunction(%"PRIu32",%u/%u)",
                  conj_id, number, n);
}

#define add_clause(CLAUSE, ...)                                         \
    add_clause_of((CLAUSE)->ps, (CLAUSE)->r->table,                     \
                  (CLAUSE)->r->priority, (CLAUSE)->r->conj_id,          \
                  (CLAUSE)->number, (CLAUSE)->n, __VA_ARGS__)

static const char *
ip_match(enum adp_family family)
{
    return family == ADP_IPV4 ? "ip" : "ipv6";
}

/* By family and whether it is the destination. */
static const char *const ip_fields[ADP_N_FAMILIES][2] = {
    [ADP_IPV4] = { "nw_src", "nw_dst" },
    [ADP_IPV6] = { "ipv6_src", "ipv6_dst" },
};

/* Who began a connection to a Service, whatever became of his address
 * since. */
static const char *const client_fields[ADP_N_FAMILIES] = {
    [ADP_IPV4] = "ct_nw_src", [ADP_IPV6] = "ct_ipv6_src",
};

static const char *
client_match(enum adp_family family)
{
    return (family == ADP_IPV4 ? "ct_state=+new+trk,ip"
            : "ct_state=+new+trk,ipv6");
}

static void
add_target_clause(const struct adp_pod *pod, void *clause_)
{
    const struct clause *clause = clause_;

    if (clause->r->ingress) {
        ofp_port_t port;

        if (adp_gen_port(clause->ps->g, pod->port, &port)) {
            const struct adp_policy_style *style = clause->ps->style;

            add_clause(clause, "%sreg%u=0x%"PRIx32,
                       style->port_needs_ip ? "ip," : "", style->port_reg,
                       port);
        }
    } else {
        for (size_t i = 0; i < pod->ips.n; i++) {
            const struct in6_addr *ip = &pod->ips.ips[i];

            if (adp_gen_has_family(clause->ps->g, adp_ip_family(ip))) {
                add_clause(clause, "%s,%s=%s", ip_match(adp_ip_family(ip)),
                           ip_fields[adp_ip_family(ip)][false],
                           adp_ip_text(ip).s);
            }
        }
    }
}

/* DNS answers to the Pod are read. */
static void
add_names_clause(const struct adp_pod *pod, void *ps_)
{
    struct adp_policies *ps = ps_;
    ofp_port_t port;

    if (adp_gen_port(ps->g, pod->port, &port)) {
        add_clause_of(ps, ps->style->names_table, ps->style->names_priority,
                      ADP_NAMES_CONJ_ID, ADP_NAMES_PODS_CLAUSE,
                      ADP_NAMES_N_CLAUSES, "reg%u=0x%"PRIx32,
                      ps->style->port_reg, port);
    }
}

static void
add_peer_clause(const struct adp_cidr *cidr, void *clause_)
{
    const struct clause *clause = clause_;
    enum adp_family family = adp_cidr_family(cidr);
    bool client = clause->r->for_services;
    const char *field = (client ? client_fields[family]
                         : ip_fields[family][!clause->r->ingress]);
    const char *ip = (client ? client_match(family) : ip_match(family));

    if (!adp_gen_has_family(clause->ps->g, family)) {
        return;
    }
    if (!adp_cidr_plen(cidr)) {
        add_clause(clause, "%s", ip);
    } else if (cidr->plen == 128) {
        add_clause(clause, "%s,%s=%s", ip, field, adp_ip_text(&cidr->ip).s);
    } else {
        add_clause(clause, "%s,%s=%s", ip, field, adp_cidr_text(cidr).s);
    }
}

/* Packets for which a group of the Service chose the endpoint. */
static void
add_group_id_clauses(struct clause *clause, const char *service)
{
    const struct adp_group_id *id;

    HMAP_FOR_EACH_WITH_HASH (id, hmap_node, hash_string(service, 0),
                             &clause->ps->g->service_groups) {
        if (!strcmp(id->service, service)) {
            add_clause(clause, "reg%u=0x%"PRIx32,
                       clause->ps->style->service_reg, id->id);
        }
    }
}

static void
add_target_clauses(struct clause *clause)
{
    const struct adp_names *services = adp_policy_rule_services(clause->r);

    for_each_pod(clause->ps->g,
                 adp_network_policy_applied_to(clause->r->policy,
                                               clause->r->rule),
                 add_target_clause, clause);
    for (size_t i = 0; i < services->n; i++) {
        if (find_service(clause->ps->g, services->names[i])) {
            add_group_id_clauses(clause, services->names[i]);
        }
    }
}

/* The addresses of groups of 'kind'. */
static void
add_group_clauses(struct clause *clause, enum adp_kind kind,
                  const struct adp_names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        const struct adp_record *record = adp_model_find(
            clause->ps->g->model, kind, names->names[i]);
        if (!record) {
            continue;
        }

        const struct adp_address_group *group
            = CONTAINER_OF(record, struct adp_address_group, up);
        for (size_t j = 0; j < group->n_addresses; j++) {
            add_peer_clause(&group->addresses[j], clause);
        }
    }
}

static void
add_peer_clauses(struct clause *clause)
{
    const struct adp_peer *peer = &clause->r->rule->peer;

    if (!peer->present) {
        if (!clause->r->nobody) {
            ADP_FOR_EACH_FAMILY (family) {
                const struct adp_cidr any = adp_cidr_any(family);

                add_peer_clause(&any, clause);
            }
        }
        return;
    }
    add_group_clauses(clause, ADP_KIND_ADDRESS_GROUP, &peer->address_groups);
    add_group_clauses(clause, ADP_KIND_FQDN, &peer->fqdns);
    for (size_t i = 0; i < peer->n_ip_blocks; i++) {
        adp_ip_block_to_cidrs(&peer->ip_blocks[i], add_peer_clause, clause);
    }
    for (size_t i = 0; i < peer->to_services.n; i++) {
        add_group_id_clauses(clause, peer->to_services.names[i]);
    }
}

static const char *
protocol_match(uint8_t protocol, enum adp_family family)
{
    bool v6 = family == ADP_IPV6;

    return (protocol == IPPROTO_TCP ? (v6 ? "tcp6" : "tcp")
            : protocol == IPPROTO_UDP ? (v6 ? "udp6" : "udp")
            : protocol == IPPROTO_SCTP ? (v6 ? "sctp6" : "sctp")
            : v6 ? "icmp6" : "icmp");
}

struct port_clause {
    struct clause *clause;
    const char *protocol;
};

/* ",FIELD=PORT", or "" for all ports. */
static const char *
port_match(const char *field, const struct adp_masked_port *port,
           char *buffer, size_t size)
{
    if (port->mask == UINT16_MAX) {
        snprintf(buffer, size, ",%s=%"PRIu16, field, port->port);
    } else if (port->mask) {
        snprintf(buffer, size, ",%s=0x%"PRIx16"/0x%"PRIx16, field,
                 port->port, port->mask);
    } else {
        buffer[0] = '\0';
    }
    return buffer;
}

static void
add_port_clause(const struct adp_masked_port *src,
                const struct adp_masked_port *dst, void *pc_)
{
    const struct port_clause *pc = pc_;
    char src_text[32], dst_text[32];

    add_clause(pc->clause, "%s%s%s", pc->protocol,
               port_match("tp_src", src, src_text, sizeof src_text),
               port_match("tp_dst", dst, dst_text, sizeof dst_text));
}

static void
add_icmp_clause(struct clause *clause, const char *protocol,
                const struct adp_network_policy_service *service)
{
    if (service->icmp_type < 0) {
        add_clause(clause, "%s", protocol);
    } else if (service->icmp_code < 0) {
        add_clause(clause, "%s,icmp_type=%d", protocol, service->icmp_type);
    } else {
        add_clause(clause, "%s,icmp_type=%d,icmp_code=%d", protocol,
                   service->icmp_type, service->icmp_code);
    }
}

/* Its type is no field: queries are all that Pods get.  Their destination is
 * the group, or that of all hosts. */
static void
add_igmp_clause(struct clause *clause, enum adp_family family,
                const struct adp_network_policy_service *service)
{
    if (family != ADP_IPV4) {
        return;
    } else if (service->group_address) {
        add_clause(clause, "ip,nw_proto=%d,nw_dst="IP_FMT, IPPROTO_IGMP,
                   IP_ARGS(service->group_address));
    } else {
        add_clause(clause, "ip,nw_proto=%d", IPPROTO_IGMP);
    }
}

static void
add_service_clauses(struct clause *clause, enum adp_family family)
{
    const struct adp_network_policy_rule *rule = clause->r->rule;

    for (size_t i = 0; i < rule->n_services; i++) {
        const struct adp_network_policy_service *service = &rule->services[i];
        struct port_clause pc = {
            clause, protocol_match(service->protocol, family)
        };

        if (service->protocol == IPPROTO_IGMP) {
            add_igmp_clause(clause, family, service);
        } else if (service->protocol == IPPROTO_ICMP) {
            add_icmp_clause(clause, pc.protocol, service);
        } else {
            adp_policy_service_to_masks(service, add_port_clause, &pc);
        }
    }
}

unsigned int
adp_policy_rule_n_clauses(const struct adp_policy_rule *r)
{
    return 1 + r->has_peer + (r->has_services && !r->nobody);
}

void
adp_policies_add_clauses(struct adp_policies *ps,
                         const struct adp_policy_rule *r)
{
    struct clause clause = { ps, r, 1, adp_policy_rule_n_clauses(r) };

    if (r->has_no_flows) {
        return;
    }

    if (r->ingress && r->has_peer) {
        add_peer_clauses(&clause);
        clause.number++;
    }
    add_target_clauses(&clause);
    if (r->rule->peer.fqdns.n) {
        for_each_pod(ps->g, adp_network_policy_applied_to(r->policy, r->rule),
                     add_names_clause, ps);
    }
    clause.number++;
    if (!r->ingress && r->has_peer) {
        add_peer_clauses(&clause);
        clause.number++;
    }
    if (clause.number <= clause.n) {
        ADP_FOR_EACH_FAMILY (family) {
            if (adp_gen_has_family(ps->g, family)) {
                add_service_clauses(&clause, family);
            }
        }
    }
}

/* Flows with conjunctions may belong to many rules: their cookie names
 * none. */
void
adp_policies_finish(struct adp_policies *ps)
{
    uint64_t cookie = adp_gen_cookie(ps->g, ps->style->clause_cookie, 0);
    struct shash_node *node;

    SHASH_FOR_EACH (node, &ps->clauses) {
        struct clause_flow *flow = node->data;

        adp_flow_set_add(ps->g->set, "cookie=0x%"PRIx64", %s actions=%s",
                         cookie, node->name, ds_cstr(&flow->actions));
        ds_destroy(&flow->actions);
        free(flow);
    }
    shash_destroy(&ps->clauses);
    free(ps->rules);
}

/* Isolation. */

static void
isolate_ingress(const struct adp_pod *pod, void *ps_)
{
    const struct adp_policies *ps = ps_;
    const struct adp_policy_style *style = ps->style;
    ofp_port_t port;

    if (adp_gen_port(ps->g, pod->port, &port)) {
        adp_gen_flow(ps->g, style->isolation_cookie, 0,
                     style->isolation_tables[true], style->isolation_priority,
                     "%sreg%u=0x%"PRIx32" actions=drop",
                     style->port_needs_ip ? "ip," : "", style->port_reg, port);
    }
}

static void
isolate_egress(const struct adp_pod *pod, void *ps_)
{
    const struct adp_policies *ps = ps_;
    const struct adp_policy_style *style = ps->style;

    for (size_t i = 0; i < pod->ips.n; i++) {
        const struct in6_addr *ip = &pod->ips.ips[i];

        if (adp_gen_has_family(ps->g, adp_ip_family(ip))) {
            adp_gen_flow(ps->g, style->isolation_cookie, 0,
                         style->isolation_tables[false],
                         style->isolation_priority, "%s,%s=%s actions=drop",
                         ip_match(adp_ip_family(ip)),
                         ip_fields[adp_ip_family(ip)][false],
                         adp_ip_text(ip).s);
        }
    }
}

bool
adp_policy_logs_isolation(const struct adp_policy_style *style,
                          const struct adp_network_policy *policy,
                          bool ingress)
{
    return (style->isolate_and_log
            && adp_network_policy_logs_isolation(policy, ingress));
}

void
adp_policy_isolate_and_log(struct adp_generator *g,
                           const struct adp_policy_style *style,
                           const struct adp_pod *pod, bool ingress)
{
    char match[96];
    ofp_port_t port;

    if (!ingress) {
        for (size_t i = 0; i < pod->ips.n; i++) {
            const struct in6_addr *ip = &pod->ips.ips[i];

            if (adp_gen_has_family(g, adp_ip_family(ip))) {
                snprintf(match, sizeof match, "%s,%s=%s",
                         ip_match(adp_ip_family(ip)),
                         ip_fields[adp_ip_family(ip)][false],
                         adp_ip_text(ip).s);
                style->isolate_and_log(g, ingress, match);
            }
        }
    } else if (adp_gen_port(g, pod->port, &port)) {
        snprintf(match, sizeof match, "%sreg%u=0x%"PRIx32,
                 style->port_needs_ip ? "ip," : "", style->port_reg, port);
        style->isolate_and_log(g, ingress, match);
    }
}

static void
log_ingress(const struct adp_pod *pod, void *ps_)
{
    const struct adp_policies *ps = ps_;

    adp_policy_isolate_and_log(ps->g, ps->style, pod, true);
}

static void
log_egress(const struct adp_pod *pod, void *ps_)
{
    const struct adp_policies *ps = ps_;

    adp_policy_isolate_and_log(ps->g, ps->style, pod, false);
}

void
adp_policies_isolate(struct adp_policies *ps,
                     const struct adp_network_policy *policy,
                     const struct adp_network_policy_rule *rule)
{
    pod_cb *isolate
        = (adp_policy_logs_isolation(ps->style, policy, rule->ingress)
           ? (rule->ingress ? log_ingress : log_egress)
           : (rule->ingress ? isolate_ingress : isolate_egress));

    /* One rule of the direction says all of it about the policy's Pods. */
    if (!rule->index) {
        for_each_pod(ps->g, &policy->applied_to, isolate, ps);
    }
    for_each_pod(ps->g, &rule->applied_to, isolate, ps);
}

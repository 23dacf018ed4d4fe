/* SPDX-License-Identifier: Apache-2.0 */

/* Policies: conjunctive matches, isolation and metrics.
 *
 * The rules of each direction go to three stages, one table each: those of
 * Antrea's tiers, those of K8s NetworkPolicies, and those of the baseline
 * tier, which shares its table with the isolation that K8s NetworkPolicies
 * bring.
 *
 * Within a stage rules have ranks: (tier, priority, place in the policy).
 * Rules of one rank share an OpenFlow priority, so that clauses with equal
 * matches become one flow with several conjunction() actions. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "pipeline-v115-clause.h"
#include "util.h"

/* At most so many rules have one priority: they may share a clause, and the
 * flow with their conjunction() actions must fit an OpenFlow message. */
#define MAX_RULES_PER_PRIORITY 3000

enum stage { STAGE_ANTREA, STAGE_K8S, STAGE_BASELINE, N_STAGES };

/* The range of OpenFlow priorities for rules. */
static const struct priority_range {
    int min, max;
} priority_ranges[N_STAGES] = {
    [STAGE_ANTREA] = { 100, 64989 }, /* Below established connections. */
    [STAGE_K8S] = { 200, 60000 },
    [STAGE_BASELINE] = { 10, 180 },  /* Below isolation. */
};

#define K8S_ACTION_PRIORITY 190
#define ISOLATION_PRIORITY 200
#define METRIC_PRIORITY 200

/* What differs between the directions. */
static const struct direction {
    enum adp_v115_table stages[N_STAGES];
    enum adp_v115_table metric;
    const char *after_metric;
    const char *peer_field;     /* Matches the addresses of peers. */
    const char *label;
    const char *conj_field;
} directions[2] = {
    [false] = {                 /* Egress. */
        {
            [STAGE_ANTREA] = ADP_V115_AntreaPolicyEgressRule,
            [STAGE_K8S] = ADP_V115_EgressRule,
            [STAGE_BASELINE] = ADP_V115_EgressDefaultRule,
        },
        ADP_V115_EgressMetric, "L3Forwarding", "nw_dst",
        "EgressRuleCTLabel", "TFEgressConjIDField"
    },
    [true] = {                  /* Ingress. */
        {
            [STAGE_ANTREA] = ADP_V115_AntreaPolicyIngressRule,
            [STAGE_K8S] = ADP_V115_IngressRule,
            [STAGE_BASELINE] = ADP_V115_IngressDefaultRule,
        },
        ADP_V115_IngressMetric, "ConntrackCommit", "nw_src",
        "IngressRuleCTLabel", "TFIngressConjIDField"
    },
};

/* A rule that is in force on this Node. */
struct active_rule {
    const struct adp_network_policy *policy;
    const struct adp_rule *rule;
    const struct direction *dir;
    enum stage stage;
    int priority;               /* Of its clauses. */
    uint32_t conj_id;
    unsigned int n_clauses;
};

/* A flow whose actions are conjunctions. */
struct clause_flow {
    struct ds actions;
    uint32_t last_conj_id;      /* Most recently added. */
};

struct policy_generator {
    struct adp_v115 *g;
    struct active_rule *rules;
    size_t n_rules, allocated_rules;
    struct shash clauses;       /* "table=T, priority=P,match" to struct
                                 * clause_flow. */
};

/* Which rules are in force. */

typedef void pod_cb(const struct adp_pod *, void *aux);

static void
for_each_pod(const struct adp_v115 *g, const struct adp_names *groups,
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

/* Does a rule that applies to 'groups' concern a Pod of this Node? */
static bool
applies_here(const struct adp_v115 *g, const struct adp_names *groups)
{
    bool any = false;

    for_each_pod(g, groups, note_pod, &any);
    return any;
}

static enum stage
policy_stage(const struct adp_network_policy *policy)
{
    return (policy->type == ADP_POLICY_K8S ? STAGE_K8S
            : policy->tier_priority == ADP_TIER_BASELINE ? STAGE_BASELINE
            : STAGE_ANTREA);
}

/* The number of dimensions of the rule's conjunction.  There are at least two:
 * "any peer" counts where it would be the second. */
static unsigned int
rule_n_clauses(const struct adp_rule *rule)
{
    bool peer = rule->peer.present || !rule->n_services;

    return 1 + peer + (rule->n_services > 0);
}

static void
collect_rule(struct policy_generator *pg,
             const struct adp_network_policy *policy,
             const struct adp_rule *rule)
{
    if (pg->n_rules >= pg->allocated_rules) {
        pg->rules = x2nrealloc(pg->rules, &pg->allocated_rules,
                               sizeof *pg->rules);
    }
    pg->rules[pg->n_rules++] = (struct active_rule) {
        .policy = policy,
        .rule = rule,
        .dir = &directions[rule->ingress],
        .stage = policy_stage(policy),
        .n_clauses = rule_n_clauses(rule),
    };
}

/* Priorities. */

/* Orders by table and rank. */
static int
compare_rank(const struct active_rule *a, const struct active_rule *b)
{
    if (a->rule->ingress != b->rule->ingress) {
        return a->rule->ingress ? 1 : -1;
    }
    if (a->stage != b->stage) {
        return a->stage < b->stage ? -1 : 1;
    }
    if (a->stage == STAGE_K8S) {
        return 0;
    }
    if (a->policy->tier_priority != b->policy->tier_priority) {
        return a->policy->tier_priority < b->policy->tier_priority ? -1 : 1;
    }
    if (a->policy->priority != b->policy->priority) {
        return a->policy->priority < b->policy->priority ? -1 : 1;
    }
    if (a->rule->index != b->rule->index) {
        return a->rule->index < b->rule->index ? -1 : 1;
    }
    return 0;
}

static int
compare_active_rules(const void *a_, const void *b_)
{
    const struct active_rule *a = a_;
    const struct active_rule *b = b_;
    int cmp = compare_rank(a, b);

    if (!cmp) {
        cmp = strcmp(a->policy->up.name, b->policy->up.name);
    }
    if (!cmp) {
        cmp = a->rule < b->rule ? -1 : a->rule > b->rule;
    }
    return cmp;
}

/* The priority that a rule has if no other is in the way. */
static int
first_guess(const struct active_rule *ar)
{
    const struct adp_network_policy *policy = ar->policy;
    const struct priority_range *range = &priority_ranges[ar->stage];
    int guess;

    switch (ar->stage) {
    case STAGE_K8S:
        guess = range->min;
        break;
    case STAGE_BASELINE:
        guess = 180 - (int) (policy->priority * 10) - (int) ar->rule->index;
        break;
    case STAGE_ANTREA:
        guess = (65000 - 200 * policy->tier_priority
                 - (int) (policy->priority
                          * (policy->tier_priority == 250 ? 100 : 20))
                 - (int) ar->rule->index);
        break;
    case N_STAGES:
    default:
        OVS_NOT_REACHED();
    }
    return MAX(range->min, MIN(range->max, guess));
}

/* Assigns priorities to the 'n' 'rules', which are those of one table in
 * order, or returns false if there are too few.  Ranks get descending
 * priorities near their first guesses: whoever is in the way of the one before
 * moves down, and up again where the end of the range is reached. */
static bool
assign_priorities(struct active_rule *rules, size_t n)
{
    const struct priority_range *range = &priority_ranges[rules[0].stage];
    size_t *ranks = xmalloc(n * sizeof *ranks);
    int *priorities = xmalloc(n * sizeof *priorities);
    size_t n_ranks = 0, n_in_rank = 0;

    for (size_t i = 0; i < n; i++) {
        if (!i || compare_rank(&rules[i - 1], &rules[i])
            || n_in_rank >= MAX_RULES_PER_PRIORITY) {
            int guess = first_guess(&rules[i]);

            priorities[n_ranks] = (n_ranks
                                   ? MIN(guess, priorities[n_ranks - 1] - 1)
                                   : guess);
            n_ranks++;
            n_in_rank = 0;
        }
        ranks[i] = n_ranks - 1;
        n_in_rank++;
    }
    for (size_t i = n_ranks; i-- > 0; ) {
        priorities[i] = MAX(priorities[i], (i + 1 < n_ranks
                                            ? priorities[i + 1] + 1
                                            : range->min));
    }

    bool ok = priorities[0] <= range->max;
    for (size_t i = 0; i < n; i++) {
        rules[i].priority = priorities[ranks[i]];
    }
    free(priorities);
    free(ranks);
    return ok;
}

static void
assign_all_priorities(struct policy_generator *pg)
{
    if (!pg->n_rules) {
        return;
    }
    qsort(pg->rules, pg->n_rules, sizeof *pg->rules, compare_active_rules);
    for (size_t i = 0, end; i < pg->n_rules; i = end) {
        struct active_rule *first = &pg->rules[i];

        for (end = i + 1; end < pg->n_rules; end++) {
            if (pg->rules[end].dir != first->dir
                || pg->rules[end].stage != first->stage) {
                break;
            }
        }
        if (!assign_priorities(first, end - i) && !pg->g->error) {
            pg->g->error = adp_error_create(
                "limit", adp_record_describe(&first->policy->up), NULL,
                "the rules of table %s have too many different priorities",
                adp_v115_tables[first->dir->stages[first->stage]].name);
        }
    }
}

/* Conjunction IDs. */

/* "ClusterNetworkPolicy web, rule 2 (Drop)". */
static char *
describe_rule(const struct active_rule *ar)
{
    static const struct {
        const char *kind;       /* As people know it. */
        const char *prefix;     /* Of the record's name, by custom. */
    } types[] = {
        [ADP_POLICY_K8S] = { "K8s NetworkPolicy", "K8sNetworkPolicy:" },
        [ADP_POLICY_ACNP] = { "ClusterNetworkPolicy",
                              "AntreaClusterNetworkPolicy:" },
        [ADP_POLICY_ANP] = { "Antrea NetworkPolicy", "AntreaNetworkPolicy:" },
    };
    const char *prefix = types[ar->policy->type].prefix;
    const char *name = ar->policy->up.name;

    if (!strncmp(name, prefix, strlen(prefix)) && name[strlen(prefix)]) {
        name += strlen(prefix);
    }
    return xasprintf("%s %s, rule %u%s%s (%s)", types[ar->policy->type].kind,
                     name, ar->rule->index + 1,
                     ar->rule->name ? " " : "",
                     ar->rule->name ? ar->rule->name : "",
                     ar->rule->action == ADP_ACTION_DROP ? "Drop" : "Allow");
}

/* A rule keeps its ID as long as it reads the same, wherever in its policy it
 * stands. */
static void
assign_conj_ids(struct policy_generator *pg)
{
    struct shash seen = SHASH_INITIALIZER(&seen);

    for (size_t i = 0; i < pg->n_rules; i++) {
        struct active_rule *ar = &pg->rules[i];
        char *key = xasprintf("%s %s", ar->policy->up.name,
                              ar->rule->identity);
        struct shash_node *node = shash_find(&seen, key);

        /* Equal rules of one policy are told apart by their order. */
        if (!node) {
            node = shash_add(&seen, key, NULL);
        }
        uintptr_t occurrence = (uintptr_t) node->data;
        node->data = (void *) (occurrence + 1);

        char *id_key = xasprintf("%"PRIuPTR" %s", occurrence, key);
        const struct adp_id_part part = {
            .record = &ar->policy->up,
            .index = ar->rule - ar->policy->rules,
        };
        ar->conj_id = adp_ids_get(&pg->g->state->conjs, id_key, &part,
                                  describe_rule(ar));
        if (!ar->conj_id && !pg->g->error) {
            pg->g->error = adp_error_create(
                "limit", adp_record_describe(&ar->policy->up), NULL,
                "no conjunction ID is left");
        }
        free(id_key);
        free(key);
    }
    shash_destroy(&seen);
}

/* Clauses. */

/* One dimension of a rule. */
struct clause {
    struct policy_generator *pg;
    const struct active_rule *ar;
    unsigned int number;        /* From 1. */
};

static void OVS_PRINTF_FORMAT(2, 3)
add_clause(const struct clause *clause, const char *format, ...)
{
    const struct active_rule *ar = clause->ar;
    char key[256];
    int len = snprintf(key, sizeof key, "table=%s, priority=%d,",
                       adp_v115_tables[ar->dir->stages[ar->stage]].name,
                       ar->priority);
    va_list args;

    va_start(args, format);
    len += vsnprintf(key + len, sizeof key - len, format, args);
    va_end(args);
    ovs_assert(len < sizeof key);

    struct clause_flow *flow = shash_find_data(&clause->pg->clauses, key);
    if (!flow) {
        flow = xzalloc(sizeof *flow);
        ds_init(&flow->actions);
        shash_add(&clause->pg->clauses, key, flow);
    } else if (flow->last_conj_id == ar->conj_id) {
        return;                 /* Listed twice, in two groups. */
    } else {
        ds_put_char(&flow->actions, ',');
    }
    flow->last_conj_id = ar->conj_id;
    ds_put_format(&flow->actions, "conjunction(%"PRIu32",%u/%u)",
                  ar->conj_id, clause->number, ar->n_clauses);
}

static void
add_target_clause(const struct adp_pod *pod, void *clause_)
{
    const struct clause *clause = clause_;

    if (clause->ar->rule->ingress) {
        ofp_port_t port;

        if (adp_v115_port(clause->pg->g, pod->port, &port)) {
            add_clause(clause, "reg1=0x%"PRIx32, port);
        }
    } else {
        for (size_t i = 0; i < pod->ips.n; i++) {
            add_clause(clause, "ip,nw_src="IP_FMT, IP_ARGS(pod->ips.ips[i]));
        }
    }
}

static void
add_target_clauses(struct clause *clause)
{
    for_each_pod(clause->pg->g,
                 adp_rule_applied_to(clause->ar->policy, clause->ar->rule),
                 add_target_clause, clause);
}

static void
add_peer_clause(const struct adp_cidr *cidr, void *clause_)
{
    const struct clause *clause = clause_;
    const char *field = clause->ar->dir->peer_field;

    if (!cidr->plen) {
        add_clause(clause, "ip");
    } else if (cidr->plen == 32) {
        add_clause(clause, "ip,%s="IP_FMT, field, IP_ARGS(cidr->ip));
    } else {
        add_clause(clause, "ip,%s="IP_FMT"/%"PRIu8, field, IP_ARGS(cidr->ip),
                   cidr->plen);
    }
}

static void
add_peer_clauses(struct clause *clause)
{
    const struct adp_peer *peer = &clause->ar->rule->peer;

    if (!peer->present) {
        add_clause(clause, "ip");
        return;
    }
    for (size_t i = 0; i < peer->address_groups.n; i++) {
        const struct adp_record *record = adp_model_find(
            clause->pg->g->model, ADP_KIND_ADDRESS_GROUP,
            peer->address_groups.names[i]);
        if (!record) {
            continue;
        }

        const struct adp_address_group *group
            = CONTAINER_OF(record, struct adp_address_group, up);
        for (size_t j = 0; j < group->n_addresses; j++) {
            add_peer_clause(&group->addresses[j], clause);
        }
    }
    for (size_t i = 0; i < peer->n_ip_blocks; i++) {
        adp_ip_block_to_cidrs(&peer->ip_blocks[i], add_peer_clause, clause);
    }
}

static const char *
protocol_match(uint8_t protocol)
{
    return (protocol == IPPROTO_TCP ? "tcp"
            : protocol == IPPROTO_UDP ? "udp"
            : protocol == IPPROTO_SCTP ? "sctp" : "icmp");
}

struct port_clause {
    struct clause *clause;
    const char *protocol;
};

static void
add_port_clause(uint16_t port, uint16_t mask, void *pc_)
{
    const struct port_clause *pc = pc_;

    if (mask == UINT16_MAX) {
        add_clause(pc->clause, "%s,tp_dst=%"PRIu16, pc->protocol, port);
    } else {
        add_clause(pc->clause, "%s,tp_dst=0x%"PRIx16"/0x%"PRIx16,
                   pc->protocol, port, mask);
    }
}

static void
add_icmp_clause(struct clause *clause, const struct adp_rule_service *service)
{
    if (service->icmp_type < 0) {
        add_clause(clause, "icmp");
    } else if (service->icmp_code < 0) {
        add_clause(clause, "icmp,icmp_type=%d", service->icmp_type);
    } else {
        add_clause(clause, "icmp,icmp_type=%d,icmp_code=%d",
                   service->icmp_type, service->icmp_code);
    }
}

static void
add_service_clauses(struct clause *clause)
{
    const struct adp_rule *rule = clause->ar->rule;

    for (size_t i = 0; i < rule->n_services; i++) {
        const struct adp_rule_service *service = &rule->services[i];
        struct port_clause pc = { clause, protocol_match(service->protocol) };

        if (service->protocol == IPPROTO_ICMP) {
            add_icmp_clause(clause, service);
        } else if (!service->port) {
            add_clause(clause, "%s", pc.protocol);
        } else {
            adp_port_range_to_masks(service->port, service->end_port,
                                    add_port_clause, &pc);
        }
    }
}

/* The dimensions are, in this order, From, To and Service. */
static void
generate_clauses(struct policy_generator *pg, const struct active_rule *ar)
{
    bool has_peer = ar->rule->peer.present || !ar->rule->n_services;
    struct clause clause = { pg, ar, 1 };

    if (ar->rule->ingress && has_peer) {
        add_peer_clauses(&clause);
        clause.number++;
    }
    add_target_clauses(&clause);
    clause.number++;
    if (!ar->rule->ingress && has_peer) {
        add_peer_clauses(&clause);
        clause.number++;
    }
    add_service_clauses(&clause);
}

/* What a rule does, and its metrics. */

static void
generate_allow(struct policy_generator *pg, const struct active_rule *ar)
{
    static const char *const states[] = { "+new", "-new" };
    const struct direction *dir = ar->dir;
    uint32_t id = ar->conj_id;

    adp_v115_flow(pg->g, ADP_V115_COOKIE_NETWORK_POLICY, id,
                  dir->stages[ar->stage],
                  (ar->stage == STAGE_K8S ? K8S_ACTION_PRIORITY
                   : ar->priority),
                  "conj_id=%"PRIu32",ip actions={%s=0x%"PRIx32"},"
                  "ct(commit,table=%s,zone={CtZone},exec({%s=0x%"PRIx32"}))",
                  id, dir->conj_field, id,
                  adp_v115_tables[dir->metric].name, dir->label, id);
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        adp_v115_flow(pg->g, ADP_V115_COOKIE_NETWORK_POLICY, id, dir->metric,
                      METRIC_PRIORITY,
                      "ct_state=%s,{%s=0x%"PRIx32"},ip actions=goto_table:%s",
                      states[i], dir->label, id, dir->after_metric);
    }
}

static void
generate_drop(struct policy_generator *pg, const struct active_rule *ar)
{
    const struct direction *dir = ar->dir;
    uint32_t id = ar->conj_id;

    adp_v115_flow(pg->g, ADP_V115_COOKIE_NETWORK_POLICY, id,
                  dir->stages[ar->stage], ar->priority,
                  "conj_id=%"PRIu32" actions={APConjIDField=0x%"PRIx32"},"
                  "{APDenyRegMark},goto_table:%s",
                  id, id, adp_v115_tables[dir->metric].name);
    adp_v115_flow(pg->g, ADP_V115_COOKIE_NETWORK_POLICY, id, dir->metric,
                  METRIC_PRIORITY,
                  "{APDenyRegMark},{APConjIDField=0x%"PRIx32"} actions=drop",
                  id);
}

static void
generate_rules(struct policy_generator *pg)
{
    for (size_t i = 0; i < pg->n_rules; i++) {
        const struct active_rule *ar = &pg->rules[i];

        generate_clauses(pg, ar);
        if (ar->rule->action == ADP_ACTION_DROP) {
            generate_drop(pg, ar);
        } else {
            generate_allow(pg, ar);
        }
    }
}

/* Flows with conjunctions may belong to many rules: their cookie names
 * none. */
static void
flush_clauses(struct policy_generator *pg)
{
    uint64_t cookie = adp_v115_cookie(pg->g, ADP_V115_COOKIE_NETWORK_POLICY,
                                      0);
    struct shash_node *node;

    SHASH_FOR_EACH (node, &pg->clauses) {
        struct clause_flow *flow = node->data;

        adp_flow_set_add(pg->g->set, "cookie=0x%"PRIx64", %s actions=%s",
                         cookie, node->name, ds_cstr(&flow->actions));
        ds_destroy(&flow->actions);
        free(flow);
    }
    shash_destroy(&pg->clauses);
}

/* Isolation: a Pod to which a K8s NetworkPolicy applies in a direction gets
 * nothing in that direction but what is allowed. */

static void
isolate_ingress(const struct adp_pod *pod, void *g_)
{
    struct adp_v115 *g = g_;
    ofp_port_t port;

    if (adp_v115_port(g, pod->port, &port)) {
        adp_v115_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, 0,
                      ADP_V115_IngressDefaultRule, ISOLATION_PRIORITY,
                      "{TargetOFPortField=0x%"PRIx32"} actions=drop", port);
    }
}

static void
isolate_egress(const struct adp_pod *pod, void *g_)
{
    struct adp_v115 *g = g_;

    for (size_t i = 0; i < pod->ips.n; i++) {
        adp_v115_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, 0,
                      ADP_V115_EgressDefaultRule, ISOLATION_PRIORITY,
                      "ip,nw_src="IP_FMT" actions=drop",
                      IP_ARGS(pod->ips.ips[i]));
    }
}

static void
generate_policy(struct policy_generator *pg,
                const struct adp_network_policy *policy)
{
    struct adp_v115 *g = pg->g;

    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct adp_rule *rule = &policy->rules[i];
        const struct adp_names *applied_to = adp_rule_applied_to(policy, rule);

        if (policy->type == ADP_POLICY_K8S) {
            for_each_pod(g, applied_to,
                         rule->ingress ? isolate_ingress : isolate_egress, g);
            if (!rule->peer.present) {
                continue;       /* It only isolates. */
            }
        }
        if (applies_here(g, applied_to)) {
            collect_rule(pg, policy, rule);
        }
    }
}

void
adp_v115_generate_policies(struct adp_v115 *g)
{
    struct policy_generator pg = { .g = g };
    const struct adp_record **records;
    size_t n;

    shash_init(&pg.clauses);
    records = adp_model_sorted(g->model, ADP_KIND_NETWORK_POLICY, &n);
    for (size_t i = 0; i < n; i++) {
        generate_policy(&pg, CONTAINER_OF(records[i],
                                          struct adp_network_policy, up));
    }
    free(records);

    assign_all_priorities(&pg);
    assign_conj_ids(&pg);
    generate_rules(&pg);
    flush_clauses(&pg);
    free(pg.rules);
}

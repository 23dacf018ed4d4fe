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
 * matches become one flow with several conjunction() actions.  Which one a
 * rank gets, and keeps, lib/pipeline/pipeline-priority.h decides. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline-parts.h"
#include "util.h"

enum stage {
    STAGE_ANTREA, STAGE_K8S, STAGE_BASELINE,
    STAGE_MULTICAST,            /* All tiers. */
    STAGE_IGMP,                 /* What Pods send: no flows. */
    N_STAGES
};

/* The range of OpenFlow priorities for rules. */
static const struct priority_range {
    int min, max;
} priority_ranges[N_STAGES] = {
    [STAGE_ANTREA] = { 100, 64989 }, /* Below established connections. */
    [STAGE_K8S] = { 200, 60000 },
    [STAGE_BASELINE] = { 10, 180 },  /* Below isolation. */
    [STAGE_MULTICAST] = { 100, 64989 },
    [STAGE_IGMP] = { 100, 64989 },
};

#define K8S_ACTION_PRIORITY 190
#define METRIC_PRIORITY 200
/* Above those of what is allowed: a connection that nobody has answered bears
 * the label of a rule that allowed it before. */
#define DENIED_METRIC_PRIORITY 210

/* What the agent shall do with a packet-in: bits of PacketInOperationField. */
#define OPERATION_LOG 1
#define OPERATION_REJECT 2

static void isolate_and_log(struct adp_generator *, bool ingress,
                            const char *match);

static const struct adp_policy_style style = {
    .port_reg = 1,
    .service_reg = 7,
    .clause_cookie = ADP_V115_COOKIE_NETWORK_POLICY,
    .isolation_cookie = ADP_V115_COOKIE_NETWORK_POLICY,
    .isolation_tables = {
        [false] = ADP_V115_EgressDefaultRule,
        [true] = ADP_V115_IngressDefaultRule,
    },
    .isolation_priority = 200,
    .names_table = ADP_V115_AntreaPolicyIngressRule,
    .names_priority = 64991,    /* Above established connections. */
    .isolate_and_log = isolate_and_log,
};

/* What differs between the directions. */
static const struct v115_direction {
    enum adp_v115_table stages[N_STAGES];
    enum adp_v115_table metric;
    const char *after_metric;
    enum adp_v115_table k8s_rules;      /* Where rules pass packets to. */
    const char *label;
    const char *conj_field;
} directions[2] = {
    [false] = {                 /* Egress. */
        {
            [STAGE_ANTREA] = ADP_V115_AntreaPolicyEgressRule,
            [STAGE_K8S] = ADP_V115_EgressRule,
            [STAGE_BASELINE] = ADP_V115_EgressDefaultRule,
            [STAGE_MULTICAST] = ADP_V115_MulticastEgressRule,
            [STAGE_IGMP] = ADP_V115_MulticastEgressRule,
        },
        ADP_V115_EgressMetric, "L3Forwarding", ADP_V115_EgressRule,
        "EgressRuleCTLabel", "TFEgressConjIDField"
    },
    [true] = {                  /* Ingress. */
        {
            [STAGE_ANTREA] = ADP_V115_AntreaPolicyIngressRule,
            [STAGE_K8S] = ADP_V115_IngressRule,
            [STAGE_BASELINE] = ADP_V115_IngressDefaultRule,
            [STAGE_MULTICAST] = ADP_V115_MulticastIngressRule,
            [STAGE_IGMP] = ADP_V115_MulticastIngressRule,
        },
        ADP_V115_IngressMetric, "ConntrackCommit", ADP_V115_IngressRule,
        "IngressRuleCTLabel", "TFIngressConjIDField"
    },
};

static enum stage
policy_stage(const struct adp_network_policy *policy)
{
    return (policy->type == ADP_POLICY_K8S ? STAGE_K8S
            : policy->tier_priority >= ADP_TIER_BASELINE ? STAGE_BASELINE
            : STAGE_ANTREA);
}

static bool
is_multicast(const struct adp_policy_rule *r)
{
    return (r->table == ADP_V115_MulticastEgressRule
            || r->table == ADP_V115_MulticastIngressRule);
}

static enum stage
stage_of(const struct adp_policy_rule *r)
{
    return (r->has_no_flows ? STAGE_IGMP
            : is_multicast(r) ? STAGE_MULTICAST : policy_stage(r->policy));
}

/* Priorities. */

static struct adp_rank
rank_of(const struct adp_policy_rule *r)
{
    return (stage_of(r) == STAGE_K8S
            ? (struct adp_rank) { .index = 0 }
            : (struct adp_rank) {
                .tier = r->policy->tier_priority,
                .priority = r->policy->priority,
                .index = r->rule->priority,
            });
}

/* Orders by table and rank. */
static int
compare_rank(const struct adp_policy_rule *a, const struct adp_policy_rule *b)
{
    if (a->rule->ingress != b->rule->ingress) {
        return a->rule->ingress ? 1 : -1;
    }
    if (stage_of(a) != stage_of(b)) {
        return stage_of(a) < stage_of(b) ? -1 : 1;
    }

    const struct adp_rank rank_a = rank_of(a);
    const struct adp_rank rank_b = rank_of(b);
    return adp_rank_compare(&rank_a, &rank_b);
}

static int
compare_rules(const void *a_, const void *b_)
{
    const struct adp_policy_rule *a = a_;
    const struct adp_policy_rule *b = b_;
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
first_guess(const struct adp_policy_rule *r)
{
    const struct adp_network_policy *policy = r->policy;
    const struct priority_range *range = &priority_ranges[stage_of(r)];
    int guess;

    switch (stage_of(r)) {
    case STAGE_K8S:
        guess = range->min;
        break;
    case STAGE_BASELINE:
        guess = (180 - (int) (policy->priority * 10)
                 - (int) r->rule->priority);
        break;
    case STAGE_ANTREA:
    case STAGE_MULTICAST:
    case STAGE_IGMP:
        guess = (65000 - 200 * policy->tier_priority
                 - (int) (policy->priority
                          * (policy->tier_priority == 250 ? 100 : 20))
                 - (int) r->rule->priority);
        break;
    case N_STAGES:
    default:
        OVS_NOT_REACHED();
    }
    return MAX(range->min, MIN(range->max, guess));
}

/* Appends to 'ranks' those of the 'n' 'rules', which have equal ranks, and
 * sets the rules' priorities to the index of their rank for now.  Several
 * ranks if there are too many rules for one: then new rules come to the first,
 * so that all others stay. */
static size_t
add_ranks(struct adp_ranked *ranks, size_t n_ranks,
          struct adp_policy_rule *rules, size_t n)
{
    size_t n_parts = DIV_ROUND_UP(n, ADP_MAX_RULES_PER_PRIORITY);

    for (size_t i = 0; i < n_parts; i++) {
        struct adp_ranked *ranked = &ranks[n_ranks + i];

        *ranked = (struct adp_ranked) {
            .rank = rank_of(&rules[0]),
            .guess = first_guess(&rules[0]),
        };
        ranked->rank.part = n_parts - 1 - i;
    }
    for (size_t i = 0; i < n; i++) {
        rules[i].priority = (n_ranks + n_parts - 1
                             - i / ADP_MAX_RULES_PER_PRIORITY);
    }
    return n_ranks + n_parts;
}

/* Assigns priorities to the 'n' 'rules', which are those of one table in
 * order. */
static void
assign_priorities(struct adp_policies *ps, struct adp_priorities *priorities,
                  const struct priority_range *range,
                  struct adp_policy_rule *rules, size_t n)
{
    struct adp_ranked *ranks = xmalloc(n * sizeof *ranks);
    size_t n_ranks = 0;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n; end++) {
            if (compare_rank(&rules[i], &rules[end])) {
                break;
            }
        }
        n_ranks = add_ranks(ranks, n_ranks, &rules[i], end - i);
    }

    bool ok = adp_priorities_assign(priorities, ranks, n_ranks,
                                    range->min, range->max);
    for (size_t i = 0; i < n; i++) {
        struct adp_policy_rule *r = &rules[i];

        r->priority = ranks[r->priority].priority;
        if (!ok && r->priority == INT_MIN && !ps->g->error) {
            ps->g->error = adp_error_create(
                "limit", adp_record_describe(&r->policy->up), NULL,
                "the rules of table %s have %"PRIuSIZE" different priorities, "
                "of at most %d", adp_gen_table(ps->g, r->table), n_ranks,
                range->max - range->min + 1);
        }
    }
    free(ranks);
}

static void
assign_all_priorities(struct adp_policies *ps)
{
    struct adp_priorities *priorities = ps->g->state->priorities;
    size_t i = 0;

    BUILD_ASSERT(2 * N_STAGES <= ADP_MAX_RANKED_TABLES);
    if (ps->n_rules) {
        qsort(ps->rules, ps->n_rules, sizeof *ps->rules, compare_rules);
    }
    for (int ingress = 0; ingress < 2; ingress++) {
        for (enum stage stage = 0; stage < N_STAGES; stage++) {
            size_t first = i;

            while (i < ps->n_rules
                   && ps->rules[i].rule->ingress == ingress
                   && stage_of(&ps->rules[i]) == stage) {
                i++;
            }
            assign_priorities(ps, priorities++, &priority_ranges[stage],
                              &ps->rules[first], i - first);
        }
    }
}

/* What a rule does, and its metrics. */

/* What tells the agent of a packet, but for where it goes: to Output, or on
 * with a copy for the agent. */
#define PACKET_IN_FORMAT "{PacketInOperationField=0x%x}," \
    "{PacketInTableField=0x%"PRIxSIZE"}"

/* Packets that isolation drops.  Who sees to it that a Pod is isolated without
 * logging, too, makes the flow at the priority below. */
static void
isolate_and_log(struct adp_generator *g, bool ingress, const char *match)
{
    size_t table = style.isolation_tables[ingress];

    adp_gen_flow(g, style.isolation_cookie, 0, table,
                 style.isolation_priority + 1,
                 "%s actions={DispositionDropRegMark},"
                 "{OutputToControllerRegMark},"PACKET_IN_FORMAT","
                 "goto_table:Output", match, OPERATION_LOG, table);
}

/* The first packet goes on behind ct(), and to the agent. */
static char *
format_allow_packet_in(const struct adp_policy_rule *r)
{
    return (r->rule->logs
            ? xasprintf(",{DispositionAllowRegMark},"
                        "{OutputToControllerRegMark},"PACKET_IN_FORMAT","
                        "goto_table:Output", OPERATION_LOG, r->table)
            : xstrdup(""));
}

/* A copy for the agent of a packet that goes on.  That alone is metered. */
static char *
format_copy(const struct adp_policy_rule *r, const char *disposition)
{
    return (r->rule->logs
            ? xasprintf("{Disposition%sRegMark},"PACKET_IN_FORMAT","
                        "controller(reason=no_match,id={ControllerID},"
                        "userdata=01.01,meter_id={PacketInMeter}),",
                        disposition, OPERATION_LOG, r->table)
            : xstrdup(""));
}

/* What goes to an endpoint of a Service by way of SNAT: it has both of its
 * connections, and with the addresses that it has now would begin a third one,
 * which no other packet belongs to. */
static void
generate_allow_snat(struct adp_generator *g, const struct adp_policy_rule *r,
                    enum adp_family family)
{
    const struct v115_direction *dir = &directions[r->rule->ingress];
    char *copy = format_copy(r, "Allow");
    uint32_t id = r->conj_id;

    adp_gen_ip_flow(g, family, ADP_V115_COOKIE_NETWORK_POLICY, id, r->table,
                    r->priority,
                    "conj_id=%"PRIu32",ct_state=+snat+trk,{ip} "
                    "actions={%s=0x%"PRIx32"},%sgoto_table:%s",
                    id, dir->conj_field, id, copy,
                    adp_gen_table(g, dir->metric));
    adp_gen_ip_flow(g, family, ADP_V115_COOKIE_NETWORK_POLICY, id,
                    dir->metric, METRIC_PRIORITY,
                    "ct_state=+new+snat+trk,{%s=0x%"PRIx32"},{ip} "
                    "actions=goto_table:%s", dir->conj_field, id,
                    dir->after_metric);
    free(copy);
}

static void
generate_allow(struct adp_generator *g, const struct adp_policy_rule *r,
               enum adp_family family)
{
    bool services = adp_policy_rule_services(r)->n > 0;
    static const char *const states[] = { "+new", "-new" };
    const struct v115_direction *dir = &directions[r->rule->ingress];
    char *packet_in = format_allow_packet_in(r);
    uint32_t id = r->conj_id;
    char *l7 = (r->vlan
                ? xasprintf(",{L7NPRedirectCTMark},"
                            "{L7NPRuleVlanIDCTLabel=0x%"PRIx32"}", r->vlan)
                : xstrdup(""));

    adp_gen_ip_flow(g, family, ADP_V115_COOKIE_NETWORK_POLICY, id, r->table,
                    (stage_of(r) == STAGE_K8S ? K8S_ACTION_PRIORITY
                     : r->priority),
                    "conj_id=%"PRIu32"%s,{ip} actions={%s=0x%"PRIx32"},"
                    "ct(commit,table=%s,zone={CtZone},"
                    "exec({%s=0x%"PRIx32"}%s))%s",
                    id, services ? ",ct_state=-snat+trk" : "",
                    dir->conj_field, id,
                    adp_gen_table(g, dir->metric), dir->label, id, l7,
                    packet_in);
    free(l7);
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        adp_gen_ip_flow(g, family, ADP_V115_COOKIE_NETWORK_POLICY, id,
                        dir->metric, METRIC_PRIORITY,
                        "ct_state=%s,{%s=0x%"PRIx32"},{ip} "
                        "actions=goto_table:%s",
                        states[i], dir->label, id, dir->after_metric);
    }
    free(packet_in);
    if (services) {
        generate_allow_snat(g, r, family);
    }
}

static char *
format_deny_packet_in(const struct adp_policy_rule *r)
{
    bool reject = r->rule->action == ADP_ACTION_REJECT;
    int operations = ((r->rule->logs ? OPERATION_LOG : 0)
                      | (reject ? OPERATION_REJECT : 0));

    return (operations
            ? xasprintf("{Disposition%sRegMark},{OutputToControllerRegMark},"
                        PACKET_IN_FORMAT",", reject ? "Reject" : "Drop",
                        operations, r->table)
            : xstrdup(""));
}

static void
generate_deny(struct adp_generator *g, const struct adp_policy_rule *r)
{
    const struct v115_direction *dir = &directions[r->rule->ingress];
    char *packet_in = format_deny_packet_in(r);
    uint32_t id = r->conj_id;

    adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, id,
                 r->table, r->priority,
                 "conj_id=%"PRIu32" actions={APConjIDField=0x%"PRIx32"},"
                 "{APDenyRegMark},%sgoto_table:%s",
                 id, id, packet_in, adp_gen_table(g, dir->metric));
    adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, id, dir->metric,
                 DENIED_METRIC_PRIORITY,
                 "{APDenyRegMark},{APConjIDField=0x%"PRIx32"} actions=%s",
                 id, packet_in[0] ? "goto_table:Output" : "drop");
    free(packet_in);
}

/* Antrea's other rules don't matter any more; what isn't for Kubernetes'
 * policies to decide is for the baseline tier. */
static void
generate_pass(struct adp_generator *g, const struct adp_policy_rule *r)
{
    const struct v115_direction *dir = &directions[r->rule->ingress];
    uint32_t id = r->conj_id;
    char *copy = format_copy(r, "Pass");

    adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, id, r->table, r->priority,
                 "conj_id=%"PRIu32" actions={%s=0x%"PRIx32"},%sgoto_table:%s",
                 id, dir->conj_field, id, copy,
                 adp_gen_table(g, dir->k8s_rules));
    free(copy);
}

/* Nothing of multicast is tracked: all packets meet rules. */
static void
generate_multicast(struct adp_generator *g, const struct adp_policy_rule *r)
{
    static const struct {
        size_t metric;
        const char *after_metric;
    } ways[2] = {
        { ADP_V115_MulticastEgressMetric, "MulticastEgressPodMetric" },
        { ADP_V115_MulticastIngressMetric, "MulticastIngressPodMetric" },
    };
    size_t metric = ways[r->rule->ingress].metric;
    uint32_t id = r->conj_id;

    if (r->rule->action == ADP_ACTION_ALLOW) {
        adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, id, r->table,
                     r->priority, "conj_id=%"PRIu32",ip "
                     "actions={APConjIDField=0x%"PRIx32"},goto_table:%s",
                     id, id, adp_gen_table(g, metric));
        adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, id, metric,
                     METRIC_PRIORITY,
                     "{APConjIDField=0x%"PRIx32"} actions=goto_table:%s", id,
                     ways[r->rule->ingress].after_metric);
    } else {
        adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, id, r->table,
                     r->priority, "conj_id=%"PRIu32" "
                     "actions={APConjIDField=0x%"PRIx32"},{APDenyRegMark},"
                     "goto_table:%s", id, id, adp_gen_table(g, metric));
        adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, id, metric,
                     DENIED_METRIC_PRIORITY,
                     "{APDenyRegMark},{APConjIDField=0x%"PRIx32"} "
                     "actions=drop", id);
    }
}

/* Answers of DNS servers to the Pods that a rule with names applies to, which
 * nobody gets who hasn't asked for them, wait until their addresses are in
 * force. */
static void
generate_names(struct adp_generator *g)
{
    static const char *const protocols[ADP_N_FAMILIES][2] = {
        [ADP_IPV4] = { "tcp", "udp" },
        [ADP_IPV6] = { "tcp6", "udp6" },
    };

    ADP_FOR_EACH_FAMILY (family) {
        for (size_t i = 0; i < 2 && adp_gen_has_family(g, family); i++) {
            adp_gen_flow(g, style.clause_cookie, 0, style.names_table,
                         style.names_priority,
                         "ct_state=+rpl+trk,%s,tp_src=53 "
                         "actions=conjunction(%"PRIu32",%d/%d)",
                         protocols[family][i], ADP_NAMES_CONJ_ID,
                         ADP_NAMES_SERVICE_CLAUSE, ADP_NAMES_N_CLAUSES);
        }
    }
    adp_gen_flow(g, style.clause_cookie, 0, style.names_table,
                 style.names_priority,
                 "conj_id=%"PRIu32" actions=meter:{DNSPacketInMeter},"
                 "controller(reason=no_match,id={ControllerID},userdata=02,"
                 "pause),goto_table:%s", ADP_NAMES_CONJ_ID,
                 adp_gen_table(g, directions[true].metric));
}

static bool
collect(const struct adp_generator *g,
        const struct adp_network_policy *policy,
        const struct adp_network_policy_rule *rule, struct adp_policy_rule *r)
{
    if (policy->type == ADP_POLICY_K8S && !rule->peer.present) {
        return false;           /* It only isolates. */
    }
    adp_policy_rule_init(r, policy, rule,
                         directions[rule->ingress].stages[
                             adp_v115_is_multicast_rule(policy, rule,
                                                        g->env->options)
                             ? STAGE_MULTICAST : policy_stage(policy)]);
    return true;
}

static void
collect_rule(struct adp_policies *ps, const struct adp_network_policy *policy,
             const struct adp_network_policy_rule *rule)
{
    struct adp_policy_rule r;

    if (policy->type == ADP_POLICY_K8S) {
        adp_policies_isolate(ps, policy, rule);
    }
    if (collect(ps->g, policy, rule, &r)) {
        adp_policies_collect(ps, &r);
    }
}

static void
get_rank(const struct adp_policy_rule *r, struct adp_policy_rank *rank)
{
    const struct priority_range *range = &priority_ranges[stage_of(r)];

    *rank = (struct adp_policy_rank) {
        .list = r->rule->ingress * N_STAGES + stage_of(r),
        .rank = rank_of(r),
        .guess = first_guess(r),
        .min = range->min,
        .max = range->max,
    };
}

static void
act(struct adp_generator *g, const struct adp_policy_rule *r)
{
    if (r->has_no_flows) {
        return;
    } else if (is_multicast(r)) {
        generate_multicast(g, r);
        return;
    }
    if (r->rule->peer.fqdns.n) {
        generate_names(g);
    }
    switch (r->rule->action) {
    case ADP_ACTION_ALLOW:
        ADP_FOR_EACH_FAMILY (family) {
            if (adp_gen_has_family(g, family)) {
                generate_allow(g, r, family);
            }
        }
        break;
    case ADP_ACTION_DROP:
    case ADP_ACTION_REJECT:
        generate_deny(g, r);
        break;
    case ADP_ACTION_PASS:
        generate_pass(g, r);
        break;
    }
}

void
adp_v115_generate_policies(struct adp_generator *g)
{
    struct adp_policies ps;

    adp_policies_init(&ps, g, &style);
    adp_policies_for_each_rule(&ps, collect_rule);
    assign_all_priorities(&ps);
    adp_policies_assign_ids(&ps);
    for (size_t i = 0; i < ps.n_rules; i++) {
        const struct adp_policy_rule *r = &ps.rules[i];

        adp_policies_add_clauses(&ps, r);
        act(g, r);
    }
    adp_policies_finish(&ps);
}

const struct adp_pipeline_parts adp_v115_parts = {
    .node = adp_v115_generate_node,
    .l7 = adp_v115_generate_l7,
    .peer_node = adp_v115_generate_peer_node,
    .pod = adp_v115_generate_pod,
    .service = adp_v115_generate_service,
    .multicast_group = adp_v115_generate_multicast_group,
    .all_pods = adp_v115_generate_queries,
    .options_for_all_pods = UINT64_C(1) << ADP_V115_MULTICAST,
    .applied = adp_v115_generate_applied,
    .applied_to_pod = adp_v115_generate_applied_to_pod,
    .style = &style,
    .collect = collect,
    .rank = get_rank,
    .igmp_list = STAGE_IGMP,
    .has_ranks = true,
    .act = act,
};

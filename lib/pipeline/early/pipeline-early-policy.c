/* SPDX-License-Identifier: Apache-2.0 */

/* K8s NetworkPolicies: a table with their rules and one with the isolation
 * that they bring, for each direction.
 *
 * Only the first packets of a connection meet them: later ones are let through
 * above. */

#include <config.h>
#include "pipeline-early.h"

#include <inttypes.h>

#include "flow.h"
#include "openvswitch/match.h"
#include "pipeline-parts.h"

#define CLAUSE_PRIORITY 200
#define MAX_CLAUSE_PRIORITY 209 /* Below established connections. */
#define ALLOW_PRIORITY 190

static const struct adp_policy_style style = {
    .port_reg = 1,
    .port_needs_ip = true,
    .clause_cookie = ADP_EARLY_COOKIE_POLICY,
    .isolation_cookie = ADP_EARLY_COOKIE_DEFAULT,
    .isolation_tables = {
        [false] = ADP_EARLY_EgressDefault,
        [true] = ADP_EARLY_IngressDefault,
    },
    .isolation_priority = 200,
};

/* What differs between the directions. */
static const struct early_direction {
    enum adp_early_table table;
    const char *next;           /* Where packets go that a rule allows. */
    const char *id_field;
} directions[2] = {
    [false] = { ADP_EARLY_EgressRule, "L3Forwarding", "EgressRuleID" },
    [true] = { ADP_EARLY_IngressRule, "ConntrackCommit", "IngressRuleID" },
};

static bool
collect(const struct adp_generator *g,
        const struct adp_network_policy *policy,
        const struct adp_network_policy_rule *rule, struct adp_policy_rule *r)
{
    bool nobody = !rule->peer.present;

    if (nobody && !adp_gen_option(g, ADP_EARLY_ISOLATION_RULES)) {
        return false;
    }
    adp_policy_rule_init(r, policy, rule, directions[rule->ingress].table);
    r->nobody = nobody;
    r->has_peer = true;
    return true;
}

static void
collect_rule(struct adp_policies *ps, const struct adp_network_policy *policy,
             const struct adp_network_policy_rule *rule)
{
    struct adp_policy_rule r;

    adp_policies_isolate(ps, policy, rule);
    if (collect(ps->g, policy, rule, &r)) {
        adp_policies_collect(ps, &r);
    }
}

/* All rules are equal: they have one priority as long as they fit. */
static void
assign_priorities(struct adp_policies *ps)
{
    size_t n[2] = { 0, 0 };     /* Of each direction. */

    for (size_t i = 0; i < ps->n_rules; i++) {
        struct adp_policy_rule *r = &ps->rules[i];

        r->priority = (CLAUSE_PRIORITY
                       + n[r->rule->ingress]++ / ADP_MAX_RULES_PER_PRIORITY);
        if (r->priority > MAX_CLAUSE_PRIORITY && !ps->g->error) {
            ps->g->error = adp_error_create(
                "limit", adp_record_describe(&r->policy->up), NULL,
                "table %s has too many rules", adp_gen_table(ps->g, r->table));
        }
    }
}

static void
generate_allow(struct adp_generator *g, const struct adp_policy_rule *r)
{
    const struct early_direction *dir = &directions[r->rule->ingress];
    uint32_t id = r->conj_id;

    if (adp_gen_option(g, ADP_EARLY_RULE_REGISTERS)) {
        adp_gen_flow(g, ADP_EARLY_COOKIE_POLICY, 0, r->table, ALLOW_PRIORITY,
                     "conj_id=%"PRIu32",ip actions={%s=0x%"PRIx32"},"
                     "resubmit(,%s)", id, dir->id_field, id, dir->next);
    } else {
        adp_gen_flow(g, ADP_EARLY_COOKIE_POLICY, 0, r->table, ALLOW_PRIORITY,
                     "conj_id=%"PRIu32",ip actions=resubmit(,%s)", id,
                     dir->next);
    }
}

void
adp_early_generate_policies(struct adp_generator *g)
{
    struct adp_policies ps;

    adp_policies_init(&ps, g, &style);
    adp_policies_for_each_rule(&ps, collect_rule);
    assign_priorities(&ps);
    adp_policies_assign_ids(&ps);
    for (size_t i = 0; i < ps.n_rules; i++) {
        adp_policies_add_clauses(&ps, &ps.rules[i]);
        generate_allow(g, &ps.rules[i]);
    }
    adp_policies_finish(&ps);
}

static void
get_rank(const struct adp_policy_rule *r, struct adp_policy_rank *rank)
{
    *rank = (struct adp_policy_rank) {
        .list = r->rule->ingress,
        .guess = CLAUSE_PRIORITY,
        .min = CLAUSE_PRIORITY,
        .max = MAX_CLAUSE_PRIORITY,
    };
}

const struct adp_pipeline_parts adp_early_parts = {
    .always = adp_early_generate_invalid,
    .node = adp_early_generate_node,
    .peer_node = adp_early_generate_peer_node,
    .pod = adp_early_generate_pod,
    .style = &style,
    .collect = collect,
    .rank = get_rank,
    .act = generate_allow,
};

/* Which flows count what. */

const uint8_t adp_early_metric_tables[ADP_EARLY_N_METRIC_TABLES] = {
    ADP_EARLY_EgressRule_ID, ADP_EARLY_IngressRule_ID,
};

enum adp_flow_metric
adp_early_flow_metric(uint8_t table_id OVS_UNUSED, uint64_t cookie OVS_UNUSED,
                      const struct minimatch *match, uint32_t *id)
{
    *id = MINIFLOW_GET_U32(match->flow, conj_id);
    return *id ? ADP_METRIC_RULE_FIRST : ADP_METRIC_NONE;
}

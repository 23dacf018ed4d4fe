/* SPDX-License-Identifier: Apache-2.0 */

/* Policies: which of their rules are in force, the rules' IDs and priorities,
 * and what they contribute.
 *
 * Rules of one rank have one priority, in parts of at most
 * ADP_MAX_RULES_PER_PRIORITY with a priority each.  A rule stays in its part:
 * its ID notes which one that is. */

#include <config.h>
#include "pipeline-engine-private.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "model-pause.h"
#include "model-sort.h"
#include "openvswitch/match.h"
#include "pipeline-clause.h"
#include "pipeline-rule-match.h"
#include "util.h"

/* Clauses. */

static void
change_clause_of(struct adp_engine *e, struct engine_rule *rule,
                 const struct adp_flow_key *key, uint32_t conj_id,
                 unsigned int number, unsigned int n, bool add)
{
    struct adp_contributor *c = &rule->source.contributor;

    if (add) {
        adp_desired_add_clause(e->desired, c, key, conj_id, number, n);
    } else {
        adp_desired_drop_clause(e->desired, c, key, conj_id, number, n);
    }
}

static void
change_clause(struct adp_engine *e, struct engine_rule *rule,
              const struct match *match, unsigned int number, bool add)
{
    const struct adp_policy_rule *r = &rule->up;
    const struct adp_flow_key key = {
        .table_id = e->pipeline->tables[r->table].id,
        .priority = r->priority,
        .cookie = adp_gen_cookie(&e->g, e->parts->style->clause_cookie, 0),
        .match = match,
    };

    change_clause_of(e, rule, &key, r->conj_id, number,
                     adp_policy_rule_n_clauses(r), add);
}

/* DNS answers to a target of the rule are read, or no longer for its sake. */
static void
change_names_clause(struct adp_engine *e, struct engine_rule *rule,
                    ofp_port_t port, bool add)
{
    const struct adp_policy_style *style = e->parts->style;
    struct match match;
    const struct adp_flow_key key = {
        .table_id = e->pipeline->tables[style->names_table].id,
        .priority = style->names_priority,
        .cookie = adp_gen_cookie(&e->g, style->clause_cookie, 0),
        .match = &match,
    };

    adp_rule_match_port(style, port, &match);
    change_clause_of(e, rule, &key, ADP_NAMES_CONJ_ID, ADP_NAMES_PODS_CLAUSE,
                     ADP_NAMES_N_CLAUSES, add);
}

/* Clauses are numbered in the order From, To, Service. */
static unsigned int
target_number(const struct adp_policy_rule *r)
{
    return r->ingress && r->has_peer ? 2 : 1;
}

static unsigned int
peer_number(const struct adp_policy_rule *r)
{
    return r->ingress ? 1 : 2;
}

void
adp_engine_rule_change_target(struct adp_engine *e, struct engine_rule *rule,
                              const struct engine_pod *pod, bool add)
{
    unsigned int number = target_number(&rule->up);
    struct match match;

    if (rule->up.has_no_flows) {
        return;
    }

    if (!rule->up.ingress) {
        for (size_t i = 0; i < pod->pod->ips.n; i++) {
            const struct adp_cidr host
                = adp_cidr_host(&pod->pod->ips.ips[i]);

            if (adp_gen_has_family(&e->g, adp_cidr_family(&host))) {
                adp_rule_match_source(&host, &match);
                change_clause(e, rule, &match, number, add);
            }
        }
        if (rule->up.rule->peer.fqdns.n && pod->has_port) {
            change_names_clause(e, rule, pod->port, add);
        }
    } else if (pod->has_port) {
        adp_rule_match_port(e->parts->style, pod->port, &match);
        change_clause(e, rule, &match, number, add);
    }
}

void
adp_engine_rule_change_peer(struct adp_engine *e, struct engine_rule *rule,
                            const struct adp_cidr *cidr, bool add)
{
    struct match match;

    if (!adp_gen_has_family(&e->g, adp_cidr_family(cidr))) {
        return;
    }
    if (rule->up.for_services) {
        adp_rule_match_client(cidr, &match);
    } else if (rule->up.ingress) {
        adp_rule_match_source(cidr, &match);
    } else {
        adp_rule_match_destination(cidr, &match);
    }
    change_clause(e, rule, &match, peer_number(&rule->up), add);
}

/* A rule whose contributions are being made. */
struct contributing {
    struct adp_engine *e;
    struct engine_rule *rule;
};

static void
contribute_cidr(const struct adp_cidr *cidr, void *c_)
{
    const struct contributing *c = c_;

    adp_engine_rule_change_peer(c->e, c->rule, cidr, true);
}

static void
contribute_service(const struct match *match, void *c_)
{
    const struct contributing *c = c_;

    change_clause(c->e, c->rule, match,
                  adp_policy_rule_n_clauses(&c->rule->up), true);
}

static const struct engine_record *
find_service(const struct adp_engine *e, const char *name)
{
    return shash_find_data(&e->records[ADP_KIND_SERVICE], name);
}

/* Packets for the Service 'r', which may be NULL: for each group that chooses
 * among its endpoints a clause of that number. */
static void
contribute_groups_of(const struct contributing *c,
                     const struct engine_record *r, unsigned int number)
{
    for (size_t i = 0; r && i < r->n_group_ids; i++) {
        struct match match;

        adp_rule_match_service_group(c->e->parts->style, r->group_ids[i],
                                     &match);
        change_clause(c->e, c->rule, &match, number, true);
    }
}

static void
contribute_groups(struct contributing *c, struct engine_group *const groups[],
                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (groups[i]->record) {
            const struct adp_address_group *group = CONTAINER_OF(
                groups[i]->record, struct adp_address_group, up);

            for (size_t j = 0; j < group->n_addresses; j++) {
                contribute_cidr(&group->addresses[j], c);
                adp_pause();
            }
        }
    }
}

static void
contribute_peers(struct contributing *c)
{
    const struct adp_peer *peer = &c->rule->up.rule->peer;

    if (!peer->present) {
        if (!c->rule->up.nobody) {
            ADP_FOR_EACH_FAMILY (family) {
                const struct adp_cidr any = adp_cidr_any(family);

                contribute_cidr(&any, c);
            }
        }
        return;
    }
    contribute_groups(c, c->rule->peers, peer->address_groups.n);
    contribute_groups(c, c->rule->fqdns, peer->fqdns.n);
    for (size_t i = 0; i < peer->n_ip_blocks; i++) {
        adp_ip_block_to_cidrs(&peer->ip_blocks[i], contribute_cidr, c);
    }
    for (size_t i = 0; i < peer->to_services.n; i++) {
        contribute_groups_of(c, find_service(c->e,
                                             peer->to_services.names[i]),
                             peer_number(&c->rule->up));
    }
}

static void
contribute_rule(struct adp_engine *e, struct engine_rule *rule)
{
    const struct adp_names *services = adp_policy_rule_services(&rule->up);
    struct contributing c = { e, rule };

    if (rule->up.has_no_flows) {
        return;
    }
    adp_engine_begin(e, &rule->source);
    for (size_t i = 0; i < rule->n_applied_to; i++) {
        const struct engine_group *group = rule->applied_to[i];

        for (size_t j = 0; j < group->n_pods; j++) {
            if (group->pods[j]->pod) {
                adp_engine_rule_change_target(e, rule, group->pods[j], true);
            }
        }
    }
    for (size_t i = 0; i < services->n; i++) {
        const struct engine_record *r = find_service(e, services->names[i]);

        if (r && r->has_rules) {
            contribute_groups_of(&c, r, target_number(&rule->up));
        }
    }
    if (rule->up.has_peer) {
        contribute_peers(&c);
    }
    if (!rule->up.nobody) {
        ADP_FOR_EACH_FAMILY (family) {
            if (adp_gen_has_family(&e->g, family)) {
                adp_rule_match_services(rule->up.rule, family,
                                        contribute_service, &c);
            }
        }
    }
    e->parts->act(&e->g, &rule->up);
    adp_engine_end(e);
}

bool
adp_engine_rule_is_current(const struct adp_engine *e,
                           const struct engine_rule *rule)
{
    return rule->part && !adp_engine_is_marked(&rule->dirty);
}

/* Ranks. */

/* Returns the place of 'rank' among 'ranks', or where it belongs. */
static size_t
find_rank(const struct engine_ranks *ranks, const struct adp_rank *rank)
{
    size_t lo = 0, hi = ranks->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (adp_rank_compare(&ranks->ranks[mid]->up.rank, rank) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static struct engine_rank *
use_rank(struct engine_ranks *ranks, const struct adp_policy_rank *up)
{
    size_t i = find_rank(ranks, &up->rank);

    if (i < ranks->n && !adp_rank_compare(&ranks->ranks[i]->up.rank,
                                          &up->rank)) {
        return ranks->ranks[i];
    }
    if (ranks->n >= ranks->allocated) {
        ranks->ranks = x2nrealloc(ranks->ranks, &ranks->allocated,
                                  sizeof *ranks->ranks);
    }
    memmove(&ranks->ranks[i + 1], &ranks->ranks[i],
            (ranks->n++ - i) * sizeof *ranks->ranks);

    struct engine_rank *rank = xzalloc(sizeof *rank);
    rank->up = *up;
    ranks->ranks[i] = rank;
    return rank;
}

static struct engine_part *
use_part(struct engine_rank *rank, unsigned int wanted)
{
    if (wanted < rank->n_parts
        && rank->parts[wanted]->n_rules < ADP_MAX_RULES_PER_PRIORITY) {
        return rank->parts[wanted];
    }
    for (size_t i = 0; i < rank->n_parts; i++) {
        if (rank->parts[i]->n_rules < ADP_MAX_RULES_PER_PRIORITY) {
            return rank->parts[i];
        }
    }

    struct engine_part *part = xmalloc(sizeof *part);
    *part = (struct engine_part) {
        .rank = rank,
        .number = rank->n_parts,
        .priority = INT_MIN,
    };
    ovs_list_init(&part->rules);
    rank->parts = xrealloc(rank->parts,
                           (rank->n_parts + 1) * sizeof *rank->parts);
    rank->parts[rank->n_parts++] = part;
    return part;
}

static void
join_rank(struct adp_engine *e, struct engine_rule *rule)
{
    struct engine_ranks *ranks = &e->ranks[rule->rank.list];
    unsigned int note = adp_ids_get_note(&e->ids->conjs, rule->up.conj_id);
    struct engine_part *part = use_part(use_rank(ranks, &rule->rank),
                                        note ? note - 1 : UINT_MAX);

    rule->part = part;
    ovs_list_push_back(&part->rules, &rule->part_node);
    ranks->dirty |= !part->n_rules++;
    adp_ids_set_note(&e->ids->conjs, rule->up.conj_id, part->number + 1);
}

static void
leave_rank(struct adp_engine *e, struct engine_rule *rule)
{
    ovs_list_remove(&rule->part_node);
    e->ranks[rule->rank.list].dirty |= !--rule->part->n_rules;
    rule->part = NULL;
}

static void
free_rank(struct engine_rank *rank)
{
    for (size_t i = 0; i < rank->n_parts; i++) {
        free(rank->parts[i]);
    }
    free(rank->parts);
    free(rank);
}

/* Frees ranks that no rule has any more. */
static void
drop_unused_ranks(struct engine_ranks *ranks)
{
    size_t n = 0;

    for (size_t i = 0; i < ranks->n; i++) {
        struct engine_rank *rank = ranks->ranks[i];

        while (rank->n_parts && !rank->parts[rank->n_parts - 1]->n_rules) {
            free(rank->parts[--rank->n_parts]);
        }
        if (rank->n_parts) {
            ranks->ranks[n++] = rank;
        } else {
            free_rank(rank);
        }
    }
    ranks->n = n;
}

/* Notes that there is no priority left for 'part'. */
static void
note_no_priority(struct adp_engine *e, const struct engine_part *part,
                 size_t n_ranks)
{
    const struct adp_policy_rank *rank = &part->rank->up;
    const struct engine_rule *rule = CONTAINER_OF(
        ovs_list_front(&part->rules), struct engine_rule, part_node);
    const char *table = adp_gen_table(&e->g, rule->up.table);
    char *object = adp_record_describe(&rule->up.policy->up);

    if (e->g.error) {
        free(object);
    } else if (e->parts->has_ranks) {
        e->g.error = adp_error_create(
            "limit", object, NULL, "the rules of table %s have %"PRIuSIZE
            " different priorities, of at most %d", table, n_ranks,
            rank->max - rank->min + 1);
    } else {
        e->g.error = adp_error_create("limit", object, NULL,
                                      "table %s has too many rules", table);
    }
}

/* Gives the parts of 'ranks' priorities.  Where one moves its rules become
 * dirty. */
static void
assign_priorities(struct adp_engine *e, size_t list)
{
    struct engine_ranks *ranks = &e->ranks[list];
    struct adp_ranked *ranked;
    struct engine_part **parts;
    size_t n = 0, allocated = 0;

    drop_unused_ranks(ranks);
    for (size_t i = 0; i < ranks->n; i++) {
        allocated += ranks->ranks[i]->n_parts;
    }
    ranked = xmalloc((allocated + 1) * sizeof *ranked);
    parts = xmalloc((allocated + 1) * sizeof *parts);
    for (size_t i = 0; i < ranks->n; i++) {
        const struct engine_rank *rank = ranks->ranks[i];

        for (size_t j = rank->n_parts; j-- > 0; ) {
            if (rank->parts[j]->n_rules) {
                ranked[n].rank = rank->up.rank;
                ranked[n].rank.part = j;
                ranked[n].guess = rank->up.guess;
                parts[n++] = rank->parts[j];
            } else {
                rank->parts[j]->priority = INT_MIN;
            }
        }
    }

    const struct adp_policy_rank *any = n ? &parts[0]->rank->up : NULL;
    if (!adp_priorities_assign(adp_pipeline_state_save(e->ids, list), ranked,
                               n, any ? any->min : 0, any ? any->max : 0)) {
        for (size_t i = 0; i < n; i++) {
            if (ranked[i].priority == INT_MIN) {
                note_no_priority(e, parts[i], n);
            }
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            if (parts[i]->priority != ranked[i].priority) {
                struct engine_rule *rule;

                parts[i]->priority = ranked[i].priority;
                LIST_FOR_EACH (rule, part_node, &parts[i]->rules) {
                    adp_engine_mark(&e->dirty_rules, &rule->dirty);
                }
            }
        }
    }
    ranks->dirty = false;
    free(ranked);
    free(parts);
}

/* Rules. */

/* Those of the rule's direction. */
static struct engine_set *
users_of(struct engine_group *group, const struct engine_rule *rule)
{
    return &group->users[rule->up.ingress];
}

static struct engine_group **
use_groups(struct adp_engine *e, enum adp_kind kind,
           const struct adp_names *names, struct engine_rule *rule)
{
    struct engine_group **groups
        = names->n ? xmalloc(names->n * sizeof *groups) : NULL;

    for (size_t i = 0; i < names->n; i++) {
        groups[i] = adp_engine_use_group(e, kind, names->names[i]);
        adp_engine_set_add(users_of(groups[i], rule), rule);
        e->fqdns_seq += kind == ADP_KIND_FQDN;
    }
    return groups;
}

static void
drop_groups(struct adp_engine *e, struct engine_group **groups, size_t n,
            struct engine_rule *rule)
{
    for (size_t i = 0; i < n; i++) {
        e->fqdns_seq += groups[i]->kind == ADP_KIND_FQDN;
        adp_engine_set_remove(users_of(groups[i], rule), rule);
        adp_engine_check_group(e, groups[i]);
    }
    free(groups);
}

static struct engine_service **
use_services(struct adp_engine *e, const struct adp_names *names,
             struct engine_rule *rule)
{
    struct engine_service **services
        = names->n ? xmalloc(names->n * sizeof *services) : NULL;

    for (size_t i = 0; i < names->n; i++) {
        struct engine_service *s = shash_find_data(&e->services,
                                                   names->names[i]);
        if (!s) {
            s = xmalloc(sizeof *s);
            s->name = xstrdup(names->names[i]);
            adp_engine_set_init(&s->users);
            shash_add(&e->services, s->name, s);
        }
        adp_engine_set_add(&s->users, rule);
        services[i] = s;
    }
    return services;
}

static void
drop_services(struct adp_engine *e, struct engine_service **services,
              size_t n, struct engine_rule *rule)
{
    for (size_t i = 0; i < n; i++) {
        struct engine_service *s = services[i];

        adp_engine_set_remove(&s->users, rule);
        if (adp_engine_set_is_empty(&s->users)) {
            shash_find_and_delete(&e->services, s->name);
            adp_engine_set_destroy(&s->users);
            free(s->name);
            free(s);
        }
    }
    free(services);
}

void
adp_engine_mark_users(struct adp_engine *e, const char *service)
{
    const struct engine_service *s = shash_find_data(&e->services, service);
    const struct engine_member *user;

    if (s) {
        ENGINE_SET_FOR_EACH (user, &s->users) {
            struct engine_rule *rule = user->data;

            adp_engine_mark(&e->dirty_rules, &rule->dirty);
        }
    }
}

static struct engine_rule *
add_rule(struct adp_engine *e, const struct adp_policy_rule *up,
         unsigned int occurrence)
{
    const struct adp_names *applied_to
        = adp_network_policy_applied_to(up->policy, up->rule);
    const struct adp_names *peers = &up->rule->peer.address_groups;
    struct engine_rule *rule = xzalloc(sizeof *rule);

    adp_engine_source_init(e, &rule->source);
    rule->up = *up;
    rule->occurrence = occurrence;
    rule->applied_to = use_groups(e, ADP_KIND_APPLIED_TO_GROUP, applied_to,
                                  rule);
    rule->n_applied_to = applied_to->n;
    rule->peers = use_groups(e, ADP_KIND_ADDRESS_GROUP, peers, rule);
    rule->n_peers = peers->n;
    rule->fqdns = use_groups(e, ADP_KIND_FQDN, &up->rule->peer.fqdns, rule);
    rule->to_services = use_services(e, &up->rule->peer.to_services, rule);
    rule->services = use_services(e, adp_policy_rule_services(up), rule);
    e->parts->rank(&rule->up, &rule->rank);
    adp_engine_mark(&e->dirty_rules, &rule->dirty);
    return rule;
}

static void
retire_rule(struct adp_engine *e, struct engine_rule *rule)
{
    if (rule->part) {
        leave_rank(e, rule);
        adp_ids_release(&e->ids->conjs, rule->up.conj_id);
        adp_ids_release(&e->ids->vlans, rule->up.vlan);
        rule->up.conj_id = rule->up.vlan = 0;
        adp_desired_remove(e->desired, &rule->source.contributor);
    }
}

static void
remove_rule(struct adp_engine *e, struct engine_rule *rule)
{
    retire_rule(e, rule);
    adp_engine_unmark(&e->dirty_rules, &rule->dirty);
    drop_groups(e, rule->applied_to, rule->n_applied_to, rule);
    drop_groups(e, rule->peers, rule->n_peers, rule);
    drop_groups(e, rule->fqdns, rule->up.rule->peer.fqdns.n, rule);
    drop_services(e, rule->to_services, rule->up.rule->peer.to_services.n,
                  rule);
    drop_services(e, rule->services, adp_policy_rule_services(&rule->up)->n,
                  rule);
    adp_engine_source_kill(e, &rule->source);
}

/* Does the rule apply to a Pod of this Node, or to a Service? */
static bool
applies_here(const struct adp_engine *e, const struct engine_rule *rule)
{
    const struct adp_names *services = adp_policy_rule_services(&rule->up);

    for (size_t i = 0; i < rule->n_applied_to; i++) {
        if (rule->applied_to[i]->n_here) {
            return true;
        }
    }
    for (size_t i = 0; i < services->n; i++) {
        const struct engine_record *r = find_service(e, services->names[i]);

        if (r && r->has_rules) {
            return true;
        }
    }
    return false;
}

static int
compare_names(const void *a_, const void *b_)
{
    const struct engine_rule *a = *(const struct engine_rule *const *) a_;
    const struct engine_rule *b = *(const struct engine_rule *const *) b_;
    int cmp = strcmp(a->up.policy->up.name, b->up.policy->up.name);

    return cmp ? cmp : (a->up.rule < b->up.rule ? -1
                        : a->up.rule > b->up.rule);
}

static int
compare_ranks(const void *a_, const void *b_)
{
    const struct engine_rule *a = *(const struct engine_rule *const *) a_;
    const struct engine_rule *b = *(const struct engine_rule *const *) b_;

    if (a->rank.list != b->rank.list) {
        return a->rank.list < b->rank.list ? -1 : 1;
    }
    int cmp = adp_rank_compare(&a->rank.rank, &b->rank.rank);
    return cmp ? cmp : compare_names(a_, b_);
}

/* Returns the dirty rules that apply to something here, in the order in which
 * they get IDs; the others leave. */
static struct engine_rule **
sort_dirty_rules(struct adp_engine *e, size_t *n)
{
    struct engine_rule **rules
        = xmalloc((e->dirty_rules.n + 1) * sizeof *rules);
    struct engine_rule *rule;

    *n = 0;
    ENGINE_MARKS_FOR_EACH (rule, dirty, &e->dirty_rules) {
        if (applies_here(e, rule)) {
            rules[(*n)++] = rule;
        } else {
            retire_rule(e, rule);
        }
        adp_pause();
    }
    adp_sort_pointers(rules, *n, (e->parts->has_ranks
                                  ? compare_ranks : compare_names));
    return rules;
}

static void
assign_id(struct adp_engine *e, struct engine_rule *rule)
{
    if (!rule->part && !rule->up.conj_id) {
        adp_policy_rule_assign_id(&e->g, &rule->up, rule->occurrence);
    }
}

void
adp_engine_finish_rules(struct adp_engine *e)
{
    size_t n;
    struct engine_rule **rules = sort_dirty_rules(e, &n);

    /* Others may get the VLANs that these don't take again. */
    for (size_t i = 0; i < n; i++) {
        if (adp_policy_rule_has_vlan(&e->g, &rules[i]->up,
                                     rules[i]->occurrence)) {
            assign_id(e, rules[i]);
            adp_pause();
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!rules[i]->part) {
            assign_id(e, rules[i]);
            join_rank(e, rules[i]);
        }
        adp_pause();
    }
    free(rules);

    for (size_t i = 0; i < ARRAY_SIZE(e->ranks); i++) {
        if (e->ranks[i].dirty) {
            assign_priorities(e, i);
        }
    }

    struct engine_rule *rule;
    ENGINE_MARKS_FOR_EACH (rule, dirty, &e->dirty_rules) {
        if (rule->part && !e->g.error) {
            rule->up.priority = rule->part->priority;
            contribute_rule(e, rule);
        }
        adp_pause();
    }
    adp_engine_marks_clear(&e->dirty_rules);
}

/* Policies. */

/* The Pods of 'names' begin, or cease, to be isolated by a rule. */
static void
isolate_groups(struct adp_engine *e, const struct adp_names *names,
               bool ingress, bool logs, bool add)
{
    for (size_t i = 0; i < names->n; i++) {
        struct engine_group *group = adp_engine_use_group(
            e, ADP_KIND_APPLIED_TO_GROUP, names->names[i]);

        group->n_isolating[ingress] += add ? 1 : -1;
        if (logs) {
            group->n_logging[ingress] += add ? 1 : -1;
        }
        adp_engine_mark(&e->dirty_groups, &group->dirty);
        adp_engine_check_group(e, group);
    }
}

/* In a direction in which a K8s NetworkPolicy has rules its Pods get, or send,
 * nothing but what is allowed.  These are all Pods of the policy, also where a
 * rule itself applies to others or to fewer of them. */
static void
isolate(struct adp_engine *e, const struct adp_network_policy *policy,
        bool add)
{
    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct adp_network_policy_rule *rule = &policy->rules[i];
        bool logs = adp_policy_logs_isolation(e->parts->style, policy,
                                              rule->ingress);

        if (!rule->index) {
            isolate_groups(e, &policy->applied_to, rule->ingress, logs, add);
        }
        isolate_groups(e, &rule->applied_to, rule->ingress, logs, add);
    }
}

static void
remove_policy(struct adp_engine *e, struct engine_policy *p)
{
    const struct adp_network_policy *policy
        = CONTAINER_OF(p->record, struct adp_network_policy, up);

    for (size_t i = 0; i < p->n_rules; i++) {
        remove_rule(e, p->rules[i]);
    }
    if (policy->type == ADP_POLICY_K8S) {
        isolate(e, policy, false);
    }
    adp_record_unref(CONST_CAST(struct adp_record *, p->record));
    free(p->rules);
    free(p);
}

static struct engine_policy *
add_policy(struct adp_engine *e, const struct adp_record *record)
{
    const struct adp_network_policy *policy
        = CONTAINER_OF(record, struct adp_network_policy, up);
    struct engine_policy *p = xzalloc(sizeof *p);
    struct shash seen = SHASH_INITIALIZER(&seen);

    p->record = adp_record_ref(record);
    p->rules = xmalloc((policy->n_rules + 1) * sizeof *p->rules);
    if (policy->type == ADP_POLICY_K8S) {
        isolate(e, policy, true);
    }
    for (size_t i = 0; i < policy->n_rules; i++) {
        struct adp_policy_rule up;

        if (!e->parts->collect(&e->g, policy, &policy->rules[i], &up)) {
            continue;
        }

        /* Equal rules of one policy are told apart by their order. */
        struct shash_node *node = shash_find(&seen, policy->rules[i].identity);
        if (!node) {
            node = shash_add(&seen, policy->rules[i].identity, NULL);
        }
        uintptr_t occurrence = (uintptr_t) node->data;
        node->data = (void *) (occurrence + 1);
        p->rules[p->n_rules++] = add_rule(e, &up, occurrence);
    }
    shash_destroy(&seen);
    return p;
}

void
adp_engine_set_policy(struct adp_engine *e, const char *name,
                      const struct adp_record *new)
{
    struct engine_policy *old = shash_find_and_delete(&e->policies, name);

    /* In this order: what both use stays. */
    if (new && !e->g.error) {
        shash_add(&e->policies, name, add_policy(e, new));
    }
    if (old) {
        remove_policy(e, old);
    }
}

void
adp_engine_clear_rules(struct adp_engine *e)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &e->policies) {
        remove_policy(e, node->data);
        adp_pause();
    }
    shash_clear(&e->policies);
    for (size_t i = 0; i < ARRAY_SIZE(e->ranks); i++) {
        struct engine_ranks *ranks = &e->ranks[i];

        for (size_t j = 0; j < ranks->n; j++) {
            free_rank(ranks->ranks[j]);
        }
        free(ranks->ranks);
        *ranks = (struct engine_ranks) { .n = 0 };
    }
}

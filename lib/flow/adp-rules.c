/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-rules.h"
#include "adp-metadata.h"
#include "adp-rcu.h"
#include "openvswitch/ofp-match.h"
#include "openvswitch/ofp-print.h"
#include "ovs-rcu.h"
#include "util.h"

static atomic_uint64_t next_seq = ATOMIC_VAR_INIT(0);

int
adp_conj_clause_compare(const struct adp_conj_clause *a,
                        const struct adp_conj_clause *b)
{
    return (a->id != b->id ? (a->id < b->id ? -1 : 1)
            : a->n_clauses != b->n_clauses ? a->n_clauses - b->n_clauses
            : a->clause - b->clause);
}

static int
compare_clauses(const void *a, const void *b)
{
    return adp_conj_clause_compare(a, b);
}

/* Puts the clauses in order and drops duplicates. */
static void
rule_normalize_conjs(struct adp_rule *rule)
{
    size_t n = 0;

    for (size_t i = 1; i < rule->n_conjs; i++) {
        if (compare_clauses(&rule->conjs[i - 1], &rule->conjs[i]) >= 0) {
            qsort(rule->conjs, rule->n_conjs, sizeof *rule->conjs,
                  compare_clauses);
            break;
        }
    }
    for (size_t i = 0; i < rule->n_conjs; i++) {
        if (!n || compare_clauses(&rule->conjs[n - 1], &rule->conjs[i])) {
            rule->conjs[n++] = rule->conjs[i];
        }
    }
    rule->n_conjs = n;
}

/* Collects the clauses among 'ofpacts' into 'rule'. */
static void
rule_init_conjs(struct adp_rule *rule, const struct ofpact *ofpacts,
                size_t ofpacts_len)
{
    const struct ofpact *a;
    size_t n = 0;

    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        n += a->type == OFPACT_CONJUNCTION;
    }
    if (!n) {
        return;
    }
    rule->conjs = xmalloc(n * sizeof *rule->conjs);
    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        if (a->type == OFPACT_CONJUNCTION) {
            const struct ofpact_conjunction *conj = ofpact_get_CONJUNCTION(a);

            rule->conjs[rule->n_conjs++] = (struct adp_conj_clause) {
                .id = conj->id,
                .clause = conj->clause,
                .n_clauses = conj->n_clauses,
            };
        }
    }
    rule_normalize_conjs(rule);
}

struct adp_rule *
adp_rule_create(uint8_t table_id, int priority, const struct minimatch *match,
                ovs_be64 cookie, const struct ofpact *ofpacts,
                size_t ofpacts_len, void *owner, void (*owner_free)(void *))
{
    struct adp_rule *rule = xzalloc(sizeof *rule);

    ovs_refcount_init(&rule->ref_cnt);
    rule->table_id = table_id;
    rule->priority = priority;
    rule->cookie = cookie;
    if (owner) {
        rule->match = *match;
    } else {
        minimatch_clone(&rule->match, match);
    }
    rule->match_hash = minimatch_hash(match, 0);
    rule->reads = adp_reads_of_match(match);
    rule->metadata = adp_metadata_of_match(match);
    atomic_add_relaxed(&next_seq, 1, &rule->seq);
    rule_init_conjs(rule, ofpacts, ofpacts_len);
    if (rule->n_conjs) {
        rule->metadata |= ADP_METADATA_BEYOND;  /* Other flows have a part. */
        adp_op_list_init_inert(&rule->ops, ofpacts, ofpacts_len,
                               owner != NULL);
    } else {
        if (owner) {
            adp_op_list_init_borrowed(&rule->ops, ofpacts, ofpacts_len);
        } else {
            adp_op_list_init(&rule->ops, ofpacts, ofpacts_len);
        }
        rule->reads |= adp_reads_of_actions(ofpacts, ofpacts_len);
    }
    adp_counters_init(&rule->counters, ADP_COUNTED_RULE);
    rule->owner = owner;
    rule->owner_free = owner_free;
    return rule;
}

struct adp_rule *
adp_rule_ref(const struct adp_rule *rule_)
{
    struct adp_rule *rule = CONST_CAST(struct adp_rule *, rule_);

    if (rule) {
        ovs_refcount_ref(&rule->ref_cnt);
    }
    return rule;
}

/* For RCU readers, to which the rule may be one that is about to be freed. */
bool
adp_rule_try_ref(const struct adp_rule *rule_)
{
    struct adp_rule *rule = CONST_CAST(struct adp_rule *, rule_);

    return ovs_refcount_try_ref_rcu(&rule->ref_cnt);
}

static void
rule_free(struct adp_rule *rule)
{
    if (!rule->owner) {
        minimatch_destroy(&rule->match);
    }
    adp_op_list_uninit(&rule->ops);
    if (rule->owner_free) {
        rule->owner_free(rule->owner);
    }
    free(rule->conjs);
    free(rule);
    adp_rcu_breathe();
}

void
adp_rule_unref(struct adp_rule *rule)
{
    if (rule && ovs_refcount_unref(&rule->ref_cnt) == 1) {
        ovsrcu_postpone(rule_free, rule);
    }
}

/* Appends the rule's match and priority, as "priority=P,MATCH". */
void
adp_rule_format_match(const struct adp_rule *rule,
                      const struct ofputil_port_map *port_map, struct ds *s)
{
    size_t start = s->length;

    /* OFP_DEFAULT_PRIORITY would not be shown. */
    if (rule->priority == OFP_DEFAULT_PRIORITY) {
        ds_put_format(s, "priority=%d,", rule->priority);
    }
    minimatch_format(&rule->match, NULL, port_map, s, rule->priority);
    if (s->length > start
        && (ds_last(s) == ',' || ds_last(s) == ' ')) {
        ds_truncate(s, s->length - 1);
    }
}

void
adp_rule_format(const struct adp_rule *rule, struct ds *s)
{
    struct ofpact_format_params fp = { .s = s };

    ds_put_format(s, "table=%"PRIu8", ", rule->table_id);
    adp_rule_format_match(rule, NULL, s);
    ds_put_cstr(s, " actions=");
    ofpacts_format(rule->ops.ofpacts, rule->ops.ofpacts_len, &fp);
}

enum adp_punt
adp_rule_punt(const struct adp_rule *rule)
{
    return rule->ops.punt;
}

static void
note_learn(uint8_t table_id OVS_UNUSED, void *learns)
{
    *(bool *) learns = true;
}

bool
adp_rule_learns(const struct adp_rule *rule)
{
    bool learns = false;

    adp_reads_for_each_learn(rule->ops.ofpacts, rule->ops.ofpacts_len,
                             note_learn, &learns);
    return learns;
}

static int
compare_rules(const void *a_, const void *b_)
{
    const struct adp_rule *a = *(const struct adp_rule *const *) a_;
    const struct adp_rule *b = *(const struct adp_rule *const *) b_;

    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

void
adp_rules_sort(struct adp_rule **rules, size_t n)
{
    if (n) {
        qsort(rules, n, sizeof *rules, compare_rules);
    }
}

bool
adp_rule_same_place(const struct adp_rule *a, const struct adp_rule *b)
{
    return (a->table_id == b->table_id
            && a->priority == b->priority
            && a->match_hash == b->match_hash
            && minimatch_equal(&a->match, &b->match));
}

bool
adp_rule_same_actions(const struct adp_rule *a, const struct adp_rule *b)
{
    if (a->n_conjs != b->n_conjs) {
        return false;
    }
    for (size_t i = 0; i < a->n_conjs; i++) {
        if (adp_conj_clause_compare(&a->conjs[i], &b->conjs[i])) {
            return false;
        }
    }
    return (a->n_conjs
            || ofpacts_equal(a->ops.ofpacts, a->ops.ofpacts_len,
                             b->ops.ofpacts, b->ops.ofpacts_len));
}

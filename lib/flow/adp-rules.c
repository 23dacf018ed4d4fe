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
static atomic_uint64_t n_awaited = ATOMIC_VAR_INIT(0);

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

/* Puts clauses in order and drops duplicates.  Returns how many are left. */
static size_t
normalize_conjs(struct adp_conj_clause *conjs, size_t n_conjs)
{
    size_t n = 0;

    for (size_t i = 1; i < n_conjs; i++) {
        if (compare_clauses(&conjs[i - 1], &conjs[i]) >= 0) {
            qsort(conjs, n_conjs, sizeof *conjs, compare_clauses);
            break;
        }
    }
    for (size_t i = 0; i < n_conjs; i++) {
        if (!n || compare_clauses(&conjs[n - 1], &conjs[i])) {
            conjs[n++] = conjs[i];
        }
    }
    return n;
}

static size_t
count_conjs(const struct ofpact *ofpacts, size_t ofpacts_len)
{
    const struct ofpact *a;
    size_t n = 0;

    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        n += a->type == OFPACT_CONJUNCTION;
    }
    return n;
}

/* Makes a rule of the 'n' clauses among 'ofpacts'. */
static struct adp_rule *
create_of_clauses(const struct ofpact *ofpacts, size_t ofpacts_len, size_t n)
{
    struct adp_clause_rule *clauses = xzalloc(sizeof *clauses
                                              + n * sizeof *clauses->conjs);
    const struct ofpact *a;
    size_t i = 0;

    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        if (a->type == OFPACT_CONJUNCTION) {
            const struct ofpact_conjunction *conj = ofpact_get_CONJUNCTION(a);

            clauses->conjs[i++] = (struct adp_conj_clause) {
                .id = conj->id,
                .clause = conj->clause,
                .n_clauses = conj->n_clauses,
            };
        }
    }
    clauses->up.n_conjs = normalize_conjs(clauses->conjs, n);
    return &clauses->up;
}

static struct adp_rule *
create_acting(const struct ofpact *ofpacts, size_t ofpacts_len, bool borrows)
{
    size_t n = adp_op_list_room(ofpacts, ofpacts_len);
    struct adp_acting_rule *acting = xzalloc(sizeof *acting
                                             + n * sizeof *acting->room);

    adp_op_list_init_in(&acting->ops, ofpacts, ofpacts_len, borrows,
                        acting->room);
    adp_counters_init(&acting->counters, ADP_COUNTED_RULE);
    acting->up.reads = adp_reads_of_actions(ofpacts, ofpacts_len);
    return &acting->up;
}

static struct minimatch *
copy_match(const struct minimatch *match)
{
    struct minimatch *copy = xmalloc(sizeof *copy);

    minimatch_clone(copy, match);
    return copy;
}

struct adp_rule *
adp_rule_create(uint8_t table_id, int priority, const struct minimatch *match,
                ovs_be64 cookie, const struct ofpact *ofpacts,
                size_t ofpacts_len, void *owner, void (*owner_free)(void *))
{
    size_t n_conjs = count_conjs(ofpacts, ofpacts_len);
    struct adp_rule *rule = (n_conjs
                             ? create_of_clauses(ofpacts, ofpacts_len, n_conjs)
                             : create_acting(ofpacts, ofpacts_len,
                                             owner != NULL));
    uint64_t seq;

    ovs_refcount_init(&rule->ref_cnt);
    rule->table_id = table_id;
    rule->priority = priority;
    rule->cookie = cookie;
    rule->match = owner ? match : copy_match(match);
    rule->match_hash = minimatch_hash(match, 0);
    rule->reads |= adp_reads_of_match(match);
    rule->metadata = adp_metadata_of_match(match);
    if (n_conjs) {
        rule->metadata |= ADP_METADATA_BEYOND;  /* Other flows have a part. */
    }
    atomic_add_relaxed(&next_seq, 1, &seq);
    rule->seq = seq;
    rule->owner = owner;
    rule->owner_free = owner_free;
    return rule;
}

struct adp_rule *
adp_rule_clone(const struct adp_rule *rule)
{
    const struct adp_op_list *ops = adp_rule_ops(rule);

    return adp_rule_create(rule->table_id, rule->priority, rule->match,
                           rule->cookie, ops->ofpacts, ops->ofpacts_len, NULL,
                           NULL);
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

void
adp_rule_await_end(struct adp_rule *rule)
{
    uint64_t before;

    if (!adp_rule_is_awaited(rule)) {
        atomic_add_relaxed(&n_awaited, 1, &before);
        atomic_store_relaxed(&adp_rule_counters(rule)->awaited, true);
    }
}

uint64_t
adp_rules_awaited(void)
{
    uint64_t n;

    atomic_read_relaxed(&n_awaited, &n);
    return n;
}

static void
rule_free(struct adp_rule *rule)
{
    if (!rule->n_conjs) {
        if (adp_rule_is_awaited(rule)) {
            uint64_t before;

            atomic_sub_relaxed(&n_awaited, 1, &before);
        }
        adp_op_list_uninit(&CONTAINER_OF(rule, struct adp_acting_rule,
                                         up)->ops);
    }
    if (!rule->owner) {
        struct minimatch *match = CONST_CAST(struct minimatch *, rule->match);

        minimatch_destroy(match);
        free(match);
    }
    if (rule->owner_free) {
        rule->owner_free(rule->owner);
    }
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
    minimatch_format(rule->match, NULL, port_map, s, rule->priority);
    if (s->length > start
        && (ds_last(s) == ',' || ds_last(s) == ' ')) {
        ds_truncate(s, s->length - 1);
    }
}

void
adp_rule_format(const struct adp_rule *rule, struct ds *s)
{
    ds_put_format(s, "table=%d, ", rule->table_id);
    adp_rule_format_match(rule, NULL, s);
    ds_put_cstr(s, " actions=");
    for (size_t i = 0; i < rule->n_conjs; i++) {
        const struct adp_conj_clause *c = &adp_rule_conjs(rule)[i];

        ds_put_format(s, "%sconjunction(%"PRIu32",%d/%d)", i ? "," : "",
                      c->id, c->clause + 1, c->n_clauses);
    }
    if (!rule->n_conjs) {
        const struct adp_op_list *ops = adp_rule_ops(rule);
        struct ofpact_format_params fp = { .s = s };

        ofpacts_format(ops->ofpacts, ops->ofpacts_len, &fp);
    }
}

enum adp_punt
adp_rule_punt(const struct adp_rule *rule)
{
    return rule->n_conjs ? ADP_PUNT_NONE : adp_rule_ops(rule)->punt;
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

    if (!rule->n_conjs) {
        const struct adp_op_list *ops = adp_rule_ops(rule);

        adp_reads_for_each_learn(ops->ofpacts, ops->ofpacts_len, note_learn,
                                 &learns);
    }
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
            && minimatch_equal(a->match, b->match));
}

static bool
same_conjs(const struct adp_rule *a, const struct adp_rule *b)
{
    for (size_t i = 0; i < a->n_conjs; i++) {
        if (adp_conj_clause_compare(&adp_rule_conjs(a)[i],
                                    &adp_rule_conjs(b)[i])) {
            return false;
        }
    }
    return true;
}

bool
adp_rule_same_actions(const struct adp_rule *a, const struct adp_rule *b)
{
    if (a->n_conjs != b->n_conjs) {
        return false;
    } else if (a->n_conjs) {
        return same_conjs(a, b);
    }

    const struct adp_op_list *ao = adp_rule_ops(a);
    const struct adp_op_list *bo = adp_rule_ops(b);

    return ofpacts_equal(ao->ofpacts, ao->ofpacts_len,
                         bo->ofpacts, bo->ofpacts_len);
}

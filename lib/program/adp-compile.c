/* SPDX-License-Identifier: Apache-2.0 */

/* The next program from the present one and a delta. */

#include <config.h>
#include <limits.h>
#include "adp-match.h"
#include "adp-program-private.h"
#include "adp-program.h"
#include "util.h"

/* What happens to one table.
 *
 * Rules are sorted by descending priority and, within one, so that those that
 * may be in the same place are side by side. */

struct keyed_rule {
    uint64_t key;
    struct adp_rule *rule;
};

struct rule_list {
    struct keyed_rule *rules;
    size_t n, allocated;
};

struct table_changes {
    struct rule_list removed, added;
    struct adp_match_change *changes;
    size_t n;
};

static uint64_t
place_key(const struct adp_rule *rule)
{
    /* Flips the sign too, to compare as unsigned. */
    uint32_t descending = ~((uint32_t) rule->priority ^ (1u << 31));

    return ((uint64_t) descending << 32) | rule->match_hash;
}

static void
rule_list_add(struct rule_list *list, struct adp_rule *rule)
{
    if (list->n >= list->allocated) {
        list->rules = x2nrealloc(list->rules, &list->allocated,
                                 sizeof *list->rules);
    }
    list->rules[list->n++] = (struct keyed_rule) {
        .key = place_key(rule),
        .rule = rule,
    };
}

static int
compare_keys(const void *a_, const void *b_)
{
    const struct keyed_rule *a = a_;
    const struct keyed_rule *b = b_;

    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (a->rule->seq < b->rule->seq ? -1 : a->rule->seq > b->rule->seq);
}

static void
rule_list_sort(struct rule_list *list)
{
    if (list->n) {
        qsort(list->rules, list->n, sizeof *list->rules, compare_keys);
    }
}

/* Makes the list of changes: first what is removed, from the lowest priority
 * upward, then what is replaced or added, from the highest downward.  That is
 * the order which matchers take best. */
static void
pair_changes(struct table_changes *tc)
{
    const struct rule_list *removed = &tc->removed;
    const struct rule_list *added = &tc->added;
    size_t n = removed->n + added->n;
    struct adp_match_change *changes = xmalloc(n * sizeof *changes);
    size_t n_removals = 0, i = 0, j = 0;

    /* Removals go to the end, backward, and then to the front. */
    tc->n = 0;
    while (i < removed->n || j < added->n) {
        const struct keyed_rule *r = &removed->rules[i];
        const struct keyed_rule *a = &added->rules[j];

        if (i < removed->n && j < added->n && r->key == a->key
            && adp_rule_same_place(r->rule, a->rule)) {
            changes[tc->n++] = (struct adp_match_change) { r->rule, a->rule };
            i++;
            j++;
        } else if (i < removed->n && (j >= added->n || r->key <= a->key)) {
            changes[n - ++n_removals] = (struct adp_match_change) {
                r->rule, NULL
            };
            i++;
        } else {
            changes[tc->n++] = (struct adp_match_change) { NULL, a->rule };
            j++;
        }
    }

    tc->changes = xmalloc((n_removals + tc->n) * sizeof *changes);
    memcpy(tc->changes, &changes[n - n_removals],
           n_removals * sizeof *changes);
    memcpy(&tc->changes[n_removals], changes, tc->n * sizeof *changes);
    tc->n += n_removals;
    free(changes);
}

static bool
changes_meaning(const struct adp_match_change *change)
{
    return (!change->old || !change->new
            || !adp_rule_same_actions(change->old, change->new));
}

static struct table_changes *
sort_delta(const struct adp_delta *delta)
{
    struct table_changes *tables = xcalloc(ADP_N_TABLES, sizeof *tables);
    const struct adp_rule_change *rc;

    HMAP_FOR_EACH (rc, hmap_node, &delta->rules) {
        struct table_changes *tc = &tables[rc->rule->table_id];

        ovs_assert(rc->rule->table_id < ADP_N_TABLES);
        rule_list_add(rc->add ? &tc->added : &tc->removed, rc->rule);
    }
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        struct table_changes *tc = &tables[i];

        if (tc->removed.n || tc->added.n) {
            rule_list_sort(&tc->removed);
            rule_list_sort(&tc->added);
            pair_changes(tc);
        }
    }
    return tables;
}

static void
free_changes(struct table_changes *tables)
{
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        free(tables[i].removed.rules);
        free(tables[i].added.rules);
        free(tables[i].changes);
    }
    free(tables);
}

/* Counts of what is in use. */

struct count_learn_aux {
    struct adp_program *program;
    int delta;
};

static void
count_learn(uint8_t table_id, void *aux_)
{
    struct count_learn_aux *aux = aux_;
    uint32_t *n = &aux->program->counts->learns[table_id];

    *n += aux->delta;
    bitmap_set(aux->program->learn_tables, table_id, *n > 0);
}

static size_t
ops_size(const struct adp_op_list *ops)
{
    size_t size = ops->n_ops * sizeof *ops->ops;

    for (size_t i = 0; i < ops->n_ops; i++) {
        const struct adp_op_list *nested = ops->ops[i].nested;

        size += nested ? sizeof *nested + ops_size(nested) : 0;
    }
    return size;
}

static void
count_actions(struct adp_program *program, const struct adp_op_list *ops,
              int delta)
{
    struct count_learn_aux aux = { .program = program, .delta = delta };
    size_t size = ops_size(ops);

    program->counts->op_bytes += delta > 0 ? size : -size;
    adp_reads_for_each_learn(ops->ofpacts, ops->ofpacts_len, count_learn,
                             &aux);
}

static void
count_reads(struct adp_program *program, uint32_t reads, int delta)
{
    while (reads) {
        int bit = raw_ctz(reads);
        uint32_t *n = &program->counts->reads[bit];

        *n += delta;
        if (*n) {
            program->reads |= 1u << bit;
        } else {
            program->reads &= ~(1u << bit);
        }
        reads = zero_rightmost_1bit(reads);
    }
}

static void
count_rule(struct adp_program *program, const struct adp_rule *rule,
           int delta)
{
    count_reads(program, rule->reads, delta);
    if (!rule->n_conjs) {
        count_actions(program, adp_rule_ops(rule), delta);
    }
}

static void
count_group(struct adp_program *program, const struct adp_group *group,
            int delta)
{
    count_reads(program, group->reads, delta);
    for (size_t i = 0; i < group->n_buckets; i++) {
        count_actions(program, &group->buckets[i].ops, delta);
    }
}

static void
count_in_table(struct adp_table *table, const struct adp_rule *rule,
               int delta)
{
    for (int i = 0; i < ADP_N_METADATA_WORDS; i++) {
        table->n_metadata[i] += rule->metadata & 1u << i ? delta : 0;
    }
    table->n_beyond += rule->metadata & ADP_METADATA_BEYOND ? delta : 0;
    table->n_punts += adp_rule_punt(rule) ? delta : 0;
}

/* What the table's rules match on, and which punt: as in 'old', which may be
 * NULL, but for what 'tc' changes. */
static void
count_matches(struct adp_table *table, const struct adp_table *old,
              const struct table_changes *tc)
{
    if (old) {
        memcpy(table->n_metadata, old->n_metadata, sizeof table->n_metadata);
        table->n_beyond = old->n_beyond;
        table->n_punts = old->n_punts;
    } else {
        memset(table->n_metadata, 0, sizeof table->n_metadata);
        table->n_beyond = 0;
        table->n_punts = 0;
    }
    for (size_t i = 0; i < tc->n; i++) {
        const struct adp_match_change *change = &tc->changes[i];

        if (change->new) {
            count_in_table(table, change->new, 1);
        }
        if (change->old) {
            count_in_table(table, change->old, -1);
        }
    }
}

/* Compiling. */

static void
unref_rule(void *rule)
{
    adp_rule_unref(rule);
}

/* Takes and gives the references that go with 'changes'. */
static void
account_matches(struct adp_program *program, struct adp_cow *cow,
              const struct table_changes *tc)
{
    for (size_t i = 0; i < tc->n; i++) {
        const struct adp_match_change *change = &tc->changes[i];

        if (change->new) {
            adp_rule_ref(change->new);
            count_rule(program, change->new, 1);
        }
        if (change->old) {
            adp_cow_postpone(cow, unref_rule, change->old);
            count_rule(program, change->old, -1);
        }
    }
}

static struct adp_table_log *
own_log(struct adp_program *program, struct adp_cow *cow, uint8_t table_id)
{
    struct adp_table_log *log = program->logs[table_id];

    log = log ? adp_cow_own(cow, log) : adp_cow_alloc(cow, sizeof *log);
    program->logs[table_id] = log;
    return log;
}

/* Logs those of the changes that have a meaning. */
static void
log_changes(struct adp_program *program, struct adp_cow *cow,
            uint8_t table_id, const struct table_changes *tc)
{
    uint64_t generation = program->generation;
    struct adp_table_log *log = NULL;
    int top = INT_MIN;

    for (size_t i = 0; i < tc->n; i++) {
        const struct adp_match_change *change = &tc->changes[i];
        const struct adp_rule *rule = change->old ? change->old : change->new;

        if (!changes_meaning(change)) {
            continue;
        }
        if (!log) {
            log = own_log(program, cow, table_id);
        }
        if (tc->n <= ADP_RECENT_MAX) {
            adp_recent_add(&log->recent, cow, rule->priority, rule->match,
                           generation);
        }
        top = MAX(top, rule->priority);
    }
    if (log) {
        adp_change_log_add(&log->changes, top, generation);
        if (tc->n > ADP_RECENT_MAX) {
            adp_recent_forget(&log->recent, cow, generation);
        }
    }
}

/* Logs a change of what happens to any packet of the table whose answer was
 * below 'priority'. */
static void
log_change_for_all(struct adp_program *program, struct adp_cow *cow,
                   uint8_t table_id, int priority)
{
    struct adp_table_log *log = own_log(program, cow, table_id);

    adp_change_log_add(&log->changes, priority, program->generation);
    adp_recent_forget(&log->recent, cow, program->generation);
}

static void
compile_table(struct adp_program *program, struct adp_cow *cow,
              uint8_t table_id, const struct table_changes *tc)
{
    struct adp_table *old = program->tables[table_id];
    struct adp_match *match = adp_match_update(cow, old ? old->match : NULL,
                                               tc->changes, tc->n);
    size_t n_rules = ((old ? old->n_rules : 0)
                      + tc->added.n - tc->removed.n);

    program->tables[table_id] = NULL;
    if (match) {
        struct adp_table *table = adp_cow_alloc(cow, sizeof *table);

        table->match = match;
        table->n_rules = n_rules;
        count_matches(table, old, tc);
        program->tables[table_id] = table;
    }
    adp_cow_discard(cow, old);

    account_matches(program, cow, tc);
    log_changes(program, cow, table_id, tc);
}

static void
compile_misses(struct adp_program *program, struct adp_cow *cow,
               const struct adp_delta *delta)
{
    for (size_t i = 0; delta->has_misses && i < ADP_N_TABLES; i++) {
        if (delta->misses[i] >= 0
            && delta->misses[i] != program->misses[i]) {
            program->misses[i] = delta->misses[i];
            program->settings_changed = program->generation;
            log_change_for_all(program, cow, i, ADP_PRIORITY_NONE);
        }
    }
}

/* Any packet may be one that is answered. */
static void
compile_answers(struct adp_program *program, struct adp_cow *cow,
                const struct adp_delta *delta)
{
    if (delta->has_answers && memcmp(&delta->answers, &program->answers,
                                     sizeof delta->answers)) {
        program->answers = delta->answers;
        program->settings_changed = program->generation;
        for (size_t i = 0; i < ADP_N_TABLES; i++) {
            if (program->tables[i]) {
                log_change_for_all(program, cow, i, INT_MAX);
            }
        }
    }
}

/* Answers are what they were. */
static void
compile_declared(struct adp_program *program, const struct adp_delta *delta)
{
    if (delta->has_declared) {
        memcpy(program->declared, delta->declared, sizeof program->declared);
    }
}

static void
compile_group(struct adp_program *program, struct adp_cow *cow,
              const struct adp_group_change *gc)
{
    struct adp_group_map *groups = program->groups;
    const struct adp_group *before = adp_group_map_get(groups, gc->group_id);
    bool same;

    if (!before && !gc->group) {
        return;
    }
    same = (before && gc->group
            && adp_group_same_meaning(before, gc->group));
    if (before) {
        count_group(program, before, -1);
    }
    if (gc->group) {
        count_group(program, gc->group, 1);
    }
    program->groups
        = adp_group_map_set(cow, groups, gc->group_id, gc->group,
                            same ? adp_group_map_changed(groups, gc->group_id)
                            : program->generation);
}

/* Without what other threads may change meanwhile. */
static struct adp_program *
copy_program(const struct adp_program *old)
{
    struct adp_program *program = xzalloc(sizeof *program);
    size_t start = offsetof(struct adp_program, generation);
    size_t end = offsetof(struct adp_program, life_cnt);

    memcpy((char *) program + start, (const char *) old + start, end - start);
    ovs_refcount_init(&program->ref_cnt);
    ovs_refcount_init(&program->life_cnt);
    return program;
}

struct adp_program *
adp_compile(const struct adp_program *old_, const struct adp_delta *delta)
{
    struct adp_program *old = CONST_CAST(struct adp_program *, old_);
    struct adp_program *program = copy_program(old);
    struct table_changes *tables = sort_delta(delta);
    const struct adp_group_change *gc;
    struct adp_cow cow;

    ovs_assert(!old->successor);
    adp_cow_begin(&cow);
    ovs_refcount_ref(&program->life_cnt);       /* For 'old'. */
    program->generation++;
    program->counts = adp_cow_own(&cow, program->counts);
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        if (tables[i].n) {
            compile_table(program, &cow, i, &tables[i]);
        }
    }
    free_changes(tables);
    compile_misses(program, &cow, delta);
    compile_answers(program, &cow, delta);
    compile_declared(program, delta);
    HMAP_FOR_EACH (gc, hmap_node, &delta->groups) {
        compile_group(program, &cow, gc);
    }

    old->successor = program;
    old->garbage = adp_cow_end(&cow);
    return program;
}

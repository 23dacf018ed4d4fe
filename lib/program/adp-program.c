/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-program.h"
#include "adp-match-direct.h"
#include "adp-match.h"
#include "adp-program-private.h"
#include "ovs-rcu.h"
#include "util.h"

struct adp_program *
adp_program_create(void)
{
    struct adp_program *program = xzalloc(sizeof *program);
    struct adp_cow cow;

    adp_cow_begin(&cow);
    ovs_refcount_init(&program->ref_cnt);
    ovs_refcount_init(&program->life_cnt);
    program->generation = 1;
    program->groups = adp_group_map_create(&cow);
    program->counts = adp_cow_alloc(&cow, sizeof *program->counts);
    adp_cow_end(&cow);
    return program;
}

struct adp_program *
adp_program_ref(const struct adp_program *program_)
{
    struct adp_program *program = CONST_CAST(struct adp_program *, program_);

    if (program) {
        ovs_refcount_ref(&program->ref_cnt);
    }
    return program;
}

static void
unref_rule(struct adp_rule *rule, void *aux OVS_UNUSED)
{
    adp_rule_unref(rule);
}

/* Frees all parts of a program that has no successor to share them with. */
static void
free_parts(struct adp_program *program)
{
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        struct adp_table *table = program->tables[i];

        if (table) {
            adp_match_for_each(table->match, unref_rule, NULL);
            adp_match_destroy(table->match);
            adp_cow_free(table);
        }
        if (program->logs[i]) {
            adp_recent_clear(&program->logs[i]->recent, NULL);
            adp_cow_free(program->logs[i]);
        }
    }
    adp_group_map_destroy(program->groups);
    adp_cow_free(program->counts);
}

/* Called after a grace period since the last reference went. */
static void
program_retire(struct adp_program *program)
{
    while (program && ovs_refcount_unref(&program->life_cnt) == 1) {
        struct adp_program *successor = program->successor;

        if (successor) {
            adp_garbage_free(&program->garbage);
        } else {
            free_parts(program);
        }
        free(program);
        program = successor;
    }
}

void
adp_program_unref(struct adp_program *program)
{
    if (program && ovs_refcount_unref(&program->ref_cnt) == 1) {
        ovsrcu_postpone(program_retire, program);
    }
}

const struct adp_group *
adp_program_get_group(const struct adp_program *program, uint32_t group_id)
{
    return adp_group_map_get(program->groups, group_id);
}

size_t
adp_program_size(const struct adp_program *program)
{
    size_t size = sizeof *program + program->counts->op_bytes;

    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        const struct adp_table *table = program->tables[i];

        if (table) {
            size += sizeof *table + table->match->class->size(table->match);
        }
    }
    return size;
}

uint64_t
adp_program_changed(const struct adp_program *program, uint8_t table_id,
                    int priority)
{
    const struct adp_table_log *log = (table_id < ADP_N_TABLES
                                       ? program->logs[table_id] : NULL);

    return log ? adp_change_log_latest(&log->changes, priority) : 0;
}

uint64_t
adp_program_changed_for(const struct adp_program *program, uint8_t table_id,
                        int priority, const struct adp_rule *rule,
                        uint64_t since)
{
    uint64_t changed = adp_program_changed(program, table_id, priority);

    return (changed > since
            && adp_recent_touches(&program->logs[table_id]->recent,
                                  priority, rule->match, since)
            ? changed : 0);
}

uint32_t
adp_program_metadata(const struct adp_program *program, uint8_t table_id)
{
    const struct adp_table *table = program->tables[table_id];
    uint32_t words = program->declared[table_id];

    if (!table) {
        return words;
    }
    /* Tables of a few rules seldom change, unless it is known better. */
    if (table->n_beyond
        || (!words && table->match->class == &adp_match_direct_class)) {
        return 0;
    }
    for (int i = 0; i < ADP_N_METADATA_WORDS; i++) {
        words |= table->n_metadata[i] ? 1u << i : 0;
    }
    return words;
}

bool
adp_program_reads(const struct adp_program *program, uint8_t table_id,
                  const struct flow *mask, int priority)
{
    const struct adp_table *table = program->tables[table_id];

    return table && adp_match_reads(table->match, mask, priority);
}

uint64_t
adp_program_group_changed(const struct adp_program *program,
                          uint32_t group_id)
{
    return adp_group_map_changed(program->groups, group_id);
}

/* Showing. */

struct rule_array {
    struct adp_rule **rules;
    size_t n, allocated;
};

static void
collect_punts(struct adp_rule *rule, void *array_)
{
    struct rule_array *array = array_;

    if (adp_rule_punt(rule)) {
        if (array->n >= array->allocated) {
            array->rules = x2nrealloc(array->rules, &array->allocated,
                                      sizeof *array->rules);
        }
        array->rules[array->n++] = rule;
    }
}

static void
format_table(const struct adp_table *table, enum ofputil_table_miss miss,
             struct ds *s)
{
    struct rule_array punts = { .rules = NULL };

    if (table) {
        ds_put_format(s, "%"PRIuSIZE" flow%s, %s, %"PRIuSIZE" bytes",
                      table->n_rules, table->n_rules == 1 ? "" : "s",
                      table->match->class->name,
                      table->match->class->size(table->match));
    } else {
        ds_put_cstr(s, "0 flows");
    }
    if (miss != OFPUTIL_TABLE_MISS_DEFAULT) {
        ds_put_format(s, ", misses: %s", ofputil_table_miss_to_string(miss));
    }
    ds_put_char(s, '\n');
    if (!table) {
        return;
    }

    if (table->n_punts) {
        adp_match_for_each(table->match, collect_punts, &punts);
    }
    adp_rules_sort(punts.rules, punts.n);
    for (size_t i = 0; i < punts.n; i++) {
        ds_put_format(s, "  punt (%s): ",
                      adp_punt_name(adp_rule_punt(punts.rules[i])));
        adp_rule_format(punts.rules[i], s);
        ds_put_char(s, '\n');
    }
    free(punts.rules);
}

void
adp_program_format(const struct adp_program *program, struct ds *s,
                   const char *(*table_name)(uint8_t id, void *aux),
                   void *aux)
{
    ds_put_format(s, "generation %"PRIu64"\n", program->generation);
    for (int i = 0; i < ADP_N_TABLES; i++) {
        const struct adp_table *table = program->tables[i];
        const char *name;

        if (!table && program->misses[i] == OFPUTIL_TABLE_MISS_DEFAULT) {
            continue;
        }
        name = table_name ? table_name(i, aux) : NULL;
        ds_put_format(s, "table %d", i);
        if (name) {
            ds_put_format(s, " %s", name);
        }
        ds_put_cstr(s, ": ");
        format_table(table, program->misses[i], s);
    }
    adp_group_map_format(program->groups, s);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-program.h"
#include "adp-match.h"
#include "adp-program-private.h"
#include "hash.h"
#include "ovs-rcu.h"
#include "util.h"

/* Tables. */

struct adp_table *
adp_table_create(struct adp_rule **rules, size_t n)
{
    struct adp_table *table = xmalloc(sizeof *table);

    ovs_refcount_init(&table->ref_cnt);
    table->rules = rules;
    table->n_rules = n;
    table->match = adp_match_create(rules, n);
    return table;
}

struct adp_table *
adp_table_ref(struct adp_table *table)
{
    if (table) {
        ovs_refcount_ref(&table->ref_cnt);
    }
    return table;
}

void
adp_table_unref(struct adp_table *table)
{
    if (table && ovs_refcount_unref(&table->ref_cnt) == 1) {
        adp_match_destroy(table->match);
        for (size_t i = 0; i < table->n_rules; i++) {
            adp_rule_unref(table->rules[i]);
        }
        free(table->rules);
        free(table);
    }
}

/* Groups. */

struct group_node {
    struct hmap_node hmap_node; /* In adp_group_map's 'groups'. */
    struct adp_group *group;    /* Owned reference. */
};

struct adp_group_map *
adp_group_map_create(void)
{
    struct adp_group_map *map = xmalloc(sizeof *map);

    ovs_refcount_init(&map->ref_cnt);
    hmap_init(&map->groups);
    return map;
}

struct adp_group_map *
adp_group_map_ref(struct adp_group_map *map)
{
    ovs_refcount_ref(&map->ref_cnt);
    return map;
}

void
adp_group_map_unref(struct adp_group_map *map)
{
    if (map && ovs_refcount_unref(&map->ref_cnt) == 1) {
        struct group_node *node;

        HMAP_FOR_EACH_POP (node, hmap_node, &map->groups) {
            adp_group_unref(node->group);
            free(node);
        }
        hmap_destroy(&map->groups);
        free(map);
    }
}

static struct group_node *
group_map_find(const struct adp_group_map *map, uint32_t group_id)
{
    struct group_node *node;

    HMAP_FOR_EACH_WITH_HASH (node, hmap_node, hash_int(group_id, 0),
                             &map->groups) {
        if (node->group->group_id == group_id) {
            return node;
        }
    }
    return NULL;
}

/* Only before the map is part of a program. */
void
adp_group_map_set(struct adp_group_map *map, struct adp_group *group)
{
    struct group_node *node = group_map_find(map, group->group_id);

    if (node) {
        adp_group_unref(node->group);
    } else {
        node = xmalloc(sizeof *node);
        hmap_insert(&map->groups, &node->hmap_node,
                    hash_int(group->group_id, 0));
    }
    node->group = adp_group_ref(group);
}

void
adp_group_map_remove(struct adp_group_map *map, uint32_t group_id)
{
    struct group_node *node = group_map_find(map, group_id);

    if (node) {
        hmap_remove(&map->groups, &node->hmap_node);
        adp_group_unref(node->group);
        free(node);
    }
}

struct adp_group_map *
adp_group_map_clone(const struct adp_group_map *src)
{
    struct adp_group_map *map = adp_group_map_create();
    const struct group_node *node;

    hmap_reserve(&map->groups, hmap_count(&src->groups));
    HMAP_FOR_EACH (node, hmap_node, &src->groups) {
        adp_group_map_set(map, node->group);
    }
    return map;
}

/* Programs. */

struct adp_program *
adp_program_create(void)
{
    struct adp_program *program = xzalloc(sizeof *program);

    ovs_refcount_init(&program->ref_cnt);
    program->generation = 1;
    program->groups = adp_group_map_create();
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
program_free(struct adp_program *program)
{
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        adp_table_unref(program->tables[i]);
    }
    adp_group_map_unref(program->groups);
    free(program);
}

void
adp_program_unref(struct adp_program *program)
{
    if (program && ovs_refcount_unref(&program->ref_cnt) == 1) {
        ovsrcu_postpone(program_free, program);
    }
}

const struct adp_group *
adp_program_get_group(const struct adp_program *program, uint32_t group_id)
{
    const struct group_node *node = group_map_find(program->groups, group_id);

    return node ? node->group : NULL;
}

/* Showing. */

static void
format_punt(enum adp_punt punt, struct ds *s)
{
    ds_put_format(s, "  punt (%s): ", adp_punt_name(punt));
}

static void
format_table(const struct adp_table *table, struct ds *s)
{
    ds_put_format(s, "%"PRIuSIZE" flow%s, %s, %"PRIuSIZE" bytes\n",
                  table->n_rules, table->n_rules == 1 ? "" : "s",
                  table->match->class->name,
                  table->match->class->size(table->match));
    for (size_t i = 0; i < table->n_rules; i++) {
        enum adp_punt punt = adp_rule_punt(table->rules[i]);

        if (punt) {
            format_punt(punt, s);
            adp_rule_format(table->rules[i], s);
            ds_put_char(s, '\n');
        }
    }
}

static int
compare_groups(const void *a_, const void *b_)
{
    const struct adp_group *a = *(const struct adp_group *const *) a_;
    const struct adp_group *b = *(const struct adp_group *const *) b_;

    return a->group_id < b->group_id ? -1 : a->group_id > b->group_id;
}

static void
format_group(const struct adp_group *group, struct ds *s)
{
    for (size_t i = 0; i < group->n_buckets; i++) {
        const struct adp_bucket *bucket = &group->buckets[i];
        struct ofpact_format_params fp = { .s = s };

        if (bucket->ops.punt) {
            format_punt(bucket->ops.punt, s);
            ds_put_format(s, "group_id=%"PRIu32",bucket_id=%"PRIu32
                          " actions=", group->group_id, bucket->bucket_id);
            ofpacts_format(bucket->ops.ofpacts, bucket->ops.ofpacts_len, &fp);
            ds_put_char(s, '\n');
        }
    }
}

static void
format_groups(const struct adp_group_map *map, struct ds *s)
{
    size_t n = hmap_count(&map->groups);
    const struct adp_group **groups = xmalloc(n * sizeof *groups);
    const struct group_node *node;
    size_t n_buckets = 0, n_slots = 0, i = 0;

    HMAP_FOR_EACH (node, hmap_node, &map->groups) {
        groups[i++] = node->group;
        n_buckets += node->group->n_buckets;
        n_slots += node->group->n_slots;
    }
    qsort(groups, n, sizeof *groups, compare_groups);

    ds_put_format(s, "groups: %"PRIuSIZE", %"PRIuSIZE" buckets, "
                  "%"PRIuSIZE" bytes of slots\n",
                  n, n_buckets, n_slots * sizeof *groups[0]->slots);
    for (i = 0; i < n; i++) {
        format_group(groups[i], s);
    }
    free(groups);
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

        if (!table) {
            continue;
        }
        name = table_name ? table_name(i, aux) : NULL;
        ds_put_format(s, "table %d", i);
        if (name) {
            ds_put_format(s, " %s", name);
        }
        ds_put_cstr(s, ": ");
        format_table(table, s);
    }
    format_groups(program->groups, s);
}

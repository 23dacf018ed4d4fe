/* SPDX-License-Identifier: Apache-2.0 */

/* Deltas, and the next program from the present one and a delta. */

#include <config.h>
#include "adp-program.h"
#include "adp-program-private.h"
#include "hash.h"
#include "util.h"

/* A rule that comes or goes. */
struct rule_change {
    struct hmap_node hmap_node; /* By address, in adp_delta's 'rules'. */
    struct adp_rule *rule;      /* Owned reference. */
    bool add;                   /* Otherwise remove. */
    uint64_t seq;               /* To keep the order of additions. */
};

/* What happens to a group. */
struct group_change {
    struct hmap_node hmap_node; /* By ID, in adp_delta's 'groups'. */
    uint32_t group_id;
    struct adp_group *group;    /* Owned reference.  NULL: removed. */
};

struct adp_delta {
    struct hmap rules;          /* Contains "struct rule_change"s. */
    struct hmap groups;         /* Contains "struct group_change"s. */
    uint64_t next_seq;
};

struct adp_delta *
adp_delta_create(void)
{
    struct adp_delta *delta = xmalloc(sizeof *delta);

    hmap_init(&delta->rules);
    hmap_init(&delta->groups);
    delta->next_seq = 0;
    return delta;
}

void
adp_delta_destroy(struct adp_delta *delta)
{
    struct rule_change *rc;
    struct group_change *gc;

    if (!delta) {
        return;
    }
    HMAP_FOR_EACH_POP (rc, hmap_node, &delta->rules) {
        adp_rule_unref(rc->rule);
        free(rc);
    }
    hmap_destroy(&delta->rules);
    HMAP_FOR_EACH_POP (gc, hmap_node, &delta->groups) {
        adp_group_unref(gc->group);
        free(gc);
    }
    hmap_destroy(&delta->groups);
    free(delta);
}

bool
adp_delta_is_empty(const struct adp_delta *delta)
{
    return hmap_is_empty(&delta->rules) && hmap_is_empty(&delta->groups);
}

static struct rule_change *
find_rule_change(const struct adp_delta *delta, const struct adp_rule *rule)
{
    struct rule_change *rc;

    HMAP_FOR_EACH_WITH_HASH (rc, hmap_node, hash_pointer(rule, 0),
                             &delta->rules) {
        if (rc->rule == rule) {
            return rc;
        }
    }
    return NULL;
}

/* Notes that 'rule' comes or goes.  That cancels out the contrary. */
static void
change_rule(struct adp_delta *delta, struct adp_rule *rule, bool add)
{
    struct rule_change *rc = find_rule_change(delta, rule);

    if (!rc) {
        rc = xmalloc(sizeof *rc);
        rc->rule = adp_rule_ref(rule);
        rc->add = add;
        rc->seq = delta->next_seq++;
        hmap_insert(&delta->rules, &rc->hmap_node, hash_pointer(rule, 0));
    } else if (rc->add != add) {
        hmap_remove(&delta->rules, &rc->hmap_node);
        adp_rule_unref(rc->rule);
        free(rc);
    }
}

void
adp_delta_add_rule(struct adp_delta *delta, struct adp_rule *rule)
{
    change_rule(delta, rule, true);
}

void
adp_delta_remove_rule(struct adp_delta *delta, struct adp_rule *rule)
{
    change_rule(delta, rule, false);
}

/* The last word about a group counts. */
static void
change_group(struct adp_delta *delta, uint32_t group_id,
             struct adp_group *group)
{
    uint32_t hash = hash_int(group_id, 0);
    struct group_change *gc;

    HMAP_FOR_EACH_WITH_HASH (gc, hmap_node, hash, &delta->groups) {
        if (gc->group_id == group_id) {
            adp_group_unref(gc->group);
            gc->group = adp_group_ref(group);
            return;
        }
    }
    gc = xmalloc(sizeof *gc);
    gc->group_id = group_id;
    gc->group = adp_group_ref(group);
    hmap_insert(&delta->groups, &gc->hmap_node, hash);
}

void
adp_delta_set_group(struct adp_delta *delta, struct adp_group *group)
{
    change_group(delta, group->group_id, group);
}

void
adp_delta_remove_group(struct adp_delta *delta, uint32_t group_id)
{
    change_group(delta, group_id, NULL);
}

/* The rules that come to one table. */
struct additions {
    const struct rule_change **changes;
    size_t n, allocated;
    bool touched;               /* Has the table any change? */
};

static int
compare_additions(const void *a_, const void *b_)
{
    const struct rule_change *a = *(const struct rule_change *const *) a_;
    const struct rule_change *b = *(const struct rule_change *const *) b_;

    if (a->rule->priority != b->rule->priority) {
        return a->rule->priority > b->rule->priority ? -1 : 1;
    }
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void
sort_delta(const struct adp_delta *delta, struct additions additions[])
{
    const struct rule_change *rc;

    HMAP_FOR_EACH (rc, hmap_node, &delta->rules) {
        struct additions *a;

        ovs_assert(rc->rule->table_id < ADP_N_TABLES);
        a = &additions[rc->rule->table_id];
        a->touched = true;
        if (rc->add) {
            if (a->n >= a->allocated) {
                a->changes = x2nrealloc(a->changes, &a->allocated,
                                        sizeof *a->changes);
            }
            a->changes[a->n++] = rc;
        }
    }
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        if (additions[i].n) {
            qsort(additions[i].changes, additions[i].n,
                  sizeof *additions[i].changes, compare_additions);
        }
    }
}

/* Merges 'old', but for what the delta speaks of, with the additions, which
 * come last among equal priorities. */
static struct adp_table *
compile_table(const struct adp_table *old, const struct adp_delta *delta,
              const struct additions *additions)
{
    size_t n_old = old ? old->n_rules : 0;
    struct adp_rule **rules = xmalloc((n_old + additions->n) * sizeof *rules);
    size_t n = 0, next = 0;

    for (size_t i = 0; i < n_old; i++) {
        struct adp_rule *rule = old->rules[i];

        if (find_rule_change(delta, rule)) {
            continue;
        }
        while (next < additions->n
               && additions->changes[next]->rule->priority > rule->priority) {
            rules[n++] = adp_rule_ref(additions->changes[next++]->rule);
        }
        rules[n++] = adp_rule_ref(rule);
    }
    while (next < additions->n) {
        rules[n++] = adp_rule_ref(additions->changes[next++]->rule);
    }

    if (!n) {
        free(rules);
        return NULL;
    }
    return adp_table_create(rules, n);
}

static struct adp_group_map *
compile_groups(struct adp_group_map *old, const struct adp_delta *delta)
{
    const struct group_change *gc;
    struct adp_group_map *map;

    if (hmap_is_empty(&delta->groups)) {
        return adp_group_map_ref(old);
    }
    map = adp_group_map_clone(old);
    HMAP_FOR_EACH (gc, hmap_node, &delta->groups) {
        if (gc->group) {
            adp_group_map_set(map, gc->group);
        } else {
            adp_group_map_remove(map, gc->group_id);
        }
    }
    return map;
}

struct adp_program *
adp_compile(const struct adp_program *old, const struct adp_delta *delta)
{
    struct adp_program *program = xzalloc(sizeof *program);
    struct additions *additions = xcalloc(ADP_N_TABLES, sizeof *additions);

    ovs_refcount_init(&program->ref_cnt);
    program->generation = old->generation + 1;
    sort_delta(delta, additions);
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        program->tables[i] = (additions[i].touched
                              ? compile_table(old->tables[i], delta,
                                              &additions[i])
                              : adp_table_ref(old->tables[i]));
        free(additions[i].changes);
    }
    free(additions);
    program->groups = compile_groups(old->groups, delta);
    return program;
}

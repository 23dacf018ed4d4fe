/* SPDX-License-Identifier: Apache-2.0 */

/* What changes between one program and the next. */

#include <config.h>
#include "adp-program.h"
#include "adp-program-private.h"
#include "hash.h"
#include "util.h"

struct adp_delta *
adp_delta_create(void)
{
    struct adp_delta *delta = xmalloc(sizeof *delta);

    hmap_init(&delta->rules);
    hmap_init(&delta->groups);
    delta->has_misses = delta->has_answers = delta->has_declared = false;
    memset(delta->misses, -1, sizeof delta->misses);
    return delta;
}

void
adp_delta_destroy(struct adp_delta *delta)
{
    struct adp_rule_change *rc;
    struct adp_group_change *gc;

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
    return (hmap_is_empty(&delta->rules) && hmap_is_empty(&delta->groups)
            && !delta->has_misses && !delta->has_answers
            && !delta->has_declared);
}

static struct adp_rule_change *
find_rule_change(const struct adp_delta *delta, const struct adp_rule *rule)
{
    struct adp_rule_change *rc;

    HMAP_FOR_EACH_WITH_HASH (rc, hmap_node, hash_pointer(rule, 0),
                             &delta->rules) {
        if (rc->rule == rule) {
            return rc;
        }
    }
    return NULL;
}

/* Notes that 'rule' comes or goes.  That cancels out the contrary: it returns
 * false then. */
static bool
change_rule(struct adp_delta *delta, struct adp_rule *rule, bool add)
{
    struct adp_rule_change *rc = find_rule_change(delta, rule);

    if (!rc) {
        rc = xmalloc(sizeof *rc);
        rc->rule = adp_rule_ref(rule);
        rc->add = add;
        hmap_insert(&delta->rules, &rc->hmap_node, hash_pointer(rule, 0));
    } else if (rc->add != add) {
        hmap_remove(&delta->rules, &rc->hmap_node);
        adp_rule_unref(rc->rule);
        free(rc);
        return false;
    }
    return true;
}

void
adp_delta_add_rule(struct adp_delta *delta, struct adp_rule *rule)
{
    change_rule(delta, rule, true);
}

bool
adp_delta_remove_rule(struct adp_delta *delta, struct adp_rule *rule)
{
    return change_rule(delta, rule, false);
}

/* The last word about a group counts. */
static void
change_group(struct adp_delta *delta, uint32_t group_id,
             struct adp_group *group)
{
    uint32_t hash = hash_int(group_id, 0);
    struct adp_group_change *gc;

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

void
adp_delta_set_miss(struct adp_delta *delta, uint8_t table_id,
                   enum ofputil_table_miss miss)
{
    delta->misses[table_id] = miss;
    delta->has_misses = true;
}

void
adp_delta_set_answers(struct adp_delta *delta,
                      const struct adp_answers *answers)
{
    delta->has_answers = answers != NULL;
    if (answers) {
        delta->answers = *answers;
    }
}

void
adp_delta_declare_metadata(struct adp_delta *delta,
                           const uint32_t words[ADP_N_TABLES])
{
    for (size_t i = 0; words && i < ADP_N_TABLES; i++) {
        ovs_assert(words[i] < ADP_METADATA_BEYOND);
        delta->declared[i] = words[i];
    }
    delta->has_declared = words != NULL;
}

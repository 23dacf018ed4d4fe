/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-texts.h"

#include <stdlib.h>

#include "pipeline-desired.h"
#include "pipeline.h"
#include "util.h"

struct text {
    struct adp_contributor contributor;
    bool is_new;                /* In this transaction. */
};

void
adp_texts_init(struct adp_texts *texts)
{
    shash_init(&texts->flows);
    shash_init(&texts->groups);
    shash_init(&texts->old_flows);
    shash_init(&texts->old_groups);
}

static void
free_all(struct shash *shash)
{
    struct shash_node *node;

    SHASH_FOR_EACH_SAFE (node, shash) {
        struct text *text = node->data;

        shash_delete(shash, node);
        adp_contributor_uninit(&text->contributor);
        free(text);
    }
}

void
adp_texts_uninit(struct adp_texts *texts)
{
    free_all(&texts->flows);
    free_all(&texts->groups);
    free_all(&texts->old_flows);
    free_all(&texts->old_groups);
    shash_destroy(&texts->flows);
    shash_destroy(&texts->groups);
    shash_destroy(&texts->old_flows);
    shash_destroy(&texts->old_groups);
}

typedef void add_cb(struct adp_desired *, struct adp_contributor *,
                    const char *text, const struct ofputil_port_map *,
                    const struct ofputil_table_map *);

static void
update(struct shash *texts, struct shash *old, struct adp_desired *desired,
       const struct shash *set, const struct ofputil_table_map *tables,
       bool all_new, add_cb *add)
{
    struct shash_node *node;

    SHASH_FOR_EACH_SAFE (node, texts) {
        if (all_new || !shash_find(set, node->name)) {
            struct text *text = node->data;

            shash_add(old, node->name, text);
            adp_desired_remove(desired, &text->contributor);
            shash_delete(texts, node);
        }
    }
    SHASH_FOR_EACH (node, set) {
        if (!shash_find(texts, node->name)) {
            struct text *text = xzalloc(sizeof *text);

            text->is_new = true;
            shash_add(texts, node->name, text);
            adp_desired_begin(desired, &text->contributor);
            add(desired, &text->contributor, node->name, NULL, tables);
            adp_desired_end(desired, &text->contributor);
        }
    }
}

void
adp_texts_update(struct adp_texts *texts, struct adp_desired *desired,
                 const struct adp_flow_set *set,
                 const struct ofputil_table_map *tables, bool all_new)
{
    update(&texts->groups, &texts->old_groups, desired, &set->groups, tables,
           all_new, adp_desired_add_group_text);
    update(&texts->flows, &texts->old_flows, desired, &set->flows, tables,
           all_new, adp_desired_add_text);
}

static void
accept_new(struct shash *texts)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, texts) {
        struct text *text = node->data;

        text->is_new = false;
    }
}

void
adp_texts_accept(struct adp_texts *texts)
{
    accept_new(&texts->flows);
    accept_new(&texts->groups);
    free_all(&texts->old_flows);
    free_all(&texts->old_groups);
}

static void
revert(struct shash *texts, struct shash *old)
{
    struct shash_node *node;

    SHASH_FOR_EACH_SAFE (node, texts) {
        struct text *text = node->data;

        if (text->is_new) {
            shash_delete(texts, node);
            adp_contributor_uninit(&text->contributor);
            free(text);
        }
    }
    SHASH_FOR_EACH_SAFE (node, old) {
        shash_add(texts, node->name, node->data);
        shash_delete(old, node);
    }
}

void
adp_texts_revert(struct adp_texts *texts)
{
    revert(&texts->flows, &texts->old_flows);
    revert(&texts->groups, &texts->old_groups);
}

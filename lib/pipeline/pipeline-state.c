/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-state.h"

#include "hash.h"
#include "model-records.h"
#include "openvswitch/ofp-group.h"
#include "util.h"

struct adp_id {
    struct hmap_node by_id;     /* In struct adp_ids's 'by_id'. */
    uint32_t id;
    unsigned int generation;    /* The last one that asked for it. */
    struct adp_id_part part;    /* With a reference to its record. */
    char *description;
};

static void
ids_init(struct adp_ids *ids, uint32_t max)
{
    shash_init(&ids->by_key);
    hmap_init(&ids->by_id);
    ids->next = 1;
    ids->max = max;
    ids->generation = 0;
}

static void
ids_drop(struct adp_ids *ids, struct shash_node *node)
{
    struct adp_id *id = node->data;

    hmap_remove(&ids->by_id, &id->by_id);
    shash_delete(&ids->by_key, node);
    adp_record_unref(CONST_CAST(struct adp_record *, id->part.record));
    free(id->description);
    free(id);
}

static void
ids_uninit(struct adp_ids *ids)
{
    struct shash_node *node, *next;

    SHASH_FOR_EACH_SAFE (node, next, &ids->by_key) {
        ids_drop(ids, node);
    }
    shash_destroy(&ids->by_key);
    hmap_destroy(&ids->by_id);
}

static struct adp_id *
ids_find(const struct adp_ids *ids, uint32_t value)
{
    struct adp_id *id;

    HMAP_FOR_EACH_WITH_HASH (id, by_id, hash_int(value, 0), &ids->by_id) {
        if (id->id == value) {
            return id;
        }
    }
    return NULL;
}

static void
id_set_part(struct adp_id *id, const struct adp_id_part *part)
{
    struct adp_record *record = adp_record_ref(part->record);

    adp_record_unref(CONST_CAST(struct adp_record *, id->part.record));
    id->part = *part;
    id->part.record = record;
}

/* Takes 'description'. */
static struct adp_id *
ids_add(struct adp_ids *ids, const char *key, uint32_t value,
        const struct adp_id_part *part, char *description)
{
    struct adp_id *id = xzalloc(sizeof *id);

    id->id = value;
    id->generation = ids->generation;
    id->description = description;
    id_set_part(id, part);
    hmap_insert(&ids->by_id, &id->by_id, hash_int(value, 0));
    shash_add(&ids->by_key, key, id);
    return id;
}

static void
ids_clone(struct adp_ids *dst, const struct adp_ids *src)
{
    const struct shash_node *node;

    ids_init(dst, src->max);
    dst->next = src->next;
    dst->generation = src->generation;
    SHASH_FOR_EACH (node, &src->by_key) {
        const struct adp_id *id = node->data;

        ids_add(dst, node->name, id->id, &id->part,
                xstrdup(id->description))->generation = id->generation;
    }
}

uint32_t
adp_ids_get(struct adp_ids *ids, const char *key,
            const struct adp_id_part *part, char *description)
{
    struct adp_id *id = shash_find_data(&ids->by_key, key);

    if (id) {
        free(id->description);
        id->description = description;
        id->generation = ids->generation;
        id_set_part(id, part);
        return id->id;
    }

    if (shash_count(&ids->by_key) >= ids->max) {
        free(description);
        return 0;
    }
    while (ids_find(ids, ids->next)) {
        ids->next = ids->next < ids->max ? ids->next + 1 : 1;
    }
    uint32_t value = ids->next;
    ids->next = value < ids->max ? value + 1 : 1;
    ids_add(ids, key, value, part, description);
    return value;
}

void
adp_ids_for_each(const struct adp_ids *ids,
                 void (*cb)(uint32_t id, const struct adp_id_part *,
                            void *aux),
                 void *aux)
{
    const struct adp_id *id;

    HMAP_FOR_EACH (id, by_id, &ids->by_id) {
        cb(id->id, &id->part, aux);
    }
}

static void
ids_sweep(struct adp_ids *ids)
{
    struct shash_node *node, *next;

    SHASH_FOR_EACH_SAFE (node, next, &ids->by_key) {
        const struct adp_id *id = node->data;

        if (id->generation != ids->generation) {
            ids_drop(ids, node);
        }
    }
}

void
adp_pipeline_state_begin(struct adp_pipeline_state *state,
                         const struct adp_pipeline *pipeline)
{
    if (pipeline != state->pipeline) {
        for (size_t i = 0; i < ADP_MAX_RANKED_TABLES; i++) {
            adp_priorities_clear(&state->priorities[i]);
        }
        state->pipeline = pipeline;
    }
    state->conjs.generation++;
    state->groups.generation++;
}

void
adp_pipeline_state_end(struct adp_pipeline_state *state)
{
    ids_sweep(&state->conjs);
    ids_sweep(&state->groups);
}

struct adp_pipeline_state *
adp_pipeline_state_create(void)
{
    struct adp_pipeline_state *state = xzalloc(sizeof *state);

    ids_init(&state->conjs, UINT32_MAX);
    ids_init(&state->groups, OFPG_MAX);
    for (size_t i = 0; i < ADP_MAX_RANKED_TABLES; i++) {
        adp_priorities_init(&state->priorities[i]);
    }
    return state;
}

struct adp_pipeline_state *
adp_pipeline_state_clone(const struct adp_pipeline_state *origin)
{
    struct adp_pipeline_state *state = xmalloc(sizeof *state);

    ids_clone(&state->conjs, &origin->conjs);
    ids_clone(&state->groups, &origin->groups);
    for (size_t i = 0; i < ADP_MAX_RANKED_TABLES; i++) {
        adp_priorities_clone(&state->priorities[i], &origin->priorities[i]);
    }
    state->pipeline = origin->pipeline;
    return state;
}

void
adp_pipeline_state_destroy(struct adp_pipeline_state *state)
{
    if (state) {
        ids_uninit(&state->conjs);
        ids_uninit(&state->groups);
        for (size_t i = 0; i < ADP_MAX_RANKED_TABLES; i++) {
            adp_priorities_uninit(&state->priorities[i]);
        }
        free(state);
    }
}

static char *
describe(const struct adp_ids *ids, uint32_t value)
{
    const struct adp_id *id = ids_find(ids, value);

    return id ? xstrdup(id->description) : NULL;
}

char *
adp_pipeline_describe_conj(const struct adp_pipeline_state *state,
                           uint32_t conj_id)
{
    return describe(&state->conjs, conj_id);
}

char *
adp_pipeline_describe_group(const struct adp_pipeline_state *state,
                            uint32_t group_id)
{
    return describe(&state->groups, group_id);
}

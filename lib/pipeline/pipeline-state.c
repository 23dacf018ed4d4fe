/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-state.h"

#include "hash.h"
#include "model-pause.h"
#include "model-records.h"
#include "openvswitch/ofp-group.h"
#include "util.h"

/* What an ID stood for at the last commit. */
struct id_before {
    struct adp_id_part part;    /* With a reference to its record. */
    char *description;
    char *key;                  /* NULL: the same. */
    unsigned int note;          /* With a key. */
};

struct adp_id {
    struct hmap_node by_id;     /* In struct adp_ids's 'by_id'. */
    struct shash_node *key_node; /* In struct adp_ids's 'by_key'. */
    uint32_t id;
    unsigned int note;          /* See adp_ids_get_note(). */
    bool is_new;                /* Since the last commit. */
    bool released;
    struct ovs_list touched;    /* In struct adp_ids's 'touched' or empty. */
    struct adp_id_part part;    /* With a reference to its record. */
    char *description;
    struct id_before *before;   /* NULL: the same. */
};

static void
ids_init(struct adp_ids *ids, uint32_t max)
{
    shash_init(&ids->by_key);
    hmap_init(&ids->by_id);
    ids->next = 1;
    ids->max = max;
    ids->n_released = 0;
    ovs_list_init(&ids->touched);
    ids->old_next = ids->next;
}

static void
id_forget_before(struct adp_id *id)
{
    if (id->before) {
        adp_record_unref(CONST_CAST(struct adp_record *,
                                    id->before->part.record));
        free(id->before->description);
        free(id->before->key);
        free(id->before);
        id->before = NULL;
    }
}

/* Keeps what the ID stands for, which will change, until the next commit. */
static void
id_keep_before(struct adp_id *id)
{
    id->before = xmalloc(sizeof *id->before);
    *id->before = (struct id_before) {
        .part = id->part,
        .description = id->description,
    };
    id->part.record = NULL;
    id->description = NULL;
}

static void
ids_set_key(struct adp_ids *ids, struct adp_id *id, const char *key)
{
    shash_delete(&ids->by_key, id->key_node);
    id->key_node = shash_add(&ids->by_key, key, id);
}

static void
ids_restore(struct adp_ids *ids, struct adp_id *id)
{
    struct id_before *before = id->before;

    if (before) {
        if (before->key) {
            ids_set_key(ids, id, before->key);
            id->note = before->note;
        }

        struct adp_id_part part = id->part;
        char *description = id->description;
        id->part = before->part;
        id->description = before->description;
        before->part = part;
        before->description = description;
        id_forget_before(id);
    }
}

static void
ids_drop(struct adp_ids *ids, struct shash_node *node)
{
    struct adp_id *id = node->data;

    id_forget_before(id);
    ovs_list_remove(&id->touched);
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
    id->description = description;
    ovs_list_init(&id->touched);
    id_set_part(id, part);
    hmap_insert(&ids->by_id, &id->by_id, hash_int(value, 0));
    id->key_node = shash_add(&ids->by_key, key, id);
    return id;
}

static void
ids_touch(struct adp_ids *ids, struct adp_id *id)
{
    if (ovs_list_is_empty(&id->touched)) {
        ovs_list_push_back(&ids->touched, &id->touched);
    }
}

static void
ids_clone(struct adp_ids *dst, const struct adp_ids *src)
{
    const struct shash_node *node;

    ids_init(dst, src->max);
    dst->next = src->next;
    dst->old_next = src->next;
    SHASH_FOR_EACH (node, &src->by_key) {
        const struct adp_id *id = node->data;

        struct adp_id *copy = ids_add(dst, node->name, id->id, &id->part,
                                      xstrdup(id->description));
        copy->note = id->note;
    }
}

static void
ids_set_released(struct adp_ids *ids, struct adp_id *id, bool released)
{
    if (released != id->released) {
        id->released = released;
        ids->n_released += released ? 1 : -1;
    }
}

/* The ID's own, or NULL. */
static struct adp_id *
ids_advance(struct adp_ids *ids, uint32_t *value)
{
    bool all_given = shash_count(&ids->by_key) >= ids->max;
    struct adp_id *id;

    while ((id = ids_find(ids, ids->next))
           && !(all_given && id->released)) {
        ids->next = ids->next < ids->max ? ids->next + 1 : 1;
    }
    *value = ids->next;
    ids->next = *value < ids->max ? *value + 1 : 1;
    return id;
}

/* What was given back goes to 'key'; who asks is told of the former one until
 * the next commit. */
static void
ids_give_again(struct adp_ids *ids, struct adp_id *id, const char *key)
{
    if (!id->is_new) {
        if (!id->before) {
            id_keep_before(id);
        }
        if (!id->before->key) {
            id->before->key = xstrdup(id->key_node->name);
            id->before->note = id->note;
        }
    }
    ids_set_key(ids, id, key);
    id->note = 0;
}

uint32_t
adp_ids_get(struct adp_ids *ids, const char *key,
            const struct adp_id_part *part, char *description)
{
    struct adp_id *id = shash_find_data(&ids->by_key, key);
    uint32_t value;

    if (id) {
        if (!id->is_new && !id->before) {
            id_keep_before(id);
            ids_touch(ids, id);
        }
    } else if (shash_count(&ids->by_key) - ids->n_released >= ids->max) {
        free(description);
        return 0;
    } else {
        id = ids_advance(ids, &value);
        if (!id) {
            id = ids_add(ids, key, value, part, description);
            id->is_new = true;
            ids_touch(ids, id);
            return value;
        }
        ids_give_again(ids, id, key);
    }

    ids_set_released(ids, id, false);
    free(id->description);
    id->description = description;
    id_set_part(id, part);
    return id->id;
}

bool
adp_ids_has(const struct adp_ids *ids, const char *key)
{
    return shash_find(&ids->by_key, key) != NULL;
}

void
adp_ids_release(struct adp_ids *ids, uint32_t value)
{
    struct adp_id *id = ids_find(ids, value);

    if (id) {
        ids_set_released(ids, id, true);
        ids_touch(ids, id);
    }
}

static void
ids_release_all(struct adp_ids *ids)
{
    struct adp_id *id;

    HMAP_FOR_EACH (id, by_id, &ids->by_id) {
        ids_set_released(ids, id, true);
        ids_touch(ids, id);
    }
}

unsigned int
adp_ids_get_note(const struct adp_ids *ids, uint32_t value)
{
    const struct adp_id *id = ids_find(ids, value);

    return id ? id->note : 0;
}

void
adp_ids_set_note(struct adp_ids *ids, uint32_t value, unsigned int note)
{
    struct adp_id *id = ids_find(ids, value);

    if (id) {
        id->note = note;
    }
}

/* Ends the changes: those that were given back go, or, with 'undo', those that
 * are new. */
static void
ids_end(struct adp_ids *ids, bool undo)
{
    struct adp_id *id;

    LIST_FOR_EACH_SAFE (id, touched, &ids->touched) {
        if (undo ? id->is_new : id->released) {
            ids_drop(ids, id->key_node);
        } else {
            if (undo) {
                ids_restore(ids, id);
            } else {
                id_forget_before(id);
            }
            id->is_new = id->released = false;
            ovs_list_remove(&id->touched);
            ovs_list_init(&id->touched);
        }
        adp_pause();
    }
    ids->n_released = 0;
    if (undo) {
        ids->next = ids->old_next;
    }
    ids->old_next = ids->next;
}

void
adp_ids_for_each(const struct adp_ids *ids,
                 void (*cb)(uint32_t id, const struct adp_id_part *,
                            void *aux),
                 void *aux)
{
    const struct adp_id *id;

    HMAP_FOR_EACH (id, by_id, &ids->by_id) {
        if (!id->is_new) {
            cb(id->id, id->before ? &id->before->part : &id->part, aux);
        }
    }
}

void
adp_pipeline_state_use(struct adp_pipeline_state *state,
                       const struct adp_pipeline *pipeline)
{
    if (pipeline != state->pipeline) {
        for (size_t i = 0; i < ADP_MAX_RANKED_TABLES; i++) {
            adp_priorities_clear(adp_pipeline_state_save(state, i));
        }
        state->pipeline = pipeline;
    }
}

struct adp_priorities *
adp_pipeline_state_save(struct adp_pipeline_state *state, size_t table)
{
    if (!(state->saved & 1u << table)) {
        adp_priorities_clone(&state->old_priorities[table],
                             &state->priorities[table]);
        state->saved |= 1u << table;
    }
    return &state->priorities[table];
}

static void
priorities_end(struct adp_pipeline_state *state, bool undo)
{
    for (size_t i = 0; i < ADP_MAX_RANKED_TABLES; i++) {
        if (state->saved & 1u << i) {
            struct adp_priorities gone = (undo ? state->priorities[i]
                                          : state->old_priorities[i]);
            if (undo) {
                state->priorities[i] = state->old_priorities[i];
            }
            adp_priorities_uninit(&gone);
            adp_priorities_init(&state->old_priorities[i]);
        }
    }
    state->saved = 0;
    if (undo) {
        state->pipeline = state->old_pipeline;
    }
    state->old_pipeline = state->pipeline;
}

void
adp_pipeline_state_commit(struct adp_pipeline_state *state)
{
    ids_end(&state->conjs, false);
    ids_end(&state->groups, false);
    ids_end(&state->applied, false);
    ids_end(&state->marks, false);
    ids_end(&state->vlans, false);
    priorities_end(state, false);
}

void
adp_pipeline_state_rollback(struct adp_pipeline_state *state)
{
    ids_end(&state->conjs, true);
    ids_end(&state->groups, true);
    ids_end(&state->applied, true);
    ids_end(&state->marks, true);
    ids_end(&state->vlans, true);
    priorities_end(state, true);
}

void
adp_pipeline_state_release_all(struct adp_pipeline_state *state)
{
    ids_release_all(&state->conjs);
    ids_release_all(&state->groups);
    ids_release_all(&state->applied);
    ids_release_all(&state->marks);
    ids_release_all(&state->vlans);
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
    adp_pipeline_state_release_all(state);
}

void
adp_pipeline_state_end(struct adp_pipeline_state *state)
{
    adp_pipeline_state_commit(state);
}

struct adp_pipeline_state *
adp_pipeline_state_create(void)
{
    struct adp_pipeline_state *state = xzalloc(sizeof *state);

    ids_init(&state->conjs, ADP_NAMES_CONJ_ID - 1);
    ids_init(&state->groups, OFPG_MAX);
    ids_init(&state->applied, UINT32_MAX);
    ids_init(&state->marks, ADP_MAX_EGRESS_MARKS);
    ids_init(&state->vlans, ADP_MAX_L7_VLANS);
    for (size_t i = 0; i < ADP_MAX_RANKED_TABLES; i++) {
        adp_priorities_init(&state->priorities[i]);
    }
    return state;
}

struct adp_pipeline_state *
adp_pipeline_state_clone(const struct adp_pipeline_state *origin)
{
    struct adp_pipeline_state *state = xzalloc(sizeof *state);

    ids_clone(&state->conjs, &origin->conjs);
    ids_clone(&state->groups, &origin->groups);
    ids_clone(&state->applied, &origin->applied);
    ids_clone(&state->marks, &origin->marks);
    ids_clone(&state->vlans, &origin->vlans);
    for (size_t i = 0; i < ADP_MAX_RANKED_TABLES; i++) {
        adp_priorities_clone(&state->priorities[i], &origin->priorities[i]);
    }
    state->pipeline = state->old_pipeline = origin->pipeline;
    return state;
}

void
adp_pipeline_state_destroy(struct adp_pipeline_state *state)
{
    if (state) {
        ids_uninit(&state->conjs);
        ids_uninit(&state->groups);
        ids_uninit(&state->applied);
        ids_uninit(&state->marks);
        ids_uninit(&state->vlans);
        for (size_t i = 0; i < ADP_MAX_RANKED_TABLES; i++) {
            adp_priorities_uninit(&state->priorities[i]);
            adp_priorities_uninit(&state->old_priorities[i]);
        }
        free(state);
    }
}

const struct adp_id_part *
adp_ids_find(const struct adp_ids *ids, uint32_t value)
{
    const struct adp_id *id = ids_find(ids, value);

    return (!id || id->is_new ? NULL
            : id->before ? &id->before->part : &id->part);
}

static char *
describe(const struct adp_ids *ids, uint32_t value)
{
    const struct adp_id *id = ids_find(ids, value);

    return (!id || id->is_new ? NULL
            : xstrdup(id->before ? id->before->description
                      : id->description));
}

bool
adp_pipeline_find_rule(const struct adp_pipeline_state *state,
                       uint32_t conj_id,
                       const struct adp_network_policy **policyp,
                       const struct adp_network_policy_rule **rulep)
{
    const struct adp_id_part *part = adp_ids_find(&state->conjs, conj_id);

    if (!part) {
        return false;
    }
    *policyp = CONTAINER_OF(part->record, struct adp_network_policy, up);
    *rulep = &(*policyp)->rules[part->index];
    return true;
}

char *
adp_pipeline_describe_conj(const struct adp_pipeline_state *state,
                           uint32_t conj_id)
{
    if (conj_id == ADP_NAMES_CONJ_ID) {
        return xstrdup("DNS answers to Pods whose rules have names");
    }
    return describe(&state->conjs, conj_id);
}

char *
adp_pipeline_describe_group(const struct adp_pipeline_state *state,
                            uint32_t group_id)
{
    return describe(&state->groups, group_id);
}

char *
adp_pipeline_describe_applied(const struct adp_pipeline_state *state,
                              uint32_t id)
{
    return describe(&state->applied, id);
}

char *
adp_pipeline_describe_mark(const struct adp_pipeline_state *state,
                           uint32_t mark)
{
    return describe(&state->marks, mark);
}

char *
adp_pipeline_describe_vlan(const struct adp_pipeline_state *state,
                           uint32_t vlan)
{
    return describe(&state->vlans, vlan);
}

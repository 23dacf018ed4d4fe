/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state-group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge.h"
#include "adp-disk-folder.h"
#include "adp-state-call.h"
#include "adp-state-private.h"
#include "adp-state-store.h"
#include "adp-waste.h"
#include "coverage.h"
#include "model-index.h"
#include "model-patch.h"
#include "model-pause.h"
#include "model-records.h"
#include "openvswitch/json.h"
#include "util.h"

COVERAGE_DEFINE(adp_state_call);
COVERAGE_DEFINE(adp_state_group);
COVERAGE_DEFINE(adp_state_group_again);

/* Parts. */

static struct state_part *
part_create(const struct adp_state_change *change)
{
    struct state_part *part = xmalloc(sizeof *part);

    *part = (struct state_part) {
        .call = adp_state_call_create(),
        .own = change->source != ADP_STATE_CALLS,
        .clear = change->clear,
        .ignore_missing = change->ignore_missing,
        .has_if_generation = change->if_generation,
        .if_generation = change->if_generation ? *change->if_generation : 0,
        .apply = json_nullable_clone(change->apply),
        .delete = json_nullable_clone(change->delete),
        .patch = json_nullable_clone(change->patch),
    };
    ovs_list_init(&part->node);
    return part;
}

/* json_destroy() of an array, with pauses. */
static void
destroy_slowly(struct json *array)
{
    if (array && array->type == JSON_ARRAY && array->count == 1) {
        while (array->array.n) {
            json_destroy(array->array.elems[--array->array.n]);
            adp_pause();
        }
    }
    json_destroy(array);
}

static void
part_destroy_lists(struct state_part *part)
{
    destroy_slowly(part->apply);
    destroy_slowly(part->delete);
    destroy_slowly(part->patch);
    destroy_slowly(part->patched);
    part->apply = part->delete = part->patch = part->patched = NULL;
}

static void
part_destroy(struct state_part *part)
{
    adp_waste_put(part->apply, 0, NULL);
    adp_waste_put(part->delete, 0, NULL);
    adp_waste_put(part->patch, 0, NULL);
    adp_waste_put(part->patched, 0, NULL);
    adp_error_destroy(part->error);
    adp_state_call_unref(part->call);
    free(part);
}

static const struct json *
part_records(const struct state_part *part)
{
    return part->patched ? part->patched : part->apply;
}

/* Is there a NodeConfig among 'records', or their keys? */
static bool
has_node_config(const struct json *records)
{
    if (!records || records->type != JSON_ARRAY) {
        return false;
    }
    for (size_t i = 0; i < MIN(records->array.n, ADP_STATE_LARGE); i++) {
        enum adp_kind kind;

        if (adp_kind_from_json(records->array.elems[i], &kind)
            && kind == ADP_KIND_NODE_CONFIG) {
            return true;
        }
    }
    return false;
}

/* Do all flows change? */
static bool
part_changes_all(const struct state_part *part)
{
    return (part->clear || has_node_config(part->apply)
            || has_node_config(part->delete));
}

/* How much it is to check and make flows of, at most ADP_STATE_LARGE. */
static size_t
part_weight(const struct adp_state *state, const struct state_part *part)
{
    const struct json *const lists[] = {
        part->apply, part->delete, part->patch,
    };
    size_t weight = 0;

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        weight += adp_model_weigh(state->model, lists[i], ADP_STATE_LARGE);
    }
    return (adp_state_is_large(state) && part_changes_all(part)
            ? ADP_STATE_LARGE : MIN(weight, ADP_STATE_LARGE));
}

/* The queue. */

static struct adp_state_call *
call_ref(struct adp_state_call *call)
{
    call->n_refs++;
    return call;
}

struct adp_state_call *
adp_state_group_put(struct adp_state *state,
                    const struct adp_state_change *change)
{
    struct state_part *part = part_create(change);

    ovs_list_push_back(&state->queue, &part->node);
    part->call->waits = part;
    return call_ref(part->call);
}

void
adp_state_call_cancel(struct adp_state_call *call)
{
    struct state_part *part = call->waits;

    if (part) {
        ovs_list_remove(&part->node);
        call->waits = NULL;
        part_destroy(part);
    }
}

static void
take(struct adp_state *state, struct state_part *part)
{
    struct next_state *next = &state->next;

    if (next->n_parts >= next->allocated_parts) {
        next->parts = x2nrealloc(next->parts, &next->allocated_parts,
                                 sizeof *next->parts);
    }
    next->parts[next->n_parts++] = part;
    part->call->waits = NULL;
    next->clear |= part->clear;
    next->own |= part->own;
    COVERAGE_INC(adp_state_call);
}

void
adp_state_group_take(struct adp_state *state)
{
    struct next_state *next = &state->next;
    struct state_part *part, *following;

    LIST_FOR_EACH_SAFE (part, following, node, &state->queue) {
        size_t weight = next->weight + part_weight(state, part);
        bool alone = (part->alone || part->clear
                      || weight >= ADP_STATE_LARGE);

        if (alone && next->n_parts) {
            break;
        }
        ovs_list_remove(&part->node);
        take(state, part);
        next->weight = weight;
        if (alone) {
            break;
        }
    }
    COVERAGE_INC(adp_state_group);
}

struct adp_state_call *
adp_state_group_take_one(struct adp_state *state,
                         const struct adp_state_change *change)
{
    struct state_part *part = part_create(change);

    take(state, part);
    state->next.weight = part_weight(state, part);
    COVERAGE_INC(adp_state_group);
    return call_ref(part->call);
}

bool
adp_state_group_is_large(const struct adp_state *state)
{
    return state->next.weight >= ADP_STATE_LARGE;
}

/* Into the model. */

/* Sets 'part->patched'. */
static struct adp_error *
patch(const struct adp_state *state, struct state_part *part)
{
    struct adp_error *error = adp_model_patch(state->model, part->patch,
                                              &part->patched);

    for (size_t i = 0; !error && part->apply && i < part->apply->array.n;
         i++) {
        json_array_add(part->patched,
                       json_clone(part->apply->array.elems[i]));
    }
    return error;
}

/* Why the state takes no such call, or NULL. */
static struct adp_error *
check_call(const struct adp_state *state, const struct state_part *part)
{
    uint64_t generation = state->generation + state->next.n_changes;

    if (part->has_if_generation && part->if_generation != generation) {
        return adp_error_create("conflict", NULL, xstrdup("if_generation"),
                                "the state is of generation %"PRIu64", not "
                                "%"PRIu64, generation, part->if_generation);
    }
    return adp_state_store_refuses(state, part->clear, part->own);
}

static struct adp_error *
change_model(struct adp_state *state, struct state_part *part)
{
    struct adp_model *model = state->model;
    struct adp_state_call *call = part->call;

    if (part->own) {
        struct adp_error *error = adp_model_delete_own(model, part->delete);

        return error ? error : adp_model_apply_own(model, part->apply);
    }

    struct adp_error *error = check_call(state, part);
    if (!error && part->patch) {
        error = patch(state, part);
    }
    if (!error && part->clear) {
        adp_model_clear(model);
    }
    if (!error && part->delete) {
        error = adp_model_delete(model, part->delete, part->ignore_missing,
                                 &call->n_deleted);
    }
    if (!error && part->patch) {
        /* A patch is of what was there before, but from the disk it is carried
         * out after the deletions. */
        error = adp_model_check_patched(model, part->patch);
    }
    if (!error && part_records(part)) {
        error = adp_model_apply(model, part_records(part), &call->n_applied);
    }
    return error;
}

void
adp_state_group_change_model(struct adp_state *state)
{
    struct next_state *next = &state->next;

    for (size_t i = 0; i < next->n_parts; i++) {
        struct state_part *part = next->parts[i];

        part->error = change_model(state, part);
        if (!part->error) {
            part->error = adp_model_check_changes(state->model, &next->env);
        }
        part->is_wrong = part->error;
        if (part->is_wrong) {
            adp_model_undo_step(state->model);
        } else {
            part->changes = (part->clear || part->call->n_applied
                             || part->call->n_deleted);
            next->n_changes += part->changes;
            adp_model_begin_step(state->model);
        }
    }
}

bool
adp_state_group_is_wrong(const struct adp_state *state)
{
    const struct next_state *next = &state->next;

    for (size_t i = 0; i < next->n_parts; i++) {
        if (!next->parts[i]->is_wrong) {
            return false;
        }
    }
    return next->n_parts > 0;
}

struct adp_disk_change *
adp_state_group_changes(const struct adp_state *state)
{
    const struct next_state *next = &state->next;
    struct adp_disk_change *changes = xmalloc(next->n_changes
                                              * sizeof *changes);
    size_t n = 0;

    for (size_t i = 0; i < next->n_parts; i++) {
        const struct state_part *part = next->parts[i];

        if (part->changes) {
            changes[n++] = (struct adp_disk_change) {
                .clear = part->clear, .delete = part->delete,
                .patch = part->patch, .apply = part->apply,
            };
        }
    }
    return changes;
}

void
adp_state_group_update_index(struct adp_state *state)
{
    const struct next_state *next = &state->next;

    for (size_t i = 0; i < next->n_parts; i++) {
        const struct state_part *part = next->parts[i];

        if (!part->is_wrong) {
            adp_index_update(state->index, state->model, part->delete);
            adp_index_update(state->index, state->model, part_records(part));
        }
    }
}

/* Answers. */

/* Takes 'error'. */
static void
answer(struct adp_state *state, struct state_part *part,
       struct adp_error *error, uint64_t generation)
{
    adp_state_call_end(part->call, error, generation, state);
    state->has_news = true;
}

void
adp_state_group_answer(struct adp_state *state, uint64_t generation)
{
    struct next_state *next = &state->next;

    for (size_t i = 0; i < next->n_parts; i++) {
        struct state_part *part = next->parts[i];

        if (!part->call->done) {
            generation += part->changes;
            answer(state, part, part->error, generation);
            part->error = NULL;
        }
    }
}

static void
put_back(struct adp_state *state)
{
    struct next_state *next = &state->next;

    for (size_t i = next->n_parts; i-- > 0; ) {
        struct state_part *part = next->parts[i];

        json_destroy(part->patched);
        part->patched = NULL;
        adp_error_destroy(part->error);
        part->error = NULL;
        part->is_wrong = part->changes = false;
        part->alone = true;
        part->call->n_applied = part->call->n_deleted = 0;
        part->call->waits = part;
        ovs_list_push_front(&state->queue, &part->node);
    }
    next->n_parts = 0;
    COVERAGE_INC(adp_state_group_again);
}

void
adp_state_group_refuse(struct adp_state *state, struct adp_error *error)
{
    struct next_state *next = &state->next;

    if (next->n_parts == 1) {
        answer(state, next->parts[0], error, state->generation);
    } else {
        put_back(state);
        adp_error_destroy(error);
    }
}

void
adp_state_group_destroy_lists(struct adp_state *state)
{
    if (state->next.error && state->next.n_parts > 1) {
        return;
    }
    for (size_t i = 0; i < state->next.n_parts; i++) {
        part_destroy_lists(state->next.parts[i]);
    }
}

void
adp_state_group_uninit(struct adp_state *state)
{
    struct next_state *next = &state->next;

    for (size_t i = 0; i < next->n_parts; i++) {
        part_destroy(next->parts[i]);
    }
    free(next->parts);
    next->parts = NULL;
    next->n_parts = next->allocated_parts = 0;
}

void
adp_state_group_fail_queue(struct adp_state *state, const char *why)
{
    struct state_part *part;

    LIST_FOR_EACH_POP (part, node, &state->queue) {
        part->call->waits = NULL;
        answer(state, part,
               adp_error_create("bridge", NULL, NULL, "bridge %s: %s before "
                                "the call's turn came",
                                adp_bridge_name(state->bridge), why),
               state->generation);
        part_destroy(part);
    }
}

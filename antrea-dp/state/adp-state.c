/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-commit.h"
#include "adp-turn.h"
#include "model-index.h"
#include "model-patch.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "pipeline-desired.h"
#include "pipeline-engine.h"
#include "pipeline-metrics.h"
#include "pipeline.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_state);

/* What becomes the state when its flows are in the bridge. */
struct next_state {
    uint64_t ports_seq;
    uint16_t round;

    /* NULL if no call asked for it but ports, round or pipeline. */
    struct adp_state_call *call;
    bool changes;               /* The generation. */
    bool clear;
    struct json *apply, *delete; /* May be NULL. */
};

struct adp_state {
    struct adp_bridge *bridge;
    uint64_t generation;

    /* What was asked for; in the course of a transaction what it makes of
     * it. */
    struct adp_model *model;
    struct adp_model *before;   /* The model as it was before a transaction that
                                 * takes more than a turn; else NULL. */
    struct adp_index *index;    /* Of 'model' when no transaction is open. */

    /* What is in the bridge because of it. */
    struct adp_engine *engine;
    uint64_t ports_seq;         /* Ports that its flows were made for, or
                                 * UINT64_MAX before the first time. */
    uint16_t round;             /* In the cookies of its flows. */
    bool synced;                /* False until there are flows, and after the
                                 * bridge refused a change: what is really
                                 * there is in doubt then, and the next change
                                 * installs everything. */

    /* What is on its way into the bridge. */
    struct adp_commit *commit;  /* NULL: nothing. */
    struct next_state next;     /* While there is one. */
    bool lost_flows;            /* Of those of 'commit': to be installed once
                                 * more at the end. */
};

struct adp_state *
adp_state_create(struct adp_bridge *bridge)
{
    struct adp_state *state = xzalloc(sizeof *state);

    state->bridge = bridge;
    state->model = adp_model_create();
    state->index = adp_index_create();
    state->engine = adp_engine_create();
    state->ports_seq = UINT64_MAX;
    return state;
}

static void
next_state_uninit(struct adp_state *state)
{
    struct next_state *next = &state->next;

    adp_state_call_unref(next->call);
    json_destroy(next->apply);
    json_destroy(next->delete);
    memset(next, 0, sizeof *next);
}

void
adp_state_destroy(struct adp_state *state)
{
    if (state) {
        adp_state_abort(state, "it was deleted");
        adp_model_destroy(state->model);
        adp_index_destroy(state->index);
        adp_engine_destroy(state->engine);
        free(state);
    }
}

uint64_t
adp_state_generation(const struct adp_state *state)
{
    return state->generation;
}

const struct adp_model *
adp_state_model(const struct adp_state *state)
{
    return state->before ? state->before : state->model;
}

const struct adp_index *
adp_state_index(const struct adp_state *state)
{
    return state->index;
}

char *
adp_state_describe_conj(const struct adp_state *state, uint32_t conj_id)
{
    return adp_pipeline_describe_conj(adp_engine_ids(state->engine), conj_id);
}

char *
adp_state_describe_group(const struct adp_state *state, uint32_t group_id)
{
    return adp_pipeline_describe_group(adp_engine_ids(state->engine), group_id);
}

struct adp_metrics *
adp_state_metrics(const struct adp_state *state)
{
    return adp_metrics_create(adp_engine_ids(state->engine));
}

/* Bringing flows into the bridge. */

static bool
bridge_port_number(const char *name, ofp_port_t *port, void *bridge_)
{
    const struct adp_bridge *bridge = bridge_;

    return adp_bridge_port_number(bridge, name, port);
}

static struct adp_model_env
state_env(const struct adp_state *state)
{
    return (struct adp_model_env) {
        .port_number = bridge_port_number,
        .round = adp_bridge_round(state->bridge),
        .options = adp_bridge_pipeline_options(state->bridge),
        .aux = state->bridge,
    };
}

/* Calls. */

static struct adp_state_call *
call_create(void)
{
    struct adp_state_call *call = xzalloc(sizeof *call);

    call->n_refs = 1;
    return call;
}

void
adp_state_call_unref(struct adp_state_call *call)
{
    if (call && !--call->n_refs) {
        adp_error_destroy(call->error);
        free(call);
    }
}

/* Takes 'error'; NULL if all is well. */
static void
call_end(struct adp_state_call *call, struct adp_error *error,
         const struct adp_state *state)
{
    call->done = true;
    call->error = error;
    call->generation = state->generation;
    if (error) {
        call->n_applied = call->n_deleted = 0;
    }
}

/* The way of a transaction. */

/* Ends the transaction: all that it did is undone, or stays. */
static void
end_transaction(struct adp_state *state, bool undo)
{
    if (undo) {
        adp_engine_revert(state->engine);
        adp_model_rollback(state->model);
    } else {
        adp_engine_accept(state->engine);
        adp_model_commit(state->model);
    }
    adp_model_destroy(state->before);
    state->before = NULL;
}

static void
take_next(struct adp_state *state)
{
    const struct next_state *next = &state->next;

    state->ports_seq = next->ports_seq;
    state->round = next->round;
    state->generation += next->changes;
    if (next->clear) {
        adp_index_rebuild(state->index, state->model);
    } else {
        adp_index_update(state->index, state->model, next->delete);
        adp_index_update(state->index, state->model, next->apply);
    }
}

/* All is in the bridge, or nothing. */
static struct adp_error *
finish(struct adp_state *state)
{
    struct adp_error *error = adp_commit_take_error(state->commit);
    struct adp_state_call *call = state->next.call;

    if (!error) {
        end_transaction(state, false);
        take_next(state);
        state->synced = !state->lost_flows;
    } else {
        end_transaction(state, true);
        /* Perhaps the bridge lacks what we believe to be there. */
        state->synced = false;
    }
    adp_commit_destroy(state->commit);
    state->commit = NULL;
    if (call) {
        call_end(call, error, state);
        error = NULL;
    }
    next_state_uninit(state);
    return error;
}

void
adp_state_abort(struct adp_state *state, const char *why)
{
    if (!state->commit) {
        return;
    }
    if (state->next.call) {
        call_end(state->next.call,
                 adp_error_create("bridge", NULL, NULL, "bridge %s: %s while "
                                  "the flows were on their way into it",
                                  adp_bridge_name(state->bridge), why),
                 state);
    }
    end_transaction(state, true);
    adp_commit_destroy(state->commit);
    state->commit = NULL;
    state->synced = false;
    state->lost_flows = false;
    next_state_uninit(state);
}

/* Sets out to make the bridge's flows those that follow from the model; fills in
 * ports and round of 'state->next'.  On error nothing has changed, and 'next'
 * is empty. */
static struct adp_error *
set_out(struct adp_state *state, enum adp_commit_how how)
{
    struct next_state *next = &state->next;
    struct adp_model_env env = state_env(state);

    ovs_assert(!state->commit);
    next->ports_seq = adp_bridge_ports_seq(state->bridge);
    next->round = env.round;
    if (how == ADP_COMMIT_DIFFERENCE && !state->synced) {
        how = ADP_COMMIT_ALL;
    }

    struct adp_error *error = adp_engine_run(
        state->engine, adp_bridge_pipeline(state->bridge), state->model, &env,
        next->ports_seq != state->ports_seq);
    if (!error) {
        state->commit = adp_commit_create(state->bridge,
                                          adp_engine_desired(state->engine),
                                          how, &error);
    }
    if (error) {
        end_transaction(state, true);
        next_state_uninit(state);
    } else {
        state->lost_flows = false;
    }
    return error;
}

/* Goes on with what is under way.  Returns an error if there is one that no
 * call is told of. */
static struct adp_error *
go_on(struct adp_state *state, struct adp_turn_slice *slice)
{
    return (adp_commit_run(state->commit, slice) ? finish(state) : NULL);
}

/* Brings what is under way to its end. */
static struct adp_error *
go_to_the_end(struct adp_state *state)
{
    struct adp_turn_slice slice;

    adp_turn_slice_init_whole(&slice);
    return state->commit ? go_on(state, &slice) : NULL;
}

/* Takes 'error' of a synchronization. */
static void
note_sync_error(struct adp_state *state, struct adp_error *error)
{
    if (error) {
        static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

        VLOG_ERR_RL(&rl, "bridge %s: can't bring the flows in line with the "
                    "state: %s", adp_bridge_name(state->bridge),
                    error->message);
        adp_error_destroy(error);

        /* To try the same again would fail again: wait for a change. */
        state->ports_seq = adp_bridge_ports_seq(state->bridge);
        state->round = adp_bridge_round(state->bridge);
        state->synced = false;
    }
}

static bool
is_up_to_date(const struct adp_state *state)
{
    return (adp_bridge_ports_seq(state->bridge) == state->ports_seq
            && adp_bridge_round(state->bridge) == state->round);
}

void
adp_state_sync(struct adp_state *state, bool reinstall)
{
    struct adp_error *error;
    size_t n_done;

    if (state->commit) {
        /* At its end we will see what else has changed. */
        if (reinstall) {
            state->lost_flows = true;
            state->synced = false;
        }
        return;
    }
    if (!reinstall && is_up_to_date(state)) {
        return;
    }

    if (reinstall) {
        state->synced = false;
    }
    error = set_out(state, reinstall ? ADP_COMMIT_ALL : ADP_COMMIT_DIFFERENCE);
    if (!error
        && adp_commit_count(state->commit, &n_done) <= ADP_COMMIT_WHOLE) {
        error = go_to_the_end(state);
    }
    note_sync_error(state, error);
}

void
adp_state_run(struct adp_state *state)
{
    struct adp_turn_slice slice;

    if (state->commit) {
        adp_turn_slice_init(&slice);
        note_sync_error(state, go_on(state, &slice));
    }
    if (!state->commit) {
        bool lost_flows = state->lost_flows;

        state->lost_flows = false;
        adp_state_sync(state, lost_flows);
    }
}

void
adp_state_wait(const struct adp_state *state)
{
    if (state->commit) {
        poll_immediate_wake();
    }
}

bool
adp_state_is_synced(const struct adp_state *state)
{
    return state->synced;
}

bool
adp_state_is_busy(const struct adp_state *state)
{
    return state->commit != NULL;
}

struct adp_error *
adp_state_install(struct adp_state *state, bool replace)
{
    note_sync_error(state, go_to_the_end(state));

    struct adp_error *error = set_out(state, replace ? ADP_COMMIT_ALONE
                                      : ADP_COMMIT_DIFFERENCE);
    return error ? error : go_to_the_end(state);
}

void
adp_state_forget_flows(struct adp_state *state)
{
    adp_state_abort(state, "its pipeline was taken away");
    adp_desired_forget(adp_engine_desired(state->engine));
    state->synced = false;
}

/* Transactions. */

static struct adp_error *
change_model(struct adp_model *model, const struct adp_state_change *change,
             size_t *n_applied, size_t *n_deleted)
{
    struct adp_error *error = NULL;

    if (change->clear) {
        adp_model_clear(model);
    }
    if (change->delete) {
        error = adp_model_delete(model, change->delete,
                                 change->ignore_missing, n_deleted);
    }
    if (!error && change->apply) {
        error = adp_model_apply(model, change->apply, n_applied);
    }
    return error;
}

/* Carries out 'change', which has no patch (any more), for 'call'. */
static struct adp_error *
transact(struct adp_state *state, const struct adp_state_change *change,
         struct adp_state_call *call)
{
    struct next_state *next = &state->next;

    adp_model_begin(state->model);
    struct adp_error *error = change_model(state->model, change,
                                           &call->n_applied,
                                           &call->n_deleted);
    if (!error) {
        struct adp_model_env env = state_env(state);

        error = adp_model_check_changes(state->model, &env);
    }
    if (error) {
        adp_model_rollback(state->model);
        return error;
    }

    next->changes = change->clear || call->n_applied || call->n_deleted;
    next->clear = change->clear;
    next->apply = json_nullable_clone(change->apply);
    next->delete = json_nullable_clone(change->delete);
    call->n_refs++;
    next->call = call;
    return set_out(state, ADP_COMMIT_DIFFERENCE);
}

/* Sets '*apply' to the patched groups and the records of the change. */
static struct adp_error *
patch_apply(const struct adp_state *state,
            const struct adp_state_change *change, struct json **apply)
{
    struct adp_error *error = adp_model_patch(state->model, change->patch,
                                              apply);

    for (size_t i = 0; !error && change->apply
         && i < json_array(change->apply)->n; i++) {
        json_array_add(*apply, json_clone(change->apply->array.elems[i]));
    }
    return error;
}

struct adp_state_call *
adp_state_transact(struct adp_state *state,
                   const struct adp_state_change *change)
{
    struct adp_state_call *call = call_create();
    struct adp_state_change whole = *change;
    struct json *patched = NULL;
    struct adp_error *error = NULL;

    ovs_assert(!state->commit);
    if (change->if_generation && *change->if_generation != state->generation) {
        error = adp_error_create("conflict", NULL, xstrdup("if_generation"),
                                 "the state is of generation %"PRIu64", not "
                                 "%"PRIu64, state->generation,
                                 *change->if_generation);
    }
    if (!error && change->patch) {
        error = patch_apply(state, change, &patched);
        whole.apply = patched;
    }
    if (!error) {
        error = transact(state, &whole, call);
    }
    json_destroy(patched);
    if (error) {
        call_end(call, error, state);
    } else {
        struct adp_turn_slice slice;

        adp_turn_slice_init(&slice);
        note_sync_error(state, go_on(state, &slice));
        if (state->commit) {
            state->before = adp_model_clone(state->model);
        }
    }
    return call;
}

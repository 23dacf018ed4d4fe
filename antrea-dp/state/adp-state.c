/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-commit.h"
#include "adp-job.h"
#include "adp-state-call.h"
#include "adp-state-disk.h"
#include "adp-state-group.h"
#include "adp-state-meters.h"
#include "adp-state-private.h"
#include "adp-state-store.h"
#include "adp-turn.h"
#include "model-index.h"
#include "model-pause.h"
#include "model-records.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "pipeline-desired.h"
#include "pipeline-engine.h"
#include "pipeline-gen.h"
#include "pipeline-l7.h"
#include "pipeline-metrics.h"
#include "pipeline.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_state);

struct adp_state *
adp_state_create(struct adp_bridge *bridge)
{
    struct adp_state *state = xzalloc(sizeof *state);

    state->bridge = bridge;
    state->model = adp_model_create();
    state->index = adp_index_create();
    ovs_list_init(&state->queue);
    sset_init(&state->fqdns);
    state->engine = adp_engine_create();
    state->ports_seq = UINT64_MAX;
    return state;
}

static void
next_state_uninit(struct adp_state *state)
{
    struct next_state *next = &state->next;

    adp_error_destroy(next->error);
    adp_state_group_uninit(state);
    free(next->changes);
    memset(next, 0, sizeof *next);
}

void
adp_state_destroy(struct adp_state *state)
{
    if (state) {
        state->next.has_meters = false; /* They go with the bridge. */
        adp_state_abort(state, "it was deleted");
        adp_state_store_uninit(state);
        adp_model_destroy(state->model);
        adp_index_destroy(state->index);
        adp_engine_destroy(state->engine);
        sset_destroy(&state->fqdns);
        free(state->options_error);
        free(state);
    }
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

/* The way of a transaction. */

static struct adp_error *
make_flows(struct adp_state *state)
{
    struct next_state *next = &state->next;
    struct adp_error *error = NULL;

    if (next->restores) {
        adp_model_begin(state->model);
        error = adp_state_store_restore(state);
    } else if (next->n_parts) {
        adp_model_begin(state->model);
        adp_state_group_change_model(state);
        if (adp_state_group_is_wrong(state)) {
            return NULL;
        }
    }
    if (!error) {
        next->made_flows = true;
        error = adp_engine_run(state->engine, next->pipeline, state->model,
                               &next->env,
                               next->ports_seq != state->ports_seq);
    }
    if (!error) {
        if (state->lost_flows) {
            next->how = ADP_COMMIT_ALL;
            next->brings_back = true;
            state->lost_flows = false;
        }
        state->commit = adp_commit_create(state->bridge, next->pipeline,
                                          adp_engine_desired(state->engine),
                                          next->how, &error);
    }
    return error;
}

/* Somebody flushed the bridge: a commit that begins anew brings all. */
static void
begin_commit_again(void *state_)
{
    struct adp_state *state = state_;
    struct next_state *next = &state->next;

    adp_commit_destroy(state->commit);
    state->commit = adp_commit_create(state->bridge, next->pipeline,
                                      adp_engine_desired(state->engine),
                                      ADP_COMMIT_ALL, &next->error);
    next->brings_back = true;
}

static void
prepare(void *state_)
{
    struct adp_state *state = state_;

    state->next.error = make_flows(state);
}

static void
clean(void *state_)
{
    struct adp_state *state = state_;
    struct next_state *next = &state->next;

    if (next->clear) {
        adp_index_rebuild(state->index, state->model);
    } else {
        adp_state_group_update_index(state);
    }
    adp_commit_destroy(state->commit);
    state->commit = NULL;
    adp_engine_accept(state->engine);
    adp_model_commit(state->model);
    adp_model_destroy(state->before);
    state->before = NULL;
    adp_state_group_destroy_lists(state);
}

static void
undo(void *state_)
{
    struct adp_state *state = state_;

    adp_commit_destroy(state->commit);
    state->commit = NULL;
    if (state->next.made_flows) {
        adp_engine_revert(state->engine);
    }
    adp_model_rollback(state->model);
    adp_state_group_destroy_lists(state);
}

/* Goes on with 'work', until it ends or 'slice' is over.  Returns true at the
 * end. */
static bool
run_work(struct adp_state *state, void (*work)(void *state),
         struct adp_turn_slice *slice)
{
    if (!state->next.large) {
        work(state);
        return true;
    }
    if (!state->job) {
        state->job = adp_job_create(work, state);
    }
    if (!adp_job_run(state->job, slice)) {
        return false;
    }
    adp_job_destroy(state->job);
    state->job = NULL;
    return true;
}

static bool
is_over(struct adp_turn_slice *slice, const struct next_state *next)
{
    return next->large && !adp_turn_slice_goes_on(slice);
}

/* Those who learn what names have see which are in use at once, whatever comes
 * next. */
static void
take_fqdns(struct adp_state *state)
{
    uint64_t seq = adp_engine_fqdns_seq(state->engine);

    if (seq != state->fqdns_seq) {
        sset_clear(&state->fqdns);
        adp_engine_get_fqdns(state->engine, &state->fqdns);
        state->fqdns_seq = seq;
    }
}

/* All is in the bridge: it is the state from now on. */
static void
take_next(struct adp_state *state)
{
    struct next_state *next = &state->next;
    uint64_t generation = state->generation;

    adp_state_meters_shrink(state->bridge, &state->meters,
                            adp_engine_meters(state->engine));
    state->meters = *adp_engine_meters(state->engine);
    take_fqdns(state);
    state->ports_seq = next->ports_seq;
    state->round = next->env.round;
    state->generation = (next->restores ? next->restored
                         : generation + next->n_changes);
    state->synced = !state->lost_flows;
    if (next->restores || next->is_stored) {
        adp_state_store_open(state);
    }
    adp_state_group_answer(state, generation);
}

/* Logs when L7 rules begin to let nothing pass for want of a port, and when
 * that is over. */
static void
note_l7_ports(struct adp_state *state)
{
    const struct adp_node_config *node = adp_model_node_config(state->model);
    const struct adp_bridge *b = state->bridge;
    const char *lacking = NULL;
    ofp_port_t port;

    if (node && adp_l7_n_rules(adp_engine_ids(state->engine))) {
        lacking = (!adp_bridge_port_number(b, node->l7_target_port, &port)
                   ? node->l7_target_port
                   : !adp_bridge_port_number(b, node->l7_return_port, &port)
                   ? node->l7_return_port : NULL);
    }
    if (lacking && !state->lacks_l7_port) {
        VLOG_WARN("bridge %s has L7 rules, but no port \"%s\": what they "
                  "allow is dropped", adp_bridge_name(b), lacking);
    } else if (!lacking && state->lacks_l7_port) {
        VLOG_INFO("no L7 rule of bridge %s lacks a port any more",
                  adp_bridge_name(b));
    }
    state->lacks_l7_port = lacking != NULL;
}

/* Logs when the pipeline begins to leave records' parts out. */
static void
note_warning(struct adp_state *state)
{
    char *warning = adp_state_warning(state);

    if (warning && !state->leaves_out) {
        VLOG_WARN("bridge %s: %s", adp_bridge_name(state->bridge), warning);
    }
    state->leaves_out = warning != NULL;
    free(warning);
}

/* Ends what is under way.  Returns its error if there is one that no call is
 * told of. */
static struct adp_error *
conclude(struct adp_state *state)
{
    struct adp_error *error = state->next.error;

    state->next.error = NULL;
    state->phase = PHASE_IDLE;
    state->has_news = true;
    note_l7_ports(state);
    note_warning(state);
    state->lost_flows |= error && state->next.brings_back;
    adp_model_destroy(state->before);
    state->before = NULL;
    if (error && state->next.n_parts) {
        adp_state_group_refuse(state, error);
        error = NULL;
    } else if (state->next.n_parts) {
        adp_state_group_answer(state, state->generation);
    } else if (error && state->next.restores) {
        adp_state_store_note_failure(state, error);
        error = NULL;
    } else if (error && state->next.sets_options) {
        state->options_error = xstrdup(error->message);
        adp_error_destroy(error);
        error = NULL;
    }
    next_state_uninit(state);
    return error;
}

static struct adp_error *
ensure_pipeline_needs(struct adp_bridge *bridge)
{
    char *reason = adp_bridge_pipeline_ensure(bridge);
    struct adp_error *error = NULL;

    if (reason) {
        error = adp_error_create("internal", NULL, NULL, "bridge %s: %s",
                                 adp_bridge_name(bridge), reason);
        free(reason);
    }
    return error;
}

/* What flows need to be there before them. */
static struct adp_error *
grow_meters(struct adp_state *state)
{
    struct next_state *next = &state->next;
    struct adp_error *error = NULL;

    if (!next->has_meters) {
        error = ensure_pipeline_needs(state->bridge);
    }
    if (!error && !next->has_meters) {
        error = adp_state_meters_grow(state->bridge, &state->meters,
                                      adp_engine_meters(state->engine),
                                      (next->how != ADP_COMMIT_DIFFERENCE
                                       || next->brings_back));
        next->has_meters = !error;
    }
    return error;
}

/* Reading in slices. */

/* Goes on until 'slice' is over. */
static void
run_reading(struct adp_state *state, struct adp_turn_slice *slice)
{
    struct state_reading *reading = &state->reading;

    if (reading->job && adp_job_run(reading->job, slice)) {
        adp_job_destroy(reading->job);
        reading->job = NULL;
        reading->rests = true;
        reading->end(reading->aux);
    }
}

void
adp_state_end_reading(struct adp_state *state)
{
    struct adp_turn_slice slice;

    adp_turn_slice_init_whole(&slice);
    run_reading(state, &slice);
}

bool
adp_state_may_be_read(const struct adp_state *state)
{
    return (!state->reading.job
            && (state->phase == PHASE_IDLE || state->phase == PHASE_COMMIT));
}

bool
adp_state_read(struct adp_state *state, void (*read)(void *aux),
               void (*end)(void *aux), void *aux)
{
    struct state_reading *reading = &state->reading;

    if (reading->rests || !adp_state_may_be_read(state)) {
        return false;
    }
    reading->job = adp_job_create(read, aux);
    reading->end = end;
    reading->aux = aux;
    return true;
}

/* While somebody reads, flows may go into the bridge, and nothing else. */
static bool
must_stand_still(const struct adp_state *state)
{
    return state->reading.job && state->phase != PHASE_COMMIT;
}

/* Where a transaction that is on the disk goes on: if somebody flushed the
 * bridge meanwhile, with another commit. */
static enum state_phase
begin_again(struct adp_state *state)
{
    if (!state->lost_flows) {
        return PHASE_COMMIT;
    }
    state->lost_flows = false;
    state->next.large |= adp_state_is_large(state);
    return PHASE_AGAIN;
}

/* Goes on with a phase.  Returns false if 'slice' is over. */
static bool
run_phase(struct adp_state *state, struct adp_turn_slice *slice)
{
    struct next_state *next = &state->next;

    if (must_stand_still(state)) {
        return false;
    }
    switch (state->phase) {
    case PHASE_PREPARE:
        if (!run_work(state, prepare, slice)) {
            return false;
        }
        state->phase = (next->error || adp_state_group_is_wrong(state)
                        ? PHASE_UNDO
                        : adp_state_store_wants(state) ? PHASE_STORE
                        : PHASE_COMMIT);
        return !is_over(slice, next);

    case PHASE_STORE:
        if (!adp_state_store_run(state, slice)) {
            return false;
        }
        state->phase = next->error ? PHASE_UNDO : begin_again(state);
        return !is_over(slice, next);

    case PHASE_AGAIN:
        if (!run_work(state, begin_commit_again, slice)) {
            return false;
        }
        state->phase = next->error ? PHASE_UNDO : PHASE_COMMIT;
        return !is_over(slice, next);

    case PHASE_COMMIT:
        next->error = grow_meters(state);
        if (next->error) {
            state->phase = PHASE_UNDO;
            return !is_over(slice, next);
        }
        if (next->sets_options && !next->has_options) {
            adp_bridge_pipeline_set_options(state->bridge, next->env.options);
            next->has_options = true;
        }
        if (!adp_commit_run(state->commit, slice) || state->reading.job) {
            return false;
        }
        next->error = adp_commit_take_error(state->commit);
        if (next->error) {
            /* Perhaps the bridge lacks what we believe to be there. */
            state->synced = false;
            state->phase = PHASE_UNDO;
        } else {
            take_next(state);
            state->phase = PHASE_CLEAN;
        }
        return !is_over(slice, next);

    case PHASE_CLEAN:
        return run_work(state, clean, slice);

    case PHASE_UNDO:
        if (!adp_state_store_take_back(state, slice)) {
            return false;
        }
        if (next->has_meters) {
            adp_state_meters_undo(state->bridge, &state->meters,
                                  adp_engine_meters(state->engine));
            next->has_meters = false;
        }
        if (next->has_options) {
            adp_bridge_pipeline_set_options(state->bridge, next->old_options);
            next->has_options = false;
        }
        return run_work(state, undo, slice);

    case PHASE_IDLE:
    default:
        OVS_NOT_REACHED();
    }
}

/* Goes on with what is under way.  Returns an error if there is one that no
 * call is told of. */
static struct adp_error *
go_on(struct adp_state *state, struct adp_turn_slice *slice)
{
    while (state->phase != PHASE_IDLE) {
        bool is_last = (state->phase == PHASE_CLEAN
                        || state->phase == PHASE_UNDO);

        if (!run_phase(state, slice)) {
            return NULL;
        }
        if (is_last) {
            return conclude(state);
        }
    }
    return NULL;
}

/* Brings what is under way to its end. */
static struct adp_error *
go_to_the_end(struct adp_state *state)
{
    struct adp_turn_slice slice;

    adp_state_end_reading(state);
    adp_turn_slice_init_whole(&slice);
    return go_on(state, &slice);
}

void
adp_state_abort(struct adp_state *state, const char *why)
{
    struct next_state *next = &state->next;
    struct adp_turn_slice slice;

    adp_state_end_reading(state);
    if (state->phase == PHASE_IDLE) {
        adp_state_group_fail_queue(state, why);
        return;
    }
    adp_turn_slice_init_whole(&slice);
    if (state->phase == PHASE_PREPARE || state->phase == PHASE_AGAIN) {
        run_phase(state, &slice);
    }
    if (state->phase == PHASE_STORE) {
        run_phase(state, &slice);
    }
    if (state->phase == PHASE_AGAIN) {
        run_phase(state, &slice);
    }
    if (state->phase == PHASE_COMMIT) {
        next->error = adp_error_create("bridge", NULL, NULL, "bridge %s: %s "
                                       "while the flows were on their way "
                                       "into it",
                                       adp_bridge_name(state->bridge), why);
        state->phase = PHASE_UNDO;
    }
    adp_error_destroy(go_on(state, &slice));
    adp_state_group_fail_queue(state, why);
    state->synced = false;
    state->lost_flows = false;
}

/* Sets out to make the bridge's flows those that follow from the model, or
 * from what 'state->next' makes of it. */
static void
set_out(struct adp_state *state, enum adp_commit_how how, bool large)
{
    struct next_state *next = &state->next;

    ovs_assert(state->phase == PHASE_IDLE);
    next->pipeline = adp_bridge_pipeline(state->bridge);
    next->env = state_env(state);
    next->ports_seq = adp_bridge_ports_seq(state->bridge);
    state->tried_ports_seq = next->ports_seq;
    state->tried_round = next->env.round;
    next->how = (how == ADP_COMMIT_DIFFERENCE && !state->synced
                 ? ADP_COMMIT_ALL : how);
    next->n_records_before = adp_model_count(state->model, NULL);
    next->large = large;
    state->phase = PHASE_PREPARE;
    state->lost_flows = false;
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

        /* To try the same again would fail again: wait for a change.  There
         * may have been one meanwhile. */
        state->ports_seq = state->tried_ports_seq;
        state->round = state->tried_round;
        state->synced = false;
    }
}

static bool
is_up_to_date(const struct adp_state *state)
{
    return (adp_bridge_ports_seq(state->bridge) == state->ports_seq
            && adp_bridge_round(state->bridge) == state->round);
}

/* Somebody flushed the bridge while something is under way. */
static void
note_lost_flows(struct adp_state *state)
{
    state->synced = false;
    if (state->phase == PHASE_COMMIT
        && !adp_commit_is_taken_back(state->commit)) {
        /* What comes may refer to groups that came, and went. */
        state->phase = PHASE_AGAIN;
        state->next.has_meters = false;
        state->next.large |= adp_state_is_large(state);
    } else if (state->phase != PHASE_AGAIN) {
        state->lost_flows = true;
    }
}

void
adp_state_sync(struct adp_state *state, bool reinstall)
{
    if (adp_state_is_at_work(state)) {
        /* At its end we will see what else has changed. */
        if (reinstall) {
            note_lost_flows(state);
        }
        return;
    }
    if (!reinstall && is_up_to_date(state)) {
        return;
    }

    state->last = ADP_STATE_PORTS;
    if (reinstall) {
        state->synced = false;
    }
    set_out(state, reinstall ? ADP_COMMIT_ALL : ADP_COMMIT_DIFFERENCE,
            adp_state_is_large(state));
    if (state->next.large) {
        /* A port or two that changed are few flows mostly, but many rules may
         * apply to a Pod.  Who has all installed anew closes the bridge before
         * the first of them come. */
        if (!reinstall) {
            struct adp_turn_slice slice;

            adp_turn_slice_init(&slice);
            note_sync_error(state, go_on(state, &slice));
        }
    } else {
        size_t n_done;

        run_phase(state, NULL);
        if (state->phase != PHASE_COMMIT
            || adp_commit_count(state->commit, &n_done) <= ADP_COMMIT_WHOLE) {
            note_sync_error(state, go_to_the_end(state));
        }
    }
}

static void
begin_restoring(struct adp_state *state)
{
    set_out(state, ADP_COMMIT_DIFFERENCE, true);
    state->next.restores = state->next.clear = true;
}

void
adp_state_run(struct adp_state *state)
{
    struct adp_turn_slice slice;

    state->reading.rests = false;
    state->has_news = false;
    if (!adp_state_is_at_work(state) && !adp_state_has_calls(state)) {
        /* All others had their turn, and wanted nothing. */
        state->last = ADP_STATE_CALLS;
    }
    if (state->reading.job) {
        enum adp_turn_section outer = adp_turn_enter(ADP_TURN_SOCKET);

        adp_turn_slice_init(&slice);
        run_reading(state, &slice);
        adp_turn_leave(outer);
    }
    if (state->phase != PHASE_IDLE) {
        adp_turn_slice_init(&slice);
        note_sync_error(state, go_on(state, &slice));
    }
    if (!adp_state_is_at_work(state)
        && (state->lost_flows || state->last < ADP_STATE_PORTS)) {
        bool lost_flows = state->lost_flows;

        state->lost_flows = false;
        adp_state_sync(state, lost_flows);
    }
    if (!adp_state_is_at_work(state)
        && adp_state_store_wants_restore(state)) {
        begin_restoring(state);
    }
    adp_state_store_idle(state);
}

void
adp_state_wait(const struct adp_state *state)
{
    if ((adp_state_is_busy(state) && !adp_state_waits_for_disk(state))
        || state->reading.rests || state->has_news
        || (adp_state_has_calls(state) && !adp_state_is_busy(state))) {
        poll_immediate_wake();
    }
    adp_state_store_wait(state);
}

void
adp_state_finish(struct adp_state *state)
{
    note_sync_error(state, go_to_the_end(state));
}

struct adp_error *
adp_state_install(struct adp_state *state, bool replace)
{
    adp_state_finish(state);
    set_out(state, replace ? ADP_COMMIT_ALONE : ADP_COMMIT_DIFFERENCE, false);
    return go_to_the_end(state);
}

void
adp_state_change_options(struct adp_state *state, uint64_t options)
{
    ovs_assert(!adp_state_is_busy(state));
    set_out(state, ADP_COMMIT_DIFFERENCE, true);
    state->next.sets_options = true;
    state->next.old_options = state->next.env.options;
    state->next.env.options = options;
    free(state->options_error);
    state->options_error = NULL;
}

bool
adp_state_changes_options(const struct adp_state *state)
{
    return state->next.sets_options;
}

char *
adp_state_take_options_error(struct adp_state *state)
{
    char *error = state->options_error;

    state->options_error = NULL;
    return error;
}

void
adp_state_forget_flows(struct adp_state *state)
{
    static const struct adp_meters none;

    adp_state_abort(state, "its pipeline was taken away");
    adp_desired_forget(adp_engine_desired(state->engine));
    adp_state_meters_shrink(state->bridge, &state->meters, &none);
    state->meters = none;
    state->synced = false;
}

/* Transactions. */

/* Sets out to carry out the calls of 'source' that were taken. */
static struct adp_error *
carry_out(struct adp_state *state, enum adp_state_source source,
          struct adp_turn_slice *slice)
{
    state->last = source;
    /* In a large state what lists little may change much: a policy that names
     * a group of many addresses. */
    set_out(state, ADP_COMMIT_DIFFERENCE,
            adp_state_is_large(state) || adp_state_group_is_large(state));
    return go_on(state, slice);
}

struct adp_state_call *
adp_state_transact(struct adp_state *state,
                   const struct adp_state_change *change)
{
    struct adp_turn_slice slice;

    ovs_assert(!adp_state_is_busy(state));
    struct adp_state_call *call = adp_state_group_take_one(state, change);
    adp_turn_slice_init(&slice);
    note_sync_error(state, carry_out(state, change->source, &slice));
    return call;
}

struct adp_state_call *
adp_state_submit(struct adp_state *state,
                 const struct adp_state_change *change)
{
    return adp_state_group_put(state, change);
}

bool
adp_state_has_calls(const struct adp_state *state)
{
    return !ovs_list_is_empty(&state->queue);
}

void
adp_state_serve(struct adp_state *state)
{
    struct adp_turn_slice slice;

    adp_turn_slice_init(&slice);
    if (adp_state_waits_for_disk(state)) {
        /* What the disk was given goes on if it is done; others that want the
         * state have a turn before the next calls. */
        note_sync_error(state, go_on(state, &slice));
    } else {
        while (!adp_state_is_busy(state) && adp_state_has_calls(state)
               && adp_turn_slice_goes_on(&slice)) {
            struct adp_turn_slice own;

            /* However old the turn is by then, what was begun goes on. */
            adp_state_group_take(state);
            adp_turn_slice_init(&own);
            note_sync_error(state, carry_out(state, ADP_STATE_CALLS, &own));
        }
    }
    state->has_news = false;
}

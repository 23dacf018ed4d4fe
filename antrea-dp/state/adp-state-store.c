/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state-store.h"

#include <inttypes.h>
#include <stdlib.h>

#include "adp-bridge.h"
#include "adp-disk.h"
#include "adp-state-disk.h"
#include "adp-state-group.h"
#include "adp-state-private.h"
#include "adp-turn.h"
#include "model-pause.h"
#include "model-records.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_state_store);

/* Between two attempts to restore. */
#define RETRY_MS 5000

static struct adp_disk *
get_disk(const struct adp_state *state)
{
    return adp_state_disk_get(state->disk);
}

/* Takes 'text'. */
static struct adp_error *
disk_error(char *text)
{
    struct adp_error *error = adp_error_create("disk", NULL, NULL, "%s", text);

    free(text);
    return error;
}

/* Is the disk done?  If all is to be done at once, waits for it. */
static bool
is_done(const struct adp_state *state, const struct adp_turn_slice *slice,
        char **error)
{
    if (adp_turn_slice_is_whole(slice)) {
        adp_disk_finish(get_disk(state));
    }
    return adp_disk_is_done(get_disk(state), error);
}

/* Storing. */

bool
adp_state_store_wants(const struct adp_state *state)
{
    return state->disk && state->next.n_changes && !state->next.own;
}

/* A state that can't be restored gets another one in its place. */
static char *
begin_storing(struct adp_state *state)
{
    struct next_state *next = &state->next;
    char *error = (get_disk(state) ? NULL
                   : adp_state_disk_begin_anew(state->disk));

    if (!error) {
        next->changes = adp_state_group_changes(state);
        adp_disk_append(get_disk(state), state->generation + 1, next->changes,
                        next->n_changes);
    }
    return error;
}

bool
adp_state_store_run(struct adp_state *state,
                    const struct adp_turn_slice *slice)
{
    struct next_state *next = &state->next;
    char *error = NULL;

    if (!next->is_storing) {
        error = begin_storing(state);
        next->is_storing = !error;
    }
    if (next->is_storing && !is_done(state, slice, &error)) {
        return false;
    }
    if (!error && state->is_closed) {
        error = adp_state_disk_take_place(state->disk);
    }
    next->is_storing = false;
    next->is_stored = !error;
    if (error) {
        char *text = xasprintf("the state can't be stored, and stays as it "
                               "is: %s", error);
        free(error);
        next->error = disk_error(text);
    }
    return true;
}

bool
adp_state_store_take_back(struct adp_state *state,
                          const struct adp_turn_slice *slice)
{
    struct next_state *next = &state->next;
    char *error;

    if (state->is_closed && get_disk(state)) {
        adp_state_disk_give_up(state->disk);
        next->is_stored = false;
    }
    if (!next->is_stored) {
        return true;
    }
    if (!next->is_taken_back) {
        adp_disk_take_back(get_disk(state));
        next->is_taken_back = true;
    }
    if (!is_done(state, slice, &error)) {
        return false;
    }
    next->is_stored = next->is_taken_back = false;
    free(error);                /* The disk's thread has told the log. */
    return true;
}

/* Restoring. */

void
adp_state_set_disk(struct adp_state *state, struct adp_state_disk *disk)
{
    state->disk = disk;
    if (disk) {
        state->is_closed = adp_state_disk_has_state(disk);
        if (!state->is_closed) {
            adp_state_disk_begin(disk);
        }
    }
}

bool
adp_state_move_disk(struct adp_state *state, const struct uuid *old,
                    const struct uuid *uuid, char **error)
{
    if (state->is_closed && adp_state_is_at_work(state)) {
        return false;
    }
    *error = adp_state_disk_move(state->disk, adp_bridge_name(state->bridge),
                                 old, uuid);
    return true;
}

bool
adp_state_store_wants_restore(const struct adp_state *state)
{
    return state->is_closed && time_msec() >= state->next_restore;
}

struct adp_error *
adp_state_store_restore(struct adp_state *state)
{
    char *text = adp_state_disk_read(state->disk, state->model,
                                     &state->next.restored);

    return text ? disk_error(text) : NULL;
}

void
adp_state_store_open(struct adp_state *state)
{
    if (state->is_closed) {
        state->is_closed = false;
        free(state->restore_error);
        state->restore_error = NULL;
        if (get_disk(state)) {
            adp_state_disk_stay(state->disk);
        } else {
            adp_state_disk_begin(state->disk);
        }
        VLOG_INFO("bridge %s: the state of generation %"PRIu64" from %s is in "
                  "force, packets pass", adp_bridge_name(state->bridge),
                  state->generation, adp_state_disk_folder(state->disk));
    }
}

void
adp_state_store_note_failure(struct adp_state *state, struct adp_error *error)
{
    if (!nullable_string_is_equal(state->restore_error, error->message)) {
        VLOG_ERR("bridge %s: the state can't be restored, no packet passes: "
                 "%s", adp_bridge_name(state->bridge), error->message);
    }
    free(state->restore_error);
    state->restore_error = xstrdup(error->message);
    state->next_restore = time_msec() + RETRY_MS;
    adp_error_destroy(error);
}

struct adp_error *
adp_state_store_refuses(const struct adp_state *state, bool clear, bool own)
{
    return (state->is_closed && !clear && !own
            ? disk_error(xasprintf(
                  "the state can't be restored, and no packet passes until it "
                  "is, or is replaced: %s",
                  state->restore_error ? state->restore_error
                  : "it is being restored"))
            : NULL);
}

/* Snapshots. */

static void
gather(void *state_)
{
    struct adp_state *state = state_;

    state->gathered = json_array_create_empty();
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        size_t n = 0;
        const struct adp_record **records
            = (adp_kind_is_own(kind) ? NULL
               : adp_model_sorted(state->model, kind, &n));

        for (size_t i = 0; i < n; i++) {
            json_array_add(state->gathered, json_clone(records[i]->json));
            adp_pause();
        }
        free(records);
    }
}

static void
end_gathering(void *state_)
{
    struct adp_state *state = state_;

    adp_disk_snapshot(get_disk(state), state->gathered, time_msec());
    state->gathered = NULL;
}

/* Frees what a snapshot was made of. */
static void
free_used(struct adp_state *state)
{
    struct adp_turn_slice slice;

    if (!state->used) {
        state->used = adp_disk_take_records(get_disk(state));
    }
    if (!state->used) {
        return;
    }
    adp_turn_slice_init(&slice);
    while (state->used->array.n && adp_turn_slice_goes_on(&slice)) {
        json_destroy(state->used->array.elems[--state->used->array.n]);
    }
    if (!state->used->array.n) {
        json_destroy(state->used);
        state->used = NULL;
    }
}

void
adp_state_store_idle(struct adp_state *state)
{
    struct adp_disk *disk = get_disk(state);

    if (disk) {
        free_used(state);
        if (state->phase == PHASE_IDLE && !state->used && !state->is_closed
            && adp_disk_wants_snapshot(disk, time_msec())
            && !adp_state_read(state, gather, end_gathering, state)) {
            poll_immediate_wake();
        }
    }
}

void
adp_state_store_wait(const struct adp_state *state)
{
    struct adp_disk *disk = get_disk(state);

    if (disk) {
        adp_disk_wait(disk);
    }
    if (state->used) {
        poll_immediate_wake();
    }
    if (state->is_closed && state->phase == PHASE_IDLE) {
        poll_timer_wait_until(state->next_restore);
    }
}

void
adp_state_store_uninit(struct adp_state *state)
{
    adp_state_disk_destroy(state->disk);
    json_destroy(state->used);
    free(state->restore_error);
}

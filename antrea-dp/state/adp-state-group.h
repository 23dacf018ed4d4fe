/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_GROUP_H
#define ADP_STATE_GROUP_H 1

/* Calls that are carried out together, for the state.
 *
 * A state's calls wait in a queue.  Those at its head become the transaction
 * under way, as many as are small together: each is a step of the model's
 * transaction, checked against what those before it make of the model, and one
 * that is wrong is undone alone.  The engine makes flows of all, which go to
 * the disk with one synchronization and into the bridge in one version; then
 * all are answered.
 *
 * If the engine, the disk or the bridge refuses that, nothing has changed, and
 * as nobody knows whose fault it is, each of the calls is carried out alone,
 * from its checks on.
 *
 * Bounds: a group weighs less than ADP_STATE_LARGE, or has one call.  The
 * queue has what clients may send ahead (adp-control-server.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/list.h"

struct adp_disk_change;
struct adp_error;
struct adp_state;
struct adp_state_call;
struct adp_state_change;
struct json;

/* A call on its way. */
struct state_part {
    struct ovs_list node;       /* In the queue. */
    struct adp_state_call *call; /* A reference. */
    bool own;                   /* The records are the daemon's own. */
    bool clear, ignore_missing;
    bool has_if_generation;
    uint64_t if_generation;
    struct json *apply, *delete, *patch; /* As given; may be NULL. */

    bool alone;                 /* It was refused with others. */
    struct json *patched;       /* NULL, or 'apply' with what 'patch' makes of
                                 * groups in front. */
    bool is_wrong;
    struct adp_error *error;    /* Why, until it is answered. */
    bool changes;               /* The generation. */
};

/* Puts a call at the end of the queue.  Returns a reference. */
struct adp_state_call *adp_state_group_put(struct adp_state *,
                                           const struct adp_state_change *);
/* Makes the calls at the head of the queue what is to be carried out next.
 * There must be one. */
void adp_state_group_take(struct adp_state *);
/* The same with one that never was in the queue. */
struct adp_state_call *adp_state_group_take_one(
    struct adp_state *, const struct adp_state_change *);
/* Is that one call which is large? */
bool adp_state_group_is_large(const struct adp_state *);

/* Has the model, in which a transaction has begun, become what they make of
 * it.  Pauses. */
void adp_state_group_change_model(struct adp_state *);
/* Is each of them wrong? */
bool adp_state_group_is_wrong(const struct adp_state *);
/* What of them is to be stored, 'n_changes' of them.  The caller frees it. */
struct adp_disk_change *adp_state_group_changes(const struct adp_state *);
/* Brings the index in line with the model, once all is in force.  Pauses. */
void adp_state_group_update_index(struct adp_state *);

/* Answers those that aren't answered yet: all is in force but those that are
 * wrong.  'generation' is the one of before. */
void adp_state_group_answer(struct adp_state *, uint64_t generation);
/* Nothing is in force, because of 'error', which it takes: answers the call
 * or, if there are several, puts them back, to be carried out alone. */
void adp_state_group_refuse(struct adp_state *, struct adp_error *error);
/* Frees their lists, unless they are put back.  Pauses. */
void adp_state_group_destroy_lists(struct adp_state *);
void adp_state_group_uninit(struct adp_state *);

/* Answers all that wait in the queue: 'why', "it was deleted". */
void adp_state_group_fail_queue(struct adp_state *, const char *why);

#endif /* adp-state-group.h */

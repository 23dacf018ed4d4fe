/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_READING_H
#define ADP_CONTROL_READING_H 1

/* What a client asks about a bridge, where the answer grows with its state.
 *
 * If the state is large it is read in slices (adp_state_read()).  So the
 * answer may come later, and the client may be gone.
 *
 * For the main thread.
 * Memory: the answer; one reading for each bridge.
 */

#include <stdbool.h>

struct adp_bridge;
struct adp_control_reading;
struct adp_error;
struct json;

struct adp_control_reading_class {
    /* May reading begin?  What is waited for must wake the loop up. */
    bool (*may_begin)(const struct adp_bridge *, const void *aux);
    /* Called then, once.  NULL does nothing. */
    void (*begin)(struct adp_bridge *, void *aux);
    /* Reads: with pauses (model-pause.h), in which the state must not
     * change. */
    void (*read)(struct adp_bridge *, void *aux);
    /* Returns the answer, which is given away, or NULL and '*errorp'. */
    struct json *(*take)(void *aux, struct adp_error **errorp);
    void (*destroy)(void *aux);
    bool needs_state;           /* Of a bridge with a built-in pipeline. */
};

/* Takes 'aux', which the class's functions get. */
struct adp_control_reading *adp_control_reading_create(
    const struct adp_control_reading_class *, const struct adp_bridge *,
    void *aux);
/* The client has its answer, or goes: reading may have to go on for a while.
 * NULL does nothing. */
void adp_control_reading_leave(struct adp_control_reading *);

/* True if the bridge, or a state that is needed, has gone before reading
 * began. */
bool adp_control_reading_is_lost(const struct adp_control_reading *);
/* Returns true if all is read, otherwise to be called again in the next turn.
 * Then, once, sets '*result' or '*errorp'. */
bool adp_control_reading_run(struct adp_control_reading *,
                             struct json **result, struct adp_error **errorp);
/* Has poll_block() wake up if adp_control_reading_run() would go on with one
 * that a client waits for. */
void adp_control_readings_wait(void);

#endif /* adp-control-reading.h */

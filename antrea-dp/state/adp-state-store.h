/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_STORE_H
#define ADP_STATE_STORE_H 1

/* A state's way to the disk and back, for the state.
 *
 * A transaction that was checked, and whose flows were made, goes to the disk
 * before the first of its flows goes into the bridge; if the bridge refuses
 * them it is taken back there before the client is told.  So what was answered
 * is on the disk, what was refused isn't, and while the disk is full the flows
 * stay as they are.
 *
 * At the start the bridge is closed until what is on the disk is in force.
 * Where that can't be, it stays closed, says why, and tries again; who
 * replaces the state begins anew.  What is there is set aside then, once the
 * new state is on the disk, and comes back if the bridge refuses that.
 *
 * For the main thread; only a thread of lib/disk waits for the disk.
 */

#include <stdbool.h>

struct adp_error;
struct adp_state;
struct adp_turn_slice;

/* Is the transaction under way, which was prepared, to be stored? */
bool adp_state_store_wants(const struct adp_state *);
/* Goes on with storing it.  Returns true at the end; 'next.error' is why it
 * isn't stored. */
bool adp_state_store_run(struct adp_state *, const struct adp_turn_slice *);
/* Goes on with taking it back, if it was stored.  Returns true at the end. */
bool adp_state_store_take_back(struct adp_state *,
                               const struct adp_turn_slice *);

/* Is it time to restore? */
bool adp_state_store_wants_restore(const struct adp_state *);
/* Makes the model what is on the disk. */
struct adp_error *adp_state_store_restore(struct adp_state *);
/* That is in force, or a state that takes its place. */
void adp_state_store_open(struct adp_state *);
/* It failed.  Takes 'error'. */
void adp_state_store_note_failure(struct adp_state *, struct adp_error *);
/* Why the state takes no such transaction, or NULL. */
struct adp_error *adp_state_store_refuses(const struct adp_state *, bool clear,
                                          bool own);

/* Snapshots, when the state is idle.  Each turn. */
void adp_state_store_idle(struct adp_state *);
void adp_state_store_wait(const struct adp_state *);
void adp_state_store_uninit(struct adp_state *);

#endif /* adp-state-store.h */

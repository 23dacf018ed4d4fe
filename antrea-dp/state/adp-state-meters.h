/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_METERS_H
#define ADP_STATE_METERS_H 1

/* A transaction's meters on their way into the bridge.
 *
 * A flow needs its meter, and a meter takes its flows with it.  So those that
 * come or change do so before the transaction's flows, and those that go after
 * them; when a transaction fails it is the other way round.  Packets may meet
 * a changed meter a version before the flows that changed with it.
 *
 * A meter that changes begins anew, with a full bucket and its counters at
 * zero, as it does with ovs-ofctl mod-meter.
 *
 * Thread-safety: none, main thread.
 *
 * Cost: a call of the datapath for each of at most ADP_N_METERS that differ.
 */

#include <stdbool.h>
#include "pipeline.h"

struct adp_bridge;

/* Brings those of 'next' into a bridge that has 'now', or with 'all' is only
 * believed to.  Returns NULL, or an error; then the bridge has what it had. */
struct adp_error *adp_state_meters_grow(struct adp_bridge *,
                                        const struct adp_meters *now,
                                        const struct adp_meters *next,
                                        bool all)
    OVS_WARN_UNUSED_RESULT;

/* Takes away those of 'before' that 'now' lacks. */
void adp_state_meters_shrink(struct adp_bridge *,
                             const struct adp_meters *before,
                             const struct adp_meters *now);

/* Undoes adp_state_meters_grow(), when no flow needs 'next' any more. */
void adp_state_meters_undo(struct adp_bridge *, const struct adp_meters *now,
                           const struct adp_meters *next);

#endif /* adp-state-meters.h */

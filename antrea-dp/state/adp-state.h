/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_H
#define ADP_STATE_H 1

/* The typed state of one bridge, and its transactions.
 *
 * Holds the model, the pipeline's IDs and the flows and groups that are
 * installed for them.  Model and IDs outlive a change of the pipeline.  A transaction clones the model, changes and checks the
 * clone, makes its flows, applies the difference to the bridge in one table
 * version, and only then takes the clone as the state.  On any error nothing
 * has changed.
 *
 * For the main thread.
 */

#include "model.h"

struct adp_bridge;
struct adp_index;
struct adp_state;

struct adp_state *adp_state_create(struct adp_bridge *);
void adp_state_destroy(struct adp_state *);

/* Brings the bridge's flows in line with the state: after the bridge came up,
 * a flush, or a change of its ports or cookie round.  With 'reinstall'
 * installs everything, otherwise only what differs, and nothing if neither
 * ports nor round changed: cheap enough for every turn of the main loop. */
void adp_state_sync(struct adp_state *, bool reinstall);
/* False if the bridge refused the flows, and may lack any of them. */
bool adp_state_is_synced(const struct adp_state *);

/* Makes the bridge's flows those of its pipeline with its options, which may
 * be others than the last time.  With 'replace' nothing else stays in the
 * bridge.  On an error nothing has changed. */
struct adp_error *adp_state_install(struct adp_state *, bool replace)
    OVS_WARN_UNUSED_RESULT;
/* Somebody else cleared the bridge; it has no pipeline any more. */
void adp_state_forget_flows(struct adp_state *);

uint64_t adp_state_generation(const struct adp_state *);
const struct adp_model *adp_state_model(const struct adp_state *);
const struct adp_index *adp_state_index(const struct adp_state *);
char *adp_state_describe_conj(const struct adp_state *, uint32_t conj_id);
char *adp_state_describe_group(const struct adp_state *, uint32_t group_id);
/* For counters by policy rule and Service (pipeline-metrics.h); to be
 * destroyed before the state changes. */
struct adp_metrics *adp_state_metrics(const struct adp_state *);

/* Each may be NULL.  'clear' starts from an empty state (replace).  'patch'
 * (model-patch.h) is about the records that were there before. */
struct adp_state_change {
    bool clear;
    const struct json *apply;
    const struct json *delete;
    const struct json *patch;
    bool ignore_missing;
    const uint64_t *if_generation;
};
/* '*n_applied' counts patches, too. */
struct adp_error *adp_state_transact(struct adp_state *,
                                     const struct adp_state_change *,
                                     size_t *n_applied, size_t *n_deleted);

#endif /* adp-state.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_ENGINE_H
#define ADP_PIPELINE_ENGINE_H 1

/* The flows and groups that a model asks for, kept up to date.
 *
 * adp_pipeline_generate() makes all flows of a model anew.  An engine keeps
 * nodes, one for each record, rule and group that is in use, of which each
 * contributes flows to a "struct adp_desired" (pipeline-desired.h), and knows
 * which node reads which.  A transaction's changes go through a handler for
 * their kind of record, which has just those nodes contribute anew that read
 * what changed: an address that joins a group costs a clause for each rule
 * that uses the group.  What has no handler, such as a change of the
 * NodeConfig, of the pipeline, its options or the cookies' round, makes
 * everything run anew, as does a pipeline that has no parts (struct
 * adp_pipeline_parts).
 *
 * An engine owns the pipeline's IDs and priorities, too.
 *
 * Each run is to be ended by adp_engine_accept() or adp_engine_revert().  An
 * engine must see every transaction of its model, or be told of it with
 * adp_engine_invalidate().
 *
 * Thread-safety: as the model.
 *
 * Memory: some 300 bytes a rule, a Pod, a Service, besides what "struct
 * adp_desired" holds; the model's records bound it.
 *
 * Cost: a run is linear in the contributions of the nodes that run, and, where
 * rules with ranks of their own come or go, in the ranks of their table.  A
 * full run is linear in all flows; so is a run after one that failed, and
 * after a full one that was reverted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/compiler.h"
#include "openvswitch/types.h"

struct adp_desired;
struct adp_engine;
struct adp_error;
struct adp_meters;
struct adp_model;
struct adp_model_env;
struct adp_pipeline;
struct adp_pipeline_state;
struct sset;

struct adp_engine *adp_engine_create(void);
void adp_engine_destroy(struct adp_engine *);

/* Has 'engine' contribute what 'model', which may be within a transaction,
 * asks for in 'pipeline'.  'ports_changed' says that ports may have come,
 * gone, or got other numbers since the last run.
 *
 * Returns NULL, or an error of code "invalid" or "limit" as
 * adp_pipeline_generate() does; then it must be reverted. */
struct adp_error *adp_engine_run(struct adp_engine *engine,
                                 const struct adp_pipeline *pipeline,
                                 const struct adp_model *model,
                                 const struct adp_model_env *,
                                 bool ports_changed)
    OVS_WARN_UNUSED_RESULT;
/* Doesn't the next run make everything anew because of the last one, of the
 * pipeline, or of what the bridge is like?  (It may still do so because of
 * what the model's transaction changes.)  Not within a run. */
bool adp_engine_can_follow(const struct adp_engine *,
                           const struct adp_pipeline *,
                           const struct adp_model_env *);
/* Ends a run, and the transaction of the "struct adp_desired". */
void adp_engine_accept(struct adp_engine *);
void adp_engine_revert(struct adp_engine *);
/* The next run makes everything anew.  (The daemon's engines see all.) */
void adp_engine_invalidate(struct adp_engine *);

/* The names, perhaps with "*"s, that rules of the last run ask for; 'names'
 * must be empty.  And a number that changes when they may have. */
void adp_engine_get_fqdns(const struct adp_engine *, struct sset *names);
uint64_t adp_engine_fqdns_seq(const struct adp_engine *);

/* Does the engine know the rules in force?  After a run that failed and
 * couldn't be undone it does when the next one has been accepted. */
bool adp_engine_is_valid(const struct adp_engine *);

/* May the Pod send a message of IGMP of that type about 'group'?  '*conj_id'
 * is the ID of the rule that says so, 0 if none does.  Not within a run, and
 * if it is valid.  Cost: a look at each rule about IGMP that is in force. */
bool adp_engine_allows_igmp(const struct adp_engine *, const char *pod,
                            uint8_t type, ovs_be32 group, uint32_t *conj_id);

struct adp_desired *adp_engine_desired(struct adp_engine *);
/* Which meters the flows need. */
const struct adp_meters *adp_engine_meters(const struct adp_engine *);
const struct adp_pipeline_state *adp_engine_ids(const struct adp_engine *);

/* How many runs there were. */
struct adp_engine_runs {
    size_t n_full;
    size_t n_incremental;
    size_t n_undone;            /* Of these: reverted step by step. */
};
/* Unit tests. */
struct adp_engine_runs adp_engine_get_runs(const struct adp_engine *);

#endif /* pipeline-engine.h */

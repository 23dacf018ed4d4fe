/* SPDX-License-Identifier: Apache-2.0 */

/* What others ask a state. */

#include <config.h>
#include "adp-state.h"

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-state-private.h"
#include "adp-state-store.h"
#include "model-change.h"
#include "pipeline-engine.h"
#include "pipeline-gen.h"
#include "pipeline-l7.h"
#include "pipeline-metrics.h"
#include "pipeline.h"
#include "sset.h"
#include "util.h"

uint64_t
adp_state_generation(const struct adp_state *state)
{
    return state->generation;
}

char *
adp_state_warning(const struct adp_state *state)
{
    const struct adp_pipeline *pipeline = adp_bridge_pipeline(state->bridge);

    return (pipeline && adp_gen_leaves_out_ipv6(pipeline, state->model)
            ? xasprintf("pipeline %s has no flows for IPv6: what this Node "
                        "and its Pods have of it is left out, and such "
                        "packets are dropped", pipeline->name)
            : NULL);
}

/* Is 'state->model' what is in force? */
static bool
model_is_in_force(const struct adp_state *state)
{
    return state->phase == PHASE_IDLE || state->phase == PHASE_CLEAN;
}

const struct adp_model *
adp_state_model(const struct adp_state *state)
{
    if (model_is_in_force(state)) {
        return state->model;
    }
    if (!state->before) {
        CONST_CAST(struct adp_state *, state)->before
            = adp_model_clone(state->model);
    }
    return state->before;
}

const struct adp_record **
adp_state_sorted(const struct adp_state *state, enum adp_kind kind, size_t *n)
{
    return (model_is_in_force(state)
            ? adp_model_sorted(state->model, kind, n)
            : adp_model_sorted_before(state->model, kind, n));
}

struct adp_error *
adp_state_check_pipeline(const struct adp_state *state,
                         const struct adp_pipeline *pipeline, uint64_t options)
{
    struct adp_error *error = NULL;

    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        if (adp_gen_checks_kind(kind)) {
            size_t n;
            const struct adp_record **records = adp_state_sorted(state, kind,
                                                                 &n);

            for (size_t i = 0; i < n && !error; i++) {
                error = adp_gen_check_record(pipeline, options, records[i]);
            }
            free(records);
        }
    }
    return error;
}

size_t
adp_state_n_records(const struct adp_state *state)
{
    return (model_is_in_force(state) ? adp_model_count(state->model, NULL)
            : state->next.n_records_before);
}

const struct adp_index *
adp_state_index(const struct adp_state *state)
{
    return state->index;
}

bool
adp_state_find_rule(const struct adp_state *state, uint32_t conj_id,
                    const struct adp_network_policy **policyp,
                    const struct adp_network_policy_rule **rulep)
{
    return adp_pipeline_find_rule(adp_engine_ids(state->engine), conj_id,
                                  policyp, rulep);
}

char *
adp_state_describe_conj(const struct adp_state *state, uint32_t conj_id)
{
    return adp_pipeline_describe_conj(adp_engine_ids(state->engine), conj_id);
}

char *
adp_state_describe_group(const struct adp_state *state, uint32_t group_id)
{
    return adp_pipeline_describe_group(adp_engine_ids(state->engine),
                                       group_id);
}

char *
adp_state_describe_applied(const struct adp_state *state, uint32_t id)
{
    return adp_pipeline_describe_applied(adp_engine_ids(state->engine), id);
}

char *
adp_state_describe_mark(const struct adp_state *state, uint32_t mark)
{
    return adp_pipeline_describe_mark(adp_engine_ids(state->engine), mark);
}

const struct adp_meters *
adp_state_meters(const struct adp_state *state)
{
    return &state->meters;
}

char *
adp_state_describe_vlan(const struct adp_state *state, uint32_t vlan)
{
    return adp_pipeline_describe_vlan(adp_engine_ids(state->engine), vlan);
}

struct json *
adp_state_l7_rules(const struct adp_state *state)
{
    return adp_l7_rules(adp_engine_ids(state->engine));
}

struct adp_metrics *
adp_state_metrics(const struct adp_state *state)
{
    return adp_metrics_create(adp_engine_ids(state->engine));
}

bool
adp_state_is_synced(const struct adp_state *state)
{
    return state->synced;
}

bool
adp_state_is_at_work(const struct adp_state *state)
{
    return state->phase != PHASE_IDLE || state->reading.job;
}

bool
adp_state_is_busy(const struct adp_state *state)
{
    return (adp_state_is_at_work(state)
            || (state->is_closed && !state->restore_error));
}

bool
adp_state_has_turn(const struct adp_state *state, enum adp_state_source source)
{
    return !adp_state_is_busy(state) && state->last < source;
}

bool
adp_state_is_large(const struct adp_state *state)
{
    return adp_model_size(state->model) > ADP_STATE_LARGE;
}

void
adp_state_get_fqdns(const struct adp_state *state, struct sset *names)
{
    sset_clone(names, &state->fqdns);
}

uint64_t
adp_state_fqdns_seq(const struct adp_state *state)
{
    return state->fqdns_seq;
}

bool
adp_state_knows_rules(const struct adp_state *state)
{
    return adp_engine_is_valid(state->engine);
}

bool
adp_state_allows_igmp(const struct adp_state *state, const char *pod,
                      uint8_t type, ovs_be32 group, uint32_t *conj_id)
{
    return adp_engine_allows_igmp(state->engine, pod, type, group, conj_id);
}

bool
adp_state_is_closed(const struct adp_state *state)
{
    return state->is_closed;
}

const char *
adp_state_restore_error(const struct adp_state *state)
{
    return state->restore_error;
}

struct adp_error *
adp_state_refuses_get(const struct adp_state *state)
{
    return adp_state_store_refuses(state, false, false);
}

const struct adp_state_disk *
adp_state_get_disk(const struct adp_state *state)
{
    return state->disk;
}

bool
adp_state_waits_for_disk(const struct adp_state *state)
{
    return state->next.is_storing || state->next.is_taken_back;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-state-flows.h"
#include "model-index.h"
#include "model-patch.h"
#include "openvswitch/vlog.h"
#include "pipeline-metrics.h"
#include "pipeline.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_state);

struct adp_state {
    struct adp_bridge *bridge;
    uint64_t generation;

    /* What was asked for.  Replaced as a pair. */
    struct adp_model *model;
    struct adp_pipeline_state *ids;
    struct adp_index *index;    /* Of 'model'. */

    /* What is in the bridge because of it. */
    struct adp_installed installed;
    uint64_t ports_seq;         /* Ports that 'installed' was made for, or
                                 * UINT64_MAX before the first time. */
    uint16_t round;             /* In the cookies of 'installed'. */
    bool synced;                /* False until there are flows, and after the
                                 * bridge refused a change: what is really
                                 * there is in doubt then, and the next change
                                 * installs everything. */
};

struct adp_state *
adp_state_create(struct adp_bridge *bridge)
{
    struct adp_state *state = xzalloc(sizeof *state);

    state->bridge = bridge;
    state->model = adp_model_create();
    state->index = adp_index_create();
    state->ids = adp_pipeline_state_create();
    state->ports_seq = UINT64_MAX;
    adp_installed_init(&state->installed);
    return state;
}

void
adp_state_destroy(struct adp_state *state)
{
    if (state) {
        adp_model_destroy(state->model);
        adp_index_destroy(state->index);
        adp_pipeline_state_destroy(state->ids);
        adp_installed_uninit(&state->installed);
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
    return state->model;
}

const struct adp_index *
adp_state_index(const struct adp_state *state)
{
    return state->index;
}

char *
adp_state_describe_conj(const struct adp_state *state, uint32_t conj_id)
{
    return adp_pipeline_describe_conj(state->ids, conj_id);
}

char *
adp_state_describe_group(const struct adp_state *state, uint32_t group_id)
{
    return adp_pipeline_describe_group(state->ids, group_id);
}

struct adp_metrics *
adp_state_metrics(const struct adp_state *state)
{
    return adp_metrics_create(state->ids);
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

/* What goes into the bridge. */
enum install {
    INSTALL_DIFFERENCE,         /* What isn't believed to be there. */
    INSTALL_ALL,                /* Everything. */
    INSTALL_ALONE,              /* Everything, and everything else leaves. */
};

/* Makes the bridge's flows those of 'set', beside 'installed', which becomes
 * what is there.  On error nothing has changed. */
static struct adp_error *
install_beside(struct adp_state *state, struct adp_installed *installed,
               const struct adp_flow_set *set, enum install how)
{
    struct adp_install_plan plan;
    struct adp_error *error;

    error = adp_install_plan_init(&plan, installed, set,
                                  adp_bridge_port_map(state->bridge),
                                  adp_bridge_table_map(state->bridge),
                                  how != INSTALL_DIFFERENCE);
    if (error) {
        return error;
    }

    if (plan.n_flow_mods || plan.n_group_mods || how == INSTALL_ALONE) {
        char *reason = adp_bridge_commit(state->bridge,
                                         plan.flow_mods, plan.n_flow_mods,
                                         plan.group_mods, plan.n_group_mods,
                                         how == INSTALL_ALONE);
        if (reason) {
            /* Perhaps the bridge lacks what we believe to be there. */
            state->synced = false;
            error = adp_error_create("internal", NULL, NULL,
                                     "bridge %s refused the flows: %s",
                                     adp_bridge_name(state->bridge), reason);
            free(reason);
        }
    }
    if (!error) {
        VLOG_DBG("bridge %s: %"PRIuSIZE" flow mods, %"PRIuSIZE" group mods",
                 adp_bridge_name(state->bridge), plan.n_flow_mods,
                 plan.n_group_mods);
        adp_install_plan_take(&plan, installed);
    }
    adp_install_plan_uninit(&plan);
    return error;
}

static struct adp_error *
install_flow_set(struct adp_state *state, const struct adp_flow_set *set,
                 enum install how)
{
    struct adp_installed nothing;

    if (how != INSTALL_ALONE) {
        return install_beside(state, &state->installed, set, how);
    }

    adp_installed_init(&nothing);
    struct adp_error *error = install_beside(state, &nothing, set, how);
    if (!error) {
        adp_installed_swap(&state->installed, &nothing);
    }
    adp_installed_uninit(&nothing);
    return error;
}

/* Makes the bridge's flows those that follow from 'model' with 'ids'.  On
 * error nothing has changed, except perhaps 'ids', which must be thrown
 * away. */
static struct adp_error *
install_model(struct adp_state *state, const struct adp_model *model,
              struct adp_pipeline_state *ids, enum install how)
{
    const struct adp_pipeline *pipeline = adp_bridge_pipeline(state->bridge);
    uint64_t ports_seq = adp_bridge_ports_seq(state->bridge);
    struct adp_model_env env = state_env(state);
    struct adp_flow_set set;

    adp_flow_set_init(&set);
    struct adp_error *error = adp_pipeline_generate(pipeline, model, ids, &env,
                                                    &set);
    if (!error) {
        error = install_flow_set(state, &set, (how == INSTALL_DIFFERENCE
                                               && !state->synced
                                               ? INSTALL_ALL : how));
    }
    adp_flow_set_uninit(&set);

    if (!error) {
        state->ports_seq = ports_seq;
        state->round = env.round;
        state->synced = true;
    }
    return error;
}

static void
take_model(struct adp_state *state, struct adp_model *model,
           struct adp_pipeline_state *ids)
{
    if (model != state->model) {
        adp_model_destroy(state->model);
        state->model = model;
    }
    adp_pipeline_state_destroy(state->ids);
    state->ids = ids;
}

void
adp_state_sync(struct adp_state *state, bool reinstall)
{
    uint64_t ports_seq = adp_bridge_ports_seq(state->bridge);
    uint16_t round = adp_bridge_round(state->bridge);

    if (!reinstall && ports_seq == state->ports_seq
        && round == state->round) {
        return;
    }

    struct adp_pipeline_state *ids = adp_pipeline_state_clone(state->ids);
    struct adp_error *error = install_model(state, state->model, ids,
                                            reinstall ? INSTALL_ALL
                                            : INSTALL_DIFFERENCE);
    if (error) {
        static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

        VLOG_ERR_RL(&rl, "bridge %s: can't bring the flows in line with the "
                    "state: %s", adp_bridge_name(state->bridge),
                    error->message);
        adp_error_destroy(error);
        adp_pipeline_state_destroy(ids);

        /* To try the same again would fail again: wait for a change. */
        state->ports_seq = ports_seq;
        state->round = round;
        state->synced = false;
    } else {
        take_model(state, state->model, ids);
    }
}

bool
adp_state_is_synced(const struct adp_state *state)
{
    return state->synced;
}

struct adp_error *
adp_state_install(struct adp_state *state, bool replace)
{
    struct adp_pipeline_state *ids = adp_pipeline_state_clone(state->ids);
    struct adp_error *error = install_model(state, state->model, ids,
                                            replace ? INSTALL_ALONE
                                            : INSTALL_DIFFERENCE);
    if (error) {
        adp_pipeline_state_destroy(ids);
    } else {
        take_model(state, state->model, ids);
    }
    return error;
}

void
adp_state_forget_flows(struct adp_state *state)
{
    adp_installed_uninit(&state->installed);
    adp_installed_init(&state->installed);
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

/* Carries out 'change', which has no patch (any more). */
static struct adp_error *
transact(struct adp_state *state, const struct adp_state_change *change,
         size_t *n_appliedp, size_t *n_deletedp)
{
    size_t n_applied = 0;
    size_t n_deleted = 0;

    struct adp_model *model = adp_model_clone(state->model);
    struct adp_pipeline_state *ids = adp_pipeline_state_clone(state->ids);
    struct adp_error *error = change_model(model, change,
                                           &n_applied, &n_deleted);
    if (!error) {
        struct adp_model_env env = state_env(state);

        error = adp_model_check(model, change->clear ? NULL : state->model,
                                &env);
    }
    if (!error) {
        error = install_model(state, model, ids, INSTALL_DIFFERENCE);
    }
    if (error) {
        adp_model_destroy(model);
        adp_pipeline_state_destroy(ids);
        return error;
    }

    take_model(state, model, ids);
    if (change->clear || n_applied || n_deleted) {
        state->generation++;
    }
    *n_appliedp = n_applied;
    *n_deletedp = n_deleted;
    return NULL;
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

struct adp_error *
adp_state_transact(struct adp_state *state,
                   const struct adp_state_change *change,
                   size_t *n_applied, size_t *n_deleted)
{
    struct adp_state_change whole = *change;
    struct json *patched = NULL;
    struct adp_error *error = NULL;

    *n_applied = *n_deleted = 0;
    if (change->if_generation && *change->if_generation != state->generation) {
        return adp_error_create("conflict", NULL, xstrdup("if_generation"),
                                "the state is of generation %"PRIu64", not "
                                "%"PRIu64, state->generation,
                                *change->if_generation);
    }
    if (change->patch) {
        error = patch_apply(state, change, &patched);
        whole.apply = patched;
    }
    if (!error) {
        error = transact(state, &whole, n_applied, n_deleted);
    }
    if (!error && change->clear) {
        adp_index_rebuild(state->index, state->model);
    } else if (!error) {
        adp_index_update(state->index, state->model, whole.delete);
        adp_index_update(state->index, state->model, whole.apply);
    }
    json_destroy(patched);
    return error;
}

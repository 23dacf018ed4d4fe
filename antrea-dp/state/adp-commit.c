/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-commit.h"

#include <stdlib.h>
#include <string.h>

#include "adp-bridge.h"
#include "adp-state-order.h"
#include "adp-turn.h"
#include "model-pause.h"
#include "model.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/vlog.h"
#include "pipeline.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_commit);

/* Steps that go into one version, if there are more.  Each takes some 10 us,
 * and a version some 100 us. */
#define SLICE_STEPS 256
/* Clauses and buckets, in what these steps change, after which a version takes
 * no further step.  Rules of one priority that share a port all put a clause
 * into the same flow, and each takes some 0.4 us. */
#define SLICE_PARTS 4096
/* Clauses and buckets above which fewer changes than ADP_COMMIT_WHOLE go in
 * slices too. */
#define WHOLE_PARTS (16 * SLICE_PARTS)

enum commit_stage {
    STAGE_NEW_GROUPS,
    STAGE_ADD_METRICS,
    STAGE_ADD_VERDICTS,
    STAGE_ADD_RULES,
    STAGE_ADD_OTHERS,
    STAGE_MODIFY_GROUPS,
    STAGE_DELETE_OTHERS,
    STAGE_DELETE_RULES,
    STAGE_DELETE_VERDICTS,
    STAGE_DELETE_METRICS,
    STAGE_DELETE_GROUPS,
};

/* What a table is for. */
enum table_role { ROLE_OTHER, ROLE_METRIC, ROLE_RULES };

struct slice_step {
    uint64_t key;               /* Orders them. */
    uint32_t change;            /* Index among flows or groups. */
    bool is_group;
    uint8_t goal;               /* enum adp_goal. */
    uint8_t before;             /* The same: what led here. */
};

struct adp_commit {
    struct adp_bridge *bridge;
    const struct adp_pipeline *pipeline;
    const struct adp_desired *desired;
    bool alone;
    enum table_role roles[UINT8_MAX + 1];
    struct adp_changes changes;

    /* Slices. */
    struct slice_step *steps;
    size_t n_steps, allocated_steps;
    size_t n_done;              /* Of them. */
    size_t slice;               /* How many go into one version; 0: all. */
    bool over;

    struct adp_error *error;    /* If there is one, we are on the way back. */
};

/* Steps. */

static void
put_step(struct adp_commit *commit, enum commit_stage stage, uint64_t order,
         const struct slice_step *step)
{
    if (commit->n_steps >= commit->allocated_steps) {
        commit->steps = x2nrealloc(commit->steps, &commit->allocated_steps,
                                   sizeof *commit->steps);
    }
    commit->steps[commit->n_steps] = *step;
    commit->steps[commit->n_steps++].key = (uint64_t) stage << 44 | order;
}

static void
add_group_step(struct adp_commit *commit, uint32_t i)
{
    const struct adp_change *change = &commit->changes.groups[i];
    const struct slice_step step = {
        .change = i,
        .is_group = true,
        .goal = ADP_GOAL_NEW,
        .before = ADP_GOAL_OLD,
    };

    put_step(commit, (change->kind == ADP_CHANGE_DELETE ? STAGE_DELETE_GROUPS
                      : change->twin ? STAGE_MODIFY_GROUPS
                      : STAGE_NEW_GROUPS), 0, &step);
}

#define MAX_ORDER ((UINT64_C(1) << 44) - 1)

/* By descending precedence, verdicts before the clauses that lead to them. */
static uint64_t
rule_order(const struct adp_change_place *place)
{
    return ((uint64_t) place->table_id << 17
            | (uint64_t) (UINT16_MAX - place->priority) << 1
            | place->has_clauses);
}

/* From the last table to the first.  Within one, any order is good: so
 * upstream takes few steps. */
static uint64_t
other_order(const struct adp_change_place *place)
{
    return ((uint64_t) (UINT8_MAX - place->table_id) << 32
            | (uint64_t) place->match_hash << 16
            | place->priority);
}

static void
put_addition(struct adp_commit *commit, const struct slice_step *step,
             const struct adp_change_place *place, bool is_verdict)
{
    enum table_role role = commit->roles[place->table_id];

    if (role == ROLE_RULES && !is_verdict) {
        put_step(commit, STAGE_ADD_RULES, rule_order(place), step);
    } else {
        put_step(commit, (role == ROLE_METRIC ? STAGE_ADD_METRICS
                          : role == ROLE_RULES ? STAGE_ADD_VERDICTS
                          : STAGE_ADD_OTHERS), other_order(place), step);
    }
}

static void
put_deletion(struct adp_commit *commit, const struct slice_step *step,
             const struct adp_change_place *place, bool is_verdict)
{
    enum table_role role = commit->roles[place->table_id];

    if (role == ROLE_RULES && !is_verdict) {
        put_step(commit, STAGE_DELETE_RULES, MAX_ORDER - rule_order(place),
                 step);
    } else {
        put_step(commit, (role == ROLE_METRIC ? STAGE_DELETE_METRICS
                          : role == ROLE_RULES ? STAGE_DELETE_VERDICTS
                          : STAGE_DELETE_OTHERS),
                 MAX_ORDER - other_order(place), step);
    }
}

static void
add_flow_step(struct adp_commit *commit, uint32_t i)
{
    const struct adp_change *change = &commit->changes.flows[i];
    const struct adp_change_place place = adp_change_place(change);
    enum adp_clause_change clauses = adp_change_clauses(commit->desired,
                                                        change);
    bool deletes = (change->kind == ADP_CHANGE_DELETE
                    || clauses == ADP_CLAUSES_GO);
    /* Of conjunctions that nobody meets before they have clauses, or after
     * they have lost them. */
    bool is_verdict = place.conj_id && !change->twin;
    struct slice_step step = {
        .change = i,
        .goal = clauses == ADP_CLAUSES_BOTH ? ADP_GOAL_BOTH : ADP_GOAL_NEW,
        .before = ADP_GOAL_OLD,
    };

    if (!deletes) {
        put_addition(commit, &step, &place, is_verdict);
    }
    if (deletes || clauses == ADP_CLAUSES_BOTH) {
        step.before = deletes ? ADP_GOAL_OLD : ADP_GOAL_BOTH;
        step.goal = ADP_GOAL_NEW;
        put_deletion(commit, &step, &place, is_verdict);
    }
}

/* Sorts by key, without changing the order of equal ones: passes of counting,
 * so that it takes the same few nanoseconds for each step however many there
 * are. */
static void
sort_steps(struct slice_step *steps, size_t n)
{
    struct slice_step *other = xmalloc(n * sizeof *other);
    size_t *starts = xmalloc((UINT16_MAX + 1) * sizeof *starts);

    for (int shift = 0; shift < 64; shift += 16) {
        size_t start = 0;

        memset(starts, 0, (UINT16_MAX + 1) * sizeof *starts);
        for (size_t i = 0; i < n; i++) {
            starts[(steps[i].key >> shift) & UINT16_MAX]++;
        }
        for (size_t i = 0; i <= UINT16_MAX; i++) {
            size_t count = starts[i];

            starts[i] = start;
            start += count;
        }
        for (size_t i = 0; i < n; i++) {
            other[starts[(steps[i].key >> shift) & UINT16_MAX]++] = steps[i];
            if (!(i % 1024)) {
                adp_pause();
            }
        }

        struct slice_step *tmp = steps;
        steps = other;
        other = tmp;
    }
    /* After an even number of passes all is back where it was. */
    free(starts);
    free(other);
}

static void
set_roles(struct adp_commit *commit)
{
    const struct adp_pipeline *p = commit->pipeline;

    for (size_t i = 0; i < p->n_verdict_tables; i++) {
        commit->roles[p->verdict_tables[i]] = ROLE_METRIC;
    }
    for (size_t i = 0; i < p->n_rule_tables; i++) {
        commit->roles[p->rule_tables[i]] = ROLE_RULES;
    }
}

static void
make_steps(struct adp_commit *commit)
{
    set_roles(commit);
    for (size_t i = 0; i < commit->changes.n_groups; i++) {
        add_group_step(commit, i);
    }
    for (size_t i = 0; i < commit->changes.n_flows; i++) {
        add_flow_step(commit, i);
        adp_pause();
    }
    if (commit->n_steps) {
        sort_steps(commit->steps, commit->n_steps);
    }
}

static size_t
count_changes(const struct adp_commit *commit)
{
    return commit->changes.n_flows + commit->changes.n_groups;
}

/* May all go into the bridge in one version? */
static bool
is_small(const struct adp_commit *commit)
{
    size_t n_parts = 0;

    if (count_changes(commit) > ADP_COMMIT_WHOLE) {
        return false;
    }
    for (size_t i = 0; i < commit->changes.n_flows; i++) {
        n_parts += adp_change_n_clauses(commit->desired,
                                        &commit->changes.flows[i]);
    }
    for (size_t i = 0; i < commit->changes.n_groups; i++) {
        n_parts += adp_change_n_buckets(&commit->changes.groups[i]);
    }
    return n_parts <= WHOLE_PARTS;
}

struct adp_commit *
adp_commit_create(struct adp_bridge *bridge,
                  const struct adp_pipeline *pipeline,
                  struct adp_desired *desired, enum adp_commit_how how,
                  struct adp_error **errorp)
{
    struct adp_commit *commit = xzalloc(sizeof *commit);

    commit->bridge = bridge;
    commit->pipeline = pipeline;
    commit->desired = desired;
    commit->alone = how == ADP_COMMIT_ALONE;
    *errorp = adp_desired_get_changes(
        desired, (how == ADP_COMMIT_ALONE ? ADP_CHANGES_AFRESH
                  : how == ADP_COMMIT_ALL ? ADP_CHANGES_ALL
                  : ADP_CHANGES_ONLY),
        adp_bridge_table_map(bridge), &commit->changes);
    if (*errorp) {
        adp_commit_destroy(commit);
        return NULL;
    }
    commit->slice = commit->alone || is_small(commit) ? 0 : SLICE_STEPS;
    if (commit->slice) {
        make_steps(commit);
    }
    return commit;
}

void
adp_commit_slice(struct adp_commit *commit, size_t n)
{
    commit->slice = n;
}

void
adp_commit_destroy(struct adp_commit *commit)
{
    if (commit) {
        adp_changes_uninit(&commit->changes);
        adp_error_destroy(commit->error);
        free(commit->steps);
        free(commit);
    }
}

/* Into the bridge. */

/* Mods of a small change are on the stack.  For an array that isn't small
 * malloc() first goes through all that was freed since the last one, wherever
 * that is in a large heap. */
#define FEW_MODS 32

/* The mods of some steps. */
struct commit_mods {
    struct ofputil_flow_mod *fms;
    size_t n_fms;
    struct ofputil_group_mod *gms;
    size_t n_gms;
    struct ofputil_flow_mod few_fms[FEW_MODS];
    struct ofputil_group_mod few_gms[FEW_MODS];
};

static void
mods_init(struct commit_mods *mods, size_t n)
{
    bool few = n <= FEW_MODS;

    mods->fms = few ? mods->few_fms : xmalloc(n * sizeof *mods->fms);
    mods->gms = few ? mods->few_gms : xmalloc(n * sizeof *mods->gms);
    mods->n_fms = mods->n_gms = 0;
}

static void
mods_uninit(struct commit_mods *mods)
{
    for (size_t i = 0; i < mods->n_fms; i++) {
        adp_flow_mod_uninit(&mods->fms[i]);
    }
    for (size_t i = 0; i < mods->n_gms; i++) {
        ofputil_uninit_group_mod(&mods->gms[i]);
    }
    if (mods->fms != mods->few_fms) {
        free(mods->fms);
        free(mods->gms);
    }
}

static void
mods_add_flow(struct commit_mods *mods, const struct adp_commit *commit,
              size_t i, enum adp_goal goal)
{
    adp_change_to_flow_mod(commit->desired, &commit->changes.flows[i], goal,
                           &mods->fms[mods->n_fms++]);
}

static void
mods_add_group(struct commit_mods *mods, const struct adp_commit *commit,
               size_t i, enum adp_goal goal)
{
    adp_change_to_group_mod(commit->desired, &commit->changes.groups[i], goal,
                            &mods->gms[mods->n_gms++]);
}

/* Returns how many clauses or buckets that is about. */
static size_t
mods_add_step(struct commit_mods *mods, const struct adp_commit *commit,
              const struct slice_step *step, enum adp_goal goal)
{
    if (step->is_group) {
        mods_add_group(mods, commit, step->change, goal);
        return ovs_list_size(&mods->gms[mods->n_gms - 1].buckets);
    }
    mods_add_flow(mods, commit, step->change, goal);
    return adp_change_n_clauses(commit->desired,
                                &commit->changes.flows[step->change]);
}

/* Applies 'mods' in one version.  Returns NULL or why the bridge refused. */
static char *
apply(struct adp_commit *commit, struct commit_mods *mods)
{
    adp_order_flow_mods(mods->fms, mods->n_fms);
    VLOG_DBG("bridge %s: %"PRIuSIZE" flow mods, %"PRIuSIZE" group mods",
             adp_bridge_name(commit->bridge), mods->n_fms, mods->n_gms);
    return adp_bridge_commit(commit->bridge, mods->fms, mods->n_fms,
                             mods->gms, mods->n_gms, commit->alone);
}

static void
note_refusal(struct adp_commit *commit, char *reason)
{
    if (!commit->error) {
        commit->error = adp_error_create("internal", NULL, NULL,
                                         "bridge %s refused the flows: %s",
                                         adp_bridge_name(commit->bridge),
                                         reason);
    } else {
        static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

        VLOG_ERR_RL(&rl, "bridge %s: can't take back a part of a "
                    "transaction: %s", adp_bridge_name(commit->bridge),
                    reason);
    }
    free(reason);
}

/* Applies everything at once. */
static void
run_whole(struct adp_commit *commit)
{
    struct commit_mods mods;

    commit->over = true;
    if (!count_changes(commit) && !commit->alone) {
        return;
    }
    mods_init(&mods, MAX(commit->changes.n_flows, commit->changes.n_groups));
    for (size_t i = 0; i < commit->changes.n_flows; i++) {
        mods_add_flow(&mods, commit, i, ADP_GOAL_NEW);
    }
    for (size_t i = 0; i < commit->changes.n_groups; i++) {
        mods_add_group(&mods, commit, i, ADP_GOAL_NEW);
    }

    char *reason = apply(commit, &mods);
    if (reason) {
        note_refusal(commit, reason);
    }
    mods_uninit(&mods);
}

/* Adds the steps of the next version, or of the last ones those that the next
 * version takes back.  Returns how many. */
static size_t
mods_add_slice(struct commit_mods *mods, const struct adp_commit *commit,
               bool back)
{
    size_t max = MIN(commit->slice, (back ? commit->n_done
                                     : commit->n_steps - commit->n_done));
    size_t n_parts = 0, n;

    mods_init(mods, max);
    for (n = 0; n < max && n_parts < SLICE_PARTS; n++) {
        const struct slice_step *step
            = &commit->steps[back ? commit->n_done - 1 - n
                             : commit->n_done + n];

        n_parts += mods_add_step(mods, commit, step,
                                 back ? step->before : step->goal);
    }
    return n;
}

/* Applies the next steps. */
static void
run_forward(struct adp_commit *commit)
{
    struct commit_mods mods;
    size_t n = mods_add_slice(&mods, commit, false);

    char *reason = apply(commit, &mods);
    if (reason) {
        note_refusal(commit, reason);
    } else {
        commit->n_done += n;
    }
    mods_uninit(&mods);
    commit->over = commit->n_done >= commit->n_steps;
}

/* Takes back the last steps that were done. */
static void
run_back(struct adp_commit *commit)
{
    struct commit_mods mods;
    size_t n = mods_add_slice(&mods, commit, true);

    char *reason = n ? apply(commit, &mods) : NULL;
    if (reason) {
        note_refusal(commit, reason);
    }
    mods_uninit(&mods);
    commit->n_done -= n;
    commit->over = !commit->n_done;
}

/* One version.  Each version is applied whole or not at all. */
static void
run_some(struct adp_commit *commit)
{
    if (commit->error) {
        run_back(commit);
    } else if (commit->slice) {
        if (!commit->steps) {
            make_steps(commit);
        }
        run_forward(commit);
    } else {
        run_whole(commit);
    }
}

bool
adp_commit_run(struct adp_commit *commit, struct adp_turn_slice *slice)
{
    while (!commit->over && adp_turn_slice_goes_on(slice)) {
        run_some(commit);
    }
    return commit->over;
}

struct adp_error *
adp_commit_take_error(struct adp_commit *commit)
{
    struct adp_error *error = commit->error;

    commit->error = NULL;
    return error;
}

bool
adp_commit_is_taken_back(const struct adp_commit *commit)
{
    return commit->error != NULL;
}

size_t
adp_commit_count(const struct adp_commit *commit, size_t *n_done)
{
    size_t n = commit->n_steps ? commit->n_steps : count_changes(commit);

    *n_done = commit->over && !commit->error ? n : commit->n_done;
    return n;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* From a transaction's images to flow mods and group mods. */

#include <config.h>
#include "pipeline-desired.h"
#include "pipeline-desired-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "byte-order.h"
#include "model-pause.h"
#include "model.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofpbuf.h"
#include "util.h"

static void
put_change(struct adp_change **changes, size_t *n, size_t *allocated,
           const struct adp_change *change)
{
    if (*n >= *allocated) {
        *changes = x2nrealloc(*changes, allocated, sizeof **changes);
    }
    (*changes)[(*n)++] = *change;
}

/* Two flows want the same table, priority and match? */
static struct adp_error *
check_flow(const struct adp_desired *desired, const struct desired_flow *flow,
           const struct ofputil_table_map *tables)
{
    const struct desired_flow *twin = adp_desired_flow_twin(desired, flow,
                                                            true);

    if (!twin) {
        return NULL;
    }

    char *text = adp_desired_flow_to_string(flow, tables);
    char *other = adp_desired_flow_to_string(twin, tables);
    struct adp_error *error = adp_error_create(
        "invalid", NULL, NULL, "records contradict each other: they ask for "
        "flow \"%s\" and, with the same match, for \"%s\"", other, text);
    free(other);
    free(text);
    return error;
}

/* May 'b' take the place of 'a' in the bridge with a modification? */
static bool
is_modification(const struct desired_flow *a, const struct desired_flow *b)
{
    static const struct desired_terms no_terms;
    const struct desired_terms *at
        = a->has_clauses ? &no_terms : &a->actions->terms;
    const struct desired_terms *bt
        = b->has_clauses ? &no_terms : &b->actions->terms;

    return adp_desired_terms_equal(at, bt);
}

/* Sets '*change' to what 'flow' makes necessary, if anything. */
static bool
flow_change(const struct adp_desired *desired, struct desired_flow *flow,
            enum adp_scope scope, struct adp_change *change)
{
    bool bare = desired->bare || scope == ADP_CHANGES_AFRESH;
    bool was = !bare && adp_desired_flow_was(desired, flow);
    struct desired_flow *twin = NULL;

    if (flow->image && !bare) {
        twin = adp_desired_flow_twin(desired, flow, !flow->n_refs);
    }
    *change = (struct adp_change) { .thing = flow, .twin = twin };
    if (!flow->n_refs) {
        change->twin = NULL;
        change->kind = ADP_CHANGE_DELETE;
        return was && !twin;
    }
    if (scope != ADP_CHANGES_ONLY || (!was && !twin)) {
        change->kind = ADP_CHANGE_ADD;
        return true;
    }
    if (was) {
        change->kind = ADP_CHANGE_MODIFY;
        return (flow->has_clauses
                && !adp_desired_clauses_equal(
                    flow->clauses, adp_desired_clauses_before(desired, flow)));
    }
    change->kind = (is_modification(twin, flow)
                    ? ADP_CHANGE_MODIFY : ADP_CHANGE_ADD);
    return true;
}

/* The same for groups. */
static bool
group_change(const struct adp_desired *desired, struct desired_group *group,
             enum adp_scope scope, struct adp_change *change,
             struct adp_error **errorp)
{
    bool bare = desired->bare || scope == ADP_CHANGES_AFRESH;
    bool was = !bare && adp_desired_group_was(desired, group);
    struct desired_group *other, *before = NULL, *now = NULL;

    HMAP_FOR_EACH_WITH_HASH (other, node, group->node.hash,
                             &desired->groups) {
        if (other != group && other->group_id == group->group_id) {
            now = other->n_refs ? other : now;
            before = (!bare && adp_desired_group_was(desired, other)
                      ? other : before);
        }
    }

    *change = (struct adp_change) { .thing = group };
    if (!group->n_refs) {
        change->kind = ADP_CHANGE_DELETE;
        return was && !now;
    }
    if (now && !*errorp) {
        *errorp = adp_error_create(
            "internal", NULL, NULL, "group %"PRIu32": another group has the "
            "same ID", group->group_id);
    }
    change->kind = ADP_CHANGE_ADD;
    change->twin = before;
    return scope != ADP_CHANGES_ONLY || !was;
}

struct adp_error *
adp_desired_get_changes(struct adp_desired *desired, enum adp_scope scope,
                        const struct ofputil_table_map *tables,
                        struct adp_changes *changes)
{
    struct adp_error *error = desired->error;
    size_t allocated_flows = 0;
    size_t allocated_groups = 0;
    struct desired_flow *flow;
    struct desired_group *group;
    struct adp_change change;

    ovs_assert(!desired->n_withdrawals);
    *changes = (struct adp_changes) { .flows = NULL };
    desired->error = NULL;
    for (size_t i = 0; i < desired->n_flow_images && !error; i++) {
        flow = desired->flow_images[i].flow;
        if (flow->n_refs) {
            error = check_flow(desired, flow, tables);
        }
        if (flow_change(desired, flow, scope, &change)) {
            put_change(&changes->flows, &changes->n_flows, &allocated_flows,
                       &change);
        }
        adp_pause();
    }
    for (size_t i = 0; i < desired->n_group_images && !error; i++) {
        group = desired->group_images[i].group;
        if (group_change(desired, group, scope, &change, &error)) {
            put_change(&changes->groups, &changes->n_groups,
                       &allocated_groups, &change);
        }
    }
    if (scope == ADP_CHANGES_ONLY || error) {
        return error;
    }

    /* What stays as it is. */
    for (size_t i = 0; i < DESIRED_N_TABLES; i++) {
        HMAP_FOR_EACH (flow, node, &desired->flows[i]) {
            if (!flow->image && flow_change(desired, flow, scope, &change)) {
                put_change(&changes->flows, &changes->n_flows,
                           &allocated_flows, &change);
            }
            adp_pause();
        }
    }
    HMAP_FOR_EACH (group, node, &desired->groups) {
        if (!group->image
            && group_change(desired, group, scope, &change, &error)) {
            put_change(&changes->groups, &changes->n_groups,
                       &allocated_groups, &change);
        }
    }
    return error;
}

void
adp_changes_uninit(struct adp_changes *changes)
{
    free(changes->flows);
    free(changes->groups);
}

/* Mods. */

static void
flow_mod_init(struct ofputil_flow_mod *fm, const struct desired_flow *flow,
              uint16_t command)
{
    *fm = (struct ofputil_flow_mod) {
        .command = command,
        .priority = flow->priority,
        .table_id = flow->table_id,
        .buffer_id = UINT32_MAX,
        .out_port = OFPP_ANY,
        .out_group = OFPG_ANY,
    };
    adp_desired_flow_match(flow, &fm->match);
}

static void
flow_mod_set_content(struct ofputil_flow_mod *fm,
                     const struct desired_flow *flow,
                     const struct desired_clauses *a,
                     const struct desired_clauses *b)
{
    fm->new_cookie = htonll(flow->cookie);
    fm->modify_cookie = fm->command == OFPFC_MODIFY_STRICT;
    if (flow->has_clauses) {
        struct ofpbuf ofpacts;

        ofpbuf_init(&ofpacts, 0);
        adp_desired_clauses_put(a, b, &ofpacts);
        fm->ofpacts_len = ofpacts.size;
        fm->ofpacts = ofpbuf_steal_data(&ofpacts);
    } else {
        const struct desired_actions *actions = flow->actions;

        fm->ofpacts_len = actions->len;
        fm->ofpacts = (actions->len
                       ? xmemdup(actions->ofpacts, actions->len) : NULL);
        fm->ofpacts_tlv_bitmap = actions->tlv_bitmap;
        fm->idle_timeout = actions->terms.idle_timeout;
        fm->hard_timeout = actions->terms.hard_timeout;
        fm->importance = actions->terms.importance;
        fm->flags = actions->terms.flags;
    }
}

static void
flow_mod_delete(struct ofputil_flow_mod *fm, const struct desired_flow *flow)
{
    flow_mod_init(fm, flow, OFPFC_DELETE_STRICT);
    fm->cookie = htonll(flow->cookie);
    fm->cookie_mask = OVS_BE64_MAX;
}

/* Makes 'flow' what it was before the transaction, or takes it away if 'flow'
 * wasn't there. */
static void
flow_mod_restore(const struct adp_desired *desired,
                 const struct desired_flow *flow, enum adp_change_kind kind,
                 struct ofputil_flow_mod *fm)
{
    if (!desired->bare && adp_desired_flow_was(desired, flow)) {
        const struct desired_clauses *before
            = (flow->has_clauses ? adp_desired_clauses_before(desired, flow)
               : NULL);

        flow_mod_init(fm, flow, (kind == ADP_CHANGE_MODIFY
                                 ? OFPFC_MODIFY_STRICT : OFPFC_ADD));
        flow_mod_set_content(fm, flow, before, NULL);
    } else {
        flow_mod_delete(fm, flow);
    }
}

/* The clauses that the changed flow had. */
static const struct desired_clauses *
change_before(const struct adp_desired *desired,
              const struct adp_change *change)
{
    const struct desired_flow *before
        = change->twin ? change->twin : change->thing;

    return (before->has_clauses
            ? adp_desired_clauses_before(desired, before) : NULL);
}

void
adp_change_to_flow_mod(const struct adp_desired *desired,
                       const struct adp_change *change, enum adp_goal goal,
                       struct ofputil_flow_mod *fm)
{
    const struct desired_flow *flow = change->thing;

    if (goal == ADP_GOAL_OLD) {
        flow_mod_restore(desired, change->twin ? change->twin : flow,
                         change->kind, fm);
    } else if (change->kind == ADP_CHANGE_DELETE) {
        flow_mod_delete(fm, flow);
    } else {
        const struct desired_clauses *now
            = flow->has_clauses ? flow->clauses : NULL;
        const struct desired_clauses *before
            = goal == ADP_GOAL_BOTH ? change_before(desired, change) : NULL;

        flow_mod_init(fm, flow, (change->kind == ADP_CHANGE_MODIFY
                                 ? OFPFC_MODIFY_STRICT : OFPFC_ADD));
        flow_mod_set_content(fm, flow, now, before);
    }
}

void
adp_flow_mod_uninit(struct ofputil_flow_mod *fm)
{
    minimatch_destroy(&fm->match);
    free(fm->ofpacts);
}

enum adp_clause_change
adp_change_clauses(const struct adp_desired *desired,
                   const struct adp_change *change)
{
    const struct desired_flow *flow = change->thing;

    if (change->kind == ADP_CHANGE_DELETE || !flow->has_clauses
        || desired->bare) {
        return ADP_CLAUSES_COME;
    }

    const struct desired_clauses *before = change_before(desired, change);
    bool come = (change->kind == ADP_CHANGE_ADD
                 || !adp_desired_clauses_within(flow->clauses, before));
    bool go = !adp_desired_clauses_within(before, flow->clauses);
    return come && go ? ADP_CLAUSES_BOTH : go ? ADP_CLAUSES_GO
           : ADP_CLAUSES_COME;
}

size_t
adp_change_n_clauses(const struct adp_desired *desired,
                     const struct adp_change *change)
{
    const struct desired_flow *flow = change->thing;
    const struct desired_clauses *before = change_before(desired, change);

    return ((before ? before->n : 0)
            + (flow->has_clauses && flow->clauses ? flow->clauses->n : 0));
}

size_t
adp_change_n_buckets(const struct adp_change *change)
{
    const struct desired_group *group = change->thing;

    return (change->kind == ADP_CHANGE_DELETE ? 0
            : ovs_list_size(&group->buckets));
}

struct adp_change_place
adp_change_place(const struct adp_change *change)
{
    const struct desired_flow *flow = change->thing;

    return (struct adp_change_place) {
        .table_id = flow->table_id,
        .priority = flow->priority,
        .match_hash = adp_desired_flow_match_hash(flow),
        .has_clauses = flow->has_clauses,
        .conj_id = adp_desired_flow_conj_id(flow),
    };
}

void
adp_change_to_group_mod(const struct adp_desired *desired,
                        const struct adp_change *change, enum adp_goal goal,
                        struct ofputil_group_mod *gm)
{
    const struct desired_group *group = change->thing;
    bool deletes = change->kind == ADP_CHANGE_DELETE;

    if (goal == ADP_GOAL_OLD) {
        group = change->twin ? change->twin : group;
        deletes = !adp_desired_group_was(desired, group);
    }
    *gm = (struct ofputil_group_mod) {
        .command = deletes ? OFPGC11_DELETE : OFPGC11_ADD_OR_MOD,
        .type = group->type,
        .group_id = group->group_id,
        .command_bucket_id = OFPG15_BUCKET_ALL,
    };
    ovs_list_init(&gm->buckets);
    if (!deletes) {
        ofputil_bucket_clone_list(&gm->buckets, &group->buckets, NULL);
        ofputil_group_properties_copy(&gm->props, &group->props);
    }
}

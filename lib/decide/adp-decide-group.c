/* SPDX-License-Identifier: Apache-2.0 */

/* Groups in the walk. */

#include <config.h>
#include "adp-decide-private.h"
#include "adp-key.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-group.h"

/* How far liveness may lead from group to group. */
#define MAX_LIVENESS_DEPTH 128

static void
add_group_hit(struct adp_decide_walk *w, uint32_t group_id)
{
    adp_decide_add_hit(w, &(struct adp_hit) {
        .kind = ADP_HIT_GROUP,
        .bucket = group_id,
    });
}

static bool
bucket_is_live(struct adp_decide_walk *w, const struct adp_group *group,
               const struct adp_bucket *bucket, int depth)
{
    const struct adp_env_class *class = w->env->class;

    if (group->type == OFPGT11_SELECT && !bucket->weight) {
        return false;
    }
    if (bucket->watch_port == OFPP_ANY && bucket->watch_group == OFPG_ANY) {
        return true;
    }
    if (bucket->watch_port != OFPP_ANY
        && class->port_is_live(w->env, bucket->watch_port)) {
        return true;
    }
    if (bucket->watch_group != OFPG_ANY && depth < MAX_LIVENESS_DEPTH) {
        const struct adp_group *watched
            = adp_program_get_group(w->program, bucket->watch_group);

        add_group_hit(w, bucket->watch_group);
        for (size_t i = 0; watched && i < watched->n_buckets; i++) {
            if (bucket_is_live(w, watched, &watched->buckets[i], depth + 1)) {
                return true;
            }
        }
    }
    return false;
}

static uint32_t
first_live_bucket(struct adp_decide_walk *w, const struct adp_group *group)
{
    for (size_t i = 0; i < group->n_buckets; i++) {
        if (bucket_is_live(w, group, &group->buckets[i], 0)) {
            return i;
        }
    }
    return UINT32_MAX;
}

static uint32_t
select_by_score(struct adp_decide_walk *w, const struct adp_group *group,
                uint32_t hash)
{
    uint32_t best = UINT32_MAX;
    uint32_t best_score = 0;

    for (size_t i = 0; i < group->n_buckets; i++) {
        const struct adp_bucket *bucket = &group->buckets[i];

        if (bucket_is_live(w, group, bucket, 0)) {
            uint32_t score = adp_group_hash_score(hash, bucket->bucket_id,
                                                  bucket->weight);

            if (score >= best_score) {
                best = i;
                best_score = score;
            }
        }
    }
    return best;
}

/* From a dead bucket goes on to the slots that follow, which spreads its share
 * over the others.  Where these are dead, too, each bucket is asked once, for
 * there may be thousands of slots and no bucket that lives. */
static uint32_t
select_by_slots(struct adp_decide_walk *w, const struct adp_group *group,
                uint32_t hash)
{
    enum { MAX_PROBES = 16 };
    size_t slot;

    if (!group->n_slots) {
        return UINT32_MAX;
    }
    slot = hash % group->n_slots;
    for (size_t n = 0; n < MAX_PROBES; n++) {
        uint32_t i = adp_group_slot(group, slot);

        if (bucket_is_live(w, group, &group->buckets[i], 0)) {
            return i;
        }
        slot = slot + 1 < group->n_slots ? slot + 1 : 0;
    }
    return select_by_score(w, group, hash);
}

/* Returns false, and punts, if it can't be known. */
static bool
select_bucket(struct adp_decide_walk *w, const struct adp_group *group,
              const struct ofpact *a, uint32_t *bucket)
{
    const struct adp_env_class *class = w->env->class;
    bool by_slots = adp_group_hash_is_by_slots(&group->hash);
    enum adp_punt punt = ADP_PUNT_NONE;

    *bucket = UINT32_MAX;
    if (by_slots && group->n_slots && class->choose) {
        punt = class->choose(w->env, group, w->flow, bucket);
    }
    if (punt) {
        adp_decide_punt(w, punt, a);
    } else if (*bucket == UINT32_MAX) {
        uint32_t hash = adp_group_hash(&group->hash, w->flow);

        *bucket = (by_slots ? select_by_slots(w, group, hash)
                   : select_by_score(w, group, hash));
    }
    return !punt;
}

uint32_t
adp_group_select(const struct adp_group *group, const struct flow *flow,
                 bool *watched)
{
    uint32_t i;

    *watched = false;
    if (!group->n_slots) {
        return UINT32_MAX;
    }
    i = adp_group_slot(group, (adp_group_hash(&group->hash, flow)
                               % group->n_slots));
    *watched = group->watches;
    return i;
}

void
adp_group_prefetch(const struct adp_group *group, const struct flow *flow)
{
    if (group->n_slots) {
        size_t slot = adp_group_hash(&group->hash, flow) % group->n_slots;

        OVS_PREFETCH((const char *) group->narrow_slots
                     + slot * adp_group_slot_size(group));
    }
}

/* Notes which bucket the packet's hash chose.  What is chosen by score depends
 * on what the program reads, as it is told in 'reads', alone. */
static void
note_select(struct adp_decide_walk *w, const struct adp_group *group,
            uint32_t bucket)
{
    struct adp_verdict *v = w->verdict;

    if (adp_group_hash_is_by_slots(&group->hash) && !v->n_selects++) {
        v->select.group = group;
        v->select.bucket = bucket;
        v->select.key_hash = adp_key_hash(w->flow, 0);
        v->select.n_cts = v->n_cts;
    }
}

static void
trace_group(const struct adp_decide_walk *w, enum adp_trace_type type,
            uint32_t group_id, const struct adp_group *group, uint32_t bucket)
{
    if (adp_decide_traces(w)) {
        adp_decide_trace(w, &(struct adp_trace_event) {
            .type = type,
            .group = {
                .group_id = group_id,
                .exists = group != NULL,
                .group = group,
                .bucket = bucket,
            },
        });
    }
}

static void
walk_bucket(struct adp_decide_walk *w, const struct adp_group *group,
            uint32_t i, bool last)
{
    struct adp_decide_place place = w->place;

    trace_group(w, ADP_TRACE_BUCKET, group->group_id, group, i);
    w->level++;
    w->place.depth++;
    adp_decide_ops(w, &group->buckets[i].ops, last);
    w->level--;
    w->place = place;

    /* "exit" in a bucket ends the bucket. */
    w->stop = w->verdict->punt != ADP_PUNT_NONE;
}

/* For a bucket after which the packet goes on: as it was. */
static void ADP_OUT_OF_LINE
walk_bucket_and_restore(struct adp_decide_walk *w,
                        const struct adp_group *group, uint32_t i)
{
    struct flow saved_flow = *w->flow;

    walk_bucket(w, group, i, false);
    *w->flow = saved_flow;
    w->dirty = true;
}

static void
walk_all_buckets(struct adp_decide_walk *w, const struct adp_group *group,
                 bool last)
{
    for (size_t i = 0; i < group->n_buckets && !w->stop; i++) {
        if (last && i + 1 == group->n_buckets) {
            walk_bucket(w, group, i, true);
        } else {
            walk_bucket_and_restore(w, group, i);
        }
    }
}

static void
add_hit(struct adp_decide_walk *w, const struct adp_group *group,
        uint32_t bucket)
{
    adp_decide_add_hit(w, &(struct adp_hit) {
        .kind = ADP_HIT_BUCKET,
        .bucket = bucket,
        .group = CONST_CAST(struct adp_group *, group),
    });
}

bool
adp_decide_group(struct adp_decide_walk *w, const struct adp_op *op, bool last)
{
    uint32_t group_id = ofpact_get_GROUP(op->ofpact)->group_id;
    const struct adp_group *group;
    uint32_t bucket;

    if (!adp_decide_may_go_on(w)) {
        return true;
    }

    group = adp_program_get_group(w->program, group_id);
    if (!group) {
        add_group_hit(w, group_id);
        trace_group(w, ADP_TRACE_GROUP, group_id, NULL, 0);
        return false;
    }

    if (group->type == OFPGT11_ALL || group->type == OFPGT11_INDIRECT) {
        walk_all_buckets(w, group, last);
        add_hit(w, group, ADP_BUCKET_ALL);
        return true;
    }

    if (group->takes_pass && !w->hashed) {
        if (adp_decide_has_hidden_headers(w)) {
            adp_decide_punt(w, ADP_PUNT_ACTION, op->ofpact);
            return true;
        }
        if (!adp_decide_break_pass(w, false, op->ofpact)) {
            return true;
        }
        w->hashed = true;       /* For later groups, too. */
        adp_decide_begin_pass(w);
    }
    if (group->type != OFPGT11_SELECT) {
        bucket = first_live_bucket(w, group);
    } else if (select_bucket(w, group, op->ofpact, &bucket)) {
        note_select(w, group, bucket);
    } else {
        return true;
    }
    if (bucket == UINT32_MAX) {
        add_group_hit(w, group_id);
        trace_group(w, ADP_TRACE_GROUP, group_id, group, 0);
    } else {
        add_hit(w, group, bucket);
        if (last) {
            walk_bucket(w, group, bucket, true);
        } else {
            walk_bucket_and_restore(w, group, bucket);
        }
    }
    return true;
}

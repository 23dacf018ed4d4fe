/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-stage.h"

#include "coverage.h"
#include "openvswitch/json.h"
#include "util.h"

COVERAGE_DEFINE(adp_control_stage_full);

void
adp_control_stage_init(struct adp_control_stage *stage,
                       struct adp_control_stage_pool *pool)
{
    *stage = (struct adp_control_stage) { .pool = pool };
}

void
adp_control_stage_clear(struct adp_control_stage *stage)
{
    struct adp_control_stage_pool *pool = stage->pool;

    if (pool->discard && stage->cost) {
        pool->discard(stage->delete, 0, NULL);
        pool->discard(stage->apply, stage->cost, &pool->cost);
    } else {
        json_destroy(stage->apply);
        json_destroy(stage->delete);
        pool->cost -= stage->cost;
    }
    adp_control_stage_init(stage, pool);
}

static size_t
array_n(const struct json *array)
{
    return array ? array->array.n : 0;
}

size_t
adp_control_stage_n(const struct adp_control_stage *stage)
{
    return array_n(stage->apply) + array_n(stage->delete);
}

/* Appends the elements of 'from', if that isn't NULL, to '*to', which is made
 * if there is none. */
static void
append(struct json **to, const struct json *from)
{
    if (from && !*to) {
        *to = json_array_create_empty();
    }
    for (size_t i = 0; i < array_n(from); i++) {
        json_array_add(*to, json_clone(from->array.elems[i]));
    }
}

bool
adp_control_stage_add(struct adp_control_stage *stage,
                      const struct json *apply, const struct json *delete,
                      uint64_t cost)
{
    struct adp_control_stage_pool *pool = stage->pool;

    if (cost > pool->max_cost || pool->cost > pool->max_cost - cost) {
        COVERAGE_INC(adp_control_stage_full);
        return false;
    }
    append(&stage->apply, apply);
    append(&stage->delete, delete);
    stage->cost += cost;
    pool->cost += cost;
    return true;
}

void
adp_control_stage_take(struct adp_control_stage *stage,
                       const struct json *given_apply,
                       const struct json *given_delete,
                       struct json **apply, struct json **delete)
{
    *apply = stage->apply;
    *delete = stage->delete;
    stage->pool->cost -= stage->cost;
    adp_control_stage_init(stage, stage->pool);
    append(apply, given_apply);
    append(delete, given_delete);
}

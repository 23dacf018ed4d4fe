/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state-meters.h"

#include <inttypes.h>
#include <stdlib.h>

#include "adp-bridge.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_state_meters);

static bool
is_equal(const struct adp_bandwidth *a, const struct adp_bandwidth *b)
{
    return a->rate == b->rate && a->burst == b->burst;
}

/* Undoes the changes of meters below 'end'. */
static void
undo_below(struct adp_bridge *bridge, const struct adp_meters *now,
           const struct adp_meters *next, uint32_t end)
{
    for (uint32_t id = 1; id < end; id++) {
        const struct adp_bandwidth *old = &now->limits[id];
        const struct adp_bandwidth *new = &next->limits[id];
        char *reason = NULL;

        if (!new->rate || is_equal(old, new)) {
            continue;
        }
        if (old->rate) {
            reason = adp_bridge_set_meter(bridge, id, old->rate, old->burst);
        } else {
            adp_bridge_delete_meter(bridge, id);
        }
        if (reason) {
            static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

            VLOG_ERR_RL(&rl, "bridge %s: can't give meter %"PRIu32" back its "
                        "rate: %s", adp_bridge_name(bridge), id, reason);
            free(reason);
        }
    }
}

struct adp_error *
adp_state_meters_grow(struct adp_bridge *bridge, const struct adp_meters *now,
                      const struct adp_meters *next, bool all)
{
    for (uint32_t id = 1; id < ADP_N_METERS; id++) {
        const struct adp_bandwidth *new = &next->limits[id];
        char *reason = NULL;

        if (new->rate && (all || !is_equal(&now->limits[id], new))) {
            reason = adp_bridge_set_meter(bridge, id, new->rate, new->burst);
        }
        if (reason) {
            struct adp_error *error = adp_error_create(
                "internal", NULL, NULL, "bridge %s refused meter %"PRIu32
                ": %s", adp_bridge_name(bridge), id, reason);

            free(reason);
            undo_below(bridge, now, next, id);
            return error;
        }
    }
    return NULL;
}

void
adp_state_meters_shrink(struct adp_bridge *bridge,
                        const struct adp_meters *before,
                        const struct adp_meters *now)
{
    for (uint32_t id = 1; id < ADP_N_METERS; id++) {
        if (before->limits[id].rate && !now->limits[id].rate) {
            adp_bridge_delete_meter(bridge, id);
        }
    }
}

void
adp_state_meters_undo(struct adp_bridge *bridge, const struct adp_meters *now,
                      const struct adp_meters *next)
{
    undo_below(bridge, now, next, ADP_N_METERS);
}

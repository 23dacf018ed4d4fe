/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-hold.h"

#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "util.h"

static void
end(struct adp_control_hold *hold, long long int now)
{
    hold->next = now + (now - hold->since);
    hold->holder = hold->state = NULL;
}

static void
expire(struct adp_control_hold *hold, long long int now)
{
    if (hold->holder && now >= hold->until) {
        end(hold, hold->until);
    }
}

bool
adp_control_hold_take(struct adp_control_hold *hold, const void *holder,
                      const void *state, long long int now)
{
    expire(hold, now);
    if (hold->holder) {
        return hold->holder == holder && hold->state == state;
    }
    if (now < hold->next) {
        return false;
    }
    *hold = (struct adp_control_hold) {
        .holder = holder,
        .state = state,
        .since = now,
        .until = now + ADP_CONTROL_HOLD_MS,
    };
    return true;
}

void
adp_control_hold_end(struct adp_control_hold *hold, const void *holder,
                     long long int now)
{
    if (hold->holder == holder) {
        end(hold, MIN(now, hold->until));
    }
}

bool
adp_control_hold_stops(struct adp_control_hold *hold, const void *client,
                       const void *state, long long int now)
{
    expire(hold, now);
    return hold->holder && hold->holder != client && hold->state == state;
}

void
adp_control_hold_wait(const struct adp_control_hold *hold)
{
    if (hold->holder) {
        poll_timer_wait_until(hold->until);
    } else if (hold->next) {
        /* Somebody may wait for the end of the last one, or for the next. */
        long long int now = time_msec();

        if (now <= hold->next) {
            poll_timer_wait_until(MIN(hold->next, now + 1));
        }
    }
}

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

/* The holder gets an answer. */
static void
renew(struct adp_control_hold *hold)
{
    hold->until = hold->since + ADP_CONTROL_HOLD_MAX_MS;
    hold->unread = true;
}

bool
adp_control_hold_take(struct adp_control_hold *hold, const void *holder,
                      const void *state, size_t n_records, long long int now)
{
    expire(hold, now);
    if (!hold->holder && now >= hold->next) {
        *hold = (struct adp_control_hold) {
            .holder = holder,
            .state = state,
            .since = now,
        };
    }
    if (hold->holder != holder || hold->state != state) {
        return false;
    }
    hold->patience = (ADP_CONTROL_HOLD_MS
                      + n_records / ADP_CONTROL_HOLD_RECORDS);
    renew(hold);
    return true;
}

void
adp_control_hold_answer(struct adp_control_hold *hold, const void *client,
                        long long int now)
{
    expire(hold, now);
    if (hold->holder == client) {
        renew(hold);
    }
}

void
adp_control_hold_read(struct adp_control_hold *hold, const void *client,
                      long long int now)
{
    if (hold->holder == client && hold->unread) {
        hold->until = MIN(hold->until, now + hold->patience);
        hold->unread = false;
    }
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
    if (hold->holder && hold->unread) {
        /* A reply that was sent at once wakes nobody to see that it was. */
        poll_timer_wait_until(MIN(hold->until, time_msec() + 1));
    } else if (hold->holder) {
        poll_timer_wait_until(hold->until);
    } else if (hold->next) {
        /* Somebody may wait for the end of the last one, or for the next. */
        long long int now = time_msec();

        if (now <= hold->next) {
            poll_timer_wait_until(MIN(hold->next, now + 1));
        }
    }
}

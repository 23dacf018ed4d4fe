/* SPDX-License-Identifier: Apache-2.0 */

/* What packet threads leave for the main thread: counters.
 *
 * They are folded into OpenFlow's at every turn of the main loop before flows
 * expire and before OpenFlow requests are answered, so that what dump-flows
 * prints includes every packet handled before the request. */

#include <config.h>
#include "adp-fold.h"

#include "adp-bridge-shared.h"
#include "adp-cached.h"
#include "adp-credit.h"
#include "adp-install.h"
#include "adp-tunnel.h"
#include "adp-turn.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"

#define FOLD_INTERVAL_MS 1000

void
adp_fold_run(struct adp_bridge *b)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COUNTERS);

    adp_cached_fold(b);
    adp_install_run(b);                 /* They may have counters already. */
    adp_credit_run(b);
    adp_turn_enter(ADP_TURN_TUNNELS);
    adp_tunnels_run(b->tunnels);
    adp_turn_leave(outer);
    b->next_fold = time_msec() + FOLD_INTERVAL_MS;
}

void
adp_fold_wait(struct adp_bridge *b)
{
    adp_install_wait(b);
    poll_timer_wait_until(b->next_fold);
}

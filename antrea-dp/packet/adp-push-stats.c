/* SPDX-License-Identifier: Apache-2.0 */

/* What packet threads leave for the main thread: counters.
 *
 * They are pushed into OpenFlow's at every turn of the main loop before flows
 * expire and before OpenFlow requests are answered.  Where much was counted
 * that takes more than one turn.  Who asks for counters waits until a
 * collection that began after that is credited, so that what dump-flows prints
 * includes every packet handled before the request; and flows expire by what
 * was known when the last collection that is credited began.
 *
 * Packet threads pay, too: what was collected comes back to their caches with
 * the next packet, and is put on a list once more.  So a large collection is
 * followed by a rest, unless somebody waits for the next one, and all take no
 * more than about a tenth of the time. */

#include <config.h>
#include "adp-push-stats.h"

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-credit.h"
#include "adp-install.h"
#include "adp-tunnel.h"
#include "adp-turn.h"
#include "openvswitch/poll-loop.h"
#include "ovs-thread.h"
#include "timeval.h"

#define PUSH_INTERVAL_MS 1000

/* Verdicts after which the clock is looked at: some 0.1 ms. */
#define PUSH_STEP 64

/* A collection of more steps than this is the last to begin for a millisecond
 * a step, and PUSH_INTERVAL_MS at most. */
#define STEPS_WITHOUT_REST 16

/* The present collection, the last that has come to an end, and the last that
 * somebody waits for. */
static bool incomplete;              /* As of the last run. */
static bool had_slice;               /* In this turn. */
static bool goes_on;                 /* The turn hasn't had a whole one. */
static bool began_in_this_run;
static struct adp_collected present;
static struct adp_collected collected;
static uint64_t n_wanted;
static size_t n_steps;
static long long int rests_until_ms;

static void
begin_collection(void)
{
    began_in_this_run = true;
    present.n++;
    present.until_ms = time_msec();
    n_steps = 0;
}

static void
end_collection(void)
{
    collected = present;
    if (n_steps > STEPS_WITHOUT_REST) {
        rests_until_ms = present.until_ms + MIN(n_steps, PUSH_INTERVAL_MS);
    }
}

/* Between two collections, a rest that isn't over. */
static bool
rests(const struct adp_collector *c)
{
    return (!adp_collector_is_amid(c) && present.n >= n_wanted
            && time_msec() < rests_until_ms);
}

/* Credits what packet threads counted, as far as the slice permits: the rest
 * of a collection that was begun in an earlier run, then a whole one, unless
 * none is to begin yet. */
static void
collect(struct adp_turn_slice *slice)
{
    struct adp_collector *c = adp_cached_verdict_collector();

    incomplete = true;
    while (incomplete && adp_turn_slice_goes_on(slice)) {
        bool is_rest = adp_collector_is_amid(c) && !began_in_this_run;

        if (rests(c)) {
            if (adp_collector_release(c, PUSH_STEP)) {
                break;
            }
            continue;
        }
        if (!adp_collector_is_amid(c)) {
            begin_collection();
        }
        n_steps++;
        if (adp_collector_run(c, PUSH_STEP)) {
            end_collection();
            incomplete = is_rest;
        }
    }
    began_in_this_run = false;
}

void
adp_push_stats_collect(void)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COUNTERS);
    struct adp_turn_slice slice;

    if (had_slice) {
        adp_turn_slice_init_rest(&slice);
    } else {
        adp_turn_slice_init(&slice);
        goes_on = had_slice = true;
    }
    collect(&slice);
    goes_on = (goes_on && incomplete
               && !rests(adp_cached_verdict_collector()));
    adp_turn_leave(outer);
}

void
adp_push_stats_run(struct adp_bridge *b)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COUNTERS);

    adp_install_run(b);                 /* They may have counters already. */
    adp_credit_run(b, collected);
    adp_turn_enter(ADP_TURN_TUNNELS);
    adp_tunnels_run(b);
    adp_turn_leave(outer);
    b->next_push = time_msec() + PUSH_INTERVAL_MS;
}

void
adp_push_stats_begin(void)
{
    had_slice = false;
    if (!adp_bridge_next(NULL)) {
        adp_push_stats_collect();
    }
}

void
adp_push_stats_begin_wait(void)
{
    if (!adp_bridge_next(NULL) && goes_on) {
        poll_immediate_wake();
    }
}

uint64_t
adp_push_stats_ask(void)
{
    n_wanted = present.n + 1;
    return n_wanted;
}

bool
adp_push_stats_has(const struct adp_bridge *b, uint64_t asked)
{
    return adp_credit_known(b).n >= asked;
}

void
adp_push_stats_wait(struct adp_bridge *b)
{
    adp_install_wait(b);
    adp_tunnels_wait(b);
    poll_timer_wait_until(b->next_push);
    if (goes_on || adp_credit_is_amid(b) || !adp_push_stats_has(b, n_wanted)) {
        poll_immediate_wake();
    }
}

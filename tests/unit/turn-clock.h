/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_TURN_CLOCK_H
#define TESTS_TURN_CLOCK_H 1

/* The clock of turns and slices, in microseconds, which stands still unless a
 * test sets it forward. */

#include "adp-turn.h"

static long long int now;

static long long int
get_now(void)
{
    return now;
}

/* A test's set-up. */
static void
start_clock(void)
{
    now = 1000000;
    adp_turn_set_clock(get_now);
}

#endif /* turn-clock.h */

/* SPDX-License-Identifier: Apache-2.0 */

/* Clients that hold a state: who waits, and for how long at the most. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "adp-control-hold.h"
#include "test-run.h"

static const char state, other_state;
static const char cli, other_cli, feeder;

START_TEST(others_wait_until_it_ends)
{
    struct adp_control_hold hold = { .holder = NULL };

    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, 1000));
    ck_assert(adp_control_hold_take(&hold, &cli, &state, 1000));
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, 1000));
    ck_assert(!adp_control_hold_stops(&hold, &cli, &state, 1000));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &other_state, 1000));

    /* Another question belongs to it. */
    ck_assert(adp_control_hold_take(&hold, &cli, &state, 1100));

    adp_control_hold_end(&hold, &feeder, 1200);
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, 1200));
    adp_control_hold_end(&hold, &cli, 1200);
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, 1200));
}
END_TEST

START_TEST(it_ends_by_itself)
{
    struct adp_control_hold hold = { .holder = NULL };
    const long long int end = 1000 + ADP_CONTROL_HOLD_MS;

    ck_assert(adp_control_hold_take(&hold, &cli, &state, 1000));
    ck_assert(adp_control_hold_take(&hold, &cli, &state, end - 1));
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, end - 1));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, end));
}
END_TEST

START_TEST(others_get_half_of_the_time)
{
    struct adp_control_hold hold = { .holder = NULL };

    ck_assert(adp_control_hold_take(&hold, &cli, &state, 1000));
    ck_assert(!adp_control_hold_take(&hold, &other_cli, &state, 1200));
    adp_control_hold_end(&hold, &cli, 1300);
    ck_assert(!adp_control_hold_take(&hold, &cli, &state, 1599));
    ck_assert(!adp_control_hold_take(&hold, &other_cli, &state, 1599));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, 1599));
    ck_assert(adp_control_hold_take(&hold, &other_cli, &state, 1600));

    /* Also after one that was never ended. */
    const long long int end = 1600 + ADP_CONTROL_HOLD_MS;
    ck_assert(!adp_control_hold_take(&hold, &cli, &state, end));
    ck_assert(!adp_control_hold_take(&hold, &cli, &state,
                                     end + ADP_CONTROL_HOLD_MS - 1));
    ck_assert(adp_control_hold_take(&hold, &cli, &state,
                                    end + ADP_CONTROL_HOLD_MS));
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("control-hold");
    TCase *tc = tcase_create("control-hold");

    tcase_add_test(tc, others_wait_until_it_ends);
    tcase_add_test(tc, it_ends_by_itself);
    tcase_add_test(tc, others_get_half_of_the_time);
    suite_add_tcase(s, tc);
    return test_run(s);
}

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
    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, 1000));
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, 1000));
    ck_assert(!adp_control_hold_stops(&hold, &cli, &state, 1000));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &other_state, 1000));

    /* Another question belongs to it. */
    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, 1100));

    adp_control_hold_end(&hold, &feeder, 1200);
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, 1200));
    adp_control_hold_end(&hold, &cli, 1200);
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, 1200));
}
END_TEST

START_TEST(it_ends_by_itself)
{
    struct adp_control_hold hold = { .holder = NULL };
    const long long int end = 1300 + ADP_CONTROL_HOLD_MS;

    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, 1000));
    adp_control_hold_read(&hold, &other_cli, 1100);
    adp_control_hold_read(&hold, &cli, 1300);
    adp_control_hold_read(&hold, &cli, 1400);
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, end - 1));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, end));
}
END_TEST

/* Each question gives time anew. */
START_TEST(it_lasts_after_the_last_reply)
{
    struct adp_control_hold hold = { .holder = NULL };
    const long long int end = 4000 + ADP_CONTROL_HOLD_MS;

    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, 1000));
    adp_control_hold_read(&hold, &cli, 2000);
    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, 3000));
    adp_control_hold_read(&hold, &cli, 4000);
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, end - 1));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, end));
}
END_TEST

/* A reply that was long in coming is read from when it is there. */
START_TEST(it_lasts_after_a_late_reply)
{
    struct adp_control_hold hold = { .holder = NULL };
    const long long int end = 4000 + ADP_CONTROL_HOLD_MS;

    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, 1000));
    adp_control_hold_read(&hold, &cli, 1001);
    adp_control_hold_answer(&hold, &feeder, 1400);
    adp_control_hold_read(&hold, &cli, 1500);
    adp_control_hold_answer(&hold, &cli, 3000);
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state,
                                     1002 + ADP_CONTROL_HOLD_MS));
    adp_control_hold_read(&hold, &cli, 4000);
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, end - 1));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, end));
}
END_TEST

/* One that came too late doesn't bring it back. */
START_TEST(it_is_over_before_a_late_reply)
{
    struct adp_control_hold hold = { .holder = NULL };
    const long long int end = 1001 + ADP_CONTROL_HOLD_MS;

    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, 1000));
    adp_control_hold_read(&hold, &cli, 1001);
    adp_control_hold_answer(&hold, &cli, end);
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, end));
}
END_TEST

/* Another's reply is no concern of it. */
START_TEST(it_lasts_no_longer_by_others)
{
    struct adp_control_hold hold = { .holder = NULL };
    const long long int end = 1001 + ADP_CONTROL_HOLD_MS;

    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, 1000));
    adp_control_hold_read(&hold, &cli, 1001);
    adp_control_hold_answer(&hold, &feeder, 1400);
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, end - 1));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, end));
}
END_TEST

/* To think about many records takes longer. */
START_TEST(it_lasts_with_the_records)
{
    struct adp_control_hold hold = { .holder = NULL };
    const size_t n = 20000;
    const long long int end = (2000 + ADP_CONTROL_HOLD_MS
                               + n / ADP_CONTROL_HOLD_RECORDS);

    ck_assert(adp_control_hold_take(&hold, &cli, &state, n, 1000));
    adp_control_hold_read(&hold, &cli, 2000);
    ck_assert(adp_control_hold_stops(&hold, &feeder, &state, end - 1));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, end));
}
END_TEST

/* Nobody keeps others off with ever more questions, a reply that it doesn't
 * read, or very many records. */
START_TEST(it_ends_however_it_goes)
{
    const long long int end = 1000 + ADP_CONTROL_HOLD_MAX_MS;

    for (int i = 0; i < 3; i++) {
        struct adp_control_hold hold = { .holder = NULL };

        ck_assert(adp_control_hold_take(&hold, &cli, &state,
                                        i == 2 ? 1000000 : 0, 1000));
        if (i) {
            adp_control_hold_read(&hold, &cli, 1001);
        }
        for (long long int now = 1100; now < end && i == 1; now += 100) {
            ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, now));
            adp_control_hold_read(&hold, &cli, now);
        }
        ck_assert(adp_control_hold_stops(&hold, &feeder, &state, end - 1));
        ck_assert(!adp_control_hold_take(&hold, &cli, &state, 0, end));
        ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, end));
    }
}
END_TEST

START_TEST(others_get_half_of_the_time)
{
    struct adp_control_hold hold = { .holder = NULL };

    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0, 1000));
    ck_assert(!adp_control_hold_take(&hold, &other_cli, &state, 0, 1200));
    adp_control_hold_end(&hold, &cli, 1300);
    ck_assert(!adp_control_hold_take(&hold, &cli, &state, 0, 1599));
    ck_assert(!adp_control_hold_take(&hold, &other_cli, &state, 0, 1599));
    ck_assert(!adp_control_hold_stops(&hold, &feeder, &state, 1599));
    ck_assert(adp_control_hold_take(&hold, &other_cli, &state, 0, 1600));

    /* Also after one that was never ended. */
    const long long int end = 1600 + ADP_CONTROL_HOLD_MS;
    adp_control_hold_read(&hold, &other_cli, 1600);
    ck_assert(!adp_control_hold_take(&hold, &cli, &state, 0, end));
    ck_assert(!adp_control_hold_take(&hold, &cli, &state, 0,
                                     end + ADP_CONTROL_HOLD_MS - 1));
    ck_assert(adp_control_hold_take(&hold, &cli, &state, 0,
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
    tcase_add_test(tc, it_lasts_after_the_last_reply);
    tcase_add_test(tc, it_lasts_after_a_late_reply);
    tcase_add_test(tc, it_is_over_before_a_late_reply);
    tcase_add_test(tc, it_lasts_no_longer_by_others);
    tcase_add_test(tc, it_lasts_with_the_records);
    tcase_add_test(tc, it_ends_however_it_goes);
    tcase_add_test(tc, others_get_half_of_the_time);
    suite_add_tcase(s, tc);
    return test_run(s);
}

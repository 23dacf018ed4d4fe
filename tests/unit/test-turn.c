/* SPDX-License-Identifier: Apache-2.0 */

/* Turns of the main loop: what they took is told section by section, and work in
 * slices ends in time. */

#include <config.h>
#include <check.h>

#include "ovs-thread.h"
#include "test-run.h"
#include "turn-clock.h"
#include "util.h"

/* What the thread has run for: all but so much of 'now'. */
static long long int not_run;

static long long int
cpu(void)
{
    return now - not_run;
}

/* A turn that works on each section in turn for so many microseconds. */
static void
take_turn(struct adp_turn_meter *m, long long int other,
          long long int openflow, long long int compile)
{
    adp_turn_meter_begin(m, now, cpu());
    now += other;
    enum adp_turn_section outer
        = adp_turn_meter_enter(m, ADP_TURN_OPENFLOW, now);
    now += openflow;
    enum adp_turn_section inner
        = adp_turn_meter_enter(m, ADP_TURN_COMPILE, now);
    now += compile;
    adp_turn_meter_enter(m, inner, now);
    adp_turn_meter_enter(m, outer, now);
    ck_assert_ptr_nonnull(adp_turn_meter_end(m, now, cpu()));
    now += 77;                          /* Sleeps. */
    not_run += 77;
}

START_TEST(sections_add_up_to_the_turn)
{
    struct adp_turn_meter m = { .turning = false };
    struct adp_turn_counts c;

    take_turn(&m, 30, 500, 2000);
    adp_turn_meter_get(&m, &c, true, now, cpu());
    ck_assert_uint_eq(c.n_turns, 1);
    ck_assert_int_eq(c.longest.began, 1000000);
    ck_assert_uint_eq(c.longest.us, 2530);
    ck_assert_uint_eq(c.longest.section_us[ADP_TURN_OTHER], 30);
    ck_assert_uint_eq(c.longest.section_us[ADP_TURN_OPENFLOW], 500);
    ck_assert_uint_eq(c.longest.section_us[ADP_TURN_COMPILE], 2000);
    ck_assert_uint_eq(c.longest.section_us[ADP_TURN_COUNTERS], 0);
}
END_TEST

/* The turn that is told is the longest, not the one that ran for longest. */
START_TEST(what_the_thread_ran_of_it)
{
    struct adp_turn_meter m = { .turning = false };
    struct adp_turn_counts c;

    take_turn(&m, 100, 0, 0);
    adp_turn_meter_begin(&m, now, cpu());
    now += 150;
    not_run += 120;
    adp_turn_meter_end(&m, now, cpu());
    adp_turn_meter_get(&m, &c, false, now, cpu());
    ck_assert_uint_eq(c.longest.us, 150);
    ck_assert_uint_eq(c.longest.cpu_us, 30);
    ck_assert_uint_eq(c.recent.cpu_us, 30);

    /* In two parts. */
    adp_turn_meter_begin(&m, now, cpu());
    now += 400;
    not_run += 100;
    adp_turn_meter_get(&m, &c, true, now, cpu());
    ck_assert_uint_eq(c.recent.cpu_us, 300);
    now += 50;
    not_run += 9;
    adp_turn_meter_end(&m, now, cpu());
    adp_turn_meter_get(&m, &c, true, now, cpu());
    ck_assert_uint_eq(c.recent.us, 50);
    ck_assert_uint_eq(c.recent.cpu_us, 41);
    ck_assert_uint_eq(c.longest.us, 450);
    ck_assert_uint_eq(c.longest.cpu_us, 341);
}
END_TEST

START_TEST(sections_left_open_end_with_the_turn)
{
    struct adp_turn_meter m = { .turning = false };

    adp_turn_meter_begin(&m, now, cpu());
    adp_turn_meter_enter(&m, ADP_TURN_EXPIRY, now);
    now += 10;
    const struct adp_turn *turn = adp_turn_meter_end(&m, now, cpu());
    ck_assert_uint_eq(turn->section_us[ADP_TURN_EXPIRY], 10);

    /* Sleep is nobody's, nor is what comes before the first turn. */
    now += 1000;
    ck_assert_int_eq(adp_turn_meter_enter(&m, ADP_TURN_EXPIRY, now),
                     ADP_TURN_OTHER);
    ck_assert_ptr_null(adp_turn_meter_end(&m, now, cpu()));
    adp_turn_meter_begin(&m, now, cpu());
    now += 5;
    turn = adp_turn_meter_end(&m, now, cpu());
    ck_assert_uint_eq(turn->us, 5);
    ck_assert_uint_eq(turn->section_us[ADP_TURN_EXPIRY], 0);
    ck_assert_uint_eq(turn->section_us[ADP_TURN_OTHER], 5);
}
END_TEST

START_TEST(the_longest_is_kept_since_the_start_and_since_last_asked)
{
    struct adp_turn_meter m = { .turning = false };
    struct adp_turn_counts c;

    take_turn(&m, 1, 2, 3);
    take_turn(&m, 10, 20, 30);
    take_turn(&m, 4, 5, 6);
    adp_turn_meter_get(&m, &c, true, now, cpu());
    long long int asked = now;
    ck_assert_int_eq(c.recent_since, 1000000);
    ck_assert_uint_eq(c.recent.us, 60);
    ck_assert_uint_eq(c.longest.us, 60);

    take_turn(&m, 7, 8, 9);
    take_turn(&m, 1, 1, 1);
    adp_turn_meter_get(&m, &c, true, now, cpu());
    ck_assert_int_eq(c.recent_since, asked);
    ck_assert_int_eq(c.recent.began, asked);
    ck_assert_uint_eq(c.recent.us, 24);
    ck_assert_uint_eq(c.recent.section_us[ADP_TURN_COMPILE], 9);
    ck_assert_uint_eq(c.longest.us, 60);
    ck_assert_uint_eq(c.n_turns, 5);
    ck_assert_uint_eq(c.section_us[ADP_TURN_OPENFLOW], 2 + 20 + 5 + 8 + 1);

    /* Nothing was in between. */
    adp_turn_meter_get(&m, &c, true, now, cpu());
    ck_assert_uint_eq(c.recent.us, 0);
    ck_assert_uint_eq(c.longest.us, 60);
}
END_TEST

/* Who asks in the middle of a long turn hears of it; who asks next hears of
 * its rest. */
START_TEST(the_turn_under_way_is_told_in_two_parts)
{
    struct adp_turn_meter m = { .turning = false };
    struct adp_turn_counts c;

    take_turn(&m, 1, 2, 3);
    long long int began = now;
    adp_turn_meter_begin(&m, now, cpu());
    now += 100;
    adp_turn_meter_enter(&m, ADP_TURN_COMMANDS, now);
    now += 50;
    adp_turn_meter_get(&m, &c, false, now, cpu());
    ck_assert_uint_eq(c.recent.us, 150);
    adp_turn_meter_get(&m, &c, true, now, cpu());
    ck_assert_uint_eq(c.n_turns, 1);
    ck_assert_uint_eq(c.recent.us, 150);
    ck_assert_int_eq(c.recent.began, began);
    ck_assert_uint_eq(c.recent.section_us[ADP_TURN_OTHER], 100);
    ck_assert_uint_eq(c.recent.section_us[ADP_TURN_COMMANDS], 50);
    ck_assert_uint_eq(c.longest.us, 150);
    ck_assert_uint_eq(c.section_us[ADP_TURN_COMMANDS], 50);
    ck_assert_uint_eq(c.section_us[ADP_TURN_COMPILE], 3);

    now += 20;
    adp_turn_meter_enter(&m, ADP_TURN_OTHER, now);
    now += 5;
    adp_turn_meter_end(&m, now, cpu());
    adp_turn_meter_get(&m, &c, true, now, cpu());
    ck_assert_uint_eq(c.n_turns, 2);
    ck_assert_uint_eq(c.recent.us, 25);
    ck_assert_int_eq(c.recent.began, began + 150);
    ck_assert_uint_eq(c.recent.section_us[ADP_TURN_OTHER], 5);
    ck_assert_uint_eq(c.recent.section_us[ADP_TURN_COMMANDS], 20);
    ck_assert_uint_eq(c.longest.us, 175);
    ck_assert_uint_eq(c.section_us[ADP_TURN_COMMANDS], 70);

    /* The next one is whole again. */
    take_turn(&m, 1, 2, 3);
    adp_turn_meter_get(&m, &c, true, now, cpu());
    ck_assert_uint_eq(c.recent.us, 6);
}
END_TEST

START_TEST(turns_are_counted_by_length)
{
    struct adp_turn_meter m = { .turning = false };
    struct adp_turn_counts c;

    take_turn(&m, 1000, 0, 0);          /* Not longer than 1 ms. */
    take_turn(&m, 1001, 0, 0);
    take_turn(&m, 10000, 1, 0);
    take_turn(&m, 0, 50000, 1);
    take_turn(&m, 0, 250000, 1);
    take_turn(&m, 0, 0, 5000000);
    adp_turn_meter_get(&m, &c, true, now, cpu());
    ck_assert_uint_eq(c.n_turns, 6);
    ck_assert_int_eq(adp_turn_bounds_ms[1], 10);
    ck_assert_int_eq(adp_turn_bounds_ms[2], 50);
    ck_assert_uint_eq(c.n_longer[0], 5);
    ck_assert_uint_eq(c.n_longer[1], 4);
    ck_assert_uint_eq(c.n_longer[2], 3);
    ck_assert_uint_eq(c.n_longer[3], 2);
    ck_assert_uint_eq(c.n_longer[4], 1);
}
END_TEST

/* How many items of 'item_us' each a slice takes that begins now. */
static int
n_items(long long int item_us)
{
    struct adp_turn_slice slice;
    int n = 0;

    adp_turn_slice_init(&slice);
    while (n < 1000000 && adp_turn_slice_goes_on(&slice)) {
        now += item_us;
        n++;
    }
    return n;
}

START_TEST(slices_end_with_the_turn_s_budget)
{
    adp_turn_begin();
    ck_assert_int_eq(n_items(100), ADP_TURN_BUDGET_US / 100);

    /* What comes later gets little, but something. */
    ck_assert_int_eq(n_items(100), ADP_TURN_SLICE_MIN_US / 100);
    ck_assert_int_eq(n_items(100000), 1);
    ck_assert_int_eq(n_items(100), ADP_TURN_SLICE_MIN_US / 100);
    adp_turn_end();

    now += 50000;
    adp_turn_begin();
    now += 2000;                        /* Somebody else's. */
    ck_assert_int_eq(n_items(100), (ADP_TURN_BUDGET_US - 2000) / 100);
    adp_turn_end();

    /* Outside of turns. */
    ck_assert_int_eq(n_items(100), ADP_TURN_SLICE_MIN_US / 100);
}
END_TEST

/* The same, of a bridge's. */
static int
n_items_of(uint32_t bridge)
{
    adp_turn_set_bridge(bridge);
    int n = n_items(100);
    adp_turn_set_bridge(0);

    return n;
}

/* Another turn, whose budget is used up. */
static void
old_turn(void)
{
    adp_turn_end();
    adp_turn_begin();
    now += ADP_TURN_BUDGET_US;
}

/* Many bridges that have something to do don't make a turn longer than one
 * does, and each gets on. */
START_TEST(bridges_take_turns)
{
    const int least = ADP_TURN_SLICE_MIN_US / 100;
    enum { N = 64 };
    int n[N + 1] = { 0 };

    /* Within the budget all are equal. */
    adp_turn_begin();
    ck_assert_int_eq(n_items_of(3), ADP_TURN_BUDGET_US / 100);

    old_turn();
    for (int turn = 0; turn < N; turn++) {
        int total = 0;

        old_turn();
        for (int i = 1; i <= N; i++) {
            int items = n_items_of(i);

            n[i] += items;
            total += items;
        }
        ck_assert_int_le(total, least + N - 1);
        /* What isn't a bridge's is as ever. */
        ck_assert_int_eq(n_items(100), least);
    }
    for (int i = 1; i <= N; i++) {
        ck_assert_int_eq(n[i], least + N - 1);
    }

    /* Who is the only one needn't wait for others. */
    old_turn();
    n_items_of(7);
    for (int turn = 0; turn < 3; turn++) {
        old_turn();
        ck_assert_int_eq(n_items_of(7), least);
        ck_assert_int_eq(n_items_of(7), least);
    }
    adp_turn_end();
}
END_TEST

START_TEST(the_rest_of_the_budget)
{
    struct adp_turn_slice slice;

    adp_turn_begin();
    now += ADP_TURN_BUDGET_US - 1;
    adp_turn_slice_init_rest(&slice);
    ck_assert(adp_turn_slice_goes_on(&slice));
    now++;
    ck_assert(!adp_turn_slice_goes_on(&slice));
    adp_turn_slice_init_rest(&slice);
    ck_assert(!adp_turn_slice_goes_on(&slice));
    adp_turn_end();
}
END_TEST

START_TEST(a_whole_slice_goes_on)
{
    struct adp_turn_slice slice = { .begun = true };

    adp_turn_begin();
    adp_turn_slice_init_whole(&slice);
    for (int i = 0; i < 1000; i++) {
        now += 1000000;
        ck_assert(adp_turn_slice_goes_on(&slice));
    }
    adp_turn_end();
}
END_TEST

static void *
enter_in_another_thread(void *aux OVS_UNUSED)
{
    adp_turn_leave(adp_turn_enter(ADP_TURN_COMPILE));
    adp_turn_enter(ADP_TURN_COMPILE);
    return NULL;
}

START_TEST(other_threads_sections_count_for_nothing)
{
    struct adp_turn_counts c;

    adp_turn_get_counts(&c, true);
    adp_turn_begin();
    adp_turn_leave(adp_turn_enter(ADP_TURN_PORTS));
    now += 40;                          /* The section without a name. */
    adp_turn_enter(ADP_TURN_EXPIRY);
    xpthread_join(ovs_thread_create("other", enter_in_another_thread, NULL),
                  NULL);
    now += 300;
    adp_turn_end();
    adp_turn_get_counts(&c, false);
    ck_assert_uint_eq(c.recent.section_us[ADP_TURN_EXPIRY], 300);
    ck_assert_uint_eq(c.recent.section_us[ADP_TURN_COMPILE], 0);
    ck_assert_uint_eq(c.recent.section_us[ADP_TURN_OTHER], 40);

    /* Who only looks leaves it. */
    adp_turn_get_counts(&c, true);
    ck_assert_uint_eq(c.recent.us, 340);
    adp_turn_get_counts(&c, true);
    ck_assert_uint_eq(c.recent.us, 0);
}
END_TEST

START_TEST(sections_have_names)
{
    for (int i = 0; i < ADP_TURN_N_SECTIONS; i++) {
        for (int j = 0; j < i; j++) {
            ck_assert_str_ne(adp_turn_section_name(i),
                             adp_turn_section_name(j));
        }
    }
    ck_assert_str_eq(adp_turn_section_name(ADP_TURN_SOCKET), "socket");
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    TCase *tc = tcase_create("turn");
    tcase_add_checked_fixture(tc, start_clock, NULL);
    tcase_add_test(tc, sections_add_up_to_the_turn);
    tcase_add_test(tc, what_the_thread_ran_of_it);
    tcase_add_test(tc, sections_left_open_end_with_the_turn);
    tcase_add_test(tc, the_longest_is_kept_since_the_start_and_since_last_asked);
    tcase_add_test(tc, the_turn_under_way_is_told_in_two_parts);
    tcase_add_test(tc, turns_are_counted_by_length);
    tcase_add_test(tc, slices_end_with_the_turn_s_budget);
    tcase_add_test(tc, bridges_take_turns);
    tcase_add_test(tc, the_rest_of_the_budget);
    tcase_add_test(tc, a_whole_slice_goes_on);
    tcase_add_test(tc, other_threads_sections_count_for_nothing);
    tcase_add_test(tc, sections_have_names);

    Suite *suite = suite_create("turn");
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Counters on their way from packet threads to OpenFlow, turn by turn: what
 * comes first, what a slice leaves for the next turn, and when who asks for
 * counters gets them. */

#include <config.h>
#include <check.h>

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-credit.h"
#include "adp-install.h"
#include "adp-push-stats.h"
#include "adp-tunnel.h"
#include "adp-turn.h"
#include "call-notes.h"
#include "openvswitch/poll-loop.h"
#include "test-run.h"
#include "timeval.h"
#include "turn-slices.h"
#include "util.h"

/* What the linker calls instead of upstream's library. */
__typeof__(time_msec) __wrap_time_msec;
__typeof__(poll_immediate_wake_at) __wrap_poll_immediate_wake_at;
__typeof__(poll_timer_wait_until_at) __wrap_poll_timer_wait_until_at;

static long long int now;

long long int
__wrap_time_msec(void)
{
    return now;
}

static bool wakes_at_once;
static long long int wakes_at;

void
__wrap_poll_immediate_wake_at(const char *where OVS_UNUSED)
{
    wakes_at_once = true;
}

void
__wrap_poll_timer_wait_until_at(long long int ms,
                                const char *where OVS_UNUSED)
{
    wakes_at = ms;
}

/* A collection, of so many steps. */

static int steps, steps_left;

struct adp_collector *
adp_cached_verdict_collector(void)
{
    return NULL;
}

bool
adp_collector_is_amid(const struct adp_collector *c OVS_UNUSED)
{
    return steps_left > 0;
}

bool
adp_collector_run(struct adp_collector *c OVS_UNUSED, size_t n)
{
    ck_assert_uint_gt(n, 0);
    note('c');
    if (!steps_left) {
        steps_left = steps;
    }
    return !--steps_left;
}

/* Of verdicts that have left, so many steps. */
static int leaving;

bool
adp_collector_release(struct adp_collector *c OVS_UNUSED, size_t n)
{
    ck_assert_uint_gt(n, 0);
    ck_assert_int_eq(steps_left, 0);
    note('l');
    return !leaving || !--leaving;
}

/* Of the turn's budget. */
static size_t rest_size;

void
adp_turn_slice_init_rest(struct adp_turn_slice *slice)
{
    slice->ends = rest_size;
}

static enum adp_turn_section section;

enum adp_turn_section
adp_turn_enter(enum adp_turn_section new)
{
    enum adp_turn_section old = section;

    section = new;
    return old;
}

void
adp_turn_leave(enum adp_turn_section outer)
{
    section = outer;
}

/* Bridges. */

enum { N_BRIDGES = 2 };

static struct adp_bridge *bridges[N_BRIDGES];
static bool has_bridges;
static bool amid[N_BRIDGES];
static struct adp_collected known[N_BRIDGES];

static size_t
index_of(const struct adp_bridge *b)
{
    ck_assert(b == bridges[0] || b == bridges[1]);
    return b == bridges[1];
}

struct adp_bridge *
adp_bridge_next(const struct adp_bridge *prev)
{
    size_t i = prev ? index_of(prev) + 1 : 0;

    return has_bridges && i < N_BRIDGES ? bridges[i] : NULL;
}

void
adp_credit_run(struct adp_bridge *b, struct adp_collected collected)
{
    size_t i = index_of(b);

    ck_assert_int_eq(section, ADP_TURN_COUNTERS);
    note('r');
    if (!amid[i]) {
        known[i] = collected;
    }
}

struct adp_collected
adp_credit_known(const struct adp_bridge *b)
{
    return known[index_of(b)];
}

bool
adp_credit_is_amid(const struct adp_bridge *b)
{
    return amid[index_of(b)];
}

void
adp_install_run(struct adp_bridge *b OVS_UNUSED)
{
    note('i');
}

void
adp_install_wait(struct adp_bridge *b OVS_UNUSED)
{
    note('w');
}

void
adp_tunnels_run(struct adp_bridge *b OVS_UNUSED)
{
    ck_assert_int_eq(section, ADP_TURN_TUNNELS);
    note('t');
}

void
adp_tunnels_wait(struct adp_bridge *b OVS_UNUSED)
{
    note('W');
}

static void
setup(void)
{
    now = 1000;
    steps = 1;
    slice_size = 100;
    rest_size = 0;
    section = ADP_TURN_OTHER;
    has_bridges = true;
    for (size_t i = 0; i < N_BRIDGES; i++) {
        bridges[i] = xzalloc(sizeof *bridges[i]);
    }
}

static void
run(size_t bridge)
{
    adp_push_stats_collect();
    adp_push_stats_run(bridges[bridge]);
    ck_assert_int_eq(section, ADP_TURN_OTHER);
}

/* Runs in a turn at 'at'. */
static void
turn(long long int at)
{
    now = at;
    adp_push_stats_begin();
    run(0);
}

static bool
wakes(void)
{
    wakes_at_once = false;
    adp_push_stats_wait(bridges[0]);
    return wakes_at_once;
}

/* Learned flows are there before their counters are given to them. */
START_TEST(all_in_one_turn)
{
    steps = 3;
    turn(2000);
    expect("cccirt");
    ck_assert_int_eq(known[0].until_ms, 2000);
    ck_assert(!wakes());
    expect("wW");
    ck_assert_int_eq(wakes_at, 3000);
}
END_TEST

START_TEST(in_slices)
{
    turn(1500);
    expect("cirt");
    steps = 5;
    slice_size = 2;
    turn(2000);
    expect("ccirt");
    ck_assert_int_eq(known[0].until_ms, 1500);
    ck_assert(wakes());
    expect("wW");
    turn(2100);
    expect("ccirt");
    ck_assert_int_eq(known[0].until_ms, 1500);

    /* The rest, and what was counted since it began has to follow. */
    slice_size = 4;
    turn(2200);
    expect("ccccirt");
    ck_assert_int_eq(known[0].until_ms, 2000);
    ck_assert(wakes());
    expect("wW");
    slice_size = 100;
    turn(2300);
    expect("cc" "ccccc" "irt");
    ck_assert_int_eq(known[0].until_ms, 2300);
    ck_assert(!wakes());
}
END_TEST

/* A whole collection that began in this turn is enough. */
START_TEST(not_twice)
{
    steps = 2;
    slice_size = 2;
    turn(2000);
    expect("ccirt");
    ck_assert_int_eq(known[0].until_ms, 2000);
    ck_assert(!wakes());
}
END_TEST

/* Bridges after the first one have no slice of their own for what is the
 * daemon's.  If that was enough for all, nobody has to go on. */
START_TEST(once_a_turn)
{
    turn(2000);
    expect("cirt");
    run(1);
    expect("irt");
    ck_assert_int_eq(known[1].until_ms, 2000);
    ck_assert(!wakes());
    expect("wW");

    steps = 5;
    slice_size = 2;
    turn(2100);
    expect("ccirt");
    run(1);
    expect("irt");
    ck_assert(wakes());
    expect("wW");
}
END_TEST

/* Until the budget is used up. */
START_TEST(again_while_there_is_budget)
{
    steps = 3;
    rest_size = 3;
    turn(2000);
    expect("cccirt");
    now = 2001;
    run(1);
    expect("cccirt");
    ck_assert_int_eq(known[1].until_ms, 2001);

    slice_size = 2;
    rest_size = 4;
    turn(2100);
    expect("ccirt");
    now = 2101;
    run(1);
    expect("c" "ccc" "irt");
    ck_assert_int_eq(known[1].until_ms, 2101);
    ck_assert(!wakes());
    expect("wW");
}
END_TEST

static void
expect_steps(int n)
{
    char text[100];

    memset(text, 'c', n);
    strcpy(text + n, "irt");
    expect(text);
}

/* After a large collection none begins for a while, and nobody is woken up for
 * it, but room is made for others; unless somebody asks. */
START_TEST(rests)
{
    steps = 16;
    turn(2000);
    expect_steps(16);
    turn(2001);
    expect_steps(16);

    steps = 17;
    turn(2100);
    expect_steps(17);
    ck_assert_int_eq(known[0].until_ms, 2100);
    leaving = 3;
    turn(2116);
    expect("lll" "irt");
    ck_assert_int_eq(known[0].until_ms, 2100);
    ck_assert(!wakes());
    expect("wW");
    ck_assert_int_eq(wakes_at, 3116);
    leaving = 3;
    slice_size = 2;
    turn(2116);
    expect("ll" "irt");
    ck_assert(!wakes());
    expect("wW");
    adp_push_stats_ask();
    ck_assert(wakes());
    expect("wW");
    slice_size = 100;
    turn(2116);
    expect_steps(17);
    ck_assert_int_eq(known[0].until_ms, 2116);
    turn(2117);
    expect("l" "irt");
    turn(2133);
    expect_steps(17);
    ck_assert_int_eq(known[0].until_ms, 2133);
}
END_TEST

/* It is counted from where the collection began. */
START_TEST(rests_between_slices)
{
    steps = 40;
    slice_size = 30;
    turn(2000);
    expect_steps(30);
    ck_assert(wakes());
    expect("wW");
    turn(2010);
    expect("cccccccccc" "l" "irt");
    ck_assert_int_eq(known[0].until_ms, 2000);
    ck_assert(!wakes());
    expect("wW");
    turn(2039);
    expect("l" "irt");
    turn(2040);
    expect_steps(30);
    ck_assert(wakes());
}
END_TEST

/* No longer than others wait for the next one. */
START_TEST(rests_for_a_second)
{
    steps = 1500;
    slice_size = 50;
    for (int i = 0; i < 30; i++) {
        turn(2000 + i);
        expect_steps(50);
    }
    ck_assert_int_eq(known[0].until_ms, 2000);
    turn(2999);
    expect("l" "irt");
    turn(3000);
    expect_steps(50);
}
END_TEST

/* Who asks is told once a collection that began later is credited. */
START_TEST(asked)
{
    turn(2000);
    expect("cirt");

    uint64_t first = adp_push_stats_ask();
    ck_assert_uint_eq(adp_push_stats_ask(), first);
    ck_assert(!adp_push_stats_has(bridges[0], first));
    ck_assert(wakes());
    expect("wW");
    turn(2001);
    expect("cirt");
    ck_assert(adp_push_stats_has(bridges[0], first));
    ck_assert(!wakes());
    expect("wW");

    uint64_t second = adp_push_stats_ask();
    ck_assert(!adp_push_stats_has(bridges[0], second));
    ck_assert(adp_push_stats_has(bridges[0], first));
    turn(2002);
    ck_assert(adp_push_stats_has(bridges[0], second));
}
END_TEST

/* One that is under way may have passed what was counted last. */
START_TEST(asked_amid)
{
    steps = 5;
    slice_size = 3;
    turn(2000);
    expect("cccirt");

    uint64_t asked = adp_push_stats_ask();
    slice_size = 2;
    turn(2001);
    expect("ccirt");
    ck_assert(!adp_push_stats_has(bridges[0], asked));
    turn(2002);
    expect("ccirt");
    ck_assert(!adp_push_stats_has(bridges[0], asked));
    slice_size = 3;
    turn(2003);
    expect("cccirt");
    ck_assert(adp_push_stats_has(bridges[0], asked));
    ck_assert_int_eq(known[0].until_ms, 2002);
}
END_TEST

/* Each bridge has to get its own. */
START_TEST(asked_for_a_bridge)
{
    uint64_t asked = adp_push_stats_ask();

    amid[0] = true;
    turn(2000);
    expect("cirt");
    run(1);
    expect("irt");
    ck_assert(!adp_push_stats_has(bridges[0], asked));
    ck_assert(adp_push_stats_has(bridges[1], asked));
    ck_assert(wakes());
    expect("wW");

    amid[0] = false;
    ck_assert(wakes());         /* Somebody waits for it. */
    expect("wW");
    turn(2001);
    expect("cirt");
    ck_assert(adp_push_stats_has(bridges[0], asked));
    ck_assert(!wakes());
    expect("wW");
    amid[0] = true;
    ck_assert(wakes());
}
END_TEST

/* Threads that end leave something even then. */
START_TEST(no_bridges)
{
    adp_push_stats_begin();
    adp_push_stats_begin_wait();
    expect("");
    ck_assert(!wakes_at_once);

    has_bridges = false;
    steps = 3;
    slice_size = 2;
    adp_push_stats_begin();
    adp_push_stats_begin_wait();
    expect("cc");
    ck_assert(wakes_at_once);
    ck_assert_int_eq(section, ADP_TURN_OTHER);

    wakes_at_once = false;
    slice_size = 100;
    adp_push_stats_begin();
    adp_push_stats_begin_wait();
    expect("c" "ccc");
    ck_assert(!wakes_at_once);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("push-stats");
    TCase *tc = tcase_create("push-stats");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, all_in_one_turn);
    tcase_add_test(tc, in_slices);
    tcase_add_test(tc, not_twice);
    tcase_add_test(tc, once_a_turn);
    tcase_add_test(tc, again_while_there_is_budget);
    tcase_add_test(tc, rests);
    tcase_add_test(tc, rests_between_slices);
    tcase_add_test(tc, rests_for_a_second);
    tcase_add_test(tc, asked);
    tcase_add_test(tc, asked_amid);
    tcase_add_test(tc, asked_for_a_bridge);
    tcase_add_test(tc, no_bridges);
    suite_add_tcase(s, tc);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* What is done for packets of a bridge that upstream handles while something
 * looks on, such as a mirror: who is refused is told so, and what rules log is
 * logged.  All else is upstream's. */

#include <config.h>
#include <check.h>

#include "adp-log-ring.h"
#include "input-world.h"
#include "test-run.h"

static void
setup_watched(void)
{
    static const uint8_t reject[] = { 1, 2 };

    setup();
    memset(&program.answers, 0, sizeof program.answers);
    adp_answers_add(&program.answers, reject, sizeof reject,
                    ADP_ANSWER_PROHIBITED, false);
    set_mode(ADP_MODE_WATCHED);
    adp_log_rings_init();
    cache.log = adp_log_ring_create();
}

static void
teardown_watched(void)
{
    adp_log_ring_close(cache.log);
}

static void
refuse_all(void)
{
    walk.verdict.answer = ADP_ANSWER_PROHIBITED;
    walk.verdict.dropped = true;
}

/* Receives two packets, which upstream handles. */
static void
receive_two(const char *notes)
{
    receive(2, PORT, 2);
    expect(notes);
}

static void
expect_left_alone(void)
{
    expect_punts(ADP_PUNT_BRIDGE, 2);
    ck_assert_uint_eq(adp_counted(&b->counters.handled), 0);
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_REJECT]), 0);
    ck_assert_uint_eq(n_compiled, 0);
}

/* Once each; and nothing is counted, learned or tracked. */
START_TEST(refused)
{
    static struct adp_hit hit;
    static struct adp_learned learned;

    refuse_all();
    walk.verdict.hits = &hit;
    walk.verdict.learned = &learned;
    walk.verdict.n_hits = walk.verdict.n_learned = 1;
    says.is_parsed = says.sums_up = _i;
    receive_two("(wjwj.)");
    expect_left_alone();
}
END_TEST

START_TEST(logged)
{
    walk.verdict.n_logs = 1;
    walk.verdict.logs[0].disposition = ADP_LOG_DROP;
    says.sums_up = false;
    receive_two("(ww.)");
    expect_left_alone();
    /* The clock stands at 0, when there are no tokens yet. */
    ck_assert_uint_eq(adp_counted(&b->counters.log_limited), 2);
}
END_TEST

/* Of what passes a session tells the next time that it does. */
START_TEST(passed)
{
    receive_two("(wSWwSW.)");
    says.known = ADP_FAST_NOT_REFUSED;
    refuse_all();
    receive_two("(.)");
    says.known = ADP_FAST_REFUSED;
    receive_two("(wjwj.)");
}
END_TEST

/* Who has no flow that refuses or logs needs no walk. */
START_TEST(nobody_is_told)
{
    static const uint8_t other[] = { 2 };

    refuse_all();
    memset(&program.answers, 0, sizeof program.answers);
    receive_two("(.)");
    adp_answers_add(&program.answers, other, 1, ADP_ANSWER_HOLD, false);
    adp_answers_add(&program.answers, other, 1, ADP_ANSWER_READ, false);
    receive_two("(.)");
    adp_answers_add(&program.answers, other, 1, ADP_ANSWER_NONE, true);
    receive_two("(wjwj.)");
}
END_TEST

/* The walk doesn't tell what upstream will do. */
START_TEST(unsure)
{
    refuse_all();
    switch (_i) {
    case 0:
        walk.verdict.answers_late = true;
        break;
    case 1:
        walk.verdict.n_logs = 1;
        says.punt = ADP_PUNT_NORMAL;
        receive(1, PORT, 1);
        expect("(w.)");
        return;
    }
    receive_two("(ww.)");
    expect_left_alone();
}
END_TEST

START_TEST(never_walks)
{
    refuse_all();
    if (_i) {
        says.frag = IP_MORE_FRAGMENTS;
    } else {
        set_mode(ADP_MODE_STOCK);
    }
    receive_two("(.)");
    expect_left_alone();
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("input-watched");
    TCase *tc = tcase_create("input-watched");

    tcase_add_checked_fixture(tc, setup_watched, teardown_watched);
    tcase_add_loop_test(tc, refused, 0, 2);
    tcase_add_test(tc, logged);
    tcase_add_test(tc, passed);
    tcase_add_test(tc, nobody_is_told);
    tcase_add_loop_test(tc, unsure, 0, 2);
    tcase_add_loop_test(tc, never_walks, 0, 2);
    suite_add_tcase(s, tc);
    return test_run(s);
}

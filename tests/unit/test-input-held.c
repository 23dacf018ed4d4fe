/* SPDX-License-Identifier: Apache-2.0 */

/* Which way a packet goes that a flow has wait: into the queue of those who are
 * held.  Upstream would pause it, and nobody would have it go on. */

#include <config.h>
#include <check.h>

#include "input-world.h"
#include "test-run.h"

/* Who is held gets no verdict executed; what nobody can read goes on, and what
 * pauses elsewhere can't wait. */
START_TEST(held)
{
    walk.verdict.held = true;
    says.sums_up = false;
    receive(1, PORT, 0);
    expect("(fRwx.)");
    says.is_wanted = true;
    receive(1, PORT, 0);
    expect("(fRwH.)");
    walk.verdict.n_breaks = 1;
    receive(1, PORT, 1);
    expect("(fRw.)");
    expect_punts(ADP_PUNT_CONTROLLER, 1);
}
END_TEST

/* Upstream would pause it, and nobody would have it go on. */
START_TEST(held_behind_punted)
{
    says.is_parsed = _i;
    says.punt = ADP_PUNT_NORMAL;
    says.holds_next = says.is_wanted = true;
    says.sums_up = false;
    receive(2, PORT, 1);
    expect(_i ? "(fRwwH.)" : "(fwfwH.)");
    expect_punts(ADP_PUNT_NORMAL, 1);
    expect_punts(ADP_PUNT_BEHIND, 0);
}
END_TEST

/* Of a bridge that is punted, but for a feature that only looks on. */
START_TEST(watched)
{
    set_mode(ADP_MODE_WATCHED);
    says.has_session = true;
    says.sums_up = false;
    walk.verdict.held = says.is_wanted = true;
    receive(2, PORT, 2);
    expect("(.)");
    expect_punts(ADP_PUNT_BRIDGE, 2);
    tuple.tp_src = ADP_DNS_PORT;
    receive(2, PORT, 0);
    expect("(wHwH.)");
    /* Nobody reads it. */
    says.is_wanted = false;
    receive(1, PORT, 0);
    expect("(wx.)");
    tuple.nw_proto = IPPROTO_SCTP;
    receive(1, PORT, 1);
    expect("(.)");
    tuple.nw_proto = IPPROTO_TCP;
    receive(1, PORT, 0);
    expect("(wx.)");
    expect_punts(ADP_PUNT_BRIDGE, 3);
    expect_punts(ADP_PUNT_BEHIND, 0);
}
END_TEST

/* Of an answer that isn't held nothing happens before it is upstream's, but
 * that its sender is told if it is refused. */
START_TEST(watched_and_not_held)
{
    set_mode(ADP_MODE_WATCHED);
    says.refuses_next = says.drops_next = true;
    tuple.tp_src = ADP_DNS_PORT;
    receive(2, PORT, 2);
    expect("(wjwj.)");
    expect_punts(ADP_PUNT_BRIDGE, 2);
    ck_assert_uint_eq(adp_counted(&b->counters.handled), 0);
}
END_TEST

/* Nor has who is punted by another feature anything held. */
START_TEST(stock_holds_nothing)
{
    set_mode(ADP_MODE_STOCK);
    walk.verdict.held = says.is_wanted = says.truncates = true;
    tuple.tp_src = ADP_DNS_PORT;
    receive(1, PORT, 1);
    expect("(.)");
    says.frag = IP_MORE_FRAGMENTS;
    receive(1, PORT, 1);
    expect("(.)");
    set_mode(ADP_MODE_WATCHED);
    receive(1, PORT, 0);
    expect("(wH.)");
}
END_TEST

/* In place of the first fragment of a DNS answer that would be held one is held
 * that is truncated; all others are punted. */
START_TEST(fragment_of_an_answer)
{
    says.is_parsed = false;
    says.frag = IP_MORE_FRAGMENTS;
    says.truncates = true;
    receive(1, PORT, 1);
    expect("(fw.)");
    expect_punts(ADP_PUNT_FRAGMENT, 1);
    walk.verdict.held = true;
    receive(1, PORT, 0);
    expect("(fwH.)");
    ck_assert_uint_eq(adp_counted(&b->counters.dns_truncated), 1);
    ck_assert_uint_eq(adp_counted(&b->counters.decides), 1);
    walk.verdict.n_breaks = 1;
    receive(1, PORT, 1);
    expect("(fw.)");
    walk.verdict.n_breaks = 0;
    says.punt = ADP_PUNT_NORMAL;
    receive(1, PORT, 1);
    expect("(fw.)");
    says.has_room = false;
    receive(1, PORT, 1);
    expect("(f.)");
    ck_assert_uint_eq(adp_counted(&b->counters.dns_truncated), 1);
}
END_TEST

/* Who drops fragments holds no answer in the place of one. */
START_TEST(fragments_dropped)
{
    says.is_parsed = false;
    says.frag = IP_MORE_FRAGMENTS;
    says.truncates = true;
    walk.verdict.held = true;
    b->dpif.up.frag_handling = OFPUTIL_FRAG_DROP;
    receive(1, PORT, 1);
    expect("(f.)");
    expect_punts(ADP_PUNT_FRAGMENT, 1);
    b->dpif.up.frag_handling = OFPUTIL_FRAG_NX_MATCH;
    receive(1, PORT, 0);
    expect("(fwH.)");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("input-held");
    TCase *tc = tcase_create("input-held");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, held);
    tcase_add_loop_test(tc, held_behind_punted, 0, 2);
    tcase_add_test(tc, watched);
    tcase_add_test(tc, watched_and_not_held);
    tcase_add_test(tc, stock_holds_nothing);
    tcase_add_test(tc, fragment_of_an_answer);
    tcase_add_test(tc, fragments_dropped);
    suite_add_tcase(s, tc);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Which way a packet goes that begins a connection with NAT: with the address
 * that it was given, or with upstream. */

#include <config.h>
#include <check.h>

#include "conntrack-private.h"
#include "input-world.h"
#include "test-run.h"

/* The packet begins a connection with NAT, perhaps with a port that executing
 * ct() may not find. */
static void
begin_nat(bool by_chance)
{
    static struct conn conn = { .nat_action = NAT_ACTION_SRC };

    walk.ct.peek.applicable = true;
    walk.ct.peek.n_conns = 1;
    walk.ct.peek.conns[0].up = &conn;
    walk.ct.peek.conns[0].by_chance = by_chance;
}

/* What was foreseen is done first. */
START_TEST(nat)
{
    begin_nat(_i);
    receive(1, PORT, 0);
    expect("(fRwaSWto.)");

    /* Somebody else has got the tuple. */
    says.is_applied = false;
    receive(2, PORT, 2);
    expect("(fRwaw.)");
    expect_punts(ADP_PUNT_ACTION, 1);
    expect_punts(ADP_PUNT_BEHIND, 1);
    ck_assert_uint_eq(adp_counted(&b->counters.decides), 3);
    ck_assert_uint_eq(adp_counted(&b->counters.handled), 1);
}
END_TEST

/* Where it can't be done the executor does as well, but for a port that it may
 * not find: it would send the packet without NAT. */
START_TEST(nat_and_executor)
{
    bool by_chance = _i & 1;

    begin_nat(by_chance);
    switch (_i / 2) {
    case 0:
        says.sums_up = false;
        break;
    case 1:
        walk.has_ct_timeout = true;
        break;
    case 2:
        walk.ct.peek.applicable = says.is_applied = false;
        break;
    case 3:
        says.sums_up = false;
        says.is_wanted = walk.verdict.held = true;
        break;
    }
    receive(1, PORT, by_chance);
    expect(by_chance ? "(fRw.)" : _i == 0 ? "(fRwx.)" : _i == 2 ? "(fRwSWx.)"
           : _i == 4 ? "(fRwSWax.)" : "(fRwH.)");
    expect_punts(ADP_PUNT_ACTION, by_chance);
    ck_assert_uint_eq(adp_counted(&b->counters.handled), !by_chance);
}
END_TEST

/* What is held waits for the executor. */
START_TEST(truncated)
{
    says.is_parsed = false;
    says.frag = IP_MORE_FRAGMENTS;
    says.truncates = walk.verdict.held = true;
    says.sums_up = false;
    begin_nat(false);
    receive(1, PORT, 0);
    expect("(fwH.)");
    begin_nat(true);
    receive(1, PORT, 1);
    expect("(fw.)");
    expect_punts(ADP_PUNT_FRAGMENT, 1);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("input-nat");
    TCase *tc = tcase_create("input-nat");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, nat, 0, 2);
    tcase_add_loop_test(tc, nat_and_executor, 0, 8);
    tcase_add_test(tc, truncated);
    suite_add_tcase(s, tc);
    return test_run(s);
}

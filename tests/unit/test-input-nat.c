/* SPDX-License-Identifier: Apache-2.0 */

/* Which way a packet goes that begins a connection with NAT: with the address
 * that it was given, or with upstream. */

#include <config.h>
#include <check.h>

#include "conntrack-private.h"
#include "input-world.h"
#include "netlink.h"
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

/* What executing ct() has left without NAT, as another thread took the room or
 * the port, isn't sent. */
START_TEST(nat_was_lost)
{
    enum { N_CASES = 6 };
    struct ofpbuf *actions = &walk.verdict.actions;
    struct adp_break brk = { .packet_in = SIZE_MAX };
    struct conntrack_peek *peek = &walk.ct.peek;
    bool lost = _i >= N_CASES;
    const char *calls = "";
    uint64_t n_dropped = lost;

    begin_nat(false);
    says.sums_up = false;
    n_pieces = 0;
    says.natted = lost ? 0 : 1;
    tuple.ipv6 = _i & 1;
    if (tuple.ipv6) {
        tuple.src = tuple.dst = in6addr_any;
        tuple.dst.s6_addr[15] = 2;
    }
    peek->n_steps = 1;
    peek->steps[0].dl_type = htons(tuple.ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    if (tuple.ipv6) {
        peek->steps[0].dst.ipv6 = tuple.dst;
        peek->steps[0].src.ipv6.s6_addr[15] = NATTED;
    } else {
        peek->steps[0].src.ipv4 = htonl(NATTED);
        peek->steps[0].dst.ipv4 = htonl(2);
    }

    nl_msg_put_u32(actions, OVS_ACTION_ATTR_TRUNC, 1);
    switch (_i % N_CASES / 2) {
    case 0:
        nl_msg_put_flag(actions, OVS_ACTION_ATTR_CT);
        calls = lost ? "(fRw.k.)" : "(fRw.kx.)";
        break;
    case 1:                     /* The meter is behind ct(), then a break. */
        nl_msg_put_flag(actions, OVS_ACTION_ATTR_CT);
        nl_msg_put_u32(actions, OVS_ACTION_ATTR_METER, 1);
        brk.start = brk.end = actions->size;
        calls = lost ? "(fRw.k.)" : "(fRw.kkx.)";
        break;
    case 2:                     /* ct() is behind the break. */
        brk.start = brk.end = actions->size;
        nl_msg_put_flag(actions, OVS_ACTION_ATTR_CT);
        says.natted *= 2;
        calls = lost ? "(fRw.kk.)" : "(fRw.kkx.)";
        break;
    }
    size_t end_of_ct = actions->size - (_i % N_CASES / 2 == 1 ? 8 : 0);
    nl_msg_put_u32(actions, OVS_ACTION_ATTR_OUTPUT, 1);
    if (brk.end) {
        walk.verdict.n_breaks = 1;
        walk.verdict.breaks[0] = brk;
    }
    receive(1, PORT, 0);
    expect(calls);
    if (lost) {
        ck_assert_uint_eq(piece_start + piece_len, end_of_ct);
    }
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_NAT]),
                      n_dropped);
}
END_TEST

/* A meter before ct() may drop it; and of a ct() for a copy nothing is known. */
START_TEST(nat_was_not_tried)
{
    struct ofpbuf *actions = &walk.verdict.actions;

    begin_nat(false);
    says.sums_up = false;
    walk.ct.peek.n_steps = 1;
    n_pieces = 0;
    if (_i) {
        size_t offset = nl_msg_start_nested(actions, OVS_ACTION_ATTR_CLONE);

        nl_msg_put_flag(actions, OVS_ACTION_ATTR_CT);
        nl_msg_end_nested(actions, offset);
    } else {
        says.dropped_by_meter = 1;
        nl_msg_put_u32(actions, OVS_ACTION_ATTR_METER, 1);
        nl_msg_put_flag(actions, OVS_ACTION_ATTR_CT);
    }
    nl_msg_put_u32(actions, OVS_ACTION_ATTR_OUTPUT, 1);
    receive(1, PORT, 0);
    expect(_i ? "(fRwx.)" : "(fRw.k.)");
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_NAT]), 0);
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
    tcase_add_loop_test(tc, nat_was_lost, 0, 12);
    tcase_add_loop_test(tc, nat_was_not_tried, 0, 2);
    tcase_add_test(tc, truncated);
    suite_add_tcase(s, tc);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Packets of connections that a packet before them found settled, in the same
 * moment of the clock of sessions. */

#include <config.h>
#include <check.h>

#include "fast-world.h"
#include "test-run.h"

enum {
    MOMENT = 1 << ADP_SESSION_MOMENT_SHIFT,
    STEP = 1 << ADP_SESSION_AGE_SHIFT
};
BUILD_ASSERT_DECL(NOW % MOMENT < MOMENT - 1 && NOW % STEP < STEP - MOMENT);

/* '_i': the number of connections less one, over IPv4 and then IPv6. */
static void
begin(int i)
{
    if (i >= MAX_CONNS) {
        tuple.ipv6 = true;
        in6_addr_solicited_node(&tuple.src, &tuple.dst);
        tuple.dst = tuple.src;
        tuple.dst.s6_addr[15] ^= 1;
    }
    tuple.nw_proto = IPPROTO_UDP;
    wanted.n_conns = 1 + i % MAX_CONNS;
    for (size_t k = 0; k < MAX_CONNS; k++) {
        tracked[k].is_settled = true;
    }
    make_session();
}

/* A packet is taken; which connections it was passed through, and which were
 * fetched for it. */
static void
expect_tracked(bool all)
{
    begin_batch();
    take(0);
    for (int i = 0; i < MAX_CONNS; i++) {
        bool is_one = i < wanted.n_conns;

        ck_assert_int_eq(tracked[i].n_committed, all && is_one);
        ck_assert_int_eq(tracked[i].n_updated, 0);
        ck_assert_int_eq(prefetched >> i & 1, all && is_one && i < 2);
    }
}

START_TEST(settled)
{
    begin(_i);
    expect_tracked(true);
    expect_tracked(false);
    ck_assert_uint_eq(n_counted(), 2);

    /* In the next moment it is looked at again. */
    now_ms = ROUND_UP(NOW, MOMENT) - 1;
    expect_tracked(false);
    now_ms++;
    expect_tracked(true);
    expect_tracked(false);
}
END_TEST

/* The same moment of a later step: its number comes again after 128. */
START_TEST(later)
{
    begin(_i);
    for (int i = 0; i < 300; i++) {
        expect_tracked(true);
        expect_tracked(false);
        now_ms += STEP;
    }
    now_ms += 128 * MOMENT - STEP;
    expect_tracked(true);
}
END_TEST

/* All of them have to be settled. */
START_TEST(not_settled)
{
    begin(_i);
    for (int i = 0; i < wanted.n_conns; i++) {
        tracked[i].is_settled = false;
        expect_tracked(true);
        expect_tracked(true);
        tracked[i].is_settled = true;
    }
    expect_tracked(true);
    expect_tracked(false);
}
END_TEST

static void
expect_not_taken(void)
{
    uint64_t n = n_counted();

    begin_batch();
    struct dp_packet *p = receive(0);

    ck_assert(!try(p, bridge));
    ck_assert(!n_done && !n_rewritten);
    ck_assert_uint_eq(n_counted(), n);
    dp_packet_delete(p);
}

/* Any of them has moved on. */
START_TEST(moved)
{
    uint32_t version;

    begin(_i);
    expect_tracked(true);
    for (int i = 0; i < wanted.n_conns; i++) {
        atomic_read_relaxed(&versions[i], &version);
        atomic_store_relaxed(&versions[i], version + 1);
        atomic_store_relaxed(&conns[i].conn.version, version + 1);
        expect_not_taken();
        atomic_store_relaxed(&versions[i], version);
        atomic_store_relaxed(&conns[i].conn.version, version);
        expect_tracked(false);
    }
}
END_TEST

/* What speaks against a packet does so all the same. */
START_TEST(refused)
{
    begin(_i);
    expect_tracked(true);
    checksums_are_valid = false;
    expect_not_taken();
    checksums_are_valid = true;
    expect_tracked(false);
    adp_session_body(session)->token.life++;
    expect_not_taken();
}
END_TEST

/* One behind the other: up to the first with a wrong checksum. */
START_TEST(train)
{
    struct dp_packet *packets[4];

    begin(_i);
    expect_tracked(true);
    begin_batch();
    for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
        packets[i] = receive(i);
    }
    spoiled_packet = packets[2];
    adp_fast_fetch(&fast, ARRAY_SIZE(packets), false);
    ck_assert(adp_fast_has_trains(&fast));
    ck_assert_uint_eq(adp_fast_take_train(&fast, 0, packets,
                                          ARRAY_SIZE(packets), bridge), 2);
    ck_assert_int_eq(tracked[0].n_committed, 0);
    dp_packet_delete(packets[2]);
    dp_packet_delete(packets[3]);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("fast-settled");
    TCase *tc = tcase_create("fast-settled");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, settled, 0, 2 * MAX_CONNS);
    tcase_add_loop_test(tc, later, 0, 2 * MAX_CONNS);
    tcase_add_loop_test(tc, not_settled, 0, 2 * MAX_CONNS);
    tcase_add_loop_test(tc, moved, 0, 2 * MAX_CONNS);
    tcase_add_loop_test(tc, refused, 0, 2 * MAX_CONNS);
    tcase_add_loop_test(tc, train, 0, 2 * MAX_CONNS);
    suite_add_tcase(s, tc);
    return test_run(s);
}

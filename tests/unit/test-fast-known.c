/* SPDX-License-Identifier: Apache-2.0 */

/* What a packet's session says would become of it, asked without doing it. */

#include <config.h>
#include <check.h>

#include "fast-world.h"
#include "test-run.h"

/* What the session says of packet 0. */
static void
expect_known(enum adp_fast_known known)
{
    struct dp_packet *p = receive(0);

    fetch_packet(0);
    ck_assert_int_eq(adp_fast_known(&fast, &fast.packets[0], bridge), known);
    dp_packet_delete(p);
}

START_TEST(known)
{
    make_session();
    begin_batch();
    expect_known(ADP_FAST_NOT_REFUSED);
    tuple.tp_src++;
    expect_known(ADP_FAST_UNKNOWN);
    tuple.tp_src--;
    struct dp_packet *p = receive(0);
    fast.packets[0].is_parsed = false;
    ck_assert_int_eq(adp_fast_known(&fast, &fast.packets[0], bridge),
                     ADP_FAST_UNKNOWN);
    dp_packet_delete(p);
}
END_TEST

/* What conntrack wouldn't take as it took the packets before, or not by these
 * connections, may be another connection's.  '_i': which one isn't as it
 * was. */
START_TEST(known_of_ordinary)
{
    struct dp_packet *p;

    make_session();
    begin_batch();
    p = receive(0);
    fetch_packet(0);
    ck_assert_int_eq(adp_fast_known_ordinary(&fast, &fast.packets[0], p,
                                             bridge), ADP_FAST_NOT_REFUSED);
    tracked[_i / 2].is_ordinary = _i % 2;
    if (_i % 2) {
        atomic_store_relaxed(&conns[_i / 2].conn.version, 1000);
    }
    ck_assert_int_eq(adp_fast_known_ordinary(&fast, &fast.packets[0], p,
                                             bridge), ADP_FAST_UNKNOWN);
    ck_assert_int_eq(adp_fast_known(&fast, &fast.packets[0], bridge),
                     ADP_FAST_NOT_REFUSED);
    for (int i = 0; i < MAX_CONNS; i++) {
        ck_assert_int_eq(tracked[i].n_committed, 0);
        ck_assert_int_eq(tracked[i].n_updated, 0);
    }
    dp_packet_delete(p);
}
END_TEST

START_TEST(known_without_connections)
{
    struct dp_packet *p;

    wanted.n_conns = 0;
    make_session();
    begin_batch();
    p = receive(0);
    fetch_packet(0);
    tracked[0].is_ordinary = false;
    ck_assert_int_eq(adp_fast_known_ordinary(&fast, &fast.packets[0], p,
                                             bridge), ADP_FAST_NOT_REFUSED);
    fast.packets[0].is_parsed = false;
    ck_assert_int_eq(adp_fast_known_ordinary(&fast, &fast.packets[0], p,
                                             bridge), ADP_FAST_UNKNOWN);
    dp_packet_delete(p);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("fast-known");
    TCase *tc = tcase_create("fast-known");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, known);
    tcase_add_loop_test(tc, known_of_ordinary, 0, 2 * MAX_CONNS);
    tcase_add_test(tc, known_without_connections);
    suite_add_tcase(s, tc);
    return test_run(s);
}

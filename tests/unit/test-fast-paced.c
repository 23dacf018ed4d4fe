/* SPDX-License-Identifier: Apache-2.0 */

/* The fast path fetches what packets need: of many sessions in stages that go
 * on while others are parsed and taken, and each packet's come before it. */

#include <config.h>
#include <check.h>

#include "fast-world.h"
#include "test-run.h"

#define N_PACED 32

/* Of connection 'i', if it has one, and its verdict. */
static struct adp_session *paced_sessions[N_PACED];
static struct adp_cached_verdict *paced_verdicts[N_PACED];

/* Makes sessions for 'n' connections, from 'from' on with a tunnel. */
static void
make_paced_sessions(size_t n, size_t from)
{
    const uint16_t first = tuple.tp_src;

    for (size_t i = 0; i < n; i++) {
        wanted.tunnel = i >= from;
        tuple.tp_src = first + i;
        make_session();
        paced_sessions[i] = session;
        paced_verdicts[i] = verdict;
    }
    tuple.tp_src = first;
}

/* Receives packets of as many connections, those whose bit is in 'skipped'
 * without being parsed. */
static void
receive_paced(struct dp_packet *p[], size_t n, uint32_t skipped)
{
    const uint16_t first = tuple.tp_src;

    begin_batch();
    fast.is_paced = true;
    for (size_t i = 0; i < n; i++) {
        tuple.tp_src = first + i;
        if (skipped >> i & 1) {
            p[i] = talk_compose(&tuple, &segment, 10);
            adp_fast_skip(&fast, i);
        } else {
            p[i] = receive(i);
            ck_assert_uint_le(fast.n_conns, fast.n_sessions);
            ck_assert_uint_le(fast.n_sessions, i);
            /* One for each that is parsed, not all at once. */
            ck_assert(i < N_PACED / 2 || fast.n_sessions);
        }
    }
    tuple.tp_src = first;
    ck_assert(!adp_fast_has_trains(&fast));
    adp_fast_fetch(&fast, n, false);
}

/* Takes packet 'i', and deletes it if it can't be taken. */
static bool
take_paced(struct dp_packet *p, size_t i)
{
    n_done = 0;
    session = paced_sessions[i];
    verdict = paced_verdicts[i];
    if (!adp_fast_take(&fast, i, p, bridge)) {
        dp_packet_delete(p);
        return false;
    }
    return true;
}

START_TEST(paced)
{
    struct dp_packet *p[N_PACED];
    const size_t n = _i;

    make_paced_sessions(n, n);
    receive_paced(p, n, 0);
    ck_assert_uint_eq(fast.n_paced, n);
    ck_assert(n < N_PACED || fast.n_conns < n);
    /* Of any, whatever was fetched. */
    ck_assert(!n || adp_fast_known(&fast, &fast.packets[n - 1], bridge)
                    == ADP_FAST_NOT_REFUSED);
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_gt(fast.n_conns, i);
        ck_assert_uint_ge(fast.n_sessions, fast.n_conns);
        ck_assert_uint_gt(fast.n_more, i);
        ck_assert_uint_gt(fast.n_actions, i);
        ck_assert_ptr_eq(fast.packets[i].candidate, paced_sessions[i]);
        ck_assert(take_paced(p[i], i));
        ck_assert_ptr_eq(last_packet, p[i]);
    }
    ck_assert_uint_eq(fast.n_sessions, n);
    ck_assert_uint_eq(fast.n_conns, n);
    ck_assert_uint_eq(fast.n_more, n);
    ck_assert_uint_eq(fast.n_actions, n);
    ck_assert(!fast.n_missing && !fast.n_unknown);
}
END_TEST

/* A tunnel is fetched, once, for each that goes into one, also if the first to
 * do so is met late. */
START_TEST(paced_tunnel)
{
    struct dp_packet *p[N_PACED];

    wanted.n_conns = 1;
    make_paced_sessions(N_PACED, _i);
    receive_paced(p, N_PACED, 0);
    for (size_t i = 0; i < N_PACED; i++) {
        ck_assert(take_paced(p[i], i));
        ck_assert(i < _i || fast.n_actions > i);
    }
    ck_assert_int_eq(n_prefetched_actions, N_PACED - _i);
    adp_fast_flush(&fast);
}
END_TEST

/* Several without a session are found at once, for whoever looks for walks,
 * if there is one among the first 18. */
START_TEST(unknown_together)
{
    struct dp_packet *p[N_PACED];

    make_paced_sessions(_i, _i);
    receive_paced(p, N_PACED, 0);
    if (_i < 18) {
        ck_assert_uint_eq(fast.n_unknown, N_PACED - _i);
        ck_assert_uint_eq(fast.n_conns, N_PACED);
    } else {
        ck_assert_uint_lt(fast.n_conns, N_PACED);
    }
    for (size_t i = 0; i < N_PACED; i++) {
        ck_assert(take_paced(p[i], i) == (i < _i));
    }
    ck_assert_uint_eq(fast.n_unknown, N_PACED - _i);
    ck_assert_uint_eq(fast.n_missing, N_PACED - _i);
}
END_TEST

/* One alone keeps nobody from the pace; but whether there is another, of the
 * last ones, is looked at. */
START_TEST(unknown_alone)
{
    struct dp_packet *p[N_PACED];

    make_paced_sessions(N_PACED, N_PACED);
    adp_sessions_remove(cache.sessions, paced_sessions[5]);
    if (_i) {
        adp_sessions_remove(cache.sessions, paced_sessions[N_PACED - 1]);
    }
    receive_paced(p, N_PACED, 0);
    ck_assert_uint_eq(fast.n_sessions, N_PACED);
    ck_assert(_i ? fast.n_conns == N_PACED : fast.n_conns < N_PACED);
    for (size_t i = 0; i < N_PACED; i++) {
        ck_assert(take_paced(p[i], i)
                  == (i != 5 && (!_i || i < N_PACED - 1)));
    }
    ck_assert_uint_eq(fast.n_unknown, 1 + _i);
}
END_TEST

/* Sessions leave amid a batch: it goes on, and the packets of others are found
 * all the same. */
START_TEST(paced_changed)
{
    struct dp_packet *p[N_PACED];

    make_paced_sessions(N_PACED, N_PACED);
    receive_paced(p, N_PACED, 0);
    adp_sessions_remove(cache.sessions, paced_sessions[N_PACED - 1]);
    for (size_t i = 0; i < N_PACED; i++) {
        ck_assert(take_paced(p[i], i) == (i < N_PACED - 1));
        ck_assert_uint_gt(fast.n_conns, i);
    }
    ck_assert_uint_eq(fast.n_conns, N_PACED);
}
END_TEST

/* Where packets aren't taken, for a while, it is made up for. */
START_TEST(paced_gap)
{
    struct dp_packet *p[N_PACED];

    make_paced_sessions(N_PACED, 20);
    receive_paced(p, N_PACED, 0);
    for (size_t i = 0; i < N_PACED; i++) {
        if (i > 2 && i < 22) {
            dp_packet_delete(p[i]);
            continue;
        }
        ck_assert(take_paced(p[i], i));
        ck_assert_uint_gt(fast.n_conns, i);
        ck_assert(i < 22 || (fast.n_more > i && fast.n_actions > i));
    }
    ck_assert_int_eq(n_prefetched_actions, N_PACED - 20);
    adp_fast_flush(&fast);
}
END_TEST

/* There is a train, when much has been fetched at that pace. */
START_TEST(late_train)
{
    enum { N_SINGLE = 28 };
    const uint16_t first = tuple.tp_src;
    struct dp_packet *p[N_PACED];

    make_paced_sessions(N_SINGLE + 1, N_PACED);
    for (size_t i = 0; i < 3; i++) {
        adp_sessions_remove(cache.sessions, paced_sessions[i]);
    }
    begin_batch();
    fast.is_paced = true;
    for (size_t i = 0; i < N_PACED; i++) {
        tuple.tp_src = first + MIN(i, N_SINGLE);
        p[i] = receive(i);
    }
    ck_assert_uint_gt(fast.n_conns, 3);
    const uint8_t n_sessions = fast.n_sessions;
    ck_assert_uint_eq(n_sessions, 15);      /* No more of them. */
    adp_fast_fetch(&fast, N_PACED, false);
    ck_assert_uint_eq(fast.n_heads, N_SINGLE + 1);
    ck_assert_uint_eq(fast.n_unknown, 3);
    ck_assert_uint_eq(fast.n_sessions, n_sessions);
    for (size_t i = 0; i < N_SINGLE; i++) {
        ck_assert_uint_eq(adp_fast_train(&fast, i, N_PACED), 1);
        ck_assert(take_paced(p[i], i) == (i >= 3));
    }
    n_done = 0;
    session = paced_sessions[N_SINGLE];
    verdict = paced_verdicts[N_SINGLE];
    ck_assert_uint_eq(adp_fast_take_train(&fast, N_SINGLE, &p[N_SINGLE],
                                          N_PACED - N_SINGLE, bridge),
                      N_PACED - N_SINGLE);
}
END_TEST

/* Some have no session to look for. */
START_TEST(paced_skipped)
{
    struct dp_packet *p[N_PACED];
    const uint32_t skipped = 0x80413007;

    make_paced_sessions(N_PACED, N_PACED);
    receive_paced(p, N_PACED, skipped);
    for (size_t i = 0; i < N_PACED; i++) {
        ck_assert(take_paced(p[i], i) == !(skipped >> i & 1));
    }
    ck_assert(!fast.n_missing && !fast.n_unknown);
}
END_TEST

/* Of few sessions all is fetched at once: the core has it near. */
START_TEST(few_at_once)
{
    struct dp_packet *p[N_PACED];

    make_paced_sessions(N_PACED, N_PACED);
    begin_batch();
    ck_assert(!fast.is_paced);
    for (size_t i = 0; i < N_PACED; i++) {
        p[i] = receive(i);
        ck_assert_uint_eq(fast.n_sessions, 0);
        tuple.tp_src++;
    }
    adp_fast_fetch(&fast, N_PACED, false);
    ck_assert_uint_eq(fast.n_paced, 0);
    for (size_t i = 0; i < N_PACED; i++) {
        ck_assert_ptr_eq(fast.packets[i].candidate, paced_sessions[i]);
        ck_assert(take_paced(p[i], i));
    }
}
END_TEST

START_TEST(many_are_paced)
{
    adp_sessions_destroy(cache.sessions);
    cache.sessions = adp_sessions_create(100000, NULL, NULL);
    begin_batch();
    for (size_t i = 0; i < 33000; i++) {
        tuple.tp_src = i;
        make_session();
        begin_batch();
        ck_assert(fast.is_paced
                  == (adp_sessions_count(cache.sessions) > 32768));
    }
    ck_assert(fast.is_paced);
}
END_TEST

/* Whoever wants each packet alone gets no trains. */
START_TEST(alone)
{
    struct dp_packet *p[3];

    make_session();
    for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
        paced_sessions[i] = session;
        paced_verdicts[i] = verdict;
    }
    begin_batch();
    fast.is_paced = _i;
    for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
        p[i] = receive(i);
    }
    ck_assert(adp_fast_has_trains(&fast));
    adp_fast_fetch(&fast, ARRAY_SIZE(p), true);
    ck_assert(!adp_fast_has_trains(&fast));
    for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
        ck_assert_ptr_eq(fast.packets[i].candidate, session);
        ck_assert(take_paced(p[i], i));
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("fast-paced");
    TCase *tc = tcase_create("fast-paced");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, paced, 0, N_PACED + 1);
    tcase_add_loop_test(tc, paced_tunnel, 0, N_PACED);
    tcase_add_loop_test(tc, unknown_together, 0, N_PACED + 1);
    tcase_add_loop_test(tc, unknown_alone, 0, 2);
    tcase_add_test(tc, paced_changed);
    tcase_add_test(tc, paced_gap);
    tcase_add_test(tc, late_train);
    tcase_add_test(tc, paced_skipped);
    tcase_add_test(tc, few_at_once);
    tcase_add_test(tc, many_are_paced);
    tcase_add_loop_test(tc, alone, 0, 2);
    suite_add_tcase(s, tc);
    return test_run(s);
}

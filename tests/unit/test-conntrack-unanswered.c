/* SPDX-License-Identifier: Apache-2.0 */

/* The limit of connections that nobody has answered, other than TCP's, and who
 * is spared by it: conntrack-half-open.h. */

#include <config.h>
#include <check.h>
#include "conntrack.h"
#include "conntrack-half-open.h"
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "conntrack-table.h"
#include "csum.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "sctp-packet.h"
#include "talk.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"
#include "util.h"
#include "wait-until.h"

enum { ZONE = 5, LIMIT = 2000, N_OLD = 100 };

static struct conntrack *ct;
static long long int now;

#include "conntrack-counts.h"

static void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    /* Far from the clock of the thread that looks for expired ones. */
    now = time_msec() + 1000LL * 1000 * 1000;
    ct = conntrack_init();
    conntrack_unanswered_set_limit(LIMIT);
    conntrack_half_open_set_limit(LIMIT);
    conntrack_pool_run(ct);
}

static void
teardown(void)
{
    conntrack_destroy(ct);
    conntrack_unanswered_set_limit(CONNTRACK_MAX_UNANSWERED);
    conntrack_half_open_set_limit(CONNTRACK_MAX_HALF_OPEN);
    ovsrcu_barrier();
}

/* Packets. */

static const uint8_t NEW = CS_TRACKED | CS_NEW;
static const uint8_t EST = CS_TRACKED | CS_ESTABLISHED;
static const uint8_t REPLY = CS_TRACKED | CS_ESTABLISHED | CS_REPLY_DIR;

enum { GRE = 47 };

/* Of the 'i'th client's connection 'j' to the server, or with 'reply' back. */
static struct tuple
tuple_of(uint32_t i, uint16_t j, uint8_t nw_proto, bool reply)
{
    struct in6_addr client, server;
    struct tuple t = { .nw_proto = nw_proto };

    in6_addr_set_mapped_ipv4(&client, htonl(0x0a000000 + i));
    in6_addr_set_mapped_ipv4(&server, htonl(0xc0a80001));
    t.src = reply ? server : client;
    t.dst = reply ? client : server;
    t.tp_src = reply ? 80 : 1024 + j;
    t.tp_dst = reply ? 1024 + j : 80;
    return t;
}

static uint8_t
send_packet(struct dp_packet *p, bool reply)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(ct, &batch, htons(ETH_TYPE_IP), false, !reply, ZONE,
                      NULL, NULL, 0, 0, NULL, NULL, now, 0);
    uint8_t state = p->md.ct_state;
    dp_packet_delete(p);
    return state;
}

static struct dp_packet *
compose_icmp(const struct tuple *t, uint16_t id, bool reply)
{
    struct icmp_header icmp = {
        .icmp_type = reply ? ICMP4_ECHO_REPLY : ICMP4_ECHO_REQUEST,
        .icmp_fields.echo.id = htons(id),
    };

    icmp.icmp_csum = csum(&icmp, sizeof icmp);
    return talk_compose_raw(t, &icmp, sizeof icmp);
}

/* Has conntrack see a packet, and returns what it says. */
static uint8_t
say(uint32_t i, uint16_t j, uint8_t nw_proto, bool reply)
{
    const struct segment syn = { .flags = TCP_SYN, .win = 8192, .wscale = -1 };
    struct tuple t = tuple_of(i, j, nw_proto, reply);
    const char hello[] = "hello";

    return send_packet(nw_proto == IPPROTO_ICMP ? compose_icmp(&t, j, reply)
                       : nw_proto == GRE
                       ? talk_compose_raw(&t, hello, sizeof hello)
                       : nw_proto == IPPROTO_SCTP
                       ? sctp_compose(&t, 0, "init:1")
                       : talk_compose(&t, &syn, 0), reply);
}

static uint8_t
say_sctp(uint32_t i, bool reply, uint32_t vtag, const char *chunks)
{
    struct tuple t = tuple_of(i, 0, IPPROTO_SCTP, reply);

    return send_packet(sctp_compose(&t, vtag, chunks), reply);
}

/* Client 'i' begins 'n' connections. */
static void
flood_by(uint32_t i, uint16_t n, uint8_t nw_proto)
{
    for (uint16_t j = 0; j < n; j++) {
        say(i, j, nw_proto, false);
        if (j % 64 == 0) {
            ovsrcu_quiesce();
        }
    }
}

/* 'n' clients begin one each. */
static void
flood(uint32_t first, uint32_t n, uint8_t nw_proto)
{
    for (uint32_t i = 0; i < n; i++) {
        say(first + i, 0, nw_proto, false);
        if (i % 64 == 0) {
            ovsrcu_quiesce();
        }
    }
}

static struct conntrack_half_open_stats
get_stats(void)
{
    struct conntrack_half_open_stats stats;

    conntrack_unanswered_get_stats(ct, &stats);
    return stats;
}

static uint32_t
n_half_open(void)
{
    struct conntrack_half_open_stats stats;

    conntrack_half_open_get_stats(ct, &stats);
    return stats.n;
}

static const uint8_t protos[] = { IPPROTO_UDP, IPPROTO_ICMP, GRE };

/* Tests. */

START_TEST(test_flood)
{
    enum { N = 30000 };
    uint8_t proto = protos[_i];

    for (uint32_t i = 0; i < N_OLD; i++) {
        ck_assert_uint_eq(say(i, 0, proto, false), NEW);
        ck_assert_uint_eq(say(i, 0, proto, false), NEW);
        ck_assert_uint_eq(get_stats().n, 1);
        ck_assert_uint_eq(say(i, 0, proto, true), REPLY);
        ck_assert_uint_eq(get_stats().n, 0);
    }

    flood(N_OLD, N, proto);
    wait_until(get_stats().n <= LIMIT);
    struct conntrack_half_open_stats stats = get_stats();
    ck_assert_uint_eq(stats.limit, LIMIT);
    ck_assert_uint_eq(stats.n, LIMIT);
    ck_assert_uint_eq(stats.evicted + stats.unwatched, N - LIMIT);
    ck_assert_uint_eq(count_conns(), N_OLD + LIMIT + stats.unwatched);
    ck_assert_uint_eq(n_half_open(), 0);

    /* The newest is there, and may be answered. */
    ck_assert_uint_eq(say(N_OLD + N - 1, 0, proto, true), REPLY);
    ck_assert_uint_eq(get_stats().n, LIMIT - 1);

    /* Who was answered is there, too. */
    for (uint32_t i = 0; i < N_OLD; i++) {
        ck_assert_uint_eq(say(i, 0, proto, false), EST);
        ck_assert_uint_eq(say(i, 0, proto, true), REPLY);
    }

    conntrack_flush(ct, NULL);
    ck_assert_uint_eq(get_stats().n, 0);
    ck_assert_uint_eq(count_conns(), 0);
    ck_assert_uint_eq(count_nodes(), 0);
}
END_TEST

/* An answer to a forged INIT is no sign of life. */
START_TEST(test_sctp)
{
    ck_assert_uint_eq(say(1, 0, IPPROTO_SCTP, false), NEW);
    ck_assert_uint_eq(say_sctp(1, true, 1, "init-ack:2"), REPLY);
    ck_assert_uint_eq(get_stats().n, 1);
    ck_assert_uint_eq(say_sctp(1, false, 2, "cookie-echo"), EST);
    ck_assert_uint_eq(get_stats().n, 1);
    ck_assert_uint_eq(say_sctp(1, true, 1, "cookie-ack"), REPLY);
    ck_assert_uint_eq(get_stats().n, 0);

    flood(2, 2 * LIMIT, IPPROTO_SCTP);
    wait_until(get_stats().n <= LIMIT);
    ck_assert_uint_eq(say_sctp(1, false, 2, "data"), EST);
}
END_TEST

/* Neither is an ABORT, which says that there is no association. */
START_TEST(test_sctp_aborted)
{
    conntrack_unanswered_set_limit(1);
    if (_i) {
        ck_assert_uint_eq(say_sctp(1, false, 7, "heartbeat"), NEW);
        ck_assert_uint_eq(say_sctp(1, true, 7, "abort/t"), REPLY);
    } else {
        ck_assert_uint_eq(say(1, 0, IPPROTO_SCTP, false), NEW);
        ck_assert_uint_eq(say_sctp(1, true, 1, "abort"), REPLY);
    }
    ck_assert_uint_eq(get_stats().n, 1);

    ck_assert_uint_eq(say(2, 0, IPPROTO_SCTP, false), NEW);
    wait_until(get_stats().n <= 1);
    wait_until(count_conns() == 1);
    ck_assert_uint_eq(get_stats().evicted, 1);
    ck_assert_uint_eq(say_sctp(2, true, 1, "init-ack:2"), REPLY);
}
END_TEST

/* Who has few of them keeps them, however old, beside one that has many. */
START_TEST(test_spared)
{
    enum { N_OTHERS = 10, N_EACH = 20, FLOODER = 1000, N = 60000 };
    uint8_t proto = _i ? IPPROTO_TCP : IPPROTO_UDP;
    uint32_t n_there = 0;

    for (uint32_t i = 0; i < N_OTHERS; i++) {
        flood_by(i, N_EACH, proto);
    }
    flood_by(FLOODER, N, proto);
    wait_until(get_stats().n + n_half_open() <= LIMIT);
    for (uint32_t i = 0; i < N_OTHERS; i++) {
        for (uint16_t j = 0; j < N_EACH; j++) {
            const struct segment syn_ack = {
                .flags = TCP_SYN | TCP_ACK, .win = 8192, .ack = 1,
                .wscale = -1
            };
            struct tuple t = tuple_of(i, j, proto, true);
            uint8_t state = send_packet(talk_compose(&t, &syn_ack, 0), true);

            n_there += state == REPLY;
        }
    }
    /* (That one shares both slots with the flooder happens once in 100,000
     * runs.) */
    ck_assert_uint_ge(n_there, (N_OTHERS - 1) * N_EACH);
}
END_TEST

/* Where all have as many, the oldest leave, whoever is spared for a while. */
START_TEST(test_all_alike)
{
    enum { N_CLIENTS = 300, N_EACH = 100 };

    for (uint16_t j = 0; j < N_EACH; j++) {
        for (uint32_t i = 0; i < N_CLIENTS; i++) {
            say(i, j, IPPROTO_UDP, false);
        }
        ovsrcu_quiesce();
    }
    wait_until(get_stats().n <= LIMIT);
    ck_assert_uint_eq(get_stats().n, LIMIT);

    conntrack_unanswered_set_limit(1);
    conntrack_pool_run(ct);
    wait_until(get_stats().n <= 1);
    wait_until(count_conns() == 1 + get_stats().unwatched);
}
END_TEST

/* However full of answered connections the table is, there is room for new
 * ones. */
START_TEST(test_share)
{
    enum { MAX = 4096, N = 4000, FLOODER = 1000000 };

    conntrack_set_maxconns(ct, MAX);
    for (uint32_t i = 0; i < N; i++) {
        ck_assert_uint_eq(say(i, 0, IPPROTO_UDP, false), NEW);
        ck_assert_uint_eq(say(i, 0, IPPROTO_UDP, true), REPLY);
    }
    ck_assert_uint_eq(get_stats().limit, (MAX - N) / 2);
    for (int i = 0; i < 20; i++) {
        flood(FLOODER + 20 * i, 20, IPPROTO_UDP);
        flood(FLOODER + 20 * i, 20, IPPROTO_TCP);
        wait_until(get_stats().n <= (MAX - N) / 2);
        wait_until(n_half_open() <= (MAX - N) / 4);
        wait_until(count_conns() == N + get_stats().n + n_half_open());
    }
    ck_assert_uint_eq(get_stats().n, (MAX - N) / 2);
    ck_assert_uint_eq(n_half_open(), (MAX - N) / 4);
    ck_assert_uint_eq(say(N, 0, IPPROTO_UDP, false), NEW);
    ck_assert_uint_eq(say(N, 0, IPPROTO_UDP, true), REPLY);
}
END_TEST

START_TEST(test_limits)
{
    conntrack_unanswered_set_limit(CONNTRACK_MAX_UNANSWERED);
    conntrack_set_maxconns(ct, 3000000);
    ck_assert_uint_eq(get_stats().limit, 1500000);
    conntrack_set_maxconns(ct, 100);
    ck_assert_uint_eq(get_stats().limit, CONNTRACK_MAX_UNANSWERED);
    conntrack_set_maxconns(ct, 3000000);

    conntrack_unanswered_set_limit(CONNTRACK_HALF_OPEN_UNLIMITED);
    flood(0, 3 * LIMIT, IPPROTO_UDP);
    ck_assert_uint_eq(get_stats().n, 3 * LIMIT);
    ck_assert_uint_eq(count_conns(), 3 * LIMIT);

    /* One that comes holds for those that began before it. */
    conntrack_unanswered_set_limit(LIMIT);
    conntrack_pool_run(ct);
    wait_until(get_stats().n <= LIMIT);
    conntrack_flush(ct, NULL);

    /* One that shrinks holds for what was there. */
    wait_until(conntrack_table_is_ready(ct));
    conntrack_unanswered_set_limit(LIMIT);
    flood(0, LIMIT / 2, IPPROTO_UDP);
    ck_assert_uint_eq(get_stats().n, LIMIT / 2);
    conntrack_unanswered_set_limit(LIMIT / 4);
    conntrack_pool_run(ct);
    wait_until(get_stats().n <= LIMIT / 4);
    wait_until(count_conns() == LIMIT / 4);
}
END_TEST

/* Two threads begin connections and answer some, a third one ends them. */

enum { N_RACE = 40000 };

static void *
race_main(void *first_)
{
    uint32_t first = (uintptr_t) first_;

    for (uint32_t i = 0; i < N_RACE; i++) {
        uint8_t proto = protos[i % ARRAY_SIZE(protos)];

        say(first + i % 7000, i / 7000, proto, false);
        if (i % 4 == 0) {
            say(first + i % 7000, i / 7000, proto, true);
        }
        if (i % 32 == 0) {
            ovsrcu_quiesce();
        }
    }
    return NULL;
}

START_TEST(test_threads)
{
    pthread_t threads[2];

    for (uintptr_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = ovs_thread_create("race", race_main,
                                       (void *) (i * N_RACE));
    }
    for (int i = 0; i < 20; i++) {
        xnanosleep(5 * 1000 * 1000);
        conntrack_flush(ct, NULL);
        ovsrcu_quiesce();
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        ovsrcu_quiesce_start();
        xpthread_join(threads[i], NULL);
        ovsrcu_quiesce_end();
    }
    wait_until(get_stats().n <= LIMIT && count_nodes() == count_conns());
    conntrack_flush(ct, NULL);
    wait_until(!get_stats().n && !count_nodes() && !count_conns());
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-unanswered");
    TCase *tc = tcase_create("conntrack-unanswered");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_flood, 0, ARRAY_SIZE(protos));
    tcase_add_test(tc, test_sctp);
    tcase_add_loop_test(tc, test_sctp_aborted, 0, 2);
    tcase_add_loop_test(tc, test_spared, 0, 2);
    tcase_add_test(tc, test_all_alike);
    tcase_add_test(tc, test_share);
    tcase_add_test(tc, test_limits);
    tcase_add_test(tc, test_threads);
    return test_run_nofork(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The limit of half-open connections: conntrack-half-open.h. */

#include <config.h>
#include <check.h>
#include <pthread.h>
#include "conntrack.h"
#include "conntrack-half-open.h"
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "conntrack-table.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "talk.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"
#include "util.h"
#include "wait-until.h"

enum { ZONE = 5, LIMIT = 2000, N_OLD = 100 };

static struct conntrack *ct;
static long long int now;
static bool natted;             /* ct(commit) has a NAT. */

#include "conntrack-counts.h"

static void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    /* So far ahead that the thread that looks for expired connections, which
     * goes by the real clock, leaves them alone. */
    now = time_msec() + 1000LL * 1000 * 1000;
    natted = false;
    ct = conntrack_init();
    conntrack_half_open_set_limit(LIMIT);
    conntrack_pool_run(ct);
}

static void
teardown(void)
{
    conntrack_destroy(ct);
    conntrack_half_open_set_limit(CONNTRACK_MAX_HALF_OPEN);
    ovsrcu_barrier();
}

/* Packets. */

/* Of the 'i'th client to the server, or with 'reply' back. */
static struct tuple
tuple_of(uint32_t i, uint8_t nw_proto, bool reply)
{
    struct in6_addr client, server;
    struct tuple t = { .nw_proto = nw_proto };

    in6_addr_set_mapped_ipv4(&client, htonl(0x0a000000 + i));
    in6_addr_set_mapped_ipv4(&server, htonl(0xc0a80001 + (reply && natted)));
    t.src = reply ? server : client;
    t.dst = reply ? client : server;
    t.tp_src = reply ? 80 : 1024;
    t.tp_dst = reply ? 1024 : 80;
    return t;
}

/* Has conntrack see a packet, and returns what it says. */
static uint8_t
send_packet(uint32_t i, uint8_t nw_proto, bool reply, const struct segment *s)
{
    struct nat_action_info_t nat = {
        .nat_action = NAT_ACTION_DST,
        .min_addr.ipv4 = htonl(0xc0a80002), .max_addr.ipv4 = htonl(0xc0a80002),
    };
    struct tuple t = tuple_of(i, nw_proto, reply);
    struct dp_packet *p = talk_compose(&t, s, 0);
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(ct, &batch, htons(ETH_TYPE_IP), false, !reply, ZONE,
                      NULL, NULL, 0, 0, NULL, natted ? &nat : NULL, now, 0);
    uint8_t state = p->md.ct_state & ~(CS_SRC_NAT | CS_DST_NAT);
    dp_packet_delete(p);
    return state;
}

static uint8_t
send_tcp(uint32_t i, bool reply, uint16_t flags, uint32_t seq, uint32_t ack)
{
    const struct segment s = {
        .flags = flags, .seq = seq, .ack = ack, .win = 8192, .wscale = -1,
    };

    return send_packet(i, IPPROTO_TCP, reply, &s);
}

static uint8_t
syn(uint32_t i)
{
    return send_tcp(i, false, TCP_SYN, 1000, 0);
}

static uint8_t
syn_ack(uint32_t i)
{
    return send_tcp(i, true, TCP_SYN | TCP_ACK, 5000, 1001);
}

static uint8_t
ack(uint32_t i)
{
    return send_tcp(i, false, TCP_ACK, 1001, 5001);
}

static const uint8_t NEW = CS_TRACKED | CS_NEW;
static const uint8_t EST = CS_TRACKED | CS_ESTABLISHED;
static const uint8_t REPLY = CS_TRACKED | CS_ESTABLISHED | CS_REPLY_DIR;

static void
open_conn(uint32_t i)
{
    ck_assert_uint_eq(syn(i), NEW);
    ck_assert_uint_eq(syn_ack(i), REPLY);
    ck_assert_uint_eq(ack(i), EST);
}

static void
flood(uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        syn(first + i);
        if (i % 64 == 0) {
            ovsrcu_quiesce();
        }
    }
}

/* What there is. */

static struct conntrack_half_open_stats
get_stats(void)
{
    struct conntrack_half_open_stats stats;

    conntrack_half_open_get_stats(ct, &stats);
    return stats;
}

/* Gives the thread time to catch up. */
static void
wait_for_n(uint32_t n)
{
    wait_until(get_stats().n <= n);
}

/* Tests. */

START_TEST(test_flood)
{
    enum { N = 60000 };

    natted = _i;
    for (uint32_t i = 0; i < N_OLD; i++) {
        open_conn(i);
    }
    ck_assert_uint_eq(get_stats().n, 0);
    ck_assert_uint_eq(count_conns(), N_OLD);

    flood(N_OLD, N);
    wait_for_n(LIMIT);
    struct conntrack_half_open_stats stats = get_stats();
    ck_assert_uint_eq(stats.limit, LIMIT);
    ck_assert_uint_eq(stats.n, LIMIT);
    ck_assert_uint_eq(stats.evicted + stats.unwatched, N - LIMIT);
    ck_assert_uint_eq(count_conns(), N_OLD + LIMIT + stats.unwatched);
    ck_assert_uint_eq(count_nodes(), count_conns() * (natted ? 2 : 1));

    /* The newest are there, and may go on; the oldest aren't. */
    uint32_t newest = N_OLD + N - 1;
    for (uint32_t i = newest; i > newest - LIMIT / 2; i--) {
        ck_assert_uint_eq(syn_ack(i), REPLY);
        ck_assert_uint_eq(ack(i), EST);
    }
    ck_assert_uint_eq(get_stats().n, LIMIT - LIMIT / 2);
    if (!stats.unwatched) {
        ck_assert(!(syn_ack(N_OLD) & CS_ESTABLISHED));
    }

    /* Who was established still is. */
    for (uint32_t i = 0; i < N_OLD; i++) {
        ck_assert_uint_eq(ack(i), EST);
        ck_assert_uint_eq(send_tcp(i, true, TCP_ACK, 5001, 1001), REPLY);
    }

    conntrack_flush(ct, NULL);
    ck_assert_uint_eq(get_stats().n, 0);
    ck_assert_uint_eq(count_conns(), 0);
    ck_assert_uint_eq(count_nodes(), 0);
}
END_TEST

/* What a forged SYN brings about is no answer of its sender. */
START_TEST(test_forged)
{
    ck_assert_uint_eq(syn(1), NEW);
    ck_assert_uint_eq(syn_ack(1), REPLY);
    ck_assert_uint_eq(syn(2), NEW);
    ck_assert_uint_eq(send_tcp(2, true, TCP_RST | TCP_ACK, 0, 1001), REPLY);
    ck_assert_uint_eq(syn(3), NEW);
    ck_assert_uint_eq(syn(3), NEW);             /* Once more. */
    ck_assert_uint_eq(syn(4), NEW);
    ck_assert_uint_eq(syn_ack(4), REPLY);
    /* A third packet that doesn't know the server's number. */
    ck_assert_uint_eq(send_tcp(4, false, TCP_ACK, 1001, 0x40000000),
                      CS_TRACKED | CS_INVALID);
    ck_assert_uint_eq(get_stats().n, 4);
    ck_assert_uint_eq(ack(4), EST);
    ck_assert_uint_eq(get_stats().n, 3);

    /* Picked up in the middle. */
    ck_assert_uint_eq(ack(5), NEW);
    ck_assert_uint_eq(get_stats().n, 4);
    ck_assert_uint_eq(send_tcp(5, true, TCP_ACK, 5001, 1001), REPLY);
    ck_assert_uint_eq(ack(5), EST);
    ck_assert_uint_eq(get_stats().n, 3);
}
END_TEST

/* A tuple that is used again, and connections that expire. */
START_TEST(test_again)
{
    for (int i = 0; i < 10; i++) {
        ck_assert_uint_eq(syn(1), NEW);
        ck_assert_uint_eq(get_stats().n, 1);
        ck_assert_uint_eq(count_conns(), 1);
    }
    conntrack_flush(ct, NULL);
    ck_assert_uint_eq(get_stats().n, 0);
    for (int i = 0; i < 10; i++) {
        open_conn(1);
        conntrack_flush(ct, NULL);
    }
    ck_assert_uint_eq(get_stats().n, 0);
    ck_assert_uint_eq(get_stats().evicted, 0);
}
END_TEST

/* UDP doesn't count. */
START_TEST(test_udp)
{
    for (uint32_t i = 0; i < 2 * LIMIT; i++) {
        ck_assert_uint_eq(send_packet(i, IPPROTO_UDP, false, NULL), NEW);
    }
    ck_assert_uint_eq(get_stats().n, 0);
    ck_assert_uint_eq(count_conns(), 2 * LIMIT);
}
END_TEST

/* One connection stays half-open while others open at a pace.  Returns how many
 * of them found no place for their entry. */
static uint64_t
open_many(uint32_t n, long long int pause_us)
{
    uint64_t before = get_stats().unwatched;

    ck_assert_uint_eq(syn(0), NEW);
    for (uint32_t i = 1; i < n; i++) {
        open_conn(i);
        if (i % 64 == 0) {
            ovsrcu_quiesce();
            xnanosleep(pause_us * 1000);
        }
    }
    ck_assert_uint_eq(get_stats().n, 1);
    ck_assert_uint_eq(get_stats().evicted, 0);
    return get_stats().unwatched - before;
}

/* Connections that open leave void entries behind, which don't add up, and don't
 * move those that stay half-open forward.  How fast that is depends on when the
 * thread gets its turn; but there is a pace at which it keeps up. */
START_TEST(test_void_entries)
{
    enum { N = 150000 };
    long long int pause_us = 10;

    while (open_many(N, pause_us)) {
        conntrack_flush(ct, NULL);
        ovsrcu_barrier();
        pause_us *= 8;
        ck_assert_int_lt(pause_us, 10000);
    }
    ck_assert_uint_eq(syn_ack(0), REPLY);
    ck_assert_uint_eq(ack(0), EST);
    ck_assert_uint_eq(get_stats().n, 0);
}
END_TEST

START_TEST(test_limits)
{
    conntrack_half_open_set_limit(CONNTRACK_HALF_OPEN_UNLIMITED);
    flood(0, 3 * LIMIT);
    ck_assert_uint_eq(get_stats().n, 3 * LIMIT);
    ck_assert_uint_eq(get_stats().limit, 0);
    ck_assert_uint_eq(count_conns(), 3 * LIMIT);

    /* One that comes holds for those that began before it. */
    conntrack_half_open_set_limit(LIMIT);
    conntrack_pool_run(ct);
    wait_for_n(LIMIT);
    ck_assert_uint_eq(count_conns(), LIMIT);
    conntrack_flush(ct, NULL);

    /* One that shrinks holds for what was there, also when the thread has nothing
     * else to do. */
    wait_until(conntrack_table_is_ready(ct));
    conntrack_half_open_set_limit(LIMIT);
    flood(0, LIMIT / 2);
    ck_assert_uint_eq(get_stats().n, LIMIT / 2);
    conntrack_half_open_set_limit(LIMIT / 4);
    conntrack_pool_run(ct);
    wait_for_n(LIMIT / 4);
    ck_assert_uint_eq(count_conns(), LIMIT / 4);
}
END_TEST

/* Begins 'n' connections, and pauses now and then.  Returns how many couldn't
 * be noted. */
static uint64_t
begin_many(uint32_t n, long long int pause_us)
{
    uint64_t before = get_stats().unwatched;

    for (uint32_t i = 0; i < n; i++) {
        syn(i);
        if (i % 64 == 0) {
            ovsrcu_quiesce();
            xnanosleep(pause_us * 1000);
        }
    }
    return get_stats().unwatched - before;
}

/* Without a limit as many are noted as the table holds, if the thread gets its
 * turns. */
START_TEST(test_unlimited)
{
    enum { N = 150000 };
    long long int pause_us = 10;

    conntrack_half_open_set_limit(CONNTRACK_HALF_OPEN_UNLIMITED);
    while (begin_many(N, pause_us)) {
        conntrack_flush(ct, NULL);
        ovsrcu_barrier();
        pause_us *= 8;
        ck_assert_int_lt(pause_us, 10000);
    }
    ck_assert_uint_eq(get_stats().n, N);
    conntrack_half_open_set_limit(LIMIT);
    conntrack_pool_run(ct);
    wait_for_n(LIMIT);
}
END_TEST

/* One that is lifted and set again while connections leave: none leave that
 * had a place all the time. */
START_TEST(test_limit_lifted)
{
    enum { N_ROUNDS = 100, N_CHANGES = 100 };

    for (int i = 0; i < N_ROUNDS; i++) {
        conntrack_half_open_set_limit(2 * LIMIT);
        flood(0, LIMIT + LIMIT / 4);
        ck_assert_uint_eq(get_stats().n, LIMIT + LIMIT / 4);
        do {
            for (int j = 0; j < N_CHANGES; j++) {
                conntrack_half_open_set_limit(LIMIT);
                conntrack_half_open_run(ct);
                conntrack_half_open_set_limit(CONNTRACK_HALF_OPEN_UNLIMITED);
                conntrack_half_open_run(ct);
            }
        } while (get_stats().n > LIMIT);
        ck_assert_uint_eq(get_stats().n, LIMIT);
        conntrack_flush(ct, NULL);
    }
}
END_TEST

/* A zone's count goes down, too. */
START_TEST(test_zone_limit)
{
    ck_assert_int_eq(zone_limit_update(ct, ZONE, 10 * LIMIT), 0);
    flood(0, 3 * LIMIT);
    wait_for_n(LIMIT);
    struct conntrack_zone_limit zl = zone_limit_get(ct, ZONE);
    ck_assert_uint_eq(atomic_count_get(&zl.count), count_conns());
    ck_assert_int_eq(zone_limit_delete(ct, ZONE), 0);
}
END_TEST

/* The thread that looks for expired connections takes them off the count until it
 * has ended. */

static const struct conntrack *ending;
static unsigned int n_joined;   /* Its thread. */
static unsigned int n_counted;  /* The count was there then. */

__typeof__(pthread_join) __real_pthread_join, __wrap_pthread_join;

int
__wrap_pthread_join(pthread_t thread, void **result)
{
    int error = __real_pthread_join(thread, result);

    if (ending && pthread_equal(thread, ending->clean_thread)) {
        n_joined++;
        n_counted += ending->half_open != NULL;
    }
    return error;
}

START_TEST(test_end)
{
    struct conntrack *other = conntrack_init();

    conntrack_pool_run(other);
    ending = other;
    n_joined = n_counted = 0;
    conntrack_destroy(other);
    ending = NULL;
    ck_assert_uint_eq(n_joined, 1);
    ck_assert_uint_eq(n_counted, 1);
}
END_TEST

/* Two threads begin connections, a third one ends them, the fourth is
 * conntrack's own. */

enum { N_RACE = 40000 };

static void *
race_main(void *first_)
{
    uint32_t first = (uintptr_t) first_;

    for (uint32_t i = 0; i < N_RACE; i++) {
        syn(first + i);
        if (i % 4 == 0) {
            syn_ack(first + i);
            ack(first + i);
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

    natted = true;
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
    /* What it has taken when it is flushed leaves a little later. */
    wait_until(get_stats().n <= LIMIT && count_nodes() == 2 * count_conns());
    conntrack_flush(ct, NULL);
    wait_until(!get_stats().n && !count_nodes() && !count_conns());
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-half-open");
    TCase *tc = tcase_create("conntrack-half-open");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_flood, 0, 2);
    tcase_add_test(tc, test_forged);
    tcase_add_test(tc, test_again);
    tcase_add_test(tc, test_udp);
    tcase_add_test(tc, test_void_entries);
    tcase_add_test(tc, test_limits);
    tcase_add_test(tc, test_unlimited);
    tcase_add_test(tc, test_limit_lifted);
    tcase_add_test(tc, test_zone_limit);
    tcase_add_test(tc, test_end);
    tcase_add_test(tc, test_threads);
    return test_run_nofork(s);
}

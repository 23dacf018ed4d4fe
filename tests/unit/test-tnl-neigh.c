/* SPDX-License-Identifier: Apache-2.0 */

/* Upstream's cache of tunnels' neighbours with ovs/hooks/tnl-neigh-room.h. */

#include <config.h>
#include <check.h>
#include <net/if.h>

#include "coverage.h"
#include "dpif.h"
#include "packets.h"
#include "random.h"
#include "seq.h"
#include "test-run.h"
#include "timeval.h"
#include "tnl-neigh-cache.h"
#include "tnl-neigh-max.h"
#include "util.h"

extern struct coverage_counter counter_tnl_neigh_evicted;

__typeof__(time_msec) __wrap_time_msec;

static long long int now = 1000;
static const char bridge[IFNAMSIZ] = "br0";

long long int
__wrap_time_msec(void)
{
    return now;
}

static void
setup(void)
{
    random_set_seed(1);         /* Which addresses share bits is chance. */
    tnl_conf_seq = seq_create();
    tnl_neigh_cache_init();
}

static struct in6_addr
address(uint32_t number)
{
    return in6_addr_mapped_ipv4(htonl(0x0a000000 + number));
}

static void
come(uint32_t number, uint8_t last_of_mac)
{
    struct in6_addr ip = address(number);
    struct eth_addr mac = ETH_ADDR_C(02,00,00,00,00,00);

    mac.ea[5] = last_of_mac;
    tnl_neigh_set(bridge, &ip, mac);
}

/* Tunnel output asks. */
static bool
knows(uint32_t number)
{
    struct in6_addr ip = address(number);
    struct eth_addr mac;

    return !tnl_neigh_lookup(bridge, &ip, &mac);
}

static unsigned int
n_evicted(void)
{
    return counter_tnl_neigh_evicted.count();   /* And begins anew. */
}

/* Did tunnel output have to be translated anew since it was asked last? */
static bool
told(void)
{
    static uint64_t seqno;
    uint64_t before = seqno;

    seqno = seq_read(tnl_conf_seq);
    return seqno != before;
}

/* A flood of forged ones, and one that output asks for. */
START_TEST(flood)
{
    ck_assert(!knows(1));
    told();
    come(1, 1);
    ck_assert(told());

    uint64_t n_told = 0;
    for (uint32_t i = 0; i < 3 * TNL_NEIGH_MAX; i++) {
        now++;
        come(1000 + i, 1);
        n_told += told();
    }
    /* Three addresses in 65,536 share a bit with the one that was asked for. */
    ck_assert_uint_lt(n_told, 3 * TNL_NEIGH_MAX / 100);
    ck_assert_uint_eq(n_evicted(), 1 + 3 * TNL_NEIGH_MAX - TNL_NEIGH_MAX);

    /* Nobody has asked for it for all that time. */
    ck_assert(knows(1));
    ck_assert(!knows(1000));
    ck_assert(knows(1000 + 3 * TNL_NEIGH_MAX - 1));
}
END_TEST

/* Others that were asked for, too, make room when there is no other way. */
START_TEST(all_asked)
{
    for (uint32_t i = 0; i < TNL_NEIGH_MAX; i++) {
        come(i, 1);
        ck_assert(knows(i));
    }
    told();
    now++;
    come(TNL_NEIGH_MAX, 1);
    ck_assert(told());
    ck_assert_uint_eq(n_evicted(), 1);
    knows(TNL_NEIGH_MAX);
    told();

    size_t n = 0;
    for (uint32_t i = 0; i < TNL_NEIGH_MAX; i++) {
        n += knows(i);
    }
    ck_assert_uint_eq(n, TNL_NEIGH_MAX - 1);
}
END_TEST

/* Another address of Ethernet, and an end. */
START_TEST(changes)
{
    come(1, 1);
    told();
    come(1, 2);
    ck_assert(!told());
    ck_assert(knows(1));
    come(1, 2);
    ck_assert(!told());
    come(1, 3);
    ck_assert(told());

    /* Nobody has asked for this one. */
    come(2, 1);
    ck_assert(!told());

    now += 900 * 1000;
    tnl_neigh_cache_run();
    ck_assert(told());
    ck_assert(!knows(1));
    come(2, 1);
    now += 900 * 1000;
    tnl_neigh_cache_run();
    ck_assert(!told());
    ck_assert(!knows(2));
}
END_TEST

/* Each leaves when its time has come, not with the first. */
START_TEST(expire)
{
    uint32_t n = 100;

    for (uint32_t i = 0; i < n; i++) {
        knows(i);
        come(i, 1);
        now += 1000;
        tnl_neigh_cache_run();
    }
    told();
    now += (900 - n) * 1000 - 1;
    tnl_neigh_cache_run();
    ck_assert(!told());
    now++;
    for (uint32_t i = 0; i < n; i++) {
        tnl_neigh_cache_run();
        ck_assert(told());
        tnl_neigh_cache_run();
        ck_assert(!told());
        now += 1000;
    }
    tnl_neigh_cache_run();
    ck_assert(!told());
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("tnl-neigh");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, flood);
    tcase_add_test(tc, all_asked);
    tcase_add_test(tc, changes);
    tcase_add_test(tc, expire);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* A zone's limit: each packet that finds no room for its connection is counted
 * once, however often it was foreseen, and whether it was at all. */

#include <config.h>
#include <check.h>
#include "conntrack.h"
#include "conntrack-foresee.h"
#include "conntrack-peek.h"
#include "conntrack-private.h"
#include "coverage.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "talk.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"

enum { ZONE = 5, OTHER_ZONE, N = 50 };

extern struct coverage_counter counter_conntrack_zone_full;
extern struct coverage_counter counter_conntrack_full;

static struct conntrack *ct;
static long long int now;

#include "conntrack-counts.h"

static void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    now = time_msec() + 1000LL * 1000 * 1000;
    ct = conntrack_init();
    counter_conntrack_zone_full.count();
    counter_conntrack_full.count();
}

static void
teardown(void)
{
    conntrack_destroy(ct);
    ovsrcu_barrier();
}

/* Foresees what becomes of the packet, and has it so if that can be. */
static bool
apply(struct dp_packet *p, const struct tuple *t, uint16_t zone)
{
    static struct conntrack_peek peek;
    const struct conntrack_peek_request req = { .zone = zone, .commit = true };

    foresee_ct(&peek, ct, p, t, &req, now);
    ck_assert_uint_eq(peek.ct_state, CS_TRACKED | CS_NEW);
    bool applied = peek.applicable && conntrack_peek_apply(&peek);
    conntrack_peek_uninit(&peek);
    return applied;
}

/* The 'i'th client's first packet.  It is new, also if there is no room. */
static void
begin(uint32_t i, uint16_t zone, int n_foreseen)
{
    struct tuple t = { .nw_proto = IPPROTO_UDP, .tp_src = 1024, .tp_dst = 80 };
    struct dp_packet_batch batch;
    bool applied = false;

    in6_addr_set_mapped_ipv4(&t.src, htonl(0x0a000000 + i));
    in6_addr_set_mapped_ipv4(&t.dst, htonl(0xc0a80001));
    struct dp_packet *p = talk_compose(&t, NULL, 0);
    for (int j = 0; j < n_foreseen && !applied; j++) {
        applied = apply(p, &t, zone);
    }
    if (!applied) {
        dp_packet_batch_init_packet(&batch, p);
        conntrack_execute(ct, &batch, htons(ETH_TYPE_IP), false, true, zone,
                          NULL, NULL, 0, 0, NULL, NULL, now, 0);
        ck_assert_uint_eq(p->md.ct_state, CS_TRACKED | CS_NEW);
    }
    dp_packet_delete(p);
}

START_TEST(test_zone)
{
    ck_assert_int_eq(zone_limit_update(ct, ZONE, 1), 0);
    for (uint32_t i = 0; i < N; i++) {
        begin(i, ZONE, _i);
        begin(i, OTHER_ZONE, _i);
    }
    ck_assert_uint_eq(count_conns(), 1 + N);
    ck_assert_uint_eq(count_nodes(), 1 + N);
    ck_assert_uint_eq(counter_conntrack_zone_full.count(), N - 1);
    ck_assert_uint_eq(counter_conntrack_full.count(), 0);
}
END_TEST

START_TEST(test_table)
{
    conntrack_set_maxconns(ct, 1);
    for (uint32_t i = 0; i < N; i++) {
        begin(i, ZONE, _i);
    }
    ck_assert_uint_eq(count_conns(), 1);
    ck_assert_uint_eq(counter_conntrack_full.count(), N - 1);
    ck_assert_uint_eq(counter_conntrack_zone_full.count(), 0);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-zone-full");
    TCase *tc = tcase_create("conntrack-zone-full");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_zone, 0, 3);
    tcase_add_loop_test(tc, test_table, 0, 3);
    return test_run_nofork(s);
}

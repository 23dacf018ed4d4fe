/* SPDX-License-Identifier: Apache-2.0 */

/* Timeout policies of connections that are handed over: each process calls them
 * by numbers of its own. */

#include <config.h>
#include <check.h>
#include <string.h>
#include "conntrack-handover.h"
#include "conntrack-private.h"
#include "conntrack-tp.h"
#include "handover-world.h"
#include "openvswitch/vlog.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"

static void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    /* Beyond what threads that sweep take for expired. */
    now = time_msec() + 1000LL * 1000 * 1000;
}

/* How many seconds are left to the connection. */
static long long int
seconds_left(struct conn *conn)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    long long int expiration;

    atomic_read_relaxed(&conn->expiration, &expiration);
    return (expiration - now) / 1000;
}

/* A connection whose policy has the number 'old_id' comes with 'new_id', and a
 * packet renews it for so many seconds. */
static void
check_policy(struct conntrack *ct, struct conntrack *heir, uint16_t port,
             uint32_t old_id, uint32_t new_id, long long int seconds)
{
    struct conn *old = find_conn(ct, port), *new = find_conn(heir, port);
    const struct request ask = { .zone = ZONE };

    ck_assert_uint_eq(old->tp_id, old_id);
    ck_assert_uint_eq(new->tp_id, new_id);
    ck_assert_int_eq(seconds_left(new), seconds_left(old));
    pass(heir, NULL, false, &ask, udp(port, true));
    ck_assert_int_eq(seconds_left(new), seconds);
}

START_TEST(test_policies)
{
    const enum ct_dpif_tp_attr udp_multiple = CT_DPIF_TP_ATTR_UDP_MULTIPLE;
    struct conntrack *ct = conntrack_init(), *heir = conntrack_init();
    struct nat_action_info_t nat = {
        .nat_action = NAT_ACTION_DST, .min_addr.ipv4 = htonl(0x0a000003),
        .max_addr.ipv4 = htonl(0x0a000003),
    };
    struct ofpbuf bytes;

    set_policy(ct, 1, udp_multiple, 100);
    set_policy(ct, 2, udp_multiple, 200);
    set_policy(ct, 7, udp_multiple, 700);
    set_policy(ct, 8, CT_DPIF_TP_ATTR_UDP_FIRST, 200);
    for (uint32_t id = 0; id < 9; id++) {
        const struct request commit = {
            .commit = true, .zone = ZONE, .tp_id = id,
            .nat = id == 7 ? &nat : NULL,
        };

        pass(ct, NULL, false, &commit, udp(5000 + id, false));
    }
    save(ct, &bytes);

    /* Two have each other's number, one has a new one, one says something
     * else. */
    set_policy(heir, 2, udp_multiple, 100);
    set_policy(heir, 1, udp_multiple, 200);
    set_policy(heir, 3, udp_multiple, 700);
    set_policy(heir, 8, CT_DPIF_TP_ATTR_UDP_SINGLE, 200);
    restore(heir, &bytes, 0);
    ofpbuf_uninit(&bytes);
    check_policy(ct, heir, 5000, 0, 0, 30);
    check_policy(ct, heir, 5001, 1, 2, 100);
    check_policy(ct, heir, 5002, 2, 1, 200);
    check_policy(ct, heir, 5003, 3, 0, 30);     /* There was none. */
    check_policy(ct, heir, 5008, 8, 0, 30);

    const struct conn *translated = find_conn(heir, 5007);
    ck_assert_uint_eq(translated->tp_id, 3);
    ck_assert_uint_eq(translated->nat_conn->tp_id, 3);
    conntrack_destroy(heir);
    conntrack_destroy(ct);
}
END_TEST

/* Where 'ct''s policy 'id' lies in what was saved. */
static struct ct_dpif_timeout_policy *
find_policy(const struct ofpbuf *bytes, struct conntrack *ct, uint32_t id)
{
    const struct ct_dpif_timeout_policy *policy
        = &timeout_policy_get(ct, id)->policy;
    void *found = memmem(bytes->data, bytes->size, policy, sizeof *policy);

    ck_assert_ptr_nonnull(found);
    return found;
}

static void
check_refused(struct ofpbuf *bytes)
{
    struct conntrack *heir = conntrack_init();
    struct conntrack_handover_counts counts;
    const char *error = conntrack_handover_restore(heir, bytes->data,
                                                   bytes->size, now, 0,
                                                   &counts);

    ck_assert_ptr_nonnull(error);
    ck_assert_str_eq(error, "a timeout policy makes no sense");
    ck_assert_uint_eq(n_conns(heir), 0);
    conntrack_destroy(heir);
}

START_TEST(test_damaged_policies)
{
    const struct request commit = { .commit = true, .zone = ZONE };
    struct conntrack *ct = conntrack_init();
    struct ct_dpif_timeout_policy *first, *second;
    struct ofpbuf bytes;

    set_policy(ct, 5, CT_DPIF_TP_ATTR_UDP_FIRST, 100);
    set_policy(ct, 6, CT_DPIF_TP_ATTR_UDP_FIRST, 200);
    pass(ct, NULL, false, &commit, udp(5000, false));
    save(ct, &bytes);
    first = find_policy(&bytes, ct, 5);
    second = find_policy(&bytes, ct, 6);
    ck_assert_ptr_eq(first + 1, second);

    second->id = 5;             /* Twice. */
    check_refused(&bytes);
    second->id = 4;             /* Not in their order. */
    check_refused(&bytes);
    second->id = 6;
    first->id = DEFAULT_TP_ID;  /* That one is the same everywhere. */
    check_refused(&bytes);
    first->id = 5;
    first->present |= 1 << CT_DPIF_TP_ATTR_MAX; /* What is no timeout. */
    check_refused(&bytes);
    first->present &= ~(1 << CT_DPIF_TP_ATTR_MAX);

    uint32_t *n = (uint32_t *) bytes.data + 1;
    ck_assert_uint_eq(*n, 2);
    *n = UINT32_MAX;            /* More than there are. */
    check_refused(&bytes);
    *n = 2;

    struct conntrack *heir = conntrack_init();
    ck_assert_uint_eq(restore(heir, &bytes, 0).n, 1);
    conntrack_destroy(heir);
    ofpbuf_uninit(&bytes);
    conntrack_destroy(ct);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("handover-policies");
    TCase *tc = tcase_create("policies");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, test_policies);
    tcase_add_test(tc, test_damaged_policies);
    suite_add_tcase(suite, tc);
    return suite;
}

int
main(void)
{
    return test_run(make_suite());
}

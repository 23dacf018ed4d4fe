/* SPDX-License-Identifier: Apache-2.0 */

/* What a Node tells the others of its Pods' groups, step by step, and the list
 * of the others. */

#include <config.h>
#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "adp-igmp-reports.h"
#include "adp-igmp.h"
#include "adp-members.h"
#include "adp-peers.h"
#include "openvswitch/dynamic-string.h"
#include "test-run.h"
#include "util.h"

static struct adp_igmp_reports *reports;
static struct adp_peers peers;
static struct ds text;

static void
setup(void)
{
    reports = adp_igmp_reports_create();
    peers = (struct adp_peers) ADP_PEERS_INITIALIZER;
    ds_init(&text);
}

static void
teardown(void)
{
    adp_igmp_reports_destroy(reports);
    adp_peers_uninit(&peers);
    ds_destroy(&text);
}

static void
add_peer(uint32_t ip)
{
    adp_peers_add(&peers, htonl(ip));
    adp_peers_sort(&peers);
}

static void
set(uint32_t group, bool has_members)
{
    adp_igmp_reports_set(reports, htonl(group), has_members);
}

static void
note_record(uint8_t type OVS_UNUSED, ovs_be32 group, bool joins,
            void *aux OVS_UNUSED)
{
    ds_put_format(&text, "%s%u", joins ? "+" : "-", ntohl(group));
}

/* What the next step tells whom; "": there is none. */
static const char *
step(void)
{
    ovs_be32 peer;
    size_t len;
    const void *msg = adp_igmp_reports_next(reports, &peers, &len, &peer);

    ds_clear(&text);
    if (msg) {
        ck_assert_int_eq(adp_igmp_parse(msg, len, note_record, NULL),
                         ADP_IGMP_REPORT);
        ds_put_format(&text, "@%u", ntohl(peer));
    } else {
        ck_assert(!adp_igmp_reports_has_more(reports));
    }
    return ds_cstr(&text);
}

START_TEST(others)
{
    uint64_t at = 0;
    ovs_be32 ip;

    ck_assert(!adp_peers_contains(&peers, htonl(5)));
    ck_assert(!adp_peers_next(&peers, &at, &ip));
    add_peer(7);
    add_peer(UINT32_MAX);
    add_peer(3);
    add_peer(7);
    ck_assert(adp_peers_contains(&peers, htonl(7)));
    ck_assert(adp_peers_contains(&peers, htonl(UINT32_MAX)));
    ck_assert(!adp_peers_contains(&peers, htonl(5)));
    ck_assert(!adp_peers_contains(&peers, htonl(8)));

    /* Each once. */
    ck_assert(adp_peers_next(&peers, &at, &ip));
    ck_assert_uint_eq(ntohl(ip), 3);
    ck_assert(adp_peers_next(&peers, &at, &ip));
    ck_assert_uint_eq(ntohl(ip), 7);
    ck_assert(adp_peers_next(&peers, &at, &ip));
    ck_assert_uint_eq(ntohl(ip), UINT32_MAX);
    ck_assert(!adp_peers_next(&peers, &at, &ip));
}
END_TEST

START_TEST(changes)
{
    add_peer(8);
    add_peer(9);
    ck_assert(!adp_igmp_reports_has_more(reports));
    ck_assert_str_eq(step(), "");
    set(1, true);
    set(2, true);
    ck_assert(adp_igmp_reports_has_more(reports));
    ck_assert_str_eq(step(), "+1+2@8");
    ck_assert_str_eq(step(), "+1+2@9");
    ck_assert_str_eq(step(), "");

    /* What is no change isn't told, nor what nobody has heard of. */
    set(1, true);
    set(3, false);
    set(4, true);
    set(4, false);
    ck_assert_str_eq(step(), "");
    set(1, false);
    set(5, true);
    ck_assert_str_eq(step(), "-1+5@8");
    ck_assert_str_eq(step(), "-1+5@9");
    ck_assert_str_eq(step(), "");
    ck_assert_uint_eq(adp_igmp_reports_count(reports), 2);

    /* Again, but for what is over. */
    adp_igmp_reports_repeat(reports);
    set(5, false);
    adp_igmp_reports_repeat(reports);
    step();
    ck_assert_ptr_nonnull(strstr(ds_cstr(&text), "+2"));
    ck_assert_ptr_nonnull(strstr(ds_cstr(&text), "-5"));
    ck_assert_uint_eq(ds_cstr(&text)[4], '@');
}
END_TEST

/* Of the present message all hear before the next one begins, which tells what
 * there is then. */
START_TEST(meanwhile)
{
    add_peer(8);
    add_peer(9);
    set(1, true);
    ck_assert_str_eq(step(), "+1@8");
    set(1, false);
    set(2, true);
    set(3, true);
    set(3, false);
    ck_assert_str_eq(step(), "+1@9");
    ck_assert_str_eq(step(), "-1+2@8");
    set(1, true);
    set(1, false);
    set(2, false);
    ck_assert_str_eq(step(), "-1+2@9");
    ck_assert_uint_eq(adp_igmp_reports_count(reports), 1);
    ck_assert_str_eq(step(), "-2@8");
    ck_assert_str_eq(step(), "-2@9");
    ck_assert_str_eq(step(), "");
    ck_assert_uint_eq(adp_igmp_reports_count(reports), 0);
}
END_TEST

/* In the rest of a round it is the same. */
START_TEST(meanwhile_in_round)
{
    add_peer(8);
    for (uint32_t i = 1; i <= ADP_IGMP_REPORT_MAX_RECORDS; i++) {
        set(1000 + i, true);
    }
    set(1, true);
    set(2, true);
    set(3, true);
    step();
    set(1, false);
    set(2, false);
    set(2, true);
    adp_igmp_reports_repeat(reports);
    ck_assert_str_eq(step(), "+1+2+3@8");
    step();
    ck_assert_ptr_nonnull(strstr(ds_cstr(&text), "+1001"));
    ck_assert_str_eq(step(), "-1@8");
    ck_assert_str_eq(step(), "");
}
END_TEST

/* Nodes that come and go while a message is on its way. */
START_TEST(others_change)
{
    set(1, true);
    ck_assert_str_eq(step(), "");       /* There is nobody to tell. */
    add_peer(8);
    ck_assert_str_eq(step(), "");
    adp_igmp_reports_repeat(reports);
    add_peer(5);
    ck_assert_str_eq(step(), "+1@5");
    add_peer(3);
    add_peer(7);
    ck_assert_str_eq(step(), "+1@7");
    peers.n = 0;
    add_peer(9);
    ck_assert_str_eq(step(), "+1@9");
    ck_assert_str_eq(step(), "");
}
END_TEST

START_TEST(clear)
{
    add_peer(8);
    add_peer(9);
    set(1, true);
    set(2, true);
    ck_assert_str_eq(step(), "+1+2@8");
    set(3, true);
    adp_igmp_reports_clear(reports);
    ck_assert_str_eq(step(), "");
    ck_assert_uint_eq(adp_igmp_reports_count(reports), 0);
    set(1, false);
    ck_assert_str_eq(step(), "");
    set(1, true);
    ck_assert_str_eq(step(), "+1@8");
}
END_TEST

static void
set_all(uint32_t first, uint32_t n, bool has_members)
{
    for (uint32_t i = 0; i < n; i++) {
        set(first + i, has_members);
    }
}

/* Pods join ever other groups until those are told, and those that they have
 * left again just before that is told. */
START_TEST(bounds)
{
    const uint32_t n_old = ADP_IGMP_REPORT_MAX_RECORDS;
    const uint32_t n_new = ADP_MEMBERS_MAX_GROUPS - n_old;
    uint32_t first = 1;

    add_peer(8);
    for (int i = 0; i < 8; i++) {
        set_all(first, n_new, true);
        for (uint32_t old = 1; old < first; old += n_old) {
            set_all(old, n_old, true);
            step();
            ck_assert_uint_le(adp_igmp_reports_count(reports),
                              3 * ADP_MEMBERS_MAX_GROUPS);
            set_all(old, n_old, false);
        }
        for (uint32_t n = 0; n < n_new; n += n_old) {
            step();
        }
        set_all(first, n_new, false);
        first += n_new;
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("igmp-reports");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, others);
    tcase_add_test(tc, changes);
    tcase_add_test(tc, meanwhile);
    tcase_add_test(tc, meanwhile_in_round);
    tcase_add_test(tc, others_change);
    tcase_add_test(tc, clear);
    tcase_add_test(tc, bounds);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Members of multicast groups: who is one, for how long, and how many there may
 * be. */

#include <config.h>
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adp-members.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "test-run.h"
#include "util.h"

#define LONG 100000

static struct adp_members *members;
static struct ds text;

static void
setup(void)
{
    members = adp_members_create();
    ds_init(&text);
}

static void
teardown(void)
{
    adp_members_destroy(members);
    ds_destroy(&text);
}

static ovs_be32
group(uint32_t i)
{
    return htonl(0xef000000 + i);
}

static enum adp_members_joined
join(uint32_t i, const char *port, long long int now)
{
    return adp_members_join(members, group(i), ADP_MEMBER_PORT, port, now,
                            now + LONG);
}

static enum adp_members_joined
join_node(uint32_t i, const char *node)
{
    return adp_members_join(members, group(i), ADP_MEMBER_NODE, node, 0, LONG);
}

static void
put_group(ovs_be32 ip, const char *const *const names[ADP_N_MEMBER_KINDS],
          const size_t n[ADP_N_MEMBER_KINDS], void *aux OVS_UNUSED)
{
    ds_put_format(&text, "%u:", ntohl(ip) & 0xffffff);
    for (int kind = 0; kind < ADP_N_MEMBER_KINDS; kind++) {
        for (size_t i = 0; i < n[kind]; i++) {
            ds_put_format(&text, " %s%s", kind ? "@" : "", names[kind][i]);
        }
    }
    ds_put_char(&text, ';');
}

static const char *
changes(void)
{
    ds_clear(&text);
    while (adp_members_has_changes(members)) {
        adp_members_take_change(members, put_group, NULL);
    }
    return ds_cstr(&text);
}

/* All that there is, which counts as told. */
static const char *
all(void)
{
    adp_members_change_all(members);
    return changes();
}

START_TEST(come_and_go)
{
    ck_assert_str_eq(changes(), "");
    ck_assert_int_eq(join(2, "b", 0), ADP_MEMBERS_NEW);
    ck_assert_int_eq(join(2, "a", 0), ADP_MEMBERS_NEW);
    ck_assert_int_eq(join(1, "b", 0), ADP_MEMBERS_NEW);
    ck_assert_int_eq(join(1, "b", 5), ADP_MEMBERS_KNOWN);
    ck_assert_int_eq(adp_members_join(members, group(2), ADP_MEMBER_NODE, "a",
                                      0, LONG), ADP_MEMBERS_NEW);
    ck_assert(adp_members_has_changes(members));
    ck_assert_str_eq(changes(), "2: a b @a;1: b;");
    ck_assert(!adp_members_has_changes(members));
    ck_assert_uint_eq(adp_members_usage(members).n_groups, 2);
    ck_assert_uint_eq(
        adp_members_usage(members).n_members[ADP_MEMBER_PORT], 3);

    ck_assert(!adp_members_leave(members, group(1), ADP_MEMBER_PORT, "a",
                                 2000));
    ck_assert(!adp_members_leave(members, group(3), ADP_MEMBER_PORT, "b",
                                 2000));
    ck_assert(!adp_members_leave(members, group(1), ADP_MEMBER_NODE, "b",
                                 2000));
    ck_assert(adp_members_leave(members, group(1), ADP_MEMBER_PORT, "b",
                                2000));
    ck_assert_str_eq(changes(), "1:;");
    ck_assert_str_eq(all(), "2: a b @a;");
    ck_assert_uint_eq(adp_members_usage(members).n_groups, 1);

    /* Both at once: nobody needs to know. */
    join(1, "b", 0);
    adp_members_leave(members, group(1), ADP_MEMBER_PORT, "b", 2000);
    ck_assert(!adp_members_has_changes(members));
    adp_members_change_all(members);
    ck_assert_str_eq(changes(), "2: a b @a;");

    /* Each is taken by itself, and is of all its members then. */
    join(1, "b", 0);
    join(3, "b", 0);
    join(1, "a", 0);
    ds_clear(&text);
    adp_members_take_change(members, put_group, NULL);
    ck_assert_str_eq(ds_cstr(&text), "1: a b;");
    join(1, "c", 0);
    ck_assert_str_eq(changes(), "3: b;1: a b c;");
    for (int i = 0; i < 3; i++) {
        adp_members_leave(members, group(1), ADP_MEMBER_PORT,
                          (const char *[]) { "a", "b", "c" }[i], 2000);
    }
    adp_members_leave(members, group(3), ADP_MEMBER_PORT, "b", 2000);
    ck_assert_str_eq(changes(), "1:;3:;");

    /* Also one of which nothing is known. */
    adp_members_change(members, group(9));
    adp_members_change(members, group(2));
    ck_assert_str_eq(changes(), "9:;2: a b @a;");
    ck_assert_uint_eq(adp_members_usage(members).n_groups, 1);
    ck_assert_str_eq(all(), "2: a b @a;");
}
END_TEST

START_TEST(expire)
{
    ck_assert(adp_members_next_expiry(members) == LLONG_MAX);
    join(1, "a", 0);
    join(1, "b", 10);
    join(2, "b", 20);
    ck_assert_int_eq(adp_members_next_expiry(members), LONG);
    join(1, "a", 30);
    ck_assert_int_eq(adp_members_next_expiry(members), LONG + 10);
    adp_members_expire_next(members);
    ck_assert_str_eq(all(), "1: a;2: b;");
    ck_assert_int_eq(adp_members_next_expiry(members), LONG + 20);
    adp_members_expire_next(members);
    ck_assert_str_eq(all(), "2:;1: a;");
    ck_assert_int_eq(adp_members_next_expiry(members), LONG + 30);

    /* Also of those that are over at the same time one at once. */
    join(2, "a", 30);
    adp_members_expire_next(members);
    ck_assert_uint_eq(adp_members_usage(members).n_groups, 1);
    ck_assert_int_eq(adp_members_next_expiry(members), LONG + 30);
    adp_members_expire_next(members);
    ck_assert(adp_members_next_expiry(members) == LLONG_MAX);
}
END_TEST

/* Who comes and goes all the time changes little. */
START_TEST(flapping)
{
    join(1, "a", 0);
    ck_assert_str_eq(changes(), "1: a;");
    for (int i = 1; i < ADP_MEMBERS_MIN_MS; i++) {
        ck_assert(adp_members_leave(members, group(1), ADP_MEMBER_PORT, "a",
                                    i));
        ck_assert_int_eq(adp_members_next_expiry(members),
                         ADP_MEMBERS_MIN_MS);
        ck_assert_int_eq(join(1, "a", i), ADP_MEMBERS_KNOWN);
        ck_assert_int_eq(adp_members_next_expiry(members), i + LONG);
    }
    ck_assert_str_eq(changes(), "");
    adp_members_leave(members, group(1), ADP_MEMBER_PORT, "a",
                      ADP_MEMBERS_MIN_MS);
    ck_assert_str_eq(changes(), "1:;");
}
END_TEST

/* Who has left before anybody heard of him was never there. */
START_TEST(never_told)
{
    join(1, "a", 0);
    ck_assert(adp_members_leave(members, group(1), ADP_MEMBER_PORT, "a", 0));
    ck_assert(!adp_members_has_changes(members));
    ck_assert_str_eq(all(), "");
    ck_assert_uint_eq(adp_members_usage(members).n_groups, 0);

    /* Of a group that others are in. */
    join(1, "a", 0);
    ck_assert_str_eq(changes(), "1: a;");
    join(1, "b", 1);
    ck_assert(adp_members_leave(members, group(1), ADP_MEMBER_PORT, "b", 1));
    ck_assert_str_eq(changes(), "1: a;");
    join(1, "b", 1);
    ck_assert_str_eq(changes(), "1: a b;");
    ck_assert(adp_members_leave(members, group(1), ADP_MEMBER_PORT, "b", 1));
    ck_assert_str_eq(all(), "1: a b;");

    /* Of one that somebody asks about. */
    adp_members_change(members, group(2));
    join(2, "a", 1);
    ck_assert(adp_members_leave(members, group(2), ADP_MEMBER_PORT, "a", 1));
    ck_assert_str_eq(changes(), "2:;");
}
END_TEST

START_TEST(bounds)
{
    char name[16];

    for (uint32_t i = 0; i < ADP_MEMBERS_MAX_OF_PORT; i++) {
        ck_assert_int_eq(join(i, "greedy", 0), ADP_MEMBERS_NEW);
    }
    ck_assert_int_eq(join(ADP_MEMBERS_MAX_OF_PORT, "greedy", 0),
                     ADP_MEMBERS_PORT_FULL);
    ck_assert_int_eq(join(0, "greedy", 0), ADP_MEMBERS_KNOWN);
    ck_assert_int_eq(join(ADP_MEMBERS_MAX_OF_PORT, "other", 0),
                     ADP_MEMBERS_NEW);
    adp_members_leave(members, group(0), ADP_MEMBER_PORT, "greedy", LONG);
    ck_assert_int_eq(join(0, "greedy", 0), ADP_MEMBERS_NEW);

    /* One Node leaves others theirs, too. */
    for (uint32_t i = 0; i < ADP_MEMBERS_MAX_OF_NODE; i++) {
        ck_assert_int_eq(join_node(i, "n"), ADP_MEMBERS_NEW);
    }
    ck_assert_int_eq(join_node(ADP_MEMBERS_MAX_OF_NODE, "n"),
                     ADP_MEMBERS_NODE_FULL);
    ck_assert_int_eq(join_node(0, "n"), ADP_MEMBERS_KNOWN);
    ck_assert_int_eq(join(ADP_MEMBERS_MAX_OF_NODE, "other", 0),
                     ADP_MEMBERS_NEW);

    /* All of them. */
    for (uint32_t i = ADP_MEMBERS_MAX_OF_NODE + 1; i < ADP_MEMBERS_MAX_GROUPS;
         i++) {
        snprintf(name, sizeof name, "n%u", i / ADP_MEMBERS_MAX_OF_NODE);
        ck_assert_int_eq(join_node(i, name), ADP_MEMBERS_NEW);
    }
    ck_assert_int_eq(join_node(ADP_MEMBERS_MAX_GROUPS, "late"),
                     ADP_MEMBERS_FULL);
    ck_assert_uint_eq(adp_members_usage(members).n_groups,
                      ADP_MEMBERS_MAX_GROUPS);

    /* One group; a Node is in it. */
    for (int i = 1; i < ADP_MEMBERS_MAX_OF_GROUP; i++) {
        snprintf(name, sizeof name, "p%d", i);
        ck_assert_int_eq(join(4000, name, 0), ADP_MEMBERS_NEW);
    }
    ck_assert_int_eq(join(4000, "late", 0), ADP_MEMBERS_FULL);
    ck_assert_int_eq(join(4001, "late", 0), ADP_MEMBERS_NEW);
}
END_TEST

static bool
is_a(enum adp_member_kind kind, const char *name, void *aux OVS_UNUSED)
{
    return kind == ADP_MEMBER_PORT && !strcmp(name, "a");
}

START_TEST(retain)
{
    join(1, "a", 0);
    join(1, "b", 0);
    join(2, "b", 0);
    adp_members_join(members, group(1), ADP_MEMBER_NODE, "a", 0, LONG);
    changes();
    adp_members_retain(members, is_a, NULL);
    ck_assert(adp_members_has_changes(members));
    ck_assert_str_eq(changes(), "1: a;2:;");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("members");
    TCase *tc = tcase_create("members");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, come_and_go);
    tcase_add_test(tc, expire);
    tcase_add_test(tc, flapping);
    tcase_add_test(tc, never_told);
    tcase_add_test(tc, bounds);
    tcase_add_test(tc, retain);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

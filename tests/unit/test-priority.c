/* SPDX-License-Identifier: Apache-2.0 */

/* The OpenFlow priorities of policy rules: their order, and how little changes
 * when a policy comes among many. */

#include <config.h>
#include <check.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "flow-diff.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline-priority.h"
#include "pipeline-world.h"
#include "quoted-json.h"
#include "random.h"
#include "rounds.h"
#include "svec.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

/* Ranks. */

enum { MIN_PRIORITY = 100, MAX_PRIORITY = 64989 };

static struct adp_priorities priorities;
static struct adp_ranked *ranks;
static size_t n_ranks;

static void
rank_setup(void)
{
    adp_priorities_init(&priorities);
    ranks = NULL;
    n_ranks = 0;
}

static void
rank_teardown(void)
{
    adp_priorities_uninit(&priorities);
    free(ranks);
}

static int
compare_ranked(const void *a, const void *b)
{
    return adp_rank_compare(&((const struct adp_ranked *) a)->rank,
                            &((const struct adp_ranked *) b)->rank);
}

static int
guess_of(const struct adp_rank *rank)
{
    int guess = 15000 - (int) (rank->priority * 100) - (int) rank->index;

    return MAX(MIN_PRIORITY, MIN(MAX_PRIORITY, guess));
}

/* Adds 'n' ranks of a policy of 'priority'. */
static void
add_ranks(double priority, unsigned int n)
{
    ranks = xrealloc(ranks, (n_ranks + n) * sizeof *ranks);
    for (unsigned int i = 0; i < n; i++) {
        struct adp_ranked *r = &ranks[n_ranks++];

        *r = (struct adp_ranked) {
            .rank = { .tier = 250, .priority = priority, .index = i },
            .priority = INT_MIN,
        };
        r->guess = guess_of(&r->rank);
    }
    qsort(ranks, n_ranks, sizeof *ranks, compare_ranked);
}

static void
remove_rank(size_t i)
{
    memmove(&ranks[i], &ranks[i + 1], (--n_ranks - i) * sizeof *ranks);
}

/* Assigns; returns how many ranks moved. */
static size_t
assign(void)
{
    int *before = xmalloc(n_ranks * sizeof *before);
    size_t n_moved = 0;

    for (size_t i = 0; i < n_ranks; i++) {
        before[i] = ranks[i].priority;
    }
    ck_assert(adp_priorities_assign(&priorities, ranks, n_ranks,
                                    MIN_PRIORITY, MAX_PRIORITY));
    for (size_t i = 0; i < n_ranks; i++) {
        int last = i ? ranks[i - 1].priority : MAX_PRIORITY + 1;

        ck_assert(ranks[i].priority < last);
        n_moved += before[i] != INT_MIN && before[i] != ranks[i].priority;
    }
    ck_assert(!n_ranks || ranks[n_ranks - 1].priority >= MIN_PRIORITY);
    free(before);
    return n_moved;
}

START_TEST(first_guesses)
{
    add_ranks(5, 2);
    add_ranks(7.5, 1);
    add_ranks(1, 32);
    ck_assert_uint_eq(assign(), 0);
    for (size_t i = 0; i < n_ranks; i++) {
        ck_assert_int_eq(ranks[i].priority, ranks[i].guess);
    }

    /* Into a gap, and at both ends. */
    add_ranks(6, 1);
    add_ranks(0.5, 1);
    add_ranks(9, 1);
    ck_assert_uint_eq(assign(), 0);
    for (size_t i = 0; i < n_ranks; i++) {
        ck_assert_int_eq(ranks[i].priority, ranks[i].guess);
    }
}
END_TEST

/* A few that collide move down, one by one. */
START_TEST(collisions)
{
    static const int expected[] = { 14500, 14499, 14498, 14497 };

    add_ranks(5, 2);
    add_ranks(5.001, 2);
    assign();
    for (size_t i = 0; i < n_ranks; i++) {
        ck_assert_int_eq(ranks[i].priority, expected[i]);
    }
}
END_TEST

START_TEST(kept_until_gone)
{
    add_ranks(5, 1);
    assign();
    add_ranks(5.001, 1);
    ck_assert_uint_eq(assign(), 0);
    ck_assert_int_eq(ranks[1].priority, 14499);

    /* It stays, though its first guess is free now. */
    remove_rank(0);
    ck_assert_uint_eq(assign(), 0);
    ck_assert_int_eq(ranks[0].priority, 14499);

    /* Who comes back is new. */
    remove_rank(0);
    assign();
    ck_assert_uint_eq(priorities.n, 0);
    add_ranks(5.001, 1);
    assign();
    ck_assert_int_eq(ranks[0].priority, 14500);
}
END_TEST

/* Where policies come, in 400 of 10 rules, of which most have no priority of
 * their own by the first guess. */
static double
next_lowest(unsigned int i)
{
    return 401 + i;
}

static double
next_highest(unsigned int i)
{
    return 1 - i / 1000.0;
}

static double
next_lower(unsigned int i)
{
    return 300 + i / 1000.0;
}

static double
next_higher(unsigned int i)
{
    return 301 - i / 1000.0;
}

/* Each rank is there once. */
static double
anywhere(unsigned int i)
{
    return 1 + random_range(400 * 1000) / 1000.0 + i / 1e6;
}

static double (*const places[])(unsigned int i) = {
    next_lowest, next_highest, next_lower, next_higher, anywhere
};

/* A policy that comes moves few others, and on an average few as well if more
 * come to the same place. */
START_TEST(few_move)
{
    enum { N = 100, N_RULES = 10 };
    size_t n_moved = 0;

    test_seed_random();
    for (unsigned int i = 1; i <= 400; i++) {
        add_ranks(i, N_RULES);
    }
    assign();
    for (unsigned int i = 1; i <= N; i++) {
        add_ranks(places[_i](i), N_RULES);

        size_t n = assign();
        ck_assert_uint_le(i == 1 ? n : 0, 4 * N_RULES);
        n_moved += n;
    }
    printf("place %d: %"PRIuSIZE" moves\n", _i, n_moved);
    ck_assert_uint_le(n_moved, N * N_RULES * 10);
}
END_TEST

START_TEST(random_changes)
{
    test_seed_random();
    for (int i = 0; i < ROUNDS(1000); i++) {
        if (n_ranks > 3000 || (n_ranks && !random_range(3))) {
            for (size_t n = random_range(MIN(n_ranks, 20)); n-- > 0; ) {
                remove_rank(random_range(n_ranks));
            }
        } else {
            /* Never twice the same. */
            add_ranks(random_range(500) + i / 1e6, 1 + random_range(20));
        }
        assign();
    }
}
END_TEST

/* As many as there is room for. */
START_TEST(all_priorities)
{
    enum { N = MAX_PRIORITY - MIN_PRIORITY + 1 };

    add_ranks(200, 30000);
    ck_assert_uint_eq(assign(), 0);
    add_ranks(300, N - 30000 - 1);
    assign();
    add_ranks(250, 1);
    assign();
    add_ranks(100, 1);
    ck_assert(!adp_priorities_assign(&priorities, ranks, n_ranks,
                                     MIN_PRIORITY, MAX_PRIORITY));
    ck_assert_int_eq(ranks[0].priority, INT_MIN);
    ck_assert_int_eq(ranks[1].priority, MAX_PRIORITY);
    remove_rank(0);
    ck_assert_uint_eq(assign(), 0);
}
END_TEST

/* Policies. */

static void
pipeline_setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
}

static void
put_policy(struct ds *s, const char *name, double priority, int n_rules)
{
    ds_put_format(s, ",{'kind':'NetworkPolicy','name':'%s','type':"
                  "'AntreaClusterNetworkPolicy','tierPriority':250,"
                  "'priority':%g,'appliedToGroups':['a'],'rules':[", name,
                  priority);
    for (int i = 0; i < n_rules; i++) {
        ds_put_format(s, "%s{'direction':'In','action':'%s',"
                      "'from':{'addressGroups':['x']}}", i ? "," : "",
                      i % 2 ? "Drop" : "Allow");
    }
    ds_put_cstr(s, "]}");
}

/* 'n' policies, and one more if 'priority' isn't 0. */
static void
generate_policies(int n, int n_rules, double priority)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, BASE);
    for (int i = 1; i <= n; i++) {
        char name[16];

        snprintf(name, sizeof name, "p%d", i);
        put_policy(&s, name, i + 1, n_rules);
    }
    if (priority > 0) {
        put_policy(&s, "more", priority, n_rules);
    }
    generate(ds_cstr(&s));
    ds_destroy(&s);
}

/* A policy among many adds its own flows and changes few of others, wherever
 * it comes; and when it goes, only its own go. */
START_TEST(policy_among_many)
{
    static const struct { int n, n_rules; } sizes[]
        = { { ROUNDS(1000), 2 }, { ROUNDS(400), 10 } };
    const int n = sizes[_i].n, n_rules = sizes[_i].n_rules;
    const double where[] = { 1, 2.5, n / 2 + 1.5, n + 0.5, n + 2 };

    generate_policies(n, n_rules, 0);
    check_set();
    for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
        struct adp_flow_set before, with;
        struct flow_diff diff;

        adp_flow_set_init(&before);
        adp_flow_set_swap(&before, &pw.set);
        generate_policies(n, n_rules, where[i]);
        flow_set_diff(&before, &pw.set, &diff);
        printf("%d policies of %d rules: one of priority %g adds %"PRIuSIZE
               " flows and deletes %"PRIuSIZE"\n", n, n_rules, where[i],
               diff.add_flows.n, diff.delete_flows.n);
        ck_assert_uint_le(diff.add_flows.n, 20 * n_rules);
        ck_assert_uint_le(diff.delete_flows.n, 20 * n_rules);
        flow_diff_uninit(&diff);
        adp_flow_set_uninit(&before);

        adp_flow_set_init(&with);
        adp_flow_set_swap(&with, &pw.set);
        generate_policies(n, n_rules, 0);
        flow_set_diff(&with, &pw.set, &diff);
        ck_assert_uint_eq(diff.add_flows.n, 0);
        ck_assert_uint_le(diff.delete_flows.n, 6 * n_rules);
        flow_diff_uninit(&diff);
        adp_flow_set_uninit(&with);
    }
}
END_TEST

/* Rules of K8s NetworkPolicies have one priority as long as they fit. */
START_TEST(many_equal_rules)
{
    for (int n = 6000; n <= 6001; n++) {
        struct adp_flow_set before;
        struct flow_diff diff;
        struct ds s = DS_EMPTY_INITIALIZER;

        adp_flow_set_init(&before);
        adp_flow_set_swap(&before, &pw.set);
        ds_put_cstr(&s, BASE);
        for (int i = n; i > 0; i--) {
            ds_put_format(&s, ",{'kind':'NetworkPolicy','name':'p%05d','type':"
                          "'K8sNetworkPolicy','appliedToGroups':['a'],"
                          "'rules':[{'direction':'In',"
                          "'from':{'addressGroups':['x']}}]}", i);
        }
        generate(ds_cstr(&s));
        ds_destroy(&s);

        flow_set_diff(&before, &pw.set, &diff);
        if (n > 6000) {
            ck_assert_uint_le(diff.add_flows.n, 10);
            ck_assert_uint_eq(diff.delete_flows.n, 0);
        }
        flow_diff_uninit(&diff);
        adp_flow_set_uninit(&before);
    }
    ck_assert_uint_eq(count_flows("table=IngressRule, priority=202,ip,"), 1);
    ck_assert_uint_eq(count_flows("table=IngressRule, priority=200,ip,"), 1);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("priority");
    TCase *rank = tcase_create("ranks");
    TCase *pipeline = tcase_create("policies");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(rank, rank_setup, rank_teardown);
    tcase_set_timeout(rank, 60);        /* For slow machines. */
    tcase_add_test(rank, first_guesses);
    tcase_add_test(rank, collisions);
    tcase_add_test(rank, kept_until_gone);
    tcase_add_loop_test(rank, few_move, 0, ARRAY_SIZE(places));
    tcase_add_test(rank, random_changes);
    tcase_add_test(rank, all_priorities);
    suite_add_tcase(suite, rank);

    tcase_add_checked_fixture(pipeline, pipeline_setup, pw_uninit);
    tcase_set_timeout(pipeline, 60);
    tcase_add_loop_test(pipeline, policy_among_many, 0, 2);
    tcase_add_test(pipeline, many_equal_rules);
    suite_add_tcase(suite, pipeline);

    return test_run(suite);
}

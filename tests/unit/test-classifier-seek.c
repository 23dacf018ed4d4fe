/* SPDX-License-Identifier: Apache-2.0 */

/* Upstream's classifier with ovs/hooks/classifier-seek.h: rules of a few
 * matches and many priorities come, are found and go, one by one and in runs,
 * by two threads in turn, as in an array. */

#include <config.h>
#undef NDEBUG
#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "classifier.h"
#include "flow.h"
#include "openvswitch/match.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

enum { N_LISTS = 3, N_PRIORITIES = 300 };

static struct classifier cls;
static struct cls_rule *rules[N_LISTS][N_PRIORITIES];

static struct match
match_of(int list)
{
    struct match match;

    match_init_catchall(&match);
    match_set_reg(&match, 1, list);
    return match;
}

static void
free_rule(struct cls_rule *rule)
{
    cls_rule_destroy(rule);
    free(rule);
}

static void
insert(int list, int priority)
{
    struct cls_rule *rule = xmalloc(sizeof *rule);
    struct match match = match_of(list);

    cls_rule_init(rule, &match, priority);
    classifier_insert(&cls, rule, OVS_VERSION_MIN, NULL, 0);
    rules[list][priority] = rule;
}

/* Removes it at once, or replaces it. */
static void
remove_or_replace(int list, int priority)
{
    struct cls_rule *rule = rules[list][priority];

    if (random_range(4)) {
        rules[list][priority] = NULL;
        cls_rule_make_invisible_in_version(rule, OVS_VERSION_MIN);
    } else {
        cls_rule_make_invisible_in_version(rule, OVS_VERSION_MIN);
        insert(list, priority);
    }
    classifier_remove_assert(&cls, rule);
    ovsrcu_postpone(free_rule, rule);
}

static void
find(int list, int priority)
{
    struct match match = match_of(list);

    ck_assert_ptr_eq(classifier_find_match_exactly(&cls, &match, priority,
                                                   OVS_VERSION_MIN),
                     rules[list][priority]);
}

static void
find_top(int list)
{
    struct flow flow = { .regs[1] = list };
    int top = N_PRIORITIES - 1;

    while (top >= 0 && !rules[list][top]) {
        top--;
    }
    ck_assert_ptr_eq(classifier_lookup(&cls, OVS_VERSION_MIN, &flow, NULL),
                     top < 0 ? NULL : rules[list][top]);
}

/* Where the change before was. */
static int list, priority;

/* A few changes, mostly side by side and downward. */
static void
change(void)
{
    for (int n = random_range(10); n >= 0; n--) {
        if (random_range(20)) {
            priority += (int) random_range(8) - 5;
            priority = MAX(0, MIN(N_PRIORITIES - 1, priority));
        } else {
            list = random_range(N_LISTS);
            priority = random_range(N_PRIORITIES);
        }

        find(list, priority);
        if (!rules[list][priority]) {
            insert(list, priority);
        } else if (random_range(3)) {
            remove_or_replace(list, priority);
        }
        find_top(list);
    }
}

static void *
change_in_thread(void *seed)
{
    random_set_seed((uintptr_t) seed);
    change();
    return NULL;
}

START_TEST(random_changes)
{
    test_seed_random();

    classifier_init(&cls, NULL);
    for (int i = 0; i < 20000; i++) {
        if (random_range(10)) {
            change();
        } else {
            uintptr_t seed = 1 + random_range(INT_MAX);

            xpthread_join(ovs_thread_create("changer", change_in_thread,
                                            (void *) seed), NULL);
        }
        if (!random_range(10)) {
            ovsrcu_quiesce();
        }
    }
    for (list = 0; list < N_LISTS; list++) {
        for (priority = 0; priority < N_PRIORITIES; priority++) {
            find(list, priority);
            while (rules[list][priority]) {
                remove_or_replace(list, priority);
            }
        }
        find_top(list);
    }
    classifier_destroy(&cls);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("classifier-seek");
    TCase *tc = tcase_create("classifier-seek");

    tcase_set_timeout(tc, 60);          /* For slow machines. */
    tcase_add_test(tc, random_changes);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

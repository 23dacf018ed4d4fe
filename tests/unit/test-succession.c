/* SPDX-License-Identifier: Apache-2.0 */

/* Flows that took each other's place: the first one credits the last one, and
 * those between are nobody's. */

#include <config.h>
#include <check.h>

#include "adp-succession.h"
#include "ofproto/ofproto-dpif.h"
#include "ofproto/ofproto-provider.h"
#include "test-run.h"
#include "util.h"

enum { N = 5 };

static struct rule_dpif rules[N];
static int n_refs[N];

static int *
refs_of(const struct rule *rule)
{
    return &n_refs[CONTAINER_OF(rule, struct rule_dpif, up) - rules];
}

void
ofproto_rule_ref(struct rule *rule)
{
    ++*refs_of(rule);
}

/* One that nobody holds lets go of the next, as upstream's. */
void
ofproto_rule_unref(struct rule *rule_)
{
    struct rule_dpif *rule = CONTAINER_OF(rule_, struct rule_dpif, up);

    ck_assert_int_gt(*refs_of(rule_), 0);
    if (!--*refs_of(rule_) && rule->new_rule) {
        ofproto_rule_unref(&rule->new_rule->up);
        rule->new_rule = NULL;
    }
}

/* 'n' flows in a row, of which each took the place of the one before.  A
 * verdict holds the first, a table the last. */
static void
follow_each_other(int n)
{
    memset(n_refs, 0, sizeof n_refs);
    for (int i = 0; i < n; i++) {
        memset(&rules[i], 0, sizeof rules[i]);
        ovs_mutex_init(&rules[i].stats_mutex);
        if (i) {
            rules[i - 1].new_rule = &rules[i];
            rules[i - 1].forward_counts = true;
            ofproto_rule_ref(&rules[i].up);
        }
    }
    ofproto_rule_ref(&rules[0].up);
    ofproto_rule_ref(&rules[n - 1].up);
}

START_TEST(those_between_go)
{
    follow_each_other(N);
    adp_succession_shorten(&rules[0]);
    ck_assert_ptr_eq(rules[0].new_rule, &rules[N - 1]);
    ck_assert(rules[0].forward_counts);
    ck_assert_int_eq(n_refs[0], 1);
    for (int i = 1; i < N - 1; i++) {
        ck_assert_int_eq(n_refs[i], 0);
    }
    ck_assert_int_eq(n_refs[N - 1], 2);
    ck_assert_ptr_null(rules[N - 1].new_rule);
}
END_TEST

/* Counters that began anew somewhere in between aren't credited. */
START_TEST(counters_that_began_anew)
{
    for (int anew = 0; anew < 2; anew++) {
        follow_each_other(3);
        rules[anew].forward_counts = false;
        adp_succession_shorten(&rules[0]);
        ck_assert_ptr_eq(rules[0].new_rule, &rules[2]);
        ck_assert(!rules[0].forward_counts);
    }
}
END_TEST

START_TEST(nothing_to_shorten)
{
    follow_each_other(2);
    adp_succession_shorten(&rules[0]);
    ck_assert_ptr_eq(rules[0].new_rule, &rules[1]);
    ck_assert_int_eq(n_refs[1], 2);
    adp_succession_shorten(&rules[1]);
    ck_assert_ptr_null(rules[1].new_rule);
    ck_assert_int_eq(n_refs[1], 2);
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    TCase *tc = tcase_create("succession");
    tcase_add_test(tc, those_between_go);
    tcase_add_test(tc, counters_that_began_anew);
    tcase_add_test(tc, nothing_to_shorten);

    Suite *suite = suite_create("succession");
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

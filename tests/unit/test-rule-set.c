/* SPDX-License-Identifier: Apache-2.0 */

/* The set of compiled flows against a plain array: flows come and go, many or
 * few at a time, and each is found by its owner as long as it is there. */

#include <config.h>

#include <check.h>

#include "adp-rule-set.h"
#include "adp-rules.h"
#include "hash.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

enum { N_RULES = 2000, N_WAVES = 60 };

static struct adp_rule rules[N_RULES];
static int owners[N_RULES];
static bool present[N_RULES];

static void
check_set(const struct adp_rule_set *set)
{
    size_t n = 0, n_seen = 0;
    struct adp_rule *rule;

    for (size_t i = 0; i < N_RULES; i++) {
        ck_assert_ptr_eq(adp_rule_set_find(set, &owners[i]),
                         present[i] ? &rules[i] : NULL);
        n += present[i];
    }
    ADP_RULE_SET_FOR_EACH (rule, place, set) {
        ck_assert(present[rule - rules]);
        n_seen++;
    }
    ck_assert_uint_eq(n_seen, n);
    ck_assert_uint_eq(set->n, n);
    /* Not more than it says that it takes. */
    ck_assert_uint_le(set->n_places, MAX(16, 4 * n));
}

static void
toggle(struct adp_rule_set *set, size_t i)
{
    if (present[i]) {
        adp_rule_set_remove(set, &rules[i]);
    } else {
        adp_rule_set_add(set, &rules[i]);
    }
    present[i] = !present[i];
}

/* In each wave flows come to be what 'percent' says of all. */
START_TEST(test_waves)
{
    struct adp_rule_set set = { .places = NULL };

    for (size_t i = 0; i < N_RULES; i++) {
        rules[i].owner = &owners[i];
    }
    check_set(&set);
    for (int wave = 0; wave < N_WAVES; wave++) {
        unsigned int percent = wave % 3 ? random_range(101) : wave % 2 * 100;

        for (size_t i = 0; i < N_RULES; i++) {
            if (present[i] != (random_range(100) < percent)) {
                toggle(&set, i);
            }
        }
        check_set(&set);
    }
    adp_rule_set_uninit(&set);
}
END_TEST

/* Flows that all belong to the first place, or to the last one, more than have
 * their distance from it noted: nobody looks at what owners point to. */
START_TEST(test_far)
{
    enum { N_FAR = 600 };

    uint32_t upper = _i ? UINT32_MAX >> 21 : 0; /* Of the hash. */
    struct adp_rule_set set = { .places = NULL };
    uintptr_t owner = 0;

    for (size_t i = 0; i < N_FAR; i++) {
        do {
            owner += 8;
        } while (hash_pointer((void *) owner, 1) >> 21 != upper);
        rules[i].owner = (void *) owner;
        adp_rule_set_add(&set, &rules[i]);
    }
    for (size_t gone = 0; gone < N_FAR; gone++) {
        adp_rule_set_remove(&set, &rules[gone * 7 % N_FAR]);
        for (size_t i = 0; i < N_FAR; i++) {
            size_t order = i * 7 % N_FAR;

            ck_assert_ptr_eq(adp_rule_set_find(&set, rules[order].owner),
                             i > gone ? &rules[order] : NULL);
        }
    }
    adp_rule_set_uninit(&set);
}
END_TEST

START_TEST(test_choose)
{
    for (size_t i = 0; i < N_RULES; i++) {
        size_t chosen = adp_rule_set_choose(&owners[i], 6);

        ck_assert_uint_lt(chosen, 64);
        ck_assert_uint_eq(chosen, adp_rule_set_choose(&owners[i], 6));
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("rule-set");
    TCase *tcase = tcase_create("set");

    test_seed_random();
    tcase_add_test(tcase, test_waves);
    tcase_add_loop_test(tcase, test_far, 0, 2);
    tcase_add_test(tcase, test_choose);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}

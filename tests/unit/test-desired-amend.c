/* SPDX-License-Identifier: Apache-2.0 */

/* Desired flows: amendments, and random changes against a plain count. */

#include <config.h>

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "desired-world.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

START_TEST(test_amendments)
{
    adp_desired_begin(desired, &a);
    add_goto(&a, 1, 1, 9);
    add_goto(&a, 1, 2, 9);
    adp_desired_end(desired, &a);
    expect("add " FLOW(1) "\nadd " FLOW(2));

    adp_desired_amend(desired, &a);
    drop_goto(&a, 1, 1, 9);
    drop_goto(&a, 1, 1, 9);
    drop_goto(&a, 1, 2, 8);
    add_goto(&a, 1, 3, 9);
    ck_assert(!end_amending(&a));
    adp_desired_revert(desired);
    expect("");

    adp_desired_amend(desired, &a);
    drop_goto(&a, 1, 1, 9);
    add_goto(&a, 1, 3, 9);
    ck_assert(end_amending(&a));
    expect("delete " FLOW(1) "\nadd " FLOW(3));
}
END_TEST

static uint64_t
steps(void)
{
    struct adp_desired_usage usage;

    adp_desired_get_usage(desired, &usage);
    return usage.n_steps;
}

/* Says 200 things of two contributors and takes back 100, so many of each in
 * one amendment.  Returns what that has cost. */
static uint64_t
cost_of_taking_back(int at_once)
{
    struct adp_contributor *const contributors[] = { &a, &b };

    for (size_t i = 0; i < ARRAY_SIZE(contributors); i++) {
        adp_desired_begin(desired, contributors[i]);
        for (int host = 1; host <= 100; host++) {
            add_clause(contributors[i], host, 5 + i);
        }
        adp_desired_end(desired, contributors[i]);
    }
    commit(ADP_CHANGES_ONLY);

    uint64_t before = steps();
    for (int host = 2; host <= 100; host += 2 * at_once) {
        for (size_t i = 0; i < ARRAY_SIZE(contributors); i++) {
            adp_desired_amend(desired, contributors[i]);
            for (int j = 0; j < at_once; j++) {
                drop_clause(contributors[i], host + 2 * j, 5 + i);
            }
            adp_desired_end(desired, contributors[i]);
        }
    }
    commit(ADP_CHANGES_ONLY);
    ck_assert_uint_eq(shash_count(&flows), 50);
    return steps() - before;
}

START_TEST(test_cost_of_taking_back)
{
    /* The order of what is searched among may differ. */
    ck_assert_uint_le(cost_of_taking_back(1), 2 * cost_of_taking_back(50));
}
END_TEST

/* Few more than are needed, whatever came and went. */
static void
check_room(const struct adp_contributor *contributor)
{
    ck_assert_uint_le(contributor->allocated_claims,
                      contributor->n_claims
                      + MAX(4, contributor->n_claims / 4));
}

START_TEST(test_room_for_claims)
{
    for (int host = 1; host <= 200; host++) {
        adp_desired_amend(desired, &a);
        add_clause(&a, host, 5);
        adp_desired_end(desired, &a);
        if (host % 3) {
            commit(ADP_CHANGES_ONLY);
            check_room(&a);
        }
    }
    commit(ADP_CHANGES_ONLY);
    for (int host = 200; host > 1; host -= 2) {
        for (int i = 0; i < 2; i++) {
            adp_desired_amend(desired, &a);
            drop_clause(&a, host - i, 5);
            adp_desired_end(desired, &a);
        }
        ck_assert(adp_desired_settle(desired));
        commit(ADP_CHANGES_ONLY);
        check_room(&a);
    }
    ck_assert(shash_is_empty(&flows));

    /* Also when nothing comes of it. */
    for (int i = 0; i < 3; i++) {
        adp_desired_amend(desired, &a);
        for (int host = 1; host <= 200; host++) {
            add_clause(&a, host, 5);
        }
        adp_desired_end(desired, &a);
        if (i == 1) {
            adp_desired_remove(desired, &a);
        } else if (i == 2) {
            adp_desired_begin(desired, &a);
            add_clause(&a, 1, 5);
            adp_desired_end(desired, &a);
        }
        adp_desired_revert(desired);
        check_room(&a);
        commit(ADP_CHANGES_ONLY);
        ck_assert(shash_is_empty(&flows));
    }
}
END_TEST

/* Who withdrew and then says all anew, or goes, or is reverted. */
START_TEST(test_withdrawals_that_are_not_needed)
{
    for (int i = 0; i < 4; i++) {
        adp_desired_begin(desired, &a);
        add_clause(&a, 1, 5);
        add_clause(&a, 2, 5);
        adp_desired_end(desired, &a);
        commit(ADP_CHANGES_ONLY);

        adp_desired_amend(desired, &a);
        drop_clause(&a, 1, 5);
        /* Nobody asks for this one. */
        drop_clause(&a, i == 3 ? 2 : 1, i == 3 ? 6 : 5);
        adp_desired_end(desired, &a);
        if (!i) {
            adp_desired_begin(desired, &a);
            add_clause(&a, 1, 5);
            adp_desired_end(desired, &a);
            ck_assert(!adp_desired_settle(desired));
            commit(ADP_CHANGES_ONLY);
            ck_assert_uint_eq(shash_count(&flows), 1);
        } else if (i == 1) {
            adp_desired_remove(desired, &a);
            ck_assert(!adp_desired_settle(desired));
            commit(ADP_CHANGES_ONLY);
            ck_assert(shash_is_empty(&flows));
        } else {
            adp_desired_revert(desired);
            commit(ADP_CHANGES_ONLY);
            ck_assert_uint_eq(shash_count(&flows), 2);
        }
    }
    adp_desired_remove(desired, &a);
    commit(ADP_CHANGES_ONLY);
}
END_TEST

/* Random changes against a plain count of what contributors say. */

enum { N_CONTRIBUTORS = 6, N_HOSTS = 8, N_CONJS = 6 };

/* What one says: goto flows by host (the table, 0 for none) and how often it
 * says each clause. */
struct saying {
    uint8_t gotos[N_HOSTS + 1];
    uint8_t clauses[N_HOSTS + 1][N_CONJS + 1];
};

static void
say_at_random(struct adp_contributor *contributor, struct saying *saying)
{
    memset(saying, 0, sizeof *saying);
    adp_desired_begin(desired, contributor);
    for (int i = random_range(8); i > 0; i--) {
        int host = 1 + random_range(N_HOSTS);
        int conj_id = 1 + random_range(N_CONJS);

        /* Mostly the same for all. */
        if (!saying->gotos[host]) {
            saying->gotos[host] = random_range(12) ? 9 : 8;
            add_goto(contributor, 1, host, saying->gotos[host]);
        }
        add_clause(contributor, host, conj_id);
        saying->clauses[host][conj_id]++;
    }
    adp_desired_end(desired, contributor);
}

/* Takes it back at once, or later. */
static void
amend_at_random(struct adp_contributor *contributor, struct saying *saying)
{
    bool all_said = true;

    adp_desired_amend(desired, contributor);
    for (int i = random_range(4); i > 0; i--) {
        int host = 1 + random_range(N_HOSTS);
        int conj_id = 1 + random_range(N_CONJS);

        if (random_range(2)) {
            add_clause(contributor, host, conj_id);
            saying->clauses[host][conj_id]++;
        } else {
            all_said = saying->clauses[host][conj_id] > 0;
            drop_clause(contributor, host, conj_id);
            saying->clauses[host][conj_id] -= all_said;
        }
        if (!all_said) {
            break;              /* Nothing may come to make up for it. */
        }
    }
    adp_desired_end(desired, contributor);
    if (!all_said || random_range(2)) {
        ck_assert(adp_desired_settle(desired) == all_said);
    }
}

/* Fills 'want' with what the table should hold.  Returns false if that
 * can't be. */
static bool
count(const struct saying sayings[], struct shash *want)
{
    bool ok = true;

    for (int host = 1; host <= N_HOSTS; host++) {
        struct ds s = DS_EMPTY_INITIALIZER;
        int table = 0;

        for (int i = 0; i < N_CONTRIBUTORS; i++) {
            int t = sayings[i].gotos[host];

            ok = ok && (!t || !table || t == table);
            table = t ? t : table;
        }
        if (table) {
            shash_add_nocopy(want, xasprintf(FLOW(%d), host),
                             xasprintf("0x1 goto_table:%d", table));
        }
        for (int conj_id = 1; conj_id <= N_CONJS; conj_id++) {
            int n = 0;

            for (int i = 0; i < N_CONTRIBUTORS; i++) {
                n += sayings[i].clauses[host][conj_id];
            }
            if (n) {
                ds_put_format(&s, "%sconjunction(%d,1/2)",
                              s.length ? "," : "0x7 ", conj_id);
            }
        }
        if (s.length) {
            shash_add_nocopy(want, xasprintf(CLAUSES(%d), host),
                             ds_steal_cstr(&s));
        }
        ds_destroy(&s);
    }
    return ok;
}

static void
assert_equal_tables(const struct shash *is, const struct shash *want)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, want) {
        ck_assert_pstr_eq(shash_find_data(is, node->name), node->data);
    }
    ck_assert_uint_eq(shash_count(is), shash_count(want));
}

START_TEST(test_random_changes)
{
    struct adp_contributor contributors[N_CONTRIBUTORS];
    struct saying sayings[N_CONTRIBUTORS];
    size_t n_refused = 0;
    size_t n_restored = 0;

    test_seed_random();
    memset(contributors, 0, sizeof contributors);
    memset(sayings, 0, sizeof sayings);
    for (int round = 0; round < 3000; round++) {
        struct saying before[N_CONTRIBUTORS];
        struct shash want = SHASH_INITIALIZER(&want);
        struct adp_changes changes;

        memcpy(before, sayings, sizeof before);
        for (int i = 1 + random_range(4); i > 0; i--) {
            int who = random_range(N_CONTRIBUTORS);

            switch (random_range(3)) {
            case 0:
                amend_at_random(&contributors[who], &sayings[who]);
                break;
            case 1:
                adp_desired_remove(desired, &contributors[who]);
                memset(&sayings[who], 0, sizeof sayings[who]);
                break;
            default:
                say_at_random(&contributors[who], &sayings[who]);
                break;
            }
        }

        ck_assert(adp_desired_settle(desired));
        bool ok = count(sayings, &want);
        struct adp_error *error = adp_desired_get_changes(
            desired, ADP_CHANGES_ONLY, NULL, &changes);
        ck_assert_int_eq(ok, !error);
        if (error) {
            n_refused++;
            adp_error_destroy(error);
        } else {
            take_changes(&changes, ADP_GOAL_NEW);
            assert_equal_tables(&flows, &want);
        }
        if (!error && !random_range(4)) {
            /* The way back, from where it all began. */
            take_changes(&changes, ADP_GOAL_OLD);
            n_restored++;
            ok = false;
        }
        adp_changes_uninit(&changes);
        if (ok) {
            adp_desired_accept(desired);
        } else {
            adp_desired_revert(desired);
            memcpy(sayings, before, sizeof before);
            shash_clear_free_data(&want);
            count(sayings, &want);
            assert_equal_tables(&flows, &want);
        }
        shash_destroy_free_data(&want);
    }
    printf("%"PRIuSIZE" refused, %"PRIuSIZE" restored\n", n_refused,
           n_restored);
    ck_assert_uint_gt(n_refused, 0);
    ck_assert_uint_gt(n_restored, 0);
    for (int i = 0; i < N_CONTRIBUTORS; i++) {
        adp_desired_remove(desired, &contributors[i]);
    }
    commit(ADP_CHANGES_ONLY);
    ck_assert(shash_is_empty(&flows));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("desired-amend");
    TCase *tc = tcase_create("desired-amend");

    tcase_add_checked_fixture(tc, desired_setup, desired_teardown);
    tcase_add_test(tc, test_amendments);
    tcase_add_test(tc, test_cost_of_taking_back);
    tcase_add_test(tc, test_room_for_claims);
    tcase_add_test(tc, test_random_changes);
    tcase_add_test(tc, test_withdrawals_that_are_not_needed);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

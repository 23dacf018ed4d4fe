/* SPDX-License-Identifier: Apache-2.0 */

/* Desired flows: contributors say what they ask for, and a table of our own
 * gets the mods and must hold just that. */

#include <config.h>

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "desired-world.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-table.h"
#include "test-run.h"
#include "util.h"

START_TEST(test_flow_stays_while_somebody_asks_for_it)
{
    adp_desired_begin(desired, &a);
    add_goto(&a, 1, 1, 9);
    add_goto(&a, 1, 2, 9);
    adp_desired_end(desired, &a);
    expect("add " FLOW(1) "\nadd " FLOW(2));
    expect_flow(FLOW(1), "0x1 goto_table:9");

    adp_desired_begin(desired, &b);
    add_goto(&b, 1, 2, 9);
    adp_desired_end(desired, &b);
    expect("");

    adp_desired_remove(desired, &a);
    expect("delete " FLOW(1));
    adp_desired_remove(desired, &b);
    expect("delete " FLOW(2));
}
END_TEST

START_TEST(test_saying_the_same_is_no_change)
{
    for (int i = 0; i < 2; i++) {
        adp_desired_begin(desired, &a);
        add_goto(&a, 1, 1, 9);
        add_clause(&a, 1, 5);
        add_clause(&a, 1, 6);
        adp_desired_end(desired, &a);
        expect(i ? "" : "add " FLOW(1) "\nadd " CLAUSES(1));
    }
}
END_TEST

START_TEST(test_flow_is_modified_in_place)
{
    adp_desired_begin(desired, &a);
    add_goto(&a, 1, 1, 9);
    adp_desired_end(desired, &a);
    expect("add " FLOW(1));

    /* Other actions, then another cookie. */
    adp_desired_begin(desired, &a);
    add_goto(&a, 1, 1, 8);
    adp_desired_end(desired, &a);
    expect("modify " FLOW(1));
    expect_flow(FLOW(1), "0x1 goto_table:8");
    adp_desired_begin(desired, &a);
    add_goto(&a, 2, 1, 8);
    adp_desired_end(desired, &a);
    expect("modify " FLOW(1));
    expect_flow(FLOW(1), "0x2 goto_table:8");

    /* Timeouts come only with a new flow. */
    adp_desired_begin(desired, &a);
    add_text(&a, "cookie=2,table=1,priority=100,idle_timeout=3,ip,"
             "nw_src=10.0.0.1 actions=goto_table:8");
    adp_desired_end(desired, &a);
    expect("add " FLOW(1));
    expect_flow(FLOW(1), "0x2 idle=3 goto_table:8");

    /* From actions to clauses, and back. */
    adp_desired_begin(desired, &a);
    adp_desired_end(desired, &a);
    expect("delete " FLOW(1));
    adp_desired_begin(desired, &a);
    add_clause(&a, 1, 5);
    adp_desired_end(desired, &a);
    expect("add " CLAUSES(1));
    adp_desired_begin(desired, &a);
    add_text(&a, "cookie=7,table=2,priority=200,ip,nw_src=10.0.0.1 "
             "actions=drop");
    adp_desired_end(desired, &a);
    expect("modify " CLAUSES(1));
    expect_flow(CLAUSES(1), "0x7 drop");
    adp_desired_begin(desired, &a);
    add_clause(&a, 1, 5);
    adp_desired_end(desired, &a);
    expect("modify " CLAUSES(1));
    expect_flow(CLAUSES(1), "0x7 conjunction(5,1/2)");
}
END_TEST

START_TEST(test_clauses_share_a_flow)
{
    adp_desired_begin(desired, &a);
    add_clause(&a, 1, 7);
    adp_desired_end(desired, &a);
    adp_desired_begin(desired, &b);
    add_clause(&b, 1, 5);
    add_clause(&b, 1, 5);
    adp_desired_end(desired, &b);
    expect("add " CLAUSES(1));
    expect_flow(CLAUSES(1), "0x7 conjunction(5,1/2),conjunction(7,1/2)");

    /* What was said twice must be taken back twice. */
    adp_desired_amend(desired, &b);
    drop_clause(&b, 1, 5);
    ck_assert(end_amending(&b));
    expect("");
    adp_desired_amend(desired, &b);
    drop_clause(&b, 1, 6);
    ck_assert(!end_amending(&b));
    adp_desired_amend(desired, &b);
    drop_clause(&b, 2, 5);
    ck_assert(!end_amending(&b));
    adp_desired_amend(desired, &b);
    drop_clause(&b, 1, 5);
    drop_clause(&b, 1, 5);
    ck_assert(!end_amending(&b));
    expect("modify " CLAUSES(1));
    expect_flow(CLAUSES(1), "0x7 conjunction(7,1/2)");
    adp_desired_remove(desired, &a);
    expect("delete " CLAUSES(1));
}
END_TEST

START_TEST(test_contradictions)
{
    adp_desired_begin(desired, &a);
    add_goto(&a, 1, 1, 9);
    adp_desired_end(desired, &a);
    expect("add " FLOW(1));

    adp_desired_begin(desired, &b);
    add_goto(&b, 1, 1, 8);
    adp_desired_end(desired, &b);
    expect_error("invalid", "records contradict each other: they ask for flow "
                 "\"cookie=0x1, table=1, priority=100,ip,nw_src=10.0.0.1 "
                 "actions=goto_table:9\" and, with the same match, for "
                 "\"cookie=0x1, table=1, priority=100,ip,nw_src=10.0.0.1 "
                 "actions=goto_table:8\"");
    expect("");

    /* They may, as long as it ends well. */
    adp_desired_begin(desired, &b);
    add_goto(&b, 1, 1, 8);
    adp_desired_end(desired, &b);
    adp_desired_begin(desired, &a);
    add_goto(&a, 1, 1, 8);
    adp_desired_end(desired, &a);
    expect("modify " FLOW(1));

    /* Clauses and actions, and cookies. */
    adp_desired_begin(desired, &c);
    add_clause(&c, 3, 5);
    adp_desired_end(desired, &c);
    expect("add " CLAUSES(3));
    adp_desired_begin(desired, &b);
    add_text(&b, "cookie=7,table=2,priority=200,ip,nw_src=10.0.0.3 "
             "actions=drop");
    adp_desired_end(desired, &b);
    expect_error("invalid", "conjunction(5,1/2)");
}
END_TEST

START_TEST(test_groups)
{
    adp_desired_begin(desired, &a);
    adp_desired_add_group_text(desired, &a, "group_id=9,type=select,"
                               "bucket=bucket_id:0,actions=output:1",
                               NULL, NULL);
    adp_desired_end(desired, &a);
    expect("put group 9");
    adp_desired_begin(desired, &b);
    adp_desired_add_group_text(desired, &b, "group_id=9,type=select,"
                               "bucket=bucket_id:0,actions=output:1",
                               NULL, NULL);
    adp_desired_end(desired, &b);
    expect("");

    adp_desired_begin(desired, &b);
    adp_desired_add_group_text(desired, &b, "group_id=9,type=select,"
                               "bucket=bucket_id:0,actions=output:2",
                               NULL, NULL);
    adp_desired_end(desired, &b);
    expect_error("internal", "same ID");

    adp_desired_remove(desired, &a);
    expect("");
    adp_desired_begin(desired, &b);
    adp_desired_add_group_text(desired, &b, "group_id=9,type=select,"
                               "bucket=bucket_id:0,actions=output:2,"
                               "bucket=bucket_id:1,actions=output:3",
                               NULL, NULL);
    adp_desired_end(desired, &b);
    expect("put group 9");
    ck_assert_str_eq(shash_find_data(&groups, "9"), "2");
    adp_desired_remove(desired, &b);
    expect("delete group 9");
}
END_TEST

START_TEST(test_bad_text_is_reported)
{
    static const char *const texts[][2] = {
        { "table=1,actions=frobnicate", "frobnicate" },
        { "actions=drop", "lacks a table" },
        { "table=1,dl_src=1 actions=drop", "dl_src" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        adp_desired_begin(desired, &a);
        add_text(&a, texts[i][0]);
        add_goto(&a, 1, 1, 9);
        adp_desired_end(desired, &a);
        expect_error("internal", texts[i][1]);
    }
    adp_desired_begin(desired, &a);
    adp_desired_add_group_text(desired, &a, "group_id=x", NULL, NULL);
    adp_desired_end(desired, &a);
    expect_error("internal", "group_id=x");

    /* An error is over with its transaction. */
    adp_desired_begin(desired, &a);
    add_goto(&a, 1, 1, 9);
    adp_desired_end(desired, &a);
    expect("add " FLOW(1));
}
END_TEST

static size_t n_expanded;

/* A source is a number, and a letter before it that makes no flow; the scope
 * where the flow leads. */
static const int to_9 = 9, to_8 = 8;

static void
expand_number(struct ds *s, const void *to_, const char *source)
{
    const int *to = to_;
    unsigned int n;

    n_expanded++;
    if (ovs_scan(source, "%u", &n)) {
        ds_put_format(s, "cookie=%u,table=1,priority=%u,ip,nw_src=10.0.%u.%u "
                      "actions=goto_table:%d", n % 5 + 1, n, n >> 8, n & 255,
                      *to);
    } else {
        ds_put_cstr(s, source);
    }
}

static void
add_number(struct adp_contributor *contributor, unsigned int n)
{
    char *source = xasprintf("%u", n);

    adp_desired_add_source(desired, contributor, &to_9, source, expand_number,
                           NULL);
    free(source);
}

START_TEST(test_sources)
{
    enum { N = 3000 };
    struct adp_contributor *contributors[] = { &a, &b };

    /* What is known is the same as what is parsed, also where others have
     * taken its place. */
    n_expanded = 0;
    for (size_t i = 0; i < ARRAY_SIZE(contributors); i++) {
        adp_desired_begin(desired, contributors[i]);
        for (unsigned int n = 0; n < N; n++) {
            add_number(contributors[i], n);
            add_number(contributors[i], n);
        }
        adp_desired_end(desired, contributors[i]);
        if (!i) {
            commit(ADP_CHANGES_ONLY);
            svec_clear(&mods_log);
        }
        expect("");
    }
    ck_assert_uint_ge(n_expanded, N);
    ck_assert_uint_le(n_expanded, 2 * N);
    for (unsigned int n = 0; n < N; n++) {
        char *flow = xasprintf("table=1,priority=%u,ip,nw_src=10.0.%u.%u", n,
                               n >> 8, n & 255);
        char *what = xasprintf("0x%x goto_table:9", n % 5 + 1);

        expect_flow(flow, what);
        free(flow);
        free(what);
    }

    /* A few are known for long. */
    size_t before = n_expanded;
    for (int i = 0; i < 10; i++) {
        adp_desired_begin(desired, &b);
        add_number(&b, 17);
        add_number(&b, 18);
        adp_desired_end(desired, &b);
    }
    ck_assert_uint_le(n_expanded, before + 2);
    expect("");

    /* What is no flow is an error each time. */
    for (int i = 0; i < 2; i++) {
        adp_desired_begin(desired, &b);
        adp_desired_add_source(desired, &b, &to_9, "nonsense", expand_number,
                               NULL);
        adp_desired_end(desired, &b);
        expect_error("internal", "nonsense");
    }
}
END_TEST

/* Says the first 'n' numbers, and nothing else.  Returns how many were
 * expanded. */
static size_t
say_numbers(unsigned int n)
{
    n_expanded = 0;
    adp_desired_begin(desired, &a);
    for (unsigned int i = 0; i < n; i++) {
        add_number(&a, i);
    }
    adp_desired_end(desired, &a);
    commit(ADP_CHANGES_ONLY);
    svec_clear(&mods_log);
    return n_expanded;
}

/* What is remembered is never more than what there is. */
START_TEST(test_sources_go)
{
    ck_assert_uint_eq(say_numbers(1), 1);
    ck_assert_uint_eq(say_numbers(1), 0);
    ck_assert_uint_eq(say_numbers(0), 0);
    ck_assert_uint_eq(say_numbers(1), 1);
}
END_TEST

/* The same source means something else in another scope. */
START_TEST(test_source_scopes)
{
    const int *const scopes[] = { &to_9, &to_8, &to_9, &to_8 };

    for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
        adp_desired_begin(desired, &a);
        adp_desired_add_source(desired, &a, scopes[i], "5", expand_number,
                               NULL);
        adp_desired_end(desired, &a);
        commit(ADP_CHANGES_ONLY);
        svec_clear(&mods_log);
        char *what = xasprintf("0x1 goto_table:%d", *scopes[i]);
        expect_flow("table=1,priority=5,ip,nw_src=10.0.0.5", what);
        free(what);
    }
}
END_TEST

START_TEST(test_scopes)
{
    adp_desired_begin(desired, &a);
    add_goto(&a, 1, 1, 9);
    add_goto(&a, 1, 2, 9);
    adp_desired_add_group_text(desired, &a, "group_id=9,type=all", NULL, NULL);
    adp_desired_end(desired, &a);
    commit(ADP_CHANGES_ONLY);
    svec_clear(&mods_log);

    /* All once more; what goes is deleted. */
    adp_desired_amend(desired, &a);
    drop_goto(&a, 1, 1, 9);
    add_goto(&a, 1, 3, 9);
    adp_desired_end(desired, &a);
    commit(ADP_CHANGES_ALL);
    char *mods = joined(&mods_log);
    ck_assert_str_eq(mods, "add " FLOW(2) "\nadd " FLOW(3)
                     "\ndelete " FLOW(1) "\nput group 9\n");
    free(mods);
    svec_clear(&mods_log);

    /* Nothing is there: nothing is deleted. */
    shash_clear_free_data(&flows);
    adp_desired_amend(desired, &a);
    drop_goto(&a, 1, 2, 9);
    adp_desired_end(desired, &a);
    commit(ADP_CHANGES_AFRESH);
    mods = joined(&mods_log);
    ck_assert_str_eq(mods, "add " FLOW(3) "\nput group 9\n");
    free(mods);
    svec_clear(&mods_log);

    shash_clear_free_data(&flows);
    adp_desired_forget(desired);
    adp_desired_amend(desired, &a);
    drop_goto(&a, 1, 3, 9);
    add_goto(&a, 1, 4, 9);
    adp_desired_end(desired, &a);
    commit(ADP_CHANGES_ALL);
    mods = joined(&mods_log);
    ck_assert_str_eq(mods, "add " FLOW(4) "\nput group 9\n");
    free(mods);
    svec_clear(&mods_log);
}
END_TEST

START_TEST(test_clauses_that_come_and_go)
{
    struct adp_changes changes;

    adp_desired_begin(desired, &a);
    add_clause(&a, 1, 5);
    add_clause(&a, 1, 6);
    adp_desired_end(desired, &a);
    expect("add " CLAUSES(1));

    adp_desired_begin(desired, &a);
    add_clause(&a, 1, 6);
    add_clause(&a, 1, 7);
    adp_desired_end(desired, &a);
    ck_assert_ptr_null(adp_desired_get_changes(desired, ADP_CHANGES_ONLY,
                                               NULL, &changes));
    ck_assert_uint_eq(changes.n_flows, 1);
    ck_assert_int_eq(adp_change_clauses(desired, &changes.flows[0]),
                     ADP_CLAUSES_BOTH);
    take_changes(&changes, ADP_GOAL_BOTH);
    expect_flow(CLAUSES(1), "0x7 conjunction(5,1/2),conjunction(6,1/2),"
                "conjunction(7,1/2)");
    take_changes(&changes, ADP_GOAL_NEW);
    expect_flow(CLAUSES(1), "0x7 conjunction(6,1/2),conjunction(7,1/2)");
    take_changes(&changes, ADP_GOAL_OLD);
    expect_flow(CLAUSES(1), "0x7 conjunction(5,1/2),conjunction(6,1/2)");
    adp_changes_uninit(&changes);
    adp_desired_revert(desired);

    /* Only more, only less. */
    for (int i = 0; i < 2; i++) {
        adp_desired_begin(desired, &a);
        add_clause(&a, 1, 5);
        if (i) {
            add_clause(&a, 1, 6);
            add_clause(&a, 1, 7);
        }
        adp_desired_end(desired, &a);
        ck_assert_ptr_null(adp_desired_get_changes(desired, ADP_CHANGES_ONLY,
                                                   NULL, &changes));
        ck_assert_uint_eq(changes.n_flows, 1);
        ck_assert_int_eq(adp_change_clauses(desired, &changes.flows[0]),
                         i ? ADP_CLAUSES_COME : ADP_CLAUSES_GO);
        adp_changes_uninit(&changes);
        adp_desired_revert(desired);
    }
    svec_clear(&mods_log);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("desired");
    TCase *tc = tcase_create("desired");

    tcase_add_checked_fixture(tc, desired_setup, desired_teardown);
    tcase_add_test(tc, test_flow_stays_while_somebody_asks_for_it);
    tcase_add_test(tc, test_saying_the_same_is_no_change);
    tcase_add_test(tc, test_flow_is_modified_in_place);
    tcase_add_test(tc, test_clauses_share_a_flow);
    tcase_add_test(tc, test_contradictions);
    tcase_add_test(tc, test_groups);
    tcase_add_test(tc, test_bad_text_is_reported);
    tcase_add_test(tc, test_sources);
    tcase_add_test(tc, test_sources_go);
    tcase_add_test(tc, test_source_scopes);
    tcase_add_test(tc, test_scopes);
    tcase_add_test(tc, test_clauses_that_come_and_go);
    suite_add_tcase(s, tc);
    return s;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    return test_run(suite());
}

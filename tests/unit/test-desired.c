/* SPDX-License-Identifier: Apache-2.0 */

/* Desired flows: contributors say what they ask for, and a table of our own
 * gets the mods and must hold just that. */

#include <config.h>

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "byte-order.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-table.h"
#include "openvswitch/shash.h"
#include "pipeline-desired.h"
#include "random.h"
#include "svec.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

static struct adp_desired *desired;
static struct adp_contributor a, b, c;

/* What is in the bridge: "table=T,priority=P,MATCH" to "COOKIE ACTIONS", and
 * group ID to number of buckets. */
static struct shash flows, groups;
static struct svec mods_log;

static void
setup(void)
{
    desired = adp_desired_create();
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    memset(&c, 0, sizeof c);
    shash_init(&flows);
    shash_init(&groups);
    svec_init(&mods_log);
}

static void
teardown(void)
{
    struct adp_desired_usage usage;

    /* All that was given is given back. */
    adp_desired_remove(desired, &a);
    adp_desired_remove(desired, &b);
    adp_desired_remove(desired, &c);
    adp_desired_accept(desired);
    adp_desired_get_usage(desired, &usage);
    ck_assert_uint_eq(usage.n_flows, 0);
    ck_assert_uint_eq(usage.n_groups, 0);
    ck_assert_uint_eq(usage.n_masks, 0);
    ck_assert_uint_eq(usage.n_actions, 0);
    ck_assert_uint_eq(usage.n_claims, 0);
    adp_desired_destroy(desired);
    shash_destroy_free_data(&flows);
    shash_destroy_free_data(&groups);
    svec_destroy(&mods_log);
}

/* The table. */

static char *
format_key(const struct ofputil_flow_mod *fm)
{
    char *s = minimatch_to_string(&fm->match, NULL, fm->priority);
    char *key = xasprintf("table=%d,%s", fm->table_id, s);

    free(s);
    return key;
}

static void
take_flow_mod(const struct ofputil_flow_mod *fm)
{
    char *key = format_key(fm);
    char *old = shash_find_data(&flows, key);

    if (fm->command == OFPFC_DELETE_STRICT) {
        ck_assert_msg(old, "%s isn't there", key);
        ck_assert_uint_eq(strtoull(old, NULL, 0), ntohll(fm->cookie));
        ck_assert(fm->cookie_mask == OVS_BE64_MAX);
        free(shash_find_and_delete(&flows, key));
        svec_add_nocopy(&mods_log, xasprintf("delete %s", key));
    } else {
        struct ds s = DS_EMPTY_INITIALIZER;
        struct ofpact_format_params fp = { .s = &s };

        ck_assert(old || fm->command == OFPFC_ADD);
        ds_put_format(&s, "%#"PRIx64" ", ntohll(fm->new_cookie));
        if (fm->idle_timeout) {
            ds_put_format(&s, "idle=%d ", fm->idle_timeout);
        }
        ofpacts_format(fm->ofpacts, fm->ofpacts_len, &fp);
        free(shash_replace(&flows, key, ds_steal_cstr(&s)));
        svec_add_nocopy(&mods_log, xasprintf("%s %s", fm->command == OFPFC_ADD
                                        ? "add" : "modify", key));
    }
    free(key);
}

static void
take_group_mod(const struct ofputil_group_mod *gm)
{
    char *id = xasprintf("%"PRIu32, gm->group_id);

    if (gm->command == OFPGC11_DELETE) {
        ck_assert(shash_find(&groups, id));
        free(shash_find_and_delete(&groups, id));
        svec_add_nocopy(&mods_log, xasprintf("delete group %s", id));
    } else {
        ck_assert_int_eq(gm->command, OFPGC11_ADD_OR_MOD);
        free(shash_replace(&groups, id,
                           xasprintf("%"PRIuSIZE,
                                     ovs_list_size(&gm->buckets))));
        svec_add_nocopy(&mods_log, xasprintf("put group %s", id));
    }
    free(id);
}

static void
take_changes(const struct adp_changes *changes, enum adp_goal goal)
{
    for (size_t i = 0; i < changes->n_groups; i++) {
        struct ofputil_group_mod gm;

        adp_change_to_group_mod(desired, &changes->groups[i], goal, &gm);
        take_group_mod(&gm);
        ofputil_uninit_group_mod(&gm);
    }
    for (size_t i = 0; i < changes->n_flows; i++) {
        struct ofputil_flow_mod fm;

        adp_change_to_flow_mod(desired, &changes->flows[i], goal, &fm);
        take_flow_mod(&fm);
        adp_flow_mod_uninit(&fm);
    }
}

static void
commit(enum adp_scope scope)
{
    struct adp_changes changes;

    ck_assert(adp_desired_settle(desired));
    struct adp_error *error = adp_desired_get_changes(desired, scope, NULL,
                                                      &changes);

    ck_assert_msg(!error, "%s", error ? error->message : NULL);
    take_changes(&changes, ADP_GOAL_NEW);
    adp_changes_uninit(&changes);
    adp_desired_accept(desired);
}

static void
expect_error(const char *code, const char *message)
{
    struct adp_changes changes;
    struct adp_error *error = adp_desired_get_changes(
        desired, ADP_CHANGES_ONLY, NULL, &changes);

    ck_assert(error);
    ck_assert_str_eq(error->code, code);
    ck_assert_msg(strstr(error->message, message), "\"%s\" lacks \"%s\"",
                  error->message, message);
    adp_error_destroy(error);
    adp_changes_uninit(&changes);
    adp_desired_revert(desired);
}

static char *
joined(struct svec *svec)
{
    svec_sort(svec);
    return svec_join(svec, "\n", "\n");
}

/* Commits, which must take just these mods, in any order. */
static void
expect(const char *mods)
{
    struct svec expected = SVEC_EMPTY_INITIALIZER;

    commit(ADP_CHANGES_ONLY);
    svec_parse_words(&expected, "");
    for (const char *p = mods; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        svec_add_nocopy(&expected, xmemdup0(p, strcspn(p, "\n")));
    }
    char *e = joined(&expected);
    char *is = joined(&mods_log);
    ck_assert_str_eq(is, e);
    free(e);
    free(is);
    svec_destroy(&expected);
    svec_clear(&mods_log);
}

static void
expect_flow(const char *key, const char *content)
{
    ck_assert_pstr_eq(shash_find_data(&flows, key), content);
}

/* Saying. */

/* A match on nw_src 10.0.0.'host', or on all IP packets if 'host' is 0. */
static struct adp_flow_key
flow_key(struct match *match, uint8_t table_id, uint16_t priority,
         uint64_t cookie, uint8_t host)
{
    match_init_catchall(match);
    match_set_dl_type(match, htons(0x0800));
    if (host) {
        match_set_nw_src(match, htonl(0x0a000000 + host));
    }
    return (struct adp_flow_key) { table_id, priority, cookie, match };
}

static void
add_goto(struct adp_contributor *contributor, uint64_t cookie, uint8_t host,
         uint8_t table)
{
    uint64_t stub[8];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    struct match match;
    struct adp_flow_key key = flow_key(&match, 1, 100, cookie, host);

    ofpact_put_GOTO_TABLE(&ofpacts)->table_id = table;
    adp_desired_add_flow(desired, contributor, &key, ofpacts.data,
                         ofpacts.size);
}

static void
drop_goto(struct adp_contributor *contributor, uint64_t cookie, uint8_t host,
          uint8_t table)
{
    uint64_t stub[8];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    struct match match;
    struct adp_flow_key key = flow_key(&match, 1, 100, cookie, host);

    ofpact_put_GOTO_TABLE(&ofpacts)->table_id = table;
    adp_desired_drop_flow(desired, contributor, &key, ofpacts.data,
                          ofpacts.size);
}

static void
add_clause(struct adp_contributor *contributor, uint8_t host, uint32_t conj_id)
{
    struct match match;
    struct adp_flow_key key = flow_key(&match, 2, 200, 7, host);

    adp_desired_add_clause(desired, contributor, &key, conj_id, 1, 2);
}

static void
drop_clause(struct adp_contributor *contributor, uint8_t host,
            uint32_t conj_id)
{
    struct match match;
    struct adp_flow_key key = flow_key(&match, 2, 200, 7, host);

    adp_desired_drop_clause(desired, contributor, &key, conj_id, 1, 2);
}

static void
add_text(struct adp_contributor *contributor, const char *text)
{
    adp_desired_add_text(desired, contributor, text, NULL, NULL);
}

#define FLOW(HOST) "table=1,priority=100,ip,nw_src=10.0.0." #HOST
#define CLAUSES(HOST) "table=2,priority=200,ip,nw_src=10.0.0." #HOST

/* Tests. */

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

static bool
end_amending(struct adp_contributor *contributor)
{
    adp_desired_end(desired, contributor);
    return adp_desired_settle(desired);
}

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
    ck_assert_uint_eq(cost_of_taking_back(1), cost_of_taking_back(50));
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

static Suite *
suite(void)
{
    Suite *s = suite_create("desired");
    TCase *tc = tcase_create("desired");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_flow_stays_while_somebody_asks_for_it);
    tcase_add_test(tc, test_saying_the_same_is_no_change);
    tcase_add_test(tc, test_flow_is_modified_in_place);
    tcase_add_test(tc, test_clauses_share_a_flow);
    tcase_add_test(tc, test_amendments);
    tcase_add_test(tc, test_cost_of_taking_back);
    tcase_add_test(tc, test_withdrawals_that_are_not_needed);
    tcase_add_test(tc, test_contradictions);
    tcase_add_test(tc, test_groups);
    tcase_add_test(tc, test_bad_text_is_reported);
    tcase_add_test(tc, test_sources);
    tcase_add_test(tc, test_sources_go);
    tcase_add_test(tc, test_source_scopes);
    tcase_add_test(tc, test_scopes);
    tcase_add_test(tc, test_clauses_that_come_and_go);
    tcase_add_test(tc, test_random_changes);
    suite_add_tcase(s, tc);
    return s;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    return test_run(suite());
}

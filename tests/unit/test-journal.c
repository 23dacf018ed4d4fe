/* SPDX-License-Identifier: Apache-2.0 */

/* The journal against a plain model: rules come and go in transactions as
 * upstream tells of them, some transactions fail and give the inverse calls,
 * groups change, and after each version the program must answer as the rules
 * do that are in the tables by then, and no other. */

#include <config.h>

#include <check.h>

#include "adp-bridge-private.h"
#include "adp-journal.h"
#include "adp-match.h"
#include "adp-turn.h"
#include "ofproto/ofproto-provider.h"
#include "openvswitch/ofp-actions.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"

enum {
    N_USED_TABLES = 3,
    N_RULES = 24,
    N_GROUPS = 4,
    N_VERSIONS = 400,
};

/* Upstream, as far as the journal knows it. */

static struct upstream_rule {
    struct rule up;
    bool present;               /* In the tables. */
    int n_refs;
} rules[N_RULES];

static struct upstream_group {
    struct ofgroup up;
    bool present;
    ovs_version_t first;        /* That has it. */
    int n_refs;
} groups[N_GROUPS];

static enum ofputil_table_miss misses[ADP_N_TABLES];
static struct adp_bridge *b;

struct ovs_mutex ofproto_mutex = OVS_MUTEX_INITIALIZER;

void
ofproto_rule_ref(struct rule *rule)
{
    CONTAINER_OF(rule, struct upstream_rule, up)->n_refs++;
}

void
ofproto_rule_unref(struct rule *rule)
{
    CONTAINER_OF(rule, struct upstream_rule, up)->n_refs--;
}

struct ofgroup *
ofproto_group_lookup(const struct ofproto *ofproto OVS_UNUSED,
                     uint32_t group_id, ovs_version_t version, bool take_ref)
{
    if (group_id > N_GROUPS) {
        return NULL;
    }

    struct upstream_group *group = &groups[group_id - 1];
    if (!group->present || version < group->first) {
        return NULL;
    }
    group->n_refs += take_ref;
    return &group->up;
}

void
ofproto_group_unref(struct ofgroup *group)
{
    CONTAINER_OF(group, struct upstream_group, up)->n_refs--;
}

enum ofputil_table_miss
ofproto_table_get_miss_config(const struct ofproto *ofproto OVS_UNUSED,
                              uint8_t table_id)
{
    return misses[table_id];
}

struct rule *
adp_bridge_find_rule(const struct adp_bridge *bridge OVS_UNUSED,
                     uint8_t table_id OVS_UNUSED,
                     const struct minimatch *match OVS_UNUSED,
                     int priority OVS_UNUSED)
{
    return NULL;
}

void
adp_bridge_lock_tables(void)
    OVS_ACQUIRES(ofproto_mutex)
{
    ovs_mutex_lock(&ofproto_mutex);
}

enum adp_turn_section
adp_turn_enter(enum adp_turn_section section)
{
    return section;
}

void
adp_turn_leave(enum adp_turn_section outer OVS_UNUSED)
{
}

/* Rules: several match the same packets, at priorities of their own. */
static void
make_rule(struct upstream_rule *r, size_t i)
{
    static const struct rule_actions none;
    struct match match;

    memset(r, 0, sizeof *r);
    match_init_catchall(&match);
    match_set_reg(&match, 0, i % 5);
    if (i % 2) {
        match_set_reg(&match, 1, i % 3);
    }
    cls_rule_init(CONST_CAST(struct cls_rule *, &r->up.cr), &match, 10 + i);
    *CONST_CAST(uint8_t *, &r->up.table_id) = i % N_USED_TABLES;
    *CONST_CAST(const struct rule_actions **, &r->up.actions) = &none;
}

static void
setup(void)
{
    b = xzalloc(sizeof *b);
    b->own = xzalloc(sizeof *b->own);
    b->learn = adp_learn_table_create();
    adp_journal_init(b);
    for (size_t i = 0; i < N_RULES; i++) {
        make_rule(&rules[i], i);
    }
    for (size_t i = 0; i < N_GROUPS; i++) {
        memset(&groups[i], 0, sizeof groups[i]);
        ovs_list_init(CONST_CAST(struct ovs_list *, &groups[i].up.buckets));
    }
    memset(misses, 0, sizeof misses);
}

static void
teardown(void)
{
    adp_journal_uninit(b);
    adp_learn_table_destroy(b->learn);
    free(b->own);
    free(b);
    ovsrcu_barrier();
    ovsrcu_barrier();
    for (size_t i = 0; i < N_RULES; i++) {
        ck_assert_int_eq(rules[i].n_refs, 0);
        cls_rule_destroy(CONST_CAST(struct cls_rule *, &rules[i].up.cr));
    }
    for (size_t i = 0; i < N_GROUPS; i++) {
        ck_assert_int_eq(groups[i].n_refs, 0);
    }
}

static const struct adp_program *
program(void)
{
    return ovsrcu_get(struct adp_program *, &b->program);
}

/* What a look-up in the model finds. */
static const struct rule *
model_lookup(uint8_t table_id, const struct flow *flow)
{
    const struct rule *best = NULL;

    for (size_t i = 0; i < N_RULES; i++) {
        const struct rule *rule = &rules[i].up;

        if (rules[i].present && rule->table_id == table_id
            && minimatch_matches_flow(&rule->cr.match, flow)
            && (!best || rule->cr.priority > best->cr.priority)) {
            best = rule;
        }
    }
    return best;
}

static void
check_tables(void)
{
    const struct adp_program *p = program();

    for (uint8_t id = 0; id < N_USED_TABLES; id++) {
        const struct adp_table *table = p->tables[id];
        size_t n = 0;

        for (size_t i = 0; i < N_RULES; i++) {
            n += rules[i].present && rules[i].up.table_id == id;
        }
        ck_assert_uint_eq(table ? table->n_rules : 0, n);
        for (uint32_t reg = 0; n && reg < 15; reg++) {
            struct adp_match_scratch scratch = { .words = NULL };
            struct flow flow;

            memset(&flow, 0, sizeof flow);
            flow.regs[0] = reg % 5;
            flow.regs[1] = reg % 3;
            const struct adp_rule *found
                = adp_match_lookup(table->match, &flow, &scratch);
            ck_assert_ptr_eq(found ? found->owner : NULL,
                             model_lookup(id, &flow));
            adp_match_scratch_uninit(&scratch);
        }
    }
    for (size_t i = 0; i < N_GROUPS; i++) {
        ck_assert_int_eq(adp_program_get_group(p, i + 1) != NULL,
                         groups[i].present);
    }
}

/* Transactions. */

static void
toggle(struct upstream_rule *r)
    OVS_REQUIRES(ofproto_mutex)
{
    r->present = !r->present;
    if (r->present) {
        adp_journal_rule_inserted(b, &r->up);
    } else {
        adp_journal_rule_removed(b, &r->up);
    }
}

/* Some rules come or go, the same one several times perhaps; then all that
 * once more, backwards, if the transaction fails. */
static void
transaction(bool fails)
    OVS_REQUIRES(ofproto_mutex)
{
    struct upstream_rule *done[16];
    size_t n = random_range(ARRAY_SIZE(done) + 1);

    for (size_t i = 0; i < n; i++) {
        done[i] = &rules[random_range(N_RULES)];
        toggle(done[i]);
    }
    while (fails && n) {
        toggle(done[--n]);
    }
}

static void
change_group(void)
    OVS_REQUIRES(ofproto_mutex)
{
    size_t i = random_range(N_GROUPS);

    groups[i].present = !groups[i].present;
    adp_journal_group_changed(b, i + 1);
    adp_journal_group_changed(b, i + 1);
}

START_TEST(random_versions)
{
    for (size_t version = 0; version < N_VERSIONS; version++) {
        ovs_mutex_lock(&ofproto_mutex);
        for (size_t n = random_range(4); n; n--) {
            transaction(random_range(2));
        }
        for (size_t n = random_range(4); n; n--) {
            change_group();
        }
        adp_journal_close_version(b);
        ovs_mutex_unlock(&ofproto_mutex);
        check_tables();
    }
}
END_TEST

/* Groups of a bundle that has a port mod between its mods come in several
 * versions, all before the first is closed. */
START_TEST(groups_of_later_versions)
{
    ovs_mutex_lock(&ofproto_mutex);
    for (size_t i = 0; i < 2; i++) {
        groups[i].present = true;
        groups[i].first = i + 1;
        adp_journal_group_changed(b, i + 1);
    }
    adp_journal_close_version(b);
    check_tables();
    adp_journal_close_version(b);
    ovs_mutex_unlock(&ofproto_mutex);
    check_tables();
}
END_TEST

/* A version looks at the groups that changed with it, not at as many places
 * as there once were such groups. */
START_TEST(many_groups_once)
{
    ovs_mutex_lock(&ofproto_mutex);
    for (size_t i = 1; i <= 1000; i++) {
        adp_journal_group_changed(b, i);
    }
    adp_journal_close_version(b);
    ck_assert_uint_eq(b->own->dirty_groups.mask, 0);
    ovs_mutex_unlock(&ofproto_mutex);
}
END_TEST

/* Nobody sees a version before it is closed, nor one in which nothing
 * changed. */
START_TEST(generations)
{
    uint64_t before = program()->generation;

    ovs_mutex_lock(&ofproto_mutex);
    adp_journal_close_version(b);
    ck_assert_uint_eq(program()->generation, before);

    transaction(true);
    adp_journal_close_version(b);
    ck_assert_uint_eq(program()->generation, before);

    toggle(&rules[0]);
    ck_assert_uint_eq(program()->generation, before);
    ck_assert_ptr_null(program()->tables[0]);
    adp_journal_close_version(b);
    ck_assert_uint_eq(program()->generation, before + 1);
    ck_assert_uint_eq(program()->tables[0]->n_rules, 1);
    ovs_mutex_unlock(&ofproto_mutex);
}
END_TEST

static size_t
count_learned(void)
{
    struct adp_learn_counts counts;

    adp_learn_table_get_counts(b->learn, &counts);
    return counts.total;
}

/* What a failed transaction removed is back as it was. */
START_TEST(learned_flows_come_back)
{
    enum { N = 10 };
    uint64_t generation;

    ovs_mutex_lock(&ofproto_mutex);
    for (size_t i = 0; i < N; i++) {
        ck_assert(adp_journal_may_learn(b, &rules[i].up));
        toggle(&rules[i]);
    }
    toggle(&rules[N]);
    adp_journal_close_version(b);
    ck_assert_uint_eq(count_learned(), N);

    generation = program()->generation;
    for (size_t i = 0; i <= N; i++) {
        toggle(&rules[i]);
    }
    for (size_t i = N + 1; i > 0; i--) {
        toggle(&rules[i - 1]);
    }
    ck_assert_uint_eq(count_learned(), N);
    adp_journal_close_version(b);
    ck_assert_uint_eq(count_learned(), N);
    ck_assert_uint_eq(program()->generation, generation);

    for (size_t i = 0; i <= N; i++) {
        toggle(&rules[i]);
    }
    adp_journal_close_version(b);
    ck_assert_uint_eq(count_learned(), 0);
    ovs_mutex_unlock(&ofproto_mutex);
    check_tables();
}
END_TEST

/* A flow that was to come with a failed transaction isn't kept for the next
 * one, nor is its place. */
START_TEST(learned_flow_stays_away)
{
    ovs_mutex_lock(&ofproto_mutex);
    ck_assert(adp_journal_may_learn(b, &rules[0].up));
    toggle(&rules[0]);
    toggle(&rules[0]);
    ck_assert_uint_eq(count_learned(), 0);
    ovs_mutex_unlock(&ofproto_mutex);
    ovsrcu_barrier();
    ovsrcu_barrier();
    ck_assert_int_eq(rules[0].n_refs, 0);
}
END_TEST

/* The end of a flow is awaited when it has come, not when it may come. */
START_TEST(awaited_ends)
{
    switch (_i) {
    case 0:
        rules[0].up.flags = OFPUTIL_FF_SEND_FLOW_REM;
        break;
    case 1:
        rules[0].up.match_tlv_bitmap = 1;
        break;
    default:
        rules[0].up.ofpacts_tlv_bitmap = 1;
        break;
    }
    ovs_mutex_lock(&ofproto_mutex);
    toggle(&rules[0]);
    adp_journal_close_version(b);
    toggle(&rules[0]);
    ck_assert_uint_eq(adp_rules_awaited(), 0);
    toggle(&rules[0]);
    adp_journal_close_version(b);
    ck_assert_uint_eq(adp_rules_awaited(), 0);

    toggle(&rules[0]);
    adp_journal_close_version(b);
    ck_assert_uint_eq(adp_rules_awaited(), 1);
    ovs_mutex_unlock(&ofproto_mutex);
    ovsrcu_barrier();
    ovsrcu_barrier();
    ck_assert_uint_eq(adp_rules_awaited(), 0);
}
END_TEST

/* Upstream's own table is none of ours. */
START_TEST(internal_table)
{
    ovs_mutex_lock(&ofproto_mutex);
    *CONST_CAST(uint8_t *, &rules[1].up.table_id) = ADP_N_TABLES - 1;
    adp_journal_rule_inserted(b, &rules[1].up);
    adp_journal_close_version(b);
    adp_journal_rule_removed(b, &rules[1].up);
    adp_journal_close_version(b);
    ck_assert_uint_eq(program()->generation, 1);
    ck_assert_int_eq(rules[1].n_refs, 0);
    ovs_mutex_unlock(&ofproto_mutex);
}
END_TEST

START_TEST(what_a_miss_does)
{
    adp_journal_read_misses(b);
    ck_assert_uint_eq(program()->generation, 1);

    misses[2] = OFPUTIL_TABLE_MISS_DROP;
    adp_journal_read_misses(b);
    ck_assert_uint_eq(program()->generation, 2);
    ck_assert_int_eq(program()->misses[2], OFPUTIL_TABLE_MISS_DROP);
    adp_journal_read_misses(b);
    ck_assert_uint_eq(program()->generation, 2);

    misses[ADP_LAST_TABLE] = OFPUTIL_TABLE_MISS_CONTINUE;
    adp_journal_read_misses(b);
    ck_assert_int_eq(program()->misses[ADP_LAST_TABLE],
                     OFPUTIL_TABLE_MISS_CONTINUE);
}
END_TEST

static void
close_with(bool present)
{
    ovs_mutex_lock(&ofproto_mutex);
    if (rules[0].present != present) {
        toggle(&rules[0]);
    }
    adp_journal_close_version(b);
    ovs_mutex_unlock(&ofproto_mutex);
}

START_TEST(declarations)
{
    uint32_t words[ADP_N_TABLES] = { 0 };

    adp_journal_declare_metadata(b, words);
    adp_journal_publish_settings(b);
    ck_assert_uint_eq(program()->generation, 1);

    words[2] = 5;
    words[ADP_LAST_TABLE] = 6;
    for (int i = 0; i < 2; i++) {
        adp_journal_declare_metadata(b, words);
        adp_journal_publish_settings(b);
        ck_assert_uint_eq(program()->generation, 2);
        ck_assert_uint_eq(adp_program_metadata(program(), 2), 5);
        ck_assert_uint_eq(adp_program_metadata(program(), ADP_LAST_TABLE), 6);
        ck_assert_uint_eq(adp_program_metadata(program(), 3), 0);
    }
    words[2] = 0;
    adp_journal_declare_metadata(b, words);
    ck_assert_uint_eq(adp_program_metadata(program(), 2), 5);
    adp_journal_publish_settings(b);
    ck_assert_uint_eq(adp_program_metadata(program(), 2), 0);
}
END_TEST

/* They come into force with the flows that go with them. */
START_TEST(answers)
{
    const uint8_t userdata[] = { 1, 2 };
    struct adp_answers answers;

    memset(&answers, 0, sizeof answers);
    adp_journal_set_answers(b, &answers);
    adp_journal_publish_settings(b);
    ck_assert_uint_eq(program()->generation, 1);

    adp_answers_add(&answers, userdata, sizeof userdata,
                    ADP_ANSWER_PROHIBITED, false);
    adp_journal_set_answers(b, &answers);
    ck_assert_uint_eq(program()->answers.n, 0);
    close_with(true);
    ck_assert_uint_eq(program()->generation, 2);
    ck_assert_uint_eq(program()->answers.n, 1);
    adp_journal_publish_settings(b);
    ck_assert_uint_eq(program()->generation, 2);

    /* Those of flows that didn't come are none. */
    answers.n = 0;
    adp_journal_set_answers(b, &answers);
    answers.n = 1;
    adp_journal_set_answers(b, &answers);
    adp_journal_publish_settings(b);
    ck_assert_uint_eq(program()->generation, 2);

    close_with(false);
    ck_assert_uint_eq(program()->answers.n, 1);
}
END_TEST

static void
expect_flush(bool emptied, bool filled)
{
    struct adp_journal_flush flush;

    ck_assert_int_eq(adp_journal_was_flushed(b), emptied || filled);
    adp_journal_take_flush(b, &flush);
    ck_assert_int_eq(flush.emptied, emptied);
    ck_assert_int_eq(flush.filled, filled);
    ck_assert(!adp_journal_was_flushed(b));
}

/* A bridge that keeps a pipeline closes when a version leaves it empty. */
START_TEST(flushes)
{
    enum adp_mode mode;

    atomic_init(&b->mode, ADP_MODE_COMPILED);
    close_with(true);
    expect_flush(false, true);
    close_with(false);
    expect_flush(false, false);

    adp_journal_keep_pipeline(b, true);
    close_with(false);
    expect_flush(false, false);         /* It was empty. */
    close_with(true);
    close_with(false);
    atomic_read_relaxed(&b->mode, &mode);
    ck_assert_int_eq(mode, ADP_MODE_CLOSED);
    expect_flush(true, true);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("journal");
    TCase *tc = tcase_create("journal");

    test_seed_random();
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, random_versions);
    tcase_add_test(tc, groups_of_later_versions);
    tcase_add_test(tc, many_groups_once);
    tcase_add_test(tc, generations);
    tcase_add_test(tc, learned_flows_come_back);
    tcase_add_test(tc, learned_flow_stays_away);
    tcase_add_loop_test(tc, awaited_ends, 0, 3);
    tcase_add_test(tc, internal_table);
    tcase_add_test(tc, what_a_miss_does);
    tcase_add_test(tc, declarations);
    tcase_add_test(tc, answers);
    tcase_add_test(tc, flushes);
    suite_add_tcase(s, tc);
    return test_run(s);
}

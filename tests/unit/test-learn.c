/* SPDX-License-Identifier: Apache-2.0 */

/* The table of learned flows: what walks see of it, how its entries come and
 * go, and its limits. */

#include <config.h>
#include <check.h>
#include "adp-learn.h"
#include "engine.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-match.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "test-run.h"
#include "util.h"

#define TCP "in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64," \
    "tp_src=1000,tp_dst=80"
#define WEB "table=0,priority=100,tcp,tp_dst=80,actions=output:3"

/* A flow with learn(), number 'i'. */
static struct adp_rule *
make_learner(int i)
{
    char *text = xasprintf("table=1,priority=%d,"
                           "actions=learn(table=0,eth_type=0x800)", i);
    struct adp_rule *rule = engine_parse_flow(text);

    free(text);
    return rule;
}

static enum adp_learn_result
learn_in(struct engine *e, const char *text, int learner, uint64_t generation)
{
    struct adp_learned learned = { .rule = make_learner(learner) };
    enum ofputil_protocol usable_protocols;
    char *error = parse_ofp_flow_mod_str(&learned.fm, text, NULL, NULL,
                                         OFPFC_ADD, &usable_protocols);

    ck_assert_msg(!error, "%s", error);
    enum adp_learn_result result = adp_learn_table_insert(e->learn, &learned,
                                                          generation);
    free(learned.fm.ofpacts);
    adp_learned_uninit(&learned);
    return result;
}

static enum adp_learn_result
learn_from(struct engine *e, const char *text, int learner)
{
    return learn_in(e, text, learner, e->program->generation);
}

static enum adp_learn_result
learn(struct engine *e, const char *text)
{
    return learn_from(e, text, 1);
}

static struct adp_learn_entry *
take(struct engine *e)
{
    struct adp_learn_entry *entry;

    ck_assert_uint_eq(adp_learn_table_take(e->learn, &entry, 1), 1);
    return entry;
}

static void
retire(struct engine *e, struct adp_learn_entry *entry)
{
    adp_learn_table_retire(e->learn, &entry, 1, e->program->generation);
}

static void
check_counts(struct engine *e, size_t waiting, size_t total)
{
    struct adp_learn_counts counts;

    adp_learn_table_get_counts(e->learn, &counts);
    ck_assert_uint_eq(counts.waiting, waiting);
    ck_assert_uint_eq(counts.total, total);
}

static void
set_limits(struct engine *e, size_t per_learner, size_t total)
{
    adp_learn_table_set_limits(e->learn, &(struct adp_learn_limits) {
        .per_learner = per_learner,
        .total = total,
    });
}

START_TEST(test_lookup)
{
    struct engine *e = engine_create();

    engine_add_flows(e, "table=0,priority=100,tcp actions=output:2");
    ck_assert_str_eq(engine_run(e, TCP), "102");

    /* Ours wins over an equal priority, not over a higher one. */
    ck_assert_int_eq(learn(e, "table=0,priority=99,tcp,actions=output:3"),
                     ADP_LEARN_ADDED_FIRST);
    ck_assert_str_eq(engine_run(e, TCP), "102");
    ck_assert_int_eq(learn(e, WEB), ADP_LEARN_ADDED);
    ck_assert_str_eq(engine_run(e, TCP), "103");
    ck_assert_str_eq(engine_run(e, "in_port=1,tcp,tp_dst=81"), "102");
    check_counts(e, 2, 2);

    /* The same again is nothing new, other actions are. */
    ck_assert_int_eq(learn(e, WEB), ADP_LEARN_KNOWN);
    ck_assert_int_eq(learn(e, "table=0,priority=100,tcp,tp_dst=80,"
                           "actions=output:4"), ADP_LEARN_ADDED);
    ck_assert_str_eq(engine_run(e, TCP), "104");
    check_counts(e, 2, 2);

    /* Another table, where nothing else is. */
    ck_assert_int_eq(learn(e, "table=9,priority=1,tcp,actions=output:5"),
                     ADP_LEARN_ADDED);
    ck_assert_int_eq(learn(e, "table=0,priority=100,tcp,tp_dst=80,"
                           "actions=resubmit(,9)"), ADP_LEARN_ADDED);
    ck_assert_str_eq(engine_run(e, TCP), "105");
    engine_destroy(e);
}
END_TEST

START_TEST(test_walk_in_older_program)
{
    struct engine *e = engine_create();

    engine_add_flows(e, "table=0,priority=50,tcp actions=output:2");
    struct adp_program *older = adp_program_ref(e->program);
    ck_assert_int_eq(learn(e, WEB), ADP_LEARN_ADDED_FIRST);
    struct adp_learn_entry *entry = take(e);

    /* The flow is published with another output, to tell the two apart. */
    engine_add_flows(e,
                     "table=0,priority=100,tcp,tp_dst=80 actions=output:4");
    retire(e, entry);
    ck_assert_str_eq(engine_run(e, TCP), "104");
    struct adp_program *newer = e->program;
    e->program = older;
    ck_assert_str_eq(engine_run(e, TCP), "103");

    /* Learned anew while it is still there for older walks. */
    e->program = newer;
    ck_assert_int_eq(learn(e, WEB), ADP_LEARN_ADDED_FIRST);
    ck_assert_str_eq(engine_run(e, TCP), "103");

    /* After a grace period the first one is gone, not the second one. */
    ovsrcu_quiesce();
    ovsrcu_barrier();
    ck_assert_str_eq(engine_run(e, TCP), "103");
    retire(e, take(e));
    ovsrcu_barrier();
    ck_assert_str_eq(engine_run(e, TCP), "104");
    e->program = older;
    ck_assert_str_eq(engine_run(e, TCP), "102");
    check_counts(e, 0, 0);
    e->program = newer;
    adp_program_unref(older);
    engine_destroy(e);
}
END_TEST

/* Another thread learns something else for the same packets while the first
 * one is being installed. */
START_TEST(test_displaced_while_taken)
{
    struct engine *e = engine_create();

    ck_assert(!adp_learn_table_has(e->learn, 0));
    ck_assert_int_eq(learn(e, WEB), ADP_LEARN_ADDED_FIRST);
    ck_assert(adp_learn_table_has(e->learn, 0));
    ck_assert(!adp_learn_table_has(e->learn, 1));
    ck_assert(!adp_learn_table_has(e->learn, 0xff));
    struct adp_learn_entry *entry = take(e);
    ck_assert_int_eq(learn(e, "table=0,priority=100,tcp,tp_dst=80,"
                           "actions=output:4"), ADP_LEARN_ADDED_FIRST);
    check_counts(e, 1, 2);
    retire(e, entry);
    check_counts(e, 1, 1);
    ck_assert_str_eq(engine_run(e, TCP), "104");
    retire(e, take(e));
    check_counts(e, 0, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(test_limits)
{
    struct engine *e = engine_create();

    set_limits(e, 2, 3);
    for (int i = 1; i <= 2; i++) {
        char *text = xasprintf("table=0,tcp,tp_dst=%d,actions=output:3", i);

        ck_assert_int_eq(learn(e, text),
                         i == 1 ? ADP_LEARN_ADDED_FIRST : ADP_LEARN_ADDED);
        free(text);
    }
    /* One flow's are enough, another's not yet. */
    ck_assert_int_eq(learn(e, WEB), ADP_LEARN_FULL);
    ck_assert_str_eq(engine_run(e, TCP), "drop");
    ck_assert_int_eq(learn_from(e, WEB, 2), ADP_LEARN_ADDED);
    ck_assert_int_eq(learn_from(e, "table=0,tcp,tp_dst=5,actions=output:3",
                                3), ADP_LEARN_FULL);
    check_counts(e, 3, 3);

    /* What OpenFlow holds counts until it leaves. */
    struct adp_learn_entry *entry = take(e);
    struct adp_learner *learner = adp_learn_entry_hand_over(entry);
    retire(e, entry);
    check_counts(e, 2, 3);
    ck_assert_int_eq(learn(e, "table=0,tcp,tp_dst=5,actions=output:3"),
                     ADP_LEARN_FULL);
    adp_learner_release(e->learn, learner);
    check_counts(e, 2, 2);
    ck_assert_int_eq(learn(e, "table=0,tcp,tp_dst=5,actions=output:3"),
                     ADP_LEARN_ADDED);

    /* What OpenFlow refused doesn't. */
    retire(e, take(e));
    check_counts(e, 2, 2);

    set_limits(e, 0, 100);
    ck_assert_int_eq(learn_from(e, "table=0,tcp,tp_dst=6,actions=output:3",
                                7), ADP_LEARN_FULL);
    engine_destroy(e);
}
END_TEST

static bool owner_is_free;

static void
free_owner(void *rule)
{
    adp_rule_unref(rule);
    owner_is_free = true;
}

/* OpenFlow's flow ends, and may be told of, while what it taught stays. */
START_TEST(test_learners_end)
{
    struct engine *e = engine_create();
    struct adp_rule *text = make_learner(1);
    const struct adp_op_list *ops = adp_rule_ops(text);
    struct adp_learned learned = {
        .rule = adp_rule_create(text->table_id, text->priority, text->match, 0,
                                ops->ofpacts, ops->ofpacts_len, text,
                                free_owner),
    };
    enum ofputil_protocol usable_protocols;

    owner_is_free = false;
    set_limits(e, 2, 100);
    ck_assert_ptr_null(parse_ofp_flow_mod_str(&learned.fm, WEB, NULL, NULL,
                                              OFPFC_ADD, &usable_protocols));
    ck_assert_int_eq(adp_learn_table_insert(e->learn, &learned,
                                            e->program->generation),
                     ADP_LEARN_ADDED_FIRST);
    ovsrcu_barrier();
    ck_assert(!owner_is_free);
    free(learned.fm.ofpacts);
    adp_learned_uninit(&learned);
    ovsrcu_barrier();
    ck_assert(owner_is_free);

    /* One that is equal is the same learner. */
    ck_assert_int_eq(learn(e, "table=0,tcp,tp_dst=5,actions=output:3"),
                     ADP_LEARN_ADDED);
    ck_assert_int_eq(learn(e, "table=0,tcp,tp_dst=6,actions=output:3"),
                     ADP_LEARN_FULL);

    /* One that teaches something else in its place isn't. */
    learned.rule = engine_parse_flow(
        "table=1,priority=1,actions=learn(table=0,eth_type=0x86dd)");
    ck_assert_ptr_null(parse_ofp_flow_mod_str(
                           &learned.fm, "table=0,tcp,tp_dst=7,actions=drop",
                           NULL, NULL, OFPFC_ADD, &usable_protocols));
    ck_assert_int_eq(adp_learn_table_insert(e->learn, &learned,
                                            e->program->generation),
                     ADP_LEARN_ADDED);
    free(learned.fm.ofpacts);
    adp_learned_uninit(&learned);
    engine_destroy(e);
}
END_TEST

START_TEST(test_flows_by_no_entry)
{
    struct engine *e = engine_create();
    struct adp_learner *learners[2];

    set_limits(e, 2, 3);
    for (int i = 0; i < 2; i++) {
        learners[i] = adp_learn_table_count_foreign(e->learn);
        ck_assert_ptr_nonnull(learners[i]);
    }
    ck_assert_ptr_null(adp_learn_table_count_foreign(e->learn));
    check_counts(e, 0, 2);

    /* They leave the rest to others. */
    ck_assert_int_eq(learn(e, WEB), ADP_LEARN_ADDED_FIRST);
    adp_learner_release(e->learn, learners[0]);
    ck_assert_int_eq(learn(e, "table=0,tcp,tp_dst=5,actions=output:3"),
                     ADP_LEARN_ADDED);
    ck_assert_ptr_null(adp_learn_table_count_foreign(e->learn));
    adp_learner_release(e->learn, learners[1]);
    check_counts(e, 2, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(test_early_packets)
{
    const struct adp_stats_delta delta = {
        .n_packets = 2, .n_bytes = 100, .used = 7, .tcp_flags = 2,
    };
    struct engine *e = engine_create();
    struct adp_rule *rule = engine_parse_flow(WEB);

    adp_learn_table_credit(e->learn, rule, &delta);     /* Nothing waits. */
    ck_assert_int_eq(learn(e, WEB), ADP_LEARN_ADDED_FIRST);
    adp_learn_table_credit(e->learn, rule, &delta);
    ck_assert_int_eq(learn(e, "table=0,priority=100,tcp,tp_dst=80,"
                           "actions=output:4"), ADP_LEARN_ADDED);
    adp_learn_table_credit(e->learn, rule, &delta);

    struct adp_learn_entry *entry = take(e);
    adp_learn_table_credit(e->learn, rule, &delta);     /* Too late. */
    ck_assert_uint_eq(entry->early.n_packets, 4);
    ck_assert_uint_eq(entry->early.n_bytes, 200);
    ck_assert_int_eq(entry->early.used, 7);
    ck_assert_uint_eq(entry->early.tcp_flags, 2);
    retire(e, entry);
    adp_rule_unref(rule);
    engine_destroy(e);
}
END_TEST

static bool
has_priority(const struct adp_rule *learner, const void *priority)
{
    return learner->priority == *(const int *) priority;
}

START_TEST(test_fence)
{
    const int gone = 1;
    struct engine *e = engine_create();
    uint64_t before = e->program->generation;

    ck_assert_int_eq(learn_from(e, "table=0,tcp,tp_dst=81,actions=output:3",
                                1), ADP_LEARN_ADDED_FIRST);
    ck_assert_int_eq(learn_from(e, WEB, 2), ADP_LEARN_ADDED);
    ck_assert_int_eq(learn_from(e, "table=0,tcp,tp_dst=82,actions=output:3",
                                1), ADP_LEARN_ADDED);

    /* The flows of the first learner leave with it, in the next program. */
    adp_learn_table_fence(e->learn, before + 1, has_priority, &gone);
    check_counts(e, 1, 1);
    ck_assert_str_eq(engine_run(e, "in_port=1,tcp,tp_dst=81"), "103");
    engine_add_flows(e, "table=0,priority=1 actions=output:2");
    ck_assert_uint_eq(e->program->generation, before + 1);
    ck_assert_str_eq(engine_run(e, "in_port=1,tcp,tp_dst=81"), "102");
    ck_assert_str_eq(engine_run(e, "in_port=1,tcp,tp_dst=82"), "102");
    ck_assert_str_eq(engine_run(e, TCP), "103");

    /* Walks in the old program teach nothing any more, those in the new one
     * do. */
    ck_assert_int_eq(learn_in(e, "table=0,tcp,tp_dst=81,actions=output:3", 1,
                              before), ADP_LEARN_LATE);
    ck_assert_int_eq(learn_from(e, "table=0,tcp,tp_dst=81,actions=output:4",
                                2), ADP_LEARN_ADDED);
    ck_assert_str_eq(engine_run(e, "in_port=1,tcp,tp_dst=81"), "104");
    check_counts(e, 2, 2);
    engine_destroy(e);
}
END_TEST

/* A group's bucket is an action set, in which a learn() does nothing, in stock
 * OVS too: so what waits is always a flow's. */
START_TEST(test_buckets_learn_nothing)
{
    struct engine *e = engine_create();

    engine_add_group(e, "group_id=1,type=all,"
                     "bucket=learn(table=9,eth_type=0x800),output:5,"
                     "bucket=resubmit(,2)");
    engine_add_flows(e, "table=0 actions=group:1\n"
                     "table=2 actions=learn(table=9,eth_type=0x86dd),output:6");
    ck_assert_str_eq(engine_run(e, TCP), "105,106");
    ck_assert_uint_eq(e->verdict.n_learned, 1);
    ck_assert_int_eq(e->verdict.learned[0].rule->table_id, 2);
    engine_destroy(e);
}
END_TEST

/* Two threads that learn, one of them the same as the other, beside one that
 * installs: everything is there once in the end, and nothing is left. */

enum { N_LEARNED = 2000 };

struct job {
    struct engine *e;
    unsigned int added;
};

static void *
learn_all(void *job_)
{
    struct job *job = job_;

    for (int i = 0; i < N_LEARNED; i++) {
        char *text = xasprintf("table=0,tcp,tp_dst=%d,actions=output:3", i);

        if (learn_in(job->e, text, i % 7, 1) <= ADP_LEARN_ADDED_FIRST) {
            job->added++;
        }
        free(text);
        ovsrcu_quiesce();
    }
    return NULL;
}

START_TEST(test_threads)
{
    struct engine *e = engine_create();
    struct job jobs[2] = { { .e = e }, { .e = e } };
    pthread_t threads[2];
    unsigned int taken = 0;

    for (int i = 0; i < 2; i++) {
        threads[i] = ovs_thread_create("learns", learn_all, &jobs[i]);
    }
    while (taken < N_LEARNED) {
        struct adp_learn_entry *entries[16];
        size_t n = adp_learn_table_take(e->learn, entries, 16);

        /* Retired for walks of a program that nobody walks yet: what was
         * learned stays known to those who learn. */
        if (n) {
            adp_learn_table_retire(e->learn, entries, n, 2);
        }
        taken += n;
        ovsrcu_quiesce();
    }
    for (int i = 0; i < 2; i++) {
        xpthread_join(threads[i], NULL);
    }
    for (;;) {
        struct adp_learn_entry *entry;

        if (!adp_learn_table_take(e->learn, &entry, 1)) {
            break;
        }
        adp_learn_table_retire(e->learn, &entry, 1, 2);
        taken++;
    }
    ck_assert_uint_ge(taken, N_LEARNED);
    ck_assert_uint_eq(taken, jobs[0].added + jobs[1].added);
    check_counts(e, 0, 0);
    engine_destroy(e);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("learn");
    TCase *tc = tcase_create("learn");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_lookup);
    tcase_add_test(tc, test_walk_in_older_program);
    tcase_add_test(tc, test_displaced_while_taken);
    tcase_add_test(tc, test_limits);
    tcase_add_test(tc, test_learners_end);
    tcase_add_test(tc, test_flows_by_no_entry);
    tcase_add_test(tc, test_early_packets);
    tcase_add_test(tc, test_fence);
    tcase_add_test(tc, test_buckets_learn_nothing);
    tcase_add_test(tc, test_threads);
    return test_run_nofork(s);
}

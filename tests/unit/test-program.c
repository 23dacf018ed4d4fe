/* SPDX-License-Identifier: Apache-2.0 */

/* Programs and deltas, and counters. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include "adp-match.h"
#include "adp-stats.h"
#include "engine.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "test-run.h"
#include "util.h"

static struct adp_program *
compile(struct adp_program *old, struct adp_delta *delta)
{
    struct adp_program *program = adp_compile(old, delta);

    adp_delta_destroy(delta);
    adp_program_unref(old);
    return program;
}

START_TEST(test_sharing)
{
    struct adp_program *p1 = adp_program_create(), *p2, *p3;
    struct adp_rule *a = engine_parse_flow("table=1 actions=drop");
    struct adp_rule *b = engine_parse_flow("table=2 actions=drop");
    struct adp_group *g = engine_parse_group("group_id=1,type=all");
    struct adp_delta *delta;

    ck_assert_uint_eq(p1->generation, 1);
    delta = adp_delta_create();
    adp_delta_add_rule(delta, a);
    adp_delta_set_group(delta, g);
    p2 = adp_compile(p1, delta);
    adp_delta_destroy(delta);
    ck_assert_uint_eq(p2->generation, 2);
    ck_assert_ptr_null(p1->tables[1]);
    ck_assert_uint_eq(p2->tables[1]->n_rules, 1);
    ck_assert_ptr_null(adp_program_get_group(p1, 1));
    ck_assert_ptr_eq(adp_program_get_group(p2, 1), g);

    /* What the delta leaves alone is the same object. */
    delta = adp_delta_create();
    adp_delta_add_rule(delta, b);
    p3 = adp_compile(p2, delta);
    adp_delta_destroy(delta);
    ck_assert_ptr_eq(p3->tables[1], p2->tables[1]);
    ck_assert_ptr_eq(p3->groups, p2->groups);
    ck_assert_ptr_null(p2->tables[2]);

    /* A table that loses its last rule is gone, a group too. */
    delta = adp_delta_create();
    adp_delta_remove_rule(delta, a);
    adp_delta_remove_group(delta, 1);
    p3 = compile(p3, delta);
    ck_assert_ptr_null(p3->tables[1]);
    ck_assert_ptr_nonnull(p3->tables[2]);
    ck_assert_ptr_null(adp_program_get_group(p3, 1));
    ck_assert_ptr_eq(adp_program_get_group(p2, 1), g);

    adp_program_unref(p1);
    adp_program_unref(p2);
    adp_program_unref(p3);
    adp_rule_unref(a);
    adp_rule_unref(b);
    adp_group_unref(g);
    ovsrcu_barrier();
}
END_TEST

START_TEST(test_cancelling)
{
    struct adp_program *p = adp_program_create();
    struct adp_rule *a = engine_parse_flow("table=1 actions=drop");
    struct adp_delta *delta;

    /* Came and went. */
    delta = adp_delta_create();
    ck_assert(adp_delta_is_empty(delta));
    adp_delta_add_rule(delta, a);
    ck_assert(!adp_delta_is_empty(delta));
    adp_delta_remove_rule(delta, a);
    ck_assert(adp_delta_is_empty(delta));
    p = compile(p, delta);
    ck_assert_ptr_null(p->tables[1]);

    /* Went and came back: a failed bundle undoes what it did. */
    delta = adp_delta_create();
    adp_delta_add_rule(delta, a);
    p = compile(p, delta);
    delta = adp_delta_create();
    adp_delta_remove_rule(delta, a);
    adp_delta_add_rule(delta, a);
    ck_assert(adp_delta_is_empty(delta));
    p = compile(p, delta);
    ck_assert_uint_eq(p->tables[1]->n_rules, 1);

    /* A group that comes, goes, and comes. */
    delta = adp_delta_create();
    for (int i = 0; i < 2; i++) {
        struct adp_group *g = engine_parse_group("group_id=1,type=all");

        adp_delta_set_group(delta, g);
        adp_group_unref(g);
        if (!i) {
            adp_delta_remove_group(delta, 1);
        }
    }
    p = compile(p, delta);
    ck_assert_ptr_nonnull(adp_program_get_group(p, 1));

    adp_program_unref(p);
    adp_rule_unref(a);
    ovsrcu_barrier();
}
END_TEST

START_TEST(test_size)
{
    struct adp_program *p = adp_program_create();
    size_t empty = adp_program_size(p), before = empty;
    enum { N_RULES = 200 };
    struct adp_rule *rules[N_RULES];
    struct adp_delta *delta;

    for (int i = 0; i < N_RULES; i++) {
        char *flow = xasprintf("table=%d reg1=%d actions=%s", i % 2, i,
                               i % 3 ? "output:1" : "clone(output:1)");

        rules[i] = engine_parse_flow(flow);
        free(flow);
        delta = adp_delta_create();
        adp_delta_add_rule(delta, rules[i]);
        p = compile(p, delta);
        if (i < 2) {
            ck_assert_uint_gt(adp_program_size(p), before);
        }
        before = adp_program_size(p);
    }
    ck_assert_uint_gt(before, empty + N_RULES * sizeof(struct adp_op));

    delta = adp_delta_create();
    for (int i = 0; i < N_RULES; i++) {
        if (i % 2) {
            adp_delta_remove_rule(delta, rules[i]);
        }
    }
    p = compile(p, delta);
    ck_assert_uint_lt(adp_program_size(p), before);
    ck_assert_uint_gt(adp_program_size(p), empty);
    delta = adp_delta_create();
    for (int i = 0; i < N_RULES; i++) {
        if (i % 2 == 0) {
            adp_delta_remove_rule(delta, rules[i]);
        }
        adp_rule_unref(rules[i]);
    }
    p = compile(p, delta);
    ck_assert_uint_eq(adp_program_size(p), empty);

    adp_program_unref(p);
    ovsrcu_barrier();
}
END_TEST

struct rule_array {
    struct adp_rule **rules;
    size_t n;
};

static void
collect_rule(struct adp_rule *rule, void *array_)
{
    struct rule_array *array = array_;

    array->rules[array->n++] = rule;
}

START_TEST(test_order_of_rules)
{
    static const int first[] = { 5, 100, 7, 100, 0 };
    static const int second[] = { 6, 200, 100 };
    static const int expected[] = { 200, 100, 100, 100, 7, 6, 5, 0 };
    struct adp_rule *rules[ARRAY_SIZE(expected)];
    struct rule_array array = { .rules = rules };
    struct adp_program *p = adp_program_create();
    struct adp_delta *delta = adp_delta_create();

    for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
        char *s = xasprintf("table=1,priority=%d,reg0=%"PRIuSIZE
                            " actions=drop", first[i], i);
        struct adp_rule *rule = engine_parse_flow(s);

        adp_delta_add_rule(delta, rule);
        adp_rule_unref(rule);
        free(s);
    }
    p = compile(p, delta);
    delta = adp_delta_create();
    for (size_t i = 0; i < ARRAY_SIZE(second); i++) {
        char *s = xasprintf("table=1,priority=%d,reg1=%"PRIuSIZE
                            " actions=drop", second[i], i);
        struct adp_rule *rule = engine_parse_flow(s);

        adp_delta_add_rule(delta, rule);
        adp_rule_unref(rule);
        free(s);
    }
    p = compile(p, delta);
    ck_assert_uint_eq(p->tables[1]->n_rules, ARRAY_SIZE(expected));
    adp_match_for_each(p->tables[1]->match, collect_rule, &array);
    ck_assert_uint_eq(array.n, ARRAY_SIZE(expected));
    adp_rules_sort(rules, array.n);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        ck_assert_int_eq(rules[i]->priority, expected[i]);
        ck_assert(!i || expected[i - 1] != expected[i]
                  || rules[i - 1]->seq < rules[i]->seq);
    }
    adp_program_unref(p);
    ovsrcu_barrier();
}
END_TEST

static int n_freed;

static void
count_free(void *owner OVS_UNUSED)
{
    n_freed++;
}

START_TEST(test_owner_is_freed)
{
    struct adp_rule *parsed = engine_parse_flow("table=1 actions=drop");
    struct adp_rule *rule = adp_rule_create(1, 1, parsed->match, 0, NULL, 0,
                                            &n_freed, count_free);
    struct adp_program *p = adp_program_create();
    struct adp_delta *delta = adp_delta_create();

    n_freed = 0;
    adp_delta_add_rule(delta, rule);
    p = compile(p, delta);
    adp_rule_unref(rule);
    ovsrcu_barrier();
    ck_assert_int_eq(n_freed, 0);
    adp_program_unref(p);
    ovsrcu_barrier();
    ovsrcu_barrier();
    ck_assert_int_eq(n_freed, 1);
    adp_rule_unref(parsed);
}
END_TEST

static const char *
table_name(uint8_t id, void *aux OVS_UNUSED)
{
    return id == 4 ? "ARPResponder" : NULL;
}

/* Replaces the sizes of matchers, which are the compiler's, by "N". */
static void
hide_sizes(struct ds *s)
{
    static const char before[] = ", direct, ";
    char *text = ds_steal_cstr(s);
    char *p = text, *hit;

    while ((hit = strstr(p, before))) {
        hit += strlen(before);
        ds_put_buffer(s, p, hit - p);
        ds_put_char(s, 'N');
        p = hit + strspn(hit, "0123456789");
    }
    ds_put_cstr(s, p);
    free(text);
}

static void
remove_if_punts(struct adp_rule *rule, void *delta)
{
    if (adp_rule_punt(rule)) {
        adp_delta_remove_rule(delta, rule);
    }
}

START_TEST(test_format)
{
    struct engine *e = engine_create();
    struct ds s = DS_EMPTY_INITIALIZER;

    engine_add_flows(e,
        "table=4,priority=190,arp actions=NORMAL\n"
        "table=4,priority=0 actions=drop\n"
        "table=7,priority=5,ip actions=NORMAL\n"
        "table=7,ip actions=clone(controller(pause)),output:2\n"
        /* No punt, whatever its members are. */
        "table=7,udp actions=controller(id=3,userdata=05)");
    engine_add_group(e, "group_id=9,type=all,bucket=bucket_id:3,"
                     "actions=normal,bucket=bucket_id:4,output:1");
    adp_program_format(e->program, &s, table_name, NULL);
    hide_sizes(&s);
    ck_assert_str_eq(ds_cstr(&s),
        "generation 3\n"
        "table 4 ARPResponder: 2 flows, direct, N bytes\n"
        "  punt (normal): table=4, priority=190,arp actions=NORMAL\n"
        "table 7: 3 flows, direct, N bytes\n"
        "  punt (controller): table=7, priority=32768,ip "
        "actions=clone(controller(pause)),output:2\n"
        "  punt (normal): table=7, priority=5,ip actions=NORMAL\n"
        "groups: 1, 2 buckets, 0 bytes of slots\n"
        "  punt (normal): group_id=9,bucket_id=3 "
        "actions=NORMAL\n");
    /* Tables without any aren't searched. */
    ck_assert_uint_eq(e->program->tables[4]->n_punts, 1);
    ck_assert_uint_eq(e->program->tables[7]->n_punts, 2);
    struct adp_delta *delta = adp_delta_create();
    adp_match_for_each(e->program->tables[7]->match, remove_if_punts, delta);
    struct adp_program *after = adp_compile(e->program, delta);
    ck_assert_uint_eq(after->tables[7]->n_rules, 1);
    ck_assert_uint_eq(after->tables[7]->n_punts, 0);
    adp_delta_destroy(delta);
    adp_program_unref(e->program);
    e->program = after;

    engine_destroy(e);
    e = engine_create();
    engine_add_flows(e, "table=4 actions=drop");
    engine_set_miss(e, 4, OFPUTIL_TABLE_MISS_DROP);
    engine_set_miss(e, 6, OFPUTIL_TABLE_MISS_CONTINUE);
    ds_clear(&s);
    adp_program_format(e->program, &s, NULL, NULL);
    hide_sizes(&s);
    ck_assert_str_eq(ds_cstr(&s),
        "generation 4\n"
        "table 4: 1 flow, direct, N bytes, misses: drop\n"
        "table 6: 0 flows, misses: continue\n"
        "groups: 0, 0 buckets, 0 bytes of slots\n");
    ds_destroy(&s);
    engine_destroy(e);
}
END_TEST

/* Counters. */


static void
drained_rule(struct adp_rule *rule, const struct adp_stats_delta *delta,
             void *aux)
{
    ds_put_format(aux, "rule %d: %"PRIu64"/%"PRIu64" %lld %#x; ",
                  rule->priority, delta->n_packets, delta->n_bytes,
                  delta->used, delta->tcp_flags);
}

static void
drained_bucket(struct adp_group *group, uint32_t bucket,
               const struct adp_stats_delta *delta, void *aux)
{
    ds_put_format(aux, "group %"PRIu32" bucket %d: %"PRIu64"/%"PRIu64" %lld; ",
                  group->group_id,
                  bucket == ADP_BUCKET_ALL ? -1 : (int) bucket,
                  delta->n_packets, delta->n_bytes, delta->used);
}

static bool
always_goes_on(void *aux OVS_UNUSED)
{
    return true;
}

static const struct adp_stats_drain_cbs drain_cbs = {
    .rule = drained_rule,
    .bucket = drained_bucket,
    .goes_on = always_goes_on,
};

static void
check_drain(struct adp_stats_sink *sink, const char *expected)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    adp_stats_drain(sink, &drain_cbs, &s);
    ck_assert_str_eq(ds_cstr(&s), expected);
    ds_destroy(&s);
}

START_TEST(test_stats)
{
    struct adp_stats_sink *sink = adp_stats_sink_create();
    struct adp_rule *rule = engine_parse_flow("priority=7 actions=drop");
    struct adp_rule *idle = engine_parse_flow("priority=8 actions=drop");
    struct adp_group *group = engine_parse_group(
        "group_id=3,type=select,bucket=output:1,bucket=output:2");

    check_drain(sink, "");
    adp_stats_credit_rule(sink, rule, 1, 100, 1000, 2);
    adp_stats_credit_rule(sink, rule, 2, 200, 1001, 16);
    adp_stats_credit_group(sink, group, 1, 1, 64, 1002);
    adp_stats_credit_group(sink, group, ADP_BUCKET_ALL, 1, 65, 1003);
    check_drain(sink, "rule 7: 3/300 1001 0x12; group 3 bucket 1: 1/64 1002; "
                "group 3 bucket -1: 1/65 1003; ");
    check_drain(sink, "");
    adp_stats_credit_rule(sink, rule, 1, 1, 1004, 0);
    check_drain(sink, "rule 7: 1/1 1004 0; ");

    /* Who was used last may be credited first. */
    adp_stats_credit_rule(sink, rule, 1, 1, 1005, 0);
    adp_stats_credit_rule(sink, rule, 1, 1, 1002, 0);
    check_drain(sink, "rule 7: 2/2 1005 0; ");

    /* A rule that goes with packets to its credit is still drained. */
    adp_stats_credit_rule(sink, rule, 5, 50, 1005, 0);
    adp_rule_unref(rule);
    ovsrcu_barrier();
    check_drain(sink, "rule 7: 5/50 1005 0; ");

    /* The sink goes first. */
    adp_stats_credit_group(sink, group, 0, 1, 64, 1002);
    adp_stats_sink_destroy(sink);
    adp_rule_unref(idle);
    adp_group_unref(group);
    ovsrcu_barrier();
}
END_TEST

/* What 'drained' counts, and how many may still be. */
struct drain_slice {
    struct ds s;
    int left;
};

static void
drained_in_slice(struct adp_rule *rule, const struct adp_stats_delta *delta,
                 void *slice_)
{
    struct drain_slice *slice = slice_;

    ds_put_format(&slice->s, "%d:%"PRIu64" ", rule->priority,
                  delta->n_packets);
}

static bool
slice_goes_on(void *slice_)
{
    struct drain_slice *slice = slice_;

    return slice->left-- > 0;
}

static void
check_slice(struct adp_stats_sink *sink, int n, bool complete,
            const char *expected)
{
    static const struct adp_stats_drain_cbs cbs = {
        .rule = drained_in_slice,
        .goes_on = slice_goes_on,
    };
    struct drain_slice slice = { DS_EMPTY_INITIALIZER, n };

    ck_assert_int_eq(adp_stats_drain(sink, &cbs, &slice), complete);
    ck_assert_str_eq(ds_cstr(&slice.s), expected);
    ds_destroy(&slice.s);
}

/* A drain may stop, and goes on where it stopped; what is credited again
 * meanwhile is the next one's. */
START_TEST(test_stats_slices)
{
    struct adp_stats_sink *sink = adp_stats_sink_create();
    struct adp_rule *rules[5];

    for (int i = 0; i < 5; i++) {
        char *text = xasprintf("priority=%d actions=drop", i);

        rules[i] = engine_parse_flow(text);
        adp_stats_credit_rule(sink, rules[i], i + 1, 1, 1, 0);
        free(text);
    }
    check_slice(sink, 2, false, "0:1 1:2 ");
    adp_stats_credit_rule(sink, rules[0], 10, 1, 1, 0);
    adp_stats_credit_rule(sink, rules[3], 10, 1, 1, 0);
    check_slice(sink, 1, false, "2:3 ");
    check_slice(sink, 9, true, "3:14 4:5 ");
    check_slice(sink, 9, true, "0:10 ");
    check_slice(sink, 9, true, "");

    adp_stats_sink_destroy(sink);
    for (int i = 0; i < 5; i++) {
        adp_rule_unref(rules[i]);
    }
    ovsrcu_barrier();
}
END_TEST

/* Rules that go, and who waits for a grace period meanwhile. */

enum { N_GOING = 2000 };

static atomic_bool going_waited = false;
static atomic_int n_gone = 0;

static bool
has_waited(void)
{
    bool waited;

    atomic_read(&going_waited, &waited);
    return waited;
}

static void
slow_owner_free(void *owner OVS_UNUSED)
{
    int orig;

    atomic_add(&n_gone, 1, &orig);
    if (!has_waited()) {
        nanosleep(&(struct timespec) { .tv_nsec = 2000000 }, NULL);
    }
}

static void *
do_nothing(void *aux OVS_UNUSED)
{
    return NULL;
}

/* A grace period ends before all that RCU's thread was given is freed. */
START_TEST(test_freeing_lets_others_go_on)
{
    struct adp_rule *model = engine_parse_flow("priority=7 actions=drop");
    int n = 0;

    for (int i = 0; i < N_GOING; i++) {
        adp_rule_unref(adp_rule_create(0, 1, model->match, 0, NULL, 0, NULL,
                                       slow_owner_free));
    }
    /* From the first thread on RCU has one of its own, which takes all of them
     * at once. */
    xpthread_join(ovs_thread_create("first", do_nothing, NULL), NULL);
    while (!n) {
        ovsrcu_quiesce();
        atomic_read(&n_gone, &n);
    }
    ovsrcu_synchronize();
    atomic_read(&n_gone, &n);
    atomic_store(&going_waited, true);
    ck_assert_int_lt(n, N_GOING);
    adp_rule_unref(model);
    ovsrcu_barrier();
    atomic_read(&n_gone, &n);
    ck_assert_int_eq(n, N_GOING);
}
END_TEST

enum { N_CREDITS = 100000, N_RULES = 10, N_THREADS = 3 };

struct credit_job {
    struct adp_stats_sink *sink;
    struct adp_rule **rules;
};

static void *
credit_thread(void *job_)
{
    struct credit_job *job = job_;

    for (int i = 0; i < N_CREDITS; i++) {
        adp_stats_credit_rule(job->sink, job->rules[i % N_RULES], 1, 2, i, 0);
    }
    return NULL;
}

static void
sum_rule(struct adp_rule *rule OVS_UNUSED,
         const struct adp_stats_delta *delta, void *aux)
{
    uint64_t *sums = aux;

    sums[0] += delta->n_packets;
    sums[1] += delta->n_bytes;
}

/* Nothing is lost or counted twice while several threads credit. */
START_TEST(test_stats_threads)
{
    static const struct adp_stats_drain_cbs cbs = {
        .rule = sum_rule,
        .goes_on = always_goes_on,
    };
    struct adp_rule *rules[N_RULES];
    struct credit_job job = { adp_stats_sink_create(), rules };
    pthread_t threads[N_THREADS];
    uint64_t sums[2] = { 0, 0 };

    for (size_t i = 0; i < N_RULES; i++) {
        rules[i] = engine_parse_flow("actions=drop");
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        threads[i] = ovs_thread_create("credit", credit_thread, &job);
    }
    for (int i = 0; i < 1000; i++) {
        adp_stats_drain(job.sink, &cbs, sums);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
    }
    adp_stats_drain(job.sink, &cbs, sums);
    ck_assert_uint_eq(sums[0], N_THREADS * N_CREDITS);
    ck_assert_uint_eq(sums[1], N_THREADS * N_CREDITS * 2);

    adp_stats_sink_destroy(job.sink);
    for (size_t i = 0; i < N_RULES; i++) {
        adp_rule_unref(rules[i]);
    }
    ovsrcu_barrier();
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("program");
    TCase *tc = tcase_create("program");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_sharing);
    tcase_add_test(tc, test_cancelling);
    tcase_add_test(tc, test_size);
    tcase_add_test(tc, test_order_of_rules);
    tcase_add_test(tc, test_owner_is_freed);
    tcase_add_test(tc, test_format);
    tcase_add_test(tc, test_stats);
    tcase_add_test(tc, test_stats_slices);
    tcase_add_test(tc, test_freeing_lets_others_go_on);
    tcase_add_test(tc, test_stats_threads);
    return test_run_nofork(s);
}

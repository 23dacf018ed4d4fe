/* SPDX-License-Identifier: Apache-2.0 */

/* Who waits for a packet: one packet thread takes it, what it notes lives on,
 * and nothing is left of it whoever goes first. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "adp-catch.h"
#include "engine.h"
#include "openvswitch/poll-loop.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "test-run.h"
#include "util.h"

static struct adp_bridge *b;
static struct adp_program *program;
static struct adp_rule *rule;

/* Without the bridge's world. */
void
adp_walk_init(struct adp_walk *w)
{
    memset(w, 0, sizeof *w);
    adp_verdict_init(&w->verdict);
}

void
adp_walk_uninit(struct adp_walk *w)
{
    adp_verdict_uninit(&w->verdict);
    conntrack_peek_uninit(&w->ct.peek);
}

static void
setup(void)
{
    b = xzalloc(sizeof *b);
    ovsrcu_init(&b->catch, NULL);
    program = adp_program_create();
    rule = engine_parse_flow("table=3,priority=7,tcp actions=output:1");
    /* The thread has a poll loop before it waits for anything. */
    poll_immediate_wake();
    poll_block();
}

static void
teardown(void)
{
    ck_assert(!adp_catch_is_armed());
    adp_rule_unref(rule);
    adp_program_unref(program);
    ovsrcu_barrier();
    free(b);
}

static void
parse(const char *text, struct flow *flow)
{
    engine_parse_packet(text, flow);
}

/* Waits for packets to port 80. */
static struct adp_catch *
wait_for_http(void)
{
    struct match match = MATCH_CATCHALL_INITIALIZER;

    match_set_dl_type(&match, htons(ETH_TYPE_IP));
    match_set_nw_proto(&match, IPPROTO_TCP);
    match_set_tp_dst(&match, htons(80));
    return adp_catch_create(b, &match);
}

static struct adp_catch *
http_comes(void)
{
    struct flow flow;

    parse("in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_dst=80", &flow);
    return adp_catch_begin(b, &flow);
}

/* Notes a look-up that hits 'hit'. */
static void
walk_table(struct adp_catch *c, const struct adp_rule *hit)
{
    struct flow *flow;
    struct adp_walk *w = adp_catch_walk(c, &flow);

    w->program = program;
    w->trace(&(struct adp_trace_event) {
                 .type = ADP_TRACE_TABLE,
                 .table_id = hit->table_id,
                 .table = { .rule = hit },
             }, w->trace_aux);
}

START_TEST(one_packet)
{
    struct adp_catch *c = wait_for_http();
    struct flow other;

    ck_assert_ptr_nonnull(c);
    ck_assert(adp_catch_is_armed());
    ck_assert_ptr_eq(adp_catch_bridge(c), b);
    ck_assert_ptr_null(wait_for_http());
    parse("in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_dst=81", &other);
    ck_assert_ptr_null(adp_catch_begin(b, &other));
    ck_assert_ptr_null(adp_catch_get(c));

    ck_assert_ptr_eq(http_comes(), c);
    ck_assert(!adp_catch_is_armed());
    ck_assert_ptr_null(http_comes());
    walk_table(c, rule);
    ck_assert_ptr_null(adp_catch_get(c));
    adp_catch_end(c);
    adp_catch_wait(c);
    poll_block();

    const struct adp_caught *caught = adp_catch_get(c);
    ck_assert_ptr_nonnull(caught);
    ck_assert_ptr_eq(adp_catch_get(c), caught);
    ck_assert_uint_eq(caught->original.tp_dst, htons(80));
    ck_assert_uint_eq(caught->generation, program->generation);
    ck_assert_uint_eq(caught->n_events, 1);
    ck_assert(!caught->is_cut && !caught->refused);
    ck_assert_ptr_eq(caught->events[0].event.table.rule, rule);
    ck_assert_ptr_null(http_comes());
    adp_catch_destroy(c);
    ck_assert_ptr_null(http_comes());
}
END_TEST

/* What was noted lives as long as the catch does. */
START_TEST(references)
{
    struct adp_group *group = engine_parse_group(
        "group_id=5,type=select,bucket=output:1");
    struct adp_rule *hit = engine_parse_flow("table=4,udp actions=output:2");
    struct adp_catch *c = wait_for_http();

    ck_assert_ptr_eq(http_comes(), c);
    walk_table(c, rule);
    struct flow *flow;
    struct adp_walk *w = adp_catch_walk(c, &flow);
    w->trace(&(struct adp_trace_event) {
                 .type = ADP_TRACE_BUCKET,
                 .group = { .group_id = 5, .exists = true, .group = group },
             }, w->trace_aux);
    w->verdict.drop_rule = hit;
    adp_catch_end(c);
    adp_rule_unref(hit);
    adp_group_unref(group);
    ovsrcu_barrier();

    const struct adp_caught *caught = adp_catch_get(c);
    ck_assert_uint_eq(caught->walk.verdict.drop_rule->table_id, 4);
    ck_assert_uint_eq(caught->events[1].event.group.group->n_buckets, 1);
    adp_catch_destroy(c);
}
END_TEST

/* The headers of each step, once as long as they stay. */
START_TEST(headers)
{
    struct adp_catch *c = wait_for_http();

    ck_assert_ptr_eq(http_comes(), c);
    struct flow *flow;
    adp_catch_walk(c, &flow);
    walk_table(c, rule);
    walk_table(c, rule);
    flow->nw_ttl = 3;
    walk_table(c, rule);
    adp_catch_end(c);

    const struct adp_caught *caught = adp_catch_get(c);
    ck_assert_uint_eq(caught->n_events, 3);
    ck_assert_uint_eq(caught->n_flows, 2);
    ck_assert_uint_eq(caught->events[1].flow, 0);
    ck_assert_uint_eq(caught->events[2].flow, 1);
    ck_assert_uint_eq(caught->flows[1].nw_ttl, 3);
    ck_assert_uint_ne(caught->original.nw_ttl, 3);
    adp_catch_destroy(c);
}
END_TEST

START_TEST(too_long)
{
    struct adp_catch *c = wait_for_http();

    ck_assert_ptr_eq(http_comes(), c);
    for (int i = 0; i < ADP_CATCH_MAX_EVENTS + _i; i++) {
        walk_table(c, rule);
    }
    adp_catch_end(c);

    const struct adp_caught *caught = adp_catch_get(c);
    ck_assert_uint_eq(caught->n_events, ADP_CATCH_MAX_EVENTS);
    ck_assert_int_eq(caught->is_cut, _i);
    adp_catch_destroy(c);
}
END_TEST

/* Learned flows move while there come more of them; and a punt forgets them. */
START_TEST(learns)
{
    struct adp_catch *c = wait_for_http();
    struct flow *flow;

    ck_assert_ptr_eq(http_comes(), c);
    struct adp_walk *w = adp_catch_walk(c, &flow);
    w->program = program;
    for (int i = 0; i < 3; i++) {
        w->trace(&(struct adp_trace_event) { .type = ADP_TRACE_LEARN },
                 w->trace_aux);
    }
    w->verdict.learned = xcalloc(2, sizeof *w->verdict.learned);
    w->verdict.n_learned = w->verdict.allocated_learned = 2;
    for (int i = 0; i < 2; i++) {
        struct adp_learned *learned = &w->verdict.learned[i];

        learned->rule = adp_rule_ref(rule);
        ofpbuf_init(&learned->ofpacts, 8);
    }
    adp_catch_end(c);

    const struct adp_caught *caught = adp_catch_get(c);
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_eq(caught->events[i].event.learned,
                         &caught->walk.verdict.learned[i]);
    }
    ck_assert_ptr_null(caught->events[2].event.learned);
    adp_catch_destroy(c);
}
END_TEST

/* A flow that the packet met goes before there is a reference to it: the next
 * packet, then. */
START_TEST(stale)
{
    struct adp_rule *gone = engine_parse_flow("udp actions=output:2");
    struct adp_catch *c = wait_for_http();

    ck_assert_ptr_eq(http_comes(), c);
    adp_rule_unref(gone);       /* Freed when all threads have quiesced. */
    walk_table(c, _i ? rule : gone);
    if (_i) {
        struct flow *flow;

        adp_catch_walk(c, &flow)->verdict.drop_rule = gone;
    }
    adp_catch_end(c);
    ck_assert(!adp_catch_is_armed());
    ck_assert_ptr_null(adp_catch_get(c));
    ck_assert(adp_catch_is_armed());

    ck_assert_ptr_eq(http_comes(), c);
    walk_table(c, rule);
    adp_catch_end(c);
    const struct adp_caught *caught = adp_catch_get(c);
    ck_assert_ptr_nonnull(caught);
    ck_assert_uint_eq(caught->n_events, 1);
    adp_catch_destroy(c);
}
END_TEST

START_TEST(refused)
{
    struct adp_catch *c = wait_for_http();

    ck_assert_ptr_eq(http_comes(), c);
    adp_catch_refused(c);
    adp_catch_end(c);
    ck_assert(adp_catch_get(c)->refused);
    adp_catch_destroy(c);
}
END_TEST

/* The bridge goes: who waits is woken up.  0: before a packet, 1: while one is
 * looked at, 2: after it. */
START_TEST(bridge_goes)
{
    struct adp_catch *c = wait_for_http();

    if (_i) {
        ck_assert_ptr_eq(http_comes(), c);
        walk_table(c, rule);
    }
    if (_i == 2) {
        adp_catch_end(c);
    }
    adp_catch_forget(b);
    adp_catch_forget(b);
    ck_assert(!adp_catch_is_armed());
    ck_assert_ptr_null(adp_catch_bridge(c));
    ck_assert_ptr_null(http_comes());
    adp_catch_wait(c);
    poll_block();
    if (_i == 1) {
        adp_catch_end(c);
    }
    adp_catch_destroy(c);
}
END_TEST

/* Who waits goes while a packet is looked at. */
START_TEST(waiter_goes)
{
    struct adp_catch *c = wait_for_http();

    ck_assert_ptr_eq(http_comes(), c);
    adp_catch_destroy(c);
    walk_table(c, rule);
    adp_catch_end(c);
    adp_catch_destroy(NULL);

    /* Another one may wait at once. */
    c = wait_for_http();
    ck_assert_ptr_nonnull(c);
    adp_catch_destroy(c);
}
END_TEST

/* Of many threads one takes it. */
static void *
take(void *n_)
{
    size_t *n = n_;
    struct adp_catch *c = http_comes();

    if (c) {
        walk_table(c, rule);
        adp_catch_end(c);
        ++*n;
    }
    return NULL;
}

START_TEST(threads)
{
    enum { N_THREADS = 4 };
    pthread_t threads[N_THREADS];
    size_t taken[N_THREADS] = { 0 }, n = 0;
    struct adp_catch *c = wait_for_http();

    for (int i = 0; i < N_THREADS; i++) {
        threads[i] = ovs_thread_create("take", take, &taken[i]);
    }
    for (int i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
        n += taken[i];
    }
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(adp_catch_get(c)->n_events, 1);
    adp_catch_destroy(c);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("catch");
    Suite *suite = suite_create("catch");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, one_packet);
    tcase_add_test(tc, references);
    tcase_add_test(tc, headers);
    tcase_add_loop_test(tc, too_long, 0, 2);
    tcase_add_test(tc, learns);
    tcase_add_loop_test(tc, stale, 0, 2);
    tcase_add_test(tc, refused);
    tcase_add_loop_test(tc, bridge_goes, 0, 3);
    tcase_add_test(tc, waiter_goes);
    tcase_add_test(tc, threads);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Matchers against upstream's classifier: the reference and the one that suits
 * the table. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include "adp-match.h"
#include "adp-match-key.h"
#include "adp-rules.h"
#include "classifier.h"
#include "flow.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

enum { MAX_RULES = 80, MAX_CONJS = 4, N_IDS = 6 };

/* A rule, in both. */
struct pair {
    struct cls_rule cr;
    struct adp_rule *rule;
};

struct table {
    struct classifier cls;
    struct pair pairs[MAX_RULES];
    size_t n;
    struct adp_match *linear;
    struct adp_match *match;    /* The one that suits. */
    struct adp_match_scratch scratch;
};

static void
table_init(struct table *t)
{
    memset(t, 0, sizeof *t);
    classifier_init(&t->cls, NULL);
}

/* Adds a rule unless there is one with the same match and priority. */
static bool
table_add(struct table *t, const struct match *match, int priority,
          const struct cls_conjunction *conjs, size_t n_conjs)
{
    struct pair *pair = &t->pairs[t->n];
    struct ofpbuf ofpacts;
    struct minimatch minimatch;

    ovs_assert(t->n < MAX_RULES);
    cls_rule_init(&pair->cr, match, priority);
    if (classifier_find_rule_exactly(&t->cls, &pair->cr, OVS_VERSION_MIN)) {
        cls_rule_destroy(&pair->cr);
        return false;
    }
    classifier_insert(&t->cls, &pair->cr, OVS_VERSION_MIN, conjs, n_conjs);

    ofpbuf_init(&ofpacts, 64);
    for (size_t i = 0; i < n_conjs; i++) {
        struct ofpact_conjunction *conj = ofpact_put_CONJUNCTION(&ofpacts);

        conj->id = conjs[i].id;
        conj->clause = conjs[i].clause;
        conj->n_clauses = conjs[i].n_clauses;
    }
    minimatch_init(&minimatch, match);
    pair->rule = adp_rule_create(0, priority, &minimatch, htonll(t->n),
                                 ofpacts.data, ofpacts.size, NULL, NULL);
    minimatch_destroy(&minimatch);
    ofpbuf_uninit(&ofpacts);
    t->n++;
    return true;
}

static void
table_compile(struct table *t)
{
    struct adp_rule *rules[MAX_RULES];

    for (size_t i = 0; i < t->n; i++) {
        rules[i] = t->pairs[i].rule;
    }
    adp_rules_sort(rules, t->n);
    t->linear = adp_match_linear_class.create(rules, t->n);
    t->match = adp_match_create(rules, t->n);
}

static void
table_uninit(struct table *t)
{
    adp_match_destroy(t->linear);
    adp_match_destroy(t->match);
    adp_match_scratch_uninit(&t->scratch);
    for (size_t i = 0; i < t->n; i++) {
        classifier_remove_assert(&t->cls, &t->pairs[i].cr);
        adp_rule_unref(t->pairs[i].rule);
    }
    classifier_destroy(&t->cls);
    ovsrcu_barrier();
    for (size_t i = 0; i < t->n; i++) {
        cls_rule_destroy(&t->pairs[i].cr);
    }
}

static struct adp_rule *
lookup_classifier(struct table *t, struct flow *flow)
{
    const struct cls_rule *cr = classifier_lookup(&t->cls, OVS_VERSION_MIN,
                                                  flow, NULL);

    return cr ? CONTAINER_OF(cr, struct pair, cr)->rule : NULL;
}

static struct adp_rule *
lookup_ours(struct table *t, struct flow *flow)
{
    struct adp_rule *rule = adp_match_lookup(t->linear, flow, &t->scratch);
    int priority = t->scratch.priority;

    ck_assert_ptr_eq(adp_match_lookup(t->match, flow, &t->scratch), rule);
    ck_assert_int_eq(t->scratch.priority, priority);
    return rule;
}

/* Few values, so that packets hit. */
static void
random_match(struct match *match)
{
    static const int prefixes[] = { 8, 16, 24, 32 };

    match_init_catchall(match);
    if (random_range(2)) {
        match_set_dl_type(match, htons(ETH_TYPE_IP));
        if (random_range(2)) {
            int plen = prefixes[random_range(4)];
            ovs_be32 mask = be32_prefix_mask(plen);

            match_set_nw_src_masked(match, htonl(0x0a000000
                                                 + random_range(2) * 0x10001)
                                    & mask, mask);
        }
        if (random_range(3) == 0) {
            match_set_nw_proto(match, IPPROTO_TCP);
            match_set_tp_dst_masked(match, htons(80 + random_range(4)),
                                    random_range(2) ? OVS_BE16_MAX
                                    : htons(0xfffe));
        }
    }
    if (random_range(2)) {
        match_set_reg(match, 1, random_range(2));
    }
    if (random_range(5) == 0) {
        match_set_conj_id(match, 1 + random_range(N_IDS));
    }
}

static void
random_flow(struct flow *flow)
{
    memset(flow, 0, sizeof *flow);
    flow->dl_type = htons(random_range(5) ? ETH_TYPE_IP : ETH_TYPE_IPV6);
    flow->nw_src = htonl(0x0a000000 + random_range(2) * 0x10001);
    flow->nw_proto = IPPROTO_TCP;
    flow->tp_dst = htons(80 + random_range(4));
    flow->regs[1] = random_range(2);
}

/* 2 or 3, always the same for one ID. */
static uint8_t
n_clauses_of(uint32_t id)
{
    return 2 + id % 2;
}

/* Rules that act by themselves have a priority of their own each, so that the
 * answer is never arbitrary for their sake. */
static void
random_table(struct table *t)
{
    size_t n = 1 + random_range(MAX_RULES - 1);

    for (size_t i = 0; i < n; i++) {
        struct match match;

        random_match(&match);
        if (random_range(3)) {
            struct cls_conjunction conjs[MAX_CONJS];
            size_t n_conjs = 1 + random_range(MAX_CONJS);

            for (size_t j = 0; j < n_conjs; j++) {
                conjs[j].id = 1 + random_range(N_IDS);
                conjs[j].n_clauses = n_clauses_of(conjs[j].id);
                conjs[j].clause = random_range(conjs[j].n_clauses);
            }
            table_add(t, &match, 100 * (1 + random_range(4)), conjs, n_conjs);
        } else {
            table_add(t, &match, 1 + 5 * i, NULL, 0);
        }
    }
    if (random_range(4)) {
        struct match match;

        match_init_catchall(&match);
        table_add(t, &match, 0, NULL, 0);
    }
    table_compile(t);
}

/* True if more than one conjunction of one priority is met. */
static bool
is_arbitrary(const struct table *t, const struct flow *flow)
{
    for (int level = 1; level <= 4; level++) {
        unsigned int clauses[N_IDS + 1] = { 0 };
        int n_met = 0;

        for (size_t i = 0; i < t->n; i++) {
            const struct adp_rule *rule = t->pairs[i].rule;

            if (rule->priority != 100 * level
                || !minimatch_matches_flow(rule->match, flow)) {
                continue;
            }
            for (size_t j = 0; j < rule->n_conjs; j++) {
                const struct adp_conj_clause *c = &adp_rule_conjs(rule)[j];

                clauses[c->id] |= 1u << c->clause;
            }
        }
        for (uint32_t id = 1; id <= N_IDS; id++) {
            n_met += clauses[id] == (1u << n_clauses_of(id)) - 1;
        }
        if (n_met > 1) {
            return true;
        }
    }
    return false;
}

START_TEST(test_random)
{
    int n_compared = 0, n_conj = 0;

    test_seed_random();
    for (int i = 0; i < 300; i++) {
        struct table t;

        table_init(&t);
        random_table(&t);
        for (int j = 0; j < 100; j++) {
            struct adp_rule *expected, *got;
            struct flow flow, before;

            random_flow(&flow);
            before = flow;
            if (is_arbitrary(&t, &flow)) {
                continue;
            }
            expected = lookup_classifier(&t, &flow);
            got = lookup_ours(&t, &flow);
            ck_assert_ptr_eq(got, expected);
            ck_assert(!memcmp(&flow, &before, sizeof flow));
            n_compared++;
            n_conj += (expected && MINIFLOW_GET_U32(expected->match->flow,
                                                    conj_id));
        }
        table_uninit(&t);
    }
    /* The generator must not lose its point. */
    ck_assert_int_gt(n_compared, 10000);
    ck_assert_int_gt(n_conj, 100);
}
END_TEST

/* Tables by hand. */

static struct table t;

static void
setup(void)
{
    table_init(&t);
}

static void
teardown(void)
{
    table_uninit(&t);
}

/* Adds a rule that matches on reg1 if 'reg1' isn't negative, on tp_dst if
 * 'port' isn't, on conj_id unless that is 0. */
static void
add(int priority, int reg1, int port, uint32_t conj_id,
    const struct cls_conjunction *conjs, size_t n_conjs)
{
    struct match match;

    match_init_catchall(&match);
    if (reg1 >= 0) {
        match_set_reg(&match, 1, reg1);
    }
    if (port >= 0) {
        match_set_dl_type(&match, htons(ETH_TYPE_IP));
        match_set_nw_proto(&match, IPPROTO_TCP);
        match_set_tp_dst(&match, htons(port));
    }
    if (conj_id) {
        match_set_conj_id(&match, conj_id);
    }
    ck_assert(table_add(&t, &match, priority, conjs, n_conjs));
}

#define ADD_CONJ(PRIORITY, REG1, PORT, ...)                             \
    do {                                                                \
        const struct cls_conjunction conjs__[] = { __VA_ARGS__ };       \
        add(PRIORITY, REG1, PORT, 0, conjs__, ARRAY_SIZE(conjs__));     \
    } while (0)
#define CONJ(ID, CLAUSE, N) { .id = ID, .clause = (CLAUSE) - 1, \
                              .n_clauses = N }

/* The priority of what a packet with reg1 and tp_dst hits, or -1. */
static int
hit(uint32_t reg1, int port)
{
    struct adp_rule *ours, *theirs;
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    flow.dl_type = htons(ETH_TYPE_IP);
    flow.nw_proto = IPPROTO_TCP;
    flow.regs[1] = reg1;
    flow.tp_dst = htons(port);
    theirs = lookup_classifier(&t, &flow);
    ours = lookup_ours(&t, &flow);
    ck_assert_ptr_eq(ours, theirs);
    return ours ? ours->priority : -1;
}

START_TEST(test_conjunction)
{
    ADD_CONJ(200, 1, -1, CONJ(5, 1, 2));
    ADD_CONJ(200, 2, -1, CONJ(5, 1, 2), CONJ(6, 1, 2));
    ADD_CONJ(200, -1, 80, CONJ(5, 2, 2));
    ADD_CONJ(200, -1, 81, CONJ(6, 2, 2));
    add(190, -1, -1, 5, NULL, 0);
    add(180, -1, -1, 6, NULL, 0);
    add(0, -1, -1, 0, NULL, 0);
    table_compile(&t);
    ck_assert_int_eq(hit(1, 80), 190);
    ck_assert_int_eq(hit(1, 81), 0);
    ck_assert_int_eq(hit(2, 80), 190);
    ck_assert_int_eq(hit(2, 81), 180);
    ck_assert_int_eq(hit(3, 80), 0);
}
END_TEST

START_TEST(test_fall_back_to_lower_conjunction)
{
    ADD_CONJ(300, 1, -1, CONJ(5, 1, 2));
    ADD_CONJ(300, -1, 80, CONJ(5, 2, 2));
    ADD_CONJ(200, 1, -1, CONJ(6, 1, 2));
    ADD_CONJ(200, -1, 81, CONJ(6, 2, 2));
    add(299, -1, -1, 5, NULL, 0);
    add(199, -1, -1, 6, NULL, 0);
    add(100, -1, -1, 0, NULL, 0);
    table_compile(&t);
    ck_assert_int_eq(hit(1, 80), 299);
    ck_assert_int_eq(hit(1, 81), 199);
    ck_assert_int_eq(hit(1, 82), 100);
}
END_TEST

START_TEST(test_plain_rule_beats_equal_conjunction)
{
    ADD_CONJ(200, 1, -1, CONJ(5, 1, 2));
    ADD_CONJ(200, -1, 80, CONJ(5, 2, 2));
    add(500, -1, -1, 5, NULL, 0);
    add(200, 1, 80, 0, NULL, 0);
    table_compile(&t);
    ck_assert_int_eq(hit(1, 80), 200);
    ck_assert_int_eq(hit(1, 81), -1);
}
END_TEST

START_TEST(test_clauses_of_one_rule)
{
    /* One rule can't make up a conjunction of two clauses alone. */
    ADD_CONJ(200, 1, -1, CONJ(5, 1, 2), CONJ(5, 2, 2));
    add(100, -1, -1, 5, NULL, 0);
    table_compile(&t);
    ck_assert_int_eq(hit(1, 80), -1);
}
END_TEST

START_TEST(test_missing_conj_id_rule)
{
    /* What is met, but leads nowhere, hides conjunctions below. */
    ADD_CONJ(300, 1, -1, CONJ(5, 1, 2));
    ADD_CONJ(300, -1, 80, CONJ(5, 2, 2));
    ADD_CONJ(200, 1, -1, CONJ(6, 1, 2));
    ADD_CONJ(200, -1, 80, CONJ(6, 2, 2));
    add(199, -1, -1, 6, NULL, 0);
    add(100, -1, -1, 0, NULL, 0);
    table_compile(&t);
    ck_assert_int_eq(hit(1, 80), 100);
}
END_TEST

START_TEST(test_hidden_rule)
{
    /* In the look-up with conj_id the rule of priority 50 can't be seen: a
     * conjunction rule with the same match is above it. */
    ADD_CONJ(300, 1, -1, CONJ(5, 1, 2));
    ADD_CONJ(300, -1, 80, CONJ(5, 2, 2));
    add(50, 1, -1, 0, NULL, 0);
    add(40, -1, -1, 0, NULL, 0);
    table_compile(&t);
    ck_assert_int_eq(hit(1, 80), 40);
    ck_assert_int_eq(hit(1, 81), 50);
}
END_TEST

START_TEST(test_led_nowhere)
{
    /* Only because nothing else can be seen there the hidden rule is the answer
     * after all: any rule of a low priority would be another one. */
    ADD_CONJ(300, 1, -1, CONJ(5, 1, 2));
    ADD_CONJ(300, -1, 80, CONJ(5, 2, 2));
    add(50, 1, -1, 0, NULL, 0);
    table_compile(&t);
    ck_assert_int_eq(hit(1, 80), 50);
    ck_assert_int_eq(t.scratch.priority, ADP_PRIORITY_NONE);
    ck_assert_int_eq(hit(1, 81), 50);
    ck_assert_int_eq(t.scratch.priority, 50);
}
END_TEST

/* The matcher that suits, and that it takes more room with more rules. */
static void
check_match(const char *name, size_t *size)
{
    size_t before = *size;

    adp_match_destroy(t.linear);
    adp_match_destroy(t.match);
    table_compile(&t);
    ck_assert_str_eq(t.match->class->name, name);
    *size = t.match->class->size(t.match);
    ck_assert_uint_gt(*size, before);
    ck_assert_uint_gt(t.linear->class->size(t.linear), 0);
}

START_TEST(test_size_and_name)
{
    size_t size = 0;

    add(50, 1, -1, 0, NULL, 0);
    check_match("direct", &size);
    add(40, 1, -1, 0, NULL, 0);
    check_match("direct", &size);
    for (int i = 0; i < 20; i++) {
        add(60 + i, -1, i, 0, NULL, 0);
    }
    check_match("hash", &size);
    ADD_CONJ(300, 1, -1, CONJ(5, 1, 2));
    check_match("conjunction", &size);
}
END_TEST

/* What a flow of session affinity learned from client number 'i' matches.  All
 * prefixes have one interface ID, of bits that a hash must not know. */
static void
learned_match(uint32_t i, struct match *match)
{
    static const uint8_t interface_id[] = {
        0xdb, 0x28, 0xb4, 0xa0, 0xd1, 0x7e, 0x03, 0xe7
    };
    struct in6_addr src = in6addr_any, dst = in6addr_any;
    ovs_be64 prefix = htonll(UINT64_C(0x2001000000000000) + i
                             * UINT64_C(0x9e3779b9));

    memcpy(src.s6_addr, &prefix, sizeof prefix);
    memcpy(src.s6_addr + 8, interface_id, sizeof interface_id);
    dst.s6_addr[0] = 0xfd;
    match_init_catchall(match);
    match_set_packet_type(match, htonl(PT_ETH));
    match_set_dl_type(match, htons(ETH_TYPE_IPV6));
    match_set_nw_proto(match, IPPROTO_TCP);
    match_set_ipv6_src(match, &src);
    match_set_ipv6_dst(match, &dst);
    match_set_tp_dst(match, htons(80));
}

static int
compare_hashes(const void *a_, const void *b_)
{
    const uint64_t *a = a_;
    const uint64_t *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* Clients choose their addresses, not where the flows that are learned from
 * them lie. */
START_TEST(test_hashes_of_strangers)
{
    enum { N = 10000 };
    static uint64_t hashes[N];
    size_t n_distinct = 1;

    for (size_t i = 0; i < N; i++) {
        struct adp_match_key key;
        struct minimatch minimatch;
        struct match match;

        learned_match(i, &match);
        minimatch_init(&minimatch, &match);
        adp_match_key_init(&key, &minimatch);
        minimatch_destroy(&minimatch);
        hashes[i] = key.hash;
    }
    qsort(hashes, N, sizeof *hashes, compare_hashes);
    for (size_t i = 1; i < N; i++) {
        n_distinct += hashes[i] != hashes[i - 1];
    }
    ck_assert_uint_gt(n_distinct, 9900);
}
END_TEST

START_TEST(test_many_learned)
{
    enum { N = 70000 };
    struct adp_rule **rules = xmalloc(N * sizeof *rules);
    struct adp_match_scratch scratch = { .words = NULL };
    struct adp_match *am;

    for (size_t i = 0; i < N; i++) {
        struct minimatch minimatch;
        struct match match;

        learned_match(i, &match);
        minimatch_init(&minimatch, &match);
        rules[i] = adp_rule_create(0, 200, &minimatch, htonll(i), NULL, 0,
                                   NULL, NULL);
        minimatch_destroy(&minimatch);
    }
    am = adp_match_create(rules, N);
    for (size_t i = 0; i < N; i += 100) {
        struct match match;

        learned_match(i, &match);
        ck_assert_ptr_eq(adp_match_lookup(am, &match.flow, &scratch),
                         rules[i]);
    }
    adp_match_destroy(am);
    adp_match_scratch_uninit(&scratch);
    for (size_t i = 0; i < N; i++) {
        adp_rule_unref(rules[i]);
    }
    free(rules);
    ovsrcu_barrier();
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("match");
    TCase *tc = tcase_create("by hand");
    TCase *tc_random = tcase_create("random");
    TCase *tc_learned = tcase_create("learned");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_conjunction);
    tcase_add_test(tc, test_fall_back_to_lower_conjunction);
    tcase_add_test(tc, test_plain_rule_beats_equal_conjunction);
    tcase_add_test(tc, test_clauses_of_one_rule);
    tcase_add_test(tc, test_missing_conj_id_rule);
    tcase_add_test(tc, test_hidden_rule);
    tcase_add_test(tc, test_led_nowhere);
    tcase_add_test(tc, test_size_and_name);
    suite_add_tcase(s, tc_random);
    tcase_add_test(tc_random, test_random);
    suite_add_tcase(s, tc_learned);
    tcase_set_timeout(tc_learned, 60);
    tcase_add_test(tc_learned, test_hashes_of_strangers);
    tcase_add_test(tc_learned, test_many_learned);
    return test_run_nofork(s);
}

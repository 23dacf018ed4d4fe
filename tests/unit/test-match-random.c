/* SPDX-License-Identifier: Apache-2.0 */

/* Matchers on tables that change at random: each against all rules, one by
 * one, and old versions as well as the newest. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include "adp-cow.h"
#include "adp-match-hash.h"
#include "coverage.h"
#include "engine.h"
#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "ovs-rcu.h"
#include "policy-world.h"
#include "random.h"
#include "rounds.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

static const struct world_shape shapes[] = {
    { "as Kubernetes policies", 1, 3, 4, 8, 3, 3, 0, 10, true },
    { "as Antrea policies", 0, 3, 4, 8, 3, 3, 0, 10, true },
    { "few priorities, many plain rules", 4, 4, 3, 5, 10, 5, 2, 80, true },
    { "no default rule", 3, 3, 3, 4, 30, 5, 5, 30, false },
    { "rules for several clauses", 2, 3, 2, 3, 10, 10, 60, 10, false },
    { "up to 12 clauses", 2, 12, 3, 2, 10, 40, 5, 5, true },
    { "nearly anything matches", 3, 3, 2, 2, 10, 80, 5, 10, true },
    { "many values", 0, 3, 6, 60, 3, 1, 0, 20, true },
};

/* A version of the table. */
struct version {
    struct adp_rule **rules;
    size_t n;
    struct adp_match *match;
    struct adp_match *linear;
    struct adp_garbage garbage; /* Freed with it. */
};

enum { N_VERSIONS = 4 };

static struct adp_match_scratch scratch;
static size_t n_hits, n_conj_hits;

static void
unref_rule(void *rule)
{
    adp_rule_unref(rule);
}

/* Fills 'v' with what comes after 'old', if not NULL. */
static void
version_init(struct version *v, struct version *old, struct world *w)
{
    struct adp_match_change *changes;
    struct adp_garbage garbage;
    struct adp_cow cow;
    size_t n;

    adp_cow_begin(&cow);
    changes = world_commit(w, &n);
    v->match = adp_match_update(&cow, old ? old->match : NULL, changes, n);
    for (size_t i = 0; i < n; i++) {
        if (changes[i].old) {
            adp_cow_postpone(&cow, unref_rule, changes[i].old);
        }
    }
    free(changes);
    garbage = adp_cow_end(&cow);
    if (old) {
        old->garbage = garbage;
    } else {
        adp_garbage_free(&garbage);
    }
    v->rules = world_rules(w, &v->n);
    v->linear = adp_match_linear_class.create(v->rules, v->n);
}

static void
version_uninit(struct version *v)
{
    adp_match_destroy(v->linear);
    adp_garbage_free(&v->garbage);
    free(v->rules);
}

static void
check_class(const struct version *v, const struct adp_match *match,
            const struct adp_match_class *class, struct flow *flow)
{
    struct flow before = *flow;
    struct adp_rule *rule = class->lookup(match, flow, &scratch);

    ck_assert(!memcmp(flow, &before, sizeof *flow));
    check_answer(v->rules, v->n, flow, rule, scratch.priority, class->name);
    n_hits += rule != NULL;
    n_conj_hits += rule && MINIFLOW_GET_U32(rule->match->flow, conj_id);
}

static void
check_version(const struct version *v, struct flow *flow)
{
    check_class(v, v->linear, &adp_match_linear_class, flow);
    if (!v->match) {
        ck_assert_uint_eq(v->n, 0);
        return;
    }
    check_class(v, v->match, v->match->class, flow);
    if (!strcmp(v->match->class->name, "conjunction")) {
        check_class(v, v->match, &adp_match_conj_class, flow);
        if (adp_match_conj_has_avx2()) {
            check_class(v, v->match, &adp_match_conj_avx2_class, flow);
        }
    }
}

static void
count_rule(struct adp_rule *rule OVS_UNUSED, void *n_)
{
    size_t *n = n_;

    ++*n;
}

static bool
some_rule_reads(const struct version *v, const struct flow *mask,
                int priority)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct minimask *m = v->rules[i]->match->mask;
        size_t idx;

        FLOWMAP_FOR_EACH_INDEX (idx, m->masks.map) {
            if (v->rules[i]->priority >= priority
                && (miniflow_get(&m->masks, idx)
                    & flow_u64_value(mask, idx))) {
                return true;
            }
        }
    }
    return false;
}

/* The matchers know what their rules read, down to which priority. */
static void
check_reads(const struct version *v)
{
    for (size_t word = 0; v->match && word < FLOW_U64S; word++) {
        int of_some_rule = v->rules[random_range(v->n)]->priority;

        for (int over = -1; over <= 1; over++) {
            uint64_t bits = random_range(2) ? UINT64_MAX : random_uint64();
            struct flow mask;

            memset(&mask, 0, sizeof mask);
            *flow_u64_lvalue(&mask, word) = bits;
            bool expected = some_rule_reads(v, &mask, of_some_rule + over);
            ck_assert(adp_match_reads(v->linear, &mask, of_some_rule + over)
                      == expected);
            ck_assert(adp_match_reads(v->match, &mask, of_some_rule + over)
                      == expected);
        }
    }
}

/* The matcher has each rule once, and a size that a new one of the same rules
 * would have, but for what it may keep in reserve. */
static void
check_contents(const struct version *v)
{
    struct adp_match *anew;
    size_t n = 0;

    if (!v->match) {
        return;
    }
    adp_match_for_each(v->match, count_rule, &n);
    ck_assert_uint_eq(n, v->n);
    anew = adp_match_create(v->rules, v->n);
    if (v->match->class == anew->class) {
        size_t size = anew->class->size(anew);

        ck_assert_uint_ge(2 * v->match->class->size(v->match), size);
        ck_assert_uint_le(v->match->class->size(v->match), 3 * size + 60000);
    }
    adp_match_destroy(anew);
}

static void
seed_random(void)
{
    test_seed_random();
    n_hits = n_conj_hits = 0;
}

static void
change_world(struct world *w, int phase)
{
    int n = 1 + random_range(5);

    while (n-- > 0) {
        /* Grows, changes, shrinks. */
        if (random_range(10) < (phase == 0 ? 9 : phase == 1 ? 5 : 1)) {
            world_add_conj(w);
        } else {
            world_remove_conj(w);
        }
        world_toggle_plain(w);
    }
}

START_TEST(test_changes)
{
    const struct world_shape *shape = &shapes[_i % ARRAY_SIZE(shapes)];
    struct world *w = world_create(shape);
    struct version versions[N_VERSIONS] = { { .rules = NULL } };
    enum { N_STEPS = 60 };

    if (!_i) {
        seed_random();
    }
    change_world(w, 0);
    version_init(&versions[0], NULL, w);
    for (int step = 1; step < N_STEPS; step++) {
        struct version *v = &versions[step % N_VERSIONS];

        if (step >= N_VERSIONS) {
            version_uninit(v);
        }
        *v = (struct version) { .rules = NULL };
        change_world(w, step * 3 / N_STEPS);
        if (step == N_STEPS - 2) {
            while (w->n_conjs) {
                world_remove_conj(w);
            }
        }
        version_init(v, &versions[(step - 1) % N_VERSIONS], w);
        check_contents(v);
        check_reads(v);
        for (int i = 0; i < ROUNDS(25); i++) {
            struct flow flow;

            world_random_flow(w, &flow);
            check_version(v, &flow);
            if (step >= N_VERSIONS) {
                check_version(&versions[(step + 1) % N_VERSIONS], &flow);
            }
        }
    }
    for (int i = 0; i < N_VERSIONS; i++) {
        /* The oldest first. */
        struct version *v = &versions[(N_STEPS + i) % N_VERSIONS];

        if (i == N_VERSIONS - 1) {
            adp_match_destroy(v->match);
        }
        version_uninit(v);
    }
    world_destroy(w);
    ovsrcu_quiesce();
    if (_i == ARRAY_SIZE(shapes) - 1) {
        /* The generator must not lose its point. */
        ck_assert_uint_gt(n_hits, ROUNDS(5000));
        ck_assert_uint_gt(n_conj_hits, ROUNDS(1000));
    }
}
END_TEST

/* Enough conjunctions for several pages of bits. */
START_TEST(test_many)
{
    static const struct world_shape many[] = {
        { "one priority", 1, 2, 2, 6, 1, 3, 0, 10, true },
        { "one priority, no hit", 1, 3, 1, 100, 1, 0, 0, 10, true },
        { "a priority each", 0, 3, 2, 12, 1, 1, 0, 10, true },
        { "no rule for their conj_id", 2, 2, 2, 6, 100, 3, 0, 0, false },
    };
    const struct world_shape *shape = &many[_i];
    struct world *w = world_create(shape);
    struct version first = { .rules = NULL }, second = { .rules = NULL };
    enum { N = ROUNDS(20000) };

    seed_random();
    for (int i = 0; i < N; i++) {
        world_add_conj(w);
        if (i < shape->n_plain) {
            world_toggle_plain(w);
        }
    }
    version_init(&first, NULL, w);
    for (int i = 0; i < N / 2; i++) {
        world_remove_conj(w);
    }
    version_init(&second, &first, w);
    check_contents(&second);
    for (int i = 0; i < 20; i++) {
        struct flow flow;

        world_random_flow(w, &flow);
        check_version(&first, &flow);
        check_version(&second, &flow);
    }
    adp_match_destroy(second.match);
    version_uninit(&first);
    version_uninit(&second);
    world_destroy(w);
}
END_TEST

/* Every rule of a table goes at once, and others come, or none. */
START_TEST(test_emptied)
{
    struct world *w = world_create(&shapes[_i]);
    struct world *next = world_create(&shapes[(_i + 1) % ARRAY_SIZE(shapes)]);
    struct version first = { .rules = NULL }, second = { .rules = NULL };

    seed_random();
    for (int i = 0; i < 20; i++) {
        change_world(w, 0);
        change_world(next, 0);
    }
    version_init(&first, NULL, w);
    version_init(&second, NULL, next);

    struct adp_match_change *changes = xcalloc(first.n + second.n,
                                               sizeof *changes);
    bool to_nothing = random_range(2);
    struct version after = { .rules = NULL };
    struct adp_cow cow;

    if (!to_nothing) {
        after.rules = second.rules;
        after.n = second.n;
    }
    after.linear = second.linear;
    for (size_t i = 0; i < first.n; i++) {
        changes[i].old = first.rules[first.n - 1 - i];
    }
    for (size_t i = 0; i < after.n; i++) {
        changes[first.n + i].new = after.rules[i];
    }
    adp_cow_begin(&cow);
    after.match = adp_match_update(&cow, first.match, changes,
                                   first.n + after.n);
    first.garbage = adp_cow_end(&cow);
    free(changes);

    ck_assert_int_eq(!after.match, !after.n);
    check_contents(&after);
    for (int i = 0; i < 200; i++) {
        struct flow flow;

        world_random_flow(i % 2 ? w : next, &flow);
        check_version(&first, &flow);
        if (after.match) {
            check_version(&after, &flow);
        }
    }

    adp_match_destroy(after.match);
    adp_match_destroy(second.match);
    version_uninit(&first);
    version_uninit(&second);
    world_destroy(w);
    world_destroy(next);
}
END_TEST

/* Several rules of one match and priority, with clauses of many conjunctions,
 * of which each ID has one of 2 clauses and one of 3. */
enum { N_IDS = 200, N_EQUAL = 3 };

struct equals {
    struct adp_rule *equal[N_EQUAL];    /* Any may be NULL. */
    struct adp_rule *others[3 * N_IDS];
    struct adp_rule *all[N_EQUAL + 3 * N_IDS];  /* In 'version'. */
    struct version version;
};

/* Looks at clauses of rules for those that others have, too, as a daemon shows
 * it ("coverage/show"). */
extern struct coverage_counter counter_adp_clause_look;

static void
put_clause(struct ds *s, int id, int clause, int n_clauses)
{
    ds_put_format(s, "conjunction(%d,%d/%d),", id, clause, n_clauses);
}

/* Takes the text. */
static struct adp_rule *
parse_rule(struct ds *s)
{
    struct adp_rule *rule = engine_parse_flow(ds_cstr(s));

    ds_destroy(s);
    return rule;
}

/* Some clauses of all conjunctions, but for their last ones. */
static struct adp_rule *
equal_rule(void)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    unsigned int part = 1 + random_range(4);

    ds_put_cstr(&s, "priority=200,reg1=1,actions=");
    put_clause(&s, 1 + random_range(N_IDS), 1, 2);
    for (int i = 0; i < 3 * N_IDS; i++) {
        if (!random_range(part)) {
            put_clause(&s, 1 + i / 3, MAX(i % 3, 1), i % 3 ? 3 : 2);
        }
    }
    return parse_rule(&s);
}

/* The last clauses, each for packets of its own, and what conjunctions lead
 * to. */
static void
add_others(struct adp_rule **rules)
{
    for (int id = 1; id <= N_IDS; id++) {
        struct ds s = DS_EMPTY_INITIALIZER;

        for (int n = 2; n <= 3; n++) {
            ds_put_format(&s, "priority=200,reg2=%d,actions=", 2 * id + n);
            put_clause(&s, id, n, n);
            *rules++ = parse_rule(&s);
            ds_init(&s);
        }
        ds_put_format(&s, "priority=200,conj_id=%d,actions=drop", id);
        *rules++ = parse_rule(&s);
    }
}

/* Puts others in the places of some equal ones.  Returns the number of
 * changes, of which 'n_clauses' are about. */
static size_t
change_equals(struct equals *e, struct adp_cow *cow,
              struct adp_match_change changes[N_EQUAL], size_t *n_clauses)
{
    size_t n = 0;

    *n_clauses = 0;
    for (int i = 0; i < N_EQUAL; i++) {
        struct adp_rule *old = e->equal[i];
        struct adp_rule *new = random_range(4) ? equal_rule() : NULL;

        if (random_range(2) || !(old || new)) {
            adp_rule_unref(new);
            continue;
        }
        if (old) {
            *n_clauses += old->n_conjs;
            adp_cow_postpone(cow, unref_rule, old);
        }
        e->equal[i] = new;
        changes[n++] = (struct adp_match_change) { old, new };
    }
    return n;
}

static void
check_equals(struct equals *e)
{
    struct version *v = &e->version;

    v->rules = e->all;
    v->n = 0;
    for (size_t i = 0; i < N_EQUAL; i++) {
        if (e->equal[i]) {
            v->rules[v->n++] = e->equal[i];
        }
    }
    memcpy(&v->rules[v->n], e->others, sizeof e->others);
    v->n += ARRAY_SIZE(e->others);

    v->linear = adp_match_linear_class.create(v->rules, v->n);
    for (int i = 0; i < 2 * N_IDS; i++) {
        struct flow flow;

        memset(&flow, 0, sizeof flow);
        flow.regs[1] = random_range(10) > 0;
        flow.regs[2] = 4 + i;
        check_version(v, &flow);
    }
    adp_match_destroy(v->linear);
}

/* With one that goes goes what none of the others has, and that costs a few
 * looks for each of its clauses, however many those have. */
START_TEST(test_equal)
{
    struct adp_match_change changes[MAX(N_EQUAL, 3 * N_IDS)];
    struct equals *e = xzalloc(sizeof *e);
    size_t n = ARRAY_SIZE(e->others), n_clauses = 0;

    seed_random();
    add_others(e->others);
    for (size_t i = 0; i < n; i++) {
        changes[i] = (struct adp_match_change) { NULL, e->others[i] };
    }
    for (int step = 0; step < 60; step++) {
        struct adp_garbage garbage;
        struct adp_cow cow;
        size_t n_looks;

        adp_cow_begin(&cow);
        if (step) {
            n = change_equals(e, &cow, changes, &n_clauses);
        }
        counter_adp_clause_look.count();
        e->version.match = adp_match_update(&cow, e->version.match, changes,
                                            n);
        n_looks = counter_adp_clause_look.count();
        garbage = adp_cow_end(&cow);
        adp_garbage_free(&garbage);
        ck_assert_uint_le(n_looks, 15 * N_EQUAL * n_clauses);
        check_equals(e);
    }
    ck_assert_uint_gt(n_conj_hits, 0);

    adp_match_destroy(e->version.match);
    for (size_t i = 0; i < e->version.n; i++) {
        adp_rule_unref(e->all[i]);
    }
    free(e);
    ovsrcu_quiesce();
}
END_TEST

/* Hash tables. */

struct trie_item {
    uint64_t hash;              /* First, for adp-trie.h. */
    bool in_trie;
    bool seen;
};

/* Hashes that differ in a few bits, which makes chains. */
static uint64_t
random_hash(int n_bits)
{
    uint64_t hash = random_uint64();

    return n_bits ? hash >> (64 - n_bits) << (64 - n_bits) : 0;
}

static void
see_item(void *item_, void *n_)
{
    struct trie_item *item = item_;
    size_t *n = n_;

    ck_assert(!item->seen);
    item->seen = true;
    ++*n;
}

/* 'trie' has 'n' items, and those of items[] as they say themselves. */
static void
check_trie(adp_trie trie, struct trie_item *items[], size_t n_items, size_t n)
{
    size_t n_seen = 0;

    adp_trie_for_each(trie, see_item, &n_seen);
    ck_assert_uint_eq(n_seen, n);
    for (size_t i = 0; i < n_items; i++) {
        struct trie_item *item;
        bool found = false;
        uint64_t slot;

        ADP_TRIE_FOR_EACH_CANDIDATE (item, slot, trie, items[i]->hash) {
            found |= item == items[i];
        }
        ck_assert(found == items[i]->in_trie);
        ck_assert(items[i]->seen == items[i]->in_trie);
        items[i]->seen = false;
    }
}

static void
count_item(void *item OVS_UNUSED, void *n_)
{
    size_t *n = n_;

    ++*n;
}

/* The same, of items with one hash. */
static void
check_all_seen(adp_trie trie, struct trie_item *items[], size_t n_items)
{
    struct trie_item *item;
    uint64_t slot;

    ADP_TRIE_FOR_EACH_CANDIDATE (item, slot, trie, items[0]->hash) {
        ck_assert(!item->seen);
        item->seen = true;
    }
    for (size_t i = 0; i < n_items; i++) {
        ck_assert(items[i]->seen == items[i]->in_trie);
        items[i]->seen = false;
    }
}

START_TEST(test_trie)
{
    static const int n_bits[] = { 0, 1, 3, 8, 64 };
    enum { N_ITEMS = 3000, N_STEPS = 60 };
    struct trie_item *items[N_ITEMS];
    size_t n_items = n_bits[_i] < 8 ? N_ITEMS / 10 : N_ITEMS;
    adp_trie trie = 0;
    struct adp_cow cow;
    int64_t n_bytes = 0;
    size_t n = 0, n_most = 0;

    seed_random();
    adp_cow_begin(&cow);
    for (size_t i = 0; i < n_items; i++) {
        items[i] = adp_cow_alloc(&cow, sizeof *items[i]);
        items[i]->hash = random_hash(n_bits[_i]);
    }
    adp_cow_end(&cow);

    for (int step = 0; step < N_STEPS; step++) {
        /* Grows, changes, shrinks to nothing. */
        int add = step < 20 ? 90 : step < 40 ? 50 : 10;
        int n_changes = n_items / 8;
        adp_trie old = trie;
        struct adp_garbage garbage;
        size_t n_old = n, n_old_now = 0;

        adp_cow_begin(&cow);
        while (n_changes-- > 0 || (step == N_STEPS - 1 && n)) {
            struct trie_item *item = items[random_range(n_items)];
            bool come = (step < N_STEPS - 1
                         && (int) random_range(100) < add);

            if (come != item->in_trie) {
                if (come) {
                    adp_trie_insert(&cow, &trie, item);
                } else {
                    adp_trie_remove(&cow, &trie, item);
                }
                item->in_trie = come;
                n += come ? 1 : -1;
            }
        }
        n_bytes += cow.n_bytes;
        garbage = adp_cow_end(&cow);
        check_trie(trie, items, n_items, n);
        adp_trie_for_each(old, count_item, &n_old_now);
        ck_assert_uint_eq(n_old_now, n_old);
        adp_garbage_free(&garbage);
        n_most = MAX(n_most, n);
    }
    ck_assert_uint_gt(n_most, 200);
    ck_assert_uint_eq(trie, 0);
    ck_assert_int_eq(n_bytes, 0);
    for (size_t i = 0; i < n_items; i++) {
        adp_cow_free(items[i]);
    }
}
END_TEST

/* More items with one hash than a slot can count. */
START_TEST(test_trie_of_one_hash)
{
    enum { N_ITEMS = 70000, N_LEFT = 60000 };
    struct trie_item **items = xmalloc(N_ITEMS * sizeof *items);
    struct adp_garbage garbage;
    struct adp_cow cow;
    adp_trie trie = 0;
    size_t n = 0;

    adp_cow_begin(&cow);
    for (size_t i = 0; i < N_ITEMS; i++) {
        items[i] = adp_cow_alloc(&cow, sizeof *items[i]);
        adp_trie_insert(&cow, &trie, items[i]);
        items[i]->in_trie = true;
    }
    garbage = adp_cow_end(&cow);
    adp_garbage_free(&garbage);
    check_all_seen(trie, items, N_ITEMS);

    adp_cow_begin(&cow);
    for (size_t i = 0; i < N_ITEMS - N_LEFT; i++) {
        adp_trie_remove(&cow, &trie, items[i]);
        items[i]->in_trie = false;
        if (N_ITEMS - 1 - i == UINT16_MAX) {
            check_all_seen(trie, items, N_ITEMS);
        }
    }
    check_all_seen(trie, items, N_ITEMS);
    for (size_t i = 0; i < N_ITEMS - N_LEFT; i++) {
        adp_trie_insert(&cow, &trie, items[i]);
        items[i]->in_trie = true;
    }
    garbage = adp_cow_end(&cow);
    adp_garbage_free(&garbage);
    check_all_seen(trie, items, N_ITEMS);

    adp_trie_for_each(trie, count_item, &n);
    ck_assert_uint_eq(n, N_ITEMS);
    adp_trie_destroy(trie, NULL);
    for (size_t i = 0; i < N_ITEMS; i++) {
        adp_cow_free(items[i]);
    }
    free(items);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("match-random");
    TCase *tc = tcase_create("match-random");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test_changes, 0, ARRAY_SIZE(shapes));
    tcase_add_loop_test(tc, test_many, 0, 4);
    tcase_add_loop_test(tc, test_emptied, 0, ARRAY_SIZE(shapes));
    tcase_add_test(tc, test_equal);
    tcase_add_loop_test(tc, test_trie, 0, 5);
    tcase_add_test(tc, test_trie_of_one_hash);

    int status = test_run_nofork(s);
    adp_match_scratch_uninit(&scratch);
    ovsrcu_barrier();
    return status;
}

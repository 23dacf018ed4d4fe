/* SPDX-License-Identifier: Apache-2.0 */

/* Changes that are carried out as far as they can be, against a daemon of
 * which is known what it takes. */

#include <config.h>
#include "dpctl-batch.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-left-out.h"
#include "openvswitch/json.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

/* What becomes of an object, by how its name begins. */
#define GOOD "Tier.crd.antrea.io/good"
#define GOOD_LAST "Tier.crd.antrea.io/zone"     /* In order of names. */
#define GOOD_BETWEEN "Tier.crd.antrea.io/named1-"
#define NAMED "Tier.crd.antrea.io/named"        /* Refused, and named. */
#define NAMED_SLICE "EndpointSlice.discovery.k8s.io/d/s"
#define SILENT "Tier.crd.antrea.io/silent"      /* Refused. */
#define NEEDS "Tier.crd.antrea.io/needs"        /* The one of that number. */
#define POD "Pod.v1/default/p"
#define POLICY "NetworkPolicy.networking.k8s.io/default/p"
#define POLICY_NEEDS "ClusterNetworkPolicy.crd.antrea.io/p"
#define NUMBER "Namespace.v1/"
#define INSTEAD "Tier.crd.antrea.io/instead"    /* Of the one of that
                                                 * number, which goes only as
                                                 * this one comes. */

struct daemon {
    struct sset there;
    bool full;                  /* All changes take the full run. */
    bool names_one;             /* Of NAMED in each of these, as the daemon,
                                 * rather than all, as the resolver. */
    int n_runs, n_full;
    size_t n_most;              /* Objects in one change. */
};

static bool
begins(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

static const char *
number_of(const char *name)
{
    const char *own = strrchr(name, '/');

    return own + strcspn(own, "0123456789");
}

static char *
numbered(const char *name)
{
    return xasprintf(NUMBER "%s", number_of(name));
}

/* Will there be the Namespace of that number? */
static bool
has_number(const struct daemon *d, const struct dpctl_input *input,
           const char *name)
{
    char *number = numbered(name);
    bool has = (shash_find(&input->manifests, number)
                || (sset_contains(&d->there, number)
                    && !sset_contains(&input->gone, number)));

    free(number);
    return has;
}

/* Is there something in its stead, if it needs that to go? */
static bool
may_go(const struct daemon *d, const struct dpctl_input *input,
       const char *name)
{
    if (!begins(name, NUMBER)) {
        return true;
    }
    char *instead = xasprintf(INSTEAD "%s", number_of(name));
    bool may = (sset_contains(&d->there, instead)
                || shash_find(&input->manifests, instead));

    free(instead);
    return may;
}

static bool
is_named(const char *name)
{
    return ((begins(name, NAMED) && !begins(name, GOOD_BETWEEN))
            || begins(name, NAMED_SLICE));
}

static bool
is_refused(const struct daemon *d, const struct dpctl_input *input,
           const char *name)
{
    return (is_named(name) || begins(name, SILENT)
            || ((begins(name, NEEDS) || begins(name, POLICY_NEEDS))
                && !has_number(d, input, name))
            || (begins(name, INSTEAD) && has_number(d, input, name)));
}

/* Leaves out what can be named.  Returns true if more may be named. */
static bool
leave_out(const struct daemon *d, struct dpctl_input *input)
{
    const struct shash_node *node;
    struct sset names = SSET_INITIALIZER(&names);
    bool named_one = false;
    const char *name;

    SHASH_FOR_EACH (node, &input->manifests) {
        bool one = d->names_one && is_named(node->name);

        if (!begins(node->name, SILENT) && is_refused(d, input, node->name)
            && !(one && named_one)) {
            sset_add(&names, node->name);
            named_one |= one;
        }
    }
    SSET_FOR_EACH (name, &names) {
        ck_assert_ptr_nonnull(dpctl_input_leave_out(input, name, "refused"));
    }
    sset_destroy(&names);
    return named_one;
}

/* Returns false if there are to be no more of them for now. */
static bool
run_fully(struct daemon *d, enum dpctl_verb verb, struct dpctl_input *input,
          struct dpctl_outcome *outcome)
{
    bool again;

    do {
        outcome->n_full++;
        d->n_full++;
        again = (verb == DPCTL_APPLY && leave_out(d, input)
                 && !dpctl_input_is_empty(input));
    } while (again && outcome->n_full < DPCTL_BATCH_FULL_RUNS);
    return !again;
}

static bool
is_taken(const struct daemon *d, const struct dpctl_input *input)
{
    const struct shash_node *node;
    const char *name;

    SHASH_FOR_EACH (node, &input->manifests) {
        if (input->for_delete ? !may_go(d, input, node->name)
            : is_refused(d, input, node->name)) {
            return false;
        }
    }
    SSET_FOR_EACH (name, &input->gone) {
        if (!may_go(d, input, name)) {
            return false;
        }
    }
    return true;
}

static char *
run(void *d_, enum dpctl_verb verb, struct dpctl_input *input,
    struct dpctl_outcome *outcome)
{
    struct daemon *d = d_;
    const struct shash_node *node;
    const char *name;

    d->n_runs++;
    d->n_most = MAX(d->n_most, shash_count(&input->manifests));
    ck_assert(input->watched && input->keep_going);
    ck_assert_int_eq(verb == DPCTL_DELETE, input->for_delete);
    if (d->full || !sset_is_empty(&input->gone)) {
        if (!run_fully(d, verb, input, outcome)) {
            return xstrdup("one was refused");
        }
    }
    if (dpctl_input_is_empty(input) || !is_taken(d, input)) {
        return xstrdup("somebody is refused");
    }
    SHASH_FOR_EACH (node, &input->manifests) {
        if (verb == DPCTL_DELETE) {
            sset_find_and_delete(&d->there, node->name);
        } else {
            sset_add(&d->there, node->name);
        }
        sset_add(&outcome->changed, node->name);
    }
    SSET_FOR_EACH (name, &input->gone) {
        sset_find_and_delete(&d->there, name);
        sset_add(&outcome->changed, name);
    }
    return NULL;
}

static void
add(struct dpctl_batch *b, const char *prefix, int number, bool gone)
{
    char *name = xasprintf("%s%d", prefix, number);

    dpctl_batch_add(b, name, json_object_create(), gone);
    free(name);
}

/* Has turns until all was tried; returns how many. */
static int
finish(struct dpctl_batch *b, struct daemon *d)
{
    int n = 0;

    while (!dpctl_batch_is_finished(b)) {
        int n_full = d->n_full;

        dpctl_batch_try(b, run, d);
        ck_assert_int_le(d->n_full - n_full, DPCTL_BATCH_FULL_RUNS);
        n++;
        ck_assert_int_le(n, 10000);
    }
    return n;
}

static void
daemon_uninit(struct daemon *d)
{
    sset_destroy(&d->there);
}

START_TEST(all_at_once)
{
    struct daemon d = { .there = SSET_INITIALIZER(&d.there), .full = true };
    struct dpctl_batch b;

    dpctl_batch_init(&b);
    for (int i = 0; i < 1000; i++) {
        add(&b, GOOD, i, false);
    }
    ck_assert_int_eq(finish(&b, &d), 1);
    /* A few to see what they take, then the rest. */
    ck_assert_int_eq(d.n_full, 2);
    ck_assert_uint_eq(shash_count(&b.done), 1000);
    ck_assert(b.helps && dpctl_batch_is_empty(&b));
    dpctl_changes_clear(&b.done);

    /* Without the full run a few at a time. */
    d = (struct daemon) { .there = d.there };
    for (int i = 0; i < 1000; i++) {
        add(&b, GOOD, i, false);
    }
    ck_assert_int_eq(finish(&b, &d), 1);
    ck_assert_int_eq(d.n_runs, 10);
    ck_assert_uint_eq(d.n_most, 100);
    dpctl_batch_destroy(&b);
    daemon_uninit(&d);
}
END_TEST

/* All that is named is named by one run. */
START_TEST(named)
{
    struct daemon d = { .there = SSET_INITIALIZER(&d.there), .full = true };
    struct dpctl_batch b;

    dpctl_batch_init(&b);
    for (int i = 0; i < 100; i++) {
        add(&b, i % 2 ? GOOD : NAMED, i, false);
    }
    finish(&b, &d);
    ck_assert_uint_eq(shash_count(&b.failed), 50);
    ck_assert_uint_eq(shash_count(&b.done), 50);
    ck_assert_int_le(d.n_full, 2);
    dpctl_batch_destroy(&b);
    daemon_uninit(&d);
}
END_TEST

static void
try_turns(struct dpctl_batch *b, struct daemon *d, int n)
{
    for (int i = 0; i < n; i++) {
        int n_full = d->n_full;

        dpctl_batch_try(b, run, d);
        ck_assert_int_le(d->n_full - n_full, DPCTL_BATCH_FULL_RUNS);
    }
}

/* Many that are named one by one don't keep the others off, wherever they are
 * in order. */
START_TEST(named_one_by_one)
{
    static const char *const goods[] = { GOOD, GOOD_LAST, GOOD_BETWEEN };
    struct daemon d = { .there = SSET_INITIALIZER(&d.there),
                        .full = true, .names_one = true };
    struct dpctl_batch b;

    dpctl_batch_init(&b);
    for (int i = 0; i < 2000; i++) {
        add(&b, goods[_i], i, false);
    }
    for (int i = 0; i < 100; i++) {
        add(&b, NAMED, i, false);
    }
    try_turns(&b, &d, 15);
    ck_assert_uint_ge(sset_count(&d.there), 1900);
    try_turns(&b, &d, 25);
    ck_assert_uint_ge(sset_count(&d.there), 1980);

    finish(&b, &d);
    ck_assert_uint_eq(sset_count(&d.there), 2000);
    ck_assert_uint_eq(shash_count(&b.failed), 100);
    /* Each is named twice: again when there are the others. */
    ck_assert_int_le(d.n_full, 250);
    dpctl_batch_destroy(&b);
    daemon_uninit(&d);
}
END_TEST

/* What others may need isn't behind what is named one by one. */
START_TEST(needed_first)
{
    struct daemon d = { .there = SSET_INITIALIZER(&d.there),
                        .full = true, .names_one = true };
    struct dpctl_batch b;

    dpctl_batch_init(&b);
    for (int i = 0; i < 100; i++) {
        add(&b, POD, i, false);
        add(&b, POLICY_NEEDS, i, false);
        add(&b, NUMBER, i, false);
        add(&b, NAMED_SLICE, i, false);
    }
    try_turns(&b, &d, 15);
    const char *name;
    int n = 0;
    SSET_FOR_EACH (name, &d.there) {
        n += begins(name, POLICY_NEEDS);
    }
    ck_assert_int_ge(n, 50);
    dpctl_batch_destroy(&b);
    daemon_uninit(&d);
}
END_TEST

/* One in place of another: neither can do without the other. */
START_TEST(together)
{
    struct daemon d = { .there = SSET_INITIALIZER(&d.there) };
    struct dpctl_batch b;

    dpctl_batch_init(&b);
    sset_add(&d.there, NUMBER "1");
    add(&b, NUMBER, 1, true);
    add(&b, INSTEAD, 1, false);
    add(&b, NAMED, 2, false);
    finish(&b, &d);
    ck_assert(sset_contains(&d.there, INSTEAD "1"));
    ck_assert(!sset_contains(&d.there, NUMBER "1"));
    ck_assert_uint_eq(shash_count(&b.failed), 1);
    dpctl_batch_destroy(&b);
    daemon_uninit(&d);
}
END_TEST

/* What is left after a turn waits with others. */
START_TEST(moves)
{
    struct daemon d = { .there = SSET_INITIALIZER(&d.there), .full = true };
    struct dpctl_batch b, waiting;

    dpctl_batch_init(&b);
    dpctl_batch_init(&waiting);
    for (int i = 0; i < 8; i++) {
        add(&b, SILENT, i, false);
    }
    dpctl_batch_try(&b, run, &d);
    ck_assert(!dpctl_batch_is_finished(&b));
    dpctl_batch_move(&waiting, &b);
    ck_assert(dpctl_batch_is_empty(&b) && dpctl_batch_is_finished(&b));
    add(&b, GOOD, 1, false);
    ck_assert_int_eq(finish(&b, &d), 1);
    ck_assert(sset_contains(&d.there, GOOD "1"));

    /* News of one. */
    dpctl_batch_forget(&waiting, SILENT "7");
    finish(&waiting, &d);
    ck_assert_uint_eq(shash_count(&waiting.failed), 7);
    dpctl_batch_destroy(&b);
    dpctl_batch_destroy(&waiting);
    daemon_uninit(&d);
}
END_TEST

/* A policy goes behind those that may come in its place, though they wait. */
START_TEST(held)
{
    struct daemon d = { .there = SSET_INITIALIZER(&d.there),
                        .full = true, .names_one = true };
    struct dpctl_batch b, waiting;

    dpctl_batch_init(&b);
    dpctl_batch_init(&waiting);
    sset_add(&d.there, POLICY "1");
    sset_add(&d.there, POD "1");

    /* Nothing to wait for. */
    add(&waiting, POD, 2, false);
    add(&b, POLICY, 1, true);
    dpctl_batch_hold(&waiting, &b);
    ck_assert_uint_eq(dpctl_batch_count(&b), 1);

    add(&waiting, POLICY, 2, false);
    add(&b, POLICY, 3, false);
    add(&b, POD, 1, true);
    dpctl_batch_hold(&waiting, &b);
    ck_assert_uint_eq(dpctl_batch_count(&b), 2);
    ck_assert_uint_eq(dpctl_batch_count(&waiting), 3);
    ck_assert(dpctl_batch_will_delete(&waiting));
    finish(&b, &d);
    ck_assert(!sset_contains(&d.there, POD "1"));
    ck_assert(sset_contains(&d.there, POLICY "3"));
    ck_assert(sset_contains(&d.there, POLICY "1"));
    finish(&waiting, &d);
    ck_assert(sset_contains(&d.there, POLICY "2"));
    ck_assert(!sset_contains(&d.there, POLICY "1"));

    /* One that was refused is nothing to wait for. */
    dpctl_changes_clear(&waiting.done);
    add(&waiting, POLICY_NEEDS, 1, false);
    add(&waiting, NAMED, 1, false);
    try_turns(&waiting, &d, 1);
    ck_assert_uint_eq(shash_count(&waiting.failed), 2);
    add(&b, POLICY, 3, true);
    dpctl_batch_hold(&waiting, &b);
    ck_assert_uint_eq(dpctl_batch_count(&b), 1);
    dpctl_batch_destroy(&b);
    dpctl_batch_destroy(&waiting);
    daemon_uninit(&d);
}
END_TEST

/* Those who have ever more refused don't keep deletions off. */
START_TEST(patience)
{
    struct daemon d = { .there = SSET_INITIALIZER(&d.there),
                        .full = true, .names_one = true };
    struct dpctl_batch b;
    int n = 0;

    dpctl_batch_init(&b);
    sset_add(&d.there, POLICY "1");
    add(&b, POLICY, 1, true);
    for (int t = 0; t <= DPCTL_BATCH_PATIENCE; t++) {
        ck_assert(sset_contains(&d.there, POLICY "1"));
        for (int i = 0; i < 5; i++) {
            add(&b, NAMED, n++, false);
        }
        try_turns(&b, &d, 1);
        ck_assert(!shash_is_empty(&b.untried));
    }
    ck_assert(!sset_contains(&d.there, POLICY "1"));
    dpctl_batch_destroy(&b);
    daemon_uninit(&d);
}
END_TEST

/* Adds objects of all sorts to 'b', and to 'good' those that the daemon takes
 * in the end.  Of those that are tried together all that are to blame must be
 * named. */
static void
add_random(struct dpctl_batch *b, struct daemon *d, struct sset *good)
{
    int n = random_range(random_range(4) ? 30 : 1500);
    bool silent = random_range(2);

    for (int i = 0; i < n; i++) {
        int sort = random_range(12);

        switch (sort == 1 && !silent ? 4 : sort == 4 && silent ? 1 : sort) {
        case 0:
            add(b, NAMED, i, false);
            break;
        case 1:
            add(b, SILENT, i, false);
            break;
        case 2:
            add(b, NEEDS, i, false);
            sset_add_and_free(good, xasprintf(NEEDS "%d", i));
            if (random_range(2)) {
                sset_add_and_free(&d->there, xasprintf(NUMBER "%d", i));
            } else {
                add(b, NUMBER, i, false);
            }
            sset_add_and_free(good, xasprintf(NUMBER "%d", i));
            break;
        case 3:
            add(b, NEEDS, i, false);
            break;
        case 4:
            sset_add_and_free(&d->there, xasprintf(NUMBER "%d", i));
            add(b, INSTEAD, i, false);
            add(b, NUMBER, i, true);
            sset_add_and_free(good, xasprintf(INSTEAD "%d", i));
            break;
        default:
            add(b, GOOD, i, false);
            sset_add_and_free(good, xasprintf(GOOD "%d", i));
            break;
        }
    }
}

START_TEST(random_batches)
{
    test_seed_random();
    for (int i = 0; i < 300; i++) {
        struct daemon d = { .there = SSET_INITIALIZER(&d.there) };
        struct sset good = SSET_INITIALIZER(&good);
        struct dpctl_batch b;

        dpctl_batch_init(&b);
        d.full = random_range(2);
        add_random(&b, &d, &good);
        finish(&b, &d);
        ck_assert_msg(sset_equals(&d.there, &good),
                      "%"PRIuSIZE" there, not %"PRIuSIZE,
                      sset_count(&d.there), sset_count(&good));
        dpctl_batch_destroy(&b);
        sset_destroy(&good);
        daemon_uninit(&d);
    }
}
END_TEST

/* What helps those that were refused: what has changed. */
START_TEST(outcomes)
{
    static const char *const gone[][2] = {
        { "Manifest", "Pod.v1/default/here" }, { "Pod", "default/here" },
        { "Manifest", "Pod.v1/default/elsewhere" },
        { "Manifest", "Tier.crd.antrea.io/t" },
    };
    struct dpctl_outcome outcome = {
        .changed = SSET_INITIALIZER(&outcome.changed),
    };
    struct json *record = json_object_create();
    struct dpctl_plan plan;

    dpctl_plan_init(&plan);
    for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
        dpctl_plan_delete(&plan, gone[i][0], gone[i][1]);
    }
    json_object_put_string(record, "kind", "Manifest");
    json_object_put_string(record, "name", "Node.v1/n");
    json_array_add(plan.apply, record);
    dpctl_outcome_note(&outcome, &plan);

    ck_assert_uint_eq(sset_count(&outcome.changed), 3);
    ck_assert(sset_contains(&outcome.changed, "Node.v1/n"));
    ck_assert(sset_contains(&outcome.changed, "Tier.crd.antrea.io/t"));
    ck_assert(sset_contains(&outcome.changed, "Pod.v1/default/here"));
    sset_destroy(&outcome.changed);
    dpctl_plan_destroy(&plan);
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    Suite *s = suite_create("dpctl-batch");
    TCase *tc = tcase_create("dpctl-batch");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, all_at_once);
    tcase_add_test(tc, named);
    tcase_add_loop_test(tc, named_one_by_one, 0, 3);
    tcase_add_test(tc, needed_first);
    tcase_add_test(tc, together);
    tcase_add_test(tc, moves);
    tcase_add_test(tc, held);
    tcase_add_test(tc, patience);
    tcase_add_test(tc, random_batches);
    tcase_add_test(tc, outcomes);
    suite_add_tcase(s, tc);

    return test_run(s);
}

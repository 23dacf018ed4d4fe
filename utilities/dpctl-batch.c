/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-batch.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-left-out.h"
#include "dpctl-refused.h"
#include "openvswitch/json.h"
#include "util.h"

enum {
    SMALL = 100,                /* So many are a small change. */
    LARGE = 1000,               /* More are one large one. */
};

/* One change to the daemon. */
struct attempt {
    struct dpctl_input input;
    struct dpctl_outcome outcome;
    char *error;
};

/* A Pod of another Node holds nothing that a new one could need. */
static bool
holds_nothing(const char *manifest, const struct sset *gone)
{
    if (strncmp(manifest, "Pod.v1/", 7)) {
        return false;
    }
    char *record = dpctl_record_key("Pod", manifest + 7);
    bool holds = sset_contains(gone, record);

    free(record);
    return !holds;
}

void
dpctl_outcome_note(struct dpctl_outcome *outcome,
                   const struct dpctl_plan *plan)
{
    const struct json_array *apply = json_array(plan->apply);
    const struct json_array *delete = json_array(plan->delete);
    struct sset gone = SSET_INITIALIZER(&gone);
    const char *key;

    for (size_t i = 0; i < apply->n; i++) {
        if (!strcmp(dpctl_json_str(apply->elems[i], "kind"), "Manifest")) {
            sset_add(&outcome->changed,
                     dpctl_json_str(apply->elems[i], "name"));
        }
    }
    for (size_t i = 0; i < delete->n; i++) {
        sset_add_and_free(&gone, dpctl_record_key_of(delete->elems[i]));
    }
    SSET_FOR_EACH (key, &gone) {
        const char *manifest = dpctl_manifest_of_key(key);

        if (manifest && !holds_nothing(manifest, &gone)) {
            sset_add(&outcome->changed, manifest);
        }
    }
    sset_destroy(&gone);
}

static void
change_destroy(struct dpctl_change *c)
{
    if (c) {
        json_destroy(c->object);
        free(c->reason);
        free(c);
    }
}

void
dpctl_changes_clear(struct shash *changes)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, changes) {
        change_destroy(node->data);
    }
    shash_clear(changes);
}

/* As one that has nothing to do with the last. */
static void
begin(struct dpctl_batch *b)
{
    b->helps = false;
    b->max_n = SIZE_MAX;
    free(b->last);
    b->last = NULL;
    b->full = false;
    b->progress = false;
    sset_clear(&b->together);
    b->tried_together = false;
}

void
dpctl_batch_init(struct dpctl_batch *b)
{
    b->last = NULL;
    shash_init(&b->untried);
    shash_init(&b->failed);
    shash_init(&b->done);
    sset_init(&b->together);
    begin(b);
}

void
dpctl_batch_destroy(struct dpctl_batch *b)
{
    dpctl_changes_clear(&b->untried);
    dpctl_changes_clear(&b->failed);
    dpctl_changes_clear(&b->done);
    shash_destroy(&b->untried);
    shash_destroy(&b->failed);
    shash_destroy(&b->done);
    sset_destroy(&b->together);
    free(b->last);
}

size_t
dpctl_batch_count(const struct dpctl_batch *b)
{
    return shash_count(&b->untried) + shash_count(&b->failed);
}

void
dpctl_batch_forget(struct dpctl_batch *b, const char *name)
{
    change_destroy(shash_find_and_delete(&b->untried, name));
    change_destroy(shash_find_and_delete(&b->failed, name));
    sset_find_and_delete(&b->together, name);
}

static bool
is_policy(const char *name)
{
    const struct dpctl_kind *kind = dpctl_manifest_kind(name);

    return dpctl_kind_policy_type(kind) || kind->id == DPCTL_CP_NP;
}

static int
rank_of(const char *name, bool gone)
{
    int rank = (dpctl_refused_may_need(name, false) ? 0
                : is_policy(name) ? 1 : 2);

    return gone ? -rank : rank;
}

void
dpctl_batch_add(struct dpctl_batch *b, const char *name, struct json *object,
                bool gone)
{
    struct dpctl_change *c = xmalloc(sizeof *c);

    dpctl_batch_forget(b, name);
    if (dpctl_batch_is_empty(b)) {
        begin(b);
    }
    *c = (struct dpctl_change) {
        .object = object, .gone = gone, .rank = rank_of(name, gone),
    };
    shash_add(&b->untried, name, c);
}

static void
move_all(struct shash *to, struct shash *from)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, from) {
        shash_add(to, node->name, node->data);
    }
    shash_clear(from);
}

void
dpctl_batch_move(struct dpctl_batch *to, struct dpctl_batch *from)
{
    if (dpctl_batch_is_empty(to)) {
        begin(to);
    }
    move_all(&to->untried, &from->untried);
    move_all(&to->failed, &from->failed);
    to->max_n = MIN(to->max_n, from->max_n);
    to->full |= from->full;
    to->progress |= from->progress;
    to->tried_together = false;
    begin(from);
}

/* Is a policy to come that nobody has tried? */
static bool
has_new_policy(const struct dpctl_batch *b)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &b->untried) {
        const struct dpctl_change *c = node->data;

        if (!c->gone && !c->reason && is_policy(node->name)) {
            return true;
        }
    }
    return false;
}

void
dpctl_batch_hold(struct dpctl_batch *to, struct dpctl_batch *from)
{
    struct shash_node *node;

    if (!has_new_policy(to)) {
        return;
    }
    SHASH_FOR_EACH_SAFE (node, &from->untried) {
        struct dpctl_change *c = node->data;

        if (c->gone && is_policy(node->name)) {
            shash_add(&to->untried, node->name, c);
            shash_delete(&from->untried, node);
        }
    }
}

static bool
has(const struct shash *changes, bool gone)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, changes) {
        const struct dpctl_change *c = node->data;

        if (c->gone == gone) {
            return true;
        }
    }
    return false;
}

bool
dpctl_batch_will_delete(const struct dpctl_batch *b)
{
    return has(&b->untried, true);
}

static bool
may_try_together(const struct dpctl_batch *b)
{
    return (!b->tried_together && has(&b->failed, false)
            && has(&b->failed, true));
}

bool
dpctl_batch_is_finished(const struct dpctl_batch *b)
{
    return (shash_is_empty(&b->untried)
            && (shash_is_empty(&b->failed)
                || (!b->progress && !may_try_together(b))));
}

/* 'n_full' full runs were before it. */
static void
attempt_init(struct attempt *a, int n_full)
{
    *a = (struct attempt) {
        .outcome = { SSET_INITIALIZER(&a->outcome.changed), n_full },
    };
    dpctl_input_init(&a->input);
    a->input.watched = true;
    a->input.keep_going = true;
}

static void
attempt_uninit(struct attempt *a)
{
    dpctl_input_destroy(&a->input);
    sset_destroy(&a->outcome.changed);
    free(a->error);
}

/* The reason why it was left out, or NULL. */
static const char *
left_out(const struct attempt *a, const char *name)
{
    const struct dpctl_left_out *entry = shash_find_data(&a->input.left_out,
                                                         name);
    return entry ? entry->reason : NULL;
}

/* 'name', one of 'from', is done. */
static void
note_done(struct dpctl_batch *b, const struct attempt *a, const char *name,
          struct shash *from)
{
    struct dpctl_change *c = shash_find_and_delete(from, name);

    b->helps |= (sset_contains(&a->outcome.changed, name)
                 && dpctl_refused_may_need(name, c->gone));
    b->progress = true;
    shash_add(&b->done, name, c);
}

static void
note_failed(struct dpctl_batch *b, const char *name, const char *reason)
{
    struct dpctl_change *c = shash_find_and_delete(&b->untried, name);

    free(c->reason);
    c->reason = xstrdup(reason);
    c->n_turns = 0;
    shash_add(&b->failed, name, c);
    b->tried_together = false;
}

/* What became of those that were tried. */
static void
judge(struct dpctl_batch *b, const struct attempt *a,
      const struct shash_node *const *nodes, size_t n)
{
    size_t n_failed = 0;

    for (size_t i = 0; i < n; i++) {
        char *name = xstrdup(nodes[i]->name);
        const char *reason = left_out(a, name);

        if (!reason && a->error && n == 1) {
            reason = a->error;
        }
        if (reason) {
            note_failed(b, name, reason);
            n_failed++;
        } else if (!a->error) {
            note_done(b, a, name, &b->untried);
        }
        free(name);
    }
    if (a->error && n_failed < n) {
        b->max_n = MAX((n - n_failed) / 2, 1);
    } else if (b->max_n < LARGE) {
        b->max_n *= 2;
    } else {
        b->max_n = SIZE_MAX;
    }
}

static int
compare_changes(const void *a_, const void *b_)
{
    const struct shash_node *const *a = a_;
    const struct shash_node *const *b = b_;
    const struct dpctl_change *ca = (*a)->data;
    const struct dpctl_change *cb = (*b)->data;

    return (ca->rank != cb->rank ? ca->rank - cb->rank
            : strcmp((*a)->name, (*b)->name));
}

/* Has a deletion waited long enough? */
static bool
is_due(const struct dpctl_change *c)
{
    return c->n_turns >= DPCTL_BATCH_PATIENCE;
}

static bool
has_due(const struct dpctl_batch *b)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &b->untried) {
        if (is_due(node->data)) {
            return true;
        }
    }
    return false;
}

static void
count_turn(struct dpctl_batch *b)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &b->untried) {
        struct dpctl_change *c = node->data;

        c->n_turns += c->gone;
    }
}

/* Those that are to be tried next, in order; the caller frees the array. */
static const struct shash_node **
list_next(const struct dpctl_batch *b, bool *gone, size_t *n)
{
    const struct shash_node **nodes
        = xmalloc(shash_count(&b->untried) * sizeof *nodes);
    bool due = has_due(b);
    const struct shash_node *node;

    *gone = due || !has(&b->untried, false);
    *n = 0;
    SHASH_FOR_EACH (node, &b->untried) {
        const struct dpctl_change *c = node->data;

        if (c->gone == *gone && (!due || is_due(c))) {
            nodes[(*n)++] = node;
        }
    }
    qsort(nodes, *n, sizeof *nodes, compare_changes);
    return nodes;
}

/* Where of 'n' to go on if not all are tried: behind the last. */
static size_t
find_next(const struct dpctl_batch *b, bool gone,
          const struct shash_node *const *nodes, size_t n)
{
    int rank = b->last ? rank_of(b->last, gone) : 0;

    for (size_t i = 0; b->last && i < n; i++) {
        const struct dpctl_change *c = nodes[i]->data;

        if (c->rank > rank
            || (c->rank == rank && strcmp(nodes[i]->name, b->last) > 0)) {
            return i;
        }
    }
    return 0;
}

/* Tries some of those that nobody has tried.  '*n_full' is how many full runs
 * the turn took. */
static void
try_some(struct dpctl_batch *b, dpctl_batch_run *run, void *aux, int *n_full)
{
    bool gone;
    size_t n;
    const struct shash_node **all = list_next(b, &gone, &n);
    size_t max_n = MIN(b->full || n > LARGE ? n : SMALL, b->max_n);
    size_t begin = max_n < n ? find_next(b, gone, all, n) : 0;
    const struct shash_node *const *nodes = all + begin;
    struct attempt a;

    n = MIN(max_n, n - begin);
    free(b->last);
    b->last = xstrdup(nodes[n - 1]->name);

    attempt_init(&a, *n_full);
    a.input.for_delete = gone;
    for (size_t i = 0; i < n; i++) {
        const struct dpctl_change *c = nodes[i]->data;

        shash_add(&a.input.manifests, nodes[i]->name, json_clone(c->object));
    }
    a.error = run(aux, gone ? DPCTL_DELETE : DPCTL_APPLY, &a.input,
                  &a.outcome);
    b->full = a.outcome.n_full > *n_full;
    *n_full = a.outcome.n_full;
    judge(b, &a, nodes, n);
    free(all);
    attempt_uninit(&a);
}

/* Tries those of 'together' as one change, and ends that unless it is known
 * which of them can't be part of it. */
static void
try_together(struct dpctl_batch *b, dpctl_batch_run *run, void *aux,
             int *n_full)
{
    const char *name;
    struct attempt a;

    attempt_init(&a, *n_full);
    SSET_FOR_EACH (name, &b->together) {
        const struct dpctl_change *c = shash_find_data(&b->failed, name);

        if (c->gone) {
            sset_add(&a.input.gone, name);
        } else {
            shash_add(&a.input.manifests, name, json_clone(c->object));
        }
    }
    if (sset_is_empty(&a.input.gone) || shash_is_empty(&a.input.manifests)) {
        b->tried_together = true;
    } else {
        a.error = run(aux, DPCTL_APPLY, &a.input, &a.outcome);
        SSET_FOR_EACH_SAFE (name, &b->together) {
            if (left_out(&a, name)) {
                sset_delete(&b->together, SSET_NODE_FROM_NAME(name));
            } else if (!a.error) {
                note_done(b, &a, name, &b->failed);
            }
        }
        b->tried_together = (!a.error || shash_is_empty(&a.input.left_out)
                             || sset_is_empty(&b->together));
    }
    if (b->tried_together) {
        sset_clear(&b->together);
    }
    *n_full = a.outcome.n_full;
    attempt_uninit(&a);
}

void
dpctl_batch_try(struct dpctl_batch *b, dpctl_batch_run *run, void *aux)
{
    int n_full = 0;

    for (int i = 0; i < DPCTL_BATCH_TURN && n_full < DPCTL_BATCH_FULL_RUNS
         && !dpctl_batch_is_finished(b); i++) {
        if (!shash_is_empty(&b->untried)) {
            try_some(b, run, aux, &n_full);
        } else if (b->progress) {
            move_all(&b->untried, &b->failed);
            b->progress = false;
            sset_clear(&b->together);
        } else {
            const struct shash_node *node;

            if (sset_is_empty(&b->together)) {
                SHASH_FOR_EACH (node, &b->failed) {
                    sset_add(&b->together, node->name);
                }
            }
            try_together(b, run, aux, &n_full);
        }
    }
    count_turn(b);
}

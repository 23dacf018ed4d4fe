/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-batch.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
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
    static const char prefix[] = "Manifest ";
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
        const char *manifest = key + strlen(prefix);

        if (!strncmp(key, prefix, strlen(prefix))
            && !holds_nothing(manifest, &gone)) {
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
    b->full = false;
    b->progress = false;
    sset_clear(&b->together);
    b->tried_together = false;
}

void
dpctl_batch_init(struct dpctl_batch *b)
{
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

void
dpctl_batch_add(struct dpctl_batch *b, const char *name, struct json *object,
                bool gone)
{
    struct dpctl_change *c = xmalloc(sizeof *c);

    dpctl_batch_forget(b, name);
    if (dpctl_batch_is_empty(b)) {
        begin(b);
    }
    *c = (struct dpctl_change) { .object = object, .gone = gone };
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

static void
attempt_init(struct attempt *a)
{
    *a = (struct attempt) {
        .outcome.changed = SSET_INITIALIZER(&a->outcome.changed),
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
    if (a->error && !n_failed) {
        b->max_n = n / 2;
    } else if (b->max_n < LARGE) {
        b->max_n *= 2;
    } else {
        b->max_n = SIZE_MAX;
    }
}

/* Tries some of those that nobody has tried; returns how many full runs that
 * took. */
static int
try_some(struct dpctl_batch *b, dpctl_batch_run *run, void *aux)
{
    const struct shash_node **nodes = shash_sort(&b->untried);
    bool gone = !has(&b->untried, false);
    struct attempt a;
    size_t n = 0;

    for (size_t i = 0; i < shash_count(&b->untried); i++) {
        const struct dpctl_change *c = nodes[i]->data;

        if (c->gone == gone) {
            nodes[n++] = nodes[i];
        }
    }
    n = MIN(b->full || n > LARGE ? n : MIN(n, SMALL), b->max_n);

    attempt_init(&a);
    a.input.for_delete = gone;
    for (size_t i = 0; i < n; i++) {
        const struct dpctl_change *c = nodes[i]->data;

        shash_add(&a.input.manifests, nodes[i]->name, json_clone(c->object));
    }
    a.error = run(aux, gone ? DPCTL_DELETE : DPCTL_APPLY, &a.input,
                  &a.outcome);
    b->full = a.outcome.n_full > 0;
    judge(b, &a, nodes, n);
    free(nodes);

    int n_full = a.outcome.n_full;
    attempt_uninit(&a);
    return n_full;
}

/* Tries those of 'together' as one change, and ends that unless it is known
 * which of them can't be part of it. */
static int
try_together(struct dpctl_batch *b, dpctl_batch_run *run, void *aux)
{
    const char *name;
    struct attempt a;

    attempt_init(&a);
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

    int n_full = a.outcome.n_full;
    attempt_uninit(&a);
    return n_full;
}

void
dpctl_batch_try(struct dpctl_batch *b, dpctl_batch_run *run, void *aux)
{
    int n_full = 0;

    for (int i = 0; i < DPCTL_BATCH_TURN && n_full < DPCTL_BATCH_FULL_RUNS
         && !dpctl_batch_is_finished(b); i++) {
        if (!shash_is_empty(&b->untried)) {
            n_full += try_some(b, run, aux);
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
            n_full += try_together(b, run, aux);
        }
    }
}

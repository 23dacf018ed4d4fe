/* SPDX-License-Identifier: Apache-2.0 */

/* follow: the state as feeds of watch events tell it.
 *
 * What the feeds tell is collected as long as there is more to read at once,
 * by object, of which the latest state counts, and carried out: a few objects
 * in one change that is made of what they concern (dpctl-delta.h), many, as at
 * the beginning, in one that looks at all.  Of a change that fails halves are
 * tried, so that what can't be taken is found; it is told once all of the rest
 * is in force, kept, and tried again when something else has changed: what it
 * lacks may have come.
 *
 * Changes come before deletions, so that nothing is less protected in between;
 * where a new object needs what an old one holds, it is tried again after, and
 * where each needs the other's change, both are made at once.
 *
 * A daemon that goes takes its state along, and only lists can bring it back:
 * that ends the program. */

#include <config.h>
#include "dpctl-cli.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-event.h"
#include "dpctl-feed.h"
#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-left-out.h"
#include "dpctl-listing.h"
#include "dpctl-node.h"
#include "dpctl-refused.h"
#include "dpctl-rpc.h"
#include "openvswitch/poll-loop.h"
#include "sset.h"
#include "svec.h"
#include "timeval.h"
#include "util.h"

enum {
    GATHER_MS = 20,             /* For more to come, after what came last, */
    GATHER_MAX_MS = 500,        /* and in all. */
    READS = 256,                /* From one feed before another's turn. */
    GATHER_MAX = 10000,         /* Objects at once, but for those of a list,
                                 * which are in memory anyway. */
    SMALL = 100,                /* So many are a small change. */
    LARGE = 1000,               /* More are one large one. */
    RETRY_MIN_MS = 1000, RETRY_MAX_MS = 60000,
};

struct source {
    struct dpctl_feed feed;
    struct dpctl_listing listing;
    size_t n_errors;
};

/* One object, as it is to be. */
struct follow_change {
    struct json *object;
    bool gone;
};

struct follow {
    struct dpctl_options options;
    const struct dpctl_options *o;  /* These. */
    struct dpctl_rpc *rpc;
    struct source *sources;
    size_t n_sources;

    struct shash pending;       /* Manifest's name to struct follow_change. */
    long long int pending_since;
    struct dpctl_refused refused;
    size_t n_bad;               /* Events that were told as bad. */

    struct sset known;          /* Names of all Manifests there are. */
    bool knows;                 /* Is that so? */
    long long int generation;   /* Of the daemon's state, at the least. */
    long long int retry_at;     /* LLONG_MAX: never. */
    int retry_ms;
    struct svec retrying;       /* Names of what is to be tried this time, but
                                 * wasn't yet. */
    bool retry_progress;        /* Was something taken this time? */
    bool told_in_step;
};

static void
change_destroy(struct follow_change *c)
{
    if (c) {
        json_destroy(c->object);
        free(c);
    }
}

static void
changes_destroy(struct shash *changes)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, changes) {
        change_destroy(node->data);
    }
    shash_destroy(changes);
}

/* Takes 'object'. */
static void
add_change(struct shash *changes, const char *name, struct json *object,
           bool gone)
{
    struct follow_change *c = xmalloc(sizeof *c);

    *c = (struct follow_change) { .object = object, .gone = gone };
    change_destroy(shash_replace(changes, name, c));
}

/* The same; what was refused of the object is of no account any more. */
static void
add_pending(struct follow *f, const char *name, struct json *object,
            bool gone)
{
    if (shash_is_empty(&f->pending)) {
        f->pending_since = time_msec();
    }
    add_change(&f->pending, name, object, gone);
    dpctl_refused_forget(&f->refused, name);
}

/* The daemon. */

/* The connection lasts as long as the daemon, the generation as long as its
 * state. */
static void
check_daemon(struct follow *f)
{
    struct json *param = json_object_create();

    json_object_put(param, "names", json_array_create_empty());
    struct json *reply = dpctl_call(f->rpc, f->o, "get", param);
    long long int generation = dpctl_json_int(reply, "generation", 0);

    json_destroy(reply);
    if (generation < f->generation) {
        dpctl_fail(DPCTL_EXIT_UNREACHABLE, "the daemon has lost its state: "
                   "begin anew, with lists");
    }
    f->generation = generation;
}

static void
learn_known(struct follow *f)
{
    if (!f->knows) {
        struct json *param = json_object_create();

        json_object_put_string(param, "kind", "Manifest");
        struct json *reply = dpctl_call(f->rpc, f->o, "get", param);
        const struct json_array *records = dpctl_json_array(reply, "records");

        for (size_t i = 0; i < records->n; i++) {
            const char *name = dpctl_json_str(records->elems[i], "name");
            if (name) {
                sset_add(&f->known, name);
            }
        }
        json_destroy(reply);
        f->knows = true;
    }
}

static void
note_done(struct follow *f, const struct shash_node *node)
{
    const struct follow_change *c = node->data;

    if (f->knows && c->gone) {
        sset_find_and_delete(&f->known, node->name);
    } else if (f->knows) {
        sset_add(&f->known, node->name);
    }
}

/* Tries changes 'lo' to 'hi' as one.  Those that fail stay in 'failed'. */
static void
try_changes(struct follow *f, const struct shash_node **nodes, size_t lo,
            size_t hi, struct shash *failed)
{
    if (lo >= hi) {
        return;
    }

    const struct follow_change *first = nodes[lo]->data;
    struct dpctl_input input;

    dpctl_input_init(&input);
    input.watched = true;
    input.for_delete = first->gone;
    for (size_t i = lo; i < hi; i++) {
        const struct follow_change *c = nodes[i]->data;
        shash_add(&input.manifests, nodes[i]->name, json_clone(c->object));
    }
    char *error = dpctl_run_change(f->rpc, f->o, first->gone ? DPCTL_DELETE
                                   : DPCTL_APPLY, &input, true);
    dpctl_input_destroy(&input);
    if (!error) {
        for (size_t i = lo; i < hi; i++) {
            note_done(f, nodes[i]);
        }
    } else if (hi - lo == 1) {
        shash_add(failed, nodes[lo]->name, error);
        error = NULL;
    } else {
        size_t mid = lo + (hi - lo) / 2;

        try_changes(f, nodes, lo, mid, failed);
        try_changes(f, nodes, mid, hi, failed);
    }
    free(error);
}

/* Tries all of 'changes' that set, or that delete. */
static void
try_all(struct follow *f, const struct shash *changes, bool gone,
        struct shash *failed)
{
    const struct shash_node **nodes = shash_sort(changes);
    size_t n = 0;

    for (size_t i = 0; i < shash_count(changes); i++) {
        const struct follow_change *c = nodes[i]->data;
        if (c->gone == gone) {
            nodes[n++] = nodes[i];
        }
    }
    size_t step = n > LARGE ? n : SMALL;
    for (size_t i = 0; i < n; i += step) {
        try_changes(f, nodes, i, MIN(i + step, n), failed);
    }
    free(nodes);
}

/* Tries what has failed as one change: what comes may need that something goes
 * that can't go before. */
static void
try_together(struct follow *f, const struct shash *changes,
             struct shash *failed)
{
    struct shash_node *node;
    struct dpctl_input input;

    dpctl_input_init(&input);
    input.watched = true;
    input.keep_going = true;
    SHASH_FOR_EACH (node, failed) {
        const struct follow_change *c = shash_find_data(changes, node->name);

        if (c->gone) {
            sset_add(&input.gone, node->name);
        } else {
            shash_add(&input.manifests, node->name, json_clone(c->object));
        }
    }
    if (!sset_is_empty(&input.gone) && !shash_is_empty(&input.manifests)) {
        char *error = dpctl_run_change(f->rpc, f->o, DPCTL_APPLY, &input,
                                       true);
        if (!error) {
            SHASH_FOR_EACH_SAFE (node, failed) {
                if (!shash_find(&input.left_out, node->name)) {
                    note_done(f, shash_find(changes, node->name));
                    free(node->data);
                    shash_delete(failed, node);
                }
            }
        }
        free(error);
    }
    dpctl_input_destroy(&input);
}

/* The change is refused for 'reason'.  Returns true unless that is known. */
static bool
add_refused(struct follow *f, const char *name, const struct follow_change *c,
            const char *reason)
{
    switch (dpctl_refused_add(&f->refused, name, c->object, c->gone,
                              reason)) {
    case DPCTL_REFUSED_KNOWN:
        return false;
    case DPCTL_REFUSED_NEW:
        f->retry_ms = RETRY_MIN_MS;
        break;
    case DPCTL_REFUSED_TOO_MUCH:
        dpctl_warn("%s: too much was refused to try this again: list it "
                   "anew", name);
        break;
    }
    return true;
}

/* Tells of the changes that can't be taken, and keeps them. */
static void
refuse(struct follow *f, const struct shash *changes, struct shash *failed)
{
    struct shash left_out = SHASH_INITIALIZER(&left_out);
    struct shash_node *node;

    SHASH_FOR_EACH (node, failed) {
        const char *reason = node->data;

        if (add_refused(f, node->name, shash_find_data(changes, node->name),
                        reason)) {
            struct dpctl_left_out *entry
                = dpctl_left_out_add(&left_out, node->name, xstrdup(reason));
            entry->kind = dpctl_manifest_kind(node->name);
            entry->named = true;
        }
    }
    dpctl_tell_left_out(f->rpc, f->o, &left_out);
    dpctl_left_out_destroy(&left_out);
}

/* Carries 'changes' out as far as they can be. */
static void
carry_out(struct follow *f, struct shash *changes)
{
    struct shash failed = SHASH_INITIALIZER(&failed);
    size_t n = shash_count(changes);

    try_all(f, changes, false, &failed);
    try_all(f, changes, true, &failed);
    while (!shash_is_empty(&failed) && shash_count(&failed) < n) {
        /* What they lacked may have come with the others. */
        struct shash again = SHASH_INITIALIZER(&again);
        const struct shash_node *node;

        SHASH_FOR_EACH (node, &failed) {
            shash_add(&again, node->name,
                      shash_find_data(changes, node->name));
        }
        n = shash_count(&failed);
        shash_clear_free_data(&failed);
        try_all(f, &again, false, &failed);
        try_all(f, &again, true, &failed);
        shash_destroy(&again);
    }
    try_together(f, changes, &failed);
    refuse(f, changes, &failed);
    shash_destroy_free_data(&failed);
}

static bool
is_in_step(const struct follow *f)
{
    for (size_t i = 0; i < f->n_sources; i++) {
        bool any = false;

        for (size_t j = 0; j < DPCTL_N_KINDS; j++) {
            any |= f->sources[i].listing.of[j].told;
        }
        if (!any) {
            return false;
        }
    }
    return true;
}

/* May one of these be what others lack, which were refused? */
static bool
may_help(const struct shash *changes)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, changes) {
        const struct follow_change *c = node->data;

        if (dpctl_refused_may_need(node->name, c->gone)) {
            return true;
        }
    }
    return false;
}

/* The record of that kind of which there is one at most; NULL if none. */
static struct json *
get_node_config(const struct follow *f)
{
    struct json *param = json_object_create();

    json_object_put_string(param, "kind", "NodeConfig");
    struct json *reply = dpctl_call(f->rpc, f->o, "get", param);
    const struct json_array *records = dpctl_json_array(reply, "records");
    struct json *config = records->n ? json_clone(records->elems[0]) : NULL;

    json_destroy(reply);
    return config;
}

/* All lists have been told: is the Node that was named among them? */
static void
check_node(struct follow *f)
{
    struct shash manifests = SHASH_INITIALIZER(&manifests);
    const char *name;

    if (!f->o->env.node) {
        return;
    }
    SSET_FOR_EACH (name, &f->known) {
        shash_add(&manifests, name, NULL);
    }

    struct json *config = get_node_config(f);
    char *what = xasprintf("--node %s", f->o->env.node);
    struct dpctl_node_question question = {
        .given = f->o->env.node, .what = what,
        .in_force = dpctl_json_str(config, "name"),
        .manifests = { &manifests }, .node_config = config,
    };
    char *error = dpctl_node_check(&question);
    if (error) {
        dpctl_warn("%s", error);
        free(error);
    }
    free(what);
    json_destroy(config);
    shash_destroy(&manifests);
}

static void
flush(struct follow *f)
{
    struct shash changes;

    if (!shash_is_empty(&f->pending)) {
        shash_init(&changes);
        shash_swap(&changes, &f->pending);
        check_daemon(f);
        carry_out(f, &changes);
        check_daemon(f);
        if (may_help(&changes)) {
            f->retry_ms = RETRY_MIN_MS;
        }
        f->retry_at = MIN(f->retry_at, time_msec() + f->retry_ms);
        changes_destroy(&changes);
    }
    if (!f->told_in_step && is_in_step(f)) {
        f->told_in_step = true;
        check_node(f);
        printf("in step with %"PRIuSIZE" feeds\n", f->n_sources);
    }
    dpctl_flush();
}

/* What was refused. */

static void
add_refusal(struct shash *changes, const char *name,
            const struct dpctl_refusal *refusal)
{
    if (refusal) {
        add_change(changes, name, json_clone(refusal->object), refusal->gone);
    }
}

/* Of 'changes', which were refused before, only those that 'failed' are
 * now. */
static void
note_retried(struct follow *f, const struct shash *changes,
             struct shash *failed)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, changes) {
        if (!shash_find(failed, node->name)) {
            dpctl_refused_forget(&f->refused, node->name);
            f->retry_progress = true;
        }
    }
    refuse(f, changes, failed);
}

/* Tries a few of those whose turn it is. */
static void
retry_some(struct follow *f)
{
    struct shash changes = SHASH_INITIALIZER(&changes);
    struct shash failed = SHASH_INITIALIZER(&failed);

    while (f->retrying.n && shash_count(&changes) < SMALL) {
        const char *name = svec_back(&f->retrying);

        add_refusal(&changes, name,
                    shash_find_data(&f->refused.refusals, name));
        svec_pop_back(&f->retrying);
    }
    try_all(f, &changes, false, &failed);
    try_all(f, &changes, true, &failed);
    note_retried(f, &changes, &failed);
    shash_destroy_free_data(&failed);
    changes_destroy(&changes);
}

/* Tries all at once, if some are to come and others to go. */
static void
retry_together(struct follow *f)
{
    struct shash changes = SHASH_INITIALIZER(&changes);
    struct shash failed = SHASH_INITIALIZER(&failed);
    const struct shash_node *node;
    size_t n_gone = 0;

    SHASH_FOR_EACH (node, &f->refused.refusals) {
        const struct dpctl_refusal *refusal = node->data;

        n_gone += refusal->gone;
    }
    if (!n_gone || n_gone == shash_count(&f->refused.refusals)) {
        return;
    }
    SHASH_FOR_EACH (node, &f->refused.refusals) {
        const struct dpctl_refusal *refusal = node->data;

        add_refusal(&changes, node->name, refusal);
        shash_add(&failed, node->name, xstrdup(refusal->reason));
    }
    try_together(f, &changes, &failed);
    note_retried(f, &changes, &failed);
    shash_destroy_free_data(&failed);
    changes_destroy(&changes);
}

/* Tries what was refused again, now and then, a few at a time: feeds have
 * their turn in between. */
static void
retry(struct follow *f)
{
    const struct shash_node *node;

    if (!f->retrying.n) {
        if (dpctl_refused_is_empty(&f->refused)
            || time_msec() < f->retry_at) {
            return;
        }
        SHASH_FOR_EACH (node, &f->refused.refusals) {
            svec_add(&f->retrying, node->name);
        }
        svec_sort(&f->retrying);
        f->retry_progress = false;
    }
    check_daemon(f);
    retry_some(f);
    if (!f->retrying.n) {
        retry_together(f);
        f->retry_ms = (f->retry_progress ? RETRY_MIN_MS
                       : MIN(f->retry_ms * 2, RETRY_MAX_MS));
        f->retry_at = time_msec() + f->retry_ms;
    }
    check_daemon(f);
    dpctl_flush();
}

/* What feeds tell. */

/* Is the object one of those that lists are about? */
static bool
is_in_scope(const struct follow *f, const char *manifest,
            const struct dpctl_kind *kind)
{
    const char *space = strchr(manifest, '/') + 1;

    return (dpctl_manifest_kind(manifest) == kind
            && (!f->o->namespace_ || !kind->namespaced
                || (!strncmp(space, f->o->namespace_,
                             strlen(f->o->namespace_))
                    && space[strlen(f->o->namespace_)] == '/')));
}

/* What isn't in the list has gone. */
static void
end_list(struct follow *f, struct source *s, const struct dpctl_kind *kind)
{
    if (!dpctl_listing_end(&s->listing, kind->id)) {
        return;
    }

    const struct sset *names = &s->listing.of[kind->id].names;
    const struct shash_node *node;
    struct sset there;
    const char *name;

    learn_known(f);
    sset_clone(&there, &f->known);
    SHASH_FOR_EACH (node, &f->pending) {
        sset_add(&there, node->name);
    }
    SHASH_FOR_EACH (node, &f->refused.refusals) {
        sset_add(&there, node->name);
    }
    SSET_FOR_EACH (name, &there) {
        if (is_in_scope(f, name, kind) && !sset_contains(names, name)) {
            add_pending(f, name, json_object_create(), true);
        }
    }
    sset_destroy(&there);
    sset_clear(&s->listing.of[kind->id].names);
}

/* Adds the objects of a value to those pending; what can't be read is told.
 * Every name is noted as listed. */
static void
add_objects(struct follow *f, struct source *s,
            const struct dpctl_event *event)
{
    struct dpctl_input input;
    struct dpctl_doc doc = {
        .file = s->feed.name, .index = s->feed.index, .line = 1,
        .json = CONST_CAST(struct json *, event->object),
    };
    struct dpctl_docs docs = { .docs = &doc, .n = 1 };
    bool gone = event->type == DPCTL_EVENT_GONE;
    struct shash_node *node;

    dpctl_input_init(&input);
    input.for_delete = gone;
    input.keep_going = true;
    char *error = dpctl_input_add(&input, &docs,
                                  f->o->namespace_ ? f->o->namespace_
                                  : "default", f->o->ignore_unknown);
    ovs_assert(!error);

    SHASH_FOR_EACH (node, &input.manifests) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);

        add_pending(f, node->name, json_clone(node->data), gone);
        dpctl_listing_see(&s->listing, kind->id, node->name);
    }
    SHASH_FOR_EACH (node, &input.left_out) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);

        if (kind) {
            dpctl_listing_see(&s->listing, kind->id, node->name);
            /* What was refused before is an older version. */
            dpctl_refused_forget(&f->refused, node->name);
        }
    }
    SHASH_FOR_EACH (node, &input.records) {
        dpctl_warn("%s, document %"PRIuSIZE": %s: is a record, no object of "
                   "Kubernetes", s->feed.name, s->feed.index, node->name);
    }
    size_t n_bad = (shash_count(&input.left_out)
                    + shash_count(&input.records));
    dpctl_tell_left_out(f->rpc, f->o, &input.left_out);
    s->n_errors += n_bad;
    f->n_bad += n_bad;
    dpctl_input_destroy(&input);
}

static void
handle_value(struct follow *f, struct source *s, const struct json *json)
{
    struct dpctl_event event;

    dpctl_event_open(json, &event);
    if (event.type != DPCTL_EVENT_SET || !event.initial) {
        if (event.type != DPCTL_EVENT_BOOKMARK || !event.initial) {
            dpctl_listing_begun(&s->listing);
        }
    } else if (event.kind) {
        dpctl_listing_initial(&s->listing, event.kind->id);
    }

    switch (event.type) {
    case DPCTL_EVENT_SET:
    case DPCTL_EVENT_GONE:
        if (!event.kind
            || !dpctl_listing_is_older(&s->listing, event.kind->id,
                                       event.version)) {
            add_objects(f, s, &event);
        }
        break;
    case DPCTL_EVENT_LIST:
        dpctl_listing_page(&s->listing, event.kind->id, event.version);
        add_objects(f, s, &event);
        if (!event.more) {
            end_list(f, s, event.kind);
        }
        break;
    case DPCTL_EVENT_BOOKMARK:
        if (event.initial && event.kind) {
            /* There may have been no object. */
            dpctl_listing_initial(&s->listing, event.kind->id);
            end_list(f, s, event.kind);
        }
        break;
    case DPCTL_EVENT_ERROR:
        dpctl_warn("%s, document %"PRIuSIZE": %s; a list is needed to go on",
                   s->feed.name, s->feed.index,
                   event.message ? event.message : "an error");
        s->n_errors++;
        break;
    }
}

/* Takes 'error'. */
static void
note_error(struct source *s, char *error)
{
    if (error) {
        dpctl_warn("%s", error);
        s->n_errors++;
        free(error);
    }
}

/* Handles all that was read. */
static void
handle_values(struct follow *f, struct source *s)
{
    bool more;

    do {
        char *error;
        struct json *json = dpctl_feed_next(&s->feed, &error);

        more = json || error;
        if (json) {
            handle_value(f, s, json);
            json_destroy(json);
        }
        note_error(s, error);
    } while (more);
}

/* Handles what can be read at once, up to a limit.  Returns true if there was
 * something. */
static bool
read_source(struct follow *f, struct source *s)
{
    struct pollfd pollfd = { .fd = s->feed.fd, .events = POLLIN };
    bool any = false;

    for (int i = 0; i < READS && !s->feed.ended
         && shash_count(&f->pending) < GATHER_MAX
         && poll(&pollfd, 1, 0) > 0; i++) {
        note_error(s, dpctl_feed_read(&s->feed));
        handle_values(f, s);
        any = true;
    }
    return any;
}

/* Waits for feeds, the daemon, or until 'until'. */
static void
wait_for_more(struct follow *f, long long int until)
{
    for (size_t i = 0; i < f->n_sources; i++) {
        if (!f->sources[i].feed.ended) {
            poll_fd_wait(f->sources[i].feed.fd, POLLIN);
        }
    }
    dpctl_rpc_wait(f->rpc);
    if (until != LLONG_MAX) {
        poll_timer_wait_until(until);
    }
    poll_block();
}

/* When there is something to do even if no feed tells anything; LLONG_MAX:
 * never. */
static long long int
next_retry(const struct follow *f)
{
    return (f->retrying.n ? time_msec()
            : dpctl_refused_is_empty(&f->refused) ? LLONG_MAX
            : f->retry_at);
}

static bool
has_ended(const struct follow *f)
{
    for (size_t i = 0; i < f->n_sources; i++) {
        if (!f->sources[i].feed.ended) {
            return false;
        }
    }
    return true;
}

static void
follow_all(struct follow *f)
{
    while (!has_ended(f)) {
        bool any = false;

        for (size_t i = 0; i < f->n_sources; i++) {
            any |= read_source(f, &f->sources[i]);
        }
        if (!any || shash_count(&f->pending) >= GATHER_MAX
            || (!shash_is_empty(&f->pending)
                && time_msec() - f->pending_since >= GATHER_MAX_MS)) {
            flush(f);
            retry(f);
        }

        char *lost = dpctl_rpc_check(f->rpc);
        if (lost) {
            dpctl_fail(DPCTL_EXIT_UNREACHABLE, "%s; what it knew has gone: "
                       "begin anew, with lists", lost);
        }
        wait_for_more(f, any ? time_msec() + GATHER_MS : next_retry(f));
    }
    flush(f);
}

/* How the feeds ended. */
static void
judge_end(struct follow *f)
{
    size_t n_refused = (shash_count(&f->refused.refusals)
                        + f->refused.n_forgotten);
    size_t n_errors = 0;

    for (size_t i = 0; i < f->n_sources; i++) {
        n_errors += f->sources[i].n_errors;
    }
    if (n_refused || n_errors) {
        dpctl_flush();
        dpctl_fail(DPCTL_EXIT_ERROR, "the feeds have ended: %"PRIuSIZE
                   " objects refused, %"PRIuSIZE" other errors",
                   n_refused + f->n_bad, n_errors - f->n_bad);
    }
}

void
dpctl_cmd_follow(const struct dpctl_command *c)
{
    struct follow f = {
        .options = *c->options, .o = &f.options,
        .n_sources = c->options->files.n,
        .pending = SHASH_INITIALIZER(&f.pending),
        .known = SSET_INITIALIZER(&f.known),
        .retry_at = LLONG_MAX, .retry_ms = RETRY_MIN_MS,
        .retrying = SVEC_EMPTY_INITIALIZER,
    };

    if (!f.n_sources) {
        dpctl_fail(DPCTL_EXIT_USAGE, "which feeds?  Name them with -f");
    }
    dpctl_refused_init(&f.refused);
    f.options.only_changes = true;
    f.rpc = dpctl_connect(f.o);
    f.sources = xcalloc(f.n_sources, sizeof *f.sources);
    for (size_t i = 0; i < f.n_sources; i++) {
        char *error = dpctl_feed_open(&f.sources[i].feed,
                                      f.o->files.names[i]);
        if (error) {
            dpctl_fail(DPCTL_EXIT_ERROR, "%s", error);
        }
        dpctl_listing_init(&f.sources[i].listing);
    }
    check_daemon(&f);
    follow_all(&f);
    judge_end(&f);

    for (size_t i = 0; i < f.n_sources; i++) {
        dpctl_feed_close(&f.sources[i].feed);
        dpctl_listing_destroy(&f.sources[i].listing);
    }
    free(f.sources);
    changes_destroy(&f.pending);
    dpctl_refused_destroy(&f.refused);
    sset_destroy(&f.known);
    svec_destroy(&f.retrying);
    dpctl_rpc_close(f.rpc);
}

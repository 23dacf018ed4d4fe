/* SPDX-License-Identifier: Apache-2.0 */

/* follow: the state as feeds of watch events tell it.
 *
 * What the feeds tell is collected as long as there is more to read at once,
 * by object, of which the latest state counts, and carried out as a batch
 * (dpctl-batch.h).  What is left of it after a turn waits for the next ones,
 * so that feeds are read in between, and what they tell meanwhile isn't behind
 * it, but for deletions of policies: what waits may be in place of these.
 * What can't be taken is told once all of the rest of its batch is in force,
 * kept, and tried again when something else has changed: what it lacks may
 * have come.
 *
 * The object of this Node is in force as long as no other one is, though it
 * goes: it can be deleted while the machine and its Pods run on.
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

#include "dpctl-batch.h"
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
#include "timeval.h"
#include "util.h"

enum {
    GATHER_MS = 20,             /* For more to come, after what came last, */
    GATHER_MAX_MS = 500,        /* and in all. */
    READS = 256,                /* From one feed before another's turn. */
    GATHER_MAX = 10000,         /* Objects that wait, but for those of a list,
                                 * which are in memory anyway. */
    RETRY_MIN_MS = 1000, RETRY_MAX_MS = 60000,
    REST_FACTOR = 4,            /* Of the time that what was refused takes,
                                 * before all of it is tried again. */
};

struct source {
    struct dpctl_feed feed;
    struct dpctl_listing listing;
    size_t n_errors;
};

struct follow {
    struct dpctl_options options;
    const struct dpctl_options *o;  /* These. */
    struct dpctl_rpc *rpc;
    struct source *sources;
    size_t n_sources;

    struct dpctl_batch pending; /* What feeds have told. */
    long long int pending_since;
    struct dpctl_batch waiting; /* What is left of what they told before. */
    struct dpctl_refused refused;
    char *gone_node;            /* This Node's Manifest, if it has gone. */
    size_t n_bad;               /* Events that were told as bad. */

    struct sset known;          /* Names of all Manifests there are. */
    bool knows;                 /* Is that so? */
    long long int generation;   /* Of the daemon's state, at the least. */
    long long int retry_at;     /* LLONG_MAX: never. */
    int retry_ms;
    long long int rest_until;   /* Not before, in any case. */
    struct dpctl_batch retried; /* What was refused, while it is tried. */
    bool retry_progress;        /* Was something taken this time? */
    long long int retry_took_ms;    /* This time. */
    bool told_in_step;
};

/* There is news of the object. */
static void
forget_refused(struct follow *f, const char *name)
{
    dpctl_refused_forget(&f->refused, name);
    dpctl_batch_forget(&f->retried, name);
}

/* Takes 'object'.  What was told of it before is of no account any more. */
static void
add_pending(struct follow *f, const char *name, struct json *object,
            bool gone)
{
    if (dpctl_batch_is_empty(&f->pending)) {
        f->pending_since = time_msec();
    }
    dpctl_batch_add(&f->pending, name, object, gone);
    dpctl_batch_forget(&f->waiting, name);
    forget_refused(f, name);
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

/* Carries a change out, for dpctl_batch_try(). */
static char *
run_change(void *f_, enum dpctl_verb verb, struct dpctl_input *input,
           struct dpctl_outcome *outcome)
{
    struct follow *f = f_;

    return dpctl_run_change(f->rpc, f->o, verb, input, true, outcome);
}

/* The change is refused.  Returns true unless that is known. */
static bool
add_refused(struct follow *f, const char *name, const struct dpctl_change *c)
{
    switch (dpctl_refused_add(&f->refused, name, c->object, c->gone,
                              c->reason)) {
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
refuse(struct follow *f, const struct shash *failed)
{
    struct shash left_out = SHASH_INITIALIZER(&left_out);
    const struct shash_node *node;

    SHASH_FOR_EACH (node, failed) {
        const struct dpctl_change *c = node->data;

        if (add_refused(f, node->name, c)) {
            struct dpctl_left_out *entry
                = dpctl_left_out_add(&left_out, node->name,
                                     xstrdup(c->reason));
            entry->kind = dpctl_manifest_kind(node->name);
            entry->named = true;
        }
    }
    dpctl_tell_left_out(f->rpc, f->o, &left_out);
    dpctl_left_out_destroy(&left_out);
}

static void
note_done(struct follow *f, const char *name, const struct dpctl_change *c)
{
    dpctl_refused_forget(&f->refused, name);
    if (f->knows && c->gone) {
        sset_find_and_delete(&f->known, name);
    } else if (f->knows) {
        sset_add(&f->known, name);
    }
}

/* Gives the batch a turn.  Returns true if something was done. */
static bool
try_batch(struct follow *f, struct dpctl_batch *b)
{
    const struct shash_node *node;

    dpctl_batch_try(b, run_change, f);
    bool any = !shash_is_empty(&b->done);
    SHASH_FOR_EACH (node, &b->done) {
        note_done(f, node->name, node->data);
    }
    dpctl_changes_clear(&b->done);
    if (b->helps) {
        b->helps = false;
        f->retry_ms = RETRY_MIN_MS;
        f->retry_at = MIN(f->retry_at, time_msec() + f->retry_ms);
    }
    return any;
}

/* Refuses what has failed, if there is nothing left to try. */
static void
end_batch(struct follow *f, struct dpctl_batch *b)
{
    if (dpctl_batch_is_finished(b)) {
        refuse(f, &b->failed);
        dpctl_changes_clear(&b->failed);
    }
}

static bool
carry_out(struct follow *f, struct dpctl_batch *b)
{
    bool any = try_batch(f, b);

    end_batch(f, b);
    return any;
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
tell_in_step(struct follow *f)
{
    if (!f->told_in_step && dpctl_batch_is_empty(&f->pending)
        && dpctl_batch_is_empty(&f->waiting) && is_in_step(f)) {
        f->told_in_step = true;
        check_node(f);
        printf("in step with %"PRIuSIZE" feeds\n", f->n_sources);
    }
}

/* Carries out what is pending, but for deletions that are to wait with others.
 * Then these may be what is lacking for what fails. */
static void
flush(struct follow *f)
{
    dpctl_batch_hold(&f->waiting, &f->pending);
    try_batch(f, &f->pending);
    if (!dpctl_batch_will_delete(&f->waiting)) {
        end_batch(f, &f->pending);
    }
    if (!dpctl_batch_is_empty(&f->pending)) {
        dpctl_batch_move(&f->waiting, &f->pending);
    }
    f->retry_at = MIN(f->retry_at, time_msec() + f->retry_ms);
}

/* What was refused. */

static bool
is_time_to_retry(const struct follow *f)
{
    return (!dpctl_batch_is_empty(&f->retried)
            || (!dpctl_refused_is_empty(&f->refused)
                && time_msec() >= MAX(f->retry_at, f->rest_until)));
}

static void
begin_retry(struct follow *f)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &f->refused.refusals) {
        const struct dpctl_refusal *refusal = node->data;

        dpctl_batch_add(&f->retried, node->name, json_clone(refusal->object),
                        refusal->gone);
    }
    f->retry_progress = false;
    f->retry_took_ms = 0;
}

/* Tries what was refused again, now and then. */
static void
retry(struct follow *f)
{
    long long int begun = time_msec();

    if (dpctl_batch_is_empty(&f->retried)) {
        begin_retry(f);
    }
    f->retry_progress |= carry_out(f, &f->retried);
    f->retry_took_ms += time_msec() - begun;
    if (dpctl_batch_is_empty(&f->retried)) {
        f->retry_ms = (f->retry_progress ? RETRY_MIN_MS
                       : MIN(f->retry_ms * 2, RETRY_MAX_MS));
        f->retry_at = time_msec() + f->retry_ms;
        f->rest_until = time_msec() + REST_FACTOR * f->retry_took_ms;
    }
}

/* A turn of each that has something to do. */
static void
work(struct follow *f)
{
    bool has_pending = !dpctl_batch_is_empty(&f->pending);
    bool has_waiting = !dpctl_batch_is_empty(&f->waiting);

    if (has_pending || has_waiting || is_time_to_retry(f)) {
        check_daemon(f);
        if (has_pending) {
            flush(f);
        }
        if (has_waiting) {
            carry_out(f, &f->waiting);
        } else if (dpctl_batch_is_empty(&f->waiting) && is_time_to_retry(f)) {
            retry(f);
        }
        check_daemon(f);
    }
    tell_in_step(f);
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

static void
add_names(struct sset *names, const struct dpctl_batch *b)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &b->untried) {
        sset_add(names, node->name);
    }
    SHASH_FOR_EACH (node, &b->failed) {
        sset_add(names, node->name);
    }
}

/* Is it the object that the NodeConfig in force is about? */
static bool
is_own_node(const struct follow *f, const char *manifest)
{
    const char *name = strchr(manifest, '/') + 1;

    if (dpctl_manifest_kind(manifest) != &dpctl_kinds[DPCTL_NODE]
        || (f->o->env.node && strcmp(f->o->env.node, name))) {
        return false;
    }
    struct json *config = get_node_config(f);
    bool own = nullable_string_is_equal(dpctl_json_str(config, "name"), name);

    json_destroy(config);
    return own;
}

/* The object of that Manifest has gone; takes 'object'. */
static void
note_gone(struct follow *f, const char *manifest, struct json *object)
{
    if (!is_own_node(f, manifest)) {
        add_pending(f, manifest, object, true);
        return;
    }
    forget_refused(f, manifest);
    if (!f->gone_node) {
        dpctl_warn("Node %s has gone, but is this one: it stays in force "
                   "until it comes again, or is deleted here",
                   strchr(manifest, '/') + 1);
        f->gone_node = xstrdup(manifest);
    }
    json_destroy(object);
}

static void
note_set(struct follow *f, const char *manifest, struct json *object)
{
    if (nullable_string_is_equal(f->gone_node, manifest)) {
        free(f->gone_node);
        f->gone_node = NULL;
    }
    add_pending(f, manifest, object, false);
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
    add_names(&there, &f->pending);
    add_names(&there, &f->waiting);
    SHASH_FOR_EACH (node, &f->refused.refusals) {
        sset_add(&there, node->name);
    }
    SSET_FOR_EACH (name, &there) {
        if (is_in_scope(f, name, kind) && !sset_contains(names, name)) {
            note_gone(f, name, json_object_create());
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

        if (gone) {
            note_gone(f, node->name, json_clone(node->data));
        } else {
            note_set(f, node->name, json_clone(node->data));
        }
        dpctl_listing_see(&s->listing, kind->id, node->name);
    }
    SHASH_FOR_EACH (node, &input.left_out) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);

        if (kind) {
            dpctl_listing_see(&s->listing, kind->id, node->name);
            /* What was refused before is an older version. */
            forget_refused(f, node->name);
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

static bool
has_room(const struct follow *f)
{
    return (dpctl_batch_count(&f->pending) + dpctl_batch_count(&f->waiting)
            < GATHER_MAX);
}

/* Handles what can be read at once, up to a limit.  Returns true if there was
 * something. */
static bool
read_source(struct follow *f, struct source *s)
{
    struct pollfd pollfd = { .fd = s->feed.fd, .events = POLLIN };
    bool any = false;

    for (int i = 0; i < READS && !s->feed.ended
         && has_room(f)
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
next_work(const struct follow *f)
{
    return (!dpctl_batch_is_empty(&f->waiting)
            || !dpctl_batch_is_empty(&f->retried) ? time_msec()
            : dpctl_refused_is_empty(&f->refused) ? LLONG_MAX
            : MAX(f->retry_at, f->rest_until));
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
        if (!any || !has_room(f)
            || (!dpctl_batch_is_empty(&f->pending)
                && time_msec() - f->pending_since >= GATHER_MAX_MS)) {
            work(f);
        }

        char *lost = dpctl_rpc_check(f->rpc);
        if (lost) {
            dpctl_fail(DPCTL_EXIT_UNREACHABLE, "%s; what it knew has gone: "
                       "begin anew, with lists", lost);
        }
        wait_for_more(f, any ? time_msec() + GATHER_MS : next_work(f));
    }
    do {
        work(f);
    } while (!dpctl_batch_is_empty(&f->waiting));
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
        .known = SSET_INITIALIZER(&f.known),
        .retry_at = LLONG_MAX, .retry_ms = RETRY_MIN_MS,
    };

    if (!f.n_sources) {
        dpctl_fail(DPCTL_EXIT_USAGE, "which feeds?  Name them with -f");
    }
    dpctl_batch_init(&f.pending);
    dpctl_batch_init(&f.waiting);
    dpctl_batch_init(&f.retried);
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
    dpctl_batch_destroy(&f.pending);
    dpctl_batch_destroy(&f.waiting);
    dpctl_batch_destroy(&f.retried);
    dpctl_refused_destroy(&f.refused);
    free(f.gone_node);
    sset_destroy(&f.known);
    dpctl_rpc_close(f.rpc);
}

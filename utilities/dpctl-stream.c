/* SPDX-License-Identifier: Apache-2.0 */

/* apply --stream: a feed of objects, each applied as it comes.
 *
 * The feed is JSON, one value after the other: objects, Lists, or what
 * "kubectl get --watch --output-watch-events -o json" writes, of which DELETED
 * takes the object away.  Each value is one change, over one connection.  One
 * that is refused is told, and the feed goes on: the next state of the same
 * object may be all right. */

#include <config.h>
#include "dpctl-cli.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-event.h"
#include "dpctl-feed.h"
#include "dpctl-rpc.h"
#include "util.h"

/* The object that a value is about, and what is to be done with it; NULL if
 * that is nothing. */
static const struct json *
open_event(const struct json *json, enum dpctl_verb *verb, char **error)
{
    struct dpctl_event event;

    dpctl_event_open(json, &event);
    *verb = event.type == DPCTL_EVENT_GONE ? DPCTL_DELETE : DPCTL_APPLY;
    *error = (event.type != DPCTL_EVENT_ERROR ? NULL
              : xasprintf("event ERROR: %s",
                          event.message ? event.message : "no message"));
    return (event.type == DPCTL_EVENT_ERROR
            || event.type == DPCTL_EVENT_BOOKMARK ? NULL : event.object);
}

/* The next value; NULL at the end. */
static struct json *
next_value(struct dpctl_feed *feed)
{
    struct json *json;
    char *error;

    while (!(json = dpctl_feed_next(feed, &error))) {
        if (!error && !feed->ended) {
            error = dpctl_feed_wait(feed);
        } else if (!error) {
            return NULL;
        }
        if (error) {
            dpctl_fail(DPCTL_EXIT_ERROR, "%s", error);
        }
    }
    return json;
}

static char *
apply_value(struct dpctl_rpc *rpc, const struct dpctl_options *o,
            const struct dpctl_feed *feed, const struct json *json)
{
    enum dpctl_verb verb;
    char *error;
    const struct json *object = open_event(json, &verb, &error);
    if (!object) {
        return error;
    }

    struct dpctl_input input;
    struct dpctl_doc doc = {
        .file = CONST_CAST(char *, feed->name), .index = feed->index,
        .line = 1, .json = CONST_CAST(struct json *, object),
    };
    struct dpctl_docs docs = { .docs = &doc, .n = 1 };
    dpctl_input_init(&input);
    input.for_delete = verb == DPCTL_DELETE;
    error = dpctl_input_add(&input, &docs,
                            o->namespace_ ? o->namespace_ : "default",
                            o->ignore_unknown);
    if (!error && !dpctl_input_is_empty(&input)) {
        error = dpctl_run_change(rpc, o, verb, &input, true, NULL);
    }
    dpctl_input_destroy(&input);
    return error;
}

void
dpctl_run_stream(const struct dpctl_options *o)
{
    struct dpctl_feed feed;
    size_t n_failed = 0;

    if (o->files.n != 1) {
        dpctl_fail(DPCTL_EXIT_USAGE, "--stream takes one file: name it with "
                   "-f, or standard input by -f -");
    }
    char *error = dpctl_feed_open(&feed, o->files.names[0]);
    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s", error);
    }

    struct dpctl_rpc *rpc = dpctl_connect(o);
    struct json *json;
    while ((json = next_value(&feed)) != NULL) {
        error = apply_value(rpc, o, &feed, json);
        if (error) {
            dpctl_warn("%s, document %"PRIuSIZE": %s", feed.name, feed.index,
                       error);
            n_failed++;
            free(error);
        }
        dpctl_flush();
        json_destroy(json);
    }
    dpctl_rpc_close(rpc);
    if (n_failed) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%"PRIuSIZE" of %"PRIuSIZE" documents "
                   "were refused", n_failed, feed.index);
    }
    dpctl_feed_close(&feed);
}

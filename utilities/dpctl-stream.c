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

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpctl-json.h"
#include "dpctl-rpc.h"
#include "util.h"

/* Of one value. */
#define MAX_BYTES ((size_t) 64 * 1024 * 1024)

struct feed {
    const char *name;
    int fd;
    char buffer[65536];
    size_t ofs, len;
    size_t index;               /* Of the latest value, counted from 1. */
    size_t n_failed;
};

/* Fills the buffer if it is empty.  Returns false at the end. */
static bool
feed_fill(struct feed *feed)
{
    while (feed->ofs >= feed->len) {
        ssize_t n = read(feed->fd, feed->buffer, sizeof feed->buffer);
        if (n > 0) {
            feed->ofs = 0;
            feed->len = n;
        } else if (!n) {
            return false;
        } else if (errno != EINTR) {
            dpctl_fail(DPCTL_EXIT_ERROR, "%s: %s", feed->name,
                       ovs_strerror(errno));
        }
    }
    return true;
}

/* Skips blanks; returns false at the end. */
static bool
feed_skip(struct feed *feed)
{
    while (feed_fill(feed)) {
        if (!strchr(" \t\r\n", feed->buffer[feed->ofs])) {
            return true;
        }
        feed->ofs++;
    }
    return false;
}

/* The next value; NULL at the end. */
static struct json *
feed_next(struct feed *feed)
{
    if (!feed_skip(feed)) {
        return NULL;
    }
    feed->index++;

    struct json_parser *parser = json_parser_create(0);
    size_t n_bytes = 0;
    while (!json_parser_is_done(parser) && feed_fill(feed)) {
        size_t n = json_parser_feed(parser, feed->buffer + feed->ofs,
                                    feed->len - feed->ofs);
        feed->ofs += n;
        n_bytes += n;
        if (n_bytes > MAX_BYTES) {
            dpctl_fail(DPCTL_EXIT_ERROR, "%s, document %"PRIuSIZE": larger "
                       "than %"PRIuSIZE" MiB", feed->name, feed->index,
                       MAX_BYTES / (1024 * 1024));
        }
    }
    struct json *json = json_parser_finish(parser);
    if (json->type == JSON_STRING) {
        /* Where the next value would begin, nobody knows. */
        dpctl_fail(DPCTL_EXIT_ERROR, "%s, document %"PRIuSIZE": %s",
                   feed->name, feed->index, json_string(json));
    }
    return json;
}

/* Takes a watch event apart: sets '*verb', and returns its object; NULL if
 * there is nothing to do. */
static const struct json *
open_event(const struct json *json, enum dpctl_verb *verb, char **error)
{
    const char *type = dpctl_json_str(json, "type");
    const struct json *object = dpctl_json_member(json, "object");

    *verb = DPCTL_APPLY;
    *error = NULL;
    if (!type || !object || dpctl_json_str(json, "kind")) {
        return json;
    } else if (!strcmp(type, "DELETED")) {
        *verb = DPCTL_DELETE;
    } else if (!strcmp(type, "BOOKMARK")) {
        return NULL;
    } else if (strcmp(type, "ADDED") && strcmp(type, "MODIFIED")) {
        const char *message = dpctl_json_str(object, "message");
        *error = xasprintf("event %s%s%s", type, message ? ": " : "",
                           message ? message : "");
        return NULL;
    }
    return object;
}

static char *
apply_value(struct dpctl_rpc *rpc, const struct dpctl_options *o,
            const struct feed *feed, const struct json *json)
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
        error = dpctl_run_change(rpc, o, verb, &input, true);
    }
    dpctl_input_destroy(&input);
    return error;
}

void
dpctl_run_stream(const struct dpctl_options *o)
{
    struct feed feed = { .fd = STDIN_FILENO, .name = "stdin" };

    if (o->files.n != 1) {
        dpctl_fail(DPCTL_EXIT_USAGE, "--stream takes one file: name it with "
                   "-f, or standard input by -f -");
    }
    if (strcmp(o->files.names[0], "-")) {
        feed.name = o->files.names[0];
        feed.fd = open(feed.name, O_RDONLY | O_CLOEXEC);
        if (feed.fd < 0) {
            dpctl_fail(DPCTL_EXIT_ERROR, "%s: %s", feed.name,
                       ovs_strerror(errno));
        }
    }

    struct dpctl_rpc *rpc = dpctl_connect(o);
    struct json *json;
    while ((json = feed_next(&feed)) != NULL) {
        char *error = apply_value(rpc, o, &feed, json);
        if (error) {
            dpctl_warn("%s, document %"PRIuSIZE": %s", feed.name, feed.index,
                       error);
            feed.n_failed++;
            free(error);
        }
        dpctl_flush();
        json_destroy(json);
    }
    dpctl_rpc_close(rpc);
    if (feed.fd != STDIN_FILENO) {
        close(feed.fd);
    }
    if (feed.n_failed) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%"PRIuSIZE" of %"PRIuSIZE" documents "
                   "were refused", feed.n_failed, feed.index);
    }
}

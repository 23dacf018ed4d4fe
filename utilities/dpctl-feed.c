/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "util.h"

char *
dpctl_feed_open(struct dpctl_feed *feed, const char *path)
{
    bool is_stdin = !strcmp(path, "-");

    *feed = (struct dpctl_feed) {
        .name = xstrdup(is_stdin ? "stdin" : path),
        /* Who opens a fifo otherwise waits for its other end, and so
         * forever where that one opens several in another order. */
        .fd = (is_stdin
               /* poll_fd_wait() doesn't know 0. */
               ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
               : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
    };
    return (feed->fd >= 0 ? NULL
            : xasprintf("%s: %s", feed->name, ovs_strerror(errno)));
}

void
dpctl_feed_close(struct dpctl_feed *feed)
{
    if (feed->parser) {
        json_parser_abort(feed->parser);
        feed->parser = NULL;
    }
    close(feed->fd);
    feed->fd = -1;
    free(feed->name);
    feed->name = NULL;
}

/* Nobody knows where the next value would begin. */
static char *
feed_break(struct dpctl_feed *feed, const char *why)
{
    feed->ended = true;
    feed->ofs = feed->len;
    return xasprintf("%s, document %"PRIuSIZE": %s", feed->name, feed->index,
                     why);
}

static struct json *
finish_value(struct dpctl_feed *feed, char **errorp)
{
    struct json *json = json_parser_finish(feed->parser);

    feed->parser = NULL;
    if (json->type == JSON_STRING) {
        *errorp = feed_break(feed, json_string(json));
        json_destroy(json);
        return NULL;
    }
    return json;
}

struct json *
dpctl_feed_next(struct dpctl_feed *feed, char **errorp)
{
    *errorp = NULL;
    if (!feed->parser) {
        while (feed->ofs < feed->len
               && memchr(" \t\r\n", feed->buffer[feed->ofs], 4)) {
            feed->ofs++;
        }
        if (feed->ofs >= feed->len) {
            return NULL;
        }
        feed->parser = json_parser_create(0);
        feed->n_bytes = 0;
        feed->index++;
    }

    size_t n = json_parser_feed(feed->parser, feed->buffer + feed->ofs,
                                feed->len - feed->ofs);
    feed->ofs += n;
    feed->n_bytes += n;
    if (json_parser_is_done(feed->parser)) {
        return finish_value(feed, errorp);
    } else if (feed->n_bytes > DPCTL_FEED_MAX_BYTES) {
        char *why = xasprintf("larger than %"PRIuSIZE" MiB",
                              DPCTL_FEED_MAX_BYTES / (1024 * 1024));
        *errorp = feed_break(feed, why);
        free(why);
    } else if (feed->ended) {
        *errorp = feed_break(feed, "the feed ends in the middle of it");
    }
    return NULL;
}

char *
dpctl_feed_read(struct dpctl_feed *feed)
{
    ssize_t n = read(feed->fd, feed->buffer, sizeof feed->buffer);

    feed->ofs = 0;
    feed->len = MAX(n, 0);
    if (!n) {
        feed->ended = true;
    } else if (n < 0 && errno != EINTR && errno != EAGAIN) {
        char *error = xasprintf("%s: %s", feed->name, ovs_strerror(errno));
        feed->ended = true;
        return error;
    }
    return NULL;
}

char *
dpctl_feed_wait(struct dpctl_feed *feed)
{
    /* Ends the program at a signal, too. */
    poll_fd_wait(feed->fd, POLLIN);
    poll_block();
    return dpctl_feed_read(feed);
}

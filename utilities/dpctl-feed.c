/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpctl-json.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "util.h"

enum { SEPARATOR = 0x1e };

/* Takes stdin's place, so that it is closed with the feed. */
static int
take_stdin(void)
{
    /* poll_fd_wait() doesn't know 0. */
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && nothing > STDIN_FILENO) {
        dup2(nothing, STDIN_FILENO);
        close(nothing);
    }
    return fd;
}

char *
dpctl_feed_open(struct dpctl_feed *feed, const char *path)
{
    bool is_stdin = !strcmp(path, "-");

    *feed = (struct dpctl_feed) {
        .name = xstrdup(is_stdin ? "stdin" : path),
        /* Who opens a fifo otherwise waits for its other end, and so
         * forever where that one opens several in another order. */
        .fd = (is_stdin ? take_stdin()
               : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
    };
    return (feed->fd >= 0 ? NULL
            : xasprintf("%s: %s", feed->name, ovs_strerror(errno)));
}

/* Nothing more is read. */
static void
feed_end(struct dpctl_feed *feed)
{
    feed->ended = true;
    if (feed->fd >= 0) {
        close(feed->fd);
        feed->fd = -1;
    }
}

static void
forget_value(struct dpctl_feed *feed)
{
    if (feed->parser) {
        json_parser_abort(feed->parser);
        feed->parser = NULL;
    }
}

void
dpctl_feed_close(struct dpctl_feed *feed)
{
    forget_value(feed);
    feed_end(feed);
    free(feed->name);
    feed->name = NULL;
}

static char *
feed_error(const struct dpctl_feed *feed, const char *why)
{
    return xasprintf("%s, document %"PRIuSIZE": %s", feed->name, feed->index,
                     why);
}

/* Nobody knows where the next value would begin. */
static char *
feed_break(struct dpctl_feed *feed, const char *why)
{
    forget_value(feed);
    feed_end(feed);
    feed->ofs = feed->len;
    return feed_error(feed, why);
}

/* Was it a separator that the parser didn't expect? */
static bool
is_cut_off(const struct dpctl_feed *feed)
{
    return ((feed->ofs && feed->buffer[feed->ofs - 1] == SEPARATOR)
            || (feed->ofs < feed->len
                && feed->buffer[feed->ofs] == SEPARATOR));
}

static struct json *
finish_value(struct dpctl_feed *feed, char **errorp)
{
    struct json *json = json_parser_finish(feed->parser);

    feed->parser = NULL;
    if (json->type == JSON_STRING) {
        *errorp = (is_cut_off(feed)
                   ? feed_error(feed, "it ends in the middle")
                   : feed_break(feed, json_string(json)));
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
               && (feed->buffer[feed->ofs] == SEPARATOR
                   || memchr(" \t\r\n", feed->buffer[feed->ofs], 4))) {
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
    size_t n_held = feed->n_held;

    memmove(feed->buffer, feed->buffer + feed->len, n_held);
    ssize_t n = read(feed->fd, feed->buffer + n_held,
                     sizeof feed->buffer - n_held);

    feed->ofs = 0;
    feed->len = n_held + MAX(n, 0);
    feed->n_held = n ? dpctl_json_replace_nulls(feed->buffer, feed->len) : 0;
    feed->len -= feed->n_held;
    if (!n) {
        feed_end(feed);
    } else if (n < 0 && errno != EINTR && errno != EAGAIN) {
        char *error = xasprintf("%s: %s", feed->name, ovs_strerror(errno));
        feed_end(feed);
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

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_FEED_H
#define DPCTL_FEED_H 1

/* A feed: JSON values, one after the other, from a file, a pipe or a fifo.
 *
 * A record separator (RS, 0x1e, as in RFC 7464) may stand between them: a
 * value that isn't complete then never will be, and the next one begins behind
 * it.
 *
 * What was read is taken apart as it comes, so that whoever has several feeds
 * can wait for all of them.  Who writes into one that has ended gets SIGPIPE:
 * nobody waits for us.  Memory: a buffer, and one value of at most
 * DPCTL_FEED_MAX_BYTES of text. */

#include <stdbool.h>
#include <stddef.h>

struct json;
struct json_parser;

/* Of one value. */
#define DPCTL_FEED_MAX_BYTES ((size_t) 64 * 1024 * 1024)

struct dpctl_feed {
    char *name;                 /* For messages. */
    int fd;                     /* -1 once it has ended. */
    char buffer[65536];
    size_t ofs, len;            /* What of it was read, and isn't used. */
    size_t n_held;              /* Behind that: part of an escape. */
    struct json_parser *parser; /* NULL between values. */
    size_t n_bytes;             /* Of the value that is being read. */
    size_t index;               /* Of the latest value, counted from 1. */
    bool ended;                 /* Nothing more is to come. */
};

/* 'path' may be "-".  Of a fifo nobody need have the other end yet.  Returns
 * NULL, or an error. */
char *dpctl_feed_open(struct dpctl_feed *, const char *path);
void dpctl_feed_close(struct dpctl_feed *);

/* The next value of what was read, the caller's; NULL if more has to be read,
 * or the feed has ended.  Of what is no value sets '*errorp' to a text: then
 * the feed has ended, but for a value that a separator cut off. */
struct json *dpctl_feed_next(struct dpctl_feed *, char **errorp);

/* Reads what there is, after all of what was read is used.  poll() tells
 * whether there is something. */
char *dpctl_feed_read(struct dpctl_feed *);
/* The same, but waits for something. */
char *dpctl_feed_wait(struct dpctl_feed *);

#endif /* dpctl-feed.h */

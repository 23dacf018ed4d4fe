/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_WATCH_H
#define DPCTL_WATCH_H 1

/* get --watch: what is there, and then what becomes of it.
 *
 * The daemon tells that something has changed, not what: all of the kind is
 * asked for again and compared with what was there.  That is never done more
 * often than every WATCH_MIN_MS, nor for more than a fifth of the time.
 * Changes in between are seen as one.
 *
 * Memory: what is there now and was there before, of the records asked for. */

struct dpctl_layout;
struct dpctl_options;
struct json;
struct json_array;

enum { WATCH_MIN_MS = 100 };

struct dpctl_watch {
    const struct dpctl_options *options;
    const char *kind;           /* All that has to be asked for; NULL: all. */
    const struct dpctl_layout *layout;
    /* What of 'state' is to be shown, as an array; the caller frees it. */
    struct json *(*select)(const void *aux, const struct json_array *state);
    const void *aux;
    char *missing;              /* The error if nothing is there at first, or
                                 * NULL if that is none. */
};

/* Goes on until it is interrupted, or the reader or the daemon has gone. */
void dpctl_watch_run(const struct dpctl_watch *);

#endif /* dpctl-watch.h */

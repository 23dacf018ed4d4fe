/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_EVENT_H
#define DPCTL_EVENT_H 1

/* What a value of a feed says: an event of Kubernetes' watch, a list of all
 * objects of one kind, or an object by itself. */

#include <stdbool.h>

struct dpctl_kind;
struct json;

struct dpctl_event {
    enum {
        DPCTL_EVENT_SET,        /* 'object' is so now. */
        DPCTL_EVENT_GONE,       /* 'object' was deleted. */
        DPCTL_EVENT_LIST,       /* 'object' is a list of a kind. */
        DPCTL_EVENT_BOOKMARK,
        DPCTL_EVENT_ERROR,      /* See 'message'. */
    } type;
    bool initial;               /* SET: may be what a watch begins with.
                                 * BOOKMARK: all of that was told. */
    const struct json *object;  /* Borrowed from the value. */
    const struct dpctl_kind *kind;  /* Of the object, or those in the list;
                                     * NULL if we know none. */
    const char *version;        /* resourceVersion, or NULL. */
    bool more;                  /* LIST: another page comes. */
    const char *message;        /* Borrowed, too. */
};

void dpctl_event_open(const struct json *, struct dpctl_event *);

#endif /* dpctl-event.h */

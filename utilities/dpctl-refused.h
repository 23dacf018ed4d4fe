/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_REFUSED_H
#define DPCTL_REFUSED_H 1

/* Changes of objects that were refused, kept to be tried again: what they lack
 * may come.
 *
 * Memory: DPCTL_REFUSED_MAX objects, DPCTL_REFUSED_MAX_BYTES of their text.
 * What is beyond is forgotten, and counted. */

#include <stdbool.h>
#include <stddef.h>
#include "openvswitch/shash.h"

struct json;

enum { DPCTL_REFUSED_MAX = 10000 };
#define DPCTL_REFUSED_MAX_BYTES ((size_t) 64 * 1024 * 1024)

struct dpctl_refusal {
    struct json *object;
    bool gone;                  /* It was to be deleted. */
    char *reason;
    size_t n_bytes;             /* Of the object's text. */
};

struct dpctl_refused {
    struct shash refusals;      /* Manifest's name to struct dpctl_refusal. */
    size_t n_bytes;
    size_t n_forgotten;
};

enum dpctl_refused_news {
    DPCTL_REFUSED_KNOWN,        /* It is here already, for that reason. */
    DPCTL_REFUSED_NEW,
    DPCTL_REFUSED_TOO_MUCH,     /* It isn't kept. */
};

void dpctl_refused_init(struct dpctl_refused *);
void dpctl_refused_destroy(struct dpctl_refused *);

static inline bool
dpctl_refused_is_empty(const struct dpctl_refused *r)
{
    return shash_is_empty(&r->refusals);
}

/* Replaces what is here of the object 'name'.  'object' and 'reason' stay the
 * caller's. */
enum dpctl_refused_news dpctl_refused_add(struct dpctl_refused *,
                                          const char *name,
                                          const struct json *object,
                                          bool gone, const char *reason);
/* May one that was refused need this change of an object: refer to it, or need
 * what it held, if it has 'gone'? */
bool dpctl_refused_may_need(const char *manifest, bool gone);
/* The object was taken, or there is news of it. */
void dpctl_refused_forget(struct dpctl_refused *, const char *name);

#endif /* dpctl-refused.h */

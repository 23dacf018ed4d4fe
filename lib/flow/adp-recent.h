/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_RECENT_H
#define ADP_RECENT_H 1

/* The latest flows that came to a table, changed or left, by what they match.
 *
 * Who had an answer of a table knows a flow that its packets match.  A flow
 * that no such packet can match, as one of the two asks for one source address
 * and the other one for another, may come and go without a meaning for them.
 * Of that kind is nearly all that happens to a table of Pods: each has a flow
 * of its own, all of the same priority.
 *
 * Changes that are older than the last ADP_RECENT_MAX are forgotten: of them
 * it is known only that they were.
 *
 * Thread-safety: as the version of the structure that it is part of
 * (adp-cow.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_RECENT_MAX 64

struct adp_cow;
struct minimatch;

struct adp_recent_change {
    uint64_t generation;
    int priority;
    struct minimatch *match;
};

struct adp_recent {
    uint64_t forgotten;         /* The newest generation of which something is
                                 * missing. */
    size_t n;                   /* Ever added. */
    struct adp_recent_change changes[ADP_RECENT_MAX]; /* A ring. */
};

/* Generations must not fall from call to call. */
void adp_recent_add(struct adp_recent *, struct adp_cow *, int priority,
                    const struct minimatch *, uint64_t generation);
/* More has changed than can be told. */
void adp_recent_forget(struct adp_recent *, struct adp_cow *,
                       uint64_t generation);
/* 'cow' may be NULL, as in adp_cow_release(). */
void adp_recent_clear(struct adp_recent *, struct adp_cow *);

/* May one of the changes after generation 'since', at 'priority' or above,
 * matter to some packet that matches 'match'?  If it is known that none does,
 * false. */
bool adp_recent_touches(const struct adp_recent *, int priority,
                        const struct minimatch *match, uint64_t since);

#endif /* adp-recent.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CHANGE_LOG_H
#define ADP_CHANGE_LOG_H 1

/* When a table last changed, by priority.
 *
 * An answer of a table that was decided at some priority stays right until a
 * rule of that priority or above changes.  So a change at priority q makes
 * all that was said about priorities up to q superfluous, and a log is a
 * stack: from the top down priorities rise and generations fall.
 *
 * A full log forgets its oldest bound and lets the next one stand for both,
 * which errs on the safe side for those who hold very old answers only.
 *
 * Cost: a look-up is a binary search over at most ADP_CHANGE_LOG_MAX entries.
 *
 * Thread-safety: a log is a plain value.
 */

#include <stddef.h>
#include <stdint.h>

#define ADP_CHANGE_LOG_MAX 32

struct adp_logged_change {
    int priority;
    uint64_t generation;
};

struct adp_change_log {
    size_t n;
    struct adp_logged_change changes[ADP_CHANGE_LOG_MAX];
};

/* Generations must not fall from call to call. */
void adp_change_log_add(struct adp_change_log *, int priority,
                        uint64_t generation);

/* The latest generation with a change at 'priority' or above, 0 if none. */
uint64_t adp_change_log_latest(const struct adp_change_log *, int priority);

#endif /* adp-change-log.h */

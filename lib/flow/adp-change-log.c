/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-change-log.h"
#include <string.h>

void
adp_change_log_add(struct adp_change_log *log, int priority,
                   uint64_t generation)
{
    while (log->n && log->changes[log->n - 1].priority <= priority) {
        log->n--;
    }
    if (log->n == ADP_CHANGE_LOG_MAX) {
        log->changes[0].generation = log->changes[1].generation;
        log->n--;
        memmove(&log->changes[1], &log->changes[2],
                (log->n - 1) * sizeof log->changes[0]);
    }
    log->changes[log->n++] = (struct adp_logged_change) {
        .priority = priority,
        .generation = generation,
    };
}

uint64_t
adp_change_log_latest(const struct adp_change_log *log, int priority)
{
    size_t low = 0, high = log->n;

    /* Finds how many changes were at 'priority' or above. */
    while (low < high) {
        size_t mid = (low + high) / 2;

        if (log->changes[mid].priority >= priority) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low ? log->changes[low - 1].generation : 0;
}

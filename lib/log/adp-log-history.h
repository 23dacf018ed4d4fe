/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LOG_HISTORY_H
#define ADP_LOG_HISTORY_H 1

/* The latest lines of the log, numbered, for who asks for them.
 *
 * There are no readers to look after: who reads says up to which number he has
 * read, and gets what came behind that.  Who is too slow for the
 * ADP_LOG_HISTORY_SIZE lines that are kept sees a gap in the numbers, and so
 * how many he has missed.
 *
 * Thread-safety: none.  Memory: a pointer for each place, and some 300 bytes a
 * line.
 */

#include <stddef.h>
#include <stdint.h>
#include "adp-log-line.h"

#define ADP_LOG_HISTORY_SIZE 8192

struct adp_log_entry {
    uint64_t number;            /* From 1. */
    uint64_t time_us;
    uint64_t n_packets, duration_us;
    struct adp_log_line line;
};

struct adp_log_history;

struct adp_log_history *adp_log_history_create(void);
void adp_log_history_destroy(struct adp_log_history *);

/* Copies the line. */
void adp_log_history_add(struct adp_log_history *, const struct adp_log_line *,
                         uint64_t time_us, uint64_t n_packets,
                         uint64_t duration_us);
/* Of the latest entry; 0: there was none. */
uint64_t adp_log_history_last(const struct adp_log_history *);
/* The first entry that is there of those behind 'number', or NULL. */
const struct adp_log_entry *adp_log_history_next(
    const struct adp_log_history *, uint64_t number);

#endif /* adp-log-history.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LOG_DEDUP_H
#define ADP_LOG_DEDUP_H 1

/* Equal lines of a second become one, as Antrea's agent does with what is
 * denied: a line waits for a second from when it first came, and then says how
 * many there were.  Times are those of the day: when the clock is set back,
 * what waits is passed on.
 *
 * Bounded: ADP_LOG_DEDUP_MAX lines wait; while as many do, what is new doesn't
 * wait, and is a line by itself.
 *
 * Thread-safety: none.  Cost: a look-up in a hash table by the text.
 */

#include <stddef.h>
#include <stdint.h>
#include "adp-log-line.h"

#define ADP_LOG_DEDUP_MAX 4096
#define ADP_LOG_DEDUP_US 1000000

/* A line whose time has come, for 'n_packets' packets, of which the first came
 * 'duration_us' before.  The line stays the caller's. */
typedef void adp_log_dedup_cb(const struct adp_log_line *, uint64_t time_us,
                              uint64_t n_packets, uint64_t duration_us,
                              void *aux);

struct adp_log_dedup;

struct adp_log_dedup *adp_log_dedup_create(adp_log_dedup_cb *, void *aux);
/* What waits is passed on. */
void adp_log_dedup_destroy(struct adp_log_dedup *, uint64_t now_us);

/* Takes the line's text.  'time_us' is the packet's. */
void adp_log_dedup_add(struct adp_log_dedup *, struct adp_log_line *,
                       uint64_t time_us);
/* Passes on what has waited long enough. */
void adp_log_dedup_run(struct adp_log_dedup *, uint64_t now_us);
/* When to do that: UINT64_MAX if nothing waits. */
uint64_t adp_log_dedup_next_us(const struct adp_log_dedup *);
size_t adp_log_dedup_count(const struct adp_log_dedup *);

#endif /* adp-log-dedup.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PUSH_STATS_H
#define ADP_PUSH_STATS_H 1

/* What packet threads leave for the main thread: counters.  For the main
 * thread. */

#include <stdbool.h>
#include <stdint.h>

struct adp_bridge;

/* Once a turn, before all bridges.  While there are none, which counters are
 * for, takes apart what threads leave that end. */
void adp_push_stats_begin(void);
void adp_push_stats_begin_wait(void);

/* Before each bridge's run.  What was counted is the daemon's: the first one
 * of a turn has a slice for it, others what is left of the turn's budget. */
void adp_push_stats_collect(void);
void adp_push_stats_run(struct adp_bridge *);
void adp_push_stats_wait(struct adp_bridge *);

/* Somebody is to be told what was counted until now: once adp_push_stats_has()
 * says for a bridge that what was asked for so is there, its counters tell.
 * Until then the loop doesn't sleep; who asks before bridges run has to wake
 * it up once more.  It takes a turn, or several where much was counted. */
uint64_t adp_push_stats_ask(void);
bool adp_push_stats_has(const struct adp_bridge *, uint64_t asked);

#endif /* adp-push-stats.h */

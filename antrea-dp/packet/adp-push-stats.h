/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PUSH_STATS_H
#define ADP_PUSH_STATS_H 1

/* What packet threads leave for the main thread: counters.  For the main
 * thread. */

struct adp_bridge;

/* Once a turn, before all bridges.  While there are none, which counters are
 * for, takes apart what threads leave that end. */
void adp_push_stats_begin(void);
void adp_push_stats_begin_wait(void);

/* Before each bridge's run.  What was counted is the daemon's: the first one
 * of a turn has a slice for it, others what is left of the turn's budget. */
void adp_push_stats_collect(void);
void adp_push_stats_run(struct adp_bridge *);
/* Both, and holds what was counted until now. */
void adp_push_stats_run_all(struct adp_bridge *);
void adp_push_stats_wait(struct adp_bridge *);

/* Any thread, before counters are read: pushes what the last run has left. */
void adp_push_stats_finish(void);

#endif /* adp-push-stats.h */

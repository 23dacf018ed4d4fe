/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PUSH_STATS_H
#define ADP_PUSH_STATS_H 1

/* What packet threads leave for the main thread: counters.  For the main
 * thread. */

struct adp_bridge;

void adp_push_stats_run(struct adp_bridge *);
/* The same, and holds what was counted until now. */
void adp_push_stats_run_all(struct adp_bridge *);
void adp_push_stats_wait(struct adp_bridge *);

/* While there are no bridges, which those are for: takes apart what threads
 * leave that end. */
void adp_push_stats_run_without_bridges(void);
void adp_push_stats_wait_without_bridges(void);

/* Any thread, before counters are read: pushes what the last run has left. */
void adp_push_stats_finish(void);

#endif /* adp-push-stats.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_FOLD_H
#define ADP_FOLD_H 1

/* What packet threads leave for the main thread: counters.  For the main
 * thread. */

struct adp_bridge;

void adp_fold_run(struct adp_bridge *);
/* The same, and holds what was counted until now. */
void adp_fold_run_all(struct adp_bridge *);
void adp_fold_wait(struct adp_bridge *);

/* Any thread, before counters are read: folds what the last run has left. */
void adp_fold_finish(void);

#endif /* adp-fold.h */

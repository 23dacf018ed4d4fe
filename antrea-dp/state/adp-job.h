/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_JOB_H
#define ADP_JOB_H 1

/* Long work of the main thread, written in one piece, done in slices.
 *
 * The work is a function that calls adp_pause() (model-pause.h) now and then.
 * It has a thread of its own, but that never runs beside the main thread:
 * adp_job_run() waits until the work has ended or the slice is over, and in
 * between the work stands still in one of its pauses.  So it may use what
 * belongs to the main thread, as long as the main thread leaves alone what the
 * work is amid of.  (The second thread is there for its stack only.)
 *
 * The thread takes no part in RCU while it stands still, and must not hold a
 * lock in a pause.
 *
 * Thread-safety: the main thread.
 * Memory: a thread for each job, of which one stays for the next; who starts
 * jobs bounds them.  What the work allocates is in the thread's arena, which
 * the next job's thread gets; what it freed there is sorted before it ends
 * (adp-heap.h).
 * Cost: two switches between threads for each slice, some 20 us.
 */

#include <stdbool.h>

struct adp_job;
struct adp_turn_slice;

/* Has 'work' run with 'aux' from the first adp_job_run() on. */
struct adp_job *adp_job_create(void (*work)(void *aux), void *aux);
/* Goes on with the work until it ends or 'slice' is over.  Returns true at the
 * end, and not to be called again then. */
bool adp_job_run(struct adp_job *, struct adp_turn_slice *slice);
/* The work must have ended.  NULL does nothing. */
void adp_job_destroy(struct adp_job *);

#endif /* adp-job.h */

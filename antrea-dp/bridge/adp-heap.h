/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_HEAP_H
#define ADP_HEAP_H 1

/* What malloc() puts off, done while nobody waits for it.
 *
 * glibc's free() keeps pieces in lists of two kinds for later.  Small ones are
 * put together with their neighbours when somebody frees or asks for a large
 * piece: all at once, 17 ms after a load of 100,000 rules.  There is a switch
 * for that, and without it free() puts each together at once.  All others wait
 * to be sorted by size until somebody asks for a piece that isn't at hand:
 * 10,000 of them, which takes up to 10 ms.  Somebody would be the first
 * record that changes after a load; so each turn of the main loop asks at its
 * end.
 *
 * This is about the arena of who calls: the main thread's, and that of jobs
 * (adp-job.h), where the main thread gets memory too when it has something
 * from there grow.  Those of packet threads have no such loads.
 *
 * Thread-safety: adp_heap_init() before there are other threads.  All else is
 * for the main thread and jobs.
 */

#include <stdbool.h>

void adp_heap_init(void);

/* Sorts some of what was freed; one that had none to sort takes less than a
 * microsecond.  Returns true if there may be more. */
bool adp_heap_run(void);

#endif /* adp-heap.h */

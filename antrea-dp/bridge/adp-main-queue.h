/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MAIN_QUEUE_H
#define ADP_MAIN_QUEUE_H 1

/* What packet threads leave for the main thread: a queue without locks that
 * wakes the main thread up when something comes into an empty one.
 *
 * Unbounded: its users bound what they put in, and count what they don't.
 *
 * Thread-safety: insert in any thread; the rest in the main thread.
 */

#include <stdint.h>
#include "mpsc-queue.h"
#include "ovs-atomic.h"

struct seq;

struct adp_main_queue {
    struct mpsc_queue queue;
    atomic_count n;             /* In 'queue'. */
    struct seq *seq;            /* Changes when it was empty. */
    uint64_t seqno;             /* What the main thread has seen of it. */
};

void adp_main_queue_init(struct adp_main_queue *);
/* The caller has taken all there was: nobody inserts any more. */
void adp_main_queue_destroy(struct adp_main_queue *);

void adp_main_queue_insert(struct adp_main_queue *, struct mpsc_queue_node *);
/* Takes the one that waited longest; NULL: none waits. */
struct mpsc_queue_node *adp_main_queue_take(struct adp_main_queue *);
/* Wakes up the main thread when there is something to take. */
void adp_main_queue_wait(struct adp_main_queue *);

#endif /* adp-main-queue.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_WAKER_H
#define ADP_WAKER_H 1

/* How packet threads wake the main thread, which looks into their rings: at
 * most one system call for each time that it sleeps.
 *
 * Who has put something into a ring rouses after that; the main thread begins
 * to look before it does.  Both are in the one order of sequentially
 * consistent operations, as what is put has to be: either the main thread sees
 * it, or the thread that put it sees that it has to wake it.
 *
 * Thread-safety: as said; 'init' before there is another thread.
 */

#include "latch.h"
#include "ovs-atomic.h"

struct adp_waker {
    struct latch latch;
    atomic_bool roused;         /* Since the main thread began to look. */
};

void adp_waker_init(struct adp_waker *);
/* Any thread. */
void adp_waker_rouse(struct adp_waker *);
/* The main thread. */
void adp_waker_begin(struct adp_waker *);
void adp_waker_wait(struct adp_waker *);

#endif /* adp-waker.h */

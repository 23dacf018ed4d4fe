/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_POLLER_H
#define ADP_POLLER_H 1

/* What a packet thread polls by file descriptors, and how it rests.
 *
 * A thread all of whose ports are the kernel's needs no polling of empty
 * rings: after ADP_POLLER_SPIN_US without a packet it sleeps until the kernel
 * has one.  A thread that polls anything else besides never rests here;
 * 'pmd-maxsleep' is for that.
 *
 * The descriptors are in an epoll set of each thread; a queue that goes to
 * another thread is moved by that one.
 *
 * Thread-safety: adp_poller_leave() may be called by another thread, while
 * that which polls the queue doesn't; the rest is for the thread itself. */

#include <stdbool.h>

struct adp_poller;

/* Shorter than that a thread has only just been busy: waking up takes some
 * 10 us. */
#define ADP_POLLER_SPIN_US 50
/* A thread has other things to do now and then. */
#define ADP_POLLER_MAX_REST_MS 10

/* This thread begins to poll 'fd'.  '*ownerp' is NULL or who has polled it
 * until now; it becomes this thread, with a reference. */
void adp_poller_adopt(struct adp_poller **ownerp, int fd);
/* Before 'fd' is closed. */
void adp_poller_leave(struct adp_poller **ownerp, int fd);
/* True if this thread is '*owner'. */
bool adp_poller_is_mine(const struct adp_poller *owner);

/* The thread polled one of its queues and got 'n' packets. */
void adp_poller_note(unsigned int n);
/* The thread polled a queue that isn't in the set. */
void adp_poller_note_other(void);

/* At the end of an iteration of the thread's loop: returns true if it should
 * rest now.  Then poll_block() wakes up when there is something. */
bool adp_poller_wants_rest(long long int now_us, int *ms);

#endif /* adp-poller.h */

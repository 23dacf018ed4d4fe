/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_VETH_PAIR_H
#define ADP_VETH_PAIR_H 1

/* A pair of veths in our own network namespace: one end is what the host knows
 * as a bridge's internal port, packets go to and come from the other one.
 *
 * The other end's name follows from the port's, so that a pair is known again
 * after a restart or a crash, with nothing else to remember.  It has no
 * address, asks and answers nobody (no ARP, no IPv6) and never limits a
 * packet's length: the port's own end does.
 *
 * Main thread. */

#include <stdbool.h>

/* Makes the pair whose one end is called 'name', or finds the one that is
 * there.  '*endp' becomes the number of the other end, which is up.  A tap of
 * that name that nobody uses is replaced.  Returns 0 or a positive errno:
 * EEXIST if either name is somebody else's. */
int adp_veth_pair_make(const char *name, int *endp);
/* Removes both, by the number of the other end. */
void adp_veth_pair_remove(int end);
/* Removes the pair of that name, if there is one. */
void adp_veth_pair_remove_left_over(const char *name);

#endif /* adp-veth-pair.h */

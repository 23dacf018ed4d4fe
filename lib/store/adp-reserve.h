/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_RESERVE_H
#define ADP_RESERVE_H 1

/* Large arrays that grow in place: addresses for the whole, memory as it is
 * touched, in huge pages where the system has them.
 *
 * Cost: a system call each; giving memory back costs its pages, so who does
 * that in a packet thread does it a piece at a time.
 *
 * Thread-safety: any thread. */

#include <stddef.h>

/* 'size' bytes, all zeros, or NULL with errno set.  The coverage counter
 * adp_reserve_refused tells how often the system had no more. */
void *adp_reserve(size_t size);
/* The same, and malloc()'s memory instead of NULL: for what nothing goes on
 * without, and not larger than it has to be. */
void *adp_reserve_small(size_t size);
void adp_unreserve(void *, size_t size);        /* NULL is fine. */

/* Gives the memory of bytes 'from' up to 'to' back, which read as zeros from
 * then on, and what follows in the page of the last one.  'from' is a multiple
 * of ADP_RESERVE_PIECE. */
#define ADP_RESERVE_PIECE ((size_t) 2 << 20)
void adp_reserve_drop(void *, size_t from, size_t to);

#endif /* adp-reserve.h */

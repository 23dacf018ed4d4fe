/* SPDX-License-Identifier: Apache-2.0 */

#ifndef MODEL_SORT_H
#define MODEL_SORT_H 1

/* qsort() for arrays of pointers, which pauses (model-pause.h): a large state
 * has some 100,000 records or rules to be sorted, each comparison of which
 * fetches what lies anywhere in memory.
 *
 * Thread-safety: as what the pointers point to.
 * Memory: a second array meanwhile; for addresses two of pointers.
 * Cost: n * log2(n) comparisons.
 */

#include <stddef.h>

struct adp_cidr;

/* Sorts the 'n' pointers at 'pointers'.  'compare' gets addresses of two of
 * them, as qsort()'s does.  Equal ones keep their order. */
void adp_sort_pointers(void *pointers, size_t n,
                       int (*compare)(const void *, const void *));

/* Returns a sorted copy of the 'n' addresses, which the caller frees. */
struct adp_cidr *adp_sorted_cidrs(const struct adp_cidr *, size_t n);

#endif /* model-sort.h */

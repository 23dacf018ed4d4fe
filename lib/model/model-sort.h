/* SPDX-License-Identifier: Apache-2.0 */

#ifndef MODEL_SORT_H
#define MODEL_SORT_H 1

/* qsort() for arrays of pointers, which pauses (model-pause.h): a large state
 * has some 100,000 records or rules to be sorted, each comparison of which
 * fetches what lies anywhere in memory.
 *
 * Thread-safety: as what the pointers point to.
 * Memory: a second array meanwhile.
 * Cost: n * log2(n) comparisons.
 */

#include <stddef.h>

/* Sorts the 'n' pointers at 'pointers'.  'compare' gets addresses of two of
 * them, as qsort()'s does.  Equal ones keep their order. */
void adp_sort_pointers(void *pointers, size_t n,
                       int (*compare)(const void *, const void *));

#endif /* model-sort.h */

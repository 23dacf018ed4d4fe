/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-sort.h"

#include <stdlib.h>
#include <string.h>

#include "model-ip.h"
#include "model-pause.h"
#include "util.h"

/* Merges the sorted 'from[first]' to 'from[middle]' and 'from[middle]' to
 * 'from[end]' into the same places of 'to'. */
static void
merge(void *const *from, void **to, size_t first, size_t middle, size_t end,
      int (*compare)(const void *, const void *))
{
    size_t i = first, j = middle;

    for (size_t k = first; k < end; k++) {
        to[k] = (i < middle && (j >= end || compare(&from[i], &from[j]) <= 0)
                 ? from[i++] : from[j++]);
        adp_pause_amid(k);
    }
}

void
adp_sort_pointers(void *pointers, size_t n,
                  int (*compare)(const void *, const void *))
{
    if (n < 2) {
        return;
    }

    void **from = pointers;
    void **other = xmalloc(n * sizeof *other);
    void **to = other;

    for (size_t width = 1; width < n; width *= 2) {
        for (size_t first = 0; first < n; first += 2 * width) {
            merge(from, to, first, MIN(first + width, n),
                  MIN(first + 2 * width, n), compare);
        }

        void **tmp = from;
        from = to;
        to = tmp;
    }
    if (from != pointers) {
        memcpy(pointers, from, n * sizeof *from);
    }
    free(other);
}

static int
compare_cidrs(const void *a_, const void *b_)
{
    const struct adp_cidr *const *a = a_;
    const struct adp_cidr *const *b = b_;

    return adp_cidr_compare(*a, *b);
}

struct adp_cidr *
adp_sorted_cidrs(const struct adp_cidr *cidrs, size_t n)
{
    const struct adp_cidr **pointers = xmalloc((n + 1) * sizeof *pointers);
    struct adp_cidr *sorted = xmalloc((n + 1) * sizeof *sorted);

    for (size_t i = 0; i < n; i++) {
        pointers[i] = &cidrs[i];
    }
    adp_sort_pointers(pointers, n, compare_cidrs);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = *pointers[i];
        adp_pause_amid(i);
    }
    free(pointers);
    return sorted;
}

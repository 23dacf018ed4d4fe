/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PREFETCH_H
#define ADP_PREFETCH_H 1

/* Memory of more than a cache line that is fetched ahead.
 *
 * Thread-safety: any thread; nothing is read. */

#include <stddef.h>
#include "util.h"

/* Starts to fetch 'n' lines from 'p' on. */
static inline void
adp_prefetch_lines(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        OVS_PREFETCH((const char *) p + i * CACHE_LINE_SIZE);
    }
}

#endif /* adp-prefetch.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef COLLECT_ALL_H
#define COLLECT_ALL_H 1

/* Credits everything that was counted before the call. */

#include "adp-store.h"

static inline void
collect_all(struct adp_collector *c)
{
    if (adp_collector_is_amid(c)) {
        ck_assert(adp_collector_run(c, SIZE_MAX));
    }
    ck_assert(adp_collector_run(c, SIZE_MAX));
}

#endif /* collect-all.h */

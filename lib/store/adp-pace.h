/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PACE_H
#define ADP_PACE_H 1

/* How far a hand that looks at one thing after the other, to see what is out
 * of use, has to move so that it gets round in a fixed time.
 *
 * Thread-safety: the caller's. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util.h"

#define ADP_PACE_ROUND_MS 12000

/* All zeros at first. */
struct adp_pace {
    long long int last_ms;
    long long int round_ms;             /* When the present round began, */
    size_t n_round;                     /* with how many things. */
    uint64_t owed;                      /* Things that should have been looked
                                         * at, times ADP_PACE_ROUND_MS. */
};

/* The number of things to look at now, of 'n_all' that there are: up to
 * '*left', from which it is taken.  What is beyond is owed, up to all of them:
 * whom nothing is left should come back soon. */
static inline size_t
adp_pace(struct adp_pace *pace, long long int now_ms, size_t n_all,
         size_t *left)
{
    const long long int ms = now_ms - pace->last_ms;
    const bool begins = !pace->last_ms || ms < 0 || !n_all;

    if (now_ms - pace->round_ms >= ADP_PACE_ROUND_MS || ms < 0) {
        pace->round_ms = now_ms;
        pace->n_round = 0;
    }
    /* Those that leave don't make it slower. */
    pace->n_round = MAX(pace->n_round, n_all);
    pace->last_ms = now_ms;
    if (begins) {
        pace->owed = 0;
        return 0;
    }

    pace->owed += (uint64_t) pace->n_round * MIN(ms, ADP_PACE_ROUND_MS);
    pace->owed = MIN(pace->owed, (uint64_t) n_all * ADP_PACE_ROUND_MS);
    size_t n = MIN(pace->owed / ADP_PACE_ROUND_MS, *left);
    pace->owed -= (uint64_t) n * ADP_PACE_ROUND_MS;
    *left -= n;
    return n;
}

#endif /* adp-pace.h */

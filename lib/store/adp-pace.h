/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PACE_H
#define ADP_PACE_H 1

/* How far a hand that looks at one thing after the other, to see what is out
 * of use, has to move so that it gets round in a fixed time.
 *
 * Thread-safety: the caller's. */

#include <stddef.h>
#include "util.h"

#define ADP_PACE_ROUND_MS 12000

/* All zeros at first. */
struct adp_pace {
    long long int last_ms;
    long long int round_ms;             /* When the present round began, */
    size_t n_round;                     /* with how many things. */
};

/* The number of things to look at now, of 'n_all' that there are, up to
 * 'max'. */
static inline size_t
adp_pace(struct adp_pace *pace, long long int now_ms, size_t n_all,
         size_t max)
{
    long long int ms = now_ms - pace->last_ms;

    if (now_ms - pace->round_ms >= ADP_PACE_ROUND_MS || ms < 0) {
        pace->round_ms = now_ms;
        pace->n_round = 0;
    }
    /* Those that leave don't make it slower. */
    pace->n_round = MAX(pace->n_round, n_all);
    if (!pace->last_ms || ms < 0 || !n_all) {
        pace->last_ms = now_ms;
        return 0;
    }
    ms = MIN(ms, ADP_PACE_ROUND_MS);
    size_t n = pace->n_round * ms / ADP_PACE_ROUND_MS;
    if (n) {
        /* What is left over counts next time. */
        pace->last_ms = now_ms - (ms - (long long int) n * ADP_PACE_ROUND_MS
                                       / (long long int) pace->n_round);
    }
    return MIN(n, max);
}

#endif /* adp-pace.h */

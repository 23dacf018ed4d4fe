/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_BENCH_MATCH_TIME_H
#define TESTS_BENCH_MATCH_TIME_H 1

/* Cycles, or nanoseconds where the machine has no such counter. */

#include <stdint.h>
#include "timeval.h"
#include "util.h"

static inline uint64_t
bench_cycles(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec ts;

    xclock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
#endif
}

/* The same so that nothing before or after slips into what is measured. */

static inline void
bench_fence(void)
{
#ifdef __x86_64__
    __builtin_ia32_lfence();
#endif
}

static inline uint64_t
bench_cycles_start(void)
{
    uint64_t now;

    bench_fence();
    now = bench_cycles();
    bench_fence();
    return now;
}

static inline uint64_t
bench_cycles_end(void)
{
    return bench_cycles_start();
}

/* What an empty measurement takes. */
static inline uint64_t
bench_cycles_overhead(void)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < 1000; i++) {
        uint64_t start = bench_cycles_start();

        least = MIN(least, bench_cycles_end() - start);
    }
    return least;
}

#endif /* bench-match-time.h */

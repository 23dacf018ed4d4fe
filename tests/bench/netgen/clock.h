/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NET_GEN_CLOCK_H
#define NET_GEN_CLOCK_H 1

#include <stdint.h>
#include <time.h>

static inline uint64_t
net_gen_clock_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

#endif /* clock.h */

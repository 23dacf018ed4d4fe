/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_COUNT_H
#define ADP_COUNT_H 1

/* Counters that packet threads write and the main thread reads.
 *
 * Thread-safety: all of it from any thread; none of it orders other memory.
 * Cost: adp_count() is a locked operation, the others are plain ones.
 */

#include "ovs-atomic.h"
#include "openvswitch/util.h"

static inline void
adp_count(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t orig;

    atomic_add_relaxed(counter, n, &orig);
}

/* For a counter that no other thread writes.  -1 takes one away: the sum
 * wraps. */
static inline void
adp_count_mine(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t value;

    atomic_read_relaxed(counter, &value);
    atomic_store_relaxed(counter, value + n);
}

static inline uint64_t
adp_counted(const atomic_uint64_t *counter)
{
    uint64_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, counter), &value);
    return value;
}

#endif /* adp-count.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_SOURCES_H
#define CONNTRACK_SOURCES_H 1

/* How many connections of a list each source address has: for
 * conntrack-half-open.c, which asks who is to be spared when some have to
 * leave.
 *
 * Sources are counted in two rows of slots, by two hashes of their addresses:
 * two that share a slot in one row don't in the other.  A source that has no
 * more than a quarter of what sources have on average, by the row where it has
 * less, is spared.  In each row these have no more than a quarter of all
 * connections.  So all that is spared is no more than half of the list,
 * whatever the sources do, and for each connection that leaves the thread
 * looks, in the long run, at no more than two.
 *
 * Thread-safety: one thread at a time counts those that enter, any those that
 * leave, and one asks who is spared; any may ask how many one source has. */

#include "conntrack-private.h"
#include "hash.h"
#include "ovs-atomic.h"

#define SOURCE_ROWS 2
#define SOURCE_SLOTS 1024
BUILD_ASSERT_DECL((uint64_t) SOURCE_SLOTS * SOURCE_SLOTS <= UINT32_MAX);

struct sources {
    atomic_uint32_t left[SOURCE_ROWS][SOURCE_SLOTS];
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE)
    atomic_uint32_t entered[SOURCE_ROWS][SOURCE_SLOTS];

    /* Of the thread that asks: when it looked, less those that left since. */
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) uint32_t n[SOURCE_ROWS][SOURCE_SLOTS];
    uint32_t max_spared;
};

/* Stands for the sender of the connection's first packet.  Nobody can choose
 * his slots, or another's. */
static uint32_t
source_of(const struct conntrack *ct, const struct conn *conn)
{
    return conntrack_hash_address(&conn->key.src.addr, ct->hash_basis)
           % (SOURCE_SLOTS * SOURCE_SLOTS);
}

static inline uint32_t
source_slot(uint32_t source, size_t row)
{
    return row ? source / SOURCE_SLOTS : source % SOURCE_SLOTS;
}

static void
sources_init(struct sources *s)
{
    for (size_t row = 0; row < SOURCE_ROWS; row++) {
        for (size_t i = 0; i < SOURCE_SLOTS; i++) {
            atomic_init(&s->left[row][i], 0);
            atomic_init(&s->entered[row][i], 0);
        }
    }
}

static void
sources_enter(struct sources *s, uint32_t source)
{
    for (size_t row = 0; row < SOURCE_ROWS; row++) {
        atomic_uint32_t *entered = &s->entered[row][source_slot(source, row)];
        uint32_t n;

        atomic_read_relaxed(entered, &n);
        atomic_store_relaxed(entered, n + 1);
    }
}

static void
sources_leave(struct sources *s, uint32_t source)
{
    for (size_t row = 0; row < SOURCE_ROWS; row++) {
        uint32_t orig;

        atomic_add_explicit(&s->left[row][source_slot(source, row)], 1, &orig,
                            memory_order_release);
    }
}

/* What 'entered' counts less what 'left' does, which is part of it. */
static inline uint32_t
count_between(const atomic_uint32_t *entered, const atomic_uint32_t *left)
{
    uint32_t n_left, n_entered;

    /* In this order: who leaves has entered. */
    atomic_read_explicit(left, &n_left, memory_order_acquire);
    atomic_read_relaxed(entered, &n_entered);
    return n_entered - n_left;
}

/* How many there are of 'source', or a few more. */
static uint32_t
sources_count(const struct sources *s, uint32_t source)
{
    uint32_t least = UINT32_MAX;

    for (size_t row = 0; row < SOURCE_ROWS; row++) {
        uint32_t slot = source_slot(source, row);

        least = MIN(least, count_between(&s->entered[row][slot],
                                         &s->left[row][slot]));
    }
    return least;
}

/* Takes a look, for the next calls. */
static void
sources_look(struct sources *s)
{
    uint32_t n_used = 0, n = 0;

    for (size_t row = 0; row < SOURCE_ROWS; row++) {
        for (size_t i = 0; i < SOURCE_SLOTS; i++) {
            s->n[row][i] = count_between(&s->entered[row][i],
                                         &s->left[row][i]);
        }
    }
    for (size_t i = 0; i < SOURCE_SLOTS; i++) {
        n += s->n[0][i];
        n_used += s->n[0][i] != 0;
    }
    s->max_spared = n_used ? n / n_used / 4 : 0;
}

static bool
source_is_spared(const struct sources *s, uint32_t source)
{
    for (size_t row = 0; row < SOURCE_ROWS; row++) {
        if (s->n[row][source_slot(source, row)] <= s->max_spared) {
            return true;
        }
    }
    return false;
}

/* A connection of the source has to leave. */
static void
source_loses_one(struct sources *s, uint32_t source)
{
    for (size_t row = 0; row < SOURCE_ROWS; row++) {
        s->n[row][source_slot(source, row)]--;
    }
}

#endif /* conntrack-sources.h */

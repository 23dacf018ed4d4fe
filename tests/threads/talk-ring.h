/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from one thread to another that order nothing else.
 *
 * Two packet threads of a daemon learn of each other's packets by cables, not
 * by memory.  ThreadSanitizer takes a lock, or an atomic operation that isn't
 * relaxed, for an order of all that was done before and after; a queue made
 * of these would hide the races that it is here to find.  So a message is a
 * handful of words that are written and read relaxed, and a hash tells whether
 * they belong together.
 *
 * Any thread may write; one at a time reads.  A message that finds the ring
 * full takes an older one's place: packets may get lost. */

#ifndef TALK_RING_H
#define TALK_RING_H 1

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "hash.h"
#include "ovs-atomic.h"

#define TALK_RING_SIZE 1024             /* A power of 2. */
#define TALK_WORDS 8

struct talk_slot {
    atomic_uint64_t words[TALK_WORDS];
    atomic_uint64_t check;              /* Over the place and the words. */
};

struct talk_ring {
    atomic_uint64_t head;               /* Places given out. */
    uint64_t tail;                      /* The reader's. */
    struct talk_slot slots[TALK_RING_SIZE];
};

static inline uint64_t
talk_check(uint64_t place, const uint64_t words[TALK_WORDS])
{
    /* (Slots begin as zeros.) */
    return ((uint64_t) hash_bytes64(words, TALK_WORDS * 8, place) << 32
            | (uint32_t) (place + 1));
}

static inline void
talk_ring_put(struct talk_ring *r, const uint64_t words[TALK_WORDS])
{
    uint64_t place;

    atomic_add_relaxed(&r->head, 1, &place);

    struct talk_slot *slot = &r->slots[place % TALK_RING_SIZE];
    for (size_t i = 0; i < TALK_WORDS; i++) {
        atomic_store_relaxed(&slot->words[i], words[i]);
    }
    atomic_store_relaxed(&slot->check, talk_check(place, words));
}

static inline bool
talk_ring_get(struct talk_ring *r, uint64_t words[TALK_WORDS])
{
    uint64_t head;

    atomic_read_relaxed(&r->head, &head);
    if (head - r->tail > TALK_RING_SIZE / 2) {
        r->tail = head - TALK_RING_SIZE / 2;    /* Some are lost. */
    }
    if (r->tail >= head) {
        return false;
    }

    struct talk_slot *slot = &r->slots[r->tail % TALK_RING_SIZE];
    uint64_t check;
    for (size_t i = 0; i < TALK_WORDS; i++) {
        atomic_read_relaxed(&slot->words[i], &words[i]);
    }
    atomic_read_relaxed(&slot->check, &check);
    if (check != talk_check(r->tail, words)) {
        return false;                   /* Still being written. */
    }
    r->tail++;
    return true;
}

#endif /* talk-ring.h */

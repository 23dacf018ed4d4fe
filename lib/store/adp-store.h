/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STORE_H
#define ADP_STORE_H 1

/* The verdicts that a packet thread keeps, and their counters' way to the
 * thread that collects them.
 *
 * Life of a verdict
 * =================
 *
 * A store has a fixed number of slots.  A verdict gets one, with the number of
 * its life, and is found again by the hash of its content, so that all packets
 * with that content share it.  Whoever wants to come back to it (sessions,
 * cached walks) keeps a token, struct adp_token, which holds nothing: when the
 * verdict leaves, its tokens are worth nothing any more.
 *
 * It leaves
 *
 *   - ADP_STORE_IDLE_MS after its last packet, and the time that
 *     adp_store_age() takes to get round (adp-pace.h),
 *   - when it was found overtaken by a change,
 *   - within half a second or so, when somebody waits for the end of what it
 *     refers to, if its thread comes as often as adp_store_hurries() tells,
 *   - when the store is full and another one comes: of a few that are picked
 *     at random the one that was longest without a packet,
 *   - when its owner (the bridge) goes.
 *
 * After a grace period, in which readers of what it refers to leave, the
 * collector takes the last of its counters, calls release() and gives the slot
 * back.  There are more slots than verdicts for those on that way; if the
 * collector doesn't keep up a verdict is refused, which is counted.
 *
 * Counters
 * ========
 *
 * Only the owning thread writes the counters of a verdict, and never resets
 * them; the collector remembers what it has credited.  It learns where to look
 * from a list: time is divided in rounds, and the first packet of a round puts
 * the verdict's slot on the round's list.  The collector asks for a new round,
 * the thread takes that up before its next batch, and then the list of the one
 * before is complete, is read a last time and is empty.  So no packet needs an
 * atomic operation, a collection costs what was active, and it holds every
 * packet counted before it began.
 *
 * Bounds
 * ======
 *
 * Slots, their index and both lists are reserved at the beginning and get
 * memory as they are used; free slots at the end give it back.
 *
 * Thread-safety: functions of a store are its thread's, but for
 * adp_store_add_counts(); functions of the collector are for one thread.
 * Whoever uses a store is an RCU reader.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "adp-token.h"
#include "ovs-atomic.h"
#include "util.h"

/* The first line of each verdict.  What follows is the caller's. */
struct adp_stored {
    ATOMIC(void *) owner;               /* NULL once that is gone. */

    /* Validity: in generation 'generation' of the program the newest change
     * that matters was in generation 'changed' (the low bits of both). */
    uint32_t generation, changed;
    uint32_t ports_serial;
    uint32_t life;                      /* 0: none lives here. */
    uint32_t listed;                    /* The round whose list has it. */
    bool overtaken;                     /* Good for nothing any more. */
    bool on_learn;                      /* A learned flow may matter. */

    /* Counters.  Written by the store's thread. */
    atomic_uint16_t tcp_flags;
    atomic_uint64_t n_packets, n_bytes;
    atomic_llong used;

    void *aux;                          /* The caller's. */
};
BUILD_ASSERT_DECL(sizeof(struct adp_stored) <= CACHE_LINE_SIZE);

/* Notes that in 'generation' of the program the newest change that matters was
 * in generation 'changed'.  One that is long past counts as somewhat less so:
 * no token is that old, and the low bits can be compared. */
static inline void
adp_stored_set_changed(struct adp_stored *v, uint64_t generation,
                       uint64_t changed)
{
    const uint64_t longest = UINT32_C(1) << 30;

    v->generation = generation;
    v->changed = (generation > longest ? MAX(changed, generation - longest)
                  : changed);
}

/* True if no change that matters came after 'token' was found right. */
static inline bool
adp_stored_is_unchanged(const struct adp_stored *v,
                        const struct adp_token *token)
{
    return (int32_t) (token->generation - v->changed) >= 0;
}

#define ADP_STORE_IDLE_MS 20000

/* What the collector does with verdicts. */
struct adp_store_class {
    size_t size;                        /* Of a verdict; whole lines. */

    /* Credits what was counted since the last time. */
    void (*credit)(struct adp_stored *, uint64_t n_packets, uint64_t n_bytes);

    /* May be NULL.  Starts to fetch what credit() reads beside the verdict. */
    void (*prefetch)(const struct adp_stored *);

    /* Gives back all that the verdict refers to.  Nobody sees it any more. */
    void (*release)(struct adp_stored *);

    /* May be NULL.  Does somebody wait for the end of something that verdicts
     * may refer to; and does this one, which is in use?  In the store's
     * thread. */
    bool (*is_awaited)(void);
    bool (*has_awaited)(const struct adp_stored *);
};

struct adp_collector;
struct adp_store;

/* Here for the inline functions alone. */
struct adp_store_public {
    char *slots;
    size_t size;                        /* Of a slot. */
    uint32_t round;
};

/* With room for 'max' verdicts. */
struct adp_store *adp_store_create(struct adp_collector *, size_t max);
/* All verdicts leave.  The collector frees the rest. */
void adp_store_destroy(struct adp_store *);

static inline struct adp_stored *
adp_store_at(const struct adp_store *store_, uint32_t slot)
{
    const struct adp_store_public *store
        = (const struct adp_store_public *) store_;

    return (struct adp_stored *) (void *) (store->slots + slot * store->size);
}

/* The verdict that 'token' is of, or NULL.  What it refers to stays for the
 * RCU period. */
static inline struct adp_stored *
adp_store_get(const struct adp_store *store, const struct adp_token *token)
{
    struct adp_stored *v = adp_store_at(store, token->slot);
    void *owner;

    /* Without an owner it was released, and leaves. */
    atomic_read_explicit(&v->owner, &owner, memory_order_acquire);
    return OVS_LIKELY(v->life == token->life && owner) ? v : NULL;
}

uint32_t adp_store_slot(const struct adp_store *, const struct adp_stored *);

/* Verdicts with 'hash', one after the other, beginning with 'prev' NULL.
 * Those that are overtaken aren't among them. */
struct adp_stored *adp_store_next_with_hash(const struct adp_store *,
                                            uint32_t hash,
                                            const struct adp_stored *prev);

/* A verdict with 'hash', about 'owner', used 'now_ms'; all but the first line
 * is undefined, and so is 'aux'.  NULL if it is refused.  What the caller puts
 * in is for the collector from the first adp_store_count() on, and from
 * adp_collector_forget() of another thread, so the caller must not let go of
 * the RCU period before it is complete. */
struct adp_stored *adp_store_add(struct adp_store *, uint32_t hash,
                                 void *owner, long long int now_ms);

/* To be called before the verdicts of a batch are counted, and when there is
 * nothing to do. */
void adp_store_begin(struct adp_store *);
void adp_store_end(struct adp_store *);

/* Looks for verdicts that nobody uses; to be called often.  Cost, and
 * '*left': as adp_sessions_age(). */
void adp_store_age(struct adp_store *, long long int now_ms, size_t *left);
/* Does somebody wait for the end of what verdicts may refer to?  Then that
 * should be called every few milliseconds. */
bool adp_store_hurries(const struct adp_store *);

void adp_store_list(struct adp_store *, struct adp_stored *);

/* Counts packets. */
static inline void
adp_store_count(struct adp_store *store, struct adp_stored *v,
                uint64_t n_packets, uint64_t n_bytes, uint16_t tcp_flags,
                long long int now_ms)
{
    const struct adp_store_public *public
        = (const struct adp_store_public *) store;
    uint64_t packets, bytes;
    uint16_t flags;

    atomic_read_relaxed(&v->n_bytes, &bytes);
    atomic_store_relaxed(&v->n_bytes, bytes + n_bytes);
    atomic_store_relaxed(&v->used, now_ms);
    atomic_read_relaxed(&v->tcp_flags, &flags);
    if (tcp_flags & ~flags) {
        atomic_store_relaxed(&v->tcp_flags, flags | tcp_flags);
    }
    atomic_read_relaxed(&v->n_packets, &packets);
    atomic_store_explicit(&v->n_packets, packets + n_packets,
                          memory_order_release);
    if (OVS_UNLIKELY(v->listed != public->round)) {
        adp_store_list(store, v);
    }
}

/* Notes that 'v' is in use without a packet of its own. */
static inline void
adp_store_touch(struct adp_stored *v, long long int now_ms)
{
    atomic_store_relaxed(&v->used, now_ms);
}

struct adp_store_counts {
    uint64_t n_verdicts;
    uint64_t n_leaving;                 /* Waiting for the collector. */
    uint64_t n_bytes;                   /* Of slots that have memory. */
    uint64_t n_idle;                    /* Left unused, ever. */
    uint64_t n_evicted;                 /* Left for want of room, ever. */
    uint64_t n_refused;                 /* Found no room, ever. */
};
/* Any thread; adds to '*counts'. */
void adp_store_add_counts(const struct adp_store *, struct adp_store_counts *);

/* Collecting. */

struct adp_collector *adp_collector_create(const struct adp_store_class *);
/* Unit tests.  All stores have been destroyed. */
void adp_collector_destroy(struct adp_collector *);

/* Goes on with the present collection, or begins one.  Looks at some 'n'
 * verdicts.  Returns true when it has come to an end: everything is credited
 * that was counted before it began. */
bool adp_collector_run(struct adp_collector *, size_t n);

/* Without one, gives slots of verdicts that have left back, some 'n'.  Returns
 * true if none is left. */
bool adp_collector_release(struct adp_collector *, size_t n);

/* True if a collection has begun and not ended. */
bool adp_collector_is_amid(const struct adp_collector *);

/* 'owner' goes, and no thread enters it any more: credits the last and
 * releases. */
void adp_collector_forget(struct adp_collector *, const void *owner);

#endif /* adp-store.h */

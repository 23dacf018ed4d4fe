/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STORE_PRIVATE_H
#define ADP_STORE_PRIVATE_H 1

/* What the two sides of a store, its thread (adp-store.c) and the collector
 * (adp-collect.c), share. */

#include "adp-pace.h"
#include "adp-store.h"
#include "mpsc-queue.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"

/* Behind each verdict. */
struct adp_store_record {
    struct mpsc_queue_node node;        /* On its way to the collector, or
                                         * back. */
    struct adp_store *store;
    uint32_t hash, next;                /* Slot + 1 of the next one of the
                                         * hash, or 0. */
    /* The collector's. */
    uint64_t n_packets, n_bytes;        /* Credited. */
};

struct adp_store {
    struct adp_store_public public;     /* First. */
    struct adp_collector *collector;
    const struct adp_store_class *class;
    uint32_t max, n_slots;

    /* The index: for each hash slot + 1 of the first, or 0. */
    uint32_t *heads;
    uint32_t hash_mask;

    /* Free slots, a bit each; and the words of these that aren't 0. */
    uint64_t *free_words, *free_summary;
    atomic_uint32_t n_used;             /* Slots beyond are free. */
    uint32_t n_touched;                 /* Slots beyond have no memory. */
    uint32_t drop_round;                /* When some lost theirs. */

    uint32_t next_life;
    uint32_t age_hand;
    struct adp_pace pace;               /* Of 'age_hand'. */
    uint32_t awaited_hand;
    struct adp_pace awaited_pace;       /* Of 'awaited_hand'. */

    /* Slots that packets were counted in, by parity of the round. */
    uint32_t *lists[2];
    size_t list_max;
    atomic_uint32_t n_listed[2];
    atomic_uint32_t round;              /* That the thread is in. */
    atomic_uint32_t wanted_round;       /* By the collector. */
    atomic_uint32_t activity;           /* Odd within a batch. */

    struct mpsc_queue returned;         /* struct adp_store_record. */

    /* Statistics: written by the thread but for 'n_leaving'. */
    atomic_uint64_t n_live, n_idle, n_evicted, n_refused, n_bytes;
    atomic_uint64_t n_leaving;

    /* The thread has left, and a grace period is over. */
    atomic_bool abandoned;

    /* The collector's. */
    struct ovs_list list_node;          /* In its 'stores'. */
    uint32_t closed_round;              /* Up to which all is credited. */
    uint32_t seen_activity, seen_round; /* When all was credited. */
};

struct adp_collector {
    const struct adp_store_class *class;
    struct ovs_mutex mutex;
    struct ovs_list stores OVS_GUARDED;
    struct mpsc_queue leaving;          /* struct adp_store_record. */

    /* The present collection. */
    bool amid;
    bool clearing;                      /* Of stores whose threads left, which
                                         * comes first. */
    struct adp_store *dissolving;       /* One of these, or NULL. */
    uint32_t dissolved;                 /* Its slots up to here are. */
    struct adp_store *at;               /* The store, or NULL: between two. */
    struct adp_store *last;             /* The one before; NULL: none. */
    uint32_t activity, round;           /* Of 'at'. */
    bool nothing_new;                   /* Since 'at' was credited. */
    uint32_t list;                      /* The round whose list is read. */
    uint32_t next, end;                 /* In that. */
};

static inline struct adp_store_record *
adp_store_record(const struct adp_store *store, uint32_t slot)
{
    return (struct adp_store_record *) (void *)
        ((char *) adp_store_at(store, slot) + store->class->size);
}

static inline struct adp_stored *
adp_store_of_record(const struct adp_store_record *record)
{
    return (struct adp_stored *) (void *)
        ((char *) record - record->store->class->size);
}

void adp_store_free(struct adp_store *);

void adp_collector_add(struct adp_collector *, struct adp_store *);

#endif /* adp-store-private.h */

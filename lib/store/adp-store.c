/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-store-private.h"

#include <errno.h>
#include <string.h>
#include "adp-count.h"
#include "adp-reserve.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "random.h"

VLOG_DEFINE_THIS_MODULE(adp_store);

/* Where memory is short, the store has room for fewer verdicts, but not for
 * less than these. */
#define MIN_MAX 1024

/* Looked at to find the one that leaves a full store. */
#define EVICT_SAMPLE 8

/* Slots that come back at a time. */
#define RETURN_MAX 64

/* What somebody waits for is looked for at so many times the pace of what
 * nobody uses, so that the hand gets round in half a second.  A thread that
 * comes seldom looks at no more slots at a time than that. */
#define AWAITED_HASTE 24
#define AWAITED_MAX 8192

/* Slots at the end that are given back at a time. */
#define TRIM_MAX 64

static uint32_t
n_used(const struct adp_store *store)
{
    uint32_t n;

    atomic_read_relaxed(&CONST_CAST(struct adp_store *, store)->n_used, &n);
    return n;
}

/* Free slots. */

static void
set_free(struct adp_store *store, uint32_t slot)
{
    store->free_words[slot / 64] |= UINT64_C(1) << slot % 64;
    store->free_summary[slot / 4096] |= UINT64_C(1) << slot / 64 % 64;
}

static void
set_taken(struct adp_store *store, uint32_t slot)
{
    store->free_words[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    if (!store->free_words[slot / 64]) {
        store->free_summary[slot / 4096] &= ~(UINT64_C(1) << slot / 64 % 64);
    }
}

static bool
is_free(const struct adp_store *store, uint32_t slot)
{
    return store->free_words[slot / 64] >> slot % 64 & 1;
}

/* The lowest free slot, or 'n_slots'. */
static uint32_t
lowest_free(const struct adp_store *store)
{
    for (uint32_t i = 0; i < DIV_ROUND_UP(store->n_slots, 4096); i++) {
        if (store->free_summary[i]) {
            uint32_t word = i * 64 + raw_ctz(store->free_summary[i]);

            return word * 64 + raw_ctz(store->free_words[word]);
        }
    }
    return store->n_slots;
}

/* Takes slots back that the collector is done with. */
static void
take_returned(struct adp_store *store)
{
    struct mpsc_queue_node *node;

    mpsc_queue_acquire(&store->returned);
    for (int i = 0; i < RETURN_MAX
         && (node = mpsc_queue_pop(&store->returned)) != NULL; i++) {
        struct adp_store_record *record
            = CONTAINER_OF(node, struct adp_store_record, node);

        set_free(store, adp_store_slot(store, adp_store_of_record(record)));
    }
    mpsc_queue_release(&store->returned);
}

/* The index. */

uint32_t
adp_store_slot(const struct adp_store *store, const struct adp_stored *v)
{
    return ((const char *) v - store->public.slots) / store->public.size;
}

static struct adp_stored *
next_of_chain(const struct adp_store *store, uint32_t next, uint32_t hash)
{
    while (next) {
        const struct adp_store_record *record
            = adp_store_record(store, next - 1);
        struct adp_stored *v = adp_store_at(store, next - 1);

        if (record->hash == hash && !v->overtaken) {
            return v;
        }
        next = record->next;
    }
    return NULL;
}

struct adp_stored *
adp_store_next_with_hash(const struct adp_store *store, uint32_t hash,
                         const struct adp_stored *prev)
{
    return next_of_chain(
        store, prev ? adp_store_record(store,
                                       adp_store_slot(store, prev))->next
        : store->heads[hash & store->hash_mask], hash);
}

static void
index_add(struct adp_store *store, uint32_t slot, uint32_t hash)
{
    struct adp_store_record *record = adp_store_record(store, slot);
    uint32_t *head = &store->heads[hash & store->hash_mask];

    record->hash = hash;
    record->next = *head;
    *head = slot + 1;
}

static void
index_remove(struct adp_store *store, uint32_t slot)
{
    struct adp_store_record *record = adp_store_record(store, slot);
    uint32_t *p = &store->heads[record->hash & store->hash_mask];

    while (*p != slot + 1) {
        p = &adp_store_record(store, *p - 1)->next;
    }
    *p = record->next;
}

/* Coming and going. */

/* Nobody sees it any more. */
static void
pass_to_collector(struct adp_store_record *record)
{
    mpsc_queue_insert(&record->store->collector->leaving, &record->node);
}

static void
leave(struct adp_store *store, struct adp_stored *v)
{
    uint32_t slot = adp_store_slot(store, v);

    index_remove(store, slot);
    v->life = 0;
    adp_count_mine(&store->n_live, -1);
    adp_count(&store->n_leaving, 1);
    ovsrcu_postpone(pass_to_collector, adp_store_record(store, slot));
}

static long long int
last_use(const struct adp_stored *v)
{
    long long int used;

    atomic_read_relaxed(&CONST_CAST(struct adp_stored *, v)->used, &used);
    return used;
}

/* Of some, lets the one go that is good for nothing, or else was longest
 * without a packet. */
static void
evict(struct adp_store *store)
{
    struct adp_stored *oldest = NULL;

    for (int i = 0, seen = 0; seen < EVICT_SAMPLE && i < 8 * EVICT_SAMPLE;
         i++) {
        struct adp_stored *v = adp_store_at(store,
                                            random_range(n_used(store)));

        if (v->life) {
            seen++;
            if (v->overtaken) {
                oldest = v;
                break;
            }
            if (!oldest || last_use(v) < last_use(oldest)) {
                oldest = v;
            }
        }
    }
    if (oldest) {
        leave(store, oldest);
        adp_count_mine(&store->n_evicted, 1);
    }
}

static void
note_touched(struct adp_store *store, uint32_t n)
{
    store->n_touched = n;
    atomic_store_relaxed(&store->n_bytes,
                         (uint64_t) n * store->public.size + sizeof *store);
}

struct adp_stored *
adp_store_add(struct adp_store *store, uint32_t hash, void *owner,
              long long int now)
{
    take_returned(store);
    if (adp_counted(&store->n_live) >= store->max) {
        evict(store);
    }

    uint32_t slot = lowest_free(store);
    if (slot >= store->n_slots || adp_counted(&store->n_live) >= store->max) {
        adp_count_mine(&store->n_refused, 1);
        return NULL;
    }
    set_taken(store, slot);
    if (slot >= n_used(store)) {
        atomic_store_explicit(&store->n_used, slot + 1, memory_order_release);
    }
    if (slot >= store->n_touched) {
        note_touched(store, slot + 1);
    }

    /* Its counters, and what of them was credited, go on. */
    struct adp_stored *v = adp_store_at(store, slot);
    adp_store_record(store, slot)->store = store;
    index_add(store, slot, hash);
    v->generation = v->changed = v->ports_serial = 0;
    v->overtaken = v->on_learn = false;
    v->life = store->next_life++;
    if (!store->next_life) {
        store->next_life = 1;
    }
    atomic_store_relaxed(&v->tcp_flags, 0);
    atomic_store_relaxed(&v->used, now);
    atomic_store_explicit(&v->owner, owner, memory_order_release);
    adp_count_mine(&store->n_live, 1);
    return v;
}

/* Rounds. */

static void
take_up_round(struct adp_store *store)
{
    uint32_t wanted;

    atomic_read_explicit(&store->wanted_round, &wanted, memory_order_acquire);
    if (OVS_UNLIKELY(wanted != store->public.round)) {
        atomic_store_relaxed(&store->n_listed[wanted & 1], 0);
        store->public.round = wanted;
        atomic_store_explicit(&store->round, wanted, memory_order_release);
    }
}

static void
add_activity(struct adp_store *store)
{
    uint32_t activity;

    atomic_read_relaxed(&store->activity, &activity);
    atomic_store_explicit(&store->activity, activity + 1,
                          memory_order_release);
}

void
adp_store_begin(struct adp_store *store)
{
    add_activity(store);
    take_up_round(store);
}

void
adp_store_end(struct adp_store *store)
{
    add_activity(store);
}

void
adp_store_list(struct adp_store *store, struct adp_stored *v)
{
    uint32_t round = store->public.round;
    uint32_t n;

    atomic_read_relaxed(&store->n_listed[round & 1], &n);
    if (n < store->list_max) {
        store->lists[round & 1][n] = adp_store_slot(store, v);
        atomic_store_explicit(&store->n_listed[round & 1], n + 1,
                              memory_order_release);
        v->listed = round;
    }
}

/* Growing old. */

/* Gives back slots at the end that are free, and their memory once no list
 * names them any more. */
static void
trim(struct adp_store *store)
{
    const size_t size = store->public.size;
    uint32_t n = n_used(store);

    for (int i = 0; i < TRIM_MAX && n && is_free(store, n - 1); i++) {
        n--;
    }
    if (n != n_used(store)) {
        atomic_store_relaxed(&store->n_used, n);
        store->drop_round = store->public.round;
    }

    size_t from = ROUND_UP(n * size, ADP_RESERVE_PIECE);
    size_t to = store->n_touched * size;
    if (from < to && store->public.round - store->drop_round >= 2) {
        from = MAX(from, ROUND_DOWN(to - 1, ADP_RESERVE_PIECE));
        adp_reserve_drop(store->public.slots, from, to);
        /* A slot across the edge loses all of what it holds: its counters
         * would be credited anew without what of them was credited. */
        memset(store->public.slots + from / size * size, 0, from % size);
        note_touched(store, from / size);
        store->drop_round = store->public.round;
    }
}

static bool
is_of_use(const struct adp_stored *v, long long int now)
{
    void *owner;

    atomic_read_relaxed(&CONST_CAST(struct adp_stored *, v)->owner, &owner);
    return owner && !v->overtaken && now < last_use(v) + ADP_STORE_IDLE_MS;
}

/* What is at 'hand', which goes round. */
static struct adp_stored *
next_at(struct adp_store *store, uint32_t *hand)
{
    if (*hand >= n_used(store)) {
        *hand = 0;
    }
    return adp_store_at(store, (*hand)++);
}

bool
adp_store_hurries(const struct adp_store *store)
{
    const struct adp_store_class *class = store->class;

    return (class->is_awaited && class->is_awaited()
            && adp_counted(&store->n_live));
}

/* Lets those go that refer to what somebody waits for. */
static void
leave_awaited(struct adp_store *store, long long int now, size_t *left)
{
    const struct adp_store_class *class = store->class;
    /* The clock goes on while nobody waits, or a thread that is busy would
     * have many to look at when somebody begins to. */
    size_t n_all = adp_store_hurries(store) ? n_used(store) : 0;
    size_t max = MIN(*left, AWAITED_MAX);
    size_t n = adp_pace(&store->awaited_pace, now * AWAITED_HASTE, n_all,
                        &max);

    *left -= n;
    for (size_t i = 0; i < n; i++) {
        struct adp_stored *v = next_at(store, &store->awaited_hand);
        void *owner;

        /* Without one it was released. */
        atomic_read_explicit(&v->owner, &owner, memory_order_acquire);
        if (v->life && owner && class->has_awaited(v)) {
            leave(store, v);
        }
    }
}

void
adp_store_age(struct adp_store *store, long long int now, size_t *left)
{
    take_up_round(store);
    take_returned(store);
    leave_awaited(store, now, left);

    size_t n = adp_pace(&store->pace, now, n_used(store), left);
    for (size_t i = 0; i < n && n_used(store); i++) {
        struct adp_stored *v = next_at(store, &store->age_hand);

        if (v->life && !is_of_use(v, now)) {
            leave(store, v);
            adp_count_mine(&store->n_idle, 1);
        }
    }
    trim(store);
}

/* The whole. */

static size_t
heads_size(const struct adp_store *store)
{
    return (store->hash_mask + UINT64_C(1)) * sizeof *store->heads;
}

static size_t
list_size(const struct adp_store *store)
{
    return store->list_max * sizeof *store->lists[0];
}

static void
release_all(struct adp_store *store)
{
    adp_unreserve(store->public.slots, store->n_slots * store->public.size);
    adp_unreserve(store->heads, heads_size(store));
    adp_unreserve(store->lists[0], list_size(store));
    adp_unreserve(store->lists[1], list_size(store));
}

/* Room for 'max' verdicts.  Fails only if it could be less. */
static bool
reserve_all(struct adp_store *store, uint32_t max)
{
    void *(*reserve)(size_t) = (max > MIN_MAX ? adp_reserve
                                : adp_reserve_small);

    store->max = max;
    store->n_slots = max + max / 4 + 1;
    store->hash_mask = (UINT64_C(1) << log_2_ceil(MAX(max, 2))) - 1;
    /* A slot is listed twice in a round if it lost its memory in between. */
    store->list_max = 2 * (size_t) store->n_slots;

    store->public.slots = reserve(store->n_slots * store->public.size);
    store->heads = reserve(heads_size(store));
    store->lists[0] = reserve(list_size(store));
    store->lists[1] = reserve(list_size(store));
    if (store->public.slots && store->heads && store->lists[0]
        && store->lists[1]) {
        return true;
    }
    release_all(store);
    return false;
}

struct adp_store *
adp_store_create(struct adp_collector *collector, size_t max)
{
    struct adp_store *store = xzalloc_cacheline(sizeof *store);
    uint32_t fit = max;
    int error = 0;

    store->collector = collector;
    store->class = collector->class;
    ovs_assert(store->class->size % CACHE_LINE_SIZE == 0);
    store->public.size = (store->class->size
                          + ROUND_UP(sizeof(struct adp_store_record),
                                     CACHE_LINE_SIZE));
    while (!reserve_all(store, fit)) {
        error = errno;
        fit = MAX(fit / 2, MIN_MAX);
    }
    if (fit < max) {
        VLOG_WARN("memory for %"PRIu32" verdicts instead of %"PRIuSIZE" (%s)",
                  fit, max, ovs_strerror(error));
    }

    uint32_t n_words = DIV_ROUND_UP(store->n_slots, 64);
    store->free_words = xcalloc(n_words, sizeof *store->free_words);
    store->free_summary = xcalloc(DIV_ROUND_UP(n_words, 64),
                                  sizeof *store->free_summary);
    for (uint32_t i = 0; i < store->n_slots; i++) {
        set_free(store, i);
    }

    store->public.round = 1;
    atomic_init(&store->round, 1);
    atomic_init(&store->wanted_round, 1);
    store->next_life = 1;
    mpsc_queue_init(&store->returned);
    note_touched(store, 0);
    adp_collector_add(collector, store);
    return store;
}

static void
abandon(struct adp_store *store)
{
    atomic_store_explicit(&store->abandoned, true, memory_order_release);
}

void
adp_store_destroy(struct adp_store *store)
{
    /* Behind the verdicts that left before. */
    ovsrcu_postpone(abandon, store);
}

void
adp_store_free(struct adp_store *store)
{
    mpsc_queue_acquire(&store->returned);
    while (mpsc_queue_pop(&store->returned)) {
        continue;
    }
    mpsc_queue_release(&store->returned);
    mpsc_queue_destroy(&store->returned);
    release_all(store);
    free(store->free_words);
    free(store->free_summary);
    free_cacheline(store);
}

void
adp_store_add_counts(const struct adp_store *store,
                     struct adp_store_counts *counts)
{
    counts->n_verdicts += adp_counted(&store->n_live);
    counts->n_leaving += adp_counted(&store->n_leaving);
    counts->n_bytes += adp_counted(&store->n_bytes);
    counts->n_idle += adp_counted(&store->n_idle);
    counts->n_evicted += adp_counted(&store->n_evicted);
    counts->n_refused += adp_counted(&store->n_refused);
}

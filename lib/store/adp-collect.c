/* SPDX-License-Identifier: Apache-2.0 */

/* Collecting what was counted in the stores, in one thread for all. */

#include <config.h>
#include "adp-store-private.h"

#include "adp-count.h"
#include "adp-prefetch.h"

/* What one verdict costs is mostly waiting for its memory, so that of those
 * behind it is asked for: so many ahead its own, and what it points to. */
enum { FETCH_AHEAD = 8, FETCH_MORE_AHEAD = 4 };

struct adp_collector *
adp_collector_create(const struct adp_store_class *class)
{
    struct adp_collector *c = xzalloc(sizeof *c);

    c->class = class;
    ovs_mutex_init(&c->mutex);
    ovs_list_init(&c->stores);
    mpsc_queue_init(&c->leaving);
    return c;
}

void
adp_collector_add(struct adp_collector *c, struct adp_store *store)
{
    ovs_mutex_lock(&c->mutex);
    ovs_list_push_back(&c->stores, &store->list_node);
    ovs_mutex_unlock(&c->mutex);
}

/* The store after 'store', or the first if that is NULL; or NULL. */
static struct adp_store *
next_store(struct adp_collector *c, const struct adp_store *store)
{
    ovs_mutex_lock(&c->mutex);
    const struct ovs_list *next = (store ? store->list_node.next
                                   : c->stores.next);
    struct adp_store *s = (next == &c->stores ? NULL
                           : CONTAINER_OF(next, struct adp_store, list_node));
    ovs_mutex_unlock(&c->mutex);

    return s;
}

/* One verdict. */

/* True if something is to be credited: until then its thread may be at it.
 * Sets '*n_packets' to what was counted. */
static bool
has_news(const struct adp_store *store, uint32_t slot, uint64_t *n_packets)
{
    atomic_read_explicit(&adp_store_at(store, slot)->n_packets, n_packets,
                         memory_order_acquire);
    return *n_packets != adp_store_record(store, slot)->n_packets;
}

/* Starts to fetch the verdict. */
static void
fetch(const struct adp_store *store, uint32_t slot)
{
    adp_prefetch_lines(adp_store_at(store, slot),
                       store->class->size / CACHE_LINE_SIZE);
    OVS_PREFETCH_WRITE(adp_store_record(store, slot));
}

/* Starts to fetch what it points to, if that will be read. */
static void
fetch_more(const struct adp_store *store, uint32_t slot)
{
    uint64_t n_packets;

    if (has_news(store, slot, &n_packets)) {
        store->class->prefetch(adp_store_at(store, slot));
    }
}

static void
credit(const struct adp_store *store, uint32_t slot)
{
    struct adp_store_record *record = adp_store_record(store, slot);
    struct adp_stored *v = adp_store_at(store, slot);
    uint64_t n_packets, n_bytes;
    void *owner;

    if (!has_news(store, slot, &n_packets)) {
        return;
    }
    atomic_read_relaxed(&v->n_bytes, &n_bytes);
    atomic_read_relaxed(&v->owner, &owner);
    if (owner) {
        store->class->credit(v, n_packets - record->n_packets,
                             n_bytes - record->n_bytes);
    }
    record->n_packets = n_packets;
    record->n_bytes = n_bytes;
}

/* Credits the last of a verdict that has left. */
static void
release(const struct adp_store *store, uint32_t slot)
{
    struct adp_stored *v = adp_store_at(store, slot);
    void *owner;

    credit(store, slot);
    atomic_read_explicit(&v->owner, &owner, memory_order_acquire);
    if (owner) {
        atomic_store_relaxed(&v->owner, NULL);
        store->class->release(v);
    }
}

static bool
take_leaving(struct adp_collector *c, size_t *n)
{
    struct mpsc_queue_node *node = NULL;

    mpsc_queue_acquire(&c->leaving);
    while (*n && (node = mpsc_queue_pop(&c->leaving)) != NULL) {
        struct adp_store_record *record
            = CONTAINER_OF(node, struct adp_store_record, node);
        struct adp_store *store = record->store;

        release(store, adp_store_slot(store, adp_store_of_record(record)));
        mpsc_queue_insert(&store->returned, &record->node);
        adp_count(&store->n_leaving, -1);
        --*n;
    }
    mpsc_queue_release(&c->leaving);
    return *n > 0;
}

/* One store. */

/* Begins with the list that is complete, if there is one. */
static void
begin_store(struct adp_collector *c, struct adp_store *store)
{
    atomic_read_explicit(&store->activity, &c->activity,
                         memory_order_acquire);
    atomic_read_explicit(&store->round, &c->round, memory_order_acquire);
    c->at = store;
    c->next = c->end = 0;
    c->nothing_new = (!(c->activity & 1)
                      && c->activity == store->seen_activity
                      && c->round == store->seen_round);
    if (c->nothing_new) {
        c->list = c->round;
        return;
    }
    c->list = store->closed_round + 1;
    atomic_read_explicit(&store->n_listed[c->list & 1], &c->end,
                         memory_order_acquire);
}

static void
end_store(struct adp_collector *c)
{
    struct adp_store *store = c->at;

    if (!c->nothing_new) {
        store->closed_round = c->round - 1;
        atomic_store_explicit(&store->wanted_round, c->round + 1,
                              memory_order_release);
        store->seen_activity = c->activity;
        store->seen_round = c->round;
    }
    c->last = store;
    c->at = NULL;
}

/* Starts to fetch what those behind the next one of the list need. */
static void
fetch_ahead(const struct adp_collector *c)
{
    const uint32_t *list = c->at->lists[c->list & 1];

    if (c->next + FETCH_AHEAD < c->end) {
        fetch(c->at, list[c->next + FETCH_AHEAD]);
    }
    if (c->class->prefetch && c->next + FETCH_MORE_AHEAD < c->end) {
        fetch_more(c->at, list[c->next + FETCH_MORE_AHEAD]);
    }
}

/* Returns false if 'n' was not enough. */
static bool
collect_store(struct adp_collector *c, size_t *n)
{
    for (;;) {
        for (; c->next < c->end; c->next++) {
            if (!*n) {
                return false;
            }
            --*n;
            fetch_ahead(c);
            credit(c->at, c->at->lists[c->list & 1][c->next]);
        }
        if (c->list == c->round) {
            end_store(c);
            return true;
        }
        c->list++;
        c->next = 0;
        atomic_read_explicit(&c->at->n_listed[c->list & 1], &c->end,
                             memory_order_acquire);
    }
}

/* A store that its thread has left. */

/* Takes 'c->dissolving' apart.  Returns false if 'n' was not enough. */
static bool
dissolve(struct adp_collector *c, size_t *n)
{
    struct adp_store *store = c->dissolving;
    uint32_t n_used;

    atomic_read_relaxed(&store->n_used, &n_used);
    for (; c->dissolved < n_used; c->dissolved++) {
        if (!*n) {
            return false;
        }
        --*n;
        release(store, c->dissolved);
    }
    ovs_mutex_lock(&c->mutex);
    ovs_list_remove(&store->list_node);
    ovs_mutex_unlock(&c->mutex);
    adp_store_free(store);
    c->dissolving = NULL;
    return true;
}

/* The first of them, or NULL. */
static struct adp_store *
next_abandoned(struct adp_collector *c)
{
    struct adp_store *store = NULL;
    bool abandoned = false;

    while (!abandoned && (store = next_store(c, store)) != NULL) {
        atomic_read_explicit(&store->abandoned, &abandoned,
                             memory_order_acquire);
    }
    return store;
}

/* Takes all of them apart.  Returns false if 'n' was not enough. */
static bool
dissolve_abandoned(struct adp_collector *c, size_t *n)
{
    struct adp_store *store;

    do {
        if (c->dissolving && !dissolve(c, n)) {
            return false;
        }
        store = next_abandoned(c);
        /* None of its own must be left there. */
        if (store && !take_leaving(c, n)) {
            return false;
        }
        c->dissolving = store;
        c->dissolved = 0;
    } while (store);
    return true;
}

/* All stores. */

bool
adp_collector_run(struct adp_collector *c, size_t n)
{
    if (!c->amid) {
        c->amid = c->clearing = true;
        c->last = NULL;
        c->at = NULL;
    }
    if (!take_leaving(c, &n)) {
        return false;
    }
    if (c->clearing) {
        if (!dissolve_abandoned(c, &n)) {
            return false;
        }
        c->clearing = false;
    }
    for (;;) {
        if (!c->at) {
            struct adp_store *store = next_store(c, c->last);

            if (!store) {
                c->amid = false;
                return true;
            }
            begin_store(c, store);
        }
        if (!collect_store(c, &n)) {
            return false;
        }
    }
}

bool
adp_collector_release(struct adp_collector *c, size_t n)
{
    return take_leaving(c, &n);
}

bool
adp_collector_is_amid(const struct adp_collector *c)
{
    return c->amid;
}

void
adp_collector_forget(struct adp_collector *c, const void *owner)
{
    struct adp_store *store;

    for (store = next_store(c, NULL); store; store = next_store(c, store)) {
        uint32_t n_used;

        atomic_read_explicit(&store->n_used, &n_used, memory_order_acquire);
        for (uint32_t slot = 0; slot < n_used; slot++) {
            void *its;

            atomic_read_explicit(&adp_store_at(store, slot)->owner, &its,
                                 memory_order_acquire);
            if (its == owner) {
                release(store, slot);
            }
        }
    }
}

void
adp_collector_destroy(struct adp_collector *c)
{
    size_t n = SIZE_MAX;

    dissolve_abandoned(c, &n);
    ovs_assert(ovs_list_is_empty(&c->stores));
    mpsc_queue_destroy(&c->leaving);
    ovs_mutex_destroy(&c->mutex);
    free(c);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-log-ring.h"

#include "adp-rate-limit.h"
#include "adp-waker.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/thread.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "util.h"

struct adp_log_ring {
    struct ovs_list list_node;          /* In 'rings'. */
    atomic_bool closed;

    /* Records 'tail' to 'head' are in the ring, modulo its size. */
    PADDED_MEMBERS(CACHE_LINE_SIZE,
        atomic_uint32_t head;           /* Written by the packet thread, */
        uint32_t known_tail;            /* which knows this of the other. */
    );
    PADDED_MEMBERS(CACHE_LINE_SIZE,
        atomic_uint32_t tail;           /* Written by the main thread. */
    );

    struct adp_rate_limit limits[ADP_LOG_N_BUCKETS + 2];
    struct adp_log_record records[ADP_LOG_RING_SIZE];
};
BUILD_ASSERT_DECL(IS_POW2(ADP_LOG_RING_SIZE));

static struct ovs_mutex rings_mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list rings OVS_GUARDED_BY(rings_mutex)
    = OVS_LIST_INITIALIZER(&rings);

static struct adp_waker waker;

static atomic_uint32_t rate = ADP_LOG_DEFAULT_RATE;

void
adp_log_ring_set_rate(uint32_t new_rate)
{
    atomic_store_relaxed(&rate, MIN(new_rate, ADP_LOG_MAX_RATE));
}

void
adp_log_rings_init(void)
{
    adp_waker_init(&waker);
}

struct adp_log_ring *
adp_log_ring_create(void)
{
    struct adp_log_ring *ring = xzalloc_cacheline(sizeof *ring);

    atomic_init(&ring->closed, false);
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    ovs_mutex_lock(&rings_mutex);
    ovs_list_push_back(&rings, &ring->list_node);
    ovs_mutex_unlock(&rings_mutex);
    return ring;
}

void
adp_log_ring_close(struct adp_log_ring *ring)
{
    /* Before that in adp-waker.h's order, as a record is. */
    atomic_store(&ring->closed, true);
    adp_waker_rouse(&waker);
}

/* Packet threads. */

static struct adp_rate_limit *
limit_of(struct adp_log_ring *ring, const struct adp_log_item *item)
{
    return &ring->limits[item->rule ? item->rule % ADP_LOG_N_BUCKETS
                         : ADP_LOG_N_BUCKETS + item->ingress];
}

bool
adp_log_ring_may_put(struct adp_log_ring *ring,
                     const struct adp_log_item *item, long long int now)
{
    uint32_t per_second;

    atomic_read_relaxed(&rate, &per_second);
    return adp_rate_limit_take(limit_of(ring, item), per_second, now);
}

bool
adp_log_ring_put(struct adp_log_ring *ring,
                 const struct adp_log_record *record)
{
    uint32_t head;

    atomic_read_relaxed(&ring->head, &head);
    if (head - ring->known_tail >= ADP_LOG_RING_SIZE) {
        atomic_read_explicit(&ring->tail, &ring->known_tail,
                             memory_order_acquire);
        if (head - ring->known_tail >= ADP_LOG_RING_SIZE) {
            return false;
        }
    }
    ring->records[head % ADP_LOG_RING_SIZE] = *record;
    /* In adp-waker.h's order. */
    atomic_store(&ring->head, head + 1);
    adp_waker_rouse(&waker);
    return true;
}

/* Main thread. */

static size_t
drain(struct adp_log_ring *ring,
      void (*cb)(const struct adp_log_record *, void *aux), void *aux,
      size_t max)
{
    uint32_t head, tail;
    size_t n;

    atomic_read(&ring->head, &head);
    atomic_read_relaxed(&ring->tail, &tail);
    for (n = 0; tail != head && n < max; n++) {
        cb(&ring->records[tail % ADP_LOG_RING_SIZE], aux);
        tail++;
        atomic_store_explicit(&ring->tail, tail, memory_order_release);
    }
    return n;
}

size_t
adp_log_rings_drain(void (*cb)(const struct adp_log_record *, void *aux),
                    void *aux, size_t max)
{
    struct adp_log_ring *ring;
    size_t n = 0;

    adp_waker_begin(&waker);

    ovs_mutex_lock(&rings_mutex);
    LIST_FOR_EACH_SAFE (ring, list_node, &rings) {
        bool closed;

        atomic_read(&ring->closed, &closed);
        n += drain(ring, cb, aux, max - n);
        if (closed && n < max) {
            ovs_list_remove(&ring->list_node);
            free_cacheline(ring);
        }
    }
    if (n >= max && !ovs_list_is_empty(&rings)) {
        /* The next time with the others first. */
        ovs_list_push_back(&rings, ovs_list_pop_front(&rings));
        adp_waker_rouse(&waker);
    }
    ovs_mutex_unlock(&rings_mutex);
    return n;
}

void
adp_log_rings_wait(void)
{
    adp_waker_wait(&waker);
}

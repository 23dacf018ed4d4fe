/* SPDX-License-Identifier: Apache-2.0 */

/* Which packets are sampled, and the samples' way to the main thread. */

#include <config.h>
#include "adp-sample.h"

#include "adp-waker.h"
#include "adp-walk.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"
#include "random.h"
#include "util.h"

struct adp_sampler {
    struct ovs_list list_node;          /* In 'samplers'. */
    atomic_bool closed;

    /* Samples 'tail' to 'head' are in the ring, modulo its size.  'head' is
     * written by the packet thread, 'tail' by the main thread. */
    atomic_uint32_t head, tail;
    bool is_open;                       /* Number 'head' is being filled in. */

    uint32_t rate;                      /* That 'left' is by. */
    uint32_t left;                      /* Packets up to the next sample, that
                                         * one included. */
    struct adp_walk walk;
    struct adp_sample samples[ADP_SAMPLE_RING_SIZE];
};
BUILD_ASSERT_DECL(IS_POW2(ADP_SAMPLE_RING_SIZE));

atomic_uint32_t adp_sample_rate = 0;

static struct ovs_mutex samplers_mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list samplers OVS_GUARDED_BY(samplers_mutex)
    = OVS_LIST_INITIALIZER(&samplers);

static struct adp_waker waker;

const char *
adp_sample_way_name(enum adp_sample_way way)
{
    static const char *names[ADP_SAMPLE_N_WAYS] = {
#define X(SYMBOL, NAME) [ADP_SAMPLE_##SYMBOL] = NAME,
        ADP_SAMPLE_WAYS
#undef X
    };

    return names[way];
}

/* Packet threads. */

struct adp_sampler *
adp_sampler_create(void)
{
    struct adp_sampler *s = xzalloc(sizeof *s);

    atomic_init(&s->closed, false);
    atomic_init(&s->head, 0);
    atomic_init(&s->tail, 0);
    adp_walk_init(&s->walk);
    ovs_mutex_lock(&samplers_mutex);
    ovs_list_push_back(&samplers, &s->list_node);
    ovs_mutex_unlock(&samplers_mutex);
    return s;
}

void
adp_sampler_destroy(struct adp_sampler *s)
{
    if (s) {
        adp_walk_uninit(&s->walk);
        /* Before that in adp-waker.h's order, as a sample is. */
        atomic_store(&s->closed, true);
        adp_waker_rouse(&waker);
    }
}

/* From 1 to 2 * rate - 1, each as often: 'rate' on the average. */
static uint32_t
draw_interval(uint32_t rate)
{
    return rate > 1 ? 1 + random_range(2 * rate - 1) : 1;
}

size_t
adp_sampler_next(struct adp_sampler *s, size_t from, size_t n)
{
    uint32_t rate;

    atomic_read_relaxed(&adp_sample_rate, &rate);
    if (!rate) {
        return n;
    }
    if (s->rate != rate) {
        s->rate = rate;
        s->left = draw_interval(rate);
    }
    if (s->left > n - from) {
        s->left -= n - from;
        return n;
    }

    size_t i = from + s->left - 1;
    s->left = draw_interval(rate);
    return i;
}

struct adp_walk *
adp_sampler_walk(struct adp_sampler *s)
{
    return &s->walk;
}

struct adp_sample *
adp_sampler_open(struct adp_sampler *s, bool *busy)
{
    uint32_t head, tail;

    *busy = s->is_open;
    if (s->is_open) {
        return NULL;
    }
    atomic_read_relaxed(&s->head, &head);
    atomic_read_explicit(&s->tail, &tail, memory_order_acquire);
    if (head - tail >= ADP_SAMPLE_RING_SIZE) {
        return NULL;
    }
    s->is_open = true;
    return &s->samples[head % ADP_SAMPLE_RING_SIZE];
}

void
adp_sampler_close(struct adp_sampler *s)
{
    uint32_t head;

    s->is_open = false;
    atomic_read_relaxed(&s->head, &head);
    /* In adp-waker.h's order. */
    atomic_store(&s->head, head + 1);
    adp_waker_rouse(&waker);
}

/* Main thread. */

void
adp_samples_init(void)
{
    adp_waker_init(&waker);
}

void
adp_samples_set_rate(uint32_t rate)
{
    atomic_store_relaxed(&adp_sample_rate, MIN(rate, ADP_SAMPLE_MAX_RATE));
}

uint32_t
adp_samples_rate(void)
{
    uint32_t rate;

    atomic_read_relaxed(&adp_sample_rate, &rate);
    return rate;
}

/* Before adp_samples_init() there are none, either. */
static bool
has_samplers(void)
{
    ovs_mutex_lock(&samplers_mutex);
    bool has = !ovs_list_is_empty(&samplers);
    ovs_mutex_unlock(&samplers_mutex);

    return has;
}

struct drain {
    bool (*goes_on)(void *aux);
    bool (*cb)(struct adp_sample *, void *aux);
    void *aux;
    bool is_over;               /* 'goes_on' said so. */
};

/* Returns true if the ring is empty now. */
static bool
drain_one(struct adp_sampler *s, struct drain *d)
{
    uint32_t head, tail;

    atomic_read(&s->head, &head);
    atomic_read_relaxed(&s->tail, &tail);
    while (tail != head) {
        if (!d->goes_on(d->aux)) {
            d->is_over = true;
            return false;
        }
        if (!d->cb(&s->samples[tail % ADP_SAMPLE_RING_SIZE], d->aux)) {
            return false;
        }
        tail++;
        atomic_store_explicit(&s->tail, tail, memory_order_release);
    }
    return true;
}

void
adp_samples_drain(bool (*goes_on)(void *aux),
                  bool (*cb)(struct adp_sample *, void *aux), void *aux)
{
    struct drain d = { .goes_on = goes_on, .cb = cb, .aux = aux };
    struct adp_sampler *s;
    bool all = true;

    if (!has_samplers()) {
        return;
    }
    adp_waker_begin(&waker);

    ovs_mutex_lock(&samplers_mutex);
    LIST_FOR_EACH_SAFE (s, list_node, &samplers) {
        bool closed;

        atomic_read(&s->closed, &closed);
        if (d.is_over) {
            break;
        } else if (!drain_one(s, &d)) {
            all = false;
        } else if (closed) {
            ovs_list_remove(&s->list_node);
            free(s);
        }
    }
    if (!all) {
        /* The next time with the others first. */
        ovs_list_push_back(&samplers, ovs_list_pop_front(&samplers));
        adp_waker_rouse(&waker);
    }
    ovs_mutex_unlock(&samplers_mutex);
}

void
adp_samples_wait(void)
{
    if (has_samplers()) {
        adp_waker_wait(&waker);
    }
}

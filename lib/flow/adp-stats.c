/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-stats.h"
#include "adp-rules.h"
#include "util.h"

struct adp_stats_sink {
    struct mpsc_queue dirty;    /* Of struct adp_counters. */
    unsigned int n_drains;      /* Of the draining thread. */
    bool amid;                  /* Its latest one isn't complete. */
};

void
adp_counters_init(struct adp_counters *c, enum adp_counted kind)
{
    memset(c, 0, sizeof *c);
    atomic_init(&c->queued, false);
    atomic_init(&c->awaited, false);
    atomic_init(&c->tcp_flags, 0);
    atomic_init(&c->n_packets, 0);
    atomic_init(&c->n_bytes, 0);
    atomic_init(&c->used, 0);
    c->kind = kind;
}

/* What the counters are part of. */

static struct adp_rule *
counters_rule(struct adp_counters *c)
{
    return &CONTAINER_OF(c, struct adp_acting_rule, counters)->up;
}

static struct adp_group *
counters_group(struct adp_counters *c)
{
    return (c->kind == ADP_COUNTED_BUCKET
            ? CONTAINER_OF(c, struct adp_bucket, counters)->group
            : CONTAINER_OF(c, struct adp_group, counters));
}

static bool
counters_try_ref(struct adp_counters *c)
{
    return (c->kind == ADP_COUNTED_RULE
            ? adp_rule_try_ref(counters_rule(c))
            : adp_group_try_ref(counters_group(c)));
}

static void
counters_unref(struct adp_counters *c)
{
    if (c->kind == ADP_COUNTED_RULE) {
        adp_rule_unref(counters_rule(c));
    } else {
        adp_group_unref(counters_group(c));
    }
}

struct adp_stats_sink *
adp_stats_sink_create(void)
{
    struct adp_stats_sink *sink = xmalloc(sizeof *sink);

    mpsc_queue_init(&sink->dirty);
    sink->n_drains = 0;
    sink->amid = false;
    return sink;
}

void
adp_stats_sink_destroy(struct adp_stats_sink *sink)
{
    struct mpsc_queue_node *node;

    if (!sink) {
        return;
    }
    mpsc_queue_acquire(&sink->dirty);
    MPSC_QUEUE_FOR_EACH_POP (node, &sink->dirty) {
        counters_unref(CONTAINER_OF(node, struct adp_counters, node));
    }
    mpsc_queue_release(&sink->dirty);
    mpsc_queue_destroy(&sink->dirty);
    free(sink);
}

/* Credits come in any order: a collection has those of verdicts, by when a
 * verdict was first used since the one before, and packet threads credit,
 * too. */
static void
set_used(struct adp_counters *c, long long int used)
{
    long long int latest;

    atomic_read_relaxed(&c->used, &latest);
    while (used > latest
           && !atomic_compare_exchange_weak_relaxed(&c->used, &latest, used)) {
        /* 'latest' is what another thread has stored. */
    }
}

static void
credit(struct adp_stats_sink *sink, struct adp_counters *c,
       uint64_t n_packets, uint64_t n_bytes, long long int used,
       uint16_t tcp_flags)
{
    bool queued;
    uint64_t orig;
    uint16_t orig_flags;

    atomic_add_relaxed(&c->n_packets, n_packets, &orig);
    atomic_add_relaxed(&c->n_bytes, n_bytes, &orig);
    if (tcp_flags) {
        atomic_or_relaxed(&c->tcp_flags, tcp_flags, &orig_flags);
    }
    set_used(c, used);

    /* The exchange comes after the additions.  Either it finds 'queued' set
     * and the drain that will clear it sees them, or this thread queues. */
    queued = atomic_exchange_explicit(&c->queued, true, memory_order_acq_rel);
    if (!queued && counters_try_ref(c)) {
        mpsc_queue_insert(&sink->dirty, &c->node);
    }
}

void
adp_stats_credit_rule(struct adp_stats_sink *sink, struct adp_rule *rule,
                      uint64_t n_packets, uint64_t n_bytes,
                      long long int used, uint16_t tcp_flags)
{
    credit(sink, adp_rule_counters(rule), n_packets, n_bytes, used, tcp_flags);
}

void
adp_stats_credit_group(struct adp_stats_sink *sink, struct adp_group *group,
                       uint32_t bucket, uint64_t n_packets, uint64_t n_bytes,
                       long long int used)
{
    struct adp_counters *c = (bucket == ADP_BUCKET_ALL ? &group->counters
                              : &group->buckets[bucket].counters);

    credit(sink, c, n_packets, n_bytes, used, 0);
}

static void
take_delta(struct adp_counters *c, struct adp_stats_delta *delta)
{
    atomic_exchange_explicit(&c->queued, false, memory_order_acq_rel);
    delta->n_packets = atomic_exchange_explicit(&c->n_packets, 0,
                                                memory_order_relaxed);
    delta->n_bytes = atomic_exchange_explicit(&c->n_bytes, 0,
                                              memory_order_relaxed);
    delta->tcp_flags = atomic_exchange_explicit(&c->tcp_flags, 0,
                                                memory_order_relaxed);
    atomic_read_relaxed(&c->used, &delta->used);
}

static void
drain_counters(struct adp_counters *c, const struct adp_stats_drain_cbs *cbs,
               void *aux)
{
    struct adp_stats_delta delta;

    take_delta(c, &delta);
    /* The drain before may have come between the additions of a credit: its
     * packets are counted then, its bytes are left for now. */
    if (delta.n_packets || delta.n_bytes || delta.tcp_flags) {
        if (c->kind == ADP_COUNTED_RULE) {
            cbs->rule(counters_rule(c), &delta, aux);
        } else {
            struct adp_group *group = counters_group(c);
            uint32_t bucket
                = (c->kind == ADP_COUNTED_GROUP ? ADP_BUCKET_ALL
                   : CONTAINER_OF(c, struct adp_bucket, counters)
                     - group->buckets);

            cbs->bucket(group, bucket, &delta, aux);
        }
    }
    counters_unref(c);
}

bool
adp_stats_drain(struct adp_stats_sink *sink,
                const struct adp_stats_drain_cbs *cbs, void *aux)
{
    struct mpsc_queue_node *node;

    if (!sink->amid) {
        sink->n_drains++;
        sink->amid = true;
    }
    mpsc_queue_acquire(&sink->dirty);
    for (;;) {
        if (!cbs->goes_on(aux)) {
            break;
        }
        node = mpsc_queue_pop(&sink->dirty);
        if (!node) {
            sink->amid = false;
            break;
        }

        struct adp_counters *c = CONTAINER_OF(node, struct adp_counters,
                                              node);
        if (c->drain == sink->n_drains) {
            /* Credited again meanwhile.  Leave it and what follows to the next
             * drain: traffic must not be able to keep this one busy. */
            mpsc_queue_push_front(&sink->dirty, node);
            sink->amid = false;
            break;
        }
        c->drain = sink->n_drains;
        drain_counters(c, cbs, aux);
    }
    mpsc_queue_release(&sink->dirty);
    return !sink->amid;
}

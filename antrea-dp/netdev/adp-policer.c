/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-policer.h"

#include "adp-packet-pool.h"
#include "dp-packet.h"
#include "sat-math.h"

/* Upstream's, if only a rate is given. */
#define DEFAULT_KBITS_BURST 8000
#define DEFAULT_KPKTS_BURST 16

void
adp_policer_init(struct adp_policer *p)
{
    atomic_init(&p->enabled, false);
    atomic_init(&p->n_dropped, 0);
    ovs_mutex_init(&p->mutex);
    ovs_mutex_lock(&p->mutex);
    p->limits = (struct adp_policer_limits) { .kbits_rate = 0 };
    token_bucket_init(&p->bits, 0, 0);
    token_bucket_init(&p->packets, 0, 0);
    ovs_mutex_unlock(&p->mutex);
}

void
adp_policer_destroy(struct adp_policer *p)
{
    ovs_mutex_destroy(&p->mutex);
}

/* A rate of thousands in a second is one in a millisecond.  A bucket that had
 * no rate is full. */
static void
set_bucket(struct token_bucket *bucket, uint32_t rate, uint32_t burst,
           uint32_t default_burst)
{
    burst = sat_mul(burst ? burst : default_burst, 1000);
    if (!bucket->rate) {
        token_bucket_init(bucket, rate, burst);
    } else {
        token_bucket_set(bucket, rate, burst);
    }
}

static bool
are_equal(const struct adp_policer_limits *a,
          const struct adp_policer_limits *b)
{
    return (a->kbits_rate == b->kbits_rate && a->kbits_burst == b->kbits_burst
            && a->kpkts_rate == b->kpkts_rate
            && a->kpkts_burst == b->kpkts_burst);
}

void
adp_policer_set(struct adp_policer *p, const struct adp_policer_limits *limits)
{
    ovs_mutex_lock(&p->mutex);
    if (!are_equal(&p->limits, limits)) {
        p->limits = *limits;
        set_bucket(&p->bits, limits->kbits_rate, limits->kbits_burst,
                   DEFAULT_KBITS_BURST);
        set_bucket(&p->packets, limits->kpkts_rate, limits->kpkts_burst,
                   DEFAULT_KPKTS_BURST);
        atomic_store_relaxed(&p->enabled,
                             limits->kbits_rate || limits->kpkts_rate);
    }
    ovs_mutex_unlock(&p->mutex);
}

static bool
passes(struct adp_policer *p, const struct dp_packet *packet)
    OVS_REQUIRES(p->mutex)
{
    return ((!p->bits.rate
             || token_bucket_withdraw(&p->bits, dp_packet_size(packet) * 8))
            && (!p->packets.rate || token_bucket_withdraw(&p->packets, 1)));
}

static void
apply(struct adp_policer *p, struct dp_packet_batch *batch)
{
    const size_t n = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    uint64_t n_dropped;
    size_t i;

    ovs_mutex_lock(&p->mutex);
    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, batch) {
        if (passes(p, packet)) {
            dp_packet_batch_refill(batch, packet, i);
        } else {
            adp_packet_pool_put(packet);
        }
    }
    ovs_mutex_unlock(&p->mutex);
    atomic_add_relaxed(&p->n_dropped, n - dp_packet_batch_size(batch),
                       &n_dropped);
}

void
adp_policer_apply(struct adp_policer *p, struct dp_packet_batch *batch)
{
    bool enabled;

    atomic_read_relaxed(&p->enabled, &enabled);
    if (OVS_UNLIKELY(enabled) && !dp_packet_batch_is_empty(batch)) {
        apply(p, batch);
    }
}

uint64_t
adp_policer_n_dropped(struct adp_policer *p)
{
    uint64_t n;

    atomic_read_relaxed(&p->n_dropped, &n);
    return n;
}

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_POLICER_H
#define ADP_POLICER_H 1

/* What an Interface's ingress_policing_rate and its like leave of what a port
 * receives.  Upstream has an ingress qdisc of the kernel's do that, but packet
 * sockets get their packets before.
 *
 * As the kernel's policer: who exceeds the rate and has used up the burst
 * loses packets; none that is longer than the burst ever passes.  Upstream's
 * token buckets are filled when they are too empty, so that what is left of a
 * burst may come right before the next one.
 *
 * Thread-safety: all but adp_policer_init() and adp_policer_destroy(). */

#include <stdbool.h>
#include <stdint.h>
#include "openvswitch/token-bucket.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"

struct dp_packet_batch;

/* Rates of 0 mean no limit.  Bursts of 0 are upstream's defaults. */
struct adp_policer_limits {
    uint32_t kbits_rate, kbits_burst;
    uint32_t kpkts_rate, kpkts_burst;
};

struct adp_policer {
    atomic_bool enabled;                /* Is there a rate? */
    atomic_uint64_t n_dropped;
    struct ovs_mutex mutex;
    struct adp_policer_limits limits OVS_GUARDED;
    struct token_bucket bits OVS_GUARDED;
    struct token_bucket packets OVS_GUARDED;
};

/* Without limits. */
void adp_policer_init(struct adp_policer *);
void adp_policer_destroy(struct adp_policer *);

/* The same limits again leave what was saved up as it is. */
void adp_policer_set(struct adp_policer *, const struct adp_policer_limits *);
/* Takes what exceeds the limits out of the batch. */
void adp_policer_apply(struct adp_policer *, struct dp_packet_batch *);
uint64_t adp_policer_n_dropped(struct adp_policer *);

#endif /* adp-policer.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATS_H
#define ADP_STATS_H 1

/* Counters of rules, buckets and groups, and their way to OpenFlow's.
 *
 * Packet threads credit; one thread, the one that owns the OpenFlow counters,
 * drains what was credited since it last looked.  The first credit after a
 * drain puts the counters on the dirty list, so a drain costs as much as there
 * are counters that changed, however many exist.
 *
 * Thread-safety: credit from any RCU reader, without locks; drain from one
 * thread at a time.  While counters are on the list, the list holds a
 * reference to the rule or group that they are part of.  Counters are credited
 * to one sink all their life.
 */

#include <stdbool.h>
#include <stdint.h>
#include "mpsc-queue.h"
#include "ovs-atomic.h"

struct adp_rule;
struct adp_group;

struct adp_stats_sink;

struct adp_counters {
    struct mpsc_queue_node node;    /* In sink's queue while 'queued'. */
    atomic_bool queued;
    uint8_t kind;                   /* The caller's: enum adp_counted. */
    atomic_bool awaited;            /* adp_rule_await_end(). */
    atomic_uint16_t tcp_flags;
    atomic_uint64_t n_packets;      /* Since the last drain. */
    atomic_uint64_t n_bytes;
    atomic_llong used;              /* Of the latest packet, time_msec(). */
    unsigned int drain;             /* Number of the drain that came last. */
};

enum adp_counted {
    ADP_COUNTED_RULE,               /* In a struct adp_acting_rule. */
    ADP_COUNTED_GROUP,              /* In a struct adp_group: all buckets. */
    ADP_COUNTED_BUCKET,             /* In a struct adp_bucket: that one. */
};

struct adp_stats_delta {
    uint64_t n_packets;
    uint64_t n_bytes;
    long long int used;
    uint16_t tcp_flags;
};

void adp_counters_init(struct adp_counters *, enum adp_counted);

/* One per bridge.  */
struct adp_stats_sink *adp_stats_sink_create(void);
void adp_stats_sink_destroy(struct adp_stats_sink *);

void adp_stats_credit_rule(struct adp_stats_sink *, struct adp_rule *,
                           uint64_t n_packets, uint64_t n_bytes,
                           long long int used, uint16_t tcp_flags);
/* Credits bucket 'bucket' (an index, or ADP_BUCKET_ALL) of the group.  It is
 * understood that this credits the group as a whole too. */
void adp_stats_credit_group(struct adp_stats_sink *, struct adp_group *,
                            uint32_t bucket, uint64_t n_packets,
                            uint64_t n_bytes, long long int used);

/* Calls one of the functions for everything that was credited since the last
 * drain began.  'bucket' is an index or ADP_BUCKET_ALL, as it was credited;
 * the same group may come once for each.
 *
 * 'goes_on' is asked before each.  When it says no the drain stops, and false
 * is returned; the next call goes on with it.  At its end everything is told
 * that was credited before it began. */
struct adp_stats_drain_cbs {
    void (*rule)(struct adp_rule *, const struct adp_stats_delta *, void *aux);
    void (*bucket)(struct adp_group *, uint32_t bucket,
                   const struct adp_stats_delta *, void *aux);
    bool (*goes_on)(void *aux);
};
bool adp_stats_drain(struct adp_stats_sink *,
                     const struct adp_stats_drain_cbs *, void *aux);

#endif /* adp-stats.h */

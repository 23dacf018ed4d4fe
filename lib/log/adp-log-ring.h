/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LOG_RING_H
#define ADP_LOG_RING_H 1

/* Records of packets to be logged, from packet threads to the main thread.
 *
 * Each packet thread has a ring of its own, with a place for ADP_LOG_RING_SIZE
 * records; when it is full, what comes is lost, and the caller counts it.  Who
 * puts a record into it neither waits, locks nor allocates: it is two loads
 * and two stores, and, if the main thread may be asleep, a byte into a pipe.
 *
 * How many records of a rule a thread may put into its ring in a second is
 * limited, so that a flood that one rule drops leaves room for others: a token
 * bucket for each rule, which holds the tokens of two seconds and is full at
 * first.  Rules whose IDs agree modulo ADP_LOG_N_BUCKETS share one; what
 * isolation drops has two, by direction.
 *
 * A ring outlives its thread until it is empty.
 *
 * Thread-safety: adp_log_ring_put() and adp_log_ring_close() are for the
 * thread that created the ring, adp_log_rings_*() for the main thread.
 * Memory: some 400 kB a thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <netinet/in.h>
#include "adp-log-item.h"
#include "openvswitch/types.h"

/* A packet that a rule decided on, as it was then: after DNAT, before SNAT of
 * what comes behind. */
struct adp_log_record {
    uint64_t time_us;           /* Since the epoch. */
    uint32_t bridge;            /* Serial number. */
    struct adp_log_item item;
    ofp_port_t in_port;         /* OpenFlow's. */
    odp_port_t out_port;        /* The datapath's; ODPP_NONE: none, or not
                                 * one alone. */
    bool is_ipv6;
    uint8_t nw_proto;
    uint16_t length;            /* Of the IP packet. */
    struct in6_addr src, dst;   /* IPv4 as mapped addresses. */
    uint16_t tp_src, tp_dst;    /* TCP, UDP, SCTP. */
};

#define ADP_LOG_RING_SIZE 4096
#define ADP_LOG_N_BUCKETS 4096

/* Records a second of each rule in each thread. */
#define ADP_LOG_DEFAULT_RATE 100
#define ADP_LOG_MAX_RATE 1000000
/* Any thread; in force for the next packet. */
void adp_log_ring_set_rate(uint32_t);

struct adp_log_ring;

struct adp_log_ring *adp_log_ring_create(void);
/* The thread ends. */
void adp_log_ring_close(struct adp_log_ring *);

/* Takes a token of the item's rule.  False: there was none. */
bool adp_log_ring_may_put(struct adp_log_ring *, const struct adp_log_item *,
                          long long int now_ms);
/* False: the ring is full. */
bool adp_log_ring_put(struct adp_log_ring *, const struct adp_log_record *);

/* Before there is another thread. */
void adp_log_rings_init(void);
/* Takes out up to 'max' records, from each ring in turn, in the order in which
 * they were put there.  Returns how many. */
size_t adp_log_rings_drain(void (*)(const struct adp_log_record *, void *aux),
                           void *aux, size_t max);
/* Wakes the main loop when there is something to take out. */
void adp_log_rings_wait(void);

#endif /* adp-log-ring.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_INGRESS_H
#define ADP_INGRESS_H 1

/* Where packets out of tunnels came in, as numbers for sessions' keys.
 *
 * All packets with the same tunnel metadata are of one kind.  Outer source
 * port, TTL and ToS, but for its congestion bits, are none of it: OpenFlow has
 * no fields for them.  Source addresses and IDs, which flows may read and who
 * sends may forge, make kinds: as many as the table has room for, and then the
 * kind leaves that was longest without a packet among some.  A kind without
 * packets leaves after ADP_INGRESS_IDLE_MS, and the time that aging takes to
 * get round.
 *
 * Thread-safety: a table belongs to one thread, an RCU reader, until which
 * quiesces it may use a kind that it found; adp_ingress_add_counts() for any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/types.h"

struct adp_ingress_table;
struct flow_tnl;

struct adp_ingress {
    uint32_t number;            /* Of no other kind, nor of an earlier life. */
    void *owner;                /* The bridge and port that packets are for, */
    ofp_port_t ofp_port;
    uint64_t serial;            /* as was known at this serial of the ports. */
};

#define ADP_INGRESS_IDLE_MS 30000

/* Numbers have 31 bits. */
#define ADP_INGRESS_MAX_NUMBER INT32_MAX

/* For 'max' kinds. */
struct adp_ingress_table *adp_ingress_table_create(size_t max);
void adp_ingress_table_destroy(struct adp_ingress_table *);

/* Starts to fetch what adp_ingress_find() reads for 'tnl', in stages of which
 * each is to be done for a whole batch: 0, then 1.  '*hash' is kept in
 * between, and for adp_ingress_find(). */
#define ADP_INGRESS_STAGES 2
void adp_ingress_fetch(const struct adp_ingress_table *,
                       const struct flow_tnl *tnl, int stage, uint32_t *hash);

/* The kind of packets with metadata 'tnl', of which adp_ingress_fetch() has
 * set 'hash', or NULL. */
struct adp_ingress *adp_ingress_find(struct adp_ingress_table *,
                                     const struct flow_tnl *tnl, uint32_t hash,
                                     long long int now_ms);
/* Makes it, or tells that it is somebody else's now.  NULL if there are no
 * such kinds: 'tnl' has options. */
struct adp_ingress *adp_ingress_set(struct adp_ingress_table *,
                                    const struct flow_tnl *tnl, void *owner,
                                    ofp_port_t ofp_port, uint64_t serial,
                                    long long int now_ms);

/* Looks for kinds that are out of use; to be called often.  Cost, and '*left':
 * as adp_sessions_age() (adp-session.h). */
void adp_ingress_age(struct adp_ingress_table *, long long int now_ms,
                     size_t *left);

/* VLAN tags as kinds, in a table of their own: sets '*key' to what stands for
 * packets with 'tci' among those that come in at 'ingress'. */
void adp_ingress_vlan_key(struct flow_tnl *key, uint32_t ingress,
                          ovs_be16 tci);

/* Unit tests: what number the next new kind gets, if no other has it. */
void adp_ingress_set_next_number(struct adp_ingress_table *, uint32_t number);

struct adp_ingress_counts {
    uint64_t n;
    uint64_t n_idle, n_evicted; /* Left unused, for want of room; ever. */
};
/* Adds to '*counts'. */
void adp_ingress_add_counts(const struct adp_ingress_table *,
                            struct adp_ingress_counts *counts);

#endif /* adp-ingress.h */

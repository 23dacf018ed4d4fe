/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_BENCH_MATCH_KEYS_H
#define TESTS_BENCH_MATCH_KEYS_H 1

/* Very many packets for tables with conjunctions, to measure look-ups that
 * find little in the caches.  A packet is kept as the few fields that policies
 * look at. */

#include <stddef.h>
#include <stdint.h>
#include "openvswitch/types.h"

struct adp_match;
struct adp_rule;
struct flow;

struct packet_key {
    ovs_be32 nw_src, nw_dst;
    ovs_be16 tp_src, tp_dst;
    uint32_t reg1;
    uint16_t ct_state;
    uint8_t nw_proto;
};

enum packet_kind {
    PACKET_HIT,                 /* All clauses of a conjunction. */
    PACKET_NEAR,                /* Clauses of as many conjunctions. */
    PACKET_MISS,                /* A known Pod; all else is unknown. */
    PACKET_N_KINDS
};
extern const char *const packet_kind_names[PACKET_N_KINDS];

/* The clauses of a table's conjunctions, side by side. */
struct clause_rules {
    struct clause_rule *array;
    size_t n;
    int pod_clause;             /* The clause that is about Pods. */
};
void clause_rules_init(struct clause_rules *,
                       struct adp_rule *const *rules, size_t n);
void clause_rules_uninit(struct clause_rules *);

void packet_key_random(struct packet_key *, const struct clause_rules *,
                       enum packet_kind);
void packet_key_to_flow(const struct packet_key *, struct flow *);

/* Cycles for a look-up, on average, of each of 'keys' in turn in all of
 * 'matches' one after the other.  '*hits' are the percentage of look-ups that
 * end at a rule for a conj_id. */
double packet_keys_time(const struct packet_key *keys, size_t n_keys,
                        const struct adp_match *const *matches,
                        size_t n_matches, double *hits);

#endif /* bench-match-keys.h */

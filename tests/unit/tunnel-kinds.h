/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_TUNNEL_KINDS_H
#define TESTS_TUNNEL_KINDS_H 1

/* Kinds of packets out of tunnels. */

#include "adp-ingress.h"
#include "openvswitch/packets.h"
#include "packets.h"
#include "random.h"

static inline struct flow_tnl
tunnel_packet(uint32_t src, uint8_t tos, uint8_t ttl)
{
    struct flow_tnl tnl;

    memset(&tnl, 0, sizeof tnl);
    tnl.ip_src = htonl(src);
    tnl.ip_dst = htonl(1);
    tnl.ip_tos = tos;
    tnl.ip_ttl = ttl;
    tnl.tp_src = htons(random_range(65536));
    return tnl;
}

static inline struct adp_ingress_counts
kinds_of(const struct adp_ingress_table *t)
{
    struct adp_ingress_counts counts = { .n = 0 };

    adp_ingress_add_counts(t, &counts);
    return counts;
}

static inline void
age_kinds(struct adp_ingress_table *t, long long int now)
{
    size_t left = SIZE_MAX;

    adp_ingress_age(t, now, &left);
}

/* As for a batch. */
static inline struct adp_ingress *
find_kind(struct adp_ingress_table *t, const struct flow_tnl *tnl,
          long long int now)
{
    uint32_t hash;

    for (int stage = 0; stage < ADP_INGRESS_STAGES; stage++) {
        adp_ingress_fetch(t, tnl, stage, &hash);
    }
    return adp_ingress_find(t, tnl, hash, now);
}

#endif /* tunnel-kinds.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_CREDIT_NOBODY_H
#define TESTS_CREDIT_NOBODY_H 1

/* For tests of kept verdicts: tunnels and flows that are always there, and that
 * nobody counts for. */

#include "adp-credit.h"
#include "adp-tunnel.h"
#include "util.h"

bool
adp_tunnel_try_ref(struct adp_tunnel *t OVS_UNUSED)
{
    return true;
}

void
adp_tunnel_unref(struct adp_tunnel *t OVS_UNUSED)
{
}

void
adp_tunnel_credit(struct adp_tunnel *t OVS_UNUSED, uint64_t n_packets
                  OVS_UNUSED, uint64_t n_bytes OVS_UNUSED)
{
}

void
adp_credit_hit(struct adp_bridge *b OVS_UNUSED,
               const struct adp_hit *hit OVS_UNUSED,
               uint64_t n_packets OVS_UNUSED, uint64_t n_bytes OVS_UNUSED,
               long long int used OVS_UNUSED, uint16_t tcp_flags OVS_UNUSED)
{
}

void
adp_credit_tunnel_port(const struct adp_bridge *b OVS_UNUSED,
                       ofp_port_t ofp_port OVS_UNUSED,
                       uint64_t n_packets OVS_UNUSED,
                       uint64_t n_bytes OVS_UNUSED)
{
}

#endif /* credit-nobody.h */

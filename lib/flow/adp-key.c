/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-key.h"
#include "flow.h"
#include "hash.h"

static uint32_t
hash_ethernet(const struct flow *flow, uint32_t basis)
{
    uint64_t src = eth_addr_to_uint64(flow->dl_src);
    uint64_t dst = eth_addr_to_uint64(flow->dl_dst);
    uint32_t hash = hash_add64(hash_add64(basis, src), dst);

    hash = hash_add(hash, ntohs(flow->dl_type));
    hash = hash_add(hash, ntohs(flow->vlans[0].tci));
    return hash_finish(hash, 24);
}

/* Hashes the connection that 'flow' is a packet of, in its direction. */
uint32_t
adp_key_hash(const struct flow *flow, uint32_t basis)
{
    if (is_ip_any(flow) || flow->dl_type == htons(ETH_TYPE_ARP)) {
        return flow_hash_5tuple(flow, basis);
    }
    return hash_ethernet(flow, basis);
}

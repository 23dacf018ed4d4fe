/* SPDX-License-Identifier: Apache-2.0 */

/* What the hashes symmetric_l3l4 and symmetric_l3l4+udp read of packets that
 * aren't IP, and what sym_l4 is of those without a sound IP header.
 *
 * The first read their addresses, tags and type, as symmetric_l4 does, and
 * upstream's megaflow doesn't say so: packets of others go where the hash of
 * the first led.
 *
 * The other may be 0, which a select group takes for "not known": it asks for
 * the hash again, until the packet is dropped.
 *
 * So the linker puts this between (--wrap, in automake.mk). */

#include <config.h>

#include "flow.h"

void __real_flow_mask_hash_fields(const struct flow *,
                                  struct flow_wildcards *,
                                  enum nx_hash_fields);
void __wrap_flow_mask_hash_fields(const struct flow *,
                                  struct flow_wildcards *,
                                  enum nx_hash_fields);

void
__wrap_flow_mask_hash_fields(const struct flow *flow,
                             struct flow_wildcards *wc,
                             enum nx_hash_fields fields)
{
    if ((fields == NX_HASH_FIELDS_SYMMETRIC_L3L4
         || fields == NX_HASH_FIELDS_SYMMETRIC_L3L4_UDP)
        && !is_ip_any(flow)) {
        fields = NX_HASH_FIELDS_SYMMETRIC_L4;
    }
    __real_flow_mask_hash_fields(flow, wc, fields);
}

uint32_t __real_flow_hash_symmetric_l3l4(const struct flow *, uint32_t basis,
                                         bool inc_udp_ports);
uint32_t __wrap_flow_hash_symmetric_l3l4(const struct flow *, uint32_t basis,
                                         bool inc_udp_ports);

uint32_t
__wrap_flow_hash_symmetric_l3l4(const struct flow *flow, uint32_t basis,
                                bool inc_udp_ports)
{
    uint32_t hash = __real_flow_hash_symmetric_l3l4(flow, basis,
                                                    inc_udp_ports);

    return hash ? hash : 1;
}

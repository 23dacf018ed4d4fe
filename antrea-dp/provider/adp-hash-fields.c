/* SPDX-License-Identifier: Apache-2.0 */

/* What the hashes symmetric_l3l4 and symmetric_l3l4+udp read of packets that
 * aren't IP.
 *
 * It is their addresses, tags and type, as of symmetric_l4, and upstream's
 * megaflow doesn't say so: packets of others go where the hash of the first
 * led.  So the linker puts this between (--wrap, in automake.mk). */

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

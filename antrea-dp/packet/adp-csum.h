/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CSUM_H
#define ADP_CSUM_H 1

/* What a rewriting does to a checksum (RFC 1624), so that it can be worked out
 * once and applied to each packet of a connection.
 *
 * Nothing is added for what stays as it is, so that the checksum then stays,
 * too: it may be either of the two zeros of ones' complement.
 *
 * Byte order doesn't matter: sums are of words as they are in memory.
 */

#include <stdint.h>
#include "openvswitch/types.h"
#include "util.h"

/* 'delta' and the replacing of 'old' by 'new'.  There is room for some 30,000
 * words before adp_csum_fold(). */
static inline uint32_t
adp_csum_add16(uint32_t delta, ovs_be16 old, ovs_be16 new)
{
    if (old == new) {
        return delta;
    }
    return (delta + (uint16_t) ~(OVS_FORCE uint16_t) old
            + (OVS_FORCE uint16_t) new);
}

static inline uint32_t
adp_csum_add32(uint32_t delta, ovs_be32 old_, ovs_be32 new_)
{
    uint32_t old = (OVS_FORCE uint32_t) old_;
    uint32_t new = (OVS_FORCE uint32_t) new_;

    if (old == new) {
        return delta;
    }
    return (delta + (uint16_t) ~old + (uint16_t) (~old >> 16)
            + (uint16_t) new + (new >> 16));
}

static inline uint16_t
adp_csum_fold(uint32_t delta)
{
    delta = (delta & UINT16_MAX) + (delta >> 16);
    return (delta & UINT16_MAX) + (delta >> 16);
}

/* The checksum after what 'delta' was folded from. */
static inline ovs_be16
adp_csum_apply(ovs_be16 csum, uint16_t delta)
{
    uint32_t sum = (OVS_FORCE uint16_t) ~csum + delta;

    sum = (sum & UINT16_MAX) + (sum >> 16);
    return (OVS_FORCE ovs_be16) ~sum;
}

#endif /* adp-csum.h */

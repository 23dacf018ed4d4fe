/* SPDX-License-Identifier: Apache-2.0 */

/* Reports of multicast groups that say more than they have.
 *
 * Bridges of type netdev with multicast snooping learn groups from them.  Of a
 * report of MLDv1's, upstream takes the header alone for whole, and reads the
 * address at NULL if there is none; at a record of IGMPv3's whose type it
 * doesn't know it stays, as many times as the report says that it has records.
 * So the linker puts these between (--wrap, in automake.mk). */

#include <config.h>

#include "dp-packet.h"
#include "mcast-snooping.h"
#include "packets.h"

__typeof__(mcast_snooping_add_mld) __real_mcast_snooping_add_mld;
__typeof__(mcast_snooping_add_mld) __wrap_mcast_snooping_add_mld;
__typeof__(mcast_snooping_add_report) __real_mcast_snooping_add_report;
__typeof__(mcast_snooping_add_report) __wrap_mcast_snooping_add_report;

int
__wrap_mcast_snooping_add_mld(struct mcast_snooping *ms,
                              const struct dp_packet *p, uint16_t vlan,
                              void *port)
{
    const struct mld_header *header = dp_packet_l4(p);
    const size_t size = dp_packet_l4_size(p);

    if (size < MLD_HEADER_LEN
        || (header->type != MLD2_REPORT
            && size < MLD_HEADER_LEN + sizeof(struct in6_addr))) {
        return 0;
    }
    return __real_mcast_snooping_add_mld(ms, p, vlan, port);
}

int
__wrap_mcast_snooping_add_report(struct mcast_snooping *ms,
                                 const struct dp_packet *p, uint16_t vlan,
                                 void *port)
{
    const struct igmpv3_header *header = dp_packet_l4(p);
    const size_t size = dp_packet_l4_size(p);

    if (size < IGMPV3_HEADER_LEN
        || ntohs(header->ngrp) > (size - IGMPV3_HEADER_LEN)
                                 / IGMPV3_RECORD_LEN) {
        return 0;
    }
    return __real_mcast_snooping_add_report(ms, p, vlan, port);
}

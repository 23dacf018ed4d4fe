/* SPDX-License-Identifier: Apache-2.0 */

/* GTP-U headers that are cut.
 *
 * With a sequence number the header is 4 bytes longer than what upstream makes
 * sure of: it takes away more than there is, and the packet's length becomes
 * some 4 GB.  To tell what the header was put before it looks at the ninth
 * byte of it, there or not.  So the linker puts this between (--wrap, in
 * automake.mk). */

#include <config.h>

#include "dp-packet.h"
#include "netdev-native-tnl.h"
#include "packets.h"

__typeof__(netdev_gtpu_pop_header) __real_netdev_gtpu_pop_header;
__typeof__(netdev_gtpu_pop_header) __wrap_netdev_gtpu_pop_header;

/* No packet is as short. */
enum { LOOKED_AT_LEN = 9 };

static bool
is_cut(const struct dp_packet *packet)
{
    const size_t size = dp_packet_l4_size(packet);
    size_t header_len = UDP_HEADER_LEN + sizeof(struct gtpuhdr);

    if (size < header_len) {
        return true;
    }
    const struct gtpuhdr *gtpu = dp_packet_get_udp_payload(packet);
    if (gtpu->md.msgtype != GTPU_MSGTYPE_GPDU) {
        return false;
    }
    if (gtpu->md.flags & GTPU_S_MASK) {
        header_len += sizeof(struct gtpuhdr_opt);
    }
    return size < header_len + LOOKED_AT_LEN;
}

struct dp_packet *
__wrap_netdev_gtpu_pop_header(struct dp_packet *packet)
{
    if (is_cut(packet)) {
        dp_packet_delete(packet);
        return NULL;
    }
    return __real_netdev_gtpu_pop_header(packet);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Ports of what an ICMP error quotes.
 *
 * NAT translates the packet that an ICMP error quotes, too, of which there may
 * be 8 bytes behind the IP header.  Upstream also corrects the checksum, which
 * TCP and SCTP have behind these: it reads and writes behind the packet.  So
 * the linker puts these between (--wrap, in automake.mk). */

#include <config.h>

#include "dp-packet.h"
#include "packets.h"

void __real_packet_set_tcp_port(struct dp_packet *, ovs_be16 src,
                                ovs_be16 dst);
void __wrap_packet_set_tcp_port(struct dp_packet *, ovs_be16 src,
                                ovs_be16 dst);
void __real_packet_set_sctp_port(struct dp_packet *, ovs_be16 src,
                                 ovs_be16 dst);
void __wrap_packet_set_sctp_port(struct dp_packet *, ovs_be16 src,
                                 ovs_be16 dst);

/* If less than a header of 'header_len' is there, sets the ports alone, which
 * TCP and SCTP have in the same place, and returns true. */
static bool
set_if_cut(struct dp_packet *packet, size_t header_len, ovs_be16 src,
           ovs_be16 dst)
{
    struct udp_header *ports = dp_packet_l4(packet);
    size_t size = dp_packet_l4_size(packet);

    if (size >= header_len) {
        return false;
    }
    if (size >= 2 * sizeof src) {
        ports->udp_src = src;
        ports->udp_dst = dst;
    }
    return true;
}

void
__wrap_packet_set_tcp_port(struct dp_packet *packet, ovs_be16 src,
                           ovs_be16 dst)
{
    if (!set_if_cut(packet, TCP_HEADER_LEN, src, dst)) {
        __real_packet_set_tcp_port(packet, src, dst);
    }
}

void
__wrap_packet_set_sctp_port(struct dp_packet *packet, ovs_be16 src,
                            ovs_be16 dst)
{
    if (!set_if_cut(packet, SCTP_HEADER_LEN, src, dst)) {
        __real_packet_set_sctp_port(packet, src, dst);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Where headers are behind two VLAN tags.
 *
 * Upstream has the packet parsed once more when its copy goes to a controller.
 * That notes where the headers are as if other_config:vlan-limit allowed no
 * more tags (by default one), although actions before it have pushed them, and
 * later ones then rewrite other bytes than they should.  So the linker puts
 * this between (--wrap, in automake.mk): where headers are that were known
 * before remains. */

#include <config.h>

#include "dp-packet.h"
#include "flow.h"
#include "packets.h"

void __real_flow_extract(struct dp_packet *, struct flow *);
void __wrap_flow_extract(struct dp_packet *, struct flow *);

static bool
has_stacked_tags(const struct dp_packet *packet)
{
    const struct eth_header *eth = dp_packet_data(packet);
    const struct vlan_header *tag = (const void *) (eth + 1);

    return (dp_packet_size(packet) >= sizeof *eth + sizeof *tag
            && eth_type_vlan(eth->eth_type)
            && eth_type_vlan(tag->vlan_next_type));
}

void
__wrap_flow_extract(struct dp_packet *packet, struct flow *flow)
{
    uint16_t l2_pad_size = packet->l2_pad_size;
    uint16_t l2_5_ofs = packet->l2_5_ofs;
    uint16_t l3_ofs = packet->l3_ofs;
    uint16_t l4_ofs = packet->l4_ofs;

    __real_flow_extract(packet, flow);
    if (l3_ofs != UINT16_MAX && dp_packet_is_eth(packet)
        && has_stacked_tags(packet)) {
        packet->l2_pad_size = l2_pad_size;
        packet->l2_5_ofs = l2_5_ofs;
        packet->l3_ofs = l3_ofs;
        packet->l4_ofs = l4_ofs;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SESSION_PARSE_H
#define ADP_SESSION_PARSE_H 1

/* From a packet to a session's key.
 *
 * Takes the packets that most packets are: Ethernet without or with one tag of
 * 802.1Q, IPv4 without options or IPv6 without extension headers, TCP or UDP,
 * no fragment, all lengths right.  Their layer offsets and padding are set as
 * miniflow_extract() sets them.
 *
 * Thread-safety: the packet is the caller's.
 */

#include <string.h>

#include "adp-session.h"
#include "dp-packet.h"
#include "packets.h"
#include "unaligned.h"

/* A packet that was parsed. */
struct adp_session_packet {
    union {
        struct adp_session_key4 key4;
        struct adp_session_key6 key6;
    };
    uint32_t hash;
    uint16_t tcp_flags;
    uint8_t nw_proto;
    bool is_ipv6;
    bool has_label;             /* If of IPv6: its key has the flow label. */
};

/* True if the packet has a VLAN tag, of which it sets '*tci' to what flows may
 * see. */
static inline bool
adp_session_tag(const struct dp_packet *packet, ovs_be16 *tci)
{
    const struct eth_header *eth = dp_packet_data(packet);

    if (OVS_LIKELY(dp_packet_size(packet)
                   < ETH_HEADER_LEN + VLAN_HEADER_LEN
                   || eth->eth_type != htons(ETH_TYPE_VLAN_8021Q))) {
        return false;
    }
    *tci = (get_unaligned_be16((const ovs_be16 *) (eth + 1))
            | htons(VLAN_CFI));
    return true;
}

/* 'tagged' is what adp_session_tag() says; 'ingress' must be another for each
 * tag.  IPv6's flow label, of which a sender may choose another for each
 * packet, is a part of the key only if 'labels'.  Returns false, with
 * undefined content of 'p', if the packet is none of these. */
bool adp_session_parse(struct dp_packet *, bool tagged, uint32_t ingress,
                       bool labels, const struct adp_session_seeds *,
                       struct adp_session_packet *p);

/* True if two packets that were parsed have the same key. */
static inline bool
adp_session_packets_alike(const struct adp_session_packet *a,
                          const struct adp_session_packet *b)
{
    return (a->hash == b->hash && a->is_ipv6 == b->is_ipv6
            && !(a->is_ipv6 ? memcmp(&a->key6, &b->key6, sizeof a->key6)
                 : memcmp(&a->key4, &b->key4, sizeof a->key4)));
}

#endif /* adp-session-parse.h */

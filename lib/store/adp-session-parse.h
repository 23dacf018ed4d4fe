/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SESSION_PARSE_H
#define ADP_SESSION_PARSE_H 1

/* From a packet to a session's key.
 *
 * Takes the packets that most packets are: untagged Ethernet, IPv4 without
 * options or IPv6 without extension headers, TCP or UDP, no fragment, all
 * lengths right.  Their layer offsets and padding are set as
 * miniflow_extract() sets them.
 *
 * Thread-safety: the packet is the caller's.
 */

#include "adp-session.h"

struct dp_packet;

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
};

/* Returns false, with undefined content of 'p', if the packet is none of
 * these. */
bool adp_session_parse(struct dp_packet *, uint32_t ingress,
                       const struct adp_session_seeds *,
                       struct adp_session_packet *p);

#endif /* adp-session-parse.h */

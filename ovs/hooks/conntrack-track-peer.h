/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_TRACK_PEER_H
#define CONNTRACK_TRACK_PEER_H 1

/* Included where conntrack-tcp.c defines its struct tcp_peer, and takes its
 * place: with the same members, but such as may be read, and changed by
 * ordinary packets, without the connection's lock (conntrack-track-tcp.c).  A
 * member that upstream adds is missed by the compiler. */

#include "conntrack-shared.h"

struct tcp_peer {
    CONNTRACK_SHARED(uint32_t) seqlo;   /* What was sent. */
    CONNTRACK_SHARED(uint32_t) seqhi;   /* What may be sent: acknowledged, and
                                         * window. */
    CONNTRACK_SHARED(uint16_t) max_win; /* Not scaled. */
    CONNTRACK_SHARED(uint8_t) wscale;
    CONNTRACK_SHARED(enum ct_dpif_tcp_state) state;
};

/* Upstream's own, which nobody uses, until conntrack-tcp.c undefines it. */
#define tcp_peer conntrack_plain_tcp_peer

#endif /* conntrack-track-peer.h */

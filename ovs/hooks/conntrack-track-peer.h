/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_TRACK_PEER_H
#define CONNTRACK_TRACK_PEER_H 1

/* Included where conntrack-tcp.c defines its struct tcp_peer, and takes its
 * place: with the same members, but such as may be read, and changed by
 * ordinary packets, without the connection's lock (conntrack-track-tcp.c).  A
 * member that upstream adds is missed by the compiler. */

#include "ovs-atomic.h"

struct tcp_peer {
    atomic_uint32_t seqlo;      /* What was sent. */
    atomic_uint32_t seqhi;      /* What may be sent: acknowledged, and window. */
    atomic_uint16_t max_win;    /* Not scaled. */
    atomic_uint8_t wscale;
    ATOMIC(enum ct_dpif_tcp_state) state;
};

/* Upstream's own, which nobody uses, until conntrack-tcp.c undefines it. */
#define tcp_peer conntrack_plain_tcp_peer

#endif /* conntrack-track-peer.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_TRACK_PEER_H
#define CONNTRACK_TRACK_PEER_H 1

/* Included where conntrack-tcp.c defines its struct tcp_peer, and takes its
 * place: with the same members, but such as may be read, and changed by
 * ordinary packets, without the connection's lock (conntrack-track-tcp.c).  A
 * member that upstream adds is missed by the compiler. */

#include "ovs-atomic.h"

/* Upstream assigns to them as to plain members.  To an atomic one that is a
 * locked exchange: ten of these made a new connection a third dearer.  So the
 * types are plain, aligned ones, which our atomic reads and writes take as well,
 * and which are written as a whole anyway; but for ThreadSanitizer, which would
 * see upstream's writes as races. */
#ifdef __SANITIZE_THREAD__
#define PEER_SHARED(TYPE) ATOMIC(TYPE)
#else
#define PEER_SHARED(TYPE) TYPE
#endif

struct tcp_peer {
    PEER_SHARED(uint32_t) seqlo;        /* What was sent. */
    PEER_SHARED(uint32_t) seqhi;        /* What may be sent: acknowledged, and
                                         * window. */
    PEER_SHARED(uint16_t) max_win;      /* Not scaled. */
    PEER_SHARED(uint8_t) wscale;
    PEER_SHARED(enum ct_dpif_tcp_state) state;
};

#undef PEER_SHARED

/* Upstream's own, which nobody uses, until conntrack-tcp.c undefines it. */
#define tcp_peer conntrack_plain_tcp_peer

#endif /* conntrack-track-peer.h */

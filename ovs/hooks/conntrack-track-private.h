/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_TRACK_PRIVATE_H
#define CONNTRACK_TRACK_PRIVATE_H 1

/* Protocols' parts of conntrack-track.h, each at the end of the file that
 * knows the protocol's state. */

#include "conntrack-private.h"
#include "conntrack-track.h"

bool conntrack_tcp_check(struct conntrack *, struct conn *, struct dp_packet *,
                         bool reply, bool is_new, struct conntrack_step *);
void conntrack_tcp_commit(const struct conntrack_step *);

/* Copies what the lock of 'from', which is held, doesn't guard alone. */
void conntrack_tcp_copy(struct conn *to, const struct conn *from);
/* True if each end has acknowledged what the other began with, and none has
 * reset the connection. */
bool conntrack_tcp_is_open(const struct conn *);

/* An end of a connection for conntrack-handover.h. */
struct conntrack_tcp_end {
    uint32_t seqlo, seqhi;
    uint16_t max_win;
    uint8_t wscale;
    uint8_t state;
};
void conntrack_tcp_save(const struct conn *, struct conntrack_tcp_end[2]);
bool conntrack_tcp_end_is_sound(const struct conntrack_tcp_end *);
/* A connection with these ends, and nothing else yet. */
struct conn *conntrack_tcp_restore(const struct conntrack_tcp_end[2]);

/* True if there is an association that hasn't ended: one that has may never
 * have begun. */
bool conntrack_sctp_is_set_up(const struct conn *);
/* True if there was a packet in reply direction. */
bool conntrack_icmp_is_answered(const struct conn *);
bool conntrack_other_is_answered(const struct conn *);
bool conntrack_other_check(struct conn *, bool reply, bool is_new,
                           struct conntrack_step *);

#endif /* conntrack-track-private.h */

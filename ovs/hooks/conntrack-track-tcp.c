/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack-tcp.c, see conntrack-track.h.
 *
 * The conditions and the arithmetic are those of tcp_conn_update() for the
 * case that both ends are established. */

#include "conntrack-track-private.h"

/* What an end of a connection looks like.  The packets of one direction are
 * mostly one thread's, and that alone changes what they change here: max_win
 * and seqlo of their sender, seqhi of the other end.  So nothing gets lost
 * where upstream's lock isn't taken; where it is, by a packet that is no
 * ordinary one, a window may seem a packet older than it is. */
struct peer_seen {
    uint32_t seqlo, seqhi;
    uint16_t max_win;
    uint8_t wscale;
    enum ct_dpif_tcp_state state;
};

static void
peer_look(const struct tcp_peer *peer, struct peer_seen *seen)
{
    atomic_read_relaxed(&peer->seqlo, &seen->seqlo);
    atomic_read_relaxed(&peer->seqhi, &seen->seqhi);
    atomic_read_relaxed(&peer->max_win, &seen->max_win);
    atomic_read_relaxed(&peer->wscale, &seen->wscale);
    atomic_read_relaxed(&peer->state, &seen->state);
}

void
conntrack_tcp_copy(struct conn *to, const struct conn *from)
{
    for (size_t i = 0; i < 2; i++) {
        struct tcp_peer *peer = &conn_tcp_cast(to)->peer[i];
        struct peer_seen seen;

        peer_look(&conn_tcp_cast(from)->peer[i], &seen);
        atomic_init(&peer->seqlo, seen.seqlo);
        atomic_init(&peer->seqhi, seen.seqhi);
        atomic_init(&peer->max_win, seen.max_win);
        atomic_init(&peer->wscale, seen.wscale);
        atomic_init(&peer->state, seen.state);
    }
}

bool
conntrack_tcp_check(struct conntrack *ct, struct conn *conn_,
                    struct dp_packet *packet, bool reply, bool is_new,
                    struct conntrack_step *step)
{
    const uint16_t ordinary = TCP_ACK | TCP_PSH | TCP_ECE | TCP_CWR;
    struct conn_tcp *conn = conn_tcp_cast(conn_);
    struct peer_seen sender, receiver;
    const struct peer_seen *src = &sender, *dst = &receiver;
    const struct tcp_header *tcp = dp_packet_l4(packet);
    uint16_t flags = TCP_FLAGS(tcp->tcp_ctl);
    uint8_t sws = 0, dws = 0;

    peer_look(&conn->peer[reply], &sender);
    peer_look(&conn->peer[!reply], &receiver);
    if (is_new || !(flags & TCP_ACK) || flags & ~ordinary
        || src->state != CT_DPIF_TCPS_ESTABLISHED
        || dst->state != CT_DPIF_TCPS_ESTABLISHED) {
        return false;
    }

    if (src->wscale & dst->wscale & CT_WSCALE_FLAG) {
        sws = src->wscale & CT_WSCALE_MASK;
        dws = dst->wscale & CT_WSCALE_MASK;
    } else if (src->wscale & dst->wscale & CT_WSCALE_UNKNOWN) {
        sws = dws = TCP_MAX_WSCALE;
    }

    uint32_t win = ntohs(tcp->tcp_winsz);
    uint32_t ack = ntohl(get_16aligned_be32(&tcp->tcp_ack));
    uint32_t seq = ntohl(get_16aligned_be32(&tcp->tcp_seq));
    uint32_t end = seq + dp_packet_get_tcp_payload_length(packet);

    if (seq == end) {
        seq = end = src->seqlo;
    }
    int ackskew = dst->seqlo - ack;

    if (!(SEQ_GEQ(src->seqhi, end)
          && SEQ_GEQ(seq, src->seqlo - (dst->max_win << dws))
          && ackskew >= -MAXACKWINDOW
          && ackskew <= (MAXACKWINDOW << sws))
        && !tcp_bypass_seq_chk(ct)) {
        return false;
    }
    step->src = &conn->peer[reply];
    step->dst = &conn->peer[!reply];
    step->end = end;
    step->ack = ack;
    step->win = win;
    step->sws = sws;
    step->timeout = CT_TM_TCP_ESTABLISHED;
    return true;
}

void
conntrack_tcp_commit(const struct conntrack_step *step)
{
    struct tcp_peer *src = step->src;
    struct tcp_peer *dst = step->dst;
    uint32_t win = step->win << step->sws;
    uint32_t seqlo, seqhi;
    uint16_t max_win;

    atomic_read_relaxed(&src->max_win, &max_win);
    if (max_win < step->win) {
        atomic_store_relaxed(&src->max_win, step->win);
    }
    atomic_read_relaxed(&src->seqlo, &seqlo);
    if (SEQ_GT(step->end, seqlo)) {
        atomic_store_relaxed(&src->seqlo, step->end);
    }
    atomic_read_relaxed(&dst->seqhi, &seqhi);
    if (SEQ_GEQ(step->ack + win, seqhi)) {
        atomic_store_relaxed(&dst->seqhi, step->ack + MAX(win, 1));
    }
}

static bool
peer_is_open(const struct tcp_peer *peer)
{
    enum ct_dpif_tcp_state state;

    atomic_read_relaxed(&peer->state, &state);
    return (state >= CT_DPIF_TCPS_ESTABLISHED
            && state < CT_DPIF_TCPS_TIME_WAIT);
}

bool
conntrack_tcp_is_open(const struct conn *conn_)
{
    const struct conn_tcp *conn = conn_tcp_cast(conn_);

    return peer_is_open(&conn->peer[0]) && peer_is_open(&conn->peer[1]);
}

/* Handing over. */

void
conntrack_tcp_save(const struct conn *conn, struct conntrack_tcp_end ends[2])
{
    struct peer_seen seen;

    for (size_t i = 0; i < 2; i++) {
        peer_look(&conn_tcp_cast(conn)->peer[i], &seen);
        ends[i] = (struct conntrack_tcp_end) {
            seen.seqlo, seen.seqhi, seen.max_win, seen.wscale, seen.state,
        };
    }
}

bool
conntrack_tcp_end_is_sound(const struct conntrack_tcp_end *end)
{
    return (end->state < CT_DPIF_TCPS_MAX_NUM
            && !(end->wscale & ~(CT_WSCALE_FLAG | CT_WSCALE_UNKNOWN
                                 | CT_WSCALE_MASK))
            && (end->wscale & CT_WSCALE_MASK) <= TCP_MAX_WSCALE);
}

struct conn *
conntrack_tcp_restore(const struct conntrack_tcp_end ends[2])
{
    struct conn_tcp *conn = xzalloc(sizeof *conn);

    for (size_t i = 0; i < 2; i++) {
        struct tcp_peer *peer = &conn->peer[i];

        atomic_init(&peer->seqlo, ends[i].seqlo);
        atomic_init(&peer->seqhi, ends[i].seqhi);
        atomic_init(&peer->max_win, ends[i].max_win);
        atomic_init(&peer->wscale, ends[i].wscale);
        atomic_init(&peer->state, ends[i].state);
    }
    return &conn->up;
}

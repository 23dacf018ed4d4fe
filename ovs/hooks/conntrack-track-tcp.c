/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack-tcp.c, see conntrack-track.h.
 *
 * The conditions and the arithmetic are those of tcp_conn_update() for the
 * case that both ends are established. */

#include "conntrack-track-private.h"

bool
conntrack_tcp_check(struct conntrack *ct, struct conn *conn_,
                    struct dp_packet *packet, bool reply, bool is_new,
                    struct conntrack_step *step)
{
    const uint16_t ordinary = TCP_ACK | TCP_PSH | TCP_ECE | TCP_CWR;
    struct conn_tcp *conn = conn_tcp_cast(conn_);
    const struct tcp_peer *src = &conn->peer[reply];
    const struct tcp_peer *dst = &conn->peer[!reply];
    const struct tcp_header *tcp = dp_packet_l4(packet);
    uint16_t flags = TCP_FLAGS(tcp->tcp_ctl);
    uint8_t sws = 0, dws = 0;

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
    step->src = CONST_CAST(struct tcp_peer *, src);
    step->dst = CONST_CAST(struct tcp_peer *, dst);
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

    if (src->max_win < step->win) {
        src->max_win = step->win;
    }
    if (SEQ_GT(step->end, src->seqlo)) {
        src->seqlo = step->end;
    }
    if (SEQ_GEQ(step->ack + (step->win << step->sws), dst->seqhi)) {
        dst->seqhi = step->ack + MAX(step->win << step->sws, 1);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-offload.h"

#include <netinet/in.h>
#include <netinet/ip6.h>
#include <string.h>

#include "crc32c.h"
#include "csum.h"
#include "dp-packet.h"
#include "packets.h"
#include "unaligned.h"
#include "util.h"

/* Linux has it since 6.2, headers may be older. */
#define GSO_UDP_L4 5

/* Tags of a packet that are looked behind. */
#define MAX_VLANS 4

/* Where things are in a packet. */
struct header_places {
    size_t l3_ofs, l4_ofs;
    size_t l4_len;              /* With its header. */
    uint8_t proto;
    bool ipv6;
    bool fragment;
    /* TCP's and UDP's sums are over the last address of a routing header, to
     * which the packet isn't sent yet (RFC 8200, 8.1). */
    bool routed;
};

static bool
is_extension(uint8_t proto)
{
    return (proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING
            || proto == IPPROTO_DSTOPTS);
}

static bool
locate_ipv4(const struct dp_packet *packet, struct header_places *at)
{
    const struct ip_header *ip = dp_packet_at(packet, at->l3_ofs,
                                              IP_HEADER_LEN);

    if (!ip || IP_VER(ip->ip_ihl_ver) != 4) {
        return false;
    }
    const size_t header_len = IP_IHL(ip->ip_ihl_ver) * 4;
    const size_t len = ntohs(ip->ip_tot_len);

    if (header_len < IP_HEADER_LEN || len < header_len
        || !dp_packet_at(packet, at->l3_ofs, len)) {
        return false;
    }
    at->ipv6 = at->routed = false;
    at->l4_ofs = at->l3_ofs + header_len;
    at->l4_len = len - header_len;
    at->proto = ip->ip_proto;
    at->fragment = IP_IS_FRAGMENT(ip->ip_frag_off);
    return true;
}

static bool
locate_ipv6(const struct dp_packet *packet, struct header_places *at)
{
    const struct ovs_16aligned_ip6_hdr *ip = dp_packet_at(
        packet, at->l3_ofs, IPV6_HEADER_LEN);

    if (!ip || ip->ip6_vfc >> 4 != 6) {
        return false;
    }
    size_t len = ntohs(ip->ip6_plen), ofs = at->l3_ofs + IPV6_HEADER_LEN;

    if (!dp_packet_at(packet, ofs, len)) {
        return false;
    }
    uint8_t proto = ip->ip6_nxt;

    at->routed = false;
    while (is_extension(proto)) {
        const uint8_t *extension = dp_packet_at(packet, ofs, 8);

        if (len < 8) {
            return false;
        }
        const size_t n = (extension[1] + 1) * 8;
        const uint8_t segments_left = extension[3];

        if (n > len) {
            return false;
        }
        at->routed |= proto == IPPROTO_ROUTING && segments_left;
        proto = extension[0];
        ofs += n;
        len -= n;
    }
    at->ipv6 = true;
    at->l4_ofs = ofs;
    at->l4_len = len;
    at->proto = proto;
    at->fragment = proto == IPPROTO_FRAGMENT;
    return true;
}

/* Finds the headers of 'packet', or returns false: it isn't IP, or lies about
 * its length. */
static bool
locate(const struct dp_packet *packet, struct header_places *at)
{
    size_t ofs = 2 * ETH_ADDR_LEN;
    const ovs_be16 *type = dp_packet_at(packet, ofs, sizeof *type);

    for (int i = 0; i < MAX_VLANS && type && eth_type_vlan(*type); i++) {
        ofs += VLAN_HEADER_LEN;
        type = dp_packet_at(packet, ofs, sizeof *type);
    }
    if (!type) {
        return false;
    }
    at->l3_ofs = ofs + sizeof *type;
    switch (ntohs(*type)) {
    case ETH_TYPE_IP:
        return locate_ipv4(packet, at);
    case ETH_TYPE_IPV6:
        return locate_ipv6(packet, at);
    default:
        return false;
    }
}

static uint32_t
pseudo_header(const struct dp_packet *packet, const struct header_places *at)
{
    const char *l3 = (const char *) dp_packet_data(packet) + at->l3_ofs;
    uint32_t sum = csum_add16(0, htons(at->proto));

    sum = csum_add16(sum, htons(at->l4_len));
    return (at->ipv6
            ? csum_continue(sum, l3 + offsetof(struct ovs_16aligned_ip6_hdr,
                                               ip6_src), 32)
            : csum_continue(sum, l3 + offsetof(struct ip_header, ip_src), 8));
}

/* Where in its header a protocol has its checksum, or 0. */
static size_t
csum_offset(uint8_t proto)
{
    return (proto == IPPROTO_TCP ? offsetof(struct tcp_header, tcp_csum)
            : proto == IPPROTO_UDP ? offsetof(struct udp_header, udp_csum)
            : 0);
}

bool
adp_offload_is_due(const struct dp_packet *packet)
{
    return (*dp_packet_ol_flags_ptr(packet) & ADP_OFFLOAD_DUE) != 0;
}

uint16_t
adp_offload_segment_len(const struct dp_packet *packet)
{
#ifdef DPDK_NETDEV
    return packet->mbuf.tso_segsz;
#else
    return 0;
#endif
}

void
adp_offload_set_segment_len(struct dp_packet *packet, uint16_t len)
{
#ifdef DPDK_NETDEV
    packet->mbuf.tso_segsz = len;
#endif
}

/* How long segments of 'packet' are to be: as it says itself, which may be any
 * length if it is a guest's, or else as long as the MTU has room for data. */
static size_t
own_segment_len(const struct dp_packet *packet, int room)
{
    const size_t len = adp_offload_segment_len(packet);
    const size_t most = MAX(room, 1);

    return len ? MAX(len, MIN(ADP_OFFLOAD_MIN_SEGMENT, most)) : most;
}

static void
clear_due(struct dp_packet *packet)
{
    *dp_packet_ol_flags_ptr(packet) &= ~(ADP_OFFLOAD_DUE | DP_PACKET_OL_TX_IPV4
                                         | DP_PACKET_OL_TX_IPV6);
}

static void
set_due(struct dp_packet *packet, const struct header_places *at)
{
    if (at->proto == IPPROTO_TCP) {
        dp_packet_hwol_set_csum_tcp(packet);
    } else {
        dp_packet_hwol_set_csum_udp(packet);
    }
    if (at->ipv6) {
        dp_packet_hwol_set_tx_ipv6(packet);
    } else {
        dp_packet_hwol_set_tx_ipv4(packet);
    }
}

static void
complete_sctp(struct dp_packet *packet, const struct header_places *at)
{
    struct sctp_header *sctp = (void *) ((char *) dp_packet_data(packet)
                                         + at->l4_ofs);

    put_16aligned_be32(&sctp->sctp_csum, 0);
    put_16aligned_be32(&sctp->sctp_csum, crc32c((void *) sctp, at->l4_len));
}

/* A checksum that isn't that of a TCP or UDP header in its place, such as
 * SCTP's, or that of a packet within the Pod's own tunnel, or one that can't
 * be begun anew: done at once, as the kernel would. */
static enum adp_offload_verdict
complete_other(struct dp_packet *packet, const struct virtio_net_hdr *header,
               const struct header_places *at)
{
    const size_t size = dp_packet_size(packet);
    const size_t start = header->csum_start, ofs = header->csum_offset;
    char *data = dp_packet_data(packet);

    if (start + ofs + sizeof(ovs_be16) > size) {
        return ADP_OFFLOAD_BAD;
    }
    if (at && at->proto == IPPROTO_SCTP && start == at->l4_ofs
        && at->l4_len >= SCTP_HEADER_LEN
        && ofs == offsetof(struct sctp_header, sctp_csum)) {
        complete_sctp(packet, at);
        return ADP_OFFLOAD_OK;
    }
    ovs_be16 sum = csum(data + start, size - start);

    if (!sum) {
        sum = htons(0xffff);    /* To UDP 0 is none, to others the same. */
    }
    memcpy(data + start + ofs, &sum, sizeof sum);
    return ADP_OFFLOAD_OK;
}

/* The length of a TCP or UDP header, or 0 if there isn't a whole one, whose
 * sum is over the packet's addresses. */
static size_t
l4_header_len(const struct dp_packet *packet, const struct header_places *at)
{
    if (at->routed) {
        return 0;
    }
    if (at->proto == IPPROTO_UDP) {
        return at->l4_len >= UDP_HEADER_LEN ? UDP_HEADER_LEN : 0;
    }
    if (at->proto != IPPROTO_TCP || at->l4_len < TCP_HEADER_LEN) {
        return 0;
    }
    const struct tcp_header *tcp = dp_packet_at(packet, at->l4_ofs,
                                                TCP_HEADER_LEN);
    const size_t len = TCP_OFFSET(tcp->tcp_ctl) * 4;

    return len >= TCP_HEADER_LEN && len <= at->l4_len ? len : 0;
}

/* How much data 'mtu' leaves a segment. */
static int
segment_room(const struct header_places *at, size_t l4_header_len, int mtu)
{
    return mtu - (int) (at->l4_ofs - at->l3_ofs + l4_header_len);
}

void
adp_offload_limit_segments(struct dp_packet *packet, int mtu)
{
    const size_t len = adp_offload_segment_len(packet);
    struct header_places at;
    size_t l4_header;

    if (locate(packet, &at) && (l4_header = l4_header_len(packet, &at))) {
        const int room = segment_room(&at, l4_header, mtu);
        const size_t most = MIN(MAX(room, 1), UINT16_MAX);

        adp_offload_set_segment_len(packet, len ? MIN(len, most) : most);
    }
}

static enum adp_offload_verdict
take_segments(struct dp_packet *packet, const struct virtio_net_hdr *header,
              const struct header_places *at, bool tso)
{
    const uint8_t type = header->gso_type & ~VIRTIO_NET_HDR_GSO_ECN;
    const size_t header_len = l4_header_len(packet, at);

    if (!header_len || !header->gso_size
        || !dp_packet_hwol_l4_mask(packet)) {
        return ADP_OFFLOAD_BAD;
    }
    switch (type) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
    case VIRTIO_NET_HDR_GSO_TCPV6:
        if (at->proto != IPPROTO_TCP
            || at->ipv6 != (type == VIRTIO_NET_HDR_GSO_TCPV6)) {
            return ADP_OFFLOAD_BAD;
        }
        break;
    case GSO_UDP_L4:
        if (at->proto != IPPROTO_UDP) {
            return ADP_OFFLOAD_BAD;
        }
        tso = false;
        break;
    default:
        return ADP_OFFLOAD_BAD;
    }
    if (at->l4_len - header_len <= header->gso_size) {
        return ADP_OFFLOAD_OK;
    }
    if (!tso || header->gso_size < ADP_OFFLOAD_MIN_SEGMENT) {
        return ADP_OFFLOAD_SEGMENT;
    }
    dp_packet_hwol_set_tcp_seg(packet);
    adp_offload_set_segment_len(packet, header->gso_size);
    return ADP_OFFLOAD_OK;
}

/* Segments that a NIC has put together (LRO), after it found their checksums
 * right: none is right for the whole. */
static enum adp_offload_verdict
take_put_together(struct dp_packet *packet,
                  const struct virtio_net_hdr *header, bool tso)
{
    struct header_places at;

    if (!(header->flags & VIRTIO_NET_HDR_F_DATA_VALID)
        || !locate(packet, &at) || at.fragment || at.proto != IPPROTO_TCP
        || !l4_header_len(packet, &at)) {
        return ADP_OFFLOAD_BAD;
    }
    set_due(packet, &at);
    return take_segments(packet, header, &at, tso);
}

enum adp_offload_verdict
adp_offload_take(struct dp_packet *packet, const struct virtio_net_hdr *header,
                 bool tso)
{
    const bool segments = header->gso_type != VIRTIO_NET_HDR_GSO_NONE;
    struct header_places at;

    if (!(header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)) {
        if (header->flags & VIRTIO_NET_HDR_F_DATA_VALID) {
            *dp_packet_ol_flags_ptr(packet) |= DP_PACKET_OL_RX_L4_CKSUM_GOOD;
        }
        return (segments ? take_put_together(packet, header, tso)
                : ADP_OFFLOAD_OK);
    }
    const bool found = locate(packet, &at);

    if (!found || at.fragment || !csum_offset(at.proto)
        || at.l4_ofs != header->csum_start
        || csum_offset(at.proto) != header->csum_offset
        || !l4_header_len(packet, &at)) {
        return (segments ? ADP_OFFLOAD_BAD
                : complete_other(packet, header, found ? &at : NULL));
    }
    set_due(packet, &at);
    return segments ? take_segments(packet, header, &at, tso) : ADP_OFFLOAD_OK;
}

size_t
adp_offload_longest(const struct dp_packet *packet,
                    const struct virtio_net_hdr *header)
{
    const size_t size = dp_packet_size(packet);
    struct header_places at;

    if (header->gso_type == VIRTIO_NET_HDR_GSO_NONE || !locate(packet, &at)) {
        return size;
    }
    const size_t l4_header = l4_header_len(packet, &at);

    return (at.l4_len - l4_header <= header->gso_size ? size
            : at.l4_ofs + l4_header + header->gso_size);
}

/* As locate(), for a packet that says that its checksum is due.  Returns false
 * if nothing is due any more. */
static bool
locate_due(struct dp_packet *packet, struct header_places *at)
{
    const bool found = locate(packet, at);

    if (found && at->proto == IPPROTO_SCTP && at->l4_len >= SCTP_HEADER_LEN) {
        complete_sctp(packet, at);
        clear_due(packet);
        return false;
    }
    /* Something else was pushed before it, or it was cut: what is to be summed
     * up is gone. */
    if (!found || !l4_header_len(packet, at)) {
        clear_due(packet);
        return false;
    }
    return true;
}

static void
begin(struct dp_packet *packet, const struct header_places *at)
{
    ovs_be16 sum = ~csum_finish(pseudo_header(packet, at));

    memcpy((char *) dp_packet_data(packet) + at->l4_ofs
           + csum_offset(at->proto), &sum, sizeof sum);
}

void
adp_offload_begin(struct dp_packet *packet)
{
    struct header_places at;

    if (adp_offload_is_due(packet) && locate_due(packet, &at)) {
        begin(packet, &at);
    }
}

void
adp_offload_put(struct dp_packet *packet, struct virtio_net_hdr *header,
                int mtu)
{
    struct header_places at;

    memset(header, 0, sizeof *header);
    if (!adp_offload_is_due(packet) || !locate_due(packet, &at)) {
        return;
    }
    const size_t l4_len = l4_header_len(packet, &at);
    const char *l4 = (char *) dp_packet_data(packet) + at.l4_ofs;

    begin(packet, &at);
    header->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    header->csum_start = at.l4_ofs;
    header->csum_offset = csum_offset(at.proto);
    if (!dp_packet_hwol_is_tso(packet) || at.proto != IPPROTO_TCP) {
        return;
    }
    const size_t len = own_segment_len(packet,
                                       segment_room(&at, l4_len, mtu));

    if (at.l4_len - l4_len <= len) {
        return;
    }
    header->gso_type = (at.ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6
                        : VIRTIO_NET_HDR_GSO_TCPV4);
    if (TCP_FLAGS(((struct tcp_header *) l4)->tcp_ctl) & TCP_CWR) {
        header->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
    }
    header->gso_size = len;
    header->hdr_len = at.l4_ofs + l4_len;
}

void
adp_offload_complete(struct dp_packet *packet)
{
    struct header_places at;

    if (!adp_offload_is_due(packet) || !locate_due(packet, &at)) {
        return;
    }
    char *l4 = (char *) dp_packet_data(packet) + at.l4_ofs;
    ovs_be16 sum = 0;

    memcpy(l4 + csum_offset(at.proto), &sum, sizeof sum);
    sum = csum_finish(csum_continue(pseudo_header(packet, &at), l4,
                                    at.l4_len));
    if (!sum && at.proto == IPPROTO_UDP) {
        sum = htons(0xffff);
    }
    memcpy(l4 + csum_offset(at.proto), &sum, sizeof sum);
    clear_due(packet);
    *dp_packet_ol_flags_ptr(packet) |= DP_PACKET_OL_RX_L4_CKSUM_GOOD;
}

void
adp_offload_complete_batch(struct dp_packet_batch *batch)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        if (!dp_packet_hwol_is_tso(packet)) {
            adp_offload_complete(packet);
        }
    }
}

/* Segments. */

void
adp_segments_init(struct adp_segments *s, const struct dp_packet *packet,
                  size_t segment_len, int mtu)
{
    struct header_places at;
    size_t l4_header;

    memset(s, 0, sizeof *s);
    s->packet = packet;
    if (!locate(packet, &at) || !(l4_header = l4_header_len(packet, &at))
        || l4_header == at.l4_len) {
        s->whole = true;
        s->end = dp_packet_size(packet);
        return;
    }
    s->l3_ofs = at.l3_ofs;
    s->l4_ofs = at.l4_ofs;
    s->header_len = s->ofs = at.l4_ofs + l4_header;
    s->end = at.l4_ofs + at.l4_len;
    s->is_udp = at.proto == IPPROTO_UDP;
    s->ipv6 = at.ipv6;
    s->segment_len = (segment_len ? segment_len
                      : own_segment_len(packet,
                                        segment_room(&at, l4_header, mtu)));
}

/* The headers' fields that depend on which segment it is. */
static void
fix_segment(const struct adp_segments *s, struct dp_packet *segment,
            bool last)
{
    char *data = dp_packet_data(segment);
    const size_t size = dp_packet_size(segment);

    if (s->ipv6) {
        struct ovs_16aligned_ip6_hdr *ip = (void *) (data + s->l3_ofs);

        ip->ip6_plen = htons(size - s->l3_ofs - IPV6_HEADER_LEN);
    } else {
        struct ip_header *ip = (void *) (data + s->l3_ofs);

        ip->ip_tot_len = htons(size - s->l3_ofs);
        ip->ip_id = htons(ntohs(ip->ip_id) + s->n);
        ip->ip_csum = 0;
        ip->ip_csum = csum(ip, s->l4_ofs - s->l3_ofs);
    }
    if (s->is_udp) {
        struct udp_header *udp = (void *) (data + s->l4_ofs);

        udp->udp_len = htons(size - s->l4_ofs);
        return;
    }
    struct tcp_header *tcp = (void *) (data + s->l4_ofs);
    uint16_t flags = TCP_FLAGS(tcp->tcp_ctl);

    if (!last) {
        flags &= ~(TCP_FIN | TCP_PSH);
    }
    if (s->n) {
        flags &= ~TCP_CWR;
    }
    tcp->tcp_ctl = TCP_CTL(flags, TCP_OFFSET(tcp->tcp_ctl));
    put_16aligned_be32(&tcp->tcp_seq,
                       htonl(ntohl(get_16aligned_be32(&tcp->tcp_seq))
                             + s->ofs - s->header_len));
}

static struct dp_packet *
whole_packet(struct adp_segments *s)
{
    struct dp_packet *packet = dp_packet_clone_with_headroom(
        s->packet, dp_packet_headroom(s->packet));

    *dp_packet_ol_flags_ptr(packet) &= ~DP_PACKET_OL_TX_TCP_SEG;
    s->ofs = s->end;
    return packet;
}

struct dp_packet *
adp_segments_next(struct adp_segments *s)
{
    if (!s->packet || s->ofs >= s->end) {
        s->packet = NULL;
        return NULL;
    }
    if (s->whole) {
        return whole_packet(s);
    }
    const char *from = dp_packet_data(s->packet);
    const size_t len = MIN(s->segment_len, s->end - s->ofs);
    struct dp_packet *segment = dp_packet_new_with_headroom(
        s->header_len + len, dp_packet_headroom(s->packet));

    dp_packet_put(segment, from, s->header_len);
    dp_packet_put(segment, from + s->ofs, len);
    /* As dp_packet_clone() does. */
    memcpy(&segment->l2_pad_size, &s->packet->l2_pad_size,
           sizeof *segment - offsetof(struct dp_packet, l2_pad_size));
    dp_packet_set_l2_pad_size(segment, 0);
    *dp_packet_ol_flags_ptr(segment)
        = (*dp_packet_ol_flags_ptr(s->packet) & DP_PACKET_OL_SUPPORTED_MASK
           & ~DP_PACKET_OL_TX_TCP_SEG);
    if (dp_packet_rss_valid(s->packet)) {
        dp_packet_set_rss_hash(segment, dp_packet_get_rss_hash(s->packet));
    }
    fix_segment(s, segment, s->ofs + len >= s->end);
    s->ofs += len;
    s->n++;
    return segment;
}

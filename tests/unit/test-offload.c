/* SPDX-License-Identifier: Apache-2.0 */

/* Checksums and segments that others are to finish: as the kernel hands them
 * on, as it gets them back, and finished here. */

#include <config.h>

#include <check.h>
#include <netinet/in.h>
#include <netinet/ip6.h>
#include <string.h>

#include "adp-offload.h"
#include "crc32c.h"
#include "csum.h"
#include "dp-packet.h"
#include "packets.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "unaligned.h"
#include "util.h"

#define N_RANDOM 2000
#define GSO_UDP_L4 5

/* What a packet is made of. */
struct recipe {
    bool ipv6, udp, vlan, extension;
    size_t data_len;
    uint16_t tcp_flags;
    size_t tcp_options;         /* In words. */
};

static void
random_recipe(struct recipe *r, size_t max_data)
{
    r->ipv6 = random_range(2);
    r->udp = random_range(2);
    r->vlan = random_range(2);
    r->extension = r->ipv6 && random_range(2);
    r->data_len = random_range(max_data) + 1;
    r->tcp_flags = TCP_ACK | (random_range(2) ? TCP_PSH : 0)
                   | (random_range(2) ? TCP_FIN : 0)
                   | (random_range(2) ? TCP_CWR : 0);
    r->tcp_options = random_range(11);
}

static size_t
l3_ofs(const struct recipe *r)
{
    return ETH_HEADER_LEN + (r->vlan ? VLAN_HEADER_LEN : 0);
}

static size_t
l4_ofs(const struct recipe *r)
{
    return (l3_ofs(r) + (r->ipv6 ? IPV6_HEADER_LEN : IP_HEADER_LEN)
            + (r->extension ? 8 : 0));
}

static size_t
l4_header_len(const struct recipe *r)
{
    return r->udp ? UDP_HEADER_LEN : TCP_HEADER_LEN + 4 * r->tcp_options;
}

static void
put_l3(struct dp_packet *p, const struct recipe *r)
{
    const size_t l4_len = l4_header_len(r) + r->data_len;
    const uint8_t proto = r->udp ? IPPROTO_UDP : IPPROTO_TCP;

    if (r->ipv6) {
        struct ovs_16aligned_ip6_hdr ip = {
            .ip6_nxt = r->extension ? IPPROTO_DSTOPTS : proto,
            .ip6_plen = htons(l4_len + (r->extension ? 8 : 0)),
        };

        ip.ip6_vfc = 0x60;
        random_bytes(&ip.ip6_src, sizeof ip.ip6_src);
        random_bytes(&ip.ip6_dst, sizeof ip.ip6_dst);
        dp_packet_put(p, &ip, sizeof ip);
        if (r->extension) {
            uint8_t options[8] = { proto, 0, 1, 4 };

            dp_packet_put(p, options, sizeof options);
        }
    } else {
        struct ip_header ip = {
            .ip_ihl_ver = IP_IHL_VER(5, 4),
            .ip_tot_len = htons(IP_HEADER_LEN + l4_len),
            .ip_id = htons(random_uint16()),
            .ip_ttl = 64,
            .ip_proto = proto,
        };

        random_bytes(&ip.ip_src, sizeof ip.ip_src);
        random_bytes(&ip.ip_dst, sizeof ip.ip_dst);
        ip.ip_csum = csum(&ip, sizeof ip);
        dp_packet_put(p, &ip, sizeof ip);
    }
}

/* A packet with nonsense for a checksum. */
static struct dp_packet *
make(const struct recipe *r)
{
    struct dp_packet *p = dp_packet_new_with_headroom(
        l4_ofs(r) + l4_header_len(r) + r->data_len, 64);
    struct eth_header eth = {
        .eth_type = htons(r->vlan ? ETH_TYPE_VLAN_8021Q
                          : r->ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP),
    };

    dp_packet_put(p, &eth, sizeof eth);
    if (r->vlan) {
        struct vlan_header vlan = {
            .vlan_tci = htons(5),
            .vlan_next_type = htons(r->ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP),
        };

        dp_packet_put(p, &vlan, sizeof vlan);
    }
    put_l3(p, r);
    if (r->udp) {
        struct udp_header udp = {
            .udp_src = htons(1234),
            .udp_dst = htons(53),
            .udp_len = htons(UDP_HEADER_LEN + r->data_len),
            .udp_csum = htons(random_uint16()),
        };

        dp_packet_put(p, &udp, sizeof udp);
    } else {
        struct tcp_header tcp = {
            .tcp_src = htons(1234),
            .tcp_dst = htons(80),
            .tcp_ctl = TCP_CTL(r->tcp_flags, 5 + r->tcp_options),
            .tcp_csum = htons(random_uint16()),
        };

        put_16aligned_be32(&tcp.tcp_seq, htonl(0xfffffff0));
        dp_packet_put(p, &tcp, sizeof tcp);
        memset(dp_packet_put_uninit(p, 4 * r->tcp_options), 1,
               4 * r->tcp_options);
    }
    random_bytes(dp_packet_put_uninit(p, r->data_len), r->data_len);
    return p;
}

static size_t
csum_offset(const struct recipe *r)
{
    return r->udp ? 6 : 16;
}

static struct virtio_net_hdr
kernel_header(const struct recipe *r)
{
    return (struct virtio_net_hdr) {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .csum_start = l4_ofs(r),
        .csum_offset = csum_offset(r),
    };
}

/* The sum that a receiver makes: 0 if the checksum is right. */
static uint16_t
receiver_sum(const struct dp_packet *p, const struct recipe *r)
{
    const char *data = dp_packet_data(p);
    const size_t len = dp_packet_size(p) - l4_ofs(r);
    const uint8_t proto = r->udp ? IPPROTO_UDP : IPPROTO_TCP;
    uint32_t sum;

    if (r->ipv6) {
        sum = csum_continue(0, data + l3_ofs(r) + 8, 32);
        sum = csum_add16(csum_add16(sum, htons(len)), htons(proto));
    } else {
        sum = packet_csum_pseudoheader((void *) (data + l3_ofs(r)));
    }
    return csum_finish(csum_continue(sum, data + l4_ofs(r), len));
}

static void
assert_whole(const struct dp_packet *p, const struct recipe *r)
{
    const char *data = dp_packet_data(p);

    ck_assert_uint_eq(receiver_sum(p, r), 0);
    if (r->udp) {
        ck_assert(((struct udp_header *) (data + l4_ofs(r)))->udp_csum);
    }
    if (!r->ipv6) {
        ck_assert_uint_eq(csum(data + l3_ofs(r), IP_HEADER_LEN), 0);
    }
    ck_assert(!adp_offload_is_due(p));
}

/* As the kernel finishes what it is given. */
static void
kernel_finishes(struct dp_packet *p, const struct virtio_net_hdr *h)
{
    char *data = dp_packet_data(p);
    ovs_be16 sum = csum(data + h->csum_start,
                        dp_packet_size(p) - h->csum_start);

    ck_assert_uint_eq(h->flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
    if (!sum) {
        sum = htons(0xffff);
    }
    memcpy(data + h->csum_start + h->csum_offset, &sum, sizeof sum);
}

START_TEST(checksums)
{
    for (int i = 0; i < N_RANDOM; i++) {
        struct recipe r;

        random_recipe(&r, 1400);
        struct dp_packet *p = make(&r);
        struct virtio_net_hdr header = kernel_header(&r), back;

        ck_assert_int_eq(adp_offload_take(p, &header, random_range(2)),
                         ADP_OFFLOAD_OK);
        ck_assert(adp_offload_is_due(p));
        ck_assert(dp_packet_hwol_tx_l4_checksum(p));
        ck_assert(!dp_packet_hwol_is_tso(p));

        /* Others rewrite it, as if its checksum were whole. */
        dp_packet_set_l3(p, (char *) dp_packet_data(p) + l3_ofs(&r));
        dp_packet_set_l4(p, (char *) dp_packet_data(p) + l4_ofs(&r));
        if (r.udp) {
            packet_set_udp_port(p, htons(random_uint16()), htons(1));
        } else {
            packet_set_tcp_port(p, htons(random_uint16()), htons(1));
        }
        if (!r.ipv6) {
            packet_set_ipv4(p, htonl(random_uint32()), htonl(1), 4, 63);
        }

        struct dp_packet *copy = dp_packet_clone(p);

        adp_offload_begin(copy);
        ck_assert(adp_offload_is_due(copy));
        kernel_finishes(copy, &header);
        ck_assert_uint_eq(receiver_sum(copy, &r), 0);
        adp_offload_complete(copy);
        assert_whole(copy, &r);
        adp_offload_put(p, &back, 1500);
        ck_assert_uint_eq(back.csum_start, header.csum_start);
        ck_assert_uint_eq(back.csum_offset, header.csum_offset);
        ck_assert_uint_eq(back.gso_type, VIRTIO_NET_HDR_GSO_NONE);
        kernel_finishes(p, &back);
        ck_assert_uint_eq(receiver_sum(p, &r), 0);
        dp_packet_delete(copy);
        dp_packet_delete(p);
    }
}
END_TEST

/* As an acknowledgement is. */
START_TEST(no_data)
{
    for (int i = 0; i < 8; i++) {
        const struct recipe r = {
            .ipv6 = i & 1, .udp = i & 2, .vlan = i & 4,
            .tcp_flags = TCP_ACK,
        };
        struct dp_packet *p = make(&r);
        struct virtio_net_hdr header = kernel_header(&r), back;

        ck_assert_int_eq(adp_offload_take(p, &header, true), ADP_OFFLOAD_OK);
        ck_assert(adp_offload_is_due(p));
        adp_offload_put(p, &back, 1500);
        ck_assert_uint_eq(back.csum_start, header.csum_start);
        adp_offload_complete(p);
        assert_whole(p, &r);
        dp_packet_delete(p);
    }
}
END_TEST

START_TEST(whole_ones)
{
    struct recipe r = { .data_len = 10 };
    struct dp_packet *p = make(&r);
    struct virtio_net_hdr header = { 0 }, back;

    ck_assert_int_eq(adp_offload_take(p, &header, true), ADP_OFFLOAD_OK);
    ck_assert(!adp_offload_is_due(p));
    ck_assert(!dp_packet_l4_checksum_valid(p));
    adp_offload_put(p, &back, 1500);
    ck_assert_uint_eq(back.flags, 0);

    header.flags = VIRTIO_NET_HDR_F_DATA_VALID;
    ck_assert_int_eq(adp_offload_take(p, &header, true), ADP_OFFLOAD_OK);
    ck_assert(dp_packet_l4_checksum_valid(p));
    dp_packet_delete(p);
}
END_TEST

static uint8_t
gso_type(const struct recipe *r)
{
    return (r->udp ? GSO_UDP_L4 : r->ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6
            : VIRTIO_NET_HDR_GSO_TCPV4);
}

/* Compares a segment with what it was made of. */
static void
compare_segment(const struct dp_packet *whole, const struct dp_packet *segment,
                const struct recipe *r, size_t ofs, size_t len)
{
    const char *a = dp_packet_data(whole), *b = dp_packet_data(segment);
    const size_t header_len = l4_ofs(r) + l4_header_len(r);
    const bool last = ofs + len == r->data_len;

    ck_assert_uint_eq(dp_packet_size(segment), header_len + len);
    ck_assert_mem_eq(a + header_len + ofs, b + header_len, len);
    ck_assert_mem_eq(a, b, l3_ofs(r));
    if (!r->udp) {
        const struct tcp_header *tcp = (void *) (b + l4_ofs(r));
        uint16_t flags = r->tcp_flags;

        flags &= last ? UINT16_MAX : ~(TCP_FIN | TCP_PSH);
        flags &= ofs ? ~TCP_CWR : UINT16_MAX;
        ck_assert_uint_eq(TCP_FLAGS(tcp->tcp_ctl), flags);
        ck_assert_uint_eq(ntohl(get_16aligned_be32(&tcp->tcp_seq)),
                          (uint32_t) (0xfffffff0 + ofs));
        ck_assert_mem_eq(a + l4_ofs(r) + TCP_HEADER_LEN, tcp + 1,
                         4 * r->tcp_options);
    }
}

static void
check_segments(struct dp_packet *p, const struct recipe *r, size_t given,
               size_t len)
{
    struct adp_segments segments;
    struct dp_packet *segment;
    size_t ofs = 0;

    adp_segments_init(&segments, p, given, 1500);
    while ((segment = adp_segments_next(&segments))) {
        const size_t n = MIN(len, r->data_len - ofs);
        struct recipe short_one = *r;

        short_one.data_len = n;
        compare_segment(p, segment, r, ofs, n);
        ck_assert(!dp_packet_hwol_is_tso(segment));
        adp_offload_complete(segment);
        assert_whole(segment, &short_one);
        dp_packet_delete(segment);
        ofs += n;
    }
    ck_assert_uint_eq(ofs, r->data_len);
    ck_assert_ptr_null(adp_segments_next(&segments));
}

START_TEST(segments)
{
    for (int i = 0; i < 300; i++) {
        struct recipe r;

        random_recipe(&r, 60000);
        struct dp_packet *p = make(&r);
        struct virtio_net_hdr header = kernel_header(&r), back;
        const bool tso = random_range(2);
        /* Long enough for the test's time, short enough to segment. */
        const size_t len = ADP_OFFLOAD_MIN_SEGMENT - 50 + random_range(1000);

        header.gso_type = gso_type(&r);
        header.gso_size = len;
        enum adp_offload_verdict verdict = adp_offload_take(p, &header, tso);

        if (r.data_len <= len) {
            ck_assert_int_eq(verdict, ADP_OFFLOAD_OK);
            ck_assert(!dp_packet_hwol_is_tso(p));
        } else if (r.udp || !tso || len < ADP_OFFLOAD_MIN_SEGMENT) {
            ck_assert_int_eq(verdict, ADP_OFFLOAD_SEGMENT);
            check_segments(p, &r, len, len);
        } else {
            ck_assert_int_eq(verdict, ADP_OFFLOAD_OK);
            ck_assert(dp_packet_hwol_is_tso(p));
#ifdef DPDK_NETDEV
            check_segments(p, &r, 0, len);
            adp_offload_put(p, &back, 1500);
            ck_assert_uint_eq(back.gso_size, len);
            ck_assert_uint_eq(back.hdr_len, l4_ofs(&r) + l4_header_len(&r));
            ck_assert_uint_eq(back.gso_type, gso_type(&r)
                              | (r.tcp_flags & TCP_CWR
                                 ? VIRTIO_NET_HDR_GSO_ECN : 0));
#endif
            /* Nobody knows: by the MTU. */
            adp_offload_set_segment_len(p, 0);
            adp_offload_put(p, &back, 1500);
            const size_t by_mtu = 1500 - (l4_ofs(&r) - l3_ofs(&r)
                                          + l4_header_len(&r));

            ck_assert_uint_eq(back.gso_size,
                              r.data_len > by_mtu ? by_mtu : 0);
        }
        dp_packet_delete(p);
    }
}
END_TEST

/* Of what a sender asks for, the longest is foreseen. */
START_TEST(longest)
{
    for (int i = 0; i < 300; i++) {
        struct recipe r;

        random_recipe(&r, 60000);
        struct dp_packet *p = make(&r), *segment;
        struct virtio_net_hdr header = kernel_header(&r);
        struct adp_segments segments;
        size_t most = 0;

        ck_assert_uint_eq(adp_offload_longest(p, &header), dp_packet_size(p));
        header.gso_type = gso_type(&r);
        header.gso_size = random_range(2) ? 30000 : 1400;
        if (adp_offload_take(p, &header, false) == ADP_OFFLOAD_OK) {
            most = dp_packet_size(p);
        } else {
            adp_segments_init(&segments, p, header.gso_size, 1500);
            while ((segment = adp_segments_next(&segments))) {
                most = MAX(most, dp_packet_size(segment));
                dp_packet_delete(segment);
            }
        }
        ck_assert_uint_eq(adp_offload_longest(p, &header), most);
        dp_packet_delete(p);
    }
}
END_TEST

/* A packet that was cut when its segments were still to be made: whatever is
 * left of it goes out as it is, and nothing vanishes. */
START_TEST(segments_of_one_that_was_cut)
{
    struct recipe r = { .data_len = 3000 };
    struct dp_packet *p = make(&r);
    const size_t size = dp_packet_size(p);

    for (size_t len = size - 1; len; len--) {
        struct adp_segments segments;

        dp_packet_set_size(p, len);
        dp_packet_hwol_set_csum_tcp(p);
        dp_packet_hwol_set_tcp_seg(p);
        adp_segments_init(&segments, p, 1000, 1500);
        struct dp_packet *segment = adp_segments_next(&segments);

        ck_assert_ptr_nonnull(segment);
        ck_assert_uint_eq(dp_packet_size(segment), len);
        ck_assert_mem_eq(dp_packet_data(segment), dp_packet_data(p), len);
        adp_offload_complete(segment);
        ck_assert(!adp_offload_is_due(segment));
        ck_assert_mem_eq(dp_packet_data(segment), dp_packet_data(p), len);
        ck_assert_ptr_null(adp_segments_next(&segments));
        dp_packet_delete(segment);
    }
    dp_packet_delete(p);
}
END_TEST

/* What the kernel says doesn't fit what is there. */
static enum adp_offload_verdict
verdict_on(const struct recipe *r, const struct virtio_net_hdr *header)
{
    struct dp_packet *p = make(r);
    enum adp_offload_verdict verdict = adp_offload_take(p, header, true);

    dp_packet_delete(p);
    return verdict;
}

START_TEST(contradictions)
{
    struct recipe r = { .data_len = 3000 };
    struct virtio_net_hdr good = kernel_header(&r), h;

    good.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
    good.gso_size = 1400;
    ck_assert_int_eq(verdict_on(&r, &good), ADP_OFFLOAD_OK);
    h = good, h.gso_size = 0;
    ck_assert_int_eq(verdict_on(&r, &h), ADP_OFFLOAD_BAD);
    h = good, h.gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
    ck_assert_int_eq(verdict_on(&r, &h), ADP_OFFLOAD_BAD);
    h = good, h.gso_type = GSO_UDP_L4;
    ck_assert_int_eq(verdict_on(&r, &h), ADP_OFFLOAD_BAD);
    h = good, h.gso_type = VIRTIO_NET_HDR_GSO_UDP;
    ck_assert_int_eq(verdict_on(&r, &h), ADP_OFFLOAD_BAD);
    h = good, h.flags = 0;
    ck_assert_int_eq(verdict_on(&r, &h), ADP_OFFLOAD_BAD);
    h = good, h.csum_start += 2;
    ck_assert_int_eq(verdict_on(&r, &h), ADP_OFFLOAD_BAD);

    /* Without segments a checksum somewhere else is made there. */
    h = kernel_header(&r), h.csum_start += 2;
    ck_assert_int_eq(verdict_on(&r, &h), ADP_OFFLOAD_OK);
    h.csum_start = 0xffff;
    ck_assert_int_eq(verdict_on(&r, &h), ADP_OFFLOAD_BAD);
    h.csum_start = 0, h.csum_offset = 0xffff;
    ck_assert_int_eq(verdict_on(&r, &h), ADP_OFFLOAD_BAD);
}
END_TEST

/* A Pod asks for a segment for each byte. */
START_TEST(short_segments)
{
    struct recipe r = { .data_len = 3000 };
    struct virtio_net_hdr header = kernel_header(&r);
    struct dp_packet *p = make(&r);

    header.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
    header.gso_size = 1;
    ck_assert_int_eq(adp_offload_take(p, &header, true), ADP_OFFLOAD_SEGMENT);
    ck_assert(!dp_packet_hwol_is_tso(p));
    check_segments(p, &r, 1, 1);
    dp_packet_delete(p);
}
END_TEST

/* A guest does: the packet says so, and is cut where it goes out. */
START_TEST(short_segments_of_guest)
{
    static const int mtus[] = { 1500, 300 };
    const struct recipe r = { .data_len = 60000 };
    const size_t header_len = l4_ofs(&r) + l4_header_len(&r);

    for (size_t i = 0; i < ARRAY_SIZE(mtus); i++) {
        const size_t least = MIN(ADP_OFFLOAD_MIN_SEGMENT,
                                 mtus[i] - IP_HEADER_LEN - TCP_HEADER_LEN);
        struct dp_packet *p = make(&r), *segment;
        struct adp_segments segments;
        struct virtio_net_hdr back;
        size_t n = 0, n_bytes = 0;

        dp_packet_hwol_set_csum_tcp(p);
        dp_packet_hwol_set_tcp_seg(p);
        adp_offload_set_segment_len(p, 1);
        adp_segments_init(&segments, p, 0, mtus[i]);
        while ((segment = adp_segments_next(&segments))) {
            ck_assert_uint_le(dp_packet_size(segment),
                              ETH_HEADER_LEN + mtus[i]);
            n++;
            n_bytes += dp_packet_size(segment) - header_len;
            dp_packet_delete(segment);
        }
        ck_assert_uint_eq(n_bytes, r.data_len);
        ck_assert_uint_le(n, r.data_len / least + 1);
        adp_offload_put(p, &back, mtus[i]);
        ck_assert_uint_ge(back.gso_size, least);
        ck_assert_uint_le(back.gso_size,
                          mtus[i] - IP_HEADER_LEN - TCP_HEADER_LEN);
        dp_packet_delete(p);
    }
}
END_TEST

/* A NIC put segments together (LRO) whose checksums it had found right. */
START_TEST(put_together)
{
    for (int i = 0; i < 40; i++) {
        const bool tso = random_range(2);
        struct recipe r;

        random_recipe(&r, 3000);
        r.data_len += 1500;
        struct virtio_net_hdr header = {
            .flags = VIRTIO_NET_HDR_F_DATA_VALID,
            .gso_type = gso_type(&r),
            .gso_size = 1400,
        };

        if (r.udp) {
            ck_assert_int_eq(verdict_on(&r, &header), ADP_OFFLOAD_BAD);
            continue;
        }
        struct dp_packet *p = make(&r);

        ck_assert_int_eq(adp_offload_take(p, &header, tso),
                         tso ? ADP_OFFLOAD_OK : ADP_OFFLOAD_SEGMENT);
        ck_assert(adp_offload_is_due(p));
        ck_assert_int_eq(dp_packet_hwol_is_tso(p), tso);
        check_segments(p, &r, 1400, 1400);
        dp_packet_delete(p);
    }
}
END_TEST

/* An IPv4 packet of SCTP, with the checksum of nothing. */
static struct dp_packet *
make_sctp(size_t data_len)
{
    struct dp_packet *p = dp_packet_new(200);
    struct eth_header eth = { .eth_type = htons(ETH_TYPE_IP) };
    struct ip_header ip = {
        .ip_ihl_ver = IP_IHL_VER(5, 4),
        .ip_tot_len = htons(IP_HEADER_LEN + SCTP_HEADER_LEN + data_len),
        .ip_proto = IPPROTO_SCTP,
    };
    struct sctp_header sctp = { .sctp_src = htons(1), .sctp_dst = htons(2) };

    dp_packet_put(p, &eth, sizeof eth);
    dp_packet_put(p, &ip, sizeof ip);
    put_16aligned_be32(&sctp.sctp_csum, htonl(0x12345678));
    dp_packet_put(p, &sctp, sizeof sctp);
    random_bytes(dp_packet_put_uninit(p, data_len), data_len);
    return p;
}

static void
assert_sctp_at(struct dp_packet *p, size_t ofs)
{
    struct sctp_header *sctp = (void *) ((char *) dp_packet_data(p) + ofs);
    ovs_be32 got = get_16aligned_be32(&sctp->sctp_csum);

    put_16aligned_be32(&sctp->sctp_csum, 0);
    ck_assert_uint_eq(got, crc32c((void *) sctp, dp_packet_size(p) - ofs));
    ck_assert(!adp_offload_is_due(p));
}

static void
assert_sctp(struct dp_packet *p)
{
    assert_sctp_at(p, ETH_HEADER_LEN + IP_HEADER_LEN);
}

/* Nobody else makes them here: neither the kernel's header for packets nor
 * upstream's taps know one from a sum. */
START_TEST(sctp)
{
    const struct virtio_net_hdr header = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .csum_start = ETH_HEADER_LEN + IP_HEADER_LEN,
        .csum_offset = offsetof(struct sctp_header, sctp_csum),
    };
    struct virtio_net_hdr back;

    for (int how = 0; how < 4; how++) {
        struct dp_packet *p = make_sctp(20 + how);

        if (!how) {
            ck_assert_int_eq(adp_offload_take(p, &header, true),
                             ADP_OFFLOAD_OK);
        } else {
            /* As upstream has it from a tap. */
            dp_packet_hwol_set_csum_sctp(p);
            dp_packet_hwol_set_tx_ipv4(p);
            if (how == 1) {
                adp_offload_complete(p);
            } else if (how == 2) {
                adp_offload_begin(p);
            } else {
                adp_offload_put(p, &back, 1500);
                ck_assert_uint_eq(back.flags, 0);
            }
        }
        assert_sctp(p);
        dp_packet_delete(p);
    }
}
END_TEST

/* A sum of 0, which UDP has for "none". */
START_TEST(sum_of_zero)
{
    struct recipe r = { .udp = true, .data_len = 40 };
    struct dp_packet *p = make(&r);
    struct virtio_net_hdr header = kernel_header(&r);
    const size_t ofs = l4_ofs(&r) + UDP_HEADER_LEN;
    char *data = dp_packet_data(p);

    /* Such as the Pod's own tunnel has within it. */
    memset(data + ofs, 0, 40);
    memset(data + ofs, 0xff, 2);
    header.csum_start = ofs;
    ck_assert_int_eq(adp_offload_take(p, &header, true), ADP_OFFLOAD_OK);
    ck_assert_uint_eq(get_unaligned_be16((void *) (data + ofs + 6)),
                      htons(0xffff));
    dp_packet_delete(p);
}
END_TEST

/* An IPv6 packet with a routing header of one address, which TCP's sum is
 * over: the kernel's part of the sum is there. */
static struct dp_packet *
make_routed(uint8_t segments_left, struct in6_addr *last, bool sctp)
{
    struct recipe r = { .ipv6 = true, .data_len = 2500 };
    struct dp_packet *whole = make(&r);
    char *ip6 = (char *) dp_packet_data(whole) + ETH_HEADER_LEN;
    const size_t l4_len = TCP_HEADER_LEN + r.data_len;
    uint8_t routing[24] = { IPPROTO_TCP, 2, 4, segments_left };
    struct ovs_16aligned_ip6_hdr *ip = (void *) ip6;
    char *l4 = ip6 + IPV6_HEADER_LEN;
    struct dp_packet *p = dp_packet_new(3000);

    random_bytes(last, sizeof *last);
    memcpy(routing + 8, last, sizeof *last);
    if (!segments_left) {
        memcpy(&ip->ip6_dst, last, sizeof *last);
    }
    if (sctp) {
        routing[0] = IPPROTO_SCTP;
    }
    ip->ip6_nxt = IPPROTO_ROUTING;
    ip->ip6_plen = htons(sizeof routing + l4_len);

    uint32_t sum = csum_continue(0, &ip->ip6_src, sizeof ip->ip6_src);
    sum = csum_continue(sum, last, sizeof *last);
    sum = csum_add16(csum_add16(sum, htons(l4_len)), htons(IPPROTO_TCP));
    ovs_be16 partial = ~csum_finish(sum);
    memcpy(l4 + (sctp ? 8 : 16), &partial, sizeof partial);

    dp_packet_put(p, dp_packet_data(whole), ETH_HEADER_LEN + IPV6_HEADER_LEN);
    dp_packet_put(p, routing, sizeof routing);
    dp_packet_put(p, l4, l4_len);
    dp_packet_delete(whole);
    return p;
}

/* What the last one on a packet's way finds. */
static uint16_t
last_receiver_sum(const struct dp_packet *p, const struct in6_addr *last)
{
    const char *ip6 = (char *) dp_packet_data(p) + ETH_HEADER_LEN;
    const size_t ofs = ETH_HEADER_LEN + IPV6_HEADER_LEN + 24;
    const size_t len = dp_packet_size(p) - ofs;
    uint32_t sum = csum_continue(0, ip6 + 8, 16);

    sum = csum_continue(sum, last, sizeof *last);
    sum = csum_add16(csum_add16(sum, htons(len)), htons(IPPROTO_TCP));
    return csum_finish(csum_continue(sum, (char *) dp_packet_data(p) + ofs,
                                     len));
}

START_TEST(routing_headers)
{
    struct virtio_net_hdr header = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .csum_start = ETH_HEADER_LEN + IPV6_HEADER_LEN + 24,
        .csum_offset = 16,
    };
    struct in6_addr last;

    for (int left = 0; left < 3; left++) {
        struct dp_packet *p = make_routed(left, &last, false);

        ck_assert_int_eq(adp_offload_take(p, &header, true), ADP_OFFLOAD_OK);
        adp_offload_complete(p);
        ck_assert_uint_eq(last_receiver_sum(p, &last), 0);
        dp_packet_delete(p);
    }

    /* Nobody here would cut it right. */
    header.gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
    header.gso_size = 1000;
    for (int left = 0; left < 2; left++) {
        struct dp_packet *p = make_routed(left, &last, false);

        ck_assert_int_eq(adp_offload_take(p, &header, false),
                         left ? ADP_OFFLOAD_BAD : ADP_OFFLOAD_SEGMENT);
        dp_packet_delete(p);
    }
}
END_TEST

/* SCTP's checksum is over no address. */
START_TEST(routing_header_before_sctp)
{
    const size_t ofs = ETH_HEADER_LEN + IPV6_HEADER_LEN + 24;
    const struct virtio_net_hdr header = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .csum_start = ofs,
        .csum_offset = offsetof(struct sctp_header, sctp_csum),
    };
    struct in6_addr last;
    struct dp_packet *p = make_routed(1, &last, true);

    ck_assert_int_eq(adp_offload_take(p, &header, true), ADP_OFFLOAD_OK);
    assert_sctp_at(p, ofs);
    dp_packet_delete(p);
}
END_TEST

/* The kernel takes one tag out of three, which is put back behind the
 * others' back. */
START_TEST(tags)
{
    struct recipe r = { .vlan = true, .data_len = 40 };
    struct dp_packet *p = make(&r);
    struct virtio_net_hdr header = kernel_header(&r), back;

    eth_push_vlan(p, htons(ETH_TYPE_VLAN_8021Q), htons(7));
    header.csum_start += VLAN_HEADER_LEN;
    ck_assert_int_eq(adp_offload_take(p, &header, true), ADP_OFFLOAD_OK);
    eth_push_vlan(p, htons(ETH_TYPE_VLAN_8021AD), htons(8));
    adp_offload_put(p, &back, 1500);
    ck_assert_uint_eq(back.csum_start,
                      header.csum_start + VLAN_HEADER_LEN);
    kernel_finishes(p, &back);
    dp_packet_pull(p, 2 * VLAN_HEADER_LEN);
    ck_assert_uint_eq(receiver_sum(p, &r), 0);
    dp_packet_delete(p);
}
END_TEST

/* Whatever a stranger sends: nothing is read or written beyond it. */
START_TEST(nonsense)
{
    for (int i = 0; i < 20000; i++) {
        struct recipe r;

        random_recipe(&r, 200);
        struct dp_packet *whole = make(&r);
        const size_t size = random_range(dp_packet_size(whole) + 1);
        struct dp_packet *p = dp_packet_clone_data(dp_packet_data(whole),
                                                   size);
        struct virtio_net_hdr header;
        char *data = dp_packet_data(p);

        for (int j = random_range(4); j && size; j--) {
            data[random_range(size)] = random_uint32();
        }
        if (random_range(2)) {
            header = kernel_header(&r);
            header.gso_type = random_range(2) ? gso_type(&r) : 0;
            header.gso_size = random_range(300);
        } else {
            random_bytes(&header, sizeof header);
        }
        enum adp_offload_verdict verdict
            = adp_offload_take(p, &header, random_range(2));

        if (verdict == ADP_OFFLOAD_SEGMENT || dp_packet_hwol_is_tso(p)) {
            struct adp_segments s;
            struct dp_packet *segment;

            adp_segments_init(&s, p, header.gso_size, 1500);
            while ((segment = adp_segments_next(&s))) {
                adp_offload_complete(segment);
                ck_assert(!adp_offload_is_due(segment));
                dp_packet_delete(segment);
            }
        }
        if (verdict == ADP_OFFLOAD_OK) {
            adp_offload_put(p, &header, 1500);
            adp_offload_complete(p);
            ck_assert(!adp_offload_is_due(p));
        }
        dp_packet_delete(p);
        dp_packet_delete(whole);
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("offload");
    TCase *tc = tcase_create("offload");

    test_seed_random();
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, checksums);
    tcase_add_test(tc, no_data);
    tcase_add_test(tc, whole_ones);
    tcase_add_test(tc, segments);
    tcase_add_test(tc, longest);
    tcase_add_test(tc, segments_of_one_that_was_cut);
    tcase_add_test(tc, contradictions);
    tcase_add_test(tc, short_segments);
    tcase_add_test(tc, short_segments_of_guest);
    tcase_add_test(tc, put_together);
    tcase_add_test(tc, sctp);
    tcase_add_test(tc, sum_of_zero);
    tcase_add_test(tc, routing_headers);
    tcase_add_test(tc, routing_header_before_sctp);
    tcase_add_test(tc, tags);
    tcase_add_test(tc, nonsense);
    suite_add_tcase(s, tc);
    return test_run(s);
}

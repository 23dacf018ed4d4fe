/* SPDX-License-Identifier: Apache-2.0 */

/* Packets as strangers send them: the parser of sessions and its key, and what
 * is made of packets: refusals, truncated DNS answers, checksums and segments.
 *
 * Input: a byte of options, one of how another packet differs and one of
 * where, 10 bytes of a header of the kernel's, and the packet.  The parser
 * reads it in memory that ends with it.
 *
 * Must hold: what the parser takes is what miniflow_extract() sees, and its
 * layers are where that finds them; two packets have one key if, but for TCP's
 * flags, they have one flow, and only then; a refusal goes back to whom the
 * packet came from, with checksums that are right; so have the segments that
 * are cut out of a packet. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

#include <netinet/in.h>
#include "adp-offload.h"
#include "adp-refusal.h"
#include "adp-session-parse.h"
#include "adp-truncate.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "packets.h"
#include "unaligned.h"

const long int fuzz_runs = 100000;

enum { INGRESS = 0x1badf00d, NOW = 1000000 };

static const struct adp_session_seeds seeds = {
    { UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210),
      UINT64_C(0x5a5a5a5a12345678), UINT64_C(0xc0ffee0ddba11ad5) }
};

/* Options. */
enum {
    O_LENGTHS = 1 << 0,         /* IP's lengths become right. */
    O_OFFLOAD = 1 << 1,
    O_TSO = 1 << 2,
    O_UDP_LENGTH = 1 << 3,
    O_TYPE = 1 << 4,            /* Not Ethernet. */
};

/* A packet in memory that ends where it does, aligned as a device's. */
struct exact {
    uint8_t *memory;
    struct dp_packet packet;
};

static void
exact_init(struct exact *e, const uint8_t *data, size_t size)
{
    e->memory = xmalloc(size + 2);
    memset(&e->packet, 0, sizeof e->packet);
    dp_packet_use_const(&e->packet, e->memory, size + 2);
    dp_packet_pull(&e->packet, 2);
    memcpy(dp_packet_data(&e->packet), data, size);
    e->packet.packet_type = htonl(PT_ETH);
    pkt_metadata_init(&e->packet.md, u32_to_odp(7));
    dp_packet_reset_cutlen(&e->packet);
}

static void
exact_uninit(struct exact *e)
{
    free(e->memory);
}

static void
extract(struct dp_packet *p, struct flow *flow)
{
    pkt_metadata_init(&p->md, u32_to_odp(7));
    flow_extract(p, flow);
}

/* Makes the lengths right that are easily wrong. */
static void
mend(uint8_t *data, size_t size, uint8_t options)
{
    size_t ofs = ETH_HEADER_LEN, l4_ofs;
    uint8_t proto;

    if (size > ofs + 4 && data[12] == 0x81 && data[13] == 0) {
        ofs += 4;
    }
    if (size >= ofs + IP_HEADER_LEN && data[ofs - 2] == 8
        && !data[ofs - 1]) {
        put_unaligned_be16((ovs_be16 *) (void *) (data + ofs + 2),
                           htons(size - ofs));
        proto = data[ofs + 9];
        l4_ofs = ofs + (data[ofs] & 15) * 4;
    } else if (size >= ofs + IPV6_HEADER_LEN && data[ofs - 2] == 0x86
               && data[ofs - 1] == 0xdd) {
        put_unaligned_be16((ovs_be16 *) (void *) (data + ofs + 4),
                           htons(size - ofs - IPV6_HEADER_LEN));
        proto = data[ofs + 6];
        l4_ofs = ofs + IPV6_HEADER_LEN;
    } else {
        return;
    }
    if (options & O_UDP_LENGTH && proto == IPPROTO_UDP
        && size >= l4_ofs + UDP_HEADER_LEN) {
        put_unaligned_be16((ovs_be16 *) (void *) (data + l4_ofs + 4),
                           htons(size - l4_ofs));
    }
}

static bool
parse(struct dp_packet *p, struct adp_session_packet *sp)
{
    ovs_be16 tci;
    bool tagged = adp_session_tag(p, &tci);

    p->l2_pad_size = p->l2_5_ofs = p->l3_ofs = p->l4_ofs = 77;
    memset(sp, 0xcc, sizeof *sp);
    return adp_session_parse(p, tagged,
                             tagged ? INGRESS + ntohs(tci) : INGRESS, true,
                             &seeds, sp);
}

static void
check_l4_key(const struct adp_session_l4 *l4, const struct flow *flow)
{
    fuzz_require(l4->tp_src == flow->tp_src);
    fuzz_require(l4->tp_dst == flow->tp_dst);
    fuzz_require(l4->ingress == INGRESS + ntohs(flow->vlans[0].tci));
    fuzz_require(l4->tagged == (flow->vlans[0].tci != 0));
    fuzz_require(eth_addr_equals(l4->dl_dst, flow->dl_dst));
    fuzz_require(eth_addr_equals(l4->dl_src, flow->dl_src));
    fuzz_require(l4->nw_proto == flow->nw_proto);
    fuzz_require(l4->nw_tos == flow->nw_tos);
    fuzz_require(l4->nw_ttl == flow->nw_ttl);
}

static void
check_parsed(const struct adp_session_packet *p, const struct flow *flow)
{
    fuzz_require(flow->packet_type == htonl(PT_ETH));
    fuzz_require(flow->vlans[0].tpid == (flow->vlans[0].tci
                                         ? htons(ETH_TYPE_VLAN_8021Q) : 0));
    fuzz_require(!flow->vlans[1].tci);
    fuzz_require(!flow->nw_frag);
    fuzz_require(p->nw_proto == flow->nw_proto);
    fuzz_require(p->tcp_flags == ntohs(flow->tcp_flags));
    if (p->is_ipv6) {
        fuzz_require(flow->dl_type == htons(ETH_TYPE_IPV6));
        fuzz_require(ipv6_addr_equals(&p->key6.ipv6_src, &flow->ipv6_src));
        fuzz_require(ipv6_addr_equals(&p->key6.ipv6_dst, &flow->ipv6_dst));
        fuzz_require(p->key6.ipv6_label == flow->ipv6_label);
        fuzz_require(p->hash == adp_session_hash6(&seeds, &p->key6));
        check_l4_key(&p->key6.l4, flow);
    } else {
        fuzz_require(flow->dl_type == htons(ETH_TYPE_IP));
        fuzz_require(p->key4.nw_src == flow->nw_src);
        fuzz_require(p->key4.nw_dst == flow->nw_dst);
        fuzz_require(p->hash == adp_session_hash4(&seeds, &p->key4));
        check_l4_key(&p->key4.l4, flow);
    }
}

/* Another packet, which differs in a byte, has the same key if it has the same
 * flow. */
static void
check_other(const struct exact *e, const struct adp_session_packet *sp,
            const struct flow *flow_, size_t ofs, uint8_t bits)
{
    struct flow flow = *flow_, other_flow;
    struct adp_session_packet other_sp;
    struct exact other;

    exact_init(&other, dp_packet_data(&e->packet),
               dp_packet_size(&e->packet));
    ((uint8_t *) dp_packet_data(&other.packet))[ofs] ^= bits;
    if (parse(&other.packet, &other_sp)) {
        extract(&other.packet, &other_flow);
        flow.tcp_flags = other_flow.tcp_flags = 0;
        fuzz_require(adp_session_packets_alike(sp, &other_sp)
                     == flow_equal(&flow, &other_flow));
    }
    exact_uninit(&other);
}

static void
check_session(struct exact *e, const struct flow *flow, size_t ofs,
              uint8_t bits)
{
    struct dp_packet *p = &e->packet;
    uint16_t l2_5_ofs = p->l2_5_ofs, l3_ofs = p->l3_ofs, l4_ofs = p->l4_ofs;
    uint16_t l2_pad_size = p->l2_pad_size;
    struct adp_session_packet sp;

    if (parse(p, &sp)) {
        check_parsed(&sp, flow);
        fuzz_require(p->l2_5_ofs == l2_5_ofs);
        fuzz_require(p->l3_ofs == l3_ofs);
        fuzz_require(p->l4_ofs == l4_ofs);
        fuzz_require(p->l2_pad_size == l2_pad_size);
        if (sp.is_ipv6) {
            dp_packet_update_rss_hash_ipv6_tcp_udp(p);
        } else {
            dp_packet_update_rss_hash_ipv4_tcp_udp(p);
        }
        fuzz_require(dp_packet_get_rss_hash(p) == flow_hash_5tuple(flow, 0));
        check_other(e, &sp, flow, ofs, bits);
    }
    p->l2_5_ofs = l2_5_ofs;
    p->l3_ofs = l3_ofs;
    p->l4_ofs = l4_ofs;
    p->l2_pad_size = l2_pad_size;
}

/* Of TCP, UDP or ICMP in a packet that was parsed. */
static void
check_l4_checksum(struct dp_packet *p, const struct flow *flow)
{
    const void *l4 = dp_packet_l4(p);
    size_t l4_len = dp_packet_l4_size(p);

    if (eth_type_vlan(flow->dl_type)) {
        return;                 /* Behind more tags than a flow has. */
    }
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        const struct ip_header *ip = dp_packet_l3(p);

        fuzz_require(l4);
        if (flow->nw_proto == IPPROTO_ICMP) {
            fuzz_require(!csum(l4, l4_len));
        } else {
            fuzz_require(!csum_finish(csum_continue(
                packet_csum_pseudoheader(ip), l4, l4_len)));
        }
    } else {
        fuzz_require(flow->dl_type == htons(ETH_TYPE_IPV6));
        fuzz_require(l4);
        fuzz_require(!packet_csum_upperlayer6(dp_packet_l3(p), l4,
                                              flow->nw_proto, l4_len));
    }
}

/* IP's, too. */
static void
check_checksums(struct dp_packet *p, const struct flow *flow)
{
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        const struct ip_header *ip = dp_packet_l3(p);

        fuzz_require(!csum(ip, IP_IHL(ip->ip_ihl_ver) * 4));
    }
    check_l4_checksum(p, flow);
}

static void
check_refusal(const struct dp_packet *p, const struct flow *flow,
              enum adp_answer kind)
{
    struct adp_rate_limit limit;
    struct dp_packet *answer;
    struct flow back;
    bool limited;

    memset(&limit, 0, sizeof limit);
    adp_refusal_set_rate(ADP_REFUSAL_DEFAULT_RATE);
    answer = adp_refusal_make(p, kind, &limit, NOW, &limited);
    if (answer) {
        extract(answer, &back);
        fuzz_require(eth_addr_equals(back.dl_src, flow->dl_dst));
        fuzz_require(eth_addr_equals(back.dl_dst, flow->dl_src));
        fuzz_require(back.dl_type == flow->dl_type);
        fuzz_require(back.nw_src == flow->nw_dst);
        fuzz_require(back.nw_dst == flow->nw_src);
        fuzz_require(ipv6_addr_equals(&back.ipv6_src, &flow->ipv6_dst));
        fuzz_require(ipv6_addr_equals(&back.ipv6_dst, &flow->ipv6_src));
        fuzz_require(!back.nw_frag);
        check_checksums(answer, &back);
        dp_packet_delete(answer);
    }
}

static void
check_truncated(const struct dp_packet *p, const struct flow *flow)
{
    struct dp_packet *answer = adp_truncated_answer(p, flow);
    struct flow parsed;

    if (answer) {
        extract(answer, &parsed);
        fuzz_require(parsed.nw_proto == IPPROTO_UDP);
        fuzz_require(parsed.nw_src == flow->nw_src);
        fuzz_require(parsed.tp_dst == flow->tp_dst);
        fuzz_require(!parsed.nw_frag);
        check_checksums(answer, &parsed);
        dp_packet_delete(answer);
    }
}

/* Cuts it as it is to be cut. */
static void
segment(const struct dp_packet *p, uint16_t len)
{
    struct adp_segments segments;
    struct dp_packet *s;
    size_t n_bytes = 0;
    struct flow flow;

    adp_segments_init(&segments, p, len, 1500);

    size_t due = segments.packet ? segments.end - segments.ofs : 0;
    size_t header_len = segments.header_len;
    while ((s = adp_segments_next(&segments)) != NULL) {
        adp_offload_complete(s);
        extract(s, &flow);
        fuzz_require(dp_packet_size(s) <= dp_packet_size(p));
        check_checksums(s, &flow);
        n_bytes += dp_packet_size(s) - header_len;
        dp_packet_delete(s);
    }
    fuzz_require(n_bytes == due);
}

static void
check_offload(const struct dp_packet *p_, const uint8_t *header, bool tso)
{
    struct dp_packet *p = dp_packet_clone_with_headroom(p_, 128);
    struct virtio_net_hdr vnet, back;
    struct flow flow;

    memcpy(&vnet, header, sizeof vnet);
    extract(p, &flow);
    switch (adp_offload_take(p, &vnet, tso)) {
    case ADP_OFFLOAD_OK:
        if (adp_offload_is_due(p)) {
            adp_offload_put(p, &back, 1500);
        }
        if (dp_packet_hwol_is_tso(p)) {
            segment(p, 0);
        } else if (adp_offload_is_due(p)) {
            adp_offload_complete(p);
            extract(p, &flow);
            check_l4_checksum(p, &flow);
        }
        break;
    case ADP_OFFLOAD_SEGMENT:
        segment(p, vnet.gso_size);
        break;
    case ADP_OFFLOAD_BAD:
        break;
    }
    dp_packet_delete(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    uint8_t options = fuzz_u8(&in), bits = fuzz_u8(&in);
    size_t ofs = fuzz_u8(&in), n_header = sizeof(struct virtio_net_hdr);
    uint8_t header[sizeof(struct virtio_net_hdr)] = { 0 };
    struct flow flow;
    struct exact e;

    const uint8_t *p = fuzz_bytes(&in, &n_header);
    memcpy(header, p, n_header);
    exact_init(&e, in.p, in.n);
    if (options & O_LENGTHS) {
        mend(dp_packet_data(&e.packet), in.n, options);
    }
    if (options & O_TYPE) {
        struct adp_session_packet sp;

        e.packet.packet_type = PACKET_TYPE_BE(OFPHTN_ETHERTYPE, ETH_TYPE_IP);
        fuzz_require(!parse(&e.packet, &sp));
    } else {
        extract(&e.packet, &flow);
        if (in.n) {
            check_session(&e, &flow, ofs % in.n, bits);
        } else {
            check_session(&e, &flow, 0, 0);
        }
        check_refusal(&e.packet, &flow, ADP_ANSWER_PROHIBITED);
        check_truncated(&e.packet, &flow);
        if (options & O_OFFLOAD) {
            check_offload(&e.packet, header, options & O_TSO);
        }
    }
    exact_uninit(&e);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-reads.h"

#include <netinet/in.h>
#include "flow.h"
#include "openvswitch/match.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "ovs-thread.h"
#include "packets.h"
#include "util.h"

/* For each bit the fields that set it, but for OTHER those of all bits and
 * those that are taken for granted, and for MOVED none. */
static struct flow masks[ADP_N_READS];
/* As adp_reads_of_client() sets it. */
static struct flow client_mask;

#define FILL(MASK, MEMBER) memset(&(MASK)->MEMBER, 0xff, sizeof (MASK)->MEMBER)

static void
fill_granted_metadata(struct flow *m)
{
    FILL(m, tunnel.ip_dst);
    FILL(m, tunnel.ip_src);
    FILL(m, tunnel.ipv6_dst);
    FILL(m, tunnel.ipv6_src);
    FILL(m, tunnel.tun_id);
    FILL(m, tunnel.flags);
    FILL(m, tunnel.ip_tos);
    FILL(m, tunnel.ip_ttl);
    FILL(m, metadata);
    FILL(m, regs);
    FILL(m, pkt_mark);
    FILL(m, in_port);
    FILL(m, packet_type);
    FILL(m, ct_state);
    FILL(m, ct_zone);
    FILL(m, ct_mark);
    FILL(m, ct_label);
    FILL(m, ct_nw_proto);
    FILL(m, ct_nw_src);
    FILL(m, ct_nw_dst);
    FILL(m, ct_ipv6_src);
    FILL(m, ct_ipv6_dst);
    FILL(m, ct_tp_src);
    FILL(m, ct_tp_dst);
    FILL(m, conj_id);
}

void
adp_reads_of_client(struct flow *mask)
{
    memset(mask, 0, sizeof *mask);
    FILL(mask, tp_dst);
    FILL(mask, ct_nw_src);
    FILL(mask, ct_nw_dst);
    FILL(mask, ct_ipv6_src);
    FILL(mask, ct_ipv6_dst);
    FILL(mask, ct_tp_src);
    FILL(mask, ct_tp_dst);
}

static void
fill_granted_headers(struct flow *m)
{
    FILL(m, dl_dst);
    FILL(m, dl_src);
    FILL(m, dl_type);
    FILL(m, vlans);
    FILL(m, nw_src);
    FILL(m, nw_dst);
    FILL(m, ipv6_src);
    FILL(m, ipv6_dst);
    FILL(m, nw_tos);
    FILL(m, nw_ttl);
    FILL(m, nw_frag);
    FILL(m, nw_proto);
    FILL(m, tp_src);
    FILL(m, tp_dst);
}

static void
masks_init(void)
{
    struct flow *other = &masks[ADP_READS_OTHER_BIT];

    FILL(&masks[ADP_READS_TCP_FLAGS_BIT], tcp_flags);
    FILL(&masks[ADP_READS_IPV6_LABEL_BIT], ipv6_label);
    FILL(&masks[ADP_READS_TP_SRC_BIT], tp_src);
    FILL(&masks[ADP_READS_TP_SRC_BIT], ct_tp_src);
    FILL(&masks[ADP_READS_TUN_METADATA_BIT], tunnel.metadata);
    FILL(&masks[ADP_READS_ARP_ND_BIT], nd_target);
    FILL(&masks[ADP_READS_ARP_ND_BIT], arp_sha);
    FILL(&masks[ADP_READS_ARP_ND_BIT], arp_tha);

    adp_reads_of_client(&client_mask);
    fill_granted_metadata(other);
    fill_granted_headers(other);
    for (int bit = 0; bit < ADP_READS_OTHER_BIT; bit++) {
        for (size_t i = 0; i < FLOW_U64S; i++) {
            *flow_u64_lvalue(other, i) |= flow_u64_value(&masks[bit], i);
        }
    }
}

static uint32_t
reads_of_word(size_t i, uint64_t mask)
{
    uint32_t reads = 0;

    for (int bit = 0; bit < ADP_READS_OTHER_BIT; bit++) {
        if (mask & flow_u64_value(&masks[bit], i)) {
            reads |= 1u << bit;
        }
    }
    if (mask & ~flow_u64_value(&masks[ADP_READS_OTHER_BIT], i)) {
        reads |= ADP_READS_OTHER;
    }
    return reads;
}

static void
init_once(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (ovsthread_once_start(&once)) {
        masks_init();
        ovsthread_once_done(&once);
    }
}

/* True if what matches is ICMP or ICMPv6. */
static bool
is_icmp_match(const struct minimatch *match)
{
    uint8_t nw_proto = MINIFLOW_GET_U8(match->flow, nw_proto);

    return (MINIFLOW_GET_U8(&match->mask->masks, nw_proto) == UINT8_MAX
            && (nw_proto == IPPROTO_ICMP || nw_proto == IPPROTO_ICMPV6));
}

uint32_t
adp_reads_of_match(const struct minimatch *match)
{
    const struct minimask *mask = match->mask;
    uint32_t reads = 0;
    size_t idx;

    init_once();
    FLOWMAP_FOR_EACH_INDEX (idx, mask->masks.map) {
        reads |= reads_of_word(idx, miniflow_get(&mask->masks, idx));
    }
    if (is_icmp_match(match)) {
        reads &= ~ADP_READS_TP_SRC;     /* It is the type. */
    }
    /* What else is an address or a protocol is ARP's here. */
    if (MINIFLOW_GET_BE16(match->flow, dl_type) == htons(ETH_TYPE_ARP)
        && (MINIFLOW_GET_BE32(&mask->masks, nw_src)
            || MINIFLOW_GET_BE32(&mask->masks, nw_dst)
            || MINIFLOW_GET_U8(&mask->masks, nw_proto))) {
        reads |= ADP_READS_ARP_ND;
    }
    return reads;
}

uint32_t
adp_reads_of_field(const struct mf_field *field)
{
    struct flow_wildcards wc;
    uint32_t reads = 0;

    init_once();
    if (mf_is_tun_metadata(field)) {
        return ADP_READS_TUN_METADATA;
    }
    switch ((int) field->id) {
    case MFF_ARP_OP:
    case MFF_ARP_SPA:
    case MFF_ARP_TPA:
    case MFF_ARP_SHA:
    case MFF_ARP_THA:
        return ADP_READS_ARP_ND;
    }
    memset(&wc, 0, sizeof wc);
    mf_mask_field(field, &wc);
    for (size_t i = 0; i < FLOW_U64S; i++) {
        uint64_t word = flow_u64_value(&wc.masks, i);

        reads |= reads_of_word(i, word);
        if (word & flow_u64_value(&client_mask, i)) {
            reads |= ADP_READS_MOVED;
        }
    }
    return reads;
}

static uint32_t
reads_of_subfield(const struct mf_subfield *sf)
{
    return sf->field ? adp_reads_of_field(sf->field) : 0;
}

/* Writing reads, where it ends in no action for a packet that has the value
 * already: of other fields that are written who keeps answers knows what the
 * packet has. */
static uint32_t
reads_of_written(const struct mf_field *field)
{
    return field && field->id == MFF_IPV6_LABEL ? ADP_READS_IPV6_LABEL : 0;
}

static uint32_t
reads_of_learn(const struct ofpact_learn *learn)
{
    const struct ofpact_learn_spec *spec;
    uint32_t reads = 0;

    OFPACT_LEARN_SPEC_FOR_EACH (spec, learn) {
        if (spec->src_type == NX_LEARN_SRC_FIELD) {
            reads |= reads_of_subfield(&spec->src);
        }
        if (spec->dst_type == NX_LEARN_DST_MATCH) {
            reads |= reads_of_subfield(&spec->dst);
        } else if (spec->dst_type == NX_LEARN_DST_LOAD) {
            reads |= reads_of_written(spec->dst.field);
        }
    }
    return reads & ~ADP_READS_MOVED;    /* By the learned flow alone. */
}

static uint32_t
reads_of_action(const struct ofpact *a)
{
    switch ((int) a->type) {
    case OFPACT_SET_FIELD:
        return reads_of_written(ofpact_get_SET_FIELD(a)->field);
    case OFPACT_REG_MOVE:
        return (reads_of_subfield(&ofpact_get_REG_MOVE(a)->src)
                | reads_of_written(ofpact_get_REG_MOVE(a)->dst.field));
    case OFPACT_STACK_PUSH:
        return reads_of_subfield(&ofpact_get_STACK_PUSH(a)->subfield);
    case OFPACT_OUTPUT_REG:
        return reads_of_subfield(&ofpact_get_OUTPUT_REG(a)->src);
    case OFPACT_CT:
        return reads_of_subfield(&ofpact_get_CT(a)->zone_src);
    case OFPACT_LEARN:
        return reads_of_learn(ofpact_get_LEARN(a));
    case OFPACT_DEC_MPLS_TTL:
    case OFPACT_DEC_NSH_TTL:
    case OFPACT_CHECK_PKT_LARGER:
    case OFPACT_DECAP:
        return ADP_READS_OTHER;
    default:
        return 0;
    }
}

uint32_t
adp_reads_of_actions(const struct ofpact *ofpacts, size_t ofpacts_len)
{
    const struct ofpact *a;
    uint32_t reads = 0;

    init_once();
    OFPACT_FOR_EACH_FLATTENED (a, ofpacts, ofpacts_len) {
        reads |= reads_of_action(a);
    }
    return reads;
}

void
adp_reads_for_each_learn(const struct ofpact *ofpacts, size_t ofpacts_len,
                         void (*cb)(uint8_t table_id, void *aux), void *aux)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, ofpacts, ofpacts_len) {
        if (a->type == OFPACT_LEARN) {
            cb(ofpact_get_LEARN(a)->table_id, aux);
        }
    }
}

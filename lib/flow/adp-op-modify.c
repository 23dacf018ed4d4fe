/* SPDX-License-Identifier: Apache-2.0 */

/* Actions that change fields of the flow and nothing else.
 *
 * Registers and metadata exist only there.  What is part of the packet changes
 * when the walk next commits the difference to the datapath actions, so an
 * action for which the packet has no place must leave the flow alone. */

#include <config.h>
#include "adp-op.h"
#include "flow.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "packets.h"

static void
set_field(const struct ofpact_set_field *sf, struct flow *flow,
          struct flow_wildcards *wc)
{
    const struct mf_field *mf = sf->field;

    if (mf_are_prereqs_ok(mf, flow, wc)) {
        mf_mask_field_masked(mf, ofpact_set_field_mask(sf), wc);
        mf_set_flow_value_masked(mf, sf->value, ofpact_set_field_mask(sf),
                                 flow);
    }
}

bool
adp_op_init_set_word(struct adp_op *op, const struct ofpact *a)
{
    const struct ofpact_set_field *sf;

    if (a->type != OFPACT_SET_FIELD) {
        return false;
    }
    sf = ofpact_get_SET_FIELD(a);
    if (!mf_is_register(sf->field->id) || sf->field->n_bytes != 4) {
        return false;
    }

    /* What it does to a flow of zeros and to one of ones tells all. */
    struct flow zeros, ones;
    size_t i, n = 0;

    memset(&zeros, 0, sizeof zeros);
    memset(&ones, 0xff, sizeof ones);
    mf_set_flow_value_masked(sf->field, sf->value, ofpact_set_field_mask(sf),
                             &zeros);
    mf_set_flow_value_masked(sf->field, sf->value, ofpact_set_field_mask(sf),
                             &ones);
    for (i = 0; i < FLOW_N_REGS; i++) {
        if (zeros.regs[i] || ones.regs[i] != UINT32_MAX) {
            op->word = offsetof(struct flow, regs) / sizeof(uint32_t) + i;
            op->value = zeros.regs[i];
            op->mask = zeros.regs[i] | ~ones.regs[i];
            n++;
        }
    }
    if (n != 1) {
        return false;
    }
    op->code = ADP_OP_SET_WORD;
    return true;
}

/* Sets the bits 'mask' of the outermost VLAN tag to 'bits', if there is a tag
 * or one is to be made. */
static void
set_vlan_tci(struct flow *flow, uint16_t mask, uint16_t bits, bool push)
{
    union flow_vlan_hdr *vlan = &flow->vlans[0];

    if (!(vlan->tci & htons(VLAN_CFI))) {
        if (!push) {
            return;
        }
        if (!vlan->tpid) {
            vlan->tpid = htons(ETH_TYPE_VLAN);
        }
    }
    vlan->tci &= ~htons(mask);
    vlan->tci |= htons(bits | VLAN_CFI);
}

static void
push_vlan(struct flow *flow, ovs_be16 tpid, struct flow_wildcards *wc)
{
    flow_push_vlan_uninit(flow, wc);
    flow->vlans[0].tpid = tpid;
    flow->vlans[0].tci = htons(VLAN_CFI);
}

static void
set_ipv4(struct flow *flow, ovs_be32 *field, ovs_be32 address)
{
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        *field = address;
    }
}

static void
set_tos(struct flow *flow, uint8_t mask, uint8_t bits)
{
    if (is_ip_any(flow)) {
        flow->nw_tos = (flow->nw_tos & ~mask) | bits;
    }
}

static void
set_l4_port(struct flow *flow, ovs_be16 *field, uint16_t port)
{
    if (is_ip_any(flow) && !(flow->nw_frag & FLOW_NW_FRAG_LATER)) {
        *field = htons(port);
    }
}

void
adp_op_modify(const struct ofpact *a, struct flow *flow,
              struct flow_wildcards *wc)
{
    switch (a->type) {
    case OFPACT_SET_FIELD:
        set_field(ofpact_get_SET_FIELD(a), flow, wc);
        break;

    case OFPACT_REG_MOVE: {
        const struct ofpact_reg_move *move = ofpact_get_REG_MOVE(a);

        mf_subfield_copy(&move->src, &move->dst, flow, wc);
        break;
    }

    case OFPACT_SET_VLAN_VID: {
        const struct ofpact_vlan_vid *vid = ofpact_get_SET_VLAN_VID(a);

        set_vlan_tci(flow, VLAN_VID_MASK, vid->vlan_vid,
                     vid->push_vlan_if_needed);
        break;
    }

    case OFPACT_SET_VLAN_PCP: {
        const struct ofpact_vlan_pcp *pcp = ofpact_get_SET_VLAN_PCP(a);

        set_vlan_tci(flow, VLAN_PCP_MASK, pcp->vlan_pcp << VLAN_PCP_SHIFT,
                     pcp->push_vlan_if_needed);
        break;
    }

    case OFPACT_STRIP_VLAN:
        flow_pop_vlan(flow, wc);
        break;

    case OFPACT_PUSH_VLAN:
        push_vlan(flow, ofpact_get_PUSH_VLAN(a)->ethertype, wc);
        break;

    case OFPACT_SET_ETH_SRC:
        flow->dl_src = ofpact_get_SET_ETH_SRC(a)->mac;
        break;

    case OFPACT_SET_ETH_DST:
        flow->dl_dst = ofpact_get_SET_ETH_DST(a)->mac;
        break;

    case OFPACT_SET_IPV4_SRC:
        set_ipv4(flow, &flow->nw_src, ofpact_get_SET_IPV4_SRC(a)->ipv4);
        break;

    case OFPACT_SET_IPV4_DST:
        set_ipv4(flow, &flow->nw_dst, ofpact_get_SET_IPV4_DST(a)->ipv4);
        break;

    case OFPACT_SET_IP_DSCP:
        set_tos(flow, IP_DSCP_MASK, ofpact_get_SET_IP_DSCP(a)->dscp);
        break;

    case OFPACT_SET_IP_ECN:
        set_tos(flow, IP_ECN_MASK, ofpact_get_SET_IP_ECN(a)->ecn);
        break;

    case OFPACT_SET_IP_TTL:
        if (is_ip_any(flow)) {
            flow->nw_ttl = ofpact_get_SET_IP_TTL(a)->ttl;
        }
        break;

    case OFPACT_SET_L4_SRC_PORT:
        set_l4_port(flow, &flow->tp_src, ofpact_get_SET_L4_SRC_PORT(a)->port);
        break;

    case OFPACT_SET_L4_DST_PORT:
        set_l4_port(flow, &flow->tp_dst, ofpact_get_SET_L4_DST_PORT(a)->port);
        break;

    case OFPACT_SET_TUNNEL:
        flow->tunnel.tun_id = htonll(ofpact_get_SET_TUNNEL(a)->tun_id);
        break;

    case OFPACT_WRITE_METADATA: {
        const struct ofpact_metadata *md = ofpact_get_WRITE_METADATA(a);

        flow->metadata &= ~md->mask;
        flow->metadata |= md->metadata & md->mask;
        break;
    }

    default:
        OVS_NOT_REACHED();
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-shadow-execute.h"

#include "adp-sample.h"
#include "conntrack-sctp.h"
#include "csum.h"
#include "dp-packet.h"
#include "odp-execute.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "unaligned.h"
#include "util.h"

#define CONTROLLER "controller("
#define METER "meter("

bool
adp_shadow_effect_is_ct(const char *effect)
{
    return !strcmp(effect, "ct") || !strncmp(effect, "ct(", 3);
}

bool
adp_shadow_effect_is_controller(const char *effect)
{
    return !strncmp(effect, CONTROLLER, strlen(CONTROLLER));
}

bool
adp_shadow_effect_is_meter(const char *effect)
{
    return !strncmp(effect, METER, strlen(METER));
}

/* The packet. */

static void
fit_ipv4(struct ip_header *ip, size_t size)
{
    if (ntohs(ip->ip_tot_len) > size) {
        ovs_be16 len = htons(size);

        ip->ip_csum = recalc_csum16(ip->ip_csum, ip->ip_tot_len, len);
        ip->ip_tot_len = len;
    }
}

static void
fit_ipv6(struct ovs_16aligned_ip6_hdr *ip6, size_t size)
{
    size_t payload = size - sizeof *ip6;

    if (ntohs(ip6->ip6_plen) > payload) {
        ip6->ip6_plen = htons(payload);
    }
}

struct dp_packet *
adp_shadow_packet(const struct adp_sample *sample,
                  const struct adp_sample_bytes *bytes)
{
    struct dp_packet *packet
        = dp_packet_clone_data_with_headroom(bytes->data, bytes->size, 128);
    char *l3 = (sample->l3_ofs < bytes->size
                ? (char *) dp_packet_data(packet) + sample->l3_ofs : NULL);
    size_t size = l3 ? bytes->size - sample->l3_ofs : 0;

    pkt_metadata_init(&packet->md, ODPP_NONE);
    packet->md.skb_priority = sample->flow.skb_priority;
    packet->md.pkt_mark = sample->flow.pkt_mark;
    packet->l2_5_ofs = sample->l2_5_ofs;
    packet->l3_ofs = sample->l3_ofs;
    packet->l4_ofs = sample->l4_ofs;
    if (sample->length > bytes->size) {
        if (sample->flow.dl_type == htons(ETH_TYPE_IP)
            && size >= IP_HEADER_LEN) {
            fit_ipv4(ALIGNED_CAST(struct ip_header *, l3), size);
        } else if (sample->flow.dl_type == htons(ETH_TYPE_IPV6)
                   && size >= IPV6_HEADER_LEN) {
            fit_ipv6(ALIGNED_CAST(struct ovs_16aligned_ip6_hdr *, l3), size);
        }
    }
    return packet;
}

/* Effects. */

/* Takes over the text. */
static void
add_effect(struct adp_shadow_run *run, struct ds *s)
{
    if (run->effects->n >= ADP_SHADOW_MAX_EFFECTS) {
        run->unfit = ADP_SHADOW_LONG;
        ds_destroy(s);
    } else {
        svec_add_nocopy(run->effects, ds_steal_cstr(s));
    }
}

static void
put_packet(struct ds *s, const struct dp_packet *packet)
{
    const uint8_t *p = dp_packet_data(packet);

    ds_put_char(s, ' ');
    for (size_t i = 0; i < dp_packet_size(packet); i++) {
        ds_put_format(s, "%02x", p[i]);
    }
}

/* The action as it is written, which is the same for all ways to encode it,
 * and the packet unless it is NULL. */
static void
add_action(struct adp_shadow_run *run, const char *prefix,
           const struct nlattr *a, const struct dp_packet *packet)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, prefix);
    format_odp_actions(&s, a, NLA_ALIGN(a->nla_len), NULL);
    if (packet) {
        put_packet(&s, packet);
    }
    add_effect(run, &s);
}

static void
add_output(struct adp_shadow_run *run, const struct nlattr *a,
           const struct dp_packet *packet)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "output(%"PRIu32")", nl_attr_get_u32(a));
    put_packet(&s, packet);
    add_effect(run, &s);
}

/* What a controller is told is the same whatever the frozen state's number
 * is. */
static void
add_userspace(struct adp_shadow_run *run, const struct nlattr *a,
              const struct dp_packet *packet)
{
    const struct nlattr *data = nl_attr_find_nested(
        a, OVS_USERSPACE_ATTR_USERDATA);
    struct user_action_cookie cookie;
    struct ds s = DS_EMPTY_INITIALIZER;

    if (!data || nl_attr_get_size(data) != sizeof cookie) {
        run->unfit = ADP_SHADOW_ACTION;
        return;
    }
    memcpy(&cookie, nl_attr_get(data), sizeof cookie);
    if (cookie.type != USER_ACTION_COOKIE_CONTROLLER) {
        run->unfit = ADP_SHADOW_ACTION;
        return;
    }
    ds_put_format(&s, CONTROLLER"reason=%"PRIu16",id=%"PRIu16",max_len=%"
                  PRIu16",cookie=%#"PRIx64"%s)", cookie.controller.reason,
                  cookie.controller.controller_id, cookie.controller.max_len,
                  ntohll(get_32aligned_be64(&cookie.controller.rule_cookie)),
                  cookie.controller.continuation ? ",continuation" : "");
    put_packet(&s, packet);
    add_effect(run, &s);
}

/* Conntrack. */

static void
set_addresses(struct dp_packet *packet, const struct flow *flow,
              const struct adp_sample_answer *a)
{
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        struct ip_header *ip = dp_packet_l3(packet);
        ovs_be32 src = in6_addr_get_mapped_ipv4(&a->src);
        ovs_be32 dst = in6_addr_get_mapped_ipv4(&a->dst);

        if (flow->nw_src != src) {
            packet_set_ipv4_addr(packet, &ip->ip_src, src);
        }
        if (flow->nw_dst != dst) {
            packet_set_ipv4_addr(packet, &ip->ip_dst, dst);
        }
    } else if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
        struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(packet);

        if (!ipv6_addr_equals(&flow->ipv6_src, &a->src)) {
            packet_set_ipv6_addr(packet, flow->nw_proto, ip6->ip6_src.be32,
                                 &a->src, true);
        }
        if (!ipv6_addr_equals(&flow->ipv6_dst, &a->dst)) {
            packet_set_ipv6_addr(packet, flow->nw_proto, ip6->ip6_dst.be32,
                                 &a->dst, true);
        }
    }
}

static void
set_ports(struct dp_packet *packet, const struct flow *flow,
          const struct adp_sample_answer *a)
{
    if (flow->tp_src == a->tp_src && flow->tp_dst == a->tp_dst) {
        return;
    }
    switch (flow->nw_proto) {
    case IPPROTO_TCP:
        packet_set_tcp_port(packet, a->tp_src, a->tp_dst);
        break;
    case IPPROTO_UDP:
        packet_set_udp_port(packet, a->tp_src, a->tp_dst);
        break;
    case IPPROTO_SCTP:
        conntrack_sctp_set_ports(packet, a->tp_src, a->tp_dst);
        break;
    }
}

static void
set_metadata(struct pkt_metadata *md, const struct adp_sample_answer *a)
{
    md->ct_state = a->ct_state;
    md->ct_zone = a->ct_zone;
    md->ct_mark = a->ct_mark;
    md->ct_label = a->ct_label;
    md->ct_orig_tuple_ipv6 = a->has_orig_tuple && a->orig_is_ipv6;
    memset(&md->ct_orig_tuple, 0, sizeof md->ct_orig_tuple);
    if (md->ct_orig_tuple_ipv6) {
        md->ct_orig_tuple.ipv6 = a->orig.ipv6;
    } else if (a->has_orig_tuple) {
        md->ct_orig_tuple.ipv4 = a->orig.ipv4;
    }
}

static void
do_ct(struct adp_shadow_run *run, const struct nlattr *a,
      struct dp_packet *packet)
{
    const struct adp_sample *sample = run->sample;

    add_action(run, "", a, NULL);
    if (run->n_answers >= sample->n_answers) {
        run->is_astray = true;
        return;
    }

    const struct adp_sample_answer *answer
        = &sample->answers[run->n_answers++];
    struct flow flow;

    flow_extract(packet, &flow);
    set_addresses(packet, &flow, answer);
    set_ports(packet, &flow, answer);
    set_metadata(&packet->md, answer);
}

/* Actions. */

/* What upstream's executor does to the packet alone. */
static void
do_other(struct adp_shadow_run *run, const struct nlattr *a,
         struct dp_packet *packet)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, packet);
    odp_execute_actions(NULL, &batch, false, a, NLA_ALIGN(a->nla_len), NULL);
    if (dp_packet_batch_size(&batch) != 1) {
        run->unfit = ADP_SHADOW_ACTION;
    }
}

static void
do_copy(struct adp_shadow_run *run, const struct nlattr *actions,
        size_t actions_len, const struct dp_packet *packet)
{
    struct dp_packet *copy = dp_packet_clone_with_headroom(packet, 128);

    run->depth++;
    adp_shadow_execute(run, copy, actions, actions_len);
    run->depth--;
    dp_packet_delete(copy);
}

static void
do_recirculate(struct adp_shadow_run *run, uint32_t recirc_id,
               const struct dp_packet *packet)
{
    if (!run->recirculate) {
        run->unfit = ADP_SHADOW_ACTION;
        return;
    }

    struct dp_packet *copy = dp_packet_clone_with_headroom(packet, 128);

    copy->md.recirc_id = recirc_id;
    run->depth++;
    run->recirculate(run, copy, recirc_id);
    run->depth--;
    dp_packet_delete(copy);
}

/* One that always does it is a clone. */
static void
do_sample(struct adp_shadow_run *run, const struct nlattr *a,
          const struct dp_packet *packet)
{
    const struct nlattr *probability
        = nl_attr_find_nested(a, OVS_SAMPLE_ATTR_PROBABILITY);
    const struct nlattr *actions
        = nl_attr_find_nested(a, OVS_SAMPLE_ATTR_ACTIONS);

    if (probability && actions
        && nl_attr_get_u32(probability) == UINT32_MAX) {
        do_copy(run, nl_attr_get(actions), nl_attr_get_size(actions), packet);
    } else {
        run->unfit = ADP_SHADOW_ACTION;
    }
}

static bool
goes_on(const struct adp_shadow_run *run)
{
    return !run->unfit && !run->is_astray;
}

void
adp_shadow_execute(struct adp_shadow_run *run, struct dp_packet *packet,
                   const struct nlattr *actions, size_t actions_len)
{
    const struct nlattr *a;
    bool pushed = false;
    size_t left;

    if (run->depth > ADP_SHADOW_MAX_DEPTH) {
        run->unfit = ADP_SHADOW_ACTION;
    }
    NL_ATTR_FOR_EACH (a, left, actions, actions_len) {
        if (!goes_on(run)) {
            return;
        }
        if (pushed) {
            add_action(run, "pushed,", a, NULL);
            continue;
        }
        switch ((enum ovs_action_attr) nl_attr_type(a)) {
        case OVS_ACTION_ATTR_OUTPUT:
            add_output(run, a, packet);
            break;
        case OVS_ACTION_ATTR_TUNNEL_PUSH:
            add_action(run, "", a, packet);
            pushed = true;
            break;
        case OVS_ACTION_ATTR_USERSPACE:
            add_userspace(run, a, packet);
            break;
        case OVS_ACTION_ATTR_METER:
            add_action(run, "", a, NULL);
            break;
        case OVS_ACTION_ATTR_CT:
            do_ct(run, a, packet);
            break;
        case OVS_ACTION_ATTR_CT_CLEAR:
            set_metadata(&packet->md, &(struct adp_sample_answer) {
                .ct_state = 0,
            });
            break;
        case OVS_ACTION_ATTR_HASH:
            packet->md.dp_hash = run->hash ? run->hash(run) : 0;
            break;
        case OVS_ACTION_ATTR_RECIRC:
            do_recirculate(run, nl_attr_get_u32(a), packet);
            break;
        case OVS_ACTION_ATTR_CLONE:
            do_copy(run, nl_attr_get(a), nl_attr_get_size(a), packet);
            break;
        case OVS_ACTION_ATTR_SAMPLE:
            do_sample(run, a, packet);
            break;
        case OVS_ACTION_ATTR_DROP:
            break;              /* There is nothing behind it. */
        case OVS_ACTION_ATTR_SET:
        case OVS_ACTION_ATTR_SET_MASKED:
        case OVS_ACTION_ATTR_PUSH_VLAN:
        case OVS_ACTION_ATTR_POP_VLAN:
        case OVS_ACTION_ATTR_PUSH_MPLS:
        case OVS_ACTION_ATTR_POP_MPLS:
        case OVS_ACTION_ATTR_ADD_MPLS:
        case OVS_ACTION_ATTR_PUSH_ETH:
        case OVS_ACTION_ATTR_POP_ETH:
        case OVS_ACTION_ATTR_PUSH_NSH:
        case OVS_ACTION_ATTR_POP_NSH:
            do_other(run, a, packet);
            break;
        case OVS_ACTION_ATTR_UNSPEC:
        case OVS_ACTION_ATTR_TRUNC:
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
        case OVS_ACTION_ATTR_TUNNEL_POP:
        case OVS_ACTION_ATTR_LB_OUTPUT:
        case __OVS_ACTION_ATTR_MAX:
            run->unfit = ADP_SHADOW_ACTION;
            break;
        }
    }
}

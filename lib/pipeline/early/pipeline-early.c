/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-early.h"

#include <inttypes.h>

#include "packets.h"
#include "pipeline-guide.h"
#include "util.h"

static const struct adp_pipeline_table tables[] = {
#define ADP_TABLE(NAME, ID, MISS) { #NAME, ID, MISS },
#include "pipeline-early.def"
};

static const struct adp_text_bits bits[] = {
#define ADP_FIELD ADP_TEXT_FIELD
#define ADP_MARK ADP_TEXT_MARK
#include "pipeline-early.def"
};

static const struct adp_text_const consts[] = {
#define ADP_CONST(NAME, TEXT) { #NAME, TEXT },
#include "pipeline-early.def"
};

static const struct adp_vocabulary vocabulary = {
    .bits = bits,
    .n_bits = ARRAY_SIZE(bits),
    .consts = consts,
    .n_consts = ARRAY_SIZE(consts),
    .loads = true,
};

static const struct adp_pipeline_option options[] = {
#define ADP_OPTION(SYMBOL, NAME, TLV_MAP, TEXT) { NAME, TEXT, TLV_MAP },
#include "pipeline-early.def"
};

static const struct adp_pipeline_option_set option_sets[] = {
    { "walk",
      0
#define ADP_OPTION(SYMBOL, NAME, TLV_MAP, TEXT) \
      | UINT64_C(1) << ADP_EARLY_##SYMBOL
#include "pipeline-early.def"
    },
};

static const struct adp_static_flow static_flows[] = {
#define FLOW(TABLE, PRIORITY, TEMPLATE) \
    { ADP_EARLY_##TABLE, PRIORITY, TEMPLATE },

    FLOW(ARPResponder, 190, "arp actions=NORMAL")

    FLOW(Conntrack, 200, "ip actions=ct(table=ConntrackState,zone={CtZone})")

    FLOW(ConntrackState, 210,
         "ct_state=-new+trk,{GatewayCTMark},ip,{FromGateway} "
         "actions=resubmit(,DNAT)")

    FLOW(EgressRule, 210, "ct_state=-new+est,ip "
         "actions=resubmit(,L3Forwarding)")

    FLOW(IngressRule, 210, "ct_state=-new+est,ip "
         "actions=resubmit(,ConntrackCommit)")

    FLOW(ConntrackCommit, 200, "ct_state=+new+trk,ip,{FromGateway} "
         "actions=ct(commit,table=L2ForwardingOut,zone={CtZone},"
         "exec({GatewayCTMark}))")
    FLOW(ConntrackCommit, 190, "ct_state=+new+trk,ip "
         "actions=ct(commit,table=L2ForwardingOut,zone={CtZone})")

    FLOW(L2ForwardingOut, 200, "ip,{PortFound} actions=output:{Port[]}")
#undef FLOW
};

/* Shorthands for the flows below: cookie category and table. */
#define DEFAULT(TABLE) ADP_EARLY_COOKIE_DEFAULT, 0, ADP_EARLY_##TABLE
#define NODE(TABLE) ADP_EARLY_COOKIE_NODE, 0, ADP_EARLY_##TABLE
#define POD(TABLE) ADP_EARLY_COOKIE_POD, 0, ADP_EARLY_##TABLE
#define SERVICE(TABLE) ADP_EARLY_COOKIE_SERVICE, 0, ADP_EARLY_##TABLE

static struct eth_addr
global_virtual_mac(void)
{
    struct eth_addr mac;

    ovs_assert(eth_addr_from_string(adp_text_const(&vocabulary,
                                                   "GlobalVirtualMAC"), &mac));
    return mac;
}

/* Notes 'port' as the one on which packets for 'mac' leave. */
static void
generate_l2_forwarding(struct adp_generator *g, enum adp_early_cookie category,
                       struct eth_addr mac, ofp_port_t port)
{
    adp_gen_flow(g, category, 0, ADP_EARLY_L2ForwardingCalc, 200,
                 "dl_dst="ETH_ADDR_FMT" actions={Port=0x%"PRIx32"},"
                 "{PortFound},resubmit(,IngressRule)",
                 ETH_ADDR_ARGS(mac), port);
}

/* NORMAL learns Ethernet's source. */
static void
generate_arp_spoof_guard(struct adp_generator *g,
                         enum adp_early_cookie category, ofp_port_t port,
                         struct eth_addr mac, const struct in6_addr *ip)
{
    adp_gen_flow(g, category, 0, ADP_EARLY_SpoofGuard, 200,
                 "arp,in_port=%"PRIu32",dl_src="ETH_ADDR_FMT",arp_spa=%s,"
                 "arp_sha="ETH_ADDR_FMT" actions=resubmit(,ARPResponder)",
                 port, ETH_ADDR_ARGS(mac), adp_ip_text(ip).s,
                 ETH_ADDR_ARGS(mac));
}

/* Packets to Services pass by the rules for egress: these are enforced on them
 * when they come back through the gateway, to an endpoint by then. */
static void
generate_service_cidr(struct adp_generator *g, ofp_port_t gateway)
{
    const struct adp_node_config *node = g->node;
    char *set_mac;

    if (!node->has_service_cidr[ADP_IPV4]) {
        return;
    }
    set_mac = (adp_gen_option(g, ADP_EARLY_SERVICE_MAC)
               ? xasprintf("mod_dl_dst:"ETH_ADDR_FMT",",
                           ETH_ADDR_ARGS(node->gateway_mac))
               : xstrdup(""));
    adp_gen_flow(g, SERVICE(DNAT), 200,
                 "ip,nw_dst=%s actions=%s"
                 "{Port=0x%"PRIx32"},{PortFound},resubmit(,ConntrackCommit)",
                 adp_cidr_text(&node->service_cidr[ADP_IPV4]).s,
                 set_mac, gateway);
    free(set_mac);
}

static void
generate_gateway_port(struct adp_generator *g)
{
    const struct adp_node_config *node = g->node;
    ofp_port_t port;

    if (!adp_gen_port(g, node->gateway_port, &port)) {
        return;
    }

    adp_gen_flow(g, DEFAULT(Classifier), 200, "in_port=%"PRIu32" "
                 "actions={FromGateway},resubmit(,SpoofGuard)", port);
    adp_gen_flow(g, DEFAULT(SpoofGuard), 200, "ip,in_port=%"PRIu32" "
                 "actions=resubmit(,Conntrack)", port);
    generate_arp_spoof_guard(g, ADP_EARLY_COOKIE_DEFAULT, port,
                             node->gateway_mac,
                             &node->net[ADP_IPV4].gateway_ip);
    generate_service_cidr(g, port);
    generate_l2_forwarding(g, ADP_EARLY_COOKIE_DEFAULT, node->gateway_mac,
                           port);
}

/* The flows that name the gateway's addresses. */
static void
generate_gateway_routes(struct adp_generator *g)
{
    const struct adp_node_config *node = g->node;
    struct eth_addr mac = node->gateway_mac;
    struct in6_addr ip = node->net[ADP_IPV4].gateway_ip;

    adp_gen_flow(g, DEFAULT(ConntrackState), 200,
                 "ct_state=-new+trk,{GatewayCTMark},ip "
                 "actions=load:0x%"PRIx64"->NXM_OF_ETH_DST[],"
                 "resubmit(,DNAT)", eth_addr_to_uint64(mac));
    adp_gen_flow(g, DEFAULT(L3Forwarding), 200,
                 "ip,dl_dst={GlobalVirtualMAC},nw_dst=%s "
                 "actions=mod_dl_dst:"ETH_ADDR_FMT","
                 "resubmit(,L2ForwardingCalc)",
                 adp_ip_text(&ip).s, ETH_ADDR_ARGS(mac));
    adp_gen_flow(g, DEFAULT(IngressRule), 210,
                 "ip,nw_src=%s actions=resubmit(,ConntrackCommit)",
                 adp_ip_text(&ip).s);
}

void
adp_early_generate_invalid(struct adp_generator *g)
{
    adp_gen_flow(g, DEFAULT(ConntrackState),
                 adp_gen_option(g, ADP_EARLY_INVALID_LAST) ? 190 : 200,
                 "ct_state=+inv+trk,ip actions=drop");
}

static bool
tunnel_port(const struct adp_generator *g, ofp_port_t *port)
{
    const char *name = g->node->tunnel_port;

    return name && adp_gen_port(g, name, port);
}

static void
generate_tunnel_port(struct adp_generator *g)
{
    ofp_port_t port;

    if (!tunnel_port(g, &port)) {
        return;
    }

    adp_gen_flow(g, DEFAULT(Classifier), 200,
                 "in_port=%"PRIu32" actions=%s{FromTunnel}%s,"
                 "resubmit(,Conntrack)", port,
                 (adp_gen_option(g, ADP_EARLY_TUNNEL_METADATA)
                  ? "move:NXM_NX_TUN_METADATA0[28..31]->{Traceflow[]}," : ""),
                 (adp_gen_option(g, ADP_EARLY_TUNNEL_MARK)
                  ? ",{MACRewrite}" : ""));
    if (!adp_gen_option(g, ADP_EARLY_NO_TUNNEL_MAC)) {
        generate_l2_forwarding(g, ADP_EARLY_COOKIE_DEFAULT,
                               global_virtual_mac(), port);
    }
}

void
adp_early_generate_peer_node(struct adp_generator *g,
                             const struct adp_record *record)
{
    const struct adp_peer_node *peer = CONTAINER_OF(record,
                                                    struct adp_peer_node, up);
    ofp_port_t port;

    if (!g->node->tunnel_port     /* The host routes to it. */
        || !adp_node_net_is_set(&peer->net[ADP_IPV4])) {
        return;
    }

    const struct in6_addr *gateway_ip = &peer->net[ADP_IPV4].gateway_ip;
    adp_gen_flow(g, NODE(ARPResponder), 200,
                 "arp,arp_tpa=%s,arp_op=1 "
                 "actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"
                 "mod_dl_src:{GlobalVirtualMAC},load:0x2->NXM_OF_ARP_OP[],"
                 "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],"
                 "load:0x%"PRIx64"->NXM_NX_ARP_SHA[],"
                 "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],"
                 "load:0x%"PRIx32"->NXM_OF_ARP_SPA[],IN_PORT",
                 adp_ip_text(gateway_ip).s,
                 eth_addr_to_uint64(global_virtual_mac()),
                 ntohl(in6_addr_get_mapped_ipv4(gateway_ip)));
    if (tunnel_port(g, &port)) {
        adp_gen_flow(g, NODE(L3Forwarding), 200,
                     "ip,nw_dst=%s actions=dec_ttl,"
                     "mod_dl_src:"ETH_ADDR_FMT","
                     "mod_dl_dst:{GlobalVirtualMAC},{Port=0x%"PRIx32"},"
                     "{PortFound},load:0x%"PRIx32"->NXM_NX_TUN_IPV4_DST[],"
                     "resubmit(,ConntrackCommit)",
                     adp_cidr_text(&peer->net[ADP_IPV4].pod_cidr).s,
                     ETH_ADDR_ARGS(g->node->gateway_mac), port,
                     ntohl(in6_addr_get_mapped_ipv4(&peer->transport_ip)));
    }
}

static void
generate_pod_port(struct adp_generator *g, const struct adp_pod *pod)
{
    ofp_port_t port;

    if (!adp_gen_port(g, pod->port, &port)) {
        return;
    }

    adp_gen_flow(g, POD(Classifier), 190, "in_port=%"PRIu32" "
                 "actions={FromPod},resubmit(,SpoofGuard)", port);
    for (size_t i = 0; i < pod->ips.n; i++) {
        if (!adp_ip_is_v4(&pod->ips.ips[i])) {
            continue;
        }
        adp_gen_flow(g, POD(SpoofGuard), 200,
                     "ip,in_port=%"PRIu32",dl_src="ETH_ADDR_FMT","
                     "nw_src=%s actions=resubmit(,Conntrack)",
                     port, ETH_ADDR_ARGS(pod->mac),
                     adp_ip_text(&pod->ips.ips[i]).s);
        generate_arp_spoof_guard(g, ADP_EARLY_COOKIE_POD, port, pod->mac,
                                 &pod->ips.ips[i]);
    }
    generate_l2_forwarding(g, ADP_EARLY_COOKIE_POD, pod->mac, port);
}

void
adp_early_generate_pod(struct adp_generator *g,
                       const struct adp_record *record)
{
    const struct adp_pod *pod = CONTAINER_OF(record, struct adp_pod, up);

    generate_pod_port(g, pod);
    for (size_t i = 0; i < pod->ips.n; i++) {
        if (!adp_ip_is_v4(&pod->ips.ips[i])) {
            continue;
        }
        adp_gen_flow(g, POD(L3Forwarding), 200,
                     "ip,dl_dst={GlobalVirtualMAC},nw_dst=%s "
                     "actions=mod_dl_src:"ETH_ADDR_FMT","
                     "mod_dl_dst:"ETH_ADDR_FMT",dec_ttl,"
                     "resubmit(,L2ForwardingCalc)",
                     adp_ip_text(&pod->ips.ips[i]).s,
                     ETH_ADDR_ARGS(g->node->gateway_mac),
                     ETH_ADDR_ARGS(pod->mac));
    }
}

void
adp_early_generate_node(struct adp_generator *g)
{
    generate_gateway_port(g);
    generate_gateway_routes(g);
    generate_tunnel_port(g);
}

static void
generate(struct adp_generator *g)
{
    adp_early_generate_invalid(g);
    if (g->node) {
        adp_early_generate_node(g);
        adp_gen_for_each(g, ADP_KIND_PEER_NODE, adp_early_generate_peer_node);
        adp_gen_for_each(g, ADP_KIND_POD, adp_early_generate_pod);
        adp_early_generate_policies(g);
    }
}

static const uint8_t rule_tables[] = {
    ADP_EARLY_EgressRule_ID, ADP_EARLY_EgressDefault_ID,
    ADP_EARLY_IngressRule_ID, ADP_EARLY_IngressDefault_ID,
};

const struct adp_pipeline adp_pipeline_early = {
    .name = "early",
    .tables = tables,
    .n_tables = ARRAY_SIZE(tables),
    .vocabulary = &vocabulary,
    .static_flows = static_flows,
    .n_static_flows = ARRAY_SIZE(static_flows),
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .option_sets = option_sets,
    .n_option_sets = ARRAY_SIZE(option_sets),
    .kinds = (1u << ADP_KIND_NODE_CONFIG | 1u << ADP_KIND_PEER_NODE
              | 1u << ADP_KIND_POD | 1u << ADP_KIND_NETWORK_POLICY
              | 1u << ADP_KIND_ADDRESS_GROUP
              | 1u << ADP_KIND_APPLIED_TO_GROUP | 1u << ADP_KIND_MANIFEST),
    .policy_types = 1u << ADP_POLICY_K8S,
    .generate = generate,
    .parts = &adp_early_parts,
    .rule_tables = rule_tables,
    .n_rule_tables = ARRAY_SIZE(rule_tables),
    .metric_tables = adp_early_metric_tables,
    .n_metric_tables = ADP_EARLY_N_METRIC_TABLES,
    .flow_metric = adp_early_flow_metric,
    .guide = &adp_early_guide,
};

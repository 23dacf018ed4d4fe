/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>
#include <stdarg.h>

#include "packets.h"
#include "pipeline-v115-text.h"
#include "util.h"

const struct adp_pipeline_table adp_v115_tables[ADP_V115_N_TABLES] = {
#define ADP_TABLE(NAME) { #NAME, ADP_V115_##NAME },
#include "pipeline-v115.def"
};

static const char *const meters[] = {
    /* Protects whoever gets the packet-ins. */
    "meter=256,pktps,burst,bands=type=drop,rate=100,burst_size=200",
};

/* Flows that no record has to ask for. */
static const struct static_flow {
    enum adp_v115_table table;
    int priority;
    const char *template;
} static_flows[] = {
#define FLOW(TABLE, PRIORITY, TEMPLATE) \
    { ADP_V115_##TABLE, PRIORITY, TEMPLATE },

    FLOW(PipelineRootClassifier, 200, "arp actions=goto_table:ARPSpoofGuard")
    FLOW(PipelineRootClassifier, 200, "ip actions=goto_table:Classifier")
    FLOW(PipelineRootClassifier, 0, "actions=drop")

    FLOW(ARPSpoofGuard, 0, "actions=drop")

    FLOW(ARPResponder, 190, "arp actions=NORMAL")
    FLOW(ARPResponder, 0, "actions=drop")

    FLOW(Classifier, 0, "actions=drop")

    FLOW(SpoofGuard, 0, "actions=drop")

    FLOW(UnSNAT, 200, "ip,nw_dst={VirtualServiceIP} "
         "actions=ct(table=ConntrackZone,zone={SNATCtZone},nat)")
    FLOW(UnSNAT, 0, "actions=goto_table:ConntrackZone")

    FLOW(ConntrackZone, 200, "ip "
         "actions=ct(table=ConntrackState,zone={CtZone},nat)")
    FLOW(ConntrackZone, 0, "actions=goto_table:ConntrackState")

    FLOW(ConntrackState, 200, "ct_state=+inv+trk,ip actions=drop")
    FLOW(ConntrackState, 190, "ct_state=-new+trk,{NotServiceCTMark},ip "
         "actions=goto_table:AntreaPolicyEgressRule")
    FLOW(ConntrackState, 190, "ct_state=-new+trk,{ServiceCTMark},ip "
         "actions={RewriteMACRegMark},goto_table:AntreaPolicyEgressRule")
    FLOW(ConntrackState, 0, "actions=goto_table:PreRoutingClassifier")

    FLOW(PreRoutingClassifier, 200, "ip "
         "actions=resubmit(,NodePortMark),resubmit(,SessionAffinity),"
         "resubmit(,ServiceLB)")
    FLOW(PreRoutingClassifier, 0, "actions=goto_table:NodePortMark")

    FLOW(NodePortMark, 0, "actions=goto_table:SessionAffinity")

    FLOW(SessionAffinity, 0, "actions={EpToSelectRegMark}")

    FLOW(ServiceLB, 0, "actions=goto_table:EndpointDNAT")

    FLOW(EndpointDNAT, 200, "{SvcNoEpRegMark} "
         "actions=controller(reason=no_match,id={ControllerID},userdata=04)")
    FLOW(EndpointDNAT, 190, "{EpSelectedRegMark} "
         "actions={EpToSelectRegMark},resubmit(,ServiceLB)")
    FLOW(EndpointDNAT, 0, "actions=goto_table:AntreaPolicyEgressRule")

    FLOW(AntreaPolicyEgressRule, 64990, "ct_state=-new+est,ip "
         "actions=goto_table:EgressMetric")
    FLOW(AntreaPolicyEgressRule, 64990, "ct_state=-new+rel,ip "
         "actions=goto_table:EgressMetric")
    FLOW(AntreaPolicyEgressRule, 0, "actions=goto_table:EgressRule")

    FLOW(EgressRule, 0, "actions=goto_table:EgressDefaultRule")

    FLOW(EgressDefaultRule, 0, "actions=goto_table:EgressMetric")

    FLOW(EgressMetric, 0, "actions=goto_table:L3Forwarding")

    FLOW(L3Forwarding, 190, "ct_state=-rpl+trk,ip,{FromPodRegMark},"
         "{NotAntreaFlexibleIPAMRegMark} actions=goto_table:EgressMark")
    FLOW(L3Forwarding, 0, "actions={ToGatewayRegMark},"
         "goto_table:L2ForwardingCalc")

    FLOW(EgressMark, 190, "ct_state=+new+trk,ip,{FromTunnelRegMark} "
         "actions=drop")
    FLOW(EgressMark, 0, "actions={ToGatewayRegMark},"
         "goto_table:L2ForwardingCalc")

    FLOW(L3DecTTL, 210, "ip,{FromGatewayRegMark} actions=goto_table:SNATMark")
    FLOW(L3DecTTL, 200, "ip actions=dec_ttl,goto_table:SNATMark")
    FLOW(L3DecTTL, 0, "actions=goto_table:SNATMark")

    FLOW(SNATMark, 200,
         "ct_state=+new+trk,ip,{FromGatewayRegMark+ToGatewayRegMark} "
         "actions=ct(commit,table=SNAT,zone={CtZone},"
         "exec({ConnSNATCTMark},{HairpinCTMark}))")
    FLOW(SNATMark, 200,
         "ct_state=+new+trk,ip,{FromGatewayRegMark+ToTunnelRegMark},"
         "{ToExternalAddressRegMark+NotDSRServiceRegMark} "
         "actions=ct(commit,table=SNAT,zone={CtZone},"
         "exec({ConnSNATCTMark}))")
    FLOW(SNATMark, 0, "actions=goto_table:SNAT")

    FLOW(SNAT, 200,
         "ct_state=+new+trk,{HairpinCTMark},ip,{FromGatewayRegMark} "
         "actions=ct(commit,table=L2ForwardingCalc,zone={SNATCtZone},"
         "nat(src={VirtualServiceIP}),exec({ServiceCTMark},{HairpinCTMark}))")
    FLOW(SNAT, 200, "ct_state=-new-rpl+trk,{ConnSNATCTMark},ip "
         "actions=ct(table=L2ForwardingCalc,zone={SNATCtZone},nat)")
    FLOW(SNAT, 0, "actions=goto_table:L2ForwardingCalc")

    FLOW(L2ForwardingCalc, 0, "actions=goto_table:TrafficControl")

    FLOW(TrafficControl, 210, "{OutputToOFPortRegMark+FromTCReturnRegMark} "
         "actions=goto_table:Output")
    FLOW(TrafficControl, 0, "actions=goto_table:IngressSecurityClassifier")

    FLOW(IngressSecurityClassifier, 210,
         "{HostLocalSourceMark},ct_state=-rpl+trk,ip "
         "actions=goto_table:ConntrackCommit")
    FLOW(IngressSecurityClassifier, 201, "{ToNodePortAddressRegMark} "
         "actions=goto_table:AntreaPolicyIngressRule")
    FLOW(IngressSecurityClassifier, 200, "{ToGatewayRegMark} "
         "actions=goto_table:IngressMetric")
    FLOW(IngressSecurityClassifier, 200, "{ToTunnelRegMark} "
         "actions=goto_table:IngressMetric")
    FLOW(IngressSecurityClassifier, 200, "{ToUplinkRegMark} "
         "actions=goto_table:IngressMetric")
    FLOW(IngressSecurityClassifier, 200, "{HairpinCTMark} "
         "actions=goto_table:ConntrackCommit")
    FLOW(IngressSecurityClassifier, 0,
         "actions=goto_table:AntreaPolicyIngressRule")

    FLOW(AntreaPolicyIngressRule, 64990, "ct_state=-new+est,ip "
         "actions=goto_table:IngressMetric")
    FLOW(AntreaPolicyIngressRule, 64990, "ct_state=-new+rel,ip "
         "actions=goto_table:IngressMetric")
    FLOW(AntreaPolicyIngressRule, 0, "actions=goto_table:IngressRule")

    FLOW(IngressRule, 0, "actions=goto_table:IngressDefaultRule")

    FLOW(IngressDefaultRule, 0, "actions=goto_table:IngressMetric")

    FLOW(IngressMetric, 0, "actions=goto_table:ConntrackCommit")

    FLOW(ConntrackCommit, 200,
         "ct_state=+new+trk-snat,{NotServiceCTMark},ip "
         "actions=ct(commit,table=Output,zone={CtZone},"
         "exec(move:{PktSourceField[]}->{ConnSourceCTMarkField[]}))")
    FLOW(ConntrackCommit, 0, "actions=goto_table:Output")

    FLOW(Output, 211, "{OutputToOFPortRegMark},{TrafficControlMirrorRegMark} "
         "actions=output:{TargetOFPortField[]},"
         "output:{TrafficControlTargetOFPortField[]}")
    FLOW(Output, 211,
         "{OutputToOFPortRegMark},{TrafficControlRedirectRegMark} "
         "actions=output:{TrafficControlTargetOFPortField[]}")
    FLOW(Output, 210, "{HairpinCTMark} actions=IN_PORT")
    FLOW(Output, 200, "{OutputToOFPortRegMark} "
         "actions=output:{TargetOFPortField[]}")
    FLOW(Output, 200,
         "{OutputToControllerRegMark+PacketInOperationField=1} "
         "actions=meter:{PacketInMeter},"
         "controller(reason=no_match,id={ControllerID},userdata=01.01)")
    FLOW(Output, 200,
         "{OutputToControllerRegMark+PacketInOperationField=2} "
         "actions=meter:{PacketInMeter},"
         "controller(reason=no_match,id={ControllerID},userdata=01.02)")
    FLOW(Output, 0, "actions=drop")
#undef FLOW
};

uint64_t
adp_v115_cookie(const struct adp_v115 *g, enum adp_v115_cookie category,
                uint32_t object)
{
    return ((uint64_t) g->env->round << 48 | (uint64_t) category << 40
            | object);
}

void
adp_v115_flow(struct adp_v115 *g, enum adp_v115_cookie category,
              uint32_t object, enum adp_v115_table table, int priority,
              const char *format, ...)
{
    struct ds template = DS_EMPTY_INITIALIZER;
    struct ds flow = DS_EMPTY_INITIALIZER;
    va_list args;

    va_start(args, format);
    ds_put_format_valist(&template, format, args);
    va_end(args);

    ds_put_format(&flow, "cookie=0x%"PRIx64", table=%s, priority=%d%c",
                  adp_v115_cookie(g, category, object),
                  adp_v115_tables[table].name, priority,
                  strncmp(ds_cstr(&template), "actions=", 8) ? ',' : ' ');
    adp_v115_expand(&flow, ds_cstr(&template), false);
    ds_destroy(&template);
    adp_flow_set_add_nocopy(g->set, ds_steal_cstr(&flow));
}

bool
adp_v115_port(const struct adp_v115 *g, const char *name, ofp_port_t *port)
{
    return g->env->port_number(name, port, g->env->aux);
}

static void
generate_static(struct adp_v115 *g)
{
    for (size_t i = 0; i < ARRAY_SIZE(static_flows); i++) {
        const struct static_flow *f = &static_flows[i];

        adp_v115_flow(g, ADP_V115_COOKIE_DEFAULT, 0, f->table, f->priority,
                      "%s", f->template);
    }
}

/* Shorthands for the flows below: cookie category and table. */
#define POD(TABLE) ADP_V115_COOKIE_POD, 0, ADP_V115_##TABLE
#define SERVICE(TABLE) ADP_V115_COOKIE_SERVICE, 0, ADP_V115_##TABLE
#define EGRESS(TABLE) ADP_V115_COOKIE_EGRESS, 0, ADP_V115_##TABLE

/* Sends packets for 'mac' out on 'port'. */
static void
generate_l2_forwarding(struct adp_v115 *g, const char *mac, ofp_port_t port)
{
    adp_v115_flow(g, POD(L2ForwardingCalc), 200,
                  "dl_dst=%s actions={TargetOFPortField=0x%"PRIx32"},"
                  "{OutputToOFPortRegMark},goto_table:TrafficControl",
                  mac, port);
}

static void
generate_gateway_port(struct adp_v115 *g, const struct adp_node_config *node)
{
    ofp_port_t port;

    if (!adp_v115_port(g, node->gateway_port, &port)) {
        return;
    }

    adp_v115_flow(g, POD(ARPSpoofGuard), 200,
                  "arp,in_port=%"PRIu32",arp_spa="IP_FMT","
                  "arp_sha="ETH_ADDR_FMT" actions=goto_table:ARPResponder",
                  port, IP_ARGS(node->gateway_ip),
                  ETH_ADDR_ARGS(node->gateway_mac));
    adp_v115_flow(g, POD(Classifier), 210,
                  "ip,in_port=%"PRIu32",nw_src="IP_FMT" "
                  "actions={FromGatewayRegMark},{FromLocalRegMark},"
                  "goto_table:SpoofGuard",
                  port, IP_ARGS(node->gateway_ip));
    adp_v115_flow(g, POD(Classifier), 200,
                  "in_port=%"PRIu32" "
                  "actions={FromGatewayRegMark},{FromExternalRegMark},"
                  "goto_table:SpoofGuard", port);
    adp_v115_flow(g, POD(SpoofGuard), 200,
                  "ip,in_port=%"PRIu32" actions=goto_table:UnSNAT", port);

    char *mac = xasprintf(ETH_ADDR_FMT, ETH_ADDR_ARGS(node->gateway_mac));
    generate_l2_forwarding(g, mac, port);
    free(mac);
}

static void
generate_tunnel_port(struct adp_v115 *g, const struct adp_node_config *node)
{
    ofp_port_t port;

    if (!node->tunnel_port || !adp_v115_port(g, node->tunnel_port, &port)) {
        return;
    }

    adp_v115_flow(g, POD(Classifier), 200,
                  "in_port=%"PRIu32" "
                  "actions={FromTunnelRegMark},{RewriteMACRegMark},"
                  "goto_table:UnSNAT", port);
    generate_l2_forwarding(g, adp_v115_const("GlobalVirtualMAC"), port);
}

/* The flows that route to the gateway or name its addresses. */
static void
generate_gateway_routes(struct adp_v115 *g, const struct adp_node_config *node)
{
#define TO_GATEWAY "set_field:"ETH_ADDR_FMT"->eth_dst"
    struct eth_addr mac = node->gateway_mac;
    ovs_be32 ip = node->gateway_ip;

    adp_v115_flow(g, SERVICE(UnSNAT), 200, "ip,nw_dst="IP_FMT" "
                  "actions=ct(table=ConntrackZone,zone={SNATCtZone},nat)",
                  IP_ARGS(ip));
    adp_v115_flow(g, POD(L3Forwarding), 210,
                  "ip,nw_dst="IP_FMT" actions="TO_GATEWAY","
                  "{ToGatewayRegMark},goto_table:L3DecTTL",
                  IP_ARGS(ip), ETH_ADDR_ARGS(mac));
    adp_v115_flow(g, POD(L3Forwarding), 210,
                  "ct_state=+rpl+trk,{FromGatewayCTMark},ip "
                  "actions="TO_GATEWAY",{ToGatewayRegMark},"
                  "goto_table:L3DecTTL", ETH_ADDR_ARGS(mac));
    adp_v115_flow(g, POD(L3Forwarding), 200,
                  "ip,{NotRewriteMACRegMark},nw_dst="IP_FMT"/%"PRIu8" "
                  "actions=goto_table:L2ForwardingCalc",
                  IP_ARGS(node->pod_cidr.ip), node->pod_cidr.plen);
    adp_v115_flow(g, EGRESS(L3Forwarding), 190,
                  "ct_state=-rpl+trk,ip,{FromTunnelRegMark} "
                  "actions="TO_GATEWAY",goto_table:EgressMark",
                  ETH_ADDR_ARGS(mac));
    adp_v115_flow(g, SERVICE(L3Forwarding), 190,
                  "{ServiceCTMark},{FromGatewayRegMark+RewriteMACRegMark} "
                  "actions="TO_GATEWAY",{ToGatewayRegMark},"
                  "goto_table:L3DecTTL", ETH_ADDR_ARGS(mac));
    adp_v115_flow(g, SERVICE(SNAT), 200,
                  "ct_state=+new+trk,{HairpinCTMark},ip,{FromPodRegMark} "
                  "actions=ct(commit,table=L2ForwardingCalc,"
                  "zone={SNATCtZone},nat(src="IP_FMT"),"
                  "exec({ServiceCTMark},{HairpinCTMark}))", IP_ARGS(ip));
    adp_v115_flow(g, SERVICE(SNAT), 190,
                  "ct_state=+new+trk,{ConnSNATCTMark},ip,"
                  "{FromGatewayRegMark} "
                  "actions=ct(commit,table=L2ForwardingCalc,"
                  "zone={SNATCtZone},nat(src="IP_FMT"),"
                  "exec({ServiceCTMark}))", IP_ARGS(ip));
#undef TO_GATEWAY
}

/* Traffic to 'cidr' leaves through the gateway without an Egress. */
static void
generate_egress_bypass(struct adp_v115 *g, ovs_be32 ip, uint8_t plen)
{
    adp_v115_flow(g, EGRESS(EgressMark), 210,
                  "ip,nw_dst="IP_FMT"/%"PRIu8" "
                  "actions={ToGatewayRegMark},goto_table:L2ForwardingCalc",
                  IP_ARGS(ip), plen);
}

static void
generate_node_port_addresses(struct adp_v115 *g,
                             const struct adp_node_config *node)
{
    for (size_t i = 0; i < node->node_port_addresses.n; i++) {
        adp_v115_flow(g, SERVICE(NodePortMark), 200,
                      "ip,nw_dst="IP_FMT" actions={ToNodePortAddressRegMark}",
                      IP_ARGS(node->node_port_addresses.ips[i]));
    }
    adp_v115_flow(g, SERVICE(NodePortMark), 200,
                  "ip,nw_dst={VirtualNodePortDNATIP} "
                  "actions={ToNodePortAddressRegMark}");
}

static void
generate_node(struct adp_v115 *g)
{
    const struct adp_node_config *node = g->node;

    generate_gateway_port(g, node);
    generate_tunnel_port(g, node);
    generate_gateway_routes(g, node);
    generate_egress_bypass(g, node->transport_ip, 32);
    if (node->has_service_cidr) {
        generate_egress_bypass(g, node->service_cidr.ip,
                               node->service_cidr.plen);
    }
    if (node->proxy_all) {
        generate_node_port_addresses(g, node);
    }
}

static void
generate_peer_node(struct adp_v115 *g, const struct adp_peer_node *peer)
{
    generate_egress_bypass(g, peer->transport_ip, 32);
    if (!g->node->tunnel_port) {
        return;                 /* The host routes to it. */
    }

    adp_v115_flow(g, POD(ARPResponder), 200,
                  "arp,arp_tpa="IP_FMT",arp_op=1 "
                  "actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"
                  "set_field:{GlobalVirtualMAC}->eth_src,"
                  "set_field:2->arp_op,"
                  "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],"
                  "set_field:{GlobalVirtualMAC}->arp_sha,"
                  "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],"
                  "set_field:"IP_FMT"->arp_spa,IN_PORT",
                  IP_ARGS(peer->gateway_ip), IP_ARGS(peer->gateway_ip));
    adp_v115_flow(g, POD(L3Forwarding), 200,
                  "ip,nw_dst="IP_FMT"/%"PRIu8" "
                  "actions=set_field:"ETH_ADDR_FMT"->eth_src,"
                  "set_field:{GlobalVirtualMAC}->eth_dst,"
                  "set_field:"IP_FMT"->tun_dst,{ToTunnelRegMark},"
                  "goto_table:L3DecTTL",
                  IP_ARGS(peer->pod_cidr.ip), peer->pod_cidr.plen,
                  ETH_ADDR_ARGS(g->node->gateway_mac),
                  IP_ARGS(peer->transport_ip));
}

static void
generate_pod_port(struct adp_v115 *g, const struct adp_pod *pod)
{
    ofp_port_t port;

    if (!adp_v115_port(g, pod->port, &port)) {
        return;
    }

    char *mac = xasprintf(ETH_ADDR_FMT, ETH_ADDR_ARGS(pod->mac));
    for (size_t i = 0; i < pod->ips.n; i++) {
        adp_v115_flow(g, POD(ARPSpoofGuard), 200,
                      "arp,in_port=%"PRIu32",arp_spa="IP_FMT",arp_sha=%s "
                      "actions=goto_table:ARPResponder",
                      port, IP_ARGS(pod->ips.ips[i]), mac);
        adp_v115_flow(g, POD(SpoofGuard), 200,
                      "ip,in_port=%"PRIu32",dl_src=%s,nw_src="IP_FMT" "
                      "actions=goto_table:UnSNAT",
                      port, mac, IP_ARGS(pod->ips.ips[i]));
    }
    adp_v115_flow(g, POD(Classifier), 190,
                  "in_port=%"PRIu32" "
                  "actions={FromPodRegMark},{FromLocalRegMark},"
                  "goto_table:SpoofGuard", port);
    generate_l2_forwarding(g, mac, port);
    free(mac);
}

static void
generate_pod(struct adp_v115 *g, const struct adp_pod *pod)
{
    generate_pod_port(g, pod);
    for (size_t i = 0; i < pod->ips.n; i++) {
        adp_v115_flow(g, POD(L3Forwarding), 200,
                      "ip,{RewriteMACRegMark},nw_dst="IP_FMT" "
                      "actions=set_field:"ETH_ADDR_FMT"->eth_src,"
                      "set_field:"ETH_ADDR_FMT"->eth_dst,"
                      "goto_table:L3DecTTL",
                      IP_ARGS(pod->ips.ips[i]),
                      ETH_ADDR_ARGS(g->node->gateway_mac),
                      ETH_ADDR_ARGS(pod->mac));
    }
}

static void
generate_peers_and_pods(struct adp_v115 *g)
{
    const struct adp_record **records;
    size_t n;

    records = adp_model_sorted(g->model, ADP_KIND_PEER_NODE, &n);
    for (size_t i = 0; i < n; i++) {
        generate_peer_node(g, CONTAINER_OF(records[i], struct adp_peer_node,
                                           up));
    }
    free(records);

    records = adp_model_sorted(g->model, ADP_KIND_POD, &n);
    for (size_t i = 0; i < n; i++) {
        generate_pod(g, CONTAINER_OF(records[i], struct adp_pod, up));
    }
    free(records);
}

static struct adp_error *
generate(const struct adp_model *model, struct adp_pipeline_state *state,
         const struct adp_model_env *env, struct adp_flow_set *set)
{
    struct adp_v115 g = {
        .model = model,
        .env = env,
        .node = adp_model_node_config(model),
        .state = state,
        .set = set,
    };

    adp_pipeline_state_begin(state);
    generate_static(&g);
    if (g.node) {
        generate_node(&g);
        generate_peers_and_pods(&g);
        adp_v115_generate_services(&g);
        adp_v115_generate_policies(&g);
    }
    adp_pipeline_state_end(state);
    return g.error;
}

const struct adp_pipeline adp_pipeline_v115 = {
    .name = "v1.15",
    .tables = adp_v115_tables,
    .n_tables = ADP_V115_N_TABLES,
    .meters = meters,
    .n_meters = ARRAY_SIZE(meters),
    .generate = generate,
    .metric_tables = adp_v115_metric_tables,
    .n_metric_tables = ADP_V115_N_METRIC_TABLES,
    .flow_metric = adp_v115_flow_metric,
};

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "flow.h"
#include "packets.h"
#include "pipeline-applied.h"
#include "pipeline-guide.h"
#include "util.h"

static const struct adp_pipeline_table tables[] = {
#define ADP_TABLE(NAME, MISS) { #NAME, ADP_V115_##NAME, MISS },
#include "pipeline-v115.def"
};

static const struct adp_text_bits bits[] = {
#define ADP_FIELD ADP_TEXT_FIELD
#define ADP_MARK ADP_TEXT_MARK
#include "pipeline-v115.def"
};

static const struct adp_text_const consts[] = {
#define ADP_CONST(NAME, TEXT) { #NAME, TEXT },
#include "pipeline-v115.def"
};

static const struct adp_text_const words[] = {
#define ADP_WORD(NAME, TEXT, TEXT6) { #NAME, TEXT },
#include "pipeline-v115.def"
};

static const struct adp_text_const words6[] = {
#define ADP_WORD(NAME, TEXT, TEXT6) { #NAME, TEXT6 },
#define ADP_DUAL(NAME, TEXT, NAME6, TEXT6) { #NAME, TEXT6 },
#include "pipeline-v115.def"
};

#define VOCABULARY(WORDS)               \
    {                                   \
        .bits = bits,                   \
        .n_bits = ARRAY_SIZE(bits),     \
        .consts = consts,               \
        .n_consts = ARRAY_SIZE(consts), \
        .words = WORDS,                 \
        .n_words = ARRAY_SIZE(WORDS),   \
    }
static const struct adp_vocabulary vocabulary = VOCABULARY(words);
static const struct adp_vocabulary vocabulary6 = VOCABULARY(words6);
#undef VOCABULARY

static const struct adp_pipeline_option options[] = {
#define ADP_OPTION(SYMBOL, NAME, TEXT) { NAME, TEXT, NULL },
#include "pipeline-v115.def"
};

static const char *const meters[] = {
    /* Protects whoever gets the packet-ins. */
    "meter=256,pktps,burst,bands=type=drop,rate=100,burst_size=200",
    "meter=258,pktps,burst,bands=type=drop,rate=100,burst_size=200",
};

static const struct adp_pipeline_packet_in packet_ins[] = {
    { .userdata = { 1, 1 }, .userdata_len = 2, .log = true },
    { .userdata = { 1, 2 }, .userdata_len = 2, .reject = true },
    { .userdata = { 1, 3 }, .userdata_len = 2, .reject = true, .log = true },
    { .userdata = { 4 }, .userdata_len = 1, .unreachable = true },
};

/* PacketInTableField, APDispositionField, APDenyRegMark, APConjIDField and
 * TF*ConjIDField. */
static const struct adp_pipeline_log log_layout = {
    .table = { 2, 0, 7 },
    .disposition = { 0, 11, 12 },
    .denied = { 0, 10, 10 },
    .denied_rule = 3,
    .rule = { 5, 6 },
    .first_ingress_table = ADP_V115_AntreaPolicyIngressRule,
};

static const struct adp_static_flow static_flows[] = {
#define FLOW(TABLE, PRIORITY, TEMPLATE) \
    { ADP_V115_##TABLE, PRIORITY, TEMPLATE },

    FLOW(PipelineRootClassifier, 200, "arp actions=goto_table:ARPSpoofGuard")
    FLOW(PipelineRootClassifier, 200, "{ip} actions=goto_table:Classifier")

    FLOW(ARPResponder, 190, "arp actions=NORMAL")

    FLOW(UnSNAT, 200, "{ip},{ip_dst}={VirtualServiceIP} "
         "actions=ct(table=ConntrackZone,zone={SNATCtZone},nat)")

    FLOW(ConntrackZone, 200, "{ip} "
         "actions=ct(table=ConntrackState,zone={CtZone},nat)")

    FLOW(ConntrackState, 200, "ct_state=+inv+trk,{ip} actions=drop")
    FLOW(ConntrackState, 190, "ct_state=-new+trk,{NotServiceCTMark},{ip} "
         "actions=goto_table:AntreaPolicyEgressRule")
    FLOW(ConntrackState, 190, "ct_state=-new+trk,{ServiceCTMark},{ip} "
         "actions={RewriteMACRegMark},goto_table:AntreaPolicyEgressRule")
    /* Sent again before there was an answer: conntrack has sent it to the
     * endpoint already.  Policies ask which Service it is for, and by which of
     * its addresses, which the connection's original tuple tells. */
    FLOW(ConntrackState, 190, "ct_state=+new+trk,{ServiceCTMark},{ip} "
         "actions={RewriteMACRegMark},resubmit(,NodePortMark,ct),"
         "resubmit(,SessionAffinity,ct),resubmit(,ServiceLB,ct)")

    FLOW(PreRoutingClassifier, 200, "{ip} "
         "actions=resubmit(,NodePortMark),resubmit(,SessionAffinity),"
         "resubmit(,ServiceLB)")

    /* Above what leads to the group of a Service behind a Service: that may
     * be the one that has no endpoint. */
    FLOW(EndpointDNAT, 240, "{SvcNoEpRegMark} "
         "actions=controller(reason=no_match,id={ControllerID},userdata=04)")
    FLOW(EndpointDNAT, 190, "{EpSelectedRegMark} "
         "actions={EpToSelectRegMark},resubmit(,ServiceLB)")

    FLOW(AntreaPolicyEgressRule, 64990, "ct_state=-new+est,{ip} "
         "actions=goto_table:EgressMetric")
    FLOW(AntreaPolicyEgressRule, 64990, "ct_state=-new+rel,{ip} "
         "actions=goto_table:EgressMetric")

    FLOW(L3Forwarding, 190, "ct_state=-rpl+trk,{ip},{FromPodRegMark},"
         "{NotAntreaFlexibleIPAMRegMark} actions=goto_table:EgressMark")

    FLOW(EgressMark, 190, "ct_state=+new+trk,{ip},{FromTunnelRegMark} "
         "actions=drop")

    FLOW(L3DecTTL, 210,
         "{ip},{FromGatewayRegMark} actions=goto_table:SNATMark")
    FLOW(L3DecTTL, 200, "{ip} actions=dec_ttl,goto_table:SNATMark")

    FLOW(SNATMark, 200,
         "ct_state=+new+trk,{ip},{FromGatewayRegMark+ToGatewayRegMark} "
         "actions=ct(commit,table=SNAT,zone={CtZone},"
         "exec({ConnSNATCTMark},{HairpinCTMark}))")
    FLOW(SNATMark, 200,
         "ct_state=+new+trk,{ip},{FromGatewayRegMark+ToTunnelRegMark},"
         "{ToExternalAddressRegMark+NotDSRServiceRegMark} "
         "actions=ct(commit,table=SNAT,zone={CtZone},"
         "exec({ConnSNATCTMark}))")

    FLOW(SNAT, 200,
         "ct_state=+new+trk,{HairpinCTMark},{ip},{FromGatewayRegMark} "
         "actions=ct(commit,table=L2ForwardingCalc,zone={SNATCtZone},"
         "nat(src={VirtualServiceIP}),exec({ServiceCTMark},{HairpinCTMark}))")
    FLOW(SNAT, 200, "ct_state=-new-rpl+trk,{ConnSNATCTMark},{ip} "
         "actions=ct(table=L2ForwardingCalc,zone={SNATCtZone},nat)")

    FLOW(TrafficControl, 210, "{OutputToOFPortRegMark+FromTCReturnRegMark} "
         "actions=goto_table:Output")

    /* A Pod that meets itself, by NodePort as well. */
    FLOW(IngressSecurityClassifier, 202, "{HairpinCTMark},{FromPodRegMark} "
         "actions=goto_table:ConntrackCommit")
    FLOW(IngressSecurityClassifier, 201, "{ToNodePortAddressRegMark} "
         "actions=goto_table:AntreaPolicyIngressRule")
    FLOW(IngressSecurityClassifier, 200, "{ToTunnelRegMark} "
         "actions=goto_table:IngressMetric")
    FLOW(IngressSecurityClassifier, 200, "{ToUplinkRegMark} "
         "actions=goto_table:IngressMetric")
    FLOW(IngressSecurityClassifier, 200, "{HairpinCTMark} "
         "actions=goto_table:ConntrackCommit")

    FLOW(AntreaPolicyIngressRule, 64990, "ct_state=-new+est,{ip} "
         "actions=goto_table:IngressMetric")
    FLOW(AntreaPolicyIngressRule, 64990, "ct_state=-new+rel,{ip} "
         "actions=goto_table:IngressMetric")

    FLOW(ConntrackCommit, 200,
         "ct_state=+new+trk-snat,{NotServiceCTMark},{ip} "
         "actions=ct(commit,table=Output,zone={CtZone},"
         "exec(move:{PktSourceField[]}->{ConnSourceCTMarkField[]}))")

    FLOW(Output, 211, "{OutputToOFPortRegMark},{TrafficControlMirrorRegMark} "
         "actions=output:{TargetOFPortField[]},"
         "output:{TrafficControlTargetOFPortField[]}")
    FLOW(Output, 211,
         "{OutputToOFPortRegMark},{TrafficControlRedirectRegMark} "
         "actions=output:{TrafficControlTargetOFPortField[]}")
    /* A Pod that meets itself: what goes back is mirrored as well. */
    FLOW(Output, 215, "{HairpinCTMark},{OutputToOFPortRegMark},"
         "{TrafficControlMirrorRegMark} "
         "actions=IN_PORT,output:{TrafficControlTargetOFPortField[]}")
    /* Its requests bear the marks of another zone, and don't go to the engine
     * of L7 rules: no more do its replies. */
    FLOW(Output, 214, "{HairpinCTMark+L7NPRedirectCTMark},"
         "{OutputToOFPortRegMark} actions=IN_PORT")
    /* A rule may deny it all the same: what goes to the controller doesn't go
     * back. */
    FLOW(Output, 210,
         "{HairpinCTMark},{OutputToOFPortRegMark} actions=IN_PORT")
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
    FLOW(Output, 200,
         "{OutputToControllerRegMark+PacketInOperationField=3} "
         "actions=meter:{PacketInMeter},"
         "controller(reason=no_match,id={ControllerID},userdata=01.03)")
#undef FLOW
};

/* Shorthands for the flows below: cookie category and table. */
#define POD(TABLE) ADP_V115_COOKIE_POD, 0, ADP_V115_##TABLE
#define SERVICE(TABLE) ADP_V115_COOKIE_SERVICE, 0, ADP_V115_##TABLE
#define EGRESS(TABLE) ADP_V115_COOKIE_EGRESS, 0, ADP_V115_##TABLE

/* Sends packets for 'mac' out on 'port'. */
static void
generate_l2_forwarding(struct adp_generator *g, const char *mac,
                       ofp_port_t port)
{
    adp_gen_flow(g, POD(L2ForwardingCalc), 200,
                 "dl_dst=%s actions={TargetOFPortField=0x%"PRIx32"},"
                 "{OutputToOFPortRegMark},goto_table:TrafficControl",
                 mac, port);
}

/* Lets 'port' speak of 'ip' as its own, from its own MAC: NORMAL learns that
 * of Ethernet. */
static void
generate_arp_guard(struct adp_generator *g, ofp_port_t port,
                   struct eth_addr mac, const char *ip)
{
    adp_gen_flow(g, POD(ARPSpoofGuard), 200,
                 "arp,in_port=%"PRIu32",dl_src="ETH_ADDR_FMT",arp_spa=%s,"
                 "arp_sha="ETH_ADDR_FMT" actions=goto_table:ARPResponder",
                 port, ETH_ADDR_ARGS(mac), ip, ETH_ADDR_ARGS(mac));
}

/* What the gateway sends with its addresses of 'family' is the Node's. */
static void
generate_gateway_family(struct adp_generator *g, enum adp_family family,
                        ofp_port_t port)
{
    const struct adp_node_config *node = g->node;
    struct adp_ip_text ip = adp_ip_text(&node->net[family].gateway_ip);

    if (family == ADP_IPV4) {
        generate_arp_guard(g, port, node->gateway_mac, ip.s);
    } else {
        adp_v115_generate_gateway_nd(g, port);
    }
    adp_gen_ip_flow(g, family, POD(Classifier), 210,
                    "{ip},in_port=%"PRIu32",{ip_src}=%s "
                    "actions={FromGatewayRegMark},{FromLocalRegMark},"
                    "goto_table:SpoofGuard", port, ip.s);
    adp_gen_ip_flow(g, family, POD(SpoofGuard), 200,
                    "{ip},in_port=%"PRIu32" actions=goto_table:UnSNAT", port);
}

static void
generate_gateway_port(struct adp_generator *g,
                      const struct adp_node_config *node)
{
    ofp_port_t port;

    if (!adp_gen_port(g, node->gateway_port, &port)) {
        return;
    }

    ADP_FOR_EACH_FAMILY (family) {
        if (adp_node_net_is_set(&node->net[family])) {
            generate_gateway_family(g, family, port);
        }
    }
    adp_gen_flow(g, POD(Classifier), 200,
                 "in_port=%"PRIu32" "
                 "actions={FromGatewayRegMark},{FromExternalRegMark},"
                 "goto_table:SpoofGuard", port);

    char *mac = xasprintf(ETH_ADDR_FMT, ETH_ADDR_ARGS(node->gateway_mac));
    generate_l2_forwarding(g, mac, port);
    free(mac);
    /* The mark alone is what the routes say, by the destination IP; by its MAC
     * the packet may still go to a Pod. */
    adp_gen_flow(g, POD(IngressSecurityClassifier), 200,
                 "{ToGatewayRegMark},{TargetOFPortField=0x%"PRIx32"} "
                 "actions=goto_table:IngressMetric", port);
}

static void
generate_tunnel_port(struct adp_generator *g,
                     const struct adp_node_config *node)
{
    ofp_port_t port;

    if (!node->tunnel_port || !adp_gen_port(g, node->tunnel_port, &port)) {
        return;
    }

    adp_gen_flow(g, POD(Classifier), 200,
                 "in_port=%"PRIu32" "
                 "actions={FromTunnelRegMark},{RewriteMACRegMark},"
                 "goto_table:UnSNAT", port);
    generate_l2_forwarding(g, adp_text_const(&vocabulary, "GlobalVirtualMAC"),
                           port);
}

/* The flows that route to the gateway or name its addresses. */
static void
generate_gateway_routes(struct adp_generator *g, enum adp_family family)
{
#define TO_GATEWAY "set_field:"ETH_ADDR_FMT"->eth_dst"
    const struct adp_node_config *node = g->node;
    const struct adp_node_net *net = &node->net[family];
    struct adp_ip_text ip = adp_ip_text(&net->gateway_ip);
    struct eth_addr mac = node->gateway_mac;

    adp_gen_ip_flow(g, family, SERVICE(UnSNAT), 200, "{ip},{ip_dst}=%s "
                    "actions=ct(table=ConntrackZone,zone={SNATCtZone},nat)",
                    ip.s);
    adp_gen_ip_flow(g, family, POD(L3Forwarding), 210,
                    "{ip},{ip_dst}=%s actions="TO_GATEWAY","
                    "{ToGatewayRegMark},goto_table:L3DecTTL",
                    ip.s, ETH_ADDR_ARGS(mac));
    adp_gen_ip_flow(g, family, POD(L3Forwarding), 210,
                    "ct_state=+rpl+trk,{FromGatewayCTMark},{ip} "
                    "actions="TO_GATEWAY",{ToGatewayRegMark},"
                    "goto_table:L3DecTTL", ETH_ADDR_ARGS(mac));
    adp_gen_ip_flow(g, family, POD(L3Forwarding), 200,
                    "{ip},{NotRewriteMACRegMark},{ip_dst}=%s "
                    "actions=goto_table:L2ForwardingCalc",
                    adp_cidr_text(&net->pod_cidr).s);
    adp_gen_ip_flow(g, family, EGRESS(L3Forwarding), 190,
                    "ct_state=-rpl+trk,{ip},{FromTunnelRegMark} "
                    "actions="TO_GATEWAY",goto_table:EgressMark",
                    ETH_ADDR_ARGS(mac));
    adp_gen_flow(g, SERVICE(L3Forwarding), 190,
                 "{ServiceCTMark},{FromGatewayRegMark+RewriteMACRegMark} "
                 "actions="TO_GATEWAY",{ToGatewayRegMark},"
                 "goto_table:L3DecTTL", ETH_ADDR_ARGS(mac));
    adp_gen_ip_flow(g, family, SERVICE(SNAT), 200,
                    "ct_state=+new+trk,{HairpinCTMark},{ip},{FromPodRegMark} "
                    "actions=ct(commit,table=L2ForwardingCalc,"
                    "zone={SNATCtZone},nat(src=%s),"
                    "exec({ServiceCTMark},{HairpinCTMark}))", ip.s);
    adp_gen_ip_flow(g, family, SERVICE(SNAT), 190,
                    "ct_state=+new+trk,{ConnSNATCTMark},{ip},"
                    "{FromGatewayRegMark} "
                    "actions=ct(commit,table=L2ForwardingCalc,"
                    "zone={SNATCtZone},nat(src=%s),"
                    "exec({ServiceCTMark}))", ip.s);
#undef TO_GATEWAY
}

/* Traffic to 'cidr' leaves through the gateway without an Egress. */
static void
generate_egress_bypass(struct adp_generator *g, const struct adp_cidr *cidr)
{
    enum adp_family family = adp_cidr_family(cidr);

    if (adp_gen_has_family(g, family)) {
        adp_gen_ip_flow(g, family, EGRESS(EgressMark), 210,
                        "{ip},{ip_dst}=%s "
                        "actions={ToGatewayRegMark},"
                        "goto_table:L2ForwardingCalc", adp_cidr_text(cidr).s);
    }
}

/* The same of what goes to a Node, by its addresses: one that carries tunnels,
 * and a list in which that may be, too. */
static void
generate_node_bypass(struct adp_generator *g, const struct in6_addr *ip,
                     const struct adp_ips *ips)
{
    struct adp_cidr cidr = adp_cidr_host(ip);

    generate_egress_bypass(g, &cidr);
    for (size_t i = 0; i < ips->n; i++) {
        if (!ipv6_addr_equals(&ips->ips[i], ip)) {
            cidr = adp_cidr_host(&ips->ips[i]);
            generate_egress_bypass(g, &cidr);
        }
    }
}

static void
generate_node_port_addresses(struct adp_generator *g,
                             const struct adp_node_config *node)
{
    for (size_t i = 0; i < node->node_port_addresses.n; i++) {
        const struct in6_addr *ip = &node->node_port_addresses.ips[i];

        if (adp_gen_has_family(g, adp_ip_family(ip))) {
            adp_gen_ip_flow(g, adp_ip_family(ip), SERVICE(NodePortMark), 200,
                            "{ip},{ip_dst}=%s "
                            "actions={ToNodePortAddressRegMark}",
                            adp_ip_text(ip).s);
        }
    }
    ADP_FOR_EACH_FAMILY (family) {
        if (adp_gen_has_family(g, family)) {
            adp_gen_ip_flow(g, family, SERVICE(NodePortMark), 200,
                            "{ip},{ip_dst}={VirtualNodePortDNATIP} "
                            "actions={ToNodePortAddressRegMark}");
        }
    }
}

/* The node reaches its Pods whatever isolates them: the kubelet probes them.
 *
 * A mark of the kernel's gets lost on the way through the gateway port, which
 * is a tap.  The address stays.  From the gateway port nobody else has it but
 * clients of Services, by SNAT, and those whose packets the host masquerades
 * or forwards with it (docs/security.md says what to do about that); what
 * comes from elsewhere is held to its own address by the spoof guard, or, if
 * it's from the tunnel, by nobody here. */
static void
generate_node_source(struct adp_generator *g, enum adp_family family)
{
    if (adp_gen_option(g, ADP_V115_PROBE_MARK)) {
        adp_gen_ip_flow(g, family, POD(IngressSecurityClassifier), 210,
                        "{HostLocalSourceMark},ct_state=-rpl+trk,{ip} "
                        "actions=goto_table:ConntrackCommit");
    } else {
        adp_gen_ip_flow(g, family, POD(IngressSecurityClassifier), 210,
                        "ct_state=-rpl+trk,{NotServiceCTMark},{ip},"
                        "{FromGatewayRegMark},{ip_src}=%s "
                        "actions=goto_table:ConntrackCommit",
                        adp_ip_text(&g->node->net[family].gateway_ip).s);
    }
}

void
adp_v115_generate_node(struct adp_generator *g)
{
    const struct adp_node_config *node = g->node;

    generate_gateway_port(g, node);
    generate_tunnel_port(g, node);
    generate_node_bypass(g, &node->transport_ip, &node->node_port_addresses);
    ADP_FOR_EACH_FAMILY (family) {
        if (adp_node_net_is_set(&node->net[family])) {
            generate_node_source(g, family);
            generate_gateway_routes(g, family);
        }
        if (node->has_service_cidr[family]) {
            generate_egress_bypass(g, &node->service_cidr[family]);
        }
    }
    if (adp_gen_has_family(g, ADP_IPV6)) {
        adp_v115_generate_nd(g);
    }
    if (node->proxy_all) {
        generate_node_port_addresses(g, node);
    }
    adp_v115_generate_dsr_node(g);
    adp_v115_generate_multicast(g);
}

/* Sends what goes to Pods of the peer into the tunnel, and answers for its
 * gateway. */
static void
generate_peer_family(struct adp_generator *g, const struct adp_peer_node *peer,
                     enum adp_family family)
{
    struct adp_ip_text ip = adp_ip_text(&peer->net[family].gateway_ip);

    if (family == ADP_IPV4) {
        adp_gen_flow(g, POD(ARPResponder), 200,
                     "arp,arp_tpa=%s,arp_op=1 "
                     "actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"
                     "set_field:{GlobalVirtualMAC}->eth_src,"
                     "set_field:2->arp_op,"
                     "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],"
                     "set_field:{GlobalVirtualMAC}->arp_sha,"
                     "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],"
                     "set_field:%s->arp_spa,IN_PORT", ip.s, ip.s);
    } else {
        adp_v115_answer_nd(g, POD(NDResponder), OFPP_ANY,
                           &peer->net[family].gateway_ip);
    }
    adp_gen_ip_flow(g, family, POD(L3Forwarding), 200,
                    "{ip},{ip_dst}=%s "
                    "actions=set_field:"ETH_ADDR_FMT"->eth_src,"
                    "set_field:{GlobalVirtualMAC}->eth_dst,"
                    "set_field:%s->%s,{ToTunnelRegMark},goto_table:L3DecTTL",
                    adp_cidr_text(&peer->net[family].pod_cidr).s,
                    ETH_ADDR_ARGS(g->node->gateway_mac),
                    adp_ip_text(&peer->transport_ip).s,
                    adp_v115_tun_dst(&peer->transport_ip));
}

const char *
adp_v115_tun_dst(const struct in6_addr *ip)
{
    return adp_ip_is_v4(ip) ? "tun_dst" : "tun_ipv6_dst";
}

void
adp_v115_generate_peer_node(struct adp_generator *g,
                            const struct adp_record *record)
{
    const struct adp_peer_node *peer = CONTAINER_OF(record,
                                                    struct adp_peer_node, up);

    generate_node_bypass(g, &peer->transport_ip, &peer->node_ips);
    ADP_FOR_EACH_FAMILY (family) {
        if (!adp_node_net_is_set(&peer->net[family])
            || !adp_gen_has_family(g, family)) {
            /* Nothing goes there. */
        } else if (g->node->tunnel_port) {
            generate_peer_family(g, peer, family);
        } else {                /* The host routes to its Pods. */
            generate_egress_bypass(g, &peer->net[family].pod_cidr);
        }
    }
    if (g->node->tunnel_port) {
        adp_v115_generate_dsr_peer(g, peer);
    }
}

/* Lets a Pod send from 'ip', and nothing else. */
static void
generate_pod_source(struct adp_generator *g, ofp_port_t port,
                    struct eth_addr mac, const struct in6_addr *ip)
{
    if (adp_ip_is_v4(ip)) {
        generate_arp_guard(g, port, mac, adp_ip_text(ip).s);
    } else {
        adp_v115_generate_pod_nd(g, port, mac, ip);
    }
    adp_gen_ip_flow(g, adp_ip_family(ip), POD(SpoofGuard), 200,
                    "{ip},in_port=%"PRIu32",dl_src="ETH_ADDR_FMT",{ip_src}=%s "
                    "actions=goto_table:UnSNAT",
                    port, ETH_ADDR_ARGS(mac), adp_ip_text(ip).s);
}

static void
generate_pod_port(struct adp_generator *g, const struct adp_pod *pod)
{
    ofp_port_t port;

    if (!adp_gen_port(g, pod->port, &port)) {
        return;
    }

    for (size_t i = 0; i < pod->ips.n; i++) {
        if (adp_gen_has_family(g, adp_ip_family(&pod->ips.ips[i]))) {
            generate_pod_source(g, port, pod->mac, &pod->ips.ips[i]);
        }
    }
    adp_gen_flow(g, POD(Classifier), 190,
                 "in_port=%"PRIu32" "
                 "actions={FromPodRegMark},{FromLocalRegMark},"
                 "goto_table:SpoofGuard", port);

    char *mac = xasprintf(ETH_ADDR_FMT, ETH_ADDR_ARGS(pod->mac));
    generate_l2_forwarding(g, mac, port);
    free(mac);
    adp_v115_generate_multicast_pod(g, port, pod);
}

void
adp_v115_generate_pod(struct adp_generator *g, const struct adp_record *record)
{
    const struct adp_pod *pod = CONTAINER_OF(record, struct adp_pod, up);

    generate_pod_port(g, pod);
    for (size_t i = 0; i < pod->ips.n; i++) {
        const struct in6_addr *ip = &pod->ips.ips[i];

        if (adp_gen_has_family(g, adp_ip_family(ip))) {
            adp_gen_ip_flow(g, adp_ip_family(ip), POD(L3Forwarding), 200,
                            "{ip},{RewriteMACRegMark},{ip_dst}=%s "
                            "actions=set_field:"ETH_ADDR_FMT"->eth_src,"
                            "set_field:"ETH_ADDR_FMT"->eth_dst,"
                            "goto_table:L3DecTTL", adp_ip_text(ip).s,
                            ETH_ADDR_ARGS(g->node->gateway_mac),
                            ETH_ADDR_ARGS(pod->mac));
        }
    }
}

static int
compare_ports(const void *a_, const void *b_)
{
    const ofp_port_t *a = a_, *b = b_;

    return ofp_to_u16(*a) < ofp_to_u16(*b) ? -1 : 1;
}

static void
generate_all_pods(struct adp_generator *g)
{
    size_t n_pods, n = 0;
    const struct adp_record **records = adp_model_sorted(g->model,
                                                         ADP_KIND_POD,
                                                         &n_pods);
    ofp_port_t *ports = xmalloc((n_pods + 1) * sizeof *ports);

    for (size_t i = 0; i < n_pods; i++) {
        n += adp_gen_port(g, CONTAINER_OF(records[i], struct adp_pod,
                                          up)->port, &ports[n]);
    }
    qsort(ports, n, sizeof *ports, compare_ports);
    adp_v115_generate_queries(g, ports, n);
    free(ports);
    free(records);
}

static void
generate(struct adp_generator *g)
{
    if (g->node) {
        adp_v115_generate_node(g);
        adp_v115_generate_l7(g);
        adp_gen_for_each(g, ADP_KIND_PEER_NODE, adp_v115_generate_peer_node);
        adp_gen_for_each(g, ADP_KIND_POD, adp_v115_generate_pod);
        adp_gen_for_each(g, ADP_KIND_MULTICAST_GROUP,
                         adp_v115_generate_multicast_group);
        adp_gen_for_each(g, ADP_KIND_SERVICE, adp_v115_generate_service);
        generate_all_pods(g);
        adp_v115_generate_policies(g);
        adp_applied_generate(g, &adp_v115_parts);
    }
}

static const uint8_t rule_tables[] = {
    ADP_V115_AntreaPolicyEgressRule, ADP_V115_EgressRule,
    ADP_V115_EgressDefaultRule, ADP_V115_AntreaPolicyIngressRule,
    ADP_V115_IngressRule, ADP_V115_IngressDefaultRule,
    ADP_V115_MulticastEgressRule, ADP_V115_MulticastIngressRule,
};

static const uint8_t verdict_tables[] = {
    ADP_V115_EgressMetric, ADP_V115_IngressMetric,
    ADP_V115_MulticastEgressMetric, ADP_V115_MulticastIngressMetric,
};

const struct adp_pipeline adp_pipeline_v115 = {
    .name = "v1.15",
    .tables = tables,
    .n_tables = ARRAY_SIZE(tables),
    .vocabulary = &vocabulary,
    .vocabulary6 = &vocabulary6,
    .static_flows = static_flows,
    .n_static_flows = ARRAY_SIZE(static_flows),
    .meters = meters,
    .n_meters = ARRAY_SIZE(meters),
    .packet_ins = packet_ins,
    .n_packet_ins = ARRAY_SIZE(packet_ins),
    .options_for_packet_ins = UINT64_C(1) << ADP_V115_PACKET_IN,
    .log = &log_layout,
    .names = { .userdata = { 2 }, .userdata_len = 1 },
    .igmp = { .userdata = { 3 }, .userdata_len = 1 },
    .options_for_igmp = UINT64_C(1) << ADP_V115_MULTICAST,
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .kinds = UINT_MAX,
    .policy_types = UINT_MAX,
    .check_policy = adp_v115_check_policy,
    .generate = generate,
    .parts = &adp_v115_parts,
    .rule_tables = rule_tables,
    .n_rule_tables = ARRAY_SIZE(rule_tables),
    .verdict_tables = verdict_tables,
    .n_verdict_tables = ARRAY_SIZE(verdict_tables),
    .metric_tables = adp_v115_metric_tables,
    .n_metric_tables = ADP_V115_N_METRIC_TABLES,
    .pass_tables = adp_v115_pass_tables,
    .n_pass_tables = ADP_V115_N_PASS_TABLES,
    .filled_tables = adp_v115_filled_tables,
    .n_filled_tables = ADP_V115_N_FILLED_TABLES,
    .flow_metric = adp_v115_flow_metric,
    .guide = &adp_v115_guide,
};

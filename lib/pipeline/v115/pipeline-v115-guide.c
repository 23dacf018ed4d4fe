/* SPDX-License-Identifier: Apache-2.0 */

/* Pipeline v1.15 in words. */

#include <config.h>
#include "pipeline-guide.h"
#include "pipeline-v115.h"

#include "util.h"

#define STAGE_ENTRY "Entry"
#define STAGE_ARP "ARP"
#define STAGE_ND "Neighbour discovery"
#define STAGE_CLASSIFICATION "Classification"
#define STAGE_CONNTRACK "Conntrack state"
#define STAGE_PRE_ROUTING "Pre-routing"
#define STAGE_EGRESS "Egress security"
#define STAGE_ROUTING "Routing"
#define STAGE_POST_ROUTING "Post-routing"
#define STAGE_SWITCHING "Switching"
#define STAGE_INGRESS "Ingress security"
#define STAGE_OUTPUT "Output"
#define STAGE_MULTICAST "Multicast"

static const struct adp_guide_table tables[] = {
#define TABLE(NAME, STAGE, ABOUT, DROP) \
    { ADP_V115_##NAME, STAGE_##STAGE, ABOUT, DROP },
    TABLE(PipelineRootClassifier, ENTRY, "tells ARP from IP",
          "it is neither ARP nor IP")
    TABLE(ARPSpoofGuard, ARP,
          "checks that ARP names the addresses of its port",
          "the ARP packet names addresses that aren't those of its port")
    TABLE(ARPResponder, ARP,
          "answers ARP requests for peer gateways itself", NULL)
    TABLE(Classifier, CLASSIFICATION,
          "finds out where the packet comes from",
          "nothing is known of the port that it comes from")
    TABLE(SpoofGuard, CLASSIFICATION,
          "checks that the source addresses are those of the port",
          "the source addresses aren't those of the port that it comes from")
    TABLE(UnSNAT, CONNTRACK,
          "undoes SNAT for replies to the addresses that SNAT uses", NULL)
    TABLE(ConntrackZone, CONNTRACK, "asks conntrack about the packet", NULL)
    TABLE(ConntrackState, CONNTRACK,
          "tells packets of Service connections from others",
          "conntrack finds the packet invalid")
    TABLE(PreRoutingClassifier, PRE_ROUTING,
          "has the next tables look for a Service", NULL)
    TABLE(NodePortMark, PRE_ROUTING,
          "marks packets to addresses that NodePorts are open on", NULL)
    TABLE(SessionAffinity, PRE_ROUTING,
          "looks up the endpoint that session affinity remembers", NULL)
    TABLE(ServiceLB, PRE_ROUTING,
          "finds the Service and selects an endpoint of it", NULL)
    TABLE(EndpointDNAT, PRE_ROUTING,
          "makes the selected endpoint the destination", NULL)
    TABLE(AntreaPolicyEgressRule, EGRESS,
          "applies egress rules of Antrea's policies", NULL)
    TABLE(EgressRule, EGRESS,
          "applies egress rules of Kubernetes NetworkPolicies", NULL)
    TABLE(EgressDefaultRule, EGRESS,
          "drops what isolated Pods send and no rule allows",
          "the Pod is isolated by a Kubernetes NetworkPolicy and no rule "
          "allows this")
    TABLE(EgressMetric, EGRESS, "counts what egress rules decided",
          "an egress rule denies it")
    TABLE(L3Forwarding, ROUTING, "routes the packet", NULL)
    TABLE(EgressMark, ROUTING,
          "picks what leaves the cluster and needs SNAT", NULL)
    TABLE(L3DecTTL, ROUTING, "counts down the TTL of routed packets", NULL)
    TABLE(SNATMark, POST_ROUTING,
          "marks Service connections that need SNAT", NULL)
    TABLE(SNAT, POST_ROUTING, "gives marked connections another source",
          NULL)
    TABLE(L2ForwardingCalc, SWITCHING,
          "finds the output port by destination MAC", NULL)
    TABLE(TrafficControl, SWITCHING, "picks what is mirrored or redirected",
          NULL)
    TABLE(IngressSecurityClassifier, INGRESS,
          "exempts the node, and what isn't for Pods", NULL)
    TABLE(AntreaPolicyIngressRule, INGRESS,
          "applies ingress rules of Antrea's policies", NULL)
    TABLE(IngressRule, INGRESS,
          "applies ingress rules of Kubernetes NetworkPolicies", NULL)
    TABLE(IngressDefaultRule, INGRESS,
          "drops what isolated Pods get and no rule allows",
          "the Pod is isolated by a Kubernetes NetworkPolicy and no rule "
          "allows this")
    TABLE(IngressMetric, INGRESS, "counts what ingress rules decided",
          "an ingress rule denies it")
    TABLE(ConntrackCommit, OUTPUT, "commits new connections to conntrack",
          NULL)
    TABLE(Output, OUTPUT, "sends the packet out",
          "no port was found that leads to its destination")
    TABLE(IPv6, ND,
          "checks that neighbour discovery names the addresses of its port",
          "the packet names addresses that aren't those of its port")
    TABLE(NDResponder, ND,
          "answers neighbour solicitations for peer gateways itself", NULL)
    TABLE(MulticastEgressRule, MULTICAST,
          "applies egress rules about multicast", NULL)
    TABLE(MulticastEgressMetric, MULTICAST,
          "counts what these rules decided",
          "an egress rule denies it")
    TABLE(MulticastEgressPodMetric, MULTICAST,
          "counts what each Pod sends", NULL)
    TABLE(MulticastRouting, MULTICAST,
          "sends each receiver a copy; reads IGMP", NULL)
    TABLE(MulticastIngressRule, MULTICAST,
          "applies ingress rules about IGMP", NULL)
    TABLE(MulticastIngressMetric, MULTICAST,
          "counts what these rules decided",
          "an ingress rule denies it")
    TABLE(MulticastIngressPodMetric, MULTICAST,
          "counts what each Pod gets", NULL)
    TABLE(MulticastOutput, MULTICAST, "sends the copy out",
          "it came by the tunnel and the gateway's copy is the sender's "
          "Node's, or the other way round")
#undef TABLE
};

static const struct adp_guide_words words[] = {
#define MARK(NAME, ABOUT) { #NAME, ABOUT, ADP_GUIDE_NUMBER, NULL },
#define CONST(NAME, ABOUT) { #NAME, ABOUT, ADP_GUIDE_NUMBER, NULL },
#define FIELD(NAME, KIND, STAGE, ABOUT) \
    { #NAME, ABOUT, ADP_GUIDE_##KIND, STAGE },
    FIELD(PktSourceField, NUMBER, NULL, "where the packet comes from")
    FIELD(PktDestinationField, NUMBER, NULL, "where the packet goes")
    FIELD(APDispositionField, NUMBER, NULL, "what an Antrea policy decided")
    FIELD(OutputRegField, NUMBER, NULL, "how the packet leaves")
    FIELD(PacketInOperationField, NUMBER, NULL, "what the agent shall do")
    FIELD(TargetOFPortField, OFPORT, NULL, "the output port")
    FIELD(PacketInTableField, NUMBER, STAGE_EGRESS, "the deciding table")
    FIELD(EndpointIPField, IPV4, STAGE_PRE_ROUTING, "the endpoint's address")
    FIELD(EndpointIP6Field, IPV6, NULL, "the endpoint's address")
    FIELD(APConjIDField, RULE, NULL, "the rule of an Antrea policy")
    FIELD(EndpointPortField, NUMBER, NULL, "the endpoint's port")
    FIELD(TFEgressConjIDField, RULE, NULL, "the egress rule")
    FIELD(TFIngressConjIDField, RULE, NULL, "the ingress rule")
    FIELD(ServiceGroupIDField, GROUP, NULL, "the Service's group")
    FIELD(VLANIDField, NUMBER, NULL, "the VLAN")
    FIELD(EgressIPField, EGRESS_MARK, NULL, "which of the Node's egress IPs")
    FIELD(TrafficControlTargetOFPortField, OFPORT, NULL,
          "the port to mirror or redirect to")
    FIELD(SNATIPMarkField, EGRESS_MARK, NULL, "which of the Node's egress IPs")
    FIELD(ConnSourceCTMarkField, NUMBER, NULL,
          "where the connection comes from")
    FIELD(IngressRuleCTLabel, RULE, NULL, "the ingress rule")
    FIELD(EgressRuleCTLabel, RULE, NULL, "the egress rule")
    FIELD(L7NPRuleVlanIDCTLabel, L7_RULE, NULL, "the VLAN of an L7 rule")

    CONST(CtZone, "conntrack's zone of all connections")
    CONST(SNATCtZone, "conntrack's zone of connections that got SNAT")
    CONST(CtZoneV6, "the zone of all connections over IPv6")
    CONST(SNATCtZoneV6, "the zone of those over IPv6 that got SNAT")
    CONST(VirtualServiceIPv6, "the same source over IPv6")
    CONST(VirtualNodePortDNATIPv6, "the same address over IPv6")
    CONST(VirtualServiceIP,
          "the source of what Services send back to where it came from")
    CONST(VirtualNodePortDNATIP,
          "the NodePorts' address on the way to the host")
    CONST(GlobalVirtualMAC, "the destination MAC of everything in tunnels")
    CONST(ControllerID, "the agent's connection, for packet-ins")
    CONST(PacketInMeter, "the meter of policies' packet-ins")
    CONST(DNSPacketInMeter, "the meter of packet-ins with DNS answers")

    MARK(FromTunnelRegMark, "the packet comes from the tunnel")
    MARK(FromGatewayRegMark, "the packet comes from the gateway")
    MARK(FromPodRegMark, "the packet comes from a local Pod")
    MARK(FromUplinkRegMark, "the packet comes from the uplink")
    MARK(FromBridgeRegMark, "the packet comes from the bridge's own port")
    MARK(FromTCReturnRegMark, "the packet comes back from traffic control")
    MARK(ToTunnelRegMark, "the packet goes into the tunnel")
    MARK(ToGatewayRegMark, "the packet goes to the gateway")
    MARK(ToLocalRegMark, "the packet goes to a local Pod")
    MARK(ToUplinkRegMark, "the packet goes to the uplink")
    MARK(ToBridgeRegMark, "the packet goes to the bridge's own port")
    MARK(NotRewriteMACRegMark, "its MAC addresses stay")
    MARK(RewriteMACRegMark, "its MAC addresses must be rewritten")
    MARK(APDenyRegMark, "a policy denies the packet")
    MARK(DispositionAllowRegMark, "the rule allows")
    MARK(DispositionDropRegMark, "the rule drops")
    MARK(DispositionRejectRegMark, "the rule rejects")
    MARK(DispositionPassRegMark, "the rule passes on to later ones")
    MARK(GeneratedRejectPacketOutRegMark,
         "the packet is a reject that was made here")
    MARK(SvcNoEpRegMark, "the Service has no endpoint")
    MARK(RemoteSNATRegMark, "another Node does SNAT")
    MARK(L7NPRedirectRegMark, "an L7 rule redirects the packet")
    MARK(OutputToOFPortRegMark, "an output port is known")
    MARK(OutputToControllerRegMark, "the packet goes to the agent")
    MARK(EpToSelectRegMark, "an endpoint is to be selected")
    MARK(EpSelectedRegMark, "the endpoint is selected")
    MARK(EpToLearnRegMark, "the endpoint is selected and to be remembered")
    MARK(ToNodePortAddressRegMark, "the packet goes to a NodePort address")
    MARK(AntreaFlexibleIPAMRegMark, "the Pod's address is of Antrea's IPAM")
    MARK(NotAntreaFlexibleIPAMRegMark,
         "the Pod's address isn't of Antrea's IPAM")
    MARK(ToExternalAddressRegMark,
         "the packet goes to an external address of the Service")
    MARK(TrafficControlMirrorRegMark, "the packet is mirrored")
    MARK(TrafficControlRedirectRegMark, "the packet is redirected")
    MARK(NestedServiceRegMark, "the endpoints are Services themselves")
    MARK(DSRServiceRegMark, "the endpoint answers directly")
    MARK(NotDSRServiceRegMark, "the endpoint answers through this Node")
    MARK(RemoteEndpointRegMark, "the endpoint is on another Node")
    MARK(FromExternalRegMark, "the packet comes from outside the Node")
    MARK(FromLocalRegMark, "the packet comes from a local Pod or the Node")
    MARK(IPCtZoneTypeRegMark, "conntrack's zone is one for IPv4")
    MARK(IPv6CtZoneTypeRegMark, "conntrack's zone is one for IPv6")
    MARK(HostLocalSourceMark, "the packet is a probe of the host's own")
    MARK(FromGatewayCTMark, "the connection comes from the gateway")
    MARK(FromBridgeCTMark, "the connection comes from the bridge's own port")
    MARK(ServiceCTMark, "the connection is one to a Service")
    MARK(NotServiceCTMark, "the connection isn't one to a Service")
    MARK(ConnSNATCTMark, "the connection needs SNAT")
    MARK(HairpinCTMark, "the connection goes back to where it comes from")
    MARK(L7NPRedirectCTMark, "an L7 rule redirects the connection")
#undef MARK
#undef FIELD
#undef CONST
};

static const struct adp_guide_cookie cookies[] = {
#define COOKIE(NAME, OBJECT, ABOUT) \
    { ADP_V115_COOKIE_##NAME, #NAME, ABOUT, ADP_GUIDE_##OBJECT },
    COOKIE(DEFAULT, NUMBER, "the Node, its peers, and what is always there")
    COOKIE(POD, APPLIED, "local Pods, and TrafficControls")
    COOKIE(NETWORK_POLICY, RULE, "policies")
    COOKIE(SERVICE, GROUP, "Services")
    COOKIE(EGRESS, APPLIED, "Egresses")
    COOKIE(MULTICAST, OFPORT, "multicast")
#undef COOKIE
};

const struct adp_pipeline_guide adp_v115_guide = {
    .tables = tables,
    .n_tables = ARRAY_SIZE(tables),
    .words = words,
    .n_words = ARRAY_SIZE(words),
    .cookies = cookies,
    .n_cookies = ARRAY_SIZE(cookies),
};

/* SPDX-License-Identifier: Apache-2.0 */

/* Pipeline early in words. */

#include <config.h>
#include "pipeline-early.h"
#include "pipeline-guide.h"

#include "util.h"

#define ISOLATED "the Pod is isolated by a Kubernetes NetworkPolicy and no " \
    "rule allows this"

static const struct adp_guide_table tables[] = {
#define TABLE(NAME, STAGE, ABOUT, DROP) \
    { ADP_EARLY_##NAME##_ID, STAGE, ABOUT, DROP },
    TABLE(Classifier, "Classification",
          "finds out where the packet comes from",
          "nothing is known of the port that it comes from")
    TABLE(SpoofGuard, "Classification",
          "checks that the source addresses are those of the port",
          "the source addresses aren't those of the port that it comes from")
    TABLE(ARPResponder, "ARP",
          "answers ARP requests for peer gateways itself",
          "it is no ARP packet that is known here")
    TABLE(Conntrack, "Conntrack state", "asks conntrack about the packet",
          NULL)
    TABLE(ConntrackState, "Conntrack state",
          "turns away what conntrack finds invalid",
          "conntrack finds the packet invalid")
    TABLE(DNAT, "Services",
          "sends packets to Services to the gateway, for kube-proxy", NULL)
    TABLE(EgressRule, "Egress security",
          "applies egress rules of NetworkPolicies", NULL)
    TABLE(EgressDefault, "Egress security",
          "drops what isolated Pods send and no rule allows", ISOLATED)
    TABLE(L3Forwarding, "Forwarding", "routes the packet", NULL)
    TABLE(L2ForwardingCalc, "Forwarding",
          "finds the output port by destination MAC", NULL)
    TABLE(IngressRule, "Ingress security",
          "applies ingress rules of NetworkPolicies", NULL)
    TABLE(IngressDefault, "Ingress security",
          "drops what isolated Pods get and no rule allows", ISOLATED)
    TABLE(ConntrackCommit, "Output", "commits new connections to conntrack",
          NULL)
    TABLE(L2ForwardingOut, "Output", "sends the packet out",
          "no port was found that leads to its destination")
#undef TABLE
};

static const struct adp_guide_words words[] = {
    { "CtZone", "conntrack's zone of all connections", ADP_GUIDE_NUMBER,
      NULL },
    { "GlobalVirtualMAC", "the destination MAC of everything in tunnels",
      ADP_GUIDE_NUMBER, NULL },
    { "FromTunnel", "the packet comes from the tunnel",
      ADP_GUIDE_NUMBER, NULL },
    { "FromGateway", "the packet comes from the gateway",
      ADP_GUIDE_NUMBER, NULL },
    { "FromPod", "the packet comes from a local Pod",
      ADP_GUIDE_NUMBER, NULL },
    { "PortFound", "the output port is known", ADP_GUIDE_NUMBER, NULL },
    { "MACRewrite", "its MAC addresses must be rewritten",
      ADP_GUIDE_NUMBER, NULL },
    { "Port", "the output port", ADP_GUIDE_OFPORT, NULL },
    { "EgressRuleID", "the egress rule", ADP_GUIDE_RULE, NULL },
    { "IngressRuleID", "the ingress rule", ADP_GUIDE_RULE, NULL },
    { "Traceflow", "the tag of a traced packet", ADP_GUIDE_NUMBER, NULL },
    { "GatewayCTMark", "the connection comes from the gateway",
      ADP_GUIDE_NUMBER, NULL },
};

static const struct adp_guide_cookie cookies[] = {
#define COOKIE(NAME, ABOUT) \
    { ADP_EARLY_COOKIE_##NAME, #NAME, ABOUT, ADP_GUIDE_NUMBER },
    COOKIE(DEFAULT, "the gateway, and what is always there")
    COOKIE(NODE, "peer Nodes")
    COOKIE(POD, "local Pods")
    COOKIE(SERVICE, "Services")
    COOKIE(POLICY, "policies")
#undef COOKIE
};

const struct adp_pipeline_guide adp_early_guide = {
    .tables = tables,
    .n_tables = ARRAY_SIZE(tables),
    .words = words,
    .n_words = ARRAY_SIZE(words),
    .cookies = cookies,
    .n_cookies = ARRAY_SIZE(cookies),
};

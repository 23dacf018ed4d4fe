/* SPDX-License-Identifier: Apache-2.0 */

/* Egresses and TrafficControls. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>
#include <stdlib.h>

#include "packets.h"
#include "pipeline-applied.h"
#include "util.h"

#define POD(ID, TABLE) ADP_V115_COOKIE_POD, ID, ADP_V115_##TABLE
#define EGRESS(ID, TABLE) ADP_V115_COOKIE_EGRESS, ID, ADP_V115_##TABLE

/* TrafficControl. */

/* The Pods at both ends may have one.  What one of them wants to look at isn't
 * let past for a copy. */
enum { MIRROR_PRIORITY = 200, REDIRECT_PRIORITY = 205 };

/* What comes back has been classified, tracked and allowed before it left: it
 * is only to be routed again. */
static void
generate_traffic_control(struct adp_generator *g,
                         const struct adp_traffic_control *tc)
{
    ofp_port_t port;

    if (tc->return_port && adp_gen_port(g, tc->return_port, &port)) {
        adp_gen_flow(g, POD(0, Classifier), 200,
                     "in_port=%"PRIu32" actions={FromTCReturnRegMark},"
                     "goto_table:L3Forwarding", port);
    }
}

static void
generate_pod_traffic_control(struct adp_generator *g,
                             const struct adp_applied *a,
                             const struct adp_pod *pod)
{
    const struct adp_traffic_control *tc
        = CONTAINER_OF(a->record, struct adp_traffic_control, up);
    static const char *const matches[2] = {
        [false] = "in_port=", [true] = "{TargetOFPortField="
    };
    static const char *const ends[2] = { [false] = "", [true] = "}" };
    ofp_port_t port, target;

    if (!adp_gen_port(g, pod->port, &port)
        || !adp_gen_port(g, tc->target_port, &target)) {
        return;
    }
    for (int ingress = 0; ingress < 2; ingress++) {
        if (tc->directions[ingress]) {
            adp_gen_flow(g, POD(a->id, TrafficControl),
                         tc->redirect ? REDIRECT_PRIORITY : MIRROR_PRIORITY,
                         "%s%"PRIu32"%s "
                         "actions={TrafficControlTargetOFPortField"
                         "=0x%"PRIx32"},{%s},"
                         "goto_table:IngressSecurityClassifier",
                         matches[ingress], port, ends[ingress], target,
                         tc->redirect ? "TrafficControlRedirectRegMark"
                         : "TrafficControlMirrorRegMark");
        }
    }
}

/* Egress. */

/* Of the flows of EgressMark for what L7 rules redirect: above those of
 * Egresses, below those for what needs none. */
#define L7_PRIORITY 205

/* What has to do with an Egress is of the family of its address. */
static enum adp_family
egress_family(const struct adp_applied *a)
{
    return adp_ip_family(&CONTAINER_OF(a->record, struct adp_egress, up)->ip);
}

static char *
meter_text(const struct adp_applied *a)
{
    return a->limited ? xasprintf("meter:%"PRIu32",", a->mark) : xstrdup("");
}

/* Leaves with 'ip' from the datapath.  Packets that are to do so do it or end:
 * an address and a port may be lacking, and a connection may have got its
 * address before the Egress got another. */
static void
generate_egress_source(struct adp_generator *g, const struct adp_applied *a,
                       const char *ip, const char *meter)
{
    ofp_port_t port;

    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, SNATMark), 200,
                    "ct_state=+new+trk,{ip},{EgressIPField=0x%"PRIx32"} "
                    "actions=ct(commit,table=SNAT,zone={CtZone},"
                    "exec({ConnSNATCTMark}))", a->mark);
    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, SNAT), 200,
                    "ct_state=+new+trk,{ip},{EgressIPField=0x%"PRIx32"} "
                    "actions=ct(commit,table=L2ForwardingCalc,"
                    "zone={SNATCtZone},nat(src=%s))", a->mark, ip);
    if (adp_gen_port(g, g->node->gateway_port, &port)) {
        adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, L2ForwardingCalc),
                        220,
                        "{ip},{EgressIPField=0x%"PRIx32"},{ip_src}=%s "
                        "actions=%s{TargetOFPortField=0x%"PRIx32"},"
                        "{OutputToOFPortRegMark},goto_table:TrafficControl",
                        a->mark, ip, meter, port);
    }
    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, L2ForwardingCalc), 210,
                    "{ip},{EgressIPField=0x%"PRIx32"} actions=drop", a->mark);
}

/* What is to leave from here, of 'whom', with an address from the datapath.
 * Connections that are older than the Egress go on as they did. */
static void
generate_translated_egress(struct adp_generator *g,
                           const struct adp_applied *a, const char *whom)
{
    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, EgressMark), 200,
                    "ct_state=+new+trk,{ip},%s "
                    "actions={EgressIPField=0x%"PRIx32"},{ToGatewayRegMark},"
                    "goto_table:SNATMark", whom, a->mark);
    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, EgressMark), 200,
                    "ct_state=-new+trk,{ConnSNATCTMark},{ip},%s "
                    "actions={EgressIPField=0x%"PRIx32"},{ToGatewayRegMark},"
                    "goto_table:SNAT", whom, a->mark);
}

/* The same, with one from the host, which has the mark. */
static void
generate_marked_egress(struct adp_generator *g, const struct adp_applied *a,
                       const char *whom, const char *meter)
{
    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, EgressMark), 200,
                    "ct_state=+new+trk,{ip},%s "
                    "actions=%s{SNATIPMarkField=0x%"PRIx32"},"
                    "{ToGatewayRegMark},goto_table:L2ForwardingCalc",
                    whom, meter, a->mark);
}

/* What a Pod has sent comes back from the engine of L7 rules, or from the
 * target of a TrafficControl, and is to leave with an egress IP: the virtual
 * MAC tells it from answers, and from what is older than the Egress. */
static void
generate_returned(struct adp_generator *g, const struct adp_applied *a,
                  const struct adp_pod *pod, const char *actions)
{
    for (size_t i = 0; i < pod->ips.n; i++) {
        if (adp_ip_family(&pod->ips.ips[i]) == egress_family(a)) {
            adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, L3Forwarding),
                            190,
                            "{ip},{FromTCReturnRegMark},"
                            "dl_dst={GlobalVirtualMAC},{ip_src}=%s "
                            "actions=%s",
                            adp_ip_text(&pod->ips.ips[i]).s, actions);
        }
    }
}

/* What L7 rules allow gets its address from the datapath only when the engine
 * has looked at it: in the other zone nothing is left of what the rule's
 * commit said of the connection. */
static void
generate_l7_egress(struct adp_generator *g, const struct adp_applied *a,
                   const struct adp_pod *pod, const char *whom)
{
    ofp_port_t port;

    if (!adp_gen_port(g, g->node->gateway_port, &port)) {
        return;
    }

    char *out = xasprintf("set_field:{GlobalVirtualMAC}->eth_dst,"
                          "{ToGatewayRegMark},"
                          "{TargetOFPortField=0x%"PRIx32"},"
                          "{OutputToOFPortRegMark}", port);
    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, EgressMark),
                    L7_PRIORITY,
                    "ct_state=+new+trk,{L7NPRedirectCTMark},{ip},%s "
                    "actions=%s,ct(commit,table=TrafficControl,zone={CtZone},"
                    "exec({ConnSNATCTMark}))", whom, out);
    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, EgressMark),
                    L7_PRIORITY,
                    "ct_state=-new+trk,{ConnSNATCTMark+L7NPRedirectCTMark},"
                    "{ip},%s actions=%s,goto_table:TrafficControl",
                    whom, out);
    free(out);

    char *snat = xasprintf("set_field:"ETH_ADDR_FMT"->eth_dst,"
                           "{EgressIPField=0x%"PRIx32"},{ToGatewayRegMark},"
                           "ct(table=SNAT,zone={SNATCtZone},nat)",
                           ETH_ADDR_ARGS(g->node->gateway_mac), a->mark);
    generate_returned(g, a, pod, snat);
    free(snat);
}

/* What is to leave from here.  With a meter all packets of a connection meet
 * it, not the first one alone, but behind their ct()s. */
static void
generate_local_egress(struct adp_generator *g, const struct adp_applied *a,
                      const char *whom, const char *meter)
{
    if (adp_gen_option(g, ADP_V115_EGRESS_SNAT)) {
        generate_translated_egress(g, a, whom);
    } else {
        generate_marked_egress(g, a, whom, meter);
    }
    if (meter[0]) {
        adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, EgressMark), 195,
                        "ct_state=-new+trk,{ip},%s "
                        "actions=%s{ToGatewayRegMark},"
                        "goto_table:L2ForwardingCalc", whom, meter);
    }
}

/* What comes back to 'ip', which the host sends to the gateway port: it gets
 * the address that the Pod has.  What isn't an answer to anything ends there,
 * before it becomes a connection. */
static void
generate_egress_answers(struct adp_generator *g, const struct adp_applied *a,
                        const char *ip)
{
    ofp_port_t port;

    if (!adp_gen_port(g, g->node->gateway_port, &port)) {
        /* Nobody asks. */
    } else if (egress_family(a) == ADP_IPV4) {
        adp_gen_flow(g, EGRESS(a->id, ARPResponder), 200,
                     "arp,in_port=%"PRIu32",arp_tpa=%s,arp_op=1 "
                     "actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"
                     "set_field:{GlobalVirtualMAC}->eth_src,"
                     "set_field:2->arp_op,"
                     "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],"
                     "set_field:{GlobalVirtualMAC}->arp_sha,"
                     "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],"
                     "set_field:%s->arp_spa,IN_PORT", port, ip, ip);
    } else {
        adp_v115_answer_nd(g, EGRESS(a->id, NDResponder), port,
                           &CONTAINER_OF(a->record, struct adp_egress,
                                         up)->ip);
    }
    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, UnSNAT), 200,
                    "{ip},{FromGatewayRegMark},{ip_dst}=%s "
                    "actions={RewriteMACRegMark},"
                    "ct(table=ConntrackZone,zone={SNATCtZone},nat)", ip);
    adp_gen_ip_flow(g, egress_family(a), EGRESS(a->id, ConntrackZone), 210,
                    "{ip},{FromGatewayRegMark},{ip_dst}=%s actions=drop", ip);
}

/* Other Nodes send what is to leave with an address of this one to it. */
static void
generate_egress(struct adp_generator *g, const struct adp_applied *a,
                const struct adp_egress *egress)
{
    if (a->mark && adp_gen_has_family(g, adp_ip_family(&egress->ip))) {
        const struct adp_ip_text ip = adp_ip_text(&egress->ip);
        char *whom = xasprintf("%s=%s", adp_v115_tun_dst(&egress->ip), ip.s);
        char *meter = meter_text(a);

        generate_local_egress(g, a, whom, meter);
        if (adp_gen_option(g, ADP_V115_EGRESS_SNAT)) {
            generate_egress_source(g, a, ip.s, meter);
            generate_egress_answers(g, a, ip.s);
        }
        free(meter);
        free(whom);
    }
}

/* Without a tunnel port what is to leave from another Node goes nowhere. */
static void
generate_pod_egress(struct adp_generator *g, const struct adp_applied *a,
                    const struct adp_pod *pod)
{
    const struct adp_egress *egress = CONTAINER_OF(a->record,
                                                   struct adp_egress, up);
    ofp_port_t port;

    enum adp_family family = adp_ip_family(&egress->ip);

    if (!adp_gen_port(g, pod->port, &port)
        || !adp_gen_has_family(g, family)) {
        return;
    }
    if (a->mark) {
        char *whom = xasprintf("in_port=%"PRIu32, port);
        char *meter = meter_text(a);

        generate_local_egress(g, a, whom, meter);
        if (adp_gen_option(g, ADP_V115_EGRESS_SNAT)) {
            generate_l7_egress(g, a, pod, whom);
        }
        free(meter);
        free(whom);
    } else {
        adp_gen_ip_flow(g, family, EGRESS(a->id, EgressMark), 200,
                        "{ip},in_port=%"PRIu32" "
                        "actions=set_field:"ETH_ADDR_FMT"->eth_src,"
                        "set_field:{GlobalVirtualMAC}->eth_dst,"
                        "set_field:%s->%s,{ToTunnelRegMark},"
                        "{RemoteSNATRegMark},goto_table:L2ForwardingCalc",
                        port, ETH_ADDR_ARGS(g->node->gateway_mac),
                        adp_ip_text(&egress->ip).s,
                        adp_v115_tun_dst(&egress->ip));

        char *tunnel = xasprintf("set_field:%s->%s,{ToTunnelRegMark},"
                                 "goto_table:L2ForwardingCalc",
                                 adp_ip_text(&egress->ip).s,
                                 adp_v115_tun_dst(&egress->ip));
        generate_returned(g, a, pod, tunnel);
        free(tunnel);
    }
}

/* Both. */

void
adp_v115_generate_applied(struct adp_generator *g,
                          const struct adp_applied *a)
{
    if (a->record->kind == ADP_KIND_EGRESS) {
        generate_egress(g, a, CONTAINER_OF(a->record, struct adp_egress, up));
    } else {
        generate_traffic_control(g, CONTAINER_OF(a->record,
                                                 struct adp_traffic_control,
                                                 up));
    }
}

void
adp_v115_generate_applied_to_pod(struct adp_generator *g,
                                 const struct adp_applied *a,
                                 const struct adp_pod *pod)
{
    if (a->record->kind == ADP_KIND_EGRESS) {
        generate_pod_egress(g, a, pod);
    } else {
        generate_pod_traffic_control(g, a, pod);
    }
}

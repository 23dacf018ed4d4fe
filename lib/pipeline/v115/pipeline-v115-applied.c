/* SPDX-License-Identifier: Apache-2.0 */

/* Egresses and TrafficControls. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>

#include "packets.h"
#include "pipeline-applied.h"
#include "util.h"

#define POD(ID, TABLE) ADP_V115_COOKIE_POD, ID, ADP_V115_##TABLE
#define EGRESS(ID, TABLE) ADP_V115_COOKIE_EGRESS, ID, ADP_V115_##TABLE

/* TrafficControl. */

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
            adp_gen_flow(g, POD(a->id, TrafficControl), 200,
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

#define MARK_EGRESS                                                     \
    "{SNATIPMarkField=0x%"PRIx32"},{ToGatewayRegMark},"                 \
    "goto_table:L2ForwardingCalc"

/* Other Nodes send what is to leave with an address of this one to it. */
static void
generate_egress(struct adp_generator *g, const struct adp_applied *a,
                const struct adp_egress *egress)
{
    if (a->mark) {
        adp_gen_flow(g, EGRESS(a->id, EgressMark), 200,
                     "ct_state=+new+trk,ip,tun_dst=%s "
                     "actions="MARK_EGRESS, adp_ip_text(&egress->ip).s,
                     a->mark);
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

    if (!adp_gen_port(g, pod->port, &port)) {
        return;
    }
    if (a->mark) {
        adp_gen_flow(g, EGRESS(a->id, EgressMark), 200,
                     "ct_state=+new+trk,ip,in_port=%"PRIu32" "
                     "actions="MARK_EGRESS, port, a->mark);
    } else {
        adp_gen_flow(g, EGRESS(a->id, EgressMark), 200,
                     "ip,in_port=%"PRIu32" "
                     "actions=set_field:"ETH_ADDR_FMT"->eth_src,"
                     "set_field:{GlobalVirtualMAC}->eth_dst,"
                     "set_field:%s->tun_dst,{ToTunnelRegMark},"
                     "{RemoteSNATRegMark},goto_table:L2ForwardingCalc",
                     port, ETH_ADDR_ARGS(g->node->gateway_mac),
                     adp_ip_text(&egress->ip).s);
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

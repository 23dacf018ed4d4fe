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

/* What is to leave from here, of 'whom'.  With a meter all packets of a
 * connection meet it, not the first one alone. */
static void
generate_local_egress(struct adp_generator *g, const struct adp_applied *a,
                      const char *whom)
{
    char *meter = a->limited ? xasprintf("meter:%"PRIu32",", a->mark) : NULL;

    adp_gen_flow(g, EGRESS(a->id, EgressMark), 200,
                 "ct_state=+new+trk,ip,%s "
                 "actions=%s{SNATIPMarkField=0x%"PRIx32"},{ToGatewayRegMark},"
                 "goto_table:L2ForwardingCalc",
                 whom, meter ? meter : "", a->mark);
    if (meter) {
        adp_gen_flow(g, EGRESS(a->id, EgressMark), 195,
                     "ct_state=-new+trk,ip,%s "
                     "actions=%s{ToGatewayRegMark},"
                     "goto_table:L2ForwardingCalc", whom, meter);
    }
    free(meter);
}

/* Other Nodes send what is to leave with an address of this one to it. */
static void
generate_egress(struct adp_generator *g, const struct adp_applied *a,
                const struct adp_egress *egress)
{
    if (a->mark) {
        char *whom = xasprintf("tun_dst=%s", adp_ip_text(&egress->ip).s);

        generate_local_egress(g, a, whom);
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

    if (!adp_gen_port(g, pod->port, &port)) {
        return;
    }
    if (a->mark) {
        char *whom = xasprintf("in_port=%"PRIu32, port);

        generate_local_egress(g, a, whom);
        free(whom);
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

/* SPDX-License-Identifier: Apache-2.0 */

/* The way to the engine that enforces L7 rules, and back.
 *
 * A rule's commit marks the connection and gives it the rule's VLAN
 * (pipeline-v115-policy.c); what belongs to a marked connection leaves by the
 * target port with this VLAN, whatever else is to be done with it.  What comes
 * back was classified, tracked and allowed before it left, and is only to be
 * routed again: it isn't tracked any more, so the mark doesn't send it back.
 * With an egress IP it leaves only then (pipeline-v115-applied.c).
 *
 * Without one of the ports nothing that belongs to such a connection
 * leaves. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>

#include "util.h"

/* Above what TrafficControls ask for. */
#define REDIRECT_PRIORITY 212
/* A flow of its own, with counters of its own. */
#define DROP_PRIORITY 213

void
adp_v115_generate_l7(struct adp_generator *g)
{
    ofp_port_t target, back;

    if (!adp_gen_port(g, g->node->l7_target_port, &target)
        || !adp_gen_port(g, g->node->l7_return_port, &back)) {
        adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, 0, ADP_V115_Output,
                     DROP_PRIORITY, "{L7NPRedirectCTMark} actions=drop");
        return;
    }
    adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, 0, ADP_V115_Classifier,
                 200, "in_port=%"PRIu32",vlan_tci=0x1000/0x1000 "
                 "actions=pop_vlan,{FromTCReturnRegMark},"
                 "goto_table:L3Forwarding", back);
    adp_gen_flow(g, ADP_V115_COOKIE_NETWORK_POLICY, 0, ADP_V115_Output,
                 REDIRECT_PRIORITY,
                 "{L7NPRedirectCTMark},{OutputToOFPortRegMark} "
                 "actions=push_vlan:0x8100,"
                 "move:{L7NPRuleVlanIDCTLabel[]}->OXM_OF_VLAN_VID[],"
                 "output:%"PRIu32, target);
}

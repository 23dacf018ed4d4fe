/* SPDX-License-Identifier: Apache-2.0 */

/* MPLS labels that upstream can't count.
 *
 * A flow tells labels from no labels by their being other than 0, so a packet
 * with a label stack entry of 0 that isn't the last one makes what upstream
 * believes is in the packet and what a flow says drift apart.  Upstream then
 * has to pop a label and can't know which comes up below, and aborts.  So the
 * linker puts this between (--wrap, in automake.mk): what would come up is
 * taken for no label. */

#include <config.h>

#include "flow.h"
#include "packets.h"

bool __real_flow_pop_mpls(struct flow *, int n, ovs_be16 eth_type,
                          struct flow_wildcards *);
bool __wrap_flow_pop_mpls(struct flow *, int n, ovs_be16 eth_type,
                          struct flow_wildcards *);

bool
__wrap_flow_pop_mpls(struct flow *flow, int n, ovs_be16 eth_type,
                     struct flow_wildcards *wc)
{
    /* Without 'wc' the flow is what the actions so far make of the packet, and
     * to fail is to abort. */
    if (!wc && n == FLOW_MAX_MPLS_LABELS) {
        ovs_be32 lowest = flow->mpls_lse[n - 1];

        flow->mpls_lse[n - 1] |= htonl(MPLS_BOS_MASK);
        __real_flow_pop_mpls(flow, n, eth_type, NULL);
        flow->mpls_lse[n - 2] = lowest;
        return true;
    }
    return __real_flow_pop_mpls(flow, n, eth_type, wc);
}

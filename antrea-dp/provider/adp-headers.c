/* SPDX-License-Identifier: Apache-2.0 */

/* What upstream forgets when it makes a packet's headers those of the flow.
 * The linker puts this before (--wrap, in automake.mk). */

#include <config.h>

#include "flow.h"
#include "openvswitch/nsh.h"
#include "odp-util.h"
#include "packets.h"

enum slow_path_reason __real_commit_odp_actions(
    const struct flow *, struct flow *base, struct ofpbuf *odp_actions,
    struct flow_wildcards *, bool use_masked, bool pending_encap,
    bool pending_decap, struct ofpbuf *encap_data);
enum slow_path_reason __wrap_commit_odp_actions(
    const struct flow *, struct flow *base, struct ofpbuf *odp_actions,
    struct flow_wildcards *, bool use_masked, bool pending_encap,
    bool pending_decap, struct ofpbuf *encap_data);

/* encap() where the packet is given back as it was.
 *
 * Upstream notes that a header is to be pushed, and has it pushed when the
 * packet is sent.  Where that never comes to pass, as in clone(encap(...)), in
 * a group's bucket or in one of check_pkt_larger()'s ways, what follows has
 * the packet as it was, but also the note: an Ethernet header is pushed onto a
 * packet that has one, and the daemon aborts.
 *
 * What is pushed is another header than the packet begins with, unless that is
 * NSH's.  (Of an MPLS label that was pushed upstream doesn't note that it
 * comes first.) */
static bool
is_pushed_in_vain(const struct flow *flow, const struct flow *base)
{
    return (flow->packet_type == htonl(PT_ETH)
            && base->packet_type == htonl(PT_ETH)
            && !eth_type_mpls(base->dl_type));
}

/* Fields of NSH that are rewritten.
 *
 * The action has contexts if the packet is of MD type 1, and upstream's
 * megaflow doesn't say that it depends on the type.  Another packet of type 1
 * would have its contexts left alone, or, without any in the action, get what
 * happens to be in memory. */
static bool
depends_on_md_type(const struct flow *flow, const struct flow *base)
{
    return (flow->dl_type == htons(ETH_TYPE_NSH)
            && base->dl_type == htons(ETH_TYPE_NSH)
            && memcmp(&flow->nsh, &base->nsh, sizeof flow->nsh));
}

enum slow_path_reason
__wrap_commit_odp_actions(const struct flow *flow, struct flow *base,
                          struct ofpbuf *odp_actions,
                          struct flow_wildcards *wc, bool use_masked,
                          bool pending_encap, bool pending_decap,
                          struct ofpbuf *encap_data)
{
    if (depends_on_md_type(flow, base)) {
        wc->masks.nsh.mdtype = UINT8_MAX;
    }
    if (is_pushed_in_vain(flow, base)) {
        pending_encap = false;
    }
    return __real_commit_odp_actions(flow, base, odp_actions, wc, use_masked,
                                     pending_encap, pending_decap,
                                     encap_data);
}

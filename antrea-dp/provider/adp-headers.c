/* SPDX-License-Identifier: Apache-2.0 */

/* What upstream forgets when it makes a packet's headers those of the flow.
 * The linker puts these before (--wrap, in automake.mk). */

#include <config.h>

#include "flow.h"
#include "odp-util.h"
#include "packets.h"

enum slow_path_reason __real_commit_odp_actions(
    const struct flow *, struct flow *base, struct ofpbuf *odp_actions,
    struct flow_wildcards *, bool use_masked, bool pending_encap,
    bool pending_decap, struct ofpbuf *encap_data);
enum odp_key_fitness __real_odp_nsh_key_from_attr(
    const struct nlattr *, struct ovs_key_nsh *, struct ovs_key_nsh *mask,
    char **errorp);
enum odp_key_fitness __wrap_odp_nsh_key_from_attr(
    const struct nlattr *, struct ovs_key_nsh *, struct ovs_key_nsh *mask,
    char **errorp);
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

/* Contexts of NSH that are rewritten, where there are any, in packets of MD
 * type 1: what is done depends on the type, and upstream's megaflow doesn't
 * say so. */
static bool
depends_on_md_type(const struct flow *flow, const struct flow *base)
{
    return (flow->dl_type == htons(ETH_TYPE_NSH)
            && base->dl_type == htons(ETH_TYPE_NSH)
            && memcmp(flow->nsh.context, base->nsh.context,
                      sizeof flow->nsh.context));
}

/* A label of MPLS that is rewritten: what is written is the whole entry, as it
 * is in this packet, and upstream's megaflow depends on its label alone.
 * Other packets would get this one's TTL. */
static bool
writes_mpls_entry(const struct flow *flow, const struct flow *base)
{
    return (eth_type_mpls(flow->dl_type)
            && eth_type_mpls(base->dl_type)
            && flow->mpls_lse[0] != base->mpls_lse[0]
            && flow_count_mpls_labels(flow, NULL)
               == flow_count_mpls_labels(base, NULL));
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
    if (writes_mpls_entry(flow, base)) {
        wc->masks.mpls_lse[0] = OVS_BE32_MAX;
    }
    if (is_pushed_in_vain(flow, base)) {
        pending_encap = false;
    }
    return __real_commit_odp_actions(flow, base, odp_actions, wc, use_masked,
                                     pending_encap, pending_decap,
                                     encap_data);
}

/* An action that rewrites other fields of NSH, and so has no contexts, may be
 * for a packet that has some: they would be written from memory that nobody
 * has set. */
enum odp_key_fitness
__wrap_odp_nsh_key_from_attr(const struct nlattr *attr,
                             struct ovs_key_nsh *key,
                             struct ovs_key_nsh *mask, char **errorp)
{
    memset(key, 0, sizeof *key);
    if (mask) {
        memset(mask, 0, sizeof *mask);
    }
    return __real_odp_nsh_key_from_attr(attr, key, mask, errorp);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-offload-actions.h"

#include "netlink.h"
#include "odp-netlink.h"

static bool
pushes_within(const struct nlattr *action, uint16_t type)
{
    const struct nlattr *a = nl_attr_find_nested(action, type);

    return a && adp_offload_is_pushed(nl_attr_get(a), nl_attr_get_size(a));
}

bool
adp_offload_is_pushed(const struct nlattr *actions, size_t len)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions, len) {
        switch ((enum ovs_action_attr) nl_attr_type(a)) {
        case OVS_ACTION_ATTR_TUNNEL_PUSH:
        case OVS_ACTION_ATTR_PUSH_MPLS:
        case OVS_ACTION_ATTR_ADD_MPLS:
        case OVS_ACTION_ATTR_PUSH_NSH:
            return true;
        case OVS_ACTION_ATTR_CLONE:
            if (adp_offload_is_pushed(nl_attr_get(a), nl_attr_get_size(a))) {
                return true;
            }
            break;
        case OVS_ACTION_ATTR_SAMPLE:
            if (pushes_within(a, OVS_SAMPLE_ATTR_ACTIONS)) {
                return true;
            }
            break;
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
            if (pushes_within(a, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER)
                || pushes_within(
                    a, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL)) {
                return true;
            }
            break;
        default:
            break;
        }
    }
    return false;
}

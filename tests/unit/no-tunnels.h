/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_NO_TUNNELS_H
#define TESTS_NO_TUNNELS_H 1

/* The rooms around a walk, for tests in which nothing goes into a tunnel and no
 * zone has a timeout policy. */

#include "adp-tunnel.h"
#include "ofproto/ofproto-dpif.h"
#include "util.h"

/* The one group that upstream has, or NULL. */
static struct group_dpif *upstreams_group;

ovs_version_t
ofproto_dpif_get_tables_version(struct ofproto_dpif *o OVS_UNUSED)
{
    return OVS_VERSION_MAX - 1;
}

struct group_dpif *
group_dpif_lookup(struct ofproto_dpif *o OVS_UNUSED, uint32_t id OVS_UNUSED,
                  ovs_version_t version OVS_UNUSED, bool ref OVS_UNUSED)
{
    return upstreams_group;
}

bool
ofproto_dpif_ct_zone_timeout_policy_get_name(
    const struct dpif_backer *b OVS_UNUSED, uint16_t zone OVS_UNUSED,
    uint16_t dl_type OVS_UNUSED, uint8_t nw_proto OVS_UNUSED,
    char **name OVS_UNUSED, bool *unwildcard OVS_UNUSED)
{
    return false;
}

struct adp_tunnel *
adp_tunnel_find(struct adp_bridge *b OVS_UNUSED, ofp_port_t port OVS_UNUSED,
                const struct flow *f OVS_UNUSED)
{
    return NULL;
}

const struct adp_tunnel_actions *
adp_tunnel_actions(const struct adp_tunnel *t OVS_UNUSED,
                   long long int now OVS_UNUSED)
{
    return NULL;
}

#endif /* no-tunnels.h */

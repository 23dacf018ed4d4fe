/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-refuse.h"

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-fast.h"
#include "adp-flow-cache.h"
#include "adp-refusal.h"
#include "adp-tunnel.h"
#include "dp-packet.h"
#include "flow.h"
#include "packets.h"

/* What leads back to the tunnel's other end, or NULL. */
static const struct adp_tunnel_actions *
find_way_back(struct adp_bridge *b, const struct flow_tnl *tnl,
              ofp_port_t port, const struct dp_packet *answer,
              long long int now)
{
    struct adp_tunnel *t;
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    flow.dl_type = (IP_VER(*(const uint8_t *) dp_packet_l3(answer)) == 6
                    ? htons(ETH_TYPE_IPV6) : htons(ETH_TYPE_IP));
    flow.tunnel.ip_dst = tnl->ip_src;
    flow.tunnel.ipv6_dst = tnl->ipv6_src;
    flow.tunnel.tun_id = tnl->tun_id;
    t = adp_tunnel_find(b, port, &flow);
    if (!t) {
        return NULL;
    }

    const struct adp_tunnel_actions *actions = adp_tunnel_actions(t, now);
    adp_tunnel_credit(t, 1, dp_packet_size(answer));
    return actions && actions->size ? actions : NULL;
}

void
adp_refuse(struct adp_fast *f, struct adp_bridge *b,
           const struct dp_packet *packet, enum adp_answer kind,
           ofp_port_t tunnel_port)
{
    const struct adp_tunnel_actions *tnl_actions = NULL;
    struct adp_cached_verdict_content content = { .odp_port = f->in_port };
    bool from_tunnel = f->in_port == ODPP_NONE;
    bool limited;
    struct dp_packet *answer = adp_refusal_make(packet, kind,
                                                &f->cache->refusals, f->now,
                                                &limited);

    if (!answer) {
        adp_count(limited ? &b->counters.reject_limited
                  : &b->counters.reject_silent, 1);
        return;
    }
    if (from_tunnel) {
        tnl_actions = find_way_back(b, &packet->md.tunnel, tunnel_port, answer,
                                    f->now);
    }
    if (from_tunnel && !tnl_actions) {
        adp_count(&b->counters.reject_silent, 1);
        dp_packet_delete(answer);
        return;
    }
    adp_count(&b->counters.rejected, 1);
    pkt_metadata_init(&answer->md, ODPP_NONE);
    adp_fast_leave(f, answer, &content, NULL, tnl_actions);
}

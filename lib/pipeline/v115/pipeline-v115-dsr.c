/* SPDX-License-Identifier: Apache-2.0 */

/* Services with direct server return.
 *
 * What a client outside sends to such a Service goes to the endpoint's Node as
 * it is, with the Service's address: there a local endpoint is selected, which
 * answers the client straight.  So this Node sees one direction only, which is
 * nothing that conntrack can follow: no connection is committed, and each
 * packet is as new as the first one.  A learned flow keeps the connection's
 * endpoint, and its marks.
 *
 * Antrea has a table of its own for this, DSRServiceMark, between ServiceLB
 * and EndpointDNAT.  Here its flows stand in EndpointDNAT, above all others.
 * And Antrea does commit the connections; the kernel's conntrack then has
 * their packets invalid, by which Antrea knows them.  That of this datapath
 * has them established. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

#define SERVICE(TABLE) ADP_V115_COOKIE_SERVICE, 0, ADP_V115_##TABLE

enum { MARK_PRIORITY = 230, SEND_PRIORITY = 220, RESELECT_PRIORITY = 195 };

/* A connection is forgotten after so many seconds without a packet. */
#define IDLE_TIMEOUT 160

void
adp_v115_generate_dsr_node(struct adp_generator *g)
{
    if (!adp_gen_option(g, ADP_V115_DSR)) {
        return;
    }
    ADP_FOR_EACH_FAMILY (family) {
        if (adp_gen_has_family(g, family)) {
            adp_gen_ip_flow(g, family, SERVICE(EndpointDNAT), SEND_PRIORITY,
                            "{ip},{DSRServiceRegMark} "
                            "actions=goto_table:AntreaPolicyEgressRule");
            /* The endpoint that session affinity remembers has gone: the one
             * that is selected in its place may be here. */
            adp_gen_ip_flow(g, family, SERVICE(EndpointDNAT),
                            RESELECT_PRIORITY,
                            "{ip},{EpSelectedRegMark+RemoteEndpointRegMark} "
                            "actions={EpToSelectRegMark"
                            "+RemoteEndpointRegMark=0},resubmit(,ServiceLB)");
            adp_gen_ip_flow(g, family, SERVICE(ConntrackCommit), 210,
                            "{ip},{DSRServiceRegMark} "
                            "actions=goto_table:Output");
        }
    }
}

/* The match on the endpoints of a network.  Caller frees. */
static char *
endpoints_text(const struct adp_cidr *cidr)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    if (adp_cidr_is_v4(cidr)) {
        ds_put_format(&s, "reg3=0x%"PRIx32"/0x%"PRIx32,
                      ntohl(in6_addr_get_mapped_ipv4(&cidr->ip)),
                      ntohl(be32_prefix_mask(adp_cidr_plen(cidr))));
    } else {
        struct in6_addr mask = ipv6_create_mask(cidr->plen);

        ds_put_cstr(&s, "xxreg3=");
        ds_put_hex(&s, &cidr->ip, sizeof cidr->ip);
        ds_put_char(&s, '/');
        ds_put_hex(&s, &mask, sizeof mask);
    }
    return ds_steal_cstr(&s);
}

/* The endpoint, not the destination, says to which Node a packet goes. */
void
adp_v115_generate_dsr_peer(struct adp_generator *g,
                           const struct adp_peer_node *peer)
{
    if (!adp_gen_option(g, ADP_V115_DSR)) {
        return;
    }
    ADP_FOR_EACH_FAMILY (family) {
        const struct adp_node_net *net = &peer->net[family];

        if (adp_node_net_is_set(net) && adp_gen_has_family(g, family)) {
            char *endpoints = endpoints_text(&net->pod_cidr);

            adp_gen_ip_flow(g, family, ADP_V115_COOKIE_POD, 0,
                            ADP_V115_L3Forwarding, 200,
                            "{ip},{DSRServiceRegMark},%s "
                            "actions=set_field:"ETH_ADDR_FMT"->eth_src,"
                            "set_field:{GlobalVirtualMAC}->eth_dst,"
                            "set_field:%s->%s,{ToTunnelRegMark},"
                            "goto_table:L3DecTTL", endpoints,
                            ETH_ADDR_ARGS(g->node->gateway_mac),
                            adp_ip_text(&peer->transport_ip).s,
                            adp_v115_tun_dst(&peer->transport_ip));
            free(endpoints);
        }
    }
}

/* Another Node refuses what this one sent there, and its answer comes back as
 * that of 'ip'.  No connection knows it: conntrack would have a reset new, and
 * an ICMP error invalid.  Clients aren't Pods: what comes to these from a Node
 * that has the address itself goes the ordinary way. */
void
adp_v115_generate_dsr_refusal(struct adp_generator *g,
                              const struct in6_addr *ip)
{
    const struct adp_node_net *net = &g->node->net[adp_ip_family(ip)];
    ofp_port_t port;

    if (adp_gen_port(g, g->node->gateway_port, &port)) {
        if (adp_node_net_is_set(net)) {
            adp_gen_ip_flow(g, adp_ip_family(ip), SERVICE(UnSNAT), 220,
                            "{ip},{FromTunnelRegMark},{ip_src}=%s,{ip_dst}=%s "
                            "actions=goto_table:ConntrackZone",
                            adp_ip_text(ip).s,
                            adp_cidr_text(&net->pod_cidr).s);
        }
        adp_gen_ip_flow(g, adp_ip_family(ip), SERVICE(UnSNAT), 210,
                        "{ip},{FromTunnelRegMark},{ip_src}=%s "
                        "actions=set_field:"ETH_ADDR_FMT"->eth_dst,dec_ttl,"
                        "{ToGatewayRegMark},{TargetOFPortField=0x%"PRIx32"},"
                        "{OutputToOFPortRegMark},goto_table:Output",
                        adp_ip_text(ip).s, ETH_ADDR_ARGS(g->node->gateway_mac),
                        port);
    }
}

bool
adp_v115_is_dsr(const struct adp_generator *g, const struct adp_service *svc)
{
    return (svc->dsr && !svc->external_local && g->node->tunnel_port
            && adp_gen_option(g, ADP_V115_DSR));
}

void
adp_v115_generate_dsr_mark(struct adp_generator *g, enum adp_family family,
                           const char *match, const char *src_field,
                           const char *dst_field, uint8_t nw_proto,
                           uint32_t group, bool deletes)
{
    adp_gen_ip_flow(
        g, family, ADP_V115_COOKIE_SERVICE, group, ADP_V115_EndpointDNAT,
        MARK_PRIORITY,
        "%s actions=learn(table=SessionAffinity,idle_timeout=%d,"
        "priority=210%s,cookie=0x%"PRIx64",eth_type={eth_type},"
        "nw_proto=%"PRIu8",%s,%s,{IP_DST[]},{IP_SRC[]},"
        "load:{EndpointPortField[]}->{EndpointPortField[]},"
        "load:{EndpointIP[]}->{EndpointIP[]},"
        "load:0x2->{ServiceEPStateField[]},"
        "load:0x1->{DSRServiceRegMark[]}),"
        "{DSRServiceRegMark},resubmit(,EndpointDNAT)",
        match, IDLE_TIMEOUT, deletes ? ",delete_learned" : "",
        adp_gen_cookie(g, ADP_V115_COOKIE_SERVICE, group), nw_proto,
        src_field, dst_field);
}

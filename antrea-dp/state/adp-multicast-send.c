/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-multicast-send.h"

#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "adp-bridge.h"
#include "adp-igmp.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "model-records.h"
#include "ofproto/ofproto-dpif.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"

/* IP's option router alert (RFC 2113), which such messages have. */
#define ROUTER_ALERT_LEN 4
static const uint8_t router_alert[ROUTER_ALERT_LEN] = { 0x94, 0x04, 0, 0 };

static const struct eth_addr all_hosts_mac
    = ETH_ADDR_C(01,00,5e,00,00,01);
static const struct eth_addr all_routers_mac
    = ETH_ADDR_C(01,00,5e,00,00,16);

/* The group of routers that understand version 3. */
#define IGMPV3_ROUTERS 0xe0000016

static void
compose(struct dp_packet *packet, struct eth_addr src_mac,
        struct eth_addr dst_mac, ovs_be32 src, ovs_be32 dst, const void *msg,
        size_t len)
{
    struct eth_header *eth = dp_packet_put_zeros(packet, sizeof *eth);
    size_t header_len = sizeof(struct ip_header) + ROUTER_ALERT_LEN;

    eth->eth_src = src_mac;
    eth->eth_dst = dst_mac;
    eth->eth_type = htons(ETH_TYPE_IP);

    struct ip_header *ip = dp_packet_put_zeros(packet, header_len);
    ip->ip_ihl_ver = IP_IHL_VER(header_len / 4, 4);
    ip->ip_tos = 0xc0;          /* Internetwork control. */
    ip->ip_tot_len = htons(header_len + len);
    ip->ip_frag_off = htons(IP_DF);
    ip->ip_ttl = 1;
    ip->ip_proto = IPPROTO_IGMP;
    put_16aligned_be32(&ip->ip_src, src);
    put_16aligned_be32(&ip->ip_dst, dst);
    memcpy(ip + 1, router_alert, sizeof router_alert);
    ip->ip_csum = csum(ip, header_len);
    dp_packet_put(packet, msg, len);
}

/* Has 'packet', which comes from 'in_port', executed with 'ofpacts'. */
static void
execute(struct adp_bridge *b, struct dp_packet *packet, ofp_port_t in_port,
        const struct ofpbuf *ofpacts)
{
    struct flow flow;

    pkt_metadata_init(&packet->md, ODPP_NONE);
    flow_extract(packet, &flow);
    flow.in_port.ofp_port = in_port;
    ofproto_dpif_execute_actions(&b->dpif,
                                 ofproto_dpif_get_tables_version(&b->dpif),
                                 &flow, NULL, ofpacts->data, ofpacts->size,
                                 packet);
}

static bool
gateway_of(const struct adp_bridge *b, const struct adp_node_config *node,
           ofp_port_t *port, ovs_be32 *ip)
{
    const struct adp_node_net *net = &node->net[ADP_IPV4];

    if (!adp_node_net_is_set(net)
        || !adp_bridge_port_number(b, node->gateway_port, port)) {
        return false;
    }
    *ip = in6_addr_get_mapped_ipv4(&net->gateway_ip);
    return true;
}

bool
adp_multicast_send_query(struct adp_bridge *b,
                         const struct adp_node_config *node,
                         unsigned int max_response, unsigned int interval)
{
    uint64_t stub[64 / 8];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    uint8_t msg[ADP_IGMP_QUERY_LEN];
    struct dp_packet packet;
    ofp_port_t gateway;
    ovs_be32 ip;

    if (!gateway_of(b, node, &gateway, &ip)) {
        return false;
    }
    adp_igmp_put_query(msg, max_response, interval);
    dp_packet_init(&packet, 128);
    compose(&packet, node->gateway_mac, all_hosts_mac, ip,
            htonl(INADDR_ALLHOSTS_GROUP), msg, sizeof msg);

    struct ofpact_resubmit *resubmit = ofpact_put_RESUBMIT(&ofpacts);
    resubmit->in_port = OFPP_IN_PORT;
    resubmit->table_id = 0;
    execute(b, &packet, gateway, &ofpacts);
    dp_packet_uninit(&packet);
    ofpbuf_uninit(&ofpacts);
    return true;
}

bool
adp_multicast_send_report(struct adp_bridge *b,
                          const struct adp_node_config *node, const void *msg,
                          size_t len, ovs_be32 peer)
{
    uint64_t stub[256 / 8];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    struct dp_packet packet;
    ofp_port_t gateway, tunnel;
    ovs_be32 ip;

    if (!gateway_of(b, node, &gateway, &ip) || !node->tunnel_port
        || !adp_bridge_port_number(b, node->tunnel_port, &tunnel)) {
        return false;
    }
    dp_packet_init(&packet, 64 + len);
    compose(&packet, node->gateway_mac, all_routers_mac, ip,
            htonl(IGMPV3_ROUTERS), msg, len);

    ofpact_put_set_field(&ofpacts, mf_from_id(MFF_TUN_DST), &peer, NULL);
    ofpact_put_OUTPUT(&ofpacts)->port = tunnel;
    execute(b, &packet, gateway, &ofpacts);
    dp_packet_uninit(&packet);
    ofpbuf_uninit(&ofpacts);
    return true;
}

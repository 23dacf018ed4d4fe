/* SPDX-License-Identifier: Apache-2.0 */

/* Neighbour discovery: the tables IPv6 and NDResponder, which are to IPv6 what
 * ARPSpoofGuard and ARPResponder are to IPv4.
 *
 * A port sends solicitations and advertisements with its own MAC and its own
 * addresses only: those that it asks from, those that it advertises, and, when
 * it looks for duplicates (from "::"), those that it is about to use.  To
 * these belongs the link-local address that follows from the MAC; the host,
 * which is trusted, may have any.
 *
 * Nothing else of IPv6 is exempt from the pipeline: router advertisements and
 * other multicast of Pods go nowhere. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>
#include <netinet/icmp6.h>
#include <stdlib.h>

#include "packets.h"

#define DEFAULT(TABLE) ADP_V115_COOKIE_DEFAULT, 0, ADP_V115_##TABLE
#define POD(TABLE) ADP_V115_COOKIE_POD, 0, ADP_V115_##TABLE

void
adp_v115_generate_nd(struct adp_generator *g)
{
    for (int type = ND_NEIGHBOR_SOLICIT; type <= ND_NEIGHBOR_ADVERT; type++) {
        adp_gen_flow(g, DEFAULT(PipelineRootClassifier), 210,
                     "icmp6,icmp_type=%d actions=goto_table:IPv6", type);
    }
    adp_gen_flow(g, DEFAULT(IPv6), 0, "actions=drop");
    adp_gen_flow(g, DEFAULT(NDResponder), 190, "icmp6 actions=NORMAL");
    adp_gen_flow(g, DEFAULT(NDResponder), 0, "actions=drop");
}

/* Lets 'port' discover neighbours as 'ip', an address or a prefix. */
static void
generate_guard(struct adp_generator *g, ofp_port_t port, struct eth_addr mac,
               const char *ip)
{
    char *links[] = {
        xasprintf(ETH_ADDR_FMT, ETH_ADDR_ARGS(mac)),
        /* What has no such option teaches nobody a MAC. */
        xstrdup("00:00:00:00:00:00"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        adp_gen_flow(g, POD(IPv6), 200,
                     "icmp6,icmp_type=%d,icmp_code=0,in_port=%"PRIu32","
                     "dl_src=%s,ipv6_src=%s,nd_sll=%s "
                     "actions=goto_table:NDResponder",
                     ND_NEIGHBOR_SOLICIT, port, links[0], ip, links[i]);
        adp_gen_flow(g, POD(IPv6), 200,
                     "icmp6,icmp_type=%d,icmp_code=0,in_port=%"PRIu32","
                     "dl_src=%s,ipv6_src=%s,nd_target=%s,nd_tll=%s "
                     "actions=goto_table:NDResponder",
                     ND_NEIGHBOR_ADVERT, port, links[0], ip, ip, links[i]);
    }
    adp_gen_flow(g, POD(IPv6), 200,
                 "icmp6,icmp_type=%d,icmp_code=0,in_port=%"PRIu32","
                 "dl_src=%s,ipv6_src=::,nd_target=%s,nd_sll=%s "
                 "actions=goto_table:NDResponder",
                 ND_NEIGHBOR_SOLICIT, port, links[0], ip, links[1]);
    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        free(links[i]);
    }
}

void
adp_v115_generate_gateway_nd(struct adp_generator *g, ofp_port_t port)
{
    const struct adp_node_config *node = g->node;
    const struct in6_addr *ip = &node->net[ADP_IPV6].gateway_ip;

    generate_guard(g, port, node->gateway_mac, adp_ip_text(ip).s);
    generate_guard(g, port, node->gateway_mac, "fe80::/10");
}

void
adp_v115_generate_pod_nd(struct adp_generator *g, ofp_port_t port,
                         struct eth_addr mac, const struct in6_addr *ip)
{
    struct in6_addr link_local;

    in6_generate_lla(mac, &link_local);
    generate_guard(g, port, mac, adp_ip_text(ip).s);
    generate_guard(g, port, mac, adp_ip_text(&link_local).s);
}

/* Turns the solicitation into the answer: a router (R) that was solicited (S),
 * whatever was known before (O).  The option of an answer can only be written
 * where it is known to be one, in another flow; no answer that comes from
 * elsewhere gets to that, because nobody but its owner may advertise an
 * address. */
void
adp_v115_answer_nd(struct adp_generator *g, uint8_t category, uint32_t object,
                   size_t table, ofp_port_t port, const struct in6_addr *ip_)
{
    struct adp_ip_text ip = adp_ip_text(ip_);
    char *whom = (port == OFPP_ANY ? xstrdup("")
                  : xasprintf(",in_port=%"PRIu32, port));

    adp_gen_flow(g, category, object, table, 200,
                 "icmp6%s,icmp_type=%d,icmp_code=0,nd_target=%s "
                 "actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"
                 "set_field:{GlobalVirtualMAC}->eth_src,"
                 "move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],"
                 "set_field:%s->ipv6_src,"
                 "set_field:2->nd_options_type,"
                 "set_field:0xe0000000->nd_reserved,"
                 "set_field:%d->icmpv6_type,resubmit(,NDResponder)",
                 whom, ND_NEIGHBOR_SOLICIT, ip.s, ip.s, ND_NEIGHBOR_ADVERT);
    adp_gen_flow(g, category, object, table, 200,
                 "icmp6%s,icmp_type=%d,icmp_code=0,nd_target=%s "
                 "actions=set_field:{GlobalVirtualMAC}->nd_tll,IN_PORT",
                 whom, ND_NEIGHBOR_ADVERT, ip.s);
    free(whom);
}

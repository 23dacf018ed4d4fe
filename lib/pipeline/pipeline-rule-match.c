/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-rule-match.h"

#include <netinet/in.h>

#include "flow.h"
#include "openvswitch/match.h"
#include "packets.h"
#include "pipeline-clause.h"

static void
init_ip(enum adp_family family, struct match *match)
{
    match_init_catchall(match);
    match_set_dl_type(match, htons(family == ADP_IPV4 ? ETH_TYPE_IP
                                   : ETH_TYPE_IPV6));
}

void
adp_rule_match_port(const struct adp_policy_style *style, ofp_port_t port,
                    struct match *match)
{
    if (style->port_needs_ip) {
        init_ip(ADP_IPV4, match);
    } else {
        match_init_catchall(match);
    }
    match_set_reg(match, style->port_reg, ofp_to_u16(port));
}

void
adp_rule_match_source(const struct adp_cidr *cidr, struct match *match)
{
    enum adp_family family = adp_cidr_family(cidr);

    init_ip(family, match);
    if (family == ADP_IPV4) {
        match_set_nw_src_masked(match, in6_addr_get_mapped_ipv4(&cidr->ip),
                                be32_prefix_mask(adp_cidr_plen(cidr)));
    } else {
        struct in6_addr mask = ipv6_create_mask(cidr->plen);

        match_set_ipv6_src_masked(match, &cidr->ip, &mask);
    }
}

void
adp_rule_match_destination(const struct adp_cidr *cidr, struct match *match)
{
    enum adp_family family = adp_cidr_family(cidr);

    init_ip(family, match);
    if (family == ADP_IPV4) {
        match_set_nw_dst_masked(match, in6_addr_get_mapped_ipv4(&cidr->ip),
                                be32_prefix_mask(adp_cidr_plen(cidr)));
    } else {
        struct in6_addr mask = ipv6_create_mask(cidr->plen);

        match_set_ipv6_dst_masked(match, &cidr->ip, &mask);
    }
}

void
adp_rule_match_client(const struct adp_cidr *cidr, struct match *match)
{
    enum adp_family family = adp_cidr_family(cidr);

    init_ip(family, match);
    match_set_ct_state_masked(match, CS_NEW | CS_TRACKED,
                              CS_NEW | CS_TRACKED);
    if (family == ADP_IPV4) {
        match_set_ct_nw_src_masked(match, in6_addr_get_mapped_ipv4(&cidr->ip),
                                   be32_prefix_mask(adp_cidr_plen(cidr)));
    } else {
        struct in6_addr mask = ipv6_create_mask(cidr->plen);

        match_set_ct_ipv6_src_masked(match, &cidr->ip, &mask);
    }
}

void
adp_rule_match_service_group(const struct adp_policy_style *style,
                             uint32_t group_id, struct match *match)
{
    match_init_catchall(match);
    match_set_reg(match, style->service_reg, group_id);
}

/* Services. */

struct service_match {
    adp_rule_match_cb *cb;
    void *aux;
    enum adp_family family;
    uint8_t protocol;
};

static void
match_ports(const struct adp_masked_port *src,
            const struct adp_masked_port *dst, void *sm_)
{
    const struct service_match *sm = sm_;
    struct match match;

    init_ip(sm->family, &match);
    match_set_nw_proto(&match, sm->protocol);
    match_set_tp_src_masked(&match, htons(src->port), htons(src->mask));
    match_set_tp_dst_masked(&match, htons(dst->port), htons(dst->mask));
    sm->cb(&match, sm->aux);
}

static void
match_icmp(const struct adp_network_policy_service *service,
           const struct service_match *sm)
{
    struct match match;

    init_ip(sm->family, &match);
    match_set_nw_proto(&match, (sm->family == ADP_IPV4 ? IPPROTO_ICMP
                                : IPPROTO_ICMPV6));
    if (service->icmp_type >= 0) {
        match_set_icmp_type(&match, service->icmp_type);
    }
    if (service->icmp_code >= 0) {
        match_set_icmp_code(&match, service->icmp_code);
    }
    sm->cb(&match, sm->aux);
}

static void
match_igmp(const struct adp_network_policy_service *service,
           const struct service_match *sm)
{
    struct match match;

    if (sm->family == ADP_IPV4) {
        init_ip(sm->family, &match);
        match_set_nw_proto(&match, IPPROTO_IGMP);
        if (service->group_address) {
            match_set_nw_dst(&match, service->group_address);
        }
        sm->cb(&match, sm->aux);
    }
}

void
adp_rule_match_services(const struct adp_network_policy_rule *rule,
                        enum adp_family family, adp_rule_match_cb *cb,
                        void *aux)
{
    for (size_t i = 0; i < rule->n_services; i++) {
        const struct adp_network_policy_service *service = &rule->services[i];
        struct service_match sm = { cb, aux, family, service->protocol };

        if (service->protocol == IPPROTO_IGMP) {
            match_igmp(service, &sm);
        } else if (service->protocol == IPPROTO_ICMP) {
            match_icmp(service, &sm);
        } else {
            adp_policy_service_to_masks(service, match_ports, &sm);
        }
    }
}

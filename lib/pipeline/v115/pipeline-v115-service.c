/* SPDX-License-Identifier: Apache-2.0 */

/* Services: endpoint selection (ServiceLB and its groups), session affinity
 * and DNAT.
 *
 * Each port of a Service has up to two groups for each family of addresses,
 * one with all endpoints and one with those of this Node only; which of them
 * an address uses follows from the traffic policies.
 *
 * An endpoint that is another Service's ClusterIP is no destination: once it
 * is selected, EndpointDNAT goes on to the group of that ClusterIP.  That goes
 * one step only, so that Services that are each other's endpoints make no
 * loop. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model-pause.h"
#include "model-reader.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "util.h"

/* What differs between protocols. */
static const struct protocol {
    uint8_t number;
    const char *name;
    const char *match;
    const char *src_field, *dst_field;
} protocols[] = {
    { IPPROTO_TCP, "tcp", "{tcp}", "NXM_OF_TCP_SRC[]", "NXM_OF_TCP_DST[]" },
    { IPPROTO_UDP, "udp", "{udp}", "NXM_OF_UDP_SRC[]", "NXM_OF_UDP_DST[]" },
    { IPPROTO_SCTP, "sctp", "{sctp}", "OXM_OF_SCTP_SRC[]",
      "OXM_OF_SCTP_DST[]" },
};

static const struct protocol *
protocol_find(uint8_t number)
{
    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        if (protocols[i].number == number) {
            return &protocols[i];
        }
    }
    OVS_NOT_REACHED();
}

/* One port of a Service on its way to flows. */
struct frontend {
    const struct adp_service *svc;
    const struct adp_service_port *port;
    const struct protocol *protocol;
    bool nested;                /* Other Services are among the endpoints. */
    uint32_t groups[ADP_N_FAMILIES][2]; /* IDs, by "local endpoints only"; 0:
                                         * not made yet. */
};

/* The field with the endpoint's address, and the address, in a match or among
 * actions.  By value, for use in the expression that asks for it. */
struct endpoint_text {
    char s[64];
};

static struct endpoint_text
endpoint_text(const struct adp_endpoint *ep, bool actions)
{
    struct endpoint_text text;
    char *p = text.s;

    if (adp_ip_is_v4(&ep->ip)) {
        snprintf(text.s, sizeof text.s, "{EndpointIPField=0x%"PRIx32"}",
                 ntohl(in6_addr_get_mapped_ipv4(&ep->ip)));
        return text;
    }

    p += sprintf(p, actions ? "set_field:0x" : "xxreg3=0x");
    for (size_t i = 0; i < sizeof ep->ip; i++) {
        p += sprintf(p, "%02"PRIx8, ep->ip.s6_addr[i]);
    }
    sprintf(p, actions ? "->xxreg3" : "");
    return text;
}

static bool
is_remote(const struct adp_generator *g, const struct adp_endpoint *ep)
{
    return !ep->local && adp_gen_is_remote(g, &ep->ip);
}

/* Groups. */

/* Where an endpoint that was selected leads to. */
static enum adp_v115_table
table_of_selected(const struct frontend *fe)
{
    return (fe->svc->affinity_timeout ? ADP_V115_ServiceLB
            : ADP_V115_EndpointDNAT);
}

static void
put_bucket_text(const struct adp_generator *g, struct ds *group,
                const struct frontend *fe, const struct adp_endpoint *ep,
                uint32_t bucket_id)
{
    ds_put_format(group, ",bucket=bucket_id:%"PRIu32",weight:%"PRIu16
                  ",actions=%s%s,"
                  "{EndpointPortField=0x%"PRIx16"},resubmit(,%s)",
                  bucket_id, ep->weight,
                  is_remote(g, ep) ? "{RemoteEndpointRegMark}," : "",
                  endpoint_text(ep, true).s, ep->port,
                  adp_gen_table(g, table_of_selected(fe)));
}

/* The same without text. */
static void
put_bucket(const struct adp_generator *g, struct ovs_list *buckets,
           const struct frontend *fe, const struct adp_endpoint *ep,
           uint32_t bucket_id)
{
    const struct adp_vocabulary *voc = g->pipeline->vocabulary;
    struct ofputil_bucket *bucket = xmalloc(sizeof *bucket);
    uint64_t stub[32];
    struct ofpbuf actions = OFPBUF_STUB_INITIALIZER(stub);

    if (is_remote(g, ep)) {
        adp_text_put_mark(&actions, voc, "RemoteEndpointRegMark");
    }
    if (adp_ip_is_v4(&ep->ip)) {
        adp_text_put_field(&actions, voc, "EndpointIPField",
                           ntohl(in6_addr_get_mapped_ipv4(&ep->ip)));
    } else {
        ofpact_put_set_field(&actions, mf_from_id(MFF_XXREG3), &ep->ip, NULL);
    }
    adp_text_put_field(&actions, voc, "EndpointPortField", ep->port);

    struct ofpact_resubmit *resubmit = ofpact_put_RESUBMIT(&actions);
    resubmit->in_port = OFPP_IN_PORT;
    resubmit->table_id = table_of_selected(fe);

    *bucket = (struct ofputil_bucket) {
        .weight = ep->weight,
        .watch_port = OFPP_ANY,
        .watch_group = OFPG_ANY,
        .bucket_id = bucket_id,
        .ofpacts_len = actions.size,
    };
    bucket->ofpacts = ofpbuf_steal_data(&actions);
    ovs_list_push_back(buckets, &bucket->list_node);
}

static void
generate_group(struct adp_generator *g, const struct frontend *fe,
               enum adp_family family, uint32_t id, bool local)
{
    struct ds template = DS_EMPTY_INITIALIZER;
    struct ovs_list buckets = OVS_LIST_INITIALIZER(&buckets);
    uint32_t n_buckets = 0;

    ds_put_format(&template, "group_id=%"PRIu32",type=select", id);
    for (size_t i = 0; i < fe->port->n_endpoints; i++) {
        const struct adp_endpoint *ep = &fe->port->endpoints[i];

        if (adp_ip_family(&ep->ip) != family
            || !adp_service_port_selects(fe->port, ep, local)) {
            continue;
        }
        if (g->set) {
            put_bucket_text(g, &template, fe, ep, n_buckets++);
        } else {
            put_bucket(g, &buckets, fe, ep, n_buckets++);
            adp_pause();
        }
    }
    if (!n_buckets) {
        ds_put_cstr(&template, ",bucket=bucket_id:0,weight:100,"
                    "actions={SvcNoEpRegMark},resubmit(,EndpointDNAT)");
    }

    if (g->set || !n_buckets) {
        adp_gen_group(g, ds_cstr(&template));
    } else {
        adp_gen_select_group(g, id, &buckets);
    }
    ds_destroy(&template);
}

static uint32_t
get_group_id(struct adp_generator *g, const struct adp_service *svc,
             const struct adp_service_port *port, enum adp_family family,
             bool local, bool own)
{
    const char *protocol = protocol_find(port->protocol)->name;
    char *key = xasprintf("%s %s/%"PRIu16" %s%s", svc->up.name, protocol,
                          port->port, local ? "local" : "cluster",
                          family == ADP_IPV4 ? "" : " IPv6");
    const struct adp_id_part part = {
        .record = &svc->up,
        .index = port - svc->ports,
        .family = family,
        .local = local,
    };
    char *description = xasprintf("Service %s, port %"PRIu16"/%s%s%s",
                                  svc->up.name, port->port, protocol,
                                  family == ADP_IPV4 ? "" : ", IPv6",
                                  local ? ", local endpoints" : "");
    uint32_t id = (own ? adp_gen_group_id(g, key, &part, description)
                   : adp_gen_other_group_id(g, key, &part, description));

    free(key);
    return id;
}

/* Returns the ID of the group of all or of the local endpoints, making the
 * group if nobody asked for it before. */
static uint32_t
frontend_group(struct adp_generator *g, struct frontend *fe,
               enum adp_family family, bool local)
{
    uint32_t *group = &fe->groups[family][local];
    if (*group) {
        return *group;
    }

    uint32_t id = get_group_id(g, fe->svc, fe->port, family, local, true);
    if (id) {
        generate_group(g, fe, family, id, local);
    } else if (!g->error) {
        g->error = adp_error_create("limit",
                                    adp_record_describe(&fe->svc->up), NULL,
                                    "no group ID is left");
    }
    *group = id;
    return id;
}

/* Flows. */

/* Where a Service is reached: an address, or any NodePort address. */
struct address {
    enum adp_family family;
    struct in6_addr ip;         /* None: NodePort. */
    bool external;              /* Not a ClusterIP. */
    bool ranges;                /* For clients in the source ranges only. */
};

/* The match of ServiceLB on packets for 'address' whose endpoint selection is
 * in the state 'ep_state' (an EP_* mark), with more marks in 'extra'. */
static char *
address_match(const struct frontend *fe, const struct address *address,
              const char *ep_state, const char *extra)
{
    return (ipv6_addr_is_set(&address->ip)
            ? xasprintf("%s,{%s%s},{ip_dst}=%s,tp_dst=%"PRIu16,
                        fe->protocol->match, ep_state, extra,
                        adp_ip_text(&address->ip).s, fe->port->port)
            : xasprintf("%s,{%s+ToNodePortAddressRegMark%s},tp_dst=%"PRIu16,
                        fe->protocol->match, ep_state, extra,
                        fe->port->node_port));
}

/* 'client' is more of the match, in its own words: ",nw_src=..." or "". */
static void
generate_select(struct adp_generator *g, const struct frontend *fe,
                const struct address *address, int priority,
                const char *extra, const char *client, uint32_t group)
{
    char *match = address_match(fe, address, "EpToSelectRegMark", extra);

    adp_gen_ip_flow(g, address->family, ADP_V115_COOKIE_SERVICE, group,
                    ADP_V115_ServiceLB, priority,
                    "%s%s actions={RewriteMACRegMark},{%s},%s%s"
                    "{ServiceGroupIDField=0x%"PRIx32"},group:%"PRIu32,
                    match, client,
                    fe->svc->affinity_timeout ? "EpToLearnRegMark"
                                              : "EpSelectedRegMark",
                    address->external ? "{ToExternalAddressRegMark}," : "",
                    fe->nested ? "{NestedServiceRegMark}," : "", group, group);
    free(match);
}

/* Lets packets pass that session affinity has selected an endpoint for. */
static void
generate_pass(struct adp_generator *g, const struct frontend *fe,
              const struct address *address, int priority, const char *extra,
              const char *client, uint32_t group)
{
    char *match = address_match(fe, address, "EpSelectedRegMark", extra);

    adp_gen_ip_flow(g, address->family, ADP_V115_COOKIE_SERVICE, group,
                    ADP_V115_ServiceLB, priority,
                    "%s%s actions=goto_table:EndpointDNAT", match, client);
    free(match);
}

/* The Node itself may use a load balancer's address wherever its clients must
 * be. */
#define FROM_NODE "+FromLocalRegMark},{FromGatewayRegMark"

/* Drops packets for 'address' of clients outside the source ranges, new ones
 * and those that session affinity remembers. */
static void
generate_refusal(struct adp_generator *g, struct frontend *fe,
                 const struct address *address, bool local)
{
    uint32_t all = frontend_group(g, fe, address->family, false);
    uint32_t group = frontend_group(g, fe, address->family, local);

    generate_select(g, fe, address, 220, FROM_NODE, "", all);
    generate_pass(g, fe, address, 220, FROM_NODE, "", group);
    for (size_t i = 0; i < fe->svc->n_source_ranges; i++) {
        const struct adp_cidr *range = &fe->svc->source_ranges[i];
        if (adp_cidr_family(range) != address->family) {
            continue;
        }

        char *client = xasprintf(",{ip_src}=%s", adp_cidr_text(range).s);
        if (local) {
            generate_select(g, fe, address, 210, "+FromLocalRegMark", client,
                            all);
        }
        generate_select(g, fe, address, 200, "", client, group);
        generate_pass(g, fe, address, 200, "", client, group);
        free(client);
    }
    adp_gen_ip_flow(g, address->family, ADP_V115_COOKIE_SERVICE, group,
                    ADP_V115_ServiceLB, 180,
                    "%s,{ip_dst}=%s,tp_dst=%"PRIu16" actions=drop",
                    fe->protocol->match, adp_ip_text(&address->ip).s,
                    fe->port->port);
}

/* Remembers the endpoint that was selected, for the client's next connections,
 * and by which group, for policies. */
static void
generate_learn(struct adp_generator *g, const struct frontend *fe,
               const struct address *address, uint32_t group)
{
    char *match = address_match(fe, address, "EpToLearnRegMark", "");

    adp_gen_ip_flow(
        g, address->family, ADP_V115_COOKIE_SERVICE, group,
        ADP_V115_ServiceLB, 190,
        "%s actions=learn(table=SessionAffinity,hard_timeout=%"PRIu16","
        "priority=200,delete_learned,cookie=0x%"PRIx64",eth_type={eth_type},"
        "nw_proto=%"PRIu8",%s,{IP_DST[]},{IP_SRC[]},"
        "load:{EndpointPortField[]}->{EndpointPortField[]},"
        "load:{RemoteEndpointRegMark[]}->{RemoteEndpointRegMark[]},"
        "load:{EndpointIP[]}->{EndpointIP[]},"
        "load:0x2->{ServiceEPStateField[]},load:0x1->{RewriteMACRegMark[]}%s"
        "%s,load:0x%"PRIx32"->{ServiceGroupIDField[]}),"
        "{EpSelectedRegMark},goto_table:EndpointDNAT",
        match, fe->svc->affinity_timeout,
        adp_gen_cookie(g, ADP_V115_COOKIE_SERVICE, group),
        fe->protocol->number, fe->protocol->dst_field,
        address->external ? ",load:0x1->{ToExternalAddressRegMark[]}" : "",
        fe->nested ? ",load:0x1->{NestedServiceRegMark[]}" : "", group);
    free(match);
}

/* Has another Node's endpoint answer what clients outside send to 'address'.
 * 'ep' is that endpoint, or NULL for any. */
static void
generate_dsr_mark(struct adp_generator *g, const struct frontend *fe,
                  const struct address *address,
                  const struct adp_endpoint *ep, uint32_t group)
{
    char *port = (ep ? xasprintf("+EndpointPortField=0x%"PRIx16, ep->port)
                  : xstrdup(""));
    char *marks = xasprintf("+NotDSRServiceRegMark+RemoteEndpointRegMark"
                            "+FromExternalRegMark%s", port);
    char *match = address_match(fe, address, "EpSelectedRegMark", marks);
    char *full = xasprintf("%s%s%s", match, ep ? "," : "",
                           ep ? endpoint_text(ep, false).s : "");

    adp_v115_generate_dsr_mark(g, address->family, full,
                               fe->protocol->src_field,
                               fe->protocol->dst_field, fe->protocol->number,
                               group, !fe->svc->affinity_timeout);
    free(full);
    free(match);
    free(marks);
    free(port);
}

/* With session affinity there is a flow for each endpoint: it ends with the
 * endpoint, whose clients are still remembered.  Connections that were learned
 * stay: they go with generate_learn()'s flow.  Without it, one flow that stays
 * keeps them. */
static void
generate_dsr_marks(struct adp_generator *g, const struct frontend *fe,
                   const struct address *address, uint32_t group)
{
    if (!fe->svc->affinity_timeout) {
        generate_dsr_mark(g, fe, address, NULL, group);
        return;
    }
    for (size_t i = 0; i < fe->port->n_endpoints; i++) {
        const struct adp_endpoint *ep = &fe->port->endpoints[i];

        if (adp_ip_family(&ep->ip) == address->family
            && adp_service_port_selects(fe->port, ep, false)
            && is_remote(g, ep)) {
            generate_dsr_mark(g, fe, address, ep, group);
        }
    }
}

/* Selects anew where session affinity remembers another Node's endpoint for
 * what comes out of the tunnel.  Above what lets source ranges pass. */
static void
generate_dsr_reselect(struct adp_generator *g, const struct frontend *fe,
                      const struct address *address, uint32_t group)
{
    char *match = address_match(fe, address, "EpSelectedRegMark",
                                "+RemoteEndpointRegMark");

    adp_gen_ip_flow(g, address->family, ADP_V115_COOKIE_SERVICE, group,
                    ADP_V115_ServiceLB, 210,
                    "%s,{FromTunnelRegMark} "
                    "actions={EpToSelectRegMark+RemoteEndpointRegMark=0},"
                    "resubmit(,ServiceLB)", match);
    free(match);
}

/* Direct server return to 'address': what comes out of the tunnel was balanced
 * by another Node, and is for an endpoint of this one. */
static void
generate_dsr(struct adp_generator *g, struct frontend *fe,
             const struct address *address, uint32_t group)
{
    generate_select(g, fe, address, 210, "", ",{FromTunnelRegMark}",
                    frontend_group(g, fe, address->family, true));
    if (fe->svc->affinity_timeout) {
        generate_dsr_reselect(g, fe, address, group);
    }
    generate_dsr_marks(g, fe, address, group);
    adp_v115_generate_dsr_refusal(g, &address->ip);
}

static void
generate_address(struct adp_generator *g, struct frontend *fe,
                 const struct address *address)
{
    bool local = (address->external ? fe->svc->external_local
                  : fe->svc->internal_local);
    uint32_t group;

    if (address->ranges && fe->svc->n_source_ranges) {
        generate_refusal(g, fe, address, local);
    } else {
        if (local && address->external) {
            /* Who is on this Node may use all endpoints. */
            generate_select(g, fe, address, 210, "+FromLocalRegMark", "",
                            frontend_group(g, fe, address->family, false));
        }
        generate_select(g, fe, address, 200, "", "",
                        frontend_group(g, fe, address->family, local));
    }
    group = frontend_group(g, fe, address->family, local);
    if (fe->svc->affinity_timeout) {
        generate_learn(g, fe, address, group);
    }
    if (address->external && ipv6_addr_is_set(&address->ip)
        && adp_v115_is_dsr(g, fe->svc)) {
        generate_dsr(g, fe, address, group);
    }
}

/* Goes on to the endpoints of the Service that 'ep' is, if there is one. */
static void
generate_nested(struct adp_generator *g, const struct frontend *fe,
                const struct adp_endpoint *ep)
{
    const struct adp_service *svc;
    const struct adp_service_port *port
        = adp_vips_find(g->vips, &ep->ip, ep->port, fe->port->protocol, &svc);

    if (port && !adp_service_port_is_nested(g->node, port)) {
        enum adp_family family = adp_ip_family(&ep->ip);

        adp_gen_ip_flow(g, family, ADP_V115_COOKIE_SERVICE, 0,
                        ADP_V115_EndpointDNAT, 210,
                        "%s,%s,{EpSelectedRegMark+EndpointPortField=0x%"PRIx16
                        "+NestedServiceRegMark} actions=group:%"PRIu32,
                        fe->protocol->match, endpoint_text(ep, false).s,
                        ep->port,
                        get_group_id(g, svc, port, family,
                                     svc->internal_local, false));
    }
}

static void
generate_endpoint(struct adp_generator *g, const struct frontend *fe,
                  const struct adp_endpoint *ep)
{
    enum adp_family family = adp_ip_family(&ep->ip);

    if (adp_endpoint_is_nested(g->node, ep)) {
        generate_nested(g, fe, ep);
    }
    adp_gen_ip_flow(g, family, ADP_V115_COOKIE_SERVICE, 0,
                    ADP_V115_EndpointDNAT, 200,
                    "%s,%s,{EpSelectedRegMark+EndpointPortField=0x%"PRIx16"} "
                    "actions=ct(commit,table=AntreaPolicyEgressRule,"
                    "zone={CtZone},nat(dst=%s:%"PRIu16"),"
                    "exec({ServiceCTMark},"
                    "move:{PktSourceField[]}->{ConnSourceCTMarkField[]}))",
                    fe->protocol->match, endpoint_text(ep, false).s, ep->port,
                    adp_ip_host_text(&ep->ip).s, ep->port);
    if (ep->local) {
        adp_gen_ip_flow(g, family, ADP_V115_COOKIE_SERVICE, 0,
                        ADP_V115_SNATMark, 190,
                        "ct_state=+new+trk,{ip},{ip_src}=%s,{ip_dst}=%s "
                        "actions=ct(commit,table=SNAT,zone={CtZone},"
                        "exec({ConnSNATCTMark},{HairpinCTMark}))",
                        adp_ip_text(&ep->ip).s, adp_ip_text(&ep->ip).s);
    }
}

/* The addresses of a list that are of 'family', as such of 'like', but for
 * those in 'but', and those that are others' (pipeline-vips.h). */
static void
generate_addresses(struct adp_generator *g, struct frontend *fe,
                   const struct adp_ips *ips, const struct adp_ips *but,
                   struct address like)
{
    for (size_t i = 0; i < ips->n; i++) {
        if (adp_ip_family(&ips->ips[i]) == like.family
            && !adp_ips_contain(but, &ips->ips[i])
            && adp_vips_serves(g->vips, fe->svc, fe->port, &ips->ips[i])) {
            like.ip = ips->ips[i];
            generate_address(g, fe, &like);
        }
    }
}

static void
generate_family(struct adp_generator *g, struct frontend *fe,
                enum adp_family family)
{
    const struct adp_service *svc = fe->svc;
    struct address address = { .family = family };

    if (ipv6_addr_is_set(&svc->cluster_ip[family])) {
        address.ip = svc->cluster_ip[family];
        generate_address(g, fe, &address);
    }
    if (!g->node->proxy_all) {
        return;
    }

    address = (struct address) { .family = family, .external = true };
    if (fe->port->node_port && adp_service_has_family(svc, family)) {
        generate_address(g, fe, &address);
    }
    generate_addresses(g, fe, &svc->external_ips, &svc->load_balancer_ips,
                       address);
    address.ranges = true;
    generate_addresses(g, fe, &svc->load_balancer_ips, &(struct adp_ips) {
        .n = 0,
    }, address);
}

static void
generate_port(struct adp_generator *g, const struct adp_service *svc,
              const struct adp_service_port *port)
{
    struct frontend fe = {
        .svc = svc,
        .port = port,
        .protocol = protocol_find(port->protocol),
        .nested = adp_service_port_is_nested(g->node, port),
    };

    bool any_local = (svc->external_local || svc->internal_local
                      || adp_v115_is_dsr(g, svc));

    ADP_FOR_EACH_FAMILY (family) {
        if (adp_gen_has_family(g, family)) {
            generate_family(g, &fe, family);
        }
    }
    for (size_t i = 0; i < port->n_endpoints; i++) {
        const struct adp_endpoint *ep = &port->endpoints[i];

        if (adp_gen_has_family(g, adp_ip_family(&ep->ip))
            && (adp_service_port_selects(port, ep, false)
                || (any_local && adp_service_port_selects(port, ep, true)))) {
            generate_endpoint(g, &fe, ep);
        }
    }
}

void
adp_v115_generate_service(struct adp_generator *g,
                          const struct adp_record *record)
{
    const struct adp_service *svc = CONTAINER_OF(record, struct adp_service,
                                                 up);

    for (size_t i = 0; i < svc->n_ports; i++) {
        generate_port(g, svc, &svc->ports[i]);
    }
}

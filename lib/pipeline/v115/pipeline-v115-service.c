/* SPDX-License-Identifier: Apache-2.0 */

/* Services: endpoint selection (ServiceLB and its groups), session affinity
 * and DNAT.
 *
 * Each port of a Service has up to two groups, one with all endpoints and one
 * with those of this Node only; which of them an address uses follows from the
 * traffic policies. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>
#include <stdlib.h>

#include "packets.h"
#include "util.h"

/* What differs between protocols. */
static const struct protocol {
    uint8_t number;
    const char *match;
    const char *dst_field;
} protocols[] = {
    { IPPROTO_TCP, "tcp", "NXM_OF_TCP_DST[]" },
    { IPPROTO_UDP, "udp", "NXM_OF_UDP_DST[]" },
    { IPPROTO_SCTP, "sctp", "OXM_OF_SCTP_DST[]" },
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
    uint32_t groups[2];         /* IDs, by "local endpoints only"; 0: not made
                                 * yet. */
};

/* Groups. */

static void
put_bucket(struct ds *group, const struct frontend *fe,
           const struct adp_endpoint *ep, size_t bucket_id, bool remote)
{
    ds_put_format(group, ",bucket=bucket_id:%"PRIuSIZE",weight:%"PRIu16
                  ",actions=%s{EndpointIPField=0x%"PRIx32"},"
                  "{EndpointPortField=0x%"PRIx16"},resubmit(,%s)",
                  bucket_id, ep->weight,
                  remote ? "{RemoteEndpointRegMark}," : "",
                  ntohl(ep->ip), ep->port,
                  fe->svc->affinity_timeout ? "ServiceLB" : "EndpointDNAT");
}

static void
generate_group(struct adp_generator *g, const struct frontend *fe,
               uint32_t id, bool local)
{
    struct ds template = DS_EMPTY_INITIALIZER;
    size_t n_buckets = 0;

    ds_put_format(&template, "group_id=%"PRIu32",type=select", id);
    for (size_t i = 0; i < fe->port->n_endpoints; i++) {
        const struct adp_endpoint *ep = &fe->port->endpoints[i];

        if (ep->local || !local) {
            put_bucket(&template, fe, ep, n_buckets++,
                       !ep->local && adp_gen_is_remote(g, ep->ip));
        }
    }
    if (!n_buckets) {
        ds_put_cstr(&template, ",bucket=bucket_id:0,weight:100,"
                    "actions={SvcNoEpRegMark},resubmit(,EndpointDNAT)");
    }

    adp_gen_group(g, ds_cstr(&template));
    ds_destroy(&template);
}

/* Returns the ID of the group of all or of the local endpoints, making the
 * group if nobody asked for it before. */
static uint32_t
frontend_group(struct adp_generator *g, struct frontend *fe, bool local)
{
    if (fe->groups[local]) {
        return fe->groups[local];
    }

    const char *protocol = fe->protocol->match;
    char *key = xasprintf("%s %s/%"PRIu16" %s", fe->svc->up.name, protocol,
                          fe->port->port, local ? "local" : "cluster");
    const struct adp_id_part part = {
        .record = &fe->svc->up,
        .index = fe->port - fe->svc->ports,
        .local = local,
    };
    uint32_t id = adp_gen_group_id(
        g, key, &part,
        xasprintf("Service %s, port %"PRIu16"/%s%s", fe->svc->up.name,
                  fe->port->port, protocol,
                  local ? ", local endpoints" : ""));
    free(key);

    if (id) {
        generate_group(g, fe, id, local);
    } else if (!g->error) {
        g->error = adp_error_create("limit",
                                    adp_record_describe(&fe->svc->up), NULL,
                                    "no group ID is left");
    }
    fe->groups[local] = id;
    return id;
}

/* Flows. */

/* Where a Service is reached: an address, or any NodePort address. */
struct address {
    ovs_be32 ip;                /* 0: NodePort. */
    bool external;              /* Not a ClusterIP. */
};

/* The match of ServiceLB on packets for 'address' whose endpoint selection is
 * in the state 'ep_state' (an EP_* mark), with more marks in 'extra'. */
static char *
address_match(const struct frontend *fe, const struct address *address,
              const char *ep_state, const char *extra)
{
    return (address->ip
            ? xasprintf("%s,{%s%s},nw_dst="IP_FMT",tp_dst=%"PRIu16,
                        fe->protocol->match, ep_state, extra,
                        IP_ARGS(address->ip), fe->port->port)
            : xasprintf("%s,{%s+ToNodePortAddressRegMark%s},tp_dst=%"PRIu16,
                        fe->protocol->match, ep_state, extra,
                        fe->port->node_port));
}

static void
generate_select(struct adp_generator *g, const struct frontend *fe,
                const struct address *address, int priority,
                const char *extra, uint32_t group)
{
    char *match = address_match(fe, address, "EpToSelectRegMark", extra);

    adp_gen_flow(g, ADP_V115_COOKIE_SERVICE, group, ADP_V115_ServiceLB,
                 priority,
                 "%s actions={RewriteMACRegMark},{%s},%s"
                 "{ServiceGroupIDField=0x%"PRIx32"},group:%"PRIu32,
                 match,
                 fe->svc->affinity_timeout ? "EpToLearnRegMark"
                                           : "EpSelectedRegMark",
                 address->external ? "{ToExternalAddressRegMark}," : "",
                 group, group);
    free(match);
}

/* Remembers the endpoint that was selected, for the client's next connections,
 * and by which group, for policies. */
static void
generate_learn(struct adp_generator *g, const struct frontend *fe,
               const struct address *address, uint32_t group)
{
    char *match = address_match(fe, address, "EpToLearnRegMark", "");

    adp_gen_flow(
        g, ADP_V115_COOKIE_SERVICE, group, ADP_V115_ServiceLB, 190,
        "%s actions=learn(table=SessionAffinity,hard_timeout=%"PRIu16","
        "priority=200,delete_learned,cookie=0x%"PRIx64",eth_type=0x800,"
        "nw_proto=%"PRIu8",%s,NXM_OF_IP_DST[],NXM_OF_IP_SRC[],"
        "load:{EndpointPortField[]}->{EndpointPortField[]},"
        "load:{RemoteEndpointRegMark[]}->{RemoteEndpointRegMark[]},"
        "load:{EndpointIPField[]}->{EndpointIPField[]},"
        "load:0x2->{ServiceEPStateField[]},load:0x1->{RewriteMACRegMark[]}%s,"
        "load:0x%"PRIx32"->{ServiceGroupIDField[]}),"
        "{EpSelectedRegMark},goto_table:EndpointDNAT",
        match, fe->svc->affinity_timeout,
        adp_gen_cookie(g, ADP_V115_COOKIE_SERVICE, group),
        fe->protocol->number, fe->protocol->dst_field,
        address->external ? ",load:0x1->{ToExternalAddressRegMark[]}" : "",
        group);
    free(match);
}

static void
generate_address(struct adp_generator *g, struct frontend *fe,
                 const struct address *address)
{
    bool local = (address->external ? fe->svc->external_local
                  : fe->svc->internal_local);
    uint32_t group;

    if (local && address->external) {
        /* Who is on this Node may use all endpoints. */
        generate_select(g, fe, address, 210, "+FromLocalRegMark",
                        frontend_group(g, fe, false));
    }
    group = frontend_group(g, fe, local);
    generate_select(g, fe, address, 200, "", group);
    if (fe->svc->affinity_timeout) {
        generate_learn(g, fe, address, group);
    }
}

static void
generate_endpoint(struct adp_generator *g, const struct frontend *fe,
                  const struct adp_endpoint *ep)
{
    adp_gen_flow(g, ADP_V115_COOKIE_SERVICE, 0, ADP_V115_EndpointDNAT, 200,
                 "%s,{EndpointIPField=0x%"PRIx32"},"
                 "{EpSelectedRegMark+EndpointPortField=0x%"PRIx16"} "
                 "actions=ct(commit,table=AntreaPolicyEgressRule,"
                 "zone={CtZone},nat(dst="IP_FMT":%"PRIu16"),"
                 "exec({ServiceCTMark},"
                 "move:{PktSourceField[]}->{ConnSourceCTMarkField[]}))",
                 fe->protocol->match, ntohl(ep->ip), ep->port,
                 IP_ARGS(ep->ip), ep->port);
    if (ep->local) {
        adp_gen_flow(g, ADP_V115_COOKIE_SERVICE, 0, ADP_V115_SNATMark, 190,
                     "ct_state=+new+trk,ip,nw_src="IP_FMT",nw_dst="IP_FMT" "
                     "actions=ct(commit,table=SNAT,zone={CtZone},"
                     "exec({ConnSNATCTMark},{HairpinCTMark}))",
                     IP_ARGS(ep->ip), IP_ARGS(ep->ip));
    }
}

static void
generate_port(struct adp_generator *g, const struct adp_service *svc,
              const struct adp_service_port *port)
{
    struct frontend fe = {
        .svc = svc,
        .port = port,
        .protocol = protocol_find(port->protocol),
    };

    if (svc->cluster_ip) {
        generate_address(g, &fe,
                         &(struct address) { svc->cluster_ip, false });
    }
    if (g->node->proxy_all) {
        if (port->node_port) {
            generate_address(g, &fe, &(struct address) { 0, true });
        }
        for (size_t i = 0; i < svc->load_balancer_ips.n; i++) {
            generate_address(g, &fe, &(struct address) {
                                 svc->load_balancer_ips.ips[i], true });
        }
        for (size_t i = 0; i < svc->external_ips.n; i++) {
            generate_address(g, &fe, &(struct address) {
                                 svc->external_ips.ips[i], true });
        }
    }
    for (size_t i = 0; i < port->n_endpoints; i++) {
        generate_endpoint(g, &fe, &port->endpoints[i]);
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

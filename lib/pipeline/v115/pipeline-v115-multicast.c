/* SPDX-License-Identifier: Apache-2.0 */

/* Multicast over IPv4, with the option multicast: the tables behind
 * NDResponder.
 *
 * What Pods, the gateway and the tunnel send to 224.0.0.0/4 leaves UnSNAT for
 * them: it isn't tracked.  MulticastRouting sends a copy to each Pod of this
 * Node that joined the group, to the gateway, and to Nodes with such Pods.
 * What came by the gateway isn't for other Nodes, which get it themselves, and
 * what came by the tunnel isn't for the gateway, since the sender's Node has
 * one, too.
 *
 * Messages of IGMP from Pods and other Nodes go no further: the datapath reads
 * them.  Queries go to all Pods, or those of the group that they ask about. */

#include <config.h>
#include "pipeline-v115.h"

#include <inttypes.h>
#include <netinet/in.h>

#include "flow.h"
#include "packets.h"
#include "util.h"

#define DEFAULT(TABLE) ADP_V115_COOKIE_DEFAULT, 0, ADP_V115_##TABLE
#define MULTICAST(TABLE) ADP_V115_COOKIE_MULTICAST, 0, ADP_V115_##TABLE

#define IGMP "ip,nw_proto=2"
#define TO_AGENT "controller(reason=no_match,id={ControllerID},userdata=03)"

static void
generate_misses(struct adp_generator *g)
{
    static const struct {
        size_t table;
        const char *actions;
    } misses[] = {
        { ADP_V115_MulticastEgressRule, "goto_table:MulticastEgressMetric" },
        { ADP_V115_MulticastEgressMetric,
          "goto_table:MulticastEgressPodMetric" },
        { ADP_V115_MulticastEgressPodMetric, "goto_table:MulticastRouting" },
        { ADP_V115_MulticastRouting, "goto_table:MulticastIngressRule" },
        { ADP_V115_MulticastIngressRule, "goto_table:MulticastIngressMetric" },
        { ADP_V115_MulticastIngressMetric,
          "goto_table:MulticastIngressPodMetric" },
        { ADP_V115_MulticastIngressPodMetric, "goto_table:MulticastOutput" },
        { ADP_V115_MulticastOutput, "drop" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(misses); i++) {
        adp_gen_flow(g, ADP_V115_COOKIE_DEFAULT, 0, misses[i].table, 0,
                     "actions=%s", misses[i].actions);
    }
}

/* Between the tunnel and the gateway nothing passes. */
static void
generate_output(struct adp_generator *g, ofp_port_t gateway)
{
    ofp_port_t tunnel;

    if (g->node->tunnel_port
        && adp_gen_port(g, g->node->tunnel_port, &tunnel)) {
        adp_gen_flow(g, MULTICAST(MulticastRouting), 210,
                     IGMP",{FromTunnelRegMark} actions="TO_AGENT);
        adp_gen_flow(g, MULTICAST(MulticastOutput), 210,
                     "{FromTunnelRegMark+OutputToOFPortRegMark},"
                     "{TargetOFPortField=0x%"PRIx32"} actions=drop", gateway);
        adp_gen_flow(g, MULTICAST(MulticastOutput), 210,
                     "{FromGatewayRegMark+OutputToOFPortRegMark},"
                     "{TargetOFPortField=0x%"PRIx32"} actions=drop", tunnel);
    }
    adp_gen_flow(g, MULTICAST(MulticastOutput), 200,
                 "{OutputToOFPortRegMark} "
                 "actions=output:{TargetOFPortField[]}");
}

void
adp_v115_generate_multicast(struct adp_generator *g)
{
    ofp_port_t gateway;

    if (!adp_gen_option(g, ADP_V115_MULTICAST)
        || !adp_gen_port(g, g->node->gateway_port, &gateway)) {
        return;
    }

    generate_misses(g);
    adp_gen_flow(g, MULTICAST(UnSNAT), 210, "ip,nw_dst=224.0.0.0/4 "
                 "actions=goto_table:MulticastEgressRule");
    adp_gen_flow(g, MULTICAST(MulticastEgressRule), 64990,
                 IGMP",{FromPodRegMark} actions=goto_table:MulticastRouting");
    adp_gen_flow(g, MULTICAST(MulticastEgressPodMetric), 210,
                 IGMP" actions=goto_table:MulticastRouting");
    adp_gen_flow(g, MULTICAST(MulticastRouting), 210,
                 IGMP",{FromPodRegMark} actions="TO_AGENT);
    /* Nobody here has joined; somebody outside may have. */
    adp_gen_flow(g, MULTICAST(MulticastRouting), 190,
                 "ip actions={OutputToOFPortRegMark},"
                 "{TargetOFPortField=0x%"PRIx32"},"
                 "goto_table:MulticastOutput", gateway);
    adp_gen_flow(g, MULTICAST(MulticastIngressPodMetric), 210,
                 IGMP" actions=goto_table:MulticastOutput");
    generate_output(g, gateway);
}

void
adp_v115_generate_multicast_pod(struct adp_generator *g, ofp_port_t port,
                                const struct adp_pod *pod)
{
    if (!adp_gen_option(g, ADP_V115_MULTICAST)) {
        return;
    }
    for (size_t i = 0; i < pod->ips.n; i++) {
        if (adp_ip_is_v4(&pod->ips.ips[i])) {
            adp_gen_flow(g, ADP_V115_COOKIE_MULTICAST, ofp_to_u16(port),
                         ADP_V115_MulticastEgressPodMetric, 200,
                         "ip,nw_src=%s actions=goto_table:MulticastRouting",
                         adp_ip_text(&pod->ips.ips[i]).s);
        }
    }
    adp_gen_flow(g, ADP_V115_COOKIE_MULTICAST, ofp_to_u16(port),
                 ADP_V115_MulticastIngressPodMetric, 200,
                 "ip,{TargetOFPortField=0x%"PRIx32"} "
                 "actions=goto_table:MulticastOutput", port);
}

static void
put_port(struct ds *group, size_t bucket_id, ofp_port_t port)
{
    ds_put_format(group, ",bucket=bucket_id:%"PRIuSIZE","
                  "actions={OutputToOFPortRegMark},"
                  "{TargetOFPortField=0x%"PRIx32"},"
                  "resubmit(,MulticastIngressRule)", bucket_id, port);
}

/* What is for 'ip', and fits 'match', goes to the group of 'text', which
 * this takes. */
static void
generate_group(struct adp_generator *g, const char *match, ovs_be32 ip,
               uint32_t id, struct ds *text)
{
    adp_gen_group(g, ds_cstr(text));
    adp_gen_flow(g, MULTICAST(MulticastRouting), 200,
                 "%s,nw_dst="IP_FMT" actions=group:%"PRIu32, match,
                 IP_ARGS(ip), id);
    ds_destroy(text);
}

static bool
note_no_id(struct adp_generator *g, const struct adp_record *record,
           uint32_t id)
{
    if (!id && !g->error) {
        g->error = adp_error_create("limit", adp_record_describe(record),
                                    NULL, "no group ID is left");
    }
    return !id;
}

void
adp_v115_generate_queries(struct adp_generator *g, const ofp_port_t *ports,
                          size_t n)
{
    const struct adp_id_part part = { .record = &g->node->up };
    struct ds text = DS_EMPTY_INITIALIZER;

    if (!adp_gen_option(g, ADP_V115_MULTICAST)) {
        return;
    }

    uint32_t id = adp_gen_other_group_id(g, "IGMP queries", &part,
                                         xstrdup("IGMP queries to all Pods"));
    if (note_no_id(g, &g->node->up, id)) {
        return;
    }
    ds_put_format(&text, "group_id=%"PRIu32",type=all", id);
    for (size_t i = 0; i < n; i++) {
        put_port(&text, i, ports[i]);
    }
    /* Nobody has joined, so nothing but queries is for all. */
    generate_group(g, IGMP, htonl(INADDR_ALLHOSTS_GROUP), id, &text);
}

static uint32_t
get_group_id(struct adp_generator *g, const struct adp_record *record)
{
    const struct adp_id_part part = { .record = record };
    char *key = xasprintf("MulticastGroup %s", record->name);
    uint32_t id = adp_gen_group_id(g, key, &part,
                                   xasprintf("multicast group %s",
                                             record->name));

    free(key);
    return id;
}

/* Nodes get copies without a look at rules of ingress, which are their own. */
static size_t
put_nodes(struct adp_generator *g, struct ds *text, size_t n_buckets,
          const struct adp_ips *nodes)
{
    ofp_port_t tunnel;

    if (!g->node->tunnel_port
        || !adp_gen_port(g, g->node->tunnel_port, &tunnel)) {
        return n_buckets;
    }
    for (size_t i = 0; i < nodes->n; i++) {
        ds_put_format(text, ",bucket=bucket_id:%"PRIuSIZE","
                      "actions={OutputToOFPortRegMark},"
                      "{TargetOFPortField=0x%"PRIx32"},set_field:%s->%s,"
                      "resubmit(,MulticastOutput)", n_buckets++, tunnel,
                      adp_ip_text(&nodes->ips[i]).s,
                      adp_v115_tun_dst(&nodes->ips[i]));
    }
    return n_buckets;
}

void
adp_v115_generate_multicast_group(struct adp_generator *g,
                                  const struct adp_record *record)
{
    const struct adp_multicast_group *group
        = CONTAINER_OF(record, struct adp_multicast_group, up);
    struct ds text = DS_EMPTY_INITIALIZER;
    size_t n = 0;
    ofp_port_t port;

    if (!adp_gen_option(g, ADP_V115_MULTICAST)) {
        return;
    }

    uint32_t id = get_group_id(g, record);
    if (note_no_id(g, record, id)) {
        return;
    }
    ds_put_format(&text, "group_id=%"PRIu32",type=all", id);
    if (adp_gen_port(g, g->node->gateway_port, &port)) {
        put_port(&text, n++, port);
    }
    for (size_t i = 0; i < group->ports.n; i++) {
        if (adp_gen_port(g, group->ports.names[i], &port)) {
            put_port(&text, n++, port);
        }
    }
    put_nodes(g, &text, n, &group->nodes);
    generate_group(g, "ip", group->ip, id, &text);
}

/* Policies. */

static struct adp_error *
refuse(const struct adp_network_policy *policy, size_t rule, const char *field,
       const char *why)
{
    return adp_error_create("invalid", adp_record_describe(&policy->up),
                            xasprintf("rules[%"PRIuSIZE"].%s", rule, field),
                            "%s", why);
}

static struct adp_error *
check_multicast_rule(const struct adp_network_policy *policy, size_t i,
                     const struct adp_network_policy_rule *rule,
                     const struct adp_ip_block *other)
{
    const struct adp_peer *peer = &rule->peer;

    return (other || peer->address_groups.n || peer->to_services.n
            || peer->fqdns.n
            ? refuse(policy, i, "to", "multicast and other addresses don't go "
                     "into one rule")
            : rule->action != ADP_ACTION_ALLOW
            && rule->action != ADP_ACTION_DROP
            ? refuse(policy, i, "action", "a rule for multicast can only "
                     "allow and drop")
            : rule->l7_protocols
            ? refuse(policy, i, "l7Protocols", "doesn't go with multicast")
            : rule->logs
            ? refuse(policy, i, "enableLogging", "doesn't go with multicast")
            : NULL);
}

bool
adp_v115_is_multicast_rule(const struct adp_network_policy *policy,
                           const struct adp_network_policy_rule *rule,
                           uint64_t options)
{
    const struct adp_ip_block *other;

    return (options & UINT64_C(1) << ADP_V115_MULTICAST
            && (policy->type == ADP_POLICY_ACNP
                || policy->type == ADP_POLICY_ANP)
            && (adp_network_policy_rule_is_igmp(rule)
                || adp_network_policy_rule_is_multicast(rule, &other)));
}

struct adp_error *
adp_v115_check_policy(const struct adp_network_policy *policy,
                      uint64_t options)
{
    struct adp_error *error = NULL;

    for (size_t i = 0; i < policy->n_rules && !error; i++) {
        const struct adp_network_policy_rule *rule = &policy->rules[i];
        const struct adp_ip_block *other;

        if (adp_network_policy_rule_is_igmp(rule)) {
            if (!(options & UINT64_C(1) << ADP_V115_MULTICAST)) {
                error = refuse(policy, i, "services", "IGMP needs the option "
                               "multicast of pipeline v1.15");
            }
        } else if (adp_v115_is_multicast_rule(policy, rule, options)
                   && adp_network_policy_rule_is_multicast(rule, &other)) {
            error = check_multicast_rule(policy, i, rule, other);
        }
    }
    return error;
}

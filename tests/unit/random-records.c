/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "random-records.h"

#include <limits.h>

#include "openvswitch/dynamic-string.h"
#include "quoted-json.h"
#include "random.h"
#include "util.h"

unsigned int random_policy_types = (1u << ADP_POLICY_K8S
                                    | 1u << ADP_POLICY_ACNP
                                    | 1u << ADP_POLICY_ANP
                                    | 1u << ADP_POLICY_ADMIN
                                    | 1u << ADP_POLICY_BASELINE_ADMIN);

unsigned int random_kinds = UINT_MAX;

bool random_ipv6 = true;
bool random_multicast;

/* How many names there are of each kind. */
static const int n_names[ADP_N_KINDS] = {
    [ADP_KIND_ADDRESS_GROUP] = 5,
    [ADP_KIND_APPLIED_TO_GROUP] = 5,
    [ADP_KIND_EGRESS] = 4,
    [ADP_KIND_FQDN] = 3,
    [ADP_KIND_MANIFEST] = 1,
    [ADP_KIND_MULTICAST_GROUP] = 3,
    [ADP_KIND_NETWORK_POLICY] = 8,
    [ADP_KIND_NODE_CONFIG] = 1,
    [ADP_KIND_PEER_NODE] = 4,
    [ADP_KIND_POD] = 8,
    [ADP_KIND_SERVICE] = 4,
    [ADP_KIND_TRAFFIC_CONTROL] = 4,
};

static bool
one_in(int n)
{
    return !random_range(n);
}

/* 'own' as a rule, now and then another one below 'n'. */
static int
mostly(int own, int n)
{
    return one_in(16) ? random_range(n) : own;
}

static char *
record_name(enum adp_kind kind, int i)
{
    bool namespaced = kind == ADP_KIND_POD || kind == ADP_KIND_SERVICE;

    return (kind == ADP_KIND_MULTICAST_GROUP ? xasprintf("239.0.0.%d", i + 1)
            : xasprintf("%sn%d", namespaced ? "d/" : "", i));
}

static void
put_list(struct ds *s, const char *name, const char *format, int n)
{
    const char *separator = "";

    ds_put_format(s, "'%s':[", name);
    for (int i = 0; i < n; i++) {
        if (one_in(2)) {
            ds_put_cstr(s, separator);
            ds_put_format(s, format, i); /* All formats have one "%d". */
            separator = ",";
        }
    }
    ds_put_char(s, ']');
}

static void
put_node_config(struct ds *s)
{
    bool v6 = random_ipv6 && !one_in(4);

    ds_put_format(s, "'gateway':{'port':'gw0','mac':'00:00:00:00:01:%02d',"
                  "'ip':%s},", random_range(2),
                  v6 ? "['10.0.0.1','fd00::1']" : "'10.0.0.1'");
    if (!one_in(4)) {
        ds_put_cstr(s, "'tunnel':{'port':'tun0'},");
    }
    if (one_in(2)) {
        ds_put_format(s, "'serviceCIDR':%s,",
                      one_in(2) ? "'10.96.0.0/16'"
                      : "['fd96::/112','10.96.0.0/16']");
    }
    if (one_in(2)) {
        ds_put_format(s, "'l7':{'targetPort':'l7a','returnPort':'l7%c'},",
                      one_in(8) ? 'a' : 'b');
    }
    if (one_in(4)) {
        ds_put_cstr(s, "'nodePortAddresses':['192.168.0.1','fd0f::1'],");
    }
    ds_put_format(s, "'podCIDR':%s,'transportIP':'%s','proxyAll':%s",
                  v6 ? "['10.0.0.0/24','fd00::/64']" : "'10.0.0.0/24'",
                  v6 && one_in(4) ? "fd0f::1" : "192.168.0.1",
                  one_in(3) ? "false" : "true");
}

static void
put_pod(struct ds *s, int i)
{
    ds_put_format(s, "'port':'p%d','mac':'00:00:00:00:00:%02d',"
                  "'ips':['10.0.0.1%d'",
                  mostly(i, RANDOM_N_POD_PORTS), mostly(i, 10),
                  mostly(i, 10));
    if (one_in(4)) {
        ds_put_format(s, ",'10.0.0.2%d'", mostly(i, 10));
    }
    if (one_in(2)) {
        ds_put_format(s, ",'fd00::1%d'", mostly(i, 10));
    }
    ds_put_char(s, ']');
}

static void
put_peer_node(struct ds *s, int i)
{
    bool v4 = !random_ipv6 || !one_in(4);
    int net = 1 + mostly(i, 4);

    if (v4 && one_in(2)) {
        ds_put_format(s, "'podCIDR':'10.0.%d.0/%d','gatewayIP':'10.0.%d.1',",
                      net, one_in(4) ? 25 : 24, 1 + mostly(i, 4));
    } else if (v4) {
        ds_put_format(s, "'podCIDR':['10.0.%d.0/%d','fd00:0:0:%d::/64'],"
                      "'gatewayIP':['10.0.%d.1','fd00:0:0:%d::1'],",
                      net, one_in(4) ? 25 : 24, net, net, net);
    } else {
        ds_put_format(s, "'podCIDR':'fd00:0:0:%d::/64',"
                      "'gatewayIP':'fd00:0:0:%d::1',", net, net);
    }
    ds_put_format(s, "'transportIP':'%s%d'",
                  random_ipv6 && one_in(4) ? "fd0f::1" : "192.168.0.1",
                  mostly(i, 4));
    if (random_ipv6 && one_in(2)) {
        ds_put_format(s, ",'nodeIPs':['192.168.0.1%d','fd0f::1%d']",
                      mostly(i, 4), mostly(i, 4));
    }
}

static void
put_endpoints(struct ds *s)
{
    int first = random_range(4);
    int n = random_range(5);

    ds_put_cstr(s, "'endpoints':[");
    for (int i = 0; i < n; i++) {
        int net = random_range(5);

        if (one_in(8)) {
            /* Another Service, or itself. */
            ds_put_format(s, "%s{'ip':'%s%d','port':80}", i ? "," : "",
                          one_in(2) ? "10.96.0." : "fd96::",
                          1 + (first + i) % 4);
            continue;
        }
        ds_put_format(s, one_in(3) ? "%s{'ip':'fd00:0:0:%d::1%d'"
                      : "%s{'ip':'10.0.%d.1%d'", i ? "," : "", net,
                      first + i);
        ds_put_format(s, ",'port':%d,'local':%s", 80 + random_range(2),
                      net ? "false" : "true");
        if (one_in(3)) {
            ds_put_cstr(s, ",'terminating':true");
        }
        if (!net && one_in(4)) {
            ds_put_cstr(s, ",'localOnly':true");
        }
        if (one_in(4)) {
            ds_put_cstr(s, ",'weight':7");
        }
        ds_put_char(s, '}');
    }
    ds_put_char(s, ']');
}

static void
put_service(struct ds *s, int i)
{
    if (!one_in(4)) {
        int last = 1 + mostly(i, 4);

        if (one_in(2)) {
            ds_put_format(s, "'clusterIP':['10.96.0.%d','fd96::%d'],", last,
                          last);
        } else {
            ds_put_format(s, "'clusterIP':'%s%d',",
                          one_in(4) ? "fd96::" : "10.96.0.", last);
        }
    }
    if (one_in(3)) {
        ds_put_format(s, "'loadBalancerIPs':['172.16.0.%d'",
                      1 + mostly(i, 4));
        if (one_in(2)) {
            ds_put_format(s, ",'fd16::%d'", 1 + mostly(i, 4));
        }
        ds_put_cstr(s, "],");
    }
    if (one_in(3)) {
        put_list(s, "loadBalancerSourceRanges",
                 one_in(2) ? "'192.0.%d.0/24'" : "'fd92:0:%d::/48'", 3);
        ds_put_char(s, ',');
    }
    if (one_in(3)) {
        /* Others' addresses among them. */
        static const char *const nets[] = {
            "172.17.0.", "fd17::", "172.16.0.", "10.96.0.", "fd96::",
        };

        ds_put_format(s, "'externalIPs':['%s%d'],",
                      nets[random_range(ARRAY_SIZE(nets))],
                      1 + mostly(i, 4));
    }
    if (one_in(3)) {
        ds_put_format(s, "'created':'2026-01-0%d',", 1 + random_range(3));
    }
    if (one_in(3)) {
        ds_put_cstr(s, "'sessionAffinity':{'timeoutSeconds':60},");
    }
    if (one_in(3)) {
        ds_put_cstr(s, "'externalTrafficPolicy':'Local',");
    }
    if (one_in(3)) {
        ds_put_cstr(s, "'internalTrafficPolicy':'Local',");
    }
    if (one_in(3)) {
        ds_put_cstr(s, "'loadBalancerMode':'DSR',");
    }
    ds_put_cstr(s, "'ports':[{'port':80,");
    put_endpoints(s);
    if (one_in(2)) {
        ds_put_format(s, ",'nodePort':%d", 30000 + mostly(i, 4));
    }
    ds_put_char(s, '}');
    if (one_in(2)) {
        ds_put_format(s, ",{'port':80,'protocol':'%s',",
                      one_in(2) ? "UDP" : "SCTP");
        put_endpoints(s);
        ds_put_char(s, '}');
    }
    ds_put_char(s, ']');
}

static void
put_address_group(struct ds *s)
{
    put_list(s, "addresses", "'10.0.%d.0/24'", random_range(4));
    ds_chomp(s, ']');
    for (int i = 0; i < 6; i++) {
        if (one_in(2)) {
            ds_put_format(s, "%s'%s%d'", ds_last(s) == '[' ? "" : ",",
                          one_in(3) ? "fd00:0:0:1::" : "10.0.1.", i);
        }
    }
    if (one_in(12)) {
        ds_put_format(s, "%s'%s'", ds_last(s) == '[' ? "" : ",",
                      one_in(2) ? "0.0.0.0/0" : "::/0");
    }
    ds_put_char(s, ']');
}

static void
put_egress(struct ds *s)
{
    put_list(s, "appliedToGroups", "'n%d'", 5);
    ds_put_format(s, ",'egressIP':'%s%d'",
                  one_in(3) ? "fd18::" : "172.18.0.", 1 + random_range(3));
    if (!one_in(4)) {
        ds_put_format(s, ",'egressNode':'n%d'", random_range(2));
    }
    if (one_in(3)) {
        ds_put_format(s, ",'bandwidth':{'rateKbps':%d,'burstKbits':%d}",
                      1 + random_range(3), 12 + random_range(2));
    }
}

static void
put_traffic_control(struct ds *s)
{
    static const char *const directions[] = { "Ingress", "Egress", "Both" };
    int target = mostly(RANDOM_N_POD_PORTS + random_range(2), RANDOM_N_PORTS);

    put_list(s, "appliedToGroups", "'n%d'", 5);
    ds_put_format(s, ",'direction':'%s','targetPort':'p%d'",
                  directions[random_range(ARRAY_SIZE(directions))], target);
    if (one_in(2)) {
        ds_put_format(s, ",'action':'Redirect','returnPort':'p%d'",
                      mostly(RANDOM_N_PORTS - 1, RANDOM_N_PORTS));
    } else {
        ds_put_cstr(s, ",'action':'Mirror'");
    }
}

static void
put_rule_services(struct ds *s)
{
    static const char *const services[] = {
        "{'protocol':'TCP','port':80}",
        "{'protocol':'TCP','port':80},{'protocol':'UDP'}",
        "{'protocol':'UDP','port':1000,'endPort':1999}",
        "{'protocol':'ICMP'}",
        "{'protocol':'ICMP','icmpType':8,'icmpCode':0}",
        "{'protocol':'ICMP','icmpType':3},{'protocol':'SCTP','port':5}",
        "{'protocol':'TCP','port':80},{'protocol':'TCP','port':80}",
        "{'protocol':'UDP','srcPort':67,'srcEndPort':69}",
        "{'protocol':'SCTP','srcPort':6,'port':5,'endPort':8}",
    };

    if (one_in(2)) {
        ds_put_format(s, ",'services':[%s]",
                      services[random_range(ARRAY_SIZE(services))]);
    }
}

static void
put_multicast_rule(struct ds *s)
{
    bool ingress = one_in(3), igmp = ingress || one_in(2);

    ds_put_format(s, "{'direction':'%s','action':'%s'",
                  ingress ? "In" : "Out", one_in(2) ? "Allow" : "Drop");
    if (one_in(3)) {
        ds_put_char(s, ',');
        put_list(s, "appliedToGroups", "'n%d'", 4);
    }
    if (!igmp) {
        ds_put_format(s, ",'to':{'ipBlocks':[{'cidr':'239.0.0.%d/32'}%s]}",
                      random_range(3),
                      one_in(2) ? ",{'cidr':'224.0.0.0/4','except':"
                      "['239.0.0.0/30']}" : "");
        if (one_in(2)) {
            ds_put_cstr(s, ",'services':[{'protocol':'UDP','port':5000}]");
        }
    } else {
        ds_put_cstr(s, ",'services':[{'protocol':'IGMP'");
        if (one_in(2)) {
            ds_put_format(s, ",'groupAddress':'239.0.0.%d'",
                          1 + random_range(3));
        }
        if (one_in(2)) {
            ds_put_format(s, ",'igmpType':%d", ingress ? 17
                          : one_in(2) ? 22 : 34);
        }
        ds_put_cstr(s, "}]");
    }
    ds_put_char(s, '}');
}

/* 'services': the policy is applied to some. */
static void
put_rule(struct ds *s, enum adp_policy_type type, int tier, bool services)
{
    static const char *const actions[] = { "Allow", "Drop", "Reject", "Pass" };
    size_t n_actions = ARRAY_SIZE(actions) - (tier >= ADP_TIER_BASELINE);
    bool ingress = services || one_in(2), may_be_l7 = true;
    bool own = services || one_in(3);   /* Is it applied to others? */

    ds_put_format(s, "{'direction':'%s'", ingress ? "In" : "Out");
    if (type != ADP_POLICY_K8S && !one_in(4)) {
        int action = random_range(n_actions);

        ds_put_format(s, ",'action':'%s'", actions[action]);
        may_be_l7 = !action;
    }
    if (own) {
        services = ingress && type == ADP_POLICY_ACNP
                   && (services || one_in(2));
        ds_put_char(s, ',');
        put_list(s, services ? "appliedToServices" : "appliedToGroups",
                 services ? "'d/n%d'" : "'n%d'", 4);
        may_be_l7 &= !services;
    }
    if (!one_in(4)) {
        ds_put_format(s, ",'%s':{", ingress ? "from" : "to");
        put_list(s, "addressGroups", "'n%d'", services ? 0 : random_range(4));
        if (services || one_in(3)) {
            ds_put_cstr(s, ",'ipBlocks':[{'cidr':'10.0.1.0/24',"
                        "'except':['10.0.1.4/30']},"
                        "{'cidr':'fd00:0:0:1::/64',"
                        "'except':['fd00:0:0:1::4/126']}]");
        }
        if (!ingress && type != ADP_POLICY_K8S && one_in(2)) {
            ds_put_char(s, ',');
            put_list(s, "toServices", "'d/n%d'", 4);
            may_be_l7 = false;
        }
        if (!ingress && one_in(2)
            && (type == ADP_POLICY_ACNP || type == ADP_POLICY_ANP)) {
            ds_put_char(s, ',');
            put_list(s, "fqdns", "'n%d'", 3);
        }
        ds_put_char(s, '}');
    }
    put_rule_services(s);
    if ((type == ADP_POLICY_ACNP || type == ADP_POLICY_ANP) && one_in(2)
        && (may_be_l7 || one_in(32))) {
        ds_put_format(s, ",'l7Protocols':[{'%s':{}}]",
                      one_in(16) ? "http" : "tls");
    }
    if (one_in(3)) {
        ds_put_format(s, ",'enableLogging':%s", one_in(4) ? "false" : "true");
    }
    if (one_in(4)) {
        ds_put_format(s, ",'logLabel':'l%"PRIu32"'", random_range(3));
    }
    ds_put_char(s, '}');
}

static void
put_network_policy(struct ds *s)
{
    static const char *const types[] = {
        [ADP_POLICY_K8S] = "K8sNetworkPolicy",
        [ADP_POLICY_ACNP] = "AntreaClusterNetworkPolicy",
        [ADP_POLICY_ANP] = "AntreaNetworkPolicy",
        [ADP_POLICY_ADMIN] = "AdminNetworkPolicy",
        [ADP_POLICY_BASELINE_ADMIN] = "BaselineAdminNetworkPolicy",
    };
    static const int tiers[] = { 50, 250, ADP_TIER_BASELINE, 254 };
    int tier = tiers[random_range(ARRAY_SIZE(tiers))];
    enum adp_policy_type type;
    int n = random_range(4);

    do {
        type = random_range(ARRAY_SIZE(types));
    } while (!(random_policy_types & 1u << type));
    ds_put_format(s, "'type':'%s',", types[type]);
    if (type != ADP_POLICY_K8S) {
        ds_put_format(s, "'tierPriority':%d,'priority':%d.%d,",
                      tier, 5 + random_range(2), random_range(3));
    }
    bool services = type == ADP_POLICY_ACNP && one_in(4);
    put_list(s, services ? "appliedToServices" : "appliedToGroups",
             services ? "'d/n%d'" : "'n%d'", 5);
    ds_put_cstr(s, ",'rules':[");
    for (int i = 0; i < n; i++) {
        ds_put_cstr(s, i ? "," : "");
        if (random_multicast && !services && one_in(3)
            && (type == ADP_POLICY_ACNP || type == ADP_POLICY_ANP)) {
            put_multicast_rule(s);
        } else {
            put_rule(s, type, tier, services);
        }
    }
    ds_put_char(s, ']');
}

struct json *
random_record(enum adp_kind kind)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    int i = random_range(n_names[kind]);
    char *name = record_name(kind, i);

    ds_put_format(&s, "{'kind':'%s','name':'%s',", adp_kind_to_string(kind),
                  name);
    switch (kind) {
    case ADP_KIND_ADDRESS_GROUP:
    case ADP_KIND_FQDN:
        put_address_group(&s);
        break;
    case ADP_KIND_APPLIED_TO_GROUP:
        put_list(&s, "pods", "'d/n%d'", 9);
        break;
    case ADP_KIND_EGRESS:
        put_egress(&s);
        break;
    case ADP_KIND_MANIFEST:
        ds_put_cstr(&s, "'object':{}");
        break;
    case ADP_KIND_MULTICAST_GROUP:
        put_list(&s, "ports", "'p%d'", RANDOM_N_POD_PORTS);
        if (one_in(2)) {
            ds_put_char(&s, ',');
            put_list(&s, "nodes", "'192.168.0.1%d'", 3);
        }
        break;
    case ADP_KIND_NETWORK_POLICY:
        put_network_policy(&s);
        break;
    case ADP_KIND_NODE_CONFIG:
        put_node_config(&s);
        break;
    case ADP_KIND_PEER_NODE:
        put_peer_node(&s, i);
        break;
    case ADP_KIND_POD:
        put_pod(&s, i);
        break;
    case ADP_KIND_SERVICE:
        put_service(&s, i);
        break;
    case ADP_KIND_TRAFFIC_CONTROL:
        put_traffic_control(&s);
        break;
    case ADP_N_KINDS:
    default:
        OVS_NOT_REACHED();
    }
    ds_put_char(&s, '}');

    struct json *array = json_array_from_quoted(ds_cstr(&s));
    struct json *record = json_clone(array->array.elems[0]);
    json_destroy(array);
    ds_destroy(&s);
    free(name);
    return record;
}

/* One of them, Pods, groups and policies more often. */
static enum adp_kind
random_kind(void)
{
    static const enum adp_kind often[] = {
        ADP_KIND_POD, ADP_KIND_ADDRESS_GROUP, ADP_KIND_APPLIED_TO_GROUP,
        ADP_KIND_NETWORK_POLICY, ADP_KIND_SERVICE, ADP_KIND_EGRESS,
        ADP_KIND_TRAFFIC_CONTROL,
    };
    enum adp_kind kind;

    do {
        kind = (one_in(3) ? random_range(ADP_N_KINDS)
                : often[random_range(ARRAY_SIZE(often))]);
    } while (!(random_kinds & 1u << kind) || adp_kind_is_own(kind));
    return kind;
}

void
random_own_transaction(struct json **apply, struct json **delete)
{
    *apply = json_array_create_empty();
    *delete = json_array_create_empty();
    enum adp_kind kind = (one_in(2) ? ADP_KIND_FQDN
                          : ADP_KIND_MULTICAST_GROUP);

    for (int i = 0; i < n_names[kind]; i++) {
        struct json *record = random_record(kind);

        json_array_add(one_in(3) ? *delete : *apply, record);
        if (one_in(2)) {
            break;              /* Two of one name are refused. */
        }
    }
    for (size_t i = 0; i < (*delete)->array.n; i++) {
        static const char *const rest[] = { "addresses", "ports", "nodes" };

        for (size_t j = 0; j < ARRAY_SIZE(rest); j++) {
            json_destroy(shash_find_and_delete(
                json_object((*delete)->array.elems[i]), rest[j]));
        }
    }
}

void
random_transaction(struct json **apply, struct json **delete)
{
    int n_apply = random_range(5);
    int n_delete = one_in(3) ? 1 + random_range(2) : 0;

    *apply = json_array_create_empty();
    for (int i = 0; i < n_apply; i++) {
        json_array_add(*apply, random_record(random_kind()));
    }
    *delete = json_array_create_empty();
    for (int i = 0; i < n_delete; i++) {
        enum adp_kind kind = random_kind();
        char *name = record_name(kind, random_range(n_names[kind]));
        struct json *key = json_object_create();

        json_object_put_string(key, "kind", adp_kind_to_string(kind));
        json_object_put_string(key, "name", name);
        json_array_add(*delete, key);
        free(name);
    }
}

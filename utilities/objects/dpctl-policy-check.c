/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-policy-check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-admin.h"
#include "dpctl-address.h"
#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-quantity.h"
#include "dpctl-selector.h"
#include "dpctl-tier.h"
#include "packets.h"
#include "util.h"

/* "PREFIX.ERROR"; takes 'error'. */
static char *
prefixed(const char *prefix, const char *separator, char *error)
{
    if (!error) {
        return NULL;
    }
    char *text = xasprintf("%s%s%s", prefix, separator, error);
    free(error);
    return text;
}

static char *
check_selectors(const struct json *peer)
{
    static const char *const names[] = { "podSelector", "namespaceSelector" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char *error = dpctl_selector_check(dpctl_json_member(peer, names[i]));
        if (error) {
            return prefixed(names[i], ".", error);
        }
    }
    return NULL;
}

/* An IPv4 network is no part of one of IPv6, though it is mapped into that. */
static bool
block_contains(const char *block, const char *inner)
{
    struct in6_addr ip, inner_ip;
    unsigned int plen, inner_plen;

    if (dpctl_family_of(block) != dpctl_family_of(inner)
        || !dpctl_network_parse(block, &ip, &plen)
        || !dpctl_network_parse(inner, &inner_ip, &inner_plen)
        || inner_plen < plen) {
        return false;
    }

    struct in6_addr mask = ipv6_create_mask(plen);
    struct in6_addr start = ipv6_addr_bitand(&inner_ip, &mask);
    return ipv6_addr_equals(&start, &ip);
}

static char *
check_ip_block(const struct json *block)
{
    const char *cidr = dpctl_json_str(block, "cidr");
    const struct json_array *excepts = dpctl_json_array(block, "except");

    for (size_t i = 0; i < excepts->n; i++) {
        const char *except = excepts->elems[i]->string;

        if (!block_contains(cidr, except)) {
            return xasprintf("except[%"PRIuSIZE"]: %s is no part of %s", i,
                             except, cidr);
        }
    }
    return NULL;
}

static char *
check_namespaces(const struct json *peer)
{
    const struct json *namespaces = dpctl_json_member(peer, "namespaces");
    size_t n_labels = dpctl_json_array(namespaces, "sameLabels")->n;

    if (namespaces && (!!dpctl_json_member(namespaces, "match")
                       + (n_labels > 0) != 1)) {
        return xstrdup("namespaces: needs one of match and sameLabels");
    } else if (namespaces && dpctl_json_member(peer, "namespaceSelector")) {
        return xstrdup("namespaces: excludes namespaceSelector");
    }
    return NULL;
}

static char *
check_fqdn(const char *fqdn)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.*";

    return (!fqdn || (*fqdn && strlen(fqdn) <= 253
                      && !fqdn[strspn(fqdn, allowed)])
            ? NULL
            : xasprintf("fqdn: must be a domain name, in which * may stand "
                        "for any text, not \"%s\"", fqdn));
}

/* A peer or an applied-to: either selectors, or one of the other forms. */
static char *
check_peer(const struct json *peer)
{
    const struct json *block = dpctl_json_member(peer, "ipBlock");
    bool has_selector = (dpctl_json_member(peer, "podSelector")
                         || dpctl_json_member(peer, "namespaceSelector")
                         || dpctl_json_member(peer, "namespaces"));
    int n_forms = (has_selector + !!block
                   + !!dpctl_json_member(peer, "group")
                   + !!dpctl_json_member(peer, "fqdn")
                   + !!dpctl_json_member(peer, "serviceAccount")
                   + !!dpctl_json_member(peer, "service")
                   + !!dpctl_json_member(peer, "nodeSelector"));

    if (!n_forms) {
        return xstrdup("selects nothing; give a selector, an ipBlock or a "
                       "group");
    } else if (n_forms > 1) {
        return xstrdup("selectors, ipBlock, group, fqdn, serviceAccount, "
                       "service and nodeSelector exclude each other");
    }
    char *error = check_selectors(peer);
    if (!error) {
        error = check_fqdn(dpctl_json_str(peer, "fqdn"));
    }
    if (!error) {
        error = check_namespaces(peer);
    }
    if (!error) {
        error = prefixed("nodeSelector", ".", dpctl_selector_check(
                             dpctl_json_member(peer, "nodeSelector")));
    }
    return error || !block ? error : prefixed("ipBlock", ".",
                                              check_ip_block(block));
}

static char *
check_port(const struct json *port)
{
    const struct json *number = dpctl_json_member(port, "port");
    long long int end = dpctl_json_int(port, "endPort", 0);
    long long int source = dpctl_json_int(port, "sourcePort", 0);
    long long int source_end = dpctl_json_int(port, "sourceEndPort", 0);

    if (source_end && !source) {
        return xstrdup("sourceEndPort: needs a sourcePort to go with");
    } else if (source_end && source_end < source) {
        return xasprintf("sourceEndPort: %lld is below sourcePort %lld",
                         source_end, source);
    } else if (!end) {
        return NULL;
    } else if (!number || number->type != JSON_INTEGER) {
        return xstrdup("endPort: needs a numeric port to go with");
    } else if (end < number->integer) {
        return xasprintf("endPort: %lld is below port %lld", end,
                         (long long int) number->integer);
    }
    return NULL;
}

static char *
check_protocol(const struct json *protocol)
{
    const struct json *icmp = dpctl_json_member(protocol, "icmp");

    if (!icmp == !dpctl_json_member(protocol, "igmp")) {
        return xstrdup("must be either icmp or igmp");
    } else if (!icmp) {
        return NULL;
    } else if (dpctl_json_member(icmp, "icmpCode")
               && !dpctl_json_member(icmp, "icmpType")) {
        return xstrdup("icmp.icmpCode: needs an icmpType to go with");
    }
    return NULL;
}

static char *
check_l7_protocol(const struct json *protocol)
{
    return (!dpctl_json_member(protocol, "http")
            == !dpctl_json_member(protocol, "tls")
            ? xstrdup("must be either http or tls") : NULL);
}

static bool
is_http(const struct json_array *l7)
{
    for (size_t i = 0; i < l7->n; i++) {
        if (dpctl_json_member(l7->elems[i], "http")) {
            return true;
        }
    }
    return false;
}

/* What goes with L7 protocols, and what doesn't. */
static char *
check_l7_rule(const struct json *rule)
{
    const struct json_array *l7 = dpctl_json_array(rule, "l7Protocols");
    const struct json_array *ports = dpctl_json_array(rule, "ports");
    const char *action = dpctl_json_str(rule, "action");

    if (!l7->n) {
        return NULL;
    } else if (action && strcmp(action, "Allow")) {
        return xstrdup("l7Protocols: goes with the action Allow only");
    } else if (dpctl_json_array(rule, "toServices")->n) {
        return xstrdup("l7Protocols: doesn't go with toServices");
    } else if (!is_http(l7)) {
        return NULL;
    } else if (dpctl_json_array(rule, "protocols")->n) {
        return xstrdup("l7Protocols: http doesn't go with protocols");
    }
    for (size_t i = 0; i < ports->n; i++) {
        const char *protocol = dpctl_json_str(ports->elems[i], "protocol");

        if (protocol && strcmp(protocol, "TCP")) {
            return xasprintf("ports[%"PRIuSIZE"].protocol: http in "
                             "l7Protocols goes with TCP only", i);
        }
    }
    return NULL;
}

/* Checks every element of the array 'name' of 'object'. */
static char *
check_each(const struct json *object, const char *name,
           char *(*check)(const struct json *))
{
    const struct json_array *array = dpctl_json_array(object, name);

    for (size_t i = 0; i < array->n; i++) {
        char *error = check(array->elems[i]);
        if (error) {
            char *where = xasprintf("%s[%"PRIuSIZE"]", name, i);
            bool about_element = !strchr(error, ':');
            error = prefixed(where, about_element ? ": " : ".", error);
            free(where);
            return error;
        }
    }
    return NULL;
}

/* What Antrea does for Nodes it does in their iptables: no packet to or from a
 * Node's own processes need come by the bridge. */
static char *
check_policy_target(const struct json *target)
{
    char *error = check_peer(target);

    if (!error && dpctl_json_member(target, "nodeSelector")) {
        error = xstrdup("nodeSelector: is not supported: what a Node's own "
                        "processes send and get doesn't pass the pipeline; "
                        "Antrea has the Node's iptables do it");
    }
    return error;
}

static char *
check_rule(const struct json *rule)
{
    static const struct {
        const char *name;
        char *(*check)(const struct json *);
    } parts[] = {
        { "from", check_peer }, { "to", check_peer }, { "ports", check_port },
        { "protocols", check_protocol }, { "appliedTo", check_policy_target },
        { "l7Protocols", check_l7_protocol },
    };
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        char *error = check_each(rule, parts[i].name, parts[i].check);
        if (error) {
            return error;
        }
    }
    return check_l7_rule(rule);
}

/* Names of Services and ServiceAccounts, of which a policy of a Namespace
 * finds the former in its own, and applies to none of the latter elsewhere. */
static char *
check_names(const struct json_array *list, const char *member,
            const char *own_namespace, bool only_own)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct json *named = (member
                                    ? dpctl_json_member(list->elems[i], member)
                                    : list->elems[i]);
        const char *namespace_ = dpctl_json_str(named, "namespace");
        const char *error
            = (!named ? NULL
               : !namespace_ && !own_namespace ? "is missing"
               : only_own && own_namespace && namespace_
                 && strcmp(namespace_, own_namespace)
               ? "must be that of the policy" : NULL);
        if (error) {
            return xasprintf("[%"PRIuSIZE"]%s%s.namespace: %s", i,
                             member ? "." : "", member ? member : "", error);
        }
    }
    return NULL;
}

static char *
check_rule_names(const struct json *rule, const char *own_namespace)
{
    static const struct {
        const char *list, *member;
    } lists[] = {
        { "from", "serviceAccount" }, { "to", "serviceAccount" },
        { "appliedTo", "serviceAccount" }, { "appliedTo", "service" },
        { "toServices", NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        char *error = check_names(dpctl_json_array(rule, lists[i].list),
                                  lists[i].member, own_namespace,
                                  !strcmp(lists[i].list, "appliedTo"));
        if (error) {
            return prefixed(lists[i].list, "", error);
        }
    }
    return NULL;
}

/* Services, which have NodePorts, are no Pods: one list has either. */
static char *
check_applied_to_list(const struct json *object)
{
    const struct json_array *list = dpctl_json_array(object, "appliedTo");
    size_t n_services = 0;

    for (size_t i = 0; i < list->n; i++) {
        n_services += !!dpctl_json_member(list->elems[i], "service");
    }
    return (n_services && n_services < list->n
            ? xstrdup("appliedTo: Services and other peers exclude each other")
            : NULL);
}

/* Clients of NodePorts are known by their addresses, and the ports behind them
 * by their numbers. */
static char *
check_service_rule(const struct json *rule, const char *direction)
{
    static const char text[] = "a rule that is applied to Services";
    const struct json_array *from = dpctl_json_array(rule, "from");
    const struct json_array *ports = dpctl_json_array(rule, "ports");

    if (strcmp(direction, "ingress")) {
        return xasprintf("appliedTo: an %s rule can't be applied to Services",
                         direction);
    }
    for (size_t i = 0; i < from->n; i++) {
        if (!dpctl_json_member(from->elems[i], "ipBlock")) {
            return xasprintf("from[%"PRIuSIZE"]: %s can only use ipBlock", i,
                             text);
        }
    }
    for (size_t i = 0; i < ports->n; i++) {
        if (dpctl_json_str(ports->elems[i], "port")) {
            return xasprintf("ports[%"PRIuSIZE"].port: %s can't use a Pod's "
                             "name of a port", i, text);
        }
    }
    return (dpctl_json_array(rule, "l7Protocols")->n
            ? xasprintf("l7Protocols: doesn't go with %s", text) : NULL);
}

/* A NetworkPolicy of Antrea's applies to Pods of its namespace alone. */
static char *
check_applied_to_namespace(const struct json *spec, const char *own_namespace)
{
    const struct json_array *applied_to = dpctl_json_array(spec, "appliedTo");

    static const char *const members[] = {
        "namespaceSelector", "service", "nodeSelector",
    };

    for (size_t i = 0; i < applied_to->n && own_namespace; i++) {
        for (size_t j = 0; j < ARRAY_SIZE(members); j++) {
            if (dpctl_json_member(applied_to->elems[i], members[j])) {
                return xasprintf("appliedTo[%"PRIuSIZE"].%s: is for "
                                 "ClusterNetworkPolicies", i, members[j]);
            }
        }
    }
    return NULL;
}

/* What goes with what in a rule of Antrea's. */
static char *
check_combination(const struct json *rule, const char *direction,
                  const char *own_namespace)
{
    static const char *const excluded[] = { "to", "ports", "protocols" };
    static const char *const peers[] = { "from", "to" };
    const struct json_array *from = dpctl_json_array(rule, "from");

    for (size_t i = 0; i < from->n; i++) {
        if (dpctl_json_member(from->elems[i], "fqdn")) {
            return xasprintf("from[%"PRIuSIZE"].fqdn: is for to of an egress "
                             "rule", i);
        }
    }
    if (dpctl_json_array(rule, "toServices")->n) {
        if (strcmp(direction, "egress")) {
            return xasprintf("toServices: has no place in an %s rule",
                             direction);
        }
        for (size_t i = 0; i < ARRAY_SIZE(excluded); i++) {
            if (dpctl_json_array(rule, excluded[i])->n) {
                return xasprintf("toServices: excludes %s", excluded[i]);
            }
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(peers) && own_namespace; i++) {
        const struct json_array *list = dpctl_json_array(rule, peers[i]);
        for (size_t j = 0; j < list->n; j++) {
            if (dpctl_json_member(list->elems[j], "namespaces")) {
                return xasprintf("%s[%"PRIuSIZE"].namespaces: is for "
                                 "ClusterNetworkPolicies", peers[i], j);
            }
        }
    }
    char *error = check_applied_to_namespace(rule, own_namespace);
    if (!error) {
        error = check_applied_to_list(rule);
    }
    return error ? error : check_rule_names(rule, own_namespace);
}

static char *
check_direction(const struct json *spec, const char *direction,
                const char *wrong_peer, bool policy_is_applied,
                const char *own_namespace)
{
    const struct json_array *rules = dpctl_json_array(spec, direction);

    for (size_t i = 0; i < rules->n; i++) {
        char *error = check_combination(rules->elems[i], direction,
                                        own_namespace);
        if (!error && (dpctl_is_applied_to_services(spec)
                       || dpctl_is_applied_to_services(rules->elems[i]))) {
            error = check_service_rule(rules->elems[i], direction);
        }
        if (error) {
            char *where = xasprintf("%s[%"PRIuSIZE"]", direction, i);
            error = prefixed(where, ".", error);
            free(where);
            return error;
        }
        if (dpctl_json_array(rules->elems[i], wrong_peer)->n) {
            return xasprintf("%s[%"PRIuSIZE"].%s: has no place in an %s rule",
                             direction, i, wrong_peer, direction);
        }
        size_t n = dpctl_json_array(rules->elems[i], "appliedTo")->n;
        if (policy_is_applied && n) {
            return xasprintf("%s[%"PRIuSIZE"].appliedTo: the policy has an "
                             "appliedTo of its own", direction, i);
        } else if (!policy_is_applied && !n) {
            return xasprintf("%s[%"PRIuSIZE"].appliedTo: is missing, and the "
                             "policy has none", direction, i);
        }
    }
    return check_each(spec, direction, check_rule);
}

/* Behind the baseline tier nothing is left that could decide. */
static char *
check_passes(const struct json *spec, const char *direction)
{
    const struct json_array *rules = dpctl_json_array(spec, direction);
    const char *tier = dpctl_tier_name(dpctl_json_str(spec, "tier"));

    for (size_t i = 0; i < rules->n && !strcmp(tier, "baseline"); i++) {
        const char *action = dpctl_json_str(rules->elems[i], "action");

        if (!strcmp(action, "Pass")) {
            return xasprintf("%s[%"PRIuSIZE"].action: Pass has no place in "
                             "the baseline tier", direction, i);
        }
    }
    return NULL;
}

static char *
check_antrea_spec(const struct json *spec, const char *own_namespace)
{
    const struct json *priority = dpctl_json_member(spec, "priority");
    double value = (priority->type == JSON_INTEGER
                    ? (double) priority->integer : priority->real);
    if (value < 1.0 || value > 10000.0) {
        return xasprintf("priority: must be from 1 to 10000, not %g", value);
    }

    bool applied = dpctl_json_array(spec, "appliedTo")->n > 0;
    char *error = check_applied_to_namespace(spec, own_namespace);
    if (!error) {
        error = check_each(spec, "appliedTo", check_policy_target);
    }
    if (!error) {
        error = check_applied_to_list(spec);
    }
    if (!error) {
        error = prefixed("appliedTo", "",
                         check_names(dpctl_json_array(spec, "appliedTo"),
                                     "serviceAccount", own_namespace, true));
    }
    if (!error) {
        error = prefixed("appliedTo", "",
                         check_names(dpctl_json_array(spec, "appliedTo"),
                                     "service", own_namespace, true));
    }
    if (!error) {
        error = check_direction(spec, "ingress", "to", applied,
                                own_namespace);
    }
    if (!error) {
        error = check_direction(spec, "egress", "from", applied,
                                own_namespace);
    }
    if (!error) {
        error = check_passes(spec, "ingress");
    }
    return error ? error : check_passes(spec, "egress");
}

static char *
check_k8s_spec(const struct json *spec)
{
    const struct json_array *types = dpctl_json_array(spec, "policyTypes");

    for (size_t i = 0; i < types->n; i++) {
        const char *type = types->elems[i]->string;
        if (strcmp(type, "Ingress") && strcmp(type, "Egress")) {
            return xasprintf("policyTypes[%"PRIuSIZE"]: must be Ingress or "
                             "Egress, not %s", i, type);
        }
    }
    char *error = check_selectors(spec);
    if (!error) {
        error = check_each(spec, "ingress", check_rule);
    }
    return error ? error : check_each(spec, "egress", check_rule);
}

static char *
check_group_spec(const struct json *spec, const char *own_namespace)
{
    const struct json *service = dpctl_json_member(spec, "serviceReference");
    const char *namespace_ = dpctl_json_str(service, "namespace");
    bool has_selector = (dpctl_json_member(spec, "podSelector")
                         || dpctl_json_member(spec, "namespaceSelector"));
    bool has_blocks = (dpctl_json_member(spec, "ipBlock")
                       || dpctl_json_array(spec, "ipBlocks")->n);

    if (dpctl_json_member(spec, "ipBlock")
        && dpctl_json_array(spec, "ipBlocks")->n) {
        return xstrdup("ipBlock: excludes ipBlocks");
    } else if (has_selector + has_blocks + !!service
        + !!dpctl_json_array(spec, "childGroups")->n > 1) {
        return xstrdup("podSelector: selectors, ipBlocks, serviceReference "
                       "and childGroups exclude each other");
    } else if (service && !namespace_ && !own_namespace) {
        return xstrdup("serviceReference.namespace: is missing");
    } else if (namespace_ && own_namespace
               && strcmp(namespace_, own_namespace)) {
        return xstrdup("serviceReference.namespace: must be that of the "
                       "Group");
    }
    char *error = check_selectors(spec);
    if (!error && dpctl_json_member(spec, "ipBlock")) {
        error = prefixed("ipBlock", ".",
                         check_ip_block(dpctl_json_member(spec, "ipBlock")));
    }
    return error ? error : check_each(spec, "ipBlocks", check_ip_block);
}

static char *
check_applied_to(const struct json *spec)
{
    const struct json *applied_to = dpctl_json_member(spec, "appliedTo");

    if (!dpctl_json_member(applied_to, "podSelector")
        && !dpctl_json_member(applied_to, "namespaceSelector")
        && !dpctl_json_array(applied_to, "groups")->n) {
        return xstrdup("appliedTo: selects nothing; give a selector or a "
                       "group");
    }
    return prefixed("appliedTo", ".", check_selectors(applied_to));
}

/* An Egress's "rate" or "burst", in bits, of which the record has
 * thousands. */
static char *
check_bits(const struct json *bandwidth, const char *name, double min)
{
    const char *text = dpctl_json_str(bandwidth, name);
    double bits;

    if (!dpctl_quantity(text, &bits)) {
        return xasprintf("bandwidth.%s: must be a quantity, such as \"500M\", "
                         "not \"%s\"", name, text);
    }
    return (bits < min || bits >= (UINT32_MAX + 1.0) * 1000
            ? xasprintf("bandwidth.%s: must be from %.0fk to %"PRIu32"k bits, "
                        "not \"%s\"", name, min / 1000, UINT32_MAX, text)
            : NULL);
}

static char *
check_egress_spec(const struct json *spec)
{
    const struct json *bandwidth = dpctl_json_member(spec, "bandwidth");
    char *error = check_applied_to(spec);

    if (!error && bandwidth) {
        error = check_bits(bandwidth, "rate", 1000);
    }
    if (!error && bandwidth) {
        error = check_bits(bandwidth, "burst", 12000);
    }
    return error;
}

/* A "targetPort" or "returnPort". */
static char *
check_tc_port(const struct json *spec, const char *name)
{
    const struct json *port = dpctl_json_member(spec, name);

    return (!dpctl_json_member(port, "ovsInternal")
            == !dpctl_json_member(port, "device")
            ? xasprintf("%s: must be either ovsInternal or device", name)
            : NULL);
}

static char *
check_tc_spec(const struct json *spec)
{
    bool redirects = !strcmp(dpctl_json_str(spec, "action"), "Redirect");
    char *error = check_applied_to(spec);

    if (!error) {
        error = check_tc_port(spec, "targetPort");
    }
    if (!error && dpctl_json_member(spec, "returnPort")) {
        error = (redirects ? check_tc_port(spec, "returnPort")
                 : xstrdup("returnPort: goes with the action Redirect only"));
    } else if (!error && redirects) {
        error = xstrdup("returnPort: is missing: what is redirected must "
                        "come back");
    }
    return error;
}

char *
dpctl_policy_check(enum dpctl_kind_id id, const struct json *object,
                   const char *default_namespace)
{
    const struct json *spec = dpctl_json_member(object, "spec");
    const char *namespace_ = (dpctl_kinds[id].namespaced
                              ? dpctl_json_str(object, "metadata.namespace")
                              : NULL);

    if (dpctl_kinds[id].namespaced && !namespace_) {
        namespace_ = default_namespace;
    }
    switch ((int) id) {
    case DPCTL_K8S_NP:
        return prefixed("spec", ".", check_k8s_spec(spec));
    case DPCTL_ACNP:
    case DPCTL_ANNP:
        return prefixed("spec", ".", check_antrea_spec(spec, namespace_));
    case DPCTL_ADMIN_NP:
    case DPCTL_BASELINE_ADMIN_NP:
        return dpctl_admin_check(&dpctl_kinds[id], object);
    case DPCTL_TIER:
        return dpctl_tier_check(object);
    case DPCTL_CLUSTER_GROUP:
    case DPCTL_GROUP:
        return prefixed("spec", ".", check_group_spec(spec, namespace_));
    case DPCTL_EGRESS:
        return prefixed("spec", ".", check_egress_spec(spec));
    case DPCTL_TRAFFIC_CONTROL:
        return prefixed("spec", ".", check_tc_spec(spec));
    default:
        return NULL;
    }
}

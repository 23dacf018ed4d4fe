/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-policy-check.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
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

static bool
block_contains(ovs_be32 ip, unsigned int plen,
               ovs_be32 inner_ip, unsigned int inner_plen)
{
    return (inner_plen >= plen
            && !((ip ^ inner_ip) & be32_prefix_mask(plen)));
}

static char *
check_ip_block(const struct json *block)
{
    const char *cidr = dpctl_json_str(block, "cidr");
    const struct json_array *excepts = dpctl_json_array(block, "except");
    ovs_be32 ip, inner_ip;
    unsigned int plen, inner_plen;

    if (strchr(cidr, ':')) {
        return NULL;
    }
    free(ip_parse_cidr(cidr, &ip, &plen));
    for (size_t i = 0; i < excepts->n; i++) {
        const char *except = excepts->elems[i]->string;
        char *error = ip_parse_cidr(except, &inner_ip, &inner_plen);
        bool ok = !error && block_contains(ip, plen, inner_ip, inner_plen);
        free(error);
        if (!ok) {
            return xasprintf("except[%"PRIuSIZE"]: %s is no part of %s", i,
                             except, cidr);
        }
    }
    return NULL;
}

/* A peer or an applied-to: either selectors, or one of the other forms. */
static char *
check_peer(const struct json *peer)
{
    const struct json *block = dpctl_json_member(peer, "ipBlock");
    bool has_selector = (dpctl_json_member(peer, "podSelector")
                         || dpctl_json_member(peer, "namespaceSelector"));
    int n_forms = (has_selector + !!block
                   + !!dpctl_json_member(peer, "group"));

    if (!n_forms) {
        return xstrdup("selects nothing; give a selector, an ipBlock or a "
                       "group");
    } else if (n_forms > 1) {
        return xstrdup("selectors, ipBlock and group exclude each other");
    }
    char *error = check_selectors(peer);
    return error || !block ? error : prefixed("ipBlock", ".",
                                              check_ip_block(block));
}

static char *
check_port(const struct json *port)
{
    const struct json *number = dpctl_json_member(port, "port");
    long long int end = dpctl_json_int(port, "endPort", 0);

    if (!end) {
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

    if (!icmp) {
        return xstrdup("names no protocol");
    } else if (dpctl_json_member(icmp, "icmpCode")
               && !dpctl_json_member(icmp, "icmpType")) {
        return xstrdup("icmp.icmpCode: needs an icmpType to go with");
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

static char *
check_rule(const struct json *rule)
{
    static const struct {
        const char *name;
        char *(*check)(const struct json *);
    } parts[] = {
        { "from", check_peer }, { "to", check_peer }, { "ports", check_port },
        { "protocols", check_protocol }, { "appliedTo", check_peer },
    };
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        char *error = check_each(rule, parts[i].name, parts[i].check);
        if (error) {
            return error;
        }
    }
    return NULL;
}

static char *
check_direction(const struct json *spec, const char *direction,
                const char *wrong_peer, bool policy_is_applied)
{
    const struct json_array *rules = dpctl_json_array(spec, direction);

    for (size_t i = 0; i < rules->n; i++) {
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

static char *
check_antrea_spec(const struct json *spec)
{
    const struct json *priority = dpctl_json_member(spec, "priority");
    double value = (priority->type == JSON_INTEGER
                    ? (double) priority->integer : priority->real);
    if (value < 1.0 || value > 10000.0) {
        return xasprintf("priority: must be from 1 to 10000, not %g", value);
    }

    bool applied = dpctl_json_array(spec, "appliedTo")->n > 0;
    char *error = check_each(spec, "appliedTo", check_peer);
    if (!error) {
        error = check_direction(spec, "ingress", "to", applied);
    }
    return error ? error : check_direction(spec, "egress", "from", applied);
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
check_group_spec(const struct json *spec)
{
    bool has_selector = (dpctl_json_member(spec, "podSelector")
                         || dpctl_json_member(spec, "namespaceSelector"));
    bool has_blocks = (dpctl_json_member(spec, "ipBlock")
                       || dpctl_json_array(spec, "ipBlocks")->n);

    if (has_selector + has_blocks
        + !!dpctl_json_array(spec, "childGroups")->n > 1) {
        return xstrdup("podSelector: selectors, ipBlocks and childGroups "
                       "exclude each other");
    }
    char *error = check_selectors(spec);
    return error ? error : check_each(spec, "ipBlocks", check_ip_block);
}

char *
dpctl_policy_check(enum dpctl_kind_id id, const struct json *object)
{
    const struct json *spec = dpctl_json_member(object, "spec");

    switch ((int) id) {
    case DPCTL_K8S_NP:
        return prefixed("spec", ".", check_k8s_spec(spec));
    case DPCTL_ACNP:
    case DPCTL_ANNP:
        return prefixed("spec", ".", check_antrea_spec(spec));
    case DPCTL_TIER:
        return dpctl_tier_check(object);
    case DPCTL_CLUSTER_GROUP:
    case DPCTL_GROUP:
        return prefixed("spec", ".", check_group_spec(spec));
    default:
        return NULL;
    }
}

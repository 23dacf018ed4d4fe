/* SPDX-License-Identifier: Apache-2.0 */

/* Objects of Antrea's controlplane API, in which selectors are resolved
 * already.  Addresses are base64 there: 4 or 16 bytes in network order. */

#include <config.h>
#include "dpctl-resolve-peers.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "packets.h"
#include "util.h"

static int
base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(digits, c) : NULL;

    return p ? p - digits : -1;
}

/* Decodes at most 'size' bytes; returns their number, or -1. */
static int
base64_decode(const char *s, uint8_t *bytes, size_t size)
{
    uint32_t bits = 0;
    int n_bits = 0;
    size_t n = 0;

    for (; *s && *s != '='; s++) {
        int digit = base64_digit(*s);
        if (digit < 0) {
            return -1;
        }
        bits = bits << 6 | digit;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            if (n >= size) {
                return -1;
            }
            bytes[n++] = bits >> n_bits;
        }
    }
    return s[strspn(s, "=")] ? -1 : n;
}

/* An address as text or base64.  Returns false if it's neither. */
static bool
parse_address(const char *s, struct in6_addr *ip)
{
    uint8_t bytes[sizeof *ip];

    if (dpctl_address_parse(s, ip)) {
        return true;
    }

    int n = base64_decode(s, bytes, sizeof bytes);
    if (n == sizeof(ovs_be32)) {
        ovs_be32 ip4;

        memcpy(&ip4, bytes, sizeof ip4);
        *ip = in6_addr_mapped_ipv4(ip4);
    } else if (n == sizeof *ip) {
        memcpy(ip, bytes, sizeof *ip);
    }
    return n == sizeof(ovs_be32) || n == sizeof *ip;
}

/* Sets '*cidr' to the network, or to NULL if there is an error. */
static char *
net_to_cidr(const char *title, const char *field, const struct json *net,
            char **cidr)
{
    long long int plen = dpctl_json_int(net, "prefixLength", 0);
    struct in6_addr ip;

    *cidr = NULL;
    if (!parse_address(dpctl_json_str(net, "ip"), &ip)) {
        return xasprintf("%s: %s.ip: is no address", title, field);
    }

    int max_plen = IN6_IS_ADDR_V4MAPPED(&ip) ? 32 : 128;
    if (plen > max_plen) {
        return xasprintf("%s: %s.prefixLength: is above %d", title, field,
                         max_plen);
    }
    plen += 128 - max_plen;

    struct in6_addr mask = ipv6_create_mask(plen);
    ip = ipv6_addr_bitand(&ip, &mask);
    *cidr = dpctl_network_format(&ip, plen);
    return NULL;
}

static char *
resolve_block(const char *title, const char *field, const struct json *block,
              struct json *blocks)
{
    const struct json_array *excepts = dpctl_json_array(block, "except");
    char *cidr;
    char *error = net_to_cidr(title, field, dpctl_json_member(block, "cidr"),
                              &cidr);
    if (error) {
        return error;
    }

    struct json *json = json_object_create();
    struct json *except = json_array_create_empty();
    json_object_put(json, "cidr", json_string_create_nocopy(cidr));
    for (size_t i = 0; i < excepts->n && !error; i++) {
        error = net_to_cidr(title, field, excepts->elems[i], &cidr);
        if (cidr) {
            json_array_add(except, json_string_create_nocopy(cidr));
        }
    }
    json_object_put(json, "except", except);
    json_array_add(blocks, json);
    return error;
}

static char *
resolve_peer(const char *title, const char *field, const struct json *peer,
             struct json *rule, const char *member)
{
    const struct json_array *blocks = dpctl_json_array(peer, "ipBlocks");
    const struct json_array *services = dpctl_json_array(peer, "toServices");
    const struct json_array *fqdns = dpctl_json_array(peer, "fqdns");
    const struct json *groups = dpctl_json_member(peer, "addressGroups");
    struct json *json = json_object_create();
    struct json *array = json_array_create_empty();
    char *error = NULL;

    for (size_t i = 0; i < blocks->n && !error; i++) {
        error = resolve_block(title, field, blocks->elems[i], array);
    }
    json_object_put(json, "addressGroups",
                    groups ? json_clone(groups) : json_array_create_empty());
    json_object_put(json, "ipBlocks", array);
    if (services->n) {
        array = json_array_create_empty();
        for (size_t i = 0; i < services->n; i++) {
            json_array_add(array, json_string_create_nocopy(
                               xasprintf("%s/%s",
                                         dpctl_json_str(services->elems[i],
                                                        "namespace"),
                                         dpctl_json_str(services->elems[i],
                                                        "name"))));
        }
        json_object_put(json, "toServices", array);
    }
    if (fqdns->n) {
        struct json *names = NULL;

        for (size_t i = 0; i < fqdns->n; i++) {
            dpctl_add_fqdn(&names, json_string(fqdns->elems[i]));
        }
        json_object_put(json, "fqdns", names);
    }
    json_object_put(rule, member, json);
    return error;
}

static char *
resolve_service(const char *title, const char *field,
                const struct json *service, struct json *services)
{
    static const char *const members[] = {
        "port", "endPort", "srcPort", "srcEndPort", "icmpType", "icmpCode",
        "igmpType", "groupAddress"
    };
    const char *protocol = dpctl_json_str(service, "protocol");
    const struct json *port = dpctl_json_member(service, "port");

    if (port && port->type == JSON_STRING) {
        return xasprintf("%s: %s.port: a named port is not supported by this "
                         "version", title, field);
    }
    struct json *json = json_object_create();
    json_object_put_string(json, "protocol", protocol ? protocol : "TCP");
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct json *value = dpctl_json_member(service, members[i]);
        if (value) {
            json_object_put(json, members[i], json_clone(value));
        }
    }
    json_array_add(services, json);
    return NULL;
}

/* Does the peer list anything? */
static bool
peer_is_empty(const struct json *peer)
{
    static const char *const lists[] = {
        "addressGroups", "ipBlocks", "toServices", "fqdns"
    };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        if (dpctl_json_array(peer, lists[i])->n) {
            return false;
        }
    }
    return true;
}

/* A rule about IGMP goes to groups, each of which its services name; the API
 * has the peer that is anybody for it. */
static bool
has_igmp(const struct json_array *services)
{
    const char *protocol = (services->n
                            ? dpctl_json_str(services->elems[0], "protocol")
                            : NULL);

    return protocol && !strcmp(protocol, "IGMP");
}

static bool
peer_is_anybody(const struct json *peer)
{
    const struct json_array *blocks = dpctl_json_array(peer, "ipBlocks");

    for (size_t i = 0; i < blocks->n; i++) {
        if (!dpctl_json_int(blocks->elems[i], "cidr.prefixLength", 0)
            && !dpctl_json_array(blocks->elems[i], "except")->n) {
            return true;
        }
    }
    return false;
}

/* The rules of a policy that was resolved so far. */
struct rules_before {
    bool is_k8s;
    bool have_priorities;       /* All rules of it, but those of priority 0
                                 * don't say so. */
    long long int n[2];         /* Of each direction. */
};

static bool
have_priorities(const struct json_array *rules)
{
    for (size_t i = 0; i < rules->n; i++) {
        if (dpctl_json_int(rules->elems[i], "priority", 0) > 0) {
            return true;
        }
    }
    return false;
}

/* Rules that stand for one as it was written share its priority; those of
 * Kubernetes' policies have none, -1. */
static void
put_priority(const struct json *in, bool is_in, struct rules_before *before,
             struct json *rule)
{
    long long int number = before->n[is_in]++;
    long long int priority
        = dpctl_json_int(in, "priority", before->have_priorities ? 0 : number);

    if (!before->is_k8s && priority >= 0 && priority != number) {
        json_object_put(rule, "priority", json_integer_create(priority));
    }
}

static char *
resolve_rule(const char *title, const char *field, const struct json *in,
             struct rules_before *before, struct json *rule)
{
    static const char *const members[] = {
        "name", "direction", "action", "appliedToGroups", "l7Protocols",
        "enableLogging", "logLabel"
    };
    const struct json_array *services = dpctl_json_array(in, "services");
    bool is_in = !strcmp(dpctl_json_str(in, "direction"), "In");
    const char *peer_name = is_in ? "from" : "to";
    const struct json *peer = dpctl_json_member(in, peer_name);
    char *error = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct json *value = dpctl_json_member(in, members[i]);
        if (value) {
            json_object_put(rule, members[i], json_clone(value));
        }
    }
    put_priority(in, is_in, before, rule);
    /* A peer that is empty, or left out, is nobody; anybody is blocks of all
     * addresses.  In records the rule of a K8sNetworkPolicy without a peer has
     * nobody, that of others anybody. */
    if (!(peer_is_empty(peer) ? before->is_k8s
          : !is_in && has_igmp(services) && peer_is_anybody(peer))) {
        error = resolve_peer(title, field, peer, rule, peer_name);
    }
    struct json *array = json_array_create_empty();
    for (size_t i = 0; i < services->n && !error; i++) {
        error = resolve_service(title, field, services->elems[i], array);
    }
    if (services->n) {
        json_object_put(rule, "services", array);
    } else {
        json_destroy(array);
    }
    return error;
}

static char *
resolve_policy(struct resolver *r, const struct json *object,
               const char *title)
{
    const struct json *source = dpctl_json_member(object, "sourceRef");
    const char *type = dpctl_json_str(source, "type");
    const struct json_array *rules = dpctl_json_array(object, "rules");
    bool is_k8s = !strcmp(type, "K8sNetworkPolicy");
    char *error = NULL;

    char *name = dpctl_policy_record_name(&dpctl_kinds[DPCTL_CP_NP], object);
    struct json *record = resolver_record("NetworkPolicy", name);
    free(name);
    json_object_put_string(record, "type", type);
    if (!is_k8s) {
        static const char *const members[] = { "tierPriority", "priority" };
        for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
            const struct json *value = dpctl_json_member(object, members[i]);
            if (value) {
                json_object_put(record, members[i], json_clone(value));
            }
        }
    }
    const struct json *groups = dpctl_json_member(object, "appliedToGroups");
    if (groups) {
        json_object_put(record, "appliedToGroups", json_clone(groups));
    }

    struct json *array = json_array_create_empty();
    struct rules_before before = {
        .is_k8s = is_k8s, .have_priorities = have_priorities(rules),
    };
    for (size_t i = 0; i < rules->n && !error; i++) {
        struct json *rule = json_object_create();
        char *field = xasprintf("rules[%"PRIuSIZE"]", i);
        error = resolve_rule(title, field, rules->elems[i], &before, rule);
        json_array_add(array, rule);
        free(field);
    }
    json_object_put(record, "rules", array);
    resolver_put(r, record);
    return error;
}

static char *
resolve_address_group(struct resolver *r, const struct json *object,
                      const char *title)
{
    const struct json_array *members = dpctl_json_array(object,
                                                        "groupMembers");
    struct svec addresses = SVEC_EMPTY_INITIALIZER;
    char *error = NULL;

    for (size_t i = 0; i < members->n && !error; i++) {
        const struct json_array *ips = dpctl_json_array(members->elems[i],
                                                        "ips");
        for (size_t j = 0; j < ips->n && !error; j++) {
            struct in6_addr ip;
            if (!parse_address(ips->elems[j]->string, &ip)) {
                error = xasprintf("%s: groupMembers[%"PRIuSIZE"].ips"
                                  "[%"PRIuSIZE"]: is no address", title, i,
                                  j);
            } else {
                svec_add_nocopy(&addresses, dpctl_address_format(&ip));
            }
        }
    }
    resolver_sort_addresses(&addresses);

    struct json *record
        = resolver_record("AddressGroup",
                          dpctl_json_str(object, "metadata.name"));
    json_object_put(record, "addresses", resolver_strings(&addresses));
    resolver_put(r, record);
    svec_destroy(&addresses);
    return error;
}

static char *
resolve_applied_to_group(struct resolver *r, const struct json *object,
                         const char *title OVS_UNUSED)
{
    const struct json_array *members = dpctl_json_array(object,
                                                        "groupMembers");
    struct svec pods = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < members->n; i++) {
        const struct json *pod = dpctl_json_member(members->elems[i], "pod");
        if (pod) {
            svec_add_nocopy(&pods,
                            xasprintf("%s/%s",
                                      dpctl_json_str(pod, "namespace"),
                                      dpctl_json_str(pod, "name")));
        }
    }
    svec_sort_unique(&pods);

    struct json *record
        = resolver_record("AppliedToGroup",
                          dpctl_json_str(object, "metadata.name"));
    json_object_put(record, "pods", resolver_strings(&pods));
    resolver_put(r, record);
    svec_destroy(&pods);
    return NULL;
}

char *
resolve_controlplane(struct resolver *r)
{
    static const struct {
        enum dpctl_kind_id id;
        char *(*resolve)(struct resolver *, const struct json *,
                         const char *title);
    } kinds[] = {
        { DPCTL_CP_ADDRESS_GROUP, resolve_address_group },
        { DPCTL_CP_APPLIED_TO_GROUP, resolve_applied_to_group },
        { DPCTL_CP_NP, resolve_policy },
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t n;
        const struct shash_node **nodes = resolver_sorted(r, kinds[i].id, &n);
        char *error = NULL;
        for (size_t j = 0; j < n && !error; j++) {
            char *title = dpctl_kind_title(&dpctl_kinds[kinds[i].id],
                                           nodes[j]->data, "");
            error = resolver_refuse(r, nodes[j]->name,
                                    kinds[i].resolve(r, nodes[j]->data,
                                                     title));
            free(title);
        }
        free(nodes);
        if (error) {
            return error;
        }
    }
    return NULL;
}

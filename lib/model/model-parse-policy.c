/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model-sort.h"
#include "packets.h"
#include "sha1.h"
#include "util.h"

/* As Antrea has it: a Kubernetes label's value. */
#define ADP_MAX_LOG_LABEL 63
#define ADP_LOG_LABEL_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
    "abcdefghijklmnopqrstuvwxyz0123456789-_."

/* Of a rule. */
#define MAX_PRIORITY 1000000

static void
parse_excepts(struct adp_object *parent, struct adp_ip_block *block)
{
    struct adp_reader *r = parent->reader;
    size_t n;
    struct json **elems = adp_object_array(parent, "except", ADP_OPTIONAL, &n);
    size_t outer = adp_reader_enter(r, "except");

    block->excepts = n ? xcalloc(n, sizeof *block->excepts) : NULL;
    for (size_t i = 0; i < n && !r->error; i++) {
        struct adp_cidr *except = &block->excepts[block->n_excepts++];
        size_t mark = adp_reader_enter_index(r, i);

        if (adp_value_cidr(r, elems[i], except)
            && !adp_cidr_contains(&block->cidr, except)) {
            adp_reader_error(r, "%s is not within the block",
                             json_string(elems[i]));
        }
        adp_reader_leave(r, mark);
    }
    adp_reader_leave(r, outer);
}

static void
parse_ip_blocks(struct adp_object *parent, struct adp_peer *peer)
{
    struct adp_reader *r = parent->reader;
    size_t n;
    struct json **elems = adp_object_array(parent, "ipBlocks", ADP_OPTIONAL,
                                           &n);
    size_t outer = adp_reader_enter(r, "ipBlocks");

    peer->ip_blocks = n ? xcalloc(n, sizeof *peer->ip_blocks) : NULL;
    for (size_t i = 0; i < n && !r->error; i++) {
        struct adp_ip_block *block = &peer->ip_blocks[peer->n_ip_blocks++];
        size_t mark = adp_reader_enter_index(r, i);
        struct adp_object o;

        adp_object_open(&o, r, elems[i]);
        adp_object_cidr(&o, "cidr", ADP_REQUIRED, &block->cidr);
        parse_excepts(&o, block);
        adp_object_close(&o);
        adp_reader_leave(r, mark);
    }
    adp_reader_leave(r, outer);
}

/* Complains if one of 'names' (which NULL ends) is a member of 'o'. */
static void
refuse_members(struct adp_object *o, const char *const names[],
               const char *reason)
{
    for (size_t i = 0; names[i]; i++) {
        if (o->members && shash_find(o->members, names[i])) {
            adp_reader_error_at(o->reader, names[i], "%s", reason);
        }
    }
}

/* Which Service a packet was for tells a register of Antrea's tables. */
static void
parse_to_services(struct adp_object *o, enum adp_policy_type type,
                  bool ingress, struct adp_peer *peer)
{
    static const char *const members[] = { "toServices", NULL };

    if (ingress) {
        refuse_members(o, members, "doesn't go with the rule's direction");
    } else if (type == ADP_POLICY_K8S) {
        refuse_members(o, members, "is not for a K8sNetworkPolicy");
    }
    adp_object_names(o, "toServices", ADP_OPTIONAL, &peer->to_services);
}

/* What Antrea allows in a name. */
#define FQDN_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-.*"
#define FQDN_MAX_LEN 253

/* A clause of addresses says no name, and Antrea learns addresses for its own
 * policies only. */
static void
parse_fqdns(struct adp_object *o, enum adp_policy_type type, bool ingress,
            struct adp_peer *peer)
{
    static const char *const members[] = { "fqdns", NULL };
    struct adp_reader *r = o->reader;

    if (ingress) {
        refuse_members(o, members, "doesn't go with the rule's direction");
    } else if (type != ADP_POLICY_ACNP && type != ADP_POLICY_ANP) {
        refuse_members(o, members, "is for Antrea's policies only");
    }
    adp_object_names(o, "fqdns", ADP_OPTIONAL, &peer->fqdns);

    size_t outer = adp_reader_enter(r, "fqdns");
    for (size_t i = 0; i < peer->fqdns.n && !r->error; i++) {
        const char *name = peer->fqdns.names[i];
        size_t mark = adp_reader_enter_index(r, i);

        if (name[strspn(name, FQDN_CHARACTERS)]
            || strlen(name) > FQDN_MAX_LEN) {
            adp_reader_error(r, "\"%s\" is not a domain name in lower case, "
                             "with or without \"*\"", name);
        }
        adp_reader_leave(r, mark);
    }
    adp_reader_leave(r, outer);
}

static void
parse_peer(struct adp_object *parent, const char *name, bool allowed,
           enum adp_policy_type type, bool ingress, struct adp_peer *peer)
{
    struct adp_reader *r = parent->reader;
    const struct json *json = adp_object_member(parent, name, ADP_OPTIONAL);

    if (!json) {
        return;
    }
    if (!allowed) {
        adp_reader_error_at(r, name, "doesn't go with the rule's direction");
        return;
    }

    struct adp_object o;
    size_t mark = adp_reader_enter(r, name);
    peer->present = true;
    adp_object_open(&o, r, json);
    adp_object_names(&o, "addressGroups", ADP_OPTIONAL, &peer->address_groups);
    parse_ip_blocks(&o, peer);
    parse_to_services(&o, type, ingress, peer);
    parse_fqdns(&o, type, ingress, peer);
    adp_object_close(&o);
    adp_reader_leave(r, mark);
}

/* The range of ports from member 'first' to member 'last'. */
static void
parse_ports(struct adp_object *o, const char *first, const char *last,
            uint16_t *port, uint16_t *end_port)
{
    *port = adp_object_integer(o, first, 1, 65535, ADP_OPTIONAL, 0);
    *end_port = adp_object_integer(o, last, 1, 65535, ADP_OPTIONAL, *port);
    if (*end_port && !*port) {
        adp_reader_error_at(o->reader, last, "needs %s", first);
    } else if (*end_port < *port) {
        adp_reader_error_at(o->reader, last,
                            "%"PRIu16" is less than %s %"PRIu16, *end_port,
                            first, *port);
    }
}

static void
parse_icmp(struct adp_object *o, struct adp_network_policy_service *service)
{
    service->icmp_type = adp_object_integer(o, "icmpType", 0, 255,
                                            ADP_OPTIONAL, -1);
    service->icmp_code = adp_object_integer(o, "icmpCode", 0, 255,
                                            ADP_OPTIONAL, -1);
    if (service->icmp_code >= 0 && service->icmp_type < 0) {
        adp_reader_error_at(o->reader, "icmpCode", "needs icmpType");
    }
}

static void
parse_igmp(struct adp_object *o, struct adp_network_policy_service *service)
{
    struct adp_reader *r = o->reader;
    const char *group = adp_object_string(o, "groupAddress", ADP_OPTIONAL);

    service->igmp_type = adp_object_integer(o, "igmpType", 0, 255,
                                            ADP_OPTIONAL, -1);
    if (group && (!ip_parse(group, &service->group_address)
                  || !ip_is_multicast(service->group_address))) {
        adp_reader_error_at(r, "groupAddress", "\"%s\" is not an IPv4 "
                            "multicast address", group);
    }
}

static void
parse_rule_service(struct adp_reader *r, const struct json *json,
                   struct adp_network_policy_service *service)
{
    static const char *const names[] = {
        ADP_L4_PROTOCOLS, "ICMP", "IGMP", NULL
    };
    static const uint8_t protocols[] = {
        IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP, IPPROTO_ICMP, IPPROTO_IGMP
    };
    static const char *const icmp_members[] = { "icmpType", "icmpCode", NULL };
    static const char *const igmp_members[] = {
        "igmpType", "groupAddress", NULL
    };
    static const char *const port_members[] = {
        "port", "endPort", "srcPort", "srcEndPort", NULL
    };
    struct adp_object o;

    adp_object_open(&o, r, json);
    service->protocol = protocols[adp_object_choice(&o, "protocol", names,
                                                    -1)];
    service->icmp_type = service->icmp_code = service->igmp_type = -1;
    if (service->protocol == IPPROTO_ICMP) {
        refuse_members(&o, port_members, "ICMP has no ports");
        refuse_members(&o, igmp_members, "is for IGMP only");
        parse_icmp(&o, service);
    } else if (service->protocol == IPPROTO_IGMP) {
        refuse_members(&o, port_members, "IGMP has no ports");
        refuse_members(&o, icmp_members, "is for ICMP only");
        parse_igmp(&o, service);
    } else {
        refuse_members(&o, icmp_members, "is for ICMP only");
        refuse_members(&o, igmp_members, "is for IGMP only");
        parse_ports(&o, "port", "endPort", &service->port,
                    &service->end_port);
        parse_ports(&o, "srcPort", "srcEndPort", &service->src_port,
                    &service->src_end_port);
    }
    adp_object_close(&o);
}

static void
parse_rule_services(struct adp_object *parent,
                    struct adp_network_policy_rule *rule)
{
    struct adp_reader *r = parent->reader;
    size_t n;
    struct json **elems = adp_object_array(parent, "services", ADP_OPTIONAL,
                                           &n);
    size_t outer = adp_reader_enter(r, "services");

    rule->services = n ? xcalloc(n, sizeof *rule->services) : NULL;
    for (size_t i = 0; i < n && !r->error; i++) {
        size_t mark = adp_reader_enter_index(r, i);
        parse_rule_service(r, elems[i], &rule->services[rule->n_services++]);
        adp_reader_leave(r, mark);
    }
    adp_reader_leave(r, outer);
}

/* Whom the policy, or one of its rules, is applied to. */
static void
parse_applied_to(struct adp_object *o, enum adp_policy_type type,
                 struct adp_names *groups, struct adp_names *services)
{
    static const char *const members[] = { "appliedToServices", NULL };

    if (type != ADP_POLICY_ACNP) {
        refuse_members(o, members, "is for an AntreaClusterNetworkPolicy "
                       "only");
    }
    adp_object_names(o, "appliedToGroups", ADP_OPTIONAL, groups);
    adp_object_names(o, "appliedToServices", ADP_OPTIONAL, services);
    if (groups->n && services->n) {
        adp_reader_error_at(o->reader, "appliedToServices",
                            "excludes appliedToGroups");
    }
}

/* At a Service's door there are clients with addresses and nobody else. */
static void
check_service_rule(struct adp_reader *r,
                   const struct adp_network_policy *policy,
                   const struct adp_network_policy_rule *rule)
{
    const char *field = (!rule->ingress ? "direction"
                         : rule->peer.address_groups.n ? "from.addressGroups"
                         : rule->l7_protocols ? "l7Protocols" : NULL);

    if (field && !r->error
        && adp_network_policy_applied_to_services(policy, rule)->n) {
        adp_reader_error_at(r, field, "a rule that is applied to Services %s",
                            !rule->ingress ? "must be one of In"
                            : rule->l7_protocols ? "has no place for these"
                            : "can only have ipBlocks");
    }
}

/* Messages of IGMP are let pass or dropped, and have no peer but the group;
 * rules of Kubernetes know nothing of them. */
static void
check_igmp(struct adp_reader *r, const struct adp_network_policy *policy,
           const struct adp_network_policy_rule *rule)
{
    size_t n = 0;

    for (size_t i = 0; i < rule->n_services; i++) {
        n += rule->services[i].protocol == IPPROTO_IGMP;
    }
    if (!n || r->error) {
        return;
    }
    if (n < rule->n_services) {
        adp_reader_error_at(r, "services", "IGMP and other protocols don't go "
                            "into one rule");
    } else if (policy->type != ADP_POLICY_ACNP
               && policy->type != ADP_POLICY_ANP) {
        adp_reader_error_at(r, "services", "IGMP is for Antrea's policies "
                            "only");
    } else if (rule->action != ADP_ACTION_ALLOW
               && rule->action != ADP_ACTION_DROP) {
        adp_reader_error_at(r, "action", "a rule for IGMP can only allow and "
                            "drop");
    } else if (!rule->ingress && rule->peer.present) {
        adp_reader_error_at(r, "to", "doesn't go with IGMP: groupAddress says "
                            "which group");
    } else if (rule->l7_protocols) {
        adp_reader_error_at(r, "l7Protocols", "doesn't go with IGMP");
    } else if (rule->logs) {
        adp_reader_error_at(r, "enableLogging", "doesn't go with IGMP");
    } else if (adp_network_policy_applied_to_services(policy, rule)->n) {
        adp_reader_error_at(r, "services", "a rule that is applied to "
                            "Services has no IGMP");
    }
    for (size_t i = 0; rule->ingress && i < rule->n_services; i++) {
        if (rule->services[i].igmp_type != ADP_IGMP_QUERY
            && rule->services[i].igmp_type >= 0) {
            adp_reader_error_at(r, "services", "Pods get no messages of IGMP "
                                "but queries (igmpType %d)", ADP_IGMP_QUERY);
        }
    }
}

/* A label is a word of a line in a file: it must not look like several. */
static void
check_log_label(struct adp_reader *r, const char *label)
{
    if (!label) {
        return;
    }
    if (!label[0] || strlen(label) > ADP_MAX_LOG_LABEL) {
        adp_reader_error_at(r, "logLabel", "must have 1 to %d characters",
                            ADP_MAX_LOG_LABEL);
    } else if (label[strspn(label, ADP_LOG_LABEL_CHARS)]) {
        adp_reader_error_at(r, "logLabel", "\"%s\" may have letters, digits, "
                            "\"-\", \"_\" and \".\" only", label);
    }
}

static void
parse_logging(struct adp_object *o, struct adp_network_policy_rule *rule)
{
    rule->logs = adp_object_bool(o, "enableLogging", false);
    rule->log_label = nullable_xstrdup(adp_object_string(o, "logLabel",
                                                         ADP_OPTIONAL));
    check_log_label(o->reader, rule->log_label);
}

/* What a rule says but for its place. */
static struct json *
without_priority(const struct json *rule)
{
    struct json *copy;
    const struct shash_node *node;

    if (!shash_find(json_object(rule), "priority")) {
        return json_clone(rule);
    }
    copy = json_object_create();
    SHASH_FOR_EACH (node, json_object(rule)) {
        if (strcmp(node->name, "priority")) {
            json_object_put(copy, node->name, json_clone(node->data));
        }
    }
    return copy;
}

/* Equal JSON has equal hashes.  Should two rules of one policy have the same
 * without being equal, they are told apart by their order, as equal ones
 * are. */
static char *
hash_text(const struct json *rule)
{
    struct json *json = without_priority(rule);
    uint8_t digest[SHA1_DIGEST_SIZE];
    char hex[SHA1_HEX_DIGEST_LEN + 1];
    char *text = json_to_string(json, JSSF_SORT);

    sha1_bytes(text, strlen(text), digest);
    sha1_to_hex(digest, hex);
    free(text);
    json_destroy(json);
    return xstrdup(hex);
}

/* 'n' are the rules of each direction before this one. */
static void
parse_rule(struct adp_reader *r, const struct json *json,
           const struct adp_network_policy *policy, unsigned int n[2],
           struct adp_network_policy_rule *rule)
{
    static const char *const directions[] = { "In", "Out", NULL };
    struct adp_object o;

    adp_object_open(&o, r, json);
    rule->name = nullable_xstrdup(adp_object_string(&o, "name",
                                                    ADP_OPTIONAL));
    rule->ingress = !adp_object_choice(&o, "direction", directions, -1);
    rule->index = n[rule->ingress]++;
    rule->priority = adp_object_integer(&o, "priority", 0, MAX_PRIORITY,
                                        ADP_OPTIONAL, rule->index);
    rule->action = adp_object_choice(&o, "action", adp_actions,
                                     ADP_ACTION_ALLOW);
    if (policy->type == ADP_POLICY_K8S && rule->action != ADP_ACTION_ALLOW) {
        adp_reader_error_at(r, "action",
                            "a K8sNetworkPolicy can only allow");
    } else if (policy->type != ADP_POLICY_K8S
               && policy->tier_priority >= ADP_TIER_BASELINE
               && rule->action == ADP_ACTION_PASS) {
        adp_reader_error_at(r, "action",
                            "nothing is left to pass to behind the baseline "
                            "tier");
    }
    parse_applied_to(&o, policy->type, &rule->applied_to,
                     &rule->applied_to_services);
    parse_peer(&o, "from", rule->ingress, policy->type, rule->ingress,
               &rule->peer);
    parse_peer(&o, "to", !rule->ingress, policy->type, rule->ingress,
               &rule->peer);
    parse_rule_services(&o, rule);
    adp_parse_l7_protocols(&o, policy, rule);
    parse_logging(&o, rule);
    check_service_rule(r, policy, rule);
    check_igmp(r, policy, rule);
    adp_object_close(&o);

    if (!r->error) {
        rule->identity = hash_text(json);
    }
}

static int
compare_places(const void *a_, const void *b_)
{
    const struct adp_network_policy_rule *const *a = a_;
    const struct adp_network_policy_rule *const *b = b_;

    return ((*a)->ingress != (*b)->ingress ? (*a)->ingress - (*b)->ingress
            : (*a)->priority != (*b)->priority
            ? ((*a)->priority < (*b)->priority ? -1 : 1) : 0);
}

/* Of rules that share a priority none comes first: they must agree. */
static void
check_places(struct adp_reader *r, const struct adp_network_policy *policy)
{
    const struct adp_network_policy_rule **rules
        = xmalloc((policy->n_rules + 1) * sizeof *rules);

    for (size_t i = 0; i < policy->n_rules; i++) {
        rules[i] = &policy->rules[i];
    }
    adp_sort_pointers(rules, policy->n_rules, compare_places);
    for (size_t i = 1; i < policy->n_rules && !r->error; i++) {
        const struct adp_network_policy_rule *rule = rules[i];

        if (rule->action != rules[i - 1]->action
            && !compare_places(&rules[i - 1], &rules[i])) {
            size_t mark = adp_reader_enter_index(r, rule - policy->rules);
            size_t inner = adp_reader_enter(r, "priority");

            adp_reader_error(r, "%u is that of a rule with another action, %s",
                             rule->priority,
                             adp_actions[rules[i - 1]->action]);
            adp_reader_leave(r, inner);
            adp_reader_leave(r, mark);
        }
    }
    free(rules);
}

static void
parse_rules(struct adp_object *parent, struct adp_network_policy *policy)
{
    struct adp_reader *r = parent->reader;
    size_t n;
    struct json **elems = adp_object_array(parent, "rules", ADP_REQUIRED, &n);
    size_t outer = adp_reader_enter(r, "rules");
    unsigned int n_before[2] = { 0, 0 };

    policy->rules = n ? xcalloc(n, sizeof *policy->rules) : NULL;
    for (size_t i = 0; i < n && !r->error; i++) {
        struct adp_network_policy_rule *rule
            = &policy->rules[policy->n_rules++];
        size_t mark = adp_reader_enter_index(r, i);

        parse_rule(r, elems[i], policy, n_before, rule);
        adp_reader_leave(r, mark);
    }
    if (!r->error) {
        check_places(r, policy);
    }
    adp_reader_leave(r, outer);
}

struct adp_record *
adp_parse_network_policy(struct adp_object *o)
{
    static const char *const antrea_members[] = {
        "tierPriority", "priority", NULL
    };
    struct adp_network_policy *policy = xzalloc(sizeof *policy);

    policy->type = adp_object_choice(o, "type", adp_policy_types, -1);
    if (policy->type == ADP_POLICY_K8S) {
        refuse_members(o, antrea_members, "is not for a K8sNetworkPolicy");
    } else {
        policy->tier_priority = adp_object_integer(o, "tierPriority", 0, 255,
                                                   ADP_REQUIRED, 0);
        policy->priority = adp_object_number(
            o, "priority", policy->type == ADP_POLICY_ADMIN ? 0 : 1, 10000,
            ADP_REQUIRED);
    }
    parse_applied_to(o, policy->type, &policy->applied_to,
                     &policy->applied_to_services);
    parse_rules(o, policy);
    return &policy->up;
}

void
adp_free_network_policy(struct adp_record *record)
{
    struct adp_network_policy *policy
        = CONTAINER_OF(record, struct adp_network_policy, up);

    adp_names_uninit(&policy->applied_to);
    adp_names_uninit(&policy->applied_to_services);
    for (size_t i = 0; i < policy->n_rules; i++) {
        struct adp_network_policy_rule *rule = &policy->rules[i];

        free(rule->name);
        adp_names_uninit(&rule->applied_to);
        adp_names_uninit(&rule->applied_to_services);
        adp_names_uninit(&rule->peer.address_groups);
        adp_names_uninit(&rule->peer.to_services);
        adp_names_uninit(&rule->peer.fqdns);
        for (size_t j = 0; j < rule->peer.n_ip_blocks; j++) {
            free(rule->peer.ip_blocks[j].excepts);
        }
        free(rule->peer.ip_blocks);
        free(rule->services);
        json_destroy(rule->l7_protocols);
        free(rule->log_label);
        free(rule->identity);
    }
    free(policy->rules);
    free(policy);
}

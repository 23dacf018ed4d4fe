/* SPDX-License-Identifier: Apache-2.0 */

/* Kubernetes' and Antrea's policies. */

#include <config.h>
#include "dpctl-resolve-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-admin.h"
#include "dpctl-json.h"
#include "dpctl-selector.h"
#include "dpctl-tier.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

enum { MAX_GROUP_DEPTH = 8 };

struct group_list {
    struct pod_group **groups;
    size_t n, allocated;
};

/* Whom a rule's "from" or "to" means. */
struct peers {
    bool any;                       /* Everybody: no list was given. */
    struct group_list groups;
    struct json *blocks;            /* An array. */
    struct json *services;          /* Names of Services; may be NULL. */
};

struct policy {
    const struct json *object;
    const char *namespace_;         /* NULL: of the whole cluster. */
    const char *title;              /* For messages. */
    const struct dpctl_kind *kind;
    bool is_k8s;
    struct group_list applied_to;   /* Of the policy. */
    struct json *rules;
};

/* A rule before its named ports are resolved. */
struct rule {
    const char *direction;          /* "In" or "Out". */
    const char *action;
    const char *name;               /* Or NULL. */
    const struct group_list *applied_to;    /* The rule's own, or NULL. */
    struct peers peers;
    struct json *services;          /* An array; numbers only. */
    const struct json **named;      /* Ports given by name. */
    size_t n_named;
};

static void
group_list_add(struct group_list *list, struct pod_group *group)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->groups[i] == group) {
            return;
        }
    }
    if (list->n >= list->allocated) {
        list->groups = x2nrealloc(list->groups, &list->allocated,
                                  sizeof *list->groups);
    }
    list->groups[list->n++] = group;
}

static size_t
group_list_n_local(const struct group_list *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        n += list->groups[i]->n_local;
    }
    return n;
}

static struct json *
group_list_names(struct resolver *r, const struct group_list *list,
                 const char *(*make)(struct resolver *,
                                     const struct pod_group *))
{
    struct json *names = json_array_create_empty();

    for (size_t i = 0; i < list->n; i++) {
        json_array_add(names, json_string_create(make(r, list->groups[i])));
    }
    return names;
}

/* Peers and applied-to. */

/* Only IPv4 can be matched; an IPv6 block matches nothing that there is. */
static void
add_block(struct peers *peers, const struct json *block)
{
    ovs_be32 ip;
    unsigned int plen;
    char *error = ip_parse_cidr(dpctl_json_str(block, "cidr"), &ip, &plen);

    if (!error) {
        struct json *json = json_object_create();
        json_object_put_format(json, "cidr", IP_FMT"/%u",
                               IP_ARGS(ip & be32_prefix_mask(plen)), plen);
        if (dpctl_json_array(block, "except")->n) {
            json_object_put(json, "except",
                            json_clone(dpctl_json_member(block, "except")));
        }
        json_array_add(peers->blocks, json);
    }
    free(error);
}

/* The namespace that 'named', which has a name, is in. */
static const char *
namespace_of(const struct policy *p, const struct json *named)
{
    const char *namespace_ = dpctl_json_str(named, "namespace");

    return namespace_ ? namespace_ : p->namespace_;
}

/* Adds the Pods that the Service selects, if there is such a Service. */
static void
add_service_pods(struct resolver *r, const struct policy *p,
                 const struct json *reference, struct peers *peers)
{
    const char *namespace_ = namespace_of(p, reference);
    char *manifest = dpctl_manifest_name(&dpctl_kinds[DPCTL_SERVICE],
                                         namespace_,
                                         dpctl_json_str(reference, "name"));
    const struct json *service = shash_find_data(&r->objects[DPCTL_SERVICE],
                                                 manifest);
    const struct json *selector = dpctl_json_get(service, "spec.selector");

    if (selector && !shash_is_empty(json_object(selector))) {
        struct json *pods = json_object_create();

        json_object_put(pods, "matchLabels", json_clone(selector));
        group_list_add(&peers->groups, resolver_group(r, namespace_, pods,
                                                      NULL));
        json_destroy(pods);
    }
    free(manifest);
}

/* Adds what the (Cluster)Group 'name' stands for. */
static char *
add_named_group(struct resolver *r, const struct policy *p, const char *field,
                const char *name, struct peers *peers, int depth)
{
    const struct dpctl_kind *kind
        = &dpctl_kinds[p->namespace_ ? DPCTL_GROUP : DPCTL_CLUSTER_GROUP];
    char *manifest = dpctl_manifest_name(kind, p->namespace_, name);
    const struct json *object = shash_find_data(&r->objects[kind->id],
                                                manifest);
    free(manifest);
    if (!object) {
        return xasprintf("%s: %s: there is no %s %s", p->title, field,
                         kind->kind, name);
    } else if (depth > MAX_GROUP_DEPTH) {
        return xasprintf("%s: %s: %s %s is nested too deep", p->title, field,
                         kind->kind, name);
    }

    const struct json *spec = dpctl_json_member(object, "spec");
    const struct json *pods = dpctl_json_member(spec, "podSelector");
    const struct json *namespaces = dpctl_json_member(spec,
                                                      "namespaceSelector");
    if (pods || namespaces) {
        group_list_add(&peers->groups, resolver_group(r, p->namespace_, pods,
                                                      namespaces));
    }
    if (dpctl_json_member(spec, "ipBlock")) {
        add_block(peers, dpctl_json_member(spec, "ipBlock"));
    }
    const struct json_array *blocks = dpctl_json_array(spec, "ipBlocks");
    for (size_t i = 0; i < blocks->n; i++) {
        add_block(peers, blocks->elems[i]);
    }
    if (dpctl_json_member(spec, "serviceReference")) {
        add_service_pods(r, p, dpctl_json_member(spec, "serviceReference"),
                         peers);
    }
    const struct json_array *children = dpctl_json_array(spec, "childGroups");
    for (size_t i = 0; i < children->n; i++) {
        char *error = add_named_group(r, p, field, children->elems[i]->string,
                                      peers, depth + 1);
        if (error) {
            return error;
        }
    }
    return NULL;
}

static char *
add_peer(struct resolver *r, const struct policy *p, const char *field,
         const struct json *peer, struct peers *peers)
{
    const struct json *block = dpctl_json_member(peer, "ipBlock");
    const char *group = dpctl_json_str(peer, "group");
    const struct json *account = dpctl_json_member(peer, "serviceAccount");
    const struct json *nodes = dpctl_json_member(peer, "nodeSelector");

    if (account) {
        group_list_add(&peers->groups,
                       resolver_account_group(r, namespace_of(p, account),
                                              dpctl_json_str(account,
                                                             "name")));
    } else if (nodes) {
        group_list_add(&peers->groups, resolver_node_group(r, nodes));
    } else if (group) {
        return add_named_group(r, p, field, group, peers, 0);
    } else if (block) {
        add_block(peers, block);
    } else {
        group_list_add(&peers->groups,
                       resolver_group(r, p->namespace_,
                                      dpctl_json_member(peer, "podSelector"),
                                      dpctl_json_member(peer,
                                                        "namespaceSelector")));
    }
    return NULL;
}

/* Does the peer mean something else for each Namespace of the Pods that the
 * policy is applied to? */
static bool
is_per_namespace(const struct json *peer)
{
    return dpctl_json_member(peer, "namespaces") != NULL;
}

/* Adds what such a peer means to Pods of 'own'. */
static void
add_peer_for_namespace(struct resolver *r, const struct json *peer,
                       const char *own, struct peers *peers)
{
    const struct json *pods = dpctl_json_member(peer, "podSelector");
    const struct json_array *same
        = dpctl_json_array(peer, "namespaces.sameLabels");
    struct pod_group *group = NULL;

    if (!same->n) {
        group = resolver_group(r, own, pods, NULL);
    } else {
        struct json *labels = resolver_namespace_labels(r, own);
        struct json *selector = json_object_create();
        struct json *match = json_object_create();
        bool has_all = true;

        for (size_t i = 0; i < same->n; i++) {
            const char *name = json_string(same->elems[i]);
            const struct json *value = dpctl_json_member(labels, name);

            has_all &= value != NULL;
            if (value) {
                json_object_put(match, name, json_clone(value));
            }
        }
        json_object_put(selector, "matchLabels", match);
        if (has_all) {
            group = resolver_group(r, NULL, pods, selector);
        }
        json_destroy(selector);
        json_destroy(labels);
    }
    if (group) {
        group_list_add(&peers->groups, group);
    }
}

/* The peers of 'list' that are the same for all that the policy is applied to;
 * or, with 'own', the others for Pods of that Namespace. */
static char *
resolve_peers(struct resolver *r, const struct policy *p, const char *field,
              const struct json_array *list, const char *own,
              struct peers *peers)
{
    peers->any = !list->n;
    peers->blocks = json_array_create_empty();
    for (size_t i = 0; i < list->n; i++) {
        const struct json *peer = list->elems[i];
        char *error = NULL;

        if (is_per_namespace(peer) && own) {
            add_peer_for_namespace(r, peer, own, peers);
        } else if (!is_per_namespace(peer) && !own) {
            error = add_peer(r, p, field, peer, peers);
        }
        if (error) {
            return error;
        }
    }
    return NULL;
}

static void
resolve_to_services(const struct policy *p, const struct json_array *list,
                    struct peers *peers)
{
    if (!list->n) {
        return;
    }
    peers->any = false;
    peers->services = json_array_create_empty();
    for (size_t i = 0; i < list->n; i++) {
        json_array_add(peers->services, json_string_create_nocopy(
                           xasprintf("%s/%s", namespace_of(p, list->elems[i]),
                                     dpctl_json_str(list->elems[i],
                                                    "name"))));
    }
}

static void
peers_uninit(struct peers *peers)
{
    free(peers->groups.groups);
    json_destroy(peers->blocks);
    json_destroy(peers->services);
}

static char *
resolve_applied_to(struct resolver *r, const struct policy *p,
                   const char *field, const struct json_array *list,
                   struct group_list *groups)
{
    struct peers peers = { .any = false };
    char *error = resolve_peers(r, p, field, list, NULL, &peers);

    if (!error && json_array(peers.blocks)->n) {
        error = xasprintf("%s: %s: an ipBlock can't be applied to", p->title,
                          field);
    }
    if (!error) {
        *groups = peers.groups;
        peers.groups = (struct group_list) { .groups = NULL };
    }
    peers_uninit(&peers);
    return error;
}

char *
resolver_applied_to(struct resolver *r, const char *title, const char *field,
                    const struct json_array *peers, struct json **groups)
{
    const struct policy p = { .title = title };
    struct group_list list = { .groups = NULL };
    char *error = resolve_applied_to(r, &p, field, peers, &list);

    if (!error) {
        *groups = group_list_names(r, &list, resolver_applied_to_group);
    }
    free(list.groups);
    return error;
}

static struct json *
peers_to_json(struct resolver *r, const struct policy *p,
              const struct peers *peers, const struct group_list *groups)
{
    struct json *json = json_object_create();

    if (peers->any && !groups) {
        /* Antrea's policies say "anybody" by saying nothing; Kubernetes'
         * records would mean "nobody". */
        ovs_assert(p->is_k8s);
        struct json *block = json_object_create();
        json_object_put_string(block, "cidr", "0.0.0.0/0");
        json_object_put(json, "ipBlocks", json_array_create_1(block));
        return json;
    }
    const struct group_list *list = groups ? groups : &peers->groups;
    json_object_put(json, "addressGroups",
                    group_list_names(r, list, resolver_address_group));
    if (!groups && json_array(peers->blocks)->n) {
        json_object_put(json, "ipBlocks", json_clone(peers->blocks));
    }
    if (!groups && peers->services) {
        json_object_put(json, "toServices", json_clone(peers->services));
    }
    return json;
}

/* Rules. */

/* Adds the rule to the policy.  'services', 'applied_to' and 'peer_groups'
 * replace what the rule has, if they aren't NULL.  Takes 'services'. */
static void
add_rule(struct resolver *r, struct policy *p, const struct rule *rule,
         struct json *services, const struct group_list *applied_to,
         const struct group_list *peer_groups)
{
    bool in = !strcmp(rule->direction, "In");
    struct json *json = json_object_create();

    if (rule->name) {
        json_object_put_string(json, "name", rule->name);
    }
    json_object_put_string(json, "direction", rule->direction);
    json_object_put_string(json, "action", rule->action);
    applied_to = applied_to ? applied_to : rule->applied_to;
    if (applied_to) {
        json_object_put(json, "appliedToGroups",
                        group_list_names(r, applied_to,
                                         resolver_applied_to_group));
    }
    if (p->is_k8s || !rule->peers.any || peer_groups) {
        json_object_put(json, in ? "from" : "to",
                        peers_to_json(r, p, &rule->peers, peer_groups));
    }
    if (services && json_array(services)->n) {
        json_object_put(json, "services", services);
    } else {
        json_destroy(services);
    }
    json_array_add(p->rules, json);
}

/* The Pods that stand for the port names of one rule in one way. */
struct port_set {
    struct json *services;
    const struct resolved_pod **pods;
    size_t n, allocated;
};

static void
put_source_ports(struct json *service, const struct json *port)
{
    static const char *const members[][2] = {
        { "sourcePort", "srcPort" }, { "sourceEndPort", "srcEndPort" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct json *value = dpctl_json_member(port, members[i][0]);
        if (value) {
            json_object_put(service, members[i][1], json_clone(value));
        }
    }
}

/* Puts 'pod' where those are whose ports have the same numbers. */
static void
classify_pod(const struct rule *rule, const struct resolved_pod *pod,
             struct shash *sets)
{
    struct json *services = json_array_create_empty();
    struct ds key = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < rule->n_named; i++) {
        const char *name = dpctl_json_str(rule->named[i], "port");
        const char *protocol = dpctl_json_str(rule->named[i], "protocol");
        protocol = protocol ? protocol : "TCP";

        int port = resolver_named_port(pod, name, protocol);
        if (port) {
            struct json *service = json_object_create();
            json_object_put_string(service, "protocol", protocol);
            json_object_put(service, "port", json_integer_create(port));
            put_source_ports(service, rule->named[i]);
            json_array_add(services, service);
        }
        /* Names without a number are in the key too: it names a group, whose
         * members must follow from its name. */
        ds_put_format(&key, "%s%s/%s=", key.length ? "," : "", name,
                      protocol);
        if (port) {
            ds_put_format(&key, "%d", port);
        } else {
            ds_put_cstr(&key, "none");
        }
    }

    if (json_array(services)->n) {
        struct port_set *set = shash_find_data(sets, ds_cstr(&key));
        if (!set) {
            set = xzalloc(sizeof *set);
            set->services = json_clone(services);
            shash_add(sets, ds_cstr(&key), set);
        }
        if (set->n >= set->allocated) {
            set->pods = x2nrealloc(set->pods, &set->allocated,
                                   sizeof *set->pods);
        }
        set->pods[set->n++] = pod;
    }
    json_destroy(services);
    ds_destroy(&key);
}

static void
add_named_rule(struct resolver *r, struct policy *p, const struct rule *rule,
               const char *base, const char *key, struct port_set *set)
{
    struct pod_group *group = resolver_subgroup(r, base, key, set->pods,
                                                set->n);
    struct group_list list = { .groups = &group, .n = 1 };
    bool in = !strcmp(rule->direction, "In");

    if (!in || group->n_local) {
        add_rule(r, p, rule, json_clone(set->services), in ? &list : NULL,
                 in ? NULL : &list);
    }
}

/* Adds a rule for each set of numbers that the rule's port names stand for:
 * in the Pods that it is applied to, for "In", in its peers, for "Out". */
static void
add_named_rules(struct resolver *r, struct policy *p, const struct rule *rule)
{
    bool in = !strcmp(rule->direction, "In");
    struct group_list everybody = { .groups = NULL };
    const struct group_list *list;

    if (in) {
        list = rule->applied_to ? rule->applied_to : &p->applied_to;
    } else if (rule->peers.any) {
        struct json *namespaces = json_object_create();
        group_list_add(&everybody,
                       resolver_group(r, NULL, NULL, namespaces));
        json_destroy(namespaces);
        list = &everybody;
    } else {
        list = &rule->peers.groups;
    }

    for (size_t i = 0; i < list->n; i++) {
        const struct pod_group *group = list->groups[i];
        struct shash sets = SHASH_INITIALIZER(&sets);

        for (size_t j = 0; j < group->n_pods; j++) {
            classify_pod(rule, group->pods[j], &sets);
        }
        const struct shash_node **nodes = shash_sort(&sets);
        for (size_t j = 0; j < shash_count(&sets); j++) {
            struct port_set *set = nodes[j]->data;
            add_named_rule(r, p, rule, group->name, nodes[j]->name, set);
            json_destroy(set->services);
            free(set->pods);
        }
        free(nodes);
        shash_destroy_free_data(&sets);
    }
    free(everybody.groups);
}

static void
rule_add_port(struct rule *rule, const struct json *port)
{
    const struct json *number = dpctl_json_member(port, "port");
    const char *protocol = dpctl_json_str(port, "protocol");
    long long int end = dpctl_json_int(port, "endPort", 0);

    if (number && number->type == JSON_STRING) {
        rule->named[rule->n_named++] = port;
        return;
    }
    struct json *service = json_object_create();
    json_object_put_string(service, "protocol", protocol ? protocol : "TCP");
    if (number) {
        json_object_put(service, "port", json_clone(number));
    }
    if (end) {
        json_object_put(service, "endPort", json_integer_create(end));
    }
    put_source_ports(service, port);
    json_array_add(rule->services, service);
}

static void
rule_add_protocol(struct rule *rule, const struct json *protocol)
{
    static const char *const members[] = { "icmpType", "icmpCode" };
    const struct json *icmp = dpctl_json_member(protocol, "icmp");
    struct json *service = json_object_create();

    json_object_put_string(service, "protocol", "ICMP");
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct json *value = dpctl_json_member(icmp, members[i]);
        if (value) {
            json_object_put(service, members[i], json_clone(value));
        }
    }
    json_array_add(rule->services, service);
}

/* Adds a rule whose peers and applied-to are known. */
static void
add_resolved_rule(struct resolver *r, struct policy *p,
                  const struct rule *rule)
{
    if (!rule->n_named || json_array(rule->services)->n
        || r->env->everywhere) {
        add_rule(r, p, rule, json_clone(rule->services), NULL, NULL);
    }
    if (rule->n_named) {
        add_named_rules(r, p, rule);
    }
}

/* The Namespaces for which a rule with such peers is to be had: those in which
 * it is applied to Pods of this node.  Whose Pods join and leave groups asks for
 * all in which there are some. */
static void
affected_namespaces(const struct resolver *r, const struct group_list *list,
                    struct svec *namespaces)
{
    for (size_t i = 0; i < r->n_pods && r->env->everywhere; i++) {
        svec_add(namespaces, r->pods[i].namespace_);
    }
    for (size_t i = 0; i < list->n; i++) {
        const struct pod_group *group = list->groups[i];

        for (size_t j = 0; j < group->n_pods; j++) {
            if (group->pods[j]->local) {
                svec_add(namespaces, group->pods[j]->namespace_);
            }
        }
    }
    svec_sort_unique(namespaces);
}

/* The part of the groups' Pods that is in 'namespace_'. */
static void
narrow_groups(struct resolver *r, const struct group_list *list,
              const char *namespace_, struct group_list *part)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct pod_group *group = list->groups[i];
        const struct resolved_pod **pods = xmalloc((group->n_pods + 1)
                                                   * sizeof *pods);
        char *what = xasprintf("in %s", namespace_);
        size_t n = 0;

        for (size_t j = 0; j < group->n_pods; j++) {
            if (!strcmp(group->pods[j]->namespace_, namespace_)) {
                pods[n++] = group->pods[j];
            }
        }
        group_list_add(part, resolver_subgroup(r, group->name, what, pods,
                                               n));
        free(what);
        free(pods);
    }
}

/* Adds a rule for each Namespace that is affected, for the peers that depend on
 * it. */
static char *
add_rules_per_namespace(struct resolver *r, struct policy *p,
                        const struct rule *rule, const char *field,
                        const struct json_array *peers)
{
    const struct group_list *applied_to = (rule->applied_to
                                           ? rule->applied_to
                                           : &p->applied_to);
    struct svec namespaces = SVEC_EMPTY_INITIALIZER;
    char *error = NULL;

    affected_namespaces(r, applied_to, &namespaces);
    for (size_t i = 0; i < namespaces.n && !error; i++) {
        struct group_list part = { .groups = NULL };
        struct rule own = *rule;

        own.peers = (struct peers) { .any = false };
        narrow_groups(r, applied_to, namespaces.names[i], &part);
        own.applied_to = &part;
        error = resolve_peers(r, p, field, peers, namespaces.names[i],
                              &own.peers);
        if (!error && own.peers.groups.n) {
            add_resolved_rule(r, p, &own);
        }
        peers_uninit(&own.peers);
        free(part.groups);
    }
    svec_destroy(&namespaces);
    return error;
}

/* Resolves one rule as the user wrote it. */
static char *
resolve_rule(struct resolver *r, struct policy *p, const char *direction,
             const char *path, const struct json *json)
{
    bool in = !strcmp(direction, "In");
    const char *peer_name = in ? "from" : "to";
    const struct json_array *ports = dpctl_json_array(json, "ports");
    const struct json_array *protocols = dpctl_json_array(json, "protocols");
    const char *action = dpctl_json_str(json, "action");
    struct group_list applied_to = { .groups = NULL };
    struct rule rule = {
        .direction = direction,
        .action = action ? action : "Allow",
        .name = dpctl_json_str(json, "name"),
        .services = json_array_create_empty(),
        .named = xcalloc(ports->n + 1, sizeof *rule.named),
    };

    const struct json_array *peers = dpctl_json_array(json, peer_name);
    size_t n_per_namespace = 0;

    for (size_t i = 0; i < peers->n; i++) {
        n_per_namespace += is_per_namespace(peers->elems[i]);
    }
    char *field = xasprintf("%s.%s", path, peer_name);
    char *error = resolve_peers(r, p, field, peers, NULL, &rule.peers);
    resolve_to_services(p, dpctl_json_array(json, "toServices"), &rule.peers);
    free(field);
    if (!error && dpctl_json_array(json, "appliedTo")->n) {
        field = xasprintf("%s.appliedTo", path);
        error = resolve_applied_to(r, p, field,
                                   dpctl_json_array(json, "appliedTo"),
                                   &applied_to);
        rule.applied_to = &applied_to;
        free(field);
    }
    if (!error) {
        for (size_t i = 0; i < ports->n; i++) {
            rule_add_port(&rule, ports->elems[i]);
        }
        for (size_t i = 0; i < protocols->n; i++) {
            rule_add_protocol(&rule, protocols->elems[i]);
        }
        if (!peers->n || n_per_namespace < peers->n) {
            add_resolved_rule(r, p, &rule);
        }
        if (n_per_namespace) {
            error = add_rules_per_namespace(r, p, &rule, peer_name, peers);
        }
    }
    peers_uninit(&rule.peers);
    free(applied_to.groups);
    json_destroy(rule.services);
    free(rule.named);
    return error;
}

static char *
resolve_direction(struct resolver *r, struct policy *p, const char *direction,
                  const char *member)
{
    const struct json *spec = dpctl_json_member(p->object, "spec");
    const struct json_array *rules = dpctl_json_array(spec, member);
    char *error = NULL;

    for (size_t i = 0; i < rules->n && !error; i++) {
        char *path = xasprintf("spec.%s[%"PRIuSIZE"]", member, i);
        error = resolve_rule(r, p, direction, path, rules->elems[i]);
        free(path);
    }
    return error;
}

/* Kubernetes NetworkPolicy. */

static bool
has_policy_type(const struct json *spec, const char *type)
{
    const struct json_array *types = dpctl_json_array(spec, "policyTypes");

    for (size_t i = 0; i < types->n; i++) {
        if (!strcmp(types->elems[i]->string, type)) {
            return true;
        }
    }
    /* By default Ingress, and Egress if there are such rules. */
    return !types->n && (!strcmp(type, "Ingress")
                         || dpctl_json_array(spec, "egress")->n);
}

static char *
resolve_k8s_direction(struct resolver *r, struct policy *p,
                      const char *direction, const char *member)
{
    size_t n_before = json_array(p->rules)->n;
    char *error = resolve_direction(r, p, direction, member);

    if (!error && json_array(p->rules)->n == n_before) {
        /* Nothing is allowed: a rule without a peer isolates the Pods. */
        struct json *rule = json_object_create();
        json_object_put_string(rule, "direction", direction);
        json_array_add(p->rules, rule);
    }
    return error;
}

static char *
resolve_k8s_rules(struct resolver *r, struct policy *p)
{
    const struct json *spec = dpctl_json_member(p->object, "spec");
    char *error = NULL;

    if (has_policy_type(spec, "Ingress")) {
        error = resolve_k8s_direction(r, p, "In", "ingress");
    }
    if (!error && has_policy_type(spec, "Egress")) {
        error = resolve_k8s_direction(r, p, "Out", "egress");
    }
    return error;
}

/* Antrea's policies. */

/* Is a rule, or the policy, applied to a Pod of this node? */
static char *
applies_here(struct resolver *r, struct policy *p, bool *here)
{
    static const char *const members[] = { "ingress", "egress" };
    const struct json *spec = dpctl_json_member(p->object, "spec");

    *here |= group_list_n_local(&p->applied_to) > 0;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct json_array *rules = dpctl_json_array(spec, members[i]);
        for (size_t j = 0; j < rules->n; j++) {
            struct group_list groups = { .groups = NULL };
            char *field = xasprintf("spec.%s[%"PRIuSIZE"].appliedTo",
                                    members[i], j);
            char *error
                = resolve_applied_to(r, p, field,
                                     dpctl_json_array(rules->elems[j],
                                                      "appliedTo"), &groups);
            *here |= group_list_n_local(&groups) > 0;
            for (size_t k = 0; k < groups.n && r->env->everywhere; k++) {
                /* A rule may come to nothing; whom it is applied to matters
                 * all the same. */
                group_list_add(&p->applied_to, groups.groups[k]);
            }
            free(groups.groups);
            free(field);
            if (error) {
                return error;
            }
        }
    }
    return NULL;
}

static char *
resolve_antrea_head(struct resolver *r, struct policy *p, struct json *record)
{
    const char *tier = dpctl_json_str(p->object, "spec.tier");
    long long int priority;

    if (dpctl_is_admin_policy(p->kind)) {
        priority = (p->kind->id == DPCTL_ADMIN_NP ? DPCTL_ADMIN_TIER
                    : DPCTL_BASELINE_ADMIN_TIER);
    } else if (!dpctl_tier_priority(&r->objects[DPCTL_TIER], tier, &priority)) {
        return xasprintf("%s: spec.tier: there is no Tier %s", p->title, tier);
    }
    json_object_put(record, "tierPriority", json_integer_create(priority));
    json_object_put(record, "priority",
                    json_clone(dpctl_json_get(p->object, "spec.priority")));
    return NULL;
}

static char *
resolve_antrea_rules(struct resolver *r, struct policy *p)
{
    char *error = resolve_direction(r, p, "In", "ingress");

    return error ? error : resolve_direction(r, p, "Out", "egress");
}

/* All of them. */

static char *
resolve_policy_applied_to(struct resolver *r, struct policy *p)
{
    const struct json *spec = dpctl_json_member(p->object, "spec");

    if (p->is_k8s) {
        group_list_add(&p->applied_to,
                       resolver_group(r, p->namespace_,
                                      dpctl_json_member(spec, "podSelector"),
                                      NULL));
        return NULL;
    }
    return resolve_applied_to(r, p, "spec.appliedTo",
                              dpctl_json_array(spec, "appliedTo"),
                              &p->applied_to);
}

static const char *
policy_type(const struct dpctl_kind *kind)
{
    return (kind->id == DPCTL_K8S_NP ? "K8sNetworkPolicy"
            : kind->id == DPCTL_ACNP ? "AntreaClusterNetworkPolicy"
            : dpctl_is_admin_policy(kind) ? kind->kind
            : "AntreaNetworkPolicy");
}

char *
dpctl_policy_record_name(const struct dpctl_kind *kind,
                         const struct json *object)
{
    const struct json *source = dpctl_json_member(object, "sourceRef");
    bool is_cp = kind->id == DPCTL_CP_NP;

    if (kind->id == DPCTL_EGRESS || kind->id == DPCTL_TRAFFIC_CONTROL) {
        return xstrdup(dpctl_json_str(object, "metadata.name"));
    }
    const char *namespace_ = (is_cp ? dpctl_json_str(source, "namespace")
                              : dpctl_json_str(object, "metadata.namespace"));
    bool namespaced = namespace_ && namespace_[0];

    return xasprintf("%s:%s%s%s",
                     is_cp ? dpctl_json_str(source, "type")
                     : policy_type(kind),
                     namespaced ? namespace_ : "", namespaced ? "/" : "",
                     is_cp ? dpctl_json_str(source, "name")
                     : dpctl_json_str(object, "metadata.name"));
}

static char *
resolve_policy(struct resolver *r, struct policy *p)
{
    const char *type = policy_type(p->kind);
    char *record_name = dpctl_policy_record_name(p->kind, p->object);
    struct json *record = resolver_record("NetworkPolicy", record_name);
    bool here = r->env->everywhere;

    json_object_put_string(record, "type", type);
    p->rules = json_array_create_empty();
    char *error = resolve_policy_applied_to(r, p);
    if (!error) {
        error = applies_here(r, p, &here);
    }
    if (!error && !p->is_k8s && !r->env->everywhere) {
        error = resolve_antrea_head(r, p, record);
    }
    if (!error && here) {
        if (p->applied_to.n) {
            json_object_put(record, "appliedToGroups",
                            group_list_names(r, &p->applied_to,
                                             resolver_applied_to_group));
        }
        error = (p->is_k8s ? resolve_k8s_rules(r, p)
                 : resolve_antrea_rules(r, p));
    }
    if (!error && here) {
        json_object_put(record, "rules", json_clone(p->rules));
        resolver_put(r, json_clone(record));
    }
    json_destroy(p->rules);
    json_destroy(record);
    free(record_name);
    free(p->applied_to.groups);
    return error;
}

char *
resolve_policies(struct resolver *r)
{
    static const enum dpctl_kind_id kinds[] = {
        DPCTL_K8S_NP, DPCTL_ACNP, DPCTL_ANNP, DPCTL_ADMIN_NP,
        DPCTL_BASELINE_ADMIN_NP,
    };

    char *tiers_error = dpctl_tier_check_all(&r->objects[DPCTL_TIER]);
    if (tiers_error && !r->env->keys_only) {
        return tiers_error;
    }
    free(tiers_error);

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t n;
        const struct shash_node **nodes = resolver_sorted(r, kinds[i], &n);
        char *error = NULL;

        for (size_t j = 0; j < n && !error; j++) {
            char *title = dpctl_kind_title(&dpctl_kinds[kinds[i]],
                                           nodes[j]->data, "");
            struct json *antreas
                = (dpctl_is_admin_policy(&dpctl_kinds[kinds[i]])
                   ? dpctl_admin_to_antrea(&dpctl_kinds[kinds[i]],
                                           nodes[j]->data) : NULL);
            struct policy p = {
                .kind = &dpctl_kinds[kinds[i]],
                .object = antreas ? antreas : nodes[j]->data,
                .namespace_ = dpctl_json_str(nodes[j]->data,
                                             "metadata.namespace"),
                .title = title,
                .is_k8s = kinds[i] == DPCTL_K8S_NP,
            };
            error = resolve_policy(r, &p);
            json_destroy(antreas);
            free(title);
            if (error && (r->env->keys_only || r->env->everywhere)) {
                free(error);
                error = NULL;
            }
        }
        free(nodes);
        if (error) {
            return error;
        }
    }
    return NULL;
}

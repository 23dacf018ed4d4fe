/* SPDX-License-Identifier: Apache-2.0 */

/* Kubernetes' and Antrea's policies. */

#include <config.h>
#include "dpctl-resolve-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-admin.h"
#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-resolve-peers.h"
#include "dpctl-selector.h"
#include "dpctl-tier.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* A rule before its named ports are resolved. */
struct rule {
    const char *direction;          /* "In" or "Out". */
    long long int number;           /* As written, among those. */
    const char *action;
    const char *name;               /* Or NULL. */
    const struct json *l7_protocols; /* An array, or NULL. */
    bool logs;
    const char *log_label;          /* Or NULL. */
    const struct dpctl_groups *applied_to;    /* The rule's own, or NULL. */
    const struct json *applied_to_services; /* The same. */
    struct dpctl_peers peers;
    struct json *services;          /* An array; numbers only. */
    const struct json **named;      /* Ports given by name. */
    size_t n_named;
};

/* Rules. */

/* Adds the rule to the policy.  'services', 'applied_to' and 'peer_groups'
 * replace what the rule has, if they aren't NULL.  Takes 'services'. */
static void
add_rule(struct resolver *r, struct dpctl_policy *p, const struct rule *rule,
         struct json *services, const struct dpctl_groups *applied_to,
         const struct dpctl_groups *peer_groups)
{
    bool in = !strcmp(rule->direction, "In");
    struct json *json = json_object_create();

    if (rule->name) {
        json_object_put_string(json, "name", rule->name);
    }
    json_object_put_string(json, "direction", rule->direction);
    json_object_put_string(json, "action", rule->action);
    if (rule->logs) {
        json_object_put(json, "enableLogging", json_boolean_create(true));
    }
    if (rule->log_label) {
        json_object_put_string(json, "logLabel", rule->log_label);
    }
    applied_to = applied_to ? applied_to : rule->applied_to;
    if (applied_to) {
        json_object_put(json, "appliedToGroups",
                        dpctl_groups_names(r, applied_to,
                                         resolver_applied_to_group));
    }
    if (rule->applied_to_services) {
        json_object_put(json, "appliedToServices",
                        json_clone(rule->applied_to_services));
    }
    if (p->is_k8s || !rule->peers.any || peer_groups) {
        json_object_put(json, in ? "from" : "to",
                        dpctl_peers_to_json(r, p, &rule->peers, peer_groups));
    }
    if (peer_groups && r->env->everywhere) {
        json_object_put(json, "hasNamedPorts", json_boolean_create(true));
    }
    if (services && json_array(services)->n) {
        json_object_put(json, "services", services);
    } else {
        json_destroy(services);
    }
    if (p->n_rules[in]++ != rule->number) {
        json_object_put(json, "priority", json_integer_create(rule->number));
    }
    if (rule->l7_protocols) {
        json_object_put(json, "l7Protocols", json_clone(rule->l7_protocols));
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
add_named_rule(struct resolver *r, struct dpctl_policy *p,
               const struct rule *rule, const char *base, const char *key,
               struct port_set *set)
{
    struct pod_group *group = resolver_subgroup(r, base, key, set->pods,
                                                set->n);
    struct dpctl_groups list = { .groups = &group, .n = 1 };
    bool in = !strcmp(rule->direction, "In");

    if (!in || group->n_local) {
        add_rule(r, p, rule, json_clone(set->services), in ? &list : NULL,
                 in ? NULL : &list);
    }
}

/* Adds a rule for each set of numbers that the rule's port names stand for:
 * in the Pods that it is applied to, for "In", in its peers, for "Out". */
static void
add_named_rules(struct resolver *r, struct dpctl_policy *p,
                const struct rule *rule)
{
    bool in = !strcmp(rule->direction, "In");
    struct dpctl_groups everybody = { .groups = NULL };
    const struct dpctl_groups *list;

    if (in) {
        list = rule->applied_to ? rule->applied_to : &p->applied_to;
    } else if (rule->peers.any) {
        struct json *namespaces = json_object_create();
        dpctl_groups_add(&everybody,
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
    static const char *const members[] = {
        "icmpType", "icmpCode", "igmpType", "groupAddress"
    };
    const struct json *icmp = dpctl_json_member(protocol, "icmp");
    const struct json *in = icmp ? icmp : dpctl_json_member(protocol, "igmp");
    struct json *service = json_object_create();

    json_object_put_string(service, "protocol", icmp ? "ICMP" : "IGMP");
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct json *value = dpctl_json_member(in, members[i]);
        if (value) {
            json_object_put(service, members[i], json_clone(value));
        }
    }
    json_array_add(rule->services, service);
}

/* Adds a rule whose peers and applied-to are known. */
static void
add_resolved_rule(struct resolver *r, struct dpctl_policy *p,
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
 * it is applied to Pods of this node.  Whose Pods join and leave groups asks
 * for all in which there are some. */
static void
affected_namespaces(const struct resolver *r, const struct dpctl_groups *list,
                    struct svec *namespaces)
{
    for (size_t i = 0; i < r->n_spaces && r->env->everywhere; i++) {
        svec_add(namespaces, r->spaces[i].name);
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
narrow_groups(struct resolver *r, const struct dpctl_groups *list,
              const char *namespace_, struct dpctl_groups *part)
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
        dpctl_groups_add(part, resolver_subgroup(r, group->name, what, pods,
                                               n));
        free(what);
        free(pods);
    }
}

/* Adds a rule for each Namespace that is affected, for the peers that depend
 * on it. */
static char *
add_rules_per_namespace(struct resolver *r, struct dpctl_policy *p,
                        const struct rule *rule, const char *field,
                        const struct json_array *peers)
{
    const struct dpctl_groups *applied_to = (rule->applied_to
                                           ? rule->applied_to
                                           : &p->applied_to);
    struct svec namespaces = SVEC_EMPTY_INITIALIZER;
    char *error = NULL;

    affected_namespaces(r, applied_to, &namespaces);
    for (size_t i = 0; i < namespaces.n && !error; i++) {
        struct dpctl_groups part = { .groups = NULL };
        struct rule own = *rule;

        own.peers = (struct dpctl_peers) { .any = false };
        narrow_groups(r, applied_to, namespaces.names[i], &part);
        own.applied_to = &part;
        error = dpctl_peers_resolve(r, p, field, peers, namespaces.names[i],
                              &own.peers);
        if (!error && own.peers.groups.n) {
            add_resolved_rule(r, p, &own);
        }
        dpctl_peers_uninit(&own.peers);
        free(part.groups);
    }
    svec_destroy(&namespaces);
    return error;
}

/* Messages of IGMP aren't logged. */
static bool
is_igmp(const struct json_array *protocols)
{
    return protocols->n && dpctl_json_member(protocols->elems[0], "igmp");
}

/* Resolves one rule as the user wrote it. */
static char *
resolve_rule(struct resolver *r, struct dpctl_policy *p, const char *direction,
             const char *path, size_t number, const struct json *json)
{
    bool in = !strcmp(direction, "In");
    const char *peer_name = in ? "from" : "to";
    const struct json_array *ports = dpctl_json_array(json, "ports");
    const struct json_array *protocols = dpctl_json_array(json, "protocols");
    const char *action = dpctl_json_str(json, "action");
    struct dpctl_groups applied_to = { .groups = NULL };
    struct json *applied_to_services = NULL;
    struct rule rule = {
        .direction = direction,
        .number = number,
        .action = action ? action : "Allow",
        .name = dpctl_json_str(json, "name"),
        .l7_protocols = dpctl_json_member(json, "l7Protocols"),
        .logs = p->logs || (dpctl_json_bool(json, "enableLogging", false)
                            && !is_igmp(protocols)),
        .log_label = dpctl_json_str(json, "logLabel"),
        .services = json_array_create_empty(),
        .named = xcalloc(ports->n + 1, sizeof *rule.named),
    };

    const struct json_array *peers = dpctl_json_array(json, peer_name);
    size_t n_per_namespace = 0;

    for (size_t i = 0; i < peers->n; i++) {
        n_per_namespace += dpctl_peer_is_per_namespace(peers->elems[i]);
    }
    char *field = xasprintf("%s.%s", path, peer_name);
    char *error = dpctl_peers_resolve(r, p, field, peers, NULL, &rule.peers);
    dpctl_peers_resolve_services(p, dpctl_json_array(json, "toServices"),
                                 &rule.peers);
    free(field);
    if (!error && dpctl_json_array(json, "appliedTo")->n) {
        field = xasprintf("%s.appliedTo", path);
        error = dpctl_peers_resolve_applied_to(r, p, field,
                                   dpctl_json_array(json, "appliedTo"),
                                   &applied_to);
        applied_to_services = dpctl_applied_to_services(p, json);
        rule.applied_to_services = applied_to_services;
        rule.applied_to = applied_to_services ? NULL : &applied_to;
        free(field);
    }
    if (!error) {
        for (size_t i = 0; i < ports->n; i++) {
            rule_add_port(&rule, ports->elems[i]);
        }
        for (size_t i = 0; i < protocols->n; i++) {
            rule_add_protocol(&rule, protocols->elems[i]);
        }
        /* To records an empty list would mean whom the policy is for. */
        bool nobody = rule.applied_to && !rule.applied_to->n;

        if (!nobody && (!peers->n || n_per_namespace < peers->n)) {
            add_resolved_rule(r, p, &rule);
        }
        if (!nobody && n_per_namespace) {
            error = add_rules_per_namespace(r, p, &rule, peer_name, peers);
        }
    }
    dpctl_peers_uninit(&rule.peers);
    free(applied_to.groups);
    json_destroy(applied_to_services);
    json_destroy(rule.services);
    free(rule.named);
    return error;
}

static char *
resolve_direction(struct resolver *r, struct dpctl_policy *p,
                  const char *direction, const char *member)
{
    const struct json *spec = dpctl_json_member(p->object, "spec");
    const struct json_array *rules = dpctl_json_array(spec, member);
    char *error = NULL;

    for (size_t i = 0; i < rules->n && !error; i++) {
        char *path = xasprintf("spec.%s[%"PRIuSIZE"]", member, i);
        error = resolve_rule(r, p, direction, path, i, rules->elems[i]);
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
resolve_k8s_direction(struct resolver *r, struct dpctl_policy *p,
                      const char *direction, const char *member)
{
    size_t n_before = json_array(p->rules)->n;
    char *error = resolve_direction(r, p, direction, member);

    if (!error && json_array(p->rules)->n == n_before) {
        /* Nothing is allowed: a rule without a peer isolates the Pods. */
        struct json *rule = json_object_create();
        json_object_put_string(rule, "direction", direction);
        if (p->logs) {
            json_object_put(rule, "enableLogging", json_boolean_create(true));
        }
        json_array_add(p->rules, rule);
    }
    return error;
}

static char *
resolve_k8s_rules(struct resolver *r, struct dpctl_policy *p)
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

/* Is a rule, or the policy, applied to a Pod of this node, or to a Service? */
static char *
applies_here(struct resolver *r, struct dpctl_policy *p, bool *here)
{
    static const char *const members[] = { "ingress", "egress" };
    const struct json *spec = dpctl_json_member(p->object, "spec");

    *here |= (dpctl_groups_n_local(&p->applied_to) > 0
              || p->applied_to_services);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct json_array *rules = dpctl_json_array(spec, members[i]);
        for (size_t j = 0; j < rules->n; j++) {
            struct dpctl_groups groups = { .groups = NULL };
            char *field = xasprintf("spec.%s[%"PRIuSIZE"].appliedTo",
                                    members[i], j);
            char *error
                = dpctl_peers_resolve_applied_to(r, p, field,
                                     dpctl_json_array(rules->elems[j],
                                                      "appliedTo"), &groups);
            *here |= (dpctl_groups_n_local(&groups) > 0
                      || dpctl_is_applied_to_services(rules->elems[j]));
            for (size_t k = 0; k < groups.n && r->env->everywhere; k++) {
                /* A rule may come to nothing; whom it is applied to matters
                 * all the same. */
                dpctl_groups_add(&p->applied_to, groups.groups[k]);
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
resolve_antrea_head(struct resolver *r, struct dpctl_policy *p,
                    struct json *record)
{
    const char *tier = dpctl_json_str(p->object, "spec.tier");
    long long int priority;

    if (dpctl_is_admin_policy(p->kind)) {
        priority = (p->kind->id == DPCTL_ADMIN_NP ? DPCTL_ADMIN_TIER
                    : DPCTL_BASELINE_ADMIN_TIER);
    } else if (!dpctl_tier_priority(&r->objects[DPCTL_TIER], tier,
                                    &priority)) {
        return xasprintf("%s: spec.tier: there is no Tier %s", p->title, tier);
    }
    json_object_put(record, "tierPriority", json_integer_create(priority));
    json_object_put(record, "priority",
                    json_clone(dpctl_json_get(p->object, "spec.priority")));
    return NULL;
}

static char *
resolve_antrea_rules(struct resolver *r, struct dpctl_policy *p)
{
    char *error = resolve_direction(r, p, "In", "ingress");

    return error ? error : resolve_direction(r, p, "Out", "egress");
}

/* All of them. */

static char *
resolve_policy_applied_to(struct resolver *r, struct dpctl_policy *p)
{
    const struct json *spec = dpctl_json_member(p->object, "spec");

    if (p->is_k8s) {
        dpctl_groups_add(&p->applied_to,
                       resolver_group(r, p->namespace_,
                                      dpctl_json_member(spec, "podSelector"),
                                      NULL));
        return NULL;
    }
    p->applied_to_services = dpctl_applied_to_services(p, spec);
    return dpctl_peers_resolve_applied_to(r, p, "spec.appliedTo",
                              dpctl_json_array(spec, "appliedTo"),
                              &p->applied_to);
}

static void
put_applied_to(struct resolver *r, const struct dpctl_policy *p,
               struct json *record)
{
    if (p->applied_to.n) {
        json_object_put(record, "appliedToGroups",
                        dpctl_groups_names(r, &p->applied_to,
                                           resolver_applied_to_group));
    }
    if (p->applied_to_services) {
        json_object_put(record, "appliedToServices",
                        json_clone(p->applied_to_services));
    }
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
                     : dpctl_kind_policy_type(kind),
                     namespaced ? namespace_ : "", namespaced ? "/" : "",
                     is_cp ? dpctl_json_str(source, "name")
                     : dpctl_json_str(object, "metadata.name"));
}

static char *
resolve_policy(struct resolver *r, struct dpctl_policy *p)
{
    const char *type = dpctl_kind_policy_type(p->kind);
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
        put_applied_to(r, p, record);
        error = (p->is_k8s ? resolve_k8s_rules(r, p)
                 : resolve_antrea_rules(r, p));
    }
    if (!error && here) {
        json_object_put(record, "rules", json_clone(p->rules));
        resolver_put(r, json_clone(record));
    }
    json_destroy(p->rules);
    json_destroy(p->applied_to_services);
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

    char *tiers_error = dpctl_tier_check_all(&r->objects[DPCTL_TIER],
                                             r->env->refused);
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
            struct dpctl_policy p = {
                .kind = &dpctl_kinds[kinds[i]],
                .object = antreas ? antreas : nodes[j]->data,
                .namespace_ = dpctl_json_str(nodes[j]->data,
                                             "metadata.namespace"),
                .title = title,
                .is_k8s = kinds[i] == DPCTL_K8S_NP,
                .logs = (kinds[i] == DPCTL_K8S_NP
                         && resolver_namespace_logs(r, nodes[j]->data)),
            };
            error = resolver_refuse(r, nodes[j]->name,
                                    resolve_policy(r, &p));
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

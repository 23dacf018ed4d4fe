/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-pod-view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "dpctl-print.h"
#include "dpctl-tier.h"
#include "openvswitch/dynamic-string.h"
#include "svec.h"
#include "util.h"

/* The tiers from here on come after Kubernetes' policies. */
#define BASELINE 253

/* Lists of peers and ports go no further. */
#define MAX_SHOWN 3

enum pod_stage { STAGE_TIERS, STAGE_KUBERNETES, STAGE_BASELINE };

static const char *const stage_names[] = {
    [STAGE_TIERS] = "tiers",
    [STAGE_KUBERNETES] = "kubernetes",
    [STAGE_BASELINE] = "baseline",
};

/* Records. */

static bool
is_of_kind(const struct json *record, const char *kind)
{
    return nullable_string_is_equal(dpctl_json_str(record, "kind"), kind);
}

static bool
is_kubernetes(const struct json *policy)
{
    return nullable_string_is_equal(dpctl_json_str(policy, "type"),
                                    "K8sNetworkPolicy");
}

static bool
has_string(const struct json_array *array, const char *string)
{
    for (size_t i = 0; i < array->n; i++) {
        if (array->elems[i]->type == JSON_STRING
            && !strcmp(json_string(array->elems[i]), string)) {
            return true;
        }
    }
    return false;
}

struct json *
dpctl_pod_groups(const struct json_array *records, const char *pod)
{
    struct json *groups = json_array_create_empty();

    for (size_t i = 0; i < records->n; i++) {
        const struct json *r = records->elems[i];
        const char *name = dpctl_json_str(r, "name");

        if (name && is_of_kind(r, "AppliedToGroup")
            && has_string(dpctl_json_array(r, "pods"), pod)) {
            json_array_add(groups, json_string_create(name));
        }
    }
    return groups;
}

/* Does 'o', a policy or a rule, name one of 'groups'? */
static bool
names_group(const struct json *o, const struct json *groups)
{
    const struct json_array *names = dpctl_json_array(o, "appliedToGroups");

    for (size_t i = 0; i < names->n; i++) {
        if (names->elems[i]->type == JSON_STRING
            && has_string(json_array(groups),
                          json_string(names->elems[i]))) {
            return true;
        }
    }
    return false;
}

/* A rule may have Pods of its own, instead of the policy's. */
static bool
rule_applies(const struct json *policy, const struct json *rule,
             const struct json *groups)
{
    return names_group(dpctl_json_array(rule, "appliedToGroups")->n
                       ? rule : policy, groups);
}

/* Rules. */

static enum pod_stage
stage_of(const struct json *policy)
{
    return (is_kubernetes(policy) ? STAGE_KUBERNETES
            : dpctl_json_int(policy, "tierPriority", 0) < BASELINE
            ? STAGE_TIERS : STAGE_BASELINE);
}

/* A rule of Kubernetes' without a peer allows nobody: it only isolates. */
static bool
only_isolates(const struct json *policy, const struct json *rule,
              const char *peer)
{
    return is_kubernetes(policy) && !dpctl_json_member(rule, peer);
}

static void
copy_member(struct json *to, const char *name, const struct json *from,
            const char *member)
{
    const struct json *value = dpctl_json_member(from, member);

    if (value) {
        json_object_put(to, name, json_clone(value));
    }
}

static void
put_counters(struct json *o, const struct json *stats, const char *policy,
             size_t index)
{
    static const char *const counters[] = { "sessions", "packets", "bytes" };
    const struct json_array *rules = dpctl_json_array(stats, "rules");

    for (size_t i = 0; i < rules->n; i++) {
        const struct json *r = rules->elems[i];

        if (dpctl_json_int(r, "index", -1) == (long long int) index
            && nullable_string_is_equal(dpctl_json_str(r, "policy"),
                                        policy)) {
            for (size_t j = 0; j < ARRAY_SIZE(counters); j++) {
                copy_member(o, counters[j], r, counters[j]);
            }
            return;
        }
    }
}

/* A rule with what it takes to tell its place. */
struct placed {
    struct json *rule;
    enum pod_stage stage;
    long long int tier;
    double priority;
    long long int number;
    size_t index;               /* In the policy's list. */
    const char *policy;
};

struct placed_rules {
    struct placed *rules;
    size_t n, allocated;
};

static double
number_at(const struct json *o, const char *member)
{
    const struct json *value = dpctl_json_member(o, member);

    return (!value ? 0
            : value->type == JSON_REAL ? value->real
            : value->type == JSON_INTEGER ? value->integer : 0);
}

static int
compare_placed(const void *a_, const void *b_)
{
    const struct placed *a = a_, *b = b_;

    if (a->stage != b->stage) {
        return a->stage < b->stage ? -1 : 1;
    } else if (a->stage != STAGE_KUBERNETES && a->tier != b->tier) {
        return a->tier < b->tier ? -1 : 1;
    } else if (a->stage != STAGE_KUBERNETES && a->priority != b->priority) {
        return a->priority < b->priority ? -1 : 1;
    } else if (a->stage != STAGE_KUBERNETES && a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }

    int order = strcmp(a->policy, b->policy);
    if (!order && a->number != b->number) {
        order = a->number < b->number ? -1 : 1;
    }
    return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

/* One direction of a Pod. */
struct way {
    const struct dpctl_pod_facts *facts;
    const struct json *groups;  /* Names of those that have the Pod. */
    const char *direction;      /* "In", "Out". */
    const char *peer;           /* "from", "to". */
    struct placed_rules rules;
    struct svec isolated_by;
};

static void
add_rule(struct way *way, const struct json *policy, size_t index,
         long long int number)
{
    const struct json *rule = dpctl_json_array(policy, "rules")->elems[index];
    const char *action = dpctl_json_str(rule, "action");
    const char *name = dpctl_json_str(policy, "name");
    struct json *o = json_object_create();
    enum pod_stage stage = stage_of(policy);

    json_object_put_string(o, "policy", name);
    copy_member(o, "type", policy, "type");
    json_object_put_string(o, "stage", stage_names[stage]);
    copy_member(o, "tier", policy, "tierPriority");
    copy_member(o, "priority", policy, "priority");
    copy_member(o, "rule", rule, "name");
    json_object_put(o, "number", json_integer_create(number));
    json_object_put_string(o, "action", action ? action : "Allow");
    copy_member(o, "peer", rule, way->peer);
    copy_member(o, "services", rule, "services");
    copy_member(o, "l7Protocols", rule, "l7Protocols");
    put_counters(o, way->facts->stats, name, index);

    if (way->rules.n >= way->rules.allocated) {
        way->rules.rules = x2nrealloc(way->rules.rules,
                                      &way->rules.allocated,
                                      sizeof *way->rules.rules);
    }
    way->rules.rules[way->rules.n++] = (struct placed) {
        .rule = o, .stage = stage,
        .tier = dpctl_json_int(policy, "tierPriority", 0),
        .priority = number_at(policy, "priority"),
        .number = number, .index = index, .policy = name,
    };
}

static void
add_policy(struct way *way, const struct json *policy)
{
    const struct json_array *rules = dpctl_json_array(policy, "rules");
    const char *name = dpctl_json_str(policy, "name");
    bool isolated = false;
    size_t n = 0;               /* Of the direction. */

    for (size_t i = 0; i < rules->n; i++) {
        const struct json *rule = rules->elems[i];

        if (!nullable_string_is_equal(dpctl_json_str(rule, "direction"),
                                      way->direction)) {
            continue;
        }
        long long int number = dpctl_json_int(rule, "priority", n++) + 1;
        /* A policy isolates all of its own Pods in this direction, whomever
         * its rules are about. */
        isolated |= is_kubernetes(policy) && names_group(policy, way->groups);
        if (rule_applies(policy, rule, way->groups)) {
            isolated |= is_kubernetes(policy);
            if (!only_isolates(policy, rule, way->peer)) {
                add_rule(way, policy, i, number);
            }
        }
    }
    if (isolated) {
        svec_add(&way->isolated_by, name);
    }
}

static struct json *
svec_to_json(const struct svec *svec)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < svec->n; i++) {
        json_array_add(array, json_string_create(svec->names[i]));
    }
    return array;
}

static struct json *
view_way(const struct dpctl_pod_facts *facts, const struct json *groups,
         const char *direction, const char *peer)
{
    struct way way = {
        .facts = facts, .groups = groups, .direction = direction,
        .peer = peer, .isolated_by = SVEC_EMPTY_INITIALIZER,
    };
    struct json *rules = json_array_create_empty();
    struct json *o = json_object_create();

    for (size_t i = 0; i < facts->records->n; i++) {
        const struct json *r = facts->records->elems[i];

        if (is_of_kind(r, "NetworkPolicy") && dpctl_json_str(r, "name")) {
            add_policy(&way, r);
        }
    }
    if (way.rules.n) {
        qsort(way.rules.rules, way.rules.n, sizeof *way.rules.rules,
              compare_placed);
    }
    for (size_t i = 0; i < way.rules.n; i++) {
        struct placed *p = &way.rules.rules[i];

        if (p->stage == STAGE_BASELINE && way.isolated_by.n) {
            json_object_put(p->rule, "asked", json_boolean_create(false));
        }
        json_array_add(rules, p->rule);
    }
    json_object_put(o, "rules", rules);
    if (way.isolated_by.n) {
        svec_sort(&way.isolated_by);
        json_object_put(o, "isolated_by", svec_to_json(&way.isolated_by));
    }
    svec_destroy(&way.isolated_by);
    free(way.rules.rules);
    return o;
}

/* Services. */

static bool
is_same_ip(const struct json_array *ips, const char *ip)
{
    struct in6_addr a, b;

    for (size_t i = 0; i < ips->n && dpctl_address_parse(ip, &a); i++) {
        if (ips->elems[i]->type == JSON_STRING
            && dpctl_address_parse(json_string(ips->elems[i]), &b)
            && !memcmp(&a, &b, sizeof a)) {
            return true;
        }
    }
    return false;
}

static const char *
protocol_of(const struct json *port)
{
    const char *protocol = dpctl_json_str(port, "protocol");

    return protocol ? protocol : "TCP";
}

/* The counters of a Service's port, or NULL. */
static const struct json *
find_service_stats(const struct json *stats, const char *service,
                   const struct json *port)
{
    const struct json_array *services = dpctl_json_array(stats, "services");

    for (size_t i = 0; i < services->n; i++) {
        const struct json *s = services->elems[i];

        if (nullable_string_is_equal(dpctl_json_str(s, "service"), service)
            && dpctl_json_int(s, "port", 0) == dpctl_json_int(port, "port", 0)
            && nullable_string_is_equal(dpctl_json_str(s, "protocol"),
                                        protocol_of(port))) {
            return s;
        }
    }
    return NULL;
}

static void
put_sessions(struct json *o, const struct json *counters,
             const struct json *endpoint)
{
    const struct json_array *endpoints = dpctl_json_array(counters,
                                                          "endpoints");

    for (size_t i = 0; i < endpoints->n; i++) {
        const struct json *e = endpoints->elems[i];

        if (dpctl_json_int(e, "port", 0)
            == dpctl_json_int(endpoint, "port", 0)
            && nullable_string_is_equal(dpctl_json_str(e, "ip"),
                                        dpctl_json_str(endpoint, "ip"))) {
            copy_member(o, "sessions", e, "sessions");
        }
    }
}

static void
add_service(const struct dpctl_pod_facts *facts, const struct json *service,
            struct json *found)
{
    const struct json_array *ports = dpctl_json_array(service, "ports");
    const struct json_array *ips = dpctl_json_array(facts->pod, "ips");
    const char *name = dpctl_json_str(service, "name");

    for (size_t i = 0; i < ports->n; i++) {
        const struct json *port = ports->elems[i];
        const struct json_array *endpoints = dpctl_json_array(port,
                                                              "endpoints");
        for (size_t j = 0; j < endpoints->n; j++) {
            const struct json *e = endpoints->elems[j];
            const char *ip = dpctl_json_str(e, "ip");

            if (!ip || !is_same_ip(ips, ip)) {
                continue;
            }
            struct json *o = json_object_create();

            json_object_put_string(o, "service", name);
            copy_member(o, "port_name", port, "name");
            copy_member(o, "port", port, "port");
            json_object_put_string(o, "protocol", protocol_of(port));
            copy_member(o, "clusterIP", service, "clusterIP");
            copy_member(o, "nodePort", port, "nodePort");
            json_object_put(o, "endpoint", json_clone(e));
            put_sessions(o, find_service_stats(facts->stats, name, port), e);
            json_array_add(found, o);
        }
    }
}

/* The view. */

/* Names of Egresses, or TrafficControls. */
static struct json *
view_applied(const struct dpctl_pod_facts *facts, const struct json *groups,
             const char *kind)
{
    struct svec names = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < facts->records->n; i++) {
        const struct json *r = facts->records->elems[i];

        if (is_of_kind(r, kind) && dpctl_json_str(r, "name")
            && names_group(r, groups)) {
            svec_add(&names, dpctl_json_str(r, "name"));
        }
    }
    svec_sort(&names);
    struct json *array = svec_to_json(&names);
    svec_destroy(&names);
    return array;
}

struct json *
dpctl_pod_view(const struct dpctl_pod_facts *facts)
{
    struct json *groups = dpctl_pod_groups(facts->records,
                                           dpctl_json_str(facts->pod,
                                                          "name"));
    struct json *services = json_array_create_empty();
    struct json *view = json_object_create();

    for (size_t i = 0; i < facts->records->n; i++) {
        const struct json *r = facts->records->elems[i];

        if (is_of_kind(r, "Service") && dpctl_json_str(r, "name")) {
            add_service(facts, r, services);
        }
    }
    json_object_put(view, "pod", json_clone(facts->pod));
    json_object_put(view, "ingress", view_way(facts, groups, "In", "from"));
    json_object_put(view, "egress", view_way(facts, groups, "Out", "to"));
    json_object_put(view, "services", services);
    json_object_put(view, "egresses", view_applied(facts, groups, "Egress"));
    json_object_put(view, "traffic_controls",
                    view_applied(facts, groups, "TrafficControl"));
    json_destroy(groups);
    return view;
}

struct json *
dpctl_pod_view_policies(const struct json *view)
{
    static const char *const lists[] = {
        "ingress.rules", "egress.rules", "ingress.isolated_by",
        "egress.isolated_by",
    };
    struct json *names = json_array_create_empty();

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json_array *list = dpctl_json_array(view, lists[i]);

        for (size_t j = 0; j < list->n; j++) {
            const struct json *e = list->elems[j];
            const char *name = (e->type == JSON_STRING ? json_string(e)
                                : dpctl_json_str(e, "policy"));

            if (!has_string(json_array(names), name)) {
                json_array_add(names, json_string_create(name));
            }
        }
    }
    return names;
}

/* Text. */

/* Up to MAX_SHOWN of 'words'. */
static char *
join_some(struct svec *words, const char *if_none)
{
    size_t n = words->n;
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < n && i < MAX_SHOWN; i++) {
        ds_put_format(&s, "%s%s", i ? "," : "", words->names[i]);
    }
    if (n > MAX_SHOWN) {
        ds_put_format(&s, " + %"PRIuSIZE" more", n - MAX_SHOWN);
    }
    svec_destroy(words);
    return n ? ds_steal_cstr(&s) : nullable_xstrdup(if_none);
}

static void
add_strings(struct svec *words, const struct json_array *array)
{
    for (size_t i = 0; i < array->n; i++) {
        if (array->elems[i]->type == JSON_STRING) {
            svec_add(words, json_string(array->elems[i]));
        }
    }
}

static char *
peer_text(const struct json *rule)
{
    const struct json *peer = dpctl_json_member(rule, "peer");
    const struct json_array *blocks = dpctl_json_array(peer, "ipBlocks");
    struct svec words = SVEC_EMPTY_INITIALIZER;

    if (!peer) {
        return xstrdup("any");
    }
    add_strings(&words, dpctl_json_array(peer, "addressGroups"));
    for (size_t i = 0; i < blocks->n; i++) {
        const char *cidr = dpctl_json_str(blocks->elems[i], "cidr");
        size_t n = dpctl_json_array(blocks->elems[i], "except")->n;

        if (cidr) {
            svec_add_nocopy(&words,
                            (n ? xasprintf("%s without %"PRIuSIZE, cidr, n)
                             : xstrdup(cidr)));
        }
    }
    add_strings(&words, dpctl_json_array(peer, "toServices"));
    add_strings(&words, dpctl_json_array(peer, "fqdns"));
    return join_some(&words, "nobody");
}

static char *
service_text(const struct json *service)
{
    const char *protocol = dpctl_json_str(service, "protocol");
    long long int port = dpctl_json_int(service, "port", 0);
    long long int end = dpctl_json_int(service, "endPort", 0);
    long long int type = dpctl_json_int(service, "icmpType", -1);
    const char *group = dpctl_json_str(service, "groupAddress");
    struct ds s = DS_EMPTY_INITIALIZER;

    if (port) {
        ds_put_format(&s, "%lld", port);
        if (end) {
            ds_put_format(&s, "-%lld", end);
        }
        ds_put_char(&s, '/');
    }
    ds_put_cstr(&s, protocol ? protocol : "TCP");
    if (type >= 0) {
        ds_put_format(&s, " %lld", type);
    }
    if (group) {
        ds_put_format(&s, " %s", group);
    }
    return ds_steal_cstr(&s);
}

static char *
services_text(const struct json *rule)
{
    const struct json_array *services = dpctl_json_array(rule, "services");
    struct svec words = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < services->n; i++) {
        svec_add_nocopy(&words, service_text(services->elems[i]));
    }
    return join_some(&words, "any");
}

/* "K8sNetworkPolicy:default/web" -> "default/web". */
static const char *
short_policy(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

static char *
rule_text(const struct json *rule)
{
    const char *name = dpctl_json_str(rule, "rule");

    return (name ? xstrdup(name)
            : xasprintf("#%lld", dpctl_json_int(rule, "number", 0)));
}

static char *
tier_text(const struct json *rule)
{
    long long int tier = dpctl_json_int(rule, "tier", -1);
    const char *name = dpctl_tier_builtin_name(tier);

    return (tier < 0 ? xstrdup("kubernetes")
            : name ? xasprintf("%lld %s", tier, name)
            : xasprintf("%lld", tier));
}

static char *
number_text(const struct json *o, const char *member)
{
    const struct json *value = dpctl_json_member(o, member);

    return value ? json_to_string(value, 0) : NULL;
}

static void
put_rules(const struct json_array *rules, const char *peer, struct ds *s)
{
    const char *const headings[] = {
        "TIER", "PRIORITY", "POLICY", "RULE", "ACTION", peer, "PORTS",
        "SESSIONS", "PACKETS",
    };
    struct dpctl_table table;

    dpctl_table_init(&table, headings, ARRAY_SIZE(headings));
    for (size_t i = 0; i < rules->n; i++) {
        const struct json *r = rules->elems[i];

        dpctl_table_add(&table, tier_text(r));
        dpctl_table_add(&table, number_text(r, "priority"));
        dpctl_table_add(&table,
                        xstrdup(short_policy(dpctl_json_str(r, "policy"))));
        dpctl_table_add(&table, rule_text(r));
        dpctl_table_add(&table, nullable_xstrdup(dpctl_json_str(r,
                                                                "action")));
        dpctl_table_add(&table, peer_text(r));
        dpctl_table_add(&table, services_text(r));
        dpctl_table_add(&table, number_text(r, "sessions"));
        dpctl_table_add(&table, number_text(r, "packets"));
    }
    dpctl_table_format(&table, s);
    dpctl_table_destroy(&table);
}

/* What becomes of packets that no rule has decided. */
static void
put_rest(const struct json *way, long long int drops, struct ds *s)
{
    const struct json_array *by = dpctl_json_array(way, "isolated_by");
    struct svec names = SVEC_EMPTY_INITIALIZER;

    if (!by->n) {
        ds_put_format(s, "%s is allowed.\n",
                      (dpctl_json_array(way, "rules")->n
                       ? "What none of them decides" : "Anything"));
        return;
    }
    for (size_t i = 0; i < by->n; i++) {
        svec_add(&names, short_policy(json_string(by->elems[i])));
    }
    char *text = join_some(&names, NULL);
    ds_put_format(s, "What none of them allows is dropped: isolated by %s",
                  text);
    if (drops >= 0) {
        ds_put_format(s, " (%lld packet%s)", drops, drops == 1 ? "" : "s");
    }
    ds_put_cstr(s, ".\n");
    free(text);

    const struct json_array *rules = dpctl_json_array(way, "rules");
    if (rules->n && !dpctl_json_bool(rules->elems[rules->n - 1], "asked",
                                     true)) {
        ds_put_cstr(s, "So those of the baseline's tiers are never asked.\n");
    }
}

static void
put_way(const struct json *view, const char *way, const char *title,
        const char *peer, struct ds *s)
{
    const struct json *w = dpctl_json_member(view, way);
    const struct json_array *rules = dpctl_json_array(w, "rules");
    const struct json *drops = dpctl_json_member(view, "isolation_drops");

    ds_put_format(s, "\n%s%s%s\n", dpctl_bold(), title, dpctl_plain());
    if (rules->n) {
        put_rules(rules, peer, s);
    }
    put_rest(w, dpctl_json_int(drops, way, -1), s);
}

static void
put_services(const struct json_array *services, struct ds *s)
{
    static const char *const headings[] = {
        "SERVICE", "PORT", "CLUSTER-IP", "ENDPOINT", "SESSIONS",
    };
    struct dpctl_table table;

    ds_put_format(s, "\n%sServices of which it is an endpoint%s\n",
                  dpctl_bold(), dpctl_plain());
    if (!services->n) {
        ds_put_cstr(s, "None.\n");
        return;
    }
    dpctl_table_init(&table, headings, ARRAY_SIZE(headings));
    for (size_t i = 0; i < services->n; i++) {
        const struct json *o = services->elems[i];
        const char *ip = dpctl_json_str(o, "endpoint.ip");
        const struct json *vip = dpctl_json_member(o, "clusterIP");
        struct svec words = SVEC_EMPTY_INITIALIZER;

        if (vip && vip->type == JSON_ARRAY) {
            add_strings(&words, json_array(vip));
        } else if (vip && vip->type == JSON_STRING) {
            svec_add(&words, json_string(vip));
        }
        dpctl_table_add(&table, xstrdup(dpctl_json_str(o, "service")));
        dpctl_table_add(&table,
                        xasprintf("%lld/%s", dpctl_json_int(o, "port", 0),
                                  dpctl_json_str(o, "protocol")));
        dpctl_table_add(&table, join_some(&words, NULL));
        dpctl_table_add(&table,
                        xasprintf(strchr(ip, ':') ? "[%s]:%lld" : "%s:%lld",
                                  ip, dpctl_json_int(o, "endpoint.port", 0)));
        dpctl_table_add(&table, number_text(o, "sessions"));
    }
    dpctl_table_format(&table, s);
    dpctl_table_destroy(&table);
}

static void
put_list(const struct json *view, const char *member, const char *title,
         struct ds *s)
{
    struct svec words = SVEC_EMPTY_INITIALIZER;

    add_strings(&words, dpctl_json_array(view, member));
    char *text = join_some(&words, NULL);
    if (text) {
        ds_put_format(s, "%-11s%s\n", title, text);
    }
    free(text);
}

static void
put_counts(const struct json *port, const char *title, const char *prefix,
           struct ds *s)
{
    static const char *const counts[] = {
        "packets", "bytes", "dropped", "errors"
    };
    bool any = false;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        char *member = xasprintf("%s_%s", prefix, counts[i]);
        long long int n = dpctl_json_int(port, member, -1);

        if (n >= 0) {
            if (any) {
                ds_put_cstr(s, ", ");
            } else {
                ds_put_format(s, "%-11s", title);
            }
            ds_put_format(s, "%lld %s", n, counts[i]);
            any = true;
        }
        free(member);
    }
    if (any) {
        ds_put_char(s, '\n');
    }
}

static void
put_port(const struct json *view, struct ds *s)
{
    const struct json *port = dpctl_json_member(view, "port");
    const char *name = dpctl_json_str(view, "pod.port");
    long long int number = dpctl_json_int(port, "number", -1);
    const char *state = dpctl_json_str(port, "state");

    ds_put_format(s, "%-11s%s", "port", name ? name : "none");
    if (number >= 0) {
        ds_put_format(s, ", number %lld", number);
    }
    if (state) {
        ds_put_format(s, ", %s", state);
    }
    ds_put_char(s, '\n');
    put_counts(port, "sent", "sent", s);
    put_counts(port, "received", "received", s);
}

void
dpctl_pod_view_format(const struct json *view, struct ds *s)
{
    const char *name = dpctl_json_str(view, "pod.name");
    const char *mac = dpctl_json_str(view, "pod.mac");
    const struct json *pod = dpctl_json_member(view, "pod");
    const char *unknown = dpctl_json_str(view, "unknown");
    long long int flows = dpctl_json_int(view, "flows", -1);

    ds_put_format(s, "%sPod %s%s\n", dpctl_bold(), name, dpctl_plain());
    put_port(view, s);
    ds_put_format(s, "%-11s%s\n", "mac", mac ? mac : "none");
    put_list(pod, "ips", "addresses", s);
    put_list(view, "egresses", "egresses", s);
    put_list(view, "traffic_controls", "traffic", s);
    if (flows >= 0) {
        ds_put_format(s, "%-11s%lld (get flows --pod %s)\n", "flows", flows,
                      name);
    }
    if (unknown) {
        ds_put_format(s, "\nRules and Services: unknown.  %c%s.\n",
                      toupper((unsigned char) unknown[0]), unknown + 1);
        return;
    }
    put_way(view, "ingress", "Rules for what it is sent, as they are decided",
            "FROM", s);
    put_way(view, "egress", "Rules for what it sends, as they are decided",
            "TO", s);
    put_services(dpctl_json_array(view, "services"), s);
}

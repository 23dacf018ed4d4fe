/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-admin.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-selector.h"
#include "util.h"

static const struct {
    const char *list, *peers;
} directions[] = { { "ingress", "from" }, { "egress", "to" } };

bool
dpctl_is_admin_policy(const struct dpctl_kind *kind)
{
    return (kind->id == DPCTL_ADMIN_NP
            || kind->id == DPCTL_BASELINE_ADMIN_NP);
}

/* Checks. */

/* "PATH.ERROR"; takes 'error'. */
static char *
within(const char *path, char *error)
{
    char *text = error ? xasprintf("%s.%s", path, error) : NULL;

    free(error);
    return text;
}

static char *
check_one_of(const struct json *object, const char *const members[],
             const char *what)
{
    int n = 0;

    for (size_t i = 0; members[i]; i++) {
        n += dpctl_json_member(object, members[i]) != NULL;
    }
    return n == 1 ? NULL : xasprintf("%s: must be the only one of %s",
                                     members[0], what);
}

/* A selector of Namespaces, or the older form with one in it. */
static char *
check_namespaces(const struct json *json)
{
    const struct json *inner = dpctl_json_member(json, "namespaceSelector");

    if (inner && (dpctl_json_member(json, "matchLabels")
                  || dpctl_json_member(json, "matchExpressions"))) {
        return xstrdup("namespaceSelector: excludes matchLabels and "
                       "matchExpressions");
    }
    return (inner ? within("namespaceSelector", dpctl_selector_check(inner))
            : dpctl_selector_check(json));
}

static char *
check_pods(const struct json *pods)
{
    const struct json *namespaces = dpctl_json_member(pods, "namespaces");
    const struct json *selector = dpctl_json_member(pods,
                                                    "namespaceSelector");
    if (namespaces && selector) {
        return xstrdup("namespaces: excludes namespaceSelector");
    } else if (!namespaces && !selector) {
        return xstrdup("namespaceSelector: is missing");
    }
    char *error = (namespaces ? within("namespaces",
                                       check_namespaces(namespaces))
                   : within("namespaceSelector",
                            dpctl_selector_check(selector)));
    return error ? error : within("podSelector",
                                  dpctl_selector_check(dpctl_json_member(
                                      pods, "podSelector")));
}

static char *
check_selection(const struct json *peer)
{
    const struct json *namespaces = dpctl_json_member(peer, "namespaces");
    const struct json *pods = dpctl_json_member(peer, "pods");
    const struct json *nodes = dpctl_json_member(peer, "nodes");

    return (namespaces ? within("namespaces", check_namespaces(namespaces))
            : pods ? within("pods", check_pods(pods))
            : nodes ? within("nodes", dpctl_selector_check(nodes)) : NULL);
}

static char *
check_port(const struct json *port)
{
    static const char *const members[] = {
        "portNumber", "portRange", "namedPort", NULL
    };
    long long int start = dpctl_json_int(port, "portRange.start", 0);
    long long int end = dpctl_json_int(port, "portRange.end", 0);
    char *error = check_one_of(port, members,
                               "portNumber, portRange and namedPort");

    return (error ? error
            : end < start ? xasprintf("portRange.end: %lld is below start "
                                      "%lld", end, start) : NULL);
}

static char *
check_peer(const struct json *peer)
{
    static const char *const members[] = {
        "namespaces", "pods", "nodes", "networks", NULL
    };
    char *error = check_one_of(peer, members,
                               "namespaces, pods, nodes and networks");

    if (!error && dpctl_json_member(peer, "networks")
        && !dpctl_json_array(peer, "networks")->n) {
        /* As one of Antrea's, a rule without peers is about everybody. */
        error = xstrdup("networks: must name a network");
    }
    return error ? error : check_selection(peer);
}

static char *
check_each(const struct json *rule, const char *list,
           char *(*check)(const struct json *))
{
    const struct json_array *array = dpctl_json_array(rule, list);

    for (size_t i = 0; i < array->n; i++) {
        char *error = check(array->elems[i]);
        if (error) {
            char *path = xasprintf("%s[%"PRIuSIZE"]", list, i);
            error = within(path, error);
            free(path);
            return error;
        }
    }
    return NULL;
}

static char *
check_rules(const struct json *spec, const char *list, const char *peers)
{
    const struct json_array *rules = dpctl_json_array(spec, list);

    for (size_t i = 0; i < rules->n; i++) {
        const struct json *rule = rules->elems[i];
        char *error = (dpctl_json_array(rule, peers)->n
                       ? check_each(rule, peers, check_peer)
                       : xasprintf("%s: must name a peer", peers));

        if (!error) {
            error = check_each(rule, "ports", check_port);
        }
        if (error) {
            char *path = xasprintf("spec.%s[%"PRIuSIZE"]", list, i);
            error = within(path, error);
            free(path);
            return error;
        }
    }
    return NULL;
}

char *
dpctl_admin_check(const struct dpctl_kind *kind, const struct json *object)
{
    static const char *const members[] = { "namespaces", "pods", NULL };
    const struct json *spec = dpctl_json_member(object, "spec");
    const struct json *subject = dpctl_json_member(spec, "subject");
    const char *name = dpctl_json_str(object, "metadata.name");

    if (kind->id == DPCTL_BASELINE_ADMIN_NP && strcmp(name, "default")) {
        return xasprintf("metadata.name: must be \"default\", not \"%s\": "
                         "there is only one", name);
    }
    char *error = check_one_of(subject, members, "namespaces and pods");
    if (error) {
        return within("spec.subject", error);
    }
    error = within("spec.subject", check_selection(subject));
    for (size_t i = 0; i < ARRAY_SIZE(directions) && !error; i++) {
        error = check_rules(spec, directions[i].list, directions[i].peers);
    }
    return error;
}

/* As Antrea's. */

/* The Namespaces that 'json' selects; all, if it is NULL. */
static struct json *
namespace_selector(const struct json *json)
{
    const struct json *inner = dpctl_json_member(json, "namespaceSelector");

    return (inner ? json_clone(inner) : json ? json_clone(json)
            : json_object_create());
}

static void
add_networks(const struct json *peer, struct json *list)
{
    const struct json_array *networks = dpctl_json_array(peer, "networks");

    for (size_t i = 0; i < networks->n; i++) {
        struct json *block = json_object_create();
        struct json *antreas = json_object_create();

        json_object_put(block, "cidr", json_clone(networks->elems[i]));
        json_object_put(antreas, "ipBlock", block);
        json_array_add(list, antreas);
    }
}

/* Adds what a subject or a peer selects. */
static void
add_selection(const struct json *peer, struct json *list)
{
    const struct json *namespaces = dpctl_json_member(peer, "namespaces");
    const struct json *pods = dpctl_json_member(peer, "pods");
    const struct json *nodes = dpctl_json_member(peer, "nodes");
    struct json *antreas = json_object_create();

    if (nodes) {
        json_object_put(antreas, "nodeSelector", json_clone(nodes));
    } else if (pods) {
        const struct json *selector = dpctl_json_member(pods, "podSelector");
        const struct json *inner = dpctl_json_member(pods, "namespaces");

        json_object_put(antreas, "namespaceSelector",
                        namespace_selector(inner ? inner : pods));
        json_object_put(antreas, "podSelector",
                        selector ? json_clone(selector)
                        : json_object_create());
    } else {
        json_object_put(antreas, "namespaceSelector",
                        namespace_selector(namespaces));
    }
    json_array_add(list, antreas);
}

static void
put_clone(struct json *to, const char *to_name, const struct json *from,
          const char *from_name)
{
    const struct json *value = dpctl_json_member(from, from_name);

    if (value) {
        json_object_put(to, to_name, json_clone(value));
    }
}

static void
add_port(const struct json *port, struct json *list)
{
    static const char *const protocols[] = { "TCP", "UDP", "SCTP" };
    const struct json *number = dpctl_json_member(port, "portNumber");
    const struct json *range = dpctl_json_member(port, "portRange");

    /* A name stands for ports of all protocols. */
    for (size_t i = 0; i < (number || range ? 1 : ARRAY_SIZE(protocols));
         i++) {
        struct json *antreas = json_object_create();

        if (number) {
            put_clone(antreas, "protocol", number, "protocol");
            put_clone(antreas, "port", number, "port");
        } else if (range) {
            put_clone(antreas, "protocol", range, "protocol");
            put_clone(antreas, "port", range, "start");
            put_clone(antreas, "endPort", range, "end");
        } else {
            json_object_put_string(antreas, "protocol", protocols[i]);
            put_clone(antreas, "port", port, "namedPort");
        }
        json_array_add(list, antreas);
    }
}

static struct json *
rule_to_antrea(const struct json *rule, const char *peers_name)
{
    const struct json_array *peers = dpctl_json_array(rule, peers_name);
    const struct json_array *ports = dpctl_json_array(rule, "ports");
    const char *action = dpctl_json_str(rule, "action");
    struct json *antreas = json_object_create();
    struct json *list = json_array_create_empty();

    put_clone(antreas, "name", rule, "name");
    json_object_put_string(antreas, "action",
                           strcmp(action, "Deny") ? action : "Drop");
    for (size_t i = 0; i < peers->n; i++) {
        if (dpctl_json_member(peers->elems[i], "networks")) {
            add_networks(peers->elems[i], list);
        } else {
            add_selection(peers->elems[i], list);
        }
    }
    json_object_put(antreas, peers_name, list);
    list = json_array_create_empty();
    for (size_t i = 0; i < ports->n; i++) {
        add_port(ports->elems[i], list);
    }
    json_object_put(antreas, "ports", list);
    return antreas;
}

struct json *
dpctl_admin_to_antrea(const struct dpctl_kind *kind,
                      const struct json *object)
{
    const struct json *spec = dpctl_json_member(object, "spec");
    const struct json *priority = dpctl_json_member(spec, "priority");
    struct json *antreas = json_object_create();
    struct json *antreas_spec = json_object_create();
    struct json *applied_to = json_array_create_empty();

    put_clone(antreas, "metadata", object, "metadata");
    json_object_put(antreas_spec, "priority",
                    (kind->id == DPCTL_ADMIN_NP && priority
                     ? json_clone(priority) : json_integer_create(1)));
    add_selection(dpctl_json_member(spec, "subject"), applied_to);
    json_object_put(antreas_spec, "appliedTo", applied_to);
    for (size_t i = 0; i < ARRAY_SIZE(directions); i++) {
        const struct json_array *rules = dpctl_json_array(spec,
                                                          directions[i].list);
        struct json *list = json_array_create_empty();

        for (size_t j = 0; j < rules->n; j++) {
            json_array_add(list, rule_to_antrea(rules->elems[j],
                                                directions[i].peers));
        }
        json_object_put(antreas_spec, directions[i].list, list);
    }
    json_object_put(antreas, "spec", antreas_spec);
    return antreas;
}

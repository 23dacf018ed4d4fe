/* SPDX-License-Identifier: Apache-2.0 */

/* L7 rules, and the ports behind which an engine enforces them. */

#include <config.h>
#include "model-parse.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define L7_TARGET_PORT "antrea-l7-tap0"
#define L7_RETURN_PORT "antrea-l7-tap1"

static void
parse_http(struct adp_reader *r, const struct json *json)
{
    static const char *const methods[] = {
        "GET", "POST", "PUT", "HEAD", "DELETE", "TRACE", "OPTIONS", "CONNECT",
        "PATCH", NULL
    };
    struct adp_object o;
    size_t mark = adp_reader_enter(r, "http");

    /* Patterns, of which an engine knows more. */
    adp_object_open(&o, r, json);
    adp_object_string(&o, "host", ADP_OPTIONAL);
    adp_object_choice(&o, "method", methods, 0);
    adp_object_string(&o, "path", ADP_OPTIONAL);
    adp_object_close(&o);
    adp_reader_leave(r, mark);
}

static void
parse_tls(struct adp_reader *r, const struct json *json)
{
    struct adp_object o;
    size_t mark = adp_reader_enter(r, "tls");

    adp_object_open(&o, r, json);
    adp_object_string(&o, "sni", ADP_OPTIONAL);
    adp_object_close(&o);
    adp_reader_leave(r, mark);
}

static void
parse_protocol(struct adp_reader *r, const struct json *json, bool *is_http)
{
    struct adp_object o;

    adp_object_open(&o, r, json);
    const struct json *http = adp_object_member(&o, "http", ADP_OPTIONAL);
    const struct json *tls = adp_object_member(&o, "tls", ADP_OPTIONAL);
    if (!http == !tls) {
        adp_reader_error(r, "must hold one of \"http\" and \"tls\"");
    } else if (http) {
        parse_http(r, http);
        *is_http = true;
    } else {
        parse_tls(r, tls);
    }
    adp_object_close(&o);
}

/* What a rule must be like to have L7 protocols. */
static void
check_rule(struct adp_reader *r, const struct adp_network_policy *policy,
           const struct adp_network_policy_rule *rule, bool is_http)
{
    if (policy->type != ADP_POLICY_ACNP && policy->type != ADP_POLICY_ANP) {
        adp_reader_error(r, "is not for a policy of type %s",
                         adp_policy_type_to_string(policy->type));
    } else if (rule->action != ADP_ACTION_ALLOW) {
        adp_reader_error(r, "goes with the action Allow only");
    } else if (rule->peer.to_services.n) {
        adp_reader_error(r, "doesn't go with toServices");
    }
    for (size_t i = 0; i < rule->n_services && is_http; i++) {
        if (rule->services[i].protocol != IPPROTO_TCP) {
            adp_reader_error(r, "http goes with services of TCP only");
        }
    }
}

void
adp_parse_l7_protocols(struct adp_object *parent,
                       const struct adp_network_policy *policy,
                       struct adp_network_policy_rule *rule)
{
    struct adp_reader *r = parent->reader;
    const struct json *json = adp_object_typed(parent, "l7Protocols",
                                               JSON_ARRAY, ADP_OPTIONAL);
    bool is_http = false;

    if (!json || !json_array(json)->n) {
        return;
    }

    size_t outer = adp_reader_enter(r, "l7Protocols");
    for (size_t i = 0; i < json_array(json)->n && !r->error; i++) {
        size_t mark = adp_reader_enter_index(r, i);

        parse_protocol(r, json_array(json)->elems[i], &is_http);
        adp_reader_leave(r, mark);
    }
    check_rule(r, policy, rule, is_http);
    adp_reader_leave(r, outer);
    rule->l7_protocols = json_deep_clone(json);
}

/* A port that others of the Node's don't have. */
static char *
parse_port(struct adp_object *o, const char *name, const char *default_,
           const struct adp_node_config *node)
{
    const char *port = o ? adp_object_string(o, name, ADP_OPTIONAL) : NULL;

    if (port && (nullable_string_is_equal(port, node->gateway_port)
                 || nullable_string_is_equal(port, node->tunnel_port))) {
        adp_reader_error_at(o->reader, name, "\"%s\" is the %s port", port,
                            (nullable_string_is_equal(port, node->tunnel_port)
                             ? "tunnel" : "gateway"));
    }
    return xstrdup(port ? port : default_);
}

void
adp_parse_l7_ports(struct adp_object *parent, struct adp_node_config *node)
{
    struct adp_reader *r = parent->reader;
    const struct json *json = adp_object_member(parent, "l7", ADP_OPTIONAL);
    struct adp_object o;
    size_t mark = adp_reader_enter(r, "l7");

    if (json) {
        adp_object_open(&o, r, json);
    }
    node->l7_target_port = parse_port(json ? &o : NULL, "targetPort",
                                      L7_TARGET_PORT, node);
    node->l7_return_port = parse_port(json ? &o : NULL, "returnPort",
                                      L7_RETURN_PORT, node);
    if (!strcmp(node->l7_target_port, node->l7_return_port)) {
        adp_reader_error_at(r, "returnPort", "\"%s\" is the target port",
                            node->l7_return_port);
    }
    if (json) {
        adp_object_close(&o);
    }
    adp_reader_leave(r, mark);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-given.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-input.h"
#include "dpctl-json.h"
#include "dpctl-print.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

char *
dpctl_given_text(struct dpctl_input *input, const char *text)
{
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;
    char *error = dpctl_load_text(&docs, "f", text, strlen(text));

    if (!error) {
        error = dpctl_input_add(input, &docs, "default", false);
    }
    dpctl_docs_destroy(&docs);
    return error;
}

const char dpctl_given_cluster[] =
"apiVersion: v1\n"
"kind: Node\n"
"metadata: {name: node1, annotations: {node.antrea.io/mac-address: "
    "'0a:00:00:00:00:01'}}\n"
"spec: {podCIDR: 10.1.0.0/24}\n"
"status: {addresses: [{type: Hostname, address: n}, "
    "{type: InternalIP, address: 192.0.2.1}]}\n"
"---\n"
"apiVersion: v1\n"
"kind: Pod\n"
"metadata: {name: web, labels: {app: web}, annotations: "
    "{antrea-dp.io/port: p-web, antrea-dp.io/mac: '0a:00:00:00:00:02'}}\n"
"spec: {nodeName: node1, containers: [{name: c, ports: "
    "[{name: http, containerPort: 8080}]}]}\n"
"status: {phase: Running, podIP: 10.1.0.2}\n"
"---\n"
"apiVersion: v1\n"
"kind: Pod\n"
"metadata: {name: client, labels: {app: client}, annotations: "
    "{antrea-dp.io/port: p-client, antrea-dp.io/mac: '0a:00:00:00:00:03'}}\n"
"spec: {nodeName: node1}\n"
"status: {phase: Running, podIP: 10.1.0.3}\n"
"---\n"
"apiVersion: v1\n"
"kind: Pod\n"
"metadata: {name: web2, labels: {app: web}}\n"
"spec: {nodeName: node2, containers: [{name: c, ports: "
    "[{name: http, containerPort: 9090}]}]}\n"
"status: {phase: Running, podIP: 10.1.1.2}\n"
"---\n"
"apiVersion: v1\n"
"kind: Pod\n"
"metadata: {name: done, labels: {app: web}}\n"
"spec: {nodeName: node1}\n"
"status: {phase: Succeeded, podIP: 10.1.0.2}\n"
"---\n"
"apiVersion: v1\n"
"kind: Pod\n"
"metadata: {name: host, labels: {app: web}}\n"
"spec: {nodeName: node1, hostNetwork: true}\n"
"status: {phase: Running, podIP: 192.0.2.1}\n"
"---\n"
"apiVersion: v1\n"
"kind: Pod\n"
"metadata: {name: db, namespace: prod, labels: {app: db}}\n"
"spec: {nodeName: node2}\n"
"status: {phase: Running, podIP: 10.1.1.3}\n"
"---\n"
"apiVersion: v1\n"
"kind: Namespace\n"
"metadata: {name: prod, labels: {env: prod}}\n"
"---\n";

struct dpctl_given_plan
dpctl_given_plan(enum dpctl_verb verb, const struct json *state,
                 const char *a, const char *b)
{
    struct dpctl_given_plan p;
    struct dpctl_input input;
    struct dpctl_ports ports;
    struct dpctl_env env = { .node = "node1", .ports = &ports };

    dpctl_ports_init(&ports);
    ports.annotated = true;
    dpctl_input_init(&input);
    p.error = dpctl_given_text(&input, a);
    if (!p.error && b) {
        p.error = dpctl_given_text(&input, b);
    }
    if (!p.error) {
        p.error = dpctl_plan_create(verb, &input, state, &env, false,
                                    &p.plan);
    }
    dpctl_input_destroy(&input);
    dpctl_ports_destroy(&ports);
    return p;
}

char *
dpctl_given_resolve(const char *given, const char *text, const char *key)
{
    struct json *state = json_array_create_empty();
    struct dpctl_given_plan p = dpctl_given_plan(DPCTL_APPLY, state, given,
                                                 text);
    struct ds ds = DS_EMPTY_INITIALIZER;

    json_destroy(state);
    if (p.error) {
        return p.error;
    }
    for (size_t i = 0; i < json_array(p.plan.apply)->n; i++) {
        const struct json *record = json_array(p.plan.apply)->elems[i];
        char *record_key = dpctl_record_key_of(record);
        if (strncmp(record_key, "Manifest", 8)
            && !strncmp(record_key, key, strlen(key))) {
            char *yaml_text = dpctl_print_yaml(record);
            ds_put_and_free_cstr(&ds, yaml_text);
        }
        free(record_key);
    }
    dpctl_plan_destroy(&p.plan);
    return ds_steal_cstr(&ds);
}

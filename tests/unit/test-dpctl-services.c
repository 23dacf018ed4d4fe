/* SPDX-License-Identifier: Apache-2.0 */

/* Which endpoints of a Service, and which clients, count on a Node. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-given.h"
#include "dpctl-input.h"
#include "dpctl-json.h"
#include "dpctl-plan.h"
#include "dpctl-print.h"
#include "dpctl-resolve.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "test-run.h"
#include "util.h"

static const char cluster[] =
"apiVersion: v1\n"
"kind: Node\n"
"metadata: {name: node1, annotations: {node.antrea.io/mac-address: "
    "'0a:00:00:00:00:01'}}\n"
"spec: {podCIDR: 10.1.0.0/24}\n"
"status: {addresses: [{type: InternalIP, address: 192.0.2.1}]}\n";

/* What is given beside a text. */
static const char *resolve_with = cluster;

static void
expect_records(const char *text, const char *key, const char *expected)
{
    char *got = dpctl_given_resolve(resolve_with, text, key);

    ck_assert_str_eq(got, expected);
    free(got);
}

#define SERVICE(SPEC) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: " SPEC "\n"
#define SERVICE_RECORD "kind: Service\nname: default/s\n"

/* 'zone' is more of node1's metadata, 'spec' "" or more of the Service's. */
static void
expect_endpoints(const char *zone, const char *spec, const char *slice,
                 const char *expected)
{
    char *node = xasprintf(
        "apiVersion: v1\nkind: Node\nmetadata: {name: node1, annotations: "
        "{node.antrea.io/mac-address: '0a:00:00:00:00:01'}%s}\n"
        "spec: {podCIDR: 10.1.0.0/24}\n"
        "status: {addresses: [{type: InternalIP, address: 192.0.2.1}]}\n",
        zone);
    char *text = xasprintf(
        SERVICE("{clusterIP: 10.96.0.1, ports: [{port: 80}]%s}")
        "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
        "metadata: {name: s-1, labels: {kubernetes.io/service-name: s}}\n"
        "addressType: IPv4\nports: [{port: 8080}]\nendpoints:\n%s",
        spec, slice);
    char *record = xasprintf(SERVICE_RECORD "clusterIP: 10.96.0.1\n%s"
                             "ports:\n- endpoints:%s\n  port: 80\n"
                             "  protocol: TCP\n",
                             spec[0] ? "externalTrafficPolicy: Local\n" : "",
                             expected);

    resolve_with = node;
    expect_records(text, "Service", record);
    resolve_with = cluster;
    free(record);
    free(text);
    free(node);
}

#define END ", conditions: {ready: false, serving: true, terminating: true}"

START_TEST(service_terminating_endpoints)
{
    expect_endpoints(
        "", "",
        "- {addresses: [10.1.0.2], nodeName: node1" END "}\n"
        "- {addresses: [10.1.1.2], nodeName: node2}\n"
        "- {addresses: [10.1.1.3], conditions: {ready: false, "
        "serving: false, terminating: true}}\n"
        "- {addresses: [10.1.1.4], conditions: {ready: false, "
        "terminating: true}}\n"
        "- {addresses: [10.1.1.5], conditions: {ready: false, "
        "serving: true}}\n",
        "\n  - ip: 10.1.0.2\n    local: true\n    port: 8080\n"
        "    terminating: true\n"
        "  - ip: 10.1.1.2\n    port: 8080\n"
        "  - ip: 10.1.1.4\n    port: 8080\n    terminating: true");
    /* Twice: the one that is ready counts, in either order. */
    expect_endpoints("", "", "- {addresses: [10.1.1.2]}\n"
                     "- {addresses: [10.1.1.2]" END "}\n"
                     "- {addresses: [10.1.1.3]" END "}\n"
                     "- {addresses: [10.1.1.3]}\n",
                     "\n  - ip: 10.1.1.2\n    port: 8080\n"
                     "  - ip: 10.1.1.3\n    port: 8080");
}
END_TEST

#define ZONE(Z) ", hints: {forZones: [{name: " Z "}]}"

/* Hints count if all that are ready have some, and one is for our zone. */
START_TEST(service_hints)
{
    static const char all[] =
        "- {addresses: [10.1.0.2], nodeName: node1" ZONE("b") "}\n"
        "- {addresses: [10.1.1.2], nodeName: node2, hints: {forZones: "
        "[{name: b}, {name: a}]}}\n"
        "- {addresses: [10.1.1.3], nodeName: node2" ZONE("b") "}\n"
        "- {addresses: [10.1.1.4], nodeName: node2" END "}\n";
    static const char in_a[] = ", labels: {topology.kubernetes.io/zone: a}";
    static const char everyone[] =
        "\n  - ip: 10.1.0.2\n    local: true\n    port: 8080\n"
        "  - ip: 10.1.1.2\n    port: 8080\n"
        "  - ip: 10.1.1.3\n    port: 8080\n"
        "  - ip: 10.1.1.4\n    port: 8080\n    terminating: true";
    static const char one_more[] =
        "- {addresses: [10.1.0.2], nodeName: node1" ZONE("a") "}\n"
        "- {addresses: [10.1.1.2], nodeName: node2}\n";

    expect_endpoints(in_a, "", all,
                     "\n  - ip: 10.1.1.2\n    port: 8080\n"
                     "  - ip: 10.1.1.4\n    port: 8080\n"
                     "    terminating: true");
    /* For traffic policy Local they mean nothing. */
    expect_endpoints(in_a, ", externalTrafficPolicy: Local", all,
                     "\n  - ip: 10.1.0.2\n    local: true\n"
                     "    localOnly: true\n    port: 8080\n"
                     "  - ip: 10.1.1.2\n    port: 8080\n"
                     "  - ip: 10.1.1.4\n    port: 8080\n"
                     "    terminating: true");
    expect_endpoints("", "", all, everyone);
    expect_endpoints(", labels: {topology.kubernetes.io/zone: ''}", "", all,
                     everyone);
    expect_endpoints(", labels: {topology.kubernetes.io/zone: c}", "", all,
                     everyone);
    expect_endpoints(in_a, "", one_more,
                     "\n  - ip: 10.1.0.2\n    local: true\n    port: 8080\n"
                     "  - ip: 10.1.1.2\n    port: 8080");
}
END_TEST

#define FOR(ZONE_, NODE_) ", hints: {forZones: [{name: " ZONE_ "}], " \
    "forNodes: [{name: " NODE_ "}]}"

/* Those for Nodes go before those for zones, where one is for ours. */
START_TEST(service_node_hints)
{
    static const char in_a[] = ", labels: {topology.kubernetes.io/zone: a}";
    static const char all[] =
        "- {addresses: [10.1.0.2], nodeName: node1" FOR("a", "node1") "}\n"
        "- {addresses: [10.1.1.2], nodeName: node2" FOR("a", "node2") "}\n"
        "- {addresses: [10.1.1.3], nodeName: node2" FOR("b", "node2") "}\n";
    static const char none_here[] =
        "- {addresses: [10.1.1.2], nodeName: node2" FOR("a", "node2") "}\n"
        "- {addresses: [10.1.1.3], nodeName: node2" FOR("b", "node2") "}\n";
    static const char one_without[] =
        "- {addresses: [10.1.0.2], nodeName: node1" FOR("a", "node1") "}\n"
        "- {addresses: [10.1.1.2], nodeName: node2" ZONE("a") "}\n"
        "- {addresses: [10.1.1.3], nodeName: node2" ZONE("b") "}\n";

    expect_endpoints(in_a, "", all,
                     "\n  - ip: 10.1.0.2\n    local: true\n    port: 8080");
    /* Whether the Node has a zone or not. */
    expect_endpoints("", "", all,
                     "\n  - ip: 10.1.0.2\n    local: true\n    port: 8080");
    expect_endpoints(in_a, "", none_here,
                     "\n  - ip: 10.1.1.2\n    port: 8080");
    expect_endpoints("", "", none_here,
                     "\n  - ip: 10.1.1.2\n    port: 8080\n"
                     "  - ip: 10.1.1.3\n    port: 8080");
    expect_endpoints(in_a, "", one_without,
                     "\n  - ip: 10.1.0.2\n    local: true\n    port: 8080\n"
                     "  - ip: 10.1.1.2\n    port: 8080");
}
END_TEST

/* A Pod that is being deleted serves as long as it is ready. */
START_TEST(service_terminating_pods)
{
#define GOING "---\napiVersion: v1\nkind: Pod\nmetadata: {name: z%s, labels: " \
    "{app: z}%s}\nspec: {nodeName: node2}\nstatus: {phase: Running, " \
    "podIP: 10.1.1.%s, conditions: [{type: Ready, status: '%s'}]}\n"
#define DELETED ", deletionTimestamp: '2026-01-01T00:00:00Z'"
    char *pods = xasprintf(GOING GOING GOING GOING, "1", "", "31", "True",
                           "2", DELETED, "32", "True", "3", DELETED, "33",
                           "False", "4", "", "34", "False");
    char *plain = xasprintf("%s%s", SERVICE("{selector: {app: z}, clusterIP: "
                                            "10.96.0.1, ports: [{port: 80}]}"),
                            pods);
    char *all = xasprintf("%s%s", SERVICE("{selector: {app: z}, clusterIP: "
                                          "10.96.0.1, ports: [{port: 80}], "
                                          "publishNotReadyAddresses: true}"),
                          pods);

    expect_records(plain, "Service", SERVICE_RECORD "clusterIP: 10.96.0.1\n"
                   "ports:\n- endpoints:\n"
                   "  - ip: 10.1.1.31\n    port: 80\n"
                   "  - ip: 10.1.1.32\n    port: 80\n"
                   "    terminating: true\n"
                   "  port: 80\n  protocol: TCP\n");
    expect_records(all, "Service", SERVICE_RECORD "clusterIP: 10.96.0.1\n"
                   "ports:\n- endpoints:\n"
                   "  - ip: 10.1.1.31\n    port: 80\n"
                   "  - ip: 10.1.1.32\n    port: 80\n"
                   "  - ip: 10.1.1.33\n    port: 80\n"
                   "  - ip: 10.1.1.34\n    port: 80\n"
                   "  port: 80\n  protocol: TCP\n");
    free(pods);
    free(plain);
    free(all);
}
END_TEST

START_TEST(service_source_ranges)
{
#define LB_SERVICE(TYPE, RANGES) \
    SERVICE("{type: " TYPE ", clusterIP: 10.96.0.1, ports: [{port: 80}], " \
            "loadBalancerSourceRanges: [" RANGES "]}\n" \
            "status: {loadBalancer: {ingress: [{ip: 192.0.2.9}]}}")
#define LB_RECORD(MORE) SERVICE_RECORD "clusterIP: 10.96.0.1\n" MORE \
    "ports:\n- endpoints: []\n  port: 80\n  protocol: TCP\n"
    expect_records(LB_SERVICE("LoadBalancer", "10.9.8.7/8, 10.0.0.0/8, "
                              "'fd00::/8', 192.0.2.1/32"), "Service",
                   LB_RECORD("loadBalancerIPs:\n- 192.0.2.9\n"
                             "loadBalancerSourceRanges:\n- 10.0.0.0/8\n"
                             "- 192.0.2.1/32\n- fd00::/8\n"));
    /* As Kubernetes, which takes blanks around them. */
    expect_records(LB_SERVICE("LoadBalancer", "' 10.0.0.0/8', "
                              "\"192.0.2.1/32 \\t\""), "Service",
                   LB_RECORD("loadBalancerIPs:\n- 192.0.2.9\n"
                             "loadBalancerSourceRanges:\n- 10.0.0.0/8\n"
                             "- 192.0.2.1/32\n"));
    /* None of the address's family: it isn't open to all for that. */
    expect_records(LB_SERVICE("LoadBalancer", "'fd00::/8'"), "Service",
                   LB_RECORD("loadBalancerIPs:\n- 192.0.2.9\n"
                             "loadBalancerSourceRanges:\n- fd00::/8\n"));
    expect_records(LB_SERVICE("ClusterIP", "10.0.0.0/8"), "Service",
                   LB_RECORD(""));
}
END_TEST

/* That matters for addresses for outsiders only. */
START_TEST(service_created)
{
#define CREATED_SERVICE(SPEC) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s, " \
    "creationTimestamp: '2026-01-02T03:04:05Z'}\n" \
    "spec: {clusterIP: 10.96.0.1, " SPEC "ports: [{port: 80}]}\n"
    expect_records(CREATED_SERVICE("externalIPs: [192.0.2.9], "), "Service",
                   SERVICE_RECORD "clusterIP: 10.96.0.1\n"
                   "created: 2026-01-02T03:04:05Z\n"
                   "externalIPs:\n- 192.0.2.9\n"
                   "ports:\n- endpoints: []\n  port: 80\n  protocol: TCP\n");
    expect_records(CREATED_SERVICE(""), "Service", LB_RECORD(""));

    /* What is no time doesn't count. */
    char *longest = xasprintf("%0*d", 65, 0);
    const char *const none[] = { "", longest };
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        char *service = xasprintf(
            "apiVersion: v1\nkind: Service\nmetadata: {name: s, "
            "creationTimestamp: '%s'}\nspec: {clusterIP: 10.96.0.1, "
            "externalIPs: [192.0.2.9], ports: [{port: 80}]}\n", none[i]);

        expect_records(service, "Service",
                       SERVICE_RECORD "clusterIP: 10.96.0.1\n"
                       "externalIPs:\n- 192.0.2.9\n"
                       "ports:\n- endpoints: []\n  port: 80\n"
                       "  protocol: TCP\n");
        free(service);
    }
    free(longest);
}
END_TEST

START_TEST(service_mode)
{
    expect_records("apiVersion: v1\nkind: Service\nmetadata: {name: s, "
                   "annotations: {service.antrea.io/load-balancer-mode: DSR}}\n"
                   "spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}\n",
                   "Service", SERVICE_RECORD "clusterIP: 10.96.0.1\n"
                   "loadBalancerMode: DSR\nports:\n- endpoints: []\n"
                   "  port: 80\n  protocol: TCP\n");
    expect_records("apiVersion: v1\nkind: Service\nmetadata: {name: s, "
                   "annotations: {service.antrea.io/load-balancer-mode: nat}}\n"
                   "spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}\n",
                   "Service", SERVICE_RECORD "clusterIP: 10.96.0.1\n"
                   "ports:\n- endpoints: []\n"
                   "  port: 80\n  protocol: TCP\n");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("dpctl-services");
    TCase *tc = tcase_create("services");

    tcase_add_test(tc, service_terminating_endpoints);
    tcase_add_test(tc, service_created);
    tcase_add_test(tc, service_mode);
    tcase_add_test(tc, service_hints);
    tcase_add_test(tc, service_node_hints);
    tcase_add_test(tc, service_terminating_pods);
    tcase_add_test(tc, service_source_ranges);
    suite_add_tcase(s, tc);
    return test_run(s);
}

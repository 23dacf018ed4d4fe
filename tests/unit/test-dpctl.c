/* SPDX-License-Identifier: Apache-2.0 */

/* What antrea-dpctl makes of objects: the records of one node, and of changed
 * objects the changed records. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-given.h"
#include "openvswitch/dynamic-string.h"
#include "svec.h"
#include "test-run.h"
#include "util.h"
#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-load.h"
#include "dpctl-plan.h"
#include "dpctl-print.h"

static struct json *
yaml(const char *text)
{
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;
    char *error = dpctl_load_text(&docs, "f", text, strlen(text));

    ck_assert_msg(!error, "%s", error);
    ck_assert_int_eq(docs.n, 1);
    struct json *json = json_clone(docs.docs[0].json);
    dpctl_docs_destroy(&docs);
    return json;
}

/* Objects to records. */

static void
expect_records(const char *text, const char *key, const char *expected)
{
    char *got = dpctl_given_resolve(dpctl_given_cluster, text, key);

    ck_assert_str_eq(got, expected);
    free(got);
}

/* As above, but only the rules of the only policy of type 'type', each as a
 * line of JSON. */
static void
expect_rules(const char *text, const char *type, const char *expected)
{
    char *key = xasprintf("NetworkPolicy %s", type);
    char *got = dpctl_given_resolve(dpctl_given_cluster, text, key);
    struct json *record = yaml(got);
    const struct json_array *rules = dpctl_json_array(record, "rules");
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < rules->n; i++) {
        json_to_ds(rules->elems[i], JSSF_SORT, &ds);
        ds_put_char(&ds, '\n');
    }
    ck_assert_str_eq(ds_cstr(&ds), expected);
    ds_destroy(&ds);
    json_destroy(record);
    free(got);
    free(key);
}

START_TEST(node_and_pods)
{
    expect_records("", "NodeConfig",
                   "kind: NodeConfig\nname: node1\n"
                   "gateway:\n  ip: 10.1.0.1\n  mac: 0a:00:00:00:00:01\n"
                   "  port: antrea-gw0\n"
                   "podCIDR: 10.1.0.0/24\ntransportIP: 192.0.2.1\n");
    /* Neither remote Pods, nor ended ones, nor those in the host's network. */
    expect_records("", "Pod",
                   "kind: Pod\nname: default/client\nips:\n- 10.1.0.3\n"
                   "mac: 0a:00:00:00:00:03\nport: p-client\n"
                   "kind: Pod\nname: default/web\nips:\n- 10.1.0.2\n"
                   "mac: 0a:00:00:00:00:02\nport: p-web\n");
    expect_records("apiVersion: v1\nkind: Node\nmetadata: {name: node2}\n"
                   "spec: {podCIDRs: ['fd00::/64', 10.1.1.0/24]}\n"
                   "status: {addresses: [{type: InternalIP, "
                   "address: 192.0.2.2}]}\n", "PeerNode",
                   "kind: PeerNode\nname: node2\n"
                   "gatewayIP:\n- 10.1.1.1\n- fd00::1\n"
                   "podCIDR:\n- 10.1.1.0/24\n- fd00::/64\n"
                   "transportIP: 192.0.2.2\n");
    expect_records("apiVersion: v1\nkind: Node\nmetadata: {name: node3}\n",
                   "PeerNode", "");
}
END_TEST

START_TEST(pod_without_port)
{
    char *got = dpctl_given_resolve(
        dpctl_given_cluster, "apiVersion: v1\nkind: Pod\n"
        "metadata: {name: lost}\nspec: {nodeName: node1}\n"
        "status: {podIP: 10.1.0.9}\n", "");

    ck_assert_msg(!strncmp(got, "Pod default/lost: no port: OVSDB can't be "
                           "read", 46), "%s", got);
    free(got);
}
END_TEST

#define SERVICE(SPEC) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: " SPEC "\n"
#define SERVICE_RECORD "kind: Service\nname: default/s\n"

START_TEST(service_endpoints_from_pods)
{
    expect_records(SERVICE("{selector: {app: web}, clusterIP: 10.96.0.1, "
                           "ports: [{port: 80, targetPort: http}]}"),
                   "Service", SERVICE_RECORD "clusterIP: 10.96.0.1\nports:\n"
                   "- endpoints:\n"
                   "  - ip: 10.1.0.2\n    local: true\n    port: 8080\n"
                   "  - ip: 10.1.1.2\n    port: 9090\n"
                   "  port: 80\n  protocol: TCP\n");
    /* A Pod of another namespace isn't selected. */
    expect_records(SERVICE("{selector: {app: db}, clusterIP: 10.96.0.1, "
                           "ports: [{port: 80}]}"),
                   "Service", SERVICE_RECORD "clusterIP: 10.96.0.1\nports:\n"
                   "- endpoints: []\n  port: 80\n  protocol: TCP\n");
}
END_TEST

START_TEST(service_forms)
{
    expect_records(SERVICE("{type: ExternalName, externalName: a.b}"),
                   "Service", "");
    expect_records(SERVICE("{clusterIP: None, ports: [{port: 80}]}"),
                   "Service", "");
    expect_records(SERVICE("{ports: [{port: 80}]}"), "Service", "");
    /* A node port counts only where the type says so. */
    expect_records(SERVICE("{clusterIP: 10.96.0.1, ports: [{port: 53, "
                           "protocol: UDP, nodePort: 30053}]}"),
                   "Service", SERVICE_RECORD "clusterIP: 10.96.0.1\nports:\n"
                   "- endpoints: []\n  port: 53\n  protocol: UDP\n");
    expect_records(SERVICE("{type: NodePort, ports: [{name: dns, port: 53, "
                           "protocol: UDP, nodePort: 30053}], "
                           "sessionAffinity: ClientIP, "
                           "externalTrafficPolicy: Local}"),
                   "Service", SERVICE_RECORD
                   "externalTrafficPolicy: Local\nports:\n"
                   "- name: dns\n  endpoints: []\n  nodePort: 30053\n"
                   "  port: 53\n  protocol: UDP\n"
                   "sessionAffinity:\n  timeoutSeconds: 10800\n");
}
END_TEST

START_TEST(service_endpoints_from_slices)
{
    const char *slices =
        "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
        "metadata: {name: s-1, labels: {kubernetes.io/service-name: s}}\n"
        "addressType: IPv4\n"
        "ports: [{name: http, port: 8080}, {name: other, port: 1}]\n"
        "endpoints:\n"
        "- {addresses: [10.1.0.2], nodeName: node1, conditions: "
            "{ready: true}}\n"
        "- {addresses: [10.1.1.2], nodeName: node2}\n"
        "- {addresses: [10.1.1.9], nodeName: node2, conditions: "
            "{ready: false}}\n"
        "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
        "metadata: {name: s-2, labels: {kubernetes.io/service-name: s}}\n"
        "addressType: IPv4\n"
        "ports: [{name: http, port: 8081}]\n"
        "endpoints: [{addresses: [10.1.0.3]}]\n"
        "---\napiVersion: v1\nkind: Endpoints\nmetadata: {name: s}\n"
        "subsets: [{addresses: [{ip: 10.9.9.9}], ports: [{port: 1}]}]\n";
    char *text = xasprintf("%s%s",
                           SERVICE("{clusterIP: 10.96.0.1, selector: "
                                   "{app: web}, ports: [{name: http, "
                                   "port: 80}]}"), slices);

    expect_records(text, "Service",
                   SERVICE_RECORD "clusterIP: 10.96.0.1\nports:\n"
                   "- name: http\n  endpoints:\n"
                   "  - ip: 10.1.0.2\n    local: true\n    port: 8080\n"
                   "  - ip: 10.1.0.3\n    local: true\n    port: 8081\n"
                   "  - ip: 10.1.1.2\n    port: 8080\n"
                   "  port: 80\n  protocol: TCP\n");
    free(text);
}
END_TEST

START_TEST(service_endpoints_object)
{
    expect_records(SERVICE("{clusterIP: 10.96.0.1, ports: [{port: 80}]}")
                   "---\napiVersion: v1\nkind: Endpoints\n"
                   "metadata: {name: s}\nsubsets: [{addresses: "
                   "[{ip: 203.0.113.1}], notReadyAddresses: "
                   "[{ip: 203.0.113.2}], ports: [{port: 81}]}]\n",
                   "Service",
                   SERVICE_RECORD "clusterIP: 10.96.0.1\nports:\n"
                   "- endpoints:\n  - ip: 203.0.113.1\n    port: 81\n"
                   "  port: 80\n  protocol: TCP\n");
}
END_TEST

#define NP(SPEC) \
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: p}\nspec: " SPEC "\n"

START_TEST(k8s_policy_defaults)
{
    /* No rules: isolated for ingress only. */
    expect_rules(NP("{podSelector: {}}"), "K8s", "{\"direction\":\"In\"}\n");
    expect_rules(NP("{podSelector: {}, policyTypes: [Ingress, Egress]}"),
                 "K8s", "{\"direction\":\"In\"}\n{\"direction\":\"Out\"}\n");
    /* A rule without a peer allows anybody. */
    expect_rules(NP("{podSelector: {}, ingress: [{}]}"), "K8s",
                 "{\"action\":\"Allow\",\"direction\":\"In\",\"from\":"
                 "{\"ipBlocks\":[{\"cidr\":\"0.0.0.0/0\"}]}}\n");
    /* Egress rules are in force by themselves. */
    expect_rules(NP("{podSelector: {}, egress: [{to: [{ipBlock: {cidr: "
                    "10.0.0.0/8, except: [10.1.0.0/16]}}], ports: [{port: 1, "
                    "endPort: 9}, {protocol: UDP}]}]}"), "K8s",
                 "{\"direction\":\"In\"}\n"
                 "{\"action\":\"Allow\",\"direction\":\"Out\",\"services\":"
                 "[{\"endPort\":9,\"port\":1,\"protocol\":\"TCP\"},"
                 "{\"protocol\":\"UDP\"}],\"to\":{\"addressGroups\":[],"
                 "\"ipBlocks\":[{\"cidr\":\"10.0.0.0/8\","
                 "\"except\":[\"10.1.0.0/16\"]}]}}\n");
    /* A peer that can match nothing here doesn't become "anybody". */
    expect_rules(NP("{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: "
                    "'fd00::/8'}}]}]}"), "K8s",
                 "{\"action\":\"Allow\",\"direction\":\"In\",\"from\":"
                 "{\"addressGroups\":[],\"ipBlocks\":[{\"cidr\":"
                 "\"fd00::/8\"}]}}\n");
}
END_TEST

START_TEST(k8s_policy_elsewhere)
{
    /* Nobody of this node is selected. */
    expect_records("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
                   "metadata: {name: p, namespace: prod}\n"
                   "spec: {podSelector: {}}\n", "NetworkPolicy", "");
    expect_records("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
                   "metadata: {name: p, namespace: prod}\n"
                   "spec: {podSelector: {}}\n", "A", "");
}
END_TEST

START_TEST(k8s_policy_groups)
{
    const char *text = NP("{podSelector: {matchLabels: {app: web}}, ingress: "
                          "[{from: [{podSelector: {matchLabels: "
                          "{app: client}}}, {namespaceSelector: {matchLabels: "
                          "{env: prod}}, podSelector: {}}, "
                          "{namespaceSelector: {matchLabels: "
                          "{kubernetes.io/metadata.name: default}}}]}]}");

    expect_records(text, "AddressGroup",
                   "kind: AddressGroup\nname: default/app=client\n"
                   "addresses:\n- 10.1.0.3\n"
                   "kind: AddressGroup\nname: '{env=prod}/*'\n"
                   "addresses:\n- 10.1.1.3\n"
                   "kind: AddressGroup\n"
                   "name: '{kubernetes.io/metadata.name=default}/*'\n"
                   "addresses:\n- 10.1.0.2\n- 10.1.0.3\n- 10.1.1.2\n");
    expect_records(text, "AppliedToGroup",
                   "kind: AppliedToGroup\nname: default/app=web\n"
                   "pods:\n- default/web\n");
}
END_TEST

/* By value, not by text; each address once. */
START_TEST(group_address_order)
{
    expect_records("apiVersion: v1\nkind: Pod\nmetadata: {name: a, "
                   "labels: {app: x}}\nspec: {nodeName: node2}\n"
                   "status: {podIP: 10.1.1.100}\n---\n"
                   "apiVersion: v1\nkind: Pod\nmetadata: {name: b, "
                   "labels: {app: x}}\nspec: {nodeName: node2}\n"
                   "status: {podIP: 10.1.1.20}\n---\n"
                   "apiVersion: v1\nkind: Pod\nmetadata: {name: c, "
                   "labels: {app: x}}\nspec: {nodeName: node2}\n"
                   "status: {podIP: 10.1.1.100}\n---\n"
                   NP("{podSelector: {}, ingress: [{from: [{podSelector: "
                      "{matchLabels: {app: x}}}]}]}"), "AddressGroup",
                   "kind: AddressGroup\nname: default/app=x\n"
                   "addresses:\n- 10.1.1.20\n- 10.1.1.100\n");
}
END_TEST

START_TEST(named_ports)
{
    /* Into our Pods: their own numbers. */
    expect_rules(NP("{podSelector: {}, ingress: [{ports: [{port: http}, "
                    "{port: 22}]}]}"), "K8s",
                 "{\"action\":\"Allow\",\"direction\":\"In\",\"from\":"
                 "{\"ipBlocks\":[{\"cidr\":\"0.0.0.0/0\"}]},"
                 "\"services\":[{\"port\":22,\"protocol\":\"TCP\"}]}\n"
                 "{\"action\":\"Allow\",\"appliedToGroups\":"
                 "[\"default/* (http/TCP=8080)\"],\"direction\":\"In\","
                 "\"from\":{\"ipBlocks\":[{\"cidr\":\"0.0.0.0/0\"}]},"
                 "\"priority\":0,"
                 "\"services\":[{\"port\":8080,\"protocol\":\"TCP\"}]}\n");
    /* To others: a rule for each number that the name has there. */
    expect_rules(NP("{podSelector: {}, policyTypes: [Egress], egress: [{to: "
                    "[{podSelector: {matchLabels: {app: web}}}], ports: "
                    "[{port: http}]}]}"), "K8s",
                 "{\"action\":\"Allow\",\"direction\":\"Out\",\"services\":"
                 "[{\"port\":8080,\"protocol\":\"TCP\"}],\"to\":"
                 "{\"addressGroups\":[\"default/app=web "
                 "(http/TCP=8080)\"]}}\n"
                 "{\"action\":\"Allow\",\"direction\":\"Out\","
                 "\"priority\":0,\"services\":"
                 "[{\"port\":9090,\"protocol\":\"TCP\"}],\"to\":"
                 "{\"addressGroups\":[\"default/app=web "
                 "(http/TCP=9090)\"]}}\n");
    /* A name that nobody has leaves the Pods isolated. */
    expect_rules(NP("{podSelector: {}, ingress: [{ports: [{port: nope}]}]}"),
                 "K8s", "{\"direction\":\"In\"}\n");
}
END_TEST

#define EGRESS(SPEC) \
    "apiVersion: crd.antrea.io/v1beta1\nkind: Egress\n" \
    "metadata: {name: e}\nspec: " SPEC "\n"
#define TC(SPEC) \
    "apiVersion: crd.antrea.io/v1alpha2\nkind: TrafficControl\n" \
    "metadata: {name: t}\nspec: " SPEC "\n"
#define SVC "{service: {name: s, namespace: x}}"
#define ACNP(SPEC) \
    "apiVersion: crd.antrea.io/v1beta1\nkind: ClusterNetworkPolicy\n" \
    "metadata: {name: p}\nspec: " SPEC "\n"

START_TEST(egress_bandwidth)
{
    static const char *const cases[][2] = {
        { "rate: 500M, burst: 10M",
          "  burstKbits: 10000\n  rateKbps: 500000\n" },
        { "rate: '1999', burst: 12k",
          "  burstKbits: 12\n  rateKbps: 1\n" },
        { "rate: 1.5Gi, burst: 4294967295k",
          "  burstKbits: 4294967295\n  rateKbps: 1610612\n" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *objects = xasprintf(
            EGRESS("{egressIP: 192.0.2.1, appliedTo: {podSelector: {}}, "
                   "bandwidth: {%s}}"), cases[i][0]);
        char *records = xasprintf(
            "kind: Egress\nname: e\nappliedToGroups:\n- '*/*'\nbandwidth:\n%s"
            "egressIP: 192.0.2.1\n", cases[i][1]);

        expect_records(objects, "Egress", records);
        free(records);
        free(objects);
    }
}
END_TEST

START_TEST(antrea_policy)
{
    expect_records(ACNP("{priority: 5.5, tier: SecurityOps, appliedTo: "
                        "[{namespaceSelector: {matchLabels: {env: nowhere}}},"
                        " {podSelector: {matchLabels: {app: client}}}], "
                        "egress: [{action: Drop, protocols: [{icmp: "
                        "{icmpType: 8}}]}]}"), "NetworkPolicy",
                   "kind: NetworkPolicy\n"
                   "name: AntreaClusterNetworkPolicy:p\n"
                   "appliedToGroups:\n- '{env=nowhere}/*'\n"
                   "- '*/app=client'\npriority: 5.5\n"
                   "rules:\n- action: Drop\n  direction: Out\n  services:\n"
                   "  - icmpType: 8\n    protocol: ICMP\n"
                   "tierPriority: 100\ntype: AntreaClusterNetworkPolicy\n");
}
END_TEST

START_TEST(l7_rule)
{
    expect_rules(ACNP("{priority: 1, appliedTo: [{podSelector: {}}], "
                      "ingress: [{action: Allow, ports: [{port: 80}], "
                      "l7Protocols: [{http: {path: '/a/*', method: GET, "
                      "host: a.b}}, {tls: {sni: b.c}}, {http: {}}]}]}"),
                 "Antrea",
                 "{\"action\":\"Allow\",\"direction\":\"In\","
                 "\"l7Protocols\":[{\"http\":{\"host\":\"a.b\","
                 "\"method\":\"GET\",\"path\":\"/a/*\"}},"
                 "{\"tls\":{\"sni\":\"b.c\"}},{\"http\":{}}],"
                 "\"services\":[{\"port\":80,\"protocol\":\"TCP\"}]}\n");
}
END_TEST

START_TEST(antrea_policy_tier_and_group)
{
    const char *text =
        "apiVersion: crd.antrea.io/v1beta1\nkind: Tier\n"
        "metadata: {name: mine}\nspec: {priority: 42}\n---\n"
        "apiVersion: crd.antrea.io/v1beta1\nkind: ClusterGroup\n"
        "metadata: {name: inner}\nspec: {ipBlocks: [{cidr: 198.51.100.0/24}]}"
        "\n---\n"
        "apiVersion: crd.antrea.io/v1beta1\nkind: ClusterGroup\n"
        "metadata: {name: outer}\nspec: {childGroups: [inner]}\n---\n"
        ACNP("{priority: 1, tier: mine, ingress: [{name: r, action: Allow, "
             "from: [{group: outer}], appliedTo: [{podSelector: {}}]}]}");

    expect_records(text, "NetworkPolicy",
                   "kind: NetworkPolicy\n"
                   "name: AntreaClusterNetworkPolicy:p\npriority: 1\n"
                   "rules:\n- name: r\n  action: Allow\n"
                   "  appliedToGroups:\n  - '*/*'\n  direction: In\n"
                   "  from:\n    addressGroups: []\n    ipBlocks:\n"
                   "    - cidr: 198.51.100.0/24\n"
                   "tierPriority: 42\ntype: AntreaClusterNetworkPolicy\n");
}
END_TEST

START_TEST(controlplane_objects)
{
    const char *text =
        "apiVersion: controlplane.antrea.io/v1beta2\nkind: AddressGroup\n"
        "metadata: {name: ag}\ngroupMembers: [{ips: [CgEAAw==]}, "
        "{ips: [AAAAAAAAAAAAAP//CgEBAg==]}]\n---\n"
        "apiVersion: controlplane.antrea.io/v1beta2\nkind: AppliedToGroup\n"
        "metadata: {name: atg}\ngroupMembers: [{pod: {name: web, "
        "namespace: default}}]\n---\n"
        "apiVersion: controlplane.antrea.io/v1beta2\nkind: NetworkPolicy\n"
        "metadata: {name: 1-2-3}\n"
        "sourceRef: {type: AntreaNetworkPolicy, namespace: default, "
        "name: p, uid: 1-2-3}\n"
        "tierPriority: 250\npriority: 3\nappliedToGroups: [atg]\n"
        "rules: [{direction: In, from: {addressGroups: [ag], ipBlocks: "
        "[{cidr: {ip: CgAAAA==, prefixLength: 8}}]}, to: {}, action: Drop, "
        "priority: 0, services: [{protocol: TCP, port: 80}]}]\n";

    expect_records(text, "A",
                   "kind: AddressGroup\nname: ag\naddresses:\n- 10.1.0.3\n"
                   "- 10.1.1.2\n"
                   "kind: AppliedToGroup\nname: atg\npods:\n- default/web\n");
    expect_rules(text, "Antrea",
                 "{\"action\":\"Drop\",\"direction\":\"In\",\"from\":"
                 "{\"addressGroups\":[\"ag\"],\"ipBlocks\":"
                 "[{\"cidr\":\"10.0.0.0/8\",\"except\":[]}]},"
                 "\"services\":[{\"port\":80,\"protocol\":\"TCP\"}]}\n");
}
END_TEST

/* The controller leaves out a priority of 0, that of each rule which the first
 * one as it was written becomes. */
START_TEST(controlplane_priorities)
{
#define CP_RULES(TYPE, RULES) \
    "apiVersion: controlplane.antrea.io/v1beta2\nkind: NetworkPolicy\n" \
    "metadata: {name: p}\nsourceRef: {type: " TYPE ", namespace: d, " \
    "name: p, uid: u}\ntierPriority: 250\npriority: 3\n" \
    "rules: [" RULES "]\n"
#define NOBODY "{\"addressGroups\":[],\"ipBlocks\":[]}"
#define IN(ACTION, PRIORITY) "{\"action\":\"" ACTION "\"," \
    "\"direction\":\"In\",\"from\":" NOBODY PRIORITY "}\n"

    expect_rules(CP_RULES("AntreaNetworkPolicy",
                          "{direction: In, action: Drop}, "
                          "{direction: In, action: Drop}, "
                          "{direction: In, action: Allow, priority: 1}, "
                          "{direction: In, action: Pass, priority: 3}, "
                          "{direction: Out, action: Allow}"), "Antrea",
                 IN("Drop", "") IN("Drop", ",\"priority\":0")
                 IN("Allow", ",\"priority\":1") IN("Pass", "")
                 "{\"action\":\"Allow\",\"direction\":\"Out\",\"to\":"
                 NOBODY "}\n");
    /* Who writes down none at all means their order. */
    expect_rules(CP_RULES("AntreaNetworkPolicy",
                          "{direction: In, action: Drop}, "
                          "{direction: In, action: Pass}"), "Antrea",
                 IN("Drop", "") IN("Pass", ""));
}
END_TEST

START_TEST(igmp)
{
    expect_rules(ACNP("{priority: 1, appliedTo: [{podSelector: {matchLabels: "
                      "{app: client}}}], egress: [{action: Drop, protocols: "
                      "[{igmp: {igmpType: 0x16, groupAddress: 239.1.1.1}}, "
                      "{igmp: {}}]}]}"),
                 "Antrea",
                 "{\"action\":\"Drop\",\"direction\":\"Out\",\"services\":"
                 "[{\"groupAddress\":\"239.1.1.1\",\"igmpType\":22,"
                 "\"protocol\":\"IGMP\"},{\"protocol\":\"IGMP\"}]}\n");
}
END_TEST

START_TEST(names)
{
    expect_rules(ACNP("{priority: 1, appliedTo: [{podSelector: {matchLabels: "
                      "{app: client}}}], egress: [{action: Allow, to: "
                      "[{fqdn: '*.B'}, {fqdn: a.b}, {fqdn: '*.b.'}]}]}"),
                 "Antrea",
                 "{\"action\":\"Allow\",\"direction\":\"Out\",\"to\":"
                 "{\"addressGroups\":[],\"fqdns\":[\"*.b\",\"a.b\"]}}\n");
}
END_TEST

START_TEST(services_and_source_ports)
{
    expect_rules(ACNP("{priority: 1, appliedTo: [{podSelector: {matchLabels: "
                      "{app: client}}}], egress: [{action: Drop, toServices: "
                      "[{name: s, namespace: x}, {name: s, namespace: x}]}, "
                      "{action: Allow, ports: [{protocol: UDP, sourcePort: "
                      "67, sourceEndPort: 68}]}]}"), "Antrea",
                 "{\"action\":\"Drop\",\"direction\":\"Out\",\"to\":"
                 "{\"addressGroups\":[],\"toServices\":[\"x/s\"]}}\n"
                 "{\"action\":\"Allow\",\"direction\":\"Out\",\"services\":"
                 "[{\"protocol\":\"UDP\",\"srcEndPort\":68,"
                 "\"srcPort\":67}]}\n");
}
END_TEST

/* Whether there are such Services is for the daemon to know. */
START_TEST(applied_to_services)
{
    expect_records(ACNP("{priority: 5, appliedTo: [" SVC ", " SVC "], "
                        "ingress: [{action: Drop, from: [{ipBlock: {cidr: "
                        "1.1.1.0/24}}]}]}"), "NetworkPolicy",
                   "kind: NetworkPolicy\n"
                   "name: AntreaClusterNetworkPolicy:p\n"
                   "appliedToServices:\n- x/s\npriority: 5\n"
                   "rules:\n- action: Drop\n  direction: In\n"
                   "  from:\n    addressGroups: []\n    ipBlocks:\n"
                   "    - cidr: 1.1.1.0/24\n"
                   "tierPriority: 250\ntype: AntreaClusterNetworkPolicy\n");
    expect_rules(ACNP("{priority: 5, ingress: [{action: Reject, appliedTo: ["
                      SVC "]}, {action: Pass, appliedTo: [{podSelector: "
                      "{matchLabels: {app: none}}}]}]}"), "Antrea",
                 "{\"action\":\"Reject\",\"appliedToServices\":[\"x/s\"],"
                 "\"direction\":\"In\"}\n"
                 "{\"action\":\"Pass\",\"appliedToGroups\":[\"*/app=none\"],"
                 "\"direction\":\"In\"}\n");
}
END_TEST

/* A policy that names no namespace may name the default one elsewhere. */
START_TEST(default_namespace)
{
    expect_rules("apiVersion: crd.antrea.io/v1beta1\nkind: NetworkPolicy\n"
                 "metadata: {name: p}\nspec: {priority: 1, appliedTo: "
                 "[{podSelector: {}}, {serviceAccount: {name: a, namespace: "
                 "default}}], ingress: [{action: Drop}]}\n", "Antrea",
                 "{\"action\":\"Drop\",\"direction\":\"In\"}\n");
}
END_TEST

/* A rule for each Namespace that it is applied to here. */
START_TEST(own_namespace)
{
    expect_rules(ACNP("{priority: 1, appliedTo: [{podSelector: {matchLabels: "
                      "{app: client}}}], ingress: [{action: Allow, from: "
                      "[{namespaces: {match: Self}}]}]}"), "Antrea",
                 "{\"action\":\"Allow\",\"appliedToGroups\":"
                 "[\"*/app=client (in default)\"],\"direction\":\"In\","
                 "\"from\":{\"addressGroups\":[\"default/*\"]}}\n");
}
END_TEST

#define ANP(SPEC) \
    "apiVersion: policy.networking.k8s.io/v1alpha1\n" \
    "kind: AdminNetworkPolicy\nmetadata: {name: a}\nspec: " SPEC "\n"
#define BANP(NAME, SPEC) \
    "apiVersion: policy.networking.k8s.io/v1alpha1\n" \
    "kind: BaselineAdminNetworkPolicy\nmetadata: {name: " NAME "}\n" \
    "spec: " SPEC "\n"

START_TEST(admin_policies)
{
    expect_records(ANP("{priority: 0, subject: {namespaces: {}}, egress: "
                       "[{name: e, action: Deny, to: [{networks: "
                       "[198.51.100.0/24, 203.0.113.0/24]}], ports: "
                       "[{portRange: {start: 5, end: 9}}]}, {action: Pass, "
                       "to: [{networks: [192.0.2.0/24]}]}]}"),
                   "NetworkPolicy",
                   "kind: NetworkPolicy\nname: AdminNetworkPolicy:a\n"
                   "appliedToGroups:\n- '*/*'\npriority: 0\nrules:\n"
                   "- name: e\n  action: Drop\n  direction: Out\n"
                   "  services:\n  - endPort: 9\n    port: 5\n"
                   "    protocol: TCP\n"
                   "  to:\n    addressGroups: []\n    ipBlocks:\n"
                   "    - cidr: 198.51.100.0/24\n"
                   "    - cidr: 203.0.113.0/24\n"
                   "- action: Pass\n  direction: Out\n"
                   "  to:\n    addressGroups: []\n    ipBlocks:\n"
                   "    - cidr: 192.0.2.0/24\n"
                   "tierPriority: 251\ntype: AdminNetworkPolicy\n");
}
END_TEST

#define P "f, document 1 (line 1): ClusterNetworkPolicy p: spec."
#define A "f, document 1 (line 1): AdminNetworkPolicy a: spec."
#define N "f, document 1 (line 1): NetworkPolicy x/p: spec."
#define ANNP(SPEC) "apiVersion: crd.antrea.io/v1beta1\nkind: NetworkPolicy\n" \
    "metadata: {name: p, namespace: x}\nspec: " SPEC "\n"
#define APPLIED "{priority: 1, appliedTo: [{podSelector: {}}], "

/* What is refused, and how. */
static const struct {
    const char *text;
    const char *error;
} refused[] = {
    { SERVICE("{ports: [{port: http}]}"),
      "f, document 1 (line 1): Service default/s: spec.ports[0].port: must be "
      "an integer from 1 to 65535, not \"http\"" },
    { "apiVersion: v1\nkind: Service\nmetadata: {name: s, nmespace: x}\n"
      "spec: {}\n",
      "f, document 1 (line 1): Service default/s: metadata.nmespace: unknown "
      "field; did you mean namespace?" },
    { SERVICE("{port: 80}"),
      "f, document 1 (line 1): Service default/s: spec.port: unknown field; "
      "did you mean ports?" },
    { SERVICE("{loadBalancerSourceRanges: [10.0.0.1]}"),
      "f, document 1 (line 1): Service default/s: "
      "spec.loadBalancerSourceRanges[0]: must be a CIDR (ADDRESS/LENGTH), not "
      "\"10.0.0.1\"" },
    { SERVICE("{sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: "
              "{timeoutSeconds: 0}}}"),
      "f, document 1 (line 1): Service default/s: spec.sessionAffinityConfig."
      "clientIP.timeoutSeconds: must be an integer from 1 to 86400, not 0" },
    { SERVICE("{externalIPs: [1.2.3]}"),
      "f, document 1 (line 1): Service default/s: spec.externalIPs[0]: must "
      "be an IP address, not \"1.2.3\"" },
    { SERVICE("{selector: {app: 1}}"),
      "f, document 1 (line 1): Service default/s: spec.selector.app: must be "
      "a string (quote it), not 1" },
    { NP("{podSelector: {matchLabel: {a: b}}}"),
      "f, document 1 (line 1): NetworkPolicy default/p: "
      "spec.podSelector.matchLabel: unknown field; did you mean "
      "matchLabels?" },
    { NP("{podSelector: {}, ingress: [{from: [{}]}]}"),
      "f, document 1 (line 1): NetworkPolicy default/p: "
      "spec.ingress[0].from[0]: selects nothing; give a selector, an ipBlock "
      "or a group" },
    { NP("{podSelector: {}, ingress: [{ports: [{port: 9, endPort: 5}]}]}"),
      "f, document 1 (line 1): NetworkPolicy default/p: "
      "spec.ingress[0].ports[0].endPort: 5 is below port 9" },
    { NP("{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, "
         "except: [11.0.0.0/16]}}]}]}"),
      "f, document 1 (line 1): NetworkPolicy default/p: "
      "spec.ingress[0].from[0].ipBlock.except[0]: 11.0.0.0/16 is no part of "
      "10.0.0.0/8" },
    { NP("{podSelector: {matchExpressions: [{key: a, operator: In}]}}"),
      "f, document 1 (line 1): NetworkPolicy default/p: "
      "spec.podSelector.matchExpressions[0].values: operator In needs "
      "values" },
    { ACNP("{priority: 1, appliedTo: [{podSelector: {}}], ingress: "
           "[{action: Refuse}]}"),
      "f, document 1 (line 1): ClusterNetworkPolicy p: "
      "spec.ingress[0].action: must be one of Allow,Drop,Reject,Pass, not "
      "\"Refuse\"" },
    { ACNP("{priority: 1, tier: Baseline, appliedTo: [{podSelector: {}}], "
           "ingress: [{action: Reject}], egress: [{action: Drop}, "
           "{action: Pass}]}"),
      "f, document 1 (line 1): ClusterNetworkPolicy p: "
      "spec.egress[1].action: Pass has no place in the baseline tier" },
    { ACNP("{priority: 1, appliedTo: [{podSelector: {}}], ingress: "
           "[{action: allow}]}"),
      "f, document 1 (line 1): ClusterNetworkPolicy p: "
      "spec.ingress[0].action: must be one of Allow,Drop,Reject,Pass, not "
      "\"allow\"" },
    { ACNP("{priority: 1, appliedTo: [{podSelector: {}}], egress: "
           "[{action: Drop, to: [{fqdn: a_b}]}]}"),
      "f, document 1 (line 1): ClusterNetworkPolicy p: "
      "spec.egress[0].to[0].fqdn: must be a domain name, in which * may stand "
      "for any text, not \"a_b\"" },
    { ACNP("{priority: 1, appliedTo: [{podSelector: {}}], egress: "
           "[{action: Drop, to: [{fqdn: a.b, podSelector: {}}]}]}"),
      "f, document 1 (line 1): ClusterNetworkPolicy p: "
      "spec.egress[0].to[0]: selectors, ipBlock, group, fqdn, serviceAccount, "
      "service and nodeSelector exclude each other" },
    { ACNP("{priority: 1, appliedTo: [{podSelector: {}}], ingress: "
           "[{action: Drop, from: [{fqdn: a.b}]}]}"),
      "f, document 1 (line 1): ClusterNetworkPolicy p: "
      "spec.ingress[0].from[0].fqdn: is for to of an egress rule" },
    { ACNP("{priority: 1, appliedTo: [{fqdn: a.b}], ingress: "
           "[{action: Drop}]}"),
      "f, document 1 (line 1): ClusterNetworkPolicy p: "
      "spec.appliedTo[0].fqdn: unknown field" },
    { ACNP("{priority: 1, ingress: [{action: Drop}]}"),
      "f, document 1 (line 1): ClusterNetworkPolicy p: "
      "spec.ingress[0].appliedTo: is missing, and the policy has none" },
    { ACNP("{appliedTo: []}"),
      "f, document 1 (line 1): ClusterNetworkPolicy p: spec.priority: is "
      "missing" },
    { ACNP("{priority: 1, tier: none, appliedTo: [{podSelector: {}}]}"),
      "ClusterNetworkPolicy p: spec.tier: there is no Tier none" },
    { ACNP("{priority: 1, appliedTo: [{nodeSelector: {}}]}"),
      P "appliedTo[0].nodeSelector: is not supported: what a Node's own "
      "processes send and get doesn't pass the pipeline; Antrea has the "
      "Node's iptables do it" },
    { ACNP("{priority: 1, ingress: [{action: Drop, appliedTo: "
           "[{nodeSelector: {}}]}]}"),
      P "ingress[0].appliedTo[0].nodeSelector: is not supported: what a "
      "Node's own processes send and get doesn't pass the pipeline; Antrea "
      "has the Node's iptables do it" },
    { ANNP("{priority: 1, appliedTo: [{nodeSelector: {}}]}"),
      N "appliedTo[0].nodeSelector: is for ClusterNetworkPolicies" },
    { ANNP("{priority: 1, appliedTo: [" SVC "]}"),
      N "appliedTo[0].service: is for ClusterNetworkPolicies" },
    { ANNP("{priority: 1, ingress: [{action: Drop, appliedTo: [" SVC "]}]}"),
      N "ingress[0].appliedTo[0].service: is for ClusterNetworkPolicies" },
    { ACNP("{priority: 1, appliedTo: [{service: {name: s}}]}"),
      P "appliedTo[0].service.namespace: is missing" },
    { ACNP("{priority: 1, ingress: [{action: Drop, appliedTo: [{service: "
           "{name: s}}]}]}"),
      P "ingress[0].appliedTo[0].service.namespace: is missing" },
    { ACNP("{priority: 1, appliedTo: [{podSelector: {}, service: {name: s, "
           "namespace: x}}]}"),
      P "appliedTo[0]: selectors, ipBlock, group, fqdn, serviceAccount, "
      "service and nodeSelector exclude each other" },
    { ACNP("{priority: 1, appliedTo: [{podSelector: {}}, " SVC "]}"),
      P "appliedTo: Services and other peers exclude each other" },
    { ACNP("{priority: 1, ingress: [{action: Drop, appliedTo: [" SVC
           ", {group: g}]}]}"),
      P "ingress[0].appliedTo: Services and other peers exclude each other" },
    { ACNP("{priority: 1, appliedTo: [" SVC "], egress: [{action: Drop}]}"),
      P "egress[0].appliedTo: an egress rule can't be applied to Services" },
    { ACNP("{priority: 1, egress: [{action: Drop, appliedTo: [" SVC "]}]}"),
      P "egress[0].appliedTo: an egress rule can't be applied to Services" },
    { ACNP("{priority: 1, appliedTo: [" SVC "], ingress: [{action: Drop, "
           "from: [{ipBlock: {cidr: 1.1.1.0/24}}, {podSelector: {}}]}]}"),
      P "ingress[0].from[1]: a rule that is applied to Services can only use "
      "ipBlock" },
    { ACNP("{priority: 1, appliedTo: [" SVC "], ingress: [{action: Drop, "
           "ports: [{port: web}]}]}"),
      P "ingress[0].ports[0].port: a rule that is applied to Services can't "
      "use a Pod's name of a port" },
    { ACNP("{priority: 1, ingress: [{action: Allow, appliedTo: [" SVC "], "
           "l7Protocols: [{tls: {}}]}]}"),
      P "ingress[0].l7Protocols: doesn't go with a rule that is applied to "
      "Services" },
    { ACNP("{priority: 1, appliedTo: [{serviceAccount: {name: s}}]}"),
      P "appliedTo[0].serviceAccount.namespace: is missing" },
    { ACNP(APPLIED "egress: [{action: Drop, to: [{podSelector: {}, scope: "
           "ClusterSet}]}]}"),
      P "egress[0].to[0].scope: ClusterSet is not supported by this version" },
    { ACNP(APPLIED "egress: [{action: Drop, to: [{podSelector: {}, "
           "serviceAccount: {name: a, namespace: b}}]}]}"),
      P "egress[0].to[0]: selectors, ipBlock, group, fqdn, serviceAccount, "
      "service and nodeSelector exclude each other" },
    { ACNP(APPLIED "egress: [{action: Drop, to: [{namespaces: {}}]}]}"),
      P "egress[0].to[0].namespaces: needs one of match and sameLabels" },
    { ACNP(APPLIED "ingress: [{action: Drop, protocols: [{igmp: {}, icmp: "
           "{}}]}]}"),
      P "ingress[0].protocols[0]: must be either icmp or igmp" },
    { ACNP(APPLIED "ingress: [{action: Drop, protocols: [{igmp: {igmpType: "
           "256}}]}]}"),
      P "ingress[0].protocols[0].igmp.igmpType: must be an integer from 0 to "
      "255, not 256" },
    { ACNP(APPLIED "ingress: [{action: Allow, l7Protocols: [{}]}]}"),
      P "ingress[0].l7Protocols[0]: must be either http or tls" },
    { ACNP(APPLIED "ingress: [{action: Allow, l7Protocols: [{http: {}, tls: "
           "{}}]}]}"),
      P "ingress[0].l7Protocols[0]: must be either http or tls" },
    { ACNP(APPLIED "ingress: [{action: Allow, l7Protocols: [{http: {method: "
           "get}}]}]}"),
      P "ingress[0].l7Protocols[0].http.method: must be one of "
      "GET,POST,PUT,HEAD,DELETE,TRACE,OPTIONS,CONNECT,PATCH, not \"get\"" },
    { ACNP(APPLIED "ingress: [{action: Drop, l7Protocols: [{tls: {}}]}]}"),
      P "ingress[0].l7Protocols: goes with the action Allow only" },
    { ACNP(APPLIED "egress: [{action: Allow, toServices: [{name: s, "
           "namespace: x}], l7Protocols: [{tls: {}}]}]}"),
      P "egress[0].l7Protocols: doesn't go with toServices" },
    { ACNP(APPLIED "ingress: [{action: Allow, protocols: [{icmp: {}}], "
           "l7Protocols: [{tls: {}}, {http: {}}]}]}"),
      P "ingress[0].l7Protocols: http doesn't go with protocols" },
    { ACNP(APPLIED "ingress: [{action: Allow, ports: [{port: 1}, {protocol: "
           "UDP, port: 5}], l7Protocols: [{http: {}}]}]}"),
      P "ingress[0].ports[1].protocol: http in l7Protocols goes with TCP "
      "only" },
    { ACNP(APPLIED "ingress: [{action: Drop, ports: [{sourceEndPort: 5}]}]}"),
      P "ingress[0].ports[0].sourceEndPort: needs a sourcePort to go with" },
    { ACNP(APPLIED "egress: [{action: Drop, toServices: [{name: s, namespace: "
           "x}], ports: [{port: 5}]}]}"),
      P "egress[0].toServices: excludes ports" },
    { ACNP(APPLIED "egress: [{action: Drop, toServices: [{name: s}]}]}"),
      P "egress[0].toServices[0].namespace: is missing" },
    { ACNP(APPLIED "ingress: [{action: Drop, toServices: [{name: s, "
           "namespace: x}]}]}"),
      P "ingress[0].toServices: has no place in an ingress rule" },
    { "apiVersion: crd.antrea.io/v1beta1\nkind: NetworkPolicy\n"
      "metadata: {name: p, namespace: x}\nspec: " APPLIED
      "egress: [{action: Drop, to: [{namespaces: {match: Self}}]}]}\n",
      "f, document 1 (line 1): NetworkPolicy x/p: spec.egress[0].to[0]."
      "namespaces: is for ClusterNetworkPolicies" },
    { "apiVersion: crd.antrea.io/v1beta1\nkind: NetworkPolicy\n"
      "metadata: {name: p, namespace: x}\nspec: {priority: 1, appliedTo: "
      "[{serviceAccount: {name: a, namespace: y}}]}\n",
      "f, document 1 (line 1): NetworkPolicy x/p: spec.appliedTo[0]."
      "serviceAccount.namespace: must be that of the policy" },
    { "apiVersion: crd.antrea.io/v1beta1\nkind: NetworkPolicy\n"
      "metadata: {name: p}\nspec: {priority: 1, appliedTo: "
      "[{serviceAccount: {name: a, namespace: y}}]}\n",
      "f, document 1 (line 1): NetworkPolicy default/p: spec.appliedTo[0]."
      "serviceAccount.namespace: must be that of the policy" },
    { "apiVersion: crd.antrea.io/v1beta1\nkind: NetworkPolicy\n"
      "metadata: {name: p}\nspec: {priority: 1, appliedTo: "
      "[{podSelector: {}}, {namespaceSelector: {}}]}\n",
      "f, document 1 (line 1): NetworkPolicy default/p: spec.appliedTo[1]."
      "namespaceSelector: is for ClusterNetworkPolicies" },
    { "apiVersion: crd.antrea.io/v1beta1\nkind: NetworkPolicy\n"
      "metadata: {name: p, namespace: x}\nspec: {priority: 1, ingress: "
      "[{action: Drop, appliedTo: [{namespaceSelector: {}}]}]}\n",
      "f, document 1 (line 1): NetworkPolicy x/p: spec.ingress[0].appliedTo[0]."
      "namespaceSelector: is for ClusterNetworkPolicies" },
    { ANP("{priority: 1001, subject: {namespaces: {}}}"),
      A "priority: must be an integer from 0 to 1000, not 1001" },
    { ANP("{priority: 1, subject: {}}"),
      A "subject.namespaces: must be the only one of namespaces and pods" },
    { ANP("{priority: 1, subject: {namespaces: {}}, ingress: [{action: Deny, "
          "from: []}]}"), A "ingress[0].from: must name a peer" },
    { ANP("{priority: 1, subject: {namespaces: {}}, egress: [{action: Deny, "
          "to: [{domainNames: [a.b]}]}]}"),
      A "egress[0].to[0].domainNames: is not supported by this version" },
    { ANP("{priority: 1, subject: {namespaces: {}}, egress: [{action: Deny, "
          "to: [{nodes: {}}], ports: [{portRange: {start: 5, end: 4}}]}]}"),
      A "egress[0].ports[0].portRange.end: 4 is below start 5" },
    { ANP("{priority: 0, subject: {namespaces: {}}, egress: [{action: Allow, "
          "to: [{networks: []}]}]}"),
      A "egress[0].to[0].networks: must name a network" },
    { BANP("b", "{subject: {namespaces: {}}}"),
      "f, document 1 (line 1): BaselineAdminNetworkPolicy b: metadata.name: "
      "must be \"default\", not \"b\": there is only one" },
    { BANP("default", "{subject: {namespaces: {}}, ingress: [{action: Pass, "
           "from: [{namespaces: {}}]}]}"),
      "f, document 1 (line 1): BaselineAdminNetworkPolicy default: "
      "spec.ingress[0].action: must be one of Allow,Deny, not \"Pass\"" },
    { EGRESS("{egressIP: 192.0.2.1}"),
      "f, document 1 (line 1): Egress e: spec.appliedTo: is missing" },
    { EGRESS("{egressIP: 192.0.2.1, appliedTo: {}}"),
      "f, document 1 (line 1): Egress e: spec.appliedTo: selects nothing; "
      "give a selector or a group" },
    { EGRESS("{egressIP: 192.0.2, appliedTo: {podSelector: {}}}"),
      "f, document 1 (line 1): Egress e: spec.egressIP: must be an IP "
      "address, not \"192.0.2\"" },
    { EGRESS("{egressIP: 192.0.2.1, appliedTo: {podSelector: {}}, "
             "bandwidth: {rate: 10M}}"),
      "f, document 1 (line 1): Egress e: spec.bandwidth.burst: is missing" },
#define BANDWIDTH(RATE, BURST) \
    EGRESS("{egressIP: 192.0.2.1, appliedTo: {podSelector: {}}, " \
           "bandwidth: {rate: " RATE ", burst: " BURST "}}")
    { BANDWIDTH("10Q", "1M"),
      "f, document 1 (line 1): Egress e: spec.bandwidth.rate: must be a "
      "quantity, such as \"500M\", not \"10Q\"" },
    { BANDWIDTH("10M", "11k"),
      "f, document 1 (line 1): Egress e: spec.bandwidth.burst: must be from "
      "12k to 4294967295k bits, not \"11k\"" },
    { BANDWIDTH("5T", "1M"),
      "f, document 1 (line 1): Egress e: spec.bandwidth.rate: must be from "
      "1k to 4294967295k bits, not \"5T\"" },
    { TC("{appliedTo: {podSelector: {}}, direction: Out, action: Mirror, "
         "targetPort: {device: {name: t}}}"),
      "f, document 1 (line 1): TrafficControl t: spec.direction: must be one "
      "of Ingress,Egress,Both, not \"Out\"" },
    { TC("{appliedTo: {podSelector: {}}, direction: Both, action: Mirror, "
         "targetPort: {vxlan: {remoteIP: 192.0.2.1}}}"),
      "f, document 1 (line 1): TrafficControl t: spec.targetPort.vxlan: is "
      "not supported by this version" },
    { TC("{appliedTo: {podSelector: {}}, direction: Both, action: Mirror, "
         "targetPort: {device: {name: t}, ovsInternal: {name: u}}}"),
      "f, document 1 (line 1): TrafficControl t: spec.targetPort: must be "
      "either ovsInternal or device" },
    { TC("{appliedTo: {podSelector: {}}, direction: Both, action: Mirror, "
         "targetPort: {}}"),
      "f, document 1 (line 1): TrafficControl t: spec.targetPort: must be "
      "either ovsInternal or device" },
    { TC("{appliedTo: {podSelector: {}}, direction: Both, action: Redirect, "
         "targetPort: {device: {name: t}}}"),
      "f, document 1 (line 1): TrafficControl t: spec.returnPort: is missing: "
      "what is redirected must come back" },
    { TC("{appliedTo: {podSelector: {}}, direction: Both, action: Mirror, "
         "targetPort: {device: {name: t}}, "
         "returnPort: {device: {name: u}}}"),
      "f, document 1 (line 1): TrafficControl t: spec.returnPort: goes with "
      "the action Redirect only" },
    { "a: 1\n---\napiVersion: apps/v1\nkind: Deployment\n",
      "f, document 1 (line 1): kind: is missing" },
    { "---\n---\napiVersion: apps/v1\nkind: Deployment\n"
      "metadata: {name: d}\n",
      "f, document 2 (line 3): Deployment d: kind Deployment is not known" },
    { "apiVersion: networking.k8s.io/v9\nkind: NetworkPolicy\n"
      "metadata: {name: d}\n",
      "f, document 1 (line 1): NetworkPolicy d: apiVersion "
      "networking.k8s.io/v9 is not known" },
    { "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, "
      "metadata: {}}]\n",
      "f, document 1 (line 1), items[0]: Pod default/?: metadata.name: is "
      "missing" },
    { "apiVersion: v1\nkind: Namespace\nmetadata: {name: Bad/Name}\n",
      "f, document 1 (line 1): Namespace Bad/Name: metadata.name: "
      "\"Bad/Name\" is no name: it must consist of a-z, 0-9, '-' and '.'" },
    { "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod}\n",
      "f, document 1 (line 1): Namespace prod: given twice, also in f, "
      "document 8 (line 43)" },
    { "just text\n", "f, document 1 (line 1): must be an object, not a "
      "string" },
    { "{\"kind\": \"Pod\"}", "f, document 1 (line 1): Pod: name: is "
      "missing" },
    { "{\"kind\": \"Pot\", \"name\": \"x\"}",
      "f, document 1 (line 1): Pot: is no kind of record" },
};

START_TEST(refusal)
{
    char *got = dpctl_given_resolve(dpctl_given_cluster, refused[_i].text, "");

    ck_assert_str_eq(got, refused[_i].error);
    free(got);
}
END_TEST

START_TEST(samples)
{
    const char *top = getenv("ADP_TOP");
    struct json *state = json_array_create_empty();
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;
    struct dpctl_docs expected = DPCTL_DOCS_INITIALIZER;
    struct dpctl_input input;
    struct dpctl_ports ports;
    struct dpctl_env env = { .node = "k8s-node-control-plane",
                             .ports = &ports };
    struct dpctl_plan plan;
    static const char *const files[] = { "samples", "cluster", "records" };

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        char *path = xasprintf("%s/tests/dpctl/%s.yaml", top ? top : ".",
                               files[i]);
        ck_assert_ptr_null(dpctl_load_path(i < 2 ? &docs : &expected, path));
        free(path);
    }
    dpctl_input_init(&input);
    dpctl_ports_init(&ports);
    ports.annotated = true;
    ck_assert_ptr_null(dpctl_input_add(&input, &docs, "default", false));
    ck_assert_ptr_null(dpctl_plan_create(DPCTL_APPLY, &input, state, &env,
                                         false, &plan));

    const struct json_array *records = json_array(expected.docs[0].json);
    size_t n = 0;
    for (size_t i = 0; i < json_array(plan.apply)->n; i++) {
        const struct json *got = json_array(plan.apply)->elems[i];
        if (strcmp(dpctl_json_str(got, "kind"), "Manifest")) {
            char *a = json_to_string(got, JSSF_SORT);
            char *b = (n < records->n
                       ? json_to_string(records->elems[n], JSSF_SORT)
                       : xstrdup("nothing"));
            ck_assert_str_eq(a, b);
            free(a);
            free(b);
            n++;
        }
    }
    ck_assert_int_eq(n, records->n);
    dpctl_plan_destroy(&plan);
    dpctl_input_destroy(&input);
    dpctl_ports_destroy(&ports);
    dpctl_docs_destroy(&docs);
    dpctl_docs_destroy(&expected);
    json_destroy(state);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl");
    TCase *tc = tcase_create("resolve");
    tcase_add_test(tc, node_and_pods);
    tcase_add_test(tc, pod_without_port);
    tcase_add_test(tc, service_endpoints_from_pods);
    tcase_add_test(tc, service_forms);
    tcase_add_test(tc, service_endpoints_from_slices);
    tcase_add_test(tc, service_endpoints_object);
    tcase_add_test(tc, k8s_policy_defaults);
    tcase_add_test(tc, k8s_policy_elsewhere);
    tcase_add_test(tc, k8s_policy_groups);
    tcase_add_test(tc, group_address_order);
    tcase_add_test(tc, named_ports);
    tcase_add_test(tc, egress_bandwidth);
    tcase_add_test(tc, antrea_policy);
    tcase_add_test(tc, l7_rule);
    tcase_add_test(tc, antrea_policy_tier_and_group);
    tcase_add_test(tc, igmp);
    tcase_add_test(tc, names);
    tcase_add_test(tc, services_and_source_ports);
    tcase_add_test(tc, applied_to_services);
    tcase_add_test(tc, default_namespace);
    tcase_add_test(tc, own_namespace);
    tcase_add_test(tc, admin_policies);
    tcase_add_test(tc, controlplane_objects);
    tcase_add_test(tc, controlplane_priorities);
    tcase_add_test(tc, samples);
    tcase_add_loop_test(tc, refusal, 0, ARRAY_SIZE(refused));
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

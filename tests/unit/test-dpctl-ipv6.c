/* SPDX-License-Identifier: Apache-2.0 */

/* Objects with IPv6 addresses, alone and beside those of IPv4. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-given.h"
#include "dpctl-json.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "svec.h"
#include "test-run.h"
#include "util.h"

#define NODE(NAME, CIDRS, ADDRESSES) \
    "apiVersion: v1\nkind: Node\nmetadata: {name: " NAME ", annotations: " \
    "{node.antrea.io/mac-address: '0a:00:00:00:00:01'}}\n" \
    "spec: {podCIDRs: [" CIDRS "]}\n" \
    "status: {addresses: [" ADDRESSES "]}\n"
#define IP(ADDRESS) "{type: InternalIP, address: '" ADDRESS "'}"
#define POD(NAME, IPS) \
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " NAME ", labels: " \
    "{app: " NAME "}, annotations: {antrea-dp.io/port: p-" NAME ", " \
    "antrea-dp.io/mac: '0a:00:00:00:00:02'}}\n" \
    "spec: {nodeName: node1}\nstatus: {podIPs: [" IPS "]}\n"

static const char dual[] =
    NODE("node1", "'fd00:1::/64', 10.1.0.0/24",
         IP("fd77::1") ", " IP("192.0.2.1"))
    POD("web", "{ip: 10.1.0.2}, {ip: 'FD00:1:0::2'}")
    POD("client", "{ip: 'fd00:1::3'}, {ip: 10.1.0.3}");

static void
expect(const char *given, const char *text, const char *key,
       const char *expected)
{
    char *got = dpctl_given_resolve(given, text, key);

    ck_assert_str_eq(got, expected);
    free(got);
}

START_TEST(addresses)
{
    static const struct {
        const char *given, *text, *network, *first;
    } cases[] = {
        { "10.1.0.0", "10.1.0.0", "10.1.0.0/24", "10.1.0.1" },
        { "0.0.0.0", "0.0.0.0", "0.0.0.0/24", "0.0.0.1" },
        { "FD00:0::1:0", "fd00::1:0", "fd00::/24", "fd00::1" },
        { "::ffff:10.0.0.1", "10.0.0.1", "::/24", "::1" },
        { "::", "::", "::/24", "::1" },
        { "fd00:::1", NULL, NULL, NULL },
        { "10.1.x.0", NULL, NULL, NULL },
        { "", NULL, NULL, NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *cidr = xasprintf("%s/24", cases[i].given);
        char *got[] = {
            dpctl_address_text(cases[i].given), dpctl_network_text(cidr),
            dpctl_network_first(cidr),
        };
        const char *expected[] = {
            cases[i].text, cases[i].network, cases[i].first
        };

        for (size_t j = 0; j < ARRAY_SIZE(got); j++) {
            ck_assert_str_eq(got[j] ? got[j] : "none",
                             expected[j] ? expected[j] : "none");
            free(got[j]);
        }
        free(cidr);
    }
    ck_assert_ptr_null(dpctl_address_text(NULL));

    struct svec words = SVEC_EMPTY_INITIALIZER;
    dpctl_address_words("fd00::2, 10.0.0.1,fd00:0::2 x", &words);
    dpctl_address_words(NULL, &words);
    ck_assert_uint_eq(words.n, 2);
    ck_assert_str_eq(words.names[0], "fd00::2");
    ck_assert_str_eq(words.names[1], "10.0.0.1");
    svec_destroy(&words);
}
END_TEST

START_TEST(nodes)
{
    expect(dual, NODE("node2", "'fd00:2::/64'", IP("FD77:0::2")),
           "PeerNode", "kind: PeerNode\nname: node2\ngatewayIP: fd00:2::1\n"
           "podCIDR: fd00:2::/64\ntransportIP: fd77::2\n");
    expect(dual, NODE("node2", "10.1.1.0/24, 'fd00:2::/64'", IP("192.0.2.2")),
           "PeerNode", "kind: PeerNode\nname: node2\n"
           "gatewayIP:\n- 10.1.1.1\n- fd00:2::1\n"
           "podCIDR:\n- 10.1.1.0/24\n- fd00:2::/64\n"
           "transportIP: 192.0.2.2\n");
    expect(dual, NODE("node2", "10.1.1.0/24, 'fd00:2::/64'",
                      IP("192.0.2.2") ", " IP("fd77::2")),
           "PeerNode", "kind: PeerNode\nname: node2\n"
           "gatewayIP:\n- 10.1.1.1\n- fd00:2::1\n"
           "nodeIPs:\n- 192.0.2.2\n- fd77::2\n"
           "podCIDR:\n- 10.1.1.0/24\n- fd00:2::/64\n"
           "transportIP: 192.0.2.2\n");
#define CONFIG(IP_, CIDR, REST) \
    "kind: NodeConfig\nname: node1\ngateway:\n  ip:" IP_ \
    "\n  mac: 0a:00:00:00:00:01\n  port: antrea-gw0\n" \
    "nodePortAddresses:\n- 192.0.2.1\n- fd77::1\npodCIDR:" CIDR "\n" REST \
    "transportIP: 192.0.2.1\n"
    expect(dual, "", "NodeConfig",
           CONFIG("\n  - 10.1.0.1\n  - fd00:1::1",
                  "\n- 10.1.0.0/24\n- fd00:1::/64", ""));
    /* A Node of one family has its NodePorts at addresses of that. */
    expect(NODE("node1", "'fd00:1::/64'", IP("192.0.2.1") ", " IP("fd77::1")),
           "", "NodeConfig",
           "kind: NodeConfig\nname: node1\ngateway:\n  ip: fd00:1::1\n"
           "  mac: 0a:00:00:00:00:01\n  port: antrea-gw0\n"
           "nodePortAddresses:\n- fd77::1\npodCIDR: fd00:1::/64\n"
           "transportIP: 192.0.2.1\n");
    expect(NODE("node1", "10.1.0.0/24", IP("fd77::1") ", " IP("192.0.2.1")),
           "", "NodeConfig",
           "kind: NodeConfig\nname: node1\ngateway:\n  ip: 10.1.0.1\n"
           "  mac: 0a:00:00:00:00:01\n  port: antrea-gw0\n"
           "podCIDR: 10.1.0.0/24\ntransportIP: 192.0.2.1\n");
    expect(NODE("node1", "", IP("192.0.2.1")), "", "",
           "Node node1: spec.podCIDR: no Pod CIDR");
    expect(NODE("node1", "'fd00:1::/64'", ""), "", "",
           "Node node1: status.addresses: no address of type InternalIP "
           "or ExternalIP");
}
END_TEST

/* Of a Node without an InternalIP, whatever the families. */
START_TEST(external_addresses)
{
#define OUTER(TEXT) "{type: ExternalIP, address: '" TEXT "'}"
#define AS_PEER(IP_) "kind: PeerNode\nname: node2\ngatewayIP: 10.1.1.1\n" \
    "podCIDR: 10.1.1.0/24\ntransportIP: " IP_ "\n"
    expect(dual, NODE("node2", "10.1.1.0/24", OUTER("203.0.113.5")),
           "PeerNode", AS_PEER("203.0.113.5"));
    expect(dual, NODE("node2", "10.1.1.0/24",
                      OUTER("203.0.113.5") ", " IP("192.0.2.2")),
           "PeerNode", AS_PEER("192.0.2.2"));
    expect(dual, NODE("node2", "10.1.1.0/24",
                      OUTER("203.0.113.5") ", " IP("fd77::2")),
           "PeerNode", AS_PEER("fd77::2"));
}
END_TEST

/* The NodeConfig that 'text' makes of 'old', as JSON. */
static char *
node_config(const char *old, const char *text)
{
    struct json *nothing = json_array_create_empty();
    struct dpctl_given_plan first
        = dpctl_given_plan(DPCTL_APPLY, nothing, old, NULL);
    ck_assert_msg(!first.error, "%s", first.error);
    struct dpctl_given_plan next
        = dpctl_given_plan(DPCTL_APPLY, first.plan.apply, text, NULL);
    ck_assert_msg(!next.error, "%s", next.error);

    char *got = NULL;
    for (size_t i = 0; i < json_array(next.plan.apply)->n; i++) {
        const struct json *record = json_array(next.plan.apply)->elems[i];
        if (!strcmp(dpctl_json_str(record, "kind"), "NodeConfig")) {
            got = json_to_string(dpctl_json_member(record,
                                                   "nodePortAddresses"), 0);
        }
    }
    dpctl_plan_destroy(&next.plan);
    dpctl_plan_destroy(&first.plan);
    json_destroy(nothing);
    return got ? got : xstrdup("unchanged");
}

START_TEST(node_port_addresses)
{
    static const char moved[]
        = NODE("node1", "'fd00:1::/64', 10.1.0.0/24",
               IP("fd77::9") ", " IP("192.0.2.1"));
    static const char by_hand[]
        = "---\nkind: NodeConfig\nname: node1\n"
          "gateway: {ip: [10.1.0.1, 'fd00:1::1'], port: antrea-gw0, "
          "mac: '0a:00:00:00:00:01'}\n"
          "nodePortAddresses: [192.0.2.7]\n"
          "podCIDR: [10.1.0.0/24, 'fd00:1::/64']\n"
          "transportIP: 192.0.2.1\n";

    /* They move with the Node, unless somebody said which they are. */
    char *got = node_config(dual, moved);
    ck_assert_str_eq(got, "[\"192.0.2.1\",\"fd77::9\"]");
    free(got);

    char *text = xasprintf("%s%s", dual, by_hand);
    got = node_config(text, moved);
    ck_assert_str_eq(got, "unchanged");
    free(got);
    free(text);
}
END_TEST

START_TEST(pods)
{
    expect(dual, "", "Pod",
           "kind: Pod\nname: default/client\nips:\n- fd00:1::3\n- 10.1.0.3\n"
           "mac: 0a:00:00:00:00:02\nport: p-client\n"
           "kind: Pod\nname: default/web\nips:\n- 10.1.0.2\n- fd00:1::2\n"
           "mac: 0a:00:00:00:00:02\nport: p-web\n");
}
END_TEST

#define SERVICE(SPEC) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: " SPEC "\n"
#define RECORD "kind: Service\nname: default/s\n"
#define PORT "  port: 80\n  protocol: TCP\n"
#define LOCAL(IP_) "  - ip: " IP_ "\n    local: true\n    port: 80\n"

START_TEST(services)
{
    expect(dual, SERVICE("{clusterIP: 'FD00:96::0:1', clusterIPs: "
                         "['fd00:96::1', 10.96.0.1], selector: {app: web}, "
                         "ports: [{port: 80}]}"), "Service",
           RECORD "clusterIP:\n- 10.96.0.1\n- fd00:96::1\nports:\n"
           "- endpoints:\n" LOCAL("10.1.0.2") LOCAL("fd00:1::2") PORT);
    /* The Pods' addresses of the Service's families. */
    expect(dual, SERVICE("{clusterIP: 'fd00:96::1', selector: {app: web}, "
                         "externalIPs: [192.0.2.9, '2001:DB8::1'], "
                         "ports: [{port: 80}]}"), "Service",
           RECORD "clusterIP: fd00:96::1\nexternalIPs:\n- 2001:db8::1\n"
           "ports:\n- endpoints:\n" LOCAL("fd00:1::2") PORT);
    expect(dual, SERVICE("{clusterIP: 10.96.0.1, selector: {app: web}, "
                         "ports: [{port: 80}]}"), "Service",
           RECORD "clusterIP: 10.96.0.1\n"
           "ports:\n- endpoints:\n" LOCAL("10.1.0.2") PORT);
    expect(dual, SERVICE("{ipFamilies: [IPv6], selector: {app: web}, "
                         "type: NodePort, ports: [{port: 80, "
                         "nodePort: 30080}]}"), "Service",
           RECORD "ports:\n- endpoints:\n" LOCAL("fd00:1::2")
           "  nodePort: 30080\n" PORT);
    expect(dual, SERVICE("{selector: {app: web}, type: NodePort, "
                         "ports: [{port: 80, nodePort: 30080}]}"), "Service",
           RECORD "ports:\n- endpoints:\n" LOCAL("10.1.0.2")
           LOCAL("fd00:1::2") "  nodePort: 30080\n" PORT);
    /* A load balancer's. */
    expect(dual, SERVICE("{clusterIPs: [10.96.0.1, 'fd00:96::1'], "
                         "type: LoadBalancer, ports: [{port: 80}], "
                         "loadBalancerSourceRanges: ['fd00:5::1/32', "
                         "10.9.8.7/8]}\nstatus: {loadBalancer: {ingress: "
                         "[{ip: '2001:db8::2'}, {ip: 192.0.2.9}]}}"),
           "Service",
           RECORD "clusterIP:\n- 10.96.0.1\n- fd00:96::1\n"
           "loadBalancerIPs:\n- 192.0.2.9\n- 2001:db8::2\n"
           "loadBalancerSourceRanges:\n- 10.0.0.0/8\n- fd00:5::/32\n"
           "ports:\n- endpoints: []\n" PORT);
}
END_TEST

#define SLICE(NAME, TYPE, ENDPOINTS) \
    "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n" \
    "metadata: {name: " NAME ", labels: {kubernetes.io/service-name: s}}\n" \
    "addressType: " TYPE "\nports: [{port: 80}]\n" \
    "endpoints: [" ENDPOINTS "]\n"
#define HINT(ZONE) ", hints: {forZones: [{name: " ZONE "}]}"

START_TEST(slices)
{
    static const char both[] = SERVICE("{clusterIPs: [10.96.0.1, "
                                       "'fd00:96::1'], ports: [{port: 80}]}");
    char *text = xasprintf("%s%s", both,
                           SLICE("s-4", "IPv4", "{addresses: [10.1.0.3]}")
                           SLICE("s-6", "IPv6",
                                 "{addresses: ['fd00:1:0::3']}, "
                                 "{addresses: ['fd00:2::4'], "
                                 "nodeName: node2}"));
    expect(dual, text, "Service",
           RECORD "clusterIP:\n- 10.96.0.1\n- fd00:96::1\nports:\n"
           "- endpoints:\n" LOCAL("10.1.0.3") LOCAL("fd00:1::3")
           "  - ip: fd00:2::4\n    port: 80\n" PORT);
    free(text);

    /* Whether hints are followed is for each family. */
    text = xasprintf("apiVersion: v1\nkind: Node\nmetadata: {name: node1, "
                     "labels: {topology.kubernetes.io/zone: a}, "
                     "annotations: {node.antrea.io/mac-address: "
                     "'0a:00:00:00:00:01'}}\nspec: {podCIDR: 10.1.0.0/24}\n"
                     "status: {addresses: [" IP("192.0.2.1") "]}\n---\n%s%s",
                     both,
                     SLICE("s-4", "IPv4", "{addresses: [10.1.1.3]}, "
                           "{addresses: [10.1.1.4]" HINT("a") "}")
                     SLICE("s-6", "IPv6",
                           "{addresses: ['fd00:2::3']" HINT("b") "}, "
                           "{addresses: ['fd00:2::4']" HINT("a") "}"));
    expect("", text, "Service",
           RECORD "clusterIP:\n- 10.96.0.1\n- fd00:96::1\nports:\n"
           "- endpoints:\n  - ip: 10.1.1.3\n    port: 80\n"
           "  - ip: 10.1.1.4\n    port: 80\n"
           "  - ip: fd00:2::4\n    port: 80\n" PORT);
    free(text);
}
END_TEST

#define NP(SPEC) \
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: p}\nspec: " SPEC "\n"
#define NP_RECORD "kind: NetworkPolicy\nname: K8sNetworkPolicy:default/p\n" \
    "appliedToGroups:\n- default/app=web\nrules:\n"
#define NP_END "type: K8sNetworkPolicy\n"

START_TEST(policies)
{
    expect(dual, NP("{podSelector: {matchLabels: {app: web}}, ingress: "
                    "[{from: [{podSelector: {}}, {ipBlock: {cidr: "
                    "'fd00:5::1/32', except: ['fd00:5:1::/48']}}]}]}"),
           "Address", "kind: AddressGroup\nname: default/*\naddresses:\n"
           "- 10.1.0.2\n- 10.1.0.3\n- fd00:1::2\n- fd00:1::3\n");
    expect(dual, NP("{podSelector: {matchLabels: {app: web}}, ingress: "
                    "[{from: [{ipBlock: {cidr: "
                    "'fd00:5::1/32', except: ['FD00:5:1::/48']}}]}]}"),
           "Network", NP_RECORD "- action: Allow\n  direction: In\n  from:\n"
           "    addressGroups: []\n    ipBlocks:\n    - cidr: fd00:5::/32\n"
           "      except:\n      - fd00:5:1::/48\n" NP_END);
    /* Anybody, in the Node's families. */
    expect(dual, NP("{podSelector: {matchLabels: {app: web}}, "
                    "ingress: [{}]}"), "Network",
           NP_RECORD "- action: Allow\n  direction: In\n  from:\n"
           "    ipBlocks:\n    - cidr: 0.0.0.0/0\n    - cidr: ::/0\n" NP_END);
}
END_TEST

START_TEST(controlplane)
{
#define CP "apiVersion: controlplane.antrea.io/v1beta2\n"
    expect(dual, CP "kind: AddressGroup\nmetadata: {name: g}\ngroupMembers: "
           "[{ips: ['AAAAAAAAAAAAAP//CgAAAQ==', CgAAAg==]}, "
           "{ips: ['/QAAAAAAAAAAAAAAAAAAAQ==', 'FD00::2']}]\n", "Address",
           "kind: AddressGroup\nname: g\naddresses:\n- 10.0.0.1\n"
           "- 10.0.0.2\n- fd00::1\n- fd00::2\n");
#define CP_NP(IP_, PLEN) CP \
    "kind: NetworkPolicy\nmetadata: {name: p}\n" \
    "sourceRef: {type: K8sNetworkPolicy, namespace: default, name: p}\n" \
    "rules: [{direction: In, from: {ipBlocks: [{cidr: {ip: '" IP_ "', " \
    "prefixLength: " PLEN "}}]}}]\n"
    expect(dual, CP_NP("/QAAAAAAAAAAAAAAAAAAAQ==", "64"), "Network",
           "kind: NetworkPolicy\nname: K8sNetworkPolicy:default/p\n"
           "rules:\n- direction: In\n  from:\n    addressGroups: []\n"
           "    ipBlocks:\n    - cidr: fd00::/64\n      except: []\n"
           "type: K8sNetworkPolicy\n");
    expect(dual, CP_NP("AAAAAAAAAAAAAP//CgAAAQ==", "33"), "",
           "NetworkPolicy p: rules[0].prefixLength: is above 32");
}
END_TEST

START_TEST(egress)
{
    expect(dual, "apiVersion: crd.antrea.io/v1beta1\nkind: Egress\n"
           "metadata: {name: e}\nspec: {appliedTo: {podSelector: {}}, "
           "egressIP: '2001:DB8::1'}\n", "Egress",
           "kind: Egress\nname: e\nappliedToGroups:\n- '*/*'\n"
           "egressIP: 2001:db8::1\n");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("dpctl-ipv6");
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, addresses);
    tcase_add_test(tc, nodes);
    tcase_add_test(tc, external_addresses);
    tcase_add_test(tc, node_port_addresses);
    tcase_add_test(tc, pods);
    tcase_add_test(tc, services);
    tcase_add_test(tc, slices);
    tcase_add_test(tc, policies);
    tcase_add_test(tc, controlplane);
    tcase_add_test(tc, egress);
    suite_add_tcase(s, tc);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* What antrea-dpctl keeps of the objects that it is given, what it refuses,
 * and what it warns of. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-given.h"
#include "openvswitch/dynamic-string.h"
#include "svec.h"
#include "test-run.h"
#include "util.h"
#include "dpctl-input.h"
#include "dpctl-json.h"
#include "dpctl-plan.h"
#include "dpctl-print.h"

/* What is wrong with 'text' as input, without where it stands in the file; or
 * NULL. */
static char *
input_error(const char *text, bool for_delete)
{
    struct dpctl_input input;

    dpctl_input_init(&input);
    input.for_delete = for_delete;
    char *error = dpctl_given_text(&input, text);
    dpctl_input_destroy(&input);
    if (error) {
        const char *start = strstr(error, "): ");
        char *cut = xstrdup(start ? start + 3 : error);
        free(error);
        return cut;
    }
    return NULL;
}

static void
expect_input_error(const char *text, bool for_delete, const char *expected)
{
    char *error = input_error(text, for_delete);

    ck_assert_msg(error && expected ? !strcmp(error, expected)
                  : !error && !expected,
                  "%s\ngave \"%s\", should give \"%s\"", text,
                  error ? error : "nothing",
                  expected ? expected : "nothing");
    free(error);
}

/* What is kept. */

START_TEST(only_what_is_read_is_kept)
{
    struct dpctl_input input;

    dpctl_input_init(&input);
    ck_assert_ptr_null(dpctl_given_text(
        &input, "apiVersion: v1\nkind: Pod\n"
        "metadata: {name: p, uid: x, resourceVersion: '7', labels: {a: b}, "
            "managedFields: [{manager: m, fieldsV1: {f:metadata: {}}}], "
            "annotations: {kubectl.kubernetes.io/last-applied-configuration: "
                "'{}', antrea-dp.io/port: p0, xantrea.io/y: z}}\n"
        "spec: {nodeName: n, hostNetwork: null, serviceAccountName: s, "
            "containers: [{name: c, image: i, env: [{name: E, value: v}], "
                "ports: [{name: http, containerPort: 80, hostPort: 81}]}]}\n"
        "status: {phase: Running, qosClass: Burstable, podIP: 10.0.0.1, "
            "conditions: [{type: Ready, status: 'True', reason: r}]}\n"));
    const struct json *kept = shash_find_data(&input.manifests,
                                              "Pod.v1/default/p");
    ck_assert_ptr_nonnull(kept);
    char *text = json_to_string(kept, JSSF_SORT);
    ck_assert_str_eq(text, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                     "\"metadata\":{\"annotations\":{\"antrea-dp.io/port\":"
                     "\"p0\"},\"labels\":{\"a\":\"b\"},\"name\":\"p\","
                     "\"namespace\":\"default\"},\"spec\":{\"containers\":"
                     "[{\"name\":\"c\",\"ports\":[{\"containerPort\":80,"
                     "\"name\":\"http\"}]}],\"nodeName\":\"n\","
                     "\"serviceAccountName\":\"s\"},\"status\":"
                     "{\"conditions\":[{\"status\":\"True\",\"type\":"
                     "\"Ready\"}],\"phase\":\"Running\",\"podIP\":"
                     "\"10.0.0.1\"}}");
    free(text);
    dpctl_input_destroy(&input);
}
END_TEST

/* An empty selector selects everything: it isn't nothing. */
START_TEST(what_is_kept_means_the_same)
{
    const char *policy = "apiVersion: networking.k8s.io/v1\n"
        "kind: NetworkPolicy\nmetadata:\n  name: p\n  namespace: default\n"
        "spec:\n  ingress:\n  - from:\n    - namespaceSelector: {}\n"
        "      podSelector: {}\n    ports: []\n  - {}\n  podSelector: {}\n"
        "  policyTypes:\n  - Ingress\n";
    struct dpctl_input input;

    dpctl_input_init(&input);
    ck_assert_ptr_null(dpctl_given_text(&input, policy));
    char *text = dpctl_print_yaml(shash_first(&input.manifests)->data);
    ck_assert_str_eq(text, policy);
    free(text);
    dpctl_input_destroy(&input);
}
END_TEST

START_TEST(items_of_a_typed_list_say_what_they_are)
{
    struct dpctl_input input;

    dpctl_input_init(&input);
    ck_assert_ptr_null(dpctl_given_text(
        &input, "apiVersion: v1\nkind: PodList\n"
        "items: [{metadata: {name: p}}]\n"));
    const struct json *kept = shash_find_data(&input.manifests,
                                              "Pod.v1/default/p");
    ck_assert_str_eq(dpctl_json_str(kept, "kind"), "Pod");
    ck_assert_str_eq(dpctl_json_str(kept, "apiVersion"), "v1");
    dpctl_input_destroy(&input);
}
END_TEST

/* As Go writes a list that nothing was ever put into. */
START_TEST(items_that_are_null_are_none)
{
    struct dpctl_input input;

    dpctl_input_init(&input);
    ck_assert_ptr_null(dpctl_given_text(
        &input, "{\"apiVersion\": \"v1\", \"kind\": \"PodList\", "
        "\"items\": null}\n---\n"
        "apiVersion: v1\nkind: List\nitems: null\n---\n"
        "apiVersion: v1\nkind: List\nitems:\n"));
    ck_assert(shash_is_empty(&input.manifests));
    dpctl_input_destroy(&input);

    expect_input_error("apiVersion: v1\nkind: PodList\n", false,
                       "PodList: items: is missing");
    expect_input_error("apiVersion: v1\nkind: List\nitems: {}\n", false,
                       "List: items: must be a list");
}
END_TEST

/* What is refused. */

#define SVC(TARGET) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n" \
    "spec: {ports: [{port: 80, targetPort: " TARGET "}]}\n"
#define NP(PORT) \
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: p}\nspec: {podSelector: {}, ingress: [{ports: " \
    "[{port: " PORT "}]}]}\n"
#define NP_ERROR(PORT) \
    "NetworkPolicy default/p: spec.ingress[0].ports[0].port: must be a " \
    "number, or a name of at most 15 a-z, 0-9 and single '-' within, one of " \
    "them a letter, not " PORT

static const struct {
    const char *text;
    const char *error;
} ports[] = {
    { NP("80"), NULL },
    { NP("'80'"), NP_ERROR("\"80\"") },
    { NP("http"), NULL },
    { NP("8080-tcp"), NULL },
    { NP("abcdefghijklmno"), NULL },
    { NP("abcdefghijklmnop"), NP_ERROR("\"abcdefghijklmnop\"") },
    { NP("''"), NP_ERROR("\"\"") },
    { NP("Http"), NP_ERROR("\"Http\"") },
    { NP("a_b"), NP_ERROR("\"a_b\"") },
    { NP("a--b"), NP_ERROR("\"a--b\"") },
    { NP("-a"), NP_ERROR("\"-a\"") },
    { NP("a-"), NP_ERROR("\"a-\"") },
    { NP("'1-2'"), NP_ERROR("\"1-2\"") },
    { SVC("web"), NULL },
    { SVC("'8080'"), "Service default/s: spec.ports[0].targetPort: must be a "
      "number, or a name of at most 15 a-z, 0-9 and single '-' within, one "
      "of them a letter, not \"8080\"" },
};

START_TEST(port_names)
{
    expect_input_error(ports[_i].text, false, ports[_i].error);
}
END_TEST

#define BLOCK(CIDR, EXCEPT) \
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: p}\nspec: {podSelector: {}, ingress: [{from: " \
    "[{ipBlock: {cidr: '" CIDR "', except: [" EXCEPT "]}}]}]}\n"
#define BLOCK_ERROR(FIELD, CIDR) \
    "NetworkPolicy default/p: spec.ingress[0].from[0].ipBlock." FIELD ": " \
    "must be a CIDR (ADDRESS/LENGTH), not \"" CIDR "\""
#define RANGE(CIDR) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n" \
    "spec: {loadBalancerSourceRanges: [" CIDR "]}\n"

static const struct {
    const char *text;
    const char *error;
} cidrs[] = {
    { BLOCK("10.0.0.0/8", "10.1.0.0/32"), NULL },
    { BLOCK("0.0.0.0/0", ""), NULL },
    { BLOCK("fd00::/128", ""), NULL },
    { BLOCK("10.0.0.0/08", ""), NULL },     /* As an API server has it. */
    { BLOCK("10.0.0.0/33", ""), BLOCK_ERROR("cidr", "10.0.0.0/33") },
    { BLOCK("fd00::/129", ""), BLOCK_ERROR("cidr", "fd00::/129") },
    { BLOCK("10.0.0.0/", ""), BLOCK_ERROR("cidr", "10.0.0.0/") },
    { BLOCK("10.0.0.0/+8", ""), BLOCK_ERROR("cidr", "10.0.0.0/+8") },
    { BLOCK("10.0.0.0/8 ", ""), BLOCK_ERROR("cidr", "10.0.0.0/8 ") },
    /* More than fits into 32 bits, and into 64. */
    { BLOCK("10.0.0.0/4294967296", ""),
      BLOCK_ERROR("cidr", "10.0.0.0/4294967296") },
    { BLOCK("10.0.0.0/18446744073709551624", ""),
      BLOCK_ERROR("cidr", "10.0.0.0/18446744073709551624") },
    { BLOCK("fd00::/4294967304", ""),
      BLOCK_ERROR("cidr", "fd00::/4294967304") },
    { BLOCK("10.0.0.0/8", "10.1.0.0/4294967312"),
      BLOCK_ERROR("except[0]", "10.1.0.0/4294967312") },
    { RANGE("' 10.0.0.0/8 '"), NULL },
    { RANGE("' '"),
      "Service default/s: spec.loadBalancerSourceRanges[0]: must be a CIDR "
      "(ADDRESS/LENGTH), not \"\"" },
    { RANGE("10.0.0.0/4294967296"),
      "Service default/s: spec.loadBalancerSourceRanges[0]: must be a CIDR "
      "(ADDRESS/LENGTH), not \"10.0.0.0/4294967296\"" },
};

START_TEST(prefix_lengths)
{
    expect_input_error(cidrs[_i].text, false, cidrs[_i].error);
}
END_TEST

#define SERVICE(SPEC) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n" \
    "spec: {" SPEC "}\n"
#define SLICE(TYPE, ADDRESSES) \
    "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n" \
    "metadata: {name: e}\naddressType: " TYPE "\n" \
    "endpoints: [{addresses: [" ADDRESSES "]}]\n"
#define SLICE_ERROR(NUMBER, TYPE, ADDRESS) \
    "EndpointSlice default/e: endpoints[0].addresses[" NUMBER "]: must be " \
    "an address of type " TYPE ", not \"" ADDRESS "\""

static const struct {
    const char *text;
    const char *error;
} services[] = {
    { SERVICE("clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1, 'fd00::1'], "
              "ipFamilies: [IPv4, IPv6]"), NULL },
    { SERVICE("clusterIP: None, clusterIPs: [None]"), NULL },
    { SERVICE("clusterIP: '', clusterIPs: ['']"), NULL },
    { SERVICE("clusterIP: 10.96.0.300"),
      "Service default/s: spec.clusterIP: must be an IP address or None, not "
      "\"10.96.0.300\"" },
    { SERVICE("clusterIP: none"),
      "Service default/s: spec.clusterIP: must be an IP address or None, not "
      "\"none\"" },
    { SERVICE("clusterIPs: [10.96.0.1, 'fd00::1::2']"),
      "Service default/s: spec.clusterIPs[1]: must be an IP address or None, "
      "not \"fd00::1::2\"" },
    { SERVICE("ipFamilies: [IPv4, ipv6]"),
      "Service default/s: spec.ipFamilies[1]: must be IPv4 or IPv6, not "
      "\"ipv6\"" },
    { SERVICE("selector: {app.kubernetes.io/name: web, tier: ''}"), NULL },
    { SERVICE("selector: {'a=b,c': d}"),
      "Service default/s: spec.selector: \"a=b,c\" is no label's key" },
    { SERVICE("selector: {a: 'b,c=d'}"),
      "Service default/s: spec.selector.a: \"b,c=d\" is no label's value" },
    { SLICE("IPv4", "10.1.0.2"), NULL },
    { SLICE("IPv6", "'fd00::2'"), NULL },
    { SLICE("FQDN", "web.example.com"), NULL },
    { SLICE("IPv4", "10.10.0.300"), SLICE_ERROR("0", "IPv4", "10.10.0.300") },
    { SLICE("IPv4", "10.1.0.2, 'fd00::5'"),
      SLICE_ERROR("1", "IPv4", "fd00::5") },
    { SLICE("IPv6", "10.1.0.2"), SLICE_ERROR("0", "IPv6", "10.1.0.2") },
};

START_TEST(services_and_slices)
{
    expect_input_error(services[_i].text, false, services[_i].error);
}
END_TEST

#define ADMIN(SUBJECT, FROM) \
    "apiVersion: policy.networking.k8s.io/v1alpha1\n" \
    "kind: AdminNetworkPolicy\nmetadata: {name: a}\nspec: {priority: 1, " \
    "subject: {" SUBJECT "}, ingress: [{action: Allow, from: [{" FROM "}]}]}\n"
#define ADMIN_ERROR(ERROR) "AdminNetworkPolicy a: spec." ERROR
#define EVERYWHERE "namespaceSelector: {}"
#define EVERYBODY "podSelector: {}"

static const struct {
    const char *text;
    const char *error;
} admin_pods[] = {
    { ADMIN("pods: {" EVERYWHERE ", " EVERYBODY "}",
            "pods: {namespaces: {" EVERYWHERE "}, " EVERYBODY "}"), NULL },
    { ADMIN("namespaces: {}", "pods: {podSelector: {matchLabels: {a: b}}}"),
      ADMIN_ERROR("ingress[0].from[0].pods.namespaceSelector: is missing") },
    { ADMIN("namespaces: {}", "pods: {namespaces: {}}"),
      ADMIN_ERROR("ingress[0].from[0].pods.podSelector: is missing") },
    { ADMIN("pods: {" EVERYBODY "}", "namespaces: {}"),
      ADMIN_ERROR("subject.pods.namespaceSelector: is missing") },
    { ADMIN("pods: {" EVERYWHERE "}", "namespaces: {}"),
      ADMIN_ERROR("subject.pods.podSelector: is missing") },
    { ADMIN("pods: {}", "namespaces: {}"),
      ADMIN_ERROR("subject.pods.podSelector: is missing") },
};

/* What isn't said isn't taken for everybody. */
START_TEST(pods_of_administrators)
{
    expect_input_error(admin_pods[_i].text, false, admin_pods[_i].error);
}
END_TEST

#define TIER(NAME, PRIORITY) \
    "apiVersion: crd.antrea.io/v1beta1\nkind: Tier\n" \
    "metadata: {name: " NAME "}\nspec: {priority: " PRIORITY "}\n"

static const struct {
    const char *text;
    const char *error;
} tiers[] = {
    { TIER("mine", "42"), NULL },
    /* As Antrea makes them. */
    { TIER("emergency", "50"), NULL },
    { TIER("baseline", "253"), NULL },
    { TIER("emergency", "51"), "Tier emergency: spec.priority: must be 50, "
      "not 51: Tier emergency is built in" },
    { TIER("application", "50"), "Tier application: spec.priority: must be "
      "250, not 50: Tier application is built in" },
    { TIER("mine", "250"), "Tier mine: spec.priority: 250 is that of the "
      "built-in Tier application" },
    { TIER("mine", "251"), "Tier mine: spec.priority: 251 is reserved" },
    { TIER("mine", "255"), "Tier mine: spec.priority: 255 is reserved" },
};

START_TEST(tier_priorities)
{
    expect_input_error(tiers[_i].text, false, tiers[_i].error);
}
END_TEST

static const struct {
    const char *text;
    const char *error;
} deletions[] = {
    { "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", NULL },
    { "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", NULL },
    { "apiVersion: v1\nkind: Service\nmetadata: {name: s, labels: [1]}\n"
      "spec: {ports: [{port: eighty}], what: ever}\n", NULL },
    { NP("'80'"), NULL },
    { TIER("mine", "250"), NULL },
    { "apiVersion: crd.antrea.io/v1beta1\nkind: Egress\n"
      "metadata: {name: e}\n", NULL },
    { "apiVersion: v1\nkind: Pod\nmetadata: {namespace: x}\n",
      "Pod x/?: metadata.name: is missing" },
    { "apiVersion: v1\nkind: Pod\nmetadata: p\n",
      "Pod default/?: metadata: must be an object, not \"p\"" },
    { "apiVersion: v1\nkind: Pod\nmetadata: {name: P}\n",
      "Pod default/P: metadata.name: \"P\" is no name: it must consist of "
      "a-z, 0-9, '-' and '.'" },
    { "apiVersion: v1\nkind: Node\nmetadata: {name: n, namespace: x}\n",
      "Node n: metadata.namespace: objects of this kind have no namespace" },
    { "apiVersion: v1\nkind: Gadget\nmetadata: {name: n}\n",
      "Gadget n: kind Gadget is not known" },
};

START_TEST(deletion_needs_identity_only)
{
    expect_input_error(deletions[_i].text, true, deletions[_i].error);
}
END_TEST

/* What is warned of. */

#define NODE(NAME, MORE) \
    "---\napiVersion: v1\nkind: Node\nmetadata: {name: " NAME ", " \
    "annotations: {node.antrea.io/mac-address: '0a:00:00:00:00:01'}}\n" \
    "spec: {podCIDR: 10.1.0.0/24}\n" \
    "status: {addresses: [{type: InternalIP, address: 192.0.2.1}" MORE "]}\n"
#define NAMESPACE(NAME) \
    "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " NAME "}\n"
#define POD(NAME, NS, NODE_NAME, STATUS) \
    "---\napiVersion: v1\nkind: Pod\n" \
    "metadata: {name: " NAME ", namespace: " NS "}\n" \
    "spec: {nodeName: " NODE_NAME "}\nstatus: {" STATUS "}\n"
#define ACNP(NAME, TIER_NAME, PRIORITY) \
    "---\napiVersion: crd.antrea.io/v1beta1\nkind: ClusterNetworkPolicy\n" \
    "metadata: {name: " NAME "}\nspec: {tier: " TIER_NAME ", priority: " \
    PRIORITY ", appliedTo: [{podSelector: {}}]}\n"
#define WORLD NODE("node1", "") NAMESPACE("default")

/* Plans 'text' with 'state', an array; the warnings, each as a line, or the
 * error. */
static char *
warnings_of(const struct json *state, const char *text,
            struct dpctl_plan *plan)
{
    struct dpctl_input input;
    struct dpctl_ports ports;
    struct dpctl_env env = { .node = "node1", .ports = &ports };

    dpctl_ports_init(&ports);
    ports.annotated = true;
    dpctl_input_init(&input);
    char *error = dpctl_given_text(&input, text);
    if (!error) {
        error = dpctl_plan_create(DPCTL_APPLY, &input, state, &env, false,
                                  plan);
    }
    dpctl_input_destroy(&input);
    dpctl_ports_destroy(&ports);
    return error ? error : svec_join(plan->warnings, "\n", "");
}

static void
expect_warnings(const char *text, const char *expected)
{
    struct json *nothing = json_array_create_empty();
    struct dpctl_plan plan;
    char *got = warnings_of(nothing, text, &plan);

    ck_assert_str_eq(got, expected);
    dpctl_plan_destroy(&plan);
    free(got);
    json_destroy(nothing);
}

START_TEST(warns_of_ipv6)
{
    expect_warnings(
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: "
        "{clusterIP: 10.96.0.1, sessionAffinity: ClientIP, "
        "sessionAffinityConfig: {clientIP: {timeoutSeconds: 65536}}}\n",
        "Service default/s: spec.sessionAffinityConfig.clientIP."
        "timeoutSeconds: 65536 becomes 65535: timeouts of OpenFlow go no "
        "further");
    expect_warnings(
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: "
        "{clusterIP: 10.96.0.1, sessionAffinity: ClientIP, "
        "sessionAffinityConfig: {clientIP: {timeoutSeconds: 65535}}}\n", "");
    expect_warnings(
        "apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: "
        "{service.antrea.io/load-balancer-mode: DSR}}\nspec: "
        "{clusterIP: 10.96.0.1}\n",
        "Service default/s: metadata.annotations: service.antrea.io/"
        "load-balancer-mode: without the pipeline's option dsr endpoints on "
        "other Nodes answer through this one, as with nat");
    expect_warnings(
        "apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: "
        "{service.antrea.io/load-balancer-mode: nat}}\nspec: "
        "{clusterIP: 10.96.0.1}\n", "");
    expect_warnings(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
        "metadata: {name: s}\naddressType: FQDN\nendpoints: "
        "[{addresses: [a.example]}]\n",
        "EndpointSlice default/s: addressType: FQDN: its endpoints are left "
        "out: a name is no destination");
    expect_warnings(
        WORLD "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
        "spec: {clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1, 'fd00::1'], "
        "externalIPs: ['2001:db8::1', '2001:db8::2'], ports: [{port: 80}]}\n",
        "");
    expect_warnings(WORLD, "");
}
END_TEST

#define LOAD_BALANCER(PORT) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n" \
    "spec: {type: LoadBalancer, clusterIP: 10.96.0.1, " \
    "externalTrafficPolicy: Local, healthCheckNodePort: " PORT "}\n"

START_TEST(warns_of_health_ports)
{
    expect_warnings(LOAD_BALANCER("32000"),
                    "Service default/s: spec.healthCheckNodePort: nobody "
                    "answers at port 32000: a load balancer that asks there "
                    "takes this Node for one without endpoints");
    expect_warnings(LOAD_BALANCER("0"), "");
}
END_TEST

#define SHARER(NAME, MORE, SPEC, PORTS, STATUS) \
    "---\napiVersion: v1\nkind: Service\nmetadata: {name: " NAME MORE "}\n" \
    "spec: {type: LoadBalancer, " SPEC ", ports: [" PORTS "]}\n" \
    "status: {loadBalancer: {ingress: [" STATUS "]}}\n"
#define CREATED(DAY) ", creationTimestamp: '2026-01-" DAY "T00:00:00Z'"
#define BOTH "{port: 443}, {name: d, port: 53, protocol: UDP}"
#define NINE "externalIPs: [192.0.2.8, 192.0.2.9]"

/* The later one's is left out, and a ClusterIP; a load balancer's goes before
 * others. */
START_TEST(warns_of_addresses_of_others)
{
    expect_warnings(
        WORLD SHARER("a", CREATED("02"), NINE, "{port: 443}", "")
        SHARER("b", CREATED("01"), "externalIPs: [192.0.2.9]", BOTH, ""),
        "Service default/a: spec.externalIPs[1]: 192.0.2.9:443/TCP is left "
        "out: it is that of Service default/b");
    expect_warnings(
        WORLD SHARER("a", CREATED("01"), NINE, BOTH, "")
        SHARER("b", "", "clusterIP: 10.96.0.1", BOTH, "{ip: 192.0.2.9}"),
        "Service default/a: spec.externalIPs[1]: 192.0.2.9:443/TCP is left "
        "out: it is that of Service default/b\n"
        "Service default/a: spec.externalIPs[1]: 192.0.2.9:53/UDP is left "
        "out: it is that of Service default/b");
    expect_warnings(
        WORLD SHARER("a", "", "clusterIP: 'fd00::1', "
               "externalIPs: ['fd00::1', 'fd00::2']", "{port: 443}",
               "{ip: 'fd00::2'}")
        SHARER("b", "", "clusterIP: 'fd00::2'", "{port: 443}", ""),
        "Service default/a: spec.externalIPs[0]: [fd00::1]:443/TCP is left "
        "out: it is the clusterIP of Service default/a\n"
        "Service default/a: status.loadBalancer.ingress: [fd00::2]:443/TCP is "
        "left out: it is the clusterIP of Service default/b");
    /* Other ports are others' affair. */
    expect_warnings(WORLD SHARER("a", "", NINE, "{port: 443}", "")
                    SHARER("b", "", NINE, "{port: 80}", ""), "");
}
END_TEST

#define WITH_RANGES(TYPE, IPS, RANGES, INGRESS) \
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n" \
    "spec: {type: " TYPE ", " IPS ", loadBalancerSourceRanges: [" RANGES \
    "]}\nstatus: {loadBalancer: {ingress: [" INGRESS "]}}\n"
#define RANGES_FIELD "Service default/s: spec.loadBalancerSourceRanges: "
#define NO_RANGE(FAMILY) \
    RANGES_FIELD "none is " FAMILY ": of those who send to " FAMILY \
    " addresses of the load balancer only the Node itself gets in"
#define OTHER_RANGE(RANGE, FAMILY) \
    RANGES_FIELD RANGE ": the Service has no " FAMILY ": nobody gets in by it"

START_TEST(warns_of_source_ranges_of_the_other_family)
{
    expect_warnings(WITH_RANGES("LoadBalancer", "clusterIP: 10.96.0.1",
                                "10.0.0.0/8, 'fd00::/8'", "{ip: 192.0.2.9}"),
                    OTHER_RANGE("fd00::/8", "IPv6"));
    expect_warnings(WITH_RANGES("LoadBalancer", "clusterIP: 10.96.0.1",
                                "'fd00::/8', 'fd01::/16'",
                                "{ip: 192.0.2.9}"),
                    NO_RANGE("IPv4") "\n" OTHER_RANGE("fd00::/8", "IPv6"));
    expect_warnings(WITH_RANGES("LoadBalancer",
                                "clusterIPs: [10.96.0.1, 'fd00::1']",
                                "10.0.0.0/8",
                                "{ip: 192.0.2.9}, {ip: '2001:db8::9'}"),
                    NO_RANGE("IPv6"));
    /* Nobody is concerned. */
    expect_warnings(WITH_RANGES("LoadBalancer",
                                "clusterIPs: [10.96.0.1, 'fd00::1']",
                                "10.0.0.0/8", "{ip: 192.0.2.9}"), "");
    expect_warnings(WITH_RANGES("LoadBalancer", "clusterIP: 10.96.0.1",
                                "10.0.0.0/8", "{ip: 192.0.2.9}"), "");
    expect_warnings(WITH_RANGES("LoadBalancer", "clusterIP: 10.96.0.1", "",
                                "{ip: 192.0.2.9}"), "");
    expect_warnings(WITH_RANGES("ClusterIP", "clusterIP: 10.96.0.1",
                                "'fd00::/8'", ""), "");
}
END_TEST

START_TEST(warns_of_unknown_namespaces_and_nodes)
{
    expect_warnings(WORLD POD("a", "team", "node1", "")
                    POD("b", "team", "node1", ""),
                    "Pod team/a, Pod team/b: metadata.namespace: there is no "
                    "Namespace team");
    expect_warnings(WORLD POD("a", "default", "node7", ""),
                    "Pod default/a: spec.nodeName: there is no Node node7");
    expect_warnings(WORLD POD("a", "default", "node7", "")
                    "---\n[{kind: PeerNode, name: node7, podCIDR: 10.2.0.0/24,"
                    " gatewayIP: 10.2.0.1, transportIP: 192.0.2.7}]\n", "");
    expect_warnings(WORLD POD("a", "default", "''", ""), "");
}
END_TEST

#define PEER(SPEC, ADDRESSES) \
    "---\napiVersion: v1\nkind: Node\nmetadata: {name: node7}\n" \
    "spec: {" SPEC "}\nstatus: {addresses: [" ADDRESSES "]}\n"
#define OUTER "{type: ExternalIP, address: 203.0.113.5}"
#define NO_WAY "Pod default/a: spec.nodeName: no way leads there: no Pod " \
    "CIDR, or no address, of Node node7"

START_TEST(warns_of_nodes_that_are_no_peers)
{
#define POD_THERE POD("a", "default", "node7", "podIP: 10.2.0.2")
    expect_warnings(WORLD PEER("podCIDR: 10.2.0.0/24", "") POD_THERE, NO_WAY);
    expect_warnings(WORLD PEER("podCIDR: 10.2.0.0/24",
                               "{type: Hostname, address: node7}")
                    POD_THERE, NO_WAY);
    expect_warnings(WORLD PEER("", OUTER) POD_THERE, NO_WAY);
    expect_warnings(WORLD PEER("podCIDR: 10.2.0.0/24", OUTER) POD_THERE, "");
    /* A Node that joins has Pods without addresses. */
    expect_warnings(WORLD PEER("", "") POD("a", "default", "node7", ""), "");
}
END_TEST

START_TEST(warns_of_equal_priorities)
{
    expect_warnings(WORLD ACNP("a", "Application", "5") ACNP("b", "''", "5.0")
                    ACNP("c", "platform", "5") ACNP("d", "platform", "5.5"),
                    "ClusterNetworkPolicy a, ClusterNetworkPolicy b: all have "
                    "priority 5 in Tier application: which of their rules "
                    "goes first isn't defined");
    expect_warnings(WORLD ACNP("a", "platform", "5")
                    "---\napiVersion: crd.antrea.io/v1beta1\n"
                    "kind: NetworkPolicy\nmetadata: {name: a}\nspec: "
                    "{tier: platform, priority: 5, appliedTo: "
                    "[{podSelector: {}}]}\n",
                    "ClusterNetworkPolicy a, NetworkPolicy default/a: all "
                    "have priority 5 in Tier platform: which of their rules "
                    "goes first isn't defined");
}
END_TEST

#define OF_GROUPS(PEERS) \
    "---\napiVersion: crd.antrea.io/v1beta1\n" \
    "kind: ClusterNetworkPolicy\nmetadata: {name: p}\nspec: {priority: 1, " \
    "appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [" \
    PEERS "]}]}\n"
#define CLUSTER_GROUP(NAME, CHILD) \
    "---\napiVersion: crd.antrea.io/v1beta1\nkind: ClusterGroup\n" \
    "metadata: {name: " NAME "}\nspec: {childGroups: [" CHILD "]}\n"

START_TEST(warns_of_missing_groups)
{
    expect_warnings(WORLD CLUSTER_GROUP("g", "h")
                    OF_GROUPS("{group: z}, {group: g}, {group: z}"),
                    "ClusterNetworkPolicy p: there is no ClusterGroup h, "
                    "ClusterGroup z: nobody is meant by it");
    expect_warnings(WORLD CLUSTER_GROUP("g", "h") "", "");
    expect_warnings(WORLD "---\napiVersion: crd.antrea.io/v1beta1\n"
                    "kind: Egress\nmetadata: {name: e}\nspec: {egressIP: "
                    "192.0.2.9, appliedTo: {groups: [g]}}\n",
                    "Egress e: there is no ClusterGroup g: nobody is meant by "
                    "it");
}
END_TEST

/* Of what was there before nobody wants to hear again. */
START_TEST(warns_of_what_is_given)
{
    struct json *nothing = json_array_create_empty();
    struct dpctl_plan plan, again;

    free(warnings_of(nothing, WORLD ACNP("a", "platform", "5")
                     ACNP("b", "platform", "5") POD("p", "team", "node1", ""),
                     &plan));
    char *got = warnings_of(plan.apply, NAMESPACE("other"), &again);
    ck_assert_str_eq(got, "");
    free(got);
    dpctl_plan_destroy(&again);

    got = warnings_of(plan.apply, ACNP("c", "platform", "5"), &again);
    ck_assert_str_eq(got, "ClusterNetworkPolicy a, ClusterNetworkPolicy b, "
                     "ClusterNetworkPolicy c: all have priority 5 in Tier "
                     "platform: which of their rules goes first isn't "
                     "defined");
    free(got);
    dpctl_plan_destroy(&again);
    dpctl_plan_destroy(&plan);
    json_destroy(nothing);
}
END_TEST

START_TEST(warnings_are_bounded)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    struct json *nothing = json_array_create_empty();
    struct dpctl_plan plan;

    ds_put_cstr(&text, WORLD);
    for (int i = 0; i < 1000; i++) {
        ds_put_format(&text, POD("p%d", "team-%d", "node-%d",
                                 "podIP: 'fd00::%d'"), i, i, i, i);
        ds_put_format(&text, ACNP("p%d", "platform", "%d"), i, 1 + i / 2);
    }
    char *got = warnings_of(nothing, ds_cstr(&text), &plan);
    ck_assert_uint_eq(plan.warnings->n, 3 * 9);
    ck_assert_str_eq(plan.warnings->names[8], "and 992 more of this sort");
    ck_assert_str_eq(plan.warnings->names[26], "and 492 more of this sort");
    free(got);
    dpctl_plan_destroy(&plan);
    json_destroy(nothing);
    ds_destroy(&text);
}
END_TEST

START_TEST(tiers_of_one_priority)
{
    struct json *nothing = json_array_create_empty();
    struct dpctl_plan plan;
    char *got = warnings_of(nothing, WORLD "---\n" TIER("a", "42") "---\n"
                            TIER("b", "42"), &plan);

    ck_assert_str_eq(got, "Tier b: spec.priority: 42 is that of Tier a");
    free(got);
    json_destroy(nothing);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-input");
    TCase *tc = tcase_create("kept");
    tcase_add_test(tc, only_what_is_read_is_kept);
    tcase_add_test(tc, what_is_kept_means_the_same);
    tcase_add_test(tc, items_of_a_typed_list_say_what_they_are);
    tcase_add_test(tc, items_that_are_null_are_none);
    suite_add_tcase(suite, tc);

    tc = tcase_create("refused");
    tcase_add_loop_test(tc, port_names, 0, ARRAY_SIZE(ports));
    tcase_add_loop_test(tc, prefix_lengths, 0, ARRAY_SIZE(cidrs));
    tcase_add_loop_test(tc, services_and_slices, 0, ARRAY_SIZE(services));
    tcase_add_loop_test(tc, pods_of_administrators, 0,
                        ARRAY_SIZE(admin_pods));
    tcase_add_loop_test(tc, tier_priorities, 0, ARRAY_SIZE(tiers));
    tcase_add_loop_test(tc, deletion_needs_identity_only, 0,
                        ARRAY_SIZE(deletions));
    tcase_add_test(tc, tiers_of_one_priority);
    suite_add_tcase(suite, tc);

    tc = tcase_create("warned of");
    tcase_add_test(tc, warns_of_ipv6);
    tcase_add_test(tc, warns_of_health_ports);
    tcase_add_test(tc, warns_of_addresses_of_others);
    tcase_add_test(tc, warns_of_source_ranges_of_the_other_family);
    tcase_add_test(tc, warns_of_unknown_namespaces_and_nodes);
    tcase_add_test(tc, warns_of_nodes_that_are_no_peers);
    tcase_add_test(tc, warns_of_equal_priorities);
    tcase_add_test(tc, warns_of_missing_groups);
    tcase_add_test(tc, warns_of_what_is_given);
    tcase_add_test(tc, warnings_are_bounded);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Whom policies select: labels, groups, and the controller's own objects. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-given.h"
#include "dpctl-quantity.h"
#include "openvswitch/dynamic-string.h"
#include "test-run.h"
#include "util.h"

#define CRD "apiVersion: crd.antrea.io/v1beta1\n"
#define NP(NAME, SPEC) \
    "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" \
    "metadata: {name: " NAME "}\nspec: " SPEC "\n"
#define ACNP(SPEC) \
    "---\n" CRD "kind: ClusterNetworkPolicy\nmetadata: {name: p}\n" \
    "spec: " SPEC "\n"
#define ANNP(SPEC) \
    "---\n" CRD "kind: NetworkPolicy\nmetadata: {name: p}\n" \
    "spec: " SPEC "\n"
#define GROUP(NAME, SPEC) \
    "---\n" CRD "kind: Group\nmetadata: {name: " NAME "}\nspec: " SPEC "\n"
#define CLUSTER_GROUP(NAME, SPEC) \
    "---\n" CRD "kind: ClusterGroup\nmetadata: {name: " NAME "}\n" \
    "spec: " SPEC "\n"
#define EGRESS_OF(GROUP) \
    "---\n" CRD "kind: Egress\nmetadata: {name: e}\n" \
    "spec: {egressIP: 192.0.2.9, appliedTo: {groups: [" GROUP "]}}\n"
#define CP(TYPE, RULES) \
    "---\napiVersion: controlplane.antrea.io/v1beta2\nkind: NetworkPolicy\n" \
    "metadata: {name: u}\nsourceRef: {type: " TYPE ", name: p}\n" \
    "tierPriority: 250\npriority: 3\nappliedToGroups: []\n" \
    "rules: " RULES "\n"

static void
expect(const char *text, const char *key, const char *expected)
{
    char *got = dpctl_given_resolve(dpctl_given_cluster, text, key);

    ck_assert_str_eq(got, expected);
    free(got);
}

/* Only the record's "rules". */
static void
expect_rules(const char *text, const char *expected)
{
    char *got = dpctl_given_resolve(dpctl_given_cluster, text,
                                    "NetworkPolicy Antrea");
    char *rules = strstr(got, "rules:\n");

    ck_assert_msg(rules, "%s", got);
    *strstr(rules, "tierPriority") = '\0';
    ck_assert_str_eq(rules, expected);
    free(got);
}

START_TEST(labels)
{
#define WRONG "f, document 1 (line 2): NetworkPolicy default/a: spec.podSelector."
    static const struct {
        const char *selector, *error;
    } cases[] = {
        { "{matchLabels: {app: 'x,b=c'}}",
          "matchLabels.app: \"x,b=c\" is no label's value" },
        { "{matchLabels: {app: x-}}",
          "matchLabels.app: \"x-\" is no label's value" },
        { "{matchLabels: {app: .x}}",
          "matchLabels.app: \".x\" is no label's value" },
        { "{matchLabels: {'b,c': x}}",
          "matchLabels: \"b,c\" is no label's key" },
        { "{matchLabels: {'': x}}", "matchLabels: \"\" is no label's key" },
        { "{matchLabels: {a/b/c: x}}",
          "matchLabels: \"a/b/c\" is no label's key" },
        { "{matchLabels: {/b: x}}", "matchLabels: \"/b\" is no label's key" },
        { "{matchLabels: {A.b/c: x}}",
          "matchLabels: \"A.b/c\" is no label's key" },
        { "{matchExpressions: [{key: a, operator: Exists}, "
          "{key: 'a b', operator: Exists}]}",
          "matchExpressions[1].key: \"a b\" is no label's key" },
        { "{matchExpressions: [{key: a, operator: In, values: [x, 'y,z']}]}",
          "matchExpressions[0].values[1]: \"y,z\" is no label's value" },
        { "{matchExpressions: [{key: a, operator: In}]}",
          "matchExpressions[0].values: operator In needs values" },
        { "{matchExpressions: [{key: a, operator: Exists, values: [x]}]}",
          "matchExpressions[0].values: operator Exists needs no values" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *text = xasprintf(NP("a", "{podSelector: %s}"),
                               cases[i].selector);
        char *error = xasprintf(WRONG "%s", cases[i].error);

        expect(text, "", error);
        free(error);
        free(text);
    }

    char *longest = xasprintf("%063d", 7), *longer = xasprintf("%064d", 7);
    char *text = xasprintf(NP("a", "{podSelector: {matchLabels: {app: '%s', "
                              "a-1.example/%s: ''}}}"), longest, longest);
    char *got = dpctl_given_resolve(dpctl_given_cluster, text, "Network");
    ck_assert_msg(!strncmp(got, "kind", 4) || !*got, "%s", got);
    free(got);
    free(text);
    text = xasprintf(NP("a", "{podSelector: {matchLabels: {app: '%s'}}}"),
                     longer);
    char *error = xasprintf(WRONG "matchLabels.app: \"%s\" is no label's "
                            "value", longer);
    expect(text, "", error);
    free(error);
    free(text);
    free(longest);
    free(longer);
}
END_TEST

/* A label's key may have a domain of 253 characters. */
START_TEST(domain)
{
    for (int n = 253; n <= 254; n++) {
        char *key = xasprintf("%0*d/k", n, 0);
        char *text = xasprintf(NP("a", "{podSelector: {matchLabels: {%s: "
                                  "x}}}"), key);
        char *got = dpctl_given_resolve(dpctl_given_cluster, text, "Network");

        ck_assert_msg(!strstr(got, "no label's key") == (n == 253), "%s",
                      got);
        free(got);
        free(text);
        free(key);
    }
}
END_TEST

/* Labels of Namespaces may be anything that a file says: no two selections
 * have one name. */
START_TEST(odd_labels)
{
#define ODD_NS(LABELS) \
    "---\napiVersion: v1\nkind: Namespace\n" \
    "metadata: {name: default, labels: " LABELS "}\n"
#define SAME(KEYS) \
    ACNP("{priority: 1, appliedTo: [{podSelector: {matchLabels: " \
         "{app: web}}}], ingress: [{action: Drop, from: [{namespaces: " \
         "{sameLabels: [" KEYS "]}}]}]}")
    char *got = dpctl_given_resolve(dpctl_given_cluster,
                                    ODD_NS("{a: 'x,b=c'}") SAME("a"),
                                    "AddressGroup");
    ck_assert_msg(strstr(got, "{a=\"x,b=c\"}/*"), "%s", got);
    free(got);

    got = dpctl_given_resolve(dpctl_given_cluster,
                              ODD_NS("{a: x, b: c}") SAME("a, b"),
                              "AddressGroup");
    ck_assert_ptr_nonnull(strstr(got, "{a=x,b=c}/*"));
    free(got);
}
END_TEST

/* A NetworkPolicy of a Namespace's applies to its own Pods alone. */
START_TEST(groups_of_a_namespace)
{
#define DROP(GROUPS) \
    ANNP("{priority: 1, appliedTo: [" GROUPS "], ingress: [{action: Drop}]}")
#define IN_RULE(GROUPS) \
    ANNP("{priority: 1, ingress: [{action: Drop, appliedTo: [" GROUPS "]}]}")
#define EVERYWHERE "{namespaceSelector: {}, podSelector: {}}"
#define TOO_MUCH \
    "Group g has a namespaceSelector: a NetworkPolicy applies to its own " \
    "Namespace"

    expect(GROUP("g", EVERYWHERE) DROP("{group: g}"), "",
           "NetworkPolicy default/p: spec.appliedTo: " TOO_MUCH);
    expect(GROUP("g", EVERYWHERE) GROUP("h", "{childGroups: [g]}")
           DROP("{group: h}"), "", "NetworkPolicy default/p: spec.appliedTo: "
           TOO_MUCH);
    expect(GROUP("g", EVERYWHERE) IN_RULE("{group: g}"), "",
           "NetworkPolicy default/p: spec.ingress[0].appliedTo: " TOO_MUCH);
    /* A peer may be elsewhere, as may Pods that a ClusterNetworkPolicy is
     * for. */
    expect(GROUP("g", EVERYWHERE) GROUP("h", "{podSelector: {matchLabels: "
                                        "{app: web}}}")
           ANNP("{priority: 1, appliedTo: [{group: h}], ingress: [{action: "
                "Drop, from: [{group: g}]}]}"), "AppliedTo",
           "kind: AppliedToGroup\nname: default/app=web\npods:\n"
           "- default/web\n");
    expect(CLUSTER_GROUP("g", "{namespaceSelector: {}, podSelector: "
                         "{matchLabels: {app: web}}}")
           ACNP("{priority: 1, appliedTo: [{group: g}], ingress: [{action: "
                "Drop}]}"), "AppliedTo",
           "kind: AppliedToGroup\nname: '*/app=web'\npods:\n"
           "- default/web\n");
}
END_TEST

/* Blocks are no Pods. */
START_TEST(groups_of_blocks)
{
#define BLOCKS CLUSTER_GROUP("b", "{ipBlocks: [{cidr: 10.0.0.0/8}]}")
#define WEB \
    CLUSTER_GROUP("w", "{podSelector: {matchLabels: {app: web}}}")
#define ON(GROUPS) \
    ACNP("{priority: 1, appliedTo: [" GROUPS "], ingress: [{action: Drop}]}")

    expect(BLOCKS WEB ON("{group: w}, {group: b}"), "AppliedTo",
           "kind: AppliedToGroup\nname: '*/app=web'\npods:\n"
           "- default/web\n");
    expect(BLOCKS ON("{group: b}"), "NetworkPolicy", "");
    expect(BLOCKS CLUSTER_GROUP("c", "{childGroups: [b]}") ON("{group: c}"),
           "NetworkPolicy", "");

#define WRONG_GROUP(TEXT) "f, document 1 (line 2): ClusterGroup b: spec." TEXT
    expect(CLUSTER_GROUP("b", "{ipBlock: {cidr: 10.0.0.0/8, except: "
                         "[192.168.0.0/16]}}"), "",
           WRONG_GROUP("ipBlock.except[0]: 192.168.0.0/16 is no part of "
                       "10.0.0.0/8"));
    expect(CLUSTER_GROUP("b", "{ipBlock: {cidr: 10.0.0.0/8}, ipBlocks: "
                         "[{cidr: 10.0.0.0/8}]}"), "",
           WRONG_GROUP("ipBlock: excludes ipBlocks"));
}
END_TEST

/* Each group is looked at once, however many ways lead to it: here there are
 * 30 to the power of 8. */
START_TEST(groups_with_many_ways)
{
#define RULES(FIRST, SECOND) \
    ACNP("{priority: 1, appliedTo: [{podSelector: {matchLabels: {app: web}}}" \
         "], ingress: [{action: Drop, from: [{podSelector: {matchLabels: " \
         "{app: client}}}" FIRST "]}, {action: Allow, from: [" SECOND "]}]}")

    struct ds objects = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&objects, CLUSTER_GROUP("g8", "{ipBlocks: "
                                        "[{cidr: 10.0.0.0/8}]}"));
    for (int i = 0; i < 8; i++) {
        ds_put_format(&objects, "---\napiVersion: crd.antrea.io/v1beta1\n"
                      "kind: ClusterGroup\nmetadata: {name: g%d}\n"
                      "spec: {childGroups: [", i);
        for (int j = 0; j < 30; j++) {
            ds_put_format(&objects, "%sg%d", j ? ", " : "", i + 1);
        }
        ds_put_cstr(&objects, "]}\n");
    }
    ds_put_cstr(&objects, CLUSTER_GROUP("loop", "{childGroups: [loop, g8]}")
                RULES("", "{group: g0}, {group: loop}"));
    expect_rules(ds_cstr(&objects),
                 "rules:\n"
                 "- action: Drop\n  direction: In\n  from:\n"
                 "    addressGroups:\n    - '*/app=client'\n"
                 "- action: Allow\n  direction: In\n  from:\n"
                 "    addressGroups: []\n    ipBlocks:\n    - cidr: 10.0.0.0/8\n");
    ds_destroy(&objects);
}
END_TEST

/* As with Antrea, a group that isn't there is nobody: never everybody, and
 * nothing else of the policy goes with it. */
START_TEST(groups_that_are_missing)
{
#define RULES_WITH_NOBODY \
    "rules:\n" \
    "- action: Drop\n  direction: In\n  from:\n" \
    "    addressGroups:\n    - '*/app=client'\n" \
    "- action: Allow\n  direction: In\n  from:\n    addressGroups: []\n"

    expect_rules(RULES(", {group: gone}", "{group: gone}"),
                 RULES_WITH_NOBODY);
    expect_rules(CLUSTER_GROUP("h", "{childGroups: [gone]}")
                 RULES("", "{group: h}"), RULES_WITH_NOBODY);

    expect(WEB ON("{group: w}, {group: gone}"), "AppliedTo",
           "kind: AppliedToGroup\nname: '*/app=web'\npods:\n"
           "- default/web\n");
    expect(ON("{group: gone}"), "NetworkPolicy", "");
    /* The other rules are for whom they were for. */
    expect_rules(ACNP("{priority: 1, ingress: [{action: Drop, appliedTo: "
                      "[{group: gone}]}, {action: Reject, appliedTo: "
                      "[{podSelector: {matchLabels: {app: web}}}]}]}"),
                 "rules:\n- action: Reject\n  appliedToGroups:\n"
                 "  - '*/app=web'\n  direction: In\n  priority: 1\n");
    expect(EGRESS_OF("gone"), "Egress",
           "kind: Egress\nname: e\nappliedToGroups: []\n"
           "egressIP: 192.0.2.9\n");
}
END_TEST

/* The controller has blocks of all addresses for anybody; a peer that lists
 * nothing is nobody, such as a group that isn't there. */
START_TEST(controlplane_peers)
{
#define EMPTY_PEER(DIRECTION) \
    CP("AntreaClusterNetworkPolicy", "[{direction: " DIRECTION \
       ", from: {}, to: {}, action: Allow}]")
#define ANY "ipBlocks: [{cidr: {ip: AAAAAA==, prefixLength: 0}}, " \
    "{cidr: {ip: AAAAAAAAAAAAAAAAAAAAAA==, prefixLength: 0}}]"
#define TEN "ipBlocks: [{cidr: {ip: CgAAAA==, prefixLength: 8}}]"

    expect_rules(EMPTY_PEER("In"),
                 "rules:\n- action: Allow\n  direction: In\n  from:\n"
                 "    addressGroups: []\n    ipBlocks: []\n");
    expect_rules(EMPTY_PEER("Out"),
                 "rules:\n- action: Allow\n  direction: Out\n  to:\n"
                 "    addressGroups: []\n    ipBlocks: []\n");
    expect_rules(CP("AntreaNetworkPolicy", "[{direction: In, action: Drop}]"),
                 "rules:\n- action: Drop\n  direction: In\n  from:\n"
                 "    addressGroups: []\n    ipBlocks: []\n");
    expect_rules(CP("AntreaNetworkPolicy", "[{direction: In, action: Drop, "
                    "from: {" ANY "}}]"),
                 "rules:\n- action: Drop\n  direction: In\n  from:\n"
                 "    addressGroups: []\n    ipBlocks:\n"
                 "    - cidr: 0.0.0.0/0\n      except: []\n"
                 "    - cidr: ::/0\n      except: []\n");
    expect(CP("K8sNetworkPolicy", "[{direction: In, from: {}}]"), "Network",
           "kind: NetworkPolicy\nname: K8sNetworkPolicy:p\n"
           "appliedToGroups: []\nrules:\n- direction: In\n"
           "type: K8sNetworkPolicy\n");

    /* IGMP goes to the groups that the services name. */
#define IGMP(DIRECTION, PEER) \
    CP("AntreaClusterNetworkPolicy", "[{direction: " DIRECTION ", " PEER \
       ", action: Drop, services: [{protocol: IGMP, igmpType: 22}]}]")
    expect_rules(IGMP("Out", "to: {" ANY "}"),
                 "rules:\n- action: Drop\n  direction: Out\n  services:\n"
                 "  - igmpType: 22\n    protocol: IGMP\n");
    expect_rules(IGMP("Out", "to: {" TEN "}"),
                 "rules:\n- action: Drop\n  direction: Out\n  services:\n"
                 "  - igmpType: 22\n    protocol: IGMP\n  to:\n"
                 "    addressGroups: []\n    ipBlocks:\n"
                 "    - cidr: 10.0.0.0/8\n      except: []\n");
    expect_rules(CP("AntreaClusterNetworkPolicy", "[{direction: Out, to: {"
                    ANY "}, action: Drop, services: [{protocol: UDP}]}]"),
                 "rules:\n- action: Drop\n  direction: Out\n  services:\n"
                 "  - protocol: UDP\n  to:\n"
                 "    addressGroups: []\n    ipBlocks:\n"
                 "    - cidr: 0.0.0.0/0\n      except: []\n"
                 "    - cidr: ::/0\n      except: []\n");
}
END_TEST

START_TEST(quantities)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        { "0", 0 }, { "7", 7 }, { "+7", 7 }, { "-7", -7 }, { "1.5", 1.5 },
        { "5.", 5 }, { ".5", .5 }, { "500M", 5e8 }, { "+500M", 5e8 },
        { "5e8", 5e8 }, { "5E8", 5e8 }, { "5e+8", 5e8 }, { "50e-1", 5 },
        { "0.5G", 5e8 }, { "5E", 5e18 }, { "1Ki", 1024 }, { "1.5Gi", 1.5 *
          1024 * 1024 * 1024 }, { "2Ei", 2.0 * (1ull << 60) },
        { "1500m", 1.5 }, { "2k", 2000 }, { "3T", 3e12 }, { "4P", 4e15 },
    };
    static const char *const wrong[] = {
        "", "+", "-", ".", "M", "e8", "5e", "5e+", "5e8M", "5.5.5", "0x5",
        "5 M", " 5", "5MM", "5mi", "1e999", "inf", "nan", "--5",
    };
    double value;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ck_assert_msg(dpctl_quantity(cases[i].text, &value), "%s",
                      cases[i].text);
        ck_assert_msg(value == cases[i].value, "%s: %g", cases[i].text,
                      value);
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        ck_assert_msg(!dpctl_quantity(wrong[i], &value), "%s", wrong[i]);
    }
}
END_TEST

/* Whom another proxy serves. */
START_TEST(other_proxy)
{
#define SERVICE(LABELS) \
    "---\napiVersion: v1\nkind: Service\nmetadata: {name: s, labels: " LABELS \
    "}\nspec: {clusterIP: 10.96.0.80, ports: [{port: 80}]}\n"
    char *got = dpctl_given_resolve(dpctl_given_cluster, SERVICE("{a: b}"),
                                    "Service");

    ck_assert_ptr_nonnull(strstr(got, "10.96.0.80"));
    free(got);
    expect(SERVICE("{service.kubernetes.io/service-proxy-name: other}"),
           "Service", "");
    expect(SERVICE("{service.kubernetes.io/service-proxy-name: ''}"),
           "Service", "");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("dpctl-peers");
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, labels);
    tcase_add_test(tc, domain);
    tcase_add_test(tc, odd_labels);
    tcase_add_test(tc, groups_of_a_namespace);
    tcase_add_test(tc, groups_of_blocks);
    tcase_add_test(tc, groups_with_many_ways);
    tcase_add_test(tc, groups_that_are_missing);
    tcase_add_test(tc, controlplane_peers);
    tcase_add_test(tc, quantities);
    tcase_add_test(tc, other_proxy);
    suite_add_tcase(s, tc);
    return test_run(s);
}

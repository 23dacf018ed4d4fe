/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-random-objects.h"

#include <stdbool.h>
#include <string.h>

#include "dpctl-random-families.h"
#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "util.h"

enum {
    N_NAMESPACES = 3,
    N_PODS = 14,
    N_POLICIES = 4,             /* Of each kind. */
    N_GROUPS = 3,
    N_SERVICES = 3,
};

static int
pick(int n)
{
    return random_range(n);
}

static bool
one_in(int n)
{
    return !random_range(n);
}

static void
put_labels(struct ds *ds)
{
    static const char *const names[] = { "app", "tier", "env" };
    bool any = false;

    ds_put_cstr(ds, "\"labels\":{");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!one_in(3)) {
            ds_put_format(ds, "%s\"%s\":\"%c\"", any ? "," : "", names[i],
                          'a' + pick(3));
            any = true;
        }
    }
    ds_put_char(ds, '}');
}

static void
put_selector(struct ds *ds)
{
    static const char *const names[] = { "app", "tier", "env" };
    const char *name = names[pick(3)];
    char value = 'a' + pick(3);

    switch (pick(6)) {
    case 0:
        ds_put_cstr(ds, "{}");
        break;
    case 1:
        ds_put_format(ds, "{\"matchExpressions\":[{\"key\":\"%s\","
                      "\"operator\":\"In\",\"values\":[\"a\",\"%c\"]}]}",
                      name, value);
        break;
    case 2:
        ds_put_format(ds, "{\"matchExpressions\":[{\"key\":\"%s\","
                      "\"operator\":\"%s\"}]}", name,
                      one_in(2) ? "Exists" : "DoesNotExist");
        break;
    case 3:
        ds_put_format(ds, "{\"matchExpressions\":[{\"key\":\"%s\","
                      "\"operator\":\"NotIn\",\"values\":[\"%c\"]}],"
                      "\"matchLabels\":{\"app\":\"%c\"}}", name, value,
                      'a' + pick(3));
        break;
    default:
        ds_put_format(ds, "{\"matchLabels\":{\"%s\":\"%c\"}}", name, value);
        break;
    }
}

static void
put_namespace_selector(struct ds *ds)
{
    if (one_in(4)) {
        ds_put_format(ds, "{\"matchLabels\":{\"kubernetes.io/metadata.name\":"
                      "\"ns%d\"}}", pick(N_NAMESPACES));
    } else {
        put_selector(ds);
    }
}

/* A ServiceAccount of any namespace, or of 'own'. */
static void
put_account(struct ds *ds, const char *own)
{
    ds_put_format(ds, "{\"serviceAccount\":{\"name\":\"%s\",\"namespace\":",
                  one_in(2) ? "default" : "robot");
    if (own) {
        ds_put_format(ds, "\"%s\"}}", own);
    } else {
        ds_put_format(ds, "\"ns%d\"}}", pick(N_NAMESPACES));
    }
}

/* Peers that only rules of Antrea's have; some only those of the cluster. */
static void
put_antrea_peer(struct ds *ds, bool cluster)
{
    switch (pick(cluster ? 4 : 2)) {
    case 0:
        put_account(ds, NULL);
        break;
    case 1:
        ds_put_cstr(ds, "{\"nodeSelector\":");
        put_selector(ds);
        ds_put_char(ds, '}');
        break;
    default:
        ds_put_cstr(ds, "{\"podSelector\":");
        put_selector(ds);
        ds_put_format(ds, ",\"namespaces\":{%s}}",
                      one_in(2) ? "\"match\":\"Self\""
                      : one_in(2) ? "\"sameLabels\":[\"env\"]"
                      : "\"sameLabels\":[\"env\",\"tier\"]");
        break;
    }
}

/* One element of "from", "to" or "appliedTo"; 'own': of this Namespace. */
static void
put_peer(struct ds *ds, const char *groups, bool blocks, bool own)
{
    switch (own ? 2 + pick(4) : pick(6)) {
    case 0:
    case 1:
        ds_put_cstr(ds, "{\"namespaceSelector\":");
        put_namespace_selector(ds);
        if (one_in(2)) {
            ds_put_cstr(ds, ",\"podSelector\":");
            put_selector(ds);
        }
        ds_put_char(ds, '}');
        break;
    case 2:
        if (groups) {
            ds_put_format(ds, "{\"group\":\"%s%d\"}", groups, pick(N_GROUPS));
            break;
        }
        /* Fall through. */
    case 3:
        if (blocks) {
            ds_put_format(ds, "{\"ipBlock\":{\"cidr\":\"10.%d.0.0/16\"}}",
                          pick(4));
            break;
        }
        /* Fall through. */
    default:
        ds_put_cstr(ds, "{\"podSelector\":");
        put_selector(ds);
        ds_put_char(ds, '}');
        break;
    }
}

static void
put_peers(struct ds *ds, const char *member, const char *groups, bool blocks,
          bool own)
{
    ds_put_format(ds, ",\"%s\":[", member);
    for (int i = 0, n = 1 + pick(2); i < n; i++) {
        ds_put_cstr(ds, i ? "," : "");
        put_peer(ds, groups, blocks, own);
    }
    ds_put_char(ds, ']');
}

/* The same of Antrea's policies. */
static void
put_antrea_peers(struct ds *ds, const char *member, const char *groups,
                 bool cluster)
{
    put_peers(ds, member, groups, true, false);
    if (one_in(2)) {
        ds_chomp(ds, ']');
        ds_put_char(ds, ',');
        put_antrea_peer(ds, cluster);
        ds_put_char(ds, ']');
    }
}

static void
put_applied_to(struct ds *ds, const char *groups, const char *namespace_)
{
    if (one_in(4)) {
        ds_put_cstr(ds, ",\"appliedTo\":[");
        put_account(ds, namespace_);
        ds_put_char(ds, ']');
    } else {
        put_peers(ds, "appliedTo", one_in(3) ? groups : NULL, false,
                  namespace_ != NULL);
    }
}

static void
put_ports(struct ds *ds)
{
    static const char *const ports_[] = {
        "{\"port\":80}", "{\"port\":\"http\"}",
        "{\"port\":\"dns\",\"protocol\":\"UDP\"}",
        "{\"port\":\"http\"},{\"port\":443}", "{\"protocol\":\"TCP\"}",
    };
    if (one_in(2)) {
        ds_put_format(ds, ",\"ports\":[%s]",
                      ports_[one_in(3) ? pick(5) : 0]);
    }
}

static void
put_rules(struct ds *ds, bool antrea, bool cluster, const char *groups)
{
    static const char *const lists[][2] = {
        { "ingress", "from" }, { "egress", "to" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        if (one_in(3)) {
            continue;
        }
        ds_put_format(ds, ",\"%s\":[", lists[i][0]);
        for (int j = 0, n = 1 + pick(2); j < n; j++) {
            struct ds rule = DS_EMPTY_INITIALIZER;
            ds_put_cstr(&rule, antrea ? ",\"action\":\"Allow\"" : "");
            if (antrea && i && one_in(5)) {
                ds_put_format(&rule, ",\"toServices\":[{\"name\":\"s%d\","
                              "\"namespace\":\"ns0\"}]", pick(N_SERVICES));
            } else {
                if (antrea && i && one_in(6)) {
                    dpctl_random_fqdns(&rule);
                } else if (antrea && !one_in(3)) {
                    put_antrea_peers(&rule, lists[i][1], groups, cluster);
                } else if (!one_in(4)) {
                    put_peers(&rule, lists[i][1], groups, true, false);
                }
                put_ports(&rule);
                if (antrea && one_in(4)) {
                    ds_put_cstr(&rule, ",\"l7Protocols\":[{\"tls\":{}}]");
                }
            }
            ds_put_format(ds, "%s{%s}", j ? "," : "",
                          rule.length ? ds_cstr(&rule) + 1 : "");
            ds_destroy(&rule);
        }
        ds_put_char(ds, ']');
    }
}

static void
put_head(struct ds *ds, const char *version, const char *kind,
         const char *namespace_, const char *name, int number)
{
    ds_put_format(ds, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{"
                  "\"name\":\"%s%d\"", version, kind, name, number);
    if (namespace_) {
        ds_put_format(ds, ",\"namespace\":\"%s\"", namespace_);
    }
}

void
dpctl_random_pod(struct ds *ds, const char *namespace_)
{
    static const char *const nodes[] = { "node1", "node1", "node2", NULL };
    static const char *const phases[] = {
        "Running", "Running", "Running", "Succeeded",
    };
    const char *node = nodes[pick(4)];

    put_head(ds, "v1", "Pod", namespace_, "p", pick(N_PODS));
    ds_put_char(ds, ',');
    put_labels(ds);
    if (one_in(2)) {
        ds_put_format(ds, ",\"annotations\":{\"antrea-dp.io/port\":\"q%d\","
                      "\"antrea-dp.io/mac\":\"0a:00:00:00:00:%02x\"}",
                      pick(99), pick(99));
    }
    if (one_in(4)) {
        ds_put_cstr(ds, ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"");
    }
    ds_put_cstr(ds, "},\"spec\":{");
    if (node) {
        ds_put_format(ds, "\"nodeName\":\"%s\",", node);
    }
    if (one_in(3)) {
        ds_put_cstr(ds, "\"serviceAccountName\":\"robot\",");
    }
    ds_put_format(ds, "\"hostNetwork\":%s,\"containers\":[{\"name\":\"c\","
                  "\"ports\":[", one_in(8) ? "true" : "false");
    if (!one_in(3)) {
        ds_put_format(ds, "{\"name\":\"http\",\"containerPort\":%d}",
                      80 + pick(2));
    }
    ds_put_cstr(ds, "]}]},\"status\":{");
    ds_put_format(ds, "\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\","
                  "\"status\":\"%s\"}]", phases[pick(4)],
                  one_in(4) ? "False" : "True");
    if (!one_in(4)) {
        ds_put_format(ds, ",\"podIP\":\"10.1.0.%d\"", 1 + pick(20));
        if (one_in(4)) {
            ds_put_format(ds, ",\"podIPs\":[{\"ip\":\"10.1.0.%d\"},"
                          "{\"ip\":\"fd00::%d\"}]", 1 + pick(20), pick(9));
        }
    }
    ds_put_cstr(ds, "}}");
}

static void
put_k8s_policy(struct ds *ds, const char *namespace_)
{
    put_head(ds, "networking.k8s.io/v1", "NetworkPolicy", namespace_, "np",
             pick(N_POLICIES));
    ds_put_cstr(ds, "},\"spec\":{\"podSelector\":");
    put_selector(ds);
    put_rules(ds, false, false, NULL);
    ds_put_cstr(ds, "}}");
}

static void
put_antrea_policy(struct ds *ds, const char *namespace_)
{
    const char *groups = namespace_ ? "g" : "cg";
    bool in = one_in(2);

    put_head(ds, "crd.antrea.io/v1beta1",
             namespace_ ? "NetworkPolicy" : "ClusterNetworkPolicy",
             namespace_, "ap", pick(N_POLICIES));
    ds_put_format(ds, "},\"spec\":{\"priority\":%d,\"tier\":\"%s\"", 1 + pick(8),
                  one_in(4) ? "own" : "application");
    if (one_in(2)) {
        put_applied_to(ds, groups, namespace_);
        put_rules(ds, true, !namespace_, one_in(2) ? groups : NULL);
    } else if (!namespace_ && one_in(3)) {
        ds_put_format(ds, ",%s\"appliedTo\":[{\"service\":{\"name\":\"s%d\","
                      "\"namespace\":\"ns0\"}}]%s", in
                      ? "\"ingress\":[{\"action\":\"Drop\"," : "",
                      pick(N_SERVICES), in
                      ? "}]" : ",\"ingress\":[{\"action\":\"Drop\"}]");
    } else {
        /* Each rule says whom it is applied to. */
        ds_put_format(ds, ",\"%s\":[{\"action\":\"Drop\"",
                      in ? "ingress" : "egress");
        put_applied_to(ds, groups, namespace_);
        if (one_in(2)) {
            put_antrea_peers(ds, in ? "from" : "to", groups, !namespace_);
        }
        put_ports(ds);
        ds_put_cstr(ds, "}]");
    }
    ds_put_cstr(ds, "}}");
}

static void
put_admin_selection(struct ds *ds)
{
    if (one_in(2)) {
        ds_put_cstr(ds, "{\"namespaces\":");
        put_namespace_selector(ds);
    } else {
        ds_put_cstr(ds, "{\"pods\":{\"namespaceSelector\":");
        put_namespace_selector(ds);
        ds_put_cstr(ds, ",\"podSelector\":");
        put_selector(ds);
        ds_put_char(ds, '}');
    }
    ds_put_char(ds, '}');
}

static void
put_admin_policy(struct ds *ds)
{
    static const char *const ports_[] = {
        "", ",\"ports\":[{\"namedPort\":\"http\"}]",
        ",\"ports\":[{\"portNumber\":{\"port\":80}}]",
        ",\"ports\":[{\"portRange\":{\"start\":80,\"end\":89}}]",
    };
    bool baseline = one_in(4);

    put_head(ds, "policy.networking.k8s.io/v1alpha1",
             baseline ? "BaselineAdminNetworkPolicy" : "AdminNetworkPolicy",
             NULL, baseline ? "default" : "an", pick(N_POLICIES));
    if (baseline) {
        ds_truncate(ds, ds->length - strlen("0\""));
        ds_put_char(ds, '"');
    }
    ds_put_cstr(ds, "},\"spec\":{");
    if (!baseline) {
        ds_put_format(ds, "\"priority\":%d,", pick(3));
    }
    ds_put_cstr(ds, "\"subject\":");
    put_admin_selection(ds);
    ds_put_cstr(ds, ",\"ingress\":[{\"action\":\"Deny\",\"from\":[");
    put_admin_selection(ds);
    ds_put_format(ds, "]%s}],\"egress\":[{\"action\":\"Allow\",\"to\":[",
                  ports_[pick(ARRAY_SIZE(ports_))]);
    put_admin_selection(ds);
    ds_put_cstr(ds, one_in(2) ? ",{\"nodes\":{}}" :
                ",{\"networks\":[\"10.2.0.0/16\",\"10.3.0.0/16\"]}");
    ds_put_format(ds, "]%s}]}}", ports_[pick(ARRAY_SIZE(ports_))]);
}

static void
put_group(struct ds *ds, const char *namespace_)
{
    int number = pick(N_GROUPS);

    put_head(ds, "crd.antrea.io/v1beta1",
             namespace_ ? "Group" : "ClusterGroup", namespace_,
             namespace_ ? "g" : "cg", number);
    ds_put_cstr(ds, "},\"spec\":{");
    if (number && one_in(4)) {
        ds_put_format(ds, "\"childGroups\":[\"%s%d\"]",
                      namespace_ ? "g" : "cg", pick(number));
    } else if (one_in(5)) {
        ds_put_cstr(ds, "\"ipBlocks\":[{\"cidr\":\"10.9.0.0/16\"}]");
    } else if (one_in(3)) {
        ds_put_format(ds, "\"serviceReference\":{\"name\":\"s%d\","
                      "\"namespace\":\"%s\"}", pick(N_SERVICES),
                      namespace_ ? namespace_ : "ns1");
    } else {
        ds_put_cstr(ds, "\"podSelector\":");
        put_selector(ds);
        if (one_in(3)) {
            ds_put_cstr(ds, ",\"namespaceSelector\":");
            put_namespace_selector(ds);
        }
    }
    ds_put_cstr(ds, "}}");
}

/* The "appliedTo" of an Egress or a TrafficControl. */
static void
put_selected(struct ds *ds)
{
    ds_put_cstr(ds, "\"appliedTo\":{");
    switch (pick(3)) {
    case 0:
        ds_put_format(ds, "\"groups\":[\"cg%d\"]", pick(N_GROUPS));
        break;
    case 1:
        ds_put_cstr(ds, "\"namespaceSelector\":");
        put_namespace_selector(ds);
        if (one_in(2)) {
            break;
        }
        ds_put_char(ds, ',');
        /* Fall through. */
    default:
        ds_put_cstr(ds, "\"podSelector\":");
        put_selector(ds);
        break;
    }
    ds_put_char(ds, '}');
}

static void
put_egress(struct ds *ds)
{
    put_head(ds, "crd.antrea.io/v1beta1", "Egress", NULL, "eg", pick(3));
    ds_put_cstr(ds, "},\"spec\":{");
    put_selected(ds);
    if (!one_in(6)) {
        ds_put_format(ds, ",\"egressIP\":\"%s%d\"",
                      one_in(4) ? "fd00::" : "192.0.2.1", pick(3));
    }
    if (one_in(3)) {
        ds_put_format(ds, ",\"bandwidth\":{\"rate\":\"%dM\",\"burst\":"
                      "\"1M\"}", 1 + pick(2));
    }
    ds_put_format(ds, "}%s}", (one_in(3) ? "" : ",\"status\":{\"egressNode\":"
                               "\"node1\"}"));
}

static void
put_traffic_control(struct ds *ds)
{
    put_head(ds, "crd.antrea.io/v1alpha2", "TrafficControl", NULL, "tc",
             pick(3));
    ds_put_cstr(ds, "},\"spec\":{");
    put_selected(ds);
    ds_put_format(ds, ",\"direction\":\"%s\",\"targetPort\":{\"%s\":{\"name\":"
                  "\"tap0\"}},\"action\":%s}}",
                  one_in(2) ? "Both" : "Ingress",
                  one_in(2) ? "ovsInternal" : "device",
                  (one_in(2) ? "\"Mirror\"" : "\"Redirect\",\"returnPort\":"
                   "{\"device\":{\"name\":\"tap1\"}}"));
}

static void
put_service(struct ds *ds, const char *namespace_)
{
    int number = pick(N_SERVICES);

    put_head(ds, "v1", "Service", namespace_, "s", number);
    if (one_in(2)) {
        ds_put_format(ds, ",\"creationTimestamp\":\"2026-01-0%dT00:00:00Z\"",
                      1 + pick(3));
    }
    ds_put_cstr(ds, "},\"spec\":{");
    if (one_in(3)) {
        /* Others' among them. */
        ds_put_format(ds, "\"externalIPs\":[\"%s.%d.%d\",\"192.0.2.7\"],",
                      one_in(2) ? "172.16" : "10.96", pick(2),
                      pick(N_SERVICES));
    }
    if (one_in(6)) {
        ds_put_cstr(ds, "\"clusterIP\":\"None\"");
    } else {
        ds_put_format(ds, "\"clusterIP\":\"10.96.%s.%d\"", namespace_ + 2,
                      number);
    }
    if (!one_in(5)) {
        ds_put_format(ds, ",\"selector\":{\"app\":\"%c\"", 'a' + pick(3));
        if (one_in(3)) {
            ds_put_format(ds, ",\"tier\":\"%c\"", 'a' + pick(3));
        }
        ds_put_char(ds, '}');
    }
    if (one_in(3)) {
        ds_put_cstr(ds, ",\"externalTrafficPolicy\":\"Local\"");
    }
    if (one_in(3)) {
        ds_put_cstr(ds, ",\"publishNotReadyAddresses\":true");
    }
    if (one_in(3)) {
        ds_put_cstr(ds, ",\"type\":\"LoadBalancer\","
                    "\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]");
    }
    ds_put_format(ds, ",\"ports\":[{\"port\":80%s}]},\"status\":"
                  "{\"loadBalancer\":{\"ingress\":[{\"ip\":\"172.16.%s.%d\"}"
                  "]}}}", one_in(2) ? ",\"targetPort\":\"http\"" : "",
                  namespace_ + 2, number);
}

static void
put_slice(struct ds *ds, const char *namespace_)
{
    put_head(ds, "discovery.k8s.io/v1", "EndpointSlice", namespace_, "e",
             pick(N_SERVICES));
    ds_put_format(ds, ",\"labels\":{\"kubernetes.io/service-name\":"
                  "\"s%d\"}},\"addressType\":\"IPv4\",\"ports\":["
                  "{\"port\":80}],\"endpoints\":[", pick(N_SERVICES));
    for (int i = 0, n = pick(3); i < n; i++) {
        ds_put_format(ds, "%s{\"addresses\":[\"10.1.0.%d\"]%s",
                      i ? "," : "", 1 + pick(20),
                      one_in(2) ? "" : ",\"nodeName\":\"node1\"");
        if (one_in(3)) {
            ds_put_format(ds, ",\"conditions\":{\"ready\":false,"
                          "\"serving\":%s,\"terminating\":true}",
                          one_in(3) ? "false" : "true");
        }
        if (!one_in(3)) {
            ds_put_format(ds, ",\"hints\":{\"forZones\":[{\"name\":"
                          "\"zone-%c\"}]", 'a' + pick(2));
            if (!one_in(3)) {
                ds_put_format(ds, ",\"forNodes\":[{\"name\":\"node%d\"}]",
                              1 + pick(2));
            }
            ds_put_char(ds, '}');
        }
        ds_put_char(ds, '}');
    }
    ds_put_cstr(ds, "]}");
}

static void
put_endpoints(struct ds *ds, const char *namespace_)
{
    put_head(ds, "v1", "Endpoints", namespace_, "s", pick(N_SERVICES));
    ds_put_format(ds, "},\"subsets\":[{\"addresses\":[{\"ip\":"
                  "\"10.1.0.%d\"%s}],\"ports\":[{\"port\":80}]}]}",
                  1 + pick(20), one_in(2) ? "" : ",\"nodeName\":\"node1\"");
}

void
dpctl_random_object(struct ds *ds)
{
    char namespace_[] = "ns0";

    namespace_[2] += pick(N_NAMESPACES);
    switch (pick(27)) {
    case 20:
        put_admin_policy(ds);
        break;
    case 0:
        put_head(ds, "v1", "Namespace", NULL, "ns", pick(N_NAMESPACES));
        ds_put_char(ds, ',');
        put_labels(ds);
        ds_put_cstr(ds, "}}");
        break;
    case 1:
        put_k8s_policy(ds, namespace_);
        break;
    case 2: case 3:
        put_antrea_policy(ds, NULL);
        break;
    case 4: case 5:
        put_antrea_policy(ds, namespace_);
        break;
    case 6:
        put_group(ds, NULL);
        break;
    case 7:
        put_group(ds, namespace_);
        break;
    case 8:
        put_service(ds, namespace_);
        break;
    case 9:
        put_slice(ds, namespace_);
        break;
    case 10:
        put_endpoints(ds, namespace_);
        break;
    case 22: case 23:
        put_egress(ds);
        break;
    case 24: case 25:
        put_traffic_control(ds);
        break;
    case 11:
        if (one_in(5)) {
            put_head(ds, "crd.antrea.io/v1beta1", "Tier", NULL, "own", 0);
            ds_truncate(ds, ds->length - strlen("0\""));
            ds_put_cstr(ds, "\"},\"spec\":{\"priority\":77}}");
            break;
        }
        /* Fall through. */
    default:
        dpctl_random_pod(ds, namespace_);
        break;
    }
    ds_put_cstr(ds, "\n---\n");
}

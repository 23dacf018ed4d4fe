/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-kind.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-admin.h"
#include "dpctl-json.h"
#include "dpctl-policy-check.h"
#include "dpctl-service-check.h"
#include "openvswitch/dynamic-string.h"
#include "svec.h"
#include "util.h"

/* Schemas.  The order of the initializers: name, type, flags, sub, values,
 * unsupported, min, max. */

#define F(NAME, TYPE) { NAME, DPCTL_##TYPE, 0, NULL, NULL, NULL, 0, 0 }
#define F_REQ(NAME, TYPE) \
    { NAME, DPCTL_##TYPE, DPCTL_REQUIRED, NULL, NULL, NULL, 0, 0 }
#define F_NOT(NAME) \
    { NAME, DPCTL_ANY, DPCTL_UNSUPPORTED, NULL, NULL, NULL, 0, 0 }
#define F_INT(NAME, MIN, MAX) \
    { NAME, DPCTL_INT, 0, NULL, NULL, NULL, MIN, MAX }
#define F_INT_REQ(NAME, MIN, MAX) \
    { NAME, DPCTL_INT, DPCTL_REQUIRED, NULL, NULL, NULL, MIN, MAX }
#define F_PORT(NAME) F_INT(NAME, 1, 65535)
#define F_INT_OR_STR(NAME) \
    { NAME, DPCTL_INT_OR_STR, 0, NULL, NULL, NULL, 1, 65535 }
#define F_ENUM(NAME, FLAGS, VALUES, UNSUPPORTED) \
    { NAME, DPCTL_ENUM, FLAGS, NULL, VALUES, UNSUPPORTED, 0, 0 }
#define F_SUB(NAME, TYPE, FLAGS, SUB) \
    { NAME, DPCTL_##TYPE, FLAGS, SUB, NULL, NULL, 0, 0 }
#define F_END { NULL, DPCTL_ANY, 0, NULL, NULL, NULL, 0, 0 }

#define PROTOCOLS "TCP,UDP,SCTP"

/* Kubernetes' ObjectMeta: what nobody looks at, and all. */
/* Kept, behind F_META_REST, which takes whatever it is. */
#define F_CREATED F("creationTimestamp", STR)
#define F_META_REST                                                     \
    F("creationTimestamp", ANY), F("deletionGracePeriodSeconds", ANY),  \
    F("finalizers", ANY), F("generateName", ANY), F("generation", ANY), \
    F("managedFields", ANY), F("ownerReferences", ANY),                 \
    F("resourceVersion", ANY), F("selfLink", ANY), F("uid", ANY)
#define F_META                                                          \
    F_REQ("name", STR), F("namespace", STR), F("labels", LABELS),       \
    { "annotations", DPCTL_LABELS, DPCTL_ANTREAS, NULL, NULL, NULL, 0, 0 }, \
    F_META_REST
static const struct dpctl_field metadata[] = {
    F_META, F("deletionTimestamp", ANY), F_END
};

#define F_HEAD_WITH(METADATA)                                           \
    F("apiVersion", STR), F("kind", STR),                               \
    F_SUB("metadata", OBJ, DPCTL_REQUIRED, METADATA)
#define F_HEAD F_HEAD_WITH(metadata)

static const struct dpctl_field no_fields[] = { F_END };

/* Node, Namespace, Pod: whatever else they hold is none of our business. */

static const struct dpctl_field node_address[] = {
    F_REQ("type", STR), F_REQ("address", STR), F_END
};
static const struct dpctl_field node_status[] = {
    F_SUB("addresses", OBJS, DPCTL_OPEN, node_address), F_END
};
static const struct dpctl_field node_spec[] = {
    F("podCIDR", CIDR), F("podCIDRs", CIDRS), F_END
};
static const struct dpctl_field node_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_OPEN, node_spec),
    F_SUB("status", OBJ, DPCTL_OPEN, node_status), F_END
};

static const struct dpctl_field namespace_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_OPEN, no_fields),
    F_SUB("status", OBJ, DPCTL_OPEN, no_fields), F_END
};

static const struct dpctl_field container_port[] = {
    F("name", STR), F_INT_REQ("containerPort", 1, 65535),
    F_ENUM("protocol", 0, PROTOCOLS, NULL), F_END
};
static const struct dpctl_field container[] = {
    F("name", STR), F_SUB("ports", OBJS, DPCTL_OPEN, container_port), F_END
};
static const struct dpctl_field pod_spec[] = {
    F("nodeName", STR), F("hostNetwork", BOOL), F("serviceAccountName", STR),
    F_SUB("containers", OBJS, DPCTL_OPEN, container), F_END
};
static const struct dpctl_field pod_ip[] = { F_REQ("ip", IP), F_END };
static const struct dpctl_field pod_condition[] = {
    F_REQ("type", STR), F("status", STR), F_END
};
static const struct dpctl_field pod_status[] = {
    F("phase", STR), F("podIP", IP), F_SUB("podIPs", OBJS, 0, pod_ip),
    F_SUB("conditions", OBJS, DPCTL_OPEN, pod_condition), F_END
};
static const struct dpctl_field pod_metadata[] = {
    F_META, F("deletionTimestamp", STR), F_END
};
static const struct dpctl_field pod_schema[] = {
    F_HEAD_WITH(pod_metadata), F_SUB("spec", OBJ, DPCTL_OPEN, pod_spec),
    F_SUB("status", OBJ, DPCTL_OPEN, pod_status), F_END
};

/* Services and their endpoints. */

static const struct dpctl_field service_port[] = {
    F("name", STR), F_ENUM("protocol", 0, PROTOCOLS, NULL),
    F_INT_REQ("port", 1, 65535), F_INT_OR_STR("targetPort"),
    F_INT("nodePort", 0, 65535), F("appProtocol", STR), F_END
};
static const struct dpctl_field client_ip[] = {
    F_INT("timeoutSeconds", 1, 86400), F_END
};
static const struct dpctl_field affinity_config[] = {
    F_SUB("clientIP", OBJ, 0, client_ip), F_END
};
static const struct dpctl_field service_spec[] = {
    F_ENUM("type", 0, "ClusterIP,NodePort,LoadBalancer,ExternalName", NULL),
    F("selector", LABELS), F_SUB("ports", OBJS, 0, service_port),
    F("clusterIP", STR), F("clusterIPs", STRS), F("externalIPs", IPS),
    F("externalName", STR), F("loadBalancerIP", STR),
    F("loadBalancerClass", STR),
    /* An API server takes blanks, and kube-proxy ignores them. */
    { "loadBalancerSourceRanges", DPCTL_CIDRS, DPCTL_PADDED, NULL, NULL, NULL,
      0, 0 },
    F("allocateLoadBalancerNodePorts", BOOL),
    F_INT("healthCheckNodePort", 0, 65535),
    F_ENUM("externalTrafficPolicy", 0, "Cluster,Local", NULL),
    F_ENUM("internalTrafficPolicy", 0, "Cluster,Local", NULL),
    F_ENUM("sessionAffinity", 0, "None,ClientIP", NULL),
    F_SUB("sessionAffinityConfig", OBJ, 0, affinity_config),
    F("ipFamilies", STRS), F("ipFamilyPolicy", STR),
    F("publishNotReadyAddresses", BOOL), F("trafficDistribution", STR), F_END
};
static const struct dpctl_field lb_ingress[] = {
    F("ip", IP), F("hostname", STR), F("ipMode", STR), F("ports", ANY), F_END
};
static const struct dpctl_field lb_status[] = {
    F_SUB("ingress", OBJS, 0, lb_ingress), F_END
};
static const struct dpctl_field service_status[] = {
    F_SUB("loadBalancer", OBJ, 0, lb_status), F_END
};
static const struct dpctl_field service_metadata[] = {
    F_META, F("deletionTimestamp", ANY), F_CREATED, F_END
};
static const struct dpctl_field service_schema[] = {
    F_HEAD_WITH(service_metadata),
    F_SUB("spec", OBJ, DPCTL_REQUIRED, service_spec),
    F_SUB("status", OBJ, DPCTL_OPEN, service_status), F_END
};

static const struct dpctl_field object_ref[] = {
    F("kind", STR), F("name", STR), F("namespace", STR), F_END
};
static const struct dpctl_field endpoint_port[] = {
    F("name", STR), F_ENUM("protocol", 0, PROTOCOLS, NULL),
    F_PORT("port"), F("appProtocol", STR), F_END
};
static const struct dpctl_field endpoint_address[] = {
    F_REQ("ip", IP), F("hostname", STR), F("nodeName", STR),
    F_SUB("targetRef", OBJ, DPCTL_OPEN, object_ref), F_END
};
static const struct dpctl_field endpoints_subset[] = {
    F_SUB("addresses", OBJS, 0, endpoint_address),
    F_SUB("notReadyAddresses", OBJS, 0, endpoint_address),
    F_SUB("ports", OBJS, 0, endpoint_port), F_END
};
static const struct dpctl_field endpoints_schema[] = {
    F_HEAD, F_SUB("subsets", OBJS, 0, endpoints_subset), F_END
};

static const struct dpctl_field slice_conditions[] = {
    F("ready", BOOL), F("serving", BOOL), F("terminating", BOOL), F_END
};
static const struct dpctl_field slice_hint[] = { F_REQ("name", STR), F_END };
static const struct dpctl_field slice_hints[] = {
    F_SUB("forNodes", OBJS, DPCTL_OPEN, slice_hint),
    F_SUB("forZones", OBJS, DPCTL_OPEN, slice_hint), F_END
};
static const struct dpctl_field slice_endpoint[] = {
    F_REQ("addresses", STRS), F_SUB("conditions", OBJ, 0, slice_conditions),
    F("nodeName", STR), F("hostname", STR), F("zone", STR),
    F_SUB("hints", OBJ, DPCTL_OPEN, slice_hints),
    F("deprecatedTopology", ANY), F("topology", ANY),
    F_SUB("targetRef", OBJ, DPCTL_OPEN, object_ref), F_END
};
static const struct dpctl_field slice_schema[] = {
    F_HEAD, F_ENUM("addressType", DPCTL_REQUIRED, "IPv4,IPv6,FQDN", NULL),
    F_SUB("endpoints", OBJS, 0, slice_endpoint),
    F_SUB("ports", OBJS, 0, endpoint_port), F_END
};

/* Selectors and Kubernetes NetworkPolicy. */

static const struct dpctl_field expression[] = {
    F_REQ("key", STR),
    F_ENUM("operator", DPCTL_REQUIRED, "In,NotIn,Exists,DoesNotExist", NULL),
    F("values", STRS), F_END
};
static const struct dpctl_field selector[] = {
    F("matchLabels", LABELS),
    F_SUB("matchExpressions", OBJS, 0, expression), F_END
};
static const struct dpctl_field ip_block[] = {
    F_REQ("cidr", CIDR), F("except", CIDRS), F_END
};

static const struct dpctl_field np_port[] = {
    F_ENUM("protocol", 0, PROTOCOLS, NULL), F_INT_OR_STR("port"),
    F_PORT("endPort"), F_END
};
static const struct dpctl_field np_peer[] = {
    F_SUB("podSelector", OBJ, 0, selector),
    F_SUB("namespaceSelector", OBJ, 0, selector),
    F_SUB("ipBlock", OBJ, 0, ip_block), F_END
};
static const struct dpctl_field np_ingress[] = {
    F_SUB("from", OBJS, 0, np_peer), F_SUB("ports", OBJS, 0, np_port), F_END
};
static const struct dpctl_field np_egress[] = {
    F_SUB("to", OBJS, 0, np_peer), F_SUB("ports", OBJS, 0, np_port), F_END
};
static const struct dpctl_field np_spec[] = {
    F_SUB("podSelector", OBJ, 0, selector), F("policyTypes", STRS),
    F_SUB("ingress", OBJS, 0, np_ingress),
    F_SUB("egress", OBJS, 0, np_egress), F_END
};
static const struct dpctl_field np_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_REQUIRED, np_spec),
    F("status", ANY), F_END
};

/* Antrea's policies, tiers and groups. */

static const struct dpctl_field namespaced_name[] = {
    F_REQ("name", STR), F("namespace", STR), F_END
};
static const struct dpctl_field ap_applied_to[] = {
    F_SUB("podSelector", OBJ, 0, selector),
    F_SUB("namespaceSelector", OBJ, 0, selector), F("group", STR),
    F_SUB("serviceAccount", OBJ, 0, namespaced_name),
    F_SUB("service", OBJ, 0, namespaced_name),
    F_SUB("nodeSelector", OBJ, 0, selector),
    F_NOT("externalEntitySelector"), F_END
};
static const struct dpctl_field ap_namespaces[] = {
    F_ENUM("match", 0, "Self", NULL), F("sameLabels", STRS), F_END
};
static const struct dpctl_field ap_peer[] = {
    F_SUB("podSelector", OBJ, 0, selector),
    F_SUB("namespaceSelector", OBJ, 0, selector),
    F_SUB("ipBlock", OBJ, 0, ip_block), F("group", STR),
    F_SUB("namespaces", OBJ, 0, ap_namespaces),
    F_SUB("serviceAccount", OBJ, 0, namespaced_name),
    F_SUB("nodeSelector", OBJ, 0, selector),
    F_ENUM("scope", 0, "Cluster", "ClusterSet"),
    F("fqdn", STR), F_NOT("externalEntitySelector"), F_END
};
static const struct dpctl_field ap_port[] = {
    F_ENUM("protocol", 0, PROTOCOLS, NULL), F_INT_OR_STR("port"),
    F_PORT("endPort"), F_PORT("sourcePort"), F_PORT("sourceEndPort"), F_END
};
static const struct dpctl_field ap_icmp[] = {
    F_INT("icmpType", 0, 255), F_INT("icmpCode", 0, 255), F_END
};
static const struct dpctl_field ap_igmp[] = {
    F_INT("igmpType", 0, 255), F("groupAddress", STR), F_END
};
static const struct dpctl_field ap_protocol[] = {
    F_SUB("icmp", OBJ, 0, ap_icmp), F_SUB("igmp", OBJ, 0, ap_igmp), F_END
};
static const struct dpctl_field ap_to_service[] = {
    F_REQ("name", STR), F("namespace", STR),
    F_ENUM("scope", 0, "Cluster", "ClusterSet"), F_END
};
static const struct dpctl_field l7_http[] = {
    F("host", STR),
    F_ENUM("method", 0, "GET,POST,PUT,HEAD,DELETE,TRACE,OPTIONS,CONNECT,PATCH",
           NULL),
    F("path", STR), F_END
};
static const struct dpctl_field l7_tls[] = { F("sni", STR), F_END };
static const struct dpctl_field l7_protocol[] = {
    F_SUB("http", OBJ, 0, l7_http), F_SUB("tls", OBJ, 0, l7_tls), F_END
};
static const struct dpctl_field ap_rule[] = {
    F_ENUM("action", DPCTL_REQUIRED, "Allow,Drop,Reject,Pass", NULL),
    F("name", STR), F_SUB("from", OBJS, 0, ap_peer),
    F_SUB("to", OBJS, 0, ap_peer), F_SUB("ports", OBJS, 0, ap_port),
    F_SUB("protocols", OBJS, 0, ap_protocol),
    F_SUB("appliedTo", OBJS, 0, ap_applied_to),
    F_SUB("toServices", OBJS, 0, ap_to_service),
    F_SUB("l7Protocols", OBJS, 0, l7_protocol), F("enableLogging", BOOL),
    F("logLabel", STR), F_END
};
static const struct dpctl_field ap_spec[] = {
    F("tier", STR), F_REQ("priority", NUM),
    F_SUB("appliedTo", OBJS, 0, ap_applied_to),
    F_SUB("ingress", OBJS, 0, ap_rule), F_SUB("egress", OBJS, 0, ap_rule),
    F_END
};
static const struct dpctl_field ap_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_REQUIRED, ap_spec),
    F("status", ANY), F_END
};

static const struct dpctl_field tier_spec[] = {
    F_INT_REQ("priority", 0, 255), F("description", STR), F_END
};
static const struct dpctl_field tier_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_REQUIRED, tier_spec), F_END
};

static const struct dpctl_field group_spec[] = {
    F_SUB("podSelector", OBJ, 0, selector),
    F_SUB("namespaceSelector", OBJ, 0, selector),
    F_SUB("ipBlock", OBJ, 0, ip_block), F_SUB("ipBlocks", OBJS, 0, ip_block),
    F("childGroups", STRS),
    F_SUB("serviceReference", OBJ, 0, namespaced_name),
    F_NOT("externalEntitySelector"), F_END
};
static const struct dpctl_field group_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_REQUIRED, group_spec),
    F("status", ANY), F_END
};

/* The policies of a cluster's administrators.  Namespaces are selected by
 * "namespaces" itself; version 0.1.1 of the API had a namespaceSelector in
 * it. */

static const struct dpctl_field anp_namespaces[] = {
    F("matchLabels", LABELS), F_SUB("matchExpressions", OBJS, 0, expression),
    F_SUB("namespaceSelector", OBJ, 0, selector),
    F_NOT("sameLabels"), F_NOT("notSameLabels"), F_END
};
static const struct dpctl_field anp_pods[] = {
    F_SUB("namespaces", OBJ, 0, anp_namespaces),
    F_SUB("namespaceSelector", OBJ, 0, selector),
    F_SUB("podSelector", OBJ, DPCTL_REQUIRED, selector), F_END
};
static const struct dpctl_field anp_subject[] = {
    F_SUB("namespaces", OBJ, 0, selector), F_SUB("pods", OBJ, 0, anp_pods),
    F_END
};
static const struct dpctl_field anp_from[] = {
    F_SUB("namespaces", OBJ, 0, anp_namespaces),
    F_SUB("pods", OBJ, 0, anp_pods), F_END
};
static const struct dpctl_field anp_to[] = {
    F_SUB("namespaces", OBJ, 0, anp_namespaces),
    F_SUB("pods", OBJ, 0, anp_pods), F_SUB("nodes", OBJ, 0, selector),
    F("networks", CIDRS), F_NOT("domainNames"), F_END
};
static const struct dpctl_field anp_port_number[] = {
    F_ENUM("protocol", 0, PROTOCOLS, NULL), F_INT_REQ("port", 1, 65535), F_END
};
static const struct dpctl_field anp_port_range[] = {
    F_ENUM("protocol", 0, PROTOCOLS, NULL), F_INT_REQ("start", 1, 65535),
    F_INT_REQ("end", 1, 65535), F_END
};
static const struct dpctl_field anp_port[] = {
    F_SUB("portNumber", OBJ, 0, anp_port_number),
    F_SUB("portRange", OBJ, 0, anp_port_range), F("namedPort", STR), F_END
};

#define ADMIN_RULE(PEER_NAME, PEER, ACTIONS)                         \
    F("name", STR), F_ENUM("action", DPCTL_REQUIRED, ACTIONS, NULL), \
    F_SUB(PEER_NAME, OBJS, DPCTL_REQUIRED, PEER),                    \
    F_SUB("ports", OBJS, 0, anp_port), F_END

static const struct dpctl_field anp_ingress[] = {
    ADMIN_RULE("from", anp_from, "Allow,Deny,Pass")
};
static const struct dpctl_field anp_egress[] = {
    ADMIN_RULE("to", anp_to, "Allow,Deny,Pass")
};
static const struct dpctl_field banp_ingress[] = {
    ADMIN_RULE("from", anp_from, "Allow,Deny")
};
static const struct dpctl_field banp_egress[] = {
    ADMIN_RULE("to", anp_to, "Allow,Deny")
};
static const struct dpctl_field anp_spec[] = {
    F_INT_REQ("priority", 0, 1000),
    F_SUB("subject", OBJ, DPCTL_REQUIRED, anp_subject),
    F_SUB("ingress", OBJS, 0, anp_ingress),
    F_SUB("egress", OBJS, 0, anp_egress), F_END
};
static const struct dpctl_field banp_spec[] = {
    F_SUB("subject", OBJ, DPCTL_REQUIRED, anp_subject),
    F_SUB("ingress", OBJS, 0, banp_ingress),
    F_SUB("egress", OBJS, 0, banp_egress), F_END
};
static const struct dpctl_field anp_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_REQUIRED, anp_spec),
    F("status", ANY), F_END
};
static const struct dpctl_field banp_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_REQUIRED, banp_spec),
    F("status", ANY), F_END
};

/* Antrea's controlplane API: selectors are resolved already. */

static const struct dpctl_field cp_net[] = {
    F_REQ("ip", STR), F_INT("prefixLength", 0, 128), F_END
};
static const struct dpctl_field cp_block[] = {
    F_SUB("cidr", OBJ, DPCTL_REQUIRED, cp_net),
    F_SUB("except", OBJS, 0, cp_net), F_END
};
static const struct dpctl_field cp_to_service[] = {
    F_REQ("name", STR), F_REQ("namespace", STR), F_END
};
static const struct dpctl_field cp_peer[] = {
    F("addressGroups", STRS), F_SUB("ipBlocks", OBJS, 0, cp_block),
    F_SUB("toServices", OBJS, 0, cp_to_service),
    F("fqdns", STRS), F_NOT("labelIdentities"), F_END
};
static const struct dpctl_field cp_service[] = {
    F_ENUM("protocol", 0, "TCP,UDP,SCTP,ICMP,IGMP", NULL),
    F_INT_OR_STR("port"), F_PORT("endPort"),
    F_INT("icmpType", 0, 255), F_INT("icmpCode", 0, 255),
    F_PORT("srcPort"), F_PORT("srcEndPort"), F_INT("igmpType", 0, 255),
    F("groupAddress", STR), F_END
};
static const struct dpctl_field cp_rule[] = {
    F_ENUM("direction", DPCTL_REQUIRED, "In,Out", NULL),
    F_SUB("from", OBJ, 0, cp_peer), F_SUB("to", OBJ, 0, cp_peer),
    F_SUB("services", OBJS, 0, cp_service),
    F_INT("priority", -1, 1000000),
    F_ENUM("action", 0, "Allow,Drop,Reject,Pass", NULL),
    F("enableLogging", BOOL), F("appliedToGroups", STRS), F("name", STR),
    F_SUB("l7Protocols", OBJS, 0, l7_protocol), F("logLabel", STR), F_END
};
static const struct dpctl_field cp_source[] = {
    F_ENUM("type", DPCTL_REQUIRED,
           "K8sNetworkPolicy,AntreaClusterNetworkPolicy,AntreaNetworkPolicy,"
           "AdminNetworkPolicy,BaselineAdminNetworkPolicy", NULL),
    F("namespace", STR), F_REQ("name", STR), F("uid", STR), F_END
};
static const struct dpctl_field cp_policy_schema[] = {
    F_HEAD, F_SUB("rules", OBJS, 0, cp_rule), F("appliedToGroups", STRS),
    F("priority", NUM), F_INT("tierPriority", 0, 255),
    F_SUB("sourceRef", OBJ, DPCTL_REQUIRED, cp_source), F_END
};
static const struct dpctl_field cp_pod[] = {
    F_REQ("name", STR), F_REQ("namespace", STR), F_END
};
static const struct dpctl_field cp_member[] = {
    F_SUB("pod", OBJ, 0, cp_pod), F("ips", STRS), F("ports", ANY),
    F_NOT("externalEntity"), F_NOT("node"), F_NOT("service"), F_END
};
static const struct dpctl_field cp_group_schema[] = {
    F_HEAD, F_SUB("groupMembers", OBJS, 0, cp_member), F_END
};

/* Antrea's Egress and TrafficControl. */

static const struct dpctl_field applied_to[] = {
    F_SUB("podSelector", OBJ, 0, selector),
    F_SUB("namespaceSelector", OBJ, 0, selector), F("groups", STRS), F_END
};

static const struct dpctl_field bandwidth[] = {
    F_REQ("rate", STR), F_REQ("burst", STR), F_END
};
static const struct dpctl_field egress_spec[] = {
    F_SUB("appliedTo", OBJ, DPCTL_REQUIRED, applied_to), F("egressIP", IP),
    F("externalIPPool", STR), F_NOT("egressIPs"), F_NOT("externalIPPools"),
    F_SUB("bandwidth", OBJ, 0, bandwidth), F_END
};
static const struct dpctl_field egress_status[] = {
    F("egressNode", STR), F_END
};
static const struct dpctl_field egress_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_REQUIRED, egress_spec),
    F_SUB("status", OBJ, DPCTL_OPEN, egress_status), F_END
};

static const struct dpctl_field named_port[] = { F_REQ("name", STR), F_END };
static const struct dpctl_field target_port[] = {
    F_SUB("ovsInternal", OBJ, 0, named_port),
    F_SUB("device", OBJ, 0, named_port), F_NOT("geneve"), F_NOT("vxlan"),
    F_NOT("gre"), F_NOT("erspan"), F_END
};
static const struct dpctl_field return_port[] = {
    F_SUB("ovsInternal", OBJ, 0, named_port),
    F_SUB("device", OBJ, 0, named_port), F_END
};
static const struct dpctl_field tc_spec[] = {
    F_SUB("appliedTo", OBJ, DPCTL_REQUIRED, applied_to),
    F_ENUM("direction", DPCTL_REQUIRED, "Ingress,Egress,Both", NULL),
    F_ENUM("action", DPCTL_REQUIRED, "Mirror,Redirect", NULL),
    F_SUB("targetPort", OBJ, DPCTL_REQUIRED, target_port),
    F_SUB("returnPort", OBJ, 0, return_port), F_END
};
static const struct dpctl_field tc_schema[] = {
    F_HEAD, F_SUB("spec", OBJ, DPCTL_REQUIRED, tc_spec), F_END
};

/* Kinds. */

#define CRD "crd.antrea.io"
#define CP "controlplane.antrea.io"
#define ADMIN "policy.networking.k8s.io"

const struct dpctl_kind dpctl_kinds[DPCTL_N_KINDS] = {
    { DPCTL_NODE, "Node", "", "v1", "node,nodes,no", false, node_schema },
    { DPCTL_NAMESPACE, "Namespace", "", "v1", "namespace,namespaces,ns",
      false, namespace_schema },
    { DPCTL_POD, "Pod", "", "v1", "pod,pods,po", true, pod_schema },
    { DPCTL_SERVICE, "Service", "", "v1", "service,services,svc", true,
      service_schema },
    { DPCTL_ENDPOINTS, "Endpoints", "", "v1", "endpoints,ep", true,
      endpoints_schema },
    { DPCTL_ENDPOINT_SLICE, "EndpointSlice", "discovery.k8s.io",
      "v1,v1beta1", "endpointslice,endpointslices", true, slice_schema },
    { DPCTL_K8S_NP, "NetworkPolicy", "networking.k8s.io", "v1",
      "networkpolicy,networkpolicies,netpol,np", true, np_schema },
    { DPCTL_ACNP, "ClusterNetworkPolicy", CRD, "v1beta1,v1alpha1",
      "clusternetworkpolicy,clusternetworkpolicies,acnp", false, ap_schema },
    { DPCTL_ANNP, "NetworkPolicy", CRD, "v1beta1,v1alpha1",
      "networkpolicy,networkpolicies,netpol,np,annp", true, ap_schema },
    { DPCTL_ADMIN_NP, "AdminNetworkPolicy", ADMIN, "v1alpha1",
      "adminnetworkpolicy,adminnetworkpolicies,anp", false, anp_schema },
    { DPCTL_BASELINE_ADMIN_NP, "BaselineAdminNetworkPolicy", ADMIN,
      "v1alpha1", "baselineadminnetworkpolicy,baselineadminnetworkpolicies,"
      "banp", false, banp_schema },
    { DPCTL_TIER, "Tier", CRD, "v1beta1,v1alpha1", "tier,tiers,tr", false,
      tier_schema },
    { DPCTL_CLUSTER_GROUP, "ClusterGroup", CRD, "v1beta1,v1alpha3",
      "clustergroup,clustergroups,cg", false, group_schema },
    { DPCTL_GROUP, "Group", CRD, "v1beta1,v1alpha3", "group,groups,grp",
      true, group_schema },
    { DPCTL_CP_NP, "NetworkPolicy", CP, "v1beta2",
      "networkpolicy,networkpolicies,netpol,np", false, cp_policy_schema },
    { DPCTL_CP_ADDRESS_GROUP, "AddressGroup", CP, "v1beta2",
      "addressgroup,addressgroups", false, cp_group_schema },
    { DPCTL_CP_APPLIED_TO_GROUP, "AppliedToGroup", CP, "v1beta2",
      "appliedtogroup,appliedtogroups", false, cp_group_schema },
    { DPCTL_EGRESS, "Egress", CRD, "v1beta1,v1alpha2", "egress,egresses,eg",
      false, egress_schema },
    { DPCTL_TRAFFIC_CONTROL, "TrafficControl", CRD, "v1alpha2",
      "trafficcontrol,trafficcontrols,tc", false, tc_schema },
};

static const char *const record_kinds[][2] = {
    { "NodeConfig", "nodeconfigs" }, { "Pod", "pods" },
    /* As Antrea's own tool calls them. */
    { "Pod", "podinterfaces" }, { "Pod", "podinterface" },
    { "FQDN", "fqdncache" },
    { "PeerNode", "peernodes" }, { "Service", "services" },
    { "NetworkPolicy", "networkpolicies" }, { "NetworkPolicy", "policies" },
    { "NetworkPolicy", "policy" },
    { "AddressGroup", "addressgroups" },
    { "AppliedToGroup", "appliedtogroups" }, { "Egress", "egresses" },
    { "TrafficControl", "trafficcontrols" }, { "Manifest", "manifests" },
    { "FQDN", "fqdns" }, { "MulticastGroup", "multicastgroups" },
};

static bool
list_has(const char *list, const char *word, size_t len)
{
    while (*list) {
        size_t n = strcspn(list, ",");
        if (n == len && !strncasecmp(list, word, n)) {
            return true;
        }
        list += n + (list[n] == ',');
    }
    return false;
}

const struct dpctl_kind *
dpctl_kind_find(const char *api_version, const char *kind, bool *known_kind)
{
    const char *slash = strchr(api_version, '/');
    const char *version = slash ? slash + 1 : api_version;
    size_t group_len = slash ? slash - api_version : 0;

    *known_kind = false;
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        const struct dpctl_kind *k = &dpctl_kinds[i];
        if (!strcmp(k->kind, kind) && strlen(k->group) == group_len
            && !strncmp(k->group, api_version, group_len)) {
            *known_kind = true;
            if (list_has(k->versions, version, strlen(version))) {
                return k;
            }
        }
    }
    return NULL;
}

const char *
dpctl_kind_meant(const char *api_version, const char *kind)
{
    const char *slash = strchr(api_version, '/');
    size_t group_len = slash ? slash - api_version : 0;

    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        const struct dpctl_kind *k = &dpctl_kinds[i];

        if (strcmp(k->kind, kind) && strlen(k->group) == group_len
            && !strncmp(k->group, api_version, group_len)
            && list_has(k->names, kind, strlen(kind))) {
            return k->kind;
        }
    }
    return NULL;
}

char *
dpctl_kind_versions(const char *kind)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        const struct dpctl_kind *k = &dpctl_kinds[i];

        if (!strcmp(k->kind, kind)) {
            ds_put_format(&ds, "%s%s%s%.*s", ds.length ? ", " : "", k->group,
                          k->group[0] ? "/" : "",
                          (int) strcspn(k->versions, ","), k->versions);
        }
    }
    return ds.length ? ds_steal_cstr(&ds) : NULL;
}

const char *
dpctl_kind_policy_type(const struct dpctl_kind *k)
{
    return (k->id == DPCTL_K8S_NP ? "K8sNetworkPolicy"
            : k->id == DPCTL_ACNP ? "AntreaClusterNetworkPolicy"
            : k->id == DPCTL_ANNP ? "AntreaNetworkPolicy"
            : dpctl_is_admin_policy(k) ? k->kind : NULL);
}

bool
dpctl_kind_is_called(const struct dpctl_kind *k, const char *word)
{
    size_t len = strcspn(word, ".");

    return (list_has(k->names, word, len)
            && (!word[len] || !strcmp(word + len + 1, k->group)
                || (!k->group[0] && !strcmp(word + len, ".v1"))));
}

void
dpctl_kind_words(struct svec *words)
{
    for (size_t i = 0; i < ARRAY_SIZE(record_kinds); i++) {
        svec_add(words, record_kinds[i][1]);
    }
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        for (const char *p = dpctl_kinds[i].names; *p; ) {
            size_t n = strcspn(p, ",");

            svec_add_nocopy(words, xmemdup0(p, n));
            p += n + (p[n] == ',');
        }
    }
}

const char *
dpctl_record_kind(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(record_kinds); i++) {
        if (!strcasecmp(word, record_kinds[i][0])
            || !strcasecmp(word, record_kinds[i][1])) {
            return record_kinds[i][0];
        }
    }
    return NULL;
}

bool
dpctl_is_record_kind(const char *kind)
{
    const char *name = dpctl_record_kind(kind);
    return name && !strcmp(name, kind);
}

static bool
is_object_name(const char *name)
{
    size_t len = strlen(name);

    return (len > 0 && len <= 253
            && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == len);
}

static const struct dpctl_field identity_metadata[] = {
    F_REQ("name", STR), F("namespace", STR), F("labels", ANY),
    F("annotations", ANY), F("deletionTimestamp", ANY), F_META_REST, F_END
};
static const struct dpctl_field identity[] = {
    F_SUB("metadata", OBJ, DPCTL_REQUIRED, identity_metadata), F_END
};

char *
dpctl_kind_check_identity(const struct dpctl_kind *k,
                          const struct json *object)
{
    char *error = dpctl_schema_check(object, identity, true);
    if (error) {
        return error;
    }
    const char *name = dpctl_json_str(object, "metadata.name");
    const char *namespace_ = dpctl_json_str(object, "metadata.namespace");
    if (!is_object_name(name)) {
        return xasprintf("metadata.name: \"%s\" is no name: it must consist "
                         "of a-z, 0-9, '-' and '.'", name);
    }
    if (namespace_ && !k->namespaced) {
        return xstrdup("metadata.namespace: objects of this kind have no "
                       "namespace");
    }
    if (namespace_ && !is_object_name(namespace_)) {
        return xasprintf("metadata.namespace: \"%s\" is no name",
                         namespace_);
    }
    return NULL;
}

struct json *
dpctl_kind_identity(const struct json *object)
{
    return dpctl_schema_prune(object, identity);
}

char *
dpctl_kind_check(const struct dpctl_kind *k, const struct json *object,
                 const char *default_namespace)
{
    char *error = dpctl_schema_check(object, k->schema, false);
    if (!error) {
        error = dpctl_kind_check_identity(k, object);
    }
    if (!error) {
        error = dpctl_service_check(k->id, object);
    }
    return error ? error : dpctl_policy_check(k->id, object,
                                              default_namespace);
}

char *
dpctl_kind_title(const struct dpctl_kind *k, const struct json *object,
                 const char *default_namespace)
{
    const char *namespace_ = dpctl_json_str(object, "metadata.namespace");
    const char *name = dpctl_json_str(object, "metadata.name");

    if (!namespace_) {
        namespace_ = default_namespace;
    }
    return (k->namespaced
            ? xasprintf("%s %s/%s", k->kind, namespace_, name ? name : "?")
            : xasprintf("%s %s", k->kind, name ? name : "?"));
}

char *
dpctl_manifest_name(const struct dpctl_kind *k, const char *namespace_,
                    const char *name)
{
    return xasprintf("%s.%s/%s%s%s", k->kind,
                     k->group[0] ? k->group : k->versions,
                     k->namespaced ? namespace_ : "",
                     k->namespaced ? "/" : "", name);
}

char *
dpctl_manifest_name_of(const struct dpctl_kind *k, const struct json *object)
{
    return dpctl_manifest_name(k, dpctl_json_str(object,
                                                 "metadata.namespace"),
                               dpctl_json_str(object, "metadata.name"));
}

/* What follows 'word' and 'end' in 's', which begins with them; or NULL. */
static const char *
after_word(const char *s, const char *word, char end)
{
    size_t len = strlen(word);

    return !strncmp(s, word, len) && s[len] == end ? s + len + 1 : NULL;
}

const char *
dpctl_manifest_of_key(const char *record_key)
{
    static const char prefix[] = "Manifest ";

    return (strncmp(record_key, prefix, strlen(prefix)) ? NULL
            : record_key + strlen(prefix));
}

const struct dpctl_kind *
dpctl_manifest_kind(const char *manifest_name)
{
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        const struct dpctl_kind *k = &dpctl_kinds[i];
        const char *rest = after_word(manifest_name, k->kind, '.');

        if (rest && after_word(rest, k->group[0] ? k->group : k->versions,
                               '/')) {
            return k;
        }
    }
    return NULL;
}

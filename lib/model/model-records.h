/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MODEL_RECORDS_H
#define ADP_MODEL_RECORDS_H 1

/* The records of a model, parsed.
 *
 * For those who derive something from a model: the checks across records and
 * the built-in pipelines.  A record never changes after it was parsed; models
 * share it by reference count.  Each type below starts with a struct
 * adp_record, which 'kind' allows to cast to the type.
 *
 * Thread-safety: as the model (reference counts aren't atomic).
 * Memory: all pointers belong to the record.
 */

#include <netinet/in.h>
#include "model-ip.h"
#include "model.h"
#include "openvswitch/types.h"
#include "openvswitch/util.h"

/* KIND(ENUMERATOR, "Name", function suffix): every kind, in alphabetic
 * order. */
#define ADP_KINDS                                                   \
    KIND(ADDRESS_GROUP, "AddressGroup", address_group)              \
    KIND(APPLIED_TO_GROUP, "AppliedToGroup", applied_to_group)      \
    KIND(EGRESS, "Egress", egress)                                  \
    KIND(FQDN, "FQDN", fqdn)                                        \
    KIND(MANIFEST, "Manifest", manifest)                            \
    KIND(MULTICAST_GROUP, "MulticastGroup", multicast_group)        \
    KIND(NETWORK_POLICY, "NetworkPolicy", network_policy)           \
    KIND(NODE_CONFIG, "NodeConfig", node_config)                    \
    KIND(PEER_NODE, "PeerNode", peer_node)                          \
    KIND(POD, "Pod", pod)                                           \
    KIND(SERVICE, "Service", service)                               \
    KIND(TRAFFIC_CONTROL, "TrafficControl", traffic_control)

enum adp_kind {
#define KIND(ENUM, NAME, FUNC) ADP_KIND_##ENUM,
    ADP_KINDS
#undef KIND
    ADP_N_KINDS
};

const char *adp_kind_to_string(enum adp_kind);
bool adp_kind_from_string(const char *, enum adp_kind *);
/* The kind that the member "kind" names, whatever the JSON is. */
bool adp_kind_from_json(const struct json *, enum adp_kind *);
/* Records of the kind are made by the daemon, which is what adp_model_*_own()
 * are for: nobody else changes them or lists them with all others. */
bool adp_kind_is_own(enum adp_kind);

/* The name of a protocol that a port of a Service may have. */
const char *adp_protocol_to_string(uint8_t protocol);

struct adp_record {
    enum adp_kind kind;
    char *name;
    struct json *json;          /* As it was given, compact: of a
                                 * NetworkPolicy the text. */
    uint64_t birth;             /* Stays when the record is replaced; one that
                                 * comes after a deletion has another. */
    size_t n_refs;
};

/* A list of names, as they stand in the record. */
struct adp_names {
    char **names;
    size_t n;
};

/* What a Node has of a family. */
struct adp_node_net {
    struct in6_addr gateway_ip; /* None: nothing. */
    struct adp_cidr pod_cidr;
};

static inline bool
adp_node_net_is_set(const struct adp_node_net *net)
{
    return ipv6_addr_is_set(&net->gateway_ip);
}

struct adp_node_config {
    struct adp_record up;
    char *gateway_port;
    struct eth_addr gateway_mac;
    struct adp_node_net net[ADP_N_FAMILIES];
    char *tunnel_port;          /* NULL if there is no tunnel. */
    char *l7_target_port;       /* What L7 rules allow leaves by this one, */
    char *l7_return_port;       /* and comes back by that one. */
    bool has_service_cidr[ADP_N_FAMILIES];
    struct adp_cidr service_cidr[ADP_N_FAMILIES];
    struct in6_addr transport_ip;
    struct adp_ips node_port_addresses;
    bool proxy_all;
};

struct adp_pod {
    struct adp_record up;
    char *port;
    struct eth_addr mac;
    struct adp_ips ips;
};

struct adp_peer_node {
    struct adp_record up;
    struct adp_node_net net[ADP_N_FAMILIES];
    struct in6_addr transport_ip;
    struct adp_ips node_ips;    /* Where it is reached, too. */
};

struct adp_endpoint {
    struct in6_addr ip;
    uint16_t port;
    uint16_t weight;
    bool local;
    bool terminating;           /* It ends, and serves until then. */
    bool local_only;            /* For traffic policy Local only; 'local'. */
};

struct adp_service_port {
    uint8_t protocol;           /* IPPROTO_*. */
    uint16_t port;
    uint16_t node_port;         /* 0 if there is none. */
    struct adp_endpoint *endpoints;
    size_t n_endpoints;
    bool has_ready[ADP_N_FAMILIES][2]; /* For traffic policy Cluster and
                                        * Local: some that don't
                                        * terminate? */
};

struct adp_service {
    struct adp_record up;
    struct in6_addr cluster_ip[ADP_N_FAMILIES]; /* Each may be none. */
    struct adp_ips load_balancer_ips;
    struct adp_ips external_ips;
    struct adp_cidr *source_ranges; /* Of clients of 'load_balancer_ips'. */
    size_t n_source_ranges;     /* 0: all. */
    char *created;              /* When, as a text that sorts; or NULL. */
    struct adp_service_port *ports;
    size_t n_ports;
    uint16_t affinity_timeout;  /* Seconds; 0: no session affinity. */
    bool external_local;        /* externalTrafficPolicy is Local. */
    bool dsr;                   /* Endpoints are to answer clients outside
                                 * straight. */
    bool internal_local;        /* internalTrafficPolicy is Local. */
};

enum adp_policy_type {
    ADP_POLICY_K8S,
    ADP_POLICY_ACNP,            /* AntreaClusterNetworkPolicy. */
    ADP_POLICY_ANP,             /* AntreaNetworkPolicy. */
    ADP_POLICY_ADMIN,           /* AdminNetworkPolicy. */
    ADP_POLICY_BASELINE_ADMIN   /* BaselineAdminNetworkPolicy. */
};

/* The same, in the order of the enum, and NULL. */
extern const char *const adp_policy_types[];
const char *adp_policy_type_to_string(enum adp_policy_type);

enum adp_action {
    ADP_ACTION_ALLOW,
    ADP_ACTION_DROP,
    ADP_ACTION_REJECT,          /* Drop, and tell the sender. */
    ADP_ACTION_PASS             /* Leave it to Kubernetes' policies. */
};

/* The same, in the order of the enum, and NULL. */
extern const char *const adp_actions[];

/* From this tier on policies come after those of Kubernetes. */
#define ADP_TIER_BASELINE 253

struct adp_ip_block {
    struct adp_cidr cidr;
    struct adp_cidr *excepts;   /* Each within 'cidr'. */
    size_t n_excepts;
};

/* The peers of a rule: the union of what it lists. */
struct adp_peer {
    bool present;
    struct adp_names address_groups;
    struct adp_ip_block *ip_blocks;
    size_t n_ip_blocks;
    struct adp_names to_services; /* Egress: Services, as long as they are
                                   * there. */
    struct adp_names fqdns;     /* Egress: names in lower case, perhaps with
                                 * "*"s: what FQDN records know of them. */
};

struct adp_network_policy_service {
    uint8_t protocol;           /* IPPROTO_*. */
    uint16_t port, end_port;    /* 0 to 0: all ports. */
    uint16_t src_port, src_end_port; /* The same of the packet's source. */
    int16_t icmp_type;          /* -1: all. */
    int16_t icmp_code;          /* -1: all. */
    int16_t igmp_type;          /* -1: all. */
    ovs_be32 group_address;     /* IGMP: 0 is all. */
};

/* The one type of IGMP that Pods get. */
#define ADP_IGMP_QUERY 0x11

struct adp_network_policy_rule {
    char *name;                 /* May be NULL. */
    bool ingress;
    unsigned int index;         /* Among the policy's of that direction. */
    unsigned int priority;      /* Among them, smaller ones first; rules that
                                 * stand for one as it was written share it. */
    enum adp_action action;
    struct adp_names applied_to; /* If this and the next are empty the */
    struct adp_names applied_to_services; /* policy's hold. */
    struct adp_peer peer;
    struct adp_network_policy_service *services;
    size_t n_services;
    struct json *l7_protocols;  /* NULL, or an array: what an engine is to let
                                 * pass of what the rule allows. */
    bool logs;                  /* What it decides, and of a K8sNetworkPolicy
                                 * what its isolation drops, is to be
                                 * logged, */
    char *log_label;            /* with this; may be NULL. */
    char *identity;             /* Text that equal rules share: a hash that
                                 * no two others have. */
};

struct adp_network_policy {
    struct adp_record up;
    enum adp_policy_type type;
    uint8_t tier_priority;      /* Antrea's types only. */
    double priority;            /* Antrea's types only. */
    struct adp_names applied_to;
    struct adp_names applied_to_services; /* Instead: Services, as long as they
                                           * have NodePorts. */
    struct adp_network_policy_rule *rules;
    size_t n_rules;
};

/* Or an FQDN: its name is one that rules give, perhaps with "*"s, its
 * addresses are those that such names have, as far as DNS answers told. */
struct adp_address_group {
    struct adp_record up;
    struct adp_cidr *addresses;
    size_t n_addresses;
};

/* Who receives what is sent to a group, as far as messages of IGMP told: its
 * name is the group's address. */
struct adp_multicast_group {
    struct adp_record up;
    ovs_be32 ip;
    struct adp_names ports;     /* Of this Node's Pods. */
    struct adp_ips nodes;       /* Transport addresses of others' Nodes. */
};

struct adp_applied_to_group {
    struct adp_record up;
    struct adp_names pods;
};

/* How much may pass: 'rate' kilobits a second, after a pause 'burst' kilobits
 * at once. */
struct adp_bandwidth {
    uint32_t rate;              /* 0: as much as there is. */
    uint32_t burst;
};

/* What Pods send out of the cluster leaves with this address.  Of several that
 * apply to a Pod the first of each family by name does. */
struct adp_egress {
    struct adp_record up;
    struct adp_names applied_to;
    struct in6_addr ip;
    char *node;                 /* That has the address; NULL: none yet. */
    struct adp_bandwidth bandwidth; /* Of all that leaves with the address. */
};

/* What Pods send, or are sent, is copied to a port, or goes there instead.  Of
 * several that apply to a Pod the first by name does. */
struct adp_traffic_control {
    struct adp_record up;
    struct adp_names applied_to;
    bool directions[2];         /* [true]: what Pods are sent. */
    bool redirect;              /* Otherwise: mirror. */
    char *target_port;
    char *return_port;          /* NULL: nothing comes back. */
};

/* Its "keys" stand in its JSON: model-index.h. */
#define ADP_MANIFEST_MAX_KEYS 1024
struct adp_manifest {
    struct adp_record up;
};

/* The record 'json' as it is kept (see adp_model_compact()). */
struct json *adp_record_compact(const struct json *json);
/* Parses 'json', the 'idx'th record of a call, into '*recordp' with one
 * reference, or returns an error. */
struct adp_error *adp_record_parse(const struct json *json, size_t idx,
                                   struct adp_record **recordp);
struct adp_record *adp_record_ref(const struct adp_record *);
void adp_record_unref(struct adp_record *);
/* "Pod default/web".  Caller frees. */
char *adp_record_describe(const struct adp_record *);

/* NULL if there is none. */
const struct adp_record *adp_model_find(const struct adp_model *,
                                        enum adp_kind, const char *name);
/* The NodeConfig that comes first by name, or NULL. */
const struct adp_node_config *adp_model_node_config(const struct adp_model *);
/* All records of 'kind', ordered by name.  Caller frees the array. */
const struct adp_record **adp_model_sorted(const struct adp_model *,
                                           enum adp_kind, size_t *n);

/* The groups to which 'rule' of 'policy' applies, and the Services: one of the
 * two is empty. */
const struct adp_names *adp_network_policy_applied_to(
    const struct adp_network_policy *, const struct adp_network_policy_rule *);
const struct adp_names *adp_network_policy_applied_to_services(
    const struct adp_network_policy *, const struct adp_network_policy_rule *);

/* Is the rule about messages of IGMP?  Is it about what is sent to multicast
 * addresses?  Then '*other' is one of its blocks that has none, if there is
 * one. */
bool adp_network_policy_rule_is_igmp(const struct adp_network_policy_rule *);
bool adp_network_policy_rule_is_multicast(
    const struct adp_network_policy_rule *, const struct adp_ip_block **other);
/* Is what the isolation of a K8sNetworkPolicy drops in this direction to be
 * logged? */
bool adp_network_policy_logs_isolation(const struct adp_network_policy *,
                                       bool ingress);

/* The groups to which an Egress or a TrafficControl applies; NULL for records
 * of other kinds. */
const struct adp_names *adp_record_applied_to(const struct adp_record *);
/* Sets 'ports' to the names of the ports that a TrafficControl needs, and
 * returns how many there are: 0 for records of other kinds. */
#define ADP_RECORD_MAX_PORTS 2
size_t adp_record_ports(const struct adp_record *,
                        const char *ports[ADP_RECORD_MAX_PORTS]);
/* Is the Service one of 'family'?  Those of its ClusterIPs, or, if it has
 * none, IPv4 and those of its endpoints. */
bool adp_service_has_family(const struct adp_service *, enum adp_family);
bool adp_service_has_node_port(const struct adp_service *);
/* May 'ep', one of the port's endpoints, be selected where the traffic policy
 * is Local ('local') or Cluster?  Those that terminate only while there is no
 * other one of their family. */
bool adp_service_port_selects(const struct adp_service_port *,
                              const struct adp_endpoint *ep, bool local);

#endif /* model-records.h */

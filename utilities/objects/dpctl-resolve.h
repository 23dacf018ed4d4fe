/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_RESOLVE_H
#define DPCTL_RESOLVE_H 1

/* From Kubernetes' and Antrea's objects to the records of one node.
 *
 * A pure function: the objects, the node's name, and what OVSDB says of the
 * bridge's ports in; the records of docs/control-socket.md out.  Nothing is
 * remembered from one call to the next, so the records of an old and a new set
 * of objects can be compared to find what has changed.
 *
 * What becomes of what:
 *
 *   - The Node of that name becomes the NodeConfig, the others PeerNodes.
 *   - The Pods of the node become Pod records.  Pods that run in the host's
 *     network, have ended, or have no address yet don't.
 *   - Services become Service records, headless and ExternalName ones don't.
 *     Endpoints come from the Service's EndpointSlices; without any, from the
 *     Endpoints object of its name; without that, from the Pods that it
 *     selects.
 *   - Policies that apply to at least one Pod of the node become NetworkPolicy
 *     records, with the AddressGroups and AppliedToGroups that they name.
 *     Groups are named after their selectors ("default/app=web",
 *     "{env=prod}/app=db"), so that equal selectors share one group.  A rule
 *     with named ports becomes one rule for each set of numbers that the names
 *     stand for in the Pods concerned; it means no Pod without a port of such
 *     a name, and no address of an ipBlock.  Whom a Kubernetes policy isolates
 *     follows from the policy, not from what is left of its rules.
 *     A rule whose peers depend on the Namespace that it is applied to becomes
 *     one for each Namespace with such Pods on this node.  Whatever one rule
 *     becomes has its place, as "priority".
 *     AdminNetworkPolicies are read as ClusterNetworkPolicies (dpctl-admin.h).
 *     A Group or ClusterGroup that isn't there selects nobody, as with
 *     Antrea: the rest of the policy holds.
 *   - An Egress with an address and a TrafficControl become records of
 *     these kinds, with their AppliedToGroups.  A port is named as
 *     "ovsInternal" or "device", which makes no difference.
 *   - Objects of Antrea's controlplane API are taken as they are.
 *   - Addresses of both families are, wherever they stand.
 *
 * Cost: distinct selectors times the Pods of the Namespaces that each is for,
 * and those Namespaces.
 */

#include <stdbool.h>
#include "dpctl-address.h"
#include "openvswitch/shash.h"
#include "openvswitch/types.h"

struct dpctl_kind;
struct json;

/* How long session affinity lasts at the most: timeouts of OpenFlow have 16
 * bits. */
enum { DPCTL_MAX_AFFINITY_S = 65535 };

/* Parts of the result. */
enum {
    DPCTL_PARTS_NODES = 1 << 0,
    DPCTL_PARTS_PODS = 1 << 1,
    DPCTL_PARTS_SERVICES = 1 << 2,
    DPCTL_PARTS_POLICIES = 1 << 3,
    DPCTL_PARTS_CONTROLPLANE = 1 << 4,
};

/* What OVSDB knows of ports. */
struct dpctl_port {
    char *name;
    char *mac;                  /* external_ids:attached-mac; may be NULL. */
    char *ips;                  /* external_ids:ip-address; may be NULL. */
};

struct dpctl_ports {
    bool available;             /* Could OVSDB be read? */
    char *why;                  /* Why not, or NULL. */
    bool annotated;             /* May annotations say which ports and MACs
                                 * Pods have of whom OVSDB doesn't?  Whoever
                                 * makes a Pod writes them: the Bridge has to
                                 * permit it. */
    const struct dpctl_ports *all; /* What OVSDB says of all Pods, if this
                                    * doesn't; or NULL. */
    struct shash by_pod;        /* "NAMESPACE/NAME" to struct dpctl_port. */
    struct shash interface_macs;    /* Interface's name to char * (may be
                                     * NULL): mac_in_use. */
};

void dpctl_ports_init(struct dpctl_ports *);
void dpctl_ports_destroy(struct dpctl_ports *);
/* Adds a copy of a Pod's port. */
void dpctl_ports_add(struct dpctl_ports *, const char *pod,
                     const struct dpctl_port *);
/* Adds the port of a Pod as its record has it. */
void dpctl_ports_add_record(struct dpctl_ports *, const struct json *pod);

/* Does only its port tell whether the Pod is on this node, or its
 * addresses? */
bool dpctl_pod_needs_port(const struct json *pod);

/* Does a packet find the way to a Node: has it a Pod CIDR, and an address? */
bool dpctl_node_is_peer(const struct json *node);

struct dpctl_env {
    const char *node;           /* NULL: the only Node there is. */
    bool change_node;           /* Is it meant to be another one? */
    const struct dpctl_ports *ports;
    const struct json *node_config; /* The NodeConfig in force, or NULL: what
                                     * is given nowhere else is kept. */
    const struct json *old_node; /* The Node object that this was made of, or
                                  * NULL. */
    /* The user's settings; each may be NULL. */
    const char *gateway_port;
    const char *gateway_mac;
    const char *tunnel_port;    /* "none": no tunnel. */
    const char *service_cidr;   /* Or two, with a comma between them. */

    /* Only these records, if it isn't 0: of DPCTL_PARTS_*. */
    unsigned int parts;
    /* Policies become records whether they apply to a Pod of the node or not,
     * without their Tiers' priorities: the groups then tell what the Pods that
     * there are contribute to each.  Policies with an error become none.
     * Rules that there are only while their peers have named ports have
     * "hasNamedPorts". */
    bool everywhere;

    /* Only the keys of the records matter: what can't be resolved (any more)
     * is left out, or is there with something missing. */
    bool keys_only;

    /* If it isn't NULL, objects that can't be resolved are added to it, by
     * their Manifests' names, as char * errors, and the others are resolved.
     * What was made is of no use then. */
    struct shash *refused;

    /* If it isn't NULL, Pods' records, by their keys, that aren't made: those
     * that are in force stay. */
    const struct shash *kept;

    /* If it isn't NULL, how often Pods were looked at is added to it. */
    size_t *n_looks;
};

/* Does the Namespace have its K8s NetworkPolicies logged?  NULL doesn't. */
bool dpctl_namespace_logs(const struct json *namespace_);

/* The families that the Service has: of its ClusterIPs and those that it
 * names; both if there are none. */
void dpctl_service_families(const struct json *service,
                            bool families[DPCTL_N_FAMILIES]);

/* An object with those of a Service record's members that are addresses; empty
 * if the Service becomes none.  The caller destroys it. */
struct json *dpctl_service_addresses(const struct json *service);

/* 'manifests' maps names as in dpctl-kind.h to objects, which were checked and
 * have their namespace.  Puts the records into 'records' (an initialized shash
 * of struct json *, keyed by dpctl_record_key()).  Returns NULL or an error
 * that names the object; then 'records' has some of them. */
char *dpctl_resolve(const struct shash *manifests, const struct dpctl_env *,
                    struct shash *records);

/* The kind, the name and the key of the record that a policy, an Egress or a
 * TrafficControl becomes. */
const char *dpctl_policy_record_kind(const struct dpctl_kind *);
char *dpctl_policy_record_name(const struct dpctl_kind *,
                               const struct json *object);
char *dpctl_policy_record_key(const struct dpctl_kind *,
                              const struct json *object);

/* Frees the records too. */
void dpctl_records_destroy(struct shash *records);

#endif /* dpctl-resolve.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_RESOLVE_PRIVATE_H
#define DPCTL_RESOLVE_PRIVATE_H 1

/* What the parts of the resolver share: see dpctl-resolve.h. */

#include "dpctl-kind.h"
#include "dpctl-resolve.h"
#include "sset.h"
#include "svec.h"

struct resolved_pod {
    char *name;                 /* "NAMESPACE/NAME" */
    const char *namespace_;
    const char *node;           /* May be NULL. */
    const struct shash *labels;
    const struct json *object;
    struct svec ips;            /* In dpctl_address_text()'s spelling. */
    bool local;
    bool host_network;
    bool ended;
    bool ready;                 /* Or serving, if it's terminating. */
    bool terminating;
};

/* The Pods of one Namespace. */
struct pod_space {
    const char *name;
    const struct resolved_pod *pods;    /* In the resolver's. */
    size_t n;
};

/* The Pods that a selector selects, made once for each distinct selector. */
struct pod_group {
    char *name;
    const struct resolved_pod **pods;   /* With an address, not in the host's
                                         * network, in the order of names. */
    size_t n_pods, allocated_pods;
    size_t n_local;
    struct svec addresses;      /* Others than Pods'. */
};

struct resolver {
    const struct dpctl_env *env;
    const char *node;
    struct shash *records;
    struct shash objects[DPCTL_N_KINDS];    /* Manifest's name to object. */
    struct resolved_pod *pods;              /* In the order of names. */
    size_t n_pods;
    struct shash pod_index;                 /* Name to resolved_pod. */
    struct pod_space *spaces;               /* Those with Pods, in the order
                                             * of 'pods'. */
    size_t n_spaces, allocated_spaces;
    struct shash space_index;               /* Name to pod_space. */
    struct sset local_ips;                  /* Of Pods of this Node that have
                                             * them for themselves. */
    struct shash groups;                    /* Name to pod_group. */
};

/* Takes 'record', which has its "kind" and "name" already. */
void resolver_put(struct resolver *, struct json *record);
struct json *resolver_record(const char *kind, const char *name);

/* One object, by its Manifest's name, can't be resolved: takes 'error', and
 * returns it, or NULL where that is noted and the others are to go on. */
char *resolver_refuse(struct resolver *, const char *manifest, char *error);

/* The objects of one kind in the order of their names; free() it. */
const struct shash_node **resolver_sorted(const struct resolver *,
                                          enum dpctl_kind_id, size_t *n);

/* The Pods of a Namespace, of which there may be none. */
const struct pod_space *resolver_space(const struct resolver *,
                                       const char *namespace_);

/* That many Pods were looked at (dpctl_env.n_looks). */
void resolver_note_looks(const struct resolver *, size_t n);

struct json *resolver_strings(const struct svec *);
/* Sorts addresses by value, those of IPv4 first, and drops duplicates. */
void resolver_sort_addresses(struct svec *);

/* Have Pods of this Node IPv6 addresses? */
bool resolver_has_ipv6(const struct resolver *);
/* The label of this Node that says in which zone it is, or NULL. */
const char *resolver_zone(const struct resolver *);

/* 'own_namespace' is NULL for objects of the whole cluster. */
struct pod_group *resolver_group(struct resolver *, const char *own_namespace,
                                 const struct json *pod_selector,
                                 const struct json *namespace_selector);
/* The Pods that run as that ServiceAccount. */
struct pod_group *resolver_account_group(struct resolver *,
                                         const char *namespace_,
                                         const char *name);
/* No Pods, but the addresses of these Nodes. */
struct pod_group *resolver_node_group(struct resolver *,
                                      const struct json *node_selector);
/* Adds the addresses of a Node, its gateway's among them. */
void resolver_node_addresses(const struct json *node, struct svec *);
/* Are the K8s NetworkPolicies of the Namespace of 'object' to be logged? */
bool resolver_namespace_logs(const struct resolver *,
                             const struct json *object);
/* The Namespace's labels, its name among them; caller frees. */
struct json *resolver_namespace_labels(struct resolver *,
                                       const char *namespace_);
/* A group of given Pods, named after another one. */
struct pod_group *resolver_subgroup(struct resolver *, const char *base,
                                    const char *what,
                                    const struct resolved_pod **, size_t n);
/* Make the group's record, and return its name. */
const char *resolver_address_group(struct resolver *,
                                   const struct pod_group *);
const char *resolver_applied_to_group(struct resolver *,
                                      const struct pod_group *);

/* Sets '*groups' to the names of the AppliedToGroups, which it makes, of a
 * list of peers of an object of the whole cluster. */
char *resolver_applied_to(struct resolver *, const char *title,
                          const char *field, const struct json_array *peers,
                          struct json **groups);

/* The number of the Pod's port of that name and protocol; 0 if none. */
int resolver_named_port(const struct resolved_pod *, const char *name,
                        const char *protocol);

/* The parts. */
char *resolve_node_name(struct resolver *);
char *resolve_nodes(struct resolver *);
char *resolve_pods(struct resolver *);      /* And their indexes. */
char *resolve_pod_records(struct resolver *);
char *resolve_services(struct resolver *);
char *resolve_policies(struct resolver *);
char *resolve_applied(struct resolver *);
char *resolve_controlplane(struct resolver *);

#endif /* dpctl-resolve-private.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_RESOLVE_PEERS_H
#define DPCTL_RESOLVE_PEERS_H 1

/* Whom a policy is applied to, and whom its rules speak of: selectors, groups,
 * blocks and Services become groups of Pods and addresses.  Part of the
 * resolver, see dpctl-resolve.h.  Errors are the caller's to free. */

#include "dpctl-resolve-private.h"

struct dpctl_groups {
    struct pod_group **groups;
    size_t n, allocated;
};

/* Whom a rule's "from" or "to" means. */
struct dpctl_peers {
    bool any;                       /* Everybody: no list was given. */
    bool of_own_namespace;          /* Groups may not select Namespaces. */
    struct dpctl_groups groups;
    struct json *blocks;            /* An array. */
    struct json *services;          /* Names of Services; may be NULL. */
    struct json *fqdns;             /* Domain names; may be NULL. */
};

struct dpctl_policy {
    const struct json *object;
    const char *namespace_;         /* NULL: of the whole cluster. */
    const char *title;              /* For messages. */
    const struct dpctl_kind *kind;
    bool is_k8s;
    bool logs;                      /* All of its rules do. */
    struct dpctl_groups applied_to; /* Of the policy, */
    struct json *applied_to_services; /* or names of Services; may be NULL. */
    struct json *rules;
    long long int n_rules[2];       /* Of these for "Out", and for "In". */
};

/* 'group' is there once, however often it is added. */
void dpctl_groups_add(struct dpctl_groups *, struct pod_group *);
/* The Pods of this Node in all of them. */
size_t dpctl_groups_n_local(const struct dpctl_groups *);
/* The names of the records that 'make' makes of them, as an array. */
struct json *dpctl_groups_names(struct resolver *, const struct dpctl_groups *,
                                const char *(*make)(struct resolver *,
                                                    const struct pod_group *));

/* Does 'peer' mean others in each Namespace that the policy is applied to? */
bool dpctl_peer_is_per_namespace(const struct json *peer);

/* The peers in 'list', of 'field'.  'own' is the Namespace for those that are
 * per Namespace, NULL if there are none. */
char *dpctl_peers_resolve(struct resolver *, const struct dpctl_policy *,
                          const char *field, const struct json_array *list,
                          const char *own, struct dpctl_peers *);
/* The Services in a "toServices". */
void dpctl_peers_resolve_services(const struct dpctl_policy *,
                                  const struct json_array *list,
                                  struct dpctl_peers *);
/* The names of the Services in the "appliedTo" of a "spec" or a rule; NULL if
 * it is of others. */
struct json *dpctl_applied_to_services(const struct dpctl_policy *,
                                       const struct json *);
/* Adds 'fqdn' as records have it to '*names', which may be NULL, unless it is
 * there. */
void dpctl_add_fqdn(struct json **names, const char *fqdn);
void dpctl_peers_uninit(struct dpctl_peers *);

/* An "appliedTo". */
char *dpctl_peers_resolve_applied_to(struct resolver *,
                                     const struct dpctl_policy *,
                                     const char *field,
                                     const struct json_array *list,
                                     struct dpctl_groups *);

/* The "from" or "to" of a record, with 'groups' instead of its own if that
 * isn't NULL. */
struct json *dpctl_peers_to_json(struct resolver *,
                                 const struct dpctl_policy *,
                                 const struct dpctl_peers *,
                                 const struct dpctl_groups *groups);

#endif /* dpctl-resolve-peers.h */

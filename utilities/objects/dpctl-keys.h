/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_KEYS_H
#define DPCTL_KEYS_H 1

/* By which keys the daemon finds objects (docs/control-socket.md, "keys").
 *
 * Each object bears keys for what others look for it by:
 *
 *   Namespace      kind:Namespace
 *   Node           kind:Node
 *   Pod            ns:NAMESPACE, l:LABEL=VALUE, ip:ADDRESS,
 *                  sa:NAMESPACE/SERVICEACCOUNT
 *   Service        v:NAMESPACE:LABEL=VALUE      one term of its selector,
 *                  at:ADDRESS                   each that it has
 *   EndpointSlice  svc:NAMESPACE/SERVICE
 *   EndpointSlice, Endpoints
 *                  e:ADDRESS                    an endpoint of no known Node
 *   policies, Egresses, TrafficControls and groups of Pods, for each selector
 *                  s:NAMESPACE:LABEL=VALUE      it needs this label of a Pod,
 *                  t:LABEL=VALUE                or else of a Namespace,
 *                  s:NAMESPACE:*                or else none
 *                  a:NAMESPACE/NAME             a ServiceAccount instead,
 *                  ps:..., pt:..., pa:...       the same of a policy's peers,
 *                  r:ClusterGroup/NAME, r:Group/NAMESPACE/NAME,
 *                  r:Service/NAMESPACE/NAME     what it refers to
 *   Antrea's policies  q:RANK                   see dpctl_policy_rank()
 *   NetworkPolicy of Antrea's controlplane API
 *                  cp:RECORD                    the record's name
 *
 * NAMESPACE is empty in "s:" if the selector isn't bound to one.
 *
 * An object that would have more of them than a record may bears just
 * DPCTL_KEY_ANY, which who asks for others asks for as well (dpctl-world.h).
 *
 * Many policies may have peers everywhere, and most of them apply to no Pod of
 * this Node: their objects aren't asked for because of peers.  One that was
 * stored by an antrea-dpctl that didn't tell peers apart bears "s:", "t:" and
 * "a:" for them, and is found as if it applied to them.
 *
 * Keys find too much rather than too little: who asks looks at what he got.
 */

#include <stdbool.h>

struct dpctl_kind;
struct json;
struct shash;
struct svec;

#define DPCTL_KEY_ANY "*"
/* Of the NodeConfig, and no Manifest. */
#define DPCTL_KEY_NODE_CONFIG "NodeConfig"

/* What others look for an object by, which was checked: adds all of it. */
void dpctl_keys_collect(const struct dpctl_kind *, const struct json *,
                        struct svec *);
/* The keys that it bears, as a JSON array. */
struct json *dpctl_keys_of(const struct dpctl_kind *, const struct json *);

/* What follows adds lists of keys, each a JSON array, to the JSON array
 * 'query'. */
void dpctl_keys_add(struct json *query, const char *key);

/* Whatever may select a Pod, or one like it, in a Namespace with these
 * labels; with 'peers', policies by their peers, else all but these. */
void dpctl_keys_selecting(struct json *query, const struct json *pod,
                          const struct shash *namespace_labels, bool peers);
/* The Services that may select such a Pod. */
void dpctl_keys_services(struct json *query, const char *namespace_,
                         const struct shash *labels);

/* A selector as it stands in an object. */
struct dpctl_selection {
    const char *own_namespace;  /* NULL: of the whole cluster. */
    const struct json *pods;    /* Each may be NULL. */
    const struct json *namespaces;
    const char *account;        /* A ServiceAccount of 'own_namespace';
                                 * otherwise NULL. */
    bool peers;                 /* Does it say whom a policy lets in or out,
                                 * and not to whom something applies? */
};

/* Calls 'cb' for each selector of a policy or a group. */
void dpctl_each_selection(const struct dpctl_kind *, const struct json *,
                          void (*cb)(const struct dpctl_selection *,
                                     void *aux), void *aux);
/* Adds the Manifests' names of the groups that a policy or group refers to,
 * and of the Service by which a group selects Pods. */
void dpctl_group_refs(const struct dpctl_kind *, const struct json *,
                      struct svec *);
/* The key of those that refer to the group of that Manifest's name. */
char *dpctl_ref_key(const char *manifest_name);
/* Does a policy have peers that depend on labels of the Namespace that it
 * applies to?  Nodes among its peers? */
bool dpctl_has_same_labels(const struct json *policy);
bool dpctl_has_nodes(const struct dpctl_kind *, const struct json *policy);
/* Is the "spec" of one of Antrea's policies, or a rule, applied to
 * Services? */
bool dpctl_is_applied_to_services(const struct json *);

/* Adds lists of keys that find the Pods that a selection may select in a
 * cluster of these Namespaces (Manifest's name to object).  Returns false if
 * only all Pods there are would do. */
bool dpctl_keys_selected(struct json *query, const struct dpctl_selection *,
                         const struct shash *namespaces);

/* The Service, "NAMESPACE/NAME", whose endpoints an EndpointSlice tells, or
 * NULL.  The caller frees it. */
char *dpctl_slice_service(const struct json *slice);

#endif /* dpctl-keys.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_KIND_H
#define DPCTL_KIND_H 1

/* The kinds of objects that we know: Kubernetes', Antrea's, and the records of
 * the control socket (docs/control-socket.md), which have no apiVersion.
 *
 * Kubernetes' and Antrea's objects ("manifests") are kept in the daemon as
 * Manifest records, whose name has the form
 *
 *     Pod.v1/default/web
 *     NetworkPolicy.networking.k8s.io/default/web
 *     ClusterNetworkPolicy.crd.antrea.io/web
 *
 * Only the core group has a version in there: an object is the same one in
 * every version of its API.
 */

#include <stdbool.h>
#include <stddef.h>
#include "dpctl-schema.h"

enum dpctl_kind_id {
    DPCTL_NODE,
    DPCTL_NAMESPACE,
    DPCTL_POD,
    DPCTL_SERVICE,
    DPCTL_ENDPOINTS,
    DPCTL_ENDPOINT_SLICE,
    DPCTL_K8S_NP,
    DPCTL_ACNP,
    DPCTL_ANNP,
    DPCTL_ADMIN_NP,
    DPCTL_BASELINE_ADMIN_NP,
    DPCTL_TIER,
    DPCTL_CLUSTER_GROUP,
    DPCTL_GROUP,
    DPCTL_CP_NP,                /* controlplane.antrea.io. */
    DPCTL_CP_ADDRESS_GROUP,
    DPCTL_CP_APPLIED_TO_GROUP,
    DPCTL_EGRESS,
    DPCTL_TRAFFIC_CONTROL,
    DPCTL_N_KINDS
};

struct svec;

struct dpctl_kind {
    enum dpctl_kind_id id;
    const char *kind;           /* "NetworkPolicy" */
    const char *group;          /* "networking.k8s.io"; "" for core. */
    const char *versions;       /* Comma-separated. */
    const char *names;          /* What users type, comma-separated. */
    bool namespaced;
    const struct dpctl_field *schema;
};

extern const struct dpctl_kind dpctl_kinds[DPCTL_N_KINDS];

/* NULL if there is none; then '*known_kind' says whether a kind of that name
 * exists in the group in another version. */
const struct dpctl_kind *dpctl_kind_find(const char *api_version,
                                         const char *kind, bool *known_kind);

/* The kind of the API group that is meant by 'kind', which is none, but is
 * called like one ("networkpolicy", "Pods").  NULL if none. */
const char *dpctl_kind_meant(const char *api_version, const char *kind);

/* "networking.k8s.io/v1, ...": where there is a kind of this name.  NULL if
 * nowhere. */
char *dpctl_kind_versions(const char *kind);

/* What records of policies of this kind have before their names
 * ("K8sNetworkPolicy"); NULL for kinds that are no policies. */
const char *dpctl_kind_policy_type(const struct dpctl_kind *);

/* Does a user who types 'word' ("po", "pods", "networkpolicies.crd.antrea.io")
 * mean this kind? */
bool dpctl_kind_is_called(const struct dpctl_kind *, const char *word);

/* All words for kinds that users may type, records' included. */
void dpctl_kind_words(struct svec *);

/* The kinds of records, Manifest included; NULL if 'word' isn't one. */
const char *dpctl_record_kind(const char *word);
bool dpctl_is_record_kind(const char *kind);

/* Checks an object of this kind: its metadata and its schema.  If it names no
 * namespace, it belongs into the default one. */
char *dpctl_kind_check(const struct dpctl_kind *, const struct json *object,
                       const char *default_namespace);

/* Only what identifies the object: its name and namespace. */
char *dpctl_kind_check_identity(const struct dpctl_kind *,
                                const struct json *object);
/* An object that has nothing but these. */
struct json *dpctl_kind_identity(const struct json *object);

/* "ClusterNetworkPolicy web", "Pod default/web": for messages. */
char *dpctl_kind_title(const struct dpctl_kind *, const struct json *object,
                       const char *default_namespace);

/* The name of the Manifest record of an object that has its namespace. */
char *dpctl_manifest_name(const struct dpctl_kind *,
                          const char *namespace_, const char *name);
char *dpctl_manifest_name_of(const struct dpctl_kind *, const struct json *);

/* Which kind a Manifest record of that name is of; NULL if of none. */
const struct dpctl_kind *dpctl_manifest_kind(const char *manifest_name);
/* The name of a Manifest record if 'record_key' (dpctl_record_key()) is that
 * of one, or NULL. */
const char *dpctl_manifest_of_key(const char *record_key);

#endif /* dpctl-kind.h */

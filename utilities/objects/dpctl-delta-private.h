/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_DELTA_PRIVATE_H
#define DPCTL_DELTA_PRIVATE_H 1

/* What the parts of the incremental plan share: see dpctl-delta.h. */

#include "dpctl-delta.h"
#include "dpctl-kind.h"
#include "sset.h"

struct delta {
    enum dpctl_verb verb;
    const struct dpctl_input *input;
    struct shash given;         /* Of its Manifests those that aren't known to
                                 * be as they were. */
    const struct dpctl_env *env;
    const struct json *node_config;
    struct dpctl_plan *plan;
    struct dpctl_world world;
    bool full;                  /* Not handled. */
    bool relabels;              /* Does a Namespace with Pods get other
                                 * labels? */

    /* Names of Manifests. */
    struct sset pods;           /* Given, in a Namespace whose labels change,
                                 * or with an address of one of these. */
    struct sset candidates;     /* Policies that may select some of these. */
    struct sset dirty;          /* Policies to be resolved anew. */
    struct sset services;       /* Likewise. */

    struct shash patches;       /* Group's record key to struct delta_patch. */
    struct shash outcome;       /* Record key to record: complete. */
    struct sset gone;           /* Keys of records that don't follow from
                                 * anything any more. */
};

/* Members that join a group, or leave it. */
struct delta_patch {
    struct sset add, remove;
};

/* The object as the daemon has it, and as it will be; or NULL. */
const struct json *delta_old(const struct delta *, const char *manifest);
const struct json *delta_new(const struct delta *, const char *manifest);
bool delta_is_given(const struct delta *, const char *manifest);

/* Is there nothing more to do? */
bool delta_ended(const struct delta *);

/* "NAMESPACE/NAME", which the Manifest's name has after its kind. */
const char *delta_name_part(const char *manifest);

void delta_want_namespace(struct delta *, const char *name);
/* Fetches what is wanted, and the NodeConfig. */
void delta_fetch_with_node_config(struct delta *);
/* Fetches the many objects that a watch tells when it begins anew, and the
 * NodeConfig.  With the own Node among them there is a full run: OVSDB may
 * have other news of that. */
void delta_fetch_told(struct delta *);
/* Leaves away what a watch tells that is as it was, as far as it was
 * fetched. */
void delta_drop_unchanged(struct delta *);

/* A policy, or an Egress or a TrafficControl, whose records refer to groups as
 * those of policies do. */
bool delta_is_policy(const struct dpctl_kind *);

/* Adds the objects of these kinds (a set of 1 << enum dpctl_kind_id) that are
 * known, as they were or will be, to 'manifests'. */
void delta_collect(const struct delta *, bool new, unsigned int kinds,
                   struct shash *manifests);
/* The same for objects named. */
void delta_collect_named(const struct delta *, bool new, const struct sset *,
                         struct shash *manifests);

/* Calls 'cb' for each group that such a record refers to; 'kind' is
 * that of the group's record. */
void delta_each_group(const struct json *policy_record,
                      void (*cb)(const char *kind, const char *group,
                                 void *aux), void *aux);

/* The ports of the Pods among 'manifests' as they were when the records were
 * made that there are; with 'new', those of Pods that are given as they are
 * now, if OVSDB can be read. */
void delta_ports_init(const struct delta *, bool new,
                      const struct shash *manifests, struct dpctl_ports *);
/* Fetches what delta_ports_init() has to know of the Pods fetched so far. */
void delta_fetch_ports(struct delta *);
/* Warns of Pods that have their ports only because OVSDB can't be read. */
void delta_tell_kept_ports(struct delta *);

/* Adds the policies that have such peers, and a record on this node, to the
 * candidates, and asks for them: only those that apply to its Pods are
 * concerned by their peers.  Takes 'keys'. */
void delta_want_policies_by_peers(struct delta *, struct json *keys);

/* The parts; each returns an error or NULL. */
char *delta_memberships(struct delta *);
char *delta_policies(struct delta *);
char *delta_services(struct delta *);

/* Fetches the groups that these policies refer to, directly or not. */
void delta_fetch_groups(struct delta *, const struct sset *policies);

#endif /* dpctl-delta-private.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_PLAN_H
#define DPCTL_PLAN_H 1

/* What the daemon has to change for what the user gives.
 *
 * A pure function, like the resolver: the documents, the daemon's records and
 * the node's surroundings in; the records to apply and to delete out.
 *
 * The daemon's Manifest records are the objects that users applied.  The plan
 * resolves them as they are and as they'll be.  What the former derive and the
 * latter don't is deleted; what the latter derive is applied where the daemon
 * has something else.  Records that users gave as such follow from no
 * manifest, so nothing of this touches them.
 *
 * While OVSDB can't be read, Pods have the ports that their records have, but
 * for DPCTL_REPLACE, with which nothing is kept.
 */

#include "dpctl-input.h"
#include "dpctl-resolve.h"

enum dpctl_verb {
    DPCTL_APPLY,                /* Adds to, or replaces in, what there is. */
    DPCTL_DELETE,
    DPCTL_REPLACE,              /* Becomes all there is. */
};

struct dpctl_plan {
    struct json *apply;         /* Arrays for the control socket. */
    struct json *delete;
    struct json *patch;         /* Of groups, by the incremental plan. */
    struct svec *messages;      /* "pod/web created", for the user. */
    struct svec *warnings;      /* What the user may not expect. */
    size_t n_records;           /* That there will be. */
    struct json *generation;    /* Of the state that the plan is for, or
                                 * NULL. */
};

/* 'state' is the daemon's array of records.  With DPCTL_REPLACE, plan->apply
 * is the whole new state, and plan->delete tells what goes by that.
 * 'env->node_config' is set from 'state'. */
/* What 'input' has left out stays as it is, if it is there, with DPCTL_REPLACE
 * too.  'env->refused' is for objects in 'input' as well as for others: if any
 * was added to it, there is an error. */
char *dpctl_plan_create(enum dpctl_verb, const struct dpctl_input *,
                        const struct json *state, struct dpctl_env *,
                        bool ignore_missing, struct dpctl_plan *);
/* The records in 'state' that follow from none of the objects there, as an
 * array: somebody gave them as such. */
struct json *dpctl_plan_given(const struct json *state,
                              const struct dpctl_env *);
/* For whoever makes a plan (dpctl-delta.h, too). */
void dpctl_plan_init(struct dpctl_plan *);
/* What becomes of one Manifest: 'old' is the object that there is, 'new' the
 * one that was given; each may be NULL. */
char *dpctl_plan_manifest(struct dpctl_plan *, enum dpctl_verb,
                          const char *name, const struct json *old,
                          const struct json *new, bool ignore_missing);
void dpctl_plan_delete(struct dpctl_plan *, const char *kind,
                       const char *name);

/* Warns of 'n' Pods that have what their records say of their ports, as OVSDB
 * can't be read. */
void dpctl_plan_tell_kept_ports(struct dpctl_plan *,
                                const struct dpctl_ports *, size_t n);

/* Of how many of the Manifests given is the record under 'key' made? */
size_t dpctl_plan_count_makers(const struct dpctl_input *, const char *key);
/* Leaves out what was given of which the record under 'key' is made, which the
 * daemon refuses for 'reason'.  Returns false if that is nothing. */
bool dpctl_plan_leave_out(struct dpctl_input *, const char *key,
                          const char *reason);

bool dpctl_plan_is_empty(const struct dpctl_plan *);
void dpctl_plan_destroy(struct dpctl_plan *);

#endif /* dpctl-plan.h */

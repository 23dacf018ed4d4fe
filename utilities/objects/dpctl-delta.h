/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_DELTA_H
#define DPCTL_DELTA_H 1

/* The plan for a few changed objects, made without a look at all others.
 *
 * dpctl_plan_create() resolves everything there is, before and after, and
 * compares.  Here what a change concerns is followed from object to object, by
 * the keys that the daemon finds objects by (dpctl-keys.h):
 *
 *   - A Pod contributes to groups, whose members are patched: the Pods that
 *     changed, or whose Namespace did, are resolved as they were and as they
 *     are with the policies that may select them, and the groups that come out
 *     differ by what these Pods contribute.
 *   - A policy is resolved anew, with the Pods that it selects, if it is among
 *     the objects given, or refers to a group that is; if a number that its
 *     named ports stand for is new among the Pods that they are of, or the
 *     last of these goes; if it has peers with sameLabels, and a Namespace of
 *     such Pods gets other labels; and if it applies to Pods of this node for
 *     the first time, or no more.  Groups that no policy refers to any more
 *     go.
 *   - A Service is resolved anew if it, or one of its endpoints, changed.
 *
 * What isn't handled here takes the full run: Nodes, Tiers, records given as
 * such, Antrea's controlplane API, more than a few objects at once, settings
 * of the node, and policies that select among all Pods there are.  What a
 * watch told, and is as it was, is as good as not given, but for this node's
 * Pods, whose ports may have changed.  The full run is also what the tests
 * compare this one with.
 *
 * For policies, Pods that aren't given have the ports that their records say,
 * whatever OVSDB says by now.  While it can't be read, all Pods have, for
 * Services, too.
 *
 * What others made of records that follow from objects is put right where the
 * record is made anew, otherwise by "resync".
 *
 * Cost: the objects that a change concerns, Pods of policies that are resolved
 * anew included.
 */

#include "dpctl-plan.h"
#include "dpctl-world.h"

enum dpctl_delta_result {
    DPCTL_DELTA_DONE,           /* There is a plan, or an error. */
    DPCTL_DELTA_FULL,           /* Not handled: the full run is needed. */
    DPCTL_DELTA_STALE,          /* The state changed meanwhile: try again. */
};

/* As dpctl_plan_create(); 'env->node_config' is left alone.  Unless the result
 * is DPCTL_DELTA_DONE, or with an error, there is no plan. */
enum dpctl_delta_result dpctl_delta_create(enum dpctl_verb,
                                           const struct dpctl_input *,
                                           const struct dpctl_source *,
                                           const struct dpctl_env *,
                                           bool ignore_missing,
                                           struct dpctl_plan *,
                                           char **errorp);

#endif /* dpctl-delta.h */

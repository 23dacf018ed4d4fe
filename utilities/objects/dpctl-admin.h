/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_ADMIN_H
#define DPCTL_ADMIN_H 1

/* AdminNetworkPolicy and BaselineAdminNetworkPolicy
 * (policy.networking.k8s.io).
 *
 * They say what a ClusterNetworkPolicy of Antrea's could say, in other words,
 * and are read as such: as Antrea does it, in two tiers of their own. */

#include <stdbool.h>

struct dpctl_kind;
struct json;

enum {
    DPCTL_ADMIN_TIER = 251,
    DPCTL_BASELINE_ADMIN_TIER = 254,
};

bool dpctl_is_admin_policy(const struct dpctl_kind *);

/* NULL or what is wrong with an object that follows its schema. */
char *dpctl_admin_check(const struct dpctl_kind *, const struct json *object);

/* The object as a ClusterNetworkPolicy, for the caller to destroy.  It may not
 * have been checked. */
struct json *dpctl_admin_to_antrea(const struct dpctl_kind *,
                                   const struct json *object);

#endif /* dpctl-admin.h */

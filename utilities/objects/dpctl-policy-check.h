/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_POLICY_CHECK_H
#define DPCTL_POLICY_CHECK_H 1

/* What a schema can't say about policies, Tiers, groups, Egresses and
 * TrafficControls: members that exclude each other or belong together.  The
 * object follows its schema already, and belongs into the default namespace if
 * it names none.  Returns NULL or a malloc()ed "path.of.field: what is
 * wrong". */

#include "dpctl-kind.h"

char *dpctl_policy_check(enum dpctl_kind_id, const struct json *object,
                         const char *default_namespace);

#endif /* dpctl-policy-check.h */

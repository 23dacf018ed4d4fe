/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_SELECTOR_H
#define DPCTL_SELECTOR_H 1

/* Kubernetes label selectors: matchLabels and matchExpressions.
 *
 * A selector is the JSON object as it stands in a policy, checked before
 * (dpctl-kind.c has its schema).  An empty one matches everything. */

#include <stdbool.h>
#include "openvswitch/json.h"

/* What the schema can't say: keys and values are such as labels may have; In
 * and NotIn need values, the others have none.  Returns NULL or a malloc()ed
 * text. */
char *dpctl_selector_check(const struct json *selector);

/* The same for an object of labels alone, the member 'path' of 'object'. */
char *dpctl_labels_check(const struct json *object, const char *path);

bool dpctl_selector_matches(const struct json *selector,
                            const struct shash *labels);

/* The selector in one normal form, as kubectl writes it: requirements and the
 * values in them sorted, "app=web,tier in (a,b),!old"; "*" if it matches
 * everything.  Equal texts mean equal selectors. */
char *dpctl_selector_text(const struct json *selector);

/* The name of the ServiceAccount that a Pod runs as. */
const char *dpctl_service_account(const struct json *pod);

#endif /* dpctl-selector.h */

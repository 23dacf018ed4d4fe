/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_SERVICE_CHECK_H
#define DPCTL_SERVICE_CHECK_H 1

/* What a schema can't say about Services and EndpointSlices: addresses that
 * may be none, or are of a type that another member tells, and a selector,
 * which must be of labels.  What nobody could use must not be dropped without
 * a word.  The object follows its schema already.  Returns NULL or a
 * malloc()ed "path.of.field: what is wrong". */

#include "dpctl-kind.h"

char *dpctl_service_check(enum dpctl_kind_id, const struct json *object);

#endif /* dpctl-service-check.h */

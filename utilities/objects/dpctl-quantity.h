/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_QUANTITY_H
#define DPCTL_QUANTITY_H 1

/* Kubernetes' quantities: "500M", "1.5Gi", "20000", "5e8". */

#include <stdbool.h>

/* Sets '*value' to what 'text' says.  Returns false if it isn't a quantity, or
 * too large. */
bool dpctl_quantity(const char *text, double *value);

#endif /* dpctl-quantity.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_TIER_H
#define DPCTL_TIER_H 1

/* Tiers of Antrea's policies: those that are built in, and Tier objects.
 *
 * Antrea makes objects of the built-in ones, too, so that these are fine as
 * long as they say what is the case anyway.
 */

#include <stdbool.h>

struct json;
struct shash;

/* NULL or what is wrong with a Tier that follows its schema. */
char *dpctl_tier_check(const struct json *object);

/* Antrea's own, which are there whether there are objects of them or not. */
bool dpctl_tier_is_builtin(const char *name);

/* The name of the built-in Tier of this priority, or NULL. */
const char *dpctl_tier_builtin_name(long long int priority);

/* NULL or what is wrong between the Tiers among the objects (Manifest's name
 * to object).  With 'refused' that is added there instead, as char *, for each
 * Tier that is concerned. */
char *dpctl_tier_check_all(const struct shash *manifests,
                           struct shash *refused);

/* Returns false if there is no such Tier.  'name' may be NULL or "", which is
 * the default one. */
bool dpctl_tier_priority(const struct shash *manifests, const char *name,
                         long long int *priority);

/* The Tier's name as messages have it: the default one's, and the built-in
 * ones' as they are written. */
const char *dpctl_tier_name(const char *name);

#endif /* dpctl-tier.h */

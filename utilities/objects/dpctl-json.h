/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_JSON_H
#define DPCTL_JSON_H 1

/* Reading JSON without a check at every step.
 *
 * The paths are members' names joined by dots ("spec.podSelector").  A member
 * that is missing, null, or inside something that isn't an object reads as
 * absent: Kubernetes makes no difference between these, and documents were
 * checked against their schema (dpctl-schema.h) before they are read this way.
 *
 * Everything returned is borrowed from the document.
 */

#include <stdbool.h>
#include "openvswitch/json.h"

const struct json *dpctl_json_member(const struct json *, const char *name);
const struct json *dpctl_json_get(const struct json *, const char *path);
const char *dpctl_json_str(const struct json *, const char *path);
long long int dpctl_json_int(const struct json *, const char *path,
                             long long int default_);
bool dpctl_json_bool(const struct json *, const char *path, bool default_);

/* Never NULL: an empty array if there is none. */
const struct json_array *dpctl_json_array(const struct json *,
                                          const char *path);
/* What is in a list such as PodList: an empty array if that is null, as Go
 * writes a slice that nothing was ever put into.  NULL if it is missing, or
 * anything else. */
const struct json_array *dpctl_json_items(const struct json *list);
/* Never NULL: an empty object if there is none. */
const struct shash *dpctl_json_object(const struct json *, const char *path);

/* Replaces escaped zero bytes ("\u0000") in JSON's text, which no string of
 * ours can have, by U+FFFD, as others replace what can't be.  Returns how many
 * bytes at the end are the beginning of an escape: whether of such a one is
 * known with what comes behind. */
size_t dpctl_json_replace_nulls(char *text, size_t len);

/* "KIND NAME", the key under which records are kept.  The caller frees it. */
char *dpctl_record_key(const char *kind, const char *name);
char *dpctl_record_key_of(const struct json *record);

#endif /* dpctl-json.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MODEL_PATCH_H
#define ADP_MODEL_PATCH_H 1

/* Members that join a group, or leave it, without naming the others.
 *
 *   {"kind": "AddressGroup", "name": "GROUP",
 *    "add"?: ["10.10.0.26"...], "remove"?: ["10.10.3.0/24"...]}
 *
 * and the same for an AppliedToGroup, with Pods' names.  The group must be
 * there.  Its members become those that it has, without those of "remove",
 * and with those of "add"; to remove what isn't in it, or to add what is,
 * changes nothing, so that patches may come in any order and twice.  A list
 * that was in order (addresses by value, Pods by name) stays so.
 *
 * A patch is turned into the record as it will be, which goes into a
 * transaction as any other.
 *
 * Cost: linear in the group's members, with a cost that is small beside that
 * of sending them.
 */

#include <stddef.h>

struct adp_error;
struct adp_model;
struct json;

/* 'patches' is an array.  Sets '*records' to an array of the records as they
 * will be.  On error that is NULL. */
struct adp_error *adp_model_patch(const struct adp_model *,
                                  const struct json *patches,
                                  struct json **records);

/* Complains if the model has lost one of the groups that 'patches', which
 * adp_model_patch() took, are about: whoever deleted it meanwhile. */
struct adp_error *adp_model_check_patched(const struct adp_model *,
                                          const struct json *patches);

#endif /* model-patch.h */

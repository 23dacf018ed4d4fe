/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_LEFT_OUT_H
#define DPCTL_LEFT_OUT_H 1

/* Objects that can't be taken, where the others are to be applied all the
 * same.
 *
 * What isn't applied isn't in force, and that may let through what the object
 * denies: a policy, or whom policies are to find.  So each of them is told
 * with what its absence means.  What was there of an object before stays.
 */

#include <stdbool.h>
#include <stddef.h>

struct dpctl_kind;
struct shash;

struct dpctl_left_out {
    char *reason;               /* Names object and field. */
    const struct dpctl_kind *kind;  /* NULL: a record, or unknown. */
    bool named;                 /* Is its key the name of a Manifest, or
                                 * dpctl_record_key() of a record? */
    bool foreign;               /* Of a kind that nothing here is about. */
    bool here;                  /* A Pod of this Node without flows. */
};

/* Adds to 'left_out', which maps keys to struct dpctl_left_out.  Takes
 * 'reason'.  Of an object that is there already the first reason stays. */
struct dpctl_left_out *dpctl_left_out_add(struct shash *left_out,
                                          const char *key, char *reason);
void dpctl_left_out_destroy(struct shash *left_out);

/* Which one's key can't be compared with what there is?  NULL: none's. */
const struct dpctl_left_out *dpctl_left_out_nameless(const struct shash *);

/* What it means that the object under 'key' isn't there, if there was none
 * 'before'.  Sets '*opens' if that may let something through. */
const char *dpctl_left_out_effect(const struct dpctl_left_out *,
                                  const char *key, bool before, bool *opens);

#endif /* dpctl-left-out.h */

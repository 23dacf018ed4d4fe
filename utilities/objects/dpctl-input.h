/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_INPUT_H
#define DPCTL_INPUT_H 1

/* What a set of documents holds: Kubernetes' and Antrea's objects, and records
 * of the control socket, each checked for itself.
 *
 * Of an object is kept what its schema knows (dpctl-schema.h).
 */

#include "dpctl-load.h"
#include "openvswitch/shash.h"
#include "sset.h"

struct dpctl_input {
    bool for_delete;            /* Only what identifies an object matters, is
                                 * checked and kept.  The caller's to set. */
    bool keep_going;            /* One that can't be taken is left out, and
                                 * noted.  The caller's to set. */
    bool can_keep_going;        /* Who asked could have asked for that. */
    bool watched;               /* Told by a watch, not by a user: what is as
                                 * it was changes nothing, and Pods that
                                 * nobody gave and that can't be resolved any
                                 * more stay as they are.  The caller's to
                                 * set. */
    struct shash manifests;     /* Manifest's name to struct json *. */
    struct sset gone;           /* Names of Manifests that go as the others
                                 * come.  The caller's to fill. */
    struct shash records;       /* dpctl_record_key() to struct json *. */
    struct shash origins;       /* Either's name to char *, where it's from. */
    struct shash left_out;      /* See dpctl-left-out.h; of the others, what
                                 * has no name is under its origin. */
    size_t n_ignored;           /* Objects that 'ignore_unknown' left out. */
    size_t n_ignored_policies;  /* Those among them that are policies. */
};

void dpctl_input_init(struct dpctl_input *);
void dpctl_input_destroy(struct dpctl_input *);
bool dpctl_input_is_empty(const struct dpctl_input *);

/* Takes what was given under 'key', the name of a Manifest or a record's key,
 * away, and notes that as left out for 'reason'.  Returns the note, or NULL if
 * there is nothing of that name. */
struct dpctl_left_out *dpctl_input_leave_out(struct dpctl_input *,
                                             const char *key,
                                             const char *reason);

/* Adds the documents.  Lists are taken apart.  With 'ignore_unknown', objects
 * of kinds that we don't know are left out, else they are errors. */
char *dpctl_input_add(struct dpctl_input *, const struct dpctl_docs *,
                      const char *default_namespace, bool ignore_unknown);

#endif /* dpctl-input.h */

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

struct dpctl_input {
    bool for_delete;            /* Only what identifies an object matters, is
                                 * checked and kept.  The caller's to set. */
    struct shash manifests;     /* Manifest's name to struct json *. */
    struct shash records;       /* dpctl_record_key() to struct json *. */
    struct shash origins;       /* Either's name to char *, where it's from. */
    size_t n_ignored;           /* Objects that were left out. */
};

void dpctl_input_init(struct dpctl_input *);
void dpctl_input_destroy(struct dpctl_input *);
bool dpctl_input_is_empty(const struct dpctl_input *);

/* Adds the documents.  Lists are taken apart.  With 'ignore_unknown', objects
 * of kinds that we don't know are left out, else they are errors. */
char *dpctl_input_add(struct dpctl_input *, const struct dpctl_docs *,
                      const char *default_namespace, bool ignore_unknown);

#endif /* dpctl-input.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_TARGETS_H
#define DPCTL_TARGETS_H 1

/* Kinds and names as users give them: "pods", "pods,services", "pods web
 * client", "pod/web svc/web". */

#include <stddef.h>
#include "svec.h"

struct dpctl_target {
    char *kind;
    struct svec names;          /* None: all. */
};

struct dpctl_targets {
    struct dpctl_target *targets;
    size_t n;
};

/* Reads the words.  Returns NULL, or an error; either way 'targets' is to be
 * destroyed. */
char *dpctl_targets_parse(struct dpctl_targets *, int argc, char *argv[]);
void dpctl_targets_destroy(struct dpctl_targets *);

#endif /* dpctl-targets.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_LOAD_H
#define DPCTL_LOAD_H 1

/* Files of YAML or JSON to documents.
 *
 * A text that begins with '{' or '[' is JSON: one value, or several one after
 * the other, also separated by "---".  Anything else, and what isn't JSON
 * after all, is YAML 1.1 as Kubernetes' tools read it: several documents,
 * anchors, aliases and merge keys; the plain scalars true/yes/on and their
 * opposites are booleans.  Empty documents are left out.
 *
 * Bounded: 'max_bytes' of text a file, a nesting of DPCTL_LOAD_MAX_DEPTH, and
 * DPCTL_LOAD_MAX_ALIASED nodes that come from aliases (they are shared, not
 * copied, but whoever walks them walks them as often as they are named).
 * 'max_bytes' is far beyond what the objects of a large cluster take: it is
 * there for devices and pipes that never end.
 *
 * Errors are malloc()ed texts that begin with "FILE:LINE:COLUMN: ".
 */

#include <stddef.h>
#include "openvswitch/json.h"

enum {
    DPCTL_LOAD_MAX_DEPTH = 100,
    DPCTL_LOAD_MAX_ALIASED = 1000000,
};
#define DPCTL_LOAD_MAX_BYTES ((size_t) 2048 * 1024 * 1024)

struct dpctl_doc {
    char *file;                 /* As the user named it; "-" is stdin. */
    size_t index;               /* Counted from 1 in its file. */
    int line;                   /* Where it begins, counted from 1. */
    struct json *json;
};

struct dpctl_docs {
    struct dpctl_doc *docs;
    size_t n, allocated;
    size_t max_bytes;           /* Of each file. */
};

#define DPCTL_DOCS_INITIALIZER { NULL, 0, 0, DPCTL_LOAD_MAX_BYTES }
void dpctl_docs_destroy(struct dpctl_docs *);

/* Appends what 'text' holds.  'file' is for messages. */
char *dpctl_load_text(struct dpctl_docs *, const char *file,
                      const char *text, size_t len);

/* Appends the documents of a file, of the *.yaml, *.yml and *.json files of a
 * folder (in the order of their names), or of stdin ("-"). */
char *dpctl_load_path(struct dpctl_docs *, const char *path);

/* The value of the plain scalar 'text'; NULL if it's a string. */
struct json *dpctl_load_plain_scalar(const char *text);

#endif /* dpctl-load.h */

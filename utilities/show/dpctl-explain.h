/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_EXPLAIN_H
#define DPCTL_EXPLAIN_H 1

/* The answer to `explain` (docs/control-socket.md) as text: what each thing
 * that was asked about means, or all names of the pipeline in tables.  Members
 * that a daemon leaves out are passed over. */

struct ds;
struct json;

void dpctl_explain_format(const struct json *answer, struct ds *);

#endif /* dpctl-explain.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_FLOWS_H
#define DPCTL_FLOWS_H 1

/* A bridge's flows, with the names of its ports and tables. */

#include <stddef.h>
#include <stdint.h>
#include "openflow/openflow.h"

struct ds;
struct dpctl_flows;
struct dpctl_ofp;
struct dpctl_options;
struct dpctl_rpc;

/* Ends the program where the control socket doesn't answer.  Returns an error
 * that the caller frees where the bridge doesn't.  Borrows 'rpc'. */
char *dpctl_flows_open(struct dpctl_rpc *, const struct dpctl_options *,
                       struct dpctl_flows **);
void dpctl_flows_close(struct dpctl_flows *);

struct dpctl_ofp *dpctl_flows_ofp(const struct dpctl_flows *);
/* OFPP_NONE if the bridge has no such port. */
ofp_port_t dpctl_flows_port(const struct dpctl_flows *, const char *name);
/* NULL if it has none. */
const char *dpctl_flows_table_name(const struct dpctl_flows *, uint8_t table);

/* Adds all flows to 's', a line each, at most 'max_len' bytes and a word about
 * what is missing.  Returns an error that the caller frees, or NULL. */
char *dpctl_flows_text(struct dpctl_flows *, size_t max_len, struct ds *s);

#endif /* dpctl-flows.h */

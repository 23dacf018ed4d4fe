/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_FLOWS_H
#define DPCTL_FLOWS_H 1

/* A bridge's flows, with the names of its ports and tables. */

#include <stdint.h>
#include "openflow/openflow.h"

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

#endif /* dpctl-flows.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_OFP_H
#define DPCTL_OFP_H 1

/* What a bridge tells over OpenFlow, on the socket BRIDGE.mgmt that lies
 * beside the control socket: its flows and ports.
 *
 * Only questions are asked, and answers are handed on as they come, so that
 * memory doesn't follow from how many flows there are.  Errors are sentences,
 * the caller's to free. */

#include <stdbool.h>
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-port.h"

struct dpctl_ofp;

/* 'socket' is that of the control socket.  'timeout_s' is for connecting, and
 * how long a question may go on without that an answer comes; 0 means for
 * ever. */
char *dpctl_ofp_open(const char *socket, const char *bridge, int timeout_s,
                     struct dpctl_ofp **);
void dpctl_ofp_close(struct dpctl_ofp *);

/* Calls 'cb' for each flow that fits the request.  The flow is valid until it
 * returns. */
typedef void dpctl_ofp_flow_cb(const struct ofputil_flow_stats *, void *aux);
char *dpctl_ofp_flows(struct dpctl_ofp *,
                      const struct ofputil_flow_stats_request *,
                      dpctl_ofp_flow_cb *, void *aux);

/* All flows of all tables. */
void dpctl_ofp_all_flows(struct ofputil_flow_stats_request *);

typedef void dpctl_ofp_port_cb(const struct ofputil_phy_port *, void *aux);
char *dpctl_ofp_ports(struct dpctl_ofp *, dpctl_ofp_port_cb *, void *aux);

/* The counters of one port.  '*found' is false if there is none. */
char *dpctl_ofp_port_stats(struct dpctl_ofp *, ofp_port_t, bool *found,
                           struct ofputil_port_stats *);

#endif /* dpctl-ofp.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TUNNEL_ENDS_H
#define ADP_TUNNEL_ENDS_H 1

/* At which devices tunnels end. */

struct adp_bridge;

/* When the bridge's ports, or whether it has a pipeline, may have changed.
 * Main thread. */
void adp_tunnel_ends_run(struct adp_bridge *);

#endif /* adp-tunnel-ends.h */

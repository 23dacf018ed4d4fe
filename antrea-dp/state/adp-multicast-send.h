/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MULTICAST_SEND_H
#define ADP_MULTICAST_SEND_H 1

/* The messages of IGMP that a Node sends of its own accord.
 *
 * They go through the bridge's tables, by upstream's translation, as what
 * Antrea's agent injects does: queries as if they came from the gateway,
 * reports to other Nodes straight into the tunnel.
 *
 * For the main thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include "openvswitch/types.h"

struct adp_bridge;
struct adp_node_config;

/* Asks this Node's Pods who wants what; false: there is no gateway port, or no
 * address of IPv4. */
bool adp_multicast_send_query(struct adp_bridge *,
                              const struct adp_node_config *,
                              unsigned int max_response,
                              unsigned int interval);
/* Sends the message to the Node with that address; false: there is no tunnel
 * port either. */
bool adp_multicast_send_report(struct adp_bridge *,
                               const struct adp_node_config *,
                               const void *msg, size_t len, ovs_be32 node);

#endif /* adp-multicast-send.h */

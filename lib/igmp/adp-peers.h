/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PEERS_H
#define ADP_PEERS_H 1

/* The other Nodes, by their addresses of IPv4, in order.
 *
 * Who does something for each of them, and not for all at once, keeps where it
 * goes on, which stays right when others take their place.
 *
 * Thread-safety: one thread at a time.
 * Cost: adding costs constant time, sorting O(n log n), the rest O(log n).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/types.h"

struct adp_peers {
    uint32_t *ips;              /* In host byte order. */
    size_t n, allocated;
};

#define ADP_PEERS_INITIALIZER { .n = 0 }

void adp_peers_uninit(struct adp_peers *);
void adp_peers_add(struct adp_peers *, ovs_be32 ip);
/* After the last one was added, before anybody asks. */
void adp_peers_sort(struct adp_peers *);
bool adp_peers_contains(const struct adp_peers *, ovs_be32 ip);
/* The first one at '*at' or behind it, where 0 is before all; '*at' is right
 * behind it then.  False: there is none any more. */
bool adp_peers_next(const struct adp_peers *, uint64_t *at, ovs_be32 *ip);

#endif /* adp-peers.h */

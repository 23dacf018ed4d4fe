/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PACKET_IN_H
#define ADP_PACKET_IN_H 1

/* Packets to controllers.
 *
 * What upstream's upcall thread makes of a userspace action for a controller,
 * made in the packet thread: a message that waits in the bridge's queue of
 * them, of which upstream holds up to 1,024, until the main thread sends it.
 *
 * Thread-safety: any packet thread.
 */

#include <stdbool.h>

struct adp_bridge;
struct adp_packet_in;
struct dp_netdev_pmd_thread;
struct dp_packet;

/* Has a copy of the packet, as it is now, sent to the controller, unless its
 * meter drops the copy.  'last': nothing else happens to the packet. */
void adp_packet_in_send(struct adp_bridge *, struct dp_netdev_pmd_thread *,
                        const struct adp_packet_in *,
                        const struct dp_packet *, bool last);

#endif /* adp-packet-in.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_KERNEL_PORT_H
#define ADP_KERNEL_PORT_H 1

/* Ports of the kernel's that packet threads poll.
 *
 * Upstream has the main thread poll a port of type "system", one packet
 * socket read after the other, between all else that it does.  The netdev
 * class here is upstream's (statistics, MTU, carrier, QoS, policing,
 * addresses: its functions are called), but that PMD threads receive from and
 * send to the device through adp-packet-ring.h, and rest when there is nothing
 * (adp-poller.h).
 *
 * docs/kernel-ports.md has the whole story. */

#include <stdbool.h>

struct dp_packet_batch;
struct netdev;
struct shash;

/* The class's name, where others have "system". */
#define ADP_KERNEL_PORT_TYPE "antrea-system"
/* That of ports that are one end of a pair (adp-mark-port.h). */
#define ADP_PAIR_PORT_TYPE "antrea-pair"

/* Before the first bridge. */
void adp_kernel_port_init(void);
/* What the Open_vSwitch table says.  In the main thread. */
void adp_kernel_port_configure(bool wanted);
/* Which class of netdev to open for a port of class 'type' of one of our
 * bridges. */
const char *adp_kernel_port_open_type(const char *type);
/* Is it of one of the two classes, is it of the latter? */
bool adp_kernel_port_is(const struct netdev *);
bool adp_kernel_port_is_pair(const struct netdev *);
/* Adds all there are, each with a reference. */
void adp_kernel_port_get_devices(struct shash *devices);
/* In each turn of the main thread, and before it waits. */
void adp_kernel_port_run(void);
void adp_kernel_port_wait(void);

/* Has the batch that this thread received last packets with marks?  Then
 * 'md.pkt_mark' of each is set. */
bool adp_kernel_port_has_marks(void);
/* Another port's batch has none. */
void adp_kernel_port_forget_marks(void);

/* Completes the checksums of what was received from such ports, for those who
 * know nothing of offloads. */
void adp_kernel_port_complete(struct dp_packet_batch *);

#endif /* adp-kernel-port.h */

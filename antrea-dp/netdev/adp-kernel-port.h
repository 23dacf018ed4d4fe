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
struct netdev_class;
struct smap;

/* The class's name, where others have "system". */
#define ADP_KERNEL_PORT_TYPE "antrea-system"

/* Before the first bridge. */
void adp_kernel_port_init(void);
/* What the Open_vSwitch table says.  In the main thread. */
void adp_kernel_port_configure(const struct smap *other_config);
/* Which class of netdev to open for a port of class 'type' of one of our
 * bridges. */
const char *adp_kernel_port_open_type(const char *type);
const struct netdev_class *adp_kernel_port_class(void);
/* In each turn of the main thread, and before it waits. */
void adp_kernel_port_run(void);
void adp_kernel_port_wait(void);

/* Completes the checksums of what was received from such ports, for those who
 * know nothing of offloads. */
void adp_kernel_port_complete(struct dp_packet_batch *);

#endif /* adp-kernel-port.h */

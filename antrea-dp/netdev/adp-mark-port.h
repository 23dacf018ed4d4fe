/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MARK_PORT_H
#define ADP_MARK_PORT_H 1

/* Internal ports that the kernel's marks (skb->mark) cross.
 *
 * An internal port of the userspace datapath is a tap, which knows no marks.
 * Where the database names it, it is one end of a pair of veths instead
 * (adp-veth-pair.h), whose other end packets are received from and sent to
 * with their marks, by the class in adp-kernel-port.h.  To the rest of
 * upstream such a port is a tap: it asks for one, and is told that it has
 * one.
 *
 * Where the kernel can't, the port is a tap as ever; the log says why, and so
 * does adp_mark_port_describe().
 *
 * Main thread. */

struct smap;

/* Upstream's name for what it gets. */
#define ADP_MARK_PORT_SHOWN_TYPE "tap"

/* What the Open_vSwitch table says. */
void adp_mark_port_configure(const struct smap *other_config);
/* Adds the ports that are to be such, and what became of them. */
void adp_mark_port_describe(struct smap *);

#endif /* adp-mark-port.h */

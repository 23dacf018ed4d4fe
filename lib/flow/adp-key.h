/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_KEY_H
#define ADP_KEY_H 1

/* What a packet's connection is known by.
 *
 * The hash covers addresses, protocol and the ports of TCP, UDP and SCTP (type
 * and code of ICMP), each direction on its own.  A packet without an IP or ARP
 * header is known by its Ethernet addresses, type and VLAN instead.
 *
 * Thread-safety: pure functions.  Cost: a few multiplications.
 */

#include <stdint.h>

struct flow;

uint32_t adp_key_hash(const struct flow *, uint32_t basis);

#endif /* adp-key.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_SCTP_H
#define CONNTRACK_SCTP_H 1

/* SCTP (RFC 9260) in conntrack.
 *
 * Upstream tracks SCTP by addresses and protocol alone.  Here a connection has
 * ports, which NAT translates, and follows one association on one pair of
 * addresses by its chunks and verification tags.  States and timeouts are
 * those of Linux; beyond that
 *
 *     - a connection begins with INIT or, on a further path of an association
 *       whose ends have several addresses, HEARTBEAT, and with nothing else;
 *
 *     - a packet with a wrong tag is invalid, whatever its chunks;
 *
 *     - an INIT for an association that exists changes nothing until both ends
 *       have gone through with the handshake, so that who can guess addresses
 *       and ports can neither end the association nor keep it alive.
 *
 * Timeout policies know nothing of SCTP: its timeouts are fixed.
 *
 * Thread-safety: as for the other protocols in conntrack-private.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include "openvswitch/types.h"

struct conn_key;
struct ct_l4_proto;
struct dp_packet;

extern struct ct_l4_proto ct_proto_sctp;

/* Takes the ports of the SCTP header in the 'size' bytes at 'data'.  False if
 * they aren't such a header, or if its checksum is to be validated and wrong.
 * Of a packet in an ICMP error, which isn't 'whole', the beginning is
 * enough. */
bool conntrack_sctp_extract(struct conn_key *, const void *data, size_t size,
                            bool whole, bool validate_checksum);

/* NAT of the ports, if 'key' is SCTP's.  As pat_packet(): 'key' is that of the
 * packets in the other direction. */
void conntrack_sctp_nat(struct dp_packet *, const struct conn_key *key);

/* Sets the ports.  A checksum that was right is so afterwards, one that was
 * wrong is wrong.  Of a header that was cut off behind the tag only the ports
 * are changed. */
void conntrack_sctp_set_ports(struct dp_packet *, ovs_be16 src, ovs_be16 dst);

/* The checksum of a packet: CRC32c of 'size' bytes from the SCTP header on, as
 * if the checksum in it were 0. */
ovs_be32 conntrack_sctp_csum(const void *data, size_t size);

#endif /* conntrack-sctp.h */

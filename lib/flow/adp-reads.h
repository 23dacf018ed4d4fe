/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_READS_H
#define ADP_READS_H 1

/* Which fields matches and actions read, beyond the usual ones.
 *
 * Who keeps an answer for packets that look alike must know what decisions
 * may depend on.  Taken for granted, and not told here, are: in_port, whether
 * there is an Ethernet header, its addresses and type, VLANs, IPv4 and IPv6
 * addresses, IP protocol, ToS and TTL, whether it is a fragment, destination
 * ports, ICMP type and code, metadata, registers, pkt_mark, ct_*, conj_id, and
 * of a tunnel its addresses, ID, flags, ToS and TTL.
 *
 * A field that is only written is not read, but for the flow label: an action
 * that sets it does nothing to packets that have it.  A learn() action counts
 * as what it reads and as what the flow that it makes will match on.
 *
 * Thread-safety: all functions may be called from any thread.
 */

#include <stddef.h>
#include <stdint.h>
#include "bitmap.h"

struct flow;
struct mf_field;
struct minimatch;
struct ofpact;

/* X(SYMBOL, "fields"). */
#define ADP_READS                                                           \
    X(TCP_FLAGS, "TCP flags, ND options type")                              \
    X(IPV6_LABEL, "IPv6 flow label")                                        \
    X(TUN_METADATA, "options of Geneve")                                    \
    X(TP_SRC, "source ports (not: ICMP types)")                             \
    X(ARP_ND, "ARP operation, addresses in ARP and neighbor discovery")     \
    X(MOVED, "what adp_reads_of_client() says, by actions")                 \
    X(OTHER, "anything else, such as MPLS, NSH, IGMP, the length")

enum {
#define X(SYMBOL, TEXT) ADP_READS_##SYMBOL##_BIT,
    ADP_READS
#undef X
    ADP_N_READS
};

enum adp_reads {
#define X(SYMBOL, TEXT) ADP_READS_##SYMBOL = 1 << ADP_READS_##SYMBOL##_BIT,
    ADP_READS
#undef X
};

/* A set of OpenFlow tables. */
#define ADP_TABLE_SET_LONGS BITMAP_N_LONGS(256)

uint32_t adp_reads_of_match(const struct minimatch *);
/* By an action. */
uint32_t adp_reads_of_field(const struct mf_field *);
uint32_t adp_reads_of_actions(const struct ofpact *, size_t ofpacts_len);

/* Sets '*mask' to what differs between packets from one port of a server to
 * different ports of one client: the destination port, and what conntrack
 * knows as the original direction's addresses and ports.  Matches that read it
 * are found by adp_match_reads(). */
void adp_reads_of_client(struct flow *mask);

/* Calls 'cb' with each table that a learn() among the actions writes to, once
 * for each learn(). */
void adp_reads_for_each_learn(const struct ofpact *, size_t ofpacts_len,
                              void (*cb)(uint8_t table_id, void *aux),
                              void *aux);

#endif /* adp-reads.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_CT_PACKET_H
#define TESTS_CT_PACKET_H 1

/* Packets of fuzz-conntrack: between a few ports of a few hosts, as the input
 * says. */

#include <netinet/in.h>
#include "fuzz.h"

struct dp_packet;

enum { N_HOSTS = 4 };

extern const uint16_t ct_packet_ports[8];

/* A packet's addresses. */
struct ends {
    bool ipv6;
    uint8_t proto;
    uint8_t src, dst;           /* Hosts. */
    uint16_t tp_src, tp_dst;
};

/* Fragments of one input are none of another's packets'. */
void ct_packet_next_input(void);

struct in6_addr ct_packet_host(bool ipv6, unsigned int host);

/* With lengths and, mostly, checksums right.  Sets its addresses. */
struct dp_packet *ct_packet_compose(struct ends *, struct fuzz_input *);

/* A copy.  It has room for FTP's addresses, which are translated only where
 * there is, if it may be FTP's, also because a ct() says so ('ftp'); else none
 * at all, so that the sanitizers see what is done behind a packet. */
struct dp_packet *ct_packet_copy(const struct dp_packet *,
                                 const struct ends *, bool ftp);

#endif /* ct-packet.h */

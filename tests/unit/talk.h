/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_TALK_H
#define TESTS_TALK_H 1

/* Talks, for tests of conntrack: two ends of a TCP or UDP connection, and the
 * random packets that they exchange, with lengths and checksums right. */

#include <netinet/in.h>
#include "dp-packet.h"
#include "random.h"

enum { TALK_MAX_PAYLOAD = 1400 };

static inline bool
one_in(int n)
{
    return !random_range(n);
}

/* A packet's addresses. */
struct tuple {
    bool ipv6;
    uint8_t nw_proto;
    struct in6_addr src, dst;   /* IPv4: mapped. */
    uint16_t tp_src, tp_dst;
};

/* What is TCP's in it. */
struct segment {
    uint16_t flags;
    uint32_t seq, ack;
    uint16_t win;
    int wscale;                 /* Option, or -1. */
};

/* With all of 'tuple' and, if it is TCP, 'segment', and a random payload. */
struct dp_packet *talk_compose(const struct tuple *, const struct segment *,
                               size_t payload_len);
/* With the 'size' bytes at 'l4' behind the IP header. */
struct dp_packet *talk_compose_raw(const struct tuple *, const void *l4,
                                   size_t size);
/* Where the packet has its TCP or UDP checksum, and what that has to be for
 * the rest of the packet. */
ovs_be16 *talk_csum_field(const struct dp_packet *, const struct tuple *);
ovs_be16 talk_compute_csum(const struct dp_packet *, const struct tuple *);

struct end {
    uint32_t seq;               /* Next to send. */
    uint16_t win;
    uint8_t wscale;
};

struct talk {
    bool tcp, nat;
    uint16_t zone;
    struct tuple tuples[2];     /* As the packets come, by direction. */
    struct tuple translated;    /* tuples[0] behind NAT. */
    int phase;                  /* Packets so far; TCP begins with 3. */
    bool scaling;
    struct end ends[2];
};

/* Each 'i' has other addresses or ports, and up to 8 all are of another kind:
 * TCP or not, translated or not, IPv6 or not. */
void talk_init(struct talk *, int i, uint16_t zone);
/* Begins the connection anew. */
void talk_restart(struct talk *);
/* The next packet as it should be.  Sets its direction. */
struct dp_packet *talk_next(struct talk *, int *dir, struct segment *);
/* A packet that nobody would send, or not again. */
struct dp_packet *talk_odd(struct talk *, int *dir, struct segment *);

#endif /* talk.h */

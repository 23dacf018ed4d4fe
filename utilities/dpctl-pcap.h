/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_PCAP_H
#define DPCTL_PCAP_H 1

/* One packet of a capture, as an Ethernet frame.
 *
 * "tcpdump -i any" writes Linux cooked captures (SLL and SLL2, see
 * pcap-linktype(7)): they have the sender's link-layer address and nobody
 * else's.  Such a packet gets an Ethernet header whose destination is zero,
 * which the caller is to fill in. */

#include <stdbool.h>
#include "packets.h"

struct ofpbuf;

struct dpctl_frame {
    struct ofpbuf *bytes;       /* The caller's to delete. */
    bool is_cooked;             /* 'dst' isn't known. */
    bool has_src;
    bool is_broadcast;          /* Of a cooked one: was sent to all. */
};

/* Reads packet 'index' (counted from 1) of 'file'.  Returns NULL, or what is
 * wrong, which names the file; the caller frees it. */
char *dpctl_pcap_read(const char *file, int index, struct dpctl_frame *);

#endif /* dpctl-pcap.h */

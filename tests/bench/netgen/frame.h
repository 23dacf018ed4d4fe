/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames: made from templates, and turned round.  Checksums are kept right. */

#ifndef NET_GEN_FRAME_H
#define NET_GEN_FRAME_H 1

#include <stdbool.h>
#include <stdint.h>

#include "control.h"

/* Where a port stands in its program. */
struct net_gen_cursor {
    uint64_t n;                 /* Packets made. */
    uint32_t template;
    uint32_t sport;
    uint32_t shared;            /* Packets with this source port so far. */
    uint64_t random;            /* State of the generator, not zero. */
};

/* Starts to fetch the template of the packet that is 'ahead' of the next one: with
 * many templates waiting for them would cost more than the switch. */
void net_gen_frame_fetch(const struct net_gen_control *,
                         const struct net_gen_cursor *, uint32_t ahead);

/* Writes the next packet of the program to 'frame', which has room for it, and
 * returns its length. */
uint16_t net_gen_frame_make(const struct net_gen_control *,
                            struct net_gen_cursor *, uint8_t *frame);

/* Turns an Ethernet frame into what its receiver would answer: addresses and
 * ports swapped, a SYN becomes a SYN-ACK; in Geneve, the inner frame too.
 * Returns false if there is no answer (a bare ACK, say). */
bool net_gen_frame_turn(uint8_t *frame);

#endif /* frame.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_INPUT_H
#define ADP_INPUT_H 1

/* Packets that come in, for dp_hooks: each takes out of a batch what is for a
 * bridge of ours.  Packet threads and the main thread. */

#include <stdbool.h>

#include "openvswitch/types.h"

struct dp_netdev_pmd_thread;
struct dp_packet_batch;

/* 'has_marks': 'md.pkt_mark' of each packet is set; otherwise they have no
 * metadata at all. */
void adp_input_received(struct dp_netdev_pmd_thread *,
                        struct dp_packet_batch *, odp_port_t, bool has_marks);
void adp_input_decapsulated(struct dp_netdev_pmd_thread *,
                            struct dp_packet_batch *);

#endif /* adp-input.h */

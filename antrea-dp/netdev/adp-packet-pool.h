/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PACKET_POOL_H
#define ADP_PACKET_POOL_H 1

/* Buffers of packets that go from kernel to kernel: what a thread has sent it
 * receives into again, instead of by way of malloc().
 *
 * Each thread has its own.  Packets from here are ordinary ones, with memory
 * of malloc()'s: whoever is done with one may delete it as any other. */

#include <stddef.h>

struct dp_packet;
struct dp_packet_batch;

/* With room for so much data behind the headroom. */
#define ADP_PACKET_POOL_SHORT 2048
/* A dp_packet can't be longer. */
#define ADP_PACKET_POOL_LONG (65535 - ADP_PACKET_POOL_HEADROOM)
/* For what may be pushed before a packet. */
#define ADP_PACKET_POOL_HEADROOM 128

/* So many of each a thread keeps at most. */
#define ADP_PACKET_POOL_N_SHORT 512
#define ADP_PACKET_POOL_N_LONG 64

/* Returns an empty packet with room for 'size' bytes, at most
 * ADP_PACKET_POOL_LONG. */
struct dp_packet *adp_packet_pool_get(size_t size);
/* Instead of dp_packet_delete(). */
void adp_packet_pool_put(struct dp_packet *);
void adp_packet_pool_put_batch(struct dp_packet_batch *);

#endif /* adp-packet-pool.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PACKET_RING_H
#define ADP_PACKET_RING_H 1

/* Packet sockets of a network device of the kernel's: a ring to receive from
 * without system calls, and a socket to send batches to.
 *
 * The kernel copies each packet that the device receives into a frame of a
 * ring that both map (PF_PACKET, TPACKET_V2).  What is longer than a frame, a
 * TCP segment of 64 KB or a jumbo frame, waits in the socket's queue, to be
 * read in its turn: short frames keep rings small, and nobody polls an empty
 * ring by a system call.  Both ways each packet has a struct virtio_net_hdr.
 *
 * The other way there is one sendmmsg() for a batch.  (A ring to send from
 * saves little: the kernel has to be called anyway, and segments of 64 KB
 * would need frames of that length.)
 *
 * Marks (skb->mark), where they are asked for: packets to be sent have theirs
 * as a control message each.  A ring's frames have no room for it, so then
 * frames are too short for any packet: all wait in the queue, and are read
 * with their marks.  The ring still tells without a system call whether there
 * is one.
 *
 * Thread-safety: a ring is of one thread at a time; several may send. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adp-offload.h"
#include "ovs-atomic.h"

struct dp_packet_batch;

/* A frame, with the kernel's header and room for a packet of 1.9 kB. */
#define ADP_RING_FRAME_LEN 2048
/* Of a ring that isn't asked for others: 1 MiB of the kernel's memory. */
#define ADP_RING_N_FRAMES 512
/* How many it may be asked for: a power of two. */
#define ADP_RING_MIN_FRAMES 64
#define ADP_RING_MAX_FRAMES 16384
/* Of what is longer than a frame, as the kernel counts it. */
#define ADP_RING_QUEUE_BYTES (8 << 20)
/* Of what the kernel hasn't taken yet. */
#define ADP_RING_SEND_BYTES (4 << 20)

/* What a device's packets met with, for its statistics. */
struct adp_ring_counts {
    atomic_uint64_t rx_too_long;        /* No room, or longer than may be. */
    atomic_uint64_t rx_bad_offload;     /* adp_offload_take(), the kernel. */
    atomic_uint64_t tx_refused;         /* By the kernel. */
    atomic_uint64_t rx_marked, tx_marked;
};

struct adp_ring {
    int fd;
    char *frames;
    size_t n_frames;
    size_t frame_len;
    bool marks;
    size_t max_len;                     /* Of a packet, or of a segment. */
    size_t head;                        /* The next frame to be read. */
    struct adp_segments segments;       /* Of a packet that was received. */
    struct dp_packet *segmented;        /* That packet. */
    struct adp_ring_counts *counts;
};

/* Returns 0 if the kernel has all that rings need, or a positive errno. */
int adp_ring_probe(void);
/* Returns 0, or a positive errno if the kernel has no marks for sockets. */
int adp_ring_try_marks(void);

/* Returns 0 or a positive errno. */
int adp_ring_open(struct adp_ring *, int ifindex, size_t n_frames, bool marks,
                  struct adp_ring_counts *);
void adp_ring_close(struct adp_ring *);
/* After the device came back, as another one or as the same: a device that is
 * unregistered, as it is when it moves to another namespace, leaves the socket
 * bound to nothing.  If it is bound to the device, it stays as it is. */
int adp_ring_bind(struct adp_ring *, int ifindex);
/* What is longer than 'mtu' and a VLAN tag allow, as a whole or in segments,
 * is dropped from now on: who may write to a packet socket of his own can ask
 * for segments of any length.  With 0, and before the first call, what is
 * longer than a packet can be.  In the thread that receives. */
void adp_ring_limit(struct adp_ring *, int mtu);
/* Adds to 'batch' what is there, as far as there is room, and looks at no more
 * than NETDEV_MAX_BURST frames: none of these may be of use, and more be left.
 * Without 'tso' long segments are cut to what is sent in the end.  With marks,
 * 'md.pkt_mark' of each is set, and true is returned if one isn't zero. */
bool adp_ring_receive(struct adp_ring *, struct dp_packet_batch *, bool tso);
/* How many packets came since the last call, and how many of them the kernel
 * found no room for.  In any thread, as long as the ring is open. */
void adp_ring_read_arrivals(struct adp_ring *, unsigned int *n,
                            unsigned int *n_dropped);
/* True if no packet waits.  In any thread, as long as the ring is open. */
bool adp_ring_is_empty(const struct adp_ring *);

/* Returns a socket to send to the device by, or a negative errno. */
int adp_ring_open_sender(int ifindex);
/* As adp_ring_bind(). */
int adp_ring_bind_sender(int fd, int ifindex);
/* Sends 'batch', with its marks if 'marks', and takes it.  Returns 0 or a
 * positive errno. */
int adp_ring_send(int fd, struct dp_packet_batch *batch, int mtu, bool marks,
                  struct adp_ring_counts *);

#endif /* adp-packet-ring.h */

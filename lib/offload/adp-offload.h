/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_OFFLOAD_H
#define ADP_OFFLOAD_H 1

/* Checksums and segments that somebody else is to finish.
 *
 * The kernel hands on packets whose TCP or UDP checksum is a sum over the
 * pseudo-header, and TCP segments far longer than the MTU, with a header
 * before them that says so (struct virtio_net_hdr: packet sockets, taps).  In
 * a dp_packet the offload flags say the same, and 'mbuf.tso_segsz', where the
 * build has DPDK, how long segments may be.  This is the way there and back,
 * and the same in software for those who can do neither.
 *
 * What the kernel says of a packet may be a Pod's invention: nothing is
 * believed that the packet itself contradicts.
 *
 * While a packet's checksum is left to others the field's content means
 * nothing here, so that headers may be rewritten as if it were whole:
 * adp_offload_put() and adp_offload_complete() work it out anew.
 *
 * No state, no locks.  Cost: reading a header or two; completing and
 * segmenting look at each byte. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/virtio_net.h>

struct dp_packet;
struct dp_packet_batch;

enum adp_offload_verdict {
    ADP_OFFLOAD_OK,             /* As its flags say. */
    ADP_OFFLOAD_SEGMENT,        /* The caller has to segment it. */
    ADP_OFFLOAD_BAD,            /* To be dropped. */
};

/* Takes 'header', which the kernel gave with 'packet', into the packet's
 * flags.  Without 'tso' the caller has to segment what is too long. */
enum adp_offload_verdict adp_offload_take(struct dp_packet *packet,
                                          const struct virtio_net_hdr *header,
                                          bool tso);

/* The length of the longest packet that a sender meant to have sent, with all
 * headers, when he handed over 'packet', which adp_offload_take() took, with
 * 'header': the whole, or a segment. */
size_t adp_offload_longest(const struct dp_packet *packet,
                           const struct virtio_net_hdr *header);

/* The other way: fills in 'header' for the kernel, and the sum over the
 * pseudo-header.  'mtu' limits segments whose length nobody knows. */
void adp_offload_put(struct dp_packet *packet, struct virtio_net_hdr *header,
                     int mtu);

/* Segments shorter than this are cut at once, a batch at a time, where they
 * come in: a Pod may ask for one for each byte.  Where packets are cut that go
 * out, no shorter ones are made but for a shorter MTU: a guest's packet, which
 * is whole until then, may say so, too. */
#define ADP_OFFLOAD_MIN_SEGMENT 512

/* Begins a checksum that is left to others, as they expect it: with the sum
 * over the pseudo-header.  (Those of SCTP are completed.) */
void adp_offload_begin(struct dp_packet *);

/* The flags of what is left to others (dp-packet.h). */
#define ADP_OFFLOAD_DUE (DP_PACKET_OL_TX_L4_MASK | DP_PACKET_OL_TX_TCP_SEG)

/* True if some of the checksum or of the segmentation is left to others. */
bool adp_offload_is_due(const struct dp_packet *);

/* Works out the checksum, if it is left to others.  Not for segments that are
 * too long. */
void adp_offload_complete(struct dp_packet *);
/* All of the batch, without those that are too long. */
void adp_offload_complete_batch(struct dp_packet_batch *);

/* The segments of a packet that adp_offload_take() would have segmented, or
 * that has the flag for it; their checksums are left to others still. */
struct adp_segments {
    const struct dp_packet *packet;     /* NULL: none are left. */
    size_t header_len;                  /* Ethernet, IP and TCP or UDP. */
    size_t l3_ofs, l4_ofs;
    size_t segment_len;                 /* Without headers. */
    size_t ofs, end;                    /* Of the data that is left. */
    unsigned int n;                     /* How many there were. */
    bool is_udp, ipv6;
    bool whole;                         /* The packet is all there is. */
};

/* 'segment_len' is 0 where the packet knows it, or else by 'mtu'.  'packet'
 * must stay what it is until the last one was made.  One whose headers don't
 * add up, because it was cut, or that has no data, is its own only segment. */
void adp_segments_init(struct adp_segments *, const struct dp_packet *packet,
                       size_t segment_len, int mtu);
/* Returns NULL if there are no more.  The caller owns it. */
struct dp_packet *adp_segments_next(struct adp_segments *);

/* How long segments may be, or 0 if the packet doesn't know. */
uint16_t adp_offload_segment_len(const struct dp_packet *);
void adp_offload_set_segment_len(struct dp_packet *, uint16_t);
/* No longer than 'mtu' has room for, nor unknown. */
void adp_offload_limit_segments(struct dp_packet *, int mtu);

#endif /* adp-offload.h */

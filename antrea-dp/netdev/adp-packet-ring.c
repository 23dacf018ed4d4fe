/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-packet-ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "adp-packet-pool.h"
#include "dp-packet.h"
#include "packets.h"
#include "socket-util.h"
#include "util.h"

/* Older headers don't know it; since Linux 4.20. */
#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

/* Older headers don't know it; since Linux 5.19. */
#ifndef SO_RCVMARK
#define SO_RCVMARK 75
#endif

#define BLOCK_LEN (1 << 16)
#define VNET_LEN sizeof(struct virtio_net_hdr)

/* With marks: of a frame, so much is kept free that no packet fits in, not
 * even an Ethernet header. */
#define MARKS_FRAME_LEN 128
#define MARKS_RESERVE 48
BUILD_ASSERT_DECL(TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + MARKS_RESERVE
                  + sizeof(struct virtio_net_hdr) <= MARKS_FRAME_LEN + 14);
BUILD_ASSERT_DECL(TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + MARKS_RESERVE
                  + sizeof(struct virtio_net_hdr) > MARKS_FRAME_LEN);
/* The kernel's memory comes in pages. */
BUILD_ASSERT_DECL(ADP_RING_MIN_FRAMES * MARKS_FRAME_LEN % 4096 == 0);

static int
set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) ? errno : 0;
}

static int
bind_to(int fd, int ifindex, uint16_t protocol)
{
    struct sockaddr_ll sll = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(protocol),
        .sll_ifindex = ifindex,
    };

    return bind(fd, (struct sockaddr *) &sll, sizeof sll) ? errno : 0;
}

/* Returns a socket, or a negative errno. */
static int
open_socket(void)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return -errno;
    }
    int error = set_option(fd, SOL_PACKET, PACKET_VNET_HDR, 1);

    if (error) {
        close(fd);
        return -error;
    }
    return fd;
}

static size_t
ring_len(const struct adp_ring *r)
{
    return r->n_frames * r->frame_len;
}

static int
map_frames(struct adp_ring *r)
{
    const size_t block_len = MIN(ring_len(r), BLOCK_LEN);
    struct tpacket_req req = {
        .tp_block_size = block_len,
        .tp_block_nr = ring_len(r) / block_len,
        .tp_frame_size = r->frame_len,
        .tp_frame_nr = r->n_frames,
    };
    int error = set_option(r->fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2);

    if (!error && r->marks) {
        error = set_option(r->fd, SOL_PACKET, PACKET_RESERVE, MARKS_RESERVE);
    }
    if (!error && setsockopt(r->fd, SOL_PACKET, PACKET_RX_RING, &req,
                             sizeof req)) {
        error = errno;
    }
    if (error) {
        return error;
    }
    void *frames = mmap(NULL, ring_len(r), PROT_READ | PROT_WRITE, MAP_SHARED,
                        r->fd, 0);

    if (frames == MAP_FAILED) {
        return errno;
    }
    r->frames = frames;
    return 0;
}

static int
set_up(struct adp_ring *r)
{
    int error = set_option(r->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);

    if (!error) {
        error = set_option(r->fd, SOL_SOCKET, SO_RCVBUFFORCE,
                           ADP_RING_QUEUE_BYTES);
    }
    if (!error) {
        error = set_option(r->fd, SOL_PACKET, PACKET_COPY_THRESH, 1);
    }
    if (!error && r->marks) {
        error = set_option(r->fd, SOL_SOCKET, SO_RCVMARK, 1);
    }
    return error ? error : map_frames(r);
}

int
adp_ring_try_marks(void)
{
    int fd = open_socket();

    if (fd < 0) {
        return -fd;
    }
    int error = set_option(fd, SOL_SOCKET, SO_RCVMARK, 1);

    if (!error) {
        error = set_option(fd, SOL_SOCKET, SO_MARK, 1);
    }
    close(fd);
    return error;
}

static int
open_unbound(struct adp_ring *r, size_t n_frames, bool marks,
             struct adp_ring_counts *counts)
{
    memset(r, 0, sizeof *r);
    r->n_frames = n_frames;
    r->counts = counts;
    r->marks = marks;
    r->max_len = SIZE_MAX;
    r->frame_len = marks ? MARKS_FRAME_LEN : ADP_RING_FRAME_LEN;
    r->fd = open_socket();
    if (r->fd < 0) {
        return -r->fd;
    }
    int error = set_up(r);

    if (error) {
        adp_ring_close(r);
    }
    return error;
}

int
adp_ring_probe(void)
{
    struct adp_ring r;
    int error = open_unbound(&r, ADP_RING_N_FRAMES, false, NULL);

    if (!error) {
        adp_ring_close(&r);
    }
    return error;
}

int
adp_ring_open(struct adp_ring *r, int ifindex, size_t n_frames, bool marks,
              struct adp_ring_counts *counts)
{
    /* Not bound: nothing comes before all is set. */
    int error = open_unbound(r, n_frames, marks, counts);

    if (!error) {
        error = adp_ring_bind(r, ifindex);
        if (error) {
            adp_ring_close(r);
        }
    }
    return error;
}

void
adp_ring_close(struct adp_ring *r)
{
    if (r->frames) {
        munmap(r->frames, ring_len(r));
    }
    dp_packet_delete(r->segmented);
    close(r->fd);
}

int
adp_ring_bind(struct adp_ring *r, int ifindex)
{
    return bind_to(r->fd, ifindex, ETH_P_ALL);
}

void
adp_ring_limit(struct adp_ring *r, int mtu)
{
    r->max_len = mtu ? mtu + VLAN_ETH_HEADER_LEN : SIZE_MAX;
}

void
adp_ring_read_arrivals(struct adp_ring *r, unsigned int *n,
                       unsigned int *n_dropped)
{
    struct tpacket_stats stats;
    socklen_t len = sizeof stats;
    bool ok = !getsockopt(r->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len);

    *n = ok ? stats.tp_packets : 0;
    *n_dropped = ok ? stats.tp_drops : 0;
}

/* Receiving. */

static struct tpacket2_hdr *
frame_at(const struct adp_ring *r, size_t i)
{
    return (void *) (r->frames + i * r->frame_len);
}

bool
adp_ring_is_empty(const struct adp_ring *r)
{
    for (size_t i = 0; i < r->n_frames; i++) {
        if (__atomic_load_n(&frame_at(r, i)->tp_status, __ATOMIC_RELAXED)
            & TP_STATUS_USER) {
            return false;
        }
    }
    return true;
}

static void
count(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t orig;

    atomic_add_relaxed(counter, n, &orig);
}

/* So many errors of the socket, such as that the device went down, may come
 * between, and leave the queue as it is. */
#define MAX_ERRORS 4

/* A message's one control message. */
union mark_control {
    struct cmsghdr align;
    char data[CMSG_SPACE(sizeof(uint32_t))];
};

static uint32_t
mark_of(struct msghdr *msg)
{
    const struct cmsghdr *c = CMSG_FIRSTHDR(msg);
    uint32_t mark = 0;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_MARK
        && c->cmsg_len >= CMSG_LEN(sizeof mark)) {
        memcpy(&mark, CMSG_DATA(c), sizeof mark);
    }
    return mark;
}

static void
put_mark(struct msghdr *msg, union mark_control *control, uint32_t mark)
{
    msg->msg_control = control->data;
    msg->msg_controllen = sizeof control->data;
    control->align = (struct cmsghdr) {
        .cmsg_level = SOL_SOCKET,
        .cmsg_type = SO_MARK,
        .cmsg_len = CMSG_LEN(sizeof mark),
    };
    memcpy(CMSG_DATA(&control->align), &mark, sizeof mark);
}

/* The next one of the queue, 'len' bytes long, with its header; NULL if it is
 * lost, which is counted.  (To leave it there for an error would be to read it
 * in place of the one after it, and so on.)  EINVAL says that the kernel has
 * no header for it: it has left the queue then, and what comes next is the
 * next frame's. */
static struct dp_packet *
read_queue(struct adp_ring *r, size_t len, struct virtio_net_hdr *header)
{
    const size_t room = (len <= ADP_PACKET_POOL_SHORT ? ADP_PACKET_POOL_SHORT
                         : ADP_PACKET_POOL_LONG);
    struct dp_packet *packet = adp_packet_pool_get(room);
    union mark_control control;
    struct iovec iov[] = {
        { header, VNET_LEN },
        { dp_packet_data(packet), room },
    };
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = ARRAY_SIZE(iov) };
    ssize_t n = -1;

    if (r->marks) {
        msg.msg_control = control.data;
        msg.msg_controllen = sizeof control.data;
    }
    for (int i = 0; i < MAX_ERRORS; i++) {
        n = recvmsg(r->fd, &msg, MSG_DONTWAIT);
        if (n >= 0 || errno == EAGAIN || errno == EINVAL) {
            break;
        }
    }
    if (n < (ssize_t) (VNET_LEN + ETH_HEADER_LEN)
        || msg.msg_flags & MSG_TRUNC) {
        count(n < 0 && errno == EINVAL ? &r->counts->rx_bad_offload
              : &r->counts->rx_too_long, 1);
        adp_packet_pool_put(packet);
        return NULL;
    }
    dp_packet_set_size(packet, n - VNET_LEN);
    packet->md.pkt_mark = r->marks ? mark_of(&msg) : 0;
    return packet;
}

/* The one in 'frame', with its header; NULL if it isn't there as a whole,
 * which is counted. */
static struct dp_packet *
copy_short(struct adp_ring *r, const struct tpacket2_hdr *frame,
           struct virtio_net_hdr *header)
{
    const char *data = (const char *) frame + frame->tp_mac;
    const size_t len = frame->tp_snaplen;

    if (len != frame->tp_len
        || len < ETH_HEADER_LEN
        || frame->tp_mac < sizeof *frame + VNET_LEN
        || frame->tp_mac + len > ADP_RING_FRAME_LEN) {
        count(&r->counts->rx_too_long, 1);
        return NULL;
    }
    struct dp_packet *packet = adp_packet_pool_get(len);

    memcpy(header, data - VNET_LEN, VNET_LEN);
    memcpy(dp_packet_data(packet), data, len);
    dp_packet_set_size(packet, len);
    return packet;
}

/* The kernel takes the outer tag out of packets. */
static void
restore_vlan(struct dp_packet *packet, const struct tpacket2_hdr *frame,
             uint32_t status)
{
    if (status & TP_STATUS_VLAN_VALID) {
        eth_push_vlan(packet, htons(status & TP_STATUS_VLAN_TPID_VALID
                                    ? frame->tp_vlan_tpid
                                    : ETH_TYPE_VLAN_8021Q),
                      htons(frame->tp_vlan_tci));
    }
}

/* Takes the packet of a frame of the ring; returns NULL if there is none that
 * anybody could use. */
static struct dp_packet *
take_frame(struct adp_ring *r, const struct tpacket2_hdr *frame,
           uint32_t status, bool tso)
{
    struct virtio_net_hdr header;
    struct dp_packet *packet
        = (status & TP_STATUS_COPY ? read_queue(r, frame->tp_len, &header)
           : copy_short(r, frame, &header));

    if (OVS_UNLIKELY(!packet)) {
        return NULL;
    }
    enum adp_offload_verdict verdict = adp_offload_take(packet, &header, tso);

    if (OVS_UNLIKELY(verdict == ADP_OFFLOAD_BAD)) {
        count(&r->counts->rx_bad_offload, 1);
        adp_packet_pool_put(packet);
        return NULL;
    }
    if (OVS_UNLIKELY(dp_packet_size(packet) > r->max_len)
        && adp_offload_longest(packet, &header) > r->max_len) {
        count(&r->counts->rx_too_long, 1);
        adp_packet_pool_put(packet);
        return NULL;
    }
    restore_vlan(packet, frame, status);
    if (verdict == ADP_OFFLOAD_SEGMENT) {
        r->segmented = packet;
        adp_segments_init(&r->segments, packet, header.gso_size, 0);
        return NULL;
    }
    return packet;
}

static struct dp_packet *
next_segment(struct adp_ring *r)
{
    struct dp_packet *segment = adp_segments_next(&r->segments);

    if (!segment) {
        adp_packet_pool_put(r->segmented);
        r->segmented = NULL;
    }
    return segment;
}

/* Returns false if the ring is empty, or '*n_framesp' more of its frames were
 * looked at; otherwise *packetp is the next packet, or NULL if what was next
 * was none. */
static bool
next_packet(struct adp_ring *r, bool tso, int *n_framesp,
            struct dp_packet **packetp)
{
    if (OVS_UNLIKELY(r->segmented)) {
        *packetp = next_segment(r);
        return true;
    }
    if (!(*n_framesp)--) {
        return false;
    }
    struct tpacket2_hdr *frame = frame_at(r, r->head);
    /* The kernel sets it when all else is written, and then it is ours. */
    uint32_t status = __atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE);

    if (!(status & TP_STATUS_USER)) {
        return false;
    }
    r->head = (r->head + 1) & (r->n_frames - 1);
    OVS_PREFETCH(frame_at(r, r->head));
    *packetp = take_frame(r, frame, status, tso);
    __atomic_store_n(&frame->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    return true;
}

bool
adp_ring_receive(struct adp_ring *r, struct dp_packet_batch *batch, bool tso)
{
    /* Whoever sends only what nobody could use keeps nobody in this loop. */
    int n_frames = NETDEV_MAX_BURST;
    struct dp_packet *packet;
    int n_marked = 0;

    while (!dp_packet_batch_is_full(batch)
           && next_packet(r, tso, &n_frames, &packet)) {
        if (OVS_LIKELY(packet)) {
            n_marked += r->marks && packet->md.pkt_mark;
            dp_packet_batch_add(batch, packet);
        }
    }
    if (n_marked) {
        count(&r->counts->rx_marked, n_marked);
    }
    return n_marked > 0;
}

/* Sending. */

int
adp_ring_open_sender(int ifindex)
{
    int fd = open_socket();

    if (fd < 0) {
        return fd;
    }
    int error = set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE,
                           ADP_RING_SEND_BYTES);

    if (!error) {
        error = adp_ring_bind_sender(fd, ifindex);
    }
    if (error) {
        close(fd);
        return -error;
    }
    return fd;
}

int
adp_ring_bind_sender(int fd, int ifindex)
{
    /* Receives nothing. */
    return bind_to(fd, ifindex, 0);
}

/* Is it about one packet, and not about the device or the socket? */
static bool
is_of_packet(int error)
{
    return error == EINVAL || error == EMSGSIZE;
}

int
adp_ring_send(int fd, struct dp_packet_batch *batch, int mtu, bool marks,
              struct adp_ring_counts *counts)
{
    union mark_control controls[NETDEV_MAX_BURST];
    struct virtio_net_hdr headers[NETDEV_MAX_BURST];
    struct mmsghdr messages[NETDEV_MAX_BURST];
    struct iovec iov[NETDEV_MAX_BURST][2];
    const int n = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    int sent = 0, refused = 0, marked = 0, error = 0;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        adp_offload_put(packet, &headers[i], mtu);
        iov[i][0] = (struct iovec) { &headers[i], VNET_LEN };
        iov[i][1] = (struct iovec) { dp_packet_data(packet),
                                     dp_packet_size(packet) };
        messages[i].msg_hdr = (struct msghdr) { .msg_iov = iov[i],
                                                .msg_iovlen = 2 };
        if (marks && packet->md.pkt_mark) {
            put_mark(&messages[i].msg_hdr, &controls[i],
                     packet->md.pkt_mark);
            marked++;
        }
    }
    while (sent < n) {
        int retval = sendmmsg(fd, messages + sent, n - sent, 0);

        if (retval > 0) {
            sent += retval;
        } else if (errno != EINTR) {
            error = errno;
            if (!is_of_packet(error)) {
                break;
            }
            refused++;
            sent++;
        }
    }
    refused += n - sent;
    if (marked) {
        count(&counts->tx_marked, marked);
    }
    if (refused) {
        count(&counts->tx_refused, refused);
    }
    adp_packet_pool_put_batch(batch);
    return error;
}

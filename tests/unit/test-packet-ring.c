/* SPDX-License-Identifier: Apache-2.0 */

/* Packet sockets, on a veth pair in a network of this test's own; and the
 * buffers that go round.  Needs root. */

#include <config.h>

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adp-packet-pool.h"
#include "adp-packet-ring.h"
#include "csum.h"
#include "dp-packet.h"
#include "ovs-thread.h"
#include "packets.h"
#include "test-run.h"
#include "util.h"

#define EXIT_SKIP 77
#define N_FRAMES 128
/* A type that the kernel's own stack knows nothing of. */
#define TYPE_UNKNOWN 0x88b5

/* Packets go from one end of a cable to the other. */
static struct adp_ring ring;
static struct adp_ring_counts counts;
static int tx_fd = -1;

/* So many calls meet with an error that the queue has no part in, and so many
 * then have the kernel fail to hand out the header of a packet that it has
 * taken out of the queue: there is no room for it. */
static int n_errors, n_no_header;

__typeof__(recvmsg) __real_recvmsg, __wrap_recvmsg;

ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
    if (n_errors) {
        n_errors--;
        errno = ENETDOWN;
        return -1;
    }
    if (n_no_header) {
        struct msghdr unused = { .msg_iov = NULL };

        n_no_header--;
        ck_assert_int_eq(__real_recvmsg(fd, &unused, flags), -1);
        ck_assert_int_eq(errno, EINVAL);
        errno = EINVAL;
        return -1;
    }
    return __real_recvmsg(fd, msg, flags);
}

static uint64_t
value(atomic_uint64_t *counter)
{
    uint64_t n;

    atomic_read_relaxed(counter, &n);
    return n;
}

static bool
shell(const char *command)
{
    return !system(command);
}

/* The end that sends comes last: it finds its carrier then, and sends at once.
 * (Of the other's the kernel tells it later.) */
static bool
plug(void)
{
    return (shell("ip link add left mtu 9000 type veth "
                  "peer name right mtu 9000")
            && shell("ip link set right arp off up && "
                     "ip link set left arp off up"));
}

static void
setup(void)
{
    ck_assert(plug());
    ck_assert_int_eq(adp_ring_open(&ring, if_nametoindex("right"), N_FRAMES,
                                   false, &counts), 0);
    tx_fd = adp_ring_open_sender(if_nametoindex("left"));
    ck_assert_int_ge(tx_fd, 0);
}

static void
teardown(void)
{
    adp_ring_close(&ring);
    close(tx_fd);
    ck_assert(shell("ip link del left"));
}

/* A packet of 'len' bytes, whose data say which it is. */
static struct dp_packet *
make(size_t len, uint16_t type, uint32_t number)
{
    struct dp_packet *p = adp_packet_pool_get(len);
    struct eth_header eth = { .eth_type = htons(type) };
    char *data = dp_packet_put_uninit(p, len);

    memcpy(data, &eth, MIN(sizeof eth, len));
    for (size_t i = ETH_HEADER_LEN; i < len; i++) {
        data[i] = number + i / 7;
    }
    return p;
}

static void
assert_made(const struct dp_packet *p, size_t len, uint16_t type,
            uint32_t number)
{
    struct dp_packet *expected = make(len, type, number);

    ck_assert_uint_eq(dp_packet_size(p), len);
    ck_assert_mem_eq(dp_packet_data(p), dp_packet_data(expected), len);
    ck_assert(!adp_offload_is_due(p));
    adp_packet_pool_put(expected);
}

static int
send_packet(struct dp_packet *p)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    int error = adp_ring_send(tx_fd, &batch, 1500, false, &counts);

    ck_assert(dp_packet_batch_is_empty(&batch));
    return error;
}

/* What is there; the kernel has handed on what was sent when it returns. */
static size_t
receive(struct dp_packet_batch *batch, bool tso)
{
    dp_packet_batch_init(batch);
    adp_ring_receive(&ring, batch, tso);
    return dp_packet_batch_size(batch);
}

static void
assert_next(size_t len, uint16_t type, uint32_t number)
{
    struct dp_packet_batch batch;

    ck_assert_uint_eq(receive(&batch, true), 1);
    assert_made(batch.packets[0], len, type, number);
    dp_packet_delete_batch(&batch, true);
}

static void
assert_nothing(void)
{
    struct dp_packet_batch batch;

    ck_assert(adp_ring_is_empty(&ring));
    ck_assert_uint_eq(receive(&batch, true), 0);
}

START_TEST(short_and_long)
{
    static const size_t lens[] = {
        /* A frame holds 2048 less the kernel's headers. */
        14, 60, 1514, 1900, 1950, 2000, 2048, 2100, 5000, 9014,
    };

    ck_assert_int_eq(adp_ring_probe(), 0);
    assert_nothing();
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        ck_assert_int_eq(send_packet(make(lens[i], TYPE_UNKNOWN, i)), 0);
        ck_assert(!adp_ring_is_empty(&ring));
        assert_next(lens[i], TYPE_UNKNOWN, i);
        assert_nothing();
    }
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        ck_assert_int_eq(send_packet(make(lens[i], TYPE_UNKNOWN, i)), 0);
    }
    struct dp_packet_batch batch;

    ck_assert_uint_eq(receive(&batch, false), ARRAY_SIZE(lens));
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        assert_made(batch.packets[i], lens[i], TYPE_UNKNOWN, i);
    }
    dp_packet_delete_batch(&batch, true);
    ck_assert_uint_eq(value(&counts.tx_refused), 0);
    ck_assert_uint_eq(value(&counts.rx_too_long), 0);
}
END_TEST

/* What the device itself sends isn't what it receives. */
START_TEST(one_way)
{
    int fd = adp_ring_open_sender(if_nametoindex("right"));
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, make(60, TYPE_UNKNOWN, 1));
    ck_assert_int_eq(adp_ring_send(fd, &batch, 1500, false, &counts), 0);
    assert_nothing();
    close(fd);
}
END_TEST

/* As many as there are frames, several times, in order. */
START_TEST(round_and_full)
{
    unsigned int n, n_dropped;
    uint32_t next = 0;

    adp_ring_read_arrivals(&ring, &n, &n_dropped);
    for (int round = 0; round < 3; round++) {
        struct dp_packet_batch batch;
        const uint32_t n_sent = N_FRAMES + 64;

        for (uint32_t i = 0; i < n_sent; i += NETDEV_MAX_BURST) {
            dp_packet_batch_init(&batch);
            for (int j = 0; j < NETDEV_MAX_BURST; j++) {
                dp_packet_batch_add(&batch, make(60, TYPE_UNKNOWN,
                                                 next + i + j));
            }
            ck_assert_int_eq(adp_ring_send(tx_fd, &batch, 1500, false, &counts), 0);
        }
        adp_ring_read_arrivals(&ring, &n, &n_dropped);
        ck_assert_uint_eq(n, n_sent);
        ck_assert_uint_eq(n_dropped, n_sent - N_FRAMES);
        for (uint32_t i = 0; i < N_FRAMES; i += NETDEV_MAX_BURST) {
            ck_assert(!adp_ring_is_empty(&ring));
            ck_assert_uint_eq(receive(&batch, true), NETDEV_MAX_BURST);
            for (int j = 0; j < NETDEV_MAX_BURST; j++) {
                assert_made(batch.packets[j], 60, TYPE_UNKNOWN, next + i + j);
            }
            adp_packet_pool_put_batch(&batch);
        }
        assert_nothing();
        next += n_sent;
    }
    adp_ring_read_arrivals(&ring, &n, &n_dropped);
    ck_assert_uint_eq(n, 0);
}
END_TEST

/* The kernel takes the outer tag out. */
START_TEST(tags)
{
    for (int i = 0; i < 2; i++) {
        const uint16_t type = i ? ETH_TYPE_VLAN_8021AD : ETH_TYPE_VLAN_8021Q;

        ck_assert_int_eq(send_packet(make(100, type, 3)), 0);
        assert_next(100, type, 3);
        ck_assert_int_eq(send_packet(make(4000, type, 4)), 0);
        assert_next(4000, type, 4);
    }
}
END_TEST

/* What the kernel refuses of a batch, and what it then does with the rest. */
START_TEST(refused)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init(&batch);
    dp_packet_batch_add(&batch, make(60, TYPE_UNKNOWN, 0));
    dp_packet_batch_add(&batch, make(5, TYPE_UNKNOWN, 1));
    dp_packet_batch_add(&batch, make(60, TYPE_UNKNOWN, 2));
    dp_packet_batch_add(&batch, make(9100, TYPE_UNKNOWN, 3));
    dp_packet_batch_add(&batch, make(60, TYPE_UNKNOWN, 4));
    ck_assert_int_ne(adp_ring_send(tx_fd, &batch, 1500, false, &counts), 0);
    ck_assert_uint_eq(value(&counts.tx_refused), 2);
    ck_assert_uint_eq(receive(&batch, true), 3);
    for (int i = 0; i < 3; i++) {
        assert_made(batch.packets[i], 60, TYPE_UNKNOWN, 2 * i);
    }
    dp_packet_delete_batch(&batch, true);

    /* Down: nobody is asked for the others. */
    ck_assert(shell("ip link set left down"));
    dp_packet_batch_init(&batch);
    for (int i = 0; i < 3; i++) {
        dp_packet_batch_add(&batch, make(60, TYPE_UNKNOWN, i));
    }
    ck_assert_int_eq(adp_ring_send(tx_fd, &batch, 1500, false, &counts), ENETDOWN);
    ck_assert_uint_eq(value(&counts.tx_refused), 5);
    assert_nothing();
    ck_assert(shell("ip link set left up"));
    ck_assert_int_eq(send_packet(make(60, TYPE_UNKNOWN, 7)), 0);
    assert_next(60, TYPE_UNKNOWN, 7);
}
END_TEST

/* Another device of the same name. */
START_TEST(comes_back)
{
    ck_assert(shell("ip link del left"));
    ck_assert_int_ne(send_packet(make(60, TYPE_UNKNOWN, 1)), 0);
    ck_assert_int_ne(adp_ring_bind(&ring, 99999), 0);
    ck_assert(plug());
    ck_assert_int_eq(adp_ring_bind(&ring, if_nametoindex("right")), 0);
    ck_assert_int_eq(adp_ring_bind_sender(tx_fd, if_nametoindex("left")), 0);
    /* An error of the device that went may be first: of a long one it costs
     * nothing but another try. */
    ck_assert_int_eq(send_packet(make(5000, TYPE_UNKNOWN, 2)), 0);
    assert_next(5000, TYPE_UNKNOWN, 2);
}
END_TEST

static void
bind_both(void)
{
    ck_assert_int_eq(adp_ring_bind(&ring, if_nametoindex("right")), 0);
    ck_assert_int_eq(adp_ring_bind_sender(tx_fd, if_nametoindex("left")), 0);
}

/* To what it is bound to already: nothing is lost, and the kernel still binds
 * it itself when the device is up again. */
START_TEST(bound_twice)
{
    struct dp_packet_batch batch;

    ck_assert_int_eq(send_packet(make(60, TYPE_UNKNOWN, 1)), 0);
    ck_assert_int_eq(send_packet(make(5000, TYPE_UNKNOWN, 2)), 0);
    bind_both();
    ck_assert_uint_eq(receive(&batch, true), 2);
    assert_made(batch.packets[0], 60, TYPE_UNKNOWN, 1);
    assert_made(batch.packets[1], 5000, TYPE_UNKNOWN, 2);
    dp_packet_delete_batch(&batch, true);
    ck_assert(shell("ip link set left down && ip link set right down"));
    bind_both();
    ck_assert(shell("ip link set right up && ip link set left up"));
    ck_assert_int_eq(send_packet(make(5000, TYPE_UNKNOWN, 3)), 0);
    assert_next(5000, TYPE_UNKNOWN, 3);
}
END_TEST

static int
count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    ck_assert_ptr_nonnull(folder);
    while (readdir(folder)) {
        n++;
    }
    closedir(folder);
    return n;
}

START_TEST(no_device)
{
    const int n = count_descriptors();
    struct adp_ring other;

    ck_assert_int_eq(adp_ring_open(&other, 99999, N_FRAMES, false, &counts),
                     ENODEV);
    ck_assert_int_eq(adp_ring_open_sender(99999), -ENODEV);
    ck_assert_int_eq(adp_ring_probe(), 0);
    ck_assert_int_eq(adp_ring_open(&other, if_nametoindex("right"), N_FRAMES,
                                   false, &counts), 0);
    ck_assert_int_eq(count_descriptors(), n + 1);
    adp_ring_close(&other);
    ck_assert_int_eq(count_descriptors(), n);
}
END_TEST

/* Of all lengths that may be asked for, with short frames, too. */
START_TEST(lengths)
{
    const bool with_marks = !adp_ring_try_marks();

    for (size_t n = ADP_RING_MIN_FRAMES; n <= ADP_RING_MAX_FRAMES; n *= 2) {
        for (int marks = 0; marks <= with_marks; marks++) {
            struct dp_packet_batch batch;
            struct adp_ring other;

            ck_assert_int_eq(adp_ring_open(&other, if_nametoindex("right"), n,
                                           marks, &counts), 0);
            ck_assert_int_eq(send_packet(make(700, TYPE_UNKNOWN, n)), 0);
            dp_packet_batch_init(&batch);
            adp_ring_receive(&other, &batch, true);
            ck_assert_uint_eq(dp_packet_batch_size(&batch), 1);
            assert_made(batch.packets[0], 700, TYPE_UNKNOWN, n);
            dp_packet_delete_batch(&batch, true);
            adp_ring_close(&other);
        }
    }
}
END_TEST

/* A TCP segment of so much data, whose checksum is left to others. */
static struct dp_packet *
make_tcp(size_t data_len, size_t segment_len)
{
    const size_t len = ETH_HEADER_LEN + IP_HEADER_LEN + TCP_HEADER_LEN;
    struct dp_packet *p = make(len + data_len, ETH_TYPE_IP, 5);
    char *data = dp_packet_data(p);
    struct ip_header ip = {
        .ip_ihl_ver = IP_IHL_VER(5, 4),
        .ip_tot_len = htons(dp_packet_size(p) - ETH_HEADER_LEN),
        .ip_ttl = 64,
        .ip_proto = IPPROTO_TCP,
    };
    struct tcp_header tcp = { .tcp_ctl = TCP_CTL(TCP_ACK, 5) };

    ip.ip_csum = csum(&ip, sizeof ip);
    memcpy(data + ETH_HEADER_LEN, &ip, sizeof ip);
    memcpy(data + ETH_HEADER_LEN + IP_HEADER_LEN, &tcp, sizeof tcp);
    dp_packet_hwol_set_csum_tcp(p);
    dp_packet_hwol_set_tx_ipv4(p);
    if (segment_len) {
        dp_packet_hwol_set_tcp_seg(p);
        adp_offload_set_segment_len(p, segment_len);
    }
    return p;
}

START_TEST(offloads)
{
    const size_t header_len = ETH_HEADER_LEN + IP_HEADER_LEN + TCP_HEADER_LEN;
    struct dp_packet_batch batch;

    ck_assert_int_eq(send_packet(make_tcp(100, 0)), 0);
    ck_assert_uint_eq(receive(&batch, true), 1);
    ck_assert(dp_packet_hwol_l4_is_tcp(batch.packets[0]));
    ck_assert(!dp_packet_hwol_is_tso(batch.packets[0]));
    dp_packet_delete_batch(&batch, true);

    /* Whole, and cut. */
    ck_assert_int_eq(send_packet(make_tcp(60000, 1400)), 0);
    ck_assert_uint_eq(receive(&batch, true), 1);
    ck_assert(dp_packet_hwol_is_tso(batch.packets[0]));
    ck_assert_uint_eq(adp_offload_segment_len(batch.packets[0]), 1400);
    ck_assert_uint_eq(dp_packet_size(batch.packets[0]), header_len + 60000);
    dp_packet_delete_batch(&batch, true);

    ck_assert_int_eq(send_packet(make_tcp(60000, 1400)), 0);
    ck_assert_int_eq(send_packet(make(60, TYPE_UNKNOWN, 1)), 0);
    const struct dp_packet *whole = NULL;
    size_t left = 60000;

    while (left) {
        struct dp_packet *p;

        ck_assert_uint_gt(receive(&batch, false), 0);
        whole = ring.segmented ? ring.segmented : whole;
        DP_PACKET_BATCH_FOR_EACH (i, p, &batch) {
            if (!left) {
                assert_made(p, 60, TYPE_UNKNOWN, 1);
                continue;
            }
            ck_assert_uint_eq(dp_packet_size(p),
                              header_len + MIN(left, 1400));
            ck_assert(!dp_packet_hwol_is_tso(p));
            left -= MIN(left, 1400);
        }
        dp_packet_delete_batch(&batch, true);
    }
    assert_nothing();
    ck_assert_ptr_nonnull(whole);
    ck_assert_ptr_null(ring.segmented);
#ifndef __SANITIZE_ADDRESS__
    struct dp_packet *again = adp_packet_pool_get(ADP_PACKET_POOL_LONG);

    ck_assert_ptr_eq(again, whole);
    adp_packet_pool_put(again);
#endif
    ck_assert_uint_eq(value(&counts.rx_bad_offload), 0);
}
END_TEST

static size_t
n_received(bool tso)
{
    struct dp_packet_batch batch;
    const size_t n = receive(&batch, tso);

    dp_packet_delete_batch(&batch, true);
    return n;
}

/* A sender asks for segments that are longer than the device sends, or hands
 * over a packet that is. */
START_TEST(longer_than_mtu)
{
    const size_t header_len = ETH_HEADER_LEN + IP_HEADER_LEN + TCP_HEADER_LEN;
    const size_t most = 1500 + VLAN_ETH_HEADER_LEN;

    adp_ring_limit(&ring, 1500);
    for (int tso = 0; tso < 2; tso++) {
        ck_assert_int_eq(send_packet(make_tcp(60000, 30000)), 0);
        ck_assert_int_eq(send_packet(make_tcp(6000, most - header_len + 1)),
                         0);
        ck_assert_int_eq(send_packet(make_tcp(most - header_len + 1, 0)), 0);
        ck_assert_int_eq(send_packet(make(most + 1, TYPE_UNKNOWN, 1)), 0);
        ck_assert_uint_eq(n_received(tso), 0);
        ck_assert_uint_eq(value(&counts.rx_too_long), 4 * tso + 4);
        assert_nothing();

        ck_assert_int_eq(send_packet(make_tcp(6000, most - header_len)), 0);
        ck_assert_uint_eq(n_received(tso), tso ? 1 : 5);
        ck_assert_int_eq(send_packet(make_tcp(most - header_len, 0)), 0);
        ck_assert_int_eq(send_packet(make(most, TYPE_UNKNOWN, 1)), 0);
        /* The tag that the kernel takes out comes to it. */
        ck_assert_int_eq(send_packet(make(most + VLAN_HEADER_LEN,
                                          ETH_TYPE_VLAN_8021Q, 1)), 0);
        ck_assert_uint_eq(n_received(tso), 3);
        ck_assert_uint_eq(value(&counts.rx_too_long), 4 * tso + 4);
    }

    /* The MTU may change, and not be known. */
    adp_ring_limit(&ring, 9000);
    ck_assert_int_eq(send_packet(make(most + 1, TYPE_UNKNOWN, 1)), 0);
    ck_assert_uint_eq(n_received(true), 1);
    ck_assert_int_eq(send_packet(make_tcp(60000, 30000)), 0);
    ck_assert_uint_eq(n_received(true), 0);
    adp_ring_limit(&ring, 0);
    ck_assert_int_eq(send_packet(make_tcp(60000, 30000)), 0);
    ck_assert_uint_eq(n_received(true), 1);
}
END_TEST

/* Nobody can use what comes, and it comes as fast as it is taken. */
START_TEST(no_use)
{
    enum { N = N_FRAMES - 1 };

    adp_ring_limit(&ring, 1000);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(send_packet(make(1100, TYPE_UNKNOWN, i)), 0);
    }
    ck_assert_int_eq(send_packet(make(60, TYPE_UNKNOWN, N)), 0);
    for (int n = 0; n + NETDEV_MAX_BURST <= N; ) {
        ck_assert_uint_eq(n_received(true), 0);
        n += NETDEV_MAX_BURST;
        ck_assert_uint_eq(value(&counts.rx_too_long), n);
        ck_assert(!adp_ring_is_empty(&ring));
    }
    assert_next(60, TYPE_UNKNOWN, N);
    ck_assert_uint_eq(value(&counts.rx_too_long), N);
    assert_nothing();
}
END_TEST

/* More long ones than their queue has room for: those that come first stay. */
START_TEST(too_many_long)
{
    enum { N = 512 };
    struct adp_ring other;
    struct dp_packet_batch batch;
    size_t n = 0;

    BUILD_ASSERT(N * 60000 > 3 * ADP_RING_QUEUE_BYTES);
    ck_assert_int_eq(adp_ring_open(&other, if_nametoindex("right"), N, false,
                                   &counts), 0);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(send_packet(make_tcp(60000, 1400)), 0);
    }
    do {
        dp_packet_batch_init(&batch);
        adp_ring_receive(&other, &batch, true);
        n += dp_packet_batch_size(&batch);
        dp_packet_delete_batch(&batch, true);
    } while (!adp_ring_is_empty(&other));
    ck_assert_uint_gt(n, 0);
    ck_assert_uint_lt(n, N);
    ck_assert_uint_eq(value(&counts.rx_too_long), N - n);
    adp_ring_close(&other);
}
END_TEST

static void
receive_without_header(struct adp_ring *r)
{
    struct dp_packet_batch batch;

    counts = (struct adp_ring_counts) { .rx_bad_offload = 0 };
    ck_assert_int_eq(send_packet(make(2000, TYPE_UNKNOWN, 1)), 0);
    ck_assert_int_eq(send_packet(make(5000, ETH_TYPE_VLAN_8021Q, 2)), 0);
    ck_assert_int_eq(send_packet(make(2000, TYPE_UNKNOWN, 3)), 0);
    n_errors = n_no_header = 1;
    dp_packet_batch_init(&batch);
    adp_ring_receive(r, &batch, true);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), 2);
    assert_made(batch.packets[0], 5000, ETH_TYPE_VLAN_8021Q, 2);
    assert_made(batch.packets[1], 2000, TYPE_UNKNOWN, 3);
    dp_packet_delete_batch(&batch, true);
    ck_assert_uint_eq(value(&counts.rx_bad_offload), 1);
    ck_assert_uint_eq(value(&counts.rx_too_long), 0);
}

/* One that the kernel has no header for is lost, and no other; each keeps its
 * own tag. */
START_TEST(no_header)
{
    struct adp_ring marked;

    receive_without_header(&ring);
    if (!adp_ring_try_marks()) {
        ck_assert_int_eq(adp_ring_open(&marked, if_nametoindex("right"),
                                       N_FRAMES, true, &counts), 0);
        receive_without_header(&marked);
        adp_ring_close(&marked);
    }
}
END_TEST

/* A ring that closes while segments are left. */
START_TEST(closes_within)
{
    struct dp_packet_batch batch;

    ck_assert_int_eq(send_packet(make_tcp(60000, 1400)), 0);
    ck_assert_uint_eq(receive(&batch, false), NETDEV_MAX_BURST);
    dp_packet_delete_batch(&batch, true);
}
END_TEST

/* Buffers. */

static void *
other_thread(void *packet)
{
    struct dp_packet *p = adp_packet_pool_get(60);

    ck_assert_ptr_ne(p, packet);
    adp_packet_pool_put(p);
    return NULL;
}

START_TEST(buffers)
{
    static const size_t sizes[] = {
        1, ADP_PACKET_POOL_SHORT, ADP_PACKET_POOL_SHORT + 1,
        ADP_PACKET_POOL_LONG,
    };

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct dp_packet *p = adp_packet_pool_get(sizes[i]);

        ck_assert_uint_eq(dp_packet_size(p), 0);
        ck_assert_uint_eq(dp_packet_headroom(p), ADP_PACKET_POOL_HEADROOM);
        ck_assert_uint_eq(dp_packet_tailroom(p),
                          i < 2 ? ADP_PACKET_POOL_SHORT
                          : ADP_PACKET_POOL_LONG);
        /* Whatever became of it, the next one finds it new. */
        dp_packet_put_zeros(p, sizes[i]);
        dp_packet_pull(p, 1);
        dp_packet_set_rss_hash(p, 5);
        dp_packet_hwol_set_csum_tcp(p);
        adp_packet_pool_put(p);
        struct dp_packet *next = adp_packet_pool_get(sizes[i]);

#ifndef __SANITIZE_ADDRESS__
        ck_assert_ptr_eq(next, p);
#endif
        ck_assert_uint_eq(dp_packet_size(next), 0);
        ck_assert_uint_eq(dp_packet_headroom(next), ADP_PACKET_POOL_HEADROOM);
        ck_assert(!dp_packet_rss_valid(next));
        ck_assert(!adp_offload_is_due(next));
        pthread_t thread = ovs_thread_create("other", other_thread, next);

        xpthread_join(thread, NULL);
        adp_packet_pool_put(next);
    }

    /* One that grew, and one of another kind, go back to malloc(). */
    struct dp_packet *p = adp_packet_pool_get(60), *q = dp_packet_new(60);

    dp_packet_prealloc_tailroom(p, 5000);
    adp_packet_pool_put(p);
    adp_packet_pool_put(q);
    p = adp_packet_pool_get(60);
    ck_assert_uint_eq(dp_packet_tailroom(p), ADP_PACKET_POOL_SHORT);
    adp_packet_pool_put(p);
}
END_TEST

/* No more than so many are kept: the sanitizer sees a leak otherwise. */
START_TEST(many_buffers)
{
    enum { N = ADP_PACKET_POOL_N_SHORT + 100 };
    struct dp_packet *packets[N];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            packets[i] = adp_packet_pool_get(60);
            dp_packet_put_zeros(packets[i], ADP_PACKET_POOL_SHORT);
        }
        for (int i = 0; i < N; i++) {
            adp_packet_pool_put(packets[i]);
        }
    }
}
END_TEST

int
main(void)
{
    if (unshare(CLONE_NEWNET)
        || !shell("ip link set lo up && "
                  "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")) {
        fprintf(stderr, "needs root, and ip of iproute2\n");
        return EXIT_SKIP;
    }
    Suite *s = suite_create("packet-ring");
    TCase *tc = tcase_create("ring");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, short_and_long);
    tcase_add_test(tc, one_way);
    tcase_add_test(tc, round_and_full);
    tcase_add_test(tc, tags);
    tcase_add_test(tc, refused);
    tcase_add_test(tc, comes_back);
    tcase_add_test(tc, bound_twice);
    tcase_add_test(tc, no_device);
    tcase_add_test(tc, lengths);
    tcase_add_test(tc, offloads);
    tcase_add_test(tc, longer_than_mtu);
    tcase_add_test(tc, no_use);
    tcase_add_test(tc, too_many_long);
    tcase_add_test(tc, no_header);
    tcase_add_test(tc, closes_within);
    suite_add_tcase(s, tc);
    tc = tcase_create("pool");
    tcase_add_test(tc, buffers);
    tcase_add_test(tc, many_buffers);
    suite_add_tcase(s, tc);
    return test_run(s);
}

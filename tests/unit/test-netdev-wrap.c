/* SPDX-License-Identifier: Apache-2.0 */

/* Actions on packets whose checksum or segmentation is left to others: what
 * goes into a tunnel is finished, and who keeps a packet has all done to it
 * that the actions say. */

#include <config.h>
#include <check.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "adp-kernel-port.h"
#include "adp-offload.h"
#include "adp-poller.h"
#include "coverage.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "netdev-afxdp.h"
#include "netdev-native-tnl.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "odp-execute.h"
#include "odp-netlink.h"
#include "openvswitch/poll-loop.h"
#include "packets.h"
#include "smap.h"
#include "test-run.h"
#include "userspace-tso.h"
#include "util.h"

/* Of the rooms around. */

void
adp_kernel_port_get_devices(struct shash *devices OVS_UNUSED)
{
}

bool
adp_kernel_port_is(const struct netdev *netdev OVS_UNUSED)
{
    return false;
}

void
adp_kernel_port_forget_marks(void)
{
}

void
adp_poller_note_other(void)
{
}

/* A packet, and what is done to it. */

static const struct eth_addr new_dst = ETH_ADDR_C(0a,00,00,00,00,09);
static struct ofpbuf actions;
static size_t n_pushed, n_output;       /* Packets. */
static size_t n_bytes_pushed;           /* Of data. */
static size_t n_sent;                   /* By the device. */
static size_t n_bytes_sent;             /* Of data. */
static size_t longest_sent;             /* With all headers. */

static void
setup(void)
{
    odp_execute_init();
    ofpbuf_init(&actions, 256);
    n_pushed = n_output = n_bytes_pushed = 0;
    n_sent = n_bytes_sent = longest_sent = 0;
}

static void
teardown(void)
{
    ofpbuf_uninit(&actions);
}

/* TCP, with nonsense for a checksum, which is left to others. */
static struct dp_packet *
make(size_t data_len)
{
    const struct flow flow = {
        .dl_type = htons(ETH_TYPE_IP),
        .nw_proto = IPPROTO_TCP,
        .nw_src = htonl(0x0a000001),
        .nw_dst = htonl(0x0a000002),
        .nw_ttl = 64,
        .tp_src = htons(1),
        .tp_dst = htons(2),
        .tcp_flags = htons(TCP_ACK),
    };
    struct dp_packet *p = dp_packet_new(0);
    struct flow parsed;

    flow_compose(p, &flow, NULL, data_len);
    pkt_metadata_init(&p->md, u32_to_odp(1));
    flow_extract(p, &parsed);           /* Sets offsets. */
    ((struct tcp_header *) dp_packet_l4(p))->tcp_csum = htons(0x1234);
    dp_packet_hwol_set_csum_tcp(p);
    dp_packet_hwol_set_tx_ipv4(p);
    return p;
}

static struct dp_packet *
make_long(size_t data_len)
{
    struct dp_packet *p = make(data_len);

    dp_packet_hwol_set_tcp_seg(p);
    adp_offload_set_segment_len(p, 1000);
    return p;
}

static void
put_set(void)
{
    const struct ovs_key_ethernet key = { .eth_dst = new_dst };
    size_t ofs = nl_msg_start_nested(&actions, OVS_ACTION_ATTR_SET);

    nl_msg_put_unspec(&actions, OVS_KEY_ATTR_ETHERNET, &key, sizeof key);
    nl_msg_end_nested(&actions, ofs);
}

/* Into a tunnel, as upstream's translation has it. */
static void
put_push(void)
{
    const struct ovs_action_push_tnl push = { .header_len = 0 };
    size_t ofs = nl_msg_start_nested(&actions, OVS_ACTION_ATTR_CLONE);

    nl_msg_put_unspec(&actions, OVS_ACTION_ATTR_TUNNEL_PUSH, &push,
                      sizeof push);
    nl_msg_put_odp_port(&actions, OVS_ACTION_ATTR_OUTPUT, u32_to_odp(2));
    nl_msg_end_nested(&actions, ofs);
}

static void
put_output(void)
{
    nl_msg_put_odp_port(&actions, OVS_ACTION_ATTR_OUTPUT, u32_to_odp(3));
}

static bool
is_whole(const struct dp_packet *p)
{
    const uint32_t sum = packet_csum_pseudoheader(dp_packet_l3(p));

    return (!adp_offload_is_due(p)
            && !csum_finish(csum_continue(sum, dp_packet_l4(p),
                                          dp_packet_l4_size(p))));
}

static bool
has_new_dst(const struct dp_packet *p)
{
    const struct eth_header *eth = dp_packet_data(p);

    return eth_addr_equals(eth->eth_dst, new_dst);
}

/* Upstream's DPDK ports take all packets of a batch for what the first is. */
static void
assert_one_source(const struct dp_packet_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        ck_assert_int_eq(batch->packets[i]->source, batch->packets[0]->source);
    }
}

/* As DPDK's are marked, but from malloc(). */
static void
delete_batch(struct dp_packet_batch *batch)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        if (packet->source == DPBUF_DPDK) {
            packet->source = DPBUF_MALLOC;
        }
    }
    dp_packet_delete_batch(batch, true);
    dp_packet_batch_init(batch);
}

/* Called for the actions that are left to a datapath. */
static void
execute_cb(void *dp OVS_UNUSED, struct dp_packet_batch *batch,
           const struct nlattr *a, bool should_steal)
{
    struct dp_packet *packet;

    assert_one_source(batch);
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        ck_assert(has_new_dst(packet));
        if (nl_attr_type(a) == OVS_ACTION_ATTR_TUNNEL_PUSH) {
            ck_assert(is_whole(packet));
            n_pushed++;
            n_bytes_pushed += dp_packet_l4_size(packet) - TCP_HEADER_LEN;
        } else {
            ck_assert_int_eq(nl_attr_type(a), OVS_ACTION_ATTR_OUTPUT);
            n_output++;
        }
    }
    if (should_steal) {
        delete_batch(batch);
    }
}

static void
execute(struct dp_packet_batch *batch, bool steal)
{
    odp_execute_actions(NULL, batch, steal, actions.data, actions.size,
                        execute_cb);
}

/* Who keeps it goes on with a packet that is as the actions left it. */
START_TEST(kept)
{
    struct dp_packet *p = make(100);
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    put_set();
    put_push();
    execute(&batch, false);
    ck_assert_uint_eq(n_pushed, 1);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), 1);
    ck_assert_ptr_eq(batch.packets[0], p);
    ck_assert(has_new_dst(p));
    ck_assert(is_whole(p));
    dp_packet_delete(p);
}
END_TEST

/* One that isn't pushed stays as it is. */
START_TEST(not_pushed)
{
    struct dp_packet *p = make(100);
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    put_set();
    put_output();
    execute(&batch, false);
    ck_assert_uint_eq(n_output, 1);
    ck_assert(has_new_dst(p));
    ck_assert(adp_offload_is_due(p));
    dp_packet_delete(p);
}
END_TEST

/* A batch whose segments are more than a batch holds. */
START_TEST(segments)
{
    enum { LONG = 20, DATA = 2500 };
    struct dp_packet_batch batch;

    dp_packet_batch_init(&batch);
    for (int i = 0; i < LONG; i++) {
        dp_packet_batch_add(&batch, i == 3 ? make(DATA) : make_long(DATA));
    }
    put_set();
    put_push();
    put_output();
    execute(&batch, true);
    ck_assert_uint_ge(n_pushed, 2 * LONG - 1);
    ck_assert_uint_eq(n_bytes_pushed, LONG * DATA);
    ck_assert_uint_eq(n_output, 2 * n_pushed);  /* Out of the tunnel, too. */
}
END_TEST

/* Upstream executes what upcalls say so, and throws the packet away. */
START_TEST(segments_of_one_that_stays)
{
    struct dp_packet *p = make_long(2500);
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    put_set();
    put_push();
    execute(&batch, false);
    ck_assert_uint_ge(n_pushed, 2);
    ck_assert_uint_eq(n_bytes_pushed, 2500);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), 1);
    ck_assert(dp_packet_hwol_is_tso(p));
    dp_packet_delete(p);
}
END_TEST

/* What is pushed within other actions. */
START_TEST(within_other_actions)
{
    struct dp_packet *p = make(100);
    struct dp_packet_batch batch;
    size_t sample, list;

    dp_packet_batch_init_packet(&batch, p);
    put_set();
    sample = nl_msg_start_nested(&actions, OVS_ACTION_ATTR_SAMPLE);
    nl_msg_put_u32(&actions, OVS_SAMPLE_ATTR_PROBABILITY, UINT32_MAX);
    list = nl_msg_start_nested(&actions, OVS_SAMPLE_ATTR_ACTIONS);
    put_push();
    nl_msg_end_nested(&actions, list);
    nl_msg_end_nested(&actions, sample);
    execute(&batch, false);
    ck_assert_uint_eq(n_pushed, 1);
    ck_assert(has_new_dst(p));
    dp_packet_delete(p);
}
END_TEST

/* Packets of a DPDK port's, two of which are too long, so that their segments
 * are the heap's. */
static void
make_mixed(struct dp_packet_batch *batch)
{
    dp_packet_batch_init(batch);
    for (int i = 0; i < 6; i++) {
        struct dp_packet *p = i % 3 == 1 ? make_long(2500) : make(100);

        if (!dp_packet_hwol_is_tso(p)) {
            p->source = DPBUF_DPDK;
        }
        dp_packet_batch_add(batch, p);
    }
}

START_TEST(segments_of_some)
{
    struct dp_packet_batch batch;

    make_mixed(&batch);
    put_set();
    put_push();
    put_output();
    execute(&batch, true);
    ck_assert_uint_ge(n_pushed, 4 + 2 * 2);
    ck_assert_uint_eq(n_bytes_pushed, 4 * 100 + 2 * 2500);
    ck_assert_uint_eq(n_output, 2 * n_pushed);
}
END_TEST

/* A device that finishes nothing. */

static int
get_mtu(const struct netdev *netdev OVS_UNUSED, int *mtu)
{
    *mtu = ETH_PAYLOAD_MAX;
    return 0;
}

static int
send_whole(struct netdev *netdev OVS_UNUSED, int qid OVS_UNUSED,
           struct dp_packet_batch *batch, bool concurrent OVS_UNUSED)
{
    struct dp_packet *packet;

    assert_one_source(batch);
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        ck_assert(is_whole(packet));
        n_sent++;
        n_bytes_sent += dp_packet_l4_size(packet) - TCP_HEADER_LEN;
        longest_sent = MAX(longest_sent, dp_packet_size(packet));
    }
    delete_batch(batch);
    return 0;
}

START_TEST(sent_segments_of_some)
{
    static const struct netdev_class class = {
        .type = "plain", .get_mtu = get_mtu, .send = send_whole,
    };
    struct netdev netdev = { .netdev_class = &class };
    struct dp_packet_batch batch;

    make_mixed(&batch);
    ck_assert_int_eq(netdev_send(&netdev, 0, &batch, false), 0);
    ck_assert_uint_ge(n_sent, 4 + 2 * 2);
    ck_assert_uint_eq(n_bytes_sent, 4 * 100 + 2 * 2500);
    ck_assert_uint_le(longest_sent, ETH_TOTAL_MAX);
}
END_TEST

/* Nobody knows how long segments may be. */
START_TEST(sent_without_mtu)
{
    static const struct netdev_class class = {
        .type = "plain", .send = send_whole,
    };
    struct netdev netdev = { .netdev_class = &class };
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, make_long(20000));
    adp_offload_set_segment_len(batch.packets[0], 0);
    ck_assert_int_eq(netdev_send(&netdev, 0, &batch, false), 0);
    ck_assert_uint_eq(n_bytes_sent, 20000);
    ck_assert_uint_le(n_sent, 20000 / ADP_OFFLOAD_MIN_SEGMENT + 1);
    ck_assert_uint_le(longest_sent, ETH_TOTAL_MAX);
}
END_TEST

/* A device that finishes checksums, and wants them begun: with the sum over
 * the pseudo-header. */

static int
send_begun(struct netdev *netdev OVS_UNUSED, int qid OVS_UNUSED,
           struct dp_packet_batch *batch, bool concurrent OVS_UNUSED)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        const struct tcp_header *tcp = dp_packet_l4(packet);
        const uint32_t sum = packet_csum_pseudoheader(dp_packet_l3(packet));

        ck_assert(dp_packet_hwol_l4_is_tcp(packet));
        ck_assert_uint_eq(tcp->tcp_csum, (uint16_t) ~csum_finish(sum));
        n_sent++;
    }
    delete_batch(batch);
    return 0;
}

/* As a guest leaves it, and then NAT. */
static struct dp_packet *
make_translated(enum dp_packet_source source)
{
    struct dp_packet *p = make(100);
    struct ip_header *ip = dp_packet_l3(p);
    struct tcp_header *tcp = dp_packet_l4(p);

    adp_offload_begin(p);
    p->source = source;
    packet_set_ipv4_addr(p, &ip->ip_dst, htonl(0x0a630203));
    packet_set_tcp_port(p, tcp->tcp_src, htons(6443));
    return p;
}

START_TEST(sent_unfinished)
{
    static const enum dp_packet_source sources[] = {
        DPBUF_DPDK, DPBUF_MALLOC,
    };
    static const struct netdev_class class = {
        .type = "plain", .get_mtu = get_mtu, .send = send_begun,
    };
    struct netdev netdev = {
        .netdev_class = &class,
        .ol_flags = NETDEV_TX_OFFLOAD_TCP_CKSUM | NETDEV_TX_OFFLOAD_UDP_CKSUM,
    };

    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        struct dp_packet_batch batch;

        dp_packet_batch_init_packet(&batch, make_translated(sources[i]));
        ck_assert_int_eq(netdev_send(&netdev, 0, &batch, false), 0);
    }
    ck_assert_uint_eq(n_sent, ARRAY_SIZE(sources));
}
END_TEST

#ifdef HAVE_AF_XDP
extern struct coverage_counter counter_netdev_afxdp_too_long;

/* What AF_XDP's devices get, which copy it to frames without looking at its
 * length. */
__typeof__(netdev_afxdp_batch_send) __wrap_netdev_afxdp_batch_send;

int
__wrap_netdev_afxdp_batch_send(struct netdev *netdev, int qid,
                               struct dp_packet_batch *batch, bool concurrent)
{
    return send_whole(netdev, qid, batch, concurrent);
}

static void
send_by_afxdp(struct netdev *netdev, struct dp_packet *p)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, make(100));
    dp_packet_batch_add(&batch, p);
    ck_assert_int_eq(netdev_send(netdev, 0, &batch, false), 0);
}

static void
check_afxdp(const char *type)
{
    enum { FRAME_LEN = 4096, HEADER_LEN = ETH_HEADER_LEN + IP_HEADER_LEN
                                          + TCP_HEADER_LEN };
    struct netdev *netdev;
    struct dp_packet *p;

    setup();
    ck_assert_int_eq(netdev_open("lo", type, &netdev), 0);
    /* As with userspace-tso-enable. */
    netdev->ol_flags |= (NETDEV_TX_OFFLOAD_TCP_TSO
                         | NETDEV_TX_OFFLOAD_TCP_CKSUM);
    send_by_afxdp(netdev, make_long(20000));
    ck_assert_uint_eq(n_bytes_sent, 100 + 20000);
    ck_assert_uint_le(longest_sent, FRAME_LEN);

    send_by_afxdp(netdev, make(FRAME_LEN - HEADER_LEN));
    ck_assert_uint_eq(longest_sent, FRAME_LEN);
    ck_assert_uint_eq(counter_netdev_afxdp_too_long.count(), 0);

    n_sent = longest_sent = 0;
    send_by_afxdp(netdev, make(FRAME_LEN - HEADER_LEN + 1));
    p = make(FRAME_LEN - HEADER_LEN + 1);
    adp_offload_complete(p);            /* Nothing is left to others. */
    send_by_afxdp(netdev, p);
    ck_assert_uint_eq(n_sent, 2);
    ck_assert_uint_lt(longest_sent, FRAME_LEN);
    ck_assert_uint_eq(counter_netdev_afxdp_too_long.count(), 2);
    netdev_close(netdev);
    teardown();
}
#endif

/* On a loopback of this test's own, without a socket.  Needs root. */
START_TEST(frames_of_afxdp)
{
#ifdef HAVE_AF_XDP
    if (unshare(CLONE_NEWNET)) {
        return;
    }
    teardown();
    check_afxdp("afxdp");
    check_afxdp("afxdp-nonpmd");
    setup();
#endif
}
END_TEST

/* A long header before packets that are in a device's memory: two, the second
 * of which has too little room for it.  Both are copied. */
START_TEST(in_memory_of_a_device)
{
#ifdef HAVE_AF_XDP
    enum { HEADER_LEN = 178, LEN = 60 };
    static const struct netdev_class class = {
        .type = "geneve",
        .push_header = netdev_tnl_push_udp_header,
    };
    static const size_t headrooms[] = { HEADER_LEN, 128 };
    const struct netdev netdev = { .netdev_class = &class };
    struct ovs_action_push_tnl push = { .header_len = HEADER_LEN };
    struct dp_packet_afxdp packets[ARRAY_SIZE(headrooms)];
    uint8_t memory[ARRAY_SIZE(headrooms)][HEADER_LEN + LEN];
    uint8_t data[LEN];
    struct dp_packet_batch batch;

    memset(data, 0x5a, sizeof data);
    memset(packets, 0, sizeof packets);
    dp_packet_batch_init(&batch);
    for (size_t i = 0; i < ARRAY_SIZE(headrooms); i++) {
        struct dp_packet *p = &packets[i].packet;

        dp_packet_use_afxdp(p, &memory[i][headrooms[i]], sizeof memory[i],
                            headrooms[i]);
        dp_packet_put(p, data, sizeof data);
        dp_packet_set_rss_hash(p, 7 + i);
        batch.packets[batch.count++] = p;
    }
    ck_assert_int_eq(netdev_push_header(&netdev, &batch, &push), 0);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), ARRAY_SIZE(headrooms));
    assert_one_source(&batch);
    for (size_t i = 0; i < ARRAY_SIZE(headrooms); i++) {
        struct dp_packet *p = batch.packets[i];

        ck_assert_uint_eq(dp_packet_size(p), HEADER_LEN + LEN);
        ck_assert_mem_eq(dp_packet_at(p, HEADER_LEN, LEN), data, LEN);
        ck_assert_uint_eq(dp_packet_get_rss_hash(p), 7 + i);
    }
    dp_packet_delete_batch(&batch, true);
#endif
}
END_TEST

/* What upstream receives, in a network of this test's own. */

/* As a host or a Pod hands over a packet whose segments are to have 'gso_size'
 * bytes. */
static void
hand_over(const char *device, uint16_t gso_size, bool tagged)
{
    const struct sockaddr_ll to = {
        .sll_family = AF_PACKET,
        .sll_ifindex = if_nametoindex(device),
    };
    struct dp_packet *p = make_long(20000);
    struct virtio_net_hdr header;
    const int fd = socket(AF_PACKET, SOCK_RAW, 0), on = 1;

    ck_assert_int_ge(fd, 0);
    ck_assert(!setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on));
    adp_offload_set_segment_len(p, gso_size);
    if (tagged) {
        eth_push_vlan(p, htons(ETH_TYPE_VLAN_8021Q), htons(5));
    }
    adp_offload_put(p, &header, ETH_PAYLOAD_MAX);
    ck_assert_uint_eq(header.gso_size, gso_size);
    struct iovec iovs[] = {
        { .iov_base = &header, .iov_len = sizeof header },
        { .iov_base = dp_packet_data(p), .iov_len = dp_packet_size(p) },
    };
    const struct msghdr msg = {
        .msg_name = CONST_CAST(struct sockaddr_ll *, &to),
        .msg_namelen = sizeof to,
        .msg_iov = iovs,
        .msg_iovlen = ARRAY_SIZE(iovs),
    };

    ck_assert_int_gt(sendmsg(fd, &msg, 0), 0);
    close(fd);
    dp_packet_delete(p);
}

/* Returns the next packet whose segmentation is left to others. */
static struct dp_packet *
receive_long(struct netdev_rxq *rxq)
{
    struct dp_packet *found = NULL;

    while (!found) {
        struct dp_packet_batch batch;
        struct dp_packet *p;

        if (netdev_rxq_recv(rxq, &batch, NULL)) {
            netdev_rxq_wait(rxq);
            poll_block();
            continue;
        }
        DP_PACKET_BATCH_FOR_EACH (i, p, &batch) {
            if (!found && dp_packet_hwol_is_tso(p)) {
                found = p;
            } else {
                dp_packet_delete(p);
            }
        }
    }
    return found;
}

/* 'netdev' receives what is handed over to 'from'. */
static void
check_received(const char *from, struct netdev *netdev, bool tagged,
               uint16_t gso_size, uint16_t segment_len)
{
    struct netdev_rxq *rxq;

    ck_assert_int_eq(netdev_rxq_open(netdev, &rxq, 0), 0);
    hand_over(from, gso_size, tagged);
    struct dp_packet *p = receive_long(rxq);
    const struct eth_header *eth = dp_packet_data(p);

    ck_assert_uint_eq(eth_type_vlan(eth->eth_type), tagged);
    ck_assert_uint_eq(adp_offload_segment_len(p), segment_len);
    dp_packet_delete(p);
    netdev_rxq_close(rxq);
}

/* The kernel says how long segments are to be, which aren't longer than the
 * MTU allows. */
static void
check_segment_len(const char *from, const char *to, const char *type)
{
    const uint16_t room = 1450 - IP_HEADER_LEN - TCP_HEADER_LEN;
    struct netdev_saved_flags *flags;
    struct netdev *netdev;

    ck_assert_int_eq(netdev_open(to, type, &netdev), 0);
    ck_assert_int_eq(netdev_set_mtu(netdev, 1450), 0);
    ck_assert_int_eq(netdev_turn_flags_on(netdev, NETDEV_UP, &flags), 0);
    check_received(from, netdev, false, 1398, 1398);
    check_received(from, netdev, true, 1000, 1000);
    check_received(from, netdev, false, 4000, room);
    netdev_restore_flags(flags);
    netdev_close(netdev);
}

/* With userspace-tso-enable, in a process of its own.  Needs root. */
static bool
enter_network(void)
{
    const struct smap config = SMAP_CONST1(&config, "userspace-tso-enable",
                                           "true");

    if (unshare(CLONE_NEWNET)) {
        return false;
    }
    userspace_tso_init(&config);
    return true;
}

START_TEST(received_from_tap)
{
    if (enter_network()) {
        check_segment_len("tap0", "tap0", "tap");
    }
}
END_TEST

START_TEST(received_from_socket)
{
    if (enter_network()) {
        ck_assert(!system("ip link add left type veth peer name right && "
                          "ip link set right arp off up && "
                          "ip link set left arp off up"));
        check_segment_len("left", "right", "system");
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("netdev-wrap");
    TCase *tc = tcase_create("netdev-wrap");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, kept);
    tcase_add_test(tc, not_pushed);
    tcase_add_test(tc, segments);
    tcase_add_test(tc, segments_of_one_that_stays);
    tcase_add_test(tc, within_other_actions);
    tcase_add_test(tc, segments_of_some);
    tcase_add_test(tc, sent_segments_of_some);
    tcase_add_test(tc, sent_without_mtu);
    tcase_add_test(tc, sent_unfinished);
    tcase_add_test(tc, frames_of_afxdp);
    tcase_add_test(tc, in_memory_of_a_device);
    tcase_add_test(tc, received_from_tap);
    tcase_add_test(tc, received_from_socket);
    return test_run(s);
}

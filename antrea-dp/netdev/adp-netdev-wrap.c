/* SPDX-License-Identifier: Apache-2.0 */

/* Where upstream would drop a packet whose checksum or segmentation is left to
 * others, or forget about it, or has no room for a header before it, or for
 * the packet.
 *
 * The linker puts functions of ours between some of upstream's and who calls
 * them (--wrap, in automake.mk): __wrap_F() is called for F(), __real_F() is
 * upstream's. */

#include <config.h>

#include <string.h>
#include <linux/virtio_net.h>

#include "adp-kernel-port.h"
#include "adp-offload-actions.h"
#include "adp-offload.h"
#include "adp-poller.h"
#include "coverage.h"
#include "dp-packet.h"
#include "netdev-provider.h"
#include "odp-execute.h"
#include "openvswitch/shash.h"
#include "userspace-tso.h"
#include "util.h"

COVERAGE_DEFINE(netdev_afxdp_too_long);

struct dp_packet *__real_dp_packet_clone(const struct dp_packet *);
struct dp_packet *__wrap_dp_packet_clone(const struct dp_packet *);
struct dp_packet *__real_dp_packet_clone_with_headroom(
    const struct dp_packet *, size_t headroom);
struct dp_packet *__wrap_dp_packet_clone_with_headroom(
    const struct dp_packet *, size_t headroom);
void __real_netdev_get_devices(const struct netdev_class *, struct shash *);
void __wrap_netdev_get_devices(const struct netdev_class *, struct shash *);
int __real_netdev_push_header(const struct netdev *, struct dp_packet_batch *,
                              const struct ovs_action_push_tnl *);
int __wrap_netdev_push_header(const struct netdev *, struct dp_packet_batch *,
                              const struct ovs_action_push_tnl *);
int __real_netdev_rxq_recv(struct netdev_rxq *, struct dp_packet_batch *,
                           int *qfill);
int __wrap_netdev_rxq_recv(struct netdev_rxq *, struct dp_packet_batch *,
                           int *qfill);
int __real_netdev_send(struct netdev *, int qid, struct dp_packet_batch *,
                       bool concurrent);
int __wrap_netdev_send(struct netdev *, int qid, struct dp_packet_batch *,
                       bool concurrent);
void __real_odp_execute_actions(void *dp, struct dp_packet_batch *, bool steal,
                                const struct nlattr *, size_t,
                                odp_execute_cb);
void __wrap_odp_execute_actions(void *dp, struct dp_packet_batch *, bool steal,
                                const struct nlattr *, size_t,
                                odp_execute_cb);

/* A copy's segments are as long as those of the packet. */
static struct dp_packet *
with_segment_len(struct dp_packet *clone, const struct dp_packet *packet)
{
    if (OVS_UNLIKELY(dp_packet_hwol_is_tso(packet))) {
        adp_offload_set_segment_len(clone, adp_offload_segment_len(packet));
    }
    return clone;
}

struct dp_packet *
__wrap_dp_packet_clone(const struct dp_packet *packet)
{
    return with_segment_len(__real_dp_packet_clone(packet), packet);
}

struct dp_packet *
__wrap_dp_packet_clone_with_headroom(const struct dp_packet *packet,
                                     size_t headroom)
{
    return with_segment_len(
        __real_dp_packet_clone_with_headroom(packet, headroom), packet);
}

/* Upstream looks at all devices anew when it missed news of some. */
void
__wrap_netdev_get_devices(const struct netdev_class *class,
                          struct shash *devices)
{
    __real_netdev_get_devices(class, devices);
    if (class == &netdev_linux_class) {
        adp_kernel_port_get_devices(devices);
    }
}

/* How long a packet of the network layer may be that 'netdev' receives or
 * sends, as far as it is known. */
static int
known_mtu(const struct netdev *netdev)
{
    int mtu;

    return netdev_get_mtu(netdev, &mtu) ? ETH_PAYLOAD_MAX : mtu;
}

/* How long segments of 'packet' are to be, as the kernel said it to 'netdev',
 * or 0.  Upstream takes the kernel's header off without a look at that, but it
 * is before the data still.  A tag that a socket tells apart is put over its
 * end. */
static uint16_t
gso_size_before(const struct netdev *netdev, const struct dp_packet *packet)
{
    const bool is_tap = netdev->netdev_class == &netdev_tap_class;
    const struct eth_header *eth = dp_packet_data(packet);
    const size_t over = (!is_tap && eth_type_vlan(eth->eth_type)
                         ? VLAN_HEADER_LEN : 0);
    const size_t ofs = (sizeof(struct virtio_net_hdr) - over
                        - offsetof(struct virtio_net_hdr, gso_size));
    uint16_t gso_size;

    if ((!is_tap && netdev->netdev_class != &netdev_linux_class)
        || dp_packet_headroom(packet) < ofs) {
        return 0;
    }
    memcpy(&gso_size, (const char *) eth - ofs, sizeof gso_size);
    return gso_size;
}

/* Upstream leaves for the length of segments what malloc() left there. */
static void
note_segment_len(const struct netdev *netdev, struct dp_packet_batch *batch)
{
    struct dp_packet *packet;
    int mtu = 0;                /* Asked for once, under a lock. */

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        if (packet->source == DPBUF_MALLOC && dp_packet_hwol_is_tso(packet)) {
            mtu = mtu ? mtu : known_mtu(netdev);
            adp_offload_set_segment_len(packet,
                                        gso_size_before(netdev, packet));
            adp_offload_limit_segments(packet, mtu);
        }
    }
}

/* A thread rests only if it polls nothing else. */
int
__wrap_netdev_rxq_recv(struct netdev_rxq *rxq, struct dp_packet_batch *batch,
                       int *qfill)
{
    const bool other = !adp_kernel_port_is(rxq->netdev);

    if (other) {
        adp_poller_note_other();
        adp_kernel_port_forget_marks();
    }
    int error = __real_netdev_rxq_recv(rxq, batch, qfill);

    if (other && !error && OVS_UNLIKELY(userspace_tso_enabled())) {
        note_segment_len(rxq->netdev, batch);
    }
    return error;
}

/* Upstream's DPDK ports, and what waits for a port, take all packets of a
 * batch for what the first is: from DPDK's memory, or not. */
static bool
has_room_for(const struct dp_packet_batch *batch,
             const struct dp_packet *packet)
{
    return (dp_packet_batch_is_empty(batch)
            || (!dp_packet_batch_is_full(batch)
                && batch->packets[0]->source == packet->source));
}

static bool
is_in_device_memory(const struct dp_packet *packet)
{
    return packet->source == DPBUF_DPDK || packet->source == DPBUF_AFXDP;
}

static bool
lacks_room(const struct dp_packet_batch *batch, size_t header_len)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct dp_packet *packet = batch->packets[i];

        if (OVS_UNLIKELY(dp_packet_headroom(packet) < header_len)
            && is_in_device_memory(packet)) {
            return true;
        }
    }
    return false;
}

/* Upstream gives a packet more room for a header, but aborts at one that is in
 * a device's memory.  So that is copied out of there, and the others of the
 * batch with it. */
static void
make_room(struct dp_packet_batch *batch, size_t header_len)
{
    if (OVS_LIKELY(!lacks_room(batch, header_len))) {
        return;
    }
    for (size_t i = 0; i < batch->count; i++) {
        struct dp_packet *packet = batch->packets[i];

        if (is_in_device_memory(packet)) {
            batch->packets[i] = dp_packet_clone_with_headroom(packet,
                                                              header_len);
            dp_packet_delete(packet);
        }
    }
}

/* A tunnel's packets have no checksum that others may finish within them. */
int
__wrap_netdev_push_header(const struct netdev *netdev,
                          struct dp_packet_batch *batch,
                          const struct ovs_action_push_tnl *push)
{
    adp_offload_complete_batch(batch);
    make_room(batch, push->header_len);
    return __real_netdev_push_header(netdev, batch, push);
}

/* The memory that upstream's AF_XDP ports copy a packet to, however long it is
 * (FRAME_SIZE in netdev-afxdp.c).  The next packet's is behind it. */
#define AFXDP_FRAME_LEN 4096

static bool
is_afxdp(const struct netdev *netdev OVS_UNUSED)
{
#ifdef HAVE_AF_XDP
    return (netdev->netdev_class == &netdev_afxdp_class
            || netdev->netdev_class == &netdev_afxdp_nonpmd_class);
#else
    return false;
#endif
}

static void
drop_beyond_frame(struct dp_packet_batch *batch)
{
    const size_t n = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    size_t i;

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, batch) {
        if (OVS_LIKELY(dp_packet_size(packet) <= AFXDP_FRAME_LEN)) {
            dp_packet_batch_refill(batch, packet, i);
        } else {
            COVERAGE_INC(netdev_afxdp_too_long);
            dp_packet_delete(packet);
        }
    }
}

/* Sends 'batch', of which nothing is left to others that 'netdev' doesn't do.
 * As upstream's does it takes a batch of none. */
static int
send_as_it_is(struct netdev *netdev, int qid, struct dp_packet_batch *batch,
              bool concurrent)
{
    if (OVS_UNLIKELY(is_afxdp(netdev))) {
        drop_beyond_frame(batch);
    }
    return __real_netdev_send(netdev, qid, batch, concurrent);
}

/* How long a packet of the network layer may be that is cut for 'netdev'. */
static int
mtu_of(const struct netdev *netdev)
{
    const int mtu = known_mtu(netdev);

    return (is_afxdp(netdev) ? MIN(mtu, AFXDP_FRAME_LEN - VLAN_ETH_HEADER_LEN)
            : mtu);
}

/* Of what is left to others, that which 'netdev' doesn't do.  Upstream says of
 * AF_XDP's that they do what others of the kernel's do: they do nothing. */
static uint64_t
beyond(const struct netdev *netdev)
{
    const uint64_t can = is_afxdp(netdev) ? 0 : netdev->ol_flags;

    return ((can & NETDEV_TX_OFFLOAD_TCP_TSO ? 0 : DP_PACKET_OL_TX_TCP_SEG)
            | (can & NETDEV_TX_OFFLOAD_TCP_CKSUM
               ? 0 : DP_PACKET_OL_TX_TCP_CKSUM)
            | (can & NETDEV_TX_OFFLOAD_UDP_CKSUM
               ? 0 : DP_PACKET_OL_TX_UDP_CKSUM));
}

static uint64_t
batch_flags(const struct dp_packet_batch *batch)
{
    uint64_t flags = 0;

    for (size_t i = 0; i < batch->count; i++) {
        flags |= *dp_packet_ol_flags_ptr(batch->packets[i]);
    }
    return flags;
}

/* What packets need before 'netdev', which can finish them, gets them: the
 * kernel's and guests' are begun, but NAT has gone over that.  Ports of ours
 * know what to do. */
static void
begin_batch(const struct netdev *netdev, struct dp_packet_batch *batch)
{
    struct dp_packet *packet;

    if (adp_kernel_port_is(netdev)) {
        return;
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        adp_offload_begin(packet);
    }
}

/* Sends 'out', as the device can. */
static int
send_completed(struct netdev *netdev, int qid, struct dp_packet_batch *out,
               bool concurrent)
{
    if (dp_packet_batch_is_empty(out)) {
        return 0;
    }
    if (batch_flags(out) & beyond(netdev)) {
        adp_offload_complete_batch(out);
    } else {
        begin_batch(netdev, out);
    }
    int error = send_as_it_is(netdev, qid, out, concurrent);

    dp_packet_batch_init(out);
    return error;
}

/* Adds to 'out', and sends before what stands in the way. */
static int
add_to(struct dp_packet_batch *out, struct dp_packet *packet,
       struct netdev *netdev, int qid, bool concurrent)
{
    int error = (has_room_for(out, packet) ? 0
                 : send_completed(netdev, qid, out, concurrent));

    dp_packet_batch_add(out, packet);
    return error;
}

static int
send_segmented(struct netdev *netdev, int qid, struct dp_packet_batch *batch,
               bool concurrent)
{
    struct dp_packet_batch out;
    const int mtu = mtu_of(netdev);
    struct dp_packet *packet;
    int error = 0, e;

    dp_packet_batch_init(&out);
    out.trunc = batch->trunc;
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        struct adp_segments segments;
        struct dp_packet *segment;

        if (!dp_packet_hwol_is_tso(packet)) {
            e = add_to(&out, packet, netdev, qid, concurrent);
            error = error ? error : e;
            continue;
        }
        adp_segments_init(&segments, packet, 0, mtu);
        while ((segment = adp_segments_next(&segments))) {
            e = add_to(&out, segment, netdev, qid, concurrent);
            error = error ? error : e;
        }
        dp_packet_delete(packet);
    }
    dp_packet_batch_init(batch);
    e = send_completed(netdev, qid, &out, concurrent);
    return error ? error : e;
}

int
__wrap_netdev_send(struct netdev *netdev, int qid,
                   struct dp_packet_batch *batch, bool concurrent)
{
    const uint64_t due = batch_flags(batch) & ADP_OFFLOAD_DUE;

    if (OVS_LIKELY(!due)) {
        return send_as_it_is(netdev, qid, batch, concurrent);
    }
    if (due & beyond(netdev) & DP_PACKET_OL_TX_TCP_SEG) {
        return send_segmented(netdev, qid, batch, concurrent);
    }
    return send_completed(netdev, qid, batch, concurrent);
}

/* Executes the actions on 'out', which is segmented, and empties it. */
static void
execute_completed(void *dp, struct dp_packet_batch *out,
                  const struct nlattr *actions, size_t len, odp_execute_cb cb)
{
    const bool trunc = out->trunc;

    if (!dp_packet_batch_is_empty(out)) {
        adp_offload_complete_batch(out);
        __real_odp_execute_actions(dp, out, true, actions, len, cb);
        dp_packet_batch_init(out);
        out->trunc = trunc;
    }
}

/* Adds to 'out', and executes the actions before on what stands in the way. */
static void
add_to_executed(struct dp_packet_batch *out, struct dp_packet *packet,
                void *dp, const struct nlattr *actions, size_t len,
                odp_execute_cb cb)
{
    if (!has_room_for(out, packet)) {
        execute_completed(dp, out, actions, len, cb);
    }
    dp_packet_batch_add(out, packet);
}

/* Takes 'batch' and executes the actions on its segments, which may be more
 * packets than a batch holds, and other than the batch's. */
static void
execute_segmented(void *dp, struct dp_packet_batch *batch,
                  const struct nlattr *actions, size_t len, odp_execute_cb cb)
{
    struct dp_packet_batch out;
    struct dp_packet *packet;

    dp_packet_batch_init(&out);
    out.trunc = batch->trunc;
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        struct adp_segments segments;
        struct dp_packet *next;

        if (!dp_packet_hwol_is_tso(packet)) {
            add_to_executed(&out, packet, dp, actions, len, cb);
            continue;
        }
        adp_segments_init(&segments, packet, 0, ETH_PAYLOAD_MAX);
        while ((next = adp_segments_next(&segments))) {
            add_to_executed(&out, next, dp, actions, len, cb);
        }
        dp_packet_delete(packet);
    }
    dp_packet_batch_init(batch);
    execute_completed(dp, &out, actions, len, cb);
}

/* What goes into a tunnel is finished before.  Packets that stay the caller's
 * have all done to them that the actions say, but for those that are too long:
 * who goes on with one of these has cut it (adp-input-walk.c), and for whom
 * that was all, as upstream is when it executes what an upcall has said, its
 * segments do as well. */
void
__wrap_odp_execute_actions(void *dp, struct dp_packet_batch *batch, bool steal,
                           const struct nlattr *actions, size_t len,
                           odp_execute_cb cb)
{
    const uint64_t due = batch_flags(batch) & ADP_OFFLOAD_DUE;

    if (OVS_LIKELY(!due) || !adp_offload_is_pushed(actions, len)) {
        __real_odp_execute_actions(dp, batch, steal, actions, len, cb);
    } else if (!(due & DP_PACKET_OL_TX_TCP_SEG)) {
        adp_offload_complete_batch(batch);
        __real_odp_execute_actions(dp, batch, steal, actions, len, cb);
    } else if (steal) {
        execute_segmented(dp, batch, actions, len, cb);
    } else {
        struct dp_packet_batch copies;

        dp_packet_batch_clone(&copies, batch);
        execute_segmented(dp, &copies, actions, len, cb);
    }
}

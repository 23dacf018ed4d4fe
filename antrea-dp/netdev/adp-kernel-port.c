/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-kernel-port.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "adp-packet-ring.h"
#include "adp-poller.h"
#include "adp-veth-pair.h"
#include "dp-packet.h"
#include "netdev-linux-private.h"
#include "netdev-provider.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "smap.h"
#include "timeval.h"
#include "userspace-tso.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_kernel_port);

#define KEY "antrea-dp-poll-kernel-ports"

/* So often it is looked whether a ring is stuck, and so often one device's is
 * set up anew at most: threads stop for it. */
#define LOOK_MS 1000
#define RESET_MS 5000

/* More than there are packet threads on most machines. */
#define MIN_N_TXQ 64

struct kernel_port {
    struct netdev_linux up;

    struct adp_ring_counts counts;

    /* The device that packets are received from and sent to, with their marks,
     * for this one, which is the other end of a pair; 0: this one.
     * Immutable. */
    int end;

    /* The socket to send by stays, what it is bound to may change. */
    int tx_fd;
    atomic_uint64_t tx_change_seq;      /* Of the device, when it was bound. */

    struct ovs_mutex mutex;
    /* NULL while there is no queue. */
    struct adp_ring *ring OVS_GUARDED;
    uint64_t rx_ring_full OVS_GUARDED;
    /* Since the last look. */
    unsigned int n_came OVS_GUARDED, n_dropped OVS_GUARDED;
    uint64_t rx_ring_resets OVS_GUARDED;

    int requested_n_txq;        /* In the main thread. */
    size_t n_frames;            /* In the main thread. */
    long long int next_reset;   /* In the main thread. */
};

struct kernel_rxq {
    struct netdev_rxq up;
    struct adp_ring ring;
    struct adp_poller *poller;  /* Of the thread that polls it. */
    uint64_t change_seq;        /* Of the device, when it was last seen. */
};

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

static struct netdev_class kernel_port_class, pair_port_class;
/* In the last batch that the thread has received. */
DEFINE_STATIC_PER_THREAD_DATA(bool, has_marks, false);
static bool enabled;
static atomic_count n_ports;

static struct kernel_port *
kernel_port_cast(const struct netdev *netdev)
{
    return CONTAINER_OF(netdev, struct kernel_port, up.up);
}

static struct kernel_rxq *
kernel_rxq_cast(const struct netdev_rxq *rxq)
{
    return CONTAINER_OF(rxq, struct kernel_rxq, up);
}

/* The device. */

static int
ifindex_of(const struct kernel_port *port)
{
    return port->end ? port->end : netdev_get_ifindex(&port->up.up);
}

/* Whom to bind to again; 0 or less: nobody.  A pair's other end has nothing
 * but its number, by which another device may come. */
static int
ifindex_again(const struct kernel_port *port)
{
    return port->end ? 0 : netdev_get_ifindex(&port->up.up);
}

static struct netdev *
kernel_port_alloc(void)
{
    struct kernel_port *port = xzalloc(sizeof *port);

    return &port->up.up;
}

static void
kernel_port_dealloc(struct netdev *netdev)
{
    free(kernel_port_cast(netdev));
}

static int
kernel_port_construct(struct netdev *netdev)
{
    struct kernel_port *port = kernel_port_cast(netdev);
    int error = netdev_linux_construct(netdev);

    if (error) {
        return error;
    }
    atomic_init(&port->tx_change_seq, netdev_get_change_seq(netdev));
    int ifindex = ifindex_of(port);

    port->tx_fd = ifindex < 0 ? ifindex : adp_ring_open_sender(ifindex);
    if (port->tx_fd < 0) {
        VLOG_WARN("%s: no packet socket: %s", netdev_get_name(netdev),
                  ovs_strerror(-port->tx_fd));
        netdev_linux_class.destruct(netdev);
        return -port->tx_fd;
    }
    port->requested_n_txq = netdev->n_txq = MIN_N_TXQ;
    port->n_frames = ADP_RING_N_FRAMES;
    ovs_mutex_init(&port->mutex);
    atomic_init(&port->counts.rx_too_long, 0);
    atomic_init(&port->counts.rx_bad_offload, 0);
    atomic_init(&port->counts.tx_refused, 0);
    atomic_init(&port->counts.rx_marked, 0);
    atomic_init(&port->counts.tx_marked, 0);
    netdev->ol_flags |= (NETDEV_TX_OFFLOAD_TCP_CKSUM
                         | NETDEV_TX_OFFLOAD_UDP_CKSUM);
    atomic_count_inc(&n_ports);
    return 0;
}

static void
kernel_port_destruct(struct netdev *netdev)
{
    struct kernel_port *port = kernel_port_cast(netdev);

    atomic_count_dec(&n_ports);
    close(port->tx_fd);
    ovs_mutex_destroy(&port->mutex);
    netdev_linux_class.destruct(netdev);
}

/* As a tap the pair lives on when the daemon ends otherwise than by `exit
 * --cleanup', and goes with the port. */
static int
pair_port_construct(struct netdev *netdev)
{
    struct kernel_port *port = kernel_port_cast(netdev);
    int error = adp_ring_try_marks();

    if (!error) {
        error = adp_veth_pair_make(netdev_get_name(netdev), &port->end);
    }
    if (!error) {
        error = kernel_port_construct(netdev);
        if (error) {
            adp_veth_pair_remove(port->end);
        }
    }
    return error;
}

static void
pair_port_destruct(struct netdev *netdev)
{
    const int end = kernel_port_cast(netdev)->end;

    kernel_port_destruct(netdev);
    adp_veth_pair_remove(end);
}

/* The device's options are, as for DPDK's, how long the queue is. */

#define N_FRAMES_KEY "n_rxq_desc"

static int
kernel_port_get_config(const struct netdev *netdev, struct smap *args)
{
    const struct kernel_port *port = kernel_port_cast(netdev);

    if (port->n_frames != ADP_RING_N_FRAMES) {
        smap_add_format(args, N_FRAMES_KEY, "%"PRIuSIZE, port->n_frames);
    }
    return 0;
}

static int
kernel_port_set_config(struct netdev *netdev, const struct smap *args,
                       char **errp OVS_UNUSED)
{
    struct kernel_port *port = kernel_port_cast(netdev);
    unsigned int n = smap_get_uint(args, N_FRAMES_KEY, ADP_RING_N_FRAMES);

    if (!is_pow2(n) || n < ADP_RING_MIN_FRAMES || n > ADP_RING_MAX_FRAMES) {
        n = ADP_RING_N_FRAMES;
    }
    if (port->n_frames != n) {
        port->n_frames = n;
        netdev_request_reconfigure(netdev);
    }
    return 0;
}

/* Any number of threads may send at a time.  There are queues enough for most
 * numbers: another one takes the port to be set up anew, and what waits in its
 * ring is lost then. */
static int
kernel_port_set_tx_multiq(struct netdev *netdev, unsigned int n_txq)
{
    struct kernel_port *port = kernel_port_cast(netdev);

    if (port->requested_n_txq < n_txq) {
        port->requested_n_txq = n_txq;
        netdev_request_reconfigure(netdev);
    }
    return 0;
}

static int
kernel_port_reconfigure(struct netdev *netdev)
{
    netdev->n_txq = kernel_port_cast(netdev)->requested_n_txq;
    return 0;
}

static int
kernel_port_get_numa_id(const struct netdev *netdev)
{
#ifdef HAVE_AF_XDP
    return netdev_afxdp_class.get_numa_id(netdev);
#else
    return 0;
#endif
}

static uint64_t
read_counter(atomic_uint64_t *counter)
{
    uint64_t n;

    atomic_read_relaxed(counter, &n);
    return n;
}

/* The kernel counts from one call to the next. */
static void
read_arrivals(struct kernel_port *port)
    OVS_REQUIRES(port->mutex)
{
    unsigned int n, n_dropped;

    if (port->ring) {
        adp_ring_read_arrivals(port->ring, &n, &n_dropped);
        port->rx_ring_full += n_dropped;
        port->n_came += n;
        port->n_dropped += n_dropped;
    }
}

static uint64_t
read_ring_full(struct kernel_port *port)
{
    uint64_t n;

    ovs_mutex_lock(&port->mutex);
    read_arrivals(port);
    n = port->rx_ring_full;
    ovs_mutex_unlock(&port->mutex);
    return n;
}

static uint64_t
read_ring_resets(struct kernel_port *port)
{
    uint64_t n;

    ovs_mutex_lock(&port->mutex);
    n = port->rx_ring_resets;
    ovs_mutex_unlock(&port->mutex);
    return n;
}

static void
set_ring(struct kernel_port *port, struct adp_ring *ring)
{
    ovs_mutex_lock(&port->mutex);
    read_arrivals(port);
    port->ring = ring;
    port->n_came = port->n_dropped = 0;
    ovs_mutex_unlock(&port->mutex);
}

static int
kernel_port_get_stats(const struct netdev *netdev, struct netdev_stats *stats)
{
    struct kernel_port *port = kernel_port_cast(netdev);
    /* What a pair's port receives the host has sent, as with a tap. */
    const struct netdev_class *up = (port->end ? &netdev_tap_class
                                     : &netdev_linux_class);
    int error = up->get_stats(netdev, stats);

    if (!error) {
        stats->rx_dropped += (read_ring_full(port)
                              + read_counter(&port->counts.rx_too_long)
                              + read_counter(&port->counts.rx_bad_offload));
        stats->tx_dropped += read_counter(&port->counts.tx_refused);
    }
    return error;
}

static int
kernel_port_get_custom_stats(const struct netdev *netdev,
                             struct netdev_custom_stats *stats)
{
    struct kernel_port *port = kernel_port_cast(netdev);
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        { "rx_ring_full", read_ring_full(port) },
        { "rx_ring_resets", read_ring_resets(port) },
        { "rx_too_long", read_counter(&port->counts.rx_too_long) },
        { "rx_bad_offload", read_counter(&port->counts.rx_bad_offload) },
        { "tx_refused", read_counter(&port->counts.tx_refused) },
        /* Of a pair. */
        { "rx_marked", read_counter(&port->counts.rx_marked) },
        { "tx_marked", read_counter(&port->counts.tx_marked) },
    };

    stats->size = ARRAY_SIZE(counters) - (port->end ? 0 : 2);
    stats->counters = xcalloc(stats->size, sizeof *stats->counters);
    for (size_t i = 0; i < stats->size; i++) {
        ovs_strlcpy(stats->counters[i].name, counters[i].name,
                    sizeof stats->counters[i].name);
        stats->counters[i].value = counters[i].value;
    }
    return 0;
}

/* Rings that are stuck.
 *
 * Where the kernel finds segments that it has no virtio_net_hdr for (UDP's
 * before Linux 6.2, SCTP's, UDP fragments' of a tap), it drops them, but never
 * lets go of the frame that it had for them, and all that comes after is
 * dropped.  The ring is set up anew then. */

static bool
is_stuck(struct kernel_port *port)
{
    bool stuck;

    ovs_mutex_lock(&port->mutex);
    read_arrivals(port);
    stuck = (port->ring && port->n_came && port->n_came == port->n_dropped
             && adp_ring_is_empty(port->ring));
    port->n_came = port->n_dropped = 0;
    ovs_mutex_unlock(&port->mutex);
    return stuck;
}

static void
look_after(struct kernel_port *port, long long int now)
{
    if (!is_stuck(port) || now < port->next_reset) {
        return;
    }
    port->next_reset = now + RESET_MS;
    ovs_mutex_lock(&port->mutex);
    port->rx_ring_resets++;
    ovs_mutex_unlock(&port->mutex);
    VLOG_INFO_RL(&rl, "%s: the ring takes no packets, it is set up anew",
                 netdev_get_name(&port->up.up));
    /* Closes and opens the queue, while no thread polls it. */
    netdev_request_reconfigure(&port->up.up);
}

static long long int next_look;

void
adp_kernel_port_run(void)
{
    const long long int now = time_msec();

    if (now < next_look || !atomic_count_get(&n_ports)) {
        return;
    }
    next_look = now + LOOK_MS;

    struct shash devices = SHASH_INITIALIZER(&devices);
    struct shash_node *node;

    adp_kernel_port_get_devices(&devices);
    SHASH_FOR_EACH (node, &devices) {
        look_after(kernel_port_cast(node->data), now);
        netdev_close(node->data);
    }
    shash_destroy(&devices);
}

void
adp_kernel_port_wait(void)
{
    if (atomic_count_get(&n_ports)) {
        poll_timer_wait_until(next_look);
    }
}

/* Sending. */

/* The device may have come back, as another one or under its number.  Of
 * several threads the last to bind has asked last. */
static void
bind_sender_again(struct kernel_port *port)
{
    const uint64_t change_seq = netdev_get_change_seq(&port->up.up);

    atomic_store_relaxed(&port->tx_change_seq, change_seq);
    ovs_mutex_lock(&port->mutex);
    int ifindex = ifindex_again(port);

    if (ifindex > 0) {
        adp_ring_bind_sender(port->tx_fd, ifindex);
    }
    ovs_mutex_unlock(&port->mutex);
}

static int
kernel_port_send(struct netdev *netdev, int qid OVS_UNUSED,
                 struct dp_packet_batch *batch,
                 bool concurrent_txq OVS_UNUSED)
{
    struct kernel_port *port = kernel_port_cast(netdev);
    int mtu = ETH_PAYLOAD_MAX;

    if (OVS_UNLIKELY(read_counter(&port->tx_change_seq)
                     != netdev_get_change_seq(netdev))) {
        bind_sender_again(port);
    }
    if (userspace_tso_enabled()) {
        netdev_get_mtu(netdev, &mtu);
    }
    int error = adp_ring_send(port->tx_fd, batch, mtu, port->end != 0,
                              &port->counts);

    switch (error) {
    case 0:
        return 0;
    case ENXIO:
    case ENODEV:
        /* Bound to nothing, and netlink is late: one try for each batch. */
        bind_sender_again(port);
        return error;
    case ENOBUFS:
        return EAGAIN;
    case ENETDOWN:
    case EAGAIN:
        return error;
    default:
        VLOG_WARN_RL(&rl, "error sending Ethernet packet on %s: %s",
                     netdev_get_name(netdev), ovs_strerror(error));
        return error;
    }
}

/* Receiving. */

static struct netdev_rxq *
kernel_rxq_alloc(void)
{
    struct kernel_rxq *rxq = xzalloc(sizeof *rxq);

    return &rxq->up;
}

static void
kernel_rxq_dealloc(struct netdev_rxq *rxq)
{
    free(kernel_rxq_cast(rxq));
}

/* Where the MTU can't be known, as that of a pair's port in another namespace,
 * any length goes. */
static void
rxq_limit(struct kernel_rxq *rxq)
{
    int mtu;

    adp_ring_limit(&rxq->ring,
                   netdev_get_mtu(rxq->up.netdev, &mtu) ? 0 : mtu);
}

static int
kernel_rxq_construct(struct netdev_rxq *rxq_)
{
    struct kernel_rxq *rxq = kernel_rxq_cast(rxq_);
    struct kernel_port *port = kernel_port_cast(rxq_->netdev);

    rxq->change_seq = netdev_get_change_seq(rxq_->netdev);
    int ifindex = ifindex_of(port);

    if (ifindex < 0) {
        return -ifindex;
    }
    int error = adp_ring_open(&rxq->ring, ifindex, port->n_frames,
                              port->end != 0, &port->counts);

    if (error) {
        VLOG_ERR("%s: no packet socket to receive from: %s",
                 netdev_rxq_get_name(rxq_), ovs_strerror(error));
    } else {
        rxq_limit(rxq);
        set_ring(port, &rxq->ring);
    }
    return error;
}

static void
kernel_rxq_destruct(struct netdev_rxq *rxq_)
{
    struct kernel_rxq *rxq = kernel_rxq_cast(rxq_);

    set_ring(kernel_port_cast(rxq_->netdev), NULL);
    adp_poller_leave(&rxq->poller, rxq->ring.fd);
    adp_ring_close(&rxq->ring);
}

/* The device changed, as netlink tells: it may be another one of the same
 * name, or the same that was elsewhere, or have another MTU.  (When it only
 * went down and up again, the socket is still bound, and stays as it is.) */
static void
rxq_look_at_device(struct kernel_rxq *rxq)
{
    int ifindex = ifindex_again(kernel_port_cast(rxq->up.netdev));

    if (ifindex > 0) {
        adp_ring_bind(&rxq->ring, ifindex);
    }
    rxq_limit(rxq);
}

static int
kernel_rxq_recv(struct netdev_rxq *rxq_, struct dp_packet_batch *batch,
                int *qfill)
{
    struct kernel_rxq *rxq = kernel_rxq_cast(rxq_);
    const uint64_t change_seq = netdev_get_change_seq(rxq_->netdev);

    if (OVS_UNLIKELY(!adp_poller_is_mine(rxq->poller))) {
        adp_poller_adopt(&rxq->poller, rxq->ring.fd);
    }
    if (OVS_UNLIKELY(rxq->change_seq != change_seq)) {
        rxq->change_seq = change_seq;
        rxq_look_at_device(rxq);
    }
    dp_packet_batch_init(batch);
    *has_marks_get() = adp_ring_receive(&rxq->ring, batch,
                                        userspace_tso_enabled());
    if (qfill) {
        *qfill = -ENOTSUP;
    }
    const size_t n = dp_packet_batch_size(batch);

    adp_poller_note(n);
    return n ? 0 : EAGAIN;
}

static void
kernel_rxq_wait(struct netdev_rxq *rxq)
{
    poll_fd_wait(kernel_rxq_cast(rxq)->ring.fd, POLLIN);
}

void
adp_kernel_port_complete(struct dp_packet_batch *batch)
{
    struct dp_packet *packet;

    if (!atomic_count_get(&n_ports)) {
        return;
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        /* DPDK's are upstream's affair. */
        if (packet->source == DPBUF_MALLOC
            && !dp_packet_hwol_is_tso(packet)) {
            adp_offload_complete(packet);
        }
    }
}

bool
adp_kernel_port_has_marks(void)
{
    return *has_marks_get();
}

void
adp_kernel_port_forget_marks(void)
{
    *has_marks_get() = false;
}

/* The classes. */

bool
adp_kernel_port_is(const struct netdev *netdev)
{
    return netdev_get_class(netdev)->rxq_recv == kernel_rxq_recv;
}

bool
adp_kernel_port_is_pair(const struct netdev *netdev)
{
    return netdev_get_class(netdev) == &pair_port_class;
}

void
adp_kernel_port_get_devices(struct shash *devices)
{
    netdev_get_devices(&kernel_port_class, devices);
    netdev_get_devices(&pair_port_class, devices);
}

static void
init_class(struct netdev_class *c, const char *type)
{
    *c = netdev_linux_class;
    c->type = type;
    c->is_pmd = true;
    c->alloc = kernel_port_alloc;
    c->construct = kernel_port_construct;
    c->destruct = kernel_port_destruct;
    c->dealloc = kernel_port_dealloc;
    c->get_config = kernel_port_get_config;
    c->set_config = kernel_port_set_config;
    c->set_tx_multiq = kernel_port_set_tx_multiq;
    c->reconfigure = kernel_port_reconfigure;
    c->get_numa_id = kernel_port_get_numa_id;
    c->get_stats = kernel_port_get_stats;
    c->get_custom_stats = kernel_port_get_custom_stats;
    c->send = kernel_port_send;
    c->rxq_alloc = kernel_rxq_alloc;
    c->rxq_construct = kernel_rxq_construct;
    c->rxq_destruct = kernel_rxq_destruct;
    c->rxq_dealloc = kernel_rxq_dealloc;
    c->rxq_recv = kernel_rxq_recv;
    c->rxq_wait = kernel_rxq_wait;
    c->rxq_drain = NULL;        /* Nobody asks. */
}

void
adp_kernel_port_init(void)
{
    init_class(&kernel_port_class, ADP_KERNEL_PORT_TYPE);
    netdev_register_provider(&kernel_port_class);

    init_class(&pair_port_class, ADP_PAIR_PORT_TYPE);
    pair_port_class.construct = pair_port_construct;
    pair_port_class.destruct = pair_port_destruct;
    netdev_register_provider(&pair_port_class);
}

/* Sandboxes and older kernels may not be.  Asked when there is such a port: to
 * who has none it is all the same. */
static bool
kernel_is_able(void)
{
    static int error = -1;

    if (error < 0) {
        error = adp_ring_probe();
        if (error) {
            VLOG_WARN("no rings for packets of the kernel's ports, which the "
                      "main thread polls: %s", ovs_strerror(error));
        }
    }
    return !error;
}

void
adp_kernel_port_configure(bool wanted)
{
    static bool configured, last;

    if (!configured) {
        /* Upstream opens a device once, and would find it open. */
        configured = true;
        enabled = last = wanted;
        if (!enabled) {
            VLOG_INFO("the main thread polls ports of the kernel's");
        }
    } else if (wanted != last) {
        last = wanted;
        VLOG_WARN("Open_vSwitch: other_config:"KEY" takes effect when "
                  "ovs-vswitchd is restarted");
    }
}

const char *
adp_kernel_port_open_type(const char *type)
{
    return (enabled && !strcmp(type, netdev_linux_class.type)
            && kernel_is_able() ? ADP_KERNEL_PORT_TYPE : type);
}

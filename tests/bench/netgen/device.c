/* SPDX-License-Identifier: Apache-2.0
 *
 * net_gen: a virtual DPDK device that generates, echoes and swallows packets
 * inside the thread that polls it, so that one core can be measured without
 * guests, rings between threads or a NIC.
 *
 *     --vdev=net_gen0,control=FILE,slot=N
 *
 * A plug-in for EAL ("-d libnet_gen.so"): the switch itself stays as it is.
 * One thread polls all queues of a device.  Queue 0 alone generates; more of
 * them let a port echo as much as several others generate. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_cycles.h>
#include <rte_kvargs.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "away.h"
#include "clock.h"
#include "control.h"
#include "frame.h"
#include "probe.h"

#define MAX_RX_QUEUES 8
#define ECHO_RING_LEN 4096
#define FETCH_AHEAD 32u         /* Templates. */
#define ASK_HZ 1000             /* How often the kernel is asked whether the
                                 * core was away. */

struct net_gen;

struct net_gen_queue {
    struct net_gen *device;
    uint16_t id;
};

struct net_gen {
    struct net_gen_control *control;
    struct rte_mempool *mempool;
    struct rte_ring *echoes;
    struct net_gen_queue queues[MAX_RX_QUEUES];
    struct rte_ether_addr address;
    uint16_t port_id;

    struct net_gen_cursor cursor;
    uint32_t epoch;
    uint64_t hz;
    uint64_t start_tsc;         /* Of this epoch... */
    uint64_t start_missed;      /* ...and what was missed in it. */
    struct net_gen_away away;
    uint64_t asked_tsc;         /* When 'away' was brought up to date. */
    uint64_t polled_tsc;        /* Since when more packets are due. */
    uint64_t history_tsc;       /* When the next value is due. */
};

static uint64_t
checksum_flags(const struct net_gen_control *c)
{
    return (c->checksum_good
            ? RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0);
}

/* Receive. */

static void
start_epoch(struct net_gen *g)
{
    struct net_gen_control *c = g->control;

    g->epoch = c->epoch;
    memset(&g->cursor, 0, sizeof g->cursor);
    g->cursor.random = 88172645463325252ULL + g->port_id * 7919
                       + g->epoch * 104729ULL;
    g->start_tsc = rte_rdtsc();
    g->polled_tsc = g->start_tsc;
    g->start_missed = 0;
    c->done = 0;
}

/* Nanoseconds since the last poll. */
static uint64_t
note_gap(struct net_gen *g, uint64_t now)
{
    struct net_gen_control *c = g->control;
    uint64_t ns = (unsigned __int128) (now - g->polled_tsc) * 1000000000
                  / g->hz;

    g->polled_tsc = now;
    if (ns > c->longest_gap_ns) {
        c->longest_gap_ns = ns;
    }
    return ns;
}

static void
add_gap(struct net_gen *g, uint64_t ns)
{
    struct net_gen_control *c = g->control;
    struct net_gen_gap *gap = &c->gaps[c->n_gaps % NET_GEN_N_GAPS];

    gap->to_ns = net_gen_clock_ns(CLOCK_MONOTONIC);
    gap->from_ns = gap->to_ns - ns;
    gap->n_missed = 0;
    gap->period = g->away.n_resets;
    __atomic_store_n(&c->n_gaps, c->n_gaps + 1, __ATOMIC_RELEASE);
}

/* 'n' packets are missed for the last gap, if it was since the ring was
 * empty. */
static void
blame_gap(struct net_gen *g, uint64_t n)
{
    struct net_gen_control *c = g->control;
    struct net_gen_gap *gap = &c->gaps[(c->n_gaps - 1) % NET_GEN_N_GAPS];

    if (c->n_gaps && gap->period == g->away.n_resets) {
        gap->n_missed += n;
    }
}

/* 'n' packets found no room. */
static void
miss(struct net_gen *g, uint64_t n)
{
    struct net_gen_control *c = g->control;
    uint64_t n_away = net_gen_away_explain(&g->away, n);

    c->missed += n;
    c->missed_away += n_away;
    g->start_missed += n;
    blame_gap(g, n - n_away);
}

/* How many packets a NIC's ring would hold by now, at a limited rate. */
static uint64_t
packets_due(struct net_gen *g, uint64_t max)
{
    struct net_gen_control *c = g->control;
    uint64_t now = rte_rdtsc();
    uint64_t all = (unsigned __int128) (now - g->start_tsc) * c->rate / g->hz;
    uint64_t taken = g->cursor.n + g->start_missed;
    uint64_t due = all > taken ? all - taken : 0;
    uint64_t gap_ns = note_gap(g, now);

    if (due <= max) {
        net_gen_away_reset(&g->away);
    }
    if (due > c->backlog || gap_ns >= NET_GEN_GAP_NS
        || now - g->asked_tsc > g->hz / ASK_HZ) {
        net_gen_away_ask(&g->away, c->rate);
        g->asked_tsc = now;
    }
    if (gap_ns >= NET_GEN_GAP_NS && !g->away.idle) {
        add_gap(g, gap_ns);
    }
    if (due > c->backlog) {
        miss(g, due - c->backlog);
        due = c->backlog;
    }
    return due;
}

static uint16_t
generate(struct net_gen *g, struct rte_mbuf **bufs, uint16_t max)
{
    struct net_gen_control *c = g->control;
    uint64_t n = max;

    if (c->epoch != g->epoch) {
        start_epoch(g);
    }
    if (c->count) {
        n = RTE_MIN(n, c->count - g->cursor.n);
        if (!n) {
            c->done = 1;
            return 0;
        }
    }
    if (c->rate) {
        n = RTE_MIN(n, packets_due(g, max));
    }
    if (!n) {
        return 0;
    }
    for (unsigned int i = 0; i < RTE_MIN(n, FETCH_AHEAD); i++) {
        net_gen_frame_fetch(c, &g->cursor, i);
    }
    if (rte_pktmbuf_alloc_bulk(g->mempool, bufs, n)) {
        c->no_mbuf++;
        return 0;
    }
    for (unsigned int i = 0; i < n; i++) {
        struct rte_mbuf *m = bufs[i];

        if (i + FETCH_AHEAD < n) {
            net_gen_frame_fetch(c, &g->cursor, FETCH_AHEAD);
        }
        m->data_len = net_gen_frame_make(c, &g->cursor,
                                         rte_pktmbuf_mtod(m, uint8_t *));
        m->pkt_len = m->data_len;
        m->port = g->port_id;
        m->ol_flags |= checksum_flags(c);
    }
    return n;
}

static uint16_t
echo(struct net_gen *g, struct rte_mbuf **bufs, uint16_t max)
{
    unsigned int n = rte_ring_sc_dequeue_burst(g->echoes, (void **) bufs, max,
                                               NULL);
    uint16_t kept = 0;

    /* They lay in the ring for a while. */
    for (unsigned int i = 0; i < n; i++) {
        rte_prefetch0(bufs[i]);
    }
    for (unsigned int i = 0; i < n; i++) {
        const uint8_t *frame = rte_pktmbuf_mtod(bufs[i], const uint8_t *);

        rte_prefetch0(frame);
        rte_prefetch0(frame + NET_GEN_LINE);
    }
    for (unsigned int i = 0; i < n; i++) {
        struct rte_mbuf *m = bufs[i];

        if (net_gen_frame_turn(rte_pktmbuf_mtod(m, uint8_t *))) {
            m->port = g->port_id;
            m->ol_flags = checksum_flags(g->control);
            m->packet_type = 0;
            bufs[kept++] = m;
        } else {
            rte_pktmbuf_free(m);
        }
    }
    return kept;
}

static void
record_history(struct net_gen *g)
{
    struct net_gen_control *c = g->control;
    uint64_t now = rte_rdtsc();

    if (!c->n_history) {
        g->history_tsc = now;
    }
    while (now >= g->history_tsc && c->n_history < NET_GEN_N_HISTORY) {
        c->history[c->n_history] = c->rx;
        __atomic_store_n(&c->n_history, c->n_history + 1, __ATOMIC_RELEASE);
        g->history_tsc += g->hz * NET_GEN_HISTORY_MS / 1000;
    }
}

static uint16_t
net_gen_rx(void *queue_, struct rte_mbuf **bufs, uint16_t max)
{
    struct net_gen_queue *queue = queue_;
    struct net_gen *g = queue->device;
    struct net_gen_control *c = g->control;
    uint16_t n = 0;

    if (unlikely(__atomic_load_n(&c->probe, __ATOMIC_ACQUIRE))) {
        net_gen_probe(c);
    }
    if (unlikely(c->record)) {
        record_history(g);
    }
    if (c->mode == NET_GEN_ECHO) {
        n = echo(g, bufs, max);
    } else if (!queue->id && __atomic_load_n(&c->run, __ATOMIC_ACQUIRE)) {
        n = generate(g, bufs, max);
    }
    c->rx += n;
    return n;
}

/* Transmit. */

static uint16_t
net_gen_tx(void *queue, struct rte_mbuf **bufs, uint16_t n)
{
    struct net_gen *g = queue;
    struct net_gen_control *c = g->control;
    unsigned int kept = 0;

    for (unsigned int i = 0; i < n; i++) {
        c->tx_bytes += bufs[i]->pkt_len;
    }
    c->tx += n;
    if (unlikely(c->record) && n) {
        c->last_tx_ns = net_gen_clock_ns(CLOCK_MONOTONIC);
    }
    if (c->mode == NET_GEN_ECHO) {
        kept = rte_ring_mp_enqueue_burst(g->echoes, (void **) bufs, n, NULL);
        c->echo_dropped += n - kept;
    }
    rte_pktmbuf_free_bulk(bufs + kept, n - kept);
    return n;
}

/* The device. */

static int
net_gen_nothing(struct rte_eth_dev *dev __rte_unused)
{
    return 0;
}

static int
net_gen_start(struct rte_eth_dev *dev)
{
    dev->data->dev_link.link_status = RTE_ETH_LINK_UP;
    for (int i = 0; i < dev->data->nb_rx_queues; i++) {
        dev->data->rx_queue_state[i] = RTE_ETH_QUEUE_STATE_STARTED;
    }
    for (int i = 0; i < dev->data->nb_tx_queues; i++) {
        dev->data->tx_queue_state[i] = RTE_ETH_QUEUE_STATE_STARTED;
    }
    return 0;
}

static int
net_gen_stop(struct rte_eth_dev *dev)
{
    dev->data->dev_link.link_status = RTE_ETH_LINK_DOWN;
    return 0;
}

static int
net_gen_rx_queue_setup(struct rte_eth_dev *dev, uint16_t id,
                       uint16_t n_desc __rte_unused,
                       unsigned int socket __rte_unused,
                       const struct rte_eth_rxconf *conf __rte_unused,
                       struct rte_mempool *mempool)
{
    struct net_gen *g = dev->data->dev_private;

    g->mempool = mempool;
    g->queues[id].device = g;
    g->queues[id].id = id;
    dev->data->rx_queues[id] = &g->queues[id];
    return 0;
}

static int
net_gen_tx_queue_setup(struct rte_eth_dev *dev, uint16_t id,
                       uint16_t n_desc __rte_unused,
                       unsigned int socket __rte_unused,
                       const struct rte_eth_txconf *conf __rte_unused)
{
    dev->data->tx_queues[id] = dev->data->dev_private;
    return 0;
}

static int
net_gen_mtu_set(struct rte_eth_dev *dev __rte_unused,
                uint16_t mtu __rte_unused)
{
    return 0;
}

static int
net_gen_infos_get(struct rte_eth_dev *dev __rte_unused,
                  struct rte_eth_dev_info *info)
{
    info->max_mac_addrs = 1;
    info->max_rx_pktlen = UINT32_MAX;
    info->max_rx_queues = MAX_RX_QUEUES;
    info->max_tx_queues = 64;
    info->min_rx_bufsize = 0;
    return 0;
}

static int
net_gen_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats)
{
    const struct net_gen *g = dev->data->dev_private;

    stats->ipackets = g->control->rx;
    stats->opackets = g->control->tx;
    stats->obytes = g->control->tx_bytes;
    stats->imissed = g->control->missed;
    return 0;
}

static int
net_gen_link_update(struct rte_eth_dev *dev __rte_unused,
                    int wait __rte_unused)
{
    return 0;
}

static int
net_gen_mac_addr_set(struct rte_eth_dev *dev __rte_unused,
                     struct rte_ether_addr *address __rte_unused)
{
    return 0;
}

static int
net_gen_close(struct rte_eth_dev *dev)
{
    struct net_gen *g = dev->data->dev_private;

    rte_ring_free(g->echoes);
    g->echoes = NULL;
    if (g->control) {
        munmap(g->control, NET_GEN_SLOT_LEN);
        g->control = NULL;
    }
    dev->data->mac_addrs = NULL;        /* Not allocated by itself. */
    return 0;
}

static const struct eth_dev_ops net_gen_ops = {
    .dev_configure = net_gen_nothing,
    .dev_start = net_gen_start,
    .dev_stop = net_gen_stop,
    .dev_close = net_gen_close,
    .dev_infos_get = net_gen_infos_get,
    .rx_queue_setup = net_gen_rx_queue_setup,
    .tx_queue_setup = net_gen_tx_queue_setup,
    .mtu_set = net_gen_mtu_set,
    .link_update = net_gen_link_update,
    .mac_addr_set = net_gen_mac_addr_set,
    .stats_get = net_gen_stats_get,
    .stats_reset = net_gen_nothing,
    .promiscuous_enable = net_gen_nothing,
    .promiscuous_disable = net_gen_nothing,
    .allmulticast_enable = net_gen_nothing,
    .allmulticast_disable = net_gen_nothing,
};

/* The device's arguments. */
struct net_gen_args {
    char *control;
    int slot;
};

static int
parse_control(const char *key __rte_unused, const char *value, void *args_)
{
    struct net_gen_args *args = args_;

    free(args->control);
    args->control = strdup(value);
    return args->control ? 0 : -ENOMEM;
}

static int
parse_slot(const char *key __rte_unused, const char *value, void *args_)
{
    struct net_gen_args *args = args_;
    char *end;
    long slot = strtol(value, &end, 10);

    if (*end || slot < 0 || slot >= NET_GEN_N_SLOTS) {
        return -EINVAL;
    }
    args->slot = slot;
    return 0;
}

static int
parse_args(const char *text, struct net_gen_args *args)
{
    static const char *const keys[] = { "control", "slot", NULL };
    struct rte_kvargs *kvargs = rte_kvargs_parse(text ? text : "", keys);
    int error = -EINVAL;

    if (kvargs) {
        if (!rte_kvargs_process(kvargs, "control", parse_control, args)
            && !rte_kvargs_process(kvargs, "slot", parse_slot, args)
            && args->control && args->slot >= 0) {
            error = 0;
        }
        rte_kvargs_free(kvargs);
    }
    return error;
}

static struct net_gen_control *
map_control(const struct net_gen_args *args)
{
    int fd = open(args->control, O_RDWR | O_CLOEXEC);
    void *map;

    if (fd < 0) {
        return NULL;
    }
    map = mmap(NULL, NET_GEN_SLOT_LEN, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_POPULATE, fd,
               (off_t) args->slot * NET_GEN_SLOT_LEN);
    close(fd);
    return map != MAP_FAILED ? map : NULL;
}

static int
init_device(struct rte_vdev_device *vdev, const struct net_gen_args *args)
{
    struct rte_eth_dev *dev;
    struct net_gen *g;
    char name[RTE_RING_NAMESIZE];

    if (vdev->device.numa_node == SOCKET_ID_ANY) {
        vdev->device.numa_node = rte_socket_id();
    }
    dev = rte_eth_vdev_allocate(vdev, sizeof *g);
    if (!dev) {
        return -ENOMEM;
    }
    g = dev->data->dev_private;
    g->port_id = dev->data->port_id;
    g->hz = rte_get_tsc_hz();
    g->control = map_control(args);
    snprintf(name, sizeof name, "net_gen_%u", g->port_id);
    g->echoes = rte_ring_create(name, ECHO_RING_LEN, SOCKET_ID_ANY,
                                RING_F_SC_DEQ);
    if (!g->control || !g->echoes) {
        net_gen_close(dev);
        rte_eth_dev_release_port(dev);
        return -ENOMEM;
    }
    rte_eth_random_addr(g->address.addr_bytes);

    dev->data->nb_rx_queues = 1;
    dev->data->nb_tx_queues = 1;
    dev->data->dev_link.link_speed = RTE_ETH_SPEED_NUM_100G;
    dev->data->dev_link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    dev->data->mac_addrs = &g->address;
    dev->data->promiscuous = 1;
    dev->data->all_multicast = 1;
    dev->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
    dev->dev_ops = &net_gen_ops;
    dev->rx_pkt_burst = net_gen_rx;
    dev->tx_pkt_burst = net_gen_tx;
    rte_eth_dev_probing_finish(dev);
    return 0;
}

static int
net_gen_probe_device(struct rte_vdev_device *vdev)
{
    struct net_gen_args args = { .slot = -1 };
    int error = parse_args(rte_vdev_device_args(vdev), &args);

    if (!error) {
        error = init_device(vdev, &args);
    }
    free(args.control);
    return error;
}

static int
net_gen_remove_device(struct rte_vdev_device *vdev)
{
    struct rte_eth_dev *dev
        = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

    if (dev) {
        net_gen_close(dev);
        rte_eth_dev_release_port(dev);
    }
    return 0;
}

static struct rte_vdev_driver net_gen_driver = {
    .probe = net_gen_probe_device,
    .remove = net_gen_remove_device,
};

RTE_PMD_REGISTER_VDEV(net_gen, net_gen_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_gen, "control=<file> slot=<number>");

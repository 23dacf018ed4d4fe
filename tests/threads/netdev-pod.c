/* SPDX-License-Identifier: Apache-2.0
 *
 * Ports behind which Pods talk: network devices of the types "pod", which PMD
 * threads poll, and "pod-main", which the main thread polls.
 *
 * A Pod opens connections to where its configuration says, and answers
 * whatever arrives: a packet that the switch sends to it becomes a message for
 * the thread that polls it (talk-ring.h), which makes the answer.  So the two
 * directions of a connection are two threads', and nothing but the switch's
 * own locks orders what these do.
 *
 * Options of an interface:
 *
 *     pod-mac, pod-gateway    addresses of Ethernet: its own, and to whom it
 *                             sends
 *     pod-ips                 addresses that it sends from
 *     pod-talk                "PROTOCOL/IP/PORT"..., PROTOCOL being tcp, udp
 *                             or icmp: to whom it opens connections
 *     pod-rate                how many a second
 *     pod-limit               how many packets it opens connections with in all,
 *                             the first when somebody has sent it a packet
 *     pod-outer               "OUR-MAC/THEIR-MAC/OUR-IP/THEIR-IP": all packets
 *                             are in Geneve, and these its outer addresses,
 *                             "our" being the switch's
 *     pod-race                "true": threads race for a counter, to see
 *                             whether that is noticed
 *
 * A configuration holds from the time when its device is made: who wants
 * another makes another port. */

#include <config.h>

#include "talk-ring.h"

#include <errno.h>

#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "netdev-provider.h"
#include "odp-util.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "random.h"
#include "svec.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_pod);

#define GENEVE_PORT 6081
#define GENEVE_LEN 8
#define MAX_DATA 64

/* A packet, as far as these Pods care. */
struct message {
    struct eth_addr src, dst;
    uint8_t nw_proto, tcp_flags;        /* Of ICMP: the type. */
    uint16_t data_len;
    ovs_be32 nw_src, nw_dst;
    ovs_be16 tp_src, tp_dst;
    uint32_t seq, ack;
    bool is_arp;
    uint8_t pad[3];
    ovs_be32 outer_peer;                /* 0: no tunnel. */
    ovs_be32 vni;
    uint8_t pad2[16];
};
BUILD_ASSERT_DECL(sizeof(struct message) == TALK_WORDS * 8);

struct target {
    uint8_t nw_proto;
    ovs_be32 ip;
    ovs_be16 port;
};

struct script {
    struct eth_addr mac, gateway;
    ovs_be32 *ips;
    size_t n_ips;
    struct target *targets;
    size_t n_targets;
    unsigned int rate;
    uint64_t limit;                     /* 0: none. */
    bool in_tunnel;
    struct eth_addr outer_ours, outer_theirs;
    ovs_be32 outer_our_ip, outer_their_ip;
    bool race;
};

struct netdev_pod {
    struct netdev up;

    OVSRCU_TYPE(struct script *) script;

    /* Of the one thread that polls. */
    long long int started;
    uint64_t n_opened;

    struct talk_ring arrived;

    /* Relaxed. */
    atomic_uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    atomic_uint64_t n_answered;

    /* The main thread's. */
    struct eth_addr etheraddr;
    enum netdev_flags flags;
};

/* What a race looks like. */
static volatile unsigned int raced;

static struct netdev_pod *
netdev_pod_cast(const struct netdev *netdev)
{
    return CONTAINER_OF(netdev, struct netdev_pod, up);
}

static void
count(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t before;

    atomic_add_relaxed(counter, n, &before);
}

static uint64_t
counted(const struct netdev_pod *dev, size_t offset)
{
    atomic_uint64_t *counter = (void *) ((char *) dev + offset);
    uint64_t n;

    atomic_read_relaxed(counter, &n);
    return n;
}

/* Making packets. */

static struct dp_packet *
compose(const struct message *m)
{
    struct dp_packet *p = dp_packet_new_with_headroom(256, 128);
    static const char data[MAX_DATA];
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    flow.dl_src = m->src;
    flow.dl_dst = m->dst;
    flow.nw_src = m->nw_src;
    flow.nw_dst = m->nw_dst;
    flow.nw_proto = m->nw_proto;
    flow.nw_ttl = 64;
    if (m->is_arp) {
        flow.dl_type = htons(ETH_TYPE_ARP);
        flow.arp_sha = m->src;
        flow_compose(p, &flow, NULL, 0);
        return p;
    }
    flow.dl_type = htons(ETH_TYPE_IP);
    flow.tp_src = m->tp_src;
    flow.tp_dst = m->tp_dst;
    flow.tcp_flags = htons(m->tcp_flags);
    flow_compose(p, &flow, data, MIN(m->data_len, MAX_DATA));
    if (m->nw_proto == IPPROTO_TCP) {
        struct tcp_header *tcp = dp_packet_l4(p);

        put_16aligned_be32(&tcp->tcp_seq, htonl(m->seq));
        put_16aligned_be32(&tcp->tcp_ack, htonl(m->ack));
        tcp->tcp_winsz = htons(65535);
        tcp->tcp_csum = recalc_csum32(tcp->tcp_csum, 0, htonl(m->seq));
        tcp->tcp_csum = recalc_csum32(tcp->tcp_csum, 0, htonl(m->ack));
        tcp->tcp_csum = recalc_csum16(tcp->tcp_csum, 0, htons(65535));
    }
    return p;
}

static struct dp_packet *
encapsulate(const struct script *s, const struct message *m,
            struct dp_packet *inner)
{
    struct dp_packet *p = dp_packet_new_with_headroom(512, 128);
    size_t len = GENEVE_LEN + dp_packet_size(inner);
    uint8_t *geneve = xzalloc(len);
    struct flow flow;

    geneve[2] = ETH_TYPE_TEB >> 8;
    geneve[3] = ETH_TYPE_TEB & 0xff;
    memcpy(geneve + 4, &m->vni, 4);
    memcpy(geneve + GENEVE_LEN, dp_packet_data(inner), dp_packet_size(inner));

    memset(&flow, 0, sizeof flow);
    flow.dl_type = htons(ETH_TYPE_IP);
    flow.dl_src = s->outer_theirs;
    flow.dl_dst = s->outer_ours;
    flow.nw_src = m->outer_peer;
    flow.nw_dst = s->outer_our_ip;
    flow.nw_proto = IPPROTO_UDP;
    flow.nw_ttl = 64;
    flow.tp_src = htons(40000 + (ntohs(m->tp_src) & 255));
    flow.tp_dst = htons(GENEVE_PORT);
    flow_compose(p, &flow, geneve, len);
    free(geneve);
    dp_packet_delete(inner);
    return p;
}

static struct dp_packet *
packet_of(const struct script *s, const struct message *m)
{
    struct dp_packet *p = compose(m);

    return m->outer_peer ? encapsulate(s, m, p) : p;
}

/* Reading packets. */

static bool
read_inner(struct dp_packet *packet, struct message *m)
{
    struct flow flow;

    flow_extract(packet, &flow);
    m->src = flow.dl_src;
    m->dst = flow.dl_dst;
    m->nw_src = flow.nw_src;
    m->nw_dst = flow.nw_dst;
    m->nw_proto = flow.nw_proto;
    if (flow.dl_type != htons(ETH_TYPE_IP)) {
        return false;
    }
    m->tp_src = flow.tp_src;
    m->tp_dst = flow.tp_dst;
    switch (flow.nw_proto) {
    case IPPROTO_TCP: {
        const struct tcp_header *tcp = dp_packet_l4(packet);

        m->tcp_flags = ntohs(flow.tcp_flags);
        m->seq = ntohl(get_16aligned_be32(&tcp->tcp_seq));
        m->ack = ntohl(get_16aligned_be32(&tcp->tcp_ack));
        m->data_len = (dp_packet_l4_size(packet)
                       - TCP_OFFSET(tcp->tcp_ctl) * 4);
        return true;
    }
    case IPPROTO_UDP:
        m->data_len = dp_packet_l4_size(packet) - UDP_HEADER_LEN;
        return true;
    case IPPROTO_ICMP:
        return flow.tp_src == htons(ICMP4_ECHO_REQUEST);
    default:
        return false;
    }
}

/* Returns false if nobody would answer.  Changes the packet. */
static bool
read_packet(const struct script *s, struct dp_packet *packet,
            struct message *m)
{
    struct flow flow;

    memset(m, 0, sizeof *m);
    pkt_metadata_init(&packet->md, ODPP_NONE);
    if (!s->in_tunnel) {
        return read_inner(packet, m);
    }
    flow_extract(packet, &flow);
    if (flow.dl_type != htons(ETH_TYPE_IP) || flow.nw_proto != IPPROTO_UDP
        || flow.tp_dst != htons(GENEVE_PORT)
        || dp_packet_l4_size(packet) < UDP_HEADER_LEN + GENEVE_LEN) {
        return false;
    }

    const uint8_t *geneve = ((const uint8_t *) dp_packet_l4(packet)
                             + UDP_HEADER_LEN);
    size_t options = (geneve[0] & 63) * 4;
    memcpy(&m->vni, geneve + 4, 4);
    m->outer_peer = flow.nw_dst;
    dp_packet_pull(packet, (geneve + GENEVE_LEN + options
                            - (const uint8_t *) dp_packet_data(packet)));
    return read_inner(packet, m);
}

/* Talking. */

/* Turns 'm' into its answer.  Returns false if there is none.  On average a
 * connection lasts for a dozen packets; some are never ended. */
static bool
answer(struct message *m)
{
    uint32_t seq = m->seq, len = m->data_len;

    struct eth_addr mac = m->src;
    m->src = m->dst;
    m->dst = mac;
    ovs_be32 ip = m->nw_src;
    m->nw_src = m->nw_dst;
    m->nw_dst = ip;
    if (m->nw_proto == IPPROTO_ICMP) {
        m->tp_src = htons(ICMP4_ECHO_REPLY);
        return true;
    }
    ovs_be16 port = m->tp_src;
    m->tp_src = m->tp_dst;
    m->tp_dst = port;
    m->data_len = random_range(MAX_DATA);
    if (m->nw_proto == IPPROTO_UDP) {
        return !random_range(16) ? false : true;
    }

    m->seq = m->ack;
    m->ack = seq + len;
    if (m->tcp_flags & TCP_RST) {
        return false;
    } else if (m->tcp_flags & TCP_SYN) {
        bool first = !(m->tcp_flags & TCP_ACK);

        m->seq = first ? random_uint32() : m->seq;
        m->ack = seq + 1;
        m->tcp_flags = first ? TCP_SYN | TCP_ACK : TCP_ACK | TCP_PSH;
    } else if (m->tcp_flags & TCP_FIN) {
        if (!random_range(2)) {
            return false;
        }
        m->ack = seq + 1;
        m->tcp_flags = TCP_FIN | TCP_ACK;
    } else {
        uint32_t what = random_range(64);

        if (what == 0) {
            return false;
        }
        m->tcp_flags = (what < 2 ? TCP_RST | TCP_ACK
                        : what < 8 ? TCP_FIN | TCP_ACK
                        : TCP_ACK | TCP_PSH);
    }
    return true;
}

/* The first packet of a connection, or now and then another kind. */
static bool
open_connection(const struct script *s, struct message *m)
{
    if (!s->n_targets || !s->n_ips) {
        return false;
    }

    const struct target *t = &s->targets[random_range(s->n_targets)];

    memset(m, 0, sizeof *m);
    m->src = s->mac;
    m->dst = s->gateway;
    m->nw_src = s->ips[random_range(s->n_ips)];
    m->nw_dst = t->ip;
    m->outer_peer = s->in_tunnel ? s->outer_their_ip : 0;
    if (!m->outer_peer && !random_range(64)) {
        m->is_arp = true;
        m->nw_proto = ARP_OP_REQUEST;
        m->dst = eth_addr_broadcast;
        return true;
    }
    m->nw_proto = t->nw_proto;
    if (t->nw_proto == IPPROTO_ICMP) {
        m->tp_src = htons(ICMP4_ECHO_REQUEST);
        return true;
    }
    /* Few enough that old connections are met again. */
    m->tp_src = htons(20000 + random_range(4096));
    m->tp_dst = t->port;
    m->seq = random_uint32();
    m->tcp_flags = TCP_SYN;
    m->data_len = random_range(MAX_DATA);
    return true;
}

/* How many packets it may still send. */
static uint64_t
n_left(const struct netdev_pod *dev, const struct script *s)
{
    return (!s->limit ? UINT64_MAX
            : !counted(dev, offsetof(struct netdev_pod, tx_packets)) ? 0
            : s->limit - counted(dev, offsetof(struct netdev_pod,
                                               rx_packets)));
}

/* True if it is time for one more. */
static bool
opens(struct netdev_pod *dev, const struct script *s)
{
    long long int now = time_msec();

    if (!n_left(dev, s)) {
        return false;
    }
    if (!dev->started) {
        dev->started = now;
    }
    return dev->n_opened < (now - dev->started) * s->rate / 1000;
}

/* What the device is asked to do. */

static int
netdev_pod_rxq_recv(struct netdev_rxq *rxq, struct dp_packet_batch *batch,
                    int *qfill)
{
    struct netdev_pod *dev = netdev_pod_cast(rxq->netdev);
    const struct script *s = ovsrcu_get(struct script *, &dev->script);
    union {
        struct message m;
        uint64_t words[TALK_WORDS];
    } u;

    dp_packet_batch_init(batch);
    if (!s) {
        return EAGAIN;
    }
    while (dp_packet_batch_size(batch) < NETDEV_MAX_BURST
           && talk_ring_get(&dev->arrived, u.words)) {
        if (answer(&u.m)) {
            dp_packet_batch_add(batch, packet_of(s, &u.m));
            count(&dev->n_answered, 1);
        }
    }
    if (opens(dev, s)) {
        uint64_t due = (time_msec() - dev->started) * s->rate / 1000;

        /* A slow machine makes up for nothing. */
        dev->n_opened = MAX(dev->n_opened, due - MIN(due, 8));
        while (dev->n_opened < due
               && dp_packet_batch_size(batch) < MIN(NETDEV_MAX_BURST,
                                                    n_left(dev, s))
               && open_connection(s, &u.m)) {
            dp_packet_batch_add(batch, packet_of(s, &u.m));
            dev->n_opened++;
        }
    }
    if (dp_packet_batch_is_empty(batch)) {
        return EAGAIN;
    }
    if (s->race) {
        raced++;
    }

    struct dp_packet *packet;
    uint64_t n_bytes = 0;
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        n_bytes += dp_packet_size(packet);
    }
    count(&dev->rx_packets, dp_packet_batch_size(batch));
    count(&dev->rx_bytes, n_bytes);
    batch->trunc = false;
    if (qfill) {
        *qfill = -ENOTSUP;
    }
    return 0;
}

static int
netdev_pod_send(struct netdev *netdev, int qid OVS_UNUSED,
                struct dp_packet_batch *batch,
                bool concurrent_txq OVS_UNUSED)
{
    struct netdev_pod *dev = netdev_pod_cast(netdev);
    const struct script *s = ovsrcu_get(struct script *, &dev->script);
    struct dp_packet *packet;
    uint64_t n_bytes = 0;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        union {
            struct message m;
            uint64_t words[TALK_WORDS];
        } u;

        n_bytes += dp_packet_size(packet);
        if (s && read_packet(s, packet, &u.m)) {
            talk_ring_put(&dev->arrived, u.words);
        }
    }
    count(&dev->tx_packets, dp_packet_batch_size(batch));
    count(&dev->tx_bytes, n_bytes);
    dp_packet_delete_batch(batch, true);
    return 0;
}

static void
netdev_pod_rxq_wait(struct netdev_rxq *rxq OVS_UNUSED)
{
    poll_timer_wait(1);
}

static int
netdev_pod_rxq_drain(struct netdev_rxq *rxq OVS_UNUSED)
{
    return 0;
}

static struct netdev_rxq *
netdev_pod_rxq_alloc(void)
{
    return xzalloc(sizeof(struct netdev_rxq));
}

static int
netdev_pod_rxq_construct(struct netdev_rxq *rxq OVS_UNUSED)
{
    return 0;
}

static void
netdev_pod_rxq_destruct(struct netdev_rxq *rxq OVS_UNUSED)
{
}

static void
netdev_pod_rxq_dealloc(struct netdev_rxq *rxq)
{
    free(rxq);
}

/* Configuration. */

static void
script_free(struct script *s)
{
    if (s) {
        free(s->ips);
        free(s->targets);
        free(s);
    }
}

/* The words of option 'name'. */
static struct svec
words_of(const struct smap *args, const char *name, const char *separators)
{
    struct svec words = SVEC_EMPTY_INITIALIZER;
    char *text = xstrdup(smap_get_def(args, name, ""));
    char *state = NULL;

    for (char *word = strtok_r(text, separators, &state); word;
         word = strtok_r(NULL, separators, &state)) {
        svec_add(&words, word);
    }
    free(text);
    return words;
}

static bool
parse_target(const char *text, struct target *t)
{
    char protocol[8], ip[16];
    int port;

    if (sscanf(text, "%7[^/]/%15[^/]/%d", protocol, ip, &port) != 3
        || !ip_parse(ip, &t->ip)) {
        return false;
    }
    t->nw_proto = (!strcmp(protocol, "tcp") ? IPPROTO_TCP
                   : !strcmp(protocol, "udp") ? IPPROTO_UDP
                   : !strcmp(protocol, "icmp") ? IPPROTO_ICMP : 0);
    t->port = htons(port);
    return t->nw_proto != 0;
}

static bool
parse_outer(struct script *s, const struct smap *args)
{
    struct svec words = words_of(args, "pod-outer", "/");

    s->in_tunnel = words.n > 0;
    bool ok = !words.n || (words.n == 4
        && eth_addr_from_string(words.names[0], &s->outer_ours)
        && eth_addr_from_string(words.names[1], &s->outer_theirs)
        && ip_parse(words.names[2], &s->outer_our_ip)
        && ip_parse(words.names[3], &s->outer_their_ip));
    svec_destroy(&words);
    return ok;
}

static const char *
parse_script(struct script *s, const struct smap *args)
{
    const char *error = NULL;

    if (!eth_addr_from_string(smap_get_def(args, "pod-mac", ""), &s->mac)
        || !eth_addr_from_string(smap_get_def(args, "pod-gateway", ""),
                                 &s->gateway)) {
        return "pod-mac or pod-gateway is no address of Ethernet";
    }
    s->rate = smap_get_ullong(args, "pod-rate", 0);
    s->limit = smap_get_ullong(args, "pod-limit", 0);
    s->race = smap_get_bool(args, "pod-race", false);

    struct svec ips = words_of(args, "pod-ips", " ");
    s->ips = xcalloc(MAX(ips.n, 1), sizeof *s->ips);
    for (size_t i = 0; i < ips.n; i++) {
        if (!ip_parse(ips.names[i], &s->ips[s->n_ips++])) {
            error = "pod-ips holds something else";
        }
    }
    svec_destroy(&ips);

    struct svec talk = words_of(args, "pod-talk", " ");
    s->targets = xcalloc(MAX(talk.n, 1), sizeof *s->targets);
    for (size_t i = 0; i < talk.n; i++) {
        if (!parse_target(talk.names[i], &s->targets[s->n_targets++])) {
            error = "pod-talk holds no PROTOCOL/IP/PORT";
        }
    }
    svec_destroy(&talk);
    return !parse_outer(s, args) ? "pod-outer is wrong" : error;
}

static int
netdev_pod_set_config(struct netdev *netdev, const struct smap *args,
                      char **errp)
{
    struct netdev_pod *dev = netdev_pod_cast(netdev);

    /* (The switch sets it once more after each change of the port.) */
    if (ovsrcu_get_protected(struct script *, &dev->script)) {
        return 0;
    }

    struct script *s = xzalloc(sizeof *s);
    const char *error = parse_script(s, args);
    if (error) {
        script_free(s);
        if (errp) {
            *errp = xasprintf("%s: %s", netdev_get_name(netdev), error);
        }
        return EINVAL;
    }
    ovsrcu_set(&dev->script, s);
    return 0;
}

static struct netdev *
netdev_pod_alloc(void)
{
    struct netdev_pod *dev = xzalloc(sizeof *dev);

    return &dev->up;
}

static int
netdev_pod_construct(struct netdev *netdev)
{
    struct netdev_pod *dev = netdev_pod_cast(netdev);

    ovsrcu_init(&dev->script, NULL);
    eth_addr_random(&dev->etheraddr);
    dev->flags = NETDEV_UP;
    return 0;
}

static void
netdev_pod_destruct(struct netdev *netdev)
{
    struct netdev_pod *dev = netdev_pod_cast(netdev);
    struct script *s = ovsrcu_get_protected(struct script *, &dev->script);

    if (s) {
        ovsrcu_postpone(script_free, s);
    }
}

static void
netdev_pod_dealloc(struct netdev *netdev)
{
    free(netdev_pod_cast(netdev));
}

static int
netdev_pod_set_etheraddr(struct netdev *netdev, const struct eth_addr mac)
{
    netdev_pod_cast(netdev)->etheraddr = mac;
    netdev_change_seq_changed(netdev);
    return 0;
}

static int
netdev_pod_get_etheraddr(const struct netdev *netdev, struct eth_addr *mac)
{
    *mac = netdev_pod_cast(netdev)->etheraddr;
    return 0;
}

static int
netdev_pod_get_mtu(const struct netdev *netdev OVS_UNUSED, int *mtup)
{
    *mtup = 1500;
    return 0;
}

static int
netdev_pod_get_stats(const struct netdev *netdev, struct netdev_stats *stats)
{
    const struct netdev_pod *dev = netdev_pod_cast(netdev);

    stats->rx_packets = counted(dev, offsetof(struct netdev_pod, rx_packets));
    stats->rx_bytes = counted(dev, offsetof(struct netdev_pod, rx_bytes));
    stats->tx_packets = counted(dev, offsetof(struct netdev_pod, tx_packets));
    stats->tx_bytes = counted(dev, offsetof(struct netdev_pod, tx_bytes));
    stats->multicast = counted(dev, offsetof(struct netdev_pod, n_answered));
    return 0;
}

static int
netdev_pod_update_flags(struct netdev *netdev, enum netdev_flags off,
                        enum netdev_flags on, enum netdev_flags *old_flags)
{
    struct netdev_pod *dev = netdev_pod_cast(netdev);

    *old_flags = dev->flags;
    dev->flags = (dev->flags | on) & ~off;
    if (dev->flags != *old_flags) {
        netdev_change_seq_changed(netdev);
    }
    return 0;
}

/* What both types have in common. */
#define NETDEV_POD                                      \
    .alloc = netdev_pod_alloc,                          \
    .construct = netdev_pod_construct,                  \
    .destruct = netdev_pod_destruct,                    \
    .dealloc = netdev_pod_dealloc,                      \
    .set_config = netdev_pod_set_config,                \
    .send = netdev_pod_send,                            \
    .set_etheraddr = netdev_pod_set_etheraddr,          \
    .get_etheraddr = netdev_pod_get_etheraddr,          \
    .get_mtu = netdev_pod_get_mtu,                      \
    .get_stats = netdev_pod_get_stats,                  \
    .update_flags = netdev_pod_update_flags,            \
    .rxq_alloc = netdev_pod_rxq_alloc,                  \
    .rxq_construct = netdev_pod_rxq_construct,          \
    .rxq_destruct = netdev_pod_rxq_destruct,            \
    .rxq_dealloc = netdev_pod_rxq_dealloc,              \
    .rxq_recv = netdev_pod_rxq_recv,                    \
    .rxq_wait = netdev_pod_rxq_wait,                    \
    .rxq_drain = netdev_pod_rxq_drain

static const struct netdev_class netdev_pod_class = {
    NETDEV_POD,
    .type = "pod",
    .is_pmd = true,
};

static const struct netdev_class netdev_pod_main_class = {
    NETDEV_POD,
    .type = "pod-main",
};

static void __attribute__((constructor))
netdev_pod_register(void)
{
    netdev_register_provider(&netdev_pod_class);
    netdev_register_provider(&netdev_pod_main_class);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Templates of outer headers (ovs/hooks/dp-hooks-tunnel.c), in a datapath of
 * type "dummy" whose port receives what the test hands it, in one batch. */

#include <config.h>
#include <check.h>
#include <netinet/ip6.h>
#include <stdlib.h>
#include "coverage.h"
#include "csum.h"
#include "dp-hooks.h"
#include "dp-packet.h"
#include "dpif.h"
#include "dummy.h"
#include "flow.h"
#include "hash.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "odp-util.h"
#include "packets.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "train.h"
#include "util.h"

extern struct coverage_counter counter_datapath_tunnel_template_hit;
extern struct coverage_counter counter_datapath_tunnel_template_new;
extern struct coverage_counter counter_datapath_tunnel_template_idle;
extern struct coverage_counter counter_datapath_tunnel_template_evicted;
extern struct coverage_counter counter_datapath_tunnel_template_refused;

enum {
    N_PLACES = 4096,                    /* Templates of a thread. */
    N_SHAPES = 32,                      /* Masks that they may have. */
    IDLE_MS = 63000,                    /* After which they leave; and a round */
    SWEEP_MS = 3000,                    /* of who looks for those. */
    FORGET_US = 3000000                 /* After which ports aren't known. */
};

/* The clock of packet threads. */
static long long int ahead_us;

long long int __real_time_usec(void);
long long int __wrap_time_usec(void);

long long int
__wrap_time_usec(void)
{
    return __real_time_usec() + ahead_us;
}

static void
train_sent(struct netdev *netdev OVS_UNUSED, struct dp_packet_batch *batch)
{
    dp_packet_delete_batch(batch, true);
}

static odp_port_t train_port, geneve_port, vxlan_port;

#define TTL 64                          /* Outside. */

/* The underlays that all tests are done with. */
static enum { IPV4, IPV6, DUAL } underlay;

/* A tunnel's packets that the underlay sends to 'pop'. */
struct peer {
    bool ipv6;
    ovs_be32 src, dst;                  /* Also the ends of IPv6 addresses. */
    uint16_t udp_dst;
    odp_port_t pop;                     /* ODPP_NONE: drops them. */
    uint8_t ttl_mask;                   /* Of 64, which all have. */
    uint8_t tos, tos_mask;
    uint32_t label, label_mask;
    ovs_u128 ufid;
    uint64_t n_sent;
    uint32_t next_sent, next_seen;      /* Numbers in packets. */
};

static struct peer peers[5000];

static void
ipv6_of(ovs_be32 end, struct in6_addr *address)
{
    memset(address, 0, sizeof *address);
    address->s6_addr[0] = 0xfd;
    memcpy(&address->s6_addr[12], &end, sizeof end);
}

static void
peer_flow(const struct peer *p, struct flow *flow, struct flow *mask)
{
    memset(flow, 0, sizeof *flow);
    flow->in_port.odp_port = train_port;
    if (p->ipv6) {
        flow->dl_type = htons(ETH_TYPE_IPV6);
        ipv6_of(p->src, &flow->ipv6_src);
        ipv6_of(p->dst, &flow->ipv6_dst);
        flow->ipv6_label = htonl(p->label & p->label_mask);
    } else {
        flow->dl_type = htons(ETH_TYPE_IP);
        flow->nw_src = p->src;
        flow->nw_dst = p->dst;
    }
    flow->nw_tos = p->tos & p->tos_mask;
    flow->nw_proto = IPPROTO_UDP;
    flow->tp_dst = htons(p->udp_dst);
    flow->nw_ttl = TTL & p->ttl_mask;

    memset(mask, 0, sizeof *mask);
    mask->in_port.odp_port = u32_to_odp(UINT32_MAX);
    mask->dl_type = OVS_BE16_MAX;
    if (p->ipv6) {
        mask->ipv6_src = mask->ipv6_dst = in6addr_exact;
        mask->ipv6_label = htonl(p->label_mask);
    } else {
        mask->nw_src = mask->nw_dst = OVS_BE32_MAX;
    }
    mask->nw_tos = p->tos_mask;
    mask->nw_proto = UINT8_MAX;
    mask->nw_frag = FLOW_NW_FRAG_MASK;
    mask->tp_dst = OVS_BE16_MAX;
    mask->nw_ttl = p->ttl_mask;
}

/* Makes, or changes, the megaflow that the underlay's bridge would have made. */
static void
peer_put(struct peer *p, enum dpif_flow_put_flags flags)
{
    struct odputil_keybuf key_buf, mask_buf;
    struct odp_flow_key_parms parms;
    uint64_t actions_stub[8];
    struct ofpbuf key, mask, actions;
    struct flow flow, wc;

    peer_flow(p, &flow, &wc);
    parms = (struct odp_flow_key_parms) { .flow = &flow, .mask = &wc,
        .support = { .max_vlan_headers = 1, .recirc = true } };
    ofpbuf_use_stack(&key, &key_buf, sizeof key_buf);
    odp_flow_key_from_flow(&parms, &key);
    ofpbuf_use_stack(&mask, &mask_buf, sizeof mask_buf);
    parms.key_buf = &key;
    odp_flow_key_from_mask(&parms, &mask);
    ofpbuf_use_stub(&actions, actions_stub, sizeof actions_stub);
    if (p->pop != ODPP_NONE) {
        nl_msg_put_odp_port(&actions, OVS_ACTION_ATTR_TUNNEL_POP, p->pop);
    }

    /* By hash two of them might share a stamp, and leave together. */
    p->ufid = (ovs_u128) { .u32 = { hash_int(p - peers, 0), p - peers } };
    ck_assert_int_eq(dpif_flow_put(dpif, flags, key.data, key.size,
                                   mask.data, mask.size, actions.data,
                                   actions.size, &p->ufid,
                                   PMD_ID_NULL, NULL), 0);
    ofpbuf_uninit(&actions);
}

static void
peer_delete(const struct peer *p)
{
    struct dpif_op op = { .type = DPIF_OP_FLOW_DEL };
    struct odputil_keybuf key_buf;
    struct odp_flow_key_parms parms;
    struct dpif_op *ops = &op;
    struct flow flow, wc;
    struct ofpbuf key;

    peer_flow(p, &flow, &wc);
    parms = (struct odp_flow_key_parms) { .flow = &flow, .mask = &wc,
        .support = { .max_vlan_headers = 1, .recirc = true } };
    ofpbuf_use_stack(&key, &key_buf, sizeof key_buf);
    odp_flow_key_from_flow(&parms, &key);
    op.flow_del.key = key.data;
    op.flow_del.key_len = key.size;
    op.flow_del.ufid = &p->ufid;
    op.flow_del.pmd_id = PMD_ID_NULL;
    dpif_operate(dpif, &ops, 1, DPIF_OFFLOAD_AUTO);
    ck_assert_int_eq(op.error, 0);
}

static uint64_t
peer_count(const struct peer *p)
{
    struct dpif_flow flow;
    struct ofpbuf buf;
    uint64_t n;

    ofpbuf_init(&buf, 0);
    ck_assert_int_eq(dpif_flow_get(dpif, NULL, 0, &p->ufid, NON_PMD_CORE_ID,
                                   &buf, &flow), 0);
    n = flow.stats.n_packets;
    ofpbuf_uninit(&buf);
    return n;
}

/* What a packet carries, behind its inner Ethernet header. */
struct note {
    uint32_t peer;
    uint32_t number;
};

enum {
    TUNNEL_HEADER_LEN = 8,              /* Geneve's and VXLAN's. */
    INNER_LEN = ETH_HEADER_LEN + sizeof(struct note)
};

static void
put_ipv4(struct dp_packet *b, const struct peer *p, size_t len, uint8_t tos)
{
    struct ip_header *ip = dp_packet_put_zeros(b, sizeof *ip);

    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tos = tos;
    ip->ip_tot_len = htons(IP_HEADER_LEN + len);
    ip->ip_ttl = TTL;
    ip->ip_proto = IPPROTO_UDP;
    put_16aligned_be32(&ip->ip_src, p->src);
    put_16aligned_be32(&ip->ip_dst, p->dst);
    ip->ip_csum = csum(ip, sizeof *ip);
}

static void
put_ipv6(struct dp_packet *b, const struct peer *p, size_t len, uint8_t tos)
{
    struct ip6_hdr ip6 = {
        .ip6_flow = htonl(6u << 28 | tos << 20 | p->label),
        .ip6_plen = htons(len),
        .ip6_nxt = IPPROTO_UDP,
        .ip6_hlim = TTL,
    };

    ipv6_of(p->src, &ip6.ip6_src);
    ipv6_of(p->dst, &ip6.ip6_dst);
    dp_packet_put(b, &ip6, sizeof ip6);
}

/* The next packet of 'p', with 'tos' outside. */
static struct dp_packet *
peer_packet(struct peer *p, uint32_t index, uint8_t tos)
{
    struct dp_packet *b = dp_packet_new(256);
    struct note note = { index, p->next_sent++ };
    size_t udp_len = UDP_HEADER_LEN + TUNNEL_HEADER_LEN + INNER_LEN;

    struct eth_header *eth = dp_packet_put_zeros(b, sizeof *eth);
    eth->eth_dst = (struct eth_addr) ETH_ADDR_C(aa,55,00,00,00,01);
    eth->eth_src = (struct eth_addr) ETH_ADDR_C(aa,55,00,00,00,02);
    eth->eth_type = htons(p->ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    if (p->ipv6) {
        put_ipv6(b, p, udp_len, tos);
    } else {
        put_ipv4(b, p, udp_len, tos);
    }

    struct udp_header *udp = dp_packet_put_zeros(b, sizeof *udp);
    udp->udp_src = htons(random_range(UINT16_MAX));
    udp->udp_dst = htons(p->udp_dst);
    udp->udp_len = htons(udp_len);

    uint8_t *header = dp_packet_put_zeros(b, TUNNEL_HEADER_LEN);
    if (p->pop == geneve_port) {
        header[2] = ETH_TYPE_TEB >> 8;
        header[3] = ETH_TYPE_TEB & 0xff;
    } else {
        header[0] = 8;                  /* The VNI is there. */
    }

    struct eth_header *inner = dp_packet_put_zeros(b, sizeof *inner);
    inner->eth_type = htons(0x88b5);    /* For experiments. */
    dp_packet_put(b, &note, sizeof note);
    p->n_sent++;
    return b;
}

/* Hooks. */

static bool ours;                       /* Is the bridge behind the tunnels? */
static bool vxlan_ours;                 /* Also behind VXLAN? */
static size_t n_disorder, n_mistaken, n_decapsulated;

static void
received(struct dp_netdev_pmd_thread *pmd OVS_UNUSED,
         struct dp_packet_batch *batch OVS_UNUSED,
         odp_port_t port OVS_UNUSED)
{
}

static void
decapsulated(struct dp_netdev_pmd_thread *pmd OVS_UNUSED,
             struct dp_packet_batch *batch)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        struct note note;
        struct peer *p;

        ck_assert_uint_eq(dp_packet_size(packet), INNER_LEN);
        memcpy(&note, (char *) dp_packet_data(packet) + ETH_HEADER_LEN,
               sizeof note);
        p = &peers[note.peer];
        n_decapsulated++;
        n_disorder += note.number != p->next_seen;
        p->next_seen = note.number + 1;
        n_mistaken += packet->md.in_port.odp_port != p->pop;
    }
    if (ours && (vxlan_ours
                 || batch->packets[0]->md.in_port.odp_port == geneve_port)) {
        dp_packet_delete_batch(batch, true);
        dp_packet_batch_init(batch);
    }
}

static const struct dp_hooks hooks = {
    .received = received,
    .decapsulated = decapsulated,
};

static size_t
template_hits(void)
{
    return counter_datapath_tunnel_template_hit.count();
}

static void
setup(void)
{
    static bool prepared;

    if (!prepared) {
        prepared = true;
        dummy_enable("");
        ck_assert_int_eq(netdev_register_provider(&train_class), 0);
        dp_hooks = &hooks;
    }
    ck_assert_int_eq(dpif_create("templates", "dummy", &dpif), 0);
    train_port = add_port("in0", "train");
    geneve_port = add_port("geneve0", "geneve");
    vxlan_port = add_port("vxlan0", "vxlan");
    memset(peers, 0, sizeof peers);
    ahead_us += FORGET_US;
    ours = vxlan_ours = true;
    n_disorder = n_mistaken = n_decapsulated = 0;
    template_hits();
    counter_datapath_tunnel_template_new.count();
    counter_datapath_tunnel_template_idle.count();
    counter_datapath_tunnel_template_evicted.count();
    counter_datapath_tunnel_template_refused.count();
}

static void
setup_ipv4(void)
{
    underlay = IPV4;
    setup();
}

static void
setup_ipv6(void)
{
    underlay = IPV6;
    setup();
}

static void
setup_dual(void)
{
    underlay = DUAL;
    setup();
}

static void
teardown(void)
{
    ck_assert_int_eq(dpif_delete(dpif), 0);
    dpif_close(dpif);
}

static void
init_peer(size_t i, uint32_t src, uint32_t dst, uint16_t udp_dst,
          odp_port_t pop)
{
    peers[i] = (struct peer) { .ipv6 = (underlay == IPV6
                                        || (underlay == DUAL && i % 2)),
                               .src = htonl(0x0a000000 + src),
                               .dst = htonl(0x0a000000 + dst),
                               .udp_dst = udp_dst, .pop = pop };
}

static void
add_peer(size_t i, uint32_t src, uint32_t dst, uint16_t udp_dst,
         odp_port_t pop)
{
    init_peer(i, src, dst, udp_dst, pop);
    peer_put(&peers[i], DPIF_FP_CREATE);
}

/* Receives a batch of the packets of 'indexes'. */
static void
receive(const uint16_t *indexes, size_t n, uint8_t tos)
{
    for (size_t i = 0; i < n; i++) {
        dp_packet_batch_add(&train, peer_packet(&peers[indexes[i]],
                                                indexes[i], tos));
    }
    dpif_run(dpif);
    ck_assert(dp_packet_batch_is_empty(&train));
    ahead_us += 1000;                   /* Searches are some 10 ms apart. */
}

/* The same, each with the ToS of its megaflow. */
static void
receive_as_they_are(const uint16_t *indexes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct peer *p = &peers[indexes[i]];

        dp_packet_batch_add(&train, peer_packet(p, indexes[i], p->tos));
    }
    dpif_run(dpif);
    ck_assert(dp_packet_batch_is_empty(&train));
    ahead_us += 1000;
}

enum { MANY = 200 };                    /* Batches. */

/* As long as there is no template, and after. */
START_TEST(test_keeps_order)
{
    static const uint16_t four[] = { 0, 0, 0, 0 };
    size_t hits = 0;
    int i;

    add_peer(0, 1, 2, 6081, geneve_port);
    for (i = 0; i < MANY && hits < 20; i++) {
        receive(four, ARRAY_SIZE(four), 0);
        ck_assert_uint_eq(n_disorder, 0);
        hits += template_hits();
    }
    ck_assert_uint_ge(hits, 20);
    ck_assert_uint_eq(peer_count(&peers[0]), peers[0].n_sent);
}
END_TEST

/* Megaflows that share a peer, tunnels of two kinds. */
START_TEST(test_tells_apart)
{
    static const uint16_t mixed[] = { 0, 1, 1, 2, 0, 1, 2, 2 };
    size_t hits = 0;

    add_peer(0, 1, 2, 6081, geneve_port);
    add_peer(1, 1, 2, 4789, vxlan_port);
    add_peer(2, 1, 3, 6081, vxlan_port);    /* Wants a slot with the first. */
    for (int i = 0; i < MANY; i++) {
        receive(mixed, ARRAY_SIZE(mixed), 0);
        hits += template_hits();
    }
    ck_assert_uint_gt(hits, 0);
    ck_assert_uint_eq(n_mistaken, 0);
    ck_assert_uint_eq(n_disorder, 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(peer_count(&peers[i]), peers[i].n_sent);
    }
}
END_TEST

/* Tunnels whose packets nobody takes here, then somebody, then nobody. */
START_TEST(test_ours_alone)
{
    static const uint16_t two[] = { 0, 0 };
    int i;

    ours = false;
    add_peer(0, 1, 2, 6081, geneve_port);
    for (i = 0; i < 50; i++) {
        receive(two, ARRAY_SIZE(two), 0);
    }
    ck_assert_uint_eq(template_hits(), 0);

    ours = true;
    for (i = 0; i < MANY && !template_hits(); i++) {
        receive(two, ARRAY_SIZE(two), 0);
    }
    ck_assert_int_lt(i, MANY);

    ours = false;
    for (i = 0; i < 100 * MANY; i++) {
        receive(two, ARRAY_SIZE(two), 0);
        if (!template_hits()) {
            break;
        }
    }
    ck_assert_int_lt(i, 100 * MANY);
    ck_assert_uint_eq(n_decapsulated, peers[0].n_sent);
    ck_assert_uint_eq(peer_count(&peers[0]), peers[0].n_sent);
}
END_TEST

/* Of two tunnels from the same port. */
START_TEST(test_one_of_two)
{
    static const uint16_t geneve[] = { 0, 0 }, vxlan[] = { 1, 1 };
    size_t hits = 0;

    vxlan_ours = false;
    add_peer(0, 1, 2, 6081, geneve_port);
    add_peer(1, 1, 2, 4789, vxlan_port);
    for (int i = 0; i < MANY && hits < 40; i++) {
        receive(geneve, ARRAY_SIZE(geneve), 0);
        hits += template_hits();
        receive(vxlan, ARRAY_SIZE(vxlan), 0);
        ck_assert_uint_eq(template_hits(), 0);
    }
    ck_assert_uint_ge(hits, 40);
}
END_TEST

/* A peer's two tunnels don't drive each other out. */
START_TEST(test_side_by_side)
{
    static const uint16_t geneve[] = { 0 }, vxlan[] = { 1 };
    size_t n_in_a_row = 0;

    add_peer(0, 1, 2, 6081, geneve_port);
    add_peer(1, 1, 2, 4789, vxlan_port);
    for (int i = 0; i < 10 * MANY && n_in_a_row < 60; i++) {
        receive(i % 2 ? geneve : vxlan, 1, 0);
        n_in_a_row = template_hits() ? n_in_a_row + 1 : 0;
    }
    ck_assert_uint_eq(n_in_a_row, 60);
}
END_TEST

static void
check_counts(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(peer_count(&peers[i]), peers[i].n_sent);
    }
}

/* Behind a packet that goes the stock way none of the same peer is taken, not
 * even one with a template. */
START_TEST(test_stays_behind)
{
    static const uint16_t taken[] = { 0, 0, 1 }, behind[] = { 1, 0, 0 };
    int i;

    vxlan_ours = false;
    for (i = 0; i < 2; i++) {
        init_peer(i, 1, 2, 6081, i ? vxlan_port : geneve_port);
        peers[i].tos = i ? 0x20 : 0;
        peers[i].tos_mask = UINT8_MAX;
        peer_put(&peers[i], DPIF_FP_CREATE);
    }
    for (i = 0; i < MANY && template_hits() < 2; i++) {
        receive_as_they_are(taken, ARRAY_SIZE(taken));
    }
    ck_assert_int_lt(i, MANY);
    receive_as_they_are(behind, ARRAY_SIZE(behind));
    ck_assert_uint_eq(template_hits(), 0);
    receive_as_they_are(taken, ARRAY_SIZE(taken));
    ck_assert_uint_eq(template_hits(), 2);
    ck_assert_uint_eq(n_mistaken, 0);
    ck_assert_uint_eq(n_disorder, 0);
}
END_TEST

START_TEST(test_random)
{
    enum { N_RANDOM = 8 };

    test_seed_random();
    for (int i = 0; i < N_RANDOM; i++) {
        /* Destinations differ, or else megaflows would overlap. */
        add_peer(i, random_range(2), 16 + i,
                 random_range(2) ? 6081 : 4789,
                 random_range(2) ? geneve_port : vxlan_port);
    }
    for (int i = 0; i < MANY; i++) {
        uint16_t indexes[NETDEV_MAX_BURST];
        size_t n = 1 + random_range(ARRAY_SIZE(indexes));

        for (size_t j = 0; j < n; j++) {
            indexes[j] = random_range(N_RANDOM);
        }
        receive(indexes, n, random_range(3) ? 0 : 0x20);
    }
    ck_assert_uint_gt(template_hits(), 0);
    ck_assert_uint_eq(n_mistaken, 0);
    ck_assert_uint_eq(n_disorder, 0);
    check_counts(N_RANDOM);
}
END_TEST

/* Flows that change while there is a template of them, and those beside them. */
START_TEST(test_changes_bite)
{
    static const uint16_t three[] = { 0, 1, 2 };
    int i;

    for (i = 0; i < 3; i++) {
        add_peer(i, 1 + i, 20, 6081, geneve_port);
    }
    for (i = 0; i < MANY && template_hits() < 3; i++) {
        receive(three, 3, 0);
    }
    ck_assert_int_lt(i, MANY);

    n_decapsulated = 0;
    peers[1].pop = ODPP_NONE;
    peer_put(&peers[1], DPIF_FP_MODIFY);
    receive(three, 3, 0);
    ck_assert_uint_eq(template_hits(), 2);
    ck_assert_uint_eq(n_decapsulated, 2);

    peers[0].pop = vxlan_port;
    peer_put(&peers[0], DPIF_FP_MODIFY);
    receive(three, 1, 0);
    ck_assert_uint_eq(template_hits(), 0);

    n_decapsulated = 0;
    peer_delete(&peers[2]);
    receive(&three[2], 1, 0);
    ck_assert_uint_eq(template_hits(), 0);
    ck_assert_uint_eq(n_decapsulated, 0);

    /* Another flow, which the old one's template would fit. */
    peers[2].pop = ODPP_NONE;
    peer_put(&peers[2], DPIF_FP_CREATE);
    for (i = 0; i < MANY; i++) {
        receive(&three[2], 1, 0);
    }
    ck_assert_uint_eq(n_decapsulated, 0);
    ck_assert_uint_eq(template_hits(), 0);
}
END_TEST

/* One that isn't as it was any more is looked for again at once, not only after
 * as long as one that there is none of. */
START_TEST(test_comes_back)
{
    static const uint16_t one[] = { 0 };
    int i;

    add_peer(0, 1, 2, 6081, geneve_port);
    for (i = 0; i < MANY && !template_hits(); i++) {
        receive(one, 1, 0);
    }
    ck_assert_int_lt(i, MANY);
    for (i = 0; i < 3; i++) {
        peer_put(&peers[0], DPIF_FP_MODIFY);
        receive(one, 1, 0);
        ck_assert_uint_eq(template_hits(), 0);
        receive(one, 1, 0);
        ck_assert_uint_eq(template_hits(), 1);
    }
}
END_TEST

/* Packets of all of 'n' peers, in turn. */
static void
receive_round(size_t n)
{
    uint16_t indexes[NETDEV_MAX_BURST];

    for (size_t first = 0; first < n; first += ARRAY_SIZE(indexes)) {
        size_t i;

        for (i = 0; i < ARRAY_SIZE(indexes) && first + i < n; i++) {
            indexes[i] = first + i;
        }
        receive(indexes, i, 0);
    }
}

/* Time passes, and batches of the first peer with it, which let sets be swept. */
static void
pass_ms(long long int ms)
{
    static const uint16_t one[] = { 0 };

    for (long long int i = 0; i < ms; i++) {
        receive(one, 1, 0);
    }
}

/* All templates but the first peer's leave. */
static void
forget_others(void)
{
    pass_ms(IDLE_MS + SWEEP_MS);
    counter_datapath_tunnel_template_new.count();
    counter_datapath_tunnel_template_idle.count();
    counter_datapath_tunnel_template_evicted.count();
    template_hits();
}

/* Each batch is of other peers, as it is where many Pods talk to many Nodes. */
START_TEST(test_many_peers)
{
    enum { N = 800 };
    size_t hits = 0;
    int i;

    for (i = 0; i < N; i++) {
        add_peer(i, 1 + i, 2000, 6081, geneve_port);
        if (!i) {
            forget_others();
        }
    }
    for (i = 0; i < 10 * MANY && hits < N; i++) {
        receive_round(N);
        hits = template_hits();
    }
    ck_assert_uint_eq(hits, N);
    ck_assert_uint_eq(counter_datapath_tunnel_template_evicted.count(), 0);
    ck_assert_uint_eq(n_disorder, 0);
    ck_assert_uint_eq(n_mistaken, 0);
    check_counts(N);
}
END_TEST

START_TEST(test_full)
{
    static const uint16_t kept[] = { 0 };
    size_t n_evicted = 0;

    for (int i = 0; i < ARRAY_SIZE(peers); i++) {
        add_peer(i, 1 + i, 8000, 6081, geneve_port);
    }
    for (int i = 0; i < MANY; i++) {
        receive(kept, 1, 0);
    }
    ck_assert_uint_gt(template_hits(), 0);
    for (size_t i = 1; i < ARRAY_SIZE(peers); i++) {
        const uint16_t other[] = { i };

        receive(other, 1, 0);
        n_evicted += counter_datapath_tunnel_template_evicted.count();
        /* Who is in use stays. */
        template_hits();
        receive(kept, 1, 0);
        ck_assert_uint_eq(template_hits(), 1);
    }
    ck_assert_uint_ge(n_evicted, ARRAY_SIZE(peers) - N_PLACES);
    ck_assert_uint_eq(n_disorder, 0);
    ck_assert_uint_eq(n_mistaken, 0);
    check_counts(ARRAY_SIZE(peers));
}
END_TEST

/* A peer without a template gets one. */
static void
receive_until_hit(uint16_t peer)
{
    int i;

    template_hits();
    for (i = 0; i < MANY && !template_hits(); i++) {
        receive(&peer, 1, 0);
    }
    ck_assert_int_gt(i, 1);
    ck_assert_int_lt(i, MANY);
}

START_TEST(test_idle)
{
    static const uint16_t other[] = { 1 };

    add_peer(0, 1, 2, 6081, geneve_port);
    add_peer(1, 3, 4, 6081, geneve_port);
    forget_others();
    receive_until_hit(1);
    pass_ms(IDLE_MS - 2 * SWEEP_MS);
    ck_assert_uint_eq(counter_datapath_tunnel_template_idle.count(), 0);
    template_hits();
    receive(other, 1, 0);
    ck_assert_uint_eq(template_hits(), 1);

    pass_ms(IDLE_MS + SWEEP_MS);
    ck_assert_uint_eq(counter_datapath_tunnel_template_idle.count(), 1);
    template_hits();
    receive(other, 1, 0);
    ck_assert_uint_eq(template_hits(), 0);
}
END_TEST

/* However long the machine is up: the clock passes all that 32 bits of it may
 * be.  Peers are found when they are new, leave when they have been quiet, and
 * are found again when they come back after half of that time. */
START_TEST(test_any_uptime)
{
    enum { N_PARTS = 8 };
    const long long int part_us = (1LL << 32) / N_PARTS * 1024;

    for (int part = 0; part < N_PARTS; part++) {
        const uint16_t one[] = { part };

        counter_datapath_tunnel_template_idle.count();
        ahead_us += part_us;
        add_peer(part, 1 + part, 100, 6081, geneve_port);
        receive_until_hit(part);
        for (int ms = 0; ms < SWEEP_MS; ms++) {
            receive(one, 1, 0);
        }
        if (part) {
            ck_assert_uint_ge(counter_datapath_tunnel_template_idle.count(),
                              1);
        }
        if (part >= N_PARTS / 2) {
            receive_until_hit(part - N_PARTS / 2);
        }
        template_hits();
    }
    check_counts(N_PARTS);
}
END_TEST

START_TEST(test_masks)
{
    enum { N = N_SHAPES + 1 };
    size_t n_made;

    for (int i = 0; i < N; i++) {
        add_peer(i, 1 + i, 100, 6081, geneve_port);
        if (i) {
            peer_delete(&peers[i]);
            peers[i].ttl_mask = i;
            peer_put(&peers[i], DPIF_FP_CREATE);
        } else {
            forget_others();
        }
    }
    for (int i = 0; i < MANY; i++) {
        receive_round(N);
    }
    n_made = counter_datapath_tunnel_template_new.count();
    ck_assert_uint_eq(n_made, N_SHAPES - 1);    /* The first one is there. */
    ck_assert_uint_gt(counter_datapath_tunnel_template_refused.count(), 0);
    ck_assert_uint_eq(counter_datapath_tunnel_template_evicted.count(), 0);

    /* A mask that none has any more makes room. */
    peer_delete(&peers[0]);
    for (int i = 0; i < MANY; i++) {
        receive_round(N);
    }
    ck_assert_uint_eq(counter_datapath_tunnel_template_new.count(), 1);
    template_hits();
    receive_round(N);
    ck_assert_uint_eq(template_hits(), N_SHAPES);
    ck_assert_uint_eq(n_mistaken, 0);

    /* Room for other tests. */
    peer_put(&peers[0], DPIF_FP_CREATE);
    forget_others();
}
END_TEST

/* ToS and label in megaflows and in packets. */
START_TEST(test_ipv6_fields)
{
    static const uint16_t one[] = { 0 };
    struct peer *p = &peers[0];
    int i;

    add_peer(0, 1, 2, 6081, geneve_port);
    peer_delete(p);
    p->tos = 0xa7;
    p->tos_mask = 0xf3;
    p->label = 0x12345;
    p->label_mask = 0xf0ff0;
    peer_put(p, DPIF_FP_CREATE);
    for (i = 0; i < MANY && !template_hits(); i++) {
        receive(one, 1, 0xa7);
    }
    ck_assert_int_lt(i, MANY);

    receive(one, 1, 0xab);              /* As far as it matters the same. */
    p->label ^= 0x0f00f;
    receive(one, 1, 0xa3);
    ck_assert_uint_eq(template_hits(), 2);

    uint64_t n = peer_count(p);
    receive(one, 1, 0xb7);
    receive(one, 1, 0xa6);
    p->label ^= 0x10;
    receive(one, 1, 0xa7);
    p->label ^= 0x80010;
    receive(one, 1, 0xa7);
    ck_assert_uint_eq(template_hits(), 0);
    ck_assert_uint_eq(peer_count(p), n);
    ck_assert_uint_eq(n_mistaken, 0);
}
END_TEST

/* Receives a packet of the first peer, in which byte 'ofs' is another one. */
static void
receive_with(size_t ofs, uint8_t byte, size_t size)
{
    struct dp_packet *b = peer_packet(&peers[0], 0, 0);

    ((uint8_t *) dp_packet_data(b))[ofs] = byte;
    dp_packet_set_size(b, MIN(size, dp_packet_size(b)));
    dp_packet_batch_add(&train, b);
    dp_packet_batch_add(&train, peer_packet(&peers[1], 1, 0));
    dpif_run(dpif);
    ahead_us += 1000;
}

/* Packets of the peer that a template isn't good for. */
START_TEST(test_ipv6_others)
{
    static const uint16_t two[] = { 0, 1 };
    const size_t ip = ETH_HEADER_LEN;
    const struct {
        size_t ofs;
        uint8_t byte;
        size_t size;
    } others[] = {
        { ip, 0x50, SIZE_MAX },                 /* Another version. */
        { ip + 4, 1, SIZE_MAX },                /* Longer than it is. */
        { ip + 5, UDP_HEADER_LEN - 1, SIZE_MAX },   /* No UDP header. */
        { ip + 6, IPPROTO_DSTOPTS, SIZE_MAX },
        { ip + 6, IPPROTO_FRAGMENT, SIZE_MAX },
        { ip + 8, 0xfe, SIZE_MAX },             /* Each word of addresses. */
        { ip + 16, 1, SIZE_MAX },
        { ip + 23, 0xff, SIZE_MAX },
        { ip + 24, 0xfe, SIZE_MAX },
        { ip + 32, 1, SIZE_MAX },
        { ip + 39, 0xff, SIZE_MAX },
        { ip + IPV6_HEADER_LEN + 2, 0xff, SIZE_MAX },   /* UDP's port. */
        { ip + 6, IPPROTO_UDP, 63 },            /* Cut short. */
        { ip + 6, IPPROTO_UDP, 41 },
        { ip + 6, IPPROTO_UDP, ETH_HEADER_LEN },
    };
    int i;

    add_peer(0, 1, 2, 6081, geneve_port);
    add_peer(1, 3, 2, 6081, geneve_port);
    for (i = 0; i < MANY && template_hits() < 2; i++) {
        receive(two, 2, 0);
    }
    ck_assert_int_lt(i, MANY);
    for (i = 0; i < ARRAY_SIZE(others); i++) {
        receive_with(others[i].ofs, others[i].byte, others[i].size);
        ck_assert_msg(template_hits() == 1, "case %d", i);
    }
    /* The same bytes as before: nothing else was wrong. */
    receive_with(ip + 6, IPPROTO_UDP, SIZE_MAX);
    ck_assert_uint_eq(template_hits(), 2);
}
END_TEST

static void
add_tests(Suite *s, const char *name, void (*prepare)(void))
{
    TCase *tc = tcase_create(name);

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, prepare, teardown);
    /* First, while nothing is known of either tunnel, of VXLAN. */
    tcase_add_test(tc, test_ours_alone);
    tcase_add_test(tc, test_one_of_two);
    tcase_add_test(tc, test_keeps_order);
    tcase_add_test(tc, test_tells_apart);
    tcase_add_test(tc, test_side_by_side);
    if (prepare != setup_dual) {
        tcase_add_test(tc, test_stays_behind);
    }
    tcase_add_test(tc, test_random);
    tcase_add_test(tc, test_changes_bite);
    tcase_add_test(tc, test_comes_back);
    tcase_add_test(tc, test_many_peers);
    tcase_add_test(tc, test_full);
    tcase_add_test(tc, test_idle);
    tcase_add_test(tc, test_any_uptime);
    tcase_add_test(tc, test_masks);
    if (prepare == setup_ipv6) {
        tcase_add_test(tc, test_ipv6_fields);
        tcase_add_test(tc, test_ipv6_others);
    }
}

int
main(void)
{
    Suite *s = suite_create("tunnel-template");

    add_tests(s, "ipv4", setup_ipv4);
    add_tests(s, "ipv6", setup_ipv6);
    add_tests(s, "dual", setup_dual);
    return test_run_nofork(s);
}

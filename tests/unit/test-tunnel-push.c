/* SPDX-License-Identifier: Apache-2.0 */

/* Packets into tunnels without upstream's executor (dp_pmd_send_into_tunnel()),
 * in a datapath of type "dummy": what leaves, in which batches, and what is
 * counted is the same as when the executor has the two actions. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include "coverage.h"
#include "dp-hooks.h"
#include "dp-packet.h"
#include "dpif.h"
#include "dummy.h"
#include "flow.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "netlink.h"
#include "odp-util.h"
#include "packets.h"
#include "test-run.h"
#include "train.h"
#include "util.h"

extern struct coverage_counter counter_datapath_drop_tunnel_push_error;
extern struct coverage_counter counter_datapath_drop_invalid_port;
extern struct coverage_counter counter_netdev_push_header_drops;

enum { N = 9 };                 /* Packets at a time. */

/* What became of packets. */
struct outcome {
    struct {
        char device[16];
        size_t n_before;        /* In the same call. */
        struct dp_packet *packet;
    } sent[N + 1];
    size_t n;
    unsigned int push_errors, invalid_ports, push_drops;
};
static struct outcome *outcome;

static void
train_sent(struct netdev *netdev, struct dp_packet_batch *batch)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        ck_assert_uint_lt(outcome->n, ARRAY_SIZE(outcome->sent));
        ovs_strzcpy(outcome->sent[outcome->n].device, netdev_get_name(netdev),
                    sizeof outcome->sent[0].device);
        outcome->sent[outcome->n].n_before = i;
        outcome->sent[outcome->n++].packet = packet;
    }
}

/* Who puts the header before packets may put others in their places, which are
 * deleted when all have been sent. */
int __real_netdev_push_header(const struct netdev *, struct dp_packet_batch *,
                              const struct ovs_action_push_tnl *);
int __wrap_netdev_push_header(const struct netdev *, struct dp_packet_batch *,
                              const struct ovs_action_push_tnl *);

static bool replaces;
static struct dp_packet *replaced[N];
static size_t n_replaced;

int
__wrap_netdev_push_header(const struct netdev *netdev,
                          struct dp_packet_batch *batch,
                          const struct ovs_action_push_tnl *push)
{
    for (size_t i = 0; replaces && i < batch->count; i++) {
        ck_assert_uint_lt(n_replaced, N);
        replaced[n_replaced++] = batch->packets[i];
        batch->packets[i] = dp_packet_clone(batch->packets[i]);
    }
    return __real_netdev_push_header(netdev, batch, push);
}

static odp_port_t out_port;

/* What becomes of the packets. */
static struct ofpbuf actions;   /* A header, and a port. */
static bool by_executor;
static size_t n_company;        /* Packets without a header before them. */

static void
received(struct dp_netdev_pmd_thread *pmd, struct dp_packet_batch *batch,
         odp_port_t port OVS_UNUSED)
{
    static const struct flow flow;
    struct dp_pmd_tx_cache tx = { 0 };
    const struct nlattr *push = actions.data;
    const struct nlattr *output = nl_attr_next(push);
    struct dp_packet_batch rest;
    struct dp_packet *packet;

    dp_packet_batch_init(&rest);
    if (n_company) {
        dp_pmd_send_train(pmd, &tx, batch->packets, n_company, out_port);
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        if (by_executor && i >= n_company) {
            dp_packet_batch_add(&rest, packet);
        } else if (i >= n_company) {
            dp_pmd_send_into_tunnel(pmd, &tx, packet, push,
                                    nl_attr_get_odp_port(output));
        }
    }
    if (!dp_packet_batch_is_empty(&rest)) {
        dp_pmd_execute(pmd, &rest, &flow, actions.data, actions.size);
    }
    dp_packet_batch_init(batch);
}

static const struct dp_hooks hooks = { .received = received };

static void
setup(void)
{
    if (!dp_hooks) {
        dummy_enable("");
        ck_assert_int_eq(netdev_register_provider(&train_class), 0);
        dp_hooks = &hooks;
    }
    ck_assert_int_eq(dpif_create("push", "dummy", &dpif), 0);
    add_port("in0", "train");
    out_port = add_port("out0", "train");
    ofpbuf_init(&actions, 0);
    n_company = 0;
    replaces = false;
}

static void
teardown(void)
{
    ofpbuf_uninit(&actions);
    ck_assert_int_eq(dpif_delete(dpif), 0);
    dpif_close(dpif);
}

static const struct tunnel {
    const char *type;
    bool ipv6, csum;
} tunnels[] = {
    { "geneve", false, false },
    { "geneve", false, true },
    { "geneve", true, true },
    { "vxlan", false, false },
    { "vxlan", true, true },
    { "gre", false, true },
};

/* Lets packets go into the tunnel 't' and out by 'port'. */
static void
set_actions(const struct tunnel *t, odp_port_t port)
{
    static const struct eth_addr mac = ETH_ADDR_C(aa,55,00,00,00,02);
    struct netdev_tnl_build_header_params params;
    struct ovs_action_push_tnl data;
    struct in6_addr src = { .s6_addr = { 0xfd, [15] = 1 } };
    struct flow flow = { .tunnel.tun_id = htonll(7), .tunnel.ip_ttl = 64 };
    odp_port_t tunnel_port = add_port("tunnel0", t->type);
    struct netdev *netdev;

    if (t->ipv6) {
        flow.tunnel.ipv6_dst = src;
        flow.tunnel.ipv6_dst.s6_addr[15] = 2;
    } else {
        in6_addr_set_mapped_ipv4(&src, htonl(0x0a000001));
        flow.tunnel.ip_dst = htonl(0x0a000002);
    }
    flow.tunnel.flags = FLOW_TNL_F_KEY | (t->csum ? FLOW_TNL_F_CSUM : 0);
    netdev_init_tnl_build_header_params(&params, &flow, &src, mac, mac);
    ck_assert_int_eq(netdev_open("tunnel0", t->type, &netdev), 0);
    memset(&data, 0, sizeof data);
    ck_assert_int_eq(netdev_build_header(netdev, &data, &params), 0);
    netdev_close(netdev);
    data.tnl_port = tunnel_port;
    data.out_port = port;
    odp_put_tnl_push_action(&actions, &data);
    nl_msg_put_odp_port(&actions, OVS_ACTION_ATTR_OUTPUT, port);
}

/* Packet 'i': of its own size and hash, some of them with no room before. */
static struct dp_packet *
make_packet(size_t i)
{
    struct dp_packet *p = dp_packet_new_with_headroom(1000, i % 3 ? 128 : 0);
    uint8_t *data = dp_packet_put_zeros(p, 60 + 17 * i);

    for (size_t j = 0; j < dp_packet_size(p); j++) {
        data[j] = i + j;
    }
    p->packet_type = htonl(PT_ETH);
    dp_packet_set_rss_hash(p, 1000 * i + 7);
    return p;
}

/* Sends packets, of which 'offload' are those that a device is to complete. */
static void
run(struct outcome *o, bool executor, unsigned int offload)
{
    memset(o, 0, sizeof *o);
    outcome = o;
    by_executor = executor;
    counter_datapath_drop_tunnel_push_error.count();
    counter_datapath_drop_invalid_port.count();
    counter_netdev_push_header_drops.count();
    for (size_t i = 0; i < N; i++) {
        struct dp_packet *p = make_packet(i);

        if (offload & (1u << i)) {
            dp_packet_hwol_set_csum_tcp(p);
        }
        dp_packet_batch_add(&train, p);
    }
    dpif_run(dpif);
    ck_assert(dp_packet_batch_is_empty(&train));
    o->push_errors = counter_datapath_drop_tunnel_push_error.count();
    o->invalid_ports = counter_datapath_drop_invalid_port.count();
    o->push_drops = counter_netdev_push_header_drops.count();
    while (n_replaced) {
        dp_packet_delete(replaced[--n_replaced]);
    }
}

static void
outcome_uninit(struct outcome *o)
{
    for (size_t i = 0; i < o->n; i++) {
        dp_packet_delete(o->sent[i].packet);
    }
}

/* Both ways come to the same, of which 'o' is set to the one that is tested. */
static void
compare(struct outcome *o, unsigned int offload)
{
    struct outcome stock;

    run(&stock, true, offload);
    run(o, false, offload);
    ck_assert_uint_eq(o->n, stock.n);
    for (size_t i = 0; i < o->n; i++) {
        struct dp_packet *p = o->sent[i].packet, *q = stock.sent[i].packet;

        ck_assert_str_eq(o->sent[i].device, stock.sent[i].device);
        ck_assert_uint_eq(o->sent[i].n_before, stock.sent[i].n_before);
        ck_assert(dp_packet_equal(p, q));
        ck_assert_uint_eq(p->l3_ofs, q->l3_ofs);
        ck_assert_uint_eq(p->l4_ofs, q->l4_ofs);
        ck_assert_uint_eq(p->md.in_port.odp_port, q->md.in_port.odp_port);
        ck_assert_uint_eq(dp_packet_get_rss_hash(p),
                          dp_packet_get_rss_hash(q));
    }
    ck_assert_uint_eq(o->push_errors, stock.push_errors);
    ck_assert_uint_eq(o->invalid_ports, stock.invalid_ports);
    ck_assert_uint_eq(o->push_drops, stock.push_drops);
    outcome_uninit(&stock);
}

/* The first 'n' packets but the first 'n_plain' have a header, and all left in
 * one batch. */
static void
check_sent(const struct outcome *o, size_t n, size_t n_plain)
{
    const struct ovs_action_push_tnl *data = nl_attr_get(actions.data);

    ck_assert_uint_eq(o->n, n);
    for (size_t i = 0; i < n; i++) {
        const size_t header_len = i < n_plain ? 0 : data->header_len;

        ck_assert_str_eq(o->sent[i].device, "out0");
        ck_assert_uint_eq(o->sent[i].n_before, i);
        ck_assert_uint_eq(dp_packet_size(o->sent[i].packet),
                          60 + 17 * i + header_len);
    }
    ck_assert_uint_eq(o->push_errors + o->invalid_ports + o->push_drops, 0);
}

START_TEST(pushed)
{
    struct outcome o;

    set_actions(&tunnels[_i], out_port);
    compare(&o, 0);
    check_sent(&o, N, 0);
    outcome_uninit(&o);

    /* With packets that leave by the same port as they are. */
    for (n_company = 1; n_company < 4; n_company++) {
        compare(&o, 0);
        check_sent(&o, N, n_company);
        outcome_uninit(&o);
    }
}
END_TEST

START_TEST(pushed_before_copies)
{
    struct outcome o;

    set_actions(&tunnels[0], out_port);
    replaces = true;
    compare(&o, 0);
    check_sent(&o, N, 0);
    outcome_uninit(&o);
}
END_TEST

/* A header isn't put before what a device would have to complete. */
START_TEST(offloaded)
{
    struct outcome o;

    set_actions(&tunnels[0], out_port);
    compare(&o, 1u << 0 | 1u << 4);
    ck_assert_uint_eq(o.n, N - 2);
    ck_assert_uint_eq(o.push_drops, 2);
    ck_assert_uint_eq(o.push_errors, 0);
    outcome_uninit(&o);
}
END_TEST

START_TEST(no_port)
{
    struct outcome o;

    set_actions(&tunnels[0], u32_to_odp(99));
    compare(&o, 0);
    ck_assert_uint_eq(o.n, 0);
    ck_assert_uint_eq(o.invalid_ports, N);
}
END_TEST

START_TEST(no_tunnel)
{
    struct outcome o;

    set_actions(&tunnels[0], out_port);
    struct ovs_action_push_tnl *data
        = CONST_CAST(void *, nl_attr_get(actions.data));
    ck_assert_int_eq(dpif_port_del(dpif, data->tnl_port, false), 0);
    compare(&o, 0);
    ck_assert_uint_eq(o.n, 0);
    ck_assert_uint_eq(o.push_errors, N);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("tunnel-push");
    TCase *tc = tcase_create("tunnel-push");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, pushed, 0, ARRAY_SIZE(tunnels));
    tcase_add_test(tc, pushed_before_copies);
    tcase_add_test(tc, offloaded);
    tcase_add_test(tc, no_port);
    tcase_add_test(tc, no_tunnel);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* NAT that runs out of ports: who is displaced, and by whom. */

#include <config.h>
#include <check.h>
#include "conntrack.h"
#include "conntrack-foresee.h"
#include "conntrack-half-open.h"
#include "conntrack-peek.h"
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "talk.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"

enum { ZONE = 5, MIN_PORT = 20000, N_PORTS = 1100 };
enum { FLOODER = 1, NEIGHBOUR = 2 };

static struct conntrack *ct;
static long long int now;
static struct nat_action_info_t nat;
static struct conntrack_peek peek;

static void
set_ports(int n)
{
    nat.max_port = MIN_PORT + n - 1;
}

static void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    /* Far from the clock of the threads that look for expired ones. */
    now = time_msec() + 1000LL * 1000 * 1000;
    ct = conntrack_init();
    conntrack_pool_run(ct);
    conntrack_half_open_start(ct);
    nat = (struct nat_action_info_t) {
        .nat_action = NAT_ACTION_SRC | NAT_ACTION_SRC_PORT,
        .min_addr.ipv4 = htonl(0xcb007101), .max_addr.ipv4 = htonl(0xcb007101),
        .min_port = MIN_PORT,
    };
    set_ports(N_PORTS);
}

static void
teardown(void)
{
    conntrack_peek_uninit(&peek);
    conntrack_destroy(ct);
    ovsrcu_barrier();
}

/* A packet from port 'tp_src' of a Pod. */
static struct tuple
tuple_of(int pod, uint16_t tp_src, uint8_t nw_proto)
{
    struct tuple t = {
        .nw_proto = nw_proto, .tp_src = tp_src, .tp_dst = 53,
    };

    in6_addr_set_mapped_ipv4(&t.src, htonl(0x0a000000 + pod));
    in6_addr_set_mapped_ipv4(&t.dst, htonl(0xc0a80001));
    return t;
}

static struct dp_packet *
compose(const struct tuple *t)
{
    const struct segment syn = { .flags = TCP_SYN, .win = 8192, .wscale = -1 };

    return (t->nw_proto == IPPROTO_TCP ? talk_compose(t, &syn, 0)
            : talk_compose(t, NULL, 0));
}

/* Foresees the packet's ct(). */
static void
foresee(struct dp_packet *packet, const struct tuple *t)
{
    const struct conntrack_peek_request req = {
        .zone = ZONE, .commit = true, .nat = &nat,
    };

    foresee_ct(&peek, ct, packet, t, &req, now);
}

/* Returns true if the packet gets a connection. */
static bool
begin(int pod, uint16_t tp_src, uint8_t nw_proto)
{
    const struct tuple t = tuple_of(pod, tp_src, nw_proto);
    struct dp_packet *packet = compose(&t);

    foresee(packet, &t);
    bool begun = peek.applicable && conntrack_peek_apply(&peek);
    dp_packet_delete(packet);
    return begun;
}

/* How many connections a Pod has. */
static int
count(int pod)
{
    const ovs_be32 ip = htonl(0x0a000000 + pod);
    const struct conn *conn;
    int n = 0;

    CMAP_FOR_EACH (conn, cm_node, &ct->conns) {
        n += (conn->conn_type == CT_CONN_TYPE_DEFAULT
              && conn->key.src.addr.ipv4 == ip);
    }
    return n;
}

/* Has 'pod' take what is left of so many ports. */
static void
take_all(int pod, uint8_t nw_proto, int n_ports)
{
    for (uint16_t i = 0; atomic_count_get(&ct->n_conn) < n_ports; i++) {
        begin(pod, 1024 + i, nw_proto);
    }
}

static uint64_t
n_evicted(void)
{
    struct conntrack_half_open_stats tcp, others;

    conntrack_half_open_get_stats(ct, &tcp);
    conntrack_unanswered_get_stats(ct, &others);
    return tcp.evicted + others.evicted;
}

/* Whoever floods leaves ports for others, and then takes only his own. */
START_TEST(flood)
{
    const uint8_t nw_proto = _i ? IPPROTO_TCP : IPPROTO_UDP;

    take_all(FLOODER, nw_proto, N_PORTS);
    uint64_t before = n_evicted();
    for (int i = 1; i <= 50; i++) {
        ck_assert(begin(NEIGHBOUR, 5000 + i, nw_proto));
        ck_assert_int_eq(count(NEIGHBOUR), i);
        ck_assert_int_eq(count(FLOODER), N_PORTS - i);
    }
    ck_assert_uint_eq(n_evicted(), before + 50);
    for (int i = 0; i < 200; i++) {
        begin(FLOODER, 50000 + i, nw_proto);
    }
    ck_assert_int_eq(count(NEIGHBOUR), 50);
    ck_assert_int_eq(count(FLOODER), N_PORTS - 50);
    ck_assert_uint_gt(n_evicted(), before + 50);
}
END_TEST

/* The reply to the packet that made 'conn'. */
static void
answer(const struct conn *conn)
{
    struct tuple t = {
        .nw_proto = conn->key.nw_proto,
        .tp_src = ntohs(conn->rev_key.src.port),
        .tp_dst = ntohs(conn->rev_key.dst.port),
    };
    struct dp_packet_batch batch;

    in6_addr_set_mapped_ipv4(&t.src, conn->rev_key.src.addr.ipv4);
    in6_addr_set_mapped_ipv4(&t.dst, conn->rev_key.dst.addr.ipv4);
    struct dp_packet *packet = compose(&t);
    dp_packet_batch_init_packet(&batch, packet);
    conntrack_execute(ct, &batch, htons(ETH_TYPE_IP), false, false, ZONE,
                      NULL, NULL, 0, 0, NULL, NULL, now, 0);
    ck_assert(packet->md.ct_state & CS_REPLY_DIR);
    dp_packet_delete(packet);
}

/* To each 'n'th. */
static void
answer_each(int n)
{
    struct conn *conn;
    int i = 0;

    CMAP_FOR_EACH (conn, cm_node, &ct->conns) {
        if (conn->conn_type == CT_CONN_TYPE_DEFAULT && !(++i % n)) {
            answer(conn);
        }
    }
}

/* What has been answered stays, whoever else wants its port. */
START_TEST(answered)
{
    take_all(FLOODER, IPPROTO_UDP, N_PORTS);
    answer_each(1);
    uint64_t before = n_evicted();
    ck_assert(!begin(NEIGHBOUR, 5000, IPPROTO_UDP));
    ck_assert_int_eq(count(FLOODER), N_PORTS);
    ck_assert_uint_eq(n_evicted(), before);
}
END_TEST

/* Where some have been answered the others make room. */
START_TEST(half_answered)
{
    take_all(FLOODER, IPPROTO_UDP, N_PORTS);
    answer_each(4);
    for (int i = 1; i <= 50; i++) {
        ck_assert(begin(NEIGHBOUR, 5000 + i, IPPROTO_UDP));
    }
    ck_assert_int_eq(count(NEIGHBOUR), 50);
}
END_TEST

/* The answer comes after it was foreseen that there is none. */
START_TEST(answered_meanwhile)
{
    const struct tuple t = tuple_of(NEIGHBOUR, 5000, IPPROTO_UDP);
    struct dp_packet *packet = compose(&t);

    take_all(FLOODER, IPPROTO_UDP, N_PORTS);
    foresee(packet, &t);
    ck_assert(peek.applicable);
    answer_each(1);
    uint64_t before = n_evicted();
    ck_assert(!conntrack_peek_apply(&peek));
    ck_assert_int_eq(count(FLOODER), N_PORTS);
    ck_assert_int_eq(count(NEIGHBOUR), 0);
    ck_assert_uint_eq(n_evicted(), before);
    dp_packet_delete(packet);
}
END_TEST

/* Who has more than all others displaces nobody else's. */
START_TEST(more_than_others)
{
    enum { N_PODS = 100, FIRST_POD = 10, N_EACH = N_PORTS / N_PODS - 1 };
    int before[N_PODS];

    for (int i = 0; i < N_PODS; i++) {
        for (int j = 0; j < N_EACH; j++) {
            begin(FIRST_POD + i, 5000 + j, IPPROTO_UDP);
        }
    }
    take_all(FLOODER, IPPROTO_UDP, N_PORTS);
    ck_assert_int_gt(count(FLOODER), 2 * N_EACH);
    for (int i = 0; i < N_PODS; i++) {
        before[i] = count(FIRST_POD + i);
    }
    for (int i = 0; i < 100; i++) {
        begin(FLOODER, 1024 + i, IPPROTO_UDP);
    }
    for (int i = 0; i < N_PODS; i++) {
        ck_assert_int_eq(count(FIRST_POD + i), before[i]);
    }
}
END_TEST

/* Where all ports are looked at there is what upstream finds. */
START_TEST(few_ports)
{
    set_ports(200);
    take_all(FLOODER, IPPROTO_UDP, 200);
    ck_assert(!begin(NEIGHBOUR, 5000, IPPROTO_UDP));
    ck_assert_int_eq(count(FLOODER), 200);
}
END_TEST

/* Ports below 1,024, as of NTP and IKE, get one of a few hundred. */
START_TEST(low_ports)
{
    const struct {
        uint16_t from, to, neighbours;
    } classes[] = { { 1, 511, 123 }, { 512, 1023, 550 }, { 512, 1023, 750 } };
    int n_ports = classes[_i].to - classes[_i].from + 1;

    nat.nat_action = NAT_ACTION_SRC;
    for (int port = classes[_i].from; port <= classes[_i].to; port++) {
        ck_assert(begin(FLOODER, port, IPPROTO_UDP));
    }
    ck_assert_int_eq(count(FLOODER), n_ports);
    ck_assert(begin(NEIGHBOUR, classes[_i].neighbours, IPPROTO_UDP));
    ck_assert_int_eq(count(NEIGHBOUR), 1);
    ck_assert_int_eq(count(FLOODER), n_ports - 1);
}
END_TEST

/* What is foreseen for a packet with tuple 't': a connection by NAT, if it
 * 'begins', with a port that executing ct() may not find, if that is 'chance'. */
static void
expect_nat(const struct tuple *t, bool begins, bool chance)
{
    struct dp_packet *packet = compose(t);

    foresee(packet, t);
    ck_assert(conntrack_peek_creates_nat(&peek) == begins);
    ck_assert(conntrack_peek_nat_by_chance(&peek) == chance);
    dp_packet_delete(packet);
}

/* A port of a connection that is displaced isn't there for who doesn't. */
START_TEST(displaced_by_chance)
{
    const struct tuple t = tuple_of(NEIGHBOUR, 5000, IPPROTO_UDP);

    expect_nat(&t, true, false);
    take_all(FLOODER, IPPROTO_UDP, N_PORTS);
    expect_nat(&t, true, true);
    answer_each(1);
    expect_nat(&t, false, false);
}
END_TEST

/* Upstream looks at 128 ports in their order, and at others at random.  Of those
 * from 512 to 1023 it leaves some out. */
START_TEST(found_by_chance)
{
    const uint16_t from[] = { 100, 550, 2000, 65500 };
    const uint16_t second[] = { 101, 600, 2001, 65501 };
    const struct tuple t = tuple_of(NEIGHBOUR, from[_i], IPPROTO_UDP);

    nat.nat_action = NAT_ACTION_SRC;
    expect_nat(&t, true, false);
    ck_assert(begin(FLOODER, from[_i], IPPROTO_UDP));
    for (int i = 0; i < 126; i++) {
        int port = second[_i] + i;

        ck_assert(begin(FLOODER, port > UINT16_MAX ? port - 64512 : port,
                        IPPROTO_UDP));
    }
    expect_nat(&t, true, false);
    int last = second[_i] + 126;
    ck_assert(begin(FLOODER, last > UINT16_MAX ? last - 64512 : last,
                    IPPROTO_UDP));
    expect_nat(&t, true, true);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-displace");
    TCase *tc = tcase_create("conntrack-displace");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, flood, 0, 2);
    tcase_add_test(tc, answered);
    tcase_add_test(tc, answered_meanwhile);
    tcase_add_test(tc, displaced_by_chance);
    tcase_add_test(tc, few_ports);
    tcase_add_loop_test(tc, found_by_chance, 0, 4);
    tcase_add_test(tc, half_answered);
    tcase_add_loop_test(tc, low_ports, 0, 3);
    tcase_add_test(tc, more_than_others);
    return test_run_nofork(s);
}

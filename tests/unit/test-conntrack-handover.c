/* SPDX-License-Identifier: Apache-2.0 */

/* Connections for another process.
 *
 * Random packets go through one connection tracker; another one gets what was
 * saved of it.  From then on all packets go through both, and both must give
 * the same answers, and the same packets. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include "byte-order.h"
#include "conntrack.h"
#include "conntrack-flush.h"
#include "conntrack-half-open.h"
#include "conntrack-handover.h"
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "csum.h"
#include "handover-world.h"
#include "openvswitch/ofp-ct.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "random.h"
#include "sctp-packet.h"
#include "talk.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"
#include "util.h"
#include "wait-until.h"

enum { N_TALKS = 32 };

static struct talk talks[N_TALKS];

static void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    /* So far ahead that the threads that look for expired connections, which
     * go by the real clock, leave them alone. */
    now = time_msec() + 1000LL * 1000 * 1000;
    for (int i = 0; i < N_TALKS; i++) {
        /* TCP without NAT: a connection that begins anew expires the one
         * before, which the thread that sweeps may find in one tracker and not
         * yet in the other, where its un-NAT twin still takes a port. */
        talk_init(&talks[i], i & 1 ? i & ~2 : i, i);
        talk_restart(&talks[i]);
    }
}

/* A connection tracker with what 'ct' has. */
static struct conntrack *
hand_over(struct conntrack *ct)
{
    struct conntrack *heir = conntrack_init();
    struct conntrack_handover_counts saved, restored;
    struct ofpbuf bytes;

    saved = save(ct, &bytes);
    restored = restore(heir, &bytes, 0);
    ck_assert_uint_eq(saved.n, restored.n);
    ck_assert_uint_eq(restored.n_expired + restored.n_known
                      + restored.n_refused, 0);
    ofpbuf_uninit(&bytes);
    return heir;
}

static void
nat_to(struct nat_action_info_t *nat, const struct tuple *t)
{
    memset(nat, 0, sizeof *nat);
    nat->nat_action = NAT_ACTION_DST | NAT_ACTION_DST_PORT;
    nat->min_port = nat->max_port = t->tp_dst;
    if (t->ipv6) {
        nat->min_addr.ipv6 = nat->max_addr.ipv6 = t->dst;
    } else {
        nat->min_addr.ipv4 = nat->max_addr.ipv4
            = in6_addr_get_mapped_ipv4(&t->dst);
    }
}

/* A random packet of a random talk. */
static uint8_t
step(struct conntrack *a, struct conntrack *b)
{
    struct talk *k = &talks[random_range(N_TALKS)];
    struct nat_action_info_t nat;
    struct segment s;
    int dir;

    if (one_in(150)) {
        talk_restart(k);
    }
    struct dp_packet *p = (one_in(8) ? talk_odd(k, &dir, &s)
                           : talk_next(k, &dir, &s));
    struct request r = {
        .commit = dir == 0 && !one_in(6), .zone = k->zone,
        .set_mark = one_in(20), .mark = { random_range(3), 0xff },
        .set_label = one_in(20),
    };
    r.set_mark &= r.commit;
    r.set_label &= r.commit;
    r.label[1].ct_labels[12] = 0xff;
    r.label[0].ct_labels[12] = random_range(3);
    if (k->nat) {
        nat_to(&nat, &k->translated);
        if (!r.commit) {
            memset(&nat, 0, sizeof nat);
        }
        r.nat = &nat;
    }
    if (one_in(3)) {
        now += (one_in(200) ? random_range(400 * 1000)
                : one_in(20) ? random_range(40 * 1000) : random_range(50));
    }
    return pass(a, b, k->tuples[dir].ipv6, &r, p);
}

/* A connection that has expired isn't handed over, and as long as it is in the
 * table its un-NAT twin matters to packets.  So those leave it before. */

static struct in6_addr
to_in6(const struct conn_key *key, const union ct_addr *addr)
{
    return (key->dl_type == htons(ETH_TYPE_IPV6) ? addr->ipv6
            : in6_addr_mapped_ipv4(addr->ipv4));
}

static void
to_match(const struct conn_key *key, struct ofp_ct_tuple *t)
{
    t->src = to_in6(key, &key->src.addr);
    t->dst = to_in6(key, &key->dst.addr);
    t->src_port = key->src.port;
    t->dst_port = key->dst.port;
}

static void
flush_conn(struct conntrack *ct, const struct conn *conn)
{
    struct ofp_ct_match match = { .ip_proto = conn->key.nw_proto };
    struct conntrack_flush *flush;

    match.l3_type = (conn->key.dl_type == htons(ETH_TYPE_IP) ? AF_INET
                     : AF_INET6);
    to_match(&conn->key, &match.tuple_orig);
    to_match(&conn->rev_key, &match.tuple_reply);
    flush = conntrack_flush_begin(ct, &conn->key.zone, &match);
    wait_until(conntrack_flush_is_done(flush));
    conntrack_flush_unref(flush);
}

/* One of those, or NULL. */
static struct conn *
find_expired(struct conntrack *ct)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct conn *conn;

    for (size_t i = 0; i < N_EXP_LISTS; i++) {
        RCULIST_FOR_EACH (conn, node, &ct->exp_lists[i]) {
            long long int expiration;

            atomic_read_relaxed(&conn->expiration, &expiration);
            if (now >= expiration && conn->nat_conn) {
                return conn;
            }
        }
    }
    return NULL;
}

static void
flush_expired(struct conntrack *ct)
{
    struct conn *conn;

    while ((conn = find_expired(ct))) {
        flush_conn(ct, conn);
    }
}

START_TEST(test_same_verdicts)
{
    enum { N_ROUNDS = 40, N_STEPS = 1500 };
    struct conntrack *ct = conntrack_init();
    int n_est = 0;

    for (int i = 0; i < N_STEPS; i++) {
        step(ct, NULL);
    }
    for (int i = 0; i < N_ROUNDS; i++) {
        flush_expired(ct);

        struct conntrack *heir = hand_over(ct);
        for (int j = 0; j < N_STEPS; j++) {
            n_est += (step(ct, heir) & CS_ESTABLISHED) != 0;
        }
        conntrack_destroy(ct);
        ct = heir;
        ovsrcu_quiesce();
    }
    printf("%d packets, %d established\n", N_ROUNDS * N_STEPS, n_est);
    ck_assert_int_gt(n_est, N_ROUNDS * N_STEPS / 10);
    conntrack_destroy(ct);
}
END_TEST

/* Other protocols. */

static struct dp_packet *
icmp(bool ipv6, bool reply)
{
    const struct tuple t
        = make_tuple(ipv6, ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, reply);
    uint8_t echo[8] = { 0 };
    struct dp_packet *p;
    ovs_be16 sum;

    echo[0] = (ipv6 ? (reply ? ICMP6_ECHO_REPLY : ICMP6_ECHO_REQUEST)
               : reply ? ICMP4_ECHO_REPLY : ICMP4_ECHO_REQUEST);
    echo[5] = 77;
    p = talk_compose_raw(&t, echo, sizeof echo);
    sum = (ipv6 ? packet_csum_upperlayer6(dp_packet_l3(p), dp_packet_l4(p),
                                          IPPROTO_ICMPV6, sizeof echo)
           : csum(dp_packet_l4(p), sizeof echo));
    memcpy((char *) dp_packet_l4(p) + 2, &sum, sizeof sum);
    return p;
}

static struct dp_packet *
gre(bool ipv6, bool reply)
{
    const struct tuple t = make_tuple(ipv6, IPPROTO_GRE, reply);
    const uint8_t header[8] = { 0 };

    return talk_compose_raw(&t, header, sizeof header);
}

/* What both say of the packets that follow an echo request: with and without
 * the reply before the handover. */
static void
check_pairs(struct dp_packet *(*compose)(bool ipv6, bool reply), bool ipv6,
            bool replied)
{
    const struct request commit = { .commit = true, .zone = ZONE };
    const struct request ask = { .zone = ZONE };
    struct conntrack *ct = conntrack_init(), *heir;

    pass(ct, NULL, ipv6, &commit, compose(ipv6, false));
    if (replied) {
        pass(ct, NULL, ipv6, &ask, compose(ipv6, true));
    }
    heir = hand_over(ct);
    ck_assert_uint_eq(n_conns(heir), 1);
    if (!replied) {
        ck_assert_uint_eq(pass(ct, heir, ipv6, &ask, compose(ipv6, false)),
                          CS_TRACKED | CS_NEW);
    }
    ck_assert_uint_eq(pass(ct, heir, ipv6, &ask, compose(ipv6, true)),
                      CS_TRACKED | CS_ESTABLISHED | CS_REPLY_DIR);
    ck_assert_uint_eq(pass(ct, heir, ipv6, &ask, compose(ipv6, false)),
                      CS_TRACKED | CS_ESTABLISHED);
    conntrack_destroy(ct);
    conntrack_destroy(heir);
}

START_TEST(test_icmp_and_others)
{
    for (int i = 0; i < 4; i++) {
        check_pairs(icmp, i & 1, i & 2);
        check_pairs(gre, i & 1, i & 2);
    }
}
END_TEST

START_TEST(test_sctp)
{
    /* VTAG, direction, chunks: each prefix is handed over, and the rest goes
     * through both. */
    static const struct {
        bool reply;
        uint32_t vtag;
        const char *chunks;
    } packets[] = {
        { false, 0, "init:11" }, { true, 11, "init-ack:22" },
        { false, 22, "cookie-echo" }, { true, 11, "cookie-ack" },
        { false, 22, "data" }, { true, 99, "data" }, { true, 11, "sack" },
        { false, 22, "shutdown" }, { true, 11, "shutdown-ack" },
        { false, 22, "shutdown-complete" },
    };
    const struct request commit = { .commit = true, .zone = ZONE };
    const struct request ask = { .zone = ZONE };

    for (size_t i = 1; i < ARRAY_SIZE(packets); i++) {
        struct conntrack *ct = conntrack_init(), *heir = NULL;

        for (size_t j = 0; j < ARRAY_SIZE(packets); j++) {
            const struct tuple t = make_tuple(false, IPPROTO_SCTP,
                                              packets[j].reply);

            if (j == i) {
                heir = hand_over(ct);
                ck_assert_uint_eq(n_conns(heir), 1);
            }
            uint8_t state = pass(ct, heir, false, j ? &ask : &commit,
                                 sctp_compose(&t, packets[j].vtag,
                                              packets[j].chunks));
            ck_assert_int_eq(!(state & CS_INVALID), packets[j].vtag != 99);
        }
        conntrack_destroy(ct);
        conntrack_destroy(heir);
    }
}
END_TEST

/* One connection each. */

static struct dp_packet *
tcp_segment(bool reply, uint16_t tp_src, uint16_t tp_dst, uint16_t flags)
{
    struct tuple t = make_tuple(false, IPPROTO_TCP, reply);
    const struct segment s = {
        .flags = flags, .seq = reply ? 200 : 100, .ack = reply ? 101 : 200,
        .win = 1000, .wscale = -1,
    };

    t.tp_src = tp_src;
    t.tp_dst = tp_dst;
    return talk_compose(&t, &s, 0);
}

static struct dp_packet *
tcp(uint16_t tp_src, uint16_t tp_dst, uint16_t flags)
{
    return tcp_segment(false, tp_src, tp_dst, flags);
}

static void
add_udp(struct conntrack *ct, int n)
{
    const struct request commit = { .commit = true, .zone = ZONE };

    for (int i = 0; i < n; i++) {
        pass(ct, NULL, false, &commit, udp(5000 + i, false));
    }
}

START_TEST(test_expired_while_away)
{
    struct conntrack *ct = conntrack_init(), *heir = conntrack_init();
    const struct request commit = { .commit = true, .zone = ZONE };
    struct conntrack_handover_counts counts;
    struct ofpbuf bytes;

    add_udp(ct, 3);             /* 60 seconds. */
    now += 20 * 1000;
    pass(ct, NULL, false, &commit, udp(6000, false));
    now += 10 * 1000;
    counts = save(ct, &bytes);
    ck_assert_uint_eq(counts.n, 4);
    counts = restore(heir, &bytes, 30 * 1000 - 1);
    ck_assert_uint_eq(counts.n, 4);
    ck_assert_uint_eq(counts.n_expired, 0);

    /* What is there stays. */
    counts = restore(heir, &bytes, 0);
    ck_assert_uint_eq(counts.n, 0);
    ck_assert_uint_eq(counts.n_known, 4);
    conntrack_destroy(heir);

    heir = conntrack_init();
    counts = restore(heir, &bytes, 30 * 1000);
    ck_assert_uint_eq(counts.n, 1);
    ck_assert_uint_eq(counts.n_expired, 3);
    ck_assert_uint_eq(n_conns(heir), 1);
    conntrack_destroy(heir);
    ofpbuf_uninit(&bytes);

    /* What has expired isn't saved. */
    now += 30 * 1000;
    counts = save(ct, &bytes);
    ck_assert_uint_eq(counts.n, 1);
    ofpbuf_uninit(&bytes);
    conntrack_destroy(ct);
}
END_TEST

START_TEST(test_limits)
{
    struct conntrack *ct = conntrack_init(), *heir;
    struct conntrack_handover_counts counts;
    struct ofpbuf bytes;
    uint32_t max;

    zone_limit_update(ct, ZONE, 5);
    add_udp(ct, 7);
    conntrack_set_maxconns(ct, 100);
    conntrack_set_tcp_seq_chk(ct, false);
    ck_assert_uint_eq(n_conns(ct), 5);
    heir = hand_over(ct);
    ck_assert_uint_eq(n_conns(heir), 5);
    ck_assert_uint_eq(zone_limit_get(heir, ZONE).limit, 5);
    ck_assert_uint_eq(zone_limit_get(heir, ZONE).count.count, 5);
    ck_assert_int_eq(zone_limit_get(heir, ZONE + 1).limit, 0);
    conntrack_get_maxconns(heir, &max);
    ck_assert_uint_eq(max, 100);
    ck_assert(!conntrack_get_tcp_seq_chk(heir));

    /* They count: as one leaves another may come. */
    conntrack_flush(heir, NULL);
    ck_assert_uint_eq(zone_limit_get(heir, ZONE).count.count, 0);
    conntrack_destroy(heir);

    heir = conntrack_init();
    conntrack_set_maxconns(ct, 3);
    save(ct, &bytes);
    counts = restore(heir, &bytes, 0);
    ck_assert_uint_eq(counts.n, 3);
    ck_assert_uint_eq(counts.n_refused, 2);
    ofpbuf_uninit(&bytes);
    conntrack_destroy(heir);
    conntrack_destroy(ct);
}
END_TEST

/* A connection that its helper expected, and the control connection. */
START_TEST(test_helper)
{
    const struct request commit = {
        .commit = true, .zone = ZONE, .helper = "ftp",
    };
    const struct request other = { .commit = true, .zone = ZONE };
    struct conntrack *ct = conntrack_init(), *heir;
    struct conntrack_dump dump;
    struct ct_dpif_entry entry;
    int n_buckets, n = 0;

    pass(ct, NULL, false, &commit, tcp(3000, 21, TCP_SYN));
    pass(ct, NULL, false, &other, tcp(3000, 22, TCP_SYN));
    heir = hand_over(ct);
    conntrack_dump_start(heir, &dump, NULL, &n_buckets);
    while (!conntrack_dump_next(&dump, &entry)) {
        if (entry.tuple_orig.dst_port == htons(21)) {
            ck_assert_str_eq(entry.helper.name, "ftp");
            n++;
        } else {
            ck_assert_ptr_null(entry.helper.name);
        }
        ct_dpif_entry_uninit(&entry);
    }
    conntrack_dump_done(&dump);
    ck_assert_int_eq(n, 1);
    conntrack_destroy(heir);
    conntrack_destroy(ct);
}
END_TEST

START_TEST(test_half_open)
{
    enum { N = 50 };
    const struct request commit = { .commit = true, .zone = ZONE };
    struct conntrack *ct = conntrack_init(), *heir = conntrack_init();
    struct conntrack_half_open_stats stats;
    struct ofpbuf bytes;

    for (int i = 0; i < N; i++) {
        pass(ct, NULL, false, &commit, tcp(4000 + i, 80, TCP_SYN));
    }
    save(ct, &bytes);
    conntrack_pool_run(heir);
    restore(heir, &bytes, 0);
    ofpbuf_uninit(&bytes);
    conntrack_half_open_get_stats(heir, &stats);
    ck_assert_uint_eq(stats.n, N);
    ck_assert_uint_eq(n_conns(heir), N);

    /* And they are the first to go. */
    conntrack_half_open_set_limit(N / 2);
    conntrack_half_open_run(heir);
    wait_until(n_conns(heir) == N / 2);
    conntrack_half_open_set_limit(CONNTRACK_MAX_HALF_OPEN);
    conntrack_destroy(heir);
    conntrack_destroy(ct);
}
END_TEST

/* Closed ones. */

/* Ports as for tcp(). */
static struct dp_packet *
tcp_reply(uint16_t tp_dst, uint16_t tp_src, uint16_t flags)
{
    return tcp_segment(true, tp_src, tp_dst, flags);
}

static void
check_half_open(struct conntrack *ct, uint32_t n)
{
    struct conntrack_half_open_stats stats;

    conntrack_half_open_get_stats(ct, &stats);
    ck_assert_uint_eq(stats.n, n);
    ck_assert_uint_eq(stats.evicted + stats.unwatched, 0);
}

START_TEST(test_closed)
{
    const struct request commit = { .commit = true, .zone = ZONE };
    const struct request ask = { .zone = ZONE };
    struct conntrack *ct = conntrack_init(), *heir = conntrack_init();
    struct ofpbuf bytes;

    /* It was open. */
    conntrack_pool_run(ct);
    pass(ct, NULL, false, &commit, tcp(4000, 80, TCP_SYN));
    pass(ct, NULL, false, &ask, tcp_reply(4000, 80, TCP_SYN | TCP_ACK));
    check_half_open(ct, 1);
    pass(ct, NULL, false, &ask, tcp(4000, 80, TCP_ACK));
    check_half_open(ct, 0);
    pass(ct, NULL, false, &ask, tcp(4000, 80, TCP_RST));
    check_half_open(ct, 0);

    /* The answer was that nobody listens. */
    pass(ct, NULL, false, &commit, tcp(4001, 80, TCP_SYN));
    pass(ct, NULL, false, &ask, tcp_reply(4001, 80, TCP_RST | TCP_ACK));
    check_half_open(ct, 1);

    save(ct, &bytes);
    conntrack_pool_run(heir);
    restore(heir, &bytes, 0);
    ofpbuf_uninit(&bytes);
    ck_assert_uint_eq(n_conns(heir), 2);
    check_half_open(heir, 1);
    conntrack_destroy(heir);
    conntrack_destroy(ct);
}
END_TEST

/* The oldest of those that nobody answered are the first to leave. */

START_TEST(test_oldest_leave)
{
    enum { N = 3 * N_EXP_LISTS };
    const struct request commit = { .commit = true, .zone = ZONE };
    struct conntrack *ct = conntrack_init(), *heir = conntrack_init();
    struct ofpbuf bytes;

    conntrack_pool_run(ct);
    for (int i = 0; i < N; i++) {
        /* Lists have others among them. */
        pass(ct, NULL, false, &commit, udp(6000 + i, false));
        pass(ct, NULL, false, &commit, tcp(4000 + i, 80, TCP_SYN));
    }
    save(ct, &bytes);
    conntrack_pool_run(heir);
    conntrack_half_open_set_limit(N / 2);
    restore(heir, &bytes, 0);
    ofpbuf_uninit(&bytes);
    conntrack_half_open_run(heir);
    wait_until(n_conns(heir) == N / 2 + N);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(find_conn(heir, 4000 + i) != NULL, i >= N / 2);
    }
    conntrack_half_open_set_limit(CONNTRACK_MAX_HALF_OPEN);
    conntrack_destroy(heir);
    conntrack_destroy(ct);
}
END_TEST

/* Bytes that nobody saved. */

/* A connection tracker with some of each kind. */
static struct conntrack *
make_some(void)
{
    const struct tuple sctp = make_tuple(false, IPPROTO_SCTP, false);
    const struct request commit = { .commit = true, .zone = ZONE };
    struct conntrack *ct = conntrack_init();

    for (int i = 0; i < 400; i++) {
        step(ct, NULL);
    }
    pass(ct, NULL, false, &commit, icmp(false, false));
    pass(ct, NULL, false, &commit, sctp_compose(&sctp, 0, "init:11"));
    zone_limit_update(ct, 1, 10);
    set_policy(ct, 3, CT_DPIF_TP_ATTR_ICMP_FIRST, 100);
    set_policy(ct, 5, CT_DPIF_TP_ATTR_UDP_FIRST, 100);
    return ct;
}

/* Reads 'size' bytes where any beyond would be noticed. */
static const char *
try_bytes(struct conntrack *ct, const void *data, size_t size)
{
    struct conntrack_handover_counts counts;
    void *copy = xmemdup(data, size);
    const char *error = conntrack_handover_restore(ct, copy, size, now, 0,
                                                   &counts);

    free(copy);
    return error;
}

START_TEST(test_torn)
{
    struct conntrack *ct = make_some(), *heir = conntrack_init();
    struct ofpbuf bytes;

    save(ct, &bytes);
    for (size_t size = 0; size < bytes.size; size++) {
        ck_assert_ptr_nonnull(try_bytes(heir, bytes.data, size));
    }
    ofpbuf_put_zeros(&bytes, 1);
    ck_assert_ptr_nonnull(try_bytes(heir, bytes.data, bytes.size));
    ck_assert_uint_eq(n_conns(heir), 0);
    ck_assert_ptr_null(try_bytes(heir, bytes.data, bytes.size - 1));
    ofpbuf_uninit(&bytes);
    conntrack_destroy(heir);
    conntrack_destroy(ct);
}
END_TEST

/* What was accepted can be dumped, saved, and packets passed through it. */
static void
use(struct conntrack *ct)
{
    struct conntrack_dump dump;
    struct ct_dpif_entry entry;
    struct ofpbuf bytes;
    int n_buckets;

    conntrack_dump_start(ct, &dump, NULL, &n_buckets);
    while (!conntrack_dump_next(&dump, &entry)) {
        ct_dpif_entry_uninit(&entry);
    }
    conntrack_dump_done(&dump);
    for (int i = 0; i < 20; i++) {
        step(ct, NULL);
    }
    save(ct, &bytes);
    ofpbuf_uninit(&bytes);
}

START_TEST(test_changed)
{
    enum { N = 3000 };
    struct conntrack *ct = make_some();
    struct ofpbuf bytes;
    int n_refused = 0;

    save(ct, &bytes);
    for (int i = 0; i < N; i++) {
        struct conntrack *heir = conntrack_init();
        /* Each bit of the beginning, then bits anywhere. */
        size_t bit = i < 1600 ? i : random_range(bytes.size * 8);
        uint8_t *byte = (uint8_t *) bytes.data + bit / 8;

        *byte ^= 1 << bit % 8;
        if (try_bytes(heir, bytes.data, bytes.size)) {
            ck_assert_uint_eq(n_conns(heir), 0);
            n_refused++;
        } else {
            use(heir);
        }
        *byte ^= 1 << bit % 8;
        conntrack_destroy(heir);
        ovsrcu_quiesce();
    }
    printf("%d of %d refused\n", n_refused, N);
    ck_assert_int_gt(n_refused, 0);
    ofpbuf_uninit(&bytes);
    conntrack_destroy(ct);
}
END_TEST

static bool
refuse(const void *data OVS_UNUSED, size_t len OVS_UNUSED, void *calls)
{
    ++*(int *) calls;
    return false;
}

START_TEST(test_no_room)
{
    struct conntrack *ct = make_some();
    struct conntrack_handover_counts counts;
    int n_calls = 0;

    ck_assert(!conntrack_handover_save(ct, now, refuse, &n_calls, &counts));
    ck_assert_int_eq(n_calls, 1);
    conntrack_destroy(ct);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("conntrack-handover");
    TCase *tc = tcase_create("handover");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, test_same_verdicts);
    tcase_add_test(tc, test_icmp_and_others);
    tcase_add_test(tc, test_sctp);
    tcase_add_test(tc, test_expired_while_away);
    tcase_add_test(tc, test_limits);
    tcase_add_test(tc, test_helper);
    tcase_add_test(tc, test_half_open);
    tcase_add_test(tc, test_closed);
    tcase_add_test(tc, test_oldest_leave);
    tcase_add_test(tc, test_torn);
    tcase_add_test(tc, test_changed);
    tcase_add_test(tc, test_no_room);
    suite_add_tcase(suite, tc);
    return suite;
}

int
main(void)
{
    return test_run(make_suite());
}

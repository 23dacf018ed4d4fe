/* SPDX-License-Identifier: Apache-2.0 */

/* Flushes in a thread of their own: conntrack-flush.h. */

#include <config.h>
#include <check.h>
#include <netinet/icmp6.h>
#include "conntrack.h"
#include "conntrack-flush.h"
#include "conntrack-half-open.h"
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "csum.h"
#include "ct-dpif.h"
#include "dpif-provider.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-ct.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "seq.h"
#include "svec.h"
#include "talk.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"
#include "util.h"

/* Connections beyond several steps of each of conntrack's lists. */
enum { N_MANY = 20000, N_ZONES = 3, LIMIT = 5000 };

static struct conntrack *ct;
static long long int now;

#include "conntrack-counts.h"

static void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    now = time_msec();
    ct = conntrack_init();
}

static void
teardown(void)
{
    conntrack_destroy(ct);
    ovsrcu_barrier();
}

/* Connections. */

/* Of either family: their headers are alike. */
static struct dp_packet *
compose_ping(const struct tuple *t)
{
    struct icmp_header icmp = {
        .icmp_type = t->ipv6 ? ICMP6_ECHO_REQUEST : ICMP4_ECHO_REQUEST,
        .icmp_fields.echo.id = htons(t->tp_src),
    };
    struct dp_packet *p = talk_compose_raw(t, &icmp, sizeof icmp);
    struct icmp_header *sent = dp_packet_l4(p);

    sent->icmp_csum = (t->ipv6
                       ? packet_csum_upperlayer6(dp_packet_l3(p), sent,
                                                 IPPROTO_ICMPV6, sizeof icmp)
                       : csum(sent, sizeof icmp));
    return p;
}

static bool
is_icmp(const struct tuple *t)
{
    return t->nw_proto == IPPROTO_ICMP || t->nw_proto == IPPROTO_ICMPV6;
}

static struct dp_packet *
compose(const struct tuple *t)
{
    const struct segment syn = {
        .flags = TCP_SYN, .seq = 1000, .win = 8192, .wscale = -1,
    };

    return is_icmp(t) ? compose_ping(t) : talk_compose(t, &syn, 0);
}

/* Begins the connection of 't' in 'zone' of 'in', with a NAT if it is IPv4
 * and no ping. */
static void
begin_in(struct conntrack *in, const struct tuple *t, uint16_t zone)
{
    struct nat_action_info_t nat = {
        .nat_action = NAT_ACTION_DST,
        .min_addr.ipv4 = htonl(0xc0a80002), .max_addr.ipv4 = htonl(0xc0a80002),
    };
    bool natted = !t->ipv6 && !is_icmp(t);
    struct dp_packet *p = compose(t);
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(in, &batch, htons(t->ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP),
                      false, true, zone, NULL, NULL, 0, 0, NULL,
                      natted ? &nat : NULL, now, 0);
    dp_packet_delete(p);
}

/* The 'i'th of 'nw_proto'. */
static void
begin(uint32_t i, uint8_t nw_proto, uint16_t zone)
{
    struct tuple t = { .nw_proto = nw_proto, .tp_src = 1024, .tp_dst = 80 };

    in6_addr_set_mapped_ipv4(&t.src, htonl(0x0a000000 + i));
    in6_addr_set_mapped_ipv4(&t.dst, htonl(0xc0a80001));
    begin_in(ct, &t, zone);
    if (i % 64 == 0) {
        ovsrcu_quiesce();
    }
}

/* Waits until 'flush' is done, as a main loop would. */
static void
wait_for(struct conntrack_flush *flush)
{
    for (;;) {
        uint64_t seqno = seq_read(conntrack_flush_seq());

        if (conntrack_flush_is_done(flush)) {
            break;
        }
        seq_wait(conntrack_flush_seq(), seqno);
        poll_block();
    }
    conntrack_flush_unref(flush);
}

static void
flush_zone(uint16_t zone)
{
    wait_for(conntrack_flush_begin(ct, &zone, NULL));
}

/* Tests. */

/* With the pool of connections and the thread of half-open ones, or
 * without. */
START_TEST(test_all)
{
    struct conntrack_half_open_stats stats;

    if (_i) {
        conntrack_pool_run(ct);
    }
    for (uint32_t i = 0; i < N_MANY; i++) {
        begin(i, i % 2 ? IPPROTO_TCP : IPPROTO_UDP, i % N_ZONES);
    }
    ck_assert_uint_eq(count_conns(), N_MANY);
    ck_assert_uint_eq(count_nodes(), 2 * N_MANY);
    wait_for(conntrack_flush_begin(ct, NULL, NULL));
    ck_assert_uint_eq(count_conns(), 0);
    ck_assert_uint_eq(count_nodes(), 0);
    conntrack_half_open_get_stats(ct, &stats);
    ck_assert_uint_eq(stats.n, 0);
    ck_assert_uint_eq(stats.evicted, 0);

    /* Nothing is left of them, and what comes now comes and goes. */
    begin(1, IPPROTO_TCP, 1);
    ck_assert_uint_eq(count_conns(), 1);
    conntrack_half_open_get_stats(ct, &stats);
    ck_assert_uint_eq(stats.n, _i);
    wait_for(conntrack_flush_begin(ct, NULL, NULL));
    ck_assert_uint_eq(count_conns(), 0);
}
END_TEST

/* Those that count for the limit of 'zone'. */
static unsigned int
count_limited(int32_t zone)
{
    struct conntrack_zone_limit limit = zone_limit_get(ct, zone);

    return atomic_count_get(&limit.count);
}

START_TEST(test_zones)
{
    const uint32_t n = N_MANY / N_ZONES * N_ZONES;

    ck_assert_int_eq(zone_limit_update(ct, 2, N_MANY), 0);
    for (uint32_t i = 0; i < n; i++) {
        begin(i, IPPROTO_UDP, i % N_ZONES);
    }
    flush_zone(N_ZONES);
    ck_assert_uint_eq(count_conns(), n);
    ck_assert_uint_eq(count_limited(2), n / N_ZONES);
    flush_zone(2);
    ck_assert_uint_eq(count_conns(), n / N_ZONES * 2);
    ck_assert_uint_eq(count_limited(2), 0);
    flush_zone(2);
    ck_assert_uint_eq(count_conns(), n / N_ZONES * 2);

    /* Zone 0 is one as any other. */
    flush_zone(0);
    ck_assert_uint_eq(count_conns(), n / N_ZONES);
    flush_zone(1);
    ck_assert_uint_eq(count_nodes(), 0);
}
END_TEST

/* While somebody holds the table a flush gets nowhere: several wait, and are
 * done in turn, whoever has let go of them. */
START_TEST(test_waits)
{
    const uint16_t zone = 1;
    struct conntrack_flush *flushes[3];

    for (uint32_t i = 0; i < 100; i++) {
        begin(i, IPPROTO_UDP, i % 2);
    }
    ovs_mutex_lock(&ct->ct_lock);
    flushes[0] = conntrack_flush_begin(ct, &zone, NULL);
    conntrack_flush_unref(conntrack_flush_begin(ct, &zone, NULL));
    flushes[1] = conntrack_flush_begin(ct, NULL, NULL);
    flushes[2] = conntrack_flush_begin(ct, NULL, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(flushes); i++) {
        ck_assert(!conntrack_flush_is_done(flushes[i]));
    }
    ovs_mutex_unlock(&ct->ct_lock);

    wait_for(flushes[0]);
    ck_assert_uint_le(count_conns(), 50);
    wait_for(flushes[2]);
    ck_assert(conntrack_flush_is_done(flushes[1]));
    conntrack_flush_unref(flushes[1]);
    ck_assert_uint_eq(count_conns(), 0);
}
END_TEST

/* A tracker that goes takes its flushes along; others' go on. */
START_TEST(test_destroy)
{
    struct conntrack *other = ct;
    struct conntrack_flush *flushes[3], *others;

    begin(1, IPPROTO_UDP, 1);
    ct = conntrack_init();
    for (uint32_t i = 0; i < N_MANY; i++) {
        begin(i, IPPROTO_TCP, 1);
    }
    for (size_t i = 0; i < ARRAY_SIZE(flushes); i++) {
        flushes[i] = conntrack_flush_begin(ct, NULL, NULL);
    }
    others = conntrack_flush_begin(other, NULL, NULL);
    conntrack_destroy(ct);
    for (size_t i = 0; i < ARRAY_SIZE(flushes); i++) {
        ck_assert(conntrack_flush_is_done(flushes[i]));
        conntrack_flush_unref(flushes[i]);
    }
    ct = other;
    wait_for(others);
    ck_assert_uint_eq(count_conns(), 0);
    begin(1, IPPROTO_UDP, 1);
    wait_for(conntrack_flush_begin(ct, NULL, NULL));
    ck_assert_uint_eq(count_conns(), 0);
}
END_TEST

/* Matches: what fits is what ct_dpif_flush() flushes by upstream's
 * comparison. */

/* A datapath with nothing but a connection tracker, as dpif-netdev has it. */

static struct conntrack *model;

struct fake_dump {
    struct ct_dpif_dump_state up;
    struct conntrack_dump dump;
};

static int
fake_dump_start(struct dpif *dpif OVS_UNUSED,
                struct ct_dpif_dump_state **statep, const uint16_t *zone,
                int *tot_bkts)
{
    struct fake_dump *fake = xzalloc(sizeof *fake);

    *statep = &fake->up;
    return conntrack_dump_start(model, &fake->dump, zone, tot_bkts);
}

static int
fake_dump_next(struct dpif *dpif OVS_UNUSED, struct ct_dpif_dump_state *state,
               struct ct_dpif_entry *entry)
{
    return conntrack_dump_next(&CONTAINER_OF(state, struct fake_dump,
                                             up)->dump, entry);
}

static int
fake_dump_done(struct dpif *dpif OVS_UNUSED, struct ct_dpif_dump_state *state)
{
    free(CONTAINER_OF(state, struct fake_dump, up));
    return 0;
}

static int
fake_flush(struct dpif *dpif OVS_UNUSED, const uint16_t *zone,
           const struct ct_dpif_tuple *tuple)
{
    return (tuple ? conntrack_flush_tuple(model, tuple, *zone)
            : conntrack_flush(model, zone));
}

/* Upstream may miss some when the table shrinks meanwhile. */
static void
flush_model(const uint16_t *zone, const struct ofp_ct_match *match)
{
    static const struct dpif_class class = {
        .ct_dump_start = fake_dump_start,
        .ct_dump_next = fake_dump_next,
        .ct_dump_done = fake_dump_done,
        .ct_flush = fake_flush,
    };
    struct dpif dpif = { .dpif_class = &class };
    uint32_t before, after;

    do {
        conntrack_get_nconns(model, &before);
        ck_assert_int_eq(ct_dpif_flush(&dpif, zone, match), 0);
        conntrack_get_nconns(model, &after);
    } while (after != before);
}

/* A few addresses and ports, so that matches meet several connections. */

static struct in6_addr
random_address(bool ipv6)
{
    struct in6_addr addr;

    if (ipv6) {
        memset(&addr, 0, sizeof addr);
        addr.s6_addr[0] = 0xfd;
        addr.s6_addr[15] = 1 + random_range(4);
    } else {
        in6_addr_set_mapped_ipv4(&addr, htonl(0x0a000001 + random_range(4)));
    }
    return addr;
}

static struct tuple
random_tuple(void)
{
    static const uint8_t protos[] = {
        IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP
    };
    struct tuple t = {
        .nw_proto = protos[random_range(ARRAY_SIZE(protos))],
        .tp_src = 1024 + random_range(3),
        .tp_dst = 80 + random_range(3),
    };

    t.ipv6 = t.nw_proto != IPPROTO_ICMP && one_in(2);
    t.src = random_address(t.ipv6);
    t.dst = random_address(t.ipv6);
    return t;
}

static void
random_wanted(struct ofp_ct_tuple *wanted, const struct ofp_ct_match *match)
{
    if (match->l3_type && one_in(3)) {
        wanted->src = random_address(match->l3_type == AF_INET6);
    }
    if (match->l3_type && one_in(3)) {
        wanted->dst = random_address(match->l3_type == AF_INET6);
    }
    if (match->ip_proto == IPPROTO_ICMP) {
        wanted->icmp_id = htons(1024 + random_range(3));
        wanted->icmp_type = one_in(4) ? ICMP4_ECHO_REPLY : ICMP4_ECHO_REQUEST;
    } else if (one_in(2)) {
        wanted->src_port = htons(one_in(2) ? 80 + random_range(3) : 0);
        wanted->dst_port = htons(one_in(2) ? 80 + random_range(3) : 0);
    }
}

static struct ofp_ct_match
random_match(void)
{
    static const uint8_t protos[] = {
        0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP
    };
    static const uint16_t families[] = { 0, AF_INET, AF_INET6 };
    struct ofp_ct_match match = {
        .ip_proto = protos[random_range(ARRAY_SIZE(protos))],
        .l3_type = families[random_range(ARRAY_SIZE(families))],
    };

    random_wanted(&match.tuple_orig, &match);
    if (match.ip_proto == IPPROTO_ICMP) {
        match.tuple_reply.icmp_id = match.tuple_orig.icmp_id;
        match.tuple_reply.icmp_type
            = (match.tuple_orig.icmp_type == ICMP4_ECHO_REQUEST
               ? ICMP4_ECHO_REPLY : ICMP4_ECHO_REQUEST);
    } else if (one_in(3)) {
        random_wanted(&match.tuple_reply, &match);
    }
    return match;
}

/* Upstream takes a whole tuple for a connection that has to be there, and
 * refuses to flush none. */
static bool
is_partial(const struct ofp_ct_match *match)
{
    return (!ofp_ct_tuple_is_five_tuple(&match->tuple_orig, match->ip_proto)
            || !ofp_ct_tuple_is_zero(&match->tuple_reply, match->ip_proto));
}

static void
list_conns(struct conntrack *of, struct svec *list)
{
    struct conntrack_dump dump;
    struct ct_dpif_entry entry;
    int tot_bkts;

    conntrack_dump_start(of, &dump, NULL, &tot_bkts);
    while (!conntrack_dump_next(&dump, &entry)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        ct_dpif_format_entry(&entry, &s, false, false);
        svec_add_nocopy(list, ds_steal_cstr(&s));
        ct_dpif_entry_uninit(&entry);
    }
    conntrack_dump_done(&dump);
    svec_sort(list);
}

static size_t
compare_with_model(const struct ofp_ct_match *match)
{
    struct svec ours = SVEC_EMPTY_INITIALIZER;
    struct svec theirs = SVEC_EMPTY_INITIALIZER;
    struct ds s = DS_EMPTY_INITIALIZER;

    list_conns(ct, &ours);
    list_conns(model, &theirs);
    ofp_ct_match_format(&s, match);
    ck_assert_msg(svec_equal(&ours, &theirs), "%s: %"PRIuSIZE" are left, "
                  "not %"PRIuSIZE, ds_cstr(&s), ours.n, theirs.n);
    size_t n = ours.n;
    ds_destroy(&s);
    svec_destroy(&ours);
    svec_destroy(&theirs);
    return n;
}

START_TEST(test_matches)
{
    size_t n_some = 0, n_none = 0;

    model = conntrack_init();
    for (int i = 0; i < 100 || !n_some || !n_none; i++) {
        struct ofp_ct_match match = random_match();
        uint16_t zone = random_range(N_ZONES);
        const uint16_t *zonep = one_in(3) ? &zone : NULL;

        if (!is_partial(&match) || ofp_ct_match_is_zero(&match)) {
            continue;
        }
        for (int j = 0; j < 40; j++) {
            struct tuple t = random_tuple();
            uint16_t in = random_range(N_ZONES);

            begin_in(ct, &t, in);
            begin_in(model, &t, in);
        }
        size_t before = compare_with_model(&match);
        wait_for(conntrack_flush_begin(ct, zonep, &match));
        flush_model(zonep, &match);
        size_t after = compare_with_model(&match);
        if (after < before) {
            n_some++;
        } else {
            n_none++;
        }
    }
    conntrack_destroy(model);
}
END_TEST

/* A whole tuple, which upstream looks up: that of a ping finds it by the type of
 * the request, and whatever else one may be about finds nothing. */
START_TEST(test_whole_tuple_of_ping)
{
    struct tuple ping = {
        .ipv6 = _i, .nw_proto = _i ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
        .tp_src = 7,
    };
    struct ct_dpif_tuple tuple = {
        .l3_type = _i ? AF_INET6 : AF_INET, .icmp_id = htons(ping.tp_src),
    };
    uint8_t request = _i ? ICMP6_ECHO_REQUEST : ICMP4_ECHO_REQUEST;

    ping.src = random_address(ping.ipv6);
    do {
        ping.dst = random_address(ping.ipv6);
    } while (ipv6_addr_equals(&ping.src, &ping.dst));
    if (ping.ipv6) {
        tuple.src.in6 = ping.src;
        tuple.dst.in6 = ping.dst;
    } else {
        tuple.src.ip = in6_addr_get_mapped_ipv4(&ping.src);
        tuple.dst.ip = in6_addr_get_mapped_ipv4(&ping.dst);
    }
    begin_in(ct, &ping, 1);
    ck_assert_uint_eq(count_conns(), 1);
    for (int i = 0; i < 2 * (UINT8_MAX + 1); i++) {
        tuple.ip_proto = i & 1 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
        tuple.icmp_type = i >> 1;
        if (tuple.ip_proto != ping.nw_proto || tuple.icmp_type != request) {
            ck_assert_int_eq(conntrack_flush_tuple(ct, &tuple, 1), ENOENT);
        }
    }
    ck_assert_uint_eq(count_conns(), 1);

    tuple.ip_proto = ping.nw_proto;
    tuple.icmp_type = request;
    ck_assert_int_eq(conntrack_flush_tuple(ct, &tuple, 2), ENOENT);
    ck_assert_int_eq(conntrack_flush_tuple(ct, &tuple, 1), 0);
    ck_assert_uint_eq(count_conns(), 0);
    ck_assert_int_eq(conntrack_flush_tuple(ct, &tuple, 1), ENOENT);
}
END_TEST

/* Two threads begin connections, upstream's flush and the limit of half-open
 * ones take some out, too. */

enum { N_RACE = 30000 };

static void *
race_main(void *first_)
{
    uint32_t first = (uintptr_t) first_;

    for (uint32_t i = 0; i < N_RACE; i++) {
        begin(first + i, i % 2 ? IPPROTO_TCP : IPPROTO_UDP, i % N_ZONES);
    }
    return NULL;
}

START_TEST(test_threads)
{
    struct conntrack_half_open_stats stats;
    struct conntrack_flush *last = NULL;
    pthread_t threads[2];

    conntrack_half_open_set_limit(LIMIT);
    conntrack_pool_run(ct);
    for (uintptr_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = ovs_thread_create("race", race_main,
                                       (void *) (i * N_RACE));
    }
    for (uint16_t i = 0; i < 30; i++) {
        const uint16_t zone = i % N_ZONES;

        if (last) {
            conntrack_flush_unref(last);
        }
        last = conntrack_flush_begin(ct, i % 4 ? &zone : NULL, NULL);
        if (i % 7 == 0) {
            conntrack_flush(ct, &zone);
        }
        xnanosleep(2 * 1000 * 1000);
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        ovsrcu_quiesce_start();
        xpthread_join(threads[i], NULL);
        ovsrcu_quiesce_end();
    }
    wait_for(last);
    wait_for(conntrack_flush_begin(ct, NULL, NULL));
    /* The limit's thread takes what it has claimed out on its own. */
    while (count_conns()) {
        ovsrcu_quiesce();
        xnanosleep(1000 * 1000);
    }
    ck_assert_uint_eq(count_nodes(), 0);
    conntrack_half_open_get_stats(ct, &stats);
    ck_assert_uint_eq(stats.n, 0);
    conntrack_half_open_set_limit(CONNTRACK_MAX_HALF_OPEN);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-flush");
    TCase *tc = tcase_create("conntrack-flush");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_all, 0, 2);
    tcase_add_test(tc, test_zones);
    tcase_add_test(tc, test_waits);
    tcase_add_test(tc, test_destroy);
    tcase_add_test(tc, test_matches);
    tcase_add_loop_test(tc, test_whole_tuple_of_ping, 0, 2);
    tcase_add_test(tc, test_threads);
    return test_run_nofork(s);
}

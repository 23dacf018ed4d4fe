/* SPDX-License-Identifier: Apache-2.0 */

/* How the table of connections grows: cmap-ahead.h, conntrack-table.h.  And that
 * nobody can fill one place of it. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cmap.h"
#include "cmap-ahead.h"
#include "conntrack.h"
#include "conntrack-half-open.h"
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "conntrack-table.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "random.h"
#include "talk.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"
#include "util.h"
#include "wait-until.h"

static void
setup(void)
{
    /* All that come stay. */
    conntrack_unanswered_set_limit(CONNTRACK_HALF_OPEN_UNLIMITED);
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
}

/* In the place of libc's: large pages are asked for before they are cleared. */
static atomic_count n_large_pages, n_while_others_wait;

int
madvise(void *begin, size_t length, int advice)
{
    if (advice == MADV_HUGEPAGE) {
        atomic_count_inc(&n_large_pages);
        if (!ovsrcu_is_quiescent()) {
            atomic_count_inc(&n_while_others_wait);
        }
    }
    return syscall(SYS_madvise, begin, length, advice);
}

/* Room beside a cmap. */

enum { N = 2000, N_HASHES = N / 2 };    /* So some hashes have several nodes. */

struct element {
    struct cmap_node node;
    bool is_in;
};

static struct element elements[N];

static uint32_t
hash_of(const struct element *e)
{
    return (e - elements) % N_HASHES * 2654435761u;
}

static void
toggle(struct cmap *cmap, struct element *e)
{
    if (e->is_in) {
        cmap_remove(cmap, &e->node, hash_of(e));
    } else {
        cmap_insert(cmap, &e->node, hash_of(e));
    }
    e->is_in = !e->is_in;
}

static bool
is_found(const struct cmap *cmap, const struct element *wanted)
{
    const struct element *e;

    CMAP_FOR_EACH_WITH_HASH (e, node, hash_of(wanted), cmap) {
        if (e == wanted) {
            return true;
        }
    }
    return false;
}

static void
check_elements(const struct cmap *cmap)
{
    const struct element *e;
    size_t n = 0, n_in = 0;

    for (size_t i = 0; i < N; i++) {
        cmap_prefetch(cmap, hash_of(&elements[i]));
        ck_assert_int_eq(is_found(cmap, &elements[i]), elements[i].is_in);
        n_in += elements[i].is_in;
    }
    CMAP_FOR_EACH (e, node, cmap) {
        n++;
    }
    ck_assert_uint_eq(n, n_in);
    ck_assert_uint_eq(cmap_count(cmap), n_in);
}

/* Room that is told of all hashes once, and of those that change meanwhile, some
 * of them too early. */
static void
fill_while_it_changes(struct cmap *cmap, struct cmap_impl *room)
{
    for (size_t i = 0; i < N; i++) {
        struct element *e = &elements[random_range(N)];

        toggle(cmap, e);
        ck_assert(cmap_room_follow(cmap, room, hash_of(e)));
        cmap_room_prefetch(room, hash_of(&elements[i]));
        ck_assert(cmap_room_follow(cmap, room, hash_of(&elements[i])));
    }
}

START_TEST(test_room)
{
    struct cmap cmap;

    cmap_init(&cmap);
    memset(elements, 0, sizeof elements);
    for (size_t i = 0; i < N; i += 2) {
        toggle(&cmap, &elements[i]);
    }
    for (size_t room_for = 10000; room_for < 1000000; room_for *= 3) {
        struct cmap_impl *room = cmap_room_create(&cmap, room_for);

        ck_assert(!cmap_has_room(&cmap, room_for));
        fill_while_it_changes(&cmap, room);
        /* Once more, from the beginning. */
        cmap_room_clear(room);
        fill_while_it_changes(&cmap, room);
        cmap_room_take(&cmap, room);
        ck_assert(cmap_has_room(&cmap, room_for));
        check_elements(&cmap);
    }

    for (size_t i = 0; i < N; i++) {
        if (elements[i].is_in) {
            toggle(&cmap, &elements[i]);
        }
    }
    ck_assert(cmap_is_empty(&cmap));
    ck_assert(cmap_has_room(&cmap, 100000));
    cmap_destroy(&cmap);
}
END_TEST

START_TEST(test_room_empty)
{
    struct cmap cmap;

    cmap_init(&cmap);
    cmap_prefetch(&cmap, 1);
    ck_assert_ptr_eq(cmap_room_create(&cmap, 0), NULL);
    struct cmap_impl *room = cmap_room_create(&cmap, 10);
    ck_assert(cmap_room_follow(&cmap, room, 0));
    cmap_room_take(&cmap, room);
    ck_assert(cmap_is_empty(&cmap));
    ck_assert(cmap_has_room(&cmap, 10));

    /* Room that is too small when it comes is dropped. */
    struct cmap_impl *small = cmap_room_create(&cmap, 100);
    cmap_room_take(&cmap, cmap_room_create(&cmap, 1000));
    cmap_room_take(&cmap, small);
    ck_assert(cmap_has_room(&cmap, 1000));
    cmap_room_destroy(cmap_room_create(&cmap, 10000));
    cmap_destroy(&cmap);
}
END_TEST

/* Room for many takes long to make: no thread waits for the one that does. */
START_TEST(test_room_large)
{
    struct cmap cmap = CMAP_INITIALIZER;

    ovsrcu_quiesce_end();
    struct cmap_impl *room = cmap_room_create(&cmap, 1 << 20);

    ck_assert_uint_gt(atomic_count_get(&n_large_pages), 0);
    ck_assert_uint_eq(atomic_count_get(&n_while_others_wait), 0);
    ck_assert(!ovsrcu_is_quiescent());
    cmap_room_destroy(room);
    cmap_destroy(&cmap);
}
END_TEST

/* Room that has run out of places says so, rather than to leave a node out, and
 * finds others when it is cleared. */
START_TEST(test_room_full)
{
    enum { MANY = 20000 };
    struct cmap_node *nodes = xcalloc(MANY, sizeof *nodes);
    struct cmap_impl *room;
    struct cmap cmap, none;
    int n;

    cmap_init(&none);
    cmap_init(&cmap);
    room = cmap_room_create(&none, 1000);
    for (int i = 0; i < MANY; i++) {
        cmap_insert(&cmap, &nodes[i], i * 2654435761u);
    }
    for (n = 0; n < MANY
                && cmap_room_follow(&cmap, room, n * 2654435761u); n++) {
        continue;
    }
    ck_assert_int_gt(n, 1000);
    ck_assert_int_lt(n, MANY);
    cmap_room_clear(room);
    for (int i = 0; i < 1000; i++) {
        ck_assert(cmap_room_follow(&cmap, room, i * 2654435761u));
    }
    cmap_room_destroy(room);
    cmap_destroy(&cmap);
    free(nodes);
}
END_TEST

/* Connections. */

enum { ZONE = 5 };

static long long int now;

/* Each other connection has a NAT, and so two nodes. */
static bool
is_natted(uint32_t i)
{
    return i % 2;
}

/* The packet of the 'i'th client to the server, or with 'reply' back. */
static struct dp_packet *
compose(uint32_t i, bool reply)
{
    struct in6_addr client, server;
    struct tuple t = { .nw_proto = IPPROTO_UDP };
    uint16_t port = 1024 + i / 65536;

    in6_addr_set_mapped_ipv4(&client, htonl(0x0a000000 + i % 65536));
    in6_addr_set_mapped_ipv4(&server,
                             htonl(0xc0a80001 + (reply && is_natted(i))));
    t.src = reply ? server : client;
    t.dst = reply ? client : server;
    t.tp_src = reply ? 80 : port;
    t.tp_dst = reply ? port : 80;
    return talk_compose(&t, NULL, 0);
}

/* Has conntrack see it, and returns what that says. */
static uint8_t
send_udp(struct conntrack *ct, uint32_t i, bool reply)
{
    struct nat_action_info_t nat = {
        .nat_action = NAT_ACTION_DST,
        .min_addr.ipv4 = htonl(0xc0a80002), .max_addr.ipv4 = htonl(0xc0a80002),
    };
    struct dp_packet *p = compose(i, reply);
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(ct, &batch, htons(ETH_TYPE_IP), false, !reply, ZONE,
                      NULL, NULL, 0, 0, NULL,
                      !reply && is_natted(i) ? &nat : NULL, now, 0);
    uint8_t state = p->md.ct_state;
    dp_packet_delete(p);
    return state;
}

static void
prepare(struct conntrack *ct, uint32_t limit)
{
    conntrack_set_maxconns(ct, limit);
    conntrack_pool_run(ct);
    wait_until(conntrack_table_is_ready(ct));
}

static void
remove_conn(struct conntrack *ct, uint32_t i)
{
    struct ct_dpif_tuple t = {
        .l3_type = AF_INET, .ip_proto = IPPROTO_UDP,
        .src.ip = htonl(0x0a000000 + i % 65536), .dst.ip = htonl(0xc0a80001),
        .src_port = htons(1024 + i / 65536), .dst_port = htons(80),
    };

    ck_assert_int_eq(conntrack_flush_tuple(ct, &t, ZONE), 0);
}

/* The connections from 'first' to 'end' can be found, in both directions, and there
 * are no others. */
static void
check_table(struct conntrack *ct, uint32_t first, uint32_t end)
{
    struct conn *conn;
    size_t n = 0, n_expected = 0;

    CMAP_FOR_EACH (conn, cm_node, &ct->conns) {
        n++;
    }
    for (uint32_t i = first; i < end; i++) {
        n_expected += 1 + is_natted(i);
    }
    ck_assert_uint_eq(n, n_expected);
    ck_assert_uint_eq(cmap_count(&ct->conns), n);
    for (uint32_t i = first; i < end; i++) {
        ck_assert(send_udp(ct, i, true) & CS_REPLY_DIR);
        ck_assert(!(send_udp(ct, i, false) & CS_NEW));
    }
    ck_assert_uint_eq(cmap_count(&ct->conns), n);
}

/* The table has room ahead of need. */
START_TEST(test_table_is_prepared)
{
    struct conntrack *ct = conntrack_init();
    uint32_t limit;

    conntrack_get_maxconns(ct, &limit);
    ck_assert(!cmap_has_room(&ct->conns, limit));
    prepare(ct, limit);
    ck_assert(cmap_has_room(&ct->conns, 2 * (size_t) limit));

    /* More are allowed; fewer. */
    conntrack_set_maxconns(ct, 2 * limit);
    ck_assert(!conntrack_table_is_ready(ct));
    prepare(ct, 2 * limit);
    ck_assert(cmap_has_room(&ct->conns, 4 * (size_t) limit));
    conntrack_set_maxconns(ct, limit);
    ck_assert(conntrack_table_is_ready(ct));
    conntrack_destroy(ct);
}
END_TEST

/* The limit changes just when the thread is about to sleep. */
START_TEST(test_table_is_wanted_at_bedtime)
{
    struct conntrack *ct = conntrack_init();

    for (uint32_t i = 0; i < 12; i++) {
        prepare(ct, 1000 << i);
    }
    conntrack_destroy(ct);
    ovsrcu_barrier();
}
END_TEST

/* No hold of the lock is about more connections than are meant, while others come
 * and go. */
START_TEST(test_table_grows_in_steps)
{
    enum { N_CONNS = 20000 };
    struct conntrack *ct = conntrack_init();
    uint32_t first = 0, end = 0;

    /* So far ahead that the thread that looks for expired connections, which
     * goes by the real clock, leaves them alone. */
    now = time_msec() + 1000LL * 1000 * 1000;
    prepare(ct, N_CONNS);
    while (end < N_CONNS) {
        send_udp(ct, end++, false);
    }
    for (uint32_t limit = 1000000; limit <= 16000000; limit *= 2) {
        uint64_t n_steps = conntrack_table_n_steps();
        long long int wait_end = time_msec() + WAIT_MAX_MS;

        conntrack_set_maxconns(ct, limit);
        conntrack_pool_run(ct);
        while (!conntrack_table_is_ready(ct)) {
            ck_assert_int_lt(time_msec(), wait_end);
            send_udp(ct, end++, false);
            remove_conn(ct, first++);
            ovsrcu_quiesce();
        }
        ck_assert_uint_ge(conntrack_table_n_steps() - n_steps,
                          N_CONNS / CONNTRACK_TABLE_STEP);
        check_table(ct, first, end);
    }
    conntrack_destroy(ct);
    ovsrcu_barrier();
}
END_TEST

/* It ends while it grows. */
START_TEST(test_table_is_destroyed)
{
    for (int i = 0; i < 20; i++) {
        struct conntrack *ct = conntrack_init();

        prepare(ct, 1000);
        for (uint32_t j = 0; j < 1000; j++) {
            send_udp(ct, j, false);
        }
        conntrack_set_maxconns(ct, 1000000);
        conntrack_pool_run(ct);
        xnanosleep(random_range(1000) * 1000);
        conntrack_destroy(ct);
    }
    ovsrcu_barrier();
}
END_TEST

/* How many connections have the same hash, where most have: a look-up for any of
 * them may pass them all. */
static size_t
longest_chain(struct conntrack *ct)
{
    size_t longest = 0;
    struct conn *conn;

    CMAP_FOR_EACH (conn, cm_node, &ct->conns) {
        const struct cmap_node *node;
        size_t n = 0;

        for (node = &conn->cm_node; node; node = cmap_node_next(node)) {
            n++;
        }
        longest = MAX(longest, n);
    }
    return longest;
}

/* Connections of an address and port to themselves, as anybody may begin for each
 * of his ports. */
START_TEST(test_to_itself)
{
    enum { N_PORTS = 3000 };
    struct conntrack *ct = conntrack_init();
    struct tuple t = { .ipv6 = _i, .nw_proto = IPPROTO_UDP };

    now = time_msec() + 1000LL * 1000 * 1000;
    if (t.ipv6) {
        t.src.s6_addr[0] = 0xfd;
        t.src.s6_addr[15] = 1;
    } else {
        in6_addr_set_mapped_ipv4(&t.src, htonl(0x0a000001));
    }
    t.dst = t.src;
    for (uint16_t port = 1; port <= N_PORTS; port++) {
        struct dp_packet_batch batch;
        struct dp_packet *p;

        t.tp_src = t.tp_dst = port;
        p = talk_compose(&t, NULL, 0);
        dp_packet_batch_init_packet(&batch, p);
        conntrack_execute(ct, &batch,
                          htons(t.ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP), false,
                          true, ZONE, NULL, NULL, 0, 0, NULL, NULL, now, 0);
        dp_packet_delete(p);
    }
    ck_assert_uint_eq(cmap_count(&ct->conns), N_PORTS);
    /* (Three of so many meet by chance once in a billion runs.) */
    ck_assert_uint_le(longest_chain(ct), 2);
    conntrack_destroy(ct);
    ovsrcu_barrier();
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-table");
    TCase *tc = tcase_create("conntrack-table");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, test_room);
    tcase_add_test(tc, test_room_empty);
    tcase_add_test(tc, test_room_large);
    tcase_add_test(tc, test_room_full);
    tcase_add_test(tc, test_table_is_prepared);
    tcase_add_loop_test(tc, test_table_is_wanted_at_bedtime, 0, 20);
    tcase_add_test(tc, test_table_grows_in_steps);
    tcase_add_test(tc, test_table_is_destroyed);
    tcase_add_loop_test(tc, test_to_itself, 0, 2);
    return test_run_nofork(s);
}

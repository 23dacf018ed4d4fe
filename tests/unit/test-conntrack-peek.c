/* SPDX-License-Identifier: Apache-2.0 */

/* Foreseen ct(): what other threads do between its steps, or before its
 * outcome is applied, is neither lost nor overlooked. */

#include <config.h>
#include <check.h>
#include "conntrack.h"
#include "conntrack-foresee.h"
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

enum { ZONE = 5 };

static struct conntrack *ct;
static long long int now;
static struct conntrack_peek peeks[2];
static struct dp_packet *packets[2];

/* Called when a connection was found and is about to be copied. */
static void (*meanwhile)(void);

__typeof__(ovs_mutex_lock_at) __real_ovs_mutex_lock_at;
__typeof__(ovs_mutex_lock_at) __wrap_ovs_mutex_lock_at;

void
__wrap_ovs_mutex_lock_at(const struct ovs_mutex *mutex, const char *where)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    void (*f)(void) = meanwhile;

    meanwhile = NULL;
    if (f) {
        f();
    }
    __real_ovs_mutex_lock_at(mutex, where);
}

/* Packets between two hosts. */

static const struct tuple *
tuple_of(uint16_t tp_src)
{
    static struct tuple t = { .nw_proto = IPPROTO_UDP, .tp_dst = 80 };

    in6_addr_set_mapped_ipv4(&t.src, htonl(0x0a000001));
    in6_addr_set_mapped_ipv4(&t.dst, htonl(0xc0a80001));
    t.tp_src = tp_src;
    return &t;
}

/* Makes the connection of packets from 'tp_src'. */
static struct conn *
create(uint16_t tp_src)
{
    struct dp_packet *p = talk_compose(tuple_of(tp_src), NULL, 0);
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(ct, &batch, htons(ETH_TYPE_IP), false, true, ZONE,
                      NULL, NULL, 0, 0, NULL, NULL, now, 0);
    struct conn *conn = p->md.conn;
    dp_packet_delete(p);
    return conn;
}

/* Foresees 'req' for a packet from port 1. */
static void
foresee(int i, const struct conntrack_peek_request *req)
{
    const struct tuple *t = tuple_of(1);

    packets[i] = talk_compose(t, NULL, 0);
    foresee_ct(&peeks[i], ct, packets[i], t, req, now);
}

static void
apply(int i)
{
    ck_assert(peeks[i].applicable);
    ck_assert(conntrack_peek_apply(&peeks[i]));
}

static void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    now = time_msec() + 1000LL * 1000 * 1000;
    ct = conntrack_init();
    /* Connections outside of the pool can't be referred to. */
    conntrack_pool_run(ct);
}

static void
teardown(void)
{
    for (int i = 0; i < 2; i++) {
        conntrack_peek_uninit(&peeks[i]);
        dp_packet_delete(packets[i]);
        packets[i] = NULL;
    }
    conntrack_destroy(ct);
    ovsrcu_barrier();
}

/* Who remembers the connection notices. */
static void
apply_and_notice(int i, struct conn *conn)
{
    struct conntrack_ref ref;

    ck_assert(conntrack_ref_init(&ref, conn));
    ck_assert(conntrack_ref_is_unmoved(conn, ref.version));
    apply(i);
    ck_assert(!conntrack_ref_is_valid(conn, ref.version));
    ck_assert(!conntrack_ref_is_unmoved(conn, ref.version));
}

/* One packet sets the mark, another one the label, foreseen before either has
 * come to be, applied in either order. */
START_TEST(test_mark_and_label)
{
    const struct conntrack_peek_request reqs[] = {
        { .zone = ZONE, .commit = true, .mark = 0x12, .mark_mask = 0xff },
        { .zone = ZONE, .commit = true, .label.u64.lo = 0x34,
          .label_mask.u64.lo = 0xff },
    };
    struct conn *conn = create(1);

    foresee(0, &reqs[0]);
    foresee(1, &reqs[1]);
    apply_and_notice(_i, conn);
    apply_and_notice(!_i, conn);
    ck_assert_uint_eq(conn->mark, 0x12);
    ck_assert_uint_eq(conn->label.u64.lo, 0x34);
}
END_TEST

static void
create_another(void)
{
    create(2);
}

/* Whether another one hides the connection that was found is not known when
 * one comes before there is a reference. */
START_TEST(test_hidden)
{
    const struct conntrack_peek_request req = { .zone = ZONE };

    create(1);
    foresee(0, &req);
    ck_assert(peeks[0].ordinary);
    create(3);
    meanwhile = create_another;
    foresee(1, &req);
    ck_assert_ptr_null(meanwhile);
    ck_assert(!peeks[1].ordinary);
}
END_TEST

/* One target, an IPv6 address, for an IPv4 packet: it gets the first bytes of
 * it, as from upstream's. */
START_TEST(test_address_of_other_family)
{
    struct nat_action_info_t nat = {
        .min_port = 8080, .max_port = 8080,
        .nat_action = NAT_ACTION_DST | NAT_ACTION_DST_PORT,
    };
    const struct conntrack_peek_request req = {
        .zone = ZONE, .commit = true, .nat = &nat,
    };
    union ct_addr expected = { .ipv6 = in6addr_any };

    memset(&nat.min_addr, 10, sizeof nat.min_addr);
    nat.max_addr = nat.min_addr;
    expected.ipv4 = nat.min_addr.ipv4;
    foresee(0, &req);
    const struct conn_key *key = &peeks[0].conns[0].up->rev_key;
    ck_assert_mem_eq(&key->src.addr, &expected, sizeof expected);
    ck_assert_uint_eq(ntohs(key->src.port), 8080);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-peek");
    TCase *tc = tcase_create("conntrack-peek");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_mark_and_label, 0, 2);
    tcase_add_test(tc, test_address_of_other_family);
    tcase_add_test(tc, test_hidden);
    return test_run_nofork(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* What may be kept of a walk, from what, and what is expected of its
 * connections. */

#include <config.h>
#undef NDEBUG

#include <check.h>

#include "conntrack-private.h"
#include "summary-world.h"
#include "test-run.h"

/* What the linker calls instead of upstream's library. */
__typeof__(ovs_mutex_lock_at) __real_ovs_mutex_lock_at;
__typeof__(ovs_mutex_lock_at) __wrap_ovs_mutex_lock_at;
__typeof__(ovs_mutex_unlock) __real_ovs_mutex_unlock;
__typeof__(ovs_mutex_unlock) __wrap_ovs_mutex_unlock;

/* Connections that get another mark, or label, as soon as somebody has locked
 * them, or has let them go. */
static struct conn *marked_before, *marked_after;
static bool by_label;

static void
mark_again(struct conn *conn)
{
    if (by_label) {
        conn->label.u64.lo++;
    } else {
        conn->mark++;
    }
}

void
__wrap_ovs_mutex_lock_at(const struct ovs_mutex *mutex, const char *where)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    __real_ovs_mutex_lock_at(mutex, where);
    if (marked_before && mutex == &marked_before->lock) {
        mark_again(marked_before);
    }
}

void
__wrap_ovs_mutex_unlock(const struct ovs_mutex *mutex)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    __real_ovs_mutex_unlock(mutex);
    if (marked_after && mutex == &marked_after->lock) {
        mark_again(marked_after);
    }
}

static void
setup_output(void)
{
    setup();
    put("7");
}

START_TEST(may_be_kept)
{
    walk.n_ports = ADP_WALK_MAX_PORTS;
    ck_assert(sum_up());
    ck_assert(adp_summary_may_be_kept(&sum));

    walk.n_ports++;
    ck_assert(!adp_summary_may_be_kept(&sum));
    walk.n_ports = 0;
    walk.tunnel_lost = true;
    ck_assert(!adp_summary_may_be_kept(&sum));
    walk.tunnel_lost = false;
    walk.verdict.n_learned = 1;
    ck_assert(!adp_summary_may_be_kept(&sum));
    walk.verdict.n_learned = 0;
    walk.verdict.hit_learned = true;
    ck_assert(!adp_summary_may_be_kept(&sum));
    walk.verdict.hit_learned = false;
    ck_assert(adp_summary_may_be_kept(&sum));
}
END_TEST

START_TEST(exceeds_cache)
{
    struct {
        size_t *n;
        size_t max;
    } counts[] = {
        { &walk.n_ports, ADP_WALK_MAX_PORTS },
        { &walk.n_tunnels, 1 },
        { &walk.n_lost, 1 },
        { &walk.ct.peek.n_conns, ADP_CACHED_VERDICT_MAX_CONNS },
        { &walk.verdict.n_learn_lookups, ADP_MAX_LEARN_LOOKUPS },
        { &walk.verdict.n_metadata_lookups, ADP_MAX_METADATA_LOOKUPS },
    };

    ck_assert(!adp_summary_exceeds_cache(&walk));
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        *counts[i].n = counts[i].max;
        ck_assert(!adp_summary_exceeds_cache(&walk));
        ++*counts[i].n;
        ck_assert(adp_summary_exceeds_cache(&walk));
        *counts[i].n = 0;
    }

    /* Tunnels that lead nowhere count like others. */
    walk.n_tunnels = walk.n_lost = 1;
    ck_assert(adp_summary_exceeds_cache(&walk));
    walk.n_tunnels = walk.n_lost = 0;

    /* All at once, of a verdict that isn't summed up. */
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        *counts[i].n = counts[i].max;
    }
    walk.n_lost = 0;
    walk.verdict.punt = ADP_PUNT_ACTION;
    ck_assert(!adp_summary_exceeds_cache(&walk));
}
END_TEST

START_TEST(source)
{
    struct adp_cached_verdict_source s;
    int places[4];

    walk.bridge = (struct adp_bridge *) &places[0];
    walk.program = (struct adp_program *) &places[1];
    walk.ports = (struct adp_ports *) &places[2];
    walk.ports_serial = UINT64_C(0x100000005);
    walk.verdict.hits = (struct adp_hit *) &places[3];
    walk.verdict.hits_hash = UINT64_C(0x200000006);
    for (size_t n = 0; n <= ADP_MAX_METADATA_LOOKUPS + 1; n++) {
        walk.verdict.n_metadata_lookups = n;
        walk.n_ports = n + 1;
        ck_assert(sum_up());
        memset(&s, 0xa5, sizeof s);
        adp_summary_source(&sum, &s);
        ck_assert_ptr_eq(s.bridge, walk.bridge);
        ck_assert_ptr_eq(s.program, walk.program);
        ck_assert_ptr_eq(s.ports, walk.ports);
        ck_assert_uint_eq(s.ports_serial, UINT64_C(0x100000005));
        ck_assert_ptr_eq(s.hits, walk.verdict.hits);
        ck_assert_uint_eq(s.hits_hash, UINT64_C(0x200000006));
        ck_assert_ptr_eq(s.lookups, walk.verdict.metadata_lookups);
        ck_assert_uint_eq(s.n_lookups, MIN(n, ADP_MAX_METADATA_LOOKUPS));
        ck_assert_ptr_null(s.actions);
        ck_assert_ptr_eq(s.consulted, walk.consulted);
        ck_assert_uint_eq(s.n_consulted, n + 1);
    }

    /* Actions that are left stand in the verdict, or where marks stand. */
    size_t size = walk.verdict.actions.size;
    put("8");
    ck_assert(sum_up());
    adp_summary_source(&sum, &s);
    ck_assert_ptr_eq(s.actions, walk.verdict.actions.data);
    begin();
    put("set(ipv4(ttl=63)),7,8");
    ck_assert(sum_up());
    adp_summary_source(&sum, &s);
    ck_assert_ptr_eq(s.actions, ofpbuf_at(&walk.verdict.actions,
                                          walk.verdict.actions.size - 2 * size,
                                          size));
    begin();
    put("set(skb_mark(0x1)),7");
    ck_assert(sum_up());
    adp_summary_source(&sum, &s);
    ck_assert_ptr_eq(s.actions, sum.with_metadata);
}
END_TEST

/* Connections. */

static struct conn real[CT_PEEK_MAX_CONNS], foreseen[CT_PEEK_MAX_CONNS];
static struct conntrack_ref refs[ADP_CACHED_VERDICT_MAX_CONNS];
static struct adp_cached_verdict_content content;

static void
setup_conns(void)
{
    setup();
    memset(real, 0, sizeof real);
    memset(foreseen, 0, sizeof foreseen);
    marked_before = marked_after = NULL;
    for (size_t i = 0; i < CT_PEEK_MAX_CONNS; i++) {
        struct conntrack_peek_conn *pc = &walk.ct.peek.conns[i];

        ovs_mutex_init(&real[i].lock);
        real[i].mark = foreseen[i].mark = 5 + i;
        real[i].label.u64.lo = foreseen[i].label.u64.lo = 7 + i;
        real[i].label.u64.hi = foreseen[i].label.u64.hi = 11 + i;
        pc->real = &real[i];
        pc->up = &foreseen[i];
        pc->ref = (struct conntrack_ref) { &real[i], 13 + i };
        pc->tracked = true;
        pc->reply = i & 1;
        pc->is_new = i == 0;
    }
}

static void
teardown_conns(void)
{
    for (size_t i = 0; i < CT_PEEK_MAX_CONNS; i++) {
        ovs_mutex_destroy(&real[i].lock);
    }
    teardown();
}

/* Of an ordinary packet with a ct() for each of 'n' connections. */
static void
begin_conns(size_t n)
{
    struct conntrack_peek *p = &walk.ct.peek;

    p->ordinary = true;
    p->n_steps = p->n_conns = n;
}

static bool
sum_up_conns(void)
{
    bool ok;

    memset(&content, 0, sizeof content);
    memset(refs, 0, sizeof refs);
    ok = adp_summary_conns(&content, &walk.ct.peek, refs);
    marked_before = marked_after = NULL;
    for (size_t i = 0; i < CT_PEEK_MAX_CONNS; i++) {
        ck_assert_int_eq(ovs_mutex_trylock(&real[i].lock), 0);
        ovs_mutex_unlock(&real[i].lock);
    }
    return ok;
}

START_TEST(conns)
{
    for (size_t n = 0; n <= ADP_CACHED_VERDICT_MAX_CONNS; n++) {
        struct adp_cached_verdict_content expected;

        begin_conns(n);
        ck_assert(sum_up_conns());
        memset(&expected, 0, sizeof expected);
        expected.n_conns = n;
        for (size_t i = 0; i < n; i++) {
            expected.conns[i].mark = 5 + i;
            expected.conns[i].label.u64.lo = 7 + i;
            expected.conns[i].label.u64.hi = 11 + i;
            expected.conns[i].reply = i & 1;
            expected.conns[i].is_new = i == 0;
            ck_assert_ptr_eq(refs[i].conn, &real[i]);
            ck_assert_uint_eq(refs[i].version, 13 + i);
        }
        ck_assert_mem_eq(&content, &expected, sizeof expected);
        for (size_t i = n; i < ADP_CACHED_VERDICT_MAX_CONNS; i++) {
            ck_assert_ptr_null(refs[i].conn);
        }
    }
    begin_conns(ADP_CACHED_VERDICT_MAX_CONNS + 1);
    ck_assert(!sum_up_conns());
}
END_TEST

/* What was set of the content before stays. */
START_TEST(conns_are_added)
{
    struct adp_cached_verdict_content before;

    put("set(ipv4(ttl=63)),7");
    ck_assert(sum_up());
    begin_conns(1);
    before = sum.content;
    ck_assert(adp_summary_conns(&sum.content, &walk.ct.peek, refs));
    ck_assert_uint_eq(sum.content.n_conns, 1);
    ck_assert_uint_eq(sum.content.conns[0].mark, 5);
    sum.content.n_conns = 0;
    memset(&sum.content.conns, 0, sizeof sum.content.conns);
    ck_assert_mem_eq(&sum.content, &before, sizeof before);
}
END_TEST

START_TEST(conns_with_nat)
{
    static const struct {
        uint16_t action;
        bool reply, natted;
        enum conntrack_nat nat;
    } cases[] = {
        { 0, false, true, CONNTRACK_NAT_NONE },
        { NAT_ACTION_SRC, false, true, CONNTRACK_NAT_SRC },
        { NAT_ACTION_SRC, true, true, CONNTRACK_NAT_DST },
        { NAT_ACTION_DST, false, true, CONNTRACK_NAT_DST },
        { NAT_ACTION_DST, true, true, CONNTRACK_NAT_SRC },
        { NAT_ACTION_DST, false, false, CONNTRACK_NAT_NONE },
        { NAT_ACTION_SRC, true, false, CONNTRACK_NAT_NONE },
    };

    begin_conns(2);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct conntrack_peek_conn *pc = &walk.ct.peek.conns[1];

        foreseen[1].nat_action = cases[i].action;
        pc->reply = cases[i].reply;
        pc->natted = cases[i].natted;
        ck_assert(sum_up_conns());
        ck_assert_uint_eq(content.conns[0].nat, CONNTRACK_NAT_NONE);
        ck_assert_uint_eq(content.conns[1].nat, cases[i].nat);
        ck_assert(content.conns[1].reply == cases[i].reply);
    }
}
END_TEST

/* Packets that come after this one may fare otherwise: each of three
 * connections may be why. */
START_TEST(conns_that_differ)
{
    struct conntrack_peek_conn *pc = &walk.ct.peek.conns[_i];

    begin_conns(3);
    ck_assert(sum_up_conns());

    pc->real = NULL;                    /* This one creates it. */
    ck_assert(!sum_up_conns());
    pc->real = &real[_i];
    pc->tracked = false;
    ck_assert(!sum_up_conns());
    pc->tracked = true;

    foreseen[_i].mark++;
    ck_assert(!sum_up_conns());
    foreseen[_i].mark--;
    foreseen[_i].label.u64.lo++;
    ck_assert(!sum_up_conns());
    foreseen[_i].label.u64.lo--;
    foreseen[_i].label.u64.hi++;
    ck_assert(!sum_up_conns());
    foreseen[_i].label.u64.hi--;

    /* Another packet marks it: before, or too late to matter here. */
    for (int i = 0; i < 2; i++) {
        by_label = i;
        marked_before = &real[_i];
        ck_assert(!sum_up_conns());
        real[_i].mark = foreseen[_i].mark;
        real[_i].label = foreseen[_i].label;
        marked_after = &real[_i];
        ck_assert(sum_up_conns());
        ck_assert_uint_eq(content.conns[_i].mark, foreseen[_i].mark);
        ck_assert(ovs_u128_equals(content.conns[_i].label,
                                  foreseen[_i].label));
        ck_assert(!sum_up_conns());
        real[_i].mark = foreseen[_i].mark;
        real[_i].label = foreseen[_i].label;
    }
    ck_assert(sum_up_conns());

    /* One that the verdict isn't about. */
    begin_conns(_i);
    pc->real = NULL;
    ck_assert(sum_up_conns());
}
END_TEST

/* There were ct()s, and not what they are like for all packets. */
START_TEST(steps_without_conns)
{
    struct conntrack_peek *p = &walk.ct.peek;

    begin_conns(1);
    p->ordinary = false;
    ck_assert(!sum_up_conns());
    begin_conns(1);
    p->n_conns = 0;
    ck_assert(!sum_up_conns());

    /* Without one it doesn't matter. */
    p->n_steps = 0;
    ck_assert(sum_up_conns());
    p->ordinary = false;
    ck_assert(sum_up_conns());
    ck_assert_uint_eq(content.n_conns, 0);

    /* More than one in a connection. */
    begin_conns(1);
    p->n_steps = CT_PEEK_MAX_STEPS;
    ck_assert(sum_up_conns());
    ck_assert_uint_eq(content.n_conns, 1);
}
END_TEST

static void
add_walks(Suite *s)
{
    TCase *tc = tcase_create("walks");

    tcase_add_checked_fixture(tc, setup_output, teardown);
    tcase_add_test(tc, may_be_kept);
    tcase_add_test(tc, exceeds_cache);
    tcase_add_test(tc, source);
    suite_add_tcase(s, tc);
}

static void
add_conns(Suite *s)
{
    TCase *tc = tcase_create("connections");

    tcase_add_checked_fixture(tc, setup_conns, teardown_conns);
    tcase_add_test(tc, conns);
    tcase_add_test(tc, conns_are_added);
    tcase_add_test(tc, conns_with_nat);
    tcase_add_loop_test(tc, conns_that_differ, 0,
                        ADP_CACHED_VERDICT_MAX_CONNS);
    tcase_add_test(tc, steps_without_conns);
    suite_add_tcase(s, tc);
}

int
main(void)
{
    Suite *s = suite_create("summary-kept");

    add_walks(s);
    add_conns(s);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* References to connections, and when packets needn't look at them. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include <sys/mman.h>
#include "conntrack-world.h"
#include "test-run.h"

/* The next packet of 'k' in a direction. */
static struct dp_packet *
next_of(struct talk *k, int wanted)
{
    struct dp_packet *p;
    struct segment s;
    int dir;

    while ((p = talk_next(k, &dir, &s)), dir != wanted) {
        dp_packet_delete(p);
    }
    return p;
}

/* A UDP connection without NAT. */
static bool
is_plain(const struct talk *k)
{
    return !k->tcp && !k->nat;
}

static struct talk *
plain_talk(struct world *w)
{
    struct talk *k = w->talks;

    while (!is_plain(k)) {
        k++;
    }
    return k;
}

/* A reference is good until the connection leaves the table, for each
 * connection that leaves, and a connection that has left gives no new one. */
START_TEST(test_reference)
{
    struct conntrack_ref ref;
    struct world w;
    struct conn *conn;
    bool reply;

    world_init(&w);
    for (int i = 0; i < N_TALKS; i++) {
        const struct request commit = { .commit = true };
        struct talk *k = &w.talks[i];
        struct dp_packet *p = next_of(k, 0);
        struct conn_key key;

        execute(w.ours, k, &commit, p, w.now);
        dp_packet_delete(p);

        key_init(&key, &k->tuples[0], k->zone);
        conn = find_conn(w.ours, &key, w.now, &reply);
        ck_assert(conn && !reply);
        ck_assert(conntrack_ref_init(&ref, conn));
        ck_assert(conntrack_ref_is_valid(ref.conn, ref.version));
        conntrack_flush(w.ours, &k->zone);
        ck_assert(!conntrack_ref_is_valid(ref.conn, ref.version));
        ck_assert(!conntrack_ref_init(&ref, conn));
        ovsrcu_quiesce();
    }
    world_uninit(&w);
}
END_TEST

/* Connections that come and go, in the same memory again and again, touch no
 * reference to others, and no reference of theirs ever holds again. */
START_TEST(test_references_of_others)
{
    enum { ROUNDS = 50, N_OTHERS = 20000, N_LIVING = 1000, ZONE = 1,
           OTHER_ZONE = 2 };
    static struct conntrack_ref living[N_LIVING], gone[N_OTHERS];
    struct tuple t = { .nw_proto = IPPROTO_UDP, .tp_src = 1, .tp_dst = 2 };
    struct talk k = { .zone = ZONE };
    const struct request commit = { .commit = true };
    int n_lost = 0, n_revived = 0, n_left = 0;
    struct world w;

    world_init(&w);
    in6_addr_set_mapped_ipv4(&t.dst, htonl(0xc0a80001));
    for (int round = 0; round <= ROUNDS; round++) {
        int n = round ? N_OTHERS : N_LIVING;

        for (int i = 0; i < n; i++) {
            struct conntrack_ref *ref = round ? &gone[i] : &living[i];

            in6_addr_set_mapped_ipv4(&t.src, htonl(0x0a000000 + i));
            struct dp_packet *p = talk_compose(&t, NULL, 0);
            k.zone = round ? OTHER_ZONE : ZONE;
            k.translated = t;
            execute(w.ours, &k, &commit, p, w.now);
            n_revived += (round > 1
                          && conntrack_ref_is_valid(ref->conn, ref->version));
            ck_assert(p->md.conn && conntrack_ref_init(ref, p->md.conn));
            dp_packet_delete(p);
        }
        if (round) {
            conntrack_flush(w.ours, &(uint16_t) { OTHER_ZONE });
            ovsrcu_barrier();           /* Their memory is free. */
            for (int i = 0; i < N_OTHERS; i++) {
                n_left += !conntrack_ref_is_valid(gone[i].conn,
                                                  gone[i].version);
            }
        }
    }
    for (int i = 0; i < N_LIVING; i++) {
        n_lost += !conntrack_ref_is_valid(living[i].conn, living[i].version);
    }
    printf("%d connections left, %d references to %d others lost\n", n_left,
           n_lost, N_LIVING);
    ck_assert_int_eq(n_left, ROUNDS * N_OTHERS);
    ck_assert_int_eq(n_lost, 0);
    ck_assert_int_eq(n_revived, 0);
    world_uninit(&w);
}
END_TEST

static void
track_next(struct world *w, struct talk *k, int dir)
{
    const struct request commit = { .commit = !dir };
    struct dp_packet *p = next_of(k, dir);

    execute(w->ours, k, &commit, p, w->now);
    remember(w, k, dir, p);
    dp_packet_delete(p);
}

/* What conntrack_track_commit() says of the connection of the next one. */
static bool
commit_next(struct world *w, struct talk *k)
{
    struct memo *memo = memo_of(w, k, 0);
    struct dp_packet *p = next_of(k, 0);
    struct conntrack_step step;

    ck_assert(conntrack_track_check(w->ours, memo->ref.conn, &memo->expect, p,
                                    k->tuples[0].nw_proto, w->now, &step));
    dp_packet_delete(p);
    return conntrack_track_commit(w->ours, &step, &w->clock);
}

static void
set_timeouts(struct world *w, unsigned int seconds)
{
    struct timeout_policy tp = { .policy.id = 0 };

    for (int i = 0; i < CT_DPIF_TP_ATTR_MAX; i++) {
        tp.policy.attrs[i] = seconds;
        tp.policy.present |= 1 << i;
    }
    timeout_policy_update(w->ours, &tp);
    conntrack_clock_init(&w->clock, w->now);
}

/* A connection is settled that no packet can change, and that stays. */
START_TEST(test_settled)
{
    struct world w;
    int n_udp = 0;

    world_init(&w);
    for (int i = 0; i < N_TALKS; i++) {
        struct talk *k = &w.talks[i];

        if (!is_plain(k)) {
            continue;
        }
        n_udp++;
        track_next(&w, k, 0);
        track_next(&w, k, 0);
        /* Not before there was an answer. */
        ck_assert(!commit_next(&w, k));
        track_next(&w, k, 1);
        track_next(&w, k, 0);
        ck_assert(commit_next(&w, k));
    }
    ck_assert_int_gt(n_udp, N_TALKS / N_KINDS);

    /* Where timeouts are short, each packet counts. */
    for (unsigned int seconds = 9; seconds <= 10; seconds++) {
        set_timeouts(&w, seconds);
        for (int i = 0; i < N_TALKS; i++) {
            struct talk *k = &w.talks[i];

            ck_assert(!is_plain(k)
                      || commit_next(&w, k) == (seconds == 10));
        }
    }
    world_uninit(&w);
}
END_TEST

/* Memory that lies ready for connections lies ready for their versions. */
START_TEST(test_versions_are_there)
{
    const size_t page_size = get_page_size();
    unsigned char resident = 0;
    struct world w;

    world_init(&w);
    wait_until(conntrack_pool_bytes() >= 8 << 20);
    size_t n = (conntrack_pool_bytes()
                / (CONNTRACK_POOL_SLOT + sizeof(uint32_t)));
    char *last = (char *) &conntrack_versions.versions[n - 2];
    last -= (uintptr_t) last % page_size;
    ck_assert_int_eq(mincore(last, page_size, &resident), 0);
    ck_assert(resident & 1);
    world_uninit(&w);
}
END_TEST

/* Its version says of a connection that it isn't any more what it was: in its
 * own line, and in the copy. */
static void
expect_moved(struct conntrack_ref *ref, const char *why)
{
    uint32_t version;

    ck_assert_msg(!conntrack_ref_is_valid(ref->conn, ref->version), "%s", why);
    ck_assert_msg(!conntrack_ref_is_unmoved(ref->conn, ref->version), "%s",
                  why);
    atomic_read_relaxed(&ref->conn->version, &version);
    ck_assert(conntrack_ref_is_unmoved(ref->conn, version));
    ref->version = version;
}

START_TEST(test_moved)
{
    const struct request of_reply = { .commit = true, .force = true };
    struct request r = { .commit = true };
    struct world w;

    world_init(&w);
    struct talk *k = plain_talk(&w);
    track_next(&w, k, 0);
    track_next(&w, k, 1);
    struct conntrack_ref ref = memo_of(&w, k, 1)->ref;
    ck_assert(conntrack_ref_is_unmoved(ref.conn, ref.version));

    for (int value = 0; value < 3; value++) {
        struct dp_packet *p = next_of(k, 0);

        /* The second time it is what it is already. */
        r.set_mark = value == 1;
        r.set_label = value == 2;
        r.mark[0] = r.mark[1] = 5;
        r.label[0].ct_labels[12] = r.label[1].ct_labels[12] = 5;
        for (int again = 0; again < 2; again++) {
            execute(w.ours, k, &r, p, w.now);
            if (!again && value) {
                expect_moved(&ref, value == 1 ? "mark" : "label");
            }
            ck_assert(conntrack_ref_is_valid(ref.conn, ref.version));
            ck_assert(conntrack_ref_is_unmoved(ref.conn, ref.version));
        }
        dp_packet_delete(p);
    }

    /* Committed by force from the other side, where nothing comes in its
     * place. */
    conntrack_set_maxconns(w.ours, 1);
    struct dp_packet *p = next_of(k, 1);
    execute(w.ours, k, &of_reply, p, w.now);
    dp_packet_delete(p);
    expect_moved(&ref, "force");
    world_uninit(&w);
}
END_TEST

/* Somebody else lets it expire between check and commit: what is in force is
 * his, and each packet is looked at. */
START_TEST(test_expires_between)
{
    struct conntrack_step step;
    struct world w;

    world_init(&w);
    struct talk *k = plain_talk(&w);
    track_next(&w, k, 0);
    track_next(&w, k, 1);
    track_next(&w, k, 0);
    struct memo *memo = memo_of(&w, k, 0);
    struct dp_packet *p = next_of(k, 0);
    w.now++;
    conntrack_clock_init(&w.clock, w.now);
    for (int expires = 0; expires < 2; expires++) {
        ck_assert(conntrack_track_check(w.ours, memo->ref.conn, &memo->expect,
                                        p, IPPROTO_UDP, w.now, &step));
        if (expires) {
            w.now++;
            conntrack_clock_init(&w.clock, w.now);
            atomic_store_relaxed(&memo->ref.conn->expiration, w.now);
        }
        ck_assert(conntrack_track_commit(w.ours, &step, &w.clock)
                  == !expires);
    }
    dp_packet_delete(p);
    world_uninit(&w);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-ref");
    TCase *tc = tcase_create("conntrack-ref");

    suite_add_tcase(s, tc);
    tcase_add_unchecked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, test_versions_are_there);
    tcase_add_test(tc, test_reference);
    tcase_add_test(tc, test_references_of_others);
    tcase_add_test(tc, test_settled);
    tcase_add_test(tc, test_moved);
    tcase_add_test(tc, test_expires_between);
    return test_run_nofork(s);
}

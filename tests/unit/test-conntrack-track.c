/* SPDX-License-Identifier: Apache-2.0 */

/* Tracking without a look-up against conntrack_execute().
 *
 * The same random packets go through two connection trackers: through 'stock'
 * by conntrack_execute(), through 'ours' by conntrack_track_*() whenever that
 * agrees, as a cached verdict would do it.  After each packet both must have
 * given the same answer, and must know the same connections. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include "conntrack-world.h"
#include "test-run.h"

/* As in conntrack-tcp.c, where they are private. */
struct tcp_peer {
    uint32_t seqlo, seqhi;
    uint16_t max_win;
    uint8_t wscale;
    enum ct_dpif_tcp_state state;
};

struct conn_tcp {
    struct conn up;
    struct tcp_peer peer[2];
};

static void
request_init(struct request *r, const struct talk *k, int dir)
{
    memset(r, 0, sizeof *r);
    r->commit = (dir == 0 || !k->nat) && !one_in(6);
    r->force = r->commit && one_in(60);
    if (r->commit && one_in(30)) {
        r->set_mark = true;
        r->mark[1] = 0xff;
        r->mark[0] = random_range(3);
    }
    if (r->commit && one_in(30)) {
        r->set_label = true;
        r->label[1].ct_labels[12] = 0xff;
        r->label[0].ct_labels[12] = random_range(3);
    }
}

static void
compare_tcp(const struct conn *a_, const struct conn *b_)
{
    const struct conn_tcp *a = CONTAINER_OF(a_, struct conn_tcp, up);
    const struct conn_tcp *b = CONTAINER_OF(b_, struct conn_tcp, up);
    struct ct_dpif_protoinfo info;

    ct_proto_tcp.conn_get_protoinfo(a_, &info);
    for (int i = 0; i < 2; i++) {
        const struct tcp_peer *pa = &a->peer[i], *pb = &b->peer[i];

        /* The structure above is the right one. */
        ck_assert(pa->state == (i ? info.tcp.state_reply : info.tcp.state_orig));
        ck_assert(pa->state == pb->state);
        ck_assert(pa->seqlo == pb->seqlo);
        ck_assert(pa->seqhi == pb->seqhi);
        ck_assert(pa->max_win == pb->max_win);
        ck_assert(pa->wscale == pb->wscale);
    }
}

static void
compare_conns(const struct conn *a, const struct conn *b)
{
    long long int expires_a, expires_b;

    atomic_read_relaxed(&CONST_CAST(struct conn *, a)->expiration, &expires_a);
    atomic_read_relaxed(&CONST_CAST(struct conn *, b)->expiration, &expires_b);
    /* 'b' may not have been looked at for the last packets. */
    ck_assert(expires_a >= expires_b
              && expires_a - expires_b < CONNTRACK_SETTLED_MS);
    ck_assert(keys_equal(&a->rev_key, &b->rev_key));
    ck_assert(a->nat_action == b->nat_action);
    ck_assert(a->mark == b->mark);
    ck_assert(ovs_u128_equals(a->label, b->label));
    ck_assert(a->tp_id == b->tp_id);
    if (a->key.nw_proto == IPPROTO_TCP) {
        compare_tcp(a, b);
    }
}

static int
count_live(struct conntrack *ct, long long int now)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    const struct conn *conn;
    int n = 0;

    FOR_EACH_CONN (conn, ct) {
        n += is_live(conn, now);
    }
    return n;
}

static void
compare_tables(const struct world *w)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct conn *conn;
    bool reply;

    FOR_EACH_CONN (conn, w->stock) {
        if (is_live(conn, w->now)) {
            struct conn *other = find_conn(w->ours, &conn->key, w->now,
                                           &reply);

            ck_assert(other && !reply);
            compare_conns(conn, other);
        }
    }
    ck_assert(count_live(w->stock, w->now) == count_live(w->ours, w->now));
}

/* What a dump shows, too. */
static void
compare_dumps(const struct world *w)
{
    struct conntrack_dump dump;
    struct ct_dpif_entry entry;
    int n[2] = { 0, 0 }, n_buckets;

    for (int i = 0; i < 2; i++) {
        conntrack_dump_start(i ? w->ours : w->stock, &dump, NULL, &n_buckets);
        while (!conntrack_dump_next(&dump, &entry)) {
            ct_dpif_entry_uninit(&entry);
            n[i]++;
        }
        conntrack_dump_done(&dump);
    }
    ck_assert(n[0] == n[1]);
}

/* Tracking. */

static bool
is_ordinary(const struct segment *s)
{
    return (s->flags & TCP_ACK
            && !(s->flags & ~(TCP_ACK | TCP_PSH | TCP_ECE | TCP_CWR)));
}

/* True if no reason but the packet's numbers speaks against the fast way. */
static bool
may_be_fast(struct world *w, const struct talk *k, int dir,
            const struct segment *s)
{
    const struct memo *memo = memo_of(w, k, dir);
    const struct conn *conn = memo->ref.conn;
    struct ct_dpif_protoinfo info;

    if (!memo->valid || !conntrack_ref_is_valid(memo->ref.conn,
                                                memo->ref.version)
        || !is_live(conn, w->now) || memo->expect.is_new
        || conn->mark != memo->expect.mark
        || !ovs_u128_equals(conn->label, memo->expect.label)) {
        return false;
    }
    if (!k->tcp) {
        return true;
    }
    ct_proto_tcp.conn_get_protoinfo(conn, &info);
    return (is_ordinary(s)
            && info.tcp.state_orig == CT_DPIF_TCPS_ESTABLISHED
            && info.tcp.state_reply == CT_DPIF_TCPS_ESTABLISHED);
}

static void
translate(struct dp_packet *p, const struct tuple *t, const struct memo *memo)
{
    const struct conntrack_expect *e = &memo->expect;
    const struct conn_key *key = conntrack_track_nat_key(memo->ref.conn,
                                                         e->reply);
    const bool src = e->nat == CONNTRACK_NAT_SRC;
    const union ct_addr *new = src ? &key->dst.addr : &key->src.addr;

    if (t->ipv6) {
        struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(p);

        packet_set_ipv6_addr(p, t->nw_proto, src ? ip6->ip6_src.be32
                             : ip6->ip6_dst.be32, &new->ipv6, true);
    } else {
        struct ip_header *ip = dp_packet_l3(p);

        packet_set_ipv4_addr(p, src ? &ip->ip_src : &ip->ip_dst, new->ipv4);
    }
    if (t->nw_proto == IPPROTO_TCP) {
        packet_set_tcp_port(p, key->dst.port, key->src.port);
    } else {
        packet_set_udp_port(p, key->dst.port, key->src.port);
    }
}

/* True if a packet with right checksums needs nothing. */
static bool
is_settled(const struct world *w, const struct memo *memo)
{
    return (w->now < memo->settled_until
            && conntrack_ref_is_unmoved(memo->ref.conn, memo->ref.version));
}

/* Notes a packet that was tracked. */
static void
note_tracked(struct world *w, struct memo *memo, bool settled)
{
    memo->settled_until = settled ? w->now + CONNTRACK_SETTLED_MS : 0;
}

/* As a cached verdict does it.  Returns false if the packet has to be
 * executed. */
static bool
track(struct world *w, const struct talk *k, int dir, struct dp_packet *p)
{
    const struct tuple *t = &k->tuples[dir];
    struct memo *memo = memo_of(w, k, dir);
    struct conntrack_step step;

    if (!memo->valid) {
        return false;
    }
    if (!conntrack_ref_is_valid(memo->ref.conn, memo->ref.version)) {
        ck_assert(!conntrack_ref_is_unmoved(memo->ref.conn,
                                            memo->ref.version));
        memo->valid = false;
        w->n_gone++;
        return false;
    }
    conntrack_ref_prefetch(memo->ref.conn);
    conntrack_track_prefetch(memo->ref.conn);
    if (!conntrack_checksums_are_valid(p, t->ipv6, t->nw_proto)) {
        w->n_refused[k->tcp]++;
        return false;
    }
    if (is_settled(w, memo)) {
        w->n_settled++;
    } else if (!conntrack_track_check(w->ours, memo->ref.conn, &memo->expect, p,
                                  t->nw_proto, w->now, &step)) {
        w->n_refused[k->tcp]++;
        return false;
    } else {
        note_tracked(w, memo, conntrack_track_commit(w->ours, &step,
                                                     &w->clock));
    }
    if (memo->expect.nat) {
        translate(p, t, memo);
    }
    return true;
}

/* What stock said about a packet that was tracked must be what the session
 * expected. */
static void
check_answer(const struct conntrack_expect *expect,
             const struct dp_packet *stock)
{
    uint8_t state = stock->md.ct_state & ~(CS_SRC_NAT | CS_DST_NAT);

    ck_assert(state == (CS_TRACKED | (expect->is_new ? CS_NEW : CS_ESTABLISHED)
                        | (expect->reply ? CS_REPLY_DIR : 0)));
    ck_assert(stock->md.ct_mark == expect->mark);
    ck_assert(ovs_u128_equals(stock->md.ct_label, expect->label));
}

static void
compare_packets(const struct dp_packet *a, const struct dp_packet *b)
{
    ck_assert(dp_packet_size(a) == dp_packet_size(b));
    ck_assert(!memcmp(dp_packet_data(a), dp_packet_data(b), dp_packet_size(a)));
}

static void
pass(struct world *w, const struct talk *k, int dir, const struct segment *s,
     struct dp_packet *p)
{
    struct dp_packet *q = dp_packet_clone(p);
    bool must = may_be_fast(w, k, dir, s);
    struct request r;

    request_init(&r, k, dir);
    execute(w->stock, k, &r, p, w->now);
    bool est = p->md.ct_state & CS_ESTABLISHED;
    if (!r.set_mark && !r.set_label && !r.force && track(w, k, dir, q)) {
        check_answer(&memo_of(w, k, dir)->expect, p);
        w->n_fast++;
        w->n_fast_new += !est;
        w->n_natted += k->nat;
    } else {
        ck_assert(r.set_mark || r.set_label || r.force || !must || !est);
        execute(w->ours, k, &r, q, w->now);
        ck_assert(q->md.ct_state == p->md.ct_state);
        ck_assert(q->md.ct_zone == p->md.ct_zone);
        ck_assert(q->md.ct_mark == p->md.ct_mark);
        ck_assert(ovs_u128_equals(q->md.ct_label, p->md.ct_label));
        remember(w, k, dir, q);
    }
    w->n_est += est;
    compare_packets(p, q);
    dp_packet_delete(p);
    dp_packet_delete(q);
}

/* Events that touch more than one connection. */

static void
flush(struct world *w)
{
    uint16_t zone = random_range(N_TALKS / N_KINDS);
    const uint16_t *zonep = one_in(2) ? &zone : NULL;

    conntrack_flush(w->stock, zonep);
    conntrack_flush(w->ours, zonep);
}

static void
change_timeouts(struct world *w)
{
    struct timeout_policy tp;

    memset(&tp, 0, sizeof tp);
    tp.policy.id = 0;
    for (int i = 0; i < CT_DPIF_TP_ATTR_MAX; i++) {
        tp.policy.attrs[i] = 30 + random_range(300);
        tp.policy.present |= 1 << i;
    }
    timeout_policy_update(w->stock, &tp);
    timeout_policy_update(w->ours, &tp);
    conntrack_clock_init(&w->clock, w->now);
    /* For who is settled it would be as if it had come so much later. */
    for (int i = 0; i < N_TALKS; i++) {
        w->memos[i][0].settled_until = w->memos[i][1].settled_until = 0;
    }
}

static void
check_sequences(struct world *w)
{
    bool check = one_in(2);

    conntrack_set_tcp_seq_chk(w->stock, check);
    conntrack_set_tcp_seq_chk(w->ours, check);
}

/* True if some connection is expired in 'ours' alone. */
static bool
expires_now(const struct world *w)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct conn *conn;
    bool reply;

    FOR_EACH_CONN (conn, w->stock) {
        if (is_live(conn, w->now)
            && !find_conn(w->ours, &conn->key, w->now, &reply)) {
            return true;
        }
    }
    return false;
}

static void
pass_time(struct world *w)
{
    w->now += (one_in(200) ? random_range(400 * 1000)
               : one_in(20) ? random_range(40 * 1000) : random_range(50));
    while (expires_now(w)) {
        w->now++;
    }
    conntrack_clock_init(&w->clock, w->now);
}

static void
event(struct world *w)
{
    if (one_in(300)) {
        flush(w);
    } else if (one_in(300)) {
        change_timeouts(w);
    } else if (one_in(300)) {
        check_sequences(w);
    } else if (one_in(3)) {
        pass_time(w);
    }
    if (one_in(50)) {
        ovsrcu_quiesce();       /* What was flushed is freed. */
    }
}

static void
step(struct world *w)
{
    struct talk *k = &w->talks[random_range(N_TALKS)];
    struct segment s;
    int dir;

    if (one_in(150)) {
        talk_restart(k);
    }
    struct dp_packet *p = (one_in(8) ? talk_odd(k, &dir, &s)
                           : talk_next(k, &dir, &s));
    pass(w, k, dir, &s, p);
}

START_TEST(test_against_execute)
{
    enum { N = 60000 };
    struct world w;

    world_init(&w);
    for (int i = 0; i < N; i++) {
        event(&w);
        step(&w);
        compare_tables(&w);
        if (i % 500 == 0) {
            compare_dumps(&w);
        }
    }
    printf("%d packets, %d established: %d without look-up, %d of them new, "
           "%d settled, %d refused (TCP %d), %d connections gone\n", N, w.n_est,
           w.n_fast, w.n_fast_new, w.n_settled, w.n_refused[0] + w.n_refused[1], w.n_refused[1],
           w.n_gone);
    ck_assert_int_gt(w.n_est, N / 3);
    ck_assert_int_gt(w.n_fast, w.n_est / 2);
    ck_assert_int_gt(w.n_fast_new, N / 1000);
    ck_assert_int_gt(w.n_settled, N / 20);
    ck_assert_int_gt(w.n_natted, N / 20);
    ck_assert_int_gt(w.n_refused[0], N / 100);
    ck_assert_int_gt(w.n_refused[1], N / 100);
    ck_assert_int_gt(w.n_gone, N / 1000);
    world_uninit(&w);
}
END_TEST

/* Checksums. */

/* Makes the checksum 0, which is as good as 0xffff. */
static void
make_csum_zero(struct dp_packet *p, const struct tuple *t)
{
    uint8_t *payload = dp_packet_l4(p);
    ovs_be16 word = 0;

    payload += t->nw_proto == IPPROTO_TCP ? TCP_HEADER_LEN : UDP_HEADER_LEN;
    memcpy(payload, &word, sizeof word);
    word = talk_compute_csum(p, t);
    memcpy(payload, &word, sizeof word);
    ck_assert_uint_eq(talk_compute_csum(p, t), 0);
    *talk_csum_field(p, t) = one_in(2) ? 0 : htons(0xffff);
}

/* Changes a byte that conntrack looks at for its checksum's sake alone. */
static void
spoil(struct dp_packet *p, const struct tuple *t)
{
    size_t l3_ofs = p->l3_ofs, l4_ofs = p->l4_ofs;
    size_t end = dp_packet_size(p) - dp_packet_l2_pad_size(p);
    uint8_t *data = dp_packet_data(p);
    size_t i;

    switch (random_range(t->ipv6 ? 4 : 5)) {
    case 0:                     /* Last byte. */
        i = end - 1;
        break;
    case 1:                     /* Checksum. */
        i = (uint8_t *) talk_csum_field(p, t) - data + random_range(2);
        break;
    case 2:                     /* TTL or hop limit, or an address. */
        i = l3_ofs + (t->ipv6 ? 7 + random_range(33) : 12 + random_range(8));
        break;
    case 3:                     /* Payload or, if there is none, padding. */
        i = l4_ofs + (t->nw_proto == IPPROTO_TCP ? TCP_HEADER_LEN
                      : UDP_HEADER_LEN);
        i += random_range(MAX(1, dp_packet_size(p) - i));
        break;
    default:                    /* Checksum of IPv4. */
        i = l3_ofs + 10 + random_range(2);
        break;
    }
    if (i < dp_packet_size(p)
        && (t->nw_proto != IPPROTO_UDP || i != l4_ofs + 4)) {
        data[i] ^= 1 << random_range(8);
    }
}

static void
random_offloads(struct dp_packet *p)
{
    static const uint32_t flags[] = {
        DP_PACKET_OL_RX_L4_CKSUM_BAD, DP_PACKET_OL_RX_L4_CKSUM_GOOD,
        DP_PACKET_OL_RX_IP_CKSUM_BAD, DP_PACKET_OL_RX_IP_CKSUM_GOOD,
        DP_PACKET_OL_RX_L4_CKSUM_MASK, DP_PACKET_OL_RX_IP_CKSUM_MASK,
    };

    *dp_packet_ol_flags_ptr(p) |= flags[random_range(ARRAY_SIZE(flags))];
    if (one_in(4)) {
        dp_packet_hwol_set_tx_ipv4(p);
    }
    if (one_in(4)) {
        dp_packet_hwol_set_csum_tcp(p);
    }
}

START_TEST(test_checksums)
{
    enum { N = 60000 };
    const struct request no_commit = { .commit = false };
    int n_valid = 0, n_zero = 0, n_offloads = 0;
    struct world w;

    world_init(&w);
    for (int i = 0; i < N; i++) {
        struct talk *k = &w.talks[random_range(N_TALKS)];
        const struct tuple *t = &k->tuples[0];
        const struct segment syn = { .flags = TCP_SYN, .wscale = -1 };
        size_t payload_len = (one_in(30) ? random_range(9000)
                              : random_range(40));
        struct dp_packet *p = talk_compose(t, &syn, payload_len);

        if (payload_len >= 2 && one_in(10)) {
            make_csum_zero(p, t);
            n_zero++;
        } else if (one_in(20)) {
            *talk_csum_field(p, t) = 0;
        }
        if (one_in(2)) {
            spoil(p, t);
        }
        if (one_in(8)) {
            random_offloads(p);
            n_offloads++;
        }

        bool valid = conntrack_checksums_are_valid(p, t->ipv6, t->nw_proto);
        execute(w.stock, k, &no_commit, p, w.now);
        ck_assert(p->md.ct_state == CS_TRACKED + (valid ? CS_NEW : CS_INVALID));
        n_valid += valid;
        dp_packet_delete(p);
    }
    ck_assert_int_gt(n_valid, N / 3);
    ck_assert_int_lt(n_valid, N - N / 4);
    ck_assert_int_gt(n_zero, N / 20);
    ck_assert_int_gt(n_offloads, N / 20);
    world_uninit(&w);
}
END_TEST

/* The peer ends the connection between check and commit, in another thread:
 * the connection must not live on for as long as an established one. */
START_TEST(test_closed_between)
{
    const struct request commit = { .commit = true };
    struct segment rst = { .flags = TCP_RST | TCP_ACK, .wscale = -1 };
    struct conntrack_expect expect = { .reply = false };
    long long int expiration;
    struct conntrack_step step;
    struct conntrack_ref ref;
    struct conn_key key;
    struct dp_packet *p;
    struct segment s;
    struct world w;
    bool reply;
    int dir;

    world_init(&w);
    struct talk *k = &w.talks[1];
    while (k->phase < 3) {
        p = talk_next(k, &dir, &s);
        execute(w.ours, k, &commit, p, w.now);
        dp_packet_delete(p);
    }
    key_init(&key, &k->tuples[0], k->zone);
    ck_assert(conntrack_ref_init(&ref, find_conn(w.ours, &key, w.now,
                                                 &reply)));

    while ((p = talk_next(k, &dir, &s)), dir || s.flags & TCP_FIN) {
        dp_packet_delete(p);
    }
    k->ends[0].seq = s.seq;
    ck_assert(conntrack_track_check(w.ours, ref.conn, &expect, p, IPPROTO_TCP,
                                    w.now, &step));
    rst.seq = k->ends[1].seq;
    rst.ack = k->ends[0].seq;
    struct dp_packet *q = talk_compose(&k->tuples[1], &rst, 0);
    execute(w.ours, k, &commit, q, w.now);
    atomic_read_relaxed(&ref.conn->expiration, &expiration);
    long long int before = expiration - w.now;
    conntrack_track_commit(w.ours, &step, &w.clock);
    atomic_read_relaxed(&ref.conn->expiration, &expiration);
    ck_assert_int_le(expiration - w.now, before);
    dp_packet_delete(p);
    dp_packet_delete(q);
    world_uninit(&w);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-track");
    TCase *tc = tcase_create("conntrack-track");

    suite_add_tcase(s, tc);
    tcase_add_unchecked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, test_against_execute);
    tcase_add_test(tc, test_closed_between);
    tcase_add_test(tc, test_checksums);
    return test_run_nofork(s);
}

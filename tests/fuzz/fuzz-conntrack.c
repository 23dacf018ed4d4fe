/* SPDX-License-Identifier: Apache-2.0 */

/* The conntrack binding against conntrack_execute(): NAT, fragments, ICMP
 * errors, FTP and TFTP, SCTP.
 *
 * Input: a program.  Each step is a packet between a few ports of a few hosts,
 * with one to three ct()s for it, or time that passes, or another setting.
 *
 * The same packets go through two connection trackers, through 'stock' by
 * conntrack_execute().  For 'ours' adp_ct_ask() predicts, and what it has
 * foreseen is applied (conntrack_peek_apply()), or tracked without a look-up,
 * as packets of sessions are, or executed; what it has not is executed, as
 * punted packets are.
 *
 * Must hold: predictions are what execution does to the packet and to its
 * metadata; in the end both trackers know the same connections. */

#include <config.h>
#undef NDEBUG
#include "ct-packet.h"
#include "fuzz.h"

#include <netinet/in.h>
#include <sched.h>
#include "adp-ct.h"
#include "conntrack.h"
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "conntrack-table.h"
#include "conntrack-tp.h"
#include "dp-packet.h"
#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "random.h"
#include "svec.h"
#include "timeval.h"

const long int fuzz_runs = 5000;

enum { MAX_STEPS = 64, MAX_CTS = 3, N_MEMOS = 64 };

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

/* One ct(). */
struct ct {
    uint16_t zone;
    bool commit, force, clear;  /* ct_clear before it. */
    uint8_t nat;                /* 0: none, 1: plain, otherwise a choice. */
    uint8_t helper;             /* 0: none, 1: FTP, 2: TFTP. */
    uint8_t mark, label;        /* 0: not set. */
    uint8_t rewrite;            /* Sets the destination before it. */
};

/* What a session would have kept, of the packets of 'ends' with 'cts'. */
struct memo {
    bool valid;
    struct ends ends;
    struct ct cts[MAX_CTS];
    size_t n_cts, n_conns;
    struct conntrack_ref refs[CT_PEEK_MAX_CONNS];
    struct conntrack_expect expects[CT_PEEK_MAX_CONNS];
    struct flow flow;           /* After it. */
};

static struct conntrack *stock, *ours;
static long long int now = 1000LL * 1000 * 1000 * 1000 * 1000;
static struct memo memos[N_MEMOS];
static struct conntrack_clock ct_clock;
static struct timeout_policy default_timeouts;

/* For people: what ways packets took. */
static unsigned long long int n_packets, n_punted, n_applied, n_executed;
static unsigned long long int n_tracked;

/* The clock of the threads that look for expired connections, which may wake up
 * at any time: one that ct(force) has ended, whose time is 0, stays, too. */
long long int __wrap_time_msec(void);
void __wrap_poll_timer_wait_until_at(long long int when, const char *where);

long long int
__wrap_time_msec(void)
{
    return -1;
}

/* By that clock it is always later than what they wait for, so they wait until
 * they are told to end. */
void
__wrap_poll_timer_wait_until_at(long long int when OVS_UNUSED,
                                const char *where OVS_UNUSED)
{
}

/* ct(). */

static void
choose_ct(struct ct *ct, struct fuzz_input *in)
{
    uint8_t a = fuzz_u8(in), b = fuzz_u8(in);

    memset(ct, 0, sizeof *ct);
    ct->zone = 1 + (a & 1);
    ct->commit = a & 2;
    ct->nat = a & 4 ? 1 + (a >> 4 & 7) : 0;
    if (!ct->commit) {
        ct->nat = MIN(ct->nat, 1);
    }
    if (b & 1) {
        ct->mark = b >> 4;
        ct->label = b >> 3 & 3;
    } else if ((b & 7) == 2) {
        ct->helper = ct->commit ? 1 + (b >> 4 & 1) : 0;
    } else if ((b & 7) == 4) {
        ct->rewrite = b >> 3;
    } else if ((b & 15) == 14) {
        ct->clear = true;
    }
    ct->force = ct->commit && (a & 0x88) == 0x88;
    if (!ct->commit) {
        ct->mark = ct->label = 0;
    }
}

/* What NAT 'choice' says, for both. */
static void
choose_nat(uint8_t choice, bool ipv6, struct nat_action_info_t *nat,
           struct ofpact_nat *spec)
{
    struct in6_addr min = ct_packet_host(ipv6, choice % 3);
    struct in6_addr max = ct_packet_host(ipv6, choice & 1 ? choice % 3
                                       : N_HOSTS);
    bool src = choice < 5, port = choice & 2;

    memset(nat, 0, sizeof *nat);
    memset(spec, 0, sizeof *spec);
    if (choice < 2) {
        return;
    }
    nat->nat_action = src ? NAT_ACTION_SRC : NAT_ACTION_DST;
    spec->flags = src ? NX_NAT_F_SRC : NX_NAT_F_DST;
    if (ipv6) {
        spec->range_af = AF_INET6;
        nat->min_addr.ipv6 = spec->range.addr.ipv6.min = min;
        nat->max_addr.ipv6 = spec->range.addr.ipv6.max = max;
    } else {
        spec->range_af = AF_INET;
        nat->min_addr.ipv4 = spec->range.addr.ipv4.min
            = in6_addr_get_mapped_ipv4(&min);
        nat->max_addr.ipv4 = spec->range.addr.ipv4.max
            = in6_addr_get_mapped_ipv4(&max);
    }
    if (port) {
        nat->nat_action |= src ? NAT_ACTION_SRC_PORT : NAT_ACTION_DST_PORT;
        nat->min_port = spec->range.proto.min = 8080;
        nat->max_port = spec->range.proto.max = choice & 4 ? 8080 : 8082;
    }
}

/* Sets the destination of the packet, as actions do, which only set what
 * differs. */
static void
rewrite(struct dp_packet *p, uint8_t how)
{
    struct flow flow;

    flow_extract(p, &flow);

    struct in6_addr dst = ct_packet_host(flow.dl_type == htons(ETH_TYPE_IPV6),
                                       how & 3);
    ovs_be16 port = htons(ct_packet_ports[how >> 2 & 7]);

    if (flow.dl_type == htons(ETH_TYPE_IPV6)) {
        struct in6_addr src = flow.ipv6_src;

        packet_set_ipv6(p, &src, &dst, flow.nw_tos, flow.ipv6_label,
                        flow.nw_ttl);
    } else {
        packet_set_ipv4(p, flow.nw_src, in6_addr_get_mapped_ipv4(&dst),
                        flow.nw_tos, flow.nw_ttl);
    }
    if (flow.tp_dst == port) {
        return;
    } else if (flow.nw_proto == IPPROTO_TCP && dp_packet_get_tcp_payload(p)) {
        packet_set_tcp_port(p, flow.tp_src, port);
    } else if (flow.nw_proto == IPPROTO_UDP && dp_packet_get_udp_payload(p)) {
        packet_set_udp_port(p, flow.tp_src, port);
    }
}

/* Executes 'ct'.  Returns false if the packet was kept. */
static bool
execute(struct conntrack *tracker, const struct ct *ct, bool ipv6,
        struct dp_packet *p)
{
    uint32_t mark[2] = { ct->mark, 0xf };
    struct ovs_key_ct_labels label[2];
    ovs_u128 bits[2] = { { .u64.lo = ct->label }, { .u64.lo = 3 } };
    struct nat_action_info_t nat;
    struct dp_packet_batch batch;
    struct ofpact_nat spec;
    bool kept = true;

    BUILD_ASSERT(sizeof label == sizeof bits);
    memcpy(label, bits, sizeof label);
    choose_nat(ct->nat, ipv6, &nat, &spec);
    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(tracker, &batch,
                      ipv6 ? htons(ETH_TYPE_IPV6) : htons(ETH_TYPE_IP),
                      ct->force, ct->commit, ct->zone,
                      ct->mark ? mark : NULL, ct->label ? label : NULL, 0, 0,
                      ct->helper == 1 ? "ftp" : ct->helper ? "tftp" : NULL,
                      ct->nat ? &nat : NULL, now, 0);

    /* What was held back before may come along. */
    struct dp_packet *other;
    DP_PACKET_BATCH_FOR_EACH (i, other, &batch) {
        if (other == p) {
            kept = false;
        } else {
            dp_packet_delete(other);
        }
    }
    return !kept;
}

/* Both ways of a packet through its ct()s. */

/* A flow's part that ct() has a say in. */
static void
require_same_flow(const struct flow *a, const struct flow *b)
{
    fuzz_require(a->ct_state == b->ct_state);
    fuzz_require(a->ct_zone == b->ct_zone);
    fuzz_require(a->ct_mark == b->ct_mark);
    fuzz_require(ovs_u128_equals(a->ct_label, b->ct_label));
    fuzz_require(a->ct_nw_proto == b->ct_nw_proto);
    fuzz_require(a->ct_nw_src == b->ct_nw_src);
    fuzz_require(a->ct_nw_dst == b->ct_nw_dst);
    fuzz_require(a->ct_tp_src == b->ct_tp_src);
    fuzz_require(a->ct_tp_dst == b->ct_tp_dst);
    fuzz_require(ipv6_addr_equals(&a->ct_ipv6_src, &b->ct_ipv6_src));
    fuzz_require(ipv6_addr_equals(&a->ct_ipv6_dst, &b->ct_ipv6_dst));
    fuzz_require(a->nw_src == b->nw_src);
    fuzz_require(a->nw_dst == b->nw_dst);
    fuzz_require(ipv6_addr_equals(&a->ipv6_src, &b->ipv6_src));
    fuzz_require(ipv6_addr_equals(&a->ipv6_dst, &b->ipv6_dst));
    fuzz_require(a->tp_src == b->tp_src);
    fuzz_require(a->tp_dst == b->tp_dst);
}

/* Executes 'cts' on 'p'.  Returns how many were, before the packet was kept,
 * and what it looked like after each. */
static size_t
execute_all(struct conntrack *tracker, const struct ct cts[], size_t n_cts,
            bool ipv6, struct dp_packet *p, struct flow flows[])
{
    size_t i;

    for (i = 0; i < n_cts; i++) {
        if (cts[i].clear) {
            conntrack_clear(p);
        }
        if (cts[i].rewrite) {
            rewrite(p, cts[i].rewrite);
        }
        if (!execute(tracker, &cts[i], ipv6, p)) {
            break;
        }
        flow_extract(p, &flows[i]);
    }
    return i;
}

/* As what decide() does with set_field. */
static bool
rewrite_flow(struct flow *flow, uint8_t how)
{
    bool ipv6 = flow->dl_type == htons(ETH_TYPE_IPV6);
    struct in6_addr dst = ct_packet_host(ipv6, how & 3);
    struct flow old = *flow;

    if (ipv6) {
        flow->ipv6_dst = dst;
    } else {
        flow->nw_dst = in6_addr_get_mapped_ipv4(&dst);
    }
    if (flow->nw_proto == IPPROTO_TCP || flow->nw_proto == IPPROTO_UDP) {
        flow->tp_dst = htons(ct_packet_ports[how >> 2 & 7]);
    }
    return !flow_equal(&old, flow);
}

static bool
predict(struct adp_ct *ct, const struct ct cts[], size_t n_cts,
        struct flow *flow, struct flow flows[])
{
    bool ipv6 = flow->dl_type == htons(ETH_TYPE_IPV6);

    for (size_t i = 0; i < n_cts; i++) {
        struct nat_action_info_t nat;
        struct ofpact_nat spec;
        struct adp_ct_request req = {
            .zone = cts[i].zone,
            .commit = cts[i].commit,
            .force = cts[i].force,
            .nat = cts[i].nat != 0,
            .nat_spec = cts[i].nat ? &spec : NULL,
            .alg = (cts[i].helper == 1 ? IPPORT_FTP
                    : cts[i].helper ? IPPORT_TFTP : 0),
            .mark = cts[i].mark,
            .mark_mask = cts[i].mark ? 0xf : 0,
            .label = { .u64.lo = cts[i].label },
            .label_mask = { .u64.lo = cts[i].label ? 3 : 0 },
        };

        choose_nat(cts[i].nat, ipv6, &nat, &spec);
        req.nat_action = spec.flags;
        if (cts[i].clear) {
            flow->ct_state = 0;
        }
        if (cts[i].rewrite) {
            req.rewritten = rewrite_flow(flow, cts[i].rewrite);
        }
        if (adp_ct_ask(ct, &req, flow)) {
            return false;
        }
        flows[i] = *flow;
    }
    return true;
}

static struct memo *
find_memo(const struct ends *e, const struct ct cts[], size_t n_cts)
{
    uint32_t hash = hash_bytes(e, sizeof *e, n_cts);
    struct memo *m = &memos[hash_bytes(cts, n_cts * sizeof *cts, hash)
                            % N_MEMOS];

    if (memcmp(&m->ends, e, sizeof *e) || m->n_cts != n_cts
        || memcmp(m->cts, cts, n_cts * sizeof *cts)) {
        memset(m, 0, sizeof *m);
        m->ends = *e;
        m->n_cts = n_cts;
        memcpy(m->cts, cts, n_cts * sizeof *cts);
    }
    return m;
}

/* As adp_summary_conns() has it. */
static void
remember(struct memo *m, const struct adp_ct *ct, const struct flow *flow)
{
    const struct conntrack_peek *p = &ct->peek;

    m->valid = false;
    if (!p->ordinary || !p->n_conns
        || (m->ends.proto != IPPROTO_TCP && m->ends.proto != IPPROTO_UDP)) {
        return;
    }
    for (size_t i = 0; i < p->n_conns; i++) {
        const struct conntrack_peek_conn *pc = &p->conns[i];

        if (!pc->real || !pc->tracked || pc->up->mark != pc->real->mark
            || !ovs_u128_equals(pc->up->label, pc->real->label)) {
            return;
        }
        m->expects[i] = (struct conntrack_expect) {
            .mark = pc->up->mark,
            .label = pc->up->label,
            .reply = pc->reply,
            .is_new = pc->is_new,
        };
        m->refs[i] = pc->ref;
    }
    m->n_conns = p->n_conns;
    m->flow = *flow;
    m->valid = true;
}

/* As packets of sessions are tracked: in all connections, or in none. */
static bool
track(struct memo *m, struct dp_packet *p)
{
    struct conntrack_step steps[CT_PEEK_MAX_CONNS];
    bool ordinary = true;
    size_t i;

    if (!m->valid
        || !conntrack_checksums_are_valid(p, m->ends.ipv6, m->ends.proto)) {
        return false;
    }
    for (i = 0; i < m->n_conns; i++) {
        if (!conntrack_ref_is_valid(m->refs[i].conn, m->refs[i].version)) {
            m->valid = false;
            return false;
        }
        ordinary = (ordinary
                    && conntrack_track_check(ours, m->refs[i].conn,
                                             &m->expects[i], p, m->ends.proto,
                                             now, &steps[i]));
    }
    for (i = 0; ordinary && i < m->n_conns; i++) {
        conntrack_track_commit(ours, &steps[i], &ct_clock);
    }
    for (i = 0; !ordinary && i < m->n_conns; i++) {
        if (!conntrack_track_predict(ours, m->refs[i].conn, &m->expects[i], p,
                                     now)) {
            return false;
        }
    }
    for (i = 0; !ordinary && i < m->n_conns; i++) {
        conntrack_track_update(ours, m->refs[i].conn, m->expects[i].reply, p,
                               now);
    }
    n_tracked++;
    return true;
}

static bool
has_session_key(const struct dp_packet *p, const struct flow *flow)
{
    return (!flow->nw_frag
            && ((flow->nw_proto == IPPROTO_TCP
                 && dp_packet_l4_size(p) >= TCP_HEADER_LEN)
                || (flow->nw_proto == IPPROTO_UDP
                    && dp_packet_l4_size(p) >= UDP_HEADER_LEN)));
}

/* For who looks into a finding. */
static bool tells;

static void
tell(const char *what, const struct flow flows[], size_t n)
{
    for (size_t i = 0; tells && i < n; i++) {
        fprintf(stderr, "  %s: ", what);
        flow_print(stderr, &flows[i], NULL);
        fputc('\n', stderr);
    }
}

static void
tell_step(const struct ends *e, uint8_t nw_frag, const struct ct cts[],
          size_t n_cts)
{
    if (tells) {
        fprintf(stderr, "proto %d ipv6 %d %d:%d -> %d:%d fragment %d\n",
                e->proto, e->ipv6, e->src, e->tp_src, e->dst, e->tp_dst,
                nw_frag);
    }
    for (size_t i = 0; tells && i < n_cts; i++) {
        const struct ct *ct = &cts[i];

        fprintf(stderr, "  ct zone %d%s%s%s nat %d helper %d mark %d label %d "
                "rewrite %d\n", ct->zone, ct->commit ? " commit" : "",
                ct->force ? " force" : "", ct->clear ? " after clear" : "",
                ct->nat, ct->helper, ct->mark, ct->label, ct->rewrite);
    }
}

static void
compare_packets(const struct dp_packet *a, const struct dp_packet *b)
{
    size_t size = dp_packet_size(a);

    fuzz_require(size == dp_packet_size(b));
    if (memcmp(dp_packet_data(a), dp_packet_data(b), size)) {
        ovs_hex_dump(stderr, dp_packet_data(a), size, 0, true);
        ovs_hex_dump(stderr, dp_packet_data(b), size, 0, true);
        fuzz_require(!"the packets are the same");
    }
}

static void
pass(const struct ends *e, const struct ct cts[], size_t n_cts,
     struct dp_packet *composed)
{
    struct flow done[MAX_CTS], foreseen[MAX_CTS], flow;
    struct memo *m = find_memo(e, cts, n_cts);
    bool ftp = false;
    struct adp_ct ct;

    for (size_t i = 0; i < n_cts; i++) {
        ftp = ftp || cts[i].helper == 1;
    }

    struct dp_packet *p = ct_packet_copy(composed, e, ftp);
    struct dp_packet *q = ct_packet_copy(composed, e, ftp);

    dp_packet_delete(composed);
    memset(&ct, 0, sizeof ct);
    flow_extract(p, &flow);
    flow_extract(q, &flow);
    tell_step(e, flow.nw_frag, cts, n_cts);
    n_packets++;

    struct flow walked = flow;
    bool tracked = has_session_key(q, &flow) && track(m, q), known = false;
    if (!tracked) {
        adp_ct_init(&ct, ours, q, now);
        known = (!flow.nw_frag
                 && predict(&ct, cts, n_cts, &walked, foreseen));
    }

    /* With a verdict, fragments neither come in nor out. */
    bool old = conntrack_bypass_fragments(tracked || known);
    size_t n_done = execute_all(stock, cts, n_cts, e->ipv6, p, done);
    conntrack_bypass_fragments(old);
    tell("stock", done, n_done);

    if (tracked) {
        fuzz_require(n_done == n_cts);
        require_same_flow(&done[n_cts - 1], &m->flow);
        dp_packet_delete(p);
        dp_packet_delete(q);
        return;
    }

    if (known) {
        tell("foreseen", foreseen, n_cts);
        fuzz_require(n_done == n_cts);
        for (size_t i = 0; i < n_cts; i++) {
            require_same_flow(&done[i], &foreseen[i]);
        }
        if (ct.peek.applicable && conntrack_peek_apply(&ct.peek)) {
            n_applied++;
            remember(m, &ct, &walked);
            goto out;
        }
    }

    conntrack_bypass_fragments(known);
    size_t n = execute_all(ours, cts, n_cts, e->ipv6, q, foreseen);
    conntrack_bypass_fragments(old);
    n_executed += known;
    n_punted += !known;
    fuzz_require(n == n_done);
    if (n < n_cts) {
        p = q = NULL;           /* Kept. */
    } else {
        for (size_t i = 0; i < n_cts; i++) {
            require_same_flow(&done[i], &foreseen[i]);
        }
        compare_packets(p, q);
        if (known) {
            remember(m, &ct, &walked);
        }
    }
out:
    conntrack_peek_uninit(&ct.peek);
    dp_packet_delete(p);
    dp_packet_delete(q);
}

/* Connections. */

static void
format_key(struct ds *s, const struct conn_key *key)
{
    ds_put_hex(s, &key->src, sizeof key->src);
    ds_put_char(s, ' ');
    ds_put_hex(s, &key->dst, sizeof key->dst);
    ds_put_format(s, " %x %d %d", key->dl_type, key->nw_proto, key->zone);
}

static char *
describe(struct conn *conn)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    long long int expiration;

    atomic_read_relaxed(&conn->expiration, &expiration);
    format_key(&s, &conn->key);
    ds_put_cstr(&s, " / ");
    format_key(&s, &conn->rev_key);
    ds_put_format(&s, " expires %lld mark %x label %"PRIx64" nat %d tp %d "
                  "alg %s%s skew %d %d", expiration - now, conn->mark,
                  conn->label.u64.lo, conn->nat_action, conn->tp_id,
                  conn->alg ? conn->alg : "", conn->alg_related ? " rel" : "",
                  conn->seq_skew, conn->seq_skew_dir);
    if (conn->key.nw_proto == IPPROTO_TCP) {
        const struct conn_tcp *tcp = CONTAINER_OF(conn, struct conn_tcp, up);

        for (int i = 0; i < 2; i++) {
            ds_put_format(&s, " tcp %d %u %u %u %d", tcp->peer[i].state,
                          tcp->peer[i].seqlo, tcp->peer[i].seqhi,
                          tcp->peer[i].max_win, tcp->peer[i].wscale);
        }
    }
    return ds_steal_cstr(&s);
}

static char *
list_conns(struct conntrack *tracker) OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct svec lines = SVEC_EMPTY_INITIALIZER;
    struct conntrack_dump dump;
    struct ct_dpif_entry entry;
    struct conn *conn;
    int n_buckets;

    for (size_t i = 0; i < N_EXP_LISTS; i++) {
        RCULIST_FOR_EACH (conn, node, &tracker->exp_lists[i]) {
            long long int expiration;

            atomic_read_relaxed(&conn->expiration, &expiration);
            if (conn->conn_type == CT_CONN_TYPE_DEFAULT && now < expiration) {
                svec_add_nocopy(&lines, describe(conn));
            }
        }
    }
    conntrack_dump_start(tracker, &dump, NULL, &n_buckets);
    while (!conntrack_dump_next(&dump, &entry)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        entry.timeout = 0;
        entry.id = 0;
        ct_dpif_format_entry(&entry, &s, true, false);
        svec_add_nocopy(&lines, ds_steal_cstr(&s));
        ct_dpif_entry_uninit(&entry);
    }
    conntrack_dump_done(&dump);
    svec_sort(&lines);

    char *all = svec_join(&lines, "\n", "\n");
    svec_destroy(&lines);
    return all;
}

static void
compare_tables(void)
{
    char *a = list_conns(stock), *b = list_conns(ours);

    if (strcmp(a, b)) {
        fprintf(stderr, "stock:\n%sours:\n%s", a, b);
        fuzz_require(!strcmp(a, b));
    }
    free(a);
    free(b);
}

/* Everything else. */

static void
open_trackers(void)
{
    /* NAT chooses by the hash. */
    random_set_seed(1);
    stock = conntrack_init();
    random_set_seed(1);
    ours = conntrack_init();
    fuzz_require(stock->hash_basis == ours->hash_basis);

    const struct timeout_policy *tp = timeout_policy_get(stock, 0);
    fuzz_require(tp);
    default_timeouts = *tp;
    conntrack_set_maxconns(stock, 2048);
    conntrack_set_maxconns(ours, 2048);
    conntrack_pool_run(ours);
    while (!conntrack_table_is_ready(ours)) {
        ovsrcu_quiesce();
        sched_yield();
    }
}

static void
close_trackers(void)
{
    conntrack_destroy(stock);
    conntrack_destroy(ours);
}

static void
reset_tracker(struct conntrack *tracker)
{
    conntrack_flush(tracker, NULL);
    conntrack_set_tcp_seq_chk(tracker, true);
    for (uint16_t zone = 1; zone <= 2; zone++) {
        zone_limit_delete(tracker, zone);
    }
    timeout_policy_update(tracker, &default_timeouts);
}

static void
set_timeouts(uint8_t how)
{
    struct timeout_policy tp;

    memset(&tp, 0, sizeof tp);
    for (int i = 0; i < CT_DPIF_TP_ATTR_MAX; i++) {
        tp.policy.attrs[i] = 30 + how % 7 * 20 + i;
        tp.policy.present |= 1 << i;
    }
    timeout_policy_update(stock, &tp);
    timeout_policy_update(ours, &tp);
}

static void
set_something(struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    uint16_t zone = 1 + (how >> 4 & 1);

    switch (how & 7) {
    case 0: {
        uint16_t *zonep = how & 0x80 ? &zone : NULL;

        conntrack_flush(stock, zonep);
        conntrack_flush(ours, zonep);
        break;
    }
    case 1:
        conntrack_set_tcp_seq_chk(stock, how & 0x80);
        conntrack_set_tcp_seq_chk(ours, how & 0x80);
        break;
    case 2:
        set_timeouts(how >> 3);
        break;
    case 3:
        zone_limit_update(stock, zone, how >> 5);
        zone_limit_update(ours, zone, how >> 5);
        break;
    default:
        now += (how & 0x80 ? 1000LL << (how >> 3 & 15) : how);
        break;
    }
    conntrack_clock_init(&ct_clock, now);
}

static void
step(struct fuzz_input *in)
{
    uint8_t op = fuzz_u8(in);

    if (op >= 0xe0) {
        set_something(in);
    } else {
        size_t n_cts = 1 + (op < 0x40 ? 0 : op % MAX_CTS);
        struct ct cts[MAX_CTS];
        struct ends ends;

        for (size_t i = 0; i < n_cts; i++) {
            choose_ct(&cts[i], in);
        }

        struct dp_packet *p = ct_packet_compose(&ends, in);
        pass(&ends, cts, n_cts, p);
    }
}

static void
finish(void)
{
    close_trackers();
    ovsrcu_barrier();
    fprintf(stderr, "%llu packets: %llu tracked, %llu applied, %llu executed "
            "as foreseen, %llu not foreseen\n", n_packets, n_tracked,
            n_applied, n_executed, n_punted);
}

int
LLVMFuzzerInitialize(int *argc OVS_UNUSED, char ***argv OVS_UNUSED)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    fuzz_leave_signals();
    open_trackers();
    atexit(finish);
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool compares = getenv("FUZZ_COMPARE") != NULL;
    struct fuzz_input in = { data, size };

    random_set_seed(1);
    memset(memos, 0, sizeof memos);
    tells = getenv("FUZZ_TELL") != NULL;
    /* What is left of fragments has expired. */
    now += 1000LL * 1000 * 1000;
    ct_packet_next_input();
    conntrack_clock_init(&ct_clock, now);
    for (int i = 0; i < MAX_STEPS && in.n; i++) {
        step(&in);
        if (compares) {
            compare_tables();
        }
    }
    compare_tables();
    reset_tracker(stock);
    reset_tracker(ours);
    ovsrcu_quiesce();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_FAST_WORLD_H
#define TESTS_FAST_WORLD_H 1

/* The world of test-fast*: a bridge, its program and ports, a thread's cache
 * with one session and its verdict, and conntrack and the datapath as functions
 * that say what the test wants them to, and note what they were called for. */

#include <check.h>
#include <netinet/in.h>

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-credit.h"
#include "adp-fast.h"
#include "adp-flow-cache.h"
#include "adp-refuse.h"
#include "adp-rewrite.h"
#include "adp-sample.h"
#include "adp-tunnel.h"
#include "credit-nobody.h"
#include "engine.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "ovs-rcu.h"
#include "random.h"
#include "talk.h"
#include "util.h"

enum {
    MAX_CONNS = ADP_CACHED_VERDICT_MAX_CONNS,
    INGRESS = 3,
    OUTPUT = 7,
    TABLE = 0,
    PRIORITY = 50,
    GROUP = 9,
    A_PORT = 4,
    MARK = 5,
    NOW = 1000000,
};

/* What the linker calls instead of upstream's library. */
__typeof__(conntrack_checksums_are_valid) __wrap_conntrack_checksums_are_valid;
__typeof__(conntrack_clock_init) __wrap_conntrack_clock_init;
__typeof__(conntrack_track_prefetch) __wrap_conntrack_track_prefetch;
__typeof__(conntrack_track_check) __wrap_conntrack_track_check;
__typeof__(conntrack_track_commit) __wrap_conntrack_track_commit;
__typeof__(conntrack_track_predict) __wrap_conntrack_track_predict;
__typeof__(conntrack_track_update) __wrap_conntrack_track_update;
__typeof__(dp_pmd_conntrack) __wrap_dp_pmd_conntrack;
__typeof__(dp_pmd_now_ms) __wrap_dp_pmd_now_ms;
__typeof__(dp_pmd_send) __wrap_dp_pmd_send;
__typeof__(dp_pmd_send_into_tunnel) __wrap_dp_pmd_send_into_tunnel;
__typeof__(dp_pmd_send_train) __wrap_dp_pmd_send_train;
__typeof__(dp_pmd_execute) __wrap_dp_pmd_execute;
__typeof__(dp_pmd_meter) __wrap_dp_pmd_meter;

/* What is there: a bridge, its program and ports, the thread's cache, and one
 * session with its verdict. */
static struct adp_bridge *bridge, *other_bridge;
static struct adp_program *program;
static struct adp_ports ports[2];
static struct adp_flow_cache cache;
static struct adp_cached_verdict *verdict;
static struct adp_session *session;
static struct tuple tuple;
static struct segment segment;
static struct adp_fast fast;

static long long int now_ms;

/* The thread and its connection tracker, which nobody looks into. */
static struct dp_netdev_pmd_thread *const a_pmd = (void *) &fast.packets[0];
static struct conntrack *const a_tracker = (void *) &fast.packets[1];

/* Conntrack. */

static union {
    struct conn conn;
    char slot[CONNTRACK_POOL_SLOT];     /* As in the pool. */
} conns[MAX_CONNS];
static atomic_uint32_t versions[MAX_CONNS];
static struct {
    bool is_ordinary, is_predicted;     /* What it says of the packet. */
    bool is_settled;                    /* And of the connection then. */
    int n_committed, n_updated;
} tracked[MAX_CONNS];
static bool checksums_are_valid;
/* But for these packets, or NULL. */
static const struct dp_packet *unusual_packet, *spoiled_packet;

static size_t
index_of(const struct conn *conn)
{
    size_t ofs = (const char *) conn - conns[0].slot;

    ck_assert(ofs < sizeof conns && ofs % sizeof conns[0] == 0);
    return ofs / sizeof conns[0];
}

bool
__wrap_conntrack_checksums_are_valid(struct dp_packet *p,
                                     bool ipv6, uint8_t nw_proto)
{
    ck_assert(ipv6 == tuple.ipv6 && nw_proto == tuple.nw_proto);
    return checksums_are_valid && p != spoiled_packet;
}

void
__wrap_conntrack_clock_init(struct conntrack_clock *clock,
                            long long int now)
{
    clock->now = now;
}

static unsigned int prefetched;         /* Connections, a bit each. */

void
__wrap_conntrack_track_prefetch(const struct conn *conn)
{
    prefetched |= 1 << index_of(conn);
}

static void
check_expectation(const struct conn *conn,
                  const struct conntrack_expect *expect)
{
    ck_assert_uint_eq(expect->mark, MARK + index_of(conn));
}

bool
__wrap_conntrack_track_check(struct conntrack *ct,
                             struct conn *conn,
                             const struct conntrack_expect *expect,
                             struct dp_packet *p, uint8_t nw_proto,
                             long long int now, struct conntrack_step *step)
{
    ck_assert_ptr_eq(ct, a_tracker);
    check_expectation(conn, expect);
    ck_assert_uint_eq(nw_proto, tuple.nw_proto);
    ck_assert_int_eq(now, now_ms);
    step->conn = conn;
    return tracked[index_of(conn)].is_ordinary && p != unusual_packet;
}

bool
__wrap_conntrack_track_commit(struct conntrack *ct,
                              const struct conntrack_step *step,
                              struct conntrack_clock *clock)
{
    ck_assert_ptr_eq(ct, a_tracker);
    ck_assert_int_eq(clock->now, now_ms);
    tracked[index_of(step->conn)].n_committed++;
    return tracked[index_of(step->conn)].is_settled;
}

bool
__wrap_conntrack_track_predict(struct conntrack *ct,
                               struct conn *conn,
                               const struct conntrack_expect *expect,
                               struct dp_packet *p OVS_UNUSED,
                               long long int now)
{
    ck_assert_ptr_eq(ct, a_tracker);
    check_expectation(conn, expect);
    ck_assert_int_eq(now, now_ms);
    return tracked[index_of(conn)].is_predicted;
}

void
__wrap_conntrack_track_update(struct conntrack *ct,
                              struct conn *conn,
                              bool reply, struct dp_packet *p OVS_UNUSED,
                              long long int now)
{
    ck_assert_ptr_eq(ct, a_tracker);
    ck_assert_int_eq(now, now_ms);
    ck_assert(reply == (index_of(conn) & 1));
    tracked[index_of(conn)].n_updated++;
}

/* The datapath. */

/* What became of packets, in the order in which it happened. */
static struct {
    size_t n_packets;           /* In one batch. */
    odp_port_t port;            /* Sent there, or ODPP_NONE: executed. */
    const struct nlattr *push;  /* The header that was put before, or NULL. */
    const void *actions;
    size_t actions_len;
} done[NETDEV_MAX_BURST];
static size_t n_done;
static struct dp_packet *last_packet;
static const struct dp_packet *sent[NETDEV_MAX_BURST];  /* May be gone. */
static size_t n_sent;

struct conntrack *
__wrap_dp_pmd_conntrack(const struct dp_netdev_pmd_thread *pmd)
{
    ck_assert_ptr_eq(pmd, a_pmd);
    return a_tracker;
}

long long int
__wrap_dp_pmd_now_ms(const struct dp_netdev_pmd_thread *pmd)
{
    ck_assert_ptr_eq(pmd, a_pmd);
    return now_ms;
}

static void
keep_last(struct dp_packet *p)
{
    dp_packet_delete(last_packet);
    last_packet = p;
}

enum { METER = 77 };
static bool meter_drops;
static size_t n_metered;

bool
__wrap_dp_pmd_meter(struct dp_netdev_pmd_thread *pmd, struct dp_packet *p,
                    uint32_t meter_id)
{
    ck_assert_ptr_eq(pmd, a_pmd);
    ck_assert_uint_eq(meter_id, METER);
    n_metered++;
    if (meter_drops) {
        dp_packet_delete(p);
    }
    return !meter_drops;
}

void
__wrap_dp_pmd_send_train(struct dp_netdev_pmd_thread *pmd,
                         struct dp_pmd_tx_cache *tx,
                         struct dp_packet *const packets[], size_t n,
                         odp_port_t port)
{
    ck_assert_ptr_eq(pmd, a_pmd);
    ck_assert(is_all_zeros(tx, sizeof *tx));
    for (size_t i = 0; i < n; i++) {
        sent[n_sent++] = packets[i];
        keep_last(packets[i]);
    }
    done[n_done].n_packets = n;
    done[n_done].push = NULL;
    done[n_done++].port = port;
}

void
__wrap_dp_pmd_send(struct dp_netdev_pmd_thread *pmd,
                   struct dp_pmd_tx_cache *tx, struct dp_packet *p,
                   odp_port_t port)
{
    __wrap_dp_pmd_send_train(pmd, tx, &p, 1, port);
}

void
__wrap_dp_pmd_send_into_tunnel(struct dp_netdev_pmd_thread *pmd,
                               struct dp_pmd_tx_cache *tx,
                               struct dp_packet *p, const struct nlattr *push,
                               odp_port_t port)
{
    __wrap_dp_pmd_send(pmd, tx, p, port);
    done[n_done - 1].push = push;
}

void
__wrap_dp_pmd_execute(struct dp_netdev_pmd_thread *pmd,
                      struct dp_packet_batch *batch, const struct flow *flow,
                      const struct nlattr *actions, size_t actions_len)
{
    struct dp_packet *p;

    ck_assert_ptr_eq(pmd, a_pmd);
    ck_assert_ptr_nonnull(flow);
    done[n_done].n_packets = dp_packet_batch_size(batch);
    done[n_done].port = ODPP_NONE;
    done[n_done].push = NULL;
    done[n_done].actions = actions;
    done[n_done++].actions_len = actions_len;
    DP_PACKET_BATCH_FOR_EACH (i, p, batch) {
        keep_last(p);
    }
}

/* What else the code under test knows. */

static struct adp_tunnel_actions tunnel_actions[2];
static const struct adp_tunnel_actions *present_actions;    /* NULL: none. */
static int a_tunnel;

const struct adp_tunnel_actions *
adp_tunnel_actions(const struct adp_tunnel *t, long long int now)
{
    ck_assert_ptr_eq(t, &a_tunnel);
    ck_assert_int_eq(now, now_ms);
    return present_actions;
}

static int n_prefetched_actions;

void
adp_tunnel_prefetch_actions(const struct adp_tunnel *t)
{
    ck_assert_ptr_eq(t, &a_tunnel);
    n_prefetched_actions++;
}

/* The second struct adp_ports may have another kind of port. */
static enum adp_port_kind second_kind;

void
adp_walk_port_init(struct adp_walk_port *wp, const struct adp_ports *p,
                   ofp_port_t ofp_port)
{
    memset(wp, 0, sizeof *wp);
    wp->ofp_port = ofp_port;
    wp->kind = p == &ports[1] ? second_kind : ADP_PORT_PLAIN;
}

/* VLAN tags that were asked for, 0: none. */
static ovs_be16 tag;

uint32_t
adp_flow_cache_ingress_of_vlan(struct adp_flow_cache *c OVS_UNUSED,
                               uint32_t ingress, ovs_be16 tci,
                               long long int now OVS_UNUSED)
{
    tag = tci;
    return ingress ^ ntohs(tci);
}

struct adp_session *
adp_flow_cache_find(const struct adp_flow_cache *c,
                    const struct adp_session_packet *p)
{
    return (p->is_ipv6
            ? adp_sessions_find6(c->sessions, p->hash, &p->key6)
            : adp_sessions_find4(c->sessions, p->hash, &p->key4));
}

static int n_refused;

void
adp_refuse(struct adp_fast *f, struct adp_bridge *b OVS_UNUSED,
           const struct dp_packet *p, enum adp_answer answer,
           ofp_port_t tunnel_port OVS_UNUSED)
{
    ck_assert_ptr_eq(f, &fast);
    ck_assert_ptr_ne(p, last_packet);
    ck_assert_int_eq(answer, ADP_ANSWER_PROHIBITED);
    n_refused++;
}

/* The sampled packet's. */
static const struct adp_cached_verdict *noted;
static int a_sample;

void
adp_sample_note_session(struct adp_sample *s, const struct adp_session *session,
                        const struct adp_cached_verdict *v,
                        const struct adp_tunnel_actions *tnl_actions)
{
    ck_assert_ptr_eq(s, &a_sample);
    ck_assert_ptr_nonnull(session);
    ck_assert_ptr_eq(tnl_actions, v->content.tunnel ? present_actions : NULL);
    noted = v;
}

static int n_rewritten;

void
adp_rewrite_by_session(struct dp_packet *p, const struct adp_session *s,
                       const struct adp_cached_verdict_content *c)
{
    ck_assert_ptr_eq(s, session);
    ck_assert_ptr_eq(c, &verdict->content);
    /* Before it is on its way. */
    ck_assert_uint_eq(n_done, 0);
    ck_assert_ptr_ne(p, last_packet);
    n_rewritten++;
}

/* A world with a session. */

/* What the session is to be like. */
static struct {
    int n_conns;
    bool tunnel, missed, to_ip_port, is_dropped, is_answered;
    const char *actions;        /* As bytes; NULL: goes to OUTPUT. */
    struct adp_metadata_lookup *lookup; /* How it hits the flow, if it depends
                                         * on metadata alone. */
} wanted;

static struct adp_hit hits[2];
static struct adp_rule *rule;

static void
commit(struct adp_delta *delta)
{
    struct adp_program *old = program;

    program = adp_compile(old, delta);
    adp_delta_destroy(delta);
    adp_program_unref(old);
    ovsrcu_set(&bridge->program, program);
}

/* Adds a flow. */
static void
add_flow(const char *text)
{
    struct adp_delta *delta = adp_delta_create();
    struct adp_rule *r = engine_parse_flow(text);

    adp_delta_add_rule(delta, r);
    adp_rule_unref(r);
    commit(delta);
}

static inline void
set_group(const char *text)
{
    struct adp_delta *delta = adp_delta_create();
    struct adp_group *group = engine_parse_group(text);

    adp_delta_set_group(delta, group);
    adp_group_unref(group);
    commit(delta);
}

/* The packet that the session is for, parsed as packet 'i'. */
static struct dp_packet *
receive(size_t i)
{
    struct dp_packet *p = talk_compose(&tuple, &segment, 10);

    adp_fast_parse(&fast, i, p, INGRESS, true);
    return p;
}

static void
fill_content(struct adp_cached_verdict_content *c)
{
    memset(c, 0, sizeof *c);
    c->odp_port = (wanted.actions || wanted.tunnel || wanted.is_dropped
                   ? ODPP_NONE : OUTPUT);
    c->n_conns = wanted.n_conns;
    c->actions_len = wanted.actions ? strlen(wanted.actions) : 0;
    c->tunnel = wanted.tunnel ? (struct adp_tunnel *) &a_tunnel : NULL;
    c->missed = wanted.missed;
    c->to_ip_port = wanted.to_ip_port;
    c->dropped = wanted.is_dropped;
    c->answer = wanted.is_answered ? ADP_ANSWER_PROHIBITED : ADP_ANSWER_NONE;
    c->n_hits = ARRAY_SIZE(hits);
    for (int i = 0; i < wanted.n_conns; i++) {
        c->conns[i].mark = MARK + i;
        c->conns[i].reply = i & 1;
    }
}

static void
fill_body(struct adp_session_body *body)
{
    adp_cached_verdict_token_init(&body->token, cache.verdicts, verdict,
                                  program, 0);
    body->n_conns = wanted.n_conns;
    body->more = ((wanted.n_conns > 1 ? ADP_SESSION_MORE_LINE : 0)
                  | (wanted.tunnel ? ADP_SESSION_MORE_TUNNEL : 0));
    body->conn0 = &conns[0].conn;
    body->conn1 = &conns[1].conn;
    body->conn2 = &conns[2].conn;
    atomic_read_relaxed(&conns[0].conn.version, &body->version0);
    atomic_read_relaxed(&conns[1].conn.version, &body->version1);
    atomic_read_relaxed(&conns[2].conn.version, &body->version2);
}

static void
make_session(void)
{
    static struct adp_walk_port consulted;
    struct adp_cached_verdict_content content;
    struct adp_session_packet parsed;
    struct dp_packet *p = talk_compose(&tuple, &segment, 10);

    hits[0] = (struct adp_hit) { .rule = rule, .priority = PRIORITY,
                                 .kind = ADP_HIT_RULE, .table_id = TABLE };
    hits[1] = (struct adp_hit) { .bucket = GROUP, .kind = ADP_HIT_GROUP };
    adp_walk_port_init(&consulted, &ports[0], A_PORT);
    fill_content(&content);

    struct adp_cached_verdict_source source = {
        .bridge = bridge,
        .program = program,
        .ports = &ports[0],
        .ports_serial = adp_ports_serial(&ports[0]),
        .hits = hits,
        .lookups = wanted.lookup,
        .n_lookups = wanted.lookup ? 1 : 0,
        .actions = (const struct nlattr *) (const void *) wanted.actions,
        .consulted = &consulted,
        .n_consulted = 1,
    };
    verdict = adp_cached_verdict_take(cache.verdicts, &source, &content,
                                      now_ms);
    ck_assert_ptr_nonnull(verdict);
    ck_assert(adp_session_parse(p, false, INGRESS, true,
                                adp_sessions_seeds(cache.sessions), &parsed));
    dp_packet_delete(p);
    session = (parsed.is_ipv6
               ? adp_sessions_insert6(cache.sessions, parsed.hash,
                                      &parsed.key6)
               : adp_sessions_insert4(cache.sessions, parsed.hash,
                                      &parsed.key4));
    fill_body(adp_session_body(session));
}

static void
begin_batch(void)
{
    memset(&fast, 0xa5, sizeof fast);
    adp_fast_init(&fast, a_pmd, &cache, 1);
    n_done = n_sent = n_rewritten = n_prefetched_actions = 0;
    prefetched = 0;
    noted = NULL;
    for (size_t i = 0; i < MAX_CONNS; i++) {
        tracked[i].n_committed = tracked[i].n_updated = 0;
    }
}

static void
setup(void)
{
    random_set_seed(1);         /* No session finds all places taken. */
    tuple = (struct tuple) { .nw_proto = IPPROTO_TCP, .tp_src = 40000,
                             .tp_dst = 80 };
    in6_addr_set_mapped_ipv4(&tuple.src, htonl(0x0a000001));
    in6_addr_set_mapped_ipv4(&tuple.dst, htonl(0x0a000002));
    segment = (struct segment) { .flags = TCP_ACK | TCP_PSH, .wscale = -1 };
    memset(&wanted, 0, sizeof wanted);
    wanted.n_conns = MAX_CONNS;
    for (size_t i = 0; i < MAX_CONNS; i++) {
        atomic_init(&conns[i].conn.version, 10 * i);
        atomic_init(&versions[i], 10 * i);
        tracked[i].is_ordinary = true;
        tracked[i].is_predicted = true;
        tracked[i].is_settled = false;
    }
    conntrack_versions.begin = conns[0].slot;
    conntrack_versions.versions = versions;
    now_ms = NOW;
    checksums_are_valid = true;
    unusual_packet = spoiled_packet = NULL;
    for (size_t i = 0; i < 2; i++) {
        static struct nlattr actions[2];    /* Nobody here looks into them. */

        tunnel_actions[i] = (struct adp_tunnel_actions) {
            .data = &actions[i],
            .size = sizeof actions[i],
            .odp_port = ODPP_NONE,
        };
    }
    present_actions = &tunnel_actions[0];

    bridge = xzalloc(sizeof *bridge);
    other_bridge = xzalloc(sizeof *other_bridge);
    bridge->learn = other_bridge->learn = adp_learn_table_create();
    atomic_init(&ports[0].serial, 1);
    atomic_init(&ports[1].serial, 2);
    second_kind = ADP_PORT_PLAIN;
    ovsrcu_set(&bridge->ports, &ports[0]);
    ovsrcu_set(&other_bridge->ports, &ports[0]);
    program = adp_program_create();
    add_flow("table=0,priority=50,actions=output:1");
    ovsrcu_set(&other_bridge->program, program);
    rule = engine_parse_flow("table=0,priority=50,actions=output:1");
    adp_cached_verdict_init();
    cache.sessions = adp_sessions_create(4096, NULL, NULL);
    cache.verdicts = adp_store_create(adp_cached_verdict_collector(), 1024);
    adp_store_begin(cache.verdicts);
}

static void
teardown(void)
{
    adp_sessions_destroy(cache.sessions);
    adp_store_destroy(cache.verdicts);
    adp_program_unref(program);
    ovsrcu_quiesce();
    ovsrcu_barrier();
    adp_collector_destroy(adp_cached_verdict_collector());
}

/* All stages for the packets up to number 'i', which was received last. */
static void
fetch_packet(size_t i)
{
    adp_fast_fetch(&fast, i + 1, true);
}

/* Tries the packet, after all stages, as packet 0. */
static inline bool
try(struct dp_packet *p, struct adp_bridge *b)
{
    fetch_packet(0);
    return (fast.sample ? adp_fast_take_sampled(&fast, 0, p, b)
            : adp_fast_take(&fast, 0, p, b));
}

/* One that is taken, as packet 'i'. */
static inline void
take(size_t i)
{
    struct dp_packet *p = receive(i);

    fetch_packet(i);
    ck_assert(adp_fast_take(&fast, i, p, bridge));
}

/* Lets the actions of a tunnel be to push a header and to send by OUTPUT. */
static inline void
do_push(struct adp_tunnel_actions *actions)
{
    actions->push = actions->data;
    actions->odp_port = OUTPUT;
}

static uint64_t
n_counted(void)
{
    uint64_t n;

    atomic_read_relaxed(&verdict->up.n_packets, &n);
    return n;
}

static inline bool
is_untouched(void)
{
    bool yes = !n_done && !n_rewritten && !n_counted();

    for (size_t i = 0; i < MAX_CONNS; i++) {
        yes = yes && !tracked[i].n_committed && !tracked[i].n_updated;
    }
    return yes;
}

#endif /* fast-world.h */

/* SPDX-License-Identifier: Apache-2.0 */

/* The fast path: a packet of a session that holds is handled as its verdict
 * says, and of all the conditions under which it holds each one, broken alone,
 * leaves the packet to the caller and everything as it was. */

#include <config.h>
#include <check.h>
#include <netinet/in.h>

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-credit.h"
#include "adp-fast.h"
#include "adp-flow-cache.h"
#include "adp-rewrite.h"
#include "adp-tunnel.h"
#include "engine.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "ovs-rcu.h"
#include "talk.h"
#include "test-run.h"
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
__typeof__(dp_pmd_execute) __wrap_dp_pmd_execute;

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

/* The thread and its connection tracker, which nobody looks into. */
static struct dp_netdev_pmd_thread *const a_pmd = (void *) &fast.packets[0];
static struct conntrack *const a_tracker = (void *) &fast.packets[1];

/* Conntrack. */

static struct conn conns[MAX_CONNS];
static struct {
    bool is_ordinary, is_predicted;     /* What it says of the packet. */
    int n_committed, n_updated;
} tracked[MAX_CONNS];
static bool checksums_are_valid;

static size_t
index_of(const struct conn *conn)
{
    ck_assert(conn >= conns && conn < &conns[MAX_CONNS]);
    return conn - conns;
}

bool
__wrap_conntrack_checksums_are_valid(struct dp_packet *p OVS_UNUSED,
                                     bool ipv6, uint8_t nw_proto)
{
    ck_assert(ipv6 == tuple.ipv6 && nw_proto == tuple.nw_proto);
    return checksums_are_valid;
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
                             struct dp_packet *p OVS_UNUSED, uint8_t nw_proto,
                             long long int now, struct conntrack_step *step)
{
    ck_assert_ptr_eq(ct, a_tracker);
    check_expectation(conn, expect);
    ck_assert_uint_eq(nw_proto, tuple.nw_proto);
    ck_assert_int_eq(now, NOW);
    step->conn = conn;
    return tracked[index_of(conn)].is_ordinary;
}

void
__wrap_conntrack_track_commit(struct conntrack *ct,
                              const struct conntrack_step *step,
                              struct conntrack_clock *clock)
{
    ck_assert_ptr_eq(ct, a_tracker);
    ck_assert_int_eq(clock->now, NOW);
    tracked[index_of(step->conn)].n_committed++;
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
    ck_assert_int_eq(now, NOW);
    return tracked[index_of(conn)].is_predicted;
}

void
__wrap_conntrack_track_update(struct conntrack *ct,
                              struct conn *conn,
                              bool reply, struct dp_packet *p OVS_UNUSED,
                              long long int now)
{
    ck_assert_ptr_eq(ct, a_tracker);
    ck_assert_int_eq(now, NOW);
    ck_assert(reply == (index_of(conn) & 1));
    tracked[index_of(conn)].n_updated++;
}

/* The datapath. */

/* What became of packets, in the order in which it happened. */
static struct {
    size_t n_packets;           /* In one batch. */
    odp_port_t port;            /* Sent there, or ODPP_NONE: executed. */
    const void *actions;
    size_t actions_len;
} done[NETDEV_MAX_BURST];
static size_t n_done;
static struct dp_packet *last_packet;

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
    return NOW;
}

static void
keep_last(struct dp_packet *p)
{
    dp_packet_delete(last_packet);
    last_packet = p;
}

void
__wrap_dp_pmd_send(struct dp_netdev_pmd_thread *pmd,
                   struct dp_pmd_tx_cache *tx, struct dp_packet *p,
                   odp_port_t port)
{
    ck_assert_ptr_eq(pmd, a_pmd);
    ck_assert(is_all_zeros(tx, sizeof *tx));
    keep_last(p);
    done[n_done].n_packets = 1;
    done[n_done++].port = port;
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
    done[n_done].actions = actions;
    done[n_done++].actions_len = actions_len;
    DP_PACKET_BATCH_FOR_EACH (i, p, batch) {
        keep_last(p);
    }
}

/* What else the code under test knows. */

static struct ofpbuf tunnel_actions[2];
static const struct ofpbuf *present_actions;    /* Or NULL: none. */
static int a_tunnel;

const struct ofpbuf *
adp_tunnel_actions(const struct adp_tunnel *t, long long int now)
{
    ck_assert_ptr_eq(t, &a_tunnel);
    ck_assert_int_eq(now, NOW);
    return present_actions;
}

static int n_prefetched_actions;

void
adp_tunnel_prefetch_actions(const struct adp_tunnel *t)
{
    ck_assert_ptr_eq(t, &a_tunnel);
    n_prefetched_actions++;
}

bool
adp_tunnel_try_ref(struct adp_tunnel *t OVS_UNUSED)
{
    return true;
}

void
adp_tunnel_unref(struct adp_tunnel *t OVS_UNUSED)
{
}

void
adp_tunnel_credit(struct adp_tunnel *t OVS_UNUSED, uint64_t n_packets
                  OVS_UNUSED, uint64_t n_bytes OVS_UNUSED)
{
}

void
adp_credit_hit(struct adp_bridge *b OVS_UNUSED,
               const struct adp_hit *hit OVS_UNUSED,
               uint64_t n_packets OVS_UNUSED, uint64_t n_bytes OVS_UNUSED,
               long long int used OVS_UNUSED, uint16_t tcp_flags OVS_UNUSED)
{
}

void
adp_credit_tunnel_port(const struct adp_bridge *b OVS_UNUSED,
                       ofp_port_t ofp_port OVS_UNUSED,
                       uint64_t n_packets OVS_UNUSED,
                       uint64_t n_bytes OVS_UNUSED)
{
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

struct adp_session *
adp_flow_cache_find(const struct adp_flow_cache *c,
                    const struct adp_session_packet *p)
{
    return (p->is_ipv6
            ? adp_sessions_find6(c->sessions, p->hash, &p->key6)
            : adp_sessions_find4(c->sessions, p->hash, &p->key4));
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
    bool tunnel, missed, to_ip_port, is_dropped;
    const char *actions;        /* As bytes; NULL: goes to OUTPUT. */
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

static void
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

    adp_fast_parse(&fast, i, p, INGRESS);
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
    body->conn0 = &conns[0];
    body->conn1 = &conns[1];
    body->conn2 = &conns[2];
    atomic_read_relaxed(&conns[0].version, &body->version0);
    atomic_read_relaxed(&conns[1].version, &body->version1);
    atomic_read_relaxed(&conns[2].version, &body->version2);
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
        .hits = hits,
        .actions = (const struct nlattr *) (const void *) wanted.actions,
        .consulted = &consulted,
        .n_consulted = 1,
    };
    verdict = adp_cached_verdict_take(cache.verdicts, &source, &content, NOW);
    ck_assert_ptr_nonnull(verdict);
    ck_assert(adp_session_parse(p, INGRESS,
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
    n_done = n_rewritten = n_prefetched_actions = 0;
    prefetched = 0;
    for (size_t i = 0; i < MAX_CONNS; i++) {
        tracked[i].n_committed = tracked[i].n_updated = 0;
    }
}

static void
setup(void)
{
    tuple = (struct tuple) { .nw_proto = IPPROTO_TCP, .tp_src = 40000,
                             .tp_dst = 80 };
    in6_addr_set_mapped_ipv4(&tuple.src, htonl(0x0a000001));
    in6_addr_set_mapped_ipv4(&tuple.dst, htonl(0x0a000002));
    segment = (struct segment) { .flags = TCP_ACK | TCP_PSH, .wscale = -1 };
    memset(&wanted, 0, sizeof wanted);
    wanted.n_conns = MAX_CONNS;
    for (size_t i = 0; i < MAX_CONNS; i++) {
        atomic_init(&conns[i].version, 10 * i);
        tracked[i].is_ordinary = true;
        tracked[i].is_predicted = true;
    }
    checksums_are_valid = true;
    for (size_t i = 0; i < 2; i++) {
        ofpbuf_init(&tunnel_actions[i], 16);
        nl_msg_put_odp_port(&tunnel_actions[i], OVS_ACTION_ATTR_OUTPUT, 99);
    }
    present_actions = &tunnel_actions[0];

    bridge = xzalloc(sizeof *bridge);
    other_bridge = xzalloc(sizeof *other_bridge);
    bridge->learn = other_bridge->learn = adp_learn_table_create();
    ports[0].serial = 1;
    ports[1].serial = 2;
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

/* Tries the packet, after all stages, as packet 0. */
static bool
try(struct dp_packet *p, struct adp_bridge *b)
{
    adp_fast_fetch_session(&fast, 0);
    adp_fast_fetch_conns(&fast, 0);
    adp_fast_fetch_more_conns(&fast, 0);
    adp_fast_fetch_tunnel(&fast, 0);
    adp_fast_fetch_tunnel_actions(&fast, 0);
    return adp_fast_take(&fast, 0, p, b);
}

static uint64_t
n_counted(void)
{
    uint64_t n;

    atomic_read_relaxed(&verdict->up.n_packets, &n);
    return n;
}

static bool
is_untouched(void)
{
    bool yes = !n_done && !n_rewritten && !n_counted();

    for (size_t i = 0; i < MAX_CONNS; i++) {
        yes = yes && !tracked[i].n_committed && !tracked[i].n_updated;
    }
    return yes;
}

/* Hits. */

static void
expect_hit(void)
{
    begin_batch();
    struct dp_packet *p = receive(0);
    uint32_t size = dp_packet_size(p);
    uint64_t n = n_counted(), bytes, new_bytes;
    long long int used;
    uint16_t flags;

    atomic_read_relaxed(&verdict->up.n_bytes, &bytes);
    ck_assert(try(p, bridge));
    ck_assert_uint_eq(n_done, 1);
    ck_assert_ptr_eq(last_packet, p);
    ck_assert_int_eq(n_rewritten, 1);
    ck_assert_uint_eq(done[0].port, OUTPUT);
    ck_assert_uint_eq(n_counted(), n + 1);
    atomic_read_relaxed(&verdict->up.n_bytes, &new_bytes);
    ck_assert_uint_eq(new_bytes, bytes + size);
    atomic_read_relaxed(&verdict->up.used, &used);
    ck_assert_int_eq(used, NOW);
    atomic_read_relaxed(&verdict->up.tcp_flags, &flags);
    ck_assert_uint_eq(flags, (tuple.nw_proto == IPPROTO_TCP
                              ? segment.flags : 0));
    ck_assert_uint_eq(adp_session_body(session)->used, adp_session_age(NOW));
}

static void
expect_committed(int n)
{
    for (int i = 0; i < MAX_CONNS; i++) {
        ck_assert_int_eq(tracked[i].n_committed, i < n);
        ck_assert_int_eq(tracked[i].n_updated, 0);
    }
}

/* '_i': IPv6, UDP, and how many connections. */
START_TEST(hit)
{
    tuple.ipv6 = _i & 1;
    tuple.nw_proto = _i & 2 ? IPPROTO_UDP : IPPROTO_TCP;
    wanted.n_conns = _i / 4;
    make_session();
    expect_hit();
    expect_committed(wanted.n_conns);
    expect_hit();
    expect_committed(wanted.n_conns);
}
END_TEST

/* What doesn't concern the session: it goes on. */

START_TEST(other_changes)
{
    make_session();
    add_flow("table=1,priority=60,actions=output:1");
    expect_hit();
    add_flow("table=0,priority=40,actions=output:1");
    expect_hit();
    set_group("group_id=8,type=all,bucket=output:1");
    expect_hit();
    ovsrcu_set(&bridge->ports, &ports[1]);
    expect_hit();
}
END_TEST

/* A packet that conntrack takes without being an ordinary one: of one of its
 * connections, which is '_i'. */
START_TEST(unusual)
{
    make_session();
    tracked[_i].is_ordinary = false;
    expect_hit();
    for (int i = 0; i < MAX_CONNS; i++) {
        ck_assert_int_eq(tracked[i].n_committed, 0);
        ck_assert_int_eq(tracked[i].n_updated, 1);
    }
}
END_TEST

START_TEST(without_checksum)
{
    wanted.n_conns = 0;
    checksums_are_valid = false;
    make_session();
    expect_hit();               /* Who doesn't track doesn't look. */
}
END_TEST

/* Refusals: each condition, broken alone. */

static void
break_session(void)
{
    adp_sessions_remove(cache.sessions, session);
}

static void
break_life(void)
{
    verdict->up.life++;
}

static void
break_owner(void)
{
    adp_collector_forget(adp_cached_verdict_collector(), bridge);
}

static void
break_flow(void)
{
    add_flow("table=0,priority=50,ip,actions=output:2");
}

static void
break_flow_above(void)
{
    add_flow("table=0,priority=60,ip,actions=output:2");
}

static void
break_group(void)
{
    set_group("group_id=9,type=all,bucket=output:1");
}

static void
break_ports(void)
{
    second_kind = ADP_PORT_ABSENT;
    ovsrcu_set(&bridge->ports, &ports[1]);
}

static void
break_ports_for_a_moment(void)
{
    struct dp_packet *p;

    break_ports();
    begin_batch();
    p = receive(0);
    ck_assert(!try(p, bridge));
    dp_packet_delete(p);
    second_kind = ADP_PORT_PLAIN;
}

static void
break_learned(void)
{
    add_flow("table=1,actions=learn(table=0,priority=7,NXM_OF_ETH_SRC[])");
    adp_session_body(session)->token.learn_seq++;
}

static void
break_checksum(void)
{
    checksums_are_valid = false;
}

static void
break_version(int i)
{
    uint32_t version;

    atomic_read_relaxed(&conns[i].version, &version);
    atomic_store_relaxed(&conns[i].version, version + 1);
}

static void
break_version0(void)
{
    break_version(0);
}

static void
break_version1(void)
{
    break_version(1);
}

static void
break_version2(void)
{
    break_version(2);
}

static void
break_tracking(int i)
{
    tracked[i].is_ordinary = tracked[i].is_predicted = false;
}

static void
break_tracking0(void)
{
    break_tracking(0);
}

static void
break_tracking1(void)
{
    break_tracking(1);
}

static void
break_tracking2(void)
{
    break_tracking(2);
}

static const struct refusal {
    const char *name;
    void (*breaks)(void);
} refusals[] = {
    { "session", break_session },
    { "life", break_life },
    { "owner", break_owner },
    { "flow", break_flow },
    { "flow above", break_flow_above },
    { "group", break_group },
    { "ports", break_ports },
    { "ports, and they are back", break_ports_for_a_moment },
    { "learned", break_learned },
    { "checksum", break_checksum },
    { "version 0", break_version0 },
    { "version 1", break_version1 },
    { "version 2", break_version2 },
    { "tracking 0", break_tracking0 },
    { "tracking 1", break_tracking1 },
    { "tracking 2", break_tracking2 },
};

/* The packet stays as it came, and nobody knows of it. */
static void
expect_refusal(struct adp_bridge *b, const char *why)
{
    begin_batch();
    struct dp_packet *p = receive(0);
    struct dp_packet *copy = dp_packet_clone(p);

    ck_assert_msg(!try(p, b), "%s is nothing to it", why);
    ck_assert_msg(is_untouched(), "%s: not untouched", why);
    ck_assert(dp_packet_equal(p, copy));
    dp_packet_delete(p);
    dp_packet_delete(copy);
}

START_TEST(refused)
{
    make_session();
    refusals[_i].breaks();
    expect_refusal(bridge, refusals[_i].name);
}
END_TEST

/* With an unusual packet the other way through conntrack asks the same. */
START_TEST(refused_unusual)
{
    make_session();
    tracked[2].is_ordinary = false;
    refusals[_i].breaks();
    expect_refusal(bridge, refusals[_i].name);
}
END_TEST

START_TEST(refused_elsewhere)
{
    make_session();
    expect_refusal(other_bridge, "another bridge");
}
END_TEST

START_TEST(refused_at_an_ip_port)
{
    /* Which packets end a tunnel there isn't among what was asked for. */
    wanted.to_ip_port = true;
    make_session();
    expect_hit();
    atomic_store_relaxed(&verdict->up.n_packets, 0);
    ovsrcu_set(&bridge->ports, &ports[1]);
    expect_refusal(bridge, "ports");
}
END_TEST

START_TEST(refused_miss)
{
    wanted.missed = true;
    make_session();
    expect_hit();
    atomic_store_relaxed(&verdict->up.n_packets, 0);
    atomic_store_relaxed(&bridge->miss_to_controller, true);
    expect_refusal(bridge, "a packet-in");
}
END_TEST

/* Nobody is interested in misses that there are none of. */
START_TEST(no_miss)
{
    make_session();
    atomic_store_relaxed(&bridge->miss_to_controller, true);
    expect_hit();
}
END_TEST

START_TEST(refused_by_tunnel)
{
    wanted.tunnel = true;
    make_session();
    present_actions = NULL;
    expect_refusal(bridge, "no actions");
    present_actions = &tunnel_actions[0];
    ofpbuf_clear(&tunnel_actions[0]);
    expect_refusal(bridge, "actions that lead nowhere");
}
END_TEST

START_TEST(refused_unparsed)
{
    make_session();
    begin_batch();
    struct dp_packet *p = receive(0);

    fast.packets[0].is_parsed = false;
    ck_assert(!try(p, bridge) && is_untouched());
    ck_assert_ptr_null(fast.packets[0].candidate);
    dp_packet_delete(p);
}
END_TEST

/* Another packet's session is not taken for that of this one. */
START_TEST(wrong_candidate)
{
    make_session();
    begin_batch();
    tuple.tp_src++;
    struct dp_packet *p = receive(0);

    fast.packets[0].candidate = session;
    ck_assert(!adp_fast_take(&fast, 0, p, bridge) && is_untouched());
    dp_packet_delete(p);
}
END_TEST

/* Sessions left the table within the batch: a candidate may be another's
 * by now. */
START_TEST(table_changed)
{
    make_session();
    begin_batch();
    struct dp_packet *p = receive(0);
    adp_fast_fetch_session(&fast, 0);
    struct adp_session copy = *session;

    adp_sessions_remove(cache.sessions, session);
    ck_assert_ptr_nonnull(fast.packets[0].candidate);
    *session = copy;            /* As if nobody had been in its place yet. */
    ck_assert(!adp_fast_take(&fast, 0, p, bridge) && is_untouched());
    dp_packet_delete(p);
}
END_TEST

/* Where packets go. */

static void
take(size_t i)
{
    struct dp_packet *p = receive(i);

    adp_fast_fetch_session(&fast, i);
    adp_fast_fetch_conns(&fast, i);
    ck_assert(adp_fast_take(&fast, i, p, bridge));
}

START_TEST(executed)
{
    tuple.ipv6 = _i;
    wanted.actions = "whatever";
    make_session();
    begin_batch();
    struct dp_packet *p = receive(0);
    p->md.in_port.odp_port = 77;
    ck_assert(try(p, bridge));
    ck_assert_uint_eq(n_done, 1);
    ck_assert_uint_eq(done[0].port, ODPP_NONE);
    ck_assert_uint_eq(done[0].actions_len, 8);
    ck_assert(!memcmp(done[0].actions, "whatever", 8));
    /* Upstream's executor reads them. */
    ck_assert_uint_eq(last_packet->md.in_port.odp_port, 1);
    ck_assert(dp_packet_rss_valid(last_packet));
}
END_TEST

START_TEST(dropped)
{
    wanted.is_dropped = true;
    make_session();
    begin_batch();
    take(0);
    ck_assert_uint_eq(n_done, 0);
    ck_assert_uint_eq(n_counted(), 1);
}
END_TEST

/* Packets into one tunnel wait for each other, and for nobody else. */
START_TEST(into_tunnel)
{
    wanted.tunnel = true;
    make_session();
    begin_batch();
    take(0);
    take(1);
    ck_assert(fast.has_tunnels);
    ck_assert_uint_eq(n_done, 0);
    n_rewritten = 0;
    present_actions = &tunnel_actions[1];
    struct dp_packet *p = receive(2);
    adp_fast_leave(&fast, p, &verdict->content, NULL, present_actions);
    ck_assert_uint_eq(n_done, 1);
    ck_assert_uint_eq(done[0].n_packets, 2);
    ck_assert_ptr_eq(done[0].actions, tunnel_actions[0].data);
    ck_assert_uint_eq(done[0].actions_len, tunnel_actions[0].size);

    /* Nothing that is executed overtakes them. */
    p = receive(3);
    adp_fast_execute(&fast, p, &(struct flow) { .nw_proto = 1 },
                     (const struct nlattr *) (const void *) "else", 4);
    ck_assert_uint_eq(n_done, 3);
    ck_assert_uint_eq(done[1].n_packets, 1);
    ck_assert_ptr_eq(done[1].actions, tunnel_actions[1].data);
    ck_assert_uint_eq(done[2].actions_len, 4);

    adp_fast_flush(&fast);
    ck_assert_uint_eq(n_done, 3);
}
END_TEST

START_TEST(flushed)
{
    wanted.tunnel = true;
    make_session();
    begin_batch();
    take(0);
    adp_fast_flush(&fast);
    adp_fast_flush(&fast);
    ck_assert_uint_eq(n_done, 1);
    ck_assert_uint_eq(done[0].n_packets, 1);

    /* An empty verdict drops, after what waits. */
    present_actions = &tunnel_actions[1];
    n_done = 0;
    take(1);
    adp_fast_execute(&fast, receive(2), &(struct flow) { .nw_proto = 1 },
                     NULL, 0);
    ck_assert_uint_eq(n_done, 1);
    ck_assert_ptr_eq(done[0].actions, tunnel_actions[1].data);
}
END_TEST

/* Packets out of a tunnel come with metadata that stays. */
START_TEST(metadata)
{
    wanted.actions = "whatever";
    make_session();
    begin_batch();
    adp_fast_init(&fast, a_pmd, &cache, ODPP_NONE);
    struct dp_packet *p = receive(0);

    p->md.in_port.odp_port = 77;
    dp_packet_set_rss_hash(p, 5);
    ck_assert(try(p, bridge));
    ck_assert_uint_eq(last_packet->md.in_port.odp_port, 77);
    ck_assert_uint_eq(dp_packet_get_rss_hash(last_packet), 5);
}
END_TEST

/* A train: the packets behind the first one take its session over. */
START_TEST(train)
{
    make_session();
    begin_batch();
    struct dp_packet *p[3];

    for (size_t i = 0; i < 3; i++) {
        tuple.tp_src += i == 2;
        p[i] = receive(i);
    }
    for (size_t i = 0; i < 3; i++) {
        adp_fast_fetch_session(&fast, i);
    }
    ck_assert_ptr_eq(fast.packets[0].candidate, session);
    ck_assert_ptr_eq(fast.packets[1].candidate, session);
    ck_assert_ptr_null(fast.packets[2].candidate);
    ck_assert(!fast.has_more_conns);
    for (size_t i = 0; i < 3; i++) {
        adp_fast_fetch_conns(&fast, i);
    }
    ck_assert(fast.has_more_conns && !fast.has_tunnels);
    ck_assert(adp_fast_take(&fast, 0, p[0], bridge));
    n_done = 0;
    ck_assert(adp_fast_take(&fast, 1, p[1], bridge));
    ck_assert(!adp_fast_take(&fast, 2, p[2], bridge));
    dp_packet_delete(p[2]);
}
END_TEST

/* What the stages fetch: for the first of a train alone. */

static void
fetch(size_t n)
{
    struct dp_packet *p[NETDEV_MAX_BURST];

    begin_batch();
    for (size_t i = 0; i < n; i++) {
        p[i] = receive(i);
    }
    for (size_t i = 0; i < n; i++) {
        adp_fast_fetch_session(&fast, i);
    }
    for (size_t i = 0; i < n; i++) {
        adp_fast_fetch_conns(&fast, i);
    }
    for (size_t i = 0; i < n; i++) {
        adp_fast_fetch_more_conns(&fast, i);
        adp_fast_fetch_tunnel(&fast, i);
        adp_fast_fetch_tunnel_actions(&fast, i);
        dp_packet_delete(p[i]);
    }
}

START_TEST(fetched)
{
    static const unsigned int expected[] = { 0, 1, 3, 3 };

    tuple.ipv6 = true;
    wanted.n_conns = _i;
    make_session();
    fetch(2);
    ck_assert_uint_eq(prefetched, expected[_i]);
    ck_assert(fast.has_more_conns == (_i > 1));
    ck_assert(!fast.has_tunnels);
    ck_assert_int_eq(n_prefetched_actions, 0);
}
END_TEST

START_TEST(fetched_tunnel)
{
    wanted.n_conns = 1;
    wanted.tunnel = true;
    make_session();
    fetch(3);
    ck_assert(fast.has_tunnels && !fast.has_more_conns);
    ck_assert_int_eq(n_prefetched_actions, 1);

    /* Its verdict has gone. */
    verdict->up.life++;
    fetch(3);
    ck_assert_int_eq(n_prefetched_actions, 0);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("fast");
    TCase *tc = tcase_create("fast");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, hit, 0, 4 * (MAX_CONNS + 1));
    tcase_add_test(tc, other_changes);
    tcase_add_loop_test(tc, unusual, 0, MAX_CONNS);
    tcase_add_test(tc, without_checksum);
    tcase_add_loop_test(tc, refused, 0, ARRAY_SIZE(refusals));
    tcase_add_loop_test(tc, refused_unusual, 0, ARRAY_SIZE(refusals));
    tcase_add_test(tc, refused_elsewhere);
    tcase_add_test(tc, refused_at_an_ip_port);
    tcase_add_test(tc, refused_miss);
    tcase_add_test(tc, no_miss);
    tcase_add_test(tc, refused_by_tunnel);
    tcase_add_test(tc, refused_unparsed);
    tcase_add_test(tc, wrong_candidate);
    tcase_add_test(tc, table_changed);
    tcase_add_loop_test(tc, executed, 0, 2);
    tcase_add_test(tc, dropped);
    tcase_add_test(tc, into_tunnel);
    tcase_add_test(tc, flushed);
    tcase_add_test(tc, metadata);
    tcase_add_test(tc, train);
    tcase_add_loop_test(tc, fetched, 0, MAX_CONNS + 1);
    tcase_add_test(tc, fetched_tunnel);
    suite_add_tcase(s, tc);
    return test_run(s);
}

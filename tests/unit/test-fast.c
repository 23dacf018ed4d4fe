/* SPDX-License-Identifier: Apache-2.0 */

/* The fast path: a packet of a session that holds is handled as its verdict
 * says, and of all the conditions under which it holds each one, broken alone,
 * leaves the packet to the caller and everything as it was. */

#include <config.h>
#include <check.h>

#include "fast-world.h"
#include "test-run.h"

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

/* What the meter drops has been through conntrack, and is counted. */
START_TEST(metered)
{
    make_session();
    verdict->content.metered = true;
    verdict->content.meter_id = METER;
    expect_hit();
    expect_committed(wanted.n_conns);
    ck_assert_uint_eq(n_metered, 1);

    meter_drops = true;
    begin_batch();
    ck_assert(try(receive(0), bridge));
    ck_assert_uint_eq(n_done, 0);
    ck_assert_int_eq(n_rewritten, 0);
    ck_assert_uint_eq(n_metered, 2);
    ck_assert_uint_eq(n_counted(), 2);
    expect_committed(wanted.n_conns);
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

    atomic_read_relaxed(&conns[i].conn.version, &version);
    atomic_store_relaxed(&conns[i].conn.version, version + 1);
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

/* The session hits, with reg1=5, the flow for all packets of a table of many that
 * look at reg1 alone. */
static void
make_session_by_metadata(void)
{
    static struct adp_metadata_lookup at;
    struct adp_match_scratch scratch = { .words = NULL };
    struct flow flow = { .regs[1] = 5 };
    bool learned;

    for (int i = 10; i < 30; i++) {
        char *text = xasprintf("table=0,priority=60,reg1=%d,actions=drop", i);

        add_flow(text);
        free(text);
    }
    adp_rule_unref(rule);
    rule = adp_rule_ref(adp_decide_lookup(program, NULL, 0, &flow, &scratch,
                                          &learned));
    ck_assert_int_eq(scratch.priority, PRIORITY);
    at.hit = 0;
    adp_metadata_from_flow(&at.metadata, adp_program_metadata(program, 0),
                           &flow);
    wanted.lookup = &at;
    make_session();
}

static void
expect_no_hit(void)
{
    begin_batch();
    struct dp_packet *p = receive(0);

    ck_assert(!try(p, bridge));
    dp_packet_delete(p);
}

START_TEST(changes_for_others)
{
    make_session_by_metadata();
    expect_hit();
    add_flow("table=0,priority=60,reg1=7,actions=output:2");
    expect_hit();
    add_flow("table=0,priority=70,reg1=8,actions=output:2");
    add_flow("table=0,priority=70,reg1=9,actions=output:2");
    expect_hit();
    add_flow("table=0,priority=70,reg1=5,actions=output:2");
    expect_no_hit();
    add_flow("table=0,priority=60,reg1=4,actions=output:2");
    expect_no_hit();
    ck_assert_int_eq(adp_fast_known(&fast, &fast.packets[0], bridge),
                     ADP_FAST_UNKNOWN);
}
END_TEST

/* Flows match on more than was noted. */
START_TEST(changes_of_more)
{
    static const char *const flows[] = {
        "table=0,priority=60,reg1=7,ct_mark=7,actions=output:2",
        "table=0,priority=60,reg1=7,dl_src=00:00:00:00:00:01,actions=output:2",
        "table=0,priority=60,reg1=7,actions=conjunction(1,1/2)",
    };

    make_session_by_metadata();
    add_flow(flows[_i]);
    expect_refusal(bridge, flows[_i]);
}
END_TEST

/* Other metadata, or none: another verdict. */
START_TEST(shared_by_metadata)
{
    struct adp_cached_verdict *first;

    make_session_by_metadata();
    first = verdict;
    adp_sessions_remove(cache.sessions, session);
    make_session();
    ck_assert_ptr_eq(verdict, first);
    adp_sessions_remove(cache.sessions, session);
    wanted.lookup->metadata.values[0]++;
    make_session();
    ck_assert_ptr_ne(verdict, first);
    adp_sessions_remove(cache.sessions, session);
    wanted.lookup = NULL;
    make_session();
    ck_assert_ptr_ne(verdict, first);
}
END_TEST

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
    tunnel_actions[0].size = 0;
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

/* A packet with a VLAN tag has a session of its own: where it came in is another
 * place for each tag. */
START_TEST(tagged)
{
    struct dp_packet *p;

    tuple.ipv6 = _i;
    make_session();
    begin_batch();
    p = talk_compose(&tuple, &segment, 10);
    eth_push_vlan(p, htons(ETH_TYPE_VLAN_8021Q), htons(7));
    tag = 0;
    adp_fast_parse(&fast, 0, p, INGRESS, true);
    ck_assert(fast.packets[0].is_parsed);
    ck_assert_uint_eq(ntohs(tag), 7 | VLAN_CFI);
    ck_assert(!try(p, bridge));
    dp_packet_delete(p);

    p = receive(0);
    ck_assert(try(p, bridge));
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
    fetch_packet(0);
    struct adp_session copy = *session;

    adp_sessions_remove(cache.sessions, session);
    ck_assert_ptr_nonnull(fast.packets[0].candidate);
    *session = copy;            /* As if nobody had been in its place yet. */
    ck_assert(!adp_fast_take(&fast, 0, p, bridge) && is_untouched());
    dp_packet_delete(p);
}
END_TEST

/* Where packets go. */

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

/* A sampled packet goes as any other, and its sample is told of the verdict:
 * not before connections have taken it. */
START_TEST(sampled)
{
    make_session();
    begin_batch();
    fast.sample = (struct adp_sample *) (void *) &a_sample;
    tracked[0].is_ordinary = tracked[0].is_predicted = _i;
    struct dp_packet *p = receive(0);
    ck_assert_int_eq(try(p, bridge), _i);
    ck_assert_ptr_eq(noted, _i ? verdict : NULL);
    ck_assert_uint_eq(n_counted(), _i);
    if (!_i) {
        dp_packet_delete(p);
    }
}
END_TEST

START_TEST(rejected)
{
    wanted.is_dropped = wanted.is_answered = true;
    make_session();
    begin_batch();
    n_refused = 0;
    struct dp_packet *p = receive(0);
    fetch_packet(0);
    ck_assert_int_eq(adp_fast_known(&fast, &fast.packets[0], bridge),
                     ADP_FAST_REFUSED);
    dp_packet_delete(p);
    take(0);
    ck_assert_uint_eq(n_done, 0);
    ck_assert_int_eq(n_refused, 1);
    ck_assert_uint_eq(n_counted(), 1);
}
END_TEST

/* A packet that a header is put before waits for nobody. */
START_TEST(pushed)
{
    wanted.tunnel = true;
    do_push(&tunnel_actions[0]);
    make_session();
    begin_batch();
    for (size_t i = 0; i < 2; i++) {
        n_rewritten = n_done = 0;
        take(i);
        ck_assert_int_eq(n_rewritten, 1);
        ck_assert_uint_eq(n_done, 1);
        ck_assert_uint_eq(done[0].n_packets, 1);
        ck_assert_uint_eq(done[0].port, OUTPUT);
        ck_assert_ptr_eq(done[0].push, tunnel_actions[0].push);

        /* The header's source port is from the hash. */
        ck_assert(dp_packet_rss_valid(last_packet));
        ck_assert_uint_eq(n_counted(), i + 1);
    }
    adp_fast_flush(&fast);
    ck_assert_uint_eq(n_done, 1);
}
END_TEST

/* Nor does it overtake who waits. */
START_TEST(pushed_after_others)
{
    wanted.tunnel = true;
    make_session();
    begin_batch();
    take(0);
    take(1);
    ck_assert_uint_eq(n_done, 0);
    do_push(&tunnel_actions[1]);
    adp_fast_leave(&fast, receive(2), &verdict->content, NULL,
                   &tunnel_actions[1]);
    ck_assert_uint_eq(n_done, 2);
    ck_assert_uint_eq(done[0].n_packets, 2);
    ck_assert_uint_eq(done[0].port, ODPP_NONE);
    ck_assert_ptr_eq(done[0].actions, tunnel_actions[0].data);
    ck_assert_uint_eq(done[1].port, OUTPUT);
    ck_assert_ptr_eq(done[1].push, tunnel_actions[1].push);
    adp_fast_flush(&fast);
    ck_assert_uint_eq(n_done, 2);
}
END_TEST

/* Packets into one tunnel by other actions wait for each other, and for nobody
 * else. */
START_TEST(into_tunnel)
{
    wanted.tunnel = true;
    make_session();
    begin_batch();
    take(0);
    take(1);
    ck_assert(fast.has_more);
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

/* Trains: packets with one session, one behind the other. */

static struct dp_packet *cars[4];

static void
receive_train(void)
{
    begin_batch();
    for (size_t i = 0; i < ARRAY_SIZE(cars); i++) {
        segment.flags = i == 2 ? TCP_ACK | TCP_ECE : TCP_ACK;
        cars[i] = receive(i);
    }
    ck_assert(adp_fast_has_trains(&fast));
    adp_fast_fetch(&fast, ARRAY_SIZE(cars), false);
}

/* What becomes of the train from packet 'i' on. */
static size_t
take_train(size_t i)
{
    n_done = n_rewritten = 0;
    return adp_fast_take_train(&fast, i, &cars[i], ARRAY_SIZE(cars) - i,
                               bridge);
}

/* Packets 'from' to 'to' were sent together, as they came. */
static void
expect_sent(size_t from, size_t to)
{
    ck_assert_uint_eq(n_done, 1);
    ck_assert_uint_eq(done[0].n_packets, to - from);
    ck_assert_int_eq(n_rewritten, to - from);
    ck_assert_uint_eq(n_sent, to);
    for (size_t i = from; i < to; i++) {
        ck_assert_ptr_eq(sent[i], cars[i]);
    }
    ck_assert_uint_eq(n_counted(), to);
}

/* '_i' as for hit. */
START_TEST(train)
{
    const size_t n = ARRAY_SIZE(cars);
    uint64_t n_bytes, size = 0;
    uint16_t flags;

    tuple.ipv6 = _i & 1;
    tuple.nw_proto = _i & 2 ? IPPROTO_UDP : IPPROTO_TCP;
    wanted.n_conns = _i / 4;
    make_session();
    receive_train();
    for (size_t i = 0; i < n; i++) {
        size += dp_packet_size(cars[i]);
    }
    ck_assert_uint_eq(take_train(0), n);
    expect_sent(0, n);
    ck_assert_uint_eq(done[0].port, OUTPUT);
    atomic_read_relaxed(&verdict->up.n_bytes, &n_bytes);
    ck_assert_uint_eq(n_bytes, size);
    atomic_read_relaxed(&verdict->up.tcp_flags, &flags);
    ck_assert_uint_eq(flags, _i & 2 ? 0 : TCP_ACK | TCP_ECE);
    for (int i = 0; i < MAX_CONNS; i++) {
        /* What was done for one packet of UDP was done for all. */
        ck_assert_int_eq(tracked[i].n_committed,
                         i >= wanted.n_conns ? 0 : _i & 2 ? 1 : (int) n);
        ck_assert_int_eq(tracked[i].n_updated, 0);
    }
}
END_TEST

/* Packet '_i' isn't an ordinary one of TCP: it goes alone. */
START_TEST(train_with_unusual)
{
    const size_t n = ARRAY_SIZE(cars);

    make_session();
    receive_train();
    unusual_packet = cars[_i];
    if (_i) {
        ck_assert_uint_eq(take_train(0), _i);
        expect_sent(0, _i);
        ck_assert_int_eq(tracked[0].n_updated, 0);
    }
    ck_assert_uint_eq(take_train(_i), 1);
    expect_sent(_i, _i + 1);
    ck_assert_int_eq(tracked[0].n_committed, _i);
    ck_assert_int_eq(tracked[0].n_updated, 1);
    if (_i + 1u < n) {
        ck_assert_uint_eq(take_train(_i + 1), n - _i - 1);
        expect_sent(_i + 1, n);
    }
    ck_assert_int_eq(tracked[0].n_committed, n - 1);
}
END_TEST

/* Packet '_i' / 2 has a wrong checksum: it isn't taken, the others are. */
START_TEST(train_with_spoiled)
{
    const size_t n = ARRAY_SIZE(cars), bad = _i / 2;

    tuple.nw_proto = _i & 1 ? IPPROTO_UDP : IPPROTO_TCP;
    make_session();
    receive_train();
    spoiled_packet = cars[bad];
    if (bad) {
        ck_assert_uint_eq(take_train(0), bad);
        expect_sent(0, bad);
    }
    ck_assert_uint_eq(take_train(bad), 0);
    ck_assert_uint_eq(n_done, 0);
    ck_assert_uint_eq(n_counted(), bad);
    if (bad + 1 < n) {
        ck_assert_uint_eq(take_train(bad + 1), n - bad - 1);
        ck_assert_uint_eq(n_sent, n - 1);
        ck_assert_ptr_eq(sent[n - 2], cars[n - 1]);
    }
    ck_assert_uint_eq(n_counted(), n - 1);
    dp_packet_delete(cars[bad]);
}
END_TEST

/* A session in whose verdict there is more than to send goes packet by
 * packet. */
START_TEST(train_of_singles)
{
    if (!_i) {
        wanted.actions = "whatever";
    }
    wanted.tunnel = _i == 1;
    wanted.is_dropped = _i == 2;
    make_session();
    verdict->content.metered = _i == 3;
    verdict->content.meter_id = METER;
    receive_train();
    for (size_t i = 0; i < ARRAY_SIZE(cars); i++) {
        ck_assert_uint_eq(take_train(i), 1);
        ck_assert_uint_eq(n_counted(), i + 1);
        ck_assert_int_eq(tracked[0].n_committed, i + 1);
    }
}
END_TEST

/* Which packets are heads of trains, and how long these are.  Packets whose
 * hashes alone are the same are no train. */
START_TEST(heads)
{
    static const uint8_t expected[] = { 0, 2, 5 };
    struct dp_packet *p[6];

    make_session();
    begin_batch();
    for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
        tuple.tp_src += i == 2;
        p[i] = receive(i);
        ck_assert(adp_fast_has_trains(&fast) == (i > 0));
        fast.packets[i].is_parsed = i != 4;
        fast.packets[i].parsed.hash = 1;
    }
    adp_fast_fetch(&fast, ARRAY_SIZE(p), false);
    ck_assert_uint_eq(fast.n_heads, ARRAY_SIZE(expected));
    ck_assert_mem_eq(fast.heads, expected, sizeof expected);
    ck_assert_uint_eq(adp_fast_train(&fast, 0, 6), 2);
    ck_assert_uint_eq(adp_fast_train(&fast, 1, 6), 1);
    ck_assert_uint_eq(adp_fast_train(&fast, 2, 6), 2);
    ck_assert_uint_eq(adp_fast_train(&fast, 2, 3), 1);
    ck_assert_uint_eq(adp_fast_train(&fast, 5, 6), 1);
    for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
        ck_assert_ptr_null(fast.packets[i].candidate);
        dp_packet_delete(p[i]);
    }
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
    adp_fast_fetch(&fast, n, false);
    for (size_t i = 0; i < n; i++) {
        dp_packet_delete(p[i]);
    }
}

START_TEST(fetched)
{
    const unsigned int expected = _i < 2 ? _i : 3;

    tuple.ipv6 = true;
    wanted.n_conns = _i;
    make_session();
    fetch(2);
    ck_assert_uint_eq(prefetched, expected);
    ck_assert(fast.n_heads == 1 && fast.has_more == (_i > 1)
              && !n_prefetched_actions);
}
END_TEST

START_TEST(fetched_tunnel)
{
    wanted.n_conns = 1;
    wanted.tunnel = true;
    make_session();
    fetch(3);
    ck_assert(fast.has_more);
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

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, hit, 0, 4 * (MAX_CONNS + 1));
    tcase_add_test(tc, other_changes);
    tcase_add_test(tc, changes_for_others);
    tcase_add_loop_test(tc, changes_of_more, 0, 3);
    tcase_add_test(tc, shared_by_metadata);
    tcase_add_loop_test(tc, unusual, 0, MAX_CONNS);
    tcase_add_test(tc, without_checksum);
    tcase_add_test(tc, metered);
    tcase_add_loop_test(tc, refused, 0, ARRAY_SIZE(refusals));
    tcase_add_loop_test(tc, refused_unusual, 0, ARRAY_SIZE(refusals));
    tcase_add_test(tc, refused_elsewhere);
    tcase_add_test(tc, refused_at_an_ip_port);
    tcase_add_test(tc, refused_miss);
    tcase_add_test(tc, no_miss);
    tcase_add_test(tc, refused_by_tunnel);
    tcase_add_test(tc, refused_unparsed);
    tcase_add_loop_test(tc, tagged, 0, 2);
    tcase_add_test(tc, wrong_candidate);
    tcase_add_test(tc, table_changed);
    tcase_add_loop_test(tc, executed, 0, 2);
    tcase_add_test(tc, dropped);
    tcase_add_loop_test(tc, sampled, 0, 2);
    tcase_add_test(tc, rejected);
    tcase_add_test(tc, pushed);
    tcase_add_test(tc, pushed_after_others);
    tcase_add_test(tc, into_tunnel);
    tcase_add_test(tc, flushed);
    tcase_add_test(tc, metadata);
    tcase_add_loop_test(tc, train, 0, 4 * (MAX_CONNS + 1));
    tcase_add_loop_test(tc, train_with_unusual, 0, ARRAY_SIZE(cars));
    tcase_add_loop_test(tc, train_with_spoiled, 0, 2 * ARRAY_SIZE(cars));
    tcase_add_loop_test(tc, train_of_singles, 0, 4);
    tcase_add_test(tc, heads);
    tcase_add_loop_test(tc, fetched, 0, MAX_CONNS + 1);
    tcase_add_test(tc, fetched_tunnel);
    suite_add_tcase(s, tc);
    return test_run(s);
}

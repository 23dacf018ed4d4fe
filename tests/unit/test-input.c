/* SPDX-License-Identifier: Apache-2.0 */

/* Which way a packet goes from its batch: by its session, by a replayed walk,
 * by a walk of its own, or that of stock; and that of the conditions for each
 * way every one counts.  What the ways do is other tests' matter: here they
 * are functions that note that they were called. */

#include <config.h>
#include <check.h>

#include "adp-log-ring.h"
#include "input-world.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "test-run.h"

START_TEST(not_ours)
{
    receive(N, PORT + 1, N);
    expect("");
    ck_assert_uint_eq(n_compiled, 0);
}
END_TEST

START_TEST(closed)
{
    set_mode(ADP_MODE_CLOSED);
    receive(N, PORT, 0);
    expect("");
    ck_assert_uint_eq(n_lost, N);
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_RESTORE]), N);
}
END_TEST

/* Packets that stock handles keep nobody behind them: all are its. */
START_TEST(stock)
{
    set_mode(ADP_MODE_STOCK);
    says.has_session = true;
    receive(2, PORT, 2);
    expect("(.)");
    expect_punts(ADP_PUNT_BRIDGE, 2);
    expect_punts(ADP_PUNT_BEHIND, 0);
    ck_assert_uint_eq(adp_counted(&b->counters.ip_punts), 2);
    ck_assert_uint_eq(n_compiled, 0);
}
END_TEST

START_TEST(session)
{
    says.has_session = true;
    receive(2, PORT, 0);
    expect("(ff.)");
    ck_assert_uint_eq(n_compiled, 2);
}
END_TEST

/* Sessions are for packets without a mark; from most ports nobody knows what
 * it is. */
START_TEST(marked)
{
    says.has_session = true;
    pkt_mark = 7;
    receive(2, PORT, 0);
    expect("(ff.)");
    has_marks = true;
    receive(1, PORT, 0);
    expect("(fwato.)");
    pkt_mark = 0;
    receive(1, PORT, 0);
    expect("(f.)");
    has_marks = false;
}
END_TEST

/* A train goes as a whole, or in pieces. */
START_TEST(train)
{
    says.has_session = says.is_train = true;
    receive(N, PORT, 0);
    expect("(=F.)");
    ck_assert_uint_eq(n_compiled, N);

    says.n_taken = N - 1;
    receive(N, PORT, 0);
    expect("(=Ff.)");
    ck_assert_uint_eq(n_compiled, N);

    /* Without a session its first one is walked for, and so on. */
    says.has_session = false;
    receive(3, PORT, 0);
    expect("(=FRwSWatoFRwSWatofRwSWato.)");
    ck_assert_uint_eq(n_compiled, 3);
}
END_TEST

START_TEST(walked)
{
    receive(1, PORT, 0);
    expect("(fRwSWato.)");
    ck_assert_uint_eq(n_compiled, 1);
    ck_assert_uint_eq(adp_counted(&b->counters.decides), 1);
    ck_assert_uint_eq(adp_counted(&b->counters.handled), 1);
}
END_TEST

START_TEST(unparsed)
{
    says.is_parsed = false;
    receive(1, PORT, 0);
    expect("(fwato.)");
}
END_TEST

/* What keeps a walk from becoming a session, or from being cached. */
START_TEST(not_remembered)
{
    switch (_i) {
    case 0:
        walk.ct.peek.ordinary = false;
        break;
    case 1:
        says.may_be_kept = false;
        break;
    case 2:
        program.reads = ADP_READS_OTHER;
        break;
    case 3:
        tuple.nw_proto = IPPROTO_TCP;
        program.reads = ADP_READS_TCP_FLAGS;
        break;
    }
    receive(1, PORT, 0);
    expect(_i < 2 ? "(fRwWato.)" : "(fRwuato.)");
}
END_TEST

/* What is more than can be kept is counted, also if it takes the executor, and
 * what can't be since flows read more than a session's key has; not what nobody
 * would keep. */
START_TEST(uncacheable)
{
    says.exceeds_cache = true;
    receive(1, PORT, 0);
    expect("(fRwuSWato.)");
    says.sums_up = false;
    receive(1, PORT, 0);
    expect("(fRwux.)");
    program.reads = ADP_READS_OTHER;
    receive(1, PORT, 0);
    expect("(fRwux.)");
    says.exceeds_cache = false;
    receive(1, PORT, 0);
    expect("(fRwux.)");
    says.is_parsed = false;
    program.reads = 0;
    receive(1, PORT, 0);
    expect("(fwx.)");
}
END_TEST

START_TEST(no_tcp_flags)
{
    program.reads = ADP_READS_TCP_FLAGS;
    receive(1, PORT, 0);
    expect("(fRwSWato.)");
}
END_TEST

/* IPv6's flow labels are told apart where flows read them. */
START_TEST(flow_labels)
{
    tuple.ipv6 = true;
    program.reads = _i ? ADP_READS_IPV6_LABEL : 0;
    receive(1, PORT, 0);
    expect("(fRwSWato.)");
    ck_assert(parsed_labels == _i);
}
END_TEST

/* A flow that reads them comes between parsing and the walk. */
START_TEST(flow_labels_matter_meanwhile)
{
    tuple.ipv6 = _i;
    says.new_reads = ADP_READS_IPV6_LABEL;
    receive(1, PORT, 0);
    expect(_i ? "(fRwuato.)" : "(fRwSWato.)");
}
END_TEST

/* A tunnel. */
static int a_tunnel;

START_TEST(into_tunnel)
{
    static const struct adp_tunnel_actions somewhere = { .size = 8 };

    verdict.content.tunnel = (struct adp_tunnel *) (void *) &a_tunnel;
    says.tnl_actions = &somewhere;
    receive(1, PORT, 0);
    expect("(fRwSWato.)");
}
END_TEST

/* What takes upstream's executor. */
START_TEST(executor)
{
    static const struct adp_tunnel_actions nowhere;

    switch (_i) {
    case 0:
        says.sums_up = false;
        break;
    case 1:
        says.is_applied = false;
        break;
    case 2:
        walk.has_ct_timeout = true;
        break;
    case 3:
        verdict.content.tunnel = (struct adp_tunnel *) (void *) &a_tunnel;
        break;
    case 4:
        verdict.content.tunnel = (struct adp_tunnel *) (void *) &a_tunnel;
        says.tnl_actions = &nowhere;
        break;
    }
    receive(1, PORT, 0);
    expect(_i == 0 ? "(fRwx.)" : _i == 1 ? "(fRwSWax.)" : "(fRwSWx.)");
}
END_TEST

START_TEST(learned)
{
    walk.verdict.n_learned = 2;
    walk.verdict.learned = xcalloc(2, sizeof *walk.verdict.learned);
    receive(1, PORT, 0);
    expect("(fRwllSWato.)");
}
END_TEST

/* The sender gets his answer while the packet is as it came. */
START_TEST(rejected)
{
    walk.verdict.answer = ADP_ANSWER_PROHIBITED;
    receive(1, PORT, 0);
    expect("(fRwSWjato.)");
    says.is_applied = false;
    receive(1, PORT, 0);
    expect("(fRwSWjax.)");
    says.sums_up = false;
    walk.verdict.dropped = true;
    walk.verdict.drop_rule = (struct adp_rule *) (void *) b;
    receive(1, PORT, 0);
    expect("(fRwjx.)");
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_REJECT]), 1);
}
END_TEST

/* Replays. */

START_TEST(replayed)
{
    static char slot[4096] OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
    static struct adp_store_public store = { .slots = slot };

    cache.verdicts = (struct adp_store *) (void *) &store;
    says.has_cached_walk = true;
    receive(1, PORT, 0);
    expect("(fRSarto.)");
    uint64_t n;
    atomic_read_relaxed(&verdict.up.n_packets, &n);
    ck_assert_uint_eq(n, 1);

    walk.ct.peek.ordinary = false;
    receive(1, PORT, 0);
    expect("(fRarto.)");

    verdict.content.answer = ADP_ANSWER_PROHIBITED;
    receive(1, PORT, 0);
    expect("(fRarjto.)");
}
END_TEST

START_TEST(not_replayed)
{
    says.has_cached_walk = true;
    walk.ct.peek.ordinary = false;
    switch (_i) {
    case 0:
        says.is_applied = false;
        break;
    case 1:
        walk.has_ct_timeout = true;
        break;
    case 2:
        verdict.content.missed = true;
        atomic_store_relaxed(&b->miss_to_controller, true);
        break;
    }
    receive(1, PORT, 0);
    expect(_i == 0 ? "(fRawWax.)" : _i == 1 ? "(fRwWx.)" : "(fRwWato.)");
}
END_TEST

/* Punts. */

START_TEST(punted)
{
    tuple.ipv6 = _i;
    says.punt = ADP_PUNT_NORMAL;
    receive(3, PORT, 3);
    /* Of the others it is only asked whether they are refused. */
    expect("(fRwww.)");
    expect_punts(ADP_PUNT_NORMAL, 1);
    expect_punts(ADP_PUNT_BEHIND, 2);
    ck_assert_uint_eq(adp_counted(&b->counters.ip_punts), 3);
    ck_assert_uint_eq(adp_counted(&b->counters.decides), 3);
    ck_assert_uint_eq(n_compiled, 0);

    /* The next batch has none to stay behind. */
    says.punt = ADP_PUNT_NONE;
    receive(1, PORT, 0);
    expect("(fRwSWato.)");
}
END_TEST

/* Upstream would tell the senders nothing. */
START_TEST(refused_behind_punted)
{
    says.is_parsed = _i;
    says.punt = ADP_PUNT_NORMAL;
    says.refuses_next = true;
    receive(3, PORT, 1);
    expect(_i ? "(fRwwSWjatowSWjato.)" : "(fwfwjatofwjato.)");
    expect_punts(ADP_PUNT_NORMAL, 1);
    expect_punts(ADP_PUNT_BEHIND, 0);
}
END_TEST

/* Upstream would not log them. */
START_TEST(logged_behind_punted)
{
    adp_log_rings_init();
    cache.log = adp_log_ring_create();
    says.is_parsed = _i;
    says.punt = ADP_PUNT_NORMAL;
    says.drops_next = true;
    says.n_logs = 1;
    walk.verdict.logs[0].disposition = ADP_LOG_DROP;
    receive(3, PORT, 1);
    expect_punts(ADP_PUNT_BEHIND, 0);
    /* The clock stands at 0, when there are no tokens yet. */
    ck_assert_uint_eq(adp_counted(&b->counters.log_limited), 2);

    /* Others stay: nobody misses them here. */
    says.punt = ADP_PUNT_NORMAL;
    says.n_logs = 0;
    receive(3, PORT, 3);
    expect_punts(ADP_PUNT_BEHIND, 2);
    adp_log_ring_close(cache.log);
}
END_TEST

/* What sessions know needs no walk. */
START_TEST(known_behind_punted)
{
    says.punt = ADP_PUNT_NORMAL;
    says.known = _i;
    receive(2, PORT, 2);
    expect(_i == ADP_FAST_REFUSED ? "(fRwfw.)" : "(fRw.)");
    expect_punts(ADP_PUNT_BEHIND, 1);
}
END_TEST

/* Of what is read the daemon gets a copy, and the verdict is executed. */
START_TEST(read_by_the_daemon)
{
    walk.verdict.read = true;
    says.sums_up = false;
    receive(1, PORT, 0);
    expect("(fRwix.)");
}
END_TEST

/* Upstream would tell controllers alone. */
START_TEST(read_behind_punted)
{
    says.is_parsed = _i;
    says.punt = ADP_PUNT_NORMAL;
    says.reads_next = true;
    says.sums_up = false;
    receive(2, PORT, 1);
    expect(_i ? "(fRwwix.)" : "(fwfwix.)");
    expect_punts(ADP_PUNT_NORMAL, 1);
    expect_punts(ADP_PUNT_BEHIND, 0);
}
END_TEST


START_TEST(fragment)
{
    says.is_parsed = false;
    says.frag = IP_MORE_FRAGMENTS;
    receive(2, PORT, 2);
    expect("(ff.)");
    expect_punts(ADP_PUNT_FRAGMENT, 2);
}
END_TEST

/* What is known of a kind out of a tunnel was known before the ports changed
 * meanwhile. */
START_TEST(kind_of_earlier_ports)
{
    uint64_t serial = adp_ports_map_serial();

    says.punt = ADP_PUNT_NORMAL;
    says.is_from_tunnel = true;
    dp_packet_batch_init(&batch);
    add_packet();
    pkt_metadata_init_tnl(&batch.packets[0]->md);
    batch.packets[0]->md.tunnel.ip_dst = htonl(3);
    adp_input_decapsulated(pmd, &batch);
    dp_packet_delete_batch(&batch, true);
    expect("(w.)");
    ck_assert_uint_ne(adp_ports_map_serial(), serial);
    ck_assert_uint_eq(kind_serial, serial);
}
END_TEST

/* A thread makes nothing for packets out of tunnels of other bridges alone. */
START_TEST(no_bridges)
{
    says.has_no_bridges = true;
    dp_packet_batch_init(&batch);
    add_packet();
    pkt_metadata_init_tnl(&batch.packets[0]->md);
    adp_input_decapsulated(pmd, &batch);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), 1);
    dp_packet_delete_batch(&batch, true);
    expect("");
}
END_TEST

START_TEST(too_deep)
{
    says.has_room = false;
    receive(1, PORT, 1);
    expect("(f.)");
    expect_punts(ADP_PUNT_DEPTH, 1);
}
END_TEST

/* The meter of a verdict that was summed up, of a walk and of a replay: behind
 * conntrack, before anything is rewritten. */
START_TEST(metered)
{
    static char slot[4096] OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
    static struct adp_store_public store = { .slots = slot };

    cache.verdicts = (struct adp_store *) (void *) &store;
    verdict.content.metered = true;
    verdict.content.meter_id = 5;
    receive(1, PORT, 0);
    expect("(fRwSWamto.)");
    says.dropped_by_meter = 1;
    receive(1, PORT, 0);
    expect("(fRwSWam.)");
    ck_assert_uint_eq(adp_counted(&b->counters.handled), 2);
    says.has_cached_walk = true;
    receive(1, PORT, 0);
    expect("(fRSarm.)");
    says.dropped_by_meter = 0;
    receive(1, PORT, 0);
    expect("(fRSarmto.)");
}
END_TEST

/* A verdict with 'n' hits and learned flows and a pass without an action. */
static void
give_verdict_with_breaks(size_t n)
{
    struct adp_verdict *v = &walk.verdict;

    says.sums_up = false;
    ofpbuf_init(&v->actions, 64);
    ofpbuf_put_zeros(&v->actions, 40);
    v->hits = xcalloc(n, sizeof *v->hits);
    v->learned = xcalloc(n, sizeof *v->learned);
    v->packet_ins = xcalloc(2, sizeof *v->packet_ins);
    v->n_hits = v->n_learned = n;
    v->n_idle_passes = 1;
}

static void
take_verdict_with_breaks(void)
{
    struct adp_verdict *v = &walk.verdict;

    ofpbuf_uninit(&v->actions);
    free(v->hits);
    free(v->learned);
    free(v->packet_ins);
    memset(v, 0, sizeof *v);
}

/* To the controller, and on, and to the controller: all is counted before. */
START_TEST(to_controllers)
{
    struct adp_verdict *v = &walk.verdict;

    give_verdict_with_breaks(2);
    v->n_breaks = 2;
    v->breaks[0] = (struct adp_break) { .start = 0, .end = 8 };
    v->breaks[1] = (struct adp_break) { .start = 20, .end = 36,
                                        .packet_in = 1 };
    receive(1, PORT, 0);
    expect("(fRwhhll.ckcx.)");
    ck_assert_uint_eq(piece_start, 8);
    ck_assert_uint_eq(piece_len, 12);
    ck_assert_ptr_eq(sent_in, &v->packet_ins[1]);
    ck_assert_uint_eq(adp_counted(&b->counters.idle_passes), 1);

    /* The last of all actions. */
    v->breaks[1].end = 40;
    receive(1, PORT, 0);
    expect("(fRwhhll.ckCx.)");

    /* A meter between the two drops it. */
    n_pieces = 0;
    says.dropped_by_meter = 1;
    receive(1, PORT, 0);
    expect("(fRwhhll.ck.)");
    take_verdict_with_breaks();
}
END_TEST

/* What is too long for a tunnel before a break goes on in segments. */
START_TEST(cut_before_a_break)
{
    struct adp_verdict *v = &walk.verdict;
    size_t ofs;

    tuple.nw_proto = IPPROTO_TCP;
    long_data = 2000;
    give_verdict_with_breaks(2);
    ofpbuf_clear(&v->actions);
    nl_msg_put_odp_port(&v->actions, OVS_ACTION_ATTR_OUTPUT, u32_to_odp(1));
    v->n_breaks = 1;
    v->breaks[0] = (struct adp_break) { .start = v->actions.size,
                                        .end = v->actions.size };
    ofs = nl_msg_start_nested(&v->actions, OVS_ACTION_ATTR_CLONE);
    nl_msg_put_flag(&v->actions, OVS_ACTION_ATTR_TUNNEL_PUSH);
    nl_msg_end_nested(&v->actions, ofs);
    nl_msg_put_odp_port(&v->actions, OVS_ACTION_ATTR_OUTPUT, u32_to_odp(1));

    /* It goes into one at the end. */
    receive(1, PORT, 0);
    expect("(fRwhhll.kcx.)");
    v->breaks[0].start = v->breaks[0].end = v->actions.size - 8;
    receive(1, PORT, 0);
    expect("(fRwhhll.kcxkcx.)");
    long_data = 0;
    receive(1, PORT, 0);
    expect("(fRwhhll.kcx.)");
    take_verdict_with_breaks();
}
END_TEST

/* What is behind a meter and a pass counts if the packet gets there. */
START_TEST(metered_before_a_pass)
{
    struct adp_verdict *v = &walk.verdict;

    give_verdict_with_breaks(3);
    v->n_breaks = 2;
    v->dropped = true;
    v->breaks[0] = (struct adp_break) {
        .start = 16, .end = 16, .packet_in = SIZE_MAX,
        .n_hits = 1, .n_learned = 2, .n_idle_passes = 0,
    };
    v->breaks[1] = (struct adp_break) { .start = 20, .end = 36 };
    receive(1, PORT, 0);
    expect("(fRwhll.khhlkcx.)");
    ck_assert_uint_eq(adp_counted(&b->counters.idle_passes), 1);
    ck_assert_uint_eq(adp_counted(&b->counters.handled), 1);
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_MISS]), 1);

    n_pieces = 0;
    says.dropped_by_meter = 1;
    receive(1, PORT, 0);
    expect("(fRwhll.k.)");
    ck_assert_uint_eq(adp_counted(&b->counters.idle_passes), 1);
    ck_assert_uint_eq(adp_counted(&b->counters.handled), 2);
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_MISS]), 1);
    take_verdict_with_breaks();
}
END_TEST

/* Whom a meter drops gets no answer, others as they came. */
START_TEST(metered_before_an_answer)
{
    struct adp_verdict *v = &walk.verdict;

    give_verdict_with_breaks(2);
    v->n_breaks = 1;
    v->answer = ADP_ANSWER_PROHIBITED;
    v->answers_late = true;
    v->breaks[0] = (struct adp_break) {
        .start = 16, .end = 16, .packet_in = SIZE_MAX, .answers = true,
    };
    receive(1, PORT, 0);
    expect("(fRwhhll.kjx.)");

    n_pieces = 0;
    says.dropped_by_meter = 1;
    receive(1, PORT, 0);
    expect("(fRwhhll.k.)");
    take_verdict_with_breaks();
}
END_TEST

/* A tunnel's packet may end at a port with an address of ours. */
START_TEST(tunnels_own)
{
    walk.to_ip_port = true;
    receive(1, PORT, 0);
    expect_punts(ADP_PUNT_TUNNEL, 0);
    walk.concerns_tunnel = true;
    receive(1, PORT, 1);
    expect_punts(ADP_PUNT_TUNNEL, 1);
}
END_TEST

/* Why nothing goes out. */
START_TEST(drops)
{
    static const struct adp_rule rule;

    walk.verdict.dropped = true;
    receive(1, PORT, 0);
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_MISS]), 1);
    walk.verdict.drop_rule = &rule;
    receive(1, PORT, 0);
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_FLOW]), 1);
    walk.verdict.dropped = false;
    walk.tunnel_lost = true;
    receive(1, PORT, 0);
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_TUNNEL]), 1);
    walk.n_tunnels = 1;         /* Another copy found one. */
    receive(1, PORT, 0);
    ck_assert_uint_eq(adp_counted(&b->counters.drops[ADP_DROP_TUNNEL]), 1);
}
END_TEST

/* Too short for an Ethernet header. */
START_TEST(runt)
{
    dp_packet_batch_init(&batch);
    says.is_parsed = false;
    add_packet();
    dp_packet_set_size(batch.packets[0], ETH_HEADER_LEN - 1);
    adp_input_received(pmd, &batch, PORT, false);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), 1);
    expect("(f.)");
    dp_packet_delete_batch(&batch, true);
}
END_TEST

/* Somebody waits for a packet: each is looked at in its turn, alone, and goes
 * its way as ever. */
START_TEST(waited_for)
{
    atomic_count_set(&adp_catch_n_armed, 1);
    says.has_session = says.is_train = true;
    receive(3, PORT, 0);
    expect("(?f?f?f.)");
    ck_assert_uint_eq(n_compiled, 3);

    says.caught = 2;
    receive(3, PORT, 0);
    expect("(?f?v!f?f.)");
    ck_assert_uint_eq(n_compiled, 3);
    ck_assert_uint_eq(adp_counted(&b->counters.decides), 0);

    /* Nobody does any more. */
    atomic_count_set(&adp_catch_n_armed, 0);
    receive(3, PORT, 0);
    expect("(=F.)");
}
END_TEST

/* One that isn't caught by its session, either. */
START_TEST(waited_for_anew)
{
    atomic_count_set(&adp_catch_n_armed, 1);
    says.caught = 1;
    receive(1, PORT, 0);
    expect("(?v!fRwSWato.)");
    ck_assert_int_eq(catch_walk.verdict.punt, ADP_PUNT_NONE);
    ck_assert_uint_eq(adp_counted(&b->counters.decides), 1);
    ck_assert_uint_eq(adp_counted(&b->counters.handled), 1);
}
END_TEST

/* Why stock takes the packet that is waited for. */
START_TEST(waited_for_and_punted)
{
    static const enum adp_punt why[] = {
        ADP_PUNT_FRAGMENT, ADP_PUNT_BRIDGE, ADP_PUNT_NORMAL,
    };

    atomic_count_set(&adp_catch_n_armed, 1);
    says.caught = 1;
    switch (_i) {
    case 0:
        says.frag = IP_MORE_FRAGMENTS;
        break;
    case 1:
        set_mode(ADP_MODE_STOCK);
        break;
    case 2:
        says.punt = ADP_PUNT_NORMAL;
        break;
    }
    receive(1, PORT, 1);
    ck_assert_int_eq(catch_walk.verdict.punt, why[_i]);
    ck_assert_uint_eq(adp_counted(&b->counters.punts[why[_i]]), 1);
    memset(calls, 0, sizeof calls);
}
END_TEST

/* Behind a punted one. */
START_TEST(waited_for_behind_punted)
{
    atomic_count_set(&adp_catch_n_armed, 1);
    says.caught = 2;
    says.punt = ADP_PUNT_NORMAL;
    says.known = ADP_FAST_NOT_REFUSED;
    receive(2, PORT, 2);
    ck_assert_int_eq(catch_walk.verdict.punt, ADP_PUNT_BEHIND);
    memset(calls, 0, sizeof calls);
}
END_TEST

START_TEST(waited_for_and_closed)
{
    atomic_count_set(&adp_catch_n_armed, 1);
    set_mode(ADP_MODE_CLOSED);
    says.caught = 2;
    receive(3, PORT, 0);
    expect("??0!?");
    ck_assert_uint_eq(n_lost, 3);
}
END_TEST

/* Samples. */

static void
set_sampled(size_t i)
{
    atomic_store_relaxed(&adp_sample_rate, 1);
    says.sampled = i;
}

/* A train is cut before the sampled packet, which goes alone, and whatever is
 * behind it goes on as if nothing had been. */
START_TEST(sampled_in_train)
{
    says.has_session = says.is_train = true;
    set_sampled(2);
    receive(4, PORT, 0);
    expect("(=f[us]F.)");
    ck_assert_uint_eq(n_compiled, 4);
    ck_assert_uint_eq(adp_counted(&b->counters.sampled), 1);
    ck_assert_uint_eq(adp_counted(&b->counters.samples_lost), 0);
    ck_assert_uint_eq(sample.flow.in_port.ofp_port, u16_to_ofp(PORT));

    /* None of this batch. */
    set_sampled(0);
    receive(4, PORT, 0);
    expect("(=F.)");
    ck_assert_uint_eq(adp_counted(&b->counters.sampled), 1);
}
END_TEST

/* Nothing happens to the packet that didn't happen without. */
START_TEST(sampled_walk)
{
    set_sampled(1);
    receive(1, PORT, 0);
    expect("([usRwSWnato].)");
    ck_assert_int_eq(sample.punt, ADP_PUNT_NONE);
    ck_assert_uint_eq(adp_counted(&b->counters.decides), 1);
    ck_assert_uint_eq(adp_counted(&b->counters.handled), 1);
}
END_TEST

/* The same, by upstream's executor: what was noted first doesn't hold. */
START_TEST(sampled_and_executed)
{
    says.is_applied = false;
    set_sampled(1);
    receive(1, PORT, 0);
    expect("([usRwSWnadx].)");
}
END_TEST

START_TEST(sampled_replay)
{
    static char slot[4096] OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
    static struct adp_store_public store = { .slots = slot };

    cache.verdicts = (struct adp_store *) (void *) &store;
    says.has_cached_walk = true;
    set_sampled(1);
    receive(1, PORT, 0);
    expect("([usRSNarto].)");
}
END_TEST

/* A punted one is one of which nothing is known but that. */
START_TEST(sampled_and_punted)
{
    says.punt = ADP_PUNT_NORMAL;
    set_sampled(1);
    receive(1, PORT, 1);
    ck_assert_int_eq(sample.punt, ADP_PUNT_NORMAL);
    ck_assert_ptr_null(strpbrk(calls, "Nnd"));
    ck_assert_ptr_nonnull(strchr(calls, ']'));
    memset(calls, 0, sizeof calls);
}
END_TEST

/* Without a place for its sample a packet goes as any other. */
START_TEST(no_sample)
{
    says.has_session = true;
    says.no_room_for_sample = _i == 0;
    says.sample_is_busy = _i == 1;
    set_sampled(2);
    receive(3, PORT, 0);
    expect("(f[ff.)");
    ck_assert_uint_eq(adp_counted(&b->counters.sampled), 0);
    ck_assert_uint_eq(adp_counted(&b->counters.samples_lost), _i == 0);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("input");
    TCase *tc = tcase_create("input");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, not_ours);
    tcase_add_test(tc, closed);
    tcase_add_test(tc, stock);
    tcase_add_test(tc, session);
    tcase_add_test(tc, marked);
    tcase_add_test(tc, train);
    tcase_add_test(tc, walked);
    tcase_add_test(tc, unparsed);
    tcase_add_loop_test(tc, not_remembered, 0, 4);
    tcase_add_test(tc, uncacheable);
    tcase_add_test(tc, no_tcp_flags);
    tcase_add_loop_test(tc, flow_labels, 0, 2);
    tcase_add_loop_test(tc, flow_labels_matter_meanwhile, 0, 2);
    tcase_add_test(tc, into_tunnel);
    tcase_add_loop_test(tc, executor, 0, 5);
    tcase_add_test(tc, learned);
    tcase_add_test(tc, rejected);
    tcase_add_test(tc, replayed);
    tcase_add_loop_test(tc, not_replayed, 0, 3);
    tcase_add_loop_test(tc, punted, 0, 2);
    tcase_add_loop_test(tc, refused_behind_punted, 0, 2);
    tcase_add_loop_test(tc, logged_behind_punted, 0, 2);
    tcase_add_loop_test(tc, known_behind_punted, ADP_FAST_NOT_REFUSED,
                        ADP_FAST_REFUSED + 1);
    tcase_add_test(tc, read_by_the_daemon);
    tcase_add_loop_test(tc, read_behind_punted, 0, 2);
    tcase_add_test(tc, fragment);
    tcase_add_test(tc, kind_of_earlier_ports);
    tcase_add_test(tc, no_bridges);
    tcase_add_test(tc, too_deep);
    tcase_add_test(tc, metered);
    tcase_add_test(tc, to_controllers);
    tcase_add_test(tc, cut_before_a_break);
    tcase_add_test(tc, metered_before_a_pass);
    tcase_add_test(tc, metered_before_an_answer);
    tcase_add_test(tc, tunnels_own);
    tcase_add_test(tc, drops);
    tcase_add_test(tc, runt);
    tcase_add_test(tc, waited_for);
    tcase_add_test(tc, waited_for_anew);
    tcase_add_loop_test(tc, waited_for_and_punted, 0, 3);
    tcase_add_test(tc, waited_for_behind_punted);
    tcase_add_test(tc, waited_for_and_closed);
    tcase_add_test(tc, sampled_in_train);
    tcase_add_test(tc, sampled_walk);
    tcase_add_test(tc, sampled_and_executed);
    tcase_add_test(tc, sampled_replay);
    tcase_add_test(tc, sampled_and_punted);
    tcase_add_loop_test(tc, no_sample, 0, 2);
    suite_add_tcase(s, tc);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* From messages of IGMP to records of groups, queries and reports. */

#include <config.h>
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adp-members.h"
#include "multicast-world.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"

static void
delete(const char *kind, const char *name)
{
    char *text = xasprintf("{'kind':'%s','name':'%s'}", kind, name);
    struct json *keys = json_array_from_quoted(text);

    ck_assert(!adp_model_delete(model, keys, false, NULL));
    json_destroy(keys);
    free(text);
    state.generation++;
}

static void
leave(uint16_t port, uint32_t group)
{
    typed_message(port, 0, ADP_IGMP_TYPE_LEAVE_V2, group);
}

/* Changes of records are no closer to each other. */
enum { PACE_MS = 100 };

static void
next_pace(void)
{
    now += PACE_MS;
    run();
}

static void
expect_groups(const char *expected)
{
    struct json *groups = adp_multicast_get(m, model);
    char *text = json_to_quoted(groups);

    ck_assert_str_eq(text, expected);
    free(text);
    json_destroy(groups);
}

static void
expect_said(size_t n_calls, const char *expected)
{
    ck_assert_uint_eq(calls.n, n_calls);
    ck_assert(calls.ignored_missing);

    char *apply = json_to_quoted(calls.apply);
    char *delete = json_to_quoted(calls.delete);
    char *said = xasprintf("%s %s", apply, delete);
    ck_assert_str_eq(said, expected);
    free(said);
    free(delete);
    free(apply);
}

static void
expect_told(const char *expected)
{
    ck_assert_str_eq(ds_cstr(&told), expected);
    ds_clear(&told);
}

/* Asking. */

START_TEST(queries)
{
    run();
    ck_assert_uint_eq(n_queries, 0);
    ck_assert_int_eq(next_wake(), now + 1000);
    now += 999;
    run();
    ck_assert_uint_eq(n_queries, 0);
    now++;
    run();
    ck_assert_uint_eq(n_queries, 1);
    ck_assert_uint_eq(max_response, 10);
    ck_assert_uint_eq(n_reports, 0);    /* There is nothing to tell. */
    ck_assert_int_eq(next_wake(), now + INTERVAL_MS);

    now += INTERVAL_MS - 1;
    run();
    ck_assert_uint_eq(n_queries, 1);
    now++;
    run();
    ck_assert_uint_eq(n_queries, 2);
    ck_assert_uint_eq(max_response, 100);
    ck_assert_int_eq(stat_of("queries"), 2);

    /* The same interval is no change, another one begins at once. */
    adp_multicast_set_interval(m, ADP_MULTICAST_DEFAULT_INTERVAL);
    run();
    ck_assert_uint_eq(n_queries, 2);
    adp_multicast_set_interval(m, 4);
    run();
    ck_assert_uint_eq(n_queries, 3);
    ck_assert_uint_eq(max_response, 20);
    ck_assert_int_eq(next_wake(), now + 4000);
    ck_assert_uint_eq(calls.n, 0);
}
END_TEST

/* Who comes is asked a second later, who goes needn't be. */
START_TEST(others_come)
{
    run();
    now += 1000;
    run();
    ck_assert_uint_eq(n_queries, 1);

    now += 5000;
    delete("Pod", "d/one");
    run();
    ck_assert_int_eq(next_wake(), now - 5000 + INTERVAL_MS);
    apply("{'kind':'Pod','name':'d/new','port':'p3',"
          "'mac':'00:00:00:00:00:03','ips':['10.0.0.13']}");
    run();
    ck_assert_int_eq(next_wake(), now + 1000);
    now += 1000;
    run();
    ck_assert_uint_eq(n_queries, 2);

    apply("{'kind':'PeerNode','name':'new','podCIDR':'10.0.2.0/24',"
          "'gatewayIP':'10.0.2.1','transportIP':'192.168.0.3'}");
    run();
    ck_assert_int_eq(next_wake(), now + 1000);

    /* Without a Node there is nobody who could ask, until other records come. */
    delete("NodeConfig", "n");
    now += 1000;
    run();
    ck_assert_uint_eq(n_queries, 2);
    ck_assert_int_eq(next_wake(), LLONG_MAX);
    apply(a_node);
    run();
    ck_assert_int_eq(next_wake(), now + 1000);

    /* Ports change, too. */
    now += 1000;
    run();
    ck_assert_uint_eq(n_queries, 3);
    no_p3 = true;
    run();
    join(3, G1);
    run();
    ck_assert_int_eq(stat_of("strange"), 0);
    state.ports_seq++;
    join(3, G1);
    run();
    ck_assert_int_eq(stat_of("strange"), 1);
}
END_TEST

/* A query that couldn't be sent was none. */
START_TEST(no_query)
{
    no_gateway = true;
    run();
    now += 1000;
    run();
    ck_assert_int_eq(stat_of("queries"), 0);
    no_gateway = false;
    now += INTERVAL_MS;
    run();
    ck_assert_uint_eq(max_response, 10);
    ck_assert_int_eq(stat_of("queries"), 1);
}
END_TEST

/* Members. */

START_TEST(joins_and_leaves)
{
    join(1, G1);
    run();
    expect_said(1, "[{'kind':'MulticastGroup','name':'239.1.1.1',"
                "'ports':['p1']}] []");
    expect_told("+239.1.1.1 to 192.168.0.2;");
    expect_groups("[{'name':'239.1.1.1','nodes':[],'pods':['d/one']}]");
    ck_assert_int_eq(stat_of("joined"), 1);
    ck_assert_int_eq(stat_of("read"), 1);
    ck_assert_int_eq(stat_of("reports"), 1);

    /* Again is no news. */
    join(1, G1);
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_int_eq(stat_of("joined"), 1);

    /* With all there is at the interval. */
    now += 1000;
    run();
    expect_told("+239.1.1.1 to 192.168.0.2;");

    typed_message(0, PEER, ADP_IGMP_TYPE_REPORT_V2, G1);
    leave(1, G1);
    run();
    expect_said(2, "[{'kind':'MulticastGroup','name':'239.1.1.1',"
                "'nodes':['192.168.0.2'],'ports':[]}] []");
    expect_told("-239.1.1.1 to 192.168.0.2;");
    ck_assert_int_eq(stat_of("left"), 1);
    ck_assert_int_eq(stat_of("nodes"), 1);

    /* Other Nodes' members they tell themselves. */
    now += INTERVAL_MS;
    typed_message(0, PEER, ADP_IGMP_TYPE_LEAVE_V2, G1);
    run();
    expect_said(3, "[] [{'kind':'MulticastGroup','name':'239.1.1.1'}]");
    expect_told("");
    expect_groups("[]");
    leave(1, G1);
    run();
    ck_assert_int_eq(stat_of("left"), 2);
    ck_assert_uint_eq(calls.n, 3);
}
END_TEST

/* Nobody is told of another Node's members, nor again of this Node's when
 * another's come or go. */
START_TEST(members_of_others)
{
    typed_message(0, PEER, ADP_IGMP_TYPE_REPORT_V2, G1);
    run();
    expect_said(1, "[{'kind':'MulticastGroup','name':'239.1.1.1',"
                "'nodes':['192.168.0.2'],'ports':[]}] []");
    expect_told("");
    now += 1000;
    typed_message(0, PEER, ADP_IGMP_TYPE_LEAVE_V2, G1);
    run();
    expect_said(2, "[] [{'kind':'MulticastGroup','name':'239.1.1.1'}]");
    expect_told("");

    join(1, G1);
    next_pace();
    expect_told("+239.1.1.1 to 192.168.0.2;");
    typed_message(0, PEER, ADP_IGMP_TYPE_REPORT_V2, G1);
    join(2, G1);
    next_pace();
    ck_assert_uint_eq(calls.n, 4);
    expect_told("");
    now += 1000;
    typed_message(0, PEER, ADP_IGMP_TYPE_LEAVE_V2, G1);
    leave(2, G1);
    run();
    ck_assert_uint_eq(calls.n, 5);
    expect_told("");
    leave(1, G1);
    next_pace();
    expect_told("-239.1.1.1 to 192.168.0.2;");
    ck_assert_uint_eq(n_reports, 2);
}
END_TEST

/* Three intervals. */
START_TEST(expiry)
{
    join(1, G1);
    run();
    now += 3 * INTERVAL_MS - 1;
    run();
    ck_assert_int_eq(stat_of("expired"), 0);
    ck_assert_int_eq(next_wake(), now + 1);
    now++;
    run();
    ck_assert_int_eq(stat_of("expired"), 1);
    expect_said(2, "[] [{'kind':'MulticastGroup','name':'239.1.1.1'}]");
}
END_TEST

START_TEST(strangers)
{
    join(7, G1);
    typed_message(1, PEER + 1, ADP_IGMP_TYPE_REPORT_V2, G1);
    run();
    ck_assert_int_eq(stat_of("strange"), 2);
    typed_message(1, 0, ADP_IGMP_TYPE_QUERY, 0);
    join(1, 0xe0000001);
    join(1, 0x0a000001);
    run();
    ck_assert_int_eq(stat_of("other"), 3);
    message(1, 0, "abcdefgh", 8);
    run();
    ck_assert_int_eq(stat_of("malformed"), 1);
    ck_assert_int_eq(stat_of("read"), 6);
    ck_assert_int_eq(stat_of("messages"), 6);
    ck_assert_uint_eq(calls.n, 0);
}
END_TEST

/* Records go, and their members with them. */
START_TEST(records_go)
{
    join(1, G1);
    join(2, G1);
    typed_message(0, PEER, ADP_IGMP_TYPE_REPORT_V2, G1);
    run();
    expect_said(1, "[{'kind':'MulticastGroup','name':'239.1.1.1',"
                "'nodes':['192.168.0.2'],'ports':['p1','p2']}] []");
    delete("Pod", "d/one");
    delete("PeerNode", "peer");
    next_pace();
    expect_said(2, "[{'kind':'MulticastGroup','name':'239.1.1.1',"
                "'ports':['p2']}] []");
    expect_groups("[{'name':'239.1.1.1','nodes':[],'pods':['d/ruled']}]");
}
END_TEST

/* A Pod that has gone and come back before anybody looked is another one; one
 * that has changed isn't. */
START_TEST(another_of_the_same_name)
{
    join(1, G1);
    join(2, G1);
    run();
    now += 1000;
    run();
    ck_assert_uint_eq(n_queries, 1);
    apply("{'kind':'Pod','name':'d/ruled','port':'p2',"
          "'mac':'00:00:00:00:00:22','ips':['10.0.0.12']}");
    next_pace();
    expect_groups("[{'name':'239.1.1.1','nodes':[],"
                  "'pods':['d/one','d/ruled']}]");
    ck_assert_int_gt(next_wake(), now + 1000);

    delete("Pod", "d/one");
    apply("{'kind':'Pod','name':'d/one','port':'p1',"
          "'mac':'00:00:00:00:00:01','ips':['10.0.0.11']}");
    next_pace();
    expect_groups("[{'name':'239.1.1.1','nodes':[],'pods':['d/ruled']}]");
    now += 1000;
    run();
    ck_assert_uint_eq(n_queries, 2);
}
END_TEST

/* What a port said before it went isn't said by the one that has its number
 * now. */
START_TEST(another_of_the_same_number)
{
    run();
    join(1, G1);
    join(2, G1);
    ports_lost++;
    delete("Pod", "d/one");
    apply("{'kind':'Pod','name':'d/new','port':'q1',"
          "'mac':'00:00:00:00:00:01','ips':['10.0.0.11']}");
    run();
    expect_groups("[{'name':'239.1.1.1','nodes':[],'pods':['d/ruled']}]");
    ck_assert_int_eq(stat_of("strange"), 1);
    join(1, G1);
    next_pace();
    expect_groups("[{'name':'239.1.1.1','nodes':[],"
                  "'pods':['d/ruled','d/new']}]");
}
END_TEST

/* The 'i'th one after PEER. */
static void
apply_peer(int i)
{
    char *peer = xasprintf(
        "{'kind':'PeerNode','name':'peer%d','podCIDR':'10.0.%d.0/24',"
        "'gatewayIP':'10.0.%d.1','transportIP':'192.168.0.%d'}",
        i, i + 1, i + 1, i + 2);

    apply(peer);
    free(peer);
}

START_TEST(bounds)
{
    for (int i = 0; i <= ADP_MEMBERS_MAX_OF_PORT; i++) {
        join(1, G1 + i);
        run();
    }
    ck_assert_int_eq(stat_of("port_full"), 1);
    ck_assert_int_eq(stat_of("members"), ADP_MEMBERS_MAX_OF_PORT);
    for (int i = 0; i <= ADP_MEMBERS_MAX_OF_NODE; i++) {
        typed_message(0, PEER, ADP_IGMP_TYPE_REPORT_V2, G1 + i);
        run();
    }
    ck_assert_int_eq(stat_of("node_full"), 1);
    ck_assert_int_eq(stat_of("nodes"), ADP_MEMBERS_MAX_OF_NODE);
    ck_assert_int_eq(stat_of("groups"), ADP_MEMBERS_MAX_OF_NODE);

    /* Of several Nodes. */
    for (int i = ADP_MEMBERS_MAX_OF_NODE; i <= ADP_MEMBERS_MAX_GROUPS; i++) {
        int node = i / ADP_MEMBERS_MAX_OF_NODE;

        if (i % ADP_MEMBERS_MAX_OF_NODE == 0) {
            apply_peer(node);
        }
        typed_message(0, PEER + node, ADP_IGMP_TYPE_REPORT_V2, G1 + i);
        run();
    }
    ck_assert_int_eq(stat_of("full"), 1);
    ck_assert_int_eq(stat_of("node_full"), 1);
    ck_assert_int_eq(stat_of("groups"), ADP_MEMBERS_MAX_GROUPS);
}
END_TEST

/* More groups than one report has room for; a full one leaves none behind. */
START_TEST(long_reports)
{
    for (int i = 0; i < ADP_IGMP_REPORT_MAX_RECORDS; i++) {
        join(1 + i % 2, G1 + i);
        run();
    }
    next_pace();
    n_reports = 0;
    now += 1000;
    run();
    ck_assert_uint_eq(n_reports, 1);
    join(1, G1 - 1);
    run();
    n_reports = 0;
    now += INTERVAL_MS;
    run();
    ck_assert_uint_eq(n_reports, 2);
}
END_TEST

/* Returns in how many turns all that there is to tell was told. */
static size_t
tell_all(void)
{
    size_t n_turns = 0;

    n_reports = 0;
    do {
        size_t before = n_reports;

        run();
        n_turns++;
        ck_assert_uint_le(n_reports - before, slice_items);
    } while (next_wake() <= now);
    return n_turns;
}

/* Telling many Nodes of many groups takes many turns, none of them longer than
 * its slice. */
START_TEST(many_nodes)
{
    enum { N_NODES = 20, N_GROUPS = ADP_IGMP_REPORT_MAX_RECORDS + 2 };

    delete("PeerNode", "peer");
    for (int i = 0; i < N_NODES; i++) {
        char *peer = xasprintf(
            "{'kind':'PeerNode','name':'n%d','podCIDR':'10.0.%d.0/24',"
            "'gatewayIP':'10.0.%d.1','transportIP':'192.168.1.%d'}",
            i, i + 1, i + 1, i);

        apply(peer);
        free(peer);
    }
    for (int i = 0; i < N_GROUPS; i++) {
        join(1 + i % 2, G1 + i);
        adp_multicast_run(m, a_state, true);
    }
    now += 1000;
    run();                      /* All of it, once. */
    ck_assert_int_gt(next_wake(), now);

    /* At the interval. */
    slice_items = 7;
    now += INTERVAL_MS;
    ck_assert_uint_ge(tell_all(), 2 * N_NODES / 7);
    ck_assert_uint_eq(n_reports, 2 * N_NODES);

    /* A change; what comes meanwhile comes behind it. */
    ds_clear(&told);
    join(1, G1 + N_GROUPS);
    run();
    join(2, G1 + N_GROUPS + 1);
    now += PACE_MS;
    ck_assert_uint_ge(tell_all(), (2 * N_NODES - 7) / 7);
    ck_assert_uint_eq(n_reports, 2 * N_NODES - 7);
    ck_assert_str_eq(strrchr(ds_cstr(&told), '+'),
                     "+239.1.1.132 to 192.168.1.19;");
}
END_TEST

/* It waits for a NodeConfig, and while others change the state. */
START_TEST(telling_waits)
{
    delete("NodeConfig", "n");
    apply("{'kind':'PeerNode','name':'peer3','podCIDR':'10.0.2.0/24',"
          "'gatewayIP':'10.0.2.1','transportIP':'192.168.0.3'}");
    join(1, G1);
    run();
    expect_told("");
    ck_assert_int_gt(next_wake(), now);
    slice_items = 1;
    apply(a_node);
    run();
    expect_told("+239.1.1.1 to 192.168.0.2;");
    ck_assert_int_eq(next_wake(), now);
    calls.busy = true;
    ck_assert_int_gt(next_wake(), now);
    run();
    expect_told("");
    ck_assert_int_gt(next_wake(), now);
    calls.busy = false;
    ck_assert_int_eq(next_wake(), now);
    run();
    expect_told("+239.1.1.1 to 192.168.0.3;");
    run();
    ck_assert_int_gt(next_wake(), now);
}
END_TEST

/* Rules. */

static void
expect_count(uint64_t n_packets)
{
    struct adp_multicast_counts counts;

    adp_multicast_counts_init(&counts, m);
    if (n_packets) {
        ck_assert(adp_multicast_counts_next(&counts));
        ck_assert_uint_eq(counts.conj_id, state.conj_id);
        ck_assert_uint_eq(counts.n_packets, n_packets);
        ck_assert_uint_eq(counts.n_bytes, n_packets * 8);
    }
    ck_assert(!adp_multicast_counts_next(&counts));
}

START_TEST(rules)
{
    state.conj_id = 5;
    join(2, G1);
    join(1, G1);
    run();
    expect_groups("[{'name':'239.1.1.1','nodes':[],"
                  "'pods':['d/one','d/ruled']}]");
    expect_count(1);
    ck_assert_int_eq(stat_of("denied"), 0);
    now += 1000;

    /* Who may not leave stays; who may not join is none any more.  Nobody asks
     * rules about Nodes. */
    state.denies = true;
    typed_message(0, PEER, ADP_IGMP_TYPE_REPORT_V2, G1);
    leave(2, G1);
    run();
    expect_count(2);
    ck_assert_int_eq(stat_of("left"), 0);
    ck_assert_int_eq(stat_of("denied"), 1);
    join(2, G1);
    run();
    ck_assert_int_eq(stat_of("left"), 1);
    ck_assert_int_eq(stat_of("denied"), 2);
    next_pace();
    expect_groups("[{'name':'239.1.1.1','nodes':['192.168.0.2'],"
                  "'pods':['d/one']}]");
    expect_count(3);

    /* A rule's count lives as long as it. */
    state.generation++;
    run();
    expect_count(3);
    state.is_gone = true;
    state.generation++;
    run();
    expect_count(0);
}
END_TEST

/* Messages wait until the rules are known again, which a transaction brings
 * about, even an empty one. */
START_TEST(rules_forgotten)
{
    state.forgot_rules = true;
    join(1, G1);
    run();
    expect_said(1, "[] []");
    ck_assert_int_eq(stat_of("read"), 0);
    state.forgot_rules = false;
    next_pace();
    ck_assert_int_eq(stat_of("read"), 1);
    ck_assert_uint_eq(calls.n, 2);
}
END_TEST

/* Transactions. */

START_TEST(one_at_a_time)
{
    calls.later = true;
    join(1, G1);
    run();
    now += 1000;
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_int_eq(next_wake(), now + INTERVAL_MS);
    join(1, G1 + 1);
    ck_assert_int_eq(next_wake(), now);
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_int_eq(next_wake(), now + INTERVAL_MS);
    end_call();
    ck_assert_int_eq(next_wake(), now);
    run();
    expect_said(2, "[{'kind':'MulticastGroup','name':'239.1.1.2',"
                "'ports':['p1']}] []");
    end_call();
    run();
    ck_assert_uint_eq(calls.n, 2);
}
END_TEST

START_TEST(busy_state)
{
    calls.busy = calls.others_are_next = true;
    join(1, G1);
    run();
    ck_assert_int_eq(stat_of("read"), 0);
    ck_assert_int_eq(next_wake(), LLONG_MAX);

    /* Who ends what was under way may be the last one in a turn. */
    calls.busy = false;
    ck_assert_int_eq(next_wake(), now);
    run();
    ck_assert_int_eq(stat_of("read"), 1);
    ck_assert_uint_eq(calls.n, 0);
    calls.others_are_next = false;
    run();
    ck_assert_uint_eq(calls.n, 1);

    /* Something to change doesn't wake it up either. */
    calls.busy = true;
    now += 3 * INTERVAL_MS;
    run();
    ck_assert_int_eq(stat_of("expired"), 1);
    ck_assert_int_eq(next_wake(), LLONG_MAX);
    calls.busy = false;
    ck_assert_int_eq(next_wake(), now);
    run();
    ck_assert_uint_eq(calls.n, 2);
}
END_TEST

/* All groups again, a second later. */
START_TEST(failure)
{
    run();
    now += 1000;
    run();                      /* Asks, and not so soon again. */
    join(1, G1);
    run();
    calls.fails = true;
    join(1, G1 + 1);
    next_pace();
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_int_eq(stat_of("failed"), 1);
    expect_groups("[{'name':'239.1.1.1','nodes':[],'pods':['d/one']}]");
    ck_assert_int_eq(next_wake(), now + 1000);
    now += 999;
    run();
    ck_assert_uint_eq(calls.n, 2);
    calls.fails = false;
    now++;
    run();
    expect_said(3, "[{'kind':'MulticastGroup','name':'239.1.1.1',"
                "'ports':['p1']},"
                "{'kind':'MulticastGroup','name':'239.1.1.2',"
                "'ports':['p1']}] []");
    ck_assert_int_eq(stat_of("failed"), 1);
    next_pace();
    ck_assert_uint_eq(calls.n, 3);
}
END_TEST

/* Without multicast nothing stays, nobody is told, and messages are lost. */
START_TEST(inactive)
{
    run();
    now += 1000;
    run();
    now += INTERVAL_MS;
    join(1, G1);
    run();
    ck_assert_uint_eq(max_response, 100);
    ds_clear(&told);

    join(1, G1 + 1);
    now += PACE_MS;
    adp_multicast_run(m, a_state, false);
    come_into_force();
    expect_said(2, "[] [{'kind':'MulticastGroup','name':'239.1.1.1'}]");
    expect_told("");
    expect_groups("[]");
    ck_assert_int_eq(next_wake(), LLONG_MAX);
    adp_multicast_set_interval(m, 50);
    ck_assert_int_eq(next_wake(), LLONG_MAX);

    /* It begins anew. */
    run();
    ck_assert_int_eq(stat_of("read"), 1);
    ck_assert_int_eq(next_wake(), now + 1000);
    now += 1000;
    run();
    ck_assert_uint_eq(max_response, 10);
    ck_assert_int_eq(next_wake(), now + 50000);
}
END_TEST

/* Nor without a state, which comes with a pipeline. */
START_TEST(no_state)
{
    join(1, G1);
    run();
    join(1, G1 + 1);
    run_with = NULL;
    adp_multicast_run(m, NULL, true);
    ck_assert_int_eq(stat_of("groups"), 0);
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_int_eq(next_wake(), LLONG_MAX);
    now += PACE_MS;
    adp_multicast_run(m, a_state, false);
    ck_assert_uint_eq(calls.n, 2);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("multicast");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120); /* For slow machines. */
    tcase_add_test(tc, queries);
    tcase_add_test(tc, others_come);
    tcase_add_test(tc, no_query);
    tcase_add_test(tc, joins_and_leaves);
    tcase_add_test(tc, members_of_others);
    tcase_add_test(tc, expiry);
    tcase_add_test(tc, strangers);
    tcase_add_test(tc, records_go);
    tcase_add_test(tc, another_of_the_same_name);
    tcase_add_test(tc, another_of_the_same_number);
    tcase_add_test(tc, bounds);
    tcase_add_test(tc, long_reports);
    tcase_add_test(tc, many_nodes);
    tcase_add_test(tc, telling_waits);
    tcase_add_test(tc, rules);
    tcase_add_test(tc, rules_forgotten);
    tcase_add_test(tc, one_at_a_time);
    tcase_add_test(tc, busy_state);
    tcase_add_test(tc, failure);
    tcase_add_test(tc, inactive);
    tcase_add_test(tc, no_state);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

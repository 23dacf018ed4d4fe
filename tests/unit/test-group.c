/* SPDX-License-Identifier: Apache-2.0 */

/* Groups: which bucket a packet gets and what it sees there. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "coverage.h"
#include "engine-fixture.h"
#include "hash.h"
#include "packets.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

#define TCP "in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64," \
    "tp_src=1000,tp_dst=80"

/* The method of the "select" groups that are added, or "". */
static const char *method = "";

/* Adds a "select" group 1 with buckets that load their number, from 0, except
 * the numbers for which weights[] is -1, which are left out. */
static void
add_select_group(const int weights[], size_t n)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "group_id=1,type=select%s", method);
    for (size_t i = 0; i < n; i++) {
        if (weights[i] >= 0) {
            ds_put_format(&s, ",bucket=bucket_id:%"PRIuSIZE",weight:%d,"
                          "actions=load:%"PRIuSIZE"->NXM_NX_REG0[],"
                          "resubmit(,1)", i, weights[i], i);
        }
    }
    engine_add_group(e, ds_cstr(&s));
    ds_destroy(&s);
}

/* The number loaded for connection 'i'. */
static int
bucket_of(int i)
{
    struct flow flow;

    engine_parse_packet(TCP, &flow);
    flow.nw_src = htonl(0x0a000000 + i / 50000);
    flow.tp_src = htons(i % 50000);
    engine_run_flow(e, &flow);
    return e->flow.regs[0];
}

static void
count_buckets(int n_conns, int counts[], size_t n)
{
    memset(counts, 0, n * sizeof *counts);
    for (int i = 0; i < n_conns; i++) {
        int bucket = bucket_of(i);

        ck_assert_int_lt(bucket, n);
        counts[bucket]++;
    }
}

static void
add_flows(void)
{
    engine_add_flows(e, "table=0,ip actions=group:1\n"
                     "table=1 actions=load:1->NXM_NX_REG1[]");
}

START_TEST(test_weights)
{
    static const int weights[] = { 100, 200, 0, 100 };
    int counts[4];

    add_flows();
    add_select_group(weights, 4);
    count_buckets(20000, counts, 4);
    ck_assert_int_eq(counts[2], 0);
    ck_assert_int_ge(counts[0], 4500);
    ck_assert_int_le(counts[0], 5500);
    ck_assert_int_ge(counts[1], 9400);
    ck_assert_int_le(counts[1], 10600);
}
END_TEST

START_TEST(test_slots_are_fair)
{
    /* Very uneven weights: nobody starves. */
    struct adp_group *group = engine_parse_group(
        "group_id=1,type=select,bucket=weight:1,actions=output:1,"
        "bucket=weight:65535,actions=output:2,"
        "bucket=weight:65535,actions=output:3");
    size_t counts[3] = { 0 };

    for (size_t i = 0; i < group->n_slots; i++) {
        ck_assert_uint_lt(adp_group_slot(group, i), 3);
        counts[adp_group_slot(group, i)]++;
    }
    ck_assert_uint_eq(counts[0], 1);
    ck_assert_uint_le(MAX(counts[1], counts[2]) - MIN(counts[1], counts[2]),
                      1);
    adp_group_unref(group);
}
END_TEST

/* The share of each of many equal buckets is even, and what they take is in
 * proportion to their number; more than fit 16 bits do as well. */
START_TEST(test_slots_of_many_buckets)
{
    static const size_t ns[] = { 1, 30, 1000, 70000 };

    for (size_t i = 0; i < ARRAY_SIZE(ns); i++) {
        struct ds s = DS_EMPTY_INITIALIZER;
        size_t *counts = xcalloc(ns[i], sizeof *counts);
        size_t least = SIZE_MAX, most = 0;

        ds_put_cstr(&s, "group_id=1,type=select");
        for (size_t j = 0; j < ns[i]; j++) {
            ds_put_format(&s, ",bucket=bucket_id:%"PRIuSIZE",weight:100,"
                          "actions=load:%"PRIuSIZE"->NXM_NX_REG0[]", j, j);
        }
        struct adp_group *group = engine_parse_group(ds_cstr(&s));
        for (size_t j = 0; j < group->n_slots; j++) {
            ck_assert_uint_lt(adp_group_slot(group, j), ns[i]);
            counts[adp_group_slot(group, j)]++;
        }
        for (size_t j = 0; j < ns[i]; j++) {
            least = MIN(least, counts[j]);
            most = MAX(most, counts[j]);
        }
        ck_assert_uint_ge(least, 32);
        ck_assert_uint_le(most, least + 1);
        ck_assert_uint_le(group->n_slots, MAX(1024, 32 * 4 * ns[i]));
        adp_group_unref(group);
        free(counts);
        ds_destroy(&s);
    }
}
END_TEST

/* Looks at slots to fill them, as a daemon shows it ("coverage/show"). */
extern struct coverage_counter counter_adp_group_look;

enum { N_CHOSEN = 48, N_CHOSEN_SLOTS = 4096 };

/* Hashes of the actions "load:NUMBER->...", if it isn't 0. */
static uint32_t chosen[N_CHOSEN];

__typeof__(hash_bytes) __real_hash_bytes, __wrap_hash_bytes;

uint32_t
__wrap_hash_bytes(const void *p, size_t n, uint32_t basis)
{
    char *text = xmemdup0(p, n);
    unsigned int i;
    bool is_chosen = (ovs_scan(text, "load:%i->", &i) && i < N_CHOSEN
                      && chosen[i]);

    free(text);
    return is_chosen ? chosen[i] : __real_hash_bytes(p, n, basis);
}

/* Buckets that somebody chose so that they want slots in one order have their
 * shares, and take not so many times the looks of others. */
START_TEST(test_slots_chosen)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    uint32_t mask = N_CHOSEN_SLOTS - 1, identity = 0;
    unsigned int n_looks;

    ds_put_cstr(&s, "group_id=1,type=select");
    for (int i = 0; i < N_CHOSEN; i++) {
        ds_put_format(&s, ",bucket=bucket_id:%d,weight:100,"
                      "actions=load:%d->NXM_NX_REG0[],resubmit(,1)", i, i);
    }
    counter_adp_group_look.count();
    adp_group_unref(engine_parse_group(ds_cstr(&s)));
    n_looks = counter_adp_group_look.count();
    ck_assert_uint_gt(n_looks, N_CHOSEN_SLOTS);
    ck_assert_uint_le(n_looks, 16 * N_CHOSEN_SLOTS);

    for (int i = 0; i < N_CHOSEN; i++) {
        do {
            ck_assert_uint_ne(++identity, 0);
        } while (hash_2words(identity, 0) & mask
                 || hash_2words(0, identity) & mask & ~1);
        chosen[i] = identity;
    }
    struct adp_group *group = engine_parse_group(ds_cstr(&s));
    n_looks = counter_adp_group_look.count();
    ck_assert_uint_eq(group->n_slots, N_CHOSEN_SLOTS);
    ck_assert_uint_eq(group->buckets[1].identity, chosen[1]);
    ck_assert_uint_le(n_looks, 34 * N_CHOSEN_SLOTS);
    memset(chosen, 0, sizeof chosen);

    size_t counts[N_CHOSEN] = { 0 };
    for (size_t i = 0; i < group->n_slots; i++) {
        counts[adp_group_slot(group, i)]++;
    }
    for (int i = 0; i < N_CHOSEN; i++) {
        ck_assert_uint_ge(counts[i], N_CHOSEN_SLOTS / N_CHOSEN);
        ck_assert_uint_le(counts[i], N_CHOSEN_SLOTS / N_CHOSEN + 1);
    }
    adp_group_unref(group);
    ds_destroy(&s);
}
END_TEST

/* One bucket that outweighs all others takes no longer than others do: asking
 * each in each round would take hours under a sanitizer, and minutes here. */
START_TEST(test_one_heavy_bucket)
{
    enum { N = 70000 };
    struct ds s = DS_EMPTY_INITIALIZER;
    size_t *counts = xcalloc(N, sizeof *counts);

    ds_put_cstr(&s, "group_id=1,type=select");
    for (int i = 0; i < N; i++) {
        ds_put_format(&s, ",bucket=bucket_id:%d,weight:%d,"
                      "actions=load:%d->NXM_NX_REG0[]", i, i ? 1 : 65535, i);
    }
    struct adp_group *group = engine_parse_group(ds_cstr(&s));
    for (size_t i = 0; i < group->n_slots; i++) {
        ck_assert_uint_lt(adp_group_slot(group, i), N);
        counts[adp_group_slot(group, i)]++;
    }
    for (size_t i = 1; i < N; i++) {
        ck_assert_uint_ge(counts[i], 1);
        ck_assert_uint_le(counts[i], counts[0] / 65535 + 1);
        ck_assert_uint_ge(counts[i] + 1, counts[0] / 65535);
    }
    adp_group_unref(group);
    free(counts);
    ds_destroy(&s);
}
END_TEST

/* Shares are what they would be if everybody were asked in each round. */
START_TEST(test_shares_by_rounds)
{
    enum { MAX_BUCKETS = 20 };

    test_seed_random();
    for (int round = 0; round < 300; round++) {
        static const int tops[] = { 1, 2, 3, 10, 1000, 65535 };
        int top = tops[random_range(ARRAY_SIZE(tops))];
        size_t n = 1 + random_range(MAX_BUCKETS);
        uint32_t credits[MAX_BUCKETS], weights[MAX_BUCKETS], top_weight = 0;
        size_t counts[MAX_BUCKETS] = { 0 }, shares[MAX_BUCKETS] = { 0 };
        struct ds s = DS_EMPTY_INITIALIZER;

        ds_put_cstr(&s, "group_id=1,type=select");
        for (size_t i = 0; i < n; i++) {
            weights[i] = 1 + random_range(top);
            top_weight = MAX(top_weight, weights[i]);
            ds_put_format(&s, ",bucket=bucket_id:%"PRIuSIZE",weight:%"PRIu32","
                          "actions=load:%"PRIuSIZE"->NXM_NX_REG0[]",
                          i, weights[i], i);
        }
        struct adp_group *group = engine_parse_group(ds_cstr(&s));
        for (size_t i = 0; i < group->n_slots; i++) {
            counts[adp_group_slot(group, i)]++;
        }

        size_t n_left = group->n_slots, n_last = 0;
        for (size_t i = 0; i < n; i++) {
            credits[i] = top_weight - weights[i];
        }
        while (n_left) {
            bool has_turn[MAX_BUCKETS];
            size_t n_turns = 0;

            for (size_t i = 0; i < n; i++) {
                credits[i] += weights[i];
                has_turn[i] = credits[i] >= top_weight;
                credits[i] -= has_turn[i] ? top_weight : 0;
                n_turns += has_turn[i];
            }
            /* Which of them have the slots that are left is open. */
            for (size_t i = 0; i < n && n_turns <= n_left; i++) {
                shares[i] += has_turn[i];
            }
            for (size_t i = 0; i < n && n_turns > n_left; i++) {
                ck_assert_uint_ge(counts[i], shares[i]);
                ck_assert_uint_le(counts[i], shares[i] + has_turn[i]);
                n_last += counts[i] - shares[i];
                shares[i] = counts[i];
            }
            ck_assert_uint_eq(n_last, n_turns > n_left ? n_left : 0);
            n_left -= MIN(n_turns, n_left);
        }
        for (size_t i = 0; i < n; i++) {
            ck_assert_uint_eq(counts[i], shares[i]);
        }
        adp_group_unref(group);
        ds_destroy(&s);
    }
}
END_TEST

START_TEST(test_many_buckets)
{
    int weights[400], counts[400];

    for (size_t i = 0; i < 400; i++) {
        weights[i] = 100;
    }
    add_flows();
    add_select_group(weights, 400);
    count_buckets(40000, counts, 400);
    for (size_t i = 0; i < 400; i++) {
        ck_assert_int_ge(counts[i], 50);
        ck_assert_int_le(counts[i], 160);
    }
}
END_TEST

/* UDP and SCTP connections between the same addresses spread too. */
START_TEST(test_ports_count)
{
    static const char *protocols[] = { "udp,udp_src", "sctp,sctp_src",
                                       "tcp,tcp_src" };
    static const int weights[] = { 100, 100 };

    add_flows();
    add_select_group(weights, 2);
    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        int counts[2] = { 0 };

        for (int port = 1; port <= 1000; port++) {
            char *packet = xasprintf("in_port=1,%s=%d", protocols[i], port);

            engine_run(e, packet);
            counts[e->flow.regs[0]]++;
            free(packet);
        }
        ck_assert_int_ge(counts[0], 400);
        ck_assert_int_ge(counts[1], 400);
    }
}
END_TEST

/* How many of the choices for 'n' hashes differ between the groups, which both
 * know the buckets by number. */
static size_t
count_moved(const struct adp_group *a, const struct adp_group *b, uint32_t n)
{
    size_t n_moved = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t hash = hash_int(i, 0);
        uint32_t x = adp_group_slot(a, hash % a->n_slots);
        uint32_t y = adp_group_slot(b, hash % b->n_slots);

        n_moved += a->buckets[x].bucket_id != b->buckets[y].bucket_id;
    }
    return n_moved;
}

/* Sets group 1 to 'n' buckets, of which 'heavy' has twice the others' weight
 * and 'none' isn't there, and returns a reference to it. */
static struct adp_group *
set_buckets(size_t n, size_t heavy, size_t none)
{
    int *weights = xmalloc(n * sizeof *weights);

    for (size_t i = 0; i < n; i++) {
        weights[i] = i == none ? -1 : i == heavy ? 200 : 100;
    }
    add_select_group(weights, n);
    free(weights);
    return adp_group_ref(adp_program_get_group(e->program, 1));
}

/* Its shares are those of the weights, to a slot. */
static void
check_shares(const struct adp_group *group)
{
    size_t *counts = xcalloc(group->n_buckets, sizeof *counts);
    uint64_t total = 0;

    for (size_t i = 0; i < group->n_slots; i++) {
        counts[adp_group_slot(group, i)]++;
    }
    for (size_t i = 0; i < group->n_buckets; i++) {
        total += group->buckets[i].weight;
    }
    for (size_t i = 0; i < group->n_buckets; i++) {
        uint64_t due = group->n_slots * (uint64_t) group->buckets[i].weight;

        ck_assert_uint_ge((counts[i] + 1) * total, due);
        ck_assert_uint_le(counts[i] * total, due + 2 * total);
    }
    free(counts);
}

/* When one of N buckets goes or comes, 1/N of the clients' choices move; when
 * the slots must become more for it, too. */
START_TEST(test_moves)
{
    enum { N_CLIENTS = 200000 };
    static const size_t ns[] = { 2, 3, 5, 8, 16, 31, 32, 33, 100, 128, 129,
                                 500 };

    for (size_t i = 0; i < ARRAY_SIZE(ns); i++) {
        size_t n = ns[i];
        struct adp_group *with, *without, *again;
        size_t gone, come;

        with = set_buckets(n, SIZE_MAX, SIZE_MAX);
        without = set_buckets(n, SIZE_MAX, n / 2);
        again = set_buckets(n, SIZE_MAX, SIZE_MAX);
        gone = count_moved(with, without, N_CLIENTS);
        come = count_moved(without, again, N_CLIENTS);
        ck_assert_uint_le(gone * n * 5, N_CLIENTS * 6);
        ck_assert_uint_le(come * n * 5, N_CLIENTS * 6);
        ck_assert_uint_ge(come * n * 5, N_CLIENTS * 4);
        check_shares(with);
        check_shares(without);
        check_shares(again);
        adp_group_unref(with);
        adp_group_unref(without);
        adp_group_unref(again);
    }
}
END_TEST

/* A bucket that becomes heavier takes what it is due, and no others' choices
 * move. */
START_TEST(test_moves_by_weight)
{
    enum { N_CLIENTS = 100000 };
    struct adp_group *equal = set_buckets(9, SIZE_MAX, SIZE_MAX);
    struct adp_group *heavy = set_buckets(9, 4, SIZE_MAX);
    size_t n_moved = count_moved(equal, heavy, N_CLIENTS);

    /* From 1/9 to 2/10. */
    ck_assert_uint_ge(n_moved, N_CLIENTS * 8 / 100);
    ck_assert_uint_le(n_moved, N_CLIENTS * 10 / 100);
    check_shares(heavy);
    adp_group_unref(equal);
    adp_group_unref(heavy);
}
END_TEST

/* Over many changes the shares stay exact, each change moves no more than it
 * must, and a group that became small gives its memory back. */
START_TEST(test_moves_in_a_row)
{
    enum { N_CLIENTS = 20000, MAX = 300 };
    struct adp_group *group = set_buckets(MAX, SIZE_MAX, SIZE_MAX);

    ck_assert_uint_eq(group->n_slots, 16384);
    for (size_t n = MAX - 1; n > 0; n--) {
        struct adp_group *next = set_buckets(n, SIZE_MAX, SIZE_MAX);

        if (next->n_slots >= group->n_slots) {
            ck_assert_uint_le(count_moved(group, next, N_CLIENTS) * (n + 1),
                              N_CLIENTS + N_CLIENTS / 2);
        }
        check_shares(next);
        adp_group_unref(group);
        group = next;
    }
    ck_assert_uint_eq(group->n_slots, 16384);
    adp_group_unref(group);

    adp_group_unref(set_buckets(600, SIZE_MAX, SIZE_MAX));
    group = set_buckets(32, SIZE_MAX, SIZE_MAX);
    ck_assert_uint_eq(group->n_slots, 1024);
    check_shares(group);
    adp_group_unref(group);
}
END_TEST

/* A group of buckets that output to 'ports', with IDs by place. */
static struct adp_group *
parse_outputs(const char *ports)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    int id = 0;

    ds_put_cstr(&s, "group_id=1,type=select");
    for (const char *p = ports; *p; p++) {
        ds_put_format(&s, ",bucket=bucket_id:%d,actions=output:%c", id++, *p);
    }

    struct adp_group *group = engine_parse_group(ds_cstr(&s));
    ds_destroy(&s);
    return group;
}

/* Bucket 'i' of the first group is number 'j' of the other one, or none if 'j'
 * is -1. */
static void
expect_same(const char *before, uint32_t i, const char *after, int j)
{
    struct adp_group *old = parse_outputs(before);
    struct adp_group *new = parse_outputs(after);

    ck_assert_ptr_eq(adp_group_find_bucket(new, old, i),
                     j < 0 ? NULL : &new->buckets[j]);
    adp_group_unref(old);
    adp_group_unref(new);
}

/* Who a bucket is follows from its actions. */
START_TEST(test_find_bucket)
{
    expect_same("123", 1, "123", 1);
    expect_same("123", 0, "23", -1);
    expect_same("123", 1, "23", 0);
    expect_same("123", 2, "23", 1);
    expect_same("23", 1, "123", 2);
    expect_same("123", 2, "145673", 5);
    expect_same("123456", 5, "6", 0);
    expect_same("123", 2, "1", -1);
    /* Of equal ones the nearest. */
    expect_same("1221", 2, "1221", 2);
    expect_same("1221", 3, "221", 2);
}
END_TEST

/* The order in which buckets are given is of no importance. */
START_TEST(test_order)
{
    add_flows();
    engine_add_group(e, "group_id=1,type=select,"
                     "bucket=bucket_id:0,actions=load:1->NXM_NX_REG0[],"
                     "resubmit(,1),bucket=bucket_id:1,"
                     "actions=load:2->NXM_NX_REG0[],resubmit(,1)");
    for (int i = 0; i < 100; i++) {
        int bucket = bucket_of(i);

        engine_add_group(e, "group_id=1,type=select,"
                         "bucket=bucket_id:0,actions=load:2->NXM_NX_REG0[],"
                         "resubmit(,1),bucket=bucket_id:1,"
                         "actions=load:1->NXM_NX_REG0[],resubmit(,1)");
        ck_assert_int_eq(bucket_of(i), bucket);
    }
}
END_TEST

START_TEST(test_dead_buckets)
{
    int counts[4] = { 0 };

    engine_add_flows(e, "table=0,ip actions=group:1");
    engine_add_group(e, "group_id=1,type=select,"
                     "bucket=watch_port:2,actions=output:2,"
                     "bucket=watch_port:3,actions=output:3,"
                     "bucket=watch_port:4,actions=output:4");
    e->dead_ports = 1 << 3;
    for (int i = 0; i < 3000; i++) {
        bucket_of(i);
        ck_assert_uint_eq(e->verdict.n_hits, 2);
        counts[e->verdict.hits[1].bucket]++;
    }
    ck_assert_int_eq(counts[1], 0);
    ck_assert_int_ge(counts[0], 1200);
    ck_assert_int_ge(counts[2], 1200);

    e->dead_ports = UINT32_MAX;
    ck_assert_str_eq(engine_run(e, TCP), "drop");
    ck_assert_str_eq(engine_hits(e), "0:32768 ?g1");
}
END_TEST

/* However many slots there are, each bucket is asked about twice at most, but
 * for a few. */
START_TEST(test_many_dead_buckets)
{
    enum { N = 300, N_FEW = 16 };
    struct ds group = DS_EMPTY_INITIALIZER;

    engine_add_flows(e, "table=0,ip actions=group:1");
    ds_put_cstr(&group, "group_id=1,type=select");
    for (int i = 0; i < N; i++) {
        ds_put_format(&group, ",bucket=watch_port:%d,actions=output:%d",
                      i == N - 1 ? 3 : 2, i == N - 1 ? 3 : 2);
    }
    engine_add_group(e, ds_cstr(&group));
    ds_destroy(&group);

    e->dead_ports = UINT32_MAX;
    for (int i = 0; i < 100; i++) {
        e->n_port_looks = 0;
        bucket_of(i);
        ck_assert_uint_eq(e->verdict.n_hits, 2);
        ck_assert_str_eq(engine_hits(e), "0:32768 ?g1");
        ck_assert_uint_ge(e->n_port_looks, N);
        ck_assert_uint_le(e->n_port_looks, N + N_FEW);
    }

    /* The only one that lives is found. */
    e->dead_ports = 1 << 2;
    for (int i = 0; i < 100; i++) {
        e->n_port_looks = 0;
        bucket_of(i);
        ck_assert_uint_eq(e->verdict.hits[1].bucket, N - 1);
        ck_assert_uint_le(e->n_port_looks, N + N_FEW);
    }
}
END_TEST

/* Stock has the packet parsed anew for the hash, and as many tags as it is told
 * to. */
START_TEST(test_hidden_headers)
{
    int limit = flow_vlan_limit;

    engine_add_flows(e, "table=0,ip actions=push_vlan:0x8100,group:1\n"
                     "table=0,priority=40000,udp actions=push_vlan:0x8100,"
                     "group:2");
    engine_add_group(e, "group_id=1,type=select,bucket=output:2");
    engine_add_group(e, "group_id=2,type=select,selection_method=hash,"
                     "fields=ip_src,bucket=output:2");
    flow_limit_vlans(1);
    adp_decide_set_vlan_limit(1);
    ck_assert_str_eq(engine_run(e, TCP), "push_vlan(vid=0,pcp=0),102");
    ck_assert_str_eq(engine_run(e, TCP ",dl_vlan=5"), "punt(action)");
    ck_assert_str_eq(engine_run(e, "in_port=1,udp,dl_vlan=5"),
                     "push_vlan(vid=0,pcp=0),102");
    flow_limit_vlans(2);
    adp_decide_set_vlan_limit(2);
    ck_assert_str_eq(engine_run(e, TCP ",dl_vlan=5"),
                     "push_vlan(vid=0,pcp=0),102");
    flow_limit_vlans(limit);
    adp_decide_set_vlan_limit(limit);
}
END_TEST

/* The bucket for a packet of TCP with these addresses and ports. */
static int
bucket_for(uint32_t src, uint32_t dst, uint16_t tp_src, uint16_t tp_dst)
{
    struct flow flow;

    engine_parse_packet(TCP, &flow);
    flow.nw_src = htonl(src);
    flow.nw_dst = htonl(dst);
    flow.tp_src = htons(tp_src);
    flow.tp_dst = htons(tp_dst);
    engine_run_flow(e, &flow);
    return e->flow.regs[0];
}

/* One bit for each of 8 buckets that 40 packets got: they differ in 'what', an
 * argument of bucket_for(). */
static unsigned int
buckets_by(int what)
{
    unsigned int chosen = 0;

    for (uint32_t i = 0; i < 40; i++) {
        uint32_t args[4] = { 0x0a000001, 0x0a000002, 1000, 80 };

        args[what] += i;
        chosen |= 1u << bucket_for(args[0], args[1], args[2], args[3]);
    }
    return chosen;
}

static void
add_method(const char *method_)
{
    static const int weights[] = { 100, 100, 100, 100, 100, 100, 100, 100 };

    teardown();
    setup();
    add_flows();
    method = method_;
    add_select_group(weights, ARRAY_SIZE(weights));
    method = "";
}

/* Whoever carries the packet out may have a choice of his own. */
START_TEST(test_chosen)
{
    uint32_t bucket = 3;

    add_method("");
    ck_assert_uint_ge(count_1bits(buckets_by(0)), 4);
    e->chosen = &bucket;
    ck_assert_uint_eq(buckets_by(0), 1u << bucket);
    ck_assert_uint_eq(e->verdict.select.bucket, bucket);
    e->not_chosen = ADP_PUNT_BRIDGE;
    ck_assert_str_eq(engine_run(e, TCP), "punt(bridge)");

    /* By score everybody chooses alike. */
    add_method(",selection_method=hash");
    e->chosen = &bucket;
    e->not_chosen = ADP_PUNT_BRIDGE;
    ck_assert_uint_ge(count_1bits(buckets_by(0)), 4);
}
END_TEST

START_TEST(test_hash_of_fields)
{
    add_method(",selection_method=hash,fields(ip_dst)");
    ck_assert_uint_eq(count_1bits(buckets_by(0)), 1);
    ck_assert_uint_ge(count_1bits(buckets_by(1)), 4);
    ck_assert_uint_eq(count_1bits(buckets_by(2)), 1);
    /* It is no choice by connection. */
    ck_assert_uint_eq(e->verdict.n_selects, 0);
    ck_assert_uint_eq(e->program->reads, 0);

    add_method(",selection_method=hash,fields(ip_dst=255.255.255.0,tcp_src)");
    ck_assert_uint_eq(count_1bits(buckets_by(0)), 1);
    ck_assert_uint_ge(count_1bits(buckets_by(2)), 4);
    ck_assert_uint_eq(bucket_for(1, 0x0a000001, 5, 5),
                      bucket_for(1, 0x0a0000ff, 5, 5));
    ck_assert_uint_eq(e->program->reads, ADP_READS_TP_SRC);
    add_method(",selection_method=hash,fields(tcp_flags,ipv6_label)");
    ck_assert_uint_eq(e->program->reads,
                      ADP_READS_TCP_FLAGS | ADP_READS_IPV6_LABEL);
    add_method(",selection_method=hash,fields(tcp_dst)");
    ck_assert_uint_eq(e->program->reads, ADP_READS_MOVED);
}
END_TEST

/* For the packet and for its answer. */
static bool
is_symmetric(void)
{
    for (uint32_t i = 0; i < 100; i++) {
        if (bucket_for(7, i, i, 80) != bucket_for(i, 7, 80, i)) {
            return false;
        }
    }
    return true;
}

START_TEST(test_symmetric_hash)
{
    const uint64_t sym_l4 = UINT64_C(1) << 32;
    char *s = xasprintf(",selection_method=dp_hash,selection_method_param=%"
                        PRIu64, sym_l4);

    add_method(s);
    ck_assert(is_symmetric());
    ck_assert_uint_ge(count_1bits(buckets_by(0)), 4);
    ck_assert_uint_eq(e->verdict.n_selects, 1);
    free(s);
    add_method(",selection_method=hash");
    ck_assert(is_symmetric());
    ck_assert_uint_ge(count_1bits(buckets_by(0)), 4);
    ck_assert_uint_eq(e->program->reads,
                      ADP_READS_TP_SRC | ADP_READS_MOVED);
    add_method(",selection_method=dp_hash");
    ck_assert(!is_symmetric());
    add_method("");
    ck_assert(!is_symmetric());
}
END_TEST

START_TEST(test_meaning_of_method)
{
    static const char *const methods[] = {
        "", ",selection_method=dp_hash,selection_method_param=9",
        ",selection_method=dp_hash,selection_method_param=4294967296",
        ",selection_method=hash", ",selection_method=hash,fields(ip_dst)",
        ",selection_method=hash,selection_method_param=1,fields(ip_dst)",
        ",selection_method=hash,fields(ip_src)",
        ",selection_method=hash,fields(ip_dst=255.255.255.0)",
        ",selection_method=hash,fields(ip_dst,ip_src)",
    };
    struct adp_group *groups[ARRAY_SIZE(methods)];

    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        char *s = xasprintf("group_id=1,type=select%s,bucket=output:1",
                            methods[i]);

        groups[i] = engine_parse_group(s);
        struct adp_group *same = engine_parse_group(s);
        ck_assert(adp_group_same_meaning(groups[i], same));
        adp_group_unref(same);
        free(s);
        for (size_t j = 0; j < i; j++) {
            ck_assert(!adp_group_same_meaning(groups[i], groups[j]));
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        adp_group_unref(groups[i]);
    }
}
END_TEST

START_TEST(test_fast_failover)
{
    engine_add_flows(e, "table=0,ip actions=group:1,output:9");
    engine_add_group(e, "group_id=1,type=ff,"
                     "bucket=watch_port:2,actions=output:2,"
                     "bucket=watch_group:5,actions=output:3,"
                     "bucket=watch_port:4,actions=output:4");
    engine_add_group(e, "group_id=5,type=ff,bucket=watch_port:3,"
                     "actions=output:3");
    ck_assert_str_eq(engine_run(e, TCP), "102,109");
    ck_assert_str_eq(engine_hits(e), "0:32768 g1/0");
    e->dead_ports = 1 << 2;
    ck_assert_str_eq(engine_run(e, TCP), "103,109");
    e->dead_ports |= 1 << 3;
    ck_assert_str_eq(engine_run(e, TCP), "104,109");
    ck_assert_str_eq(engine_hits(e), "0:32768 ?g5 g1/2");
}
END_TEST

/* Each bucket has a packet of its own, and what follows has another. */
START_TEST(test_all)
{
    engine_add_flows(e, "table=0,ip actions=group:1,resubmit(,1)\n"
                     "table=1,reg0=0 actions=output:4\n"
                     "table=1,reg0=1 actions=output:5");
    engine_add_group(e, "group_id=1,type=all,"
                     "bucket=load:1->NXM_NX_REG0[],mod_nw_ttl:9,output:2,"
                     "bucket=resubmit(,1),bucket=output:3");
    ck_assert_str_eq(engine_run(e, TCP),
                     "set(ipv4(ttl=9)),102,set(ipv4(ttl=64)),104,103,104");
    ck_assert_str_eq(engine_hits(e), "0:32768 1:32768 g1 1:32768");
}
END_TEST

START_TEST(test_indirect)
{
    engine_add_flows(e, "table=0,ip actions=group:1");
    engine_add_group(e, "group_id=1,type=indirect,bucket=mod_nw_ttl:9,"
                     "output:2");
    ck_assert_str_eq(engine_run(e, TCP), "set(ipv4(ttl=9)),102");
}
END_TEST

/* Registers set in a bucket are seen in the table that it leads to, not by
 * what stands after the group. */
START_TEST(test_bucket_registers)
{
    engine_add_flows(e, "table=0,ip actions=group:1,resubmit(,2)\n"
                     "table=1,reg0=1 actions=output:2,exit,output:9\n"
                     "table=2,reg0=0 actions=output:3");
    engine_add_group(e, "group_id=1,type=select,"
                     "bucket=actions=load:1->NXM_NX_REG0[],resubmit(,1)");
    ck_assert_str_eq(engine_run(e, TCP), "102,103");
}
END_TEST

START_TEST(test_no_such_group)
{
    /* The list ends there, the lists that called it go on. */
    engine_add_flows(e, "table=0,ip actions=resubmit(,1),output:2\n"
                     "table=1 actions=group:77,output:3");
    ck_assert_str_eq(engine_run(e, TCP), "102");
}
END_TEST

START_TEST(test_group_loop)
{
    engine_add_flows(e, "table=0,ip actions=group:1");
    engine_add_group(e, "group_id=1,type=all,bucket=group:1,bucket=group:1");
    ck_assert_str_eq(engine_run(e, TCP), "punt(depth)");
}
END_TEST

START_TEST(test_bucket_punt)
{
    engine_add_flows(e, "table=0,ip actions=output:2,group:1");
    engine_add_group(e, "group_id=1,type=indirect,bucket=normal");
    ck_assert_str_eq(engine_run(e, TCP), "punt(normal)");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("group");
    TCase *tc = tcase_create("groups");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_weights);
    tcase_add_test(tc, test_slots_are_fair);
    tcase_add_test(tc, test_slots_of_many_buckets);
    tcase_add_test(tc, test_slots_chosen);
    tcase_add_test(tc, test_one_heavy_bucket);
    tcase_add_test(tc, test_shares_by_rounds);
    tcase_add_test(tc, test_many_buckets);
    tcase_add_test(tc, test_ports_count);
    tcase_add_test(tc, test_moves);
    tcase_add_test(tc, test_moves_by_weight);
    tcase_add_test(tc, test_moves_in_a_row);
    tcase_add_test(tc, test_find_bucket);
    tcase_add_test(tc, test_order);
    tcase_add_test(tc, test_dead_buckets);
    tcase_add_test(tc, test_many_dead_buckets);
    tcase_add_test(tc, test_hidden_headers);
    tcase_add_test(tc, test_chosen);
    tcase_add_test(tc, test_hash_of_fields);
    tcase_add_test(tc, test_symmetric_hash);
    tcase_add_test(tc, test_meaning_of_method);
    tcase_add_test(tc, test_fast_failover);
    tcase_add_test(tc, test_all);
    tcase_add_test(tc, test_indirect);
    tcase_add_test(tc, test_bucket_registers);
    tcase_add_test(tc, test_no_such_group);
    tcase_add_test(tc, test_group_loop);
    tcase_add_test(tc, test_bucket_punt);
    return test_run_nofork(s);
}

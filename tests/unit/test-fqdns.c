/* SPDX-License-Identifier: Apache-2.0 */

/* DNS answers that wait: the queue that packet threads put them in, and what the
 * main thread does with them, without a daemon. */

#include <config.h>
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adp-names.h"
#include "fqdns-world.h"
#include "ovs-thread.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"

/* The next packets go to the 'i'th of those who fill the queue together. */
static void
set_client(unsigned int i)
{
    client = htonl(i % (ADP_HELD_MAX / ADP_HELD_MAX_OF_SLOT));
}

/* A TCP segment with two. */
static void
come_segment(unsigned int number, char name0, const char *zone0, char name1,
             const char *zone1)
{
    uint8_t segment[2 * (2 + MSG_LEN)] = { 0 };

    segment[1] = segment[2 + MSG_LEN + 1] = MSG_LEN;
    put_answer(segment + 2, name0, zone0, 1, 60);
    put_answer(segment + 2 + MSG_LEN + 2, name1, zone1, 2, 60);
    come_packet(number, IPPROTO_TCP, segment, sizeof segment);
}

static void
expect_said(const char *apply, const char *delete)
{
    char *text = json_to_quoted(calls.apply);

    ck_assert_str_eq(text, apply);
    free(text);
    text = json_to_quoted(calls.delete);
    ck_assert_str_eq(text, delete);
    free(text);
}

/* The queue. */

START_TEST(bounds)
{
    for (unsigned int i = 0; i < ADP_HELD_MAX + 10; i++) {
        set_client(i);
        come(i, 'a', "com", 1, 60);
    }
    set_client(0);
    ck_assert_int_eq(stat_of("held"), ADP_HELD_MAX);
    ck_assert_int_eq(stat_of("lost"), 10);

    /* What was taken counts until it goes on. */
    struct adp_held *held = adp_held_take(b);
    come(5000, 'a', "com", 1, 60);
    ck_assert_int_eq(stat_of("lost"), 11);
    adp_held_release(b, held, true);
    ck_assert(!conntrack_bypasses_fragments());
    ck_assert_uint_eq(n_passed, 1);
    ck_assert_uint_eq(passed[0], 0);
    come(5001, 'a', "com", 1, 60);
    ck_assert_int_eq(stat_of("lost"), 11);
    ck_assert_int_eq(stat_of("held"), ADP_HELD_MAX + 1);

    held = adp_held_take(b);
    adp_held_release(b, held, false);
    ck_assert_uint_eq(n_passed, 1);
}
END_TEST

/* What has no payload isn't worth being read. */
START_TEST(payloads)
{
    static const uint8_t protos[] = { IPPROTO_UDP, IPPROTO_TCP, IPPROTO_SCTP };

    for (size_t len = 0; len < 2; len++) {
        for (size_t i = 0; i < ARRAY_SIZE(protos); i++) {
            struct flow flow;
            struct dp_packet *p = compose(protos[i], "x", len, &flow);

            ck_assert(adp_held_wants(p, &flow)
                      == (len && protos[i] != IPPROTO_SCTP));
            dp_packet_delete(p);
        }
    }
}
END_TEST

/* Whose port may have gone meanwhile doesn't go on. */
START_TEST(stale)
{
    come(1, 'a', "com", 1, 60);
    come(2, 'b', "com", 2, 60);
    adp_held_release(b, adp_held_take(b), true);
    ck_assert_uint_eq(n_passed, 1);

    ports_lost++;
    come(3, 'c', "com", 3, 60);
    adp_held_release(b, adp_held_take(b), true);
    ck_assert_uint_eq(n_passed, 1);
    ck_assert_int_eq(stat_of("stale"), 1);
    adp_held_release(b, adp_held_take(b), true);
    ck_assert_uint_eq(n_passed, 2);
    ck_assert_uint_eq(passed[1], 3);

    /* One that was to be dropped in any case doesn't count. */
    come(4, 'd', "com", 4, 60);
    ports_lost++;
    adp_held_release(b, adp_held_take(b), false);
    ck_assert_int_eq(stat_of("stale"), 1);
}
END_TEST

/* One Pod's flood leaves others room. */
START_TEST(shares)
{
    for (unsigned int i = 0; i < ADP_HELD_MAX; i++) {
        come(i, 'a', "com", 1, 60);
    }
    ck_assert_int_eq(stat_of("held"), ADP_HELD_MAX_OF_SLOT);
    ck_assert_int_eq(stat_of("lost"), ADP_HELD_MAX - ADP_HELD_MAX_OF_SLOT);

    set_client(1);
    come(5000, 'a', "com", 1, 60);
    ck_assert_int_eq(stat_of("held"), ADP_HELD_MAX_OF_SLOT + 1);

    /* What goes on makes room. */
    adp_held_release(b, adp_held_take(b), false);
    set_client(0);
    come(5001, 'a', "com", 1, 60);
    come(5002, 'a', "com", 1, 60);
    ck_assert_int_eq(stat_of("held"), ADP_HELD_MAX_OF_SLOT + 2);
    ck_assert_int_eq(stat_of("lost"),
                     ADP_HELD_MAX - ADP_HELD_MAX_OF_SLOT + 1);
}
END_TEST

enum { N_THREADS = 2, N_PACKETS = 20000 };

static void *
packet_thread(void *base_)
{
    const unsigned int *base = base_;

    for (unsigned int i = 0; i < N_PACKETS; i++) {
        come(*base + i, 'a', "net", 1, 60);
    }
    return NULL;
}

/* Two packet threads and the main thread: nothing gets lost uncounted, and the
 * packets of each thread stay in order. */
START_TEST(threads)
{
    static unsigned int bases[N_THREADS] = { 0, 1u << 31 };
    unsigned int next[N_THREADS] = { 0 };
    uint64_t n_taken = 0;
    pthread_t threads[N_THREADS];

    for (int i = 0; i < N_THREADS; i++) {
        threads[i] = ovs_thread_create("packets", packet_thread, &bases[i]);
    }
    for (bool ended = false; ; ) {
        struct adp_held *held = adp_held_take(b);

        if (!held) {
            if (ended) {
                break;
            }
            if (stat_of("held") + stat_of("lost") == N_THREADS * N_PACKETS) {
                ended = true;   /* And once more. */
            }
            continue;
        }
        unsigned int number;
        memcpy(&number, held + 1, sizeof number);
        int thread = number >> 31;
        number &= INT32_MAX;
        ck_assert_uint_ge(number, next[thread]);
        next[thread] = number + 1;
        adp_held_release(b, held, false);
        n_taken++;
    }
    for (int i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
    }
    ck_assert_uint_eq(n_taken, stat_of("held"));
    ck_assert_uint_eq(n_passed, 0);
}
END_TEST

/* Names. */

/* A packet goes on when what it tells is in force. */
START_TEST(waits)
{
    come(1, 'a', "com", 1, 60);
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_uint_eq(n_of(calls.apply), 1);
    ck_assert_uint_eq(n_passed, 0);

    /* What comes meanwhile waits for the next one. */
    come(2, 'b', "com", 2, 60);
    come(3, 'c', "com", 3, 60);
    run();
    ck_assert_uint_eq(calls.n, 1);
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 1);
    ck_assert_uint_eq(calls.n, 2);
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 3);
    ck_assert_uint_eq(passed[0], 1);
    ck_assert_uint_eq(passed[1], 2);
    ck_assert_uint_eq(passed[2], 3);
    ck_assert_int_eq(stat_of("new"), 3);

    /* What is known already doesn't wait, nor what nobody wants to know. */
    come(4, 'a', "com", 1, 60);
    come(5, 'a', "net", 4, 60);
    run();
    ck_assert_uint_eq(n_passed, 5);
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_int_eq(stat_of("read"), 5);
}
END_TEST

/* One that tells nothing new waits for what was told before, and for nothing
 * else. */
START_TEST(nothing_new)
{
    come(1, 'a', "com", 1, 60);
    run();
    come(2, 'a', "com", 1, 60);
    run();
    ck_assert_uint_eq(n_passed, 0);
    end_call();
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_uint_eq(n_passed, 2);
    ck_assert_uint_eq(passed[0], 1);
    ck_assert_uint_eq(passed[1], 2);

    /* Of a name that was told something new since. */
    come(3, 'a', "com", 3, 60);
    run();
    come(4, 'a', "com", 4, 60);
    come(5, 'a', "com", 1, 60);
    run();
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 3);
    ck_assert_uint_eq(calls.n, 3);
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 5);
    ck_assert_uint_eq(passed[4], 5);
    now += ADP_FQDNS_PATIENCE_MS;
    run();
    ck_assert_int_eq(stat_of("late"), 0);
}
END_TEST

/* The same if that fails. */
START_TEST(nothing_new_in_vain)
{
    come(1, 'a', "com", 1, 60);
    run();
    come(2, 'a', "com", 1, 60);
    run();
    calls.fails = true;
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 0);
    ck_assert_int_eq(stat_of("failed"), 2);
    come(3, 'a', "com", 1, 60);
    run();
    ck_assert_uint_eq(n_passed, 0);
    calls.fails = false;
    now += 1000;
    run();
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 1);
    ck_assert_uint_eq(passed[0], 3);
}
END_TEST

/* While the state is busy with other things, what is in force goes on, though
 * there is something to say about other names. */
START_TEST(others_are_changed)
{
    calls.later = false;
    fqdn = "*.example.com *.example.net";
    come(1, 'a', "com", 1, 60);
    come(2, 'b', "net", 2, 5);
    run();
    ck_assert_uint_eq(n_passed, 2);
    calls.busy = true;
    now += 5000;                /* The TTL of one is over. */
    come(3, 'a', "com", 1, 60);
    run();
    ck_assert_uint_eq(n_passed, 3);
    come(4, 'b', "net", 2, 60);
    run();
    ck_assert_uint_eq(n_passed, 3);
    calls.busy = false;
    run();
    ck_assert_uint_eq(n_passed, 4);
}
END_TEST

START_TEST(late)
{
    come(1, 'a', "com", 1, 60);
    run();
    come(2, 'b', "com", 2, 60);
    now += ADP_FQDNS_PATIENCE_MS - 1;
    run();
    ck_assert_int_eq(stat_of("late"), 0);
    now++;
    run();
    ck_assert_int_eq(stat_of("late"), 2);
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 0);
    /* There is room for them again. */
    ck_assert_ptr_null(adp_held_take(b));
}
END_TEST

/* While the state is busy with other things nothing begins. */
START_TEST(busy)
{
    calls.later = false;
    run();
    calls.busy = true;
    come(1, 'a', "com", 1, 60);
    run();
    ck_assert_uint_eq(calls.n, 0);
    ck_assert_int_eq(next_wake(), now + ADP_FQDNS_PATIENCE_MS);

    /* Who ends what was under way may be the last one in a turn, and others
     * have theirs before. */
    calls.busy = false;
    ck_assert_int_le(next_wake(), now);
    calls.others_are_next = true;
    run();
    ck_assert_uint_eq(calls.n, 0);
    ck_assert_int_le(next_wake(), now);
    calls.others_are_next = false;
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_uint_eq(n_passed, 1);
}
END_TEST

START_TEST(failed)
{
    come(1, 'a', "com", 1, 60);
    run();
    calls.fails = true;
    end_call();
    calls.fails = false;
    run();
    ck_assert_uint_eq(n_passed, 0);
    ck_assert_int_eq(stat_of("failed"), 1);
    ck_assert_uint_eq(calls.n, 1);

    /* It is tried again, but not at once. */
    now += 999;
    run();
    ck_assert_uint_eq(calls.n, 1);
    now++;
    run();
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_uint_eq(n_of(calls.apply), 1);
}
END_TEST

/* So is the end of a name that nobody uses any more. */
START_TEST(failed_deletion)
{
    calls.later = false;
    come(1, 'a', "com", 1, 60);
    run();
    fqdn = "*.example.net";
    fqdns_seq++;
    calls.fails = true;
    run();
    ck_assert_uint_eq(calls.n, 2);
    expect_said("[]", "[{'kind':'FQDN','name':'*.example.com'}]");
    calls.fails = false;
    now += 1000;
    run();
    ck_assert_uint_eq(calls.n, 3);
    expect_said("[]", "[{'kind':'FQDN','name':'*.example.com'}]");
    now += 1000;
    run();
    ck_assert_uint_eq(calls.n, 3);
}
END_TEST

/* What a name in use has is learned at once, though the state is busy with the
 * next thing. */
START_TEST(new_name_while_busy)
{
    calls.later = false;
    run();
    fqdn = "*.example.com *.example.net";
    fqdns_seq++;
    calls.busy = true;
    come(1, 'a', "net", 1, 60);
    run();
    ck_assert_uint_eq(n_passed, 0);
    calls.busy = false;
    run();
    ck_assert_uint_eq(n_passed, 1);
    expect_said("[{'addresses':['10.0.0.1'],'kind':'FQDN',"
                "'name':'*.example.net'}]", "[]");
}
END_TEST

/* Addresses go when their TTL is over. */
START_TEST(ageing)
{
    calls.later = false;
    come(1, 'a', "com", 1, 5);
    come(2, 'b', "com", 2, 9);
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_int_eq(stat_of("addresses"), 2);
    now += 7000;
    run();
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_int_eq(stat_of("addresses"), 1);
    ck_assert_uint_eq(n_of(calls.apply), 1);
    now += 4000;
    run();
    ck_assert_uint_eq(calls.n, 3);
    ck_assert_int_eq(stat_of("names"), 0);
    ck_assert_uint_eq(n_of(calls.delete), 1);
    now += 100000;
    run();
    ck_assert_uint_eq(calls.n, 3);
}
END_TEST

/* However short the TTL is, who was told has some time. */
START_TEST(min_ttl)
{
    calls.later = false;
    come(1, 'a', "com", 1, 2);
    run();
    ck_assert_int_eq(next_wake(), now + 2000);
    adp_fqdns_set_min_ttl(fqdns, 20);
    come(2, 'b', "com", 2, 2);
    run();
    now += 2000;
    run();
    ck_assert_int_eq(stat_of("addresses"), 1);
    ck_assert_int_eq(next_wake(), now + 18000);
}
END_TEST

/* When there is something to do. */
START_TEST(wakes_up)
{
    ck_assert_int_eq(next_wake(), LLONG_MAX);
    come(1, 'a', "com", 1, 60);
    ck_assert_int_eq(next_wake(), now);
    run();
    ck_assert_int_eq(next_wake(), now + ADP_FQDNS_PATIENCE_MS);
    now += 1000;
    come(2, 'b', "com", 2, 60);
    run();
    ck_assert_int_eq(next_wake(), now + ADP_FQDNS_PATIENCE_MS - 1000);
    calls.fails = true;
    end_call();
    ck_assert_int_eq(next_wake(), now);
    calls.fails = false;
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_int_eq(next_wake(), now + 1000);
    now += 1000;
    run();
    ck_assert_uint_eq(calls.n, 2);
    end_call();
    run();
    ck_assert_uint_eq(n_passed, 1);
    ck_assert_int_eq(next_wake(), now + 58000);

    /* Without a pipeline nobody can be told. */
    calls.later = false;
    now += 59000;
    run_without_state();
    ck_assert_int_eq(stat_of("addresses"), 0);
    ck_assert_int_eq(next_wake(), LLONG_MAX);
    run();
    ck_assert_uint_eq(calls.n, 3);
    ck_assert_uint_eq(n_of(calls.delete), 1);
    ck_assert_int_eq(next_wake(), LLONG_MAX);
}
END_TEST

/* Records are those of the names in use. */
START_TEST(other_names)
{
    calls.later = false;
    come(1, 'a', "com", 1, 60);
    run();
    expect_said("[{'addresses':['10.0.0.1'],'kind':'FQDN',"
                "'name':'*.example.com'}]", "[]");

    fqdn = "*.example.net";
    run();
    ck_assert_uint_eq(calls.n, 1);
    fqdns_seq++;
    run();
    ck_assert_uint_eq(calls.n, 2);
    expect_said("[]", "[{'kind':'FQDN','name':'*.example.com'}]");
    come(2, 'a', "net", 2, 60);
    run();
    expect_said("[{'addresses':['10.0.0.2'],'kind':'FQDN',"
                "'name':'*.example.net'}]", "[]");
}
END_TEST

/* What one of a segment's messages tells counts, whichever it is. */
START_TEST(segments)
{
    calls.later = false;
    come_segment(1, 'a', "com", 'b', "net");
    run();
    ck_assert_uint_eq(calls.n, 1);
    ck_assert_int_eq(stat_of("addresses"), 1);
    come_segment(2, 'c', "net", 'd', "com");
    run();
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_int_eq(stat_of("addresses"), 2);
    come_segment(3, 'c', "net", 'b', "net");
    run();
    ck_assert_uint_eq(calls.n, 2);
    ck_assert_int_eq(stat_of("read"), 3);
    ck_assert_int_eq(stat_of("new"), 2);
    ck_assert_int_eq(stat_of("malformed"), 0);
    ck_assert_uint_eq(n_passed, 3);
}
END_TEST

/* An address for which there is no room isn't told. */
START_TEST(full)
{
    run();
    calls.busy = true;
    for (int i = 0; i < ADP_NAMES_MAX_ADDRESSES; i++) {
        set_client(i);
        come(i, 'a' + i / 256, "com", i % 256, 255);
        run();
        if (i % 512 == 0) {
            now += ADP_FQDNS_PATIENCE_MS;       /* They wait in vain. */
        }
    }
    now += ADP_FQDNS_PATIENCE_MS;
    run();
    ck_assert_int_eq(stat_of("addresses"), ADP_NAMES_MAX_ADDRESSES);
    ck_assert_int_eq(stat_of("late"), ADP_NAMES_MAX_ADDRESSES);
    ck_assert_int_eq(stat_of("full"), 0);
    for (int i = 0; i <= ADP_HELD_MAX; i++) {
        come(1, 'z', "com", 1, 255);
        run();
    }
    ck_assert_int_eq(stat_of("full"), ADP_HELD_MAX + 1);
    ck_assert_int_eq(stat_of("lost"), 0);
    calls.busy = calls.later = false;
    run();
    run();
    ck_assert_uint_eq(n_passed, 0);
    ck_assert_ptr_null(adp_held_take(b));
}
END_TEST

/* What people see. */
START_TEST(shown)
{
    come(1, 'b', "com", 2, 9);
    come(2, 'a', "com", 3, 60);
    come(3, 'a', "com", 1, 60);
    run();
    now += 500;

    struct json *names = adp_fqdns_get(fqdns);
    char *text = json_to_quoted(names);
    ck_assert_str_eq(text, "[{'addresses':[{'ip':'10.0.0.1','ttl':60},"
                     "{'ip':'10.0.0.3','ttl':60}],"
                     "'fqdns':['*.example.com'],'name':'a.example.com'},"
                     "{'addresses':[{'ip':'10.0.0.2','ttl':9}],"
                     "'fqdns':['*.example.com'],'name':'b.example.com'}]");
    free(text);
    json_destroy(names);
    adp_count(&b->counters.dns_truncated, 5);
    ck_assert_int_eq(stat_of("truncated"), 5);
    ck_assert_int_eq(stat_of("fqdns"), 1);
    ck_assert_int_eq(stat_of("names"), 2);
    ck_assert_int_eq(stat_of("addresses"), 3);
}
END_TEST

/* A bridge without a pipeline. */
START_TEST(no_state)
{
    come(1, 'a', "com", 1, 60);
    run();
    come(2, 'b', "com", 2, 60);
    run();
    run_without_state();
    ck_assert_uint_eq(n_passed, 0);
    /* They are gone: there is room for as many as ever. */
    for (unsigned int i = 0; i < ADP_HELD_MAX; i++) {
        set_client(i);
        come(i, 'c', "com", 3, 60);
    }
    ck_assert_int_eq(stat_of("lost"), 0);
    end_call();
    run_without_state();
    ck_assert_uint_eq(n_passed, 0);
    ck_assert_ptr_null(adp_held_take(b));
}
END_TEST

START_TEST(malformed)
{
    uint8_t msg[MSG_LEN];

    put_answer(msg, 'a', "com", 1, 60);
    come_packet(7, IPPROTO_UDP, msg, 3);
    run();
    ck_assert_int_eq(stat_of("malformed"), 1);
    ck_assert_uint_eq(n_passed, 1);

    /* Without the end of its record; nobody looks for that if the name isn't
     * one in use. */
    come_packet(8, IPPROTO_UDP, msg, MSG_LEN - 1);
    run();
    ck_assert_int_eq(stat_of("malformed"), 2);
    put_answer(msg, 'a', "net", 1, 60);
    come_packet(9, IPPROTO_UDP, msg, MSG_LEN - 1);
    run();
    ck_assert_int_eq(stat_of("malformed"), 2);
    ck_assert_int_eq(stat_of("read"), 3);
    ck_assert_uint_eq(n_passed, 3);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("fqdns");
    TCase *tc = tcase_create("fqdns");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, bounds);
    tcase_add_test(tc, payloads);
    tcase_add_test(tc, shares);
    tcase_add_test(tc, stale);
    tcase_add_test(tc, threads);
    tcase_add_test(tc, waits);
    tcase_add_test(tc, nothing_new);
    tcase_add_test(tc, nothing_new_in_vain);
    tcase_add_test(tc, others_are_changed);
    tcase_add_test(tc, late);
    tcase_add_test(tc, busy);
    tcase_add_test(tc, failed);
    tcase_add_test(tc, failed_deletion);
    tcase_add_test(tc, new_name_while_busy);
    tcase_add_test(tc, ageing);
    tcase_add_test(tc, other_names);
    tcase_add_test(tc, min_ttl);
    tcase_add_test(tc, segments);
    tcase_add_test(tc, full);
    tcase_add_test(tc, shown);
    tcase_add_test(tc, wakes_up);
    tcase_add_test(tc, no_state);
    tcase_add_test(tc, malformed);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* A packet thread ends: its verdicts are credited and released a few at a
 * time, each of them once, whatever happens meanwhile.  Of a list of those that
 * are to be credited what they point to is fetched ahead. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "adp-store.h"
#include "collect-all.h"
#include "ovs-rcu.h"
#include "test-run.h"
#include "util.h"

enum { N = 10000, N_MORE = 2, STEP = 64 };

struct verdict {
    struct adp_stored up;
    size_t i OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
};

static int owner, other_owner;          /* Their addresses. */
static uint64_t credited[N + N_MORE];
static int released[N + N_MORE], prefetched[N + N_MORE];
static size_t n_released, n_prefetched;

static size_t
number_of(const struct adp_stored *v)
{
    return ((const struct verdict *) (const void *) v)->i;
}

static void
credit(struct adp_stored *v, uint64_t n_packets,
       uint64_t n_bytes OVS_UNUSED)
{
    ck_assert_int_eq(released[number_of(v)], 0);
    credited[number_of(v)] += n_packets;
}

static void
prefetch(const struct adp_stored *v)
{
    ck_assert_int_eq(released[number_of(v)], 0);
    ck_assert_uint_eq(credited[number_of(v)], 0);
    prefetched[number_of(v)]++;
    n_prefetched++;
}

static void
release(struct adp_stored *v)
{
    released[number_of(v)]++;
    n_released++;
}

static const struct adp_store_class class = {
    .size = sizeof(struct verdict),
    .credit = credit,
    .prefetch = prefetch,
    .release = release,
};

static struct adp_collector *collector;
static struct adp_store *store;

/* Adds verdict 'i', with a packet, to 'store'; every second one is the other
 * owner's. */
static void
add(size_t i)
{
    adp_store_begin(store);
    struct adp_stored *v = adp_store_add(
        store, i, i % 2 ? &other_owner : &owner, 1000);

    if (!v) {
        abort();
    }
    ((struct verdict *) (void *) v)->i = i;
    credited[i] = released[i] = prefetched[i] = 0;
    adp_store_count(store, v, 1, 100, 0, 1000);
    adp_store_end(store);
}

static void
setup(void)
{
    collector = adp_collector_create(&class);
    store = adp_store_create(collector, N);
    n_released = n_prefetched = 0;
    for (size_t i = 0; i < N; i++) {
        add(i);
    }
}

/* The thread ends. */
static void
end_thread(void)
{
    adp_store_destroy(store);
    ovsrcu_quiesce();
    ovsrcu_barrier();
}

/* Some steps of the collector.  Returns true if the last ended a
 * collection. */
static bool
run_steps(size_t n)
{
    bool done = false;

    for (size_t i = 0; i < n && !done; i++) {
        const size_t before = n_released;

        done = adp_collector_run(collector, STEP);
        ck_assert_uint_le(n_released - before, STEP);
    }
    return done;
}

static void
check_released(size_t n)
{
    ck_assert_uint_eq(n_released, n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(released[i], 1);
        ck_assert_uint_eq(credited[i], 1);
    }
}

START_TEST(a_few_at_a_time)
{
    end_thread();
    ck_assert(!run_steps(1));
    ck_assert(adp_collector_is_amid(collector));
    ck_assert(!run_steps(N / STEP / 2));
    ck_assert(run_steps(N));
    check_released(N);
    adp_collector_destroy(collector);
}
END_TEST

/* Others end and begin meanwhile. */
START_TEST(threads_come_and_go)
{
    struct adp_store *first = store;

    store = adp_store_create(collector, 100);
    add(N);
    adp_store_destroy(first);
    end_thread();
    ck_assert(!run_steps(N / STEP / 2));
    store = adp_store_create(collector, 100);
    add(N + 1);
    ck_assert(run_steps(N));
    check_released(N + 1);
    ck_assert_uint_eq(credited[N + 1], 1);
    end_thread();
    ck_assert(run_steps(N));
    check_released(N + 2);
    adp_collector_destroy(collector);
}
END_TEST

/* A bridge goes while the store of a thread that has ended is taken apart. */
START_TEST(an_owner_goes_meanwhile)
{
    end_thread();
    ck_assert(!run_steps(N / STEP / 2));
    ck_assert_uint_lt(n_released, N / 2 + N / 4);
    adp_collector_forget(collector, &other_owner);
    for (size_t i = 1; i < N; i += 2) {
        ck_assert_int_eq(released[i], 1);
    }
    ck_assert_uint_lt(n_released, N);
    ck_assert(run_steps(N));
    check_released(N);
    adp_collector_destroy(collector);
}
END_TEST

/* Who has to know all counters at once gets them. */
START_TEST(all_at_once)
{
    end_thread();
    ck_assert(!run_steps(3));
    collect_all(collector);
    check_released(N);
    adp_collector_destroy(collector);
}
END_TEST

/* Between collections those that have left give their room back, a few at a
 * time; what others counted waits for the next collection. */
START_TEST(room_without_a_collection)
{
    size_t left;

    adp_store_begin(store);
    for (long long int now = 30000; now < 60000; now += 100) {
        left = SIZE_MAX;
        adp_store_age(store, now, &left);
    }
    adp_store_end(store);
    add(N);
    ovsrcu_quiesce();
    ovsrcu_barrier();
    for (size_t i = 0; i < N / STEP; i++) {
        ck_assert(!adp_collector_release(collector, STEP));
        ck_assert_uint_eq(n_released, (i + 1) * STEP);
    }
    ck_assert(adp_collector_release(collector, STEP));
    ck_assert(!adp_collector_is_amid(collector));
    check_released(N);
    ck_assert_uint_eq(credited[N], 0);
    collect_all(collector);
    ck_assert_uint_eq(credited[N], 1);
    end_thread();
    adp_collector_destroy(collector);
}
END_TEST

/* All but the first few of a list, however many steps it takes, once; none that
 * has nothing new. */
START_TEST(fetched_ahead)
{
    ck_assert(!run_steps(N / STEP));
    ck_assert(run_steps(1));
    ck_assert_uint_lt(n_prefetched, N);
    ck_assert_uint_ge(n_prefetched, N - 8);
    for (size_t i = 0; i < N; i++) {
        ck_assert_uint_eq(credited[i], 1);
        ck_assert_int_eq(prefetched[i], i >= N - n_prefetched);
    }

    adp_store_begin(store);
    adp_store_end(store);
    n_prefetched = 0;
    ck_assert(run_steps(N));
    ck_assert_uint_eq(n_prefetched, 0);
    end_thread();
    ck_assert(run_steps(N));
    check_released(N);
    adp_collector_destroy(collector);
}
END_TEST

START_TEST(the_collector_goes_meanwhile)
{
    end_thread();
    ck_assert(!run_steps(3));
    adp_collector_destroy(collector);
    check_released(N);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("collector");
    TCase *tc = tcase_create("collector");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, a_few_at_a_time);
    tcase_add_test(tc, threads_come_and_go);
    tcase_add_test(tc, an_owner_goes_meanwhile);
    tcase_add_test(tc, all_at_once);
    tcase_add_test(tc, room_without_a_collection);
    tcase_add_test(tc, fetched_ahead);
    tcase_add_test(tc, the_collector_goes_meanwhile);
    return test_run_nofork(s);
}

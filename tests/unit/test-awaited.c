/* SPDX-License-Identifier: Apache-2.0 */

/* Somebody waits for the end of what verdicts refer to: they leave soon,
 * however seldom their thread comes to look, and it doesn't look at many at a
 * time if it comes often. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "adp-pace.h"
#include "adp-store.h"
#include "collect-all.h"
#include "ovs-rcu.h"
#include "test-run.h"
#include "util.h"

enum {
    N = 60000,                          /* At most. */
    ROUND_MS = 500,                     /* As adp-store.h says. */
    MAX_LOOKS = 8192,                   /* At a time. */
};

struct verdict {
    struct adp_stored up;
    size_t i OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
};

static int owner;                       /* Its address. */
static struct adp_token tokens[N];
static uint64_t credited[N];
static bool released[N];

/* Every so many verdicts refer to what somebody waits for. */
static size_t each;
static bool something_is_awaited;
static size_t n_looks;

static size_t
number_of(const struct adp_stored *v)
{
    return ((const struct verdict *) (const void *) v)->i;
}

static void
credit(struct adp_stored *v, uint64_t n_packets,
       uint64_t n_bytes OVS_UNUSED)
{
    credited[number_of(v)] += n_packets;
}

static void
release(struct adp_stored *v)
{
    released[number_of(v)] = true;
}

static bool
is_awaited(void)
{
    return something_is_awaited;
}

static bool
has_awaited(const struct adp_stored *v)
{
    ck_assert(something_is_awaited);
    n_looks++;
    return number_of(v) % each == each - 1;
}

static const struct adp_store_class class = {
    .size = sizeof(struct verdict),
    .credit = credit,
    .release = release,
    .is_awaited = is_awaited,
    .has_awaited = has_awaited,
};

static struct adp_collector *collector;
static struct adp_store *store;
static long long int now;

static void
setup(void)
{
    collector = adp_collector_create(&class);
    store = adp_store_create(collector, N);
    now = 1000;
}

static void
teardown(void)
{
    adp_store_destroy(store);
    ovsrcu_quiesce();
    ovsrcu_barrier();
    adp_collector_destroy(collector);
}

/* Verdicts with a packet each. */
static void
add(size_t n)
{
    adp_store_begin(store);
    for (size_t i = 0; i < n; i++) {
        struct adp_stored *v = adp_store_add(store, i, &owner, now);

        if (!v) {
            abort();
        }
        ((struct verdict *) (void *) v)->i = i;
        tokens[i].slot = adp_store_slot(store, v);
        tokens[i].life = v->life;
        adp_store_count(store, v, 1, 100, 0, now);
    }
    adp_store_end(store);
}

/* The thread comes once after 'ms'. */
static void
come_after(long long int ms)
{
    now += ms;
    size_t left = SIZE_MAX;

    adp_store_age(store, now, &left);
}

/* It comes so often, for so long. */
static void
come_every(long long int ms, long long int total_ms)
{
    for (long long int i = 0; i < total_ms; i += ms) {
        come_after(ms);
    }
}

/* Those leave, even if they are in use, with all that was counted. */
START_TEST(leave)
{
    enum { N_FEW = 50 };

    each = 10;
    add(N_FEW);
    come_every(100, ADP_PACE_ROUND_MS);
    something_is_awaited = true;
    come_every(100, 2 * ROUND_MS);
    something_is_awaited = false;
    ovsrcu_quiesce();
    ovsrcu_barrier();
    collect_all(collector);
    for (size_t i = 0; i < N_FEW; i++) {
        bool has_left = i % each == each - 1;

        ck_assert(!adp_store_get(store, &tokens[i]) == has_left);
        ck_assert(released[i] == has_left);
        ck_assert_uint_eq(credited[i], 1);
    }
}
END_TEST

/* From a thread that comes every second, which is longer than a round. */
START_TEST(seldom)
{
    enum { N_SOME = 2000 };

    each = N_SOME;
    add(N_SOME);
    come_every(1000, 3000);
    something_is_awaited = true;
    come_after(1000);
    come_after(1000);
    ck_assert_ptr_null(adp_store_get(store, &tokens[N_SOME - 1]));
    ck_assert_ptr_nonnull(adp_store_get(store, &tokens[0]));
}
END_TEST

/* It doesn't look at more than so many at a time. */
START_TEST(many)
{
    each = N;
    add(N);
    come_every(1000, 3000);
    something_is_awaited = true;
    for (size_t i = 0; i < DIV_ROUND_UP(N, MAX_LOOKS); i++) {
        ck_assert_ptr_nonnull(adp_store_get(store, &tokens[N - 1]));
        n_looks = 0;
        come_after(1000);
        ck_assert_uint_le(n_looks, MAX_LOOKS);
    }
    ck_assert_ptr_null(adp_store_get(store, &tokens[N - 1]));
}
END_TEST

/* Nor at more than go with the time since it came last, also when nobody has
 * waited for long. */
START_TEST(often)
{
    enum { MS = 2 };

    each = N;
    add(N);
    come_every(MS, 10 * ROUND_MS);
    something_is_awaited = true;
    for (size_t i = 0; i < 10; i++) {
        n_looks = 0;
        come_after(MS);
        ck_assert_uint_le(n_looks, N * MS / ROUND_MS + 1);
        ck_assert_uint_ge(n_looks, N * MS / ROUND_MS - 1);
    }
    come_every(MS, ROUND_MS);
    ck_assert_ptr_null(adp_store_get(store, &tokens[N - 1]));
}
END_TEST

/* Has the thread a reason to come soon? */
START_TEST(hurry)
{
    each = 1;
    come_after(1000);
    something_is_awaited = true;
    ck_assert(!adp_store_hurries(store));
    something_is_awaited = false;
    add(1);
    ck_assert(!adp_store_hurries(store));
    something_is_awaited = true;
    ck_assert(adp_store_hurries(store));
    come_after(ROUND_MS);
    ck_assert(!adp_store_hurries(store));
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("awaited");
    TCase *tc = tcase_create("awaited");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, leave);
    tcase_add_test(tc, seldom);
    tcase_add_test(tc, many);
    tcase_add_test(tc, often);
    tcase_add_test(tc, hurry);
    suite_add_tcase(s, tc);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Nodes that were freed are there for who asks next: clean, not too many, and
 * for all threads. */

#include <config.h>

#include <check.h>
#include <malloc.h>
#include <string.h>

#include "adp-cow.h"
#include "ovs-thread.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

enum { N_NODES = 1000, LARGE = 8 * ADP_COW_SPARE_UNITS };

static struct adp_cow cow;

static void
setup(void)
{
    adp_cow_begin(&cow);
}

static void
teardown(void)
{
    struct adp_garbage garbage = adp_cow_end(&cow);

    adp_garbage_free(&garbage);
}

START_TEST(test_clean)
{
    static const size_t sizes[] = { 0, 1, 8, 9, 64, 512, LARGE, LARGE + 1 };

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
            void *node = adp_cow_alloc(&cow, sizes[i]);

            ck_assert_uint_eq(adp_cow_size(node), ROUND_UP(sizes[i], 8));
            ck_assert(is_all_zeros(node, adp_cow_size(node)));
            ck_assert_ptr_eq(adp_cow_own(&cow, node), node);
            memset(node, 0xff, adp_cow_size(node));
            adp_cow_discard(&cow, node);
        }
    }
    ck_assert_int_eq(cow.n_bytes, 0);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
#define HAS_SPARES 1
#endif

#ifdef HAS_SPARES
START_TEST(test_latest_first)
{
    void *nodes[3];

    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
        nodes[i] = adp_cow_alloc(&cow, 512);
    }
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
        adp_cow_free(nodes[i]);
    }
    for (size_t i = ARRAY_SIZE(nodes); i-- > 0; ) {
        ck_assert_ptr_eq(adp_cow_alloc(&cow, 512), nodes[i]);
    }
}
END_TEST

/* What isn't given back to malloc() of 1,000 nodes. */
static size_t
kept_of(size_t size)
{
    static void *nodes[N_NODES];
    size_t before = mallinfo2().uordblks;

    for (size_t i = 0; i < N_NODES; i++) {
        nodes[i] = adp_cow_alloc(&cow, size);
    }
    for (size_t i = 0; i < N_NODES; i++) {
        adp_cow_free(nodes[i]);
    }
    return mallinfo2().uordblks - before;
}

START_TEST(test_bounds)
{
    const size_t overhead = 32;

    /* What malloc() keeps for the thread counts as in use, too. */
    for (size_t size = 8; size <= 2 * LARGE; size *= 2) {
        size_t kept = size > LARGE ? 0 : ADP_COW_MAX_SPARES;

        ck_assert_uint_le(kept_of(size), (kept + 16) * (size + overhead));
    }
}
END_TEST
#endif

static void *
churn(void *seed)
{
    struct adp_cow own;
    void *nodes[100] = { NULL };

    random_set_seed((uintptr_t) seed);
    adp_cow_begin(&own);
    for (int i = 0; i < 20000; i++) {
        size_t j = random_range(ARRAY_SIZE(nodes));
        size_t size = 8 * (1 + random_range(4));

        if (nodes[j]) {
            uint8_t *bytes = nodes[j];

            /* Nobody else has written there. */
            for (size_t k = 1; k < adp_cow_size(bytes); k++) {
                ck_assert_uint_eq(bytes[k], bytes[0]);
            }
            adp_cow_free(bytes);
        }
        nodes[j] = adp_cow_alloc(&own, size);
        ck_assert(is_all_zeros(nodes[j], size));
        memset(nodes[j], 1 + j, size);
    }
    for (size_t j = 0; j < ARRAY_SIZE(nodes); j++) {
        adp_cow_free(nodes[j]);
    }
    struct adp_garbage garbage = adp_cow_end(&own);
    adp_garbage_free(&garbage);
    return NULL;
}

START_TEST(test_threads)
{
    pthread_t threads[3];

    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = ovs_thread_create("churn", churn,
                                       (void *) (uintptr_t) (1 + i));
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        xpthread_join(threads[i], NULL);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("cow");
    TCase *tcase = tcase_create("spares");

    test_seed_random();
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_clean);
#ifdef HAS_SPARES
    tcase_add_test(tcase, test_latest_first);
    tcase_add_test(tcase, test_bounds);
#endif
    tcase_add_test(tcase, test_threads);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Memory for new connections: conntrack-pool.h. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include "conntrack.h"
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "test-run.h"
#include "util.h"

static bool
is_pooled(void *p)
{
    return !((uintptr_t) p % CACHE_LINE_SIZE) && conntrack_pool_size(p) >= 320
           && conntrack_pool_size(p) % CACHE_LINE_SIZE == 0;
}

static void
set_version(char *slot, uint32_t version)
{
    atomic_store_relaxed(&ALIGNED_CAST(struct conn *, slot)->version, version);
}

static uint32_t
get_version(const char *slot)
{
    uint32_t version;

    atomic_read_relaxed(&ALIGNED_CAST(struct conn *, slot)->version, &version);
    return version;
}

static bool
is_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i]) {
            return false;
        }
    }
    return true;
}

/* All of a slot but its version, which stays. */
static bool
is_cleared(const char *slot)
{
    size_t version = offsetof(struct conn, version);

    return (is_zero(slot, version)
            && is_zero(slot + version + sizeof(uint32_t),
                       320 - version - sizeof(uint32_t)));
}

/* Before the first conntrack_pool_run(). */
START_TEST(test_pool_unprepared)
{
    char *p = conntrack_pool_zalloc(100);

    ck_assert(is_zero(p, 100));
    ck_assert_uint_ge(conntrack_pool_size(p), 100);
    ck_assert(!conntrack_pool_put(p));
    ck_assert(!conntrack_pool_put(NULL));
    free(p);
}
END_TEST

/* Runs the pool, and waits until it has memory. */
static void
run_pool(struct conntrack *ct)
{
    conntrack_pool_run(ct);
    for (int i = 0; i < 10000; i++) {
        void *p = conntrack_pool_alloc(300);
        bool pooled = is_pooled(p);

        conntrack_pool_free(p);
        if (pooled) {
            return;
        }
        xnanosleep(1000 * 1000);
    }
    ck_abort_msg("the pool has no memory");
}

START_TEST(test_pool)
{
    enum { N = 200000 };            /* More than lie ready. */
    struct conntrack *ct = conntrack_init();
    char **slots = xmalloc(N * sizeof *slots);
    size_t n_pooled = 0;

    for (int i = 0; i < N; i++) {
        /* It prepares some, but not always as fast as is wanted. */
        if (i % 10000 == 0) {
            run_pool(ct);
        }
        slots[i] = conntrack_pool_zalloc(300);
        n_pooled += is_pooled(slots[i]);
        ck_assert(is_zero(slots[i], offsetof(struct conn, version)));
        memset(slots[i], i, offsetof(struct conn, half_open));
        set_version(slots[i], i);
    }
    ck_assert_uint_eq(n_pooled, N);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 180; j += 50) {
            ck_assert_int_eq(slots[i][j], (char) i);
        }
        conntrack_pool_free(slots[i]);
        /* A free slot can be asked. */
        ck_assert(!conntrack_pool_owns(slots[i]) || get_version(slots[i]) == i);
    }

    /* And once more, from what was given back. */
    for (int i = 0; i < 1000; i++) {
        slots[i] = conntrack_pool_zalloc(320);
        ck_assert(is_cleared(slots[i]));
        memset(slots[i], i, offsetof(struct conn, half_open));
        slots[i][319] = i;
    }
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(slots[i][319], (char) i);
        conntrack_pool_free(slots[i]);
    }
    free(slots);
    conntrack_destroy(ct);
}
END_TEST

/* A connection is freed by other threads than the one that made it. */

struct handover {
    void *slots[1000];
    size_t n;
};

static void *
give_back_all(void *handover_)
{
    struct handover *h = handover_;

    for (size_t i = 0; i < h->n; i++) {
        conntrack_pool_free(h->slots[i]);
    }
    return NULL;
}

START_TEST(test_pool_other_thread)
{
    struct conntrack *ct = conntrack_init();
    struct handover h = { .n = ARRAY_SIZE(h.slots) };
    void *again[ARRAY_SIZE(h.slots)];
    size_t n_again = 0;

    run_pool(ct);
    for (size_t i = 0; i < h.n; i++) {
        h.slots[i] = conntrack_pool_zalloc(300);
    }
    xpthread_join(ovs_thread_create("other", give_back_all, &h), NULL);

    /* The thread has left nothing behind: its slots come around again. */
    for (size_t i = 0; i < h.n; i++) {
        again[i] = conntrack_pool_zalloc(300);
        for (size_t j = 0; j < h.n; j++) {
            n_again += again[i] == h.slots[j];
        }
    }
    for (size_t i = 0; i < h.n; i++) {
        conntrack_pool_free(again[i]);
    }
    ck_assert_uint_ge(n_again, h.n - 72);
    conntrack_destroy(ct);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-ahead");
    TCase *tc = tcase_create("conntrack-ahead");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, test_pool_unprepared);
    tcase_add_test(tc, test_pool);
    tcase_add_test(tc, test_pool_other_thread);
    return test_run_nofork(s);
}

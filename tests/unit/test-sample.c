/* SPDX-License-Identifier: Apache-2.0 */

/* Samples: which packets are chosen, and the samples' way to the main
 * thread. */

#include <config.h>
#include <check.h>

#include "adp-sample.h"
#include "adp-walk.h"
#include "random.h"
#include "test-run.h"
#include "util.h"

void
adp_walk_init(struct adp_walk *w OVS_UNUSED)
{
}

void
adp_walk_uninit(struct adp_walk *w OVS_UNUSED)
{
}

/* Which samples were seen, by number, and how many 'goes_on' lets. */
static uint64_t seen[4 * ADP_SAMPLE_RING_SIZE];
static size_t n_seen, n_left;
static bool refuses;            /* The first one once more. */

static bool
goes_on(void *aux OVS_UNUSED)
{
    return n_left-- > 0;
}

static bool
see(struct adp_sample *s, void *aux OVS_UNUSED)
{
    seen[n_seen++] = s->generation;
    return !refuses;
}

static size_t
drain(size_t max)
{
    n_seen = 0;
    n_left = max;
    adp_samples_drain(goes_on, see, NULL);
    return n_seen;
}

static bool
put(struct adp_sampler *s, uint64_t number)
{
    bool busy;
    struct adp_sample *sample = adp_sampler_open(s, &busy);

    ck_assert(!busy);
    if (sample) {
        sample->generation = number;
        adp_sampler_close(s);
    }
    return sample != NULL;
}

static void
setup(void)
{
    adp_samples_init();
    refuses = false;
}

START_TEST(ring)
{
    struct adp_sampler *s = adp_sampler_create();

    ck_assert_uint_eq(drain(10), 0);
    for (size_t i = 0; i < ADP_SAMPLE_RING_SIZE; i++) {
        ck_assert(put(s, i));
    }
    ck_assert_msg(!put(s, 9999), "a full ring takes one more");
    ck_assert_uint_eq(drain(10), 10);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(seen[i], i);
        ck_assert(put(s, ADP_SAMPLE_RING_SIZE + i));
    }
    ck_assert(!put(s, 9999));
    ck_assert_uint_eq(drain(SIZE_MAX), ADP_SAMPLE_RING_SIZE);
    ck_assert_uint_eq(seen[0], 10);
    ck_assert_uint_eq(seen[ADP_SAMPLE_RING_SIZE - 1],
                      ADP_SAMPLE_RING_SIZE + 9);
    adp_sampler_destroy(s);
    ck_assert_uint_eq(drain(1), 0);
}
END_TEST

/* While one is being filled in, the main thread doesn't see it, and no other
 * is begun. */
START_TEST(open_one)
{
    struct adp_sampler *s = adp_sampler_create();
    bool busy;

    struct adp_sample *sample = adp_sampler_open(s, &busy);
    ck_assert_ptr_nonnull(sample);
    ck_assert(!busy);
    ck_assert_uint_eq(drain(1), 0);
    ck_assert_ptr_null(adp_sampler_open(s, &busy));
    ck_assert(busy);
    sample->generation = 7;
    adp_sampler_close(s);
    ck_assert_uint_eq(drain(1), 1);
    ck_assert_uint_eq(seen[0], 7);
    adp_sampler_destroy(s);
    drain(1);
}
END_TEST

/* One that is to be seen again is, before the next of its thread; others go
 * on. */
START_TEST(again)
{
    struct adp_sampler *a = adp_sampler_create();
    struct adp_sampler *b = adp_sampler_create();

    ck_assert(put(a, 1) && put(a, 2) && put(b, 3));
    refuses = true;
    ck_assert_uint_eq(drain(SIZE_MAX), 2);
    ck_assert_uint_eq(seen[0] + seen[1], 1 + 3);
    refuses = false;
    ck_assert_uint_eq(drain(SIZE_MAX), 3);
    ck_assert_uint_eq(seen[0] + seen[1] + seen[2], 1 + 2 + 3);
    adp_sampler_destroy(a);
    adp_sampler_destroy(b);
    drain(1);
}
END_TEST

/* A thread that ends leaves what it has put. */
START_TEST(closed)
{
    struct adp_sampler *s = adp_sampler_create();

    ck_assert(put(s, 1) && put(s, 2));
    adp_sampler_destroy(s);
    ck_assert_uint_eq(drain(1), 1);
    ck_assert_uint_eq(drain(10), 1);
    ck_assert_uint_eq(seen[0], 2);
    ck_assert_uint_eq(drain(10), 0);
}
END_TEST

/* How many of 'n' packets, in batches of random size, are chosen, each of them
 * once. */
static size_t
choose(struct adp_sampler *s, size_t n)
{
    size_t chosen = 0;

    for (size_t done = 0; done < n; ) {
        size_t size = 1 + random_range(32);
        size_t from = 0;
        size_t i;

        size = MIN(size, n - done);

        while ((i = adp_sampler_next(s, from, size)) < size) {
            ck_assert_uint_ge(i, from);
            chosen++;
            from = i + 1;
        }
        ck_assert_uint_eq(i, size);
        done += size;
    }
    return chosen;
}

START_TEST(rates)
{
    struct adp_sampler *s = adp_sampler_create();

    ck_assert(!adp_sample_is_on());
    ck_assert_uint_eq(choose(s, 1000), 0);
    adp_samples_set_rate(1);
    ck_assert(adp_sample_is_on());
    ck_assert_uint_eq(choose(s, 1000), 1000);

    /* Of 10,000 intervals from 1 to 199: the sum's deviation is 0.6 %. */
    adp_samples_set_rate(100);
    size_t n = choose(s, 1000000);
    ck_assert_uint_ge(n, 9400);
    ck_assert_uint_le(n, 10600);

    /* A new rate is in force at once, however long the old one's interval
     * was to be. */
    adp_samples_set_rate(ADP_SAMPLE_MAX_RATE);
    choose(s, 10);
    adp_samples_set_rate(1);
    ck_assert_uint_eq(choose(s, 10), 10);
    adp_samples_set_rate(0);
    ck_assert_uint_eq(choose(s, 10), 0);
    adp_sampler_destroy(s);
    drain(1);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("sample");
    TCase *tc = tcase_create("sample");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, ring);
    tcase_add_test(tc, open_one);
    tcase_add_test(tc, again);
    tcase_add_test(tc, closed);
    tcase_add_test(tc, rates);
    suite_add_tcase(s, tc);
    return test_run(s);
}

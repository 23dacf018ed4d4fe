/* SPDX-License-Identifier: Apache-2.0 */

/* What a port's limits leave of what it receives.  The clock stands still
 * unless a test sets it forward. */

#include <config.h>

#include <check.h>

#include "adp-policer.h"
#include "dp-packet.h"
#include "test-run.h"
#include "util.h"

long long int __wrap_time_msec(void);

static long long int now;
static struct adp_policer policer;

long long int
__wrap_time_msec(void)
{
    return now;
}

static void
setup(void)
{
    now = 1000000;
    adp_policer_init(&policer);
}

static void
teardown(void)
{
    adp_policer_destroy(&policer);
}

static void
limit(uint32_t kbits_rate, uint32_t kbits_burst, uint32_t kpkts_rate,
      uint32_t kpkts_burst)
{
    const struct adp_policer_limits limits = {
        kbits_rate, kbits_burst, kpkts_rate, kpkts_burst
    };

    adp_policer_set(&policer, &limits);
}

/* Receives 'n' packets of 'size' bytes, in batches, and returns how many
 * passed: all others were counted. */
static size_t
receive(size_t n, size_t size)
{
    const uint64_t n_dropped = adp_policer_n_dropped(&policer);
    size_t n_passed = 0;

    for (size_t done = 0; done < n; ) {
        struct dp_packet_batch batch;

        dp_packet_batch_init(&batch);
        while (done < n && !dp_packet_batch_is_full(&batch)) {
            struct dp_packet *packet = dp_packet_new(size);

            dp_packet_put_zeros(packet, size);
            dp_packet_batch_add(&batch, packet);
            done++;
        }
        adp_policer_apply(&policer, &batch);
        n_passed += dp_packet_batch_size(&batch);
        dp_packet_delete_batch(&batch, true);
    }
    ck_assert_uint_eq(adp_policer_n_dropped(&policer) - n_dropped,
                      n - n_passed);
    return n_passed;
}

START_TEST(without_limits)
{
    ck_assert_uint_eq(receive(1000, 1500), 1000);
    limit(0, 100, 0, 100);
    ck_assert_uint_eq(receive(1000, 1500), 1000);
}
END_TEST

/* 100 kbit are 100 packets of 125 bytes, 1000 kbit/s one in a millisecond. */
START_TEST(bits)
{
    limit(1000, 100, 0, 0);
    ck_assert_uint_eq(receive(200, 125), 100);
    now += 7;
    ck_assert_uint_eq(receive(200, 125), 7);
    now += 1000000;
    ck_assert_uint_eq(receive(200, 125), 100);
    /* Longer than the burst. */
    now += 1000000;
    ck_assert_uint_eq(receive(1, 12501), 0);
    ck_assert_uint_eq(receive(1, 12500), 1);
}
END_TEST

START_TEST(packets)
{
    limit(0, 0, 3, 1);
    ck_assert_uint_eq(receive(3000, 1500), 1000);
    now += 5;
    ck_assert_uint_eq(receive(3000, 60), 15);
}
END_TEST

START_TEST(both)
{
    limit(1000, 100, 1, 1);
    ck_assert_uint_eq(receive(200, 125), 100);
    limit(1000000, 100000, 1, 1);
    now += 1;
    ck_assert_uint_eq(receive(2000, 125), 900 + 1);
    now += 7;
    ck_assert_uint_eq(receive(2000, 125), 7);
}
END_TEST

START_TEST(default_bursts)
{
    limit(1000, 0, 0, 0);
    ck_assert_uint_eq(receive(9000, 125), 8000);
    limit(0, 0, 1, 0);
    ck_assert_uint_eq(receive(17000, 125), 16000);
}
END_TEST

/* The most that can be asked for. */
START_TEST(largest)
{
    limit(UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX);
    ck_assert_uint_eq(receive(5000, 60000), 5000);
}
END_TEST

/* The database's other changes set the same again. */
START_TEST(set_again)
{
    limit(1000, 100, 0, 0);
    ck_assert_uint_eq(receive(200, 125), 100);
    limit(1000, 100, 0, 0);
    ck_assert_uint_eq(receive(200, 125), 0);
    limit(2000, 100, 0, 0);
    ck_assert_uint_eq(receive(200, 125), 0);
    now += 7;
    ck_assert_uint_eq(receive(200, 125), 14);
    limit(0, 0, 0, 0);
    ck_assert_uint_eq(receive(200, 125), 200);
    limit(1000, 100, 0, 0);
    ck_assert_uint_eq(receive(200, 125), 100);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("policer");
    TCase *tc = tcase_create("policer");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, without_limits);
    tcase_add_test(tc, bits);
    tcase_add_test(tc, packets);
    tcase_add_test(tc, both);
    tcase_add_test(tc, default_bursts);
    tcase_add_test(tc, largest);
    tcase_add_test(tc, set_again);
    suite_add_tcase(s, tc);
    return test_run(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Sorting, as records and changes are. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "count-pauses.h"
#include "model-ip.h"
#include "model-pause.h"
#include "model-sort.h"
#include "packets.h"
#include "test-run.h"
#include "util.h"

/* The last digit is no part of the order. */
static int
compare_tens(const void *a_, const void *b_)
{
    const int *const *a = a_;
    const int *const *b = b_;

    return **a / 10 < **b / 10 ? -1 : **a / 10 > **b / 10;
}

START_TEST(sorts_and_leaves_equal_ones_in_order)
{
    enum { MAX = 70 };
    int numbers[MAX];
    const int *pointers[MAX + 1];

    for (int i = 0; i < MAX; i++) {
        numbers[i] = i * 37 % MAX;
    }
    for (int n = 0; n <= MAX; n++) {
        for (int i = 0; i < n; i++) {
            pointers[i] = &numbers[i];
        }
        pointers[n] = NULL;
        adp_sort_pointers(pointers, n, compare_tens);
        ck_assert_ptr_null(pointers[n]);
        for (int i = 1; i < n; i++) {
            int cmp = compare_tens(&pointers[i - 1], &pointers[i]);

            ck_assert(cmp < 0 || (!cmp && pointers[i - 1] < pointers[i]));
        }
    }
}
END_TEST

/* Addresses stay where they are, and the copy is sorted. */
START_TEST(copies_addresses)
{
    enum { N = 100 };
    struct adp_cidr cidrs[N];
    size_t n_pauses = 0;

    for (int i = 0; i < N; i++) {
        cidrs[i] = (struct adp_cidr) {
            .ip = in6_addr_mapped_ipv4(htonl(i * 37 % N)), .plen = 128,
        };
    }
    adp_pause_set(count_pause, &n_pauses);
    struct adp_cidr *sorted = adp_sorted_cidrs(cidrs, N);
    adp_pause_set(NULL, NULL);
    for (int i = 0; i < N; i++) {
        ck_assert_uint_eq(in6_addr_get_mapped_ipv4(&sorted[i].ip), htonl(i));
        ck_assert_uint_eq(in6_addr_get_mapped_ipv4(&cidrs[i].ip),
                          htonl(i * 37 % N));
    }
    ck_assert_uint_ge(n_pauses, 8 * (N / 16));
    free(sorted);

    free(adp_sorted_cidrs(NULL, 0));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("model-sort");
    TCase *tc = tcase_create("model-sort");

    tcase_add_test(tc, sorts_and_leaves_equal_ones_in_order);
    tcase_add_test(tc, copies_addresses);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

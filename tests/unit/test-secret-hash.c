/* SPDX-License-Identifier: Apache-2.0 */

/* The hash of what strangers choose, against who knows all of it but its
 * secrets. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "adp-secret-hash.h"
#include "equal-hash.h"
#include "test-run.h"
#include "util.h"

enum { N_CHAINS = 4096, MAX_CHAIN = 16 };

static uint8_t chains[N_CHAINS];
static uint8_t longest;

static void
setup(void)
{
    memset(chains, 0, sizeof chains);
    longest = 0;
}

static void
put(uint32_t hash)
{
    uint8_t *chain = &chains[hash % N_CHAINS];

    longest = MAX(longest, ++*chain);
}

/* What upstream's hash takes for one are many. */
START_TEST(test_strings_chosen)
{
    char *strings[EQUAL_HASH_N];

    equal_hash_strings(strings);
    for (int i = 0; i < EQUAL_HASH_N; i++) {
        put(adp_secret_hash_string(strings[i], 0));
        free(strings[i]);
    }
    ck_assert_uint_lt(longest, MAX_CHAIN);
}
END_TEST

/* What differs in one place spreads, wherever that is. */
START_TEST(test_places)
{
    for (size_t place = 0; place + sizeof(uint16_t) <= 40; place++) {
        setup();
        for (uint16_t i = 0; i < N_CHAINS / 2; i++) {
            uint8_t bytes[40] = { 0 };

            memcpy(&bytes[place], &i, sizeof i);
            put(adp_secret_hash_bytes(bytes, sizeof bytes, 0));
        }
        ck_assert_uint_lt(longest, MAX_CHAIN);
    }
}
END_TEST

/* Zeros behind it count, and so does the basis, which the first bytes don't
 * take away. */
START_TEST(test_lengths_and_bases)
{
    static const uint8_t zeros[N_CHAINS / 2];

    for (size_t n = 0; n < sizeof zeros; n++) {
        put(adp_secret_hash_bytes(zeros, n, 0));
    }
    ck_assert_uint_lt(longest, MAX_CHAIN);
    setup();
    for (uint64_t basis = 0; basis < N_CHAINS / 2; basis++) {
        put(adp_secret_hash_bytes(zeros, 16, basis));
    }
    ck_assert_uint_lt(longest, MAX_CHAIN);
    setup();
    for (uint64_t basis = 0; basis < N_CHAINS / 2; basis++) {
        put(adp_secret_hash_bytes(&basis, sizeof basis, basis));
    }
    ck_assert_uint_lt(longest, MAX_CHAIN);
}
END_TEST

/* The same is the same, wherever it lies. */
START_TEST(test_alignment)
{
    static const char text[] = "app.kubernetes.io/name=web";

    for (size_t i = 0; i < 8; i++) {
        char copy[8 + sizeof text];

        memset(copy, 'x', sizeof copy);
        memcpy(copy + i, text, strlen(text));
        ck_assert_uint_eq(adp_secret_hash_bytes(copy + i, strlen(text), 1),
                          adp_secret_hash_string(text, 1));
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("secret-hash");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, test_strings_chosen);
    tcase_add_test(tc, test_places);
    tcase_add_test(tc, test_lengths_and_bases);
    tcase_add_test(tc, test_alignment);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}

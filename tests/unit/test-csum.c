/* SPDX-License-Identifier: Apache-2.0 */

/* Differences of checksums against checksums made anew. */

#include <config.h>

#include <check.h>
#include <string.h>

#include "adp-csum.h"
#include "csum.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

#define N_WORDS 12

/* Words that are often at the ends of their range, where carries are. */
static ovs_be16
random_word(void)
{
    switch (random_range(4)) {
    case 0: return htons(0);
    case 1: return htons(0xffff);
    default: return htons(random_uint16());
    }
}

/* 'words' with a checksum in the last of them. */
static void
seal(ovs_be16 words[N_WORDS])
{
    words[N_WORDS - 1] = 0;
    words[N_WORDS - 1] = csum(words, N_WORDS * sizeof *words);
}

static ovs_be32
word_pair(const ovs_be16 words[], size_t i)
{
    ovs_be32 pair;

    memcpy(&pair, &words[i], sizeof pair);
    return pair;
}

START_TEST(random_changes)
{
    for (int i = 0; i < 20000; i++) {
        ovs_be16 old[N_WORDS], new[N_WORDS];
        uint32_t delta = 0;

        for (size_t j = 0; j < N_WORDS; j++) {
            old[j] = random_word();
            new[j] = random_range(2) ? old[j] : random_word();
        }
        seal(old);
        for (size_t j = 0; j < 4; j += 2) {
            delta = adp_csum_add32(delta, word_pair(old, j),
                                   word_pair(new, j));
        }
        for (size_t j = 4; j < N_WORDS - 1; j++) {
            delta = adp_csum_add16(delta, old[j], new[j]);
        }
        new[N_WORDS - 1] = adp_csum_apply(old[N_WORDS - 1],
                                          adp_csum_fold(delta));

        /* Whoever gets it sums all words up. */
        ck_assert_uint_eq(csum(new, sizeof new), 0);
        if (!memcmp(old, new, (N_WORDS - 1) * sizeof *old)) {
            ck_assert_uint_eq(new[N_WORDS - 1], old[N_WORDS - 1]);
        }
    }
}
END_TEST

/* Both zeros of ones' complement stay what they are. */
START_TEST(nothing_changes)
{
    uint16_t delta = adp_csum_fold(
        adp_csum_add32(adp_csum_add16(0, htons(7), htons(7)),
                       htonl(0x01020304), htonl(0x01020304)));

    ck_assert_uint_eq(delta, 0);
    ck_assert_uint_eq(adp_csum_apply(htons(0), delta), htons(0));
    ck_assert_uint_eq(adp_csum_apply(htons(0xffff), delta), htons(0xffff));
}
END_TEST

/* A carry that makes another. */
START_TEST(carries)
{
    ck_assert_uint_eq(adp_csum_fold(0x1ffff), 1);
    ck_assert_uint_eq(adp_csum_fold(0xffff0000), 0xffff);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("csum");
    TCase *tc = tcase_create("csum");

    test_seed_random();
    tcase_add_test(tc, random_changes);
    tcase_add_test(tc, nothing_changes);
    tcase_add_test(tc, carries);
    suite_add_tcase(s, tc);
    return test_run(s);
}

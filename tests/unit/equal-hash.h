/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EQUAL_HASH_H
#define EQUAL_HASH_H 1

/* Strings that upstream's hash_string() takes for one: what a stranger who
 * knows the hash may write. */

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

enum {
    EQUAL_HASH_STEPS = 11,
    EQUAL_HASH_N = 1 << EQUAL_HASH_STEPS,
    EQUAL_HASH_TRIES = 1 << 18
};

/* Two pieces of 8 bytes that leave the hash in the same state. */
struct equal_pieces {
    char pieces[2][9];
};

/* Which of the pieces a number stands for. */
static inline void
equal_hash_piece(uint32_t number, char piece[9])
{
    snprintf(piece, 9, "%08"PRIx32, number);
}

static inline int
equal_hash_compare(const void *a_, const void *b_)
{
    uint64_t a = *(const uint64_t *) a_, b = *(const uint64_t *) b_;

    return a < b ? -1 : a > b;
}

/* By the birthday of many. */
static inline void
equal_hash_find(const char *prefix, struct equal_pieces *found)
{
    uint64_t *tries = xmalloc(EQUAL_HASH_TRIES * sizeof *tries);
    char *s = xasprintf("%s12345678", prefix);
    size_t i;

    for (i = 0; i < EQUAL_HASH_TRIES; i++) {
        equal_hash_piece(i * UINT32_C(2654435761), s + strlen(prefix));
        tries[i] = (uint64_t) hash_string(s, 0) << 32
                   | (uint32_t) (i * UINT32_C(2654435761));
    }
    qsort(tries, EQUAL_HASH_TRIES, sizeof *tries, equal_hash_compare);
    for (i = 1; i < EQUAL_HASH_TRIES; i++) {
        if (tries[i] >> 32 == tries[i - 1] >> 32) {
            break;
        }
    }
    ck_assert_uint_lt(i, EQUAL_HASH_TRIES);
    equal_hash_piece(tries[i - 1], found->pieces[0]);
    equal_hash_piece(tries[i], found->pieces[1]);
    free(tries);
    free(s);
}

/* Makes EQUAL_HASH_N strings that differ, and share hash_string(.., 0). */
static inline void
equal_hash_strings(char *strings[EQUAL_HASH_N])
{
    struct equal_pieces steps[EQUAL_HASH_STEPS];
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < EQUAL_HASH_STEPS; i++) {
        equal_hash_find(ds_cstr(&s), &steps[i]);
        ds_put_cstr(&s, steps[i].pieces[0]);
    }
    for (int i = 0; i < EQUAL_HASH_N; i++) {
        ds_clear(&s);
        for (int j = 0; j < EQUAL_HASH_STEPS; j++) {
            ds_put_cstr(&s, steps[j].pieces[i >> j & 1]);
        }
        strings[i] = xstrdup(ds_cstr(&s));
        ck_assert_uint_eq(hash_string(strings[i], 0),
                          hash_string(strings[0], 0));
    }
    ds_destroy(&s);
}

#endif /* equal-hash.h */

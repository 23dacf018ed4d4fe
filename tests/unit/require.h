/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_REQUIRE_H
#define TESTS_REQUIRE_H 1

#include <check.h>

/* As ck_assert(), which writes a note to a file whenever it passes: for loops
 * that ask millions of times. */
#define require(CONDITION)                      \
    do {                                        \
        if (!(CONDITION)) {                     \
            ck_abort_msg("%s", #CONDITION);     \
        }                                       \
    } while (0)

#endif /* require.h */

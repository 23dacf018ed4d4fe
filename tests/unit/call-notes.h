/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_CALL_NOTES_H
#define TESTS_CALL_NOTES_H 1

/* What a test's stand-ins were called for, in order: a letter each. */

#include <check.h>
#include <string.h>

static char calls[64];

static void
note(char c)
{
    size_t n = strlen(calls);

    ck_assert_uint_lt(n, sizeof calls - 1);
    calls[n] = c;
}

/* These were the calls since the last time. */
static void
expect(const char *expected)
{
    ck_assert_str_eq(calls, expected);
    memset(calls, 0, sizeof calls);
}

#endif /* call-notes.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TEST_RUN_H
#define TEST_RUN_H 1

/* What the main() of a test program ends with: both run the suite, free it and
 * return what main() is to return. */

#include <check.h>

/* Each test in a process of its own, unless CK_FORK says "no". */
int test_run(Suite *);
/* All in this one: for tests that go on with what those before them left, or
 * that measure or need threads. */
int test_run_nofork(Suite *);

#endif /* test-run.h */

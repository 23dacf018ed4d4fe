/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "test-run.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_MARKS = 1000 };

/* Of libcheck, which ck_assert() calls whenever it passes: a note in a file, so
 * that where a test got to can be told should it be killed.  All of them are
 * read and moved in memory when the test has ended, which for loops that ask
 * millions of times takes longer than the test.  So there are some only. */
void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);
void
__wrap__mark_point(const char *file, int line)
{
    static atomic_uint n_marks;

    if (atomic_load_explicit(&n_marks, memory_order_relaxed) < MAX_MARKS) {
        atomic_fetch_add_explicit(&n_marks, 1, memory_order_relaxed);
        __real__mark_point(file, line);
    }
}

static int
run(Suite *suite, enum fork_status fork_status)
{
    SRunner *runner = srunner_create(suite);

    srunner_set_fork_status(runner, fork_status);
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
test_run(Suite *suite)
{
    return run(suite, CK_FORK_GETENV);
}

int
test_run_nofork(Suite *suite)
{
    return run(suite, CK_NOFORK);
}

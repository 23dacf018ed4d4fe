/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "test-run.h"

#include <stdlib.h>

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

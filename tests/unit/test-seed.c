/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "test-seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "random.h"

void
test_seed_random(void)
{
    const char *seed_text = getenv("ADP_TEST_SEED");
    uint32_t seed = seed_text ? atoi(seed_text) : random_uint32();

    printf("seed %"PRIu32" (ADP_TEST_SEED)\n", seed);
    fflush(stdout);
    random_set_seed(seed);
}

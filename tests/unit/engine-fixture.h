/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H 1

/* For tests that each begin with an empty engine, 'e'. */

#include "engine.h"

static struct engine *e;

static void
setup(void)
{
    e = engine_create();
}

static void
teardown(void)
{
    engine_destroy(e);
}

#endif /* engine-fixture.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENGINE_PLACES_H
#define ENGINE_PLACES_H 1

/* For tests that change flows of an engine, 'e', one after the other: N_FLOWS
 * places, which the includer defines, with a flow each or none, and a drawn seed. */

#include "engine.h"
#include "ovs-rcu.h"
#include "test-seed.h"

static struct engine *e;
static struct adp_rule *rules[N_FLOWS];

static void
setup(void)
{
    test_seed_random();
    e = engine_create();
}

static void
teardown(void)
{
    engine_destroy(e);
    for (size_t i = 0; i < N_FLOWS; i++) {
        adp_rule_unref(rules[i]);
        rules[i] = NULL;
    }
    ovsrcu_quiesce();
}

/* Makes the next program, and frees 'delta'. */
static void
commit(struct adp_delta *delta)
{
    struct adp_program *old = e->program;

    e->program = adp_compile(old, delta);
    adp_delta_destroy(delta);
    adp_program_unref(old);
}

/* Puts 'text' in place of flow 'i', or nothing if it is NULL. */
static void
change_flow(struct adp_delta *delta, size_t i, const char *text)
{
    if (rules[i]) {
        adp_delta_remove_rule(delta, rules[i]);
        adp_rule_unref(rules[i]);
    }
    rules[i] = text ? engine_parse_flow(text) : NULL;
    if (rules[i]) {
        adp_delta_add_rule(delta, rules[i]);
    }
}

static void
set_flow(size_t i, const char *text)
{
    struct adp_delta *delta = adp_delta_create();

    change_flow(delta, i, text);
    commit(delta);
}

#endif /* engine-places.h */

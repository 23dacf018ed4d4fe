/* SPDX-License-Identifier: Apache-2.0 */

/* When a client's question about a bridge is answered: at once, in slices, or
 * not, and who frees what. */

#include <config.h>
#include <check.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-control-reading.h"
#include "adp-state.h"
#include "model.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "test-run.h"
#include "util.h"

__typeof__(poll_immediate_wake_at) __wrap_poll_immediate_wake_at;

static bool wakes_at_once;

void
__wrap_poll_immediate_wake_at(const char *where OVS_UNUSED)
{
    wakes_at_once = true;
}

static struct adp_bridge *const bridge = (void *) &bridge;
static bool has_bridge, has_state, is_large, is_free, may_read;

struct adp_bridge *
adp_bridge_lookup(const char *name)
{
    ck_assert_str_eq(name, "br-int");
    return has_bridge ? bridge : NULL;
}

const char *
adp_bridge_name(const struct adp_bridge *b)
{
    ck_assert_ptr_eq(b, bridge);
    return "br-int";
}

static struct adp_state *const state = (void *) &state;

struct adp_state *
adp_bridge_state(const struct adp_bridge *b)
{
    ck_assert_ptr_eq(b, bridge);
    return has_state ? state : NULL;
}

bool
adp_state_is_large(const struct adp_state *s)
{
    ck_assert_ptr_eq(s, state);
    return is_large;
}

bool
adp_state_may_be_read(const struct adp_state *s)
{
    ck_assert_ptr_eq(s, state);
    return is_free;
}

/* What the state was asked to do. */
static void (*slices)(void *);
static void (*end)(void *);
static void *slices_aux;

bool
adp_state_read(struct adp_state *s, void (*read)(void *),
               void (*end_)(void *), void *aux)
{
    ck_assert_ptr_eq(s, state);
    if (may_read) {
        ck_assert_ptr_null(slices);
        slices = read;
        end = end_;
        slices_aux = aux;
    }
    return may_read;
}

static void
end_slices(void)
{
    slices(slices_aux);
    end(slices_aux);
}

/* A question. */

static bool may_begin, fails;
static int n_begun, n_read, n_destroyed;

static bool
begins(const struct adp_bridge *b, const void *aux)
{
    ck_assert_ptr_eq(b, bridge);
    ck_assert_ptr_eq(aux, &n_read);
    return may_begin;
}

static void
begin(struct adp_bridge *b, void *aux)
{
    ck_assert_ptr_eq(b, bridge);
    ck_assert_ptr_eq(aux, &n_read);
    n_begun++;
}

static void
read_bridge(struct adp_bridge *b, void *aux)
{
    ck_assert_ptr_eq(b, bridge);
    ck_assert_ptr_eq(aux, &n_read);
    ck_assert_int_eq(n_destroyed, 0);
    n_read++;
}

static struct json *
take(void *aux, struct adp_error **errorp)
{
    ck_assert_ptr_eq(aux, &n_read);
    if (fails) {
        *errorp = adp_error_create("invalid", NULL, NULL, "wrong");
        return NULL;
    }
    return json_integer_create(7);
}

static void
destroy(void *aux)
{
    ck_assert_ptr_eq(aux, &n_read);
    n_destroyed++;
}

static struct adp_control_reading *reading;

static void
ask(bool needs_state)
{
    static struct adp_control_reading_class class = {
        .may_begin = begins,
        .begin = begin,
        .read = read_bridge,
        .take = take,
        .destroy = destroy,
    };

    class.needs_state = needs_state;
    reading = adp_control_reading_create(&class, bridge, &n_read);
}

static bool
is_answered(void)
{
    struct json *result = NULL;
    struct adp_error *error = NULL;
    bool ended = adp_control_reading_run(reading, &result, &error);

    ck_assert_int_eq(result != NULL, ended && !fails);
    ck_assert_int_eq(error != NULL, ended && fails);
    json_destroy(result);
    adp_error_destroy(error);
    return ended;
}

static void
leave(void)
{
    adp_control_reading_leave(reading);
}

static bool
wakes(void)
{
    wakes_at_once = false;
    adp_control_readings_wait();
    return wakes_at_once;
}

static void
setup(void)
{
    has_bridge = has_state = is_large = is_free = may_read = may_begin = true;
}

START_TEST(small)
{
    is_large = is_free = false;
    ask(true);
    ck_assert_int_eq(n_begun, 0);
    ck_assert(is_answered());
    ck_assert_int_eq(n_begun, 1);
    ck_assert_int_eq(n_read, 1);
    ck_assert_ptr_null(slices);
    leave();
    ck_assert_int_eq(n_destroyed, 1);
    ck_assert(!wakes());
}
END_TEST

/* The state sees to it that the loop goes on until the end is near. */
START_TEST(large)
{
    ask(true);
    ck_assert(!is_answered());
    ck_assert(!is_answered());
    ck_assert(!wakes());
    ck_assert_int_eq(n_begun, 1);
    ck_assert_int_eq(n_read, 0);
    end_slices();
    ck_assert_int_eq(n_read, 1);
    ck_assert(wakes());
    ck_assert(is_answered());
    ck_assert_int_eq(n_destroyed, 0);
    leave();
    ck_assert_int_eq(n_destroyed, 1);
    ck_assert(!wakes());
}
END_TEST

/* Who goes meanwhile leaves what is read to the state. */
START_TEST(client_gone)
{
    ask(true);
    ck_assert(!is_answered());
    leave();
    ck_assert_int_eq(n_destroyed, 0);
    end_slices();
    ck_assert_int_eq(n_read, 1);
    ck_assert_int_eq(n_destroyed, 1);
    ck_assert(!wakes());
}
END_TEST

/* First the class isn't ready, then the state is amid of something, then
 * others have had no turn. */
START_TEST(has_to_wait)
{
    may_begin = false;
    ask(true);
    ck_assert(!is_answered());
    ck_assert(!wakes());
    may_begin = true;
    ck_assert(wakes());
    is_free = false;
    ck_assert(!wakes());
    ck_assert(!is_answered());
    ck_assert_int_eq(n_begun, 0);
    is_free = true;
    may_read = false;
    ck_assert(!is_answered());
    ck_assert(!is_answered());
    ck_assert_int_eq(n_begun, 1);
    ck_assert(wakes());
    ck_assert_ptr_null(slices);
    may_read = true;
    ck_assert(!is_answered());
    ck_assert_int_eq(n_begun, 1);
    end_slices();
    ck_assert(is_answered());
    leave();
}
END_TEST

START_TEST(error)
{
    is_large = false;
    fails = true;
    ask(true);
    ck_assert(is_answered());
    leave();
}
END_TEST

/* The bridge, or its state, goes before the reading begins. */
START_TEST(lost)
{
    may_begin = false;
    ask(_i == 1);
    ck_assert(!is_answered());
    ck_assert(!adp_control_reading_is_lost(reading));
    if (_i) {
        has_state = false;
    } else {
        has_bridge = false;
    }
    may_begin = true;
    ck_assert(adp_control_reading_is_lost(reading));
    ck_assert(!is_answered());
    ck_assert(!wakes());
    ck_assert_int_eq(n_begun, 0);
    leave();
    ck_assert_int_eq(n_destroyed, 1);
}
END_TEST

/* Some questions are about bridges without a state, too. */
START_TEST(no_state)
{
    has_state = false;
    ask(false);
    ck_assert(!adp_control_reading_is_lost(reading));
    ck_assert(is_answered());
    ck_assert_int_eq(n_read, 1);
    leave();
}
END_TEST

/* Then the state has ended it first. */
START_TEST(bridge_gone_amid)
{
    ask(true);
    ck_assert(!is_answered());
    end_slices();
    has_bridge = false;
    ck_assert(!adp_control_reading_is_lost(reading));
    ck_assert(is_answered());
    leave();
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("control-reading");
    TCase *tc = tcase_create("control-reading");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, small);
    tcase_add_test(tc, large);
    tcase_add_test(tc, client_gone);
    tcase_add_test(tc, has_to_wait);
    tcase_add_test(tc, error);
    tcase_add_loop_test(tc, lost, 0, 2);
    tcase_add_test(tc, no_state);
    tcase_add_test(tc, bridge_gone_amid);
    suite_add_tcase(s, tc);
    return test_run(s);
}

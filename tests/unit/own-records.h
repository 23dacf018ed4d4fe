/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_OWN_RECORDS_H
#define TESTS_OWN_RECORDS_H 1

/* For tests of what makes records of its own: in place of the bridge's state
 * one that has one transaction at a time, which ends as a test says; turns
 * without end, unless a test says after how many items a slice is over, and a
 * clock that stands still unless a test sets it forward.
 *
 * For programs linked with --wrap of poll_immediate_wake_at,
 * poll_timer_wait_until_at and time_msec. */

#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge.h"
#include "adp-state.h"
#include "adp-turn.h"
#include "model.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "util.h"

__typeof__(poll_immediate_wake_at) __wrap_poll_immediate_wake_at;
__typeof__(poll_timer_wait_until_at) __wrap_poll_timer_wait_until_at;
__typeof__(time_msec) __wrap_time_msec;

static long long int now;       /* ms. */
static long long int wakes;     /* When the main thread would wake up. */
static int slice_items;         /* Of one slice. */

/* Transactions. */
static struct {
    bool busy;                  /* With those of others, */
    bool others_are_next;       /* or they have their turn. */
    bool later;                 /* They end when end_call() is called, */
    bool fails;                 /* and so. */
    struct adp_state_call *call;
    bool ignored_missing;       /* Of the last one. */
    struct json *apply, *delete;
    size_t n;
} calls;

static struct adp_state *const a_state = (struct adp_state *) &calls;

static void
calls_init(void)
{
    memset(&calls, 0, sizeof calls);
    now = 100000;
    slice_items = INT_MAX;
}

static void
calls_uninit(void)
{
    json_destroy(calls.apply);
    json_destroy(calls.delete);
}

static void
end_call(void)
{
    calls.call->done = true;
    if (calls.fails) {
        calls.call->error = adp_error_create("conflict", NULL, NULL, "no");
    }
}

struct adp_state_call *
adp_state_transact(struct adp_state *s, const struct adp_state_change *change)
{
    ck_assert_ptr_eq(s, a_state);
    ck_assert(!calls.busy && !calls.others_are_next);
    ck_assert(change->source != ADP_STATE_CALLS && !change->clear);
    ck_assert_ptr_null(calls.call);

    calls_uninit();
    calls.apply = json_clone(change->apply);
    calls.delete = json_clone(change->delete);
    calls.ignored_missing = change->ignore_missing;
    calls.n++;
    calls.call = xzalloc(sizeof *calls.call);
    if (!calls.later) {
        end_call();
    }
    return calls.call;
}

void
adp_state_call_unref(struct adp_state_call *call)
{
    if (call) {
        ck_assert_ptr_eq(call, calls.call);
        adp_error_destroy(call->error);
        free(call);
        calls.call = NULL;
    }
}

bool
adp_state_is_busy(const struct adp_state *s)
{
    ck_assert_ptr_eq(s, a_state);
    return calls.busy;
}

bool
adp_state_has_turn(const struct adp_state *s, enum adp_state_source source)
{
    ck_assert_int_ne(source, ADP_STATE_CALLS);
    return !adp_state_is_busy(s) && !calls.others_are_next;
}

const char *
adp_bridge_name(const struct adp_bridge *bridge OVS_UNUSED)
{
    return "br0";
}

/* The main loop. */

long long int
__wrap_time_msec(void)
{
    return now;
}

void
__wrap_poll_immediate_wake_at(const char *where OVS_UNUSED)
{
    wakes = MIN(wakes, now);
}

void
__wrap_poll_timer_wait_until_at(long long int ms, const char *where OVS_UNUSED)
{
    wakes = MIN(wakes, ms);
}

enum adp_turn_section
adp_turn_enter(enum adp_turn_section section)
{
    return section;
}

void
adp_turn_leave(enum adp_turn_section outer OVS_UNUSED)
{
}

/* Slices have begun; behind it comes what they have left. */
#define SLICE_BEGUN 1234567LL

void
adp_turn_slice_init(struct adp_turn_slice *slice)
{
    slice->ends = SLICE_BEGUN + slice_items;
}

bool
adp_turn_slice_goes_on(struct adp_turn_slice *slice)
{
    ck_assert_int_ge(slice->ends, SLICE_BEGUN);
    ck_assert_int_le(slice->ends, SLICE_BEGUN + slice_items);
    if (slice->ends == SLICE_BEGUN) {
        return false;
    }
    slice->ends--;
    return true;
}

/* Counters. */

/* The count 'name' of 'stats', which is destroyed. */
static long long int
take_count(struct json *stats, const char *name)
{
    long long int n = json_integer(shash_find_data(json_object(stats), name));

    json_destroy(stats);
    return n;
}

#endif /* own-records.h */

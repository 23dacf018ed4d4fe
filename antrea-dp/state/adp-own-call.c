/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-own-call.h"

#include "adp-turn.h"
#include "model.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"

VLOG_DEFINE_THIS_MODULE(adp_own_call);

void
adp_own_call_init(struct adp_own_call *c,
                  const struct adp_own_call_class *class, const char *bridge,
                  void *aux)
{
    *c = (struct adp_own_call) {
        .class = class, .bridge = bridge, .aux = aux,
    };
}

static void
forget_said(struct adp_own_call *c)
{
    json_destroy(c->apply);
    json_destroy(c->delete);
    c->apply = c->delete = NULL;
}

void
adp_own_call_uninit(struct adp_own_call *c)
{
    forget_said(c);
    adp_state_call_unref(c->call);
}

void
adp_own_call_apply(struct adp_own_call *c, struct json *record)
{
    json_array_add(c->apply, record);
}

void
adp_own_call_delete(struct adp_own_call *c, struct json *key)
{
    json_array_add(c->delete, key);
}

bool
adp_own_call_is_saying(const struct adp_own_call *c)
{
    return c->apply && !c->all_said;
}

bool
adp_own_call_drop(struct adp_own_call *c)
{
    bool any = c->apply != NULL;

    forget_said(c);
    return any;
}

static void
begin_saying(struct adp_own_call *c, const struct adp_state *state)
{
    c->class->begin(c->aux, state);
    c->apply = json_array_create_empty();
    c->delete = json_array_create_empty();
    c->all_said = false;
}

static void
go_on_saying(struct adp_own_call *c)
{
    struct adp_turn_slice slice;

    adp_turn_slice_init(&slice);
    while (c->class->has_more(c->aux)) {
        if (!adp_turn_slice_goes_on(&slice)) {
            return;
        }
        c->class->say_next(c->aux);
    }
    c->all_said = true;
}

static void
begin_call(struct adp_own_call *c, struct adp_state *state)
{
    c->call = adp_state_transact(state, &(struct adp_state_change) {
        .source = c->class->source,
        .apply = c->apply, .delete = c->delete,
        .ignore_missing = c->class->ignore_missing,
    });
    c->next_try = time_msec() + c->class->pace_ms;
    forget_said(c);
}

void
adp_own_call_run_end(struct adp_own_call *c)
{
    if (!c->call || !c->call->done) {
        return;
    }

    const struct adp_error *error = c->call->error;
    if (error) {
        static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

        VLOG_WARN_RL(&rl, "bridge %s: %s can't be in force: %s", c->bridge,
                     c->class->what, error->message);
        c->next_try = time_msec() + ADP_OWN_CALL_RETRY_MS;
    }
    c->class->end(c->aux, error);
    adp_state_call_unref(c->call);
    c->call = NULL;
}

void
adp_own_call_run(struct adp_own_call *c, struct adp_state *state, bool wants)
{
    bool may_begin = !c->call && adp_state_has_turn(state, c->class->source);

    if (may_begin && !c->apply && wants && time_msec() >= c->next_try) {
        begin_saying(c, state);
    }
    if (adp_own_call_is_saying(c)) {
        go_on_saying(c);
    }
    if (may_begin && c->apply && c->all_said) {
        begin_call(c, state);
        adp_own_call_run_end(c);
    }
}

void
adp_own_call_wait(const struct adp_own_call *c, const struct adp_state *state,
                  bool wants)
{
    if ((c->call && c->call->done) || adp_own_call_is_saying(c)) {
        poll_immediate_wake();
    } else if (!c->call && state && !adp_state_is_busy(state)) {
        if (c->apply) {
            poll_immediate_wake();
        } else if (wants) {
            poll_timer_wait_until(c->next_try);
        }
    }
}

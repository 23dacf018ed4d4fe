/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-transaction.h"

#include <stdlib.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-state.h"
#include "adp-turn.h"
#include "openvswitch/json.h"
#include "util.h"

struct adp_control_transaction {
    struct adp_state_call *call;
    bool tells_applied, tells_deleted;
    long long int n_patched;            /* -1: not told. */
};

struct adp_control_transaction *
adp_control_transaction_begin(struct adp_state *state,
                              const struct adp_state_change *change)
{
    struct adp_control_transaction *t = xmalloc(sizeof *t);

    *t = (struct adp_control_transaction) {
        .call = adp_state_submit(state, change),
        .tells_applied = change->apply != NULL,
        .tells_deleted = change->delete != NULL,
        .n_patched = change->patch ? json_array(change->patch)->n : -1,
    };
    return t;
}

struct json *
adp_control_transaction_result(struct adp_control_transaction *t,
                               struct adp_error **errorp)
{
    struct adp_state_call *call = t->call;
    size_t n_applied = call->n_applied;

    *errorp = NULL;
    if (!call->done) {
        return NULL;
    } else if (call->error) {
        *errorp = call->error;
        call->error = NULL;
        return NULL;
    }

    struct json *result = json_object_create();
    json_object_put(result, "generation",
                    json_integer_create(call->generation));
    if (call->warning) {
        json_object_put_string(result, "warning", call->warning);
    }
    if (t->n_patched >= 0) {
        json_object_put(result, "patched", json_integer_create(t->n_patched));
        n_applied -= t->n_patched;
    }
    if (t->tells_applied) {
        json_object_put(result, "applied", json_integer_create(n_applied));
    }
    if (t->tells_deleted) {
        json_object_put(result, "deleted",
                        json_integer_create(call->n_deleted));
    }
    return result;
}

void
adp_control_transaction_destroy(struct adp_control_transaction *t)
{
    if (t) {
        adp_state_call_cancel(t->call);
        adp_state_call_unref(t->call);
        free(t);
    }
}

void
adp_control_transactions_run(void)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_STATE);

    for (struct adp_bridge *bridge = adp_bridge_next(NULL); bridge;
         bridge = adp_bridge_next(bridge)) {
        struct adp_state *state = adp_bridge_state(bridge);

        if (state) {
            adp_turn_set_bridge(adp_bridge_serial(bridge));
            adp_state_serve(state);
        }
    }
    adp_turn_set_bridge(0);
    adp_turn_leave(outer);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state-call.h"

#include <stdlib.h>

#include "adp-state.h"
#include "util.h"

struct adp_state_call *
adp_state_call_create(void)
{
    struct adp_state_call *call = xzalloc(sizeof *call);

    call->n_refs = 1;
    return call;
}

void
adp_state_call_unref(struct adp_state_call *call)
{
    if (call && !--call->n_refs) {
        adp_error_destroy(call->error);
        free(call->warning);
        free(call);
    }
}

void
adp_state_call_end(struct adp_state_call *call, struct adp_error *error,
                   uint64_t generation, const struct adp_state *state)
{
    call->done = true;
    call->error = error;
    call->generation = generation;
    if (error) {
        call->n_applied = call->n_deleted = 0;
    } else {
        call->warning = adp_state_warning(state);
    }
}

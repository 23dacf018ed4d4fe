/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_CALL_H
#define ADP_STATE_CALL_H 1

/* Calls (adp-state.h), for the state. */

#include <stdint.h>

struct adp_error;
struct adp_state;
struct adp_state_call;

struct adp_state_call *adp_state_call_create(void);
/* Takes 'error'; NULL if all is well.  The state is of 'generation' then. */
void adp_state_call_end(struct adp_state_call *, struct adp_error *error,
                        uint64_t generation, const struct adp_state *);

#endif /* adp-state-call.h */

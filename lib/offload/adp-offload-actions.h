/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_OFFLOAD_ACTIONS_H
#define ADP_OFFLOAD_ACTIONS_H 1

/* Which of the datapath's actions need a packet that is finished
 * (adp-offload.h).
 *
 * No state, no locks.  Cost: a look at each action. */

#include <stdbool.h>
#include <stddef.h>

struct nlattr;

/* Do the actions put something before the packet that who finishes it won't
 * look behind, such as a tunnel's headers? */
bool adp_offload_is_pushed(const struct nlattr *actions, size_t len);

#endif /* adp-offload-actions.h */

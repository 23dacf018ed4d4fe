/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TURNS_H
#define ADP_TURNS_H 1

/* What is done around upstream's part of a turn.  For the main thread. */

#include <stdbool.h>

struct adp_bridge;

/* The next requests that OpenFlow handles are those of 'b'. */
void adp_turns_expect_requests(struct adp_bridge *);

/* Is the daemon about to end? */
bool adp_turns_end(void);

#endif /* adp-turns.h */

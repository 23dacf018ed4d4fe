/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHADOW_H
#define ADP_SHADOW_H 1

/* The shadow: one in N packets is translated by upstream, too, and what comes
 * out is compared with what was decided and done here.
 *
 * Packet threads leave samples (adp-sample.h); the main thread translates and
 * compares them, in slices.  Both sides must have seen the same tables and
 * ports: a sample from before a change is "stale", and counted as that.  A
 * difference counts when it is still there a turn later, so that nothing is
 * told of what one side learned a moment before the other.
 *
 * Each difference is counted, told in the log (at most some a minute), and the
 * last ADP_SHADOW_MAX_KEPT of a bridge are kept with all that it takes to
 * replay them.
 *
 * Thread-safety: for the main thread.
 */

#include <stdbool.h>

struct adp_bridge;
struct adp_shadow;
struct json;

#define ADP_SHADOW_MAX_KEPT 16

/* Of a bridge. */
struct adp_shadow *adp_shadow_create(void);
void adp_shadow_destroy(struct adp_shadow *);

/* Once a turn. */
void adp_shadow_run(void);
void adp_shadow_wait(void);

/* For tests, where there are dummies: adds the command
 * "antrea-dp/shadow-spoil N", which makes the next N samples say that their
 * packets were dropped. */
void adp_shadow_add_spoiling(void);

/* What was counted, and what is kept. */
struct json *adp_shadow_stats(const struct adp_bridge *);
struct json *adp_shadow_differences(const struct adp_bridge *);

#endif /* adp-shadow.h */

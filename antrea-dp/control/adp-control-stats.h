/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_STATS_H
#define ADP_CONTROL_STATS_H 1

/* A bridge's counters for a client.
 *
 * What packet threads counted is waited for (adp-push-stats.h).  Those of
 * rules and Services come of a look at each flow and group, so where the state
 * is large they are read in slices (adp_state_read()).  So the answer comes
 * later, and the client may be gone.
 *
 * For the main thread.
 * Memory: the answer; one reading for each bridge.
 */

#include <stdbool.h>

struct adp_bridge;
struct adp_control_stats;
struct json;

/* 'all': also those of each endpoint of each Service. */
struct adp_control_stats *adp_control_stats_create(struct adp_bridge *,
                                                   bool all);
/* NULL does nothing. */
void adp_control_stats_unref(struct adp_control_stats *);
/* True if the bridge has gone before its counters were there. */
bool adp_control_stats_is_lost(const struct adp_control_stats *);
/* Returns the counters, which the caller takes, or NULL if they are still to
 * come: ask again in the next turn. */
struct json *adp_control_stats_get(struct adp_control_stats *);

#endif /* adp-control-stats.h */

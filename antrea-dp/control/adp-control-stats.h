/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_STATS_H
#define ADP_CONTROL_STATS_H 1

/* A bridge's counters for a client.
 *
 * What packet threads counted is waited for (adp-push-stats.h).  Those of
 * rules and Services come of a look at each flow and group.
 *
 * For the main thread. */

#include <stdbool.h>

struct adp_bridge;
struct adp_control_reading;

/* 'all': also those of each endpoint of each Service. */
struct adp_control_reading *adp_control_stats_create(const struct adp_bridge *,
                                                     bool all);

#endif /* adp-control-stats.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_STATS_H
#define DPCTL_STATS_H 1

/* Counters for people: what "stats" says, as tables, and what happened
 * between two of its results, as rates.
 *
 * Members that the daemon doesn't have are shown as "-", or left out with
 * their table.
 */

#include <stdbool.h>
#include <stddef.h>
#include "openvswitch/json.h"

struct ds;

/* Appends a table for each part of 'stats'. */
void dpctl_stats_format(const struct json *stats, struct ds *);

/* Can rates be had between the two?  Not if the daemon was started anew, or
 * its counters were cleared, in between. */
bool dpctl_rates_known(const struct json *before, const struct json *now);

/* Appends the rates per second between the two: of packets, and of the
 * 'max_rows' busiest policy rules and Services, no wider than 'max_width' if
 * that isn't 0 and the numbers leave room. */
void dpctl_rates_format(const struct json *before, const struct json *now,
                        size_t max_rows, int max_width, struct ds *);

#endif /* dpctl-stats.h */

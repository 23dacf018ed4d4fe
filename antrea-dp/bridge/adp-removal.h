/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_REMOVAL_H
#define ADP_REMOVAL_H 1

/* Deleted flows on their way out of upstream's classifiers.
 *
 * A flow that was deleted is in no later version of the tables, but upstream's
 * classifiers hold it until a grace period is over.  Then RCU's thread removes
 * it under ofproto_mutex, together with all others that were deleted in the
 * same turn of the main loop, some 1.5 us each: after 190,000 of them whoever
 * wants the lock waits for 0.3 s.  So they are given to upstream in portions,
 * at most one each ADP_REMOVAL_INTERVAL_MS and none before the last one was
 * removed, so that others get the lock in between.
 *
 * What bounds it: as many as were deleted and not given yet; they cost what
 * they cost before they were deleted.  "leaving_flows" of the statistics
 * tells.
 *
 * Thread-safety: for the main thread, without ofproto_mutex.
 */

#include <stddef.h>

#define ADP_REMOVAL_SLICE 2000
#define ADP_REMOVAL_INTERVAL_MS 10

struct adp_bridge;

/* Between the handling of OpenFlow requests and upstream's removal. */
void adp_removal_run(struct adp_bridge *);
void adp_removal_wait(const struct adp_bridge *);
/* The bridge goes: gives all. */
void adp_removal_stop(struct adp_bridge *);

size_t adp_removal_count(const struct adp_bridge *);

#endif /* adp-removal.h */

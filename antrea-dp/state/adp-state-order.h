/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_ORDER_H
#define ADP_STATE_ORDER_H 1

/* The order of flow mods in which upstream takes few steps.
 *
 * Upstream's classifier keeps the flows of one table and match in a list by
 * descending priority.  Who adds, changes or removes one goes through the list
 * from where the one before ended, if that was further up in the same list
 * (classifier-seek.h), else from its head; and who removes the flow with the
 * top priority of all that share a table and a mask looks at the heads of all
 * their lists for the next one.  Policy rules put thousands of priorities into
 * one list: in a random order these steps grow with the square of the number
 * of flows.
 *
 * So flow mods come list by list, by descending priority, the list with the
 * top priority last, so that few are left when the next one is looked for.
 *
 * Thread-safety: no state.
 * Cost: sorting.
 */

#include <stddef.h>

struct ofputil_flow_mod;

/* Reorders 'n' 'fms', additions and strict modifications and deletions of
 * which no two have the same table, priority and match. */
void adp_order_flow_mods(struct ofputil_flow_mod *fms, size_t n);

#endif /* adp-state-order.h */

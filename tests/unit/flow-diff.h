/* SPDX-License-Identifier: Apache-2.0 */

#ifndef FLOW_DIFF_H
#define FLOW_DIFF_H 1

#include "pipeline.h"
#include "svec.h"

/* The way from one flow set to another.  All sorted.
 *
 * No flow is in both 'add_flows' and 'delete_flows': one whose actions or
 * cookie change is only added, which replaces it. */
struct flow_diff {
    struct svec add_flows;      /* Whole flows, for OFPFC_ADD. */
    struct svec delete_flows;   /* "table=T, priority=P,match", for
                                 * OFPFC_DELETE_STRICT. */
    struct svec add_groups;     /* Whole groups, for OFPGC11_ADD. */
    struct svec modify_groups;  /* Whole groups, for OFPGC11_MODIFY. */
    struct svec delete_groups;  /* "group_id=9", for OFPGC11_DELETE. */
};

/* Initializes '*diff'.  'old' may be NULL, as if it were empty. */
void flow_set_diff(const struct adp_flow_set *old,
                   const struct adp_flow_set *new, struct flow_diff *diff);
void flow_diff_uninit(struct flow_diff *);
bool flow_diff_is_empty(const struct flow_diff *);

#endif /* flow-diff.h */

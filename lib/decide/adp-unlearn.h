/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_UNLEARN_H
#define ADP_UNLEARN_H 1

/* What a flow has learned goes with it.
 *
 * With "delete_learned" OpenFlow deletes learned flows with the last flow that
 * gives them their cookie.  Where flows share one, as those of all addresses
 * of a Service do, what one of them has learned stays with the others.  So
 * here are the mods that delete it: of the flows with that cookie those that
 * agree with what the match of the flow says of the packets that it learns
 * from.  That may be more than the flow has learned, where that says little.
 *
 * Thread-safety: none of its own.
 */

#include <stddef.h>

struct minimatch;
struct ofpact;
struct ofputil_flow_mod;

/* All zeros is an empty one. */
struct adp_unlearn {
    struct ofputil_flow_mod *fms;
    size_t n, allocated;
};

void adp_unlearn_uninit(struct adp_unlearn *);

/* Adds mods for a flow with 'match' that leaves, or gets the actions 'after':
 * one for each learn() with "delete_learned" in 'before', its actions, but
 * those whose table and cookie a learn() in 'after' has, too. */
void adp_unlearn_add(struct adp_unlearn *, const struct minimatch *match,
                     const struct ofpact *before, size_t before_len,
                     const struct ofpact *after, size_t after_len);

#endif /* adp-unlearn.h */

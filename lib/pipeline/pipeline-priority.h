/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_PRIORITY_H
#define ADP_PIPELINE_PRIORITY_H 1

/* OpenFlow priorities for the ranks of policy rules.
 *
 * The rules of a table have ranks, of which some go before others; each rank
 * needs an OpenFlow priority of its own, and there are few.  A rank keeps the
 * one that it was given for as long as each generation asks for it, because
 * another one means other flows.
 *
 * A new rank gets its first guess if that is free and in order.  If it isn't,
 * the rank goes as near as it can between its neighbours.  Where many new
 * ranks come side by side they leave room between them, so that others may
 * come later.  Where there is no room between two neighbours, all in a window
 * around the place are spread over it: the smallest one in which that leaves
 * enough room, and the larger it is the more, so that it is long before that
 * has to be done there again.  So, averaged over many that come, the ranks
 * that move for a new one grow with the square of the logarithm of the number
 * of priorities at worst (Bender et al., "Two Simplified Algorithms for
 * Maintaining Order in a List", ESA 2002).
 *
 * What is given depends on the ranks alone if they come all at once, otherwise
 * also on the order in which they came and went.
 *
 * Thread-safety: as the model.
 * Cost: linear in the ranks, which are what bounds the memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of precedence, smaller ones first, 'part' excepted. */
struct adp_rank {
    uint8_t tier;
    double priority;
    unsigned int index;
    unsigned int part;          /* Tells apart ranks that are equal otherwise.
                                 * The larger goes first. */
};

int adp_rank_compare(const struct adp_rank *, const struct adp_rank *);

struct adp_ranked {
    struct adp_rank rank;
    int guess;                  /* The priority that it should get. */
    int priority;               /* The one that it gets. */
};

/* The ranks of the last generation, in order. */
struct adp_priorities {
    struct adp_ranked *ranks;
    size_t n;
};

void adp_priorities_init(struct adp_priorities *);
void adp_priorities_uninit(struct adp_priorities *);
void adp_priorities_clear(struct adp_priorities *);
void adp_priorities_clone(struct adp_priorities *dst,
                          const struct adp_priorities *src);

/* Gives the 'n' 'ranks', which are in order and all different, priorities in
 * descending order from 'max' down to 'min' at the least; these must be the
 * same at every call.  Other ranks lose theirs.
 *
 * Returns false if there are too few priorities: then new ranks have INT_MIN,
 * and nothing has changed. */
bool adp_priorities_assign(struct adp_priorities *,
                           struct adp_ranked *ranks, size_t n,
                           int min, int max);

#endif /* pipeline-priority.h */

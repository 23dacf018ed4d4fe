/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_COMMIT_H
#define ADP_COMMIT_H 1

/* One transaction's flows and groups on their way into the bridge.
 *
 * A transaction of up to ADP_COMMIT_WHOLE changes, of flows without very many
 * clauses, goes into the bridge in one table version: a packet sees the tables
 * of before or those of after.  A larger one goes in slices, one version each,
 * between which packets are forwarded and others get their turn.  Whatever has
 * come so far is then safe, because of the order of the steps:
 *
 *   1. New groups.
 *   2. What rules lead to (verdict tables), added or modified.
 *   3. Flows with conj_id that come with this transaction: without clauses
 *      nobody meets them.  Clauses without them would hide all rules below: a
 *      packet that has them all meets the table's miss.
 *   4. Clauses, and all else in the tables of rules that is added or modified,
 *      in the order of precedence: table by table as packets meet them, each
 *      by descending priority.  A flow that gains and loses clauses gets the
 *      new ones and keeps the old ones for now.
 *   5. All other flows, added or modified, from the last table to the first:
 *      what leads somewhere comes after what it leads to.
 *   6. Groups, modified.
 *   7. What goes, all in the contrary order: other flows from the first table
 *      to the last; rules by ascending precedence, with the clauses that flows
 *      of 4 lose; their flows with conj_id; what rules led to; groups.
 *
 * The rules of one direction are a list of which the first that fits decides.
 * In step 4 it is that of before, with the new rules above a certain place; in
 * 7 that of after, with the old ones above one.  In each of these lists a
 * packet meets what it met before or what it will meet after, never anything
 * third: see docs/architecture.md, with what this doesn't hold for.
 *
 * If the bridge refuses a slice, what was done is taken back, in slices too.
 *
 * Thread-safety: none, main thread.
 *
 * Memory: some 40 bytes for each change, until the end; one slice of mods.
 * Bounded by what the transaction changes.
 */

#include <stdbool.h>
#include <stddef.h>
#include "pipeline-desired.h"

struct adp_bridge;
struct adp_commit;
struct adp_pipeline;
struct adp_turn_slice;

/* A larger transaction goes in slices. */
#define ADP_COMMIT_WHOLE 2000

/* What goes into the bridge. */
enum adp_commit_how {
    ADP_COMMIT_DIFFERENCE,      /* What isn't believed to be there. */
    ADP_COMMIT_ALL,             /* Everything. */
    ADP_COMMIT_ALONE,           /* Everything, and everything else leaves, all
                                 * in one version. */
};

/* Finds out what to do to make the bridge's flows those of 'desired', in which
 * a transaction is open and which were made for the pipeline (the bridge may
 * have got another one since).  The transaction must neither change nor end
 * before the commit is destroyed.  Returns NULL and an error if 'desired'
 * contradicts itself. */
struct adp_commit *adp_commit_create(struct adp_bridge *,
                                     const struct adp_pipeline *,
                                     struct adp_desired *,
                                     enum adp_commit_how,
                                     struct adp_error **)
    OVS_WARN_UNUSED_RESULT;
void adp_commit_destroy(struct adp_commit *);

/* For tests: has it go in slices of 'n' changes, however few there are. */
void adp_commit_slice(struct adp_commit *, size_t n);

/* Goes on, until all is done or 'slice' is over.  Returns true at the end:
 * then all is in the bridge or, if there is an error, all is as it was. */
bool adp_commit_run(struct adp_commit *, struct adp_turn_slice *);

/* NULL, or why the bridge refused.  The caller takes it.  If the bridge also
 * refused what was to be taken back, that is in the log. */
struct adp_error *adp_commit_take_error(struct adp_commit *);
/* True from when the bridge refused until all is taken back. */
bool adp_commit_is_taken_back(const struct adp_commit *);
/* Changes, and how many of them are done. */
size_t adp_commit_count(const struct adp_commit *, size_t *n_done);

#endif /* adp-commit.h */

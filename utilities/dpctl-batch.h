/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_BATCH_H
#define DPCTL_BATCH_H 1

/* Changes of objects, carried out as far as they can be.
 *
 * Changes come before deletions, so that nothing is less protected in between,
 * but a deletion has waited long enough after DPCTL_BATCH_PATIENCE turns: who
 * has ever more objects refused doesn't keep it off.
 * A few are one change to the daemon, made of what they concern
 * (dpctl-delta.h); behind one that took the full run (dpctl-plan.h) all that
 * is left is the next.  If one fails, what the full run or the daemon names as
 * the reason is left out.  The daemon names one object at a time, and others
 * are not to wait until it has named all that it refuses: if a change fails
 * nevertheless, the next one is of half as many, and of those behind, in turn,
 * until what can't be taken stands alone.  What has failed is tried again when
 * others have been taken, which may be what it lacked, and in the end all at
 * once, if some are to come and others to go: each may need the other.
 *
 * It is done in turns, since a full run takes long where there is much.  In
 * one are at most DPCTL_BATCH_FULL_RUNS of these, or as many as it takes to
 * name what can't be resolved, and DPCTL_BATCH_TURN changes.  Each turn takes
 * some, or takes out what is named, or halves what is tried next. */

#include <stdbool.h>
#include <stddef.h>
#include "dpctl-plan.h"
#include "openvswitch/shash.h"
#include "sset.h"

struct json;

enum { DPCTL_BATCH_FULL_RUNS = 2 };
enum { DPCTL_BATCH_TURN = 100 };
enum { DPCTL_BATCH_PATIENCE = 30 };

/* One object, as it is to be. */
struct dpctl_change {
    struct json *object;
    bool gone;
    int rank;                   /* Lower ones are tried first: to come, what
                                 * others may need, then what protects; to go,
                                 * these last. */
    int n_turns;                /* That it wasn't tried in, if it is to go. */
    char *reason;               /* Why it failed; NULL: it didn't. */
};

struct dpctl_batch {
    /* Manifest's name to struct dpctl_change. */
    struct shash untried;
    struct shash failed;
    struct shash done;          /* The caller's to handle and to clear. */
    bool helps;                 /* May one of these be what others lack that
                                 * were refused?  The caller's to clear. */

    size_t max_n;               /* Objects that are tried at once. */
    char *last;                 /* Of those that were tried at once last. */
    bool full;                  /* The last change took the full run. */
    bool progress;              /* Something was done since those that failed
                                 * were tried. */
    struct sset together;       /* Names of those that are tried at once. */
    bool tried_together;
};

/* What came of one change. */
struct dpctl_outcome {
    struct sset changed;        /* Names of Manifests that are another way now,
                                 * or have gone with what they held. */
    int n_full;                 /* How many full runs it took. */
};

/* Adds what the plan has changed to the outcome. */
void dpctl_outcome_note(struct dpctl_outcome *, const struct dpctl_plan *);

/* Carries one change out, as dpctl_run_change() in dpctl-cli.h. */
typedef char *dpctl_batch_run(void *aux, enum dpctl_verb,
                              struct dpctl_input *, struct dpctl_outcome *);

void dpctl_batch_init(struct dpctl_batch *);
void dpctl_batch_destroy(struct dpctl_batch *);

/* Takes 'object'.  Replaces what is here of that name. */
void dpctl_batch_add(struct dpctl_batch *, const char *name,
                     struct json *object, bool gone);
/* There is news of the object. */
void dpctl_batch_forget(struct dpctl_batch *, const char *name);
/* Moves all there is to 'to', where nothing is of the same names. */
void dpctl_batch_move(struct dpctl_batch *to, struct dpctl_batch *from);
/* Moves deletions of policies, if in 'to' are some that nobody has tried, and
 * that may come in their place. */
void dpctl_batch_hold(struct dpctl_batch *to, struct dpctl_batch *from);
/* Are there deletions that nobody has tried? */
bool dpctl_batch_will_delete(const struct dpctl_batch *);

/* Has a turn.  What was done is in 'done'. */
void dpctl_batch_try(struct dpctl_batch *, dpctl_batch_run *, void *aux);
/* Is there nothing left to try?  What has failed is in 'failed'. */
bool dpctl_batch_is_finished(const struct dpctl_batch *);

/* Of those that aren't done. */
size_t dpctl_batch_count(const struct dpctl_batch *);
static inline bool
dpctl_batch_is_empty(const struct dpctl_batch *b)
{
    return !dpctl_batch_count(b);
}

void dpctl_changes_clear(struct shash *changes);

#endif /* dpctl-batch.h */

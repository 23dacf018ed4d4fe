/* SPDX-License-Identifier: Apache-2.0 */

/* Taking back: what amendments take back is collected, and found in one pass
 * over the claims of each contributor, however often that was amended. */

#include <config.h>
#include "pipeline-desired.h"
#include "pipeline-desired-private.h"

#include <stdlib.h>
#include <string.h>

#include "model-pause.h"
#include "model-sort.h"
#include "util.h"

void
adp_desired_withdraw(struct adp_desired *desired,
                     struct adp_contributor *contributor,
                     const struct desired_claim *claim)
{
    ovs_assert(desired->amended == contributor);
    if (desired->n_withdrawals >= desired->allocated_withdrawals) {
        desired->withdrawals = x2nrealloc(desired->withdrawals,
                                          &desired->allocated_withdrawals,
                                          sizeof *desired->withdrawals);
    }
    desired->withdrawals[desired->n_withdrawals++]
        = (struct desired_withdrawal) { contributor, *claim, 1 };
    if (!contributor->withdraws) {
        contributor->withdraws = ++desired->n_withdrawing;
    }
}

void
adp_desired_forget_withdrawals(struct adp_desired *desired)
{
    for (size_t i = 0; i < desired->n_withdrawals; i++) {
        desired->withdrawals[i].contributor->withdraws = 0;
    }
    free(desired->withdrawals);
    desired->withdrawals = NULL;
    desired->n_withdrawals = desired->allocated_withdrawals = 0;
    desired->n_withdrawing = 0;
    desired->lacks_withdrawn = false;
}

static int
claim_compare(const struct desired_claim *a, const struct desired_claim *b)
{
    return (a->thing != b->thing
            ? ((uintptr_t) a->thing < (uintptr_t) b->thing ? -1 : 1)
            : a->conj_id != b->conj_id ? (a->conj_id < b->conj_id ? -1 : 1)
            : a->clause != b->clause ? a->clause - b->clause
            : a->n_clauses - b->n_clauses);
}

static int
compare_withdrawals(const void *a_, const void *b_)
{
    const struct desired_withdrawal *a = *(struct desired_withdrawal **) a_;
    const struct desired_withdrawal *b = *(struct desired_withdrawal **) b_;

    return (a->contributor == b->contributor
            ? claim_compare(&a->claim, &b->claim)
            : a->contributor->withdraws < b->contributor->withdraws ? -1 : 1);
}

/* By contributor, as they came, and in order, equal ones as one. */
static struct desired_withdrawal **
sort_withdrawals(const struct adp_desired *desired, size_t *n)
{
    struct desired_withdrawal **sorted
        = xmalloc((desired->n_withdrawals + 1) * sizeof *sorted);

    for (size_t i = 0; i < desired->n_withdrawals; i++) {
        sorted[i] = &desired->withdrawals[i];
    }
    adp_sort_pointers(sorted, desired->n_withdrawals, compare_withdrawals);
    *n = 0;
    for (size_t i = 0; i < desired->n_withdrawals; i++) {
        if (*n && !compare_withdrawals(&sorted[*n - 1], &sorted[i])) {
            sorted[*n - 1]->n++;
        } else {
            sorted[(*n)++] = sorted[i];
        }
    }
    return sorted;
}

static struct desired_withdrawal *
find_withdrawal(struct adp_desired *desired,
                struct desired_withdrawal *const sorted[], size_t n,
                const struct desired_claim *claim)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int cmp = claim_compare(&sorted[mid]->claim, claim);

        desired->n_steps++;
        if (!cmp) {
            return sorted[mid];
        } else if (cmp < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return NULL;
}

/* Takes from what 'contributor' asks for what was withdrawn, of which 'sorted'
 * is all that is its; the rest keeps its order.  Returns false if it didn't
 * ask for some of it. */
static bool
take_back(struct adp_desired *desired, struct adp_contributor *contributor,
          struct desired_withdrawal *const sorted[], size_t n)
{
    struct desired_claim *claims = contributor->claims;
    uint32_t i, n_kept = 0;
    size_t n_left = 0;

    adp_desired_keep_claims(desired, contributor);
    for (size_t j = 0; j < n; j++) {
        n_left += sorted[j]->n;
    }
    for (i = 0; i < contributor->n_claims && n_left; i++) {
        struct desired_withdrawal *w = find_withdrawal(desired, sorted, n,
                                                       &claims[i]);

        if (w && w->n) {
            adp_desired_claim_drop(desired, &claims[i]);
            w->n--;
            n_left--;
        } else {
            claims[n_kept++] = claims[i];
        }
        adp_desired_pause_amid(i);
    }
    if (n_kept < i) {
        memmove(&claims[n_kept], &claims[i],
                (contributor->n_claims - i) * sizeof *claims);
        contributor->n_claims -= i - n_kept;
    }
    return !n_left;
}

bool
adp_desired_settle(struct adp_desired *desired)
{
    size_t n, end;
    struct desired_withdrawal **sorted = sort_withdrawals(desired, &n);
    bool ok = !desired->lacks_withdrawn;

    ovs_assert(!desired->amended);
    for (size_t i = 0; i < n; i = end) {
        struct adp_contributor *contributor = sorted[i]->contributor;

        end = i + 1;
        while (end < n && sorted[end]->contributor == contributor) {
            end++;
        }
        ok &= take_back(desired, contributor, &sorted[i], end - i);
        adp_pause();
    }
    free(sorted);
    adp_desired_forget_withdrawals(desired);
    return ok;
}

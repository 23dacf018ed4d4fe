/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MATCH_SCRATCH_H
#define ADP_MATCH_SCRATCH_H 1

/* What a look-up in a matcher leaves, and its memory.
 *
 * Thread-safety: a scratch belongs to one thread.
 */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* Of no rule: below every priority. */
#define ADP_PRIORITY_NONE INT_MIN

/* What a look-up leaves, and memory for look-ups, grown as needed and kept.
 * All zeros is an empty one. */
struct adp_match_scratch {
    /* Of the latest look-up: no rule of a lower priority had a part in the
     * answer.  Usually the priority of the answer, ADP_PRIORITY_NONE if there
     * is none.  It is lower if the answer matches on conj_id and is above the
     * conjunction that led to it, and ADP_PRIORITY_NONE if a conjunction is
     * met for whose conj_id no rule at all was found. */
    int priority;

    uint64_t *words;
    size_t n_words;
};
void adp_match_scratch_uninit(struct adp_match_scratch *);
/* At least 'n' words, of undefined content. */
uint64_t *adp_match_scratch_get(struct adp_match_scratch *, size_t n);

#endif /* adp-match-scratch.h */

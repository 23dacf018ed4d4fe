/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-match.h"
#include "util.h"

void
adp_match_scratch_uninit(struct adp_match_scratch *scratch)
{
    free(scratch->words);
    *scratch = (struct adp_match_scratch) { .words = NULL };
}

uint64_t *
adp_match_scratch_get(struct adp_match_scratch *scratch, size_t n)
{
    if (OVS_UNLIKELY(n > scratch->n_words)) {
        free(scratch->words);
        scratch->n_words = MAX(n, 2 * scratch->n_words);
        scratch->words = xmalloc(scratch->n_words * sizeof *scratch->words);
    }
    return scratch->words;
}

/* Makes the matcher that suits 'rules', which are in the order of descending
 * priority. */
struct adp_match *
adp_match_create(struct adp_rule *const *rules, size_t n)
{
    return adp_match_linear_class.create(rules, n);
}

void
adp_match_destroy(struct adp_match *match)
{
    if (match) {
        match->class->destroy(match);
    }
}

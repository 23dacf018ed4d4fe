/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-match-scratch.h"
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

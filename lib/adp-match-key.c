/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-match-key.h"

void
adp_match_key_init(struct adp_match_key *key, const struct minimatch *match)
{
    const uint64_t *masks = miniflow_get_values(&match->mask->masks);
    size_t i;

    key->n = 0;
    FLOWMAP_FOR_EACH_INDEX (i, match->mask->masks.map) {
        uint64_t mask = *masks++;

        key->words[key->n].mask = mask;
        key->words[key->n].index = i;
        key->values[key->n++] = miniflow_get(match->flow, i) & mask;
    }
    key->hash = adp_key_hash(key->values, key->n);
}

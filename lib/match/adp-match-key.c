/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-match-key.h"
#include "entropy.h"

OVS_ALIGNED_VAR(CACHE_LINE_SIZE) union adp_key_secrets adp_key_secrets;

/* Not random_uint64(): that starts from 32 bits. */
OVS_CONSTRUCTOR(draw_secrets)
{
    get_entropy_or_die(&adp_key_secrets, sizeof adp_key_secrets);
    adp_key_secrets.odd |= 1;
}

/* Moves the common words, if all are there, to the end. */
static void
sort_common(struct adp_match_key *key)
{
    static const size_t offsets[ADP_KEY_N_COMMON] = {
        offsetof(struct flow, packet_type), offsetof(struct flow, dl_type),
    };
    struct adp_match_key common = { .n = 0 };
    struct flow ones;

    memset(&ones, 0xff, sizeof ones);
    adp_key_common_from_flow(common.values, &ones);
    for (size_t i = 0; i < key->n; i++) {
        size_t j = common.n;

        if (j < ADP_KEY_N_COMMON
            && key->words[i].index == offsets[j] / sizeof(uint64_t)
            && key->words[i].mask == common.values[j]) {
            common.words[j] = key->words[i];
            common.values[j] = key->values[i];
            common.n++;
        }
    }

    key->common = common.n == ADP_KEY_N_COMMON;
    if (key->common) {
        size_t n = 0;

        for (size_t i = 0; i < key->n; i++) {
            if (key->words[i].index != common.words[0].index
                && key->words[i].index != common.words[1].index) {
                key->words[n] = key->words[i];
                key->values[n++] = key->values[i];
            }
        }
        for (size_t i = 0; i < ADP_KEY_N_COMMON; i++) {
            key->words[n] = common.words[i];
            key->values[n++] = common.values[i];
        }
    }
}

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
    sort_common(key);

    i = key->common ? key->n - ADP_KEY_N_COMMON : key->n;
    key->hash = adp_key_hash_words(key->common
                                   ? adp_key_hash_common(&key->values[i])
                                   : adp_key_secrets.seed, key->values, i);
}

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MATCH_KEY_H
#define ADP_MATCH_KEY_H 1

/* Matches as words of a struct flow: a mask is a list of the words that it has
 * bits in, a key the values of those words under the mask.
 *
 * Thread-safety: plain values.
 */

#include "flow.h"
#include "openvswitch/match.h"

struct adp_mask_word {
    uint64_t mask;
    uint64_t index;             /* Of the uint64_t in a struct flow. */
};

/* A match taken apart. */
struct adp_match_key {
    size_t n;
    struct adp_mask_word words[FLOW_U64S];
    uint64_t values[FLOW_U64S];
    uint64_t hash;              /* adp_key_hash() of 'values'. */
};

/* Stirs 'a' and 'b', which should be words of a key and something odd. */
static inline uint64_t
adp_key_mix(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128) a * b;

    return (uint64_t) product ^ (uint64_t) (product >> 64);
#else
    a = (a ^ a >> 32 ^ b) * UINT64_C(0x9fb21c651e98df25);
    a = (a ^ a >> 32) * UINT64_C(0x9fb21c651e98df25);
    return a ^ a >> 32;
#endif
}

#define ADP_KEY_SEED UINT64_C(0xa0761d6478bd642f)
#define ADP_KEY_ODD UINT64_C(0xe7037ed1a0b428db)

static inline uint64_t
adp_key_hash(const uint64_t values[], size_t n)
{
    uint64_t hash = ADP_KEY_SEED;
    size_t i;

    for (i = 0; i + 1 < n; i += 2) {
        hash = adp_key_mix(values[i] ^ hash, values[i + 1] ^ ADP_KEY_ODD);
    }
    if (i < n) {
        hash = adp_key_mix(values[i] ^ hash, ADP_KEY_ODD);
    }
    return hash;
}

static inline void
adp_key_from_flow(uint64_t values[], const struct adp_mask_word words[],
                  size_t n, const struct flow *flow)
{
    const uint64_t *flow_words = (const uint64_t *) flow;

    for (size_t i = 0; i < n; i++) {
        values[i] = flow_words[words[i].index] & words[i].mask;
    }
}

static inline bool
adp_key_equal(const uint64_t a[], const uint64_t b[], size_t n)
{
    uint64_t differ = 0;

    for (size_t i = 0; i < n; i++) {
        differ |= a[i] ^ b[i];
    }
    return !differ;
}

void adp_match_key_init(struct adp_match_key *, const struct minimatch *);

#endif /* adp-match-key.h */

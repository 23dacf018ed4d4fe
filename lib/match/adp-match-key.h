/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MATCH_KEY_H
#define ADP_MATCH_KEY_H 1

/* Matches as words of a struct flow: a mask is a list of the words that it has
 * bits in, a key the values of those words under the mask.
 *
 * Most matches are about packet type and Ethernet type, and then about
 * something else.  Where a match fixes both, these two words come last in the
 * list: they are the match's *common* words, and who looks up one packet in
 * many tables hashes them once.
 *
 * Thread-safety: plain values.
 */

#include "flow.h"
#include "hash-product.h"
#include "openvswitch/match.h"
#include "util.h"

/* For looking at a struct flow, whatever it is declared as. */
typedef uint64_t adp_flow_word __attribute__((__may_alias__));

struct adp_mask_word {
    uint64_t mask;
    uint64_t index;             /* Of the uint64_t in a struct flow. */
};

/* How many common words a match has, if any. */
#define ADP_KEY_N_COMMON 2

/* A match taken apart. */
struct adp_match_key {
    size_t n;                   /* Words, common ones included. */
    bool common;                /* Are there common words? */
    struct adp_mask_word words[FLOW_U64S];
    uint64_t values[FLOW_U64S];
    uint64_t hash;              /* Of 'values'. */
};

/* What makes hashes this process's own.  A key is made of what strangers send,
 * and with 'odd' known all keys with that word in an odd place would have one
 * hash.  Drawn before main() begins, never written again, and in a cache line
 * that has nothing else. */
union adp_key_secrets {
    struct {
        uint64_t seed;          /* To begin with. */
        uint64_t odd;           /* Odd. */
    };
    uint8_t pad[CACHE_LINE_SIZE];
};
extern union adp_key_secrets adp_key_secrets;

/* Hashes the words that are not common. */
static inline uint64_t
adp_key_hash_words(uint64_t hash, const uint64_t values[], size_t n)
{
    uint64_t odd = adp_key_secrets.odd;
    size_t i;

    for (i = 0; i + 1 < n; i += 2) {
        hash = hash_product(values[i] ^ hash, values[i + 1] ^ odd);
    }
    if (i < n) {
        hash = hash_product(values[i] ^ hash, odd);
    }
    return hash;
}

/* Hashes common words, to begin with in place of the seed. */
static inline uint64_t
adp_key_hash_common(const uint64_t values[ADP_KEY_N_COMMON])
{
    return adp_key_hash_words(adp_key_secrets.seed, values,
                              ADP_KEY_N_COMMON);
}

static inline void
adp_key_from_flow(uint64_t values[], const struct adp_mask_word words[],
                  size_t n, const struct flow *flow)
{
    const adp_flow_word *flow_words = (const adp_flow_word *) flow;

    for (size_t i = 0; i < n; i++) {
        values[i] = flow_words[words[i].index] & words[i].mask;
    }
}

/* True if the words have any bit of 'mask'. */
static inline bool
adp_key_words_overlap(const struct adp_mask_word words[], size_t n,
                      const struct flow *mask)
{
    const adp_flow_word *mask_words = (const adp_flow_word *) mask;
    uint64_t common = 0;

    for (size_t i = 0; i < n; i++) {
        common |= words[i].mask & mask_words[words[i].index];
    }
    return common != 0;
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

/* The common words, as in any match that has them. */
static inline void
adp_key_common_from_flow(uint64_t values[ADP_KEY_N_COMMON],
                         const struct flow *flow)
{
    const struct flow common = {
        .packet_type = OVS_BE32_MAX,
        .dl_type = OVS_BE16_MAX,
    };
    const adp_flow_word *flow_words = (const adp_flow_word *) flow;
    const adp_flow_word *masks = (const adp_flow_word *) &common;
    size_t i = offsetof(struct flow, packet_type) / sizeof *masks;
    size_t j = offsetof(struct flow, dl_type) / sizeof *masks;

    values[0] = flow_words[i] & masks[i];
    values[1] = flow_words[j] & masks[j];
}

#endif /* adp-match-key.h */

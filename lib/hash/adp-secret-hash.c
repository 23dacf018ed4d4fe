/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-secret-hash.h"

#include "entropy.h"
#include "hash-product.h"
#include "util.h"

static struct {
    uint64_t seed;              /* To begin with. */
    uint64_t second;            /* For every second word, */
    uint64_t last;              /* and for the length. */
} secrets;

/* Not random_uint64(): that starts from 32 bits. */
OVS_CONSTRUCTOR(draw_secrets)
{
    get_entropy_or_die(&secrets, sizeof secrets);
}

/* The basis comes last, so that bytes can't take it away again. */
uint32_t
adp_secret_hash_bytes(const void *p, size_t n, uint32_t basis)
{
    const uint8_t *bytes = p;
    uint64_t hash = secrets.seed;
    uint64_t words[2];

    for (size_t i = 0; i < n; i += sizeof words) {
        words[0] = words[1] = 0;
        memcpy(words, bytes + i, MIN(n - i, sizeof words));
        hash = hash_product(words[0] ^ hash, words[1] ^ secrets.second);
    }
    return hash_product(hash ^ basis, n ^ secrets.last);
}

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HASH_PRODUCT_H
#define HASH_PRODUCT_H 1

/* A step of hashes that strangers can't foresee, if one of the words is mixed
 * with something secret.
 *
 * No state, no locks. */

#include <stdint.h>

/* Both halves of the product, folded together. */
static inline uint64_t
hash_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128) a * b;

    return (uint64_t) product ^ (uint64_t) (product >> 64);
#else
    /* The same. */
    uint64_t a0 = (uint32_t) a, a1 = a >> 32;
    uint64_t b0 = (uint32_t) b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t other = a0 * b1 + (uint32_t) middle;

    return a * b ^ (a1 * b1 + (middle >> 32) + (other >> 32));
#endif
}

/* The hash of a key of which these are all words' products, two words each,
 * XORed.  In one product alone, keys that differ by little, as ports that a
 * client uses one after the other, make progressions, which with one secret in
 * thirty meet in a few chains. */
static inline uint32_t
hash_products_finish(uint64_t products)
{
    return products * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

#endif /* hash-product.h */

/* SPDX-License-Identifier: Apache-2.0 */

/* Included by conntrack-peek.c, see conntrack-hash.h. */

#include "conntrack-hash.h"

#include "entropy.h"
#include "hash-product.h"
#include "unaligned.h"

/* Drawn before main() begins, never written again. */
static OVS_ALIGNED_VAR(CACHE_LINE_SIZE) uint64_t hash_secrets[4];

OVS_CONSTRUCTOR(draw_hash_secrets)
{
    get_entropy_or_die(hash_secrets, sizeof hash_secrets);
}

static uint64_t
hash_address(const union ct_addr *a)
{
    const uint32_t *addr = (const uint32_t *) a;
    uint64_t low = get_32aligned_u64((const ovs_32aligned_u64 *) &addr[0]);
    uint64_t high = get_32aligned_u64((const ovs_32aligned_u64 *) &addr[2]);

    BUILD_ASSERT(sizeof *a == 4 * sizeof *addr);
    return hash_product(low ^ hash_secrets[0], high ^ hash_secrets[1]);
}

static uint64_t
hash_endpoint(const struct ct_endpoint *e)
{
    uint32_t port;

    BUILD_ASSERT(sizeof *e == sizeof e->addr + sizeof port);
    memcpy(&port, &e->port, sizeof port);
    return hash_product(hash_address(&e->addr) ^ port, hash_secrets[2]);
}

uint32_t
conntrack_hash_address(const union ct_addr *addr, uint32_t basis)
{
    return hash_product(hash_address(addr) ^ hash_secrets[3],
                        hash_secrets[0] ^ basis);
}

uint32_t
conntrack_hash_key(const struct conn_key *key, uint32_t basis)
{
    uint64_t rest = ((uint64_t) basis << 32
                     ^ (uint64_t) (OVS_FORCE uint16_t) key->dl_type << 24
                     ^ (uint32_t) key->zone << 8 ^ key->nw_proto);
    uint64_t ends = hash_endpoint(&key->src) + hash_endpoint(&key->dst);

    return hash_product(ends ^ hash_secrets[3], rest ^ hash_secrets[0]);
}

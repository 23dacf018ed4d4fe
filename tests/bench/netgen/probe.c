/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

#include <rte_cycles.h>

#include "probe.h"

#define N_MULTIPLICATIONS 1000000
#define N_LOADS 20000
#define CHAIN_LEN (8u << 20)            /* 32 MB of 32-bit indexes. */

/* One cycle through all elements, in random order (Sattolo's algorithm). */
static uint32_t *
make_chain(void)
{
    uint32_t *chain = malloc(CHAIN_LEN * sizeof *chain);
    uint64_t random = 88172645463325252ULL;

    if (!chain) {
        return NULL;
    }
    for (uint32_t i = 0; i < CHAIN_LEN; i++) {
        chain[i] = i;
    }
    for (uint32_t i = CHAIN_LEN - 1; i > 0; i--) {
        uint32_t j, swap;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        j = random % i;
        swap = chain[i];
        chain[i] = chain[j];
        chain[j] = swap;
    }
    return chain;
}

static uint64_t
alu_cycles(void)
{
    uint64_t start = rte_rdtsc();
    uint64_t x = 1;

    for (int i = 0; i < N_MULTIPLICATIONS; i++) {
        x *= 6364136223846793005ULL;
        __asm__ volatile("" : "+r"(x));
    }
    return rte_rdtsc() - start;
}

static uint64_t
memory_cycles(const uint32_t *chain)
{
    uint64_t start = rte_rdtsc();
    uint32_t i = 0;

    for (int n = 0; n < N_LOADS; n++) {
        i = chain[i];
    }
    __asm__ volatile("" : : "r"(i));
    return rte_rdtsc() - start;
}

void
net_gen_probe(struct net_gen_control *c)
{
    static __thread uint32_t *chain;

    if (!chain) {
        chain = make_chain();
    }
    c->probe_alu_cycles = alu_cycles();
    c->probe_memory_cycles = chain ? memory_cycles(chain) : 0;
    __atomic_store_n(&c->probe, 0, __ATOMIC_RELEASE);
}

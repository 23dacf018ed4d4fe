/* SPDX-License-Identifier: Apache-2.0
 *
 * Which packets were missed because the polling thread's core was taken away:
 * the kernel ran another thread there, or the hypervisor another machine.
 *
 * All of one thread. */

#ifndef NET_GEN_AWAY_H
#define NET_GEN_AWAY_H 1

#include <stdbool.h>
#include <stdint.h>

/* What the kernel knows of the calling thread's time. */
struct net_gen_times {
    uint64_t wall_ns;
    uint64_t cpu_ns;            /* Without what the hypervisor took, if the
                                 * kernel accounts for that. */
    uint64_t waited_ns;         /* Could have run, but another thread did. */
    uint64_t n_sleeps;          /* Gave its core up by itself. */
    uint64_t n_faults;          /* Had memory mapped. */
};

struct net_gen_times net_gen_times_get(void);

/* For how long between 'a' and 'b' the core was away.  What the hypervisor
 * took is the time that is neither used nor waited; where the thread slept, as
 * in a mutex, that is its own doing and doesn't count. */
uint64_t net_gen_away_ns(const struct net_gen_times *a,
                         const struct net_gen_times *b);

struct net_gen_away {
    struct net_gen_times times; /* When the kernel was asked last. */
    uint64_t n;                 /* Packets that came while the core was away,
                                 * since the ring was last empty. */
    uint64_t n_resets;          /* How often it was seen empty. */
    bool idle;                  /* Slept or had memory mapped before the
                                 * kernel was asked last. */
};

/* The ring is empty: what came before is past. */
static inline void
net_gen_away_reset(struct net_gen_away *away)
{
    away->n = 0;
    away->n_resets++;
}

/* Asks the kernel what there was since the last time, of 'rate' packets a
 * second. */
void net_gen_away_ask(struct net_gen_away *, uint64_t rate);

/* How many of 'n' missed packets would have had room, had none come while the
 * core was away.  Each of those explains one. */
uint64_t net_gen_away_explain(struct net_gen_away *, uint64_t n);

#endif /* away.h */

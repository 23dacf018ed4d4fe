/* SPDX-License-Identifier: Apache-2.0
 *
 * Is what was missed explained by what it should be? */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "away.h"

#define MS 1000000ULL

#define CHECK(CONDITION)                                                \
    do {                                                                \
        if (!(CONDITION)) {                                             \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__,      \
                    #CONDITION);                                        \
            exit(1);                                                    \
        }                                                               \
    } while (0)

static uint64_t
away_ms(uint64_t wall, uint64_t cpu, uint64_t waited, uint64_t n_sleeps)
{
    const struct net_gen_times a = { 7, 5, 3, 1, 0 };
    const struct net_gen_times b = {
        7 + wall * MS, 5 + cpu * MS, 3 + waited * MS, 1 + n_sleeps, 0
    };

    return net_gen_away_ns(&a, &b) / MS;
}

static void
test_away_ns(void)
{
    CHECK(away_ms(10, 10, 0, 0) == 0);  /* It worked. */
    CHECK(away_ms(10, 4, 6, 0) == 6);   /* Another thread ran. */
    CHECK(away_ms(10, 4, 0, 0) == 6);   /* Another machine did. */
    CHECK(away_ms(10, 1, 4, 0) == 9);
    CHECK(away_ms(10, 4, 0, 1) == 0);   /* It slept. */
    CHECK(away_ms(10, 1, 4, 1) == 4);
    CHECK(away_ms(10, 8, 4, 0) == 4);   /* Clocks that disagree. */
}

static void
test_explain(void)
{
    struct net_gen_away away = { .n = 100 };

    CHECK(net_gen_away_explain(&away, 30) == 30);
    CHECK(net_gen_away_explain(&away, 90) == 70);
    CHECK(net_gen_away_explain(&away, 90) == 0);
    away.n = 100;
    net_gen_away_reset(&away);
    CHECK(net_gen_away_explain(&away, 1) == 0);
    CHECK(away.n_resets == 1);
}

/* The kernel tells what is needed. */
static void
test_times(void)
{
    const struct timespec nap = { .tv_nsec = 20 * MS };
    struct net_gen_times a = net_gen_times_get(), b;

    CHECK(!nanosleep(&nap, NULL));
    b = net_gen_times_get();
    CHECK(b.n_sleeps > a.n_sleeps);
    CHECK(b.wall_ns - a.wall_ns >= 20 * MS);
    CHECK(b.cpu_ns > a.cpu_ns && b.waited_ns >= a.waited_ns);
}

/* Not even a witness speaks for a thread that slept or had memory mapped. */
static void
test_idle(void)
{
    const struct timespec nap = { .tv_nsec = 1 * MS };
    struct net_gen_away away = { .times = net_gen_times_get() };
    volatile char *memory;

    net_gen_away_ask(&away, 1);
    CHECK(!away.idle);
    CHECK(!nanosleep(&nap, NULL));
    net_gen_away_ask(&away, 1);
    CHECK(away.idle);
    net_gen_away_ask(&away, 1);
    CHECK(!away.idle);
    memory = mmap(NULL, 1, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    *memory = 1;
    net_gen_away_ask(&away, 1);
    CHECK(away.idle);
}

int
main(void)
{
    test_away_ns();
    test_explain();
    test_times();
    test_idle();
    return 0;
}

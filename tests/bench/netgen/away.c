/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE

#include "away.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"

#define MAX_MOMENT_NS 20000
#define MAX_TRIES 3

static uint64_t
waited_ns(void)
{
    static __thread int fd = -1;
    unsigned long long waited = 0;
    char text[100];
    ssize_t n;

    if (fd < 0) {
        fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    }
    n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (n > 0) {
        text[n] = '\0';
        sscanf(text, "%*u %llu", &waited);
    }
    return waited;
}

struct net_gen_times
net_gen_times_get(void)
{
    struct net_gen_times t;
    struct rusage usage;

    /* All of one moment, as far as it goes: what comes between would count
     * twice. */
    for (int i = 0; i < MAX_TRIES; i++) {
        t.wall_ns = net_gen_clock_ns(CLOCK_MONOTONIC);
        t.cpu_ns = net_gen_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        t.waited_ns = waited_ns();
        if (getrusage(RUSAGE_THREAD, &usage)) {
            memset(&usage, 0, sizeof usage);
        }
        t.n_sleeps = usage.ru_nvcsw;
        t.n_faults = usage.ru_minflt + usage.ru_majflt;
        if (net_gen_clock_ns(CLOCK_MONOTONIC) - t.wall_ns < MAX_MOMENT_NS) {
            break;
        }
    }
    return t;
}

uint64_t
net_gen_away_ns(const struct net_gen_times *a, const struct net_gen_times *b)
{
    uint64_t waited = b->waited_ns - a->waited_ns;
    uint64_t wall = b->wall_ns - a->wall_ns;
    uint64_t used = b->cpu_ns - a->cpu_ns + waited;

    return waited + (a->n_sleeps == b->n_sleeps && wall > used
                     ? wall - used : 0);
}

void
net_gen_away_ask(struct net_gen_away *away, uint64_t rate)
{
    struct net_gen_times before = away->times;

    away->times = net_gen_times_get();
    away->idle = (before.n_sleeps != away->times.n_sleeps
                  || before.n_faults != away->times.n_faults);
    away->n += ((unsigned __int128) net_gen_away_ns(&before, &away->times)
                * rate / 1000000000);
}

uint64_t
net_gen_away_explain(struct net_gen_away *away, uint64_t n)
{
    uint64_t explained = n < away->n ? n : away->n;

    away->n -= explained;
    return explained;
}

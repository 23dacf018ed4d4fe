/* SPDX-License-Identifier: Apache-2.0
 *
 * When did a core stand still?
 *
 *     witness CORE
 *
 * Prints "begun", waits for the end of its standard input, and then prints, as
 * "FROM TO" in nanoseconds of CLOCK_MONOTONIC, each time in which it didn't
 * run on CORE though it wanted to.  It has a real-time priority, so no other
 * program was the reason. */

#define _GNU_SOURCE

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define NAP_NS 1000000          /* Waking up costs the core 13 us. */
#define SILENCE_NS 1200000      /* From so long on it is one. */
#define MAX_SILENCES 65536      /* Later ones are forgotten. */

static struct {
    uint64_t from, to;
} silences[MAX_SILENCES];
static size_t n_silences;

static int
become_witness(int core)
{
    const struct sched_param param = {
        .sched_priority = sched_get_priority_min(SCHED_FIFO)
    };
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores)) {
        perror("witness: affinity");
        return -1;
    }
    if (sched_setscheduler(0, SCHED_FIFO, &param)) {
        perror("witness: priority");
        return -1;
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
        perror("witness: memory");
        return -1;
    }
    return fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
}

static void
watch(void)
{
    const struct timespec nap = { .tv_nsec = NAP_NS };
    uint64_t before = net_gen_clock_ns(CLOCK_MONOTONIC);
    char end;

    while (read(STDIN_FILENO, &end, 1) < 0) {
        uint64_t now;

        nanosleep(&nap, NULL);
        now = net_gen_clock_ns(CLOCK_MONOTONIC);
        if (now - before > SILENCE_NS && n_silences < MAX_SILENCES) {
            silences[n_silences].from = before;
            silences[n_silences++].to = now;
        }
        before = now;
    }
}

int
main(int argc, char *argv[])
{
    if (argc != 2 || become_witness(atoi(argv[1]))) {
        return 1;
    }
    puts("begun");
    fflush(stdout);
    watch();
    for (size_t i = 0; i < n_silences; i++) {
        printf("%"PRIu64" %"PRIu64"\n", silences[i].from, silences[i].to);
    }
    return 0;
}

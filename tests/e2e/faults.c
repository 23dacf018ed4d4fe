/* SPDX-License-Identifier: Apache-2.0 */

/* To be preloaded into a daemon: faults of the machine that a test turns on and
 * off while the daemon runs, by files in the folder $ADP_FAULTS.
 *
 *   memory   while it is there, the system has no memory for who asks for 64 KiB
 *            or more by mmap() or mprotect().  malloc() doesn't.
 *   clock    holds a number as int64_t, by how many seconds the time of the day
 *            is wrong.  Read when the daemon starts, and mapped: there from the
 *            beginning. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MUCH 65536

static char memory_file[PATH_MAX];
static const volatile int64_t *offset;

#define REAL(NAME) ((__typeof__(&NAME)) dlsym(RTLD_NEXT, #NAME))

static __attribute__((constructor)) void
begin(void)
{
    const char *folder = getenv("ADP_FAULTS");
    char clock_file[PATH_MAX];

    if (!folder) {
        return;
    }
    snprintf(memory_file, sizeof memory_file, "%s/memory", folder);
    snprintf(clock_file, sizeof clock_file, "%s/clock", folder);
    int fd = open(clock_file, O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        void *p = REAL(mmap)(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd,
                             0);

        if (p != MAP_FAILED) {
            offset = p;
        }
        close(fd);
    }
}

/* True, with errno set, if there is no memory for 'size' bytes. */
static int
is_short(size_t size)
{
    if (size < MUCH || !memory_file[0]) {
        return 0;
    }
    int error = errno;

    if (access(memory_file, F_OK)) {
        errno = error;
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

void *
mmap(void *p, size_t size, int prot, int flags, int fd, off_t at)
{
    return is_short(size) ? MAP_FAILED
           : REAL(mmap)(p, size, prot, flags, fd, at);
}

void *
mmap64(void *p, size_t size, int prot, int flags, int fd, off64_t at)
{
    return is_short(size) ? MAP_FAILED
           : REAL(mmap64)(p, size, prot, flags, fd, at);
}

int
mprotect(void *p, size_t size, int prot)
{
    return prot & PROT_WRITE && is_short(size) ? -1
           : REAL(mprotect)(p, size, prot);
}

static int64_t
wrong_by(void)
{
    return offset ? *offset : 0;
}

int
clock_gettime(clockid_t clock, struct timespec *ts)
{
    int error = REAL(clock_gettime)(clock, ts);

    if (!error && (clock == CLOCK_REALTIME
                   || clock == CLOCK_REALTIME_COARSE)) {
        ts->tv_sec += wrong_by();
    }
    return error;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    int error = REAL(gettimeofday)(tv, zone);

    if (!error) {
        tv->tv_sec += wrong_by();
    }
    return error;
}

time_t
time(time_t *p)
{
    time_t now = REAL(time)(NULL) + wrong_by();

    if (p) {
        *p = now;
    }
    return now;
}

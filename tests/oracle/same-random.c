/* SPDX-License-Identifier: Apache-2.0 */

/* Preloaded, makes the random numbers of ovs-vswitchd the same in each run, so
 * that two of them translate connections to the same one of several addresses
 * or ports.
 *
 * OVS seeds its generator, in each thread, from the time of day, then
 * /dev/urandom, then the thread's ID: what is asked for in this order gets the
 * same answers always, all else the true ones. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/time.h>

static __thread enum { NOTHING, TIME, ENTROPY } asked;

int
gettimeofday(struct timeval *tv, void *tz)
{
    int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");

    asked = TIME;
    real(tv, tz);
    tv->tv_sec = tv->tv_usec = 1;
    return 0;
}

int
open64(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);

    if (asked == TIME && !strcmp(path, "/dev/urandom")) {
        asked = ENTROPY;
        path = "/dev/zero";
    } else {
        asked = NOTHING;
    }
    return real(path, flags, mode);
}

pthread_t
pthread_self(void)
{
    pthread_t (*real)(void) = dlsym(RTLD_NEXT, "pthread_self");

    if (asked == ENTROPY) {
        asked = NOTHING;
        return 1;
    }
    return real();
}

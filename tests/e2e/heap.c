/* SPDX-License-Identifier: Apache-2.0 */

/* To be preloaded into a daemon: keeps the file $ADP_HEAP, which is there and
 * has room for two int64_t, up to date with how many bytes and how many pieces
 * of memory the process has from malloc(). */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct in_use {
    _Atomic int64_t bytes, pieces;
};

/* glibc's own. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static struct in_use before;    /* While the file isn't open. */
static struct in_use *_Atomic in_use = &before;

/* Programs that start the daemon have this in them, too. */
static __attribute__((constructor)) void
begin(void)
{
    const char *file = getenv("ADP_HEAP");

    if (!file || strcmp(program_invocation_short_name, "ovs-vswitchd")) {
        return;
    }
    int fd = open(file, O_RDWR | O_CLOEXEC);

    if (fd >= 0) {
        void *p = mmap(NULL, sizeof before, PROT_READ | PROT_WRITE,
                       MAP_SHARED, fd, 0);

        if (p != MAP_FAILED) {
            in_use = p;
        }
        close(fd);
    }
}

static void
count(void *p, int sign)
{
    if (p) {
        atomic_fetch_add(&in_use->bytes,
                         sign * (int64_t) malloc_usable_size(p));
        atomic_fetch_add(&in_use->pieces, sign);
    }
}

static void *
counted(void *p)
{
    count(p, 1);
    return p;
}

void *
malloc(size_t size)
{
    return counted(__libc_malloc(size));
}

void *
calloc(size_t n, size_t size)
{
    return counted(__libc_calloc(n, size));
}

void *
realloc(void *p, size_t size)
{
    size_t had = p ? malloc_usable_size(p) : 0;
    void *q = __libc_realloc(p, size);

    if (p && (q || !size)) {
        atomic_fetch_sub(&in_use->bytes, had);
        atomic_fetch_sub(&in_use->pieces, 1);
    }
    return counted(q);
}

void *
memalign(size_t alignment, size_t size)
{
    return counted(__libc_memalign(alignment, size));
}

void *
aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int
posix_memalign(void **p, size_t alignment, size_t size)
{
    int error = errno;
    void *q = memalign(alignment, size);

    errno = error;
    if (!q) {
        return ENOMEM;
    }
    *p = q;
    return 0;
}

void
free(void *p)
{
    count(p, -1);
    __libc_free(p);
}

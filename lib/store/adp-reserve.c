/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-reserve.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "coverage.h"
#include "util.h"

COVERAGE_DEFINE(adp_reserve_refused);

void *
adp_reserve(size_t size)
{
    void *p = mmap(NULL, size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) {
        COVERAGE_INC(adp_reserve_refused);
        return NULL;
    }
    /* After mlockall() the whole would be taken at once otherwise. */
    munlock(p, size);
    if (mprotect(p, size, PROT_READ | PROT_WRITE)) {
        int error = errno;

        COVERAGE_INC(adp_reserve_refused);
        munmap(p, size);
        errno = error;
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

/* What comes from malloc() begins so far behind a page, as nothing else here
 * does, and before it stands what malloc() returned.  Two cache lines: what is
 * laid out for pairs of them is aligned. */
#define FROM_MALLOC (2 * CACHE_LINE_SIZE)

static bool
is_from_malloc(const void *p)
{
    return (uintptr_t) p % get_page_size() == FROM_MALLOC;
}

void *
adp_reserve_small(size_t size)
{
    const size_t page_size = get_page_size();
    void *p = adp_reserve(size);

    if (!p) {
        void *base = xzalloc(size + page_size + FROM_MALLOC);

        p = (char *) ROUND_UP((uintptr_t) base, page_size) + FROM_MALLOC;
        memcpy((char *) p - sizeof base, &base, sizeof base);
    }
    return p;
}

void
adp_unreserve(void *p, size_t size)
{
    if (p && is_from_malloc(p)) {
        void *base;

        memcpy(&base, (char *) p - sizeof base, sizeof base);
        free(base);
    } else if (p) {
        munmap(p, size);
    }
}

void
adp_reserve_drop(void *p, size_t from, size_t to)
{
    /* Locked memory stays, and so does malloc()'s. */
    if (is_from_malloc(p)
        || madvise((char *) p + from, ROUND_UP(to, get_page_size()) - from,
                   MADV_DONTNEED)) {
        memset((char *) p + from, 0, to - from);
    }
}

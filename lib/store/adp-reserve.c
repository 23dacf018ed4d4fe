/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-reserve.h"

#include <string.h>
#include <sys/mman.h>
#include "util.h"

void *
adp_reserve(size_t size)
{
    void *p = mmap(NULL, size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) {
        return NULL;
    }
    /* After mlockall() the whole would be taken at once otherwise. */
    munlock(p, size);
    if (mprotect(p, size, PROT_READ | PROT_WRITE)) {
        munmap(p, size);
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

void
adp_unreserve(void *p, size_t size)
{
    if (p) {
        munmap(p, size);
    }
}

void
adp_reserve_drop(void *p, size_t from, size_t to)
{
    /* Locked memory stays. */
    if (madvise((char *) p + from, ROUND_UP(to, get_page_size()) - from,
                MADV_DONTNEED)) {
        memset((char *) p + from, 0, to - from);
    }
}

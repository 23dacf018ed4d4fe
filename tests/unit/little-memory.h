/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LITTLE_MEMORY_H
#define LITTLE_MEMORY_H 1

/* Memory that is short, for one file of a test: what adp_reserve() asks the
 * system for.  To be linked with -Wl,--wrap=mprotect. */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* Nobody gets more than this at once. */
static size_t most_memory = SIZE_MAX;

__typeof__(mprotect) __real_mprotect, __wrap_mprotect;

int
__wrap_mprotect(void *p, size_t size, int prot)
{
    if (size > most_memory) {
        errno = ENOMEM;
        return -1;
    }
    return __real_mprotect(p, size, prot);
}

#endif /* little-memory.h */

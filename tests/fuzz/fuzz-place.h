/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_FUZZ_PLACE_H
#define TESTS_FUZZ_PLACE_H 1

/* A folder for a fuzzer's files.  Where the process may have mounts of its own
 * it is in memory, and nothing is left however the process ends; otherwise it
 * is deleted when that ends by itself. */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include "util.h"

static char fuzz_place_dir[] = "/tmp/fuzz-XXXXXX";

static inline void
fuzz_leave_place(void)
{
    char *command = xasprintf("rm -rf %s", fuzz_place_dir);

    ignore(system(command));
    free(command);
}

static inline const char *
fuzz_place(void)
{
    if (!unshare(CLONE_NEWNS)
        && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)
        && !mount("fuzz", "/mnt", "tmpfs", 0, "size=64m,mode=0700")) {
        return "/mnt";
    }
    if (!mkdtemp(fuzz_place_dir)) {
        abort();
    }
    atexit(fuzz_leave_place);
    return fuzz_place_dir;
}

#endif /* fuzz-place.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_TAR_H
#define DPCTL_TAR_H 1

/* Writes an archive that tar(1) reads (POSIX ustar): plain files only.  Errors
 * are the stream's, as ferror() tells. */

#include <stddef.h>
#include <stdio.h>
#include <time.h>

/* What name, at most so long, a file may have. */
#define DPCTL_TAR_MAX_NAME 99

void dpctl_tar_put(FILE *, const char *name, const char *data, size_t len,
                   time_t);
void dpctl_tar_end(FILE *);

#endif /* dpctl-tar.h */

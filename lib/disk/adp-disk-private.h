/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_DISK_PRIVATE_H
#define ADP_DISK_PRIVATE_H 1

/* The files of a folder (adp-disk-folder.h), for who reads and who writes
 * them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "adp-disk-file.h"

struct adp_disk_entry {
    char *name;
    enum adp_disk_kind kind;
    uint64_t generation;
    bool is_new;                /* Not under its own name yet. */
};

struct adp_disk_files {
    struct adp_disk_entry *entries; /* By generation. */
    size_t n, allocated;
};

/* Others' files aren't listed.  No folder is an empty one. */
char *adp_disk_files_list(const char *path, struct adp_disk_files *);
void adp_disk_files_uninit(struct adp_disk_files *);

/* "PATH/WHAT-0000000000000001".  The caller frees it. */
char *adp_disk_name(const char *path, const char *what, uint64_t generation);

#endif /* adp-disk-private.h */

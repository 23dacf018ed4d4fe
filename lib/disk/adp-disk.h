/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_DISK_H
#define ADP_DISK_H 1

/* The thread that writes a state's folder (adp-disk-folder.h).
 *
 * The disk may take long, so who has transactions hands them over and goes on
 * with something else.  One group at a time: those that come meanwhile are the
 * next one.  A snapshot is written beside, and a group waits for one piece of
 * it at most.
 *
 * What the thread reads (lists of JSON) it neither changes nor references, and
 * the owner leaves it alone until it is done.
 *
 * Thread-safety: one thread uses an adp_disk.
 * Memory: a buffer, and the text of what a frame holds.
 */

#include <stdbool.h>
#include <stdint.h>
#include "adp-disk-folder.h"

struct adp_disk;
struct json;

/* As adp_disk_folder_create().  Begins a thread. */
struct adp_disk *adp_disk_create(const char *path,
                                 const struct adp_disk_position *);
/* Brings what is under way to its end; a snapshot just ends. */
void adp_disk_destroy(struct adp_disk *);
/* As adp_disk_folder_set_path(), when nothing is under way. */
void adp_disk_set_path(struct adp_disk *, const char *path);
/* As adp_disk_folder_move(), whatever is under way, which goes on.  Waits for
 * it without the poll loop: for the group that is being written, or a piece of
 * a snapshot. */
char *adp_disk_move(struct adp_disk *, const char *to);

/* Each of these begins something, when nothing is under way.  'changes' and
 * the lists that they point to stay until it is done. */
void adp_disk_append(struct adp_disk *, uint64_t generation,
                     const struct adp_disk_change *changes, size_t n);
void adp_disk_take_back(struct adp_disk *);
bool adp_disk_is_busy(const struct adp_disk *);
/* Is it done?  Then sets '*error' to NULL or to what went wrong, which the
 * caller frees, and nothing is under way any more. */
bool adp_disk_is_done(struct adp_disk *, char **error);
/* Waits until it is, without the poll loop. */
void adp_disk_finish(struct adp_disk *);
/* Has the poll loop wake up when it is, or a snapshot is. */
void adp_disk_wait(struct adp_disk *);

/* Is it time for a snapshot?  Not again for a while after one has failed. */
bool adp_disk_wants_snapshot(struct adp_disk *, long long int now_ms);
/* Begins one of 'records', an array that is lent until
 * adp_disk_take_records() returns it. */
void adp_disk_snapshot(struct adp_disk *, struct json *records,
                       long long int now_ms);
/* NULL: none are lent, or they are in use. */
struct json *adp_disk_take_records(struct adp_disk *);

struct adp_disk_stats {
    uint64_t generation;        /* On the disk. */
    uint64_t bytes;             /* That the files take. */
    uint64_t written;           /* Bytes, ever. */
    uint64_t n_transactions;
    uint64_t n_groups;          /* Of them, each synchronized once. */
    uint64_t n_snapshots;
    uint64_t n_failed;          /* Groups and snapshots. */
    long long int last_write;   /* time_wall_msec(); 0: none yet. */
    char *error;                /* Why the latest one failed, or NULL. */
};
/* The caller frees 'error'. */
void adp_disk_get_stats(struct adp_disk *, struct adp_disk_stats *);

#endif /* adp-disk.h */

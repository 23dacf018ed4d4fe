/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_DISK_FOLDER_H
#define ADP_DISK_FOLDER_H 1

/* A state on the disk: a snapshot, and the transactions since, in a folder of
 * its own.
 *
 *     snapshot-G     all records as generation G has them; none: generation 0
 *     log-G          transactions from generation G + 1 on
 *
 * G is written with 16 hexadecimal digits.  Transactions are on the disk when
 * adp_disk_folder_append() returns, all that it was given, or nothing of them
 * is.
 *
 * When the log has grown longer than the snapshot (or 1 MiB) it is time for
 * another snapshot.  First a new log begins, so that transactions needn't
 * wait; then the snapshot is written, piece by piece, under another name, gets
 * its own, and what was there before goes.  Whenever all ends in between, the
 * latest snapshot and the logs from it on are whole.
 *
 * A reader takes the latest snapshot and each log from it on.  The last one
 * may end in the midst of such a group: none of it was ever answered, and it
 * is left out.  Anything else that is missing, damaged, of a newer format or
 * unreadable is an error, and reading changes nothing on the disk.
 *
 * Bounds: files take three times what the state takes as text, and 1 MiB, but
 * while snapshots fail.  A payload has 64 KiB, or one record.
 *
 * Errors are texts, malloc()ed for the caller, or NULL.
 *
 * Thread-safety: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "adp-disk-file.h"

struct json;

/* What is in the folder, and where to go on. */
struct adp_disk_position {
    uint64_t generation;        /* Of the state; 0: there is none. */
    bool has_log;               /* False: there is nothing. */
    uint64_t snapshot_generation;
    uint64_t snapshot_bytes;    /* 0: none. */
    uint64_t log_generation;    /* Of the last log, */
    struct adp_disk_mark end;   /* which ends here. */
    uint64_t log_bytes;         /* Of those before it. */
};

struct adp_disk_ops {
    /* 'array' is NULL for ADP_DISK_CLEAR.  Returns an error that ends the
     * reading, or NULL. */
    char *(*carry_out)(enum adp_disk_op, const struct json *array, void *aux);
    /* Called after each frame; may be NULL. */
    void (*pause)(void);
    void *aux;
};

/* Carries out what the folder 'path' holds.  No folder is an empty one. */
char *adp_disk_folder_read(const char *path, const struct adp_disk_ops *,
                           struct adp_disk_position *);

/* Makes another folder of what is there, 'path' with ".old-N" behind it, whose
 * name becomes '*to' (NULL: there was nothing).  The caller frees it. */
char *adp_disk_folder_set_aside(const char *path, char **to);

/* Gives the folder, if there is one, the name 'to', which nothing has. */
char *adp_disk_folder_rename(const char *path, const char *to);

/* Deletes the folder and the files in it. */
char *adp_disk_folder_delete(const char *path);

/* Another state in its place.  That is written into a folder of its own,
 * 'path' with ".new" behind it, and takes the place when it is whole, so that
 * there always is one of both.  All ends in between: where 'path' isn't there,
 * the new one is whole, and where it is, that one counts. */

/* Its name.  The caller frees it. */
char *adp_disk_folder_new_name(const char *path);
/* Sets aside what is there, as adp_disk_folder_set_aside(), and puts the new
 * one in its place.  After an error nothing has changed, unless a name can't
 * be given back either. */
char *adp_disk_folder_take_place(const char *path, char **aside);
/* Takes that back.  'aside' is NULL if there was nothing. */
char *adp_disk_folder_bring_back(const char *path, const char *aside);
/* Brings to its end what was under way: to be called before reading. */
char *adp_disk_folder_recover(const char *path);

/* Writing. */

struct adp_disk_change {
    bool clear;
    const struct json *delete, *patch, *apply; /* Arrays, or NULL. */
};

struct adp_disk_folder;

/* Touches nothing: that is left to the first transaction, which makes the
 * folder and the one around it.  'position' is what adp_disk_folder_read()
 * has found, all zeros if the folder is to be a new one. */
struct adp_disk_folder *adp_disk_folder_create(
    const char *path, const struct adp_disk_position *position);
void adp_disk_folder_destroy(struct adp_disk_folder *);
/* It was given the name 'path'. */
void adp_disk_folder_set_path(struct adp_disk_folder *, const char *path);
/* Gives it the name 'to', which nothing has, if there is one already.  A
 * snapshot that is being written goes on. */
char *adp_disk_folder_move(struct adp_disk_folder *, const char *to);

/* A group of 'n' transactions, synchronized once.  After the first the state
 * is of 'generation', which must be the next one, after each of the others of
 * one more.  After an error nothing of them is on the disk, unless what was
 * written can't be taken away either: that is tried again before the next
 * group, and before that a reader may find it. */
char *adp_disk_folder_append(struct adp_disk_folder *, uint64_t generation,
                             const struct adp_disk_change *, size_t n);
/* Takes the latest group back, once, if there wasn't a snapshot since. */
char *adp_disk_folder_take_back(struct adp_disk_folder *);

/* Is it time? */
bool adp_disk_folder_wants_snapshot(const struct adp_disk_folder *);
/* 'records', an array, are those of the latest generation, and must stay as
 * they are until the end. */
char *adp_disk_folder_begin_snapshot(struct adp_disk_folder *,
                                     const struct json *records);
/* Goes on with some 256 KiB.  '*done' becomes true at the end, and if there is
 * an error: what was there before is good then. */
char *adp_disk_folder_go_on(struct adp_disk_folder *, bool *done);

uint64_t adp_disk_folder_generation(const struct adp_disk_folder *);
/* What the files take. */
uint64_t adp_disk_folder_bytes(const struct adp_disk_folder *);
/* What was ever written into them. */
uint64_t adp_disk_folder_written(const struct adp_disk_folder *);

#endif /* adp-disk-folder.h */

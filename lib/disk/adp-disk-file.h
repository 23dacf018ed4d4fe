/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_DISK_FILE_H
#define ADP_DISK_FILE_H 1

/* Files that outlive a crash: frames with checksums, of which transactions are
 * made.
 *
 * A file is a header of ADP_DISK_HEADER_LEN bytes, which tells the format's
 * version, what the file is and the generation from which it counts, and
 * frames behind it.  A frame is a header of the same length, and a payload.  A
 * transaction is some frames of one generation, the last of which has the
 * operation ADP_DISK_END; transactions that were written together are a group.
 * All numbers are in network byte order, checksums are CRC-32C:
 *
 *     file    0 "adp-disk"  8 version  12 kind  16 generation  28 checksum
 *     frame   0 length of the payload  4 operation  8 generation
 *             16 number of the frame in the file  20 the payload's checksum
 *             28 checksum
 *
 * The checksum at the end of a header is that of the 28 bytes before it.  What
 * isn't named is zero.  Each bit of a file counts: whichever is another one, a
 * reader sees it.
 *
 * Who reads a file that ends in the midst of a group learns that it is torn:
 * its last group was never written whole.  Anything else that is wrong is
 * damage, and named.
 *
 * Errors are texts that name the file, malloc()ed for the caller, or NULL.
 *
 * Thread-safety: one thread at a time uses a file.  Memory: a buffer, while
 * writing; one frame, while reading.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_DISK_VERSION 1
#define ADP_DISK_HEADER_LEN 32

/* Longer payloads than this are damage. */
#define ADP_DISK_MAX_PAYLOAD (1024u * 1024 * 1024)

enum adp_disk_kind {
    ADP_DISK_LOG = 1,           /* Any number of transactions. */
    ADP_DISK_SNAPSHOT = 2,      /* One, of the header's generation. */
};

/* In the order in which they are carried out. */
enum adp_disk_op {
    ADP_DISK_CLEAR = 1,         /* No payload. */
    ADP_DISK_DELETE = 2,        /* Payloads of these are JSON arrays. */
    ADP_DISK_PATCH = 3,
    ADP_DISK_APPLY = 4,
    ADP_DISK_END = 5,           /* No payload, or ADP_DISK_GOES_ON. */
};

/* The group has another transaction behind this one. */
#define ADP_DISK_GOES_ON "+"

/* Writing. */

/* A place in a file. */
struct adp_disk_mark {
    uint64_t size;
    uint32_t n_frames;
};

struct adp_disk_file;

/* Makes a file, which must not be there, with its header.  It is on the disk
 * once it and its folder are synchronized. */
char *adp_disk_file_create(const char *name, enum adp_disk_kind,
                           uint64_t generation, struct adp_disk_file **);
/* Opens a file to go on at 'mark', where a reader has found the end of a
 * transaction.  What comes behind it is cut off. */
char *adp_disk_file_open(const char *name, struct adp_disk_mark mark,
                         struct adp_disk_file **);
/* What wasn't synchronized may be lost.  NULL does nothing. */
void adp_disk_file_close(struct adp_disk_file *);
/* It was given the name 'name', which errors tell from now on. */
void adp_disk_file_set_name(struct adp_disk_file *, const char *name);

char *adp_disk_file_put(struct adp_disk_file *, enum adp_disk_op,
                        uint64_t generation, const char *payload, size_t len);
/* All that was put is on the disk. */
char *adp_disk_file_sync(struct adp_disk_file *);
/* The end of what was put. */
struct adp_disk_mark adp_disk_file_end(const struct adp_disk_file *);
/* Takes back what was put behind 'mark', on the disk too. */
char *adp_disk_file_cut(struct adp_disk_file *, struct adp_disk_mark mark);

/* Reading. */

struct adp_disk_reader;

struct adp_disk_frame {
    enum adp_disk_op op;
    uint64_t generation;
    char *payload;              /* Null-terminated; the reader's, until the
                                 * next frame. */
    size_t len;
};

enum adp_disk_result {
    ADP_DISK_FRAME,             /* Here is one. */
    ADP_DISK_EOF,               /* The file ends here. */
    ADP_DISK_TORN,              /* It ends in the midst of a frame, or what
                                 * the frame lacks reads as zeros, as do all
                                 * bytes behind it. */
    ADP_DISK_BAD,               /* It can't be read, or is damaged. */
};

/* A file of another kind or generation is damage, too. */
char *adp_disk_reader_open(const char *name, enum adp_disk_kind,
                           uint64_t generation, struct adp_disk_reader **);
void adp_disk_reader_close(struct adp_disk_reader *);
/* 'error' is set with ADP_DISK_BAD, to NULL otherwise. */
enum adp_disk_result adp_disk_reader_next(struct adp_disk_reader *,
                                          struct adp_disk_frame *,
                                          char **error);
/* Behind the latest frame. */
struct adp_disk_mark adp_disk_reader_mark(const struct adp_disk_reader *);

/* Folders. */

/* What was made, renamed or removed in the folder is on the disk. */
char *adp_disk_sync_folder(const char *name);
char *adp_disk_rename(const char *from, const char *to);
/* That it isn't there is no error. */
char *adp_disk_remove(const char *name);
/* That it is there is no error. */
char *adp_disk_make_folder(const char *name);

/* For tests: called before anything is done to the disk, with what and to
 * which file.  Returns 0, or an errno value with which that fails. */
extern int (*adp_disk_fault)(const char *what, const char *name);

#endif /* adp-disk-file.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_HANDOVER_FILE_H
#define ADP_HANDOVER_FILE_H 1

/* A file by which a process that ends hands something to the next one.
 *
 * It has a few parts of bytes, is for one reader on the same machine, and for
 * a short time: who opens it deletes it, whether it is of use or not, and one
 * from before the machine's start or older than ADP_HANDOVER_MAX_AGE_MS is of
 * none.  It gets its name when it is whole, and its beginning, which says how
 * long it is and has a checksum over all of it, is written last; nothing is
 * synchronized, as it needn't outlive the machine.  Only its owner may have
 * had access to it.
 *
 * Errors are texts, malloc()ed for the caller, or NULL.
 *
 * Thread-safety: one thread uses a file.
 * Memory: a buffer for writing; what is read is mapped. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Another one is another format, of the file or of a part. */
#define ADP_HANDOVER_FILE_VERSION 1

#define ADP_HANDOVER_MAX_AGE_MS (5 * 60 * 1000)
#define ADP_HANDOVER_MAX_PARTS 8

/* Writing. */

struct adp_handover_out;

/* Begins 'path', which gets its name with adp_handover_out_commit().  More
 * than 'max_len' bytes, or any after 'max_ms' milliseconds, are an error. */
char *adp_handover_out_create(const char *path, uint64_t max_len,
                              long long int max_ms,
                              struct adp_handover_out **);
/* What is written from now on is a part named 'kind' of the format
 * 'version'. */
void adp_handover_out_begin(struct adp_handover_out *, uint32_t kind,
                            uint32_t version);
/* Returns false after an error, which adp_handover_out_commit() tells. */
bool adp_handover_out_write(struct adp_handover_out *, const void *, size_t);
/* Ends the file, and deletes it if there was an error.  Frees 'out'. */
char *adp_handover_out_commit(struct adp_handover_out *out, uint64_t *len);

/* Reading. */

struct adp_handover_in;

/* Opens the file and deletes it.  '*inp' is NULL if there is none, or with an
 * error. */
char *adp_handover_in_open(const char *path, struct adp_handover_in **inp);
void adp_handover_in_close(struct adp_handover_in *);
/* How long ago it was begun. */
long long int adp_handover_in_age_ms(const struct adp_handover_in *);
/* The part, or NULL if there is none of that kind and version. */
const void *adp_handover_in_part(const struct adp_handover_in *, uint32_t kind,
                                 uint32_t version, size_t *len);

#endif /* adp-handover-file.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LOG_FILE_H
#define ADP_LOG_FILE_H 1

/* The log's file, and the thread that writes it.
 *
 * Writing may take long, so a thread of its own does it; who has a line hands
 * it over under a mutex that is never held during a system call.  Up to
 * ADP_LOG_FILE_MAX_PENDING bytes wait for the thread; what doesn't fit, or
 * can't be written (a full disk, a folder that isn't there), is lost, and
 * counted.  Why is said once, until it works again; it is tried anew with the
 * next lines, not more often than once a second.
 *
 * A file that a line would make larger than it may be becomes FILE.1, what was
 * that FILE.2, and so on, up to the number of backups; the oldest goes.  Where
 * somebody else has moved or removed the file a new one is begun within a
 * second.
 *
 * The folder is made if its own is there.  There is no file before there is a
 * line.
 *
 * Thread-safety: one thread uses an adp_log_file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_LOG_FILE_MAX_PENDING (1024 * 1024)

/* As Antrea's agent has it. */
#define ADP_LOG_FILE_DEFAULT_SIZE (UINT64_C(500) * 1024 * 1024)
#define ADP_LOG_FILE_DEFAULT_BACKUPS 3
#define ADP_LOG_FILE_MAX_BACKUPS 99

struct adp_log_file;

/* Begins a thread. */
struct adp_log_file *adp_log_file_create(void);
/* Writes what is pending and ends the thread. */
void adp_log_file_destroy(struct adp_log_file *);

/* In force for the next lines.  'name' is NULL for none. */
void adp_log_file_configure(struct adp_log_file *, const char *name,
                            uint64_t max_size, unsigned int n_backups);
/* Appends 'line', which has 'len' bytes, its end included. */
void adp_log_file_put(struct adp_log_file *, const char *line, size_t len);
/* Waits until all that was put has been written, or couldn't be. */
void adp_log_file_flush(struct adp_log_file *);

struct adp_log_file_stats {
    uint64_t n_written, n_lost; /* Lines. */
    uint64_t n_rotated;
    char *name;                 /* NULL: no file.  The caller frees it. */
    char *error;                /* Why the latest lines are lost, or NULL.  The
                                 * caller frees it. */
};
void adp_log_file_stats_get(struct adp_log_file *,
                            struct adp_log_file_stats *);

#endif /* adp-log-file.h */

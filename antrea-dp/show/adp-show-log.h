/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHOW_LOG_H
#define ADP_SHOW_LOG_H 1

/* What policies log: from packet threads' rings to lines that name policy,
 * rule and Pods.
 *
 * The main thread does that, as records are its to read, in slices; what it
 * didn't get to waits in the rings, and is lost when they are full.  A thread
 * of its own writes the file, since a disk may be slow
 * (lib/log/adp-log-file.h).  Clients of the control socket read the latest
 * lines (lib/log/adp-log-history.h).
 *
 * For the main thread, but for adp_show_log_exit().
 */

#include <stdint.h>

struct json;

void adp_show_log_init(void);
void adp_show_log_exit(void);

/* 'file': NULL for LOGDIR/networkpolicy/np.log, "none" for none, relative
 * names are below LOGDIR. */
void adp_show_log_configure(const char *file, uint64_t max_size,
                            unsigned int n_backups);

/* Each turn. */
void adp_show_log_run(void);
void adp_show_log_wait(void);

/* Of the latest line; 0: there was none. */
uint64_t adp_show_log_last(void);
/* Up to 'max' lines behind number 'after', of bridge 'bridge' or, if that is
 * NULL, of all: the answer to "logs". */
struct json *adp_show_log_lines(const char *bridge, uint64_t after,
                                unsigned int max);
struct json *adp_show_log_stats(void);

#endif /* adp-show-log.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_COUNTED_COMMAND_H
#define ADP_COUNTED_COMMAND_H 1

/* Commands of ovs-appctl that tell counters: they run once what packet threads
 * counted before they came is among them (adp-push-stats.h), and until then
 * the client waits, as for any command.
 *
 * Memory: the command's words, for each client that waits.
 *
 * Thread-safety: the main thread. */

#include "unixctl.h"

/* Has 'cb' run with these arguments, now or later.  The bridge is the one that
 * an argument names, or the only one; if there is none, or once it is gone,
 * nothing is waited for. */
void adp_counted_command(struct unixctl_conn *, int argc, const char *argv[],
                         unixctl_cb_func *cb, void *aux);
/* Runs those that need not wait any longer. */
void adp_counted_commands_run(void);

#endif /* adp-counted-command.h */

/* SPDX-License-Identifier: Apache-2.0 */

/* What upstream's commands of ovs-appctl don't know.
 *
 * Those that trace packets know names of datapaths by themselves, and have to
 * be given upstream's (adp-system.h).  Flows that bridges show have counters,
 * which packet threads may have something to add to
 * (adp-counted-command.h).  The linker puts a function of ours between what
 * commands are registered by and who calls it (--wrap, in automake.mk). */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "adp-counted-command.h"
#include "adp-system.h"
#include "unixctl.h"
#include "util.h"

void __real_unixctl_command_register(const char *name, const char *usage,
                                     int min_args, int max_args,
                                     unixctl_cb_func *, void *aux);
void __wrap_unixctl_command_register(const char *name, const char *usage,
                                     int min_args, int max_args,
                                     unixctl_cb_func *, void *aux);

/* As upstream registers it. */
struct upstream_command {
    unixctl_cb_func *cb;
    void *aux;
};

static void
run_renamed(struct unixctl_conn *conn, int argc, const char *argv[],
            void *command_)
{
    const struct upstream_command *command = command_;
    char **args = xcalloc(argc + 1, sizeof *args);

    for (int i = 0; i < argc; i++) {
        args[i] = adp_system_real_name(argv[i]);
    }
    command->cb(conn, argc, (const char **) args, command->aux);
    for (int i = 0; i < argc; i++) {
        free(args[i]);
    }
    free(args);
}

static void
run_counted(struct unixctl_conn *conn, int argc, const char *argv[],
            void *command_)
{
    const struct upstream_command *command = command_;

    adp_counted_command(conn, argc, argv, command->cb, command->aux);
}

/* The function that runs the command in upstream's place, or NULL. */
static unixctl_cb_func *
stand_in(const char *name)
{
    return (!strcmp(name, "ofproto/trace") ? run_renamed
            : !strcmp(name, "bridge/dump-flows") ? run_counted : NULL);
}

void
__wrap_unixctl_command_register(const char *name, const char *usage,
                                int min_args, int max_args,
                                unixctl_cb_func *cb, void *aux)
{
    unixctl_cb_func *ours = stand_in(name);

    if (ours) {
        struct upstream_command *command = xmalloc(sizeof *command);

        *command = (struct upstream_command) { .cb = cb, .aux = aux };
        cb = ours;
        aux = command;
    }
    __real_unixctl_command_register(name, usage, min_args, max_args, cb, aux);
}

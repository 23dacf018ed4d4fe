/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-counted-command.h"

#include <stdlib.h>

#include "adp-bridge.h"
#include "adp-push-stats.h"
#include "openvswitch/list.h"
#include "svec.h"
#include "util.h"

/* Upstream keeps the connection until it is replied to. */
struct counted_command {
    struct ovs_list node;
    struct unixctl_conn *conn;
    struct svec args;
    unixctl_cb_func *cb;
    void *aux;
    uint64_t asked;
};

static struct ovs_list all_commands = OVS_LIST_INITIALIZER(&all_commands);

/* The bridge that the command is about, or NULL. */
static struct adp_bridge *
find_bridge(const struct svec *args)
{
    for (size_t i = 1; i < args->n; i++) {
        struct adp_bridge *b = adp_bridge_lookup(args->names[i]);

        if (b) {
            return b;
        }
    }
    return args->n > 1 ? NULL : adp_bridge_only();
}

static void
run(struct counted_command *c)
{
    ovs_list_remove(&c->node);
    svec_terminate(&c->args);
    c->cb(c->conn, c->args.n, (const char **) c->args.names, c->aux);
    svec_destroy(&c->args);
    free(c);
}

void
adp_counted_commands_run(void)
{
    struct counted_command *c;

    LIST_FOR_EACH_SAFE (c, node, &all_commands) {
        struct adp_bridge *b = find_bridge(&c->args);

        if (!b || adp_push_stats_has(b, c->asked)) {
            run(c);
        }
    }
}

void
adp_counted_command(struct unixctl_conn *conn, int argc, const char *argv[],
                    unixctl_cb_func *cb, void *aux)
{
    struct counted_command *c = xmalloc(sizeof *c);

    *c = (struct counted_command) {
        .conn = conn,
        .cb = cb,
        .aux = aux,
        .asked = adp_push_stats_ask(),
    };
    svec_init(&c->args);
    for (int i = 0; i < argc; i++) {
        svec_add(&c->args, argv[i]);
    }
    ovs_list_push_back(&all_commands, &c->node);
    adp_counted_commands_run();
}

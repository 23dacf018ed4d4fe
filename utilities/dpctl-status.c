/* SPDX-License-Identifier: Apache-2.0 */

/* status: is everything well? */

#include <config.h>
#include "dpctl-cli.h"

#include <stdio.h>
#include <stdlib.h>

#include "dpctl-health.h"
#include "dpctl-json.h"
#include "dpctl-ovsdb.h"
#include "dpctl-print.h"
#include "dpctl-rpc.h"
#include "util.h"

/* What was found out; see struct dpctl_health_facts. */
struct symptoms {
    char *daemon_error, *stats_error, *db_error;
    struct json *version, *stats, *records, *db;
};

/* Calls 'method', unless the daemon has gone.  '*error' is why it refused. */
static struct json *
try_call(struct dpctl_rpc *rpc, const struct dpctl_options *o,
         struct symptoms *f, const char *method, struct json *param,
         char **error)
{
    struct json *result = NULL;

    if (f->daemon_error) {
        json_destroy(param);
        return NULL;
    }
    if (o->bridge && param) {
        json_object_put_string(param, "bridge", o->bridge);
    }
    struct json *params = json_array_create_1(param ? param
                                              : json_object_create());
    struct dpctl_rpc_error *e = dpctl_rpc_call(rpc, method, params, &result);
    if (e && e->unreachable) {
        f->daemon_error = xstrdup(e->message);
    } else if (e && error) {
        *error = xstrdup(e->message);
    }
    dpctl_rpc_error_destroy(e);
    return result;
}

static void
add_records(struct dpctl_rpc *rpc, const struct dpctl_options *o,
            struct symptoms *f, const char *kind)
{
    struct json *param = json_object_create();

    json_object_put_string(param, "kind", kind);
    struct json *state = try_call(rpc, o, f, "get", param, NULL);
    const struct json_array *found = dpctl_json_array(state, "records");

    for (size_t i = 0; i < found->n; i++) {
        json_array_add(f->records, json_clone(found->elems[i]));
    }
    json_destroy(state);
}

static void
ask_daemon(const struct dpctl_options *o, struct symptoms *f)
{
    struct dpctl_rpc *rpc;
    struct dpctl_rpc_error *error = dpctl_rpc_open(o->socket, o->timeout_s,
                                                   &rpc);

    if (error) {
        f->daemon_error = xstrdup(error->message);
        dpctl_rpc_error_destroy(error);
        return;
    }
    struct json *brief = json_object_create();
    json_object_put(brief, "brief", json_boolean_create(true));
    f->version = try_call(rpc, o, f, "version", NULL, NULL);
    f->stats = try_call(rpc, o, f, "stats", brief, &f->stats_error);
    add_records(rpc, o, f, "Pod");
    add_records(rpc, o, f, "NodeConfig");
    dpctl_rpc_close(rpc);
}

struct json *
dpctl_ask_health(const struct dpctl_options *o, bool *unreachable)
{
    struct symptoms f = { .records = json_array_create_empty() };

    ask_daemon(o, &f);
    f.db = dpctl_ovsdb_tables(o->db, o->timeout_s, &f.db_error);
    struct json *health = dpctl_health_judge(&(struct dpctl_health_facts) {
        .daemon_error = f.daemon_error, .client_version = ADP_VERSION,
        .version = f.version, .stats_error = f.stats_error,
        .stats = f.stats, .records = json_array(f.records),
        .db_error = f.db_error, .db = f.db,
    });

    if (unreachable) {
        *unreachable = f.daemon_error != NULL;
    }
    json_destroy(f.version);
    json_destroy(f.stats);
    json_destroy(f.records);
    json_destroy(f.db);
    free(f.daemon_error);
    free(f.stats_error);
    free(f.db_error);
    return health;
}

void
dpctl_cmd_status(const struct dpctl_command *c)
{
    const struct dpctl_options *o = c->options;
    bool unreachable;
    struct json *health = dpctl_ask_health(o, &unreachable);

    if (o->output == DPCTL_OUTPUT_TABLE) {
        dpctl_print_formatted(health, dpctl_health_format);
    } else {
        dpctl_print_json(o, health);
    }
    dpctl_flush();
    if (unreachable) {
        exit(DPCTL_EXIT_UNREACHABLE);
    } else if (dpctl_health_is_failed(health)) {
        exit(DPCTL_EXIT_ERROR);
    }
    json_destroy(health);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adp-control-appctl.h"
#include "adp-control-methods.h"
#include "adp-control-server.h"
#include "adp-control-stage.h"
#include "adp-control-transaction.h"
#include "adp-turn.h"
#include "adp-waste.h"
#include "dirs.h"
#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "stream.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_control);

static const struct adp_control_limits limits = ADP_CONTROL_LIMITS_DEFAULT;

/* Bounds what clients send ahead of the call that is to use it. */
static struct adp_control_stage_pool stages;

/* NULL while the socket isn't open. */
static struct adp_control_server *server;

static void
note_staged(struct adp_control_conn *conn)
{
    adp_control_conn_set_staged(conn,
                                adp_control_session_staged_cost(conn->aux),
                                time_msec());
}

/* The state has the lists that 'msg' gave: it frees them in slices, if they
 * are nobody else's. */
static void
drop_params(struct jsonrpc_msg *msg)
{
    json_destroy(msg->params);
    msg->params = json_array_create_empty();
}

/* A client is given its session when it first calls a method. */
static struct json *
control_request(struct adp_control_conn *conn,
                struct adp_control_request *request, struct json **errorp,
                void *aux OVS_UNUSED)
{
    struct adp_control_transaction *transaction = request->aux;

    if (!conn->aux) {
        conn->aux = adp_control_session_create(&stages);
    }
    struct json *result = adp_control_call_method(conn->aux, &transaction,
                                                  request->msg->method,
                                                  request->msg->params,
                                                  request->cost, errorp);
    if (transaction && !request->begun) {
        drop_params(request->msg);
    }
    request->aux = transaction;
    request->begun = transaction != NULL;
    note_staged(conn);
    return result;
}

static void
control_refused(struct adp_control_conn *conn,
                const struct adp_control_request *request,
                void *aux OVS_UNUSED)
{
    if (conn->aux) {
        adp_control_session_refuse(conn->aux, request->msg->method,
                                   request->msg->params);
        note_staged(conn);
    }
}

static void
control_served(void *aux OVS_UNUSED)
{
    adp_control_transactions_run();
}

static void
control_forget(struct adp_control_conn *conn,
               struct adp_control_request *request, void *aux OVS_UNUSED)
{
    adp_control_session_forget(conn->aux, request->aux);
}

static void
control_idle(struct adp_control_conn *conn, long long int now,
             void *aux OVS_UNUSED)
{
    struct json *updates = (conn->aux
                            ? adp_control_session_run(conn->aux)
                            : NULL);

    if (updates) {
        struct jsonrpc_msg *msg = jsonrpc_create_notify("update", updates);

        adp_control_conn_send(conn, jsonrpc_msg_to_json(msg), now);
    }
}

static void
control_closed(struct adp_control_conn *conn, void *aux OVS_UNUSED)
{
    adp_control_session_destroy(conn->aux);
}

static const struct adp_control_server_ops ops = {
    .request = control_request,
    .refused = control_refused,
    .served = control_served,
    .forget = control_forget,
    .idle = control_idle,
    .closed = control_closed,
};

static void
control_open(void)
{
    char *path = xasprintf("%s/antrea-dp.sock", ovs_rundir());
    char *name = xasprintf("punix:%s", path);
    struct pstream *listener;

    int error = pstream_open(name, &listener, 0);
    if (!error && chmod(path, 0600)) {
        /* As upstream binds it, only the owner gets in; so never mind. */
        VLOG_WARN("%s: chmod: %s", path, ovs_strerror(errno));
    }
    if (error) {
        VLOG_ERR("%s: can't open the control socket: %s", path,
                 ovs_strerror(error));
    } else {
        stages.max_cost = limits.max_staged_cost;
        stages.discard = adp_waste_put;
        server = adp_control_server_create(listener, &limits, &ops, NULL);
    }
    free(name);
    free(path);
}

static void
control_format(struct ds *s)
{
    if (server) {
        adp_control_server_format(server, time_msec(), s);
    }
}

void
adp_control_init(void)
{
    if (!server) {
        control_open();
        adp_control_appctl_init(control_format);
    }
}

void
adp_control_run(void)
{
    if (server) {
        long long int began = adp_turn_now();

        adp_control_server_run(server, time_msec());
        adp_waste_run((adp_turn_now() - began) / 2);
    }
}

void
adp_control_wait(void)
{
    if (server) {
        adp_control_server_wait(server);
        adp_control_methods_wait();
        adp_waste_wait();
    }
}

void
adp_control_exit(void)
{
    adp_control_server_destroy(server);
    server = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-rpc.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "jsonrpc.h"
#include "openvswitch/poll-loop.h"
#include "stream.h"
#include "timeval.h"
#include "util.h"

struct dpctl_rpc {
    struct jsonrpc *rpc;
    char *name;
    int timeout_s;
};

void
dpctl_rpc_error_destroy(struct dpctl_rpc_error *error)
{
    if (error) {
        free(error->code);
        free(error->message);
        free(error);
    }
}

static struct dpctl_rpc_error * OVS_PRINTF_FORMAT(3, 4)
rpc_error(bool unreachable, const char *code, const char *format, ...)
{
    struct dpctl_rpc_error *error = xzalloc(sizeof *error);
    va_list args;

    error->unreachable = unreachable;
    error->code = nullable_xstrdup(code);
    va_start(args, format);
    error->message = xvasprintf(format, args);
    va_end(args);
    return error;
}

struct dpctl_rpc_error *
dpctl_rpc_open(const char *name, int timeout_s, struct dpctl_rpc **rpcp)
{
    /* Names of streams have a colon, paths of sockets may have one too. */
    bool is_stream = !stream_verify_name(name) && name[0] != '/';
    char *stream_name = (is_stream ? xstrdup(name)
                         : xasprintf("unix:%s", name));
    struct stream *stream;

    *rpcp = NULL;
    int error = stream_open(stream_name, &stream, 0);
    error = stream_open_block(error, timeout_s ? timeout_s * 1000LL : -1,
                              &stream);
    if (error) {
        struct dpctl_rpc_error *e
            = rpc_error(true, NULL, "%s: cannot connect: %s", stream_name,
                        ovs_strerror(error));
        free(stream_name);
        return e;
    }

    struct dpctl_rpc *rpc = xmalloc(sizeof *rpc);
    rpc->rpc = jsonrpc_open(stream);
    rpc->name = stream_name;
    rpc->timeout_s = timeout_s;
    *rpcp = rpc;
    return NULL;
}

void
dpctl_rpc_close(struct dpctl_rpc *rpc)
{
    if (rpc) {
        jsonrpc_close(rpc->rpc);
        free(rpc->name);
        free(rpc);
    }
}

/* Waits for the reply to 'id'.  Notifications are none of our business. */
static struct dpctl_rpc_error *
wait_reply(struct dpctl_rpc *rpc, const struct json *id,
           struct jsonrpc_msg **replyp)
{
    long long int deadline = (rpc->timeout_s
                              ? time_msec() + rpc->timeout_s * 1000LL
                              : LLONG_MAX);
    for (;;) {
        struct jsonrpc_msg *msg;

        jsonrpc_run(rpc->rpc);
        int error = jsonrpc_recv(rpc->rpc, &msg);
        if (!error) {
            if ((msg->type == JSONRPC_REPLY || msg->type == JSONRPC_ERROR)
                && (msg->id->type == JSON_NULL || json_equal(msg->id, id))) {
                *replyp = msg;
                return NULL;
            }
            jsonrpc_msg_destroy(msg);
            continue;
        } else if (error != EAGAIN) {
            return rpc_error(true, NULL, "%s: connection lost: %s", rpc->name,
                             ovs_retval_to_string(error));
        }
        if (time_msec() >= deadline) {
            return rpc_error(true, NULL, "%s: no answer within %d s",
                             rpc->name, rpc->timeout_s);
        }
        jsonrpc_wait(rpc->rpc);
        jsonrpc_recv_wait(rpc->rpc);
        if (deadline != LLONG_MAX) {
            poll_timer_wait_until(deadline);
        }
        poll_block();
    }
}

static struct dpctl_rpc_error *
error_from_reply(const struct json *json)
{
    const char *code = dpctl_json_str(json, "code");
    const char *message = dpctl_json_str(json, "message");

    if (!code) {
        code = dpctl_json_str(json, "error");       /* OVSDB's way. */
        message = dpctl_json_str(json, "details");
    }
    if (message) {
        return rpc_error(false, code, "%s", message);
    }
    char *text = json_to_string(json, JSSF_SORT);
    struct dpctl_rpc_error *error = rpc_error(false, code, "%s", text);
    free(text);
    return error;
}

struct dpctl_rpc_error *
dpctl_rpc_call(struct dpctl_rpc *rpc, const char *method, struct json *params,
               size_t max_len, struct json **result)
{
    struct jsonrpc_msg *reply = NULL;
    struct json *id;

    *result = NULL;
    if (max_len) {
        char *text = json_to_string(params, 0);
        size_t len = strlen(text) + strlen(method) + 64;
        free(text);
        if (len > max_len) {
            json_destroy(params);
            return rpc_error(false, "limit", "the message would have "
                             "%"PRIuSIZE" bytes, the limit is %"PRIuSIZE,
                             len, max_len);
        }
    }

    struct jsonrpc_msg *request = jsonrpc_create_request(method, params, &id);
    int error = jsonrpc_send(rpc->rpc, request);
    struct dpctl_rpc_error *e
        = (error
           ? rpc_error(true, NULL, "%s: connection lost: %s", rpc->name,
                       ovs_retval_to_string(error))
           : wait_reply(rpc, id, &reply));
    json_destroy(id);
    if (e) {
        return e;
    }
    if (reply->type == JSONRPC_ERROR) {
        e = error_from_reply(reply->error);
    } else {
        *result = reply->result;
        reply->result = NULL;
    }
    jsonrpc_msg_destroy(reply);
    return e;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-rpc.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "stream.h"
#include "timeval.h"
#include "util.h"

/* Received at once. */
enum { INPUT_LEN = 64 * 1024 };

struct dpctl_rpc {
    struct stream *stream;
    char *name;
    int timeout_s;
    long long int last_id;

    /* The request, and how much of it is sent. */
    char *output;
    size_t output_ofs, output_len;
    int send_error;             /* The server takes no more. */

    /* Received, and not yet parsed. */
    char input[INPUT_LEN];
    size_t input_ofs, input_len;
    struct json_parser *parser; /* NULL between messages. */
    bool notified;              /* By a message that is no answer. */
};

void
dpctl_rpc_error_destroy(struct dpctl_rpc_error *error)
{
    if (error) {
        free(error->code);
        free(error->object);
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

    struct dpctl_rpc *rpc = xzalloc(sizeof *rpc);
    rpc->stream = stream;
    rpc->name = stream_name;
    rpc->timeout_s = timeout_s;
    *rpcp = rpc;
    return NULL;
}

static void
forget_output(struct dpctl_rpc *rpc)
{
    free(rpc->output);
    rpc->output = NULL;
    rpc->output_ofs = rpc->output_len = 0;
}

void
dpctl_rpc_close(struct dpctl_rpc *rpc)
{
    if (rpc) {
        forget_output(rpc);
        if (rpc->parser) {
            json_parser_abort(rpc->parser);
        }
        stream_close(rpc->stream);
        free(rpc->name);
        free(rpc);
    }
}

/* Sends what can be sent; returns true if that was something.  A server that
 * takes no more may still have told why. */
static bool
send_some(struct dpctl_rpc *rpc)
{
    bool progress = false;

    while (rpc->output) {
        int n = stream_send(rpc->stream, rpc->output + rpc->output_ofs,
                            MIN(rpc->output_len - rpc->output_ofs, INT_MAX));
        if (n == -EAGAIN) {
            break;
        } else if (n < 0) {
            rpc->send_error = -n;
            forget_output(rpc);
            break;
        }
        progress = true;
        rpc->output_ofs += n;
        if (rpc->output_ofs >= rpc->output_len) {
            forget_output(rpc);
        }
    }
    return progress;
}

/* Receives at most one message.  Returns 0 and sets '*messagep' if there is
 * one, EAGAIN if nothing has come, EINPROGRESS if a part of one has, otherwise
 * what jsonrpc's functions return when a connection ends. */
static int
receive(struct dpctl_rpc *rpc, struct json **messagep)
{
    if (rpc->input_ofs >= rpc->input_len) {
        int n = stream_recv(rpc->stream, rpc->input, sizeof rpc->input);
        if (n <= 0) {
            return n ? -n : EOF;
        }
        rpc->input_ofs = 0;
        rpc->input_len = n;
    }
    if (!rpc->parser) {
        /* Between messages there may be blanks. */
        while (rpc->input_ofs < rpc->input_len
               && strchr(" \t\r\n", rpc->input[rpc->input_ofs])) {
            rpc->input_ofs++;
        }
        if (rpc->input_ofs >= rpc->input_len) {
            return EINPROGRESS;
        }
        rpc->parser = json_parser_create(0);
    }
    rpc->input_ofs += json_parser_feed(rpc->parser,
                                       rpc->input + rpc->input_ofs,
                                       rpc->input_len - rpc->input_ofs);
    if (!json_parser_is_done(rpc->parser)) {
        return EINPROGRESS;
    }
    *messagep = json_parser_finish(rpc->parser);
    rpc->parser = NULL;
    if ((*messagep)->type != JSON_OBJECT) {
        /* An array, or the parser's complaint. */
        json_destroy(*messagep);
        return EPROTO;
    }
    return 0;
}

/* Is 'message' the answer to request 'id'?  What a server refuses before it
 * has read the request's ID bears none.  */
static bool
is_answer(const struct json *message, long long int id)
{
    const struct json *their_id = dpctl_json_member(message, "id");

    return (their_id
            ? their_id->type == JSON_INTEGER && their_id->integer == id
            : dpctl_json_member(message, "error") != NULL);
}

static void
note_message(struct dpctl_rpc *rpc, const struct json *message)
{
    rpc->notified |= (dpctl_json_member(message, "method")
                      && !dpctl_json_member(message, "id"));
}

bool
dpctl_rpc_take_notification(struct dpctl_rpc *rpc)
{
    bool notified = rpc->notified;

    rpc->notified = false;
    return notified;
}

static struct dpctl_rpc_error *
connection_lost(const struct dpctl_rpc *rpc, int error)
{
    return rpc_error(true, NULL, "%s: connection lost: %s", rpc->name,
                     ovs_retval_to_string(error == EOF && rpc->send_error
                                          ? rpc->send_error : error));
}

/* Sends the request and waits for the answer to it.  What is waited for is
 * never longer than the timeout; all of it may be. */
static struct dpctl_rpc_error *
exchange(struct dpctl_rpc *rpc, long long int id, struct json **answerp)
{
    long long int last_progress = time_msec();

    for (;;) {
        stream_run(rpc->stream);
        bool progress = send_some(rpc);

        int error = receive(rpc, answerp);
        if (!error && is_answer(*answerp, id)) {
            return NULL;
        } else if (!error) {
            note_message(rpc, *answerp);
            json_destroy(*answerp);
            *answerp = NULL;
        } else if (error != EAGAIN && error != EINPROGRESS) {
            return connection_lost(rpc, error);
        }
        if (progress || error != EAGAIN) {
            last_progress = time_msec();
            continue;
        }

        long long int deadline = last_progress + rpc->timeout_s * 1000LL;
        if (rpc->timeout_s) {
            if (time_msec() >= deadline) {
                return rpc_error(true, NULL, "%s: no answer within %d s",
                                 rpc->name, rpc->timeout_s);
            }
            poll_timer_wait_until(deadline);
        }
        stream_run_wait(rpc->stream);
        stream_recv_wait(rpc->stream);
        if (rpc->output) {
            stream_send_wait(rpc->stream);
        }
        poll_block();
    }
}

char *
dpctl_rpc_check(struct dpctl_rpc *rpc)
{
    struct json *message;
    int error;

    stream_run(rpc->stream);
    while (!(error = receive(rpc, &message))) {
        note_message(rpc, message);
        json_destroy(message);
    }
    return (error == EAGAIN || error == EINPROGRESS ? NULL
            : xasprintf("%s: connection lost: %s", rpc->name,
                        ovs_retval_to_string(error)));
}

void
dpctl_rpc_wait(struct dpctl_rpc *rpc)
{
    stream_run_wait(rpc->stream);
    stream_recv_wait(rpc->stream);
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
    char *text = message ? NULL : json_to_string(json, JSSF_SORT);
    struct dpctl_rpc_error *error = rpc_error(false, code, "%s",
                                              message ? message : text);
    error->object = nullable_xstrdup(dpctl_json_str(json, "object"));
    free(text);
    return error;
}

struct dpctl_rpc_error *
dpctl_rpc_call(struct dpctl_rpc *rpc, const char *method, struct json *params,
               struct json **result)
{
    long long int id = ++rpc->last_id;
    struct json *request = json_object_create();
    struct json *answer = NULL;

    *result = NULL;
    json_object_put(request, "id", json_integer_create(id));
    json_object_put_string(request, "method", method);
    json_object_put(request, "params", params);
    forget_output(rpc);
    rpc->output = json_to_string(request, 0);
    rpc->output_len = strlen(rpc->output);
    json_destroy(request);

    struct dpctl_rpc_error *e = exchange(rpc, id, &answer);
    if (e) {
        return e;
    }
    const struct json *error = dpctl_json_member(answer, "error");
    if (error) {
        e = error_from_reply(error);
    } else {
        *result = json_nullable_clone(dpctl_json_member(answer, "result"));
        if (!*result) {
            *result = json_null_create();
        }
    }
    json_destroy(answer);
    return e;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-conn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "adp-control-text.h"
#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "stream.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_control_conn);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* Read at once.  Limits may be exceeded by what one such portion holds. */
#define INPUT_LEN (16 * 1024)

/* Text of a reply that is made at once. */
#define OUTPUT_LEN (64 * 1024)

/* How long a client that failed must be silent to be closed. */
#define LINGER_MS 1000

/* Heap that a parsed value takes on average: the value, and its place in an
 * array or its name and hash node. */
#define VALUE_COST 96

/* Forms of messages. */

struct json *
adp_control_error(const char *code, const char *field,
                  const char *format, ...)
{
    struct json *error = json_object_create();
    va_list args;

    va_start(args, format);
    char *text = xvasprintf(format, args);
    va_end(args);

    json_object_put_string(error, "code", code);
    if (field) {
        json_object_put_string(error, "field", field);
        json_object_put_format(error, "message", "%s: %s", field, text);
        free(text);
    } else {
        json_object_put(error, "message", json_string_create_nocopy(text));
    }
    return error;
}

struct json *
adp_control_reply(struct json *result, struct json *error,
                  const struct json *id)
{
    struct json *reply = json_object_create();

    json_object_put(reply, "id", id ? json_clone(id) : json_null_create());
    json_object_put(reply, "result", result ? result : json_null_create());
    json_object_put(reply, "error", error ? error : json_null_create());
    return reply;
}

/* Life. */

struct adp_control_conn *
adp_control_conn_create(struct stream *stream,
                        const struct adp_control_limits *limits,
                        long long int now)
{
    struct adp_control_conn *conn = xzalloc(sizeof *conn);

    conn->stream = stream;
    conn->name = xstrdup(stream_get_name(stream));
    conn->limits = limits;
    conn->state = ADP_CONN_OPEN;
    ovs_list_init(&conn->output);
    ovs_list_init(&conn->requests);
    conn->last_input = conn->last_output = now;
    return conn;
}

static void
conn_forget_input(struct adp_control_conn *conn)
{
    if (conn->parser) {
        json_parser_abort(conn->parser);
        conn->parser = NULL;
        adp_control_scan_uninit(&conn->scan);
    }
    free(conn->input);
    conn->input = NULL;
    conn->input_ofs = conn->input_len = 0;
    conn->message_len = 0;
}

static void
conn_forget_output(struct adp_control_conn *conn)
{
    ofpbuf_list_delete(&conn->output);
    adp_control_text_destroy(conn->text);
    conn->text = NULL;
    conn->output_len = conn->backlog_len = 0;
}

/* Destroys the first. */
static void
request_destroy(struct adp_control_conn *conn)
{
    struct adp_control_request *request = CONTAINER_OF(
        ovs_list_pop_front(&conn->requests), struct adp_control_request,
        node);

    conn->n_waiting--;
    conn->waiting_cost -= request->cost;
    jsonrpc_msg_destroy(request->msg);
    json_destroy(request->result);
    json_destroy(request->error);
    free(request);
}

void
adp_control_conn_destroy(struct adp_control_conn *conn)
{
    if (conn) {
        while (conn->n_waiting) {
            request_destroy(conn);
        }
        json_destroy(conn->last_words);
        conn_forget_input(conn);
        conn_forget_output(conn);
        stream_close(conn->stream);
        free(conn->name);
        free(conn);
    }
}

static void
conn_die(struct adp_control_conn *conn)
{
    conn->state = ADP_CONN_DEAD;
    conn_forget_input(conn);
    conn_forget_output(conn);
}

/* A connection that failed says why when all before it is answered. */
static void
conn_say_last_words(struct adp_control_conn *conn, long long int now)
{
    if (conn->last_words && !conn->n_waiting) {
        struct json *words = conn->last_words;

        conn->last_words = NULL;
        conn->last_input = now;
        adp_control_conn_send(conn, words, now);
    }
}

void
adp_control_conn_fail(struct adp_control_conn *conn, const struct json *id,
                      struct json *error, long long int now)
{
    if (conn->state != ADP_CONN_OPEN) {
        json_destroy(error);
        return;
    }

    /* A name that the client made up may make the message long. */
    VLOG_INFO_RL(&rl, "%s: %.200s", conn->name,
                 json_string(shash_find_data(json_object(error), "message")));
    conn->n_errors++;
    conn->state = ADP_CONN_CLOSING;
    conn->last_input = now;
    conn_forget_input(conn);
    conn->last_words = adp_control_reply(NULL, error, id);
    conn_say_last_words(conn, now);
}

/* Requests. */

struct adp_control_request *
adp_control_conn_add_request(struct adp_control_conn *conn,
                             struct jsonrpc_msg *msg)
{
    struct adp_control_request *request = xmalloc(sizeof *request);

    *request = (struct adp_control_request) {
        .msg = msg,
        .cost = conn->message_cost,
    };
    ovs_list_push_back(&conn->requests, &request->node);
    conn->n_waiting++;
    conn->waiting_cost += request->cost;
    return request;
}

void
adp_control_conn_pop_request(struct adp_control_conn *conn, long long int now)
{
    request_destroy(conn);
    conn_say_last_words(conn, now);
}

/* Output. */

static void
conn_update_backlog(struct adp_control_conn *conn)
{
    conn->backlog_len = (conn->output_len
                         + (conn->text ? adp_control_text_left(conn->text)
                            : 0));
}

/* Makes 'len' bytes of the reply, or what is left of it, ready to be sent. */
static void
conn_write(struct adp_control_conn *conn, size_t len)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (adp_control_text_put(conn->text, &ds, len)) {
        ds_put_char(&ds, '\n');
        adp_control_text_destroy(conn->text);
        conn->text = NULL;
    }
    conn->output_len += ds.length;
    if (!ovs_list_is_empty(&conn->output)
        && conn->output_len <= OUTPUT_LEN) {
        ofpbuf_put(ofpbuf_from_list(ovs_list_back(&conn->output)),
                   ds_cstr(&ds), ds.length);
        ds_destroy(&ds);
    } else {
        struct ofpbuf *buf = xmalloc(sizeof *buf);

        ofpbuf_use_ds(buf, &ds);
        ovs_list_push_back(&conn->output, &buf->list_node);
    }
}

/* Sends what is in 'conn->output'.  Returns false if the client must read
 * first, or has gone. */
static bool
conn_send_output(struct adp_control_conn *conn, long long int now)
{
    while (!ovs_list_is_empty(&conn->output)) {
        struct ofpbuf *buf = ofpbuf_from_list(conn->output.next);
        int retval = stream_send(conn->stream, buf->data, buf->size);

        if (retval < 0) {
            if (retval != -EAGAIN) {
                VLOG_DBG("%s: send: %s", conn->name, ovs_strerror(-retval));
                conn_die(conn);
            }
            return false;
        }

        conn->n_tx_bytes += retval;
        conn->output_len -= retval;
        conn->last_output = now;
        ofpbuf_pull(buf, retval);
        if (!buf->size) {
            ovs_list_remove(&buf->list_node);
            ofpbuf_delete(buf);
        }
    }
    return true;
}

static void
conn_flush(struct adp_control_conn *conn, long long int now, size_t *budget)
{
    while (conn_send_output(conn, now) && conn->text && *budget) {
        size_t len = MIN(*budget, OUTPUT_LEN);

        conn_write(conn, len);
        *budget -= len;
    }
    conn_update_backlog(conn);
}

bool
adp_control_conn_put(struct adp_control_conn *conn, struct json *json,
                     long long int now)
{
    if (conn->state == ADP_CONN_DEAD) {
        json_destroy(json);
        return false;
    }

    if (conn->text) {
        /* What came before comes first. */
        conn_write(conn, SIZE_MAX / 2);
    }
    if (!conn->output_len) {
        conn->last_output = now;
    }
    conn->text = adp_control_text_create(json);
    conn_write(conn, OUTPUT_LEN);
    return !conn->text && conn->output_len < OUTPUT_LEN;
}

void
adp_control_conn_flush(struct adp_control_conn *conn, long long int now)
{
    size_t budget = 0;

    if (conn->state != ADP_CONN_DEAD) {
        conn_flush(conn, now, &budget);
    }
}

void
adp_control_conn_send(struct adp_control_conn *conn, struct json *json,
                      long long int now)
{
    adp_control_conn_put(conn, json, now);
    adp_control_conn_flush(conn, now);
}

/* Input. */

static bool
is_json_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool
adp_control_conn_has_input(const struct adp_control_conn *conn)
{
    return conn->input_ofs < conn->input_len;
}

size_t
adp_control_conn_pending_cost(const struct adp_control_conn *conn)
{
    return (conn->parser
            ? conn->message_len + conn->scan.n_values * VALUE_COST
            : 0);
}

void
adp_control_conn_excuse(struct adp_control_conn *conn, long long int now)
{
    conn->message_start += now - conn->last_input;
    conn->staged_since += now - conn->last_input;
    conn->last_input = now;
}

void
adp_control_conn_set_staged(struct adp_control_conn *conn, uint64_t cost,
                            long long int now)
{
    if (!conn->staged_cost) {
        conn->staged_since = now;
    }
    conn->staged_cost = cost;
}

/* Makes '*budget' bytes or fewer available in 'conn->input'.  Returns false
 * if there are none. */
static bool
conn_fill(struct adp_control_conn *conn, long long int now, size_t *budget)
{
    if (adp_control_conn_has_input(conn)) {
        return true;
    }
    conn->input_ofs = conn->input_len = 0;
    if (conn->eof || !*budget) {
        return false;
    }

    if (!conn->input) {
        conn->input = xmalloc(INPUT_LEN);
    }
    int retval = stream_recv(conn->stream, conn->input,
                             MIN(*budget, INPUT_LEN));
    if (retval > 0) {
        *budget -= retval;
        conn->n_rx_bytes += retval;
        conn->input_len = retval;
        conn->last_input = now;
    } else if (!retval) {
        conn->eof = true;
    } else if (retval != -EAGAIN) {
        VLOG_DBG("%s: receive: %s", conn->name, ovs_strerror(-retval));
        conn_die(conn);
    }

    if (conn->input_len) {
        return true;
    }
    if (!conn->parser) {
        /* Idle clients take no buffer. */
        free(conn->input);
        conn->input = NULL;
    }
    return false;
}

static void
conn_begin_message(struct adp_control_conn *conn, long long int now)
{
    conn->parser = json_parser_create(0);
    adp_control_scan_init(&conn->scan);
    conn->message_len = 0;
    conn->message_start = now;
}

/* Ends the message: returns it, or NULL after a failure. */
static struct json *
conn_end_message(struct adp_control_conn *conn, long long int now,
                 char **duplicatep)
{
    conn->message_cost = adp_control_conn_pending_cost(conn);
    struct json *json = json_parser_finish(conn->parser);

    conn->parser = NULL;
    *duplicatep = conn->scan.duplicate;
    conn->scan.duplicate = NULL;
    adp_control_scan_uninit(&conn->scan);
    conn->message_len = 0;

    if (json->type == JSON_STRING) {
        /* The parser says what is wrong.  (A message proper is no string: it
         * takes only objects and arrays.) */
        free(*duplicatep);
        *duplicatep = NULL;
        adp_control_conn_fail(conn, NULL,
                              adp_control_error("syntax", NULL, "%s",
                                                json_string(json)), now);
        json_destroy(json);
        return NULL;
    }
    return json;
}

/* Fails the connection if the message under way can't be accepted. */
static void
conn_check_message(struct adp_control_conn *conn, long long int now)
{
    const struct adp_control_limits *limits = conn->limits;
    struct json *error = NULL;

    if (conn->message_len > limits->max_message_len) {
        error = adp_control_error("limit", NULL, "message is longer than "
                                  "%"PRIuSIZE" bytes",
                                  limits->max_message_len);
    } else if (conn->scan.n_values > limits->max_values) {
        error = adp_control_error("limit", NULL, "message holds more than "
                                  "%"PRIuSIZE" values", limits->max_values);
    } else if (conn->scan.max_depth > limits->max_depth) {
        error = adp_control_error("limit", NULL, "message nests deeper than "
                                  "%"PRIuSIZE" levels", limits->max_depth);
    } else if (conn->scan.bad_utf8) {
        error = adp_control_error("syntax", NULL, "message isn't UTF-8");
    }
    if (error) {
        adp_control_conn_fail(conn, NULL, error, now);
    }
}

/* Parses what is in 'conn->input', up to the end of a message. */
static struct json *
conn_parse(struct adp_control_conn *conn, long long int now,
           char **duplicatep)
{
    while (!conn->parser && adp_control_conn_has_input(conn)) {
        if (is_json_space(conn->input[conn->input_ofs])) {
            conn->input_ofs++;
        } else {
            conn_begin_message(conn, now);
        }
    }
    if (!conn->parser) {
        return NULL;
    }

    const char *data = conn->input + conn->input_ofs;
    size_t used = json_parser_feed(conn->parser, data,
                                   conn->input_len - conn->input_ofs);
    adp_control_scan_feed(&conn->scan, data, used);
    conn->input_ofs += used;
    conn->message_len += used;

    conn_check_message(conn, now);
    return (conn->state == ADP_CONN_OPEN && json_parser_is_done(conn->parser)
            ? conn_end_message(conn, now, duplicatep)
            : NULL);
}

/* Throws away what a client sends that failed. */
static void
conn_discard(struct adp_control_conn *conn, long long int now, size_t *budget)
{
    while (conn->state == ADP_CONN_CLOSING && conn_fill(conn, now, budget)) {
        conn->discarded_len += conn->input_len;
        conn->input_ofs = conn->input_len;
    }
}

struct json *
adp_control_conn_receive(struct adp_control_conn *conn, long long int now,
                         size_t *budget, char **duplicatep)
{
    *duplicatep = NULL;
    if (conn->state == ADP_CONN_CLOSING) {
        conn_discard(conn, now, budget);
        return NULL;
    }

    while (conn->state == ADP_CONN_OPEN && !conn->backlog_len
           && conn_fill(conn, now, budget)) {
        struct json *json = conn_parse(conn, now, duplicatep);
        if (json) {
            return json;
        }
    }

    if (conn->state == ADP_CONN_OPEN && conn->eof && conn->parser
        && !adp_control_conn_has_input(conn)) {
        adp_control_conn_fail(conn, NULL,
                              adp_control_error("syntax", NULL, "connection "
                                                "ended in the middle of a "
                                                "message"), now);
    }
    return NULL;
}

/* The clock. */

static void
conn_check_clock(struct adp_control_conn *conn, long long int now)
{
    const struct adp_control_limits *limits = conn->limits;
    struct json *error = NULL;

    if (conn->backlog_len) {
        if (now - conn->last_output >= limits->max_unread_ms) {
            VLOG_WARN_RL(&rl, "%s: disconnected, %"PRIuSIZE" bytes of replies "
                         "unread for %lld s", conn->name, conn->backlog_len,
                         (now - conn->last_output) / 1000);
            conn_die(conn);
        } else {
            /* We don't read either, as long as the client doesn't. */
            adp_control_conn_excuse(conn, now);
        }
    } else if (conn->parser || conn->staged_cost) {
        if (now - conn->last_input >= limits->max_silence_ms) {
            error = adp_control_error("limit", NULL, "silence of %lld s in "
                                      "the middle of a %s",
                                      limits->max_silence_ms / 1000,
                                      (conn->parser ? "message"
                                       : "staged transaction"));
        } else if (conn->parser
                   && (now - conn->message_start
                       >= limits->max_message_ms)) {
            error = adp_control_error("limit", NULL, "message took more than "
                                      "%lld s", limits->max_message_ms / 1000);
        } else if (conn->staged_cost
                   && now - conn->staged_since >= limits->max_staged_ms) {
            error = adp_control_error("limit", NULL, "staged transaction took "
                                      "more than %lld s",
                                      limits->max_staged_ms / 1000);
        }
        if (error) {
            adp_control_conn_fail(conn, NULL, error, now);
        }
    }
}

static bool
conn_is_finished(const struct adp_control_conn *conn, long long int now)
{
    if (conn->backlog_len || conn->n_waiting) {
        return false;
    }
    return (conn->state == ADP_CONN_OPEN
            ? conn->eof && !adp_control_conn_has_input(conn)
            : (conn->eof
               || conn->discarded_len > conn->limits->max_message_len
               || now - conn->last_input >= LINGER_MS));
}

void
adp_control_conn_run(struct adp_control_conn *conn, long long int now,
                     size_t *budget)
{
    if (conn->state != ADP_CONN_DEAD) {
        stream_run(conn->stream);
        conn_flush(conn, now, budget);
    }
    if (conn->state != ADP_CONN_DEAD) {
        conn_check_clock(conn, now);
    }
    if (conn->state != ADP_CONN_DEAD && !conn->parser
        && conn_is_finished(conn, now)) {
        conn_die(conn);
    }
}

void
adp_control_conn_wait(const struct adp_control_conn *conn, bool may_receive)
{
    const struct adp_control_limits *limits = conn->limits;

    stream_run_wait(conn->stream);
    if (conn->state == ADP_CONN_DEAD) {
        poll_immediate_wake();
    }
    if (conn->backlog_len) {
        stream_send_wait(conn->stream);
        poll_timer_wait_until(conn->last_output + limits->max_unread_ms);
    }
    if (conn->state == ADP_CONN_CLOSING) {
        if (!conn->eof) {
            stream_recv_wait(conn->stream);
        }
        if (!conn->backlog_len && !conn->n_waiting) {
            poll_timer_wait_until(conn->last_input + LINGER_MS);
        }
    } else if (!conn->backlog_len && may_receive) {
        if (adp_control_conn_has_input(conn)
            || (conn->eof && !conn->n_waiting)) {
            poll_immediate_wake();
        } else if (!conn->eof) {
            stream_recv_wait(conn->stream);
        }
        if (conn->parser) {
            poll_timer_wait_until(conn->message_start
                                  + limits->max_message_ms);
        }
        if (conn->staged_cost) {
            poll_timer_wait_until(conn->staged_since + limits->max_staged_ms);
        }
        if (conn->parser || conn->staged_cost) {
            poll_timer_wait_until(conn->last_input + limits->max_silence_ms);
        }
    }
}

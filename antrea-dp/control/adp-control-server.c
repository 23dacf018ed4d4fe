/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-control-text.h"
#include "jsonrpc.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "stream.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_control_server);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* One turn. */
#define TURN_ACCEPTS 16
#define TURN_INPUT_LEN (1024 * 1024)        /* All clients. */
#define TURN_CLIENT_INPUT_LEN (256 * 1024)  /* One client. */
#define TURN_OUTPUT_LEN (1024 * 1024)       /* All clients, as text. */
#define TURN_CLIENT_REQUESTS 64             /* One client. */
#define TURN_REQUESTS_MS 20                 /* All clients. */

/* Requests of one client that were begun, and what they take: beyond that the
 * next one isn't looked at. */
#define MAX_WAITING 64
#define MAX_WAITING_COST (256 * 1024)

/* What is smaller than this never waits for others. */
#define SMALL_LEN (64 * 1024)

/* Clients beyond the limit that are kept for as long as it takes to tell them
 * so.  Those beyond that are just closed. */
#define MAX_REFUSED 64

/* How long to leave the listener alone after it failed, e.g. for lack of file
 * descriptors: it would wake us at once again. */
#define ACCEPT_RETRY_MS 1000

struct adp_control_server {
    struct pstream *listener;
    const struct adp_control_limits *limits;
    const struct adp_control_server_ops *ops;
    void *aux;

    struct ovs_list conns;      /* The next to be served first. */
    size_t n_conns;
    long long int accept_again; /* Leave the listener alone until then. */

    /* Totals of the turn. */
    size_t pending_cost;
    size_t backlog_len;
    uint64_t staged_cost;
    const struct adp_control_conn *oldest; /* Of the big messages. */

    /* Statistics. */
    uint64_t n_accepted, n_refused;
    uint64_t n_rx_bytes, n_tx_bytes; /* Of clients that are gone. */
    uint64_t n_requests, n_errors;
};

static struct adp_control_request *
first_request(const struct adp_control_conn *conn)
{
    return CONTAINER_OF(ovs_list_front(&conn->requests),
                        struct adp_control_request, node);
}

static struct adp_control_request *
last_request(const struct adp_control_conn *conn)
{
    return CONTAINER_OF(ovs_list_back(&conn->requests),
                        struct adp_control_request, node);
}

struct adp_control_server *
adp_control_server_create(struct pstream *listener,
                          const struct adp_control_limits *limits,
                          const struct adp_control_server_ops *ops, void *aux)
{
    struct adp_control_server *server = xzalloc(sizeof *server);

    server->listener = listener;
    server->limits = limits;
    server->ops = ops;
    server->aux = aux;
    ovs_list_init(&server->conns);
    return server;
}

/* Forgets the client's first request, which must be there. */
static void
server_forget(struct adp_control_server *server, struct adp_control_conn *conn,
              long long int now)
{
    server->ops->forget(conn, first_request(conn), server->aux);
    adp_control_conn_pop_request(conn, now);
}

static void
server_close(struct adp_control_server *server, struct adp_control_conn *conn)
{
    conn->state = ADP_CONN_DEAD;        /* It hears nothing any more. */
    while (conn->n_waiting) {
        server_forget(server, conn, 0);
    }
    server->ops->closed(conn, server->aux);
    server->n_rx_bytes += conn->n_rx_bytes;
    server->n_tx_bytes += conn->n_tx_bytes;
    server->n_requests += conn->n_requests;
    server->n_errors += conn->n_errors;
    server->n_conns--;
    ovs_list_remove(&conn->node);
    adp_control_conn_destroy(conn);
}

void
adp_control_server_destroy(struct adp_control_server *server)
{
    if (server) {
        struct adp_control_conn *conn;

        LIST_FOR_EACH_SAFE (conn, node, &server->conns) {
            server_close(server, conn);
        }
        pstream_close(server->listener);
        free(server);
    }
}

size_t
adp_control_server_n_clients(const struct adp_control_server *server)
{
    return server->n_conns;
}

/* New clients. */

static void
server_add(struct adp_control_server *server, struct stream *stream,
           long long int now)
{
    struct adp_control_conn *conn;

    if (server->n_conns >= server->limits->max_clients + MAX_REFUSED) {
        server->n_refused++;
        stream_close(stream);
        return;
    }

    conn = adp_control_conn_create(stream, server->limits, now);
    ovs_list_push_back(&server->conns, &conn->node);
    if (++server->n_conns > server->limits->max_clients) {
        server->n_refused++;
        adp_control_conn_fail(conn, NULL,
                              adp_control_error("limit", NULL, "more than "
                                                "%"PRIuSIZE" clients",
                                                server->limits->max_clients),
                              now);
    } else {
        server->n_accepted++;
    }
}

static void
server_accept(struct adp_control_server *server, long long int now)
{
    if (now < server->accept_again) {
        return;
    }

    for (int i = 0; i < TURN_ACCEPTS; i++) {
        struct stream *stream;
        int error = pstream_accept(server->listener, &stream);

        if (error == EAGAIN) {
            break;
        } else if (error) {
            VLOG_WARN_RL(&rl, "%s: accept: %s",
                         pstream_get_name(server->listener),
                         ovs_strerror(error));
            server->accept_again = now + ACCEPT_RETRY_MS;
            break;
        }
        server_add(server, stream, now);
    }
}

/* Requests. */

/* So many replies are unread that only small ones may be added. */
static bool
server_is_clogged(const struct adp_control_server *server)
{
    return server->backlog_len > server->limits->max_backlog_len;
}

static bool
is_small(struct json *result)
{
    struct adp_control_text *text
        = adp_control_text_create(json_clone(result));
    struct ds s = DS_EMPTY_INITIALIZER;
    bool small = (adp_control_text_put(text, &s, SMALL_LEN)
                  && s.length <= SMALL_LEN);

    adp_control_text_destroy(text);
    ds_destroy(&s);
    return small;
}

/* Has the owner look at a request that isn't done. */
static void
server_ask(struct adp_control_server *server, struct adp_control_conn *conn,
           struct adp_control_request *request)
{
    request->result = server->ops->request(conn, request, &request->error,
                                           server->aux);
    request->done = request->result || request->error;
    if (request->result && server_is_clogged(server)
        && !is_small(request->result)) {
        json_destroy(request->result);
        request->result = NULL;
        request->error = adp_control_error("limit", NULL, "too many replies "
                                           "are waiting for clients to read "
                                           "them");
    }
}

/* Queues the answer to the client's first request, which is done.  Returns
 * false if it is to be sent before another one. */
static bool
server_reply(struct adp_control_server *server, struct adp_control_conn *conn,
             long long int now)
{
    struct adp_control_request *request = first_request(conn);
    struct json *reply = adp_control_reply(request->result, request->error,
                                           request->msg->id);

    conn->n_requests++;
    conn->n_errors += request->error != NULL;
    request->result = request->error = NULL;

    bool more = adp_control_conn_put(conn, reply, now);
    server_forget(server, conn, now);
    return more;
}

/* Has the owner look at what the client waits for, and answers what is done,
 * from the first request on.  Small answers go together. */
static void
server_answer(struct adp_control_server *server,
              struct adp_control_conn *conn, long long int now)
{
    bool answered = false, more = !conn->backlog_len;

    while (conn->n_waiting && more && conn->state != ADP_CONN_DEAD) {
        struct adp_control_request *request = first_request(conn);

        if (!request->done) {
            server_ask(server, conn, request);
        }
        if (!request->done) {
            break;
        }
        more = server_reply(server, conn, now);
        answered = true;
    }
    if (answered) {
        adp_control_conn_flush(conn, now);
        server->backlog_len += conn->backlog_len;
    }
    if (conn->n_waiting > 1) {
        struct adp_control_request *request = last_request(conn);

        if (!request->done && !request->begun) {
            server_ask(server, conn, request);
        }
    }
}

/* May another one be looked at? */
static bool
may_go_on(const struct adp_control_conn *conn)
{
    return (!conn->n_waiting
            || ((last_request(conn)->begun || last_request(conn)->done)
                && conn->n_waiting < MAX_WAITING
                && conn->waiting_cost < MAX_WAITING_COST));
}

/* Takes 'json'. */
static void
server_handle_message(struct adp_control_server *server,
                      struct adp_control_conn *conn, struct json *json,
                      const char *duplicate, long long int now)
{
    struct json *id = NULL;
    struct jsonrpc_msg *msg;

    if (json->type == JSON_OBJECT) {
        id = json_nullable_clone(shash_find_data(json_object(json), "id"));
    }

    char *reason = jsonrpc_msg_from_json(json, &msg);
    if (!reason && msg->type != JSONRPC_REQUEST
        && msg->type != JSONRPC_NOTIFY) {
        reason = xasprintf("unexpected %s message",
                           jsonrpc_msg_type_to_string(msg->type));
    }

    if (reason) {
        adp_control_conn_fail(conn, id, adp_control_error("syntax", NULL, "%s",
                                                          reason), now);
        free(reason);
    } else if (msg->type == JSONRPC_REQUEST) {
        struct adp_control_request *request
            = adp_control_conn_add_request(conn, msg);

        msg = NULL;
        if (duplicate) {
            request->error = adp_control_error("invalid", duplicate,
                                               "is given twice");
            request->done = true;
            server->ops->refused(conn, request, server->aux);
        }
        server_answer(server, conn, now);
    }
    jsonrpc_msg_destroy(msg);
    json_destroy(id);
}

/* Turns. */

/* Must 'conn' wait until others have finished their messages? */
static bool
server_holds_back(const struct adp_control_server *server,
                  const struct adp_control_conn *conn)
{
    return (server->pending_cost > server->limits->max_pending_cost
            && conn != server->oldest
            && adp_control_conn_pending_cost(conn) > SMALL_LEN);
}

static void
server_sum_up(struct adp_control_server *server)
{
    const struct adp_control_conn *conn;

    server->pending_cost = server->backlog_len = server->staged_cost = 0;
    server->oldest = NULL;
    LIST_FOR_EACH (conn, node, &server->conns) {
        size_t cost = adp_control_conn_pending_cost(conn);

        server->pending_cost += cost + conn->waiting_cost;
        server->backlog_len += conn->backlog_len;
        server->staged_cost += conn->staged_cost;
        if (cost > SMALL_LEN
            && (!server->oldest
                || conn->message_start < server->oldest->message_start)) {
            server->oldest = conn;
        }
    }
}

static void
server_serve(struct adp_control_server *server, struct adp_control_conn *conn,
             long long int now, long long int deadline, size_t *turn_budget)
{
    size_t granted = MIN(*turn_budget, TURN_CLIENT_INPUT_LEN);
    size_t budget = granted;

    server_answer(server, conn, now);
    if (!may_go_on(conn) || server_holds_back(server, conn)) {
        adp_control_conn_excuse(conn, now);
        return;
    }
    for (int i = 0; i < TURN_CLIENT_REQUESTS && time_msec() <= deadline
         && may_go_on(conn); i++) {
        char *duplicate;
        struct json *json = adp_control_conn_receive(conn, now, &budget,
                                                     &duplicate);
        if (!json) {
            break;
        }
        server_handle_message(server, conn, json, duplicate, now);
        free(duplicate);
    }
    *turn_budget -= granted - budget;
}

/* Has what clients began go on, and answers what is done then. */
static void
server_go_on(struct adp_control_server *server, long long int now)
{
    struct adp_control_conn *conn;

    server->ops->served(server->aux);
    LIST_FOR_EACH_SAFE (conn, node, &server->conns) {
        server_answer(server, conn, now);
        if (conn->state == ADP_CONN_DEAD) {
            server_close(server, conn);
        }
    }
}

void
adp_control_server_run(struct adp_control_server *server, long long int now)
{
    long long int deadline = time_msec() + TURN_REQUESTS_MS;
    struct ovs_list served = OVS_LIST_INITIALIZER(&served);
    struct adp_control_conn *conn;
    size_t budget = TURN_INPUT_LEN;
    size_t output_budget = TURN_OUTPUT_LEN;

    server_accept(server, now);
    server_sum_up(server);

    LIST_FOR_EACH_SAFE (conn, node, &server->conns) {
        bool has_turn = budget && output_budget && time_msec() <= deadline;

        adp_control_conn_run(conn, now, &output_budget);
        if (conn->state == ADP_CONN_OPEN && !conn->backlog_len) {
            server->ops->idle(conn, now, server->aux);
        }
        if (has_turn) {
            server_serve(server, conn, now, deadline, &budget);
            ovs_list_remove(&conn->node);
            ovs_list_push_back(&served, &conn->node);
        }
        if (conn->state == ADP_CONN_DEAD) {
            server_close(server, conn);
        }
    }

    /* Those who weren't served come first in the next turn. */
    ovs_list_push_back_all(&server->conns, &served);
    server_go_on(server, now);
    server_sum_up(server);
}

void
adp_control_server_wait(const struct adp_control_server *server)
{
    const struct adp_control_conn *conn;

    if (server->accept_again > time_msec()) {
        poll_timer_wait_until(server->accept_again);
    } else {
        pstream_wait(server->listener);
    }
    LIST_FOR_EACH (conn, node, &server->conns) {
        adp_control_conn_wait(conn, (may_go_on(conn)
                                     && !server_holds_back(server, conn)));
    }
}

/* Inspection. */

static const char *
conn_activity(const struct adp_control_server *server,
              const struct adp_control_conn *conn)
{
    return (conn->state != ADP_CONN_OPEN ? "closing"
            : conn->backlog_len ? "reply unread"
            : conn->n_waiting ? "waiting for an answer"
            : server_holds_back(server, conn) ? "held back"
            : conn->parser ? "in a message"
            : conn->staged_cost ? "in a staged transaction"
            : "idle");
}

void
adp_control_server_format(const struct adp_control_server *server,
                          long long int now, struct ds *s)
{
    const struct adp_control_limits *limits = server->limits;
    const struct adp_control_conn *conn;
    uint64_t n_requests = server->n_requests;
    uint64_t n_errors = server->n_errors;
    uint64_t n_rx_bytes = server->n_rx_bytes;
    uint64_t n_tx_bytes = server->n_tx_bytes;
    size_t output_len = 0;

    LIST_FOR_EACH (conn, node, &server->conns) {
        n_requests += conn->n_requests;
        n_errors += conn->n_errors;
        n_rx_bytes += conn->n_rx_bytes;
        n_tx_bytes += conn->n_tx_bytes;
        output_len += conn->output_len;
    }

    ds_put_format(s, "%s\n", pstream_get_name(server->listener));
    ds_put_format(s, "  clients: %"PRIuSIZE" (limit %"PRIuSIZE"), accepted "
                  "%"PRIu64", refused %"PRIu64"\n", server->n_conns,
                  limits->max_clients, server->n_accepted, server->n_refused);
    ds_put_format(s, "  requests: %"PRIu64", errors: %"PRIu64"\n",
                  n_requests, n_errors);
    ds_put_format(s, "  received: %"PRIu64" bytes, sent: %"PRIu64" bytes\n",
                  n_rx_bytes, n_tx_bytes);
    ds_put_format(s, "  messages under way: %"PRIuSIZE" bytes of memory "
                  "(limit %"PRIuSIZE")\n", server->pending_cost,
                  limits->max_pending_cost);
    ds_put_format(s, "  staged: %"PRIu64" bytes of memory (limit %"PRIu64
                  ")\n", server->staged_cost, limits->max_staged_cost);
    ds_put_format(s, "  unread replies: %"PRIuSIZE" bytes "
                  "(limit %"PRIuSIZE"), %"PRIuSIZE" of them made\n",
                  server->backlog_len, limits->max_backlog_len, output_len);
    ds_put_format(s, "  one message: limits %"PRIuSIZE" bytes, %"PRIuSIZE
                  " values, %"PRIuSIZE" levels, %lld s of silence\n",
                  limits->max_message_len, limits->max_values,
                  limits->max_depth, limits->max_silence_ms / 1000);
    LIST_FOR_EACH (conn, node, &server->conns) {
        ds_put_format(s, "client %s: %s, %"PRIu64" requests, %"PRIu64
                      " errors, received %"PRIu64" bytes, sent %"PRIu64
                      " bytes, unread %"PRIuSIZE" bytes, silent for %lld s\n",
                      conn->name, conn_activity(server, conn),
                      conn->n_requests, conn->n_errors, conn->n_rx_bytes,
                      conn->n_tx_bytes, conn->backlog_len,
                      (now - conn->last_input) / 1000);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_CONN_H
#define ADP_CONTROL_CONN_H 1

/* One client of the control socket: JSON messages in, JSON messages out.
 *
 * This is what upstream's "struct jsonrpc" does, with bounds that a daemon
 * needs which must not stumble over its clients:
 *
 *   - A message has a largest size, number of values and depth, a longest
 *     silence and a longest time to arrive.  So has a sequence of messages
 *     that belong together (adp-control-stage.h).
 *
 *   - Input is read and parsed, and replies are made into text, in portions
 *     that the caller grants.
 *
 *   - While a reply waits for the client to read it, no further message is
 *     taken, so that at most one reply is kept, of which little is text
 *     (adp-control-text.h); a client that takes nothing of it for too long is
 *     disconnected.
 *
 *   - Requests that the owner can't answer yet stand in a list, in the order
 *     in which they are to be answered; the owner bounds it.
 *
 *   - A connection that failed says why, once those requests are answered: an
 *     error reply is sent, and what the client still sends is thrown away for
 *     a moment, because closing at once would break the client's send before
 *     it reads the reply.
 *
 * Errors are JSON objects in the form that docs/control-socket.md gives.
 *
 * Time comes in as 'now', in the milliseconds of time_msec().
 *
 * Thread-safety: none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "adp-control-scan.h"
#include "openvswitch/list.h"

struct adp_control_text;
struct json;
struct jsonrpc_msg;
struct stream;

struct adp_control_limits {
    /* One message. */
    size_t max_message_len;
    size_t max_values;          /* Values and member names in it. */
    size_t max_depth;
    long long int max_silence_ms; /* In the middle of it. */
    long long int max_message_ms; /* From its first byte to its last. */

    /* Messages that the owner keeps for a later one; max_silence_ms is also
     * for the time between them. */
    uint64_t max_staged_cost;   /* Of all clients together. */
    long long int max_staged_ms; /* From the first to the last. */

    /* Replies. */
    long long int max_unread_ms; /* Without a byte of a reply taken. */

    /* All clients together. */
    size_t max_clients;
    size_t max_pending_cost;    /* adp_control_conn_pending_cost(). */
    size_t max_backlog_len;     /* Replies that wait to be read. */
};
#define ADP_CONTROL_LIMITS_DEFAULT {                \
        .max_message_len = 64 * 1024 * 1024,        \
        .max_values = 4000000,                      \
        .max_depth = 100,                           \
        .max_silence_ms = 30 * 1000,                \
        .max_message_ms = 300 * 1000,               \
        .max_staged_cost = 4ULL << 30,              \
        .max_staged_ms = 600 * 1000,                \
        .max_unread_ms = 30 * 1000,                 \
        .max_clients = 256,                         \
        .max_pending_cost = 1024 * 1024 * 1024,     \
        .max_backlog_len = 256 * 1024 * 1024,       \
    }

enum adp_control_conn_state {
    ADP_CONN_OPEN,
    ADP_CONN_CLOSING,           /* A last reply is on its way out. */
    ADP_CONN_DEAD,              /* To be destroyed. */
};

/* One that isn't answered yet. */
struct adp_control_request {
    struct ovs_list node;       /* In its connection's 'requests'. */
    struct jsonrpc_msg *msg;
    size_t cost;                /* Heap that it takes, estimated. */
    void *aux;                  /* For the owner, who frees it. */

    bool begun;                 /* Others may be begun behind it. */
    bool done;                  /* This is its answer, when its turn comes: */
    struct json *result, *error;
};

struct adp_control_conn {
    struct ovs_list node;       /* For the owner. */
    void *aux;                  /* For the owner. */

    struct stream *stream;
    char *name;
    const struct adp_control_limits *limits;
    enum adp_control_conn_state state;
    bool eof;                   /* The client sends no more. */

    /* Input. */
    char *input;                /* Bytes read and not yet parsed. */
    size_t input_ofs, input_len;
    struct json_parser *parser; /* NULL between messages. */
    struct adp_control_scan scan; /* Initialized while 'parser' is. */
    size_t message_len;         /* Bytes of the message so far. */
    long long int message_start; /* When its first byte came. */
    long long int last_input;   /* When the last byte came. */
    size_t discarded_len;       /* Thrown away since it began to close. */
    size_t message_cost;        /* Of the last whole message, as below. */
    struct ovs_list requests;   /* "struct adp_control_request"s. */
    size_t n_waiting;           /* Of these, */
    size_t waiting_cost;        /* and what they take. */
    struct json *last_words;    /* The reply after theirs, if it has failed. */

    /* What the owner keeps of earlier messages for a later one. */
    uint64_t staged_cost;       /* 0: nothing. */
    long long int staged_since; /* When the first of it came. */

    /* Output. */
    struct ovs_list output;     /* Contains "struct ofpbuf"s. */
    size_t output_len;          /* Bytes in 'output'. */
    struct adp_control_text *text; /* The rest of the reply.  NULL: nothing. */
    size_t backlog_len;         /* 'output_len', and an estimate of the rest.
                                 * 0: the client has read everything. */
    long long int last_output;  /* When the client last took some. */

    /* Statistics. */
    uint64_t n_rx_bytes, n_tx_bytes;
    uint64_t n_requests, n_errors;
};

/* Takes 'stream'. */
struct adp_control_conn *adp_control_conn_create(
    struct stream *, const struct adp_control_limits *, long long int now);
void adp_control_conn_destroy(struct adp_control_conn *);

/* Sends what can be sent, and looks at the clock.  Makes up to '*budget' bytes
 * of text, which it reduces, and a piece more. */
void adp_control_conn_run(struct adp_control_conn *, long long int now,
                          size_t *budget);
/* Arranges for the poll loop to wake up when there is something to do.  With
 * 'may_receive' that includes taking a message. */
void adp_control_conn_wait(const struct adp_control_conn *, bool may_receive);

/* Reads and parses up to '*budget' bytes, which it reduces.  Returns a whole
 * message if one is complete, otherwise NULL.  '*duplicatep' becomes NULL or
 * the path of a member that occurs twice; the caller frees it.
 *
 * Takes nothing while a reply waits. */
struct json *adp_control_conn_receive(struct adp_control_conn *,
                                      long long int now, size_t *budget,
                                      char **duplicatep);
/* True if the next receive needs no more bytes of the client to get on. */
bool adp_control_conn_has_input(const struct adp_control_conn *);
/* To be called in place of receive, when the caller makes the client wait, so
 * that it isn't blamed for the time. */
void adp_control_conn_excuse(struct adp_control_conn *, long long int now);
/* An estimate of the heap that the message under way takes. */
size_t adp_control_conn_pending_cost(const struct adp_control_conn *);

/* Tells how much heap the owner keeps of the client's messages. */
void adp_control_conn_set_staged(struct adp_control_conn *, uint64_t cost,
                                 long long int now);

/* Queues 'json', which it takes, and sends what can be sent of its
 * beginning. */
void adp_control_conn_send(struct adp_control_conn *, struct json *json,
                           long long int now);
/* The same without sending: several small ones go together, with the next
 * adp_control_conn_flush(), or whatever is sent next.  Returns false if it is
 * to be called before another one is queued. */
bool adp_control_conn_put(struct adp_control_conn *, struct json *json,
                          long long int now);
void adp_control_conn_flush(struct adp_control_conn *, long long int now);
/* Puts a request of the last message, 'msg', which it takes, behind those that
 * wait. */
struct adp_control_request *adp_control_conn_add_request(
    struct adp_control_conn *, struct jsonrpc_msg *msg);
/* The first of those that wait, which there must be, is answered, or no answer
 * is needed any more.  What 'aux' points to the owner has freed. */
void adp_control_conn_pop_request(struct adp_control_conn *,
                                  long long int now);

/* Sends an error reply (taking 'error') and closes.  'id' may be NULL. */
void adp_control_conn_fail(struct adp_control_conn *, const struct json *id,
                           struct json *error, long long int now);

/* Forms of messages.  All take what they are given, except 'id'. */
struct json *adp_control_error(const char *code, const char *field,
                               const char *format, ...)
    OVS_PRINTF_FORMAT(3, 4);
struct json *adp_control_reply(struct json *result, struct json *error,
                               const struct json *id);

#endif /* adp-control-conn.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_SERVER_H
#define ADP_CONTROL_SERVER_H 1

/* A JSON-RPC 1.0 server for many clients in somebody else's main loop.
 *
 * Each turn reads a bounded number of bytes and handles requests for a bounded
 * time, beginning with the client after the one where the last turn ended.
 * One request is the unit: a turn doesn't end in the middle of it.
 *
 * Clients can't exhaust memory together, either: past a total of messages
 * under way only the oldest of the big ones goes on, the others wait; past a
 * total of unread replies, a big reply becomes an error.
 *
 * Replies come in the order of requests.  One that can't be answered yet is
 * asked again each turn; if the owner says that it has begun, the client's
 * next one is looked at meanwhile.  So many of them may wait for each client
 * (MAX_WAITING, MAX_WAITING_COST), and what they take counts among the
 * messages under way.  Notifications from clients are ignored.
 *
 * Links with libopenvswitch alone.
 *
 * Thread-safety: none.
 */

#include "adp-control-conn.h"

struct adp_control_server;
struct ds;
struct pstream;

struct adp_control_server_ops {
    /* A request, whose parameters are an array.  Returns the result, or NULL
     * and sets '*errorp'; if to NULL, it is called again at the end of the
     * turn and in the next ones, and who makes it wait must wake the main
     * loop.  If it sets 'begun', the client's next request may be called
     * before this one is answered.  'conn->aux' and 'aux' of the request are
     * free to use. */
    struct json *(*request)(struct adp_control_conn *conn,
                            struct adp_control_request *,
                            struct json **errorp, void *aux);
    /* A request that is wrong: it gets an error, and isn't called. */
    void (*refused)(struct adp_control_conn *conn,
                    const struct adp_control_request *, void *aux);
    /* All clients have had their turn: what was begun may go on. */
    void (*served)(void *aux);
    /* The request is answered, or its client has gone. */
    void (*forget)(struct adp_control_conn *conn,
                   struct adp_control_request *, void *aux);

    /* Called each turn for a client that has read everything: the place to
     * send notifications. */
    void (*idle)(struct adp_control_conn *conn, long long int now, void *aux);

    /* 'conn' is about to go. */
    void (*closed)(struct adp_control_conn *conn, void *aux);
};

/* Takes 'listener'.  'limits', 'ops' and 'aux' must outlive the server. */
struct adp_control_server *adp_control_server_create(
    struct pstream *listener, const struct adp_control_limits *limits,
    const struct adp_control_server_ops *ops, void *aux);
void adp_control_server_destroy(struct adp_control_server *);

void adp_control_server_run(struct adp_control_server *, long long int now);
void adp_control_server_wait(const struct adp_control_server *);

/* Clients, what they sent and got, and the limits, for people. */
void adp_control_server_format(const struct adp_control_server *,
                               long long int now, struct ds *);
/* Unit tests. */
size_t adp_control_server_n_clients(const struct adp_control_server *);

#endif /* adp-control-server.h */

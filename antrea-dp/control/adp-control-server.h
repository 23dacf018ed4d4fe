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
 * A request gets its reply before the next request of that client is looked
 * at; one that can't be answered yet is asked again each turn.  So not more
 * than one of each client waits, and what these take counts among the messages
 * under way.  Notifications from clients are ignored.
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
    /* A request.  'params' is an array.  Returns the result, or NULL and sets
     * '*errorp'; if to NULL, it is called again with the same parameters in
     * the next turn, and who makes it wait must wake the main loop.
     * 'conn->aux' is free to use. */
    struct json *(*request)(struct adp_control_conn *conn, const char *method,
                            const struct json *params, struct json **errorp,
                            void *aux);

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

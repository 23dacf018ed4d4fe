/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_RPC_H
#define DPCTL_RPC_H 1

/* Calls over JSON-RPC with a deadline: to the control socket, and to OVSDB.
 *
 * Upstream's jsonrpc gives up a connection whose server says what is wrong
 * with a request without its ID, or while it is being sent; this one passes on
 * what the server says.
 *
 * A result is the caller's to destroy.  Errors tell "couldn't reach it" from
 * "it refused", since the exit status does. */

#include <stdbool.h>
#include "openvswitch/json.h"

struct dpctl_rpc;

struct dpctl_rpc_error {
    bool unreachable;           /* No connection, or no answer in time. */
    char *code;                 /* The server's, e.g. "conflict"; or NULL. */
    char *object;               /* "KIND NAME" of a record, or NULL. */
    char *message;
};

void dpctl_rpc_error_destroy(struct dpctl_rpc_error *);

/* 'name' is a path or a stream name ("unix:PATH", "tcp:IP:PORT").
 * 'timeout_s' is for connecting, and how long a call may go on without that a
 * byte is sent or received; 0 means for ever. */
struct dpctl_rpc_error *dpctl_rpc_open(const char *name, int timeout_s,
                                       struct dpctl_rpc **);
void dpctl_rpc_close(struct dpctl_rpc *);

/* Between calls: says why the server is gone, if it is, the caller's to free;
 * and has the poll loop wake up when it goes. */
char *dpctl_rpc_check(struct dpctl_rpc *);
void dpctl_rpc_wait(struct dpctl_rpc *);

/* Has a notification come, be it during a call or a check, since this was last
 * asked? */
bool dpctl_rpc_take_notification(struct dpctl_rpc *);

/* Takes 'params' (an array). */
struct dpctl_rpc_error *dpctl_rpc_call(struct dpctl_rpc *, const char *method,
                                       struct json *params,
                                       struct json **result);

#endif /* dpctl-rpc.h */

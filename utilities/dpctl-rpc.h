/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_RPC_H
#define DPCTL_RPC_H 1

/* Calls over JSON-RPC with a deadline: to the control socket, and to OVSDB.
 *
 * A result is the caller's to destroy.  Errors tell "couldn't reach it" from
 * "it refused", since the exit status does. */

#include <stdbool.h>
#include "openvswitch/json.h"

struct dpctl_rpc;

struct dpctl_rpc_error {
    bool unreachable;           /* No connection, or no answer in time. */
    char *code;                 /* The server's, e.g. "conflict"; or NULL. */
    char *message;
};

void dpctl_rpc_error_destroy(struct dpctl_rpc_error *);

/* 'name' is a path or a stream name ("unix:PATH", "tcp:IP:PORT").
 * 'timeout_s' is for connecting and for each call; 0 means for ever. */
struct dpctl_rpc_error *dpctl_rpc_open(const char *name, int timeout_s,
                                       struct dpctl_rpc **);
void dpctl_rpc_close(struct dpctl_rpc *);

/* Takes 'params' (an array).  Refuses a message above 'max_len' bytes, if that
 * isn't 0. */
struct dpctl_rpc_error *dpctl_rpc_call(struct dpctl_rpc *, const char *method,
                                       struct json *params, size_t max_len,
                                       struct json **result);

#endif /* dpctl-rpc.h */

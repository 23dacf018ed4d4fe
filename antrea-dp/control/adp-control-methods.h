/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_METHODS_H
#define ADP_CONTROL_METHODS_H 1

/* The methods of the control socket, as docs/control-socket.md has them.
 *
 * A method takes its parameters from a "struct adp_control_call", which checks
 * them, and returns a result or leaves an error in the call.
 *
 * Thread-safety: none, main thread.
 */

#include <stdint.h>
#include "openvswitch/json.h"

struct adp_control_session;
struct adp_control_stage_pool;
struct adp_control_transaction;

/* What one client watches, and what it sent ahead.  The pool bounds the latter
 * for all clients, and must outlive the session. */
struct adp_control_session *adp_control_session_create(
    struct adp_control_stage_pool *);
void adp_control_session_destroy(struct adp_control_session *);
/* Returns the parameters of an "update" notification if something that the
 * client watches has changed, otherwise NULL. */
struct json *adp_control_session_run(struct adp_control_session *);
/* An estimate of the heap that the client's stage takes; 0 if it is empty. */
uint64_t adp_control_session_staged_cost(const struct adp_control_session *);

/* Calls 'method'.  'params' is an array; 'cost' estimates the heap that it
 * takes.  Returns the result, or NULL and sets '*errorp' to an error object;
 * if to NULL, the call must be repeated later, with the same '*transaction',
 * which is NULL at first.
 *
 * While that is NULL, nothing else may be called for the session.  If it isn't
 * any more, a transaction waits for its turn, or is under way, and others may
 * be called; they will wait if they aren't transactions, too.  The caller
 * has the session forget it, whatever becomes of it. */
struct json *adp_control_call_method(
    struct adp_control_session *, struct adp_control_transaction **transaction,
    const char *method, const struct json *params, uint64_t cost,
    struct json **errorp);
void adp_control_session_forget(struct adp_control_session *,
                                struct adp_control_transaction *);
/* Such a call is wrong, and isn't carried out. */
void adp_control_session_refuse(struct adp_control_session *,
                                const char *method, const struct json *params);

/* Wakes the poll loop when a call that has to be repeated may get further. */
void adp_control_methods_wait(void);

#endif /* adp-control-methods.h */

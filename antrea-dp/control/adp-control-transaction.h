/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_TRANSACTION_H
#define ADP_CONTROL_TRANSACTION_H 1

/* A transaction on a bridge's state that a client waits for, and what its
 * reply is to tell.
 *
 * It waits for its turn behind others, and is carried out together with some
 * of them (adp-state.h) when all clients were served.  Bridge and state may be
 * gone before it is done; its answer says so then.
 *
 * Thread-safety: none, main thread.
 */

struct adp_control_transaction;
struct adp_error;
struct adp_state;
struct adp_state_change;
struct json;

struct adp_control_transaction *adp_control_transaction_begin(
    struct adp_state *, const struct adp_state_change *);
/* Returns the result, once, or NULL and sets '*errorp', which the caller
 * takes; to NULL if it isn't done yet. */
struct json *adp_control_transaction_result(struct adp_control_transaction *,
                                            struct adp_error **errorp);
/* If its turn hasn't come yet, it never does.  NULL does nothing. */
void adp_control_transaction_destroy(struct adp_control_transaction *);

/* Goes on with those of all bridges. */
void adp_control_transactions_run(void);

#endif /* adp-control-transaction.h */

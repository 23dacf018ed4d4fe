/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_OWN_CALL_H
#define ADP_OWN_CALL_H 1

/* Transactions that the daemon itself has with a bridge's state: what DNS said
 * of names, and members of multicast groups.
 *
 * There may be much to say, so records are said one at a time, in slices of
 * the main thread's turns; then they are kept until the state has a turn for
 * this source; then they are one transaction, which may take many turns.
 * While records are said, whoever says them must not learn anything, or one
 * could be among them twice.  A transaction that failed is told in the log,
 * and another is tried ADP_OWN_CALL_RETRY_MS later.
 *
 * Thread-safety: the main thread.
 */

#include <stdbool.h>

#include "adp-state.h"

#define ADP_OWN_CALL_RETRY_MS 1000

struct adp_error;
struct adp_own_call;
struct json;

/* Whose transactions they are.  'aux' is adp_own_call_init()'s. */
struct adp_own_call_class {
    enum adp_state_source source;
    bool ignore_missing;                /* Deletes what may not be there. */
    const char *what;                   /* For the log. */
    int pace_ms;                        /* From one to the next. */

    /* Records are about to be said. */
    void (*begin)(void *aux, const struct adp_state *);
    /* Is there a record yet to be said? */
    bool (*has_more)(void *aux);
    /* Says it by adp_own_call_apply() or _delete(). */
    void (*say_next)(void *aux);
    /* The transaction has ended, badly if 'error' isn't NULL. */
    void (*end)(void *aux, const struct adp_error *error);
};

struct adp_own_call {
    const struct adp_own_call_class *class;
    const char *bridge;                 /* Its name, not owned. */
    void *aux;
    struct json *apply, *delete;        /* What was said, or NULL. */
    bool all_said;
    struct adp_state_call *call;        /* That is under way, or NULL. */
    long long int next_try;             /* In ms. */
};

void adp_own_call_init(struct adp_own_call *,
                       const struct adp_own_call_class *, const char *bridge,
                       void *aux);
void adp_own_call_uninit(struct adp_own_call *);

/* Takes 'record', which says what is to be, or is a key. */
void adp_own_call_apply(struct adp_own_call *, struct json *record);
void adp_own_call_delete(struct adp_own_call *, struct json *key);

/* Are records being said, so that nothing must be learned? */
bool adp_own_call_is_saying(const struct adp_own_call *);
/* Forgets what was said and isn't under way: there is nobody to be told, or
 * something else.  Returns true if there was anything. */
bool adp_own_call_drop(struct adp_own_call *);

/* Ends a transaction that is over. */
void adp_own_call_run_end(struct adp_own_call *);
/* Begins to say if the caller 'wants' that, and there may be a transaction;
 * goes on with it; begins the transaction when it has its turn. */
void adp_own_call_run(struct adp_own_call *, struct adp_state *, bool wants);
/* 'state' may be NULL. */
void adp_own_call_wait(const struct adp_own_call *, const struct adp_state *,
                       bool wants);

#endif /* adp-own-call.h */

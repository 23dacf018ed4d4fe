/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHOW_TRACE_H
#define ADP_SHOW_TRACE_H 1

/* A walk as JSON: the "tables" of the answer to `trace`
 * (docs/control-socket.md).
 *
 * Takes the walk's events one by one.  Each look-up in a table becomes an
 * object in the order of the walk; each action of the flow that was hit, or of
 * a bucket, becomes one of its steps, with what came of it.  What the bits of
 * registers and marks mean, and what policy rules and Services are called, is
 * the bridge's pipeline's to say.
 *
 * For the main thread.
 */

#include "adp-trace.h"
#include "sset.h"

struct adp_bridge;

/* A look-up that the walk may come back to. */
struct adp_show_visit {
    unsigned int level;
    size_t index;               /* In 'tables'. */
    struct json *steps;         /* In 'tables'. */
};

struct adp_show_trace {
    struct adp_bridge *bridge;
    const struct flow *flow;    /* As the walk has it at the moment. */
    /* To look up clauses in; NULL: not as the walk met them. */
    const struct adp_program *program;
    struct json *tables;
    struct json *outputs;
    struct sset mentioned;      /* Addresses and ports that came up. */

    struct adp_show_visit *visits;  /* Outermost first. */
    size_t n_visits, allocated_visits;
    const char *stage;          /* Of the latest table; may be NULL. */

    struct json *step;          /* The latest; in 'tables'. */
    const struct ofpact *action;    /* If it is one. */
};

void adp_show_trace_init(struct adp_show_trace *, struct adp_bridge *,
                         const struct flow *);
void adp_show_trace_uninit(struct adp_show_trace *);
void adp_show_trace_event(struct adp_show_trace *,
                          const struct adp_trace_event *);

/* The packet's headers as an object of "field": "value". */
struct json *adp_show_trace_headers(struct adp_show_trace *,
                                    const struct flow *);
/* For those addresses and ports that came up and that a record is about, an
 * object of "address": "Pod default/web". */
struct json *adp_show_trace_names(const struct adp_show_trace *);
/* The policy rule or Service that a flow belongs to, in words; NULL if it is
 * none's, or if that isn't known.  Caller frees. */
char *adp_show_trace_object(const struct adp_bridge *,
                            const struct adp_rule *);

#endif /* adp-show-trace.h */

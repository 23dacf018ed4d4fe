/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-catch.h"

#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "conntrack-peek.h"
#include "flow.h"
#include "openvswitch/poll-loop.h"
#include "ovs-rcu.h"
#include "seq.h"
#include "util.h"

enum catch_state {
    ARMED,                      /* The next packet that fits takes it. */
    TAKEN,                      /* By a packet thread, which fills it in. */
    CAUGHT,                     /* The main thread's. */
    DISARMED,                   /* The main thread's, with nothing in it. */
};

struct adp_catch {
    struct adp_bridge *bridge;  /* The main thread's; NULL: it has gone. */
    struct match match;         /* Immutable. */
    ATOMIC(int) state;          /* enum catch_state. */
    struct seq *seq;            /* Changes when it is caught. */
    uint64_t seqno;             /* The main thread's. */

    /* Whose that is, 'state' says. */
    struct adp_caught caught;
    struct flow flow;           /* As the walk has it at the moment. */
};

atomic_count adp_catch_n_armed = ATOMIC_COUNT_INIT(0);

/* What was caught. */

static void
caught_init(struct adp_caught *c)
{
    memset(c, 0, sizeof *c);
    adp_walk_init(&c->walk);
}

static void
caught_uninit(struct adp_caught *c)
{
    for (size_t i = 0; i < c->n_rules; i++) {
        adp_rule_unref(c->rules[i]);
    }
    for (size_t i = 0; i < c->n_groups; i++) {
        adp_group_unref(c->groups[i]);
    }
    free(c->rules);
    free(c->groups);
    free(c->events);
    free(c->flows);
    adp_walk_uninit(&c->walk);
}

static void
keep_rule(struct adp_caught *c, const struct adp_rule *rule)
{
    if (!rule) {
        return;
    } else if (!adp_rule_try_ref(rule)) {
        c->is_stale = true;
        return;
    }
    if (c->n_rules >= c->allocated_rules) {
        c->rules = x2nrealloc(c->rules, &c->allocated_rules,
                              sizeof *c->rules);
    }
    c->rules[c->n_rules++] = CONST_CAST(struct adp_rule *, rule);
}

static void
keep_group(struct adp_caught *c, const struct adp_group *group)
{
    if (!group) {
        return;
    } else if (!adp_group_try_ref(group)) {
        c->is_stale = true;
        return;
    }
    if (c->n_groups >= c->allocated_groups) {
        c->groups = x2nrealloc(c->groups, &c->allocated_groups,
                               sizeof *c->groups);
    }
    c->groups[c->n_groups++] = CONST_CAST(struct adp_group *, group);
}

/* Keeps what events and verdict point to. */
static void
keep_all(struct adp_caught *c)
{
    struct adp_verdict *v = &c->walk.verdict;
    size_t n_learned = 0;

    for (size_t i = 0; i < c->n_events; i++) {
        struct adp_trace_event *event = &c->events[i].event;

        if (event->type == ADP_TRACE_TABLE) {
            keep_rule(c, event->table.rule);
        } else if (event->type == ADP_TRACE_GROUP
                   || event->type == ADP_TRACE_BUCKET) {
            keep_group(c, event->group.group);
        } else if (event->type == ADP_TRACE_LEARN) {
            /* What it told of has moved, if others came behind. */
            event->learned = (n_learned < v->n_learned
                              ? &v->learned[n_learned] : NULL);
            n_learned++;
        }
    }
    for (size_t i = 0; i < v->n_hits; i++) {
        if (v->hits[i].kind == ADP_HIT_RULE) {
            keep_rule(c, v->hits[i].rule);
        }
    }
    keep_rule(c, v->drop_rule);
    keep_rule(c, v->punt_rule);
}

/* The main thread. */

static void
free_catch(struct adp_catch *c)
{
    caught_uninit(&c->caught);
    seq_destroy(c->seq);
    free(c);
}

struct adp_catch *
adp_catch_create(struct adp_bridge *b, const struct match *match)
{
    if (ovsrcu_get_protected(struct adp_catch *, &b->catch)) {
        return NULL;
    }

    struct adp_catch *c = xzalloc(sizeof *c);
    c->bridge = b;
    c->match = *match;
    atomic_init(&c->state, ARMED);
    c->seq = seq_create();
    c->seqno = seq_read(c->seq);
    caught_init(&c->caught);
    atomic_count_inc(&adp_catch_n_armed);
    ovsrcu_set(&b->catch, c);
    return c;
}

/* Lets no packet thread take it from now on. */
static void
disarm(struct adp_catch *c)
{
    int armed = ARMED;

    if (atomic_compare_exchange_strong(&c->state, &armed, DISARMED)) {
        atomic_count_dec(&adp_catch_n_armed);
    }
    if (c->bridge) {
        ovsrcu_set(&c->bridge->catch, NULL);
        c->bridge = NULL;
    }
}

void
adp_catch_destroy(struct adp_catch *c)
{
    if (c) {
        disarm(c);
        /* A packet thread may be filling it in. */
        ovsrcu_postpone(free_catch, c);
    }
}

void
adp_catch_forget(struct adp_bridge *b)
{
    struct adp_catch *c = ovsrcu_get_protected(struct adp_catch *, &b->catch);

    if (c) {
        disarm(c);
        seq_change(c->seq);
    }
}

struct adp_bridge *
adp_catch_bridge(const struct adp_catch *c)
{
    return c->bridge;
}

const struct adp_caught *
adp_catch_get(struct adp_catch *c)
{
    int state;

    c->seqno = seq_read(c->seq);
    atomic_read_explicit(&c->state, &state, memory_order_acquire);
    if (state != CAUGHT) {
        return NULL;
    } else if (!c->caught.is_stale) {
        return &c->caught;
    }

    /* Something went while the packet was on its way: the next one, then. */
    caught_uninit(&c->caught);
    caught_init(&c->caught);
    if (c->bridge) {
        atomic_count_inc(&adp_catch_n_armed);
        atomic_store_explicit(&c->state, ARMED, memory_order_release);
    }
    return NULL;
}

void
adp_catch_wait(struct adp_catch *c)
{
    seq_wait(c->seq, c->seqno);
}

/* Packet threads. */

struct adp_catch *
adp_catch_begin(struct adp_bridge *b, const struct flow *flow)
{
    struct adp_catch *c = ovsrcu_get(struct adp_catch *, &b->catch);
    int armed = ARMED;

    if (!c || !flow_equal_except(flow, &c->match.flow, &c->match.wc)
        || !atomic_compare_exchange_strong(&c->state, &armed, TAKEN)) {
        return NULL;
    }
    atomic_count_dec(&adp_catch_n_armed);
    c->caught.original = c->flow = *flow;
    return c;
}

/* The number of the flow as it is now in 'flows'. */
static size_t
note_flow(struct adp_caught *caught, const struct flow *flow)
{
    if (!caught->n_flows
        || !flow_equal(flow, &caught->flows[caught->n_flows - 1])) {
        if (caught->n_flows >= caught->allocated_flows) {
            caught->flows = x2nrealloc(caught->flows,
                                       &caught->allocated_flows,
                                       sizeof *caught->flows);
        }
        caught->flows[caught->n_flows++] = *flow;
    }
    return caught->n_flows - 1;
}

static void
note_event(const struct adp_trace_event *event, void *c_)
{
    struct adp_catch *c = c_;
    struct adp_caught *caught = &c->caught;

    if (caught->n_events >= ADP_CATCH_MAX_EVENTS) {
        caught->is_cut = true;
        return;
    }
    if (caught->n_events >= caught->allocated_events) {
        caught->events = x2nrealloc(caught->events, &caught->allocated_events,
                                    sizeof *caught->events);
    }
    caught->events[caught->n_events++] = (struct adp_caught_event) {
        .event = *event,
        .flow = note_flow(caught, &c->flow),
    };
}

struct adp_walk *
adp_catch_walk(struct adp_catch *c, struct flow **flow)
{
    c->caught.walk.trace = note_event;
    c->caught.walk.trace_aux = c;
    *flow = &c->flow;
    return &c->caught.walk;
}

void
adp_catch_refused(struct adp_catch *c)
{
    c->caught.refused = true;
}

void
adp_catch_end(struct adp_catch *c)
{
    struct adp_caught *caught = &c->caught;

    keep_all(caught);
    if (!caught->refused) {
        caught->generation = caught->walk.program->generation;
    }
    /* Connections that the packet would have made go with it. */
    conntrack_peek_uninit(&caught->walk.ct.peek);
    atomic_store_explicit(&c->state, CAUGHT, memory_order_release);
    seq_change(c->seq);
}

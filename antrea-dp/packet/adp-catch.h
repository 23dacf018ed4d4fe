/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CATCH_H
#define ADP_CATCH_H 1

/* The walk of the next packet that fits, for "antrea-dpctl trace --follow".
 *
 * The main thread waits for a packet of a bridge, and a packet thread decides
 * on the first one that fits a second time, with every step noted, right
 * before the packet goes its way: conntrack and learned flows are then as the
 * packet itself meets them, which they aren't any more when it has gone.  The
 * walk is of a copy, counts nothing and changes nothing.
 *
 * What was noted points to flows and groups, to which it has references, so
 * that the main thread can put it into words later.
 *
 * Bounded: a bridge has one catch at the most, and that notes one packet, of
 * at most ADP_CATCH_MAX_EVENTS steps.  Freed by its owner, whether something
 * was caught or not; adp_catch_forget() takes it from a bridge that goes.
 *
 * Cost: a packet thread looks at one number for each batch.  While anybody
 * waits, each packet of that bridge is parsed once more, and goes alone.
 *
 * Thread-safety: packet threads call what says so, the main thread the rest.
 * The bridge's pointer is RCU's.  The first thread whose packet fits takes the
 * catch by an atomic exchange; nobody waits for anybody.
 */

#include <stdbool.h>
#include <stdint.h>
#include "adp-trace.h"
#include "adp-walk.h"
#include "openvswitch/match.h"
#include "ovs-atomic.h"

struct adp_bridge;
struct adp_catch;

#define ADP_CATCH_MAX_EVENTS 4096

/* One step, and the headers and metadata that the packet had then. */
struct adp_caught_event {
    struct adp_trace_event event;
    size_t flow;                /* In 'flows'. */
};

struct adp_caught {
    struct flow original;       /* As it came in. */
    bool refused;               /* The bridge was closed: no walk. */
    struct adp_walk walk;       /* Of which the verdict is to be read. */
    uint64_t generation;        /* Of the program. */

    struct adp_caught_event *events;
    size_t n_events, allocated_events;
    bool is_cut;                /* There were more events. */
    struct flow *flows;
    size_t n_flows, allocated_flows;

    /* References. */
    struct adp_rule **rules;
    size_t n_rules, allocated_rules;
    struct adp_group **groups;
    size_t n_groups, allocated_groups;
    bool is_stale;              /* One had gone. */
};

/* The main thread. */

/* Waits for a packet of the bridge that fits 'match', in which the port is
 * OpenFlow's.  Returns NULL if somebody else waits for one of it. */
struct adp_catch *adp_catch_create(struct adp_bridge *, const struct match *);
void adp_catch_destroy(struct adp_catch *);
/* The bridge goes. */
void adp_catch_forget(struct adp_bridge *);

/* The bridge, or NULL if it has gone. */
struct adp_bridge *adp_catch_bridge(const struct adp_catch *);
/* What was caught, the catch's, or NULL if nothing was yet. */
const struct adp_caught *adp_catch_get(struct adp_catch *);
/* Wakes the poll loop when something was caught. */
void adp_catch_wait(struct adp_catch *);

/* Packet threads. */

/* How many catches wait for a packet, of all bridges. */
extern atomic_count adp_catch_n_armed;

static inline bool
adp_catch_is_armed(void)
{
    return OVS_UNLIKELY(atomic_count_get(&adp_catch_n_armed));
}

/* Takes the bridge's catch if it waits for a packet like 'flow', otherwise
 * returns NULL.  The caller fills in what adp_catch_walk() gives, or says
 * adp_catch_refused(), then calls adp_catch_end(). */
struct adp_catch *adp_catch_begin(struct adp_bridge *, const struct flow *);
/* A walk that notes its steps, to be walked with '*flow'. */
struct adp_walk *adp_catch_walk(struct adp_catch *, struct flow **flow);
void adp_catch_refused(struct adp_catch *);
void adp_catch_end(struct adp_catch *);

#endif /* adp-catch.h */

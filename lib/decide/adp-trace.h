/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TRACE_H
#define ADP_TRACE_H 1

/* What decide() tells about its walk while it goes.
 *
 * env->class->trace gets one event for each step, in order.  An event is a
 * value: it may be copied and kept as long as the rules and groups that it
 * points to live, that is, until the RCU reader that called adp_decide()
 * quiesces.
 *
 * 'level' says how deep the walk is nested (resubmits that come back, buckets,
 * clones), for indenting.
 *
 * adp_trace_format() gives one event in the style of ofproto/trace,
 * adp_trace_log keeps events to be formatted later.
 *
 * Thread-safety: an adp_trace_log belongs to one thread.  Cost: nothing while
 * nobody traces but for one predictable branch a step.
 */

#include "adp-decide.h"
#include "openvswitch/meta-flow.h"

struct ds;
struct ofputil_port_map;
struct ofputil_table_map;

enum adp_trace_type {
    ADP_TRACE_TABLE,            /* Look-up in a table. */
    ADP_TRACE_ACTION,           /* An action begins. */
    ADP_TRACE_NO_ACTIONS,       /* An empty list of actions. */
    ADP_TRACE_CHANGE,           /* A field was written. */
    ADP_TRACE_UNMET,            /* A field was not written: no such header. */
    ADP_TRACE_CT,               /* Conntrack is asked. */
    ADP_TRACE_CT_ANSWER,        /* Conntrack answered. */
    ADP_TRACE_CT_RESUME,        /* The packet goes on in a table. */
    ADP_TRACE_CT_FORK,          /* A copy does, then the packet itself. */
    ADP_TRACE_GROUP,            /* A group: nonexistent, or no live bucket. */
    ADP_TRACE_BUCKET,           /* A bucket begins. */
    ADP_TRACE_LEARN,            /* A new flow is asked for. */
    ADP_TRACE_OUTPUT,           /* Output to a port, or not. */
    ADP_TRACE_ANSWER,           /* The packet's sender gets an answer. */
    ADP_TRACE_HOLD,             /* The packet waits until it was read. */
    ADP_TRACE_LOG,              /* It is logged. */
    ADP_TRACE_DROP,             /* The walk ended without output. */
    ADP_TRACE_PUNT,             /* The walk ended in a punt. */
};

enum adp_trace_output {
    ADP_TRACE_OUTPUT_DONE,
    ADP_TRACE_OUTPUT_IN_PORT,   /* Suppressed: it is the input port. */
    ADP_TRACE_OUTPUT_ABSENT,    /* No such port, or it is down. */
    ADP_TRACE_OUTPUT_NO_REMOTE, /* A tunnel, but nobody said where to. */
};

struct adp_trace_event {
    enum adp_trace_type type;
    unsigned int level;
    uint8_t table_id;           /* That the packet is in. */
    union {
        struct {                /* TABLE. */
            const struct adp_rule *rule;    /* NULL: miss. */
            bool learned;                   /* Not in OpenFlow yet. */
        } table;
        const struct ofpact *action;        /* ACTION, PUNT (may be NULL). */
        struct {                /* CHANGE, UNMET. */
            const struct mf_field *field;
            union mf_value value;           /* CHANGE: as it is now. */
        } change;
        struct adp_ct_request ct;           /* CT. */
        struct {                /* CT_ANSWER. */
            uint32_t ct_state;
            uint16_t ct_zone;
            uint32_t ct_mark;
            ovs_u128 ct_label;
            ovs_be16 dl_type;
            struct in6_addr src, dst;       /* Of the packet from now on. */
            ovs_be16 tp_src, tp_dst;
            bool nat;                       /* Have these changed? */
        } answer;
        struct {                /* GROUP, BUCKET. */
            uint32_t group_id;
            bool exists;
            const struct adp_group *group;  /* NULL unless 'exists'. */
            uint32_t bucket;                /* BUCKET: index. */
        } group;
        const struct adp_learned *learned;  /* LEARN: during the call only. */
        const char *reply;                  /* ANSWER: "a TCP reset". */
        const char *log;                    /* LOG: "Allow". */
        struct {                /* OUTPUT. */
            ofp_port_t port;
            enum adp_trace_output what;
        } output;
    };
    enum adp_punt punt;         /* PUNT; CT_ANSWER if it couldn't. */
};

/* Appends 'event' as one or more lines.  The maps may be NULL. */
void adp_trace_format(const struct adp_trace_event *,
                      const struct ofputil_port_map *,
                      const struct ofputil_table_map *, struct ds *);

/* Appends one action, or the flow that a LEARN event tells of, as text. */
void adp_trace_format_action(const struct ofpact *,
                             const struct ofputil_port_map *,
                             const struct ofputil_table_map *, struct ds *);
void adp_trace_format_learned(const struct adp_learned *,
                              const struct ofputil_port_map *,
                              const struct ofputil_table_map *, struct ds *);

/* A list of events, as copies.  LEARN events lose 'learned'. */
struct adp_trace_log {
    struct adp_trace_event *events;
    size_t n, allocated;
};
void adp_trace_log_init(struct adp_trace_log *);
void adp_trace_log_uninit(struct adp_trace_log *);
void adp_trace_log_append(struct adp_trace_log *,
                          const struct adp_trace_event *);
void adp_trace_log_format(const struct adp_trace_log *,
                          const struct ofputil_port_map *,
                          const struct ofputil_table_map *, struct ds *);

#endif /* adp-trace.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_DECIDE_PRIVATE_H
#define ADP_DECIDE_PRIVATE_H 1

/* The walk of one packet through a program, shared by adp-decide*.c.
 *
 * 'flow' is the packet as OpenFlow sees it, 'base' its headers as they are
 * after the datapath actions so far.  Field changes go to 'flow'; whatever
 * looks at the packet itself first commits the difference.
 *
 * "last" says of an action that nothing follows it, in its list or in any list
 * that called that, so that it may use up the packet.
 *
 * A list that ends in a look-up is left for the rule that was found, so the C
 * stack grows only where a walk has to come back.  Who comes back restores
 * 'table_id', 'rule' and 'depth' with struct adp_decide_place.
 *
 * Thread-safety: a walk belongs to one thread.
 */

#include "adp-decide.h"
#include "adp-trace.h"

/* For functions that keep a copy of a flow on the stack: the walk calls itself
 * again and again, and most calls don't need that room. */
#define ADP_OUT_OF_LINE __attribute__((__noinline__))

/* Conntrack fields of the packet's metadata. */
struct adp_ct_md {
    uint8_t ct_state;
    uint8_t ct_nw_proto;
    uint16_t ct_zone;
    uint32_t ct_mark;
    ovs_u128 ct_label;
    ovs_be16 ct_tp_src, ct_tp_dst;
    ovs_be32 ct_nw_src, ct_nw_dst;
    struct in6_addr ct_ipv6_src, ct_ipv6_dst;
};

/* Where in the tables a packet is. */
struct adp_decide_place {
    const struct adp_rule *rule;    /* Whose actions run. */
    uint8_t table_id;
    int depth;                      /* Look-ups that didn't go forward. */
};

struct adp_decide_walk {
    const struct adp_program *program;
    const struct adp_learn_table *learn;
    const struct adp_env *env;
    struct adp_verdict *verdict;
    struct flow *flow;
    struct flow base;
    struct flow_wildcards wc;       /* All ones, but see adp-decide-ct.c. */

    struct adp_decide_place place;
    int resubmits;                  /* Since the last conntrack pass. */
    int n_passes;                   /* Conntrack passes begun. */
    size_t pass_start;              /* Length of the actions before it. */
    bool hashed;                    /* Has one begun with a hash? */
    unsigned int level;             /* Of nesting. */
    bool stop;                      /* exit or punt. */

    struct adp_ct_md md;
    bool conntracked;               /* Does OpenFlow know what 'md' says? */
    bool nat_unseen;                /* Do headers differ from 'base'? */
    bool rewritten;             /* Were the addresses or ports that conntrack
                                 * looks at set since the latest ct()? */
    bool retyped;               /* Was ICMP's type or code set?  Conntrack
                                 * would be asked about the original one. */
    bool clone_tracked;             /* Did a clone meet ct()? */
    bool metered;                   /* Is there a meter before, since the
                                     * latest break for another pass? */
    bool was_metered;               /* Is there one at all? */
    int n_clones;                   /* Of the datapath's, one in another. */
    bool sent_into_tunnel;          /* Any output so far? */
    bool dirty;                 /* May 'flow' differ from 'base'? */

    bool output;                    /* Was there any? */
    uint8_t last_table_id;          /* Of the latest look-up. */
    const struct adp_rule *last_rule;
};

/* adp-decide.c. */
void adp_decide_punt(struct adp_decide_walk *, enum adp_punt,
                     const struct ofpact *);
void adp_decide_commit(struct adp_decide_walk *);
void adp_decide_ops(struct adp_decide_walk *, const struct adp_op_list *,
                    bool last);
/* False if the packet was on the way for too long: then it was punted. */
bool adp_decide_may_go_on(struct adp_decide_walk *);
/* Moves the packet to 'table_id', or to a later one if a miss continues there.
 * Returns the op list to go on with, or NULL. */
const struct adp_op_list *adp_decide_enter(struct adp_decide_walk *,
                                           uint8_t table_id);
void adp_decide_add_hit(struct adp_decide_walk *, const struct adp_hit *);

/* A pass through the datapath, from when the packet came in or from ct(table)
 * to where nothing is left to do for it. */
void adp_decide_begin_pass(struct adp_decide_walk *);
void adp_decide_end_pass(struct adp_decide_walk *);

/* A datapath clone action around what is appended between the two. */
size_t adp_decide_begin_clone(struct adp_decide_walk *);
void adp_decide_end_clone(struct adp_decide_walk *, size_t offset);

/* adp-decide-break.c. */
/* Sends a copy of the packet to the controller that 'op' says.  'userdata' may
 * be NULL. */
void adp_decide_controller(struct adp_decide_walk *, const struct adp_op *,
                           const struct ofpact_controller *userdata);
/* Does what the table where the walk is says about packets that no flow
 * matches. */
void adp_decide_heed_miss(struct adp_decide_walk *);
/* If the packet-in that 'op' makes, or can't, asks for what the program takes
 * care of (a refusal, a line in the log, or to be held), says so in the
 * verdict and returns true.  One refusal is enough. */
bool adp_decide_answer(struct adp_decide_walk *, const struct adp_op *);
/* If the one before number 'first' of 'ops' is ct(table), and those from there
 * on lead to nothing but such a packet-in, has it done, leaves the packet as
 * it is, and returns true. */
bool adp_decide_answers_ahead(struct adp_decide_walk *,
                              const struct adp_op_list *ops, size_t first);
/* Would parsing the packet anew, as upstream does where a pass begins, stop at
 * a VLAN tag, short of IP? */
bool adp_decide_has_hidden_headers(const struct adp_decide_walk *);

/* Before another pass begins, for the packet itself or for a 'fork' of it: if
 * a meter may have dropped the packet, has execution find out.  Returns false
 * after a punt, as where the pass would change the packet. */
bool adp_decide_break_pass(struct adp_decide_walk *, bool fork,
                           const struct ofpact *);

/* adp-decide-ct.c. */
void adp_decide_ct_init(struct adp_decide_walk *);
/* Returns true if the packet goes on in ct's table in place of what follows
 * 'op'; otherwise all that can go on elsewhere has been done. */
bool adp_decide_ct(struct adp_decide_walk *, const struct adp_op *, bool last);
void adp_decide_ct_clear(struct adp_decide_walk *);

/* adp-decide-group.c. */
/* Returns false if there is no such group, which ends the list. */
bool adp_decide_group(struct adp_decide_walk *, const struct adp_op *,
                      bool last);

/* Tracing. */
static inline bool
adp_decide_traces(const struct adp_decide_walk *w)
{
    return OVS_UNLIKELY(w->env->class->trace != NULL);
}

void adp_decide_trace(const struct adp_decide_walk *,
                      struct adp_trace_event *);

#endif /* adp-decide-private.h */

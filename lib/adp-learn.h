/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LEARN_H
#define ADP_LEARN_H 1

/* Flows that learn() asked for and that OpenFlow doesn't hold yet.
 *
 * learn() is in force for the very next packet: the thread that met it puts
 * the new flow here at once, as an adp_rule, and queues the flow mod for the
 * thread that may change OpenFlow tables.  Once the flow stands in a program,
 * or was refused, that thread takes it out again.
 *
 * Readers look here beside a table's matcher; the higher priority wins, and
 * between equals the entry here.  (A conjunction counts with the priority of
 * its conj_id rule, which controllers give the same as its clauses.)
 *
 * Thread-safety: look-up from any RCU reader, without locks.  Insertion and
 * removal lock a mutex of the table.
 */

#include "adp-rules.h"
#include "openvswitch/ofp-flow.h"

struct adp_learn_table;

/* One learn() met by decide(): a flow mod ready for OpenFlow, as
 * learn_execute() makes it, and the rule in whose actions learn() stands. */
struct adp_learned {
    struct adp_rule *rule;              /* Referenced. */
    const struct ofpact_learn *learn;   /* Inside 'rule' or its group. */
    struct ofputil_flow_mod fm;         /* fm.match is a minimatch, ofpacts
                                         * malloc()ed or in 'ofpacts'. */
    struct ofpbuf ofpacts;
};

struct adp_learn_table *adp_learn_table_create(void);
void adp_learn_table_destroy(struct adp_learn_table *);

void adp_learned_uninit(struct adp_learned *);

/* Adds a rule for 'fm' unless an equal one (table, priority, match, actions)
 * is there: then returns false, and nothing need be queued.  Takes the place
 * of one that differs only in its actions. */
bool adp_learn_table_insert(struct adp_learn_table *,
                            const struct ofputil_flow_mod *);
/* From now on, or no longer, insertions are refused as if the flow were there
 * already.  One that is under way may still succeed; readers that were at it
 * are done after a grace period. */
void adp_learn_table_close(struct adp_learn_table *);
void adp_learn_table_open(struct adp_learn_table *);
/* Takes out what equals 'fm' in table, priority and match. */
void adp_learn_table_remove(struct adp_learn_table *,
                            const struct ofputil_flow_mod *);
/* Changes with each insertion and removal. */
uint32_t adp_learn_table_serial(const struct adp_learn_table *);
size_t adp_learn_table_count(const struct adp_learn_table *);

/* The best entry of 'table_id' that matches 'flow', or NULL. */
struct adp_rule *adp_learn_table_lookup(const struct adp_learn_table *,
                                        uint8_t table_id, const struct flow *);

#endif /* adp-learn.h */

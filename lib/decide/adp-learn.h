/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LEARN_H
#define ADP_LEARN_H 1

/* Flows that learn() asked for and that the program doesn't hold yet.
 *
 * learn() is in force for the very next packet: the thread that met it puts
 * the new flow here at once, where it waits for the thread that may change
 * OpenFlow tables.  That one takes what waits in slices, makes OpenFlow flows
 * of it and, when these are in a program or were refused, retires it.
 *
 * Readers look here beside a table's matcher; the higher priority wins, and
 * between equals the entry here.  (A conjunction counts with the priority of
 * its conj_id rule, which controllers give the same as its clauses.)
 *
 * Each reader gives the generation of the program that it walks.  An entry
 * retired in a generation is not there for walks in that one and later ones,
 * which find the flow in the program, or not if it was deleted since; walks in
 * older programs, which don't hold the flow, go on finding the entry.  When
 * the last of these has ended, a grace period later, the entry is freed.
 *
 * What bounds it: the number of learned flows, those that wait and those that
 * OpenFlow holds, is limited for each flow with a learn() (its "learner") and
 * for the table as a whole.  Above a limit insertion is refused.  Retired
 * entries are at most those that were taken within a grace period.
 *
 * Thread-safety: look-up from any RCU reader, without locks; insertion from
 * any thread; all else as it says.  Changes lock a mutex of the table, under
 * which nothing else is locked.
 */

#include "adp-rules.h"
#include "adp-stats.h"
#include "classifier.h"
#include "openvswitch/ofp-flow.h"

struct adp_learn_table;

/* One learn() met by decide(): a flow mod ready for OpenFlow, as
 * learn_execute() makes it, and the rule in whose actions learn() stands. */
struct adp_learned {
    struct adp_rule *rule;              /* Referenced. */
    const struct ofpact_learn *learn;   /* Inside 'rule'. */
    struct ofputil_flow_mod fm;         /* fm.match is a minimatch, ofpacts
                                         * malloc()ed or in 'ofpacts'. */
    struct ofpbuf ofpacts;
};

void adp_learned_uninit(struct adp_learned *);

struct adp_learn_table *adp_learn_table_create(void);
/* Readers may go on until they quiesce. */
void adp_learn_table_destroy(struct adp_learn_table *);

/* How many flows a learner may have, and all together. */
struct adp_learn_limits {
    size_t per_learner;
    size_t total;
};

void adp_learn_table_set_limits(struct adp_learn_table *,
                                const struct adp_learn_limits *);

enum adp_learn_result {
    ADP_LEARN_ADDED,
    ADP_LEARN_ADDED_FIRST,      /* Nothing waited before. */
    ADP_LEARN_KNOWN,            /* The same one is there already. */
    ADP_LEARN_FULL,             /* A limit is reached. */
    ADP_LEARN_LATE,             /* Its learner may be gone, see below. */
};

/* Adds what a walk in the program of 'generation' learned.  Takes the place of
 * an entry that differs only in its actions. */
enum adp_learn_result adp_learn_table_insert(struct adp_learn_table *,
                                             const struct adp_learned *,
                                             uint64_t generation);

/* The best entry of 'table_id' that matches 'flow' for a walk in the program
 * of 'generation', or NULL. */
struct adp_rule *adp_learn_table_lookup(const struct adp_learn_table *,
                                        uint8_t table_id, const struct flow *,
                                        uint64_t generation);
/* Changes with each insertion. */
uint32_t adp_learn_table_serial(const struct adp_learn_table *);

/* For the thread that installs. */

/* Credits the entry that waits in the place of 'rule', if there is one, so
 * that the flow that will be made of it begins with the packets. */
void adp_learn_table_credit(struct adp_learn_table *, const struct adp_rule *,
                            const struct adp_stats_delta *);

/* Of one learner: a flow with learn(), or its equal that took its place. */
struct adp_learner;

struct adp_learn_entry {
    struct ofputil_flow_mod fm;         /* Match and actions are the rule's. */
    struct adp_stats_delta early;       /* Of packets that it handled while it
                                         * waited; constant once taken. */

    /* Private. */
    struct adp_rule *rule;              /* Owned reference. */
    struct cls_rule cr;
    struct adp_learner *learner;        /* Counts this; NULL: no longer. */
    struct ovs_list list_node;          /* While it waits, or is retired. */
    bool taken;
    bool displaced;                     /* Out of the classifier already. */
};

/* Takes up to 'max' of the entries that wait, those that waited longest first.
 * They stay in force until they are retired.  One taker at a time. */
size_t adp_learn_table_take(struct adp_learn_table *,
                            struct adp_learn_entry *[], size_t max);
/* Hands the count of a taken entry, whose flow is in OpenFlow's tables now, to
 * the caller, who gives it back when the flow leaves them. */
struct adp_learner *adp_learn_entry_hand_over(struct adp_learn_entry *);
/* Counts one more flow that comes into OpenFlow's tables by no entry.  All
 * such flows are those of one learner.  Returns that, to be given back as
 * above, or NULL if a limit is reached. */
struct adp_learner *adp_learn_table_count_foreign(struct adp_learn_table *);
void adp_learner_release(struct adp_learn_table *, struct adp_learner *);
/* 'generation': of the first program from which on the entries don't
 * matter. */
void adp_learn_table_retire(struct adp_learn_table *,
                            struct adp_learn_entry *[], size_t n,
                            uint64_t generation);

/* Learners leave with the program of 'generation', which is about to be
 * published: drops what waits of those that 'is_gone' tells, and from now on
 * refuses what walks in older programs learn. */
void adp_learn_table_fence(struct adp_learn_table *, uint64_t generation,
                           bool (*is_gone)(const struct adp_rule *learner,
                                           const void *aux),
                           const void *aux);

struct adp_learn_counts {
    size_t waiting;                     /* Not in OpenFlow yet. */
    size_t total;                       /* These, and those that are. */
};

void adp_learn_table_get_counts(struct adp_learn_table *,
                                struct adp_learn_counts *);
/* False if there is no entry of 'table_id', be it one that is retired. */
bool adp_learn_table_has(const struct adp_learn_table *, uint8_t table_id);

#endif /* adp-learn.h */

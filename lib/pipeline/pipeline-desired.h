/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_DESIRED_H
#define ADP_PIPELINE_DESIRED_H 1

/* The flows and groups that a state asks for, each with its contributors
 * counted, and which of them are in the bridge.
 *
 * Whatever asks for flows (a record, a rule of a policy, the pipeline itself)
 * owns a "struct adp_contributor".  It says all that it asks for between
 * adp_desired_begin() and adp_desired_end(), and all of it anew when that
 * changes; or it amends what it said before.  What several contributors ask
 * for is there as long as one of them does:
 *
 *   - A flow is a table, a priority, a match, a cookie and actions.  Flows
 *     with the same table, priority and match and anything else different
 *     contradict each other: OpenFlow would keep just one of them.  In the
 *     course of a transaction they may, at its end they may not.
 *
 *   - A clause is a conjunction() action.  Clauses with the same table,
 *     priority, match and cookie make up one flow, however many they are.
 *
 * Transactions: changes add up until adp_desired_accept(), which says that the
 * bridge has them, or adp_desired_revert(), which undoes them, also in the
 * contributors.  adp_desired_get_changes() tells them as steps to take in the
 * bridge's tables.  What was added and taken back in between is no change.
 *
 * A flow that is desired and one that is installed is the same object: each
 * holds its masks and actions, shared where they are equal, and no text.
 *
 * Thread-safety: one thread at a time.
 *
 * Memory: owns everything, copies what it is given.  A contributor belongs to
 * its owner, who may free it after adp_desired_remove() and the end of that
 * transaction.  Grows with what contributors ask for: they bound it.  About
 * 100 bytes a flow, its actions not counted, and 16 for each time it is asked
 * for.
 *
 * Cost: a hash look-up for each flow and clause that is said, taken back, or
 * part of a change; a clause also a step for each clause of its flow.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/compiler.h"

struct adp_desired;
struct adp_error;
struct desired_claim;
struct ds;
struct match;
struct ofpact;
struct ofputil_flow_mod;
struct ofputil_group_mod;
struct ofputil_group_props;
struct ofputil_port_map;
struct ofputil_table_map;
struct ovs_list;

struct adp_desired *adp_desired_create(void);
/* Contributors are still their owners', who free each with
 * adp_contributor_uninit(), before or after. */
void adp_desired_destroy(struct adp_desired *);

/* Contributors. */

/* What one has asked for.  To be embedded in its owner, and not to be moved;
 * all zeros is one that asks for nothing.  Its members are private. */
struct adp_contributor {
    struct desired_claim *claims;
    uint32_t n_claims, allocated_claims;
    uint32_t withdraws;         /* Place among those who took some of it back
                                 * before adp_desired_settle(), or 0. */
    uint32_t image : 31;        /* Of what it asked for before the transaction:
                                 * its index plus 1, 0 if that hasn't
                                 * changed. */
    uint32_t open : 1;
};

/* What is said until adp_desired_end() replaces what 'contributor' asked for
 * before. */
void adp_desired_begin(struct adp_desired *, struct adp_contributor *);
/* What is said until adp_desired_end() comes in addition, or is taken back
 * with adp_desired_drop_*() and adp_desired_settle().  One contributor is
 * amended at a time.  What 'contributor' asks for already costs nothing as
 * long as nothing is taken back. */
void adp_desired_amend(struct adp_desired *, struct adp_contributor *);
void adp_desired_end(struct adp_desired *, struct adp_contributor *);
/* Takes back what amendments have withdrawn: before then it counts as asked
 * for, and neither changes nor adp_desired_accept() may be asked for.  Costs a
 * copy of, and a look at, each thing that a contributor which has withdrawn
 * some asks for, with a search among these.  Returns false if one withdrew
 * what it didn't ask for. */
bool adp_desired_settle(struct adp_desired *);
/* It asks for nothing any more. */
void adp_desired_remove(struct adp_desired *, struct adp_contributor *);
/* Frees what 'contributor' holds, without a word to a "struct adp_desired",
 * which then must know nothing of it: after adp_desired_remove() and the end
 * of the transaction nothing is left to free. */
void adp_contributor_uninit(struct adp_contributor *);

/* What OpenFlow knows a flow by, and its cookie.  The match must have the
 * prerequisites of all its fields (dl_type, nw_proto), except that a frame is
 * taken for an Ethernet one where nothing is said of its type. */
struct adp_flow_key {
    uint8_t table_id;
    uint16_t priority;
    uint64_t cookie;
    const struct match *match;
};

void adp_desired_add_flow(struct adp_desired *, struct adp_contributor *,
                          const struct adp_flow_key *,
                          const struct ofpact *, size_t ofpacts_len);
/* Number 'clause' (from 1) of the 'n_clauses' of conjunction 'conj_id'. */
void adp_desired_add_clause(struct adp_desired *, struct adp_contributor *,
                            const struct adp_flow_key *, uint32_t conj_id,
                            uint8_t clause, uint8_t n_clauses);
/* 'buckets' contains "struct ofputil_bucket"s, which this takes.  Two groups
 * with one ID must be equal.  'props' may be NULL. */
void adp_desired_add_group(struct adp_desired *, struct adp_contributor *,
                           uint32_t group_id, uint8_t type,
                           struct ovs_list *buckets,
                           const struct ofputil_group_props *props);
/* The same in the syntax of ovs-ofctl add-flow and add-group (OpenFlow 1.5).
 * The maps may be NULL.  A flow may have timeouts, flags and importance; one
 * that has nothing but conjunction() actions adds these as clauses.  A
 * text that can't be parsed is an error, which adp_desired_get_changes() will
 * return. */
void adp_desired_add_text(struct adp_desired *, struct adp_contributor *,
                          const char *flow, const struct ofputil_port_map *,
                          const struct ofputil_table_map *);
/* The same of the text that 'expand' appends for 'scope' and 'source', from
 * which alone it follows.  What was said lately with the same ones (of 'scope'
 * the same address, what is there stays) is neither made nor parsed again:
 * DESIRED_N_TEXTS of them are remembered, of one hash the latest, and none if
 * fewer flows than these are left after a transaction. */
typedef void adp_desired_expand(struct ds *, const void *scope,
                                const char *source);
void adp_desired_add_source(struct adp_desired *, struct adp_contributor *,
                            const void *scope, const char *source,
                            adp_desired_expand *expand,
                            const struct ofputil_table_map *);
void adp_desired_add_group_text(struct adp_desired *, struct adp_contributor *,
                                const char *group,
                                const struct ofputil_port_map *,
                                const struct ofputil_table_map *);

/* Takes back, once, what 'contributor', which is being amended, asks for at
 * the end of the amendment. */
void adp_desired_drop_flow(struct adp_desired *, struct adp_contributor *,
                           const struct adp_flow_key *,
                           const struct ofpact *, size_t ofpacts_len);
void adp_desired_drop_clause(struct adp_desired *, struct adp_contributor *,
                             const struct adp_flow_key *, uint32_t conj_id,
                             uint8_t clause, uint8_t n_clauses);

/* Transactions. */

enum adp_change_kind {
    ADP_CHANGE_ADD,
    ADP_CHANGE_MODIFY,          /* In place: counters and age stay.  Not for
                                 * what OpenFlow can only change by adding
                                 * anew: timeouts, flags, importance. */
    ADP_CHANGE_DELETE,
};

/* One flow, or one group, that changes.  Good until the end of the
 * transaction. */
struct adp_change {
    void *thing;                /* Private: the flow or group, */
    void *twin;                 /* and the one that it replaces, or NULL. */
    enum adp_change_kind kind;
};

struct adp_changes {
    struct adp_change *flows;
    size_t n_flows;
    struct adp_change *groups;
    size_t n_groups;
};

/* What to say of it to the bridge. */
enum adp_scope {
    ADP_CHANGES_ONLY,           /* What isn't believed to be there. */
    ADP_CHANGES_ALL,            /* That, and once more all that is. */
    ADP_CHANGES_AFRESH,         /* All that is desired: nothing is there. */
};

/* Fills 'changes', which the caller uninits whether there is an error or
 * not.  An error is of code "internal" if a text couldn't be parsed, and of
 * code "invalid" if flows or groups contradict each other; it names both. */
struct adp_error *adp_desired_get_changes(struct adp_desired *,
                                          enum adp_scope,
                                          const struct ofputil_table_map *,
                                          struct adp_changes *)
    OVS_WARN_UNUSED_RESULT;
void adp_changes_uninit(struct adp_changes *);

/* Ends the transaction: all is in the bridge, and nothing else of ours. */
void adp_desired_accept(struct adp_desired *);
/* Ends it: nothing has changed. */
void adp_desired_revert(struct adp_desired *);
/* Nothing of what is desired is in the bridge any more. */
void adp_desired_forget(struct adp_desired *);

/* Mods.  A deletion is strict and names the cookie, too: a flow that somebody
 * else put in the place of ours stays.  Groups are added-or-modified. */

/* What a mod leads to. */
enum adp_goal {
    ADP_GOAL_NEW,               /* What is desired. */
    ADP_GOAL_BOTH,              /* The clauses of before and those that are
                                 * desired, for a flow that has both. */
    ADP_GOAL_OLD,               /* What was before the transaction. */
};

/* Makes the mod that 'change' takes.  ADP_GOAL_BOTH is for additions and
 * modifications of flows with clauses.  The caller frees match and actions
 * with adp_flow_mod_uninit(). */
void adp_change_to_flow_mod(const struct adp_desired *,
                            const struct adp_change *, enum adp_goal,
                            struct ofputil_flow_mod *);
void adp_flow_mod_uninit(struct ofputil_flow_mod *);
/* The caller frees it with ofputil_uninit_group_mod(). */
void adp_change_to_group_mod(const struct adp_desired *,
                             const struct adp_change *, enum adp_goal,
                             struct ofputil_group_mod *);

/* Which clauses an addition or a modification of a flow brings and takes away.
 * An addition brings all: the flow may be lost. */
enum adp_clause_change {
    ADP_CLAUSES_COME,           /* Or the flow has none, or changes else. */
    ADP_CLAUSES_GO,
    ADP_CLAUSES_BOTH,
};
enum adp_clause_change adp_change_clauses(const struct adp_desired *,
                                          const struct adp_change *);

/* How many clauses the changed flow had and will have, together: what the
 * change costs, where there are many. */
size_t adp_change_n_clauses(const struct adp_desired *,
                            const struct adp_change *);
/* How many buckets the changed group will have: the same. */
size_t adp_change_n_buckets(const struct adp_change *);

/* Where a changed flow stands. */
struct adp_change_place {
    uint8_t table_id;
    uint16_t priority;
    uint16_t match_hash;        /* Equal for equal matches. */
    bool has_clauses;
    uint32_t conj_id;           /* That it matches; 0: none. */
};
struct adp_change_place adp_change_place(const struct adp_change *);

/* How much there is. */
struct adp_desired_usage {
    size_t n_flows, n_groups;   /* Desired or installed. */
    size_t n_actions, n_masks;  /* Different ones. */
    size_t n_claims;            /* Of all contributors. */
    size_t n_bytes;             /* As given to malloc(), all together. */
    uint64_t n_steps;           /* In searches for what is taken back, so
                                 * far. */
};
/* Unit tests and benchmarks. */
void adp_desired_get_usage(const struct adp_desired *,
                           struct adp_desired_usage *);

#endif /* pipeline-desired.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_POLICY_WORLD_H
#define TESTS_POLICY_WORLD_H 1

/* A table of rules, conjunctions among them, that changes at random, and what
 * any matcher may answer on it.
 *
 * As controllers do it, rules with the same match and priority are one rule
 * that stands for clauses of many conjunctions, and a conjunction that comes
 * or goes replaces the rules that it shares.
 */

#include "adp-match.h"
#include "adp-rules.h"
#include "openvswitch/hmap.h"

/* What kind of table. */
struct world_shape {
    const char *name;
    int n_priorities;           /* Of conjunctions.  0: one each. */
    int max_clauses;            /* Per conjunction, 2 at least. */
    int max_matches;            /* Per clause. */
    int n_values;               /* Per field. */
    int no_id_percent;          /* Conjunctions without conj_id rule. */
    int any_percent;            /* Clauses that anything meets. */
    int double_percent;         /* Matches that stand for two clauses. */
    int n_plain;                /* Rules that act by themselves, at most. */
    bool default_rule;
};

struct world {
    const struct world_shape *shape;
    struct hmap places;         /* Contains "struct place"s. */
    struct conj **conjs;
    size_t n_conjs, allocated_conjs;
    struct place **plains;
    size_t n_plains;
    uint32_t next_id;
};

struct world *world_create(const struct world_shape *);
void world_destroy(struct world *);

/* Each marks places as changed, for world_commit(). */
void world_add_conj(struct world *);
void world_remove_conj(struct world *);
void world_toggle_plain(struct world *);

/* Makes rules of what changed.  The array is the caller's, and the references
 * to the old rules in it. */
struct adp_match_change *world_commit(struct world *, size_t *n);

/* All rules, sorted.  The array is the caller's. */
struct adp_rule **world_rules(const struct world *, size_t *n);

/* A packet that is likely to meet something. */
void world_random_flow(const struct world *, struct flow *);

/* Checks an answer to 'flow' against the rules, one by one.  Fails the test
 * if it is wrong. */
void check_answer(struct adp_rule *const *rules, size_t n, struct flow *,
                  const struct adp_rule *answer, int priority,
                  const char *who);

#endif /* policy-world.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MATCH_H
#define ADP_MATCH_H 1

/* Matchers: the look-up forms of a table.
 *
 * A matcher is built from a table's rules and answers which of them a packet
 * hits.  There may be several classes, each good for some contents;
 * adp_match_create() picks one.  "linear" takes any content and is the
 * reference that every other is tested against.
 *
 * What any matcher must answer, in the words of ovs-fields(7): the rule of the
 * highest priority that matches.  Among rules of one priority one that acts by
 * itself comes before conjunctions.  A conjunction is met when each of its
 * clauses has a rule of that priority that matches; then the look-up starts
 * over with conj_id set and conjunction rules left out.  If nothing matches
 * then, the search goes on at lower priorities.  Between two rules of one
 * priority the answer is arbitrary: here the one that comes first.
 *
 * Three finer points are as upstream's classifier has them, since controllers
 * may rely on what they see there:
 *
 *   - A conjunction of n clauses needs n different rules of its priority that
 *     match; a rule that stands for two clauses does not make up for one.
 *
 *   - When a conjunction is met, but no rule for its conj_id exists, the best
 *     rule that matches without it is the answer, even if a conjunction of
 *     lower priority would have come first.
 *
 *   - In the look-up with conj_id, a rule is out of sight behind a conjunction
 *     rule with the same match and a higher priority.
 *
 * Thread-safety: a matcher is immutable; a scratch belongs to one thread.
 * Ownership: the rules must outlive the matcher; it takes no references.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "adp-match-scratch.h"
#include "compiler.h"

struct adp_cow;
struct adp_match;
struct adp_rule;
struct flow;

struct adp_match_class {
    const char *name;

    /* 'rules' are as adp_rules_sort() sorts them. */
    struct adp_match *(*create)(struct adp_rule *const *rules, size_t n);
    void (*destroy)(struct adp_match *);

    /* Calls 'cb' for each rule. */
    void (*for_each)(const struct adp_match *,
                     void (*cb)(struct adp_rule *, void *aux), void *aux);

    /* 'flow' may be changed, but is restored before returning. */
    struct adp_rule *(*lookup)(const struct adp_match *, struct flow *,
                               struct adp_match_scratch *);

    /* True if a rule of 'priority' or above matches on any bit of 'mask'. */
    bool (*reads)(const struct adp_match *, const struct flow *mask,
                  int priority);

    /* Bytes that it takes. */
    size_t (*size)(const struct adp_match *);
};

/* Head of each matcher. */
struct adp_match {
    const struct adp_match_class *class;
};

extern const struct adp_match_class adp_match_linear_class;

/* A rule that comes ('old' is NULL), goes ('new' is NULL) or takes the place
 * of another of the same priority and match. */
struct adp_match_change {
    struct adp_rule *old, *new;
};

/* Returns the matcher after 'changes', or NULL if no rule is left.  'old' may
 * be NULL; otherwise it is handed over to 'cow': readers may go on with it
 * until the garbage is freed.  Removals are best in the order of rising
 * priority, and then the others in the order of falling. */
struct adp_match *adp_match_update(struct adp_cow *, struct adp_match *old,
                                   const struct adp_match_change *changes,
                                   size_t n);

/* Unit tests: the same from nothing.  'rules' are as adp_rules_sort() sorts
 * them. */
struct adp_match *adp_match_create(struct adp_rule *const *rules, size_t n);
void adp_match_destroy(struct adp_match *);

static inline void
adp_match_for_each(const struct adp_match *match,
                   void (*cb)(struct adp_rule *, void *aux), void *aux)
{
    match->class->for_each(match, cb, aux);
}

static inline struct adp_rule *
adp_match_lookup(const struct adp_match *match, struct flow *flow,
                 struct adp_match_scratch *scratch)
{
    return match->class->lookup(match, flow, scratch);
}

static inline bool
adp_match_reads(const struct adp_match *match, const struct flow *mask,
                int priority)
{
    return match->class->reads(match, mask, priority);
}

#endif /* adp-match.h */

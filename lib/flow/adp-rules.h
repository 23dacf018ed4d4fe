/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_RULES_H
#define ADP_RULES_H 1

/* The plain values that a program is compiled from: rules and groups.
 *
 * An adp_rule is one OpenFlow flow as the engine sees it: where it stands
 * (table, priority), what it matches, and what it does (an op list, translated
 * once from the flow's ofpacts) and how often it was hit, or what clauses of
 * conjunctions it stands for.  An adp_group is one
 * OpenFlow group with its buckets and the slot table of a "select" group.
 *
 * Both are immutable once created, but for their counters.  They are
 * reference counted; the last unref frees them after an RCU grace period, so a
 * reader that found one through a program may use it until it quiesces without
 * holding a reference.
 *
 * 'owner' is the caller's: the engine never looks at it.  'owner_free', if not
 * NULL, is called with it when the rule or group is freed, in the thread that
 * runs RCU callbacks.
 *
 * Thread-safety: create, ref and unref from any thread.
 */

#include "adp-group-hash.h"
#include "adp-metadata.h"
#include "adp-op.h"
#include "adp-punt.h"
#include "adp-reads.h"
#include "adp-stats.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/list.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-group.h"
#include "ovs-atomic.h"

struct adp_conj_clause {
    uint32_t id;                /* conj_id. */
    uint8_t clause;             /* 0-based. */
    uint8_t n_clauses;
};

/* By ID, number of clauses, clause. */
int adp_conj_clause_compare(const struct adp_conj_clause *,
                            const struct adp_conj_clause *);

/* A rule stands for clauses of conjunctions, or it acts: it has ops then, and
 * counters.  There are very many of the former, so each kind takes no more
 * memory than it needs. */
struct adp_rule {
    struct ovs_refcount ref_cnt;
    int priority;
    ovs_be64 cookie;
    const struct minimatch *match;
    uint64_t seq : 40;          /* Rises from rule to rule created. */
    uint64_t n_conjs : 24;      /* 0: it acts. */
    uint32_t match_hash;        /* minimatch_hash() of 'match'. */
    uint32_t metadata : 17;     /* That it matches on: adp-metadata.h. */
    uint32_t reads : 7;         /* ADP_READS_*. */
    uint32_t table_id : 8;

    void *owner;
    void (*owner_free)(void *owner);
};
BUILD_ASSERT_DECL(ADP_METADATA_BEYOND < 1u << 17);
BUILD_ASSERT_DECL(ADP_N_READS <= 7);

struct adp_clause_rule {
    struct adp_rule up;
    struct adp_conj_clause conjs[]; /* In the order of
                                     * adp_conj_clause_compare(), each once. */
};

struct adp_acting_rule {
    struct adp_rule up;
    struct adp_op_list ops;
    struct adp_counters counters;
    struct adp_op room[];       /* For the ops. */
};

/* Of a rule that stands for clauses: 'n_conjs' of them. */
static inline const struct adp_conj_clause *
adp_rule_conjs(const struct adp_rule *rule)
{
    return CONTAINER_OF(rule, struct adp_clause_rule, up)->conjs;
}

/* The next two are for rules that act. */

static inline const struct adp_op_list *
adp_rule_ops(const struct adp_rule *rule)
{
    return &CONTAINER_OF(rule, struct adp_acting_rule, up)->ops;
}

static inline struct adp_counters *
adp_rule_counters(struct adp_rule *rule)
{
    return &CONTAINER_OF(rule, struct adp_acting_rule, up)->counters;
}

/* 'owner' passes to the rule.  With one, match and actions are taken to be
 * its, and to stay until 'owner_free'; without, they are copied. */
struct adp_rule *adp_rule_create(uint8_t table_id, int priority,
                                 const struct minimatch *, ovs_be64 cookie,
                                 const struct ofpact *, size_t ofpacts_len,
                                 void *owner, void (*owner_free)(void *));
/* One of the same place and actions as 'rule', which acts, without an
 * owner. */
struct adp_rule *adp_rule_clone(const struct adp_rule *rule);
struct adp_rule *adp_rule_ref(const struct adp_rule *);
void adp_rule_unref(struct adp_rule *);
bool adp_rule_try_ref(const struct adp_rule *);
/* Somebody waits for the end of the rule, which acts and is in no program any
 * more: he is told then what was counted.  Who holds rules for later use lets
 * go of those that are awaited. */
void adp_rule_await_end(struct adp_rule *);
static inline bool
adp_rule_is_awaited(const struct adp_rule *rule)
{
    bool awaited;

    atomic_read_relaxed(&adp_rule_counters(CONST_CAST(struct adp_rule *,
                                                      rule))->awaited,
                        &awaited);
    return awaited;
}
/* How many are. */
uint64_t adp_rules_awaited(void);
/* As "table=T, priority=P,MATCH actions=ACTIONS".  The tables may be NULL. */
void adp_rule_format(const struct adp_rule *, struct ds *);
void adp_rule_format_match(const struct adp_rule *,
                           const struct ofputil_port_map *, struct ds *);
/* The first reason for which the rule's actions punt every packet that gets
 * to them, or ADP_PUNT_NONE. */
enum adp_punt adp_rule_punt(const struct adp_rule *);
/* Is there a learn() among its actions?  (Not: in groups that it leads to.) */
bool adp_rule_learns(const struct adp_rule *);
/* By descending priority, then in the order of creation. */
void adp_rules_sort(struct adp_rule **, size_t n);
/* Do both have the same table, priority and match? */
bool adp_rule_same_place(const struct adp_rule *, const struct adp_rule *);
/* Do both do the same with packets? */
bool adp_rule_same_actions(const struct adp_rule *, const struct adp_rule *);

struct adp_bucket {
    struct adp_group *group;    /* That it is part of. */
    uint32_t bucket_id;
    uint16_t weight;
    void *source;               /* The struct ofputil_bucket that it was made
                                 * from: the caller's, as 'owner' is. */
    ofp_port_t watch_port;      /* OFPP_ANY if none. */
    uint32_t watch_group;       /* OFPG_ANY if none. */
    uint32_t identity;          /* select: hash of the actions. */
    struct adp_op_list ops;
    struct adp_counters counters;
};

/* In place of the index of a bucket: the group with each of its buckets. */
#define ADP_BUCKET_ALL UINT32_MAX

struct adp_group {
    struct ovs_refcount ref_cnt;
    uint32_t group_id;
    uint8_t type;               /* OFPGT11_*. */
    struct adp_bucket *buckets;
    size_t n_buckets;
    struct adp_group_hash hash; /* select: what decides. */
    union {                     /* select, by slots: bucket index of each. */
        uint16_t *narrow_slots; /* Up to ADP_MAX_NARROW_BUCKETS. */
        uint32_t *wide_slots;
    };
    size_t n_slots;             /* A power of 4, or 0 if no bucket has a
                                 * weight. */
    bool watches;               /* A bucket watches a port or a group. */
    bool takes_pass;            /* Stock has the datapath hash the packet for
                                 * it, and begins another pass. */
    uint32_t reads;             /* ADP_READS_* of choice and actions. */
    struct adp_counters counters;   /* Of packets that took all buckets. */

    void *owner;
    void (*owner_free)(void *owner);
};

/* 'props' may be NULL: none.  'old' is the group whose place this one takes,
 * or NULL: it is only read.
 *
 * The n_slots of a "select" group for 'n' buckets and the bucket for a packet
 * are decided once, here: a slot table in the manner of Maglev (Eisenbud et
 * al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI
 * 2016), with weights.  A bucket is known by its actions, not by its number,
 * so that buckets keep what they had in 'old': when one of N equal ones comes
 * or goes, 1/N of all slots change hands.  Without 'old' the slots depend on
 * the buckets alone, and are the same in any daemon. */
struct adp_group *adp_group_create(uint32_t group_id, uint8_t type,
                                   const struct ovs_list *ofputil_buckets,
                                   const struct ofputil_group_props *props,
                                   const struct adp_group *old,
                                   void *owner, void (*owner_free)(void *));
#define ADP_MAX_NARROW_BUCKETS UINT16_MAX

static inline size_t
adp_group_slot_size(const struct adp_group *group)
{
    return (group->n_buckets > ADP_MAX_NARROW_BUCKETS ? sizeof(uint32_t)
            : sizeof(uint16_t));
}

/* The index of the bucket in 'slot', which is below n_slots. */
static inline uint32_t
adp_group_slot(const struct adp_group *group, size_t slot)
{
    return (group->n_buckets > ADP_MAX_NARROW_BUCKETS
            ? group->wide_slots[slot] : group->narrow_slots[slot]);
}

struct adp_group *adp_group_ref(const struct adp_group *);
bool adp_group_try_ref(const struct adp_group *);
void adp_group_unref(struct adp_group *);
/* Do both do the same with packets? */
bool adp_group_same_meaning(const struct adp_group *,
                            const struct adp_group *);
/* The bucket of the first group that has the actions of bucket number 'index'
 * of 'old', whatever its number, if it is near; or NULL. */
const struct adp_bucket *adp_group_find_bucket(const struct adp_group *,
                                               const struct adp_group *old,
                                               uint32_t index);

#endif /* adp-rules.h */

/* SPDX-License-Identifier: Apache-2.0 */

/* Groups and the slot tables of "select" groups.
 *
 * Each bucket has its own order in which it wants slots, a permutation of all
 * of them.  Buckets take turns, the heavier ones more often, and take the
 * first slot on their list that is still free, until all have their share.
 * The heaviest have a turn in each round, the others in as many as their
 * weight is part of the top one, the first of all included: so everybody has a
 * slot, however light.  Who has no turn, or has all that it is due, takes no
 * time: there may be 10,000 that are waiting for one in 65,535 rounds.
 *
 * A group that takes another's place begins with the other's slots: who has
 * more than its share of them gives up what those want first who have less,
 * and nothing else changes hands.  The number of slots follows the number of
 * buckets in steps by four, so that a larger table can begin as copies of the
 * smaller one. */

#include <config.h>
#include "adp-rules.h"
#include "adp-rcu.h"
#include "coverage.h"
#include "hash.h"
#include "openvswitch/ofp-group.h"
#include "ovs-rcu.h"
#include "util.h"

/* Buckets of equal weight differ by one slot at most, so that 32 or more for
 * each keep the shares even to 3 %, less than what chance makes of them with
 * 1,000 connections for each. */
#define SLOTS_PER_BUCKET 32
enum { MIN_SLOTS = 1 << 10, MAX_SLOTS = 1 << 22 };

/* Who looks for slots in an order by chance looks at some ln(n_slots) for each
 * that he gets, which is up to 16.  Whoever chooses addresses of endpoints may
 * have all want the same order, in which each looks at what all others took.
 * After so many looks for each slot the first that is to be had will do: the
 * shares are exact all the same. */
enum { MAX_LOOKS_PER_SLOT = 32 };

/* Slots that were looked at for somebody to take them. */
COVERAGE_DEFINE(adp_group_look);

/* How many times the slots that it needs a group keeps when buckets leave: to
 * go back to fewer moves nearly everybody. */
#define MAX_SPARE_SLOTS 16

static uint32_t
choose_n_slots(size_t n_buckets, const struct adp_group *old)
{
    uint32_t n_slots = MIN_SLOTS;

    while (n_slots < MAX_SLOTS && n_slots < n_buckets * SLOTS_PER_BUCKET) {
        n_slots *= 4;
    }
    return (old && old->n_slots > n_slots
            && old->n_slots <= n_slots * MAX_SPARE_SLOTS
            ? old->n_slots : n_slots);
}

/* A bucket on its way through the slots. */
struct taker {
    uint32_t bucket;            /* Index. */
    uint32_t identity;          /* The bucket's. */
    uint32_t next;              /* The slot that it wants next. */
    uint32_t skip;              /* Then this further, modulo n_slots: odd. */
    uint32_t weight;
    uint32_t share;             /* How many slots it is due, */
    uint32_t n_had;             /* how many it has, */
    uint32_t n_turns;           /* and how often it took one. */
};

struct takers {
    struct taker *takers;       /* In an order that doesn't depend on that of
                                 * the buckets. */
    size_t n;
    uint32_t top_weight;
    uint32_t *by_bucket;        /* Index in 'takers', of those with weight. */
    uint64_t n_looks;           /* At slots that somebody wants. */
    uint32_t n_passed;          /* Slots, from 0 on, that can't be had. */
};

/* The text of the actions, since their binary form has pointers in it. */
static uint32_t
hash_actions(const struct adp_op_list *ops)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params fp = { .s = &s };
    uint32_t hash;

    ofpacts_format(ops->ofpacts, ops->ofpacts_len, &fp);
    hash = hash_bytes(ds_cstr(&s), s.length, 0);
    ds_destroy(&s);
    return hash;
}

static int
compare_takers(const void *a_, const void *b_)
{
    const struct taker *a = a_;
    const struct taker *b = b_;

    return (a->identity != b->identity ? (a->identity < b->identity ? -1 : 1)
            : a->bucket < b->bucket ? -1 : a->bucket > b->bucket);
}

/* The buckets of 'group' that have a weight. */
static void
takers_init(struct takers *ts, const struct adp_group *group)
{
    *ts = (struct takers) {
        .takers = xmalloc(group->n_buckets * sizeof *ts->takers),
        .by_bucket = xmalloc(group->n_buckets * sizeof *ts->by_bucket),
    };
    for (size_t i = 0; i < group->n_buckets; i++) {
        const struct adp_bucket *bucket = &group->buckets[i];

        if (bucket->weight) {
            ts->takers[ts->n++] = (struct taker) {
                .bucket = i,
                .identity = bucket->identity,
                .weight = bucket->weight,
            };
            ts->top_weight = MAX(ts->top_weight, bucket->weight);
        }
    }
    qsort(ts->takers, ts->n, sizeof *ts->takers, compare_takers);
    for (size_t i = 0; i < ts->n; i++) {
        ts->by_bucket[ts->takers[i].bucket] = i;
    }
}

static void
takers_uninit(struct takers *ts)
{
    free(ts->takers);
    free(ts->by_bucket);
}

/* What each wants, and in which order. */
static void
takers_set_order(struct takers *ts, uint32_t n_slots)
{
    uint32_t n_same = 0;

    for (size_t i = 0; i < ts->n; i++) {
        struct taker *t = &ts->takers[i];

        n_same = (i && t->identity == ts->takers[i - 1].identity
                  ? n_same + 1 : 0);
        t->next = hash_2words(t->identity, n_same) & (n_slots - 1);
        t->skip = (hash_2words(n_same, t->identity) & (n_slots - 1)) | 1;
    }
}

/* Turns that a bucket of 'weight' has in the first 'n_rounds' rounds. */
static uint32_t
turns_until(const struct takers *ts, uint32_t weight, uint32_t n_rounds)
{
    return (n_rounds
            ? 1 + (uint64_t) (n_rounds - 1) * weight / ts->top_weight : 0);
}

/* The round, from 1 on, of turn 'n', from 1 on. */
static uint32_t
round_of_turn(const struct takers *ts, uint32_t weight, uint32_t n)
{
    return 1 + DIV_ROUND_UP((uint64_t) (n - 1) * ts->top_weight, weight);
}

static uint64_t
all_turns_until(const struct takers *ts, uint32_t n_rounds)
{
    uint64_t n = 0;

    for (size_t i = 0; i < ts->n; i++) {
        n += turns_until(ts, ts->takers[i].weight, n_rounds);
    }
    return n;
}

/* What they get in as many rounds as there are slots for, and then in order,
 * until no slot is left. */
static void
takers_set_shares(struct takers *ts, uint32_t n_slots)
{
    uint32_t low = 0, high = n_slots;   /* The heaviest has one in each. */

    while (low < high) {
        uint32_t mid = high - (high - low) / 2;

        if (all_turns_until(ts, mid) <= n_slots) {
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    n_slots -= all_turns_until(ts, low);
    for (size_t i = 0; i < ts->n; i++) {
        struct taker *t = &ts->takers[i];
        uint32_t more = turns_until(ts, t->weight, low + 1);

        t->share = turns_until(ts, t->weight, low);
        if (more > t->share && n_slots) {
            t->share = more;
            n_slots--;
        }
    }
}

static size_t
slots_size(const struct adp_group *group)
{
    return group->n_slots * adp_group_slot_size(group);
}

static uint32_t
free_slot(const struct adp_group *group)
{
    return (adp_group_slot_size(group) == sizeof(uint16_t)
            ? UINT16_MAX : UINT32_MAX);
}

static void
slot_set(struct adp_group *group, size_t slot, uint32_t bucket)
{
    if (adp_group_slot_size(group) == sizeof(uint16_t)) {
        group->narrow_slots[slot] = bucket;
    } else {
        group->wide_slots[slot] = bucket;
    }
}

/* The buckets of 'ts' that are, under other numbers, buckets of 'old'. */
static uint32_t *
map_old_buckets(const struct takers *ts, const struct adp_group *old)
{
    uint32_t *map = xmalloc(old->n_buckets * sizeof *map);
    struct takers olds;
    size_t i = 0;

    memset(map, 0xff, old->n_buckets * sizeof *map);
    takers_init(&olds, old);
    for (size_t j = 0; j < olds.n; j++) {
        while (i < ts->n
               && ts->takers[i].identity < olds.takers[j].identity) {
            i++;
        }
        if (i < ts->n && ts->takers[i].identity == olds.takers[j].identity) {
            map[olds.takers[j].bucket] = ts->takers[i++].bucket;
        }
    }
    takers_uninit(&olds);
    return map;
}

/* Gives buckets that were there before the slots that they had. */
static void
copy_slots(struct adp_group *group, struct takers *ts,
           const struct adp_group *old)
{
    uint32_t *map = map_old_buckets(ts, old);

    for (size_t i = 0; i < group->n_slots; i++) {
        uint32_t bucket = map[adp_group_slot(old, i & (old->n_slots - 1))];

        if (bucket != UINT32_MAX) {
            slot_set(group, i, bucket);
            ts->takers[ts->by_bucket[bucket]].n_had++;
        }
    }
    free(map);
}

/* Gives 't' the slot if it is free or somebody has it beyond his share. */
static bool
give_slot(struct adp_group *group, struct takers *ts, uint32_t slot,
          struct taker *t)
{
    uint32_t bucket = adp_group_slot(group, slot);
    struct taker *owner = (bucket == free_slot(group) ? NULL
                           : &ts->takers[ts->by_bucket[bucket]]);

    ts->n_looks++;
    if (owner && owner->n_had <= owner->share) {
        return false;
    }
    if (owner) {
        owner->n_had--;
    }
    slot_set(group, slot, t->bucket);
    t->n_had++;
    return true;
}

/* Gives 't' the slot that it wants most among those that are to be had.  Who
 * gave up what he had too much never has too much again, so slots that were
 * passed by need no second look. */
static void
take_slot(struct adp_group *group, struct takers *ts, struct taker *t)
{
    while (ts->n_looks < group->n_slots * MAX_LOOKS_PER_SLOT) {
        if (give_slot(group, ts, t->next, t)) {
            return;
        }
        t->next = (t->next + t->skip) & (group->n_slots - 1);
    }
    while (!give_slot(group, ts, ts->n_passed, t)) {
        ts->n_passed++;
    }
}

/* Whose turn it is, of those that lack slots. */
struct turns {
    uint32_t round;
    uint32_t *heaviest;         /* Indexes, in order: in each round. */
    size_t n_heaviest;
    uint64_t *others;           /* A heap of turn_key()s. */
    size_t n_others;
};

/* Turns come by round, and in one by index. */
static uint64_t
turn_key(uint32_t round, uint32_t index)
{
    return (uint64_t) round << 32 | index;
}

/* Restores the heap after its top has changed. */
static void
sink_top(struct turns *turns)
{
    uint64_t *keys = turns->others;
    uint64_t key = keys[0];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < turns->n_others && keys[child + 1] < keys[child]) {
            child++;
        }
        if (child >= turns->n_others || keys[child] >= key) {
            break;
        }
        keys[i] = keys[child];
        i = child;
    }
    keys[i] = key;
}

static void
turns_init(struct turns *turns, const struct takers *ts)
{
    *turns = (struct turns) {
        .round = 1,
        .heaviest = xmalloc(ts->n * sizeof *turns->heaviest),
        .others = xmalloc(ts->n * sizeof *turns->others),
    };
    for (size_t i = 0; i < ts->n; i++) {
        const struct taker *t = &ts->takers[i];

        if (t->n_had < t->share) {
            if (t->weight == ts->top_weight) {
                turns->heaviest[turns->n_heaviest++] = i;
            } else {
                /* In ascending order, which is a heap. */
                turns->others[turns->n_others++] = turn_key(1, i);
            }
        }
    }
}

static void
turns_uninit(struct turns *turns)
{
    free(turns->heaviest);
    free(turns->others);
}

/* The turns of the others that come before 'key'. */
static void
take_turns_before(struct adp_group *group, struct takers *ts,
                  struct turns *turns, uint64_t key)
{
    while (turns->n_others && turns->others[0] < key) {
        uint32_t i = turns->others[0];
        struct taker *t = &ts->takers[i];

        take_slot(group, ts, t);
        t->n_turns++;
        if (t->n_had < t->share) {
            turns->others[0] = turn_key(
                round_of_turn(ts, t->weight, t->n_turns + 1), i);
        } else {
            turns->others[0] = turns->others[--turns->n_others];
        }
        sink_top(turns);
    }
}

static void
take_turns(struct adp_group *group, struct takers *ts, struct turns *turns)
{
    size_t n = 0;

    for (size_t i = 0; i < turns->n_heaviest; i++) {
        uint32_t index = turns->heaviest[i];
        struct taker *t = &ts->takers[index];

        take_turns_before(group, ts, turns, turn_key(turns->round, index));
        take_slot(group, ts, t);
        if (t->n_had < t->share) {
            turns->heaviest[n++] = index;
        }
    }
    turns->n_heaviest = n;
    turns->round++;
    take_turns_before(group, ts, turns,
                      n ? turn_key(turns->round, 0) : UINT64_MAX);
}

static void
fill_slots(struct adp_group *group, struct takers *ts)
{
    struct turns turns;

    turns_init(&turns, ts);
    while (turns.n_heaviest || turns.n_others) {
        take_turns(group, ts, &turns);
    }
    turns_uninit(&turns);
    COVERAGE_ADD(adp_group_look, ts->n_looks);
}

static void
group_init_slots(struct adp_group *group, const struct adp_group *old)
{
    struct takers ts;

    takers_init(&ts, group);
    if (ts.n) {
        group->n_slots = choose_n_slots(group->n_buckets, old);
        group->narrow_slots = xmalloc(slots_size(group));
        memset(group->narrow_slots, 0xff, slots_size(group));
        takers_set_order(&ts, group->n_slots);
        takers_set_shares(&ts, group->n_slots);
        if (old && old->n_slots && old->n_slots <= group->n_slots) {
            copy_slots(group, &ts, old);
        }
        fill_slots(group, &ts);
    }
    takers_uninit(&ts);
}

/* Stock does if 256 hash values suffice to give the lightest bucket one. */
static bool
takes_pass(const struct adp_group *group)
{
    uint64_t total = 0;
    uint32_t least = UINT32_MAX;

    for (size_t i = 0; i < group->n_buckets; i++) {
        uint32_t weight = group->buckets[i].weight;

        total += weight;
        if (weight) {
            least = MIN(least, weight);
        }
    }
    return total && total <= UINT64_C(256) * least;
}

static void
bucket_init(struct adp_bucket *bucket, struct adp_group *group,
            const struct ofputil_bucket *src)
{
    *bucket = (struct adp_bucket) {
        .group = group,
        .bucket_id = src->bucket_id,
        .weight = src->weight,
        .watch_port = src->watch_port,
        .watch_group = src->watch_group,
        .source = CONST_CAST(struct ofputil_bucket *, src),
    };
    adp_op_list_init_set(&bucket->ops, src->ofpacts, src->ofpacts_len);
    if (group->type == OFPGT11_SELECT) {
        bucket->identity = hash_actions(&bucket->ops);
    }
    adp_counters_init(&bucket->counters, ADP_COUNTED_BUCKET);
}

struct adp_group *
adp_group_create(uint32_t group_id, uint8_t type,
                 const struct ovs_list *ofputil_buckets,
                 const struct ofputil_group_props *props,
                 const struct adp_group *old, void *owner,
                 void (*owner_free)(void *))
{
    struct adp_group *group = xzalloc(sizeof *group);
    const struct ofputil_bucket *src;
    size_t i = 0;

    ovs_refcount_init(&group->ref_cnt);
    group->group_id = group_id;
    group->type = type;
    group->n_buckets = ovs_list_size(ofputil_buckets);
    group->buckets = xmalloc(group->n_buckets * sizeof *group->buckets);
    LIST_FOR_EACH (src, list_node, ofputil_buckets) {
        struct adp_bucket *bucket = &group->buckets[i++];

        bucket_init(bucket, group, src);
        group->watches |= (bucket->watch_port != OFPP_ANY
                           || bucket->watch_group != OFPG_ANY);
        group->reads |= adp_reads_of_actions(bucket->ops.ofpacts,
                                             bucket->ops.ofpacts_len);
    }
    if (type == OFPGT11_SELECT) {
        adp_group_hash_init(&group->hash, group_id, props);
        group->reads |= adp_group_hash_reads(&group->hash);
        if (adp_group_hash_is_by_slots(&group->hash)) {
            group_init_slots(group, old);
            group->takes_pass = takes_pass(group);
        }
    }
    adp_counters_init(&group->counters, ADP_COUNTED_GROUP);
    group->owner = owner;
    group->owner_free = owner_free;
    return group;
}

struct adp_group *
adp_group_ref(const struct adp_group *group_)
{
    struct adp_group *group = CONST_CAST(struct adp_group *, group_);

    if (group) {
        ovs_refcount_ref(&group->ref_cnt);
    }
    return group;
}

bool
adp_group_try_ref(const struct adp_group *group_)
{
    struct adp_group *group = CONST_CAST(struct adp_group *, group_);

    return ovs_refcount_try_ref_rcu(&group->ref_cnt);
}

static void
group_free(struct adp_group *group)
{
    if (group->owner_free) {
        group->owner_free(group->owner);
    }
    for (size_t i = 0; i < group->n_buckets; i++) {
        adp_op_list_uninit(&group->buckets[i].ops);
    }
    adp_group_hash_uninit(&group->hash);
    free(group->buckets);
    free(group->narrow_slots);  /* Or the wide ones. */
    free(group);
    adp_rcu_breathe();
}

void
adp_group_unref(struct adp_group *group)
{
    if (group && ovs_refcount_unref(&group->ref_cnt) == 1) {
        ovsrcu_postpone(group_free, group);
    }
}

static bool
same_bucket(const struct adp_bucket *a, const struct adp_bucket *b)
{
    return (a->bucket_id == b->bucket_id
            && a->weight == b->weight
            && a->watch_port == b->watch_port
            && a->watch_group == b->watch_group
            && ofpacts_equal(a->ops.ofpacts, a->ops.ofpacts_len,
                             b->ops.ofpacts, b->ops.ofpacts_len));
}

bool
adp_group_same_meaning(const struct adp_group *a, const struct adp_group *b)
{
    if (a->group_id != b->group_id || a->type != b->type
        || !adp_group_hash_equal(&a->hash, &b->hash)
        || a->n_buckets != b->n_buckets) {
        return false;
    }
    for (size_t i = 0; i < a->n_buckets; i++) {
        if (!same_bucket(&a->buckets[i], &b->buckets[i])) {
            return false;
        }
    }
    return true;
}

static bool
has_actions_of(const struct adp_bucket *a, const struct adp_bucket *b)
{
    return (a->identity == b->identity
            && ofpacts_equal(a->ops.ofpacts, a->ops.ofpacts_len,
                             b->ops.ofpacts, b->ops.ofpacts_len));
}

/* Buckets that come and go push the others some places up or down: looks go
 * from 'index' both ways.  Where more came or went at once than this, who asks
 * for each of many buckets would wait too long. */
enum { MAX_SHIFT = 1024 };

const struct adp_bucket *
adp_group_find_bucket(const struct adp_group *group,
                      const struct adp_group *old, uint32_t index)
{
    const struct adp_bucket *wanted = &old->buckets[index];

    for (size_t shift = 0; shift <= MAX_SHIFT; shift++) {
        size_t up = index + shift, down = index - shift;

        if (up < group->n_buckets
            && has_actions_of(&group->buckets[up], wanted)) {
            return &group->buckets[up];
        } else if (down < group->n_buckets
                   && has_actions_of(&group->buckets[down], wanted)) {
            return &group->buckets[down];
        }
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Groups and the slot tables of "select" groups.
 *
 * Each bucket has its own order in which it wants slots, a permutation of all
 * of them.  Buckets take turns, the heavier ones more often, and take the
 * first slot on their list that is still free, until all are taken.  When a
 * bucket goes, the others take over what it had and keep nearly all of their
 * own, provided that the number of slots stays: it only depends on the order
 * of magnitude of the number of buckets. */

#include <config.h>
#include "adp-rules.h"
#include "adp-rcu.h"
#include "hash.h"
#include "openvswitch/ofp-group.h"
#include "ovs-rcu.h"
#include "util.h"

/* Buckets of equal weight differ by one slot at most, so that 32 or more for
 * each keep the shares even to 3 %, less than what chance makes of them with
 * 1,000 connections for each. */
#define SLOTS_PER_BUCKET 32
static const uint32_t slot_counts[] = {
    1021, 4093, 16381, 65521, 262139, 1048573, 4194301,
};

static uint32_t
choose_n_slots(size_t n_buckets)
{
    size_t i = 0;

    while (i < ARRAY_SIZE(slot_counts) - 1
           && slot_counts[i] < n_buckets * SLOTS_PER_BUCKET) {
        i++;
    }
    return slot_counts[i];
}

/* A bucket on its way through the slots. */
struct taker {
    uint32_t bucket;            /* Index. */
    uint32_t identity;          /* Hash of the actions. */
    uint32_t next;              /* The slot that it wants next. */
    uint32_t skip;              /* Then this further, modulo n_slots. */
    uint32_t weight;
    uint32_t credit;            /* A slot costs as much as the top weight. */
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

/* Returns the takers for the buckets that have a weight, in an order that
 * doesn't depend on the order of the buckets. */
static struct taker *
create_takers(const struct adp_group *group, uint32_t n_slots, size_t *n)
{
    struct taker *takers = xmalloc(group->n_buckets * sizeof *takers);
    uint32_t n_same = 0;

    *n = 0;
    for (size_t i = 0; i < group->n_buckets; i++) {
        const struct adp_bucket *bucket = &group->buckets[i];

        if (bucket->weight) {
            takers[(*n)++] = (struct taker) {
                .bucket = i,
                .identity = hash_actions(&bucket->ops),
                .weight = bucket->weight,
            };
        }
    }
    qsort(takers, *n, sizeof *takers, compare_takers);

    for (size_t i = 0; i < *n; i++) {
        struct taker *t = &takers[i];

        n_same = i && t->identity == takers[i - 1].identity ? n_same + 1 : 0;
        t->next = hash_2words(t->identity, n_same) % n_slots;
        t->skip = hash_2words(n_same, t->identity) % (n_slots - 1) + 1;
    }
    return takers;
}

static size_t
slots_size(const struct adp_group *group)
{
    return group->n_slots * adp_group_slot_size(group);
}

static bool
slot_is_free(const struct adp_group *group, size_t slot)
{
    return (adp_group_slot_size(group) == sizeof(uint16_t)
            ? group->narrow_slots[slot] == UINT16_MAX
            : group->wide_slots[slot] == UINT32_MAX);
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

static void
fill_slots(struct adp_group *group, struct taker *takers, size_t n)
{
    size_t n_slots = group->n_slots;
    uint32_t top_weight = 0;
    size_t n_free = n_slots;

    for (size_t i = 0; i < n; i++) {
        top_weight = MAX(top_weight, takers[i].weight);
    }
    /* Everybody gets one slot in the first round, however light. */
    for (size_t i = 0; i < n; i++) {
        takers[i].credit = top_weight - takers[i].weight;
    }

    memset(group->narrow_slots, 0xff, slots_size(group));
    while (n_free) {
        for (size_t i = 0; i < n && n_free; i++) {
            struct taker *t = &takers[i];

            t->credit += t->weight;
            if (t->credit < top_weight) {
                continue;
            }
            t->credit -= top_weight;
            while (!slot_is_free(group, t->next)) {
                t->next += t->skip;
                t->next -= t->next >= n_slots ? n_slots : 0;
            }
            slot_set(group, t->next, t->bucket);
            n_free--;
        }
    }
}

static void
group_init_slots(struct adp_group *group)
{
    uint32_t n_slots = choose_n_slots(group->n_buckets);
    size_t n;
    struct taker *takers = create_takers(group, n_slots, &n);

    if (n) {
        group->n_slots = n_slots;
        group->narrow_slots = xmalloc(slots_size(group));
        fill_slots(group, takers, n);
    }
    free(takers);
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
    adp_counters_init(&bucket->counters, ADP_COUNTED_BUCKET);
}

struct adp_group *
adp_group_create(uint32_t group_id, uint8_t type,
                 const struct ovs_list *ofputil_buckets,
                 const struct ofputil_group_props *props, void *owner,
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
            group_init_slots(group);
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

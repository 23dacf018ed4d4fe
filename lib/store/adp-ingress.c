/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-ingress.h"

#include "adp-count.h"
#include "adp-pace.h"
#include "entropy.h"
#include "hash-product.h"
#include "openvswitch/hmap.h"
#include "openvswitch/packets.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "packets.h"

/* Looked at to find the one that leaves a full table. */
#define EVICT_SAMPLE 8

/* Tunnel metadata that OpenFlow can see, as words. */
#define KEY_LEN offsetof(struct flow_tnl, metadata)
#define KEY_WORDS (KEY_LEN / sizeof(uint64_t))
BUILD_ASSERT_DECL(KEY_LEN % sizeof(uint64_t) == 0);

/* One word has what it can't see, too: what counts of it. */
#define MASKED_WORD (offsetof(struct flow_tnl, flags) / sizeof(uint64_t))
static const union {
    struct {
        uint16_t flags;
        uint8_t ip_tos, ip_ttl;
        ovs_be16 tp_src, tp_dst;
    } fields;
    uint64_t word;
} key_mask = { { UINT16_MAX, IP_ECN_MASK, 0, 0, OVS_BE16_MAX } };
BUILD_ASSERT_DECL(offsetof(struct flow_tnl, flags) % sizeof(uint64_t) == 0);
BUILD_ASSERT_DECL(offsetof(struct flow_tnl, tp_dst) + sizeof(ovs_be16)
                  == (MASKED_WORD + 1) * sizeof(uint64_t));

/* Two lines are all that a packet needs. */
struct ingress_node {
    struct hmap_node node;
    uint64_t key[KEY_WORDS];
    struct adp_ingress up;
    long long int used;

    struct hmap_node number_node;       /* In 'numbers', once it has one. */
    bool numbered;
};
BUILD_ASSERT_DECL(offsetof(struct ingress_node, number_node)
                  <= 2 * CACHE_LINE_SIZE);

struct adp_ingress_table {
    struct hmap kinds;                  /* struct ingress_node, up to 'max'. */
    uint64_t secrets[KEY_WORDS + 1];    /* Of their hashes: so nobody can
                                         * choose metadata that meet in one
                                         * chain. */
    struct hmap numbers;                /* The same, by number. */
    size_t max;
    uint32_t next_number;
    struct hmap_position evict_hand, age_hand;
    struct adp_pace pace;               /* Of 'age_hand'. */
    atomic_uint64_t n, n_idle, n_evicted;
};

struct adp_ingress_table *
adp_ingress_table_create(size_t max)
{
    struct adp_ingress_table *t = xzalloc(sizeof *t);

    hmap_init(&t->kinds);
    hmap_init(&t->numbers);
    get_entropy_or_die(t->secrets, sizeof t->secrets);
    t->max = max;
    return t;
}

void
adp_ingress_table_destroy(struct adp_ingress_table *t)
{
    struct ingress_node *node;

    HMAP_FOR_EACH_POP (node, node, &t->kinds) {
        free_cacheline(node);
    }
    hmap_destroy(&t->kinds);
    hmap_destroy(&t->numbers);
    free(t);
}

/* There are no kinds of packets with options. */
static bool
has_key(const struct flow_tnl *tnl)
{
    return !tnl->metadata.present.map;
}

/* Fields are read as words, as nobody writes them meanwhile. */
static inline ALWAYS_INLINE uint64_t
key_word(const struct flow_tnl *tnl, size_t i)
{
    uint64_t word;

    memcpy(&word, (const char *) tnl + i * sizeof word, sizeof word);
    return i == MASKED_WORD ? word & key_mask.word : word;
}

static bool
is_kind_of(const struct ingress_node *node, const struct flow_tnl *tnl)
{
    uint64_t difference = 0;

    for (size_t i = 0; i < KEY_WORDS; i++) {
        difference |= node->key[i] ^ key_word(tnl, i);
    }
    return !difference;
}

/* Products that don't wait for each other; see hash_products_finish(). */
static uint32_t
hash_of(const struct adp_ingress_table *t, const struct flow_tnl *tnl)
{
    const uint64_t *secrets = t->secrets;
    uint64_t products = 0;

    for (size_t i = 0; i < KEY_WORDS; i += 2) {
        uint64_t odd = i + 1 < KEY_WORDS ? key_word(tnl, i + 1) : 0;

        products ^= hash_product(key_word(tnl, i) ^ secrets[i],
                                 odd ^ secrets[i + 1]);
    }
    return hash_products_finish(products);
}

/* 'hash' is that of 'tnl'. */
static struct ingress_node *
find(const struct adp_ingress_table *t, const struct flow_tnl *tnl,
     uint32_t hash)
{
    struct ingress_node *node;

    HMAP_FOR_EACH_WITH_HASH (node, node, hash, &t->kinds) {
        if (is_kind_of(node, tnl)) {
            return node;
        }
    }
    return NULL;
}

void
adp_ingress_fetch(const struct adp_ingress_table *t,
                  const struct flow_tnl *tnl, int stage, uint32_t *hash)
{
    struct hmap_node *const *bucket;

    if (!stage) {
        *hash = has_key(tnl) ? hash_of(t, tnl) : 0;
    }
    bucket = &t->kinds.buckets[*hash & t->kinds.mask];
    if (!stage) {
        OVS_PREFETCH(bucket);
    } else if (*bucket) {
        const char *node = (const char *) CONTAINER_OF(*bucket,
                                                       struct ingress_node,
                                                       node);

        OVS_PREFETCH_WRITE(node);
        OVS_PREFETCH_WRITE(node + CACHE_LINE_SIZE);
    }
}

struct adp_ingress *
adp_ingress_find(struct adp_ingress_table *t, const struct flow_tnl *tnl,
                 uint32_t hash, long long int now)
{
    struct ingress_node *node;

    if (!has_key(tnl) || !(node = find(t, tnl, hash))) {
        return NULL;
    }
    node->used = now;
    return &node->up;
}

static void
leave(struct adp_ingress_table *t, struct ingress_node *node,
      atomic_uint64_t *counter)
{
    hmap_remove(&t->kinds, &node->node);
    if (node->numbered) {
        hmap_remove(&t->numbers, &node->number_node);
    }
    adp_count_mine(&t->n, -1);
    adp_count_mine(counter, 1);
    ovsrcu_postpone(free_cacheline, node);
}

/* The next in turn, or NULL at the end of a round. */
static struct ingress_node *
next_in_turn(struct adp_ingress_table *t, struct hmap_position *hand)
{
    struct hmap_node *node = hmap_at_position(&t->kinds, hand);

    return node ? CONTAINER_OF(node, struct ingress_node, node) : NULL;
}

static void
evict(struct adp_ingress_table *t)
{
    struct ingress_node *oldest = NULL;

    for (int i = 0; i < EVICT_SAMPLE + 1; i++) {
        struct ingress_node *node = next_in_turn(t, &t->evict_hand);

        if (node && (!oldest || node->used < oldest->used)) {
            oldest = node;
        }
    }
    if (oldest) {
        leave(t, oldest, &t->n_evicted);
    }
}

static struct ingress_node *
add(struct adp_ingress_table *t, const struct flow_tnl *tnl, uint32_t hash)
{
    if (hmap_is_empty(&t->kinds)) {
        hmap_reserve(&t->kinds, t->max);        /* Never to grow again. */
        hmap_reserve(&t->numbers, t->max);
    } else if (hmap_count(&t->kinds) >= t->max) {
        evict(t);
    }

    struct ingress_node *node = xzalloc_cacheline(sizeof *node);
    for (size_t i = 0; i < KEY_WORDS; i++) {
        node->key[i] = key_word(tnl, i);
    }
    hmap_insert(&t->kinds, &node->node, hash);
    adp_count_mine(&t->n, 1);
    return node;
}

static bool
is_in_use(const struct adp_ingress_table *t, uint32_t number)
{
    const struct ingress_node *node;

    HMAP_FOR_EACH_IN_BUCKET (node, number_node, number, &t->numbers) {
        if (node->up.number == number) {
            return true;
        }
    }
    return false;
}

/* Gives 'node' a number that no other kind has, nor had lately.  A stranger's
 * packets can make so many kinds that numbers begin anew. */
static void
renumber(struct adp_ingress_table *t, struct ingress_node *node)
{
    uint32_t number;

    do {
        number = t->next_number++ & ADP_INGRESS_MAX_NUMBER;
    } while (is_in_use(t, number));

    if (node->numbered) {
        hmap_remove(&t->numbers, &node->number_node);
    }
    node->numbered = true;
    node->up.number = number;
    hmap_insert(&t->numbers, &node->number_node, number);
}

void
adp_ingress_vlan_key(struct flow_tnl *key, uint32_t ingress, ovs_be16 tci)
{
    memset(key, 0, sizeof *key);
    key->tun_id = htonll((uint64_t) ingress << 16 | ntohs(tci));
}

void
adp_ingress_set_next_number(struct adp_ingress_table *t, uint32_t number)
{
    t->next_number = number;
}

struct adp_ingress *
adp_ingress_set(struct adp_ingress_table *t, const struct flow_tnl *tnl,
                void *owner, ofp_port_t ofp_port, uint64_t serial,
                long long int now)
{
    if (!has_key(tnl)) {
        return NULL;
    }

    uint32_t hash = hash_of(t, tnl);
    struct ingress_node *node = find(t, tnl, hash);
    if (!node) {
        node = add(t, tnl, hash);
    }
    if (node->up.owner != owner || node->up.ofp_port != ofp_port) {
        /* Sessions of what it was before are never met again. */
        renumber(t, node);
    }
    node->up.owner = owner;
    node->up.ofp_port = ofp_port;
    node->up.serial = serial;
    node->used = now;
    return &node->up;
}

void
adp_ingress_age(struct adp_ingress_table *t, long long int now, size_t *left)
{
    size_t n_kinds = hmap_count(&t->kinds);
    size_t n = adp_pace(&t->pace, now, n_kinds, left);

    for (size_t i = 0; i < n && !hmap_is_empty(&t->kinds); i++) {
        struct ingress_node *node = next_in_turn(t, &t->age_hand);

        if (!node) {            /* The end of a round is none of 'n'. */
            node = next_in_turn(t, &t->age_hand);
        }
        if (node && now >= node->used + ADP_INGRESS_IDLE_MS) {
            leave(t, node, &t->n_idle);
            if (t->age_hand.offset) {
                /* The rest of its chain moves up. */
                t->age_hand.offset--;
            }
        }
    }
    if (n_kinds && hmap_is_empty(&t->kinds)) {
        hmap_shrink(&t->kinds);
        hmap_shrink(&t->numbers);
    }
}

void
adp_ingress_add_counts(const struct adp_ingress_table *t,
                       struct adp_ingress_counts *counts)
{
    counts->n += adp_counted(&t->n);
    counts->n_idle += adp_counted(&t->n_idle);
    counts->n_evicted += adp_counted(&t->n_evicted);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The groups of a program. */

#include <config.h>
#include "adp-program-private.h"
#include "adp-trie.h"
#include "hash.h"
#include "util.h"

struct group_node {
    uint64_t hash;              /* Of 'group_id'.  First, for adp-trie.h. */
    uint32_t group_id;
    struct adp_group *group;    /* Owned reference.  NULL: was removed. */
    uint64_t generation;        /* That it changed in. */
};

/* Groups that went are remembered up to this number beyond that of those that
 * are there. */
#define MAX_GONE 1024

static uint64_t
hash_group_id(uint32_t group_id)
{
    return hash_uint64(group_id) * UINT64_C(0x9e3779b97f4a7c15);
}

struct adp_group_map *
adp_group_map_create(struct adp_cow *cow)
{
    return adp_cow_alloc(cow, sizeof(struct adp_group_map));
}

static void
destroy_node(void *node_, void *aux OVS_UNUSED)
{
    struct group_node *node = node_;

    adp_group_unref(node->group);
    adp_cow_free(node);
}

void
adp_group_map_destroy(struct adp_group_map *map)
{
    adp_trie_for_each(map->nodes, destroy_node, NULL);
    adp_trie_destroy(map->nodes, NULL);
    adp_cow_free(map);
}

static struct group_node *
group_map_find(const struct adp_group_map *map, uint32_t group_id)
{
    uint64_t hash = hash_group_id(group_id);
    struct group_node *node;
    uint64_t slot;

    ADP_TRIE_FOR_EACH_CANDIDATE (node, slot, map->nodes, hash) {
        if (node->group_id == group_id) {
            return node;
        }
    }
    return NULL;
}

const struct adp_group *
adp_group_map_get(const struct adp_group_map *map, uint32_t group_id)
{
    const struct group_node *node = group_map_find(map, group_id);

    return node ? node->group : NULL;
}

uint64_t
adp_group_map_changed(const struct adp_group_map *map, uint32_t group_id)
{
    const struct group_node *node = group_map_find(map, group_id);

    return node ? node->generation : map->forgotten;
}

static void
unref_group(void *group)
{
    adp_group_unref(group);
}

struct gone_nodes {
    struct group_node **nodes;
    size_t n;
};

static void
collect_gone(void *node_, void *gone_)
{
    struct group_node *node = node_;
    struct gone_nodes *gone = gone_;

    if (!node->group) {
        gone->nodes[gone->n++] = node;
    }
}

/* Forgets all groups that went.  As far as is known, they have just
 * changed. */
static void
forget_gone(struct adp_cow *cow, struct adp_group_map *map,
            uint64_t generation)
{
    struct gone_nodes gone = {
        .nodes = xmalloc(map->n_gone * sizeof *gone.nodes),
    };

    adp_trie_for_each(map->nodes, collect_gone, &gone);
    ovs_assert(gone.n == map->n_gone);
    for (size_t i = 0; i < gone.n; i++) {
        adp_trie_remove(cow, &map->nodes, gone.nodes[i]);
        adp_cow_discard(cow, gone.nodes[i]);
    }
    free(gone.nodes);
    map->n_gone = 0;
    map->forgotten = generation;
}

struct adp_group_map *
adp_group_map_set(struct adp_cow *cow, struct adp_group_map *map,
                  uint32_t group_id, struct adp_group *group,
                  uint64_t generation)
{
    struct group_node *old = group_map_find(map, group_id);
    struct group_node *new;

    map = adp_cow_own(cow, map);
    if (old) {
        new = adp_cow_own(cow, old);
        adp_trie_replace(cow, &map->nodes, old, new);
        map->n_groups -= new->group != NULL;
        map->n_gone -= new->group == NULL;
        if (new->group) {
            adp_cow_postpone(cow, unref_group, new->group);
        }
    } else {
        new = adp_cow_alloc(cow, sizeof *new);
        new->hash = hash_group_id(group_id);
        new->group_id = group_id;
        adp_trie_insert(cow, &map->nodes, new);
    }
    new->group = adp_group_ref(group);
    new->generation = generation;
    map->n_groups += group != NULL;
    map->n_gone += group == NULL;
    if (map->n_gone > map->n_groups + MAX_GONE) {
        forget_gone(cow, map, generation);
    }
    return map;
}

/* Showing. */

static int
compare_groups(const void *a_, const void *b_)
{
    const struct adp_group *a = *(const struct adp_group *const *) a_;
    const struct adp_group *b = *(const struct adp_group *const *) b_;

    return a->group_id < b->group_id ? -1 : a->group_id > b->group_id;
}

static void
format_group(const struct adp_group *group, struct ds *s)
{
    for (size_t i = 0; i < group->n_buckets; i++) {
        const struct adp_bucket *bucket = &group->buckets[i];
        struct ofpact_format_params fp = { .s = s };

        if (bucket->ops.punt) {
            ds_put_format(s, "  punt (%s): ",
                          adp_punt_name(bucket->ops.punt));
            ds_put_format(s, "group_id=%"PRIu32",bucket_id=%"PRIu32
                          " actions=", group->group_id, bucket->bucket_id);
            ofpacts_format(bucket->ops.ofpacts, bucket->ops.ofpacts_len, &fp);
            ds_put_char(s, '\n');
        }
    }
}

struct group_array {
    const struct adp_group **groups;
    size_t n;
};

static void
collect_group(void *node_, void *array_)
{
    const struct group_node *node = node_;
    struct group_array *array = array_;

    if (node->group) {
        array->groups[array->n++] = node->group;
    }
}

void
adp_group_map_format(const struct adp_group_map *map, struct ds *s)
{
    struct group_array array = {
        .groups = xmalloc(map->n_groups * sizeof *array.groups),
    };
    size_t n_buckets = 0, slots_size = 0;

    adp_trie_for_each(map->nodes, collect_group, &array);
    qsort(array.groups, array.n, sizeof *array.groups, compare_groups);
    for (size_t i = 0; i < array.n; i++) {
        n_buckets += array.groups[i]->n_buckets;
        slots_size += (array.groups[i]->n_slots
                       * adp_group_slot_size(array.groups[i]));
    }

    ds_put_format(s, "groups: %"PRIuSIZE", %"PRIuSIZE" buckets, "
                  "%"PRIuSIZE" bytes of slots\n", array.n, n_buckets,
                  slots_size);
    for (size_t i = 0; i < array.n; i++) {
        format_group(array.groups[i], s);
    }
    free(array.groups);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The groups of a program. */

#include <config.h>
#include "adp-program-private.h"
#include "hash.h"
#include "util.h"

struct group_node {
    struct hmap_node hmap_node; /* In adp_group_map's 'groups'. */
    uint32_t group_id;
    struct adp_group *group;    /* Owned reference.  NULL: was removed. */
    uint64_t generation;        /* That it changed in. */
};

struct adp_group_map *
adp_group_map_create(void)
{
    struct adp_group_map *map = xmalloc(sizeof *map);

    hmap_init(&map->groups);
    return map;
}

void
adp_group_map_destroy(struct adp_group_map *map)
{
    struct group_node *node;

    HMAP_FOR_EACH_POP (node, hmap_node, &map->groups) {
        adp_group_unref(node->group);
        free(node);
    }
    hmap_destroy(&map->groups);
    free(map);
}

static struct group_node *
group_map_find(const struct adp_group_map *map, uint32_t group_id)
{
    struct group_node *node;

    HMAP_FOR_EACH_WITH_HASH (node, hmap_node, hash_int(group_id, 0),
                             &map->groups) {
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

    return node ? node->generation : 0;
}

void
adp_group_map_set(struct adp_group_map *map, uint32_t group_id,
                  struct adp_group *group, uint64_t generation)
{
    struct group_node *node = group_map_find(map, group_id);

    if (node) {
        adp_group_unref(node->group);
    } else {
        node = xmalloc(sizeof *node);
        node->group_id = group_id;
        hmap_insert(&map->groups, &node->hmap_node, hash_int(group_id, 0));
    }
    node->group = adp_group_ref(group);
    node->generation = generation;
}

struct adp_group_map *
adp_group_map_clone(const struct adp_group_map *src)
{
    struct adp_group_map *map = adp_group_map_create();
    const struct group_node *node;

    hmap_reserve(&map->groups, hmap_count(&src->groups));
    HMAP_FOR_EACH (node, hmap_node, &src->groups) {
        adp_group_map_set(map, node->group_id, node->group, node->generation);
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

void
adp_group_map_format(const struct adp_group_map *map, struct ds *s)
{
    const struct adp_group **groups = xmalloc(hmap_count(&map->groups)
                                              * sizeof *groups);
    const struct group_node *node;
    size_t n_buckets = 0, n_slots = 0, n = 0;

    HMAP_FOR_EACH (node, hmap_node, &map->groups) {
        if (node->group) {
            groups[n++] = node->group;
            n_buckets += node->group->n_buckets;
            n_slots += node->group->n_slots;
        }
    }
    qsort(groups, n, sizeof *groups, compare_groups);

    ds_put_format(s, "groups: %"PRIuSIZE", %"PRIuSIZE" buckets, "
                  "%"PRIuSIZE" bytes of slots\n",
                  n, n_buckets, n_slots * sizeof *groups[0]->slots);
    for (size_t i = 0; i < n; i++) {
        format_group(groups[i], s);
    }
    free(groups);
}

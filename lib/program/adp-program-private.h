/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PROGRAM_PRIVATE_H
#define ADP_PROGRAM_PRIVATE_H 1

/* How adp_compile() makes a program from the one before and a delta.
 *
 * The parts of a program are changed by copying, see adp-cow.h: they are
 * immutable as soon as a program has them, and what doesn't change is shared
 * with the programs before and after.  A program frees what its successor
 * lacks, the last one frees the rest.
 *
 * Thread-safety: before publication only.
 */

#include "adp-cow.h"
#include "adp-program.h"
#include "adp-trie.h"

/* A rule that comes or goes. */
struct adp_rule_change {
    struct hmap_node hmap_node; /* By address, in adp_delta's 'rules'. */
    struct adp_rule *rule;      /* Owned reference. */
    bool add;                   /* Otherwise remove. */
};

/* What happens to a group. */
struct adp_group_change {
    struct hmap_node hmap_node; /* By ID, in adp_delta's 'groups'. */
    uint32_t group_id;
    struct adp_group *group;    /* Owned reference.  NULL: removed. */
};

struct adp_delta {
    struct hmap rules;          /* Contains "struct adp_rule_change"s. */
    struct hmap groups;         /* Contains "struct adp_group_change"s. */
    bool has_misses;
    int8_t misses[ADP_N_TABLES];    /* enum ofputil_table_miss, -1: as it
                                     * was. */
    bool has_answers;
    struct adp_answers answers;
    bool has_declared;
    uint32_t declared[ADP_N_TABLES];
};

/* What there is of something in a program, to know when the last goes. */
struct adp_program_counts {
    uint32_t reads[ADP_N_READS];
    uint32_t learns[256];       /* learn() actions, by table written to. */
    size_t op_bytes;            /* Ops of rules and groups. */
};

/* The groups of a program, by group_id. */
struct adp_group_map {
    adp_trie nodes;             /* Of "struct group_node"s. */
    size_t n_groups;
    size_t n_gone;              /* Nodes of groups that went. */
    uint64_t forgotten;         /* Generation in which nodes of groups that
                                 * went were last dropped. */
};

struct adp_group_map *adp_group_map_create(struct adp_cow *);
void adp_group_map_destroy(struct adp_group_map *);
/* Returns the map after the change.  Takes a reference to the group, which
 * may be NULL. */
struct adp_group_map *adp_group_map_set(struct adp_cow *,
                                        struct adp_group_map *,
                                        uint32_t group_id, struct adp_group *,
                                        uint64_t generation);
const struct adp_group *adp_group_map_get(const struct adp_group_map *,
                                          uint32_t group_id);
uint64_t adp_group_map_changed(const struct adp_group_map *,
                               uint32_t group_id);
void adp_group_map_format(const struct adp_group_map *, struct ds *);

#endif /* adp-program-private.h */

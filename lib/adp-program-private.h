/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PROGRAM_PRIVATE_H
#define ADP_PROGRAM_PRIVATE_H 1

/* How adp_compile() makes the parts of a program.
 *
 * Tables and the map of groups are immutable as soon as a program has them,
 * and shared between programs by reference.
 *
 * Thread-safety: reference counting from any thread; the rest before
 * publication only.
 */

#include "adp-program.h"

/* Takes 'rules', which are in the order of descending priority: the array and
 * the reference to each. */
struct adp_table *adp_table_create(struct adp_rule **rules, size_t n);
struct adp_table *adp_table_ref(struct adp_table *);
void adp_table_unref(struct adp_table *);

struct adp_group_map *adp_group_map_create(void);
struct adp_group_map *adp_group_map_clone(const struct adp_group_map *);
struct adp_group_map *adp_group_map_ref(struct adp_group_map *);
void adp_group_map_unref(struct adp_group_map *);
void adp_group_map_set(struct adp_group_map *, struct adp_group *);
void adp_group_map_remove(struct adp_group_map *, uint32_t group_id);

#endif /* adp-program-private.h */

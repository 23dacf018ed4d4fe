/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_CLASSIFIER_MODEL_H
#define TESTS_CLASSIFIER_MODEL_H 1

/* How many steps the bridge takes for flow mods.
 *
 * Upstream's classifier keeps flows of one table and match in a list by
 * descending priority, and goes through it to find, insert or remove one: from
 * where the search before ended, if that was further up in the same list
 * (classifier-seek.h), else from the head.  When the top flow of a mask's
 * subtable is removed, all heads of the subtable are looked at for the next
 * one.  Removal from the classifier comes later than the flow mod, in the same
 * order.
 */

#include <stddef.h>
#include "openvswitch/hmap.h"

struct ofputil_flow_mod;

struct classifier_model {
    struct hmap lists;          /* Contains "struct model_list"s. */
    struct model_removal *removals; /* To come. */
    size_t n_removals, allocated_removals;
    const struct model_list *list; /* Of the last search, or NULL. */
    size_t n_before;            /* How many there stand before its end. */
    size_t n_steps;
};

void classifier_model_init(struct classifier_model *);
void classifier_model_uninit(struct classifier_model *);
/* An addition, or a strict deletion or modification. */
void classifier_model_mod(struct classifier_model *,
                          const struct ofputil_flow_mod *);
/* Removes what was deleted. */
void classifier_model_settle(struct classifier_model *);

#endif /* classifier-model.h */

/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TEXTS_H
#define ADP_TEXTS_H 1

/* A flow set's texts as contributors: each text that a full run of a pipeline
 * makes asks for its flow or group, as long as the run makes it.
 *
 * Cost of an update: a hash look-up for each text of both sets; only what is
 * new is parsed.
 *
 * Thread-safety: as struct adp_desired.
 *
 * Memory: a copy of each text of the flow set that was last accepted, which
 * bounds it.
 */

#include "openvswitch/shash.h"

struct adp_desired;
struct adp_flow_set;
struct ofputil_table_map;

struct adp_texts {
    struct shash flows, groups;         /* Contain "struct text"s. */
    struct shash old_flows, old_groups; /* The same: not in the set that was
                                         * given in this transaction. */
};

void adp_texts_init(struct adp_texts *);
/* To be called once the transaction is over. */
void adp_texts_uninit(struct adp_texts *);

/* Makes 'desired' ask for what is in 'set', as part of its transaction.  The
 * map may be NULL; if it isn't the one of before, 'all_new' must be true: then
 * equal texts mean something else. */
void adp_texts_update(struct adp_texts *, struct adp_desired *,
                      const struct adp_flow_set *set,
                      const struct ofputil_table_map *, bool all_new);
/* The transaction was accepted, or reverted. */
void adp_texts_accept(struct adp_texts *);
void adp_texts_revert(struct adp_texts *);

#endif /* adp-texts.h */

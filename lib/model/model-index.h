/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MODEL_INDEX_H
#define ADP_MODEL_INDEX_H 1

/* Which records bear a key: an inverted index beside a model.
 *
 * Who resolves objects into records must find those that a change concerns
 * without looking at all there are.  So a Manifest has "keys", words that mean
 * something to its writer and nothing here ("ns:default", "l:app=web"), and a
 * NetworkPolicy bears the groups that it refers to ("AddressGroup NAME",
 * "AppliedToGroup NAME"), as do an Egress and a TrafficControl.  The
 * NodeConfig bears "NodeConfig".
 *
 * The index follows the model: after a transaction it is told which records
 * changed, and looks them up.
 *
 * Cost: an update is linear in the keys of the records that changed.  A query
 * looks at the records that bear the rarest key of each of its lists, and once
 * at those of a list of one key, however often it has that.
 *
 * Memory: per Manifest and who refers to groups an entry, per key of one some
 * 40 bytes, per different key its text.  Bounded by the records that there may
 * be and by ADP_MANIFEST_MAX_KEYS for each; freed with the records.
 *
 * Thread-safety: as the model.
 */

#include <stdbool.h>
#include <stddef.h>

struct adp_error;
struct adp_index;
struct adp_model;
struct json;

struct adp_index *adp_index_create(void);
void adp_index_destroy(struct adp_index *);

/* 'records', which may be NULL, is an array of objects with "kind" and "name":
 * those that were applied, or deleted. */
void adp_index_update(struct adp_index *, const struct adp_model *,
                      const struct json *records);
/* Everything anew. */
void adp_index_rebuild(struct adp_index *, const struct adp_model *);

/* How many Manifests have no "keys": a query by keys doesn't find them. */
size_t adp_index_n_unkeyed(const struct adp_index *);

/* Each may be NULL. */
struct adp_query {
    const char *kind;           /* Only records of this kind bear 'keys'. */
    const struct json *names;   /* ["Pod default/web", ...]: these records. */
    const struct json *keys;    /* [["ns:default", "l:app=web"], ...]: and
                                 * those with all keys of one of the lists. */
    bool brief;                 /* Only "kind" and "name" of each. */
};

/* Sets '*records' to an array of what the query means, ordered by kind and
 * name; what isn't there is left out. */
struct adp_error *adp_index_query(const struct adp_index *,
                                  const struct adp_model *,
                                  const struct adp_query *,
                                  struct json **records);

#endif /* model-index.h */

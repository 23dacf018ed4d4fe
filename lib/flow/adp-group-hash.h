/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_GROUP_HASH_H
#define ADP_GROUP_HASH_H 1

/* What of a packet a "select" group's choice depends on.
 *
 * A group without selection_method chooses by the packet's connection, each
 * direction on its own, with dp_hash by what its parameter says: slots of the
 * group stand for hash values, so the choice is a single look-up, and which
 * bucket it is differs from stock.  With "hash" it is the bucket that stock's
 * translation, and so ofproto/trace, chooses, which looks at all buckets: it
 * has the highest score for the packet's hash.
 *
 * Thread-safety: immutable after adp_group_hash_init().
 */

#include <stdbool.h>
#include <stdint.h>
#include "openvswitch/meta-flow.h"

struct flow;
struct ofputil_bucket;
struct ofputil_group_props;

enum adp_group_hash_kind {
    /* By slots. */
    ADP_GROUP_HASH_CONNECTION,  /* None, or dp_hash. */
    ADP_GROUP_HASH_SYMMETRIC,   /* dp_hash, the same for both directions. */
    /* By score. */
    ADP_GROUP_HASH_FIELDS,      /* hash with fields(). */
    ADP_GROUP_HASH_L4,          /* hash without. */
};

struct adp_group_hash {
    enum adp_group_hash_kind kind;
    uint32_t basis;
    struct field_array fields;  /* FIELDS: with their masks. */
};

/* 'props' may be NULL: no method. */
void adp_group_hash_init(struct adp_group_hash *, uint32_t group_id,
                         const struct ofputil_group_props *props);
void adp_group_hash_uninit(struct adp_group_hash *);
bool adp_group_hash_equal(const struct adp_group_hash *,
                          const struct adp_group_hash *);

static inline bool
adp_group_hash_is_by_slots(const struct adp_group_hash *h)
{
    return h->kind <= ADP_GROUP_HASH_SYMMETRIC;
}

/* ADP_READS_* beyond the packet's connection. */
uint32_t adp_group_hash_reads(const struct adp_group_hash *);

uint32_t adp_group_hash(const struct adp_group_hash *, const struct flow *);

/* The bucket's score for packets with 'hash'.  Of equal ones the last wins. */
uint32_t adp_group_hash_score(uint32_t hash, uint32_t bucket_id,
                              uint16_t weight);

#endif /* adp-group-hash.h */

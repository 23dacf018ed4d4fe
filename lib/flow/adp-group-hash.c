/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-group-hash.h"
#include "adp-key.h"
#include "adp-reads.h"
#include "bitmap.h"
#include "flow.h"
#include "hash.h"
#include "odp-netlink.h"
#include "openvswitch/ofp-group.h"
#include "util.h"

void
adp_group_hash_init(struct adp_group_hash *h, uint32_t group_id,
                    const struct ofputil_group_props *props)
{
    *h = (struct adp_group_hash) {
        .kind = ADP_GROUP_HASH_CONNECTION,
        .basis = group_id,
    };
    if (!props || !props->selection_method[0]) {
        return;
    }

    uint64_t param = props->selection_method_param;
    if (!strcmp(props->selection_method, "dp_hash")) {
        /* Algorithm and basis. */
        if (param >> 32 == OVS_HASH_ALG_SYM_L4) {
            h->kind = ADP_GROUP_HASH_SYMMETRIC;
        }
        h->basis = param ? (uint32_t) param : group_id;
    } else if (props->fields.values_size) {
        h->kind = ADP_GROUP_HASH_FIELDS;
        h->basis = hash_uint64(param);
        h->fields = props->fields;
        h->fields.values = xmemdup(props->fields.values,
                                   props->fields.values_size);
    } else {
        h->kind = ADP_GROUP_HASH_L4;
        h->basis = 0;
    }
}

void
adp_group_hash_uninit(struct adp_group_hash *h)
{
    free(h->fields.values);
}

bool
adp_group_hash_equal(const struct adp_group_hash *a,
                     const struct adp_group_hash *b)
{
    return (a->kind == b->kind && a->basis == b->basis
            && a->fields.values_size == b->fields.values_size
            && bitmap_equal(a->fields.used.bm, b->fields.used.bm, MFF_N_IDS)
            && (!a->fields.values_size
                || !memcmp(a->fields.values, b->fields.values,
                           a->fields.values_size)));
}

uint32_t
adp_group_hash_reads(const struct adp_group_hash *h)
{
    uint32_t reads = 0;
    size_t id;

    switch (h->kind) {
    case ADP_GROUP_HASH_CONNECTION:
    case ADP_GROUP_HASH_SYMMETRIC:
        break;
    case ADP_GROUP_HASH_FIELDS:
        BITMAP_FOR_EACH_1 (id, MFF_N_IDS, h->fields.used.bm) {
            reads |= adp_reads_of_field(mf_from_id(id));
        }
        break;
    case ADP_GROUP_HASH_L4:
        reads = ADP_READS_TP_SRC | ADP_READS_MOVED;
        break;
    }
    return reads;
}

/* In the order and with the functions of upstream. */
static uint32_t
hash_fields(const struct field_array *fields, const struct flow *flow,
            uint32_t hash)
{
    const uint8_t *mask = fields->values;
    size_t id;

    BITMAP_FOR_EACH_1 (id, MFF_N_IDS, fields->used.bm) {
        const struct mf_field *mf = mf_from_id(id);

        if (mf_are_prereqs_ok(mf, flow, NULL)) {
            union mf_value value;

            mf_get_value(mf, flow, &value);
            for (size_t i = 0; i < mf->n_bytes; i++) {
                value.b[i] &= mask[i];
            }
            hash = hash_bytes(&value, mf->n_bytes, hash);
            if (mf_is_tun_metadata(mf)) {
                hash = hash_boolean(mf_is_set(mf, flow), hash);
            }
        }
        mask += mf->n_bytes;
    }
    return hash;
}

uint32_t
adp_group_hash(const struct adp_group_hash *h, const struct flow *flow)
{
    switch (h->kind) {
    case ADP_GROUP_HASH_CONNECTION:
        return adp_key_hash(flow, h->basis);
    case ADP_GROUP_HASH_SYMMETRIC:
        return flow_hash_symmetric_l3l4(flow, h->basis, false);
    case ADP_GROUP_HASH_FIELDS:
        return hash_fields(&h->fields, flow, h->basis);
    case ADP_GROUP_HASH_L4:
        return flow_hash_symmetric_l4(flow, h->basis);
    }
    OVS_NOT_REACHED();
}

uint32_t
adp_group_hash_score(uint32_t hash, uint32_t bucket_id, uint16_t weight)
{
    return (hash_int(bucket_id, hash) & 0xffff) * weight;
}

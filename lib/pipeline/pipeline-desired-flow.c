/* SPDX-License-Identifier: Apache-2.0 */

/* Desired flows: masks and actions that they share, matches, clauses. */

#include <config.h>
#include "pipeline-desired-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "hash.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-table.h"
#include "packets.h"
#include "util.h"

/* Each object is counted in 'n_bytes' as it comes and goes. */

static void *
counted_alloc(struct adp_desired *desired, size_t size)
{
    desired->n_bytes += size;
    return xmalloc(size);
}

static void
counted_free(struct adp_desired *desired, void *p, size_t size)
{
    desired->n_bytes -= size;
    free(p);
}

/* Masks. */

/* A match taken apart, as a flow keeps it. */
struct parts {
    struct miniflow map;        /* Just that of the mask. */
    unsigned int n;
    uint64_t masks[FLOW_U64S];
    uint64_t values[FLOW_U64S];
};

/* Does a match with these 'masks' say that packets are Ethernet frames without
 * saying so?  As OpenFlow has it, any field of such a frame implies it. */
static bool
implies_ethernet(const struct flow *masks)
{
    return (!masks->packet_type
            && (masks->dl_type || !eth_addr_is_zero(masks->dl_src)
                || !eth_addr_is_zero(masks->dl_dst) || masks->vlans[0].qtag));
}

static void
parts_init(struct parts *parts, const struct match *match)
{
    static const struct flow ethernet = { .packet_type = OVS_BE32_MAX };
    const struct flow *implied = NULL;
    size_t idx;

    miniflow_map_init(&parts->map, &match->wc.masks);
    if (implies_ethernet(&match->wc.masks)) {
        BUILD_ASSERT(PT_ETH == 0);      /* So the value is there already. */
        implied = &ethernet;
        flowmap_set(&parts->map.map, FLOW_U64_OFFSET(packet_type), 1);
    }
    parts->n = 0;
    FLOWMAP_FOR_EACH_INDEX (idx, parts->map.map) {
        parts->masks[parts->n] = flow_u64_value(&match->wc.masks, idx)
                                 | (implied ? flow_u64_value(implied, idx)
                                    : 0);
        parts->values[parts->n++] = flow_u64_value(&match->flow, idx);
    }
}

static size_t
mask_size(unsigned int n_values)
{
    return (sizeof(struct desired_mask) + MINIFLOW_VALUES_SIZE(n_values));
}

static uint32_t
mask_hash(const struct parts *parts)
{
    return hash_bytes(&parts->map, sizeof parts->map,
                      hash_bytes64(parts->masks,
                                   MINIFLOW_VALUES_SIZE(parts->n), 0));
}

static struct desired_mask *
mask_find(const struct adp_desired *desired, const struct parts *parts)
{
    struct desired_mask *mask;

    HMAP_FOR_EACH_WITH_HASH (mask, node, mask_hash(parts), &desired->masks) {
        if (flowmap_equal(mask->masks.map, parts->map.map)
            && !memcmp(miniflow_get_values(&mask->masks), parts->masks,
                       MINIFLOW_VALUES_SIZE(parts->n))) {
            return mask;
        }
    }
    return NULL;
}

static struct desired_mask *
mask_get(struct adp_desired *desired, const struct parts *parts,
         const struct match *match)
{
    struct desired_mask *mask = mask_find(desired, parts);

    if (!mask) {
        mask = counted_alloc(desired, mask_size(parts->n));
        mask->tun_md = tun_metadata_allocation_clone(&match->tun_md);
        mask->n_refs = 0;
        mask->n_values = parts->n;
        mask->masks = parts->map;
        memcpy(miniflow_values(&mask->masks), parts->masks,
               MINIFLOW_VALUES_SIZE(parts->n));
        hmap_insert(&desired->masks, &mask->node, mask_hash(parts));
    }
    mask->n_refs++;
    return mask;
}

static void
mask_unref(struct adp_desired *desired, struct desired_mask *mask)
{
    if (!--mask->n_refs) {
        hmap_remove(&desired->masks, &mask->node);
        free(mask->tun_md);
        counted_free(desired, mask, mask_size(mask->n_values));
    }
}

/* Actions. */

bool
adp_desired_terms_equal(const struct desired_terms *a,
                        const struct desired_terms *b)
{
    return (a->idle_timeout == b->idle_timeout
            && a->hard_timeout == b->hard_timeout
            && a->importance == b->importance
            && a->flags == b->flags);
}

static size_t
actions_size(size_t len)
{
    return sizeof(struct desired_actions) + len;
}

struct desired_actions *
adp_desired_actions_get(struct adp_desired *desired,
                    const struct ofpact *ofpacts, size_t len,
                    uint64_t tlv_bitmap, const struct desired_terms *terms)
{
    uint32_t hash = hash_bytes(ofpacts, len, terms->idle_timeout
                               ^ terms->hard_timeout);
    struct desired_actions *actions;

    HMAP_FOR_EACH_WITH_HASH (actions, node, hash, &desired->actions) {
        if (ofpacts_equal(actions->ofpacts, actions->len, ofpacts, len)
            && actions->tlv_bitmap == tlv_bitmap
            && adp_desired_terms_equal(&actions->terms, terms)) {
            actions->n_refs++;
            return actions;
        }
    }

    actions = counted_alloc(desired, actions_size(len));
    actions->n_refs = 1;
    actions->tlv_bitmap = tlv_bitmap;
    actions->terms = *terms;
    actions->len = len;
    if (len) {
        memcpy(actions->ofpacts, ofpacts, len);
    }
    hmap_insert(&desired->actions, &actions->node, hash);
    return actions;
}

void
adp_desired_actions_unref(struct adp_desired *desired,
                      struct desired_actions *actions)
{
    if (!--actions->n_refs) {
        hmap_remove(&desired->actions, &actions->node);
        counted_free(desired, actions, actions_size(actions->len));
    }
}

/* Flows. */

static size_t
flow_size(unsigned int n_values)
{
    return sizeof(struct desired_flow) + n_values * sizeof(uint64_t);
}

static uint32_t
key_hash(const struct desired_mask *mask, const uint64_t *values,
         uint16_t priority, uint8_t table_id)
{
    return hash_words64(values, mask->n_values,
                        hash_2words(mask->node.hash,
                                    priority | (uint32_t) table_id << 16));
}

static struct desired_flow *
flow_find(const struct adp_desired *desired, uint32_t hash,
          const struct adp_flow_key *key, const struct desired_mask *mask,
          const uint64_t *values, const struct desired_actions *actions)
{
    struct desired_flow *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, node, hash,
                             adp_desired_flow_table(desired, hash)) {
        if (flow->mask == mask && flow->table_id == key->table_id
            && flow->priority == key->priority && flow->cookie == key->cookie
            && flow->has_clauses == !actions
            && (!actions || flow->actions == actions)
            && !memcmp(flow->values, values,
                       MINIFLOW_VALUES_SIZE(mask->n_values))) {
            return flow;
        }
    }
    return NULL;
}

static struct hmap *
flow_table(struct adp_desired *desired, uint32_t hash)
{
    return CONST_CAST(struct hmap *, adp_desired_flow_table(desired, hash));
}

static bool
same_key(const struct desired_flow *a, const struct desired_flow *b)
{
    return (a->mask == b->mask && a->table_id == b->table_id
            && a->priority == b->priority
            && !memcmp(a->values, b->values,
                       MINIFLOW_VALUES_SIZE(a->mask->n_values)));
}

static void
flow_insert(struct adp_desired *desired, struct desired_flow *flow,
            uint32_t hash)
{
    struct hmap *table = flow_table(desired, hash);
    struct desired_flow *other;

    HMAP_FOR_EACH_WITH_HASH (other, node, hash, table) {
        if (same_key(other, flow)) {
            other->is_contested = flow->is_contested = true;
        }
    }
    hmap_insert(table, &flow->node, hash);
}

struct desired_flow *
adp_desired_flow_get(struct adp_desired *desired,
                     const struct adp_flow_key *key,
                     struct desired_actions *actions, bool make)
{
    struct desired_flow *flow = NULL;
    struct desired_mask *mask;
    struct parts parts;

    parts_init(&parts, key->match);
    mask = make ? mask_get(desired, &parts, key->match)
                : mask_find(desired, &parts);
    if (mask) {
        uint32_t hash = key_hash(mask, parts.values, key->priority,
                                 key->table_id);

        flow = flow_find(desired, hash, key, mask, parts.values, actions);
        if (!flow && make) {
            flow = counted_alloc(desired, flow_size(parts.n));
            *flow = (struct desired_flow) {
                .mask = mask,
                .actions = actions,
                .cookie = key->cookie,
                .priority = key->priority,
                .table_id = key->table_id,
                .has_clauses = !actions,
            };
            memcpy(flow->values, parts.values, MINIFLOW_VALUES_SIZE(parts.n));
            flow_insert(desired, flow, hash);
            return flow;
        }
    }
    if (make) {
        mask_unref(desired, mask);
    }
    if (actions) {
        adp_desired_actions_unref(desired, actions);
    }
    return flow;
}

void
adp_desired_flow_free(struct adp_desired *desired, struct desired_flow *flow)
{
    unsigned int n_values = flow->mask->n_values;

    hmap_remove(flow_table(desired, flow->node.hash), &flow->node);
    mask_unref(desired, flow->mask);
    if (flow->has_clauses) {
        adp_desired_clauses_free(desired, flow->clauses);
    } else {
        adp_desired_actions_unref(desired, flow->actions);
    }
    counted_free(desired, flow, flow_size(n_values));
}

struct desired_flow *
adp_desired_flow_twin(const struct adp_desired *desired,
                  const struct desired_flow *flow, bool is_desired)
{
    struct desired_flow *twin;

    if (!flow->is_contested) {
        return NULL;
    }
    HMAP_FOR_EACH_WITH_HASH (twin, node, flow->node.hash,
                             adp_desired_flow_table(desired,
                                                    flow->node.hash)) {
        if (twin != flow && same_key(twin, flow)
            && (is_desired ? twin->n_refs > 0
                : adp_desired_flow_was(desired, twin))) {
            return twin;
        }
    }
    return NULL;
}

void
adp_desired_flow_match(const struct desired_flow *flow,
                       struct minimatch *match)
{
    const struct desired_mask *mask = flow->mask;
    size_t data_size = miniflow_alloc(match->flows, 2, &mask->masks);

    memcpy(miniflow_values(match->flow), flow->values, data_size);
    memcpy(miniflow_values(&match->mask->masks),
           miniflow_get_values(&mask->masks), data_size);
    match->tun_md = tun_metadata_allocation_clone(mask->tun_md);
}

uint32_t
adp_desired_flow_match_hash(const struct desired_flow *flow)
{
    return key_hash(flow->mask, flow->values, 0, 0);
}

uint32_t
adp_desired_flow_conj_id(const struct desired_flow *flow)
{
    const struct miniflow *masks = &flow->mask->masks;
    const size_t idx = FLOW_U64_OFFSET(conj_id);

    if (!MINIFLOW_GET_U32(masks, conj_id)) {
        return 0;
    }

    /* The value is at the place where the mask has its own. */
    const uint64_t *at = miniflow_get__(masks, idx);
    uint32_t halves[2];
    memcpy(halves, &flow->values[at - miniflow_get_values(masks)],
           sizeof halves);
    return halves[FLOW_U64_OFFREM(conj_id) / sizeof halves[0]];
}

char *
adp_desired_flow_to_string(const struct desired_flow *flow,
                       const struct ofputil_table_map *tables)
{
    uint64_t stub[64];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    struct ds s = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params fp = { .s = &s, .table_map = tables };
    struct minimatch match;

    adp_desired_flow_match(flow, &match);
    ds_put_format(&s, "cookie=0x%"PRIx64", table=", flow->cookie);
    ofputil_format_table(flow->table_id, tables, &s);
    ds_put_cstr(&s, ", ");
    minimatch_format(&match, NULL, NULL, &s, flow->priority);
    ds_put_cstr(&s, " actions=");
    if (flow->has_clauses) {
        adp_desired_clauses_put(flow->clauses, NULL, &ofpacts);
        ofpacts_format(ofpacts.data, ofpacts.size, &fp);
    } else {
        ofpacts_format(flow->actions->ofpacts, flow->actions->len, &fp);
    }
    minimatch_destroy(&match);
    ofpbuf_uninit(&ofpacts);
    return ds_steal_cstr(&s);
}

/* Clauses. */

static size_t
clauses_size(uint32_t allocated)
{
    return (sizeof(struct desired_clauses)
            + allocated * sizeof(struct desired_clause));
}

static int
clause_compare(const struct desired_clause *a, uint32_t conj_id,
               uint8_t number, uint8_t n)
{
    return (a->conj_id != conj_id ? (a->conj_id < conj_id ? -1 : 1)
            : a->number != number ? (a->number < number ? -1 : 1)
            : a->n != n ? (a->n < n ? -1 : 1) : 0);
}

/* The index of the first clause that isn't before the one of 'claim'. */
static uint32_t
clauses_seek(const struct desired_clauses *clauses,
             const struct desired_claim *claim)
{
    uint32_t first = 0;
    uint32_t end = clauses ? clauses->n : 0;

    while (first < end) {
        uint32_t middle = first + (end - first) / 2;

        if (clause_compare(&clauses->clauses[middle], claim->conj_id,
                           claim->clause, claim->n_clauses) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static bool
clauses_has_at(const struct desired_clauses *clauses, uint32_t i,
               const struct desired_claim *claim)
{
    return (clauses && i < clauses->n
            && !clause_compare(&clauses->clauses[i], claim->conj_id,
                               claim->clause, claim->n_clauses));
}

/* Makes room for one more. */
static struct desired_clauses *
clauses_grow(struct adp_desired *desired, struct desired_clauses *clauses)
{
    uint32_t n = clauses ? clauses->n : 0;
    uint32_t allocated = n < 4 ? n + 1 : n + n / 4;

    if (!clauses || n >= clauses->allocated) {
        desired->n_bytes += (clauses_size(allocated)
                             - (clauses ? clauses_size(clauses->allocated)
                                : 0));
        clauses = xrealloc(clauses, clauses_size(allocated));
        clauses->n = n;
        clauses->allocated = allocated;
        clauses->n_unused = n ? clauses->n_unused : 0;
    }
    return clauses;
}

void
adp_desired_clause_ref(struct adp_desired *desired, struct desired_flow *flow,
                   const struct desired_claim *claim)
{
    uint32_t i = clauses_seek(flow->clauses, claim);

    if (!clauses_has_at(flow->clauses, i, claim)) {
        struct desired_clauses *clauses = clauses_grow(desired, flow->clauses);

        memmove(&clauses->clauses[i + 1], &clauses->clauses[i],
                (clauses->n - i) * sizeof clauses->clauses[0]);
        desired->n_steps += clauses->n - i;
        clauses->clauses[i] = (struct desired_clause) {
            .conj_id = claim->conj_id,
            .number = claim->clause,
            .n = claim->n_clauses,
        };
        clauses->n++;
        clauses->n_unused++;
        flow->clauses = clauses;
    }
    if (!flow->clauses->clauses[i].n_refs++) {
        flow->clauses->n_unused--;
    }
}

static void
drop_unused(struct adp_desired *desired, struct desired_clauses *clauses)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < clauses->n; i++) {
        if (clauses->clauses[i].n_refs) {
            clauses->clauses[n++] = clauses->clauses[i];
        }
    }
    desired->n_steps += clauses->n;
    clauses->n = n;
    clauses->n_unused = 0;
}

void
adp_desired_clause_unref(struct adp_desired *desired,
                         struct desired_flow *flow,
                         const struct desired_claim *claim)
{
    struct desired_clauses *clauses = flow->clauses;
    uint32_t i = clauses_seek(clauses, claim);

    ovs_assert(clauses_has_at(clauses, i, claim)
               && clauses->clauses[i].n_refs);
    /* Many may go, one after the other: those behind don't move each time. */
    if (!--clauses->clauses[i].n_refs
        && ++clauses->n_unused > clauses->n / 2) {
        drop_unused(desired, clauses);
    }
}

struct desired_clauses *
adp_desired_clauses_clone(struct adp_desired *desired,
                      const struct desired_clauses *clauses)
{
    struct desired_clauses *clone;

    if (!clauses) {
        return NULL;
    }
    clone = counted_alloc(desired, clauses_size(clauses->n));
    memcpy(clone, clauses, clauses_size(clauses->n));
    clone->allocated = clauses->n;
    return clone;
}

void
adp_desired_clauses_free(struct adp_desired *desired,
                     struct desired_clauses *clauses)
{
    if (clauses) {
        counted_free(desired, clauses, clauses_size(clauses->allocated));
    }
}

/* The index of the first clause from 'i' on that somebody asks for, or
 * 'n'. */
static uint32_t
next_used(const struct desired_clauses *clauses, uint32_t i)
{
    while (clauses && i < clauses->n && !clauses->clauses[i].n_refs) {
        i++;
    }
    return i;
}

static uint32_t
n_used(const struct desired_clauses *clauses)
{
    return clauses ? clauses->n - clauses->n_unused : 0;
}

bool
adp_desired_clauses_within(const struct desired_clauses *a,
                           const struct desired_clauses *b)
{
    uint32_t n_a = a ? a->n : 0;
    uint32_t n_b = b ? b->n : 0;

    for (uint32_t i = next_used(a, 0), j = 0; i < n_a;
         i = next_used(a, i + 1)) {
        const struct desired_clause *ac = &a->clauses[i];

        while (j < n_b && clause_compare(&b->clauses[j], ac->conj_id,
                                         ac->number, ac->n) < 0) {
            j++;
        }
        if (j >= n_b || !b->clauses[j].n_refs
            || clause_compare(&b->clauses[j], ac->conj_id, ac->number,
                              ac->n)) {
            return false;
        }
    }
    return true;
}

bool
adp_desired_clauses_equal(const struct desired_clauses *a,
                      const struct desired_clauses *b)
{
    return n_used(a) == n_used(b) && adp_desired_clauses_within(a, b);
}

void
adp_desired_clauses_put(const struct desired_clauses *a,
                    const struct desired_clauses *b, struct ofpbuf *ofpacts)
{
    uint32_t n_a = a ? a->n : 0;
    uint32_t n_b = b ? b->n : 0;

    for (uint32_t i = next_used(a, 0), j = next_used(b, 0);
         i < n_a || j < n_b; ) {
        const struct desired_clause *clause;
        int cmp = (i >= n_a ? 1 : j >= n_b ? -1
                   : clause_compare(&a->clauses[i], b->clauses[j].conj_id,
                                    b->clauses[j].number, b->clauses[j].n));

        clause = cmp <= 0 ? &a->clauses[i] : &b->clauses[j];
        i = cmp <= 0 ? next_used(a, i + 1) : i;
        j = cmp >= 0 ? next_used(b, j + 1) : j;

        struct ofpact_conjunction *oc = ofpact_put_CONJUNCTION(ofpacts);
        oc->id = clause->conj_id;
        oc->clause = clause->number - 1;
        oc->n_clauses = clause->n;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Contributors and what they ask for. */

#include <config.h>
#include "pipeline-desired.h"
#include "pipeline-desired-private.h"

#include <stdlib.h>
#include <string.h>

#include "bitmap.h"
#include "byte-order.h"
#include "hash.h"
#include "model-pause.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofpbuf.h"
#include "util.h"

/* What a flow or group must be expressible in, so that people can dump it in
 * the version whose syntax its text has. */
#define USABLE_PROTOCOLS OFPUTIL_P_OF15_OXM

static const struct desired_terms no_terms;

struct adp_desired *
adp_desired_create(void)
{
    struct adp_desired *desired = xzalloc(sizeof *desired);

    for (size_t i = 0; i < DESIRED_N_TABLES; i++) {
        hmap_init(&desired->flows[i]);
    }
    hmap_init(&desired->groups);
    hmap_init(&desired->masks);
    hmap_init(&desired->actions);
    return desired;
}

static void
free_buckets(struct ovs_list *buckets)
{
    struct ofputil_bucket *bucket;

    LIST_FOR_EACH_POP (bucket, list_node, buckets) {
        free(bucket->ofpacts);
        free(bucket);
        adp_pause();
    }
}

static void
group_free(struct adp_desired *desired, struct desired_group *group)
{
    hmap_remove(&desired->groups, &group->node);
    free_buckets(&group->buckets);
    ofputil_group_properties_destroy(&group->props);
    free(group);
}

static void
text_forget(struct adp_desired *desired, struct desired_text *text)
{
    if (text->source) {
        free(text->source);
        text->source = NULL;
        adp_flow_mod_uninit(&text->fm);
        desired->n_texts--;
    }
}

static void
forget_texts(struct adp_desired *desired)
{
    for (size_t i = 0; desired->n_texts; i++) {
        text_forget(desired, &desired->texts[i]);
    }
}

void
adp_desired_destroy(struct adp_desired *desired)
{
    struct desired_flow *flow;
    struct desired_group *group;

    if (!desired) {
        return;
    }
    adp_desired_revert(desired);
    for (size_t i = 0; i < DESIRED_N_TABLES; i++) {
        HMAP_FOR_EACH_SAFE (flow, node, &desired->flows[i]) {
            adp_desired_flow_free(desired, flow);
        }
        hmap_destroy(&desired->flows[i]);
    }
    HMAP_FOR_EACH_SAFE (group, node, &desired->groups) {
        group_free(desired, group);
    }
    forget_texts(desired);
    free(desired->texts);
    hmap_destroy(&desired->groups);
    hmap_destroy(&desired->masks);
    hmap_destroy(&desired->actions);
    free(desired->flow_images);
    free(desired->group_images);
    free(desired->contributor_images);
    free(desired);
}

/* Images. */

static void
touch_flow(struct adp_desired *desired, struct desired_flow *flow)
{
    if (flow->image) {
        return;
    }
    if (desired->n_flow_images >= desired->allocated_flow_images) {
        desired->flow_images = x2nrealloc(desired->flow_images,
                                          &desired->allocated_flow_images,
                                          sizeof *desired->flow_images);
    }
    desired->flow_images[desired->n_flow_images] = (struct flow_image) {
        .flow = flow,
        .clauses = (flow->has_clauses
                    ? adp_desired_clauses_clone(desired, flow->clauses)
                    : NULL),
        .n_refs = flow->n_refs,
    };
    flow->image = ++desired->n_flow_images;
}

static void
touch_group(struct adp_desired *desired, struct desired_group *group)
{
    if (group->image) {
        return;
    }
    if (desired->n_group_images >= desired->allocated_group_images) {
        desired->group_images = x2nrealloc(desired->group_images,
                                           &desired->allocated_group_images,
                                           sizeof *desired->group_images);
    }
    desired->group_images[desired->n_group_images] = (struct group_image) {
        .group = group,
        .n_refs = group->n_refs,
    };
    group->image = ++desired->n_group_images;
}

/* Notes what 'contributor' asks for, which stays where it is. */
static void
touch_contributor(struct adp_desired *desired,
                  struct adp_contributor *contributor)
{
    if (contributor->image) {
        return;
    }
    if (desired->n_contributor_images
        >= desired->allocated_contributor_images) {
        desired->contributor_images
            = x2nrealloc(desired->contributor_images,
                         &desired->allocated_contributor_images,
                         sizeof *desired->contributor_images);
    }
    desired->contributor_images[desired->n_contributor_images]
        = (struct contributor_image) {
            .contributor = contributor,
            .n_claims = contributor->n_claims,
            .in_place = true,
        };
    contributor->image = ++desired->n_contributor_images;
}

static struct contributor_image *
image_of(const struct adp_desired *desired,
         const struct adp_contributor *contributor)
{
    return &desired->contributor_images[contributor->image - 1];
}

void
adp_desired_keep_claims(struct adp_desired *desired,
                        struct adp_contributor *contributor)
{
    struct contributor_image *image = image_of(desired, contributor);

    if (image->in_place) {
        image->in_place = false;
        if (image->n_claims) {
            image->claims = xmemdup(contributor->claims,
                                    image->n_claims * sizeof *image->claims);
            image->allocated_claims = image->n_claims;
        }
    }
}

/* Claims. */

void
adp_desired_claim_drop(struct adp_desired *desired,
                       const struct desired_claim *claim)
{
    if (claim->is_group) {
        struct desired_group *group = claim->thing;

        touch_group(desired, group);
        group->n_refs--;
    } else {
        struct desired_flow *flow = claim->thing;

        touch_flow(desired, flow);
        flow->n_refs--;
        if (flow->has_clauses) {
            adp_desired_clause_unref(desired, flow, claim);
        }
    }
    desired->n_claims--;
    desired->n_bytes -= sizeof *claim;
}

/* How many more than it needs one may have room for that was amended: mostly
 * few come at a time. */
static uint32_t
spare_claims(const struct adp_contributor *contributor)
{
    return MAX(4, contributor->n_claims / 4);
}

static void
claim_add(struct adp_desired *desired, struct adp_contributor *contributor,
          const struct desired_claim *claim)
{
    ovs_assert(contributor->open);
    if (claim->is_group) {
        struct desired_group *group = claim->thing;

        touch_group(desired, group);
        group->n_refs++;
    } else {
        struct desired_flow *flow = claim->thing;

        touch_flow(desired, flow);
        flow->n_refs++;
        if (flow->has_clauses) {
            adp_desired_clause_ref(desired, flow, claim);
        }
    }

    if (contributor->n_claims >= contributor->allocated_claims) {
        contributor->allocated_claims
            = (desired->amended == contributor
               ? contributor->n_claims + spare_claims(contributor)
               : MAX(4, 2 * contributor->n_claims));
        contributor->claims = xrealloc(contributor->claims,
                                       contributor->allocated_claims
                                       * sizeof *contributor->claims);
    }
    contributor->claims[contributor->n_claims++] = *claim;
    desired->n_claims++;
    desired->n_bytes += sizeof *claim;
}

static void
drop_claims(struct adp_desired *desired, const struct desired_claim *claims,
            uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        adp_desired_claim_drop(desired, &claims[i]);
        adp_desired_pause_amid(i);
    }
}

/* Contributors. */

/* Gives back what 'contributor' has allocated and doesn't need. */
static void
trim_claims(struct adp_contributor *contributor)
{
    if (contributor->allocated_claims > contributor->n_claims) {
        if (contributor->n_claims) {
            contributor->claims = xrealloc(contributor->claims,
                                           contributor->n_claims
                                           * sizeof *contributor->claims);
        } else {
            free(contributor->claims);
            contributor->claims = NULL;
        }
        contributor->allocated_claims = contributor->n_claims;
    }
}

void
adp_desired_begin(struct adp_desired *desired,
                  struct adp_contributor *contributor)
{
    ovs_assert(!contributor->open);
    if (contributor->withdraws) {
        desired->lacks_withdrawn = !adp_desired_settle(desired);
    }
    drop_claims(desired, contributor->claims, contributor->n_claims);
    touch_contributor(desired, contributor);

    struct contributor_image *image = image_of(desired, contributor);
    if (image->in_place) {
        image->in_place = false;
        image->claims = contributor->claims;
        image->allocated_claims = contributor->allocated_claims;
        contributor->claims = NULL;
        contributor->allocated_claims = 0;
    }
    contributor->n_claims = 0;
    contributor->open = true;
}

void
adp_desired_amend(struct adp_desired *desired,
                  struct adp_contributor *contributor)
{
    ovs_assert(!contributor->open && !desired->amended);
    touch_contributor(desired, contributor);
    contributor->open = true;
    desired->amended = contributor;
}

void
adp_desired_end(struct adp_desired *desired,
                struct adp_contributor *contributor)
{
    ovs_assert(contributor->open);
    if (desired->amended == contributor) {
        /* It may be amended again: it is trimmed with the transaction. */
        desired->amended = NULL;
    } else {
        trim_claims(contributor);
    }
    contributor->open = false;
}

void
adp_desired_remove(struct adp_desired *desired,
                   struct adp_contributor *contributor)
{
    adp_desired_begin(desired, contributor);
    adp_desired_end(desired, contributor);
}

void
adp_contributor_uninit(struct adp_contributor *contributor)
{
    ovs_assert(!contributor->image);
    free(contributor->claims);
    memset(contributor, 0, sizeof *contributor);
}

/* What they say. */

static void
add_flow(struct adp_desired *desired, struct adp_contributor *contributor,
         const struct adp_flow_key *key, struct desired_actions *actions)
{
    const struct desired_claim claim = {
        .thing = adp_desired_flow_get(desired, key, actions, true),
    };

    claim_add(desired, contributor, &claim);
}

void
adp_desired_add_flow(struct adp_desired *desired,
                     struct adp_contributor *contributor,
                     const struct adp_flow_key *key,
                     const struct ofpact *ofpacts, size_t ofpacts_len)
{
    add_flow(desired, contributor, key,
             adp_desired_actions_get(desired, ofpacts, ofpacts_len, 0,
                                 &no_terms));
}

static struct desired_claim
clause_claim(struct desired_flow *flow, uint32_t conj_id, uint8_t clause,
             uint8_t n_clauses)
{
    return (struct desired_claim) {
        .thing = flow,
        .conj_id = conj_id,
        .clause = clause,
        .n_clauses = n_clauses,
    };
}

void
adp_desired_add_clause(struct adp_desired *desired,
                       struct adp_contributor *contributor,
                       const struct adp_flow_key *key, uint32_t conj_id,
                       uint8_t clause, uint8_t n_clauses)
{
    struct desired_flow *flow = adp_desired_flow_get(desired, key, NULL, true);
    const struct desired_claim claim = clause_claim(flow, conj_id, clause,
                                                    n_clauses);

    claim_add(desired, contributor, &claim);
}

void
adp_desired_drop_flow(struct adp_desired *desired,
                      struct adp_contributor *contributor,
                      const struct adp_flow_key *key,
                      const struct ofpact *ofpacts, size_t ofpacts_len)
{
    const struct desired_claim claim = {
        .thing = adp_desired_flow_get(desired, key,
                                  adp_desired_actions_get(desired, ofpacts,
                                                      ofpacts_len, 0,
                                                      &no_terms), false),
    };

    if (claim.thing) {
        adp_desired_withdraw(desired, contributor, &claim);
    } else {
        desired->lacks_withdrawn = true;
    }
}

void
adp_desired_drop_clause(struct adp_desired *desired,
                        struct adp_contributor *contributor,
                        const struct adp_flow_key *key, uint32_t conj_id,
                        uint8_t clause, uint8_t n_clauses)
{
    struct desired_flow *flow = adp_desired_flow_get(desired, key, NULL,
                                                     false);
    const struct desired_claim claim = clause_claim(flow, conj_id, clause,
                                                    n_clauses);

    if (flow) {
        adp_desired_withdraw(desired, contributor, &claim);
    } else {
        desired->lacks_withdrawn = true;
    }
}

/* Groups. */

static bool
buckets_equal(const struct ovs_list *a, const struct ovs_list *b)
{
    const struct ovs_list *b_node = b->next;
    const struct ofputil_bucket *ab;

    LIST_FOR_EACH (ab, list_node, a) {
        const struct ofputil_bucket *bb;

        if (b_node == b) {
            return false;
        }
        bb = CONTAINER_OF(b_node, struct ofputil_bucket, list_node);
        if (ab->weight != bb->weight || ab->watch_port != bb->watch_port
            || ab->watch_group != bb->watch_group
            || ab->bucket_id != bb->bucket_id
            || !ofpacts_equal(ab->ofpacts, ab->ofpacts_len,
                              bb->ofpacts, bb->ofpacts_len)) {
            return false;
        }
        b_node = b_node->next;
    }
    return b_node == b;
}

static bool
props_equal(const struct ofputil_group_props *a,
            const struct ofputil_group_props *b)
{
    return (!strcmp(a->selection_method, b->selection_method)
            && a->selection_method_param == b->selection_method_param
            && bitmap_equal(a->fields.used.bm, b->fields.used.bm, MFF_N_IDS)
            && a->fields.values_size == b->fields.values_size
            && (!a->fields.values_size
                || !memcmp(a->fields.values, b->fields.values,
                           a->fields.values_size)));
}

/* Takes 'buckets', which is empty then. */
static struct desired_group *
group_get(struct adp_desired *desired, uint32_t group_id, uint8_t type,
          struct ovs_list *buckets, const struct ofputil_group_props *props)
{
    uint32_t hash = hash_int(group_id, 0);
    struct desired_group *group;

    HMAP_FOR_EACH_WITH_HASH (group, node, hash, &desired->groups) {
        if (group->group_id == group_id && group->type == type
            && buckets_equal(&group->buckets, buckets)
            && props_equal(&group->props, props)) {
            free_buckets(buckets);
            return group;
        }
    }

    group = xmalloc(sizeof *group);
    *group = (struct desired_group) { .group_id = group_id, .type = type };
    ovs_list_move(&group->buckets, buckets);
    ovs_list_init(buckets);
    ofputil_group_properties_copy(&group->props, props);
    hmap_insert(&desired->groups, &group->node, hash);
    return group;
}

void
adp_desired_add_group(struct adp_desired *desired,
                      struct adp_contributor *contributor,
                      uint32_t group_id, uint8_t type,
                      struct ovs_list *buckets,
                      const struct ofputil_group_props *props)
{
    static const struct ofputil_group_props no_props;
    const struct desired_claim claim = {
        .thing = group_get(desired, group_id, type, buckets,
                           props ? props : &no_props),
        .is_group = true,
    };

    claim_add(desired, contributor, &claim);
}

/* Text. */

/* Takes 'reason'.  Errors of this kind are faults of the pipeline, not of the
 * records. */
static void
text_error(struct adp_desired *desired, const char *what, const char *text,
           char *reason)
{
    if (!desired->error) {
        desired->error = adp_error_create("internal", NULL, NULL,
                                          "%s \"%s\": %s", what, text,
                                          reason);
    }
    free(reason);
}

/* Upstream's parser leaves bytes of set_field unset that mean nothing, in
 * which equal actions would differ. */
static void
clear_padding(struct ofpact *ofpacts, size_t ofpacts_len)
{
    struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, ofpacts, ofpacts_len) {
        if (a->type == OFPACT_SET_FIELD) {
            struct ofpact_set_field *sf = ofpact_get_SET_FIELD(a);
            size_t n_bytes = sf->field->n_bytes;
            size_t n_padding = ROUND_UP(n_bytes, OFPACT_ALIGNTO) - n_bytes;

            memset((uint8_t *) sf->value + n_bytes, 0, n_padding);
            memset((uint8_t *) ofpact_set_field_mask(sf) + n_bytes, 0,
                   n_padding);
        }
    }
}

/* Adds the clauses of 'fm', if that is all it has. */
static bool
add_clauses(struct adp_desired *desired, struct adp_contributor *contributor,
            const struct adp_flow_key *key, const struct ofputil_flow_mod *fm,
            const struct desired_terms *terms)
{
    const struct ofpact *a;

    if (!fm->ofpacts_len || !adp_desired_terms_equal(terms, &no_terms)) {
        return false;
    }
    OFPACT_FOR_EACH (a, fm->ofpacts, fm->ofpacts_len) {
        if (a->type != OFPACT_CONJUNCTION) {
            return false;
        }
    }
    OFPACT_FOR_EACH (a, fm->ofpacts, fm->ofpacts_len) {
        const struct ofpact_conjunction *oc = ofpact_get_CONJUNCTION(a);

        adp_desired_add_clause(desired, contributor, key, oc->id,
                               oc->clause + 1, oc->n_clauses);
    }
    return true;
}

/* Returns false, and notes the error, if 'text' is no flow. */
static bool
parse_text(struct adp_desired *desired, const char *text,
           const struct ofputil_port_map *ports,
           const struct ofputil_table_map *tables, struct ofputil_flow_mod *fm)
{
    enum ofputil_protocol usable;
    char *reason = parse_ofp_flow_mod_str(fm, text, ports, tables, OFPFC_ADD,
                                          &usable);

    if (reason) {
        text_error(desired, "flow", text, reason);
        return false;
    }
    if (!(usable & USABLE_PROTOCOLS)) {
        reason = xstrdup("can't be expressed in OpenFlow 1.5");
    } else if (fm->table_id == 0xff) {
        reason = xstrdup("lacks a table");
    }
    if (reason) {
        text_error(desired, "flow", text, reason);
        adp_flow_mod_uninit(fm);
        return false;
    }
    clear_padding(fm->ofpacts, fm->ofpacts_len);
    return true;
}

static void
add_parsed(struct adp_desired *desired, struct adp_contributor *contributor,
           const struct ofputil_flow_mod *fm)
{
    struct match match;
    const struct desired_terms terms = {
        .idle_timeout = fm->idle_timeout,
        .hard_timeout = fm->hard_timeout,
        .importance = fm->importance,
        .flags = fm->flags,
    };
    const struct adp_flow_key key = {
        .table_id = fm->table_id,
        .priority = fm->priority,
        .cookie = ntohll(fm->new_cookie),
        .match = &match,
    };

    minimatch_expand(&fm->match, &match);
    if (!add_clauses(desired, contributor, &key, fm, &terms)) {
        add_flow(desired, contributor, &key,
                 adp_desired_actions_get(desired, fm->ofpacts,
                                         fm->ofpacts_len,
                                         fm->ofpacts_tlv_bitmap, &terms));
    }
}

void
adp_desired_add_text(struct adp_desired *desired,
                     struct adp_contributor *contributor, const char *text,
                     const struct ofputil_port_map *ports,
                     const struct ofputil_table_map *tables)
{
    struct ofputil_flow_mod fm;

    if (parse_text(desired, text, ports, tables, &fm)) {
        add_parsed(desired, contributor, &fm);
        adp_flow_mod_uninit(&fm);
    }
}

/* Has 'known' be what 'source' makes.  Returns false if that is no flow. */
static bool
text_learn(struct adp_desired *desired, struct desired_text *known,
           const void *scope, const char *source, adp_desired_expand *expand,
           const struct ofputil_table_map *tables)
{
    struct ds text = DS_EMPTY_INITIALIZER;

    text_forget(desired, known);
    expand(&text, scope, source);
    if (parse_text(desired, ds_cstr(&text), NULL, tables, &known->fm)) {
        known->scope = scope;
        known->source = xstrdup(source);
        desired->n_texts++;
    }
    ds_destroy(&text);
    return known->source != NULL;
}

static bool
text_is(const struct desired_text *text, const void *scope, const char *source)
{
    return (text->source && text->scope == scope
            && !strcmp(text->source, source));
}

void
adp_desired_add_source(struct adp_desired *desired,
                       struct adp_contributor *contributor,
                       const void *scope, const char *source,
                       adp_desired_expand *expand,
                       const struct ofputil_table_map *tables)
{
    if (!desired->texts) {
        desired->texts = xcalloc(DESIRED_N_TEXTS, sizeof *desired->texts);
    }

    struct desired_text *known
        = &desired->texts[hash_string(source, hash_pointer(scope, 0))
                          % DESIRED_N_TEXTS];
    if (text_is(known, scope, source)
        || text_learn(desired, known, scope, source, expand, tables)) {
        add_parsed(desired, contributor, &known->fm);
    }
}

void
adp_desired_add_group_text(struct adp_desired *desired,
                           struct adp_contributor *contributor,
                           const char *text,
                           const struct ofputil_port_map *ports,
                           const struct ofputil_table_map *tables)
{
    struct ofputil_group_mod gm;
    enum ofputil_protocol usable;

    char *reason = parse_ofp_group_mod_str(&gm, OFPGC11_ADD_OR_MOD, text,
                                           ports, tables, &usable);
    if (reason) {
        text_error(desired, "group", text, reason);
        return;
    }
    if (!(usable & USABLE_PROTOCOLS)) {
        text_error(desired, "group", text,
                   xstrdup("can't be expressed in OpenFlow 1.5"));
    } else {
        struct ofputil_bucket *bucket;

        LIST_FOR_EACH (bucket, list_node, &gm.buckets) {
            clear_padding(bucket->ofpacts, bucket->ofpacts_len);
        }
        adp_desired_add_group(desired, contributor, gm.group_id, gm.type,
                              &gm.buckets, &gm.props);
    }
    ofputil_uninit_group_mod(&gm);
}

/* The end of a transaction. */

static void
forget_images(struct adp_desired *desired)
{
    for (size_t i = 0; i < desired->n_flow_images; i++) {
        struct flow_image *image = &desired->flow_images[i];

        image->flow->image = 0;
        if (!image->flow->n_refs) {
            adp_desired_flow_free(desired, image->flow);
        }
        adp_desired_clauses_free(desired, image->clauses);
        adp_pause();
    }
    for (size_t i = 0; i < desired->n_group_images; i++) {
        struct group_image *image = &desired->group_images[i];

        image->group->image = 0;
        if (!image->group->n_refs) {
            group_free(desired, image->group);
        }
    }
    for (size_t i = 0; i < desired->n_contributor_images; i++) {
        struct contributor_image *image = &desired->contributor_images[i];

        ovs_assert(!image->contributor->open);
        image->contributor->image = 0;
        if (image->contributor->allocated_claims
            > image->contributor->n_claims
              + spare_claims(image->contributor)) {
            trim_claims(image->contributor);
        }
        free(image->claims);
        adp_pause();
    }
    desired->n_flow_images = 0;
    desired->n_group_images = 0;
    desired->n_contributor_images = 0;
    adp_error_destroy(desired->error);
    desired->error = NULL;
}

/* A large transaction leaves no memory behind. */
static void
trim_images(struct adp_desired *desired)
{
    enum { KEEP = 1024 };

    if (desired->allocated_flow_images > KEEP) {
        free(desired->flow_images);
        desired->flow_images = NULL;
        desired->allocated_flow_images = 0;
    }
    if (desired->allocated_contributor_images > KEEP) {
        free(desired->contributor_images);
        desired->contributor_images = NULL;
        desired->allocated_contributor_images = 0;
    }
}

static size_t
count_flows(const struct adp_desired *desired)
{
    size_t n = 0;

    for (size_t i = 0; i < DESIRED_N_TABLES; i++) {
        n += hmap_count(&desired->flows[i]);
    }
    return n;
}

/* Ends the transaction: what it remembered goes, and so do texts if they are
 * more than flows are left, as most of them are then of what has gone. */
static void
end_transaction(struct adp_desired *desired)
{
    adp_desired_forget_withdrawals(desired);
    forget_images(desired);
    trim_images(desired);
    if (desired->n_texts > count_flows(desired)) {
        forget_texts(desired);
    }
}

void
adp_desired_accept(struct adp_desired *desired)
{
    ovs_assert(!desired->n_withdrawals);
    end_transaction(desired);
    desired->bare = false;
}

void
adp_desired_revert(struct adp_desired *desired)
{
    for (size_t i = 0; i < desired->n_flow_images; i++) {
        struct flow_image *image = &desired->flow_images[i];
        struct desired_flow *flow = image->flow;

        flow->n_refs = image->n_refs;
        if (flow->has_clauses) {
            struct desired_clauses *now = flow->clauses;

            flow->clauses = image->clauses;
            image->clauses = now;
        }
        adp_pause();
    }
    for (size_t i = 0; i < desired->n_group_images; i++) {
        const struct group_image *image = &desired->group_images[i];

        image->group->n_refs = image->n_refs;
    }
    for (size_t i = 0; i < desired->n_contributor_images; i++) {
        struct contributor_image *image = &desired->contributor_images[i];
        struct adp_contributor *c = image->contributor;
        struct desired_claim *now = c->claims;

        desired->n_claims += image->n_claims;
        desired->n_claims -= c->n_claims;
        desired->n_bytes += image->n_claims * sizeof *now;
        desired->n_bytes -= c->n_claims * sizeof *now;
        c->n_claims = image->n_claims;
        if (!image->in_place) {
            c->claims = image->claims;
            c->allocated_claims = image->allocated_claims;
            image->claims = now;
        }
        adp_pause();
    }
    end_transaction(desired);
}

void
adp_desired_forget(struct adp_desired *desired)
{
    desired->bare = true;
}

void
adp_desired_get_usage(const struct adp_desired *desired,
                      struct adp_desired_usage *usage)
{
    *usage = (struct adp_desired_usage) {
        .n_groups = hmap_count(&desired->groups),
        .n_actions = hmap_count(&desired->actions),
        .n_masks = hmap_count(&desired->masks),
        .n_claims = desired->n_claims,
        .n_flows = count_flows(desired),
        .n_bytes = desired->n_bytes,
        .n_steps = desired->n_steps,
    };
    for (size_t i = 0; i < DESIRED_N_TABLES; i++) {
        usage->n_bytes += (hmap_capacity(&desired->flows[i])
                           * sizeof(struct hmap_node *));
    }
}

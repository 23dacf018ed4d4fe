/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-unlearn.h"

#include <stdlib.h>

#include "openvswitch/match.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "util.h"

void
adp_unlearn_uninit(struct adp_unlearn *u)
{
    for (size_t i = 0; i < u->n; i++) {
        minimatch_destroy(&u->fms[i].match);
    }
    free(u->fms);
}

static bool
still_learns(const struct ofpact_learn *learn, const struct ofpact *after,
             size_t after_len)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, after, after_len) {
        if (a->type == OFPACT_LEARN
            && ofpact_get_LEARN(a)->table_id == learn->table_id
            && ofpact_get_LEARN(a)->cookie == learn->cookie) {
            return true;
        }
    }
    return false;
}

/* Gets what 'learner' says of the field that 'spec' takes.  Returns false if
 * it leaves a part of it open. */
static bool
read_source(const struct match *learner, const struct ofpact_learn_spec *spec,
            union mf_subvalue *value)
{
    union mf_subvalue mask;

    if (spec->src_type == NX_LEARN_SRC_IMMEDIATE) {
        mf_subvalue_from_value(&spec->dst, value, ofpact_learn_spec_imm(spec));
        return true;
    }
    mf_read_subfield(&spec->src, &learner->wc.masks, &mask);
    mf_read_subfield(&spec->src, &learner->flow, value);
    return bitwise_scan(&mask, sizeof mask, false, 0, spec->n_bits)
           >= spec->n_bits;
}

/* The match of all flows that a flow with the match 'learner' can learn. */
static void
learned_match(const struct match *learner, const struct ofpact_learn *learn,
              struct match *match)
{
    const struct ofpact_learn_spec *spec;
    union mf_subvalue value;

    match_init_catchall(match);
    OFPACT_LEARN_SPEC_FOR_EACH (spec, learn) {
        if (spec->dst_type == NX_LEARN_DST_MATCH
            && read_source(learner, spec, &value)) {
            mf_write_subfield(&spec->dst, &value, match);
            match_add_ethernet_prereq(match, spec->dst.field);
        }
    }
}

static void
add_one(struct adp_unlearn *u, const struct match *learner,
        const struct ofpact_learn *learn)
{
    struct match match;

    if (u->n >= u->allocated) {
        u->fms = x2nrealloc(u->fms, &u->allocated, sizeof *u->fms);
    }
    u->fms[u->n] = (struct ofputil_flow_mod) {
        .command = OFPFC_DELETE,
        .table_id = learn->table_id,
        .cookie = learn->cookie,
        .cookie_mask = OVS_BE64_MAX,
        .buffer_id = UINT32_MAX,
        .out_port = OFPP_ANY,
        .out_group = OFPG_ANY,
    };
    learned_match(learner, learn, &match);
    minimatch_init(&u->fms[u->n++].match, &match);
}

void
adp_unlearn_add(struct adp_unlearn *u, const struct minimatch *match,
                const struct ofpact *before, size_t before_len,
                const struct ofpact *after, size_t after_len)
{
    const struct ofpact *a;
    struct match learner;

    minimatch_expand(match, &learner);
    OFPACT_FOR_EACH (a, before, before_len) {
        if (a->type == OFPACT_LEARN) {
            const struct ofpact_learn *learn = ofpact_get_LEARN(a);

            if (learn->flags & NX_LEARN_F_DELETE_LEARNED
                && !still_learns(learn, after, after_len)) {
                add_one(u, &learner, learn);
            }
        }
    }
}
